//! The event-driven SSD: a stream of requests goes in; response times, and the causes of these times, come out.
//!
//! ```text
//!   trace ----\                 +-- ftl: where codewords lie, which block is collected
//!              > request --> simulation                                           --> summary
//!   workload -/                 +-- link: steps of a read, what comes of them
//! ```
//! - `softsense_config`: every field of a run, the conditions that fields have to meet together, and what follows from them.
//! - `softsense_requests`: sources of requests, recorded or synthetic; both are streams.
//! - `softsense_ftl`: the page map, allocation and victim choice; the mapping cache. It decides, and takes no time.
//! - [`simulation`]: stations (host, write path, translation, array, bus, decoders) on one event queue. A station calls the stations below
//!   it, and tells the stations above it what it has done.
//! - [`tenants`]: several users of one device, and how fair the device is to them.
//! - [`run`] and [`summary`]: a simulation with wall-clock times, and its result. [`timeline`]: a simulation of one read, event by event.
//!   [`trace_events`]: the operations in a window of a run, for trace viewers.
//!
//! Modules import from below only, which `tests/all/layers.rs` checks.
//!
//! **Order.** Time is integer nanoseconds. Events of one instant happen in the order in which they were scheduled (see
//! [`events`]). A run is a function of config, requests and seed, bit for bit, on every CPU.
//! **Common random numbers.** A codeword's draw is a hash of seed, place and erase count. So two runs that differ in the read policy meet
//! the same codewords, as far as they write the same places.
//!
//! **Nothing is lost.** Every request completes once. Every unit of data is where the map says, or was refused and is counted.
//! `tests/all/laws.rs` draws devices over all features and checks these laws.
//!
//! # Example
//!
//! Ten thousand requests on the default device, for which hard decision fails at 28.8 % of codewords:
//!
//! ```
//! use softsense_config::checked::CheckedConfig;
//! use softsense_ssd::run::{Requests, Run};
//!
//! # fn main() -> softsense_base::Result<()> {
//! let config = CheckedConfig::open("mlc-25nm", &["workload.requests=10_000".into(), "read.policy=progressive".into()])?;
//! let mut run = Run::new(&config, Requests::Workload, false)?;
//! while run.advance(100_000)? {}
//! let summary = run.summary(false);
//! assert_eq!(summary.requests, 10_000);
//! // Some were read at level 1, the others deeper.
//! let levels = &summary.codeword_reads.level_histogram;
//! assert!(levels[0] > levels[1] && levels[1] > 0);
//! # Ok(())
//! # }
//! ```

pub mod events;
pub mod run;
pub mod series;
pub mod simulation;
mod slab;
pub mod summary;
pub mod tenants;
pub mod timeline;
pub mod trace_events;
