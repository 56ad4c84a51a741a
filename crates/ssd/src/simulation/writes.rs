//! Writes: read-modify-write of partly covered codewords, the write buffer, page programs, and garbage
//! collection.
//!
//! Garbage collection works on one superblock of a set at a time (without interleaving: on a block of a plane). It reads the
//! valid codewords page by page or group by group, through error correction, programs them in its own open superblock,
//! interleaved where the set interleaves, and erases the victim when all are programmed and nobody reads the victim any
//! more. Its operations wait in the same queues as the host's programs. Data written by the host in between is not moved.
//!
//! With interleaving, codewords of a request that fill a group are programmed to all its chips at once, and done together.
//! What does not fill one is written plain or padded, as the config says. A group is never changed: an update of part of
//! it goes elsewhere, and what it replaces is stale.
//!
//! A unit that the end of a page cuts stays in the write buffer until the next page of its block is programmed. What a
//! collection has cut is ended by one more page before its victim is erased.

use std::collections::VecDeque;
use std::ops::Range;

use super::Simulation;
use super::back_end::{Owner, Program, ProgramOwner, Work};
use crate::config::PartialWrite;
use crate::ftl::{Group, Held, Lcn, Location, Place, Writer};
use crate::geometry::MOST_IN_GROUP;
use crate::slab::Slab;

/// The SSD that has the write buffer and the translation pages: there is one where there are any of them.
pub(super) const BUFFERED_SSD: u32 = 0;

/// The controller's write buffer: slots of one codeword each.
#[derive(Debug)]
pub(super) struct WriteBuffer {
    /// The logical codeword in each slot.
    held: Vec<Lcn>,
    free: Vec<u32>,
    /// Slots that wait to be programmed, oldest first.
    pending: VecDeque<u32>,
    /// The slots of each page that is being programmed.
    flights: Slab<Vec<u32>>,
    /// Codewords that wait for a slot, with their requests.
    waiting: VecDeque<(u32, Lcn)>,
    /// Of each set, the slot of the unit that ends in the next page of the host's open block.
    cut: Vec<Option<u32>>,
}

impl WriteBuffer {
    pub(super) fn new(codewords: u32, sets: u32) -> Self {
        Self {
            held: vec![0; codewords as usize],
            free: (0..codewords).rev().collect(),
            pending: VecDeque::new(),
            flights: Slab::default(),
            waiting: VecDeque::new(),
            cut: vec![None; sets as usize],
        }
    }

    /// Codewords that it holds.
    pub(super) fn held(&self) -> u64 {
        (self.held.len() - self.free.len()) as u64
    }
}

/// Whether an SSD has room to write to, and what waits for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Room {
    /// Codewords whose write waits for garbage collection to free a block, with their requests.
    pub(super) stalled: VecDeque<(u32, Lcn)>,
    /// Whether a write, or the write buffer, found no room since a block was last erased.
    blocked: bool,
    /// Sets that are being collected.
    pub(super) collecting: u32,
    /// Programs under way.
    pub(super) programming: u32,
}

/// Garbage collection of a set, at work on one superblock.
#[derive(Debug)]
pub(super) struct GcJob {
    victim: u32,
    /// The next page of the victim to look at, its blocks taking turns.
    next_page: u32,
    /// What is being read.
    reading: Vec<Held>,
    /// What has been read and waits to be programmed.
    collected: Vec<Held>,
    programs: u32,
    /// Whether a unit that was programmed ends in the next page.
    cut: bool,
    /// Blocks of the victim that are being erased.
    erasing: u32,
}

impl Simulation {
    /// Writes codewords for a request, of which the first and the last may be covered in part.
    pub(super) fn write_codewords(&mut self, request: u32, codewords: Range<Lcn>) {
        let size = self.codeword_bytes;
        let asked = self.requests[request].request;
        let end = asked.offset_bytes + asked.bytes;
        let covered = |lcn: Lcn| lcn * size >= asked.offset_bytes && (lcn + 1) * size <= end;
        let must_read = |simulation: &Self, lcn: Lcn| {
            if covered(lcn) || simulation.partial_write == PartialWrite::Pad {
                return None;
            }
            match simulation.ftl.locate(lcn) {
                Location::Flash(place) => Some(place),
                // The rest of the codeword is at hand, or there is none.
                Location::Memory(_) | Location::InFlight | Location::Unmapped => None,
            }
        };
        let Range { mut start, mut end } = codewords;
        let last = end - 1;
        let modify = |simulation: &mut Self, lcn: Lcn, place: Place| {
            simulation.statistics.read_modify_writes += 1;
            let (group, bit) = simulation.ftl.group_of(place);
            simulation.start_read(Owner::Modify { request, lcn }, group, 1 << bit);
        };
        if let Some(place) = must_read(self, start) {
            modify(self, start, place);
            start += 1;
        }
        if last >= start
            && let Some(place) = must_read(self, last)
        {
            modify(self, last, place);
            end -= 1;
        }
        if start < end {
            self.write_codewords_whole(request, start..end);
        }
    }

