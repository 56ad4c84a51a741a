use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parity across dies (die-level RAID, RAIN). A stripe has one page on each of n + 1 dies, and one of these pages is the exclusive or of
/// the n others. A codeword that no level of its own error correction decodes is rebuilt from the others of its stripe.
///
/// The blocks of a stripe are one superblock: they are written in turn, and collected and erased together. The parity of the next stripe
/// is on the next die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParitySpec {
    /// Number n of pages of data in a stripe. n + 1 is a divisor of the number of dies of an SSD.
    #[schemars(range(min = 1, max = 31))]
    pub data_pages: u32,
}

impl ParitySpec {
    /// The number of pages of a stripe, with the page of parity.
    pub(crate) fn pages(self) -> u32 {
        self.data_pages + 1
    }

    /// One line for people.
    pub(crate) fn describe(self) -> String {
        format!("1 page for each {} of data, on {} dies", self.data_pages, self.pages())
    }
}
