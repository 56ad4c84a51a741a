mod drawn;
mod sensed;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use softsense_base::{Error, Purpose, Result, Stream};
use softsense_ecc::bits;
use softsense_ecc::catalogue::{Code, Encoder};
use softsense_ecc::ldpc::{Columns, SyndromeWeights};
use softsense_nand::{CellSpec, InferredBy, Rber, ReadWith, ReferencesAt, Wear};

use crate::exact::{FoundGaps, PlacedReferences, QUANTILE_BITS, StepDecoder, found_gaps, in_steps_of};
use crate::{
    CompiledPredictor, DecodeAttempt, ExactSpec, History, Observation, Predictor, PredictorPlace, ReadSpec, Step,
    levels_of,
};
use drawn::Drawn;
use sensed::{Sensed, SensedByCondition};

/// Steps of age: four times those of the simulator's codewords, since a drive has words of many ages at once, and
/// computing each new age takes as long as a read.
const AGE_STEP: f64 = 4e-3;

/// A codeword in cells: the data that was written, and the wear and age of its cells.
#[derive(Debug, Clone, Copy)]
pub struct StoredWord<'a> {
    /// The cells: a number for each position of a codeword in a wordline, the same for all pages of the wordline.
    pub cells: u64,
    /// The number of the programming of these cells.
    pub write: u64,
    /// The page of the wordline that is read, from 0.
    pub page: usize,
    /// The data in these cells: a packed codeword for each page of the wordline.
    pub pages: &'a [&'a [u8]],
    /// The wear and age of the cells, including reads.
    pub wear: Wear,
    /// Bits of the page that a fault has inverted: every level reads them as the other value.
    pub turned: &'a [u32],
}

/// Reads given codewords from cells with threshold voltages by a real decoder, for drives that hold data.
///
/// The bits of all pages give the state of a cell, and its quantile in the distribution of the state is a function of
/// seed, cells and write only. A cell keeps its quantile as it ages, so re-reads, deeper levels, other references and
/// The bits of all pages give the state of a cell. Its quantile in the distribution of the state is a function of seed, cells and write
/// only. A cell keeps its quantile as it ages, so re-reads, deeper levels, other references and other pages of the wordline read the same
/// cells. The result of a read is a function of the word and of how it is read, whatever the order of reads, by this reader or a clone.
///
/// Only cells far from the middle of their state are drawn, down to the distance at which a cell may be in another
/// region. The time of a read is proportional to their number.
///
/// Retention and effective reads count in steps of 0.004 in ln(1 + hours) and ln(1 + reads / 1,000), so that words of
/// like age share cells that are computed once. RBER is within 0.4 % of the exact value after an hour or more, and
/// within 2 % after as many reads as raise it with their tenth power. References of the controller are placed on the
/// coarser grid of [`CodewordReader`](crate::CodewordReader).
///
/// A clone shares the code and everything that was computed for cells and references, so each thread may have its own
/// at little cost.
///
/// ```
/// use softsense_link::{ExactSpec, ReadSpec, StoredReader, StoredWord};
/// use softsense_nand::Wear;
///
/// # fn main() -> softsense_base::Result<()> {
/// let spec: ExactSpec = serde_json::from_str(r#"{ "rber": { "threshold_voltage": "tlc-measured" } }"#).expect("a spec");
/// let mut reader = StoredReader::new(&spec, 1, ".".as_ref())?;
/// let pages: Vec<Vec<u8>> = [b'a', b'b', b'c']
///     .map(|byte| {
///         let mut codeword = vec![0; reader.codeword_bytes()];
///         reader.encode(&vec![byte; reader.data_bytes()], &mut codeword);
///         codeword
///     })
///     .into();
/// let pages: Vec<&[u8]> = pages.iter().map(|page| &page[..]).collect();
/// let word = StoredWord { cells: 7, write: 1, page: 1, pages: &pages, wear: Wear::unread(3000, 2160.0), turned: &[] };
/// let mut steps = Vec::new();
/// assert!(reader.read(&word, &ReadSpec::default(), None, &mut steps));
/// assert!(reader.data().iter().all(|&byte| byte == b'b'));
/// # Ok(())
/// # }
/// ```
pub struct StoredReader {
    shared: Arc<Shared>,
    encoder: Encoder,
    decoder: StepDecoder,
    drawn: Drawn,
    predictor: Option<(Predictor, CompiledPredictor)>,
    /// The sensed word, and after decoding the decided one.
    word: Vec<u8>,
    llrs: Vec<i8>,
    data: Vec<u8>,
    errors: Errors,
}

