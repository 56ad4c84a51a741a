mod exact;
mod fate;
mod given;
mod inferred;
mod rate_switch;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Purpose, Result, Stream, canonical, check_ranges};
use softsense_ecc::catalogue::Code;
use softsense_ecc::hardware::LdpcShape;
use softsense_nand::{
    CellSpec, Factors, InferredBy, NamedCells, Placement, Rber, RberModel, ReadDisturb, Variation, Wear,
};

use crate::{AgedBch, BchSpec, ByAge, CodewordReader, DecodeTable, ExactSpec, MAX_LEVEL, SoftLevels};
use exact::Exact;
pub use fate::{Fate, FewErrors, Outcome, PageConditions, Questions};
pub use given::{GivenCodeword, Readings};
pub use inferred::CompiledPredictor;
pub use rate_switch::{Observable, ObservedSwitch, RateSwitch};

/// The reliability of reads: whether they succeed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReliabilitySpec {
    /// Hard decision always succeeds, in one iteration: the baseline "no soft sensing" of slowdowns.
    Perfect,
    /// A failure probability for each level, the same for every codeword at every age.
    Fixed {
        /// Probability that decoding fails at levels 1, 2, ...; it never grows. Levels beyond the list never fail.
        #[schemars(inner(range(min = 0.0, max = 1.0)))]
        p_fail: Vec<f64>,
        /// Codewords that share an outcome.
        #[serde(default, skip_serializing_if = "FixedDraw::is_default")]
        drawn_for: FixedDraw,
    },
    /// A decode table looked up at each codeword's raw bit error rate.
    Table(TableSpec),
    /// A code rate for each age of a block, each with a decode table. A codeword holds as many mapping units as the rate of its block
    /// leaves room for.
    Adaptive(AdaptiveSpec),
    /// A BCH code for each age of a block (LAE-FTL). A mapping unit is divided into short codewords while the block is young; when it is
    /// old, parity takes space from the data.
    Bch(BchSpec),
    /// A real decode of every codeword that is read, at a few thousand reads per second.
    Exact(ExactSpec),
}

/// Codewords that share an outcome, where failure probabilities are given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FixedDraw {
    /// Each codeword by itself.
    #[default]
    Codeword,
    /// All codewords of a page: all of them are decoded, or none is.
    Page,
}

impl FixedDraw {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Code rates by age, and the flash that they are for.
///
/// Source: S. Korkotsides, T. Antonakopoulos, "The effect of using multiple code rates on NVM-based storage systems", 2017,
/// section III.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveSpec {
    /// The rates in the order of their ages. `softsense lifetime` finds them.
    pub rates: Vec<RateSpec>,
    /// Codewords of a page. Each holds as many mapping units as the rate of its block leaves room for.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub codewords_per_page: u32,
    /// Rule for the change from one rate to another, which happens when a block is erased.
    #[serde(default)]
    pub switch: RateSwitch,
    /// Raw bit error rate by age.
    pub rber: RberModel,
    /// Differences between chips, blocks and pages.
    #[serde(default)]
    pub variation: Variation,
    /// Largest share of the host's codeword reads whose raw bit error rate is beyond the grid of their table, so that
    /// their outcome is a guess from its nearest point. A run with more ends with an error.
    #[serde(default = "usual_most_beyond")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub most_beyond: f64,
}

/// A code rate, and the age up to which blocks use it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateSpec {
    /// Decode table: the name of a shipped one, or a file beside the config.
    pub file: String,
    /// Mapping units in a codeword, each of `geometry.codeword_bytes`.
    pub units: u32,
    /// P/E cycles of a block up to which it uses this rate; the last rate is used beyond this age, too. With an observed switch this sets
    /// only the rate at the start.
    pub to_pe_cycles: u32,
}

fn one() -> u32 {
    1
}

/// A decode table, and the flash whose codewords are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Name of a shipped table, or a file beside the config.
    pub file: String,
    /// Raw bit error rate by age.
    pub rber: RberModel,
    /// Differences between chips, blocks and pages.
    #[serde(default)]
    pub variation: Variation,
    /// Largest share of the host's codeword reads whose raw bit error rate is beyond the grid of the table, so that
    /// their outcome is a guess from its nearest point. A run with more ends with an error.
    #[serde(default = "usual_most_beyond")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub most_beyond: f64,
}

