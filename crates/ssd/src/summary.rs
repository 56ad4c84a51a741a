//! The result of a run, as it is written to `summary.json`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use softsense_base::{Ns, OwnName, Pj, ResponseSummary, Slowest, SumsByDuration};
use softsense_config::spec::Config;
use softsense_link::{HardReferences, OwnCost, ReadSpec, Reliability, SoftReferences};
use softsense_nand::ReferencesAt;

use crate::simulation::{
    Cause, Energy, KINDS_OF_WORK, Operations, PARTS_OF_READS, PARTS_OF_TIME, Served, Statistics, Utilisation, WarmedUp,
    place_of,
};
use crate::tenants::TenantSummary;

/// The JSON schemas of what is written of a run, by the names of types: `Config`, `Summary`, and all types within them. A field that may be
/// left out is not required.
pub fn written_schemas() -> serde_json::Map<String, serde_json::Value> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<Config>();
    generator.subschema_for::<Summary>();
    generator.take_definitions(true)
}

/// The result of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Summary {
    /// The version of softsense.
    pub softsense_version: String,
    /// The version of the model. It changes whenever the same config gives other numbers.
    pub model_version: u32,
    /// SHA-256 of the resolved config and the model version.
    pub config_sha256: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Read policy.
    pub policy: String,
    /// References that a retry senses, as in `read.retry`.
    pub retry: String,
    /// References of reads; absent where cells have no threshold voltages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub references: Option<ReferencesSummary>,
    /// The reliability model: the source of failure probabilities.
    pub reliability: String,
    /// Paths of the ages in `precondition` that nothing depends on; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub idle_ages: Vec<&'static str>,
    /// The source of the requests: `{"trace": ...}`, `{"workload": ...}`, or `{"tenants": ...}` with the source of each tenant.
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
    /// Completed flushes; absent if there were none.
    #[serde(skip_serializing_if = "is_none")]
    pub flushes: u64,
    /// Costs of the simulation on its computer. No other numbers differ when the same run is repeated.
    pub machine: MachineSummary,
    /// Simulated time of the last completion, s.
    pub simulated_s: f64,
    /// The warm-up of the run; absent without `[measurement]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement: Option<MeasurementSummary>,
    /// Requests and bytes per second of simulated time.
    pub throughput: Throughput,
    /// Results of each tenant, in the order of the config; absent without tenants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<TenantSummary>,
    /// Response times.
    pub response: Responses,
    /// Growth of response times with the run, which happens where requests of an open loop come faster than they are served; absent where
    /// times do not grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<GrowthSummary>,
    /// Codewords that the host read.
    pub codeword_reads: CodewordReads,
    /// Codewords written.
    pub writes_detail: WritesDetail,
    /// Operations of flash, buses and decoders, whatever their cause.
    pub operations: Operations,
    /// Energy of the operations.
    pub energy: EnergySummary,
    /// Work of planes that was not the host's, by its cause; causes are in a fixed order. Absent where there was no such work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundWork>,
    /// Garbage collection.
    pub gc: GcSummary,
    /// P/E cycles of blocks at the end; absent where no block was erased and wear is not levelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearSummary>,
    /// Read reclaim; `null` without it.
    pub read_reclaim: Option<ReadReclaimSummary>,
    /// Losses of power; absent where power does not fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_loss: Option<PowerLossSummary>,
    /// Bad blocks; absent where the config has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bad_blocks: Option<BadBlocksSummary>,
    /// Copyback; absent without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copyback: Option<CopybackSummary>,
    /// Refresh, by age or because a scrub asks for it; absent without refresh and scrub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshSummary>,
    /// Patrol scrub; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubSummary>,
    /// The SLC cache; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCacheSummary>,
    /// Parity across dies; absent without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parity: Option<ParitySummary>,
    /// The read buffer; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_buffer: Option<ReadBufferSummary>,
    /// Reading ahead; absent without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<ReadAheadSummary>,
    /// The mapping cache; `null` where the whole map is in memory.
    pub mapping: Option<MappingSummary>,
    /// Encoders; `null` where encoding takes no time.
    pub encoder: Option<EncoderSummary>,
    /// The pace of writes; absent where writes are not paced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_pacing: Option<WritePacingSummary>,
    /// The link to the host; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_link: Option<HostLinkSummary>,
    /// Counts of the schedule's choices; absent without `[scheduling]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<SchedulingSummary>,
    /// The controller's DRAM; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dram: Option<DramSummary>,
    /// Links and the switch; `null` without them.
    pub interconnect: Option<InterconnectSummary>,
    /// Code rates; `null` unless `reliability` is `adaptive`.
    pub code_rates: Option<CodeRatesSummary>,
    /// Mean busy shares of resources.
    pub utilisation: Utilisation,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The warm-up of a run.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct MeasurementSummary {
    /// Whether the warm-up ended before the run did; if not, all numbers are of the warm-up.
    pub warmed_up: bool,
    /// Requests that had completed when the warm-up ended; `null` if it did not end.
    pub warmup_requests: Option<u64>,
    /// Simulated time of the warm-up, s; `null` if the warm-up did not end.
    pub warmup_s: Option<f64>,
    /// Whether the drive was in its steady state when the warm-up ended; `null` if the config does not ask for it, or it was never reached.
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
    /// Mean busy share of the encoders.
    pub utilisation: f64,
}

