//! Timelines of lone reads for Python.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_base::{Error, Purpose, Stream};
use softsense_ecc::catalogue;
use softsense_link::{DecodeAttempt, GivenCodeword, MAX_LEVEL, Readings, Step};
use softsense_nand::{CellSpec, InferredBy, ReadWith, ReferencesAt, Wear};
use softsense_ssd::timeline::{self, Span, Timeline};

use crate::codes::Code;
use crate::flash::Cells;
use crate::{Config, raise};

/// Reads of one codeword of a page type on a device that does nothing else.
///
/// >>> from softsense import Cells, Code, Config
/// >>> from softsense._core import LoneRead
/// >>> class SecondLevel:
/// ...     """Level 1 fails, with 300 wrong bits; level 2 decodes."""
/// ...     def attempt(self, cells, references, level, sensing_percent):
/// ...         return level > 1, 20, 300, 900
/// >>> config = Config.open("mlc-25nm", ["read.policy=progressive", "read.retry=incremental"])
/// >>> lone = LoneRead(config, page_type=0)
/// >>> read = lone.timeline(SecondLevel(), Cells.open("mlc"), Code.open("flash-8/9"), levels=7)
/// >>> [step["level"] for step in read["steps"]], read["decoded"], read["latency_ns"]
/// ([1, 2], True, 101000)
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct LoneRead {
    read: timeline::LoneRead,
}

#[pymethods]
impl LoneRead {
    /// Makes reads with the policy and the times of `config`; its reliability, ages, data and workload do not matter. Raises ConfigError:
    /// there is no page type `page_type`, counted from 0, or a unit of data is no codeword of one page.
    #[new]
    fn new(config: &Config, page_type: usize) -> PyResult<Self> {
        Ok(Self { read: timeline::LoneRead::new(&config.checked, page_type).map_err(raise)? })
    }

    /// The simulator's read of a codeword in `cells`: a function of the arguments.
    ///
    /// The object `codeword` tells the outcomes of sensing and decoding, by two methods:
    ///
    /// - `attempt(cells, references, level, sensing_percent)` returns whether the codeword decodes, after how many iterations, how many
    ///   hard decisions are wrong, and how many checks they violate (None at deeper levels).
    /// - `violated(cells, references, checks)` returns how many of the first checks hard decisions violate, for a predictor.
    ///
    /// The argument `cells` of these methods is the cells as they look in that sensing, with references where they then stand; `references`
    /// names that place. The deepest level that is read is `levels`, and `seed` is the seed of the counts of other cells of the page.
    ///
    /// Returns a dict of `steps` (a dict for each attempt), `decoded`, `latency_ns`, `spans` (a dict each, in the order in which they
    /// begin), `measured` and `predictor`. The measurements are in `measured`, by where references stood in the read before. The predictor
    /// has the number of checks that it counts, and the most violated ones that it lets pass; None without a predictor. Raises ConfigError,
    /// and whatever `codeword` raises.
    #[pyo3(signature = (codeword, cells, code, *, levels, seed = 1))]
    fn timeline<'py>(
        &self,
        py: Python<'py>,
        codeword: Py<PyAny>,
        cells: &Cells,
        code: &Code,
        levels: u8,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        if !(1..=MAX_LEVEL).contains(&levels) {
            return Err(raise(Error::config("levels", format!("found {levels}, expected 1 to {MAX_LEVEL}"))));
        }
        let readings = Arc::new(AskedCodeword {
            codeword,
            spec: cells.spec.clone(),
            wear: cells.wear,
            counts: Stream::new(seed, Purpose::Counts),
            told: Mutex::default(),
        });
        let syndrome_weights = match &code.code {
            catalogue::Code::Ldpc(code) => code.syndrome_weights(),
            catalogue::Code::Bch(_) => None,
        };
        let given = GivenCodeword { cells: cells.spec.clone(), levels, syndrome_weights, readings: readings.clone() };
        let read = crate::detached(py, || self.read.timeline(given));
        let mut told = readings.told();
        if let Some(raised) = told.raised.take() {
            return Err(raised);
        }
        let Timeline { steps, predictor, decoded, latency, spans } = read.map_err(raise)?;
        let dict = PyDict::new(py);
        dict.set_item("steps", steps.iter().map(|&step| of_step(py, step)).collect::<PyResult<Vec<_>>>()?)?;
        dict.set_item("decoded", decoded)?;
        dict.set_item("latency_ns", latency.0)?;
        dict.set_item("spans", spans.iter().map(|span| of_span(py, span)).collect::<PyResult<Vec<_>>>()?)?;
        let measured = PyDict::new(py);
        for (references, found) in &told.measured {
            measured.set_item(references.to_string(), of_measured(py, found)?)?;
        }
        dict.set_item("measured", measured)?;
        dict.set_item("predictor", predictor.map(|predictor| (predictor.checks(), predictor.threshold())))?;
        Ok(dict)
    }
}