impl TableSpec {
    /// Returns real decodes by the code and the decoder that the table was measured with, in the same flash.
    ///
    /// # Errors
    /// A table that does not open, or that was not measured with a code and a decoder that softsense has.
    pub fn decoded_for_real(&self, directory: &Path) -> Result<ExactSpec> {
        let described = DecodeTable::open(&self.file, directory)?.describe();
        let measured = || {
            let (code, decoder) = described.split_once("; ")?;
            let (code, _) = code.split_once(": ")?;
            let (decoder, iterations) = decoder.strip_suffix(" iterations")?.rsplit_once(", ")?;
            Some((code, decoder, iterations.parse().ok()?))
        };
        let Some((code, decoder, max_iterations)) = measured() else {
            let message = format!(
                "found a decode table of `{described}`, expected the table of a code and a decoder that softsense has"
            );
            return Err(Error::config("reliability.table.file", message));
        };
        Ok(ExactSpec {
            code: code.into(),
            decoder: decoder.into(),
            max_iterations,
            rber: self.rber.clone(),
            variation: self.variation.clone(),
            placement: Placement::default(),
            llrs_for: None,
        })
    }
}

fn usual_most_beyond() -> f64 {
    0.01
}

impl Default for ReliabilitySpec {
    /// The measured table of `flash-8/9` with nested references, and chips whose cells make hard decision fail for 28.8 % of codewords
    /// after 10,000 P/E cycles and a month.
    fn default() -> Self {
        let chip_factors = vec![1.7079, 2.2910, 2.0170, 2.7057];
        ReliabilitySpec::Table(TableSpec {
            file: "flash-8-9-nested".into(),
            rber: RberModel::ThresholdVoltage(NamedCells::Named("mlc".into())),
            variation: Variation { chip_factors, block_sigma: 0.1, ..Variation::default() },
            most_beyond: usual_most_beyond(),
        })
    }
}

/// The place of a codeword, and the age of its cells.
#[derive(Debug, Clone, Copy)]
pub struct CellAge {
    /// P/E cycles at which its code is looked up: those of the block, unless its code follows from observations.
    pub code_age: u32,
    /// RBER factor of chip, block, layer and wordline together: [`Reliability::block_factor`] and others.
    pub block_factor: f64,
    /// Page of the device.
    pub page: u64,
    /// Page type, where there are several: the page's number in the wordline.
    pub page_type: Option<usize>,
    /// RBER factor of the page type.
    pub page_type_factor: f64,
    /// Program/erase cycles, hours since the write, and reads since then.
    pub wear: Wear,
    /// Raw bit error rate of the data when it was written, if its errors had not been corrected; otherwise 0.
    pub carried_rber: f64,
}

/// A [`ReliabilitySpec`] that is ready to answer.
#[derive(Debug, Clone)]
pub struct Reliability {
    draws: Stream,
    iterations: Stream,
    weights: Stream,
    counts: Stream,
    questions: Questions,
    kind: Kind,
    /// Whether fates keep the state of their cells, because some steps ask for it again.
    keeps_cells: bool,
    /// Texts of the code file and of the cells that the spec names; tables have their own.
    named_texts: Vec<String>,
}

#[derive(Debug, Clone)]
enum Kind {
    Perfect,
    /// A level fails a codeword whose draw is below its threshold.
    Fixed([u64; MAX_LEVEL as usize]),
    Tables(Box<Tables>),
    Bch(Box<Bch>),
    Exact(Box<Exact>),
    Given(Box<GivenCodeword>),
}

/// Decode tables by P/E cycles.
#[derive(Debug, Clone)]
struct Tables {
    tables: ByAge<DecodeTable>,
    flash: Flash,
    /// Observations by which blocks change tables; none where they change by P/E cycles.
    switch: Option<ObservedSwitch>,
    /// Whether the tables determine the outcome at every raw bit error rate.
    reach: bool,
    /// Whether soft levels have raw bit error rates of their own.
    by_information: bool,
}

