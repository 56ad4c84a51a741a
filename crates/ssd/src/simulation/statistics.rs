//! What a run counts.

use std::ops::{Add, AddAssign};

use schemars::JsonSchema;
use serde::Serialize;
use softsense_base::{Histogram, Ns, Pj, SumsByDuration, TotalNs};
use softsense_link::{MAX_LEVEL, Side};

use super::growth::Growth;
use super::owners::Cause;
use crate::request::RequestKind;

/// Host codewords whose raw bit error rate their decode table does not reach.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BeyondTable {
    /// Below its first point.
    pub below: u64,
    /// Above its last point.
    pub above: u64,
    /// The least of those below, and the most of those above.
    pub rber: [f64; 2],
}

impl BeyondTable {
    /// All of them.
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

/// Where the time of a codeword read went, or with [`TotalNs`] that of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadTime<T = Ns> {
    /// Waiting for the plane to sense, first attempt.
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
    /// All of it.
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
    /// Its parts, in their order.
    fn parts(&self) -> [Ns; PARTS_OF_TIME] {
        [self.wait_plane, self.sense, self.wait_bus, self.transfer, self.wait_decoder, self.decode, self.retries]
    }
}

/// What an array does, as waits are told by it: reads of the host and of the background, programs of both, erases.
pub const KINDS_OF_WORK: usize = 5;

/// Times by [kind](KINDS_OF_WORK) of work, and once more by each cause but the host.
pub type TimesTaken = [Ns; KINDS_OF_WORK + Cause::COUNT - 1];

/// Where [`TimesTaken`] has a cause; nowhere the host.
#[inline]
pub(crate) fn place_of(cause: Cause) -> Option<usize> {
    (cause as usize).checked_sub(1).map(|index| KINDS_OF_WORK + index)
}

/// Parts of [`ReadTime`].
pub const PARTS_OF_TIME: usize = 7;

/// Those, and after them what the plane was waited for, as [`TimesTaken`].
pub const PARTS_OF_READS: usize = PARTS_OF_TIME + KINDS_OF_WORK + Cause::COUNT - 1;

/// What refresh and patrol scrub have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MaintenanceCounts {
    /// Blocks (of several that are erased together, these) whose data was moved.
    pub refreshed_blocks: u64,
    /// Those of them that a scrub had found.
    pub refreshed_for_scrub: u64,
    /// Those whose data was beyond its age limit when they were begun.
    pub refreshed_late: u64,
    /// Codewords that a scrub has read and decoded.
    pub scrubbed_codewords: u64,
    /// Those of them that were beyond its limit.
    pub scrubbed_above: u64,
    /// Codewords that no level decoded, and that parity rebuilt.
    pub scrubbed_recovered: u64,
    /// Codewords that are lost: no level decoded them, nor did parity rebuild them.
    pub scrubbed_uncorrectable: u64,
    /// Blocks that it has found to need refresh.
    pub blocks_found: u64,
}

/// Work done for one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkCounts {
    /// Pages read, each once, however often it was sensed.
    pub page_reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Codewords programmed in them.
    pub codewords: u64,
    /// Blocks erased.
    pub erases: u64,
}

/// Operations of flash, buses and decoders, whoever asked for them.
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
    /// Those of them that were not needed.
    pub look_ahead_wasted: u64,
    /// Those of them that were cut short by a RESET.
    pub resets: u64,
    /// Predictions of whether hard decisions will be decoded.
    pub predictions: u64,
    /// Those that said no.
    pub predicted_failures: u64,
    /// Those that were wrong.
    pub mispredictions: u64,
    /// Reads of known cells for themselves.
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
    /// How often a program or an erase was suspended.
    pub suspensions: u64,
}

/// What operations have cost, by what they were and by whom they were for.
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
    /// What sensings that were cut short would have cost beyond that.
    pub cut_short: Pj,
    /// For host reads.
    pub reads: Pj,
    /// For host writes.
    pub writes: Pj,
    /// For garbage collection and read reclaim.
    pub background: Pj,
}

/// What pacing of garbage collection has done.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PacingCounts {
    /// How often collection that had a victim paused, or went on pausing when it was asked for.
    pub pauses: u64,
    /// Steps that were not asked for, at the reserve of free blocks.
    pub at_reserve: u64,
    /// Victims that were taken because the host left their plane alone.
    pub idle_victims: u64,
    /// The fewest free blocks of a plane in which the host was programming, and one more; 0 where it never did.
    least_free: u32,
    /// Pages that it programmed, and the sum of free blocks, with the share of the open one, at each.
    pages: u64,
    free: f64,
}

