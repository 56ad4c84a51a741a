//! The result of a run, as it is written to `summary.json`.

use schemars::JsonSchema;
use serde::Serialize;
use softsense_base::{Ns, OwnName, Pj, ResponseSummary, Slowest, SumsByDuration};
use softsense_link::{HardReferences, OwnCost, ReadSpec, Reliability, SoftReferences};
use softsense_nand::ReferencesAt;

use crate::simulation::{
    Cause, Energy, KINDS_OF_WORK, Operations, PARTS_OF_READS, PARTS_OF_TIME, Served, Statistics, Utilisation, WarmedUp,
    place_of,
};
use crate::tenants::TenantSummary;

/// The result of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Summary {
    /// The version of softsense.
    pub softsense_version: String,
    /// Changes whenever the same config gives other numbers.
    pub model_version: u32,
    /// SHA-256 of the resolved config and the model version.
    pub config_sha256: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Read policy.
    pub policy: String,
    /// What a further attempt costs: incremental or restart.
    pub retry: String,
    /// Where reads place their references; not there where cells have no threshold voltages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub references: Option<ReferencesSummary>,
    /// Where failure probabilities came from.
    pub reliability: String,
    /// The ages that `precondition` has and nothing depends on, by their paths; not there where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub idle_ages: Vec<&'static str>,
    /// Where the requests came from: `{"trace": ...}`, `{"workload": ...}`, or `{"tenants": ...}` with as much of each.
    pub source: serde_json::Value,
    /// Whether the run was stopped before its end; the numbers then cover what had completed.
    pub interrupted: bool,
    /// Completed requests.
    pub requests: u64,
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Completed trims.
    pub trims: u64,
    /// Completed flushes; not there where there were none.
    #[serde(skip_serializing_if = "is_none")]
    pub flushes: u64,
    /// What the simulation cost its computer: the only numbers that differ when the same run is done again.
    pub machine: MachineSummary,
    /// Simulated time of the last completion, s.
    pub simulated_s: f64,
    /// The warm-up of the run; not there without `[measurement]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement: Option<MeasurementSummary>,
    /// How much was served in that time.
    pub throughput: Throughput,
    /// What each tenant got, in the order of the config; not there where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantSummary>,
    /// Response times.
    pub response: Responses,
    /// Responses that grow with the run, as they do where requests of an open loop come faster than they are served; not there where they
    /// do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<GrowthSummary>,
    /// Codewords that the host read.
    pub codeword_reads: CodewordReads,
    /// Codewords written.
    pub writes_detail: WritesDetail,
    /// Operations of flash, buses and decoders, whoever asked for them.
    pub operations: Operations,
    /// What they cost.
    pub energy: EnergySummary,
    /// Work of planes that was not the host's, by its cause, causes in an order of their own; not there where there was none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundWork>,
    /// Garbage collection.
    pub gc: GcSummary,
    /// P/E cycles of blocks at the end; not there where none was erased and wear is not levelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearSummary>,
    /// Read reclaim; `null` without it.
    pub read_reclaim: Option<ReadReclaimSummary>,
    /// Losses of power; not there where power does not fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_loss: Option<PowerLossSummary>,
    /// Bad blocks; not there where the config has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad_blocks: Option<BadBlocksSummary>,
    /// Copyback; not there without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copyback: Option<CopybackSummary>,
    /// Refresh by age, and of what a scrub finds; not there without either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshSummary>,
    /// Patrol scrub; not there without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubSummary>,
    /// The SLC cache; not there without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCacheSummary>,
    /// Parity across dies; not there without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parity: Option<ParitySummary>,
    /// The read buffer; not there without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_buffer: Option<ReadBufferSummary>,
    /// Reading ahead; not there without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<ReadAheadSummary>,
    /// The mapping cache; `null` where the whole map is in memory.
    pub mapping: Option<MappingSummary>,
    /// Encoders; `null` where encoding takes no time.
    pub encoder: Option<EncoderSummary>,
    /// The pace of writes; not there where they come as they will.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_pacing: Option<WritePacingSummary>,
    /// The link to the host; not there without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_link: Option<HostLinkSummary>,
    /// What scheduling has chosen; not there without `[scheduling]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<SchedulingSummary>,
    /// The controller's DRAM; not there without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dram: Option<DramSummary>,
    /// Links and the switch; `null` without them.
    pub interconnect: Option<InterconnectSummary>,
    /// Code rates; `null` unless `reliability` is `adaptive`.
    pub code_rates: Option<CodeRatesSummary>,
    /// Mean busy shares.
    pub utilisation: Utilisation,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The warm-up of a run.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct MeasurementSummary {
    /// Whether the warm-up was over before the run was; if not, all numbers are of the warm-up.
    pub warmed_up: bool,
    /// Requests that had completed by then; `null` if it was not.
    pub warmup_requests: Option<u64>,
    /// Simulated time of the warm-up, s; `null` if it was not over.
    pub warmup_s: Option<f64>,
    /// Whether the drive was in its steady state then; `null` if that was not asked, or never reached before the run was over.
    pub steady: Option<bool>,
}