impl Tables {
    fn new(tables: ByAge<DecodeTable>, flash: Flash, switch: Option<ObservedSwitch>) -> Self {
        let reach = tables.iter().all(|table| [0.0, 0.5].iter().all(|&rber| table.beyond(rber).is_none()));
        let by_information = |table: &DecodeTable| table.levels() > 1 && table.soft_levels() == SoftLevels::Information;
        let by_information = flash.model.pages().is_some() && tables.iter().any(by_information);
        Self { tables, flash, switch, reach, by_information }
    }
}

/// BCH codes by P/E cycles.
#[derive(Debug, Clone)]
struct Bch {
    codes: Vec<AgedBch>,
    fates: Fates,
}

/// The source of the fates of codewords.
#[derive(Debug, Clone)]
enum Fates {
    /// Bits of a codeword, and its failure probability.
    Drawn(ByAge<(u32, DecodeTable)>, Flash),
    Exact(Exact),
}

impl Bch {
    fn new(spec: &BchSpec, codes: Vec<AgedBch>, rber: RberModel, seed: u64) -> Result<Self> {
        let fates = if spec.exact {
            let reader = |bch: &AgedBch| {
                let exact = ExactSpec::of_bch(spec, rber.clone());
                Ok((bch.to_pe_cycles, CodewordReader::of_code(&exact, seed, Code::Bch(bch.code.clone()))?))
            };
            let readers = codes.iter().map(reader).collect::<Result<Vec<_>>>()?;
            Fates::Exact(Exact::new(readers, Flash::new(rber, spec.variation.clone(), seed)))
        } else {
            let table = |bch: &AgedBch| {
                let name = format!("{} B, {} errors", bch.codeword_bytes, bch.code.correctable());
                (bch.to_pe_cycles, (bch.code.codeword_bits() as u32, DecodeTable::of_bch(&name, &bch.code)))
            };
            Fates::Drawn(ByAge::new(codes.iter().map(table)), Flash::new(rber, spec.variation.clone(), seed))
        };
        Ok(Self { codes, fates })
    }

    fn flash(&self) -> &Flash {
        match &self.fates {
            Fates::Drawn(_, flash) => flash,
            Fates::Exact(exact) => &exact.flash,
        }
    }
}

/// The raw bit error rates of the codewords of a device.
#[derive(Debug, Clone)]
struct Flash {
    model: RberModel,
    compiled: Rber,
    factors: Factors,
}

impl Flash {
    fn new(model: RberModel, variation: Variation, seed: u64) -> Self {
        Self { compiled: model.compiled(), model, factors: Factors::new(variation, seed) }
    }

    /// Returns the raw bit error rate of a page; `page` is its number in the wordline, none for the mean over pages.
    fn page_rber(&self, write: u64, age: &CellAge, page: Option<usize>) -> f64 {
        (self.compiled.at(age.wear, page) * self.factor(write, age) + age.carried_rber).min(0.5)
    }

    /// Returns the factor on the raw bit error rate of a page.
    fn factor(&self, write: u64, age: &CellAge) -> f64 {
        age.block_factor * self.factors.page_factor(age.page, write) * age.page_type_factor
    }
}

/// Returns the probability `p` as a threshold on 64 uniform bits.
fn threshold(p: f64) -> u64 {
    if p >= 1.0 { u64::MAX } else { (p * 2f64.powi(64)) as u64 }
}

impl ReliabilitySpec {
    /// Gives shipped tables, codes and cells the names that they are shipped by, however they were written.
    #[must_use]
    pub fn in_own_names(mut self, directory: &Path) -> Self {
        let table = |file: &mut String| *file = canonical(file, DecodeTable::shipped(), directory).to_owned();
        match &mut self {
            Self::Perfect | Self::Fixed { .. } => {}
            Self::Table(spec) => {
                table(&mut spec.file);
                spec.rber.use_own_names(directory);
            }
            Self::Adaptive(spec) => {
                spec.rates.iter_mut().for_each(|rate| table(&mut rate.file));
                spec.rber.use_own_names(directory);
            }
            Self::Bch(spec) => spec.rber.use_own_names(directory),
            Self::Exact(spec) => {
                spec.code = canonical(&spec.code, Code::names(), directory).to_owned();
                // Names of decoders have `-`.
                spec.decoder = spec.decoder.replace('_', "-");
                spec.rber.use_own_names(directory);
            }
        }
        self
    }
}

