//! Writing: which pages are next for each writer, and the state that changes when they are programmed.

use softsense_config::ids::{Lcn, Plane, Set, Ssd, Superblock};

use super::victims::VictimRule;
use super::{Entry, Gain, Group, Held, PageMap, State, Writer, prefetch};

impl PageMap {
    /// Whether the data that collection of a set moves is interleaved.
    pub fn interleaves(&self, set: Set) -> bool {
        self.sets[set].interleaves
    }

    /// The pool of an SSD in which a logical codeword is written, and how many codewords from it on are written to the same page. Where
    /// logical pages matter, these are the rest of its logical page.
    #[inline]
    pub fn pool_of(&self, lcn: Lcn) -> (u32, u32) {
        if self.turns.pools == 1 && !self.turns.whole_pages {
            return (0, u32::MAX);
        }
        let per_page = u64::from(self.geometry.codewords_per_page());
        let index = self.map.addresses.split(lcn).1;
        ((index / per_page % u64::from(self.turns.pools)) as u32, (per_page - index % per_page) as u32)
    }

    /// Whether logical codewords are written by whole pages.
    pub fn writes_whole_pages(&self) -> bool {
        self.turns.whole_pages
    }

    /// The logical codewords of the user that share a logical page with a codeword.
    pub fn page_mates(&self, lcn: Lcn) -> impl Iterator<Item = Lcn> + use<> {
        let per_page = u64::from(self.geometry.codewords_per_page());
        let (ssd, index) = self.map.addresses.split(lcn);
        let (addresses, first) = (self.map.addresses.clone(), index - index % per_page);
        let end = (first + per_page).min(addresses.of_ssd());
        (first..end).map(move |index| addresses.join(ssd, index))
    }

    /// The next pages for the host, in the turn of the stripe of a pool of an SSD. Sets without room are passed over. `None` where no
    /// set has room until garbage collection has freed a block.
    ///
    /// # Arguments
    /// - `first`: the codeword to be written, which a rule of the user's own is told.
    /// - `codewords`: how many codewords of a request wait to be written. They are interleaved where they fill a group.
    /// - `handle`: the placement handle of the host. Writes of different handles go to different superblocks.
    pub fn open_for_host(&mut self, ssd: Ssd, pool: u32, first: Lcn, codewords: u32, handle: u8) -> Option<Group> {
        self.turns.handle = handle;
        let ways = self.geometry.ways() as usize;
        let fills = ways > 1 && (codewords >= self.geometry.codewords_per_group() || self.turns.pads);
        let of_pool = self.turns.of_pool(ssd, pool);
        let planes = self.geometry.planes_of_ssd() as usize / self.turns.pools as usize;
        if self.turns.to_most_free {
            self.turns.stripe_at[of_pool] = self.most_free_from(ssd, pool, self.turns.stripe_at[of_pool], planes);
        }
        if self.turns.own.is_some() {
            self.turns.stripe_at[of_pool] = self.placed_at(ssd, pool, planes, first, codewords);
        }
        let mut passed = 0;
        while passed < planes {
            let mut at = self.turns.stripe_at[of_pool];
            if let Some(full) = &self.turns.full_planes {
                let next = full.next_other(of_pool, planes, at)?;
                debug_assert!(
                    (0..planes).map(|turn| (at + turn) % planes).take_while(|&at| at != next).all(|at| {
                        let set = self.set_at(ssd, pool, at);
                        let is_open = self.sets[set].open[Writer::Host as usize].is_some();
                        !self.takes_data(set) || !is_open && !self.has_free_for_host(set)
                    }),
                    "a plane with room is passed over"
                );
                at = next;
            }
            let set = self.set_at(ssd, pool, at);
            let interleaves = self.sets[set].interleaves;
            // A group takes the turns of all planes of its set.
            let turns = if interleaves && fills { ways - at % ways } else { 1 };
            self.turns.stripe_at[of_pool] = if at + turns == planes { 0 } else { at + turns };
            passed += turns;
            if let Some(group) = self.open_in(set, interleaves && !fills) {
                self.prefetch_turns(ssd, pool);
                return Some(group);
            }
            if let Some(full) = self.turns.full_planes.as_mut().filter(|_| !self.sets[set].held_back) {
                full.found(of_pool, at);
            }
        }
        None
    }

    /// Asks the CPU to fetch data that the next writes of a pool will change: the next place of the set whose turn is next, and the
    /// state of the set after it.
    #[inline]
    fn prefetch_turns(&self, ssd: Ssd, pool: u32) {
        let at = self.turns.stripe_at[self.turns.of_pool(ssd, pool)];
        let set = |at| Some(self.geometry.set_of(self.turns.plane_at(&self.geometry, ssd, pool, at)?).0);
        if let Some((superblock, given)) = set(at).and_then(|next| self.sets[next].open[Writer::Host as usize]) {
            let place = self.prefetch_written(superblock, given);
            prefetch(&self.blocks, superblock);
            prefetch(&self.programmed, self.geometry.block_of(place));
        }
        if let Some(after) = set(at + 1) {
            prefetch(&self.sets, after);
        }
    }