impl MeasurementSummary {
    pub(crate) fn of(warmed_up: Option<WarmedUp>) -> Self {
        Self {
            warmed_up: warmed_up.is_some(),
            warmup_requests: warmed_up.map(|before| before.requests),
            warmup_s: warmed_up.map(|before| before.until.as_secs()),
            steady: warmed_up.and_then(|before| before.steady),
        }
    }
}

/// Encoders.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct EncoderSummary {
    /// Mean busy share.
    pub utilisation: f64,
}

/// The link between host and device.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct HostLinkSummary {
    /// Data that crosses it in each direction, GB/s.
    pub gb_per_s: f64,
    /// Mean busy share of the device's end of it, with taking commands in.
    pub commands: f64,
    /// Mean busy share of the way to the device, with data that is written.
    pub to_device: f64,
    /// Of the way to the host, with data that was read.
    pub to_host: f64,
}

/// `host.write_pacing`.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct WritePacingSummary {
    /// The share of the pace that was taken.
    pub utilisation: f64,
}

/// How responses grow with the run. They do where their mean grows from the first third of the requests to the second, and from there to the
/// third, by at least 1 % of the time that passes, and 100 requests or more are under way at once in the last third.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct GrowthSummary {
    /// Mean responses of the thirds of the requests, in the order in which they completed, us.
    pub thirds_mean_us: [f64; 3],
    /// By how much of the time that passes they grow, the less of both steps: 1 - 1 / rho for rho times the load that can be served.
    pub rate: f64,
    /// Requests under way at once in the last third, those that wait at the host among them, in the mean.
    pub waiting: f64,
}

/// Which of the operations that waited for a busy unit went next.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct SchedulingSummary {
    /// Operations that had waited for their unit when they began; retries are not counted.
    pub chosen: u64,
    /// Those of them that had been passed over as often as is allowed.
    pub had_waited_enough: u64,
    /// How often one of them had been passed over, at most.
    pub most_passed_over: u32,
    /// Those of them whose deadline was near; not there without deadlines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_deadline: Option<u64>,
    /// Reads of the host that completed after their deadline; not there without deadlines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_deadlines: Option<u64>,
    /// The same of transfers that waited for a bus; not there unless `scheduling.bus` has them chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<BusSchedulingSummary>,
}

/// Which of the transfers that waited for a bus went next.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct BusSchedulingSummary {
    /// Transfers that had waited for their bus when they began.
    pub chosen: u64,
    /// Those of them that had been passed over as often as is allowed.
    pub had_waited_enough: u64,
    /// How often one of them had been passed over, at most.
    pub most_passed_over: u32,
}

/// The controller's DRAM.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct DramSummary {
    /// Data that crosses its port, GB/s.
    pub gb_per_s: f64,
    /// The mean busy share of the port.
    pub utilisation: f64,
    /// Data that crossed it from or to the host, bytes.
    pub host_bytes: u64,
    /// Data that crossed it from or to flash, whoever moved it, bytes.
    pub flash_bytes: u64,
    /// Map entries that crossed it, bytes.
    pub map_bytes: u64,
}

/// Links between SSDs and a pool of decoders or encoders, and the switch: mean busy shares, of links those of all SSDs.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct InterconnectSummary {
    /// Mean time that a codeword read takes over link and switch, waiting included, us: it is part of `wait_decoder`; `null` where
    /// nothing was read.
    pub mean_us: Option<f64>,
    /// Of links, from SSDs.
    pub link_from_ssds: f64,
    /// Of links, to SSDs.
    pub link_to_ssds: f64,
    /// Of the switch, towards decoders.
    pub switch_to_decoders: f64,
    /// Of the switch, from encoders.
    pub switch_from_encoders: f64,
}

