use super::field::Field;
use super::modulus::Modulus;
use crate::InstructionSet;

/// Power sums of the errors, from the remainder of a word modulo the generator polynomial.
///
/// The remainder is first reduced modulo products of minimal polynomials, each of degree 64 at most. The residue is a sum over 64 bits,
/// looked up nibble by nibble.
#[derive(Debug)]
pub(crate) struct Syndromes {
    moduli: WordModuli,
    /// The products of byte `b` and x^64 modulo each of the moduli, for CPUs without carry-less products.
    tables: Vec<[u64; 256]>,
    #[cfg(target_arch = "x86_64")]
    carryless: Option<super::carryless::Carryless>,
    /// The source of the syndrome of each odd power of alpha.
    odd: Vec<Source>,
}

/// Polynomials of degree 64. Their number is a whole number of groups.
#[derive(Debug, Default)]
pub(crate) struct WordModuli {
    /// The polynomials without their leading terms.
    pub low: Vec<u64>,
    /// The constants of their Barrett reductions.
    pub barrett: Vec<u64>,
    /// x^128 and x^192 modulo each polynomial.
    pub fold: Vec<u64>,
}

impl WordModuli {
    /// Number of polynomials by which a word is reduced together.
    pub(crate) const GROUP: usize = 16;
}

#[derive(Debug)]
enum Source {
    /// The residue modulo one of the moduli, with the values of its nibbles, lowest first.
    Residue { modulus: usize, nibbles: Box<[[u16; 16]; 16]> },
    /// The syndrome of an earlier odd power, squared `squarings` times.
    Conjugate { index: usize, squarings: usize },
}

impl Syndromes {
    pub(crate) fn new(field: &Field, correctable: usize, instruction_set: InstructionSet) -> Self {
        let mut odd: Vec<Source> = Vec::with_capacity(correctable);
        let mut factors: Vec<Vec<u32>> = vec![Vec::new()];
        let mut degree = 0;
        for exponent in (1..2 * correctable).step_by(2) {
            let conjugates = field.conjugates(exponent);
            let first = *conjugates.iter().min().expect("a number is its own conjugate");
            if first < exponent {
                let back = conjugates.iter().position(|&other| other == first).expect("it was found there");
                odd.push(Source::Conjugate { index: first / 2, squarings: conjugates.len() - back });
                continue;
            }
            degree += conjugates.len();
            if degree > 64 {
                factors.push(Vec::new());
                degree = conjugates.len();
            }
            let modulus = factors.len() - 1;
            factors[modulus].push(field.minimal_polynomial(exponent));
            let value = |nibble: usize, value: usize| {
                let bits = (0..4).filter(|bit| value >> bit & 1 == 1);
                bits.fold(0, |sum, bit| sum ^ field.power(exponent * (4 * nibble + bit)))
            };
            let nibbles = std::array::from_fn(|nibble| std::array::from_fn(|bits| value(nibble, bits)));
            odd.push(Source::Residue { modulus, nibbles: Box::new(nibbles) });
        }
        factors.resize(factors.len().next_multiple_of(WordModuli::GROUP), Vec::new());
        #[cfg(target_arch = "x86_64")]
        let carryless = super::carryless::Carryless::new(instruction_set);
        let mut moduli = WordModuli::default();
        let mut tables = Vec::new();
        for factors in factors {
            let (modulus, _) = Modulus::product(&factors);
            moduli.low.push(modulus.low()[0]);
            moduli.barrett.push(modulus.barrett_constant());
            moduli.fold.extend([128, 192].map(|exponent| modulus.power_of_x(exponent)[0]));
            if instruction_set == InstructionSet::Portable {
                let powers: [u64; 8] = std::array::from_fn(|bit| modulus.power_of_x(64 + bit)[0]);
                tables.push(std::array::from_fn(|byte| {
                    (0..8).filter(|bit| byte >> bit & 1 == 1).fold(0, |sum, bit| sum ^ powers[bit])
                }));
            }
        }
        Self {
            moduli,
            tables,
            #[cfg(target_arch = "x86_64")]
            carryless,
            odd,
        }
    }

    /// The number of words of scratch space that [`Self::find`] wants.
    pub(crate) fn scratch_words(&self) -> usize {
        self.moduli.low.len()
    }

    /// Computes the syndromes of a word from its `remainder` (an even number of words): element j of `syndromes`, for j = 1 to 2t, becomes
    /// the value of the word at alpha^j.
    pub(crate) fn find(&self, field: &Field, remainder: &[u64], scratch: &mut [u64], syndromes: &mut [u16]) {
        self.residues(remainder, scratch);
        for (index, source) in self.odd.iter().enumerate() {
            syndromes[2 * index + 1] = match source {
                Source::Residue { modulus, nibbles } => {
                    let residue = scratch[*modulus];
                    let bits = |nibble: usize| (residue >> (4 * nibble) & 15) as usize;
                    (0..16).fold(0, |sum, nibble| sum ^ nibbles[nibble][bits(nibble)])
                }
                Source::Conjugate { index, squarings } => {
                    (0..*squarings).fold(syndromes[2 * index + 1], |value, _| field.square(value))
                }
            };
        }
        for j in 1..=self.odd.len() {
            syndromes[2 * j] = field.square(syndromes[j]);
        }
    }

    fn residues(&self, words: &[u64], residues: &mut [u64]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(carryless) = self.carryless {
            return carryless.residues(&self.moduli, words, residues);
        }
        // Several residues are computed at a time, because each waits for its own look-ups.
        const TOGETHER: usize = 4;
        for (tables, residues) in self.tables.chunks_exact(TOGETHER).zip(residues.chunks_exact_mut(TOGETHER)) {
            let mut sums = [0u64; TOGETHER];
            for byte in words.iter().rev().flat_map(|word| word.to_be_bytes()) {
                for (sum, table) in sums.iter_mut().zip(tables) {
                    *sum = (*sum << 8 | u64::from(byte)) ^ table[(*sum >> 56) as usize];
                }
            }
            residues.copy_from_slice(&sums);
        }
    }
}
