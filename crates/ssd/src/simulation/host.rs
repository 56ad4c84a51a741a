//! The host: where requests come from, when they are let in, and when they are done.

use std::collections::VecDeque;
use std::ops::Range;

use softsense_base::{Error, Ns, Pj, Purpose, Result, Stream};

use super::device::Device;
use super::kernel::Kernel;
use super::statistics::LogRow;
use crate::checked::CheckedConfig;
use crate::config::{AddedTime, Issue, ServiceSpec};
use crate::events::{Event, Key, MAX_INDEX, instant};
use crate::ftl::{Lcn, Location};
use crate::geometry::MIN_CODEWORD_BYTES;
use crate::request::{MAX_REQUEST_BYTES, Request, RequestKind, RequestSource};
use crate::slab::Slab;

/// Half of what nanoseconds in 64 bits can count, so that whatever begins before it ends in time: 292 years.
pub(super) const LATEST: Ns = Ns(u64::MAX / 2);

/// So many codewords of requests may be under way for another request to come in: what the device remembers is bounded, however
/// large requests are. At 4 KiB these are 4 GiB.
const MOST_CODEWORDS_UNDER_WAY: u64 = 1 << 20;

// Each codeword may be on its way between host and controller memory by itself, under an index in an event.
const _: () = assert!(MOST_CODEWORDS_UNDER_WAY + MAX_REQUEST_BYTES / MIN_CODEWORD_BYTES < MAX_INDEX as u64);

/// Requests read before their turn.
const READ_AHEAD: usize = 4;

/// A request inside the device.
#[derive(Debug, Clone, Copy)]
struct Active {
    request: Request,
    /// Its number in the stream, from 0.
    number: u64,
    /// When it came in.
    admitted: Ns,
    /// Codewords that are not done yet.
    remaining: u32,
    max_level: u8,
    retries: u16,
    uncorrectable: u32,
    energy: Pj,
}

