//! The configuration of a run: every field, its unit, its default and its check. TOML is for people; the JSON schema is
//! generated from these structs.
//!
//! Each station of the device has a file here with its spec, the defaults, the ranges, and how it is told to people. What cannot
//! be said of one station alone stands above, in [`crate::checked`].

mod bus;
mod decoder;
mod duration;
mod energy;
mod flash;
mod ftl;
mod geometry;
mod host;
mod interleaving;
mod mapping;
mod precondition;
mod read;
mod set;
mod shipped;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::Result;
use softsense_link::{ReadSpec, ReliabilitySpec};

pub use bus::BusSpec;
pub use decoder::{BchDecoderSpec, BypassSpec, DecodeTime, DecoderPlacement, DecoderSpec};
pub use energy::EnergySpec;
pub use flash::{BusyUnit, FlashSpec, PageTypeSpec};
pub use ftl::{FtlSpec, StripeLevel};
pub(crate) use geometry::MIN_CODEWORD_BYTES;
pub use geometry::{GeometrySpec, MAX_BLOCKS, MAX_CODEWORDS};
pub use host::{HostSpec, Issue, PartialWrite, Spread};
pub use interleaving::{InterleavedGroups, InterleavingSpec, Remainder};
pub use mapping::{DemandSpec, Eviction, Mapping};
pub use precondition::{Layout, PreconditionSpec};
pub(crate) use shipped::SHIPPED;

use crate::workload::WorkloadSpec;

/// Changes whenever the same config gives other numbers.
pub const MODEL_VERSION: u32 = 6;

/// A whole run but for its trace. The defaults are those of `configs/mlc-25nm.toml`, without its workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "softsense config")]
pub struct Config {
    /// Seed of every random stream. The same seed gives the same run on every CPU.
    pub seed: u64,
    /// How many of everything there are.
    pub geometry: GeometrySpec,
    /// Timing of the flash array.
    pub flash: FlashSpec,
    /// Timing of the channel buses.
    pub bus: BusSpec,
    /// The decoders.
    pub decoder: DecoderSpec,
    /// Whether reads succeed: `"perfect"`, `{ fixed = ... }`, `{ table = ... }`, `{ adaptive = ... }`, `{ bch = ... }` or
    /// `{ exact = ... }`.
    pub reliability: ReliabilitySpec,
    /// How reads are done.
    pub read: ReadSpec,
    /// The flash translation layer and its garbage collection.
    pub ftl: FtlSpec,
    /// What operations cost.
    pub energy: EnergySpec,
    /// How requests are issued, and the controller's memory.
    pub host: HostSpec,
    /// The state the device starts in.
    pub precondition: PreconditionSpec,
    /// The synthetic workload that is run when no trace is given.
    pub workload: Option<WorkloadSpec>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            geometry: GeometrySpec::default(),
            flash: FlashSpec::default(),
            bus: BusSpec::default(),
            decoder: DecoderSpec::default(),
            reliability: ReliabilitySpec::default(),
            read: ReadSpec::default(),
            ftl: FtlSpec::default(),
            energy: EnergySpec::default(),
            host: HostSpec::default(),
            precondition: PreconditionSpec::default(),
            workload: None,
        }
    }
}

impl Config {
    /// Checks each station by itself.
    pub(crate) fn check(&self) -> Result<()> {
        self.geometry.check()?;
        self.flash.check()?;
        self.bus.check()?;
        self.decoder.check()?;
        self.read.check()?;
        self.ftl.check()?;
        self.energy.check()?;
        self.host.check(self.geometry.page_bytes())?;
        self.precondition.check()?;
        self.workload.as_ref().map_or(Ok(()), WorkloadSpec::check)
    }
}

/// The JSON schema of [`Config`].
pub fn schema() -> String {
    let schema = schemars::schema_for!(Config);
    serde_json::to_string_pretty(&schema).expect("a schema is plain data") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is every choice of the schema known as one: a field that is one of at least two things, one of which is a table of one
    /// required field?
    #[test]
    fn choices_are_those_of_the_schema() {
        fn walk(root: &serde_json::Value, schema: &serde_json::Value, path: &str, found: &mut Vec<String>) {
            if let Some(reference) = schema["$ref"].as_str() {
                return walk(root, root.pointer(&reference[1..]).expect("a schema refers to itself"), path, found);
            }
            let alternatives = |key: &str| schema[key].as_array().cloned().unwrap_or_default();
            let of_one = |one: &serde_json::Value| {
                one["properties"].as_object().is_some_and(|fields| fields.len() == 1) && one["required"].is_array()
            };
            if alternatives("oneOf").len() > 1 && alternatives("oneOf").iter().any(of_one) {
                found.push(path.to_owned());
            }
            for alternative in alternatives("oneOf").iter().chain(&alternatives("anyOf")) {
                walk(root, alternative, path, found);
            }
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(root, field, &path, found);
            }
        }
        let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
        let mut found = Vec::new();
        walk(&schema, &schema, "", &mut found);
        found.sort_unstable();
        assert_eq!(found, set::CHOICES);
    }
}
