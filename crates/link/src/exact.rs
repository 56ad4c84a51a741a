use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Purpose, Result, Stream, expect_whole, read_text};
use softsense_ecc::bits;
use softsense_ecc::catalogue::{Code, Encoder};
use softsense_ecc::channel::LARGEST_REGION_LLR;
use softsense_ecc::ldpc::RedundantChecks;
use softsense_ecc::measure::{Algorithm, DecoderSpec, FrameDecoder};
use softsense_nand::{
    CellSpec, Cells, NamedCells, Placement, RberModel, ReadWith, ReferencesAt, Sensing, Variation, Wear,
};

use crate::{BchSpec, MAX_LEVEL};

/// Real decodes: the flash whose codewords are read, the code they are written in, and its decoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExactSpec {
    /// A shipped code, any BCH code as `bch:m=15,t=57,k=31912`, or the file of an LDPC code beside the config. Its data bits
    /// are those of a codeword of the device.
    #[serde(default = "default_code")]
    pub code: String,
    /// The decoder of an LDPC code, such as `min-sum` or `sum-product`; BCH codes have one. Those and `bit-flipping` have no
    /// use for levels above 1.
    #[serde(default = "default_decoder")]
    pub decoder: String,
    /// Iterations after which the decoder of an LDPC code gives up, 1 to 10000.
    #[serde(default = "default_iterations")]
    pub max_iterations: u32,
    /// Raw bit error rate by age. With `threshold_voltage` pages of these cells are read, with any other model the boundary
    /// between two Gaussian states that has this rate.
    pub rber: RberModel,
    /// How chips, blocks and pages differ.
    #[serde(default)]
    pub variation: Variation,
    /// Where the reference voltages of soft sensing are.
    #[serde(default)]
    pub placement: Placement,
    /// The age that the controller takes all cells to be of: references and LLRs are made for it. Without it, the controller
    /// knows each codeword's.
    #[serde(default)]
    pub llrs_for: Option<Wear>,
}

fn default_code() -> String {
    "flash-8/9".into()
}

fn default_decoder() -> String {
    "min-sum".into()
}

fn default_iterations() -> u32 {
    20
}

impl ExactSpec {
    /// Reads of the codewords of BCH codes by age.
    pub(crate) fn of_bch(spec: &BchSpec, rber: RberModel) -> Self {
        Self {
            code: default_code(),
            decoder: default_decoder(),
            max_iterations: default_iterations(),
            rber,
            variation: spec.variation.clone(),
            placement: Placement::default(),
            llrs_for: None,
        }
    }

    /// Opens the code, a file being taken from `directory`; and the text of such a file.
    pub(crate) fn open_code(&self, directory: &Path) -> Result<(Code, Option<String>)> {
        let at_field =
            |error: Error| Error::config("reliability.exact.code", format!("{}: {}", error.place(), error.message()));
        let path = directory.join(&self.code);
        if self.code.starts_with("bch:") || Code::names().any(|name| name == self.code) {
            return Ok((Code::open(&self.code, RedundantChecks::Refuse).map_err(at_field)?, None));
        }
        if !path.exists() {
            // An unknown name: the error lists the known ones.
            return Err(Code::shipped(&self.code).map_or_else(at_field, |_| unreachable!("it is not a shipped one")));
        }
        let text = read_text(&path).map_err(|error| at_field(Error::io(&path, &error)))?;
        let code = Code::parse(&path.display().to_string(), &text, RedundantChecks::Refuse).map_err(at_field)?;
        Ok((code, Some(text)))
    }

    /// Checks the ranges, but for the code's: opening it checks that.
    fn check(&self) -> Result<()> {
        self.variation.check("reliability.exact.variation")?;
        expect_whole("reliability.exact.max_iterations", self.max_iterations, 1, 10_000)?;
        self.placement.check("reliability.exact.placement")?;
        if let Some(age) = self.llrs_for {
            age.check("reliability.exact.llrs_for")?;
        }
        Ok(())
    }
}

/// What the cells of a codeword are like when it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CellCondition {
    /// One boundary between two Gaussian states, on which decode tables are measured.
    Boundary {
        /// Raw bit error rate of hard decisions.
        rber: f64,
    },
    /// Cells with threshold voltages.
    Voltages {
        /// What they have been through.
        wear: Wear,
        /// Which page of the wordline the codeword is in.
        page: usize,
    },
}

