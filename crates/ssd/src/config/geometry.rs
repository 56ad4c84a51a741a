use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Result, expect_whole, format_bytes};

/// The least user data of a codeword, bytes.
pub(crate) const MIN_CODEWORD_BYTES: u64 = 512;

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
    /// SSDs behind one controller, 1 to 256, each with all channels, chips, dies, planes and blocks below.
    pub ssds: u32,
    /// Channels, each with one bus, 1 to 1024.
    pub channels: u32,
    /// Chips on a channel, 1 to 1024.
    pub chips_per_channel: u32,
    /// Dies in a chip, 1 to 64.
    pub dies_per_chip: u32,
    /// Planes in a die, 1 to 64.
    pub planes_per_die: u32,
    /// Blocks in a plane, 1 to 16777216.
    pub blocks_per_plane: u32,
    /// Pages in a block, 1 to 32768.
    pub pages_per_block: u32,
    /// Codewords in a page, 1 to 128.
    pub codewords_per_page: u32,
    /// User data of a codeword, bytes: a multiple of 512. A codeword is the unit that the FTL maps.
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
    /// Checks the counts, one by one and multiplied.
    ///
    /// # Errors
    /// Names the field, or `geometry` where a product is too large.
    pub fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        for (field, value, high) in [
            ("ssds", self.ssds, 256),
            ("channels", self.channels, 1024),
            ("chips_per_channel", self.chips_per_channel, 1024),
            ("dies_per_chip", self.dies_per_chip, 64),
            ("planes_per_die", self.planes_per_die, 64),
            ("blocks_per_plane", self.blocks_per_plane, 1 << 24),
            ("pages_per_block", self.pages_per_block, 32_768),
            ("codewords_per_page", self.codewords_per_page, 128),
        ] {
            faults.see(expect_whole(format!("geometry.{field}"), value, 1, high));
        }
        let bytes = u64::from(self.codeword_bytes);
        if !(MIN_CODEWORD_BYTES..=1 << 20).contains(&bytes) || !bytes.is_multiple_of(512) {
            let message = format!("found {bytes}, expected a multiple of 512 from 512 to 1048576");
            faults.add(Error::config("geometry.codeword_bytes", message));
        }
        if !faults.none() {
            return faults.end();
        }
        // Counts that are right one by one may still multiply to too many.
        let product = |counts: &[u32]| counts.iter().fold(1, |product: u128, &n| product * u128::from(n));
        let planes =
            product(&[self.ssds, self.channels, self.chips_per_channel, self.dies_per_chip, self.planes_per_die]);
        let blocks = planes * u128::from(self.blocks_per_plane);
        let codewords = blocks * product(&[self.pages_per_block, self.codewords_per_page]);
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
