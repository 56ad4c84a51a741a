//! A systematic encoder for quasi-cyclic matrices, by peeling and inactivation.

use super::QuasiCyclic;
use crate::{InstructionSet, bits};

/// The largest gap, in bits, whose inverse is computed. Above it elimination of the whole matrix is no worse.
const LARGEST_GAP: usize = 1 << 14;
/// Number of words that are computed together.
const LANES: usize = 8;
type Chunk = [u64; LANES];
const WORD: usize = 64;
/// Number of values of four bits, by which products are looked up.
const NIBBLES: usize = 16;

/// An encoder for words whose first block columns are the data, and whose last block columns, as many as there are block rows, are parity.
///
/// A block row with one unknown parity column gives that column. If there is no such row, one column is made inactive: it is taken for zero
/// at first. At the end as many block rows are left over as there are inactive columns. The errors of these rows are linear in the inactive
/// columns. The inverse of that matrix of polynomials modulo x^Z - 1 gives the inactive columns, and then all others follow anew.
///
/// Source: T. Richardson, R. Urbanke, "Efficient encoding of low-density parity-check codes", 2001; M. Shokrollahi,
/// S. Lassen, R. Karp, "Systems and processes for decoding chain reaction codes through inactivation", 2005.
///
/// The first bit of a word is the highest. Each block column is kept twice in a row, so that every rotation of it can be read straight.
#[derive(Debug, Clone)]
pub(super) struct StructuredEncoder {
    instructions: InstructionSet,
    size: usize,
    data_columns: usize,
    columns: usize,
    /// Number of words of a block, and the same rounded up to words that are computed together.
    words: usize,
    padded: usize,
    /// Number of words of a doubled block, and of those that may be read after it.
    stride: usize,
    /// The rotation by which each block column is kept.
    rotations: Vec<usize>,
    /// For each block row the rotated data columns of its sum, and the parity columns except the one that it gives.
    data_terms: Vec<Vec<Term>>,
    parity_terms: Vec<Vec<Term>>,
    /// Each block row with the block column that it gives, in order.
    steps: Vec<(usize, usize)>,
    inactive: Vec<usize>,
    leftover: Vec<usize>,
    inverse: Inverse,
}

/// The first column of a circulant of the inverse, for each inactive column and leftover row.
#[derive(Debug, Clone)]
enum Inverse {
    /// The products with each value of four bits, doubled.
    Tables(Vec<u64>),
    /// The polynomials, rotated to the left by one bit and doubled: for carry-less products, if circulants are whole words.
    Polynomials(Vec<u64>),
}

/// A rotated block column: the word and the bit at which it begins in the doubled columns.
#[derive(Debug, Clone, Copy)]
struct Term {
    word: usize,
    bit: usize,
}

/// The working memory for encoding a word.
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    /// The codeword.
    word: Vec<u64>,
    doubled: Vec<u64>,
    /// The sums of each block row over the data.
    sums: Vec<Chunk>,
    /// The error of each leftover row.
    wrong: Vec<Chunk>,
    /// A part of a product, and the product.
    product: Vec<Chunk>,
}

