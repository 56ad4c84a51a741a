//! Requests of a host to an SSD, and sources of requests: [`trace`] reads recorded ones, [`workload`] draws synthetic ones. Both are
//! streams.

pub mod trace;
pub mod workload;

use serde::{Deserialize, Serialize};
use softsense_base::{Ns, Result};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// Returns the data of a range.
    Read,
    /// Stores the data of a range.
    Write,
    /// Declares the data of a range dead (TRIM, discard).
    Trim,
    /// Completes when all data that was written before, and is in a volatile write buffer, is in flash.
    Flush,
    /// Stores data and completes when the data is in flash, whatever write buffer there is (force unit access).
    FuaWrite,
}

impl RequestKind {
    /// Whether the request stores data.
    #[inline]
    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::FuaWrite)
    }
}

/// The largest read or write: 1 GiB. The remaining work of a request is held in memory, and no system issues larger requests.
pub const MAX_REQUEST_BYTES: u64 = 1 << 30;
/// The largest trim: 1 TiB. Hosts discard whole partitions.
pub const MAX_TRIM_BYTES: u64 = 1 << 40;

/// One host request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Time of arrival, from the first arrival of the trace or workload.
    pub arrival: Ns,
    /// Kind of the request.
    pub kind: RequestKind,
    /// First byte, in the address space of the simulated device.
    pub offset_bytes: u64,
    /// Number of bytes; zero for a flush alone.
    pub bytes: u64,
}

/// The end of a stream that draws its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// No end.
    Never,
    /// An end after as many requests, counted from now, as the stream has by itself.
    AfterItsOwn,
}

/// A stream of requests in order of arrival. Requests are read one by one; the stream is never held whole.
pub trait RequestSource: Send + Sync {
    /// Returns the next request; `None` at the end, and from then on.
    fn next_request(&mut self) -> Result<Option<Request>>;

    /// Returns the share of the stream that has been read, in [0, 1]; 0 for a stream that never ends.
    fn fraction_read(&self) -> f64;

    /// Sets the end of a stream that draws its requests. A recorded stream ends where the recording does.
    fn end(&mut self, _end: End) {}
}

/// A stream without requests.
pub struct NoRequests;

impl RequestSource for NoRequests {
    fn next_request(&mut self) -> Result<Option<Request>> {
        Ok(None)
    }

    fn fraction_read(&self) -> f64 {
        1.0
    }
}
