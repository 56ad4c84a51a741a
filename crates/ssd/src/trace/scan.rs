//! The first pass: what a trace holds, and what its replay needs to know beforehand.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use softsense_base::{Error, Ns, Result, format_bytes, format_count, format_duration};

use super::formats::{DeviceTable, Parser, Recognition, Row, recognise};
use super::reader::{Lines, pump};
use super::{Devices, Format, TimeUnit, Trace, TraceSpec};
use crate::request::RequestKind;

/// The unit of the footprint.
const UNIT_BITS: u32 = 12;
/// Units are marked in chunks of so many.
const CHUNK_BITS: u32 = 12;
/// Each stacked device starts at a multiple of this.
const STACK_ALIGN: u64 = 1 << 20;
/// How often `progress` is called.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);
/// A file with fewer rows has no end mark: there is too little to compare its last row with.
const END_MARK_MIN_ROWS: u64 = 100;
/// The gap before an end mark is this many times longer than any other, and not short.
const END_MARK_GAP: u64 = 4;
const END_MARK_MIN_GAP_NS: u64 = 1_000_000_000;

/// What one device of a trace holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeviceStats {
    /// Its number, as `--devices only=N` takes it; for blkparse `major * 2^20 + minor`, for fio the order of appearance.
    pub device: u32,
    /// Its name, where the format has one: host and disk, `major,minor`, or a file.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// The end of its last request, in its own address space.
    pub extent_bytes: u64,
}

/// Lines that are not replayed, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Skipped {
    /// Requests without data, such as flushes.
    pub zero_size: u64,
    /// 1 where the last row is an end mark: it counts in the statistics, but is not replayed.
    pub end_marks: u64,
    /// Blank lines and lines that begin with `#`.
    pub blank_or_comment: u64,
    /// Events that are not requests: blkparse's actions other than Q, fio's opens, closes, syncs and waits.
    pub other_events: u64,
    /// Requests of devices that `--devices only=N` leaves out.
    pub other_devices: u64,
}

/// What a trace holds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TraceStats {
    /// The file.
    pub path: String,
    /// Its format.
    pub format: Format,
    /// Whether the format was recognised from the content, or asked for.
    pub format_recognised: bool,
    /// `none`, `gzip` or `zstd`.
    pub compression: String,
    /// The unit of the time column.
    pub time_unit: TimeUnit,
    /// The unit of the size column.
    pub size_unit_bytes: u64,
    /// Reads, writes and trims together, an end mark included.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims (discards).
    pub trims: u64,
    /// Reads among all requests.
    pub read_fraction: f64,
    /// From the earliest arrival to the latest, in seconds, an end mark included.
    pub span_s: f64,
    /// How many requests a replay has: all but an end mark.
    pub replayed_requests: u64,
    /// From the earliest arrival to the latest that is replayed, in nanoseconds.
    pub replayed_span_ns: u64,
    /// Distinct units of 4 KiB that were touched, times 4096; devices are kept apart unless they are merged.
    pub footprint_bytes: u64,
    /// Bytes of all reads.
    pub bytes_read: u64,
    /// Bytes of all writes.
    pub bytes_written: u64,
    /// Bytes of all trims.
    pub bytes_trimmed: u64,
    /// Mean size of a request.
    pub mean_request_bytes: f64,
    /// Size of the largest request.
    pub largest_request_bytes: u64,
    /// The end of the address space in which the devices are laid out.
    pub extent_bytes: u64,
    /// The devices that are replayed, in the order in which they are laid out.
    pub devices: Vec<DeviceStats>,
    /// Requests that arrive before one of an earlier line.
    pub out_of_order: u64,
    /// The longest such step back in time, in nanoseconds.
    pub max_backward_ns: u64,
    /// Lines that are not replayed.
    pub skipped: Skipped,
}

