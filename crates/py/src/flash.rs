//! Flash cells for Python.

use std::path::Path;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_base::{Error, Purpose, Stream, expect_number, expect_whole, plain, spelled_like, unknown_name};
use softsense_ecc::channel::LARGEST_REGION_LLR;
use softsense_link::MAX_LEVEL;
use softsense_nand::{
    CellSpec, FitSpec, Inference, MOST_EFFECTIVE_READS, Mapping, MeasuredStates, Measurement, Placement, ReferencesAt,
    Sensing, States, ValleyPoint, ValleySearch, Wear, effective_reads_if_even, recovery_bake_minutes,
    retention_bake_minutes, states_of_valleys,
};

use crate::raise;

/// The cells of one wordline at one age: distributions of threshold voltage, pages and reference voltages.
///
/// >>> from softsense import Cells
/// >>> fresh = Cells.open("mlc", pe_cycles=1000)
/// >>> old = fresh.at(pe_cycles=10_000, retention_hours=24 * 365)
/// >>> old.pages, fresh.rber() < old.rber()
/// (['lower', 'upper'], True)
/// >>> read = old.sense(page=0, level=3)
/// >>> len(read["references"]), read["integer_llrs"].dtype
/// (3, dtype('int8'))
#[pyclass(module = "softsense", frozen)]
pub(crate) struct Cells {
    pub(crate) spec: CellSpec,
    pub(crate) wear: Wear,
    pub(crate) cells: softsense_nand::Cells,
}

impl Cells {
    pub(crate) fn new(spec: CellSpec, wear: Wear) -> PyResult<Self> {
        expect_number("retention_hours", wear.retention_hours, 0.0, 1e7).map_err(raise)?;
        expect_number("effective_reads", wear.effective_reads, 0.0, MOST_EFFECTIVE_READS).map_err(raise)?;
        Ok(Self { cells: spec.at(wear), spec, wear })
    }

    fn inference(&self) -> PyResult<&Inference> {
        let missing = || {
            raise(Error::config(
                "cells.references.inference",
                "found cells without `references.inference`, expected cells that say how references are inferred",
            ))
        };
        self.spec.references.inference.as_ref().ok_or_else(missing)
    }

    fn check(&self, name: &str, value: usize, count: usize) -> PyResult<usize> {
        if value < count {
            return Ok(value);
        }
        Err(raise(Error::config(name, format!("found {value}, expected 0 to {}", count - 1))))
    }

    fn each<'py>(
        &self,
        py: Python<'py>,
        state: usize,
        volts: &PyReadonlyArray1<'py, f64>,
        value: impl Fn(usize, f64) -> f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let state = self.check("state", state, self.cells.states())?;
        let values: Vec<f64> = volts.as_array().iter().map(|&volts| value(state, volts)).collect();
        Ok(values.into_pyarray(py))
    }
}

fn with_references(spec: CellSpec, references: Option<&str>) -> PyResult<CellSpec> {
    match references {
        None => Ok(spec),
        Some("tracked") => Ok(spec.with_tracked_references(true)),
        Some("default") => Ok(spec.with_tracked_references(false)),
        Some(other) => {
            Err(raise(Error::config("references", format!("found `{other}`, expected `default` or `tracked`"))))
        }
    }
}

/// A measurement: P/E cycles, hours since the write, means by state, and standard deviations.
type AgeMeasured = (u32, f64, Vec<f64>, Option<Vec<f64>>);

