//! Draws from discrete distributions, for single bits and for all bits of a codeword at once.

use softsense_base::Stream;

use crate::simd::InstructionSet;

/// A discrete distribution of up to 256 values, from which a value is drawn in constant time. Its probabilities are
/// rounded to whole multiples of 2^-32.
///
/// Source: M. Vose, "A linear algorithm for generating random numbers with a given distribution", 1991.
#[derive(Debug, Clone)]
pub(super) struct Alias {
    /// For each column the height below which it stands for the first of its two values; above it, it stands for the second.
    columns: [(u32, [i8; 2]); Self::COLUMNS],
}

impl Alias {
    const COLUMNS: usize = 256;
    const HEIGHT: u64 = 1 << 24;

    pub(super) fn new(values: &[i8], probabilities: &[f64]) -> Self {
        assert!(values.len() == probabilities.len() && values.len() <= Self::COLUMNS, "a value a column");
        // Weights are rounded from the sum so far, so that they add up exactly.
        let whole = Self::HEIGHT as f64 * Self::COLUMNS as f64;
        let (mut sum, mut last) = (0.0, 0);
        let mut weights: Vec<u64> = probabilities
            .iter()
            .map(|probability| {
                sum += probability;
                let next = libm::round(sum * whole) as u64;
                next - std::mem::replace(&mut last, next)
            })
            .collect();
        assert_eq!(last, whole as u64, "probabilities that add up to one");
        let value = |index: usize| values.get(index).copied().unwrap_or(0);
        weights.resize(Self::COLUMNS, 0);
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..Self::COLUMNS).partition(|&index| weights[index] < Self::HEIGHT);
        let mut columns = [(0, [0; 2]); Self::COLUMNS];
        while let Some(index) = small.pop() {
            let other = *large.last().expect("the weights add up to all columns");
            columns[index] = (weights[index] as u32, [value(index), value(other)]);
            weights[other] -= Self::HEIGHT - weights[index];
            if weights[other] < Self::HEIGHT {
                small.extend(large.pop());
            }
        }
        for index in large {
            columns[index] = (Self::HEIGHT as u32, [value(index); 2]);
        }
        Self { columns }
    }

    #[inline(always)]
    pub(super) fn value(&self, draw: u32) -> i8 {
        let (height, values) = self.columns[(draw >> 24) as usize];
        values[usize::from(draw & 0xff_ffff >= height)]
    }
}

/// Number of bits that are drawn at once: their values fill a vector of AVX-512.
const BLOCK: usize = 64;
/// Words of random bits for a block.
const WORDS: usize = BLOCK / 4;
/// The most values that are found by comparisons. Pages of cells have up to some fifty values, but only about this number of likely ones
/// matter.
const MOST_LIKELY: usize = 32;
/// A smaller number of values, which takes less time. Seven levels of one boundary have eight regions.
const FEW: usize = 8;
/// The number of the first second draw, for draws that are left to [`Bulk::rest`].
const REST_DRAWS: u64 = 3 << 32;

/// A value on its own lines of the cache: values that are loaded right after they were stored must not lie across two lines.
#[repr(align(64))]
struct Lines<T>(T);

/// A discrete distribution of up to 256 values, from which values for all bits of a codeword are drawn at vector speed.
///
/// A bit draws a number below 2^16. Each of the likeliest values owns as many consecutive numbers as fit its probability. A bit that draws
/// one of the few remaining numbers draws again, from the remaining probabilities. So probabilities are exact except for the rounding of
/// [`Alias`] in the small rest, and most bits need no lookup.
#[derive(Debug, Clone)]
pub(super) struct Bulk {
    /// Draws below this number are left to the rest.
    rest_below: u16,
    /// The first draw of each value, ascending. Entries without a value repeat the last one.
    from: [u16; MOST_LIKELY],
    values: [i16; MOST_LIKELY],
    few: bool,
    rest: Option<Alias>,
}

