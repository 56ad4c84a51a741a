//! Carry-less products in vectors of 128-bit lanes. Each lane holds two words of a polynomial, the lower first.

use std::arch::x86_64::*;

use super::modulus::Modulus;
use super::remainder::BLOCK;
use super::syndromes::WordModuli;
use crate::InstructionSet;

/// A vector of 128-bit lanes. Every method needs the CPU features of its implementation; loads and stores are unaligned.
pub(crate) trait Lanes: Copy {
    /// 64-bit words in a vector.
    const WORDS: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u64) -> Self;
    /// The two words at `from` in every lane.
    unsafe fn broadcast(from: *const u64) -> Self;
    unsafe fn store(self, to: *mut u64);
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn xor3(self, b: Self, c: Self) -> Self;
    /// The product of a word of `self` and a word of `other` in each lane. Bit 0 of `WHICH` chooses the upper word of `self`, bit 4 the
    /// upper word of `other`.
    unsafe fn product<const WHICH: i32>(self, other: Self) -> Self;
    /// All words one place up. The highest word of `below` becomes the lowest.
    unsafe fn up_one_word(self, below: Self) -> Self;
}

// SAFETY (of both): plain register operations, and loads and stores of WORDS (broadcast: two) words, which the caller owns.
impl Lanes for __m128i {
    const WORDS: usize = 2;
    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { _mm_setzero_si128() }
    }
    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        unsafe { _mm_loadu_si128(from.cast()) }
    }
    #[inline(always)]
    unsafe fn broadcast(from: *const u64) -> Self {
        unsafe { _mm_loadu_si128(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        unsafe { _mm_storeu_si128(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        unsafe { _mm_xor_si128(self, other) }
    }
    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        unsafe { _mm_xor_si128(_mm_xor_si128(self, b), c) }
    }
    #[inline(always)]
    unsafe fn product<const WHICH: i32>(self, other: Self) -> Self {
        unsafe { _mm_clmulepi64_si128::<WHICH>(self, other) }
    }
    #[inline(always)]
    unsafe fn up_one_word(self, below: Self) -> Self {
        unsafe { _mm_alignr_epi8::<8>(self, below) }
    }
}

impl Lanes for __m512i {
    const WORDS: usize = 8;
    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    unsafe fn load(from: *const u64) -> Self {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn broadcast(from: *const u64) -> Self {
        unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(from.cast())) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u64) {
        unsafe { _mm512_storeu_si512(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        unsafe { _mm512_xor_si512(self, other) }
    }
    #[inline(always)]
    unsafe fn xor3(self, b: Self, c: Self) -> Self {
        unsafe { _mm512_ternarylogic_epi64::<0x96>(self, b, c) }
    }
    #[inline(always)]
    unsafe fn product<const WHICH: i32>(self, other: Self) -> Self {
        unsafe { _mm512_clmulepi64_epi128::<WHICH>(self, other) }
    }
    #[inline(always)]
    unsafe fn up_one_word(self, below: Self) -> Self {
        unsafe { _mm512_alignr_epi64::<7>(self, below) }
    }
}

/// Constants of a reduction by carry-less products. The window of whole blocks is longer than the modulus by 1 to 8 words. The block above
/// the window is replaced by a congruent polynomial below it.
#[derive(Debug)]
pub(crate) struct Folding {
    /// Blocks of the window.
    window: usize,
    /// Block by block of the modulus, for each of the eight words above the window: that block of the polynomial congruent to 1 there.
    main: Vec<u64>,
    /// Constants like `main` for the words from the second above the modulus to the end of the window.
    last: Vec<u64>,
    /// The modulus without its leading term, and the constant of its Barrett reduction.
    low: Vec<u64>,
    barrett: u64,
}

impl Folding {
    pub(crate) fn new(modulus: &Modulus) -> Self {
        let words = modulus.low().len();
        let window = words / BLOCK + 1;
        let interleave = |places: std::ops::Range<usize>| {
            let rows: Vec<Vec<u64>> = places.map(|place| modulus.power_of_x(64 * place)).collect();
            let word = |block: usize, row: usize, i: usize| {
                rows.get(row).and_then(|row| row.get(BLOCK * block + i)).copied().unwrap_or(0)
            };
            let mut constants = Vec::with_capacity(words.next_multiple_of(BLOCK) * BLOCK);
            for block in 0..words.div_ceil(BLOCK) {
                constants.extend((0..BLOCK * BLOCK).map(|at| word(block, at / BLOCK, at % BLOCK)));
            }
            constants
        };
        Self {
            window,
            main: interleave(BLOCK * window..BLOCK * (window + 1)),
            last: interleave(words + 1..BLOCK * window),
            low: modulus.low().to_vec(),
            barrett: modulus.barrett_constant(),
        }
    }
}

/// Kernels for the CPU's carry-less multiplication. The CPU has it, or this value would not exist.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carryless {
    /// True for AVX-512 and VPCLMULQDQ, false for AVX2 and PCLMULQDQ.
    wide: bool,
}

impl Carryless {
    /// Returns the kernels of `instruction_set`, if it has any and this CPU has it.
    pub(crate) fn new(instruction_set: InstructionSet) -> Option<Self> {
        let wide = match instruction_set {
            InstructionSet::Portable => return None,
            InstructionSet::Avx2 => false,
            InstructionSet::Avx512 => true,
        };
        InstructionSet::available().contains(&instruction_set).then_some(Self { wide })
    }

    /// [`Remainder::reduce`](super::remainder::Remainder::reduce).
    pub(crate) fn reduce(self, folding: &Folding, buffer: &mut [u64], words: usize) {
        let blocks = words.div_ceil(BLOCK).max(folding.window);
        assert!(buffer.len() >= BLOCK * (blocks + 1), "the buffer is too short");
        assert_eq!(folding.main.len(), BLOCK * BLOCK * folding.low.len().div_ceil(BLOCK));
        assert_eq!(folding.last.len(), folding.main.len());
        assert_eq!(folding.window, folding.low.len() / BLOCK + 1);
        // SAFETY: the CPU has the features, as `new` checked; the lengths are those that the body wants.
        unsafe { if self.wide { reduce_avx512(folding, buffer, blocks) } else { reduce_avx2(folding, buffer, blocks) } }
    }

    /// Computes the remainders of the polynomial `words` (an even number of them) modulo polynomials of degree 64.
    pub(crate) fn residues(self, moduli: &WordModuli, words: &[u64], residues: &mut [u64]) {
        assert!(words.len().is_multiple_of(2) && !words.is_empty(), "pairs of words are reduced");
        assert_eq!(moduli.low.len() % WordModuli::GROUP, 0);
        assert_eq!([moduli.barrett.len(), moduli.fold.len() / 2, residues.len()], [moduli.low.len(); 3]);
        // SAFETY: the CPU has the features, as `new` checked.
        unsafe {
            if self.wide { residues_avx512(moduli, words, residues) } else { residues_avx2(moduli, words, residues) }
        }
    }
}

#[target_feature(enable = "avx2,pclmulqdq")]
unsafe fn reduce_avx2(folding: &Folding, buffer: &mut [u64], blocks: usize) {
    unsafe { reduce::<__m128i>(folding, buffer, blocks) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq,pclmulqdq")]
unsafe fn reduce_avx512(folding: &Folding, buffer: &mut [u64], blocks: usize) {
    unsafe { reduce::<__m512i>(folding, buffer, blocks) }
}

#[target_feature(enable = "avx2,pclmulqdq")]
unsafe fn residues_avx2(moduli: &WordModuli, words: &[u64], residues: &mut [u64]) {
    unsafe { self::residues::<__m128i>(moduli, words, residues) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,vpclmulqdq,pclmulqdq")]
unsafe fn residues_avx512(moduli: &WordModuli, words: &[u64], residues: &mut [u64]) {
    unsafe { self::residues::<__m512i>(moduli, words, residues) }
}

/// Adds the polynomial that is congruent to the eight words at `top` to the polynomial at `target`.
///
/// Products whose lower word lands on an even place of `target` and products whose lower word lands on an odd one have separate sums. The
/// second sum moves up by a word at the end.
#[inline(always)]
unsafe fn fold<V: Lanes>(target: *mut u64, top: *const u64, constants: &[u64]) {
    unsafe {
        let top = [0, 2, 4, 6].map(|word| V::broadcast(top.add(word)));
        let mut below = V::zero();
        let mut at = 0;
        for block in constants.chunks_exact(BLOCK * BLOCK) {
            for part in (0..BLOCK).step_by(V::WORDS) {
                let (mut even, mut odd) = (V::load(target.add(at)), V::zero());
                for (pair, &top) in top.iter().enumerate() {
                    let first = V::load(block.as_ptr().add(2 * pair * BLOCK + part));
                    let second = V::load(block.as_ptr().add((2 * pair + 1) * BLOCK + part));
                    even = even.xor3(first.product::<0x00>(top), second.product::<0x10>(top));
                    odd = odd.xor3(first.product::<0x01>(top), second.product::<0x11>(top));
                }
                even.xor(odd.up_one_word(below)).store(target.add(at));
                below = odd;
                at += V::WORDS;
            }
        }
        // The carry beyond the last block, if the modulus fills it.
        let mut carried = [0; BLOCK];
        V::zero().up_one_word(below).store(carried.as_mut_ptr());
        *target.add(at) ^= carried[0];
    }
}

#[inline(always)]
unsafe fn reduce<V: Lanes>(folding: &Folding, buffer: &mut [u64], blocks: usize) {
    let words = folding.low.len();
    let x = buffer.as_mut_ptr();
    // SAFETY: the buffer has a block more than `blocks`, the constants cover the modulus, which is shorter than the window.
    unsafe {
        for block in (folding.window..blocks).rev() {
            let top = x.add(BLOCK * block);
            fold::<V>(top.sub(BLOCK * folding.window), top, &folding.main);
        }
        if words + 1 < BLOCK * folding.window {
            let mut top = [0; BLOCK];
            let rest = BLOCK * folding.window - words - 1;
            top[..rest].copy_from_slice(&buffer[words + 1..words + 1 + rest]);
            fold::<V>(x, top.as_ptr(), &folding.last);
        }
        // One word is left above the modulus. Source: P. Barrett, "Implementing the Rivest Shamir and Adleman public key encryption
        // algorithm on a standard digital signal processor", 1986, over GF(2)[x].
        let top = buffer[words];
        let quotient = top ^ product(top, folding.barrett).1;
        let mut carried = 0;
        for (word, &low) in buffer.iter_mut().zip(&folding.low) {
            let (lower, upper) = product(quotient, low);
            *word ^= lower ^ carried;
            carried = upper;
        }
    }
}

/// The lower and the upper word of a product of two words.
#[inline(always)]
unsafe fn product(a: u64, b: u64) -> (u64, u64) {
    unsafe {
        let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, a as i64), _mm_set_epi64x(0, b as i64));
        (_mm_cvtsi128_si64(product) as u64, _mm_extract_epi64::<1>(product) as u64)
    }
}

#[inline(always)]
unsafe fn residues<V: Lanes>(moduli: &WordModuli, words: &[u64], residues: &mut [u64]) {
    const TOGETHER: usize = 4;
    let lanes = V::WORDS / 2;
    let mut folded = [0u64; 2 * WordModuli::GROUP];
    // SAFETY: a group is a whole number of TOGETHER vectors of each width, and the lengths were checked.
    unsafe {
        for group in (0..moduli.low.len()).step_by(WordModuli::GROUP) {
            for part in (0..WordModuli::GROUP).step_by(TOGETHER * lanes) {
                let constants = moduli.fold.as_ptr().add(2 * (group + part));
                let constants: [V; TOGETHER] = std::array::from_fn(|i| V::load(constants.add(i * V::WORDS)));
                let mut sums = [V::zero(); TOGETHER];
                for pair in words.chunks_exact(2).rev() {
                    let next = V::broadcast(pair.as_ptr());
                    for (sum, &constant) in sums.iter_mut().zip(&constants) {
                        *sum = next.xor3(sum.product::<0x00>(constant), sum.product::<0x11>(constant));
                    }
                }
                for (i, sum) in sums.iter().enumerate() {
                    sum.store(folded.as_mut_ptr().add(2 * part + i * V::WORDS));
                }
            }
            for (i, pair) in folded.chunks_exact(2).enumerate() {
                let quotient = pair[1] ^ product(pair[1], moduli.barrett[group + i]).1;
                residues[group + i] = pair[0] ^ product(quotient, moduli.low[group + i]).0;
            }
        }
    }
}
