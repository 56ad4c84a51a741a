mod contiguous;
mod dealt;
mod kernel;
mod lanes;
mod layout;

use softsense_base::{Error, Result};

use super::QuasiCyclic;
use crate::{InstructionSet, Outcome, bits};
pub(super) use kernel::MESSAGE_LIMIT;
use kernel::{Arithmetic, HEAVIEST_COLUMN, Kernel, Order, State, compile, lanes};

/// The correction that turns the smallest magnitudes that a check receives into those that it sends, in the integers of [`MinSum`].
///
/// Min-sum answers with the smallest magnitude, where sum-product would answer less; a factor below one makes up for this. Early messages
/// are overestimated the most. So factors that grow over the first iterations save 8 % of the iterations of `flash-8/9` at 0.0075. If only
/// ten iterations are allowed, they lower the frame error rate of the adaptive codes 3 to 26 times (docs/model/ldpc-decoding.md).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// Sixteenths by which magnitudes are multiplied, and then rounded, in each iteration; the last number holds for all that follow. On
    /// soft decisions no factor is larger than the last. Larger early factors would save iterations there, too, but lose words.
    pub factors_16ths: Vec<u8>,
    /// Magnitude that is then subtracted, down to zero.
    pub offset: u8,
}

impl Correction {
    /// Returns the factors that decoded best among those tried on the shipped codes of such a rate.
    pub fn for_rate(rate: f64) -> Self {
        let factors: &[u8] = match rate {
            0.7.. => &[8, 10, 12, 12, 12, 11],
            0.4.. => &[8, 10, 12],
            _ => &[9, 11, 13],
        };
        Self { factors_16ths: factors.to_vec(), offset: 0 }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.factors_16ths.is_empty() {
            return Err(Error::code("factors_16ths", "found an empty list, expected at least one"));
        }
        if let Some(factor) = self.factors_16ths.iter().find(|factor| !(1..=16).contains(*factor)) {
            return Err(Error::code("factors_16ths", format!("found {factor}, expected 1 to 16")));
        }
        if self.offset > MESSAGE_LIMIT {
            return Err(Error::code("offset", format!("found {}, expected at most {MESSAGE_LIMIT}", self.offset)));
        }
        Ok(())
    }

    /// The correction of soft decisions.
    pub(super) fn soft(&self) -> Self {
        let last = self.factors_16ths.last().copied().unwrap_or(0);
        Self { factors_16ths: self.factors_16ths.iter().map(|&factor| factor.min(last)).collect(), ..self.clone() }
    }

    fn factor_16ths(&self, iteration: u32) -> u8 {
        self.factors_16ths[(iteration as usize).min(self.factors_16ths.len() - 1)]
    }
}

/// The largest number of steps of a staircase: that of messages of five bits.
const MOST_STEPS: usize = 15;

/// The answers of checks in messages of few bits. The least magnitude that a check receives is quantised, and the index stands for a
/// magnitude in the integers of [`MinSum`].
///
/// A quantiser keeps the order of magnitudes, so that the least of quantised magnitudes is the quantised least. So a check that receives
/// and sends nothing but signs and indices answers the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staircase {
    lowest: u8,
    steps: [[u8; 2]; MOST_STEPS],
    count: u8,
}

impl Staircase {
    /// # Arguments
    /// - `thresholds`: the index of a magnitude is the number of thresholds that it reaches.
    /// - `values`: the magnitude of each index, so one number more than thresholds. All numbers are up to 127.
    ///
    /// # Errors
    /// More than 15 thresholds, another number of values than one more, or numbers that fall or exceed 127.
    pub fn new(thresholds: &[u8], values: &[u8]) -> Result<Self> {
        let complain = |message: String| Err(Error::code("staircase", message));
        if thresholds.len() > MOST_STEPS || values.len() != thresholds.len() + 1 {
            let (thresholds, values) = (thresholds.len(), values.len());
            let expected = format!("expected at most {MOST_STEPS} thresholds, and one value more than thresholds");
            return complain(format!("found {thresholds} thresholds and {values} values, {expected}"));
        }
        for (what, numbers) in [("thresholds", thresholds), ("values", values)] {
            if !numbers.is_sorted() || numbers.iter().any(|&number| number > MESSAGE_LIMIT) {
                return complain(format!(
                    "found the {what} {numbers:?}, expected numbers in ascending order up to {MESSAGE_LIMIT}"
                ));
            }
        }
        let mut steps = [[0; 2]; MOST_STEPS];
        for (step, (&threshold, &value)) in steps.iter_mut().zip(thresholds.iter().zip(&values[1..])) {
            *step = [threshold, value];
        }
        Ok(Self { lowest: values[0], steps, count: thresholds.len() as u8 })
    }

