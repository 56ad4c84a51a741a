//! The options of a trace: its format, its units, and the treatment of addresses beyond the device.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::spelled_like;

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
    /// CloudPhysics as CSV: version, time (us), SCSI command, size (bytes), block number (sectors).
    #[serde(rename = "cloudphysics")]
    CloudPhysics,
    /// Alibaba block traces of 2020: device, opcode, offset and length (bytes), timestamp (us).
    #[serde(rename = "alibaba-2020")]
    Alibaba2020,
    /// Tencent cloud block storage: timestamp (s), offset and size (sectors), type, volume.
    #[serde(rename = "tencent-cbs")]
    TencentCbs,
    /// SYSTOR '17: timestamp (s), response time, type, LUN, offset and size (bytes).
    #[serde(rename = "systor-17")]
    Systor17,
    /// Google Thesios: a header names the columns; files are placed one after the other.
    Thesios,
    /// Meta Tectonic: block, offset and size (bytes), time (s), operation.
    Tectonic,
    /// libCacheSim's oracleGeneral: binary records of 24 bytes, of objects that are read.
    #[serde(rename = "oracle-general")]
    OracleGeneral,
    /// Records of VMware's vscsiStats: SCSI command, block (sectors), size (bytes), time (us).
    Vscsi,
    /// DiskMon: number, time (s), duration, disk, request, sector, length (sectors), separated by tabs.
    #[serde(rename = "diskmon")]
    DiskMon,
    /// FIU: time (ns), pid, process, LBA and size (sectors), W or R, major and minor number, MD5.
    Fiu,
    /// Columns that the user describes.
    Columns,
}

impl Format {
    /// Every format, in the order in which they are listed to people.
    pub const ALL: [Format; 18] = [
        Format::Msr,
        Format::Spc,
        Format::Disksim,
        Format::Mqsim,
        Format::Blkparse,
        Format::Fio,
        Format::Csv,
        Format::CloudPhysics,
        Format::Alibaba2020,
        Format::TencentCbs,
        Format::Systor17,
        Format::Thesios,
        Format::Tectonic,
        Format::OracleGeneral,
        Format::Vscsi,
        Format::DiskMon,
        Format::Fiu,
        Format::Columns,
    ];

    /// Returns the name that `--format` takes.
    pub fn name(self) -> &'static str {
        match self {
            Format::Msr => "msr",
            Format::Spc => "spc",
            Format::Disksim => "disksim",
            Format::Mqsim => "mqsim",
            Format::Blkparse => "blkparse",
            Format::Fio => "fio",
            Format::Csv => "csv",
            Format::CloudPhysics => "cloudphysics",
            Format::Alibaba2020 => "alibaba-2020",
            Format::TencentCbs => "tencent-cbs",
            Format::Systor17 => "systor-17",
            Format::Thesios => "thesios",
            Format::Tectonic => "tectonic",
            Format::OracleGeneral => "oracle-general",
            Format::Vscsi => "vscsi",
            Format::DiskMon => "diskmon",
            Format::Fiu => "fiu",
            Format::Columns => "columns",
        }
    }

    /// Returns all names, for messages.
    pub fn names() -> String {
        let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        let (last, others) = names.split_last().expect("there are formats");
        format!("{} or {last}", others.join(", "))
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
        let wanted = spelled_like(text, Format::ALL.map(Format::name));
        Format::ALL
            .into_iter()
            .find(|format| Some(format.name()) == wanted)
            .ok_or_else(|| format!("found `{text}`, expected {}, or a file that ends in .toml", Format::names()))
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
    /// Returns the number of nanoseconds in the unit.
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

/// Parses a size such as `512`, `512B`, `4KiB`, `1 MiB` or `4KB` (4000), in bytes.
///
/// # Errors
/// Names the text and the sizes that were expected.
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

/// The treatment of a trace that needs more addresses than the simulated device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// The trace is refused.
    #[default]
    Reject,
    /// Offsets are taken modulo the capacity.
    Wrap,
    /// Offsets are scaled by capacity / extent, in whole chunks, so that neighbours mostly stay neighbours.
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

/// An event of blkparse that counts as a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Queued: the host made the request.
    Q,
    /// Inserted into the queue of the scheduler.
    I,
    /// Issued to the device, after requests were merged and sorted.
    D,
    /// Completed.
    C,
}

impl Event {
    /// All events, in the order in which a file is searched for them.
    pub const ALL: [Event; 4] = [Event::Q, Event::I, Event::D, Event::C];

    /// Returns the letter that blkparse writes.
    pub(super) fn letter(self) -> u8 {
        match self {
            Event::Q => b'Q',
            Event::I => b'I',
            Event::D => b'D',
            Event::C => b'C',
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&char::from(self.letter()), f)
    }
}

impl FromStr for Event {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        Event::ALL
            .into_iter()
            .find(|event| event.to_string() == text)
            .ok_or_else(|| format!("found `{text}`, expected Q, I, D or C"))
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
        for beyond in [Beyond::Reject, Beyond::Wrap, Beyond::Scale] {
            assert_eq!(beyond.to_string().parse(), Ok(beyond));
        }
        assert_eq!("MSR".parse(), Ok(Format::Msr));
        assert_eq!("alibaba_2020".parse(), "alibaba-2020".parse::<Format>());
        assert!("msrs".parse::<Format>().is_err());
    }
}