impl StructuredEncoder {
    /// Makes the encoder of `code`, or none if its last block columns are not invertible.
    pub(super) fn new(code: &QuasiCyclic, instructions: InstructionSet) -> Option<Self> {
        assert!(InstructionSet::available().contains(&instructions), "instructions that this CPU does not have");
        let size = code.circulant_size();
        let (columns, data_columns) = (code.columns(), code.columns() - code.rows());
        let words = size.div_ceil(WORD);
        let padded = words.next_multiple_of(LANES);
        let Peeling { steps, inactive, leftover } = Peeling::of(code);
        if inactive.len() * size > LARGEST_GAP {
            return None;
        }
        let mut gives = vec![None; code.rows()];
        let mut rotations = vec![0; columns];
        for &(row, column) in &steps {
            let block = code.row(row).iter().find(|block| block.column as usize == column).expect("a circulant");
            rotations[column] = block.shift as usize;
            gives[row] = Some(column);
        }
        // The doubled block ends at 2 Z. A rotation that is read from the last bit of the first copy ends at the end of its vectors.
        let stride = (2 * size).div_ceil(WORD).max((size - 1) / WORD + padded + 1);
        let terms = |row: usize, parity: bool| -> Vec<Term> {
            let blocks = code.row(row).iter().map(|block| (block.column as usize, block.shift as usize));
            let wanted = blocks.filter(|&(column, _)| (column >= data_columns) == parity && gives[row] != Some(column));
            wanted
                .map(|(column, shift)| {
                    let start = (shift + size - rotations[column]) % size;
                    Term { word: column * stride + start / WORD, bit: start % WORD }
                })
                .collect()
        };
        let mut encoder = Self {
            instructions,
            size,
            data_columns,
            columns,
            words,
            padded,
            stride,
            data_terms: (0..code.rows()).map(|row| terms(row, false)).collect(),
            parity_terms: (0..code.rows()).map(|row| terms(row, true)).collect(),
            rotations,
            steps,
            inactive,
            leftover,
            inverse: Inverse::Tables(Vec::new()),
        };
        let columns = encoder.invert()?;
        encoder.inverse = if instructions > InstructionSet::Portable && size.is_multiple_of(WORD) {
            let rotate = |column: &Vec<u64>| -> Vec<u64> {
                let repeated = column[..words].repeat(3);
                (0..2 * words).map(|index| rotated(&repeated, 1, index)).collect()
            };
            Inverse::Polynomials(columns.iter().flat_map(rotate).collect())
        } else {
            Inverse::Tables(columns.iter().flat_map(|column| encoder.multiples(column)).collect())
        };
        Some(encoder)
    }

    pub(super) fn data_bits(&self) -> usize {
        self.data_columns * self.size
    }

    pub(super) fn scratch(&self) -> Scratch {
        Scratch {
            word: vec![0; (self.columns * self.size).div_ceil(WORD) + self.padded + 1],
            doubled: vec![0; self.columns * self.stride],
            sums: vec![[0; LANES]; self.data_terms.len() * self.chunks()],
            wrong: vec![[0; LANES]; self.leftover.len() * self.chunks()],
            product: vec![[0; LANES]; 2 * self.chunks()],
        }
    }

    /// Encodes packed `data` to a packed `codeword`.
    pub(super) fn encode(&self, data: &[u8], codeword: &mut [u8], scratch: &mut Scratch) {
        assert_eq!(data.len(), bits::bytes_for(self.data_bits()), "bytes of data");
        assert_eq!(codeword.len(), bits::bytes_for(self.columns * self.size), "bytes of a codeword");
        match self.instructions {
            InstructionSet::Portable => self.encode_by(data, codeword, scratch),
            #[cfg(target_arch = "x86_64")]
            instructions => x86::encode(instructions, self, data, codeword, scratch),
            #[cfg(not(target_arch = "x86_64"))]
            _ => unreachable!("the constructor checks the instructions"),
        }
    }

