//! The first pass over a trace: its statistics, and the facts that a replay needs beforehand.

use std::sync::Arc;
use std::time::{Duration, Instant};

use softsense_base::{Error, Ns, Result, format_count, format_duration};

use super::footprint::Footprint;
use super::formats::{
    DeviceTable, Parser, Reading, Recognition, Row, likely_event, preset, recognise, record_bytes, unknown_vscsi,
    vscsi_record_bytes,
};
use super::lines::Lines;
use super::outliers::Extremes;
use super::reader::{LeftOut, pump};
use super::spool::spool;
use super::stats::{DeviceStats, Skipped, TraceStats};
use super::units::{Evidence, Found};
use super::{Devices, Format, TimeUnit, Trace, TraceSpec};
use crate::RequestKind;

/// Alignment of the starts of stacked devices, bytes.
const STACK_ALIGN: u64 = 1 << 20;
/// Least time between two calls of `progress`.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);
/// A file with fewer rows has no end mark: there is too little to compare its last row with.
const END_MARK_MIN_ROWS: u64 = 100;
/// Least ratio of the gap before an end mark to any other gap. The gap also has to be `END_MARK_MIN_GAP_NS` or more.
const END_MARK_GAP: u64 = 4;
const END_MARK_MIN_GAP_NS: u64 = 1_000_000_000;

/// The facts that a replay needs beforehand.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The earliest arrival, ns.
    pub first_ns: u64,
    /// Begin of the address space of each slot, bytes.
    pub bases: Vec<u64>,
    /// Device number of each slot in a converted file.
    pub numbers: Vec<u32>,
    /// Line of the request whose end is the highest address in the laid-out space.
    pub furthest_line: u64,
    /// Number of the row that is an end mark, from 0.
    pub end_mark: Option<u64>,
    pub max_backward_line: u64,
}

#[derive(Default, Clone, Copy)]
struct SlotCount {
    requests: u64,
    extent: u64,
    extent_line: u64,
}

/// A row that may be an end mark: the last row, alone at an address that nothing else touches, long after the others.
#[derive(Clone, Copy)]
struct Candidate {
    row: u64,
    previous_latest_ns: u64,
}

#[derive(Default)]
struct Tally {
    merge: bool,
    rows: u64,
    reads: u64,
    writes: u64,
    trims: u64,
    flushes: u64,
    fua_writes: u64,
    bytes_read: u64,
    bytes_written: u64,
    bytes_trimmed: u64,
    largest: u64,
    first_ns: u64,
    latest_ns: u64,
    longest_gap_ns: u64,
    out_of_order: u64,
    max_backward_ns: u64,
    max_backward_line: u64,
    slots: Vec<SlotCount>,
    footprint: Footprint,
    candidate: Option<Candidate>,
    extremes: Extremes,
    evidence: Evidence,
    size_unit: u64,
}

impl Tally {
    #[inline(always)]
    fn add(&mut self, row: &Row, line: u64) {
        let space = if self.merge { 0 } else { u64::from(row.slot) };
        if row.arrival_ns >= self.latest_ns {
            if self.rows == 0 {
                self.first_ns = row.arrival_ns;
                self.latest_ns = row.arrival_ns;
            }
            let gap = row.arrival_ns - self.latest_ns;
            if gap > self.longest_gap_ns {
                if row.offset == 0 {
                    self.consider(space, gap);
                }
                self.longest_gap_ns = gap;
            }
            self.latest_ns = row.arrival_ns;
        } else {
            self.out_of_order += 1;
            let back = self.latest_ns - row.arrival_ns;
            if back > self.max_backward_ns {
                self.max_backward_ns = back;
                self.max_backward_line = line;
            }
            self.first_ns = self.first_ns.min(row.arrival_ns);
        }
        self.extremes.add(row.arrival_ns, line);
        self.evidence.add(row, self.size_unit);
        self.rows += 1;
        match row.kind {
            RequestKind::Read => {
                self.reads += 1;
                self.bytes_read = self.bytes_read.saturating_add(row.bytes);
            }
            RequestKind::Write | RequestKind::FuaWrite => {
                self.writes += 1;
                self.fua_writes += u64::from(row.kind == RequestKind::FuaWrite);
                self.bytes_written = self.bytes_written.saturating_add(row.bytes);
            }
            RequestKind::Trim => {
                self.trims += 1;
                self.bytes_trimmed = self.bytes_trimmed.saturating_add(row.bytes);
            }
            RequestKind::Flush => self.flushes += 1,
        }
        self.largest = self.largest.max(row.bytes);
        let slot = row.slot as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, SlotCount::default());
        }
        let count = &mut self.slots[slot];
        count.requests += 1;
        let end = row.offset + row.bytes;
        if end > count.extent {
            count.extent = end;
            count.extent_line = line;
        }
        if row.kind != RequestKind::Flush {
            self.footprint.touch(space, row.offset, row.bytes);
        }
    }

    #[cold]
    fn consider(&mut self, space: u64, gap: u64) {
        let late = gap >= END_MARK_MIN_GAP_NS && gap / END_MARK_GAP >= self.longest_gap_ns;
        if late && self.rows >= END_MARK_MIN_ROWS && !self.footprint.touched_first_unit(space) {
            self.candidate = Some(Candidate { row: self.rows, previous_latest_ns: self.latest_ns });
        }
    }
}

