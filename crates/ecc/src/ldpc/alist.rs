//! The alist format of sparse matrices.
//!
//! Source: D. MacKay, "Alist format", Encyclopedia of Sparse Graph Codes, 1999.

use std::fmt::Write;

use softsense_base::{Error, Result};

use super::ParityCheck;

/// Reads the lines of a file that are not blank, without comments, and counts them.
struct Reader<'a> {
    place: &'a str,
    lines: std::iter::Peekable<std::vec::IntoIter<(usize, &'a str)>>,
    line: usize,
}

impl<'a> Reader<'a> {
    fn new(place: &'a str, text: &'a str) -> Self {
        // A line with nothing but a comment is skipped. It is not a blank line, which may be the list of an empty column.
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
        let lines = lines.map(|(index, line)| (index, line.split('#').next().unwrap_or(line)));
        Self { place, lines: lines.collect::<Vec<_>>().into_iter().peekable(), line: 0 }
    }

    fn error<T>(&self, message: String) -> Result<T> {
        Err(Error::code(format!("{}:{}", self.place, self.line), message))
    }

    /// Reads the numbers of the next line that has any into `numbers`.
    fn numbers(&mut self, numbers: &mut Vec<u32>, expected: &str) -> Result<()> {
        numbers.clear();
        while numbers.is_empty() {
            let Some((index, line)) = self.lines.next() else {
                self.line += 1;
                return self.error(format!("found the end of the file, expected {expected}"));
            };
            self.line = index + 1;
            for word in line.split_ascii_whitespace() {
                match word.parse() {
                    Ok(number) => numbers.push(number),
                    Err(_) => return self.error(format!("found \"{word}\", expected {expected}")),
                }
            }
        }
        Ok(())
    }

    /// Reads exactly `count` numbers from the next line.
    fn exactly(&mut self, count: usize, what: &str) -> Result<Vec<u32>> {
        let mut numbers = Vec::new();
        self.numbers(&mut numbers, what)?;
        if numbers.len() != count {
            return self.error(format!("found {} numbers, expected {count} ({what})", numbers.len()));
        }
        Ok(numbers)
    }

    /// Reads `count` weights, the largest of which is `largest`.
    fn weights(&mut self, count: usize, largest: u32, of: &str) -> Result<Vec<u32>> {
        let weights = self.exactly(count, &format!("the weight of each {of}"))?;
        let found = weights.iter().copied().max().expect("at least one");
        if found != largest {
            return self.error(format!("found {found} as the largest {of} weight, expected {largest}, as line 2 says"));
        }
        Ok(weights)
    }

    /// Reads the list of column or row (`of`) `number`: `weight` numbers from 1 to `limit`, then any zeros. In `list` each number is less
    /// by one, and they ascend.
    fn list(&mut self, list: &mut Vec<u32>, weight: u32, limit: usize, of: &str, number: usize) -> Result<()> {
        if weight == 0 {
            // Without padding the list of an empty column is a blank line, or nothing at the end of the file.
            let is_zeros = |line: &str| line.split_ascii_whitespace().all(|word| word == "0");
            list.clear();
            match self.lines.next_if(|(_, line)| is_zeros(line)) {
                Some((index, _)) => self.line = index + 1,
                None if self.lines.peek().is_none() => {}
                None => {
                    self.line += 1;
                    return self.error(format!("found numbers, expected the empty list of {of} {number}"));
                }
            }
            return Ok(());
        }
        self.numbers(list, &format!("the list of {of} {number}"))?;
        while list.last() == Some(&0) {
            list.pop();
        }
        if list.len() != weight as usize {
            let found = list.len();
            return self.error(format!("found {found} numbers in the list of {of} {number}, expected {weight}"));
        }
        if let Some(place) = list.iter().find(|&&place| place == 0 || place as usize > limit) {
            return self.error(format!("found {place} in the list of {of} {number}, expected 1 to {limit}"));
        }
        list.iter_mut().for_each(|place| *place -= 1);
        list.sort_unstable();
        if let Some(pair) = list.windows(2).find(|pair| pair[0] == pair[1]) {
            return self
                .error(format!("found {} twice in the list of {of} {number}, expected each number once", pair[0] + 1));
        }
        Ok(())
    }
}

