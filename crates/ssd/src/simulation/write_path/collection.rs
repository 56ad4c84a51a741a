//! Garbage collection, read reclaim and refresh, each of which moves valid data out of a superblock, the victim.
//!
//! A collection works on one superblock of a set at a time (without interleaving: on a block of a plane). It reads the valid codewords page
//! by page or group by group, through error correction. It programs them in the superblock that the set has open for collection,
//! interleaved where the set interleaves. It erases the victim when all are programmed and no read of the victim is under way. Its
//! operations wait in the same queues as the host's programs. Codewords that the host overwrites meanwhile are not moved. With copyback a
//! page whose codewords are all valid is copied within its plane instead.
//!
//! Read reclaim moves data in the same way, when no other collection is at work in a set and garbage collection is not wanted. It moves all
//! of a superblock, which is then erased, or one wordline. The move of a wordline gives up where it would take the last free superblock.
//! Refresh moves whole superblocks (see [`super::maintenance`]). Where dies or blocks have failed, the data of a superblock may not fit
//! another one, and refresh gives up, too.
//!
//! A collection cuts a unit, where units cross pages, if the end of the unit belongs to the next page. It programs that page, too, before
//! it erases the victim.

use std::ops::Range;

use softsense_config::ids::{Lcn, Set, Superblock};
use softsense_config::spec::CopybackEcc;
use softsense_ftl::{ANY_VICTIM, Group, Held, Reclaim, Writer};

use super::super::device::Device;
use super::super::kernel::Completion;
use super::super::owners::{Cause, ProgramOwner, ReadOwner};
use super::WritePath;
use super::pacing::Stage;
use super::throttle::Plan;

/// A collection at work on one superblock of a set.
#[derive(Debug)]
pub(super) struct Collection {
    /// The cause for which data is moved.
    cause: Cause,
    /// The superblock whose data is moved.
    pub(super) victim: Superblock,
    /// Whether all data of the victim is moved, after which the victim is erased; if not, the data of one wordline is moved.
    whole: bool,
    /// Pages of the victim that have not been looked at, by their index in the superblock, whose blocks take turns.
    pages: Range<u32>,
    /// Units that were last written in the first of these pages, each with its index in the group. They are looked up one read ahead, so
    /// that the CPU fetches their map entries meanwhile.
    ahead: Vec<(u32, Held)>,
    /// Groups that are being read, the oldest first, each with the units that were last written there.
    reading: Vec<(Group, Vec<Held>)>,
    /// Indices in their group of the units that are read next.
    units: Vec<u32>,
    /// An empty list, whose memory serves the next read.
    spare: Vec<Held>,
    /// Units that have been read and wait to be programmed.
    collected: Vec<Held>,
    /// Programs of moved data that have not ended.
    programs: u32,
    /// A page that is copied within its plane when all programs have ended.
    to_copy: Option<Group>,
    copying: Option<Copying>,
    /// Whether the unit that was programmed last is cut: its end belongs to a page that is yet to be programmed.
    cut: bool,
    /// Whether the collection leaves data that it has not moved where it is.
    gave_up: bool,
    /// Blocks of the victim that are being erased.
    erasing: u32,
    /// The limit for host writes to the set during the collection; none where they are not held back.
    pub(super) plan: Option<Plan>,
}

/// A page that is being copied within its plane. Its data is in the new page when that page has been programmed.
#[derive(Debug)]
struct Copying {
    from: Group,
    to: Group,
    held: Vec<Held>,
}

impl WritePath {
    /// Number of sets. The data of a set is moved by one collection at a time.
    pub(in super::super) fn sets(&self) -> usize {
        self.collections.len()
    }

    /// The cause and the superblock of the collection that is at work in a set; none where none is.
    pub(in super::super) fn moving(&self, set: Set) -> Option<(Cause, Superblock)> {
        let job = self.collections[set].as_ref()?;
        Some((job.cause, job.victim))
    }

