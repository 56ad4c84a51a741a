//! `softsense._core`: the Rust crates for Python. It converts values and has no logic.

mod absorbing_sets;
mod code_design;
mod codes;
mod design;
mod drive;
mod flash;
mod frames;
mod hardware;
mod memory;
mod own;
mod recording;
mod tables;
mod timeline;
mod toml;

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_base::{Error, ErrorKind, Faults, MOST_DEPTH, MOST_TOLD};
use softsense_config::checked::{self, CheckedConfig};
use softsense_config::spec::{self, MODEL_VERSION};
use softsense_ecc::InstructionSet;
use softsense_link::{MAX_LEVEL, MOST_STEPS, Policy};
use softsense_nand::Wear;
use softsense_requests::RequestKind;
use softsense_requests::trace::{self, Beyond, TraceSpec};
use softsense_ssd::run::{self, Requests};
use softsense_ssd::simulation::{LogRow, Window};
use softsense_ssd::summary;
use softsense_ssd::tenants::Fairness;

/// Rows of a label and a value, for people.
type Rows = Vec<(String, String)>;

create_exception!(
    softsense,
    SoftsenseError,
    PyException,
    "Bad input; the message has a line for each fault, which names its place."
);
create_exception!(
    softsense,
    ConfigError,
    SoftsenseError,
    "A bad configuration field, or fields that do not go together."
);
create_exception!(
    softsense,
    TraceError,
    SoftsenseError,
    "A bad trace file or line, or a trace that does not fit the device."
);
create_exception!(softsense, TableError, SoftsenseError, "A bad decode table.");
create_exception!(softsense, CodeError, SoftsenseError, "A bad code, or words that do not fit it.");
create_exception!(softsense, FileError, SoftsenseError, "The operating system refused to read or write a file.");

fn raise(error: Error) -> PyErr {
    if let Some(raised) = own::raised(&error) {
        return raised;
    }
    let message = error.to_string();
    match error.kind() {
        ErrorKind::Config => ConfigError::new_err(message),
        ErrorKind::Trace => TraceError::new_err(message),
        ErrorKind::Table => TableError::new_err(message),
        ErrorKind::Code => CodeError::new_err(message),
        ErrorKind::Io => FileError::new_err(message),
        ErrorKind::Own => SoftsenseError::new_err(message),
    }
}

/// Parses an option that has a name for each of its values.
fn option<T: std::str::FromStr<Err: std::fmt::Display>>(name: &str, value: &str) -> PyResult<T> {
    value.parse().map_err(|error| raise(Error::config(format!("--{name}"), format!("{error}"))))
}

/// True once Python ends. A thread whose work was given up must not return to Python then: Python would end it in the middle of this
/// module, and with it, loudly, the process.
static ENDING: AtomicBool = AtomicBool::new(false);
/// Number of threads between their work and Python.
static COMING_BACK: AtomicUsize = AtomicUsize::new(0);

/// Does work without the GIL, in a thread that Python may have given up before the end of the work.
fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let done = py.detach(|| {
        let done = work();
        COMING_BACK.fetch_add(1, Ordering::SeqCst);
        while ENDING.load(Ordering::SeqCst) {
            COMING_BACK.fetch_sub(1, Ordering::SeqCst);
            std::thread::park();
            COMING_BACK.fetch_add(1, Ordering::SeqCst);
        }
        done
    });
    COMING_BACK.fetch_sub(1, Ordering::SeqCst);
    done
}

/// Called when Python ends: lets threads return that are on their way, and no others.
#[pyfunction]
fn ending(py: Python<'_>) {
    ENDING.store(true, Ordering::SeqCst);
    py.detach(|| {
        while COMING_BACK.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Does long work without the GIL. From time to time it calls `progress` with the fraction done and checks for Ctrl-C.
fn with_progress<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(f64) -> bool) -> softsense_base::Result<T> + Send,
) -> PyResult<T> {
    let mut raised: Option<PyErr> = None;
    let result = py.detach(|| {
        work(&mut |fraction| {
            let heard = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |callback| callback.call1(py, (fraction,)).map(drop))
            });
            raised = heard.err();
            raised.is_none()
        })
    });
    match raised {
        Some(error) => Err(error),
        None => result.map_err(raise),
    }
}

/// A checked configuration of device, error correction and workload.
///
/// >>> from softsense import Config
/// >>> config = Config.open("mlc-25nm")
/// >>> config.user_bytes < config.with_overrides(["ftl.over_provisioning=0.07"]).user_bytes
/// True
/// >>> Config.from_toml("[geometry]\nwings = 2", "mine.toml")
/// Traceback (most recent call last):
/// softsense.ConfigError: mine.toml:2: geometry.wings: unknown field `wings`, expected one of ...
#[pyclass(module = "softsense", frozen)]
struct Config {
    checked: CheckedConfig,
    own_sources: own::Sources,
}

