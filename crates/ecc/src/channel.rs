//! Channels, which disturb a codeword between writing and reading.
//!
//! All noise is a function of the seed and the number of the frame, so frames can be made in any order, by any thread.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use softsense_base::{Error, Purpose, Result, Stream, climb, normal_cdf};

use crate::bits;
use crate::ldpc::AbsorbingSets;
use crate::simd::InstructionSet;

mod draw;

use draw::{Alias, Bulk};

/// A memoryless channel, as text: `bsc:P`, `errors:W`, `awgn:EBN0_DB` or `gaussian:RBER:LEVELS`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Channel {
    /// `bsc:P`: every bit is wrong with probability P, independently. Hard decisions.
    BinarySymmetric {
        /// P, from 0 to 0.5.
        error_rate: f64,
    },
    /// `errors:W`: exactly W bits are wrong, every choice of them being equally likely. Hard decisions.
    Errors {
        /// W, at most the bits of a codeword.
        count: usize,
    },
    /// `awgn:EBN0_DB`: bits 0 and 1 are sent as +1 and -1 and received with Gaussian noise. A step of an LLR is 1 / 8.
    Awgn {
        /// E_b / N_0, energy of a data bit over the one-sided density of the noise, in dB.
        ebn0_db: f64,
    },
    /// `gaussian:RBER:LEVELS`: the channel of [`Self::Awgn`], read by comparing with a few thresholds. Each region between thresholds has
    /// its exact LLR, up to a factor: the largest of all is [`LARGEST_REGION_LLR`].
    ///
    /// The thresholds are those of [`best_thresholds`].
    Gaussian {
        /// The probability that the sign is wrong: above 0, below 0.5.
        raw_error_rate: f64,
        /// The number of thresholds, 1 to 7.
        levels: usize,
    },
}

/// The LLR in a decoder's integers of the surest region of [`Channel::Gaussian`].
///
/// The factor does not matter to min-sum, except for rounding, which favours a large one, and for messages, which end at 127. Messages must
/// be able to outgrow the channel's LLR. Otherwise the bits of an absorbing set that are all surely wrong hold one another for ever.
///
/// Frames with such a set (8 bits of `flash-8/9` and `adaptive-3/4`, 7 of `adaptive-5/6`) show this. At every level 47 to 100 % of them
/// failed with 60, 0 to 5 % with 48 and none with 44. The price of 30 in place of 60 is a hundredth more iterations on the waterfall.
pub const LARGEST_REGION_LLR: i8 = 30;

/// The least magnitude of an LLR that is sure. A decision with such an LLR is surely wrong or surely right.
pub const SURE_LLR: i8 = LARGEST_REGION_LLR / 2;

/// Integer steps of an LLR of 1 on [`Channel::Awgn`]: the range of an `i8` is then +-15.9.
const AWGN_STEPS: f64 = 8.0;

impl FromStr for Channel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        fn number<T: FromStr>(text: &str, value: &str, what: &str) -> Result<T> {
            value.parse().map_err(|_| Error::code(text, format!("found `{value}`, expected {what}")))
        }
        let parts: Vec<&str> = text.split(':').collect();
        let in_range = |value: f64, range: std::ops::RangeInclusive<f64>, what: &str| {
            if range.contains(&value) {
                return Ok(value);
            }
            Err(Error::code(text, format!("found {value}, expected {what}")))
        };
        match parts[..] {
            ["bsc", value] => {
                let what = "an error rate from 0 to 0.5";
                Ok(Self::BinarySymmetric { error_rate: in_range(number(text, value, what)?, 0.0..=0.5, what)? })
            }
            ["errors", value] => Ok(Self::Errors { count: number(text, value, "a number of errors")? }),
            ["awgn", value] => {
                let what = "an E_b / N_0 from -20 to 40 dB";
                Ok(Self::Awgn { ebn0_db: in_range(number(text, value, what)?, -20.0..=40.0, what)? })
            }
            ["gaussian", rate, levels] => {
                let what = "a raw bit error rate from 1e-9 to 0.499";
                let raw_error_rate = in_range(number(text, rate, what)?, 1e-9..=0.499, what)?;
                let levels: usize = number(text, levels, "1 to 7 levels")?;
                if !(1..=7).contains(&levels) {
                    return Err(Error::code(text, format!("found {levels} levels, expected 1 to 7")));
                }
                Ok(Self::Gaussian { raw_error_rate, levels })
            }
            _ => {
                let expected = "bsc:P, errors:W, awgn:EBN0_DB or gaussian:RBER:LEVELS";
                Err(Error::code("channel", format!("found `{text}`, expected {expected}")))
            }
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BinarySymmetric { error_rate } => write!(f, "bsc:{error_rate}"),
            Self::Errors { count } => write!(f, "errors:{count}"),
            Self::Awgn { ebn0_db } => write!(f, "awgn:{ebn0_db}"),
            Self::Gaussian { raw_error_rate, levels } => write!(f, "gaussian:{raw_error_rate}:{levels}"),
        }
    }
}

