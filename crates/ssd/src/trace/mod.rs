//! Block I/O traces: what real hosts asked of real disks.
//!
//! Seven formats are read, plain or compressed with gzip or zstd, all recognised from their content. [`Trace::open`]
//! recognises the format and scans the whole file once, so that everything that depends on all of it (the span, the
//! extent, the order of the devices, whether the file is sorted) is known before the first request is replayed;
//! [`Trace::requests`] then streams it, as often as wanted. Neither holds the trace in memory: the scan keeps one bit
//! for each 4 KiB that was touched, the reader one block of text and, where the file is not sorted, the requests of
//! the largest backward step.
//!
//! The formats, their units and their oddities are described in docs/traces.md.

mod convert;
mod formats;
mod reader;
mod scan;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Result};

use crate::workload::ArrivalFit;

pub use convert::write_requests;
pub use reader::TraceReader;
pub use scan::{DeviceStats, Skipped, TraceStats};

/// A trace format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// MSR Cambridge CSV: timestamp (100 ns), hostname, disk number, type, offset and size (bytes), response time.
    Msr,
    /// UMass SPC: ASU, LBA (sectors), size (bytes), opcode, timestamp (s).
    Spc,
    /// DiskSim ASCII: arrival (ms), device, start LBA and size (sectors), flags.
    Disksim,
    /// MQSim ASCII: arrival (ns), device, start LBA and size (sectors), type.
    Mqsim,
    /// The default text of blkparse.
    Blkparse,
    /// fio's iolog, versions 2 and 3.
    Fio,
    /// softsense's own CSV.
    Csv,
}

impl Format {
    /// Every format, in the order they are listed to people.
    pub const ALL: [Format; 7] =
        [Format::Msr, Format::Spc, Format::Disksim, Format::Mqsim, Format::Blkparse, Format::Fio, Format::Csv];

    /// The name that `--format` takes.
    pub fn name(self) -> &'static str {
        match self {
            Format::Msr => "msr",
            Format::Spc => "spc",
            Format::Disksim => "disksim",
            Format::Mqsim => "mqsim",
            Format::Blkparse => "blkparse",
            Format::Fio => "fio",
            Format::Csv => "csv",
        }
    }

    /// The unit of the format's times, unless the user says otherwise.
    pub fn time_unit(self) -> TimeUnit {
        match self {
            Format::Msr => TimeUnit::Ticks100Ns,
            Format::Spc | Format::Blkparse => TimeUnit::S,
            Format::Disksim => TimeUnit::Ms,
            Format::Mqsim | Format::Csv => TimeUnit::Ns,
            Format::Fio => TimeUnit::Us,
        }
    }

    /// The unit of the format's size column in bytes, unless the user says otherwise.
    pub fn size_unit_bytes(self) -> u64 {
        match self {
            Format::Disksim | Format::Mqsim | Format::Blkparse => 512,
            Format::Msr | Format::Spc | Format::Fio | Format::Csv => 1,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| format!("found `{text}`, expected msr, spc, disksim, mqsim, blkparse, fio or csv"))
    }
}

/// The unit of a trace's time column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// Ticks of 100 ns, as in Windows FILETIME.
    #[serde(rename = "100ns")]
    Ticks100Ns,
    /// Microseconds.
    #[serde(rename = "us")]
    Us,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Seconds.
    #[serde(rename = "s")]
    S,
}

impl TimeUnit {
    /// How many nanoseconds it has.
    pub fn ns(self) -> u64 {
        match self {
            TimeUnit::Ns => 1,
            TimeUnit::Ticks100Ns => 100,
            TimeUnit::Us => 1_000,
            TimeUnit::Ms => 1_000_000,
            TimeUnit::S => 1_000_000_000,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TimeUnit::Ns => "ns",
            TimeUnit::Ticks100Ns => "100ns",
            TimeUnit::Us => "us",
            TimeUnit::Ms => "ms",
            TimeUnit::S => "s",
        })
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "ns" => Ok(TimeUnit::Ns),
            "100ns" => Ok(TimeUnit::Ticks100Ns),
            "us" => Ok(TimeUnit::Us),
            "ms" => Ok(TimeUnit::Ms),
            "s" => Ok(TimeUnit::S),
            _ => Err(format!("found `{text}`, expected ns, 100ns, us, ms or s")),
        }
    }
}

