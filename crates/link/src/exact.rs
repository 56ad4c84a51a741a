mod cells;
mod condition;
mod step_decoder;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Purpose, Result, Stream, check_ranges, read_text};
use softsense_ecc::bits;
use softsense_ecc::catalogue::{Code, Encoder};
use softsense_ecc::ldpc::RedundantChecks;
use softsense_ecc::measure::{Algorithm, DecoderSpec};
use softsense_nand::{CellSpec, Cells, Placement, RberModel, ReadWith, ReferencesAt, Variation, Wear};

use crate::{BchSpec, MAX_LEVEL};
use cells::Cell;
pub(crate) use cells::{QUANTILE_BITS, RegionOf};
use condition::BOUNDARY_RBER;
pub use condition::CellCondition;
pub(crate) use condition::{FoundGaps, PlacedReferences, References, found_gaps, in_steps, in_steps_of};
pub(crate) use step_decoder::StepDecoder;

/// Real decodes: the flash whose codewords are read, the code they are written in, and its decoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExactSpec {
    /// A shipped code, any BCH code as `bch:m=15,t=57,k=31912`, or the file of an LDPC code beside the config. The code has as many data
    /// bits as a codeword of the device.
    #[serde(default = "default_code")]
    pub code: String,
    /// The decoder of an LDPC code, such as `min-sum` or `sum-product`; BCH codes have only one. BCH decoders and
    /// `bit-flipping` cannot use levels above 1.
    #[serde(default = "default_decoder")]
    pub decoder: String,
    /// Iterations after which the decoder of an LDPC code gives up.
    #[serde(default = "default_iterations")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_iterations: u32,
    /// Raw bit error rate by age. With `threshold_voltage` pages of these cells are read; with any other model a read
    /// is of one boundary between two Gaussian states that has this raw bit error rate.
    pub rber: RberModel,
    /// Differences between chips, blocks and pages.
    #[serde(default)]
    pub variation: Variation,
    /// Placement of the reference voltages of soft sensing.
    #[serde(default)]
    pub placement: Placement,
    /// The age for which references and LLRs are made, whatever the age of the cells. Without this field they are made
    /// for the age of each codeword.
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
    /// Describes reads of codewords of BCH codes by age.
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

    /// Opens the code; a file is taken from `directory`. The text of such a file is returned, too.
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

    /// Opens the decoder for a code.
    pub(crate) fn open_decoder(&self, code: &Code) -> Result<StepDecoder> {
        let at_decoder = |error: Error| Error::config("reliability.exact.decoder", error.message());
        let algorithm: Algorithm = self.decoder.parse().map_err(at_decoder)?;
        let decoder = DecoderSpec { algorithm, max_iterations: self.max_iterations };
        StepDecoder::new(code, decoder).map_err(at_decoder)
    }

    /// Checks the ranges, except those of the code: opening it checks these.
    pub(crate) fn check(&self) -> Result<()> {
        check_ranges("reliability.exact", self)?;
        self.variation.check("reliability.exact.variation")?;
        self.placement.check("reliability.exact.placement")?;
        if let Some(age) = self.llrs_for {
            age.check("reliability.exact.llrs_for")?;
        }
        Ok(())
    }
}

/// Returns the deepest level that gives the decoder of a code more information than the level before: 1 if it decodes hard decisions.
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
    /// Whether the attempt was a hard decision without a wrong bit.
    pub clean: bool,
    /// Iterations of the decoder; 0 for a word that was a codeword as received, and for decoders without iterations.
    pub iterations: u32,
    /// Whether the decided word is the one that was written.
    pub correct: bool,
    /// Number of checks that a hard decision of an LDPC code violates; `None` for other attempts.
    pub syndrome_weight: Option<u32>,
}

/// The whole read of a codeword: level 1, and after each failure the next level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodewordRead {
    /// Number of wrong hard decisions.
    pub raw_errors: usize,
    /// Attempts up to the first success.
    pub attempts: Vec<DecodeAttempt>,
}

impl CodewordRead {
    /// Returns the least level that converged, if one did.
    pub fn least_level(&self) -> Option<u8> {
        self.attempts.last().filter(|attempt| attempt.converged).map(|attempt| attempt.level)
    }

    /// Whether the read ended with another word than was written.
    pub fn undetected(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| attempt.converged && !attempt.correct)
    }
}

/// Reads codewords with a real decoder: programs random data, ages the cells, senses, decodes.
/// These are functions of seed, place and write:
/// - the data of a codeword;
/// - the state of each cell, drawn among the states that stand for its bit, as the other pages of the wordline hold random data, too;
/// - the cell's quantile in the distribution of its state.
///
/// A cell keeps its quantile as it ages. So re-reads agree, deeper levels see the same cells, and every policy meets the same codewords.
///
/// Wrong hard decisions of a [`CellCondition::Boundary`] stay wrong as its RBER grows. Required levels have no such guarantee. A decoder
/// may succeed at one level and fail at a deeper one, whose references are elsewhere, or fail on fewer errors; both are rare.
pub struct CodewordReader {
    spec: ExactSpec,
    cell_spec: Option<CellSpec>,
    /// The condition that the controller assumes for every boundary: an age, and its RBER.
    assumed: Option<(Wear, f64)>,
    code: Code,
    encoder: Encoder,
    decoder: StepDecoder,
    streams: Streams,
    /// For each page, the states that stand for a 0 and for a 1.
    states_of_bit: Vec<[Vec<u8>; 2]>,
    references: PlacedReferences,
    held: Held,
    /// The received word, and after decoding the decided one.
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

/// The codeword that was programmed last, as it was written.
#[derive(Clone, Default)]
struct Held {
    place: Option<(u64, u64, usize)>,
    data: Vec<u8>,
    codeword: Vec<u8>,
    cells: Vec<Cell>,
}

impl CodewordReader {
    /// Makes a reader of the codewords of `seed`; the file of a code is taken from `directory`.
    ///
    /// # Errors
    /// Values out of range, a code that does not open, or a decoder that is unknown or does not fit the code, at their paths in the config.
    pub fn new(spec: &ExactSpec, seed: u64, directory: &Path) -> Result<Self> {
        let spec = ExactSpec { rber: spec.rber.open("reliability.exact.rber", directory)?, ..spec.clone() };
        let (code, _) = spec.open_code(directory)?;
        Self::of_code(&spec, seed, code)
    }

