//! The kernel of the min-sum decoder: its loops, compiled once for each instruction set and width of integers. The rule that it computes,
//! and why these integers, are in docs/model/ldpc-decoding.md.
//!
//! - *Totals* are a-posteriori values: of each bit, the channel's value plus all messages to the bit. The sign is the decision.
//! - A check *gathers*: it subtracts from the totals of its bits the messages that it sent last, which leaves *extrinsic* values, what all
//!   others say of the bit. It *sends* new messages, and they are added again.
//! - The *magnitude* of a message is its absolute value. All values are integers without a unit.
//! - A *vector* has the values of as many checks of a block row (or bits of a block column) as the CPU handles in one instruction, one in
//!   each *lane*. A [`Place`] says where in memory the bits are that a vector of checks meets in one circulant.

use std::ops::Range;

use softsense_base::{Error, Result};

use super::super::QuasiCyclic;
use super::contiguous::Contiguous;
use super::dealt::{Dealt, Narrow, Wide, WideInOrder};
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::lanes::{Lanes, MOST_LANES, Portable};
use super::layout::{Layout, Place};
use super::{Correction, LEAST_LARGEST, MOST_LARGEST, MessageFacts, RcqTables, Staircase};
use crate::{InstructionSet, Outcome};

/// The largest magnitude of a message in eight bits.
pub(in crate::ldpc) const MESSAGE_LIMIT: u8 = 127;
/// The magnitude of the channel's value of a hard decision, where totals saturate or have 16 bits.
const HARD_CHANNEL: i8 = 16;
/// The largest message where totals have eight bits and saturate at -128 and 127.
const SATURATING_LIMIT: u8 = 40;
/// The largest magnitude of a soft decision (a log-likelihood ratio) where totals have eight bits and saturate.
const SATURATING_CHANNEL: i8 = 64;
/// The weight of the heaviest column (checks of a bit) whose total fits 16 bits.
pub(super) const HEAVIEST_COLUMN: u32 = i16::MAX as u32 / MESSAGE_LIMIT as u32 - 1;
/// Number of circulants that are handled in a row without a loop's overhead: a tenth less time than one by one.
const UNROLL: usize = 4;

/// The arithmetic of a kernel: limits of magnitudes, and the rule by which checks answer.
#[derive(Debug, Clone)]
pub(super) struct Arithmetic {
    answers: Answers,
    /// The magnitude of a hard decision, and the largest of a soft one.
    channel_limit: i8,
}

/// The rule that turns the two least magnitudes that a check receives into those that it sends.
#[derive(Debug, Clone)]
enum Answers {
    Corrected {
        correction: Correction,
        message_limit: u8,
    },
    /// Messages of few bits: the staircase of each iteration, a table from the least magnitude to the magnitude that is sent. The last
    /// staircase holds for all iterations that follow.
    Staircases(Vec<Staircase>),
}

/// The [`Answers`] of one iteration.
#[derive(Clone, Copy)]
enum Answer {
    Corrected { factor_16ths: u8, offset: u8, message_limit: u8 },
    Staircase(Staircase),
}

impl Arithmetic {
    /// The arithmetic for hard decisions and totals that cannot exceed `largest`. For columns of weight 4 a magnitude of the channel of 22
    /// and messages of up to 26 make 22 + 4 * 26 = 126. Among the pairs that do not overflow eight bits there, this one took the fewest
    /// iterations. Other values of `largest` keep the ratio of the channel's magnitude to it.
    pub(super) fn bounded(correction: &Correction, heaviest_column: u32, largest: u8) -> Result<Self> {
        if !(LEAST_LARGEST..=MOST_LARGEST).contains(&largest) {
            let expected = format!("expected {LEAST_LARGEST} to {MOST_LARGEST}");
            return Err(Error::code("largest", format!("found an a-posteriori magnitude of {largest}, {expected}")));
        }
        let channel_limit = (u32::from(largest) * 22 + 63) / 126;
        let message_limit = (u32::from(largest) - channel_limit) / heaviest_column.max(1);
        if message_limit == 0 {
            let found =
                format!("found a-posteriori magnitudes of up to {largest} for a column of weight {heaviest_column}");
            return Err(Error::code("", format!("{found}, expected room for a message of each of its checks")));
        }
        Ok(Self::corrected(correction.clone(), channel_limit as i8, message_limit as u8))
    }