impl Reliability {
    /// Builds the reliability of a device; files of tables and codes are taken from `directory`.
    pub fn new(spec: &ReliabilitySpec, seed: u64, directory: &Path) -> Result<Self> {
        check_ranges("reliability", spec)?;
        let mut named_texts = Vec::new();
        let mut open = |rber: &RberModel, path: &str| {
            let opened = rber.open(path, directory)?;
            named_texts.extend(rber.names_cells().then(|| opened.cells().to_toml(9)));
            Ok::<_, Error>(opened)
        };
        let kind = match spec {
            ReliabilitySpec::Perfect => Kind::Perfect,
            ReliabilitySpec::Fixed { p_fail, .. } => {
                let path = "reliability.fixed.p_fail";
                if p_fail.is_empty() || p_fail.len() > MAX_LEVEL as usize {
                    let message =
                        format!("found {} values, expected one for each level, 1 to {MAX_LEVEL}", p_fail.len());
                    return Err(Error::config(path, message));
                }
                if let Some(w) = p_fail.windows(2).find(|w| w[1] > w[0]) {
                    let message = format!(
                        "found {} after {}, expected probabilities that do not rise from level to level: a deeper \
                         level never fails more often",
                        w[1], w[0]
                    );
                    return Err(Error::config(path, message));
                }
                let mut thresholds = [0; MAX_LEVEL as usize];
                for (slot, &p) in thresholds.iter_mut().zip(p_fail) {
                    *slot = threshold(p);
                }
                Kind::Fixed(thresholds)
            }
            ReliabilitySpec::Table(table) => {
                let rber = open(&table.rber, "reliability.table.rber")?;
                table.variation.check("reliability.table.variation")?;
                let decode_table = DecodeTable::open(&table.file, directory)?;
                let flash = Flash::new(rber, table.variation.clone(), seed);
                Kind::Tables(Box::new(Tables::new(ByAge::always(decode_table), flash, None)))
            }
            ReliabilitySpec::Adaptive(adaptive) => {
                let rber = open(&adaptive.rber, "reliability.adaptive.rber")?;
                adaptive.variation.check("reliability.adaptive.variation")?;
                let ages: Vec<u32> = adaptive.rates.iter().map(|rate| rate.to_pe_cycles).collect();
                if ages.is_empty() || !ages.windows(2).all(|pair| pair[0] < pair[1]) {
                    let message = format!(
                        "found the ages {ages:?}, expected at least one rate, and `to_pe_cycles` in ascending order"
                    );
                    return Err(Error::config("reliability.adaptive.rates", message));
                }
                adaptive.switch.check(adaptive.rates.len())?;
                let open = |rate: &RateSpec| Ok((rate.to_pe_cycles, DecodeTable::open(&rate.file, directory)?));
                let tables = ByAge::new(adaptive.rates.iter().map(open).collect::<Result<Vec<_>>>()?);
                let flash = Flash::new(rber, adaptive.variation.clone(), seed);
                Kind::Tables(Box::new(Tables::new(tables, flash, adaptive.switch.observed().cloned())))
            }
            ReliabilitySpec::Bch(bch) => {
                let codes = bch.open()?;
                Kind::Bch(Box::new(Bch::new(bch, codes, open(&bch.rber, "reliability.bch.rber")?, seed)?))
            }
            ReliabilitySpec::Exact(exact) => {
                let (code, text) = exact.open_code(directory)?;
                let exact = ExactSpec { rber: open(&exact.rber, "reliability.exact.rber")?, ..exact.clone() };
                named_texts.extend(text);
                let reader = CodewordReader::of_code(&exact, seed, code)?;
                let flash = Flash::new(exact.rber, exact.variation, seed);
                Kind::Exact(Box::new(Exact::new(vec![(u32::MAX, reader)], flash)))
            }
        };
        let mut built = Self {
            draws: Stream::new(seed, Purpose::CodewordDraw),
            iterations: Stream::new(seed, Purpose::Iterations),
            weights: Stream::new(seed, Purpose::SyndromeWeight),
            counts: Stream::new(seed, Purpose::Counts),
            questions: Questions::default(),
            kind,
            keeps_cells: false,
            named_texts,
        };
        let by_information = matches!(&built.kind, Kind::Tables(tables) if tables.by_information);
        let model = built.flash().map(|flash| &flash.model);
        let infers = model.is_some_and(|model| model.inference().is_some());
        let other_sensing = model.is_some_and(RberModel::knows_shortened_sensing);
        built.keeps_cells =
            built.retries() > 0 || built.valley_sensings().is_some() || infers || other_sensing || by_information;
        Ok(built)
    }

