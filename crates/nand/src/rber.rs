use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use softsense_base::{Result, canonical, check_ranges};

use crate::cells::{DefaultReferences, MAX_PAGES, ONE_BIT};
use crate::distribution::bisect;
use crate::equivalent::equivalent_rber;
use crate::rber_grid::{CompiledGrid, RberGrid};
use crate::sensing::MAX_LEVEL;
use crate::{CellSpec, Cells, Inference, NamedCells, ReadDisturb, Sensing};

/// The largest number of effective reads that a wear may have.
pub const MOST_EFFECTIVE_READS: f64 = 1e12;

/// The wear and age of a codeword's cells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wear {
    /// Program/erase cycles of the block.
    pub pe_cycles: u32,
    /// Hours since the codeword was written.
    #[schemars(range(min = 0.0, max = 1e7))]
    pub retention_hours: f64,
    /// Effective reads since the write: reads of other wordlines of its block, where reads of the two adjacent
    /// wordlines count `read_disturb.adjacent_stress` times.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = MOST_EFFECTIVE_READS))]
    pub effective_reads: f64,
}

pub(crate) fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Wear {
    /// The wear of cells whose block has not been read.
    pub const fn unread(pe_cycles: u32, retention_hours: f64) -> Self {
        Self { pe_cycles, retention_hours, effective_reads: 0.0 }
    }

    /// Checks the ranges; `path` is the place of the wear in a config.
    pub fn check(self, path: &str) -> Result<()> {
        check_ranges(path, &self)
    }
}

/// Raw bit error rate as a function of wear.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RberModel {
    /// RBER that is the same at every age.
    Constant {
        /// Raw bit error rate.
        #[schemars(range(min = 0.0, max = 0.5))]
        rber: f64,
    },
    /// `floor + scale (pe_cycles / 1000)^pe_exponent ln(1 + retention_hours / 1 h)^retention_exponent`.
    PowerLaw {
        /// RBER to which wear and retention add: the RBER of fresh data, where RBER depends on retention.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 0.5))]
        floor: f64,
        /// RBER at 1,000 P/E cycles where the retention factor is 1.
        #[schemars(range(min = 0.0, max = 0.5))]
        scale: f64,
        /// Exponent of P/E cycles.
        #[schemars(range(min = 0.0, max = 10.0))]
        pe_exponent: f64,
        /// Exponent of the logarithm of retention; 0 makes RBER independent of retention.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 10.0))]
        retention_exponent: f64,
    },
    /// `scale exp(pe_cycles / e_folding_pe_cycles)`.
    Exponential {
        /// RBER of fresh flash.
        #[schemars(range(min = 0.0, max = 0.5))]
        scale: f64,
        /// P/E cycles in which RBER grows by a factor of e.
        #[schemars(range(min = 1.0, max = 1e9))]
        e_folding_pe_cycles: f64,
    },
    /// 72-layer TLC, `1.48e-3 + 3.90e-10 c^2.05 + 6.28e-5 c^0.14 h^0.54` with c P/E cycles and h hours of retention. Data of a block
    /// without a P/E cycle has c = 1, as in its first cycle. The published fit has a third term for reads of the page itself, which says
    /// nothing about reads of other pages. That term is left out, so the model holds for pages that are seldom read.
    #[serde(rename = "tlc_72_layer")]
    Tlc72Layer,
    /// Measured rates on a grid of P/E cycles and retention.
    Grid(RberGrid),
    /// RBER by page from distributions of threshold voltages: the fields of a model of cells (`{}` is LaLDPC's MLC), the name of a shipped
    /// model, or a file beside the config.
    ThresholdVoltage(NamedCells),
}

impl RberModel {
    /// The raw bit error rate at `wear`, clamped to [0, 0.5]; for threshold voltages, the mean over the pages. It is bit-identical on every
    /// CPU.
    pub fn rber(&self, wear: Wear) -> f64 {
        match self {
            RberModel::ThresholdVoltage(_) => self.cells().at(wear).mean_rber().clamp(0.0, 0.5),
            RberModel::Grid(grid) => grid.compiled().at(wear),
            formula => formula.of_terms(formula.terms(wear.pe_cycles), wear.retention_hours),
        }
    }

    /// The terms of a formula at a number of P/E cycles.
    fn terms(&self, pe_cycles: u32) -> Terms {
        let c = f64::from(pe_cycles);
        match *self {
            RberModel::Constant { rber } => (rber, 0.0),
            RberModel::PowerLaw { floor, scale, pe_exponent, .. } => {
                (floor, scale * libm::pow(c / 1000.0, pe_exponent))
            }
            RberModel::Exponential { scale, e_folding_pe_cycles } => (scale * libm::exp(c / e_folding_pe_cycles), 0.0),
            RberModel::Tlc72Layer => {
                // With c = 0 the formula would say that data is kept for ever; with c = 1 it does not.
                let c = c.max(1.0);
                (1.48e-3 + 3.90e-10 * libm::pow(c, 2.05), 6.28e-5 * libm::pow(c, 0.14))
            }
            RberModel::Grid(_) | RberModel::ThresholdVoltage(_) => unreachable!("they are no formula"),
        }
    }

    /// The raw bit error rate of a formula, from its [terms](Self::terms) and a retention.
    fn of_terms(&self, (fresh, factor): Terms, retention_hours: f64) -> f64 {
        let retention = match *self {
            RberModel::PowerLaw { retention_exponent, .. } if retention_exponent != 0.0 => {
                libm::pow(libm::log1p(retention_hours), retention_exponent)
            }
            RberModel::Tlc72Layer => libm::pow(retention_hours, 0.54),
            _ => 1.0,
        };
        (fresh + factor * retention).clamp(0.0, 0.5)
    }

