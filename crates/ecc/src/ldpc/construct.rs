use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use softsense_base::{Error, Purpose, Result, Stream};

use super::density_evolution::parts;
use super::{Block, QuasiCyclic};

/// The recipe of a quasi-cyclic LDPC code: the same recipe gives the same matrix on every computer.
///
/// The last `rows` block columns hold the parity bits. All but the last [`Construction::GAP`] of them form a lower triangle with the first
/// block rows, so that an encoder solves a dense system for the last ones only. The parity part is invertible, so that every word of data
/// has exactly one codeword.
///
/// - Positions of circulants: block columns are filled one by one. Each block goes to the block row that the fewest
///   short walks connect with the rows that the column already has (progressive edge growth), and row weights are kept
///   level.
/// - Shifts: one circulant after the other gets the shift that closes no 4-cycle and has the least weight of 6-cycles, then of 8-cycles,
///   until nothing improves. The weight of a cycle is greater if its bits are connected to fewer checks outside of it.
///
/// With a memory the code is a terminated chain. The checks of each block column lie in `memory` + 1 consecutive block rows. These are
/// divided into as many parts as the column has circulants, and each part gets one circulant. The data columns of each weight, and with
/// them these rows, go from the first to the last ones. At both ends fewer columns meet, so that checks are lighter, and decoding begins
/// there.
///
/// Source: X.-Y. Hu, E. Eleftheriou, D. M. Arnold, "Regular and irregular progressive edge-growth Tanner graphs", 2005;
/// T. Tian, C. Jones, J. Villasenor, R. Wesel, "Selective avoidance of cycles in irregular LDPC code construction",
/// 2004; T. Richardson, R. Urbanke, "Efficient encoding of low-density parity-check codes", 2001; S. Kudekar, T. Richardson,
/// R. Urbanke, "Threshold saturation via spatial coupling: why convolutional LDPC ensembles perform so well over the BEC", 2011.
/// Deviations: shifts are improved by repeated re-choice, and the approximate lower triangle is imposed rather than searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Construction {
    /// The size of each circulant: a power of two. A multiple of 64 decodes fast.
    pub circulant_size: usize,
    /// Number of block rows.
    pub rows: usize,
    /// The wanted number of circulants in each block column, the parity part last. The parity part gets fewer if its triangle has no room
    /// for more.
    pub column_weights: Vec<u32>,
    /// Memory of a chain: the number of block rows after its first one that a block column reaches.
    pub memory: Option<usize>,
    /// Number of the last block columns that are punctured: their bits are computed, but not sent.
    pub punctured: usize,
    /// The seed of all choices.
    pub seed: u64,
}

impl Construction {
    /// Number of block columns of the parity part outside its triangle.
    pub const GAP: usize = 2;

    /// Returns the recipe of a code with `columns` x `rows` circulants of size `circulant_size`, `weight` of them in each column.
    pub fn regular(columns: usize, rows: usize, circulant_size: usize, weight: u32, seed: u64) -> Self {
        Self { circulant_size, rows, column_weights: vec![weight; columns], memory: None, punctured: 0, seed }
    }

    /// Builds the matrix.
    ///
    /// # Errors
    /// A circulant size that is no power of two, no more columns than rows, more than 1,024 rows or 16,384 columns, or a column weight of
    /// zero or above the number of rows. A parity part whose column weights are all even (no such matrix has full rank), or so small a
    /// circulant that 4-cycles remain.
    pub fn build(&self) -> Result<QuasiCyclic> {
        self.build_unless(&AtomicBool::new(false)).map(|built| built.expect("nobody interrupts it"))
    }

