//! The SLC cache: superblocks in which a cell holds one bit. The host writes to them while any has room. Their data is folded, that is
//! moved to other superblocks, in the order in which they were filled.
//!
//! A set always has some SLC superblocks. It may take free superblocks beside these, and gives them back once they are folded. Folding a
//! superblock that is given back frees more room than it takes, as an SLC superblock holds less than others. So a set whose cache gives
//! back makes room by folding before it collects garbage. A set whose cache keeps its superblocks folds while garbage collection has
//! left room for that.

use std::collections::VecDeque;

use softsense_config::checked::CheckedConfig;
use softsense_config::format::BlockLayout;
use softsense_config::geometry::Geometry;
use softsense_config::ids::{Set, Superblock, TiVec};
use softsense_config::spec::WhenFull;

use super::{Group, PageMap, State, Writer};

#[derive(Debug)]
pub(super) struct SlcCache {
    /// The least and the greatest number of SLC superblocks of a set.
    least: usize,
    most: usize,
    /// Free superblocks outside the cache that the cache leaves to others.
    leaves: usize,
    /// Folding is wanted while the cache can open fewer superblocks than this.
    fold_below: usize,
    waits_when_full: bool,
    /// The layout of an SLC superblock.
    layout: BlockLayout,
    pages_per_superblock: u32,
    /// P/E cycles that one P/E cycle with one bit a cell counts as.
    wear: f64,
    /// For each superblock, its erases as an SLC superblock.
    erases: TiVec<Superblock, u32>,
    sets: TiVec<Set, SlcSet>,
}

/// SLC superblocks of a set.
#[derive(Debug, Clone, Default)]
struct SlcSet {
    free: VecDeque<Superblock>,
    /// Full superblocks, in the order in which they were filled.
    closed: VecDeque<Superblock>,
    /// The number of SLC superblocks of the set, in any state.
    owned: usize,
    /// The superblock in which folding continues when its open one is full.
    next_for_folding: Option<Superblock>,
}

impl SlcCache {
    pub(super) fn new(config: &CheckedConfig) -> Option<Self> {
        let (geometry, ftl) = (config.geometry(), &config.config().ftl);
        let spec = ftl.slc_cache.as_ref()?;
        let (least, most) = spec.size.least_and_most();
        let set = |set| {
            let free: VecDeque<Superblock> = Self::kept(geometry, least, set).collect();
            SlcSet { owned: free.len(), free, ..SlcSet::default() }
        };
        let pages = geometry.pages_per_slc_block() * geometry.blocks_in_turn();
        Some(Self {
            least: least as usize,
            most: most as usize,
            leaves: ftl.gc_high_watermark_blocks as usize,
            fold_below: spec.fold_below() as usize,
            waits_when_full: spec.when_full == WhenFull::Fold,
            layout: BlockLayout::striped(pages, geometry.codewords_per_page(), geometry.pages_per_stripe()),
            pages_per_superblock: geometry.pages_per_slc_superblock(),
            wear: spec.cells.wear,
            erases: vec![0; geometry.superblocks() as usize].into(),
            sets: geometry.all_sets().map(set).collect(),
        })
    }

    /// Superblocks of a set that are SLC ones at the start: its last ones.
    fn kept(geometry: &Geometry, least: u32, set: Set) -> impl Iterator<Item = Superblock> {
        geometry.superblocks_of_set(set).skip((geometry.blocks_per_plane() - least) as usize)
    }

    /// Superblocks that the cache of a set can open, where `free` superblocks outside the cache are free.
    fn can_open(&self, set: Set, free: usize) -> usize {
        let of = &self.sets[set];
        of.free.len() + (self.most - of.owned).min(free.saturating_sub(self.leaves))
    }

    /// Free SLC superblocks of all sets.
    pub(super) fn free_superblocks(&self) -> usize {
        self.sets.iter().map(|of| of.free.len()).sum()
    }

