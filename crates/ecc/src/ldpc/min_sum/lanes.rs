//! Vectors of message magnitudes and signs, one set of operations for each instruction set.
//!
//! The kernel is written once over [`Lanes`]; this file implements each operation for each instruction set. All
//! implementations compute the same values. There are two kinds of `unsafe`: loads and stores whose bounds the types
//! guarantee, and intrinsics whose instruction set was detected before the kernel was chosen.

/// The largest number of lanes of a vector.
pub(super) const MOST_LANES: usize = 64;

/// A vector of `COUNT` values of eight bits, signed or unsigned as the operation says.
pub(super) trait Lanes: Copy + Send {
    /// Number of lanes in a vector.
    const COUNT: usize;
    /// A vector as it is stored: twice in a row if the CPU has no instruction for rotating the lanes, so that every rotation can be read
    /// straight.
    type Stored: Copy + Send;
    /// A vector of as many lanes of 16 bits.
    type Wide: Copy + Send;

    /// Loads stored `lanes`, with lane `rotation` first.
    fn load(lanes: &Self::Stored, rotation: u32) -> Self;
    /// Returns the vector as it is stored.
    fn store(self) -> Self::Stored;
    /// `value` in every lane.
    fn splat(value: i8) -> Self;
    /// The absolute values, unsigned: that of -128 is 128.
    fn abs(self) -> Self;
    /// The minimum lane by lane, unsigned.
    fn min(self, other: Self) -> Self;
    /// The maximum lane by lane, unsigned.
    fn max(self, other: Self) -> Self;
    /// The exclusive or, lane by lane.
    fn xor(self, other: Self) -> Self;
    /// The sum lane by lane. The caller knows that it cannot overflow.
    fn add(self, other: Self) -> Self;
    /// The sum lane by lane, signed, saturating.
    fn add_saturating(self, other: Self) -> Self;
    /// The difference lane by lane, signed, saturating.
    fn subtract_saturating(self, other: Self) -> Self;
    /// `yes` in lanes in which this vector agrees with `other`, `no` elsewhere.
    fn where_equal(self, other: Self, yes: Self, no: Self) -> Self;
    /// Negates the lanes for which `other` is negative.
    fn negate_where_negative(self, other: Self) -> Self;
    /// `(lane * factor_16ths + 8) / 16`, less `offset` but not below zero, and at most `clip`, unsigned; lanes up to 127.
    fn correct(self, factor_16ths: u8, offset: u8, clip: u8) -> Self;
    /// The value of the last step whose threshold a lane reaches, `lowest` if it reaches none. Steps are threshold and value, thresholds do
    /// not fall, and lanes are unsigned.
    #[inline(always)]
    fn climb(self, lowest: u8, steps: &[[u8; 2]]) -> Self {
        let mut value = Self::splat(lowest as i8);
        for &[threshold, next] in steps {
            value = self.max(Self::splat(threshold as i8)).where_equal(self, Self::splat(next as i8), value);
        }
        value
    }
    /// A vector from the first `COUNT` lanes.
    fn from_lanes(lanes: &[i8; MOST_LANES]) -> Self;
    /// Writes the lanes into the first `COUNT` places.
    fn write(self, lanes: &mut [i8; MOST_LANES]);
    /// The lanes, in the first `COUNT` places.
    #[inline(always)]
    fn lanes(self) -> [i8; MOST_LANES] {
        let mut lanes = [0; MOST_LANES];
        self.write(&mut lanes);
        lanes
    }
    /// `-size` in lanes whose byte has a one in `mask`, `size` elsewhere.
    fn from_bits(bytes: Self, mask: u8, size: i8) -> Self;
    /// `bytes`, with `mask` added in lanes in which this vector is negative.
    fn collect_signs(self, mask: u8, bytes: Self) -> Self;
    /// The bits of the lanes that are negative, lane 0 lowest.
    fn signs(self) -> u64;

