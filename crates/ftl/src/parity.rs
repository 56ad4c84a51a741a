//! Parity across dies: pages that hold parity, pages that are read to rebuild a codeword, and superblocks that have lost a die.
//!
//! A stripe is one round of turns of the blocks of a superblock. The last working block of the round holds its parity; where all blocks
//! work, it is the last page of the stripe. The exclusive or of a stripe that is not full is in the controller's memory, so its pages
//! are covered, too. For rebuilding a page, all other pages of the stripe count alike, whether their data is current, stale, or parity.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use softsense_config::ids::{Block, Die, Set, Superblock, TiVec};

use super::{Group, PageMap, Writer};

/// The state of stripes in a map.
#[derive(Debug, Default)]
pub(super) struct Stripes {
    /// Pages of parity whose stripe is full and whose program has not begun, each with whether the host filled the stripe.
    due: VecDeque<(Group, bool)>,
    /// For each die, whether it has failed. Empty as long as no die has.
    failed: TiVec<Die, bool>,
    /// Pages that were given out of each block on a failed die that was not full.
    given: BTreeMap<Block, u32>,
    /// Sets that had no superblock left to collect to when a die or a block failed. Until a superblock is free, only superblocks without
    /// valid data are collected.
    stuck: BTreeSet<Set>,
}

impl PageMap {
    /// Takes the next page of parity whose stripe has just been filled, and whether the host filled it. Parity is programmed in the turn of
    /// its data.
    #[inline]
    pub fn take_parity(&mut self) -> Option<(Group, bool)> {
        self.stripes.due.pop_front()
    }

    /// Whether a page has room for parity only.
    pub fn is_parity(&self, group: Group) -> bool {
        self.geometry.has_parity() && self.room(group) == 0
    }

    /// The first `pages` pages of a superblock, and the page of parity after them if they fill a stripe: their number.
    pub(super) fn with_parity(&self, pages: u32) -> u32 {
        let stripe = self.geometry.pages_per_stripe();
        if stripe > 0 && pages % stripe == stripe - 1 { pages + 1 } else { pages }
    }