    /// Whether the cache of a set gives back the next superblock that it has folded.
    fn gives_back(&self, set: Set) -> bool {
        self.sets[set].owned > self.least
    }
}

impl PageMap {
    /// Turns the superblocks that the cache of each set starts with into SLC ones.
    pub(super) fn set_up_slc_cache(&mut self) {
        let Some(cache) = &self.slc_cache else { return };
        for (set, of) in self.sets.iter_mut().zip(&cache.sets) {
            set.free.truncate(set.free.len() - of.free.len());
            of.free.iter().for_each(|&superblock| self.blocks[superblock].slc = true);
        }
    }

    /// Whether cells of a superblock hold one bit each.
    #[inline]
    pub fn is_slc(&self, superblock: Superblock) -> bool {
        self.slc_cache.is_some() && self.blocks[superblock].slc
    }

    /// The layout of an SLC superblock; `None` for other superblocks.
    #[inline]
    pub(super) fn slc_layout(&self, superblock: Superblock) -> Option<&BlockLayout> {
        self.slc_cache.as_ref().filter(|_| self.blocks[superblock].slc).map(|cache| &cache.layout)
    }

    /// Pages of a superblock.
    #[inline]
    pub fn pages_of(&self, superblock: Superblock) -> u32 {
        match &self.slc_cache {
            Some(cache) if self.blocks[superblock].slc => cache.pages_per_superblock,
            _ => self.geometry.pages_per_superblock(),
        }
    }

    /// P/E cycles that erases of a superblock since the start of the run count as.
    #[inline]
    pub(super) fn pe_cycles_since(&self, superblock: Superblock) -> u32 {
        let erases = self.blocks[superblock].erases;
        let Some(cache) = &self.slc_cache else { return erases.saturating_mul(self.wear.pe_cycles_per_erase) };
        let of_slc = cache.erases[superblock];
        let counted = f64::from(erases - of_slc) + f64::from(of_slc) * cache.wear;
        (counted * f64::from(self.wear.pe_cycles_per_erase)) as u32
    }

    /// P/E cycles that the next erase of a superblock counts as.
    pub(super) fn pe_cycles_of_erase(&self, superblock: Superblock) -> f64 {
        let wear = self.slc_cache.as_ref().filter(|_| self.is_slc(superblock)).map_or(1.0, |cache| cache.wear);
        f64::from(self.wear.pe_cycles_per_erase) * wear
    }

    /// The next pages for the host in a set: in the cache if it has room, otherwise in other superblocks, unless writes wait for
    /// folding.
    ///
    /// # Arguments
    /// - `plain`: whether the data is not interleaved although the set interleaves.
    #[inline]
    pub(super) fn open_in(&mut self, set: Set, plain: bool) -> Option<Group> {
        if self.slc_cache.is_some() {
            let group = self.open(set, if plain { Writer::SlcPlain } else { Writer::Slc });
            if group.is_some() || self.waits_for_folding(set) {
                return group;
            }
        }
        self.open(set, if plain { Writer::HostPlain } else { Writer::Host })
    }

    /// Whether writes to a set wait for folding: some SLC superblock is full, or its programs or its folding are under way.
    fn waits_for_folding(&self, set: Set) -> bool {
        let Some(cache) = self.slc_cache.as_ref().filter(|cache| cache.waits_when_full) else { return false };
        let (of, open) = (&cache.sets[set], &self.sets[set].open);
        let opened = [Writer::Slc, Writer::SlcPlain].into_iter().filter(|&writer| open[writer as usize].is_some());
        of.owned > of.free.len() + opened.count()
    }

    /// Takes a superblock of a set for its cache: an SLC one, or a free one that becomes one.
    pub(super) fn take_for_cache(&mut self, set: Set) -> Option<Superblock> {
        let cache = self.slc_cache.as_mut()?;
        let of = &mut cache.sets[set];
        if let Some(superblock) = of.free.pop_front() {
            return Some(superblock);
        }
        if of.owned >= cache.most || self.sets[set].free.len() <= cache.leaves {
            return None;
        }
        of.owned += 1;
        let superblock = self.take_free(set, false)?;
        self.blocks[superblock].slc = true;
        Some(superblock)
    }

