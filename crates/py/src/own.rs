//! Policies and rules that users have written in Python, and the objects that they are shown. Rules of the FTL and of
//! caches are in [`rules`].

mod rules;

use std::sync::Arc;
use std::time::Instant;

use pyo3::PyClass;
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use softsense_base::{Error, ErrorKind, OwnName, Result};
use softsense_config::checked::CheckedConfig;
use softsense_config::own::{Own, OwnDevice, OwnPolicy, OwnThing};
use softsense_link::{MOST_STEPS, Observes, OwnRead, OwnStep, PolicyTraits, ReadPolicy, Retry, Watched};
use softsense_nand::ReferencesAt;

use crate::raise;
pub(crate) use rules::{ClosedBlocks, MissedEntry, MissedPage, PacedPlane, WritePlanes};

/// The text of each module or file, by its place.
pub(crate) type Sources = Vec<(String, String)>;

/// Loads the user's own code that a config names. Returns the config with it, and the sources of the code.
pub(crate) fn with_own(py: Python<'_>, checked: CheckedConfig) -> PyResult<(CheckedConfig, Sources)> {
    let names: Vec<_> = checked.own_names().collect();
    if names.is_empty() {
        return Ok((checked, Sources::new()));
    }
    let (mut own, mut sources) = (Own::default(), Sources::new());
    let load = py.import("softsense.own")?.getattr("load")?;
    let directory = checked.directory().to_string_lossy().into_owned();
    for (path, name) in names {
        let loaded = load.call1((path, name.as_str(), &directory))?;
        let (place, text): (String, String) = (loaded.getattr("place")?.extract()?, loaded.getattr("text")?.extract()?);
        let identity = format!("{path} {}\n{text}", name.item());
        if !sources.iter().any(|(known, _)| *known == place) {
            sources.push((place, text));
        }
        match path {
            "read.policy" => {
                let thing = loaded.getattr("thing")?;
                let address = address(&thing)?;
                let traits = traits(&thing, name, address.is_some())?;
                let observes = Arc::new(traits.observes.clone());
                let make = maker(loaded.unbind(), name);
                let policy = OwnThing::new(identity, move |device: &OwnDevice| {
                    let of = *device;
                    if let Some(address) = address {
                        return Ok(Box::new(CompiledPolicy { name, address, device: of }) as Box<dyn ReadPolicy>);
                    }
                    let observes = Arc::clone(&observes);
                    make(device).map(|asked| Box::new(PythonPolicy { asked, observes, device: of }) as _)
                });
                own.policy = Some(OwnPolicy { traits, policy });
            }
            "ftl.victims" => own.victims = Some(rule(identity, loaded, name, |asked| Box::new(asked))),
            "ftl.plane_choice" => own.placement = Some(rule(identity, loaded, name, |asked| Box::new(asked))),
            "ftl.gc_pacing" => own.pacing = Some(rule(identity, loaded, name, |asked| Box::new(asked))),
            "host.read_buffer.admission" => own.pages = Some(rule(identity, loaded, name, |asked| Box::new(asked))),
            "ftl.mapping.demand.admission" => {
                own.entries = Some(rule(identity, loaded, name, |asked| Box::new(asked)));
            }
            _ => unreachable!("{path} names nothing of the user's own"),
        }
    }
    Ok((checked.with_own(own).map_err(raise)?, sources))
}

/// The exception of the user's own code, as Python raised it; None for another error.
pub(crate) fn raised(error: &Error) -> Option<PyErr> {
    if error.kind() != ErrorKind::Own {
        return None;
    }
    let raised = std::error::Error::source(error)?.downcast_ref::<PyErr>()?;
    Some(Python::attach(|py| raised.clone_ref(py)))
}

/// An error of the user's own code, marked as such.
fn said(py: Python<'_>, name: OwnName, error: PyErr) -> Error {
    // Some errors take no attributes.
    let _ = error.value(py).setattr("softsense_own", name.as_str());
    Error::own(name.as_str(), error)
}

/// An object of the user's own that is asked.
struct Asked {
    name: OwnName,
    object: Py<PyAny>,
    spent_s: f64,
}