impl Channel {
    /// Returns the noise of this channel on codewords of `codeword_bits` bits of a code of rate `rate`, under `seed`.
    ///
    /// # Errors
    /// More errors than the codeword has bits.
    pub fn noise(&self, codeword_bits: usize, rate: f64, seed: u64) -> Result<Noise> {
        let (kind, llr_step) = match *self {
            Self::BinarySymmetric { error_rate } => {
                // For the smallest p ln(1 - p) is 0; then the first error never comes, as for p = 0.
                (Kind::Geometric { log_right: libm::log1p(-error_rate) }, hard_llr(error_rate, codeword_bits))
            }
            Self::Errors { count } => {
                check_errors(count, codeword_bits)?;
                (Kind::Exactly { count }, hard_llr(count as f64 / codeword_bits as f64, codeword_bits))
            }
            Self::Awgn { ebn0_db } => {
                let variance = 1.0 / (2.0 * rate * libm::pow(10.0, ebn0_db / 10.0));
                let (llr_steps, deviation) = (2.0 * AWGN_STEPS / variance, libm::sqrt(variance));
                // The LLR in steps is llr_steps y: it is at or below `step` if y is below step + 1/2.
                let below = |step: i32| normal_cdf(((f64::from(step) + 0.5) / llr_steps - 1.0) / deviation);
                let values: Vec<i8> = (-127..=127).collect();
                let mut last = 0.0;
                let mut probability = |value: &i8| {
                    let next = if *value == 127 { 1.0 } else { below((*value).into()) };
                    next - std::mem::replace(&mut last, next)
                };
                let probabilities: Vec<f64> = values.iter().map(&mut probability).collect();
                (Kind::Soft(Box::new(Bulk::new(&values, &probabilities))), 1.0 / AWGN_STEPS)
            }
            Self::Gaussian { raw_error_rate, levels } => {
                let regions = Regions::new(raw_error_rate, &best_thresholds(raw_error_rate, levels));
                let (llrs, step) = regions.integer_llrs();
                (Kind::Soft(Box::new(Bulk::new(&llrs, &regions.probabilities))), step)
            }
        };
        Ok(Noise::new(kind, llr_step, codeword_bits, seed))
    }
}

fn check_errors(count: usize, codeword_bits: usize) -> Result<()> {
    if count <= codeword_bits {
        return Ok(());
    }
    let found = format!("found {count} errors, expected at most {codeword_bits}, the bits of a codeword");
    Err(Error::code("channel", found))
}

/// The magnitude of the LLR of a hard decision. It is finite even if no decision is wrong. It is positive even if half of them or more are
/// wrong, because a decoder is never told to invert the word.
fn hard_llr(error_rate: f64, codeword_bits: usize) -> f64 {
    let error_rate = error_rate.max(0.5 / codeword_bits as f64).min(0.499);
    libm::log((1.0 - error_rate) / error_rate)
}

/// A possible output of a memoryless symmetric channel for a bit that is 0. It has one probability with a right and one with a wrong hard
/// decision. For a bit that is 1 the output is the negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Output {
    /// The log-likelihood ratio, in a decoder's integers.
    pub llr: i8,
    /// The probability of this output and a right hard decision.
    pub right: f64,
    /// The probability of this output and a wrong hard decision.
    pub wrong: f64,
}

impl Output {
    /// The probability of this output.
    pub fn probability(&self) -> f64 {
        self.right + self.wrong
    }
}

/// The noise of a channel on the codewords of one length. It belongs to one thread.
#[derive(Debug, Clone)]
pub struct Noise {
    stream: Stream,
    set: InstructionSet,
    codeword_bits: usize,
    kind: Kind,
    llr_step: f64,
    /// The wrong bits of a frame with a given number of them: as a word, and in the order in which they were chosen.
    mask: Vec<u8>,
    errors: Vec<usize>,
    condition: Option<Condition>,
}

