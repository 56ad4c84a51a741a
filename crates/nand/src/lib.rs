//! The flash itself: how its raw bit error rate (RBER) grows with wear and retention, and how chips,
//! blocks and pages differ. Knows nothing of codes or of time on a bus.
//!
//! ```text
//! rber(codeword) = f(P/E of its block, time since its write, page type) x chip x block x page factor
//! ```
//!
//! [`RberModel`] is `f`; [`Variation`] makes the factors, log-normal with mean 1 and fixed by the seed.

mod rber;
mod variation;

pub use rber::{RberModel, Wear};
pub use variation::{Factors, Variation};
