//! Whom operations of the back end are for. It gives owners back with what it has done, and looks at them only to tell what the
//! host waits for from what it does not.

use crate::ftl::Lcn;

/// Whom a read is for. The back end gives it back with what has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadOwner {
    /// A host read.
    Request(u32),
    /// A host write that covers a codeword in part.
    Modify { request: u32, lcn: Lcn },
    /// Garbage collection of a set, or read reclaim there.
    Collection(u32),
    /// Requests that wait for a translation page.
    Load { page: u32 },
    /// The update of a translation page.
    WriteBack { page: u32 },
}

impl ReadOwner {
    /// Whether a request waits for it.
    #[inline]
    pub(super) fn is_of_host(self) -> bool {
        matches!(self, Self::Request(_) | Self::Modify { .. } | Self::Load { .. })
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
    /// Garbage collection of the set.
    Collection,
    /// Read reclaim of the set.
    Reclaim,
    /// Folding of the SLC cache of the set.
    Fold,
}

impl ProgramOwner {
    /// Whether it is for data that the host has written.
    #[inline]
    pub(super) fn is_of_host(self) -> bool {
        matches!(self, Self::Request { .. } | Self::Buffer { .. })
    }

    /// Whether it is for data that is moved from one block to another.
    #[inline]
    pub(super) fn moves_data(self) -> bool {
        matches!(self, Self::Collection | Self::Reclaim | Self::Fold)
    }
}
