//! What a controller remembers of where references stood when reads were decoded.

use rustc_hash::FxHashMap;
use softsense_link::{ReadSpec, Reliability, Remembered};
use softsense_nand::ReferencesAt;

use crate::ftl::Group;
use crate::geometry::Geometry;

/// The references that last decoded a hard decision of each block, or of each layer in it, since its erase.
#[derive(Debug)]
pub(super) struct RememberedReferences {
    /// The layer of each wordline; none where blocks are remembered as a whole, or nothing is.
    layers: Vec<u32>,
    remembers: bool,
    /// Those of which nothing has to be remembered.
    first: ReferencesAt,
    /// By superblock and layer.
    references: FxHashMap<(u32, u32), ReferencesAt>,
}

impl RememberedReferences {
    pub(super) fn new(spec: &ReadSpec, geometry: &Geometry, reliability: &Reliability) -> Self {
        let wordlines = geometry.wordlines_per_block();
        let first = spec.first_references();
        let layers = match spec.remembered {
            Remembered::Nothing | Remembered::OfBlock => Vec::new(),
            Remembered::OfLayer => (0..wordlines).map(|at| reliability.layer_of(at, wordlines)).collect(),
        };
        // What a search has found is not where the next one finds it.
        let remembers = spec.remembered != Remembered::Nothing && first != ReferencesAt::Cells;
        Self { layers, remembers, first, references: FxHashMap::default() }
    }

    fn key(&self, geometry: &Geometry, group: Group) -> (u32, u32) {
        let layer = self
            .layers
            .get(geometry.wordline_of(geometry.turn(group.page, 0).1, group.slc()) as usize)
            .copied()
            .unwrap_or(0);
        (group.superblock, layer)
    }

    /// The references with which a read begins, where they are not the first.
    #[inline]
    pub(super) fn of(&self, geometry: &Geometry, group: Group) -> Option<ReferencesAt> {
        if self.references.is_empty() {
            return None;
        }
        self.references.get(&self.key(geometry, group)).copied()
    }

    /// A hard decision with references has been decoded.
    #[inline]
    pub(super) fn decoded(&mut self, geometry: &Geometry, group: Group, references: ReferencesAt) {
        if !self.remembers {
            return;
        }
        let key = self.key(geometry, group);
        if references == self.first {
            self.references.remove(&key);
        } else {
            self.references.insert(key, references);
        }
    }

    /// What is remembered of a block is of no more use.
    pub(super) fn erased(&mut self, superblock: u32) {
        if !self.references.is_empty() {
            let layers = self.layers.last().map_or(1, |last| last + 1);
            (0..layers).for_each(|layer| _ = self.references.remove(&(superblock, layer)));
        }
    }
}
