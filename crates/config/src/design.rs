//! The design of error correction by age: which codes the blocks of a device should use one after the other, where the parity of these
//! codes lies, and when blocks change codes. It follows from raw bit error rates over P/E cycles, the pages of the device and a target.
//!
//! Source: S. Wang et al., "Lifetime Adaptive ECC in NAND Flash Page Management", DATE 2017, section III.A and B. The paper takes the
//! shortest codeword whose parity fits the out-of-band area, as strong as it has to be. When none fits, it takes codewords of a whole unit,
//! whose parity takes room of the data. Deviations: metadata counts (the paper's C_OOB leaves it open), and LDPC codes are chosen from
//! measured codes by the data that they leave.

use std::path::Path;

use softsense_base::{Error, Result, binomial_tail, expect_number, expect_whole};
use softsense_ecc::bch::Parity;
use softsense_ecc::catalogue::Code;
use softsense_ecc::ldpc::RedundantChecks;
use softsense_link::DecodeTable;
use softsense_nand::{RberModel, Wear, check_points};

use crate::format::PageFormat;

/// The pages that codes are designed for, and the target that codes have to meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// Data of a mapping unit, bytes.
    pub unit_bytes: u32,
    /// Units that a page has room for.
    pub units_per_page: u32,
    /// Out-of-band area of a unit, bytes.
    pub oob_bytes: u32,
    /// Most failed codewords for each bit of data that is read: P(more errors than are corrected) / k.
    pub uber: f64,
    /// Wear of the flash.
    pub wear: DesignWear,
}

/// The way in which flash wears.
#[derive(Debug, Clone, PartialEq)]
pub enum DesignWear {
    /// Stages of given ends: the P/E cycles at the end, and the raw bit error rate then. A stage has the least code that its end needs.
    Points(Vec<(u32, f64)>),
    /// A raw bit error rate at every age. A stage lasts as long as the strongest code that there is room for.
    Law {
        /// The law.
        model: RberModel,
        /// Greatest age of data, hours.
        retention_hours: f64,
        /// Bytes by which the data space of a unit may shrink, in increasing order; empty if it may not shrink.
        squeezes: Vec<u32>,
    },
}

/// A stage of life and its BCH code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BchStage {
    /// P/E cycles up to which the stage lasts.
    pub to_pe_cycles: u32,
    /// Raw bit error rate at the end of the stage.
    pub rber: f64,
    /// Raw bit error rate at which the code just meets the target.
    pub rber_limit: f64,
    /// Data of a codeword, bytes.
    pub codeword_bytes: u32,
    /// m: the code is over GF(2^m).
    pub field_bits: u32,
    /// Errors that the code corrects.
    pub correctable: u32,
    /// Parity of all codewords of a unit, bytes.
    pub parity_bytes: u32,
    /// Metadata of a unit, bytes.
    pub metadata_bytes: u32,
    /// Bytes by which parity and metadata exceed the out-of-band area; they take room of the data.
    pub squeezed_bytes: u32,
}

/// A stage of life and its measured code.
#[derive(Debug, Clone, PartialEq)]
pub struct TableStage {
    /// P/E cycles up to which the stage lasts.
    pub to_pe_cycles: u32,
    /// Raw bit error rate at the end of the stage.
    pub rber: f64,
    /// Raw bit error rate at which the code just meets the target.
    pub rber_limit: f64,
    /// Decode table of the code.
    pub table: String,
    /// Bits of a codeword, data and parity.
    pub codeword_bits: u32,
    /// Bits of data in a codeword.
    pub data_bits: u32,
    /// Units of data in a page, which is one codeword.
    pub units: u32,
}

