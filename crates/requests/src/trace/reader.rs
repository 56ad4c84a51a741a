//! From lines to requests in order of arrival: parsing in batches, restoring the order in a window, and the addresses of the simulated
//! device.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use memchr::memchr;
use softsense_base::{Error, Ns, Result, format_bytes};

use super::formats::{DeviceTable, MAX_ADDRESS, Parse, Parsed, Parser, Row, shorten, trim};
use super::lines::{FileVersion, Lines};
use super::scan::Layout;
use super::stats::Skipped;
use super::{Beyond, Devices, Trace};
use crate::{MAX_REQUEST_BYTES, MAX_TRIM_BYTES, Request, RequestKind, RequestSource};

/// Lines that are parsed at a time when requests are replayed.
const BATCH_LINES: usize = 512;
/// Most requests that are held to restore the order of arrival.
const MAX_HELD: usize = 1_000_000;

/// Lines that are read, but not handed on.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftOut {
    /// Line numbers of outliers, ascending.
    pub outliers: Vec<u64>,
    /// Whether flushes are left out; writes with FUA then become plain writes.
    pub flushes: bool,
}

/// Parses up to `lines_at_most` lines of the block in the buffer, all of one format. Each request goes to `sink` with its line number.
/// Returns false at the end of the file.
#[inline(always)]
fn pump_format<P: Parse>(
    lines: &mut Lines,
    parser: &mut P,
    devices: &mut DeviceTable,
    skipped: &mut Skipped,
    left_out: &LeftOut,
    lines_at_most: usize,
    sink: &mut impl FnMut(&Row, u64),
) -> Result<bool> {
    if !lines.fill()? {
        return Ok(false);
    }
    let block = &lines.buffer[lines.at..lines.limit];
    let mut at = 0;
    let mut number = lines.line;
    let stop = number.saturating_add(lines_at_most as u64);
    while at < block.len() && number < stop {
        let rest = &block[at..];
        let length = match P::RECORD_BYTES {
            0 => memchr(b'\n', rest).unwrap_or(rest.len()),
            bytes => bytes,
        };
        let mut line = &rest[..length];
        at += length + usize::from(P::RECORD_BYTES == 0);
        number += 1;
        // Most lines begin with a digit or a letter and end with one.
        if P::RECORD_BYTES > 0 {
        } else if P::BLANKS_COUNT {
            line = line.strip_suffix(b"\r").unwrap_or(line);
            let text = trim(line);
            if text.is_empty() || text[0] == b'#' {
                skipped.blank_or_comment += 1;
                continue;
            }
        } else if line.first().is_none_or(|&byte| byte <= b'#') || line.last().is_some_and(|&byte| byte <= b' ') {
            line = trim(line);
            if line.is_empty() || line[0] == b'#' {
                skipped.blank_or_comment += 1;
                continue;
            }
        }
        match parser.parse(line, devices) {
            Some(parsed @ (Parsed::Row(row) | Parsed::Flushed(row))) => {
                if row.bytes.wrapping_sub(1) >= MAX_REQUEST_BYTES || row.offset >= MAX_ADDRESS - MAX_TRIM_BYTES {
                    if row.bytes == 0 && row.kind != RequestKind::Flush {
                        skipped.zero_size += 1;
                        continue;
                    }
                    if let Some(message) = too_large(&row) {
                        return Err(lines.error(number, message));
                    }
                }
                if !devices.included[row.slot as usize] {
                    skipped.other_devices += 1;
                    continue;
                }
                if !left_out.outliers.is_empty() && left_out.outliers.binary_search(&number).is_ok() {
                    skipped.outliers += 1;
                    continue;
                }
                let flushes_before = matches!(parsed, Parsed::Flushed(_));
                if left_out.flushes {
                    skipped.flushes += u64::from(flushes_before || row.kind == RequestKind::Flush);
                    match row.kind {
                        RequestKind::Flush => {}
                        RequestKind::FuaWrite => sink(&Row { kind: RequestKind::Write, ..row }, number),
                        _ => sink(&row, number),
                    }
                    continue;
                }
                if flushes_before {
                    sink(&Row::flush(row.arrival_ns, row.slot), number);
                }
                sink(&row, number);
            }
            Some(Parsed::Header) => {}
            Some(Parsed::OtherEvent) => skipped.other_events += 1,
            None => {
                let message = if devices.full() {
                    "found more than 65,536 devices, expected fewer: the device column may be another column".to_owned()
                } else {
                    parser.explain(line)
                };
                return Err(lines.error(number, message));
            }
        }
    }
    lines.at = (lines.at + at).min(lines.limit);
    lines.line = number;
    Ok(true)
}

