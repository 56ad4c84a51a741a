//! BCH codes by the age of a block: short and weak codes at first, long and strong codes when the block is worn.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result, expect_whole};
use softsense_ecc::bch::{BchCode, Parity};
use softsense_nand::{RberModel, Variation};

/// BCH codes by age, and the flash that they are for. Parity that exceeds the out-of-band area takes space from the data.
///
/// Source: S. Wang et al., "Lifetime Adaptive ECC in NAND Flash Page Management", DATE 2017, section III.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BchSpec {
    /// Out-of-band area of a page, in bytes per mapping unit that fits the page.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub oob_bytes: u32,
    /// The codes in the order of their ages. `softsense lifetime` finds these.
    pub codes: Vec<AgedBchSpec>,
    /// Whether every codeword that is read is really encoded, corrupted and decoded. Otherwise its outcome is drawn
    /// from the binomial tail, which gives the same results except for undetected errors.
    #[serde(default)]
    pub exact: bool,
    /// Raw bit error rate by age.
    pub rber: RberModel,
    /// Differences between chips, blocks and pages.
    #[serde(default)]
    pub variation: Variation,
}

/// A BCH code, and the age up to which blocks use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgedBchSpec {
    /// Data of a codeword, bytes: a mapping unit, or an equal part of one.
    #[schemars(range(min = 1, max = 8191))]
    pub codeword_bytes: u32,
    /// Errors that the code corrects.
    pub correctable: u32,
    /// P/E cycles of a block up to which it uses this code; the last code is used beyond this age, too.
    pub to_pe_cycles: u32,
}

/// A code of a [`BchSpec`].
#[derive(Debug, Clone)]
pub struct AgedBch {
    /// P/E cycles of a block up to which the code is used.
    pub to_pe_cycles: u32,
    /// Data of a codeword, bytes.
    pub codeword_bytes: u32,
    /// The code, over the smallest field that it fits.
    pub code: Arc<BchCode>,
}

impl AgedBch {
    /// Returns the room for the parity of a codeword, in whole bytes: m bits an error. A few codes need a little less.
    pub fn parity_bytes(&self) -> u32 {
        let parity = Parity::new(self.code.data_bits(), self.code.correctable());
        parity.expect("the code is over the field that was found so").bytes() as u32
    }
}

impl BchSpec {
    /// Constructs the codes of a spec whose ranges have been checked.
    pub(crate) fn open(&self) -> Result<Vec<AgedBch>> {
        self.variation.check("reliability.bch.variation")?;
        let ages: Vec<u32> = self.codes.iter().map(|code| code.to_pe_cycles).collect();
        if ages.is_empty() || !ages.windows(2).all(|pair| pair[0] < pair[1]) {
            let message =
                format!("found the ages {ages:?}, expected at least one code, and `to_pe_cycles` in ascending order");
            return Err(Error::config("reliability.bch.codes", message));
        }
        self.codes
            .iter()
            .enumerate()
            .map(|(index, spec)| spec.open(&format!("reliability.bch.codes[{index}]")))
            .collect()
    }
}

impl AgedBchSpec {
    fn open(&self, path: &str) -> Result<AgedBch> {
        // The limits are those of a field of 2^16 elements.
        let data_bits = 8 * self.codeword_bytes;
        let most = (65_535 - data_bits) / 16;
        expect_whole(format!("{path}.correctable"), self.correctable, 1, most)?;
        let parity = Parity::new(data_bits as usize, self.correctable as usize);
        let field_bits = parity.expect("it was checked to fit the largest field").field_bits;
        let code = BchCode::new(field_bits, self.correctable as usize, data_bits as usize)
            .map_err(|error| Error::config(path.to_owned(), error.message()))?;
        Ok(AgedBch { to_pe_cycles: self.to_pe_cycles, codeword_bytes: self.codeword_bytes, code: Arc::new(code) })
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::check_ranges;

    use super::*;

    fn spec(codes: &[(u32, u32, u32)]) -> BchSpec {
        let codes = codes.iter().map(|&(codeword_bytes, correctable, to_pe_cycles)| AgedBchSpec {
            codeword_bytes,
            correctable,
            to_pe_cycles,
        });
        let rber = RberModel::Constant { rber: 1e-3 };
        BchSpec { oob_bytes: 224, codes: codes.collect(), exact: false, rber, variation: Variation::default() }
    }

    /// Are the codes those that LAE-FTL prints, except for its 4141, which is 4291?
    #[test]
    fn codes_are_over_the_smallest_field_they_fit() {
        let codes = spec(&[(512, 15, 1), (1024, 31, 2), (2048, 57, 3), (4096, 105, 4), (4096, 362, 5)]).open().unwrap();
        let found: Vec<(u32, usize, u32)> =
            codes.iter().map(|code| (code.code.field_bits(), code.code.codeword_bits(), code.parity_bytes())).collect();
        let expected = [(13, 4291, 25), (14, 8626, 55), (15, 17_239, 107), (16, 34_448, 210)];
        assert_eq!(found[..4], expected);
        // Seven of the code's minimal polynomials have half the degree.
        assert_eq!(found[4], (16, 32_768 + 16 * 362 - 7 * 8, 724));
    }

    #[test]
    fn bad_codes_are_named() {
        for (codes, expected) in [
            (vec![], "reliability.bch.codes: found the ages []"),
            (vec![(512, 15, 5), (512, 16, 5)], "reliability.bch.codes: found the ages [5, 5]"),
            (vec![(512, 0, 5)], "reliability.bch.codes[0].correctable: found 0"),
            (vec![(4096, 105, 5), (4096, 3000, 6)], "reliability.bch.codes[1].correctable: found 3000"),
            (vec![(9000, 1, 5)], "reliability.bch.codes[0].codeword_bytes: found 9000"),
        ] {
            let spec = spec(&codes);
            let error = check_ranges("reliability.bch", &spec).and_then(|()| spec.open()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
