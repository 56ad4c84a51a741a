//! What a host asks of an SSD, and where requests come from.

use serde::{Deserialize, Serialize};
use softsense_base::{Ns, Result};

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Returns the data of a range.
    Read,
    /// Stores the data of a range.
    Write,
    /// Declares the data of a range dead (TRIM, discard).
    Trim,
    /// Completes when what was written before and is in a volatile write buffer is in flash.
    Flush,
    /// A write that completes when it is in flash, whatever write buffer there is (force unit access).
    FuaWrite,
}

impl RequestKind {
    /// Whether it stores data.
    #[inline]
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::FuaWrite)
    }
}

/// The largest read or write: 1 GiB. What a request still has to do is held in memory, and no system issues larger ones.
pub const MAX_REQUEST_BYTES: u64 = 1 << 30;
/// The largest trim: 1 TiB. Hosts discard whole partitions.
pub const MAX_TRIM_BYTES: u64 = 1 << 40;

/// One host request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it arrives, from the first arrival of its trace or workload.
    pub arrival: Ns,
    /// What it does.
    pub kind: RequestKind,
    /// First byte, in the address space of the simulated device.
    pub offset_bytes: u64,
    /// How many bytes; zero for a flush alone.
    pub bytes: u64,
}

/// Where a stream of requests ends that draws them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nowhere.
    Never,
    /// As many requests from here as it has by itself.
    AfterItsOwn,
}

/// A stream of requests in order of arrival. It is read one by one and never held whole.
pub trait RequestSource: Send + Sync {
    /// The next request; `None` at the end, and from then on.
    fn next_request(&mut self) -> Result<Option<Request>>;

    /// How much of the stream has been read, in [0, 1]; 0 while it never ends.
    fn fraction_read(&self) -> f64;

    /// A stream that draws its requests ends there. One that has been recorded ends where it does.
    fn end(&mut self, _end: End) {}
}

/// No requests.
pub(crate) struct NoRequests;

impl RequestSource for NoRequests {
    fn next_request(&mut self) -> Result<Option<Request>> {
        Ok(None)
    }

    fn fraction_read(&self) -> f64 {
        1.0
    }
}
