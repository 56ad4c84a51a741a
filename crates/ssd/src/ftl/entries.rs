//! Where data is: map entries, what was last written at a place, and fetching both before they are needed.

use super::victims::VictimRule;
use super::{Entry, Gain, Group, Held, Lcn, Location, PageMap, Place, prefetch};

impl PageMap {
    #[inline(always)]
    pub(super) fn entry(&self, lcn: Lcn) -> Entry {
        match self.map.get(lcn) {
            0 => self.entry_at_start(lcn),
            1 => Entry::Nowhere,
            entry if entry < self.first_place => Entry::Memory((entry - 2) as u32),
            entry => Entry::Flash(entry - self.first_place),
        }
    }

    /// Where a logical codeword is. What is on its way to a place is there already where reads wait behind its program.
    #[inline]
    pub fn locate(&self, lcn: Lcn) -> Location {
        let place = match self.entry(lcn) {
            Entry::Nowhere => return Location::Unmapped,
            Entry::Memory(slot) => return Location::Memory(slot),
            Entry::Flash(place) => place,
        };
        if !self.serves_in_flight {
            return Location::Flash(place);
        }
        let is_programmed = |block: u32, page: u32| page < u32::from(self.programmed[block as usize]);
        let (block, page, _) = self.geometry.split(place);
        let mut is_whole = is_programmed(block, page);
        if self.crosses_pages && is_whole {
            let (group, slot) = self.group_of(place);
            if self.layout(group.superblock).crosses(group.page, slot) {
                let (member, page) = self.geometry.turn(group.page, 1);
                is_whole = is_programmed(self.geometry.block_in(group.superblock, member), page);
            }
        }
        if is_whole && self.has_failed_programs() {
            is_whole = !self.is_failed(self.group_of(place).0);
        }
        if is_whole { Location::Flash(place) } else { Location::InFlight }
    }

    /// Whether a read of a page waits behind its program.
    #[inline]
    pub fn awaits_program(&self, group: Group) -> bool {
        // Where reads wait so, superblocks are blocks.
        !self.serves_in_flight && group.page >= u32::from(self.programmed[group.superblock as usize])
    }

    /// The logical codeword whose current data lies at `place`, if any.
    #[inline]
    pub fn owner(&self, place: Place) -> Option<Lcn> {
        self.held_at(place).map(|held| held.lcn)
    }

    fn entry_at_start(&self, lcn: Lcn) -> Entry {
        self.start.place_of(&self.device(), lcn).map_or(Entry::Nowhere, Entry::Flash)
    }

    /// Notes where a logical codeword lies that lies where it did before the run: who will ask again finds it in the map.
    #[inline]
    pub fn note_start(&mut self, lcn: Lcn) {
        if self.map.is_whole() && self.map.get(lcn) == 0 {
            let entry = match self.entry_at_start(lcn) {
                Entry::Flash(place) => self.first_place + place,
                Entry::Nowhere | Entry::Memory(_) => 1,
            };
            self.map.set(lcn, entry);
        }
    }

    /// Notes where current data lies that lies where it did before the run: its place is known, and not worked out again.
    #[inline]
    pub fn note_current(&mut self, held: Held) {
        if self.map.is_whole() && self.map.get(held.lcn) == 0 {
            self.map.set(held.lcn, held.entry);
        }
    }

    /// What the current data at a place is, if there is any.
    #[inline]
    pub fn held_at(&self, place: Place) -> Option<Held> {
        self.last_at(place).filter(|&held| self.is_current(held))
    }

    /// What the current data of a logical codeword is, wherever it lies.
    pub fn held(&self, lcn: Lcn) -> Held {
        Held { lcn, entry: self.map.get(lcn) }
    }

    /// Whether data lies in a group, or is on its way there.
    pub fn is_in(&self, held: Held, group: Group) -> bool {
        held.entry >= self.first_place && self.group_of(held.entry - self.first_place).0 == group
    }

    /// What was last written at a place, if anything ever was. It [is current](Self::is_current) if the map says so.
    #[inline]
    pub fn last_at(&self, place: Place) -> Option<Held> {
        let lcn = match self.written.get(place) {
            0 => self.start.lcn_at(&self.device(), place)?,
            written => written - 1,
        };
        Some(Held { lcn, entry: self.first_place + place })
    }