    /// Widens to as many lanes of 16 bits, in the order that packing undoes.
    fn widen(self) -> Self::Wide;
    /// Saturates to eight bits. It is the inverse of [`Lanes::widen`].
    fn narrow(wide: Self::Wide) -> Self;
    /// The sum lane by lane, which wraps. `message` is unsigned and in the order of [`Lanes::narrow`].
    fn add_wide(wide: Self::Wide, message: Self) -> Self::Wide;
    /// The difference, as in [`Lanes::add_wide`].
    fn subtract_wide(wide: Self::Wide, message: Self) -> Self::Wide;
    /// Reads the first `COUNT` lanes, which stay in their order. Lanes that are narrowed from them have the order of [`Lanes::narrow`].
    fn read_wide(lanes: &[i16; MOST_LANES]) -> Self::Wide;
    /// Writes what was read by [`Lanes::read_wide`] into the first `COUNT` places.
    fn write_wide(wide: Self::Wide, lanes: &mut [i16; MOST_LANES]);
}

/// Vectors of 16 bits that are stored twice in a row.
pub(super) trait Doubled: Lanes {
    /// The stored form of a vector of 16 bits; see [`Lanes::Stored`].
    type StoredWide: Copy + Send;

    /// Loads a stored vector of 16 bits; see [`Lanes::load`].
    fn load_wide(lanes: &Self::StoredWide, rotation: u32) -> Self::Wide;
    /// Returns a vector of 16 bits as it is stored; see [`Lanes::store`].
    fn store_wide(wide: Self::Wide) -> Self::StoredWide;
    /// Widens the lanes in their order.
    fn widen_in_order(self) -> Self::Wide;
    /// Saturates to eight bits like [`Lanes::narrow`], with the lanes in their order.
    fn narrow_in_order(wide: Self::Wide) -> Self;
}

/// Vectors that an instruction rotates.
pub(super) trait Rotating: Lanes {
    /// Rotates so that lane `rotation`, modulo the lanes, is first.
    fn rotate(self, rotation: u32) -> Self;
}

/// 16 lanes in plain Rust, which the compiler turns into whatever vectors the target has.
#[derive(Clone, Copy)]
pub(super) struct Portable([i8; 16]);

impl Portable {
    #[inline(always)]
    fn map(self, f: impl Fn(i8) -> i8) -> Self {
        Self(self.0.map(f))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(i8, i8) -> i8) -> Self {
        Self(std::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
    }
}

impl Lanes for Portable {
    const COUNT: usize = 16;
    type Stored = [i8; 32];
    type Wide = [i16; 16];

    #[inline(always)]
    fn load(lanes: &[i8; 32], rotation: u32) -> Self {
        Self(*lanes[rotation as usize % 16..].first_chunk().expect("16 lanes"))
    }

    #[inline(always)]
    fn store(self) -> [i8; 32] {
        std::array::from_fn(|lane| self.0[lane % 16])
    }