    /// Builds the matrix, or returns none if `interrupted` is set meanwhile.
    ///
    /// # Errors
    /// See [`Self::build`].
    pub fn build_unless(&self, interrupted: &AtomicBool) -> Result<Option<QuasiCyclic>> {
        self.check()?;
        let mut draws = Draws { stream: Stream::new(self.seed, Purpose::CodeConstruction), next: 0 };
        let columns = self.mask(&mut draws)?;
        let mut shifts = Shifts::new(self.circulant_size, self.rows, columns);
        let Some(no_four_cycle) = shifts.choose(&mut draws, interrupted) else { return Ok(None) };
        if !no_four_cycle {
            let found = format!("found {}, with which 4-cycles cannot be avoided", self.circulant_size);
            return Err(Error::code(
                "circulant size",
                format!("{found}, expected a larger circulant size, or lower column weights"),
            ));
        }
        QuasiCyclic::new(self.circulant_size, self.rows, self.column_weights.len(), shifts.blocks())?
            .with_punctured(self.punctured)
            .map(Some)
    }

    pub(super) fn check(&self) -> Result<()> {
        let columns = self.column_weights.len();
        if !self.circulant_size.is_power_of_two() || self.circulant_size > 1 << 20 {
            let found = format!("found {}, expected a power of two, at most 2^20", self.circulant_size);
            return Err(Error::code("circulant size", found));
        }
        if self.rows == 0 || self.rows > 1024 || columns <= self.rows || columns > 16_384 {
            let found = format!("found {} rows and {columns} columns of circulants", self.rows);
            return Err(Error::code("", format!("{found}, expected 1 to 1024 rows and more columns, at most 16384")));
        }
        let wrong = |&&weight: &&u32| weight == 0 || weight as usize > self.rows;
        if let Some(weight) = self.column_weights.iter().find(wrong) {
            return Err(Error::code(
                "column weight",
                format!("found {weight}, expected 1 to {}, the number of block rows", self.rows),
            ));
        }
        if self.punctured > self.rows.min(Self::GAP) {
            let found = format!("found {} punctured block columns", self.punctured);
            return Err(Error::code("punctured", format!("{found}, expected at most {}", self.rows.min(Self::GAP))));
        }
        let Some(memory) = self.memory else { return Ok(()) };
        let heaviest = self.column_weights.iter().max().map_or(0, |&weight| weight as usize);
        let (least, most) = (heaviest.max(Self::GAP).saturating_sub(1), self.rows - 1);
        if !(least..=most).contains(&memory) {
            let expected =
                format!("expected {least} to {most} (columns of weight {heaviest}, {} block rows)", self.rows);
            return Err(Error::code("memory", format!("found {memory}, {expected}")));
        }
        Ok(())
    }

    /// The block rows in which each block column may have circulants: all, or those of a chain.
    pub(super) fn reaches(rows: usize, column_weights: &[u32], memory: Option<usize>) -> Vec<Range<usize>> {
        let data = column_weights.len() - rows;
        let width = memory.map_or(rows, |memory| memory + 1);
        let mut of_weight: BTreeMap<u32, usize> = BTreeMap::new();
        column_weights[..data].iter().for_each(|&weight| *of_weight.entry(weight).or_default() += 1);
        let mut so_far: BTreeMap<u32, usize> = BTreeMap::new();
        let data = column_weights[..data].iter().map(|weight| {
            let before = so_far.entry(*weight).or_default();
            let first = *before * (rows - width + 1) / of_weight[weight];
            *before += 1;
            first..first + width
        });
        let triangle = rows.saturating_sub(Self::GAP);
        let parity =
            (0..rows).map(|step| if step < triangle { step..(step + width).min(rows) } else { rows - width..rows });
        data.chain(parity).collect()
    }

    /// The largest weights of block rows: level, except at the ends of a chain. There each column takes the rows that it reaches alike.
    fn ceilings(&self, reaches: &[Range<usize>]) -> Vec<u32> {
        if self.memory.is_none() {
            return vec![self.column_weights.iter().sum::<u32>().div_ceil(self.rows as u32); self.rows];
        }
        let mut expected = vec![0.0; self.rows];
        for (weight, reach) in self.column_weights.iter().zip(reaches) {
            let share = f64::from(*weight).min(reach.len() as f64) / reach.len() as f64;
            expected[reach.clone()].iter_mut().for_each(|row| *row += share);
        }
        // A number that is whole except for rounding counts as whole.
        expected.iter().map(|row| libm::ceil(row - 1e-6).max(1.0) as u32).collect()
    }

