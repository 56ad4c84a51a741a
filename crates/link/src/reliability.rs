use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Purpose, Result, Stream};
use softsense_nand::{Factors, RberModel, Variation, Wear};

use crate::{DecodeTable, MAX_LEVEL};

/// Whether reads succeed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReliabilitySpec {
    /// Hard decision always succeeds: "no soft sensing", which slowdowns are measured against.
    Perfect,
    /// A failure probability for each level, the same for every codeword at every age.
    Fixed {
        /// Probability that decoding fails at levels 1, 2, ...; it never grows. Levels beyond the list never fail.
        p_fail: Vec<f64>,
    },
    /// A decode table looked up at each codeword's raw bit error rate.
    Table(TableSpec),
}

/// A decode table, and the flash whose codewords it is looked up for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Name of a shipped table, or a file beside the config.
    pub file: String,
    /// Raw bit error rate by age.
    pub rber: RberModel,
    /// How chips, blocks and pages differ.
    #[serde(default)]
    pub variation: Variation,
}

impl Default for ReliabilitySpec {
    fn default() -> Self {
        ReliabilitySpec::Fixed { p_fail: vec![0.288, 0.070, 0.017, 0.004, 0.001, 0.0002, 0.0] }
    }
}

/// Where a codeword lies and what it has been through.
#[derive(Debug, Clone, Copy)]
pub struct CellAge {
    /// Chip of the device.
    pub chip: u64,
    /// Block of the device.
    pub block: u64,
    /// Page of the device.
    pub page: u64,
    /// RBER factor of the page type.
    pub page_type_factor: f64,
    /// Program/erase cycles, and hours since the write.
    pub wear: Wear,
}

/// The least level that decodes a codeword; above [`MAX_LEVEL`] when none does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredLevel(pub u8);

impl RequiredLevel {
    /// No level decodes the codeword.
    pub const NONE: RequiredLevel = RequiredLevel(MAX_LEVEL + 1);

    /// Whether decoding with `level` succeeds.
    #[inline(always)]
    pub fn met_by(self, level: u8) -> bool {
        self.0 <= level
    }
}

/// [`ReliabilitySpec`], ready to be asked.
#[derive(Debug, Clone)]
pub struct Reliability {
    luck: Stream,
    iterations: Stream,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Perfect,
    /// A level fails a codeword whose luck is below its threshold.
    Fixed([u64; MAX_LEVEL as usize]),
    Table(Box<(DecodeTable, RberModel, Factors)>),
}

/// The probability `p` as a threshold on 64 uniform bits.
fn threshold(p: f64) -> u64 {
    if p >= 1.0 { u64::MAX } else { (p * 2f64.powi(64)) as u64 }
}

impl Reliability {
    /// Builds the reliability of a device; relative table files are taken from `directory`.
    pub fn new(spec: &ReliabilitySpec, seed: u64, directory: &Path) -> Result<Self> {
        let kind = match spec {
            ReliabilitySpec::Perfect => Kind::Perfect,
            ReliabilitySpec::Fixed { p_fail } => {
                let path = "reliability.fixed.p_fail";
                if p_fail.is_empty() || p_fail.len() > MAX_LEVEL as usize {
                    let message =
                        format!("found {} values, expected one for each level, 1 to {MAX_LEVEL}", p_fail.len());
                    return Err(Error::config(path, message));
                }
                if let Some(p) = p_fail.iter().find(|p| !(0.0..=1.0).contains(*p)) {
                    return Err(Error::config(path, format!("found {p}, expected a probability from 0 to 1")));
                }
                if let Some(w) = p_fail.windows(2).find(|w| w[1] > w[0]) {
                    let message =
                        format!("found {} after {}, expected no growth: a deeper level never fails more", w[1], w[0]);
                    return Err(Error::config(path, message));
                }
                let mut thresholds = [0; MAX_LEVEL as usize];
                for (slot, &p) in thresholds.iter_mut().zip(p_fail) {
                    *slot = threshold(p);
                }
                Kind::Fixed(thresholds)
            }
            ReliabilitySpec::Table(table) => {
                table.rber.check("reliability.table.rber")?;
                table.variation.check("reliability.table.variation")?;
                let decode_table = DecodeTable::open(&table.file, directory)?;
                Kind::Table(Box::new((decode_table, table.rber.clone(), Factors::new(table.variation, seed))))
            }
        };
        let (luck, iterations) = (Stream::new(seed, Purpose::CodewordLuck), Stream::new(seed, Purpose::Iterations));
        Ok(Self { luck, iterations, kind })
    }

    /// Whether [`CellAge`] is looked at at all.
    pub fn needs_age(&self) -> bool {
        matches!(self.kind, Kind::Table(_))
    }

    /// Whether time since the write matters, so that write times have to be remembered.
    pub fn needs_retention(&self) -> bool {
        matches!(&self.kind, Kind::Table(table) if table.1.depends_on_retention())
    }

    /// The deepest level that failure probabilities are known for.
    pub fn levels(&self) -> u8 {
        match &self.kind {
            Kind::Perfect | Kind::Fixed(_) => MAX_LEVEL,
            Kind::Table(table) => table.0.levels(),
        }
    }

    /// The decode table, if there is one.
    pub fn table(&self) -> Option<&DecodeTable> {
        match &self.kind {
            Kind::Perfect | Kind::Fixed(_) => None,
            Kind::Table(table) => Some(&table.0),
        }
    }

