//! The write buffers: slots of one codeword each in the controller's memory, an equal share for each SSD.
//!
//! A unit that the end of a page cuts stays in the write buffer until the next page of its block is programmed.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use rustc_hash::FxHashMap;
use softsense_base::Pj;
use softsense_config::ids::{Lcn, Ssd};
use softsense_ftl::recency::Recency;
use softsense_ftl::{Group, Location, Writer};

use super::super::device::Device;
use super::super::kernel::Completion;
use super::super::owners::ProgramOwner;
use super::WritePath;
use super::merging::Part;
use crate::slab::{FlightId, RequestId, Slab};

#[derive(Debug)]
pub(super) struct WriteBuffer {
    /// Number of the first slot among the slots of all SSDs.
    pub(super) first_slot: u32,
    /// The logical codeword in each slot.
    pub(super) held: Vec<Lcn>,
    free: Vec<u32>,
    /// Slots that wait to be programmed, in the order of their programs.
    pub(super) pending: Recency,
    /// Codewords of which the buffer holds a part, by codeword; and the slots of those whose rest is not being read, in the order of their
    /// writes.
    pub(super) parts: FxHashMap<Lcn, Part>,
    pub(super) in_part: Recency,
    /// Number of codewords whose rest is being read.
    pub(super) filling: usize,
    /// The slots of each page that is being programmed.
    flights: Slab<FlightId, Vec<u32>>,
    /// Number of slots in these pages.
    in_flight: usize,
    /// The epoch in which each slot was taken; a flush ends an epoch.
    epoch_of: Vec<u32>,
    /// Number of held slots of each epoch, from `first_epoch` on.
    held_of_epoch: VecDeque<u32>,
    first_epoch: u32,
    /// Codewords that wait for a slot.
    pub(super) waiting: VecDeque<Arriving>,
}

/// A codeword, or a part of it, that is to be taken into a write buffer for a request.
#[derive(Debug, Clone)]
pub(super) struct Arriving {
    pub(super) request: RequestId,
    pub(super) lcn: Lcn,
    /// Bytes of the codeword that arrive.
    pub(super) bytes: Range<u32>,
}

/// A flush that waits until data is in flash.
#[derive(Debug, Clone)]
pub(super) struct WaitingFlush {
    request: RequestId,
    /// The write buffers that it waits for, by SSD, each with the last epoch whose slots it waits for.
    pub(super) of: Vec<(Ssd, u32)>,
}

/// The part of a write buffer that is programmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flush {
    /// All codewords that fill pages.
    FullPages,
    /// One full page.
    OnePage,
    /// All codewords, whether they fill pages or not.
    All,
}

