use softsense_base::{Error, Result};

use super::ParityCheck;
use super::encoder::StructuredEncoder;
use super::parity_check::LONGEST_CODEWORD;
use crate::InstructionSet;

/// The largest number of choices of columns that are examined, and of those that are tried in full.
const MOST_CHOICES: usize = 100_000;
const MOST_ORDERS: usize = 200;

/// One circulant of a quasi-cyclic matrix: check `c` of block row `row` meets bit `(c + shift) mod circulant_size` of block
/// column `column`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// Block row.
    pub row: u32,
    /// Block column.
    pub column: u32,
    /// Shift, below the circulant size.
    pub shift: u32,
}

/// A quasi-cyclic parity-check matrix: a base matrix whose entries are shifted identity matrices or zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuasiCyclic {
    circulant_size: usize,
    rows: usize,
    columns: usize,
    /// The number of last block columns that are not sent.
    punctured: usize,
    blocks: Vec<Block>,
}

impl QuasiCyclic {
    /// Makes the matrix of `rows` x `columns` circulants of size `circulant_size`, zero but for `blocks`.
    ///
    /// # Errors
    /// Two blocks at one place, a place or a shift out of range, an empty block row, no more columns than rows.
    pub fn new(circulant_size: usize, rows: usize, columns: usize, mut blocks: Vec<Block>) -> Result<Self> {
        if circulant_size == 0 || rows == 0 || columns <= rows {
            let found = format!("found {rows} x {columns} circulants of size {circulant_size}");
            return Err(Error::code("", format!("{found}, expected more columns than rows")));
        }
        check_length("", columns, circulant_size)?;
        blocks.sort_unstable();
        for block in &blocks {
            if block.row as usize >= rows || block.column as usize >= columns || block.shift as usize >= circulant_size
            {
                let place = format!("block row {}, column {}", u64::from(block.row) + 1, u64::from(block.column) + 1);
                return Err(Error::code(
                    place,
                    format!("found shift {}, expected one below {circulant_size}", block.shift),
                ));
            }
        }
        if let Some(pair) =
            blocks.windows(2).find(|pair| (pair[0].row, pair[0].column) == (pair[1].row, pair[1].column))
        {
            let place = format!("block row {}, column {}", pair[0].row + 1, pair[0].column + 1);
            return Err(Error::code(place, "found two circulants in the same place, expected one"));
        }
        let mut filled = vec![false; rows];
        blocks.iter().for_each(|block| filled[block.row as usize] = true);
        if let Some(empty) = filled.iter().position(|filled| !filled) {
            return Err(Error::code(
                format!("block row {}", empty + 1),
                "found a block row without circulants, expected at least one",
            ));
        }
        Ok(Self { circulant_size, rows, columns, punctured: 0, blocks })
    }

    /// Returns the same matrix as that of a code whose last `punctured` block columns are not sent.
    ///
    /// # Errors
    /// More punctured columns than block rows. The last columns, as many as block rows, hold the parity bits.
    pub fn with_punctured(self, punctured: usize) -> Result<Self> {
        if punctured > self.rows {
            let found = format!("found {punctured} punctured block columns");
            return Err(Error::code("punctured", format!("{found}, expected at most {}", self.rows)));
        }
        Ok(Self { punctured, ..self })
    }

    /// Makes any matrix one of circulants of size one.
    pub fn of_ones(matrix: &ParityCheck) -> Self {
        let ones = (0..matrix.rows()).flat_map(|row| matrix.row(row).iter().map(move |&column| (row, column)));
        let blocks = ones.map(|(row, column)| Block { row: row as u32, column, shift: 0 }).collect();
        Self { circulant_size: 1, rows: matrix.rows(), columns: matrix.columns(), punctured: 0, blocks }
    }

    /// Finds the largest circulants of more than one bit of which a matrix is made, one or none at each place. None if there are no such
    /// circulants.
    ///
    /// The result expands to the same matrix. If several sizes are possible, decisions do not depend on the size: within a block row no two
    /// checks meet in a bit.
    pub fn found_in(matrix: &ParityCheck) -> Option<Self> {
        let (mut divisor, mut rest) = (matrix.rows(), matrix.columns());
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let mut sizes = (2..=divisor).rev().filter(|&size| divisor.is_multiple_of(size));
        sizes.find_map(|size| Self::of_size(matrix, size))
    }

