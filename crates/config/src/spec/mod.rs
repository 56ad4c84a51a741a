//! The configuration of a run: every field, its unit, its default and its check. TOML is for people; the JSON schema is
//! generated from these structs.
//!
//! Each station of the device has a file here with its spec, its defaults, its ranges, and its description for people.
//! Checks that involve several stations are in [`crate::checked`].

mod admission;
mod bad_blocks;
mod bus;
mod copyback;
mod decoder;
mod dram;
mod encoder;
mod energy;
mod failures;
mod flash;
mod ftl;
mod gc_pacing;
mod geometry;
mod host;
mod host_link;
mod interconnect;
mod interleaving;
mod issue;
mod maintenance;
mod mapping;
mod measurement;
mod parity;
mod power_loss;
mod precondition;
pub(crate) mod read;
mod read_ahead;
mod read_reclaim;
mod rounds;
mod scheduling;
pub(crate) mod set;
mod shipped;
mod slc_cache;
mod spread;
mod tenants;
mod write_buffer;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Faults, Result, canonical, check_ranges, schema_of};
use softsense_ecc::catalogue::Code;
use softsense_link::{ReadSpec, ReliabilitySpec};
use softsense_requests::workload::WorkloadSpec;

pub use admission::CacheAdmission;
pub use bad_blocks::{BadBlocksSpec, EraseFailureSpec, ProgramFailureSpec};
pub use bus::{BusFirst, BusSpec};
pub use copyback::{CopybackEcc, CopybackSpec};
pub use decoder::{BchDecoderSpec, BchLane, BypassSpec, DecodeTime, DecoderPlacement, DecoderSpec, LdpcDecoderSpec};
pub use dram::{DramSpec, DramSpeed};
pub use encoder::EncoderSpec;
pub use energy::{DecoderEnergy, EnergySpec};
pub use failures::DieFailureSpec;
pub use flash::{BusyUnit, CacheRegisterFor, FlashSpec, PageTiming, PageTypeSpec, SuspendSpec};
pub use ftl::{AllocationPool, FtlSpec, PlaneChoice, StripeLevel, VictimSpec};
pub use gc_pacing::{GcIdleSpec, GcPacing};
pub use geometry::{GeometrySpec, MAX_BLOCKS, MAX_CODEWORDS, MAX_INDEX, MIN_CODEWORD_BYTES};
pub use host::{
    HostSpec, PartialWrite, ReadBufferSpec, ReadBufferTakes, ReadReplacement, ServiceSpec, Spread, WritePacingSpec,
};
pub use host_link::{HostLinkSpec, LinkSpeed};
pub use interconnect::{InterconnectSpec, LinkSpec};
pub use interleaving::{InterleavedGroups, InterleavingSpec, Remainder};
pub use issue::Issue;
pub use maintenance::{RefreshSpec, ScrubLimit, ScrubSpec, ScrubWhen};
pub use mapping::{DemandSpec, Eviction, Mapping};
pub use measurement::{MeasurementSpec, Warmup};
pub use parity::ParitySpec;
pub use power_loss::{PowerLossScan, PowerLossSpec};
pub use precondition::{Layout, PreconditionSpec, SsdAge, TranslationPages};
pub use read_ahead::ReadAheadSpec;
pub use read_reclaim::{ReadReclaimSpec, WordlineReclaimSpec};
pub use rounds::{RoundsAmong, RoundsReads, RoundsSpec, RoundsTake};
pub use scheduling::{
    DeadlinesSpec, IntensitySpec, KindsRule, OperationKind, PrioritiesRule, ScheduleBy, SchedulingSpec,
};
pub(crate) use shipped::{SHIPPED, about};
pub use slc_cache::{SlcCacheSize, SlcCacheSpec, SlcCellsSpec, WhenFull};
pub use spread::{AddedTime, SpreadPart};
pub use tenants::{ArbitrationScheme, ArbitrationSpec, Namespace, Priority, TenantSpec, TenantTrace, within};
pub use write_buffer::{WatermarksSpec, WriteBufferReplacement};

/// The version of the model, which changes whenever the same config gives other numbers.
pub const MODEL_VERSION: u32 = 21;