/// Code rates of blocks at the end.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CodeRatesSummary {
    /// Blocks (of interleaved codewords, what is erased together) that use each rate, from that of the start on.
    pub blocks: Vec<u64>,
    /// Erases after which a block had a stronger code, by what had been observed of it; `null` where rates follow P/E cycles.
    pub to_stronger: Option<u64>,
    /// Erases after which it had a weaker one.
    pub to_weaker: Option<u64>,
}

/// What a simulation cost the computer that ran it.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct MachineSummary {
    /// Wall time from opening the trace to the last completion, s. Set-up is not in it.
    pub wall_s: f64,
    /// Wall time of building and preconditioning the device, s.
    pub setup_s: f64,
    /// Requests over `wall_s`.
    pub requests_per_s: f64,
    /// Largest resident set of the process so far, bytes; `null` where the system does not say.
    pub peak_rss_bytes: Option<u64>,
    /// What asking policies and rules of the user's own has cost; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnSummary>,
}

/// Where reads place their references.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct ReferencesSummary {
    /// Those of hard decisions, as `read.references` has them; `cells` for a policy that knows the level.
    pub hard: HardReferences,
    /// Those of soft levels after retries of hard decisions, as `read.soft_references` has them.
    pub soft: SoftReferences,
    /// Whether a policy of the user's own has asked for those of the `cells` by itself.
    pub own_cells: bool,
    /// Whether hard decisions stand, or such a policy's steps, where references follow the true age of the data.
    pub follow_age: bool,
}

impl ReferencesSummary {
    /// # Arguments
    /// - `own_cells`: whether a policy of the user's own has asked for references of the cells.
    pub(crate) fn new(spec: &ReadSpec, reliability: &Reliability, own_cells: bool) -> Option<Self> {
        let cells = reliability.cells()?;
        let spec = spec.with_what_is_known(reliability);
        let at_cells = own_cells || spec.first_references() == ReferencesAt::Cells;
        let hard = if spec.policy.knows_level() { HardReferences::Cells } else { spec.references };
        let follow_age = at_cells && cells.references.tracked;
        Some(Self { hard, soft: spec.soft_references, own_cells, follow_age })
    }
}

/// What asking a policy or rule of the user's own has cost.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OwnSummary {
    /// Its name in the config.
    pub name: String,
    /// Decisions that it was asked for before the run; `null` where it is asked during the run.
    pub tabulated: Option<u64>,
    /// How often it was asked during the run.
    pub calls: u64,
    /// Wall time of that, s; 0 where it is too quick to be measured, as compiled code is.
    pub calls_s: f64,
}

impl From<(OwnName, OwnCost)> for OwnSummary {
    fn from((name, OwnCost { tabulated, calls, spent_s }): (OwnName, OwnCost)) -> Self {
        Self { name: name.to_string(), tabulated, calls, calls_s: spent_s }
    }
}

/// Response times, from arrival to completion.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Responses {
    /// Of reads.
    pub read: ResponseSummary,
    /// Of writes.
    pub write: ResponseSummary,
    /// Of flushes; not there where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<ResponseSummary>,
    /// Of all requests, trims and flushes among them.
    pub all: ResponseSummary,
}

/// Requests and bytes over the time from the first arrival to the last completion. `null` without that time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Throughput {
    /// That time, s.
    pub span_s: f64,
    /// Completed requests, trims and flushes among them, per s.
    pub iops: Option<f64>,
    /// Completed reads per s.
    pub read_iops: Option<f64>,
    /// Completed writes per s.
    pub write_iops: Option<f64>,
    /// Bytes of completed reads and writes, MB/s: 10^6 bytes.
    pub mb_per_s: Option<f64>,
    /// Bytes of completed reads, MB/s.
    pub read_mb_per_s: Option<f64>,
    /// Bytes of completed writes, MB/s.
    pub write_mb_per_s: Option<f64>,
    /// Requests in flight, those that wait at the host among them, in the mean over that time: by Little's law the requests per s times
    /// their mean response. In a closed loop it is the queue depth, but for the end, where no request follows.
    pub in_flight: Option<f64>,
}