    #[inline(always)]
    fn encode_by(&self, data: &[u8], codeword: &mut [u8], scratch: &mut Scratch) {
        let Scratch { word, doubled, sums, wrong, product } = scratch;
        let data_bits = self.data_bits();
        read_words(data, data_bits, word);
        for column in 0..self.data_columns {
            self.double(|chunk| rotated_chunk(word, column * self.size, chunk), self.column_mut(doubled, column));
        }
        for (terms, sums) in self.data_terms.iter().zip(sums.chunks_exact_mut(self.chunks())) {
            for (chunk, to) in sums.iter_mut().enumerate() {
                *to = sum([0; LANES], terms, doubled, chunk);
            }
        }
        for &column in &self.inactive {
            self.column_mut(doubled, column).fill(0);
        }
        self.peel(sums, doubled);
        if !self.inactive.is_empty() {
            self.check_leftover(sums, doubled, wrong);
            for (index, &column) in self.inactive.iter().enumerate() {
                match &self.inverse {
                    Inverse::Tables(tables) => self.multiply(tables, index, wrong, product),
                    #[cfg(target_arch = "x86_64")]
                    Inverse::Polynomials(polynomials) => x86::multiply(self, polynomials, index, wrong, product),
                    #[cfg(not(target_arch = "x86_64"))]
                    Inverse::Polynomials(_) => unreachable!("made for other instructions"),
                }
                let (_, product) = product.split_at(self.chunks());
                self.double(|chunk| product[chunk], self.column_mut(doubled, column));
            }
            self.peel(sums, doubled);
        }

        word[data_bits / WORD + 1..].fill(0);
        for column in self.data_columns..self.columns {
            let start = column * self.stride * WORD + (self.size - self.rotations[column]) % self.size;
            let (to, bit) = ((column * self.size) / WORD, (column * self.size) % WORD);
            for index in 0..self.words {
                let bits = rotated(doubled, start, index) & self.mask(index);
                word[to + index] |= bits >> bit;
                word[to + index + 1] |= bits << 1 << (WORD - 1 - bit);
            }
        }
        let whole = data_bits / WORD * (WORD / 8);
        codeword[..whole].copy_from_slice(&data[..whole]);
        let (parity, rest) = codeword[whole..].as_chunks_mut::<8>();
        let words = &word[data_bits / WORD..];
        let last = words[parity.len()].to_be_bytes();
        parity.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_be_bytes());
        rest.copy_from_slice(&last[..rest.len()]);
    }

    fn chunks(&self) -> usize {
        self.padded / LANES
    }

    /// Finds the columns that rows give, one after the other.
    #[inline(always)]
    fn peel(&self, sums: &[Chunk], doubled: &mut [u64]) {
        for &(row, column) in &self.steps {
            let sums = &sums[row * self.chunks()..][..self.chunks()];
            for chunk in (0..sums.len()).rev() {
                let words = sum(sums[chunk], &self.parity_terms[row], doubled, chunk);
                self.write(chunk, words, self.column_mut(doubled, column));
            }
            self.complete(self.column_mut(doubled, column));
        }
    }

    #[inline(always)]
    fn check_leftover(&self, sums: &[Chunk], doubled: &[u64], wrong: &mut [Chunk]) {
        for (&row, wrong) in self.leftover.iter().zip(wrong.chunks_exact_mut(self.chunks())) {
            let sums = &sums[row * self.chunks()..][..self.chunks()];
            for (chunk, wrong) in wrong.iter_mut().enumerate() {
                *wrong = sum(sums[chunk], &self.parity_terms[row], doubled, chunk);
            }
            wrong.as_flattened_mut()[self.words - 1] &= self.mask(self.words - 1);
        }
    }

    /// Multiplies row `index` of the inverse and `wrong`, into the second half of `product`.
    #[inline(always)]
    fn multiply(&self, tables: &[u64], index: usize, wrong: &[Chunk], product: &mut [Chunk]) {
        let (partial, product) = product.split_at_mut(self.chunks());
        product.fill([0; LANES]);
        let stride = self.stride_of_products();
        let tables = &tables[index * self.leftover.len() * NIBBLES * stride..];
        // A bit at place b rotates the polynomial by b to the right. Four bits at the same place of each word have rotations that differ
        // only by whole words, so the other part of the rotation is done once.
        for nibble in 0..(WORD / 4).min(self.size.div_ceil(4)) {
            let start = self.size - 4 * nibble;
            let factors = wrong.chunks_exact(self.chunks()).zip(tables.chunks_exact(NIBBLES * stride));
            let factors = factors.map(|(wrong, table)| (&wrong.as_flattened()[..start.div_ceil(WORD)], table));
            let place_of = |word: u64, place: usize| {
                let value = (word >> (WORD - 4 - 4 * nibble)) as usize % NIBBLES;
                value * stride + start / WORD - place
            };
            for (chunk, partial) in partial.iter_mut().enumerate() {
                let mut total = [0; LANES];
                for (wrong, table) in factors.clone() {
                    for (place, &word) in wrong.iter().enumerate() {
                        let from: &Chunk =
                            table[place_of(word, place) + chunk * LANES..].first_chunk().expect("a margin");
                        for lane in 0..LANES {
                            total[lane] ^= from[lane];
                        }
                    }
                }
                *partial = total;
            }
            // The word after the last one: the first again, if circulants are whole words.
            let after = if self.size.is_multiple_of(WORD) {
                partial[0][0]
            } else {
                let words = factors.flat_map(|(wrong, table)| {
                    let places = wrong.iter().enumerate();
                    places.map(move |(place, &word)| table[place_of(word, place) + self.padded])
                });
                words.fold(0, |total, word| total ^ word)
            };
            let bit = start % WORD;
            for chunk in 0..product.len() {
                let words = partial[chunk];
                let after = partial.get(chunk + 1).map_or(after, |next| next[0]);
                let next = |lane: usize| if lane + 1 < LANES { words[lane + 1] } else { after };
                for lane in 0..LANES {
                    product[chunk][lane] ^= words[lane] << bit | next(lane) >> 1 >> (WORD - 1 - bit);
                }
            }
        }
    }

    /// Number of words of a doubled polynomial, and of those that may be read after it from its end.
    fn stride_of_products(&self) -> usize {
        self.size / WORD + self.padded + 1
    }

    /// The mask of the bits of word `index` of a block that belong to the block.
    #[inline(always)]
    fn mask(&self, index: usize) -> u64 {
        if index + 1 == self.words { u64::MAX << (WORD * self.words - self.size) } else { u64::MAX }
    }

    #[inline(always)]
    fn column_mut<'a>(&self, doubled: &'a mut [u64], column: usize) -> &'a mut [u64] {
        &mut doubled[column * self.stride..][..self.stride]
    }

    /// Writes a block twice in a row; `words` returns each of its chunks.
    #[inline(always)]
    fn double(&self, words: impl Fn(usize) -> Chunk, doubled: &mut [u64]) {
        for chunk in (0..self.chunks()).rev() {
            self.write(chunk, words(chunk), doubled);
        }
        self.complete(doubled);
    }

    /// Writes a chunk of a block that is doubled. The last chunk is written first, so that its excess is overwritten.
    #[inline(always)]
    fn write(&self, chunk: usize, words: Chunk, doubled: &mut [u64]) {
        doubled[chunk * LANES..][..LANES].copy_from_slice(&words);
        if self.size.is_multiple_of(WORD) {
            doubled[self.words + chunk * LANES..][..LANES].copy_from_slice(&words);
        }
    }

    /// Doubles a block whose chunks have all been written, if circulants are not whole words.
    #[inline(always)]
    fn complete(&self, doubled: &mut [u64]) {
        let (again, bit) = (self.size / WORD, self.size % WORD);
        if bit == 0 {
            return;
        }
        doubled[self.words - 1] &= self.mask(self.words - 1);
        doubled[self.words..].fill(0);
        // The loop goes from the last word on: a word is read before the second copy is laid over it.
        for index in (0..self.words).rev() {
            let word = doubled[index];
            doubled[again + index] |= word >> bit;
            if let Some(next) = doubled.get_mut(again + index + 1) {
                *next |= word << (WORD - bit);
            }
        }
    }

    /// The first columns of the polynomials of the inverse: the values of each inactive column if only the first check of a leftover row is
    /// wrong. None if there is no inverse.
    fn invert(&self) -> Option<Vec<Vec<u64>>> {
        let (gap, size) = (self.inactive.len(), self.size);
        let mut scratch = self.scratch();
        // The errors of the leftover rows for the first bit of each inactive column, backwards and doubled.
        let mut responses = Vec::with_capacity(gap * gap);
        for &column in &self.inactive {
            let Scratch { doubled, sums, wrong, .. } = &mut scratch;
            doubled.fill(0);
            let mut first_bit = vec![0; self.padded];
            flip(&mut first_bit, 0);
            self.double(|chunk| chunk_of(&first_bit, chunk), self.column_mut(doubled, column));
            self.peel(sums, doubled);
            self.check_leftover(sums, doubled, wrong);
            for wrong in wrong.as_flattened().chunks_exact(self.padded) {
                let mut backwards = vec![0; self.padded];
                (0..size).filter(|&at| bit(wrong, at)).for_each(|at| flip(&mut backwards, (size - at) % size));
                let mut response = vec![0; self.stride];
                self.double(|chunk| chunk_of(&backwards, chunk), &mut response);
                responses.push(response);
            }
        }
        // One row for each check of the leftover rows: the bits of the inactive columns, then one for each leftover row.
        let words = (gap * size).div_ceil(WORD) + gap.div_ceil(WORD);
        let right = (gap * size).next_multiple_of(WORD);
        let mut rows = Vec::with_capacity(gap * size);
        for check in 0..gap * size {
            let (leftover, offset) = (check / size, check % size);
            // A row has one word more, which the last bits of a block may reach.
            let mut row = vec![0u64; words + 1];
            for inactive in 0..gap {
                let (to, bit) = (inactive * size / WORD, inactive * size % WORD);
                for index in 0..self.words {
                    let response = &responses[inactive * gap + leftover];
                    let bits = rotated(response, (size - offset) % size, index) & self.mask(index);
                    row[to + index] |= bits >> bit;
                    row[to + index + 1] |= bits << 1 << (WORD - 1 - bit);
                }
            }
            if offset == 0 {
                flip(&mut row, right + leftover);
            }
            rows.push(row);
        }
        for column in 0..gap * size {
            let pivot = (column..rows.len()).find(|&row| bit(&rows[row], column))?;
            rows.swap(column, pivot);
            let (above, below) = rows.split_at_mut(column + 1);
            let pivot = &above[column][column / WORD..];
            for row in below.iter_mut().filter(|row| bit(row, column)) {
                row[column / WORD..].iter_mut().zip(pivot).for_each(|(word, pivot)| *word ^= pivot);
            }
        }
        let mut inverse = vec![vec![0; self.padded]; gap * gap];
        for leftover in 0..gap {
            let mut solution = vec![0u64; right / WORD];
            for (at, row) in rows.iter().enumerate().rev() {
                let odd = row.iter().zip(&solution).fold(0, |sum, (a, b)| sum ^ a & b).count_ones() % 2 == 1;
                if odd != bit(row, right + leftover) {
                    flip(&mut solution, at);
                    flip(&mut inverse[at / size * gap + leftover], at % size);
                }
            }
        }
        Some(inverse)
    }

    /// The products of a polynomial and each value of four bits, doubled.
    fn multiples(&self, polynomial: &[u64]) -> Vec<u64> {
        let mut multiples = Vec::with_capacity(NIBBLES * self.stride_of_products());
        for value in 0..NIBBLES {
            let mut multiple = vec![0; self.padded];
            for rotation in (0..4).filter(|rotation| value & 8 >> rotation != 0) {
                let places = (0..self.size).filter(|&at| bit(polynomial, at));
                places.for_each(|at| flip(&mut multiple, (at + rotation) % self.size));
            }
            let mut doubled = vec![0; self.stride.max(self.stride_of_products())];
            self.double(|chunk| chunk_of(&multiple, chunk), &mut doubled);
            multiples.extend_from_slice(&doubled[..self.stride_of_products()]);
        }
        multiples
    }
}