    /// The steps: each threshold with its value.
    #[inline(always)]
    fn steps(&self) -> &[[u8; 2]] {
        &self.steps[..self.count.into()]
    }

    /// The thresholds, lowest first.
    pub fn thresholds(&self) -> Vec<u8> {
        self.steps().iter().map(|step| step[0]).collect()
    }

    /// The magnitudes of the indices, lowest first.
    pub fn values(&self) -> Vec<u8> {
        std::iter::once(self.lowest).chain(self.steps().iter().map(|step| step[1])).collect()
    }

    /// The answer to a least magnitude of `magnitude`.
    pub fn answer(&self, magnitude: u8) -> u8 {
        let reached = self.steps().iter().rfind(|step| step[0] <= magnitude);
        reached.map_or(self.lowest, |step| step[1])
    }
}

/// The tables of a decoder with messages of few bits, for hard decisions or for LLRs.
#[derive(Debug, Clone, PartialEq)]
pub struct RcqTables {
    /// The raw bit error rate for which they were designed.
    pub designed_for: f64,
    /// The magnitude of a hard decision, and the largest of an LLR: larger ones are lowered to it.
    pub channel_limit: u8,
    /// The largest answer of a check, so that a-posteriori values do not overflow.
    pub message_limit: u8,
    /// The answers of checks in each iteration; the last staircase holds for all that follow.
    pub staircases: Vec<Staircase>,
}

impl RcqTables {
    fn check(&self) -> Result<()> {
        if self.staircases.is_empty() {
            return Err(Error::code("staircases", "found an empty list, expected at least one"));
        }
        for (limit, found) in [("channel_limit", self.channel_limit), ("message_limit", self.message_limit)] {
            if !(1..=MESSAGE_LIMIT).contains(&found) {
                return Err(Error::code(limit, format!("found {found}, expected 1 to {MESSAGE_LIMIT}")));
            }
        }
        let largest = self.staircases.iter().map(|staircase| staircase.answer(MESSAGE_LIMIT)).max().unwrap_or(0);
        if largest > self.message_limit {
            let expected = format!("expected at most {}", self.message_limit);
            return Err(Error::code("staircases", format!("found an answer of {largest}, {expected}")));
        }
        Ok(())
    }

    /// The tables of the second pass, over a word that the decoder with these tables left trapped. A check answers the least magnitude. If
    /// it receives at least the sum of the channel's magnitude and two such answers, it answers that sum.
    ///
    /// In a small absorbing set every bit also gets a correct message, from a check outside. The bits of the set hear too little from one
    /// another to answer more than the least, while all others soon answer the most, and outvote them. It was tried on all sets of up to
    /// ten bits of `flash-8/9`: none remains if nothing else is wrong. A threshold from 3 to 6 above a channel of 22 does the same. If the
    /// channel is less than half of the largest answer nearly all remain.
    fn releasing(&self) -> Self {
        let least = (self.channel_limit / RELEASING_PART).max(1).min(self.message_limit);
        let threshold = self.channel_limit.saturating_add(2 * least).min(MESSAGE_LIMIT);
        let most = threshold.min(self.message_limit);
        let staircase = Staircase::new(&[threshold], &[least, most]).expect("in order, and within limits");
        Self { staircases: vec![staircase], ..self.clone() }
    }
}

/// Divisor of the channel's magnitude that gives the least answer of the second pass.
const RELEASING_PART: u8 = 11;

