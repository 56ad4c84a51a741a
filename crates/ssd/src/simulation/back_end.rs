//! Flash array, buses and decoders: what an operation does, in which order, for how long.
//!
//! A page read: sense, then transfer and decode codeword by codeword. With a cache register the unit
//! may sense the next page while the last one waits for the bus; it stalls when both registers are
//! full. Codewords that fail are attempted again, together, once all decodes of the page are over.
//!
//! Looking ahead: when a sensing ends and nothing waits for the unit, it senses the next level at
//! once. Success cuts that short with a RESET (or drops the result, when sensing was over); failure
//! finds it under way, or done and waiting. The unit is kept until the outcome is known. One level is
//! sensed ahead, not more: the other register holds the level whose outcome is open.

use std::collections::VecDeque;

use softsense_base::Ns;
use softsense_link::{Attempt, CellAge};
use softsense_nand::Wear;

use super::statistics::ReadTime;
use super::{DecodeTime, Simulation};
use crate::events::{Event, Key};
use crate::ftl::{Lcn, OpenPage, Place};

const NONE: u32 = u32::MAX;

/// Whom a page read is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A host read.
    Request(u32),
    /// A host write that covers a codeword in part.
    Modify { request: u32, lcn: Lcn },
    /// Garbage collection of a plane.
    Gc(u32),
}

/// A page read, from its first sensing to the last decode of its last attempt.
#[derive(Debug, Clone)]
pub(super) struct Read {
    owner: Owner,
    unit: u32,
    channel: u32,
    block: u32,
    first_place: Place,
    page_type: u8,
    /// Whether the unit is sensing the next level, or has, before the outcome of this one is known.
    looking_ahead: bool,
    /// Codewords asked for; those of this attempt; those of them that have failed. Bits are slots.
    wanted: u16,
    pending: u16,
    failed: u16,
    attempt: Attempt,
    attempts: u8,
    to_transfer: u8,
    to_decode: u8,
    /// Required level of the codeword in each slot.
    required: [u8; 16],
    queued_at: Ns,
    sensed_at: Ns,
    time: ReadTime,
}

/// A page program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) page: OpenPage,
    pub(super) writer: ProgramOwner,
}

/// Whom a page program is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramOwner {
    /// A host write, so many of its codewords.
    Request { request: u32, codewords: u32 },
    /// The write buffer; one of its flights.
    Buffer { flight: u32 },
    /// Garbage collection of the page's plane.
    Gc,
}

/// What waits for, or is done by, a busy unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Read(u32),
    Program(u32),
    Erase { block: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ArrayState {
    #[default]
    Idle,
    Sensing(u32),
    /// Sensing the next level of a read whose outcome is open.
    SensingAhead(u32),
    /// Done with that; the outcome is still open.
    SensedAhead(u32),
    /// Sensed, but the cache register still holds the page before.
    Stalled(u32),
    /// Without a cache register: the array holds the page until it has been transferred.
    Holding(u32),
    /// Taking a page to be programmed from the bus.
    Loading(u32),
    Programming(u32),
    Erasing(u32),
    Resetting,
}

/// A plane, or a die whose planes take turns.
#[derive(Debug)]
pub(super) struct BusyUnit {
    state: ArrayState,
    /// The read whose page is in the cache register, waiting for the bus or on it.
    register: u32,
    /// The event that ends what the array is at. A sensing that was cut short leaves its event
    /// behind, which is known by not being this one.
    ends: Key,
    /// Retries, whoever they are for: part of what they need has been read already.
    retries: VecDeque<Work>,
    /// Reads that go before other work.
    reads: VecDeque<Work>,
    others: VecDeque<Work>,
    busy_since: Ns,
    busy: Ns,
}

impl Default for BusyUnit {
    fn default() -> Self {
        Self {
            state: ArrayState::Idle,
            register: NONE,
            ends: 0,
            retries: VecDeque::new(),
            reads: VecDeque::new(),
            others: VecDeque::new(),
            busy_since: Ns::ZERO,
            busy: Ns::ZERO,
        }
    }
}

impl BusyUnit {
    pub(super) fn busy_ns(&self, now: Ns) -> u64 {
        let current = if self.state == ArrayState::Idle { Ns::ZERO } else { now - self.busy_since };
        (self.busy + current).0
    }

    fn is_awaited(&self) -> bool {
        !self.retries.is_empty() || !self.reads.is_empty() || !self.others.is_empty()
    }
}

#[derive(Debug, Clone, Copy)]
enum Transfer {
    /// A codeword of a page read.
    Read { read: u32, slot: u32 },
    /// A page to be programmed.
    Program(u32),
}

/// A channel: one bus, and its decoders.
#[derive(Debug)]
pub(super) struct Channel {
    bus: Option<Transfer>,
    bus_queue: VecDeque<Transfer>,
    pub(super) bus_busy_ns: u64,
    idle_decoders: Vec<u32>,
    decoder_queue: VecDeque<(u32, u32, Ns)>,
    pub(super) decoder_busy_ns: u64,
}

impl Channel {
    /// The channel `index` of the device, with so many decoders.
    pub(super) fn new(index: u32, decoders: u32) -> Self {
        Self {
            bus: None,
            bus_queue: VecDeque::new(),
            bus_busy_ns: 0,
            idle_decoders: (index * decoders..(index + 1) * decoders).rev().collect(),
            decoder_queue: VecDeque::new(),
            decoder_busy_ns: 0,
        }
    }
}

/// The slots of a mask.
fn slots(mut mask: u16) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let slot = mask.trailing_zeros();
            mask &= mask - 1;
            slot
        })
    })
}

