use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use softsense_base::{Error, Result};

use super::encoder::{Scratch, StructuredEncoder};
use super::{DegreeDistribution, DenseEncoder, ParityCheck, QuasiCyclic, RcqDesign, RcqTables, SyndromeWeights};
use crate::{InstructionSet, bits};

/// The largest number of checks for elimination. Their square, in bits, is half a gigabyte.
const MOST_ELIMINATED_CHECKS: usize = 1 << 16;

/// A parity-check matrix in either of its forms.
#[derive(Debug, Clone)]
pub enum Matrix {
    /// A base matrix: it has the fast encoder and the fast decoder.
    QuasiCyclic(QuasiCyclic),
    /// Any other matrix.
    ParityCheck(ParityCheck),
}

impl From<QuasiCyclic> for Matrix {
    fn from(matrix: QuasiCyclic) -> Self {
        Self::QuasiCyclic(matrix)
    }
}

impl From<ParityCheck> for Matrix {
    fn from(matrix: ParityCheck) -> Self {
        Self::ParityCheck(matrix)
    }
}

/// The treatment of a matrix some of whose checks follow from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RedundantChecks {
    /// Redundant checks are an error, because the code would have more data bits than the size of the matrix says.
    #[default]
    Refuse,
    /// Each redundant check is one more data bit.
    Accept,
}

/// An LDPC code: its matrix, and the way in which it is encoded. It is immutable; threads share it by an [`Arc`].
#[derive(Debug)]
pub struct LdpcCode {
    parity_check: Arc<ParityCheck>,
    quasi_cyclic: Option<QuasiCyclic>,
    encoding: Encoding,
    /// The number of last bits of a word of the matrix that are not sent.
    punctured_bits: usize,
    /// The tables that were asked for, kept because designing some takes a tenth of a second.
    rcq_tables: Mutex<Vec<(RcqDesign, Arc<RcqTables>)>>,
}

#[derive(Debug)]
enum Encoding {
    Structured(StructuredEncoder),
    Dense(DenseEncoder),
}

impl LdpcCode {
    /// Makes the code with the given matrix.
    ///
    /// A base matrix whose last block columns, as many as it has block rows, are invertible has a fast encoder: codewords are the data
    /// followed by the parity bits. For any other matrix elimination finds the parity positions. Its time grows with the cube of the number
    /// of checks (4096: below a second).
    ///
    /// # Errors
    /// Redundant checks, if they are refused: the rank found and expected.
    pub fn new(matrix: impl Into<Matrix>, redundant: RedundantChecks) -> Result<Self> {
        Self::with_instruction_set(matrix, redundant, InstructionSet::detect())
    }

    /// Makes the same code as [`Self::new`], encoding with the given instructions: the codewords are the same, the speed is not.
    ///
    /// # Errors
    /// See [`Self::new`]; also a CPU that does not have the instructions.
    pub fn with_instruction_set(
        matrix: impl Into<Matrix>,
        redundant: RedundantChecks,
        instructions: InstructionSet,
    ) -> Result<Self> {
        if !InstructionSet::available().contains(&instructions) {
            let found = instructions.name();
            return Err(Error::code(
                "instruction_set",
                format!("found {found}, expected an instruction set that this CPU has"),
            ));
        }
        let (parity_check, quasi_cyclic) = match matrix.into() {
            Matrix::QuasiCyclic(base) => (base.expand(), Some(base)),
            Matrix::ParityCheck(matrix) => (matrix, None),
        };
        let structured = quasi_cyclic.as_ref().and_then(|base| StructuredEncoder::new(base, instructions));
        if structured.is_none() && parity_check.rows() > MOST_ELIMINATED_CHECKS {
            let found = format!("found {} checks in a matrix without a structured parity part", parity_check.rows());
            return Err(Error::code(
                "",
                format!(
                    "{found}, expected at most {MOST_ELIMINATED_CHECKS}, or a base matrix whose last block columns \
                     can be encoded block by block"
                ),
            ));
        }
        let punctured_bits = quasi_cyclic.as_ref().map_or(0, |base| base.punctured() * base.circulant_size());
        if punctured_bits > 0 && structured.is_none() {
            let expected = "expected as many last block columns as block rows, which form an invertible matrix";
            return Err(Error::code(
                "",
                format!("found punctured columns of a parity part that is not invertible, {expected}"),
            ));
        }
        let encoding = match (structured, redundant) {
            (Some(encoder), _) => Encoding::Structured(encoder),
            (None, RedundantChecks::Refuse) => Encoding::Dense(DenseEncoder::new(&parity_check)?),
            (None, RedundantChecks::Accept) => Encoding::Dense(DenseEncoder::with_redundant_checks(&parity_check)),
        };
        Ok(Self {
            parity_check: Arc::new(parity_check),
            quasi_cyclic,
            encoding,
            punctured_bits,
            rcq_tables: Mutex::default(),
        })
    }