    /// Writes codewords for a request, whose data is all at hand.
    pub(super) fn write_codewords_whole(&mut self, request: u32, codewords: Range<Lcn>) {
        self.statistics.host_codewords_written += codewords.end - codewords.start;
        if self.translation.is_some() {
            codewords.clone().for_each(|lcn| self.entry_changed(lcn));
        }
        if self.write_buffer.is_some() {
            self.buffer_codewords(request, codewords);
            return;
        }
        for (ssd, first, step, count) in self.ftl.by_ssd(codewords) {
            let mut written = 0;
            while written < count {
                let left = count - written;
                let stalled = &mut self.room[ssd as usize].stalled;
                let group = if stalled.is_empty() { self.ftl.open_for_host(ssd, left) } else { None };
                let Some(group) = group else {
                    stalled.extend((written..count).map(|index| (request, first + u64::from(index) * step)));
                    self.make_room(ssd);
                    break;
                };
                let together = self.ftl.room(group).min(left);
                self.program_for_request(
                    group,
                    request,
                    (0..together).map(|index| first + u64::from(written + index) * step),
                );
                written += together;
            }
        }
    }

    fn program_for_request(&mut self, group: Group, request: u32, codewords: impl ExactSizeIterator<Item = Lcn>) {
        let count = codewords.len() as u32;
        for (slot, lcn) in codewords.enumerate() {
            self.ftl.place(group, slot as u32, lcn);
        }
        self.start_program(group, count, ProgramOwner::Request { request, codewords: count });
    }

    #[inline(always)]
    pub(super) fn start_program(&mut self, group: Group, codewords: u32, writer: ProgramOwner) {
        self.statistics.padding_codewords += u64::from(self.ftl.room(group) - codewords);
        let by_host = !matches!(writer, ProgramOwner::Gc);
        match writer {
            ProgramOwner::Request { .. } | ProgramOwner::Buffer { .. } => {
                self.statistics.host_codewords_programmed += u64::from(codewords);
            }
            ProgramOwner::Gc => self.statistics.gc_codewords_programmed += u64::from(codewords),
            ProgramOwner::Translation { .. } => {
                self.statistics.translation_codewords_programmed += u64::from(codewords);
            }
        }
        let program = self.programs.insert(Program { group, writer, remaining: group.pages() as u8 });
        for member in group.members() {
            self.submit(self.unit_of(group, member), Work::Program(program * self.parts_per_read + member), false);
        }
        let set = group.set;
        self.room[self.geometry.ssd_of_set(set) as usize].programming += 1;
        if by_host && self.gc[set as usize].is_none() && self.ftl.wants_gc(set, false) {
            self.gc_begin(set);
        }
    }

    /// A page of a program has ended.
    pub(super) fn program_done(&mut self, program: u32) {
        self.programs[program].remaining -= 1;
        let Program { group, writer, remaining } = self.programs[program];
        if remaining > 0 {
            return;
        }
        self.programs.remove(program);
        let ssd = self.geometry.ssd_of_set(group.set);
        self.room[ssd as usize].programming -= 1;
        self.ftl.programmed(group, self.now.0 / 1_000_000_000);
        match writer {
            ProgramOwner::Request { request, codewords } => self.codewords_done(request, codewords),
            ProgramOwner::Buffer { flight } => {
                let buffer = self.write_buffer.as_mut().expect("it has programmed");
                buffer.free.append(&mut buffer.flights[flight]);
                buffer.flights.remove(flight);
                self.admit_to_buffer();
            }
            ProgramOwner::Translation { page } => self.translation_programmed(page),
            ProgramOwner::Gc => {
                let set = group.set;
                self.gc[set as usize].as_mut().expect("collection is at work").programs -= 1;
                self.gc_continue(set);
            }
        }
        let room = &self.room[ssd as usize];
        if room.blocked && room.collecting == 0 {
            self.make_room(ssd);
        }
    }