impl Throughput {
    pub(crate) fn new(statistics: &Statistics) -> Self {
        let span_s = statistics.span().as_secs();
        let per_s = |amount: f64| (span_s > 0.0).then(|| amount / span_s);
        let (read, written) = (1e-6 * statistics.read_bytes as f64, 1e-6 * statistics.written_bytes as f64);
        Self {
            span_s,
            iops: per_s(statistics.completed() as f64),
            read_iops: per_s(statistics.reads.count() as f64),
            write_iops: per_s(statistics.writes.count() as f64),
            mb_per_s: per_s(read + written),
            read_mb_per_s: per_s(read),
            write_mb_per_s: per_s(written),
            in_flight: statistics.all().mean_ns().and_then(|ns| per_s(1e-9 * ns * statistics.completed() as f64)),
        }
    }
}

/// Codewords that the host read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CodewordReads {
    /// Read from flash.
    pub count: u64,
    /// Mean time from being asked for to being decoded, us; the parts of `time_us` add up to it.
    pub mean_us: Option<f64>,
    /// Where that time went.
    pub time_us: ReadTimeUs,
    /// The same of all, and of the slowest hundredth and thousandth; none where nothing was read.
    pub slowest: Vec<SlowestReads>,
    /// Mean time that sensing, transfer and decoding of all attempts take by themselves: without waiting, without looking
    /// ahead, without translation pages, us.
    pub service_us: Option<f64>,
    /// How many ended at level 1, 2, ...
    pub level_histogram: Vec<u64>,
    /// Those that were divided among several chips.
    pub interleaved: u64,
    /// Those that lie in two pages of a block, as parity takes room of the data.
    pub crossing: u64,
    /// Those whose first attempt was above level 1.
    pub soft_starts: u64,
    /// Attempts at them.
    pub attempts: u64,
    /// Those that no level decoded.
    pub uncorrectable: u64,
    /// Those that were decoded to another word than was written, which nobody notices; `null` unless `reliability` is
    /// `exact`.
    pub undetected: Option<u64>,
    /// Those whose raw bit error rate is beyond their decode table, so that their outcome is a guess from its nearest
    /// point; `null` without decode tables.
    pub beyond_table: Option<u64>,
    /// Codewords that garbage collection or a read-modify-write could not decode.
    pub uncorrectable_in_background: u64,
    /// Read from controller memory: buffered, or on their way to flash.
    pub from_controller: u64,
    /// Never written, so that there was nothing to read.
    pub unmapped: u64,
}

/// Mean time of a codeword read by what it was spent on, us; `null` where nothing was read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReadTimeUs {
    /// Waiting for the plane to sense, first attempt.
    pub wait_plane: Option<f64>,
    /// Sensing, first attempt.
    pub sense: Option<f64>,
    /// Waiting for the channel bus, first attempt.
    pub wait_bus: Option<f64>,
    /// Transfer, first attempt.
    pub transfer: Option<f64>,
    /// Waiting for a decoder, and on the way to one outside the SSD, first attempt.
    pub wait_decoder: Option<f64>,
    /// Decoding, first attempt.
    pub decode: Option<f64>,
    /// Everything after the first attempt had failed.
    pub retries: Option<f64>,
}

/// The slowest codeword reads, by the mean of what a read of pages read for the host at once.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SlowestReads {
    /// Which share they are.
    pub share: f64,
    /// How many: those of one bucket of times are among them together.
    pub count: u64,
    /// The time of the quickest of them, us.
    pub from_us: f64,
    /// Their mean time, us; the parts of `time_us` add up to it.
    pub mean_us: f64,
    /// Where that time went.
    pub time_us: ReadTimeUs,
    /// What `wait_plane` was for: these add up to it.
    pub wait_plane_for_us: WaitPlaneForUs,
    /// What of that was caused by something else than the host, whatever it was; not there where nothing was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wait_plane_by_cause: Vec<WaitForCause>,
}

/// Mean time that a codeword read waited for its plane, or die, while that worked for a cause.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct WaitForCause {
    /// The cause.
    pub cause: Cause,
    /// The time, us.
    pub us: f64,
}