    /// The arithmetic for hard decisions and totals of eight bits that saturate, at three times the largest message. With messages of up to
    /// 32 the codes of rate 1/4 and 1/2 took more iterations. From 48 on totals lost some of a sum, which led words astray that 16 bits
    /// correct (docs/model/ldpc-decoding.md).
    pub(super) fn saturating_hard(correction: &Correction) -> Self {
        Self::corrected(correction.clone(), HARD_CHANNEL, SATURATING_LIMIT)
    }

    /// The arithmetic of [`Arithmetic::saturating_hard`], for soft decisions.
    pub(super) fn saturating_soft(correction: &Correction) -> Self {
        Self::corrected(correction.soft(), SATURATING_CHANNEL, SATURATING_LIMIT)
    }

    fn corrected(correction: Correction, channel_limit: i8, message_limit: u8) -> Self {
        Self { answers: Answers::Corrected { correction, message_limit }, channel_limit }
    }

    /// The arithmetic for hard decisions and totals of 16 bits: messages may grow to eight times the channel's magnitude.
    pub(super) fn wide_hard(correction: &Correction) -> Self {
        Self::corrected(correction.clone(), HARD_CHANNEL, MESSAGE_LIMIT)
    }

    /// The arithmetic for soft decisions and totals of 16 bits. The caller chooses the scale of soft decisions.
    pub(super) fn wide_soft(correction: &Correction) -> Self {
        Self::corrected(correction.soft(), i8::MAX, MESSAGE_LIMIT)
    }

    /// The arithmetic for messages of few bits (docs/few-bit-decoders.md).
    pub(super) fn of_tables(tables: &RcqTables) -> Self {
        Self { answers: Answers::Staircases(tables.staircases.clone()), channel_limit: tables.channel_limit as i8 }
    }

    /// The numbers of the arithmetic, for somebody who builds the decoder.
    pub(super) fn facts(&self) -> (u8, MessageFacts) {
        let messages = match &self.answers {
            Answers::Corrected { correction, message_limit } => MessageFacts::Corrected {
                factors_16ths: correction.factors_16ths.clone(),
                offset: correction.offset,
                limit: *message_limit,
            },
            Answers::Staircases(all) => MessageFacts::Staircases(all.clone()),
        };
        (self.channel_limit as u8, messages)
    }

    /// The rule of an iteration, numbered from 0.
    fn answer(&self, iteration: u32) -> Answer {
        match &self.answers {
            Answers::Corrected { correction, message_limit } => Answer::Corrected {
                factor_16ths: correction.factor_16ths(iteration),
                offset: correction.offset,
                message_limit: *message_limit,
            },
            Answers::Staircases(all) => Answer::Staircase(all[(iteration as usize).min(all.len() - 1)]),
        }
    }
}

/// A decoder of one code, for one instruction set, width of totals and order of bits.
pub(super) trait Kernel: Send {
    /// Decodes `llrs`, or without them the hard decisions in `word`, into `word`, packed. With [`Order::Contiguous`] the state is given to
    /// `watch` for the received word and after each iteration; with another order it is not.
    fn decode(
        &mut self,
        arithmetic: &Arithmetic,
        llrs: Option<&[i8]>,
        max_iterations: u32,
        word: &mut [u8],
        watch: Watch<'_>,
    ) -> Outcome;
}

/// A function that is shown the state of a kernel; none where nobody looks.
pub(super) type Watch<'a> = Option<&'a mut dyn FnMut(State)>;

