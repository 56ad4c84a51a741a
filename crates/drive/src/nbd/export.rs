//! The device that a server offers.

/// A device that a server offers. Calls may come from several threads and connections at once.
///
/// The server has checked each range: it is not empty, lies within the export, and may begin and end at any byte. Reads and writes are
/// of at most [`MAXIMUM_PAYLOAD_BYTES`](super::MAXIMUM_PAYLOAD_BYTES); other ranges are shorter than 4 GiB. No method that writes is
/// called on an export that [is read-only](Export::is_read_only).
///
/// All connections see one device: a write that was answered is seen by every later read, and a flush on one connection
/// covers the writes that were answered on the others.
///
/// A call that panics ends the connection for which it was made, and [`Server::stop`](super::Server::stop) passes the panic on.
pub trait Export: Send + Sync {
    /// The name by which clients ask for the export, at most 4096 bytes. The empty name means the default export, which is always this
    /// one, too.
    fn name(&self) -> &str;

    /// A line that describes the export to people, at most 4096 bytes; it may be empty.
    fn description(&self) -> &str {
        ""
    }

    /// The size in bytes: a multiple of 512 that does not change.
    fn size_bytes(&self) -> u64;

    /// The size of aligned requests that need no read of neighbouring data, in bytes: a power of two from 512 to 32 MiB.
    fn preferred_block_bytes(&self) -> u32 {
        4096
    }

    /// Whether every write is refused.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Fills `buffer` with the data at `offset`.
    ///
    /// # Errors
    /// [`Failure::Io`] with the first byte that could not be read. The data before it must be in `buffer`, since it is sent to clients
    /// that can take it.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Failure>;

    /// Writes `data` at `offset`. With `fua` (force unit access) the data is durable before this returns.
    ///
    /// # Errors
    /// When the data is not written, or only in part.
    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Failure>;

    /// Makes durable all data that was written by calls that have returned.
    ///
    /// # Errors
    /// When some of the data may be lost.
    fn flush(&self) -> Result<(), Failure>;

    /// Declares the data of a range as no longer needed. The export chooses what the range reads as afterwards.
    ///
    /// # Errors
    /// When the export has suffered from it. A range that cannot be trimmed may be left as it is.
    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> Result<(), Failure>;

    /// Makes a range read as zeroes. With `may_trim` the range may be left without physical space, which should be quicker than a write.
    /// Clients that accept only a fast answer are served with `may_trim`, and refused without.
    ///
    /// # Errors
    /// When the range does not read as zeroes, or only in part.
    fn write_zeroes(&self, offset: u64, bytes: u64, may_trim: bool, fua: bool) -> Result<(), Failure>;

    /// Hints that a range will be read soon.
    ///
    /// # Errors
    /// When the hint was tried and failed; later reads are not affected.
    fn cache(&self, _offset: u64, _bytes: u64) -> Result<(), Failure> {
        Ok(())
    }

    /// The state of the space behind a range, without reading it (the metadata context `base:allocation`). It consists of consecutive
    /// extents from `offset`, at least one and at most `most`. They may end before the range does, and the last one may end behind it.
    ///
    /// # Errors
    /// When nothing is known.
    fn extents(&self, offset: u64, bytes: u64, most: usize) -> Result<Vec<Extent>, Failure>;
}

/// A piece of an export, with its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The length in bytes. An extent of 0 bytes is skipped.
    pub bytes: u64,
    /// Whether nothing is stored for the extent (`NBD_STATE_HOLE`).
    pub hole: bool,
    /// Whether the extent reads as zeroes (`NBD_STATE_ZERO`).
    pub zero: bool,
}

/// The reason why an export did not carry out a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// `NBD_EIO`: the medium failed.
    Io {
        /// The first byte of the export that could not be read or written, within the request.
        offset: u64,
    },
    /// `NBD_ENOSPC`: there is no room for more data.
    NoSpace,
    /// `NBD_EPERM`: the export takes no writes (any more).
    ReadOnly,
    /// `NBD_EINVAL`: the export cannot do this.
    Invalid,
    /// `NBD_ESHUTDOWN`: the export is about to end.
    ShuttingDown,
}