/// Conditions between grid points of this distance, in ln(RBER), ln(1 + P/E cycles), ln(1 + hours) and ln(1 + effective reads /
/// 1,000), are read with the references and LLRs of the nearest: placing them takes up to 100 ms.
///
/// Cells are as their own condition makes them, so that raw errors are unbiased. References are where information is
/// stationary, so that at most 1e-5 bits of it are lost, as by 0.02 % of RBER; and LLRs are off by less than a decoder's
/// integer. A test measures both.
const RBER_GRID: f64 = 0.01;
const PE_GRID: f64 = 0.01;
const HOURS_GRID: f64 = 0.05;
const READS_GRID: f64 = 0.02;
/// Effective reads from which on conditions are told apart by their logarithm.
pub(crate) const READS_SCALE: f64 = 1000.0;

/// Least and greatest RBER of [`CellCondition::Boundary`]: below, one codeword of 4 KB in 27,000 has an error at all.
const BOUNDARY_RBER: std::ops::RangeInclusive<f64> = 1e-9..=0.499;

/// A condition on the grid, how its cells are read, and what a search has found for that.
type ReferenceKey = ([i64; 4], ReadWith, Option<FoundGaps>);

/// The gap that a search for valleys has chosen at each boundary between states.
type FoundGaps = Box<[u8]>;

/// A number's place on a grid, and the number there.
fn on_grid(value: f64, distance: f64) -> (i64, f64) {
    let index = libm::round(value / distance);
    (index as i64, index * distance)
}

impl CellCondition {
    /// The cells.
    fn cells(self, spec: Option<&CellSpec>) -> Cells {
        match (self, spec) {
            (Self::Boundary { rber }, None) => {
                Cells::gaussian(rber.clamp(*BOUNDARY_RBER.start(), *BOUNDARY_RBER.end()))
            }
            (Self::Voltages { wear, .. }, Some(spec)) => spec.at(wear),
            (Self::Boundary { .. }, Some(_)) | (Self::Voltages { .. }, None) => {
                panic!("a condition of the other kind of flash")
            }
        }
    }

    /// The cells as they look when they are sensed for a share of the time.
    fn looking(self, spec: Option<&CellSpec>, sensing_percent: u8) -> Cells {
        let cells = self.cells(spec);
        match spec {
            Some(spec) => spec.as_sensed(cells, sensing_percent),
            None => cells,
        }
    }

    /// The cells as they are read, after a search with what it has found.
    fn read_with(self, spec: Option<&CellSpec>, read: ReadWith, found: Option<&FoundGaps>) -> Cells {
        match (self, spec, found) {
            (Self::Voltages { wear, .. }, Some(spec), None) => spec.read_with(wear, read),
            (Self::Voltages { wear, .. }, Some(spec), Some(gaps)) => {
                let cells = spec.at_valleys(wear, &gaps.iter().map(|&gap| gap.into()).collect::<Vec<_>>());
                spec.as_sensed(cells, read.sensing_percent)
            }
            _ => self.cells(spec),
        }
    }

    fn page(self) -> usize {
        match self {
            Self::Boundary { .. } => 0,
            Self::Voltages { page, .. } => page,
        }
    }

    /// The nearest condition that references are placed for.
    fn placed(self) -> ([i64; 4], Self) {
        match self {
            Self::Boundary { rber } => {
                let (index, ln_rber) = on_grid(libm::log(rber.max(*BOUNDARY_RBER.start())), RBER_GRID);
                ([index, 0, 0, 0], Self::Boundary { rber: libm::exp(ln_rber) })
            }
            Self::Voltages { wear, page } => {
                let (pe, ln_pe) = on_grid(libm::log1p(f64::from(wear.pe_cycles)), PE_GRID);
                let (hours, ln_hours) = on_grid(libm::log1p(wear.retention_hours), HOURS_GRID);
                let (reads, ln_reads) = on_grid(libm::log1p(wear.effective_reads / READS_SCALE), READS_GRID);
                let wear = Wear {
                    pe_cycles: libm::round(libm::expm1(ln_pe)) as u32,
                    retention_hours: libm::expm1(ln_hours),
                    effective_reads: READS_SCALE * libm::expm1(ln_reads),
                };
                ([pe, hours, reads, page as i64], Self::Voltages { wear, page })
            }
        }
    }
}