/// The link between host and device.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct HostLinkSummary {
    /// Rate of data in each direction of the link, GB/s.
    pub gb_per_s: f64,
    /// Mean busy share of the device's end of the link, which takes commands in.
    pub commands: f64,
    /// Mean busy share of the direction to the device, which carries data that is written.
    pub to_device: f64,
    /// Mean busy share of the direction to the host, which carries data that was read.
    pub to_host: f64,
}

/// Results of `host.write_pacing`.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct WritePacingSummary {
    /// Share of the allowed pace that writes used.
    pub utilisation: f64,
}

/// Growth of response times with the run. It is reported where two conditions hold. The mean response grows from the first third of the
/// requests to the second, and from the second to the third, by at least 1 % of the time that passes. And at least 100 requests are under
/// way at once in the last third.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct GrowthSummary {
    /// Mean response times of the three thirds of the requests, in the order in which they completed, us.
    pub thirds_mean_us: [f64; 3],
    /// Growth of the mean response over the time that passes, the smaller of the two steps: 1 - 1 / rho for rho times the load that can be
    /// served.
    pub rate: f64,
    /// Mean number of requests under way at once in the last third, including those that wait at the host.
    pub waiting: f64,
}

/// Counts of how the schedule chose among operations that waited for a busy unit.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct SchedulingSummary {
    /// Operations that had waited for their unit when they began; retries are not counted.
    pub chosen: u64,
    /// Chosen operations that had been passed over as often as is allowed.
    pub had_waited_enough: u64,
    /// Most times that a chosen operation had been passed over.
    pub most_passed_over: u32,
    /// Chosen operations whose deadline was near; absent without deadlines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_deadline: Option<u64>,
    /// Reads of the host that completed after their deadline; absent without deadlines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_deadlines: Option<u64>,
    /// The schedule of transfers that waited for a bus; absent unless `scheduling.bus` has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<BusSchedulingSummary>,
}

/// Counts of how the schedule chose among transfers that waited for a bus.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct BusSchedulingSummary {
    /// Transfers that had waited for their bus when they began.
    pub chosen: u64,
    /// Chosen transfers that had been passed over as often as is allowed.
    pub had_waited_enough: u64,
    /// Most times that a chosen transfer had been passed over.
    pub most_passed_over: u32,
}

/// The controller's DRAM.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct DramSummary {
    /// Rate of data through the port, GB/s.
    pub gb_per_s: f64,
    /// The mean busy share of the port.
    pub utilisation: f64,
    /// Data that crossed the port from or to the host, bytes.
    pub host_bytes: u64,
    /// Data that crossed the port from or to flash, whatever the cause, bytes.
    pub flash_bytes: u64,
    /// Map entries that crossed the port, bytes.
    pub map_bytes: u64,
}