#[pymethods]
impl Config {
    /// One line: the capacity for users, and the identity.
    fn __repr__(&self) -> String {
        let gigabytes = self.user_bytes() as f64 / 1e9;
        format!("<softsense.Config: {gigabytes:.1} GB for users, sha256 {}>", &self.sha256()[..12])
    }

    /// Opens a shipped configuration by name, or a TOML file; `overrides` are such as `ftl.over_provisioning=0.28`.
    /// Raises ConfigError, TableError or FileError.
    #[staticmethod]
    #[pyo3(signature = (name_or_path, overrides = Overrides::default()))]
    fn open(py: Python<'_>, name_or_path: PathBuf, overrides: Overrides) -> PyResult<Self> {
        let name_or_path = name_or_path.to_string_lossy();
        Self::new(py, CheckedConfig::open(&name_or_path, &overrides.0))
    }

    /// Reads TOML. `origin` is the file's name, and paths in the text resolve beside that file; `overrides` are such as
    /// `ftl.over_provisioning=0.28`. Raises ConfigError or TableError.
    #[staticmethod]
    #[pyo3(signature = (text, origin, overrides = Overrides::default()))]
    fn from_toml(py: Python<'_>, text: &str, origin: &str, overrides: Overrides) -> PyResult<Self> {
        Self::new(py, CheckedConfig::from_toml(text, origin, &overrides.0))
    }

    /// Returns the configuration with fields replaced. Raises ConfigError or TableError.
    fn with_overrides(&self, py: Python<'_>, overrides: Overrides) -> PyResult<Self> {
        Self::new(py, self.checked.with_overrides(&overrides.0))
    }

    /// The texts of the files and modules of your own that the configuration names, by their places.
    #[getter]
    fn own_sources(&self) -> std::collections::HashMap<String, String> {
        self.own_sources.iter().cloned().collect()
    }

    /// The resolved configuration, every default filled in.
    fn to_toml(&self) -> String {
        self.checked.to_toml()
    }

    /// The resolved configuration as JSON.
    fn to_json(&self) -> String {
        self.checked.to_json()
    }

