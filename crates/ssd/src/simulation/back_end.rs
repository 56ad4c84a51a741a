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
//!
//! A read of interleaved codewords senses the pages of its group in as many units, each in its turn; each
//! channel transfers what its pages have of a codeword, an n-th, and the codeword is decoded when all of it has arrived.

use std::collections::VecDeque;

use softsense_base::{Ns, Pj};
use softsense_link::{Attempt, CellAge};
use softsense_nand::Wear;

use super::statistics::ReadTime;
use super::{DecodeTime, Simulation};
use crate::config::BypassSpec;
use crate::events::{Event, Key, instant};
use crate::ftl::{Group, Lcn, ones};

const NONE: u32 = u32::MAX;

/// Whom a page read is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A host read.
    Request(u32),
    /// A host write that covers a codeword in part.
    Modify { request: u32, lcn: Lcn },
    /// Garbage collection of a set.
    Gc(u32),
    /// Requests that wait for a translation page.
    Load { page: u32 },
    /// The update of a translation page.
    WriteBack { page: u32 },
}

/// A read of a page, or of a group of interleaved ones, from its first sensing to the last decode of its last attempt.
#[derive(Debug, Clone)]
pub(super) struct Read {
    owner: Owner,
    group: Group,
    page_type: u8,
    /// What is asked for, bits of the group; codewords of this attempt; those of them that have failed. They are the same bits,
    /// unless the page is one codeword, which is bit 0.
    wanted: u16,
    pending: u16,
    failed: u16,
    attempt: Attempt,
    attempts: u8,
    /// Whether the first attempt was above level 1.
    soft_start: bool,
    to_decode: u8,
    /// Of each codeword, the pages whose part of it has yet to arrive; kept only where there are several.
    to_arrive: [u8; 16],
    /// Required level of each codeword.
    required: [u8; 16],
    queued_at: Ns,
    time: ReadTime,
    energy: Pj,
}

/// What a read has to do with one page of its group. Parts are numbered read x ways + member.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    /// First attempt: when its sensing began.
    sensing_from: Ns,
    sensed_at: Ns,
    /// Codewords that wait for the bus or are on it.
    to_transfer: u8,
    /// Whether the unit is sensing the next level, or has, before the outcome of this one is known.
    looking_ahead: bool,
}

/// A program of a page, or of a group of interleaved ones at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) group: Group,
    pub(super) writer: ProgramOwner,
    /// Pages whose program has not ended.
    pub(super) remaining: u8,
}

/// Whom a page program is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramOwner {
    /// A host write, so many of its codewords.
    Request { request: u32, codewords: u32 },
    /// The write buffer; one of its flights.
    Buffer { flight: u32 },
    /// The update of a translation page.
    Translation { page: u32 },
    /// Garbage collection of the set.
    Gc,
}

/// What a decoder of a pool is at: a bit of the group of a read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decoding {
    pool: u32,
    read: u32,
    bit: u32,
}

/// What waits for, or is done by, a busy unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A part of a read.
    Read(u32),
    /// A part of a program, numbered like those of reads.
    Program(u32),
    /// One of the blocks of a superblock.
    Erase { superblock: u32 },
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
    /// The part of a read whose page is in the cache register, waiting for the bus or on it.
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
        self.waiting() > 0
    }

    /// Operations that wait.
    pub(super) fn waiting(&self) -> usize {
        self.retries.len() + self.reads.len() + self.others.len()
    }
}

#[derive(Debug, Clone, Copy)]
enum Transfer {
    /// What a part of a read has of a codeword, which is a bit of the group.
    Read { part: u32, bit: u32 },
    /// A part of a program: a page.
    Program(u32),
}

/// A channel: one bus, and the decoders it brings codewords to.
#[derive(Debug)]
pub(super) struct Channel {
    bus: Option<Transfer>,
    bus_queue: VecDeque<Transfer>,
    pub(super) bus_busy_ns: u64,
    pool: u32,
    /// Since when the codeword on the bus is there, but the decoders have no room for it.
    held_since: Option<Ns>,
}

