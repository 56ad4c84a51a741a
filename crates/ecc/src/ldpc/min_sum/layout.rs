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
}

/// How a code lies in the arrays of a kernel.
///
/// The checks of a block row, and the bits of a block column, are dealt to vectors like cards: check `c` of a circulant of
/// `v` vectors is lane `c / v` of vector `c mod v`. Then a shifted circulant maps whole vectors to whole vectors, with their
/// lanes rotated. A vector of bits keeps its place, and its lanes either their order or that in which the last block row left
/// them, so that each block row rotates it once, by the difference of two shifts.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) circulant_size: usize,
    /// Vectors of a circulant.
    pub(super) vectors: usize,
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
    /// For each block column and vector: the vector of bits, and the rotation that brings it into its natural order.
    pub(super) bits: Vec<Place>,
}

impl Layout {
    pub(super) fn new(code: &QuasiCyclic, lanes: usize, in_order: bool) -> Self {
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
        let row_weights: Vec<usize> = (0..code.rows()).map(|row| code.row(row).len()).collect();
        let mut next = 0;
        let start = |weight: &usize| {
            next += weight * vectors;
            next - weight * vectors
        };
        let row_starts = row_weights.iter().map(start).collect();
        Self { circulant_size: size, vectors, row_weights, places, first_places, row_starts, stages }
    }
}