/// The switch, and the links between SSDs and a pool of decoders or encoders. Busy shares of links are means over all SSDs.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct InterconnectSummary {
    /// Mean time of a codeword read on link and switch, waiting included, us. It is part of `wait_decoder`; `null` where nothing was read.
    pub mean_us: Option<f64>,
    /// Mean busy share of links in the direction from SSDs.
    pub link_from_ssds: f64,
    /// Mean busy share of links in the direction to SSDs.
    pub link_to_ssds: f64,
    /// Mean busy share of the switch in the direction to decoders.
    pub switch_to_decoders: f64,
    /// Mean busy share of the switch in the direction from encoders.
    pub switch_from_encoders: f64,
}

/// Code rates of blocks at the end.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CodeRatesSummary {
    /// Blocks (superblocks, with interleaved codewords) that use each rate, from the rate of the start on.
    pub blocks: Vec<u64>,
    /// Erases after which a block had a stronger code because of its decodes; `null` where rates follow P/E cycles.
    pub to_stronger: Option<u64>,
    /// Erases after which a block had a weaker code because of its decodes; `null` where rates follow P/E cycles.
    pub to_weaker: Option<u64>,
}

/// Costs of a simulation on the computer that ran it.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct MachineSummary {
    /// Wall time from opening the trace to the last completion, without set-up, s.
    pub wall_s: f64,
    /// Wall time of building and preconditioning the device, s.
    pub setup_s: f64,
    /// Completed requests per second of `wall_s`.
    pub requests_per_s: f64,
    /// Largest resident set of the process so far, bytes; `null` where the system does not say.
    pub peak_rss_bytes: Option<u64>,
    /// Costs of asking policies and rules of the user's own; absent without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnSummary>,
}

/// References of reads.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct ReferencesSummary {
    /// References of hard decisions, as in `read.references`; `cells` for a policy that knows the level.
    pub hard: HardReferences,
    /// References of soft levels after retries of hard decisions, as in `read.soft_references`.
    pub soft: SoftReferences,
    /// Whether a policy of the user's own has asked for references `cells` by itself.
    pub own_cells: bool,
    /// Whether the first hard decision of a read, or a step of such a policy, uses references that follow the true age of the data.
    pub follow_age: bool,
}

impl ReferencesSummary {
    /// # Arguments
    /// - `own_cells`: whether a policy of the user's own has asked for references `cells`.
    pub(crate) fn new(spec: &ReadSpec, reliability: &Reliability, own_cells: bool) -> Option<Self> {
        let cells = reliability.cells()?;
        let spec = spec.with_what_is_known(reliability);
        let at_cells = own_cells || spec.first_references() == ReferencesAt::Cells;
        let hard = if spec.policy.knows_level() { HardReferences::Cells } else { spec.references };
        let follow_age = at_cells && cells.references.tracked;
        Some(Self { hard, soft: spec.soft_references, own_cells, follow_age })
    }
}

/// Costs of asking a policy or rule of the user's own.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OwnSummary {
    /// Name of the policy or rule in the config.
    pub name: String,
    /// Decisions that were asked for before the run; `null` where decisions are asked for during the run.
    pub tabulated: Option<u64>,
    /// Number of times that the policy or rule was asked during the run.
    pub calls: u64,
    /// Wall time of these calls, s; 0 where they are too quick to be measured, as compiled code is.
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
    /// Response times of reads.
    pub read: ResponseSummary,
    /// Response times of writes.
    pub write: ResponseSummary,
    /// Response times of flushes; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<ResponseSummary>,
    /// Response times of all requests, including trims and flushes.
    pub all: ResponseSummary,
}

