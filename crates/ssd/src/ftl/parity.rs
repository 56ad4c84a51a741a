//! Parity across dies: which pages hold it, what is read to rebuild a codeword, and what becomes of superblocks that have lost a die.
//!
//! A stripe is a round of turns of the blocks of a superblock. The last block of it that works has its parity; where all work, that is
//! the last page of the stripe. The exclusive or of a stripe that is not full is in the controller's memory, so its pages are covered,
//! too. A page of a stripe is as good as data for who rebuilds another, whether its data is current, stale, or parity: which page
//! held which is not asked again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Group, PageMap, Writer};

/// What a map knows of stripes.
#[derive(Debug, Default)]
pub(super) struct Stripes {
    /// Pages of parity whose stripe is full, and whose program has not begun; and whether the host wrote it.
    due: VecDeque<(Group, bool)>,
    /// Of each die whether it has failed; empty as long as none has.
    failed: Vec<bool>,
    /// Of blocks on failed dies that were given fewer pages than there are: how many.
    given: BTreeMap<u32, u32>,
    /// Sets that had no superblock left to collect to when a die or a block failed: until one is free, only what holds nothing is collected.
    stuck: BTreeSet<u32>,
}

impl PageMap {
    /// Pages of parity, of stripes that have just been filled, that are to be programmed now, one after the other; and whether the host
    /// filled them: they are programmed in the turn of their data.
    #[inline]
    pub fn take_parity(&mut self) -> Option<(Group, bool)> {
        self.stripes.due.pop_front()
    }

    /// Whether a page has room for nothing but parity.
    pub fn is_parity(&self, group: Group) -> bool {
        self.geometry.has_parity() && self.room(group) == 0
    }

    /// So many pages of a superblock, and the one of parity after them, if they fill a stripe.
    pub(super) fn with_parity(&self, pages: u32) -> u32 {
        let stripe = self.geometry.pages_per_stripe();
        if stripe > 0 && pages % stripe == stripe - 1 { pages + 1 } else { pages }
    }

    /// The first page of a superblock from `index` on that is for data. Parity before it is due.
    pub(super) fn next_for_data(&mut self, set: u32, writer: Writer, superblock: u32, mut index: u32) -> u32 {
        let stripe = self.geometry.pages_per_stripe();
        let pages = self.pages_of(superblock);
        while index < pages {
            let end = index - index % stripe + stripe;
            let works = |&at: &u32| self.works(set, self.geometry.turn(at, 0).0);
            if works(&index) {
                if (index + 1..end).any(|at| works(&at)) {
                    break;
                }
                self.stripes.due.push_back((self.group_at(set, superblock, index), writer.is_host()));
                self.gain.pages -= 1;
            }
            index += 1;
        }
        index
    }

    /// The other pages of the stripe of a page whose codewords it takes to rebuild one of its own; nothing where one of them is lost.
    /// What is on its way to flash is in the controller's memory.
    pub fn stripe_mates(&self, group: Group) -> Option<Vec<Group>> {
        let stripe = self.geometry.pages_per_stripe();
        let first = group.page - group.page % stripe;
        let mut mates = Vec::new();
        for index in (first..first + stripe).filter(|&index| index != group.page) {
            let (member, page) = self.geometry.turn(index, 0);
            let block = self.geometry.block_in(group.superblock, member);
            if page >= u32::from(self.programmed[block as usize]) {
                continue;
            }
            let mate = self.group_at(group.set, group.superblock, index);
            // What could not be programmed is in the controller's memory as long as its stripe is there.
            if self.is_failed(mate) {
                continue;
            }
            if !self.works(group.set, member) {
                return None;
            }
            mates.push(mate);
        }
        Some(mates)
    }

    // ---- Dies that have failed ----

    /// Whether a die has failed.
    #[inline]
    pub fn has_failed(&self) -> bool {
        !self.stripes.failed.is_empty()
    }

    /// Whether the die of a member of a set works.
    #[inline]
    pub fn works(&self, set: u32, member: u32) -> bool {
        !self.has_failed() || !self.stripes.failed[self.geometry.die_of(self.geometry.plane_of(set, member)) as usize]
    }

    /// Whether a page, or one of several that are read together, is on a die that has failed.
    #[inline]
    pub fn is_lost(&self, group: Group) -> bool {
        self.has_failed()
            && group.members().any(|member| !self.works(group.set, self.geometry.turn(group.page, member).0))
    }

    /// Of a bit for each member of a group, those whose dies work.
    pub fn of_working(&self, group: Group, members: u32) -> u32 {
        if members == 0 || !self.has_failed() {
            return members;
        }
        let works = |&at: &u32| self.works(group.set, self.geometry.turn(group.page, at).0);
        super::ones(members).filter(works).fold(0, |mask, at| mask | 1 << at)
    }

    /// Blocks of a superblock of a set that still work.
    fn working(&self, set: u32) -> u32 {
        (0..self.geometry.blocks_per_superblock()).filter(|&member| self.works(set, member)).count() as u32
    }