impl TraceStats {
    /// Labels and values for people. Oddities are shown only where there are any.
    pub fn describe(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        let mut row = |label: &str, value: String| rows.push((label.to_owned(), value));
        row("file", self.path.clone());
        let how = if self.format_recognised { "recognised" } else { "as asked for" };
        let packed = if self.compression == "none" { String::new() } else { format!(", {}", self.compression) };
        row("format", format!("{} ({how}){packed}", self.format));
        let units = if self.time_unit == TimeUnit::Ticks100Ns {
            "time in ticks of 100 ns".to_owned()
        } else {
            format!("time in {}", self.time_unit)
        };
        row("units", format!("{units}, size in units of {} B", self.size_unit_bytes));
        row("requests", format_count(self.requests));
        row("reads", format!("{} ({:.1} %)", format_count(self.reads), self.read_fraction * 100.0));
        row("writes", format_count(self.writes));
        if self.trims > 0 {
            row("trims", format_count(self.trims));
        }
        row("span", format_duration(Ns((self.span_s * 1e9) as u64)));
        row("mean size", format_bytes(self.mean_request_bytes.round() as u64));
        row("read", format_bytes(self.bytes_read));
        row("written", format_bytes(self.bytes_written));
        row("footprint", format_bytes(self.footprint_bytes));
        row("extent", format_bytes(self.extent_bytes));
        for device in self.devices.iter().take(32) {
            let name = if device.name.is_empty() { String::new() } else { format!(" ({})", device.name) };
            row(
                &format!("device {}{name}", device.device),
                format!("{} requests, extent {}", format_count(device.requests), format_bytes(device.extent_bytes)),
            );
        }
        if self.devices.len() > 32 {
            row("more devices", format_count(self.devices.len() as u64 - 32));
        }
        if self.out_of_order > 0 {
            row(
                "unsorted",
                format!(
                    "{} requests arrive before an earlier line's, by up to {}; replayed in order of arrival",
                    format_count(self.out_of_order),
                    format_duration(Ns(self.max_backward_ns))
                ),
            );
        }
        let skipped = &self.skipped;
        if skipped.end_marks > 0 {
            row(
                "end mark",
                format!(
                    "the last row; counted above, but not replayed: {} requests over {}",
                    format_count(self.replayed_requests),
                    format_duration(Ns(self.replayed_span_ns))
                ),
            );
        }
        for (count, what) in [
            (skipped.zero_size, "requests of size zero"),
            (skipped.blank_or_comment, "blank lines and comments"),
            (skipped.other_events, "events that are not requests"),
            (skipped.other_devices, "requests of other devices"),
        ] {
            if count > 0 {
                row("skipped", format!("{} {what}", format_count(count)));
            }
        }
        rows
    }
}

/// What a replay needs to know beforehand.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The earliest arrival.
    pub first_ns: u64,
    /// Where the address space of each slot begins.
    pub bases: Vec<u64>,
    /// Which number each slot has in a converted file.
    pub numbers: Vec<u32>,
    /// The line of the request that ends last in the laid-out space.
    pub furthest_line: u64,
    /// The row that is an end mark, counted from 0.
    pub end_mark: Option<u64>,
    pub max_backward_line: u64,
}

/// Keys are spread already; one multiplication mixes them.
#[derive(Default)]
struct ChunkHasher(u64);

impl Hasher for ChunkHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let mixed = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Which units of 4 KiB were touched: one bit each, in chunks of 4096 units (16 MiB of addresses, 512 B of memory).
#[derive(Default)]
struct Footprint {
    chunks: Vec<[u64; 64]>,
    index: HashMap<u64, u32, BuildHasherDefault<ChunkHasher>>,
    last_key: u64,
    last: usize,
    /// Chunks that large requests touched whole, by the first of each run: the chunk after its last. Runs do not touch.
    whole: BTreeMap<u64, u64>,
}