    /// Begins to fold the SLC cache of a set in which no collection is at work, or to collect the set, if free superblocks are wanted and a
    /// victim gains room.
    ///
    /// # Arguments
    /// - `stage`: `Next` if a victim has just been erased, so that collection goes on up to the high watermark; otherwise `Start`.
    #[inline]
    pub(super) fn begin_if_wanted(&mut self, device: &mut Device, set: Set, stage: Stage) {
        let wants_room = device.ftl.wants_room(set, stage == Stage::Next);
        // Folding comes first, and pacing never holds it back.
        if wants_room && self.begin_folding(device, set) {
            return;
        }
        if let Some(pacing) = &mut self.pacing {
            if let Some(most_valid) = pacing.most_valid_of_victim(device, set, stage, None) {
                self.begin_collection(device, set, most_valid);
            }
        } else if wants_room && device.ftl.wants_gc(set, true) {
            self.begin_collection(device, set, ANY_VICTIM);
        }
    }

    /// Begins to collect a set, if a superblock with at most `most_valid` valid codewords gains anything.
    fn begin_collection(&mut self, device: &mut Device, set: Set, most_valid: u32) {
        let Some(victim) = device.ftl.take_victim_of(set, most_valid) else { return };
        if let Some(pacing) = &mut self.pacing {
            pacing.began(device, set, most_valid);
        }
        let (valid, room) = (device.ftl.valid(victim), device.ftl.room_of(victim));
        device.kernel.room_made.collects(valid, room);
        let statistics = &mut device.kernel.statistics;
        statistics.gc_victims += 1;
        statistics.gc_victims_to_level_wear += u64::from(device.ftl.has_levelled(set));
        statistics.gc_victim_valid += u64::from(valid);
        statistics.gc_victim_room += room;
        let cause = if device.ftl.has_levelled(set) { Cause::WearLevelling } else { Cause::Collection };
        if cause == Cause::Collection {
            statistics.gc_fullest_victim = statistics.gc_fullest_victim.max(valid);
        }
        self.move_data(device, set, cause, victim, None);
    }

    /// Begins to reclaim or to refresh data that is due in a set, if no collection is at work there. Garbage collection comes first, then
    /// data in blocks in which a program has failed. The scrub reads pages whose turn it is in any case.
    #[inline]
    pub(in super::super) fn maintain(&mut self, device: &mut Device, set: Set) {
        let mut wants = device.ftl.wants_reclaim(set) || device.ftl.has_condemned(set);
        if self.maintenance.is_some() {
            self.scrub(device, set);
            wants |= self.maintenance.as_ref().is_some_and(|maintenance| maintenance.wants_refresh(set));
        }
        if !wants || self.collections[set].is_some() {
            return;
        }
        self.begin_if_wanted(device, set, Stage::Start);
        if self.collections[set].is_some() {
            return;
        }
        self.begin_bad_block(device, set);
        if self.collections[set].is_some() {
            return;
        }
        // Moved data may be due again soon. Reclaim would then be at work without a pause, and writes that find no room would wait for
        // ever.
        let reclaim = if self.waits_for_room(device, set) { None } else { device.ftl.take_reclaim(set) };
        match reclaim {
            Some(Reclaim { superblock, wordline }) => {
                self.move_data(device, set, Cause::ReadReclaim, superblock, wordline);
            }
            None => self.begin_refresh(device, set),
        }
    }

    /// Begins to move the data of a superblock, which is then erased, or of one wordline of it.
    pub(super) fn move_data(
        &mut self,
        device: &mut Device,
        set: Set,
        cause: Cause,
        victim: Superblock,
        wordline: Option<u32>,
    ) {
        let pages = match wordline {
            None => 0..device.ftl.pages_of(victim),
            Some(wordline) => device.geometry.pages_of(wordline),
        };
        let mut collection = Collection {
            cause,
            victim,
            whole: wordline.is_none(),
            pages,
            ahead: Vec::new(),
            reading: Vec::new(),
            units: Vec::new(),
            spare: Vec::new(),
            collected: Vec::new(),
            programs: 0,
            to_copy: None,
            copying: None,
            cut: false,
            gave_up: false,
            erasing: 0,
            plan: self.plan(device, set, cause, victim),
        };
        collection.look_ahead(device, set);
        self.collections[set] = Some(Box::new(collection));
        *self.at_work(device, set, cause) += 1;
        self.continue_collection(device, set);
    }