    /// The resolved configuration as a `softsense.records.Config`: nested dicts whose keys are attributes, too.
    ///
    /// >>> from softsense import load_config
    /// >>> load_config("mlc-25nm").fields.read.policy
    /// 'two_step'
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("softsense.records")?.call_method1("read", ("Config", self.to_json()))
    }

    /// SHA-256 of the resolved configuration and the model version: the identity of a run.
    #[getter]
    fn sha256(&self) -> String {
        self.checked.sha256()
    }

    /// Rows of label and value for people.
    fn describe(&self) -> Rows {
        self.checked.describe()
    }

    /// Number of bytes that the user can address.
    #[getter]
    fn user_bytes(&self) -> u64 {
        self.checked.user_bytes()
    }

    /// True if raw bit error rates are known, so that `sample_codewords` has them.
    #[getter]
    fn knows_rber(&self) -> bool {
        self.checked.reliability().needs_age()
    }

    /// True if there is a `[workload]` section, or tenants, for a run without a trace.
    #[getter]
    fn has_workload(&self) -> bool {
        self.checked.config().workload.is_some() || self.checked.has_tenants()
    }

    /// Rows of label and value of the `[workload]` section, or of the tenants. Raises ConfigError if there is none, or it does not fit the
    /// device.
    fn describe_workload(&self) -> PyResult<Rows> {
        self.checked.describe_workload().map_err(raise)
    }

    /// Writes the `[workload]` section as a trace file and returns its number of requests. Raises
    /// ConfigError or FileError.
    #[pyo3(signature = (to, format = "mqsim", progress = None))]
    fn write_workload(&self, py: Python<'_>, to: PathBuf, format: &str, progress: Option<Py<PyAny>>) -> PyResult<u64> {
        let format = option("to", format)?;
        let spec = self.checked.workload().map_err(raise)?;
        let mut workload = spec.source(self.checked.config().seed, self.checked.user_bytes()).map_err(raise)?;
        with_progress(py, progress, |progress| trace::write_requests(&mut workload, &to, format, progress))
    }

    /// Codewords of the device as it starts, spread evenly over the mapped ones.
    ///
    /// Returns columns `chip` (uint32, in the order of the stripe), `block` (uint32), `page_type` (uint8) and `rber` (float64). The
    /// probabilities that codewords like it fail with hard decision, and at the deepest level, are `p_fail_hard` and `p_fail`. The
    /// probability that every step of the policy fails is `p_uncorrectable`, and the mean number of its steps is `mean_steps`. These are
    /// float64, NaN where only real decodes tell. Raises ConfigError.
    fn sample_codewords<'py>(&self, py: Python<'py>, count: u32) -> PyResult<Bound<'py, PyDict>> {
        let samples = py.detach(|| run::sample_codewords(&self.checked, count)).map_err(raise)?;
        let columns = PyDict::new(py);
        let chips: Vec<u32> = samples.iter().map(|sample| sample.chip).collect();
        columns.set_item("chip", chips.into_pyarray(py))?;
        let blocks: Vec<u32> = samples.iter().map(|sample| sample.block.0).collect();
        columns.set_item("block", blocks.into_pyarray(py))?;
        let page_types: Vec<u8> = samples.iter().map(|sample| sample.page_type).collect();
        columns.set_item("page_type", page_types.into_pyarray(py))?;
        let rber: Vec<f64> = samples.iter().map(|sample| sample.rber).collect();
        columns.set_item("rber", rber.into_pyarray(py))?;
        let nan = |p: Option<f64>| p.unwrap_or(f64::NAN);
        let hard: Vec<f64> = samples.iter().map(|sample| nan(sample.p_fail_hard)).collect();
        columns.set_item("p_fail_hard", hard.into_pyarray(py))?;
        let deepest: Vec<f64> = samples.iter().map(|sample| nan(sample.p_fail)).collect();
        columns.set_item("p_fail", deepest.into_pyarray(py))?;
        let uncorrectable: Vec<f64> = samples.iter().map(|sample| nan(sample.p_uncorrectable)).collect();
        columns.set_item("p_uncorrectable", uncorrectable.into_pyarray(py))?;
        let mean_steps: Vec<f64> = samples.iter().map(|sample| nan(sample.mean_steps)).collect();
        columns.set_item("mean_steps", mean_steps.into_pyarray(py))?;
        Ok(columns)
    }

    /// The codes of `reliability.bch` on this device, in the order of their ages; none with any other reliability.
    ///
    /// A dict each: `to_pe_cycles`, `codeword_bytes`, `correctable`, `field_bits`, `codeword_bits`, `parity_bytes` (of a codeword),
    /// `codewords_per_unit`, `squeezed_bytes` (of each unit's data space), `units_per_block`, `crossing_per_block` (units in two pages) and
    /// `codewords_at_once` (in a decoder). The times of one codeword are `transfer_us`, `decode_us` and `decode_without_errors_us`.
    fn bch_codes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let codes = self.checked.bch_codes();
        let dict = |code: &softsense_config::format::UnitCode| {
            let fields = PyDict::new(py);
            for (name, whole) in [
                ("to_pe_cycles", code.to_pe_cycles),
                ("codeword_bytes", code.codeword_bytes),
                ("correctable", code.correctable),
                ("field_bits", code.field_bits),
                ("codeword_bits", code.codeword_bits),
                ("parity_bytes", code.parity_bytes),
                ("codewords_per_unit", code.codewords_per_unit),
                ("squeezed_bytes", code.squeezed_bytes),
                ("units_per_block", code.units_per_block),
                ("crossing_per_block", code.crossing_per_block),
                ("codewords_at_once", code.codewords_at_once),
            ] {
                fields.set_item(name, whole)?;
            }
            for (name, us) in [
                ("transfer_us", code.transfer_us),
                ("decode_us", code.decode_us),
                ("decode_without_errors_us", code.decode_without_errors_us),
            ] {
                fields.set_item(name, us)?;
            }
            Ok(fields)
        };
        codes.iter().map(dict).collect()
    }

    /// The circuits of decoders: a dict of `count` (of all SSDs), `node_nm`, `gates`, `memory_bits` and `mm2` of one, and `total_mm2`. None
    /// if `decoder.time` is no circuit.
    fn decoder_hardware<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(hardware) = self.checked.decoder_hardware() else { return Ok(None) };
        let dict = PyDict::new(py);
        dict.set_item("count", hardware.count)?;
        dict.set_item("node_nm", hardware.node_nm)?;
        dict.set_item("gates", hardware.parts.gates)?;
        dict.set_item("memory_bits", hardware.parts.memory_bits)?;
        dict.set_item("mm2", hardware.mm2)?;
        dict.set_item("total_mm2", hardware.total_mm2())?;
        Ok(Some(dict))
    }

    /// Overrides that give the decoders the most parallelism that `total_mm2` of area allows. Raises ConfigError.
    fn parallelism_of_area(&self, total_mm2: f64) -> PyResult<Vec<String>> {
        self.checked.parallelism_of_area(total_mm2).map_err(raise)
    }

    /// The paths of ages in `precondition` on which nothing depends: other ages give the same numbers. If reads never look at flash,
    /// default ages are left out.
    #[getter]
    fn idle_ages(&self) -> Vec<&'static str> {
        self.checked.idle_ages()
    }

    /// The cells of the reliability at an age; None if it has none with threshold voltages. Raises ConfigError.
    #[pyo3(signature = (pe_cycles = 0, retention_hours = 0.0))]
    fn cells(&self, pe_cycles: u32, retention_hours: f64) -> PyResult<Option<flash::Cells>> {
        let spec = self.checked.reliability().cells().cloned();
        spec.map(|spec| flash::Cells::new(spec, Wear::unread(pe_cycles, retention_hours))).transpose()
    }

    /// The probability that decoding fails at each raw bit error rate (float64, shape (n,)), by the decode table. Returns one row for each
    /// of its levels, or the first `levels` of them (float64, shape (levels, n)). Raises ConfigError if there is no table, or it has fewer.
    #[pyo3(signature = (rber, levels = None))]
    fn p_fail<'py>(
        &self,
        py: Python<'py>,
        rber: PyReadonlyArray1<'py, f64>,
        levels: Option<u8>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.decode_table()?.p_fail(py, rber, levels)
    }

    /// The decode table. Raises ConfigError if there is none, or several by age.
    fn decode_table(&self) -> PyResult<tables::DecodeTable> {
        let message = "found a reliability without one decode table, expected `reliability.table`";
        let table = self.checked.reliability().table();
        table.map(tables::DecodeTable::of).ok_or_else(|| raise(Error::config("reliability", message)))
    }
}