    /// A block of an SSD is free again: writes that waited for one go on.
    fn resume_stalled_writes(&mut self, ssd: u32) {
        self.room[ssd as usize].blocked = false;
        self.resume_stalled_translations();
        let (most, step) = (self.geometry.codewords_per_group() as usize, self.ftl.step());
        while let Some(&(request, first)) = self.room[ssd as usize].stalled.front() {
            let stalled = &self.room[ssd as usize].stalled;
            let expected = (first..).step_by(step as usize).map(|lcn| (request, lcn));
            let adjacent = stalled.iter().take(most).zip(expected).take_while(|&(&at, expected)| at == expected);
            let adjacent = adjacent.count() as u32;
            let Some(group) = self.ftl.open_for_host(ssd, adjacent) else { break };
            let count = self.ftl.room(group).min(adjacent);
            self.room[ssd as usize].stalled.drain(..count as usize);
            self.program_for_request(group, request, (0..count).map(|index| first + u64::from(index) * step));
        }
        if self.write_buffer.is_some() {
            self.admit_to_buffer();
        }
    }

    // ---- Write buffer ----

    fn buffer_codewords(&mut self, request: u32, codewords: Range<Lcn>) {
        let buffer = self.write_buffer.as_mut().expect("there is a write buffer");
        buffer.waiting.extend(codewords.map(|lcn| (request, lcn)));
        self.admit_to_buffer();
    }

    /// Takes waiting codewords in, in order, as long as there are slots; then programs what fills pages.
    fn admit_to_buffer(&mut self) {
        // Codewords of a request that are taken in together cross controller memory one after another.
        let mut taken: Option<(u32, u32)> = None;
        loop {
            let buffer = self.write_buffer.as_mut().expect("there is a write buffer");
            let Some(&(request, lcn)) = buffer.waiting.front() else { break };
            if matches!(self.ftl.locate(lcn), Location::Memory(_)) {
                self.statistics.coalesced_codewords += 1;
            } else if let Some(slot) = buffer.free.pop() {
                buffer.held[slot as usize] = lcn;
                buffer.pending.push_back(slot);
                self.ftl.hold_in_memory(lcn, slot);
            } else if self.flush_buffer(false) == 0 {
                break;
            } else {
                continue;
            }
            self.write_buffer.as_mut().expect("it was just there").waiting.pop_front();
            match &mut taken {
                Some((of, codewords)) if *of == request => *codewords += 1,
                _ => {
                    if let Some((of, codewords)) = taken.replace((request, 1)) {
                        self.finish_in_memory(of, codewords);
                    }
                }
            }
        }
        if let Some((of, codewords)) = taken {
            self.finish_in_memory(of, codewords);
        }
        self.flush_buffer(false);
    }

    /// Programs pages, or groups, from the write buffer as long as they are full (or at all, when draining) and
    /// there is room in flash. Returns how many slots left the queue.
    fn flush_buffer(&mut self, drain: bool) -> usize {
        let per_group = self.geometry.codewords_per_group() as usize;
        let mut left = 0;
        loop {
            let Some(buffer) = self.write_buffer.as_mut() else { return 0 };
            // Slots whose codeword was trimmed, or trimmed and written anew elsewhere, hold nothing.
            while let Some(&slot) = buffer.pending.front()
                && self.ftl.locate(buffer.held[slot as usize]) != Location::Memory(slot)
            {
                buffer.pending.pop_front();
                buffer.free.push(slot);
                left += 1;
            }
            if buffer.pending.is_empty() || !drain && buffer.pending.len() < per_group {
                return left;
            }
            let waiting = buffer.pending.len() as u32;
            let Some(group) = self.ftl.open_for_host(BUFFERED_SSD, waiting) else {
                self.make_room(BUFFERED_SSD);
                return left;
            };
            left += self.program_from_buffer(group);
        }
    }

