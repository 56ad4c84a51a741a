//! Counting frames of one code, decoder and way of reading, in units of work that can be done anywhere and in any order.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use softsense_base::{Error, Result};
use softsense_ecc::catalogue::Code;
use softsense_ecc::channel::{Channel, LARGEST_REGION_LLR, Noise, Output, SURE_LLR};
use softsense_ecc::ldpc::{AbsorbingSets, QuasiCyclic, Width};
use softsense_ecc::measure::{Algorithm, BenchResult, DecoderSpec, FrameCounter, FrameDecoder};
use softsense_nand::{Cells, NamedCells, Placement, Sensing, Wear};

use crate::MAX_LEVEL;

/// Part of the identity of every task. It is increased whenever a change alters the content of frames, their noise or their decoding.
const MODEL_VERSION: u32 = 3;
/// Codeword bits of a unit of work; and the fewest and the most frames of a unit, as short codes decode slowly, bit for bit.
const UNIT_BITS: usize = 1 << 25;
const UNIT_FRAMES: std::ops::RangeInclusive<u64> = 16..=8192;
/// The least raw bit error rate whose ln(1 - p) differs from 0 by enough; and the limits of the rate of a Gaussian boundary.
pub(crate) const LEAST_RBER: f64 = 1e-12;
pub(crate) const LEAST_GAUSSIAN_RBER: f64 = 1e-9;
pub(crate) const MOST_RBER: f64 = 0.499;

/// The way in which frames are read and decoded. As JSON it is the description of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameSpec {
    /// The decoder of an LDPC code, as [`Algorithm`] reads it.
    pub decoder: String,
    /// Iterations after which the decoder gives up.
    pub iterations: u32,
    /// The seed of data and noise.
    pub seed: u64,
    /// Channel between writing and decoding.
    pub channel: ReadChannel,
    /// Condition on the frames that are drawn; without it frames are as the channel makes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
}

/// Frames in which a given number of bits of one absorbing set are wrong. All sets of a class are equally likely, and bits elsewhere are as
/// the channel makes them. At a soft level the sign of the LLR decides; 0 counts as right.
///
/// A failure counts only if no listed set has fewer right bits than this one. Of several sets with as few right bits, it counts for one. So
/// the failures of all classes and numbers of wrong bits add up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Number of bits of a set.
    pub bits: usize,
    /// Number of checks that a set violates.
    pub violated: u32,
    /// Number of wrong bits of the set.
    pub wrong: usize,
    /// SHA-256 of all sets that are listed, as [`FrameTask::conditioned`] takes them.
    pub listed: String,
    /// At soft levels, whether all of these wrong bits are surely wrong ([`SURE_LLR`]), or not all of them; without this field frames of
    /// both kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surely: Option<bool>,
    /// Number of wrong bits of the whole frame below which a failure counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewer_errors_than: Option<usize>,
}

/// The channel between writing and decoding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReadChannel {
    /// Hard decisions, wrong independently.
    Hard {
        /// Raw bit error rate; not needed for frames with a given number of errors.
        rber: Option<f64>,
    },
    /// One boundary between two Gaussian states.
    Gaussian {
        /// Raw bit error rate of hard decisions, above 0 and below 0.5.
        rber: f64,
        /// The read level, 1 to 7.
        level: u8,
        /// Placement of the references.
        #[serde(default)]
        placement: Placement,
    },
    /// A page of cells with threshold voltages.
    Cells(Box<CellsRead>),
}

/// The reading of a page of cells at an age.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellsRead {
    /// The cells.
    pub cells: NamedCells,
    /// Program/erase cycles.
    pub pe_cycles: u32,
    /// Hours since the page was written.
    pub retention_hours: f64,
    /// Reads that have disturbed the page: see [`Wear`].
    #[serde(default)]
    pub effective_reads: f64,
    /// Page of the wordline; without it a codeword is spread over all of them.
    pub page: Option<usize>,
    /// The read level, 1 to 7.
    pub level: u8,
    /// Placement of the references.
    #[serde(default)]
    pub placement: Placement,
    /// The age for which references and LLRs are made, if it is not that of the cells.
    #[serde(default)]
    pub llrs_for: Option<Wear>,
}

