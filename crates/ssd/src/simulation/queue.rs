//! A submission queue: the requests of one user, in their order, from their source to the moment at which one is let in.

use std::collections::VecDeque;
use std::ops::Range;

use softsense_base::{Error, Ns, Result};
use softsense_config::ids::Lcn;
use softsense_config::spec::{Issue, TenantSpec};
use softsense_requests::{End, Request, RequestSource};
use strength_reduce::StrengthReducedU64;

use super::device::Device;
use super::kernel::{Kernel, LATEST};
use crate::events::{Key, instant};

/// Number of requests that are read before their turn.
const READ_AHEAD: usize = 4;
/// The most codewords of each of them that are fetched. Larger requests are few, and what they need later comes while their first codewords
/// are served.
const MOST_FETCHED: u64 = 4;

/// Requests that wait, where their wait counts: in a closed loop, and of tenants.
struct Waiting {
    /// The instants at which the requests that wait were issued, in a closed loop.
    issued: VecDeque<Ns>,
    /// The instants at which the last requests were fetched, in an open loop: as many as the queue has room for.
    fetched: VecDeque<Ns>,
    room: usize,
}

impl Waiting {
    /// # Arguments
    /// - `room`: requests of an open loop that the queue has room for.
    fn new(issue: Issue, room: usize) -> Self {
        let issued = match issue {
            Issue::OpenLoop { .. } => VecDeque::new(),
            Issue::ClosedLoop { queue_depth } => (0..queue_depth).map(|_| Ns::ZERO).collect(),
        };
        Self { issued, fetched: VecDeque::new(), room }
    }
}

pub(super) struct Queue {
    issue: Issue,
    codeword_bytes: StrengthReducedU64,
    source: Box<dyn RequestSource>,
    /// The next request and the key of its arrival; none in a closed loop.
    arriving: Option<(Key, Request)>,
    /// Requests that were read ahead, each with its first logical codewords, as many as are fetched.
    read_ahead: VecDeque<(Request, Range<Lcn>)>,
    /// The next request of a closed loop, which waits for room.
    held: Option<Request>,
    source_ended: bool,
    /// The instant from which on no requests come.
    ends: Ns,
    read: u64,
    /// Number of its requests inside the device.
    inside: u32,
    waiting: Option<Waiting>,
    /// The most requests that it may have inside the device.
    most_inside: u32,
}

impl Queue {
    /// The queue of all requests, where there are no tenants.
    pub(super) fn new(issue: Issue, codeword_bytes: u64, source: Box<dyn RequestSource>) -> Self {
        Self {
            issue,
            codeword_bytes: StrengthReducedU64::new(codeword_bytes),
            source,
            arriving: None,
            read_ahead: VecDeque::with_capacity(READ_AHEAD),
            held: None,
            source_ended: false,
            ends: Ns(u64::MAX),
            read: 0,
            inside: 0,
            // In an open loop the arrival says when a request came, and nobody asks whether the queue is full.
            waiting: matches!(issue, Issue::ClosedLoop { .. }).then(|| Waiting::new(issue, 0)),
            most_inside: u32::MAX,
        }
    }

    /// The queue of a tenant. `issue` says how requests are issued where the tenant does not.
    pub(super) fn of_tenant(
        tenant: &TenantSpec,
        issue: Issue,
        codeword_bytes: u64,
        source: Box<dyn RequestSource>,
    ) -> Self {
        let issue = tenant.issue.unwrap_or(issue);
        let waiting = Some(Waiting::new(issue, tenant.submission_queue_depth as usize));
        let most_inside = tenant.fetched_commands.unwrap_or(u32::MAX);
        Self { waiting, most_inside, ..Self::new(issue, codeword_bytes, source) }
    }

    /// Says where a source that draws its requests ends.
    pub(super) fn end(&mut self, end: End) {
        self.source.end(end);
    }

    /// Lets no requests come from an instant on.
    pub(super) fn end_at(&mut self, instant: Ns) {
        self.ends = instant;
        if self.next_arrival().is_some_and(|arrival| arrival >= instant) {
            self.close();
        }
    }

    fn close(&mut self) {
        (self.source_ended, self.arriving, self.held) = (true, None, None);
        self.read_ahead.clear();
    }

    /// The share of the requests that has been read, in [0, 1].
    pub(super) fn fraction_read(&self) -> f64 {
        self.source.fraction_read()
    }

    /// Whether every request was read and let in.
    pub(super) fn is_empty(&self) -> bool {
        self.source_ended && self.arriving.is_none() && self.held.is_none() && self.read_ahead.is_empty()
    }

    /// Whether a request waits, or arrives before the next event.
    #[inline]
    pub(super) fn is_due(&self, kernel: &Kernel) -> bool {
        match self.issue {
            Issue::OpenLoop { .. } => match &self.arriving {
                Some((key, _)) => kernel.events.next_key().is_none_or(|next| *key < next),
                None => false,
            },
            Issue::ClosedLoop { queue_depth } => self.inside < queue_depth && !self.is_empty(),
        }
    }