/// The deepest level that tells a decoder of a code more than the one before: 1 if it decodes hard decisions.
pub fn levels_of(code: &Code, algorithm: Algorithm) -> u8 {
    let hard = matches!(code, Code::Bch(_)) || algorithm == Algorithm::BitFlipping;
    if hard { 1 } else { MAX_LEVEL }
}

/// One attempt to decode a codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeAttempt {
    /// The read level.
    pub level: u8,
    /// Whether the decoder claims success.
    pub converged: bool,
    /// Whether it was one with hard decision that found no error.
    pub clean: bool,
    /// Its iterations; 0 for a word that was a codeword as it came, and for decoders without any.
    pub iterations: u32,
    /// Whether the decided word is the one that was written.
    pub correct: bool,
    /// Of a hard decision of an LDPC code, how many checks it violates.
    pub syndrome_weight: Option<u32>,
}

/// The whole read of a codeword: level 1, and after each failure one level more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodewordRead {
    /// Wrong hard decisions.
    pub raw_errors: usize,
    /// What was tried, up to the first success.
    pub attempts: Vec<DecodeAttempt>,
}

impl CodewordRead {
    /// The least level that converged, if one did.
    pub fn least_level(&self) -> Option<u8> {
        self.attempts.last().filter(|attempt| attempt.converged).map(|attempt| attempt.level)
    }

    /// Whether the read ended with another word than was written.
    pub fn undetected(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| attempt.converged && !attempt.correct)
    }
}

/// Reads codewords with a real decoder: programs random data, ages the cells, senses, decodes.
///
/// What a codeword holds, the state of each cell (drawn among those that stand for its bit; the other pages of the
/// wordline hold random data too) and the cell's quantile in the distribution of its state are functions of seed, place
/// and write. A cell keeps its quantile as it ages: re-reads agree, deeper levels see the same cells, and every policy
/// meets the same codewords.
///
/// Wrong hard decisions of a [`CellCondition::Boundary`] stay wrong as its RBER grows. Of required levels nothing is
/// guaranteed: a decoder may succeed at one level and fail at a deeper one, whose references are elsewhere, or fail on
/// fewer errors; both are rare.
pub struct CodewordReader {
    spec: ExactSpec,
    cell_spec: Option<CellSpec>,
    /// What the controller takes every boundary for.
    assumed: Option<(Wear, f64)>,
    code: Code,
    encoder: Encoder,
    decoder: StepDecoder,
    streams: Streams,
    /// For each page, the states that stand for a 0 and for a 1.
    states_of_bit: Vec<[Vec<u8>; 2]>,
    references: HashMap<ReferenceKey, References>,
    held: Held,
    /// Received, then decided.
    word: Vec<u8>,
    llrs: Vec<i8>,
}

#[derive(Clone, Copy)]
struct Streams {
    draws: Stream,
    data: Stream,
    cells: Stream,
    counts: Stream,
}

/// References of one level, and what the decoder is told of their regions.
#[derive(Clone)]
struct References {
    sensing: Sensing,
    /// LLRs in a decoder's integers; at level 1 their signs.
    llrs: Vec<i8>,
    /// The natural logarithm that one step stands for.
    step: f64,
}

/// The codeword in hand, as it was written.
#[derive(Clone, Default)]
struct Held {
    place: Option<(u64, u64, usize)>,
    data: Vec<u8>,
    codeword: Vec<u8>,
    cells: Vec<Cell>,
}

/// A cell: its quantile among the cells of its state, in multiples of 2^-52, and in the lower twelve bits the state.
#[derive(Clone, Copy)]
struct Cell(u64);

const STATE_BITS: u32 = 12;
const QUANTILE_BITS: u32 = 64 - STATE_BITS;

impl Cell {
    /// The cell of 64 uniform bits, in one of the states `candidates`, of which there are 1, 2 or 4.
    fn of_draw(draw: u64, candidates: &[u8]) -> Self {
        let low = draw & ((1 << STATE_BITS) - 1);
        let state = candidates[(low as usize * candidates.len()) >> STATE_BITS];
        Self(draw - low + u64::from(state))
    }

    fn state(self) -> usize {
        (self.0 & ((1 << STATE_BITS) - 1)) as usize
    }

    fn quantile(self) -> u64 {
        self.0 >> STATE_BITS
    }
}

