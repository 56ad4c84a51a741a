//! Whom operations of the back end are for, and what causes them. It gives owners back with what it has done, and looks at them only to
//! tell what the host waits for from what it does not, and to count work by its cause.

use schemars::JsonSchema;
use serde::Serialize;

use crate::ftl::Lcn;

/// What work is done for. Whoever counts or orders work by its reason goes by these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// What the host reads and writes, with the reads of what it overwrites in part.
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
    /// Refresh: before data is too old, or where reads have shown that it needs it.
    Refresh,
    /// Patrol scrub: reads that look for data that needs refresh.
    Scrub,
    /// Folding of the SLC cache.
    Folding,
    /// Reading ahead of sequential reads.
    ReadAhead,
    /// Parity across dies: its programs.
    Parity,
    /// Recovery by parity across dies: reads that rebuild what others could not decode.
    Recovery,
    /// Moving data out of blocks in which a program has failed.
    BadBlock,
}

impl Cause {
    /// All of them, in their order.
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
    /// How many they are.
    pub const COUNT: usize = Self::ALL.len();

    /// Its name in data.
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

    /// Whether moving data for it frees a block that others can write to.
    pub(super) fn makes_room(self) -> bool {
        matches!(self, Self::Collection | Self::WearLevelling | Self::Folding)
    }

    /// Whether moving data for it leaves the last free superblock of a set to collection, where the set may have lost room.
    pub(super) fn leaves_last(self) -> bool {
        matches!(self, Self::Refresh | Self::BadBlock)
    }

    /// Whether it is a task of garbage collection, which may be paced.
    pub(super) fn is_collection(self) -> bool {
        matches!(self, Self::Collection | Self::WearLevelling)
    }
}

/// Whom a read is for. The back end gives it back with what has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ReadOwner {
    /// A host read.
    Request(u32),
    /// A host write that covers a codeword in part.
    Modify { request: u32, lcn: Lcn },
    /// What a write buffer lacks of a codeword that it holds in part.
    Fill { fill: u32 },
    /// Nobody yet: pages that sequential reads are likely to want next.
    Ahead,
    /// Data of a set that is moved.
    Move { set: u32, cause: Cause },
    /// Patrol scrub of a set.
    Scrub { set: u32 },
    /// Requests that wait for a translation page.
    Load { page: u32 },
    /// The update of a translation page.
    WriteBack { page: u32 },
    /// Rebuilding what another read could not decode, by parity across dies; and whether a request waits for that one.
    Recovery { read: u32, of_host: bool },
}

impl ReadOwner {
    /// Whether a request waits for it.
    #[inline]
    pub(super) fn is_of_host(self) -> bool {
        matches!(
            self,
            Self::Request(_) | Self::Modify { .. } | Self::Load { .. } | Self::Recovery { of_host: true, .. }
        )
    }

    /// Whether it is the rest of a codeword that the host writes in part.
    #[inline]
    pub(super) fn is_for_write(self) -> bool {
        matches!(self, Self::Modify { .. } | Self::Fill { .. })
    }

    /// What it is read for.
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

/// Whom a program is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramOwner {
    /// A host write, so many of its codewords.
    Request { request: u32, codewords: u32 },
    /// The write buffer; one of its flights.
    Buffer { flight: u32 },
    /// The update of a translation page.
    Translation { page: u32 },
    /// Data of its set that is moved.
    Move(Cause),
    /// Parity across dies of a stripe that is full: of what the host wrote, or of what was moved.
    Parity { of_host: bool },
    /// Data that was programmed in vain and found no room at once, and for which nobody waits; whether it goes where the host writes, in the
    /// turn of what that does.
    LeftOver { with_host: bool },
}

impl ProgramOwner {
    /// Whether it is for data that the host has written.
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

    /// Whether it is for data that is moved from one block to another.
    #[inline]
    pub(super) fn moves_data(self) -> bool {
        matches!(self, Self::Move(_))
    }

    /// What it is programmed for.
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
