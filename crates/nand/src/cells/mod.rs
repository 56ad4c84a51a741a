mod dwell;
mod fit;
mod inference;
mod interference;
mod mapping;
mod measured;
mod programmed;
mod read_disturb;
mod shortened_sensing;
mod valley_search;
mod valleys;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use softsense_base::{
    Error, ErrorKind, Result, check_ranges, expect_number, expect_whole, from_toml, poisson_quantile, shipped_or_file,
};

use crate::distribution::{Distribution, Tail, bisect};
use crate::{ReadWith, ReferencesAt, Wear};
pub use dwell::Dwell;
pub use fit::{FitSpec, Measurement};
pub use inference::{Inference, InferredBy};
pub use interference::Interference;
pub use mapping::Mapping;
pub(crate) use mapping::{MAX_PAGES, MAX_STATES};
use measured::TEMPERATURES_C;
pub use measured::{MeasuredStates, Mechanism, ProgrammedAs, TimeLaw};
pub use programmed::{ErasedState, ProgrammedStates, Retention, TelegraphNoise};
pub use read_disturb::{ReadDisturb, effective_reads_if_even};
pub use shortened_sensing::ShortenedSensing;
pub use valley_search::ValleySearch;
pub use valleys::{ValleyPoint, states_of_valleys};

/// The prefix of the name of cells that hold one bit only.
pub(crate) const ONE_BIT: &str = "pslc:";

/// Specifications that ship with softsense, by name.
const SHIPPED: [(&str, &str); 9] = [
    ("mlc", include_str!("../../cells/mlc.toml")),
    ("mlc-charge-trap", include_str!("../../cells/mlc-charge-trap.toml")),
    ("tlc-2-3-2", include_str!("../../cells/tlc-2-3-2.toml")),
    ("tlc-1-2-4", include_str!("../../cells/tlc-1-2-4.toml")),
    ("tlc-measured", include_str!("../../cells/tlc-measured.toml")),
    ("tlc-charge-trap", include_str!("../../cells/tlc-charge-trap.toml")),
    ("tlc-charge-trap-asplos21", include_str!("../../cells/tlc-charge-trap-asplos21.toml")),
    ("qlc-charge-trap", include_str!("../../cells/qlc-charge-trap.toml")),
    ("qlc-1-2-4-8", include_str!("../../cells/qlc-1-2-4-8.toml")),
];

/// The controller's assumptions about the positions of states. Read references are placed for the states that it expects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct References {
    /// If true, the controller expects states where they are at their age. If false, it expects them where they are at the age
    /// `placed_for`.
    pub tracked: bool,
    /// The age of the states that the controller expects if it does not track them, such as the age of the chip's default references.
    /// Without this field it expects states just after programming, at the same P/E cycles, before any read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed_for: Option<Wear>,
    /// Offset of all references, in volts.
    #[schemars(range(min = -5.0, max = 5.0))]
    pub offset_v: f64,
    /// The chip's retry table: each entry has the offsets of hard-decision references from the default, in volts. There is one number for
    /// each boundary between states, the lowest first. Reads try the entries with `read.references = "retry_table"`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(inner(range(min = -5.0, max = 5.0))))]
    pub retry_table_v: Vec<Vec<f64>>,
    /// The controller's search for the best references. Reads search with `read.references = "valley_search"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valley_search: Option<ValleySearch>,
    /// Inference of references from a measurement at one boundary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inference: Option<Inference>,
}

/// The largest number of entries of a retry table.
const MOST_RETRIES: usize = 100;

impl Default for References {
    fn default() -> Self {
        Self {
            tracked: true,
            placed_for: None,
            offset_v: 0.0,
            retry_table_v: Vec::new(),
            valley_search: None,
            inference: None,
        }
    }
}

impl References {
    fn check(&self, path: &str, boundaries: usize) -> Result<()> {
        if self.retry_table_v.len() > MOST_RETRIES {
            let message = format!("found {} entries, expected at most {MOST_RETRIES}", self.retry_table_v.len());
            return Err(Error::config(format!("{path}.retry_table_v"), message));
        }
        for (entry, offsets_v) in self.retry_table_v.iter().enumerate() {
            let path = format!("{path}.retry_table_v[{entry}]");
            if offsets_v.len() != boundaries {
                let message =
                    format!("found {} numbers, expected {boundaries}, one for each boundary", offsets_v.len());
                return Err(Error::config(path, message));
            }
        }
        if let Some(search) = self.valley_search {
            search.check(&format!("{path}.valley_search"))?;
        }
        if let Some(inference) = &self.inference {
            inference.check(&format!("{path}.inference"), boundaries)?;
        }
        Ok(())
    }
}

/// Flash cells by their threshold voltages; the default is LaLDPC's MLC.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
pub struct CellSpec {
    /// The assignment of boundaries between states to pages.
    pub mapping: Mapping,
    /// The states of the cells, by age.
    pub states: States,
    /// The state of cells that hold a zero, if cells hold one bit only (pseudo-SLC). All other cells are erased.
    pub pseudo_slc_state: Option<usize>,
    /// Interference from programming the next wordline. Without this field there is none.
    pub interference: Option<Interference>,
    /// The effect of rest between P/E cycles on retention. Without this field there is none.
    pub dwell: Option<Dwell>,
    /// The disturbance by reads of other wordlines. Without this field there is none.
    pub read_disturb: Option<ReadDisturb>,
    /// The noise of sensing for less than the whole time. Without this field sensing cannot be shortened.
    pub shortened_sensing: Option<ShortenedSensing>,
    /// The controller's assumptions about the positions of states.
    pub references: References,
}

/// The model of the states of cells by age.
#[derive(Debug, Clone, PartialEq)]
pub enum States {
    /// States that follow from the way in which cells are programmed.
    Programmed(ProgrammedStates),
    /// States that follow measurements.
    Measured(MeasuredStates),
}

impl Default for States {
    fn default() -> Self {
        States::Programmed(ProgrammedStates::default())
    }
}