/// The config of a run, except for its trace. The defaults are those of `configs/mlc-25nm.toml`, without its workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "softsense config")]
pub struct Config {
    /// Seed of every random stream. The same seed gives the same run on every CPU.
    pub seed: u64,
    /// The numbers of channels, chips, planes, blocks and pages, and the size of a codeword.
    pub geometry: GeometrySpec,
    /// Timing of the flash array.
    pub flash: FlashSpec,
    /// Timing of the channel buses.
    pub bus: BusSpec,
    /// The decoders.
    pub decoder: DecoderSpec,
    /// The encoders. Without this field encoding takes no time.
    pub encoder: Option<EncoderSpec>,
    /// Links and a switch between SSDs and a pool of decoders or encoders. Without this field codewords cross in no time.
    pub interconnect: Option<InterconnectSpec>,
    /// The model that decides whether reads succeed: `"perfect"`, `{ fixed = ... }`, `{ table = ... }`, `{ adaptive = ... }`,
    /// `{ bch = ... }` or `{ exact = ... }`.
    pub reliability: ReliabilitySpec,
    /// The read policy, by which codewords are sensed and retried.
    pub read: ReadSpec,
    /// The flash translation layer and its garbage collection.
    pub ftl: FtlSpec,
    /// Energy of operations.
    pub energy: EnergySpec,
    /// The way in which requests are issued, the host link, and the controller's memory.
    pub host: HostSpec,
    /// The schedule: the rules that choose which of the operations that wait for a busy unit goes next. Without this field reads of the
    /// host may go first, and all other operations are first come, first served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<SchedulingSpec>,
    /// Losses of power. Without this field power does not fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_loss: Option<PowerLossSpec>,
    /// The state in which the device starts.
    pub precondition: PreconditionSpec,
    /// The synthetic workload that is run when no trace is given.
    pub workload: Option<WorkloadSpec>,
    /// The part of the run that is measured. Without this field the whole run is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement: Option<MeasurementSpec>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            geometry: GeometrySpec::default(),
            flash: FlashSpec::default(),
            bus: BusSpec::default(),
            decoder: DecoderSpec::default(),
            encoder: None,
            interconnect: None,
            reliability: ReliabilitySpec::default(),
            read: ReadSpec::default(),
            ftl: FtlSpec::default(),
            energy: EnergySpec::default(),
            host: HostSpec::default(),
            scheduling: None,
            power_loss: None,
            precondition: PreconditionSpec::default(),
            workload: None,
            measurement: None,
        }
    }
}

impl Config {
    /// Checks each station by itself.
    pub(crate) fn check(&self) -> Result<()> {
        let mut faults = Faults::default();
        faults.see(self.geometry.check());
        faults.see(self.flash.check());
        faults.see(self.decoder.check());
        faults.see(self.ftl.check());
        faults.see(self.host.check(self.geometry.page_bytes()));
        faults.see(self.scheduling.as_ref().map_or(Ok(()), SchedulingSpec::check));
        faults.see(self.power_loss.as_ref().map_or(Ok(()), PowerLossSpec::check));
        faults.see(self.precondition.check());
        faults.see(self.workload.as_ref().map_or(Ok(()), WorkloadSpec::check_together));
        // A number that is out of its range by itself is not also told to be out of it beside others.
        let Err(outside) = check_ranges("", self) else { return faults.end() };
        let is_told = |place: &str| outside.faults().any(|fault| fault.place().starts_with(place));
        let mut all = Faults::default();
        all.add(outside.clone());
        if let Err(others) = faults.end() {
            others.faults().filter(|fault| !is_told(fault.place())).for_each(|fault| all.add(fault.clone()));
        }
        all.end()
    }

    /// Returns the same config with the shipped spelling of names of codes, tables and cells.
    #[must_use]
    pub(crate) fn in_own_names(mut self, directory: &Path) -> Self {
        self.reliability = self.reliability.in_own_names(directory);
        if let DecodeTime::Ldpc(ldpc) = &mut self.decoder.time {
            ldpc.code = canonical(&ldpc.code, Code::names(), directory).to_owned();
        }
        self
    }
}

/// The JSON schema of [`Config`]. Its `$id` has the version, because a version may add fields.
pub fn schema() -> String {
    // A `Schema` writes what describes a thing before what is in it.
    let mut schema = schemars::Schema::try_from(schema_of::<Config>().clone()).expect("it was one");
    schema.insert("$id".to_owned(), concat!("urn:softsense:config:", env!("CARGO_PKG_VERSION")).into());
    serde_json::to_string_pretty(&schema).expect("a schema is plain data") + "\n"
}