    /// The model, prepared for many queries.
    pub fn compiled(&self) -> Rber {
        Rber(match self {
            RberModel::ThresholdVoltage(_) => Kind::Surfaces(Surfaces::of_cells(self.cells())),
            RberModel::Grid(grid) => Kind::Grid(Arc::new(grid.compiled())),
            formula => {
                let terms = (0..TERMS_CHUNKS).map(|_| OnceLock::new()).collect();
                Kind::Formula(Arc::new(Formula { model: formula.clone(), terms }))
            }
        })
    }

    /// The cells of the model, if it has any and is open.
    pub fn open_cells(&self) -> Option<&CellSpec> {
        match self {
            RberModel::ThresholdVoltage(NamedCells::Given(cells)) => Some(cells),
            _ => None,
        }
    }

    /// The inference of references of the cells, if they have one.
    pub fn inference(&self) -> Option<&Inference> {
        self.open_cells()?.references.inference.as_ref()
    }

    /// Tells whether the cells model the noise of shortened sensing.
    pub fn knows_shortened_sensing(&self) -> bool {
        self.open_cells().is_some_and(|cells| cells.shortened_sensing.is_some())
    }

    /// The number of pages that share a wordline; `None` if the model knows no pages.
    pub fn pages(&self) -> Option<usize> {
        self.open_cells().map(CellSpec::pages)
    }

    /// A few words for people.
    pub fn describe(&self) -> String {
        match self {
            RberModel::Constant { rber } => format!("{rber:e}"),
            RberModel::PowerLaw { .. } => "by power law in P/E cycles and retention".into(),
            RberModel::Exponential { .. } => "exponential in P/E cycles".into(),
            RberModel::Tlc72Layer => "of 72-layer TLC by P/E cycles and retention".into(),
            RberModel::Grid(_) => "on a measured grid of P/E cycles and retention".into(),
            RberModel::ThresholdVoltage(NamedCells::Named(name)) => format!("by threshold voltages of {name}"),
            RberModel::ThresholdVoltage(NamedCells::Given(_)) => "by threshold voltages".into(),
        }
    }

    /// Tells whether P/E cycles change the RBER.
    pub fn depends_on_pe_cycles(&self) -> bool {
        match *self {
            RberModel::Constant { .. } => false,
            RberModel::PowerLaw { scale, pe_exponent, .. } => scale != 0.0 && pe_exponent != 0.0,
            RberModel::Exponential { .. } | RberModel::Tlc72Layer | RberModel::ThresholdVoltage(_) => true,
            RberModel::Grid(ref grid) => grid.depends_on_pe_cycles(),
        }
    }

    /// Tells whether retention changes the RBER, so that write times have to be remembered.
    pub fn depends_on_retention(&self) -> bool {
        match *self {
            RberModel::Constant { .. } | RberModel::Exponential { .. } => false,
            RberModel::PowerLaw { retention_exponent, .. } => retention_exponent != 0.0,
            RberModel::Tlc72Layer => true,
            RberModel::Grid(ref grid) => grid.depends_on_retention(),
            RberModel::ThresholdVoltage(_) => self.cells().depends_on_retention(),
        }
    }

    /// The disturbance of the cells by reads; `None` if reads do not disturb them.
    pub fn read_disturb(&self) -> Option<ReadDisturb> {
        self.open_cells()?.read_disturb
    }

    /// Checks the ranges, and opens the cells that the model names; a file is taken from `directory`. `path` is the place of the model in
    /// the config. Before this call a model that names cells has no data of them.
    ///
    /// # Errors
    /// A number out of range, or cells that do not open.
    pub fn open(&self, path: &str, directory: &Path) -> Result<Self> {
        if let RberModel::ThresholdVoltage(cells) = self {
            let cells = cells.open(&format!("{path}.threshold_voltage"), directory)?;
            return Ok(RberModel::ThresholdVoltage(cells.into()));
        }
        self.check(path).map(|()| self.clone())
    }

    /// The reason why a run may not start at an age: the age is beyond the measurements.
    pub fn beyond(&self, start: Wear) -> Option<String> {
        match self {
            RberModel::Grid(grid) => grid.beyond(start),
            _ => None,
        }
    }

    /// Tells whether the model names its cells instead of describing them.
    pub fn names_cells(&self) -> bool {
        matches!(self, RberModel::ThresholdVoltage(NamedCells::Named(_)))
    }

    /// Gives shipped cells their shipped name, however it was written.
    pub fn use_own_names(&mut self, directory: &Path) {
        if let RberModel::ThresholdVoltage(NamedCells::Named(name)) = self {
            let (prefix, of) = name.split_at(if name.starts_with(ONE_BIT) { ONE_BIT.len() } else { 0 });
            *name = format!("{prefix}{}", canonical(of, CellSpec::shipped(), directory));
        }
    }

    /// The cells of a model by threshold voltages that is open.
    ///
    /// # Panics
    /// If the model is any other one.
    pub fn cells(&self) -> &CellSpec {
        self.open_cells().expect("a model with cells that is open")
    }

    fn check(&self, path: &str) -> Result<()> {
        check_ranges(path, self)?;
        if let RberModel::Grid(grid) = self { grid.check(&format!("{path}.grid")) } else { Ok(()) }
    }
}

/// The place of the references of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReferencesAt {
    /// The references of the cells' own description: they track the age, or are the chip's default.
    #[default]
    Cells,
    /// The chip's default references, whatever the age.
    Default,
    /// The default references with the offsets of an entry of the chip's retry table, counted from 0, at all levels.
    RetryEntry(u8),
    /// The references that a search for the valleys between states has found.
    Valleys,
    /// The references that follow from a measurement at one boundary, this number of steps off the default ones.
    Inferred(i8),
}

impl fmt::Display for ReferencesAt {
    /// Writes the place as in tables and files: `default`, `retry_entry:2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReferencesAt::Cells => f.write_str("cells"),
            ReferencesAt::Default => f.write_str("default"),
            ReferencesAt::RetryEntry(entry) => write!(f, "retry_entry:{entry}"),
            ReferencesAt::Valleys => f.write_str("valleys"),
            ReferencesAt::Inferred(steps) => write!(f, "inferred:{steps}"),
        }
    }
}