#[cold]
fn too_large(row: &Row) -> Option<String> {
    let (what, most) = match row.kind {
        RequestKind::Trim => ("trim", MAX_TRIM_BYTES),
        RequestKind::Read | RequestKind::Write | RequestKind::Flush | RequestKind::FuaWrite => {
            ("request", MAX_REQUEST_BYTES)
        }
    };
    if row.bytes > most {
        Some(format!("found a {what} of {} bytes, expected at most {}", row.bytes, format_bytes(most)))
    } else {
        let beyond = row.offset >= MAX_ADDRESS - MAX_TRIM_BYTES;
        beyond.then(|| format!("found a request at byte {}, expected an address below 1 EiB", row.offset))
    }
}

/// Calls [`pump_format`] for the format: one match for each block, so that each format has its own loop.
pub(super) fn pump(
    lines: &mut Lines,
    parser: &mut Parser,
    devices: &mut DeviceTable,
    skipped: &mut Skipped,
    left_out: &LeftOut,
    lines_at_most: usize,
    sink: &mut impl FnMut(&Row, u64),
) -> Result<bool> {
    match parser {
        Parser::Five(parser) => pump_format(lines, parser, devices, skipped, left_out, lines_at_most, sink),
        Parser::Msr(parser) => pump_format(lines, parser, devices, skipped, left_out, lines_at_most, sink),
        Parser::Spc(parser) => pump_format(lines, parser, devices, skipped, left_out, lines_at_most, sink),
        Parser::Blkparse(parser) => pump_format(lines, parser, devices, skipped, left_out, lines_at_most, sink),
        Parser::Fio(parser) => pump_format(lines, parser, devices, skipped, left_out, lines_at_most, sink),
        Parser::Csv(parser) => pump_format(lines, parser, devices, skipped, left_out, lines_at_most, sink),
        Parser::Oracle(parser) => pump_format(lines, &mut **parser, devices, skipped, left_out, lines_at_most, sink),
        Parser::Vscsi1(parser) => pump_format(lines, parser, devices, skipped, left_out, lines_at_most, sink),
        Parser::Vscsi2(parser) => pump_format(lines, parser, devices, skipped, left_out, lines_at_most, sink),
        Parser::Mapped(parser) => pump_format(lines, &mut **parser, devices, skipped, left_out, lines_at_most, sink),
    }
}

/// A request that waits for earlier ones, which may come later in the file.
struct Held {
    row: Row,
    /// Position in the file: requests of the same instant keep their order.
    index: u64,
}

