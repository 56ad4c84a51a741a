//! Counts of a run, from its start or from the end of its warm-up.
//!
//! Three words are used throughout. *Host codeword reads* are codewords that requests read from flash. The *background* is all work that
//! the device does of its own accord: every [`Cause`] but the host. A *level* is how finely a page is sensed, and level 1 is hard decision
//! (docs/glossary.md).

use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::Serialize;
use softsense_base::{Histogram, Ns, Pj, SumsByDuration, TotalNs};
use softsense_config::ids::Block;
use softsense_link::{MAX_LEVEL, Side};
use softsense_requests::RequestKind;

use super::growth::Growth;
use super::owners::Cause;

/// Host codewords whose raw bit error rate lies outside their decode table, the file with the failure probability of each level by that
/// rate. Their outcome is a guess.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BeyondTable {
    /// Codewords below the first point of the table.
    pub below: u64,
    /// Codewords above the last point of the table.
    pub above: u64,
    /// The least raw bit error rate, in errors per bit, of codewords below, and the highest of codewords above.
    pub rber: [f64; 2],
}

impl BeyondTable {
    /// Codewords below and above.
    pub fn codewords(&self) -> u64 {
        self.below + self.above
    }

    pub(super) fn add(&mut self, side: Side, rber: f64) {
        let [least, most] = &mut self.rber;
        match side {
            Side::Below => {
                *least = if self.below == 0 { rber } else { least.min(rber) };
                self.below += 1;
            }
            Side::Above => {
                *most = most.max(rber);
                self.above += 1;
            }
        }
    }
}

/// The time of a codeword read, by parts; with [`TotalNs`], that of many reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadTime<T = Ns> {
    /// Waiting for the plane to sense, first attempt. An attempt is a sensing, the transfer and the decode.
    pub wait_plane: T,
    /// Sensing, first attempt.
    pub sense: T,
    /// Waiting for the channel bus, first attempt.
    pub wait_bus: T,
    /// Transfer, first attempt.
    pub transfer: T,
    /// Waiting for a decoder, and on the way to one outside the SSD, first attempt.
    pub wait_decoder: T,
    /// Decoding, first attempt.
    pub decode: T,
    /// Everything after the first attempt has failed.
    pub retries: T,
}

impl<T: Add<Output = T> + Copy> ReadTime<T> {
    /// The sum of all parts.
    pub fn total(&self) -> T {
        self.wait_plane + self.sense + self.wait_bus + self.transfer + self.wait_decoder + self.decode + self.retries
    }
}

impl AddAssign<ReadTime> for ReadTime<TotalNs> {
    fn add_assign(&mut self, other: ReadTime) {
        self.wait_plane += other.wait_plane;
        self.sense += other.sense;
        self.wait_bus += other.wait_bus;
        self.transfer += other.transfer;
        self.wait_decoder += other.wait_decoder;
        self.decode += other.decode;
        self.retries += other.retries;
    }
}

impl ReadTime {
    /// The parts in the order of the fields.
    fn parts(&self) -> [Ns; PARTS_OF_TIME] {
        [self.wait_plane, self.sense, self.wait_bus, self.transfer, self.wait_decoder, self.decode, self.retries]
    }
}

/// Number of kinds of work that take an array: reads of the host, reads of the background, programs of the host, programs of the
/// background, erases.
pub const KINDS_OF_WORK: usize = 5;

/// Times by [kind](KINDS_OF_WORK) of work, and the same times once more by cause: first the kinds, then each cause but the host.
pub type TimesTaken = [Ns; KINDS_OF_WORK + Cause::COUNT - 1];

/// The index of a cause in [`TimesTaken`]; none for the host.
#[inline]
pub(crate) fn place_of(cause: Cause) -> Option<usize> {
    (cause as usize).checked_sub(1).map(|index| KINDS_OF_WORK + index)
}

/// Number of parts of [`ReadTime`].
pub const PARTS_OF_TIME: usize = 7;

/// Number of quantities that are recorded of a read: the parts of [`ReadTime`], then [`TimesTaken`], which says for which work the plane
/// was waited for.
pub const PARTS_OF_READS: usize = PARTS_OF_TIME + KINDS_OF_WORK + Cause::COUNT - 1;

