use std::ops::Range;

use super::super::{Block, QuasiCyclic};
use super::lanes::MOST_LANES;

/// How often in an iteration the decisions are checked, at most.
const CHECKS_PER_ITERATION: usize = 4;

/// Where a vector of a-posteriori values is stored, and which of its lanes comes first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place(u32);

impl Place {
    pub(super) fn new(slot: usize, rotation: usize) -> Self {
        Self(u32::try_from(slot * MOST_LANES + rotation).expect("fewer than 2^26 vectors"))
    }

    #[inline(always)]
    pub(super) fn slot(self) -> usize {
        self.0 as usize / MOST_LANES
    }

    #[inline(always)]
    pub(super) fn rotation(self) -> u32 {
        self.0 % MOST_LANES as u32
    }

    /// A place of a contiguous layout.
    fn run(start: usize, wraps: bool, repeats: bool) -> Self {
        let start = u32::try_from(start).ok().filter(|start| start >> 30 == 0).expect("fewer than 2^30 bits");
        Self(start << 2 | u32::from(wraps) << 1 | u32::from(repeats))
    }

    /// Where a vector of bits begins.
    #[inline(always)]
    pub(super) fn start(self) -> usize {
        (self.0 >> 2) as usize
    }

    /// Whether some of its bits are the first ones of their circulant, which stand before it, too.
    #[inline(always)]
    pub(super) fn wraps(self) -> bool {
        self.0 & 2 != 0
    }

    /// Whether some of its bits stand again behind the circulant.
    #[inline(always)]
    pub(super) fn repeats(self) -> bool {
        self.0 & 1 != 0
    }
}

/// How a code lies in the arrays of a kernel.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) circulant_size: usize,
    /// Block columns.
    pub(super) columns: usize,
    /// Vectors of a circulant.
    pub(super) vectors: usize,
    /// Checks in the last of them.
    pub(super) last_checks: usize,
    /// Circulants of each block row.
    pub(super) row_weights: Vec<usize>,
    /// For each block row, vector of its checks, and circulant: the vector of bits, as an iteration finds it.
    pub(super) places: Vec<Place>,
    /// As `places`, in the first iteration, which finds bits in their natural order.
    pub(super) first_places: Vec<Place>,
    /// Where `places` of a block row begin.
    pub(super) row_starts: Vec<usize>,
    /// When the decisions are checked: before the first iteration, then after some block rows of each.
    pub(super) stages: Vec<Stage>,
}

/// A moment at which the decided word is checked.
#[derive(Debug)]
pub(super) struct Stage {
    /// Block rows done, of the iteration.
    pub(super) rows: usize,
    /// For each block row, vector of its checks, and circulant: the vector of bits as it stands.
    pub(super) checks: Vec<Place>,
    /// For each block column and vector: the vector of bits, and the rotation that brings it into its natural order. None where it is
    /// never in another.
    pub(super) bits: Vec<Place>,
}

/// Where the first bit of a block column stands in a contiguous layout.
fn contiguous_start(size: usize, lanes: usize, column: usize) -> usize {
    // Before it a vector that begins with the last bits, behind it one that begins with the first ones, written again.
    let room = size.min(lanes);
    column * (room + size + room + lanes) + room
}

