//! Error rates and speed of a code, its decoder and a channel, by simulation.
//!
//! For every frame random data is encoded, sent through the channel, decoded, and compared with the sent word. Only calls of the decoder
//! are timed, and separately calls of the encoder. They come in batches of frames that were made before. A batch fits the cache, or is as
//! large as the decoder wants it.

use std::fmt;
use std::ops::{ControlFlow, RangeInclusive};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use softsense_base::{Error, Purpose, Result, Stream, binomial_interval};

use crate::bch::BchDecoder;
use crate::bits;
use crate::catalogue::Code;
use crate::channel::{Channel, Noise};
use crate::ldpc::{
    AbsorbingSets, BitFlipping, Correction, LEAST_LARGEST, LdpcCode, MOST_LARGEST, MessagePassing, MinSum, QuasiCyclic,
    RcqDesign, Real, Rule, Schedule, Width, first_bits,
};
use crate::{InstructionSet, Outcome};

/// Number of bytes that a batch may take: half of a common second-level cache.
const BATCH_BYTES: usize = 1 << 18;
/// The largest number of threads that may be asked for.
pub const MOST_THREADS: usize = 1024;
/// Number of frames of the largest batch.
const LARGEST_BATCH: usize = 1024;
/// The number of the draw that chooses the set, among several, for which a failure counts; data are drawn from 0 on.
const SHARING_DRAW: u64 = 1 << 32;
/// The interval at which the watcher is called.
const WATCH: Duration = Duration::from_millis(100);

/// The default of the normalisation of min-sum, and of its offset in natural units.
const FACTOR: f64 = 0.75;
const OFFSET: f64 = 0.5;

/// The width of the messages of [`Algorithm::MessagePassing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
}

/// The algorithm that decodes LDPC codes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Algorithm {
    /// Layered normalised min-sum: the fast decoder with messages of eight bits for a base matrix whose circulants are
    /// multiples of 16. With [`Width::Adaptive`] any other matrix is decoded in floating point.
    MinSum(Width),
    /// Message passing in floating point.
    MessagePassing {
        /// Layered or flooding.
        schedule: Schedule,
        /// The rule by which a check answers.
        rule: Rule,
        /// The width of messages.
        precision: Precision,
    },
    /// Layered min-sum whose messages have few bits, by tables that are designed for the code ([`RcqDesign`]). It takes a base matrix whose
    /// circulants are multiples of 16.
    Rcq {
        /// Bits of a message, its sign included.
        message_bits: u8,
        /// Bits of an a-posteriori value, its sign included; `None`: [`RcqDesign::usual_posterior_bits`] of the code.
        posterior_bits: Option<u8>,
    },
    /// Gradient-descent bit flipping, on hard decisions.
    BitFlipping,
}

/// The level for which the tables of [`Algorithm::Rcq`] for LLRs are designed.
const RCQ_LEVEL: usize = 3;

impl FromStr for Algorithm {
    type Err = Error;