impl Footprint {
    #[inline(always)]
    fn chunk(&mut self, key: u64) -> &mut [u64; 64] {
        if key != self.last_key || self.chunks.is_empty() {
            let next = self.chunks.len();
            self.last = *self.index.entry(key).or_insert(next as u32) as usize;
            self.last_key = key;
            if self.last == next {
                self.chunks.push([0; 64]);
            }
        }
        &mut self.chunks[self.last]
    }

    /// Marks a range of bytes of one address space. `bytes` is not zero.
    #[inline(always)]
    fn touch(&mut self, space: u64, offset: u64, bytes: u64) {
        let first = offset >> UNIT_BITS;
        let last = (offset + bytes - 1) >> UNIT_BITS;
        if last - first < 2 << CHUNK_BITS {
            return self.touch_units(space, first, last);
        }
        // What a chunk is touched of at both ends, and between them all of it, at the cost of none.
        let (from, to) = ((first >> CHUNK_BITS) + 1, last >> CHUNK_BITS);
        self.touch_units(space, first, (from << CHUNK_BITS) - 1);
        self.touch_units(space, to << CHUNK_BITS, last);
        self.touch_whole(space << 36 | from, space << 36 | to);
    }

    /// Marks the chunks from `from` to before `to`.
    fn touch_whole(&mut self, mut from: u64, mut to: u64) {
        while let Some((&start, &end)) = self.whole.range(..=to).next_back().filter(|&(_, &end)| end >= from) {
            (from, to) = (from.min(start), to.max(end));
            self.whole.remove(&start);
        }
        self.whole.insert(from, to);
    }

    fn is_whole(&self, key: u64) -> bool {
        self.whole.range(..=key).next_back().is_some_and(|(_, &end)| key < end)
    }

    #[inline(always)]
    fn touch_units(&mut self, space: u64, first: u64, last: u64) {
        let mut word = first >> 6;
        let last_word = last >> 6;
        let mut mask = u64::MAX << (first & 63);
        loop {
            if word == last_word {
                mask &= u64::MAX >> (63 - (last & 63));
            }
            // Addresses end at 2^60, so chunks take 36 bits.
            self.chunk(space << 36 | word >> 6)[(word & 63) as usize] |= mask;
            if word == last_word {
                return;
            }
            word += 1;
            mask = u64::MAX;
        }
    }

    fn touched_first_unit(&self, space: u64) -> bool {
        let key = space << 36;
        self.is_whole(key) || self.index.get(&key).is_some_and(|&chunk| self.chunks[chunk as usize][0] & 1 == 1)
    }

    fn bytes(&self) -> u64 {
        let marked =
            |chunk: u32| self.chunks[chunk as usize].iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let in_part: u64 =
            self.index.iter().filter(|&(&key, _)| !self.is_whole(key)).map(|(_, &chunk)| marked(chunk)).sum();
        let whole: u64 = self.whole.iter().map(|(from, to)| to - from).sum();
        (in_part + (whole << CHUNK_BITS)) << UNIT_BITS
    }
}

#[derive(Default, Clone, Copy)]
struct SlotCount {
    requests: u64,
    extent: u64,
    extent_line: u64,
}

/// What an end mark would be: the last row, alone at an address that nothing else touches, long after the others.
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
        self.rows += 1;
        match row.kind {
            RequestKind::Read => {
                self.reads += 1;
                self.bytes_read = self.bytes_read.saturating_add(row.bytes);
            }
            RequestKind::Write => {
                self.writes += 1;
                self.bytes_written = self.bytes_written.saturating_add(row.bytes);
            }
            RequestKind::Trim => {
                self.trims += 1;
                self.bytes_trimmed = self.bytes_trimmed.saturating_add(row.bytes);
            }
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
        self.footprint.touch(space, row.offset, row.bytes);
    }

    #[cold]
    fn consider(&mut self, space: u64, gap: u64) {
        let late = gap >= END_MARK_MIN_GAP_NS && gap / END_MARK_GAP >= self.longest_gap_ns;
        if late && self.rows >= END_MARK_MIN_ROWS && !self.footprint.touched_first_unit(space) {
            self.candidate = Some(Candidate { row: self.rows, previous_latest_ns: self.latest_ns });
        }
    }
}