    /// The plane of a pool of `planes` planes with the most free pages; the first one from `at` on where several have the most.
    fn most_free_from(&self, ssd: Ssd, pool: u32, at: usize, planes: usize) -> usize {
        let free = |at: usize| self.free_pages(ssd, pool, at);
        let mut most = at;
        for next in (at + 1..planes).chain(0..at) {
            if free(next) > free(most) {
                most = next;
            }
        }
        most
    }

    /// Free pages of the plane whose position in the turn of a pool of an SSD is `at`.
    pub(super) fn free_pages(&self, ssd: Ssd, pool: u32, at: usize) -> u32 {
        let pages = self.geometry.pages_per_superblock();
        let set = self.set_at(ssd, pool, at);
        let state = &self.sets[set];
        let in_open = match self.turns.handle {
            0 => state.open[Writer::Host as usize],
            handle => state.open_for_handles[usize::from(handle) - 1],
        };
        let in_open = in_open.map_or(0, |(_, given)| pages - given);
        // Superblocks that are being collected count as free: writes are given out long before the erase that precedes them.
        let in_cache = self.free_slc_pages(set);
        (state.free.len() as u32 + state.being_collected) * pages + in_open + in_cache
    }

    /// The set of the plane whose position in the turn of a pool of an SSD is `at`.
    #[inline]
    fn set_at(&self, ssd: Ssd, pool: u32, at: usize) -> Set {
        self.geometry.set_of(self.turns.plane_at(&self.geometry, ssd, pool, at).expect("turns are those of planes")).0
    }

    /// The plane whose turn it is when a logical codeword is written.
    pub fn next_plane(&self, lcn: Lcn) -> Plane {
        let (ssd, pool) = (self.map.addresses.split(lcn).0, self.pool_of(lcn).0);
        let at = self.turns.stripe_at[self.turns.of_pool(ssd, pool)];
        self.turns.plane_at(&self.geometry, ssd, pool, at).expect("turns are those of planes")
    }

    /// The next page for a translation page, sets taking turns; `None` when no set has room until garbage collection has freed a block.
    pub fn open_for_translation(&mut self) -> Option<Group> {
        let (sets, planes) = (self.geometry.sets(), self.geometry.planes_of_ssd());
        (0..sets).find_map(|_| {
            let at = self.turns.translation_at * self.geometry.blocks_per_superblock();
            let plane = self.geometry.stripe(Ssd(at / planes))[(at % planes) as usize];
            self.turns.translation_at =
                if self.turns.translation_at + 1 == sets { 0 } else { self.turns.translation_at + 1 };
            self.open(self.geometry.set_of(plane).0, Writer::Translation)
        })
    }

    /// The writer that collects a logical codeword.
    pub fn collector_of(&self, lcn: Lcn) -> Writer {
        if self.is_translation_page(lcn) { Writer::GcTranslation } else { Writer::Gc }
    }

    /// The next pages for `writer` in a set. Writers other than garbage collection leave it the last free superblock, or two where
    /// erases fail. A job of garbage collection takes at most one, and gives one back unless its erase fails.
    #[inline]
    pub fn open(&mut self, set: Set, writer: Writer) -> Option<Group> {
        let held_back = self.sets[set].held_back && matches!(writer, Writer::Host | Writer::HostPlain);
        if held_back || !self.takes_data(set) {
            return None;
        }
        let (superblock, given) = match *self.opened_by(set, writer) {
            Some(at) => at,
            None => {
                let superblock = match writer {
                    Writer::Slc | Writer::SlcPlain => self.take_for_cache(set)?,
                    Writer::Fold => match self.take_for_folding(set) {
                        Some(superblock) => superblock,
                        // A program that failed has taken the superblock that was set aside for folding.
                        None if self.sets[set].free.len() > 1 => self.take_free(set, false)?,
                        None => return None,
                    },
                    Writer::Gc | Writer::GcTranslation => self.take_free(set, true)?,
                    Writer::Host | Writer::HostPlain | Writer::Translation => {
                        if !self.has_free_for_host(set) {
                            return None;
                        }
                        self.take_free(set, false)?
                    }
                };
                self.blocks[superblock].becomes(State::Open);
                self.blocks[superblock].interleaved = self.sets[set].interleaves
                    && matches!(writer, Writer::Host | Writer::Gc | Writer::Slc | Writer::Fold);
                let first = if self.has_failed() && self.geometry.has_parity() {
                    self.next_for_data(set, writer, superblock, 0)
                } else {
                    0
                };
                (superblock, first)
            }
        };
        let group = self.programmed_with(set, superblock, given);
        let (pages, together) = (self.pages_of(superblock), group.pages());
        let mut after = given + together;
        if self.geometry.has_parity() {
            after = self.next_for_data(set, writer, superblock, after);
        }
        let next = (after < pages).then_some((superblock, after));
        *self.opened_by(set, writer) = next;
        match writer {
            Writer::Host | Writer::HostPlain | Writer::Slc | Writer::SlcPlain => self.collector.gain = Gain::default(),
            Writer::Gc | Writer::GcTranslation | Writer::Translation | Writer::Fold => {
                self.collector.gain.pages -= i64::from(together)
            }
        }
        Some(group)
    }

