//! Parts that every crate of softsense shares: time and size units, the error type, random streams, mergeable statistics, whole files.
//! This crate knows nothing of flash, codes or SSDs.
//!
//! ```text
//!                    base
//!                  /      \
//!   (flash) nand           ecc (codes)
//!                  \      /
//!                    link (reading one codeword)
//!                     |
//!                    ssd (the device under load)
//! ```
//!
//! - [`Ns`]: integer nanoseconds, the only unit of time in the engine; [`TotalNs`], a sum of many.
//! - [`Pj`]: integer picojoules.
//! - [`Error`]: bad input, with the place it was found at, what was found and what was expected.
//! - [`check_ranges`]: numbers in the ranges that their fields state, and [`schema_of`] a type, which has these ranges.
//! - [`from_toml`]: what a text of TOML says, of bounded depth.
//! - [`Stream`]: random numbers of one [`Purpose`].
//! - [`Histogram`]: durations, with a bounded relative error.
//! - [`UnfinishedFile`]: a file that appears complete or not at all.
//! - [`OwnName`]: the name of a policy or rule that a user has written.
//! - [`binomial_interval`] and its neighbours: distribution functions, exact intervals, and the search for a maximum.
//!
//! # Guarantees
//!
//! - **Time and energy are integers**: sums are exact, and do not depend on their order.
//! - **Random numbers are pure functions** of seed, purpose and index. No generator is advanced: draws may be made in
//!   any order, by any number of threads, and a new purpose changes no other draw. Tests pin the values.
//! - **The same on every CPU**: logarithms, powers and similar functions come from the portable `libm` wherever a
//!   result depends on them.
//! - **Merging is associative and commutative**: histograms of parts, in any order, are the histogram of the whole.
//! - **Bad input is an [`Error`]**, never a panic; a panic is a bug of softsense.
//!
//! # Example
//!
//! The order of draws does not matter:
//!
//! ```
//! use softsense_base::{Histogram, Ns, Purpose, Stream};
//!
//! let stream = Stream::new(1, Purpose::Workload);
//! let duration = |index| Ns::from_us(100.0 * stream.uniform(index, 0));
//!
//! let mut whole = Histogram::default();
//! (0..1000).for_each(|index| whole.record(duration(index)));
//!
//! let (mut early, mut late) = (Histogram::default(), Histogram::default());
//! (500..1000).rev().for_each(|index| late.record(duration(index)));
//! (0..500).for_each(|index| early.record(duration(index)));
//! late.merge(&early);
//!
//! assert_eq!(late, whole);
//! assert!((whole.percentile(0.5).unwrap().as_us() - 50.0).abs() < 5.0);
//! ```

mod error;
mod files;
mod histogram;
mod own;
mod ranges;
mod statistics;
mod stream;
mod toml;
mod units;
mod wording;

pub use error::{Error, ErrorKind, Faults, MOST_TOLD, Result, expect_number, expect_whole, line_of, shipped_or_file};
pub use files::{UnfinishedFile, read_text};
pub use histogram::{Histogram, Recorded, ResponseSummary, Slowest, SumsByDuration};
pub use own::{OwnName, or_own};
pub use ranges::{check_ranges, schema_of};
pub use statistics::{
    beta_quantile, binomial_cdf, binomial_interval, binomial_quantile, binomial_tail, climb, maximum, normal_cdf,
    normal_quantile, poisson_quantile, student_t_quantile,
};
pub use stream::{Purpose, Stream};
pub use toml::{MOST_DEPTH, check_numbers, from_toml, parse_toml, toml_table, whole};
pub use units::{Ns, Pj, TotalNs, format_bytes, format_count, format_duration};
pub use wording::{canonical, distance, nearest, plain, spelled_like, unknown_name};
