use std::ops::Range;

use super::super::{Block, QuasiCyclic};
use super::lanes::MOST_LANES;

/// The largest number of times that decisions are checked in an iteration.
const CHECKS_PER_ITERATION: usize = 4;

/// The place of a vector of a-posteriori values in memory, and the first of its lanes.
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

    /// The position of the first value of a vector of bits.
    #[inline(always)]
    pub(super) fn start(self) -> usize {
        (self.0 >> 2) as usize
    }

    /// Tells whether some of its bits are the first ones of their circulant, which are stored before it, too.
    #[inline(always)]
    pub(super) fn wraps(self) -> bool {
        self.0 & 2 != 0
    }

    /// Tells whether some of its bits are stored again after the circulant.
    #[inline(always)]
    pub(super) fn repeats(self) -> bool {
        self.0 & 1 != 0
    }
}

/// The layout of a code in the arrays of a kernel.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) circulant_size: usize,
    /// Number of block columns.
    pub(super) columns: usize,
    /// Number of vectors of a circulant.
    pub(super) vectors: usize,
    /// Number of checks in the last of these vectors.
    pub(super) last_checks: usize,
    /// Number of circulants of each block row.
    pub(super) row_weights: Vec<usize>,
    /// The vector of bits, as an iteration finds it, for each block row, vector of its checks, and circulant.
    pub(super) places: Vec<Place>,
    /// The vectors as in `places` for the first iteration, which finds bits in their natural order.
    pub(super) first_places: Vec<Place>,
    /// The start of each block row in `places`.
    pub(super) row_starts: Vec<usize>,
    /// The moments at which decisions are checked: before the first iteration, then after some block rows of each.
    pub(super) stages: Vec<Stage>,
}

/// A moment at which the decided word is checked.
#[derive(Debug)]
pub(super) struct Stage {
    /// Number of block rows that are done in the iteration.
    pub(super) rows: usize,
    /// The vector of bits as it stands, for each block row, vector of its checks, and circulant.
    pub(super) checks: Vec<Place>,
    /// The vector of bits, with the rotation that brings it into its natural order, for each block column and vector. None if the order
    /// never changes.
    pub(super) bits: Vec<Place>,
}

/// The position of the first bit of a block column in a contiguous layout.
fn contiguous_start(size: usize, lanes: usize, column: usize) -> usize {
    // Before it is room for a vector that begins with the last bits, and after it for one that begins with the first bits, written again.
    let room = size.min(lanes);
    column * (room + size + room + lanes) + room
}

impl Layout {
    /// Deals the checks of a block row, and the bits of a block column, to vectors like cards: check `c` of a circulant of `v` vectors is
    /// lane `c / v` of vector `c mod v`. Then a shifted circulant maps whole vectors to whole vectors, with their lanes rotated.
    ///
    /// A vector of bits keeps its place. Its lanes keep their order, or the order in which the last block row left them. In the latter case
    /// each block row rotates it once, by the difference of two shifts.
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
        // The first iteration needs no stages, which take most of the time.
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

    /// Places the bits of a block column one after the other, as in the word, and likewise the checks of a block row, whose last vector
    /// holds the rest. A shifted circulant maps a vector of checks to bits that begin anywhere. Bits beyond the last one are the first
    /// ones, which are stored a second time after the circulant. There is room around for a whole vector to be written in each of its
    /// places.
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

    /// The number of values of a contiguous layout for vectors of `lanes`.
    pub(super) fn contiguous_values(&self, lanes: usize) -> usize {
        // A vector is read in as many lanes as the widest has.
        contiguous_start(self.circulant_size, lanes, self.columns) + MOST_LANES
    }

    /// The positions of the bits of each block column in it; the first bits follow again after them.
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