/// Overrides: fields to replace, each with its value.
#[derive(Default)]
struct Overrides(Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Overrides {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let wrong = |found: &str| {
            let message = format!("found {found}, expected a list of text such as [\"ftl.over_provisioning=0.28\"]");
            raise(Error::config("overrides", message))
        };
        if let Ok(text) = given.extract::<String>() {
            return Err(wrong(&format!("the text `{text}`")));
        }
        if given.is_instance_of::<PyDict>() {
            return Err(wrong("a dict"));
        }
        let Ok(each) = given.try_iter() else { return Err(wrong(&format!("{}", given.get_type()))) };
        let text = |item: PyResult<Bound<'py, PyAny>>| {
            let item = item?;
            item.extract::<String>().map_err(|_| wrong(&format!("a list with {}", item.get_type())))
        };
        each.map(text).collect::<PyResult<_>>().map(Self)
    }
}

/// Fields to replace, in a list. Raises ConfigError if they are anything but text.
#[pyfunction]
fn overrides(given: Overrides) -> Vec<String> {
    given.0
}

impl Config {
    /// Makes the configuration, with the user's own code that it names.
    fn new(py: Python<'_>, checked: softsense_base::Result<CheckedConfig>) -> PyResult<Self> {
        let (checked, own_sources) = own::with_own(py, checked.map_err(raise)?)?;
        Ok(Self { checked, own_sources })
    }
}

/// A block trace, recognised and scanned from start to end.
///
/// >>> import json, pathlib
/// >>> from softsense import Trace
/// >>> header = "arrival_ns,device,kind,offset_bytes,bytes"
/// >>> _ = pathlib.Path("two.csv").write_text(f"{header}\n0,0,read,0,4096\n100000,0,write,8192,4096\n")
/// >>> stats = json.loads(Trace("two.csv").stats_json())
/// >>> stats["requests"], stats["reads"]
/// (2, 1)
#[pyclass(module = "softsense", frozen, subclass)]
struct Trace {
    trace: trace::Trace,
}

#[pymethods]
impl Trace {
    /// Recognises the format of a file, or takes the one given, and scans the file. If `content` is given, it is read in place of the file.
    /// Raises TraceError, FileError or ConfigError.
    #[new]
    #[pyo3(signature = (
        path, *, format = None, columns = None, delimiter = None, skip_header = 0, op = None, time_unit = None,
        size_unit = None, event = None, devices = "stack", skip_outliers = false, skip_flushes = false,
        content = None, progress = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        columns: Option<&str>,
        delimiter: Option<&str>,
        skip_header: u32,
        op: Option<&str>,
        time_unit: Option<&str>,
        size_unit: Option<&str>,
        event: Option<&str>,
        devices: &str,
        skip_outliers: bool,
        skip_flushes: bool,
        content: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let Some(name) = path.to_str() else {
            let message = "found a name that is not UTF-8, expected UTF-8";
            return Err(raise(Error::new(ErrorKind::Io, path.display().to_string(), message)));
        };
        let mut spec = TraceSpec::new(name);
        (spec.format, spec.columns) =
            trace::Columns::asked(format, columns, delimiter, skip_header, op).map_err(raise)?;
        spec.time_unit = time_unit.map(|name| option("time-unit", name)).transpose()?;
        spec.size_unit = size_unit
            .map(|text| trace::parse_size(text).map_err(|message| raise(Error::config("--size-unit", message))))
            .transpose()?;
        spec.event = event.map(|name| option::<trace::Event>("event", name)).transpose()?;
        spec.devices = option("devices", devices)?;
        spec.skip_outliers = skip_outliers;
        spec.skip_flushes = skip_flushes;
        if let Some(content) = content {
            let file = File::open(&content).map_err(|error| raise(Error::io(&content, &error)))?;
            spec.file = Some(Arc::new(file));
        }
        Ok(Self { trace: with_progress(py, progress, |progress| trace::Trace::open(spec, progress))? })
    }

    /// The meaning of the columns, as a file that `format` takes; None for a format with a parser of its own.
    fn columns_toml(&self) -> Option<String> {
        self.trace.columns().map(trace::Columns::to_toml)
    }

    /// Format, units, counts, span, footprint and extent as JSON.
    fn stats_json(&self) -> PyResult<String> {
        serde_json::to_string(self.trace.stats()).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Format, units, counts, span, footprint and extent as rows of label and value for people.
    fn describe(&self) -> Rows {
        self.trace.stats().describe()
    }

    /// Fits arrivals of `workload.arrivals.markov_modulated` to those of the trace: (JSON, rows of label and value for people, TOML).
    /// Raises TraceError.
    fn fit_arrivals(&self, py: Python<'_>) -> PyResult<(String, Rows, String)> {
        let fit = detached(py, || self.trace.fit_arrivals()).map_err(raise)?;
        let json = serde_json::to_string(&fit).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((json, fit.describe(), fit.to_toml()))
    }

    /// Writes the trace in another format and returns the number of requests. Raises TraceError or FileError.
    #[pyo3(signature = (to, format = "csv", progress = None))]
    fn convert(&self, py: Python<'_>, to: PathBuf, format: &str, progress: Option<Py<PyAny>>) -> PyResult<u64> {
        let format = option("to", format)?;
        with_progress(py, progress, |progress| self.trace.convert(&to, format, progress))
    }
}