impl CellsRead {
    fn sensed(&self) -> Result<Sensed> {
        let spec = self.cells.open("channel.cells.cells", "".as_ref())?;
        let CellsRead { pe_cycles, retention_hours, effective_reads, .. } = *self;
        let age = Wear { pe_cycles, retention_hours, effective_reads };
        let llrs_for = self.llrs_for.unwrap_or(age);
        age.check("channel.cells")?;
        llrs_for.check("channel.cells.llrs_for")?;
        if self.page.is_some_and(|page| page >= spec.pages()) {
            let message = format!(
                "found page {}, expected a number below {}, the pages of a wordline, counted from 0",
                self.page.unwrap_or(0),
                spec.pages()
            );
            return Err(Error::config("channel.cells.page", message));
        }
        let (cells, assumed) = (spec.at(age), spec.at(llrs_for));
        let pages: Vec<usize> = self.page.map_or_else(|| (0..spec.pages()).collect(), |page| vec![page]);
        sense(&cells, &assumed, &pages, self.level, self.placement)
    }
}

/// Returns the decoder's input for pages of `cells`, each of them equally likely. References, including those of hard decisions, and LLRs
/// are made for the cells `assumed`.
///
/// Codewords are scrambled: a bit is 0 or 1 with equal probability whatever the code. So outputs of a 1 count as outputs of a 0 with the
/// opposite sign, and the channel is symmetric.
fn sense(cells: &Cells, assumed: &Cells, pages: &[usize], level: u8, placement: Placement) -> Result<Sensed> {
    if !(1..=MAX_LEVEL).contains(&level) {
        return Err(Error::config("channel.level", format!("found {level}, expected a level from 1 to {MAX_LEVEL}")));
    }
    placement.check("channel.placement")?;
    let sensings: Vec<Sensing> = pages.iter().map(|&page| Sensing::new(assumed, page, level, placement)).collect();
    if level == 1 {
        let wrong = |sensing: &Sensing| -> f64 {
            let regions = sensing.llrs(assumed).into_iter().zip(sensing.probabilities(cells));
            regions.map(|(llr, probabilities)| 0.5 * probabilities[usize::from(llr > 0.0)]).sum()
        };
        return Ok(Sensed::Hard(Some(sensings.iter().map(wrong).sum::<f64>() / sensings.len() as f64)));
    }
    // All pages have one step, as a decoder does not tell pages apart.
    let largest = |sensing: &Sensing| sensing.integer_llrs(assumed, LARGEST_REGION_LLR).1;
    let step = sensings.iter().map(largest).fold(0.0, f64::max);
    let mut outputs: Vec<Output> = Vec::new();
    for sensing in &sensings {
        for (llr, split) in sensing.llrs(assumed).into_iter().zip(sensing.split(cells, assumed.hard_references())) {
            let llr = integer_llr(llr, step);
            for (bit, [right, wrong]) in split.into_iter().enumerate() {
                let share = 0.5 / sensings.len() as f64;
                let (llr, right, wrong) = (if bit == 0 { llr } else { -llr }, share * right, share * wrong);
                match outputs.iter_mut().find(|output| output.llr == llr) {
                    Some(output) => {
                        output.right += right;
                        output.wrong += wrong;
                    }
                    None => outputs.push(Output { llr, right, wrong }),
                }
            }
        }
    }
    outputs.sort_by_key(|output| output.llr);
    Ok(Sensed::Soft(outputs, step))
}

/// Returns a log-likelihood ratio in steps, limited to the largest that a decoder is given.
fn integer_llr(llr: f64, step: f64) -> i8 {
    let largest = f64::from(LARGEST_REGION_LLR);
    libm::round(llr / step).clamp(-largest, largest) as i8
}

/// The input of a decoder.
enum Sensed {
    /// Hard decisions, wrong with this probability if it is known.
    Hard(Option<f64>),
    /// Outputs of the channel for a bit, and the step of their LLRs.
    Soft(Vec<Output>, f64),
}

/// Frames that can be counted unit by unit. The counts of a unit depend on the task and the number of the unit alone.
pub struct FrameTask {
    code: Code,
    spec: FrameSpec,
    decoder: DecoderSpec,
    sensed: Sensed,
    sets: Option<Arc<AbsorbingSets>>,
    identity: [u8; 32],
}

/// Results of some frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameCounts {
    /// Number of frames.
    pub frames: u64,
    /// Number of frames that were given up, or decided wrongly.
    pub failures: u64,
    /// Number of frames that were decided wrongly with a claim of success: part of `failures`.
    pub undetected: u64,
    /// Number of frames that were taken for codewords after 0, 1, 2, ... iterations.
    pub iterations: Vec<u64>,
}

