//! Writes: read-modify-write of partly covered codewords, the write buffer, page programs, and garbage
//! collection.
//!
//! Garbage collection works on one block of a plane at a time. It reads the block's valid codewords
//! page by page, through error correction, programs them in its own open block, and erases the victim
//! when all are programmed and nobody reads the victim any more. Its operations wait in the same
//! queues as the host's programs. Data written by the host in between is not moved.

use std::collections::VecDeque;
use std::ops::Range;

use super::Simulation;
use super::back_end::{Owner, Program, ProgramOwner, Work};
use crate::config::PartialWrite;
use crate::ftl::{Lcn, Location, OpenPage, Place, Writer};
use crate::slab::Slab;

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
}

impl WriteBuffer {
    pub(super) fn new(codewords: u32) -> Self {
        Self {
            held: vec![0; codewords as usize],
            free: (0..codewords).rev().collect(),
            pending: VecDeque::new(),
            flights: Slab::default(),
            waiting: VecDeque::new(),
        }
    }
}

/// Garbage collection of a plane, at work on one block.
#[derive(Debug)]
pub(super) struct GcJob {
    victim: u32,
    /// The next page of the victim to look at.
    next_page: u32,
    /// Places whose codewords have been read and wait to be programmed.
    collected: Vec<Place>,
    reading: bool,
    programs: u32,
    erasing: bool,
}

impl Simulation {
    /// Writes codewords for a request, of which the first and the last may be covered in part.
    pub(super) fn write_codewords(&mut self, request: u32, codewords: Range<Lcn>) {
        let size = self.codeword_bytes;
        let asked = self.requests[request].request;
        let end = asked.offset_bytes + asked.bytes;
        let covered = |lcn: Lcn| u64::from(lcn) * size >= asked.offset_bytes && (u64::from(lcn) + 1) * size <= end;
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
            let slots = simulation.geometry.codewords_per_page();
            let page = simulation.ftl.page_of(place);
            simulation.start_read(Owner::Modify { request, lcn }, page, 1 << (place % slots));
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
        self.statistics.host_codewords_written += u64::from(codewords.end - codewords.start);
        if self.write_buffer.is_some() {
            self.buffer_codewords(request, codewords);
            return;
        }
        let slots = self.geometry.codewords_per_page();
        let mut next = codewords.start;
        while next < codewords.end {
            let page = if self.stalled_writes.is_empty() { self.ftl.open_page_for_host() } else { None };
            let Some(page) = page else {
                self.stalled_writes.extend((next..codewords.end).map(|lcn| (request, lcn)));
                self.start_gc_somewhere();
                return;
            };
            let count = slots.min(codewords.end - next);
            self.program_for_request(page, request, next..next + count);
            next += count;
        }
    }

    fn program_for_request(&mut self, page: OpenPage, request: u32, codewords: Range<Lcn>) {
        let count = codewords.end - codewords.start;
        for (slot, lcn) in codewords.enumerate() {
            self.ftl.place(page, slot as u32, lcn);
        }
        self.start_program(page, count, ProgramOwner::Request { request, codewords: count });
    }

    #[inline(always)]
    fn start_program(&mut self, page: OpenPage, codewords: u32, writer: ProgramOwner) {
        self.statistics.padding_codewords += u64::from(self.geometry.codewords_per_page() - codewords);
        let by_host = !matches!(writer, ProgramOwner::Gc);
        if by_host {
            self.statistics.host_codewords_programmed += u64::from(codewords);
        } else {
            self.statistics.gc_codewords_programmed += u64::from(codewords);
        }
        let program = self.programs.insert(Program { page, writer });
        self.submit(self.geometry.busy_unit_of(page.plane), Work::Program(program), false);
        if by_host && self.gc[page.plane as usize].is_none() && self.ftl.wants_gc(page.plane, false) {
            self.gc_begin(page.plane);
        }
    }

    pub(super) fn program_done(&mut self, program: u32) {
        let Program { page, writer } = self.programs[program];
        self.programs.remove(program);
        self.ftl.programmed(page, self.now.0 / 1_000_000_000);
        match writer {
            ProgramOwner::Request { request, codewords } => self.codewords_done(request, codewords),
            ProgramOwner::Buffer { flight } => {
                let buffer = self.write_buffer.as_mut().expect("it has programmed");
                buffer.free.append(&mut buffer.flights[flight]);
                buffer.flights.remove(flight);
                self.admit_to_buffer();
            }
            ProgramOwner::Gc => {
                self.gc[page.plane as usize].as_mut().expect("collection is at work").programs -= 1;
                self.gc_continue(page.plane);
            }
        }
        if self.writes_blocked && self.gc_running == 0 {
            self.start_gc_somewhere();
        }
    }