/// The way in which a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadWith {
    /// The place of the references.
    pub references: ReferencesAt,
    /// The number of references at each boundary, 1 to 7; 1 is hard decision.
    pub level: u8,
    /// Sensing time in per cent of the whole time, 1 to 100.
    pub sensing_percent: u8,
}

impl ReadWith {
    /// A read at a level with the references of the cells.
    pub fn level(level: u8) -> Self {
        Self { level, ..Self::hard(ReferencesAt::Cells) }
    }

    /// A read by hard decision with references at a place.
    pub fn hard(references: ReferencesAt) -> Self {
        Self { references, level: 1, sensing_percent: 100 }
    }
}

/// A [`Wear`], and its position on the grids of a [`Rber`].
#[derive(Debug, Clone, Copy)]
pub struct LocatedWear {
    wear: Wear,
    root_pe_cycles: f64,
    /// ln(1 + retention / t0).
    ln_retention: f64,
    /// ln(1 + effective reads / r0); 0 where reads do not disturb.
    ln_reads: f64,
}

/// A [`RberModel`] that answers in nanoseconds. Clones and threads share computed values, and so do models of the same cells that the
/// process has opened recently, such as the runs of a sweep.
///
/// Threshold voltages take some hundred microseconds at each age, and their soft levels take milliseconds. Here they are computed once for
/// each point of a grid over P/E cycles and retention, when first asked for near it, and interpolated in logarithms: see [`Self::by`].
#[derive(Debug, Clone)]
pub struct Rber(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// A formula, or a constant; it has no pages.
    Formula(Arc<Formula>),
    Grid(Arc<CompiledGrid>),
    Surfaces(Arc<Surfaces>),
}

impl Rber {
    /// The smallest raw bit error rate of threshold voltages, so that every rate has a logarithm.
    pub const LEAST: f64 = 1e-30;

