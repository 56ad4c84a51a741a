use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The network between SSDs and a pool of decoders or encoders: a link of each SSD, and the switch that joins all links. A codeword to be
/// decoded crosses the link of its SSD, then the switch; an encoded one crosses the switch, then the link.
///
/// Link and switch carry one codeword at a time in each direction, first come, first served. They pass a codeword on when they have
/// received all of it (store and forward).
///
/// Source: S. Korkotsides, T. Antonakopoulos, "The effect of using multiple code rates on NVM-based storage systems", 2017, figure 1,
/// where links and the switch are drawn, and take no time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterconnectSpec {
    /// Bytes of a codeword in flash, data and parity: the size of its hard decisions on a link.
    #[schemars(range(min = 1, max = 1 << 27))]
    pub codeword_bytes: u32,
    /// The link of each SSD.
    pub ssd_link: LinkSpec,
    /// The switch.
    pub switch: LinkSpec,
}

/// A link with two independent directions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Bandwidth in each direction, GB/s: 10^9 bytes a second.
    #[schemars(range(min = 1e-6, max = 1e9))]
    pub bandwidth_gb_per_s: f64,
    /// Time from the departure of the last byte to its arrival, us. The next codeword may leave meanwhile.
    #[serde(default)]
    pub latency_us: f64,
}

impl LinkSpec {
    /// The time that the given number of bytes takes to leave, us.
    pub fn serialization_us(&self, bytes: f64) -> f64 {
        bytes / (1000.0 * self.bandwidth_gb_per_s)
    }

    fn describe(&self) -> String {
        format!("{} GB/s + {} us", self.bandwidth_gb_per_s, self.latency_us)
    }
}

impl InterconnectSpec {
    /// Some words for people.
    pub(crate) fn describe(&self) -> String {
        format!(
            "{} of each SSD, switch {}; {} bytes a codeword",
            self.ssd_link.describe(),
            self.switch.describe(),
            self.codeword_bytes
        )
    }
}
