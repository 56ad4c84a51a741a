use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Result, expect_whole};

/// Parity across dies (die-level RAID, RAIN): a stripe is a page of each of n + 1 dies, of which one is the exclusive or of the n others.
/// A codeword that no level of its own error correction decodes is rebuilt from the others of its stripe.
///
/// The blocks of a stripe are one superblock: they are written in turn, collected and erased together. The parity of the next stripe is
/// on the next die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParitySpec {
    /// n: pages of data in a stripe, 1 to 31. n + 1 is a divisor of the number of dies of an SSD.
    pub data_pages: u32,
}

impl ParitySpec {
    /// Pages of a stripe, with that of parity.
    pub(crate) fn pages(self) -> u32 {
        self.data_pages + 1
    }

    /// Checks the range; what divides the dies depends on the device.
    pub(super) fn check(self) -> Result<()> {
        expect_whole("ftl.parity.data_pages", self.data_pages, 1, 31)
    }

    /// One line for people.
    pub(crate) fn describe(self) -> String {
        format!("1 page for each {} of data, on {} dies", self.data_pages, self.pages())
    }
}
