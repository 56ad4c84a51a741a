use std::ops::Range;

use softsense_base::{Error, Result};

use super::super::QuasiCyclic;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::lanes::{Doubled, Lanes, MOST_LANES, Portable, Rotating};
use super::layout::{Layout, Place};
use super::{Correction, LEAST_LARGEST, MOST_LARGEST, RcqTables, Staircase};
use crate::{InstructionSet, Outcome, bits};

/// The largest magnitude of a message in eight bits.
pub(in crate::ldpc) const MESSAGE_LIMIT: u8 = 127;
/// The magnitude of a hard decision beside totals that saturate or have 16 bits.
const HARD_CHANNEL: i8 = 16;
/// The largest message beside totals of eight bits that saturate.
const SATURATING_LIMIT: u8 = 40;
/// The largest magnitude of a soft decision beside them.
const SATURATING_CHANNEL: i8 = 64;
/// The weight of the heaviest column whose total fits 16 bits.
pub(super) const HEAVIEST_COLUMN: u32 = i16::MAX as u32 / MESSAGE_LIMIT as u32 - 1;
/// Circulants handled in a row without a loop's overhead: a tenth less time than one by one.
const UNROLL: usize = 4;

/// The arithmetic of a kernel.
#[derive(Debug, Clone)]
pub(super) struct Arithmetic {
    answers: Answers,
    /// The magnitude of a hard decision, and the largest of a soft one.
    channel_limit: i8,
}

/// How the two least magnitudes that a check receives become those that it sends.
#[derive(Debug, Clone)]
enum Answers {
    Corrected {
        correction: Correction,
        message_limit: u8,
    },
    /// Of each iteration, and the last of all that follow.
    Staircases(Vec<Staircase>),
}

/// [`Answers`] of one iteration.
#[derive(Clone, Copy)]
enum Answer {
    Corrected { factor_16ths: u8, offset: u8, message_limit: u8 },
    Staircase(Staircase),
}

impl Arithmetic {
    /// For hard decisions and totals that cannot exceed `largest`: 22 + 4 * 26 = 126 for columns of weight 4. Of the pairs that do
    /// not overflow there, this one took the fewest iterations; others keep the ratio of what the channel says to the largest.
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

    /// For hard decisions and totals of eight bits that saturate, at three times what a message says at most: with messages of up
    /// to 32 the codes of rate 1/4 and 1/2 took more iterations, and from 48 on totals that lost some of a sum led astray words that
    /// 16 bits correct (docs/model/ldpc-decoding.md).
    pub(super) fn saturating_hard(correction: &Correction) -> Self {
        Self::corrected(correction.clone(), HARD_CHANNEL, SATURATING_LIMIT)
    }

    /// As [`Arithmetic::saturating_hard`], for soft decisions.
    pub(super) fn saturating_soft(correction: &Correction) -> Self {
        Self::corrected(correction.soft(), SATURATING_CHANNEL, SATURATING_LIMIT)
    }

    fn corrected(correction: Correction, channel_limit: i8, message_limit: u8) -> Self {
        Self { answers: Answers::Corrected { correction, message_limit }, channel_limit }
    }

    /// For hard decisions and totals of 16 bits: messages may grow to eight times what the channel says.
    pub(super) fn wide_hard(correction: &Correction) -> Self {
        Self::corrected(correction.clone(), HARD_CHANNEL, MESSAGE_LIMIT)
    }

    /// For soft decisions, whose scale is the caller's.
    pub(super) fn wide_soft(correction: &Correction) -> Self {
        Self::corrected(correction.soft(), i8::MAX, MESSAGE_LIMIT)
    }

