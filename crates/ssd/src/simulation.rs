//! The SSD at work: requests in, completions out.
//!
//! ```text
//!  host ----> requests ----> FTL ----> busy units ----> channel bus ----> decoder ----> host
//!  (this file)            (ftl.rs)    (simulation/back_end.rs: sense, transfer, decode)
//!                write buffer, programs, garbage collection: simulation/writes.rs
//! ```
//!
//! A *busy unit* is what does one array operation at a time: a plane, or a die whose planes take
//! turns. It serves waiting retries first, then host reads if the config says so; within a class it is
//! first come, first served. The channel bus and the decoders are
//! first come, first served. A codeword's transfer overlaps the decode of the one before it.

mod back_end;
mod statistics;
mod translation;
mod writes;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use softsense_base::{Error, Ns, Pj, Result};
use softsense_link::{ByAge, ReadSpec, Reliability, ReliabilitySpec};

use crate::config::{self, BypassSpec, CheckedConfig, EnergySpec, Issue, Layout, Mapping, PartialWrite, UnitCode};
use crate::events::{Event, EventQueue, Key, MAX_INDEX, instant};
use crate::ftl::{Group, Lcn, Location, MappingCache, PageMap};
use crate::geometry::{Geometry, MIN_CODEWORD_BYTES, MOST_IN_GROUP};
use crate::request::{MAX_REQUEST_BYTES, Request, RequestKind, RequestSource};
use crate::slab::Slab;
use back_end::{BusyUnit, Channel, DecoderPool, Decoding, Owner, Part, Program, Read};
pub use statistics::{Energy, LogRow, Operations, ReadTime, Statistics};
use translation::{Access, Translation};
use writes::{GcJob, Room, WriteBuffer};

/// Half of what nanoseconds in 64 bits can count, so that whatever begins before it ends in time: 292 years.
const LATEST: Ns = Ns(u64::MAX / 2);

/// So many codewords of requests may be under way for another request to come in: what the device remembers is bounded, however
/// large requests are. At 4 KiB these are 4 GiB.
const MOST_CODEWORDS_UNDER_WAY: u64 = 1 << 20;

// Each codeword may be on its way between host and controller memory by itself, under an index in an event.
const _: () = assert!(MOST_CODEWORDS_UNDER_WAY + MAX_REQUEST_BYTES / MIN_CODEWORD_BYTES < MAX_INDEX as u64);

/// Requests read before their turn.
const READ_AHEAD: usize = 4;

/// Durations of everything, as the hot paths want them.
#[derive(Debug)]
struct Timing {
    page_types: Vec<PageTiming>,
    erase: Ns,
    reset: Ns,
    transfer: Ns,
    transfer_extra_level: Ns,
    program_transfer: Ns,
    decode: DecodeTime,
    controller_memory: Ns,
    /// BCH codes by the erases of a block.
    codes: Option<ByAge<CodeTiming>>,
    /// Transfer of a byte, ns, where there are BCH codes.
    byte_ns: f64,
}

#[derive(Debug, Clone, Copy)]
enum DecodeTime {
    Fixed(Ns),
    PerIteration(Ns),
    /// What `codes` say.
    Bch,
}

/// What a codeword of a BCH code takes.
#[derive(Debug, Clone, Copy)]
struct CodeTiming {
    codewords_per_unit: u32,
    parity_bytes: u32,
    transfer: Ns,
    decode: Ns,
    decode_without_errors: Ns,
}

impl CodeTiming {
    fn new(code: &UnitCode) -> Self {
        Self {
            codewords_per_unit: code.codewords_per_unit,
            parity_bytes: code.parity_bytes,
            transfer: Ns::from_us(code.transfer_us),
            decode: Ns::from_us(code.decode_us),
            decode_without_errors: Ns::from_us(code.decode_without_errors_us),
        }
    }
}

