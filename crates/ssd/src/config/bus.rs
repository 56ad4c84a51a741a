use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Faults, Result};

use super::duration::check_us;

/// Timing of the channel buses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BusSpec {
    /// Transfer of one codeword, as hard decisions or to be programmed, us.
    pub transfer_us: f64,
    /// Transfer of what one extra level adds to a codeword, us.
    pub transfer_extra_level_us: f64,
    /// Command and address cycles of a sensing, a program or an erase, us: the bus carries them before the array begins. 0 for none.
    pub command_us: f64,
    /// What goes first of all that waits for a bus.
    pub first: BusFirst,
}

/// What goes first of all that waits for a bus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusFirst {
    /// What has waited longest.
    #[default]
    FirstCome,
    /// Commands of sensings and erases, so that arrays are at work while others wait with their data.
    Commands,
    /// Data that was read: arrays get no command while any of their channel has data.
    ReadData,
}

impl Default for BusSpec {
    fn default() -> Self {
        Self { transfer_us: 20.0, transfer_extra_level_us: 10.0, command_us: 0.0, first: BusFirst::default() }
    }
}

impl BusSpec {
    /// Checks the ranges.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        faults.see(check_us("bus.transfer_us", self.transfer_us));
        faults.see(check_us("bus.transfer_extra_level_us", self.transfer_extra_level_us));
        faults.see(check_us("bus.command_us", self.command_us));
        faults.end()
    }

    /// Some words for people.
    pub(crate) fn describe(&self) -> String {
        let command = if self.command_us > 0.0 { format!(", command {} us", self.command_us) } else { String::new() };
        let first = match self.first {
            BusFirst::FirstCome => "",
            BusFirst::Commands => ", commands first",
            BusFirst::ReadData => ", read data first",
        };
        let Self { transfer_us, transfer_extra_level_us, .. } = self;
        format!("transfer {transfer_us} + {transfer_extra_level_us} us a level a codeword{command}{first}")
    }
}