/// In which region the cells of a state are.
///
/// Source: H.-C. Chen, Y. Asau, "On generating random variates from an empirical distribution", 1974: the guide.
struct RegionOf {
    /// Quantiles at the references, in multiples of 2^-52.
    below: Vec<u64>,
    /// By the first eight bits of a quantile, the least region.
    guide: [u8; 256],
}

impl RegionOf {
    fn new(cumulative: &[f64]) -> Self {
        let below: Vec<u64> = cumulative.iter().map(|c| (c * (1u64 << QUANTILE_BITS) as f64) as u64).collect();
        let guide = std::array::from_fn(|first| {
            below.iter().filter(|&&below| below <= (first as u64) << (QUANTILE_BITS - 8)).count() as u8
        });
        Self { below, guide }
    }

    #[inline]
    fn region(&self, quantile: u64) -> usize {
        let mut region = usize::from(self.guide[(quantile >> (QUANTILE_BITS - 8)) as usize]);
        while self.below.get(region).is_some_and(|&below| below <= quantile) {
            region += 1;
        }
        region
    }
}

/// A decoder that may have to know what a step of an LLR stands for.
struct StepDecoder {
    spec: DecoderSpec,
    /// The step that the decoder was made for; none if it does not matter.
    step: Option<f64>,
    decoder: Box<dyn FrameDecoder>,
}

impl StepDecoder {
    fn new(code: &Code, spec: DecoderSpec) -> Result<Self> {
        let floating = match code {
            Code::Ldpc(code) => matches!(spec.algorithm_of(code), Algorithm::MessagePassing { .. }),
            Code::Bch(_) => false,
        };
        Ok(Self { spec, step: floating.then_some(1.0), decoder: spec.decoder(code, 1.0)? })
    }

    fn for_step(&mut self, code: &Code, step: f64) -> &mut dyn FrameDecoder {
        if self.step.is_some_and(|made_for| made_for != step) {
            self.decoder = self.spec.decoder(code, step).expect("it was made before");
            self.step = Some(step);
        }
        &mut *self.decoder
    }
}

impl CodewordReader {
    /// A reader of the codewords of `seed`; the file of a code is taken from `directory`.
    ///
    /// # Errors
    /// Values out of range, a code that does not open, or a decoder that is unknown or does not fit it, at their paths in
    /// the config.
    pub fn new(spec: &ExactSpec, seed: u64, directory: &Path) -> Result<Self> {
        let spec = ExactSpec { rber: spec.rber.open("reliability.exact.rber", directory)?, ..spec.clone() };
        let (code, _) = spec.open_code(directory)?;
        Self::of_code(&spec, seed, code)
    }

    /// [`Self::new`] with the code of the spec, whose RBER model is open.
    pub(crate) fn of_code(spec: &ExactSpec, seed: u64, code: Code) -> Result<Self> {
        spec.check()?;
        let at_decoder = |error: Error| Error::config("reliability.exact.decoder", error.message());
        let algorithm: Algorithm = spec.decoder.parse().map_err(at_decoder)?;
        let decoder = DecoderSpec { algorithm, max_iterations: spec.max_iterations };
        let decoder = StepDecoder::new(&code, decoder).map_err(at_decoder)?;
        let cell_spec = match &spec.rber {
            RberModel::ThresholdVoltage(NamedCells::Given(cells)) => Some((**cells).clone()),
            _ => None,
        };
        let fresh = match &cell_spec {
            Some(cells) => cells.at(Wear::unread(0, 0.0)),
            None => Cells::gaussian(*BOUNDARY_RBER.end()),
        };
        let with_bit = |page: usize, bit: bool| {
            (0..fresh.states()).filter(|&state| fresh.bit(page, state) == bit).map(|state| state as u8).collect()
        };
        let assumed = spec.llrs_for.map(|age| (age, spec.rber.compiled().at(age, None)));
        let streams = Streams {
            draws: Stream::new(seed, Purpose::CodewordDraw),
            data: Stream::new(seed, Purpose::Data),
            cells: Stream::new(seed, Purpose::Cells),
            counts: Stream::new(seed, Purpose::Counts),
        };
        let codeword_bits = code.codeword_bits();
        let held = Held {
            place: None,
            data: vec![0; bits::bytes_for(code.data_bits())],
            codeword: vec![0; bits::bytes_for(codeword_bits)],
            cells: vec![Cell(0); codeword_bits],
        };
        Ok(Self {
            spec: spec.clone(),
            cell_spec,
            assumed,
            encoder: code.encoder(),
            code,
            decoder,
            streams,
            states_of_bit: (0..fresh.pages()).map(|page| [false, true].map(|bit| with_bit(page, bit))).collect(),
            references: HashMap::new(),
            word: held.codeword.clone(),
            held,
            llrs: vec![0; codeword_bits],
        })
    }

