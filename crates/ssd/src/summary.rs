//! The result of a run, as it is written to `summary.json`.

use schemars::JsonSchema;
use serde::Serialize;
use softsense_base::ResponseSummary;

use crate::simulation::{Operations, Utilisation};

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
    /// Where failure probabilities came from.
    pub reliability: String,
    /// Where the requests came from: `{"trace": ...}` or `{"workload": ...}`.
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
    /// Wall time from opening the trace to the last completion, s. Set-up is not in it.
    pub wall_s: f64,
    /// Wall time of building and preconditioning the device, s.
    pub setup_s: f64,
    /// Requests over `wall_s`.
    pub requests_per_s: f64,
    /// Largest resident set of the process so far, bytes; `null` where the system does not say.
    pub peak_rss_bytes: Option<u64>,
    /// Simulated time of the last completion, s.
    pub simulated_s: f64,
    /// Response times.
    pub response: Responses,
    /// Codewords that the host read.
    pub codeword_reads: CodewordReads,
    /// Codewords written.
    pub writes_detail: WritesDetail,
    /// Operations of flash, buses and decoders, whoever asked for them.
    pub operations: Operations,
    /// Garbage collection.
    pub gc: GcSummary,
    /// Mean busy shares.
    pub utilisation: Utilisation,
}

/// Response times, from arrival to completion.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Responses {
    /// Of reads.
    pub read: ResponseSummary,
    /// Of writes.
    pub write: ResponseSummary,
    /// Of all requests, trims among them.
    pub all: ResponseSummary,
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
    /// How many ended at level 1, 2, ...
    pub level_histogram: Vec<u64>,
    /// Attempts at them.
    pub attempts: u64,
    /// Those that no level decoded.
    pub uncorrectable: u64,
    /// Those that were decoded to another word than was written, which nobody notices; `null` unless `reliability` is
    /// `exact`.
    pub undetected: Option<u64>,
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
    /// Waiting for a decoder, first attempt.
    pub wait_decoder: Option<f64>,
    /// Decoding, first attempt.
    pub decode: Option<f64>,
    /// Everything after the first attempt had failed.
    pub retries: Option<f64>,
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
    /// Places in programmed pages that were left empty.
    pub padding_codewords: u64,
    /// Codewords' worth of pages programmed over codewords written by the host; `null` without writes.
    pub write_amplification: Option<f64>,
    /// Codewords read because a write covered them in part.
    pub read_modify_writes: u64,
}

/// Garbage collection.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GcSummary {
    /// Blocks chosen.
    pub blocks_reclaimed: u64,
    /// Their mean valid fraction when they were chosen.
    pub mean_valid_fraction: Option<f64>,
}