/// Counts of refresh and patrol scrub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaintenanceCounts {
    /// Blocks whose data was moved; of several blocks that are erased together, these count as one.
    pub refreshed_blocks: u64,
    /// Refreshed blocks that a scrub had found.
    pub refreshed_for_scrub: u64,
    /// Refreshed blocks whose data was beyond its age limit when they were begun.
    pub refreshed_late: u64,
    /// Codewords that a scrub has read and decoded.
    pub scrubbed_codewords: u64,
    /// Scrubbed codewords that were beyond the limit of the scrub.
    pub scrubbed_above: u64,
    /// Scrubbed codewords that no level decoded, and that parity across dies rebuilt.
    pub scrubbed_recovered: u64,
    /// Scrubbed codewords that are lost: no level decoded them, nor did parity rebuild them.
    pub scrubbed_uncorrectable: u64,
    /// Blocks that the scrub has found to need refresh.
    pub blocks_found: u64,
}

/// Work done for one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkCounts {
    /// Pages read, each once, however often it was sensed.
    pub page_reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Codewords programmed in these pages.
    pub codewords: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// Operations of flash, buses and decoders, for any owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Operations {
    /// Sensings of a page that included the hard-decision level.
    pub senses: u64,
    /// Extra levels sensed, over all sensings.
    pub extra_levels_sensed: u64,
    /// Sensings of each boundary in searches for valleys.
    pub search_sensings: u64,
    /// Sensings begun before the outcome of the level before was known.
    pub look_ahead_senses: u64,
    /// Sensings ahead that were not needed.
    pub look_ahead_wasted: u64,
    /// Sensings ahead that were cut short by a RESET.
    pub resets: u64,
    /// Predictions of whether hard decisions will be decoded.
    pub predictions: u64,
    /// Predictions that a decode will fail.
    pub predicted_failures: u64,
    /// Predictions that were wrong.
    pub mispredictions: u64,
    /// Reads of known cells by themselves.
    pub known_cell_reads: u64,
    /// Codewords transferred to a decoder, from however many pages.
    pub transfers: u64,
    /// Decodes.
    pub decodes: u64,
    /// Codewords that needed no decoder.
    pub bypasses: u64,
    /// Codewords that encoders have encoded; 0 where that takes no time.
    pub encodes: u64,
    /// Page programs.
    pub programs: u64,
    /// Block erases.
    pub erases: u64,
    /// Suspensions of programs and erases.
    pub suspensions: u64,
}

/// Energy of operations: by operation (`sense` to `decode`), and the same energy once more by purpose (`reads`, `writes`, `background`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Energy {
    /// Sensing with hard decision.
    pub sense: Pj,
    /// Sensing extra levels.
    pub sense_extra_levels: Pj,
    /// Transfers to decoders.
    pub transfer: Pj,
    /// Programs.
    pub program: Pj,
    /// Erases.
    pub erase: Pj,
    /// Decodes.
    pub decode: Pj,
    /// Energy that was not spent: that of sensings beyond the point at which a RESET cut them short. No part of the total.
    pub cut_short: Pj,
    /// Energy of operations for host reads.
    pub reads: Pj,
    /// Energy of operations for host writes.
    pub writes: Pj,
    /// Energy of operations for the background, such as garbage collection and read reclaim.
    pub background: Pj,
}

/// Counts of the pacing of garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PacingCounts {
    /// Number of times that collection which had chosen a victim paused, or was asked to go on and did not.
    pub pauses: u64,
    /// Steps of collection (taking a victim, moving a page, erasing) at or below the reserve of free blocks, where the pacing rule is not
    /// asked.
    pub at_reserve: u64,
    /// Victims that were taken in idle time: the host had left their plane alone.
    pub idle_victims: u64,
    /// The fewest free blocks of a plane in which the host was programming, plus one; 0 where it never did.
    least_free: u32,
    /// Pages that the host programmed; and the sum, over these pages, of the free blocks of their plane, with the free share of the block
    /// that the host has open.
    pages: u64,
    free: f64,
}

