use std::ops::Range;

use softsense_base::{Error, Result};

use super::{Block, QuasiCyclic};
use super::lanes::{Lanes, MOST_LANES, Portable};
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use crate::{InstructionSet, Outcome, bits};

/// How the smallest magnitudes that a check receives become those that it sends, in the integers of [`MinSum`].
///
/// A factor below one makes up for min-sum taking the smallest magnitude where sum-product would answer less. Early messages are
/// the most overestimated: factors that grow over the first iterations save about 8 % of the iterations, and where only ten are
/// allowed lower the frame error rate several times (both measured on the shipped codes, hard decisions).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// For each iteration, and the last for all that follow: magnitudes are multiplied by so many sixteenths and rounded.
    pub factors_16ths: Vec<u8>,
    /// What is then subtracted, down to zero.
    pub offset: u8,
}

impl Correction {
    /// The factors that decoded best of those tried on the shipped codes of such a rate.
    pub fn for_rate(rate: f64) -> Self {
        let factors: &[u8] = match rate {
            0.7.. => &[8, 10, 12, 12, 12, 11],
            0.4.. => &[8, 10, 12],
            _ => &[9, 11, 13],
        };
        Self { factors_16ths: factors.to_vec(), offset: 0 }
    }

    fn check(&self) -> Result<()> {
        if self.factors_16ths.is_empty() {
            return Err(Error::code("factors_16ths", "found none, expected at least one"));
        }
        if let Some(factor) = self.factors_16ths.iter().find(|factor| !(1..=16).contains(*factor)) {
            return Err(Error::code("factors_16ths", format!("found {factor}, expected 1 to 16")));
        }
        if self.offset > MESSAGE_LIMIT {
            return Err(Error::code("offset", format!("found {}, expected at most {MESSAGE_LIMIT}", self.offset)));
        }
        Ok(())
    }

    fn factor_16ths(&self, iteration: u32) -> u8 {
        self.factors_16ths[(iteration as usize).min(self.factors_16ths.len() - 1)]
    }
}

/// Layered min-sum with messages of eight bits over a quasi-cyclic code, vectorised over the checks of a circulant.
///
/// A-posteriori values have eight bits as well where that loses nothing, which is for hard decisions and columns of weight 4:
/// the channel's magnitude and the messages' limit are chosen so that totals cannot overflow. Everywhere else they have 16.
/// An a-posteriori value of zero decides for bit 0.
///
/// Decisions are checked before the first iteration and up to eight times in each but the first, so that a word is done as
/// soon as it has converged; the iteration that was begun counts in full.
///
/// Every instruction set decides the same. A decoder belongs to one thread and allocates nothing once it is made.
///
/// Source: E. Sharon, S. Litsyn, J. Goldberger, "Efficient serial message-passing schedules for LDPC decoding", 2007 (layers);
/// J. Chen and M. Fossorier, "Near optimum universal belief propagation based decoding of LDPC codes", 2002 (normalisation).
/// Deviation: factors that grow with the iteration.
pub struct MinSum {
    hard: Box<dyn Kernel>,
    soft: Box<dyn Kernel>,
    instructions: InstructionSet,
    codeword_bits: usize,
}

/// The largest magnitude of a message in eight bits.
const MESSAGE_LIMIT: u8 = 127;
/// How often in an iteration the decisions are checked, at most.
const CHECKS_PER_ITERATION: usize = 8;

/// The arithmetic of a kernel.
#[derive(Debug, Clone)]
struct Arithmetic {
    correction: Correction,
    /// The magnitude of a hard decision, and the largest of a soft one.
    channel_limit: i8,
    message_limit: u8,
}

impl Arithmetic {
    /// For totals of eight bits, if they suffice: 22 + 4 * 26 does not overflow. Of the pairs that do not, this one took the
    /// fewest iterations. With columns of weight 3 eight bits lost error rate (rate 1/4: four times).
    fn narrow(correction: &Correction, max_column_weight: u32) -> Option<Self> {
        let arithmetic = Self { correction: correction.clone(), channel_limit: 22, message_limit: 26 };
        (max_column_weight == 4).then_some(arithmetic)
    }

    /// For hard decisions and totals of 16 bits: messages may grow to eight times what the channel says.
    fn wide_hard(correction: &Correction) -> Self {
        Self { correction: correction.clone(), channel_limit: 16, message_limit: MESSAGE_LIMIT }
    }