    /// The block rows of the circulants of each block column.
    fn mask(&self, draws: &mut Draws) -> Result<Vec<Vec<usize>>> {
        const ATTEMPTS: usize = 64;
        let data = self.column_weights.len() - self.rows;
        let reaches = Self::reaches(self.rows, &self.column_weights, self.memory);
        let ceilings = self.ceilings(&reaches);
        for _ in 0..ATTEMPTS {
            let mut mask =
                Mask { is_chain: self.memory.is_some(), ..Mask::new(&self.column_weights, &reaches, &ceilings) };
            let triangle = self.rows.saturating_sub(Self::GAP);
            // The columns with the least room come first; later columns level the row weights.
            for step in (0..triangle).rev() {
                mask.fill(data + step, true, draws);
            }
            let mut rest: Vec<usize> = (data + triangle..self.column_weights.len()).chain(0..data).collect();
            rest.sort_by_key(|&column| (column < data, self.column_weights[column]));
            for column in rest {
                mask.fill(column, false, draws);
            }
            // GF(2)[x] / (x^Z - 1) is a local ring if Z is a power of two. So a matrix of circulants is invertible if and only if the
            // matrix of their weights modulo 2 is.
            if invertible(&mask.columns[data..]) {
                return Ok(mask.columns);
            }
        }
        let found = format!("found no invertible parity part in {ATTEMPTS} attempts");
        Err(Error::code(
            "column weights",
            format!(
                "{found}, expected column weights of which some are odd and some are below the number of block rows"
            ),
        ))
    }
}

/// Successive random numbers from a stream.
struct Draws {
    stream: Stream,
    next: u64,
}

impl Draws {
    fn bits(&mut self) -> u64 {
        self.next += 1;
        self.stream.bits(self.next, 0)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }
}

/// A base matrix under construction, without shifts.
struct Mask<'a> {
    rows: usize,
    weights: &'a [u32],
    /// The block rows that each column may take. In a chain a column has one circulant in each of as many parts as it has weight.
    reaches: &'a [Range<usize>],
    is_chain: bool,
    /// Upper bounds of row weights, which are kept where possible.
    ceilings: &'a [u32],
    row_weights: Vec<u32>,
    /// The number of columns that each pair of rows shares.
    shared: Vec<u32>,
    columns: Vec<Vec<usize>>,
}

impl<'a> Mask<'a> {
    fn new(weights: &'a [u32], reaches: &'a [Range<usize>], ceilings: &'a [u32]) -> Self {
        let rows = ceilings.len();
        Self {
            rows,
            weights,
            reaches,
            is_chain: false,
            ceilings,
            row_weights: vec![0; rows],
            shared: vec![0; rows * rows],
            columns: vec![Vec::new(); weights.len()],
        }
    }

    /// Places the blocks of a column. A column of the triangle has its first block in the first row that it may take.
    fn fill(&mut self, column: usize, in_triangle: bool, draws: &mut Draws) {
        let reach = self.reaches[column].clone();
        let mut chosen: Vec<usize> = reach.clone().take(in_triangle.into()).collect();
        let weight = (self.weights[column] as usize).min(reach.len());
        let in_gap = column + Construction::GAP >= self.columns.len();
        let parts = (self.is_chain && !in_gap).then(|| parts(&reach, weight));
        let mut near = vec![(0, 0); self.rows];
        for &row in &chosen {
            self.approach(row, &mut near);
        }
        while chosen.len() < weight {
            let place = match &parts {
                Some(parts) => parts[chosen.len()].clone(),
                None => reach.clone(),
            };
            let free = place.filter(|row| !chosen.contains(row));
            let best = free.min_by_key(|&row| {
                let excess = self.row_weights[row].saturating_sub(self.ceilings[row] - 1);
                (excess, near[row], self.row_weights[row], draws.bits())
            });
            let best = best.expect("room for the weight");
            chosen.push(best);
            self.approach(best, &mut near);
        }
        for &a in &chosen {
            self.row_weights[a] += 1;
            for &b in &chosen {
                self.shared[a * self.rows + b] += u32::from(a != b);
            }
        }
        chosen.sort_unstable();
        self.columns[column] = chosen;
    }