/// A condition on frames: a given number of bits of an absorbing set is wrong, and the other bits of the set are right. The channel draws
/// all other bits.
#[derive(Debug, Clone)]
struct Condition {
    sets: Arc<AbsorbingSets>,
    /// The number of bits and of violated checks of the class from which the set is drawn.
    class: (usize, u32),
    wrong: usize,
    given: Option<Box<Given>>,
}

/// LLRs of the 0 bits of a set, on a soft channel.
#[derive(Debug, Clone)]
struct Given {
    right: Alias,
    wrong: Alias,
    not_all_sure: Option<NotAllSure>,
}

/// LLRs of wrong bits that are not all sure: those of the bits before the first unsure one, and that of the first unsure one. Bits after it
/// may have any LLR.
#[derive(Debug, Clone)]
struct NotAllSure {
    sure: Alias,
    unsure: Alias,
    sure_share: f64,
}

#[derive(Debug, Clone)]
enum Kind {
    /// Errors at geometric distances; `log_right` is ln(1 - p).
    Geometric {
        log_right: f64,
    },
    Exactly {
        count: usize,
    },
    /// LLRs given that a 0 was sent; those of a 1 are their negatives.
    Soft(Box<Bulk>),
    /// LLRs as in `Soft`, with a given number of wrong hard decisions: LLRs given that the hard decision is right, and LLRs given that it
    /// is wrong.
    SoftErrors {
        count: usize,
        right: Box<Bulk>,
        wrong: Box<Alias>,
    },
}

/// The number of the first draw that chooses wrong bits of a frame, and of the first draw of the LLRs of wrong bits. Other draws of LLRs
/// are numbered from 0 on.
const ERROR_DRAWS: u64 = 1 << 32;
const WRONG_DRAWS: u64 = 2 << 32;
/// The number of the first draw that chooses a set and its wrong bits.
const CONDITION_DRAWS: u64 = 3 << 32;
/// The number of the draw that chooses the first wrong bit of a set that is not surely wrong.
const UNSURE_DRAW: u64 = SET_LLR_DRAWS - 1;
/// The number of the first draw of the LLRs of a set.
const SET_LLR_DRAWS: u64 = CONDITION_DRAWS + (1 << 16);

/// The first of `count` independent trials that fails, given that not all succeed. Each succeeds with probability `share`; `draw` is
/// uniform in [0, 1).
fn first_that_is_not(share: f64, count: usize, draw: f64) -> usize {
    let not_all = -libm::expm1(count as f64 * libm::log(share));
    ((libm::log1p(-draw * not_all) / libm::log(share)) as usize).min(count - 1)
}

impl Noise {
    /// Returns the noise of a channel with these `outputs`, whose probabilities add up to 1.
    ///
    /// # Arguments
    /// - `llr_step`: see [`Noise::llr_step`].
    /// - `errors`: the exact number of wrong hard decisions of a frame. All choices of them are equally likely, and the
    ///   output of each bit is drawn given that its hard decision is right, or wrong. Without it the channel draws the
    ///   errors.
    ///
    /// # Errors
    /// More errors than the codeword has bits, errors in a channel that makes none, or fewer in a channel that makes only errors.
    pub fn of_outputs(
        outputs: &[Output],
        llr_step: f64,
        codeword_bits: usize,
        errors: Option<usize>,
        seed: u64,
    ) -> Result<Self> {
        let llrs: Vec<i8> = outputs.iter().map(|output| output.llr).collect();
        let given = |probability: &dyn Fn(&Output) -> f64| -> Option<Vec<f64>> {
            let total: f64 = outputs.iter().map(probability).sum();
            (total > 0.0).then(|| outputs.iter().map(|output| probability(output) / total).collect())
        };
        let either = given(&Output::probability).expect("probabilities that add up to 1");
        let kind = match errors {
            None => Kind::Soft(Box::new(Bulk::new(&llrs, &either))),
            Some(count) => {
                check_errors(count, codeword_bits)?;
                let (right, wrong) = (given(&|output| output.right), given(&|output| output.wrong));
                let impossible = count > 0 && wrong.is_none() || count < codeword_bits && right.is_none();
                if impossible {
                    let message =
                        format!("found {count} errors per codeword, expected a number that this channel can produce");
                    return Err(Error::code("errors", message));
                }
                // Outputs of probability zero are never drawn.
                let right = Box::new(Bulk::new(&llrs, right.as_ref().unwrap_or(&either)));
                let wrong = Box::new(Alias::new(&llrs, wrong.as_ref().unwrap_or(&either)));
                Kind::SoftErrors { count, right, wrong }
            }
        };
        Ok(Self::new(kind, llr_step, codeword_bits, seed))
    }