    /// For messages of few bits.
    pub(super) fn of_tables(tables: &RcqTables) -> Self {
        Self { answers: Answers::Staircases(tables.staircases.clone()), channel_limit: tables.channel_limit as i8 }
    }

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

pub(super) trait Kernel: Send {
    /// Decodes `llrs`, or without them the hard decisions in `word`, into `word`.
    fn decode(&mut self, arithmetic: &Arithmetic, llrs: Option<&[i8]>, max_iterations: u32, word: &mut [u8])
    -> Outcome;
}

/// The kernel of an instruction set whose vectors divide the circulants, with totals of 8 bits or of 16.
pub(super) fn compile(code: &QuasiCyclic, instructions: InstructionSet, narrow: bool) -> Box<dyn Kernel> {
    fn of<V: Lanes + 'static, T: Totals<V> + 'static>(code: &QuasiCyclic) -> Box<dyn Kernel>
    where
        Compiled<V, T>: Kernel,
    {
        Box::new(Compiled::<V, T>::new(code))
    }
    match (instructions, narrow) {
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx512, true) => of::<Avx512, Narrow>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx512, false) => of::<Avx512, WideInOrder>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx2, true) => of::<Avx2, Narrow>(code),
        #[cfg(target_arch = "x86_64")]
        (InstructionSet::Avx2, false) => of::<Avx2, Wide>(code),
        (_, true) => of::<Portable, Narrow>(code),
        (_, false) => of::<Portable, Wide>(code),
    }
}

/// Lanes in a vector of an instruction set.
pub(super) fn lanes(instructions: InstructionSet) -> usize {
    match instructions {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => Avx512::COUNT,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => Avx2::COUNT,
        _ => Portable::COUNT,
    }
}

/// How a-posteriori values are held.
trait Totals<V: Lanes> {
    /// Those of a vector of bits.
    type Stored: Copy + Send;
    /// What is kept of a vector of extrinsic values until its message is sent.
    type Kept: Copy + Send;
    /// Whether the bits of a vector stay in their order. Otherwise they are left in that of the checks that met them last.
    const IN_ORDER: bool;
    /// Messages are held as many larger, modulo 256.
    const OFFSET: i8;

    /// What the channel says.
    fn received(llrs: V) -> Self::Stored;
    /// Takes what is held as `message` away from `total`; lane `rotation` of the bits is that of the first check.
    fn gather(total: &mut Self::Stored, rotation: u32, message: V) -> Self::Kept;
    /// An extrinsic value, saturated to eight bits, in the order of the checks.
    fn value(kept: Self::Kept) -> V;
    /// Adds what is to be held as `message`, in the order of the checks, to `total`, and gives it as it is held.
    fn send(total: &mut Self::Stored, rotation: u32, kept: Self::Kept, message: V) -> V;
    /// Values with the signs of `total`, in the order of the checks.
    fn signs(total: &Self::Stored, rotation: u32) -> V;
}

/// Eight bits, as wide as messages: a value that does not fit is the largest that does.
struct Narrow;

impl<V: Lanes> Totals<V> for Narrow {
    type Stored = V::Stored;
    type Kept = V;
    const IN_ORDER: bool = false;
    const OFFSET: i8 = 0;

    #[inline(always)]
    fn received(llrs: V) -> V::Stored {
        llrs.store()
    }

    #[inline(always)]
    fn gather(total: &mut V::Stored, rotation: u32, message: V) -> V {
        V::load(total, rotation).subtract_saturating(message)
    }

    #[inline(always)]
    fn value(kept: V) -> V {
        kept
    }

    #[inline(always)]
    fn send(total: &mut V::Stored, _: u32, kept: V, message: V) -> V {
        *total = kept.add_saturating(message).store();
        message
    }

    #[inline(always)]
    fn signs(total: &V::Stored, rotation: u32) -> V {
        V::load(total, rotation)
    }
}

/// What messages are held larger by beside totals of 16 bits, which are larger by as much: they are then widened without a sign.
const WIDE_OFFSET: i8 = i8::MIN;

/// Sixteen bits, stored so that any rotation can be read.
struct Wide;

impl<V: Doubled> Totals<V> for Wide {
    type Stored = V::StoredWide;
    type Kept = V::Wide;
    const IN_ORDER: bool = false;
    const OFFSET: i8 = WIDE_OFFSET;

    #[inline(always)]
    fn received(llrs: V) -> V::StoredWide {
        V::store_wide(V::add_wide(llrs.widen_in_order(), V::splat(WIDE_OFFSET)))
    }

    #[inline(always)]
    fn gather(total: &mut V::StoredWide, rotation: u32, message: V) -> V::Wide {
        V::subtract_wide(V::load_wide(total, rotation), message)
    }