/// A size such as `512`, `512B`, `4KiB`, `1 MiB` or `4KB` (4000), in bytes.
///
/// # Errors
/// Says what was found and what was expected.
pub fn parse_size(text: &str) -> std::result::Result<u64, String> {
    let expected = || format!("found `{text}`, expected a size such as 512, 4KiB, 1MiB or 4KB (4000 bytes)");
    let trimmed = text.trim();
    let digits = trimmed.len() - trimmed.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = trimmed.split_at(digits);
    let unit: u64 = match unit.trim_start() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(expected()),
    };
    let number: u64 = number.parse().map_err(|_| expected())?;
    number.checked_mul(unit).ok_or_else(|| format!("found `{text}`, expected a size below 2^64 bytes"))
}

/// How the devices of a trace share the one simulated device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Devices {
    /// Laid one behind the other in order of device number, each starting at a multiple of 1 MiB.
    #[default]
    Stack,
    /// Device numbers are ignored: all devices share one address space.
    Merge,
    /// Only the device of this number; requests of the others are left out and counted.
    Only(u32),
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Devices::Stack => f.pad("stack"),
            Devices::Merge => f.pad("merge"),
            Devices::Only(number) => f.pad(&format!("only={number}")),
        }
    }
}

impl FromStr for Devices {
    type Err = String;

    /// `stack`, `merge`, `only=3`, or `only=8,16` for a Linux device number of a blkparse trace.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "stack" => return Ok(Devices::Stack),
            "merge" => return Ok(Devices::Merge),
            _ => {}
        }
        if let Some(number) = text.strip_prefix("only=") {
            if let Ok(number) = number.parse() {
                return Ok(Devices::Only(number));
            }
            if let Some((major, minor)) = formats::major_minor(number.as_bytes()) {
                return Ok(Devices::Only((major << 20) | minor));
            }
        }
        Err(format!("found `{text}`, expected stack, merge or only=N, where N is a device number such as 3 or 8,16"))
    }
}

/// What happens to a trace that needs more addresses than the simulated device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// The trace is refused.
    #[default]
    Reject,
    /// Offsets are taken modulo the capacity.
    Wrap,
    /// Offsets are shrunk by capacity / extent, in whole chunks, so that neighbours mostly stay neighbours.
    Scale,
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Beyond::Reject => "reject",
            Beyond::Wrap => "wrap",
            Beyond::Scale => "scale",
        })
    }
}

impl FromStr for Beyond {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "reject" => Ok(Beyond::Reject),
            "wrap" => Ok(Beyond::Wrap),
            "scale" => Ok(Beyond::Scale),
            _ => Err(format!("found `{text}`, expected reject, wrap or scale")),
        }
    }
}

/// Which trace, and how to read it where its content does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSpec {
    /// The file; plain, gzip or zstd, told by its first bytes.
    pub path: PathBuf,
    /// The format; `None`: recognised from the content.
    pub format: Option<Format>,
    /// The unit of the time column; `None`: the format's own.
    pub time_unit: Option<TimeUnit>,
    /// The unit of the size column in bytes (not of the address column); `None`: the format's own.
    pub size_unit: Option<u64>,
    /// How several devices share one address space.
    pub devices: Devices,
}

impl TraceSpec {
    /// The trace at `path`, with everything else taken from its content.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), format: None, time_unit: None, size_unit: None, devices: Devices::default() }
    }
}

/// A trace that was recognised and scanned, ready to be replayed any number of times.
#[derive(Debug, Clone)]
pub struct Trace {
    spec: TraceSpec,
    format: Format,
    size_unit: u64,
    /// The file when it was scanned.
    version: reader::FileVersion,
    layout: scan::Layout,
    stats: TraceStats,
    /// How long recognising and scanning took, s of wall time.
    scan_s: f64,
}

