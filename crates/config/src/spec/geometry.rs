use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Result, format_bytes};

/// Upper bound, exclusive, of what an event of the engine can number: planes, decoders, requests under way.
pub const MAX_INDEX: u32 = 1 << 22;

/// The least user data of a codeword, bytes.
pub const MIN_CODEWORD_BYTES: u64 = 512;

/// The most codewords of a device: 4 PiB of 4 KiB each. Products of places and planes then fit 64 bits.
pub const MAX_CODEWORDS: u64 = 1 << 40;

/// The most blocks of a device: each has a record, and these take 2 GiB.
pub const MAX_BLOCKS: u64 = 1 << 26;

/// The most planes of a device.
const MAX_PLANES: u128 = 1 << 20;

/// The numbers of SSDs, channels, chips, dies, planes, blocks and pages, and the size of a codeword.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GeometrySpec {
    /// SSDs behind one controller, each with all channels, chips, dies, planes and blocks below.
    #[schemars(range(min = 1, max = 256))]
    pub ssds: u32,
    /// Channels, each with one bus.
    #[schemars(range(min = 1, max = 1024))]
    pub channels: u32,
    /// Chips on a channel.
    #[schemars(range(min = 1, max = 1024))]
    pub chips_per_channel: u32,
    /// Dies in a chip.
    #[schemars(range(min = 1, max = 64))]
    pub dies_per_chip: u32,
    /// Planes in a die.
    #[schemars(range(min = 1, max = 64))]
    pub planes_per_die: u32,
    /// Blocks in a plane.
    #[schemars(range(min = 1, max = 1 << 24))]
    pub blocks_per_plane: u32,
    /// Pages in a block.
    #[schemars(range(min = 1, max = 32_768))]
    pub pages_per_block: u32,
    /// Codewords in a page.
    #[schemars(range(min = 1, max = 128))]
    pub codewords_per_page: u32,
    /// User data of a codeword, bytes: a multiple of 512. A codeword is the unit that the FTL maps.
    #[schemars(range(min = MIN_CODEWORD_BYTES, max = 1 << 20), extend("multipleOf" = 512))]
    pub codeword_bytes: u32,
}

impl Default for GeometrySpec {
    fn default() -> Self {
        Self {
            ssds: 1,
            channels: 8,
            chips_per_channel: 8,
            dies_per_chip: 2,
            planes_per_die: 4,
            blocks_per_plane: 2048,
            pages_per_block: 64,
            codewords_per_page: 1,
            codeword_bytes: 4096,
        }
    }
}

impl GeometrySpec {
    /// Checks that counts which are right one by one do not multiply to too many.
    ///
    /// # Errors
    /// Names `geometry`, and what is too many.
    pub fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        let product = |counts: &[u32]| counts.iter().fold(1_u128, |product, &n| product.saturating_mul(n.into()));
        let planes =
            product(&[self.ssds, self.channels, self.chips_per_channel, self.dies_per_chip, self.planes_per_die]);
        let blocks = planes.saturating_mul(self.blocks_per_plane.into());
        let codewords = blocks.saturating_mul(product(&[self.pages_per_block, self.codewords_per_page]));
        for (found, what, most) in [
            (codewords, "codewords in the device", MAX_CODEWORDS.into()),
            (blocks, "blocks in the device", MAX_BLOCKS.into()),
            (planes, "planes", MAX_PLANES),
        ] {
            if found > most {
                faults.add(Error::config("geometry", format!("found {found} {what}, expected at most {most}")));
            }
        }
        faults.end()
    }

    /// User data of a page, bytes.
    pub fn page_bytes(&self) -> u64 {
        u64::from(self.codewords_per_page) * u64::from(self.codeword_bytes)
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        format!(
            "{}{} channels x {} chips x {} dies x {} planes x {} blocks x {} pages of {}, codewords of {}",
            if self.ssds > 1 { format!("{} SSDs x ", self.ssds) } else { String::new() },
            self.channels,
            self.chips_per_channel,
            self.dies_per_chip,
            self.planes_per_die,
            self.blocks_per_plane,
            self.pages_per_block,
            format_bytes(self.page_bytes()),
            format_bytes(u64::from(self.codeword_bytes))
        )
    }
}
