//! Binary, primitive, narrow-sense BCH codes over GF(2^5) to GF(2^16), for any number of correctable errors, shortened
//! to any number of data bits.
//!
//! The generator polynomial is the product of the minimal polynomials of alpha, alpha^3, ..., alpha^(2t-1), each once. Here alpha is a root
//! of the primitive polynomial (for m up to 15 the default of Linux and bchlib):
//!
//! | m | primitive polynomial | | m | primitive polynomial |
//! |---|---|---|---|---|
//! | 5 | x^5 + x^2 + 1 | | 11 | x^11 + x^2 + 1 |
//! | 6 | x^6 + x + 1 | | 12 | x^12 + x^6 + x^4 + x + 1 |
//! | 7 | x^7 + x + 1 | | 13 | x^13 + x^4 + x^3 + x + 1 |
//! | 8 | x^8 + x^4 + x^3 + x^2 + 1 | | 14 | x^14 + x^5 + x^3 + x + 1 |
//! | 9 | x^9 + x^4 + 1 | | 15 | x^15 + x + 1 |
//! | 10 | x^10 + x^3 + 1 | | 16 | x^16 + x^12 + x^3 + x + 1 |
//!
//! Bit `i` of a codeword of `n` bits is the coefficient of x^(n-1-i): the data come first, then the parity bits.
//!
//! ```
//! use std::sync::Arc;
//! use softsense_ecc::bch::BchCode;
//!
//! let code = Arc::new(BchCode::new(13, 15, 4096)?);
//! let mut word = vec![0; code.codeword_bits().div_ceil(8)];
//! code.encode(&[0x5a; 512], &mut word);
//! word[100] ^= 0b1001_0000;
//! assert_eq!(code.decoder().decode(&mut word), Some(2));
//! assert_eq!(word[100], 0x5a);
//! # Ok::<(), softsense_base::Error>(())
//! ```
//!
//! Source: S. Lin, D. Costello, "Error Control Coding", 2004, chapter 6.

// Some items are used by the vector kernels only.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_variables))]

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod affine;
mod bit_sliced;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod carryless;
pub(crate) mod field;
mod locator;
mod modulus;
mod remainder;
mod roots;
mod syndromes;
mod vector;

use std::sync::Arc;

use softsense_base::{Error, Result};

use self::field::{FIELD_BITS, Field};
use self::locator::LocatorFinder;
use self::modulus::Modulus;
use self::remainder::Remainder;
use self::roots::RootFinder;
use self::syndromes::Syndromes;
use self::vector::Dispatch;
use crate::InstructionSet;
use crate::bits;

/// A BCH code: the part that all its encoders and decoders share.
#[derive(Debug)]
pub struct BchCode {
    correctable: usize,
    data_bits: usize,
    parity_bits: usize,
    /// The generator polynomial, times the power of x that makes its degree a whole number of words.
    generator: Modulus,
    field: Field,
    remainder: Remainder,
    syndromes: Syndromes,
    roots: RootFinder,
    dispatch: Dispatch,
}

/// Words of the longest polynomial that is reduced: 65,535 bits, the bits that round the parity up to a word, and the words that
/// [`Remainder::buffer_words`] adds.
const BUFFER_WORDS: usize = 1025 + 3 * remainder::BLOCK;

/// The parity of a code of `data_bits` data bits that corrects `correctable` errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parity {
    /// m of the least field whose codewords are long enough.
    pub field_bits: u32,
    /// m t, the most parity bits that such a code needs; the generators of a few codes have factors of a lower degree.
    pub bits: usize,
}

impl Parity {
    /// The parity in the least field with k + m t <= 2^m - 1; none if there is none up to m = 16.
    ///
    /// ```
    /// use softsense_ecc::bch::Parity;
    ///
    /// let parity = Parity::new(32_768, 105).expect("it fits the largest field");
    /// assert_eq!((parity.field_bits, parity.bits, parity.bytes()), (16, 1680, 210));
    /// assert_eq!(Parity::new(65_535, 1), None);
    /// ```
    pub fn new(data_bits: usize, correctable: usize) -> Option<Self> {
        let bits = |field_bits| correctable.saturating_mul(field_bits as usize);
        let fits = |&field_bits: &u32| data_bits.saturating_add(bits(field_bits)) < 1 << field_bits;
        let field_bits = FIELD_BITS.into_iter().find(fits)?;
        Some(Self { field_bits, bits: bits(field_bits) })
    }

    /// The parity in whole bytes.
    pub fn bytes(&self) -> usize {
        self.bits.div_ceil(8)
    }
}

impl BchCode {
    /// The code over GF(2^`field_bits`) that corrects any `correctable` errors, shortened to `data_bits` data bits.
    ///
    /// # Arguments
    /// - `field_bits`: m, 5 to 16; the code that is shortened has 2^m - 1 bits.
    /// - `correctable`: t, at least 1.
    /// - `data_bits`: k, at least 1.
    ///
    /// # Errors
    /// An argument out of its range, or data and parity bits that are together more than 2^m - 1.
    pub fn new(field_bits: u32, correctable: usize, data_bits: usize) -> Result<Self> {
        Self::with_instruction_set(field_bits, correctable, data_bits, InstructionSet::detect())
    }