    /// Makes outcomes answer further questions.
    #[must_use]
    pub fn asked(self, questions: Questions) -> Self {
        Self { questions, ..self }
    }

    /// Returns the cells, if they have threshold voltages.
    pub fn cells(&self) -> Option<&CellSpec> {
        match &self.kind {
            Kind::Given(codeword) => Some(&codeword.cells),
            _ => self.flash()?.model.open_cells(),
        }
    }

    /// Returns the number of entries of the cells' retry table.
    pub fn retries(&self) -> u8 {
        self.cells().map_or(0, CellSpec::retries) as u8
    }

    /// Returns how often a search for valleys senses each boundary; `None` where the cells have no search.
    pub fn valley_sensings(&self) -> Option<u8> {
        self.cells()?.references.valley_search.map(|search| search.sensings as u8)
    }

    /// Whether the cells infer references by a given measurement.
    pub fn infers_by(&self, by: InferredBy) -> bool {
        let inference = self.cells().and_then(|cells| cells.references.inference.as_ref());
        inference.is_some_and(|inference| inference.counts(by))
    }

    /// Returns the number of known cells of a wordline; 0 where cells do not infer by them.
    pub fn sentinels(&self) -> u32 {
        self.cells().and_then(|cells| cells.references.inference.as_ref()?.sentinels).unwrap_or(0)
    }

    /// Whether the cost of sensing for less than the whole time is known.
    pub fn knows_shortened_sensing(&self) -> bool {
        self.cells().is_some_and(|cells| cells.shortened_sensing.is_some())
    }

    /// Whether the number of checks that hard decisions violate is known.
    pub fn knows_syndrome_weights(&self) -> bool {
        match &self.kind {
            Kind::Perfect | Kind::Fixed(_) | Kind::Bch(_) => false,
            Kind::Given(codeword) => codeword.syndrome_weights.is_some(),
            Kind::Tables(tables) => tables.tables.iter().all(|table| table.syndrome_weights().is_some()),
            Kind::Exact(exact) => exact.ldpc.is_some(),
        }
    }

    /// Whether no step ever fails.
    pub fn never_fails(&self) -> bool {
        matches!(self.kind, Kind::Perfect)
    }

    /// Whether outcomes depend on [`CellAge`].
    pub fn needs_age(&self) -> bool {
        self.flash().is_some()
    }

    /// Whether P/E cycles matter, for raw bit error rates or for the code.
    pub fn needs_pe_cycles(&self) -> bool {
        let code_changes = match &self.kind {
            Kind::Tables(tables) => tables.tables.changes(),
            Kind::Bch(bch) => bch.codes.len() > 1,
            Kind::Perfect | Kind::Fixed(_) | Kind::Exact(_) | Kind::Given(_) => false,
        };
        code_changes || self.flash().is_some_and(|flash| flash.model.depends_on_pe_cycles())
    }

    /// Whether the time since the write matters, so that write times have to be remembered.
    pub fn needs_retention(&self) -> bool {
        self.flash().is_some_and(|flash| flash.model.depends_on_retention())
    }

    /// Returns how reads disturb the cells; `None` where they do not, so that reads need not be counted.
    pub fn read_disturb(&self) -> Option<ReadDisturb> {
        self.flash()?.model.read_disturb()
    }

    /// Explains why a run may not start at an age: measurements of raw bit error rates do not reach it.
    pub fn beyond(&self, start: Wear) -> Option<String> {
        self.flash()?.model.beyond(start)
    }

    /// Returns the number of different pages of a wordline; `None` where pages are not known.
    pub fn pages(&self) -> Option<usize> {
        self.cells().map(CellSpec::pages)
    }