/// The order in which the parity part of a matrix is solved.
struct Peeling {
    steps: Vec<(usize, usize)>,
    inactive: Vec<usize>,
    leftover: Vec<usize>,
}

/// The parity part of a base matrix, partly solved.
#[derive(Clone)]
struct Unknowns<'a> {
    /// The block rows of each parity column.
    rows: &'a [Vec<usize>],
    /// The unknown parity columns of each block row, and whether the row has given a column.
    columns: Vec<Vec<usize>>,
    used: Vec<bool>,
    /// Rows that may have a single unknown column.
    ready: Vec<usize>,
}

impl Unknowns<'_> {
    fn know(&mut self, column: usize) {
        for &row in &self.rows[column] {
            self.columns[row].retain(|&other| other != column);
            if self.columns[row].len() == 1 && !self.used[row] {
                self.ready.push(row);
            }
        }
    }

    /// The next row that gives a column.
    fn next(&mut self) -> Option<(usize, usize)> {
        while let Some(row) = self.ready.pop() {
            if let ([column], false) = (&self.columns[row][..], self.used[row]) {
                let column = *column;
                self.used[row] = true;
                self.know(column);
                return Some((row, column));
            }
        }
        None
    }
}

impl Peeling {
    fn of(code: &QuasiCyclic) -> Self {
        let data_columns = code.columns() - code.rows();
        let mut rows = vec![Vec::new(); code.rows()];
        let mut columns = vec![Vec::new(); code.rows()];
        for block in code.blocks().iter().filter(|block| block.column as usize >= data_columns) {
            let column = block.column as usize - data_columns;
            rows[column].push(block.row as usize);
            columns[block.row as usize].push(column);
        }
        let ready = (0..code.rows()).filter(|&row| columns[row].len() == 1).rev().collect();
        let mut unknowns = Unknowns { rows: &rows, columns, used: vec![false; code.rows()], ready };
        let (mut steps, mut inactive) = (Vec::new(), Vec::new());
        loop {
            steps.extend(std::iter::from_fn(|| unknowns.next()));
            // The column comes from a row with the fewest unknown columns. It is the one that frees the most other columns, or else the one
            // with the most unknown rows.
            let open = (0..code.rows()).filter(|&row| !unknowns.columns[row].is_empty());
            let Some(row) = open.min_by_key(|&row| unknowns.columns[row].len()) else { break };
            let gain = |column: usize| {
                let mut trial = unknowns.clone();
                trial.know(column);
                let freed = std::iter::from_fn(|| trial.next()).count();
                (freed, rows[column].iter().filter(|&&row| !unknowns.used[row]).count())
            };
            let best = unknowns.columns[row].iter().copied().max_by_key(|&column| gain(column)).expect("a column");
            unknowns.know(best);
            inactive.push(data_columns + best);
        }
        // Columns without a circulant are never known. The matrix is then singular, as the inversion will find.
        inactive.extend((0..code.rows()).filter(|&column| rows[column].is_empty()).map(|column| data_columns + column));
        let steps = steps.into_iter().map(|(row, column)| (row, data_columns + column)).collect();
        let leftover = (0..code.rows()).filter(|&row| !unknowns.used[row]).collect();
        Self { steps, inactive, leftover }
    }
}

