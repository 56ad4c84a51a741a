//! The counters and the status of a drive.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use softsense_base::{Histogram, ResponseSummary};
use softsense_link::MAX_LEVEL;

/// The number of errors that are remembered.
const LAST_ERRORS: usize = 20;

/// Counts since the drive was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests of hosts.
    pub host: HostCounters,
    /// Codewords that were read, whoever asked for them.
    pub codewords: CodewordCounters,
    /// Work that the drive did without a request.
    pub background: BackgroundCounters,
}

/// Counts of the requests of hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounters {
    /// Read requests.
    pub reads: u64,
    /// Bytes of read requests.
    pub read_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes of write requests.
    pub written_bytes: u64,
    /// Units of data that were put into the write buffer.
    pub units_written: u64,
    /// FLUSH requests, and writes with FUA.
    pub flushes: u64,
    /// TRIM requests, and writes of zeroes that trim.
    pub trims: u64,
    /// Requests that ended with EIO.
    pub read_errors: u64,
    /// Units returned with data other than what was written.
    pub undetected: u64,
}

/// Counts of the codewords that were read, and of how they were decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodewordCounters {
    /// Codewords read.
    pub read: u64,
    /// Wrong bits in the last hard sensings of codewords.
    pub raw_bit_errors: u64,
    /// Bits of codewords in these sensings.
    pub bits_read: u64,
    /// Codewords whose first step failed.
    pub retried: u64,
    /// Steps of the read policy that were made.
    pub steps: u64,
    /// Codewords by the level at which they were decoded.
    pub by_level: [u64; MAX_LEVEL as usize],
    /// Codewords that were decoded.
    pub decoded: u64,
    /// Codewords that no step decoded, or whose block is broken.
    pub uncorrectable: u64,
    /// Uncorrectable codewords that were rebuilt from the other dies of their stripe.
    pub recovered_by_parity: u64,
    /// Codewords that were decoded to another codeword than was written.
    pub undetected: u64,
    /// Codewords that are not as they were programmed: the image is damaged, not the flash.
    pub damaged_in_image: u64,
}

/// Counts of the work that the drive did without a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundCounters {
    /// Units that collection read and wrote again, for any reason.
    pub moved: u64,
    /// Wordlines of all dies that were programmed.
    pub wordlines_programmed: u64,
    /// Codewords of parity.
    pub parity_written: u64,
    /// Codewords of padding.
    pub padding_written: u64,
    /// Superblocks erased.
    pub erased: u64,
    /// Superblocks emptied because free ones were few.
    pub collected: u64,
    /// Superblocks emptied because their data was old.
    pub refreshed: u64,
    /// Superblocks emptied because they had been read too often.
    pub reclaimed: u64,
    /// Superblocks emptied because some of their blocks are broken.
    pub evacuated: u64,
    /// Superblocks emptied to level wear.
    pub levelled: u64,
    /// Units written again because they were hard to read.
    pub rewritten: u64,
}

/// A read that went wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadError {
    /// The drive's clock at the read, s.
    pub clock_s: f64,
    /// The first sector of 512 bytes.
    pub lba: u64,
    /// The kind of error.
    pub what: &'static str,
    /// Wrong bits in the first sensing, as a share.
    pub rber: f64,
    /// The page of the wordline, by its name.
    pub page: String,
    /// P/E cycles of the block.
    pub pe_cycles: u32,
    /// Hours since the data was written.
    pub retention_hours: f64,
    /// Steps that were tried.
    pub steps: u32,
}

/// Latencies and errors since the drive was opened. The image does not keep them.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub latencies: Histogram,
    pub last_errors: VecDeque<ReadError>,
}

impl Session {
    pub(crate) fn note(&mut self, error: ReadError) {
        if self.last_errors.len() == LAST_ERRORS {
            self.last_errors.pop_front();
        }
        self.last_errors.push_back(error);
    }
}

