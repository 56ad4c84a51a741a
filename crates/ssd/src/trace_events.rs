//! Recordings as trace events in JSON, which ui.perfetto.dev and chrome://tracing open.
//!
//! Each resource is a thread, and each kind of resource a process. Requests are asynchronous slices of a process of their own. Arrows lead
//! from each span of a request to the next. Events are sorted by time; times are us with three decimals, which are exact to the nanosecond.

use std::io::{Result, Write};

use serde_json::json;
use softsense_base::{Ns, format_bytes};
use softsense_config::geometry::Geometry;
use softsense_config::ids::Plane;
use softsense_requests::RequestKind;

use crate::simulation::{Action, LogRow, Owner, Recorded, Recording, Resource};

/// The process of requests; the processes of resources have the numbers after it.
const REQUESTS: usize = 1;

impl Resource {
    /// Returns the name of the resource in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plane => "plane",
            Self::Bus => "bus",
            Self::Decoder => "decoder",
            Self::Encoder => "encoder",
            Self::Suspended => "suspended",
            Self::Set => "set",
        }
    }

    fn process(self) -> usize {
        REQUESTS + 1 + self as usize
    }
}

impl Action {
    /// Returns the name of the action in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Sense => "sense",
            Self::Hold => "hold",
            Self::Transfer => "transfer",
            Self::Decode => "decode",
            Self::Predict => "predict",
            Self::Load => "load",
            Self::Program => "program",
            Self::Erase => "erase",
            Self::Suspend => "suspend",
            Self::SuspendedProgram => "suspended_program",
            Self::SuspendedErase => "suspended_erase",
            Self::Reset => "reset",
            Self::Encode => "encode",
            Self::Collect => "collect",
            Self::Reclaim => "reclaim",
            Self::Fold => "fold",
            Self::Refresh => "refresh",
        }
    }
}

impl Owner {
    /// Returns the name of the owner in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostRead => "host_read",
            Self::HostWrite => "host_write",
            Self::WriteBuffer => "write_buffer",
            Self::Background(cause) => cause.name(),
        }
    }
}

/// An event of the output, with the index of its span or request. At one instant events have the order of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Slices of a request are nested; at one instant the inner slice ends first.
    InnerEnds(usize),
    OuterEnds(usize),
    OuterBegins(usize),
    WaitBegins(usize),
    WaitEnds(usize),
    InnerBegins(usize),
    Span(usize),
    Arrow(usize, Arrow),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Arrow {
    Begins,
    GoesOn,
    Ends,
}

/// Writes a recording of a device of this geometry.
///
/// # Errors
/// An error of the system.
pub fn write(recording: &Recording, geometry: &Geometry, out: &mut impl Write) -> Result<()> {
    let Recording { window, ended_early, now, spans, requests } = recording;
    let other = json!({
        "from_ns": window.from.0, "to_ns": window.to.0, "ended_early": ended_early, "simulated_ns": now.0,
    });
    writeln!(out, "{{\"displayTimeUnit\": \"ns\", \"otherData\": {other}, \"traceEvents\": [")?;
    let mut lines = Lines { out, first: true };
    names(recording, geometry, &mut lines)?;
    let mut events: Vec<(Ns, Event)> = Vec::new();
    for (index, (row, _)) in requests.iter().enumerate() {
        let within = |instant: Ns| instant.clamp(window.from, window.to);
        let (arrival, admitted, end) = (within(row.arrival), within(row.admitted), within(row.arrival + row.response));
        if arrival == end {
            continue;
        }
        events.push((arrival, Event::OuterBegins(index)));
        if row.admitted > row.arrival && admitted > arrival {
            events.extend([(arrival, Event::WaitBegins(index)), (admitted, Event::WaitEnds(index))]);
        }
        if end > admitted {
            events.extend([(admitted, Event::InnerBegins(index)), (end, Event::InnerEnds(index))]);
        }
        events.push((end, Event::OuterEnds(index)));
    }
    let shown = |index: &usize| spans[*index].from < spans[*index].to;
    events.extend((0..spans.len()).filter(shown).map(|index| (spans[index].from, Event::Span(index))));
    events.extend(arrows(spans).into_iter().map(|(index, arrow)| (spans[index].from, Event::Arrow(index, arrow))));
    events.sort_unstable();
    for (at, event) in events {
        let line = match event {
            Event::Span(index) => of_span(&spans[index]),
            Event::Arrow(index, arrow) => of_arrow(&spans[index], arrow),
            Event::OuterBegins(index) => of_request(&requests[index], 'b', at),
            Event::OuterEnds(index) => of_request(&requests[index], 'e', at),
            Event::WaitBegins(index) => slice(&requests[index].0, 'b', "host waits", at),
            Event::WaitEnds(index) => slice(&requests[index].0, 'e', "host waits", at),
            Event::InnerBegins(index) => slice(&requests[index].0, 'b', "in device", at),
            Event::InnerEnds(index) => slice(&requests[index].0, 'e', "in device", at),
        };
        lines.add(&line)?;
    }
    writeln!(out, "\n]}}")
}

