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
//!
//! What waits for what has one direction: a unit for the bus, the bus for room at the decoders, and decoders for nothing. Room is
//! asked for by the part of a codeword that arrives last, and by no other; whoever is let in takes it. So no read waits for ever.
//!
//! A unit of several BCH codewords is done when the last of them is decoded: they follow one another through bus and decoder.
//! A read of units that cross pages senses the pages of a run, one after the other, and is otherwise one of a group.

use std::collections::VecDeque;

use softsense_base::{Ns, Pj, TotalNs};
use softsense_link::{Attempt, CellAge};
use softsense_nand::Wear;

use super::statistics::ReadTime;
use super::{CodeTiming, DecodeTime, Simulation};
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
    /// What is asked for, bits of the group; codewords of this attempt; those of them that are not decoded yet; those that have
    /// failed. All are the same bits, unless the page is one codeword, which is bit 0, or units have several codewords.
    wanted: u16,
    pending: u16,
    undecided: u16,
    failed: u16,
    codewords_per_unit: u8,
    attempt: Attempt,
    attempts: u8,
    /// Whether the first attempt was above level 1.
    soft_start: bool,
    /// Of each codeword, the pages whose part of it has yet to arrive; kept only where there are several.
    to_arrive: [u8; 16],
    /// Required level of each codeword.
    required: [u8; 16],
    queued_at: Ns,
    time: ReadTime,
    energy: Pj,
}

/// What a read has to do with one page of its group. Parts are numbered read x (parts of a read) + member.
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

/// A codeword that has arrived to be decoded.
#[derive(Debug, Clone, Copy, Default)]
struct Arrived {
    /// The part of its read that was the last to arrive.
    part: u32,
    /// A bit of the group.
    bit: u32,
    at: Ns,
}

/// What a decoder of a pool is at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Decoding {
    pool: u32,
    codeword: Arrived,
    began: Ns,
}

/// A codeword as [`softsense_link::Reliability`] knows it.
#[derive(Debug, Clone, Copy)]
struct Codeword {
    /// Its number in the device.
    number: u64,
    /// How often its block has been written.
    write: u32,
    /// Members of its group that it is divided among: how many, from which one on.
    parts: u32,
    first: u32,
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
    /// Since when the codeword on the bus is whole, but its decoders have no room for it.
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
    queue: VecDeque<Arrived>,
    pub(super) busy: TotalNs,
    buffer_codewords: usize,
    /// Channels that hold the last part of a codeword for which there is no room; none while there is.
    holding: VecDeque<u32>,
}

