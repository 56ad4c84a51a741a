//! A server of the NBD protocol (network block device): fixed newstyle negotiation, simple and structured replies.
//!
//! ```text
//!   server ---> negotiation ---> transmission ---> an Export
//!      \              \------ wire -----/
//!       listening, socket
//! ```
//!
//! - [`Server`] listens at a Unix socket or a loopback port, and has a thread for each connection.
//! - Negotiation settles the export, whether replies are structured, and whether `base:allocation` is reported. It has
//!   a deadline.
//! - Transmission carries requests. Several are worked on at a time for each connection, and each is answered when it is done.
//!
//! A faulty client affects only its own connection. Nothing that it sends makes the server panic, wait for ever, or use more memory than
//! [`Limits`] says. TLS and extended headers are not offered.
//!
//! Source: NetworkBlockDevice/nbd, `doc/proto.md` of 2025-05-31 (commit 6725f91e), "The NBD protocol".
//!
//! # Example
//!
//! ```
//! use softsense_drive::nbd::{Address, Export, Extent, Failure, Limits, Server};
//! use std::sync::Arc;
//!
//! /// Reads as zeroes, and takes no data.
//! struct Empty;
//!
//! impl Export for Empty {
//!     fn name(&self) -> &str {
//!         "empty"
//!     }
//!     fn size_bytes(&self) -> u64 {
//!         1 << 20
//!     }
//!     fn is_read_only(&self) -> bool {
//!         true
//!     }
//!     fn read(&self, _: u64, buffer: &mut [u8]) -> Result<(), Failure> {
//!         buffer.fill(0);
//!         Ok(())
//!     }
//!     fn write(&self, _: u64, _: &[u8], _: bool) -> Result<(), Failure> {
//!         Err(Failure::ReadOnly)
//!     }
//!     fn flush(&self) -> Result<(), Failure> {
//!         Ok(())
//!     }
//!     fn trim(&self, _: u64, _: u64, _: bool) -> Result<(), Failure> {
//!         Err(Failure::ReadOnly)
//!     }
//!     fn write_zeroes(&self, _: u64, _: u64, _: bool, _: bool) -> Result<(), Failure> {
//!         Err(Failure::ReadOnly)
//!     }
//!     fn extents(&self, _: u64, bytes: u64, _: usize) -> Result<Vec<Extent>, Failure> {
//!         Ok(vec![Extent { bytes, hole: true, zero: true }])
//!     }
//! }
//!
//! # fn main() -> softsense_base::Result<()> {
//! let server = Server::start(&Address::Loopback(0), Arc::new(Empty), Limits::default())?;
//! assert!(server.uri().starts_with("nbd://127.0.0.1:"));
//! server.stop();
//! # Ok(())
//! # }
//! ```

mod export;
mod negotiation;
mod server;
mod transmission;
mod wire;

pub use crate::listening::Address;
pub use export::{Export, Extent, Failure};
pub use server::{Limits, Server};
pub use wire::{MAXIMUM_PAYLOAD_BYTES, MINIMUM_BLOCK_BYTES};
