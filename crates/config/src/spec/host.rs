use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, Faults, Result, format_bytes};

use super::admission::CacheAdmission;
use super::dram::DramSpec;
use super::geometry::MAX_INDEX;
use super::host_link::HostLinkSpec;
use super::issue::Issue;
use super::read_ahead::ReadAheadSpec;
use super::spread::{SpreadPart, check_spread};
use super::tenants::{self, ArbitrationSpec, TenantSpec};
use super::write_buffer::{WatermarksSpec, WriteBufferReplacement};

/// The largest write buffer, bytes: 16 GiB.
const MAX_BUFFER_BYTES: u64 = 1 << 34;

/// The way in which requests are issued, and the controller's memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HostSpec {
    /// The times at which requests are issued.
    pub issue: Issue,
    /// The largest number of requests inside the device at once. Further requests wait at the host, and the wait counts in their response.
    #[schemars(range(min = 1, max = MAX_INDEX / 2))]
    pub max_outstanding: u32,
    /// If true, a plane serves waiting host reads before waiting programs and erases. Reads of garbage collection wait with the programs
    /// in any case.
    pub reads_first: bool,
    /// If true, a read gets data that is on its way to flash from the controller's memory. If false, the read waits for the program of
    /// that data, even where reads go first, and then reads the flash.
    pub serves_in_flight: bool,
    /// The rule that says on which of several SSDs a codeword lies.
    pub spread: Spread,
    /// The handling of a write that covers a mapped codeword in part.
    pub partial_write: PartialWrite,
    /// Size of the write buffer in the controller, bytes; 0 for none. With a write buffer a write completes when the buffer has taken its
    /// data in.
    pub write_buffer_bytes: u64,
    /// The rule that says which codewords the write buffer programs, and when.
    #[serde(skip_serializing_if = "WriteBufferReplacement::is_default")]
    pub write_buffer_replacement: WriteBufferReplacement,
    /// The fill levels at which a write buffer with `lru` or `fifo` programs before it is full. Without this field it programs only when
    /// it is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_buffer_watermarks: Option<WatermarksSpec>,
    /// If true, the content of the write buffer survives a loss of power. Flushes then complete at once, and writes with FUA when the
    /// buffer has taken them in.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub write_buffer_power_protected: bool,
    /// A buffer in the controller's memory for decoded pages that were recently read for the host. Reading a codeword that is in the
    /// buffer takes `controller_memory_us`, also for a write that covers the codeword in part. Without this field no data that was read
    /// is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_buffer: Option<ReadBufferSpec>,
    /// Reading ahead of sequential reads, into the read buffer. Without this field pages are never read ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<ReadAheadSpec>,
    /// Time to move a codeword between host and controller memory, us, for buffered writes and for reads of data in that memory. The
    /// codewords of a request move one after the other.
    pub controller_memory_us: f64,
    /// The controller's DRAM. Without this field any number of codewords move to and from memory at once, in `controller_memory_us` each,
    /// and no other access to memory takes time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dram: Option<DramSpec>,
    /// Time that a request takes in addition to its flash operations. Without this field there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceSpec>,
    /// The pace at which writes are let on from the link to the buffer or the flash. Without this field writes go on as they come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_pacing: Option<WritePacingSpec>,
    /// The link to the host. Without this field data and commands take no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<HostLinkSpec>,
    /// Several users of the device, each with its own requests and submission queue, in place of `[workload]` or a
    /// trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantSpec>,
    /// The rule by which the controller chooses among the submission queues of tenants. Without this field it is round robin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbitration: Option<ArbitrationSpec>,
}

/// Time that every request takes in addition to its flash operations, for the host's software, the link and the controller's firmware. It
/// occupies no resource of the device, and so adds to response times without changing waits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceSpec {
    /// Fixed part of the time of each request, us.
    pub overhead_us: f64,
    /// Random part of the time, drawn for each request.
    pub spread: Vec<SpreadPart>,
    /// Share of reads that are served from the controller's memory, whatever they ask for. These reads take
    /// `controller_memory_us` a codeword and no flash operation.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub hit_fraction: f64,
}

/// The pace at which a controller lets writes on, whether or not its buffer has room. It is a token bucket, as in drives that are sold
/// for even latencies. Writes that come faster wait, in order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WritePacingSpec {
    /// The pace of all programs, those of collection included, MB/s: 10^6 bytes. The pace of the host's writes is the share of it that
    /// collection leaves: all of it until blocks are collected, and then the stale share of these blocks.
    #[schemars(range(min = 1e-3, max = 1e9))]
    pub mb_per_s: f64,
    /// Number of bytes that may run ahead of the pace while nothing is collected. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0, max = MAX_BUFFER_BYTES))]
    pub burst_bytes: u64,
}