/// The number of bits of a-posteriori values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Hard decisions of codes whose heaviest columns have weight 4 are decoded in eight bits. A word that they give up with at most
    /// [`TRAPPED_CHECKS`] violated checks is decoded once more in sixteen bits from the received word.
    ///
    /// Everything else is decoded in sixteen bits. In codes of a rate of at least 0.7 with columns of weight [`HEAVIEST_NARROW_COLUMN`] at
    /// most, eight bits try first. Words that they do not decode are decoded in sixteen, as if these were the first.
    Adaptive,
    /// Eight bits alone. No a-posteriori value of hard decisions exceeds `largest`, so a smaller one makes the circuit smaller and the
    /// error floor higher. Values of soft decisions may be up to 127.
    Eight {
        /// The largest a-posteriori magnitude, from [`LEAST_LARGEST`] to [`MOST_LARGEST`].
        largest: u8,
    },
    /// Sixteen bits alone.
    Sixteen,
}

/// The weight of the heaviest column of codes that are decoded in eight bits first.
pub const HEAVIEST_NARROW_COLUMN: u32 = 16;

/// The default of the largest a-posteriori magnitude of eight bits.
pub const MOST_LARGEST: u8 = 126;
/// The least value of `largest` that may be asked for.
pub const LEAST_LARGEST: u8 = 12;

/// The number of violated checks up to which a word that is given up is taken to be trapped by a small set of bits, and not to hold too
/// many errors. Half of the words of `flash-8/9` with 336 errors that fail leave more than 310 violated checks, and one in sixteen leaves
/// 64 or fewer.
pub const TRAPPED_CHECKS: u32 = 64;

/// Layered min-sum with messages of eight bits over a quasi-cyclic code, vectorised over the checks of a circulant.
///
/// A-posteriori values have eight bits as well if that loses little: beside smaller messages they saturate without harm. But such messages
/// cannot outvote the bits of a small absorbing set, which hold one another in their errors. A word that seems to be trapped is therefore
/// decoded once more with 16 bits, in which messages may grow to eight times the magnitude of a hard decision ([`Width`]). Its iterations
/// are those of both passes together, or those of the second alone if eight bits only try before sixteen. An a-posteriori value of zero
/// decides for bit 0.
///
/// Decisions are checked before the first iteration, once in the first, and up to four times in each later one, so that a word is done as
/// soon as it has converged. The iteration that was begun counts in full.
///
/// Every instruction set decides the same. A decoder belongs to one thread and allocates nothing once it is made.
///
/// Source: E. Sharon, S. Litsyn, J. Goldberger, "Efficient serial message-passing schedules for LDPC decoding", 2007 (layers);
/// J. Chen and M. Fossorier, "Near optimum universal belief propagation based decoding of LDPC codes", 2002 (normalisation).
/// X. Zhang and P. Siegel, "Will the real error floor please stand up?", 2012 (saturation as the cause of floors).
/// Deviation: factors that grow with the iteration; the second pass.
pub struct MinSum {
    narrow: Option<Box<dyn Kernel>>,
    wide: Option<Box<dyn Kernel>>,
    hard: Passes,
    soft: Passes,
    /// Room for received hard decisions.
    received: Vec<u8>,
    instructions: InstructionSet,
    codeword_bits: usize,
}

/// A pass over a word.
struct Pass {
    /// True if a-posteriori values have eight bits, false if sixteen.
    narrow: bool,
    arithmetic: Arithmetic,
}

/// The first pass over a word, and the second pass, over words that the first seems to leave trapped, or over all that it leaves.
struct Passes {
    first: Pass,
    second: Option<Second>,
}

enum Second {
    /// The received word is decoded anew.
    Anew(Pass),
    /// The received word is decoded anew, whatever the first pass left, and the first pass is forgotten.
    Instead(Pass),
    /// The decisions of the first pass are decoded, as hard decisions.
    OfDecided(Pass),
}

impl MinSum {
    /// Makes the decoder of a code, with those vectors of the CPU of which its circulants take the fewest.
    ///
    /// # Errors
    /// A correction out of range; columns too heavy.
    pub fn new(code: &QuasiCyclic, correction: &Correction) -> Result<Self> {
        Self::with(code, correction, Width::Adaptive, InstructionSet::detect())
    }