pub(super) fn open(mut spec: TraceSpec, progress: &mut dyn FnMut(f64) -> bool) -> Result<Trace> {
    let begun = Instant::now();
    if let Some(size_unit) = spec.size_unit
        && (size_unit == 0 || size_unit > 1 << 30)
    {
        let message = format!("found a size unit of {size_unit} bytes, expected 1 B to 1 GiB");
        return Err(Error::trace(spec.path.display().to_string(), message));
    }
    spool(&mut spec, progress)?;
    let reading = reading(&spec)?;
    let mut left_out = LeftOut { flushes: spec.skip_flushes, ..LeftOut::default() };
    let scan = Scan::of(&spec, &reading, &left_out, progress)?;
    let mut trace = match scan.tally.extremes.outliers(scan.tally.rows) {
        // The trace is scanned again without outliers, as all other results of the scan depend on them.
        Some(outliers) if spec.skip_outliers => {
            left_out.outliers = outliers.lines;
            Scan::of(&spec, &reading, &left_out, progress)?.finish(spec, reading, left_out)?
        }
        Some(outliers) => {
            let mut trace = scan.finish(spec, reading, left_out)?;
            trace.stats.outlier_lines = outliers.lines;
            trace.stats.span_without_outliers_s = Some(outliers.span_ns as f64 / 1e9);
            trace
        }
        None => scan.finish(spec, reading, left_out)?,
    };
    trace.scan_s = begun.elapsed().as_secs_f64();
    Ok(trace)
}

/// Determines the format and all that depends on it, from the options or the beginning of the file.
fn reading(spec: &TraceSpec) -> Result<Reading> {
    let path = spec.path.display().to_string();
    if let (Some(_), Some(format)) = (&spec.columns, spec.format)
        && format != Format::Columns
        && preset(format).is_none()
    {
        return Err(Error::config(
            "--columns",
            format!(
                "found together with --format {format}, expected only one of the two options: this format has its \
                 own columns"
            ),
        ));
    }
    if spec.columns.is_none() && spec.format == Some(Format::Columns) {
        return Err(Error::config(
            "--format",
            "found `columns` without --columns, expected --columns with it, which names the columns",
        ));
    }
    let asked = spec.format.or(spec.columns.is_some().then_some(Format::Columns));
    let vscsi_record = match asked {
        None | Some(Format::Vscsi) => vscsi_record(spec, asked.is_some())?,
        Some(_) => None,
    };
    let asked = asked.or(vscsi_record.map(|_| Format::Vscsi));
    let record_bytes = vscsi_record.or(asked.map(record_bytes)).unwrap_or(0);
    let mut lines = Lines::open(spec, record_bytes)?;
    let sample = lines.sample()?;
    if sample.is_empty() {
        return Err(Error::trace(path, "found an empty file, expected a trace"));
    }
    let format = match asked {
        Some(format) => format,
        None => choose(&path, recognise(sample), spec.time_unit)?,
    };
    let mut reading = Reading::new(format, spec.columns.clone(), spec.time_unit, spec.size_unit);
    reading.record_bytes = record_bytes;
    reading.see(sample);
    match spec.event {
        Some(event) if format == Format::Blkparse => reading.event = event,
        Some(_) => {
            return Err(Error::config(
                "--event",
                format!(
                    "found for a trace of format {format}, expected one of format blkparse: only that format has \
                     events"
                ),
            ));
        }
        None if format == Format::Blkparse => reading.event = likely_event(sample),
        None => {}
    }
    Ok(reading)
}