/// One simulation: one configuration, one workload.
#[pyclass(module = "softsense._core")]
struct Run {
    run: run::Run,
    config: CheckedConfig,
}

#[pymethods]
impl Run {
    /// Builds and preconditions the device. Without a trace, the configuration's `[workload]` is run. A `window`, such as `10ms..12ms`, is
    /// recorded. Raises SoftsenseError.
    #[new]
    #[pyo3(signature = (config, trace = None, *, beyond = "reject", log_requests = false, window = None))]
    fn new(
        py: Python<'_>,
        config: &Config,
        trace: Option<&Trace>,
        beyond: &str,
        log_requests: bool,
        window: Option<&str>,
    ) -> PyResult<Self> {
        let beyond: Beyond = option("beyond", beyond)?;
        let window = window.map(|window| option::<Window>("timeline", window)).transpose()?;
        let requests = trace.map_or(Requests::Workload, |trace| Requests::Trace(&trace.trace, beyond));
        let mut run = detached(py, || run::Run::new(&config.checked, requests, log_requests)).map_err(raise)?;
        if let Some(window) = window {
            run.record(window);
        }
        Ok(Self { run, config: config.checked.clone() })
    }

    /// Simulates until about `requests` more have completed, or `stop` was set; False when all have completed.
    #[pyo3(signature = (requests, stop = None))]
    fn advance(&mut self, py: Python<'_>, requests: u64, stop: Option<&frames::StopFlag>) -> PyResult<bool> {
        let stop = stop.map_or_else(Arc::default, frames::StopFlag::shared);
        detached(py, || self.run.advance_unless(&stop, requests)).map_err(raise)
    }

    /// Number of completed requests.
    #[getter]
    fn requests(&self) -> u64 {
        self.run.requests()
    }

    /// Share of the requests that has been read, in [0, 1].
    #[getter]
    fn fraction(&self) -> f64 {
        self.run.fraction()
    }

    /// Simulated time, s.
    #[getter]
    fn simulated_s(&self) -> f64 {
        self.run.simulated().as_secs()
    }

    /// The measurements so far, as JSON.
    #[pyo3(signature = (interrupted = false))]
    fn summary_json(&self, interrupted: bool) -> PyResult<String> {
        serde_json::to_string(&self.run.summary(interrupted)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The run over time, as JSON: a list of intervals.
    fn series_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.run.series()).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Response times, us (float64), and the fraction of requests at or below each (float64): `read`, `write`, `trim` or `all` requests.
    /// With `tenant`, its number in the config, they are those of this tenant.
    #[allow(clippy::type_complexity, reason = "it is a pair of arrays")]
    #[pyo3(signature = (kind, tenant = None))]
    fn distribution<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        tenant: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let kind = match kind {
            "read" => Some(RequestKind::Read),
            "write" => Some(RequestKind::Write),
            "trim" => Some(RequestKind::Trim),
            "all" => None,
            _ => return Err(PyValueError::new_err(format!("found `{kind}`, expected read, write, trim or all"))),
        };
        let responses = match tenant {
            None => self.run.responses(kind),
            Some(tenant) => self
                .run
                .responses_of_tenant(tenant, kind)
                .ok_or_else(|| PyValueError::new_err(format!("found no tenant {tenant}")))?,
        };
        let (values, fractions): (Vec<_>, Vec<_>) = responses.cumulative().into_iter().unzip();
        Ok((values.into_pyarray(py), fractions.into_pyarray(py)))
    }