    #[inline(always)]
    fn value(kept: V::Wide) -> V {
        V::narrow(kept)
    }

    #[inline(always)]
    fn send(total: &mut V::StoredWide, _: u32, kept: V::Wide, message: V) -> V {
        *total = V::store_wide(V::add_wide(kept, message));
        message
    }

    #[inline(always)]
    fn signs(total: &V::StoredWide, rotation: u32) -> V {
        V::narrow_in_order(V::subtract_wide(V::load_wide(total, rotation), V::splat(WIDE_OFFSET)))
    }
}

/// Sixteen bits that stay in their order: messages, which are half as wide, are rotated instead, to the checks and back.
struct WideInOrder;

impl<V: Rotating> Totals<V> for WideInOrder {
    type Stored = V::Wide;
    type Kept = V;
    const IN_ORDER: bool = true;
    const OFFSET: i8 = WIDE_OFFSET;

    #[inline(always)]
    fn received(llrs: V) -> V::Wide {
        V::add_wide(llrs.widen(), V::splat(WIDE_OFFSET))
    }

    /// Leaves the extrinsic values in `total`.
    #[inline(always)]
    fn gather(total: &mut V::Wide, rotation: u32, message: V) -> V {
        *total = V::subtract_wide(*total, message);
        V::narrow(*total).rotate(rotation)
    }

    #[inline(always)]
    fn value(kept: V) -> V {
        kept
    }

    #[inline(always)]
    fn send(total: &mut V::Wide, rotation: u32, _: V, message: V) -> V {
        let message = message.rotate(V::COUNT as u32 - rotation);
        *total = V::add_wide(*total, message);
        message
    }

    #[inline(always)]
    fn signs(total: &V::Wide, rotation: u32) -> V {
        V::narrow(V::subtract_wide(*total, V::splat(WIDE_OFFSET))).rotate(rotation)
    }
}

/// The state of one kernel: `V` are its vectors, `T` how it holds a-posteriori values.
struct Compiled<V: Lanes, T: Totals<V>> {
    layout: Layout,
    /// A-posteriori values.
    totals: Vec<T::Stored>,
    /// For each block row, vector of its checks, and circulant: the messages to the bits.
    messages: Vec<V>,
    /// Of the extrinsic values of the checks at hand.
    kept: [Vec<T::Kept>; 2],
    /// The vector of checks in which a violated one was last found.
    suspect: usize,
}

