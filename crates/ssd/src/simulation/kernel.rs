//! The kernel, which stations share: the time, the events that are due, the statistics, and completions for the stations above.

use softsense_base::{Error, Ns, Pj};
use softsense_config::ids::{Place, Superblock};
use softsense_ftl::Group;

use super::dram::Dram;
use super::owners::ReadOwner;
use super::statistics::Statistics;
use crate::events::{Event, EventQueue, Key};
use crate::slab::{DeferredId, ProgramId, ReadId, RequestId, Slab};

/// The latest instant of a simulation: half of the nanoseconds that 64 bits can count, so that whatever begins before it ends in time. It
/// is 292 years.
pub(super) const LATEST: Ns = Ns(u64::MAX / 2);

/// A report that a station has done work for one above it. The kernel takes the report, and [`Simulation`](super::Simulation) passes it on
/// when the station is done with the event at hand: stations call only those below them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Completion {
    /// A codeword was decoded at a level, in the first attempt or not. Reported where levels are remembered.
    Decoded { place: Place, level: u8, at_once: bool },
    /// A decode has shown this number of a superblock, or was in vain. Reported where code rates follow what is observed.
    Seen { superblock: Superblock, seen: Option<u32> },
    /// Energy of a read, or of a failed program, for a host write.
    Charged { request: RequestId, energy: Pj },
    /// Codewords of a host request were read, decoded or not, with so many attempts beyond the first. The last ones of a read come with its
    /// energy.
    CodewordsRead { request: RequestId, codewords: u32, level: u8, retries: u8, decoded: bool, energy: Pj },
    /// Every codeword of a read was decoded, or given up, after so many sensings of each page. The read buffer takes the read in if it
    /// `keeps` it, which it does not where a codeword was given up. A read is poor where hard decisions were not enough at the first
    /// attempt.
    ReadEnded { owner: ReadOwner, group: Group, sensings: u32, keeps: bool, is_poor: bool, needs_refresh: bool },
    /// Codewords of a read were not decoded, and there is parity by which to rebuild them.
    Recover { read: ReadId },
    /// All blocks of a superblock that was to be erased have failed.
    NothingToErase { superblock: Superblock },
    /// A translation page that has to be written back is in the controller's memory.
    WriteBackRead { page: u32 },
    /// So many codewords of a request are written, with so much energy, or refused.
    CodewordsWritten { request: RequestId, codewords: u32, energy: Pj },
    /// So many codewords of a request cross the controller's memory, and are done then.
    CodewordsInMemory { request: RequestId, codewords: u32 },
}

/// Work that goes on when data has crossed DRAM.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deferred {
    /// A completion, which is reported then.
    Told(Completion),
    /// A program of the back end, which is encoded or goes to its chips then.
    Program(ProgramId),
}

/// The share of the room in collected blocks that the host gains: 1 less the share of data that has to be moved. It is a mean over the last
/// 64 of them, the latest counting most; 1 until a block is collected.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoomMade {
    pub(super) share: f64,
    victims: f64,
}

impl RoomMade {
    const VICTIMS: f64 = 64.0;
    /// The least share that a victim counts with. A victim that is all valid makes no room; writes go on all the same.
    const LEAST: f64 = 1.0 / 1024.0;

    /// Counts a victim of garbage collection with so many valid codewords, of as many as it has room for.
    pub(super) fn collects(&mut self, valid: u32, room: u64) {
        self.victims = (self.victims + 1.0).min(Self::VICTIMS);
        let share = (1.0 - f64::from(valid) / room as f64).max(Self::LEAST);
        self.share += (share - self.share) / self.victims;
    }
}

#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) now: Ns,
    pub(super) events: EventQueue,
    pub(super) statistics: Statistics,
    /// Completions in the order in which they were reported; and how many of them have been passed on.
    completions: Vec<Completion>,
    passed_on: usize,
    pub(super) room_made: RoomMade,
    /// The DRAM; none where memory is as fast as need be.
    pub(super) dram: Option<Dram>,
    deferred: Slab<DeferredId, Deferred>,
    /// The error of the user's own policy that ends the run.
    pub(super) failure: Option<Error>,
}

impl Kernel {
    pub(super) fn new(log_requests: bool) -> Self {
        Self {
            now: Ns::ZERO,
            events: EventQueue::default(),
            statistics: Statistics::new(log_requests),
            completions: Vec::new(),
            passed_on: 0,
            room_made: RoomMade { share: 1.0, victims: 0.0 },
            dram: None,
            deferred: Slab::default(),
            failure: None,
        }
    }

    /// Schedules an event after `duration`.
    #[inline]
    pub(super) fn schedule(&mut self, duration: Ns, event: Event) -> Key {
        self.events.schedule(self.now + duration, event)
    }

    /// Lets work go on after `duration`.
    pub(super) fn defer(&mut self, duration: Ns, what: Deferred) {
        let deferred = self.deferred.insert(what);
        self.schedule(duration, Event::Stored { deferred });
    }

    /// Takes the work that goes on now.
    pub(super) fn take_deferred(&mut self, deferred: DeferredId) -> Deferred {
        self.deferred.remove(deferred);
        self.deferred[deferred]
    }

    /// Ends the run when the event at hand is over.
    #[cold]
    pub(super) fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }

    /// Reports to the stations above what has been done.
    #[inline]
    pub(super) fn report(&mut self, completion: Completion) {
        self.completions.push(completion);
    }

    /// Whether a completion has been reported that has not been passed on.
    pub(super) fn has_completions(&self) -> bool {
        !self.completions.is_empty()
    }

    #[inline]
    pub(super) fn next_completion(&mut self) -> Option<Completion> {
        let next = self.completions.get(self.passed_on).copied();
        self.passed_on += 1;
        if next.is_none() {
            self.completions.clear();
            self.passed_on = 0;
        }
        next
    }
}
