//! A config that has passed every check, with the results of its stations together: the shape of the device, the reliability of its
//! codewords, and the format of its pages.

mod describe;
mod hardware;
mod own;
mod room;
mod shipped;
mod tenants;
mod together;
mod trace_identity;

use std::ops::Range;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use softsense_base::{Error, ErrorKind, Faults, Result, shipped_or_file};
use softsense_link::{AgedBch, ByAge, Reliability, ReliabilitySpec};
use softsense_requests::workload::WorkloadSpec;

use crate::format::{BlockLayout, PageFormat, UnitCode};
use crate::geometry::Geometry;
use crate::own::Own;
use crate::spec::read::Source;
pub use crate::spec::read::toml_lines;
use crate::spec::set::Override;
pub use crate::spec::set::own_path;
use crate::spec::{
    Config, DecodeTime, MODEL_VERSION, Mapping, PreconditionSpec, SHIPPED, Spread, SsdAge, TenantSpec, TenantTrace,
};
use crate::start_ages::StartAges;

pub use hardware::DecoderHardware;
pub use shipped::{ShippedConfig, shipped_configs};

/// A config that has passed every check, with the directory that its relative paths start from.
#[derive(Debug, Clone)]
pub struct CheckedConfig {
    config: Config,
    directory: PathBuf,
    geometry: Geometry,
    start_ages: StartAges,
    reliability: Reliability,
    own: Own,
}

impl CheckedConfig {
    /// Opens a shipped config by name, or a file; `overrides` as in [`CheckedConfig::from_toml`].
    ///
    /// # Errors
    /// When there is no such config, and the errors of `from_toml`.
    pub fn open(name_or_path: &str, overrides: &[String]) -> Result<Self> {
        let (text, origin) = shipped_or_file(&SHIPPED, name_or_path, Path::new(""), ErrorKind::Io, "a config file")?;
        Self::from_toml(&text, &origin, overrides)
    }

    /// Reads and checks a config. `origin` is its file, for messages and relative paths. `overrides` are `path=value` with a TOML value; a
    /// bare word is taken as a string. A path may name an element of a list, `flash.page_types[1].sense_us`. Values that an override
    /// replaces are not checked.
    ///
    /// # Errors
    /// Names the file and line, or the override, with the config path, the value found and the values expected.
    pub fn from_toml(text: &str, origin: &str, overrides: &[String]) -> Result<Self> {
        let directory = Path::new(origin).parent().map(Path::to_owned).unwrap_or_default();
        Self::read(text, Some(origin), directory, overrides)
    }

    fn read(text: &str, origin: Option<&str>, directory: PathBuf, overrides: &[String]) -> Result<Self> {
        let mut faults = Faults::default();
        let overrides: Vec<_> = overrides.iter().filter_map(|text| faults.see(Override::new(text))).collect();
        let mut source = Source::new(text, origin)?;
        overrides.iter().for_each(|each| _ = faults.see(source.set(each)));
        let config = faults.see(source.config());
        Self::new(faults.end_with(config)?, directory).map_err(|error| error.each(|fault| source.locate(&fault)))
    }

    /// Checks a config; relative paths in it are taken from `directory`.
    ///
    /// # Errors
    /// Names the config path, the value found and the values expected.
    pub fn new(config: Config, directory: PathBuf) -> Result<Self> {
        let config = config.in_own_names(&directory);
        let mut faults = Faults::default();
        faults.see(config.check());
        // The reliability does not depend on the other stations.
        let reliability = faults.see(Reliability::new(&config.reliability, config.seed, &directory));
        let reliability = faults.end_with(reliability)?;
        let geometry = Geometry::new(&config.geometry, &config.flash, &config.ftl)?;
        let start_ages = StartAges::new(&config.precondition, &geometry, config.seed)?;
        let own = Own::default();
        let checked = Self { config, directory, geometry, start_ages, reliability, own };
        checked.check_together()?;
        checked.check_room()?;
        checked.namespaces()?;
        Ok(checked)
    }

