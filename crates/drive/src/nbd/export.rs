//! The device that a server offers.

/// A device that is served. Calls may come from several threads and connections at once.
///
/// The server has checked each range: it is not empty, and lies within the export; it may begin and end at any byte.
/// Reads and writes are of at most
/// [`MAXIMUM_PAYLOAD_BYTES`](super::MAXIMUM_PAYLOAD_BYTES), the others of less than 4 GiB. Nothing that writes is called on an
/// export that [is read-only](Export::is_read_only).
///
/// All connections see one device: a write that was answered is seen by every later read, and a flush on one connection
/// covers the writes that were answered on the others.
///
/// A call that panics ends the connection it was made for, and [`Server::stop`](super::Server::stop) passes the panic on.
pub trait Export: Send + Sync {
    /// The name by which clients ask for it, of at most 4096 bytes. The empty name is the default export and always means this
    /// one, too.
    fn name(&self) -> &str;

    /// A line for people, of at most 4096 bytes, or nothing.
    fn description(&self) -> &str {
        ""
    }

    /// Size in bytes: a multiple of 512 that does not change.
    fn size_bytes(&self) -> u64;

    /// The size of aligned requests that need no read of what is beside them, in bytes: a power of two from 512 to 32 MiB.
    fn preferred_block_bytes(&self) -> u32 {
        4096
    }

    /// Whether every write is refused.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Fills `buffer` with what is at `offset`.
    ///
    /// # Errors
    /// [`Failure::Io`] with the first byte that could not be read: what is before it must be in `buffer`, since clients that can
    /// are sent it.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Failure>;

    /// Writes `data` at `offset`. With `fua` (force unit access) it is durable before this returns.
    ///
    /// # Errors
    /// When it is not written, or not wholly.
    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Failure>;

    /// Makes durable all that was written by calls that have returned.
    ///
    /// # Errors
    /// When some of it may be lost.
    fn flush(&self) -> Result<(), Failure>;

    /// Says that the data of a range is no longer needed; what it reads as afterwards is for the export to choose.
    ///
    /// # Errors
    /// When the export is worse for it: a range that cannot be trimmed may be left as it is.
    fn trim(&self, offset: u64, bytes: u64, fua: bool) -> Result<(), Failure>;

    /// Makes a range read as zeroes. With `may_trim` it may be left without physical space, and that is expected to be quicker
    /// than a write: clients that ask for nothing but a fast answer get it, and are refused without.
    ///
    /// # Errors
    /// As [`write`](Export::write).
    fn write_zeroes(&self, offset: u64, bytes: u64, may_trim: bool, fua: bool) -> Result<(), Failure>;

    /// A hint that a range will be read soon.
    ///
    /// # Errors
    /// When it was tried and went wrong; later reads are not affected.
    fn cache(&self, _offset: u64, _bytes: u64) -> Result<(), Failure> {
        Ok(())
    }

    /// What is known of the space behind a range without reading it (the metadata context `base:allocation`): consecutive
    /// extents from `offset`, at least one and at most `most`. They may end before the range does, and the last may end behind
    /// it.
    ///
    /// # Errors
    /// When nothing can be said.
    fn extents(&self, offset: u64, bytes: u64, most: usize) -> Result<Vec<Extent>, Failure>;
}

/// A piece of an export, with what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How long it is, in bytes; one of none is passed over.
    pub bytes: u64,
    /// Whether nothing is stored for it (`NBD_STATE_HOLE`).
    pub hole: bool,
    /// Whether it reads as zeroes (`NBD_STATE_ZERO`).
    pub zero: bool,
}

/// Why an export did not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// `NBD_EIO`: the medium failed.
    Io {
        /// The first byte of the export that could not be read or written, within the request.
        offset: u64,
    },
    /// `NBD_ENOSPC`: there is no room for more data.
    NoSpace,
    /// `NBD_EPERM`: it takes no writes (any more).
    ReadOnly,
    /// `NBD_EINVAL`: it cannot do this.
    Invalid,
    /// `NBD_ESHUTDOWN`: it is about to end.
    ShuttingDown,
}