/// Work of planes for one cause, up to the last completion.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct BackgroundWork {
    /// The cause.
    pub cause: Cause,
    /// Pages read, each once, however often it was sensed.
    pub page_reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Codewords programmed in them.
    pub codewords: u64,
    /// Blocks erased.
    pub erases: u64,
    /// For how long planes, or dies whose planes take turns, were taken by it, all together, s. In rounds the time counts for which one waits for the others of its round.
    pub array_s: f64,
    /// Share of the time for which they were taken at all; `null` where they never were.
    pub array_share: Option<f64>,
    /// Codewords programmed over those that the host has written to flash: its part of write amplification; `null` without writes.
    pub write_amplification: Option<f64>,
}

impl BackgroundWork {
    /// Of each cause for which anything was done.
    pub(crate) fn of(served: &Served) -> Vec<Self> {
        let (taken, into_flash) = (&served.times_taken, served.into_flash);
        let all: u64 = taken[..KINDS_OF_WORK].iter().map(|by| by.0).sum();
        let of_cause = |cause: Cause| {
            let (work, time) = (served.by_cause[cause as usize], taken[place_of(cause)?]);
            (work.page_reads + work.programs + work.erases > 0).then(|| Self {
                cause,
                page_reads: work.page_reads,
                programs: work.programs,
                codewords: work.codewords,
                erases: work.erases,
                array_s: time.as_secs(),
                array_share: (all > 0).then(|| time.0 as f64 / all as f64),
                write_amplification: (into_flash > 0).then(|| work.codewords as f64 / into_flash as f64),
            })
        };
        Cause::ALL.into_iter().filter_map(of_cause).collect()
    }
}

impl SlowestReads {
    /// The slowest share of reads; `None` where nothing was read.
    pub(crate) fn of(reads: &SumsByDuration<PARTS_OF_READS>, share: f64) -> Option<Self> {
        let Slowest { count, from, sums } = reads.slowest(share)?;
        let mean_us = |ns: u64| ns as f64 * 1e-3 / count as f64;
        let part = |index: usize| mean_us(sums[index]);
        Some(Self {
            share,
            count,
            from_us: Ns::as_us(from),
            mean_us: mean_us(sums[..PARTS_OF_TIME].iter().sum()),
            time_us: ReadTimeUs {
                wait_plane: Some(part(0)),
                sense: Some(part(1)),
                wait_bus: Some(part(2)),
                transfer: Some(part(3)),
                wait_decoder: Some(part(4)),
                decode: Some(part(5)),
                retries: Some(part(6)),
            },
            wait_plane_for_us: WaitPlaneForUs {
                host_reads: part(7),
                background_reads: part(8),
                host_programs: part(9),
                background_programs: part(10),
                erases: part(11),
            },
            wait_plane_by_cause: (Cause::ALL.into_iter())
                .filter_map(|cause| Some(WaitForCause { cause, us: part(PARTS_OF_TIME + place_of(cause)?) }))
                .filter(|wait| wait.us > 0.0)
                .collect(),
        })
    }
}

/// Mean time that a codeword read waited for its plane, or die, by what that was taken by, us.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct WaitPlaneForUs {
    /// Other reads of the host, and those of map entries and of what it overwrites in part.
    pub host_reads: f64,
    /// Reads of garbage collection and read reclaim, and of translation pages that are written back.
    pub background_reads: f64,
    /// Programs of the host's data, with the wait for the bus and the transfer to the plane.
    pub host_programs: f64,
    /// Programs of what garbage collection and read reclaim move, and of translation pages.
    pub background_programs: f64,
    /// Erases.
    pub erases: f64,
}

/// Codewords written.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WritesDetail {
    /// By the host.
    pub host_codewords: u64,
    /// Of those, overwritten in the write buffer before they were programmed.
    pub coalesced_codewords: u64,
    /// By garbage collection.
    pub gc_codewords: u64,
    /// Translation pages, but for those that garbage collection moved.
    pub translation_codewords: u64,
    /// Places in programmed pages that were left empty.
    pub padding_codewords: u64,
    /// Codewords' worth of pages programmed over codewords written by the host; `null` without writes.
    pub write_amplification: Option<f64>,
    /// Codewords read because a write covered them in part.
    pub read_modify_writes: u64,
    /// Codewords that the write buffer held in part until other writes brought the rest, so that nothing was read; not there unless
    /// `host.partial_write` is `merge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_codewords: Option<u64>,
    /// Codewords of the host that were refused, as lower code rates, or dies or blocks that failed, had left no room.
    pub refused_codewords: u64,
    /// When the first of them was refused, s of simulated time: from then on the device, or one of several SSDs, takes reads and
    /// trims alone, until trims have made room; `null` if none was.
    pub read_only_from_s: Option<f64>,
    /// Codewords that are in the write buffer at the end: accepted, and not in flash. 0 unless the run was interrupted or there
    /// is no room left.
    pub left_in_buffer_codewords: u64,
    /// Data that the flash has room for at the end, with the code rates of its blocks, the user's and what is spare, bytes.
    pub data_capacity_bytes: u64,
}

