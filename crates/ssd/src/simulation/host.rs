//! The host: where requests come from, when they are let in, and when they are done.

use std::collections::BTreeSet;
use std::ops::Range;

use softsense_base::{Ns, Pj, Purpose, Result, Stream};
use softsense_config::checked::CheckedConfig;
use softsense_config::ids::Lcn;
use softsense_config::spec::MAX_INDEX;
use softsense_config::spec::MIN_CODEWORD_BYTES;
use softsense_config::spec::{AddedTime, ServiceSpec, WritePacingSpec};
use softsense_ftl::Location;
use softsense_requests::{End, MAX_REQUEST_BYTES, Request, RequestKind, RequestSource};
use strength_reduce::StrengthReducedU64;

use super::arbiter::Arbiter;
use super::device::Device;
use super::host_link::{HostLink, HostLinkShares};
use super::kernel::Kernel;
use super::lane::Lane;
use super::queue::Queue;
use super::statistics::LogRow;
use crate::events::Event;
use crate::slab::{MoveId, RequestId, Slab};

/// The number of codewords of requests under way from which on no other request comes in. It bounds what the device remembers, however
/// large requests are. At 4 KiB these codewords are 4 GiB.
const MOST_CODEWORDS_UNDER_WAY: u64 = 1 << 20;

// Each codeword may be on its way between host and controller memory by itself, under an index in an event.
const _: () = assert!(MOST_CODEWORDS_UNDER_WAY + MAX_REQUEST_BYTES / MIN_CODEWORD_BYTES < MAX_INDEX as u64);

/// The sources of requests.
pub enum Sources {
    /// One source of all requests.
    One(Box<dyn RequestSource>),
    /// A source for each tenant of the config.
    Tenants(Vec<Box<dyn RequestSource>>),
}

/// A request inside the device.
#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    /// Number of the request among all that came in, from 0.
    number: u64,
    /// The queue that it came from.
    queue: u16,
    /// The instant at which it came in.
    admitted: Ns,
    /// Codewords that are not done yet.
    remaining: u32,
    /// Bytes of a read that have not set out for the host yet, where there is a link to it.
    to_give: u64,
    /// Bytes of a read that have not left DRAM yet, where there is one.
    to_leave: u64,
    max_level: u8,
    retries: u16,
    uncorrectable: u32,
    energy: Pj,
}

/// Something of a request that is on its way. Each stands for codewords that are not done, so that there are no more of these than
/// codewords under way.
#[derive(Debug, Clone, Copy)]
enum Move {
    /// The command of a request, with data that it writes, to the device.
    Command(RequestId),
    /// A write that waits for the pace of writes.
    Paced(RequestId),
    /// The data of a request into DRAM, and its map entries out of it.
    Taken(RequestId),
    /// So many codewords through controller memory.
    InMemory(RequestId, u32),
    /// So many codewords to the host.
    ToHost(RequestId, u32),
    /// The rest of the service of a request, when all codewords are done.
    Service(RequestId),
}

impl Active {
    /// The log row of the request, when it has been under way until `now`.
    #[inline]
    fn row(&self, now: Ns) -> LogRow {
        let &Self { request, number, queue, admitted, max_level, retries, uncorrectable, energy, .. } = self;
        let Request { arrival, kind, offset_bytes, bytes } = request;
        LogRow {
            request: number,
            tenant: queue,
            arrival,
            admitted,
            kind,
            offset_bytes,
            bytes,
            response: now - arrival,
            max_level,
            retries,
            uncorrectable,
            energy,
        }
    }
}

/// Times that requests take beside their flash.
struct Service {
    overhead: Ns,
    spread: AddedTime,
    hit_fraction: f64,
    hits: Stream,
}

impl Service {
    fn new(spec: &ServiceSpec, seed: u64) -> Self {
        Self {
            overhead: Ns::from_us(spec.overhead_us),
            spread: AddedTime::new(&spec.spread, Stream::new(seed, Purpose::Service)),
            hit_fraction: spec.hit_fraction,
            hits: Stream::new(seed, Purpose::ServiceHit),
        }
    }

    /// Time that the service of a request takes, by the number of the request in the stream.
    fn takes(&self, number: u64) -> Ns {
        self.overhead.longer(self.spread.ns(number, 0))
    }
}