impl Simulation {
    /// Begins to read the codewords `wanted` of a page of the device.
    pub(super) fn start_read(&mut self, owner: Owner, page: u32, wanted: u16) {
        let first_place = page * self.geometry.codewords_per_page();
        let block = self.ftl.block_of(first_place);
        let plane = self.ftl.plane_of_block(block);
        self.ftl.read_begins(block);
        let mut required = [0; 16];
        let mut deepest = 1;
        for slot in slots(wanted) {
            let place = first_place + slot;
            let level =
                self.reliability.required_level(u64::from(place), self.ftl.erases(block), || self.cell_age(place)).0;
            required[slot as usize] = level;
            deepest = deepest.max(level);
        }
        let unit = self.geometry.busy_unit_of(plane);
        let read = self.reads.insert(Read {
            owner,
            unit,
            channel: self.geometry.channel_of(plane),
            block,
            first_place,
            page_type: self.geometry.page_type_of(page % self.geometry.pages_per_block()) as u8,
            looking_ahead: false,
            wanted,
            pending: wanted,
            failed: 0,
            attempt: self.read.first(deepest),
            attempts: 1,
            to_transfer: 0,
            to_decode: 0,
            required,
            queued_at: self.now,
            sensed_at: Ns::ZERO,
            time: ReadTime::default(),
        });
        // Garbage collection's reads are in no more of a hurry than its programs: they wait with them.
        let hurried = self.reads_first && !matches!(owner, Owner::Gc(_));
        self.submit(unit, Work::Read(read), hurried);
    }

    /// Hands work to a unit: done at once if it is idle, else queued.
    #[inline(always)]
    pub(super) fn submit(&mut self, unit: u32, work: Work, hurried: bool) {
        let state = &mut self.units[unit as usize];
        if state.state == ArrayState::Idle {
            state.busy_since = self.now;
            self.begin(unit, work);
        } else if hurried {
            state.reads.push_back(work);
        } else {
            state.others.push_back(work);
        }
    }

    fn begin(&mut self, unit: u32, work: Work) {
        match work {
            Work::Read(read) => {
                let duration = self.sense_time(read, self.reads[read].attempt);
                let op = &mut self.reads[read];
                if op.attempts == 1 {
                    let codewords = u64::from(op.wanted.count_ones());
                    op.time.wait_plane += (self.now - op.queued_at).times(codewords);
                    op.time.sense += duration.times(codewords);
                }
                self.statistics.operations.senses += u64::from(op.attempt.hard);
                self.statistics.operations.extra_levels_sensed += u64::from(op.attempt.extra_levels);
                self.run_array(unit, ArrayState::Sensing(read), duration);
            }
            Work::Program(program) => {
                self.units[unit as usize].state = ArrayState::Loading(program);
                let channel = self.geometry.channel_of(self.programs[program].page.plane);
                self.request_bus(channel, Transfer::Program(program));
            }
            Work::Erase { block } => {
                self.statistics.operations.erases += 1;
                self.run_array(unit, ArrayState::Erasing(block), self.timing.erase);
            }
        }
    }