/// Returns a function that makes an object of a class, one for each run.
fn maker(loaded: Py<PyAny>, name: OwnName) -> impl Fn(&OwnDevice) -> Result<Asked> + Send + Sync + 'static {
    move |device| {
        let device = Device::from(*device);
        attached(name, |py| loaded.call_method1(py, "make", (device,)).map_err(|error| said(py, name, error)))
            .map(|object| Asked { name, object, spent_s: 0.0 })
    }
}

/// A rule whose objects are made from a class.
fn rule<T: ?Sized + 'static>(
    identity: String,
    loaded: Bound<'_, PyAny>,
    name: OwnName,
    boxed: fn(Asked) -> Box<T>,
) -> OwnThing<T> {
    let make = maker(loaded.unbind(), name);
    OwnThing::new(identity, move |device: &OwnDevice| make(device).map(boxed))
}

/// Does work in Python, unless Python has ended meanwhile.
fn attached<T>(name: OwnName, work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    let ended = || Err(Error::config(name.as_str(), "found Python at its end, expected it to be there"));
    Python::try_attach(work).unwrap_or_else(ended)
}

impl Asked {
    /// Calls a method, and converts its answer.
    fn ask<A, T>(&mut self, method: &str, argument: A, take: impl FnOnce(&Bound<'_, PyAny>) -> Result<T>) -> Result<T>
    where
        A: PyClass + Into<PyClassInitializer<A>>,
    {
        let (begun, name, object) = (Instant::now(), self.name, &self.object);
        let answer = attached(name, |py| {
            let argument = Bound::new(py, argument).map_err(|error| said(py, name, error))?;
            let answer = object.bind(py).call_method1(method, (argument,));
            take(&answer.map_err(|error| said(py, name, error))?)
        });
        self.spent_s += begun.elapsed().as_secs_f64();
        answer
    }
}

fn bad(name: OwnName, method: &str, answer: &Bound<'_, PyAny>, expected: &str) -> Error {
    let shown = answer.repr().map_or_else(|_| "something".into(), |text| text.to_string());
    let kind = answer.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
    let mut shown: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    if shown.chars().count() > 60 {
        shown = shown.chars().take(57).chain("...".chars()).collect();
    }
    Error::config(name.as_str(), format!("{method}: found {shown} ({kind}), expected {expected}"))
}

// ---- Read policies ----

/// The traits of a policy, as its class declares them.
fn traits(thing: &Bound<'_, PyAny>, name: OwnName, is_compiled: bool) -> PyResult<PolicyTraits> {
    let wrong = |message: String| Err(raise(Error::config(name.as_str(), message)));
    let flag = |attribute: &str, default: bool| match thing.getattr_opt(attribute)? {
        Some(value) => value.is_truthy(),
        None => Ok(default),
    };
    let mut observes = Observes::default();
    let Some(named) = thing.getattr_opt("observes")? else {
        // Compiled code gets all observations, which costs nothing.
        let all = Observes {
            page_type: true,
            remembered_level: true,
            block: true,
            pe_cycles: Watched::Whole,
            syndrome_weight: Watched::Unseen,
        };
        let observes = if is_compiled { all } else { Observes::default() };
        return Ok(PolicyTraits {
            observes,
            looks_ahead: flag("looks_ahead", false)?,
            is_function: flag("tabulate", true)?,
        });
    };
    let with_edges = named.cast::<PyDict>().ok();
    let names: Vec<String> = match named.extract::<String>() {
        Ok(one) => vec![one],
        Err(_) => match named.try_iter().and_then(|each| each.map(|each| each?.extract()).collect()) {
            Ok(names) => names,
            Err(_) => {
                return wrong(format!(
                    "observes: found {named}, expected a list of names, or a dict from names to edges"
                ));
            }
        },
    };
    for observed in names {
        let edges = match with_edges {
            Some(dict) => dict.get_item(&observed)?.filter(|edges| !edges.is_none()),
            None => None,
        };
        let watched = match &edges {
            None => Watched::Whole,
            Some(edges) => match edges.extract::<Vec<u32>>() {
                Ok(edges) if !edges.is_empty() && edges.is_sorted_by(|a, b| a < b) => Watched::Bucket(edges),
                _ => {
                    return wrong(format!(
                        "observes: found {edges} for `{observed}`, expected a list of whole numbers in ascending order"
                    ));
                }
            },
        };
        let flag = match observed.as_str() {
            "pe_cycles" => {
                observes.pe_cycles = watched;
                continue;
            }
            "syndrome_weight" => {
                observes.syndrome_weight = watched;
                continue;
            }
            "page_type" => &mut observes.page_type,
            "remembered_level" => &mut observes.remembered_level,
            "block" => &mut observes.block,
            _ => {
                return wrong(format!(
                    "observes: found `{observed}`, expected some of page_type, remembered_level, block, pe_cycles, syndrome_weight"
                ));
            }
        };
        if edges.is_some() {
            return wrong(format!(
                "observes: found edges for `{observed}`, expected edges only for pe_cycles or syndrome_weight"
            ));
        }
        *flag = true;
    }
    Ok(PolicyTraits { observes, looks_ahead: flag("looks_ahead", false)?, is_function: flag("tabulate", true)? })
}

/// The address of a compiled policy: the object itself, or the `compiled` of a class.
fn address(thing: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let compiled = thing.getattr_opt("compiled")?;
    let of = compiled.as_ref().unwrap_or(thing);
    of.getattr_opt("address")?.map(|address| address.extract()).transpose()
}

struct PythonPolicy {
    asked: Asked,
    observes: Arc<Observes>,
    device: OwnDevice,
}

impl ReadPolicy for PythonPolicy {
    fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>> {
        let (name, max_level) = (self.asked.name, self.device.max_level);
        self.asked.ask("next", ReadSeen { read: read.clone(), observes: Arc::clone(&self.observes) }, |answer| {
            if answer.is_none() {
                return Ok(None);
            }
            if let Ok(step) = answer.cast::<ReadStep>() {
                return Ok(Some(step.get().step));
            }
            match answer.extract::<i64>().map(u8::try_from) {
                Ok(Ok(level)) => Ok(Some(OwnStep::level(level))),
                Ok(Err(_)) => Err(bad(name, "next", answer, &format!("a level from 1 to {max_level}"))),
                Err(_) => Err(bad(name, "next", answer, "a level, a ReadStep, or None when nothing is left to try")),
            }
        })
    }

    fn spent_s(&self) -> f64 {
        self.asked.spent_s
    }
}

/// A policy that another compiler has compiled, such as Numba.
struct CompiledPolicy {
    name: OwnName,
    address: usize,
    device: OwnDevice,
}

/// The struct to which a compiled policy gets a pointer: `compiled_read` of own.py.
#[repr(C)]
struct CompiledRead {
    attempts: u32,
    page_type: u32,
    pe_cycles: u32,
    block: u32,
    remembered_level: u32,
    max_level: u32,
    step: [i32; MOST_STEPS],
    syndrome_weight: [u32; MOST_STEPS],
}

const AS_CONFIGURED: i32 = 0;
const DEFAULT: i32 = 1;
const VALLEYS: i32 = 2;
const CELLS: i32 = 3;
const FIRST_ENTRY: i32 = 16;

fn coded(step: OwnStep) -> i32 {
    let references = match step.references {
        None | Some(ReferencesAt::Inferred(_)) => AS_CONFIGURED,
        Some(ReferencesAt::Default) => DEFAULT,
        Some(ReferencesAt::Valleys) => VALLEYS,
        Some(ReferencesAt::Cells) => CELLS,
        Some(ReferencesAt::RetryEntry(entry)) => FIRST_ENTRY + i32::from(entry),
    };
    i32::from(step.level) | references << 8
}

impl ReadPolicy for CompiledPolicy {
    fn next(&mut self, read: &OwnRead) -> Result<Option<OwnStep>> {
        let mut shown = CompiledRead {
            attempts: read.tried.len() as u32,
            page_type: read.page_type,
            pe_cycles: read.pe_cycles,
            block: read.block,
            remembered_level: read.remembered_level.into(),
            max_level: self.device.max_level.into(),
            step: [0; MOST_STEPS],
            syndrome_weight: [0; MOST_STEPS],
        };
        for (at, tried) in read.tried.iter().take(MOST_STEPS).enumerate() {
            (shown.step[at], shown.syndrome_weight[at]) = (coded(tried.step), tried.syndrome_weight);
        }
        #[allow(
            unsafe_code,
            reason = "the user says that there is a function of this signature, and keeps it alive in its module"
        )]
        let answer = unsafe {
            let function: extern "C" fn(*const CompiledRead) -> i32 = std::mem::transmute(self.address);
            function(&raw const shown)
        };
        if answer == 0 {
            return Ok(None);
        }
        let step = |references| Ok(Some(OwnStep { references, ..OwnStep::level((answer & 0xff) as u8) }));
        match answer >> 8 {
            AS_CONFIGURED => step(None),
            DEFAULT => step(Some(ReferencesAt::Default)),
            VALLEYS => step(Some(ReferencesAt::Valleys)),
            CELLS => step(Some(ReferencesAt::Cells)),
            entry @ FIRST_ENTRY..=0xff => step(Some(ReferencesAt::RetryEntry((entry - FIRST_ENTRY) as u8))),
            _ => {
                let message = format!(
                    "next: found {answer}, expected 0 (no further step), or the code of a level and its references"
                );
                Err(Error::config(self.name.as_str(), message))
            }
        }
    }
}

