use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Share of a PCIe packet that is data: 256 B with 24 B of framing, header and check sum.
const PAYLOAD_SHARE: f64 = 256.0 / 280.0;

/// The link between host and device: full duplex, one transfer after the other in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostLinkSpec {
    /// The speed of data on the link, in each direction.
    pub speed: LinkSpeed,
    /// Time from the departure of the last byte to its arrival, us: for a command on its way to the device, and for data or a completion
    /// on its way to the host. The next transfer may leave meanwhile.
    #[serde(default)]
    pub latency_us: f64,
    /// Time for which a command occupies the device's end of the link, us, one command after the other. The device takes in at most 1e6 /
    /// `command_us` commands a second, of any size. With 0 it takes in as many as the link carries.
    #[serde(default)]
    pub command_us: f64,
    /// Time for which a command that writes occupies the device's end, us. Without this field it is `command_us`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_command_us: Option<f64>,
}

/// The speed of data on a link, in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LinkSpeed {
    /// Bandwidth for data, GB/s: 10^9 bytes a second.
    BandwidthGbPerS(#[schemars(range(min = 1e-6, max = 1e9))] f64),
    /// The speed of PCI Express of a generation and a width.
    Pcie {
        /// Generation of PCI Express.
        #[schemars(range(min = 1, max = 5))]
        generation: u32,
        /// Number of lanes.
        #[schemars(extend("enum" = [1, 2, 4, 8, 16]))]
        lanes: u32,
    },
}

impl LinkSpeed {
    /// The bandwidth for data, GB/s.
    ///
    /// Source: PCI Express Base Specification 5.0: 2.5, 5, 8, 16 and 32 GT/s, of which 8 in 10 or 128 in 130 bits are packets.
    pub fn gb_per_s(self) -> f64 {
        match self {
            Self::BandwidthGbPerS(bandwidth) => bandwidth,
            Self::Pcie { generation, lanes } => {
                let (gt_per_s, coded) = match generation {
                    1 => (2.5, 0.8),
                    2 => (5.0, 0.8),
                    3 => (8.0, 128.0 / 130.0),
                    4 => (16.0, 128.0 / 130.0),
                    _ => (32.0, 128.0 / 130.0),
                };
                gt_per_s * coded / 8.0 * f64::from(lanes) * PAYLOAD_SHARE
            }
        }
    }
}

impl HostLinkSpec {
    /// Some words for people.
    pub(crate) fn describe(&self) -> String {
        let of = match self.speed {
            LinkSpeed::BandwidthGbPerS(_) => String::new(),
            LinkSpeed::Pcie { generation, lanes } => format!(" (PCIe {generation}.0 x{lanes})"),
        };
        let mut command =
            if self.command_us > 0.0 { format!(", {} us a command", self.command_us) } else { String::new() };
        if let Some(us) = self.write_command_us {
            command += &format!(", {us} us a write");
        }
        format!("{:.3} GB/s{of} + {} us{command}", self.speed.gb_per_s(), self.latency_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is a PCIe link as fast as drives behind one are sold: 3.5 and 7 GB/s on four lanes of the third and fourth generation?
    #[test]
    fn pcie_is_as_fast_as_its_lanes() {
        let of = |generation, lanes| LinkSpeed::Pcie { generation, lanes }.gb_per_s();
        assert!((of(3, 4) - 3.601).abs() < 1e-3, "{}", of(3, 4));
        assert!((of(4, 4) - 2.0 * of(3, 4)).abs() < 1e-9);
        assert!((of(1, 1) - 0.25 * 256.0 / 280.0).abs() < 1e-9);
        assert!((of(5, 16) - 16.0 * of(3, 4)).abs() < 1e-9);
    }
}