/// The part that all clones of a reader share.
struct Shared {
    spec: ExactSpec,
    cells: CellSpec,
    /// Model of the errors of known cells by age.
    rber: Rber,
    code: Code,
    /// The checks of each bit of an LDPC code, the number of checks, and the number of violated ones.
    checks: Option<(Columns, usize, SyndromeWeights)>,
    sensed: SensedByCondition,
    draws: Stream,
    counts: Stream,
}

/// Positions of wrong hard decisions, and the checks that they violate.
#[derive(Debug, Clone, Default)]
struct Errors {
    at: Vec<u32>,
    violated: Vec<bool>,
}

impl Errors {
    fn find(&mut self, word: &[u8], written: &[u8]) {
        self.at.clear();
        let eights = word.chunks(8).zip(written.chunks(8));
        for (index, (word, written)) in eights.enumerate() {
            if word == written {
                continue;
            }
            let bits = |bytes: &[u8]| {
                let mut eight = [0; 8];
                eight[..bytes.len()].copy_from_slice(bytes);
                u64::from_be_bytes(eight)
            };
            let mut wrong = bits(word) ^ bits(written);
            while wrong != 0 {
                let first = wrong.leading_zeros();
                self.at.push(64 * index as u32 + first);
                wrong ^= 1 << (63 - first);
            }
        }
    }

    /// The number of violated checks among the first `checks`. A written word violates none, so violations come from
    /// its errors.
    fn violated_of_first(&mut self, checks: usize, columns: &Columns) -> u32 {
        if self.at.is_empty() {
            return 0;
        }
        self.violated.clear();
        self.violated.resize(checks, false);
        let mut weight = 0;
        for &at in &self.at {
            for &check in columns.of(at as usize) {
                if let Some(violated) = self.violated.get_mut(check as usize) {
                    *violated = !*violated;
                    weight += if *violated { 1 } else { -1 };
                }
            }
        }
        weight as u32
    }
}

impl StoredReader {
    /// A reader of a drive with `seed`; files of a code and of cells are taken from `directory`. The caller models how
    /// chips, blocks and pages vary, by the wear of a word.
    ///
    /// # Errors
    /// Values out of range, a code that does not open, or a decoder that is unknown or does not fit the code, at their paths in the config.
    /// Also a model of raw bit error rates without threshold voltages.
    pub fn new(spec: &ExactSpec, seed: u64, directory: &Path) -> Result<Self> {
        let path = "reliability.exact.rber";
        let spec = ExactSpec { rber: spec.rber.open(path, directory)?, ..spec.clone() };
        spec.check()?;
        let Some(cells) = spec.rber.open_cells().cloned() else {
            let message = "found a raw bit error rate without threshold voltages, expected `threshold_voltage`: \
                           stored data needs cells with threshold voltages";
            return Err(Error::config(path, message));
        };
        let (code, _) = spec.open_code(directory)?;
        let decoder = spec.open_decoder(&code)?;
        let bits = code.codeword_bits();
        let checks = match &code {
            Code::Ldpc(code) => {
                let matrix = code.parity_check();
                code.syndrome_weights().map(|weights| (matrix.transpose(), matrix.rows(), weights))
            }
            Code::Bch(_) => None,
        };
        let shared = Shared {
            rber: spec.rber.compiled(),
            sensed: SensedByCondition::new(PlacedReferences::new(spec.placement, bits)),
            draws: Stream::new(seed, Purpose::CodewordDraw),
            counts: Stream::new(seed, Purpose::Counts),
            spec,
            cells,
            code,
            checks,
        };
        let drawn = Drawn::new(Stream::new(seed, Purpose::StoredCells), bits);
        Ok(Self::of(Arc::new(shared), decoder, drawn))
    }

    fn of(shared: Arc<Shared>, decoder: StepDecoder, drawn: Drawn) -> Self {
        let code = &shared.code;
        Self {
            encoder: code.encoder(),
            decoder,
            drawn,
            predictor: None,
            word: vec![0; bits::bytes_for(code.codeword_bits())],
            llrs: vec![0; code.codeword_bits()],
            data: vec![0; bits::bytes_for(code.data_bits())],
            errors: Errors::default(),
            shared,
        }
    }

    /// Returns the code.
    pub fn code(&self) -> &Code {
        &self.shared.code
    }

    /// Returns the cells.
    pub fn cells(&self) -> &CellSpec {
        &self.shared.cells
    }

