mod kernel;
mod lanes;
mod layout;

use softsense_base::{Error, Result};

use super::QuasiCyclic;
use crate::{InstructionSet, Outcome, bits};
use kernel::{Arithmetic, HEAVIEST_COLUMN, Kernel, MESSAGE_LIMIT, compile, lanes};

/// How the smallest magnitudes that a check receives become those that it sends, in the integers of [`MinSum`].
///
/// A factor below one makes up for min-sum taking the smallest magnitude where sum-product would answer less. Early messages are
/// the most overestimated: factors that grow over the first iterations save 8 % of the iterations of `flash-8/9` at 0.0075, and
/// where only ten are allowed lower the frame error rate of the adaptive codes 3 to 26 times (docs/model/ldpc-decoding.md).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// For each iteration, and the last for all that follow: magnitudes are multiplied by so many sixteenths and rounded. On
    /// soft decisions no factor is larger than the last: to overshoot saves iterations there too, but loses words.
    pub factors_16ths: Vec<u8>,
    /// What is then subtracted, down to zero.
    pub offset: u8,
}

impl Correction {
    /// The factors that decoded best of those tried on the shipped codes of such a rate.
    pub fn for_rate(rate: f64) -> Self {
        let factors: &[u8] = match rate {
            0.7.. => &[8, 10, 12, 12, 12, 11],
            0.4.. => &[8, 10, 12],
            _ => &[9, 11, 13],
        };
        Self { factors_16ths: factors.to_vec(), offset: 0 }
    }

    fn check(&self) -> Result<()> {
        if self.factors_16ths.is_empty() {
            return Err(Error::code("factors_16ths", "found none, expected at least one"));
        }
        if let Some(factor) = self.factors_16ths.iter().find(|factor| !(1..=16).contains(*factor)) {
            return Err(Error::code("factors_16ths", format!("found {factor}, expected 1 to 16")));
        }
        if self.offset > MESSAGE_LIMIT {
            return Err(Error::code("offset", format!("found {}, expected at most {MESSAGE_LIMIT}", self.offset)));
        }
        Ok(())
    }

    /// The correction of soft decisions.
    fn soft(&self) -> Self {
        let last = self.factors_16ths.last().copied().unwrap_or(0);
        Self { factors_16ths: self.factors_16ths.iter().map(|&factor| factor.min(last)).collect(), ..self.clone() }
    }

    fn factor_16ths(&self, iteration: u32) -> u8 {
        self.factors_16ths[(iteration as usize).min(self.factors_16ths.len() - 1)]
    }
}

/// Layered min-sum with messages of eight bits over a quasi-cyclic code, vectorised over the checks of a circulant.
///
/// A-posteriori values have eight bits as well where that loses little, which is for hard decisions and columns of weight 4:
/// the channel's magnitude and the messages' limit are chosen so that totals cannot overflow. Everywhere else they have 16.
/// An a-posteriori value of zero decides for bit 0.
///
/// Decisions are checked before the first iteration and up to four times in each, the first but once, so that a word is done as
/// soon as it has converged; the iteration that was begun counts in full.
///
/// Every instruction set decides the same. A decoder belongs to one thread and allocates nothing once it is made.
///
/// Source: E. Sharon, S. Litsyn, J. Goldberger, "Efficient serial message-passing schedules for LDPC decoding", 2007 (layers);
/// J. Chen and M. Fossorier, "Near optimum universal belief propagation based decoding of LDPC codes", 2002 (normalisation).
/// Deviation: factors that grow with the iteration.
pub struct MinSum {
    hard: Box<dyn Kernel>,
    soft: Box<dyn Kernel>,
    instructions: InstructionSet,
    codeword_bits: usize,
}

impl MinSum {
    /// The decoder of a code, with the widest vectors that the CPU has and that divide its circulants.
    ///
    /// # Errors
    /// A circulant size that is no multiple of 16, or a correction out of range.
    pub fn new(code: &QuasiCyclic, correction: &Correction) -> Result<Self> {
        Self::with_instruction_set(code, correction, InstructionSet::detect())
    }

    /// As [`MinSum::new`], with `instructions` as the widest.
    ///
    /// # Errors
    /// As [`MinSum::new`]; and instructions that the CPU does not have.
    pub fn with_instruction_set(code: &QuasiCyclic, correction: &Correction, widest: InstructionSet) -> Result<Self> {
        correction.check()?;
        let (instructions, heaviest) = Self::fit(code, widest)?;
        let narrow = Arithmetic::narrow(correction, heaviest);
        Ok(Self {
            hard: match narrow {
                Some(narrow) => compile(code, instructions, true, narrow),
                None => compile(code, instructions, false, Arithmetic::wide_hard(correction)),
            },
            soft: compile(code, instructions, false, Arithmetic::wide_soft(correction)),
            instructions,
            codeword_bits: code.circulant_size() * code.columns(),
        })
    }

    /// Whether there is a decoder of a code, without making one.
    pub fn decodes(code: &QuasiCyclic) -> bool {
        Self::fit(code, InstructionSet::detect()).is_ok()
    }

    /// The instructions whose vectors divide the circulants of `code`, and the weight of its heaviest column.
    fn fit(code: &QuasiCyclic, widest: InstructionSet) -> Result<(InstructionSet, u32)> {
        let available = InstructionSet::available();
        if !available.contains(&widest) {
            return Err(Error::code("", format!("this CPU does not have {}", widest.name())));
        }
        let size = code.circulant_size();
        let fits = |set: &InstructionSet| *set <= widest && size.is_multiple_of(lanes(*set));
        let Some(instructions) = available.into_iter().rfind(fits) else {
            return Err(Error::code(
                "",
                format!("found circulant size {size}, expected a multiple of {}", lanes(InstructionSet::Portable)),
            ));
        };
        let mut weights = vec![0; code.columns()];
        code.blocks().iter().for_each(|block| weights[block.column as usize] += 1);
        let heaviest = weights.into_iter().max().unwrap_or(0);
        if heaviest > HEAVIEST_COLUMN {
            let found = format!("found a column of weight {heaviest}");
            return Err(Error::code("", format!("{found}, expected at most {HEAVIEST_COLUMN}")));
        }
        Ok((instructions, heaviest))
    }

    /// The instructions in use.
    pub fn instruction_set(&self) -> InstructionSet {
        self.instructions
    }

    /// Decodes hard decisions in place: `word` is packed, received before and decided after.
    ///
    /// # Panics
    /// If the word has not as many bytes as the code wants.
    pub fn decode_hard(&mut self, word: &mut [u8], max_iterations: u32) -> Outcome {
        assert_eq!(word.len(), bits::bytes_for(self.codeword_bits), "bytes of a word");
        self.hard.decode(None, max_iterations, word)
    }

    /// Decodes log-likelihood ratios, one for each bit, into `word`, packed.
    ///
    /// Min-sum does not depend on their scale but for rounding: magnitudes of the likeliest bits from 20 to 60 serve well.
    ///
    /// # Panics
    /// If the ratios or the word are not as many as the code wants.
    pub fn decode_soft(&mut self, llrs: &[i8], max_iterations: u32, word: &mut [u8]) -> Outcome {
        assert_eq!(llrs.len(), self.codeword_bits, "log-likelihood ratios of a word");
        assert_eq!(word.len(), bits::bytes_for(self.codeword_bits), "bytes of a word");
        self.soft.decode(Some(llrs), max_iterations, word)
    }
}