    /// Whether a set has a free superblock beside those that are left to garbage collection.
    #[inline]
    fn has_free_for_host(&self, set: Set) -> bool {
        self.sets[set].free.len() > self.collector.kept
    }

    /// The open superblock of a writer in a set. For the host it is that of the current placement handle.
    #[inline]
    fn opened_by(&mut self, set: Set, writer: Writer) -> &mut Option<(Superblock, u32)> {
        let state = &mut self.sets[set];
        match self.turns.handle {
            handle @ 1.. if writer == Writer::Host => &mut state.open_for_handles[usize::from(handle) - 1],
            _ => &mut state.open[writer as usize],
        }
    }

    /// Takes a free superblock of a set; `None` where there is none.
    ///
    /// # Arguments
    /// - `cold`: whether the superblock is for data that has not been written for long. If wear is levelled, cold data goes where wear
    ///   is greatest, and other data where it is least.
    pub(super) fn take_free(&mut self, set: Set, cold: bool) -> Option<Superblock> {
        if !self.wear.levels() {
            return self.sets[set].free.pop_front();
        }
        let free = &self.sets[set].free;
        let pe_cycles = |at: &usize| self.pe_cycles(free[*at]);
        let at = 0..free.len();
        let at = if cold { at.max_by_key(pe_cycles) } else { at.min_by_key(pe_cycles) };
        at.and_then(|at| self.sets[set].free.remove(at))
    }

    /// Puts `lcn` at `slot` of pages that were given out, from 0 up to their [`Self::room`].
    #[inline]
    pub fn place(&mut self, group: Group, slot: u32, lcn: Lcn) {
        self.place_from(self.map.entry(&self.geometry, lcn), group, slot, lcn);
    }

    /// Puts data that is moved at `slot`. The data [is current](Self::is_current) where it lies, so its map entry is known.
    #[inline]
    pub fn place_moved(&mut self, group: Group, slot: u32, held: Held) {
        let place = self.map.place_of(held).expect("what is moved lies in flash");
        self.place_from(Entry::Flash(place), group, slot, held.lcn);
    }

    #[inline]
    fn place_from(&mut self, from: Entry, group: Group, slot: u32, lcn: Lcn) {
        let unit = self.unit_of_slot(group, slot);
        let place = self.geometry.place(group.superblock, group.page, unit);
        self.point_from(from, lcn, Entry::Flash(place));
        self.map.write(place, lcn);
        self.blocks[group.superblock].valid += 1;
    }

    /// Notes that the programs of all pages of a group have ended, at `now_s` seconds of the run.
    pub fn programmed(&mut self, group: Group, now_s: u64) {
        let (pages, mut last) = (self.geometry.pages_per_block(), 0);
        for at in group.members() {
            let (member, page) = self.geometry.turn(group.page, at);
            last = page;
            let block = self.geometry.block_in(group.superblock, member);
            let programmed = &mut self.programmed[block];
            debug_assert_eq!(u32::from(*programmed), page, "programs of a block end in order");
            *programmed = page as u16 + 1;
            self.map.set_written_s(u64::from(block) * u64::from(pages) + u64::from(page), Some(now_s));
        }
        let of_block = if group.slc { self.geometry.pages_per_slc_block() } else { pages };
        if last + 1 == of_block || self.has_failed() {
            self.close_if_full(group.set, group.superblock);
        }
    }

    /// Closes a superblock if each of its blocks has all the pages that it gets. A condemned superblock is closed elsewhere.
    pub(super) fn close_if_full(&mut self, set: Set, superblock: Superblock) {
        if self.is_condemned(superblock) {
            return;
        }
        let slc = self.is_slc(superblock);
        let of_block = if slc { self.geometry.pages_per_slc_block() } else { self.geometry.pages_per_block() };
        let is_full = |member: u32| {
            let block = self.geometry.block_in(superblock, member);
            u32::from(self.programmed[block]) == self.gets(set, member, block, of_block)
        };
        if (0..self.geometry.blocks_per_superblock()).all(is_full) {
            self.close(set, superblock);
            self.note_all_due(superblock);
        }
    }

    /// Closes a superblock to which nothing more is written: it can be collected from now on.
    pub(super) fn close(&mut self, set: Set, superblock: Superblock) {
        if self.is_slc(superblock) {
            return self.close_slc(set, superblock);
        }
        self.sets[set].victims.closed(&mut self.blocks, superblock);
        if self.wear.levels() {
            self.wear.closed(set, superblock, self.pe_cycles(superblock));
        }
    }
}