/// The state of a kernel, of bits and checks in their natural order.
pub(super) struct State {
    /// Number of iterations begun.
    pub(super) iteration: u32,
    /// Number of checks that the decisions violate.
    pub(super) syndrome_weight: u32,
    /// A-posteriori values of the bits.
    pub(super) posteriors: Vec<i16>,
    /// Messages to the bits, by circulant (by block row and block column) and check.
    pub(super) messages: Vec<i8>,
}

/// The order of the bits of a block column in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// [`Dealt`]: bits are dealt to vectors like cards, so that a shifted circulant maps whole vectors to whole vectors. The size of
    /// circulants has to be a multiple of the number of lanes.
    Dealt,
    /// [`Contiguous`]: bits lie in their natural order.
    Contiguous,
}

/// The kernel of an instruction set, with totals of 8 bits (`narrow`) or of 16.
pub(super) fn compile(code: &QuasiCyclic, instructions: InstructionSet, order: Order, narrow: bool) -> Box<dyn Kernel> {
    fn of<V: Lanes + 'static, T: Totals<V> + 'static>(code: &QuasiCyclic) -> Box<dyn Kernel>
    where
        Compiled<V, T>: Kernel,
    {
        Box::new(Compiled::<V, T>::new(code))
    }
    use Order::{Contiguous as InARow, Dealt as InTurn};
    match (instructions, order, narrow) {
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx512, InTurn, true) => of::<Avx512, Dealt<Narrow>>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx512, InTurn, false) => of::<Avx512, Dealt<WideInOrder>>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx512, InARow, true) => of::<Avx512, Contiguous<i8>>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx512, InARow, false) => of::<Avx512, Contiguous<i16>>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx2, InTurn, true) => of::<Avx2, Dealt<Narrow>>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx2, InTurn, false) => of::<Avx2, Dealt<Wide>>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx2, InARow, true) => of::<Avx2, Contiguous<i8>>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx2, InARow, false) => of::<Avx2, Contiguous<i16>>(code),
        (_, InTurn, true) => of::<Portable, Dealt<Narrow>>(code),
        (_, InTurn, false) => of::<Portable, Dealt<Wide>>(code),
        (_, InARow, true) => of::<Portable, Contiguous<i8>>(code),
        (_, InARow, false) => of::<Portable, Contiguous<i16>>(code),
    }
}

/// The number of lanes in a vector of an instruction set.
pub(super) fn lanes(instructions: InstructionSet) -> usize {
    match instructions {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => Avx512::COUNT,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => Avx2::COUNT,
        _ => Portable::COUNT,
    }
}

/// The storage of a-posteriori values, for vectors of `V` checks.
pub(super) trait Totals<V: Lanes> {
    /// The contents of a place in memory: a vector of totals, or one total.
    type Stored: Copy + Send;
    /// The values that are kept of a vector of extrinsic values until its message is sent.
    type Kept: Copy + Send;
    /// The offset of stored messages: they are larger by this number, modulo 256. It is -128, the same as 128, beside totals of 16 bits, so
    /// that messages are widened without regard to their sign. The totals are held larger by 128, too, so that it cancels.
    const OFFSET: i8;

    /// The layout of the bits of a code.
    fn layout(code: &QuasiCyclic) -> Layout;
    /// Memory for the values.
    fn room(layout: &Layout) -> Vec<Self::Stored>;
    /// Ones for the first `active` checks of a vector, zeros elsewhere.
    fn first_lanes(active: usize) -> V;

