//! Policies and rules that users have written, and hand over beside a config that names them: a read policy, a rule for victims, a
//! placement, a pacing of garbage collection, admissions to caches.
//!
//! A config stays plain data. It holds a name, such as `read.policy = "my_policies.py:Ladder"`. The caller that runs the config looks the
//! name up and gives the object to [`CheckedConfig::with_own`](crate::checked::CheckedConfig::with_own). This module defines these objects
//! and their inputs.

use std::fmt;
use std::sync::Arc;

use softsense_base::{Error, OwnName, Result};
use softsense_link::{OwnCost, PolicyTraits, ReadPolicy};

use crate::ids::{Lcn, Set, Ssd, Superblock};

/// A device, as described to users' policies and rules when a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnDevice {
    /// The config's seed, for policies that draw random numbers: the same seed has to give the same answers.
    pub seed: u64,
    /// The deepest level of reads.
    pub max_level: u8,
    /// Entries of the chip's retry table.
    pub retry_entries: u8,
    /// Number of page types.
    pub page_types: u32,
    /// Number of SSDs of the array.
    pub ssds: u32,
    /// Number of planes of an SSD.
    pub planes: u32,
    /// Number of sets, in each of which garbage collection chooses victims. A set is a plane, or with interleaving as many planes as there
    /// are ways.
    pub sets: u32,
    /// Number of blocks of a plane, which is the number of superblocks of a set.
    pub blocks_per_plane: u32,
    /// Number of pages of a superblock.
    pub pages_per_block: u32,
    /// Number of codewords of a superblock.
    pub codewords_per_block: u32,
    /// Number of codewords that the user can address.
    pub user_codewords: u64,
}

/// A rule that chooses the victims of garbage collection.
pub trait ChooseVictim: Send + Sync {
    /// Chooses the victim: returns its index among the candidates, of which there is at least one.
    ///
    /// # Errors
    /// Errors of the user's code; they end the run.
    fn choose(&mut self, candidates: &Candidates) -> Result<usize>;

    /// Returns the time spent in the user's code so far, s, where this is measured.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// The closed superblocks of a set that are worth collecting, in the order in which they were closed. All lists have the same order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The set.
    pub set: Set,
    /// Numbers of the superblocks.
    pub blocks: Vec<Superblock>,
    /// Number of valid codewords of each superblock.
    pub valid: Vec<u32>,
    /// Number of superblocks of the set closed since each one was, itself included: 1 for the last.
    pub age: Vec<u64>,
    /// Erases of each superblock since the start of the run.
    pub erases: Vec<u32>,
}

/// A rule that chooses where writes of the host go.
pub trait PlaceWrites: Send + Sync {
    /// Chooses planes for this write and those after it: returns at least one index into `planes`. The rule is asked again when all of
    /// these have been used. A plane without room is passed over for the next one in turn.
    ///
    /// # Errors
    /// Errors of the user's code; they end the run.
    fn place(&mut self, planes: &Planes) -> Result<Vec<u32>>;

    /// Returns the time spent in the user's code so far, s, where this is measured.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// The planes that a write may go to, in the order of the stripe: the planes of its SSD, or of its part of `ftl.allocation_pool`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planes {
    /// The SSD.
    pub ssd: Ssd,
    /// The first logical codeword that is to be written.
    pub codeword: Lcn,
    /// Number of codewords that wait to be written with it.
    pub codewords: u32,
    /// The plane whose turn it is.
    pub in_turn: u32,
    /// Number of free pages of each plane: pages of free blocks, of the open block, and of blocks that are being collected.
    pub free_pages: Vec<u32>,
}

/// A rule that says when garbage collection of a set works.
pub trait PaceCollection: Send + Sync {
    /// Decides what collection of a set does now. The rule is asked at these moments:
    /// - when the host, or the map, programs in the set;
    /// - when an operation of the host on the set's planes ends, if collection is at work or fewer superblocks are free than the low
    ///   watermark;
    /// - before each page that is moved, before an erase, and after it.
    ///
    /// At the reserve the rule is not asked.
    ///
    /// # Errors
    /// Errors of the user's code; they end the run.
    fn pace(&mut self, set: &PacedSet) -> Result<Pace>;

