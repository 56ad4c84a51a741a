use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Error, ErrorKind, Result, expect_number, line_of, shipped_or_file};

use crate::Wear;
use crate::distribution::{Distribution, Noise, Tail, bisect};

/// Specifications that ship with softsense, by name.
const SHIPPED: [(&str, &str); 3] = [
    ("mlc", include_str!("../cells/mlc.toml")),
    ("tlc-2-3-2", include_str!("../cells/tlc-2-3-2.toml")),
    ("tlc-1-2-4", include_str!("../cells/tlc-1-2-4.toml")),
];

/// The most states that a cell has.
pub(crate) const MAX_STATES: usize = 8;

/// Which page's bit changes between which neighbouring states. Erased cells hold ones, and each boundary between states
/// changes the bit of one page: a Gray code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
pub enum Mapping {
    /// Two states, one page.
    #[serde(rename = "slc")]
    Slc,
    /// Four states; the lower page has one boundary, the middle one, the upper page the other two.
    #[default]
    #[serde(rename = "mlc")]
    Mlc,
    /// Eight states; lower, centre and upper page have two, three and two boundaries.
    #[serde(rename = "tlc_2_3_2")]
    Tlc232,
    /// Eight states; lower, centre and upper page have one, two and four boundaries.
    #[serde(rename = "tlc_1_2_4")]
    Tlc124,
}

impl Mapping {
    /// The boundaries of each page; boundary i lies between states i and i + 1.
    fn boundaries(self) -> &'static [&'static [usize]] {
        match self {
            Mapping::Slc => &[&[0]],
            Mapping::Mlc => &[&[1], &[0, 2]],
            Mapping::Tlc232 => &[&[0, 4], &[1, 3, 5], &[2, 6]],
            Mapping::Tlc124 => &[&[3], &[1, 5], &[0, 2, 4, 6]],
        }
    }

    fn page_names(self) -> &'static [&'static str] {
        match self {
            Mapping::Slc => &["page"],
            Mapping::Mlc => &["lower", "upper"],
            Mapping::Tlc232 | Mapping::Tlc124 => &["lower", "centre", "upper"],
        }
    }

    fn states(self) -> usize {
        1 << self.boundaries().len()
    }
}

/// Threshold voltages of erased cells: normal. Neither noise nor retention moves them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ErasedState {
    /// Mean, in volts.
    pub mean_v: f64,
    /// Standard deviation, in volts.
    pub sigma_v: f64,
}

impl Default for ErasedState {
    fn default() -> Self {
        Self { mean_v: 1.4, sigma_v: 0.35 }
    }
}

/// Random telegraph noise of programmed cells: Laplace, with scale lambda = `scale_v` N^`pe_exponent` after N P/E cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TelegraphNoise {
    /// lambda after one P/E cycle, in volts; 0 for no noise.
    pub scale_v: f64,
    /// Exponent of P/E cycles.
    pub pe_exponent: f64,
}

impl Default for TelegraphNoise {
    fn default() -> Self {
        Self { scale_v: 0.00025, pe_exponent: 0.5 }
    }
}

/// Loss of charge by programmed cells. After t hours and N P/E cycles a state at voltage x has moved by -mu and its cells
/// have spread by a normal distribution of variance sigma^2:
///
/// ```text
/// mu      = k0 k1 (x - x0_v) ln(1 + t / t0_hours) N^mean_pe_exponent
/// sigma^2 = k0 k2 (x - x0_v) ln(1 + t / t0_hours) N^variance_pe_exponent
/// ```
///
/// Source: Y. Du, D. Zou, Q. Li, L. Shi, H. Jin, C. Xue, "LaLDPC: Latency-aware LDPC for Read Performance Improvement of
/// Solid State Drives", 2017, eq. 1. The paper does not give t0; x is taken to be the mean voltage of the freshly
/// programmed state, half a step above its verify voltage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Factor of both mu and sigma^2; 0 for no loss.
    pub k0: f64,
    /// Factor of mu.
    pub k1: f64,
    /// Factor of sigma^2, in volts.
    pub k2: f64,
    /// The voltage that charge is lost towards: that of erased cells.
    pub x0_v: f64,
    /// The time from which loss is logarithmic, in hours.
    pub t0_hours: f64,
    /// Exponent of P/E cycles in mu.
    pub mean_pe_exponent: f64,
    /// Exponent of P/E cycles in sigma^2.
    pub variance_pe_exponent: f64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            k0: 0.333,
            k1: 4e-4,
            k2: 2e-6,
            x0_v: 1.4,
            t0_hours: 1.0,
            mean_pe_exponent: 0.5,
            variance_pe_exponent: 0.6,
        }
    }
}