impl Channel {
    /// A channel whose codewords are decoded by a pool.
    pub(super) fn new(pool: u32) -> Self {
        Self { bus: None, bus_queue: VecDeque::new(), bus_busy_ns: 0, pool, held_since: None }
    }
}

/// Decoders that serve one channel, or all.
#[derive(Debug)]
pub(super) struct DecoderPool {
    idle: Vec<u32>,
    queue: VecDeque<(u32, u32, Ns)>,
    pub(super) busy_ns: u64,
    buffer_codewords: usize,
    /// Channels that hold a codeword for which there is no room.
    holding: VecDeque<u32>,
}

impl DecoderPool {
    /// Pool `index` of the device, with so many codewords in work at most, and so many that may wait, without a bound if none
    /// is given.
    pub(super) fn new(index: u32, in_work: u32, buffer_codewords: Option<u32>) -> Self {
        Self {
            idle: (index * in_work..(index + 1) * in_work).rev().collect(),
            queue: VecDeque::new(),
            busy_ns: 0,
            buffer_codewords: buffer_codewords.map_or(usize::MAX, |buffer| buffer as usize),
            holding: VecDeque::new(),
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        !self.idle.is_empty() || self.queue.len() < self.buffer_codewords
    }
}

impl Simulation {
    /// Begins to read the codewords `wanted`, bits of a group.
    pub(super) fn start_read(&mut self, owner: Owner, group: Group, wanted: u16) {
        self.ftl.read_begins(group.superblock);
        let mut required = [0; 16];
        let (mut deepest, mut remembered) = (1, 1);
        let codewords = if self.pages_are_codewords { 1 } else { wanted };
        for bit in ones(codewords) {
            let place = self.geometry.place(group.superblock, group.page, bit);
            if self.translation.is_some()
                && let Some(lcn) = self.ftl.owner(place)
            {
                remembered = remembered.max(self.remembered_level(lcn).unwrap_or(1));
            }
            let write = self.ftl.erases(group.superblock);
            let age = |part| self.cell_age(group, part);
            let level = self.reliability.required_level(u64::from(place), write, group.pages(), age).0;
            required[bit as usize] = level;
            deepest = deepest.max(level);
        }
        let attempt = self.read.first(deepest, remembered);
        let read = self.reads.insert(Read {
            owner,
            group,
            page_type: self.geometry.page_type_of(group.page) as u8,
            wanted,
            pending: codewords,
            failed: 0,
            attempt,
            attempts: 1,
            soft_start: attempt.level > 1,
            to_decode: 0,
            to_arrive: [0; 16],
            required,
            queued_at: self.now,
            time: ReadTime::default(),
            energy: Pj::default(),
        });
        let ways = self.geometry.ways();
        if self.parts.len() < ((read + 1) * ways) as usize {
            self.parts.resize(((read + 1) * ways) as usize, Part::default());
        }
        self.begin_attempt(read);
        // Garbage collection's reads are in no more of a hurry than its programs: they wait with them.
        let hurried = self.reads_first && !matches!(owner, Owner::Gc(_) | Owner::WriteBack { .. });
        for member in group.members() {
            let unit = self.unit_of(group, member);
            self.submit(unit, Work::Read(read * ways + member), hurried);
        }
    }

    /// The pending codewords of a read will be transferred and decoded.
    #[inline]
    fn begin_attempt(&mut self, read: u32) {
        let op = &mut self.reads[read];
        op.to_decode = op.pending.count_ones() as u8;
        let pages = op.group.pages() as u8;
        if pages > 1 {
            op.to_arrive.fill(pages);
        }
    }

    /// The unit that has a page of a group.
    #[inline]
    pub(super) fn unit_of(&self, group: Group, member: u32) -> u32 {
        self.geometry.busy_unit_of(self.geometry.plane_of(group.set, member))
    }

    /// The channel of a page of a group.
    #[inline]
    fn channel_of(&self, group: Group, member: u32) -> u32 {
        self.geometry.channel_of(self.geometry.plane_of(group.set, member))
    }