    /// Returns the deepest level that gives the decoder more information than the level before.
    pub fn levels(&self) -> u8 {
        levels_of(&self.shared.code, self.decoder.spec.algorithm)
    }

    /// Returns the size of a codeword, bytes.
    pub fn codeword_bytes(&self) -> usize {
        self.word.len()
    }

    /// Returns the size of the data of a codeword, bytes.
    pub fn data_bytes(&self) -> usize {
        self.data.len()
    }

    /// Encodes data.
    ///
    /// # Arguments
    /// - `data`: [`Self::data_bytes`] bytes; bits beyond those of the code are ignored.
    /// - `codeword`: the [`Self::codeword_bytes`] bytes to write; bits beyond those of the code become 0.
    ///
    /// # Panics
    /// If a slice is not as long as that.
    pub fn encode(&mut self, data: &[u8], codeword: &mut [u8]) {
        self.encoder.encode(data, codeword);
    }

    /// Makes one attempt to decode a word, with given references and level. The result is a function of both.
    ///
    /// A hard decision without an error is not decoded: no decoder changes a codeword.
    ///
    /// # Panics
    /// If there is no such page or level; if there are not as many pages as the cells have; if a page is not as long as a codeword; and
    /// where [`CellSpec::read_with`] panics.
    pub fn attempt(&mut self, word: &StoredWord, read: ReadWith) -> DecodeAttempt {
        let ReadWith { level, .. } = read;
        assert!((1..=self.levels()).contains(&level), "level {level}, not from 1 to {}", self.levels());
        let sensed = self.sensed(word, read);
        let mut attempt =
            DecodeAttempt { level, converged: true, clean: false, iterations: 0, correct: true, syndrome_weight: None };
        if level == 1 {
            self.sense_hard(word, &sensed);
            attempt.syndrome_weight = self.violated_of_first(usize::MAX);
            if self.errors.at.is_empty() {
                return DecodeAttempt { clean: true, ..attempt };
            }
        } else {
            self.sense_soft(word, &sensed);
        }
        let decoder = self.decoder.for_step(&self.shared.code, sensed.step);
        let verdict = if level == 1 {
            decoder.decode_hard(&mut self.word)
        } else {
            decoder.decode_soft(&self.llrs, &mut self.word)
        };
        let correct = self.word == word.pages[word.page];
        DecodeAttempt { converged: verdict.success, iterations: verdict.iterations, correct, ..attempt }
    }

    /// Returns the number of wrong bits in the last hard decision.
    pub fn raw_errors(&self) -> u32 {
        self.errors.at.len() as u32
    }

    /// Returns the bits of a word that hard decisions read wrong, ascending; arguments as those of [`Self::attempt`], without a decode.
    pub fn wrong(&mut self, word: &StoredWord, read: ReadWith) -> Vec<u32> {
        let sensed = self.sensed(word, ReadWith { level: 1, ..read });
        self.sense_hard(word, &sensed);
        self.errors.at.clone()
    }

    /// Returns the word that the decoder decided on in the last attempt: a codeword if the attempt converged, and the one that was written
    /// if it was correct.
    pub fn decided(&self) -> &[u8] {
        &self.word
    }

    /// Returns the data of [`Self::decided`].
    pub fn data(&mut self) -> &[u8] {
        self.shared.code.extract_data(&self.word, &mut self.data);
        &self.data
    }