    /// Returns the deepest level whose failure probabilities are known, or that gives a decoder more information than the level before.
    pub fn levels(&self) -> u8 {
        match &self.kind {
            Kind::Perfect | Kind::Fixed(_) => MAX_LEVEL,
            Kind::Tables(tables) => tables.tables.iter().map(DecodeTable::levels).min().expect("there is a table"),
            Kind::Bch(_) => 1,
            Kind::Exact(exact) => exact.levels,
            Kind::Given(codeword) => codeword.levels,
        }
    }

    /// Returns the decode table, if there is exactly one.
    pub fn table(&self) -> Option<&DecodeTable> {
        match &self.kind {
            Kind::Tables(tables) if !tables.tables.changes() => tables.tables.iter().next(),
            Kind::Perfect | Kind::Fixed(_) | Kind::Tables(_) | Kind::Bch(_) | Kind::Exact(_) | Kind::Given(_) => None,
        }
    }

    /// Returns the texts of the tables, the code file and the cells that the spec names.
    pub fn file_texts(&self) -> Vec<&str> {
        let tables = match &self.kind {
            Kind::Tables(tables) => Some(tables.tables.iter().map(DecodeTable::text)),
            Kind::Perfect | Kind::Fixed(_) | Kind::Bch(_) | Kind::Exact(_) | Kind::Given(_) => None,
        };
        tables.into_iter().flatten().chain(self.named_texts.iter().map(String::as_str)).collect()
    }

    /// Returns the possible lengths of a codeword, in data bits, for the code or for each of the tables, in the order of their ages. Tables
    /// are also used for devices whose sizes of codewords include parity, so a table has two lengths; it has none if it does not tell them.
    pub fn codeword_lengths(&self) -> Vec<Vec<u64>> {
        match &self.kind {
            Kind::Perfect | Kind::Fixed(_) | Kind::Bch(_) | Kind::Given(_) => vec![],
            Kind::Tables(tables) => {
                let lengths =
                    |table: &DecodeTable| table.data_bits().into_iter().chain(table.codeword_bits()).collect();
                tables.tables.iter().map(lengths).collect()
            }
            Kind::Exact(exact) => vec![vec![exact.data_bits as u64]],
        }
    }

    /// Whether the number of decoding iterations is known.
    pub fn knows_iterations(&self) -> bool {
        match &self.kind {
            Kind::Fixed(_) | Kind::Bch(_) => false,
            Kind::Perfect | Kind::Given(_) => true,
            Kind::Tables(tables) => tables.tables.iter().all(|table| table.max_iterations().is_some()),
            Kind::Exact(exact) => exact.ldpc.is_some(),
        }
    }

    /// Returns the parameters of the LDPC codes that a circuit depends on, by P/E cycles; none where no code of softsense is named.
    pub fn ldpc_shapes(&self) -> Option<ByAge<LdpcShape>> {
        match &self.kind {
            Kind::Tables(tables) if tables.tables.iter().all(|table| table.ldpc_shape().is_some()) => {
                Some(tables.tables.map(|table| table.ldpc_shape().expect("all are known")))
            }
            Kind::Exact(exact) => exact.ldpc.map(ByAge::always),
            Kind::Perfect | Kind::Fixed(_) | Kind::Tables(_) | Kind::Bch(_) | Kind::Given(_) => None,
        }
    }

    #[inline]
    fn flash(&self) -> Option<&Flash> {
        match &self.kind {
            Kind::Perfect | Kind::Fixed(_) | Kind::Given(_) => None,
            Kind::Tables(tables) => Some(&tables.flash),
            Kind::Bch(bch) => Some(bch.flash()),
            Kind::Exact(exact) => Some(&exact.flash),
        }
    }

    /// Returns the BCH codes by age, in their order; empty with any other kind.
    pub fn bch_codes(&self) -> &[AgedBch] {
        match &self.kind {
            Kind::Bch(bch) => &bch.codes,
            Kind::Perfect | Kind::Fixed(_) | Kind::Tables(_) | Kind::Exact(_) | Kind::Given(_) => &[],
        }
    }