    /// Parses `min-sum`, `min-sum-8bit[:LARGEST]`, `min-sum-16bit` (see [`Width`]), `rcq:BITS[:POSTERIOR]`, `bit-flipping`, or
    /// `[layered-|flooding-]RULE[:PARAMETER][-f32|-f64]`. The rules are `sum-product`, `min-sum` (its parameter is the factor) and
    /// `offset-min-sum` (the offset, in natural units).
    ///
    /// Without a schedule it is layered, and without a width min-sum is in f32 and sum-product in f64; bare `min-sum` is
    /// [`Algorithm::MinSum`].
    fn from_str(text: &str) -> Result<Self> {
        let text = &*text.replace('_', "-");
        match text {
            "min-sum" => return Ok(Self::MinSum(Width::Adaptive)),
            "min-sum-8bit" => return Ok(Self::MinSum(Width::Eight { largest: MOST_LARGEST })),
            "min-sum-16bit" => return Ok(Self::MinSum(Width::Sixteen)),
            "bit-flipping" => return Ok(Self::BitFlipping),
            _ => {}
        }
        if let Some(largest) = text.strip_prefix("min-sum-8bit:") {
            return match largest.parse() {
                Ok(largest) if (LEAST_LARGEST..=MOST_LARGEST).contains(&largest) => {
                    Ok(Self::MinSum(Width::Eight { largest }))
                }
                _ => {
                    let expected = format!("a largest a-posteriori magnitude from {LEAST_LARGEST} to {MOST_LARGEST}");
                    Err(Error::code("decoder", format!("found `{largest}` in `{text}`, expected {expected}")))
                }
            };
        }
        if let Some(bits) = text.strip_prefix("rcq:") {
            let (message, posterior) = bits.split_once(':').map_or((bits, None), |(message, of)| (message, Some(of)));
            let within = |bits: &str, range: RangeInclusive<u8>, of: &str| match bits.parse() {
                Ok(bits) if range.contains(&bits) => Ok(bits),
                _ => {
                    let expected = format!("expected {} to {} bits of {of}", range.start(), range.end());
                    Err(Error::code("decoder", format!("found `{bits}` in `{text}`, {expected}")))
                }
            };
            return Ok(Self::Rcq {
                message_bits: within(message, RcqDesign::MESSAGE_BITS, "a message")?,
                posterior_bits: posterior
                    .map(|bits| within(bits, RcqDesign::POSTERIOR_BITS, "an a-posteriori value"))
                    .transpose()?,
            });
        }
        let (rest, precision) = match (text.strip_suffix("-f32"), text.strip_suffix("-f64")) {
            (Some(rest), _) => (rest, Some(Precision::F32)),
            (None, Some(rest)) => (rest, Some(Precision::F64)),
            (None, None) => (text, None),
        };
        let (rest, schedule) = match rest.strip_prefix("flooding-") {
            Some(rest) => (rest, Schedule::Flooding),
            None => (rest.strip_prefix("layered-").unwrap_or(rest), Schedule::Layered),
        };
        let (name, parameter) = match rest.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (rest, None),
        };
        let number = |default: f64| match parameter {
            None => Ok(default),
            Some(value) => value
                .parse()
                .map_err(|_| Error::code("decoder", format!("found `{value}` in `{text}`, expected a number"))),
        };
        let (rule, usual) = match (name, parameter) {
            ("sum-product", None) => (Rule::SumProduct, Precision::F64),
            ("min-sum", _) => (Rule::NormalisedMinSum { factor: number(FACTOR)? }, Precision::F32),
            ("offset-min-sum", _) => (Rule::OffsetMinSum { offset: number(OFFSET)? }, Precision::F32),
            _ => {
                let expected = "min-sum, min-sum-8bit[:LARGEST], min-sum-16bit, rcq:BITS[:POSTERIOR], bit-flipping, \
                                or [layered-|flooding-]RULE[-f32|-f64], where RULE is sum-product, min-sum[:FACTOR] \
                                or offset-min-sum[:OFFSET]";
                return Err(Error::code("decoder", format!("found `{text}`, expected {expected}")));
            }
        };
        rule.check()?;
        Ok(Self::MessagePassing { schedule, rule, precision: precision.unwrap_or(usual) })
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinSum(Width::Adaptive) => f.write_str("min-sum"),
            Self::MinSum(Width::Eight { largest: MOST_LARGEST }) => f.write_str("min-sum-8bit"),
            Self::MinSum(Width::Eight { largest }) => write!(f, "min-sum-8bit:{largest}"),
            Self::MinSum(Width::Sixteen) => f.write_str("min-sum-16bit"),
            Self::Rcq { message_bits, posterior_bits: None } => write!(f, "rcq:{message_bits}"),
            Self::Rcq { message_bits, posterior_bits: Some(posterior_bits) } => {
                write!(f, "rcq:{message_bits}:{posterior_bits}")
            }
            Self::BitFlipping => f.write_str("bit-flipping"),
            Self::MessagePassing { schedule, rule, precision } => {
                f.write_str(match schedule {
                    Schedule::Layered => "layered-",
                    Schedule::Flooding => "flooding-",
                })?;
                match rule {
                    Rule::SumProduct => f.write_str("sum-product")?,
                    Rule::NormalisedMinSum { factor } => write!(f, "min-sum:{factor}")?,
                    Rule::OffsetMinSum { offset } => write!(f, "offset-min-sum:{offset}")?,
                }
                f.write_str(match precision {
                    Precision::F32 => "-f32",
                    Precision::F64 => "-f64",
                })
            }
        }
    }
}

/// The decoder that is measured. It applies to LDPC codes only; BCH codes have a single decoder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecoderSpec {
    /// The algorithm of the decoder.
    pub algorithm: Algorithm,
    /// Number of iterations after which the decoder gives up.
    pub max_iterations: u32,
}

/// The result of a decoder for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// True if the decoder takes its decided word for a codeword.
    pub success: bool,
    /// Number of iterations done; 0 for decoders without iterations.
    pub iterations: u32,
    /// Number of checks that the decided word violates at the end: few if a small set of bits holds the decoder, many if there was too much
    /// noise. Decoders without checks to count have 0 on success and 1 otherwise.
    pub syndrome_weight: u32,
}

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Self {
        Self { success: outcome.converged, iterations: outcome.iterations, syndrome_weight: outcome.syndrome_weight }
    }
}

/// Frames that are decoded together, one after the other.
pub struct Batch<'a> {
    /// Packed words: the received words, unless there are LLRs; afterwards the decided words.
    pub words: &'a mut [u8],
    /// Integer LLRs, one a bit.
    pub llrs: Option<&'a [i8]>,
    /// The result for each frame.
    pub verdicts: &'a mut [Verdict],
}