    /// Number of collections at work in the SSD of a set: those that make room if `cause` does, otherwise those that make none.
    fn at_work(&mut self, device: &Device, set: Set, cause: Cause) -> &mut u32 {
        let room = &mut self.rooms[device.geometry.ssd_of_set(set)];
        if cause.makes_room() { &mut room.collecting } else { &mut room.reclaiming }
    }

    fn collection(&mut self, set: Set) -> &mut Collection {
        self.collections[set].as_mut().expect("collection is at work")
    }

    /// Continues the collection of a set as far as it can go now.
    pub(super) fn continue_collection(&mut self, device: &mut Device, set: Set) {
        let (is_paced, at_once) = (self.is_paced(), Self::pages_at_once(device));
        loop {
            let job = self.collection(set);
            if job.reading.len() == at_once || job.erasing > 0 || job.copying.is_some() {
                return;
            }
            if job.may_pause(is_paced) && !self.goes_on(device, set, Stage::Move) {
                return;
            }
            if let Some(group) = self.collection(set).next_page(device, set) {
                if let Some(pacing) = &mut self.pacing {
                    pacing.moves(set, 1);
                }
                if self.copies == Some(CopybackEcc::None) && self.can_copy(device, set, group) {
                    return self.copy_page(device, set, group);
                }
                let job = self.collection(set);
                device.read(ReadOwner::Move { set, cause: job.cause }, group, &job.units);
                continue;
            }
            let job = self.collection(set);
            if !job.reading.is_empty() {
                return;
            }
            if job.collected.is_empty() && !job.cut {
                break;
            }
            self.program_collected(device, set);
        }
        let job = self.collection(set);
        if job.programs > 0 {
            return;
        }
        if !job.whole {
            self.wordline_moved(device, set);
        } else if job.gave_up {
            self.abandon(device, set);
        } else if !device.ftl.is_being_read(job.victim) {
            if job.cause.is_collection() && !self.goes_on(device, set, Stage::Erase) {
                return;
            }
            let all_lost = !(0..device.geometry.blocks_per_superblock()).any(|member| device.ftl.works(set, member));
            if all_lost {
                return self.abandon(device, set);
            }
            let job = self.collection(set);
            let members = device.ftl.begin_erase(job.victim);
            job.erasing = members.len().max(1) as u32;
            if members.is_empty() {
                return device.kernel.report(Completion::NothingToErase { superblock: job.victim });
            }
            let slc = device.ftl.is_slc(job.victim);
            device.back_end.erase(&mut device.kernel, set, job.victim, slc, job.cause, &members);
        }
    }

    /// Number of pages of a victim that are read at once: one of each of its blocks, where these take turns.
    fn pages_at_once(device: &Device) -> usize {
        if device.geometry.has_parity() { device.geometry.blocks_per_superblock() as usize } else { 1 }
    }

    /// Whether the page that is moved next can be copied within its plane: all of its codewords are valid, and they have not been copied
    /// too often in a row. Refresh never copies: it is there to correct errors.
    fn can_copy(&mut self, device: &Device, set: Set, from: Group) -> bool {
        let Collection { reading, cause, .. } = self.collection(set);
        if matches!(*cause, Cause::Refresh | Cause::BadBlock) {
            return false;
        }
        let [(_, reading)] = &reading[..] else { return false };
        let is_whole = reading.len() == device.geometry.codewords_per_page() as usize;
        is_whole && reading.iter().all(|&held| device.ftl.is_current(held)) && device.ftl.may_copy(from)
    }

    /// Begins to copy a page of the victim within its plane. The copy waits for programs that it would overtake, as pages of a block are
    /// programmed in order.
    fn copy_page(&mut self, device: &mut Device, set: Set, from: Group) {
        let job = self.collection(set);
        if job.programs > 0 && device.back_end.copies_overtake(&device.kernel) {
            job.to_copy = Some(from);
            return;
        }
        let Some((_, held)) = job.reading.pop() else { return };
        let Some(to) = job.open(device, set, held[0].lcn) else { return self.continue_collection(device, set) };
        job.programs += 1;
        job.copying = Some(Copying { from, to, held });
        let owner = ProgramOwner::Move(job.cause);
        self.rooms[device.geometry.ssd_of_set(set)].programming += 1;
        device.copy(from, to, owner);
    }