#[pymethods]
impl Cells {
    /// The cells that `name` means, a shipped model (see `names`) or a TOML file, after so many program/erase cycles and hours since they
    /// were written. Raises ConfigError.
    ///
    /// The `references` are `default` (the chip's) or `tracked` (for the age); without the argument they are those of the model. The
    /// temperature at which data rests is `retention_temperature_c`, in degrees Celsius, for cells that were measured; without it that of
    /// the model. The reads that have disturbed the cells since they were written are `effective_reads`.
    #[staticmethod]
    #[pyo3(signature = (
        name = "mlc",
        pe_cycles = 0,
        retention_hours = 0.0,
        references = None,
        retention_temperature_c = None,
        effective_reads = 0.0,
    ))]
    fn open(
        name: &str,
        pe_cycles: u32,
        retention_hours: f64,
        references: Option<&str>,
        retention_temperature_c: Option<f64>,
        effective_reads: f64,
    ) -> PyResult<Self> {
        let mut spec = CellSpec::open(name, Path::new("")).map_err(raise)?;
        if let Some(celsius) = retention_temperature_c {
            spec = spec.at_temperature(celsius, "retention_temperature_c").map_err(raise)?;
        }
        Self::new(with_references(spec, references)?, Wear { pe_cycles, retention_hours, effective_reads })
    }

    /// Returns cells at the same age with other references, `default` or `tracked`. Raises ConfigError.
    fn with_references(&self, references: &str) -> PyResult<Self> {
        let spec = with_references(self.spec.clone(), Some(references))?;
        Self::new(spec, self.wear)
    }

    /// The model that follows measurements best, as JSON. Measurements are (P/E cycles, hours since the write, means by state, standard
    /// deviations by state or None), in units of `unit_v` volts. Raises ConfigError.
    ///
    /// `mapping` is that of the cells, such as `tlc_2_3_2`. `temperature_c` is the temperature of the measurements, in degrees Celsius.
    #[staticmethod]
    #[pyo3(signature = (measurements, mapping, unit_v = 1.0, temperature_c = 40.0))]
    fn fit_json(measurements: Vec<AgeMeasured>, mapping: &str, unit_v: f64, temperature_c: f64) -> PyResult<String> {
        let measurements: Vec<Measurement> = measurements
            .into_iter()
            .map(|(pe_cycles, retention_hours, mean, sigma)| Measurement { pe_cycles, retention_hours, mean, sigma })
            .collect();
        let named = |name: &str| serde_json::from_value::<Mapping>(name.into()).map_err(|error| error.to_string());
        let mapping = named(mapping)
            .or_else(|said| {
                // The name may have any spelling.
                let meant = unknown_name(&said).and_then(|(name, known)| spelled_like(name, known).map(str::to_owned));
                meant.map_or(Err(said), |meant| named(&meant))
            })
            .map_err(|said| raise(Error::config("mapping", plain(&said))))?;
        let (found, expected) = (measurements.first().map_or(0, |first| first.mean.len()), mapping.states());
        if found != expected {
            let message =
                format!("found measurements of {found} states, expected {expected}, the states of the mapping");
            return Err(raise(Error::config("mapping", message)));
        }
        let fit = FitSpec { unit_v, temperature_c, ..FitSpec::default() };
        let measured = MeasuredStates::fit(&measurements, fit).map_err(raise)?;
        let spec = CellSpec { mapping, states: States::Measured(measured), ..CellSpec::default() };
        spec.check("fit").map_err(raise)?;
        Ok(serde_json::to_string(&spec).expect("a spec is plain data"))
    }

    /// The boundaries between states at which the bit of `page` changes: boundary i lies between states i and i + 1. Raises ConfigError.
    fn boundaries(&self, page: usize) -> PyResult<Vec<usize>> {
        Ok(self.cells.boundaries(self.check("page", page, self.cells.pages())?).to_vec())
    }

    /// Means and standard deviations of the normal states that have these valleys, a pair for each state. Each point has a boundary (from
    /// 0), a reference (in any unit), and the share of all cells that the reference puts on the wrong side. Raises ConfigError.
    #[staticmethod]
    fn states_of_valleys(points: Vec<(usize, f64, f64)>, states: usize) -> PyResult<Vec<(f64, f64)>> {
        expect_whole("states", states as u32, 2, 16).map_err(raise)?;
        let point = |(boundary, reference, rber)| ValleyPoint { boundary, reference, rber };
        states_of_valleys(&points.into_iter().map(point).collect::<Vec<_>>(), states).map_err(raise)
    }

    /// The cells of a model as JSON, as `spec_json` and `fit_json` return it. Raises ConfigError.
    #[staticmethod]
    #[pyo3(signature = (text, pe_cycles = 0, retention_hours = 0.0))]
    fn from_json(text: &str, pe_cycles: u32, retention_hours: f64) -> PyResult<Self> {
        let spec: CellSpec =
            serde_json::from_str(text).map_err(|error| raise(Error::config("cells", error.to_string())))?;
        spec.check("cells").map_err(raise)?;
        Self::new(spec, Wear::unread(pe_cycles, retention_hours))
    }

    /// The model as TOML, as `open` reads it; numbers have `digits` digits after the point.
    #[pyo3(signature = (digits = 4))]
    fn toml(&self, digits: u32) -> String {
        self.spec.to_toml(digits)
    }

    /// The names of the shipped models.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        CellSpec::shipped().collect()
    }

    /// Returns these cells at another age. Raises ConfigError.
    #[pyo3(signature = (pe_cycles, retention_hours, effective_reads = 0.0))]
    fn at(&self, pe_cycles: u32, retention_hours: f64, effective_reads: f64) -> PyResult<Self> {
        Self::new(self.spec.clone(), Wear { pe_cycles, retention_hours, effective_reads })
    }

    fn __repr__(&self) -> String {
        let Wear { pe_cycles, retention_hours, effective_reads } = self.wear;
        let reads = if effective_reads > 0.0 { format!(", {effective_reads} effective reads") } else { String::new() };
        format!(
            "<softsense.Cells of {} states, {pe_cycles} P/E cycles, {retention_hours} h{reads}>",
            self.cells.states()
        )
    }

    /// Effective reads of a wordline between two others when `reads` reads are spread evenly over the wordlines of its block; 0 for cells
    /// that reads do not disturb. Raises ConfigError.
    fn effective_reads_if_even(&self, reads: f64, wordlines_per_block: u32) -> PyResult<f64> {
        expect_whole("wordlines_per_block", wordlines_per_block, 3, 1_000_000).map_err(raise)?;
        let even = |stress| effective_reads_if_even(reads, 2, wordlines_per_block, stress);
        Ok(self.adjacent_stress().map_or(0.0, even))
    }

    /// Every parameter, as JSON.
    #[getter]
    fn spec_json(&self) -> String {
        serde_json::to_string(&self.spec).expect("a spec is plain data")
    }

    /// Program/erase cycles.
    #[getter]
    fn pe_cycles(&self) -> u32 {
        self.wear.pe_cycles
    }

    /// Hours since the cells were written.
    #[getter]
    fn retention_hours(&self) -> f64 {
        self.wear.retention_hours
    }

    /// Reads that have disturbed the cells since they were written.
    #[getter]
    fn effective_reads(&self) -> f64 {
        self.wear.effective_reads
    }

    /// Number of effective reads for which one read of a neighbouring wordline counts; `None` where reads do not disturb.
    #[getter]
    fn adjacent_stress(&self) -> Option<f64> {
        self.spec.read_disturb.as_ref().map(|disturb| disturb.adjacent_stress)
    }

    /// The number of states.
    #[getter]
    fn states(&self) -> usize {
        self.cells.states()
    }

    /// The names of the pages.
    #[getter]
    fn pages(&self) -> Vec<&'static str> {
        self.spec.page_names().to_vec()
    }

    /// The hard reference voltage at each boundary between states (float64, V).
    #[getter]
    fn references<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.cells.hard_references().to_vec().into_pyarray(py)
    }

    /// Raw bit error rates of each page (float64, shape (n, pages)) if the references at each boundary were off by each row of `offsets_v`
    /// (float64, V, shape (n, boundaries)). Raises ConfigError.
    fn rber_off<'py>(
        &self,
        py: Python<'py>,
        offsets_v: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let offsets_v = offsets_v.as_array();
        let (found, expected) = (offsets_v.ncols(), self.cells.states() - 1);
        if found != expected {
            let message = format!("found {found} columns, expected {expected}, one for each boundary");
            return Err(raise(Error::config("offsets_v", message)));
        }
        let pages = self.cells.pages();
        let mut rates = Vec::with_capacity(offsets_v.nrows() * pages);
        for row in offsets_v.rows() {
            let mut cells = self.cells.clone();
            cells.offset_references(&row.to_vec());
            rates.extend((0..pages).map(|page| cells.rber(page)));
        }
        let rates = Array2::from_shape_vec((offsets_v.nrows(), pages), rates).expect("as many as rows and pages");
        Ok(rates.into_pyarray(py))
    }

    /// The share of cells that a hard decision reads as 1, whatever they hold, by page (float64): half of them if all are read right.
    #[getter]
    fn shares_of_ones<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let shares = (0..self.cells.pages()).map(|page| self.cells.share_of_ones(page));
        shares.collect::<Vec<_>>().into_pyarray(py)
    }

    /// The errors of sentinels: cells known to be in the two states about each boundary (float64, shape (states - 1, 2)). The first column
    /// is the share of cells of the lower state that read above its reference, the second that of cells of the upper state that read below.
    #[getter]
    fn known_errors<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let shares = (0..self.cells.states() - 1).map(|boundary| {
            let (up, down) = self.cells.known_errors(boundary);
            vec![up, down]
        });
        PyArray2::from_vec2(py, &shares.collect::<Vec<_>>()).expect("rows are of one length")
    }

    /// The number of steps off the default references at which references belong, by a measured `difference` of known cells. The difference
    /// is taken at one boundary: the share of cells of the lower state that read above, less that of the upper state that read below.
    /// Raises ConfigError if the cells have no `references.inference`.
    fn inferred_steps(&self, difference: f64) -> PyResult<i8> {
        Ok(self.inference()?.steps_for(difference))
    }

    /// The number of steps off the default references to which references are moved after a failure. They were `steps` off, and known cells
    /// had this `difference` there. Raises ConfigError if the cells have no `references.inference`.
    fn calibrated_steps(&self, steps: i8, difference: f64) -> PyResult<i8> {
        Ok(self.inference()?.calibrated(steps, difference))
    }

    /// Offsets of the default references at each boundary (float64, V), if the reference of the measured boundary is `steps` steps off.
    /// Raises ConfigError if the cells have no `references.inference`.
    fn inferred_offsets_v<'py>(&self, py: Python<'py>, steps: i8) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.inference()?.offsets_v(steps).into_pyarray(py))
    }

    /// The results of a search for the valleys between states, from the default references on. Counts are not drawn, so that it is
    /// deterministic.
    ///
    /// Returns `counts` (float64, the mean number of cells in each gap between two sensings, shape (states - 1, gaps)) and `offsets_v`
    /// (float64, V, of the middle of each gap). The offset that is found most often at each boundary is `found_v` (float64, V), and `rber`
    /// (float64, by page) is the mean over the results.
    ///
    /// Each boundary is sensed `sensings` times (an odd number from 3 to 63) at distances of `step_v` (V, 1e-4 to 1), and `cells` cells are
    /// counted (1 to 10,000,000). Without these, the search is that of the cells. Raises ConfigError, also if the cells have none.
    #[pyo3(signature = (step_v = None, sensings = None, cells = None))]
    fn search_valleys<'py>(
        &self,
        py: Python<'py>,
        step_v: Option<f64>,
        sensings: Option<u32>,
        cells: Option<u32>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut spec = self.spec.clone();
        let known = spec.references.valley_search;
        let (Some(step_v), Some(sensings), Some(cells)) = (
            step_v.or(known.map(|search| search.step_v)),
            sensings.or(known.map(|search| search.sensings)),
            cells.or(known.map(|search| search.cells)),
        ) else {
            let message = "found neither `references.valley_search` in the cells nor the arguments step_v, sensings \
                           and cells, expected one of the two";
            return Err(raise(Error::config("search_valleys", message)));
        };
        let centre_v = known.map_or(0.0, |search| search.centre_v);
        let search = ValleySearch { step_v, sensings, cells, centre_v };
        spec.references.valley_search = Some(search);
        spec.check("cells").map_err(raise)?;
        let found = spec.read_at(self.wear, ReferencesAt::Valleys);
        let default = spec.clone().with_tracked_references(false).at(self.wear);
        let references = found.hard_references().iter().zip(default.hard_references());
        let dict = PyDict::new(py);
        let counts = PyArray2::from_vec2(py, &spec.valley_counts(self.wear)).expect("rows are of one length");
        dict.set_item("counts", counts)?;
        let offsets = (0..search.gaps()).map(|gap| search.offset_v(gap));
        dict.set_item("offsets_v", offsets.collect::<Vec<_>>().into_pyarray(py))?;
        dict.set_item("found_v", references.map(|(to, from)| to - from).collect::<Vec<_>>().into_pyarray(py))?;
        dict.set_item("rber", spec.rber_by_valleys(self.wear).into_pyarray(py))?;
        Ok(dict)
    }

    /// Mean and standard deviation of the threshold voltages of each state (float64, V, shape (states, 2)).
    fn means_and_spreads<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let rows: Vec<Vec<f64>> =
            (0..self.cells.states()).map(|state| vec![self.cells.mean_v(state), self.cells.sigma_v(state)]).collect();
        PyArray2::from_vec2(py, &rows).expect("rows are of one length")
    }

    /// The bit of `page` that `state` holds. Raises ConfigError.
    fn bit(&self, page: usize, state: usize) -> PyResult<bool> {
        let page = self.check("page", page, self.cells.pages())?;
        Ok(self.cells.bit(page, self.check("state", state, self.cells.states())?))
    }

    /// The hard reference voltages for reading `page`: one at each boundary at which its bit changes (float64, V). Raises ConfigError.
    fn hard_references<'py>(&self, py: Python<'py>, page: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let page = self.check("page", page, self.cells.pages())?;
        let references = self.cells.boundaries(page).iter().map(|&boundary| self.cells.hard_references()[boundary]);
        Ok(references.collect::<Vec<_>>().into_pyarray(py))
    }

    /// The probability that the threshold voltage of a cell in `state` is below each of `volts` (float64). Raises ConfigError.
    fn cdf<'py>(
        &self,
        py: Python<'py>,
        state: usize,
        volts: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.each(py, state, &volts, |state, volts| self.cells.cdf(state, volts))
    }

    /// The density of the threshold voltage of a cell in `state` at each of `volts` (float64, 1/V). Raises ConfigError.
    fn density<'py>(
        &self,
        py: Python<'py>,
        state: usize,
        volts: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.each(py, state, &volts, |state, volts| self.cells.density(state, volts))
    }

    /// The raw bit error rate of `page`; without a page, the mean over all pages. Raises ConfigError.
    #[pyo3(signature = (page = None))]
    fn rber(&self, page: Option<usize>) -> PyResult<f64> {
        match page {
            Some(page) => Ok(self.cells.rber(self.check("page", page, self.cells.pages())?)),
            None => Ok(self.cells.mean_rber()),
        }
    }

    /// Threshold voltages of `count` cells in `state` (float64, V), a function of the seed. Raises ConfigError.
    #[pyo3(signature = (state, count, seed = 1))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        state: usize,
        count: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let state = self.check("state", state, self.cells.states())?;
        let stream = Stream::new(seed, Purpose::Cells);
        let volts: Vec<f64> =
            (0..count).map(|cell| self.cells.quantile(state, stream.uniform(state as u64, cell as u64))).collect();
        Ok(volts.into_pyarray(py))
    }

    /// Reads `page` at `level`, 1 to 7.
    ///
    /// `placement` is `mutual_information`, `nested`, `uniform` or `uniform:STEP_V`. References and LLRs are made for `assumed`, the same
    /// cells at the age that the controller believes in (default: these).
    ///
    /// Returns `references` (float64, V), and for each region between them `probabilities` (float64, shape (regions, 2), given bit 0 and
    /// bit 1), `llrs` (float64, natural logarithm) and `integer_llrs` (int8, as a decoder gets them). It also returns `information` (mutual
    /// information of bit and region, bits), `sensings` and `bits_per_cell` (the bits of each cell that are transferred). Raises
    /// ConfigError.
    #[pyo3(signature = (page, level, *, placement = "mutual_information", assumed = None))]
    fn sense<'py>(
        &self,
        py: Python<'py>,
        page: usize,
        level: u8,
        placement: &str,
        assumed: Option<&Self>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let page = self.check("page", page, self.cells.pages())?;
        if !(1..=MAX_LEVEL).contains(&level) {
            return Err(raise(Error::config("level", format!("found {level}, expected 1 to {MAX_LEVEL}"))));
        }
        let placement: Placement = placement.parse().map_err(raise)?;
        let assumed = &assumed.unwrap_or(self).cells;
        if assumed.pages() != self.cells.pages() || assumed.states() != self.cells.states() {
            let message = format!("found cells of {} states, expected {}", assumed.states(), self.cells.states());
            return Err(raise(Error::config("assumed", message)));
        }
        let sensing = Sensing::new(assumed, page, level, placement);
        let (integers, step) = sensing.integer_llrs(assumed, LARGEST_REGION_LLR);
        let probabilities: Vec<Vec<f64>> =
            sensing.probabilities(&self.cells).into_iter().map(|of_bit| of_bit.to_vec()).collect();
        let read = PyDict::new(py);
        read.set_item("references", sensing.references().to_vec().into_pyarray(py))?;
        read.set_item("probabilities", PyArray2::from_vec2(py, &probabilities)?)?;
        read.set_item("llrs", sensing.llrs(assumed).into_pyarray(py))?;
        read.set_item("integer_llrs", integers.into_pyarray(py))?;
        read.set_item("llr_step", step)?;
        read.set_item("information", sensing.information(&self.cells))?;
        read.set_item("sensings", sensing.sensings())?;
        read.set_item("bits_per_cell", sensing.bits_per_cell())?;
        Ok(read)
    }
}