    /// Makes a decoder like [`MinSum::new`], with a-posteriori values of `width` and the instructions `widest` at most.
    ///
    /// # Errors
    /// See [`MinSum::new`]; also instructions that the CPU does not have, or a largest a-posteriori value that is out of range or leaves no
    /// message for columns as heavy as those of the code.
    pub fn with(code: &QuasiCyclic, correction: &Correction, width: Width, widest: InstructionSet) -> Result<Self> {
        correction.check()?;
        let (instructions, order, heaviest) = Self::fit(code, widest)?;
        let narrow = |arithmetic| Pass { narrow: true, arithmetic };
        let wide = |arithmetic| Pass { narrow: false, arithmetic };
        let alone = |first| Passes { first, second: None };
        let wide_hard = wide(Arithmetic::wide_hard(correction));
        let wide_soft = wide(Arithmetic::wide_soft(correction));
        let of_eight_bits = |largest| Arithmetic::bounded(correction, heaviest, largest).map(narrow);
        let saturating_soft = Arithmetic::saturating_soft(correction);
        let (hard, soft) = match width {
            Width::Eight { largest } => (alone(of_eight_bits(largest)?), alone(narrow(saturating_soft))),
            Width::Adaptive => {
                let eight_stand_in = 10 * code.rows() <= 3 * code.columns() && heaviest <= HEAVIEST_NARROW_COLUMN;
                let of_sixteen_bits = |wide, saturating| match eight_stand_in {
                    true => Passes { first: narrow(saturating), second: Some(Second::Instead(wide)) },
                    false => alone(wide),
                };
                let hard = match heaviest {
                    4 => Passes { first: of_eight_bits(MOST_LARGEST)?, second: Some(Second::Anew(wide_hard)) },
                    _ => of_sixteen_bits(wide_hard, Arithmetic::saturating_hard(correction)),
                };
                (hard, of_sixteen_bits(wide_soft, saturating_soft))
            }
            Width::Sixteen => (alone(wide_hard), alone(wide_soft)),
        };
        Ok(Self::of_passes(code, (instructions, order), hard, soft))
    }

    fn of_passes(
        code: &QuasiCyclic,
        (instructions, order): (InstructionSet, Order),
        hard: Passes,
        soft: Passes,
    ) -> Self {
        let [narrow, wide] = [true, false].map(|narrow| {
            let is_used = hard.all().chain(soft.all()).any(|pass| pass.narrow == narrow);
            is_used.then(|| compile(code, instructions, order, narrow))
        });
        let codeword_bits = code.circulant_size() * code.columns();
        Self {
            narrow,
            wide,
            received: vec![0; bits::bytes_for(codeword_bits)],
            hard,
            soft,
            instructions,
            codeword_bits,
        }
    }

    /// Makes the decoder whose messages have few bits, by the tables for hard decisions and for LLRs, with the instructions `widest` at
    /// most. A-posteriori values have eight bits if none can overflow them, and otherwise sixteen. That changes speed, not results.
    ///
    /// A word that seems to be trapped is decoded once more, from its decisions as hard decisions, with the same number of iterations at
    /// most. Its iterations are those of both passes.
    ///
    /// Source: L. Wang et al., "Reconstruction-computation-quantization (RCQ): a paradigm for low bit width LDPC decoding", 2022.
    /// Deviation: the second pass.
    ///
    /// # Errors
    /// Columns too heavy; instructions that the CPU does not have; tables without
    /// staircases, or with limits out of range.
    pub fn rcq(code: &QuasiCyclic, hard: &RcqTables, soft: &RcqTables, widest: InstructionSet) -> Result<Self> {
        let (instructions, order, heaviest) = Self::fit(code, widest)?;
        [hard, soft].into_iter().try_for_each(RcqTables::check)?;
        let pass = |tables: &RcqTables| {
            let largest = u32::from(tables.channel_limit) + heaviest * u32::from(tables.message_limit);
            Pass { narrow: largest <= MESSAGE_LIMIT.into(), arithmetic: Arithmetic::of_tables(tables) }
        };
        let passes = |tables| Passes { first: pass(tables), second: Some(Second::OfDecided(pass(&hard.releasing()))) };
        Ok(Self::of_passes(code, (instructions, order), passes(hard), passes(soft)))
    }

    /// Tells whether there is a decoder of a code, without making one.
    pub fn decodes(code: &QuasiCyclic) -> bool {
        Self::fit(code, InstructionSet::detect()).is_ok()
    }

