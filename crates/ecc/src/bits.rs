//! Packed bits, most significant bit of each byte first.

/// Bytes that hold `bits` bits.
pub const fn bytes_for(bits: usize) -> usize {
    bits.div_ceil(8)
}

/// Bit `index` of `word`.
#[inline]
pub fn get(word: &[u8], index: usize) -> bool {
    word[index / 8] >> (7 - index % 8) & 1 == 1
}

/// Flips bit `index` of `word`.
#[inline]
pub fn flip(word: &mut [u8], index: usize) {
    word[index / 8] ^= 0x80 >> (index % 8);
}

/// Sets bit `index` of `word` to `value`.
#[inline]
pub fn set(word: &mut [u8], index: usize, value: bool) {
    let mask = 0x80 >> (index % 8);
    word[index / 8] = word[index / 8] & !mask | if value { mask } else { 0 };
}

/// Clears the bits of the last byte of `word` that are beyond `bits` bits.
pub fn clear_padding(word: &mut [u8], bits: usize) {
    if !bits.is_multiple_of(8) {
        word[bits / 8] &= !(0xff >> (bits % 8));
    }
}

/// The number of the first `bits` places in which two words differ.
pub fn distance_of_first(bits: usize, a: &[u8], b: &[u8]) -> usize {
    (0..bits).filter(|&bit| get(a, bit) != get(b, bit)).count()
}

/// The number of places in which two words of the same length differ.
pub fn distance(a: &[u8], b: &[u8]) -> usize {
    assert_eq!(a.len(), b.len(), "words of different lengths");
    let mut a = a.chunks_exact(8);
    let mut b = b.chunks_exact(8);
    let whole: u32 = (&mut a)
        .zip(&mut b)
        .map(|(x, y)| {
            (u64::from_ne_bytes(x.try_into().unwrap()) ^ u64::from_ne_bytes(y.try_into().unwrap())).count_ones()
        })
        .sum();
    let rest: u32 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| (x ^ y).count_ones()).sum();
    (whole + rest) as usize
}