    /// Makes a reader as [`Self::new`] does, with the code of the spec, whose RBER model is open.
    pub(crate) fn of_code(spec: &ExactSpec, seed: u64, code: Code) -> Result<Self> {
        spec.check()?;
        let decoder = spec.open_decoder(&code)?;
        let cell_spec = spec.rber.open_cells().cloned();
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
            cells: vec![Cell::default(); codeword_bits],
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
            references: PlacedReferences::new(spec.placement, codeword_bits),
            word: held.codeword.clone(),
            held,
            llrs: vec![0; codeword_bits],
        })
    }

    /// Returns the code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Returns the deepest level that gives the decoder more information than the level before.
    pub fn levels(&self) -> u8 {
        levels_of(&self.code, self.decoder.spec.algorithm)
    }

    /// Reads the codeword at `place` in its `write`-th life: level 1, and after each failure the next level, up to `max_level`.
    ///
    /// # Arguments
    /// - `conditions`: the conditions of the pages among which the codeword is divided into equal parts, in the order of its bits. Each
    ///   part is read with the references and LLRs of its own page.
    ///
    /// # Panics
    /// If a condition is for another kind of flash than the spec's, or there is no such page or level.
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

    /// Counts the wrong hard decisions of a codeword; arguments as those of [`Self::read`].
    pub fn raw_errors(&mut self, place: u64, write: u64, conditions: &[CellCondition]) -> usize {
        self.sense(place, write, conditions, ReadWith::level(1));
        bits::distance(&self.word, &self.held.codeword)
    }

    /// Makes one attempt to decode a codeword, with `level`, up to [`Self::levels`]; arguments as those of [`Self::read`].
    pub fn attempt(&mut self, place: u64, write: u64, conditions: &[CellCondition], level: u8) -> DecodeAttempt {
        self.attempt_by(place, write, conditions, ReadWith::level(level))
    }

    /// Makes an [`Self::attempt`] with given references and sensing time. A search for valleys counts cells that are drawn for each
    /// codeword.
    ///
    /// # Panics
    /// Where [`Self::read`] or [`CellSpec::read_with`] panics.
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
            Code::Ldpc(code) if level == 1 && code.punctured_bits() == 0 => {
                Some(code.syndrome_weight(&self.word) as u32)
            }
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

    /// Counts the violated checks among the first checks of the LDPC code, by the hard decisions of a codeword; arguments as those of
    /// [`Self::attempt_by`].
    ///
    /// # Panics
    /// Where [`Self::attempt_by`] panics; and if the code is not an LDPC code, or has fewer checks.
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

    /// Senses a codeword: into `word` at level 1, into `llrs` at others. Returns the step of the LLRs, which is that of the part with the
    /// largest step; LLRs of other parts are scaled to it.
    fn sense(&mut self, place: u64, write: u64, conditions: &[CellCondition], read: ReadWith) -> f64 {
        let level = read.level;
        assert!((1..=self.levels()).contains(&level), "level {level}, not from 1 to {}", self.levels());
        self.hold(place, write, conditions[0].page());
        let placed: Vec<Arc<References>> = conditions
            .iter()
            .enumerate()
            .map(|(part, &condition)| {
                let found = self.found_gaps(place, write, part, condition, read.references);
                let assumed = self.assumed_condition(condition);
                self.references.of(self.cell_spec.as_ref(), assumed, read, found)
            })
            .collect();
        let step = placed.iter().map(|references| references.step).fold(0.0, f64::max);
        // Parts end at whole bytes.
        let part_bits = self.held.cells.len().div_ceil(conditions.len()).next_multiple_of(8);
        let parts = self.held.cells.chunks(part_bits).zip(conditions).zip(&placed);
        for (index, ((held, condition), references)) in parts.enumerate() {
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

    /// Returns the gaps that a search for valleys finds for a part of a codeword, by the cells that it counts; `None` where there is no
    /// search.
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
        Some(found_gaps(spec, wear, &self.streams.counts, draw, part as u64))
    }

    /// Returns the condition that the controller assumes for cells.
    fn assumed_condition(&self, condition: CellCondition) -> CellCondition {
        match (self.assumed, condition) {
            (None, _) => condition,
            (Some((_, rber)), CellCondition::Boundary { .. }) => CellCondition::Boundary { rber },
            (Some((age, _)), CellCondition::Voltages { page, .. }) => CellCondition::Voltages { wear: age, page },
        }
    }

    /// Programs a codeword into a page, unless it was programmed last.
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

impl Clone for CodewordReader {
    fn clone(&self) -> Self {
        Self {
            spec: self.spec.clone(),
            cell_spec: self.cell_spec.clone(),
            code: self.code.clone(),
            encoder: self.encoder.clone(),
            decoder: self.decoder.again(&self.code),
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