    /// Tells what was last written in so many pages of each block of a group, from its page on, with the units.
    pub fn each_last_in(&self, group: Group, pages: u32, mut tell: impl FnMut(u32, Held)) {
        for member in group.members() {
            let start = self.geometry.units_of(member).start;
            for unit in start..start + pages * self.geometry.codewords_per_page() {
                if let Some(held) = self.last_at(self.geometry.place(group.superblock, group.page, unit)) {
                    tell(unit, held);
                }
            }
        }
    }

    /// Whether data is current still.
    #[inline]
    pub fn is_current(&self, held: Held) -> bool {
        // With 0 it lies where it did before the run, which is where it was found.
        let entry = self.map.get(held.lcn);
        entry == held.entry || entry == 0
    }

    /// Asks the CPU to fetch the map entry of `lcn`, which will be needed soon. In a device of many
    /// gigabytes it is in no cache, and waiting for such entries is a third of the time of overwriting.
    #[inline]
    pub fn prefetch(&self, lcn: Lcn) {
        self.map.prefetch(lcn);
    }

    /// The same for what reading or overwriting `lcn` will need besides: its block, which is returned if it is in flash, and when it was
    /// written.
    ///
    /// # Arguments
    /// - `is_write`: whether its superblock will have one valid codeword less.
    #[inline]
    pub fn prefetch_block(&mut self, lcn: Lcn, is_write: bool) -> Option<u32> {
        self.note_start(lcn);
        let Entry::Flash(place) = self.entry(lcn) else { return None };
        let (block, page, _) = self.geometry.split(place);
        let superblock = self.geometry.superblock_of_block(block);
        prefetch(&self.blocks, superblock.into());
        if is_write {
            prefetch(&self.sets, self.geometry.set_of_superblock(superblock).into());
        }
        prefetch(&self.programmed, block.into());
        if let Some(read_counts) = &self.read_counts {
            read_counts.prefetch(block, self.geometry.wordline_of(page, false));
        }
        if let Some(written_s) = &self.written_s {
            written_s.prefetch(place / u64::from(self.geometry.codewords_per_page()));
        }
        Some(block)
    }

    /// The same for a page of a superblock that will be collected, or written: what was written there.
    ///
    /// # Arguments
    /// - `index`: of the page in its superblock, whose blocks take turns.
    ///
    /// # Returns
    /// The first place of the page.
    #[inline]
    pub fn prefetch_written(&self, superblock: u32, index: u32) -> Place {
        let (ways, per_page) = (self.geometry.ways(), self.geometry.codewords_per_page());
        let place = self.geometry.place(superblock, index / ways, index % ways * per_page);
        self.written.prefetch(place);
        place
    }

    /// Forgets the current data of a logical codeword.
    pub fn unmap(&mut self, lcn: Lcn) {
        self.gain = Gain::default();
        self.point(lcn, 1);
    }

    /// Notes that the current data of `lcn` is in slot `slot` of the controller's memory.
    pub fn hold_in_memory(&mut self, lcn: Lcn, slot: u32) {
        self.gain = Gain::default();
        self.point(lcn, 2 + u64::from(slot));
    }

    /// Changes a map entry. What was at its old place is stale by that.
    #[inline]
    pub(super) fn point(&mut self, lcn: Lcn, to: u64) {
        self.point_from(self.entry(lcn), lcn, to);
    }

    /// Changes the map entry of data whose old entry is known.
    #[inline]
    pub(super) fn point_from(&mut self, from: Entry, lcn: Lcn, to: u64) {
        if let Entry::Flash(place) = from {
            let superblock = self.geometry.superblock_of(place);
            let entry = &mut self.blocks[superblock as usize];
            entry.valid -= 1;
            if entry.closed && !entry.slc {
                let set = self.geometry.set_of_superblock(superblock) as usize;
                self.sets[set].victims.fell(&mut self.blocks, superblock);
            }
        }
        self.map.set(lcn, to);
        if self.pass_through.is_some()
            && let Entry::Flash(place) = from
        {
            self.fell_stale(place);
        }
    }
}
