//! A systematic encoder for any parity-check matrix, by Gaussian elimination.

use softsense_base::{Error, Result};

use super::ParityCheck;
use super::parity_check::Syndrome;
use crate::bits;

/// An encoder made by Gaussian elimination, for parity-check matrices without a structure that allows encoding.
///
/// With the columns split into data and parity, H c = 0 reads H_d d = H_p p. A word is encoded as s = H_d d by the
/// sparse matrix, then p = T s by the dense T that inverts H_p. The parity positions are the last columns that are
/// independent, so a matrix whose right part is invertible encodes to data followed by parity.
#[derive(Debug, Clone)]
pub struct DenseEncoder {
    parity_check: ParityCheck,
    syndrome: Syndrome,
    data_positions: Vec<u32>,
    parity_positions: Vec<u32>,
    /// The columns of T, one for each check. Bit `j` of a column is for parity bit `j`; it is bit `j % 64` of word `j / 64`.
    inverse: Vec<u64>,
}

/// Number of pivots that are gathered before all of T is updated by a table of their combinations.
///
/// Source: V. Arlazarov, E. Dinic, M. Kronrod, I. Faradzev, "On economical construction of the transitive closure of a
/// directed graph", 1970 (the method of four Russians).
const GATHERED: usize = 8;

fn xor(into: &mut [u64], from: &[u64]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into ^= from);
}

fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// The row operations T that turn every independent column into a unit vector, stored column by column.
struct Elimination {
    /// Number of words in a column of T.
    words: usize,
    /// The columns of T, without the gathered operations.
    columns: Vec<u64>,
    /// The gathered operations. Each adds its row to the rows that its words mark.
    rows: Vec<usize>,
    additions: Vec<u64>,
}

impl Elimination {
    fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        let mut columns = vec![0; size * words];
        for index in 0..size {
            columns[index * words + index / 64] = 1 << (index % 64);
        }
        Self { words, columns, rows: Vec::new(), additions: Vec::new() }
    }

    /// Applies the gathered operations to a vector.
    fn finish(&self, vector: &mut [u64]) {
        for (&row, addition) in self.rows.iter().zip(self.additions.chunks_exact(self.words)) {
            if bit(vector, row) {
                xor(vector, addition);
            }
        }
    }

    /// Computes the column of T H for a column of H with the ones `ones`.
    fn transform(&self, ones: &[u32], vector: &mut [u64]) {
        vector.fill(0);
        for &row in ones {
            xor(vector, &self.columns[row as usize * self.words..][..self.words]);
        }
        self.finish(vector);
    }

    /// Gathers the operation that adds row `row` to the other rows with ones in `vector`. `vector` has a one at `row`.
    fn gather(&mut self, row: usize, vector: &[u64]) {
        self.rows.push(row);
        self.additions.extend_from_slice(vector);
        let start = self.additions.len() - self.words;
        self.additions[start + row / 64] ^= 1 << (row % 64);
        if self.rows.len() == GATHERED {
            self.apply();
        }
    }

    /// Applies the gathered operations to all of T.
    fn apply(&mut self) {
        let words = self.words;
        // The change of a vector by the operations is linear in its bits at the gathered rows, so a table by these bits gives it.
        let mut table = vec![0; words << self.rows.len()];
        for (index, &row) in self.rows.iter().enumerate() {
            let (known, new) = table.split_at_mut(words << index);
            let addition = &mut new[..words];
            addition[row / 64] ^= 1 << (row % 64);
            self.finish(addition);
            addition[row / 64] ^= 1 << (row % 64);
            let (addition, new) = new.split_at_mut(words);
            for (known, new) in known.chunks_exact(words).skip(1).zip(new.chunks_exact_mut(words)) {
                new.copy_from_slice(known);
                xor(new, addition);
            }
        }
        for column in self.columns.chunks_exact_mut(words) {
            let bits = self.rows.iter().rev().fold(0, |bits, &row| bits << 1 | usize::from(bit(column, row)));
            if bits != 0 {
                xor(column, &table[bits * words..][..words]);
            }
        }
        self.rows.clear();
        self.additions.clear();
    }
}

impl DenseEncoder {
    /// Makes the encoder of `parity_check`, whose rows must be independent.
    ///
    /// Time grows with the cube of the number of rows and memory with its square: 4096 rows take less than a second and
    /// 2 MB, 32,768 rows about 20 s and 128 MB.
    ///
    /// # Errors
    /// A matrix whose rank is lower than its number of rows: the rank found and expected.
    pub fn new(parity_check: &ParityCheck) -> Result<Self> {
        let encoder = Self::with_redundant_checks(parity_check);
        let (rank, rows) = (encoder.parity_positions.len(), parity_check.rows());
        if rank < rows {
            let message = format!(
                "found rank {rank}, expected {rows}: {} checks follow from others. Leave them out of the file, or \
                 accept them (--redundant-checks, redundant_checks=True), and each makes one more data bit",
                rows - rank
            );
            return Err(Error::code("", message));
        }
        Ok(encoder)
    }