impl FrameTask {
    /// Checks a task.
    ///
    /// # Errors
    /// A decoder that is unknown or does not fit the code, or a channel with values out of range.
    pub fn new(code: Code, spec: FrameSpec) -> Result<Self> {
        Self::conditioned(code, spec, None)
    }

    /// Checks a task whose frames are drawn by absorbing sets.
    ///
    /// # Arguments
    /// - `sets`: the sets that [`FrameSpec::condition`] refers to; `None` without a condition.
    ///
    /// # Errors
    /// Errors of [`Self::new`]; other sets than the condition names, or none; no wrong bits, or more than the set has.
    pub fn conditioned(code: Code, spec: FrameSpec, sets: Option<Arc<AbsorbingSets>>) -> Result<Self> {
        let found = sets.as_ref().map(|sets| listing_identity(sets));
        let expected = spec.condition.as_ref().map(|condition| condition.listed.clone());
        if found != expected {
            let name = |identity: Option<String>| identity.unwrap_or_else(|| "none".into());
            let message = format!("found the absorbing sets {}, expected {}", name(found), name(expected));
            return Err(Error::config("condition.listed", message));
        }
        if let Some(Condition { bits, wrong, .. }) = &spec.condition
            && !(1..=*bits).contains(wrong)
        {
            let message = format!("found {wrong} wrong bits of {bits}, expected at least 1 and at most all of them");
            return Err(Error::config("condition.wrong", message));
        }
        let algorithm: Algorithm = spec.decoder.parse()?;
        let decoder = DecoderSpec { algorithm, max_iterations: spec.iterations };
        let rber = |rber: f64, path: &str, least: f64, most: f64| {
            softsense_base::expect_number(format!("channel.{path}.rber"), rber, least, most)
        };
        let sensed = match &spec.channel {
            ReadChannel::Hard { rber: p } => {
                p.map_or(Ok(()), |p| rber(p, "hard", 0.0, 0.5))?;
                Sensed::Hard(*p)
            }
            ReadChannel::Gaussian { rber: p, level, placement } => {
                rber(*p, "gaussian", LEAST_GAUSSIAN_RBER, MOST_RBER)?;
                let cells = Cells::gaussian(*p);
                sense(&cells, &cells, &[0], *level, *placement)?
            }
            ReadChannel::Cells(read) => read.sensed()?,
        };
        let task = Self { identity: identity(&code, &spec, &sensed), code, spec, decoder, sensed, sets };
        task.decoder.decoder(&task.code, 1.0)?;
        if task.spec.condition.is_some() {
            task.frame_noise(None)?;
        }
        Ok(task)
    }

    /// Returns the code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Returns how frames are read and decoded.
    pub fn spec(&self) -> &FrameSpec {
        &self.spec
    }

    /// Returns the SHA-256 of all that the counts depend on.
    pub fn identity(&self) -> String {
        hexadecimal(&self.identity)
    }

    /// Returns the number of frames of a unit of work.
    pub fn unit_frames(&self) -> u64 {
        ((UNIT_BITS / self.code.codeword_bits()) as u64).clamp(*UNIT_FRAMES.start(), *UNIT_FRAMES.end())
    }

    /// Returns the probability that a hard decision is wrong; `None` for hard decisions without a rate.
    pub fn raw_error_rate(&self) -> Option<f64> {
        match &self.sensed {
            Sensed::Hard(rate) => *rate,
            Sensed::Soft(outputs, _) => Some(outputs.iter().map(|output| output.wrong).sum()),
        }
    }

    /// Returns the probability that a decision is wrong as conditions count it: by the sign of a soft level's LLR, or the hard decision.
    pub fn decision_error_rate(&self) -> Option<f64> {
        self.llr_at_most(-1).or_else(|| self.raw_error_rate())
    }

    /// Returns the probability that a decision of a soft level is surely wrong; `None` for hard decisions.
    pub fn sure_error_rate(&self) -> Option<f64> {
        self.llr_at_most(-SURE_LLR)
    }

    fn llr_at_most(&self, most: i8) -> Option<f64> {
        let Sensed::Soft(outputs, _) = &self.sensed else { return None };
        Some(outputs.iter().filter(|output| output.llr <= most).map(Output::probability).sum())
    }