    /// Reads a word until it is decoded or the policy has nothing left to try, and returns whether it was decoded.
    /// [`Self::decided`] then has the result.
    ///
    /// Counts of measurements are drawn at random for the word, since a search for valleys and the die count more cells
    /// than a codeword has. A predictor in the die counts checks of this word.
    ///
    /// # Arguments
    /// - `spec`: the policy. Steps that the cells do not support, and levels that the decoder cannot use, are left out.
    /// - `remembered`: the references with which a read like this was decoded, where they are remembered.
    /// - `steps`: is cleared, and then gets the steps that were tried. A step that reads only known cells, or whose
    ///   decoding a predictor in the controller skips, does not converge and takes no iteration.
    ///
    /// # Panics
    /// If the policy is `ideal`, which no drive can follow, and where [`Self::attempt`] panics.
    pub fn read(
        &mut self,
        word: &StoredWord,
        spec: &ReadSpec,
        remembered: Option<ReferencesAt>,
        steps: &mut Vec<(Step, DecodeAttempt)>,
    ) -> bool {
        assert!(!spec.policy.knows_level(), "a policy that knows the least level that decodes");
        let mut spec = spec.with_what_cells_know(Some(&self.shared.cells));
        spec.max_level = spec.max_level.min(self.levels());
        let may_predict = |predictor: &Predictor| match predictor.place {
            PredictorPlace::Die => spec.infers_by == Some(InferredBy::ShareOfOnes),
            PredictorPlace::Controller => true,
        };
        spec.predictor = spec.predictor.filter(|predictor| self.shared.checks.is_some() && may_predict(predictor));
        steps.clear();
        let mut history = History::new(remembered);
        let mut step = spec.first(&history, 1, || unreachable!("`ideal` alone asks"));
        if step.predictions > 0 && self.predicts_failure(word, step, &spec) {
            step = spec.early_retry(step, self.inferred(word, InferredBy::ShareOfOnes, step.references));
        }
        let mut spares_decoding = spec.predicts(PredictorPlace::Controller) && self.predicts_failure(word, step, &spec);
        loop {
            let attempt = if step.known_cells || std::mem::take(&mut spares_decoding) {
                self.undecoded(word, step)
            } else {
                self.attempt(word, step.read_with())
            };
            steps.push((step, attempt));
            if attempt.converged {
                return true;
            }
            let seen = Observation {
                step,
                decoded: false,
                syndrome_weight: attempt.syndrome_weight.filter(|_| spec.sees_syndrome_weights()),
                inferred: self.observed(word, step, &spec),
            };
            match spec.after(&mut history, seen) {
                Some(next) => step = next,
                None => return false,
            }
        }
    }

    /// Returns the attempt of a step without a decode.
    fn undecoded(&mut self, word: &StoredWord, step: Step) -> DecodeAttempt {
        let mut syndrome_weight = None;
        if !step.known_cells {
            let sensed = self.sensed(word, step.read_with());
            self.sense_hard(word, &sensed);
            syndrome_weight = self.violated_of_first(usize::MAX);
        }
        DecodeAttempt {
            level: step.level,
            converged: false,
            clean: false,
            iterations: 0,
            correct: false,
            syndrome_weight,
        }
    }

    /// Returns the references that a failed step infers.
    fn observed(&self, word: &StoredWord, step: Step, spec: &ReadSpec) -> Option<i8> {
        let by = spec.infers_by.filter(|_| step.level == 1)?;
        let cells = &self.shared.cells;
        let shown = match by {
            InferredBy::Sentinels => {
                step.known_cells || cells.boundaries_of(word.page).contains(&cells.inference().boundary)
            }
            InferredBy::ShareOfOnes => true,
        };
        shown.then(|| self.inferred(word, by, step.references))
    }

    /// Returns the references that a measurement at given references infers, in steps off the default ones.
    fn inferred(&self, word: &StoredWord, by: InferredBy, references: ReferencesAt) -> i8 {
        let Shared { cells, rber, draws, counts, .. } = &*self.shared;
        let (inference, measured_at) = (cells.inference(), by.measured_at(references));
        let errors = rber.known_errors(word.wear, measured_at);
        let draw = draws.bits(word.cells, word.write);
        let difference =
            inference.measured(by, errors, cells.states(), [0, 1].map(|which| counts.uniform(draw, which)));
        inference.inferred(measured_at, difference)
    }

    /// Whether the hard decisions of a step violate more checks than the predictor of a policy lets pass.
    fn predicts_failure(&mut self, word: &StoredWord, step: Step, spec: &ReadSpec) -> bool {
        let predictor = spec.predictor.expect("somebody predicts");
        let (checks, threshold) = match &self.predictor {
            Some((of, compiled)) if *of == predictor => (compiled.checks(), compiled.threshold()),
            _ => {
                let (.., weights) = self.shared.checks.as_ref().expect("a code with sparse checks");
                let compiled = CompiledPredictor::new(&predictor, weights);
                let answer = (compiled.checks(), compiled.threshold());
                self.predictor = Some((predictor, compiled));
                answer
            }
        };
        let sensed = self.sensed(word, step.read_with());
        self.sense_hard(word, &sensed);
        self.violated_of_first(checks as usize).is_some_and(|weight| f64::from(weight) > threshold)
    }

    /// Returns the number of violated checks among the first `checks` (or all, if there are fewer), by the last hard decisions.
    fn violated_of_first(&mut self, checks: usize) -> Option<u32> {
        let (columns, all, _) = self.shared.checks.as_ref()?;
        Some(self.errors.violated_of_first(checks.min(*all), columns))
    }