    /// Returns the real decodes, where there are any.
    #[inline]
    fn exact(&self) -> Option<&Exact> {
        match &self.kind {
            Kind::Exact(exact) => Some(exact),
            Kind::Bch(bch) => match &bch.fates {
                Fates::Exact(exact) => Some(exact),
                Fates::Drawn(..) => None,
            },
            Kind::Perfect | Kind::Fixed(_) | Kind::Tables(_) | Kind::Given(_) => None,
        }
    }

    /// Whether codewords are really decoded.
    pub fn is_exact(&self) -> bool {
        self.exact().is_some()
    }

    /// Returns the factor of a block and its chip on the raw bit error rate; 1 without variation. Both are numbered over the device, chips
    /// in the order in which the stripe meets them.
    pub fn block_factor(&self, chip: u64, block: u64) -> f64 {
        self.flash().map_or(1.0, |flash| flash.factors.block_factor(chip, block))
    }

    /// Returns the factor of the layer of a wordline on the raw bit error rate, the same in all blocks; 1 without variation.
    pub fn layer_factor(&self, wordline: u32, wordlines_per_block: u32) -> f64 {
        self.flash().map_or(1.0, |flash| flash.factors.layer_factor(wordline, wordlines_per_block))
    }

    /// Returns the layer of a wordline; without known layers each wordline has its own.
    pub fn layer_of(&self, wordline: u32, wordlines_per_block: u32) -> u32 {
        self.flash().map_or(wordline, |flash| flash.factors.layer_of(wordline, wordlines_per_block))
    }

    /// Returns the factor of a wordline of a block (of the device) on the raw bit error rate, besides those of its layer and its block.
    #[inline]
    pub fn wordline_factor(&self, block: u64, wordline: u32) -> f64 {
        self.flash().map_or(1.0, |flash| flash.factors.wordline_factor(block, wordline))
    }

    /// Returns the factor of a chip on the raw bit error rate; 1 without variation.
    pub fn chip_factor(&self, chip: u64) -> f64 {
        self.flash().map_or(1.0, |flash| flash.factors.chip_factor(chip))
    }

    /// Returns the observations by which blocks change code rates; `None` where rates follow P/E cycles.
    pub fn observed_switch(&self) -> Option<&ObservedSwitch> {
        match &self.kind {
            Kind::Tables(tables) => tables.switch.as_ref(),
            Kind::Perfect | Kind::Fixed(_) | Kind::Bch(_) | Kind::Exact(_) | Kind::Given(_) => None,
        }
    }