impl Trace {
    /// Recognises the format and scans the whole file once. `progress` gets the fraction read about every 50 ms;
    /// it returns false to interrupt.
    ///
    /// # Errors
    /// A missing, empty, binary, truncated or damaged file; a format that cannot be told from the content; a bad line,
    /// with its number, the column, what was found and what was expected; an interruption.
    pub fn open(spec: TraceSpec, progress: &mut dyn FnMut(f64) -> bool) -> Result<Trace> {
        scan::open(spec, progress)
    }

    /// How long recognising and scanning the file took, s of wall time.
    pub fn scan_s(&self) -> f64 {
        self.scan_s
    }

    /// What the scan found.
    pub fn stats(&self) -> &TraceStats {
        &self.stats
    }

    /// Opens the file again and streams its requests, in order of arrival, for a device of `capacity_bytes`.
    ///
    /// Arrivals count from the first request. A request is never split: with [`Beyond::Wrap`] and [`Beyond::Scale`]
    /// one that would straddle the end of the device is moved back so that it ends there. An end mark is left out.
    ///
    /// # Errors
    /// A trace that needs more addresses than there are ([`Beyond::Reject`]), a request larger than the device, a file
    /// that is gone or has changed since the scan.
    pub fn requests(&self, capacity_bytes: u64, beyond: Beyond) -> Result<TraceReader> {
        TraceReader::new(self, capacity_bytes, beyond)
    }

    /// Writes the requests as `format` (csv, mqsim or disksim), compressed where `to` ends in `.gz` or `.zst`, and
    /// returns how many. Device numbers and each device's own addresses are kept, except under [`Devices::Merge`],
    /// where all is device 0; rows are in order of arrival, from 0. The file appears whole or not at all.
    ///
    /// # Errors
    /// A target that is the trace itself, or cannot be written; a request that `format` cannot express; an interruption.
    pub fn convert(&self, to: &Path, format: Format, progress: &mut dyn FnMut(f64) -> bool) -> Result<u64> {
        convert::convert(self, to, format, progress)
    }

    /// A Markov-modulated Poisson process of two states fitted to the arrivals, as [`ArrivalFit::of`] does.
    ///
    /// # Errors
    /// Those of [`ArrivalFit::of`], and a file that is gone or has changed since the scan.
    pub fn fit_arrivals(&self) -> Result<ArrivalFit> {
        let mut requests = self.requests(u64::MAX, Beyond::Reject)?;
        ArrivalFit::of(&mut requests, &self.spec.path.display().to_string())
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::trace(self.spec.path.display().to_string(), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [
            ("512", 512),
            ("512B", 512),
            ("4KiB", 4096),
            ("4 KiB", 4096),
            ("1MiB", 1 << 20),
            ("4KB", 4000),
            ("4kB", 4000),
            ("2GiB", 2 << 30),
            ("1TB", 1_000_000_000_000),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "KiB", "4K", "-1", "1.5KiB", "4 KiB/s", "99999999999TiB", "18446744073709551616"] {
            let error = parse_size(text).unwrap_err();
            assert!(error.contains(&format!("found `{text}`")) && error.contains("expected"), "{error}");
        }
    }

    #[test]
    fn names_are_read_as_they_are_shown() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
            assert_eq!(serde_json::to_value(format).unwrap(), format.name());
        }
        for unit in [TimeUnit::Ns, TimeUnit::Ticks100Ns, TimeUnit::Us, TimeUnit::Ms, TimeUnit::S] {
            assert_eq!(unit.to_string().parse(), Ok(unit));
            assert_eq!(serde_json::to_value(unit).unwrap(), unit.to_string());
        }
        for devices in [Devices::Stack, Devices::Merge, Devices::Only(3)] {
            assert_eq!(devices.to_string().parse(), Ok(devices));
        }
        for beyond in [Beyond::Reject, Beyond::Wrap, Beyond::Scale] {
            assert_eq!(beyond.to_string().parse(), Ok(beyond));
        }
        assert_eq!("only=8,16".parse(), Ok(Devices::Only(8 << 20 | 16)));
        assert!("only=".parse::<Devices>().is_err());
        assert!("MSR".parse::<Format>().is_err());
    }
}