    /// Returns the noise of frames, with exactly `errors` errors if that is given.
    fn frame_noise(&self, errors: Option<usize>) -> Result<Noise> {
        let codeword_bits = self.code.codeword_bits();
        let seed = self.seed(errors);
        let hard = |channel: Channel| channel.noise(codeword_bits, self.code.rate(), seed);
        let noise = match (&self.sensed, errors) {
            (Sensed::Soft(outputs, step), errors) => Noise::of_outputs(outputs, *step, codeword_bits, errors, seed)?,
            (Sensed::Hard(_), Some(count)) => hard(Channel::Errors { count })?,
            (Sensed::Hard(Some(error_rate)), None) => hard(Channel::BinarySymmetric { error_rate: *error_rate })?,
            (Sensed::Hard(None), None) => {
                return Err(Error::config("channel.hard.rber", "found none, expected a raw bit error rate"));
            }
        };
        match (&self.spec.condition, &self.sets) {
            (Some(_), _) if errors.is_some() => {
                Err(Error::config("condition", "found frames with a number of errors, expected those of the channel"))
            }
            (Some(Condition { bits, violated, wrong, surely, .. }), Some(sets)) => {
                let outputs = match &self.sensed {
                    Sensed::Hard(_) => None,
                    Sensed::Soft(outputs, _) => Some(&outputs[..]),
                };
                noise.conditioned(Arc::clone(sets), (*bits, *violated), *wrong, *surely, outputs)
            }
            _ => Ok(noise),
        }
    }

    /// Counts the frames of `units` units from number `first_unit` on; `None` if it was interrupted.
    ///
    /// # Arguments
    /// - `errors`: the number of wrong hard decisions in each frame; without it frames are as the channel makes them.
    ///
    /// # Errors
    /// More errors than a codeword has bits, or neither errors nor a raw bit error rate.
    pub fn count(
        &self,
        errors: Option<usize>,
        first_unit: u64,
        units: u64,
        interrupted: &AtomicBool,
    ) -> Result<Option<FrameCounts>> {
        let noise = self.frame_noise(errors)?;
        let decoder = self.decoder(&noise)?;
        let (first, frames) = (first_unit * self.unit_frames(), units * self.unit_frames());
        let mut counter = FrameCounter::new(&self.code, decoder, noise, self.seed(errors));
        if let (Some(condition), Some(sets)) = (&self.spec.condition, &self.sets) {
            let fewer_than = condition.fewer_errors_than.unwrap_or(usize::MAX);
            counter = counter.once_for_each_set(Arc::clone(sets), condition.bits - condition.wrong, fewer_than);
        }
        let counted = counter.count(first, frames, interrupted);
        let BenchResult { frames: done, frame_errors, undetected, mut iterations, given_up, .. } = counted;
        iterations.iter_mut().zip(&given_up).for_each(|(all, given_up)| *all -= given_up);
        Ok((done == frames).then_some(FrameCounts { frames, failures: frame_errors, undetected, iterations }))
    }

    /// Returns the probabilities of all outputs that the channel may give for a bit at the raw bit error rate `rber`. Hard decisions have
    /// two, wrong and right. A soft level has its regions, in order, from the one whose LLR speaks most against the bit. Regions of one
    /// integer LLR are one. References and LLRs are made for the task's own rate.
    ///
    /// # Errors
    /// A soft level of cells with an age, or a rate outside 1e-12 (for a soft level 1e-9) to 0.499.
    pub fn region_probabilities(&self, rber: f64) -> Result<Vec<f64>> {
        Ok(match self.sensed_at(rber)? {
            Sensed::Hard(_) => vec![rber, 1.0 - rber],
            Sensed::Soft(outputs, _) => outputs.iter().map(Output::probability).collect(),
        })
    }

    fn sensed_at(&self, rber: f64) -> Result<Sensed> {
        let check = |least: f64| softsense_base::expect_number("rber", rber, least, MOST_RBER);
        match (&self.sensed, &self.spec.channel) {
            (Sensed::Hard(_), _) => check(LEAST_RBER).map(|()| Sensed::Hard(Some(rber))),
            (Sensed::Soft(..), ReadChannel::Gaussian { rber: own, level, placement }) => {
                check(LEAST_GAUSSIAN_RBER)?;
                sense(&Cells::gaussian(rber), &Cells::gaussian(*own), &[0], *level, *placement)
            }
            (Sensed::Soft(..), _) => {
                let message = "found soft sensing of cells, expected level 1 (hard decisions), or raw bit error \
                               rates (--rber) in place of cells";
                Err(Error::config("channel", message))
            }
        }
    }

