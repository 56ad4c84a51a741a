//! Reading one codeword: where flash and codes meet.
//!
//! A read is a sequence of [`Attempt`]s. Each says which *operations* it takes (a hard sensing, so
//! many extra levels sensed and transferred, one decode); how long they last is for the SSD to say,
//! under contention. A [`Policy`] chooses the levels, a [`Retry`] what a further level costs, and
//! [`Reliability`] whether an attempt succeeds.
//!
//! ```text
//!   Policy + Retry --> Attempt --> (the SSD senses, transfers, decodes) --> success?
//!      ^                                                                       |
//!      +------------------------------- failed: next attempt -----------------+
//! ```
//!
//! **Levels.** Level 1 is hard decision: one reference voltage between adjacent states. Level 1 + j
//! has j extra, up to [`MAX_LEVEL`].
//!
//! **Luck.** A codeword's luck `u` is fixed when it is written, a hash of seed, place and write
//! count. Level j fails it where `u < P_fail(j | rber)`, and the least level that does not is its
//! *required level*. So re-reads agree, levels are nested, required levels only grow with retention,
//! and every policy meets the same codewords.
//!
//! **Fidelity.** A [`DecodeTable`] answers in nanoseconds and was measured once, by a [`FrameTask`] for each of its
//! numbers. A [`CodewordReader`] programs, ages, senses and decodes each codeword that is read. Its luck is that of its
//! cells: re-reads agree too, and levels are taken as nested, but required levels may fall, rarely.
//!
//! **Age.** A device may change its code as blocks wear: what holds up to which P/E cycles is a [`ByAge`], of decode tables
//! ([`AdaptiveSpec`]) or of BCH codes ([`BchSpec`]), whose failures are a binomial tail or real decodes.

mod bch_by_age;
mod by_age;
mod exact;
mod frames;
mod policy;
mod reliability;
mod splitting;
mod table;

pub use bch_by_age::{AgedBch, AgedBchSpec, BchSpec};
pub use by_age::ByAge;
pub use exact::{CellCondition, CodewordRead, CodewordReader, DecodeAttempt, ExactSpec};
pub use frames::{
    Age, CellsRead, Condition, FrameCounts, FrameSpec, FrameTask, NamedCells, ReadChannel, listing_identity,
};
pub use policy::{Attempt, Policy, ReadSpec, Retry};
pub use reliability::{AdaptiveSpec, CellAge, RateSpec, Reliability, ReliabilitySpec, RequiredLevel, TableSpec};
pub use splitting::{Chain, Pattern, Record, Rung, SplitRun, SplitSpec, WalkSpec};
pub use table::{DecodeTable, Interpolation};

/// The deepest sensing: seven levels between adjacent states (LDPC-in-SSD, section 2.2).
pub const MAX_LEVEL: u8 = 7;