impl Bulk {
    const DRAWS: u32 = 1 << 16;

    pub(super) fn new(values: &[i8], probabilities: &[f64]) -> Self {
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9, "probabilities that add up to one");
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| probabilities[b].total_cmp(&probabilities[a]));
        let mut missing = probabilities.to_vec();
        let mut draws: Vec<(u32, i8)> = Vec::new();
        for &index in order.iter().take(MOST_LIKELY) {
            let share = (probabilities[index] * f64::from(Self::DRAWS)) as u32;
            if share > 0 {
                missing[index] -= f64::from(share) / f64::from(Self::DRAWS);
                draws.push((share, values[index]));
            }
        }
        let taken: u32 = draws.iter().map(|(share, _)| share).sum();
        let rest_below = Self::DRAWS.checked_sub(taken).expect("probabilities that add up to one");
        let total: f64 = missing.iter().sum();
        let rest = (rest_below > 0)
            .then(|| Alias::new(values, &missing.iter().map(|missing| missing / total).collect::<Vec<_>>()));
        let last = draws.last().expect("one of 256 values has 2^8 draws").1;
        let few = draws.len() <= FEW;
        let (mut from, mut of) = ([u16::MAX; MOST_LIKELY], [i16::from(last); MOST_LIKELY]);
        let mut next = rest_below;
        for ((from, of), (share, value)) in from.iter_mut().zip(&mut of).zip(draws) {
            (*from, *of) = (next as u16, value.into());
            next += share;
        }
        Self { rest_below: rest_below as u16, from, values: of, few, rest }
    }

    /// Draws LLRs of the bits of frame `frame`. The distribution is that of a bit that is 0; a 1 in the packed `sent` gets the negative.
    ///
    /// # Arguments
    /// - `set`: an instruction set that the CPU has.
    pub(super) fn fill(&self, set: InstructionSet, stream: &Stream, frame: u64, sent: &[u8], llrs: &mut [i8]) {
        #[cfg(target_arch = "x86_64")]
        x86::fill(self, set, stream, frame, sent, llrs);
        #[cfg(not(target_arch = "x86_64"))]
        {
            let InstructionSet::Portable = set else { panic!("an instruction set of x86-64") };
            self.fill_by(stream, frame, sent, llrs);
        }
    }

    #[inline(always)]
    fn fill_by(&self, stream: &Stream, frame: u64, sent: &[u8], llrs: &mut [i8]) {
        if self.few {
            self.fill_from::<FEW>(stream, frame, sent, llrs);
        } else {
            self.fill_from::<MOST_LIKELY>(stream, frame, sent, llrs);
        }
    }

    /// Does the work of [`Self::fill_by`] with the first `LIKELY` values.
    #[inline(always)]
    fn fill_from<const LIKELY: usize>(&self, stream: &Stream, frame: u64, sent: &[u8], llrs: &mut [i8]) {
        let (blocks, last) = llrs.as_chunks_mut::<BLOCK>();
        let (sent, last_sent) = sent.split_at(blocks.len() * BLOCK / 8);
        for ((block, llrs), sent) in (0..).zip(blocks.iter_mut()).zip(sent.as_chunks().0) {
            self.fill_block::<LIKELY>(stream, frame, block, sent, llrs);
        }
        if !last.is_empty() {
            let (mut padded, mut padded_sent) = ([0; BLOCK], [0; BLOCK / 8]);
            padded_sent[..last_sent.len()].copy_from_slice(last_sent);
            self.fill_block::<LIKELY>(stream, frame, blocks.len() as u64, &padded_sent, &mut padded);
            last.copy_from_slice(&padded[..last.len()]);
        }
    }

    #[inline(always)]
    fn fill_block<const LIKELY: usize>(
        &self,
        stream: &Stream,
        frame: u64,
        block: u64,
        sent: &[u8; BLOCK / 8],
        llrs: &mut [i8; BLOCK],
    ) {
        let mut words = Lines([0; WORDS]);
        for (word, number) in words.0.iter_mut().zip(block * WORDS as u64..) {
            *word = stream.bits(frame, number).to_le();
        }
        let draws: &[u16; BLOCK] = bytemuck::cast_ref(&words.0);
        // Values have 16 bits, as draws have, so that comparisons fit without being packed.
        let mut values = Lines([0; BLOCK]);
        let mut left = false;
        for (value, draw) in values.0.iter_mut().zip(draws) {
            let draw = u16::from_le(*draw);
            *value = self.values[0];
            for index in 1..LIKELY {
                *value = if draw >= self.from[index] { self.values[index] } else { *value };
            }
            left |= draw < self.rest_below;
        }
        if left {
            self.redraw(stream, frame, block, draws, &mut values.0);
        }
        let mut signs = [0; BLOCK / 8];
        for (signs, &byte) in signs.iter_mut().zip(sent) {
            *signs = spread(byte).to_le();
        }
        let signs: &[i8; BLOCK] = bytemuck::cast_ref(&signs);
        for ((llr, value), sign) in llrs.iter_mut().zip(&values.0).zip(signs) {
            *llr = (*value as i8 ^ sign).wrapping_sub(*sign);
        }
    }

    /// Draws again for the bits of a block that are left to the rest.
    #[inline(never)]
    fn redraw(&self, stream: &Stream, frame: u64, block: u64, draws: &[u16; BLOCK], values: &mut [i16; BLOCK]) {
        let rest = self.rest.as_ref().expect("draws are left to it");
        // The places of these bits are collected first, without a branch, because on an AWGN channel more than half of all bits come here.
        let (mut places, mut count) = ([0; BLOCK], 0);
        for (place, draw) in draws.iter().enumerate() {
            places[count] = place;
            count += usize::from(u16::from_le(*draw) < self.rest_below);
        }
        for &place in &places[..count] {
            let number = REST_DRAWS + block * BLOCK as u64 + place as u64;
            values[place] = rest.value(stream.bits(frame, number) as u32).into();
        }
    }
}