/// Counts of reading ahead.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReadAheadCounts {
    /// Pages that were read ahead.
    pub pages: u64,
    /// Pages read ahead that were asked for while they were in the read buffer.
    pub used_pages: u64,
    /// Codewords that were asked for while they were being read ahead.
    pub late_codewords: u64,
    /// Time for which these codewords were waited for until their read ahead was over, all together.
    pub waited: TotalNs,
}

impl PacingCounts {
    /// Notes that the host programs in a plane with `whole` free blocks, or `free` with the share of the open one.
    pub(super) fn saw(&mut self, whole: u32, free: f64) {
        self.least_free = if self.pages == 0 { whole + 1 } else { self.least_free.min(whole + 1) };
        self.pages += 1;
        self.free += free;
    }

    /// The fewest free blocks of a plane in which the host was programming.
    pub fn least_free_blocks(&self) -> Option<u32> {
        self.least_free.checked_sub(1)
    }

    /// Mean number of free blocks of the planes in which the host was programming, with the share of the open one.
    pub fn mean_free_blocks(&self) -> Option<f64> {
        (self.pages > 0).then(|| self.free / self.pages as f64)
    }
}

impl Energy {
    /// The sum over all operations.
    pub fn total(&self) -> Pj {
        self.sense + self.sense_extra_levels + self.transfer + self.program + self.erase + self.decode
    }
}

/// One completed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRow {
    /// Number of the request among all that came in, from 0.
    pub request: u64,
    /// The number of its tenant, in the order of the config; 0 where there are none.
    pub tenant: u16,
    /// The instant at which it arrived.
    pub arrival: Ns,
    /// The instant at which the device let it in: later than its arrival if as many requests were outstanding as it takes.
    pub admitted: Ns,
    /// The kind of request.
    pub kind: RequestKind,
    /// Address of its first byte.
    pub offset_bytes: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Time from arrival to completion.
    pub response: Ns,
    /// The highest level at which any of its codewords was read; 0 when none was read from flash.
    pub max_level: u8,
    /// Attempts beyond the first, summed over its codewords.
    pub retries: u16,
    /// Codewords of the request that no level decoded.
    pub uncorrectable: u32,
    /// Energy of its own operations, without those of garbage collection and programs from the write buffer.
    pub energy: Pj,
}

/// Counts of one tenant.
#[derive(Debug, Clone, Default)]
pub struct TenantStatistics {
    /// Response times of reads.
    pub reads: Histogram,
    /// Response times of writes.
    pub writes: Histogram,
    /// Response times of trims.
    pub trims: Histogram,
    /// Response times of flushes.
    pub flushes: Histogram,
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub written_bytes: u64,
    /// Bytes of completed trims.
    pub trimmed_bytes: u64,
    /// The instant at which its first request arrived; none before one has completed.
    pub first_arrival: Option<Ns>,
    /// The instant at which its last request completed.
    pub last_completion: Ns,
    /// Codewords that it read from flash.
    pub codewords_read: u64,
    /// Codewords read from flash that no level decoded.
    pub uncorrectable: u64,
    /// Requests that found its submission queue full when they arrived, and waited at the host.
    pub found_queue_full: u64,
    /// Reads that missed their deadline; 0 where they have none.
    pub missed_deadlines: u64,
}

impl TenantStatistics {
    /// # Arguments
    /// - `counted_from`: the instant at which counting began.
    fn complete(&mut self, row: &LogRow, counted_from: Ns) {
        match row.kind {
            RequestKind::Read => {
                self.reads.record(row.response);
                self.read_bytes += row.bytes;
            }
            RequestKind::Write | RequestKind::FuaWrite => {
                self.writes.record(row.response);
                self.written_bytes += row.bytes;
            }
            RequestKind::Trim => {
                self.trims.record(row.response);
                self.trimmed_bytes += row.bytes;
            }
            RequestKind::Flush => self.flushes.record(row.response),
        }
        let arrival = row.arrival.max(counted_from);
        self.first_arrival = Some(self.first_arrival.map_or(arrival, |first| first.min(arrival)));
        self.last_completion = row.arrival + row.response;
    }

