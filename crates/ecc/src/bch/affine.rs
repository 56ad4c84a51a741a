//! The additive Fourier transform on CPUs with GFNI, which multiply eight bytes by a bit matrix in one instruction.

use std::arch::x86_64::*;

use super::field::{Field, Matrix};
use super::roots::Basis;
use super::vector::Dispatch;
use crate::InstructionSet;

/// The low and the high bytes of 64 field elements.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Bytes([[u8; 64]; 2]);

/// Logarithm of the elements that are transformed in four registers: 64 in a vector, two vectors.
const UNIT_BITS: usize = 7;
/// Units that are computed together, because each step waits for the one before.
const TOGETHER: usize = 2;
/// Steps of the transform in which the halves are lanes of one vector.
const LOW: usize = UNIT_BITS - 1;
/// The steps among these in which the halves are bytes of one quadword.
const LOWEST: usize = 3;

/// Evaluates polynomials at all field elements, with a bit matrix for each factor.
///
/// Byte `b` of vector `v` of a unit starts as its element `64 v + b`. Before the step of bit i, that bit of the byte's place is exchanged
/// with the vector's number, so that a step is always between two vectors. Afterwards the place has bit i + 1 of the element there.
///
/// A factor is a sum of parts for the unit, for the quadword, and (in the lowest steps) for the byte's place in the quadword. The last part
/// is multiplied with bytes of the same place brought together.
#[derive(Debug)]
pub(crate) struct Affine {
    field_bits: usize,
    /// Number of elements of the field's basis that span a block, which is transformed at once.
    block_bits: usize,
    /// The factor of each coset, for the steps from bit `LOW` on.
    high: Vec<Vec<Matrix>>,
    /// The factors of the steps below bit `LOW`, for each unit.
    units: Vec<[Matrix; LOW]>,
    /// The part of the factors of the same steps for each quadword.
    quadwords: [[[u64; 8]; 4]; LOW],
    /// The part of the factors of the lowest steps for each place in a quadword.
    bytes: [[[u64; 8]; 4]; LOWEST],
    /// X_(2^block_bits) at each block.
    beyond: Vec<u16>,
}

/// The working memory of one [`Affine::find`].
#[derive(Debug)]
pub(crate) struct Scratch {
    coefficients: Vec<Bytes>,
    values: Vec<Bytes>,
    /// The bytes that have become roots, for each vector.
    zeros: Vec<u64>,
}

impl Affine {
    /// Returns None if the instructions are not to be used, or the field is smaller than two units.
    pub(crate) fn new(field: &Field, basis: &Basis, degree: usize, dispatch: Dispatch) -> Option<Self> {
        let field_bits = basis.field_bits() as usize;
        if dispatch.instruction_set() < InstructionSet::Avx512 || field_bits <= UNIT_BITS {
            return None;
        }
        // A polynomial may have one coefficient beyond a block.
        let block_bits = (degree.next_power_of_two().ilog2() as usize).max(UNIT_BITS);
        let matrix = |i: usize, element: usize| field.matrix(basis.value(i, element));
        let high = (LOW..block_bits)
            .map(|i| (0..1 << (field_bits - 1 - i)).map(|coset| matrix(i, coset << (i + 1))).collect())
            .collect();
        let units = (0..1 << (field_bits - UNIT_BITS))
            .map(|unit| std::array::from_fn(|i| matrix(i, unit << UNIT_BITS)))
            .collect();
        // The bits of the place from bit i on are those of the element from bit i + 1 on.
        let by_place = |i: usize, place: usize| matrix(i, place >> i << (i + 1));
        let eight = |i: usize, unit: usize| -> [[u64; 8]; 4] {
            std::array::from_fn(|quarter| std::array::from_fn(|number| by_place(i, number * unit)[quarter]))
        };
        let quadwords = std::array::from_fn(|i| eight(i, 8));
        let bytes = std::array::from_fn(|i| eight(i, 1));
        let beyond = match block_bits < field_bits {
            true => {
                (0..1 << (field_bits - block_bits)).map(|block| basis.value(block_bits, block << block_bits)).collect()
            }
            false => vec![0],
        };
        Some(Self { field_bits, block_bits, high, units, quadwords, bytes, beyond })
    }

    pub(crate) fn scratch(&self) -> Scratch {
        let vectors = 1 << (self.block_bits - LOW);
        let zero = Bytes([[0; 64]; 2]);
        Scratch {
            coefficients: vec![zero; vectors],
            values: vec![zero; vectors.max(2 * TOGETHER)],
            zeros: vec![0; 1 << (self.field_bits - LOW)],
        }
    }