    /// Returns how the cells of a word are read.
    fn sensed(&self, word: &StoredWord, read: ReadWith) -> Arc<Sensed> {
        let Shared { spec, cells, sensed, .. } = &*self.shared;
        assert!(
            word.pages.len() == cells.pages() && word.page < cells.pages(),
            "a codeword in each page of {}",
            cells.pages()
        );
        assert!(word.pages.iter().all(|page| page.len() == self.word.len()), "pages of {} bytes", self.word.len());
        let wear = in_steps_of(word.wear, AGE_STEP);
        let found = (read.references == ReferencesAt::Valleys).then(|| self.found_gaps(word, wear));
        sensed.at(cells, wear, spec.llrs_for.unwrap_or(wear), word.page, read, found)
    }

    /// Returns the gaps that a search for valleys finds for a word.
    fn found_gaps(&self, word: &StoredWord, wear: Wear) -> FoundGaps {
        let Shared { cells, draws, counts, .. } = &*self.shared;
        // The first numbers of a draw are used for inference.
        found_gaps(cells, wear, counts, draws.bits(word.cells, word.write), 1 + word.page as u64)
    }

    /// Senses hard decisions into `word`, and finds their errors.
    fn sense_hard(&mut self, word: &StoredWord, sensed: &Sensed) {
        let bits = self.llrs.len();
        sensed.central_bits(word.pages, word.page, &mut self.word, bits);
        let to = &mut self.word;
        // A sign that differs from that of the middle of its state is a flipped bit.
        apart(&mut self.drawn, &self.shared, word, sensed, |at, _| bits::flip(to, at));
        word.turned.iter().for_each(|&at| bits::flip(to, at as usize));
        self.errors.find(&self.word, word.pages[word.page]);
    }

    /// Writes the decoder's input to `llrs`.
    fn sense_soft(&mut self, word: &StoredWord, sensed: &Sensed) {
        sensed.central_llrs(word.pages, word.page, &mut self.llrs);
        let to = &mut self.llrs;
        apart(&mut self.drawn, &self.shared, word, sensed, |at, llr| to[at] = llr);
        word.turned.iter().for_each(|&at| to[at as usize] = -to[at as usize]);
    }
}

/// Calls back for each cell that reads differently from cells in the middle of its state, in any order.
#[inline]
fn apart(drawn: &mut Drawn, shared: &Shared, word: &StoredWord, sensed: &Sensed, mut tell: impl FnMut(usize, i8)) {
    let draw = shared.draws.bits(word.cells, word.write);
    for cell in drawn.within(draw, sensed.most_reach) {
        let (at, quantile) = (cell.at as usize, cell.quantile);
        let bit = |(page, codeword): (usize, &&[u8])| usize::from(bits::get(codeword, at)) << page;
        let state = word.pages.iter().enumerate().map(bit).sum();
        let from_end = quantile.min((1 << QUANTILE_BITS) - 1 - quantile);
        if let Some(llr) = sensed.apart(state, quantile, from_end) {
            tell(at, llr);
        }
    }
}

impl Clone for StoredReader {
    fn clone(&self) -> Self {
        Self::of(self.shared.clone(), self.decoder.again(&self.shared.code), self.drawn.clone())
    }
}

