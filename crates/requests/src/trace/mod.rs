//! Block I/O traces: recorded requests of real hosts to real disks.
//!
//! Traces are read in many formats, plain or compressed with gzip or zstd. Most formats are recognised from their content, and any text can
//! be read whose columns are named ([`Columns`]). [`Trace::open`] recognises the format and scans the whole file once. So the span, the
//! extent, the order of the devices, and whether the file is sorted are known before the first request is replayed. [`Trace::requests`]
//! then streams the file, as often as wanted.
//!
//! Neither holds the trace in memory. The scan keeps one bit for each 4 KiB that was touched. The reader keeps one block of text and, where
//! the file is not sorted, the requests of the largest backward step. Formats without addresses take some 40 B for each file or object.
//!
//! The formats, their units and their oddities are described in docs/traces.md.

mod columns;
mod convert;
mod footprint;
mod formats;
mod lines;
mod options;
mod outliers;
mod reader;
mod scan;
mod spool;
mod stats;
mod units;
mod volumes;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use softsense_base::{Error, Result};

use crate::workload::ArrivalFit;

pub use columns::Columns;
pub use convert::write_requests;
pub use options::{Beyond, Event, Format, TimeUnit, parse_size};
pub use reader::TraceReader;
pub use stats::{DeviceStats, Skipped, TraceStats};
pub use volumes::Devices;

use formats::Reading;

/// A trace, with the options for reading it that its content does not tell.
#[derive(Debug, Clone)]
pub struct TraceSpec {
    /// Path of the file, which is plain, gzip or zstd, as its first bytes tell. `-` is standard input. Data from standard input or a pipe
    /// is kept in a nameless temporary file.
    pub path: PathBuf,
    /// A file that is read in place of `path`, which then is a name for messages.
    pub file: Option<Arc<File>>,
    /// The format; `None`: recognised from the content, or given by `columns`.
    pub format: Option<Format>,
    /// The columns of a trace in none of the other formats.
    pub columns: Option<Columns>,
    /// The unit of the time column; `None`: the format's own.
    pub time_unit: Option<TimeUnit>,
    /// The unit of the size column in bytes (not of the address column); `None`: the format's own.
    pub size_unit: Option<u64>,
    /// The event of blkparse that counts as a request: Q, I, D or C; `None`: the first of these that the file has.
    pub event: Option<Event>,
    /// The way in which several devices share one address space.
    pub devices: Devices,
    /// Whether a few requests that are far from all others in time are left out.
    pub skip_outliers: bool,
    /// Whether flushes are left out, and writes with FUA become plain writes.
    pub skip_flushes: bool,
}

impl TraceSpec {
    /// Describes the trace at `path`; all options are taken from its content.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            file: None,
            format: None,
            columns: None,
            time_unit: None,
            size_unit: None,
            event: None,
            devices: Devices::default(),
            skip_outliers: false,
            skip_flushes: false,
        }
    }
}

/// A trace that was recognised and scanned, ready to be replayed any number of times.
#[derive(Debug, Clone)]
pub struct Trace {
    spec: TraceSpec,
    reading: Reading,
    left_out: reader::LeftOut,
    /// The version of the file that was scanned.
    version: lines::FileVersion,
    /// The rows in the order of the file, if they are few enough to be kept, so that a replay need not parse the file again.
    kept: Option<Arc<[formats::Row]>>,
    layout: scan::Layout,
    stats: TraceStats,
    /// Wall time of recognising and scanning the file, s.
    scan_s: f64,
}

impl Trace {
    /// Recognises the format and scans the whole file once. `progress` gets the fraction read about every 50 ms;
    /// it returns false to interrupt.
    ///
    /// # Errors
    /// A missing, empty, binary, truncated or damaged file; a format that cannot be told from the content; a bad line, with its number, the
    /// column, its text and the text that was expected; an interruption.
    pub fn open(spec: TraceSpec, progress: &mut dyn FnMut(f64) -> bool) -> Result<Trace> {
        scan::open(spec, progress)
    }

    /// Returns the wall time of recognising and scanning the file, s.
    pub fn scan_s(&self) -> f64 {
        self.scan_s
    }

    /// Returns the results of the scan.
    pub fn stats(&self) -> &TraceStats {
        &self.stats
    }

    /// Opens the file again and streams its requests, in order of arrival, for a device of `capacity_bytes`.
    ///
    /// Arrivals count from the first request. A request is never split. With [`Beyond::Wrap`] and [`Beyond::Scale`] a request that would
    /// straddle the end of the device is moved back so that it ends there. An end mark is left out.
    ///
    /// # Errors
    /// A trace that needs more addresses than there are ([`Beyond::Reject`]), a request larger than the device, a file
    /// that is gone or has changed since the scan.
    pub fn requests(&self, capacity_bytes: u64, beyond: Beyond) -> Result<TraceReader> {
        TraceReader::new(self, capacity_bytes, beyond)
    }

    /// Writes the requests as `format` (csv, mqsim or disksim), compressed where `to` ends in `.gz` or `.zst`. Returns the number of
    /// requests. Device numbers and each device's own addresses are kept, except under [`Devices::Merge`], where every row is of device 0.
    /// Rows are in order of arrival, from 0. The file appears whole or not at all.
    ///
    /// # Errors
    /// A target that is the trace itself, or cannot be written; a request that `format` cannot express; an interruption.
    pub fn convert(&self, to: &Path, format: Format, progress: &mut dyn FnMut(f64) -> bool) -> Result<u64> {
        convert::convert(self, to, format, progress)
    }

    /// Fits a Markov-modulated Poisson process of two states to the arrivals, as [`ArrivalFit::of`] does.
    ///
    /// # Errors
    /// Errors of [`ArrivalFit::of`], and a file that is gone or has changed since the scan.
    pub fn fit_arrivals(&self) -> Result<ArrivalFit> {
        let mut requests = self.requests(u64::MAX, Beyond::Reject)?;
        ArrivalFit::of(&mut requests, &self.spec.path.display().to_string())
    }

    /// Returns the columns of a trace whose columns are mapped; `None` for other formats.
    pub fn columns(&self) -> Option<&Columns> {
        self.reading.columns.as_ref()
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::trace(self.spec.path.display().to_string(), message)
    }
}