    /// The code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The deepest level that tells the decoder more than the one before.
    pub fn levels(&self) -> u8 {
        levels_of(&self.code, self.decoder.spec.algorithm)
    }

    /// Reads the codeword at `place` in its `write`-th life: level 1, and after each failure one level more, up to
    /// `max_level`.
    ///
    /// # Arguments
    /// - `conditions`: of each of the pages among which the codeword is divided: as many equal parts, in the order of its
    ///   bits. Each part is read with the references and LLRs of its own page.
    ///
    /// # Panics
    /// If a condition is that of another kind of flash than the spec's, or there is no such page or level.
    pub fn read(&mut self, place: u64, write: u64, conditions: &[CellCondition], max_level: u8) -> CodewordRead {
        let mut read = CodewordRead { raw_errors: self.raw_errors(place, write, conditions), attempts: Vec::new() };
        for level in 1..=max_level.min(self.levels()) {
            read.attempts.push(self.attempt(place, write, conditions, level));
            if read.attempts.last().is_some_and(|attempt| attempt.converged) {
                break;
            }
        }
        read
    }

    /// How many hard decisions of a codeword are wrong; arguments as those of [`Self::read`].
    pub fn raw_errors(&mut self, place: u64, write: u64, conditions: &[CellCondition]) -> usize {
        self.sense(place, write, conditions, ReadWith::level(1));
        bits::distance(&self.word, &self.held.codeword)
    }

    /// One attempt to decode a codeword, with `level`, up to [`Self::levels`]; arguments as those of [`Self::read`].
    pub fn attempt(&mut self, place: u64, write: u64, conditions: &[CellCondition], level: u8) -> DecodeAttempt {
        self.attempt_by(place, write, conditions, ReadWith::level(level))
    }

    /// [`Self::attempt`] as its cells are read. A search for valleys counts cells that are drawn for each codeword.
    ///
    /// # Panics
    /// As [`Self::read`]; and where [`CellSpec::read_with`] does.
    pub fn attempt_by(
        &mut self,
        place: u64,
        write: u64,
        conditions: &[CellCondition],
        read: ReadWith,
    ) -> DecodeAttempt {
        let level = read.level;
        let step = self.sense(place, write, conditions, read);
        let clean = level == 1 && self.word == self.held.codeword;
        let syndrome_weight = match &self.code {
            Code::Ldpc(code) if level == 1 => Some(code.syndrome_weight(&self.word) as u32),
            Code::Ldpc(_) | Code::Bch(_) => None,
        };
        let decoder = self.decoder.for_step(&self.code, step);
        let verdict = if level == 1 {
            decoder.decode_hard(&mut self.word)
        } else {
            decoder.decode_soft(&self.llrs, &mut self.word)
        };
        DecodeAttempt {
            level,
            converged: verdict.success,
            clean,
            iterations: verdict.iterations,
            correct: self.word == self.held.codeword,
            syndrome_weight,
        }
    }

    /// How many of the first checks of its LDPC code the hard decisions of a codeword violate; arguments as those of
    /// [`Self::attempt_by`].
    ///
    /// # Panics
    /// As that; and if the code is no LDPC code, or has fewer checks.
    pub fn violated_of_first(
        &mut self,
        checks: u32,
        place: u64,
        write: u64,
        conditions: &[CellCondition],
        read: ReadWith,
    ) -> u32 {
        self.sense(place, write, conditions, ReadWith { level: 1, ..read });
        let Code::Ldpc(code) = &self.code else { panic!("a code without sparse checks") };
        code.parity_check().syndrome_weight_of_first(checks as usize, &self.word) as u32
    }