fn bit(words: &[u64], at: usize) -> bool {
    words[at / WORD] >> (WORD - 1 - at % WORD) & 1 == 1
}

fn flip(words: &mut [u64], at: usize) {
    words[at / WORD] ^= 1 << (WORD - 1 - at % WORD);
}

/// Word `index` of the bits that begin at `start`.
#[inline(always)]
fn rotated(words: &[u64], start: usize, index: usize) -> u64 {
    let (word, bit) = (start / WORD + index, start % WORD);
    words[word] << bit | words[word + 1] >> 1 >> (WORD - 1 - bit)
}

/// The words of chunk `chunk` of the bits that begin at `start`.
#[inline(always)]
fn rotated_chunk(words: &[u64], start: usize, chunk: usize) -> Chunk {
    let (word, bit) = (start / WORD + chunk * LANES, start % WORD);
    let from: &[u64; LANES + 1] = words[word..].first_chunk().expect("a margin");
    std::array::from_fn(|lane| from[lane] << bit | from[lane + 1] >> 1 >> (WORD - 1 - bit))
}

#[inline(always)]
fn chunk_of(words: &[u64], chunk: usize) -> Chunk {
    *words[chunk * LANES..].first_chunk().expect("a chunk")
}

/// The sum of a chunk and the same chunk of rotated block columns.
#[inline(always)]
fn sum(mut total: Chunk, terms: &[Term], doubled: &[u64], chunk: usize) -> Chunk {
    for &Term { word, bit } in terms {
        let rotated = rotated_chunk(&doubled[word..], bit, chunk);
        for lane in 0..LANES {
            total[lane] ^= rotated[lane];
        }
    }
    total
}

