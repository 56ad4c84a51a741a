use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Ns, Result};

/// Losses of power. The content of an unprotected write buffer is lost, and programs and erases are started anew. The device is away
/// until power is back, the map is reloaded and pages written lately are scanned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PowerLossSpec {
    /// Instants at which power fails, in seconds of the run, in growing order. Instants at which the device is already away are ignored.
    #[schemars(inner(range(min = 0.0, max = 1e9)))]
    pub at_s: Vec<f64>,
    /// Mean time from the moment at which the device is back to the next loss, s, in addition to `at_s`. The times are exponential and
    /// drawn from the seed. Without this field the only losses are those of `at_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-3, max = 1e9))]
    pub mean_interval_s: Option<f64>,
    /// Time without power, us.
    #[schemars(range(min = 0.0, max = MOST_US))]
    pub off_us: f64,
    /// Time from the return of power to the first read of the flash, for capacitors, boot code and firmware, us.
    #[schemars(range(min = 0.0, max = MOST_US))]
    pub power_up_us: f64,
    /// Bytes of a map entry of a codeword, with which the map is reloaded from the flash. With 0 the map is not reloaded.
    #[schemars(range(min = 0, max = 64))]
    pub map_entry_bytes: u32,
    /// The pages that are scanned for map entries that the reloaded map lacks.
    pub scan: PowerLossScan,
}

/// The pages that are scanned after a loss of power.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PowerLossScan {
    /// No pages: the map is complete.
    None,
    /// Programmed pages of blocks that are not full: the map is saved when a block is full.
    #[default]
    OpenBlocks,
    /// All programmed pages: the map is never saved.
    AllBlocks,
}

impl Default for PowerLossSpec {
    fn default() -> Self {
        Self {
            at_s: Vec::new(),
            mean_interval_s: None,
            off_us: 0.0,
            power_up_us: 100_000.0,
            map_entry_bytes: 4,
            scan: PowerLossScan::default(),
        }
    }
}

/// The longest time without power, or from its return to the first read, us: an hour.
const MOST_US: f64 = 3.6e9;

impl PowerLossSpec {
    /// Checks that it says when power fails.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        if self.at_s.is_empty() && self.mean_interval_s.is_none() {
            let message = "found neither `at_s` nor `mean_interval_s`, expected at least one of the two, which say \
                           when power fails";
            faults.add(Error::config("power_loss", message.to_owned()));
        }
        if let Some(pair) = self.at_s.windows(2).find(|pair| pair[0] >= pair[1]) {
            let message = format!("found {} after {}, expected instants in ascending order", pair[1], pair[0]);
            faults.add(Error::config("power_loss.at_s", message));
        }
        faults.end()
    }

    /// The instants of losses that the config lists.
    pub fn instants(&self) -> impl Iterator<Item = Ns> {
        self.at_s.iter().map(|&at_s| Ns::from_us(at_s * 1e6))
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let mut when = Vec::new();
        if !self.at_s.is_empty() {
            let at: Vec<String> = self.at_s.iter().map(ToString::to_string).collect();
            when.push(format!("at {} s", at.join(", ")));
        }
        when.extend(self.mean_interval_s.map(|mean_s| format!("every {mean_s} s in the mean")));
        let scan = match self.scan {
            PowerLossScan::None => "no scan",
            PowerLossScan::OpenBlocks => "scan of open blocks",
            PowerLossScan::AllBlocks => "scan of all blocks",
        };
        format!("{}; off {}, power-up {} us, {scan}", when.join(" and "), self.off_us, self.power_up_us)
    }
}