/// A decoder in a measurement. It belongs to one thread.
pub trait FrameDecoder: Send {
    /// Decodes hard decisions, packed, in place.
    fn decode_hard(&mut self, word: &mut [u8]) -> Verdict;

    /// Decodes LLRs like [`FrameDecoder::decode_soft`]; some LLR is not zero.
    fn decode_llrs(&mut self, llrs: &[i8], decided: &mut [u8]) -> Verdict;

    /// Decodes integer LLRs, one a bit, into a packed word. A frame whose LLRs are all zero holds no information: its word is that of
    /// zeros, a codeword of every code, and it is no success.
    fn decode_soft(&mut self, llrs: &[i8], decided: &mut [u8]) -> Verdict {
        if llrs.iter().all(|&llr| llr == 0) {
            decided.fill(0);
            return Verdict { success: false, iterations: 0, syndrome_weight: 0 };
        }
        self.decode_llrs(llrs, decided)
    }

    /// The number of frames that it wants at once; `None` for as many as fit the cache.
    fn batch_frames(&self) -> Option<usize> {
        None
    }

    /// Decodes the frames of a batch, at least one, or fewer if it is interrupted. Returns their number, and the time that it took.
    fn decode_batch(&mut self, batch: Batch<'_>, interrupted: &AtomicBool) -> (usize, Duration) {
        let Batch { words, llrs, verdicts } = batch;
        let (frames, mut done) = (verdicts.len(), 0);
        let start = Instant::now();
        let words = words.chunks_exact_mut(words.len() / frames);
        for (frame, (word, verdict)) in words.zip(verdicts).enumerate() {
            if interrupted.load(Ordering::Relaxed) {
                break;
            }
            *verdict = match llrs {
                Some(llrs) => self.decode_soft(&llrs[frame * (llrs.len() / frames)..][..llrs.len() / frames], word),
                None => self.decode_hard(word),
            };
            done += 1;
        }
        (done, start.elapsed())
    }
}

/// Packs the signs of LLRs; an LLR of 0 decides for 0.
fn take_signs(llrs: &[i8], word: &mut [u8]) {
    for (byte, llrs) in word.iter_mut().zip(llrs.chunks(8)) {
        *byte = llrs.iter().enumerate().fold(0, |byte, (index, &llr)| byte | u8::from(llr < 0) << (7 - index));
    }
}

struct Fast {
    decoder: MinSum,
    max_iterations: u32,
}

impl Fast {
    fn new(code: &LdpcCode, width: Width, max_iterations: u32) -> Result<Self> {
        let correction = Correction::for_rate(code.rate());
        let decoder = MinSum::with(Self::base(code)?, &correction, width, InstructionSet::detect())?;
        Ok(Self { decoder, max_iterations })
    }

    fn rcq(code: &LdpcCode, message_bits: u8, posterior_bits: Option<u8>, max_iterations: u32) -> Result<Self> {
        let base = Self::base(code)?;
        let posterior_bits = posterior_bits.unwrap_or_else(|| RcqDesign::usual_posterior_bits(code));
        let tables =
            |levels| code.rcq_tables(RcqDesign { message_bits, posterior_bits, levels, iterations: max_iterations });
        let decoder = MinSum::rcq(base, &*tables(1)?, &*tables(RCQ_LEVEL)?, InstructionSet::detect())?;
        Ok(Self { decoder, max_iterations })
    }

    fn base(code: &LdpcCode) -> Result<&QuasiCyclic> {
        let complaint =
            || Error::code("decoder", "found a matrix that is not quasi-cyclic, expected a base matrix (a .qc file)");
        code.quasi_cyclic().ok_or_else(complaint)
    }
}

impl FrameDecoder for Fast {
    fn decode_hard(&mut self, word: &mut [u8]) -> Verdict {
        self.decoder.decode_hard(word, self.max_iterations).into()
    }

    fn decode_llrs(&mut self, llrs: &[i8], decided: &mut [u8]) -> Verdict {
        self.decoder.decode_soft(llrs, self.max_iterations, decided).into()
    }
}

struct Floating<F> {
    decoder: MessagePassing<F>,
    step: F,
    llrs: Vec<F>,
}

impl<F: Real> Floating<F> {
    fn new(code: &LdpcCode, schedule: Schedule, rule: Rule, max_iterations: u32, llr_step: f64) -> Result<Self> {
        let decoder = MessagePassing::new(Arc::clone(code.parity_check()), schedule, rule, max_iterations)?;
        Ok(Self { decoder, step: F::of(llr_step), llrs: vec![F::ZERO; code.parity_check().columns()] })
    }
}

impl<F: Real + Send> FrameDecoder for Floating<F> {
    fn decode_hard(&mut self, word: &mut [u8]) -> Verdict {
        for (index, llr) in self.llrs.iter_mut().enumerate() {
            *llr = if bits::get(word, index) { -self.step } else { self.step };
        }
        self.decoder.decode(&self.llrs, word).into()
    }