/// Events, one in each line.
struct Lines<'a, W> {
    out: &'a mut W,
    first: bool,
}

impl<W: Write> Lines<'_, W> {
    fn add(&mut self, line: &str) -> Result<()> {
        let comma = if std::mem::take(&mut self.first) { "" } else { ",\n" };
        write!(self.out, "{comma}{line}")
    }
}

/// Writes the names of all processes, and of the threads that have a span.
fn names<W: Write>(recording: &Recording, geometry: &Geometry, lines: &mut Lines<W>) -> Result<()> {
    let mut name = |what: &str, process: usize, thread: u64, args: serde_json::Value| {
        lines.add(&json!({ "ph": "M", "name": what, "pid": process, "tid": thread, "args": args }).to_string())
    };
    let by_die = geometry.busy_units() < geometry.planes();
    name("process_name", REQUESTS, 0, json!({ "name": "requests" }))?;
    name("process_sort_index", REQUESTS, 0, json!({ "sort_index": REQUESTS }))?;
    let mut seen: Vec<(Resource, u32)> = recording.spans.iter().map(|span| (span.resource, span.index)).collect();
    seen.sort_unstable();
    seen.dedup();
    for resource in Resource::ALL {
        let plural = match resource {
            Resource::Plane if by_die => "dies",
            Resource::Plane => "planes",
            Resource::Bus => "channel buses",
            Resource::Decoder => "decoders",
            Resource::Encoder => "encoders",
            Resource::Suspended => "suspended programs and erases",
            Resource::Set => "garbage collection, reclaim, refresh, folding",
        };
        let mut threads = seen.iter().filter(|(of, _)| *of == resource).map(|(_, index)| *index).peekable();
        if threads.peek().is_none() {
            continue;
        }
        name("process_name", resource.process(), 0, json!({ "name": plural }))?;
        name("process_sort_index", resource.process(), 0, json!({ "sort_index": resource.process() }))?;
        for index in threads {
            let told = match resource {
                Resource::Plane | Resource::Suspended => {
                    let plane = index * (geometry.planes() / geometry.busy_units());
                    let what = if by_die { "die" } else { "plane" };
                    format!(
                        "{what} {index}, chip {}, channel {}",
                        geometry.chip_of(Plane(plane)),
                        geometry.channel_of(Plane(plane))
                    )
                }
                Resource::Bus => format!("channel {index}"),
                Resource::Decoder | Resource::Encoder | Resource::Set => format!("{} {index}", resource.name()),
            };
            name("thread_name", resource.process(), thread(resource, index), json!({ "name": told }))?;
            name("thread_sort_index", resource.process(), thread(resource, index), json!({ "sort_index": index }))?;
        }
    }
    Ok(())
}

