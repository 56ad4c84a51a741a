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

    pub(super) fn check(&self) -> Result<()> {
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
    pub(super) fn soft(&self) -> Self {
        let last = self.factors_16ths.last().copied().unwrap_or(0);
        Self { factors_16ths: self.factors_16ths.iter().map(|&factor| factor.min(last)).collect(), ..self.clone() }
    }

    fn factor_16ths(&self, iteration: u32) -> u8 {
        self.factors_16ths[(iteration as usize).min(self.factors_16ths.len() - 1)]
    }
}

/// How many bits the a-posteriori values of hard decisions have. Those of soft decisions always have 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Eight bits first, where they lose little: for codes whose heaviest columns have weight 4. A word that they give up
    /// with at most [`TRAPPED_CHECKS`] violated checks is decoded once more, from what was received, with 16 bits. All
    /// other codes have 16 bits from the start.
    Adaptive,
    /// Eight bits alone. No a-posteriori value exceeds `largest`, so a smaller one makes the circuit smaller and the
    /// error floor higher.
    Eight {
        /// The largest a-posteriori magnitude, from [`LEAST_LARGEST`] to [`MOST_LARGEST`].
        largest: u8,
    },
    /// Sixteen bits alone.
    Sixteen,
}

/// The largest a-posteriori magnitude of eight bits where nothing else is asked for.
pub const MOST_LARGEST: u8 = 126;
/// The least that may be asked for.
pub const LEAST_LARGEST: u8 = 12;

/// A word that is given up with so many violated checks or fewer is taken to be trapped by a small set of bits, not to hold
/// too many errors: of words of `flash-8/9` with 336 errors that fail half leave more than 310 checks, and one in sixteen 64
/// or fewer.
pub const TRAPPED_CHECKS: u32 = 64;

/// Layered min-sum with messages of eight bits over a quasi-cyclic code, vectorised over the checks of a circulant.
///
/// A-posteriori values of hard decisions have eight bits as well where that loses little: the channel's magnitude and
/// the messages' limit are chosen so that totals cannot overflow. But messages that have grown to their limit cannot
/// outvote the bits of a small absorbing set, which hold one another in their errors. A word that seems to be trapped
/// is therefore decoded once more with 16 bits, in which messages may grow to eight times what the channel says
/// ([`Width`]). Its iterations are those of both passes together. An a-posteriori value of zero decides for bit 0.
///
/// Decisions are checked before the first iteration and up to four times in each, the first but once, so that a word is done as
/// soon as it has converged; the iteration that was begun counts in full.
///
/// Every instruction set decides the same. A decoder belongs to one thread and allocates nothing once it is made.
///
/// Source: E. Sharon, S. Litsyn, J. Goldberger, "Efficient serial message-passing schedules for LDPC decoding", 2007 (layers);
/// J. Chen and M. Fossorier, "Near optimum universal belief propagation based decoding of LDPC codes", 2002 (normalisation).
/// X. Zhang and P. Siegel, "Will the real error floor please stand up?", 2012 (saturation as the cause of floors).
/// Deviation: factors that grow with the iteration; the second pass.
pub struct MinSum {
    hard: Box<dyn Kernel>,
    /// What decodes trapped words once more, and room for what was received.
    second: Option<(Box<dyn Kernel>, Vec<u8>)>,
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
        Self::with(code, correction, Width::Adaptive, InstructionSet::detect())
    }

    /// As [`MinSum::new`], with a-posteriori values of `width` and the instructions `widest` at most.
    ///
    /// # Errors
    /// As [`MinSum::new`]; instructions that the CPU does not have; a largest a-posteriori value out of range, or one that
    /// leaves columns as heavy as those of the code no message.
    pub fn with(code: &QuasiCyclic, correction: &Correction, width: Width, widest: InstructionSet) -> Result<Self> {
        correction.check()?;
        let (instructions, heaviest) = Self::fit(code, widest)?;
        let narrow = |largest| {
            Arithmetic::narrow(correction, heaviest, largest).map(|narrow| compile(code, instructions, true, narrow))
        };
        let wide = || compile(code, instructions, false, Arithmetic::wide_hard(correction));
        let codeword_bits = code.circulant_size() * code.columns();
        let (hard, second) = match width {
            Width::Eight { largest } => (narrow(largest)?, None),
            // With columns of weight 3 eight bits lost error rate (rate 1/4: four times).
            Width::Adaptive if heaviest == 4 => {
                (narrow(MOST_LARGEST)?, Some((wide(), vec![0; bits::bytes_for(codeword_bits)])))
            }
            Width::Adaptive | Width::Sixteen => (wide(), None),
        };
        let soft = compile(code, instructions, false, Arithmetic::wide_soft(correction));
        Ok(Self { hard, second, soft, instructions, codeword_bits })
    }

    /// Whether there is a decoder of a code, without making one.
    pub fn decodes(code: &QuasiCyclic) -> bool {
        Self::fit(code, InstructionSet::detect()).is_ok()
    }

    /// The instructions whose vectors divide the circulants of `code`, and the weight of its heaviest column.
    fn fit(code: &QuasiCyclic, widest: InstructionSet) -> Result<(InstructionSet, u32)> {
        let available = InstructionSet::available();
        if !available.contains(&widest) {
            return Err(Error::code("decoder", format!("this CPU does not have {}", widest.name())));
        }
        let size = code.circulant_size();
        let fits = |set: &InstructionSet| *set <= widest && size.is_multiple_of(lanes(*set));
        let Some(instructions) = available.into_iter().rfind(fits) else {
            return Err(Error::code(
                "decoder",
                format!(
                    "min-sum of integers: found circulant size {size}, expected a multiple of {}",
                    lanes(InstructionSet::Portable)
                ),
            ));
        };
        let mut weights = vec![0; code.columns()];
        code.blocks().iter().for_each(|block| weights[block.column as usize] += 1);
        let heaviest = weights.into_iter().max().unwrap_or(0);
        if heaviest > HEAVIEST_COLUMN {
            let found = format!("found a column of weight {heaviest}");
            return Err(Error::code("decoder", format!("{found}, expected at most {HEAVIEST_COLUMN}")));
        }
        Ok((instructions, heaviest))
    }

    /// The instructions in use.
    pub fn instruction_set(&self) -> InstructionSet {
        self.instructions
    }

    /// Decodes hard decisions in place: `word` is packed, received before and decided after. Each pass has `max_iterations`.
    ///
    /// # Panics
    /// If the word has not as many bytes as the code wants.
    pub fn decode_hard(&mut self, word: &mut [u8], max_iterations: u32) -> Outcome {
        assert_eq!(word.len(), bits::bytes_for(self.codeword_bits), "bytes of a word");
        let Some((second, received)) = &mut self.second else {
            return self.hard.decode(None, max_iterations, word);
        };
        received.copy_from_slice(word);
        let first = self.hard.decode(None, max_iterations, word);
        if first.converged || first.syndrome_weight > TRAPPED_CHECKS || first.iterations == 0 {
            return first;
        }
        word.copy_from_slice(received);
        let outcome = second.decode(None, max_iterations, word);
        Outcome { iterations: first.iterations + outcome.iterations, ..outcome }
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