    /// Puts the array of a unit to something that takes `duration`.
    #[inline]
    fn run_array(&mut self, unit: u32, state: ArrayState, duration: Ns) {
        let ends = self.events.schedule(self.now + duration, Event::ArrayDone { unit });
        let entry = &mut self.units[unit as usize];
        (entry.state, entry.ends) = (state, ends);
    }

    /// The array is free: the next work begins.
    #[inline]
    fn array_free(&mut self, unit: u32) {
        let entry = &mut self.units[unit as usize];
        let next = entry.retries.pop_front().or_else(|| entry.reads.pop_front());
        match next.or_else(|| entry.others.pop_front()) {
            Some(work) => self.begin(unit, work),
            None => {
                entry.state = ArrayState::Idle;
                entry.busy += self.now - entry.busy_since;
            }
        }
    }

    pub(super) fn array_done(&mut self, unit: u32, key: Key) {
        let entry = &mut self.units[unit as usize];
        if entry.ends != key {
            return;
        }
        match entry.state {
            ArrayState::Sensing(read) => self.sensed(unit, read),
            ArrayState::SensingAhead(read) => entry.state = ArrayState::SensedAhead(read),
            ArrayState::Programming(program) => {
                self.program_done(program);
                self.array_free(unit);
            }
            ArrayState::Erasing(block) => {
                self.erase_done(block);
                self.array_free(unit);
            }
            ArrayState::Resetting => self.array_free(unit),
            state => unreachable!("{state:?} ends with no array event"),
        }
    }

    /// A page has been sensed: to the cache register with it, if there is one and it is empty.
    fn sensed(&mut self, unit: u32, read: u32) {
        self.reads[read].sensed_at = self.now;
        if !self.cache_register {
            self.units[unit as usize].state = ArrayState::Holding(read);
            self.start_transfers(read);
        } else if self.units[unit as usize].register == NONE {
            self.latch(unit, read);
        } else {
            self.units[unit as usize].state = ArrayState::Stalled(read);
        }
    }

    /// The page is in the cache register and the array is free: for looking ahead, or for others.
    fn latch(&mut self, unit: u32, read: u32) {
        self.units[unit as usize].register = read;
        self.start_transfers(read);
        if self.read.policy.looks_ahead()
            && !self.units[unit as usize].is_awaited()
            && let Some(next) = self.read.after_failure(self.reads[read].attempt.level)
        {
            let duration = self.sense_time(read, next);
            self.reads[read].looking_ahead = true;
            self.statistics.operations.senses += u64::from(next.hard);
            self.statistics.operations.extra_levels_sensed += u64::from(next.extra_levels);
            self.statistics.operations.look_ahead_senses += 1;
            self.run_array(unit, ArrayState::SensingAhead(read), duration);
        } else {
            self.array_free(unit);
        }
    }

    fn start_transfers(&mut self, read: u32) {
        let op = &mut self.reads[read];
        let (pending, channel) = (op.pending, op.channel);
        let codewords = pending.count_ones() as u8;
        (op.to_transfer, op.to_decode) = (codewords, codewords);
        for slot in slots(pending) {
            self.request_bus(channel, Transfer::Read { read, slot });
        }
    }

    /// A transfer wants the bus: it begins at once, or waits its turn.
    #[inline]
    fn request_bus(&mut self, channel: u32, transfer: Transfer) {
        let entry = &mut self.channels[channel as usize];
        if entry.bus.is_none() && entry.bus_queue.is_empty() {
            self.start_transfer(channel, transfer);
        } else {
            entry.bus_queue.push_back(transfer);
        }
    }

    #[inline]
    fn start_transfer(&mut self, channel: u32, transfer: Transfer) {
        let duration = match transfer {
            Transfer::Read { read, .. } => {
                let op = &mut self.reads[read];
                let hard = if op.attempt.hard { self.timing.transfer } else { Ns::ZERO };
                let duration = hard + self.timing.transfer_extra_level.times(u64::from(op.attempt.extra_levels));
                if op.attempts == 1 {
                    op.time.wait_bus += self.now - op.sensed_at;
                    op.time.transfer += duration;
                }
                duration
            }
            Transfer::Program(_) => self.timing.program_transfer,
        };
        let entry = &mut self.channels[channel as usize];
        entry.bus = Some(transfer);
        entry.bus_busy_ns += duration.0;
        self.events.schedule(self.now + duration, Event::TransferDone { channel });
    }