impl WritePacingSpec {
    fn describe(self) -> String {
        format!("{} MB/s, bursts of {}", self.mb_per_s, format_bytes(self.burst_bytes))
    }
}

/// The page that leaves a full read buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadReplacement {
    /// The page that was used longest ago.
    #[default]
    Lru,
    /// The page that has been in the buffer longest.
    Fifo,
}

impl ReadReplacement {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The part of a page that a miss of the read buffer reads and keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadBufferTakes {
    /// The codewords that were asked for. Codewords that cross pages take whole pages.
    #[default]
    Codewords,
    /// All current data of the page: the read ends when all of it is decoded.
    WholePages,
}

impl ReadBufferTakes {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The read buffer. Codewords that a read, or a read-modify-write, does not find in the buffer enter it when they are decoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadBufferSpec {
    /// Size of the buffer, bytes: at least a page, at most 16 GiB. A page takes the room of a whole page, however much of it is in the
    /// buffer.
    pub bytes: u64,
    /// The part of a page that a miss reads.
    #[serde(default, skip_serializing_if = "ReadBufferTakes::is_default")]
    pub takes: ReadBufferTakes,
    /// The page that leaves a full buffer.
    #[serde(default, skip_serializing_if = "ReadReplacement::is_default")]
    pub replacement: ReadReplacement,
    /// The missed pages that enter the buffer: `"always"`, `"second_miss"` or a rule of your own, `"my_rules.py:Often"`. If a page does
    /// not enter, only the codewords that were asked for are read, and none is kept.
    #[serde(default, skip_serializing_if = "CacheAdmission::is_default")]
    pub admission: CacheAdmission,
    /// The number of recently missed pages for which `admission` remembers how often they were missed. Default: as many
    /// as the buffer has room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1 << 24))]
    pub history_pages: Option<u32>,
    /// Size of the largest request whose data enters the buffer, bytes. Larger requests bring nothing into it, whatever `admission` says,
    /// so that scans do not displace its content. Without this field requests of any size do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_request_bytes: Option<u64>,
}

impl ReadBufferSpec {
    /// Tells whether the buffer takes in everything that is read.
    pub fn takes_all(&self) -> bool {
        self.admission == CacheAdmission::Always && self.largest_request_bytes.is_none()
    }

    fn describe(&self) -> String {
        let most = self.largest_request_bytes.map(|bytes| format!(", requests to {}", format_bytes(bytes)));
        let order = if self.replacement == ReadReplacement::Fifo { ", first in, first out" } else { "" };
        let takes = if self.takes == ReadBufferTakes::WholePages { ", whole pages" } else { "" };
        format!("{}{takes}{order}{}{}", format_bytes(self.bytes), self.admission.describe(), most.unwrap_or_default())
    }

    fn check(&self, page_bytes: u64) -> Result<()> {
        if !(page_bytes..=MAX_BUFFER_BYTES).contains(&self.bytes) {
            let message = format!(
                "found {}, expected at least one page of {page_bytes} bytes and at most 16 GiB; a config without \
                 `host.read_buffer` has no read buffer",
                self.bytes
            );
            return Err(Error::config("host.read_buffer.bytes", message));
        }
        Ok(())
    }
}

impl Default for HostSpec {
    fn default() -> Self {
        Self {
            issue: Issue::OpenLoop { time_scale: 1.0 },
            max_outstanding: 65_536,
            reads_first: true,
            serves_in_flight: true,
            spread: Spread::RoundRobin,
            partial_write: PartialWrite::ReadModifyWrite,
            write_buffer_bytes: 0,
            write_buffer_replacement: WriteBufferReplacement::default(),
            write_buffer_watermarks: None,
            write_buffer_power_protected: false,
            read_buffer: None,
            read_ahead: None,
            controller_memory_us: 1.0,
            dram: None,
            service: None,
            write_pacing: None,
            link: None,
            tenants: Vec::new(),
            arbitration: None,
        }
    }
}

/// The rule that says on which of several SSDs a codeword lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Consecutive codewords are on consecutive SSDs. With `reliability.adaptive` the size of these codewords is the one at the start of
    /// the run; with SSDs of different ages it is that of the youngest.
    RoundRobin,
    /// Each SSD has an equal part of the address space.
    Address,
}

/// The handling of a write that covers a mapped codeword in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialWrite {
    /// The old codeword is read, through error correction, before the new one is programmed.
    ReadModifyWrite,
    /// The codeword is programmed as if the write had covered it wholly.
    Pad,
    /// The write buffer takes the part, in its own slot. The part of the codeword that later writes do not cover is read, through error
    /// correction, when the codeword has to be programmed.
    Merge,
    /// The flash senses the old page and programs it again with the new data: the old data is neither transferred nor corrected.
    CopyBack,
}