    /// Number of completed requests.
    pub fn completed(&self) -> u64 {
        self.reads.count() + self.writes.count() + self.trims.count() + self.flushes.count()
    }

    /// Response times of all requests.
    pub fn all(&self) -> Histogram {
        self.of(None)
    }

    /// Response times of one kind of request, or of all requests.
    pub(crate) fn of(&self, kind: Option<RequestKind>) -> Histogram {
        of_kind([&self.reads, &self.writes, &self.trims, &self.flushes], kind)
    }

    /// Time from the first arrival to the last completion.
    pub fn span(&self) -> Ns {
        self.last_completion - self.first_arrival.unwrap_or(self.last_completion)
    }
}

/// The histogram of one kind of request, of those of reads, writes, trims and flushes; or the merged counts of all.
fn of_kind([reads, writes, trims, flushes]: [&Histogram; 4], kind: Option<RequestKind>) -> Histogram {
    match kind {
        Some(RequestKind::Read) => reads.clone(),
        Some(RequestKind::Write | RequestKind::FuaWrite) => writes.clone(),
        Some(RequestKind::Trim) => trims.clone(),
        Some(RequestKind::Flush) => flushes.clone(),
        None => {
            let mut all = reads.clone();
            [writes, trims, flushes].into_iter().for_each(|other| all.merge(other));
            all
        }
    }
}

