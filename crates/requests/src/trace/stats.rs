//! The results of a scan, for programs and for people.

use schemars::JsonSchema;
use serde::Serialize;
use softsense_base::{Ns, format_bytes, format_count, format_duration};

use super::options::{Format, TimeUnit};

/// One device of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeviceStats {
    /// Number of the device, as `--devices only=N` takes it; for blkparse `major * 2^20 + minor`, for fio the order of appearance.
    pub device: u32,
    /// Name of the device, where the format has one: host and disk, `major,minor`, or a file.
    pub name: String,
    /// Number of requests to the device.
    pub requests: u64,
    /// Highest end of a request in the device's own address space, bytes.
    pub extent_bytes: u64,
}

/// Lines that are not replayed, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Skipped {
    /// Requests without data, except flushes.
    pub zero_size: u64,
    /// 1 where the last row is an end mark: it counts in the statistics, but is not replayed.
    pub end_marks: u64,
    /// Blank lines and lines that begin with `#`.
    pub blank_or_comment: u64,
    /// Events that are not requests: blkparse's other actions, fio's opens, closes and waits.
    pub other_events: u64,
    /// Requests of devices that `--devices` leaves out.
    pub other_devices: u64,
    /// Requests that are far from all others in time, left out by `--skip-outliers`.
    pub outliers: u64,
    /// Flushes, left out by `--skip-flushes`; writes with FUA then become plain writes.
    pub flushes: u64,
}

/// Statistics of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TraceStats {
    /// The file.
    pub path: String,
    /// Format of the file.
    pub format: Format,
    /// Columns of a format that is a mapping of columns, with their delimiter and whether there is a header; none for other formats.
    pub columns: Option<String>,
    /// Event of blkparse that counts as a request; none for other formats.
    pub event: Option<String>,
    /// Whether the format was recognised from the content; otherwise it was asked for.
    pub format_recognised: bool,
    /// Compression of the file: `none`, `gzip` or `zstd`.
    pub compression: String,
    /// The unit of the time column.
    pub time_unit: TimeUnit,
    /// The unit of the size column, bytes.
    pub size_unit_bytes: u64,
    /// Reads, writes, trims and flushes together, an end mark included.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims (discards).
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Writes that are forced to the medium (FUA); `writes` counts them, too.
    pub fua_writes: u64,
    /// Share of reads among all requests.
    pub read_fraction: f64,
    /// Time from the earliest arrival to the latest, s, an end mark included.
    pub span_s: f64,
    /// Number of requests in a replay: all but an end mark.
    pub replayed_requests: u64,
    /// Time from the earliest arrival to the latest that is replayed, ns.
    pub replayed_span_ns: u64,
    /// Distinct units of 4 KiB that were touched, times 4096; devices are kept apart unless they are merged.
    pub footprint_bytes: u64,
    /// Bytes of all reads.
    pub bytes_read: u64,
    /// Bytes of all writes.
    pub bytes_written: u64,
    /// Bytes of all trims.
    pub bytes_trimmed: u64,
    /// Mean size of a request, bytes.
    pub mean_request_bytes: f64,
    /// Size of the largest request, bytes.
    pub largest_request_bytes: u64,
    /// End of the address space in which the devices are laid out, bytes.
    pub extent_bytes: u64,
    /// The devices that are replayed, in the order in which they are laid out.
    pub devices: Vec<DeviceStats>,
    /// Requests that arrive before a request of an earlier line.
    pub out_of_order: u64,
    /// The longest step back in time from an earlier line, ns.
    pub max_backward_ns: u64,
    /// Lines of requests that are far from all others in time, and are replayed nevertheless.
    pub outlier_lines: Vec<u64>,
    /// Span of the trace without these requests, s; none where there are none.
    pub span_without_outliers_s: Option<f64>,
    /// Doubts about units that no option gives, one sentence each: with these units the trace would be unusual.
    pub unit_doubts: Vec<String>,
    /// Lines that are not replayed.
    pub skipped: Skipped,
}

impl TraceStats {
    /// Returns labels and values to be shown to people. Oddities are shown only where there are any.
    pub fn describe(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        let mut row = |label: &str, value: String| rows.push((label.to_owned(), value));
        row("file", self.path.clone());
        if let Some(span_s) = self.span_without_outliers_s {
            let lines: Vec<String> = self.outlier_lines.iter().map(u64::to_string).collect();
            let (line, is, them) = if lines.len() == 1 { ("line", "is", "it") } else { ("lines", "are", "them") };
            let span = |seconds: f64| format_duration(Ns((seconds * 1e9) as u64));
            row(
                "warning",
                format!(
                    "{line} {} {is} far from all other lines in time: the trace spans {} without {them} and {} with \
                     {them}; --skip-outliers leaves {them} out",
                    lines.join(", "),
                    span(span_s),
                    span(self.span_s)
                ),
            );
        }
        for doubt in &self.unit_doubts {
            row("warning", doubt.clone());
        }
        let how = if self.format_recognised { "recognised" } else { "as asked for" };
        let packed = if self.compression == "none" { String::new() } else { format!(", {}", self.compression) };
        let event = self.event.as_ref().map_or_else(String::new, |event| format!(", {event} events"));
        row("format", format!("{} ({how}){event}{packed}", self.format));
        if let Some(columns) = &self.columns {
            row("columns", columns.clone());
        }
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
        if self.flushes > 0 {
            row("flushes", format_count(self.flushes));
        }
        if self.fua_writes > 0 {
            row("writes with FUA", format_count(self.fua_writes));
        }
        let rate = self.replayed_requests as f64 / (self.replayed_span_ns as f64 / 1e9);
        let rate = match rate {
            rate if !rate.is_finite() => String::new(),
            rate if rate >= 10.0 => format!(", {} requests a second", format_count(rate.round() as u64)),
            rate if rate >= 0.1 => format!(", {rate:.2} requests a second"),
            rate => format!(", {rate:.1e} requests a second"),
        };
        row("span", format!("{}{rate}", format_duration(Ns((self.span_s * 1e9) as u64))));
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
            (skipped.outliers, "requests far from all others in time"),
            (skipped.flushes, "flushes"),
        ] {
            if count > 0 {
                row("skipped", format!("{} {what}", format_count(count)));
            }
        }
        rows
    }
}
