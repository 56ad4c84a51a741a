//! Frame counting and decode tables for Python.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_base::Error;
use softsense_link::{Chain, DecodeTable, Pattern, Record, Rung, SplitSpec, WalkSpec};

use crate::absorbing_sets::AbsorbingSets;
use crate::codes::Code;
use crate::raise;

/// A flag that asks the threads of this process which count frames, or simulate, to stop.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct StopFlag {
    stop: Arc<AtomicBool>,
}

#[pymethods]
impl StopFlag {
    #[new]
    fn new() -> Self {
        Self { stop: Arc::default() }
    }

    /// Sets the flag: counting or searching that was given it ends soon, with None.
    fn set(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True once the flag was set.
    #[getter]
    fn is_set(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl StopFlag {
    pub(crate) fn shared(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}

/// Frames of one code, decoder and way of reading, counted in units of work that can be done anywhere and in any order.
///
/// Tasks never change, threads may share them, and they pickle together with their code.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct FrameTask {
    code: Py<Code>,
    sets: Option<Py<AbsorbingSets>>,
    task: softsense_link::FrameTask,
}

#[pymethods]
impl FrameTask {
    /// Takes an object of `decoder`, `iterations`, `seed` and `channel` as `spec_json` (docs/model/frame-error-rates.md). If it has a
    /// `condition`, frames are drawn by the absorbing sets `sets`. Raises CodeError or ConfigError.
    #[new]
    #[pyo3(signature = (code, spec_json, sets = None))]
    fn new(py: Python<'_>, code: Py<Code>, spec_json: &str, sets: Option<Py<AbsorbingSets>>) -> PyResult<Self> {
        let spec =
            serde_json::from_str(spec_json).map_err(|error| raise(Error::config("frames", error.to_string())))?;
        let opened = code.get().code.clone();
        let listed = sets.as_ref().map(|sets| Arc::clone(&sets.get().sets));
        let task =
            crate::detached(py, || softsense_link::FrameTask::conditioned(opened, spec, listed)).map_err(raise)?;
        Ok(Self { code, sets, task })
    }

    #[allow(clippy::type_complexity, reason = "it is the arguments of `new`")]
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (Py<Code>, String, Option<Py<AbsorbingSets>>)) {
        let sets = self.sets.as_ref().map(|sets| sets.clone_ref(py));
        (py.get_type::<Self>().into_any(), (self.code.clone_ref(py), self.spec_json(), sets))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.task.identity() == other.task.identity()
    }

    fn __hash__(&self) -> u64 {
        u64::from_str_radix(&self.task.identity()[..16], 16).expect("hexadecimal digits")
    }

    /// SHA-256 of everything on which the counts depend, in hexadecimal.
    #[getter]
    fn identity(&self) -> String {
        self.task.identity()
    }

    /// The description, every default filled in.
    #[getter]
    fn spec_json(&self) -> String {
        serde_json::to_string(self.task.spec()).expect("a spec is plain data")
    }

    /// Number of frames of a unit of work.
    #[getter]
    fn unit_frames(&self) -> u64 {
        self.task.unit_frames()
    }

    /// n: the bits of a codeword.
    #[getter]
    fn codeword_bits(&self) -> usize {
        self.task.code().codeword_bits()
    }

    /// k: the data bits of a codeword.
    #[getter]
    fn data_bits(&self) -> usize {
        self.task.code().data_bits()
    }

    /// The probability that a hard decision is wrong; None for hard decisions without one.
    #[getter]
    fn raw_error_rate(&self) -> Option<f64> {
        self.task.raw_error_rate()
    }

    /// The probability that a decision is wrong, as conditions count it: by the sign of the LLR at a soft level, or by the hard decision.
    /// None for hard decisions without one.
    #[getter]
    fn decision_error_rate(&self) -> Option<f64> {
        self.task.decision_error_rate()
    }

    /// The probability that a decision of a soft level is surely wrong; None for hard decisions.
    #[getter]
    fn sure_error_rate(&self) -> Option<f64> {
        self.task.sure_error_rate()
    }

    /// The probability of each outcome of the channel for one bit, were its raw bit error rate `rber` (float64). Outcomes of hard decisions
    /// are wrong and right. Outcomes of a soft level are its regions, from the one whose LLR speaks most against the bit up. References and
    /// LLRs are made for the task's own rate. Raises ConfigError: a soft level of cells with an age, or a rate out of range.
    fn region_probabilities<'py>(&self, py: Python<'py>, rber: f64) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let probabilities = crate::detached(py, || self.task.region_probabilities(rber)).map_err(raise)?;
        Ok(probabilities.into_pyarray(py))
    }

