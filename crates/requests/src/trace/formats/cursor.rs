//! Numbers and words of a line, read byte by byte.

/// A reader of numbers and tokens of a line, byte by byte.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    pub(crate) fn end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Skips spaces and tabs. Returns whether there were any.
    #[inline(always)]
    pub(crate) fn blanks(&mut self) -> bool {
        let start = self.at;
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
        self.at > start
    }

    /// Skips a comma, with blanks around it.
    #[inline(always)]
    pub(crate) fn comma(&mut self) -> Option<()> {
        if self.peek() != Some(b',') {
            self.blanks();
            if self.peek() != Some(b',') {
                return None;
            }
        }
        self.at += 1;
        if let Some(b' ' | b'\t') = self.peek() {
            self.blanks();
        }
        Some(())
    }

    /// Reads a whole number. Where the line has eight bytes left, up to eight digits are read at once, without a branch for each.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let start = self.at;
        let mut rest = self.bytes.get(start..).unwrap_or_default();
        let mut value = 0u64;
        if let Some((eight, after)) = rest.split_first_chunk() {
            let (digits, count) = leading_digits(u64::from_le_bytes(*eight));
            (value, self.at) = (digits, start + count);
            rest = if count == 8 { after } else { &[] };
        }
        for &byte in rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        match self.at - start {
            // 19 digits always fit.
            1..=19 => Some(value),
            0 => None,
            _ => checked_number(&self.bytes[start..self.at]),
        }
    }

    /// Reads a decimal number of units of `scale` nanoseconds, exactly; digits below 1 ns are cut off.
    #[inline(always)]
    pub(crate) fn time(&mut self, scale: u64) -> Option<u64> {
        let start = self.at;
        let whole = if self.peek() == Some(b'.') { 0 } else { self.number()? };
        let mut ns = whole.checked_mul(scale)?;
        if self.peek() == Some(b'.') {
            self.at += 1;
            let mut place = scale;
            let mut fraction = 0;
            while let Some(byte) = self.peek() {
                let digit = byte.wrapping_sub(b'0');
                if digit > 9 {
                    break;
                }
                place /= 10;
                fraction += place * u64::from(digit);
                self.at += 1;
            }
            if self.at - start < 2 {
                return None;
            }
            ns = ns.checked_add(fraction)?;
        }
        Some(ns)
    }

    /// Reads up to the next blank.
    #[inline(always)]
    pub(crate) fn token(&mut self) -> &'a [u8] {
        let start = self.at;
        while let Some(byte) = self.peek() {
            if byte == b' ' || byte == b'\t' {
                break;
            }
            self.at += 1;
        }
        &self.bytes[start..self.at]
    }

    /// Reads up to the next comma.
    #[inline(always)]
    pub(crate) fn field(&mut self) -> &'a [u8] {
        let start = self.at;
        while let Some(byte) = self.peek() {
            if byte == b',' {
                break;
            }
            self.at += 1;
        }
        &self.bytes[start..self.at]
    }
}

/// Returns the number that the leading digits of eight bytes make, and how many digits these are; 0 where the first byte is no digit. The
/// first byte is the lowest.
#[inline(always)]
fn leading_digits(bytes: u64) -> (u64, usize) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let values = bytes ^ (EACH * 0x30);
    // The first byte above 9 is found by its high bits; carries of the sum change only bytes after it.
    let others = (values | values.wrapping_add(EACH * 6)) & (EACH * 0xf0);
    let count = others.trailing_zeros() / 8;
    // Zeros before the digits do not matter. Digits are combined to pairs, pairs to fours, fours to eight.
    let mut digits = values.checked_shl(64 - 8 * count).unwrap_or(0);
    digits = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    digits = digits.wrapping_mul(100).wrapping_add(digits >> 16) & 0x0000_ffff_0000_ffff;
    digits = digits.wrapping_mul(10_000).wrapping_add(digits >> 32) & 0xffff_ffff;
    (digits, count as usize)
}

#[cold]
fn checked_number(digits: &[u8]) -> Option<u64> {
    digits
        .iter()
        .try_fold(0u64, |value, &digit| value.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0'))))
}

#[cold]
pub(super) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0u64, |value, &digit| Some(value << 4 | u64::from((digit as char).to_digit(16)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Are numbers read as the standard library reads them, whatever their length and the bytes after them?
    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 24
        };
        for _ in 0..100_000 {
            let digits: String = (0..next() % 23).map(|_| char::from(b'0' + (next() % 10) as u8)).collect();
            let mut text = digits.clone().into_bytes();
            let stop = [b'/', b':', b' ', b'\t', b',', b'.', 0, 0x80, 0xb5, 0xff][(next() % 10) as usize];
            for i in 0..next() % 12 {
                text.push(if i == 0 { stop } else { next() as u8 });
            }
            let mut cursor = Cursor::new(&text);
            assert_eq!(cursor.number(), digits.parse().ok(), "{digits} {text:?}");
            assert_eq!(cursor.at, digits.len());
        }
    }
}