/// Requests and bytes over the time from the first arrival to the last completion. Rates are `null` if this time is 0.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Throughput {
    /// Time from the first arrival to the last completion, s.
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
    /// Mean number of requests in flight over `span_s`, including those that wait at the host. By Little's law it is the requests per s
    /// times their mean response. In a closed loop it is the queue depth, except at the end, where no request follows.
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
    /// Codewords read from flash.
    pub count: u64,
    /// Mean time from the request for a codeword to its decoding, us; the parts of `time_us` add up to it.
    pub mean_us: Option<f64>,
    /// The parts of this time.
    pub time_us: ReadTimeUs,
    /// The parts of the time for all reads, and for the slowest hundredth and thousandth; empty where nothing was read.
    pub slowest: Vec<SlowestReads>,
    /// Mean time of the sensing, transfer and decoding of all attempts, us: without waiting, look-ahead and translation pages.
    pub service_us: Option<f64>,
    /// Codewords by the level of their last attempt: 1, 2, ...
    pub level_histogram: Vec<u64>,
    /// Codewords that were divided among several chips.
    pub interleaved: u64,
    /// Codewords that lie in two pages of a block, because parity takes room of the data.
    pub crossing: u64,
    /// Codewords whose first attempt was above level 1.
    pub soft_starts: u64,
    /// Attempts at all codewords.
    pub attempts: u64,
    /// Codewords that no level decoded.
    pub uncorrectable: u64,
    /// Codewords that were decoded to another word than was written, which the controller does not notice; `null` unless `reliability` is
    /// `exact`.
    pub undetected: Option<u64>,
    /// Codewords whose raw bit error rate is beyond their decode table, so that their outcome is a guess from the table's nearest point;
    /// `null` without decode tables.
    pub beyond_table: Option<u64>,
    /// Codewords that garbage collection or a read-modify-write could not decode.
    pub uncorrectable_in_background: u64,
    /// Codewords read from controller memory, where they were buffered or on their way to flash.
    pub from_controller: u64,
    /// Codewords that were never written, so that there was nothing to read.
    pub unmapped: u64,
}

/// Mean time of a codeword read, by its parts, us; `null` where nothing was read.
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

/// The slowest codeword reads. The codewords that one read of pages reads for the host at once are ranked by their mean time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SlowestReads {
    /// The share of reads that counts as slowest.
    pub share: f64,
    /// Number of these reads. Reads whose times fall into one bucket are counted together.
    pub count: u64,
    /// Time of the quickest of these reads, us.
    pub from_us: f64,
    /// Mean time of these reads, us; the parts of `time_us` add up to it.
    pub mean_us: f64,
    /// The parts of the mean time.
    pub time_us: ReadTimeUs,
    /// The operations that `wait_plane` was spent on; the times add up to it.
    pub wait_plane_for_us: WaitPlaneForUs,
    /// The part of `wait_plane` that was not the host's, by its cause; absent where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wait_plane_by_cause: Vec<WaitForCause>,
}

/// Mean time for which a codeword read waited for its plane, or die, while that was busy for one cause.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct WaitForCause {
    /// The cause.
    pub cause: Cause,
    /// The waiting time, us.
    pub us: f64,
}

/// Work of planes for one cause, up to the last completion.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct BackgroundWork {
    /// The cause.
    pub cause: Cause,
    /// Pages read; a page counts once, however often it was sensed.
    pub page_reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Codewords programmed in these pages.
    pub codewords: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Busy time of all planes (or dies whose planes take turns) for this cause, s. In rounds it includes the time for which a unit waits
    /// for the others of its round.
    pub array_s: f64,
    /// Share of this cause in the busy time of planes; `null` where planes were never busy.
    pub array_share: Option<f64>,
    /// Codewords programmed over those that the host has written to flash: the cause's part of write amplification; `null` without writes.
    pub write_amplification: Option<f64>,
}

impl BackgroundWork {
    /// Lists the work of each cause for which anything was done.
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
    /// Finds the slowest share of reads; `None` where nothing was read.
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

/// Mean time for which a codeword read waited for its plane, or die, by the operation that kept that busy, us.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct WaitPlaneForUs {
    /// Other reads of the host, including reads of map entries and of codewords that the host overwrites in part.
    pub host_reads: f64,
    /// Reads of garbage collection and read reclaim, and of translation pages that are written back.
    pub background_reads: f64,
    /// Programs of the host's data, with the wait for the bus and the transfer to the plane.
    pub host_programs: f64,
    /// Programs of data that garbage collection and read reclaim move, and of translation pages.
    pub background_programs: f64,
    /// Erases.
    pub erases: f64,
}