impl DecoderPool {
    /// Pool `index` of the device, with so many codewords in work at most, and so many that may wait, without a bound if none
    /// is given.
    pub(super) fn new(index: u32, in_work: u32, buffer_codewords: Option<u32>) -> Self {
        Self {
            idle: (index * in_work..(index + 1) * in_work).rev().collect(),
            queue: VecDeque::new(),
            busy: TotalNs::default(),
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
        let group = self.ftl.with_all_of(group, wanted);
        let mut required = [0; 16];
        let (mut deepest, mut remembered) = (1, 1);
        let per_unit = match &self.timing.codes {
            Some(codes) => codes.at(|| self.ftl.erases(group.superblock)).codewords_per_unit,
            None => 1,
        };
        let codewords = if self.pages_are_codewords { 1 } else { codewords_of(wanted, per_unit) };
        for bit in ones(codewords) {
            if self.translation.is_some()
                && let Some(lcn) = self.ftl.owner(self.geometry.place(group.superblock, group.page, bit))
            {
                remembered = remembered.max(self.remembered_level(lcn).unwrap_or(1));
            }
            let Codeword { number, write, parts, first } = self.codeword(group, per_unit, bit);
            let age = |part| self.cell_age(group, first + part);
            let level = self.reliability.required_level(number, write, parts, age).0;
            required[bit as usize] = level;
            deepest = deepest.max(level);
            if matches!(owner, Owner::Request(_)) {
                let beyond = self.reliability.is_beyond_table(number, write, parts, age);
                self.statistics.crossing_units += u64::from(self.ftl.crosses_pages() && parts > 1);
                self.statistics.beyond_table += u64::from(beyond);
            }
        }
        let attempt = self.read.first(deepest, remembered);
        let read = self.reads.insert(Read {
            owner,
            group,
            page_type: self.geometry.page_type_of(group.page) as u8,
            wanted,
            pending: codewords,
            undecided: 0,
            failed: 0,
            codewords_per_unit: per_unit as u8,
            attempt,
            attempts: 1,
            soft_start: attempt.level > 1,
            to_arrive: [0; 16],
            required,
            queued_at: self.now,
            time: ReadTime::default(),
            energy: Pj::default(),
        });
        if self.parts.len() < ((read + 1) * self.parts_per_read) as usize {
            self.parts.resize(((read + 1) * self.parts_per_read) as usize, Part::default());
        }
        self.begin_attempt(read);
        // Garbage collection's reads are in no more of a hurry than its programs: they wait with them.
        let hurried = self.reads_first && !matches!(owner, Owner::Gc(_) | Owner::WriteBack { .. });
        for member in group.members() {
            let unit = self.unit_of(group, member);
            self.submit(unit, Work::Read(read * self.parts_per_read + member), hurried);
        }
    }

    /// The pending codewords of a read will be transferred and decoded.
    #[inline]
    fn begin_attempt(&mut self, read: u32) {
        let Read { group, pending, codewords_per_unit, .. } = self.reads[read];
        self.reads[read].undecided = pending;
        if group.pages() > 1 {
            for bit in ones(pending) {
                let parts = self.codeword(group, codewords_per_unit.into(), bit).parts;
                self.reads[read].to_arrive[bit as usize] = parts as u8;
            }
        }
    }

    /// The codeword that is a bit of a group, of whose units each has `per_unit`.
    #[inline]
    fn codeword(&self, group: Group, per_unit: u32, bit: u32) -> Codeword {
        let unit = if per_unit == 1 { bit } else { bit / per_unit };
        let place = self.geometry.place(group.superblock, group.page, unit);
        let number = place * u64::from(per_unit) + u64::from(bit - unit * per_unit);
        let write = self.ftl.erases(group.superblock);
        if !self.ftl.crosses_pages() {
            return Codeword { number, write, parts: group.pages(), first: group.first() };
        }
        let (page, slot) = self.page_and_slot(unit);
        let crosses = self.ftl.layout(group.superblock).crosses(group.page + page, slot);
        Codeword { number, write, parts: 1 + u32::from(crosses), first: page }
    }

    /// In a read whose units may cross pages, the page, from the first on, in which a unit begins, and its number there.
    #[inline]
    fn page_and_slot(&self, unit: u32) -> (u32, u32) {
        (unit / self.geometry.codewords_per_page(), unit % self.geometry.codewords_per_page())
    }

    /// The same of a read.
    #[inline]
    fn codeword_of(&self, read: u32, bit: u32) -> Codeword {
        let Read { group, codewords_per_unit, .. } = self.reads[read];
        self.codeword(group, codewords_per_unit.into(), bit)
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
        let parts = self.parts_per_read;
        if parts == 1 { (part, 0) } else { (part / parts, part % parts) }
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
                let (read, member) = self.of_part(part);
                let duration = self.sense(read, member, self.reads[read].attempt);
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
    fn sense(&mut self, read: u32, member: u32, attempt: Attempt) -> Ns {
        let (hard, extra) = self.sense_energy(attempt);
        self.statistics.operations.senses += u64::from(attempt.hard);
        self.statistics.operations.extra_levels_sensed += u64::from(attempt.extra_levels);
        self.statistics.energy.sense += hard;
        self.statistics.energy.sense_extra_levels += extra;
        self.reads[read].energy += hard + extra;
        self.sense_time(read, member, attempt)
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
        let (read, member) = self.of_part(part);
        if self.read.policy.looks_ahead()
            && !self.units[unit as usize].is_awaited()
            && let Some(next) = self.read.after_failure(self.reads[read].attempt.level)
        {
            let duration = self.sense(read, member, next);
            self.parts[part as usize].looking_ahead = true;
            self.statistics.operations.look_ahead_senses += 1;
            self.run_array(unit, ArrayState::SensingAhead(part), duration);
        } else {
            self.array_free(unit);
        }
    }

    fn start_transfers(&mut self, part: u32) {
        let (read, member) = self.of_part(part);
        let Read { mut pending, group, .. } = self.reads[read];
        if self.ftl.crosses_pages() {
            pending = ones(pending)
                .filter(|&bit| {
                    let Codeword { first, parts, .. } = self.codeword_of(read, bit);
                    (first..first + parts).contains(&member)
                })
                .fold(0, |mask, bit| mask | 1 << bit);
        }
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
            Transfer::Read { part, bit } => self.transfer_time(part, bit),
            Transfer::Program(_) => self.timing.program_transfer,
        };
        let entry = &mut self.channels[channel as usize];
        entry.bus = Some(transfer);
        entry.bus_busy_ns += duration.0;
        self.events.schedule(self.now + duration, Event::TransferDone { channel });
    }

    pub(super) fn transfer_done(&mut self, channel: u32) {
        if let Some(Transfer::Read { part, bit }) = self.channels[channel as usize].bus {
            let (read, _) = self.of_part(part);
            let pool = self.pool_of(read, bit);
            if self.is_last_part(read, bit) && !self.pools[pool as usize].has_room() && !self.bypasses(read, bit) {
                self.channels[channel as usize].held_since = Some(self.now);
                self.pools[pool as usize].holding.push_back(channel);
                return;
            }
        }
        self.leave_bus(channel, self.now);
    }

    /// Whether a codeword is whole with the part of it that arrives next.
    #[inline]
    fn is_last_part(&self, read: u32, bit: u32) -> bool {
        let op = &self.reads[read];
        op.group.pages() == 1 || op.to_arrive[bit as usize] == 1
    }

    /// The decoders of a codeword: those of the channel of its own place.
    #[inline]
    fn pool_of(&self, read: u32, bit: u32) -> u32 {
        self.channels[self.channel_of(self.reads[read].group, self.geometry.member_of(bit)) as usize].pool
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
        let Codeword { number, write, parts, first } = self.codeword_of(read, bit);
        let age = |part| self.cell_age(op.group, first + part);
        let few = self.reliability.has_few_errors(number, write, parts, age, bypass.errors, bypass.codeword_bits);
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

    /// The controller has what a part has of a codeword. With the last one, the codeword goes to a decoder, and its time so far is
    /// that of this part, whose transfer had ended at `ended`.
    #[inline]
    fn part_arrived(&mut self, part: u32, bit: u32, ended: Ns) {
        let (read, _) = self.of_part(part);
        let op = &mut self.reads[read];
        if op.group.pages() > 1 {
            op.to_arrive[bit as usize] -= 1;
            if op.to_arrive[bit as usize] > 0 {
                return;
            }
        }
        let hard = if op.attempt.hard { self.energy.transfer } else { Pj::default() };
        let energy = hard + self.energy.transfer_extra_level.times(u64::from(op.attempt.extra_levels));
        let energy = energy.part(op.codewords_per_unit);
        op.energy += energy;
        self.statistics.energy.transfer += energy;
        self.statistics.operations.transfers += 1;
        let codeword = Arrived { part, bit, at: ended };
        if self.bypasses(read, bit) {
            self.bypass_decoders(codeword);
        } else {
            self.request_decoder(self.pool_of(read, bit), codeword);
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
    fn bypass_decoders(&mut self, codeword: Arrived) {
        let (read, _) = self.of_part(codeword.part);
        self.statistics.operations.bypasses += 1;
        // With so few errors hard decision is all it needs.
        self.reads[read].required[codeword.bit as usize] = 1;
        let decoding = Decoding { pool: NONE, codeword, began: self.now };
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
        self.count_service(codeword, Ns::ZERO);
        self.events.schedule(self.now, Event::DecodeDone { decoder: index });
    }

    /// Counts what an attempt at a codeword takes by itself, if the host reads it: of a unit of several all of the first, and of
    /// the others what takes longer, transfer or decoding.
    #[inline]
    fn count_service(&mut self, codeword: Arrived, decode: Ns) {
        let Arrived { part, bit, .. } = codeword;
        let (read, member) = self.of_part(part);
        let op = &self.reads[read];
        if !matches!(op.owner, Owner::Request(_)) {
            return;
        }
        self.statistics.read_service += if bit % u32::from(op.codewords_per_unit) > 0 {
            self.transfer_time(part, bit).max(decode)
        } else if self.ftl.crosses_pages() {
            let Codeword { first, parts, .. } = self.codeword_of(read, bit);
            let page = |member| {
                self.sense_time(read, member, op.attempt) + self.transfer_time(read * self.parts_per_read + member, bit)
            };
            (first..first + parts).fold(decode, |sum, member| sum + page(member))
        } else {
            self.sense_time(read, member, op.attempt) + self.transfer_time(part, bit) + decode
        };
    }

    /// A codeword has arrived to be decoded: at once, or in its turn.
    #[inline]
    fn request_decoder(&mut self, pool: u32, codeword: Arrived) {
        let entry = &mut self.pools[pool as usize];
        match entry.idle.pop() {
            Some(decoder) => self.start_decode(pool, decoder, codeword),
            None => entry.queue.push_back(codeword),
        }
    }

    #[inline]
    fn start_decode(&mut self, pool: u32, decoder: u32, codeword: Arrived) {
        let duration = self.decode_time(self.of_part(codeword.part).0, codeword.bit);
        self.pools[pool as usize].busy += duration;
        self.count_service(codeword, duration);
        self.decoding[decoder as usize] = Decoding { pool, codeword, began: self.now };
        self.events.schedule(self.now + duration, Event::DecodeDone { decoder });
    }

    pub(super) fn decode_done(&mut self, decoder: u32) {
        let Decoding { pool, codeword, began } = self.decoding[decoder as usize];
        let (read, bit) = (self.of_part(codeword.part).0, codeword.bit);
        let op = &mut self.reads[read];
        if pool != NONE {
            let energy = self.energy.decode.part(op.codewords_per_unit);
            self.statistics.operations.decodes += 1;
            self.statistics.energy.decode += energy;
            op.energy += energy;
        }
        op.undecided &= !(1 << bit);
        let over = op.undecided == 0;
        let decoded = op.required[bit as usize] <= op.attempt.level;
        if !decoded {
            op.failed |= 1 << bit;
        }
        let unit = unit_of(bit, op.codewords_per_unit);
        let unit_over = op.undecided & unit == 0;
        let unit_decoded = unit_over && op.failed & unit == 0;
        if op.attempts == 1 && unit_over {
            if !unit_decoded {
                // Retries last from the first failure to the end: see `codeword_read`.
                op.time.retries.0 = op.time.retries.0.wrapping_sub(self.now.0);
            }
            self.count_time(codeword, began);
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
        }
        if unit_decoded {
            self.codeword_read(read, true);
        }
        if over {
            self.attempt_over(read);
        }
    }

    /// Where the time of a unit's first attempt went: that of the codeword of it that was decoded last, just now.
    #[inline]
    fn count_time(&mut self, codeword: Arrived, began: Ns) {
        let Arrived { part, bit, at } = codeword;
        let transfer = self.transfer_time(part, bit);
        let (read, _) = self.of_part(part);
        let Part { mut sensing_from, sensed_at, .. } = self.parts[part as usize];
        if self.ftl.crosses_pages() {
            // Its pages are sensed one after the other.
            let first = self.codeword_of(read, bit).first;
            sensing_from = self.parts[(read * self.parts_per_read + first) as usize].sensing_from;
        }
        let op = &mut self.reads[read];
        op.time.wait_plane += sensing_from - op.queued_at;
        op.time.sense += sensed_at - sensing_from;
        op.time.wait_bus += at - transfer - sensed_at;
        op.time.transfer += transfer;
        op.time.wait_decoder += began - at;
        op.time.decode += self.now - began;
    }

    /// A decoder takes what has waited longest; a channel that has held a codeword for want of room lets it go.
    #[inline]
    fn decoder_free(&mut self, pool: u32, decoder: u32) {
        match self.pools[pool as usize].queue.pop_front() {
            Some(codeword) => self.start_decode(pool, decoder, codeword),
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
                let part = read * self.parts_per_read + member;
                if std::mem::take(&mut self.parts[part as usize].looking_ahead) {
                    self.stop_looking_ahead(read, member, self.unit_of(group, member));
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
    fn stop_looking_ahead(&mut self, read: u32, member: u32, unit: u32) {
        self.statistics.operations.look_ahead_wasted += 1;
        let BusyUnit { state, ends, .. } = self.units[unit as usize];
        if !matches!(state, ArrayState::SensingAhead(_)) {
            return self.array_free(unit);
        }
        self.statistics.operations.resets += 1;
        let next = self.read.after_failure(self.reads[read].attempt.level).expect("it was sensed ahead");
        let (left, whole) = (instant(ends) - self.now, self.sense_time(read, member, next));
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
        let Codeword { number, write, parts, first } = self.codeword_of(read, bit);
        let age = |part| self.cell_age(group, first + part);
        let undetected = self.reliability.undetected(number, write, parts, age);
        self.statistics.undetected += u64::from(undetected == Some(true));
    }

    /// A codeword, or a unit of several, has been decoded, or given up.
    fn codeword_read(&mut self, read: u32, decoded: bool) {
        let interleaved = self.geometry.ways() > 1 && self.reads[read].group.pages() > 1;
        let op = &mut self.reads[read];
        // A codeword that is here in its first attempt, decoded, has never failed.
        if op.attempts > 1 || !decoded {
            op.time.retries.0 = op.time.retries.0.wrapping_add(self.now.0);
        }
        if let Owner::Request(request) = op.owner {
            let (level, retries) = (op.attempt.level, op.attempts - 1);
            self.statistics.interleaved_codewords += u64::from(interleaved);
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
            let units = units_in(op.failed, op.codewords_per_unit);
            (0..units).for_each(|_| self.codeword_read(read, false));
            return self.end_read(read);
        };
        op.attempt = next;
        op.attempts += 1;
        op.pending = std::mem::take(&mut op.failed);
        let group = op.group;
        self.begin_attempt(read);
        for member in group.members() {
            let (part, unit) = (read * self.parts_per_read + member, self.unit_of(group, member));
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
        let Read { owner, group, .. } = self.reads[read];
        if matches!(owner, Owner::Request(_)) {
            self.statistics.read_time += self.reads[read].time;
        }
        self.reads.remove(read);
        self.ftl.read_ends(group.superblock);
        match owner {
            Owner::Request(_) => {}
            Owner::Modify { request, lcn } => self.write_codewords_whole(request, lcn..lcn + 1),
            Owner::Gc(set) => self.gc_group_read(set),
            Owner::Load { page } => self.loaded(page),
            Owner::WriteBack { page } => self.program_translation(page),
        }
        self.gc_reads_ended(group);
    }

    #[inline]
    fn sense_time(&self, read: u32, member: u32, attempt: Attempt) -> Ns {
        let Read { page_type, group, .. } = self.reads[read];
        let kind =
            if self.ftl.crosses_pages() { self.geometry.page_type_of(group.page + member) } else { page_type.into() };
        let page_type = &self.timing.page_types[kind as usize];
        let hard = if attempt.hard { page_type.sense } else { Ns::ZERO };
        hard + page_type.sense_extra_level.times(u64::from(attempt.extra_levels))
    }

    /// How long what one page has of a codeword occupies the bus.
    #[inline]
    fn transfer_time(&self, part: u32, bit: u32) -> Ns {
        let (read, member) = self.of_part(part);
        let op = &self.reads[read];
        if let Some(codes) = &self.timing.codes {
            let code = codes.at(|| self.ftl.erases(op.group.superblock));
            return self.bytes_in_page(op, member, bit, code).unwrap_or(code.transfer);
        }
        let hard = if op.attempt.hard { self.timing.transfer } else { Ns::ZERO };
        let whole = hard + self.timing.transfer_extra_level.times(u64::from(op.attempt.extra_levels));
        let pages = op.group.pages();
        if pages == 1 { whole } else { Ns(whole.0.div_ceil(u64::from(pages))) }
    }

    /// The transfer of what a page has of a unit: its parity is where it begins. Nothing if units do not cross pages.
    fn bytes_in_page(&self, op: &Read, member: u32, bit: u32, code: &CodeTiming) -> Option<Ns> {
        let (page, slot) = self.page_and_slot(bit);
        let first = self.ftl.layout(op.group.superblock).in_first_page(op.group.page + page, slot)?;
        let bytes = if member == page { first + code.parity_bytes } else { self.codeword_bytes as u32 - first };
        Some(Ns((f64::from(bytes) * self.timing.byte_ns).round() as u64))
    }

    #[inline]
    fn decode_time(&self, read: u32, bit: u32) -> Ns {
        let op = &self.reads[read];
        let time = match self.timing.decode {
            DecodeTime::Fixed(duration) => return duration,
            DecodeTime::PerIteration(duration) => Some(duration),
            DecodeTime::Bch => None,
        };
        let Codeword { number, write, parts, first } = self.codeword_of(read, bit);
        let age = |part| self.cell_age(op.group, first + part);
        let Some(duration) = time else {
            let code = self.timing.codes.as_ref().expect("the config was checked to have codes").at(|| write);
            let clean = self.reliability.is_clean(number, write, parts, age);
            return if clean { code.decode_without_errors } else { code.decode };
        };
        let (level, success) = (op.attempt.level, op.required[bit as usize] <= op.attempt.level);
        let iterations = self.reliability.decode_iterations(number, write, level, success, parts, age);
        duration.times(u64::from(iterations.expect("the config was checked to know iterations")))
    }

    /// Where a page of a group lies and what its cells have been through, now.
    ///
    /// # Arguments
    /// - `member`: which of its pages.
    pub(super) fn cell_age(&self, group: Group, member: u32) -> CellAge {
        let plane = self.geometry.plane_of(group.set, member);
        // Without interleaving, members are pages that follow one another.
        let in_block = if self.geometry.ways() == 1 { group.page + member } else { group.page };
        let page = self.geometry.page_in(group.superblock, in_block, member);
        let page_type = self.geometry.page_type_of(in_block);
        let now_s = self.now.as_secs();
        let retention_hours = match self.ftl.written_s(page) {
            Some(written_s) => (now_s - f64::from(written_s)).max(0.0) / 3600.0,
            None => self.initial_retention_hours + now_s / 3600.0,
        };
        CellAge {
            chip: u64::from(self.geometry.chip_rank(self.geometry.chip_of(plane))),
            block: u64::from(self.geometry.block_in(group.superblock, member)),
            page,
            page_type: (self.timing.page_types.len() > 1).then_some(page_type as usize),
            page_type_factor: self.timing.page_types[page_type as usize].rber_factor,
            wear: Wear { pe_cycles: self.initial_pe_cycles + self.ftl.erases(group.superblock), retention_hours },
        }
    }
}

/// The codewords of units, of which each has so many.
#[inline]
fn codewords_of(units: u16, per_unit: u32) -> u16 {
    if per_unit == 1 {
        return units;
    }
    ones(units).fold(0, |codewords, unit| codewords | unit_of(unit * per_unit, per_unit as u8))
}

/// The codewords of the unit that a codeword is of.
#[inline]
fn unit_of(bit: u32, per_unit: u8) -> u16 {
    let per_unit = u32::from(per_unit);
    (u16::MAX >> (16 - per_unit)) << (bit / per_unit * per_unit)
}

/// How many units codewords are of.
fn units_in(codewords: u16, per_unit: u8) -> u32 {
    (0..16 / u32::from(per_unit)).filter(|unit| codewords & unit_of(unit * u32::from(per_unit), per_unit) != 0).count()
        as u32
}