    fn new(kind: Kind, llr_step: f64, codeword_bits: usize, seed: u64) -> Self {
        let mask = vec![0; bits::bytes_for(codeword_bits)];
        let (stream, set) = (Stream::new(seed, Purpose::Noise), InstructionSet::detect());
        Self { stream, set, codeword_bits, kind, llr_step, mask, errors: Vec::new(), condition: None }
    }

    /// Returns the same noise, made with the instructions of `set`.
    ///
    /// # Panics
    /// If the CPU lacks these instructions.
    pub fn with_instruction_set(self, set: InstructionSet) -> Self {
        assert!(InstructionSet::available().contains(&set), "instructions that the CPU has");
        Self { set, ..self }
    }

    /// Returns this noise in frames in which an absorbing set of a class has `wrong` wrong bits. The set and its wrong bits are drawn for
    /// each frame, every choice being equally likely. All other bits are as the channel makes them. The decision of a soft channel for a
    /// bit is the sign of its LLR, 0 counting as right. `outputs` are those of [`Self::of_outputs`].
    ///
    /// # Arguments
    /// - `surely`: for a soft channel, true if the LLRs of all wrong bits are [`SURE_LLR`] or more against them, false if not all of them
    ///   are; `None` for either.
    ///
    /// # Errors
    /// A class without sets, more wrong bits than a set has, or wrong bits that the channel never makes.
    pub fn conditioned(
        self,
        sets: Arc<AbsorbingSets>,
        class: (usize, u32),
        wrong: usize,
        surely: Option<bool>,
        outputs: Option<&[Output]>,
    ) -> Result<Self> {
        let (bits, violated) = class;
        if sets.class(bits, violated).next().is_none() || wrong > bits {
            let found = format!("found {wrong} wrong bits of a ({bits}, {violated}) set");
            return Err(Error::code(
                "condition",
                format!("{found}, expected a class that was listed, and no more than its bits"),
            ));
        }
        let impossible = |what: &str| Error::code("condition", format!("found {what}"));
        let given = match (outputs, surely) {
            (None, None) => None,
            (None, Some(_)) => return Err(impossible("hard decisions, expected LLRs, which may be sure")),
            (Some(outputs), surely) => {
                let share = |chosen: &dyn Fn(i8) -> bool| -> f64 {
                    let chosen = outputs.iter().filter(|output| chosen(output.llr));
                    chosen.map(Output::probability).sum()
                };
                let draw = |chosen: &dyn Fn(i8) -> bool| {
                    let total = share(chosen);
                    let (llrs, shares): (Vec<i8>, Vec<f64>) = outputs
                        .iter()
                        .filter(|output| chosen(output.llr))
                        .map(|output| (output.llr, output.probability() / total))
                        .unzip();
                    (total > 0.0).then(|| Alias::new(&llrs, &shares))
                };
                let is_sure = |llr: i8| llr <= -SURE_LLR;
                let is_unsure = |llr: i8| llr < 0 && llr > -SURE_LLR;
                let (Some(right), Some(wrong)) = (draw(&|llr| llr >= 0), draw(&|llr| llr < 0)) else {
                    return Err(impossible("a channel that errs never or always"));
                };
                let (wrong, not_all_sure) = match (surely, draw(&is_sure), draw(&is_unsure)) {
                    (None, ..) | (Some(false), None, _) => (wrong, None),
                    (Some(true), Some(sure), _) => (sure, None),
                    (Some(true), None, _) => return Err(impossible("a channel that is never surely wrong")),
                    (Some(false), _, None) => return Err(impossible("a channel that is surely wrong or not at all")),
                    (Some(false), Some(sure), Some(unsure)) => {
                        (wrong, Some(NotAllSure { sure, unsure, sure_share: share(&is_sure) / share(&|llr| llr < 0) }))
                    }
                };
                Some(Box::new(Given { right, wrong, not_all_sure }))
            }
        };
        Ok(Self { condition: Some(Condition { sets, class, wrong, given }), ..self })
    }

    /// The bits of the set that is prescribed in a frame, each with whether it is wrong; none without a condition.
    fn prescribed(&self, frame: u64) -> Vec<(usize, bool)> {
        let Some(condition) = &self.condition else { return Vec::new() };
        let draw = |number: u64| self.stream.bits(frame, CONDITION_DRAWS + number);
        let mut bits = condition.sets.draw(condition.class.0, condition.class.1, draw(0));
        for chosen in 0..condition.wrong {
            let left = (bits.len() - chosen) as u128;
            let other = chosen + ((u128::from(draw(1 + chosen as u64)) * left) >> 64) as usize;
            bits.swap(chosen, other);
        }
        bits.iter().enumerate().map(|(index, &bit)| (bit as usize, index < condition.wrong)).collect()
    }