/// A step that a read policy of your own asks for: a level of sensing, and optionally the place of the references. Without a place the
/// references stand where the config reads.
///
/// >>> from softsense import ReadStep
/// >>> ReadStep(7) == ReadStep(7, references="cells"), ReadStep(1, "retry_entry:2").references
/// (False, 'retry_entry:2')
/// >>> ReadStep(1, "somewhere")
/// Traceback (most recent call last):
/// ValueError: references: found `somewhere`, expected cells, default, valleys, retry_entry:0 and so on, or None
#[pyclass(module = "softsense._core", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadStep {
    step: OwnStep,
}

impl std::hash::Hash for ReadStep {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (coded(self.step), self.step.retry).hash(state);
    }
}

#[pymethods]
impl ReadStep {
    /// Makes a step. `level` is the read level; 1 is hard decision.
    ///
    /// `references` None reads as `[read]` of the config. A hard decision then comes with its retries (retry table, search, inference), and
    /// has failed when all of those have. Otherwise it is the place of the references:
    ///
    /// - `cells`: as the description of the cells says, which may follow the true age, as no controller could;
    /// - `default`: at the chip's defaults;
    /// - `valleys`: where a search for valleys finds them;
    /// - `retry_entry:0`: at that entry of the chip's retry table.
    ///
    /// `retry` is `incremental` if data that was sensed with the same references is kept, and `restart` if it is not. With
    /// `restart_on_jumps` it is kept only one level deeper. None is as `read.retry` says. Raises ValueError.
    #[new]
    #[pyo3(signature = (level, references = None, retry = None))]
    fn new(level: u8, references: Option<&str>, retry: Option<&str>) -> PyResult<Self> {
        let wrong = || {
            let message = format!(
                "references: found `{}`, expected cells, default, valleys, retry_entry:0 and so on, or None",
                references.unwrap_or_default()
            );
            PyValueError::new_err(message)
        };
        let references = match references {
            None => None,
            Some("cells") => Some(ReferencesAt::Cells),
            Some("default") => Some(ReferencesAt::Default),
            Some("valleys") => Some(ReferencesAt::Valleys),
            Some(entry) => {
                let entry = entry.strip_prefix("retry_entry:").and_then(|entry| entry.parse().ok());
                Some(ReferencesAt::RetryEntry(entry.ok_or_else(wrong)?))
            }
        };
        let retry = match retry {
            None => None,
            Some("incremental") => Some(Retry::Incremental),
            Some("restart") => Some(Retry::Restart),
            Some("restart_on_jumps") => Some(Retry::RestartOnJumps),
            Some(other) => {
                let message =
                    format!("retry: found `{other}`, expected incremental, restart, restart_on_jumps or None");
                return Err(PyValueError::new_err(message));
            }
        };
        Ok(Self { step: OwnStep { level, references, retry } })
    }

