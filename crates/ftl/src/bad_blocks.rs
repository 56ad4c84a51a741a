//! Bad blocks: which erases and programs fail, spares that replace blocks, and superblocks that are no longer written.
//!
//! The map knows blocks by numbers. When a spare replaces a block that has failed, the number stands for another block of the chip.
//! Nothing else changes then, as the failed block has just been emptied. Where a plane has no spare left, the superblock is retired: it
//! is erased and holds no data, but it is not free. Its blocks that work become spares of their planes.
//!
//! A superblock in which a program has failed is condemned: no more of its pages are given out. It is closed like a full one once its
//! programs have ended and the data of failed programs has been written elsewhere. Then its data is moved.

use std::collections::BTreeMap;

use softsense_base::{Purpose, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::{Plane, Set, Superblock, TiVec};
use softsense_config::spec::{EraseFailureSpec, ProgramFailureSpec};

use super::{Group, Held, PageMap, State, Writer, ones};

/// The state of bad blocks in a map.
#[derive(Debug)]
pub(super) struct BadBlocks {
    erase_failure: Option<EraseFailureSpec>,
    program_failure: Option<ProgramFailureSpec>,
    /// Random draws that decide which erases fail, by block and its number of erases.
    erases: Stream,
    /// Random draws that decide which programs fail, by block, its number of erases and the page.
    programs: Stream,
    /// Superblocks that are being erased, with a bit for each member whose erase will fail.
    being_erased: BTreeMap<Superblock, u32>,
    /// Superblocks in which a program has failed, until they are erased.
    condemned: BTreeMap<Superblock, Condemned>,
    /// The condemned superblocks of each set, in ascending order: those to which programs are under way, or whose failed data is not
    /// elsewhere yet; and those that are closed, whose data can be moved.
    unsettled: TiVec<Set, Vec<Superblock>>,
    settled: TiVec<Set, Vec<Superblock>>,
    failed_programs: u64,
    grown_by_programs: u64,
    /// Spares that each plane has left.
    spares: TiVec<Plane, u32>,
    factory: u64,
    grown: u64,
    retired: u64,
}

/// A superblock in which a program has failed.
#[derive(Debug, Default)]
struct Condemned {
    /// A bit for each member in which a program has failed.
    members: u32,
    /// Groups whose program has failed. Their data cannot be read.
    failed: Vec<Group>,
    /// For each member, the pages that were given out.
    given: Vec<u32>,
    /// Whether its data was to be moved and found no room, and no superblock of the set has been erased since.
    found_no_room: bool,
}

/// Counts of bad blocks and of spares that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadBlockCounts {
    /// Bad blocks from the factory, spares among them.
    pub factory: u64,
    /// Blocks in which an erase or a program has failed in the run. Spares have replaced them, or their superblock is retired.
    pub grown: u64,
    /// Blocks among `grown` in which a program has failed.
    pub grown_by_programs: u64,
    /// Blocks in which a program has failed, and which still hold data.
    pub to_be_replaced: u64,
    /// Programs of pages that have failed.
    pub failed_programs: u64,
    /// Spares that are left in all planes.
    pub spares_left: u64,
    /// Spares that are left in the plane that has the fewest.
    pub fewest_spares_of_plane: u32,
    /// Superblocks that are no longer written.
    pub retired: u64,
}

impl BadBlocks {
    pub(super) fn new(config: &CheckedConfig) -> Option<Self> {
        let (spec, geometry, seed) =
            (config.config().flash.bad_blocks.as_ref()?, config.geometry(), config.config().seed);
        let factory = |plane| spec.of_factory(seed, plane, geometry.blocks_per_plane());
        let factory: Vec<u32> = (0..geometry.planes()).map(factory).collect();
        Some(Self {
            erase_failure: spec.erase_failure,
            program_failure: spec.program_failure.filter(|failure| failure.share > 0.0),
            erases: Stream::new(seed, Purpose::EraseFailures),
            programs: Stream::new(seed, Purpose::ProgramFailures),
            being_erased: BTreeMap::new(),
            condemned: BTreeMap::new(),
            unsettled: vec![Vec::new(); geometry.sets() as usize].into(),
            settled: vec![Vec::new(); geometry.sets() as usize].into(),
            failed_programs: 0,
            grown_by_programs: 0,
            spares: factory.iter().map(|bad| spec.spare_blocks_per_plane - bad).collect(),
            factory: factory.iter().map(|&bad| u64::from(bad)).sum(),
            grown: 0,
            retired: 0,
        })
    }
}

/// Adds a superblock to others that are in ascending order.
fn add(to: &mut Vec<Superblock>, superblock: Superblock) {
    to.insert(to.partition_point(|&of| of < superblock), superblock);
}