/// A model of flash cells by threshold voltages; the default is LaLDPC's MLC. States are given by how they are
/// programmed (`erased`, `verify_v`, `program_step_v`, `telegraph_noise`, `retention`), or by measurements
/// (`measured`).
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "CellSpec")]
struct Fields {
    /// The assignment of boundaries between states to pages.
    mapping: Mapping,
    /// Threshold voltages of erased cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    erased: Option<ErasedState>,
    /// The verify voltage of each programmed state, ascending, in volts.
    #[serde(skip_serializing_if = "Option::is_none")]
    verify_v: Option<Vec<f64>>,
    /// Step of incremental step pulse programming (ISPP), in volts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-3, max = 5.0))]
    program_step_v: Option<f64>,
    /// Random telegraph noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    telegraph_noise: Option<TelegraphNoise>,
    /// Charge loss of programmed cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    retention: Option<Retention>,
    /// Measured states, in place of how states are programmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<MeasuredStates>,
    /// State that stands for a zero, from 1, for cells that hold only one bit (pseudo-SLC). The erased state stands for a one. The fields
    /// `mapping` and the states are then those of the same cells when they hold all their bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pseudo_slc_state: Option<usize>,
    /// Interference from programming the next wordline. Without this field there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    interference: Option<Interference>,
    /// The effect of rest between P/E cycles on retention. Without this field there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    dwell: Option<Dwell>,
    /// The disturbance by reads of other wordlines of the block. Without this field there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_disturb: Option<ReadDisturb>,
    /// The noise of sensing for less than the whole time. Without this field sensing cannot be shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    shortened_sensing: Option<ShortenedSensing>,
    /// The controller's assumptions about the positions of states.
    references: References,
}

impl TryFrom<Fields> for CellSpec {
    type Error = String;

    fn try_from(fields: Fields) -> std::result::Result<Self, String> {
        let Fields {
            mapping,
            erased,
            verify_v,
            program_step_v,
            telegraph_noise,
            retention,
            measured,
            pseudo_slc_state,
            interference,
            dwell,
            read_disturb,
            shortened_sensing,
            references,
        } = fields;
        let programmed = [
            ("erased", erased.is_some()),
            ("verify_v", verify_v.is_some()),
            ("program_step_v", program_step_v.is_some()),
            ("telegraph_noise", telegraph_noise.is_some()),
            ("retention", retention.is_some()),
        ];
        let states = match (measured, programmed.into_iter().find(|(_, given)| *given)) {
            (Some(_), Some((field, _))) => {
                return Err(format!(
                    "found `measured` together with `{field}`, expected only one of the two: `{field}` is a field \
                     of programmed states"
                ));
            }
            (Some(measured), None) => States::Measured(measured),
            (None, _) => {
                let usual = ProgrammedStates::default();
                States::Programmed(ProgrammedStates {
                    erased: erased.unwrap_or(usual.erased),
                    verify_v: verify_v.unwrap_or(usual.verify_v),
                    program_step_v: program_step_v.unwrap_or(usual.program_step_v),
                    telegraph_noise: telegraph_noise.unwrap_or(usual.telegraph_noise),
                    retention: retention.unwrap_or(usual.retention),
                })
            }
        };
        Ok(Self { mapping, states, pseudo_slc_state, interference, dwell, read_disturb, shortened_sensing, references })
    }
}

impl From<CellSpec> for Fields {
    fn from(spec: CellSpec) -> Self {
        let CellSpec { states, .. } = spec;
        let nothing = Fields {
            mapping: spec.mapping,
            pseudo_slc_state: spec.pseudo_slc_state,
            interference: spec.interference,
            dwell: spec.dwell,
            read_disturb: spec.read_disturb,
            shortened_sensing: spec.shortened_sensing,
            references: spec.references,
            ..Fields::default()
        };
        match states {
            States::Measured(measured) => Fields { measured: Some(measured), ..nothing },
            States::Programmed(ProgrammedStates { erased, verify_v, program_step_v, telegraph_noise, retention }) => {
                Fields {
                    erased: Some(erased),
                    verify_v: Some(verify_v),
                    program_step_v: Some(program_step_v),
                    telegraph_noise: Some(telegraph_noise),
                    retention: Some(retention),
                    ..nothing
                }
            }
        }
    }
}

fn round(value: &mut toml::Value, scale: f64) {
    match value {
        toml::Value::Float(number) => *number = libm::round(*number * scale) / scale,
        toml::Value::Array(values) => values.iter_mut().for_each(|value| round(value, scale)),
        toml::Value::Table(fields) => fields.iter_mut().for_each(|(_, value)| round(value, scale)),
        toml::Value::String(_) | toml::Value::Integer(_) | toml::Value::Boolean(_) | toml::Value::Datetime(_) => {}
    }
}

impl JsonSchema for CellSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Fields::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Fields::json_schema(generator)
    }
}

impl CellSpec {
    /// The names of the shipped specifications.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// Opens a shipped specification by name, or a TOML file (relative paths are taken from `directory`). A name that begins with `pslc:`
    /// means the same cells when they hold one bit only: a zero is the middle of the programmed states, the lower of two.
    ///
    /// # Errors
    /// A file that cannot be read, is not TOML of this shape, or has a field out of range.
    pub fn open(name_or_path: &str, directory: &Path) -> Result<Self> {
        // Further prefixes change nothing: cells with one bit cannot become cells with one bit again.
        let of = name_or_path.trim_start_matches(ONE_BIT);
        let (text, origin) = shipped_or_file(&SHIPPED, of, directory, ErrorKind::Config, "a file of cells")?;
        let cells = Self::parse(&text, &origin)?;
        Ok(if of.len() < name_or_path.len() { cells.with_one_bit() } else { cells })
    }

    fn parse(text: &str, origin: &str) -> Result<Self> {
        let spec: Self = from_toml(text, ErrorKind::Config, origin)?;
        // In a file fields are at the top, below no path.
        spec.check("").map_err(|error| {
            Error::config(format!("{origin}: {}", error.place().trim_start_matches('.')), error.message())
        })?;
        Ok(spec)
    }

    /// The specification as TOML, which [`Self::open`] reads from a file. Numbers have `digits` digits after the point.
    pub fn to_toml(&self, digits: u32) -> String {
        let mut value = toml::Value::try_from(self).expect("a spec is plain data");
        round(&mut value, libm::pow(10.0, digits.into()));
        toml::to_string(&value).expect("it is a table")
    }

    /// Checks the ranges; `path` is the place of the cells in the config.
    pub fn check(&self, path: &str) -> Result<()> {
        check_ranges(path, self)?;
        let states = self.mapping.states();
        match &self.states {
            States::Programmed(programmed) => programmed.check(path, states)?,
            States::Measured(measured) => measured.check(&format!("{path}.measured"), states)?,
        }
        if let Some(state) = self.pseudo_slc_state {
            expect_whole(format!("{path}.pseudo_slc_state"), state as u32, 1, states as u32 - 1)?;
        }
        if let Some(dwell) = self.dwell {
            dwell.check(&format!("{path}.dwell"))?;
        }
        self.references.check(&format!("{path}.references"), self.states() - 1)
    }