    /// The instructions that take the fewest vectors for a circulant, the order of these in memory, and the weight of the heaviest column.
    fn fit(code: &QuasiCyclic, widest: InstructionSet) -> Result<(InstructionSet, Order, u32)> {
        let available = InstructionSet::available();
        if !available.contains(&widest) {
            return Err(Error::code("decoder", format!("this CPU does not have {}", widest.name())));
        }
        let size = code.circulant_size();
        // Plain vectors that fit take longer than other vectors that do not.
        let plain = widest == InstructionSet::Portable;
        let sets = available.into_iter().filter(|set| *set <= widest && (plain || *set != InstructionSet::Portable));
        let dealt = sets.clone().rfind(|set| size.is_multiple_of(lanes(*set)));
        let (instructions, order) = match dealt {
            Some(set) => (set, Order::Dealt),
            None => (sets.min_by_key(|set| size.div_ceil(lanes(*set))).unwrap_or(widest), Order::Contiguous),
        };
        let mut weights = vec![0; code.columns()];
        code.blocks().iter().for_each(|block| weights[block.column as usize] += 1);
        let heaviest = weights.into_iter().max().unwrap_or(0);
        if heaviest > HEAVIEST_COLUMN {
            let found = format!("found a column of weight {heaviest}");
            return Err(Error::code("decoder", format!("{found}, expected at most {HEAVIEST_COLUMN}")));
        }
        Ok((instructions, order, heaviest))
    }

    /// The instructions in use.
    pub fn instruction_set(&self) -> InstructionSet {
        self.instructions
    }

    /// Decodes hard decisions in place: `word` is packed, received before and decided after. Each pass has `max_iterations`.
    ///
    /// # Panics
    /// If the word does not have as many bytes as the code wants.
    pub fn decode_hard(&mut self, word: &mut [u8], max_iterations: u32) -> Outcome {
        self.decode(None, max_iterations, word)
    }

    /// Decodes log-likelihood ratios, one for each bit, into `word`, packed. Each pass has at most `max_iterations`.
    ///
    /// Min-sum does not depend on their scale, except for rounding. Magnitudes of the likeliest bits from 20 to 40 serve well.
    ///
    /// # Panics
    /// If there are not as many ratios, or bytes of the word, as the code wants.
    pub fn decode_soft(&mut self, llrs: &[i8], max_iterations: u32, word: &mut [u8]) -> Outcome {
        assert_eq!(llrs.len(), self.codeword_bits, "log-likelihood ratios of a word");
        self.decode(Some(llrs), max_iterations, word)
    }

    fn decode(&mut self, llrs: Option<&[i8]>, max_iterations: u32, word: &mut [u8]) -> Outcome {
        assert_eq!(word.len(), bits::bytes_for(self.codeword_bits), "bytes of a word");
        let Self { narrow, wide, hard, soft, received, .. } = self;
        let run = |pass: &Pass, llrs: Option<&[i8]>, word: &mut [u8]| {
            let kernel = if pass.narrow { &mut *narrow } else { &mut *wide };
            let kernel = kernel.as_mut().expect("there is a kernel for every pass");
            kernel.decode(&pass.arithmetic, llrs, max_iterations, word, None)
        };
        let passes = if llrs.is_some() { soft } else { hard };
        passes.run(run, llrs, received, word)
    }

    /// The numbers that each pass computes with; passes over hard decisions come first.
    pub fn facts(&self) -> Vec<PassFacts> {
        let of = |passes: &Passes, soft: bool| {
            let from_received = !matches!(passes.second, Some(Second::OfDecided(_)));
            let facts = |(number, pass): (u32, &Pass)| {
                let (channel_limit, messages) = pass.arithmetic.facts();
                let posterior_bits = if pass.narrow { 8 } else { 16 };
                PassFacts { soft, pass: number, from_received, posterior_bits, channel_limit, messages }
            };
            (1..).zip(passes.all()).map(facts).collect::<Vec<_>>()
        };
        [of(&self.hard, false), of(&self.soft, true)].concat()
    }