/// What the controller knows of where states are. Read references are placed for the states that it expects.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct References {
    /// Whether it expects states where they are at their age, or else where they were at once after programming (at the
    /// same P/E cycles).
    pub tracked: bool,
    /// How far all references are off, in volts.
    pub offset_v: f64,
}

impl Default for References {
    fn default() -> Self {
        Self { tracked: true, offset_v: 0.0 }
    }
}

/// Flash cells by their threshold voltages; the default is LaLDPC's MLC.
///
/// Erased cells are normal; programmed ones uniform over the step above the verify voltage in which programming ends,
/// with random telegraph noise, and move by retention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CellSpec {
    /// Which page's bit changes between which states: `slc`, `mlc`, `tlc_2_3_2` or `tlc_1_2_4`.
    pub mapping: Mapping,
    /// Threshold voltages of erased cells.
    pub erased: ErasedState,
    /// The verify voltage of each programmed state, ascending, in volts.
    pub verify_v: Vec<f64>,
    /// Step of incremental step pulse programming (ISPP), in volts.
    pub program_step_v: f64,
    /// Random telegraph noise.
    pub telegraph_noise: TelegraphNoise,
    /// Loss of charge.
    pub retention: Retention,
    /// What the controller knows of where states are.
    pub references: References,
}

impl Default for CellSpec {
    fn default() -> Self {
        Self {
            mapping: Mapping::Mlc,
            erased: ErasedState::default(),
            verify_v: vec![2.55, 3.15, 3.75],
            program_step_v: 0.38,
            telegraph_noise: TelegraphNoise::default(),
            retention: Retention::default(),
            references: References::default(),
        }
    }
}

impl CellSpec {
    /// The names of the shipped specifications.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// Opens a shipped specification by name, or a TOML file (relative paths are taken from `directory`).
    ///
    /// # Errors
    /// A file that cannot be read, is not TOML of this shape, or has a field out of range.
    pub fn open(name_or_path: &str, directory: &Path) -> Result<Self> {
        let (text, origin) = shipped_or_file(&SHIPPED, name_or_path, directory, ErrorKind::Config, "a file of cells")?;
        Self::parse(&text, &origin)
    }

    fn parse(text: &str, origin: &str) -> Result<Self> {
        let spec: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            Error::config(format!("{origin}:{line}"), error.message().replace('\n', " "))
        })?;
        // In a file fields stand at the top, below no path.
        spec.check("").map_err(|error| {
            Error::config(format!("{origin}: {}", error.place().trim_start_matches('.')), error.message())
        })?;
        Ok(spec)
    }

    /// Checks the ranges; `path` is where the cells stand in the config.
    pub fn check(&self, path: &str) -> Result<()> {
        let within = |field: &str, value, low, high| expect_number(format!("{path}.{field}"), value, low, high);
        within("erased.mean_v", self.erased.mean_v, -10.0, 10.0)?;
        within("erased.sigma_v", self.erased.sigma_v, 1e-3, 5.0)?;
        let (found, expected) = (self.verify_v.len(), self.states() - 1);
        if found != expected {
            let message = format!("found {found} voltages, expected {expected}, one for each programmed state");
            return Err(Error::config(format!("{path}.verify_v"), message));
        }
        let mut least = self.erased.mean_v.max(self.retention.x0_v);
        for (index, &volts) in self.verify_v.iter().enumerate() {
            if !(volts > least && volts <= 20.0) {
                let message = format!("found {volts}, expected a voltage above {least} and up to 20");
                return Err(Error::config(format!("{path}.verify_v[{index}]"), message));
            }
            least = volts;
        }
        within("program_step_v", self.program_step_v, 1e-3, 5.0)?;
        within("telegraph_noise.scale_v", self.telegraph_noise.scale_v, 0.0, 1.0)?;
        within("telegraph_noise.pe_exponent", self.telegraph_noise.pe_exponent, 0.0, 2.0)?;
        within("retention.k0", self.retention.k0, 0.0, 1e3)?;
        within("retention.k1", self.retention.k1, 0.0, 1.0)?;
        within("retention.k2", self.retention.k2, 0.0, 1.0)?;
        within("retention.x0_v", self.retention.x0_v, -10.0, 20.0)?;
        within("retention.t0_hours", self.retention.t0_hours, 1e-6, 1e6)?;
        within("retention.mean_pe_exponent", self.retention.mean_pe_exponent, 0.0, 2.0)?;
        within("retention.variance_pe_exponent", self.retention.variance_pe_exponent, 0.0, 2.0)?;
        within("references.offset_v", self.references.offset_v, -5.0, 5.0)
    }

    /// How many states a cell has.
    pub fn states(&self) -> usize {
        self.mapping.states()
    }

    /// How many pages share a wordline: bits a cell.
    pub fn pages(&self) -> usize {
        self.mapping.boundaries().len()
    }

    /// The names of the pages, in the order of their numbers.
    pub fn page_names(&self) -> &'static [&'static str] {
        self.mapping.page_names()
    }

    /// The cells of a wordline after `wear`.
    ///
    /// # Panics
    /// If there is not one verify voltage for each programmed state: see [`Self::check`].
    pub fn at(&self, wear: Wear) -> Cells {
        assert_eq!(self.verify_v.len(), self.states() - 1, "one verify voltage for each programmed state");
        let states = self.distributions(wear);
        let fresh = || self.distributions(Wear { retention_hours: 0.0, ..wear });
        let expected = if self.references.tracked { states.clone() } else { fresh() };
        Cells::new(self.mapping, states, expected, self.references.offset_v)
    }

    fn distributions(&self, wear: Wear) -> Vec<Distribution> {
        let cycles = f64::from(wear.pe_cycles);
        let Retention { k0, k1, k2, x0_v, t0_hours, mean_pe_exponent, variance_pe_exponent } = self.retention;
        let loss = k0 * libm::log1p(wear.retention_hours / t0_hours);
        let shift = loss * k1 * libm::pow(cycles, mean_pe_exponent);
        let spread = loss * k2 * libm::pow(cycles, variance_pe_exponent);
        let lambda_v = self.telegraph_noise.scale_v * libm::pow(cycles, self.telegraph_noise.pe_exponent);
        let erased = Distribution::Normal { mean_v: self.erased.mean_v, sigma_v: self.erased.sigma_v };
        let programmed = self.verify_v.iter().map(|verify_v| {
            let height = verify_v + 0.5 * self.program_step_v - x0_v;
            Distribution::Programmed {
                start_v: verify_v - shift * height,
                step_v: self.program_step_v,
                noise: Noise { sigma_v: libm::sqrt(spread * height), lambda_v },
            }
        });
        [erased].into_iter().chain(programmed).collect()
    }
}