    /// Ends the copy of a page, if the page that has been programmed is a copy: its data is there now, but for units overwritten meanwhile.
    pub(super) fn copied(&mut self, device: &mut Device, to: Group) {
        let job = self.collection(to.set);
        let Some(Copying { from, held, .. }) = job.copying.take_if(|copying| copying.to == to) else { return };
        device.ftl.read_ends(from, 1, false);
        for (slot, held) in (0..).zip(held) {
            if device.ftl.is_current(held) {
                device.ftl.place_moved(to, slot, held);
                device.entry_changed(held.lcn);
            }
        }
    }

    /// Takes a copy back if its program has failed: the data is still in the old page, which is to be copied once more. Returns whether the
    /// failed program is a copy.
    pub(super) fn copy_failed(&mut self, device: &mut Device, owner: ProgramOwner, to: Group) -> bool {
        if self.copies.is_none() || !owner.moves_data() {
            return false;
        }
        let job = self.collection(to.set);
        let Some(Copying { from, held, .. }) = job.copying.take_if(|copying| copying.to == to) else { return false };
        job.reading.push((from, held));
        job.programs -= 1;
        job.to_copy = Some(from);
        device.ftl.read_ends(from, 1, false);
        true
    }

    /// Copies a page whose copy has failed once more, when it is known that the block of the failed copy is not written any more.
    pub(super) fn copy_again(&mut self, device: &mut Device, set: Set) {
        let job = self.collection(set);
        if job.programs == 0
            && let Some(from) = job.to_copy.take()
        {
            self.copy_page(device, set, from);
        }
    }

    /// Opens the next pages for data that the collection of a set moves, beginning with the codeword `first`. Where there is no room, the
    /// collection gives up.
    pub(super) fn open_for_move(&mut self, device: &mut Device, set: Set, first: Lcn) -> Option<Group> {
        self.collections[set].as_mut().expect("collection is at work").open(device, set, first)
    }

    /// Takes over a page or group of the victim that has been read.
    ///
    /// # Arguments
    /// - `is_poor`: whether hard decisions were not enough at the first attempt.
    pub(in super::super) fn collected(&mut self, device: &mut Device, set: Set, group: Group, is_poor: bool) {
        if self.copies == Some(CopybackEcc::Check) && !is_poor && self.can_copy(device, set, group) {
            return self.copy_page(device, set, group);
        }
        let job = self.collection(set);
        // The map entries of the next page are asked for when this page has been programmed.
        job.ahead.iter().for_each(|(_, held)| device.ftl.prefetch(held.lcn));
        let Some(at) = job.reading.iter().position(|(of, _)| of.page == group.page) else {
            unreachable!("it is being read")
        };
        let (_, mut held) = job.reading.remove(at);
        job.collected.append(&mut held);
        job.spare = held;
        if job.gave_up {
            job.collected.clear();
        }
        // Number of codewords that are programmed at once.
        let geometry = &device.geometry;
        let interleaves = device.ftl.interleaves(set);
        let together = if interleaves {
            geometry.codewords_per_group()
        } else {
            geometry.codewords_per_page() * geometry.pages_per_program()
        } as usize;
        while self.collection(set).collected.len() >= together {
            self.program_collected(device, set);
        }
        self.continue_collection(device, set);
        self.go_on_with_writes(device, set);
    }