/// Reads packed bits into words; bits after the last one are zero. Words after them keep their values.
#[inline(always)]
fn read_words(packed: &[u8], bits: usize, words: &mut [u64]) {
    let (whole, rest) = packed.as_chunks::<8>();
    for (word, bytes) in words.iter_mut().zip(whole) {
        *word = u64::from_be_bytes(*bytes);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    words[whole.len()] = u64::from_be_bytes(last);
    let at = bits / WORD;
    words[at] &= !(u64::MAX >> (bits % WORD));
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use std::arch::x86_64::*;

    use super::*;

    /// Does the work of [`StructuredEncoder::multiply`] by carry-less products.
    #[inline]
    pub(super) fn multiply(
        encoder: &StructuredEncoder,
        polynomials: &[u64],
        index: usize,
        wrong: &[Chunk],
        product: &mut [Chunk],
    ) {
        #[target_feature(enable = "pclmulqdq,avx2")]
        fn shell(words: usize, polynomials: &[u64], padded: usize, wrong: &[u64], product: &mut [u64]) {
            // With the first bit the highest, the product of two words has its first bit in the second place. For this reason the
            // polynomials are rotated.
            for place in 0..words {
                let mut total = _mm_setzero_si128();
                for (polynomial, wrong) in polynomials.chunks_exact(2 * words).zip(wrong.chunks_exact(padded)) {
                    // Places of the polynomial from `place` down, modulo its words.
                    let from = &polynomial[place + 1..][..words];
                    for (&a, &b) in wrong[..words].iter().zip(from.iter().rev()) {
                        let (a, b) = (_mm_cvtsi64_si128(a as i64), _mm_cvtsi64_si128(b as i64));
                        total = _mm_xor_si128(total, _mm_clmulepi64_si128::<0>(a, b));
                    }
                }
                product[place] ^= _mm_extract_epi64::<1>(total) as u64;
                product[(place + 1) % words] ^= _mm_extract_epi64::<0>(total) as u64;
            }
        }
        let gap = encoder.leftover.len();
        let row = &polynomials[index * gap * 2 * encoder.words..][..gap * 2 * encoder.words];
        let product = product[encoder.chunks()..].as_flattened_mut();
        product.fill(0);
        // SAFETY: the CPU has AVX2 and PCLMULQDQ, because polynomials are made only for instruction sets with them.
        unsafe { shell(encoder.words, row, encoder.padded, wrong.as_flattened(), product) }
    }

    /// Encodes with instructions that the CPU has, as the encoder's constructor checks.
    pub(super) fn encode(
        instructions: InstructionSet,
        encoder: &StructuredEncoder,
        data: &[u8],
        codeword: &mut [u8],
        scratch: &mut Scratch,
    ) {
        #[target_feature(enable = "avx2,bmi2")]
        fn avx2(encoder: &StructuredEncoder, data: &[u8], codeword: &mut [u8], scratch: &mut Scratch) {
            encoder.encode_by(data, codeword, scratch);
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,bmi2")]
        fn avx512(encoder: &StructuredEncoder, data: &[u8], codeword: &mut [u8], scratch: &mut Scratch) {
            encoder.encode_by(data, codeword, scratch);
        }
        // SAFETY: the CPU has the features, because `StructuredEncoder::new` takes only available instruction sets.
        match instructions {
            InstructionSet::Portable => encoder.encode_by(data, codeword, scratch),
            InstructionSet::Avx2 => unsafe { avx2(encoder, data, codeword, scratch) },
            InstructionSet::Avx512 => unsafe { avx512(encoder, data, codeword, scratch) },
        }
    }
}
