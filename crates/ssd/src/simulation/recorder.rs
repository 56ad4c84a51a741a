//! The recorder: which resources were taken in a window of time, by what, and which requests were under way.
//!
//! After each event it compares which resources are taken, and by what, with what it saw before. It asks for the owner only where something
//! is new. So stations know nothing of the recorder, and nothing is paid outside the window.

use std::fmt;
use std::str::FromStr;

use softsense_base::{Ns, format_duration};
use softsense_config::ids::{Channel, Set, Unit};
use softsense_link::Step;

use super::Simulation;
use super::back_end::{Action, Counts, Occupied, TakenFor};
use super::owners::{Cause, ProgramOwner, ReadOwner};
use super::statistics::LogRow;

/// Number of spans after which a recording ends: 100 MB of them.
const MOST_SPANS: usize = 1_000_000;

/// Simulated time from one instant to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The instant at which the window begins.
    pub from: Ns,
    /// The instant at which the window ends, after `from`.
    pub to: Ns,
}

impl FromStr for Window {
    type Err = String;

    /// Parses a window such as `10ms..12.5ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let found = |expected: &str| format!("found `{text}`, expected {expected}");
        let Some((from, to)) = text.split_once("..") else {
            return Err(found("a window of simulated time, such as `10ms..12ms`"));
        };
        if from.trim().is_empty() || to.trim().is_empty() {
            return Err(found("both ends of the window, such as `10ms..12ms`"));
        }
        let instant = |end: &str| {
            parse_instant(end.trim()).ok_or_else(|| found("two times in ns, us, ms or s, such as `10ms..12ms`"))
        };
        let window = Self { from: instant(from)?, to: instant(to)? };
        if window.from < window.to { Ok(window) } else { Err(found("a window whose end is after its beginning")) }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} to {}", format_duration(self.from), format_duration(self.to))
    }
}

fn parse_instant(text: &str) -> Option<Ns> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let ns: f64 = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let instant = number.parse::<f64>().ok().filter(|_| plain)? * ns;
    (instant <= super::LATEST.0 as f64).then(|| Ns(instant.round() as u64))
}

/// A resource: it serves one operation at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// A busy unit: a plane, or a die whose planes take turns.
    Plane,
    /// The bus of a channel.
    Bus,
    /// A decoder; where one has several codewords in work, the place of one of them.
    Decoder,
    /// An encoder.
    Encoder,
    /// A busy unit in which a program or an erase is suspended, while the unit does something else.
    Suspended,
    /// A set of planes (a plane, where codewords are not interleaved), of whose data one superblock is moved at a time.
    Set,
}

impl Resource {
    /// All kinds of resources, in the order in which requests meet them.
    pub const ALL: [Self; 6] = [Self::Plane, Self::Bus, Self::Decoder, Self::Encoder, Self::Suspended, Self::Set];
}

/// The owner of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A read of the host.
    HostRead,
    /// A write of the host: its program, or the read of a codeword that it covers in part.
    HostWrite,
    /// The write buffer, which holds data of several writes.
    WriteBuffer,
    /// Anything else: garbage collection, translation pages that are read for requests or brought up to date, and so on.
    Background(Cause),
}

/// A span of time in which a resource is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The kind of resource.
    pub resource: Resource,
    /// The number of the resource among its kind in the device.
    pub index: u32,
    /// The action of the resource.
    pub action: Action,
    /// The owner of the operation.
    pub owner: Owner,
    /// The number in the stream of the request that the operation is for; none where it is for the background, or for several requests.
    pub request: Option<u64>,
    /// The attempt of a read that the operation is done for, counted from 1, and the step of that attempt; none for other operations.
    pub step: Option<(u8, Step)>,
    /// Whether the operation began before the outcome of the attempt before was known.
    pub ahead: bool,
    /// The instant at which the span begins, in the window.
    pub from: Ns,
    /// The instant at which the span ends, in the window.
    pub to: Ns,
    /// Whether the operation began before the window, or ended after it.
    pub cut: bool,
}

/// The operations and requests of a window.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The window, which ends early after a million spans.
    pub window: Window,
    /// Whether the window ended early.
    pub ended_early: bool,
    /// The instant that the simulation had reached.
    pub now: Ns,
    /// Spans in the order in which they begin; those of one instant in the order of their resources. Only transfers may take no time.
    pub spans: Vec<Recorded>,
    /// Requests that were under way in the window, in the order of their numbers, and whether they had completed. Rows of requests that had
    /// not are those at `now`.
    pub requests: Vec<(LogRow, bool)>,
}

/// A span that has begun, and the number that stood for its operation then.
#[derive(Debug, Clone, Copy)]
struct Open {
    occupied: Recorded,
    taken: u128,
}