impl PageMap {
    /// Counts of bad blocks; `None` where the config has none.
    pub fn bad_block_counts(&self) -> Option<BadBlockCounts> {
        let bad = self.bad_blocks.as_ref()?;
        Some(BadBlockCounts {
            factory: bad.factory,
            grown: bad.grown,
            grown_by_programs: bad.grown_by_programs,
            to_be_replaced: bad.condemned.values().map(|condemned| u64::from(condemned.members.count_ones())).sum(),
            failed_programs: bad.failed_programs,
            spares_left: bad.spares.iter().map(|&left| u64::from(left)).sum(),
            fewest_spares_of_plane: bad.spares.iter().copied().min().unwrap_or(0),
            retired: bad.retired,
        })
    }

    /// Whether a superblock is retired: it is no longer written.
    pub(super) fn is_retired(&self, superblock: Superblock) -> bool {
        self.blocks[superblock].state() == State::Retired
    }

    /// Whether a set may have less room than at the start: dies or programs have failed, or superblocks are retired.
    #[inline]
    pub fn has_lost_room(&self) -> bool {
        self.has_failed() || self.bad_blocks.as_ref().is_some_and(|bad| bad.retired > 0 || bad.failed_programs > 0)
    }

    // ---- Erases that fail ----

    /// Begins to erase the blocks of a superblock.
    ///
    /// # Returns
    /// The members to erase, each with whether its erase fails. Members on failed dies, or in which a program has failed, are left out.
    pub fn begin_erase(&mut self, superblock: Superblock) -> Vec<(u32, bool)> {
        let (set, condemned) = (self.geometry.set_of_superblock(superblock), self.condemned_members(superblock));
        let members = (0..self.geometry.blocks_per_superblock())
            .filter(|&member| self.works(set, member) && condemned >> member & 1 == 0);
        let erases: Vec<(u32, bool)> = members.map(|member| (member, self.erase_fails(superblock, member))).collect();
        let failing = erases.iter().filter(|&&(_, fails)| fails).fold(0, |mask, &(member, _)| mask | 1 << member);
        if failing != 0
            && let Some(bad) = &mut self.bad_blocks
        {
            bad.being_erased.insert(superblock, failing);
        }
        erases
    }

    /// Whether the next erase of a block of a superblock fails.
    fn erase_fails(&self, superblock: Superblock, member: u32) -> bool {
        let Some((bad, failure)) = self.bad_blocks.as_ref().and_then(|bad| Some((bad, bad.erase_failure?))) else {
            return false;
        };
        let from = f64::from(self.pe_cycles(superblock));
        let probability = failure.probability(from, from + self.pe_cycles_of_erase(superblock));
        let block = self.geometry.block_in(superblock, member);
        bad.erases.uniform(block.into(), self.erases(superblock).into()) < probability
    }

    /// Replaces the failed blocks of a superblock by spares, once its erases have ended, whether they failed or not. Blocks in which a
    /// program has failed are not erased. Returns whether spares are missing: then the superblock is retired.
    pub(super) fn replace_failed(&mut self, superblock: Superblock) -> bool {
        let set = self.geometry.set_of_superblock(superblock);
        let Some(bad) = &mut self.bad_blocks else { return false };
        let by_program = bad.condemned.remove(&superblock).map_or(0, |condemned| condemned.members);
        if by_program != 0 {
            for of_set in [&mut bad.unsettled, &mut bad.settled] {
                of_set[set].retain(|&of| of != superblock);
            }
        }
        let by_erase = bad.being_erased.remove(&superblock).unwrap_or(0);
        let end = self.geometry.superblock_in(set, self.geometry.blocks_per_plane());
        let of_set = self.geometry.superblock_in(set, 0)..end;
        bad.condemned.range_mut(of_set).for_each(|(_, condemned)| condemned.found_no_room = false);
        let members = (0..self.geometry.blocks_per_superblock()).filter(|&member| self.works(set, member));
        // Each member is in a plane of its own.
        let (failed, good): (Vec<u32>, Vec<u32>) =
            members.partition(|&member| (by_program | by_erase) >> member & 1 == 1);
        let Self { bad_blocks: Some(bad), geometry, .. } = self else { unreachable!("there are bad blocks") };
        bad.grown += failed.len() as u64;
        bad.grown_by_programs += failed.iter().filter(|&&member| by_program >> member & 1 == 1).count() as u64;
        let plane = |&member: &u32| geometry.plane_of(set, member);
        if failed.iter().map(plane).all(|plane| bad.spares[plane] > 0) {
            failed.iter().map(plane).for_each(|plane| bad.spares[plane] -= 1);
            return false;
        }
        good.iter().map(plane).for_each(|plane| bad.spares[plane] += 1);
        bad.retired += 1;
        true
    }