    /// Counts the frames of units `first_unit` to `first_unit + units - 1`, with exactly `errors` wrong hard decisions each, or (None) as
    /// the channel makes them. Counts are the same for every thread, process and machine.
    ///
    /// Returns `frames`, `failures` (given up, or decided wrongly), `undetected` (failures that were reported as decoded) and `iterations`
    /// (numbers of frames that were taken for codewords after 0, 1, 2, ... iterations); None if `stop` was set meanwhile. Raises CodeError
    /// or ConfigError.
    #[pyo3(signature = (errors, first_unit, units, stop = None))]
    fn count<'py>(
        &self,
        py: Python<'py>,
        errors: Option<usize>,
        first_unit: u64,
        units: u64,
        stop: Option<&StopFlag>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let stop = stop.map_or_else(Arc::default, |flag| Arc::clone(&flag.stop));
        let Some(counts) = crate::detached(py, || self.task.count(errors, first_unit, units, &stop)).map_err(raise)?
        else {
            return Ok(None);
        };
        let counted = PyDict::new(py);
        counted.set_item("frames", counts.frames)?;
        counted.set_item("failures", counts.failures)?;
        counted.set_item("undetected", counts.undetected)?;
        counted.set_item("iterations", counts.iterations)?;
        Ok(Some(counted))
    }

    /// Splitting: carries `particles` patterns on which the decoder fails down the `ladder` of raw bit error rates. The rates are those of
    /// hard decisions, or of a level of one Gaussian boundary. A ladder of the latter ends at the task's own rate, for which references and
    /// LLRs are made on all rungs. Run `unit` is the same for every thread, process and machine, and runs of other numbers are independent.
    ///
    /// Returns `frames` (decoded at the first rung until enough had failed; the last one did), `decoded` (on all rungs), `rungs` and
    /// `patterns` (at the last rung, if asked for); None if `stop` was set meanwhile. Raises ConfigError or CodeError.
    #[pyo3(signature = (ladder, particles, steps, unit, redraw = None, most_frames = 1 << 24, patterns = false, stop = None))]
    #[allow(clippy::too_many_arguments)]
    fn split<'py>(
        &self,
        py: Python<'py>,
        ladder: Vec<f64>,
        particles: usize,
        steps: u32,
        unit: u64,
        redraw: Option<f64>,
        most_frames: u64,
        patterns: bool,
        stop: Option<&StopFlag>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let stop = stop.map_or_else(Arc::default, |flag| Arc::clone(&flag.stop));
        let spec = SplitSpec { ladder, particles, steps, redraw, most_frames };
        let Some(run) = crate::detached(py, || self.task.split(&spec, unit, &stop)).map_err(raise)? else {
            return Ok(None);
        };
        let found = PyDict::new(py);
        found.set_item("frames", run.frames)?;
        found.set_item("decoded", run.decoded)?;
        let rungs: PyResult<Vec<_>> = run.rungs.iter().map(|rung| rung_dict(py, rung)).collect();
        found.set_item("rungs", rungs?)?;
        if patterns {
            let patterns: PyResult<Vec<_>> = run.patterns.iter().map(|pattern| pattern_dict(py, pattern)).collect();
            found.set_item("patterns", patterns?)?;
        }
        Ok(Some(found))
    }

    /// Walks among the patterns on which the decoder fails at a raw bit error rate: `rber` for hard decisions, the task's own for a soft
    /// level. A chain of `steps` proposals begins at each of `starts` (the bits that are wrong there). With `fill` the other bits are as
    /// the channel makes them.
    ///
    /// Returns arrays with a row for each chain and a column for every `every` proposals. They are `errors`, `syndrome_weight`, `nearest`
    /// (the one of `sets` with the largest share of wrong bits), `nearest_wrong` (its number of wrong bits) and `present` (the number of
    /// sets with at most `missing` right bits).
    ///
    /// For each chain there are `draws`, `redraw`, `acceptance`, `moved` and `last` (the pattern at its end). `draws` counts draws of the
    /// other bits and of data until the decoder failed. It is 0 if the decoder never failed, and the chain's row is then all zeros. None if
    /// `stop` was set meanwhile. Raises ConfigError or CodeError.
    #[pyo3(signature = (
        rber, starts, steps, unit, sets = Vec::new(), every = 1, redraw = None, missing = 0, fill = true,
        most_draws = 1000, stop = None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn walk<'py>(
        &self,
        py: Python<'py>,
        rber: f64,
        starts: Vec<Vec<u32>>,
        steps: u32,
        unit: u64,
        sets: Vec<Vec<u32>>,
        every: u32,
        redraw: Option<f64>,
        missing: u32,
        fill: bool,
        most_draws: u32,
        stop: Option<&StopFlag>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let stop = stop.map_or_else(Arc::default, |flag| Arc::clone(&flag.stop));
        let spec = WalkSpec { rber, steps, every, redraw, missing, fill, most_draws };
        let walked = crate::detached(py, || self.task.walk(&spec, &starts, &sets, unit, &stop)).map_err(raise)?;
        let Some(chains) = walked else {
            return Ok(None);
        };
        let found = PyDict::new(py);
        let columns = (steps / every) as usize;
        type Field<T, N> = (&'static str, fn(&T) -> N);
        let of_records: [Field<Record, u32>; 5] = [
            ("errors", |record| record.errors),
            ("syndrome_weight", |record| record.syndrome_weight),
            ("nearest", |record| record.nearest),
            ("nearest_wrong", |record| record.nearest_wrong),
            ("present", |record| record.present),
        ];
        for (name, value) in of_records {
            let at = |(row, column): (usize, usize)| chains[row].records.get(column).map_or(0, value);
            found.set_item(name, Array2::from_shape_fn((chains.len(), columns), at).into_pyarray(py))?;
        }
        found.set_item("draws", chains.iter().map(|chain| chain.draws).collect::<Vec<_>>())?;
        let of_chains: [Field<Chain, f64>; 3] = [
            ("redraw", |chain| chain.redraw),
            ("acceptance", |chain| chain.acceptance),
            ("moved", |chain| chain.moved),
        ];
        for (name, value) in of_chains {
            found.set_item(name, chains.iter().map(value).collect::<Vec<_>>())?;
        }
        let last = |chain: &Chain| chain.last.as_ref().map(|pattern| pattern_dict(py, pattern)).transpose();
        found.set_item("last", chains.iter().map(last).collect::<PyResult<Vec<_>>>()?)?;
        Ok(Some(found))
    }
}