    #[inline(always)]
    fn splat(value: i8) -> Self {
        Self([value; 16])
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.map(i8::wrapping_abs)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| (a as u8).min(b as u8) as i8)
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| (a as u8).max(b as u8) as i8)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, i8::wrapping_add)
    }

    #[inline(always)]
    fn add_saturating(self, other: Self) -> Self {
        self.zip(other, i8::saturating_add)
    }

    #[inline(always)]
    fn subtract_saturating(self, other: Self) -> Self {
        self.zip(other, i8::saturating_sub)
    }

    #[inline(always)]
    fn where_equal(self, other: Self, yes: Self, no: Self) -> Self {
        let equal = self.zip(other, |a, b| -i8::from(a == b));
        Self(std::array::from_fn(|lane| (yes.0[lane] & equal.0[lane]) | (no.0[lane] & !equal.0[lane])))
    }

    #[inline(always)]
    fn negate_where_negative(self, other: Self) -> Self {
        self.zip(other, |lane, other| (lane ^ (other >> 7)).wrapping_sub(other >> 7))
    }

    #[inline(always)]
    fn correct(self, factor_16ths: u8, offset: u8, clip: u8) -> Self {
        self.map(|lane| {
            let scaled = ((u16::from(lane as u8) * u16::from(factor_16ths) + 8) >> 4) as u8;
            scaled.saturating_sub(offset).min(clip) as i8
        })
    }

    #[inline(always)]
    fn from_lanes(lanes: &[i8; MOST_LANES]) -> Self {
        Self(*lanes.first_chunk().expect("16 lanes"))
    }

    #[inline(always)]
    fn write(self, lanes: &mut [i8; MOST_LANES]) {
        lanes[..16].copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn from_bits(bytes: Self, mask: u8, size: i8) -> Self {
        bytes.map(|byte| if byte as u8 & mask != 0 { -size } else { size })
    }

    #[inline(always)]
    fn collect_signs(self, mask: u8, bytes: Self) -> Self {
        self.zip(bytes, |lane, byte| byte | lane >> 7 & mask as i8)
    }

    #[inline(always)]
    fn signs(self) -> u64 {
        self.0.iter().enumerate().fold(0, |bits, (lane, &value)| bits | u64::from(value < 0) << lane)
    }

    #[inline(always)]
    fn widen(self) -> [i16; 16] {
        self.0.map(i16::from)
    }

    #[inline(always)]
    fn narrow(wide: [i16; 16]) -> Self {
        Self(wide.map(|lane| lane.clamp(i8::MIN.into(), i8::MAX.into()) as i8))
    }

    #[inline(always)]
    fn add_wide(wide: [i16; 16], message: Self) -> [i16; 16] {
        std::array::from_fn(|lane| wide[lane].wrapping_add(i16::from(message.0[lane] as u8)))
    }

    #[inline(always)]
    fn subtract_wide(wide: [i16; 16], message: Self) -> [i16; 16] {
        std::array::from_fn(|lane| wide[lane].wrapping_sub(i16::from(message.0[lane] as u8)))
    }

    #[inline(always)]
    fn read_wide(lanes: &[i16; MOST_LANES]) -> [i16; 16] {
        *lanes.first_chunk().expect("16 lanes")
    }

    #[inline(always)]
    fn write_wide(wide: [i16; 16], lanes: &mut [i16; MOST_LANES]) {
        lanes[..16].copy_from_slice(&wide);
    }
}

impl Doubled for Portable {
    type StoredWide = [i16; 32];

    #[inline(always)]
    fn load_wide(lanes: &[i16; 32], rotation: u32) -> [i16; 16] {
        *lanes[rotation as usize % 16..].first_chunk().expect("16 lanes")
    }

    #[inline(always)]
    fn store_wide(wide: [i16; 16]) -> [i16; 32] {
        std::array::from_fn(|lane| wide[lane % 16])
    }

    #[inline(always)]
    fn widen_in_order(self) -> [i16; 16] {
        self.widen()
    }

    #[inline(always)]
    fn narrow_in_order(wide: [i16; 16]) -> Self {
        Self::narrow(wide)
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Doubled, Lanes, MOST_LANES, Rotating};

    /// 32 lanes in AVX2 registers.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256i);

    // SAFETY, for every block of this file: the kernels that use these types run only under `target_feature` of the same instructions,
    // which `InstructionSet::available` has detected; loads and stores go through references to whole arrays.
    impl Lanes for Avx2 {
        const COUNT: usize = 32;
        type Stored = [__m256i; 2];
        type Wide = [__m256i; 2];

        #[inline(always)]
        fn load(lanes: &[__m256i; 2], rotation: u32) -> Self {
            let bytes: *const i8 = lanes.as_ptr().cast();
            Self(unsafe { _mm256_loadu_si256(bytes.add(rotation as usize % 32).cast()) })
        }

        #[inline(always)]
        fn store(self) -> [__m256i; 2] {
            [self.0; 2]
        }

        #[inline(always)]
        fn splat(value: i8) -> Self {
            Self(unsafe { _mm256_set1_epi8(value) })
        }

        #[inline(always)]
        fn abs(self) -> Self {
            Self(unsafe { _mm256_abs_epi8(self.0) })
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            Self(unsafe { _mm256_min_epu8(self.0, other.0) })
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            Self(unsafe { _mm256_max_epu8(self.0, other.0) })
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            Self(unsafe { _mm256_xor_si256(self.0, other.0) })
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Self(unsafe { _mm256_add_epi8(self.0, other.0) })
        }

        #[inline(always)]
        fn add_saturating(self, other: Self) -> Self {
            Self(unsafe { _mm256_adds_epi8(self.0, other.0) })
        }

        #[inline(always)]
        fn subtract_saturating(self, other: Self) -> Self {
            Self(unsafe { _mm256_subs_epi8(self.0, other.0) })
        }

