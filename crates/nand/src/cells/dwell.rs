use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

/// The effect of rest between P/E cycles on cells: damage heals, and charge is lost more slowly. The effect of
/// retention is multiplied by
///
/// ```text
/// 1 - slowdown_per_decade log10(hours / reference_hours)
/// ```
///
/// Source of the form: Y. Luo, S. Ghose, Y. Cai, E. Haratsch, O. Mutlu, "HeatWatch: Improving 3D NAND Flash Memory Device
/// Reliability by Exploiting Self-Recovery and Temperature Awareness", 2018. The numbers are parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dwell {
    /// Hours between the erase of a block and the one before, on average.
    #[schemars(range(min = 1e-6, max = 1e6))]
    pub hours: f64,
    /// Hours between erases for the cells that were measured.
    #[schemars(range(min = 1e-6, max = 1e6))]
    pub reference_hours: f64,
    /// Share by which charge loss falls when the rest is ten times as long.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub slowdown_per_decade: f64,
}

impl Dwell {
    pub(super) fn check(self, path: &str) -> Result<()> {
        let factor = self.retention_factor();
        if factor <= 0.0 {
            let message = format!(
                "found a rest that leaves a factor of {factor:.3} on the effect of retention, expected a shorter \
                 rest, which leaves a factor above 0"
            );
            return Err(Error::config(format!("{path}.hours"), message));
        }
        Ok(())
    }

    /// The factor on the effect of retention.
    pub(super) fn retention_factor(self) -> f64 {
        1.0 - self.slowdown_per_decade * libm::log10(self.hours / self.reference_hours)
    }
}