    /// Sets the a-posteriori values to those of hard decisions.
    fn receive_hard(totals: &mut [Self::Stored], layout: &Layout, word: &[u8], limit: i8);
    /// Sets the a-posteriori values to log-likelihood ratios.
    fn receive_soft(totals: &mut [Self::Stored], layout: &Layout, llrs: &[i8], limit: i8);
    /// Subtracts the stored `message`, the last one, from the values at a place: the extrinsic values.
    fn gather(totals: &mut [Self::Stored], place: Place, message: V) -> Self::Kept;
    /// The extrinsic values, saturated to eight bits.
    fn value(kept: Self::Kept) -> V;
    /// Adds the message that is to be stored as `message` to the values at a place of circulants of `size`. Returns it as it is stored.
    fn send(totals: &mut [Self::Stored], place: Place, size: usize, kept: Self::Kept, message: V) -> V;
    /// Values with the signs of the values at a place: the decisions.
    fn signs(totals: &[Self::Stored], place: Place) -> V;
    /// The a-posteriori values in the order of the bits, if they lie in this order.
    fn in_order(_: &[Self::Stored], _: &Layout) -> Option<Vec<i16>> {
        None
    }
    /// A vector of messages in the order of the checks.
    fn messages(message: V) -> [i8; MOST_LANES] {
        message.lanes()
    }
    /// Writes the decided word, packed.
    fn report(totals: &[Self::Stored], layout: &Layout, stage: usize, word: &mut [u8]);
}

/// The state of one kernel: `V` are its vectors, `T` is its storage of a-posteriori values.
struct Compiled<V: Lanes, T: Totals<V>> {
    layout: Layout,
    /// A-posteriori values.
    totals: Vec<T::Stored>,
    /// The messages to the bits, for each block row, vector of its checks, and circulant.
    messages: Vec<V>,
    /// The values that are kept of the extrinsic values, for two vectors of checks: one is gathered while the messages of the other are
    /// sent.
    kept: [Vec<T::Kept>; 2],
    /// Ones for the checks of the last vector of a block row.
    last: V,
    /// The vector of checks, numbered over all block rows, in which a violated check was last found.
    suspect: usize,
}

impl<V: Lanes, T: Totals<V>> Compiled<V, T> {
    fn new(code: &QuasiCyclic) -> Self {
        let layout = T::layout(code);
        let mut totals = T::room(&layout);
        let kept = T::gather(&mut totals, layout.places[0], V::splat(T::OFFSET));
        Self {
            kept: [(); 2].map(|()| vec![kept; layout.row_weights.iter().copied().max().unwrap_or(0)]),
            totals,
            messages: vec![V::splat(0); layout.places.len()],
            last: T::first_lanes(layout.last_checks),
            suspect: 0,
            layout,
        }
    }

    #[inline(always)]
    fn decode(
        &mut self,
        arithmetic: &Arithmetic,
        llrs: Option<&[i8]>,
        max_iterations: u32,
        word: &mut [u8],
        mut watch: Watch<'_>,
    ) -> Outcome {
        match llrs {
            Some(llrs) => T::receive_soft(&mut self.totals, &self.layout, llrs, arithmetic.channel_limit),
            None => T::receive_hard(&mut self.totals, &self.layout, word, arithmetic.channel_limit),
        }
        let stages = self.layout.stages.len();
        let (mut stage, mut iterations) = (0, 0);
        let mut converged = self.converged(stage);
        self.tell(&mut watch, iterations, stage);
        while !converged && iterations < max_iterations {
            let answer = arithmetic.answer(iterations);
            for next in 1..stages {
                let rows = self.layout.stages[next - 1].rows..self.layout.stages[next].rows;
                if iterations == 0 {
                    self.update::<true>(rows, answer);
                } else {
                    self.update::<false>(rows, answer);
                }
                stage = next;
                // A stage says where the bits of each check lie. Within the first iteration some block columns are still in their natural
                // order, which no stage describes.
                converged = (iterations > 0 || next + 1 == stages) && self.converged(stage);
                if converged {
                    break;
                }
            }
            iterations += 1;
            self.tell(&mut watch, iterations, stage);
        }
        T::report(&self.totals, &self.layout, stage, word);
        let syndrome_weight = if converged { 0 } else { self.syndrome_weight(stage) };
        Outcome { converged, iterations, syndrome_weight }
    }

    /// Shows the state to `watch`, if the bits lie in their natural order.
    #[inline(always)]
    fn tell(&self, watch: &mut Watch<'_>, iteration: u32, stage: usize) {
        if let Some(watch) = watch
            && let Some(posteriors) = T::in_order(&self.totals, &self.layout)
        {
            let syndrome_weight = self.syndrome_weight(stage);
            watch(State { iteration, syndrome_weight, posteriors, messages: self.messages_in_order(iteration == 0) });
        }
    }