pub(super) fn open(spec: TraceSpec, progress: &mut dyn FnMut(f64) -> bool) -> Result<Trace> {
    let begun = Instant::now();
    let path = spec.path.display().to_string();
    if let Some(size_unit) = spec.size_unit
        && (size_unit == 0 || size_unit > 1 << 30)
    {
        return Err(Error::trace(path, format!("found a size unit of {size_unit} bytes, expected 1 B to 1 GiB")));
    }
    let mut lines = Lines::open(&spec.path)?;
    let sample = lines.sample()?;
    if sample.is_empty() {
        return Err(Error::trace(path, "found an empty file, expected a trace"));
    }
    let format = match spec.format {
        Some(format) => format,
        None => choose(&path, recognise(sample), spec.time_unit)?,
    };
    let size_unit = spec.size_unit.unwrap_or(format.size_unit_bytes());
    let mut parser = Parser::new(format, spec.time_unit, size_unit);
    let mut devices = DeviceTable::new(spec.devices);
    let mut skipped = Skipped::default();
    let mut tally = Tally { merge: spec.devices == Devices::Merge, ..Tally::default() };
    let mut reported = Instant::now();
    // A block has at most this many lines, so each call takes one block.
    let whole_block = usize::MAX;
    while pump(&mut lines, &mut parser, &mut devices, &mut skipped, whole_block, &mut |row, line| tally.add(row, line))?
    {
        if reported.elapsed() >= PROGRESS_EVERY {
            reported = Instant::now();
            if !progress(lines.fraction()) {
                return Err(Error::trace(path, "interrupted"));
            }
        }
    }
    if !progress(1.0) {
        return Err(Error::trace(path, "interrupted"));
    }
    if tally.rows == 0 {
        return Err(Error::trace(path, nothing_found(spec.devices, &devices, &skipped)));
    }
    tally.slots.resize(devices.devices.len(), SlotCount::default());

    // Order of device number; names and then order of appearance where several have the same number.
    let mut order: Vec<usize> = (0..devices.devices.len()).filter(|&slot| devices.included[slot]).collect();
    order.sort_by_key(|&slot| (devices.devices[slot].number, &devices.devices[slot].name, slot));
    let mut bases = vec![0u64; devices.devices.len()];
    let (mut extent, mut furthest_line) = (0u64, 0);
    for &slot in &order {
        let count = &tally.slots[slot];
        if spec.devices != Devices::Merge {
            bases[slot] = extent.div_ceil(STACK_ALIGN) * STACK_ALIGN;
        }
        let end = bases[slot] + count.extent;
        if end > 1 << 62 {
            return Err(Error::trace(
                path,
                "found devices that together end beyond 4 EiB, expected a smaller address space",
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

    let five_columns = matches!(format, Format::Disksim | Format::Mqsim);
    let end_mark = tally.candidate.filter(|candidate| five_columns && candidate.row + 1 == tally.rows);
    skipped.end_marks = u64::from(end_mark.is_some());
    let replayed_latest = end_mark.map_or(tally.latest_ns, |mark| mark.previous_latest_ns);
    let bytes = tally.bytes_read as f64 + tally.bytes_written as f64 + tally.bytes_trimmed as f64;
    let stats = TraceStats {
        path,
        format,
        format_recognised: spec.format.is_none(),
        compression: lines.compression.name().to_owned(),
        time_unit: spec.time_unit.unwrap_or(format.time_unit()),
        size_unit_bytes: size_unit,
        requests: tally.rows,
        reads: tally.reads,
        writes: tally.writes,
        trims: tally.trims,
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
    Ok(Trace { version: lines.version, spec, format, size_unit, layout, stats, scan_s: begun.elapsed().as_secs_f64() })
}

fn choose(path: &str, recognition: Recognition, time_unit: Option<TimeUnit>) -> Result<Format> {
    match recognition {
        Recognition::Certain(format) => Ok(format),
        // The columns are the same: with the unit of time the question is answered.
        Recognition::FiveWholeNumbers { .. } if time_unit == Some(TimeUnit::Ns) => Ok(Format::Mqsim),
        Recognition::FiveWholeNumbers { .. } if time_unit.is_some() => Ok(Format::Disksim),
        Recognition::FiveWholeNumbers { first, lines, span } => Err(Error::trace(
            path,
            format!(
                "found five columns of whole numbers, such as `{first}`, expected something that shows their unit of \
                 time. The first {} lines would span {} in nanoseconds: give --format mqsim; or {} in milliseconds: \
                 give --format disksim; or give --time-unit",
                format_count(lines as u64),
                format_duration(Ns(span)),
                format_duration(Ns(span.saturating_mul(1_000_000))),
            ),
        )),
        Recognition::Unknown { line, first, hint } => Err(Error::trace(
            format!("{path}:{line}"),
            format!(
                "found `{first}`, expected a line of one of the formats msr, spc, disksim, mqsim, blkparse, fio or \
                 csv{hint}; give --format to be told what is wrong with the line"
            ),
        )),
        Recognition::OnlyComments => {
            Err(Error::trace(path, "found only blank lines and comments, expected the requests of a trace"))
        }
    }
}

fn nothing_found(devices: Devices, table: &DeviceTable, skipped: &Skipped) -> String {
    if let Devices::Only(number) = devices
        && skipped.other_devices > 0
    {
        let mut numbers: Vec<u32> = table.devices.iter().map(|device| device.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let shown: Vec<String> = numbers.iter().take(20).map(u32::to_string).collect();
        let more = if numbers.len() > 20 { ", ..." } else { "" };
        return format!("found no request of device {number}, expected one of the devices {}{more}", shown.join(", "));
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
    format!("found only {found}, expected the requests of a trace")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Does the bitmap count what a set counts, across words, chunks and spaces?
    #[test]
    fn the_footprint_counts_distinct_units() {
        let mut footprint = Footprint::default();
        let mut set = HashSet::new();
        let mut state = 1u64;
        for _ in 0..5_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (space, offset, bytes) = ((state >> 60) & 3, (state >> 20) % (1 << 26), 1 + (state >> 33) % 600_000);
            footprint.touch(space, offset, bytes);
            set.extend((offset / 4096..=(offset + bytes - 1) / 4096).map(|unit| (space, unit)));
        }
        assert_eq!(footprint.bytes(), set.len() as u64 * 4096);
    }

    /// The same with large requests, which mark whole chunks; and a TiB costs no more than its ends.
    #[test]
    fn the_footprint_of_large_requests_is_small() {
        let mut footprint = Footprint::default();
        let mut set = HashSet::new();
        let mut state = 7u64;
        for i in 0..400u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let most = if i.is_multiple_of(3) { 1 << 28 } else { 1 << 22 };
            let (space, offset, bytes) = ((state >> 60) & 1, (state >> 20) % (1 << 33), 1 + (state >> 33) % most);
            footprint.touch(space, offset, bytes);
            set.extend((offset / 4096..=(offset + bytes - 1) / 4096).map(|unit| (space, unit)));
            assert_eq!(footprint.touched_first_unit(space), set.contains(&(space, 0)));
        }
        assert_eq!(footprint.bytes(), set.len() as u64 * 4096);
        let before = footprint.chunks.len();
        footprint.touch(2, 4096, 1 << 40);
        assert_eq!(footprint.chunks.len(), before + 2);
        assert_eq!(footprint.bytes(), (set.len() as u64 + (1 << 28)) * 4096);
    }
}
