//! The integration tests, one binary: it is linked once, and what they share is compiled once.

mod client;
mod control;
mod data;
mod faults;
mod image;
mod nbd;
mod nbd_fuzz;
mod support;
mod timing;