    /// The first page of a superblock from `index` on that is for data. Pages of parity before it become due.
    pub(super) fn next_for_data(&mut self, set: Set, writer: Writer, superblock: Superblock, mut index: u32) -> u32 {
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
                self.collector.gain.pages -= 1;
            }
            index += 1;
        }
        index
    }

    /// The other pages of the stripe of a page, which are read to rebuild one of its codewords. `None` where one of them is lost. Pages
    /// that are not programmed yet are left out, as their data is in the controller's memory.
    pub fn stripe_mates(&self, group: Group) -> Option<Vec<Group>> {
        let stripe = self.geometry.pages_per_stripe();
        let first = group.page - group.page % stripe;
        let mut mates = Vec::new();
        for index in (first..first + stripe).filter(|&index| index != group.page) {
            let (member, page) = self.geometry.turn(index, 0);
            let block = self.geometry.block_in(group.superblock, member);
            if page >= u32::from(self.programmed[block]) {
                continue;
            }
            let mate = self.group_at(group.set, group.superblock, index);
            // The data of a page that could not be programmed is in the controller's memory as long as its stripe is there.
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
    pub fn works(&self, set: Set, member: u32) -> bool {
        !self.has_failed() || !self.stripes.failed[self.geometry.die_of(self.geometry.plane_of(set, member))]
    }

    /// Whether a page, or one of several that are read together, is on a die that has failed.
    #[inline]
    pub fn is_lost(&self, group: Group) -> bool {
        self.has_failed()
            && group.members().any(|member| !self.works(group.set, self.geometry.turn(group.page, member).0))
    }

    /// The members of a mask whose dies work. The mask has a bit for each member of a group.
    pub fn of_working(&self, group: Group, members: u32) -> u32 {
        if members == 0 || !self.has_failed() {
            return members;
        }
        let works = |&at: &u32| self.works(group.set, self.geometry.turn(group.page, at).0);
        super::ones(members).filter(works).fold(0, |mask, at| mask | 1 << at)
    }

    /// The number of blocks that still work in a superblock of a set.
    fn working(&self, set: Set) -> u32 {
        (0..self.geometry.blocks_per_superblock()).filter(|&member| self.works(set, member)).count() as u32
    }

    /// Whether a set takes data. With parity it needs two working dies, one for a page of data and one for parity; otherwise all of its
    /// dies.
    #[inline]
    pub fn takes_data(&self, set: Set) -> bool {
        !self.has_failed() || {
            let width = self.geometry.blocks_per_superblock();
            self.working(set) >= if self.geometry.has_parity() { 2 } else { width }
        }
    }

    /// The room in a superblock of a set with the dies that work, where it is `room` with all dies. 0 where the set takes no data or is
    /// stuck.
    #[inline]
    pub(super) fn left_of(&self, set: Set, room: u32) -> u32 {
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

    /// Makes a die fail: from now on its pages are not read, and no pages of it are given out. Data on its way to the die counts as
    /// written when it arrives.
    pub fn fail(&mut self, die: Die) {
        if !self.has_failed() {
            self.stripes.failed = vec![false; self.geometry.dies() as usize].into();
        }
        if std::mem::replace(&mut self.stripes.failed[die], true) {
            return;
        }
        for set in self.geometry.all_sets() {
            let members = 0..self.geometry.blocks_per_superblock();
            let lost: Vec<u32> =
                members.filter(|&member| self.geometry.die_of(self.geometry.plane_of(set, member)) == die).collect();
            if !lost.is_empty() && self.geometry.has_parity() {
                self.leave(set, &lost);
            }
        }
    }

    /// Continues the superblocks of a set without some members. Open superblocks skip the pages of these members; free ones have given
    /// out none.
    fn leave(&mut self, set: Set, lost: &[u32]) {
        let mut given: BTreeMap<Superblock, u32> =
            self.free_ones(set).into_iter().map(|superblock| (superblock, 0)).collect();
        let state = &self.sets[set];
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
        let state = &self.sets[set];
        // After the writers come the placement handles, which the host writes.
        let writers = Writer::ALL.into_iter().chain(std::iter::repeat(Writer::Host));
        let open: Vec<_> = state.open.iter().chain(&state.open_for_handles).copied().zip(writers).collect();
        let mut next = Vec::with_capacity(open.len());
        for (at, writer) in open {
            next.push(at.and_then(|(superblock, index)| {
                let index = self.next_for_data(set, writer, superblock, index);
                (index < self.pages_of(superblock)).then_some((superblock, index))
            }));
        }
        let state = &mut self.sets[set];
        for (at, next) in state.open.iter_mut().chain(&mut state.open_for_handles).zip(next) {
            *at = next;
        }
        for superblock in self.geometry.superblocks_of_set(set) {
            if given.get(&superblock).is_some_and(|&pages| pages > 0) {
                self.close_if_full(set, superblock);
            }
        }
    }

    /// Notes that the blocks of a superblock are erased and free. Pages of its blocks on failed dies are no longer given out.
    pub(super) fn erased_after_failure(&mut self, superblock: Superblock) {
        let set = self.geometry.set_of_superblock(superblock);
        self.stripes.stuck.remove(&set);
        for member in 0..self.geometry.blocks_per_superblock() {
            if !self.works(set, member) {
                self.stripes.given.insert(self.geometry.block_in(superblock, member), 0);
            }
        }
    }

    /// Pages of a block that are written before its superblock is full: `of_block`, or fewer on a failed die.
    #[inline]
    pub(super) fn gets(&self, set: Set, member: u32, block: Block, of_block: u32) -> u32 {
        if self.works(set, member) {
            return of_block;
        }
        self.stripes.given.get(&block).copied().unwrap_or(of_block)
    }

    /// Free superblocks of a set, those of its SLC cache included.
    pub fn free_ones(&self, set: Set) -> Vec<Superblock> {
        self.sets[set].free.iter().copied().chain(self.free_of_cache(set)).collect()
    }

    /// Puts back a superblock, with its data, that was taken to be moved: its set has no room for the data any more.
    ///
    /// # Arguments
    /// - `is_stuck`: whether the set has no superblock left to collect to.
    pub fn put_back(&mut self, superblock: Superblock, is_stuck: bool) {
        let set = self.geometry.set_of_superblock(superblock);
        let state = &mut self.sets[set];
        state.being_collected = state.being_collected.saturating_sub(1);
        self.close(set, superblock);
        if is_stuck {
            self.stripes.stuck.insert(set);
        }
    }
}
