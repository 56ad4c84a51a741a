//! Owners and causes of operations of the back end. The back end gives an owner back with what it has done for it. It looks at owners only
//! to tell operations that the host waits for from others, and to count work by its cause.

use crate::slab::{FillId, FlightId, ReadId, RequestId};
use schemars::JsonSchema;
use serde::Serialize;
use softsense_config::ids::{Lcn, Set};

/// The cause of work, by which work is counted and ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Reads and writes of the host, with the reads of codewords that it overwrites in part.
    #[default]
    Host,
    /// Translation pages, where the map is in flash.
    Translation,
    /// Garbage collection, for room.
    #[serde(rename = "garbage_collection")]
    Collection,
    /// Garbage collection, to level wear.
    WearLevelling,
    /// Read reclaim: before reads have disturbed data too much.
    ReadReclaim,
    /// Refresh: before data is too old, or where reads have shown that data needs it.
    Refresh,
    /// Patrol scrub: reads that look for data that needs refresh.
    Scrub,
    /// Folding of the SLC cache.
    Folding,
    /// Reading ahead of sequential reads.
    ReadAhead,
    /// Parity across dies: its programs.
    Parity,
    /// Recovery by parity across dies: reads that rebuild codewords which other reads could not decode.
    Recovery,
    /// Moving data out of blocks in which a program has failed.
    BadBlock,
}

impl Cause {
    /// All causes, in their order.
    pub const ALL: [Self; 12] = [
        Self::Host,
        Self::Translation,
        Self::Collection,
        Self::WearLevelling,
        Self::ReadReclaim,
        Self::Refresh,
        Self::Scrub,
        Self::Folding,
        Self::ReadAhead,
        Self::Parity,
        Self::Recovery,
        Self::BadBlock,
    ];
    /// Number of causes.
    pub const COUNT: usize = Self::ALL.len();

    /// The name of the cause in data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Translation => "translation",
            Self::Collection => "garbage_collection",
            Self::WearLevelling => "wear_levelling",
            Self::ReadReclaim => "read_reclaim",
            Self::Refresh => "refresh",
            Self::Scrub => "scrub",
            Self::Folding => "folding",
            Self::ReadAhead => "read_ahead",
            Self::Parity => "parity",
            Self::Recovery => "recovery",
            Self::BadBlock => "bad_block",
        }
    }

    /// Whether moving data for this cause frees a block that others can write to.
    pub(super) fn makes_room(self) -> bool {
        matches!(self, Self::Collection | Self::WearLevelling | Self::Folding)
    }

    /// Whether moving data for this cause leaves the last free superblock of a set to collection, where the set may have lost room.
    pub(super) fn leaves_last(self) -> bool {
        matches!(self, Self::Refresh | Self::BadBlock)
    }

    /// Whether the work is a task of garbage collection, which may be paced.
    pub(super) fn is_collection(self) -> bool {
        matches!(self, Self::Collection | Self::WearLevelling)
    }
}

/// The owner of a read. The back end gives it back with the data that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ReadOwner {
    /// A host read.
    Request(RequestId),
    /// A host write that covers a codeword in part.
    Modify { request: RequestId, lcn: Lcn },
    /// The rest of a codeword that a write buffer holds in part.
    Fill { fill: FillId },
    /// No request yet: pages that sequential reads are likely to want next.
    Ahead,
    /// The move of data of a set.
    Move { set: Set, cause: Cause },
    /// Patrol scrub of a set.
    Scrub { set: Set },
    /// Requests that wait for a translation page.
    Load { page: u32 },
    /// The update of a translation page.
    WriteBack { page: u32 },
    /// The recovery, by parity across dies, of codewords that another read could not decode; and whether a request waits for that read.
    Recovery { read: ReadId, of_host: bool },
}

impl ReadOwner {
    /// Whether a request waits for the read.
    #[inline]
    pub(super) fn is_of_host(self) -> bool {
        matches!(
            self,
            Self::Request(_) | Self::Modify { .. } | Self::Load { .. } | Self::Recovery { of_host: true, .. }
        )
    }

    /// Whether the read brings the rest of a codeword that the host writes in part.
    #[inline]
    pub(super) fn is_for_write(self) -> bool {
        matches!(self, Self::Modify { .. } | Self::Fill { .. })
    }

    /// The cause of the read.
    #[inline]
    pub(super) fn cause(self) -> Cause {
        match self {
            Self::Request(_) | Self::Modify { .. } | Self::Fill { .. } => Cause::Host,
            Self::Ahead => Cause::ReadAhead,
            Self::Move { cause, .. } => cause,
            Self::Scrub { .. } => Cause::Scrub,
            Self::Load { .. } | Self::WriteBack { .. } => Cause::Translation,
            Self::Recovery { .. } => Cause::Recovery,
        }
    }
}

/// The owner of a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramOwner {
    /// A host write, with the number of its codewords in the program.
    Request { request: RequestId, codewords: u32 },
    /// The write buffer, with the number of the flight.
    Buffer { flight: FlightId },
    /// The update of a translation page.
    Translation { page: u32 },
    /// The move of data of its set.
    Move(Cause),
    /// Parity across dies of a stripe that is full; and whether the host wrote the data of the stripe, or it was moved.
    Parity { of_host: bool },
    /// Data whose program failed, which found no room at once, and for which nobody waits; and whether it goes where the host writes, in
    /// the turn of the host's writes.
    LeftOver { with_host: bool },
}

impl ProgramOwner {
    /// Whether the program is for data that the host has written.
    #[inline]
    pub(super) fn is_of_host(self) -> bool {
        matches!(
            self,
            Self::Request { .. }
                | Self::Buffer { .. }
                | Self::Parity { of_host: true }
                | Self::LeftOver { with_host: true }
        )
    }

    /// Whether the program is for data that is moved from one block to another.
    #[inline]
    pub(super) fn moves_data(self) -> bool {
        matches!(self, Self::Move(_))
    }

    /// The cause of the program.
    #[inline]
    pub(super) fn cause(self) -> Cause {
        match self {
            Self::Request { .. } | Self::Buffer { .. } => Cause::Host,
            Self::Translation { .. } => Cause::Translation,
            Self::Move(cause) => cause,
            Self::Parity { .. } => Cause::Parity,
            Self::LeftOver { .. } => Cause::BadBlock,
        }
    }
}