    /// Records the state of this decoder of `code` for the received word, and after each iteration of each pass over it. Somebody who
    /// builds a decoder can compare it with these states. A frame whose LLRs are all zero is recorded, too; in measurements it is no
    /// success.
    ///
    /// # Arguments
    /// - `llrs`: LLRs as [`MinSum::decode_soft`] takes them; without them hard decisions are decoded.
    /// - `word`: the received word, if there are no LLRs; afterwards the decided word.
    ///
    /// # Panics
    /// See [`MinSum::decode_soft`] and [`MinSum::decode_hard`].
    pub fn trace(
        &self,
        code: &QuasiCyclic,
        llrs: Option<&[i8]>,
        max_iterations: u32,
        word: &mut [u8],
    ) -> (Outcome, Vec<Snapshot>) {
        assert_eq!(word.len(), bits::bytes_for(self.codeword_bits), "bytes of a word");
        assert!(llrs.is_none_or(|llrs| llrs.len() == self.codeword_bits), "log-likelihood ratios of a word");
        let mut snapshots: Vec<Snapshot> = Vec::new();
        let run = |pass: &Pass, llrs: Option<&[i8]>, word: &mut [u8]| {
            let mut kernel = compile(code, self.instructions, Order::Contiguous, pass.narrow);
            let number = 1 + snapshots.last().map_or(0, |last| last.pass);
            let mut watch = |State { iteration, syndrome_weight, posteriors, messages }| {
                snapshots.push(Snapshot { pass: number, iteration, posteriors, messages, syndrome_weight });
            };
            kernel.decode(&pass.arithmetic, llrs, max_iterations, word, Some(&mut watch))
        };
        let passes = if llrs.is_some() { &self.soft } else { &self.hard };
        let outcome = passes.run(run, llrs, &mut vec![0; word.len()], word);
        (outcome, snapshots)
    }
}

/// The numbers of a pass over a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassFacts {
    /// True if it decodes LLRs, false for hard decisions.
    pub soft: bool,
    /// Number of the pass, from 1.
    pub pass: u32,
    /// True if a later pass begins with the received word, false if with the decided word.
    pub from_received: bool,
    /// Bits of a-posteriori values, which saturate.
    pub posterior_bits: u8,
    /// The magnitude of a hard decision, and the largest of an LLR.
    pub channel_limit: u8,
    /// The answers of checks.
    pub messages: MessageFacts,
}

/// The answers of checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageFacts {
    /// Answers by [`Correction`].
    Corrected {
        /// Sixteenths of the factor of each iteration; the last holds for all that follow.
        factors_16ths: Vec<u8>,
        /// Magnitude that is subtracted.
        offset: u8,
        /// The largest magnitude of an answer.
        limit: u8,
    },
    /// Answers by a staircase for each iteration; the last holds for all that follow.
    Staircases(Vec<Staircase>),
}

/// The state of a decoder after an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The pass over the word, from 1.
    pub pass: u32,
    /// Number of iterations of this pass that were begun; 0 for the received word. The last iteration ends where the word converges,
    /// perhaps a quarter of the block rows into it.
    pub iteration: u32,
    /// A-posteriori values of the bits.
    pub posteriors: Vec<i16>,
    /// Messages to the bits, by circulant (by block row and then block column) and check.
    pub messages: Vec<i8>,
    /// Number of checks that the decisions violate.
    pub syndrome_weight: u32,
}

impl Passes {
    /// Decodes a word by passes that `run` runs; `room` is as long as the word.
    fn run(
        &self,
        mut run: impl FnMut(&Pass, Option<&[i8]>, &mut [u8]) -> Outcome,
        llrs: Option<&[i8]>,
        room: &mut [u8],
        word: &mut [u8],
    ) -> Outcome {
        let again = llrs.is_none() && matches!(self.second, Some(Second::Anew(_) | Second::Instead(_)));
        if again {
            room.copy_from_slice(word);
        }
        let first = run(&self.first, llrs, word);
        let Some(second) = &self.second else { return first };
        let trapped = first.syndrome_weight <= TRAPPED_CHECKS || matches!(second, Second::Instead(_));
        if first.converged || !trapped || first.iterations == 0 {
            return first;
        }
        if again {
            word.copy_from_slice(room);
        }
        let both = |second: Outcome| Outcome { iterations: first.iterations + second.iterations, ..second };
        match second {
            Second::Anew(pass) => both(run(pass, llrs, word)),
            Second::Instead(pass) => run(pass, llrs, word),
            Second::OfDecided(pass) => both(run(pass, None, word)),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Pass> {
        let second =
            self.second.as_ref().map(|(Second::Anew(pass) | Second::Instead(pass) | Second::OfDecided(pass))| pass);
        std::iter::once(&self.first).chain(second)
    }
}
