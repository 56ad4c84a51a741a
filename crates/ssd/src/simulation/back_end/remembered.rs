//! References that a controller remembers: where they stood when reads were decoded.

use rustc_hash::FxHashMap;
use softsense_config::geometry::Geometry;
use softsense_config::ids::Superblock;
use softsense_ftl::Group;
use softsense_link::{ReadSpec, Reliability, Remembered};
use softsense_nand::ReferencesAt;

/// The references that last decoded a hard decision of each block, or of each layer in it, since its erase.
#[derive(Debug)]
pub(super) struct RememberedReferences {
    /// The layer of each wordline; empty where blocks are remembered as a whole, or nothing is remembered.
    layers: Vec<u32>,
    remembers: bool,
    /// The references with which a read begins where nothing is remembered.
    first: ReferencesAt,
    /// Remembered references by superblock and layer.
    references: FxHashMap<(Superblock, u32), ReferencesAt>,
}

impl RememberedReferences {
    pub(super) fn new(spec: &ReadSpec, geometry: &Geometry, reliability: &Reliability) -> Self {
        let wordlines = geometry.wordlines_per_block();
        let first = spec.first_references();
        let layers = match spec.remembered {
            Remembered::Nothing | Remembered::OfBlock => Vec::new(),
            Remembered::OfLayer => (0..wordlines).map(|at| reliability.layer_of(at, wordlines)).collect(),
        };
        // The references that one search has found are not those that the next one finds.
        let remembers = spec.remembered != Remembered::Nothing && first != ReferencesAt::Cells;
        Self { layers, remembers, first, references: FxHashMap::default() }
    }

    fn key(&self, geometry: &Geometry, group: Group) -> (Superblock, u32) {
        let layer = self
            .layers
            .get(geometry.wordline_of(geometry.turn(group.page, 0).1, group.slc()) as usize)
            .copied()
            .unwrap_or(0);
        (group.superblock, layer)
    }

    /// The remembered references with which a read begins; none where it begins with the first ones.
    #[inline]
    pub(super) fn of(&self, geometry: &Geometry, group: Group) -> Option<ReferencesAt> {
        if self.references.is_empty() {
            return None;
        }
        self.references.get(&self.key(geometry, group)).copied()
    }

    /// Remembers the references of a hard decision that has been decoded.
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

    /// Forgets what is remembered of a superblock that is erased.
    pub(super) fn erased(&mut self, superblock: Superblock) {
        if !self.references.is_empty() {
            let layers = self.layers.last().map_or(1, |last| last + 1);
            (0..layers).for_each(|layer| _ = self.references.remove(&(superblock, layer)));
        }
    }
}