/// Makes a byte of each bit, all ones or all zeros: the first bit becomes the lowest byte.
#[inline(always)]
fn spread(byte: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let single = (u64::from(byte) * ONES) & 0x0102_0408_1020_4080;
    // Adding 127 sets the highest bit of each byte that is not 0, without a carry.
    ((single + 0x7f * ONES) >> 7 & ONES) * 0xff
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use super::*;

    /// Does the work of [`Bulk::fill_by`] with instructions that the CPU has, as [`super::super::Noise`] checks.
    pub(super) fn fill(bulk: &Bulk, set: InstructionSet, stream: &Stream, frame: u64, sent: &[u8], llrs: &mut [i8]) {
        #[target_feature(enable = "avx2,bmi2")]
        fn avx2(bulk: &Bulk, stream: &Stream, frame: u64, sent: &[u8], llrs: &mut [i8]) {
            bulk.fill_by(stream, frame, sent, llrs);
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,bmi2")]
        fn avx512(bulk: &Bulk, stream: &Stream, frame: u64, sent: &[u8], llrs: &mut [i8]) {
            bulk.fill_by(stream, frame, sent, llrs);
        }
        // SAFETY: the CPU has the features, because noise takes only available instruction sets.
        match set {
            InstructionSet::Portable => bulk.fill_by(stream, frame, sent, llrs),
            InstructionSet::Avx2 => unsafe { avx2(bulk, stream, frame, sent, llrs) },
            InstructionSet::Avx512 => unsafe { avx512(bulk, stream, frame, sent, llrs) },
        }
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::Purpose;

    use super::*;

    /// Values with probabilities of many sizes, which are given by their logarithms.
    fn distribution(count: u32, smallest: f64) -> (Vec<i8>, Vec<f64>) {
        let values: Vec<i8> = (0..count).map(|index| (127 - 2 * index as i32).max(-127) as i8).collect();
        let weights: Vec<f64> =
            (0..count).map(|index| libm::pow(smallest, f64::from(index) / f64::from(count.max(2) - 1))).collect();
        let total: f64 = weights.iter().sum();
        (values, weights.iter().map(|weight| weight / total).collect())
    }

    /// The exact probability of each value by an alias table.
    fn of_alias(alias: &Alias) -> Vec<f64> {
        let mut found = vec![0.0; 256];
        for (height, values) in alias.columns {
            let share = f64::from(height) / Alias::HEIGHT as f64;
            found[values[0] as u8 as usize] += share / Alias::COLUMNS as f64;
            found[values[1] as u8 as usize] += (1.0 - share) / Alias::COLUMNS as f64;
        }
        found
    }

    /// Does every value have its probability, counted over all possible draws? It does within 2^-32 of the rest, which is small if there
    /// are few values.
    #[test]
    fn probabilities_are_exact() {
        for (count, smallest, most_rest) in [
            (1, 1.0, 0.0),
            (2, 1e-9, 2e-5),
            (3, 0.02, 5e-5),
            (8, 1e-5, 2e-4),
            (9, 0.5, 2e-4),
            (50, 1e-8, 0.01),
            (128, 0.9, 1.0),
        ] {
            let (values, probabilities) = distribution(count, smallest);
            let bulk = Bulk::new(&values, &probabilities);
            let rest = f64::from(bulk.rest_below) / f64::from(Bulk::DRAWS);
            assert!(rest <= most_rest, "{count} values: {rest}");
            let mut found = bulk.rest.as_ref().map_or(vec![0.0; 256], of_alias);
            found.iter_mut().for_each(|found| *found *= rest);
            for draw in bulk.rest_below..=u16::MAX {
                found[plain(&bulk, draw) as u8 as usize] += 1.0 / f64::from(Bulk::DRAWS);
            }
            for (&value, probability) in values.iter().zip(&probabilities) {
                let error = (found[value as u8 as usize] - probability).abs();
                assert!(error <= rest * 2f64.powi(-32) + 1e-12, "{count} values: {value} is off by {error:e}");
            }
        }
    }

    /// The value for a draw that is not left to the rest.
    fn plain(bulk: &Bulk, draw: u16) -> i8 {
        let last = bulk.from.iter().rposition(|&from| from <= draw).expect("a value");
        bulk.values[last] as i8
    }

    /// Do vectors draw the same values as single draws, at every length and on every instruction set?
    #[test]
    fn bulk_draws_are_single_draws() {
        let stream = Stream::new(3, Purpose::Noise);
        for (count, smallest) in [(1, 1.0), (2, 1e-3), (8, 1e-3), (20, 1e-4), (128, 0.9)] {
            let (values, probabilities) = distribution(count, smallest);
            let bulk = Bulk::new(&values, &probabilities);
            for (frame, bits) in (5..).zip([1u64, 8, 63, 64, 65, 129, 1000, 4291]) {
                let sent: Vec<u8> =
                    (0..bits.div_ceil(8)).map(|byte| stream.bits(frame, 1 << 40 | byte) as u8).collect();
                let expected: Vec<i8> = (0..bits)
                    .map(|bit| {
                        let draw = (stream.bits(frame, bit / 4) >> (16 * (bit % 4))) as u16;
                        let value = if draw < bulk.rest_below {
                            bulk.rest.as_ref().unwrap().value(stream.bits(frame, REST_DRAWS + bit) as u32)
                        } else {
                            plain(&bulk, draw)
                        };
                        if sent[bit as usize / 8] >> (7 - bit % 8) & 1 == 1 { -value } else { value }
                    })
                    .collect();
                for set in InstructionSet::available() {
                    let mut found = vec![0; bits as usize];
                    bulk.fill(set, &stream, frame, &sent, &mut found);
                    assert_eq!(found, expected, "{count} values, {bits} bits, {}", set.name());
                }
            }
        }
    }
}