    /// The mapping of the bits that the cells hold.
    fn used_mapping(&self) -> Mapping {
        if self.pseudo_slc_state.is_some() { Mapping::Slc } else { self.mapping }
    }

    /// The number of states of a cell.
    pub fn states(&self) -> usize {
        self.used_mapping().states()
    }

    /// The number of pages that share a wordline: the bits of a cell.
    pub fn pages(&self) -> usize {
        self.used_mapping().boundaries().len()
    }

    /// The boundaries at which the bit of `page` changes: boundary i lies between states i and i + 1.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn boundaries_of(&self, page: usize) -> &'static [usize] {
        self.used_mapping().boundaries()[page]
    }

    /// The names of the pages, in the order of their numbers.
    pub fn page_names(&self) -> &'static [&'static str] {
        self.used_mapping().page_names()
    }

    /// Returns the same cells when they hold one bit only (pseudo-SLC). Their retry table and their inference belong to other boundaries,
    /// so both are dropped.
    #[must_use]
    fn with_one_bit(mut self) -> Self {
        self.pseudo_slc_state = Some(self.mapping.states() / 2);
        self.references.retry_table_v.clear();
        self.references.inference = None;
        self
    }

    /// Returns the same cells, read with references that track their age, or with references at their own place.
    #[must_use]
    pub fn with_tracked_references(mut self, tracked: bool) -> Self {
        self.references.tracked = tracked;
        self
    }

    /// Returns the same cells with data that rests at a temperature, in degrees Celsius; `path` is the option with that temperature.
    ///
    /// # Errors
    /// Cells that have no temperature, or a temperature out of range.
    pub fn at_temperature(mut self, retention_temperature_c: f64, path: &str) -> Result<Self> {
        let States::Measured(measured) = &mut self.states else {
            let message = "found a temperature for cells that do not depend on it, expected cells with `measured` \
                           states";
            return Err(Error::config(path, message));
        };
        measured.retention_temperature_c = retention_temperature_c;
        expect_number(path, retention_temperature_c, *TEMPERATURES_C.start(), *TEMPERATURES_C.end())?;
        Ok(self)
    }

    /// Tells whether time changes the cells.
    pub fn depends_on_retention(&self) -> bool {
        match &self.states {
            States::Programmed(programmed) => programmed.retention.k0 != 0.0,
            States::Measured(measured) => !measured.mechanisms.is_empty(),
        }
    }

    /// The time scale, in hours, from which on cells change with the logarithm of time.
    pub(crate) fn t0_hours(&self) -> f64 {
        match &self.states {
            States::Programmed(programmed) => programmed.retention.t0_hours,
            States::Measured(measured) => measured.first_change_hours(),
        }
    }

    /// The number of effective reads from which on cells change with their logarithm.
    pub(crate) fn r0_reads(&self) -> f64 {
        let erased = self.undisturbed(Wear::unread(0, 0.0))[0].centre();
        self.read_disturb.map_or(1.0, |disturb| disturb.first_change_reads(erased))
    }

    /// Returns the cells of a wordline after `wear`.
    ///
    /// # Panics
    /// If there are not as many states as the mapping has: see [`Self::check`].
    pub fn at(&self, wear: Wear) -> Cells {
        let states = self.distributions(wear);
        assert_eq!(states.len(), self.states(), "a distribution for each state");
        let expected = if self.references.tracked { states.clone() } else { self.by_default(wear) };
        Cells::new(self.used_mapping(), states, expected, self.references.offset_v)
    }

    /// Returns [`Self::at`] without references (NaN), for callers that place references elsewhere and ask only for states. Finding the
    /// references takes nearly all of the time.
    pub fn without_references_at(&self, wear: Wear) -> Cells {
        let states = self.distributions(wear);
        let nowhere = vec![f64::NAN; states.len() - 1];
        Cells {
            mapping: self.used_mapping(),
            expected: states.clone(),
            states,
            expected_references: nowhere.clone(),
            offsets_v: vec![0.0; nowhere.len()],
            hard_references: nowhere,
        }
    }

    /// Returns the cells of a wordline after `wear`, read with references at a place. After a search for valleys these are the references
    /// that it finds most often. Soft levels stand about the references of hard decision, as far apart as suits the true states.
    ///
    /// # Panics
    /// If there is no such entry of the retry table, no search, or no inference.
    pub fn read_at(&self, wear: Wear, references: ReferencesAt) -> Cells {
        if let Some(offsets_v) = self.offsets_v(references) {
            return self.off_default(wear, &offsets_v);
        }
        match references {
            ReferencesAt::Valleys => self.at_likely_valleys(wear, &self.valley_chances(wear)),
            _ => self.at(wear),
        }
    }

    /// The offsets of references at a place from the default ones, at each boundary. None if the offsets depend on the wear.
    fn offsets_v(&self, references: ReferencesAt) -> Option<Cow<'_, [f64]>> {
        match references {
            ReferencesAt::Default => Some(vec![0.0; self.states() - 1].into()),
            ReferencesAt::Inferred(steps) => Some(self.inference().offsets_v(steps).into()),
            ReferencesAt::RetryEntry(entry) => Some((&self.references.retry_table_v[usize::from(entry)]).into()),
            ReferencesAt::Cells | ReferencesAt::Valleys => None,
        }
    }

    /// Returns [`Self::read_with`] for callers that make hard decisions only. It skips the search for references of soft levels, which
    /// takes most of the time, and takes default references from `defaults`.
    pub(crate) fn read_hard(&self, wear: Wear, read: ReadWith, defaults: &DefaultReferences) -> Cells {
        let Some(offsets_v) = self.offsets_v(read.references) else { return self.read_with(wear, read) };
        let references = defaults.of(self, wear);
        let mut cells = self.without_references_at(wear);
        cells.expected_references = references.to_vec();
        cells.offset_references(&offsets_v);
        self.as_sensed(cells, read.sensing_percent)
    }

    /// The wear for whose states references of soft levels are [placed](Cells::expected), for cells after `wear`.
    pub(crate) fn expected_wear(&self, wear: Wear, references: ReferencesAt) -> Wear {
        let as_they_are = references != ReferencesAt::Cells || self.references.tracked;
        if as_they_are { wear } else { self.wear_by_default(wear) }
    }

    /// Returns the cells of a wordline after `wear` as they are read: with references at a place, and with the noise of shortened sensing.
    ///
    /// # Panics
    /// See [`Self::read_at`] and [`Self::as_sensed`].
    pub fn read_with(&self, wear: Wear, read: ReadWith) -> Cells {
        self.as_sensed(self.read_at(wear, read.references), read.sensing_percent)
    }

    /// Returns cells as they look when they are sensed for a share of the time.
    ///
    /// # Panics
    /// If the time is shortened, and the cells do not model the noise of that.
    pub fn as_sensed(&self, cells: Cells, sensing_percent: u8) -> Cells {
        if sensing_percent == 100 {
            return cells;
        }
        let shortened = self.shortened_sensing.expect("cells that know what shorter sensing costs");
        cells.blurred(shortened.noise_v(sensing_percent))
    }

    /// Returns the cells of a wordline after `wear`, read after a search has chosen a gap at each boundary between states.
    ///
    /// # Panics
    /// If the cells have no search.
    pub fn at_valleys(&self, wear: Wear, gaps: &[usize]) -> Cells {
        let search = self.valley_search();
        self.off_default(wear, &gaps.iter().map(|&gap| search.offset_v(gap)).collect::<Vec<_>>())
    }

    /// Returns the cells of a wordline after `wear`, read with hard references that are off the default ones.
    fn off_default(&self, wear: Wear, offsets_v: &[f64]) -> Cells {
        let mut default = self.at_default(wear);
        default.offset_references(offsets_v);
        let states = default.states.clone();
        let mut cells = Cells::new(self.used_mapping(), states.clone(), states, 0.0);
        let references = default.hard_references.iter().zip(&cells.expected_references);
        let offsets_v: Vec<f64> = references.map(|(to, from)| to - from).collect();
        cells.offset_references(&offsets_v);
        cells
    }

    /// The mean counts of a search for valleys: for each boundary between states, the count of each gap between two sensings.
    ///
    /// # Panics
    /// If the cells have no search.
    pub fn valley_counts(&self, wear: Wear) -> Vec<Vec<f64>> {
        let (cells, search) = (self.at_default(wear), self.valley_search());
        let a_state = f64::from(search.cells) / cells.states() as f64;
        let of_boundary = |&default_v: &f64| {
            let sensed: Vec<f64> = search.sensed_v(default_v).collect();
            let between = |from_v: f64, to_v: f64| -> f64 {
                cells.states.iter().map(|state| state.tail(from_v).until(state.tail(to_v))).sum()
            };
            sensed.windows(2).map(|ends| a_state * between(ends[0], ends[1])).collect()
        };
        cells.hard_references.iter().map(of_boundary).collect()
    }

    /// The gap that a search for valleys chooses at each boundary between states, from random counts.
    ///
    /// # Arguments
    /// - `uniform`: returns the next random number in [0, 1).
    ///
    /// # Panics
    /// If the cells have no search.
    pub fn found_gaps(&self, wear: Wear, mut uniform: impl FnMut() -> f64) -> Vec<usize> {
        let counts = self.valley_counts(wear);
        let chosen =
            |means: &Vec<f64>| ValleySearch::chosen(means.iter().map(|&mean| poisson_quantile(mean, uniform())));
        counts.iter().map(chosen).collect()
    }

    /// The probability with which a search for valleys chooses each gap, for each boundary between states.
    fn valley_chances(&self, wear: Wear) -> Vec<Vec<f64>> {
        self.valley_counts(wear).iter().map(|of| ValleySearch::chances(of)).collect()
    }

    /// Returns the cells of a wordline after `wear`, read after a search that has chosen the likeliest gaps.
    fn at_likely_valleys(&self, wear: Wear, chances: &[Vec<f64>]) -> Cells {
        let likeliest = |of: &Vec<f64>| {
            let best = of.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1));
            best.map_or(0, |(gap, _)| gap)
        };
        self.at_valleys(wear, &chances.iter().map(likeliest).collect::<Vec<_>>())
    }

    /// The raw bit error rate of each page after a search for valleys: the mean over the results of the search.
    ///
    /// # Panics
    /// If the cells have no search.
    pub fn rber_by_valleys(&self, wear: Wear) -> Vec<f64> {
        let search = self.valley_search();
        let chances = self.valley_chances(wear);
        let cells = self.at_likely_valleys(wear, &chances);
        let defaults = self.at_default(wear).hard_references;
        // The contribution of a boundary to the rate depends only on its own reference.
        let of_page = |page: usize| {
            let at = cells.rber(page);
            let moved = cells.boundaries(page).iter().map(|&boundary| {
                let with = |gap: usize| {
                    let mut moved = cells.clone();
                    moved.hard_references[boundary] = defaults[boundary] + search.offset_v(gap);
                    moved.rber(page) - at
                };
                let likely = chances[boundary].iter().enumerate().filter(|(_, chance)| **chance > 1e-9);
                likely.map(|(gap, chance)| chance * with(gap)).sum::<f64>()
            });
            (at + moved.sum::<f64>()).clamp(0.0, 0.5)
        };
        (0..cells.pages()).map(of_page).collect()
    }

    /// The number of entries of the retry table.
    pub fn retries(&self) -> usize {
        self.references.retry_table_v.len()
    }

    /// The inference of references.
    ///
    /// # Panics
    /// If the cells have none.
    pub fn inference(&self) -> &Inference {
        self.references.inference.as_ref().expect("cells whose references are inferred")
    }

    fn valley_search(&self) -> ValleySearch {
        self.references.valley_search.expect("cells that know a search for valleys")
    }

    /// The cells of a wordline after `wear` with the chip's default references.
    fn at_default(&self, wear: Wear) -> Cells {
        Cells::new(self.used_mapping(), self.distributions(wear), self.by_default(wear), 0.0)
    }

    /// The states for which default references are placed.
    fn by_default(&self, wear: Wear) -> Vec<Distribution> {
        self.distributions(self.wear_by_default(wear))
    }

    /// The wear for which default references are placed.
    fn wear_by_default(&self, wear: Wear) -> Wear {
        self.references.placed_for.unwrap_or(Wear::unread(wear.pe_cycles, 0.0))
    }

    fn distributions(&self, wear: Wear) -> Vec<Distribution> {
        let mut states = self.undisturbed(wear);
        if let Some(interference) = &self.interference {
            let fresh = self.undisturbed(Wear::unread(wear.pe_cycles, 0.0));
            let programmed: Vec<f64> = fresh.iter().map(|state| state.mean_and_sigma().0).collect();
            states.iter_mut().for_each(|state| *state = interference.interfered(*state, &programmed));
        }
        if let Some(disturb) = &self.read_disturb {
            states.iter_mut().for_each(|state| *state = disturb.disturbed(*state, wear));
        }
        states
    }

    /// The states that are used, without the effects of neighbours and reads.
    fn undisturbed(&self, wear: Wear) -> Vec<Distribution> {
        let retention = self.dwell.map_or(1.0, Dwell::retention_factor);
        let states = match &self.states {
            States::Programmed(programmed) => programmed.distributions(wear, retention),
            States::Measured(measured) => measured.distributions(wear, retention),
        };
        match self.pseudo_slc_state {
            None => states,
            Some(state) => vec![states[0], states[state]],
        }
    }
}