    /// Returns the same code as [`Self::new`], computed with the given instructions: the results are the same, the speed is not.
    ///
    /// # Errors
    /// See [`Self::new`]; also a CPU that does not have the instructions.
    pub fn with_instruction_set(
        field_bits: u32,
        correctable: usize,
        data_bits: usize,
        instruction_set: InstructionSet,
    ) -> Result<Self> {
        let Some(dispatch) = Dispatch::new(instruction_set) else {
            let found = instruction_set.name();
            return Err(Error::code(
                "instruction_set",
                format!("found {found}, expected an instruction set that this CPU has"),
            ));
        };
        if !FIELD_BITS.contains(&field_bits) {
            return Err(Error::code("field_bits", format!("found {field_bits}, expected 5 to 16")));
        }
        let longest = (1usize << field_bits) - 1;
        let most = (longest - 1) / 2;
        if !(1..=most).contains(&correctable) {
            let message = format!("found {correctable}, expected 1 to {most} for a code of {longest} bits");
            return Err(Error::code("correctable", message));
        }
        let field = Field::new(field_bits);
        let leaders =
            (1..2 * correctable).step_by(2).filter(|&odd| field.conjugates(odd).iter().all(|&other| other >= odd));
        let factors: Vec<u32> = leaders.map(|odd| field.minimal_polynomial(odd)).collect();
        let (generator, parity_bits) = Modulus::product(&factors);
        if !(1..=longest - parity_bits).contains(&data_bits) {
            let most = longest - parity_bits;
            let message =
                format!("found {data_bits}, expected 1 to {most}, as {parity_bits} bits of the codeword are parity");
            return Err(Error::code("data_bits", message));
        }
        Ok(Self {
            correctable,
            data_bits,
            parity_bits,
            remainder: Remainder::new(&generator, instruction_set),
            syndromes: Syndromes::new(&field, correctable, instruction_set),
            roots: RootFinder::new(&field, correctable, dispatch),
            generator,
            field,
            dispatch,
        })
    }

    /// m: the code is over GF(2^m).
    pub fn field_bits(&self) -> u32 {
        self.field.bits()
    }

    /// t: the number of errors that are always corrected.
    pub fn correctable(&self) -> usize {
        self.correctable
    }

    /// k: the data bits of a codeword.
    pub fn data_bits(&self) -> usize {
        self.data_bits
    }

    /// The parity bits of a codeword: the degree of the generator polynomial, at most m t.
    pub fn parity_bits(&self) -> usize {
        self.parity_bits
    }

    /// n: the bits of a codeword.
    pub fn codeword_bits(&self) -> usize {
        self.data_bits + self.parity_bits
    }

    /// The coefficients of the generator polynomial, lowest first: `parity_bits + 1` of them.
    pub fn generator_polynomial(&self) -> Vec<bool> {
        let low = self.generator.low();
        let padding = 64 * low.len() - self.parity_bits;
        let coefficient = |i: usize| low[(padding + i) / 64] >> ((padding + i) % 64) & 1 == 1;
        (0..self.parity_bits).map(coefficient).chain([true]).collect()
    }

    /// Encodes data: the codeword is the data bits, then the parity bits.
    ///
    /// # Arguments
    /// - `data`: `data_bits` bits, packed, most significant first; padding bits are ignored.
    /// - `codeword`: receives `codeword_bits` bits, packed, most significant first; padding bits become 0.
    ///
    /// # Panics
    /// If a slice does not have as many bytes as its bits need.
    pub fn encode(&self, data: &[u8], codeword: &mut [u8]) {
        assert_eq!(data.len(), bits::bytes_for(self.data_bits), "bytes of data");
        assert_eq!(codeword.len(), bits::bytes_for(self.codeword_bits()), "bytes of a codeword");
        let mut buffer = [0; BUFFER_WORDS];
        let parity_words = self.generator.low().len();
        let words = self.data_bits.div_ceil(64);
        read_polynomial(data, self.data_bits, &mut buffer[parity_words..parity_words + words]);
        self.remainder.reduce(&mut buffer, parity_words + words);

        let (whole, odd) = (self.data_bits / 8, self.data_bits % 8);
        codeword[..data.len()].copy_from_slice(data);
        codeword[whole..].fill(0);
        if odd > 0 {
            codeword[whole] = data[whole] & !(0xff >> odd);
        }
        // The remainder fills its words from the top.
        for (index, word) in buffer[..parity_words].iter().rev().enumerate() {
            let shifted = (u128::from(*word) << 64 >> odd).to_be_bytes();
            for (to, from) in codeword[whole + 8 * index..].iter_mut().zip(&shifted[..9]) {
                *to |= from;
            }
        }
    }

    /// Tells whether the packed `word` is a codeword.
    ///
    /// # Panics
    /// If it does not have as many bytes as `codeword_bits` bits need.
    pub fn is_codeword(&self, word: &[u8]) -> bool {
        self.remainder_of(word, &mut [0; BUFFER_WORDS]).iter().all(|&word| word == 0)
    }