    /// The level; 1 is hard decision.
    #[getter]
    fn level(&self) -> u8 {
        self.step.level
    }

    /// The place of the references; None as the config reads.
    #[getter]
    fn references(&self) -> Option<String> {
        self.step.references.map(|references| references.to_string())
    }

    /// The retry, which says whether data of the step before is kept; None as the config says.
    #[getter]
    fn retry(&self) -> Option<&'static str> {
        self.step.retry.map(Retry::name)
    }

    fn __repr__(&self) -> String {
        let retry = self.step.retry.map_or_else(String::new, |retry| format!(", retry='{}'", retry.name()));
        match self.step.references {
            None => format!("ReadStep({}{retry})", self.step.level),
            Some(references) => format!("ReadStep({}, '{references}'{retry})", self.step.level),
        }
    }
}

/// A read, as a policy of your own sees it: its steps so far, all of which have failed, and the observations that the policy `observes`.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct ReadSeen {
    read: OwnRead,
    observes: Arc<Observes>,
}

impl ReadSeen {
    /// Returns an observation. An observation that is not declared is refused, because the table of the policy's answers is not asked by
    /// it.
    fn see<T>(&self, name: &str, is_observed: bool, seen: T) -> PyResult<T> {
        if is_observed {
            return Ok(seen);
        }
        let message = format!(
            "{name}: found a policy that reads this observation without declaring it, expected its name in `observes`"
        );
        Err(PyAttributeError::new_err(message))
    }
}