    /// Returns the config with some values replaced (see [`CheckedConfig::from_toml`]), without the user's policies and rules.
    pub fn with_overrides(&self, overrides: &[String]) -> Result<Self> {
        Self::read(&self.to_toml(), None, self.directory.clone(), overrides)
    }

    /// Returns a config of the same device for single reads: one SSD, whose map is in memory, and whose first blocks are full of data in
    /// the order of its addresses. Its codewords have the given reliability, and reads may use every level of it.
    ///
    /// # Errors
    /// When its reads need properties that this reliability does not know.
    pub fn for_lone_reads(&self, reliability: Reliability) -> Result<Self> {
        let mut config = self.config.clone();
        config.geometry.ssds = 1;
        config.ftl.mapping = Mapping::Page;
        config.ftl.read_reclaim = None;
        config.ftl.refresh = None;
        config.ftl.scrub = None;
        config.ftl.slc_cache = None;
        config.ftl.parity = None;
        config.host.read_buffer = None;
        config.host.tenants = Vec::new();
        config.host.arbitration = None;
        config.scheduling = None;
        // Every full block takes some wall time at the start of the run. Two in each plane are more than such reads need.
        let users_blocks = f64::from(config.geometry.blocks_per_plane) * (1.0 - config.ftl.over_provisioning);
        let mapped_fraction = (2.0 / users_blocks).min(1.0);
        config.precondition = PreconditionSpec { mapped_fraction, ..PreconditionSpec::default() };
        config.read.max_level = reliability.levels();
        let checked = "it is that of a checked one";
        let geometry = Geometry::new(&config.geometry, &config.flash, &config.ftl).expect(checked);
        let start_ages = StartAges::new(&config.precondition, &geometry, config.seed).expect(checked);
        let (directory, own) = (self.directory.clone(), self.own.clone());
        let lone = Self { config, directory, geometry, start_ages, reliability, own };
        lone.check_clashes()?;
        Ok(lone)
    }

    /// Returns the config itself.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the directory that the config's relative paths start from.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the shape of the device.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the ages of blocks and data before the run.
    pub fn start_ages(&self) -> &StartAges {
        &self.start_ages
    }

    /// Returns the reliability of the codewords.
    pub fn reliability(&self) -> &Reliability {
        &self.reliability
    }

