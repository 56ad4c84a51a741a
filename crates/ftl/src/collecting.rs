//! Garbage collection: when it begins, which superblock it takes, and the state after an erase.

use std::sync::{Arc, Mutex, PoisonError};

use softsense_base::{OwnName, Result};
use softsense_config::checked::CheckedConfig;
use softsense_config::format::BlockLayout;
use softsense_config::ids::{Set, Superblock};
use softsense_config::own::{AtWork, ChooseVictim};
use softsense_link::OwnCost;

use super::victims::{SharedRule, VictimRule};
use super::{PageMap, State, Writer};

/// No bound on the valid codewords of a victim.
pub const ANY_VICTIM: u32 = u32::MAX;

/// The numbers of free superblocks between which sets are collected, and the user's own rule for victims.
#[derive(Debug)]
pub(super) struct Collector {
    /// Free superblocks of a set below which collection begins.
    pub(super) low: usize,
    /// Free superblocks of a set at which collection ends.
    pub(super) high: usize,
    /// Free superblocks of each set with which `steady_state` begins, if the config gives their number.
    pub(super) free_at_start: Option<usize>,
    /// Free superblocks of each set that the host and translation pages leave to garbage collection.
    pub(super) kept: usize,
    /// The account of whether collection gains room.
    pub(super) gain: Gain,
    /// The user's own rule for victims. Absent where the config names none.
    pub(super) own_victims: Option<SharedRule>,
}

impl Collector {
    pub(super) fn new(config: &CheckedConfig) -> Result<Self> {
        let spec = &config.config().ftl;
        Ok(Self {
            low: spec.gc_low_watermark_blocks as usize,
            high: spec.gc_high_watermark_blocks as usize,
            free_at_start: config.config().precondition.free_blocks.map(|free| free as usize),
            kept: config.kept_for_collection() as usize,
            gain: Gain::default(),
            own_victims: config.own_victims()?.map(|own| Arc::new(Mutex::new(AtWork::new(own))) as _),
        })
    }

    /// The cost so far of the rule of the user's own, with its name.
    pub(super) fn own_cost(&self) -> Option<(OwnName, OwnCost)> {
        let rule = self.own_victims.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        Some(rule.cost(<dyn ChooseVictim>::spent_s))
    }

    /// # Errors
    /// The rule of the user's own has given an answer that is not valid.
    pub(super) fn check_own(&self) -> Result<()> {
        self.own_victims.as_ref().map_or(Ok(()), |rule| rule.lock().unwrap_or_else(PoisonError::into_inner).check())
    }
}

/// Whether garbage collection gains room. Where the map is in flash, moves have to be noted in translation pages, which may take as much
/// room as collection frees. Collection would then go on without end, were it not for this account.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gain {
    /// Pages that collection has freed, less those that collection and translation pages took, since the host last wrote or trimmed
    /// data.
    pub(super) pages: i64,
    /// The greatest value of `pages` so far.
    most_pages: i64,
    /// Superblocks that collection has erased since `pages` was greatest.
    erased_since: usize,
}

impl Gain {
    /// Counts an erase by collection, which frees `pages` pages.
    pub(super) fn erased(&mut self, pages: u32) {
        self.pages += i64::from(pages);
        self.erased_since += 1;
        if self.pages > self.most_pages {
            (self.most_pages, self.erased_since) = (self.pages, 0);
        }
    }
}

impl PageMap {
    /// The layout with the fewest codewords that a superblock of a set may have after its next erase: with one P/E cycle more than the most
    /// worn one has, or with the next code. Data that fits this layout fits wherever it is moved.
    fn least_roomy(&self, set: Set) -> &BlockLayout {
        let most_pe_cycles = || self.wear.most_after_erase(&self.geometry, set);
        self.formats.least_roomy(|| self.geometry.ssd_of_set(set), most_pe_cycles)
    }