/// Lets writes go on at a pace. It is known of each write when it goes on, as none goes before another.
#[derive(Debug)]
struct Pacer {
    us_per_byte: f64,
    burst: Ns,
    bucket: Lane,
}

impl Pacer {
    fn new(spec: WritePacingSpec) -> Self {
        let us_per_byte = 1.0 / spec.mb_per_s;
        Self { us_per_byte, burst: Ns::from_us(spec.burst_bytes as f64 * us_per_byte), bucket: Lane::default() }
    }

    /// Time for which a write that has come waits. Source: generic cell rate algorithm, ITU-T I.371: it goes on once what has come before
    /// it is no more than a burst ahead of the pace.
    fn wait(&mut self, kernel: &Kernel, bytes: u64) -> Ns {
        let takes = Ns::from_us(bytes as f64 * self.us_per_byte / kernel.room_made.share);
        let ahead = self.bucket.carry(kernel.now, takes) - takes;
        ahead.saturating_sub(self.burst)
    }
}

pub(super) struct Host {
    /// The queue of each tenant, or one queue of all requests.
    queues: Vec<Queue>,
    /// The arbiter, where there are tenants.
    arbiter: Option<Arbiter>,
    /// The request of each queue that is due, and the instant at which it came.
    due: Vec<Option<(Ns, Request)>>,
    /// The placement handle of the data that each queue writes.
    placements: Vec<u8>,
    /// Whether each queue has a request that can be let in.
    ready: Vec<bool>,
    codeword_bytes: u64,
    /// The number of `codeword_bytes`, in a form that is fast to divide by.
    per_codeword: StrengthReducedU64,
    max_outstanding: usize,
    codewords_under_way: u64,
    /// Operations that may wait for a busy unit before the host waits.
    unit_queue: usize,
    controller_memory: Ns,
    service: Option<Service>,
    issued: u64,
    requests: Slab<RequestId, Active>,
    /// Whether a request has completed and left none under way since this was last asked.
    has_just_served: bool,
    pacer: Option<Pacer>,
    link: Option<HostLink>,
    moves: Slab<MoveId, Move>,
}

impl Host {
    /// Makes the host of one source of requests, or of one for each tenant.
    pub(super) fn new(config: &CheckedConfig, sources: Sources) -> Self {
        let spec = config.config();
        let codeword_bytes = u64::from(spec.geometry.codeword_bytes);
        let (host, issue) = (&spec.host, spec.host.issue);
        let mut max_outstanding = host.max_outstanding;
        let (queues, arbiter) = match sources {
            Sources::One(source) => (vec![Queue::new(issue, codeword_bytes, source)], None),
            Sources::Tenants(sources) => {
                assert_eq!(sources.len(), host.tenants.len(), "each tenant has requests of its own");
                let arbitration = host.arbitration.unwrap_or_default();
                max_outstanding = max_outstanding.min(arbitration.fetched_commands);
                let queues = host.tenants.iter().zip(sources);
                let queues = queues.map(|(tenant, source)| Queue::of_tenant(tenant, issue, codeword_bytes, source));
                (queues.collect(), Some(Arbiter::new(&arbitration, &host.tenants)))
            }
        };
        Self {
            due: vec![None; queues.len()],
            placements: match arbiter {
                None => vec![0],
                Some(_) => host.tenants.iter().map(|tenant| tenant.placement as u8).collect(),
            },
            ready: vec![false; queues.len()],
            queues,
            arbiter,
            codeword_bytes,
            per_codeword: StrengthReducedU64::new(codeword_bytes),
            max_outstanding: max_outstanding as usize,
            codewords_under_way: 0,
            unit_queue: spec.flash.unit_queue.map_or(usize::MAX, |bound| bound as usize),
            controller_memory: Ns::from_us(host.controller_memory_us),
            service: host.service.as_ref().map(|service| Service::new(service, spec.seed)),
            pacer: host.write_pacing.map(Pacer::new),
            link: host.link.as_ref().map(HostLink::new),
            issued: 0,
            requests: Slab::default(),
            has_just_served: false,
            moves: Slab::default(),
        }
    }

    /// Mean busy shares of the link to the host; none where there is none.
    pub(super) fn link_shares(&self, counted: Ns) -> Option<HostLinkShares> {
        self.link.as_ref().map(|link| link.busy_shares(counted))
    }

