use super::modulus::Modulus;
use crate::InstructionSet;

/// Words that are folded at once.
pub(crate) const BLOCK: usize = 8;

/// Reduces long polynomials modulo a fixed one.
#[derive(Debug)]
pub(crate) struct Remainder {
    words: usize,
    arithmetic: Arithmetic,
}

#[derive(Debug)]
enum Arithmetic {
    /// Rows for the nibbles `i` of a word and their values `v`: row `16 i + v` is v x^(4 i) x^degree modulo the modulus.
    Table(Vec<u64>),
    #[cfg(target_arch = "x86_64")]
    Carryless(super::carryless::Carryless, super::carryless::Folding),
}

impl Remainder {
    pub(crate) fn new(modulus: &Modulus, instruction_set: InstructionSet) -> Self {
        let words = modulus.low().len();
        #[cfg(target_arch = "x86_64")]
        if let Some(carryless) = super::carryless::Carryless::new(instruction_set) {
            return Self {
                words,
                arithmetic: Arithmetic::Carryless(carryless, super::carryless::Folding::new(modulus)),
            };
        }
        let mut table = vec![0; 256 * words];
        for nibble in 0..16 {
            let powers: Vec<Vec<u64>> = (0..4).map(|bit| modulus.power_of_x(64 * words + 4 * nibble + bit)).collect();
            for value in 0..16 {
                let row = &mut table[(16 * nibble + value) * words..][..words];
                for power in (0..4).filter(|bit| value >> bit & 1 == 1).map(|bit| &powers[bit]) {
                    row.iter_mut().zip(power).for_each(|(word, power)| *word ^= power);
                }
            }
        }
        Self { words, arithmetic: Arithmetic::Table(table) }
    }

    /// The number of words of a buffer in which a polynomial of `words` words can be reduced.
    pub(crate) fn buffer_words(&self, words: usize) -> usize {
        words.max(self.words).next_multiple_of(BLOCK) + 2 * BLOCK
    }

    /// Reduces the polynomial in the first `words` words of `buffer`. The remainder is in the first words, as many as the modulus has. The
    /// words above must be zero at the call from `words` on, and are undefined after it.
    pub(crate) fn reduce(&self, buffer: &mut [u64], words: usize) {
        assert!(buffer.len() >= self.buffer_words(words), "the buffer is too short");
        match &self.arithmetic {
            Arithmetic::Table(table) => {
                let rows = |top: u64, nibble: usize| {
                    &table[(16 * nibble + (top >> (4 * nibble) & 15) as usize) * self.words..][..self.words]
                };
                for place in (self.words..words).rev() {
                    let (below, top) = buffer[place - self.words..=place].split_at_mut(self.words);
                    for nibble in (0..16).step_by(4) {
                        let [a, b, c, d] = [0, 1, 2, 3].map(|i| rows(top[0], nibble + i));
                        for (i, word) in below.iter_mut().enumerate() {
                            *word ^= a[i] ^ b[i] ^ c[i] ^ d[i];
                        }
                    }
                }
            }
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Carryless(carryless, folding) => carryless.reduce(folding, buffer, words),
        }
    }
}