    /// For soft decisions, whose scale is the caller's.
    fn wide_soft(correction: &Correction) -> Self {
        Self { correction: correction.clone(), channel_limit: i8::MAX, message_limit: MESSAGE_LIMIT }
    }
}

trait Kernel: Send {
    /// Decodes `llrs`, or without them the hard decisions in `word`, into `word`.
    fn decode(&mut self, llrs: Option<&[i8]>, max_iterations: u32, word: &mut [u8]) -> Outcome;
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

/// Where a vector of a-posteriori values is stored, and which of its lanes comes first.
#[derive(Debug, Clone, Copy)]
struct Place(u32);

impl Place {
    fn new(slot: usize, rotation: usize) -> Self {
        Self(u32::try_from(slot * MOST_LANES + rotation).expect("fewer than 2^26 vectors"))
    }

    #[inline(always)]
    fn slot(self) -> usize {
        self.0 as usize / MOST_LANES
    }

    #[inline(always)]
    fn rotation(self) -> u32 {
        self.0 % MOST_LANES as u32
    }
}

/// How a code lies in the arrays of a kernel.
///
/// The checks of a block row, and the bits of a block column, are dealt to vectors like cards: check `c` of a circulant of
/// `v` vectors is lane `c / v` of vector `c mod v`. Then a shifted circulant maps whole vectors to whole vectors, with their
/// lanes rotated. A vector of bits keeps its place, and its lanes the order in which the last block row left them, so that
/// each block row rotates it once, by the difference of two shifts.
#[derive(Debug)]
struct Layout {
    circulant_size: usize,
    /// Vectors of a circulant.
    vectors: usize,
    /// Circulants of each block row.
    row_weights: Vec<usize>,
    /// For each block row, vector of its checks, and circulant: the vector of bits, as an iteration finds it.
    places: Vec<Place>,
    /// As `places`, in the first iteration, which finds bits in their natural order.
    first_places: Vec<Place>,
    /// Where `places` of a block row begin.
    row_starts: Vec<usize>,
    /// When the decisions are checked: before the first iteration, then after some block rows of each.
    stages: Vec<Stage>,
}

/// A moment at which the decided word is checked.
#[derive(Debug)]
struct Stage {
    /// Block rows done, of the iteration.
    rows: usize,
    /// For each block row, vector of its checks, and circulant: the vector of bits as it stands.
    checks: Vec<Place>,
    /// For each block column and vector: the vector of bits, and the rotation that brings it into its natural order.
    bits: Vec<Place>,
}

impl Layout {
    fn new(code: &QuasiCyclic, lanes: usize) -> Self {
        let size = code.circulant_size();
        let vectors = size / lanes;
        let place = |column: usize, order: usize, shift: usize, vector: usize| {
            let slot = (vector + shift) % vectors;
            let before = (slot + size - order) % vectors;
            let rotation = (vector + shift + size - order - before) / vectors % lanes;
            Place::new(column * vectors + slot, rotation)
        };
        // Lanes of a block column are in the order of the block row which met it last: that is the shift it met it with.
        let row_places = |row: usize, orders: &[usize]| -> Vec<Place> {
            let blocks = code.row(row).iter();
            (0..vectors)
                .flat_map(|vector| {
                    let place = move |block: &Block| {
                        place(block.column as usize, orders[block.column as usize], block.shift as usize, vector)
                    };
                    blocks.clone().map(place)
                })
                .collect()
        };
        let stage = |rows: usize, orders: &[usize]| Stage {
            rows,
            checks: (0..code.rows()).flat_map(|row| row_places(row, orders)).collect(),
            bits: (0..code.columns() * vectors)
                .map(|index| place(index / vectors, orders[index / vectors], 0, index % vectors))
                .collect(),
        };
        let mut orders = vec![0; code.columns()];
        let start = stage(0, &orders);
        let stride = code.rows().div_ceil(CHECKS_PER_ITERATION);
        let iteration = |orders: &mut [usize], stages: &mut Vec<Stage>| {
            let mut places = Vec::new();
            for row in 0..code.rows() {
                places.extend(row_places(row, orders));
                for block in code.row(row) {
                    orders[block.column as usize] = block.shift as usize;
                }
                if (row + 1) % stride == 0 || row + 1 == code.rows() {
                    stages.push(stage(row + 1, orders));
                }
            }
            places
        };
        let mut stages = Vec::new();
        let first_places = iteration(&mut orders, &mut stages);
        stages = vec![start];
        let places = iteration(&mut orders, &mut stages);
        let row_weights: Vec<usize> = (0..code.rows()).map(|row| code.row(row).len()).collect();
        let mut next = 0;
        let start = |weight: &usize| {
            next += weight * vectors;
            next - weight * vectors
        };
        let row_starts = row_weights.iter().map(start).collect();
        Self { circulant_size: size, vectors, row_weights, places, first_places, row_starts, stages }
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
            extrinsic: [(); 2].map(|()| vec![T::from_lanes(V::splat(0)); layout.row_weights.iter().copied().max().unwrap_or(0)]),
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
            let factor_16ths = self.arithmetic.correction.factor_16ths(iterations);
            for next in 1..stages {
                let rows = self.layout.stages[next - 1].rows..self.layout.stages[next].rows;
                if iterations == 0 {
                    self.update::<true>(rows, factor_16ths);
                } else {
                    self.update::<false>(rows, factor_16ths);
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
                            *lane = u64::from_le_bytes(bytemuck::cast(*llrs[vector..].first_chunk::<8>().expect("8 vectors")));
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
    fn update<const FIRST: bool>(&mut self, rows: Range<usize>, factor_16ths: u8) {
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
            let mut least = Least::new();
            for ((&place, &message), extrinsic) in places[..weight].iter().zip(&messages[..weight]).zip(&mut *now) {
                *extrinsic = least.gather::<T, FIRST>(totals, place, message);
            }
            let mut sending = least.sending(&self.arithmetic, factor_16ths);
            let (mut places, mut messages) = (places, messages);
            for _ in 1..vectors {
                let (sent_places, gathered_places) = places.split_at(weight);
                let (sent_messages, gathered_messages) = messages.split_at_mut(weight);
                let mut least = Least::new();
                let (sp, spr) = sent_places.as_chunks::<UNROLL>();
                let (sm, smr) = sent_messages.as_chunks_mut::<UNROLL>();
                let (se, ser) = now.as_chunks::<UNROLL>();
                let (gp, gpr) = gathered_places[..weight].as_chunks::<UNROLL>();
                let (gm, gmr) = gathered_messages[..weight].as_chunks::<UNROLL>();
                let (ge, ger) = next.as_chunks_mut::<UNROLL>();
                let sends = sp.iter().zip(sm).zip(se);
                let gathers = gp.iter().zip(gm).zip(ge);
                for (((sp, sm), se), ((gp, gm), ge)) in sends.zip(gathers) {
                    for index in 0..UNROLL {
                        sending.send::<T>(totals, sp[index], &mut sm[index], se[index]);
                        ge[index] = least.gather::<T, FIRST>(totals, gp[index], gm[index]);
                    }
                }
                let sends = spr.iter().zip(smr).zip(ser);
                let gathers = gpr.iter().zip(gmr).zip(ger);
                for (((&sp, sm), &se), ((&gp, &gm), ge)) in sends.zip(gathers) {
                    sending.send::<T>(totals, sp, sm, se);
                    *ge = least.gather::<T, FIRST>(totals, gp, gm);
                }
                (now, next) = (next, now);
                sending = least.sending(&self.arithmetic, factor_16ths);
                places = gathered_places;
                messages = gathered_messages;
            }
            for ((&place, message), &extrinsic) in places.iter().zip(messages).zip(&*now) {
                sending.send::<T>(totals, place, message, extrinsic);
            }
        }
    }

    /// For each vector of checks of block row `row`, those that the decisions violate are negative.
    #[inline(always)]
    fn parity(&self, stage: usize, row: usize, vector: usize) -> V {
        let weight = self.layout.row_weights[row];
        let start = self.layout.row_starts[row] + vector * weight;
        let mut sign = V::splat(0);
        for place in &self.layout.stages[stage].checks[start..][..weight] {
            sign = sign.xor(T::extrinsic(T::load(&self.totals[place.slot()], place.rotation())));
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
                    for (vector, place) in places.iter().enumerate() {
                        let lanes = T::lanes(T::load(&self.totals[place.slot()], place.rotation()));
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
                for (vector, place) in places.iter().enumerate() {
                    let lanes = T::lanes(T::load(&self.totals[place.slot()], place.rotation())).lanes();
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
    for (distance, mask) in [(4, 0x0000_0000_ffff_ffff_u64), (2, 0x0000_ffff_0000_ffff), (1, 0x00ff_00ff_00ff_00ff)] {
        for index in 0..8 {
            if index & distance == 0 {
                let differing = (words[index] >> (8 * distance) ^ words[index + distance]) & mask;
                words[index + distance] ^= differing;
                words[index] ^= differing << (8 * distance);
            }
        }
    }
    words
}

const UNROLL: usize = 4;

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
        let total = T::load(&totals[place.slot()], place.rotation());
        let extrinsic = if FIRST { total } else { T::subtract(total, message) };
        let value = T::extrinsic(extrinsic);
        let magnitude = value.abs();
        self.second = self.second.min(self.first.max(magnitude));
        self.first = self.first.min(magnitude);
        self.sign = self.sign.xor(value);
        extrinsic
    }

    #[inline(always)]
    fn sending(self, arithmetic: &Arithmetic, factor_16ths: u8) -> Sending<V> {
        let (offset, limit) = (arithmetic.correction.offset, arithmetic.message_limit);
        let first = self.first.correct(factor_16ths, offset, limit);
        let second = self.second.correct(factor_16ths, offset, limit);
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
        totals[place.slot()] = T::store(T::add(extrinsic, *message));
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

/// The kernel for an instruction set, or for a narrower one whose vectors divide the circulants.
fn compile(code: &QuasiCyclic, instructions: InstructionSet, narrow: bool, arithmetic: Arithmetic) -> Box<dyn Kernel> {
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

impl MinSum {
    /// The decoder of a code, with the widest vectors that the CPU has and that divide its circulants.
    ///
    /// # Errors
    /// A circulant size that is no multiple of 16, or a correction out of range.
    pub fn new(code: &QuasiCyclic, correction: &Correction) -> Result<Self> {
        Self::with_instruction_set(code, correction, InstructionSet::detect())
    }

    /// As [`MinSum::new`], with `instructions` as the widest.
    ///
    /// # Errors
    /// As [`MinSum::new`]; and instructions that the CPU does not have.
    pub fn with_instruction_set(code: &QuasiCyclic, correction: &Correction, widest: InstructionSet) -> Result<Self> {
        correction.check()?;
        let available = InstructionSet::available();
        if !available.contains(&widest) {
            return Err(Error::code("", format!("this CPU does not have {}", widest.name())));
        }
        let lanes = |set: &InstructionSet| match set {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => Avx512::COUNT,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => Avx2::COUNT,
            _ => Portable::COUNT,
        };
        let size = code.circulant_size();
        let fits = |set: &InstructionSet| *set <= widest && size % lanes(set) == 0;
        let Some(instructions) = available.into_iter().rfind(fits) else {
            return Err(Error::code("", format!("found circulant size {size}, expected a multiple of {}", Portable::COUNT)));
        };
        let narrow = Arithmetic::narrow(correction, code.expand().column_weights().into_iter().max().unwrap_or(0));
        Ok(Self {
            hard: match narrow {
                Some(narrow) => compile(code, instructions, true, narrow),
                None => compile(code, instructions, false, Arithmetic::wide_hard(correction)),
            },
            soft: compile(code, instructions, false, Arithmetic::wide_soft(correction)),
            instructions,
            codeword_bits: size * code.columns(),
        })
    }

    /// The instructions in use.
    pub fn instruction_set(&self) -> InstructionSet {
        self.instructions
    }

    /// Decodes hard decisions in place: `word` is packed, received before and decided after.
    ///
    /// # Panics
    /// If the word has not as many bytes as the code wants.
    pub fn decode_hard(&mut self, word: &mut [u8], max_iterations: u32) -> Outcome {
        assert_eq!(word.len(), bits::bytes_for(self.codeword_bits), "bytes of a word");
        self.hard.decode(None, max_iterations, word)
    }

    /// Decodes log-likelihood ratios, one for each bit, into `word`, packed.
    ///
    /// Min-sum does not depend on their scale but for rounding: magnitudes of the likeliest bits from 20 to 60 serve well.
    ///
    /// # Panics
    /// If the ratios or the word are not as many as the code wants.
    pub fn decode_soft(&mut self, llrs: &[i8], max_iterations: u32, word: &mut [u8]) -> Outcome {
        assert_eq!(llrs.len(), self.codeword_bits, "log-likelihood ratios of a word");
        assert_eq!(word.len(), bits::bytes_for(self.codeword_bits), "bytes of a word");
        self.soft.decode(Some(llrs), max_iterations, word)
    }
}
