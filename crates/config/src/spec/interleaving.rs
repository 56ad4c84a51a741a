use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Data placement interleaving: n codewords are divided among pages of n chips, an n-th of each codeword in each page, so that
/// a codeword meets the mean of their raw bit error rates. Reading one codeword senses n pages.
///
/// Source: K. Zhao et al., "LDPC-in-SSD", FAST 2013, section 3.3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InterleavingSpec {
    /// Number of ways n: a divisor of the number of chips, 1 for no interleaving. A group takes chips that follow one another in the
    /// stripe. The blocks of a group are written, collected and erased together, as a superblock.
    pub ways: u32,
    /// The placement of codewords of a request that do not fill a group.
    pub remainder: Remainder,
    /// The groups of chips that interleave.
    pub groups: InterleavedGroups,
}

impl Default for InterleavingSpec {
    fn default() -> Self {
        Self { ways: 1, remainder: Remainder::Plain, groups: InterleavedGroups::All }
    }
}

/// The placement of codewords of a request that do not fill a group: a lone codeword, or an update of part of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remainder {
    /// Each codeword is written whole to a page of one chip, in separate blocks. Garbage collection, which moves many codewords together,
    /// interleaves the codewords later.
    Plain,
    /// The codewords are interleaved at once; the rest of their group stays empty until garbage collection.
    Pad,
}

/// The groups of chips that interleave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterleavedGroups {
    /// All groups.
    All,
    /// Groups with a chip whose factor on the raw bit error rate is above this number.
    WithChipFactorAbove(#[schemars(range(min = 0.0, max = 1e6))] f64),
    /// No group: codewords are whole, and the pages of a superblock are written one by one, on its chips in turn. A unit that the end of
    /// a page cuts continues in the next page. The next page is on another chip (LAE-FTL's next physical unit), and not in the same
    /// block.
    None,
}

impl InterleavingSpec {
    /// One line for people; none without interleaving.
    pub(crate) fn describe(&self) -> Option<String> {
        if self.ways == 1 {
            return None;
        }
        let groups = match self.groups {
            InterleavedGroups::None => {
                return Some(format!("none; blocks of {} chips are written in turn and collected together", self.ways));
            }
            InterleavedGroups::All => "all groups".to_string(),
            InterleavedGroups::WithChipFactorAbove(factor) => format!("groups with a chip above factor {factor}"),
        };
        let remainder = match self.remainder {
            Remainder::Plain => "plain",
            Remainder::Pad => "padded",
        };
        Some(format!("{}-way, {groups}; what does not fill a group is {remainder}", self.ways))
    }
}