    /// Tells whether the channel gives LLRs instead of hard decisions.
    pub fn is_soft(&self) -> bool {
        matches!(self.kind, Kind::Soft(_) | Kind::SoftErrors { .. })
    }

    /// The natural logarithm that one step of an integer LLR stands for; for hard decisions the magnitude of their LLR.
    pub fn llr_step(&self) -> f64 {
        self.llr_step
    }

    /// Replaces the packed `word`, which is the codeword at the call, by the hard decisions of frame `frame`. For a soft channel these are
    /// the signs of its LLRs; an LLR of 0 decides for 0.
    ///
    /// # Panics
    /// If the word does not have the length of a codeword.
    pub fn flip(&mut self, frame: u64, word: &mut [u8]) {
        assert_eq!(word.len(), self.mask.len(), "bytes of a codeword");
        if !self.is_soft() && self.condition.is_some() {
            let prescribed = self.prescribed(frame);
            let sent: Vec<bool> = prescribed.iter().map(|&(bit, _)| bits::get(word, bit)).collect();
            self.flip_freely(frame, word);
            for (&(bit, wrong), sent) in prescribed.iter().zip(sent) {
                bits::set(word, bit, sent != wrong);
            }
            return;
        }
        self.flip_freely(frame, word);
    }

    fn flip_freely(&mut self, frame: u64, word: &mut [u8]) {
        match &self.kind {
            Kind::Geometric { log_right } => {
                if *log_right == 0.0 {
                    return;
                }
                let mut at = 0;
                for draw in 0.. {
                    let skipped = libm::log1p(-self.stream.uniform(frame, draw)) / log_right;
                    if skipped >= (self.codeword_bits - at) as f64 {
                        break;
                    }
                    at += skipped as usize;
                    bits::flip(word, at);
                    at += 1;
                    if at == self.codeword_bits {
                        break;
                    }
                }
            }
            Kind::Exactly { count } => {
                let count = *count;
                self.choose_errors(frame, count, 0);
                word.iter_mut().zip(&self.mask).for_each(|(word, mask)| *word ^= mask);
            }
            Kind::Soft(_) | Kind::SoftErrors { .. } => {
                let mut llrs = vec![0; self.codeword_bits];
                self.llrs(frame, word, &mut llrs);
                llrs.iter().enumerate().for_each(|(at, &llr)| bits::set(word, at, llr < 0));
            }
        }
    }

    /// Computes the LLRs of frame `frame` of a packed `codeword`.
    ///
    /// # Panics
    /// If the channel is not soft, or a slice is not of the length of a codeword.
    pub fn llrs(&mut self, frame: u64, codeword: &[u8], llrs: &mut [i8]) {
        assert_eq!((codeword.len(), llrs.len()), (self.mask.len(), self.codeword_bits), "bytes and bits of a codeword");
        if let Kind::SoftErrors { count, .. } = self.kind {
            self.choose_errors(frame, count, ERROR_DRAWS);
        }
        match &self.kind {
            Kind::Soft(either) => either.fill(self.set, &self.stream, frame, codeword, llrs),
            Kind::SoftErrors { right, wrong, .. } => {
                // Wrong bits are few. So all bits are drawn as if they were right, and then the wrong ones are drawn again, one by one.
                right.fill(self.set, &self.stream, frame, codeword, llrs);
                for &at in &self.errors {
                    let value = wrong.value(self.stream.bits(frame, WRONG_DRAWS + at as u64) as u32);
                    // The negative of the value for a bit that is 1, without a branch that could not be predicted.
                    let sign = -i8::from(bits::get(codeword, at));
                    llrs[at] = (value ^ sign) - sign;
                }
            }
            Kind::Geometric { .. } | Kind::Exactly { .. } => panic!("a channel of hard decisions"),
        }
        let Some(Condition { given: Some(given), wrong: wrong_bits, .. }) = &self.condition else { return };
        // Wrong bits come first, in an order that is drawn.
        let not_all_sure = given.not_all_sure.as_ref().map(|not_all| {
            let draw = self.stream.uniform(frame, UNSURE_DRAW);
            (not_all, first_that_is_not(not_all.sure_share, *wrong_bits, draw))
        });
        for (index, ((bit, wrong), draw)) in self.prescribed(frame).into_iter().zip(SET_LLR_DRAWS..).enumerate() {
            let values = match not_all_sure {
                _ if !wrong => &given.right,
                Some((not_all, first)) if index < first => &not_all.sure,
                Some((not_all, first)) if index == first => &not_all.unsure,
                _ => &given.wrong,
            };
            let value = values.value(self.stream.bits(frame, draw) as u32);
            llrs[bit] = if bits::get(codeword, bit) { -value } else { value };
        }
    }