#[derive(Debug)]
pub(super) struct Recorder {
    window: Window,
    most_spans: usize,
    begun: bool,
    counts: Counts,
    /// The span of each resource that has begun and not ended.
    open: Vec<Option<Open>>,
    /// A number for each resource, which changes with the operation that takes it; 0 for a free one.
    taken: Vec<u128>,
    ended: Vec<Recorded>,
}

impl Recorder {
    pub(super) fn new(simulation: &Simulation, window: Window, most_spans: Option<usize>) -> Self {
        let counts = simulation.device.back_end.counts();
        let Counts { units, buses, decoders, encoders, suspended } = counts;
        let all = units + buses + decoders + encoders + suspended + simulation.write_path.sets();
        let most_spans = most_spans.unwrap_or(usize::MAX);
        Self { window, most_spans, begun: false, counts, open: vec![None; all], taken: Vec::new(), ended: Vec::new() }
    }

    /// Whether the recording begins now, before something happens: whatever is taken now will be taken when the window begins.
    pub(super) fn begins(&self, simulation: &Simulation) -> bool {
        if self.begun {
            return false;
        }
        match simulation.device.kernel.events.next_key() {
            Some(key) => crate::events::instant(key) >= self.window.from,
            // Nothing is under way, so that a request comes in when it arrives.
            None => simulation.host.next_arrival().is_none_or(|arrival| arrival >= self.window.from),
        }
    }

    /// Looks at all resources for the first time.
    pub(super) fn begin(&mut self, simulation: &mut Simulation) {
        self.begun = true;
        simulation.device.kernel.statistics.look_on();
        self.look(simulation);
        let before = self.window.from > Ns::ZERO;
        self.open.iter_mut().flatten().for_each(|open| open.occupied.cut = before);
    }

    /// Looks at all resources after something has happened. Returns whether that was the last time.
    pub(super) fn look_after(&mut self, simulation: &Simulation) -> bool {
        if !self.begun {
            return false;
        }
        let now = simulation.now();
        if now <= self.window.to {
            self.look(simulation);
        }
        now > self.window.to || self.ended.len() >= self.most_spans
    }

    fn look(&mut self, simulation: &Simulation) {
        let mut taken = std::mem::take(&mut self.taken);
        taken.clear();
        simulation.device.back_end.look(&mut taken);
        taken.extend((0..simulation.write_path.sets() as u32).map(
            |set| match simulation.write_path.moving(Set(set)) {
                Some((cause, superblock)) => (1 + u128::from(superblock.0)) | ((cause as u128) << 33),
                None => 0,
            },
        ));
        for (index, &taken) in taken.iter().enumerate() {
            if self.open[index].map_or(0, |open| open.taken) != taken {
                self.changed(simulation, index, taken);
            }
        }
        self.taken = taken;
    }

    /// Ends the span of a resource that has changed, and begins another one unless the resource is free.
    fn changed(&mut self, simulation: &Simulation, index: usize, taken: u128) {
        let now = simulation.now();
        let before = self.open[index].take();
        if let Some(Open { occupied, .. }) = before {
            self.ended.push(Recorded { to: now, ..occupied });
        }
        if taken == 0 {
            return;
        }
        let (resource, number) = self.thing(index);
        let Occupied { action, taken_for, step, ahead } = simulation.taken_by(resource, number);
        let (owner, request) = simulation.owner(taken_for).unwrap_or_else(|| {
            before.map_or((Owner::HostRead, None), |open| (open.occupied.owner, open.occupied.request))
        });
        let step = match (taken_for, before) {
            (TakenFor::AsBefore, Some(open)) => open.occupied.step,
            _ => step,
        };
        let occupied = Recorded {
            resource,
            index: number,
            action,
            owner,
            request,
            step,
            ahead,
            from: now,
            to: now,
            cut: now < self.window.from,
        };
        self.open[index] = Some(Open { occupied, taken });
    }

    /// Kind and number of a resource.
    fn thing(&self, mut index: usize) -> (Resource, u32) {
        let Counts { units, buses, decoders, encoders, suspended } = self.counts;
        for (resource, count) in Resource::ALL.into_iter().zip([units, buses, decoders, encoders, suspended]) {
            if index < count {
                return (resource, index as u32);
            }
            index -= count;
        }
        (Resource::Set, index as u32)
    }

