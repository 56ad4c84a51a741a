//! Arithmetic on vectors of field elements, and of bits, in each instruction set.

use super::field::Field;
use crate::InstructionSet;

/// Number of field elements that are multiplied together.
pub(crate) const ELEMENTS: usize = 32;

/// 512 bits: one bit of each of 512 field elements.
pub(crate) type Plane = [u64; 8];

/// The operations of an instruction set. They are inlined into [`Kernel::run`], which is compiled once for each set.
pub(crate) trait Vectors: Copy {
    /// The constants for many multiplications by one element.
    type Factor: Copy;
    fn factor(self, field: &Field, factor: u16) -> Self::Factor;
    /// `to` + `factor` `from`, element by element.
    fn add_multiple(self, to: [u16; ELEMENTS], from: [u16; ELEMENTS], factor: Self::Factor) -> [u16; ELEMENTS];

    /// A vector of bits, a part of a [`Plane`].
    type Bits: Copy;
    /// Number of vectors of bits in a [`Plane`].
    const PARTS: usize;
    fn zero(self) -> Self::Bits;
    fn ones(self) -> Self::Bits;
    fn load(self, from: &Plane, part: usize) -> Self::Bits;
    fn store(self, bits: Self::Bits, to: &mut Plane, part: usize);
    fn xor(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    fn or(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// `sum` + `a` `b`.
    fn add_product(self, sum: Self::Bits, a: Self::Bits, b: Self::Bits) -> Self::Bits;
}

/// A computation that is compiled for each instruction set.
pub(crate) trait Kernel {
    type Output;
    /// Runs the computation. Implementations are `#[inline(always)]`.
    fn run<V: Vectors>(self, vectors: V) -> Self::Output;
}

/// An instruction set that this CPU has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dispatch(InstructionSet);

impl Dispatch {
    /// Returns None if this CPU does not have the instruction set.
    pub(crate) fn new(instruction_set: InstructionSet) -> Option<Self> {
        InstructionSet::available().contains(&instruction_set).then_some(Self(instruction_set))
    }

    pub(crate) fn instruction_set(self) -> InstructionSet {
        self.0
    }

    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => x86::run_avx512(self, kernel),
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => x86::run_avx2(self, kernel),
            _ => kernel.run(Portable),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Portable;

impl Vectors for Portable {
    type Factor = [u16; 16];

    #[inline(always)]
    fn factor(self, field: &Field, factor: u16) -> [u16; 16] {
        field.multiples(factor)
    }

    #[inline(always)]
    fn add_multiple(self, mut to: [u16; ELEMENTS], from: [u16; ELEMENTS], multiples: [u16; 16]) -> [u16; ELEMENTS] {
        for (bit, multiple) in multiples.into_iter().enumerate() {
            for (to, from) in to.iter_mut().zip(from) {
                *to ^= ((from << (15 - bit)) as i16 >> 15) as u16 & multiple;
            }
        }
        to
    }

    type Bits = [u64; 2];
    const PARTS: usize = 4;

    #[inline(always)]
    fn zero(self) -> [u64; 2] {
        [0; 2]
    }

    #[inline(always)]
    fn ones(self) -> [u64; 2] {
        [u64::MAX; 2]
    }

    #[inline(always)]
    fn load(self, from: &Plane, part: usize) -> [u64; 2] {
        [from[2 * part], from[2 * part + 1]]
    }

    #[inline(always)]
    fn store(self, bits: [u64; 2], to: &mut Plane, part: usize) {
        to[2 * part..2 * part + 2].copy_from_slice(&bits);
    }

    #[inline(always)]
    fn xor(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        [a[0] ^ b[0], a[1] ^ b[1]]
    }

    #[inline(always)]
    fn or(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        [a[0] | b[0], a[1] | b[1]]
    }

    #[inline(always)]
    fn add_product(self, sum: [u64; 2], a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        [sum[0] ^ a[0] & b[0], sum[1] ^ a[1] & b[1]]
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::*;

    use super::*;

    /// Runs `kernel` compiled for AVX2. The [`Dispatch`] is the proof that the CPU has it.
    #[inline]
    pub(crate) fn run_avx2<K: Kernel>(dispatch: Dispatch, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,bmi2")]
        fn shell<K: Kernel>(vectors: Avx2, kernel: K) -> K::Output {
            kernel.run(vectors)
        }
        assert!(dispatch.0 >= InstructionSet::Avx2);
        // SAFETY: the CPU has AVX2 and BMI2.
        unsafe { shell(Avx2(()), kernel) }
    }

    /// Runs `kernel` compiled for AVX-512 and GFNI. The [`Dispatch`] is the proof that the CPU has them.
    #[inline]
    pub(crate) fn run_avx512<K: Kernel>(dispatch: Dispatch, kernel: K) -> K::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,gfni,bmi2")]
        fn shell<K: Kernel>(vectors: Avx512, kernel: K) -> K::Output {
            kernel.run(vectors)
        }
        assert!(dispatch.0 >= InstructionSet::Avx512);
        // SAFETY: the CPU has AVX-512 and GFNI.
        unsafe { shell(Avx512(()), kernel) }
    }

    /// A proof that the CPU has AVX2: only the code above makes it.
    #[derive(Debug, Clone, Copy)]
    struct Avx2(());

    // SAFETY (of every block below): an `Avx2` exists only on a CPU with AVX2; what is transmuted or loaded are plain arrays of
    // the vector's size.
    impl Vectors for Avx2 {
        /// The products with the values of each nibble, lowest nibble first: their low bytes, and their high bytes, both twice.
        type Factor = [[__m256i; 2]; 4];

        #[inline(always)]
        fn factor(self, field: &Field, factor: u16) -> [[__m256i; 2]; 4] {
            let multiples = field.multiples(factor);
            let mut tables = [[self.zero(); 2]; 4];
            for (nibble, table) in tables.iter_mut().enumerate() {
                unsafe {
                    let values = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
                    let mut products = self.zero();
                    for bit in 0..4 {
                        let has = _mm256_and_si256(values, _mm256_set1_epi16(1 << bit));
                        let without = _mm256_cmpeq_epi16(has, self.zero());
                        let multiple = _mm256_set1_epi16(multiples[4 * nibble + bit] as i16);
                        products = _mm256_xor_si256(products, _mm256_andnot_si256(without, multiple));
                    }
                    let low = _mm256_and_si256(products, _mm256_set1_epi16(0xff));
                    let bytes = _mm256_packus_epi16(low, _mm256_srli_epi16::<8>(products));
                    let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(bytes);
                    let (low, high) = (
                        _mm256_permute2x128_si256::<0x00>(bytes, bytes),
                        _mm256_permute2x128_si256::<0x11>(bytes, bytes),
                    );
                    *table = [low, high];
                }
            }
            tables
        }

        #[inline(always)]
        fn add_multiple(
            self,
            mut to: [u16; ELEMENTS],
            from: [u16; ELEMENTS],
            tables: [[__m256i; 2]; 4],
        ) -> [u16; ELEMENTS] {
            unsafe {
                let first = _mm256_loadu_si256(from.as_ptr().cast());
                let second = _mm256_loadu_si256(from[16..].as_ptr().cast());
                let byte = _mm256_set1_epi16(0xff);
                let low = _mm256_packus_epi16(_mm256_and_si256(first, byte), _mm256_and_si256(second, byte));
                let high = _mm256_packus_epi16(_mm256_srli_epi16::<8>(first), _mm256_srli_epi16::<8>(second));
                let nibble = _mm256_set1_epi8(15);
                let nibbles = [
                    _mm256_and_si256(low, nibble),
                    _mm256_and_si256(_mm256_srli_epi16::<4>(low), nibble),
                    _mm256_and_si256(high, nibble),
                    _mm256_and_si256(_mm256_srli_epi16::<4>(high), nibble),
                ];
                let (mut low, mut high) = (self.zero(), self.zero());
                for (nibble, [low_bytes, high_bytes]) in nibbles.into_iter().zip(tables) {
                    low = _mm256_xor_si256(low, _mm256_shuffle_epi8(low_bytes, nibble));
                    high = _mm256_xor_si256(high, _mm256_shuffle_epi8(high_bytes, nibble));
                }
                // Interleaving restores the order that packing changed.
                for (half, product) in
                    [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)].into_iter().enumerate()
                {
                    let to = to[16 * half..16 * half + 16].as_mut_ptr();
                    _mm256_storeu_si256(to.cast(), _mm256_xor_si256(_mm256_loadu_si256(to.cast()), product));
                }
            }
            to
        }

        type Bits = __m256i;
        const PARTS: usize = 2;

        #[inline(always)]
        fn zero(self) -> __m256i {
            unsafe { _mm256_setzero_si256() }
        }

        #[inline(always)]
        fn ones(self) -> __m256i {
            unsafe { _mm256_set1_epi64x(-1) }
        }

        #[inline(always)]
        fn load(self, from: &Plane, part: usize) -> __m256i {
            unsafe { _mm256_loadu_si256(from[4 * part..4 * part + 4].as_ptr().cast()) }
        }

        #[inline(always)]
        fn store(self, bits: __m256i, to: &mut Plane, part: usize) {
            unsafe { _mm256_storeu_si256(to[4 * part..4 * part + 4].as_mut_ptr().cast(), bits) }
        }

        #[inline(always)]
        fn xor(self, a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_xor_si256(a, b) }
        }

        #[inline(always)]
        fn or(self, a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_or_si256(a, b) }
        }

        #[inline(always)]
        fn add_product(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_xor_si256(sum, _mm256_and_si256(a, b)) }
        }
    }

    /// A proof that the CPU has AVX-512 F, BW, VL, DQ, VBMI and GFNI: only the code above makes it.
    #[derive(Debug, Clone, Copy)]
    struct Avx512(());

    // SAFETY (of every block below): an `Avx512` exists only on a CPU with these; what is transmuted or loaded are plain arrays
    // of the vector's size.
    impl Vectors for Avx512 {
        type Factor = [__m512i; 4];

        #[inline(always)]
        fn factor(self, field: &Field, factor: u16) -> [__m512i; 4] {
            let [low_low, low_high, high_low, high_high] = field.matrix(factor);
            unsafe {
                [
                    _mm512_set1_epi64(low_low as i64),
                    _mm512_set1_epi64(low_high as i64),
                    _mm512_set1_epi64(high_low as i64),
                    _mm512_set1_epi64(high_high as i64),
                ]
            }
        }

        #[inline(always)]
        fn add_multiple(self, to: [u16; ELEMENTS], from: [u16; ELEMENTS], factor: [__m512i; 4]) -> [u16; ELEMENTS] {
            const HIGH: u64 = 0xaaaa_aaaa_aaaa_aaaa;
            let [low_low, low_high, high_low, high_high] = factor;
            unsafe {
                let from = _mm512_loadu_si512(from.as_ptr().cast());
                let crossed = _mm512_or_si512(_mm512_slli_epi16::<8>(from), _mm512_srli_epi16::<8>(from));
                let straight = _mm512_gf2p8affine_epi64_epi8::<0>(from, low_low);
                let straight = _mm512_mask_gf2p8affine_epi64_epi8::<0>(straight, HIGH, from, high_high);
                let across = _mm512_gf2p8affine_epi64_epi8::<0>(crossed, low_high);
                let across = _mm512_mask_gf2p8affine_epi64_epi8::<0>(across, HIGH, crossed, high_low);
                let to = _mm512_loadu_si512(to.as_ptr().cast());
                let mut sum = [0; ELEMENTS];
                _mm512_storeu_si512(sum.as_mut_ptr().cast(), _mm512_ternarylogic_epi64::<0x96>(to, straight, across));
                sum
            }
        }

        type Bits = __m512i;
        const PARTS: usize = 1;

        #[inline(always)]
        fn zero(self) -> __m512i {
            unsafe { _mm512_setzero_si512() }
        }

        #[inline(always)]
        fn ones(self) -> __m512i {
            unsafe { _mm512_set1_epi64(-1) }
        }

        #[inline(always)]
        fn load(self, from: &Plane, _part: usize) -> __m512i {
            unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
        }

        #[inline(always)]
        fn store(self, bits: __m512i, to: &mut Plane, _part: usize) {
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), bits) }
        }

        #[inline(always)]
        fn xor(self, a: __m512i, b: __m512i) -> __m512i {
            unsafe { _mm512_xor_si512(a, b) }
        }

        #[inline(always)]
        fn or(self, a: __m512i, b: __m512i) -> __m512i {
            unsafe { _mm512_or_si512(a, b) }
        }

        #[inline(always)]
        fn add_product(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
            unsafe { _mm512_ternarylogic_epi64::<0x78>(sum, a, b) }
        }
    }
}