    /// Adds, for each row, the walks over one and over two columns that connect it with row `from`.
    fn approach(&self, from: usize, near: &mut [(u64, u64)]) {
        let shared = |a: usize, b: usize| u64::from(self.shared[a * self.rows + b]);
        for middle in (0..self.rows).filter(|&middle| shared(from, middle) > 0) {
            near[middle].0 += shared(from, middle);
            for row in (0..self.rows).filter(|&row| row != from) {
                near[row].1 += shared(from, middle) * shared(middle, row);
            }
        }
    }
}

/// Tells whether the square binary matrix with ones at the rows `columns[i]` of column `i` has full rank.
fn invertible(columns: &[Vec<usize>]) -> bool {
    let words = columns.len().div_ceil(64);
    let mut pivots: Vec<Option<Vec<u64>>> = vec![None; columns.len()];
    columns.iter().all(|rows| {
        let mut vector = vec![0u64; words];
        for row in rows {
            vector[row / 64] ^= 1 << (row % 64);
        }
        for row in 0..columns.len() {
            if vector[row / 64] >> (row % 64) & 1 == 0 {
                continue;
            }
            match &pivots[row] {
                Some(pivot) => vector.iter_mut().zip(pivot).for_each(|(a, b)| *a ^= b),
                None => {
                    pivots[row] = Some(vector);
                    return true;
                }
            }
        }
        false
    })
}

/// A block of the base matrix.
#[derive(Clone, Copy)]
struct Entry {
    row: u32,
    column: u32,
    /// The shift; [`OPEN`] until it is chosen.
    shift: u32,
    /// The weight of the column less two, its contribution to the extrinsic degree of a cycle.
    extrinsic: u32,
}

/// The shift of an entry without one.
const OPEN: u32 = u32::MAX;

/// The shifts under construction.
struct Shifts {
    size: usize,
    entries: Vec<Entry>,
    /// The entries of each row, and of each column.
    rows: Vec<Vec<u32>>,
    columns: Vec<Vec<u32>>,
    /// The entries of the columns that each pair of rows shares: the entry in the first row, and that in the second.
    links: Vec<Vec<(u32, u32)>>,
}

/// The cost of a cycle of 4 edges: more than that of all longer cycles together.
const FOUR_CYCLE: u64 = 1 << 54;

/// The cost of a cycle of 6 edges, by its approximate extrinsic degree.
fn six_cycle(extrinsic: u32) -> u64 {
    1 << (24 + 12u32.saturating_sub(extrinsic))
}

/// The cost of a cycle of 8 edges, by its approximate extrinsic degree.
fn eight_cycle(extrinsic: u32) -> u64 {
    1 << 12u32.saturating_sub(extrinsic)
}

fn add(cost: &mut [u64], shift: u32, price: u64) {
    let cost = &mut cost[shift as usize];
    *cost = cost.saturating_add(price);
}

impl Shifts {
    fn new(size: usize, rows: usize, mask: Vec<Vec<usize>>) -> Self {
        let mut shifts = Self {
            size,
            entries: Vec::new(),
            rows: vec![Vec::new(); rows],
            columns: vec![Vec::new(); mask.len()],
            links: vec![Vec::new(); rows * rows],
        };
        for (column, mask) in mask.iter().enumerate() {
            let first = shifts.entries.len() as u32;
            // A column of weight one is on no cycle.
            let extrinsic = (mask.len() as u32).saturating_sub(2);
            for (entry, &row) in (first..).zip(mask) {
                shifts.rows[row].push(entry);
                shifts.columns[column].push(entry);
                shifts.entries.push(Entry { row: row as u32, column: column as u32, shift: OPEN, extrinsic });
                for (other, &to) in (first..).zip(mask).filter(|(_, to)| **to != row) {
                    shifts.links[row * rows + to].push((entry, other));
                }
            }
        }
        shifts
    }