/// Counts of a run.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// The instant at which counting began: the start, or the end of a warm-up.
    pub counted_from: Ns,
    /// Requests that have completed since the start, whether they count or not.
    pub(super) completed_in_all: u64,
    /// Response times of reads.
    pub reads: Histogram,
    /// Response times of writes.
    pub writes: Histogram,
    /// Response times of trims.
    pub trims: Histogram,
    /// Response times of flushes.
    pub flushes: Histogram,
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub written_bytes: u64,
    /// Growth of response times with the run, which shows a load that the device cannot serve.
    pub growth: Growth,
    /// The instant at which the first request arrived; none before one has completed.
    pub first_arrival: Option<Ns>,
    /// The instant at which the last request completed.
    pub last_completion: Ns,
    /// Host codeword reads from flash that were decoded at level 1, 2, ...; level 1 is at index 0.
    pub level_histogram: [u64; MAX_LEVEL as usize],
    /// Host codeword reads that no level decoded.
    pub uncorrectable: u64,
    /// Host codeword reads that no level decoded, and that parity across dies has rebuilt.
    pub recovered: u64,
    /// Codewords of other reads that no level decoded, and that parity across dies has rebuilt.
    pub recovered_in_background: u64,
    /// Host codeword reads that ended with another word than was written, where codewords are really decoded.
    pub undetected: u64,
    /// Codewords that no level decoded in reads of the background and in read-modify-write.
    pub uncorrectable_in_background: u64,
    /// Attempts beyond the first of host codeword reads.
    pub retries: u64,
    /// Host reads of codewords that are divided among several chips.
    pub interleaved_codewords: u64,
    /// Host reads of units that lie in two pages of a block.
    pub crossing_units: u64,
    /// Host codewords whose raw bit error rate their decode table does not reach.
    pub beyond_table: BeyondTable,
    /// The sum of the raw bit error rates of host codewords as they are read first, in errors per bit; 0 where none are known.
    pub rber_sum: f64,
    /// Number of host codewords in this sum.
    pub rber_codewords: u64,
    /// Host codeword reads whose first attempt was above level 1.
    pub soft_starts: u64,
    /// Codewords of reads whose map entry was at hand, in the mapping cache, where the map is in flash.
    pub mapping_read_hits: u64,
    /// Codewords of reads whose map entry was not at hand.
    pub mapping_read_misses: u64,
    /// Codewords of writes whose map entry was at hand.
    pub mapping_write_hits: u64,
    /// Codewords of writes whose map entry was not at hand.
    pub mapping_write_misses: u64,
    /// Map entries that were evicted from the mapping cache.
    pub mapping_evictions: u64,
    /// Evicted map entries that had changed, so that their translation page has to be updated.
    pub mapping_dirty_evictions: u64,
    /// Translation pages read, for requests and to be updated.
    pub translation_reads: u64,
    /// Updates of translation pages that found no room, and never will, as collection frees none any more.
    pub refused_write_backs: u64,
    /// The time of host codeword reads, by parts.
    pub read_time: ReadTime<TotalNs>,
    /// The time of host reads by part, and the work for which planes were waited for, ns; sorted into buckets by the mean duration of a
    /// codeword in its read. The slowest reads are told from it.
    pub reads_by_duration: SumsByDuration<PARTS_OF_READS>,
    /// The part of the wait for decoders, in first attempts, that links and the switch took.
    pub interconnect_time: TotalNs,
    /// Time that all attempts of host codeword reads took by themselves (sensing, transfer and decode), without waits.
    pub read_service: TotalNs,
    /// Time for which buses carried codewords whose decode failed, for any owner.
    pub failed_transfers: TotalNs,
    /// Codewords read from controller memory.
    pub codewords_from_controller: u64,
    /// Codewords of reads that were in the read buffer.
    pub read_buffer_hits: u64,
    /// Codewords of reads that lay in flash and were not in the read buffer.
    pub read_buffer_misses: u64,
    /// Counts of reading ahead.
    pub read_ahead: ReadAheadCounts,
    /// Map entries that were not in the mapping cache, and that its admission rule did not take in.
    pub mapping_refused: u64,
    /// Pages that were not in the read buffer, and that its admission rule did not take in.
    pub read_buffer_refused: u64,
    /// Codewords that the host did not ask for, and that were read for the read buffer along with those that it asked for.
    pub read_along_codewords: u64,
    /// Codewords covered by a write in part that were in the read buffer.
    pub read_buffer_modify_hits: u64,
    /// Codewords covered by a write in part that were not in the read buffer.
    pub read_buffer_modify_misses: u64,
    /// Codewords read that were never written.
    pub unmapped_codewords: u64,
    /// Codewords that the host wrote.
    pub host_codewords_written: u64,
    /// Codewords of host writes that found no room, and never will, as collection frees none any more.
    pub refused_codewords: u64,
    /// The instant at which the first of the refused codewords was refused.
    pub read_only_from: Option<Ns>,
    /// Codewords whose program has failed.
    pub failed_program_codewords: u64,
    /// Superblocks whose data was moved as a program had failed there.
    pub moved_from_bad_blocks: u64,
    /// Work of arrays by its cause, in the order of [`Cause::ALL`].
    pub by_cause: [WorkCounts; Cause::COUNT],
    /// Places in programmed pages that were left empty.
    pub padding_codewords: u64,
    /// Codewords overwritten in the write buffer before they were programmed.
    pub coalesced_codewords: u64,
    /// Codewords read because a write covered them in part.
    pub read_modify_writes: u64,
    /// Codewords that the write buffer held in part until other writes brought the rest, so that nothing was read.
    pub merged_codewords: u64,
    /// Blocks chosen by garbage collection.
    pub gc_victims: u64,
    /// Victims that were chosen to level wear.
    pub gc_victims_to_level_wear: u64,
    /// Valid codewords of the victims when they were chosen.
    pub gc_victim_valid: u64,
    /// Valid codewords of the fullest victim that was not chosen to level wear.
    pub gc_fullest_victim: u32,
    /// Codewords for which the victims had room.
    pub gc_victim_room: u64,
    /// Counts of the pacing of garbage collection.
    pub gc_pacing: PacingCounts,
    /// Blocks that read reclaim has moved and erased.
    pub reclaimed_blocks: u64,
    /// Wordlines whose data read reclaim has moved.
    pub reclaimed_wordlines: u64,
    /// Pages of moved data that were copied within their planes.
    pub copied_pages: u64,
    /// Counts of refresh and patrol scrub.
    pub maintenance: MaintenanceCounts,
    /// Codewords of the host that were programmed to the SLC cache.
    pub slc_codewords_programmed: u64,
    /// Blocks that have been chosen to be folded; of several blocks that are erased together, these count as one.
    pub folded_blocks: u64,
    /// Folded blocks that were chosen in idle time.
    pub folded_blocks_in_idle_time: u64,
    /// Host codeword reads from the SLC cache.
    pub slc_codewords_read: u64,
    /// Operations of flash, buses and decoders.
    pub operations: Operations,
    /// Energy of operations.
    pub energy: Energy,
    /// Reads that missed their deadline; 0 where they have none.
    pub missed_deadlines: u64,
    /// Counts of each tenant; empty where there are none.
    pub tenants: Vec<TenantStatistics>,
    /// Deadline of reads of each tenant, as a time from arrival; of all reads where there are no tenants. Empty where reads have none.
    read_deadlines: Vec<Ns>,
    /// Requests that have completed, where the run keeps a log of them.
    log: Option<Vec<LogRow>>,
    /// Requests that have completed since [`Statistics::look_on`]; none where nobody looks on.
    seen: Option<Vec<LogRow>>,
}