/// The cells of one wordline at one age: distributions of their threshold voltages by state, the mapping of states to
/// bits, and hard reference voltages. States are equally likely.
#[derive(Debug, Clone)]
pub struct Cells {
    mapping: Mapping,
    states: Vec<Distribution>,
    /// The states that references are placed for, before they are shifted by the offset.
    expected: Vec<Distribution>,
    offset_v: f64,
    hard_references: Vec<f64>,
}

impl Cells {
    fn new(mapping: Mapping, states: Vec<Distribution>, expected: Vec<Distribution>, offset_v: f64) -> Self {
        // States that have passed each other leave no room between their references.
        let hard_references = expected
            .windows(2)
            .scan(f64::NEG_INFINITY, |least, pair| {
                *least = least.max(crossing(&pair[0], &pair[1]) + offset_v);
                Some(*least)
            })
            .collect();
        Self { mapping, states, expected, offset_v, hard_references }
    }

    /// The textbook boundary on which codes are compared: two states, Normal(-1, s^2) of bit 1 and Normal(1, s^2) of
    /// bit 0, read by their sign with a raw bit error rate of `rber`.
    ///
    /// # Panics
    /// If `rber` is not from 1e-9 to 0.499.
    pub fn gaussian(rber: f64) -> Self {
        assert!((1e-9..=0.499).contains(&rber), "a raw bit error rate of {rber}, not from 1e-9 to 0.499");
        let sigma_v = -1.0 / Distribution::Normal { mean_v: 0.0, sigma_v: 1.0 }.quantile(rber);
        let states: Vec<_> = [-1.0, 1.0].map(|mean_v| Distribution::Normal { mean_v, sigma_v }).into();
        Self { mapping: Mapping::Slc, expected: states.clone(), states, offset_v: 0.0, hard_references: vec![0.0] }
    }

    /// How many states a cell has.
    pub fn states(&self) -> usize {
        self.states.len()
    }

    /// How many pages share the wordline.
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

    /// The probability that the threshold voltage of a cell in `state` is below `volts`.
    pub fn cdf(&self, state: usize, volts: f64) -> f64 {
        self.states[state].tail(volts).lower()
    }

    /// The probability density of the threshold voltage of a cell in `state`, a volt.
    pub fn density(&self, state: usize, volts: f64) -> f64 {
        self.states[state].density(volts)
    }

