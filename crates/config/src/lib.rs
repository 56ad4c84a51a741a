//! The config of a run, and what follows from it before anything happens.
//!
//! - [`spec`]: every field of a run, its unit, default and range, with one file for each station.
//! - [`checked`]: the conditions that fields have to meet together, with the geometry and the reliability that follow from them.
//! - [`geometry`]: the number of all parts of the device, and their numbering. [`format`](mod@format): the pages of a block in which its
//!   codewords lie. [`ids`]: a type for the number of each kind of part. [`start_ages`]: the age of each block before the run.
//! - [`own`]: policies and rules that users have written. [`design`]: error correction by age, from raw bit error rates.
//!
//! # Example
//!
//! ```
//! use softsense_config::checked::CheckedConfig;
//!
//! # fn main() -> softsense_base::Result<()> {
//! let config = CheckedConfig::open("mlc-25nm", &["read.policy=progressive".into()])?;
//! assert_eq!(config.geometry().planes(), 512);
//! # Ok(())
//! # }
//! ```

pub mod checked;
pub mod design;
pub mod format;
pub mod geometry;
pub mod ids;
pub mod own;
pub mod spec;
pub mod start_ages;