    /// n: the bits of a codeword, without those of punctured columns.
    pub fn codeword_bits(&self) -> usize {
        self.parity_check.columns() - self.punctured_bits
    }

    /// The number of bits of punctured columns, the last ones of the matrix: they are computed, but not sent.
    pub fn punctured_bits(&self) -> usize {
        self.punctured_bits
    }

    /// k: the data bits of a codeword.
    pub fn data_bits(&self) -> usize {
        match &self.encoding {
            Encoding::Structured(encoder) => encoder.data_bits(),
            Encoding::Dense(encoder) => encoder.data_bits(),
        }
    }

    /// The rate k / n.
    pub fn rate(&self) -> f64 {
        self.data_bits() as f64 / self.codeword_bits() as f64
    }

    /// The positions of the data bits in a codeword, ascending; none if they are the first positions.
    pub fn data_positions(&self) -> Option<&[u32]> {
        match &self.encoding {
            Encoding::Structured(_) => None,
            Encoding::Dense(encoder) => {
                let positions = encoder.data_positions();
                let first = positions.last().is_none_or(|&last| last as usize + 1 == positions.len());
                (!first).then_some(positions)
            }
        }
    }

    /// Tells whether the code encodes by its parity part, and not by elimination with a dense matrix.
    pub fn is_structured(&self) -> bool {
        matches!(self.encoding, Encoding::Structured(_))
    }

    /// The distribution of the ones of the matrix over bits and checks.
    pub fn degrees(&self) -> DegreeDistribution {
        let matrix = &self.parity_check;
        let columns: Vec<usize> = matrix.column_weights().into_iter().map(|weight| weight as usize).collect();
        let rows: Vec<usize> = (0..matrix.rows()).map(|row| matrix.row(row).len()).collect();
        DegreeDistribution::from_weights(&columns, &rows)
    }

    /// The tables of a decoder of this code with messages of few bits. They are designed once.
    ///
    /// # Errors
    /// See [`RcqDesign::tables`].
    pub fn rcq_tables(&self, design: RcqDesign) -> Result<Arc<RcqTables>> {
        let mut known = self.rcq_tables.lock().expect("no design panics");
        if let Some((_, tables)) = known.iter().find(|(of, _)| *of == design) {
            return Ok(Arc::clone(tables));
        }
        let tables = Arc::new(design.tables(&self.degrees(), self.codeword_bits())?);
        known.push((design, Arc::clone(&tables)));
        Ok(tables)
    }

    /// The parity-check matrix.
    pub fn parity_check(&self) -> &Arc<ParityCheck> {
        &self.parity_check
    }

    /// The base matrix, if the code was made from one.
    pub fn quasi_cyclic(&self) -> Option<&QuasiCyclic> {
        self.quasi_cyclic.as_ref()
    }

    /// The number of checks that the packed `word` violates: zero for a codeword. If columns are punctured, it is the number of parity bits
    /// that differ from the parity of the data.
    ///
    /// # Panics
    /// If it does not have as many bytes as `codeword_bits` bits need.
    pub fn syndrome_weight(&self, word: &[u8]) -> usize {
        let bits = self.codeword_bits();
        assert_eq!(word.len(), bits::bytes_for(bits), "bytes of a codeword");
        if self.punctured_bits == 0 {
            return self.parity_check.syndrome_weight(word);
        }
        let (mut data, mut encoded) = (vec![0; bits::bytes_for(self.data_bits())], vec![0; word.len()]);
        self.extract_data(word, &mut data);
        self.encode(&data, &mut encoded);
        bits::distance_of_first(bits, &encoded, word)
    }