/// Codewords written.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WritesDetail {
    /// Codewords written by the host.
    pub host_codewords: u64,
    /// Codewords of the host that were overwritten in the write buffer before they were programmed.
    pub coalesced_codewords: u64,
    /// Codewords written by garbage collection.
    pub gc_codewords: u64,
    /// Translation pages written, except for those that garbage collection moved.
    pub translation_codewords: u64,
    /// Places in programmed pages that were left empty.
    pub padding_codewords: u64,
    /// Codewords that fit into all programmed pages, over codewords written by the host; `null` without writes.
    pub write_amplification: Option<f64>,
    /// Codewords read because a write covered them in part.
    pub read_modify_writes: u64,
    /// Codewords that the write buffer held in part until other writes brought the rest, so that nothing was read; absent unless
    /// `host.partial_write` is `merge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_codewords: Option<u64>,
    /// Codewords of the host that were refused because no room was left: code rates were lower, or dies or blocks had failed.
    pub refused_codewords: u64,
    /// Simulated time at which the first codeword was refused, s; `null` if none was. From then on the device, or one of several SSDs,
    /// takes only reads and trims, until trims have made room.
    pub read_only_from_s: Option<f64>,
    /// Codewords in the write buffer at the end: accepted, but not in flash. It is 0 unless the run was interrupted or there is no room
    /// left.
    pub left_in_buffer_codewords: u64,
    /// Data that the flash has room for at the end with the code rates of its blocks, including spare capacity, bytes.
    pub data_capacity_bytes: u64,
}

/// Garbage collection.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GcSummary {
    /// Victim blocks.
    pub blocks_reclaimed: u64,
    /// Mean share of valid data in victim blocks when they were chosen.
    pub mean_valid_fraction: Option<f64>,
    /// Victim blocks that were chosen to level wear.
    pub blocks_to_level_wear: u64,
    /// Erases of the block with the fewest, since the start of the run, whatever their cause.
    pub least_erases: u32,
    /// Erases of the block with the most, since the start of the run, whatever their cause.
    pub most_erases: u32,
    /// Most sensings of a block between two of its erases, all within the run; `null` where reads disturb no cells.
    pub most_block_reads: Option<u64>,
    /// Free blocks when the run, or its measured part, began.
    pub free_blocks_at_start: u64,
    /// Free blocks at the last completion.
    pub free_blocks_at_end: u64,
    /// Whether programs took at least 5 % of the free blocks, and more than a ninth of the blocks that erases freed. Then the drive was not
    /// in its steady state, and numbers of writes are those of a drive with room.
    pub used_up_room: bool,
    /// Pacing of collection; absent where collection is not paced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<GcPacingSummary>,
}

/// P/E cycles of blocks at the end, including those before the run. Blocks that are erased together count as one.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct WearSummary {
    /// P/E cycles of the least worn block.
    pub least_pe_cycles: u32,
    /// Mean P/E cycles of the blocks.
    pub mean_pe_cycles: f64,
    /// P/E cycles of the most worn block.
    pub most_pe_cycles: u32,
    /// Largest difference between the most and the least P/E cycles within one plane. Planes that are written together count as one.
    pub widest_plane_spread: u32,
    /// Bound on this difference that `ftl.wear_levelling_spread` sets; `null` where wear is not levelled.
    pub levelled_to: Option<u32>,
}

/// Pacing of garbage collection.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GcPacingSummary {
    /// Number of times that a collection which had begun was told to pause.
    pub pauses: u64,
    /// Steps that collection took because free blocks were down to the reserve, whatever the rule said.
    pub at_reserve: u64,
    /// Blocks that were collected because the host did not use their plane.
    pub idle_blocks: u64,
    /// Fewest free blocks of a plane while the host was programming in it; `null` where the host programmed nothing.
    pub least_free_blocks: Option<u32>,
    /// Mean number of free blocks of a plane while the host was programming in it, including the free share of the open block.
    pub mean_free_blocks: Option<f64>,
}

/// Read reclaim: data that is moved before reads have disturbed it too much.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReadReclaimSummary {
    /// Blocks whose data was moved, and that were erased.
    pub blocks: u64,
    /// Wordlines moved.
    pub wordlines: u64,
    /// Codewords moved, including those of wordlines whose reclaim found no room and ended.
    pub codewords: u64,
    /// Controller memory for the read counters, bytes a block.
    pub counter_bytes_per_block: u32,
}