    /// Senses a codeword: into `word` at level 1, into `llrs` at others. Returns the step of the LLRs, which is that of the
    /// part with the largest; those of other parts are made to match it.
    fn sense(&mut self, place: u64, write: u64, conditions: &[CellCondition], read: ReadWith) -> f64 {
        let level = read.level;
        assert!((1..=self.levels()).contains(&level), "level {level}, not from 1 to {}", self.levels());
        self.hold(place, write, conditions[0].page());
        let keys: Vec<ReferenceKey> = conditions
            .iter()
            .enumerate()
            .map(|(part, &condition)| {
                let found = self.found_gaps(place, write, part, condition, read.references);
                let (key, placed) = self.assumed_condition(condition).placed();
                let (code, spec, cell_spec) = (&self.code, &self.spec, self.cell_spec.as_ref());
                let key = (key, read, found);
                if !self.references.contains_key(&key) {
                    let cells = placed.read_with(cell_spec, read, key.2.as_ref());
                    let made = References::new(&cells, placed.page(), level, spec.placement, code.codeword_bits());
                    self.references.insert(key.clone(), made);
                }
                key
            })
            .collect();
        let step = keys.iter().map(|key| self.references[key].step).fold(0.0, f64::max);
        // Parts end at whole bytes.
        let part_bits = self.held.cells.len().div_ceil(conditions.len()).next_multiple_of(8);
        let parts = self.held.cells.chunks(part_bits).zip(conditions).zip(&keys);
        for (index, ((held, condition), key)) in parts.enumerate() {
            let references = &self.references[key];
            let cells = condition.looking(self.cell_spec.as_ref(), read.sensing_percent);
            let region_of = |state: usize| RegionOf::new(&references.sensing.cumulative(&cells, state));
            let states: Vec<RegionOf> = (0..cells.states()).map(region_of).collect();
            let llrs: Vec<i8> = if level == 1 || references.step == step {
                references.llrs.clone()
            } else {
                let scaled = |&llr: &i8| libm::round(f64::from(llr) * references.step / step) as i8;
                references.llrs.iter().map(scaled).collect()
            };
            let llr = |cell: &Cell| llrs[states[cell.state()].region(cell.quantile())];
            let from = index * part_bits;
            if level == 1 {
                for (byte, cells) in self.word[from / 8..].iter_mut().zip(held.chunks(8)) {
                    let bit = |(cell, at): (&Cell, u32)| u8::from(llr(cell) < 0) << (7 - at);
                    *byte = cells.iter().zip(0..8).fold(0, |byte, cell| byte | bit(cell));
                }
            } else {
                self.llrs[from..].iter_mut().zip(held).for_each(|(to, cell)| *to = llr(cell));
            }
        }
        step
    }

    /// What a search for valleys finds for a part of a codeword, by what it counts; nothing where there is no search.
    fn found_gaps(
        &self,
        place: u64,
        write: u64,
        part: usize,
        condition: CellCondition,
        references: ReferencesAt,
    ) -> Option<FoundGaps> {
        let (ReferencesAt::Valleys, CellCondition::Voltages { wear, .. }, Some(spec)) =
            (references, condition, &self.cell_spec)
        else {
            return None;
        };
        let draw = self.streams.draws.bits(place, write);
        let mut next = (part as u64) << 32;
        let gaps = spec.found_gaps(wear, || {
            next += 1;
            self.streams.counts.uniform(draw, next)
        });
        Some(gaps.into_iter().map(|gap| gap as u8).collect())
    }

    /// What the controller takes cells for.
    fn assumed_condition(&self, condition: CellCondition) -> CellCondition {
        match (self.assumed, condition) {
            (None, _) => condition,
            (Some((_, rber)), CellCondition::Boundary { .. }) => CellCondition::Boundary { rber },
            (Some((age, _)), CellCondition::Voltages { page, .. }) => CellCondition::Voltages { wear: age, page },
        }
    }

    /// Programs a codeword into a page, unless it is the one in hand.
    fn hold(&mut self, place: u64, write: u64, page: usize) {
        if self.held.place.replace((place, write, page)) == Some((place, write, page)) {
            return;
        }
        let Held { data, codeword, cells, .. } = &mut self.held;
        // Streams have two indices; the draw of a codeword stands for place and write.
        let draw = self.streams.draws.bits(place, write);
        for (index, bytes) in data.chunks_mut(8).enumerate() {
            bytes.copy_from_slice(&self.streams.data.bits(draw, index as u64).to_be_bytes()[..bytes.len()]);
        }
        self.encoder.encode(data, codeword);
        let states_of_bit = &self.states_of_bit[page];
        for (at, cell) in cells.iter_mut().enumerate() {
            let candidates = &states_of_bit[usize::from(bits::get(codeword, at))];
            *cell = Cell::of_draw(self.streams.cells.bits(draw, at as u64), candidates);
        }
    }
}