        #[inline(always)]
        fn where_equal(self, other: Self, yes: Self, no: Self) -> Self {
            Self(unsafe { _mm256_blendv_epi8(no.0, yes.0, _mm256_cmpeq_epi8(self.0, other.0)) })
        }

        #[inline(always)]
        fn negate_where_negative(self, other: Self) -> Self {
            // The sign instruction turns the lane to zero for a zero. A one in the lowest bit keeps it positive.
            Self(unsafe { _mm256_sign_epi8(self.0, _mm256_or_si256(other.0, _mm256_set1_epi8(1))) })
        }

        #[inline(always)]
        fn correct(self, factor_16ths: u8, offset: u8, clip: u8) -> Self {
            unsafe {
                let zero = _mm256_setzero_si256();
                let factor = _mm256_set1_epi16(i16::from(factor_16ths));
                let half = _mm256_set1_epi16(8);
                let scale = |lanes| _mm256_srli_epi16::<4>(_mm256_add_epi16(_mm256_mullo_epi16(lanes, factor), half));
                let low = scale(_mm256_unpacklo_epi8(self.0, zero));
                let high = scale(_mm256_unpackhi_epi8(self.0, zero));
                let less = _mm256_subs_epu8(_mm256_packus_epi16(low, high), _mm256_set1_epi8(offset as i8));
                Self(_mm256_min_epu8(less, _mm256_set1_epi8(clip as i8)))
            }
        }

