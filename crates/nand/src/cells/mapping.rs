use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most states of a cell, and the most pages that share its wordline.
pub(crate) const MAX_STATES: usize = 16;
pub(crate) const MAX_PAGES: usize = 4;

/// The assignment of boundaries between states to pages. Erased cells hold ones, and each boundary changes the bit of one page: a Gray
/// code.
///
/// The names give the number of boundaries of each page. The published assignments for `qlc_4_3_4_4`, `qlc_2_3_5_5` and `qlc_1_2_6_6` are
/// not in our sources. They are taken to be the Gray codes with these numbers whose boundaries of one page are farthest from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
pub enum Mapping {
    /// Two states, one page.
    #[serde(rename = "slc")]
    Slc,
    /// Four states; the lower page has one boundary, the middle one, the upper page the other two.
    #[default]
    #[serde(rename = "mlc")]
    Mlc,
    /// Eight states; lower, centre and upper page have two, three and two boundaries.
    #[serde(rename = "tlc_2_3_2")]
    Tlc232,
    /// Eight states; lower, centre and upper page have one, two and four boundaries.
    #[serde(rename = "tlc_1_2_4")]
    Tlc124,
    /// Sixteen states; lower, middle, upper and top page have one, two, four and eight boundaries.
    #[serde(rename = "qlc_1_2_4_8")]
    Qlc1248,
    /// Sixteen states; lower, middle, upper and top page have four, three, four and four boundaries.
    #[serde(rename = "qlc_4_3_4_4")]
    Qlc4344,
    /// Sixteen states; lower, middle, upper and top page have two, three, five and five boundaries.
    #[serde(rename = "qlc_2_3_5_5")]
    Qlc2355,
    /// Sixteen states; lower, middle, upper and top page have one, two, six and six boundaries.
    #[serde(rename = "qlc_1_2_6_6")]
    Qlc1266,
}

impl Mapping {
    /// The boundaries of each page; boundary i lies between states i and i + 1.
    pub(crate) fn boundaries(self) -> &'static [&'static [usize]] {
        match self {
            Mapping::Slc => &[&[0]],
            Mapping::Mlc => &[&[1], &[0, 2]],
            Mapping::Tlc232 => &[&[0, 4], &[1, 3, 5], &[2, 6]],
            Mapping::Tlc124 => &[&[3], &[1, 5], &[0, 2, 4, 6]],
            Mapping::Qlc1248 => &[&[7], &[3, 11], &[1, 5, 9, 13], &[0, 2, 4, 6, 8, 10, 12, 14]],
            Mapping::Qlc4344 => &[&[0, 3, 5, 10], &[1, 7, 13], &[2, 6, 8, 12], &[4, 9, 11, 14]],
            Mapping::Qlc2355 => &[&[2, 10], &[3, 7, 11], &[0, 4, 6, 8, 13], &[1, 5, 9, 12, 14]],
            Mapping::Qlc1266 => &[&[7], &[3, 11], &[0, 2, 5, 8, 10, 13], &[1, 4, 6, 9, 12, 14]],
        }
    }

    pub(crate) fn page_names(self) -> &'static [&'static str] {
        match self {
            Mapping::Slc => &["page"],
            Mapping::Mlc => &["lower", "upper"],
            Mapping::Tlc232 | Mapping::Tlc124 => &["lower", "centre", "upper"],
            Mapping::Qlc1248 | Mapping::Qlc4344 | Mapping::Qlc2355 | Mapping::Qlc1266 => {
                &["lower", "middle", "upper", "top"]
            }
        }
    }

    /// The number of states of a cell.
    pub fn states(self) -> usize {
        1 << self.boundaries().len()
    }
}