/// Losses of power.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct PowerLossSummary {
    /// Number of losses.
    pub losses: u64,
    /// Acknowledged codewords, or parts of codewords, that are lost.
    pub lost_codewords: u64,
    /// Mean time for which the device was away after a loss, us; `null` without one.
    pub mean_away_us: Option<f64>,
    /// Longest time for which the device was away after a loss, us.
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
    /// Blocks in which an erase or a program has failed in the run, and which were replaced by spares or retired.
    pub grown: u64,
    /// Grown bad blocks in which a program has failed.
    pub grown_by_programs: u64,
    /// Blocks in which a program has failed, but which still hold data.
    pub to_be_replaced: u64,
    /// Programs of pages that failed.
    pub failed_programs: u64,
    /// Codewords whose program failed, and which were programmed again or are in the controller's memory.
    pub codewords_programmed_again: u64,
    /// Spares that are left at the end, in all planes.
    pub spares_left: u64,
    /// Spares that are left in the plane that has the fewest.
    pub fewest_spares_of_plane: u32,
    /// Blocks that are no longer written, as their plane had no spare left. Blocks that are erased together count as one.
    pub retired: u64,
}

/// Copyback: moving data within its plane.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct CopybackSummary {
    /// Pages copied.
    pub pages: u64,
    /// Share of copied pages among all pages programmed with moved data; `null` where no data was moved.
    pub share: Option<f64>,
}

/// Refresh: moving data before it is too old, or because a scrub found that it needs refresh.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct RefreshSummary {
    /// Blocks whose data was moved, and that were erased. Blocks that are erased together count as one.
    pub blocks: u64,
    /// Refreshed blocks that a scrub had found.
    pub blocks_for_scrub: u64,
    /// Blocks whose refresh began after their data was too old.
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
    /// Codewords that were above the limit `ftl.scrub.refresh_above`.
    pub codewords_above: u64,
    /// Codewords that no level decoded and that were rebuilt by parity.
    pub codewords_recovered: u64,
    /// Codewords that are lost: no level decoded them, and there is no parity that rebuilds them.
    pub codewords_uncorrectable: u64,
    /// Blocks found to need refresh. Blocks that are erased together count as one.
    pub blocks_found: u64,
    /// Rounds of the device that are due by the end.
    pub rounds: f64,
    /// Share of the pages whose turn has come that have not been read, because the host was at work; `null` where no turn has come.
    pub behind: Option<f64>,
}

/// The SLC cache.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SlcCacheSummary {
    /// Codewords of the host that were programmed to the cache.
    pub cached_codewords: u64,
    /// Codewords of the host that were programmed past the cache.
    pub direct_codewords: u64,
    /// Codewords that folding has programmed.
    pub folded_codewords: u64,
    /// Share of the cache in the codewords programmed for the host; `null` where none were programmed.
    pub cached_share: Option<f64>,
    /// Codewords programmed for the host over those that it wrote; `null` without writes. This part of write amplification is below 1
    /// where a write buffer coalesces.
    pub host_write_amplification: Option<f64>,
    /// Codewords programmed by folding over those that the host wrote; `null` without writes.
    pub fold_write_amplification: Option<f64>,
    /// Codewords programmed by garbage collection over those that the host wrote; `null` without writes.
    pub gc_write_amplification: Option<f64>,
    /// Codewords of the host's reads that were read from the cache.
    pub codewords_read: u64,
    /// Share of the cache in all codewords that the host read from flash; `null` where there were none.
    pub read_share: Option<f64>,
    /// Blocks that were chosen to be folded. Blocks that are erased together count as one.
    pub blocks_folded: u64,
    /// Blocks that were chosen to be folded in idle time.
    pub blocks_folded_in_idle_time: u64,
    /// Data that the cache's blocks have room for at the end, bytes; free blocks that the cache might take do not count.
    pub capacity_bytes: u64,
    /// Valid data in the cache at the end, bytes.
    pub valid_bytes: u64,
}