    /// Programs as much of what waits in the write buffer as fits. Returns how many slots left the queue.
    fn program_from_buffer(&mut self, group: Group) -> usize {
        let room = self.ftl.room(group) as usize;
        let buffer = self.write_buffer.as_mut().expect("something waits in it");
        let (mut left, mut programmed) = (0, Vec::with_capacity(room + 1));
        while programmed.len() < room
            && let Some(slot) = buffer.pending.pop_front()
        {
            left += 1;
            let lcn = buffer.held[slot as usize];
            if self.ftl.locate(lcn) == Location::Memory(slot) {
                self.ftl.place(group, programmed.len() as u32, lcn);
                programmed.push(slot);
            } else {
                buffer.free.push(slot);
            }
        }
        let count = programmed.len();
        // What this page cuts stays in the buffer; what the last one cut is whole now.
        let cut = if count == room && self.ftl.last_crosses(group) { programmed.pop() } else { None };
        programmed.extend(std::mem::replace(&mut buffer.cut[group.set as usize], cut));
        let flight = buffer.flights.insert(programmed);
        self.start_program(group, count as u32, ProgramOwner::Buffer { flight });
        left
    }

    /// Programs the pages in which units end that the write buffer has programmed in part.
    fn program_cut_units(&mut self) {
        for set in 0..self.geometry.sets() {
            if self.write_buffer.as_ref().is_some_and(|buffer| buffer.cut[set as usize].is_some()) {
                let group = self.ftl.open(set, Writer::Host).expect("a unit is cut where its block goes on");
                self.program_from_buffer(group);
            }
        }
    }

    /// At the end of the requests: programs what is left in the write buffer. Whether that, or
    /// making room for it, is under way.
    pub(super) fn start_flushing(&mut self) -> bool {
        self.flush_buffer(true);
        if self.events.next_key().is_none() {
            self.program_cut_units();
        }
        self.events.next_key().is_some()
    }

    // ---- Garbage collection ----

    /// A write to an SSD cannot go on: if no collection is under way there that will free a block, one begins. Stale
    /// codewords may all stand in blocks whose programs have not ended; then the next end tries again.
    pub(super) fn make_room(&mut self, ssd: u32) {
        self.room[ssd as usize].blocked = true;
        if self.room[ssd as usize].collecting == 0 {
            let sets = self.geometry.sets() / self.geometry.ssds();
            for set in ssd * sets..(ssd + 1) * sets {
                if self.ftl.wants_gc(set, false) {
                    self.gc_begin(set);
                }
            }
            let Room { collecting, programming, .. } = self.room[ssd as usize];
            if collecting == 0 && programming == 0 {
                assert!(self.ftl.shrinks(), "over-provisioning leaves stale codewords to collect");
                self.refuse_writes(ssd);
            }
        }
    }

    /// Lower code rates have left an SSD no room: what waits to be written is not, and what it would have replaced stays. What
    /// the write buffer holds was accepted: it stays there.
    fn refuse_writes(&mut self, ssd: u32) {
        let mut refused = std::mem::take(&mut self.room[ssd as usize].stalled);
        if let Some(buffer) = &mut self.write_buffer {
            refused.append(&mut buffer.waiting);
        }
        if !refused.is_empty() {
            self.statistics.refused_codewords += refused.len() as u64;
            self.statistics.read_only_from.get_or_insert(self.now);
        }
        for (request, _) in refused {
            self.codewords_done(request, 1);
        }
    }

    fn gc_begin(&mut self, set: u32) {
        let Some(victim) = self.ftl.take_victim(set) else { return };
        self.ftl.prefetch_written(victim);
        self.statistics.gc_victims += 1;
        self.statistics.gc_victims_to_level_wear += u64::from(self.ftl.has_levelled(set));
        self.statistics.gc_victim_valid += u64::from(self.ftl.valid(victim));
        self.statistics.gc_victim_room += self.ftl.room_of(victim);
        let job = GcJob {
            victim,
            next_page: 0,
            reading: Vec::new(),
            collected: Vec::new(),
            programs: 0,
            cut: false,
            erasing: 0,
        };
        self.gc[set as usize] = Some(job);
        self.room[self.geometry.ssd_of_set(set) as usize].collecting += 1;
        self.gc_continue(set);
    }