    /// Takes the superblock in which folding continues in a set. There is one where [folding](Self::take_to_fold) has begun and needs
    /// it.
    pub(super) fn take_for_folding(&mut self, set: Set) -> Option<Superblock> {
        self.slc_cache.as_mut()?.sets[set].next_for_folding.take()
    }

    /// Whether the cache of a set gives back the next superblock that it has folded.
    pub(super) fn gives_back(&self, set: Set) -> bool {
        self.slc_cache.as_ref().is_some_and(|cache| cache.gives_back(set))
    }

    /// Pages that the host can still write in the cache of a set.
    pub(super) fn free_slc_pages(&self, set: Set) -> u32 {
        let Some(cache) = &self.slc_cache else { return 0 };
        let state = &self.sets[set];
        let in_open = state.open[Writer::Slc as usize].map_or(0, |(_, given)| cache.pages_per_superblock - given);
        cache.can_open(set, state.free.len()) as u32 * cache.pages_per_superblock + in_open
    }

    /// Whether the cache of a set has so little room that it should be folded, whatever the load.
    #[inline]
    pub fn wants_folding(&self, set: Set) -> bool {
        self.takes_data(set)
            && self.slc_cache.as_ref().is_some_and(|cache| {
                cache.can_open(set, self.sets[set].free.len()) < cache.fold_below && !cache.sets[set].closed.is_empty()
            })
    }

    /// Whether folding of a set is due but waits until garbage collection has made room. Writes may then wait for both.
    pub fn folding_waits_for_collection(&self, set: Set) -> bool {
        let is_short = self.sets[set].free.len() < self.collector.low;
        is_short && !self.gives_back(set) && self.wants_folding(set)
    }

    /// Takes the superblock of the cache of a set that was filled first, to be folded, if folding is due and there is room for its data.
    ///
    /// # Arguments
    /// - `idle`: whether the host is idle.
    pub fn take_to_fold(&mut self, set: Set, idle: bool) -> Option<Superblock> {
        let cache = self.slc_cache.as_ref().filter(|_| self.takes_data(set))?;
        let state = &self.sets[set];
        let (free, gives_back) = (state.free.len(), cache.gives_back(set));
        // Collection comes first where folding frees nothing that others may write to.
        let is_due = if gives_back {
            idle || self.wants_folding(set) || free < self.collector.high
        } else {
            (idle || self.wants_folding(set)) && free >= self.collector.low
        };
        let &superblock = cache.sets[set].closed.front()?;
        let pages = self.geometry.pages_per_superblock();
        let in_open = state.open[Writer::Fold as usize].map_or(0, |(_, given)| pages - given);
        let has_next = cache.sets[set].next_for_folding.is_some();
        let needed = if self.valid(superblock) == 0 { 0 } else { cache.pages_per_superblock };
        // After failures an open superblock may have less room, and its rest may be only part of a stripe.
        let left = self.left_of(set, in_open);
        let left = if self.has_lost_room() { left.saturating_sub(self.geometry.pages_per_stripe()) } else { left };
        let needs_next = left < needed && !has_next;
        // A superblock that is given back replaces the last free one, unless its erase fails.
        let leaves = !gives_back || self.has_lost_room();
        if !is_due || (needs_next && free <= usize::from(leaves)) {
            return None;
        }
        if needs_next {
            // The superblock is taken now, before the host takes it.
            let next = self.take_free(set, false);
            self.slc_cache.as_mut()?.sets[set].next_for_folding = next;
        }
        self.withdraw_slc(set, superblock);
        Some(superblock)
    }