    /// The messages of the checks of each circulant, by block row and block column. They are 0 before the first iteration.
    fn messages_in_order(&self, none: bool) -> Vec<i8> {
        let Layout { circulant_size: size, vectors, ref row_weights, ref row_starts, .. } = self.layout;
        let mut messages = Vec::with_capacity(row_weights.iter().sum::<usize>() * size);
        for (&weight, &start) in row_weights.iter().zip(row_starts) {
            for circulant in 0..weight {
                let end = messages.len() + size;
                for vector in 0..vectors {
                    let lanes = T::messages(self.messages[start + vector * weight + circulant]);
                    let checks = V::COUNT.min(end - messages.len());
                    messages.extend(lanes[..checks].iter().map(|held| held.wrapping_sub(T::OFFSET)));
                }
            }
        }
        if none {
            messages.fill(0);
        }
        messages
    }

    /// Processes the checks of block rows `rows`, one block row after the other. In the `FIRST` iteration no messages have
    /// been sent, and 0 is subtracted.
    #[inline(always)]
    fn update<const FIRST: bool>(&mut self, rows: Range<usize>, answer: Answer) {
        let (totals, size, all) = (&mut self.totals[..], self.layout.circulant_size, V::splat(-1));
        let places = if FIRST { &self.layout.first_places } else { &self.layout.places };
        for row in rows {
            let weight = self.layout.row_weights[row];
            let vectors = self.layout.vectors;
            let start = self.layout.row_starts[row];
            let places = &places[start..][..vectors * weight];
            let messages = &mut self.messages[start..][..vectors * weight];
            let [mut now, mut next] = self.kept.each_mut().map(|kept| &mut kept[..weight]);
            // The messages of a vector of checks are sent while the next is gathered, which keeps all units of a CPU busy.
            let (mut places, mut messages) = (places, messages);
            let mut least = Least::new();
            gather::<V, T, FIRST>(totals, &places[..weight], &messages[..weight], now, &mut least);
            for _ in 1..vectors {
                let sending = least.sending::<T>(answer, size, all);
                least = Least::new();
                let (sent_places, gathered_places) = places.split_at(weight);
                let (sent_messages, gathered_messages) = messages.split_at_mut(weight);
                let sent = (
                    sent_places.as_chunks::<UNROLL>(),
                    sent_messages.as_chunks_mut::<UNROLL>(),
                    now.as_chunks::<UNROLL>(),
                );
                let gathered = (
                    gathered_places[..weight].as_chunks::<UNROLL>(),
                    gathered_messages[..weight].as_chunks::<UNROLL>(),
                    next.as_chunks_mut::<UNROLL>(),
                );
                let sends = sent.0.0.iter().zip(sent.1.0).zip(sent.2.0);
                let gathers = gathered.0.0.iter().zip(gathered.1.0).zip(gathered.2.0);
                for (((to, messages), sent), ((from, old), gathered)) in sends.zip(gathers) {
                    for index in 0..UNROLL {
                        sending.send::<T>(totals, to[index], &mut messages[index], sent[index]);
                        gathered[index] = least.gather::<T, FIRST>(totals, from[index], old[index]);
                    }
                }
                let sends = sent.0.1.iter().zip(sent.1.1).zip(sent.2.1);
                let gathers = gathered.0.1.iter().zip(gathered.1.1).zip(gathered.2.1);
                for (((&to, message), &sent), ((&from, &old), gathered)) in sends.zip(gathers) {
                    sending.send::<T>(totals, to, message, sent);
                    *gathered = least.gather::<T, FIRST>(totals, from, old);
                }
                (now, next) = (next, now);
                (places, messages) = (gathered_places, gathered_messages);
            }
            let sending = least.sending::<T>(answer, size, self.last);
            send::<V, T>(totals, places, messages, now, &sending);
        }
    }