/// Returns the least t with which codewords of `data_bits` bits of data meet `uber` at a raw bit error rate; none if no code up to m = 16
/// does. More parity means more bits that may be wrong; this is taken into account.
///
/// # Arguments
/// - `per_bit`: whether `uber` bounds P(more than t errors) / k, as in eq. 1 of the paper, rather than the probability itself.
pub fn minimum_correctable(data_bits: u32, rber: f64, uber: f64, per_bit: bool) -> Option<u32> {
    let allowed = uber * if per_bit { f64::from(data_bits) } else { 1.0 };
    let met = |correctable: u32| {
        let parity = Parity::new(data_bits as usize, correctable as usize)?;
        let bits = u64::from(data_bits) + parity.bits as u64;
        Some(binomial_tail(correctable.into(), bits, rber) <= allowed)
    };
    // Within a field the failures of a code that is any good fall with t; in the next one they begin anew.
    let mut first = 0;
    while let Some(of_first) = Parity::new(data_bits as usize, first as usize) {
        let field_bits = of_first.field_bits;
        let last = ((1u32 << field_bits) - 1 - data_bits) / field_bits;
        if met(last)? {
            let (mut low, mut high) = (first, last);
            while low < high {
                let middle = u32::midpoint(low, high);
                if met(middle)? { high = middle } else { low = middle + 1 }
            }
            return Some(low);
        }
        first = last + 1;
    }
    None
}

/// Finds the greatest raw bit error rate at which a probability, which grows with the rate, is at most `allowed`.
fn greatest_rber(allowed: f64, probability: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 0.5);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if probability(middle) <= allowed { low = middle } else { high = middle }
    }
    low
}

impl Design {
    fn check(&self) -> Result<()> {
        expect_whole("unit_bytes", self.unit_bytes, 64, 8191)?;
        expect_whole("units_per_page", self.units_per_page, 1, 128)?;
        expect_whole("oob_bytes", self.oob_bytes, 1, 1 << 16)?;
        expect_number("uber", self.uber, 1e-30, 0.1)?;
        match &self.wear {
            DesignWear::Points(points) => check_points(points),
            DesignWear::Law { squeezes, retention_hours, .. } => {
                expect_number("retention_hours", *retention_hours, 0.0, 1e7)?;
                let most = self.most_squeezed();
                let fine = squeezes.windows(2).all(|pair| pair[0] < pair[1])
                    && squeezes.iter().all(|&bytes| (1..=most).contains(&bytes));
                if fine {
                    return Ok(());
                }
                let message =
                    format!("found {squeezes:?}, expected numbers of bytes in ascending order, each from 1 to {most}");
                Err(Error::config("squeeze", message))
            }
        }
    }

    /// Returns the most bytes by which units may be squeezed so that each lies in at most two physical units.
    fn most_squeezed(&self) -> u32 {
        self.unit_bytes - self.unit_bytes.div_ceil(self.units_per_page)
    }

    fn format(&self) -> PageFormat {
        PageFormat::of_units(self.units_per_page, self.unit_bytes, self.oob_bytes)
    }

    /// Lists the possible data lengths of a codeword: a unit halved any number of times, down to at least 512 bytes, the shortest first.
    fn lengths(&self) -> Vec<u32> {
        let mut lengths = vec![self.unit_bytes];
        while let Some(&length) = lengths.last()
            && length % 2 == 0
            && length / 2 >= 512
        {
            lengths.push(length / 2);
        }
        lengths.reverse();
        lengths
    }

    fn stage(&self, codeword_bytes: u32, correctable: u32, to_pe_cycles: u32, rber: f64) -> Option<BchStage> {
        let data_bits = 8 * codeword_bytes;
        let parity = Parity::new(data_bits as usize, correctable as usize)?;
        let parity_bytes = self.unit_bytes / codeword_bytes * parity.bytes() as u32;
        let bits = u64::from(data_bits) + parity.bits as u64;
        let fails = |rber| binomial_tail(correctable.into(), bits, rber);
        Some(BchStage {
            to_pe_cycles,
            rber,
            rber_limit: greatest_rber(self.uber * f64::from(data_bits), fails),
            codeword_bytes,
            field_bits: parity.field_bits,
            correctable,
            parity_bytes,
            metadata_bytes: self.format().metadata_beside(parity_bytes),
            squeezed_bytes: self.format().squeezed_by(parity_bytes),
        })
    }