#[pymethods]
impl ReadSeen {
    /// The number of steps that have failed: 0 before the first step.
    #[getter]
    fn attempts(&self) -> usize {
        self.read.tried.len()
    }

    /// The steps so far, all of which have failed.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.read.tried.iter().map(|tried| ReadStep { step: tried.step }))
    }

    /// The step that has failed last; None before the first step.
    #[getter]
    fn last(&self) -> Option<ReadStep> {
        self.read.tried.last().map(|tried| ReadStep { step: tried.step })
    }

    /// The number of checks that the hard decisions of each step violated, or the number of edges that this number has reached; 0 at deeper
    /// levels. It is the mean of the codewords that failed. Raises AttributeError if `syndrome_weight` is not observed.
    #[getter]
    fn syndrome_weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let weights = PyTuple::new(py, self.read.tried.iter().map(|tried| tried.syndrome_weight))?;
        self.see("syndrome_weights", self.observes.syndrome_weight != Watched::Unseen, weights)
    }

    /// The page type, by its index in `flash.page_types`. Raises AttributeError if it is not observed.
    #[getter]
    fn page_type(&self) -> PyResult<u32> {
        self.see("page_type", self.observes.page_type, self.read.page_type)
    }

    /// P/E cycles of the block, or the number of edges that they have reached. Raises AttributeError if they are not observed.
    #[getter]
    fn pe_cycles(&self) -> PyResult<u32> {
        self.see("pe_cycles", self.observes.pe_cycles != Watched::Unseen, self.read.pe_cycles)
    }

    /// The number of the block, or superblock. Raises AttributeError if it is not observed.
    #[getter]
    fn block(&self) -> PyResult<u32> {
        self.see("block", self.observes.block, self.read.block)
    }

    /// The level that the mapping cache remembers; 1 if it remembers none. Raises AttributeError if it is not observed.
    #[getter]
    fn remembered_level(&self) -> PyResult<u8> {
        self.see("remembered_level", self.observes.remembered_level, self.read.remembered_level)
    }
}

// ---- The device ----

/// The device, as the constructor of a policy or rule of your own gets it, if it takes an argument.
#[pyclass(module = "softsense._core", frozen, get_all)]
#[derive(Clone, Copy)]
pub(crate) struct Device {
    /// The seed of the config, from which all randomness should come.
    seed: u64,
    /// The deepest level of reads.
    max_level: u8,
    /// Number of entries of the chip's retry table.
    retry_entries: u8,
    /// Number of page types.
    page_types: u32,
    /// Number of SSDs.
    ssds: u32,
    /// Number of planes of an SSD.
    planes: u32,
    /// Number of planes of all SSDs, or of sets of planes with interleaved codewords.
    sets: u32,
    /// Number of blocks of a plane.
    blocks_per_plane: u32,
    /// Number of pages of a block.
    pages_per_block: u32,
    /// Number of codewords of a block.
    codewords_per_block: u32,
    /// Number of codewords that the user can address.
    user_codewords: u64,
}

impl From<OwnDevice> for Device {
    fn from(device: OwnDevice) -> Self {
        let OwnDevice { seed, max_level, retry_entries, page_types, ssds, planes, sets, blocks_per_plane, .. } = device;
        let OwnDevice { pages_per_block, codewords_per_block, user_codewords, .. } = device;
        Self {
            seed,
            max_level,
            retry_entries,
            page_types,
            ssds,
            planes,
            sets,
            blocks_per_plane,
            pages_per_block,
            codewords_per_block,
            user_codewords,
        }
    }
}