impl Held {
    fn key(&self) -> (u64, u64) {
        (self.row.arrival_ns, self.index)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    /// Reversed, so that a [`BinaryHeap`] has the earliest on top.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Restores the order of arrival. No later line arrives before the latest arrival so far less the largest backward step of the file. So
/// requests up to that time may leave the heap.
struct Reorder {
    heap: BinaryHeap<Held>,
    window_ns: u64,
    latest_ns: u64,
}

/// The rows of a scanned trace in order of arrival, without its end mark.
pub(super) struct Rows {
    lines: Lines,
    /// The rows of the file, if they were kept when it was scanned; then nothing is parsed.
    kept: Option<Arc<[Row]>>,
    parser: Parser,
    devices: DeviceTable,
    batch: Vec<Row>,
    at: usize,
    /// Number of rows of the file that were handed on.
    parsed: u64,
    end_mark: Option<u64>,
    /// The version of the file that was scanned.
    scanned: FileVersion,
    reorder: Option<Reorder>,
    /// The largest backward step and its line, for the message when too many requests are held.
    step: (u64, u64),
    /// Further advice in this message.
    advice: &'static str,
    left_out: LeftOut,
}

impl Rows {
    pub(crate) fn new(trace: &Trace) -> Result<Rows> {
        let lines = Lines::open(&trace.spec, trace.reading.record_bytes)?;
        lines.expect_version(trace.version)?;
        let layout = &trace.layout;
        Ok(Rows {
            lines,
            kept: trace.kept.clone(),
            parser: Parser::new(&trace.reading),
            devices: DeviceTable::new(&trace.spec.devices),
            batch: Vec::with_capacity(BATCH_LINES),
            at: 0,
            parsed: 0,
            end_mark: layout.end_mark,
            scanned: trace.version,
            reorder: (trace.stats.max_backward_ns > 0).then(|| Reorder {
                heap: BinaryHeap::new(),
                window_ns: trace.stats.max_backward_ns,
                latest_ns: 0,
            }),
            step: (trace.stats.max_backward_ns, layout.max_backward_line),
            left_out: trace.left_out.clone(),
            advice: if trace.stats.outlier_lines.is_empty() { "" } else { ", or give --skip-outliers" },
        })
    }

    /// Returns the next row in order of arrival.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<Option<Row>> {
        if self.reorder.is_none() { self.next_in_file() } else { self.next_in_order() }
    }

    pub(crate) fn fraction(&self) -> f64 {
        match &self.kept {
            Some(kept) => self.parsed as f64 / kept.len() as f64,
            None => self.lines.fraction(),
        }
    }

    #[inline(always)]
    fn next_in_file(&mut self) -> Result<Option<Row>> {
        if let Some(&row) = self.batch.get(self.at) {
            self.at += 1;
            return Ok(Some(row));
        }
        self.next_batch()
    }

    fn next_batch(&mut self) -> Result<Option<Row>> {
        self.batch.clear();
        self.at = 1;
        // The scan has counted skipped lines already.
        let mut skipped = Skipped::default();
        while self.batch.is_empty() {
            let before = self.parsed as usize;
            let (batch, parsed, end_mark) = (&mut self.batch, &mut self.parsed, self.end_mark);
            let mut sink = |row: &Row, _line: u64| {
                if Some(*parsed) != end_mark {
                    batch.push(*row);
                }
                *parsed += 1;
            };
            let (lines, parser, devices) = (&mut self.lines, &mut self.parser, &mut self.devices);
            let more = match &self.kept {
                Some(kept) => {
                    let next = kept[before..].iter().take(BATCH_LINES);
                    next.clone().for_each(|row| sink(row, 0));
                    next.len() > 0
                }
                None => pump(lines, parser, devices, &mut skipped, &self.left_out, BATCH_LINES, &mut sink)?,
            };
            if !more {
                self.lines.expect_version(self.scanned)?;
                return Ok(None);
            }
        }
        Ok(self.batch.first().copied())
    }

    fn next_in_order(&mut self) -> Result<Option<Row>> {
        let Some(mut reorder) = self.reorder.take() else { return self.next_in_file() };
        let row = self.next_through(&mut reorder);
        self.reorder = Some(reorder);
        row
    }

    fn next_through(&mut self, reorder: &mut Reorder) -> Result<Option<Row>> {
        loop {
            if let Some(top) = reorder.heap.peek()
                && top.row.arrival_ns <= reorder.latest_ns.saturating_sub(reorder.window_ns)
            {
                return Ok(reorder.heap.pop().map(|held| held.row));
            }
            let Some(row) = self.next_in_file()? else {
                return Ok(reorder.heap.pop().map(|held| held.row));
            };
            reorder.latest_ns = reorder.latest_ns.max(row.arrival_ns);
            let index = self.parsed - (self.batch.len() - self.at) as u64;
            reorder.heap.push(Held { row, index });
            if reorder.heap.len() > MAX_HELD {
                let (step, line) = self.step;
                return Err(self.lines.error(
                    line,
                    format!(
                        "found an arrival {} before that of an earlier line, expected lines that are closer to the \
                         order of time, as at most {MAX_HELD} requests are held in memory to sort them; sort the \
                         file by its time column{}",
                        Ns(step),
                        self.advice
                    ),
                ));
            }
        }
    }
}

/// The map from the addresses of the trace to those of the simulated device.
#[derive(Debug, Clone, Copy)]
enum Placement {
    /// All addresses fit.
    AsIs,
    Wrap {
        capacity: u64,
    },
    /// Whole chunks are moved, so that addresses which are adjacent within a chunk stay adjacent.
    Scale {
        capacity: u64,
        chunk: u64,
        chunks: u64,
        of_chunks: u64,
    },
}

impl Placement {
    fn new(capacity_bytes: u64, extent_bytes: u64, beyond: Beyond) -> Placement {
        if extent_bytes <= capacity_bytes {
            return Placement::AsIs;
        }
        // Requests that were aligned to 4 KiB stay aligned.
        let capacity = if capacity_bytes >= 4096 { capacity_bytes & !4095 } else { capacity_bytes };
        match beyond {
            Beyond::Reject => Placement::AsIs,
            Beyond::Wrap => Placement::Wrap { capacity },
            Beyond::Scale => {
                // A chunk has 1 MiB, or less on a device for which that is coarse, but at least 4 KiB.
                let finest = (capacity / 64).clamp(4096, 1 << 20);
                let chunk = 1u64 << finest.ilog2();
                let chunks = (capacity / chunk).max(1);
                Placement::Scale { capacity, chunk, chunks, of_chunks: extent_bytes.div_ceil(chunk) }
            }
        }
    }

