//! The flash itself: where the threshold voltages of its cells are, what sensing them tells, how its raw bit error rate
//! (RBER) grows with wear and retention, and how chips, blocks, pages and codewords differ. Knows nothing of codes or of
//! time on a bus.
//!
//! ```text
//! CellSpec --(Wear)--> Cells --(page, level, Placement)--> Sensing: references, regions, probabilities, LLRs
//!     |                  |
//!     +--> RberModel     +--> RBER of each page
//!
//! rber(codeword) = f(P/E of its block, time since its write, page) x chip x block x page factor
//! ```
//!
//! - [`CellSpec`] says how cells are programmed and how they age; [`Cells`] is a wordline of them at one age.
//! - [`Sensing`] reads one page of [`Cells`] with a few references at each boundary between states.
//! - [`RberModel`] is `f`, from threshold voltages or by formula; [`Rber`] the same, quick.
//! - [`Variation`] makes the factors, log-normal with mean 1 and fixed by the seed, and overdispersed codewords.
//! - [`retention_bake_minutes`] and [`recovery_bake_minutes`] are the Arrhenius equivalents of laboratory ageing.

mod aging;
mod cells;
mod distribution;
mod rber;
mod sensing;
mod variation;

pub use aging::{recovery_bake_minutes, retention_bake_minutes};
pub use cells::{CellSpec, Cells, ErasedState, Mapping, References, Retention, TelegraphNoise};
pub use rber::{Rber, RberModel, Wear};
pub use sensing::{Placement, Sensing};
pub use variation::{Factors, Variation};
