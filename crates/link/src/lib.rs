//! Reading one codeword: the crate in which flash and codes meet.
//!
//! ```text
//!   Reliability: fate of a codeword ----------------------------+
//!                                                               v
//!   ReadSpec: first step --> (the SSD senses, transfers) --> outcome of the step --> decoded
//!                 ^                                             |
//!                 +------------- observation: it failed --------+
//! ```
//!
//! - A [`Step`] is one attempt at a codeword: a level, and the *operations* that it takes (a hard sensing or not, a number of extra levels
//!   sensed and transferred, one decode). The SSD turns operations into time, under contention.
//! - A [`ReadPolicy`] is a policy that a user has written; an [`AskedPolicy`] asks it during the run, or has tabulated its answers before.
//! - An [`Observation`] is the information that a controller has after a step. A [`ReadSpec`] (a [`Policy`] and a [`Retry`]) is a state
//!   machine that maps observations to the next step.
//! - [`PageConditions`] describe the pages of a read at one moment, for all codewords in them. From them a [`Fate`] is made once for each
//!   codeword of the read: its random draw and its raw bit error rate. [`Reliability::outcome`] gives all results of a step at once. Only
//!   `ideal` asks a fate for something that no controller knows.
//!
//! **Levels.** Level 1 is hard decision: one reference voltage between adjacent states. Level 1 + j has j extra
//! references, up to [`MAX_LEVEL`].
//!
//! **The random draw.** The draw `u` of a codeword, uniform in [0, 1), is fixed when the codeword is written: a hash of seed, number and
//! write count. Level j fails where `u < P_fail(j | rber)`. So re-reads agree and levels are nested. The lowest level that decodes only
//! grows with retention, and every policy reads the same codewords.
//!
//! **Fidelity.** A [`DecodeTable`] answers in nanoseconds and was measured once, by a [`FrameTask`] for each of its numbers. A
//! [`CodewordReader`] programs, ages, senses and decodes each codeword that is read, at each level that is tried. Its random draws are of
//! single cells. Re-reads agree, too, but on rare occasions a deeper level fails where an easier one decodes, or age helps. A
//! [`StoredReader`] reads tens of thousands of codewords with given data per second. It draws only the cells that may be read as another
//! region than the middle of their state.
//!
//! **Age.** A device may change its code as blocks wear. A [`ByAge`] holds the codes with the P/E cycles up to which each is used: decode
//! tables ([`AdaptiveSpec`]) or BCH codes ([`BchSpec`]). Failures of BCH codes come from a binomial tail or from real decodes.
//!
//! # Example
//!
//! `progressive` reads codewords of `flash-8/9` until they decode, at a raw bit error rate of 0.00875, where hard
//! decision fails for 14 % of them:
//!
//! ```
//! use softsense_link::{CellAge, History, Observation, Policy, ReadSpec, Reliability, ReliabilitySpec, Retry};
//! use softsense_nand::Wear;
//!
//! # fn main() -> softsense_base::Result<()> {
//! let spec: ReliabilitySpec = serde_json::from_str(
//!     r#"{ "table": { "file": "flash-8-9", "rber": { "constant": { "rber": 0.00875 } } } }"#,
//! ).expect("it is a table");
//! let reliability = Reliability::new(&spec, 1, ".".as_ref())?;
//! let read = ReadSpec { policy: Policy::Progressive, retry: Retry::Incremental, ..ReadSpec::default() };
//! let cells = CellAge {
//!     code_age: 3000,
//!     block_factor: reliability.block_factor(0, 0),
//!     page: 0,
//!     page_type: None,
//!     page_type_factor: 1.0,
//!     wear: Wear::unread(3000, 720.0),
//!     carried_rber: 0.0,
//! };
//! let conditions = reliability.conditions(0, 1, |_| cells);
//! let levels_tried = |number: u64| {
//!     let fate = reliability.fate(&conditions, number);
//!     let mut history = History::default();
//!     let mut steps = vec![read.first(&history, 1, || reliability.least_level(&fate))];
//!     loop {
//!         let step = *steps.last().expect("there is a first step");
//!         let decoded = reliability.outcome(&fate, step).decoded;
//!         match read.after(&mut history, Observation { decoded, ..Observation::failed(step) }) {
//!             Some(next) => steps.push(next),
//!             None => return steps.len(),
//!         }
//!     }
//! };
//! let hard_enough = (0..1000).filter(|&number| levels_tried(number) == 1).count();
//! assert!(hard_enough > 500 && hard_enough < 1000);
//! # Ok(())
//! # }
//! ```

mod bch_by_age;
mod by_age;
mod exact;
mod frames;
mod own;
mod policy;
mod reliability;
mod splitting;
mod step;
mod stored;
mod table;

pub use bch_by_age::{AgedBch, AgedBchSpec, BchSpec};
pub use by_age::ByAge;
pub use exact::{CellCondition, CodewordRead, CodewordReader, DecodeAttempt, ExactSpec, levels_of};
pub use frames::{CellsRead, Condition, FrameCounts, FrameSpec, FrameTask, ReadChannel, listing_identity};
pub use own::{
    AskedPolicy, MOST_STEPS, Observes, OwnCost, OwnRead, OwnStep, PolicyTraits, ReadBegins, ReadPolicy, StepsThere,
    Tried, Watched,
};
pub use policy::{HardReferences, Policy, Predictor, PredictorPlace, ReadSpec, Remembered, Retry, SoftReferences};
pub use reliability::{
    AdaptiveSpec, CellAge, CompiledPredictor, Fate, FewErrors, FixedDraw, GivenCodeword, Observable, ObservedSwitch,
    Outcome, PageConditions, Questions, RateSpec, RateSwitch, Readings, Reliability, ReliabilitySpec, TableSpec,
};
pub use splitting::{Chain, Pattern, Record, Rung, SplitRun, SplitSpec, WalkSpec};
pub use step::{History, Observation, Step};
pub use stored::{StoredReader, StoredWord};
pub use table::{DecodeTable, Interpolation, Side, SoftLevels};

/// The deepest sensing: seven levels between adjacent states (LDPC-in-SSD, section 2.2).
pub const MAX_LEVEL: u8 = 7;