    /// Makes `count` bits wrong, every choice being equally likely.
    ///
    /// Source: R. Floyd, J. Bentley, "A sample of brilliance", 1987, algorithm F2.
    fn choose_errors(&mut self, frame: u64, count: usize, first_draw: u64) {
        self.mask.fill(0);
        self.errors.clear();
        for last in self.codeword_bits - count..self.codeword_bits {
            let draw = u128::from(self.stream.bits(frame, first_draw + last as u64)) * (last as u128 + 1);
            let at = (draw >> 64) as usize;
            let at = if bits::get(&self.mask, at) { last } else { at };
            bits::flip(&mut self.mask, at);
            self.errors.push(at);
        }
    }
}

/// The standard deviation of the noise for which the sign of +-1 is wrong with probability `raw_error_rate`.
fn deviation(raw_error_rate: f64) -> f64 {
    // The normal distribution function rises from 1e-10 to 0.5 between -6.4 and 0.
    let (mut low, mut high) = (-6.5, 0.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if normal_cdf(middle) < raw_error_rate {
            low = middle;
        } else {
            high = middle;
        }
    }
    -1.0 / (0.5 * (low + high))
}

/// The regions between thresholds, from the lowest, in units of the mean of Gaussian noise around +-1.
pub(crate) struct Regions {
    /// The probability of each region, given that +1 was sent.
    probabilities: Vec<f64>,
}

impl Regions {
    pub(crate) fn new(raw_error_rate: f64, thresholds: &[f64]) -> Self {
        Self::with_deviation(deviation(raw_error_rate), thresholds)
    }

    pub(crate) fn with_deviation(deviation: f64, thresholds: &[f64]) -> Self {
        let mut last = 0.0;
        let ends = thresholds.iter().map(|threshold| normal_cdf((threshold - 1.0) / deviation)).chain([1.0]);
        let probabilities = ends.map(|end| end - std::mem::replace(&mut last, end)).collect();
        Self { probabilities }
    }

    /// The probabilities of each region given +1 and given -1, which mirror each other because thresholds are symmetric.
    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> {
        self.probabilities.iter().copied().zip(self.probabilities.iter().rev().copied())
    }

    /// The mutual information between an equally likely sign and the region, in bits.
    fn information(&self) -> f64 {
        let term = |p: f64, q: f64| if p > 0.0 { p * libm::log2(2.0 * p / (p + q)) } else { 0.0 };
        self.pairs().map(|(p, q)| term(p, q)).sum()
    }

    /// The variance of this information.
    fn dispersion(&self) -> f64 {
        let told = self.pairs().filter(|(p, _)| *p > 0.0).map(|(p, q)| (p, libm::log2(2.0 * p / (p + q))));
        let (mean, square) =
            told.fold((0.0, 0.0), |(mean, square), (p, bits)| (mean + p * bits, square + p * bits * bits));
        square - mean * mean
    }

    /// The LLR of each region, and its probability given that +1 was sent.
    pub(crate) fn outputs(&self) -> Vec<(f64, f64)> {
        self.pairs().map(|(p, q)| (libm::log(p / q), p)).collect()
    }

    /// The LLR of each region in integers, and the natural logarithm of a step.
    fn integer_llrs(&self) -> (Vec<i8>, f64) {
        let llrs: Vec<f64> = self.outputs().into_iter().map(|(llr, _)| llr).collect();
        let step = llrs[llrs.len() - 1] / f64::from(LARGEST_REGION_LLR);
        (llrs.iter().map(|llr| libm::round(llr / step) as i8).collect(), step)
    }
}