    /// The read, or program, and the member that a part is of.
    #[inline]
    fn of_part(&self, part: u32) -> (u32, u32) {
        let ways = self.geometry.ways();
        if ways == 1 { (part, 0) } else { (part / ways, part % ways) }
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
            Work::Read(part) => {
                let (read, _) = self.of_part(part);
                let duration = self.sense(read, self.reads[read].attempt);
                self.parts[part as usize].sensing_from = self.now;
                self.run_array(unit, ArrayState::Sensing(part), duration);
            }
            Work::Program(part) => {
                self.units[unit as usize].state = ArrayState::Loading(part);
                let (program, member) = self.of_part(part);
                let channel = self.channel_of(self.programs[program].group, member);
                self.request_bus(channel, Transfer::Program(part));
            }
            Work::Erase { superblock } => {
                self.statistics.operations.erases += 1;
                self.statistics.energy.erase += self.energy.erase;
                self.statistics.energy.background += self.energy.erase;
                self.run_array(unit, ArrayState::Erasing(superblock), self.timing.erase);
            }
        }
    }

    /// Counts the sensing of a page for an attempt, and returns how long it takes.
    fn sense(&mut self, read: u32, attempt: Attempt) -> Ns {
        let (hard, extra) = self.sense_energy(attempt);
        self.statistics.operations.senses += u64::from(attempt.hard);
        self.statistics.operations.extra_levels_sensed += u64::from(attempt.extra_levels);
        self.statistics.energy.sense += hard;
        self.statistics.energy.sense_extra_levels += extra;
        self.reads[read].energy += hard + extra;
        self.sense_time(read, attempt)
    }