    /// Returns the time spent in the user's code so far, s, where this is measured.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// The decision on what collection of a set does now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Collection takes a victim, or the next step with the victim that it has: a page, or the erase.
    Go,
    /// Collection waits until the rule is asked again.
    Pause,
    /// Collection waits, and the rule is asked again after this many us in any case. The number is above 0; one below 1 counts as 1.
    PauseUs(f64),
}

/// A set, as a pacing of garbage collection sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacedSet {
    /// The set.
    pub set: Set,
    /// Number of free superblocks.
    pub free_blocks: u32,
    /// Number of free pages: pages of free superblocks, and of superblocks that the host has open.
    pub free_pages: u32,
    /// Number of free superblocks below which collection is wanted.
    pub low_watermark: u32,
    /// Number of free superblocks at which collection is no longer wanted.
    pub high_watermark: u32,
    /// Number of free superblocks at which collection goes on without asking the rule.
    pub reserve: u32,
    /// Whether operations of the host wait for a plane of the set.
    pub host_waits: bool,
    /// Time for which no operation of the host has been at work on a plane of the set, us; 0 while one is at work or waits.
    pub idle_us: f64,
    /// Whether a victim is being collected, or has just been erased.
    pub collecting: bool,
    /// Valid codewords of the victim that is being collected; `None` without a victim.
    pub valid: Option<u32>,
    /// Number of pages that the host, or the map, has programmed in the set since the run began.
    pub pages_written: u64,
    /// Number of pages that collection has read in the set since the run began.
    pub pages_moved: u64,
}

/// A rule that says which pages the read buffer takes in.
pub trait AdmitPages: Send + Sync {
    /// Whether a page that the read buffer lacks is read whole and kept. The rule is asked when the read begins.
    ///
    /// # Errors
    /// Errors of the user's code; they end the run.
    fn admit(&mut self, page: &MissedPage) -> Result<bool>;

    /// Returns the time spent in the user's code so far, s, where this is measured.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// A page that the read buffer lacks, or several pages that units cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissedPage {
    /// The first logical codeword of the page that is asked for.
    pub codeword: Lcn,
    /// Number of codewords of the page that are asked for.
    pub codewords: u32,
    /// Size of the request, bytes.
    pub request_bytes: u64,
    /// Whether the page is read for a write that covers a codeword in part.
    pub for_write: bool,
    /// Number of misses of the page, this one included, while the page was among those that are remembered.
    pub misses: u32,
    /// Number of pages that the buffer has room for without dropping one.
    pub free_pages: u32,
}

/// A rule that says which entries the mapping cache takes in.
pub trait AdmitEntries: Send + Sync {
    /// Whether an entry that a read has missed is kept. The rule is asked when the entry's translation page is in the controller's memory.
    ///
    /// # Errors
    /// Errors of the user's code; they end the run.
    fn admit(&mut self, entry: &MissedEntry) -> Result<bool>;

    /// Returns the time spent in the user's code so far, s, where this is measured.
    fn spent_s(&self) -> f64 {
        0.0
    }
}

/// An entry of the map that the mapping cache lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissedEntry {
    /// The logical codeword of the entry.
    pub codeword: Lcn,
    /// Number of codewords of the read with entries in the same translation page.
    pub codewords: u32,
    /// Number of misses of the entry, this one included, while the entry was among those that are remembered.
    pub misses: u32,
}

/// A function that makes a user's policy or rule for a run.
type Make<T> = dyn Fn(&OwnDevice) -> Result<Box<T>> + Send + Sync;

/// A user's policy or rule: how it is made for a run, and how it is told from others.
pub struct OwnThing<T: ?Sized> {
    identity: String,
    make: Arc<Make<T>>,
}

impl<T: ?Sized> OwnThing<T> {
    /// # Arguments
    /// - `identity`: text that the answers depend on, such as the source of the policy or rule. It is part of the identity of a run.
    pub fn new(
        identity: impl Into<String>,
        make: impl Fn(&OwnDevice) -> Result<Box<T>> + Send + Sync + 'static,
    ) -> Self {
        Self { identity: identity.into(), make: Arc::new(make) }
    }

    /// Returns the text that the answers depend on.
    pub fn identity(&self) -> &str {
        &self.identity
    }
}

impl<T: ?Sized> Clone for OwnThing<T> {
    fn clone(&self) -> Self {
        Self { identity: self.identity.clone(), make: Arc::clone(&self.make) }
    }
}