    /// Share of the pace of writes that was taken; none where writes are not paced.
    pub(super) fn pace_share(&self, counted: Ns) -> Option<f64> {
        self.pacer.as_ref().map(|pacer| Lane::busy_share(&[pacer.bucket], counted))
    }

    /// Says where streams that draw their requests end.
    pub(super) fn end(&mut self, end: End) {
        self.queues.iter_mut().for_each(|queue| queue.end(end));
    }

    /// Lets no requests come from an instant on.
    pub(super) fn end_at(&mut self, instant: Ns) {
        self.queues.iter_mut().for_each(|queue| queue.end_at(instant));
    }

    /// Starts counting anew for how long the link, and the pace of writes, are taken.
    pub(super) fn count_anew(&mut self) {
        if let Some(link) = &mut self.link {
            link.count_anew();
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.bucket.count_anew();
        }
    }

    /// The share of the requests that has been read, in [0, 1].
    pub(super) fn fraction_read(&self) -> f64 {
        self.queues.iter().map(Queue::fraction_read).sum::<f64>() / self.queues.len() as f64
    }

    /// Number of requests that came in, whether or not they have completed.
    pub(super) fn issued(&self) -> u64 {
        self.issued
    }

    /// Whether every request was read, and none is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.queues.iter().all(Queue::is_empty) && self.requests.len() == 0
    }

    /// Whether a request has completed since this was asked, and left none under way.
    #[inline]
    pub(super) fn has_just_served(&mut self) -> bool {
        std::mem::take(&mut self.has_just_served)
    }

    // ---- Requests come in ----

    /// Whether a request waits, or arrives before the next event.
    #[inline]
    pub(super) fn is_due(&self, kernel: &Kernel) -> bool {
        match &self.queues[..] {
            [queue] => queue.is_due(kernel),
            queues => queues.iter().any(|queue| queue.is_due(kernel)),
        }
    }

    /// Lets in a request that [is due](Self::is_due), if there is room for it. Returns its number among those under way. The clock is put
    /// forward to its arrival; a request that has waited comes in now, and its wait counts.
    pub(super) fn next_in(&mut self, device: &mut Device) -> Result<Option<RequestId>> {
        if self.requests.len() >= self.max_outstanding || self.codewords_under_way >= MOST_CODEWORDS_UNDER_WAY {
            return Ok(None);
        }
        let Some((queue, at)) = self.next_queue(device)? else { return Ok(None) };
        device.kernel.now = device.kernel.now.max(at);
        let (request, found_full) = self.queues[queue].fetch(device.kernel.now);
        if found_full {
            device.kernel.statistics.found_queue_full(queue);
        }
        Ok(Some(self.admit(device, request, queue)))
    }

    /// The queue whose request is let in next, and the instant at which that request came.
    fn next_queue(&mut self, device: &mut Device) -> Result<Option<(usize, Ns)>> {
        device.holds_host = false;
        if self.arbiter.is_none() {
            let due = self.queues[0].due(device)?;
            let has_room = due.is_some_and(|due| self.has_room_for(device, due));
            return Ok(due.filter(|_| has_room).map(|(at, _)| (0, at)));
        }
        // A request that arrives in future is fetched when none waits.
        let mut at = Ns(u64::MAX);
        for (queue, due) in self.queues.iter_mut().zip(&mut self.due) {
            *due = if queue.is_due(&device.kernel) && !queue.is_full() { queue.due(device)? } else { None };
            at = due.map_or(at, |(came, _)| at.min(came.max(device.kernel.now)));
        }
        for index in 0..self.queues.len() {
            let due = self.due[index];
            self.ready[index] = due.is_some_and(|due| due.0 <= at && self.has_room_for(device, due));
        }
        let arbiter = self.arbiter.as_mut().expect("there are tenants");
        Ok(arbiter.next(&self.ready).map(|queue| (queue, at)))
    }

    /// In an open loop, reads the next request and schedules its arrival.
    pub(super) fn schedule_arrivals(&mut self, device: &mut Device) -> Result<()> {
        self.queues.iter_mut().try_for_each(|queue| queue.schedule_arrival(device))
    }

    /// Whether the queues of the busy units that a request wants first are below their bound. The device is told if a request that has come
    /// is not let in.
    #[inline]
    fn has_room_for(&self, device: &mut Device, (came, request): (Ns, Request)) -> bool {
        if self.unit_queue == usize::MAX {
            return true;
        }
        let has_room = self.queues_have_room_for(device, &request);
        device.holds_host |= !has_room && came <= device.kernel.now;
        has_room
    }

    fn queues_have_room_for(&self, device: &Device, request: &Request) -> bool {
        let has_room = |plane| device.back_end.waiting_for(plane) < self.unit_queue;
        let codewords = self.touched_by(request);
        match request.kind {
            RequestKind::Read => Lcn::each(codewords).all(|lcn| match device.ftl.locate(lcn) {
                Location::Flash(place) => has_room(device.geometry.split_block(device.geometry.block_of(place)).0),
                Location::Unmapped | Location::Memory(_) | Location::InFlight => true,
            }),
            RequestKind::Write | RequestKind::FuaWrite => has_room(device.ftl.next_plane(codewords.start)),
            RequestKind::Trim | RequestKind::Flush => true,
        }
    }

    fn admit(&mut self, device: &Device, request: Request, queue: usize) -> RequestId {
        let number = self.issued;
        self.issued += 1;
        let end = request.offset_bytes + request.bytes;
        assert!(end <= device.ftl.user_codewords() * self.codeword_bytes, "requests fit the device");
        let codewords = match request.kind {
            RequestKind::Read | RequestKind::Write | RequestKind::FuaWrite => {
                let codewords = self.touched_by(&request);
                Lcn::count(&codewords) as u32
            }
            RequestKind::Trim | RequestKind::Flush => 1,
        };
        self.codewords_under_way += u64::from(codewords);
        self.requests.insert(Active {
            request,
            number,
            queue: queue as u16,
            admitted: device.kernel.now,
            remaining: codewords,
            to_give: request.bytes,
            to_leave: request.bytes,
            max_level: 0,
            retries: 0,
            uncorrectable: 0,
            energy: Pj::default(),
        })
    }

    /// A request that has come in.
    #[inline]
    pub(super) fn request(&self, request: RequestId) -> Request {
        self.requests[request].request
    }

    /// The number of the tenant of a request; 0 where there are none.
    #[inline]
    pub(super) fn tenant(&self, request: RequestId) -> usize {
        usize::from(self.requests[request].queue)
    }

    /// The placement handle of the data that a request writes.
    #[inline]
    pub(super) fn placement(&self, request: RequestId) -> u8 {
        self.placements[usize::from(self.requests[request].queue)]
    }

    /// The codewords that a request covers at least in part.
    #[inline]
    pub(super) fn touched_by(&self, request: &Request) -> Range<Lcn> {
        let end = request.offset_bytes + request.bytes;
        Lcn(request.offset_bytes / self.per_codeword)..Lcn((end + self.codeword_bytes - 1) / self.per_codeword)
    }

    /// The codewords that a request covers whole: only these have no data left when they are trimmed.
    pub(super) fn covered_by(&self, request: &Request) -> Range<Lcn> {
        let end = request.offset_bytes + request.bytes;
        Lcn(request.offset_bytes.div_ceil(self.codeword_bytes))..Lcn(end / self.codeword_bytes)
    }

    /// Lets a request wait for more codewords, which come with those that it asked for.
    #[inline]
    pub(super) fn also(&mut self, request: RequestId, codewords: u32) {
        self.requests[request].remaining += codewords;
        self.codewords_under_way += u64::from(codewords);
    }

    // ---- Requests are done ----

    /// Whether the controller has the data of a read in its memory.
    #[inline]
    pub(super) fn is_hit(&self, request: RequestId) -> bool {
        self.service
            .as_ref()
            .is_some_and(|service| service.hits.uniform(self.requests[request].number, 0) < service.hit_fraction)
    }

    /// Whether a request that has been let in is in the device at once. Over a link it gets there later, and [`Self::moved`] gives it back
    /// then.
    #[inline]
    pub(super) fn is_at_device(&mut self, kernel: &mut Kernel, request: RequestId) -> bool {
        let Some(link) = &mut self.link else { return self.keeps_pace(kernel, request) };
        let Request { kind, bytes, .. } = self.requests[request].request;
        let takes = link.fetch(kernel.now, if kind.is_write() { bytes } else { 0 });
        self.schedule_move(kernel, takes, Move::Command(request));
        false
    }

    /// Whether a request keeps the pace of writes, and [need not wait](Self::is_taken) for anything else. Otherwise [`Self::moved`] gives
    /// it back when it may go on.
    #[inline]
    fn keeps_pace(&mut self, kernel: &mut Kernel, request: RequestId) -> bool {
        let Some(pacer) = &mut self.pacer else { return self.is_taken(kernel, request) };
        let Request { kind, bytes, .. } = self.requests[request].request;
        let wait = if kind.is_write() { pacer.wait(kernel, bytes) } else { Ns::ZERO };
        if wait == Ns::ZERO {
            return self.is_taken(kernel, request);
        }
        self.schedule_move(kernel, wait, Move::Paced(request));
        false
    }

    /// Whether a request can begin before its written data, and its map entries, have crossed DRAM. Otherwise [`Self::moved`] gives it back
    /// when they have.
    #[inline]
    fn is_taken(&mut self, kernel: &mut Kernel, request: RequestId) -> bool {
        let Some(dram) = &mut kernel.dram else { return true };
        let Active { request: Request { kind, bytes, .. }, remaining, .. } = self.requests[request];
        let takes = match kind {
            RequestKind::Read | RequestKind::Trim => dram.take(kernel.now, 0, remaining.into()),
            RequestKind::Write | RequestKind::FuaWrite => dram.take(kernel.now, bytes, remaining.into()),
            RequestKind::Flush => None,
        };
        if let Some(takes) = takes {
            self.schedule_move(kernel, takes, Move::Taken(request));
        }
        takes.is_none()
    }

    /// Time until codewords of a read are out of DRAM, as far as the host asked for their bytes. It is 0 for written data, which is there,
    /// and none without DRAM.
    fn leave_dram(&mut self, kernel: &mut Kernel, request: RequestId, codewords: u32) -> Option<Ns> {
        let dram = kernel.dram.as_mut()?;
        let active = &mut self.requests[request];
        if active.request.kind != RequestKind::Read {
            return Some(Ns::ZERO);
        }
        let bytes = active.to_leave.min(u64::from(codewords) * self.codeword_bytes);
        active.to_leave -= bytes;
        Some(dram.give(kernel.now, bytes))
    }

    fn schedule_move(&mut self, kernel: &mut Kernel, takes: Ns, what: Move) {
        let moved = self.moves.insert(what);
        kernel.schedule(takes, Event::MemoryDone { moved });
    }

    /// Finishes `codewords` of a request that need no flash: they are done once they have crossed controller memory.
    pub(super) fn finish_in_memory(&mut self, kernel: &mut Kernel, request: RequestId, codewords: u32) {
        let takes = self.leave_dram(kernel, request, codewords);
        let takes = takes.unwrap_or_else(|| self.controller_memory.times(u64::from(codewords)));
        self.schedule_move(kernel, takes, Move::InMemory(request, codewords));
    }

    /// Ends a move. Returns a request whose command is in the device now.
    pub(super) fn moved(&mut self, kernel: &mut Kernel, moved: MoveId) -> Option<RequestId> {
        let what = self.moves[moved];
        self.moves.remove(moved);
        match what {
            Move::Command(request) => return self.keeps_pace(kernel, request).then_some(request),
            Move::Paced(request) => return self.is_taken(kernel, request).then_some(request),
            Move::Taken(request) => return Some(request),
            Move::InMemory(request, codewords) => self.codewords_done(kernel, request, codewords),
            Move::ToHost(request, codewords) => self.codewords_given(kernel, request, codewords),
            Move::Service(request) => {
                self.codewords_under_way -= 1;
                self.complete(kernel, request);
            }
        }
        None
    }

    /// Charges a request for the energy of an operation.
    #[inline]
    pub(super) fn charge(&mut self, request: RequestId, energy: Pj) {
        self.requests[request].energy += energy;
    }

    /// Counts a codeword that was read for a request, for its tenant.
    #[inline]
    pub(super) fn count_read(&self, kernel: &mut Kernel, request: RequestId, decoded: bool) {
        if self.arbiter.is_some() {
            kernel.statistics.read_for_tenant(usize::from(self.requests[request].queue), decoded);
        }
    }

    /// Notes that codewords of a request were read, decoded or not.
    ///
    /// # Arguments
    /// - `read`: level, attempts beyond the first, and whether the codewords were decoded.
    #[inline]
    pub(super) fn codewords_read(
        &mut self,
        kernel: &mut Kernel,
        request: RequestId,
        codewords: u32,
        read: (u8, u8, bool),
    ) {
        let (level, retries, decoded) = read;
        let active = &mut self.requests[request];
        active.uncorrectable += if decoded { 0 } else { codewords };
        active.max_level = active.max_level.max(level);
        active.retries = active.retries.saturating_add(u16::from(retries));
        if let Some(dram) = &mut kernel.dram {
            let stored = dram.move_codewords(kernel.now, codewords.into());
            let takes = self.leave_dram(kernel, request, codewords).map_or(stored, |left| left.max(stored));
            return self.schedule_move(kernel, takes, Move::InMemory(request, codewords));
        }
        self.codewords_done(kernel, request, codewords);
    }

    /// Gives `codewords` of a request that are done to the host; over a link, those of a read are on their way first.
    #[inline]
    pub(super) fn codewords_done(&mut self, kernel: &mut Kernel, request: RequestId, codewords: u32) {
        if self.link.is_some() && self.requests[request].request.kind == RequestKind::Read {
            return self.give(kernel, request, codewords);
        }
        self.codewords_given(kernel, request, codewords);
    }

    /// Sends codewords of a read to the host over the link, as far as the host asked for their bytes.
    fn give(&mut self, kernel: &mut Kernel, request: RequestId, codewords: u32) {
        let (active, link) = (&mut self.requests[request], self.link.as_mut().expect("there is a link"));
        let bytes = active.to_give.min(u64::from(codewords) * self.codeword_bytes);
        active.to_give -= bytes;
        let takes = link.give(kernel.now, bytes);
        self.schedule_move(kernel, takes, Move::ToHost(request, codewords));
    }

    /// Notes that the host has `codewords` of a request, or knows that they are written. With the last one, and its service, the request
    /// completes.
    #[inline]
    fn codewords_given(&mut self, kernel: &mut Kernel, request: RequestId, codewords: u32) {
        let active = &mut self.requests[request];
        active.remaining -= codewords;
        self.codewords_under_way -= u64::from(codewords);
        if active.remaining > 0 {
            return;
        }
        if self.service.is_none() && self.link.is_none() {
            return self.complete(kernel, request);
        }
        let (number, is_read) = (active.number, active.request.kind == RequestKind::Read);
        let mut takes = self.service.as_ref().map_or(Ns::ZERO, |service| service.takes(number));
        // Data that was read says itself that it is there.
        if let Some(link) = self.link.as_mut().filter(|_| !is_read) {
            takes += link.give(kernel.now, 0);
        }
        self.schedule_move(kernel, takes, Move::Service(request));
        // A move, which has an index, counts as a codeword.
        self.codewords_under_way += 1;
    }

    #[inline]
    fn complete(&mut self, kernel: &mut Kernel, request: RequestId) {
        let active = self.requests[request];
        self.requests.remove(request);
        self.has_just_served = self.requests.len() == 0;
        self.queues[usize::from(active.queue)].completed(kernel.now);
        kernel.statistics.complete(active.row(kernel.now));
    }

    /// Requests that have come in and are not done, as they are at `now`, in the order of their numbers.
    pub(super) fn under_way(&self, now: Ns) -> Vec<LogRow> {
        let mut rows: Vec<LogRow> = self.requests.iter().map(|active| active.row(now)).collect();
        rows.sort_by_key(|row| row.request);
        rows
    }

    /// Numbers in the stream of all requests that are under way.
    pub(super) fn numbers(&self) -> BTreeSet<u64> {
        self.requests.iter().map(|active| active.number).collect()
    }

    /// Puts off by `by`, for which power is away, what crosses the link or keeps a pace.
    pub(super) fn put_off(&mut self, now: Ns, by: Ns) {
        if let Some(link) = &mut self.link {
            link.put_off(now, by);
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.bucket.put_off(now, by);
        }
    }

    /// Whether a request of a closed loop waits to come in now.
    pub(super) fn issues_now(&self, kernel: &Kernel) -> bool {
        self.queues.iter().any(|queue| queue.next_arrival().is_none() && queue.is_due(kernel))
    }

    /// The number in the stream of a request that is under way.
    pub(super) fn number(&self, request: RequestId) -> u64 {
        self.requests[request].number
    }

    /// The instant at which the next request arrives, in open loops.
    pub(super) fn next_arrival(&self) -> Option<Ns> {
        self.queues.iter().filter_map(Queue::next_arrival).min()
    }
}
