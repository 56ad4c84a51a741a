//! Recordings of a run's window for Python.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_base::Error;
use softsense_config::checked::CheckedConfig;
use softsense_ssd::simulation::{self, LogRow, Recorded, Window};
use softsense_ssd::trace_events;

use crate::{log_columns, option, raise};

/// The beginning and the end, ns, of a window such as `10ms..12.5ms`. Raises ConfigError.
///
/// >>> from softsense._core import window
/// >>> window("10ms..12.5ms")
/// (10000000, 12500000)
#[pyfunction]
pub(crate) fn window(text: &str) -> PyResult<(u64, u64)> {
    let Window { from, to } = option("timeline", text)?;
    Ok((from.0, to.0))
}

/// The operations and requests that were recorded in a window of a run.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct Recording {
    pub(crate) recording: simulation::Recording,
    pub(crate) config: CheckedConfig,
}

#[pymethods]
impl Recording {
    /// The beginning and the end of the window, ns. The window ends early after a million spans.
    #[getter]
    fn window_ns(&self) -> (u64, u64) {
        (self.recording.window.from.0, self.recording.window.to.0)
    }

    /// True if the window ended early.
    #[getter]
    fn ended_early(&self) -> bool {
        self.recording.ended_early
    }

    /// The simulated time at the end of the recording, ns.
    #[getter]
    fn simulated_ns(&self) -> u64 {
        self.recording.now.0
    }

    /// The columns of spans, in the order in which they begin.
    ///
    /// Columns are `resource`, `index` (uint32), `action`, `owner`, `request` (None for the background, or for several requests), and
    /// `attempt` and `level` (uint8, 0 where nothing is read). Then come `ahead` (bool), `from_ns` and `to_ns` (uint64) and `cut` (bool).
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let spans = || self.recording.spans.iter().filter(|span| span.from < span.to);
        fn all<'a, T>(spans: impl Iterator<Item = &'a Recorded>, of: impl Fn(&Recorded) -> T) -> Vec<T> {
            spans.map(of).collect()
        }
        let columns = PyDict::new(py);
        columns.set_item("resource", all(spans(), |span| span.resource.name()))?;
        columns.set_item("index", all(spans(), |span| span.index).into_pyarray(py))?;
        columns.set_item("action", all(spans(), |span| span.action.name()))?;
        columns.set_item("owner", all(spans(), |span| span.owner.name()))?;
        columns.set_item("request", all(spans(), |span| span.request))?;
        columns
            .set_item("attempt", all(spans(), |span| span.step.map_or(0, |(attempt, _)| attempt)).into_pyarray(py))?;
        columns.set_item("level", all(spans(), |span| span.step.map_or(0, |(_, step)| step.level)).into_pyarray(py))?;
        columns.set_item("ahead", all(spans(), |span| span.ahead).into_pyarray(py))?;
        columns.set_item("from_ns", all(spans(), |span| span.from.0).into_pyarray(py))?;
        columns.set_item("to_ns", all(spans(), |span| span.to.0).into_pyarray(py))?;
        columns.set_item("cut", all(spans(), |span| span.cut).into_pyarray(py))?;
        Ok(columns)
    }

    /// The columns of requests that were under way in the window, in the order of their numbers: those of `Run.take_log`, and three more.
    /// The instant at which the device let the request in is `admitted_ns` (uint64). The others are `uncorrectable_codewords` (uint32) and
    /// `completed` (bool). Requests that had not completed have the values at the end of the recording.
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (rows, completed): (Vec<LogRow>, Vec<bool>) = self.recording.requests.iter().copied().unzip();
        let columns = log_columns(py, &rows, !self.config.config().host.tenants.is_empty())?;
        let admitted: Vec<u64> = rows.iter().map(|row| row.admitted.0).collect();
        columns.set_item("admitted_ns", admitted.into_pyarray(py))?;
        let uncorrectable: Vec<u32> = rows.iter().map(|row| row.uncorrectable).collect();
        columns.set_item("uncorrectable_codewords", uncorrectable.into_pyarray(py))?;
        columns.set_item("completed", completed.into_pyarray(py))?;
        Ok(columns)
    }

    /// Writes trace events in JSON, which ui.perfetto.dev and chrome://tracing open. Raises FileError.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| {
            let mut out = BufWriter::new(File::create(&path)?);
            trace_events::write(&self.recording, self.config.geometry(), &mut out)?;
            out.flush()
        });
        written.map_err(|error| raise(Error::io(&path, &error)))
    }
}