    /// The matrix as circulants of a size that divides it, if it is made of such circulants.
    fn of_size(matrix: &ParityCheck, size: usize) -> Option<Self> {
        let long = size as u32;
        let mut blocks = Vec::new();
        for row in 0..matrix.rows() / size {
            let first = matrix.row(row * size);
            if first.windows(2).any(|pair| pair[0] / long == pair[1] / long) {
                return None;
            }
            for offset in 1..long {
                // Each one stays in its block, so the ones stay in order.
                let moved = first.iter().map(|column| column - column % long + (column % long + offset) % long);
                if !moved.eq(matrix.row(row * size + offset as usize).iter().copied()) {
                    return None;
                }
            }
            let block = |column: &u32| Block { row: row as u32, column: column / long, shift: column % long };
            blocks.extend(first.iter().map(block));
        }
        Self::new(size, matrix.rows() / size, matrix.columns() / size, blocks).ok()
    }

    /// The size of each circulant.
    pub fn circulant_size(&self) -> usize {
        self.circulant_size
    }

    /// The number of block rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of block columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of last block columns that are not sent.
    pub fn punctured(&self) -> usize {
        self.punctured
    }

    /// The circulants, by row and then column.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The circulants of block row `row`, by column.
    pub fn row(&self, row: usize) -> &[Block] {
        let start = self.blocks.partition_point(|block| (block.row as usize) < row);
        let end = self.blocks.partition_point(|block| block.row as usize <= row);
        &self.blocks[start..end]
    }

    /// Reads a base matrix: a line `columns rows circulant_size`, then a line for each block row with the shift of every block column, -1
    /// for no circulant. A last line may have 1 for each block column that is sent, and 0 for the last ones that are not. Empty lines, and
    /// lines that start with `#`, are skipped.
    ///
    /// # Errors
    /// The first fault, at `place` and its line.
    pub fn parse(place: &str, text: &str) -> Result<Self> {
        let (matrix, sent, line) = Self::parse_sent(place, text)?;
        let punctured = sent.iter().rev().take_while(|sent| !**sent).count();
        if sent[..sent.len() - punctured].contains(&false) {
            return Err(Error::code(
                line,
                format!(
                    "found 0 before a 1, expected 1 for each block column that is sent, and then 0 for the last \
                     block columns, which are not sent: `softsense code import {place} --out NEW.qc` puts them in \
                     this order"
                ),
            ));
        }
        matrix
            .with_punctured(punctured)
            .map_err(|error| Error::code(format!("{place}: {}", error.place()), error.message()))
    }

    /// Reads a base matrix like [`QuasiCyclic::parse`], but any columns may be punctured. These become the last ones, and as many parity
    /// columns that are sent become data columns, such that the parity part is invertible. The words are the same with their bits in
    /// another order, and data are encoded differently. The second result has the number in the text of each block column.
    ///
    /// # Errors
    /// See [`QuasiCyclic::parse`]; also no such order found.
    pub fn parse_in_any_order(place: &str, text: &str) -> Result<(Self, Vec<usize>)> {
        let (matrix, sent, line) = Self::parse_sent(place, text)?;
        let found = sent.iter().filter(|sent| !**sent).count();
        let refuse = |expected: &str| {
            Err(Error::code(line, format!("found {found} block columns that are not sent, expected {expected}")))
        };
        if found > matrix.rows {
            return refuse(&format!("at most {}, one for each block row", matrix.rows));
        }
        match matrix.order_for_encoding(&sent) {
            Some(order) => Ok((matrix.in_order(&order).with_punctured(found)?, order)),
            None => {
                refuse("block columns that form an invertible parity part together with other columns; none were found")
            }
        }
    }