    /// Designs BCH codes by age, for `reliability.bch.codes`.
    ///
    /// # Errors
    /// A field out of its range, or a rate that no code corrects in the room that there is.
    pub fn bch(&self) -> Result<Vec<BchStage>> {
        self.check()?;
        match &self.wear {
            DesignWear::Points(points) => self.bch_for_points(points),
            DesignWear::Law { model, retention_hours, squeezes } => {
                let at = |pe_cycles| model.rber(Wear::unread(pe_cycles, *retention_hours));
                let mut stages: Vec<BchStage> = Vec::new();
                let squeezed = squeezes.iter().map(|&bytes| (self.unit_bytes, bytes));
                for (length, squeeze) in self.lengths().into_iter().map(|length| (length, 0)).chain(squeezed) {
                    let Some(stage) = self.strongest(length, squeeze) else { continue };
                    let to_pe_cycles = model.most_pe_cycles(stage.rber_limit, *retention_hours);
                    if stages.last().is_none_or(|last| last.to_pe_cycles < to_pe_cycles) && to_pe_cycles > 0 {
                        stages.push(BchStage { to_pe_cycles, rber: at(to_pe_cycles), ..stage });
                    }
                }
                if stages.is_empty() {
                    let message = format!(
                        "found {}, expected an uncorrectable bit error rate that at least one code meets on fresh \
                         flash: a larger value, or more out-of-band bytes",
                        self.uber
                    );
                    return Err(Error::config("uber", message));
                }
                Ok(stages)
            }
        }
    }

    /// Finds the strongest code of a length that there is room for.
    fn strongest(&self, codeword_bytes: u32, squeeze: u32) -> Option<BchStage> {
        let room = self.format().room_for_parity(squeeze) / (self.unit_bytes / codeword_bytes);
        let fits = |&correctable: &u32| {
            let parity = Parity::new(8 * codeword_bytes as usize, correctable as usize);
            parity.is_some_and(|parity| parity.bytes() as u32 <= room)
        };
        let correctable = (1..).take_while(fits).last()?;
        self.stage(codeword_bytes, correctable, 0, 0.0)
    }

    fn bch_for_points(&self, points: &[(u32, f64)]) -> Result<Vec<BchStage>> {
        let mut stages: Vec<BchStage> = Vec::new();
        for &(to_pe_cycles, rber) in points {
            let of_length = |length: u32| {
                let correctable = minimum_correctable(8 * length, rber, self.uber, true)?;
                self.stage(length, correctable.max(1), to_pe_cycles, rber)
            };
            let fits = |stage: &BchStage| {
                stage.squeezed_bytes == 0
                    || stage.codeword_bytes == self.unit_bytes && stage.squeezed_bytes <= self.most_squeezed()
            };
            let Some(stage) = self.lengths().into_iter().filter_map(of_length).find(fits) else {
                let message = format!(
                    "found {rber:e} after {to_pe_cycles} P/E cycles, expected a rate that at least one code \
                     corrects to {:e} failures per data bit while its parity takes at most {} bytes of the data of a \
                     unit",
                    self.uber,
                    self.most_squeezed()
                );
                return Err(Error::config("rber", message));
            };
            // Stages of the same length without squeezed bytes share the strongest of their codes: a weaker one would save no room.
            if let Some(last) = stages.last()
                && last.codeword_bytes == stage.codeword_bytes
                && last.squeezed_bytes == 0
                && stage.squeezed_bytes == 0
            {
                stages.pop();
            }
            stages.push(stage);
        }
        Ok(stages)
    }