impl Statistics {
    pub(super) fn new(log_requests: bool) -> Self {
        Self { log: log_requests.then(Vec::new), ..Self::default() }
    }

    /// Starts counting anew, as at the end of a warm-up: all counts are 0 but the number of requests completed since the start.
    pub(super) fn count_anew(&mut self, now: Ns) {
        *self = Self {
            counted_from: now,
            completed_in_all: self.completed_in_all,
            growth: Growth::from(now),
            last_completion: now,
            tenants: vec![TenantStatistics { last_completion: now, ..TenantStatistics::default() }; self.tenants.len()],
            read_deadlines: std::mem::take(&mut self.read_deadlines),
            log: self.log.take().map(|_| Vec::new()),
            seen: self.seen.take(),
            ..Self::default()
        };
    }

    /// Sets the deadline of reads of each tenant.
    pub(super) fn expect_reads_within(&mut self, read_deadlines: Vec<Ns>) {
        self.read_deadlines = read_deadlines;
    }

    /// Counts a read that has completed after its deadline.
    #[inline(never)]
    fn judge_deadline(&mut self, row: &LogRow) {
        if row.kind == RequestKind::Read && row.response > self.read_deadlines[usize::from(row.tenant)] {
            self.missed_deadlines += 1;
            if let Some(tenant) = self.tenants.get_mut(usize::from(row.tenant)) {
                tenant.missed_deadlines += 1;
            }
        }
    }

    pub(super) fn expect_tenants(&mut self, count: usize) {
        self.tenants = vec![TenantStatistics::default(); count];
    }

    /// Counts a request that found the submission queue of its tenant full.
    pub(super) fn found_queue_full(&mut self, tenant: usize) {
        self.tenants[tenant].found_queue_full += 1;
    }

    pub(super) fn read_for_tenant(&mut self, tenant: usize, decoded: bool) {
        let tenant = &mut self.tenants[tenant];
        tenant.codewords_read += 1;
        tenant.uncorrectable += u64::from(!decoded);
    }

