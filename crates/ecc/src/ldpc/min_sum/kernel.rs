use std::ops::Range;

use softsense_base::{Error, Result};

use super::super::QuasiCyclic;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::lanes::{Lanes, MOST_LANES, Portable};
use super::layout::{Layout, Place};
use super::{Correction, LEAST_LARGEST, MOST_LARGEST, RcqTables, Staircase};
use crate::{InstructionSet, Outcome, bits};

/// The largest magnitude of a message in eight bits.
pub(in crate::ldpc) const MESSAGE_LIMIT: u8 = 127;
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
    /// For totals of eight bits that cannot exceed `largest`: 22 + 4 * 26 = 126 for columns of weight 4. Of the pairs that do
    /// not overflow there, this one took the fewest iterations; others keep the ratio of what the channel says to the largest.
    pub(super) fn narrow(correction: &Correction, heaviest_column: u32, largest: u8) -> Result<Self> {
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

    fn corrected(correction: Correction, channel_limit: i8, message_limit: u8) -> Self {
        Self { answers: Answers::Corrected { correction, message_limit }, channel_limit }
    }

    /// For hard decisions and totals of 16 bits: messages may grow to eight times what the channel says.
    pub(super) fn wide_hard(correction: &Correction) -> Self {
        Self::corrected(correction.clone(), 16, MESSAGE_LIMIT)
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
    fn decode(&mut self, llrs: Option<&[i8]>, max_iterations: u32, word: &mut [u8]) -> Outcome;
}

/// The kernel of an instruction set whose vectors divide the circulants.
pub(super) fn compile(
    code: &QuasiCyclic,
    instructions: InstructionSet,
    narrow: bool,
    arithmetic: Arithmetic,
) -> Box<dyn Kernel> {
    fn of<V: Lanes + 'static>(code: &QuasiCyclic, narrow: bool, arithmetic: Arithmetic) -> Box<dyn Kernel>
    where
        Compiled<V, Narrow>: Kernel,
        Compiled<V, Wide>: Kernel,
    {
        if narrow {
            Box::new(Compiled::<V, Narrow>::new(code, arithmetic))
        } else {
            Box::new(Compiled::<V, Wide>::new(code, arithmetic))
        }
    }
    match instructions {
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => of::<Avx512>(code, narrow, arithmetic),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => of::<Avx2>(code, narrow, arithmetic),
        _ => of::<Portable>(code, narrow, arithmetic),
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

/// A-posteriori values of one width.
trait Totals<V: Lanes> {
    type Vector: Copy + Send;
    type Stored: Copy + Send;

    fn load(lanes: &Self::Stored, rotation: u32) -> Self::Vector;
    fn store(vector: Self::Vector) -> Self::Stored;
    fn from_lanes(lanes: V) -> Self::Vector;
    fn lanes(vector: Self::Vector) -> V;
    fn extrinsic(vector: Self::Vector) -> V;
    fn add(vector: Self::Vector, message: V) -> Self::Vector;
    fn subtract(vector: Self::Vector, message: V) -> Self::Vector;
}

/// Eight bits: as wide as messages.
struct Narrow;

impl<V: Lanes> Totals<V> for Narrow {
    type Vector = V;
    type Stored = V::Stored;

    #[inline(always)]
    fn load(lanes: &V::Stored, rotation: u32) -> V {
        V::load(lanes, rotation)
    }

    #[inline(always)]
    fn store(vector: V) -> V::Stored {
        vector.store()
    }

    #[inline(always)]
    fn from_lanes(lanes: V) -> V {
        lanes
    }

    #[inline(always)]
    fn lanes(vector: V) -> V {
        vector
    }

    #[inline(always)]
    fn extrinsic(vector: V) -> V {
        vector
    }

    #[inline(always)]
    fn add(vector: V, message: V) -> V {
        vector.add(message)
    }

    #[inline(always)]
    fn subtract(vector: V, message: V) -> V {
        vector.subtract(message)
    }
}

/// Sixteen bits, twice as wide as messages.
struct Wide;

impl<V: Lanes> Totals<V> for Wide {
    type Vector = V::Wide;
    type Stored = V::StoredWide;

    #[inline(always)]
    fn load(lanes: &V::StoredWide, rotation: u32) -> V::Wide {
        V::load_wide(lanes, rotation)
    }

    #[inline(always)]
    fn store(vector: V::Wide) -> V::StoredWide {
        V::store_wide(vector)
    }

    #[inline(always)]
    fn from_lanes(lanes: V) -> V::Wide {
        lanes.widen()
    }

    #[inline(always)]
    fn lanes(vector: V::Wide) -> V {
        V::narrow_in_order(vector)
    }

    #[inline(always)]
    fn extrinsic(vector: V::Wide) -> V {
        V::narrow(vector)
    }

    #[inline(always)]
    fn add(vector: V::Wide, message: V) -> V::Wide {
        V::add_wide(vector, message)
    }

    #[inline(always)]
    fn subtract(vector: V::Wide, message: V) -> V::Wide {
        V::subtract_wide(vector, message)
    }
}
/// The state of one kernel: `V` are its vectors, `T` the width of its a-posteriori values.
struct Compiled<V: Lanes, T: Totals<V>> {
    layout: Layout,
    arithmetic: Arithmetic,
    /// A-posteriori values.
    totals: Vec<T::Stored>,
    /// For each block row, vector of its checks, and circulant: the messages to the bits.
    messages: Vec<V>,
    /// Extrinsic values of the checks at hand.
    extrinsic: [Vec<T::Vector>; 2],
    /// The vector of checks in which a violated one was last found.
    suspect: usize,
}

impl<V: Lanes, T: Totals<V>> Compiled<V, T> {
    fn new(code: &QuasiCyclic, arithmetic: Arithmetic) -> Self {
        let layout = Layout::new(code, V::COUNT);
        Self {
            extrinsic: [(); 2]
                .map(|()| vec![T::from_lanes(V::splat(0)); layout.row_weights.iter().copied().max().unwrap_or(0)]),
            totals: vec![T::store(T::from_lanes(V::splat(0))); code.columns() * layout.vectors],
            messages: vec![V::splat(0); layout.places.len()],
            suspect: 0,
            arithmetic,
            layout,
        }
    }

    #[inline(always)]
    fn decode(&mut self, llrs: Option<&[i8]>, max_iterations: u32, word: &mut [u8]) -> Outcome {
        match llrs {
            Some(llrs) => self.receive_soft(llrs),
            None => self.receive_hard(word),
        }
        let stages = self.layout.stages.len();
        let (mut stage, mut iterations) = (0, 0);
        let mut converged = self.converged(stage);
        while !converged && iterations < max_iterations {
            let answer = self.arithmetic.answer(iterations);
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
    /// Bit `lane * vectors + vector` of a block column is lane `lane` of vector `vector`: where a lane has whole bytes of the
    /// packed word, eight vectors share one byte of each lane.
    #[inline(always)]
    fn receive_hard(&mut self, word: &[u8]) {
        let Layout { circulant_size: size, vectors, .. } = self.layout;
        let limit = self.arithmetic.channel_limit;
        for (column, totals) in self.totals.chunks_exact_mut(vectors).enumerate() {
            let mut lanes = [0; MOST_LANES];
            if vectors % 8 != 0 {
                for (vector, total) in totals.iter_mut().enumerate() {
                    for (lane, value) in lanes[..V::COUNT].iter_mut().enumerate() {
                        let bit = bits::get(word, column * size + lane * vectors + vector);
                        *value = if bit { -limit } else { limit };
                    }
                    *total = T::store(T::from_lanes(V::from_lanes(&lanes)));
                }
                continue;
            }
            let packed = &word[column * size / 8..][..size / 8];
            for (group, totals) in totals.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                if vectors == 8 {
                    lanes[..V::COUNT].copy_from_slice(bytemuck::cast_slice(packed));
                } else {
                    for (lane, &byte) in lanes.iter_mut().zip(packed[group..].iter().step_by(vectors / 8)) {
                        *lane = byte as i8;
                    }
                }
                let bytes = V::from_lanes(&lanes);
                for (vector, total) in totals.iter_mut().enumerate() {
                    *total = T::store(T::from_lanes(V::from_bits(bytes, 0x80 >> vector, limit)));
                }
            }
        }
    }

    /// Sets the a-posteriori values to log-likelihood ratios.
    #[inline(always)]
    fn receive_soft(&mut self, llrs: &[i8]) {
        let Layout { circulant_size: size, vectors, .. } = self.layout;
        let limit = self.arithmetic.channel_limit;
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
                    for (lane, llr) in rows[vector % 8].iter_mut().zip(llrs[vector..].iter().step_by(vectors)) {
                        *lane = *llr;
                    }
                }
                let lanes = rows[vector % 8].map(|llr: i8| llr.clamp(-limit, limit));
                *total = T::store(T::from_lanes(V::from_lanes(&lanes)));
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
            let [mut now, mut next] = self.extrinsic.each_mut().map(|extrinsic| &mut extrinsic[..weight]);
            // The messages of a vector of checks are sent while the next is gathered: that keeps all units of a CPU busy.
            let (mut places, mut messages) = (places, messages);
            let mut least = Least::new();
            gather::<V, T, FIRST>(totals, &places[..weight], &messages[..weight], now, &mut least);
            for _ in 1..vectors {
                let sending = least.sending(answer);
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
            let sending = least.sending(answer);
            send::<V, T>(totals, places, messages, now, &sending);
        }
    }

    /// For each vector of checks of block row `row`, those that the decisions violate are negative.
    #[inline(always)]
    fn parity(&self, stage: usize, row: usize, vector: usize) -> V {
        let weight = self.layout.row_weights[row];
        let start = self.layout.row_starts[row] + vector * weight;
        let (groups, rest) = self.layout.stages[stage].checks[start..][..weight].as_chunks::<UNROLL>();
        let value = |place: Place| T::extrinsic(T::load(stored(&self.totals, place), place.rotation()));
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
            if vectors % 8 == 0 {
                let packed = &mut word[column * size / 8..][..size / 8];
                for (group, places) in places.as_chunks::<8>().0.iter().enumerate() {
                    let mut bytes = V::splat(0);
                    for (vector, &place) in places.iter().enumerate() {
                        let lanes = T::lanes(T::load(stored(&self.totals, place), place.rotation()));
                        bytes = lanes.collect_signs(0x80 >> vector, bytes);
                    }
                    let bytes = bytes.lanes();
                    if vectors == 8 {
                        packed.copy_from_slice(bytemuck::cast_slice(&bytes[..V::COUNT]));
                    } else {
                        for (packed, &byte) in packed[group..].iter_mut().step_by(vectors / 8).zip(&bytes) {
                            *packed = byte as u8;
                        }
                    }
                }
            } else {
                for (vector, &place) in places.iter().enumerate() {
                    let lanes = T::lanes(T::load(stored(&self.totals, place), place.rotation())).lanes();
                    for (lane, value) in lanes[..V::COUNT].iter().enumerate() {
                        bits::set(word, column * size + lane * vectors + vector, *value < 0);
                    }
                }
            }
        }
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
    totals: &[T::Stored],
    places: &[Place],
    messages: &[V],
    extrinsic: &mut [T::Vector],
    least: &mut Least<V>,
) {
    let (places, messages, extrinsic) =
        (places.as_chunks::<UNROLL>(), messages.as_chunks::<UNROLL>(), extrinsic.as_chunks_mut::<UNROLL>());
    for ((places, messages), extrinsic) in places.0.iter().zip(messages.0).zip(extrinsic.0) {
        for index in 0..UNROLL {
            extrinsic[index] = least.gather::<T, FIRST>(totals, places[index], messages[index]);
        }
    }
    for ((&place, &message), extrinsic) in places.1.iter().zip(messages.1).zip(extrinsic.1) {
        *extrinsic = least.gather::<T, FIRST>(totals, place, message);
    }
}

/// Sends the messages of a vector of checks.
#[inline(always)]
fn send<V: Lanes, T: Totals<V>>(
    totals: &mut [T::Stored],
    places: &[Place],
    messages: &mut [V],
    extrinsic: &[T::Vector],
    sending: &Sending<V>,
) {
    let (places, messages, extrinsic) =
        (places.as_chunks::<UNROLL>(), messages.as_chunks_mut::<UNROLL>(), extrinsic.as_chunks::<UNROLL>());
    for ((places, messages), extrinsic) in places.0.iter().zip(messages.0).zip(extrinsic.0) {
        for index in 0..UNROLL {
            sending.send::<T>(totals, places[index], &mut messages[index], extrinsic[index]);
        }
    }
    for ((&place, message), &extrinsic) in places.1.iter().zip(messages.1).zip(extrinsic.1) {
        sending.send::<T>(totals, place, message, extrinsic);
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
    fn gather<T: Totals<V>, const FIRST: bool>(&mut self, totals: &[T::Stored], place: Place, message: V) -> T::Vector {
        let total = T::load(stored(totals, place), place.rotation());
        let extrinsic = if FIRST { total } else { T::subtract(total, message) };
        let value = T::extrinsic(extrinsic);
        let magnitude = value.abs();
        self.second = self.second.min(self.first.max(magnitude));
        self.first = self.first.min(magnitude);
        self.sign = self.sign.xor(value);
        extrinsic
    }

    #[inline(always)]
    fn sending(self, answer: Answer) -> Sending<V> {
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
        Sending {
            first: self.first,
            common: first.negate_where_negative(self.sign),
            exception: second.negate_where_negative(self.sign),
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
    fn send<T: Totals<V>>(&self, totals: &mut [T::Stored], place: Place, message: &mut V, extrinsic: T::Vector) {
        let value = T::extrinsic(extrinsic);
        *message = value.abs().where_equal(self.first, self.exception, self.common).negate_where_negative(value);
        *stored_mut(totals, place) = T::store(T::add(extrinsic, *message));
    }
}

macro_rules! kernel {
    ($vectors:ty $(, $features:literal)?) => {
        impl<T: Totals<$vectors>> Kernel for Compiled<$vectors, T> {
            fn decode(&mut self, llrs: Option<&[i8]>, max_iterations: u32, word: &mut [u8]) -> Outcome {
                $(#[target_feature(enable = $features)])?
                fn shell<T: Totals<$vectors>>(
                    kernel: &mut Compiled<$vectors, T>,
                    llrs: Option<&[i8]>,
                    max_iterations: u32,
                    word: &mut [u8],
                ) -> Outcome {
                    Compiled::decode(kernel, llrs, max_iterations, word)
                }
                // SAFETY: `MinSum::new` makes a kernel only for instructions that `InstructionSet::available` has found.
                #[allow(unsafe_code, unused_unsafe)]
                unsafe {
                    shell(self, llrs, max_iterations, word)
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