    /// Calls `found` for each root of the polynomial with the given coefficients of the X_k.
    pub(crate) fn find(&self, field: &Field, coefficients: &[u16], scratch: &mut Scratch, mut found: impl FnMut(u16)) {
        let in_block = coefficients.len().min(1 << self.block_bits);
        for (vector, bytes) in scratch.coefficients.iter_mut().enumerate() {
            let Bytes([low, high]) = bytes;
            (*low, *high) = ([0; 64], [0; 64]);
            let elements = &coefficients[(vector << LOW).min(in_block)..in_block];
            for (place, element) in elements.iter().take(64).enumerate() {
                [low[place], high[place]] = element.to_le_bytes();
            }
        }
        let beyond = coefficients.get(1 << self.block_bits).copied().unwrap_or(0);
        // SAFETY: the CPU has the features, or this value would not exist.
        unsafe { self.evaluate(field, in_block, beyond, scratch) };
        for (unit, zeros) in scratch.zeros.chunks_exact(2).enumerate() {
            for (vector, &zeros) in zeros.iter().enumerate() {
                let mut left = zeros;
                while left != 0 {
                    found((unit << UNIT_BITS | (left.trailing_zeros() as usize) << 1 | vector) as u16);
                    left &= left - 1;
                }
            }
        }
    }

    /// Evaluates the polynomial; at most the first `count` coefficients are not 0.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,gfni,bmi2")]
    fn evaluate(&self, field: &Field, count: usize, beyond: u16, scratch: &mut Scratch) {
        let Scratch { coefficients, values, zeros } = scratch;
        let factors = self.units.chunks_exact(values.len() / 2);
        let blocks = values.len() / coefficients.len();
        for (index, (zeros, factors)) in zeros.chunks_exact_mut(values.len()).zip(factors).enumerate() {
            for (within, values) in values.chunks_exact_mut(coefficients.len()).enumerate() {
                self.high_steps(field, coefficients, count, beyond, blocks * index + within, values);
            }
            let zeros = zeros.chunks_exact_mut(2 * TOGETHER);
            for ((values, zeros), factors) in
                values.chunks_exact(2 * TOGETHER).zip(zeros).zip(factors.chunks_exact(TOGETHER))
            {
                let mut units = [[load(&values[0]), load(&values[1])], [load(&values[2]), load(&values[3])]];
                // Written out, because the exchanges are different instructions.
                for (halves, factors) in units.iter_mut().zip(factors) {
                    *halves = self.step::<5>(exchange_quadwords::<4>(*halves), factors);
                }
                for (halves, factors) in units.iter_mut().zip(factors) {
                    *halves = self.step::<4>(exchange_quadwords::<2>(*halves), factors);
                }
                for (halves, factors) in units.iter_mut().zip(factors) {
                    *halves = self.step::<3>(exchange_quadwords::<1>(*halves), factors);
                }
                for (halves, factors) in units.iter_mut().zip(factors) {
                    *halves = self.step::<2>(exchange_bytes::<32>(*halves, PLACES[2]), factors);
                }
                for (halves, factors) in units.iter_mut().zip(factors) {
                    *halves = self.step::<1>(exchange_bytes::<16>(*halves, PLACES[1]), factors);
                }
                for (halves, factors) in units.iter_mut().zip(factors) {
                    *halves = self.step::<0>(exchange_bytes::<8>(*halves, PLACES[0]), factors);
                }
                for (zeros, [low, high]) in zeros.iter_mut().zip(units.into_iter().flatten()) {
                    let any = _mm512_or_si512(low, high);
                    *zeros = _mm512_testn_epi8_mask(any, any);
                }
            }
        }
    }

    /// Makes the steps from bit `LOW` on for a block: from coefficients, of which at most the first `count` are not 0, to `values`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,gfni,bmi2")]
    fn high_steps(
        &self,
        field: &Field,
        coefficients: &[Bytes],
        count: usize,
        beyond: u16,
        block: usize,
        values: &mut [Bytes],
    ) {
        for (value, coefficients) in values.iter_mut().zip(coefficients) {
            store(load(coefficients), value);
        }
        if beyond != 0 {
            let first = field.multiply(beyond, self.beyond[block]).to_le_bytes();
            let [low, high] = first.map(|byte| _mm512_zextsi128_si512(_mm_cvtsi32_si128(i32::from(byte))));
            let [others_low, others_high] = load(&coefficients[0]);
            store([_mm512_xor_si512(low, others_low), _mm512_xor_si512(high, others_high)], &mut values[0]);
        }
        for (i, factors) in self.high.iter().enumerate().rev() {
            let half = 1 << i;
            let factors = &factors[block << (self.block_bits - 1 - LOW - i)..];
            for (pair, factor) in values.chunks_exact_mut(2 * half).zip(factors) {
                let factor = factor.map(|quarter| _mm512_set1_epi64(quarter as i64));
                let (lower, upper) = pair.split_at_mut(half);
                for (vector, (lower, upper)) in lower.iter_mut().zip(upper).enumerate() {
                    if (half | vector) << LOW >= count {
                        *upper = *lower;
                        continue;
                    }
                    let (a, b) = (load(lower), load(upper));
                    let a = add_product(a, b, factor);
                    store(a, lower);
                    store([_mm512_xor_si512(a[0], b[0]), _mm512_xor_si512(a[1], b[1])], upper);
                }
            }
        }
    }