    /// Number of completed requests.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.reads.count() + self.writes.count() + self.trims.count() + self.flushes.count()
    }

    /// Host codewords read from flash.
    pub fn codewords_read(&self) -> u64 {
        self.level_histogram.iter().sum::<u64>() + self.uncorrectable + self.recovered
    }

    /// Work for a cause.
    pub fn work(&self, cause: Cause) -> WorkCounts {
        self.by_cause[cause as usize]
    }

    /// Codewords programmed, for any cause.
    ///
    /// # Arguments
    /// - `parity_in_data`: codewords of a page, where parity takes room of the data, so that whole pages are written.
    pub(super) fn codewords_programmed(&self, parity_in_data: Option<u64>) -> u64 {
        let for_data = self.host_codewords_programmed()
            + self.moved_codewords_programmed()
            + self.padding_codewords
            + self.parity_codewords_programmed();
        let all = || for_data + self.translation_codewords_programmed();
        parity_in_data.map_or_else(all, |of_page| self.operations.programs * of_page)
    }

    /// Codewords programmed for the host. They are fewer than it wrote where the write buffer coalesced writes.
    pub fn host_codewords_programmed(&self) -> u64 {
        self.work(Cause::Host).codewords
    }

    /// Codewords programmed by garbage collection.
    pub fn gc_codewords_programmed(&self) -> u64 {
        self.work(Cause::Collection).codewords + self.work(Cause::WearLevelling).codewords
    }

    /// Codewords that read reclaim has programmed.
    pub fn reclaim_codewords_programmed(&self) -> u64 {
        self.work(Cause::ReadReclaim).codewords
    }

    /// Codewords that folding of the SLC cache has programmed.
    pub fn folded_codewords_programmed(&self) -> u64 {
        self.work(Cause::Folding).codewords
    }

    /// Translation pages programmed, without those that garbage collection moves.
    pub fn translation_codewords_programmed(&self) -> u64 {
        self.work(Cause::Translation).codewords
    }

    /// Work for data that was moved, by cause.
    fn moved(&self) -> impl Iterator<Item = WorkCounts> {
        let is_new = |cause: &Cause| matches!(cause, Cause::Host | Cause::Translation | Cause::Parity);
        Cause::ALL.into_iter().filter(move |cause| !is_new(cause)).map(|cause| self.work(cause))
    }

    /// Codewords programmed for data that was moved.
    pub fn moved_codewords_programmed(&self) -> u64 {
        self.moved().map(|work| work.codewords).sum()
    }

    /// Pages programmed for data that was moved.
    pub fn moved_pages_programmed(&self) -> u64 {
        self.moved().map(|work| work.programs).sum()
    }

    /// Codewords' worth of pages of parity across dies that were programmed.
    pub fn parity_codewords_programmed(&self) -> u64 {
        self.work(Cause::Parity).codewords
    }

    /// Pages of parity across dies that were programmed.
    pub fn parity_pages_programmed(&self) -> u64 {
        self.work(Cause::Parity).programs
    }

    /// Pages that were read to rebuild codewords of other pages.
    pub fn recovery_reads(&self) -> u64 {
        self.work(Cause::Recovery).page_reads
    }

    /// Codewords of requests whose map entry was at hand.
    pub fn mapping_hits(&self) -> u64 {
        self.mapping_read_hits + self.mapping_write_hits
    }

    /// Codewords of requests whose map entry was not at hand.
    pub fn mapping_misses(&self) -> u64 {
        self.mapping_read_misses + self.mapping_write_misses
    }

    /// Response times of all requests.
    pub fn all(&self) -> Histogram {
        self.of(None)
    }

    /// Response times of one kind of request, or of all requests.
    pub(crate) fn of(&self, kind: Option<RequestKind>) -> Histogram {
        of_kind([&self.reads, &self.writes, &self.trims, &self.flushes], kind)
    }

    /// Time from the first arrival to the last completion.
    pub fn span(&self) -> Ns {
        self.last_completion - self.first_arrival.unwrap_or(self.last_completion)
    }

    #[inline]
    pub(super) fn complete(&mut self, row: LogRow) {
        self.completed_in_all += 1;
        match row.kind {
            RequestKind::Read => {
                self.reads.record(row.response);
                self.read_bytes += row.bytes;
            }
            RequestKind::Write | RequestKind::FuaWrite => {
                self.writes.record(row.response);
                self.written_bytes += row.bytes;
            }
            RequestKind::Trim => self.trims.record(row.response),
            RequestKind::Flush => self.flushes.record(row.response),
        }
        let arrival = row.arrival.max(self.counted_from);
        self.first_arrival = Some(self.first_arrival.map_or(arrival, |first| first.min(arrival)));
        self.last_completion = row.arrival + row.response;
        self.growth.record(row.response, self.last_completion);
        if let Some(tenant) = self.tenants.get_mut(usize::from(row.tenant)) {
            tenant.complete(&row, self.counted_from);
        }
        if !self.read_deadlines.is_empty() {
            self.judge_deadline(&row);
        }
        if let Some(log) = &mut self.log {
            log.push(row);
        }
        if let Some(seen) = &mut self.seen {
            seen.push(row);
        }
    }

    /// Keeps requests that complete from now on.
    pub(super) fn look_on(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// Takes the requests that have completed since [`Statistics::look_on`]; no more are kept.
    pub(super) fn take_seen(&mut self) -> Vec<LogRow> {
        self.seen.take().unwrap_or_default()
    }

    #[inline]
    pub(super) fn codeword_read(&mut self, level: u8, retries: u8, decoded: bool, rebuilt: bool) {
        if rebuilt {
            self.recovered += 1;
        } else if decoded {
            self.level_histogram[level as usize - 1] += 1;
        } else {
            self.uncorrectable += 1;
        }
        self.retries += u64::from(retries);
    }

    /// Counts a read of pages for the host that has ended. A unit of data is what one entry of the map stands for, a codeword as a rule.
    ///
    /// # Arguments
    /// - `time`, `waited_for`: times of all its units of data; `waited_for` is none if no array was waited for.
    /// - `units`: number of units of data.
    #[inline]
    pub(super) fn read_ended(&mut self, time: ReadTime, waited_for: Option<&TimesTaken>, units: u32) {
        self.read_time += time;
        debug_assert_eq!(
            waited_for.map_or(0, |times| times[..KINDS_OF_WORK].iter().map(|by| by.0).sum::<u64>()),
            time.wait_plane.0,
            "all waiting is for something"
        );
        let (units, parts) = (u64::from(units), time.parts().into_iter().map(|ns| ns.0));
        let duration = Ns(time.total().0 / units.max(1));
        match waited_for {
            Some(times) => self.reads_by_duration.record(duration, units, parts.chain(times.iter().map(|by| by.0))),
            None => self.reads_by_duration.record(duration, units, parts),
        }
    }

    /// Counts a prediction.
    ///
    /// # Arguments
    /// - `fails`: whether the predictor says that the decode fails.
    /// - `decodes`: whether the codeword would be decoded.
    #[inline]
    pub(super) fn predicted(&mut self, fails: bool, decodes: bool) {
        self.operations.predictions += 1;
        self.operations.predicted_failures += u64::from(fails);
        self.operations.mispredictions += u64::from(fails == decodes);
    }

    pub(super) fn take_log(&mut self) -> Vec<LogRow> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// Uncorrectable bit error rates that reads have to expect: codewords that end without data, over the bits of data that are read.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExpectedUber {
    /// The rate of the code of a codeword alone.
    pub by_code: f64,
    /// The rate with parity across dies: another codeword of the stripe fails, too.
    pub with_parity: f64,
}

