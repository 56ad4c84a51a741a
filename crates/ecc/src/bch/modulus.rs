/// A monic polynomial over GF(2) whose degree is a whole number of 64-bit words. Polynomials are reduced modulo it.
///
/// Bit `i` of word `w` of a polynomial is the coefficient of x^(64 w + i).
#[derive(Debug, Clone)]
pub(crate) struct Modulus {
    /// The polynomial without its leading term.
    low: Vec<u64>,
}

impl Modulus {
    /// Multiplies the `factors` (bit `i` being the coefficient of x^i) and the least power of x that makes the degree a whole number of
    /// words. Returns the product, and the degree of the product of the factors alone.
    pub(crate) fn product(factors: &[u32]) -> (Self, usize) {
        let degree: usize = factors.iter().map(|factor| factor.ilog2() as usize).sum();
        let words = degree.div_ceil(64).max(1);
        let mut product = vec![0u64; words + 1];
        product[0] = 1;
        for factor in factors {
            let mut next = vec![0u64; words + 1];
            for shift in (0..32).filter(|shift| factor >> shift & 1 == 1) {
                let mut carried = 0;
                for (to, &from) in next.iter_mut().zip(&product) {
                    let wide = u128::from(from) << shift;
                    *to ^= wide as u64 | carried;
                    carried = (wide >> 64) as u64;
                }
            }
            product = next;
        }
        let shift = 64 * words - degree;
        for i in (0..=words).rev() {
            let below = if i == 0 { 0 } else { product[i - 1] };
            product[i] = ((u128::from(product[i]) << 64 | u128::from(below)) << shift >> 64) as u64;
        }
        assert_eq!(product.pop(), Some(1), "the product is monic");
        (Self { low: product }, degree)
    }

    /// The polynomial without its leading term.
    pub(crate) fn low(&self) -> &[u64] {
        &self.low
    }

    /// Multiplies the reduced polynomial by x, modulo this one. Returns the coefficient that was reduced.
    fn shift(&self, polynomial: &mut [u64]) -> u64 {
        let mut carry = 0;
        for word in polynomial.iter_mut() {
            (*word, carry) = (*word << 1 | carry, *word >> 63);
        }
        if carry == 1 {
            polynomial.iter_mut().zip(&self.low).for_each(|(word, low)| *word ^= low);
        }
        carry
    }

    /// x^`exponent` modulo this polynomial, for an exponent from the degree on.
    pub(crate) fn power_of_x(&self, exponent: usize) -> Vec<u64> {
        let mut power = self.low.clone();
        for _ in 64 * self.low.len()..exponent {
            self.shift(&mut power);
        }
        power
    }

    /// The quotient of x^(degree + 64) by this polynomial, without its leading term x^64: the constant of a Barrett reduction by one word.
    pub(crate) fn barrett_constant(&self) -> u64 {
        let mut power = self.low.clone();
        (0..64).fold(0, |quotient, _| quotient << 1 | self.shift(&mut power))
    }
}