    pub(super) fn transfer_done(&mut self, channel: u32) {
        match self.channels[channel as usize].bus.take().expect("a transfer was under way") {
            Transfer::Read { read, slot } => {
                self.statistics.operations.transfers += 1;
                self.request_decoder(channel, read, slot);
                let op = &mut self.reads[read];
                op.to_transfer -= 1;
                if op.to_transfer == 0 {
                    let unit = op.unit;
                    self.page_transferred(unit);
                }
            }
            Transfer::Program(program) => {
                let page = self.programs[program].page;
                let kind = self.geometry.page_type_of(page.page);
                let duration = self.timing.page_types[kind as usize].program;
                let unit = self.geometry.busy_unit_of(page.plane);
                self.statistics.operations.programs += 1;
                self.run_array(unit, ArrayState::Programming(program), duration);
            }
        }
        if self.channels[channel as usize].bus.is_none()
            && let Some(transfer) = self.channels[channel as usize].bus_queue.pop_front()
        {
            self.start_transfer(channel, transfer);
        }
    }

    /// The last codeword of a page has left its unit: the register, or the array, is free.
    fn page_transferred(&mut self, unit: u32) {
        if !self.cache_register {
            self.array_free(unit);
            return;
        }
        let entry = &mut self.units[unit as usize];
        entry.register = NONE;
        if let ArrayState::Stalled(next) = entry.state {
            self.latch(unit, next);
        }
    }

    /// A codeword has arrived to be decoded: at once, or in its turn.
    #[inline]
    fn request_decoder(&mut self, channel: u32, read: u32, slot: u32) {
        let entry = &mut self.channels[channel as usize];
        match entry.idle_decoders.pop() {
            Some(decoder) => self.start_decode(channel, decoder, read, slot, self.now),
            None => entry.decoder_queue.push_back((read, slot, self.now)),
        }
    }

    #[inline]
    fn start_decode(&mut self, channel: u32, decoder: u32, read: u32, slot: u32, queued_at: Ns) {
        let duration = self.decode_time(read, slot);
        self.channels[channel as usize].decoder_busy_ns += duration.0;
        let op = &mut self.reads[read];
        if op.attempts == 1 {
            op.time.wait_decoder += self.now - queued_at;
            op.time.decode += duration;
        }
        self.decoding[decoder as usize] = (read, slot);
        self.events.schedule(self.now + duration, Event::DecodeDone { decoder });
    }

    pub(super) fn decode_done(&mut self, decoder: u32) {
        let (read, slot) = self.decoding[decoder as usize];
        self.statistics.operations.decodes += 1;
        let op = &mut self.reads[read];
        let channel = op.channel;
        op.to_decode -= 1;
        let over = op.to_decode == 0;
        if op.required[slot as usize] <= op.attempt.level {
            if matches!(op.owner, Owner::Request(_)) {
                self.count_undetected(read, slot);
            }
            self.codeword_read(read, true);
        } else {
            op.failed |= 1 << slot;
            if op.attempts == 1 {
                // Retries last from the first failure to the end: see `codeword_read`.
                op.time.retries.0 = op.time.retries.0.wrapping_sub(self.now.0);
            }
        }
        match self.channels[channel as usize].decoder_queue.pop_front() {
            Some((read, slot, queued_at)) => self.start_decode(channel, decoder, read, slot, queued_at),
            None => self.channels[channel as usize].idle_decoders.push(decoder),
        }
        if over {
            self.attempt_over(read);
        }
    }

    /// The host gets a codeword that the decoder takes for right.
    #[inline]
    fn count_undetected(&mut self, read: u32, slot: u32) {
        let op = &self.reads[read];
        let place = op.first_place + slot;
        let write = self.ftl.erases(op.block);
        let undetected = self.reliability.undetected(u64::from(place), write, || self.cell_age(place));
        self.statistics.undetected += u64::from(undetected == Some(true));
    }

    /// A codeword has been decoded, or given up.
    fn codeword_read(&mut self, read: u32, decoded: bool) {
        let op = &mut self.reads[read];
        // A codeword that is here in its first attempt, decoded, has never failed.
        if op.attempts > 1 || !decoded {
            op.time.retries.0 = op.time.retries.0.wrapping_add(self.now.0);
        }
        if let Owner::Request(request) = op.owner {
            let (level, retries) = (op.attempt.level, op.attempts - 1);
            self.statistics.codeword_read(level, retries, decoded);
            let active = &mut self.requests[request];
            active.max_level = active.max_level.max(level);
            active.retries = active.retries.saturating_add(u16::from(retries));
            self.codewords_done(request, 1);
        } else if !decoded {
            self.statistics.uncorrectable_in_background += 1;
        }
    }

