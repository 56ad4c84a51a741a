use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The controller's DRAM behind one port, which carries one access after the other, first come, first served: data of
/// reads and writes, data that is moved, and map entries. The time of these accesses replaces
/// `host.controller_memory_us`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DramSpec {
    /// The speed of data at the port.
    pub speed: DramSpeed,
    /// The time of each access before its data, us, for opening a row and addressing a column. The port is busy during
    /// this time. Default: 0.
    #[serde(default)]
    pub access_us: f64,
    /// Bytes of a map entry; 0 if the map is not in DRAM. Before a request begins, one entry for each of its codewords crosses
    /// the port, all of them in one access. Default: 4.
    #[serde(default = "usual_map_entry_bytes")]
    #[schemars(range(min = 0, max = 64))]
    pub map_entry_bytes: u32,
}

fn usual_map_entry_bytes() -> u32 {
    4
}

/// The speed of data at the port of DRAM.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum DramSpeed {
    /// Bandwidth for data, GB/s (10^9 bytes a second).
    BandwidthGbPerS(#[schemars(range(min = 1e-6, max = 1e9))] f64),
    /// A bus with a width and a transfer rate.
    Bus {
        /// Width of the bus in bits.
        #[schemars(range(min = 8, max = 1024))]
        width_bits: u32,
        /// Transfers of `width_bits` bits, in millions a second, such as 1600 for DDR3-1600.
        #[schemars(range(min = 1e-3, max = 1e6))]
        transfer_rate_mt_per_s: f64,
    },
}

impl DramSpeed {
    /// The bandwidth for data, GB/s.
    pub fn gb_per_s(self) -> f64 {
        match self {
            Self::BandwidthGbPerS(bandwidth) => bandwidth,
            Self::Bus { width_bits, transfer_rate_mt_per_s } => {
                f64::from(width_bits) / 8.0 * transfer_rate_mt_per_s * 1e-3
            }
        }
    }
}

impl DramSpec {
    /// Some words for people.
    pub(super) fn describe(&self) -> String {
        format!("{:.3} GB/s, {} us an access", self.speed.gb_per_s(), self.access_us)
    }
}