    fn decode_llrs(&mut self, llrs: &[i8], decided: &mut [u8]) -> Verdict {
        for (to, &llr) in self.llrs.iter_mut().zip(llrs) {
            *to = F::of(f64::from(llr)) * self.step;
        }
        self.decoder.decode(&self.llrs, decided).into()
    }
}

struct Flipping {
    decoder: BitFlipping,
    received: Vec<u8>,
}

impl FrameDecoder for Flipping {
    fn decode_hard(&mut self, word: &mut [u8]) -> Verdict {
        self.received.copy_from_slice(word);
        self.decoder.decode(&self.received, word).into()
    }

    fn decode_llrs(&mut self, llrs: &[i8], decided: &mut [u8]) -> Verdict {
        take_signs(llrs, &mut self.received);
        self.decoder.decode(&self.received, decided).into()
    }
}

/// A decoder of all bits of the matrix, for words whose last bits are not sent. Hard decisions become LLRs, and bits that are not sent are
/// erased.
struct Punctured {
    decoder: Box<dyn FrameDecoder>,
    /// The LLRs of the hard decisions in each byte.
    llrs_of_byte: Vec<[i8; 8]>,
    sent: usize,
    llrs: Vec<i8>,
    word: Vec<u8>,
}

impl Punctured {
    fn new(decoder: Box<dyn FrameDecoder>, code: &LdpcCode, hard: i8) -> Self {
        let bits = code.parity_check().columns();
        let llrs_of = |byte: u8| std::array::from_fn(|bit| if byte << bit & 0x80 == 0 { hard } else { -hard });
        Self {
            decoder,
            llrs_of_byte: (0..=u8::MAX).map(llrs_of).collect(),
            sent: code.codeword_bits(),
            llrs: vec![0; bits],
            word: vec![0; bits::bytes_for(bits)],
        }
    }

    fn decode(&mut self, decided: &mut [u8]) -> Verdict {
        let verdict = self.decoder.decode_soft(&self.llrs, &mut self.word);
        first_bits(&self.word, self.sent, decided);
        verdict
    }
}

impl FrameDecoder for Punctured {
    fn decode_hard(&mut self, word: &mut [u8]) -> Verdict {
        for (llrs, &byte) in self.llrs[..self.sent].chunks_mut(8).zip(&*word) {
            llrs.copy_from_slice(&self.llrs_of_byte[usize::from(byte)][..llrs.len()]);
        }
        self.decode(word)
    }

    fn decode_llrs(&mut self, llrs: &[i8], decided: &mut [u8]) -> Verdict {
        self.llrs[..self.sent].copy_from_slice(llrs);
        self.decode(decided)
    }
}

impl FrameDecoder for BchDecoder {
    fn decode_hard(&mut self, word: &mut [u8]) -> Verdict {
        let success = self.decode(word).is_some();
        Verdict { success, iterations: 0, syndrome_weight: u32::from(!success) }
    }

    fn decode_llrs(&mut self, llrs: &[i8], decided: &mut [u8]) -> Verdict {
        take_signs(llrs, decided);
        self.decode_hard(decided)
    }
}

/// The LLR of a hard decision in small integers.
const HARD_AS_LLR: i8 = 24;

/// The default of [`Algorithm::MinSum`] for codes that the fast decoder does not take.
const SLOW_MIN_SUM: (Schedule, Rule, Precision) =
    (Schedule::Layered, Rule::NormalisedMinSum { factor: FACTOR }, Precision::F32);

impl DecoderSpec {
    /// The algorithm that decodes `code`. Min-sum of adaptive width becomes another one if the fast decoder does not take the code.
    pub fn algorithm_of(&self, code: &LdpcCode) -> Algorithm {
        let (schedule, rule, precision) = SLOW_MIN_SUM;
        match self.algorithm {
            Algorithm::MinSum(Width::Adaptive) if !code.quasi_cyclic().is_some_and(MinSum::decodes) => {
                Algorithm::MessagePassing { schedule, rule, precision }
            }
            algorithm => algorithm,
        }
    }

    /// Tells whether this decoder of `code` computes in floating point, so that its decisions depend on what a step of an integer LLR
    /// stands for.
    pub fn uses_llr_step(&self, code: &Code) -> bool {
        match code {
            Code::Bch(_) => false,
            Code::Ldpc(code) => matches!(self.algorithm_of(code), Algorithm::MessagePassing { .. }),
        }
    }