    /// All decodes of an attempt are over.
    fn attempt_over(&mut self, read: u32) {
        let op = &mut self.reads[read];
        if op.failed == 0 {
            return self.end_read(read);
        }
        let Some(next) = self.read.after_failure(op.attempt.level) else {
            for _ in 0..op.failed.count_ones() {
                self.codeword_read(read, false);
            }
            return self.end_read(read);
        };
        op.attempt = next;
        op.attempts += 1;
        op.pending = std::mem::take(&mut op.failed);
        let unit = op.unit;
        if std::mem::take(&mut op.looking_ahead) {
            match self.units[unit as usize].state {
                ArrayState::SensingAhead(_) => self.units[unit as usize].state = ArrayState::Sensing(read),
                ArrayState::SensedAhead(_) => self.sensed(unit, read),
                state => unreachable!("{state:?} while looking ahead"),
            }
        } else if self.units[unit as usize].state == ArrayState::Idle {
            self.submit(unit, Work::Read(read), true);
        } else {
            self.units[unit as usize].retries.push_back(Work::Read(read));
        }
    }

    /// Every codeword of a page read has been decoded or given up.
    fn end_read(&mut self, read: u32) {
        let Read { owner, unit, block, first_place, wanted, looking_ahead, .. } = self.reads[read];
        if matches!(owner, Owner::Request(_)) {
            self.statistics.read_time += self.reads[read].time;
        }
        self.reads.remove(read);
        self.ftl.read_ends(block);
        if looking_ahead {
            self.statistics.operations.look_ahead_wasted += 1;
            if matches!(self.units[unit as usize].state, ArrayState::SensingAhead(_)) {
                self.statistics.operations.resets += 1;
                if self.timing.reset > Ns::ZERO {
                    self.run_array(unit, ArrayState::Resetting, self.timing.reset);
                } else {
                    self.units[unit as usize].ends = 0;
                    self.array_free(unit);
                }
            } else {
                self.array_free(unit);
            }
        }
        match owner {
            Owner::Request(_) => {}
            Owner::Modify { request, lcn } => self.write_codewords_whole(request, lcn..lcn + 1),
            Owner::Gc(plane) => self.gc_page_read(plane, first_place, wanted),
        }
        self.gc_reads_of_block_ended(block);
    }

    #[inline]
    fn sense_time(&self, read: u32, attempt: Attempt) -> Ns {
        let page_type = &self.timing.page_types[self.reads[read].page_type as usize];
        let hard = if attempt.hard { page_type.sense } else { Ns::ZERO };
        hard + page_type.sense_extra_level.times(u64::from(attempt.extra_levels))
    }

    #[inline]
    fn decode_time(&self, read: u32, slot: u32) -> Ns {
        match self.timing.decode {
            DecodeTime::Fixed(duration) => duration,
            DecodeTime::PerIteration(duration) => {
                let op = &self.reads[read];
                let place = op.first_place + slot;
                let (level, success) = (op.attempt.level, op.required[slot as usize] <= op.attempt.level);
                let (write, age) = (self.ftl.erases(op.block), self.cell_age(place));
                let iterations = self.reliability.decode_iterations(u64::from(place), write, level, success, &age);
                duration.times(u64::from(iterations.expect("the config was checked to know iterations")))
            }
        }
    }

    /// Where a codeword lies and what its cells have been through, now.
    fn cell_age(&self, place: Place) -> CellAge {
        let (block, page) = (self.ftl.block_of(place), self.ftl.page_of(place));
        let plane = self.ftl.plane_of_block(block);
        let page_type = self.geometry.page_type_of(page % self.geometry.pages_per_block());
        let now_s = self.now.as_secs();
        let retention_hours = match self.ftl.written_s(page) {
            Some(written_s) => (now_s - f64::from(written_s)).max(0.0) / 3600.0,
            None => self.initial_retention_hours + now_s / 3600.0,
        };
        CellAge {
            chip: u64::from(self.geometry.chip_of(plane)),
            block: u64::from(block),
            page: u64::from(page),
            page_type: (self.timing.page_types.len() > 1).then_some(page_type as usize),
            page_type_factor: self.timing.page_types[page_type as usize].rber_factor,
            wear: Wear { pe_cycles: self.initial_pe_cycles + self.ftl.erases(block), retention_hours },
        }
    }
}