    /// The columns of the requests that completed since the last call.
    ///
    /// Columns are `request` (uint64), `arrival_ns` (uint64), `kind` (uint8: 0 read, 1 write, 2 trim, 3 flush, 4 write with FUA),
    /// `offset_bytes` (uint64), `bytes` (uint64) and `response_ns` (uint64). Then come `max_level` (uint8), `retries` (uint16) and
    /// `energy_uj` (float64); with tenants also `tenant` (uint16).
    fn take_log<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        log_columns(py, &self.run.take_log(), !self.run.tenants().is_empty())
    }

    /// The recording of the window, which ends with this call; None without a window.
    fn take_recording(&mut self) -> Option<recording::Recording> {
        let recording = self.run.take_recording()?;
        Some(recording::Recording { recording, config: self.config.clone() })
    }
}

fn log_columns<'py>(py: Python<'py>, rows: &[LogRow], has_tenants: bool) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let wide = |of: fn(&LogRow) -> u64| -> Vec<u64> { rows.iter().map(of).collect() };
    columns.set_item("request", wide(|row| row.request).into_pyarray(py))?;
    columns.set_item("arrival_ns", wide(|row| row.arrival.0).into_pyarray(py))?;
    let kinds: Vec<u8> = rows.iter().map(|row| row.kind as u8).collect();
    columns.set_item("kind", kinds.into_pyarray(py))?;
    columns.set_item("offset_bytes", wide(|row| row.offset_bytes).into_pyarray(py))?;
    columns.set_item("bytes", wide(|row| row.bytes).into_pyarray(py))?;
    columns.set_item("response_ns", wide(|row| row.response.0).into_pyarray(py))?;
    let levels: Vec<u8> = rows.iter().map(|row| row.max_level).collect();
    columns.set_item("max_level", levels.into_pyarray(py))?;
    let retries: Vec<u16> = rows.iter().map(|row| row.retries).collect();
    columns.set_item("retries", retries.into_pyarray(py))?;
    let energies: Vec<f64> = rows.iter().map(|row| row.energy.as_uj()).collect();
    columns.set_item("energy_uj", energies.into_pyarray(py))?;
    if has_tenants {
        let tenants: Vec<u16> = rows.iter().map(|row| row.tenant).collect();
        columns.set_item("tenant", tenants.into_pyarray(py))?;
    }
    Ok(columns)
}

/// Version, model_version, profile and target of this build, and the instruction_set that codecs use here. Also its commit, if
/// `SOFTSENSE_COMMIT` was set when it was built.
///
/// >>> from softsense import build_info
/// >>> build_info()["instruction_set"] in ("portable", "avx2", "avx512")
/// True
#[pyfunction]
fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("version", env!("CARGO_PKG_VERSION"))?;
    info.set_item("model_version", MODEL_VERSION.to_string())?;
    info.set_item("profile", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    info.set_item("target", format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS))?;
    info.set_item("instruction_set", InstructionSet::detect().name())?;
    if let Some(commit) = option_env!("SOFTSENSE_COMMIT") {
        info.set_item("commit", commit)?;
    }
    Ok(info)
}

/// The JSON schema of a configuration.
///
/// >>> import json
/// >>> from softsense import config_schema
/// >>> "geometry" in json.loads(config_schema())["properties"]
/// True
#[pyfunction]
fn config_schema() -> String {
    spec::schema()
}

/// The JSON schemas of what is written of a run, as one JSON document: by the names of types, `Config` and `Summary` among them. A field
/// that may be left out is not required.
///
/// >>> import json
/// >>> from softsense import _core
/// >>> json.loads(_core.written_schemas())["Summary"]["properties"]["reads"]["description"]
/// 'Completed reads.'
#[pyfunction]
fn written_schemas() -> String {
    serde_json::Value::Object(summary::written_schemas()).to_string()
}

/// The shipped configurations, a dict each: `name`, `description`, `user_bytes` (capacity that the user can address) and `reliability` (its
/// kind, as in configs).
///
/// >>> from softsense import configs
/// >>> [config["name"] for config in configs()][:2]
/// ['7450-960', '980pro-1000']
#[pyfunction]
fn configs(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let shipped = detached(py, checked::shipped_configs);
    let dict = |config: checked::ShippedConfig| {
        let dict = PyDict::new(py);
        dict.set_item("name", config.name)?;
        dict.set_item("description", config.about)?;
        dict.set_item("user_bytes", config.user_bytes)?;
        dict.set_item("reliability", config.reliability)?;
        Ok(dict)
    };
    shipped.into_iter().map(dict).collect()
}

/// The read policies, a dict each: `name`, `description` (one sentence) and `knows_level` (whether the policy knows the least level that
/// decodes, which no controller does).
///
/// >>> from softsense import policies
/// >>> [policy["name"] for policy in policies()][:3]
/// ['ideal', 'two_step', 'look_ahead']
/// >>> [policy["name"] for policy in policies() if policy["knows_level"]]
/// ['ideal']
#[pyfunction]
fn policies(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let dict = |policy: Policy| {
        let dict = PyDict::new(py);
        dict.set_item("name", policy.name())?;
        dict.set_item("description", policy.about())?;
        dict.set_item("knows_level", policy.knows_level())?;
        Ok(dict)
    };
    Policy::ALL.into_iter().map(dict).collect()
}

