use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, expect_number};

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
    pub hours: f64,
    /// Hours between erases for the cells that were measured.
    pub reference_hours: f64,
    /// Share by which charge loss falls when the rest is ten times as long.
    pub slowdown_per_decade: f64,
}

impl Dwell {
    pub(super) fn check(self, path: &str) -> Result<()> {
        expect_number(format!("{path}.hours"), self.hours, 1e-6, 1e6)?;
        expect_number(format!("{path}.reference_hours"), self.reference_hours, 1e-6, 1e6)?;
        expect_number(format!("{path}.slowdown_per_decade"), self.slowdown_per_decade, 0.0, 1.0)?;
        let factor = self.retention_factor();
        if factor <= 0.0 {
            let message = format!("found a rest that leaves {factor:.3} of what retention does, expected more than 0");
            return Err(Error::config(format!("{path}.hours"), message));
        }
        Ok(())
    }

    /// The factor on the effect of retention.
    pub(super) fn retention_factor(self) -> f64 {
        1.0 - self.slowdown_per_decade * libm::log10(self.hours / self.reference_hours)
    }
}