    /// Codewords of the fullest superblock of a set that is worth collecting: its data fits another superblock and leaves a group of that
    /// superblock free.
    fn most_worth_collecting(&self, set: Set) -> u32 {
        let layout = self.least_roomy(set);
        if layout.crosses_pages() {
            // The last unit that is moved may take one page more, in which no other unit begins.
            let most = layout.codewords().saturating_sub(2 * self.geometry.codewords_per_page());
            return self.left_of(set, most).min(self.left_to_collect_to(set));
        }
        // The last page that holds data: with parity, the last page of all is parity.
        let last = layout.pages() - if self.geometry.has_parity() { 2 } else { 1 };
        let at_once = self.geometry.ways() * self.geometry.pages_per_program();
        let (all, of_last) = (layout.codewords() * self.geometry.ways(), layout.beginning_in(last) * at_once);
        self.left_of(set, all).saturating_sub(of_last).min(self.left_to_collect_to(set))
    }

    /// The most codewords of a superblock of a set that fit another one.
    pub(super) fn most_that_fits(&self, set: Set) -> u32 {
        let layout = self.least_roomy(set);
        // The last unit that is moved may take one page more.
        let in_vain = if layout.crosses_pages() { self.geometry.codewords_per_page() } else { 0 };
        let most = self.left_of(set, self.geometry.ways() * layout.codewords()).saturating_sub(in_vain);
        most.min(self.left_to_collect_to(set))
    }

    /// Whether garbage collection of a set should begin, or, if it is `running`, go on with another victim.
    #[inline]
    pub fn wants_gc(&self, set: Set, running: bool) -> bool {
        let free = self.sets[set].free.len();
        !self.collects_in_vain()
            && self.takes_data(set)
            && free < if running { self.collector.high } else { self.collector.low }
    }

    /// Whether a set should be collected, or its SLC cache folded; `running` as in [`wants_gc`](Self::wants_gc).
    #[inline]
    pub fn wants_room(&self, set: Set, running: bool) -> bool {
        self.wants_gc(set, running) || self.wants_folding(set)
    }

    /// Free superblocks of a set.
    pub fn free_superblocks(&self, set: Set) -> u32 {
        self.sets[set].free.len() as u32
    }

    /// Free blocks of the device, those of its SLC cache included.
    pub fn free_blocks(&self) -> u64 {
        let of_cache: usize = self.slc_cache.iter().map(|cache| cache.free_superblocks()).sum();
        let free: usize = self.sets.iter().map(|set| set.free.len()).sum();
        (free + of_cache) as u64 * u64::from(self.geometry.blocks_per_superblock())
    }

    /// Free pages of a set that the host can program: those of free superblocks, and of the host's open ones.
    pub fn free_pages_of(&self, set: Set) -> u32 {
        let (state, pages) = (&self.sets[set], self.geometry.pages_per_superblock());
        let of_open = |writer: Writer| state.open[writer as usize].map_or(0, |(_, given)| pages - given);
        state.free.len() as u32 * pages + of_open(Writer::Host) + of_open(Writer::HostPlain)
    }

    /// Pages of a set that are not programmed and that the host and garbage collection can use: those of free superblocks, and of the open
    /// superblock of each. Pages that other writers have open (folding, translation pages, further handles) are not counted.
    pub fn unwritten_pages(&self, set: Set) -> u32 {
        let (state, pages) = (&self.sets[set], self.geometry.pages_per_superblock());
        let of_open = |writer: Writer| state.open[writer as usize].map_or(0, |(_, given)| pages - given);
        state.free.len() as u32 * pages + of_open(Writer::Host) + of_open(Writer::Gc)
    }

    /// Pages that the erase of a superblock gives to its set: none if the superblock stays in the SLC cache.
    pub fn pages_of_erase(&self, superblock: Superblock) -> u32 {
        let stays_in_cache = self.is_slc(superblock) && !self.gives_back(self.geometry.set_of_superblock(superblock));
        if stays_in_cache { 0 } else { self.geometry.pages_per_superblock() }
    }

    /// Sets whether the host must not program pages of a set from now on. It may always program those of the SLC cache.
    pub fn hold_back(&mut self, set: Set, held_back: bool) {
        self.sets[set].held_back = held_back;
    }

    /// Whether the host must not program pages of a set.
    pub fn is_held_back(&self, set: Set) -> bool {
        self.sets[set].held_back
    }