/// The default references of cells: one set, or one set for each number of P/E cycles. Finding them takes most of the time of a hard
/// decision.
#[derive(Debug, Default)]
pub(crate) struct DefaultReferences(Mutex<HashMap<u32, Arc<[f64]>>>);

impl DefaultReferences {
    fn of(&self, spec: &CellSpec, wear: Wear) -> Arc<[f64]> {
        let known = || self.0.lock().expect("nothing panics while it holds the references");
        let placed_for = spec.wear_by_default(wear);
        let found = known().get(&placed_for.pe_cycles).cloned();
        // Two threads may compute the same at once, with the same result.
        found.unwrap_or_else(|| {
            let references: Arc<[f64]> = spec.at_default(wear).expected_references.into();
            known().insert(placed_for.pe_cycles, Arc::clone(&references));
            references
        })
    }
}

/// Cells in full, or the name of a shipped model of them or of a TOML file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum NamedCells {
    /// The name of a shipped model, or the path of a file.
    Named(String),
    /// A model in full.
    Given(Box<CellSpec>),
}

impl Default for NamedCells {
    fn default() -> Self {
        CellSpec::default().into()
    }
}

impl From<CellSpec> for NamedCells {
    fn from(spec: CellSpec) -> Self {
        NamedCells::Given(Box::new(spec))
    }
}