fn rung_dict<'py>(py: Python<'py>, rung: &Rung) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("rber", rung.rber)?;
    found.set_item("log_ratio", rung.log_ratio)?;
    found.set_item("effective", rung.effective)?;
    found.set_item("redraw", rung.redraw)?;
    found.set_item("acceptance", rung.acceptance)?;
    found.set_item("moved", rung.moved)?;
    found.set_item("mean_errors", rung.mean_errors)?;
    found.set_item("deviation_errors", rung.deviation_errors)?;
    found.set_item("least_errors", rung.least_errors)?;
    found.set_item("ancestors", rung.ancestors)?;
    found.set_item("largest_family", rung.largest_family)?;
    found.set_item("floor_like", rung.floor_like)?;
    found.set_item("undetected", rung.undetected)?;
    Ok(found)
}

fn pattern_dict<'py>(py: Python<'py>, pattern: &Pattern) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("errors", &pattern.errors)?;
    found.set_item("syndrome_weight", pattern.syndrome_weight)?;
    found.set_item("left", &pattern.left)?;
    Ok(found)
}

/// The exact (Clopper-Pearson) interval of a probability, after `failures` of `trials` trials failed.
#[pyfunction]
pub(crate) fn binomial_interval(failures: u64, trials: u64, confidence: f64) -> PyResult<(f64, f64)> {
    if failures > trials || !(confidence > 0.0 && confidence < 1.0) {
        let found = format!("found {failures} of {trials} at confidence {confidence}");
        return Err(raise(Error::config(
            "binomial_interval",
            format!("{found}, expected no more failures than trials"),
        )));
    }
    Ok(softsense_base::binomial_interval(failures, trials, confidence))
}

/// The two-sided quantile of Student's t distribution, for so many degrees of freedom and this confidence. The interval of a mean reaches
/// so many standard errors to either side.
#[pyfunction]
pub(crate) fn student_t_quantile(degrees: u64, confidence: f64) -> PyResult<f64> {
    if degrees == 0 || !(confidence > 0.0 && confidence < 1.0) {
        let found = format!("found {degrees} degrees of freedom at confidence {confidence}");
        return Err(raise(Error::config("student_t_quantile", format!("{found}, expected at least 1, and 0 to 1"))));
    }
    Ok(softsense_base::student_t_quantile(degrees, confidence))
}

/// Checks the text of a decode table; `origin` names it in errors. Raises TableError.
#[pyfunction]
pub(crate) fn decode_table_check(text: &str, origin: &str) -> PyResult<()> {
    DecodeTable::parse(text, origin).map(drop).map_err(raise)
}

/// The names of the shipped decode tables.
#[pyfunction]
pub(crate) fn decode_tables() -> Vec<&'static str> {
    DecodeTable::shipped().collect()
}