impl WriteBuffer {
    pub(super) fn new(first_slot: u32, slots: u32) -> Self {
        Self {
            first_slot,
            held: vec![Lcn(0); slots as usize],
            free: (0..slots).rev().collect(),
            pending: Recency::default(),
            parts: FxHashMap::default(),
            in_part: Recency::default(),
            filling: 0,
            flights: Slab::default(),
            in_flight: 0,
            epoch_of: vec![0; slots as usize],
            held_of_epoch: VecDeque::from([0]),
            first_epoch: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Number of codewords that the buffer holds.
    pub(super) fn held(&self) -> u64 {
        (self.held.len() - self.free.len()) as u64
    }

    /// Number of codewords in the buffer that are not being programmed, and of those that wait for a slot.
    pub(super) fn not_programmed(&self) -> u64 {
        self.held() - self.in_flight as u64 + self.waiting.len() as u64
    }

    /// Frees the slots of a flight, which has been programmed.
    pub(super) fn landed(&mut self, flight: FlightId) {
        self.in_flight -= self.flights[flight].len();
        for slot in std::mem::take(&mut self.flights[flight]) {
            self.give_back(slot);
        }
        self.flights.remove(flight);
    }

    /// Slots that hold a codeword, in ascending order.
    pub(super) fn slots_held(&self) -> Vec<u32> {
        let free: BTreeSet<u32> = self.free.iter().copied().collect();
        (0..self.held.len() as u32).filter(|slot| !free.contains(slot)).collect()
    }

    /// Slots whose data is being programmed.
    pub(super) fn slots_in_flight(&self) -> BTreeSet<u32> {
        self.flights.iter().flatten().copied().collect()
    }

    /// Frees a slot.
    pub(super) fn give_back(&mut self, slot: u32) {
        let epoch = self.epoch_of[slot as usize] - self.first_epoch;
        self.held_of_epoch[epoch as usize] -= 1;
        self.free.push(slot);
    }

    /// Puts a codeword into a slot, which waits to be programmed.
    fn take(&mut self, slot: u32, lcn: Lcn) {
        self.occupy(slot, lcn);
        self.pending.push(slot);
    }

    /// Puts a codeword, or a part of it, into a slot.
    pub(super) fn occupy(&mut self, slot: u32, lcn: Lcn) {
        self.held[slot as usize] = lcn;
        self.epoch_of[slot as usize] = self.first_epoch + self.held_of_epoch.len() as u32 - 1;
        *self.held_of_epoch.back_mut().expect("there is an epoch") += 1;
    }

    /// The oldest epoch of which a slot is held; none where no slot is held.
    fn oldest_epoch(&mut self) -> Option<u32> {
        while self.held_of_epoch.len() > 1 && self.held_of_epoch[0] == 0 {
            self.held_of_epoch.pop_front();
            self.first_epoch += 1;
        }
        (self.held_of_epoch[0] > 0).then_some(self.first_epoch)
    }

    /// Ends the epoch in which slots are taken. Returns the last epoch that may have slots; none where no slot is held.
    fn end_epoch(&mut self) -> Option<u32> {
        self.oldest_epoch()?;
        if self.held_of_epoch.back().is_some_and(|&held| held > 0) {
            self.held_of_epoch.push_back(0);
        }
        Some(self.first_epoch + self.held_of_epoch.len() as u32 - 2)
    }

    /// The location of a slot, in the form that the map has it.
    fn location(&self, slot: u32) -> Location {
        Location::Memory(self.first_slot + slot)
    }
}

impl WritePath {
    /// Takes waiting codewords into the buffer of an SSD, as far as there are slots.
    pub(super) fn take_into_buffer(&mut self, device: &mut Device, ssd: Ssd) {
        self.admit_to_buffer(device, ssd);
        if !self.buffers[ssd].waiting.is_empty() {
            self.seek_room_again(device, ssd);
        }
    }

    /// Takes waiting codewords into the buffer, in their order, as long as there are slots. Then programs codewords that fill pages.
    pub(super) fn admit_to_buffer(&mut self, device: &mut Device, ssd: Ssd) {
        // Codewords of a request that are taken in together cross controller memory one after another.
        let mut taken: Option<(RequestId, u32)> = None;
        let whole = self.codeword_bytes as u32;
        loop {
            let buffer = &mut self.buffers[ssd];
            let Some(&Arriving { request, lcn, ref bytes }) = buffer.waiting.front() else { break };
            let (bytes, location) = (bytes.clone(), device.ftl.locate(lcn));
            if let Location::Memory(slot) = location {
                device.kernel.statistics.coalesced_codewords += 1;
                if self.renews {
                    buffer.pending.renew(slot - buffer.first_slot);
                }
            } else if self.merges
                && let Some(held) = buffer.join(lcn, bytes.clone(), whole, self.renews)
            {
                device.kernel.statistics.coalesced_codewords += 1;
                if let Some((slot, unread)) = held {
                    device.kernel.statistics.merged_codewords += u64::from(unread);
                    device.ftl.hold_in_memory(lcn, buffer.first_slot + slot);
                }
            } else if let Some(slot) = buffer.free.pop() {
                if self.merges && bytes != (0..whole) && matches!(location, Location::Flash(_)) {
                    buffer.take_part(slot, lcn, bytes);
                } else {
                    buffer.take(slot, lcn);
                    device.ftl.hold_in_memory(lcn, buffer.first_slot + slot);
                }
            } else if self.keeps && buffer.in_flight >= buffer.waiting.len() {
                // The programs under way make room for all codewords that wait.
                break;
            } else if self.flush_buffer(device, ssd, if self.keeps { Flush::OnePage } else { Flush::FullPages }) > 0
                || self.fill_parts(device, ssd, self.wanted_whole(device, ssd)) > 0
            {
                continue;
            } else {
                break;
            }
            self.buffers[ssd].waiting.pop_front();
            if let Some(takers) = &mut self.takers
                && let Some(slot) = self.buffers[ssd].slot_of(device, lcn)
            {
                takers.take(slot, request);
            }
            match &mut taken {
                Some((of, codewords)) if *of == request => *codewords += 1,
                _ => {
                    if let Some((request, codewords)) = taken.replace((request, 1)) {
                        device.kernel.report(Completion::CodewordsInMemory { request, codewords });
                    }
                }
            }
        }
        if let Some((request, codewords)) = taken {
            device.kernel.report(Completion::CodewordsInMemory { request, codewords });
        }
        if !self.keeps {
            self.fill_parts_in_time(device, ssd);
            self.flush_buffer(device, ssd, Flush::FullPages);
        } else if let Some((high, low)) = self.watermarks
            && self.buffers[ssd].pending.len() > high
        {
            while self.buffers[ssd].pending.len() > low && self.flush_buffer(device, ssd, Flush::OnePage) > 0 {}
        }
        if !self.flushes.is_empty() {
            self.go_on_flushing(device, ssd);
        }
        self.tell_whether_writes_wait(device);
    }

    /// Tells the back end whether writes wait: the flash may let reads wait meanwhile.
    pub(super) fn tell_whether_writes_wait(&self, device: &mut Device) {
        device.back_end.writes_wait = self.buffers.iter().any(|buffer| !buffer.waiting.is_empty());
    }

    /// Number of codewords that have to be whole so that waiting ones find room: at least those of a page or group.
    fn wanted_whole(&self, device: &Device, ssd: Ssd) -> usize {
        self.buffers[ssd].waiting.len().max(device.geometry.codewords_per_program() as usize)
    }

    /// Reads the rest of codewords held in part, if less than half of a write buffer is free, or on its way to be. So reads and programs
    /// keep all planes at work before a write has to wait.
    fn fill_parts_in_time(&mut self, device: &mut Device, ssd: Ssd) {
        let buffer = &self.buffers[ssd];
        let wanted = (buffer.held.len() / 2).saturating_sub(buffer.free.len() + buffer.in_flight);
        self.fill_parts(device, ssd, wanted);
    }

    // ---- Flushes ----

    /// Completes a request when all that the write buffers hold now is in flash; at once where nothing can be lost.
    pub(in super::super) fn flush(&mut self, device: &mut Device, request: RequestId) {
        if self.protected {
            return device.kernel.report(Completion::CodewordsInMemory { request, codewords: 1 });
        }
        let buffers = self.buffers.iter_mut_enumerated();
        let of: Vec<(Ssd, u32)> = buffers.filter_map(|(ssd, buffer)| Some((ssd, buffer.end_epoch()?))).collect();
        if of.is_empty() {
            return device.kernel.report(Completion::CodewordsInMemory { request, codewords: 1 });
        }
        self.flushes.push(WaitingFlush { request, of: of.clone() });
        for (ssd, _) in of {
            self.go_on_flushing(device, ssd);
            if !self.flushes.is_empty() {
                self.seek_room_again(device, ssd);
            }
        }
    }

    /// Programs codewords that flushes wait for, whether they fill pages or not. Flushes that wait for nothing more complete.
    fn go_on_flushing(&mut self, device: &mut Device, ssd: Ssd) {
        let waits = |oldest: Option<u32>, upto: u32| oldest.is_some_and(|oldest| oldest <= upto);
        let oldest = self.buffers[ssd].oldest_epoch();
        if self.flushes.iter().any(|flush| flush.of.iter().any(|&(of, upto)| of == ssd && waits(oldest, upto))) {
            self.flush_all(device, ssd);
        }
        let oldest = self.buffers[ssd].oldest_epoch();
        self.end_flushes(device, |flush| flush.of.retain(|&(of, upto)| of != ssd || waits(oldest, upto)));
    }

    /// Lets flushes wait for less. Flushes that wait for nothing complete.
    pub(super) fn end_flushes(&mut self, device: &mut Device, waits_for_less: impl FnMut(&mut WaitingFlush)) {
        self.flushes.iter_mut().for_each(waits_for_less);
        for flush in self.flushes.extract_if(.., |flush| flush.of.is_empty()) {
            device.kernel.report(Completion::CodewordsWritten {
                request: flush.request,
                codewords: 1,
                energy: Pj::default(),
            });
        }
    }

    /// Programs all of a write buffer, whether it fills pages or not. The rest of codewords held in part is read first; meanwhile only
    /// codewords that fill pages are programmed.
    fn flush_all(&mut self, device: &mut Device, ssd: Ssd) {
        self.fill_parts(device, ssd, usize::MAX);
        let waits = self.buffers[ssd].filling > 0;
        self.flush_buffer(device, ssd, if waits { Flush::FullPages } else { Flush::All });
    }

    /// Programs pages, or groups, from a write buffer as long as there is room in flash. Returns the number of slots that left the queue.
    fn flush_buffer(&mut self, device: &mut Device, ssd: Ssd, flush: Flush) -> usize {
        // A write buffer that is too small for what is programmed at once programs all that it holds as one.
        let slots = self.buffers[ssd].held.len();
        let at_once = (device.geometry.codewords_per_program() as usize).min(slots);
        let mut left = 0;
        loop {
            let buffer = &mut self.buffers[ssd];
            // Slots whose codeword was trimmed, or trimmed and written anew elsewhere, hold nothing.
            while let Some(slot) = buffer.pending.oldest()
                && device.ftl.locate(buffer.held[slot as usize]) != buffer.location(slot)
            {
                buffer.pending.pop();
                buffer.give_back(slot);
                left += 1;
            }
            if buffer.pending.is_empty() || flush != Flush::All && buffer.pending.len() < at_once {
                return left;
            }
            let waiting = buffer.pending.len() as u32;
            let first = buffer.pending.oldest().map_or(Lcn(0), |slot| buffer.held[slot as usize]);
            let Some(group) = device.ftl.open_for_host(ssd, 0, first, waiting, 0) else {
                self.make_room(device, ssd);
                return left;
            };
            left += self.program_from_buffer(device, ssd, group);
            if flush == Flush::OnePage {
                return left;
            }
        }
    }

    /// Programs as many waiting codewords of a write buffer as fit. Returns the number of slots that left the queue.
    fn program_from_buffer(&mut self, device: &mut Device, ssd: Ssd, group: Group) -> usize {
        let room = device.ftl.room(group) as usize;
        let buffer = &mut self.buffers[ssd];
        let (mut left, mut programmed) = (0, Vec::with_capacity(room + 1));
        while programmed.len() < room
            && let Some(slot) = buffer.pending.pop()
        {
            left += 1;
            let lcn = buffer.held[slot as usize];
            if device.ftl.locate(lcn) == buffer.location(slot) {
                device.ftl.place(group, programmed.len() as u32, lcn);
                if let Some(takers) = &mut self.takers {
                    takers.programs(buffer.first_slot + slot, device.ftl.held(lcn));
                }
                programmed.push(slot);
            } else {
                buffer.give_back(slot);
            }
        }
        let count = programmed.len();
        // A unit that this page cuts stays in the buffer. A unit that the last page cut is whole now.
        let cut = if count == room && device.ftl.last_crosses(group) { programmed.pop() } else { None };
        programmed.extend(std::mem::replace(&mut self.cut[group.set], cut));
        buffer.in_flight += programmed.len();
        let flight = buffer.flights.insert(programmed);
        self.program(device, group, count as u32, ProgramOwner::Buffer { flight });
        left
    }

    /// Notes that the data of a flight is programmed to another group.
    pub(super) fn flight_goes_to(&mut self, device: &Device, group: Group, flight: FlightId) {
        let Some(takers) = &mut self.takers else { return };
        let buffer = &self.buffers[device.geometry.ssd_of_set(group.set)];
        for &slot in &buffer.flights[flight] {
            let held = device.ftl.held(buffer.held[slot as usize]);
            if device.ftl.is_in(held, group) {
                takers.programs(buffer.first_slot + slot, held);
            }
        }
    }

    /// Programs the pages in which units end whose beginning was programmed from the write buffers.
    fn program_cut_units(&mut self, device: &mut Device) {
        for set in device.geometry.all_sets() {
            if self.cut[set].is_some() {
                let group = device.ftl.open(set, Writer::Host).expect("a unit is cut where its block goes on");
                self.program_from_buffer(device, device.geometry.ssd_of_set(set), group);
            }
        }
    }

    /// Programs what is left in the write buffers at the end of the requests. Returns whether that, or making room for it, is under way.
    pub(in super::super) fn start_flushing(&mut self, device: &mut Device) -> bool {
        for ssd in self.buffers.keys() {
            self.flush_all(device, ssd);
        }
        if device.kernel.events.next_key().is_none() {
            self.program_cut_units(device);
        }
        device.kernel.events.next_key().is_some()
    }
}