/// Parity across dies. Codewords that parity could not rebuild are the uncorrectable codewords of `codeword_reads`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParitySummary {
    /// Data pages of a stripe.
    pub data_pages: u32,
    /// Codewords of the host's reads that no level decoded, and that were rebuilt.
    pub recovered: u64,
    /// Codewords of other reads that no level decoded, and that were rebuilt.
    pub recovered_in_background: u64,
    /// Pages that were read to rebuild codewords of other pages.
    pub recovery_reads: u64,
    /// Parity pages programmed.
    pub programs: u64,
    /// Controller memory for the parity of all stripes that can be incomplete at once, bytes.
    pub xor_buffer_bytes: u64,
    /// Expected uncorrectable bit error rate of reads at the end, by the codes of the codewords alone; `null` where it is unknown.
    pub expected_uber_by_code: Option<f64>,
    /// Expected uncorrectable bit error rate with parity, if codewords of a stripe fail independently of one another.
    pub expected_uber: Option<f64>,
}

/// Energy of operations, uJ.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EnergySummary {
    /// Sensing with hard decision.
    pub sense_uj: f64,
    /// Sensing extra levels.
    pub sense_extra_levels_uj: f64,
    /// Transfers to decoders.
    pub transfer_uj: f64,
    /// Programs, including the transfer of their data over the bus.
    pub program_uj: f64,
    /// Erases.
    pub erase_uj: f64,
    /// Decodes.
    pub decode_uj: f64,
    /// Sum of all operations.
    pub total_uj: f64,
    /// Energy that was saved because a RESET cut sensings short.
    pub cut_short_uj: f64,
    /// Mean energy of a host read; `null` without reads.
    pub mean_read_uj: Option<f64>,
    /// Mean energy of a host write, including the reads of codewords that it covers in part, without garbage collection; `null` without
    /// writes.
    pub mean_write_uj: Option<f64>,
    /// Energy of garbage collection and read reclaim: their reads, programs and erases.
    pub background_uj: f64,
    /// Energy of all operations over the number of completed requests; `null` without any.
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
    /// Codewords of reads that were in the buffer.
    pub hits: u64,
    /// Codewords of reads that were in flash and not in the buffer.
    pub misses: u64,
    /// Hits over hits and misses; `null` without any.
    pub hit_ratio: Option<f64>,
    /// Pages that were missed and not taken in; absent where the buffer takes all pages in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_pages: Option<u64>,
    /// Codewords of missed pages that no request had asked for; `codeword_reads` counts them, too.
    pub along: u64,
    /// Codewords covered by a write in part that were in the buffer.
    pub modify_hits: u64,
    /// Codewords covered by a write in part that were not in the buffer.
    pub modify_misses: u64,
}

/// Reading ahead of sequential reads.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReadAheadSummary {
    /// Pages that were read ahead.
    pub pages: u64,
    /// Pages read ahead that a request asked for later.
    pub used_pages: u64,
    /// Pages read ahead that no request asked for: they have left the read buffer, or are in it at the end.
    pub wasted_pages: u64,
    /// Codewords that were asked for while they were being read ahead, and waited for the rest of that read.
    pub late_codewords: u64,
    /// Mean time for which late codewords waited, us; `null` where none was late.
    pub mean_late_us: Option<f64>,
}

/// The mapping cache of a demand-based FTL.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MappingSummary {
    /// Number of entries that the cache has room for.
    pub entries: u32,
    /// Codewords of requests whose entry was in the cache.
    pub hits: u64,
    /// Codewords of requests whose entry was not in the cache.
    pub misses: u64,
    /// Hits over hits and misses; `null` without any.
    pub hit_ratio: Option<f64>,
    /// Codewords of reads whose entry was in the cache.
    pub read_hits: u64,
    /// Codewords of reads whose entry was not in the cache.
    pub read_misses: u64,
    /// Hits of reads over hits and misses of reads; `null` without any.
    pub read_hit_ratio: Option<f64>,
    /// Entries that reads needed and that were not taken in; absent where the cache takes all entries in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_entries: Option<u64>,
    /// Entries that were evicted.
    pub evictions: u64,
    /// Evicted entries that had changed.
    pub dirty_evictions: u64,
    /// Translation pages read, for requests or to be updated.
    pub translation_reads: u64,
    /// Translation pages programmed, except for those that garbage collection moved.
    pub translation_programs: u64,
    /// Updates of translation pages that found no room because of lower code rates.
    pub refused_write_backs: u64,
}