    /// Chooses measured codes by age, for `reliability.adaptive.rates`: at each age the code that leaves most data and still meets the
    /// target.
    ///
    /// # Arguments
    /// - `tables`: decode tables, shipped or files.
    /// - `level`: the read level, 1 for hard decision.
    ///
    /// # Errors
    /// A field out of its range; a table that does not open, or has no such level; codes too long for a page; or a rate that no table
    /// corrects.
    pub fn tables(&self, tables: &[String], level: u8) -> Result<Vec<TableStage>> {
        self.check()?;
        let mut known = Vec::new();
        for table in tables {
            known.push(self.of_table(table, level)?);
        }
        known.sort_by(|a, b| b.units.cmp(&a.units).then(b.rber_limit.total_cmp(&a.rber_limit)));
        let mut stages: Vec<TableStage> = Vec::new();
        match &self.wear {
            DesignWear::Law { model, retention_hours, .. } => {
                for stage in known {
                    let to_pe_cycles = model.most_pe_cycles(stage.rber_limit, *retention_hours);
                    if stages.last().map_or(0, |last| last.to_pe_cycles) < to_pe_cycles {
                        let rber = model.rber(Wear::unread(to_pe_cycles, *retention_hours));
                        stages.push(TableStage { to_pe_cycles, rber, ..stage });
                    }
                }
            }
            DesignWear::Points(points) => {
                for &(to_pe_cycles, rber) in points {
                    let Some(stage) = known.iter().find(|stage| rber <= stage.rber_limit) else {
                        let best = known.iter().map(|stage| stage.rber_limit).fold(0.0, f64::max);
                        let message = format!(
                            "found {rber:e} after {to_pe_cycles} P/E cycles, expected at most {best:.3e}, the \
                             highest rate that one of the decode tables corrects"
                        );
                        return Err(Error::config("rber", message));
                    };
                    if stages.last().is_some_and(|last| last.table == stage.table) {
                        stages.pop();
                    }
                    stages.push(TableStage { to_pe_cycles, rber, ..stage.clone() });
                }
            }
        }
        if stages.is_empty() {
            let message = format!(
                "found {}, expected an uncorrectable bit error rate that at least one decode table meets on fresh \
                 flash: a larger value, or tables of stronger codes",
                self.uber
            );
            return Err(Error::config("uber", message));
        }
        Ok(stages)
    }