impl ParityCheck {
    /// Parses the matrix of the alist file `text`, whose lists may be padded with zeros. A comment on a line begins with `#`.
    ///
    /// `place` names the file in errors.
    ///
    /// # Errors
    /// Anything but numbers, a count or a weight that does not fit, or a place out of range or twice in a list. Lists of columns and of
    /// rows that disagree, an empty row, or at least as many rows as columns. The error names the line.
    ///
    /// Source: D. MacKay, "Alist format", Encyclopedia of Sparse Graph Codes, 1999.
    pub fn parse_alist(place: &str, text: &str) -> Result<Self> {
        let mut reader = Reader::new(place, text);
        let size = reader.exactly(2, "the numbers of columns and of rows")?;
        let (columns, rows) = (size[0] as usize, size[1] as usize);
        if rows == 0 || columns <= rows {
            return reader.error(format!("found {columns} columns and {rows} rows, expected more columns than rows"));
        }
        let largest = reader.exactly(2, "the largest column weight and the largest row weight")?;
        let column_weights = reader.weights(columns, largest[0], "column")?;
        let row_weights = reader.weights(rows, largest[1], "row")?;
        if let Some(row) = row_weights.iter().position(|&weight| weight == 0) {
            return reader.error(format!("found weight 0 of row {}, expected at least 1", row + 1));
        }

        // The ones of each row by the lists of the columns. They ascend, because the columns do.
        let mut by_column: Vec<Vec<u32>> = row_weights.iter().map(|_| Vec::new()).collect();
        let mut list = Vec::new();
        for (column, &weight) in column_weights.iter().enumerate() {
            reader.list(&mut list, weight, rows, "column", column + 1)?;
            list.iter().for_each(|&row| by_column[row as usize].push(column as u32));
        }
        for (row, &weight) in row_weights.iter().enumerate() {
            reader.list(&mut list, weight, columns, "row", row + 1)?;
            let expected = &by_column[row];
            if let Some(column) = list.iter().find(|column| expected.binary_search(column).is_err()) {
                let (row, column) = (row + 1, column + 1);
                return reader.error(format!(
                    "found column {column} in the list of row {row}, expected lists that agree: the list of column \
                     {column} does not have row {row}"
                ));
            }
            if let Some(column) = expected.iter().find(|column| list.binary_search(column).is_err()) {
                let (row, column) = (row + 1, column + 1);
                return reader.error(format!(
                    "found no column {column} in the list of row {row}, expected lists that agree: the list of \
                     column {column} has row {row}"
                ));
            }
        }
        if let Some((index, _)) = reader.lines.find(|(_, line)| !line.trim().is_empty()) {
            reader.line = index + 1;
            return reader.error("found more text, expected the end of the file after the last row".into());
        }
        Self::from_rows(columns, &by_column)
    }

    /// Writes the matrix as an alist file, with ascending lists that are padded with zeros.
    ///
    /// Source: D. MacKay, "Alist format", Encyclopedia of Sparse Graph Codes, 1999.
    pub fn to_alist(&self) -> String {
        let columns = self.transpose();
        let column_lists = || (0..self.columns()).map(|column| columns.of(column));
        let row_lists = || (0..self.rows()).map(|row| self.row(row));
        let column_weight = column_lists().map(<[u32]>::len).max().unwrap_or(0);
        let row_weight = row_lists().map(<[u32]>::len).max().unwrap_or(0);
        let mut text = String::with_capacity(14 * self.edges() + 4 * self.columns());
        let mut line = |numbers: &mut dyn Iterator<Item = usize>| {
            for (index, number) in numbers.enumerate() {
                let separator = if index == 0 { "" } else { " " };
                write!(text, "{separator}{number}").expect("a string takes all");
            }
            text.push('\n');
        };
        let padded = |list: &[u32], length| {
            let places: Vec<usize> = list.iter().map(|&place| place as usize + 1).collect();
            places.into_iter().chain(std::iter::repeat(0)).take(length)
        };
        line(&mut [self.columns(), self.rows()].into_iter());
        line(&mut [column_weight, row_weight].into_iter());
        line(&mut column_lists().map(<[u32]>::len));
        line(&mut row_lists().map(<[u32]>::len));
        column_lists().for_each(|list| line(&mut padded(list, column_weight)));
        row_lists().for_each(|list| line(&mut padded(list, row_weight)));
        text
    }
}