/// The greatest ages of superblocks and their data.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ages {
    /// Mean P/E cycles over superblocks.
    pub pe_cycles_mean: f64,
    /// P/E cycles of the most worn superblock.
    pub pe_cycles_max: u32,
    /// Hours by the drive's clock since the first wordline of the oldest superblock with data was programmed.
    pub retention_hours_max: f64,
    /// Most sensings of a block since its last erase.
    pub reads_max: u64,
}

/// The state of a superblock, for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuperblockStatus {
    /// The number of the superblock.
    pub index: u32,
    /// Its P/E cycles.
    pub pe_cycles: u32,
    /// Hours by the drive's clock since its first wordline was programmed; 0 if none is.
    pub age_hours: f64,
    /// Current data of the superblock, as a share of its room.
    pub valid_share: f64,
    /// Sensings of its most read block.
    pub reads: u64,
    /// `free`, `open`, `closed` or `retired`.
    pub state: &'static str,
    /// The number of its blocks that are broken.
    pub broken_blocks: u32,
}

/// A counter in the terms of SMART.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SmartValue {
    /// The name of the counter: the one in NVMe's health log, if that has the counter.
    pub name: &'static str,
    /// The value of the counter.
    pub value: f64,
}

/// The status that a drive reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The name of its config, if the program that serves the drive gave one.
    pub config: Option<String>,
    /// The kind of drive, for people.
    pub model: String,
    /// The folder of the image.
    pub image: String,
    /// Bytes that hosts address.
    pub size_bytes: u64,
    /// One of `ok`, `degraded`, `read_only`, `host_full` and `failed`. The state is `degraded` when units are lost or blocks broken, and
    /// `read_only` when no flash is left to write to. It is `host_full` when writes wait for room on the disk that holds the image, and
    /// `failed` when the image could not be read or written.
    pub state: &'static str,
    /// The last error with the image, if there is one.
    pub why: Option<String>,
    /// The drive's clock, s.
    pub clock_s: f64,
    /// Hours that data has rested, at the temperature that cells are measured for.
    pub rested_hours: f64,
    /// The temperature that cells are measured for, degrees Celsius.
    pub temperature_c: f64,
    /// The extremes of wear and age.
    pub ages: Ages,
    /// Requests of hosts.
    pub host: HostCounters,
    /// Codewords that were read.
    pub codewords: CodewordStatus,
    /// Work that the drive did without a request.
    pub background: BackgroundCounters,
    /// Codewords programmed for each unit that hosts wrote; `null` before any was written.
    pub write_amplification: Option<f64>,
    /// Superblocks that could break before there is too little room for the data of hosts.
    pub spare_superblocks: i64,
    /// Superblocks that are erased and can be written.
    pub free_superblocks: u32,
    /// Blocks that are broken.
    pub bad_blocks: u64,
    /// Units with data in flash.
    pub mapped_units: u64,
    /// Units whose data is lost.
    pub lost_units: u64,
    /// Units in flash that cannot be read, as their blocks are broken and no parity helps.
    pub unreadable_units: u64,
    /// Units in the write buffer.
    pub buffered_units: u64,
    /// Bytes of the units in the write buffer, which do not age.
    pub buffered_bytes: u64,
    /// Latencies of the read requests of this session by the drive's clock, us.
    pub read_latency_us: ResponseSummary,
    /// The last reads that went wrong in this session.
    pub last_errors: Vec<ReadError>,
    /// Counters in the terms of SMART.
    pub smart: Vec<SmartValue>,
    /// The state of each superblock.
    pub superblocks: Vec<SuperblockStatus>,
}

/// [`CodewordCounters`] with the rate that follows from them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodewordStatus {
    /// The counters.
    #[serde(flatten)]
    pub counters: CodewordCounters,
    /// Raw bit error rate of the codewords that were read; `null` before any was.
    pub rber: Option<f64>,
}