    /// The voltage below which a share `u` of the cells in `state` is; 0 and 1 give voltages beyond which there is
    /// nothing that can be told from nothing.
    pub fn quantile(&self, state: usize, u: f64) -> f64 {
        self.states[state].quantile(u)
    }

    /// The reference voltage of a hard decision at each boundary: where the densities of the two states that the
    /// controller expects cross (the middle of the gap between states that do not overlap), plus the offset.
    pub fn hard_references(&self) -> &[f64] {
        &self.hard_references
    }

    /// The raw bit error rate of `page`: the probability that a cell of any state is read at the hard references as the
    /// other bit.
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

    /// The mean of [`Self::rber`] over the pages.
    pub fn mean_rber(&self) -> f64 {
        (0..self.pages()).map(|page| self.rber(page)).sum::<f64>() / self.pages() as f64
    }

    /// The states as they are.
    pub(crate) fn distributions(&self) -> &[Distribution] {
        &self.states
    }

    /// The states that references are placed for, and how far all references are then shifted.
    pub(crate) fn expected(&self) -> (&[Distribution], f64) {
        (&self.expected, self.offset_v)
    }
}

/// Where the density of `left`, the lower state, falls below that of `right`.
fn crossing(left: &Distribution, right: &Distribution) -> f64 {
    let (low, high) = (left.centre(), right.centre());
    let (below, above) = bisect(low, high, |volts| left.density(volts) > right.density(volts));
    if left.density(above) < right.density(above) {
        return 0.5 * (below + above);
    }
    // Both are nothing between states that do not overlap, and equal where two uniform parts do: take the middle.
    let (_, end) = bisect(above, high, |volts| left.density(volts) >= right.density(volts));
    0.5 * (below + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(name: &str) -> Cells {
        let spec = CellSpec::open(name, Path::new("")).unwrap();
        spec.at(Wear { pe_cycles: 5_000, retention_hours: 2_400.0 })
    }

    #[test]
    fn mappings_are_gray_and_erased_cells_hold_ones() {
        let slc = CellSpec { mapping: Mapping::Slc, verify_v: vec![3.0], ..CellSpec::default() };
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
        of(slc.at(Wear { pe_cycles: 0, retention_hours: 0.0 }), &[1]);
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
        let missing = CellSpec::open("qlc", Path::new("/nowhere")).unwrap_err();
        assert_eq!((missing.kind(), missing.place()), (softsense_base::ErrorKind::Config, "/nowhere/qlc"));
        assert!(missing.message().ends_with("one of the shipped: mlc, tlc-2-3-2, tlc-1-2-4"), "{missing}");
    }

    /// Are hard references where a boundary's two states are confused least?
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

    /// References of states that do not overlap, or are not noisy at all, are between them.
    #[test]
    fn fresh_states_have_references_between_them() {
        let spec = CellSpec::default();
        for pe_cycles in [0, 1, 10] {
            let cells = spec.at(Wear { pe_cycles, retention_hours: 0.0 });
            let references = cells.hard_references();
            assert!((2.5..=2.55).contains(&references[0]), "{references:?}");
            assert!((references[1] - 3.04).abs() < 1e-3 && (references[2] - 3.64).abs() < 1e-3, "{references:?}");
            assert!(cells.rber(0) < 1e-6 && cells.rber(1) < 1e-3);
        }
    }

    /// A controller that does not track retention reads with the references of fresh cells, one with an offset beside the
    /// best: both read worse. After a year at 10,000 P/E a tenth of all bits would be wrong.
    #[test]
    fn references_follow_what_the_controller_knows() {
        let with = |tracked, offset_v| CellSpec { references: References { tracked, offset_v }, ..CellSpec::default() };
        let aged = Wear { pe_cycles: 10_000, retention_hours: 8760.0 };
        let fresh = Wear { retention_hours: 0.0, ..aged };
        let references = |spec: CellSpec, wear| spec.at(wear).hard_references().to_vec();
        assert_eq!(references(with(false, 0.0), aged), references(with(true, 0.0), fresh));
        let shifted: Vec<f64> = references(with(true, 0.0), aged).iter().map(|volts| volts + 0.05).collect();
        assert_eq!(references(with(true, 0.05), aged), shifted);
        let rber = |spec: CellSpec| spec.at(aged).mean_rber();
        let (tracked, offset, fixed) = (rber(with(true, 0.0)), rber(with(true, 0.05)), rber(with(false, 0.0)));
        assert!(tracked < offset && offset < fixed && (0.07..0.15).contains(&fixed), "{tracked} {offset} {fixed}");
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