    /// Makes this decoder of `code`.
    ///
    /// # Arguments
    /// - `llr_step`: the natural logarithm that a step of an integer LLR stands for, or a hard decision: [`Noise::llr_step`]. Only
    ///   decoders in floating point need it.
    ///
    /// # Errors
    /// A code that the decoder cannot decode.
    pub fn decoder(&self, code: &Code, llr_step: f64) -> Result<Box<dyn FrameDecoder>> {
        let code = match code {
            Code::Bch(code) => return Ok(Box::new(code.decoder())),
            Code::Ldpc(code) => code,
        };
        if code.punctured_bits() == 0 {
            return self.decoder_of_matrix(code, llr_step);
        }
        let hard = match self.algorithm_of(code) {
            Algorithm::BitFlipping | Algorithm::Rcq { .. } => {
                let found = format!("found {} for a code with punctured columns", self.algorithm);
                return Err(Error::code(
                    "decoder",
                    format!("{found}, expected min-sum, offset-min-sum or sum-product"),
                ));
            }
            Algorithm::MinSum(_) => HARD_AS_LLR,
            Algorithm::MessagePassing { .. } => 1,
        };
        Ok(Box::new(Punctured::new(self.decoder_of_matrix(code, llr_step)?, code, hard)))
    }

    /// Makes the decoder in integers that this is for `code`.
    ///
    /// # Errors
    /// A decoder in floating point, a bit-flipping decoder, a decoder of a BCH code, or of a code with punctured columns.
    pub fn integers<'a>(&self, code: &'a Code) -> Result<(&'a QuasiCyclic, MinSum)> {
        let refuse = |found: String| {
            Err(Error::code(
                "decoder",
                format!(
                    "found {found}, expected a decoder that computes with integers (min-sum, min-sum-8bit, \
                     min-sum-16bit or rcq) and a base matrix without punctured columns"
                ),
            ))
        };
        let code = match code {
            Code::Bch(_) => return refuse("a BCH code".into()),
            Code::Ldpc(code) if code.punctured_bits() > 0 => return refuse("punctured columns".into()),
            Code::Ldpc(code) => code,
        };
        let fast = match self.algorithm_of(code) {
            Algorithm::MinSum(width) => Fast::new(code, width, self.max_iterations)?,
            Algorithm::Rcq { message_bits, posterior_bits } => {
                Fast::rcq(code, message_bits, posterior_bits, self.max_iterations)?
            }
            other => return refuse(other.to_string()),
        };
        Ok((Fast::base(code)?, fast.decoder))
    }

    /// Makes this decoder of all columns of a matrix.
    fn decoder_of_matrix(&self, code: &LdpcCode, llr_step: f64) -> Result<Box<dyn FrameDecoder>> {
        let max_iterations = self.max_iterations;
        let (schedule, rule, precision) = match self.algorithm_of(code) {
            Algorithm::BitFlipping => {
                let decoder = BitFlipping::new(Arc::clone(code.parity_check()), max_iterations)?;
                return Ok(Box::new(Flipping { decoder, received: vec![0; bits::bytes_for(code.codeword_bits())] }));
            }
            Algorithm::Rcq { message_bits, posterior_bits } => {
                return Ok(Box::new(Fast::rcq(code, message_bits, posterior_bits, max_iterations)?));
            }
            Algorithm::MinSum(width) => return Ok(Box::new(Fast::new(code, width, max_iterations)?)),
            Algorithm::MessagePassing { schedule, rule, precision } => (schedule, rule, precision),
        };
        Ok(match precision {
            Precision::F32 => Box::new(Floating::<f32>::new(code, schedule, rule, max_iterations, llr_step)?),
            Precision::F64 => Box::new(Floating::<f64>::new(code, schedule, rule, max_iterations, llr_step)?),
        })
    }
}

/// The end of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stop {
    /// The measurement ends after this many seconds of wall-clock time, but not before some frames.
    Seconds(f64),
    /// The measurement ends after this many frames.
    Frames(u64),
}

/// The description of a measurement.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// Code that is measured.
    pub code: Code,
    /// Decoder of the code.
    pub decoder: DecoderSpec,
    /// Channel through which words are sent.
    pub channel: Channel,
    /// Number of threads that decode.
    pub threads: usize,
    /// The end of the measurement.
    pub stop: Stop,
    /// Seed of data and noise.
    pub seed: u64,
}

/// The results of a measurement. Counts are the same for any number of threads if the number of frames is the same.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchResult {
    /// Number of data bits of a frame.
    pub data_bits: usize,
    /// Number of threads that decoded.
    pub threads: usize,
    /// Number of frames decoded.
    pub frames: u64,
    /// Number of frames that were given up, or decided wrongly.
    pub frame_errors: u64,
    /// Number of frames decided wrongly with a claim of success: part of `frame_errors`.
    pub undetected: u64,
    /// Number of wrong data bits after decoding, of all frames.
    pub bit_errors: u64,
    /// Numbers of frames that took 0, 1, 2, ... iterations, whether they failed or not.
    pub iterations: Vec<u64>,
    /// Numbers of these frames that were given up.
    pub given_up: Vec<u64>,
    /// Wall-clock seconds of the whole measurement.
    pub seconds: f64,
    /// Seconds in the decoder, summed over the threads.
    pub decode_seconds: f64,
    /// Seconds in the encoder, summed over the threads.
    pub encode_seconds: f64,
}