#[derive(Debug)]
struct PageTiming {
    sense: Ns,
    sense_extra_level: Ns,
    program: Ns,
    rber_factor: f64,
}

impl Timing {
    fn new(config: &CheckedConfig) -> Self {
        let spec = config.config();
        let page_types = spec.flash.page_types.iter().map(|page_type| PageTiming {
            sense: Ns::from_us(page_type.sense_us),
            sense_extra_level: Ns::from_us(page_type.sense_extra_level_us),
            program: Ns::from_us(page_type.program_us),
            rber_factor: page_type.rber_factor,
        });
        let transfer = Ns::from_us(spec.bus.transfer_us);
        Self {
            page_types: page_types.collect(),
            erase: Ns::from_us(spec.flash.erase_us),
            reset: Ns::from_us(spec.flash.reset_us),
            transfer,
            transfer_extra_level: Ns::from_us(spec.bus.transfer_extra_level_us),
            // A page is one codeword where a code rate says how much data it holds.
            program_transfer: match spec.reliability {
                ReliabilitySpec::Adaptive(_) => transfer,
                _ => transfer.times(u64::from(spec.geometry.codewords_per_page)),
            },
            decode: match spec.decoder.time {
                config::DecodeTime::FixedUs(us) => DecodeTime::Fixed(Ns::from_us(us)),
                config::DecodeTime::PerIterationUs(us) => DecodeTime::PerIteration(Ns::from_us(us)),
                config::DecodeTime::Bch(_) => DecodeTime::Bch,
            },
            controller_memory: Ns::from_us(spec.host.controller_memory_us),
            codes: matches!(spec.reliability, ReliabilitySpec::Bch(_)).then(|| {
                let codes = config.bch_codes();
                let timings = codes.iter().map(|code| (code.to_pe_cycles, CodeTiming::new(code)));
                ByAge::new(timings).since(spec.precondition.pe_cycles)
            }),
            byte_ns: 1000.0 * config.byte_us(),
        }
    }
}

/// What operations cost, as the hot paths want it.
#[derive(Debug)]
struct OperationEnergy {
    sense: Pj,
    sense_extra_level: Pj,
    transfer: Pj,
    transfer_extra_level: Pj,
    program: Pj,
    erase: Pj,
    decode: Pj,
}

impl OperationEnergy {
    fn new(spec: &EnergySpec) -> Self {
        Self {
            sense: Pj::from_uj(spec.sense_uj),
            sense_extra_level: Pj::from_uj(spec.sense_extra_level_uj),
            transfer: Pj::from_uj(spec.transfer_uj),
            transfer_extra_level: Pj::from_uj(spec.transfer_extra_level_uj),
            program: Pj::from_uj(spec.program_uj),
            erase: Pj::from_uj(spec.erase_uj),
            decode: Pj::from_uj(spec.decode_uj),
        }
    }
}

/// A request inside the device.
#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    /// Its number in the stream, from 0.
    number: u64,
    /// Codewords that are not done yet.
    remaining: u32,
    max_level: u8,
    retries: u16,
    energy: Pj,
}

/// One run of one device over one stream of requests.
pub struct Simulation {
    geometry: Geometry,
    timing: Timing,
    energy: OperationEnergy,
    reliability: Reliability,
    read: ReadSpec,
    issue: Issue,
    codeword_bytes: u64,
    max_outstanding: usize,
    codewords_under_way: u64,
    /// Whether what a page holds is one codeword, however much data that is.
    pages_are_codewords: bool,
    /// Pages that a read may have to do with: as many as there are ways, or, where units cross pages, those that have room for
    /// as many as a read has bits, and one more.
    parts_per_read: u32,
    reads_first: bool,
    cache_register: bool,
    /// Operations that may wait for a busy unit before the host waits.
    unit_queue: usize,
    partial_write: PartialWrite,
    initial_pe_cycles: u32,
    initial_retention_hours: f64,

