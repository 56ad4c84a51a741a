//! Garbage collection: when it begins, which superblock it takes, and the state after an erase.

use softsense_config::format::BlockLayout;
use softsense_config::ids::{Set, Superblock};

use super::victims::VictimRule;
use super::{PageMap, Writer};

/// No bound on the valid codewords of a victim.
pub const ANY_VICTIM: u32 = u32::MAX;

impl PageMap {
    /// The index in `most_pe_cycles` that a set uses.
    fn most_worn_of(&self, set: Set) -> usize {
        if self.most_pe_cycles.len() == 1 { 0 } else { self.geometry.ssd_of_set(set).index() }
    }

    /// The layout with the least room that a superblock of a set may have next: after one more erase than any has had, or with the next
    /// code. Data that is moved fits wherever it goes.
    fn least_roomy(&self, set: Set) -> &BlockLayout {
        self.layouts.at(|| match &self.observed_rates {
            None => self.most_pe_cycles[self.most_worn_of(set)].saturating_add(self.pe_cycles_per_erase),
            Some(observed) => observed.next_code_age(self.geometry.ssd_of_set(set)),
        })
    }

    /// Codewords of the fullest superblock of a set that is worth collecting: its data fits another one, and leaves a group of it free.
    fn most_worth_collecting(&self, set: Set) -> u32 {
        let layout = self.least_roomy(set);
        if layout.crosses_pages() {
            // The last unit that is moved may take one page more, in which no other unit begins.
            let most = layout.codewords().saturating_sub(2 * self.geometry.codewords_per_page());
            return self.left_of(set, most).min(self.left_to_collect_to(set));
        }
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

    /// Whether garbage collection of a set should begin, or go on once begun.
    #[inline]
    pub fn wants_gc(&self, set: Set, running: bool) -> bool {
        let free = self.sets[set].free.len();
        !self.collects_in_vain()
            && self.takes_data(set)
            && free < if running { self.gc_high_watermark_blocks } else { self.gc_low_watermark_blocks }
    }

    /// Whether a set should be collected, or its SLC cache should be folded.
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

    /// Pages of a set that are not programmed and that the host and its collection can use: those of free superblocks, and of the open
    /// superblock of each. Pages that other writers have open (folding, translation pages, further handles) are not counted.
    pub fn unwritten_pages(&self, set: Set) -> u32 {
        let (state, pages) = (&self.sets[set], self.geometry.pages_per_superblock());
        let of_open = |writer: Writer| state.open[writer as usize].map_or(0, |(_, given)| pages - given);
        state.free.len() as u32 * pages + of_open(Writer::Host) + of_open(Writer::Gc)
    }

    /// Pages that a set can program once a superblock of it has been erased.
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
    /// request of the host, and without more room than before. Devices that keep their room gain a little each time, if often not at
    /// once: three times were enough for the slowest of random devices.
    #[inline]
    pub fn collects_in_vain(&self) -> bool {
        self.shrinks() && self.gain.erased_since > 20 * self.blocks.len()
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
        let pe_cycles = self.pe_cycles(victim);
        if let Some(levelling) = self.levelling.get_mut(set) {
            levelling.levelled = false;
            levelling.closed.remove(&(pe_cycles, victim));
        }
        Some(victim)
    }

    /// Takes the least worn closed superblock of a set if the most worn one exceeds its P/E cycles by more than the spread. Between two
    /// such superblocks a victim that frees room is taken, so that writes need not wait for long.
    fn take_least_worn(&mut self, set: Set) -> Option<Superblock> {
        let room = self.most_that_fits(set);
        let levelling = self.levelling.get_mut(set)?;
        let &(pe_cycles, superblock) = levelling.closed.first()?;
        let fits = self.blocks[superblock].valid <= room;
        if levelling.levelled || !fits || levelling.most_pe_cycles - pe_cycles <= self.wear_levelling_spread {
            return None;
        }
        levelling.closed.pop_first();
        levelling.levelled = true;
        self.sets[set].victims.withdraw(&mut self.blocks, superblock);
        Some(superblock)
    }

    /// Whether the last victim of a set was taken to level wear.
    pub fn has_levelled(&self, set: Set) -> bool {
        self.levelling.get(set).is_some_and(|levelling| levelling.levelled)
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
        assert!(entry.valid == 0 && entry.reads == 0 && !entry.closed, "an erased block holds nothing anyone needs");
        let retires = self.replace_failed(superblock);
        self.blocks[superblock].erases += 1;
        if let Some(observed) = &mut self.observed_rates {
            observed.erased(superblock);
        }
        let pe_cycles = self.pe_cycles(superblock);
        let worn = self.most_worn_of(set);
        self.most_pe_cycles[worn] = self.most_pe_cycles[worn].max(pe_cycles);
        if let Some(levelling) = self.levelling.get_mut(set) {
            levelling.most_pe_cycles = levelling.most_pe_cycles.max(pe_cycles);
        }
        for member in 0..self.geometry.blocks_per_superblock() {
            let block = self.geometry.block_in(superblock, member);
            self.programmed[block] = 0;
            self.forget_copies(block);
            if let Some(read_counts) = &mut self.read_counts {
                read_counts.erased(block);
            }
            if let Some(read_reclaim) = &mut self.read_reclaim {
                read_reclaim.erased(block);
            }
            if let Some(pass_through) = &mut self.pass_through {
                pass_through.erased(block);
            }
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
        if let Some(full) = &mut self.full_planes {
            full.forget();
        }
        let state = &mut self.sets[set];
        state.free.push_back(superblock);
        // Read reclaim also erases blocks that collection has not taken.
        state.being_collected = state.being_collected.saturating_sub(1);
        self.gain.erased(self.geometry.pages_per_superblock());
    }
}