/// A measurement of where references belong.
#[derive(Debug, Clone, Copy)]
struct Measured {
    at: ReferencesAt,
    /// The numbers of known cells of the lower state that read above, and of the upper state that read below; none if ones are counted.
    errors: Option<(u64, u64)>,
    difference: f64,
    steps: i8,
}

#[derive(Debug, Default)]
struct Answers {
    measured: Vec<(ReferencesAt, Measured)>,
    raised: Option<PyErr>,
}

/// A codeword about which Python is asked, in cells that are known here.
#[derive(Debug)]
struct AskedCodeword {
    codeword: Py<PyAny>,
    spec: CellSpec,
    wear: Wear,
    /// The random part of counts: of known cells or ones at index 0, of a search for valleys at index 1.
    counts: Stream,
    told: Mutex<Answers>,
}

impl AskedCodeword {
    fn told(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the answer of Python. After an exception it returns `otherwise`, and the exception is raised when the read is over.
    fn ask<T>(&self, otherwise: T, question: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>) -> T {
        Python::attach(|py| question(py, self.codeword.bind(py))).unwrap_or_else(|error| {
            self.told().raised.get_or_insert(error);
            otherwise
        })
    }

    /// The cells as they are read.
    fn cells(&self, read: ReadWith) -> Cells {
        let cells = match read.references {
            ReferencesAt::Valleys => {
                let mut next = 0;
                let gaps = self.spec.found_gaps(self.wear, || {
                    next += 1;
                    self.counts.uniform(1, next)
                });
                self.spec.as_sensed(self.spec.at_valleys(self.wear, &gaps), read.sensing_percent)
            }
            _ => self.spec.read_with(self.wear, read),
        };
        Cells { spec: self.spec.clone(), wear: self.wear, cells }
    }
}

impl Readings for AskedCodeword {
    fn attempt(&self, read: ReadWith) -> (DecodeAttempt, u32) {
        let ReadWith { references, level, sensing_percent } = read;
        let (converged, iterations, raw_errors, syndrome_weight) = self.ask((true, 0, 0, None), |_, codeword| {
            let asked = (self.cells(read), references.to_string(), level, sensing_percent);
            codeword.call_method1("attempt", asked)?.extract()
        });
        let correct = converged;
        (DecodeAttempt { level, converged, clean: false, iterations, correct, syndrome_weight }, raw_errors)
    }

    fn violated_of_first(&self, checks: u32, read: ReadWith) -> u32 {
        self.ask(0, |_, codeword| {
            let asked = (self.cells(read), read.references.to_string(), checks);
            codeword.call_method1("violated", asked)?.extract()
        })
    }

    fn inferred(&self, by: InferredBy, references: ReferencesAt) -> i8 {
        let (inference, at) = (self.spec.inference(), by.measured_at(references));
        let errors = self.spec.read_at(self.wear, at).known_errors(inference.boundary);
        let uniforms = [0, 1].map(|which| self.counts.uniform(0, which));
        let difference = inference.measured(by, errors, self.spec.states(), uniforms);
        let steps = inference.inferred(at, difference);
        let errors = (by == InferredBy::Sentinels).then(|| inference.counted_errors(errors, uniforms));
        self.told().measured.push((references, Measured { at, errors, difference, steps }));
        steps
    }
}

fn of_step(py: Python<'_>, step: Step) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("references", step.references.to_string())?;
    dict.set_item("level", step.level)?;
    dict.set_item("hard", step.hard)?;
    dict.set_item("extra_levels", step.extra_levels)?;
    dict.set_item("search_sensings", step.search_sensings)?;
    dict.set_item("unsent_sensings", step.unsent_sensings)?;
    dict.set_item("predictions", step.predictions)?;
    dict.set_item("sensing_percent", step.sensing_percent)?;
    dict.set_item("known_cells", step.known_cells)?;
    Ok(dict)
}

fn of_measured<'py>(py: Python<'py>, found: &Measured) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("at", found.at.to_string())?;
    dict.set_item("errors", found.errors)?;
    dict.set_item("difference", found.difference)?;
    dict.set_item("steps", found.steps)?;
    Ok(dict)
}

fn of_span<'py>(py: Python<'py>, span: &Span) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("resource", span.resource.name())?;
    dict.set_item("what", span.action.name())?;
    dict.set_item("step", span.attempt)?;
    dict.set_item("level", span.level)?;
    dict.set_item("from_ns", span.from.0)?;
    dict.set_item("to_ns", span.to.0)?;
    dict.set_item("wasted", span.wasted)?;
    Ok(dict)
}
