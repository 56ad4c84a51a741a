use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Copyback: when data is moved, a page whose codewords are all valid is sensed into the register of its plane and
/// programmed from there. Its errors are not corrected, and add up from copy to copy.
///
/// Source: of the command sequence, ONFI 5.1, "Copyback Read" and "Copyback Program"; of errors that add up, D. Hong et
/// al., "Improving SSD Performance Using Adaptive Restricted-Copyback Operations", NVMSA 2019.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CopybackSpec {
    /// The part of a page that the controller sees before the page is copied.
    #[serde(default)]
    pub ecc: CopybackEcc,
    /// Number of copies in a row after which data goes through the controller, which corrects its errors.
    #[serde(default = "usual_most_in_a_row")]
    #[schemars(range(min = 1, max = 255))]
    pub most_in_a_row: u32,
}

fn usual_most_in_a_row() -> u32 {
    3
}

/// The part of a page that the controller sees before the page is copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CopybackEcc {
    /// Nothing: only commands cross the bus.
    #[default]
    None,
    /// The whole page: it is read and decoded, and then copied if hard decision was enough at the first attempt. Data crosses the bus once.
    Check,
}

impl CopybackSpec {
    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let ecc = match self.ecc {
            CopybackEcc::None => "without ECC",
            CopybackEcc::Check => "checked by ECC first",
        };
        format!("of pages of valid data, {ecc}, at most {} times in a row", self.most_in_a_row)
    }
}