    fn entry(&self, index: u32) -> Entry {
        self.entries[index as usize]
    }

    fn links(&self, from: u32, to: u32) -> &[(u32, u32)] {
        &self.links[from as usize * self.rows.len() + to as usize]
    }

    /// Chooses all shifts. Returns whether no 4-cycle is left, or none if it is interrupted.
    fn choose(&mut self, draws: &mut Draws, interrupted: &AtomicBool) -> Option<bool> {
        const SIX_CYCLE_SWEEPS: usize = 20;
        const EIGHT_CYCLE_SWEEPS: usize = 5;
        const EIGHT_CYCLE_WALKS: f64 = 3e9;
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        let mut cost = vec![0u64; self.size];
        // The parity part and the light columns come first, because they have the least freedom. The entries of a column stay together.
        order.sort_by_key(|&index| (self.entry(index).extrinsic, std::cmp::Reverse(index)));
        for &index in &order {
            if interrupted.load(Ordering::Relaxed) {
                return None;
            }
            self.rechoose(index, &mut cost, false, draws);
        }
        // The choice among equal shifts is random, so that a sweep without gain can still leave a plateau.
        for _ in 0..SIX_CYCLE_SWEEPS {
            if self.sweep(&mut order, &mut cost, false, draws, interrupted)? == 0 {
                break;
            }
        }
        // If rows are very heavy, 8-cycles can neither be listed in seconds nor avoided.
        let affordable = (EIGHT_CYCLE_WALKS / self.eight_cycle_walks()) as usize;
        for _ in 0..EIGHT_CYCLE_SWEEPS.min(affordable) {
            self.sweep(&mut order, &mut cost, true, draws, interrupted)?;
        }
        Some(order.iter().all(|&index| {
            self.costs(index, &mut cost, false);
            cost[self.entry(index).shift as usize] < FOUR_CYCLE
        }))
    }

    /// The approximate number of walks that a sweep follows to find 8-cycles.
    fn eight_cycle_walks(&self) -> f64 {
        let edges = self.entries.len() as f64;
        // The mean number of edges that continue a walk.
        let excess = |nodes: &[Vec<u32>]| {
            nodes.iter().map(|node| (node.len() * node.len().saturating_sub(1)) as f64).sum::<f64>() / edges
        };
        let (at_columns, at_rows) = (excess(&self.columns), excess(&self.rows));
        let ahead = at_columns * at_rows;
        // After three columns, a walk over four columns closes if its last edge leads into its first row.
        edges * ahead * ahead * ahead * at_columns / self.rows.len() as f64
    }

    /// Chooses the shifts of all entries anew, in random order. Returns the remaining cost, or none if it is interrupted.
    fn sweep(
        &mut self,
        order: &mut [u32],
        cost: &mut [u64],
        eight: bool,
        draws: &mut Draws,
        interrupted: &AtomicBool,
    ) -> Option<u64> {
        for at in (1..order.len()).rev() {
            order.swap(at, draws.below(at + 1));
        }
        order.iter().try_fold(0, |sum: u64, &index| {
            let goes_on = !interrupted.load(Ordering::Relaxed);
            goes_on.then(|| sum.saturating_add(self.rechoose(index, cost, eight, draws)))
        })
    }

    /// Gives an entry one of its cheapest shifts. Returns the cost of these.
    fn rechoose(&mut self, index: u32, cost: &mut [u64], eight: bool, draws: &mut Draws) -> u64 {
        self.costs(index, cost, eight);
        let least = *cost.iter().min().expect("a shift");
        let ties = cost.iter().filter(|&&cost| cost == least).count();
        let pick = draws.below(ties);
        let shift = (0..self.size).filter(|&shift| cost[shift] == least).nth(pick).expect("a tie");
        self.entries[index as usize].shift = shift as u32;
        least
    }