    /// Programs one page or group of collected codewords, if any of them is still valid.
    fn program_collected(&mut self, device: &mut Device, set: Set) {
        let job = self.collection(set);
        job.collected.retain(|&held| device.ftl.is_current(held));
        if job.collected.is_empty() && !job.cut {
            return;
        }
        // If only the end of a cut unit is left, codeword 0 stands for it: both are user data, and go to the same superblock.
        let first = job.collected.first().map_or(Lcn(0), |held| held.lcn);
        let Some(group) = job.open(device, set, first) else { return };
        let (owner, ftl) = (ProgramOwner::Move(job.cause), &mut device.ftl);
        job.programs += 1;
        let count = job.collected.len().min(ftl.room(group) as usize);
        job.cut = count as u32 == ftl.room(group) && ftl.last_crosses(group);
        for (slot, &held) in job.collected[..count].iter().enumerate() {
            ftl.place_moved(group, slot as u32, held);
        }
        let moved: Vec<Held> = match device.translation {
            Some(_) => job.collected.drain(..count).collect(),
            None => {
                job.collected.drain(..count);
                Vec::new()
            }
        };
        self.program(device, group, count as u32, owner);
        moved.into_iter().for_each(|held| device.entry_changed(held.lcn));
    }

    /// Goes on after a page or group of collected codewords has been programmed.
    pub(super) fn collected_programmed(&mut self, device: &mut Device, set: Set) {
        let job = self.collection(set);
        job.programs -= 1;
        if job.programs == 0
            && let Some(from) = job.to_copy.take()
        {
            return self.copy_page(device, set, from);
        }
        self.continue_collection(device, set);
        self.go_on_with_writes(device, set);
    }

    /// Goes on after a read of a superblock has ended: the erase of a victim may have waited for it, or maintenance may be due now.
    #[inline]
    pub(in super::super) fn read_ended(&mut self, device: &mut Device, owner: ReadOwner, group: Group) {
        if self.collections[group.set].as_ref().is_some_and(|job| job.victim == group.superblock) {
            self.continue_collection(device, group.set);
        }
        self.maintain(device, group.set);
        if self.is_paced() && owner.is_of_host() {
            self.paced_by_end(device, group.set);
        }
    }

    /// Notes that a block of a superblock has been erased, and goes on when all of them have been.
    pub(in super::super) fn erased(&mut self, device: &mut Device, superblock: Superblock) {
        let set = device.geometry.set_of_superblock(superblock);
        let job = self.collection(set);
        job.erasing -= 1;
        if job.erasing > 0 {
            return;
        }
        device.erased(superblock);
        if let Some(maintenance) = &mut self.maintenance {
            maintenance.erased(superblock);
        }
        let cause = self.task_ended(device, set);
        device.kernel.statistics.reclaimed_blocks += u64::from(cause == Cause::ReadReclaim);
        if cause == Cause::Refresh {
            self.refresh_ended(device, set, true);
        }
        device.kernel.statistics.moved_from_bad_blocks += u64::from(cause == Cause::BadBlock);
        let stage = if cause.is_collection() { Stage::Next } else { Stage::Start };
        self.begin_if_wanted(device, set, stage);
        if cause == Cause::Folding && self.collections[set].is_none() {
            self.begin_folding(device, set);
        }
        self.resume_stalled_writes(device, device.geometry.ssd_of_set(set));
        self.maintain(device, set);
    }

    /// Ends the move of a wordline, whose valid data has been moved as far as there was room.
    fn wordline_moved(&mut self, device: &mut Device, set: Set) {
        device.kernel.statistics.reclaimed_wordlines += u64::from(!self.collection(set).gave_up);
        self.task_ended(device, set);
        self.make_room_again(device, device.geometry.ssd_of_set(set));
        // A collection that was wanted meanwhile did not begin, as the set was at work.
        if self.collections[set].is_none() {
            self.begin_if_wanted(device, set, Stage::Start);
        }
        self.maintain(device, set);
    }

    /// Gives up the move of a superblock for whose data there is no room: the data stays where it is. Room is missing where dies have
    /// failed since the move began, or blocks before it began. It is also missing for data of the SLC cache, as the last free superblock is
    /// left to collection.
    fn abandon(&mut self, device: &mut Device, set: Set) {
        let victim = self.collection(set).victim;
        let cause = self.task_ended(device, set);
        device.ftl.put_back(victim, !cause.leaves_last());
        device.ftl.found_no_room(victim);
        if cause == Cause::Refresh {
            self.refresh_ended(device, set, false);
        }
        // Writes that had counted on the block that would have been freed learn that there is none.
        self.resume_stalled_writes(device, device.geometry.ssd_of_set(set));
    }

