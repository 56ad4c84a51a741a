//! Flash cells as Python sees them.

use std::path::Path;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_base::{Error, Purpose, Stream, expect_number};
use softsense_ecc::channel::LARGEST_REGION_LLR;
use softsense_link::MAX_LEVEL;
use softsense_nand::{CellSpec, Placement, Sensing, Wear, recovery_bake_minutes, retention_bake_minutes};

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
    spec: CellSpec,
    wear: Wear,
    cells: softsense_nand::Cells,
}

impl Cells {
    fn new(spec: CellSpec, pe_cycles: u32, retention_hours: f64) -> PyResult<Self> {
        expect_number("retention_hours", retention_hours, 0.0, 1e7).map_err(raise)?;
        let wear = Wear { pe_cycles, retention_hours };
        Ok(Self { cells: spec.at(wear), spec, wear })
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

#[pymethods]
impl Cells {
    /// The cells that `name` means, a shipped model (see `names`) or a TOML file, after so many program/erase cycles and hours
    /// since they were written. Raises ConfigError.
    #[staticmethod]
    #[pyo3(signature = (name = "mlc", pe_cycles = 0, retention_hours = 0.0))]
    fn open(name: &str, pe_cycles: u32, retention_hours: f64) -> PyResult<Self> {
        Self::new(CellSpec::open(name, Path::new("")).map_err(raise)?, pe_cycles, retention_hours)
    }

    /// The names of the shipped models.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        CellSpec::shipped().collect()
    }

    /// The same cells at another age. Raises ConfigError.
    fn at(&self, pe_cycles: u32, retention_hours: f64) -> PyResult<Self> {
        Self::new(self.spec.clone(), pe_cycles, retention_hours)
    }

    fn __repr__(&self) -> String {
        let Wear { pe_cycles, retention_hours } = self.wear;
        format!("<softsense.Cells of {} states, {pe_cycles} P/E cycles, {retention_hours} h>", self.cells.states())
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

    /// How many states there are.
    #[getter]
    fn states(&self) -> usize {
        self.cells.states()
    }

    /// The names of the pages.
    #[getter]
    fn pages(&self) -> Vec<&'static str> {
        self.spec.page_names().to_vec()
    }

    /// The bit of `page` that `state` holds. Raises ConfigError.
    fn bit(&self, page: usize, state: usize) -> PyResult<bool> {
        let page = self.check("page", page, self.cells.pages())?;
        Ok(self.cells.bit(page, self.check("state", state, self.cells.states())?))
    }

    /// The hard reference voltages that reading `page` compares with: one at each boundary at which its bit changes (float64,
    /// V). Raises ConfigError.
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

    /// The raw bit error rate of `page`; the mean over all pages without one. Raises ConfigError.
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

    /// How `page` is read at `level`, 1 to 7.
    ///
    /// `placement` is `mutual_information`, `nested`, `uniform` or `uniform:STEP_V`; references and LLRs are made for `assumed`, the same cells
    /// at the age that the controller believes in (default: these). Returns `references` (float64, V), and for each region
    /// between them `probabilities` (float64, shape (regions, 2), given bit 0 and bit 1), `llrs` (float64, natural logarithm)
    /// and `integer_llrs` (int8, as a decoder is given them); and `information` (mutual information of bit and region, bits),
    /// `sensings` and `bits_per_cell` (how many bits of each cell are transferred). Raises ConfigError.
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

/// Where references stand, by its name on the command line, as JSON for a frame task. Raises ConfigError.
#[pyfunction]
pub fn placement_json(text: &str) -> PyResult<String> {
    let placement: Placement = text.parse().map_err(raise)?;
    Ok(serde_json::to_string(&placement).expect("a placement is plain data"))
}

/// Minutes in an oven at `bake_c` that age stored data as `retention_hours` at `operating_c` do.
#[pyfunction]
#[pyo3(name = "retention_bake_minutes")]
pub(crate) fn retention_bake(retention_hours: f64, operating_c: f64, bake_c: f64, activation_energy_ev: f64) -> f64 {
    retention_bake_minutes(retention_hours, operating_c, bake_c, activation_energy_ev)
}

/// Minutes in an oven at `bake_c` that let a block recover as it does during `cycling_hours` of use at `cycling_c`.
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