    /// The checks of a vector of block row `row` that the decisions violate, as ones.
    #[inline(always)]
    fn violated(&self, stage: usize, row: usize, vector: usize) -> u64 {
        let weight = self.layout.row_weights[row];
        let start = self.layout.row_starts[row] + vector * weight;
        let (groups, rest) = self.layout.stages[stage].checks[start..][..weight].as_chunks::<UNROLL>();
        let value = |place: Place| T::signs(&self.totals, place);
        let mut sign = V::splat(0);
        for &[a, b, c, d] in groups {
            sign = sign.xor(value(a).xor(value(b)).xor(value(c).xor(value(d))));
        }
        for &place in rest {
            sign = sign.xor(value(place));
        }
        let checks = if vector + 1 == self.layout.vectors { self.last.signs() } else { u64::MAX };
        sign.signs() & checks
    }

    /// Tells whether the decisions satisfy every check. It begins where it last found a violated check, and seldom goes further.
    #[inline(always)]
    fn converged(&mut self, stage: usize) -> bool {
        let vectors = self.layout.vectors;
        let all = self.layout.row_weights.len() * vectors;
        for _ in 0..all {
            if self.violated(stage, self.suspect / vectors, self.suspect % vectors) != 0 {
                return false;
            }
            self.suspect = (self.suspect + 1) % all;
        }
        true
    }

    /// The number of checks that the decisions violate.
    #[inline(always)]
    fn syndrome_weight(&self, stage: usize) -> u32 {
        let mut weight = 0;
        for row in 0..self.layout.row_weights.len() {
            for vector in 0..self.layout.vectors {
                weight += self.violated(stage, row, vector).count_ones();
            }
        }
        weight
    }
}

/// Gathers the values of a vector of checks.
#[inline(always)]
fn gather<V: Lanes, T: Totals<V>, const FIRST: bool>(
    totals: &mut [T::Stored],
    places: &[Place],
    messages: &[V],
    kept: &mut [T::Kept],
    least: &mut Least<V>,
) {
    let (places, messages, kept) =
        (places.as_chunks::<UNROLL>(), messages.as_chunks::<UNROLL>(), kept.as_chunks_mut::<UNROLL>());
    for ((places, messages), kept) in places.0.iter().zip(messages.0).zip(kept.0) {
        for index in 0..UNROLL {
            kept[index] = least.gather::<T, FIRST>(totals, places[index], messages[index]);
        }
    }
    for ((&place, &message), kept) in places.1.iter().zip(messages.1).zip(kept.1) {
        *kept = least.gather::<T, FIRST>(totals, place, message);
    }
}

/// Sends the messages of a vector of checks.
#[inline(always)]
fn send<V: Lanes, T: Totals<V>>(
    totals: &mut [T::Stored],
    places: &[Place],
    messages: &mut [V],
    kept: &[T::Kept],
    sending: &Sending<V>,
) {
    let (places, messages, kept) =
        (places.as_chunks::<UNROLL>(), messages.as_chunks_mut::<UNROLL>(), kept.as_chunks::<UNROLL>());
    for ((places, messages), kept) in places.0.iter().zip(messages.0).zip(kept.0) {
        for index in 0..UNROLL {
            sending.send::<T>(totals, places[index], &mut messages[index], kept[index]);
        }
    }
    for ((&place, message), &kept) in places.1.iter().zip(messages.1).zip(kept.1) {
        sending.send::<T>(totals, place, message, kept);
    }
}

/// The properties of the extrinsic values that a check has gathered so far, which its messages follow from; for a vector of checks.
struct Least<V> {
    /// The least magnitude.
    first: V,
    /// The second least magnitude, which goes to the bit that has the least one itself.
    second: V,
    /// A value whose sign is the product of all signs.
    sign: V,
}

impl<V: Lanes> Least<V> {
    #[inline(always)]
    fn new() -> Self {
        Self { first: V::splat(127), second: V::splat(127), sign: V::splat(0) }
    }