    /// Does whatever the collection of a set can do now.
    fn gc_continue(&mut self, set: u32) {
        let pages = self.geometry.pages_per_superblock();
        let job = self.gc[set as usize].as_mut().expect("collection is at work");
        if !job.reading.is_empty() || job.erasing > 0 {
            return;
        }
        // Units that share pages are read together.
        let crosses_pages = self.ftl.crosses_pages() && self.ftl.layout(job.victim).crosses_pages();
        let together = if crosses_pages { MOST_IN_GROUP / self.geometry.codewords_per_page() } else { 1 };
        while job.next_page < pages {
            let group = self.ftl.group_at(set, job.victim, job.next_page);
            let of_block = together.min(pages - job.next_page);
            job.next_page += group.pages() * of_block;
            if job.next_page < pages {
                self.ftl.prefetch_owners(self.ftl.group_at(set, job.victim, job.next_page));
            }
            let mut wanted = 0u16;
            let bits = group.members().flat_map(|member| {
                let bits = self.geometry.bits_of(member);
                bits.start..bits.start + of_block * self.geometry.codewords_per_page()
            });
            for bit in bits {
                let place = self.geometry.place(group.superblock, group.page, bit);
                if let Some(held) = self.ftl.held_at(place) {
                    job.reading.push(held);
                    wanted |= 1 << bit;
                }
            }
            if wanted != 0 {
                self.start_read(Owner::Gc(set), group, wanted);
                return;
            }
        }
        if !job.collected.is_empty() || job.cut {
            self.gc_program(set);
            return self.gc_continue(set);
        }
        if job.programs == 0 && !self.ftl.is_being_read(job.victim) {
            job.erasing = self.geometry.ways();
            let superblock = job.victim;
            for member in 0..self.geometry.ways() {
                let unit = self.geometry.busy_unit_of(self.geometry.plane_of(set, member));
                self.submit(unit, Work::Erase { superblock }, false);
            }
        }
    }

    /// A page or group of the victim has been read.
    pub(super) fn gc_group_read(&mut self, set: u32) {
        let job = self.gc[set as usize].as_mut().expect("collection is at work");
        job.collected.append(&mut job.reading);
        while self.gc[set as usize].as_ref().is_some_and(|job| job.collected.len() >= self.gc_room(set)) {
            self.gc_program(set);
        }
        self.gc_continue(set);
    }

    /// Codewords that collection of a set programs at once.
    fn gc_room(&self, set: u32) -> usize {
        let interleaves = self.ftl.interleaves(set);
        (if interleaves { self.geometry.codewords_per_group() } else { self.geometry.codewords_per_page() }) as usize
    }

    /// Programs one page or group of collected codewords, if any of them is still valid.
    fn gc_program(&mut self, set: u32) {
        let job = self.gc[set as usize].as_mut().expect("collection is at work");
        let ftl = &mut self.ftl;
        job.collected.retain(|&held| ftl.is_current(held));
        // A victim holds translation pages, or data.
        let of_map = job.collected.first().is_some_and(|held| ftl.is_translation_page(held.lcn));
        if job.collected.is_empty() && !job.cut {
            return;
        }
        job.programs += 1;
        let writer = if of_map { Writer::GcTranslation } else { Writer::Gc };
        let group = ftl.open(set, writer).expect("the host leaves a block to collection");
        let count = job.collected.len().min(ftl.room(group) as usize);
        job.cut = count as u32 == ftl.room(group) && ftl.last_crosses(group);
        let mut moved = [0; 16];
        for (slot, Held { lcn, .. }) in job.collected.drain(..count).enumerate() {
            moved[slot] = lcn;
            ftl.place(group, slot as u32, lcn);
        }
        self.start_program(group, count as u32, ProgramOwner::Gc);
        if self.translation.is_some() {
            moved[..count].iter().for_each(|&lcn| self.entry_changed(lcn));
        }
    }

    /// A read of a superblock has ended; a victim may have waited for that.
    #[inline]
    pub(super) fn gc_reads_ended(&mut self, group: Group) {
        if self.gc[group.set as usize].as_ref().is_some_and(|job| job.victim == group.superblock) {
            self.gc_continue(group.set);
        }
    }

    /// A block of a superblock has been erased.
    pub(super) fn erase_done(&mut self, superblock: u32) {
        let set = self.geometry.set_of_superblock(superblock);
        let job = self.gc[set as usize].as_mut().expect("collection is at work");
        job.erasing -= 1;
        if job.erasing > 0 {
            return;
        }
        self.ftl.erased(superblock);
        self.gc[set as usize] = None;
        let ssd = self.geometry.ssd_of_set(set);
        self.room[ssd as usize].collecting -= 1;
        if self.ftl.wants_gc(set, true) {
            self.gc_begin(set);
        }
        self.resume_stalled_writes(ssd);
        let room = &self.room[ssd as usize];
        if !room.stalled.is_empty() && room.collecting == 0 {
            self.make_room(ssd);
        }
    }
}