/// Lists the spans that arrows connect: the first span of a request, those that follow, and the last. Requests with one span have no
/// arrows.
fn arrows(spans: &[Recorded]) -> Vec<(usize, Arrow)> {
    let of_requests = |&index: &usize| {
        spans[index].request.is_some()
            && spans[index].from < spans[index].to
            && spans[index].resource != Resource::Suspended
    };
    let mut those: Vec<usize> = (0..spans.len()).filter(of_requests).collect();
    those.sort_by_key(|&index| (spans[index].request, index));
    let chains = those.chunk_by(|&one, &next| spans[one].request == spans[next].request);
    let arrows = chains.filter(|chain| chain.len() > 1).flat_map(|chain| {
        chain.iter().enumerate().map(|(at, &index)| match at {
            0 => (index, Arrow::Begins),
            _ if at + 1 == chain.len() => (index, Arrow::Ends),
            _ => (index, Arrow::GoesOn),
        })
    });
    arrows.collect()
}

/// Returns the thread number of a resource, which ends in the resource's index and is unique over all processes. Perfetto takes thread 0
/// for the idle thread of all processes. It would put the first bus and the first decoder on one track, and drop spans that overlap there.
fn thread(resource: Resource, index: u32) -> u64 {
    resource.process() as u64 * 1_000_000 + u64::from(index)
}

/// Formats a time in microseconds, exactly.
fn us(ns: Ns) -> String {
    format!("{}.{:03}", ns.0 / 1000, ns.0 % 1000)
}

fn of_span(span: &Recorded) -> String {
    let Recorded { resource, index, action, owner, request, step, ahead, from, to, cut } = span;
    let mut args = serde_json::Map::new();
    args.insert("for".into(), owner.name().into());
    if let Some(request) = request {
        args.insert("request".into(), (*request).into());
    }
    let mut name = action.name().replace('_', " ");
    if let Some((attempt, step)) = step {
        args.insert("attempt".into(), (*attempt).into());
        args.insert("level".into(), step.level.into());
        args.insert("ahead".into(), (*ahead).into());
        if *action != Action::Hold {
            name = format!("{name} level {}", step.level);
        }
    }
    if *cut {
        args.insert("cut".into(), true.into());
    }
    format!(
        "{{\"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, \"name\": \"{name}\", \"cat\": \"{}\", \"args\": {}}}",
        resource.process(),
        thread(*resource, *index),
        us(*from),
        us(*to - *from),
        owner.name(),
        serde_json::Value::from(args)
    )
}

fn of_arrow(span: &Recorded, arrow: Arrow) -> String {
    let (phase, more) = match arrow {
        Arrow::Begins => ('s', ""),
        Arrow::GoesOn => ('t', ""),
        Arrow::Ends => ('f', ", \"bp\": \"e\""),
    };
    format!(
        "{{\"ph\": \"{phase}\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"id\": {}, \"name\": \"request\", \"cat\": \"request\"{more}}}",
        span.resource.process(),
        thread(span.resource, span.index),
        us(span.from),
        span.request.unwrap_or_default()
    )
}

fn of_request((row, completed): &(LogRow, bool), phase: char, at: Ns) -> String {
    let kind = match row.kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Trim => "trim",
        RequestKind::Flush => "flush",
        RequestKind::FuaWrite => "fua_write",
    };
    let name = format!("{kind} {}", format_bytes(row.bytes));
    if phase == 'e' {
        return slice(row, phase, &name, at);
    }
    let args = json!({
        "kind": kind,
        "offset_bytes": row.offset_bytes,
        "bytes": row.bytes,
        "arrival_ns": row.arrival.0,
        "response_ns": completed.then_some(row.response.0),
        "max_level": row.max_level,
        "retries": row.retries,
        "uncorrectable_codewords": row.uncorrectable,
    });
    let begun = slice(row, phase, &name, at);
    format!("{}, \"args\": {args}}}", begun.strip_suffix('}').unwrap_or(&begun))
}

/// Formats the beginning or the end of a slice of a request. The number of the request tells the slices of this process apart.
fn slice(row: &LogRow, phase: char, name: &str, at: Ns) -> String {
    format!(
        "{{\"ph\": \"{phase}\", \"pid\": {REQUESTS}, \"tid\": 0, \"ts\": {}, \"id2\": {{\"local\": {}}}, \"name\": \"{name}\", \"cat\": \"requests\"}}",
        us(at),
        row.request
    )
}