impl<T: ?Sized> fmt::Debug for OwnThing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnThing").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// A read policy that a user has written.
#[derive(Debug, Clone)]
pub struct OwnPolicy {
    /// Properties of the policy that are stated before it is asked.
    pub traits: PolicyTraits,
    /// The policy, to be made for a run.
    pub policy: OwnThing<dyn ReadPolicy>,
}

/// All policies and rules of a user that go with a config.
#[derive(Debug, Clone, Default)]
pub struct Own {
    /// The policy that `read.policy` names.
    pub policy: Option<OwnPolicy>,
    /// The rule that `ftl.victims` names.
    pub victims: Option<OwnThing<dyn ChooseVictim>>,
    /// The rule that `ftl.plane_choice` names.
    pub placement: Option<OwnThing<dyn PlaceWrites>>,
    /// The rule that `ftl.gc_pacing` names.
    pub pacing: Option<OwnThing<dyn PaceCollection>>,
    /// The rule that `host.read_buffer.admission` names.
    pub pages: Option<OwnThing<dyn AdmitPages>>,
    /// The rule that `ftl.mapping.demand.admission` names.
    pub entries: Option<OwnThing<dyn AdmitEntries>>,
}

impl Own {
    /// Lists the identities of all policies and rules that there are.
    pub(crate) fn identities(&self) -> impl Iterator<Item = &str> {
        let policy = self.policy.as_ref().map(|own| own.policy.identity());
        let victims = self.victims.as_ref().map(OwnThing::identity);
        let placement = self.placement.as_ref().map(OwnThing::identity);
        let pacing = self.pacing.as_ref().map(OwnThing::identity);
        let pages = self.pages.as_ref().map(OwnThing::identity);
        let entries = self.entries.as_ref().map(OwnThing::identity);
        [policy, victims, placement, pacing, pages, entries].into_iter().flatten()
    }
}

/// Makes the policy or rule that a config names; `None` where the config names nothing.
///
/// # Errors
/// When no policy or rule was handed over, or its code says that it cannot be made.
pub(crate) fn made<T: ?Sized>(
    path: &str,
    name: Option<OwnName>,
    thing: Option<&OwnThing<T>>,
    device: &OwnDevice,
) -> Result<Option<(OwnName, Box<T>)>> {
    let Some(name) = name else { return Ok(None) };
    let Some(thing) = thing else {
        let message = format!(
            "found `{name}`, which `CheckedConfig::with_own` has not been given, expected the name of a shipped \
             one, or a call of `with_own`"
        );
        return Err(Error::config(path, message));
    };
    (thing.make)(device).map(|thing| Some((name, thing)))
}

/// A user's policy or rule during a run. An error is kept until the present event is over.
pub struct AtWork<T: ?Sized> {
    pub(crate) name: OwnName,
    thing: Box<T>,
    calls: u64,
    failure: Option<Error>,
}

impl<T: ?Sized> AtWork<T> {
    /// Returns a user's policy or rule that has not been asked yet.
    pub fn new((name, thing): (OwnName, Box<T>)) -> Self {
        Self { name, thing, calls: 0, failure: None }
    }

    /// Asks for an answer, which `take` checks; `None` from the first failure on.
    pub fn ask<A, R>(
        &mut self,
        ask: impl FnOnce(&mut T) -> Result<A>,
        take: impl FnOnce(A) -> std::result::Result<R, String>,
    ) -> Option<R> {
        if self.failure.is_some() {
            return None;
        }
        self.calls += 1;
        let name = self.name.as_str();
        let answer =
            ask(&mut self.thing).and_then(|answer| take(answer).map_err(|message| Error::config(name, message)));
        answer.map_err(|error| self.failure = Some(error)).ok()
    }

    /// Reports the first failure, if there was one.
    pub fn check(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Returns its name and what asking it has cost so far.
    pub fn cost(&self, spent_s: impl FnOnce(&T) -> f64) -> (OwnName, OwnCost) {
        (self.name, OwnCost { tabulated: None, calls: self.calls, spent_s: spent_s(&self.thing) })
    }
}

impl<T: ?Sized> fmt::Debug for AtWork<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtWork").field("name", &self.name).field("calls", &self.calls).finish_non_exhaustive()
    }
}