    /// The number of checks that hard decisions violate, by the degrees of the code; none if columns are punctured, whose bits have no
    /// decisions.
    pub fn syndrome_weights(&self) -> Option<SyndromeWeights> {
        if self.punctured_bits > 0 {
            return None;
        }
        let count = |degrees: &mut dyn Iterator<Item = usize>| -> Vec<(u32, u32)> {
            let mut counts = BTreeMap::new();
            degrees.for_each(|degree| *counts.entry(degree as u32).or_insert(0) += 1);
            counts.into_iter().collect()
        };
        let matrix = &self.parity_check;
        Some(SyndromeWeights::new(
            &count(&mut matrix.column_weights().into_iter().map(|weight| weight as usize)),
            &count(&mut (0..matrix.rows()).map(|row| matrix.row(row).len())),
        ))
    }

    /// Encodes one word. [`LdpcEncoder`] does the same without allocating.
    ///
    /// # Arguments
    /// - `data`: `data_bits` bits, packed; padding bits are ignored.
    /// - `codeword`: receives `codeword_bits` bits, packed; padding bits become 0.
    ///
    /// # Panics
    /// If a slice does not have as many bytes as its bits need.
    pub fn encode(&self, data: &[u8], codeword: &mut [u8]) {
        self.encode_with(data, codeword, &mut self.scratch());
    }

    /// Returns an encoder of this code, for one thread.
    pub fn encoder(self: &Arc<Self>) -> LdpcEncoder {
        LdpcEncoder { scratch: self.scratch(), code: Arc::clone(self) }
    }

    /// Extracts the data bits of a codeword.
    ///
    /// # Arguments
    /// - `codeword`: `codeword_bits` bits, packed.
    /// - `data`: receives `data_bits` bits, packed; padding bits become 0.
    ///
    /// # Panics
    /// If a slice does not have as many bytes as its bits need.
    pub fn extract_data(&self, codeword: &[u8], data: &mut [u8]) {
        let data_bits = self.data_bits();
        assert_eq!(codeword.len(), bits::bytes_for(self.codeword_bits()), "bytes of a codeword");
        assert_eq!(data.len(), bits::bytes_for(data_bits), "bytes of data");
        let Some(positions) = self.data_positions() else {
            return first_bits(codeword, data_bits, data);
        };
        for (byte, positions) in data.iter_mut().zip(positions.chunks(8)) {
            let bits = positions.iter().map(|&position| u8::from(bits::get(codeword, position as usize)));
            *byte = bits.enumerate().fold(0, |byte, (index, bit)| byte | bit << (7 - index));
        }
    }

    fn scratch(&self) -> Option<Scratch> {
        match &self.encoding {
            Encoding::Structured(encoder) => Some(encoder.scratch()),
            Encoding::Dense(_) => None,
        }
    }

    fn encode_with(&self, data: &[u8], codeword: &mut [u8], scratch: &mut Option<Scratch>) {
        match (&self.encoding, scratch) {
            (Encoding::Structured(encoder), Some(scratch)) if self.punctured_bits > 0 => {
                let mut word = vec![0; bits::bytes_for(self.parity_check.columns())];
                encoder.encode(data, &mut word, scratch);
                first_bits(&word, self.codeword_bits(), codeword);
            }
            (Encoding::Structured(encoder), Some(scratch)) => encoder.encode(data, codeword, scratch),
            (Encoding::Dense(encoder), None) => encoder.encode(data, codeword),
            _ => unreachable!("scratch is made for the encoder"),
        }
    }
}

/// Copies the first `count` bits of a packed word; padding bits become 0.
pub(crate) fn first_bits(word: &[u8], count: usize, first: &mut [u8]) {
    first.copy_from_slice(&word[..first.len()]);
    bits::clear_padding(first, count);
}

/// An encoder of an LDPC code. It belongs to one thread. For a base matrix without punctured columns it allocates nothing.
#[derive(Debug, Clone)]
pub struct LdpcEncoder {
    code: Arc<LdpcCode>,
    scratch: Option<Scratch>,
}

impl LdpcEncoder {
    /// The code that is encoded.
    pub fn code(&self) -> &Arc<LdpcCode> {
        &self.code
    }

    /// Encodes one word, as [`LdpcCode::encode`] does.
    ///
    /// # Panics
    /// If a slice does not have as many bytes as its bits need.
    pub fn encode(&mut self, data: &[u8], codeword: &mut [u8]) {
        self.code.encode_with(data, codeword, &mut self.scratch);
    }
}