impl fmt::Debug for StoredReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredReader").field("spec", &self.shared.spec).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use softsense_nand::{Placement, References, Sensing};

    use super::*;

    fn reader(cells: CellSpec) -> StoredReader {
        let spec = ExactSpec {
            rber: softsense_nand::RberModel::ThresholdVoltage(cells.into()),
            ..serde_json::from_str(r#"{ "rber": { "constant": { "rber": 0.01 } } }"#).unwrap()
        };
        StoredReader::new(&spec, 3, Path::new("")).unwrap()
    }

    fn written(reader: &mut StoredReader) -> Vec<Vec<u8>> {
        let (random, pages) = (Stream::new(4, Purpose::Data), reader.cells().pages());
        let page = |page: usize| {
            let data: Vec<u8> = (0..4096).map(|at| random.bits(page as u64, at) as u8).collect();
            let mut codeword = vec![0; reader.codeword_bytes()];
            reader.encode(&data, &mut codeword);
            codeword
        };
        (0..pages).map(page).collect()
    }

    fn cells(name: &str) -> CellSpec {
        CellSpec::open(name, Path::new("")).unwrap()
    }

    /// Is a sensing equal to one in which every cell was drawn and looked up? Cells are new or worn, levels hard or soft. References are in
    /// place, or so far off that the middle of a state is elsewhere.
    #[test]
    fn sparse_is_dense() {
        let off = |offset_v| CellSpec { references: References { offset_v, ..References::default() }, ..cells("mlc") };
        let (new, worn) = (Wear::unread(0, 0.0), Wear::unread(3_000, 2_160.0));
        for (spec, wear) in [
            (cells("tlc-measured"), new),
            (cells("tlc-measured"), worn),
            (cells("tlc-measured"), Wear { effective_reads: 2e6, ..worn }),
            (cells("qlc-1-2-4-8"), worn),
            (cells("pslc:tlc-measured"), worn),
            (off(0.6), worn),
            (off(-1.1), worn),
        ] {
            let mut reader = reader(spec.clone());
            let written = written(&mut reader);
            let pages: Vec<&[u8]> = written.iter().map(|page| &page[..]).collect();
            let of = spec.at(wear);
            for (page, level) in (0..spec.pages()).flat_map(|page| [1, 2, 4, 7].map(|level| (page, level))) {
                let word = StoredWord { cells: 40 + page as u64, write: 3, page, pages: &pages, wear, turned: &[] };
                let sensed = reader.sensed(&word, ReadWith::level(level));
                if level == 1 {
                    reader.sense_hard(&word, &sensed);
                } else {
                    reader.sense_soft(&word, &sensed);
                }
                let draw = reader.shared.draws.bits(word.cells, word.write);
                let all = reader.drawn.clone().within(draw, 1 << (QUANTILE_BITS - 1)).to_vec();
                assert_eq!(all.len(), reader.llrs.len());
                for cell in all {
                    let at = cell.at as usize;
                    let holds =
                        |&state: &usize| (0..pages.len()).all(|page| of.bit(page, state) == bits::get(pages[page], at));
                    let state = (0..of.states()).find(holds).unwrap();
                    let number = (0..pages.len()).map(|page| usize::from(of.bit(page, state)) << page).sum();
                    let expected = sensed.of_cell(number, cell.quantile);
                    let found = match level {
                        1 if bits::get(&reader.word, at) => -1,
                        1 => 1,
                        _ => reader.llrs[at],
                    };
                    assert_eq!(found, expected, "{wear:?} page {page} level {level}: cell {at}");
                }
            }
        }
    }

    /// Do soft outputs have their probabilities? The shares of each LLR given each bit, in 100 codewords of worn cells, have to be within
    /// five standard errors.
    #[test]
    fn shares_of_regions_are_those_of_sensing() {
        let spec = cells("tlc-measured");
        // The age is on the grid on which references are placed.
        let wear = Wear::unread(2_980, libm::expm1(7.7));
        let mut reader = reader(spec.clone());
        let written = written(&mut reader);
        let pages: Vec<&[u8]> = written.iter().map(|page| &page[..]).collect();
        let of = spec.at(wear);
        for (page, level) in [(0, 2), (1, 3), (2, 7)] {
            let sensing = Sensing::new(&of, page, level, Placement::default());
            let (llrs, _) = sensing.integer_llrs(&of, softsense_ecc::channel::LARGEST_REGION_LLR);
            let mut expected = [[0.0; 256]; 2];
            for (llr, share) in llrs.iter().zip(sensing.probabilities(&of)) {
                (0..2).for_each(|bit| expected[bit][(i32::from(*llr) + 128) as usize] += share[bit]);
            }
            let (mut found, mut of_bit) = ([[0.0; 256]; 2], [0.0; 2]);
            for cells in 0..100 {
                let word = StoredWord { cells, write: 3, page, pages: &pages, wear, turned: &[] };
                let sensed = reader.sensed(&word, ReadWith::level(level));
                reader.sense_soft(&word, &sensed);
                for (at, llr) in reader.llrs.iter().enumerate() {
                    let bit = usize::from(bits::get(pages[page], at));
                    found[bit][(i32::from(*llr) + 128) as usize] += 1.0;
                    of_bit[bit] += 1.0;
                }
            }
            for bit in 0..2 {
                for (llr, (found, share)) in found[bit].iter().zip(expected[bit]).enumerate() {
                    let expected: f64 = share * of_bit[bit];
                    // One set of data has slightly more of some states than of others.
                    let bound = 5.0 * expected.sqrt() + 0.02 * expected + 1.0;
                    let llr = llr as i32 - 128;
                    assert!((found - expected).abs() < bound, "page {page}, {bit}, {llr}: {found} for {expected}");
                }
            }
        }
    }
}
