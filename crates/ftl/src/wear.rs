//! Wear: P/E cycles of superblocks, and static wear levelling.

use std::collections::BTreeSet;

use softsense_config::checked::CheckedConfig;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Set, Superblock, TiVec};
use softsense_config::start_ages::StartAges;

/// The spread of P/E cycles over superblocks. P/E cycles before the run count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeSpread {
    /// P/E cycles of the least worn superblock.
    pub least: u32,
    /// Mean P/E cycles over superblocks.
    pub mean: f64,
    /// P/E cycles of the most worn superblock.
    pub most: u32,
    /// The largest difference of P/E cycles between two superblocks of a set, over all sets. Levelling bounds it.
    pub widest_of_set: u32,
}

/// The state of static wear levelling in a set.
#[derive(Debug, Clone, Default)]
struct Levelling {
    /// Closed superblocks, each after its P/E cycles.
    closed: BTreeSet<(u32, Superblock)>,
    /// P/E cycles of the most worn superblock of the set.
    most_pe_cycles: u32,
    /// Whether the last victim was taken to level wear.
    levelled: bool,
}

/// P/E cycles at the start and by erases, and levelling.
#[derive(Debug)]
pub(super) struct Wear {
    pub(super) start_ages: StartAges,
    /// P/E cycles that an erase counts as.
    pub(super) pe_cycles_per_erase: u32,
    /// P/E cycles of the most worn superblock of each SSD, so that the age of one SSD does not change the room of another. One entry for
    /// the device where all blocks started at the same age: results of such arrays stay as they always were.
    most_pe_cycles: Vec<u32>,
    /// Wear levelling of each set; empty where wear is not levelled.
    levelling: TiVec<Set, Levelling>,
    /// The difference of P/E cycles above which the least worn superblock of a set is moved.
    spread: u32,
}

impl Wear {
    pub(super) fn new(config: &CheckedConfig) -> Self {
        let (geometry, ages, spread) =
            (config.geometry(), config.start_ages(), config.config().ftl.wear_levelling_spread);
        let levelling = |set| {
            let worn = geometry.superblocks_of_set(set).map(|superblock| ages.pe_cycles(superblock));
            Levelling { most_pe_cycles: worn.max().unwrap_or(0), ..Levelling::default() }
        };
        Self {
            start_ages: ages.clone(),
            pe_cycles_per_erase: config.config().flash.pe_cycles_per_erase,
            most_pe_cycles: if ages.differ() {
                geometry.all_ssds().map(|ssd| *ages.of_ssd(ssd).end()).collect()
            } else {
                vec![ages.least()]
            },
            levelling: spread.map_or_else(TiVec::default, |_| geometry.all_sets().map(levelling).collect()),
            spread: spread.unwrap_or(u32::MAX),
        }
    }

    /// The index in `most_pe_cycles` that a set uses.
    fn most_worn_of(&self, geometry: &Geometry, set: Set) -> usize {
        if self.most_pe_cycles.len() == 1 { 0 } else { geometry.ssd_of_set(set).index() }
    }

    /// The most P/E cycles that a superblock of a set, or of its SSD, may have after its next erase.
    pub(super) fn most_after_erase(&self, geometry: &Geometry, set: Set) -> u32 {
        self.most_pe_cycles[self.most_worn_of(geometry, set)].saturating_add(self.pe_cycles_per_erase)
    }

    /// Notes that a superblock has been erased.
    pub(super) fn erased(&mut self, geometry: &Geometry, set: Set, pe_cycles: u32) {
        let worn = self.most_worn_of(geometry, set);
        self.most_pe_cycles[worn] = self.most_pe_cycles[worn].max(pe_cycles);
        if let Some(levelling) = self.levelling.get_mut(set) {
            levelling.most_pe_cycles = levelling.most_pe_cycles.max(pe_cycles);
        }
    }

    /// Notes that a superblock has been closed.
    pub(super) fn closed(&mut self, set: Set, superblock: Superblock, pe_cycles: u32) {
        if let Some(levelling) = self.levelling.get_mut(set) {
            levelling.closed.insert((pe_cycles, superblock));
        }
    }

    /// Notes that a closed superblock has been taken, for another reason than its wear.
    ///
    /// # Arguments
    /// - `frees_room`: whether it was taken to free room.
    pub(super) fn taken(&mut self, set: Set, superblock: Superblock, pe_cycles: u32, frees_room: bool) {
        if let Some(levelling) = self.levelling.get_mut(set) {
            levelling.levelled &= !frees_room;
            levelling.closed.remove(&(pe_cycles, superblock));
        }
    }

    /// Takes the least worn closed superblock of a set if the most worn one exceeds its P/E cycles by more than the spread, and if it
    /// `fits`. Between two such superblocks a victim that frees room is taken, so that writes need not wait for long.
    pub(super) fn take_least_worn(&mut self, set: Set, fits: impl FnOnce(Superblock) -> bool) -> Option<Superblock> {
        let levelling = self.levelling.get_mut(set)?;
        let &(pe_cycles, superblock) = levelling.closed.first()?;
        if levelling.levelled || !fits(superblock) || levelling.most_pe_cycles - pe_cycles <= self.spread {
            return None;
        }
        levelling.closed.pop_first();
        levelling.levelled = true;
        Some(superblock)
    }

    /// Whether the last victim of a set was taken to level wear.
    pub(super) fn has_levelled(&self, set: Set) -> bool {
        self.levelling.get(set).is_some_and(|levelling| levelling.levelled)
    }

    /// Whether wear is levelled.
    pub(super) fn levels(&self) -> bool {
        !self.levelling.is_empty()
    }

    /// Levels wear no longer.
    pub(super) fn stop_levelling(&mut self) {
        self.spread = u32::MAX;
    }
}