impl BenchResult {
    fn new(data_bits: usize, threads: usize) -> Self {
        Self {
            data_bits,
            threads,
            frames: 0,
            frame_errors: 0,
            undetected: 0,
            bit_errors: 0,
            iterations: Vec::new(),
            given_up: Vec::new(),
            seconds: 0.0,
            decode_seconds: 0.0,
            encode_seconds: 0.0,
        }
    }

    fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.frame_errors += other.frame_errors;
        self.undetected += other.undetected;
        self.bit_errors += other.bit_errors;
        self.decode_seconds += other.decode_seconds;
        self.encode_seconds += other.encode_seconds;
        for (to, from) in [(&mut self.iterations, &other.iterations), (&mut self.given_up, &other.given_up)] {
            to.resize(to.len().max(from.len()), 0);
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }

    /// The frame error rate. It is not a number (NaN) before the first frame.
    pub fn fer(&self) -> f64 {
        self.frame_errors as f64 / self.frames as f64
    }

    /// The exact interval of the frame error rate at a confidence of 95 %.
    pub fn fer_interval(&self) -> (f64, f64) {
        binomial_interval(self.frame_errors, self.frames, 0.95)
    }

    /// The error rate of data bits after decoding.
    pub fn bit_error_rate(&self) -> f64 {
        self.bit_errors as f64 / (self.frames as f64 * self.data_bits as f64)
    }

    /// The mean number of iterations of a frame.
    pub fn mean_iterations(&self) -> f64 {
        let sum: u64 = self.iterations.iter().zip(0..).map(|(frames, iterations)| frames * iterations).sum();
        sum as f64 / self.frames as f64
    }

    /// Data bits decoded in a second by all threads together, in Mb/s.
    pub fn user_mbps(&self) -> f64 {
        self.mbps(self.decode_seconds)
    }

    /// Data bits encoded in a second by all threads together, in Mb/s.
    pub fn encode_mbps(&self) -> f64 {
        self.mbps(self.encode_seconds)
    }

    fn mbps(&self, thread_seconds: f64) -> f64 {
        self.frames as f64 * self.data_bits as f64 / (thread_seconds / self.threads as f64) / 1e6
    }
}

impl Measurement {
    /// Runs the measurement.
    ///
    /// # Arguments
    /// - `watch`: a function that is called about ten times a second, on this thread, with the results so far. If it breaks, the
    ///   measurement ends with these.
    ///
    /// # Errors
    /// No threads or more than [`MOST_THREADS`], no frames, no time, a channel with more errors than a codeword has bits, or a code
    /// that the decoder cannot decode.
    pub fn run(&self, watch: impl FnMut(&BenchResult) -> ControlFlow<()>) -> Result<BenchResult> {
        self.run_with(|llr_step| self.decoder.decoder(&self.code, llr_step), watch)
    }