impl References {
    fn new(cells: &Cells, page: usize, level: u8, placement: Placement, codeword_bits: usize) -> Self {
        let sensing = Sensing::new(cells, page, level, placement);
        if level == 1 {
            let sign = |llr: &f64| if *llr < 0.0 { -1 } else { 1 };
            // The LLR of a hard decision: finite where none is wrong.
            let rber = cells.rber(page).clamp(0.5 / codeword_bits as f64, 0.499);
            let llrs = sensing.llrs(cells).iter().map(sign).collect();
            return Self { sensing, llrs, step: libm::log((1.0 - rber) / rber) };
        }
        let (llrs, step) = sensing.integer_llrs(cells, LARGEST_REGION_LLR);
        Self { sensing, llrs, step }
    }
}

impl Clone for CodewordReader {
    fn clone(&self) -> Self {
        Self {
            spec: self.spec.clone(),
            cell_spec: self.cell_spec.clone(),
            code: self.code.clone(),
            encoder: self.encoder.clone(),
            decoder: StepDecoder::new(&self.code, self.decoder.spec).expect("it was made before"),
            states_of_bit: self.states_of_bit.clone(),
            references: self.references.clone(),
            held: self.held.clone(),
            word: self.word.clone(),
            llrs: self.llrs.clone(),
            ..*self
        }
    }
}

impl fmt::Debug for CodewordReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodewordReader").field("spec", &self.spec).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is as little lost by the grid as its documentation says? At the worst distance from a grid point, references are
    /// compared with those of the condition itself: their information about the bits, and their LLRs.
    #[test]
    fn the_grid_of_references_costs_next_to_nothing() {
        let spec = CellSpec::default();
        let boundaries = [1e-4, 2e-3, 0.01, 0.03].map(|rber: f64| {
            let index = libm::floor(libm::log(rber) / RBER_GRID) + 0.499;
            (CellCondition::Boundary { rber: libm::exp(index * RBER_GRID) }, None)
        });
        let pages = [(1_000, 10.0, 0), (10_000, 8_760.0, 0), (10_000, 8_760.0, 1), (20_000, 100.0, 1)];
        let pages = pages.map(|(pe_cycles, hours, page)| {
            let off = |value: f64, grid: f64| libm::expm1((libm::floor(libm::log1p(value) / grid) + 0.499) * grid);
            let pe_cycles = libm::round(off(f64::from(pe_cycles), PE_GRID)) as u32;
            let wear = Wear::unread(pe_cycles, off(hours, HOURS_GRID));
            (CellCondition::Voltages { wear, page }, Some(&spec))
        });
        let measured = CellSpec::open("tlc-measured", Path::new("")).unwrap();
        let ln_reads = (libm::floor(libm::log(301.0) / READS_GRID) + 0.499) * READS_GRID;
        let wear = Wear { effective_reads: READS_SCALE * libm::expm1(ln_reads), ..Wear::unread(1_096, 0.0) };
        let disturbed = (CellCondition::Voltages { wear, page: 0 }, Some(&measured));
        for (condition, spec) in boundaries.into_iter().chain(pages).chain([disturbed]) {
            let (own, placed) = (condition.cells(spec), condition.placed().1.cells(spec));
            for level in [2, 3, 7] {
                let sensing = |cells| Sensing::new(cells, condition.page(), level, Placement::MutualInformation);
                let (best, used) = (sensing(&own), sensing(&placed));
                let lost = best.information(&own) - used.information(&own);
                let (right, told) = (used.llrs(&own), used.llrs(&placed));
                let off = right.iter().zip(&told).map(|(right, told)| (right - told).abs()).fold(0.0, f64::max);
                let largest = told.iter().map(|llr| llr.abs()).fold(0.0, f64::max);
                println!("{condition:?} level {level}: {lost:.1e} bits lost, LLRs off by {off:.4} of {largest:.2}");
                assert!(lost < 1e-5, "{condition:?}, level {level}: {lost:e} bits lost");
                assert!(
                    off < largest / f64::from(LARGEST_REGION_LLR),
                    "{condition:?}, level {level}: LLRs off by {off}"
                );
            }
        }
    }
}