impl<'de> Deserialize<'de> for NamedCells {
    /// Written by hand, because errors of untagged enums name no field.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct NameOrFields;

        impl<'de> Visitor<'de> for NameOrFields {
            type Value = NamedCells;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of cells, or their fields")
            }

            fn visit_str<E>(self, name: &str) -> std::result::Result<NamedCells, E> {
                Ok(NamedCells::Named(name.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> std::result::Result<NamedCells, A::Error> {
                CellSpec::deserialize(MapAccessDeserializer::new(fields)).map(NamedCells::from)
            }
        }

        deserializer.deserialize_any(NameOrFields)
    }
}

impl NamedCells {
    /// Opens the cells; a file is taken from `directory`. `path` is the place of the cells in the config.
    ///
    /// # Errors
    /// See [`CellSpec::open`] and [`CellSpec::check`].
    pub fn open(&self, path: &str, directory: &Path) -> Result<CellSpec> {
        match self {
            NamedCells::Named(name) => CellSpec::open(name, directory)
                .map_err(|error| Error::config(path, format!("{}: {}", error.place(), error.message()))),
            NamedCells::Given(spec) => spec.check(path).map(|()| (**spec).clone()),
        }
    }
}

/// The cells of one wordline at one age: distributions of their threshold voltages by state, the mapping of states to
/// bits, and hard reference voltages. States are equally likely.
#[derive(Debug, Clone)]
pub struct Cells {
    mapping: Mapping,
    states: Vec<Distribution>,
    /// The states for which references are placed, and the hard references that suit them.
    expected: Vec<Distribution>,
    expected_references: Vec<f64>,
    /// The offset of the references from there, for each boundary, in volts.
    offsets_v: Vec<f64>,
    hard_references: Vec<f64>,
}

impl Cells {
    fn new(mapping: Mapping, states: Vec<Distribution>, expected: Vec<Distribution>, offset_v: f64) -> Self {
        let crossings = expected.windows(2).map(|pair| crossing(&pair[0], &pair[1]));
        let expected_references = ascending(crossings);
        let offsets_v = vec![0.0; expected_references.len()];
        let mut cells = Self {
            mapping,
            states,
            expected,
            hard_references: expected_references.clone(),
            expected_references,
            offsets_v,
        };
        if offset_v != 0.0 {
            cells.offset_references(&vec![offset_v; cells.offsets_v.len()]);
        }
        cells
    }

    /// The textbook boundary on which codes are compared: two states, Normal(-1, s^2) of bit 1 and Normal(1, s^2) of
    /// bit 0, read by their sign with a raw bit error rate of `rber`.
    ///
    /// # Panics
    /// If `rber` is not from 1e-9 to 0.499.
    pub fn gaussian(rber: f64) -> Self {
        assert!((1e-9..=0.499).contains(&rber), "a raw bit error rate of {rber}, not from 1e-9 to 0.499");
        let sigma_v = -1.0 / Distribution::normal(0.0, 1.0).quantile(rber);
        let states: Vec<_> = [-1.0, 1.0].map(|mean_v| Distribution::normal(mean_v, sigma_v)).into();
        Self {
            mapping: Mapping::Slc,
            expected: states.clone(),
            states,
            expected_references: vec![0.0],
            offsets_v: vec![0.0],
            hard_references: vec![0.0],
        }
    }

    /// Moves the references of all levels by one number for each boundary, in volts. A reference that would end below the one before it
    /// is placed there.
    pub fn offset_references(&mut self, offsets_v: &[f64]) {
        self.offsets_v.iter_mut().zip(offsets_v).for_each(|(offset_v, by_v)| *offset_v += by_v);
        let moved = self.expected_references.iter().zip(&self.offsets_v);
        self.hard_references = ascending(moved.map(|(reference, offset_v)| reference + offset_v));
    }

    /// Returns the same cells with noise on their voltages, of a standard deviation in volts.
    #[must_use]
    pub fn blurred(mut self, noise_v: f64) -> Self {
        self.states.iter_mut().for_each(|state| *state = state.blurred(noise_v));
        self
    }

    /// The number of states of a cell.
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// The number of pages that share the wordline.
    pub fn pages(&self) -> usize {
        self.mapping.boundaries().len()
    }

    /// The bit of `page` that `state` stands for.
    pub fn bit(&self, page: usize, state: usize) -> bool {
        let toggles = self.boundaries(page).iter().filter(|&&boundary| boundary < state).count();
        toggles.is_multiple_of(2)
    }

    /// The boundaries at which the bit of `page` changes: boundary i lies between states i and i + 1.
    pub fn boundaries(&self, page: usize) -> &[usize] {
        self.mapping.boundaries()[page]
    }