impl Layout {
    /// The checks of a block row, and the bits of a block column, are dealt to vectors like cards: check `c` of a circulant of
    /// `v` vectors is lane `c / v` of vector `c mod v`. Then a shifted circulant maps whole vectors to whole vectors, with their
    /// lanes rotated. A vector of bits keeps its place, and its lanes either their order or that in which the last block row left
    /// them, so that each block row rotates it once, by the difference of two shifts.
    pub(super) fn dealt(code: &QuasiCyclic, lanes: usize, in_order: bool) -> Self {
        let size = code.circulant_size();
        let vectors = size / lanes;
        let place = |column: usize, order: usize, shift: usize, vector: usize| {
            let slot = (vector + shift) % vectors;
            let before = (slot + size - order) % vectors;
            let rotation = (vector + shift + size - order - before) / vectors % lanes;
            Place::new(column * vectors + slot, rotation)
        };
        // The order of lanes is the shift with which a block row met them.
        let row_places = |row: usize, orders: &[usize]| -> Vec<Place> {
            let blocks = code.row(row).iter();
            (0..vectors)
                .flat_map(|vector| {
                    let place = move |block: &Block| {
                        place(block.column as usize, orders[block.column as usize], block.shift as usize, vector)
                    };
                    blocks.clone().map(place)
                })
                .collect()
        };
        let stage = |rows: usize, orders: &[usize]| Stage {
            rows,
            checks: (0..code.rows()).flat_map(|row| row_places(row, orders)).collect(),
            bits: (0..code.columns() * vectors)
                .map(|index| place(index / vectors, orders[index / vectors], 0, index % vectors))
                .collect(),
        };
        let stride = code.rows().div_ceil(CHECKS_PER_ITERATION);
        // Of the first iteration nobody asks for stages, which take most of the time.
        let iteration = |orders: &mut [usize], mut done: Option<&mut Vec<Stage>>| {
            let mut places = Vec::new();
            for row in 0..code.rows() {
                places.extend(row_places(row, orders));
                for block in code.row(row).iter().filter(|_| !in_order) {
                    orders[block.column as usize] = block.shift as usize;
                }
                if let Some(stages) = &mut done
                    && ((row + 1) % stride == 0 || row + 1 == code.rows())
                {
                    stages.push(stage(row + 1, orders));
                }
            }
            places
        };
        let mut orders = vec![0; code.columns()];
        let mut stages = vec![stage(0, &orders)];
        let first_places = iteration(&mut orders, None);
        let places = iteration(&mut orders, Some(&mut stages));
        Self::of(code, vectors, lanes, first_places, places, stages)
    }

    /// The bits of a block column lie one after the other, as in the word, and so do the checks of a block row, of which the last
    /// vector holds the rest. A shifted circulant maps a vector of checks to bits that begin anywhere and, beyond the last one, are
    /// the first ones: these stand a second time behind the circulant, and there is room around for a whole vector to be
    /// written in each of its places.
    pub(super) fn contiguous(code: &QuasiCyclic, lanes: usize) -> Self {
        let size = code.circulant_size();
        let vectors = size.div_ceil(lanes);
        let row = |row: usize| {
            (0..vectors).flat_map(move |vector| {
                code.row(row).iter().map(move |block| {
                    let bit = (vector * lanes + block.shift as usize) % size;
                    let start = contiguous_start(size, lanes, block.column as usize) + bit;
                    Place::run(start, bit + lanes > size, bit < lanes)
                })
            })
        };
        let places: Vec<Place> = (0..code.rows()).flat_map(row).collect();
        let stage = |rows: usize| Stage { rows, checks: places.clone(), bits: Vec::new() };
        let stride = code.rows().div_ceil(CHECKS_PER_ITERATION);
        let stages = (0..code.rows()).step_by(stride).chain([code.rows()]).map(stage).collect();
        let last_checks = size - (vectors - 1) * lanes;
        Self::of(code, vectors, last_checks, places.clone(), places, stages)
    }

    /// Values that a contiguous layout for vectors of `lanes` takes.
    pub(super) fn contiguous_values(&self, lanes: usize) -> usize {
        // A vector is read in as many lanes as any has.
        contiguous_start(self.circulant_size, lanes, self.columns) + MOST_LANES
    }

    /// Where the bits of each block column stand in it, and the first ones again behind them.
    #[inline(always)]
    pub(super) fn contiguous_columns(&self, lanes: usize) -> impl Iterator<Item = Range<usize>> {
        let size = self.circulant_size;
        (0..self.columns).map(move |column| {
            let start = contiguous_start(size, lanes, column);
            start..start + size
        })
    }

    fn of(
        code: &QuasiCyclic,
        vectors: usize,
        last_checks: usize,
        first_places: Vec<Place>,
        places: Vec<Place>,
        stages: Vec<Stage>,
    ) -> Self {
        let row_weights: Vec<usize> = (0..code.rows()).map(|row| code.row(row).len()).collect();
        let mut next = 0;
        let start = |weight: &usize| {
            next += weight * vectors;
            next - weight * vectors
        };
        let row_starts = row_weights.iter().map(start).collect();
        let (circulant_size, columns) = (code.circulant_size(), code.columns());
        Self { circulant_size, columns, vectors, last_checks, row_weights, places, first_places, row_starts, stages }
    }
}