/// What reading ahead has done.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReadAheadCounts {
    /// Pages that were read ahead.
    pub pages: u64,
    /// Those of them that somebody asked for while they were in the read buffer.
    pub used_pages: u64,
    /// Codewords that were asked for while they were being read ahead.
    pub late_codewords: u64,
    /// How long these waited for the rest of that, all together.
    pub waited: TotalNs,
}

impl PacingCounts {
    /// The host programs in a plane with so many free blocks; and so many with the share of the open one.
    pub(super) fn saw(&mut self, whole: u32, free: f64) {
        self.least_free = if self.pages == 0 { whole + 1 } else { self.least_free.min(whole + 1) };
        self.pages += 1;
        self.free += free;
    }

    /// The fewest free blocks of a plane in which the host was programming.
    pub fn least_free_blocks(&self) -> Option<u32> {
        self.least_free.checked_sub(1)
    }

    /// Free blocks of the planes in which the host was programming, with the share of the open one, in the mean.
    pub fn mean_free_blocks(&self) -> Option<f64> {
        (self.pages > 0).then(|| self.free / self.pages as f64)
    }
}

impl Energy {
    /// All of it.
    pub fn total(&self) -> Pj {
        self.sense + self.sense_extra_levels + self.transfer + self.program + self.erase + self.decode
    }
}

/// One completed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRow {
    /// Its number among all that came in, from 0.
    pub request: u64,
    /// The number of its tenant, in the order of the config; 0 where there are none.
    pub tenant: u16,
    /// When it arrived.
    pub arrival: Ns,
    /// When the device let it in.
    pub admitted: Ns,
    /// What it did.
    pub kind: RequestKind,
    /// First byte.
    pub offset_bytes: u64,
    /// Bytes.
    pub bytes: u64,
    /// From arrival to completion.
    pub response: Ns,
    /// The highest level that any of its codewords was read with; 0 when none was read from flash.
    pub max_level: u8,
    /// Attempts beyond the first, over its codewords.
    pub retries: u16,
    /// Codewords of it that no level decoded.
    pub uncorrectable: u32,
    /// What its own operations cost: not those of garbage collection, nor programs from the write buffer.
    pub energy: Pj,
}

/// What a run counts of one tenant.
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
    /// When its first request arrived; none before one has completed.
    pub first_arrival: Option<Ns>,
    /// When its last request completed.
    pub last_completion: Ns,
    /// Codewords that it read from flash.
    pub codewords_read: u64,
    /// Those of them that no level decoded.
    pub uncorrectable: u64,
    /// Requests that found its submission queue full when they arrived, and waited at the host.
    pub found_queue_full: u64,
    /// Reads that took longer than they should have; 0 where they have no deadline.
    pub missed_deadlines: u64,
}

impl TenantStatistics {
    /// # Arguments
    /// - `counted_from`: when it began to count.
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
            RequestKind::Trim => self.trims.record(row.response),
            RequestKind::Flush => self.flushes.record(row.response),
        }
        let arrival = row.arrival.max(counted_from);
        self.first_arrival = Some(self.first_arrival.map_or(arrival, |first| first.min(arrival)));
        self.last_completion = row.arrival + row.response;
    }

    /// Completed requests.
    pub fn completed(&self) -> u64 {
        self.reads.count() + self.writes.count() + self.trims.count() + self.flushes.count()
    }

    /// Response times of all requests.
    pub fn all(&self) -> Histogram {
        merged([&self.reads, &self.writes, &self.trims, &self.flushes])
    }

    /// From the first arrival to the last completion.
    pub fn span(&self) -> Ns {
        self.last_completion - self.first_arrival.unwrap_or(self.last_completion)
    }
}

/// What several histograms have counted together.
fn merged([first, others @ ..]: [&Histogram; 4]) -> Histogram {
    let mut all = first.clone();
    others.into_iter().for_each(|other| all.merge(other));
    all
}