    /// Whether a device that has shrunk collects without end. It has then erased twenty times as many superblocks as it has, with no
    /// request of the host, and without more room than before. Devices that keep their room gain a little now and then: the slowest of
    /// random devices gained some after it had erased three times as many superblocks as it has.
    #[inline]
    pub fn collects_in_vain(&self) -> bool {
        self.shrinks() && self.collector.gain.erased_since > 20 * self.blocks.len()
    }

    /// Takes the closed superblock that the rule for victims chooses, or, to level wear, the least worn one; `None` when
    /// collecting would gain nothing, because none has a group's worth of stale or empty places.
    pub fn take_victim(&mut self, set: Set) -> Option<Superblock> {
        self.take_victim_of(set, ANY_VICTIM)
    }

    /// Takes a victim like [`take_victim`](Self::take_victim), with at most `most_valid` valid codewords. A bound other than
    /// [`ANY_VICTIM`] rules out victims that are taken to level wear.
    pub fn take_victim_of(&mut self, set: Set, most_valid: u32) -> Option<Superblock> {
        if !self.takes_data(set) {
            return None;
        }
        if most_valid == ANY_VICTIM
            && let Some(superblock) = self.take_least_worn(set)
        {
            self.sets[set].being_collected += 1;
            return Some(superblock);
        }
        let most = self.most_worth_collecting(set).min(most_valid);
        let victim = self.sets[set].victims.take(&mut self.blocks, most)?;
        self.sets[set].being_collected += 1;
        if self.wear.levels() {
            self.wear.taken(set, victim, self.pe_cycles(victim), true);
        }
        Some(victim)
    }

    /// Takes the least worn superblock of a set, to level wear.
    fn take_least_worn(&mut self, set: Set) -> Option<Superblock> {
        if !self.wear.levels() {
            return None;
        }
        let (room, blocks) = (self.most_that_fits(set), &self.blocks);
        let superblock = self.wear.take_least_worn(set, |superblock| blocks[superblock].valid <= room)?;
        self.sets[set].victims.withdraw(&mut self.blocks, superblock);
        Some(superblock)
    }

    /// Whether the last victim of a set was taken to level wear.
    pub fn has_levelled(&self, set: Set) -> bool {
        self.wear.has_levelled(set)
    }

    /// Valid codewords of a superblock.
    pub fn valid(&self, superblock: Superblock) -> u32 {
        self.blocks[superblock].valid
    }

    /// Whether reads of a superblock are under way.
    #[inline]
    pub fn is_being_read(&self, superblock: Superblock) -> bool {
        self.blocks[superblock].reads > 0
    }

    /// Notes that all blocks of a superblock have been erased: it is free, unless erases have failed and a plane has no spare.
    pub fn erased(&mut self, superblock: Superblock) {
        let set = self.geometry.set_of_superblock(superblock);
        let entry = &self.blocks[superblock];
        let is_taken = entry.state() == State::Collecting;
        assert!(entry.valid == 0 && entry.reads == 0 && is_taken, "an erased block holds nothing anyone needs");
        let retires = self.replace_failed(superblock);
        let entry = &mut self.blocks[superblock];
        entry.erases += 1;
        entry.becomes(if retires { State::Retired } else { State::Free });
        self.formats.erased(superblock);
        self.wear.erased(&self.geometry, set, self.pe_cycles(superblock));
        for member in 0..self.geometry.blocks_per_superblock() {
            let block = self.geometry.block_in(superblock, member);
            self.programmed[block] = 0;
            self.forget_copies(block);
            self.reads.erased(block);
        }
        if retires {
            return self.retire(set, superblock);
        }
        if self.has_lost_room() {
            self.erased_after_failure(superblock);
        }
        if self.is_slc(superblock) {
            return self.erased_slc(set, superblock);
        }
        if let Some(full) = &mut self.turns.full_planes {
            full.forget();
        }
        let state = &mut self.sets[set];
        state.free.push_back(superblock);
        // Read reclaim also erases superblocks that collection has not taken, so the count may be 0 already.
        state.being_collected = state.being_collected.saturating_sub(1);
        self.collector.gain.erased(self.geometry.pages_per_superblock());
    }
}
