use softsense_base::{Error, Result};

/// The longest codeword, in bits: sixteen times the longest in flash today. A longer one is a mistake in a file.
pub(crate) const LONGEST_CODEWORD: usize = 1 << 20;

/// A sparse parity-check matrix over GF(2), row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParityCheck {
    columns: usize,
    row_starts: Vec<u32>,
    row_columns: Vec<u32>,
}

impl ParityCheck {
    /// Makes the matrix with `columns` columns whose row `i` has ones at the columns `rows[i]`, in any order.
    ///
    /// # Errors
    /// A column out of range or twice in a row, an empty row, no rows, or at least as many rows as columns.
    pub fn from_rows<R: AsRef<[u32]>>(columns: usize, rows: &[R]) -> Result<Self> {
        let bad = |place: String, message: String| Err(Error::code(place, message));
        if rows.is_empty() || columns <= rows.len() {
            return bad(
                String::new(),
                format!("found {} rows and {columns} columns, expected more columns than rows", rows.len()),
            );
        }
        if columns > LONGEST_CODEWORD {
            return bad(String::new(), format!("found {columns} columns, expected at most {LONGEST_CODEWORD}"));
        }
        let mut row_starts = Vec::with_capacity(rows.len() + 1);
        let mut row_columns = Vec::with_capacity(rows.iter().map(|row| row.as_ref().len()).sum());
        row_starts.push(0);
        for (index, row) in rows.iter().enumerate() {
            let start = row_columns.len();
            row_columns.extend_from_slice(row.as_ref());
            let row = &mut row_columns[start..];
            row.sort_unstable();
            let place = format!("row {}", index + 1);
            if row.is_empty() {
                return bad(place, "found no ones, expected at least one".into());
            }
            if let Some(pair) = row.windows(2).find(|pair| pair[0] == pair[1]) {
                return bad(place, format!("found column {} twice", pair[0] + 1));
            }
            if let Some(&last) = row.last().filter(|&&last| last as usize >= columns) {
                return bad(place, format!("found column {}, expected 1 to {columns}", u64::from(last) + 1));
            }
            row_starts.push(u32::try_from(row_columns.len()).expect("fewer than 2^32 ones"));
        }
        Ok(Self { columns, row_starts, row_columns })
    }

    /// The number of columns: the length of the code in bits.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of rows: parity checks, whether independent or not.
    pub fn rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// The number of ones: edges of the Tanner graph.
    pub fn edges(&self) -> usize {
        self.row_columns.len()
    }

    /// The columns of the ones of `row`, ascending.
    #[inline]
    pub fn row(&self, row: usize) -> &[u32] {
        &self.row_columns[self.row_starts[row] as usize..self.row_starts[row + 1] as usize]
    }

    /// The number of the first edge of `row`. Edges are counted row by row.
    #[inline]
    pub fn row_start(&self, row: usize) -> usize {
        self.row_starts[row] as usize
    }

    /// The number of ones of each column.
    pub fn column_weights(&self) -> Vec<u32> {
        let mut weights = vec![0; self.columns];
        for &column in &self.row_columns {
            weights[column as usize] += 1;
        }
        weights
    }

    /// The rows of the ones of each column.
    pub fn transpose(&self) -> Columns {
        let mut starts = Vec::with_capacity(self.columns + 1);
        starts.push(0);
        let mut next: Vec<u32> = Vec::with_capacity(self.columns);
        for weight in self.column_weights() {
            let start = *starts.last().expect("never empty");
            next.push(start);
            starts.push(start + weight);
        }
        let mut rows = vec![0; self.edges()];
        for row in 0..self.rows() {
            for &column in self.row(row) {
                let next = &mut next[column as usize];
                rows[*next as usize] = row as u32;
                *next += 1;
            }
        }
        Columns { starts, rows }
    }

    /// The number of checks that the packed `word` violates: zero for a codeword.
    pub fn syndrome_weight(&self, word: &[u8]) -> usize {
        self.syndrome_weight_of_first(self.rows(), word)
    }

    /// The number of the first `checks` checks that the packed `word` violates.
    ///
    /// # Panics
    /// If there are fewer checks.
    pub fn syndrome_weight_of_first(&self, checks: usize, word: &[u8]) -> usize {
        let odd = |row: &usize| {
            self.row(*row).iter().fold(false, |odd, &column| odd ^ crate::bits::get(word, column as usize))
        };
        (0..checks).filter(odd).count()
    }
}

/// The ones of a sparse matrix, column by column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Columns {
    /// The rows of the ones of `column`, ascending.
    #[inline]
    pub fn of(&self, column: usize) -> &[u32] {
        &self.rows[self.starts[column] as usize..self.starts[column + 1] as usize]
    }
}

/// A run of ones along a diagonal: rows `row..row + length` have each a one at the next column, from `column` on.
#[derive(Debug, Clone, Copy)]
struct Run {
    row: usize,
    column: usize,
    length: usize,
}

/// Computes the checks that a word violates, again and again for one matrix.
///
/// If the ones stand in long diagonal runs, as in quasi-cyclic matrices, 64 checks are computed at once.
#[derive(Debug, Clone)]
pub(crate) struct Syndrome {
    /// The ones as runs, or none if the runs are short.
    runs: Option<Vec<Run>>,
    /// The word: 64 bits a number after one number of zeros, or one bit a byte.
    packed: Vec<u64>,
    unpacked: Vec<u8>,
    /// The violated checks: check `i` is bit `63 - i % 64` of number `i / 64`.
    violated: Vec<u64>,
}