/// What a run counts.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// When counting began: at the start, or when a warm-up was over.
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
    /// Whether responses grow with the run.
    pub growth: Growth,
    /// When the first request arrived; none before one has completed.
    pub first_arrival: Option<Ns>,
    /// When the last request completed.
    pub last_completion: Ns,
    /// Host codeword reads from flash that ended at level 1, 2, ...
    pub level_histogram: [u64; MAX_LEVEL as usize],
    /// Host codeword reads that no level decoded.
    pub uncorrectable: u64,
    /// Host codeword reads that no level decoded, and that parity across dies has rebuilt.
    pub recovered: u64,
    /// The same of other reads.
    pub recovered_in_background: u64,
    /// Host codeword reads that ended with another word than was written, where codewords are really decoded.
    pub undetected: u64,
    /// Codewords that no level decoded in reads of garbage collection and read-modify-write.
    pub uncorrectable_in_background: u64,
    /// Attempts beyond the first of host codeword reads.
    pub retries: u64,
    /// Host codeword reads of interleaved codewords.
    pub interleaved_codewords: u64,
    /// Host reads of units that lie in two pages of a block.
    pub crossing_units: u64,
    /// Host codewords whose raw bit error rate their decode table does not reach.
    pub beyond_table: BeyondTable,
    /// The sum of the raw bit error rates of host codewords as they are read first; 0 where none are known.
    pub rber_sum: f64,
    /// How many these are.
    pub rber_codewords: u64,
    /// Host codeword reads whose first attempt was above level 1.
    pub soft_starts: u64,
    /// Codewords of reads whose map entry was at hand, where the map is in flash.
    pub mapping_read_hits: u64,
    /// Those whose entry was not.
    pub mapping_read_misses: u64,
    /// Codewords of writes whose map entry was at hand.
    pub mapping_write_hits: u64,
    /// Those whose entry was not.
    pub mapping_write_misses: u64,
    /// Entries that had to go.
    pub mapping_evictions: u64,
    /// Those of them that had changed.
    pub mapping_dirty_evictions: u64,
    /// Translation pages read, for requests and to be updated.
    pub translation_reads: u64,
    /// Updates of translation pages that found no room, and never will.
    pub refused_write_backs: u64,
    /// Where the time of host codeword reads went.
    pub read_time: ReadTime<TotalNs>,
    /// The same and more by how long a codeword of a read took in the mean.
    pub reads_by_duration: SumsByDuration<PARTS_OF_READS>,
    /// Of their wait for decoders, what links and the switch took, first attempt.
    pub interconnect_time: TotalNs,
    /// What their attempts took by themselves.
    pub read_service: TotalNs,
    /// How long buses were taken by codewords that were then not decoded, whoever read them.
    pub failed_transfers: TotalNs,
    /// Codewords read from controller memory.
    pub codewords_from_controller: u64,
    /// Codewords of reads that the read buffer had.
    pub read_buffer_hits: u64,
    /// Those that lay in flash, and that it had not.
    pub read_buffer_misses: u64,
    /// What reading ahead has done.
    pub read_ahead: ReadAheadCounts,
    /// Entries that the mapping cache had not, and did not take in.
    pub mapping_refused: u64,
    /// Pages that it had not, and did not take in.
    pub read_buffer_refused: u64,
    /// Codewords that the host did not ask for, and that were read with what it did, for the read buffer.
    pub read_along_codewords: u64,
    /// Codewords that a write covers in part, and that the read buffer had.
    pub read_buffer_modify_hits: u64,
    /// Those that it had not.
    pub read_buffer_modify_misses: u64,
    /// Codewords read that were never written.
    pub unmapped_codewords: u64,
    /// Codewords that the host wrote.
    pub host_codewords_written: u64,
    /// Codewords of host writes that found no room, and never will.
    pub refused_codewords: u64,
    /// When the first of them was refused.
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
    /// Those of them that were chosen to level wear.
    pub gc_victims_to_level_wear: u64,
    /// Their valid codewords when they were chosen.
    pub gc_victim_valid: u64,
    /// Valid codewords of the fullest victim that was not chosen to level wear.
    pub gc_fullest_victim: u32,
    /// Codewords that they had room for.
    pub gc_victim_room: u64,
    /// What pacing of garbage collection has done.
    pub gc_pacing: PacingCounts,
    /// Blocks that read reclaim has moved and erased.
    pub reclaimed_blocks: u64,
    /// Wordlines whose data it has moved.
    pub reclaimed_wordlines: u64,
    /// Pages of data that was moved that were copied within their planes.
    pub copied_pages: u64,
    /// Refresh and patrol scrub.
    pub maintenance: MaintenanceCounts,
    /// Those of the host's that were programmed to the SLC cache.
    pub slc_codewords_programmed: u64,
    /// Blocks (of several that are erased together, these) that have been chosen to be folded.
    pub folded_blocks: u64,
    /// Those of them that were chosen in idle time.
    pub folded_blocks_in_idle_time: u64,
    /// Host codeword reads from the SLC cache.
    pub slc_codewords_read: u64,
    /// Operations.
    pub operations: Operations,
    /// What they cost.
    pub energy: Energy,
    /// Reads that took longer than they should have; 0 where they have no deadline.
    pub missed_deadlines: u64,
    /// What counts for each tenant; empty where there are none.
    pub tenants: Vec<TenantStatistics>,
    /// How long reads of each tenant may take, of all reads where there are none; empty where they have no deadline.
    read_deadlines: Vec<Ns>,
    log: Option<Vec<LogRow>>,
    /// Requests that have completed while somebody looked on.
    seen: Option<Vec<LogRow>>,
}