    /// A block is free again: writes that waited for one go on.
    fn resume_stalled_writes(&mut self) {
        self.writes_blocked = false;
        let slots = self.geometry.codewords_per_page() as usize;
        while let Some(&(request, first)) = self.stalled_writes.front() {
            let Some(page) = self.ftl.open_page_for_host() else { break };
            let count = self
                .stalled_writes
                .iter()
                .take(slots)
                .zip(first..)
                .take_while(|&(&(of, lcn), expected)| of == request && lcn == expected)
                .count();
            self.stalled_writes.drain(..count);
            self.program_for_request(page, request, first..first + count as u32);
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

    /// Programs pages from the write buffer as long as they are full (or at all, when draining) and
    /// there is room in flash. Returns how many slots left the queue.
    fn flush_buffer(&mut self, drain: bool) -> usize {
        let per_page = self.geometry.codewords_per_page() as usize;
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
            if buffer.pending.is_empty() || !drain && buffer.pending.len() < per_page {
                return left;
            }
            let Some(page) = self.ftl.open_page_for_host() else {
                self.start_gc_somewhere();
                return left;
            };
            let buffer = self.write_buffer.as_mut().expect("it was just there");
            let mut programmed = Vec::with_capacity(per_page);
            while programmed.len() < per_page
                && let Some(slot) = buffer.pending.pop_front()
            {
                left += 1;
                let lcn = buffer.held[slot as usize];
                if self.ftl.locate(lcn) == Location::Memory(slot) {
                    self.ftl.place(page, programmed.len() as u32, lcn);
                    programmed.push(slot);
                } else {
                    buffer.free.push(slot);
                }
            }
            let count = programmed.len() as u32;
            let flight = buffer.flights.insert(programmed);
            self.start_program(page, count, ProgramOwner::Buffer { flight });
        }
    }

    /// At the end of the requests: programs what is left in the write buffer. Whether that, or
    /// making room for it, is under way.
    pub(super) fn start_flushing(&mut self) -> bool {
        self.flush_buffer(true);
        self.events.next_key().is_some()
    }

    // ---- Garbage collection ----

    /// A write cannot go on: if no collection is under way that will free a block, one begins. Stale
    /// codewords may all stand in blocks whose programs have not ended; then the next end tries again.
    fn start_gc_somewhere(&mut self) {
        self.writes_blocked = true;
        if self.gc_running == 0 {
            for plane in 0..self.geometry.planes() {
                if self.ftl.wants_gc(plane, false) {
                    self.gc_begin(plane);
                }
            }
            assert!(
                self.gc_running > 0 || self.programs.len() > 0,
                "over-provisioning leaves stale codewords to collect"
            );
        }
    }

    fn gc_begin(&mut self, plane: u32) {
        let Some(victim) = self.ftl.take_victim(plane) else { return };
        self.ftl.prefetch_owners(victim);
        self.statistics.gc_victims += 1;
        self.statistics.gc_victim_valid += u64::from(self.ftl.valid(victim));
        let job = GcJob { victim, next_page: 0, collected: Vec::new(), reading: false, programs: 0, erasing: false };
        self.gc[plane as usize] = Some(job);
        self.gc_running += 1;
        self.gc_continue(plane);
    }

    /// Does whatever the collection of a plane can do now.
    fn gc_continue(&mut self, plane: u32) {
        let slots = self.geometry.codewords_per_page();
        let pages = self.geometry.pages_per_block();
        let job = self.gc[plane as usize].as_mut().expect("collection is at work");
        if job.reading || job.erasing {
            return;
        }
        while job.next_page < pages {
            let page = job.victim * pages + job.next_page;
            job.next_page += 1;
            let mut wanted = 0u16;
            for slot in 0..slots {
                if let Some(lcn) = self.ftl.owner(page * slots + slot) {
                    self.ftl.prefetch(lcn);
                    wanted |= 1 << slot;
                }
            }
            if wanted != 0 {
                job.reading = true;
                self.start_read(Owner::Gc(plane), page, wanted);
                return;
            }
        }
        if !job.collected.is_empty() {
            self.gc_program(plane);
            return self.gc_continue(plane);
        }
        if job.programs == 0 && !self.ftl.is_being_read(job.victim) {
            job.erasing = true;
            let block = job.victim;
            self.submit(self.geometry.busy_unit_of(plane), Work::Erase { block }, false);
        }
    }

    /// A page of the victim has been read.
    pub(super) fn gc_page_read(&mut self, plane: u32, first_place: Place, wanted: u16) {
        let slots = self.geometry.codewords_per_page() as usize;
        let job = self.gc[plane as usize].as_mut().expect("collection is at work");
        job.reading = false;
        job.collected.extend((0..16).filter(|slot| wanted & (1 << slot) != 0).map(|slot| first_place + slot));
        if job.collected.len() >= slots {
            self.gc_program(plane);
        }
        self.gc_continue(plane);
    }

    /// Programs one page of collected codewords, if any of them is still valid.
    fn gc_program(&mut self, plane: u32) {
        let slots = self.geometry.codewords_per_page() as usize;
        let job = self.gc[plane as usize].as_mut().expect("collection is at work");
        let ftl = &mut self.ftl;
        job.collected.retain(|&place| ftl.owner(place).is_some());
        let count = job.collected.len().min(slots);
        if count == 0 {
            return;
        }
        job.programs += 1;
        let page = ftl.open_page(plane, Writer::Gc).expect("the host leaves a block to collection");
        for (slot, place) in job.collected.drain(..count).enumerate() {
            let lcn = ftl.owner(place).expect("stale places were just dropped");
            ftl.place(page, slot as u32, lcn);
        }
        self.start_program(page, count as u32, ProgramOwner::Gc);
    }

    /// A read of a block has ended; a victim may have waited for that.
    #[inline]
    pub(super) fn gc_reads_of_block_ended(&mut self, block: u32) {
        if self.gc_running == 0 {
            return;
        }
        let plane = self.ftl.plane_of_block(block);
        if self.gc[plane as usize].as_ref().is_some_and(|job| job.victim == block) {
            self.gc_continue(plane);
        }
    }

    pub(super) fn erase_done(&mut self, block: u32) {
        let plane = self.ftl.plane_of_block(block);
        self.ftl.erased(block);
        self.gc[plane as usize] = None;
        self.gc_running -= 1;
        if self.ftl.wants_gc(plane, true) {
            self.gc_begin(plane);
        }
        self.resume_stalled_writes();
    }
}