/// A config path in the names that fields have: `ftl.over-provisioning` is `ftl.over_provisioning`. A path that leads to no field is
/// returned unchanged.
#[pyfunction]
fn own_path(path: &str) -> String {
    softsense_config::checked::own_path(path)
}

/// Path and line of every key, and of every element of a list, in a text of TOML; indices in paths are text. Empty for a text that is no
/// TOML.
#[pyfunction]
fn toml_lines(text: &str) -> Vec<(Vec<String>, usize)> {
    softsense_config::checked::toml_lines(text)
}

/// An error that lists these faults, each with its place: the first `MOST_TOLD`, and how many more there are. `untold` is the number of
/// further faults, which are not in the list.
///
/// >>> from softsense._core import config_error
/// >>> str(config_error(["a: is wrong", "b: is wrong"], 40))
/// 'a: is wrong\nb: is wrong\nand 40 more'
#[pyfunction]
#[pyo3(signature = (faults, untold = 0))]
fn config_error(faults: Vec<String>, untold: usize) -> PyErr {
    let mut all = Faults::default();
    all.add_untold(untold);
    faults.into_iter().for_each(|fault| all.add(Error::config("", fault)));
    raise(all.end().err().unwrap_or_else(|| Error::config("", "found no fault, expected some")))
}

/// The name in `known` that equals `name` but for capitals and the choice among `/`, `-` and `_`. None if there is no such name, or
/// several.
#[pyfunction]
fn spelled_like(name: &str, known: Vec<String>) -> Option<String> {
    softsense_base::spelled_like(name, known.iter().map(String::as_str)).map(str::to_owned)
}

/// The name in `known` that was probably meant by `name`. None if all are far from it.
#[pyfunction]
fn nearest(name: &str, known: Vec<String>) -> Option<String> {
    softsense_base::nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
}

/// Measures of how fair a device is to its tenants, from mean responses alone and beside the others, in us. Both lists have the tenants in
/// the same order. JSON of `slowdowns`, `fairness`, `max_slowdown`, `weighted_speedup` and `harmonic_speedup`. Raises ConfigError.
#[pyfunction]
fn fairness_json(alone_us: Vec<f64>, shared_us: Vec<f64>) -> PyResult<String> {
    let fairness = Fairness::new(&alone_us, &shared_us).map_err(raise)?;
    serde_json::to_string(&fairness).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A file that appears at its path whole, when it is finished, or not at all. Raises FileError.
#[pyclass(module = "softsense._core")]
struct UnfinishedFile {
    file: Option<softsense_base::UnfinishedFile>,
}

#[pymethods]
impl UnfinishedFile {
    #[new]
    fn new(whole: PathBuf) -> PyResult<Self> {
        let (file, _) = softsense_base::UnfinishedFile::create(&whole).map_err(raise)?;
        Ok(Self { file: Some(file) })
    }

    /// The temporary path until the file is finished, with the suffix of the final one; None afterwards.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| file.path().to_owned())
    }

    /// Gives the file its final name, once its content is on disk.
    fn finish(&mut self) -> PyResult<()> {
        self.file.take().map_or(Ok(()), |file| file.finish().map_err(raise))
    }

    /// Removes the file, if it was not finished.
    fn discard(&mut self) {
        self.file = None;
    }
}

static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Makes later panics of the core print nothing (unless RUST_BACKTRACE is set): `last_panic` returns them.
#[pyfunction]
fn keep_panics_quiet() {
    if std::env::var_os("RUST_BACKTRACE").is_some() {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let message = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        let message = message.unwrap_or("without a message");
        let place = panic.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = Some(format!("{message}{place}"));
        }
    }));
}

/// Message and place of the last panic; None if there was none, or panics were not kept quiet.
#[pyfunction]
fn last_panic() -> Option<String> {
    LAST_PANIC.lock().ok()?.clone()
}

/// The text of a file or pipe at `path`, at most 256 MiB. Raises FileError if it cannot be read, or is not UTF-8.
#[pyfunction]
fn read_text(path: PathBuf) -> PyResult<String> {
    softsense_base::read_text(&path).map_err(|error| raise(Error::io(&path, &error)))
}