    /// The cost of the cycles through an entry, by its shift.
    ///
    /// A walk that enters a column by entry `a` and leaves it by entry `b` advances by shift(a) - shift(b) within the
    /// circulants. The walk is a cycle if it returns to its row with no advance in all. All walks leave the row of the entry
    /// by the entry itself; the advance of the rest of a walk gives the shift that would close it.
    fn costs(&self, index: u32, cost: &mut [u64], eight: bool) {
        cost.fill(0);
        let start = self.entry(index);
        let mask = self.size as u32 - 1;
        for &exit in self.columns[start.column as usize].iter().filter(|&&exit| exit != index) {
            let exit = self.entry(exit);
            if exit.shift == OPEN {
                continue;
            }
            for &(into, out) in self.links(exit.row, start.row) {
                let (into, out) = (self.entry(into), self.entry(out));
                if into.column != start.column && into.shift != OPEN && out.shift != OPEN {
                    let closing = exit.shift.wrapping_sub(into.shift).wrapping_add(out.shift) & mask;
                    add(cost, closing, FOUR_CYCLE);
                }
            }
            for &into in &self.rows[exit.row as usize] {
                let first = self.entry(into);
                if first.column == start.column || first.shift == OPEN {
                    continue;
                }
                for &out in self.columns[first.column as usize].iter().filter(|&&out| out != into) {
                    let out = self.entry(out);
                    if out.shift == OPEN {
                        continue;
                    }
                    let closing = exit.shift.wrapping_sub(first.shift).wrapping_add(out.shift);
                    let extrinsic = start.extrinsic + first.extrinsic;
                    if out.row != start.row {
                        self.six_cycles(start, out, closing, extrinsic, cost);
                    }
                    if eight {
                        self.eight_cycles((index, start), out, closing, extrinsic, cost);
                    }
                }
            }
        }
    }

    /// Adds the costs of the 6-cycles that begin with `start` and leave their second column by `at`.
    #[inline]
    fn six_cycles(&self, start: Entry, at: Entry, closing: u32, extrinsic: u32, cost: &mut [u64]) {
        let mask = self.size as u32 - 1;
        for &(into, out) in self.links(at.row, start.row) {
            let (into, out) = (self.entry(into), self.entry(out));
            if into.column != start.column && into.column != at.column && into.shift != OPEN && out.shift != OPEN {
                let closing = closing.wrapping_sub(into.shift).wrapping_add(out.shift) & mask;
                add(cost, closing, six_cycle(extrinsic + into.extrinsic));
            }
        }
    }

    /// Adds the costs of the 8-cycles that begin with `start` (and its index) and leave their second column by `at`.
    fn eight_cycles(&self, start: (u32, Entry), at: Entry, closing: u32, extrinsic: u32, cost: &mut [u64]) {
        let (index, start) = start;
        let mask = self.size as u32 - 1;
        for &into in &self.rows[at.row as usize] {
            // A walk may pass the start a second time; the shift then counts twice.
            let twice = into == index;
            let third = self.entry(into);
            if third.column == at.column || (!twice && third.shift == OPEN) {
                continue;
            }
            for &out in self.columns[third.column as usize].iter().filter(|&&out| out != into) {
                let out = self.entry(out);
                if out.shift == OPEN || out.row == start.row {
                    continue;
                }
                let closing = closing.wrapping_sub(if twice { 0 } else { third.shift }).wrapping_add(out.shift);
                for &(into, last) in self.links(out.row, start.row) {
                    let (into, last) = (self.entry(into), self.entry(last));
                    if into.column == out.column
                        || into.column == start.column
                        || into.shift == OPEN
                        || last.shift == OPEN
                    {
                        continue;
                    }
                    let closing = closing.wrapping_sub(into.shift).wrapping_add(last.shift) & mask;
                    let price = eight_cycle(extrinsic + third.extrinsic + into.extrinsic);
                    if !twice {
                        add(cost, closing, price);
                    } else if closing.is_multiple_of(2) {
                        add(cost, closing / 2, price);
                        add(cost, closing / 2 + self.size as u32 / 2, price);
                    }
                }
            }
        }
    }

    fn blocks(&self) -> Vec<Block> {
        self.entries.iter().map(|&Entry { row, column, shift, .. }| Block { row, column, shift }).collect()
    }
}
