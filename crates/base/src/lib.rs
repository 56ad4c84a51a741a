//! What every room of the house shares: time and size units, the error type, random streams and
//! mergeable statistics. Knows nothing of flash, codes or SSDs.
//!
//! - [`Ns`]: integer nanoseconds, the only time there is in the engine.
//! - [`Pj`]: integer picojoules, so that energies add up exactly.
//! - [`Error`]: bad input, with the place it was found at, what was found and what was expected.
//! - [`Stream`]: random numbers derived by hashing (seed, purpose, index), never advanced across purposes.
//! - [`Histogram`]: a mergeable histogram of durations with a bounded relative error.
//! - [`UnfinishedFile`]: a file that appears whole or not at all.
//! - [`binomial_interval`] and its like: distribution functions, exact intervals, and the search for a maximum.

mod error;
mod files;
mod histogram;
mod statistics;
mod stream;
mod units;

pub use error::{Error, ErrorKind, Result, expect_number, expect_whole, line_of, shipped_or_file};
pub use files::{UnfinishedFile, read_text};
pub use histogram::{Histogram, ResponseSummary};
pub use statistics::{beta_quantile, binomial_cdf, binomial_interval, binomial_tail, climb, maximum, normal_cdf};
pub use stream::{Purpose, Stream};
pub use units::{Ns, Pj, TotalNs, format_bytes, format_count, format_duration};
