//! What a controller remembers of reads by a retry table.

use rustc_hash::FxHashMap;
use softsense_link::{FirstEntry, Reliability};

use crate::ftl::Group;
use crate::geometry::Geometry;

/// The entry of the retry table that last decoded a read of each block, or of each layer in it, since its erase.
#[derive(Debug)]
pub(super) struct RememberedEntries {
    /// The layer of each wordline; none where blocks are remembered as a whole, or nothing is.
    layers: Vec<u32>,
    remembers: bool,
    /// By superblock and layer; where nothing stands it is the first.
    entries: FxHashMap<(u32, u32), u8>,
}

impl RememberedEntries {
    pub(super) fn new(first_entry: FirstEntry, geometry: &Geometry, reliability: &Reliability) -> Self {
        let wordlines = geometry.wordlines_per_block();
        let layers = match first_entry {
            FirstEntry::First | FirstEntry::OfBlock => Vec::new(),
            FirstEntry::OfLayer => (0..wordlines).map(|at| reliability.layer_of(at, wordlines)).collect(),
        };
        Self { layers, remembers: first_entry != FirstEntry::First, entries: FxHashMap::default() }
    }

    fn key(&self, geometry: &Geometry, group: Group) -> (u32, u32) {
        let layer = self.layers.get(geometry.wordline_of(group.page) as usize).copied().unwrap_or(0);
        (group.superblock, layer)
    }

    /// The entry with which a read begins.
    #[inline]
    pub(super) fn of(&self, geometry: &Geometry, group: Group) -> u8 {
        if self.entries.is_empty() {
            return 0;
        }
        self.entries.get(&self.key(geometry, group)).copied().unwrap_or(0)
    }

    /// A read has been decoded by an entry.
    pub(super) fn decoded(&mut self, geometry: &Geometry, group: Group, entry: u8) {
        if !self.remembers {
            return;
        }
        let key = self.key(geometry, group);
        if entry == 0 {
            self.entries.remove(&key);
        } else {
            self.entries.insert(key, entry);
        }
    }

    /// What is remembered of a block is of no more use.
    pub(super) fn erased(&mut self, superblock: u32) {
        if !self.entries.is_empty() {
            let layers = self.layers.last().map_or(1, |last| last + 1);
            (0..layers).for_each(|layer| _ = self.entries.remove(&(superblock, layer)));
        }
    }
}