    /// Runs the measurement with a decoder of one's own: `decoder` makes one for each thread, given [`Noise::llr_step`].
    ///
    /// # Errors
    /// See [`Self::run`].
    pub fn run_with(
        &self,
        decoder: impl Fn(f64) -> Result<Box<dyn FrameDecoder>>,
        mut watch: impl FnMut(&BenchResult) -> ControlFlow<()>,
    ) -> Result<BenchResult> {
        if !(1..=MOST_THREADS).contains(&self.threads) {
            return Err(Error::code("threads", format!("found {}, expected 1 to {MOST_THREADS}", self.threads)));
        }
        let last = match self.stop {
            Stop::Frames(0) => return Err(Error::code("frames", "found 0, expected at least 1")),
            Stop::Frames(frames) => frames,
            Stop::Seconds(seconds) if seconds > 0.0 && seconds <= 1e9 => u64::MAX,
            Stop::Seconds(seconds) => {
                return Err(Error::code("seconds", format!("found {seconds}, expected a number above 0, at most 1e9")));
            }
        };
        let (codeword_bits, data_bits) = (self.code.codeword_bits(), self.code.data_bits());
        let noise = self.channel.noise(codeword_bits, self.code.rate(), self.seed)?;
        let decoders: Vec<_> = (0..self.threads).map(|_| decoder(noise.llr_step())).collect::<Result<_>>()?;
        let batch = batch_frames(&*decoders[0], codeword_bits, noise.is_soft());

        let start = Instant::now();
        let mut total = BenchResult::new(data_bits, self.threads);
        let (next, interrupted) = (AtomicU64::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            for decoder in decoders {
                let mut counter = FrameCounter::new(&self.code, decoder, noise.clone(), self.seed);
                let (sender, next, interrupted) = (sender.clone(), &next, &interrupted);
                scope.spawn(move || {
                    loop {
                        let first = next.fetch_add(batch as u64, Ordering::Relaxed);
                        let late = matches!(self.stop, Stop::Seconds(limit) if start.elapsed().as_secs_f64() > limit);
                        if first >= last || late && first > 0 || interrupted.load(Ordering::Relaxed) {
                            return;
                        }
                        let count = (last - first).min(batch as u64) as usize;
                        if sender.send(counter.batch(first, count, interrupted)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let mut watched = Instant::now();
            loop {
                match receiver.recv_timeout(WATCH) {
                    Ok(part) => total.add(&part),
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
                if watched.elapsed() >= WATCH {
                    watched = Instant::now();
                    total.seconds = start.elapsed().as_secs_f64();
                    if watch(&total).is_break() {
                        interrupted.store(true, Ordering::Relaxed);
                    }
                }
            }
        });
        total.seconds = start.elapsed().as_secs_f64();
        Ok(total)
    }
}

/// The number of frames that a batch holds.
fn batch_frames(decoder: &dyn FrameDecoder, codeword_bits: usize, soft: bool) -> usize {
    let frame_bytes = 3 * bits::bytes_for(codeword_bits) + if soft { codeword_bits } else { 0 };
    decoder.batch_frames().unwrap_or((BATCH_BYTES / frame_bytes).clamp(1, LARGEST_BATCH))
}

/// Makes frames of a code, sends them through a channel, decodes them and counts the results. It belongs to one thread.
pub struct FrameCounter<'a> {
    code: &'a Code,
    encoder: crate::catalogue::Encoder,
    decoder: Box<dyn FrameDecoder>,
    noise: Noise,
    stream: Stream,
    /// The sets by which frames are drawn, the number of right bits of a set, and the number of errors below which a failure counts.
    listed: Option<(Arc<AbsorbingSets>, usize, usize)>,
    frames: Frames,
    /// The data of a wrong frame, as sent and as decided.
    sent: Vec<u8>,
    decided: Vec<u8>,
}

/// The frames of a batch, one after the other.
#[derive(Default)]
struct Frames {
    data: Vec<u8>,
    codewords: Vec<u8>,
    /// The received words; afterwards the decided words.
    words: Vec<u8>,
    /// The received LLRs, if the channel is soft.
    llrs: Vec<i8>,
    verdicts: Vec<Verdict>,
}

impl<'a> FrameCounter<'a> {
    /// Makes a counter of frames whose data come from `seed` and whose errors come from `noise`.
    pub fn new(code: &'a Code, decoder: Box<dyn FrameDecoder>, noise: Noise, seed: u64) -> Self {
        let batch = batch_frames(&*decoder, code.codeword_bits(), noise.is_soft());
        let data = vec![0; bits::bytes_for(code.data_bits())];
        let words = vec![0; batch * bits::bytes_for(code.codeword_bits())];
        let frames = Frames {
            data: vec![0; batch * data.len()],
            codewords: words.clone(),
            words,
            llrs: vec![0; if noise.is_soft() { batch * code.codeword_bits() } else { 0 }],
            verdicts: vec![Verdict { success: false, iterations: 0, syndrome_weight: 0 }; batch],
        };
        Self {
            code,
            encoder: code.encoder(),
            decoder,
            noise,
            stream: Stream::new(seed, Purpose::Data),
            listed: None,
            frames,
            sent: data.clone(),
            decided: data,
        }
    }

    /// Counts a failure for one of the listed sets only: for a set with the fewest right bits, drawn if there are several. So the sum over
    /// all sets and numbers of right bits counts each failure once. The failures that sets with few right bits account for do not depend on
    /// how many right bits are considered for other sets.
    ///
    /// # Arguments
    /// - `right`: the number of right bits in the set by which a frame was drawn.
    /// - `fewer_than`: a failure counts only in a frame with fewer errors than this number.
    #[must_use]
    pub fn once_for_each_set(mut self, sets: Arc<AbsorbingSets>, right: usize, fewer_than: usize) -> Self {
        self.listed = Some((sets, right, fewer_than));
        self
    }

    /// Tells whether a failure counts for the set by which the frame was drawn. An LLR of 0 is right whatever was sent, as in
    /// [`Noise::conditioned`].
    fn counts(&mut self, index: u64, codeword: &[u8], llrs: &[i8]) -> bool {
        let Some((sets, right, fewer_than)) = &self.listed else { return true };
        let all = 0..self.code.codeword_bits() as u32;
        let errors: Vec<u32> = if self.noise.is_soft() {
            let is_wrong = |bit: usize| if bits::get(codeword, bit) { llrs[bit] > 0 } else { llrs[bit] < 0 };
            all.filter(|&bit| is_wrong(bit as usize)).collect()
        } else {
            let mut word = codeword.to_vec();
            self.noise.flip(index, &mut word);
            all.filter(|&bit| bits::get(&word, bit as usize) != bits::get(codeword, bit as usize)).collect()
        };
        if errors.len() >= *fewer_than {
            return false;
        }
        let (fewest, sharing) = sets.nearest(&errors).expect("the set that the frame was drawn by");
        fewest == *right && self.stream.bits(index, SHARING_DRAW).is_multiple_of(sharing as u64)
    }

    /// Counts `frames` frames from number `first` on, or fewer once it is interrupted. The data and the noise of each frame depend only on
    /// the seeds and its number.
    pub fn count(&mut self, first: u64, frames: u64, interrupted: &AtomicBool) -> BenchResult {
        let mut total = BenchResult::new(self.code.data_bits(), 1);
        while total.frames < frames && !interrupted.load(Ordering::Relaxed) {
            let count = (frames - total.frames).min(self.frames.verdicts.len() as u64) as usize;
            total.add(&self.batch(first + total.frames, count, interrupted));
        }
        total
    }

    /// Counts frames `first` to `first + count - 1`, or fewer if it is interrupted.
    fn batch(&mut self, first: u64, count: usize, interrupted: &AtomicBool) -> BenchResult {
        // The frames are taken out while they are used.
        let mut frames = std::mem::take(&mut self.frames);
        let (data_bytes, word_bytes) = (self.sent.len(), bits::bytes_for(self.code.codeword_bits()));
        let soft = self.noise.is_soft();
        let Frames { data, codewords, words, llrs, verdicts } = &mut frames;
        let (data, verdicts) = (&mut data[..count * data_bytes], &mut verdicts[..count]);
        let (codewords, words) = (&mut codewords[..count * word_bytes], &mut words[..count * word_bytes]);
        let llrs = &mut llrs[..if soft { count * self.code.codeword_bits() } else { 0 }];

        for (data, index) in data.chunks_exact_mut(data_bytes).zip(first..) {
            random_data(&self.stream, index, self.code.data_bits(), data);
        }
        let mut result = BenchResult::new(self.code.data_bits(), 1);
        let start = Instant::now();
        for (data, codeword) in data.chunks_exact(data_bytes).zip(codewords.chunks_exact_mut(word_bytes)) {
            self.encoder.encode(data, codeword);
        }
        result.encode_seconds = start.elapsed().as_secs_f64();

        if soft {
            let llrs = llrs.chunks_exact_mut(self.code.codeword_bits());
            for ((llrs, codeword), index) in llrs.zip(codewords.chunks_exact(word_bytes)).zip(first..) {
                self.noise.llrs(index, codeword, llrs);
            }
        } else {
            words.copy_from_slice(codewords);
            for (word, index) in words.chunks_exact_mut(word_bytes).zip(first..) {
                self.noise.flip(index, word);
            }
        }
        let (done, time) =
            self.decoder.decode_batch(Batch { words, llrs: soft.then_some(&*llrs), verdicts }, interrupted);
        result.decode_seconds = time.as_secs_f64();

        let decided = words.chunks_exact(word_bytes).zip(codewords.chunks_exact(word_bytes)).zip(verdicts);
        for (frame, ((word, codeword), verdict)) in decided.take(done).enumerate() {
            let Verdict { success, iterations, .. } = *verdict;
            let iterations = iterations as usize;
            if result.iterations.len() <= iterations {
                result.iterations.resize(iterations + 1, 0);
            }
            result.iterations[iterations] += 1;
            let wrong = word != codeword;
            let llrs = if soft { &llrs[frame * self.code.codeword_bits()..][..self.code.codeword_bits()] } else { &[] };
            let fails = (wrong || !success) && self.counts(first + frame as u64, codeword, llrs);
            if fails && !success {
                result.given_up.resize(result.iterations.len(), 0);
                result.given_up[iterations] += 1;
            }
            result.frames += 1;
            result.frame_errors += u64::from(fails);
            result.undetected += u64::from(fails && success);
            if wrong {
                self.code.extract_data(codeword, &mut self.sent);
                self.code.extract_data(word, &mut self.decided);
                result.bit_errors += bits::distance(&self.sent, &self.decided) as u64;
            }
        }
        self.frames = frames;
        // The encoder's time is that of all frames of the batch.
        result.encode_seconds *= done as f64 / count as f64;
        result
    }
}

/// Computes the data of frame `frame`: `count` random bits, packed.
pub fn random_data(stream: &Stream, frame: u64, count: usize, data: &mut [u8]) {
    for (index, bytes) in data.chunks_mut(8).enumerate() {
        bytes.copy_from_slice(&stream.bits(frame, index as u64).to_be_bytes()[..bytes.len()]);
    }
    bits::clear_padding(data, count);
}