impl Syndrome {
    /// The mean length of runs below which bit by bit is faster.
    const SHORTEST: usize = 16;

    pub(crate) fn new(parity_check: &ParityCheck) -> Self {
        let has = |row: usize, column: usize| {
            row < parity_check.rows() && parity_check.row(row).binary_search(&(column as u32)).is_ok()
        };
        let mut runs = Vec::new();
        for row in 0..parity_check.rows() {
            for column in parity_check.row(row).iter().map(|&column| column as usize) {
                if row == 0 || column == 0 || !has(row - 1, column - 1) {
                    let length = (1..).find(|&length| !has(row + length, column + length)).expect("rows end");
                    runs.push(Run { row, column, length });
                }
            }
        }
        let columns = parity_check.columns();
        let runs = (runs.len() * Self::SHORTEST <= parity_check.edges()).then_some(runs);
        let (packed, unpacked) = if runs.is_some() { (columns.div_ceil(64) + 3, 0) } else { (0, columns) };
        let violated = vec![0; parity_check.rows().div_ceil(64)];
        Self { runs, packed: vec![0; packed], unpacked: vec![0; unpacked], violated }
    }

    /// Computes the checks of `parity_check`, from which this was made, that the packed `word` violates.
    pub(crate) fn compute(&mut self, parity_check: &ParityCheck, word: &[u8]) {
        self.violated.fill(0);
        let Some(runs) = &self.runs else {
            for (bits, &byte) in self.unpacked.chunks_mut(8).zip(word) {
                bits.iter_mut().enumerate().for_each(|(index, bit)| *bit = byte >> (7 - index) & 1);
            }
            for row in 0..parity_check.rows() {
                let odd = parity_check.row(row).iter().fold(0, |odd, &column| odd ^ self.unpacked[column as usize]);
                self.violated[row / 64] |= u64::from(odd) << (63 - row % 64);
            }
            return;
        };
        for (number, bytes) in self.packed[1..].iter_mut().zip(word.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *number = u64::from_be_bytes(padded);
        }
        for &Run { row, column, length } in runs {
            let (first, end) = (row / 64, (row + length).div_ceil(64));
            // The 64 columns beside the 64 rows of a number start here, counted from the number of zeros before the word.
            let start = column + 64 - row % 64;
            let columns = self.packed[start / 64..].windows(2).map(|pair| {
                let pair = u128::from(pair[0]) << 64 | u128::from(pair[1]);
                (pair << (start % 64) >> 64) as u64
            });
            let last = u64::MAX << (64 * end - row - length);
            let mut mask = u64::MAX >> (row % 64);
            let violated = &mut self.violated[first..end];
            let count = violated.len();
            for (index, (violated, columns)) in violated.iter_mut().zip(columns).enumerate() {
                if index + 1 == count {
                    mask &= last;
                }
                *violated ^= columns & mask;
                mask = u64::MAX;
            }
        }
    }

    /// The number of checks that the word violates.
    pub(crate) fn weight(&self) -> u32 {
        self.violated.iter().map(|number| number.count_ones()).sum()
    }

    /// The checks that the word violates, ascending.
    pub(crate) fn violated(&self) -> impl Iterator<Item = usize> {
        self.violated.iter().enumerate().flat_map(|(index, &number)| {
            let next = |&rest: &u64| Some(rest & !(1 << 63 >> rest.leading_zeros())).filter(|&rest| rest != 0);
            let first = Some(number).filter(|&number| number != 0);
            std::iter::successors(first, next).map(move |rest| 64 * index + rest.leading_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream};

    use super::*;

    /// Is the syndrome by runs the same as the syndrome by bits, at every alignment of rows and columns?
    #[test]
    fn syndromes_by_runs_are_those_by_bits() {
        let stream = Stream::new(1, Purpose::Data);
        for (rows, columns, shifts) in [(64, 128, 3), (100, 237, 5), (37, 64, 2), (200, 1001, 9), (130, 131, 1)] {
            let shift = |index: usize| (stream.bits(columns as u64, index as u64) % columns as u64) as usize;
            let ones = |row: usize| {
                let mut ones: Vec<u32> = (0..shifts).map(|index| ((row + shift(index)) % columns) as u32).collect();
                ones.sort_unstable();
                ones.dedup();
                ones
            };
            let matrix = ParityCheck::from_rows(columns, &(0..rows).map(ones).collect::<Vec<_>>()).unwrap();
            let mut by_runs = Syndrome::new(&matrix);
            assert!(by_runs.runs.is_some(), "{rows} x {columns}");
            let mut by_bits = Syndrome { runs: None, unpacked: vec![0; columns], ..by_runs.clone() };
            for trial in 0..20 {
                let mut word: Vec<u8> =
                    (0..crate::bits::bytes_for(columns) as u64).map(|byte| stream.bits(trial, byte) as u8).collect();
                (columns..8 * word.len()).for_each(|bit| word[bit / 8] &= !(0x80 >> (bit % 8)));
                by_runs.compute(&matrix, &word);
                by_bits.compute(&matrix, &word);
                assert_eq!(by_runs.violated, by_bits.violated);
                assert_eq!(by_runs.weight() as usize, matrix.syndrome_weight(&word));
                let violated: Vec<usize> = by_runs.violated().collect();
                assert_eq!(violated.len(), matrix.syndrome_weight(&word));
                assert!(violated.iter().all(|&check| {
                    matrix.row(check).iter().filter(|&&column| crate::bits::get(&word, column as usize)).count() % 2
                        == 1
                }));
            }
        }
    }
}