impl<V: Lanes, T: Totals<V>> Compiled<V, T> {
    fn new(code: &QuasiCyclic) -> Self {
        let layout = Layout::new(code, V::COUNT, T::IN_ORDER);
        let total = T::received(V::splat(0));
        let kept = T::gather(&mut total.clone(), 0, V::splat(T::OFFSET));
        Self {
            kept: [(); 2].map(|()| vec![kept; layout.row_weights.iter().copied().max().unwrap_or(0)]),
            totals: vec![total; code.columns() * layout.vectors],
            messages: vec![V::splat(0); layout.places.len()],
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
    ) -> Outcome {
        match llrs {
            Some(llrs) => self.receive_soft(llrs, arithmetic.channel_limit),
            None => self.receive_hard(word, arithmetic.channel_limit),
        }
        let stages = self.layout.stages.len();
        let (mut stage, mut iterations) = (0, 0);
        let mut converged = self.converged(stage);
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
                // Within the first iteration some block columns are still in their natural order, which no stage describes.
                converged = (iterations > 0 || next + 1 == stages) && self.converged(stage);
                if converged {
                    break;
                }
            }
            iterations += 1;
        }
        self.report(stage, word);
        let syndrome_weight = if converged { 0 } else { self.syndrome_weight(stage) };
        Outcome { converged, iterations, syndrome_weight }
    }

    /// Sets the a-posteriori values to what hard decisions say.
    ///
    /// Bit `lane * vectors + vector` of a block column is lane `lane` of vector `vector`: eight vectors, or all if they are one, two or
    /// four, share a byte of each lane.
    #[inline(always)]
    fn receive_hard(&mut self, word: &[u8], limit: i8) {
        let Layout { circulant_size: size, vectors, .. } = self.layout;
        for (column, totals) in self.totals.chunks_exact_mut(vectors).enumerate() {
            let mut lanes = [0; MOST_LANES];
            let Some(sharing) = sharing(vectors) else {
                for (vector, total) in totals.iter_mut().enumerate() {
                    for (lane, value) in lanes[..V::COUNT].iter_mut().enumerate() {
                        let bit = bits::get(word, column * size + lane * vectors + vector);
                        *value = if bit { -limit } else { limit };
                    }
                    *total = T::received(V::from_lanes(&lanes));
                }
                continue;
            };
            let packed = &word[column * size / 8..][..size / 8];
            for (group, totals) in totals.chunks_exact_mut(sharing).enumerate() {
                if vectors == 8 {
                    lanes[..V::COUNT].copy_from_slice(bytemuck::cast_slice(packed));
                } else {
                    for (lane, byte) in lanes[..V::COUNT].iter_mut().enumerate() {
                        let bit = lane * vectors + 8 * group;
                        *byte = (packed[bit / 8] << (bit % 8)) as i8;
                    }
                }
                let bytes = V::from_lanes(&lanes);
                for (vector, total) in totals.iter_mut().enumerate() {
                    *total = T::received(V::from_bits(bytes, 0x80 >> vector, limit));
                }
            }
        }
    }

    /// Sets the a-posteriori values to log-likelihood ratios.
    #[inline(always)]
    fn receive_soft(&mut self, llrs: &[i8], limit: i8) {
        let Layout { circulant_size: size, vectors, .. } = self.layout;
        for (llrs, totals) in llrs.chunks_exact(size).zip(self.totals.chunks_exact_mut(vectors)) {
            let mut rows = [[0; MOST_LANES]; 8];
            for (vector, total) in totals.iter_mut().enumerate() {
                // Squares of eight lanes and eight vectors are transposed at once where they are whole.
                if vectors % 8 == 0 && vector % 8 == 0 {
                    for (square, llrs) in llrs.chunks_exact(8 * vectors).enumerate() {
                        let mut lanes = [0; 8];
                        for (lane, llrs) in lanes.iter_mut().zip(llrs.chunks_exact(vectors)) {
                            *lane = u64::from_le_bytes(bytemuck::cast(
                                *llrs[vector..].first_chunk::<8>().expect("8 vectors"),
                            ));
                        }
                        for (row, lanes) in rows.iter_mut().zip(transpose(lanes)) {
                            row[8 * square..][..8].copy_from_slice(bytemuck::cast_slice(&lanes.to_le_bytes()));
                        }
                    }
                } else if vectors % 8 != 0 {
                    let (row, llrs) = (&mut rows[vector % 8][..V::COUNT], &llrs[vector..]);
                    match vectors {
                        1 => row.copy_from_slice(llrs),
                        2 => every::<2>(llrs, row),
                        4 => every::<4>(llrs, row),
                        _ => {
                            for (lane, llr) in row.iter_mut().zip(llrs.iter().step_by(vectors)) {
                                *lane = *llr;
                            }
                        }
                    }
                }
                let lanes = rows[vector % 8].map(|llr: i8| llr.clamp(-limit, limit));
                *total = T::received(V::from_lanes(&lanes));
            }
        }
    }

    /// The checks of block rows `rows`, one block row after the other.
    #[inline(always)]
    fn update<const FIRST: bool>(&mut self, rows: Range<usize>, answer: Answer) {
        let totals = &mut self.totals[..];
        let places = if FIRST { &self.layout.first_places } else { &self.layout.places };
        for row in rows {
            let weight = self.layout.row_weights[row];
            let vectors = self.layout.vectors;
            let start = self.layout.row_starts[row];
            let places = &places[start..][..vectors * weight];
            let messages = &mut self.messages[start..][..vectors * weight];
            let [mut now, mut next] = self.kept.each_mut().map(|kept| &mut kept[..weight]);
            // The messages of a vector of checks are sent while the next is gathered: that keeps all units of a CPU busy.
            let (mut places, mut messages) = (places, messages);
            let mut least = Least::new();
            gather::<V, T, FIRST>(totals, &places[..weight], &messages[..weight], now, &mut least);
            for _ in 1..vectors {
                let sending = least.sending::<T>(answer);
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
            let sending = least.sending::<T>(answer);
            send::<V, T>(totals, places, messages, now, &sending);
        }
    }

    /// For each vector of checks of block row `row`, those that the decisions violate are negative.
    #[inline(always)]
    fn parity(&self, stage: usize, row: usize, vector: usize) -> V {
        let weight = self.layout.row_weights[row];
        let start = self.layout.row_starts[row] + vector * weight;
        let (groups, rest) = self.layout.stages[stage].checks[start..][..weight].as_chunks::<UNROLL>();
        let value = |place: Place| T::signs(stored(&self.totals, place), place.rotation());
        let mut sign = V::splat(0);
        for &[a, b, c, d] in groups {
            sign = sign.xor(value(a).xor(value(b)).xor(value(c).xor(value(d))));
        }
        for &place in rest {
            sign = sign.xor(value(place));
        }
        sign
    }

    /// Whether the decisions satisfy every check. Looks first where it last found one violated, and seldom further.
    #[inline(always)]
    fn converged(&mut self, stage: usize) -> bool {
        let vectors = self.layout.vectors;
        let all = self.layout.row_weights.len() * vectors;
        for _ in 0..all {
            if self.parity(stage, self.suspect / vectors, self.suspect % vectors).signs() != 0 {
                return false;
            }
            self.suspect = (self.suspect + 1) % all;
        }
        true
    }

    /// How many checks the decisions violate.
    #[inline(always)]
    fn syndrome_weight(&self, stage: usize) -> u32 {
        let mut weight = 0;
        for row in 0..self.layout.row_weights.len() {
            for vector in 0..self.layout.vectors {
                weight += self.parity(stage, row, vector).signs().count_ones();
            }
        }
        weight
    }

    /// Writes the decided word, packed.
    #[inline(always)]
    fn report(&self, stage: usize, word: &mut [u8]) {
        let Layout { circulant_size: size, vectors, .. } = self.layout;
        for (column, places) in self.layout.stages[stage].bits.chunks_exact(vectors).enumerate() {
            let Some(sharing) = sharing(vectors) else {
                for (vector, &place) in places.iter().enumerate() {
                    let signs = T::signs(stored(&self.totals, place), place.rotation());
                    for (lane, value) in signs.lanes()[..V::COUNT].iter().enumerate() {
                        bits::set(word, column * size + lane * vectors + vector, *value < 0);
                    }
                }
                continue;
            };
            let packed = &mut word[column * size / 8..][..size / 8];
            packed.fill(0);
            for (group, places) in places.chunks_exact(sharing).enumerate() {
                let mut bytes = V::splat(0);
                for (vector, &place) in places.iter().enumerate() {
                    let signs = T::signs(stored(&self.totals, place), place.rotation());
                    bytes = signs.collect_signs(0x80 >> vector, bytes);
                }
                let bytes = bytes.lanes();
                if vectors == 8 {
                    packed.copy_from_slice(bytemuck::cast_slice(&bytes[..V::COUNT]));
                } else {
                    for (lane, &byte) in bytes[..V::COUNT].iter().enumerate() {
                        let bit = lane * vectors + 8 * group;
                        packed[bit / 8] |= byte as u8 >> (bit % 8);
                    }
                }
            }
        }
    }
}