    /// Returns a decoder of this code, for one thread.
    pub fn decoder(self: &Arc<Self>) -> BchDecoder {
        BchDecoder {
            remainder: vec![0; self.generator.low().len().next_multiple_of(2)],
            residues: vec![0; self.syndromes.scratch_words()],
            syndromes: vec![0; 2 * self.correctable + 1],
            locator: LocatorFinder::new(self.correctable),
            roots: self.roots.scratch(self.correctable),
            positions: Vec::with_capacity(self.correctable),
            code: Arc::clone(self),
        }
    }

    /// The remainder of a word modulo the generator polynomial, both multiplied by the power of x that fills a word.
    fn remainder_of<'a>(&self, word: &[u8], buffer: &'a mut [u64; BUFFER_WORDS]) -> &'a [u64] {
        assert_eq!(word.len(), bits::bytes_for(self.codeword_bits()), "bytes of a codeword");
        let parity_words = self.generator.low().len();
        let padding = 64 * parity_words - self.parity_bits;
        let words = (self.codeword_bits() + padding).div_ceil(64);
        read_polynomial(word, self.codeword_bits() + padding, &mut buffer[..words]);
        buffer[0] = buffer[0] >> padding << padding;
        self.remainder.reduce(buffer, words);
        &buffer[..parity_words]
    }
}

/// Reads `bits` packed bits as a polynomial whose last bit is the lowest coefficient; bits after the last byte are 0.
fn read_polynomial(packed: &[u8], bits: usize, words: &mut [u64]) {
    let nine_bytes = |start: isize| -> u128 {
        let byte = |i: isize| usize::try_from(start + i).ok().and_then(|i| packed.get(i)).copied().unwrap_or(0);
        (0..9).fold(0, |sum, i| sum << 8 | u128::from(byte(i)))
    };
    let shift = bits % 8;
    for (index, word) in words.iter_mut().enumerate() {
        // The first byte that has bits of the word.
        let start = (bits / 8) as isize - 8 * (index as isize + 1);
        *word = match usize::try_from(start).ok().and_then(|start| packed.get(start..start + 9)) {
            Some(bytes) => {
                let high = u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"));
                high << shift | u64::from(bytes[8]) >> (8 - shift)
            }
            None => (nine_bytes(start) >> (8 - shift)) as u64,
        };
    }
}

/// A decoder of a BCH code. It belongs to one thread and allocates nothing.
#[derive(Debug)]
pub struct BchDecoder {
    code: Arc<BchCode>,
    remainder: Vec<u64>,
    residues: Vec<u64>,
    syndromes: Vec<u16>,
    locator: LocatorFinder,
    roots: roots::Scratch,
    positions: Vec<usize>,
}

impl BchDecoder {
    /// The code that is decoded.
    pub fn code(&self) -> &Arc<BchCode> {
        &self.code
    }

    /// Corrects a word in place, and returns the number of corrected bits. The corrected word is the only codeword that differs from the
    /// received word in at most `correctable` bits. If there is no such codeword, the result is None and the word is unchanged.
    ///
    /// A word with more than `correctable` errors may be so near to another codeword that it is corrected to that. No decoder can notice
    /// this.
    ///
    /// # Arguments
    /// - `word`: `codeword_bits` bits, packed, most significant first; padding bits are ignored and not changed.
    ///
    /// # Panics
    /// If the word does not have as many bytes as its bits need.
    pub fn decode(&mut self, word: &mut [u8]) -> Option<usize> {
        let code = &*self.code;
        let mut buffer = [0; BUFFER_WORDS];
        let remainder = code.remainder_of(word, &mut buffer);
        if remainder.iter().all(|&word| word == 0) {
            return Some(0);
        }
        let padding = 64 * remainder.len() - code.parity_bits;
        let above = remainder[1..].iter().chain(&[0]);
        for (to, (&word, &above)) in self.remainder.iter_mut().zip(remainder.iter().zip(above)) {
            *to = ((u128::from(above) << 64 | u128::from(word)) >> padding) as u64;
        }
        code.syndromes.find(&code.field, &self.remainder, &mut self.residues, &mut self.syndromes);
        let errors = self.locator.find(&code.field, &self.syndromes, code.dispatch)?;

        let (order, codeword_bits) = (code.field.order(), code.codeword_bits());
        let positions = &mut self.positions;
        positions.clear();
        code.roots.find(&code.field, self.locator.locator(), errors, &mut self.roots, code.dispatch, |root| {
            // The root is the inverse of the error's position; positions from `codeword_bits` on were shortened away.
            let place = match code.field.logarithm(root) {
                0 => 0,
                logarithm => order - logarithm,
            };
            if place < codeword_bits {
                positions.push(codeword_bits - 1 - place);
            }
        });
        // If there are as many positions as the recurrence is long, errors there have these syndromes. So the corrected word is a codeword.
        if positions.len() != errors {
            return None;
        }
        positions.iter().for_each(|&position| bits::flip(word, position));
        debug_assert!(code.is_codeword(word), "what was corrected is not a codeword");
        Some(errors)
    }
}
