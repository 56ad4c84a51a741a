/// The primitive polynomials of GF(2^m), m = 5 to 16, bit `i` being the coefficient of x^i.
const PRIMITIVE: [u32; 12] = [0x25, 0x43, 0x83, 0x11d, 0x211, 0x409, 0x805, 0x1053, 0x201b, 0x402b, 0x8003, 0x1_100b];

/// The smallest and the largest m.
pub(crate) const FIELD_BITS: std::ops::RangeInclusive<u32> = 5..=16;

/// The primitive polynomial of GF(2^`field_bits`).
pub(crate) const fn primitive_polynomial(field_bits: usize) -> u32 {
    PRIMITIVE[field_bits - 5]
}

/// Arithmetic in GF(2^m) by tables. The bits of an element are its coefficients of 1, alpha, alpha^2, ..., lowest first; alpha is a root of
/// the primitive polynomial.
#[derive(Debug)]
pub(crate) struct Field {
    bits: u32,
    /// alpha^i for two periods, so that the sum of two logarithms is an index.
    powers: Vec<u16>,
    logarithms: Vec<u16>,
    /// The matrices of multiplication by the values of each nibble, lowest first.
    matrices: [[Matrix; 16]; 4],
}

/// The bit matrix of multiplication by a constant, in four quarters: low byte from low, low from high, high from low, high from high. Byte
/// 7 - i of a quarter is its row of bit i, as GF2P8AFFINEQB reads it.
pub(crate) type Matrix = [u64; 4];

impl Field {
    pub(crate) fn new(bits: u32) -> Self {
        let polynomial = primitive_polynomial(bits as usize);
        let order = (1usize << bits) - 1;
        let mut powers = vec![0; 2 * order];
        let mut logarithms = vec![0; order + 1];
        let mut power = 1u32;
        for exponent in 0..order {
            powers[exponent] = power as u16;
            powers[exponent + order] = power as u16;
            logarithms[power as usize] = exponent as u16;
            power <<= 1;
            if power >> bits == 1 {
                power ^= polynomial;
            }
        }
        let mut field = Self { bits, powers, logarithms, matrices: [[[0; 4]; 16]; 4] };
        for nibble in 0..4 {
            for value in 0..16u16 {
                let factor = value << (4 * nibble);
                let factor = if u32::from(factor) >> bits == 0 { factor } else { 0 };
                for (column, multiple) in field.multiples(factor).into_iter().enumerate() {
                    for row in (0..16).filter(|row| multiple >> row & 1 == 1) {
                        let quarter = row / 8 * 2 + column / 8;
                        field.matrices[nibble][usize::from(value)][quarter] |= 1 << (8 * (7 - row % 8) + column % 8);
                    }
                }
            }
        }
        field
    }

    /// m, the bits of an element.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// The order of alpha, 2^m - 1.
    pub(crate) fn order(&self) -> usize {
        self.logarithms.len() - 1
    }

    /// alpha^`exponent`.
    #[inline]
    pub(crate) fn power(&self, exponent: usize) -> u16 {
        self.powers[exponent % self.order()]
    }

    /// The logarithm of `a`, which is not 0, to base alpha: from 0 to 2^m - 2.
    #[inline]
    pub(crate) fn logarithm(&self, a: u16) -> usize {
        debug_assert_ne!(a, 0, "0 has no logarithm");
        usize::from(self.logarithms[usize::from(a)])
    }

    #[inline]
    pub(crate) fn multiply(&self, a: u16, b: u16) -> u16 {
        if a == 0 || b == 0 { 0 } else { self.powers[self.logarithm(a) + self.logarithm(b)] }
    }

    /// `a` / `b`, neither of which is 0.
    #[inline]
    pub(crate) fn divide(&self, a: u16, b: u16) -> u16 {
        self.powers[self.logarithm(a) + self.order() - self.logarithm(b)]
    }

    #[inline]
    pub(crate) fn square(&self, a: u16) -> u16 {
        if a == 0 { 0 } else { self.powers[2 * self.logarithm(a)] }
    }

    /// The products of `a` and 1, alpha, alpha^2, ...: the columns of the bit matrix of multiplication by `a`, zeros from m on.
    #[inline]
    pub(crate) fn multiples(&self, a: u16) -> [u16; 16] {
        let mut multiples = [0; 16];
        if a != 0 {
            let from = self.logarithm(a);
            multiples[..self.bits as usize].copy_from_slice(&self.powers[from..from + self.bits as usize]);
        }
        multiples
    }

    /// The bit matrix of multiplication by `a`.
    #[inline(always)]
    pub(crate) fn matrix(&self, a: u16) -> Matrix {
        let mut matrix = [0; 4];
        for (nibble, matrices) in self.matrices.iter().enumerate() {
            let of_nibble = &matrices[usize::from(a >> (4 * nibble) & 15)];
            matrix.iter_mut().zip(of_nibble).for_each(|(sum, quarter)| *sum ^= quarter);
        }
        matrix
    }

    /// The exponents `exponent` * 2^i mod 2^m - 1, each once, `exponent` first. They belong to the conjugates of alpha^`exponent`.
    pub(crate) fn conjugates(&self, exponent: usize) -> Vec<usize> {
        let mut conjugates = vec![exponent];
        let mut next = 2 * exponent % self.order();
        while next != exponent {
            conjugates.push(next);
            next = 2 * next % self.order();
        }
        conjugates
    }

    /// The minimal polynomial over GF(2) of alpha^`exponent`, bit `i` being the coefficient of x^i.
    pub(crate) fn minimal_polynomial(&self, exponent: usize) -> u32 {
        let mut product = vec![1u16];
        for conjugate in self.conjugates(exponent) {
            let root = self.power(conjugate);
            product.push(0);
            for i in (0..product.len()).rev() {
                let below = if i == 0 { 0 } else { product[i - 1] };
                product[i] = below ^ self.multiply(product[i], root);
            }
        }
        product.iter().enumerate().fold(0, |bits, (i, &coefficient)| {
            assert!(coefficient <= 1, "a minimal polynomial has coefficients in GF(2)");
            bits | u32::from(coefficient) << i
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_polynomial_is_primitive() {
        for bits in FIELD_BITS {
            let field = Field::new(bits);
            let mut seen: Vec<u16> = (0..field.order()).map(|exponent| field.power(exponent)).collect();
            seen.sort_unstable();
            assert!(seen.iter().map(|&a| usize::from(a)).eq(1..=field.order()), "m = {bits}");
        }
    }

    /// Are minimal polynomials those of Lin, Costello, Error Control Coding, 2004, table 2.9 and appendix B?
    #[test]
    fn minimal_polynomials_are_those_of_the_textbook() {
        let five = Field::new(5);
        let found: Vec<u32> = [1, 3, 5, 7, 11, 15].map(|exponent| five.minimal_polynomial(exponent)).to_vec();
        assert_eq!(found, [0b100101, 0b111101, 0b110111, 0b101111, 0b111011, 0b101001]);
        let six = Field::new(6);
        assert_eq!([9, 21].map(|exponent| six.minimal_polynomial(exponent)), [0b1101, 0b111]);
    }
}