/// The thresholds that maximise the mutual information between an equally likely bit and the region in which it is
/// read, in units of the mean; ascending, symmetric about zero.
///
/// # Arguments
/// - `raw_error_rate`: the probability that the sign is wrong, from 1e-9 to 0.499.
/// - `levels`: the number of thresholds, at least 1.
///
/// Source: J. Wang, K. Vakilinia, T.-Y. Chen, T. Courtade, G. Dong, T. Zhang, H. Shankar, R. Wesel, "Enhanced precision
/// through multiple reads for LDPC decoding in flash memories", 2014. Each threshold in turn is moved to its best place,
/// until none moves.
pub fn best_thresholds(raw_error_rate: f64, levels: usize) -> Vec<f64> {
    let deviation = deviation(raw_error_rate);
    let symmetric = |positive: &[f64]| -> Vec<f64> {
        let negative = positive.iter().rev().map(|threshold| -threshold);
        negative.chain((levels % 2 == 1).then_some(0.0)).chain(positive.iter().copied()).collect()
    };
    let information = |positive: &[f64]| Regions::with_deviation(deviation, &symmetric(positive)).information();
    // Beyond this threshold a region is too rare to give information.
    let largest = 1.0 + 8.0 * deviation;
    let count = levels / 2;
    // With this step LLRs differ by about one from region to region.
    let step = (0.5 * deviation * deviation).min(largest / (levels + 1) as f64);
    let mut positive: Vec<f64> = (1..=count).map(|index| step * index as f64).collect();
    climb(&mut positive, 0.0, largest, 1e-7, |positive, _| information(positive));
    symmetric(&positive)
}

/// The capacity of a channel that reads a bit with `levels` thresholds at the best places, in bits.
///
/// # Arguments
/// - `raw_error_rate`: the probability that the sign is wrong, from 1e-9 to 0.499.
/// - `levels`: the number of thresholds, at least 1.
pub fn capacity(raw_error_rate: f64, levels: usize) -> f64 {
    Regions::new(raw_error_rate, &best_thresholds(raw_error_rate, levels)).information()
}

/// The spread of the raw bit error rate that a word of n bits seems to have, times the root of n. It is the standard deviation of the
/// information from one bit's region, over the slope of the capacity. With one threshold it is the root of p (1 - p), as for the number of
/// wrong bits.
///
/// # Arguments
/// - `raw_error_rate`: p, the probability that the sign is wrong, from 1e-8 to 0.49.
/// - `levels`: the number of thresholds, at the best places, at least 1.
///
/// Source: Y. Polyanskiy, H. V. Poor, S. Verdu, "Channel coding rate in the finite blocklength regime", 2010 (the dispersion, the variance
/// of the information). Deviation: the result is divided by the slope, so that it is in raw bit error rates.
pub fn spread(raw_error_rate: f64, levels: usize) -> f64 {
    match levels {
        1 => (raw_error_rate * (1.0 - raw_error_rate)).sqrt(),
        _ => spread_between(raw_error_rate, &best_thresholds(raw_error_rate, levels)),
    }
}

fn spread_between(raw_error_rate: f64, thresholds: &[f64]) -> f64 {
    // The slope is taken between half a per cent less and half a per cent more. Moving the best thresholds would change nothing in first
    // order.
    const STEP: f64 = 0.005;
    let information = |factor: f64| Regions::new(raw_error_rate * factor, thresholds).information();
    let slope = (information(1.0 - STEP) - information(1.0 + STEP)) / (2.0 * STEP * raw_error_rate);
    Regions::new(raw_error_rate, thresholds).dispersion().sqrt() / slope
}

/// The raw bit error rate at which the best codes of a length fail in a share of their words, by the normal approximation:
///
/// ```text
/// share = Q( (n C - k + log2(n) / 2) / sqrt(n V) )
/// ```
///
/// n and k are the bits of a codeword and of its data, C and V the mean and the variance of the information of a bit.
///
/// # Arguments
/// - `codeword_bits`, `data_bits`: n and k, 0 < k < n.
/// - `levels`: the number of thresholds with which a bit is read, at the best places, at least 1.
/// - `failure`: the share of words that fail, in (0, 0.5].
///
/// Source: Y. Polyanskiy, H. V. Poor, S. Verdu, "Channel coding rate in the finite blocklength regime", 2010, eq. 296 (for the binary
/// symmetric channel eq. 290). A test compares it with the sphere-packing bound: it is within 1 % of it.
pub fn normal_approximation(codeword_bits: usize, data_bits: usize, levels: usize, failure: f64) -> f64 {
    let (n, k) = (codeword_bits as f64, data_bits as f64);
    let fails_less = |p: f64| {
        let regions = Regions::new(p, &best_thresholds(p, levels));
        let room = n * regions.information() - k + 0.5 * libm::log2(n);
        normal_cdf(-room / (n * regions.dispersion()).sqrt()) < failure
    };
    let (low, high) = bisect(1e-8..0.49, 40, fails_less);
    0.5 * (low + high)
}