    /// Ends the recording, and cuts open spans short.
    pub(super) fn finish(mut self, simulation: &mut Simulation) -> Recording {
        let now = simulation.now();
        let ended_early = self.ended.len() >= self.most_spans && now < self.window.to;
        let to = if ended_early { now } else { self.window.to };
        let window = Window { from: self.window.from.min(to), to };
        let open = self.open.drain(..).flatten();
        self.ended.extend(open.map(|Open { occupied, .. }| Recorded {
            to: now,
            cut: occupied.cut || now <= to,
            ..occupied
        }));
        let within = |span: Recorded| {
            let cut = span.cut || span.to > window.to;
            Recorded { from: span.from.max(window.from), to: span.to.min(window.to), cut, ..span }
        };
        let mut spans: Vec<Recorded> = self.ended.into_iter().map(within).collect();
        // Transfers that take no time say which attempts there were.
        spans.retain(|span| span.from < span.to || (span.from == span.to && span.action == Action::Transfer));
        spans.sort_by_key(|span| (span.from, span.resource, span.to, span.index));
        let mut requests: Vec<(LogRow, bool)> = Vec::new();
        if self.begun {
            let seen = simulation.device.kernel.statistics.take_seen();
            requests.extend(seen.into_iter().map(|row| (row, true)));
            requests.extend(simulation.host.under_way(now).into_iter().map(|row| (row, false)));
            requests.retain(|(row, _)| row.arrival + row.response >= window.from && row.arrival <= window.to);
            requests.sort_by_key(|(row, _)| row.request);
        }
        Recording { window, ended_early, now, spans, requests }
    }
}

impl Simulation {
    /// Records a window of time from now on.
    ///
    /// # Arguments
    /// - `bounded`: whether the recording ends early after a million spans.
    pub fn record(&mut self, window: Window, bounded: bool) {
        self.recorder = Some(Box::new(Recorder::new(self, window, bounded.then_some(MOST_SPANS))));
        self.recording = None;
    }

    /// Takes what was recorded since [`record`](Self::record), and ends the recording; none without one.
    pub fn take_recording(&mut self) -> Option<Recording> {
        if let Some(recorder) = self.recorder.take() {
            self.recording = Some(recorder.finish(self));
        }
        self.recording.take()
    }

    /// [Steps](Self::step), and records.
    #[inline(never)]
    pub(super) fn watched_step(&mut self) -> softsense_base::Result<bool> {
        let mut recorder = self.recorder.take().expect("somebody looks on");
        if recorder.begins(self) {
            recorder.begin(self);
        }
        let more = self.advance_once();
        if recorder.look_after(self) {
            self.recording = Some(recorder.finish(self));
        } else {
            self.recorder = Some(recorder);
        }
        more
    }

    fn taken_by(&self, resource: Resource, number: u32) -> Occupied {
        let back_end = &self.device.back_end;
        match resource {
            Resource::Plane => back_end.unit_taken_by(Unit(number)),
            Resource::Bus => back_end.bus_taken_by(Channel(number)),
            Resource::Decoder => back_end.decoder_taken_by(number),
            Resource::Encoder => back_end.encoder_taken_by(number),
            Resource::Suspended => back_end.suspended_in(Unit(number)),
            Resource::Set => {
                let (cause, superblock) = self.write_path.moving(Set(number)).expect("its data is being moved");
                let action = match cause {
                    Cause::Folding => Action::Fold,
                    Cause::ReadReclaim => Action::Reclaim,
                    Cause::Refresh => Action::Refresh,
                    _ => Action::Collect,
                };
                Occupied::new(action, TakenFor::Superblock(superblock))
            }
        }
    }

    /// The owner of an operation, with the number of its request; none where the resource has the same owner as before.
    fn owner(&self, taken_for: TakenFor) -> Option<(Owner, Option<u64>)> {
        let moves = |set| Owner::Background(self.write_path.moving(set).map_or(Cause::Collection, |(cause, _)| cause));
        let number = |request| Some(self.host.number(request));
        Some(match taken_for {
            TakenFor::Read(ReadOwner::Request(request)) => (Owner::HostRead, number(request)),
            TakenFor::Read(ReadOwner::Modify { request, .. }) => (Owner::HostWrite, number(request)),
            TakenFor::Program(ProgramOwner::Request { request, .. }) => (Owner::HostWrite, number(request)),
            TakenFor::Read(ReadOwner::Fill { .. }) | TakenFor::Program(ProgramOwner::Buffer { .. }) => {
                (Owner::WriteBuffer, None)
            }
            TakenFor::Read(owner) => (Owner::Background(owner.cause()), None),
            TakenFor::Program(owner) => (Owner::Background(owner.cause()), None),
            TakenFor::Superblock(superblock) => (moves(self.device.geometry.set_of_superblock(superblock)), None),
            TakenFor::AsBefore => return None,
        })
    }
}
