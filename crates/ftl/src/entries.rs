//! Map entries, the data last written at a place, and fetching of both before they are needed.

use softsense_config::ids::{Block, Lcn, Place, Superblock};

use super::victims::VictimRule;
use super::{Entry, Gain, Group, Held, Location, PageMap, prefetch};

impl PageMap {
    /// The location of a logical codeword. Where reads wait behind a program, data on its way to a place counts as being there already.
    #[inline]
    pub fn locate(&self, lcn: Lcn) -> Location {
        let place = match self.map.entry(&self.geometry, lcn) {
            Entry::Nowhere => return Location::Unmapped,
            Entry::Memory(slot) => return Location::Memory(slot),
            Entry::Flash(place) => place,
        };
        if !self.serves_in_flight {
            return Location::Flash(place);
        }
        let is_programmed = |block: Block, page: u32| page < u32::from(self.programmed[block]);
        let (block, page, _) = self.geometry.split(place);
        let mut is_whole = is_programmed(block, page);
        if self.formats.crosses_pages && is_whole {
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
        // Reads wait behind programs only where superblocks are blocks.
        !self.serves_in_flight && group.page >= u32::from(self.programmed[self.geometry.block_in(group.superblock, 0)])
    }

    /// The logical codeword whose current data lies at `place`, if any.
    #[inline]
    pub fn owner(&self, place: Place) -> Option<Lcn> {
        self.held_at(place).map(|held| held.lcn)
    }

    /// Notes in the map where a logical codeword lies, if it has not moved since before the run: the next query finds it there.
    #[inline]
    pub fn note_start(&mut self, lcn: Lcn) {
        self.map.note_start(&self.geometry, lcn);
    }

    /// Notes in the map where current data lies, if it has not moved since before the run. Its place is known, and is not computed
    /// again.
    #[inline]
    pub fn note_current(&mut self, held: Held) {
        self.map.note_current(held);
    }

    /// The current data at a place, if there is any.
    #[inline]
    pub fn held_at(&self, place: Place) -> Option<Held> {
        self.last_at(place).filter(|&held| self.is_current(held))
    }

    /// The current data of a logical codeword, wherever it lies.
    pub fn held(&self, lcn: Lcn) -> Held {
        self.map.held(lcn)
    }

    /// Whether data lies in a group, or is on its way to the group.
    pub fn is_in(&self, held: Held, group: Group) -> bool {
        self.map.place_of(held).is_some_and(|place| self.includes(group, self.group_of(place).0))
    }

    /// The data last written at a place, if any ever was. It [is current](Self::is_current) if the map says so.
    #[inline]
    pub fn last_at(&self, place: Place) -> Option<Held> {
        self.map.last_at(&self.geometry, place)
    }

    /// Calls `tell` with the data last written in `pages` pages of each block of a group, from its page on, and with the unit of each.
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

    /// Whether data is still current.
    #[inline]
    pub fn is_current(&self, held: Held) -> bool {
        self.map.is_current(held)
    }

    /// Asks the CPU to fetch the map entry of `lcn`, which will be needed soon. In a device of many
    /// gigabytes it is in no cache, and waiting for such entries is a third of the time of overwriting.
    #[inline]
    pub fn prefetch(&self, lcn: Lcn) {
        self.map.prefetch(lcn);
    }

    /// Asks the CPU to fetch all else that a read or a write of `lcn` will need: the state of its block, and the time at which it was
    /// written. Returns the block if the codeword is in flash.
    ///
    /// # Arguments
    /// - `is_write`: whether the superblock will lose a valid codeword.
    #[inline]
    pub fn prefetch_block(&mut self, lcn: Lcn, is_write: bool) -> Option<Block> {
        self.note_start(lcn);
        let Entry::Flash(place) = self.map.entry(&self.geometry, lcn) else { return None };
        let (block, page, _) = self.geometry.split(place);
        let superblock = self.geometry.superblock_of_block(block);
        prefetch(&self.blocks, superblock);
        if is_write {
            prefetch(&self.sets, self.geometry.set_of_superblock(superblock));
        }
        prefetch(&self.programmed, block);
        if let Some(read_counts) = &self.reads.counts {
            read_counts.prefetch(block, self.geometry.wordline_of(page, false));
        }
        self.map.prefetch_written_s(&self.geometry, place);
        Some(block)
    }

    /// Asks the CPU to fetch which data was last written in a page that will be collected or written.
    ///
    /// # Arguments
    /// - `index`: the number of the page in its superblock, whose blocks take turns.
    ///
    /// # Returns
    /// The first place of the page.
    #[inline]
    pub fn prefetch_written(&self, superblock: Superblock, index: u32) -> Place {
        let (ways, per_page) = (self.geometry.ways(), self.geometry.codewords_per_page());
        let place = self.geometry.place(superblock, index / ways, index % ways * per_page);
        self.map.prefetch_written(place);
        place
    }

    /// Forgets the current data of a logical codeword.
    pub fn unmap(&mut self, lcn: Lcn) {
        self.collector.gain = Gain::default();
        self.point(lcn, Entry::Nowhere);
    }

    /// Notes that the current data of `lcn` is in slot `slot` of the controller's memory.
    pub fn hold_in_memory(&mut self, lcn: Lcn, slot: u32) {
        self.collector.gain = Gain::default();
        self.point(lcn, Entry::Memory(slot));
    }

    /// Changes a map entry. The data at the old place becomes stale.
    #[inline]
    pub(super) fn point(&mut self, lcn: Lcn, to: Entry) {
        self.point_from(self.map.entry(&self.geometry, lcn), lcn, to);
    }

    /// Changes the map entry of data whose old entry is known.
    #[inline]
    pub(super) fn point_from(&mut self, from: Entry, lcn: Lcn, to: Entry) {
        if let Entry::Flash(place) = from {
            let superblock = self.geometry.superblock_of(place);
            let entry = &mut self.blocks[superblock];
            entry.valid -= 1;
            if entry.is_closed() && !entry.slc {
                let set = self.geometry.set_of_superblock(superblock);
                self.sets[set].victims.fell(&mut self.blocks, superblock);
            }
        }
        self.map.set(lcn, to);
        if self.reads.pass_through.is_some()
            && let Entry::Flash(place) = from
        {
            self.fell_stale(place);
        }
    }
}
