//! A simulated drive that is used as a block device.
//!
//! - [`nbd`]: a server of the NBD protocol, for whatever is an [`nbd::Export`].

pub mod nbd;
