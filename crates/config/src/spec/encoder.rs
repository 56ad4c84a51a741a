use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decoder::DecoderPlacement;

/// The encoders: every codeword of a page is encoded before the page goes to its chip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderSpec {
    /// The number of encoders, and the channels or SSDs that share them.
    pub placement: DecoderPlacement,
    /// Time to encode a codeword, us.
    pub time_us: f64,
    /// Number of encoded codewords that may wait for their chip, for the encoders of a channel, an SSD, or the pool: at least the
    /// codewords of a page. When there is no room for all codewords of a page, its encoding waits. Without this field there is no bound.
    #[schemars(range(min = 1, max = 1 << 24))]
    pub buffer_codewords: Option<u32>,
    /// If true, pages of the host are encoded before those that garbage collection, read reclaim and the map write.
    pub host_first: bool,
}

impl Default for EncoderSpec {
    fn default() -> Self {
        Self { placement: DecoderPlacement::PerChannel(1), time_us: 4.0, buffer_codewords: None, host_first: false }
    }
}

impl EncoderSpec {
    /// Some words for people.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("{}, {} us a codeword", self.placement.describe("encoders"), self.time_us);
        if let Some(codewords) = self.buffer_codewords {
            text += &format!(", buffer of {codewords} codewords");
        }
        if self.host_first {
            text += ", host first";
        }
        text
    }
}