    /// Whether fates are looked up in decode tables.
    pub fn has_tables(&self) -> bool {
        matches!(self.kind, Kind::Tables(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;

    fn age(retention_hours: f64) -> CellAge {
        let wear = Wear::unread(10_000, retention_hours);
        CellAge {
            code_age: 10_000,
            block_factor: 1.0,
            page: 0,
            page_type: None,
            page_type_factor: 1.0,
            wear,
            carried_rber: 0.0,
        }
    }

    fn least_level(reliability: &Reliability, number: u64, write: u32, cells: CellAge) -> u8 {
        reliability.least_level(&reliability.fate(&reliability.conditions(write, 1, |_| cells), number))
    }

    fn build(spec: ReliabilitySpec) -> Result<Reliability> {
        Reliability::new(&spec, 3, Path::new("."))
    }

    /// Are the failure probabilities those of the config, and nested? With 200,000 codewords each share's standard error is at most 0.0011;
    /// the bound is four of them.
    #[test]
    fn fixed_probabilities_are_met_and_nested() {
        let p_fail = [0.4, 0.1, 0.02];
        let reliability =
            build(ReliabilitySpec::Fixed { p_fail: p_fail.to_vec(), drawn_for: FixedDraw::Codeword }).unwrap();
        let n = 200_000;
        let levels: Vec<u8> = (0..n).map(|number| least_level(&reliability, number, 1, age(0.0))).collect();
        for (index, p) in p_fail.into_iter().enumerate() {
            let failing = levels.iter().filter(|&&level| usize::from(level) > index + 1).count();
            assert!((failing as f64 / n as f64 - p).abs() < 0.0045, "level {}: {failing}", index + 1);
        }
        assert!(levels.iter().all(|&level| level <= 4));
    }

    #[test]
    fn certain_failure_at_every_level_is_uncorrectable() {
        let reliability =
            build(ReliabilitySpec::Fixed { p_fail: vec![1.0; 7], drawn_for: FixedDraw::Codeword }).unwrap();
        let fate = reliability.fate(&reliability.conditions(1, 1, |_| age(0.0)), 1);
        assert!((1..=MAX_LEVEL).all(|level| !reliability.outcome(&fate, Step::fresh(level)).decoded));
        assert!(reliability.least_level(&fate) > MAX_LEVEL);
    }

    #[test]
    fn least_levels_only_grow_with_retention() {
        let rber = RberModel::PowerLaw { floor: 0.0, scale: 2.16e-6, pe_exponent: 1.57, retention_exponent: 1.98 };
        let variation = Variation { page_sigma: 0.1, ..Variation::default() };
        let table = TableSpec { file: "laldpc-thresholds".into(), rber, variation, most_beyond: usual_most_beyond() };
        let reliability = build(ReliabilitySpec::Table(table)).unwrap();
        for place in 0..500 {
            let at = |days: f64| least_level(&reliability, place, 2, age(days * 24.0));
            let levels = [0.0, 1.0, 30.0, 365.0, 1000.0].map(at);
            assert!(levels.windows(2).all(|w| w[0] <= w[1]), "{levels:?}");
        }
    }

    /// Does a page type have the RBER of its page of the wordline, and a single one their mean? MLC at 10,000 P/E cycles and a year has
    /// 4.5e-3, 8.4e-3 and 6.5e-3, for which LaLDPC's thresholds require levels 1, 4 and 3.
    #[test]
    fn page_types_have_the_rber_of_their_pages() {
        let rber = RberModel::ThresholdVoltage(Default::default());
        let table = TableSpec {
            file: "laldpc-thresholds".into(),
            rber,
            variation: Variation::default(),
            most_beyond: usual_most_beyond(),
        };
        let reliability = build(ReliabilitySpec::Table(table)).unwrap();
        assert_eq!(reliability.pages(), Some(2));
        let level = |page_type| {
            let age = CellAge { page_type, ..age(8760.0) };
            (0..10).map(|number| least_level(&reliability, number, 0, age)).max()
        };
        assert_eq!([Some(0), Some(1), None].map(level), [Some(1), Some(4), Some(3)]);
    }

    /// Does overdispersion reach the codewords? All have an RBER of 5.5e-3, of level 2. With a correlation of 1e-3 their standard deviation
    /// is 2.3e-3, from level 1 to beyond level 5.
    #[test]
    fn overdispersion_spreads_least_levels() {
        let levels = |overdispersion| {
            let variation = Variation { overdispersion, ..Variation::default() };
            let rber = RberModel::Constant { rber: 5.5e-3 };
            let table =
                TableSpec { file: "laldpc-thresholds".into(), rber, variation, most_beyond: usual_most_beyond() };
            let reliability = build(ReliabilitySpec::Table(table)).unwrap();
            let mut count = [0; 9];
            (0..2000).for_each(|number| count[usize::from(least_level(&reliability, number, 0, age(0.0)))] += 1);
            count
        };
        assert_eq!(levels(0.0)[2], 2000);
        let spread = levels(1e-3);
        assert!(spread[1] > 200 && spread[3] > 100 && spread[5] > 50, "{spread:?}");
    }

    #[test]
    fn bad_probabilities_are_named() {
        for (p_fail, expected) in [
            (vec![], ": found 0 values"),
            (vec![0.1; 8], ": found 8 values"),
            (vec![1.5], "[0]: found 1.5, expected a number from 0 to 1"),
            (vec![f64::NAN], "[0]: found a number that is not finite, expected a number from 0 to 1"),
            (vec![0.1, 0.2], ": found 0.2 after 0.1, expected probabilities that do not rise from level to level"),
        ] {
            let error =
                build(ReliabilitySpec::Fixed { p_fail, drawn_for: FixedDraw::Codeword }).unwrap_err().to_string();
            assert!(error.starts_with(&format!("reliability.fixed.p_fail{expected}")), "{error}");
        }
    }
}