    #[inline(always)]
    fn place(self, offset: u64, bytes: u64) -> u64 {
        match self {
            Placement::AsIs => offset,
            Placement::Wrap { capacity } => (offset % capacity).min(capacity - bytes),
            Placement::Scale { capacity, chunk, chunks, of_chunks } => {
                let scaled = (u128::from(offset / chunk) * u128::from(chunks) / u128::from(of_chunks)) as u64;
                (scaled * chunk + offset % chunk).min(capacity - bytes)
            }
        }
    }
}

/// Streams the requests of a trace in order of arrival.
pub struct TraceReader {
    rows: Rows,
    first_ns: u64,
    bases: Vec<u64>,
    placement: Placement,
    /// End of the addresses, bytes.
    end_bytes: u64,
    /// The last arrival.
    last: Ns,
}

impl TraceReader {
    pub(super) fn new(trace: &Trace, capacity_bytes: u64, beyond: Beyond) -> Result<TraceReader> {
        let Layout { bases, first_ns, furthest_line, .. } = &trace.layout;
        let stats = &trace.stats;
        if stats.extent_bytes > capacity_bytes {
            if beyond == Beyond::Reject {
                let stacked = stats.devices.len() > 1 && trace.spec.devices != Devices::Merge;
                return Err(Error::trace(
                    format!("{}:{furthest_line}", stats.path),
                    format!(
                        "found a request that ends at byte {}{}, the furthest of the trace, expected none beyond {} \
                         ({capacity_bytes} bytes), the capacity of the simulated device; give --beyond wrap or \
                         --beyond scale, or a larger device",
                        stats.extent_bytes,
                        if stacked { " of the devices laid one behind the other" } else { "" },
                        format_bytes(capacity_bytes),
                    ),
                ));
            }
            let usable = if capacity_bytes >= 4096 { capacity_bytes & !4095 } else { capacity_bytes };
            if stats.largest_request_bytes > usable {
                return Err(trace.error(format!(
                    "found a request of {} bytes, expected none larger than the simulated device ({usable} bytes)",
                    stats.largest_request_bytes,
                )));
            }
        }
        Ok(TraceReader {
            rows: Rows::new(trace)?,
            first_ns: *first_ns,
            bases: bases.clone(),
            placement: Placement::new(capacity_bytes, stats.extent_bytes, beyond),
            end_bytes: stats.extent_bytes.min(capacity_bytes),
            last: Ns::ZERO,
        })
    }