    // ---- Programs that fail ----

    /// A bit for each member of a group whose page fails when it is programmed now.
    #[inline]
    pub fn failing_programs(&self, group: Group) -> u32 {
        match self.bad_blocks.as_ref().and_then(|bad| Some((bad, bad.program_failure.as_ref()?))) {
            None => 0,
            Some((bad, failure)) => self.drawn_failures(&bad.programs, failure, group),
        }
    }

    fn drawn_failures(&self, draws: &Stream, failure: &ProgramFailureSpec, group: Group) -> u32 {
        let of_block = if group.slc { self.geometry.pages_per_slc_block() } else { self.geometry.pages_per_block() };
        let from = f64::from(self.pe_cycles(group.superblock));
        let to = from + self.pe_cycles_of_erase(group.superblock);
        // The pages of a wordline that are programmed at once fail at once, when the last of them has been loaded.
        let at_once = if self.is_one_shot(group) { group.pages() } else { 1 };
        let probability = failure.probability(from, to, of_block / at_once);
        let (_, page) = self.geometry.turn(group.page, 0);
        let fails = |&at: &u32| {
            let (member, _) = self.geometry.turn(group.page, at);
            let block = self.geometry.block_in(group.superblock, member);
            let number = u64::from(self.erases(group.superblock)) * u64::from(self.geometry.pages_per_block());
            draws.uniform(block.into(), number + u64::from(page)) < probability
        };
        group.members().skip(at_once as usize - 1).filter(fails).fold(0, |mask, at| mask | 1 << at)
    }

    /// Members of a superblock in which a program has failed.
    fn condemned_members(&self, superblock: Superblock) -> u32 {
        let condemned = self.bad_blocks.as_ref().and_then(|bad| bad.condemned.get(&superblock));
        condemned.map_or(0, |condemned| condemned.members)
    }

    /// Whether a program has failed in a superblock.
    #[inline]
    pub(super) fn is_condemned(&self, superblock: Superblock) -> bool {
        self.bad_blocks.as_ref().is_some_and(|bad| bad.condemned.contains_key(&superblock))
    }

    /// Whether programs have failed in any superblock.
    #[inline]
    pub(super) fn has_failed_programs(&self) -> bool {
        self.bad_blocks.as_ref().is_some_and(|bad| !bad.condemned.is_empty())
    }

    /// Whether a program of a group has failed, so that the codewords of its pages cannot be read.
    #[inline]
    pub(super) fn is_failed(&self, group: Group) -> bool {
        let condemned = self.bad_blocks.as_ref().and_then(|bad| bad.condemned.get(&group.superblock));
        condemned.is_some_and(|condemned| condemned.failed.iter().any(|&failed| self.includes(failed, group)))
    }

    /// Notes that the programs of all pages of a group have ended, and that some of them have failed. The superblock is condemned by
    /// that. The data of the group stays in the controller's memory until it is [placed](Self::place) elsewhere.
    ///
    /// # Arguments
    /// - `failed`: a bit for each member whose page has failed.
    pub fn program_failed(&mut self, group: Group, failed: u32, now_s: u64) {
        let given = (!self.is_condemned(group.superblock)).then(|| self.withdraw_open(group.set, group.superblock));
        let members = ones(failed).fold(0, |mask, at| mask | 1 << self.geometry.turn(group.page, at).0);
        let bad = self.bad_blocks.as_mut().expect("programs fail");
        bad.failed_programs += u64::from(failed.count_ones());
        let condemned = bad.condemned.entry(group.superblock).or_default();
        condemned.members |= members;
        condemned.failed.push(group);
        if let Some(given) = given {
            condemned.given = given;
            add(&mut bad.unsettled[group.set], group.superblock);
            self.blocks[group.superblock].becomes(State::Condemned);
        }
        self.programmed(group, now_s);
    }

    /// Stops giving out pages of a superblock. Returns for each member how many pages have been given out.
    fn withdraw_open(&mut self, set: Set, superblock: Superblock) -> Vec<u32> {
        let pages = self.pages_of(superblock);
        let state = &mut self.sets[set];
        let all = state.open.iter_mut().chain(&mut state.open_for_handles);
        let open = all.filter_map(|open| open.take_if(|&mut (of, _)| of == superblock)).next();
        let (mut given, mut index) = (vec![0; self.geometry.blocks_per_superblock() as usize], 0);
        while index < open.map_or(pages, |(_, given)| given) {
            let group = self.group_at(set, superblock, index);
            for at in group.members() {
                given[self.geometry.turn(group.page, at).0 as usize] += 1;
            }
            index += group.pages();
        }
        given
    }