/// Garbage collection.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GcSummary {
    /// Blocks chosen.
    pub blocks_reclaimed: u64,
    /// Their mean valid fraction when they were chosen.
    pub mean_valid_fraction: Option<f64>,
    /// Those of them that were chosen to level wear.
    pub blocks_to_level_wear: u64,
    /// Erases of the block that was erased least, by whomever, since the start of the run.
    pub least_erases: u32,
    /// Erases of the block that was erased most.
    pub most_erases: u32,
    /// Sensings of the block that was read most between two of its erases, all within the run; `null` where reads disturb no cells.
    pub most_block_reads: Option<u64>,
    /// Free blocks when the run began, or the part of it that is measured.
    pub free_blocks_at_start: u64,
    /// Free blocks at the last completion.
    pub free_blocks_at_end: u64,
    /// Whether programs took 5 % of the free blocks or more, and more than a ninth of what erases gave back. Then the drive was not in its
    /// steady state, and numbers of writes are those of a drive with room.
    pub used_up_room: bool,
    /// How it was paced; not there where it goes on at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<GcPacingSummary>,
}

/// P/E cycles of blocks at the end (of several that are erased together, these), those before the run among them.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct WearSummary {
    /// Of the least worn block.
    pub least_pe_cycles: u32,
    /// Their mean.
    pub mean_pe_cycles: f64,
    /// Of the most worn block.
    pub most_pe_cycles: u32,
    /// Most minus least of one plane (of several that are written as one, these), where that is largest.
    pub widest_plane_spread: u32,
    /// `ftl.wear_levelling_spread`, which is to bound that; `null` where wear is not levelled.
    pub levelled_to: Option<u32>,
}

/// Garbage collection that does not go on at once.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GcPacingSummary {
    /// How often a collection that had begun was asked for, and paused.
    pub pauses: u64,
    /// Steps that it took at the reserve of free blocks, whatever was said.
    pub at_reserve: u64,
    /// Blocks that were collected because the host left their plane alone.
    pub idle_blocks: u64,
    /// The fewest free blocks of a plane in which the host was programming; `null` where it never did.
    pub least_free_blocks: Option<u32>,
    /// Free blocks, with the share of the open one that is free, of the planes in which it was programming, in the mean.
    pub mean_free_blocks: Option<f64>,
}

/// Read reclaim: data that is moved before reads have disturbed it too much.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReadReclaimSummary {
    /// Blocks moved and erased.
    pub blocks: u64,
    /// Wordlines moved.
    pub wordlines: u64,
    /// Codewords moved, those of wordlines whose reclaim found no room and ended among them.
    pub codewords: u64,
    /// Memory of a controller for the counters that it goes by, bytes a block.
    pub counter_bytes_per_block: u32,
}

/// Losses of power.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct PowerLossSummary {
    /// How many there were.
    pub losses: u64,
    /// Codewords, or parts of them, that were acknowledged and are lost.
    pub lost_codewords: u64,
    /// How long the device was away after a loss, us, mean; `null` without one.
    pub mean_away_us: Option<f64>,
    /// The longest of these times, us.
    pub longest_away_us: f64,
    /// Programs that were started anew.
    pub programs_again: u64,
    /// Erases that were started anew.
    pub erases_again: u64,
    /// Pages in which protected write buffers were saved.
    pub saved_pages: u64,
    /// Pages of the map that were read.
    pub map_pages: u64,
    /// Pages that were scanned for map entries.
    pub scanned_pages: u64,
}