    #[inline(always)]
    fn gather<T: Totals<V>, const FIRST: bool>(
        &mut self,
        totals: &mut [T::Stored],
        place: Place,
        message: V,
    ) -> T::Kept {
        let message = if FIRST { V::splat(T::OFFSET) } else { message };
        let kept = T::gather(totals, place, message);
        let value = T::value(kept);
        let magnitude = value.abs();
        self.second = self.second.min(self.first.max(magnitude));
        self.first = self.first.min(magnitude);
        self.sign = self.sign.xor(value);
        kept
    }

    /// The answers of the checks marked in `checks`. The message of other checks is such that the stored value stays as it is.
    #[inline(always)]
    fn sending<T: Totals<V>>(self, answer: Answer, size: usize, checks: V) -> Sending<V> {
        // There are no closures, which would not be compiled for the instructions of the kernel.
        let (first, second) = match answer {
            Answer::Corrected { factor_16ths: factor, offset, message_limit: limit } => {
                (self.first.correct(factor, offset, limit), self.second.correct(factor, offset, limit))
            }
            Answer::Staircase(staircase) => {
                let (lowest, steps) = (staircase.lowest, staircase.steps());
                (self.first.climb(lowest, steps), self.second.climb(lowest, steps))
            }
        };
        let (first, second) = (first.min(checks), second.min(checks));
        // The negative of a stored value is the stored value of the negative, because twice the offset is 0 modulo 256.
        Sending {
            size,
            first: self.first,
            common: first.negate_where_negative(self.sign).add(V::splat(T::OFFSET)),
            exception: second.negate_where_negative(self.sign).add(V::splat(T::OFFSET)),
        }
    }
}

/// The messages of a vector of checks: one for the bit with the least magnitude, another for all others.
struct Sending<V> {
    /// Size of the circulants.
    size: usize,
    /// The least magnitude, by which the bit that has it is recognised.
    first: V,
    /// The message to all other bits, as it is stored; the sign of a bit's own value is still to be taken out.
    common: V,
    /// The message to the bit with the least magnitude: that of the second least.
    exception: V,
}

impl<V: Lanes> Sending<V> {
    #[inline(always)]
    fn send<T: Totals<V>>(&self, totals: &mut [T::Stored], place: Place, message: &mut V, kept: T::Kept) {
        let value = T::value(kept);
        let sent = value.abs().where_equal(self.first, self.exception, self.common).negate_where_negative(value);
        *message = T::send(totals, place, self.size, kept, sent);
    }
}

macro_rules! kernel {
    ($vectors:ty $(, $features:literal)?) => {
        impl<T: Totals<$vectors>> Kernel for Compiled<$vectors, T> {
            fn decode(
                &mut self,
                arithmetic: &Arithmetic,
                llrs: Option<&[i8]>,
                max_iterations: u32,
                word: &mut [u8],
                watch: Watch<'_>,
            ) -> Outcome {
                $(#[target_feature(enable = $features)])?
                fn shell<T: Totals<$vectors>>(
                    kernel: &mut Compiled<$vectors, T>,
                    arithmetic: &Arithmetic,
                    llrs: Option<&[i8]>,
                    max_iterations: u32,
                    word: &mut [u8],
                    watch: Watch<'_>,
                ) -> Outcome {
                    Compiled::decode(kernel, arithmetic, llrs, max_iterations, word, watch)
                }
                // SAFETY: `MinSum::new` makes a kernel only for instructions that `InstructionSet::available` has found.
                #[allow(unsafe_code, unused_unsafe)]
                unsafe {
                    shell(self, arithmetic, llrs, max_iterations, word, watch)
                }
            }
        }
    };
}

kernel!(Portable);
#[cfg(target_arch = "x86_64")]
kernel!(Avx2, "avx2,bmi1,bmi2,popcnt,lzcnt");
#[cfg(target_arch = "x86_64")]
kernel!(Avx512, "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,bmi1,bmi2,popcnt,lzcnt");