impl Active {
    /// What is known of it when it has been under way until `now`.
    #[inline]
    fn row(&self, now: Ns) -> LogRow {
        let &Self { request, number, admitted, max_level, retries, uncorrectable, energy, .. } = self;
        let Request { arrival, kind, offset_bytes, bytes } = request;
        LogRow {
            request: number,
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

/// What requests take beside their flash.
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

    /// What a request takes, by its number in the stream.
    fn takes(&self, number: u64) -> Ns {
        self.overhead.longer(self.spread.ns(number, 0))
    }
}

pub(super) struct Host {
    issue: Issue,
    codeword_bytes: u64,
    max_outstanding: usize,
    codewords_under_way: u64,
    /// Operations that may wait for a busy unit before the host waits.
    unit_queue: usize,
    controller_memory: Ns,
    service: Option<Service>,
    source: Box<dyn RequestSource>,
    /// The next request and the key of its arrival; with a closed loop nothing waits here.
    arriving: Option<(Key, Request)>,
    read_ahead: VecDeque<Request>,
    /// In a closed loop, the next request, which waits for room.
    held: Option<Request>,
    source_ended: bool,
    issued: u64,
    requests: Slab<Active>,
    /// Codewords on their way between host and controller memory: how many, of which request. None where all codewords of it are done,
    /// and its service is not.
    moves: Slab<(u32, u32)>,
}

impl Host {
    pub(super) fn new(config: &CheckedConfig, source: Box<dyn RequestSource>) -> Self {
        let spec = config.config();
        Self {
            issue: spec.host.issue,
            codeword_bytes: u64::from(spec.geometry.codeword_bytes),
            max_outstanding: spec.host.max_outstanding as usize,
            codewords_under_way: 0,
            unit_queue: spec.flash.unit_queue.map_or(usize::MAX, |bound| bound as usize),
            controller_memory: Ns::from_us(spec.host.controller_memory_us),
            service: spec.host.service.as_ref().map(|service| Service::new(service, spec.seed)),
            source,
            arriving: None,
            read_ahead: VecDeque::with_capacity(READ_AHEAD),
            held: None,
            source_ended: false,
            issued: 0,
            requests: Slab::default(),
            moves: Slab::default(),
        }
    }

    /// How much of the stream of requests has been read, in [0, 1].
    pub(super) fn fraction_read(&self) -> f64 {
        self.source.fraction_read()
    }

    /// Requests that came in, whether or not they have completed.
    pub(super) fn issued(&self) -> u64 {
        self.issued
    }

    /// Whether every request was read, and none is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.source_ended && self.arriving.is_none() && self.held.is_none() && self.requests.len() == 0
    }

    // ---- Requests come in ----

    /// Lets the next request in, if there is room for it: which it is among those under way. In an open loop it [is
    /// due](Self::is_due), and the clock is put forward to its arrival.
    pub(super) fn next_in(&mut self, device: &mut Device) -> Result<Option<u32>> {
        match self.issue {
            Issue::OpenLoop { .. } => {
                let Some((key, request)) = self.arriving else { return Ok(None) };
                if self.requests.len() >= self.max_outstanding
                    || self.codewords_under_way >= MOST_CODEWORDS_UNDER_WAY
                    || !self.has_room_for(device, &request)
                {
                    return Ok(None);
                }
                // An arrival that had to wait for a place at the host comes in now, its wait counted.
                device.kernel.now = device.kernel.now.max(instant(key));
                self.arriving = None;
                Ok(Some(self.admit(device, request)))
            }
            Issue::ClosedLoop { queue_depth } => {
                if self.requests.len() >= queue_depth as usize || self.codewords_under_way >= MOST_CODEWORDS_UNDER_WAY {
                    return Ok(None);
                }
                let next = match self.held.take() {
                    Some(held) => Some(held),
                    None => self.next_request(device)?,
                };
                let Some(mut request) = next else { return Ok(None) };
                if !self.has_room_for(device, &request) {
                    self.held = Some(request);
                    return Ok(None);
                }
                request.arrival = device.kernel.now;
                Ok(Some(self.admit(device, request)))
            }
        }
    }

    /// Whether a request arrives, or has arrived and waited for room, before anything else happens: in an open loop.
    #[inline]
    pub(super) fn is_due(&self, kernel: &Kernel) -> bool {
        match &self.arriving {
            Some((key, _)) => kernel.events.next_key().is_none_or(|next| *key < next),
            None => false,
        }
    }

    /// In an open loop, reads the next request and schedules its arrival.
    pub(super) fn schedule_arrival(&mut self, device: &mut Device) -> Result<()> {
        let Issue::OpenLoop { time_scale } = self.issue else { return Ok(()) };
        let Some(mut request) = self.next_request(device)? else { return Ok(()) };
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
        let key = device.kernel.events.key(request.arrival);
        self.arriving = Some((key, request));
        Ok(())
    }

    /// Whether requests come in as others complete.
    #[inline]
    pub(super) fn is_closed_loop(&self) -> bool {
        matches!(self.issue, Issue::ClosedLoop { .. })
    }

    /// The next request. Some are read ahead, so that what they need of the FTL is in the CPU's caches
    /// when their turn comes: first the map entry, then, two requests later, what it points at.
    fn next_request(&mut self, device: &mut Device) -> Result<Option<Request>> {
        while self.read_ahead.len() < READ_AHEAD && !self.source_ended {
            match self.source.next_request()? {
                Some(request) => {
                    let lcn = (request.offset_bytes / self.codeword_bytes) as Lcn;
                    device.ftl.prefetch(lcn);
                    if let Some(translation) = &device.translation {
                        translation.cache().prefetch(lcn);
                    }
                    self.read_ahead.push_back(request);
                }
                None => self.source_ended = true,
            }
        }
        if let Some(soon) = self.read_ahead.get(READ_AHEAD / 2) {
            device.ftl.prefetch_block((soon.offset_bytes / self.codeword_bytes) as Lcn);
        }
        Ok(self.read_ahead.pop_front())
    }

    /// Whether the queues of the busy units that a request wants first are below their bound.
    #[inline]
    fn has_room_for(&self, device: &Device, request: &Request) -> bool {
        self.unit_queue == usize::MAX || self.queues_have_room_for(device, request)
    }

    fn queues_have_room_for(&self, device: &Device, request: &Request) -> bool {
        let has_room = |plane| device.back_end.waiting_for(plane) < self.unit_queue;
        let mut codewords = self.touched_by(request);
        match request.kind {
            RequestKind::Read => codewords.all(|lcn| match device.ftl.locate(lcn) {
                Location::Flash(place) => has_room(device.geometry.split_block(device.geometry.block_of(place)).0),
                Location::Unmapped | Location::Memory(_) | Location::InFlight => true,
            }),
            RequestKind::Write => has_room(device.ftl.next_plane(codewords.start)),
            RequestKind::Trim => true,
        }
    }

    fn admit(&mut self, device: &Device, request: Request) -> u32 {
        let number = self.issued;
        self.issued += 1;
        let end = request.offset_bytes + request.bytes;
        assert!(end <= device.ftl.user_codewords() * self.codeword_bytes, "requests fit the device");
        let codewords = match request.kind {
            RequestKind::Read | RequestKind::Write => {
                let codewords = self.touched_by(&request);
                (codewords.end - codewords.start) as u32
            }
            RequestKind::Trim => 1,
        };
        self.codewords_under_way += u64::from(codewords);
        self.requests.insert(Active {
            request,
            number,
            admitted: device.kernel.now,
            remaining: codewords,
            max_level: 0,
            retries: 0,
            uncorrectable: 0,
            energy: Pj::default(),
        })
    }

    /// A request that has come in.
    #[inline]
    pub(super) fn request(&self, index: u32) -> Request {
        self.requests[index].request
    }

    /// The codewords that a request covers at least in part.
    #[inline]
    pub(super) fn touched_by(&self, request: &Request) -> Range<Lcn> {
        let end = request.offset_bytes + request.bytes;
        request.offset_bytes / self.codeword_bytes..end.div_ceil(self.codeword_bytes)
    }

    /// The codewords that a request covers whole: only those have no data left when they are trimmed.
    pub(super) fn covered_by(&self, request: &Request) -> Range<Lcn> {
        let end = request.offset_bytes + request.bytes;
        request.offset_bytes.div_ceil(self.codeword_bytes)..end / self.codeword_bytes
    }

    /// A request waits for so many codewords more, which come with what it asked for.
    #[inline]
    pub(super) fn also(&mut self, request: u32, codewords: u32) {
        self.requests[request].remaining += codewords;
        self.codewords_under_way += u64::from(codewords);
    }

    // ---- Requests are done ----

    /// Whether the controller has what a read asks for in its memory.
    #[inline]
    pub(super) fn is_hit(&self, request: u32) -> bool {
        self.service
            .as_ref()
            .is_some_and(|service| service.hits.uniform(self.requests[request].number, 0) < service.hit_fraction)
    }

    /// `codewords` of a request need no flash: they are done once they have crossed controller memory.
    pub(super) fn finish_in_memory(&mut self, kernel: &mut Kernel, request: u32, codewords: u32) {
        let moved = self.moves.insert((request, codewords));
        kernel.schedule(self.controller_memory.times(u64::from(codewords)), Event::MemoryDone { moved });
    }

    /// Codewords have crossed controller memory.
    pub(super) fn moved(&mut self, kernel: &mut Kernel, moved: u32) {
        let (request, codewords) = self.moves[moved];
        self.moves.remove(moved);
        if codewords == 0 {
            self.codewords_under_way -= 1;
            return self.complete(kernel, request);
        }
        self.codewords_done(kernel, request, codewords);
    }

    /// What an operation for a request has cost.
    #[inline]
    pub(super) fn charge(&mut self, request: u32, energy: Pj) {
        self.requests[request].energy += energy;
    }

    /// Codewords of a request were read, decoded or not.
    ///
    /// # Arguments
    /// - `read`: level, attempts beyond the first, and whether they were decoded.
    #[inline]
    pub(super) fn codewords_read(&mut self, kernel: &mut Kernel, request: u32, codewords: u32, read: (u8, u8, bool)) {
        let (level, retries, decoded) = read;
        let active = &mut self.requests[request];
        active.uncorrectable += if decoded { 0 } else { codewords };
        active.max_level = active.max_level.max(level);
        active.retries = active.retries.saturating_add(u16::from(retries));
        self.codewords_done(kernel, request, codewords);
    }

    /// `codewords` of a request are done; with the last one, and its service, the request completes.
    #[inline]
    pub(super) fn codewords_done(&mut self, kernel: &mut Kernel, request: u32, codewords: u32) {
        let active = &mut self.requests[request];
        active.remaining -= codewords;
        self.codewords_under_way -= u64::from(codewords);
        if active.remaining > 0 {
            return;
        }
        match &self.service {
            None => self.complete(kernel, request),
            Some(service) => {
                let takes = service.takes(active.number);
                let moved = self.moves.insert((request, 0));
                kernel.schedule(takes, Event::MemoryDone { moved });
                // What has an index is counted.
                self.codewords_under_way += 1;
            }
        }
    }

    #[inline]
    fn complete(&mut self, kernel: &mut Kernel, request: u32) {
        let active = self.requests[request];
        self.requests.remove(request);
        kernel.statistics.complete(active.row(kernel.now));
    }

    /// Requests that have come in and are not done, as they are at `now`, in the order of their numbers.
    pub(super) fn under_way(&self, now: Ns) -> Vec<LogRow> {
        let mut rows: Vec<LogRow> = self.requests.iter().map(|active| active.row(now)).collect();
        rows.sort_by_key(|row| row.request);
        rows
    }

    /// The number in the stream of one that is under way.
    pub(super) fn number(&self, request: u32) -> u64 {
        self.requests[request].number
    }

    /// When the next request arrives, in an open loop.
    pub(super) fn next_arrival(&self) -> Option<Ns> {
        self.arriving.map(|(key, _)| instant(key))
    }
}