/// Bad blocks, and the spares that take their place.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct BadBlocksSummary {
    /// Blocks that are bad from the factory, spares among them.
    pub factory: u64,
    /// Blocks in which an erase or a program has failed in the run, and which spares have replaced, or which are retired.
    pub grown: u64,
    /// Of these, those in which a program has failed.
    pub grown_by_programs: u64,
    /// Blocks in which a program has failed, and which hold data still.
    pub to_be_replaced: u64,
    /// Programs of pages that have failed.
    pub failed_programs: u64,
    /// Codewords whose program has failed, and which were programmed again, or are in the controller's memory.
    pub codewords_programmed_again: u64,
    /// Spares that are left at the end, in all planes.
    pub spares_left: u64,
    /// Spares that are left in the plane that has the fewest.
    pub fewest_spares_of_plane: u32,
    /// Blocks (of several that are erased together, these) that are written no more, as their plane had no spare left.
    pub retired: u64,
}

/// Copyback: data that was moved within its plane.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct CopybackSummary {
    /// Pages copied.
    pub pages: u64,
    /// Their share of all pages that were programmed with data that was moved; `null` where none was.
    pub share: Option<f64>,
}

/// Refresh: data that is moved before it is too old, or as a scrub has found that it needs it.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct RefreshSummary {
    /// Blocks (of several that are erased together, these) whose data was moved, and that were erased.
    pub blocks: u64,
    /// Those that a scrub had found.
    pub blocks_for_scrub: u64,
    /// Those that were begun after their data was too old.
    pub blocks_late: u64,
    /// Codewords moved.
    pub codewords: u64,
    /// Codewords moved over those that the host wrote; `null` without writes.
    pub write_amplification: Option<f64>,
}

/// Patrol scrub.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct ScrubSummary {
    /// Pages read.
    pub pages: u64,
    /// Codewords read and decoded.
    pub codewords: u64,
    /// Those of them that were beyond `ftl.scrub.refresh_above`.
    pub codewords_above: u64,
    /// Codewords that no level decoded and that were rebuilt by parity.
    pub codewords_recovered: u64,
    /// Codewords that are lost: no level decoded them, and there is no parity that rebuilds them.
    pub codewords_uncorrectable: u64,
    /// Blocks (of several that are erased together, these) found to need refresh.
    pub blocks_found: u64,
    /// Rounds of the device that are due by now.
    pub rounds: f64,
    /// Share of the pages whose turn has come that have yet to have it, as the host was at work; `null` where none has come.
    pub behind: Option<f64>,
}

/// The SLC cache.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SlcCacheSummary {
    /// Codewords of the host that were programmed to it.
    pub cached_codewords: u64,
    /// Those that passed it by.
    pub direct_codewords: u64,
    /// Codewords that folding has programmed.
    pub folded_codewords: u64,
    /// Share of what was programmed for the host that went to it; `null` where nothing was.
    pub cached_share: Option<f64>,
    /// Codewords programmed for the host over those that it wrote; `null` without writes. This part of write amplification is below 1
    /// where a write buffer coalesces.
    pub host_write_amplification: Option<f64>,
    /// Codewords programmed by folding over those that the host wrote; `null` without writes.
    pub fold_write_amplification: Option<f64>,
    /// Codewords programmed by garbage collection over those that the host wrote; `null` without writes.
    pub gc_write_amplification: Option<f64>,
    /// Codewords of the host's reads that were read from it.
    pub codewords_read: u64,
    /// Their share of all that were read from flash; `null` where none were.
    pub read_share: Option<f64>,
    /// Blocks (of several that are erased together, these) that were chosen to be folded.
    pub blocks_folded: u64,
    /// Those of them that were chosen in idle time.
    pub blocks_folded_in_idle_time: u64,
    /// Data that its blocks have room for at the end, bytes: without free ones that it might take.
    pub capacity_bytes: u64,
    /// Data in it at the end that nothing has replaced, bytes.
    pub valid_bytes: u64,
}

/// Parity across dies. What it could not rebuild are the uncorrectable codewords of `codeword_reads`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParitySummary {
    /// Pages of data in a stripe.
    pub data_pages: u32,
    /// Codewords of the host's reads that no level decoded, and that were rebuilt.
    pub recovered: u64,
    /// Those of other reads.
    pub recovered_in_background: u64,
    /// Pages that were read to rebuild codewords of others.
    pub recovery_reads: u64,
    /// Pages of parity that were programmed.
    pub programs: u64,
    /// Memory of the controller for the parity of stripes that are not full, at most, bytes.
    pub xor_buffer_bytes: u64,
    /// Uncorrectable bit error rate that reads of the device have to expect at the end, by the codes of its codewords alone; `null` where
    /// nothing tells.
    pub expected_uber_by_code: Option<f64>,
    /// The same with parity, if codewords of a stripe fail independently of one another.
    pub expected_uber: Option<f64>,
}

