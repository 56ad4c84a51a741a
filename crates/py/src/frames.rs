//! Frame counting and decode tables as Python sees them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_base::Error;
use softsense_link::DecodeTable;

use crate::absorbing_sets::AbsorbingSets;
use crate::codes::Code;
use crate::raise;

/// Asks the threads that count frames in this process to stop.
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

    /// Counting or searching that was given this flag ends soon, with None.
    fn set(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was set.
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
/// It never changes, threads may share it, and it pickles with its code.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct FrameTask {
    code: Py<Code>,
    sets: Option<Py<AbsorbingSets>>,
    task: softsense_link::FrameTask,
}

#[pymethods]
impl FrameTask {
    /// `spec_json` is an object of `decoder`, `iterations`, `seed` and `channel` (docs/model/frame-error-rates.md), and of
    /// `condition` if frames are drawn by the absorbing sets `sets`. Raises CodeError or ConfigError.
    #[new]
    #[pyo3(signature = (code, spec_json, sets = None))]
    fn new(py: Python<'_>, code: Py<Code>, spec_json: &str, sets: Option<Py<AbsorbingSets>>) -> PyResult<Self> {
        let spec =
            serde_json::from_str(spec_json).map_err(|error| raise(Error::config("frames", error.to_string())))?;
        let opened = code.get().code.clone();
        let listed = sets.as_ref().map(|sets| Arc::clone(&sets.get().sets));
        let task = py.detach(|| softsense_link::FrameTask::conditioned(opened, spec, listed)).map_err(raise)?;
        Ok(Self { code, sets, task })
    }

    #[allow(clippy::type_complexity, reason = "it is the arguments of `new`")]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyAny>, (Py<Code>, String, Option<Py<AbsorbingSets>>)) {
        let sets = self.sets.as_ref().map(|sets| sets.clone_ref(py));
        (py.get_type::<Self>().into_any(), (self.code.clone_ref(py), self.spec_json(), sets))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.task.identity() == other.task.identity()
    }

    fn __hash__(&self) -> u64 {
        u64::from_str_radix(&self.task.identity()[..16], 16).expect("hexadecimal digits")
    }

    /// SHA-256 of all that the counts depend on, in hexadecimal.
    #[getter]
    fn identity(&self) -> String {
        self.task.identity()
    }

    /// The description, every default filled in.
    #[getter]
    fn spec_json(&self) -> String {
        serde_json::to_string(self.task.spec()).expect("a spec is plain data")
    }

    /// Frames of a unit of work.
    #[getter]
    fn unit_frames(&self) -> u64 {
        self.task.unit_frames()
    }

    /// n: bits of a codeword.
    #[getter]
    fn codeword_bits(&self) -> usize {
        self.task.code().codeword_bits()
    }

    /// k: data bits of a codeword.
    #[getter]
    fn data_bits(&self) -> usize {
        self.task.code().data_bits()
    }

    /// The probability that a hard decision is wrong; None for hard decisions without one.
    #[getter]
    fn raw_error_rate(&self) -> Option<f64> {
        self.task.raw_error_rate()
    }

    /// The probability that a decision is wrong as conditions count it: the sign of a soft level's LLR, or the hard decision;
    /// None for hard decisions without one.
    #[getter]
    fn decision_error_rate(&self) -> Option<f64> {
        self.task.decision_error_rate()
    }

    /// Counts the frames of units `first_unit` to `first_unit + units - 1`, with exactly `errors` wrong hard decisions each,
    /// or (None) as the channel makes them. The same for every thread, process and machine.
    ///
    /// Returns `frames`, `failures` (given up, or decided wrongly), `undetected` (of these the ones called right) and
    /// `iterations` (how many were taken for codewords after 0, 1, 2, ... iterations); None if `stop` was set meanwhile.
    /// Raises CodeError or ConfigError.
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
        let Some(counts) = py.detach(|| self.task.count(errors, first_unit, units, &stop)).map_err(raise)? else {
            return Ok(None);
        };
        let counted = PyDict::new(py);
        counted.set_item("frames", counts.frames)?;
        counted.set_item("failures", counts.failures)?;
        counted.set_item("undetected", counts.undetected)?;
        counted.set_item("iterations", counts.iterations)?;
        Ok(Some(counted))
    }
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

/// Checks the text of a decode table; `origin` names it in errors. Raises TableError.
#[pyfunction]
pub(crate) fn decode_table_check(text: &str, origin: &str) -> PyResult<()> {
    DecodeTable::parse(text, origin).map(drop).map_err(raise)
}

/// The text of a decode table: a shipped one by its name, or a file. Raises TableError.
#[pyfunction]
pub(crate) fn decode_table_text(name: &str) -> PyResult<String> {
    DecodeTable::open(name, Path::new("")).map(|table| table.text().to_owned()).map_err(raise)
}

/// The names of the shipped decode tables.
#[pyfunction]
pub(crate) fn decode_tables() -> Vec<&'static str> {
    DecodeTable::shipped().collect()
}