    /// Makes the encoder of `parity_check`, some of whose rows may depend on others. Each such row is one more data bit.
    ///
    /// Regular matrices of even column weight always have dependent rows, because all their rows add up to zero.
    pub fn with_redundant_checks(parity_check: &ParityCheck) -> Self {
        let (rows, columns) = (parity_check.rows(), parity_check.columns());
        let transpose = parity_check.transpose();
        let mut elimination = Elimination::new(rows);
        let mut vector = vec![0; elimination.words];
        // The rows that are no pivots yet, and the pivots as (column, row).
        let mut free = vec![0u64; elimination.words];
        (0..rows).for_each(|row| free[row / 64] |= 1 << (row % 64));
        let mut pivots = Vec::with_capacity(rows);
        for column in (0..columns).rev() {
            if pivots.len() == rows {
                break;
            }
            elimination.transform(transpose.of(column), &mut vector);
            let candidates = vector.iter().zip(&free).map(|(vector, free)| vector & free);
            if let Some((word, bits)) = candidates.enumerate().find(|&(_, bits)| bits != 0) {
                let row = word * 64 + bits.trailing_zeros() as usize;
                free[word] ^= 1 << (row % 64);
                pivots.push((column as u32, row));
                elimination.gather(row, &vector);
            }
        }
        elimination.apply();

        // Only the rows of T of the pivots are kept, in the order of the parity positions.
        pivots.sort_unstable();
        let words = pivots.len().div_ceil(64);
        let mut inverse = vec![0; rows * words];
        let columns_of_all = elimination.columns.chunks_exact(elimination.words);
        for (column, from) in inverse.chunks_exact_mut(words).zip(columns_of_all) {
            for (index, &(_, row)) in pivots.iter().enumerate() {
                column[index / 64] |= u64::from(bit(from, row)) << (index % 64);
            }
        }
        let parity_positions: Vec<u32> = pivots.iter().map(|&(column, _)| column).collect();
        let is_data = |column: &u32| parity_positions.binary_search(column).is_err();
        let data_positions = (0..columns as u32).filter(is_data).collect();
        let syndrome = Syndrome::new(parity_check);
        Self { parity_check: parity_check.clone(), syndrome, data_positions, parity_positions, inverse }
    }

    /// The positions of the data bits in a codeword, ascending.
    pub fn data_positions(&self) -> &[u32] {
        &self.data_positions
    }

    /// The positions of the parity bits in a codeword, ascending.
    pub fn parity_positions(&self) -> &[u32] {
        &self.parity_positions
    }

    /// The number of data bits: the length of the code less the rank of its parity-check matrix.
    pub fn data_bits(&self) -> usize {
        self.data_positions.len()
    }

    /// Encodes packed `data` to a packed `codeword`: data bit `j` is bit `data_positions()[j]` of the codeword.
    ///
    /// # Panics
    /// If `data` does not have the bytes of [`Self::data_bits`] bits, or `codeword` those of a codeword.
    pub fn encode(&self, data: &[u8], codeword: &mut [u8]) {
        assert_eq!(data.len(), bits::bytes_for(self.data_bits()), "bytes of data");
        assert_eq!(codeword.len(), bits::bytes_for(self.parity_check.columns()), "bytes of a codeword");
        codeword.fill(0);
        for (&byte, positions) in data.iter().zip(self.data_positions.chunks(8)) {
            let first = positions[0] as usize;
            if first.is_multiple_of(8) && positions.len() == 8 && positions[7] as usize == first + 7 {
                codeword[first / 8] = byte;
                continue;
            }
            for (_, &position) in positions.iter().enumerate().filter(|&(offset, _)| byte << offset & 0x80 != 0) {
                bits::flip(codeword, position as usize);
            }
        }
        // The scratch is its own, because one encoder serves many threads.
        let mut syndrome = self.syndrome.clone();
        syndrome.compute(&self.parity_check, codeword);
        let words = self.parity_positions.len().div_ceil(64);
        let mut parity = vec![0; words];
        syndrome.violated().for_each(|check| xor(&mut parity, &self.inverse[check * words..][..words]));
        for (_, &position) in self.parity_positions.iter().enumerate().filter(|&(index, _)| bit(&parity, index)) {
            bits::flip(codeword, position as usize);
        }
    }
}