    /// The matrix of a text, whether each of its block columns is sent, and the place in the text that says so.
    fn parse_sent(place: &str, text: &str) -> Result<(Self, Vec<bool>, String)> {
        let mut lines =
            (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        let numbers = |(number, line): (usize, &str), expected: usize, what: &str| -> Result<(String, Vec<i64>)> {
            let place = format!("{place}:{number}");
            let values: Vec<i64> = line
                .split_whitespace()
                .map(|word| {
                    word.parse().map_err(|_| Error::code(&place, format!("found `{word}`, expected a whole number")))
                })
                .collect::<Result<_>>()?;
            if values.len() != expected {
                return Err(Error::code(place, format!("found {} numbers, expected {what}", values.len())));
            }
            Ok((place, values))
        };
        let Some(header) = lines.next() else {
            return Err(Error::code(place, "found no base matrix, expected a line `columns rows circulant_size`"));
        };
        let (header_place, header) = numbers(header, 3, "3: columns, rows and circulant size")?;
        let range = 1..=1 << 20;
        let [columns, rows, size] = [header[0], header[1], header[2]];
        if !(range.contains(&columns) && range.contains(&rows) && range.contains(&size)) {
            let found = format!("found {columns} columns, {rows} rows and circulant size {size}");
            return Err(Error::code(header_place, format!("{found}, expected each from 1 to {}", range.end())));
        }
        check_length(&header_place, columns as usize, size as usize)?;
        let mut blocks = Vec::new();
        for row in 0..rows as u32 {
            let Some(line) = lines.next() else {
                return Err(Error::code(place, format!("found {row} rows of the base matrix, expected {rows}")));
            };
            let (place, shifts) = numbers(line, columns as usize, &format!("{columns}, one for each block column"))?;
            for (column, &shift) in (0..).zip(&shifts) {
                match shift {
                    -1 => {}
                    0.. if shift < size => blocks.push(Block { row, column, shift: shift as u32 }),
                    _ => {
                        let found = format!("found shift {shift} in block column {}", column + 1);
                        let expected = format!("expected -1 or 0 to {}", size - 1);
                        // A table for several sizes is a table for the largest.
                        let scaled = if shift < size {
                            ""
                        } else {
                            "; if the table is for larger circulants, reduce its shifts as its standard says (5G \
                             NR: modulo the circulant size)"
                        };
                        return Err(Error::code(place, format!("{found}, {expected}{scaled}")));
                    }
                }
            }
        }
        let (mut all_sent, mut sent_place) = (vec![true; columns as usize], place.to_owned());
        if let Some(line) = lines.next() {
            let expected =
                format!("no more than {rows} rows, or {columns} numbers, 1 for each block column that is sent");
            let (place, sent) = numbers(line, columns as usize, &expected)?;
            if let Some(other) = sent.iter().find(|sent| !(0..=1).contains(*sent)) {
                let expected = "expected 1 for each block column that is sent, and 0 for the others";
                return Err(Error::code(place, format!("found {other}, {expected}")));
            }
            (all_sent, sent_place) = (sent.iter().map(|sent| *sent == 1).collect(), place);
        }
        if let Some((number, line)) = lines.next() {
            let place = format!("{place}:{number}");
            return Err(Error::code(place, format!("found `{}`, expected no more than {rows} rows", line.trim())));
        }
        let matrix = Self::new(size as usize, rows as usize, columns as usize, blocks)
            .map_err(|error| Error::code(format!("{place}: {}", error.place()), error.message()))?;
        Ok((matrix, all_sent, sent_place))
    }

    /// An order of the block columns in which the punctured ones are last, and the last ones, as many as there are block rows, are
    /// invertible. Parity columns with few circulants become data columns first.
    fn order_for_encoding(&self, sent: &[bool]) -> Option<Vec<usize>> {
        let (kept, last): (Vec<usize>, Vec<usize>) = (0..self.columns).partition(|&column| sent[column]);
        let as_it_is: Vec<usize> = kept.iter().chain(&last).copied().collect();
        let encodes = |matrix: &Self| StructuredEncoder::new(matrix, InstructionSet::detect()).is_some();
        if last.is_empty() || as_it_is.is_sorted() && encodes(self) {
            return Some(as_it_is);
        }
        let (data, parity) = kept.split_at(self.columns - self.rows - last.len().min(self.columns - self.rows));
        let mut rows_of = vec![Vec::new(); self.columns];
        self.blocks.iter().for_each(|block| rows_of[block.column as usize].push(block.row as usize));
        let mut lightest = parity.to_vec();
        lightest.sort_by_key(|&column| (rows_of[column].len(), std::cmp::Reverse(column)));
        let (mut looked_at, mut tried) = (0, 0);
        combinations(lightest.len(), parity.len() + last.len() - self.rows, &mut |chosen| {
            let moved = |column: &usize| chosen.iter().any(|&index| lightest[index] == *column);
            let solved: Vec<usize> = parity.iter().filter(|column| !moved(column)).chain(&last).copied().collect();
            looked_at += 1;
            if looked_at > MOST_CHOICES {
                return Some(None);
            }
            // A matrix that is singular with a one for every circulant is singular in full.
            if !invertible(self.rows, solved.iter().map(|&column| &rows_of[column][..])) {
                return None;
            }
            let order: Vec<usize> =
                data.iter().chain(parity.iter().filter(|column| moved(column))).chain(&solved).copied().collect();
            tried += 1;
            let encodes = encodes(&self.in_order(&order));
            (encodes || tried == MOST_ORDERS).then_some(encodes.then_some(order))
        })
        .flatten()
    }

    /// The matrix with its block columns in another order.
    fn in_order(&self, order: &[usize]) -> Self {
        let mut place = vec![0; self.columns];
        order.iter().zip(0..).for_each(|(&column, to)| place[column] = to);
        let mut blocks: Vec<Block> =
            self.blocks.iter().map(|block| Block { column: place[block.column as usize], ..*block }).collect();
        blocks.sort_unstable();
        Self { blocks, ..*self }
    }

    /// The base matrix as text, which [`QuasiCyclic::parse`] reads back.
    pub fn to_text(&self) -> String {
        let mut shifts = vec![-1; self.rows * self.columns];
        for block in &self.blocks {
            shifts[block.row as usize * self.columns + block.column as usize] = i64::from(block.shift);
        }
        let width = (self.circulant_size - 1).to_string().len().max(2);
        let mut text = format!("{} {} {}\n", self.columns, self.rows, self.circulant_size);
        for row in shifts.chunks(self.columns) {
            let row: Vec<String> = row.iter().map(|shift| format!("{shift:>width$}")).collect();
            text.push_str(&row.join(" "));
            text.push('\n');
        }
        if self.punctured > 0 {
            let sent = |column| if column < self.columns - self.punctured { "1" } else { "0" };
            text.push_str(&(0..self.columns).map(sent).collect::<Vec<_>>().join(" "));
            text.push('\n');
        }
        text
    }

    /// The parity-check matrix, every circulant written out.
    pub fn expand(&self) -> ParityCheck {
        let size = self.circulant_size;
        let rows: Vec<Vec<u32>> = (0..self.rows * size)
            .map(|check| {
                let (row, offset) = (check / size, check % size);
                let column =
                    |block: &Block| block.column * size as u32 + ((offset + block.shift as usize) % size) as u32;
                self.row(row).iter().map(column).collect()
            })
            .collect();
        ParityCheck::from_rows(self.columns * size, &rows).expect("a checked base matrix")
    }
}

fn check_length(place: &str, columns: usize, circulant_size: usize) -> Result<()> {
    if columns.saturating_mul(circulant_size) <= LONGEST_CODEWORD {
        return Ok(());
    }
    let found = format!("found {columns} columns and circulant size {circulant_size}");
    Err(Error::code(place, format!("{found}, expected at most {LONGEST_CODEWORD} bits in all")))
}

/// Gives `found` each choice of `many` of the first `count` numbers, the lowest first, until it returns something.
fn combinations<T>(count: usize, many: usize, found: &mut impl FnMut(&[usize]) -> Option<T>) -> Option<T> {
    let mut chosen: Vec<usize> = (0..many).collect();
    loop {
        if let Some(answer) = found(&chosen) {
            return Some(answer);
        }
        let at = (0..many).rev().find(|&at| chosen[at] < count - many + at)?;
        chosen[at] += 1;
        for next in at + 1..many {
            chosen[next] = chosen[next - 1] + 1;
        }
    }
}

/// Tells whether columns, as many as there are rows and each given by its ones, are invertible over GF(2).
fn invertible<'a>(rows: usize, columns: impl Iterator<Item = &'a [usize]>) -> bool {
    let words = rows.div_ceil(64);
    // Reduced columns, by the row of their first one.
    let mut pivots: Vec<Option<Vec<u64>>> = vec![None; rows];
    for ones in columns {
        let mut column = vec![0u64; words];
        ones.iter().for_each(|&row| column[row / 64] ^= 1 << (row % 64));
        loop {
            let first = column.iter().position(|word| *word != 0);
            let Some(word) = first else { return false };
            let row = 64 * word + column[word].trailing_zeros() as usize;
            match &pivots[row] {
                Some(pivot) => column.iter_mut().zip(pivot).for_each(|(word, pivot)| *word ^= pivot),
                None => {
                    pivots[row] = Some(column);
                    break;
                }
            }
        }
    }
    true
}
