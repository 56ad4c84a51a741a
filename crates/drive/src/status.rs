//! The counters and the status of a drive.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use softsense_base::{Histogram, ResponseSummary};
use softsense_link::MAX_LEVEL;

/// Errors that are remembered.
const LAST_ERRORS: usize = 20;

/// Counts since the drive was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Of hosts.
    pub host: HostCounters,
    /// Of codewords that were read, for whom ever.
    pub codewords: CodewordCounters,
    /// Of what the drive did of its own accord.
    pub background: BackgroundCounters,
}

/// What hosts have asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounters {
    /// Read requests.
    pub reads: u64,
    /// Bytes of those.
    pub read_bytes: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes of those.
    pub written_bytes: u64,
    /// Units of data that were put into the write buffer.
    pub units_written: u64,
    /// FLUSH requests, and writes with FUA.
    pub flushes: u64,
    /// TRIM requests, and writes of zeroes that trim.
    pub trims: u64,
    /// Requests that ended with EIO.
    pub read_errors: u64,
    /// Units returned that are not what was written.
    pub undetected: u64,
}

/// What became of codewords.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodewordCounters {
    /// Codewords read.
    pub read: u64,
    /// Wrong bits in their last hard sensings.
    pub raw_bit_errors: u64,
    /// Bits of those.
    pub bits_read: u64,
    /// Codewords whose first step failed.
    pub retried: u64,
    /// Steps that were made.
    pub steps: u64,
    /// Codewords by the level at which they were decoded.
    pub by_level: [u64; MAX_LEVEL as usize],
    /// Codewords that were decoded.
    pub decoded: u64,
    /// Codewords that no step decoded, or whose block is broken.
    pub uncorrectable: u64,
    /// Of those, how many the other dies of their stripe made good.
    pub recovered_by_parity: u64,
    /// Codewords that were decoded to another one than was written.
    pub undetected: u64,
    /// Codewords that are not as they were programmed: the image is damaged, not the flash.
    pub damaged_in_image: u64,
}

/// What the drive did of its own accord.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundCounters {
    /// Units that collection read and wrote again, for whatever reason.
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
    /// Superblocks emptied because they had been read often.
    pub reclaimed: u64,
    /// Superblocks emptied because some of their blocks are broken.
    pub evacuated: u64,
    /// Superblocks emptied so that wear is even.
    pub levelled: u64,
    /// Units written again because they were hard to read.
    pub rewritten: u64,
}

/// A read that went wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadError {
    /// The drive's clock.
    pub clock_s: f64,
    /// The first sector of 512 bytes.
    pub lba: u64,
    /// What happened.
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

/// What is known of this session alone.
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

/// The oldest and the most worn of what holds data.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ages {
    /// Mean over superblocks.
    pub pe_cycles_mean: f64,
    /// The most.
    pub pe_cycles_max: u32,
    /// Of the oldest wordline with data, at the temperature that cells are measured for.
    pub retention_hours_max: f64,
    /// Most sensings of a block since its last erase.
    pub reads_max: u64,
}

/// A superblock, for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuperblockStatus {
    /// Which.
    pub index: u32,
    /// Its P/E cycles.
    pub pe_cycles: u32,
    /// Hours by the drive's clock since its first wordline was programmed; 0 if none is.
    pub age_hours: f64,
    /// Share of its room for data that is current.
    pub valid_share: f64,
    /// Sensings of its most read block.
    pub reads: u64,
    /// `free`, `open`, `closed` or `retired`.
    pub state: &'static str,
    /// How many of its blocks are broken.
    pub broken_blocks: u32,
}

/// A counter as SMART would have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SmartValue {
    /// Its name, as NVMe's health log has it where it has one.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}

/// Everything that a drive says of itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The name of its config, if the program that serves the drive gave one.
    pub config: Option<String>,
    /// What it is.
    pub model: String,
    /// Where it lives.
    pub image: String,
    /// Bytes that hosts address.
    pub size_bytes: u64,
    /// `ok`; `degraded` when units are lost or blocks broken; `read_only` when no flash is left to write to; `host_full` when writes wait
    /// for room on the disk that holds the image; or `failed` when the image could not be read or written.
    pub state: &'static str,
    /// What was wrong with the image, if anything is.
    pub why: Option<String>,
    /// The drive's own time.
    pub clock_s: f64,
    /// Hours that data has rested, at the temperature that cells are measured for.
    pub rested_hours: f64,
    /// That temperature, degrees Celsius.
    pub temperature_c: f64,
    /// The extremes of wear and age.
    pub ages: Ages,
    /// Hosts.
    pub host: HostCounters,
    /// Codewords.
    pub codewords: CodewordStatus,
    /// The drive's own work.
    pub background: BackgroundCounters,
    /// Codewords programmed a unit that hosts wrote; `null` before any was.
    pub write_amplification: Option<f64>,
    /// Superblocks that could break before there is no room for the data of hosts.
    pub spare_superblocks: i64,
    /// Superblocks that are erased, and can be written.
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
    /// Bytes of those: they do not age.
    pub buffered_bytes: u64,
    /// How long read requests of this session took, on the drive's clock, us.
    pub read_latency_us: ResponseSummary,
    /// The last reads that went wrong in this session.
    pub last_errors: Vec<ReadError>,
    /// As SMART would have it.
    pub smart: Vec<SmartValue>,
    /// Superblocks.
    pub superblocks: Vec<SuperblockStatus>,
}

/// [`CodewordCounters`] with what they come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodewordStatus {
    /// The counters.
    #[serde(flatten)]
    pub counters: CodewordCounters,
    /// Raw bit error rate of those; `null` before any.
    pub rber: Option<f64>,
}