    /// Whether the distribution of decoding iterations is known.
    pub fn knows_iterations(&self) -> bool {
        matches!(&self.kind, Kind::Table(table) if table.0.max_iterations().is_some())
    }

    /// The raw bit error rate of a codeword; `None` where failure does not depend on it.
    pub fn rber(&self, age: &CellAge, write: u32) -> Option<f64> {
        match &self.kind {
            Kind::Perfect | Kind::Fixed(_) => None,
            Kind::Table(table) => {
                let factor = table.2.factor(age.chip, age.block, age.page, u64::from(write)) * age.page_type_factor;
                Some((table.1.rber(age.wear) * factor).min(0.5))
            }
        }
    }

    /// The required level of the codeword at `place` (of the device) in its `write`-th life. `age` is
    /// asked for only where it matters.
    #[inline]
    pub fn required_level(&self, place: u64, write: u32, age: impl FnOnce() -> CellAge) -> RequiredLevel {
        match &self.kind {
            Kind::Perfect => RequiredLevel(1),
            Kind::Fixed(thresholds) => {
                let luck = self.luck.bits(place, u64::from(write));
                let level = thresholds.iter().position(|&t| luck >= t).unwrap_or(MAX_LEVEL as usize);
                RequiredLevel(level as u8 + 1)
            }
            Kind::Table(table) => {
                let luck = self.luck.uniform(place, u64::from(write));
                let rber = self.rber(&age(), write).expect("a table has a raw bit error rate");
                let level = (1..=table.0.levels()).find(|&level| luck >= table.0.p_fail(level, rber));
                level.map_or(RequiredLevel::NONE, RequiredLevel)
            }
        }
    }

    /// How many iterations the decode of a codeword takes at `level`; `None` where that is not known.
    pub fn decode_iterations(&self, place: u64, write: u32, level: u8, success: bool, age: &CellAge) -> Option<u16> {
        let Kind::Table(table) = &self.kind else { return None };
        let rber = self.rber(age, write)?;
        // Eight levels at most, so (write, level) pack into one index.
        let uniform = self.iterations.uniform(place, u64::from(write) * 8 + u64::from(level));
        table.0.iterations(level, rber, success, uniform)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(retention_hours: f64) -> CellAge {
        let wear = Wear { pe_cycles: 10_000, retention_hours };
        CellAge { chip: 0, block: 0, page: 0, page_type_factor: 1.0, wear }
    }

    fn build(spec: ReliabilitySpec) -> Result<Reliability> {
        Reliability::new(&spec, 3, Path::new("."))
    }

    /// Are the failure probabilities those of the config, nested? 200,000 codewords: each share's
    /// standard error is at most 0.0011; the bound is four of them.
    #[test]
    fn fixed_probabilities_are_met_and_nested() {
        let p_fail = [0.4, 0.1, 0.02];
        let reliability = build(ReliabilitySpec::Fixed { p_fail: p_fail.to_vec() }).unwrap();
        let n = 200_000;
        let levels: Vec<u8> = (0..n).map(|place| reliability.required_level(place, 1, || age(0.0)).0).collect();
        for (index, p) in p_fail.into_iter().enumerate() {
            let failing = levels.iter().filter(|&&level| usize::from(level) > index + 1).count();
            assert!((failing as f64 / n as f64 - p).abs() < 0.0045, "level {}: {failing}", index + 1);
        }
        assert!(levels.iter().all(|&level| level <= 4));
    }

    #[test]
    fn certain_failure_at_every_level_is_uncorrectable() {
        let reliability = build(ReliabilitySpec::Fixed { p_fail: vec![1.0; 7] }).unwrap();
        let required = reliability.required_level(1, 1, || age(0.0));
        assert_eq!(required, RequiredLevel::NONE);
        assert!(!required.met_by(MAX_LEVEL));
    }

    #[test]
    fn required_levels_only_grow_with_retention() {
        let rber = RberModel::PowerLaw { floor: 0.0, scale: 2.16e-6, pe_exponent: 1.57, retention_exponent: 1.98 };
        let variation = Variation { page_sigma: 0.1, ..Variation::default() };
        let table = TableSpec { file: "laldpc-thresholds".into(), rber, variation };
        let reliability = build(ReliabilitySpec::Table(table)).unwrap();
        for place in 0..500 {
            let at = |days: f64| reliability.required_level(place, 2, || age(days * 24.0));
            let levels = [0.0, 1.0, 30.0, 365.0, 1000.0].map(at);
            assert!(levels.windows(2).all(|w| w[0] <= w[1]), "{levels:?}");
        }
    }

    #[test]
    fn bad_probabilities_are_named() {
        for (p_fail, expected) in [
            (vec![], "found 0 values"),
            (vec![0.1; 8], "found 8 values"),
            (vec![1.5], "found 1.5, expected a probability"),
            (vec![f64::NAN], "found NaN, expected a probability"),
            (vec![0.1, 0.2], "found 0.2 after 0.1, expected no growth"),
        ] {
            let error = build(ReliabilitySpec::Fixed { p_fail }).unwrap_err().to_string();
            assert!(error.starts_with("reliability.fixed.p_fail: ") && error.contains(expected), "{error}");
        }
    }
}