    fn of_table(&self, name: &str, level: u8) -> Result<TableStage> {
        let table = DecodeTable::open(name, Path::new(""))?;
        if !(1..=table.levels()).contains(&level) {
            let message = format!("found {level}, expected 1 to {}, the levels of {name}", table.levels());
            return Err(Error::config("level", message));
        }
        let code = Code::open(table.code_name(), RedundantChecks::Refuse)?;
        let (codeword_bits, data_bits) = (code.codeword_bits() as u32, code.data_bits() as u32);
        let page_bits = 8 * self.units_per_page * (self.unit_bytes + self.oob_bytes);
        let units = data_bits / (8 * self.unit_bytes);
        if codeword_bits > page_bits || units == 0 || units > self.units_per_page {
            let message = format!(
                "found {name}, whose code has {data_bits} data bits and {codeword_bits} in all, expected the data \
                 of 1 to {} units of {} bytes, and a codeword of at most the {page_bits} bits of a page",
                self.units_per_page, self.unit_bytes
            );
            return Err(Error::config("tables", message));
        }
        let allowed = self.uber * f64::from(data_bits);
        let rber_limit = greatest_rber(allowed, |rber| table.p_fail(level, rber));
        Ok(TableStage {
            to_pe_cycles: 0,
            rber: 0.0,
            rber_limit,
            table: name.to_owned(),
            codeword_bits,
            data_bits,
            units,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_the_paper(wear: DesignWear) -> Design {
        Design { unit_bytes: 4096, units_per_page: 2, oob_bytes: 224, uber: 1e-15, wear }
    }

    const POINTS: [(u32, f64); 4] = [(16_000, 3e-4), (25_000, 8e-4), (27_000, 1.2e-3), (31_000, 1.5e-3)];

    /// Do LAE-FTL's four codes follow from its four raw bit error rates, and does parity beyond them take room of the data?
    #[test]
    fn the_papers_codes_come_from_its_rates() {
        let points = [&POINTS[..], &[(40_000, 2.79e-3), (56_000, 6.5e-3)]].concat();
        let stages = of_the_paper(DesignWear::Points(points)).bch().unwrap();
        let found: Vec<_> = stages.iter().map(|s| (s.codeword_bytes, s.correctable, s.squeezed_bytes)).collect();
        assert_eq!(found[..4], [(512, 15, 0), (1024, 31, 0), (2048, 57, 0), (4096, 105, 0)]);
        assert!(found[4].0 == 4096 && found[4].1 == 170 && found[4].2 == 340 + 12 - 224, "{found:?}");
        for stage in &stages {
            assert!(
                stage.rber <= stage.rber_limit
                    && stage.parity_bytes + stage.metadata_bytes <= 224 + stage.squeezed_bytes
            );
            // With one error less the target is missed.
            let data_bits = 8 * stage.codeword_bytes;
            assert_eq!(minimum_correctable(data_bits, stage.rber, 1e-15, true), Some(stage.correctable));
        }
    }

    /// Does each stage of a law have the strongest code that fits, and end where this code no longer meets the target?
    #[test]
    fn by_a_law_stages_are_as_long_as_their_room_lets_them() {
        let model = RberModel::PowerLaw { floor: 0.0, scale: 3.142e-7, pe_exponent: 2.47, retention_exponent: 0.0 };
        let squeezes = vec![128, 256, 384, 512];
        let law = DesignWear::Law { model: model.clone(), retention_hours: 0.0, squeezes };
        let stages = of_the_paper(law).bch().unwrap();
        let found: Vec<_> = stages.iter().map(|s| (s.codeword_bytes, s.correctable, s.squeezed_bytes)).collect();
        let expected = [
            (512, 16, 0),
            (1024, 31, 0),
            (2048, 58, 0),
            (4096, 110, 0),
            (4096, 170, 128),
            (4096, 234, 256),
            (4096, 298, 384),
            (4096, 362, 512),
        ];
        assert_eq!(found, expected);
        for stage in stages {
            let at = |pe| model.rber(Wear::unread(pe, 0.0));
            assert!(at(stage.to_pe_cycles) <= stage.rber_limit && stage.rber_limit < at(stage.to_pe_cycles + 1));
        }
    }

    /// Is, of several measured codes, the one with most data used as long as it meets the target?
    #[test]
    fn measured_codes_follow_one_another_by_their_data() {
        let model = RberModel::PowerLaw { floor: 0.0, scale: 3.142e-7, pe_exponent: 2.47, retention_exponent: 0.0 };
        let wear = DesignWear::Law { model, retention_hours: 0.0, squeezes: Vec::new() };
        let design = Design { unit_bytes: 512, units_per_page: 16, oob_bytes: 28, uber: 1e-15, wear };
        let tables = ["adaptive-1-2", "adaptive-5-6", "adaptive-2-3"].map(str::to_owned);
        let stages = design.tables(&tables, 1).unwrap();
        let found: Vec<_> = stages.iter().map(|stage| (stage.table.as_str(), stage.units)).collect();
        assert_eq!(found, [("adaptive-5-6", 13), ("adaptive-2-3", 10), ("adaptive-1-2", 8)]);
        for stage in &stages {
            let table = DecodeTable::open(&stage.table, Path::new("")).unwrap();
            let uber = |rber| table.p_fail(1, rber) / f64::from(stage.data_bits);
            assert!(uber(stage.rber_limit) <= 1e-15 && uber(1.001 * stage.rber_limit) > 1e-15, "{stage:?}");
        }
        let points = DesignWear::Points(vec![(16_000, 3e-4), (27_000, 1.2e-3), (50_000, 2e-2)]);
        let stages = Design { wear: points, ..design }.tables(&tables, 1).unwrap();
        assert_eq!(stages.iter().map(|stage| stage.to_pe_cycles).collect::<Vec<_>>(), [27_000, 50_000]);
    }

    #[test]
    fn bad_designs_are_named() {
        let law =
            |squeezes| DesignWear::Law { model: RberModel::Constant { rber: 1e-3 }, retention_hours: 0.0, squeezes };
        for (design, expected) in [
            (Design { uber: 0.5, ..of_the_paper(law(vec![])) }, "uber: found 0.5"),
            (Design { oob_bytes: 0, ..of_the_paper(law(vec![])) }, "oob_bytes: found 0"),
            (of_the_paper(law(vec![256, 128])), "squeeze: found [256, 128]"),
            (
                of_the_paper(law(vec![4000])),
                "squeeze: found [4000], expected numbers of bytes in ascending order, each from 1 to 2048",
            ),
            (of_the_paper(DesignWear::Points(vec![(1, 0.1), (2, 0.2)])), "rber: found 1e-1 after 1"),
            (of_the_paper(DesignWear::Points(vec![])), "rber: found []"),
        ] {
            let error = design.bch().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let small = Design { units_per_page: 1, ..of_the_paper(law(vec![])) };
        let error = small.tables(&["adaptive-5-6".to_owned()], 1).unwrap_err().to_string();
        assert!(error.starts_with("tables: found adaptive-5-6, whose code has 53248 data bits"), "{error}");
        assert_eq!(minimum_correctable(32_768, 0.4, 1e-15, true), None);
    }
}