    source: Box<dyn RequestSource>,
    /// The next request and the key of its arrival; with a closed loop nothing waits here.
    arriving: Option<(Key, Request)>,
    read_ahead: VecDeque<Request>,
    /// In a closed loop, the next request, which waits for room.
    held: Option<Request>,
    source_ended: bool,
    issued: u64,

    now: Ns,
    events: EventQueue,
    requests: Slab<Active>,
    reads: Slab<Read>,
    parts: Vec<Part>,
    programs: Slab<Program>,
    /// Codewords on their way between host and controller memory: how many, of which request.
    moves: Slab<(u32, u32)>,
    units: Vec<BusyUnit>,
    channels: Vec<Channel>,
    pools: Vec<DecoderPool>,
    /// What is being decoded, by decoder and, where one has several codewords in work, by which of them.
    decoding: Vec<Decoding>,
    /// How many of those are decoders; after them come codewords that need none.
    decoders: u32,
    not_bypassing: Vec<u32>,
    bypass: Option<BypassSpec>,
    ftl: PageMap,
    translation: Option<Translation>,
    gc: Vec<Option<GcJob>>,
    /// Of each SSD.
    room: Vec<Room>,
    write_buffer: Option<WriteBuffer>,
    statistics: Statistics,
}

impl Simulation {
    /// Builds a device in its preconditioned state, about to serve `source`.
    ///
    /// # Errors
    /// When the first request cannot be read, or memory is short.
    pub fn new(config: &CheckedConfig, source: Box<dyn RequestSource>, log_requests: bool) -> Result<Self> {
        let spec = config.config();
        let geometry = config.geometry().clone();
        let reliability = config.reliability().clone();
        let user_codewords = config.user_codewords();
        let translation_codewords = config.translation_codewords();
        let mut ftl = PageMap::new(config)?;
        let start = &spec.precondition;
        match start.layout {
            Layout::Sequential => {
                let of_ssd = user_codewords / u64::from(geometry.ssds());
                ftl.fill_sequentially((of_ssd as f64 * start.mapped_fraction) as u64);
            }
            Layout::SteadyState => ftl.fill_steady_state(spec.seed),
        }
        let translation = match &spec.ftl.mapping {
            Mapping::Page => None,
            Mapping::Demand(demand) => {
                ftl.fill_translation_pages((translation_codewords as f64 * start.mapped_fraction).ceil() as u32);
                Some(Translation::new(demand, spec.geometry.codeword_bytes, user_codewords)?)
            }
        };
        let (channels_of_pool, in_work) = spec.decoder.pool(&geometry);
        let pools = geometry.channels() / channels_of_pool;
        let buffer_codewords = config.write_buffer_codewords();
        let mut simulation = Self {
            timing: Timing::new(config),
            energy: OperationEnergy::new(&spec.energy),
            reliability,
            read: spec.read,
            issue: spec.host.issue,
            codeword_bytes: u64::from(spec.geometry.codeword_bytes),
            max_outstanding: spec.host.max_outstanding as usize,
            codewords_under_way: 0,
            parts_per_read: if ftl.crosses_pages() {
                MOST_IN_GROUP / geometry.codewords_per_page() + 1
            } else {
                geometry.ways()
            },
            pages_are_codewords: matches!(spec.reliability, ReliabilitySpec::Adaptive(_)),
            reads_first: spec.host.reads_first,
            cache_register: spec.flash.cache_register,
            unit_queue: spec.flash.unit_queue.map_or(usize::MAX, |bound| bound as usize),
            partial_write: spec.host.partial_write,
            initial_pe_cycles: start.pe_cycles,
            initial_retention_hours: start.retention_days * 24.0,
            source,
            arriving: None,
            read_ahead: VecDeque::with_capacity(READ_AHEAD),
            held: None,
            source_ended: false,
            issued: 0,
            now: Ns::ZERO,
            events: EventQueue::default(),
            requests: Slab::default(),
            reads: Slab::default(),
            parts: Vec::new(),
            programs: Slab::default(),
            moves: Slab::default(),
            units: (0..geometry.busy_units()).map(|_| BusyUnit::default()).collect(),
            channels: (0..geometry.channels()).map(|channel| Channel::new(channel / channels_of_pool)).collect(),
            pools: (0..pools).map(|pool| DecoderPool::new(pool, in_work, spec.decoder.buffer_codewords)).collect(),
            decoding: vec![Decoding::default(); (pools * in_work) as usize],
            decoders: pools * in_work,
            not_bypassing: Vec::new(),
            bypass: spec.decoder.bypass,
            ftl,
            translation,
            gc: (0..geometry.sets()).map(|_| None).collect(),
            room: vec![Room::default(); geometry.ssds() as usize],
            write_buffer: (buffer_codewords > 0).then(|| WriteBuffer::new(buffer_codewords as u32, geometry.sets())),
            statistics: Statistics::new(log_requests),
            geometry,
        };
        simulation.fetch_arrivals()?;
        Ok(simulation)
    }