    /// Makes the step of bit `I` on the halves of a unit.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,gfni,bmi2")]
    fn step<const I: usize>(&self, [mut a, mut b]: [[__m512i; 2]; 2], factors: &[Matrix; LOW]) -> [[__m512i; 2]; 2] {
        let mut factor = load_factor(&self.quadwords[I]);
        for (factor, &quarter) in factor.iter_mut().zip(&factors[I]) {
            *factor = _mm512_xor_si512(*factor, _mm512_set1_epi64(quarter as i64));
        }
        a = add_product(a, b, factor);
        if I < LOWEST {
            let zero = [_mm512_setzero_si512(); 2];
            let product = add_product(zero, transpose(b), load_factor(&self.bytes[I]));
            let [low, high] = transpose(product);
            a = [_mm512_xor_si512(a[0], low), _mm512_xor_si512(a[1], high)];
        }
        b = [_mm512_xor_si512(a[0], b[0]), _mm512_xor_si512(a[1], b[1])];
        [a, b]
    }
}

/// The bytes whose place has bit 0, 1 or 2.
const PLACES: [u64; LOWEST] = [0xaaaa_aaaa_aaaa_aaaa, 0xcccc_cccc_cccc_cccc, 0xf0f0_f0f0_f0f0_f0f0];

#[inline]
#[target_feature(enable = "avx512f")]
fn load(Bytes([low, high]): &Bytes) -> [__m512i; 2] {
    // SAFETY: 64 bytes are loaded from as many.
    unsafe { [_mm512_loadu_si512(low.as_ptr().cast()), _mm512_loadu_si512(high.as_ptr().cast())] }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_factor(quarters: &[[u64; 8]; 4]) -> [__m512i; 4] {
    let mut factor = [_mm512_setzero_si512(); 4];
    for (factor, quarter) in factor.iter_mut().zip(quarters) {
        // SAFETY: eight quadwords are loaded from as many.
        *factor = unsafe { _mm512_loadu_si512(quarter.as_ptr().cast()) };
    }
    factor
}

/// Exchanges the numbers of quadwords and the places of bytes in them.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi")]
fn transpose(elements: [__m512i; 2]) -> [__m512i; 2] {
    const TRANSPOSED: [u8; 64] = {
        let mut places = [0; 64];
        let mut place = 0;
        while place < 64 {
            places[place] = (place % 8 * 8 + place / 8) as u8;
            place += 1;
        }
        places
    };
    // SAFETY: 64 bytes are loaded from as many.
    let places = unsafe { _mm512_loadu_si512(TRANSPOSED.as_ptr().cast()) };
    [_mm512_permutexvar_epi8(places, elements[0]), _mm512_permutexvar_epi8(places, elements[1])]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(elements: [__m512i; 2], Bytes([low, high]): &mut Bytes) {
    // SAFETY: 64 bytes are stored to as many.
    unsafe {
        _mm512_storeu_si512(low.as_mut_ptr().cast(), elements[0]);
        _mm512_storeu_si512(high.as_mut_ptr().cast(), elements[1]);
    }
}

/// `a` + `factor` `b`.
#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn add_product(a: [__m512i; 2], b: [__m512i; 2], factor: [__m512i; 4]) -> [__m512i; 2] {
    let times = |quarter: usize, b: __m512i| _mm512_gf2p8affine_epi64_epi8::<0>(b, factor[quarter]);
    [
        _mm512_ternarylogic_epi64::<0x96>(a[0], times(0, b[0]), times(1, b[1])),
        _mm512_ternarylogic_epi64::<0x96>(a[1], times(2, b[0]), times(3, b[1])),
    ]
}

/// Exchanges the bit of the quadword's number that is set in `BIT` with the number of the half.
#[inline]
#[target_feature(enable = "avx512f")]
fn exchange_quadwords<const BIT: i64>([a, b]: [[__m512i; 2]; 2]) -> [[__m512i; 2]; 2] {
    let lower = |number: i64| if number & BIT == 0 { number } else { 8 | number ^ BIT };
    let upper = |number: i64| if number & BIT == 0 { number | BIT } else { 8 | number };
    let lower = _mm512_setr_epi64(lower(0), lower(1), lower(2), lower(3), lower(4), lower(5), lower(6), lower(7));
    let upper = _mm512_setr_epi64(upper(0), upper(1), upper(2), upper(3), upper(4), upper(5), upper(6), upper(7));
    [
        [_mm512_permutex2var_epi64(a[0], lower, b[0]), _mm512_permutex2var_epi64(a[1], lower, b[1])],
        [_mm512_permutex2var_epi64(a[0], upper, b[0]), _mm512_permutex2var_epi64(a[1], upper, b[1])],
    ]
}

/// Exchanges a bit of the byte's place in its quadword likewise. `places` are the bytes that have the bit, `BITS` their distance.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn exchange_bytes<const BITS: u32>([a, b]: [[__m512i; 2]; 2], places: u64) -> [[__m512i; 2]; 2] {
    let lower = |a, b| _mm512_mask_blend_epi8(places, a, _mm512_slli_epi64::<BITS>(b));
    let upper = |a, b| _mm512_mask_blend_epi8(places, _mm512_srli_epi64::<BITS>(a), b);
    [[lower(a[0], b[0]), lower(a[1], b[1])], [upper(a[0], b[0]), upper(a[1], b[1])]]
}