impl Statistics {
    pub(super) fn new(log_requests: bool) -> Self {
        Self { log: log_requests.then(Vec::new), ..Self::default() }
    }

    /// Counts from here on.
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

    pub(super) fn expect_reads_within(&mut self, read_deadlines: Vec<Ns>) {
        self.read_deadlines = read_deadlines;
    }

    /// A read has completed later than it should have.
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

    pub(super) fn found_queue_full(&mut self, tenant: usize) {
        self.tenants[tenant].found_queue_full += 1;
    }

    pub(super) fn read_for_tenant(&mut self, tenant: usize, decoded: bool) {
        let tenant = &mut self.tenants[tenant];
        tenant.codewords_read += 1;
        tenant.uncorrectable += u64::from(!decoded);
    }

    /// Completed requests.
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

    /// Codewords programmed, whatever for.
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

    /// Codewords programmed for the host: less than written where the write buffer coalesced.
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

    /// Translation pages programmed, but for those that garbage collection moves.
    pub fn translation_codewords_programmed(&self) -> u64 {
        self.work(Cause::Translation).codewords
    }

    /// Work for data that was moved, whatever for.
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

    /// Pages that were read to rebuild codewords of others.
    pub fn recovery_reads(&self) -> u64 {
        self.work(Cause::Recovery).page_reads
    }

    /// Codewords of requests whose map entry was at hand.
    pub fn mapping_hits(&self) -> u64 {
        self.mapping_read_hits + self.mapping_write_hits
    }

    /// Those whose entry was not.
    pub fn mapping_misses(&self) -> u64 {
        self.mapping_read_misses + self.mapping_write_misses
    }

    /// Response times of all requests.
    pub fn all(&self) -> Histogram {
        merged([&self.reads, &self.writes, &self.trims, &self.flushes])
    }

    /// From the first arrival to the last completion.
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

    /// From now on, keeps requests that complete.
    pub(super) fn look_on(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// Those that have completed since then; no more are kept.
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

    /// A read of pages for the host has ended.
    ///
    /// # Arguments
    /// - `time`, `waited_for`: of all its units of data; nothing of those that no array was waited for.
    /// - `units`: how many.
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

    /// A prediction was made.
    ///
    /// # Arguments
    /// - `fails`: what it says.
    /// - `decodes`: what is true.
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

/// Uncorrectable bit error rates that reads have to expect: codewords that end without data, for each bit of data that is read.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExpectedUber {
    /// Of the code of a codeword alone.
    pub by_code: f64,
    /// With parity across dies: where another codeword of the stripe fails, too.
    pub with_parity: f64,
}

/// A codeword of the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodewordSample {
    /// The chip of its place, in the order in which the stripe meets them.
    pub chip: u32,
    /// The block of its place, numbered over the device.
    pub block: u32,
    /// The kind of its page.
    pub page_type: u8,
    /// Its raw bit error rate; where it is divided among chips, the mean of theirs.
    pub rber: f64,
    /// The probability that decoding fails codewords like this one with hard decision; `None` where only decodes tell.
    pub p_fail_hard: Option<f64>,
    /// The same at the deepest level that there is.
    pub p_fail: Option<f64>,
    /// The probability that reads of codewords like this one end without data: that every step of the policy fails.
    pub p_uncorrectable: Option<f64>,
    /// The mean number of steps that such a read takes, decoded or not.
    pub mean_steps: Option<f64>,
}

/// Mean busy shares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Utilisation {
    /// Of planes, or of dies where planes take turns: sensing, programming, erasing, and whatever keeps the
    /// array from other work, such as waiting for the bus or for the outcome of a look-ahead.
    pub plane: f64,
    /// Of channel buses.
    pub channel: f64,
    /// Of channel buses, with codewords that were then not decoded.
    pub channel_wasted: f64,
    /// Of decoders.
    pub decoder: f64,
    /// Of the busiest of each kind.
    pub busiest: UnitShares,
    /// Of the one that is the least busy.
    pub idlest: UnitShares,
}

/// Busy shares of one unit of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct UnitShares {
    /// Of a plane, or a die where planes take turns.
    pub plane: f64,
    /// Of a channel bus.
    pub channel: f64,
    /// Of the decoders that share a queue: those of a channel, or all.
    pub decoder: f64,
}