    #[cold]
    fn changed(&self) -> Error {
        let message = "found a request that was not there when the file was scanned, expected the same file: it has \
                       changed during the run; start the run again";
        self.rows.lines.error(self.rows.lines.line(), message)
    }
}

impl RequestSource for TraceReader {
    #[inline]
    fn next_request(&mut self) -> Result<Option<Request>> {
        let Some(row) = self.rows.next()? else { return Ok(None) };
        let Some(&base) = self.bases.get(row.slot as usize) else {
            return Err(self.rows.lines.error(
                self.rows.lines.line(),
                format!(
                    "found device {}, which was not there when the file was scanned, expected the same file: it has \
                     changed during the run; start the run again",
                    shorten(self.rows.devices.devices[row.slot as usize].name.as_bytes())
                ),
            ));
        };
        let request = Request {
            arrival: Ns(row.arrival_ns.saturating_sub(self.first_ns)),
            kind: row.kind,
            offset_bytes: match row.kind {
                RequestKind::Flush => 0,
                _ => self.placement.place(base + row.offset, row.bytes),
            },
            bytes: row.bytes,
        };
        // The scan saw no such request, so the file has changed.
        if request.arrival < self.last || request.offset_bytes + request.bytes > self.end_bytes {
            return Err(self.changed());
        }
        self.last = request.arrival;
        Ok(Some(request))
    }

    fn fraction_read(&self) -> f64 {
        self.rows.fraction()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does scaling keep requests on the device, whole chunks together, and 4 KiB alignment?
    #[test]
    fn scaling_keeps_neighbours_within_a_chunk() {
        let extent = 10u64 << 30;
        let capacity = (3u64 << 30) + 12_345;
        let placement = Placement::new(capacity, extent, Beyond::Scale);
        for chunk in (0..10 << 10).step_by(37) {
            let start = chunk << 20;
            let placed = placement.place(start, 4096);
            assert_eq!(placed % 4096, 0);
            assert!(placed.abs_diff((u128::from(start) * u128::from(capacity) / u128::from(extent)) as u64) <= 2 << 20);
            assert_eq!(placement.place(start + 4096, 4096), placed + 4096);
        }
        assert!(placement.place(extent - 4096, 4096) + 4096 <= capacity);
        assert!(placement.place(extent - 8192, 4 << 20) + (4 << 20) <= capacity);
    }

    #[test]
    fn wrapping_moves_a_request_that_straddles_the_end_back() {
        let placement = Placement::new(1 << 20, 1 << 30, Beyond::Wrap);
        assert_eq!(placement.place(4096, 4096), 4096);
        assert_eq!(placement.place((1 << 20) + 512, 4096), 512);
        assert_eq!(placement.place((2 << 20) - 4096, 4096), (1 << 20) - 4096);
        assert_eq!(placement.place((2 << 20) - 4096, 8192), (1 << 20) - 8192);
    }

    /// Is a trace that fits left alone whatever the policy?
    #[test]
    fn a_trace_that_fits_is_left_alone() {
        for beyond in [Beyond::Reject, Beyond::Wrap, Beyond::Scale] {
            let placement = Placement::new(1 << 20, 1 << 20, beyond);
            assert_eq!(placement.place(123 * 512, 512), 123 * 512);
        }
    }
}