    /// Returns the LLRs of the regions of [`Self::region_probabilities`], in a decoder's integers; for hard decisions their signs.
    pub(crate) fn region_llrs(&self) -> Vec<i8> {
        match &self.sensed {
            Sensed::Hard(_) => vec![-1, 1],
            Sensed::Soft(outputs, _) => outputs.iter().map(|output| output.llr).collect(),
        }
    }

    /// Whether the decoder gets LLRs rather than hard decisions.
    pub(crate) fn is_soft(&self) -> bool {
        matches!(self.sensed, Sensed::Soft(..))
    }

    /// Returns the noise of frames at the raw bit error rate `rber`, read with the references and LLRs of the task's own rate.
    pub(crate) fn noise_at(&self, rber: f64, seed: u64) -> Result<Noise> {
        let codeword_bits = self.code.codeword_bits();
        match self.sensed_at(rber)? {
            Sensed::Hard(_) => {
                Channel::BinarySymmetric { error_rate: rber }.noise(codeword_bits, self.code.rate(), seed)
            }
            Sensed::Soft(outputs, step) => Noise::of_outputs(&outputs, step, codeword_bits, None, seed),
        }
    }

    /// Returns the decoder for frames with `noise`.
    pub(crate) fn decoder(&self, noise: &Noise) -> Result<Box<dyn FrameDecoder>> {
        self.decoder.decoder(&self.code, noise.llr_step())
    }

    /// Returns the seed of the frames with a given number of errors.
    fn seed(&self, errors: Option<usize>) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update(self.identity);
        hasher.update(errors.map_or(u64::MAX, |errors| errors as u64).to_be_bytes());
        let digest = hasher.finalize();
        u64::from_be_bytes(digest[..8].try_into().expect("eight of 32 bytes"))
    }
}

/// Returns the SHA-256 of sets, one of each orbit, in hexadecimal digits.
pub fn listing_identity(sets: &AbsorbingSets) -> String {
    let mut hasher = Sha256::new();
    for set in sets.sets() {
        hasher.update(format!("{:?}\n", set.bits));
    }
    hexadecimal(&hasher.finalize())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

/// Whether this spec was decoded in floats, by another decoder, when circulants had to be a multiple of 16.
fn decoded_in_floats_once(code: &Code, spec: &FrameSpec) -> bool {
    let Code::Ldpc(code) = code else { return false };
    let size = code.quasi_cyclic().map_or(16, QuasiCyclic::circulant_size);
    !size.is_multiple_of(16) && matches!(spec.decoder.parse(), Ok(Algorithm::MinSum(Width::Adaptive)))
}

fn identity(code: &Code, spec: &FrameSpec, sensed: &Sensed) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(format!("softsense frames, version {MODEL_VERSION}\n"));
    match code {
        Code::Ldpc(code) => match code.quasi_cyclic() {
            Some(matrix) => hasher.update(matrix.to_text()),
            None => hasher.update(code.parity_check().to_alist()),
        },
        Code::Bch(code) => {
            hasher.update(format!("bch {} {} {}", code.field_bits(), code.correctable(), code.data_bits()))
        }
    }
    hasher.update(serde_json::to_string(spec).expect("a spec is plain data"));
    if decoded_in_floats_once(code, spec) {
        hasher.update("\nin integers\n");
    }
    if spec.condition.is_some() {
        // In an earlier version all sets with at most two right bits shared failures.
        hasher.update("\nfor the set of the fewest right bits\n");
    }
    // The channel's probabilities are hashed, in case the same description comes to mean another channel.
    match sensed {
        Sensed::Hard(rate) => rate.iter().for_each(|rate| hasher.update(rate.to_bits().to_be_bytes())),
        Sensed::Soft(outputs, step) => {
            hasher.update(step.to_bits().to_be_bytes());
            for Output { llr, right, wrong } in outputs {
                hasher.update([llr.to_be_bytes()[0]]);
                hasher.update(right.to_bits().to_be_bytes());
                hasher.update(wrong.to_bits().to_be_bytes());
            }
        }
    }
    hasher.finalize().into()
}