    /// The mean threshold voltage of the cells in `state`, in volts.
    pub fn mean_v(&self, state: usize) -> f64 {
        self.states[state].mean_and_sigma().0
    }

    /// The standard deviation of the threshold voltages of the cells in `state`, in volts.
    pub fn sigma_v(&self, state: usize) -> f64 {
        self.states[state].mean_and_sigma().1
    }

    /// The probability that the threshold voltage of a cell in `state` is below `volts`.
    pub fn cdf(&self, state: usize, volts: f64) -> f64 {
        self.states[state].tail(volts).lower()
    }

    /// The probability density of the threshold voltage of a cell in `state`, a volt.
    pub fn density(&self, state: usize, volts: f64) -> f64 {
        self.states[state].density(volts)
    }

    /// The voltage below which a share `u` of the cells in `state` is. Beyond the voltages for 0 and 1 the probability of a cell is too
    /// small to be told from 0.
    pub fn quantile(&self, state: usize, u: f64) -> f64 {
        self.states[state].quantile(u)
    }

    /// The reference voltage of a hard decision at each boundary. It is the crossing of the densities of the two states that the
    /// controller expects (the middle of the gap between states that do not overlap), plus the offset.
    pub fn hard_references(&self) -> &[f64] {
        &self.hard_references
    }

    /// The raw bit error rate of `page`: the probability that a cell of any state is read at the hard references as the other bit.
    pub fn rber(&self, page: usize) -> f64 {
        let references = self.boundaries(page).iter().map(|&boundary| self.hard_references[boundary]);
        let mut errors = 0.0;
        for (state, distribution) in self.states.iter().enumerate() {
            let (mut from, mut decision) = (Tail::BELOW, true);
            let ends = references.clone().map(|reference| distribution.tail(reference)).chain([Tail::ABOVE]);
            for end in ends {
                if decision != self.bit(page, state) {
                    errors += from.until(end);
                }
                (from, decision) = (end, !decision);
            }
        }
        errors / self.states() as f64
    }

    /// The share of cells that a hard decision of `page` reads as 1, whatever they hold. It is half of them if all are read right.
    pub fn share_of_ones(&self, page: usize) -> f64 {
        let boundaries = self.boundaries(page);
        let below =
            |volts: f64| (0..self.states()).map(|state| self.cdf(state, volts)).sum::<f64>() / self.states() as f64;
        // Cells below the first reference read 1, and every reference changes the bit.
        let changes = boundaries.iter().enumerate().map(|(index, &boundary)| {
            let share = below(self.hard_references[boundary]);
            if index % 2 == 0 { share } else { -share }
        });
        changes.sum::<f64>() + if boundaries.len().is_multiple_of(2) { 1.0 } else { 0.0 }
    }

    /// The errors of sentinels: cells that are known to be in the two states about a boundary. The first is the share of cells of the lower
    /// state that read above its reference, the second the share of cells of the upper state that read below.
    pub fn known_errors(&self, boundary: usize) -> (f64, f64) {
        let reference = self.hard_references[boundary];
        (self.states[boundary].tail(reference).upper(), self.states[boundary + 1].tail(reference).lower())
    }

    /// The mean of [`Self::rber`] over the pages.
    pub fn mean_rber(&self) -> f64 {
        (0..self.pages()).map(|page| self.rber(page)).sum::<f64>() / self.pages() as f64
    }

    /// The true states.
    pub(crate) fn distributions(&self) -> &[Distribution] {
        &self.states
    }

    /// The states for which references are placed, and the shift of the references of each boundary.
    pub(crate) fn expected(&self) -> (&[Distribution], &[f64]) {
        (&self.expected, &self.offsets_v)
    }