    /// Runs until at least `completions` more requests have completed, or everything has. Returns
    /// whether there is more to do.
    ///
    /// # Errors
    /// When the source of requests cannot be read on. What was measured so far stays.
    pub fn advance(&mut self, completions: u64) -> Result<bool> {
        self.advance_unless(&AtomicBool::new(false), completions)
    }

    /// The same, until `stop` is set.
    pub fn advance_unless(&mut self, stop: &AtomicBool, completions: u64) -> Result<bool> {
        let until = self.statistics.completed() + completions;
        while self.statistics.completed() < until && !stop.load(Ordering::Relaxed) {
            if !self.step()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets one thing happen; false when nothing is left.
    fn step(&mut self) -> Result<bool> {
        if let Some((key, request)) = self.arriving
            && self.requests.len() < self.max_outstanding
            && self.codewords_under_way < MOST_CODEWORDS_UNDER_WAY
            && self.events.next_key().is_none_or(|next| key < next)
            && self.has_room_for(&request)
        {
            // An arrival that had to wait for a place at the host comes in now, its wait counted.
            self.now = self.now.max(instant(key));
            self.arriving = None;
            self.admit(request);
            self.fetch_arrivals()?;
            return Ok(true);
        }
        let Some((key, event)) = self.events.pop() else {
            if self.start_flushing() {
                return Ok(true);
            }
            self.assert_everything_ended();
            return Ok(false);
        };
        self.now = instant(key);
        if self.now > LATEST {
            let message = format!(
                "found a simulation that takes {:.0} s with {} requests completed, expected {:.0} s at most: its latencies, or its \
                 load, are out of all proportion",
                self.now.as_secs(),
                self.statistics.completed(),
                LATEST.as_secs()
            );
            return Err(Error::config("flash", message));
        }
        match event {
            Event::ArrayDone { unit } => self.array_done(unit, key),
            Event::TransferDone { channel } => self.transfer_done(channel),
            Event::DecodeDone { decoder } => self.decode_done(decoder),
            Event::MemoryDone { moved } => {
                let (request, codewords) = self.moves[moved];
                self.moves.remove(moved);
                self.codewords_done(request, codewords);
            }
        }
        if matches!(self.issue, Issue::ClosedLoop { .. }) {
            self.fetch_arrivals()?;
        }
        Ok(true)
    }

    /// Open loop: reads the next request and schedules its arrival. Closed loop: fills the queue.
    fn fetch_arrivals(&mut self) -> Result<()> {
        match self.issue {
            Issue::OpenLoop { time_scale } => {
                if let Some(mut request) = self.next_request()? {
                    if time_scale != 1.0 {
                        request.arrival = Ns((request.arrival.0 as f64 * time_scale).round() as u64);
                    }
                    if request.arrival > LATEST {
                        let message = format!(
                            "found request {} arriving after {:.0} s at time scale {time_scale}, expected at most {:.0} s",
                            self.issued,
                            request.arrival.as_secs(),
                            LATEST.as_secs()
                        );
                        return Err(Error::config("host.issue.open_loop", message));
                    }
                    let key = self.events.key(request.arrival);
                    self.arriving = Some((key, request));
                }
            }
            Issue::ClosedLoop { queue_depth } => {
                while self.requests.len() < queue_depth as usize && self.codewords_under_way < MOST_CODEWORDS_UNDER_WAY
                {
                    let next = match self.held.take() {
                        Some(held) => Some(held),
                        None => self.next_request()?,
                    };
                    let Some(mut request) = next else { break };
                    if !self.has_room_for(&request) {
                        self.held = Some(request);
                        break;
                    }
                    request.arrival = self.now;
                    self.admit(request);
                }
            }
        }
        Ok(())
    }

    /// The next request. Some are read ahead, so that what they need of the FTL is in the CPU's caches
    /// when their turn comes: first the map entry, then, two requests later, what it points at.
    fn next_request(&mut self) -> Result<Option<Request>> {
        while self.read_ahead.len() < READ_AHEAD && !self.source_ended {
            match self.source.next_request()? {
                Some(request) => {
                    let lcn = (request.offset_bytes / self.codeword_bytes) as Lcn;
                    self.ftl.prefetch(lcn);
                    if let Some(translation) = &self.translation {
                        translation.cache().prefetch(lcn);
                    }
                    self.read_ahead.push_back(request);
                }
                None => self.source_ended = true,
            }
        }
        if let Some(soon) = self.read_ahead.get(READ_AHEAD / 2) {
            self.ftl.prefetch_block((soon.offset_bytes / self.codeword_bytes) as Lcn);
        }
        Ok(self.read_ahead.pop_front())
    }

    /// Whether the queues of the busy units that a request wants first are below their bound.
    #[inline]
    fn has_room_for(&self, request: &Request) -> bool {
        self.unit_queue == usize::MAX || self.queues_have_room_for(request)
    }

    fn queues_have_room_for(&self, request: &Request) -> bool {
        let has_room = |plane| self.units[self.geometry.busy_unit_of(plane) as usize].waiting() < self.unit_queue;
        let size = self.codeword_bytes;
        let first = (request.offset_bytes / size) as Lcn;
        match request.kind {
            RequestKind::Read => {
                let end = (request.offset_bytes + request.bytes).div_ceil(size) as Lcn;
                (first..end).all(|lcn| match self.ftl.locate(lcn) {
                    Location::Flash(place) => has_room(self.geometry.split_block(self.geometry.block_of(place)).0),
                    Location::Unmapped | Location::Memory(_) | Location::InFlight => true,
                })
            }
            RequestKind::Write => has_room(self.ftl.next_plane(self.ftl.ssd_of(first))),
            RequestKind::Trim => true,
        }
    }

    fn admit(&mut self, request: Request) {
        let number = self.issued;
        self.issued += 1;
        let index = self.requests.insert(Active {
            request,
            number,
            remaining: 0,
            max_level: 0,
            retries: 0,
            energy: Pj::default(),
        });
        let size = self.codeword_bytes;
        let end = request.offset_bytes + request.bytes;
        assert!(end <= self.ftl.user_codewords() * size, "requests fit the device");
        match request.kind {
            RequestKind::Read => {
                let codewords = (request.offset_bytes / size) as Lcn..end.div_ceil(size) as Lcn;
                self.expect_codewords(index, (codewords.end - codewords.start) as u32);
                self.translate(index, codewords, Access::Read);
            }
            RequestKind::Write => {
                let codewords = (request.offset_bytes / size) as Lcn..end.div_ceil(size) as Lcn;
                self.expect_codewords(index, (codewords.end - codewords.start) as u32);
                self.translate(index, codewords, Access::Write);
            }
            RequestKind::Trim => {
                // Only codewords that are covered whole have no data left.
                let whole = request.offset_bytes.div_ceil(size) as Lcn..(end / size) as Lcn;
                for lcn in whole {
                    self.ftl.unmap(lcn);
                    self.entry_changed(lcn);
                }
                self.expect_codewords(index, 1);
                self.finish_in_memory(index, 1);
            }
        }
    }

    /// A request is done with so many codewords.
    #[inline]
    fn expect_codewords(&mut self, index: u32, codewords: u32) {
        self.requests[index].remaining = codewords;
        self.codewords_under_way += u64::from(codewords);
    }

    /// Reads codewords for a request: those of one page, or group, with one sensing.
    fn read_codewords(&mut self, request: u32, codewords: std::ops::Range<Lcn>) {
        let mut in_memory = 0;
        let mut group: Option<(Group, u16)> = None;
        for lcn in codewords {
            match self.ftl.locate(lcn) {
                Location::Flash(place) => {
                    let (this_group, bit) = self.ftl.group_of(place);
                    match &mut group {
                        Some((of, mask)) if *of == this_group => *mask |= 1 << bit,
                        // Units that follow one another share pages.
                        Some((of, mask)) if self.follows(*of, this_group) => {
                            *mask |= 1 << ((this_group.page - of.page) * self.geometry.codewords_per_page() + bit);
                        }
                        _ => {
                            if let Some((of, mask)) = group.replace((this_group, 1 << bit)) {
                                self.start_read(Owner::Request(request), of, mask);
                            }
                        }
                    }
                }
                Location::Memory(_) | Location::InFlight => {
                    in_memory += 1;
                    self.statistics.codewords_from_controller += 1;
                }
                Location::Unmapped => {
                    in_memory += 1;
                    self.statistics.unmapped_codewords += 1;
                }
            }
        }
        if let Some((of, mask)) = group {
            self.start_read(Owner::Request(request), of, mask);
        }
        if in_memory > 0 {
            self.finish_in_memory(request, in_memory);
        }
    }

    /// Whether a page is one of those that a read from `first` on may have to do with.
    fn follows(&self, first: Group, group: Group) -> bool {
        self.ftl.crosses_pages()
            && self.ftl.layout(first.superblock).crosses_pages()
            && first.superblock == group.superblock
            && (first.page..first.page + MOST_IN_GROUP / self.geometry.codewords_per_page()).contains(&group.page)
    }

    /// `codewords` of a request need no flash: they are done once they have crossed controller memory.
    fn finish_in_memory(&mut self, request: u32, codewords: u32) {
        let at = self.now + self.timing.controller_memory.times(u64::from(codewords));
        let moved = self.moves.insert((request, codewords));
        self.events.schedule(at, Event::MemoryDone { moved });
    }

    /// `codewords` of a request are done; with the last one the request completes.
    #[inline]
    fn codewords_done(&mut self, index: u32, codewords: u32) {
        let active = &mut self.requests[index];
        active.remaining -= codewords;
        self.codewords_under_way -= u64::from(codewords);
        if active.remaining == 0 {
            let active = *active;
            self.requests.remove(index);
            self.statistics.complete(&active, self.now);
        }
    }

    /// What was measured so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The rows of the request log since the last call; empty unless it was asked for.
    pub fn take_log(&mut self) -> Vec<LogRow> {
        self.statistics.take_log()
    }

    /// How much of the stream of requests has been read, in [0, 1].
    pub fn fraction_read(&self) -> f64 {
        self.source.fraction_read()
    }

    /// Codewords that the write buffer holds.
    pub fn buffered_codewords(&self) -> u64 {
        self.write_buffer.as_ref().map_or(0, WriteBuffer::held)
    }

    /// Requests that came in, whether or not they have completed.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// The simulated instant.
    pub fn now(&self) -> Ns {
        self.now
    }

    /// The mapping cache, if the map is in flash.
    pub fn mapping_cache(&self) -> Option<&MappingCache> {
        self.translation.as_ref().map(Translation::cache)
    }

    /// The page map, for tests of what it must keep.
    pub fn ftl(&self) -> &PageMap {
        &self.ftl
    }

    /// Codewords of the device as they are now, spread evenly over the mapped ones; none where no raw bit error rates are
    /// known.
    pub fn sample_codewords(&self, count: u32) -> Vec<CodewordSample> {
        let codewords = self.ftl.user_codewords() as f64;
        // Multiples of the golden section leave no gaps, and keep step with no stride of the device.
        let sampled = (0..count).map(|index| ((f64::from(index) * 0.618_033_988_749_894_9).fract() * codewords) as Lcn);
        let flash = sampled.filter_map(|lcn| match self.ftl.locate(lcn) {
            Location::Flash(place) => Some(place),
            Location::Unmapped | Location::Memory(_) | Location::InFlight => None,
        });
        let sample = |place| {
            let (group, _) = self.ftl.group_of(place);
            let age = |part| self.cell_age(group, group.first() + part);
            let write = self.ftl.erases(group.superblock);
            let rber = self.reliability.rber(place, write, group.pages(), age)?;
            let block = self.geometry.block_of(place);
            let plane = block / self.geometry.blocks_per_plane();
            let chip = self.geometry.chip_rank(self.geometry.chip_of(plane));
            Some(CodewordSample { chip, block, page_type: self.geometry.page_type_of(group.page) as u8, rber })
        };
        flash.filter_map(sample).collect()
    }

    /// Mean busy share of planes (or dies), channel buses and decoders up to now.
    pub fn utilisation(&self) -> Utilisation {
        let elapsed = self.now.0 as f64;
        let share = |busy: f64, of: usize| if elapsed > 0.0 { busy / (elapsed * of as f64) } else { 0.0 };
        let decoders = self.decoders as usize;
        Utilisation {
            plane: share(self.units.iter().map(|unit| unit.busy_ns(self.now) as f64).sum(), self.units.len()),
            channel: share(self.channels.iter().map(|channel| channel.bus_busy_ns as f64).sum(), self.channels.len()),
            decoder: share(self.pools.iter().map(|pool| pool.busy.0 as f64).sum(), decoders),
        }
    }

    /// A run that has ended has nothing left inside: every request completed, every operation over.
    fn assert_everything_ended(&self) {
        assert!(
            self.source_ended && self.arriving.is_none() && self.held.is_none(),
            "requests were left in the source"
        );
        assert_eq!(self.statistics.completed(), self.issued, "every request completes once");
        assert_eq!((self.requests.len(), self.reads.len(), self.programs.len()), (0, 0, 0), "nothing is under way");
        let is_idle = |room: &Room| room.stalled.is_empty() && room.collecting == 0 && room.programming == 0;
        assert!(self.room.iter().all(is_idle), "no write and no collection is stuck");
        assert!(self.translation.as_ref().is_none_or(Translation::is_idle), "no translation page is under way");
    }
}

/// A codeword of the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodewordSample {
    /// The chip of its place, in the order in which the stripe meets them.
    pub chip: u32,
    /// The block of its place, numbered over the device.
    pub block: u32,
    /// The kind of its page.
    pub page_type: u8,
    /// Its raw bit error rate; where it is divided among chips, the mean of theirs.
    pub rber: f64,
}

/// Mean busy shares.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Utilisation {
    /// Of planes, or of dies where planes take turns: sensing, programming, erasing, and whatever keeps the
    /// array from other work, such as waiting for the bus or for the outcome of a look-ahead.
    pub plane: f64,
    /// Of channel buses.
    pub channel: f64,
    /// Of decoders.
    pub decoder: f64,
}