    /// Notes that a superblock of the cache is full.
    pub(super) fn close_slc(&mut self, set: Set, superblock: Superblock) {
        self.blocks[superblock].becomes(State::Closed);
        let cache = self.slc_cache.as_mut().expect("it has SLC superblocks");
        cache.sets[set].closed.push_back(superblock);
    }

    /// Takes a full superblock out of the cache's list.
    pub(super) fn withdraw_slc(&mut self, set: Set, superblock: Superblock) {
        self.blocks[superblock].becomes(State::Collecting);
        let cache = self.slc_cache.as_mut().expect("it has SLC superblocks");
        cache.sets[set].closed.retain(|&other| other != superblock);
    }

    /// Notes that a superblock of the cache has been erased: the cache keeps it, or gives it back.
    pub(super) fn erased_slc(&mut self, set: Set, superblock: Superblock) {
        let cache = self.slc_cache.as_mut().expect("it has SLC superblocks");
        cache.erases[superblock] += 1;
        let gives_back = cache.gives_back(set);
        let of = &mut cache.sets[set];
        if gives_back {
            of.owned -= 1;
            self.blocks[superblock].slc = false;
            self.sets[set].free.push_back(superblock);
        } else {
            of.free.push_back(superblock);
        }
    }

    /// Notes that a superblock of the cache has been erased and is retired. The cache has one less until it takes another.
    pub(super) fn retire_slc(&mut self, set: Set, superblock: Superblock) {
        let cache = self.slc_cache.as_mut().expect("it has SLC superblocks");
        cache.erases[superblock] += 1;
        cache.sets[set].owned -= 1;
        self.blocks[superblock].slc = false;
    }

    /// Codewords that the cache has room for now, and how many valid ones it holds; `None` without a cache.
    pub fn slc_room_and_valid(&self) -> Option<(u64, u64)> {
        let cache = self.slc_cache.as_ref()?;
        let of_superblock = u64::from(self.geometry.ways()) * u64::from(cache.layout.codewords());
        let owned: usize = cache.sets.iter().map(|of| of.owned).sum();
        let valid = self.blocks.iter().filter(|block| block.slc).map(|block| u64::from(block.valid));
        Some((owned as u64 * of_superblock, valid.sum()))
    }

    /// Blocks of the cache that are not free; `None` without a cache.
    pub fn slc_blocks(&self) -> Option<u64> {
        let cache = self.slc_cache.as_ref()?;
        let owned: usize = cache.sets.iter().map(|of| of.owned).sum();
        Some((owned - cache.free_superblocks()) as u64 * u64::from(self.geometry.blocks_per_superblock()))
    }

    /// Free superblocks of a set that belong to the cache, or are set aside for folding.
    pub(super) fn free_of_cache(&self, set: Set) -> Vec<Superblock> {
        let of = self.slc_cache.as_ref().map(|cache| &cache.sets[set]);
        of.into_iter().flat_map(|of| of.free.iter().copied().chain(of.next_for_folding)).collect()
    }

    /// Panics unless the cache and the blocks agree. Slow: for tests.
    ///
    /// # Returns
    /// The full superblocks of the cache.
    pub(super) fn closed_slc(&self) -> Vec<Superblock> {
        let Some(cache) = &self.slc_cache else { return Vec::new() };
        for (set, of) in self.geometry.all_sets().zip(&cache.sets) {
            let slc = |superblock: &Superblock| self.blocks[*superblock].slc;
            let owned = self.geometry.superblocks_of_set(set).filter(slc).count();
            assert_eq!(owned, of.owned, "SLC superblocks of set {set}");
            let is_less = owned < cache.least && self.has_lost_room();
            assert!(is_less || (cache.least..=cache.most).contains(&owned), "the cache of set {set} keeps its bounds");
            assert!(of.free.iter().chain(&of.closed).all(slc), "the cache of set {set} has SLC superblocks");
            assert!(!self.sets[set].free.iter().any(slc), "none is free for others in set {set}");
        }
        cache.sets.iter().flat_map(|of| of.closed.iter().copied()).collect()
    }
}