    /// Whether a set takes data: with parity, it has dies for it and for a page of data; else it has all of its dies.
    #[inline]
    pub fn takes_data(&self, set: u32) -> bool {
        !self.has_failed() || {
            let width = self.geometry.blocks_per_superblock();
            self.working(set) >= if self.geometry.has_parity() { 2 } else { width }
        }
    }

    /// Of so much room in a superblock of a set what is left with the dies that work; nothing where the set is stuck.
    #[inline]
    pub(super) fn left_of(&self, set: u32, room: u32) -> u32 {
        if !self.has_lost_room() {
            return room;
        }
        if !self.takes_data(set) || self.stripes.stuck.contains(&set) {
            return 0;
        }
        if !self.geometry.has_parity() {
            return room;
        }
        let data_pages = self.geometry.pages_per_stripe() - 1;
        (u64::from(room) * u64::from(self.working(set) - 1) / u64::from(data_pages)) as u32
    }

    /// A die fails: from now on nothing on it is read, and nothing is given to it. What is on its way to it lies there when it
    /// arrives.
    pub fn fail(&mut self, die: u32) {
        if !self.has_failed() {
            self.stripes.failed = vec![false; self.geometry.dies() as usize];
        }
        if std::mem::replace(&mut self.stripes.failed[die as usize], true) {
            return;
        }
        for set in 0..self.geometry.sets() {
            let members = 0..self.geometry.blocks_per_superblock();
            let lost: Vec<u32> =
                members.filter(|&member| self.geometry.die_of(self.geometry.plane_of(set, member)) == die).collect();
            if !lost.is_empty() && self.geometry.has_parity() {
                self.leave(set, &lost);
            }
        }
    }

    /// Superblocks of a set go on without some members: open ones give their next page to another, free ones had none to give.
    fn leave(&mut self, set: u32, lost: &[u32]) {
        let mut given: BTreeMap<u32, u32> = self.free_ones(set).into_iter().map(|superblock| (superblock, 0)).collect();
        let state = &self.sets[set as usize];
        given.extend(state.open.iter().chain(&state.open_for_handles).flatten().copied());
        for (&superblock, &pages) in &given {
            for &member in lost {
                let of_block = (0..pages).filter(|&index| self.geometry.turn(index, 0).0 == member).count() as u32;
                let block = self.geometry.block_in(superblock, member);
                self.stripes.given.entry(block).or_insert(of_block);
            }
        }
        if !self.takes_data(set) {
            return;
        }
        let state = &self.sets[set as usize];
        // Those of placement handles follow those of writers, and are the host's.
        let writers = Writer::ALL.into_iter().chain(std::iter::repeat(Writer::Host));
        let open: Vec<_> = state.open.iter().chain(&state.open_for_handles).copied().zip(writers).collect();
        let mut next = Vec::with_capacity(open.len());
        for (at, writer) in open {
            next.push(at.and_then(|(superblock, index)| {
                let index = self.next_for_data(set, writer, superblock, index);
                (index < self.pages_of(superblock)).then_some((superblock, index))
            }));
        }
        let state = &mut self.sets[set as usize];
        for (at, next) in state.open.iter_mut().chain(&mut state.open_for_handles).zip(next) {
            *at = next;
        }
        for superblock in self.geometry.superblocks_of_set(set) {
            if given.get(&superblock).is_some_and(|&pages| pages > 0) {
                self.close_if_full(set, superblock);
            }
        }
    }

    /// The blocks of a superblock are erased and free, of those on failed dies nothing is given any more.
    pub(super) fn erased_after_failure(&mut self, superblock: u32) {
        let set = self.geometry.set_of_superblock(superblock);
        self.stripes.stuck.remove(&set);
        for member in 0..self.geometry.blocks_per_superblock() {
            if !self.works(set, member) {
                self.stripes.given.insert(self.geometry.block_in(superblock, member), 0);
            }
        }
    }

    /// How many pages a block of a superblock of a set gets, of so many.
    #[inline]
    pub(super) fn gets(&self, set: u32, member: u32, block: u32, of_block: u32) -> u32 {
        if self.works(set, member) {
            return of_block;
        }
        self.stripes.given.get(&block).copied().unwrap_or(of_block)
    }

    /// Free superblocks of a set, of whatever kind.
    pub fn free_ones(&self, set: u32) -> Vec<u32> {
        self.sets[set as usize].free.iter().copied().chain(self.free_of_cache(set)).collect()
    }

    /// Puts a superblock back that was taken to be moved, with what it holds: its set has no room for that any more.
    ///
    /// # Arguments
    /// - `is_stuck`: whether the set has no superblock left to collect to.
    pub fn put_back(&mut self, superblock: u32, is_stuck: bool) {
        let set = self.geometry.set_of_superblock(superblock);
        let state = &mut self.sets[set as usize];
        state.being_collected = state.being_collected.saturating_sub(1);
        self.close(set, superblock);
        if is_stuck {
            self.stripes.stuck.insert(set);
        }
    }
}