/// Halves a range `times` times. `holds` is true at the lower end of the result, and false at its upper end.
pub(crate) fn bisect(range: Range<f64>, times: usize, holds: impl Fn(f64) -> bool) -> (f64, f64) {
    (0..times).fold((range.start, range.end), |(low, high), _| {
        let middle = 0.5 * (low + high);
        if holds(middle) { (middle, high) } else { (low, middle) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is the spread of one threshold that of the number of wrong bits? The information of a bit then has the variance p (1 - p)
    /// log2((1 - p) / p)^2, and the capacity has the slope -log2((1 - p) / p).
    #[test]
    fn the_spread_of_hard_decisions_is_that_of_a_binomial() {
        for p in [1e-4, 0.003, 0.01, 0.1] {
            let ratio = spread_between(p, &[0.0]) / spread(p, 1);
            assert!((ratio - 1.0).abs() < 1e-4, "{p}: {ratio}");
        }
    }

    /// Is the normal approximation near the sphere-packing bound, which no code can beat? On a binary symmetric channel 2^(n - k) words
    /// have a syndrome of their own. So no code corrects more than that number of error patterns, the lightest ones at best.
    #[test]
    fn the_normal_approximation_is_near_the_sphere_packing_bound() {
        fn log_choices(n: f64, k: f64) -> f64 {
            libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
        }
        for (n, k, failure) in
            [(36_864, 32_768, 1e-15), (36_864, 32_768, 1e-2), (9_216, 8_192, 1e-6), (4_096, 2_048, 1e-10)]
        {
            let p = normal_approximation(n, k, 1, failure);
            let (bits, checks) = (n as f64, (n - k) as f64);
            // The sum of these numbers of choices is less than twice its last term while k < n / 3.
            let radius = (0..n).find(|&k| log_choices(bits, k as f64) > checks * std::f64::consts::LN_2).unwrap();
            let tail = |p: f64| -> f64 {
                let term = |k: usize| {
                    let k = k as f64;
                    libm::exp(log_choices(bits, k) + k * libm::log(p) + (bits - k) * libm::log1p(-p))
                };
                (radius..n).map(term).sum()
            };
            // In far tails of long codes it promises a little too much, because the normal tail is lighter than that of the errors.
            let ends = [0.99 * p, 1.01 * p].map(tail);
            assert!(ends[0] < failure && ends[1] > failure, "{n}, {k}: at {p} {:e}, of {failure:e}; {ends:?}", tail(p));
        }
    }

    /// Is the spread of many thresholds that of a Gaussian channel without quantisation? The latter is integrated numerically over an LLR
    /// that is normal with mean m and variance 2 m, m = 2 / deviation^2.
    #[test]
    fn the_spread_of_many_levels_is_that_of_the_gaussian_channel() {
        let p = 0.02;
        let moments = |p: f64| {
            let mean = 2.0 / deviation(p).powi(2);
            let steps = (-4000..=4000).map(|step| f64::from(step) * 0.002);
            let terms = steps.map(|z| {
                let density = libm::exp(-0.5 * z * z) * 0.002 / (2.0 * std::f64::consts::PI).sqrt();
                (density, 1.0 - libm::log1p(libm::exp(-(mean + z * (2.0 * mean).sqrt()))) / std::f64::consts::LN_2)
            });
            terms.fold((0.0, 0.0), |(mean, square), (density, bits)| {
                (mean + density * bits, square + density * bits * bits)
            })
        };
        let (mean, square) = moments(p);
        let slope = (moments(0.995 * p).0 - moments(1.005 * p).0) / (0.01 * p);
        let expected = (square - mean * mean).sqrt() / slope;
        let thresholds: Vec<f64> = (-120..=120).map(|step| f64::from(step) * 0.025).collect();
        let found = spread_between(p, &thresholds);
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }

    /// Does the first failure have the probability of its place, by the probabilities of all sequences of five trials but the one that is
    /// all success?
    #[test]
    fn the_first_that_is_not_has_the_probability_of_its_place() {
        const DRAWS: usize = 100_000;
        for share in [1e-6, 0.2, 0.6, 0.99] {
            let mut found = [0; 5];
            (0..DRAWS).for_each(|i| found[first_that_is_not(share, 5, (i as f64 + 0.5) / DRAWS as f64)] += 1);
            for (place, found) in (0..).zip(found) {
                let expected = share.powi(place) * (1.0 - share) / (1.0 - share.powi(5));
                let off = found as f64 / DRAWS as f64 - expected;
                assert!(off.abs() < 1.5 / DRAWS as f64, "{share}, {place}: {found} against {expected}");
            }
        }
    }
}