        #[inline(always)]
        fn from_lanes(lanes: &[i8; MOST_LANES]) -> Self {
            Self(unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) })
        }

        #[inline(always)]
        fn write(self, lanes: &mut [i8; MOST_LANES]) {
            unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), self.0) }
        }

        #[inline(always)]
        fn from_bits(bytes: Self, mask: u8, size: i8) -> Self {
            unsafe {
                let zero =
                    _mm256_cmpeq_epi8(_mm256_and_si256(bytes.0, _mm256_set1_epi8(mask as i8)), _mm256_setzero_si256());
                Self(_mm256_blendv_epi8(_mm256_set1_epi8(-size), _mm256_set1_epi8(size), zero))
            }
        }

        #[inline(always)]
        fn collect_signs(self, mask: u8, bytes: Self) -> Self {
            unsafe {
                let negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), self.0);
                Self(_mm256_or_si256(bytes.0, _mm256_and_si256(negative, _mm256_set1_epi8(mask as i8))))
            }
        }

        #[inline(always)]
        fn signs(self) -> u64 {
            u64::from(unsafe { _mm256_movemask_epi8(self.0) } as u32)
        }

        #[inline(always)]
        fn widen(self) -> [__m256i; 2] {
            unsafe {
                let sign = _mm256_cmpgt_epi8(_mm256_setzero_si256(), self.0);
                [_mm256_unpacklo_epi8(self.0, sign), _mm256_unpackhi_epi8(self.0, sign)]
            }
        }

        #[inline(always)]
        fn narrow(wide: [__m256i; 2]) -> Self {
            Self(unsafe { _mm256_packs_epi16(wide[0], wide[1]) })
        }

        #[inline(always)]
        fn add_wide(wide: [__m256i; 2], message: Self) -> [__m256i; 2] {
            let [low, high] = unpack_avx2(message.0);
            unsafe { [_mm256_add_epi16(wide[0], low), _mm256_add_epi16(wide[1], high)] }
        }

        #[inline(always)]
        fn subtract_wide(wide: [__m256i; 2], message: Self) -> [__m256i; 2] {
            let [low, high] = unpack_avx2(message.0);
            unsafe { [_mm256_sub_epi16(wide[0], low), _mm256_sub_epi16(wide[1], high)] }
        }

        #[inline(always)]
        fn read_wide(lanes: &[i16; MOST_LANES]) -> [__m256i; 2] {
            let lanes: *const __m256i = lanes.as_ptr().cast();
            unsafe { [_mm256_loadu_si256(lanes), _mm256_loadu_si256(lanes.add(1))] }
        }

        #[inline(always)]
        fn write_wide([low, high]: [__m256i; 2], lanes: &mut [i16; MOST_LANES]) {
            let lanes: *mut __m256i = lanes.as_mut_ptr().cast();
            unsafe {
                _mm256_storeu_si256(lanes, low);
                _mm256_storeu_si256(lanes.add(1), high);
            }
        }
    }

    impl Doubled for Avx2 {
        type StoredWide = [__m256i; 4];

        #[inline(always)]
        fn load_wide(lanes: &[__m256i; 4], rotation: u32) -> [__m256i; 2] {
            let words: *const i16 = lanes.as_ptr().cast();
            unsafe {
                let first: *const __m256i = words.add(rotation as usize % 32).cast();
                [_mm256_loadu_si256(first), _mm256_loadu_si256(first.add(1))]
            }
        }

        #[inline(always)]
        fn store_wide([low, high]: [__m256i; 2]) -> [__m256i; 4] {
            [low, high, low, high]
        }

        #[inline(always)]
        fn widen_in_order(self) -> [__m256i; 2] {
            unsafe {
                let [low, high] = [_mm256_castsi256_si128(self.0), _mm256_extracti128_si256::<1>(self.0)];
                [_mm256_cvtepi8_epi16(low), _mm256_cvtepi8_epi16(high)]
            }
        }

        #[inline(always)]
        fn narrow_in_order(wide: [__m256i; 2]) -> Self {
            // Packing interleaves the halves of its operands.
            Self(unsafe { _mm256_permute4x64_epi64::<0b11_01_10_00>(Self::narrow(wide).0) })
        }
    }

    /// Widens lanes without a sign, in the order that packing undoes, which works within 128 bits.
    #[inline(always)]
    fn unpack_avx2(message: __m256i) -> [__m256i; 2] {
        unsafe {
            let zero = _mm256_setzero_si256();
            [_mm256_unpacklo_epi8(message, zero), _mm256_unpackhi_epi8(message, zero)]
        }
    }

    /// 64 lanes in AVX-512 registers.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512i);

    impl Lanes for Avx512 {
        const COUNT: usize = 64;
        type Stored = __m512i;
        type Wide = [__m512i; 2];

        #[inline(always)]
        fn load(lanes: &__m512i, rotation: u32) -> Self {
            Self(*lanes).rotate(rotation)
        }

        #[inline(always)]
        fn store(self) -> __m512i {
            self.0
        }

        #[inline(always)]
        fn splat(value: i8) -> Self {
            Self(unsafe { _mm512_set1_epi8(value) })
        }

        #[inline(always)]
        fn abs(self) -> Self {
            Self(unsafe { _mm512_abs_epi8(self.0) })
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            Self(unsafe { _mm512_min_epu8(self.0, other.0) })
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            Self(unsafe { _mm512_max_epu8(self.0, other.0) })
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            Self(unsafe { _mm512_xor_si512(self.0, other.0) })
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Self(unsafe { _mm512_add_epi8(self.0, other.0) })
        }

        #[inline(always)]
        fn add_saturating(self, other: Self) -> Self {
            Self(unsafe { _mm512_adds_epi8(self.0, other.0) })
        }

        #[inline(always)]
        fn subtract_saturating(self, other: Self) -> Self {
            Self(unsafe { _mm512_subs_epi8(self.0, other.0) })
        }

        #[inline(always)]
        fn where_equal(self, other: Self, yes: Self, no: Self) -> Self {
            Self(unsafe { _mm512_mask_blend_epi8(_mm512_cmpeq_epi8_mask(self.0, other.0), no.0, yes.0) })
        }

        #[inline(always)]
        fn negate_where_negative(self, other: Self) -> Self {
            unsafe {
                let negative = _mm512_movepi8_mask(other.0);
                Self(_mm512_mask_sub_epi8(self.0, negative, _mm512_setzero_si512(), self.0))
            }
        }

        #[inline(always)]
        fn correct(self, factor_16ths: u8, offset: u8, clip: u8) -> Self {
            unsafe {
                let zero = _mm512_setzero_si512();
                let factor = _mm512_set1_epi16(i16::from(factor_16ths));
                let half = _mm512_set1_epi16(8);
                let scale = |lanes| _mm512_srli_epi16::<4>(_mm512_add_epi16(_mm512_mullo_epi16(lanes, factor), half));
                let low = scale(_mm512_unpacklo_epi8(self.0, zero));
                let high = scale(_mm512_unpackhi_epi8(self.0, zero));
                let less = _mm512_subs_epu8(_mm512_packus_epi16(low, high), _mm512_set1_epi8(offset as i8));
                Self(_mm512_min_epu8(less, _mm512_set1_epi8(clip as i8)))
            }
        }

        #[inline(always)]
        fn from_lanes(lanes: &[i8; MOST_LANES]) -> Self {
            Self(unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) })
        }

        #[inline(always)]
        fn write(self, lanes: &mut [i8; MOST_LANES]) {
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), self.0) }
        }

        #[inline(always)]
        fn from_bits(bytes: Self, mask: u8, size: i8) -> Self {
            unsafe {
                let one = _mm512_test_epi8_mask(bytes.0, _mm512_set1_epi8(mask as i8));
                Self(_mm512_mask_blend_epi8(one, _mm512_set1_epi8(size), _mm512_set1_epi8(-size)))
            }
        }

        #[inline(always)]
        fn collect_signs(self, mask: u8, bytes: Self) -> Self {
            unsafe {
                let with_mask = _mm512_or_si512(bytes.0, _mm512_set1_epi8(mask as i8));
                Self(_mm512_mask_blend_epi8(_mm512_movepi8_mask(self.0), bytes.0, with_mask))
            }
        }

        #[inline(always)]
        fn signs(self) -> u64 {
            unsafe { _mm512_movepi8_mask(self.0) }
        }

        #[inline(always)]
        fn widen(self) -> [__m512i; 2] {
            unsafe {
                let sign = _mm512_movm_epi8(_mm512_movepi8_mask(self.0));
                [_mm512_unpacklo_epi8(self.0, sign), _mm512_unpackhi_epi8(self.0, sign)]
            }
        }

        #[inline(always)]
        fn narrow(wide: [__m512i; 2]) -> Self {
            Self(unsafe { _mm512_packs_epi16(wide[0], wide[1]) })
        }

        #[inline(always)]
        fn add_wide(wide: [__m512i; 2], message: Self) -> [__m512i; 2] {
            let [low, high] = unpack_avx512(message.0);
            unsafe { [_mm512_add_epi16(wide[0], low), _mm512_add_epi16(wide[1], high)] }
        }

        #[inline(always)]
        fn subtract_wide(wide: [__m512i; 2], message: Self) -> [__m512i; 2] {
            let [low, high] = unpack_avx512(message.0);
            unsafe { [_mm512_sub_epi16(wide[0], low), _mm512_sub_epi16(wide[1], high)] }
        }

        #[inline(always)]
        fn read_wide(lanes: &[i16; MOST_LANES]) -> [__m512i; 2] {
            let lanes: *const __m512i = lanes.as_ptr().cast();
            unsafe { [_mm512_loadu_si512(lanes), _mm512_loadu_si512(lanes.add(1))] }
        }

        #[inline(always)]
        fn write_wide([low, high]: [__m512i; 2], lanes: &mut [i16; MOST_LANES]) {
            let lanes: *mut __m512i = lanes.as_mut_ptr().cast();
            unsafe {
                _mm512_storeu_si512(lanes, low);
                _mm512_storeu_si512(lanes.add(1), high);
            }
        }
    }

    impl Rotating for Avx512 {
        #[inline(always)]
        fn rotate(self, rotation: u32) -> Self {
            let order: *const __m512i = ROTATIONS.0[rotation as usize % 64].as_ptr().cast();
            Self(unsafe { _mm512_permutexvar_epi8(_mm512_load_si512(order), self.0) })
        }
    }

    /// Values on cache lines of their own.
    #[repr(align(64))]
    struct Lines<T>(T);

    /// The lanes in the order of each rotation.
    static ROTATIONS: Lines<[[u8; 64]; 64]> = {
        let mut orders = [[0; 64]; 64];
        let mut index = 0;
        while index < 64 * 64 {
            orders[index / 64][index % 64] = ((index / 64 + index) % 64) as u8;
            index += 1;
        }
        Lines(orders)
    };

    /// Widens lanes like `unpack_avx2`.
    #[inline(always)]
    fn unpack_avx512(message: __m512i) -> [__m512i; 2] {
        unsafe {
            let zero = _mm512_setzero_si512();
            [_mm512_unpacklo_epi8(message, zero), _mm512_unpackhi_epi8(message, zero)]
        }
    }
}