    /// The hard references before they are shifted.
    pub(crate) fn expected_references(&self) -> &[f64] {
        &self.expected_references
    }
}

/// Raises references so that none is below the one before: states that have passed each other leave no room between their references.
fn ascending(references: impl Iterator<Item = f64>) -> Vec<f64> {
    let raised = references.scan(f64::NEG_INFINITY, |least, reference| {
        *least = least.max(reference);
        Some(*least)
    });
    raised.collect()
}

/// The voltage at which the density of `left`, the lower state, falls below that of `right`. Reads lift cells of several kinds apart, so
/// that the density of a state has hills and falls below more than once. Then it is the crossing with the fewest cells of both states on
/// the wrong side.
fn crossing(left: &Distribution, right: &Distribution) -> f64 {
    let (low, high) = (left.centre(), right.centre());
    let found = crossing_within(left, right, low, high);
    if !left.has_hills() {
        return found;
    }
    let volts = |step: u32| low + (high - low) * f64::from(step) / f64::from(HILL_STEPS);
    let above = |step| left.density(volts(step)) > right.density(volts(step));
    let wrong = |reference: f64| left.tail(reference).upper() + right.tail(reference).lower();
    let falls = (0..HILL_STEPS).filter(|&step| above(step) && !above(step + 1));
    let others = falls.map(|step| crossing_within(left, right, volts(step), volts(step + 1)));
    others.fold(found, |best, other| if wrong(other) < wrong(best) { other } else { best })
}

/// The number of steps into which the voltages between two states are divided to find the hills between them.
const HILL_STEPS: u32 = 64;

/// The only crossing between two voltages.
fn crossing_within(left: &Distribution, right: &Distribution, low: f64, high: f64) -> f64 {
    let (below, above) = bisect(low, high, |volts| left.density(volts) > right.density(volts));
    if left.density(above) < right.density(above) {
        return 0.5 * (below + above);
    }
    // Both densities are 0 between states that do not overlap, and equal where two uniform parts do. The middle is taken.
    let (_, end) = bisect(above, high, |volts| left.density(volts) >= right.density(volts));
    0.5 * (below + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(name: &str) -> Cells {
        let spec = CellSpec::open(name, Path::new("")).unwrap();
        spec.at(Wear::unread(5_000, 2_400.0))
    }

    #[test]
    fn mappings_are_gray_and_erased_cells_hold_ones() {
        let programmed = |mapping: Mapping| {
            let verify_v = (1..mapping.states()).map(|state| 2.5 + 0.4 * state as f64).collect();
            let states = States::Programmed(ProgrammedStates { verify_v, ..ProgrammedStates::default() });
            CellSpec { mapping, states, ..CellSpec::default() }.at(Wear::unread(0, 0.0))
        };
        let of = |cells: Cells, sensings: &[usize]| {
            assert_eq!(cells.pages(), sensings.len());
            assert!((0..cells.pages()).all(|page| cells.bit(page, 0)), "erased");
            for state in 1..cells.states() {
                let changed = (0..cells.pages()).filter(|&page| cells.bit(page, state) != cells.bit(page, state - 1));
                let changed: Vec<usize> = changed.collect();
                assert!(changed.len() == 1 && cells.boundaries(changed[0]).contains(&(state - 1)), "{changed:?}");
            }
            for (page, &sensings) in sensings.iter().enumerate() {
                assert_eq!(cells.boundaries(page).len(), sensings, "page {page}");
                let ones = (0..cells.states()).filter(|&state| cells.bit(page, state)).count();
                assert_eq!(ones, cells.states() / 2, "page {page}");
            }
        };
        of(programmed(Mapping::Slc), &[1]);
        of(programmed(Mapping::Qlc1248), &[1, 2, 4, 8]);
        of(programmed(Mapping::Qlc4344), &[4, 3, 4, 4]);
        of(programmed(Mapping::Qlc2355), &[2, 3, 5, 5]);
        of(programmed(Mapping::Qlc1266), &[1, 2, 6, 6]);
        of(cells("mlc"), &[1, 2]);
        of(cells("tlc-2-3-2"), &[2, 3, 2]);
        of(cells("tlc-1-2-4"), &[1, 2, 4]);
    }

    #[test]
    fn shipped_cells_are_valid_and_mlc_is_the_default() {
        for name in CellSpec::shipped() {
            let spec = CellSpec::open(name, Path::new("nowhere")).unwrap();
            assert_eq!(spec.page_names().len(), spec.pages());
            assert_eq!(spec == CellSpec::default(), name == "mlc");
        }
    }

    #[test]
    fn bad_cells_are_named_with_their_place() {
        let place = |text: &str| CellSpec::parse(text, "my.toml").unwrap_err().to_string();
        assert!(place("mapping = 'slc'\nverfy_v = [3.0]").starts_with("my.toml:2: unknown field `verfy_v`"));
        assert!(place("mapping = 'tlc_2_3_2'").starts_with("my.toml: verify_v: found 3 voltages, expected 7"));
        assert!(place("verify_v = [2.5, 2.5, 3.0]").starts_with("my.toml: verify_v[1]: found 2.5, expected a voltage"));
        assert!(place("verify_v = [1.3, 2.5, 3.0]").starts_with("my.toml: verify_v[0]: found 1.3, expected a voltage"));
        assert!(place("retention.t0_hours = 0.0").starts_with("my.toml: retention.t0_hours: found 0, expected"));
        let both = place("[measured]\nunit_v = 1.0\n[retention]\nk0 = 1.0");
        assert!(both.contains("missing field `pe_cycles`"), "{both}");
        let measured = include_str!("../../cells/tlc-measured.toml");
        let changed = |from: &str, to: &str| place(&measured.replacen(from, to, 1));
        let error = changed("[measured]", "[retention]\nk0 = 1.0\n[measured]");
        assert!(error.contains("found `measured` together with `retention`, expected only one of the two"), "{error}");
        let error = changed("65.79, 127.47", "127.47, 65.79");
        assert!(
            error.starts_with("my.toml: measured.programmed.mean[2]: found 65.79 after 127.47, expected means"),
            "{error}"
        );
        let error = changed("sigma = [48.94, ", "sigma = [");
        let expected = "my.toml: measured.programmed.sigma: found 7 numbers, expected 8, one for each state";
        assert_eq!(error, expected);
        let error = changed("tau_hours = 2388.0", "tau_hours = 0.0");
        assert!(error.starts_with("my.toml: measured.mechanisms[1].time.saturating.tau_hours: found 0"), "{error}");
        let error = changed("mean_pe_exponent = 0.5 ", "mean_wear_free = 1.5\nmean_pe_exponent = 0.5 ");
        assert!(error.starts_with("my.toml: measured.mechanisms[0].mean_wear_free: found 1.5, expected"), "{error}");
        let error = changed("variance = [-34.56, 11.76", "variance = [-34.56, -14.0");
        assert!(error.starts_with("my.toml: measured.programmed.sigma[1]: found"), "{error}");
        let error = changed("    [0.0375, 0.15, ", "    [0.0375, ");
        let expected = "my.toml: references.retry_table_v[2]: found 6 numbers, expected 7, one for each boundary";
        assert_eq!(error, expected);
        let missing = CellSpec::open("qlc", Path::new("/nowhere")).unwrap_err();
        assert_eq!((missing.kind(), missing.place()), (softsense_base::ErrorKind::Config, "/nowhere/qlc"));
        assert!(
            missing
                .message()
                .ends_with("one of the shipped: qlc-1-2-4-8, qlc-charge-trap, mlc, tlc-2-3-2, tlc-1-2-4, tlc-measured, mlc-charge-trap, tlc-charge-trap, tlc-charge-trap-asplos21"),
            "{missing}"
        );
    }

    /// Are hard references where the two states of a boundary are confused least?
    #[test]
    fn hard_references_have_the_least_errors() {
        for name in CellSpec::shipped() {
            let cells = cells(name);
            for (boundary, &reference) in cells.hard_references().iter().enumerate() {
                let errors = |volts: f64| {
                    cells.states[boundary].tail(volts).upper() + cells.states[boundary + 1].tail(volts).lower()
                };
                let least = errors(reference);
                assert!(least < errors(reference - 1e-3) && least < errors(reference + 1e-3), "{name} {boundary}");
            }
        }
    }

    /// Are hard references at the least errors also where reads have lifted some cells far above others? A step of reads never changes
    /// errors much.
    #[test]
    fn hard_references_have_the_least_errors_among_hills() {
        let spec = CellSpec::open("tlc-charge-trap", Path::new("")).unwrap();
        let mut before = None;
        for reads in (0..400).map(|step| 1e4 * 1.015f64.powi(step)) {
            let wear = Wear { effective_reads: reads, ..Wear::unread(16_462, 2_284.0) };
            let cells = spec.at(wear);
            let errors = |volts: f64| cells.states[0].tail(volts).upper() + cells.states[1].tail(volts).lower();
            let found = errors(cells.hard_references()[0]);
            let (low, high) = (cells.states[0].centre(), cells.states[1].centre());
            let least =
                (0..=2_000).map(|step| errors(low + (high - low) * f64::from(step) / 2_000.0)).fold(1.0, f64::min);
            assert!(found < least * 1.001, "{reads} reads: {found:e} for {least:e}");
            let grown = before.map_or(1.0, |before| found / before);
            assert!((0.999..1.2).contains(&grown), "{reads} reads: {grown}");
            before = Some(found);
        }
    }

    /// Are references of states that do not overlap, or have no noise, between the states?
    #[test]
    fn fresh_states_have_references_between_them() {
        let spec = CellSpec::default();
        for pe_cycles in [0, 1, 10] {
            let cells = spec.at(Wear::unread(pe_cycles, 0.0));
            let references = cells.hard_references();
            assert!((2.5..=2.55).contains(&references[0]), "{references:?}");
            assert!((references[1] - 3.04).abs() < 1e-3 && (references[2] - 3.64).abs() < 1e-3, "{references:?}");
            assert!(cells.rber(0) < 1e-6 && cells.rber(1) < 1e-3);
        }
    }

    /// Does a controller that does not track retention, or has an offset, read worse? The first reads with the references of fresh cells.
    /// After a year at 10,000 P/E a tenth of all bits would be wrong.
    #[test]
    fn references_follow_what_the_controller_knows() {
        let with = |tracked, offset_v| CellSpec {
            references: References { tracked, offset_v, ..References::default() },
            ..CellSpec::default()
        };
        let aged = Wear::unread(10_000, 8760.0);
        let fresh = Wear { retention_hours: 0.0, ..aged };
        let references = |spec: CellSpec, wear| spec.at(wear).hard_references().to_vec();
        assert_eq!(references(with(false, 0.0), aged), references(with(true, 0.0), fresh));
        let shifted: Vec<f64> = references(with(true, 0.0), aged).iter().map(|volts| volts + 0.05).collect();
        assert_eq!(references(with(true, 0.05), aged), shifted);
        let rber = |spec: CellSpec| spec.at(aged).mean_rber();
        let (tracked, offset, fixed) = (rber(with(true, 0.0)), rber(with(true, 0.05)), rber(with(false, 0.0)));
        assert!(tracked < offset && offset < fixed && (0.07..0.15).contains(&fixed), "{tracked} {offset} {fixed}");
    }

    /// Is the share of ones that of sampled cells, and do known cells have the error rate of their page?
    #[test]
    fn shares_of_ones_are_those_of_regions() {
        for name in CellSpec::shipped() {
            let spec = CellSpec::open(name, Path::new("")).unwrap().with_tracked_references(false);
            let cells = spec.at(Wear::unread(5_000, 2_400.0));
            for page in 0..cells.pages() {
                let sensing = crate::Sensing::new(&cells, page, 1, crate::Placement::MutualInformation);
                let ones: f64 =
                    sensing.probabilities(&cells).iter().step_by(2).map(|[zero, one]| 0.5 * (zero + one)).sum();
                assert!((cells.share_of_ones(page) - ones).abs() < 1e-12, "{name} {page}");
            }
        }
        let gaussian = Cells::gaussian(0.01);
        let (up, down) = gaussian.known_errors(0);
        assert!((up - 0.01).abs() < 1e-12 && (down - 0.01).abs() < 1e-12, "{up} {down}");
    }

    /// Do cells that hold one bit have far fewer errors, in one page, and does a neighbour's program push cells of any state as far?
    #[test]
    fn one_bit_a_cell_and_neighbours() {
        let wear = Wear::unread(3_000, 2_400.0);
        let (three, one) = (cells("tlc-measured"), CellSpec::open("pslc:tlc-measured", Path::new("")).unwrap());
        assert_eq!((one.pages(), one.states(), one.page_names()), (1, 2, &["page"][..]));
        assert!(one.at(wear).rber(0) < 1e-3 * three.mean_rber(), "{:e}", one.at(wear).rber(0));
        let json = toml::to_string(&one).unwrap();
        assert_eq!(CellSpec::parse(&json, "again").unwrap(), one);
        let spec = CellSpec::open("tlc-measured", Path::new("")).unwrap();
        let coupling = 0.02;
        let pushed = CellSpec { interference: Some(Interference { coupling }), ..spec.clone() };
        let (before, after) = (spec.at(wear), pushed.at(wear));
        let fresh = spec.at(Wear { retention_hours: 0.0, ..wear });
        let rises: Vec<f64> = (0..8).map(|state| coupling * (fresh.mean_v(state) - fresh.mean_v(0))).collect();
        let mean = rises.iter().sum::<f64>() / 8.0;
        let variance = rises.iter().map(|rise| (rise - mean).powi(2)).sum::<f64>() / 8.0;
        for state in 0..8 {
            assert!((after.mean_v(state) - before.mean_v(state) - mean).abs() < 1e-9);
            assert!((after.sigma_v(state).powi(2) - before.sigma_v(state).powi(2) - variance).abs() < 1e-9);
        }
        assert!(after.mean_rber() > 1.2 * before.mean_rber(), "{} {}", after.mean_rber(), before.mean_rber());
    }

    /// Does rest slow retention by its factor, and leave fresh cells alone?
    #[test]
    fn rest_slows_retention() {
        for name in ["mlc", "tlc-measured"] {
            let spec = CellSpec::open(name, Path::new("")).unwrap();
            let dwell = Dwell { hours: 100.0, reference_hours: 1.0, slowdown_per_decade: 0.2 };
            let rested = CellSpec { dwell: Some(dwell), ..spec.clone() };
            let (fresh, old) = (Wear::unread(3_000, 0.0), Wear::unread(3_000, 2_400.0));
            for state in 0..spec.states() {
                let moved = |spec: &CellSpec| spec.at(old).mean_v(state) - spec.at(fresh).mean_v(state);
                assert!((moved(&rested) - 0.6 * moved(&spec)).abs() < 1e-9, "{name} {state}");
                assert_eq!(rested.at(fresh).mean_v(state), spec.at(fresh).mean_v(state));
            }
        }
        let none = Dwell { hours: 1e6, reference_hours: 1.0, slowdown_per_decade: 0.2 };
        assert!(
            none.check("dwell")
                .unwrap_err()
                .to_string()
                .contains("leaves a factor of -0.200 on the effect of retention")
        );
    }

    #[test]
    fn gaussian_cells_have_the_error_rate_asked_for() {
        for rber in [1e-9, 1e-4, 0.02827, 0.3, 0.499] {
            let cells = Cells::gaussian(rber);
            assert!((cells.rber(0) / rber - 1.0).abs() < 1e-12, "{rber}: {}", cells.rber(0));
            assert!(cells.bit(0, 0) && !cells.bit(0, 1));
        }
    }
}