/// How many vectors share a byte of a lane in packed words; `None` where bytes go across lanes.
#[inline(always)]
fn sharing(vectors: usize) -> Option<usize> {
    if vectors.is_multiple_of(8) || 8 % vectors == 0 { Some(vectors.min(8)) } else { None }
}

/// Every so manieth ratio: at a constant distance the compiler takes many at once.
#[inline(always)]
fn every<const DISTANCE: usize>(llrs: &[i8], lanes: &mut [i8]) {
    let llrs = &llrs[..(lanes.len() - 1) * DISTANCE + 1];
    for lane in 0..lanes.len() {
        lanes[lane] = llrs[lane * DISTANCE];
    }
}

/// Transposes a square of bytes: byte `j` of word `i` becomes byte `i` of word `j`.
#[inline(always)]
fn transpose(mut words: [u64; 8]) -> [u64; 8] {
    // Distances are constants so that every loop is unrolled.
    #[inline(always)]
    fn exchange<const DISTANCE: usize>(words: &mut [u64; 8], mask: u64) {
        for index in 0..8 {
            if index & DISTANCE == 0 {
                let differing = (words[index] >> (8 * DISTANCE) ^ words[index + DISTANCE]) & mask;
                words[index + DISTANCE] ^= differing;
                words[index] ^= differing << (8 * DISTANCE);
            }
        }
    }
    exchange::<4>(&mut words, 0x0000_0000_ffff_ffff);
    exchange::<2>(&mut words, 0x0000_ffff_0000_ffff);
    exchange::<1>(&mut words, 0x00ff_00ff_00ff_00ff);
    words
}

