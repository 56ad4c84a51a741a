//! The flash itself: the threshold voltages of its cells, the information that sensing gives, and the growth of its raw bit error rate
//! (RBER) with wear and retention. It also has the differences between chips, blocks, pages and codewords. This crate knows nothing of
//! codes or of time on a bus.
//!
//! ```text
//! CellSpec --(Wear)--> Cells --(page, level, Placement)--> Sensing: references, regions, probabilities, LLRs
//!     |                  |
//!     +--> RberModel     +--> RBER of each page
//!
//! rber(codeword) = f(P/E and reads of its block, time since its write, page)
//!                  x chip x block x layer x wordline x page factor
//! ```
//!
//! - [`CellSpec`] describes how cells are programmed and how they age; [`Cells`] is a wordline of them at one age.
//! - [`Sensing`] reads one page of [`Cells`] with a few references at each boundary between states.
//! - [`RberModel`] is `f`, from threshold voltages or by formula; [`Rber`] is the same function, interpolated for
//!   speed.
//! - [`Variation`] draws the factors, log-normal with mean 1 and fixed by the seed, and overdispersed codewords.
//! - [`retention_bake_minutes`] and [`recovery_bake_minutes`] are the Arrhenius equivalents of laboratory aging.
//!
//! # Guarantees
//!
//! - **No hidden state**: cells, references and RBER are functions of a spec, an age and a page; factors are functions
//!   of the seed and the place. Queries change nothing, and their order does not matter.
//! - **The same on every CPU**: everything that a run depends on is computed with the portable `libm`.
//! - **Probabilities are computed, not sampled**: those of regions, errors and pages. Tails keep their relative accuracy, so that a
//!   difference of tails can be an RBER of 1e-12.
//! - **Bad fields are errors** that name the config path; an unknown page or level is a bug of the caller, and panics.
//!
//! # Example
//!
//! Worn MLC cells after a year: retention adds errors, and soft sensing gains information.
//!
//! ```
//! use softsense_nand::{CellSpec, Placement, Sensing, Wear};
//!
//! let spec = CellSpec::open("mlc", "".as_ref())?;
//! let at = |retention_hours| spec.at(Wear::unread(10_000, retention_hours));
//! let (fresh, old) = (at(1.0), at(365.0 * 24.0));
//! assert!(old.mean_rber() > fresh.mean_rber());
//!
//! let upper = 1;
//! let told = |level| Sensing::new(&old, upper, level, Placement::MutualInformation).information(&old);
//! assert!(told(1) < told(3) && told(3) < told(7) && told(7) < 1.0);
//! # Ok::<(), softsense_base::Error>(())
//! ```

mod aging;
mod cells;
mod distribution;
mod equivalent;
mod rber;
mod rber_grid;
mod sensing;
mod variation;
mod wear_law;

pub use aging::{recovery_bake_minutes, retention_bake_minutes};
pub use cells::{
    CellSpec, Cells, Dwell, ErasedState, FitSpec, Inference, InferredBy, Interference, Mapping, MeasuredStates,
    Measurement, Mechanism, NamedCells, ProgrammedAs, ProgrammedStates, ReadDisturb, References, Retention,
    ShortenedSensing, States, TelegraphNoise, TimeLaw, ValleyPoint, ValleySearch, effective_reads_if_even,
    states_of_valleys,
};
pub use rber::{LocatedWear, MOST_EFFECTIVE_READS, Rber, RberModel, ReadWith, ReferencesAt, Wear};
pub use rber_grid::RberGrid;
pub use sensing::{Placement, Sensing};
pub use variation::{Factors, Variation};
pub use wear_law::{FittedWear, WearLaw, check_points, fit_wear};