    /// What sensing a page for an attempt costs: the hard-decision level, and the extra ones.
    fn sense_energy(&self, attempt: Attempt) -> (Pj, Pj) {
        let hard = if attempt.hard { self.energy.sense } else { Pj::default() };
        (hard, self.energy.sense_extra_level.times(u64::from(attempt.extra_levels)))
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
            ArrayState::Sensing(part) => self.sensed(unit, part),
            ArrayState::SensingAhead(part) => entry.state = ArrayState::SensedAhead(part),
            ArrayState::Programming(part) => {
                self.program_done(self.of_part(part).0);
                self.array_free(unit);
            }
            ArrayState::Erasing(superblock) => {
                self.erase_done(superblock);
                self.array_free(unit);
            }
            ArrayState::Resetting => self.array_free(unit),
            state => unreachable!("{state:?} ends with no array event"),
        }
    }

    /// A page has been sensed: to the cache register with it, if there is one and it is empty.
    fn sensed(&mut self, unit: u32, part: u32) {
        self.parts[part as usize].sensed_at = self.now;
        if !self.cache_register {
            self.units[unit as usize].state = ArrayState::Holding(part);
            self.start_transfers(part);
        } else if self.units[unit as usize].register == NONE {
            self.latch(unit, part);
        } else {
            self.units[unit as usize].state = ArrayState::Stalled(part);
        }
    }

    /// The page is in the cache register and the array is free: for looking ahead, or for others.
    fn latch(&mut self, unit: u32, part: u32) {
        self.units[unit as usize].register = part;
        self.start_transfers(part);
        let (read, _) = self.of_part(part);
        if self.read.policy.looks_ahead()
            && !self.units[unit as usize].is_awaited()
            && let Some(next) = self.read.after_failure(self.reads[read].attempt.level)
        {
            let duration = self.sense(read, next);
            self.parts[part as usize].looking_ahead = true;
            self.statistics.operations.look_ahead_senses += 1;
            self.run_array(unit, ArrayState::SensingAhead(part), duration);
        } else {
            self.array_free(unit);
        }
    }

    fn start_transfers(&mut self, part: u32) {
        let (read, member) = self.of_part(part);
        let Read { pending, group, .. } = self.reads[read];
        self.parts[part as usize].to_transfer = pending.count_ones() as u8;
        let channel = self.channel_of(group, member);
        for bit in ones(pending) {
            self.request_bus(channel, Transfer::Read { part, bit });
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
            Transfer::Read { part, .. } => self.transfer_time(self.of_part(part).0),
            Transfer::Program(_) => self.timing.program_transfer,
        };
        let entry = &mut self.channels[channel as usize];
        entry.bus = Some(transfer);
        entry.bus_busy_ns += duration.0;
        self.events.schedule(self.now + duration, Event::TransferDone { channel });
    }

    pub(super) fn transfer_done(&mut self, channel: u32) {
        let Channel { bus, pool, .. } = self.channels[channel as usize];
        if let Some(Transfer::Read { part, bit }) = bus
            && !self.pools[pool as usize].has_room()
            && !self.bypasses(self.of_part(part).0, bit)
        {
            self.channels[channel as usize].held_since = Some(self.now);
            self.pools[pool as usize].holding.push_back(channel);
            return;
        }
        self.leave_bus(channel, self.now);
    }

    /// Whether a codeword, with hard decision, needs no decoder.
    #[inline]
    fn bypasses(&self, read: u32, bit: u32) -> bool {
        self.bypass.is_some_and(|bypass| self.has_few_errors(read, bit, bypass))
    }

    fn has_few_errors(&self, read: u32, bit: u32, bypass: BypassSpec) -> bool {
        let op = &self.reads[read];
        if op.attempt.level > 1 {
            return false;
        }
        let place = u64::from(self.geometry.place(op.group.superblock, op.group.page, bit));
        let (write, pages) = (self.ftl.erases(op.group.superblock), op.group.pages());
        let age = |part| self.cell_age(op.group, part);
        let few = self.reliability.has_few_errors(place, write, pages, age, bypass.errors, bypass.codeword_bits);
        few.expect("the config was checked to know raw bit error rates")
    }

    /// What was on the bus is handed over, and the next transfer begins. The transfer had ended at `ended`.
    fn leave_bus(&mut self, channel: u32, ended: Ns) {
        match self.channels[channel as usize].bus.take().expect("a transfer was under way") {
            Transfer::Read { part, bit } => {
                self.part_arrived(part, bit, ended);
                let state = &mut self.parts[part as usize];
                state.to_transfer -= 1;
                if state.to_transfer == 0 {
                    let (read, member) = self.of_part(part);
                    self.page_transferred(self.unit_of(self.reads[read].group, member));
                }
            }
            Transfer::Program(part) => {
                let (program, member) = self.of_part(part);
                let Program { group, writer, .. } = self.programs[program];
                let kind = self.geometry.page_type_of(group.page);
                let duration = self.timing.page_types[kind as usize].program;
                let unit = self.unit_of(group, member);
                self.statistics.operations.programs += 1;
                self.statistics.energy.program += self.energy.program;
                match writer {
                    ProgramOwner::Request { request, .. } => {
                        self.requests[request].energy += self.energy.program;
                        self.statistics.energy.writes += self.energy.program;
                    }
                    ProgramOwner::Buffer { .. } => self.statistics.energy.writes += self.energy.program,
                    ProgramOwner::Gc | ProgramOwner::Translation { .. } => {
                        self.statistics.energy.background += self.energy.program;
                    }
                }
                self.run_array(unit, ArrayState::Programming(part), duration);
            }
        }
        if self.channels[channel as usize].bus.is_none()
            && let Some(transfer) = self.channels[channel as usize].bus_queue.pop_front()
        {
            self.start_transfer(channel, transfer);
        }
    }

    /// The controller has what a part has of a codeword. With the last one, the codeword goes to a decoder of the channel of
    /// its own place, and its time so far is that of this part, whose transfer had ended at `ended`.
    #[inline]
    fn part_arrived(&mut self, part: u32, bit: u32, ended: Ns) {
        let (read, _) = self.of_part(part);
        let duration = self.transfer_time(read);
        let op = &mut self.reads[read];
        if op.group.pages() > 1 {
            op.to_arrive[bit as usize] -= 1;
            if op.to_arrive[bit as usize] > 0 {
                return;
            }
        }
        if op.attempts == 1 {
            let Part { sensing_from, sensed_at, .. } = self.parts[part as usize];
            op.time.wait_plane += sensing_from - op.queued_at;
            op.time.sense += sensed_at - sensing_from;
            op.time.wait_bus += ended - duration - sensed_at;
            op.time.transfer += duration;
        }
        let hard = if op.attempt.hard { self.energy.transfer } else { Pj::default() };
        let energy = hard + self.energy.transfer_extra_level.times(u64::from(op.attempt.extra_levels));
        op.energy += energy;
        self.statistics.energy.transfer += energy;
        self.statistics.operations.transfers += 1;
        let channel = self.channel_of(self.reads[read].group, self.geometry.member_of(bit));
        if self.bypasses(read, bit) {
            self.bypass_decoders(read, bit);
        } else {
            self.request_decoder(self.channels[channel as usize].pool, read, bit, ended);
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

    /// A codeword that needs no decoder is as good as decoded.
    fn bypass_decoders(&mut self, read: u32, bit: u32) {
        self.statistics.operations.bypasses += 1;
        // With so few errors hard decision is all it needs.
        self.reads[read].required[bit as usize] = 1;
        let decoding = Decoding { pool: NONE, read, bit };
        let index = match self.not_bypassing.pop() {
            Some(index) => {
                self.decoding[index as usize] = decoding;
                index
            }
            None => {
                self.decoding.push(decoding);
                self.decoding.len() as u32 - 1
            }
        };
        self.count_service(read, Ns::ZERO);
        self.events.schedule(self.now, Event::DecodeDone { decoder: index });
    }

    /// Counts what an attempt at a codeword takes by itself, if the host reads it.
    #[inline]
    fn count_service(&mut self, read: u32, decode: Ns) {
        if matches!(self.reads[read].owner, Owner::Request(_)) {
            let attempt = self.sense_time(read, self.reads[read].attempt) + self.transfer_time(read);
            self.statistics.read_service += attempt + decode;
        }
    }

    /// A codeword has arrived to be decoded, at `arrived`: at once, or in its turn.
    #[inline]
    fn request_decoder(&mut self, pool: u32, read: u32, bit: u32, arrived: Ns) {
        let entry = &mut self.pools[pool as usize];
        match entry.idle.pop() {
            Some(decoder) => self.start_decode(pool, decoder, read, bit, arrived),
            None => entry.queue.push_back((read, bit, arrived)),
        }
    }

    #[inline]
    fn start_decode(&mut self, pool: u32, decoder: u32, read: u32, bit: u32, queued_at: Ns) {
        let duration = self.decode_time(read, bit);
        self.pools[pool as usize].busy_ns += duration.0;
        self.count_service(read, duration);
        let op = &mut self.reads[read];
        if op.attempts == 1 {
            op.time.wait_decoder += self.now - queued_at;
            op.time.decode += duration;
        }
        self.decoding[decoder as usize] = Decoding { pool, read, bit };
        self.events.schedule(self.now + duration, Event::DecodeDone { decoder });
    }

    pub(super) fn decode_done(&mut self, decoder: u32) {
        let Decoding { pool, read, bit } = self.decoding[decoder as usize];
        let op = &mut self.reads[read];
        if pool != NONE {
            self.statistics.operations.decodes += 1;
            self.statistics.energy.decode += self.energy.decode;
            op.energy += self.energy.decode;
        }
        op.to_decode -= 1;
        let over = op.to_decode == 0;
        let decoded = op.required[bit as usize] <= op.attempt.level;
        if !decoded {
            op.failed |= 1 << bit;
            if op.attempts == 1 {
                // Retries last from the first failure to the end: see `codeword_read`.
                op.time.retries.0 = op.time.retries.0.wrapping_sub(self.now.0);
            }
        }
        if pool == NONE {
            self.not_bypassing.push(decoder);
        } else {
            self.decoder_free(pool, decoder);
        }
        if over {
            self.settle(read);
        }
        if decoded {
            if matches!(self.reads[read].owner, Owner::Request(_)) {
                self.count_undetected(read, bit);
            }
            if self.translation.is_some() {
                let Read { group, attempt, attempts, .. } = self.reads[read];
                if let Some(lcn) = self.ftl.owner(self.geometry.place(group.superblock, group.page, bit)) {
                    self.remember_level(lcn, attempt.level, attempts == 1);
                }
            }
            self.codeword_read(read, true);
        }
        if over {
            self.attempt_over(read);
        }
    }

    /// A decoder takes what has waited longest; a channel that has held a codeword for want of room lets it go.
    #[inline]
    fn decoder_free(&mut self, pool: u32, decoder: u32) {
        match self.pools[pool as usize].queue.pop_front() {
            Some((read, bit, queued_at)) => self.start_decode(pool, decoder, read, bit, queued_at),
            None => self.pools[pool as usize].idle.push(decoder),
        }
        if let Some(channel) = self.pools[pool as usize].holding.pop_front() {
            let ended = self.channels[channel as usize].held_since.take().expect("the channel holds a codeword");
            self.leave_bus(channel, ended);
        }
    }

    /// All decodes of an attempt are over. If none has failed, or nothing is left to try, no sensing ahead is of use, and
    /// whoever asked for the read is charged for it.
    #[inline]
    fn settle(&mut self, read: u32) {
        let Read { owner, group, failed, attempt, .. } = self.reads[read];
        if failed != 0 && self.read.after_failure(attempt.level).is_some() {
            return;
        }
        if self.read.policy.looks_ahead() {
            for member in group.members() {
                let part = read * self.geometry.ways() + member;
                if std::mem::take(&mut self.parts[part as usize].looking_ahead) {
                    self.stop_looking_ahead(read, self.unit_of(group, member));
                }
            }
        }
        let energy = self.reads[read].energy;
        match owner {
            Owner::Request(request) => {
                self.requests[request].energy += energy;
                self.statistics.energy.reads += energy;
            }
            Owner::Modify { request, .. } => {
                self.requests[request].energy += energy;
                self.statistics.energy.writes += energy;
            }
            Owner::Gc(_) | Owner::Load { .. } | Owner::WriteBack { .. } => self.statistics.energy.background += energy,
        }
    }

    /// The level that a unit senses ahead, or has, is not needed.
    fn stop_looking_ahead(&mut self, read: u32, unit: u32) {
        self.statistics.operations.look_ahead_wasted += 1;
        let BusyUnit { state, ends, .. } = self.units[unit as usize];
        if !matches!(state, ArrayState::SensingAhead(_)) {
            return self.array_free(unit);
        }
        self.statistics.operations.resets += 1;
        let next = self.read.after_failure(self.reads[read].attempt.level).expect("it was sensed ahead");
        let (left, whole) = (instant(ends) - self.now, self.sense_time(read, next));
        let (hard, extra) = self.sense_energy(next);
        let (hard, extra) = (hard.share(left, whole), extra.share(left, whole));
        self.statistics.energy.sense -= hard;
        self.statistics.energy.sense_extra_levels -= extra;
        self.statistics.energy.cut_short += hard + extra;
        self.reads[read].energy -= hard + extra;
        if self.timing.reset > Ns::ZERO {
            self.run_array(unit, ArrayState::Resetting, self.timing.reset);
        } else {
            self.units[unit as usize].ends = 0;
            self.array_free(unit);
        }
    }

    /// The host gets a codeword that the decoder takes for right.
    #[inline]
    fn count_undetected(&mut self, read: u32, bit: u32) {
        let group = self.reads[read].group;
        let place = self.geometry.place(group.superblock, group.page, bit);
        let write = self.ftl.erases(group.superblock);
        let age = |part| self.cell_age(group, part);
        let undetected = self.reliability.undetected(u64::from(place), write, group.pages(), age);
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
            self.statistics.interleaved_codewords += u64::from(op.group.pages() > 1);
            self.statistics.soft_starts += u64::from(op.soft_start);
            self.statistics.codeword_read(level, retries, decoded);
            let active = &mut self.requests[request];
            active.max_level = active.max_level.max(level);
            active.retries = active.retries.saturating_add(u16::from(retries));
            let asked = if self.pages_are_codewords { self.reads[read].wanted.count_ones() } else { 1 };
            self.codewords_done(request, asked);
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
        let group = op.group;
        self.begin_attempt(read);
        for member in group.members() {
            let (part, unit) = (read * self.geometry.ways() + member, self.unit_of(group, member));
            if std::mem::take(&mut self.parts[part as usize].looking_ahead) {
                match self.units[unit as usize].state {
                    ArrayState::SensingAhead(_) => self.units[unit as usize].state = ArrayState::Sensing(part),
                    ArrayState::SensedAhead(_) => self.sensed(unit, part),
                    state => unreachable!("{state:?} while looking ahead"),
                }
            } else if self.units[unit as usize].state == ArrayState::Idle {
                self.submit(unit, Work::Read(part), true);
            } else {
                self.units[unit as usize].retries.push_back(Work::Read(part));
            }
        }
    }

    /// Every codeword of a read has been decoded or given up.
    fn end_read(&mut self, read: u32) {
        let Read { owner, group, wanted, .. } = self.reads[read];
        if matches!(owner, Owner::Request(_)) {
            self.statistics.read_time += self.reads[read].time;
        }
        self.reads.remove(read);
        self.ftl.read_ends(group.superblock);
        match owner {
            Owner::Request(_) => {}
            Owner::Modify { request, lcn } => self.write_codewords_whole(request, lcn..lcn + 1),
            Owner::Gc(set) => self.gc_group_read(set, group, wanted),
            Owner::Load { page } => self.loaded(page),
            Owner::WriteBack { page } => self.program_translation(page),
        }
        self.gc_reads_ended(group);
    }

    #[inline]
    fn sense_time(&self, read: u32, attempt: Attempt) -> Ns {
        let page_type = &self.timing.page_types[self.reads[read].page_type as usize];
        let hard = if attempt.hard { page_type.sense } else { Ns::ZERO };
        hard + page_type.sense_extra_level.times(u64::from(attempt.extra_levels))
    }

    /// How long what one page has of a codeword occupies the bus.
    #[inline]
    fn transfer_time(&self, read: u32) -> Ns {
        let op = &self.reads[read];
        let hard = if op.attempt.hard { self.timing.transfer } else { Ns::ZERO };
        let whole = hard + self.timing.transfer_extra_level.times(u64::from(op.attempt.extra_levels));
        let pages = op.group.pages();
        if pages == 1 { whole } else { Ns(whole.0.div_ceil(u64::from(pages))) }
    }

    #[inline]
    fn decode_time(&self, read: u32, bit: u32) -> Ns {
        match self.timing.decode {
            DecodeTime::Fixed(duration) => duration,
            DecodeTime::PerIteration(duration) => {
                let op = &self.reads[read];
                let place = u64::from(self.geometry.place(op.group.superblock, op.group.page, bit));
                let (level, success) = (op.attempt.level, op.required[bit as usize] <= op.attempt.level);
                let (write, pages) = (self.ftl.erases(op.group.superblock), op.group.pages());
                let age = |part| self.cell_age(op.group, part);
                let iterations = self.reliability.decode_iterations(place, write, level, success, pages, age);
                duration.times(u64::from(iterations.expect("the config was checked to know iterations")))
            }
        }
    }

    /// Where a page of a group lies and what its cells have been through, now.
    ///
    /// # Arguments
    /// - `part`: which of its pages, counted from 0.
    pub(super) fn cell_age(&self, group: Group, part: u32) -> CellAge {
        let member = group.member(part);
        let plane = self.geometry.plane_of(group.set, member);
        let page = self.geometry.page_in(group.superblock, group.page, member);
        let page_type = self.geometry.page_type_of(group.page);
        let now_s = self.now.as_secs();
        let retention_hours = match self.ftl.written_s(page) {
            Some(written_s) => (now_s - f64::from(written_s)).max(0.0) / 3600.0,
            None => self.initial_retention_hours + now_s / 3600.0,
        };
        CellAge {
            chip: u64::from(self.geometry.chip_rank(self.geometry.chip_of(plane))),
            block: u64::from(self.geometry.block_in(group.superblock, member)),
            page: u64::from(page),
            page_type: (self.timing.page_types.len() > 1).then_some(page_type as usize),
            page_type_factor: self.timing.page_types[page_type as usize].rber_factor,
            wear: Wear { pe_cycles: self.initial_pe_cycles + self.ftl.erases(group.superblock), retention_hours },
        }
    }
}