    /// Whether programs have failed in a superblock of a set.
    #[inline]
    pub fn has_condemned(&self, set: Set) -> bool {
        let has = |of: &TiVec<Set, Vec<Superblock>>| !of[set].is_empty();
        self.bad_blocks.as_ref().is_some_and(|bad| has(&bad.unsettled) || has(&bad.settled))
    }

    /// Takes a condemned superblock of a set whose data is to be moved, if its data fits other superblocks. The superblock is no
    /// candidate for garbage collection from then on.
    pub fn take_condemned(&mut self, set: Set) -> Option<Superblock> {
        let unsettled: Vec<Superblock> = self.unsettled(set).collect();
        unsettled.into_iter().for_each(|superblock| self.settle(set, superblock));
        if !self.takes_data(set) {
            return None;
        }
        // Near the end of life a set has dozens of superblocks that wait for room, and is asked at each end of an operation.
        let room = self.room_of_others(set);
        let bad = self.bad_blocks.as_ref()?;
        let is_due = |superblock: Superblock| {
            let entry = &self.blocks[superblock];
            entry.is_closed() && entry.valid <= room && !bad.condemned[&superblock].found_no_room
        };
        let superblock = bad.settled[set].iter().copied().find(|&superblock| is_due(superblock))?;
        self.withdraw(set, superblock);
        Some(superblock)
    }

    /// Closes a condemned superblock if no program is under way to it any more and all data of failed programs is elsewhere.
    fn settle(&mut self, set: Set, superblock: Superblock) {
        let condemned = &self.bad_blocks.as_ref().expect("it is condemned").condemned[&superblock];
        let has_ended = |(member, &given): (u32, &u32)| {
            let block = self.geometry.block_in(superblock, member);
            let given = given.min(self.gets(set, member, block, given));
            u32::from(self.programmed[block]) >= given
        };
        let written_elsewhere = |&group: &Group| self.current_in(group).is_empty();
        if (0..).zip(&condemned.given).all(has_ended) && condemned.failed.iter().all(written_elsewhere) {
            let bad = self.bad_blocks.as_mut().expect("it is condemned");
            bad.unsettled[set].retain(|&of| of != superblock);
            add(&mut bad.settled[set], superblock);
            self.close(set, superblock);
        }
    }

    /// Current data of a group.
    pub fn current_in(&self, group: Group) -> Vec<Held> {
        let mut held = Vec::new();
        self.each_last_in(group, 1, |_, last| held.push(last));
        held.retain(|&last| self.is_current(last));
        held
    }

    /// Notes that the data of a condemned superblock found no room. The move is not tried again before a superblock of the set is
    /// erased.
    pub fn found_no_room(&mut self, superblock: Superblock) {
        if let Some(condemned) = self.bad_blocks.as_mut().and_then(|bad| bad.condemned.get_mut(&superblock)) {
            condemned.found_no_room = true;
        }
    }

    /// Condemned superblocks of a set that are not closed yet.
    pub(super) fn unsettled(&self, set: Set) -> impl Iterator<Item = Superblock> {
        self.bad_blocks.iter().flat_map(move |bad| bad.unsettled[set].iter().copied())
    }

    /// Retires a superblock that has been erased: it does not become free.
    pub(super) fn retire(&mut self, set: Set, superblock: Superblock) {
        if self.is_slc(superblock) {
            return self.retire_slc(set, superblock);
        }
        let state = &mut self.sets[set];
        state.being_collected = state.being_collected.saturating_sub(1);
        self.collector.gain.erased(0);
    }

    /// Codewords that collection of a set can move into open superblocks, where none is free; otherwise no bound. Only sets that have
    /// lost room may get there.
    pub(super) fn left_to_collect_to(&self, set: Set) -> u32 {
        if !self.has_lost_room() || !self.sets[set].free.is_empty() {
            return u32::MAX;
        }
        let data = self.left_in_open(set, Writer::Gc);
        if self.map.codewords > self.user_codewords() {
            data.min(self.left_in_open(set, Writer::GcTranslation))
        } else {
            data
        }
    }

    /// Codewords that still fit the open superblock of a writer: a lower bound.
    fn left_in_open(&self, set: Set, writer: Writer) -> u32 {
        let Some((superblock, given)) = self.sets[set].open[writer as usize] else { return 0 };
        let pages = u64::from(self.pages_of(superblock));
        let left = self.room_of(superblock) * (pages - u64::from(given)) / pages;
        // With parity, or where units cross pages, pages differ in room.
        let unlike = self.formats.crosses_pages || self.geometry.has_parity();
        (left as u32).saturating_sub(if unlike { self.geometry.codewords_per_page() } else { 0 })
    }
}