    /// Lists the ages in `precondition` that nothing depends on, by their paths: runs at other ages give the same numbers. Where reads
    /// never look at flash, default ages are not listed.
    pub fn idle_ages(&self) -> Vec<&'static str> {
        let (start, usual) = (&self.config.precondition, PreconditionSpec::default());
        let looks = self.reliability.needs_age();
        let has = |of: fn(SsdAge) -> f64, usual: f64| {
            let alone = start.age();
            let ages = if start.ssds.is_empty() { std::slice::from_ref(&alone) } else { &start.ssds };
            ages.iter().any(|&age| of(age) != 0.0 && (looks || of(age) != usual))
        };
        let wears_out = self.config.flash.bad_blocks.is_some();
        let is_kept = self.config.ftl.refresh.is_some() || self.config.ftl.scrub.is_some();
        let mut idle = Vec::new();
        if !wears_out && !self.reliability.needs_pe_cycles() && has(|age| age.pe_cycles.into(), usual.pe_cycles.into())
        {
            idle.push("precondition.pe_cycles");
        }
        if !is_kept && !self.reliability.needs_retention() && has(|age| age.retention_days, usual.retention_days) {
            idle.push("precondition.retention_days");
        }
        let counts_reads = self.config.ftl.read_reclaim.is_some() || self.reliability.read_disturb().is_some();
        if !counts_reads && has(|age| age.block_reads, usual.block_reads) {
            idle.push("precondition.block_reads");
        }
        idle
    }

    /// Whether several users share the device.
    pub fn has_tenants(&self) -> bool {
        !self.config.host.tenants.is_empty()
    }

    /// Returns the synthetic workload.
    ///
    /// # Errors
    /// When the config has none.
    pub fn workload(&self) -> Result<&WorkloadSpec> {
        self.config.workload.as_ref().ok_or_else(|| {
            Error::config(
                "workload",
                "missing, expected a [workload] section in the config, or a trace to replay (--trace FILE)",
            )
        })
    }

    /// Returns labels and values of the synthetic workload, or of the tenants, to be shown to people.
    ///
    /// # Errors
    /// When the config has none, or it does not fit the device.
    pub fn describe_workload(&self) -> Result<Vec<(String, String)>> {
        if self.has_tenants() {
            let tenants = self.config.host.tenants.iter().zip(self.namespaces()?);
            let row = |(tenant, bytes): (&TenantSpec, Range<u64>)| {
                (format!("tenant {}", tenant.name), tenant.describe(bytes.end - bytes.start))
            };
            return Ok(tenants.map(row).collect());
        }
        let workload = self.workload()?;
        workload.source(self.config.seed, self.user_bytes())?;
        Ok(workload.describe())
    }

    /// Returns the number of codewords that the user can address. Each SSD has the same number, so the SSD with the least room sets it.
    pub fn user_codewords(&self) -> u64 {
        let ssds = u64::from(self.geometry.ssds());
        let of_layout = self.geometry.codewords_per_block() * self.geometry.blocks_in_turn();
        let blocks = self.geometry.codewords() / u64::from(of_layout);
        let layouts = self.layouts();
        let of_block = self.geometry.all_ssds().map(|ssd| self.start_ages.on_ssd(&layouts, ssd).codewords()).min();
        let of_ssd = blocks * u64::from(of_block.expect("there is an SSD")) / ssds;
        let of_ssd = (of_ssd as f64 * (1.0 - self.config.ftl.over_provisioning)).floor() as u64;
        // SSDs that take turns have only whole turns.
        (of_ssd - of_ssd % self.units_in_turn()) * ssds
    }

    /// Returns the number of mapping units in a codeword, by the P/E cycles of its block, from the least worn block of the start on. It is
    /// above 1 only where code rates set the amount of data.
    pub fn units_of_codeword(&self) -> ByAge<u32> {
        match &self.config.reliability {
            ReliabilitySpec::Adaptive(adaptive) => {
                let units = adaptive.rates.iter().map(|rate| (rate.to_pe_cycles, rate.units));
                ByAge::new(units).from(self.start_ages.least())
            }
            _ => ByAge::always(1),
        }
    }

    /// Returns the number of mapping units that follow one another on an SSD before the next SSD has its turn. It is that of a codeword at
    /// the start; for SSDs of different ages, the most. It is 1 where SSDs do not take turns.
    pub fn units_in_turn(&self) -> u64 {
        if self.geometry.ssds() == 1 || self.config.host.spread == Spread::Address {
            return 1;
        }
        let units = self.units_of_codeword();
        let most = self.geometry.all_ssds().map(|ssd| *self.start_ages.on_ssd(&units, ssd)).max();
        most.map_or(1, u64::from)
    }

    /// Returns the number of bytes that the user can address.
    pub fn user_bytes(&self) -> u64 {
        self.user_codewords() * u64::from(self.config.geometry.codeword_bytes)
    }

    /// Returns the number of codewords that the write buffer has room for.
    pub fn write_buffer_codewords(&self) -> u64 {
        self.config.host.write_buffer_bytes / u64::from(self.config.geometry.codeword_bytes)
    }

    /// Returns the number of translation pages, a codeword each; 0 if the whole map is in memory.
    pub fn translation_codewords(&self) -> u64 {
        match self.config.ftl.mapping {
            Mapping::Page => 0,
            Mapping::Demand(demand) => {
                self.user_codewords().div_ceil(u64::from(self.config.geometry.codeword_bytes / demand.entry_bytes))
            }
        }
    }

    fn page_format(&self) -> PageFormat {
        let (blocks, stripe) = (self.geometry.blocks_in_turn(), self.geometry.pages_per_stripe());
        PageFormat::new(&self.config.geometry, &self.config.reliability, blocks, stripe)
    }

    /// Returns the layout of a block by its P/E cycles, from the least worn block of the start on.
    pub fn layouts(&self) -> ByAge<BlockLayout> {
        let layouts = self.page_format().layouts(&self.config.reliability, &self.reliability);
        layouts.from(self.start_ages.least())
    }

    /// Whether units of some blocks cross pages.
    pub fn crosses_pages(&self) -> bool {
        self.layouts().iter().any(BlockLayout::crosses_pages)
    }

    /// Returns the number of code rates of `reliability.adaptive`; 1 with any other reliability.
    pub fn code_rates(&self) -> usize {
        match &self.config.reliability {
            ReliabilitySpec::Adaptive(adaptive) => adaptive.rates.len(),
            _ => 1,
        }
    }

    /// Returns the codes of `reliability.bch` on this device, in the order of their ages; none with any other reliability.
    pub fn bch_codes(&self) -> Vec<UnitCode> {
        let format = self.page_format();
        let unit = self.config.geometry.codeword_bytes;
        let code = |aged: &AgedBch| {
            let (bits, correctable) = (aged.code.codeword_bits() as u32, aged.code.correctable() as u32);
            let squeezed_bytes = format.squeezed_bytes(aged);
            let layout = format.layout(squeezed_bytes);
            let decoder = &self.config.decoder;
            let (clean, decode_us) = match &decoder.time {
                DecodeTime::Bch(decoder) => decoder.decode_us(bits, correctable),
                &(DecodeTime::FixedUs(us) | DecodeTime::PerIterationUs(us)) => (us, us),
                DecodeTime::Ldpc(_) => (f64::NAN, f64::NAN),
            };
            UnitCode {
                to_pe_cycles: aged.to_pe_cycles,
                codeword_bytes: aged.codeword_bytes,
                correctable,
                field_bits: aged.code.field_bits(),
                codeword_bits: bits,
                parity_bytes: aged.parity_bytes(),
                codewords_per_unit: unit / aged.codeword_bytes,
                squeezed_bytes,
                units_per_block: layout.codewords(),
                crossing_per_block: layout.crossing(),
                codewords_at_once: decoder
                    .engine()
                    .map_or(decoder.codewords_at_once, |bch| bch.lane(correctable).lanes),
                transfer_us: self.byte_us() * f64::from(aged.codeword_bytes + aged.parity_bytes()),
                decode_us,
                decode_without_errors_us: clean,
            }
        };
        self.reliability.bch_codes().iter().map(code).collect()
    }

    /// Returns the most codewords that one decoder works on at once.
    pub fn codewords_at_once(&self) -> u32 {
        let of_codes = self.bch_codes().into_iter().map(|code| code.codewords_at_once).max();
        of_codes.unwrap_or(self.config.decoder.codewords_at_once)
    }

    /// Returns the transfer time of a byte, us: `bus.transfer_us` is that of a unit and its share of the out-of-band area.
    pub fn byte_us(&self) -> f64 {
        self.config.bus.transfer_us / f64::from(self.page_format().unit_and_oob_bytes())
    }

    /// Formats the config as TOML, every default filled in.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(&self.config).expect("a config is plain data")
    }

    /// Formats the config as JSON, every default filled in.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.config).expect("a config is plain data")
    }

    /// Returns the identity of the run: SHA-256 of the resolved config and the model version, with the files and the user's code that it
    /// names.
    pub fn sha256(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(format!("softsense model {MODEL_VERSION}\n"));
        hasher.update(self.to_json());
        // A table, or a code, is named by a file, whose content may change.
        self.reliability.file_texts().into_iter().for_each(|text| hasher.update(text));
        // The user's policies and rules, too, may change under the same name.
        self.own.identities().for_each(|identity| hasher.update(format!("\n{} own\n{identity}", identity.len())));
        // The traces of tenants may change, too.
        let tenants = self.config.host.tenants.iter().filter_map(|tenant| tenant.trace.as_ref());
        for path in tenants.flat_map(TenantTrace::files) {
            let content = trace_identity::content(&self.directory.join(path)).unwrap_or_default();
            hasher.update(format!("\ntrace {path}\n{content}"));
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests;