/// Checks the environment variables that softsense looks at. Raises ConfigError.
#[pyfunction]
fn check_environment() -> PyResult<()> {
    InstructionSet::check_environment().map_err(raise)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(ending, module)?,))?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MAX_LEVEL", MAX_LEVEL)?;
    module.add("MAX_STEPS", MOST_STEPS)?;
    module.add("MOST_DEPTH", MOST_DEPTH)?;
    module.add("MOST_TOLD", MOST_TOLD)?;
    module.add("SoftsenseError", py.get_type::<SoftsenseError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    module.add("TraceError", py.get_type::<TraceError>())?;
    module.add("TableError", py.get_type::<TableError>())?;
    module.add("CodeError", py.get_type::<CodeError>())?;
    module.add("FileError", py.get_type::<FileError>())?;
    module.add_class::<Config>()?;
    module.add_class::<Trace>()?;
    module.add_class::<Run>()?;
    module.add_class::<own::ReadStep>()?;
    module.add_class::<own::ReadSeen>()?;
    module.add_class::<own::ClosedBlocks>()?;
    module.add_class::<own::WritePlanes>()?;
    module.add_class::<own::PacedPlane>()?;
    module.add_class::<own::MissedPage>()?;
    module.add_class::<own::MissedEntry>()?;
    module.add_class::<own::Device>()?;
    module.add_class::<timeline::LoneRead>()?;
    module.add_class::<recording::Recording>()?;
    module.add_function(wrap_pyfunction!(recording::window, module)?)?;
    module.add_class::<drive::DriveServer>()?;
    module.add_class::<UnfinishedFile>()?;
    module.add_class::<codes::Code>()?;
    module.add_class::<codes::Decoder>()?;
    module.add_class::<codes::DecodeResult>()?;
    module.add_function(wrap_pyfunction!(codes::measure_code, module)?)?;
    module.add_function(wrap_pyfunction!(codes::bch_parity, module)?)?;
    module.add_class::<code_design::PredictedWaterfall>()?;
    module.add_function(wrap_pyfunction!(code_design::code_shapes, module)?)?;
    module.add_function(wrap_pyfunction!(code_design::code_profiles, module)?)?;
    module.add_function(wrap_pyfunction!(hardware::code_hardware, module)?)?;
    module.add_function(wrap_pyfunction!(design::fit_wear, module)?)?;
    module.add_function(wrap_pyfunction!(design::minimum_correctable, module)?)?;
    module.add_function(wrap_pyfunction!(design::wear_law, module)?)?;
    module.add_function(wrap_pyfunction!(design::uniform_write_amplification, module)?)?;
    module.add_function(wrap_pyfunction!(design::design_by_age, module)?)?;
    module.add_function(wrap_pyfunction!(codes::capacity, module)?)?;
    module.add_function(wrap_pyfunction!(codes::normal_approximation, module)?)?;
    module.add_class::<flash::Cells>()?;
    module.add_function(wrap_pyfunction!(flash::placement_json, module)?)?;
    module.add_function(wrap_pyfunction!(flash::retention_bake, module)?)?;
    module.add_function(wrap_pyfunction!(flash::recovery_bake, module)?)?;
    module.add_class::<absorbing_sets::AbsorbingSets>()?;
    module.add_class::<absorbing_sets::AbsorbingSetSearch>()?;
    module.add_function(wrap_pyfunction!(absorbing_sets::bit_sets, module)?)?;
    module.add_function(wrap_pyfunction!(absorbing_sets::checks_of, module)?)?;
    module.add_function(wrap_pyfunction!(absorbing_sets::impulses, module)?)?;
    module.add_class::<tables::DecodeTable>()?;
    module.add_class::<frames::StopFlag>()?;
    module.add_class::<frames::FrameTask>()?;
    module.add_function(wrap_pyfunction!(frames::binomial_interval, module)?)?;
    module.add_function(wrap_pyfunction!(frames::student_t_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(overrides, module)?)?;
    module.add_function(wrap_pyfunction!(frames::decode_table_check, module)?)?;
    module.add_function(wrap_pyfunction!(frames::decode_tables, module)?)?;
    module.add_function(wrap_pyfunction!(build_info, module)?)?;
    module.add_function(wrap_pyfunction!(config_schema, module)?)?;
    module.add_function(wrap_pyfunction!(written_schemas, module)?)?;
    module.add_function(wrap_pyfunction!(configs, module)?)?;
    module.add_function(wrap_pyfunction!(fairness_json, module)?)?;
    module.add_function(wrap_pyfunction!(check_environment, module)?)?;
    module.add_function(wrap_pyfunction!(read_text, module)?)?;
    module.add_function(wrap_pyfunction!(keep_panics_quiet, module)?)?;
    module.add_function(wrap_pyfunction!(last_panic, module)?)?;
    module.add_function(wrap_pyfunction!(own_path, module)?)?;
    module.add_function(wrap_pyfunction!(toml_lines, module)?)?;
    module.add_function(wrap_pyfunction!(toml::read_toml, module)?)?;
    module.add_function(wrap_pyfunction!(config_error, module)?)?;
    module.add_function(wrap_pyfunction!(spelled_like, module)?)?;
    module.add_function(wrap_pyfunction!(nearest, module)?)?;
    module.add_function(wrap_pyfunction!(policies, module)?)
}
