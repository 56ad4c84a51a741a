use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::Result;

use super::duration::check_us;

/// Timing of the channel buses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BusSpec {
    /// Transfer of one codeword, as hard decisions or to be programmed, us.
    pub transfer_us: f64,
    /// Transfer of what one extra level adds to a codeword, us.
    pub transfer_extra_level_us: f64,
}

impl Default for BusSpec {
    fn default() -> Self {
        Self { transfer_us: 20.0, transfer_extra_level_us: 10.0 }
    }
}

impl BusSpec {
    /// Checks the ranges.
    pub(super) fn check(&self) -> Result<()> {
        check_us("bus.transfer_us", self.transfer_us)?;
        check_us("bus.transfer_extra_level_us", self.transfer_extra_level_us)
    }

    /// Some words for people.
    pub(crate) fn describe(&self) -> String {
        format!("transfer {} + {} us a level a codeword", self.transfer_us, self.transfer_extra_level_us)
    }
}