/// Returns the record size of a vscsi file, bytes; `None` for another file or an empty one.
fn vscsi_record(spec: &TraceSpec, asked: bool) -> Result<Option<usize>> {
    let mut bytes = Lines::open(spec, 1)?;
    let sample = match bytes.sample() {
        Ok(sample) => sample,
        Err(error) if asked => return Err(error),
        // Reading the file as text gives a better message.
        Err(_) => return Ok(None),
    };
    let record_bytes = vscsi_record_bytes(sample, asked);
    if record_bytes.is_none() && asked && !sample.is_empty() {
        return Err(Error::trace(spec.path.display().to_string(), unknown_vscsi(sample)));
    }
    Ok(record_bytes)
}

/// Most rows that are kept when a trace is scanned, so that it is parsed once: 4 MiB. Memory does not grow with longer traces.
const MOST_KEPT: usize = 1 << 17;

/// One pass over the file.
struct Scan {
    lines: Lines,
    /// The rows in the order of the file, unless there are more than are kept.
    kept: Option<Vec<Row>>,
    devices: DeviceTable,
    skipped: Skipped,
    tally: Tally,
    /// Delimiter and header of mapped columns, as found in the file.
    found: Option<String>,
}

impl Scan {
    fn of(
        spec: &TraceSpec,
        reading: &Reading,
        left_out: &LeftOut,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Scan> {
        let path = spec.path.display().to_string();
        let interrupted = || Error::trace(path.clone(), "interrupted");
        let mut lines = Lines::open(spec, reading.record_bytes)?;
        lines.sample()?;
        let mut parser = Parser::new(reading);
        let mut devices = DeviceTable::new(&spec.devices);
        let mut skipped = Skipped::default();
        let mut tally =
            Tally { merge: spec.devices == Devices::Merge, size_unit: reading.size_unit, ..Tally::default() };
        let mut reported = Instant::now();
        // A block has fewer lines than this, so each call takes one block.
        let block = usize::MAX;
        let mut kept = Some(Vec::new());
        loop {
            let mut sink = |row: &Row, line| {
                tally.add(row, line);
                if let Some(rows) = &mut kept {
                    rows.push(*row);
                }
            };
            if !pump(&mut lines, &mut parser, &mut devices, &mut skipped, left_out, block, &mut sink)? {
                break;
            }
            kept = kept.filter(|rows| rows.len() <= MOST_KEPT);
            if reported.elapsed() >= PROGRESS_EVERY {
                reported = Instant::now();
                if !progress(lines.fraction()) {
                    return Err(interrupted());
                }
            }
        }
        if !progress(1.0) {
            return Err(interrupted());
        }
        if tally.rows == 0 {
            return Err(Error::trace(path, nothing_found(&spec.devices, &devices, &skipped, reading)));
        }
        if reading.format == Format::CloudPhysics && spec.columns.is_none() && tally.reads + tally.writes == 0 {
            return Err(Error::trace(path, no_data_moved(&tally, &skipped)));
        }
        Ok(Scan { lines, kept, devices, skipped, tally, found: parser.found() })
    }

    fn finish(self, spec: TraceSpec, reading: Reading, left_out: LeftOut) -> Result<Trace> {
        let Scan { lines, kept, devices, mut skipped, mut tally, found } = self;
        let path = spec.path.display().to_string();
        tally.slots.resize(devices.devices.len(), SlotCount::default());

        // Devices are in the order of their numbers. Devices of the same number are in the order of their names, and then of their
        // appearance.
        let mut order: Vec<usize> = (0..devices.devices.len()).filter(|&slot| devices.included[slot]).collect();
        let start = |slot: usize| {
            let device = &devices.devices[slot];
            spec.devices.start(device.number, &device.name)
        };
        order.sort_by_key(|&slot| (start(slot), devices.devices[slot].number, &devices.devices[slot].name, slot));
        let mut bases = vec![0u64; devices.devices.len()];
        let (mut extent, mut furthest_line) = (0u64, 0);
        for &slot in &order {
            let count = &tally.slots[slot];
            match start(slot) {
                Some(start) if start < extent => return Err(overlap(&path, &devices, slot, start, extent)),
                Some(start) => bases[slot] = start,
                None if spec.devices == Devices::Merge => {}
                None => bases[slot] = extent.div_ceil(STACK_ALIGN) * STACK_ALIGN,
            }
            let end = bases[slot] + count.extent;
            if end > 1 << 62 {
                return Err(Error::trace(
                    path,
                    "found devices that together end beyond 4 EiB, expected less: --devices merge lets them share \
                     addresses, and --devices only=... takes some",
                ));
            }
            if end > extent {
                (extent, furthest_line) = (end, count.extent_line);
            }
        }
        let unique = order.windows(2).all(|pair| devices.devices[pair[0]].number != devices.devices[pair[1]].number);
        let mut numbers = vec![0u32; devices.devices.len()];
        if spec.devices != Devices::Merge {
            for (rank, &slot) in order.iter().enumerate() {
                numbers[slot] = if unique { devices.devices[slot].number } else { rank as u32 };
            }
        }

        let five_columns = matches!(reading.format, Format::Disksim | Format::Mqsim);
        let end_mark = tally.candidate.filter(|candidate| five_columns && candidate.row + 1 == tally.rows);
        skipped.end_marks = u64::from(end_mark.is_some());
        let replayed_latest = end_mark.map_or(tally.latest_ns, |mark| mark.previous_latest_ns);
        let data = tally.reads + tally.writes;
        let judged = Found {
            path: path.clone(),
            rows: tally.rows - skipped.end_marks,
            first_ns: tally.first_ns,
            span_ns: replayed_latest - tally.first_ns,
            mean_bytes: (data > 0).then(|| (tally.bytes_read as f64 + tally.bytes_written as f64) / data as f64),
            has_outliers: tally.extremes.outliers(tally.rows).is_some(),
        };
        let bytes = tally.bytes_read as f64 + tally.bytes_written as f64 + tally.bytes_trimmed as f64;
        let stats = TraceStats {
            path,
            format: reading.format,
            columns: found,
            event: (reading.format == Format::Blkparse).then(|| reading.event.to_string()),
            format_recognised: spec.format.is_none() && spec.columns.is_none(),
            compression: lines.compression.name().to_owned(),
            time_unit: reading.time_unit,
            size_unit_bytes: reading.size_unit,
            requests: tally.rows,
            reads: tally.reads,
            writes: tally.writes,
            trims: tally.trims,
            flushes: tally.flushes,
            fua_writes: tally.fua_writes,
            read_fraction: tally.reads as f64 / tally.rows as f64,
            span_s: (tally.latest_ns - tally.first_ns) as f64 / 1e9,
            replayed_requests: tally.rows - skipped.end_marks,
            replayed_span_ns: replayed_latest - tally.first_ns,
            footprint_bytes: tally.footprint.bytes(),
            bytes_read: tally.bytes_read,
            bytes_written: tally.bytes_written,
            bytes_trimmed: tally.bytes_trimmed,
            mean_request_bytes: bytes / tally.rows as f64,
            largest_request_bytes: tally.largest,
            extent_bytes: extent,
            devices: order
                .iter()
                .map(|&slot| DeviceStats {
                    device: devices.devices[slot].number,
                    name: devices.devices[slot].name.clone(),
                    requests: tally.slots[slot].requests,
                    extent_bytes: tally.slots[slot].extent,
                })
                .collect(),
            out_of_order: tally.out_of_order,
            max_backward_ns: tally.max_backward_ns,
            outlier_lines: Vec::new(),
            span_without_outliers_s: None,
            unit_doubts: tally.evidence.judge(&reading, spec.size_unit.is_some(), &judged)?,
            skipped,
        };
        let layout = Layout {
            first_ns: tally.first_ns,
            bases,
            numbers,
            furthest_line,
            end_mark: end_mark.map(|mark| mark.row),
            max_backward_line: tally.max_backward_line,
        };
        let kept = kept.map(Arc::from);
        Ok(Trace { version: lines.version, kept, spec, reading, left_out, layout, stats, scan_s: 0.0 })
    }
}

#[cold]
fn overlap(path: &str, devices: &DeviceTable, slot: usize, start: u64, extent: u64) -> Error {
    let device = &devices.devices[slot];
    let name = if device.name.is_empty() { device.number.to_string() } else { device.name.clone() };
    let message = format!(
        "--devices map: found device {name} at byte {start}, where the devices before it end at byte {extent}, \
         expected devices that do not overlap"
    );
    Error::trace(path, message)
}

fn choose(path: &str, recognition: Recognition, time_unit: Option<TimeUnit>) -> Result<Format> {
    match recognition {
        Recognition::Certain(format) => Ok(format),
        // The columns are the same, so the unit of time decides.
        Recognition::FiveWholeNumbers { .. } if time_unit == Some(TimeUnit::Ns) => Ok(Format::Mqsim),
        Recognition::FiveWholeNumbers { .. } if time_unit.is_some() => Ok(Format::Disksim),
        Recognition::FiveWholeNumbers { first, lines, span } => Err(Error::trace(
            path,
            format!(
                "found five columns of whole numbers, such as `{first}`, which do not show the unit of time, \
                 expected --format or --time-unit. The first {} lines span {} if times are in nanoseconds (--format \
                 mqsim), or {} if times are in milliseconds (--format disksim)",
                format_count(lines as u64),
                format_duration(Ns(span)),
                format_duration(Ns(span.saturating_mul(1_000_000))),
            ),
        )),
        Recognition::Unknown { line, first, hint } => Err(Error::trace(
            format!("{path}:{line}"),
            format!(
                "found `{first}`, expected a line of one of the formats {}{hint}; --format FORMAT says what is \
                 wrong with the line, and --columns describes the columns of another format",
                Format::names().replace(" or columns", "").replace(", fiu", " or fiu"),
            ),
        )),
        Recognition::OnlyComments => {
            Err(Error::trace(path, "found only blank lines and comments, expected the requests of a trace"))
        }
    }
}

/// Explains a CloudPhysics trace without reads and writes. Its commands are usually hexadecimal: 42 is a trim in hexadecimal, and a write
/// in decimal.
fn no_data_moved(tally: &Tally, skipped: &Skipped) -> String {
    format!(
        "found {} trims, {} commands that are skipped, and no read or write, with commands taken as hexadecimal, \
         expected reads or writes: give --format cloudphysics with --op read=40/136,write=42/138,skip=* if the \
         commands are decimal, or with --op trim=42,flush=35/91,skip=* if the trace really has only these commands",
        format_count(tally.trims),
        format_count(skipped.other_events),
    )
}

fn nothing_found(chosen: &Devices, table: &DeviceTable, skipped: &Skipped, reading: &Reading) -> String {
    if skipped.other_devices > 0 {
        let mut devices: Vec<(u32, &str)> =
            table.devices.iter().map(|device| (device.number, device.name.as_str())).collect();
        devices.sort_unstable();
        let mut shown: Vec<String> = devices
            .iter()
            .map(|(number, name)| if name.is_empty() { number.to_string() } else { format!("{number} ({name})") })
            .collect();
        shown.dedup();
        let more = if shown.len() > 20 { ", ..." } else { "" };
        shown.truncate(20);
        let wanted = match chosen {
            Devices::Only(wanted) => format!("of device {}", wanted.join(",")),
            _ => format!("of the devices of --devices {chosen}"),
        };
        return format!(
            "found no request {wanted}, expected one of the devices of the trace: {}{more}",
            shown.join(", ")
        );
    }
    let mut found = Vec::new();
    for (count, what) in [
        (skipped.blank_or_comment, "blank lines and comments"),
        (skipped.other_events, "events that are not requests"),
        (skipped.zero_size, "requests of size zero"),
    ] {
        if count > 0 {
            found.push(format!("{what} ({})", format_count(count)));
        }
    }
    let found = if found.is_empty() { "a header".to_owned() } else { found.join(" and ") };
    let words = match reading.format {
        _ if reading.columns.is_none() || skipped.other_events == 0 => String::new(),
        Format::Columns => "; --op says which words are requests, such as read=R,write=W".to_owned(),
        format => format!("; --format {format} --op read=R,write=W says which words are requests, if they are R and W"),
    };
    format!("found only {found}, expected the requests of a trace{words}")
}
