//! The integration tests, one binary: it is linked once, and what they share is compiled once.

mod absorbing_sets;
mod bch;
mod codes;
mod construction;
mod decoders;
mod design;
mod hardware;
mod literature;
mod oracle;