    /// Whether none of its requests may be let in, as too many are inside.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.inside >= self.most_inside
    }

    /// The instant at which the next request arrives, in an open loop.
    pub(super) fn next_arrival(&self) -> Option<Ns> {
        self.arriving.map(|(key, _)| instant(key))
    }

    /// The request that [is due](Self::is_due), and the instant at which it came, or comes.
    #[inline]
    pub(super) fn due(&mut self, device: &mut Device) -> Result<Option<(Ns, Request)>> {
        match self.issue {
            Issue::OpenLoop { .. } => Ok(self.arriving.map(|(key, request)| (instant(key), request))),
            Issue::ClosedLoop { .. } => {
                if self.held.is_none() {
                    self.held = self.next_request(device)?;
                }
                let issued = self.waiting.as_ref().and_then(|waiting| waiting.issued.front().copied());
                Ok(issued.zip(self.held))
            }
        }
    }

    /// Lets in the request that is due. A request of a closed loop has arrived when it was issued: when the one before it in its place
    /// completed.
    ///
    /// Returns the request, and whether it had found its queue full.
    #[inline]
    pub(super) fn fetch(&mut self, now: Ns) -> (Request, bool) {
        self.inside += 1;
        match self.issue {
            Issue::OpenLoop { .. } => {
                let (key, request) = self.arriving.take().expect("it is due");
                let full = self.waiting.as_mut().is_some_and(|waiting| waiting.was_full(instant(key), now));
                (request, full)
            }
            Issue::ClosedLoop { .. } => {
                let request = self.held.take().expect("it is due");
                let issued = self.waiting.as_mut().and_then(|waiting| waiting.issued.pop_front());
                (Request { arrival: issued.expect("a place is free"), ..request }, false)
            }
        }
    }

    /// Notes that one of its requests has completed.
    #[inline]
    pub(super) fn completed(&mut self, now: Ns) {
        self.inside -= 1;
        if let (Some(waiting), Issue::ClosedLoop { .. }) = (&mut self.waiting, self.issue) {
            waiting.issued.push_back(now);
            if now >= self.ends {
                self.close();
            }
        }
    }

    /// In an open loop, reads the next request and schedules its arrival, if none is scheduled.
    pub(super) fn schedule_arrival(&mut self, device: &mut Device) -> Result<()> {
        let Issue::OpenLoop { time_scale } = self.issue else { return Ok(()) };
        if self.arriving.is_some() {
            return Ok(());
        }
        let Some(mut request) = self.next_request(device)? else { return Ok(()) };
        if time_scale != 1.0 {
            request.arrival = Ns((request.arrival.0 as f64 * time_scale).round() as u64);
        }
        if request.arrival >= self.ends {
            self.close();
            return Ok(());
        }
        if request.arrival > LATEST {
            let message = format!(
                "found request {} arriving after {:.0} s at time scale {time_scale}, expected at most {:.0} s",
                self.read - 1,
                request.arrival.as_secs(),
                LATEST.as_secs()
            );
            return Err(Error::config("host.issue.open_loop", message));
        }
        let key = device.kernel.events.key(request.arrival);
        self.arriving = Some((key, request));
        Ok(())
    }

    /// The first logical codewords of a request that has any.
    fn first_lcns(&self, request: &Request) -> Range<Lcn> {
        let first = request.offset_bytes / self.codeword_bytes;
        let last = (request.offset_bytes + request.bytes.saturating_sub(1)) / self.codeword_bytes;
        Lcn(first)..Lcn(first + (last - first + 1).min(MOST_FETCHED))
    }

    /// Takes the next request. Some requests are read ahead, so that what they need of the FTL is in the CPU's caches when their turn
    /// comes: first the map entry, then the data that the entry points at.
    fn next_request(&mut self, device: &mut Device) -> Result<Option<Request>> {
        while self.read_ahead.len() < READ_AHEAD && !self.source_ended {
            match self.source.next_request()? {
                Some(request) => {
                    let lcns = self.first_lcns(&request);
                    device.ftl.prefetch(lcns.start);
                    if let Some(translation) = &device.translation {
                        translation.cache().prefetch(lcns.start);
                    }
                    self.read_ahead.push_back((request, lcns));
                }
                None => self.source_ended = true,
            }
        }
        if let Some((request, soon)) = self.read_ahead.get(READ_AHEAD / 2) {
            for lcn in Lcn::each(soon.clone()) {
                device.prefetch_block(lcn, request.kind.is_write());
            }
        }
        let next = self.read_ahead.pop_front().map(|(request, _)| request);
        self.read += u64::from(next.is_some());
        Ok(next)
    }
}

impl Waiting {
    /// Whether a request of an open loop, which is fetched now, found the queue full when it arrived. It did if as many requests before it
    /// as there is room for were fetched later than that.
    fn was_full(&mut self, arrival: Ns, now: Ns) -> bool {
        let full = self.fetched.len() == self.room && self.fetched.pop_front().is_some_and(|fetched| fetched > arrival);
        self.fetched.push_back(now);
        full
    }
}