/// What operations cost, uJ.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EnergySummary {
    /// Sensing with hard decision.
    pub sense_uj: f64,
    /// Sensing extra levels.
    pub sense_extra_levels_uj: f64,
    /// Transfers to decoders.
    pub transfer_uj: f64,
    /// Programs, with the way of their data over the bus.
    pub program_uj: f64,
    /// Erases.
    pub erase_uj: f64,
    /// Decodes.
    pub decode_uj: f64,
    /// All of it.
    pub total_uj: f64,
    /// What sensings that a RESET cut short would have cost beyond what is counted, had they gone on to their end.
    pub cut_short_uj: f64,
    /// Of a host read, mean; `null` without reads.
    pub mean_read_uj: Option<f64>,
    /// Of a host write, mean, with the reads of partly covered codewords and without garbage collection; `null` without
    /// writes.
    pub mean_write_uj: Option<f64>,
    /// Of garbage collection and read reclaim: their reads, programs and erases.
    pub background_uj: f64,
    /// All of it over all completed requests; `null` without any.
    pub mean_request_uj: Option<f64>,
}

impl EnergySummary {
    pub(crate) fn new(energy: &Energy, reads: u64, writes: u64, requests: u64) -> Self {
        let mean = |energy: Pj, count: u64| (count > 0).then(|| energy.as_uj() / count as f64);
        Self {
            sense_uj: energy.sense.as_uj(),
            sense_extra_levels_uj: energy.sense_extra_levels.as_uj(),
            transfer_uj: energy.transfer.as_uj(),
            program_uj: energy.program.as_uj(),
            erase_uj: energy.erase.as_uj(),
            decode_uj: energy.decode.as_uj(),
            total_uj: energy.total().as_uj(),
            cut_short_uj: energy.cut_short.as_uj(),
            mean_read_uj: mean(energy.reads, reads),
            mean_write_uj: mean(energy.writes, writes),
            background_uj: energy.background.as_uj(),
            mean_request_uj: mean(energy.total(), requests),
        }
    }
}

/// The read buffer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReadBufferSummary {
    /// Codewords of reads that it had.
    pub hits: u64,
    /// Those that lay in flash, and that it had not.
    pub misses: u64,
    /// Hits over both; `null` without any.
    pub hit_ratio: Option<f64>,
    /// Pages that it had not, and did not take in; not there where it takes all in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_pages: Option<u64>,
    /// Codewords of the pages of misses that nobody had asked for: `codeword_reads` counts them among the others.
    pub along: u64,
    /// Codewords that a write covers in part, and that it had.
    pub modify_hits: u64,
    /// Those that it had not.
    pub modify_misses: u64,
}

/// Reading ahead of sequential reads.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReadAheadSummary {
    /// Pages that were read ahead.
    pub pages: u64,
    /// Those of them that were asked for later.
    pub used_pages: u64,
    /// Those that were not: they left the read buffer, or are there at the end.
    pub wasted_pages: u64,
    /// Codewords that were asked for while they were being read ahead, and waited for the rest of that.
    pub late_codewords: u64,
    /// Mean time for which these waited, us; `null` where none was late.
    pub mean_late_us: Option<f64>,
}

/// The mapping cache of a demand-based FTL.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MappingSummary {
    /// Entries it has room for.
    pub entries: u32,
    /// Codewords of requests whose entry was at hand.
    pub hits: u64,
    /// Those whose entry was not.
    pub misses: u64,
    /// Hits over both; `null` without any.
    pub hit_ratio: Option<f64>,
    /// Hits of codewords of reads.
    pub read_hits: u64,
    /// Misses of codewords of reads.
    pub read_misses: u64,
    /// Hits of reads over both; `null` without any.
    pub read_hit_ratio: Option<f64>,
    /// Entries that reads needed, and that it did not take in; not there where it takes all in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_entries: Option<u64>,
    /// Entries that had to go.
    pub evictions: u64,
    /// Those of them that had changed.
    pub dirty_evictions: u64,
    /// Translation pages read, for requests and to be updated.
    pub translation_reads: u64,
    /// Translation pages programmed, but for those that garbage collection moved.
    pub translation_programs: u64,
    /// Updates of translation pages that found no room: lower code rates had left the device none.
    pub refused_write_backs: u64,
}