/// The place of references, from its name on the command line, as JSON for a frame task. Raises ConfigError.
#[pyfunction]
pub(crate) fn placement_json(text: &str) -> PyResult<String> {
    let placement: Placement = text.parse().map_err(raise)?;
    Ok(serde_json::to_string(&placement).expect("a placement is plain data"))
}

/// Minutes in an oven at `bake_c` that age stored data as much as `retention_hours` at `operating_c` do.
#[pyfunction]
#[pyo3(name = "retention_bake_minutes")]
pub(crate) fn retention_bake(retention_hours: f64, operating_c: f64, bake_c: f64, activation_energy_ev: f64) -> f64 {
    retention_bake_minutes(retention_hours, operating_c, bake_c, activation_energy_ev)
}

/// Minutes in an oven at `bake_c` that let a block recover as much as it does during `cycling_hours` of use at `cycling_c`.
#[pyfunction]
#[pyo3(name = "recovery_bake_minutes")]
pub(crate) fn recovery_bake(
    recovery_constant: f64,
    cycling_hours: f64,
    cycling_c: f64,
    bake_c: f64,
    activation_energy_ev: f64,
) -> f64 {
    recovery_bake_minutes(recovery_constant, cycling_hours, cycling_c, bake_c, activation_energy_ev)
}