    /// The raw bit error rate at `wear` of `page`, or the mean over the pages; for models that know no pages, the rate of any page. It is
    /// bit-identical on every CPU, in whatever order ages are asked for.
    ///
    /// For threshold voltages it is never below [`Self::LEAST`], and interpolation adds an error. For the shipped cells the error is at
    /// most 0.5 % of a rate above 1e-5, and 3 % of a rate above 1e-9.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn at(&self, wear: Wear, page: Option<usize>) -> f64 {
        self.by(wear, page, ReadWith::level(1))
    }

    /// The raw bit error rate at which a decode table is to be asked for these cells. The table was measured on the textbook boundary
    /// ([`Cells::gaussian`]) with references where information is largest.
    ///
    /// For hard decisions it is the rate itself. For soft levels it is the rate of a textbook boundary that has the same equivocation at
    /// this level as these cells, read with their own references. If references are misplaced, or a third state reaches in, the share of
    /// wrong hard decisions says little about soft ones. Interpolation adds an error as in [`Self::at`], but of 1 % where the error there
    /// is 0.5 %. Formulas describe only the one boundary, and are the same at all levels.
    ///
    /// # Panics
    /// If there is no such page, level or place of references.
    pub fn by(&self, wear: Wear, page: Option<usize>, read: ReadWith) -> f64 {
        self.by_located(&self.locate(wear), page, read)
    }

    /// The position of a wear on the grids of the model, computed once for all queries there.
    #[inline]
    pub fn locate(&self, wear: Wear) -> LocatedWear {
        match &self.0 {
            Kind::Formula(_) | Kind::Grid(_) => {
                LocatedWear { wear, root_pe_cycles: 0.0, ln_retention: 0.0, ln_reads: 0.0 }
            }
            Kind::Surfaces(surfaces) => surfaces.locate(wear),
        }
    }

    /// [`Self::by`] for a wear that [was located](Self::locate).
    pub fn by_located(&self, located: &LocatedWear, page: Option<usize>, read: ReadWith) -> f64 {
        let wear = located.wear;
        let only_cells = || assert_eq!(read.references, ReferencesAt::Cells, "a model without other references");
        match &self.0 {
            Kind::Formula(formula) => {
                only_cells();
                formula.at(wear)
            }
            Kind::Grid(grid) => {
                only_cells();
                grid.at(wear)
            }
            Kind::Surfaces(surfaces) => surfaces.of(read, page).at(located, page),
        }
    }

    /// The errors of cells that are known to be in the two states about the boundary at which references are inferred. The first is the
    /// share of cells of the lower state that read above the reference, the second the share of cells of the upper state that read below.
    /// Interpolation adds an error as in [`Self::at`].
    ///
    /// # Panics
    /// If the model has no cells, or cells without an inference.
    pub fn known_errors(&self, wear: Wear, references: ReferencesAt) -> (f64, f64) {
        let Kind::Surfaces(surfaces) = &self.0 else { panic!("a model without cells") };
        let (surface, located) = (surfaces.known_errors(references), surfaces.locate(wear));
        (surface.value(&located, 0), surface.value(&located, 1))
    }

    /// The wear at which threshold voltages would have a raw bit error rate of `rber`, after the same retention. In this way the factor of
    /// a chip or a page acts on voltages. It is the least number of P/E cycles that reaches `rber`, up to ten times those of `wear` or
    /// 10,000, whichever is more.
    ///
    /// New cells may be beyond `rber` after this retention. If they lose charge, too, the retention is shortened until they are not. Other
    /// models have no voltages: their wear stays as it is.
    pub fn wear_for(&self, wear: Wear, page: Option<usize>, rber: f64) -> Wear {
        let Kind::Surfaces(surfaces) = &self.0 else { return wear };
        let hard = surfaces.of(ReadWith::level(1), page);
        let reaches = |pe_cycles: u32| hard.at(&surfaces.locate(Wear { pe_cycles, ..wear }), page) >= rber;
        let limit = wear.pe_cycles.saturating_mul(10).max(10_000);
        // Brackets grow from the likely answer, because every query fills the grid around it.
        let (mut low, mut high) = (wear.pe_cycles, wear.pe_cycles);
        let mut stride = 1 + wear.pe_cycles / 32;
        if reaches(high) {
            while low > 0 && reaches(low) {
                (low, high) = (low.saturating_sub(stride), low);
                stride = stride.saturating_mul(2);
            }
            if reaches(low) {
                let after = |hours: f64| {
                    let new = Wear { pe_cycles: 0, retention_hours: hours, ..wear };
                    hard.at(&surfaces.locate(new), page)
                };
                let forget = after(wear.retention_hours) > 1.001 * after(0.0);
                let retention_hours = match after(0.0) < rber {
                    true if forget => bisect(0.0, wear.retention_hours, |hours| after(hours) < rber).1,
                    false if forget => 0.0,
                    _ => wear.retention_hours,
                };
                return Wear { pe_cycles: 0, retention_hours, ..wear };
            }
        } else {
            while high < limit && !reaches(high) {
                (low, high) = (high, high.saturating_add(stride).min(limit));
                stride = stride.saturating_mul(2);
            }
            if !reaches(high) {
                return Wear { pe_cycles: high, ..wear };
            }
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if reaches(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Wear { pe_cycles: high, ..wear }
    }
}

/// A formula, with its terms that depend only on P/E cycles, which are few whole numbers.
#[derive(Debug)]
struct Formula {
    model: RberModel,
    /// Chunks of [`TERMS_PER_CHUNK`] P/E cycles, filled when they are first asked for.
    terms: Vec<OnceLock<Box<[Terms]>>>,
}

/// The raw bit error rate without retention, and the factor of its retention term.
type Terms = (f64, f64);

const TERMS_PER_CHUNK: u32 = 64;
/// Beyond 65,536 P/E cycles terms are computed each time.
const TERMS_CHUNKS: u32 = 1024;

impl Formula {
    fn at(&self, wear: Wear) -> f64 {
        let first = wear.pe_cycles / TERMS_PER_CHUNK * TERMS_PER_CHUNK;
        let fill = || (first..first + TERMS_PER_CHUNK).map(|pe_cycles| self.model.terms(pe_cycles)).collect();
        let terms = match self.terms.get((wear.pe_cycles / TERMS_PER_CHUNK) as usize) {
            Some(chunk) => chunk.get_or_init(fill)[(wear.pe_cycles % TERMS_PER_CHUNK) as usize],
            None => self.model.terms(wear.pe_cycles),
        };
        self.model.of_terms(terms, wear.retention_hours)
    }
}

/// The [`Surface`] of each quantity of cells, made when it is first needed.
#[derive(Debug)]
struct Surfaces {
    cells: Arc<CellSpec>,
    t0_hours: f64,
    r0_reads: f64,
    placed: Arc<PlacedReferences>,
    defaults: Arc<DefaultReferences>,
    /// The surfaces of whole sensing.
    whole: Sensed,
    /// The surfaces of shortened sensing, by its time in per cent.
    shortened: Box<[OnceLock<Sensed>]>,
    /// The surfaces of known errors, by place of references.
    known_errors: Box<[OnceLock<Surface>]>,
}

/// Surfaces by place of references (see [`Surfaces::place`]): for each place that of hard decisions, then for each soft level those of the
/// pages and of their mean.
type Sensed = Box<[OnceLock<Surface>]>;

/// The surfaces of the cells that were used last. They are functions of the cells alone, so all users may share them.
static KEPT: Mutex<Vec<Arc<Surfaces>>> = Mutex::new(Vec::new());

/// The largest number of cells whose surfaces are kept.
const MOST_KEPT: usize = 4;

impl Surfaces {
    /// The number of surfaces for each place of references.
    const OF_PLACE: usize = 1 + (MAX_LEVEL as usize - 1) * (MAX_PAGES + 1);

    /// The surfaces of cells that the process has used recently, or new ones.
    fn of_cells(cells: &CellSpec) -> Arc<Self> {
        let mut kept = KEPT.lock().expect("nothing panics while it holds them");
        let known = kept.iter().position(|surfaces| *surfaces.cells == *cells);
        let surfaces = known.map_or_else(|| Arc::new(Self::new(cells)), |at| kept.remove(at));
        kept.insert(0, Arc::clone(&surfaces));
        kept.truncate(MOST_KEPT);
        surfaces
    }

    fn new(cells: &CellSpec) -> Self {
        let inferred = cells.references.inference.as_ref().map_or(0, |inference| 2 * inference.steps as usize + 1);
        let places = 3 + cells.retries() + inferred;
        Self {
            cells: Arc::new(cells.clone()),
            t0_hours: cells.t0_hours(),
            r0_reads: cells.r0_reads(),
            placed: Arc::default(),
            defaults: Arc::default(),
            whole: empty(places * Self::OF_PLACE),
            shortened: empty(100),
            known_errors: empty(places),
        }
    }

    fn locate(&self, wear: Wear) -> LocatedWear {
        let disturbed = wear.effective_reads > 0.0 && self.cells.read_disturb.is_some();
        LocatedWear {
            wear,
            root_pe_cycles: libm::sqrt(f64::from(wear.pe_cycles)),
            ln_retention: libm::log1p(wear.retention_hours / self.t0_hours),
            ln_reads: if disturbed { libm::log1p(wear.effective_reads / self.r0_reads) } else { 0.0 },
        }
    }

    #[inline]
    fn place(&self, references: ReferencesAt) -> usize {
        match references {
            ReferencesAt::Cells => 0,
            ReferencesAt::Default => 1,
            ReferencesAt::Valleys => 2,
            ReferencesAt::RetryEntry(entry) => 3 + usize::from(entry),
            ReferencesAt::Inferred(steps) => {
                let from = i32::from(steps) + self.cells.inference().steps as i32;
                3 + self.cells.retries() + usize::try_from(from).expect("a place that may be inferred")
            }
        }
    }

    #[inline]
    fn of(&self, read: ReadWith, page: Option<usize>) -> &Surface {
        let sensed = match read.sensing_percent {
            100 => &self.whole,
            percent => self.shortened[usize::from(percent)].get_or_init(|| empty(self.whole.len())),
        };
        let (within, asked) = match usize::from(read.level) {
            1 => (0, Asked::Hard(read)),
            level => (1 + (level - 2) * (MAX_PAGES + 1) + page.unwrap_or(MAX_PAGES), Asked::Soft(read, page)),
        };
        let index = self.place(read.references) * Self::OF_PLACE + within;
        sensed[index].get_or_init(|| Surface::new(self, asked))
    }

    fn known_errors(&self, references: ReferencesAt) -> &Surface {
        let surface = &self.known_errors[self.place(references)];
        surface.get_or_init(|| Surface::new(self, Asked::KnownErrors(references)))
    }
}

fn empty<T>(count: usize) -> Box<[OnceLock<T>]> {
    (0..count).map(|_| OnceLock::new()).collect()
}

/// The most informative references of soft levels. The search for them takes long. Its result is the same wherever hard references are: an
/// entry of a retry table, or an inferred offset, moves the references of all levels.
#[derive(Debug, Default)]
struct PlacedReferences(Mutex<HashMap<PlacedFor, Arc<[f64]>>>);

/// The bits of the numbers of a wear, the page and the level.
type PlacedFor = ([u64; 3], usize, u8);

impl PlacedReferences {
    /// The sensing of a page of cells after `wear`, with references at a place.
    fn sensing(&self, spec: &CellSpec, wear: Wear, read: ReadWith, cells: &Cells, page: usize) -> Sensing {
        let Wear { pe_cycles, retention_hours, effective_reads } = spec.expected_wear(wear, read.references);
        let of = [pe_cycles.into(), retention_hours.to_bits(), effective_reads.to_bits()];
        let known = || self.0.lock().expect("nothing panics while it holds the references");
        let key = (of, page, read.level);
        // Two threads may compute the same at once, with the same result.
        let placed_v = known().get(&key).cloned();
        let placed_v = placed_v.unwrap_or_else(|| {
            let placed_v: Arc<[f64]> = Sensing::most_informative_v(cells, page, read.level).into();
            known().insert(key, Arc::clone(&placed_v));
            placed_v
        });
        Sensing::moved(cells, page, read.level.into(), &placed_v)
    }
}

/// The quantity of a [`Surface`].
#[derive(Debug, Clone, Copy)]
enum Asked {
    /// Raw bit error rates of hard decisions: the rate of each page, and then the mean rate.
    Hard(ReadWith),
    /// The equivalent raw bit error rate of a soft level, of one page or of their mean. A page takes a hundred times as long as all hard
    /// decisions, and rarely are all pages needed at one wear.
    Soft(ReadWith, Option<usize>),
    /// The two errors of cells that are known to be in the states about the boundary where references are inferred.
    KnownErrors(ReferencesAt),
}

/// A quantity of cells on a grid over ln(1 + effective reads / r0), sqrt(P/E cycles) and ln(1 + retention / t0). Points are computed when
/// they are first needed.
///
/// Noise, retention and disturbance grow with these coordinates, so the logarithm of a rate is nearly linear from point to point.
#[derive(Debug)]
struct Surface {
    cells: Arc<CellSpec>,
    placed: Arc<PlacedReferences>,
    defaults: Arc<DefaultReferences>,
    asked: Asked,
    /// Distance of rows in sqrt(P/E cycles). A distance of one is 200 cycles at 10,000 cycles.
    row_step: f64,
    /// Distance of columns in ln(1 + retention / t0).
    column_step: f64,
    /// Distance of sheets in ln(1 + effective reads / r0).
    sheet_step: f64,
    t0_hours: f64,
    r0_reads: f64,
    /// The largest numbers of rows and columns.
    rows: usize,
    columns: usize,
    /// Sheets by effective reads; a single one if reads do not disturb the cells.
    sheets: Box<[OnceLock<Sheet>]>,
}

/// Points by P/E cycles, in chunks, and retention.
type Sheet = Box<[OnceLock<Box<[Row]>>]>;

/// Points by retention.
type Row = OnceLock<Box<[OnceLock<Point>]>>;

/// Logarithms of the quantity.
type Point = [f64; MAX_PAGES + 1];

/// Two neighbours on a grid, and the position between them as a fraction from the first to the second.
pub(crate) struct Between {
    pub(crate) first: usize,
    pub(crate) fraction: f64,
}

impl Between {
    fn new(coordinate: f64) -> Self {
        // Conversion to whole numbers of 32 bits takes a quarter of the instructions, and no grid has as many points.
        let first = coordinate as u32;
        Self { first: first as usize, fraction: coordinate - f64::from(first) }
    }

    /// Linear interpolation between both. A query on the grid needs no second point.
    #[inline(always)]
    pub(crate) fn of(&self, at: impl Fn(usize) -> f64) -> f64 {
        let from = at(self.first);
        if self.fraction == 0.0 { from } else { from + self.fraction * (at(self.first + 1) - from) }
    }
}

impl Surface {
    // Beyond these ends nothing is interpolated, which takes a thousand times as long. Devices start with up to 1e7 P/E cycles, and with
    // data of up to 876,000 hours and 1e9 reads. Some blocks have twice as much, and some behave as if they had ten times those P/E cycles.
    const MOST_PE_CYCLES: f64 = 2e8;
    const MOST_HOURS: f64 = 2e6;
    const MOST_READS: f64 = 2e9;
    /// The last sheet is at 1.2e6 r0 at least.
    const LAST_SHEET: f64 = 14.0;
    /// Rows come in chunks, because only few rows are ever asked for.
    const ROWS_PER_CHUNK: usize = 64;
    /// The last column is at 4.8e8 t0 at least.
    const LAST_COLUMN: f64 = 20.0;

    fn new(surfaces: &Surfaces, asked: Asked) -> Self {
        // A point of a search for valleys takes ten times as long as others, too.
        let coarse = match asked {
            Asked::Hard(read) => read.references == ReferencesAt::Valleys,
            Asked::Soft(..) => true,
            Asked::KnownErrors(_) => false,
        };
        let (row_step, column_step, sheet_step) = if coarse { (2.0, 0.2, 0.2) } else { (1.0, 0.1, 0.05) };
        let cells = Arc::clone(&surfaces.cells);
        let last_sheet = libm::log1p(Self::MOST_READS / surfaces.r0_reads).max(Self::LAST_SHEET);
        let sheets = if cells.read_disturb.is_some() { (last_sheet / sheet_step) as usize + 2 } else { 1 };
        let last_column = libm::log1p(Self::MOST_HOURS / surfaces.t0_hours).max(Self::LAST_COLUMN);
        Self {
            t0_hours: surfaces.t0_hours,
            r0_reads: surfaces.r0_reads,
            cells,
            placed: Arc::clone(&surfaces.placed),
            defaults: Arc::clone(&surfaces.defaults),
            asked,
            row_step,
            column_step,
            sheet_step,
            rows: (libm::sqrt(Self::MOST_PE_CYCLES) / row_step) as usize + 2,
            columns: (last_column / column_step) as usize,
            sheets: empty(sheets),
        }
    }

    fn at(&self, located: &LocatedWear, page: Option<usize>) -> f64 {
        let pages = self.cells.pages();
        let index = page.unwrap_or(pages);
        assert!(page.is_none_or(|page| page < pages), "no page {index}: a wordline has {pages}");
        self.value(located, if matches!(self.asked, Asked::Soft(..)) { 0 } else { index })
    }

    fn value(&self, located: &LocatedWear, index: usize) -> f64 {
        let row = Between::new(located.root_pe_cycles / self.row_step);
        let column = Between::new(located.ln_retention / self.column_step);
        let sheet = Between::new(located.ln_reads / self.sheet_step);
        let beyond = sheet.first + 1 >= self.sheets.len() && sheet.first > 0;
        if row.first + 1 >= self.rows || column.first >= self.columns || beyond {
            return libm::exp(self.compute(located.wear)[index]);
        }
        libm::exp(sheet.of(|sheet| row.of(|row| self.along(sheet, row, &column, index))))
    }

    /// Interpolates between two columns of a row.
    #[inline(always)]
    fn along(&self, sheet: usize, row: usize, column: &Between, index: usize) -> f64 {
        let points = self.points(sheet, row);
        column.of(|column| match points[column].get() {
            Some(point) => point[index],
            None => points[column].get_or_init(|| self.compute_at(sheet, row, column))[index],
        })
    }

    #[inline(always)]
    fn points(&self, sheet: usize, row: usize) -> &[OnceLock<Point>] {
        let (chunk, within) = (row / Self::ROWS_PER_CHUNK, row % Self::ROWS_PER_CHUNK);
        // Most points have been computed before.
        match self.sheets[sheet].get().and_then(|chunks| chunks[chunk].get()?[within].get()) {
            Some(points) => points,
            None => self.new_points(sheet, chunk, within),
        }
    }

    #[cold]
    fn new_points(&self, sheet: usize, chunk: usize, within: usize) -> &[OnceLock<Point>] {
        let chunks = self.sheets[sheet].get_or_init(|| empty(self.rows.div_ceil(Self::ROWS_PER_CHUNK)));
        let rows = chunks[chunk].get_or_init(|| empty(Self::ROWS_PER_CHUNK));
        rows[within].get_or_init(|| empty(self.columns + 1))
    }

    #[cold]
    fn compute_at(&self, sheet: usize, row: usize, column: usize) -> Point {
        let root = self.row_step * row as f64;
        self.compute(Wear {
            pe_cycles: (root * root) as u32,
            retention_hours: self.t0_hours * libm::expm1(self.column_step * column as f64),
            effective_reads: self.r0_reads * libm::expm1(self.sheet_step * sheet as f64),
        })
    }

    #[cold]
    fn compute(&self, wear: Wear) -> Point {
        let values = match self.asked {
            Asked::Hard(read) => {
                let mut rates = self.hard_rates(wear, read);
                rates.push(rates.iter().sum::<f64>() / rates.len() as f64);
                rates
            }
            Asked::Soft(read, page) => vec![self.soft_rate(wear, read, page)],
            Asked::KnownErrors(references) => {
                let cells = self.cells.read_hard(wear, ReadWith::hard(references), &self.defaults);
                let (up, down) = cells.known_errors(self.cells.inference().boundary);
                vec![up, down]
            }
        };
        let mut point = [0.0; MAX_PAGES + 1];
        let logarithms = values.into_iter().map(|value| libm::log(value.max(Rber::LEAST)));
        point.iter_mut().zip(logarithms).for_each(|(slot, logarithm)| *slot = logarithm);
        point
    }

    /// Raw bit error rates by page.
    fn hard_rates(&self, wear: Wear, read: ReadWith) -> Vec<f64> {
        if read == ReadWith::hard(ReferencesAt::Valleys) {
            return self.cells.rber_by_valleys(wear);
        }
        let cells = self.cells.read_hard(wear, read, &self.defaults);
        (0..cells.pages()).map(|page| cells.rber(page)).collect()
    }

    /// The equivalent raw bit error rate of a page, or the mean over all pages.
    fn soft_rate(&self, wear: Wear, read: ReadWith, page: Option<usize>) -> f64 {
        let cells = self.cells.read_with(wear, read);
        let equivalent = |page| {
            let sensing = self.placed.sensing(&self.cells, wear, read, &cells, page);
            equivalent_rber(read.level, sensing.equivocation(&cells))
        };
        match page {
            Some(page) => equivalent(page),
            None => (0..cells.pages()).map(equivalent).sum::<f64>() / cells.pages() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use softsense_base::{Purpose, Stream};

    use super::*;
    use crate::Placement;

    #[test]
    fn tlc_grows_with_wear_and_retention() {
        let at = |pe_cycles, retention_hours| RberModel::Tlc72Layer.rber(Wear::unread(pe_cycles, retention_hours));
        assert_eq!(at(0, 0.0), 1.48e-3 + 3.90e-10);
        assert!(at(0, 0.0) < at(0, 24.0) && at(0, 24.0) < at(0, 720.0), "new cells forget, too");
        assert!(at(3000, 0.0) < at(3000, 720.0) && at(1000, 720.0) < at(3000, 720.0));
        // 3,000 P/E and 30 days by hand: 1.48e-3 + 3.90e-10 3000^2.05 + 6.28e-5 3000^.14 720^.54.
        assert!((at(3000, 720.0) - 1.344e-2).abs() < 1e-4, "{}", at(3000, 720.0));
    }

    /// Is the surface as close to the exact model as it says, at 40 ages a range, for all shipped cells and pages?
    #[test]
    fn surface_follows_the_exact_model() {
        let stream = Stream::new(3, Purpose::Data);
        for name in CellSpec::shipped() {
            let cells = CellSpec::open(name, Path::new("")).unwrap();
            let surface = RberModel::ThresholdVoltage(cells.clone().into()).compiled();
            let ranges = [[0.0, 300.0], [300.0, 3000.0], [3000.0, 30_000.0], [1e6, 1e8]];
            for (range, [least, most]) in ranges.into_iter().enumerate() {
                for draw in 0..40 {
                    let uniform = |index| stream.uniform(40 * range as u64 + draw, index);
                    let pe_cycles = (least + (most - least) * uniform(0)) as u32;
                    let effective_reads = match draw % 2 {
                        0 => 0.0,
                        _ => 1e3 * libm::expm1(6.0 * uniform(2)),
                    };
                    let wear = Wear { effective_reads, ..Wear::unread(pe_cycles, libm::expm1(10.0 * uniform(1))) };
                    let exact = cells.at(wear);
                    let pages = (0..cells.pages()).map(|page| (Some(page), exact.rber(page)));
                    for (page, expected) in pages.chain([(None, exact.mean_rber())]) {
                        let found = surface.at(wear, page);
                        let tolerance = match expected {
                            ..1e-9 => continue,
                            ..1e-5 => 0.03,
                            // Long-dead cells have a rate near one half.
                            _ if least >= 1e6 => 0.01,
                            _ => 0.005,
                        };
                        let error = (found / expected - 1.0).abs();
                        assert!(error < tolerance, "{name}, {wear:?}, {page:?}: {found:e} for {expected:e}");
                    }
                }
            }
        }
    }

    /// Is every age that a device may reach as fast as a young one? Between points of the grid nothing of the exact model, which takes 0.1
    /// ms, is computed.
    #[test]
    fn no_age_is_slow() {
        let model = RberModel::ThresholdVoltage(CellSpec::open("tlc-2-3-2", Path::new("")).unwrap().into());
        let surface = model.compiled();
        let took = |pe_cycles: u32, hours: f64, reads: f64| {
            let ask = |i: u32| {
                let within = f64::from(i) * 1e-9;
                let wear =
                    Wear { effective_reads: reads * (1.0 + within), ..Wear::unread(pe_cycles, hours * (1.0 + within)) };
                surface.at(wear, None)
            };
            ask(0);
            let begun = std::time::Instant::now();
            (0..2000).map(ask).sum::<f64>();
            begun.elapsed()
        };
        let young = took(3000, 100.0, 0.0).max(std::time::Duration::from_millis(1));
        for (pe_cycles, hours, reads) in
            [(999_999, 100.0, 0.0), (1_000_000, 100.0, 0.0), (20_000_000, 1.7e6, 0.0), (100_000_000, 100.0, 1e9)]
        {
            let old = took(pe_cycles, hours, reads);
            assert!(old < 20 * young, "{pe_cycles}, {hours}, {reads}: {old:?} for {young:?}");
        }
    }

    /// Is the coarser surface of soft levels as close as it says, at eight ages of all shipped cells, with tracked and default references?
    /// And does each level tell more than the one before, if references are in place?
    #[test]
    fn surface_follows_the_exact_model_at_soft_levels() {
        let stream = Stream::new(4, Purpose::Data);
        let mut worst = 0.0f64;
        for (name, tracked) in CellSpec::shipped().flat_map(|name| [(name, true), (name, false)]) {
            let cells = CellSpec::open(name, Path::new("")).unwrap().with_tracked_references(tracked);
            let surface = RberModel::ThresholdVoltage(cells.clone().into()).compiled();
            for draw in 0..8 {
                let wear = Wear {
                    pe_cycles: (300.0 + 8000.0 * stream.uniform(draw, 0)) as u32,
                    retention_hours: libm::expm1(10.0 * stream.uniform(draw, 1)),
                    effective_reads: if draw < 5 { 0.0 } else { 2e4 * stream.uniform(draw, 2) },
                };
                let exact = cells.at(wear);
                let (level, page) = (2 + (draw % 6) as u8, draw as usize % cells.pages());
                let sensing = Sensing::new(&exact, page, level, Placement::MutualInformation);
                let expected = equivalent_rber(level, sensing.equivocation(&exact));
                let found = surface.by(wear, Some(page), ReadWith::level(level));
                let error = (found / expected - 1.0).abs();
                assert!(
                    expected < 1e-4 || error < 0.01,
                    "{name}, {tracked}, {wear:?}, page {page}, level {level}: {found:e} for {expected:e}"
                );
                worst = worst.max(if expected < 1e-4 { 0.0 } else { error });
            }
        }
        println!("off by {worst:.4} at most");
    }

    /// Is the result independent of the order in which, and the thread by which, ages are asked for? And is a point of the grid exact?
    #[test]
    fn surface_does_not_depend_on_what_was_asked_before() {
        let model = RberModel::ThresholdVoltage(NamedCells::default());
        let ages = [(100, 0.0), (8_000, 24.0), (8_100, 24.5), (3_000_000, 1.0), (8_000, 1e300)];
        let ages = ages.map(|(pe_cycles, retention_hours)| Wear::unread(pe_cycles, retention_hours));
        let new = || Rber(Kind::Surfaces(Arc::new(Surfaces::new(model.cells()))));
        let (forward, shared) = (new(), new());
        let expected = ages.map(|wear| forward.at(wear, Some(1)).to_bits());
        let backward = std::thread::spawn({
            let shared = shared.clone();
            move || ages.map(|wear| shared.at(wear, Some(1)).to_bits())
        });
        let mut reversed = ages;
        reversed.reverse();
        let mut found = reversed.map(|wear| shared.at(wear, Some(1)).to_bits());
        found.reverse();
        assert_eq!((found, backward.join().unwrap()), (expected, expected));
        let on_grid = Wear::unread(10_000, 0.0);
        assert!((forward.at(on_grid, None) / model.rber(on_grid) - 1.0).abs() < 1e-12);
    }

    /// Do models of the same cells share what was computed, and models of other cells not? And are only the last ones kept?
    #[test]
    fn models_of_the_same_cells_share_their_surfaces() {
        let cells = |offset_v| {
            let mut cells = CellSpec::open("tlc-measured", Path::new("")).unwrap();
            cells.references.offset_v = offset_v;
            cells
        };
        let of = |offset_v| Surfaces::of_cells(&cells(offset_v));
        let first = of(0.001);
        assert!(Arc::ptr_eq(&first, &of(0.001)) && !Arc::ptr_eq(&first, &of(0.002)));
        (0..=MOST_KEPT).for_each(|other| drop(of(0.01 * (1.0 + other as f64))));
        assert!(KEPT.lock().unwrap().len() <= MOST_KEPT && !Arc::ptr_eq(&first, &of(0.001)));
    }

    #[test]
    fn wear_for_inverts_the_surface() {
        let rber = RberModel::ThresholdVoltage(NamedCells::default()).compiled();
        let wear = Wear::unread(8_000, 2400.0);
        for page in [None, Some(0), Some(1)] {
            let now = rber.at(wear, page);
            assert_eq!(rber.wear_for(wear, page, now), wear);
            for factor in [0.3, 0.8, 1.001, 1.5, 3.0] {
                let other = rber.wear_for(wear, page, factor * now);
                let (found, before) =
                    (rber.at(other, page), rber.at(Wear { pe_cycles: other.pe_cycles - 1, ..other }, page));
                assert!(before < factor * now && factor * now <= found, "{page:?}, {factor}: {other:?}");
                assert_eq!(other.retention_hours, wear.retention_hours);
            }
        }
        assert_eq!(rber.wear_for(wear, None, 1e-9).pe_cycles, 0);
        assert_eq!(rber.wear_for(wear, None, 0.4).pe_cycles, 80_000);
        assert_eq!(rber.wear_for(Wear { pe_cycles: 5, ..wear }, None, 0.4).pe_cycles, 10_000);
        assert_eq!(RberModel::Tlc72Layer.compiled().wear_for(wear, None, 0.4), wear);
    }

    /// Is the retention shortened for new cells that lose charge, and are to be better than new? And are cells that lose none left as they
    /// are?
    #[test]
    fn wear_for_new_cells_goes_on_with_time() {
        let open = |name: &str| {
            let cells = CellSpec::open(name, Path::new("")).unwrap();
            RberModel::ThresholdVoltage(cells.into()).compiled()
        };
        let (rber, year) = (open("tlc-charge-trap"), Wear::unread(500, 8760.0));
        for page in [None, Some(1)] {
            let now = rber.at(year, page);
            for factor in [0.4, 0.6, 0.75, 0.9, 1.1, 2.0] {
                let other = rber.wear_for(year, page, factor * now);
                let found = rber.at(other, page);
                assert!((found / (factor * now) - 1.0).abs() < 1e-3, "{page:?}, {factor}: {other:?} has {found:e}");
                assert!(other.pe_cycles == 0 || other.retention_hours == year.retention_hours);
            }
            assert_eq!(rber.wear_for(year, page, 1e-9), Wear::unread(0, 0.0));
        }
        assert_eq!(open("tlc-measured").wear_for(year, None, 1e-9), Wear::unread(0, 8760.0));
    }

    #[test]
    fn models_are_read_from_toml() {
        #[derive(Deserialize)]
        struct Config {
            rber: RberModel,
        }
        let read = |text: &str| toml::from_str::<Config>(text).unwrap().rber;
        let default = read("rber.threshold_voltage = {}");
        assert_eq!(default, RberModel::ThresholdVoltage(NamedCells::default()));
        assert_eq!((default.pages(), default.depends_on_retention()), (Some(2), true));
        assert_eq!(read("rber = 'tlc_72_layer'").pages(), None);
        let error = read("rber.threshold_voltage = { verify_v = [2.0] }")
            .open("reliability.table.rber", Path::new(""))
            .unwrap_err();
        assert_eq!(error.place(), "reliability.table.rber.threshold_voltage.verify_v");
    }

    #[test]
    fn bad_ranges_are_named() {
        let error = RberModel::Constant { rber: 0.7 }.open("reliability.table.rber", Path::new("")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "reliability.table.rber.constant.rber: found 0.7, expected a number from 0 to 0.5"
        );
    }
}