/// The vector at a place. Bounds were checked when the layout was made; checking again took 3 % of a decoder's time.
#[inline(always)]
#[allow(unsafe_code)]
fn stored<S>(totals: &[S], place: Place) -> &S {
    debug_assert!(place.slot() < totals.len());
    // SAFETY: `Layout::new` makes places of slots below columns * vectors, and `Compiled::new` as many totals.
    unsafe { totals.get_unchecked(place.slot()) }
}

/// As [`stored`].
#[inline(always)]
#[allow(unsafe_code)]
fn stored_mut<S>(totals: &mut [S], place: Place) -> &mut S {
    debug_assert!(place.slot() < totals.len());
    // SAFETY: as in `stored`.
    unsafe { totals.get_unchecked_mut(place.slot()) }
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

/// What a check has to know of the values it receives.
struct Least<V> {
    first: V,
    second: V,
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
        let kept = T::gather(stored_mut(totals, place), place.rotation(), message);
        let value = T::value(kept);
        let magnitude = value.abs();
        self.second = self.second.min(self.first.max(magnitude));
        self.first = self.first.min(magnitude);
        self.sign = self.sign.xor(value);
        kept
    }

    #[inline(always)]
    fn sending<T: Totals<V>>(self, answer: Answer) -> Sending<V> {
        // Without closures, which would not be compiled for the instructions of the kernel.
        let (first, second) = match answer {
            Answer::Corrected { factor_16ths: factor, offset, message_limit: limit } => {
                (self.first.correct(factor, offset, limit), self.second.correct(factor, offset, limit))
            }
            Answer::Staircase(staircase) => {
                let (lowest, steps) = (staircase.lowest, staircase.steps());
                (self.first.climb(lowest, steps), self.second.climb(lowest, steps))
            }
        };
        // A negative of what is held is what is held of the negative, as twice the offset is nothing.
        Sending {
            first: self.first,
            common: first.negate_where_negative(self.sign).add(V::splat(T::OFFSET)),
            exception: second.negate_where_negative(self.sign).add(V::splat(T::OFFSET)),
        }
    }
}

/// What a check sends.
struct Sending<V> {
    first: V,
    common: V,
    exception: V,
}

impl<V: Lanes> Sending<V> {
    #[inline(always)]
    fn send<T: Totals<V>>(&self, totals: &mut [T::Stored], place: Place, message: &mut V, kept: T::Kept) {
        let value = T::value(kept);
        let sent = value.abs().where_equal(self.first, self.exception, self.common).negate_where_negative(value);
        *message = T::send(stored_mut(totals, place), place.rotation(), kept, sent);
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
            ) -> Outcome {
                $(#[target_feature(enable = $features)])?
                fn shell<T: Totals<$vectors>>(
                    kernel: &mut Compiled<$vectors, T>,
                    arithmetic: &Arithmetic,
                    llrs: Option<&[i8]>,
                    max_iterations: u32,
                    word: &mut [u8],
                ) -> Outcome {
                    Compiled::decode(kernel, arithmetic, llrs, max_iterations, word)
                }
                // SAFETY: `MinSum::new` makes a kernel only for instructions that `InstructionSet::available` has found.
                #[allow(unsafe_code, unused_unsafe)]
                unsafe {
                    shell(self, arithmetic, llrs, max_iterations, word)
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