impl HostSpec {
    /// Checks what fields of this section have to do with one another, and with a page of `page_bytes` of user data.
    pub(super) fn check(&self, page_bytes: u64) -> Result<()> {
        let mut faults = Faults::default();
        faults.see(self.issue.check("host.issue", self.max_outstanding));
        if let Some(service) = &self.service {
            faults.see(check_spread("host.service.spread", &service.spread));
        }
        faults.see(tenants::check(&self.tenants, self.issue, self.arbitration.as_ref()));
        faults.see(self.read_buffer.as_ref().map_or(Ok(()), |buffer| buffer.check(page_bytes)));
        // A page of no bytes is a fault of the geometry.
        let buffer_pages = self.read_buffer.as_ref().map(|buffer| buffer.bytes / page_bytes.max(1));
        faults.see(self.read_ahead.map_or(Ok(()), |ahead| ahead.check(buffer_pages)));
        if !self.write_buffer_replacement.is_default() && self.write_buffer_bytes == 0 {
            let name = self.write_buffer_replacement.name();
            let message = format!("found `{name}` without a write buffer, expected `host.write_buffer_bytes` above 0");
            faults.add(Error::config("host.write_buffer_replacement", message));
        }
        if self.partial_write == PartialWrite::Merge && self.write_buffer_bytes == 0 {
            let message = "found `merge` without a write buffer, expected `host.write_buffer_bytes` above 0: parts \
                           of a unit are merged in the buffer";
            faults.add(Error::config("host.partial_write", message));
        }
        let watermarks = self.write_buffer_watermarks;
        faults.see(watermarks.map_or(Ok(()), |watermarks| watermarks.check(self.write_buffer_replacement)));
        if self.write_buffer_power_protected && self.write_buffer_bytes == 0 {
            let message = "found true without a write buffer, expected false, or `host.write_buffer_bytes` above 0";
            faults.add(Error::config("host.write_buffer_power_protected", message));
        }
        let buffer = self.write_buffer_bytes;
        if buffer != 0 && !(page_bytes..=MAX_BUFFER_BYTES).contains(&buffer) {
            let message = format!(
                "found {buffer}, expected 0 (no write buffer), or at least one page of {page_bytes} bytes and at \
                 most 16 GiB"
            );
            faults.add(Error::config("host.write_buffer_bytes", message));
        }
        faults.end()
    }

    /// One line for people.
    pub(crate) fn describe(&self) -> String {
        let issue = self.issue.describe();
        let buffer = match self.write_buffer_bytes {
            0 => "none".into(),
            bytes => match self.write_buffer_replacement {
                WriteBufferReplacement::FullPage => format_bytes(bytes),
                WriteBufferReplacement::Lru => format!("{}, least recently written first", format_bytes(bytes)),
                WriteBufferReplacement::Fifo => format!("{}, first in, first out", format_bytes(bytes)),
            },
        };
        let read_buffer =
            self.read_buffer.as_ref().map_or_else(String::new, |buffer| format!("; read buffer {}", buffer.describe()));
        let dram = self.dram.map_or_else(String::new, |dram| format!("; DRAM {}", dram.describe()));
        let ahead = self.read_ahead.map_or_else(String::new, |ahead| format!("; read-ahead {}", ahead.describe()));
        let service = self.service.as_ref().map_or_else(String::new, |service| {
            format!("; overhead {} us, {:.2} % of reads from memory", service.overhead_us, service.hit_fraction * 100.0)
        });
        let link = self.link.map_or_else(String::new, |link| format!("; link {}", link.describe()));
        let pacing =
            self.write_pacing.map_or_else(String::new, |pace| format!("; writes paced at {}", pace.describe()));
        let protected = if self.write_buffer_power_protected { " (power-protected)" } else { "" };
        format!("{issue}; write buffer {buffer}{protected}{read_buffer}{ahead}{dram}{service}{pacing}{link}")
    }
}