    /// Ends the collection of a set, and the limit for host writes with it. Returns the cause of the collection.
    fn task_ended(&mut self, device: &mut Device, set: Set) -> Cause {
        let cause = self.collections[set].take().expect("collection was at work").cause;
        *self.at_work(device, set, cause) -= 1;
        if let Some(pacing) = &mut self.pacing {
            pacing.ended(set);
        }
        device.ftl.hold_back(set, false);
        cause
    }
}

impl Collection {
    /// Whether the collection has to ask its pacing rule before it moves the next page: garbage collection has to, where it may pause.
    #[inline]
    fn may_pause(&self, is_paced: bool) -> bool {
        is_paced && self.cause.is_collection() && !self.pages.is_empty()
    }

    /// Valid codewords of the victim, if this is garbage collection.
    pub(super) fn valid(&self, device: &Device) -> Option<u32> {
        self.cause.is_collection().then(|| device.ftl.valid(self.victim))
    }

    /// Opens the next pages for data that it moves, beginning with the codeword `first`. Where there is no room, it gives up.
    fn open(&mut self, device: &mut Device, set: Set, first: Lcn) -> Option<Group> {
        // A victim holds translation pages or user data, never both, so its first codeword tells the writer. The SLC cache holds user data.
        let writer = if self.cause == Cause::Folding { Writer::Fold } else { device.ftl.collector_of(first) };
        // Some moves leave the last free superblock to garbage collection. Among them is data that leaves the cache without folding: the
        // set gets no superblock back for the one that it takes, as the cache may keep the old one.
        let leaves_cache = self.cause != Cause::Folding && device.ftl.is_slc(self.victim);
        let makes_way = !self.whole || leaves_cache || (self.cause.leaves_last() && device.ftl.has_lost_room());
        let has_room = !makes_way || device.ftl.has_room_beside_last(set, writer);
        let group = if has_room { device.ftl.open(set, writer) } else { None };
        if group.is_none() {
            assert!(!has_room || device.ftl.has_lost_room(), "the host leaves a block to collection");
            self.gives_up();
        }
        group
    }

    /// Leaves all data that has not been moved where it is.
    fn gives_up(&mut self) {
        self.gave_up = true;
        self.pages = 0..0;
        self.collected.clear();
        self.cut = false;
    }

    /// Takes the next page, or pages, of the victim that hold valid codewords and are to be read; none when all have been looked at.
    fn next_page(&mut self, device: &mut Device, set: Set) -> Option<Group> {
        while !self.pages.is_empty() {
            let group = device.ftl.group_at(set, self.victim, self.pages.start);
            self.pages.start += group.pages() * self.together(device);
            self.units.clear();
            let mut reading = std::mem::take(&mut self.spare);
            for (unit, held) in self.ahead.drain(..) {
                if device.ftl.is_current(held) {
                    device.ftl.note_current(held);
                    reading.push(held);
                    self.units.push(unit);
                }
            }
            self.look_ahead(device, set);
            if self.units.is_empty() {
                self.spare = reading;
            } else {
                self.reading.push((group, reading));
                return Some(group);
            }
        }
        None
    }

    /// Number of pages of a block that are read at once: units that share pages are read together.
    fn together(&self, device: &Device) -> u32 {
        let crosses_pages = device.ftl.crosses_pages() && device.ftl.layout(self.victim).crosses_pages();
        let together = if crosses_pages { device.geometry.pages_per_run() } else { 1 };
        together.min(self.pages.end - self.pages.start)
    }

    /// Looks up the units that were last written in the first of the pages that have not been looked at.
    fn look_ahead(&mut self, device: &Device, set: Set) {
        let ftl = &device.ftl;
        if self.pages.is_empty() {
            return;
        }
        let (group, together) = (ftl.group_at(set, self.victim, self.pages.start), self.together(device));
        ftl.each_last_in(group, together, |unit, held| {
            ftl.prefetch(held.lcn);
            self.ahead.push((unit, held));
        });
        let next = self.pages.start + group.pages() * together;
        if next < self.pages.end {
            ftl.prefetch_written(self.victim, next);
        }
    }
}
