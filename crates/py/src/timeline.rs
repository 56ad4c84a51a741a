//! Timelines of lone reads as Python sees them.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_link::DecodeAttempt;
use softsense_ssd::timeline::{self, Action, Resource, Span};

use crate::{Config, raise};

/// Reads of one codeword of a page type on a device that does nothing else.
///
/// >>> from softsense import Config
/// >>> from softsense._core import LoneRead
/// >>> config = Config.open("mlc-25nm", ["read.policy=progressive", "read.retry=incremental"])
/// >>> read = LoneRead(config, page_type=0).timeline([(False, 20), (True, 7)], raw_errors=300)
/// >>> read["levels"], read["decoded"], read["latency_ns"]
/// ([1, 2], True, 101000)
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct LoneRead {
    read: timeline::LoneRead,
}

#[pymethods]
impl LoneRead {
    /// Policy, retry and times are those of `config`; its reliability, ages, data and workload do not matter. Raises
    /// ConfigError: there is no page type `page_type`, counted from 0, or a unit of data is no codeword of one page.
    #[new]
    fn new(config: &Config, page_type: usize) -> PyResult<Self> {
        Ok(Self { read: timeline::LoneRead::new(&config.checked, page_type).map_err(raise)? })
    }

    /// The simulator's read of a codeword whose decodes are known: a function of the arguments.
    ///
    /// `attempts` has, of levels 1, 2, ..., whether the codeword decodes, and after how many iterations; the last is the deepest
    /// level that is read. `raw_errors` are its wrong hard decisions. Returns a dict: `levels` (attempted), `decoded`,
    /// `latency_ns` and `spans`, a dict each in the order in which they begin: `resource`, `what`, `level`, `from_ns`, `to_ns`,
    /// `wasted`. Raises ConfigError: there are no attempts, or more than levels.
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        attempts: Vec<(bool, u32)>,
        raw_errors: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let attempts = attempts.into_iter().zip(1u8..).map(|((converged, iterations), level)| DecodeAttempt {
            level,
            converged,
            clean: false,
            iterations,
            correct: converged,
            syndrome_weight: None,
        });
        let attempts: Vec<DecodeAttempt> = attempts.collect();
        let read = crate::detached(py, || self.read.timeline(raw_errors, &attempts)).map_err(raise)?;
        let spans = read.spans.iter().map(|span| of_span(py, span)).collect::<PyResult<Vec<_>>>()?;
        let dict = PyDict::new(py);
        dict.set_item("levels", read.levels.iter().map(|&level| u32::from(level)).collect::<Vec<_>>())?;
        dict.set_item("decoded", read.decoded)?;
        dict.set_item("latency_ns", read.latency.0)?;
        dict.set_item("spans", spans)?;
        Ok(dict)
    }
}

fn of_span<'py>(py: Python<'py>, span: &Span) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let resource = match span.resource {
        Resource::Plane => "plane",
        Resource::Bus => "bus",
        Resource::Decoder => "decoder",
    };
    let what = match span.action {
        Action::Sense => "sense",
        Action::Hold => "hold",
        Action::Transfer => "transfer",
        Action::Decode => "decode",
    };
    dict.set_item("resource", resource)?;
    dict.set_item("what", what)?;
    dict.set_item("level", span.level)?;
    dict.set_item("from_ns", span.from.0)?;
    dict.set_item("to_ns", span.to.0)?;
    dict.set_item("wasted", span.wasted)?;
    Ok(dict)
}