/// Properties of one codeword of the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodewordSample {
    /// The chip of its place, in the order in which the stripe meets them.
    pub chip: u32,
    /// The block of its place, numbered over the device.
    pub block: Block,
    /// The kind of its page.
    pub page_type: u8,
    /// Its raw bit error rate; where it is divided among chips, the mean of theirs.
    pub rber: f64,
    /// The probability that decoding fails codewords like this one with hard decision; `None` where every read is really
    /// decoded, so that only decodes tell.
    pub p_fail_hard: Option<f64>,
    /// The probability that decoding fails codewords like this one at the deepest level that there is.
    pub p_fail: Option<f64>,
    /// The probability that reads of codewords like this one end without data: that every step of the policy fails.
    pub p_uncorrectable: Option<f64>,
    /// The mean number of steps that such a read takes, decoded or not.
    pub mean_steps: Option<f64>,
}

/// Mean busy shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Utilisation {
    /// Busy share of planes, or of dies where planes take turns: sensing, programming, erasing, and whatever keeps the array from other
    /// work, such as waiting for the bus or for the outcome of a look-ahead.
    pub plane: f64,
    /// Busy share of channel buses.
    pub channel: f64,
    /// Share of time for which channel buses carried codewords whose decode failed.
    pub channel_wasted: f64,
    /// Busy share of decoders.
    pub decoder: f64,
    /// Busy shares of the busiest unit of each kind.
    pub busiest: UnitShares,
    /// Busy shares of the least busy unit of each kind.
    pub idlest: UnitShares,
}

/// Busy shares of one unit of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct UnitShares {
    /// Busy share of a plane, or of a die where planes take turns.
    pub plane: f64,
    /// Busy share of a channel bus.
    pub channel: f64,
    /// Busy share of the decoders that share a queue: those of a channel, or all.
    pub decoder: f64,
}
