//! The event-driven SSD: a stream of requests goes in, response times and what they were spent on
//! come out.
//!
//! ```text
//!   trace ----\                    +-- ftl: where codewords lie, which block is collected
//!              > request --> simulation                                                  --> summary
//!   workload -/                    +-- link: levels to try, whether decoding succeeds
//! ```
//!
//! - [`config`]: every field of a run, its unit, default and check; [`checked`]: what fields must be to one another, and what they
//!   make together.
//! - [`trace`], [`workload`]: where [`request`]s come from, recorded or synthetic; both are streams.
//! - [`geometry`]: how many of everything, and the numbers of everything.
//! - [`mod@format`]: the page format, that is which pages of a block its codewords are in.
//! - [`ftl`]: the page map, allocation and victim choice; the mapping cache. It decides, and takes no time.
//! - [`simulation`]: host, busy units, buses, decoders, garbage collection, on one event queue.
//! - [`run`] and [`summary`]: a simulation with a clock on the wall, and its result.
//!
//! **Order.** Time is integer nanoseconds. Events of one instant happen in the order in which they
//! were scheduled (see [`events`]). A run is a function of config, requests and seed, bit for bit.
//!
//! **Common random numbers.** A codeword's luck is a hash of seed, place and erase count, so two runs
//! that differ in the read policy meet the same codewords as far as they write the same places.

pub mod checked;
pub mod config;
pub mod events;
pub mod format;
pub mod ftl;
pub mod geometry;
pub mod request;
pub mod run;
pub mod simulation;
mod slab;
pub mod summary;
pub mod trace;
pub mod workload;
