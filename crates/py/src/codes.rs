//! Codes, decoders and their measurement for Python, by arrays.

use std::fmt;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use numpy::prelude::*;
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayDyn, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn,
    PyReadwriteArrayDyn, PyUntypedArray,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use softsense_base::Error;
use softsense_ecc::InstructionSet;
use softsense_ecc::bch::{BchCode, Parity};
use softsense_ecc::bits;
use softsense_ecc::catalogue::{self, Encoder};
use softsense_ecc::channel::{self, Channel};
use softsense_ecc::ldpc::{
    CodeShape, Construction, DegreeDistribution, LdpcCode, MessageFacts, PassFacts, Profile, QuasiCyclic, RcqDesign,
    RedundantChecks, Rule, ShortCycles, Snapshot, Staircase, shannon_limit,
};
use softsense_ecc::measure::{
    Algorithm, Batch, BenchResult, DecoderSpec, FrameDecoder, MOST_THREADS, Measurement, Stop, Verdict,
};
use softsense_link::{MAX_LEVEL, levels_of};

use crate::frames::StopFlag;
use crate::raise;

/// The interval at which long work checks for Ctrl-C.
const HEAR: Duration = Duration::from_millis(100);
/// The largest number of frames that a thread takes at once to encode them.
const MOST_TAKEN: usize = 64;

fn complain(place: &str, found: impl fmt::Display, expected: impl fmt::Display) -> PyErr {
    raise(Error::code(place, format!("found {found}, expected {expected}")))
}

// Arrays --------------------------------------------------------------------------------------------------------------

/// The number of frames of an array; none if it is one frame, without a dimension for frames.
type Frames = Option<usize>;

/// The expected form of an argument: frames of so many numbers.
struct Expected {
    name: &'static str,
    dtype: &'static str,
    length: usize,
    /// Bits of a packed word; the bits behind them are zero.
    bits: usize,
    what: String,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, length, what, .. } = self;
        write!(f, "{dtype} of shape ({length},) or (frames, {length}): {what}")
    }
}

impl Expected {
    fn packed(name: &'static str, count: usize) -> Self {
        let what = format!("{count} bits a frame, packed as numpy.packbits does");
        Self { name, dtype: "uint8", length: bits::bytes_for(count), bits: count, what }
    }

    fn array<'py>(&self, argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
        let array = argument.cast::<PyUntypedArray>();
        array.cloned().map_err(|_| complain(self.name, argument.get_type(), format!("a NumPy array of {self}")))
    }

    fn typed<'a, 'py, T: Element>(
        &self,
        array: &'a Bound<'py, PyUntypedArray>,
    ) -> PyResult<&'a Bound<'py, PyArrayDyn<T>>> {
        array.cast().map_err(|_| complain(self.name, array.dtype(), self))
    }

    fn frames(&self, array: &Bound<'_, PyUntypedArray>) -> PyResult<Frames> {
        match *array.shape() {
            [length] if length == self.length => Ok(None),
            [frames, length] if length == self.length => Ok(Some(frames)),
            _ => Err(complain(self.name, format!("shape {:?}", array.shape()), self)),
        }
    }

    fn readable<'py, T: Element>(&self, array: &Bound<'py, PyArrayDyn<T>>) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
        array.try_readonly().map_err(|_| complain(self.name, "an array that is being written", "another"))
    }

    fn slice<'a, T: Element>(&self, array: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<&'a [T]> {
        // An array in Fortran order also has a slice, but its numbers are in the wrong order.
        let slice = if array.is_c_contiguous() { array.as_slice().ok() } else { None };
        let expected = "an array that is C-contiguous and aligned, such as its copy()";
        slice.ok_or_else(|| complain(self.name, "an array that is not C-contiguous and aligned", expected))
    }

    /// Takes an argument of packed words.
    fn words<'py>(&self, argument: &Bound<'py, PyAny>) -> PyResult<(PyReadonlyArrayDyn<'py, u8>, Frames)> {
        let array = self.array(argument)?;
        let words = self.readable(self.typed(&array)?)?;
        let frames = self.frames(&array)?;
        check_padding(self.name, self.slice(&words)?, self.bits)?;
        Ok((words, frames))
    }

    /// The array for the resulting words: `out`, if there is such an argument, or a new array.
    fn results<'py>(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        frames: Frames,
    ) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        let shape: Vec<usize> = frames.into_iter().chain([self.length]).collect();
        let Some(out) = out else { return Ok(PyArrayDyn::zeros(py, shape, false)) };
        let array = self.array(out)?;
        let typed = self.typed(&array)?;
        if array.shape() != shape {
            return Err(complain(self.name, format!("shape {:?}", array.shape()), format!("{shape:?}")));
        }
        if !array.is_c_contiguous() {
            return Err(complain(self.name, "an array that is not C-contiguous", "a C-contiguous array"));
        }
        Ok(typed.clone())
    }
}

fn writable<'py>(array: &Bound<'py, PyArrayDyn<u8>>) -> PyResult<PyReadwriteArrayDyn<'py, u8>> {
    array.try_readwrite().map_err(|_| complain("out", "an array that is read-only or in use", "another"))
}

/// Makes an array of one number for each frame; without dimensions for one frame that has no dimension for frames.
fn per_frame<T: Element>(py: Python<'_>, values: Vec<T>, frames: Frames) -> PyResult<Py<PyArrayDyn<T>>> {
    let shape: Vec<usize> = frames.into_iter().collect();
    Ok(values.into_pyarray(py).reshape(shape)?.unbind())
}

/// Checks that the bits after the last one are zero in every word. Complains about the first word in which they are not.
fn check_padding(name: &str, words: &[u8], count: usize) -> PyResult<()> {
    let padding = 0xff_u8.checked_shr(count as u32 % 8).filter(|_| !count.is_multiple_of(8)).unwrap_or(0);
    match words.chunks_exact(bits::bytes_for(count)).position(|word| word[word.len() - 1] & padding != 0) {
        None => Ok(()),
        Some(frame) => {
            Err(complain(name, format!("ones after the last of the {count} bits in frame {frame}"), "zeros there"))
        }
    }
}

/// A type of numbers for log-likelihood ratios.
trait Llr: Element + Copy + Sync {
    fn is_number(self) -> bool;

    /// Converts to the integers of decoders: times `scale`, to the nearest integer, but not to 0.
    fn integers<'a>(llrs: &'a [Self], scale: f64, room: &'a mut [i8]) -> &'a [i8];
}

impl Llr for i8 {
    fn is_number(self) -> bool {
        true
    }

    fn integers<'a>(llrs: &'a [Self], _: f64, _: &'a mut [i8]) -> &'a [i8] {
        llrs
    }
}

/// The nearest integer, but never 0 for a number that is not 0: a weak opinion is still one.
fn integer(llr: f64) -> i8 {
    let away_from_zero = if llr.abs() < 1.0 { llr.abs().ceil().copysign(llr) } else { llr.round() };
    // The conversion saturates, also at -128, which decoders read as -127.
    away_from_zero as i8
}

impl Llr for f32 {
    fn is_number(self) -> bool {
        !self.is_nan()
    }

    fn integers<'a>(llrs: &'a [Self], scale: f64, room: &'a mut [i8]) -> &'a [i8] {
        room.iter_mut().zip(llrs).for_each(|(to, &llr)| *to = integer(f64::from(llr) * scale));
        room
    }
}

impl Llr for f64 {
    fn is_number(self) -> bool {
        !self.is_nan()
    }

    fn integers<'a>(llrs: &'a [Self], scale: f64, room: &'a mut [i8]) -> &'a [i8] {
        room.iter_mut().zip(llrs).for_each(|(to, &llr)| *to = integer(llr * scale));
        room
    }
}

// Batches -------------------------------------------------------------------------------------------------------------

/// Converts a whole number from Python, which has no largest one, to the type that needs it.
pub(crate) fn whole<T: TryFrom<i128>>(name: &str, value: i128, least: i128, most: i128) -> PyResult<T> {
    let within = (least..=most).contains(&value).then(|| T::try_from(value).ok()).flatten();
    within.ok_or_else(|| complain(name, value, format!("a whole number from {least} to {most}")))
}

fn check_threads(threads: i128) -> PyResult<usize> {
    whole("threads", threads, 1, MOST_THREADS as i128)
}

pub(crate) fn check_iterations(iterations: i128) -> PyResult<u32> {
    whole("iterations", iterations, 0, u32::MAX.into())
}

/// Lets the workers, each on a thread, do the jobs without the GIL. The first worker, on this thread, checks for Ctrl-C.
fn share_out<W: Send, J: Send>(
    py: Python<'_>,
    workers: &mut [W],
    jobs: impl Iterator<Item = J> + Send,
    work: impl Fn(&mut W, J) + Sync,
) -> PyResult<()> {
    let (jobs, stop) = (Mutex::new(jobs), AtomicBool::new(false));
    let next = || if stop.load(Ordering::Relaxed) { None } else { jobs.lock().expect("no job panics").next() };
    let (first, others) = workers.split_first_mut().expect("at least one worker");
    let raised = crate::detached(py, || {
        std::thread::scope(|scope| {
            let (next, work) = (&next, &work);
            for worker in others {
                scope.spawn(move || {
                    while let Some(job) = next() {
                        work(worker, job);
                    }
                });
            }
            let mut heard = Instant::now();
            while let Some(job) = next() {
                work(first, job);
                if heard.elapsed() >= HEAR {
                    heard = Instant::now();
                    if let Err(error) = Python::attach(|py| py.check_signals()) {
                        stop.store(true, Ordering::Relaxed);
                        return Some(error);
                    }
                }
            }
            None
        })
    });
    raised.map_or(Ok(()), Err)
}

// Codes ---------------------------------------------------------------------------------------------------------------

fn redundant(accepted: bool) -> RedundantChecks {
    if accepted { RedundantChecks::Accept } else { RedundantChecks::Refuse }
}

/// An LDPC or a BCH code, compiled and checked. Codes never change, and threads may share them.
///
/// Words are C-contiguous uint8 arrays of shape `(bytes,)` for one frame or `(frames, bytes)` for a batch, packed as
/// `numpy.packbits` does: bit i is bit 7 - i % 8 of byte i // 8.
///
/// >>> import numpy as np
/// >>> from softsense import Code
/// >>> code = Code.open("teaching-1/2")
/// >>> code.codeword_bits, code.data_bits
/// (96, 48)
/// >>> data = np.arange(18, dtype=np.uint8).reshape(3, 6)
/// >>> words = code.encode(data)
/// >>> words.shape, code.syndrome_weight(words).tolist()
/// ((3, 12), [0, 0, 0])
/// >>> bool((code.extract_data(words) == data).all())
/// True
#[pyclass(module = "softsense", frozen)]
pub(crate) struct Code {
    pub(crate) name: String,
    pub(crate) code: catalogue::Code,
}

impl Code {
    pub(crate) fn ldpc(&self) -> PyResult<&Arc<LdpcCode>> {
        match &self.code {
            catalogue::Code::Ldpc(code) => Ok(code),
            catalogue::Code::Bch(_) => Err(complain(&self.name, "a BCH code", "an LDPC code")),
        }
    }

    /// The LDPC code for `what`, which needs all columns to be sent.
    pub(crate) fn ldpc_all_sent(&self, what: &str) -> PyResult<&Arc<LdpcCode>> {
        match self.ldpc()? {
            code if code.punctured_bits() > 0 => {
                Err(complain(&self.name, format!("punctured columns for {what}"), "a code without punctured columns"))
            }
            code => Ok(code),
        }
    }

    fn bch(&self) -> PyResult<&Arc<BchCode>> {
        match &self.code {
            catalogue::Code::Bch(code) => Ok(code),
            catalogue::Code::Ldpc(_) => Err(complain(&self.name, "an LDPC code", "a BCH code")),
        }
    }

    fn degrees(&self) -> PyResult<DegreeDistribution> {
        Ok(self.ldpc()?.degrees())
    }

    /// Converts frames of `from` bytes to frames of `to` bytes. Each thread has a worker of its own.
    fn convert<'py, W: Send>(
        &self,
        py: Python<'py>,
        (input, from): (&Bound<'py, PyAny>, Expected),
        (out, to): (Option<&Bound<'py, PyAny>>, Expected),
        threads: i128,
        worker: impl Fn() -> W,
        work: impl Fn(&mut W, &[u8], &mut [u8]) + Sync,
    ) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        let threads = check_threads(threads)?;
        let (input, frames) = from.words(input)?;
        let results = to.results(py, out, frames)?;
        let mut written = writable(&results)?;
        // Number of frames that a thread takes at once: taking one costs about as much as encoding it.
        let taken = (frames.unwrap_or(1) / (4 * threads)).clamp(1, MOST_TAKEN);
        let mut workers: Vec<W> = (0..threads.min(frames.unwrap_or(1)).max(1)).map(|_| worker()).collect();
        let jobs = from.slice(&input)?.chunks(taken * from.length);
        let jobs = jobs.zip(written.as_slice_mut().expect("C-contiguous").chunks_mut(taken * to.length));
        share_out(py, &mut workers, jobs, |worker, (input, output)| {
            for (input, output) in input.chunks(from.length).zip(output.chunks_mut(to.length)) {
                work(worker, input, output);
            }
        })?;
        drop(written);
        Ok(results)
    }
}

#[pymethods]
impl Code {
    /// The code that `name` means: a shipped code (see `entries`), any BCH code such as `bch:m=15,t=57,k=31912`, a code of the literature
    /// (`literature:margulis-2640`, `literature:ethernet-2048`), or the file of an LDPC code, alist or base matrix. Raises CodeError or
    /// FileError.
    ///
    /// `redundant_checks` accepts a matrix in which some checks follow from others: each of these is one more data bit.
    #[staticmethod]
    #[pyo3(signature = (name, redundant_checks = false))]
    fn open(py: Python<'_>, name: PathBuf, redundant_checks: bool) -> PyResult<Self> {
        let name = name.to_string_lossy().into_owned();
        let code = crate::detached(py, || catalogue::Code::open(&name, redundant(redundant_checks))).map_err(raise)?;
        Ok(Self { name, code })
    }

    /// The LDPC code in the text of a file called `name`: alist or base matrix. Raises CodeError.
    #[staticmethod]
    #[pyo3(signature = (name, text, redundant_checks = false))]
    fn parse(py: Python<'_>, name: String, text: &str, redundant_checks: bool) -> PyResult<Self> {
        let code =
            crate::detached(py, || catalogue::Code::parse(&name, text, redundant(redundant_checks))).map_err(raise)?;
        Ok(Self { name, code })
    }

    /// Parses as `parse` does, with any block columns of a base matrix not sent. Returns the code, and its block columns by their numbers
    /// in the text, from 0, or None if they are in the same order. Raises CodeError, also if no order is found in which the code can be
    /// encoded.
    #[staticmethod]
    #[pyo3(signature = (name, text, redundant_checks = false))]
    fn parse_in_any_order(
        py: Python<'_>,
        name: String,
        text: &str,
        redundant_checks: bool,
    ) -> PyResult<(Self, Option<Vec<usize>>)> {
        let parse = || catalogue::Code::parse_in_any_order(&name, text, redundant(redundant_checks));
        let (code, order) = crate::detached(py, parse).map_err(raise)?;
        Ok((Self { name, code }, order))
    }

    /// The quasi-cyclic LDPC code of a recipe, called `name`. It has circulants of `circulant_size` bits, a power of two, in `rows` block
    /// rows. `column_weights` are the numbers of circulants of each block column, the parity part last. The last two columns may get one
    /// circulant less, or in a chain more, as some parity parts could not be inverted otherwise.
    ///
    /// With `memory`, in block rows, the code is a terminated chain: each block column reaches over its first block row and so many more.
    /// The last `punctured` columns, up to two, are computed but not sent. Equal arguments make equal matrices. Raises CodeError;
    /// KeyboardInterrupt if `stop` was set meanwhile.
    ///
    /// >>> from softsense import Code
    /// >>> Code.construct("mine", 16, 4, [3] * 20, seed=1)
    /// <softsense.Code mine: n=320, k=256>
    #[staticmethod]
    #[pyo3(signature = (name, circulant_size, rows, column_weights, *, memory = None, punctured = 0, seed = 1, stop = None))]
    #[allow(clippy::too_many_arguments, reason = "each has a name in Python")]
    fn construct(
        py: Python<'_>,
        name: String,
        circulant_size: i128,
        rows: i128,
        column_weights: Vec<i128>,
        memory: Option<i128>,
        punctured: i128,
        seed: i128,
        stop: Option<&StopFlag>,
    ) -> PyResult<Self> {
        let stop = stop.map_or_else(Arc::default, StopFlag::shared);
        let circulant_size = whole("circulant_size", circulant_size, 1, 1 << 16)?;
        let memory = memory.map(|memory| whole("memory", memory, 0, rows - 1)).transpose()?;
        let most_punctured = rows.min(column_weights.len() as i128).min(Construction::GAP as i128).max(0);
        let punctured: usize = whole("punctured", punctured, 0, most_punctured)?;
        let (rows, seed): (usize, _) = (whole("rows", rows, 1, 1024)?, whole("seed", seed, 0, u64::MAX.into())?);
        let weight = |weight| whole("column_weights", weight, 1, rows as i128);
        let column_weights: Vec<u32> = column_weights.into_iter().map(weight).collect::<PyResult<_>>()?;
        let code = crate::detached(py, || {
            let (rows, columns) = (rows - punctured, column_weights.len() - punctured);
            let runs = column_weights.into_iter().map(|weight| (weight, 1)).collect();
            let profile = Profile { runs, memory, punctured };
            let built = CodeShape { circulant_size, rows, columns }.construct(&profile, seed, &stop)?;
            built.map(|(_, matrix)| LdpcCode::new(matrix, RedundantChecks::Refuse)).transpose()
        });
        let code = code.map_err(raise)?.ok_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err(()))?;
        Ok(Self { name, code: catalogue::Code::Ldpc(Arc::new(code)) })
    }

    /// Name and description of every shipped code: LDPC, then BCH.
    #[staticmethod]
    fn entries() -> Vec<(&'static str, &'static str)> {
        catalogue::Code::entries().iter().map(|entry| (entry.name(), entry.description())).collect()
    }

    /// Pickles as a name, or as a matrix if that came from a file, which another machine may not have. A code of the literature has no
    /// circulants, not even if its matrix is made of some.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let class = py.get_type::<Self>();
        let text = match &self.code {
            catalogue::Code::Ldpc(_) if catalogue::Code::names().any(|name| name == self.name) => None,
            catalogue::Code::Ldpc(_) if self.name.starts_with(catalogue::LITERATURE) => None,
            catalogue::Code::Ldpc(code) => {
                Some(code.quasi_cyclic().map_or_else(|| code.parity_check().to_alist(), QuasiCyclic::to_text))
            }
            catalogue::Code::Bch(_) => None,
        };
        match text {
            Some(text) => Ok((class.getattr("parse")?, (&self.name, text, true).into_pyobject(py)?)),
            None => Ok((class.getattr("open")?, (&self.name,).into_pyobject(py)?)),
        }
    }

    fn __repr__(&self) -> String {
        format!("<softsense.Code {}: n={}, k={}>", self.name, self.code.codeword_bits(), self.code.data_bits())
    }

    /// The name by which the code was opened.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The kind of the code, `ldpc` or `bch`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.code {
            catalogue::Code::Ldpc(_) => "ldpc",
            catalogue::Code::Bch(_) => "bch",
        }
    }

    /// n: the bits of a codeword.
    #[getter]
    fn codeword_bits(&self) -> usize {
        self.code.codeword_bits()
    }

    /// k: the data bits of a codeword.
    #[getter]
    fn data_bits(&self) -> usize {
        self.code.data_bits()
    }

    /// The rate k / n.
    #[getter]
    fn rate(&self) -> f64 {
        self.code.rate()
    }

    /// The largest error rate of a binary symmetric channel at which any code of this rate could work.
    #[getter]
    fn shannon_limit(&self) -> f64 {
        shannon_limit(self.code.rate())
    }

    /// Encodes ceil(data_bits / 8) bytes of data for each frame to codewords of ceil(codeword_bits / 8) bytes. Bits behind the last one are
    /// zero in both. The codewords go into `out`, if given. Raises CodeError.
    #[pyo3(signature = (data, *, threads = 1, out = None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        threads: i128,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        let from = Expected::packed("data", self.code.data_bits());
        let to = Expected::packed("out", self.code.codeword_bits());
        let work = |encoder: &mut Encoder, data: &[u8], codeword: &mut [u8]| encoder.encode(data, codeword);
        self.convert(py, (data, from), (out, to), threads, || self.code.encoder(), work)
    }

    /// Extracts the data bits of codewords: ceil(data_bits / 8) bytes a frame, into `out`, if given. Raises CodeError.
    #[pyo3(signature = (codewords, *, threads = 1, out = None))]
    fn extract_data<'py>(
        &self,
        py: Python<'py>,
        codewords: &Bound<'py, PyAny>,
        threads: i128,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        let from = Expected::packed("codewords", self.code.codeword_bits());
        let to = Expected::packed("out", self.code.data_bits());
        let work = |(): &mut (), codeword: &[u8], data: &mut [u8]| self.code.extract_data(codeword, data);
        self.convert(py, (codewords, from), (out, to), threads, || (), work)
    }

    /// The number of checks that each word violates (uint32, one a frame): zero for a codeword. For a BCH code, or an LDPC code with
    /// punctured columns, it is the number of parity bits that differ from the parity of the data. For an LDPC code only the first `checks`
    /// are counted, if that is given. Raises CodeError.
    #[pyo3(signature = (words, checks = None))]
    fn syndrome_weight(
        &self,
        py: Python<'_>,
        words: &Bound<'_, PyAny>,
        checks: Option<usize>,
    ) -> PyResult<Py<PyArrayDyn<u32>>> {
        let matrix =
            checks.map(|_| self.ldpc_all_sent("some of the checks").map(|code| code.parity_check())).transpose()?;
        if let (Some(checks), Some(matrix)) = (checks, matrix)
            && checks > matrix.rows()
        {
            return Err(complain("checks", checks, format!("0 to {}", matrix.rows())));
        }
        let weight = |word: &[u8]| match (checks, matrix) {
            (Some(checks), Some(matrix)) => matrix.syndrome_weight_of_first(checks, word),
            _ => self.code.syndrome_weight(word),
        };
        let expected = Expected::packed("words", self.code.codeword_bits());
        let (words, frames) = expected.words(words)?;
        let mut weights = vec![0; frames.unwrap_or(1)];
        let jobs = expected.slice(&words)?.chunks(expected.length).zip(&mut weights);
        share_out(py, &mut [()], jobs, |(), (word, of)| *of = weight(word) as u32)?;
        per_frame(py, weights, frames)
    }

    /// A decoder of this code. Raises CodeError.
    ///
    /// `algorithm`: `min-sum` (layered, in 8-bit messages where the matrix allows it), `rcq:BITS[:POSTERIOR]` (messages of few bits, by
    /// tables), `bit-flipping`, or a rule. A rule is `sum-product`, `min-sum[:FACTOR]` or `offset-min-sum[:OFFSET]`, with `layered-` or
    /// `flooding-` before it and `-f32` or `-f64` after it. A BCH code has one decoder, without iterations.
    ///
    /// `iterations`: the most iterations; a decoder stops earlier at a codeword.
    ///
    /// `llr_step`: the natural logarithm for which a step of an integer LLR stands, or a hard decision. Sum-product and offset min-sum need
    /// it: on hard decisions of error rate p the value is ln((1 - p) / p).
    #[pyo3(signature = (algorithm = "min-sum", iterations = 20, *, llr_step = 1.0))]
    fn decoder(&self, algorithm: &str, iterations: i128, llr_step: f64) -> PyResult<Decoder> {
        let iterations = check_iterations(iterations)?;
        check_positive("llr_step", llr_step)?;
        let algorithm: Algorithm = algorithm.parse().map_err(raise)?;
        let decoder = Decoder {
            code: self.code.clone(),
            spec: DecoderSpec { algorithm, max_iterations: iterations },
            llr_step,
            spare: Mutex::default(),
        };
        // The first decoder is made now, so that an error of a code that it cannot decode is raised here.
        let first = decoder.compile()?;
        decoder.spare.lock().expect("no panic").push(first);
        Ok(decoder)
    }

    /// The tables of the decoder `rcq:BITS[:POSTERIOR]` for words read at `level`: 1 is hard decision, and every level above 1 has the
    /// tables of level 3. A function of its arguments.
    ///
    /// Returns `designed_for` (the raw bit error rate of the design, which is the predicted threshold). It returns `channel_limit` (the
    /// magnitude of a hard decision, and the largest of an LLR) and `message_limit` (the largest answer of a check). It also returns lists
    /// of `thresholds` and of `values` for each iteration, the last for all that follow. Magnitudes are whole numbers in the steps of
    /// a-posteriori values. Raises CodeError.
    #[pyo3(signature = (message_bits = 4, posterior_bits = None, *, level = 1, iterations = 20))]
    fn rcq_tables<'py>(
        &self,
        py: Python<'py>,
        message_bits: i128,
        posterior_bits: Option<i128>,
        level: i128,
        iterations: i128,
    ) -> PyResult<Bound<'py, PyDict>> {
        let code = self.ldpc()?;
        let bits =
            |name, found, range: RangeInclusive<u8>| whole(name, found, (*range.start()).into(), (*range.end()).into());
        let design = RcqDesign {
            message_bits: bits("message_bits", message_bits, RcqDesign::MESSAGE_BITS)?,
            posterior_bits: match posterior_bits {
                Some(found) => bits("posterior_bits", found, RcqDesign::POSTERIOR_BITS)?,
                None => RcqDesign::usual_posterior_bits(code),
            },
            levels: whole("level", level, 1, MAX_LEVEL.into())?,
            iterations: check_iterations(iterations)?,
        };
        let tables = crate::detached(py, || code.rcq_tables(design)).map_err(raise)?;
        let each = |of: fn(&Staircase) -> Vec<u8>| -> Vec<Vec<u32>> {
            let wide = |staircase| of(staircase).into_iter().map(u32::from).collect();
            tables.staircases.iter().map(wide).collect()
        };
        let dict = PyDict::new(py);
        dict.set_item("designed_for", tables.designed_for)?;
        dict.set_item("channel_limit", tables.channel_limit)?;
        dict.set_item("message_limit", tables.message_limit)?;
        dict.set_item("thresholds", each(Staircase::thresholds))?;
        dict.set_item("values", each(Staircase::values))?;
        Ok(dict)
    }

    /// The number of checks of an LDPC code: rows of its parity-check matrix, whether independent or not. Raises CodeError.
    #[getter]
    fn checks(&self) -> PyResult<usize> {
        Ok(self.ldpc()?.parity_check().rows())
    }

    /// The ones of the parity-check matrix, row by row: their rows and their columns (uint32 each). Raises CodeError.
    #[allow(clippy::type_complexity, reason = "it is a pair of arrays")]
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>)> {
        let matrix = self.ldpc()?.parity_check();
        let (mut rows, mut columns) = (Vec::with_capacity(matrix.edges()), Vec::with_capacity(matrix.edges()));
        for row in 0..matrix.rows() {
            columns.extend_from_slice(matrix.row(row));
            rows.resize(columns.len(), row as u32);
        }
        Ok((rows.into_pyarray(py), columns.into_pyarray(py)))
    }

    /// The number of bits of punctured columns of an LDPC code, its last block columns: they are computed and decoded, but not sent. Raises
    /// CodeError.
    #[getter]
    fn punctured_bits(&self) -> PyResult<usize> {
        Ok(self.ldpc()?.punctured_bits())
    }

    /// The size of the circulants of an LDPC code; None if it is not made of circulants. Raises CodeError.
    #[getter]
    fn circulant_size(&self) -> PyResult<Option<usize>> {
        Ok(self.ldpc()?.quasi_cyclic().map(QuasiCyclic::circulant_size))
    }

    /// The shifts of an LDPC code's circulants (int32, block rows x block columns, -1 for zero blocks). Check c of a block meets its bit
    /// (c + shift) % circulant_size. None if the code is not made of circulants. Raises CodeError.
    fn base_matrix<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<i32>>>> {
        let Some(base) = self.ldpc()?.quasi_cyclic() else { return Ok(None) };
        let mut shifts = vec![-1; base.rows() * base.columns()];
        for block in base.blocks() {
            shifts[block.row as usize * base.columns() + block.column as usize] = block.shift as i32;
        }
        shifts.into_pyarray(py).reshape([base.rows(), base.columns()]).map(Some)
    }

    /// The way in which an LDPC code encodes: `structured`, by its parity part, or by `elimination`, with a dense matrix. Raises CodeError.
    #[getter]
    fn encoding(&self) -> PyResult<&'static str> {
        Ok(if self.ldpc()?.is_structured() { "structured" } else { "elimination" })
    }

    /// The positions of the data bits in a codeword (uint32, ascending): for shipped codes the first positions.
    fn data_positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        let positions = match &self.code {
            catalogue::Code::Ldpc(code) => code.data_positions().map(<[u32]>::to_vec),
            catalogue::Code::Bch(_) => None,
        };
        positions.unwrap_or_else(|| (0..self.code.data_bits() as u32).collect()).into_pyarray(py)
    }

    /// The fractions of edges that meet a bit, and a check, of each degree: two lists of pairs of degree and fraction, lowest degree first.
    /// Raises CodeError.
    #[allow(clippy::type_complexity, reason = "it is a pair of lists of pairs")]
    fn degree_distribution(&self) -> PyResult<(Vec<(usize, f64)>, Vec<(usize, f64)>)> {
        let degrees = self.degrees()?;
        Ok((degrees.bits().to_vec(), degrees.checks().to_vec()))
    }

    /// Mean and standard deviation of the number of LDPC checks that hard decisions violate at a raw bit error rate. Bits are wrong
    /// independently with probability `rber`. Raises CodeError for a BCH code, ConfigError for a rate out of range.
    fn syndrome_weights(&self, rber: f64) -> PyResult<(f64, f64)> {
        softsense_base::expect_number("rber", rber, 0.0, 0.5).map_err(raise)?;
        let weights = self.ldpc_all_sent("syndrome weights")?.syndrome_weights().expect("all is sent");
        Ok((weights.mean(rber), weights.variance(rber).sqrt()))
    }

    /// The girth of the Tanner graph, and its cycles of 4, 6 and 8 edges. The girth is None without any cycle. For each length, cycles are
    /// counted by their approximate cycle extrinsic degree: pairs of degree and number, lowest first. Counting takes milliseconds for a
    /// base matrix, and up to a minute for an alist file of its size. Raises CodeError.
    #[allow(clippy::type_complexity, reason = "it is a number and the spectra of three lengths")]
    fn cycles(&self, py: Python<'_>) -> PyResult<(Option<u32>, Vec<(u32, Vec<(u32, u64)>)>)> {
        let code = self.ldpc()?;
        let cycles = crate::detached(py, || match code.quasi_cyclic() {
            Some(base) => ShortCycles::of(base),
            None => ShortCycles::of(&QuasiCyclic::of_ones(code.parity_check())),
        });
        let spectra = [4, 6, 8].map(|length| (length, cycles.spectrum(length).to_vec()));
        Ok((cycles.girth(), spectra.to_vec()))
    }

    /// The largest error rate at which an LDPC code of these degrees, infinitely long and without cycles, decodes by `rule`: `sum-product`,
    /// `min-sum[:FACTOR]` or `offset-min-sum[:OFFSET]`. It is the rate of a binary symmetric channel. With more `levels` (up to 7) it is
    /// that of the hard decisions of a Gaussian channel that is read with so many references, at the best places.
    ///
    /// Density evolution finds it, to about 2e-3 of the value (min-sum up to 5e-3 too low); within `iterations` flooding iterations, if
    /// given. Raises CodeError.
    #[pyo3(signature = (rule = "sum-product", iterations = None, levels = 1))]
    fn threshold(&self, py: Python<'_>, rule: &str, iterations: Option<i128>, levels: i128) -> PyResult<f64> {
        let iterations = iterations.map(check_iterations).transpose()?;
        let levels = whole("levels", levels, 1, MAX_LEVEL.into())?;
        let degrees = self.ldpc_all_sent("a threshold")?.degrees();
        // The schedule is added, because min-sum alone means the decoder in 8 bits.
        let rule: Rule = match format!("flooding-{rule}").parse().map_err(raise)? {
            Algorithm::MessagePassing { rule, .. } => rule,
            Algorithm::MinSum(_) | Algorithm::Rcq { .. } | Algorithm::BitFlipping => unreachable!("not of a schedule"),
        };
        crate::detached(py, || degrees.threshold(rule, levels, iterations)).map_err(raise)
    }

    /// The parity-check matrix as the text of an alist file. Raises CodeError.
    fn to_alist(&self) -> PyResult<String> {
        Ok(self.ldpc_all_sent("alist")?.parity_check().to_alist())
    }

    /// The base matrix as the text of a file. Raises CodeError, also for a code that is not made of circulants.
    fn to_qc(&self) -> PyResult<String> {
        let base = self.ldpc()?.quasi_cyclic();
        base.map(QuasiCyclic::to_text)
            .ok_or_else(|| complain(&self.name, "a matrix that is not made of circulants", "a quasi-cyclic code"))
    }

    /// m of a BCH code over GF(2^m). Raises CodeError.
    #[getter]
    fn field_bits(&self) -> PyResult<u32> {
        Ok(self.bch()?.field_bits())
    }

    /// t of a BCH code: the number of errors that are always corrected. Raises CodeError.
    #[getter]
    fn correctable(&self) -> PyResult<usize> {
        Ok(self.bch()?.correctable())
    }

    /// The coefficients of a BCH code's generator polynomial, lowest first (uint8, 0 or 1). Raises CodeError.
    fn generator_polynomial<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let coefficients: Vec<u8> = self.bch()?.generator_polynomial().into_iter().map(u8::from).collect();
        Ok(coefficients.into_pyarray(py))
    }
}

/// The parity of the BCH code of `data_bits` data bits that corrects `correctable` errors, over the least field that has room for it.
///
/// Returns `field_bits` (m), `parity_bits` (m t, the most that such a code needs) and `parity_bytes` (room for them); None if no field up
/// to m = 16 has room.
///
/// >>> from softsense._core import bch_parity
/// >>> bch_parity(32768, 105)
/// {'field_bits': 16, 'parity_bits': 1680, 'parity_bytes': 210}
#[pyfunction]
pub(crate) fn bch_parity(py: Python<'_>, data_bits: usize, correctable: usize) -> PyResult<Option<Bound<'_, PyDict>>> {
    let Some(parity) = Parity::new(data_bits, correctable) else { return Ok(None) };
    let dict = PyDict::new(py);
    dict.set_item("field_bits", parity.field_bits)?;
    dict.set_item("parity_bits", parity.bits)?;
    dict.set_item("parity_bytes", parity.bytes())?;
    Ok(Some(dict))
}

fn check_positive(name: &str, value: f64) -> PyResult<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(complain(name, value, "a finite number above 0"))
}

// Decoders ------------------------------------------------------------------------------------------------------------

/// A decoder of a code, compiled once. Threads may share it.
///
/// >>> import numpy as np
/// >>> from softsense import Code
/// >>> code = Code.open("teaching-1/2")
/// >>> word = code.encode(np.arange(6, dtype=np.uint8))
/// >>> received = word.copy()
/// >>> received[0] ^= 0b0100_0000
/// >>> result = code.decoder("min-sum", iterations=20).decode(received)
/// >>> bool(result.converged), int(result.corrected), bool((result.word == word).all())
/// (True, 1, True)
#[pyclass(module = "softsense", frozen)]
pub(crate) struct Decoder {
    code: catalogue::Code,
    spec: DecoderSpec,
    llr_step: f64,
    /// Decoders that no thread uses at present.
    spare: Mutex<Vec<Worker>>,
}

/// The decoder of one thread, with its buffers.
struct Worker {
    decoder: Box<dyn FrameDecoder>,
    llrs: Vec<i8>,
}

/// The result of a frame.
#[derive(Clone, Copy, Default)]
struct Report {
    converged: bool,
    iterations: u32,
    syndrome_weight: u32,
    corrected: i32,
}

impl Decoder {
    fn compile(&self) -> PyResult<Worker> {
        let decoder = self.spec.decoder(&self.code, self.llr_step).map_err(raise)?;
        Ok(Worker { decoder, llrs: Vec::new() })
    }

    /// Takes `count` decoders, which nobody else has.
    fn take(&self, count: usize) -> PyResult<Vec<Worker>> {
        let mut spare = self.spare.lock().expect("no panic");
        let kept = spare.len().saturating_sub(count);
        let mut workers = spare.split_off(kept);
        drop(spare);
        while workers.len() < count {
            workers.push(self.compile()?);
        }
        Ok(workers)
    }

    /// The result of a word; `changed` counts the bits that differ from the received ones.
    fn report(
        &self,
        Verdict { success, iterations, .. }: Verdict,
        word: &[u8],
        changed: impl FnOnce() -> usize,
    ) -> Report {
        Report {
            converged: success,
            iterations,
            syndrome_weight: if success { 0 } else { self.code.syndrome_weight(word) as u32 },
            corrected: if success { changed() as i32 } else { -1 },
        }
    }

    /// Decodes frames of `length` numbers each.
    fn batch<'py, T: Sync>(
        &self,
        py: Python<'py>,
        (received, length): (&[T], usize),
        frames: Frames,
        threads: usize,
        out: Option<&Bound<'py, PyAny>>,
        decode: impl Fn(&mut Worker, &[T], &mut [u8]) -> Report + Sync,
    ) -> PyResult<DecodeResult> {
        let expected = Expected::packed("out", self.code.codeword_bits());
        let word = expected.results(py, out, frames)?;
        let mut written = writable(&word)?;
        let count = frames.unwrap_or(1);
        let mut reports = vec![Report::default(); count];
        let mut workers = self.take(threads.min(count).max(1))?;
        let words = written.as_slice_mut().expect("C-contiguous").chunks_mut(expected.length);
        let jobs = received.chunks(length).zip(words).zip(&mut reports);
        let done = share_out(py, &mut workers, jobs, |worker, ((received, word), report)| {
            *report = decode(worker, received, word);
        });
        drop(written);
        self.spare.lock().expect("no panic").append(&mut workers);
        done?;
        Ok(DecodeResult {
            word: word.unbind(),
            converged: per_frame(py, reports.iter().map(|report| report.converged).collect(), frames)?,
            iterations: per_frame(py, reports.iter().map(|report| report.iterations).collect(), frames)?,
            syndrome_weight: per_frame(py, reports.iter().map(|report| report.syndrome_weight).collect(), frames)?,
            corrected: per_frame(py, reports.iter().map(|report| report.corrected).collect(), frames)?,
        })
    }

    fn decode_soft<'py, T: Llr>(
        &self,
        py: Python<'py>,
        array: &Bound<'py, PyUntypedArray>,
        expected: &Expected,
        threads: usize,
        scale: f64,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<DecodeResult> {
        let received = expected.readable::<T>(expected.typed(array)?)?;
        let frames = expected.frames(array)?;
        let llrs = expected.slice(&received)?;
        let length = expected.length;
        if let Some(at) = crate::detached(py, || llrs.iter().position(|llr| !llr.is_number())) {
            let place = format!("llrs: frame {}, bit {}", at / length, at % length);
            return Err(complain(&place, "NaN", "a log-likelihood ratio"));
        }
        self.batch(py, (llrs, length), frames, threads, out, |worker, llrs, word| {
            worker.llrs.resize(length, 0);
            let llrs = T::integers(llrs, scale, &mut worker.llrs);
            let verdict = worker.decoder.decode_soft(llrs, word);
            let changed = || llrs.iter().enumerate().filter(|&(bit, &llr)| bits::get(word, bit) != (llr < 0)).count();
            self.report(verdict, word, changed)
        })
    }
}

#[pymethods]
impl Decoder {
    /// The deepest read level that gives it more information than the one before: 1 if it decodes hard decisions.
    #[getter]
    fn max_level(&self) -> u8 {
        levels_of(&self.code, self.spec.algorithm)
    }

    /// True if it computes in floating point, so that its decisions on integer LLRs depend on its `llr_step`.
    #[getter]
    fn uses_llr_step(&self) -> bool {
        self.spec.uses_llr_step(&self.code)
    }

    /// Parameters of the arithmetic in each pass of a decoder in integers, passes over hard decisions first.
    ///
    /// Dicts of `decides` ("hard" or "soft"), `pass` (from 1), `begins_with` ("received" or "decided"), `posterior_bits` and
    /// `channel_limit`. The others are `factors_16ths`, `offset` and `message_limit`; or, for a decoder by tables, `staircases` (a dict of
    /// `thresholds` and `values` for each iteration). Raises CodeError for other decoders.
    fn arithmetic<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (_, decoder) = self.spec.integers(&self.code).map_err(raise)?;
        let dict = |facts: PassFacts| {
            let dict = PyDict::new(py);
            dict.set_item("decides", if facts.soft { "soft" } else { "hard" })?;
            dict.set_item("pass", facts.pass)?;
            dict.set_item("begins_with", if facts.from_received || facts.pass == 1 { "received" } else { "decided" })?;
            dict.set_item("posterior_bits", facts.posterior_bits)?;
            dict.set_item("channel_limit", facts.channel_limit)?;
            match facts.messages {
                MessageFacts::Corrected { factors_16ths, offset, limit } => {
                    dict.set_item("factors_16ths", factors_16ths.into_iter().map(u32::from).collect::<Vec<_>>())?;
                    dict.set_item("offset", offset)?;
                    dict.set_item("message_limit", limit)?;
                }
                MessageFacts::Staircases(all) => {
                    let steps = |staircase: &Staircase| {
                        let wide = |numbers: Vec<u8>| numbers.into_iter().map(u32::from).collect::<Vec<_>>();
                        let dict = PyDict::new(py);
                        dict.set_item("thresholds", wide(staircase.thresholds()))?;
                        dict.set_item("values", wide(staircase.values()))?;
                        Ok(dict)
                    };
                    dict.set_item("staircases", all.iter().map(steps).collect::<PyResult<Vec<_>>>()?)?;
                }
            }
            Ok(dict)
        };
        decoder.facts().into_iter().map(dict).collect()
    }

    /// The state of a decoder in integers for the received frame, and after each iteration of each pass over it. `received` is one frame,
    /// as `decode` takes it, packed or int8.
    ///
    /// Dicts of `pass` (from 1), `iteration` (of the pass, from 0), `posteriors` (int16, one a bit), `messages` and `syndrome_weight`. The
    /// messages go to the bits: int8 of shape (circulants, circulant_size), circulants in the order of `base_matrix()`, row by row. Raises
    /// CodeError.
    fn trace<'py>(&self, py: Python<'py>, received: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (base, decoder) = self.spec.integers(&self.code).map_err(raise)?;
        let count = self.code.codeword_bits();
        let packed = Expected::packed("received", count);
        let what = "a log-likelihood ratio for each bit".to_owned();
        let llrs = Expected { name: "received", dtype: "int8", length: count, bits: count, what };
        let array = llrs.array(received)?;
        let mut word = vec![0; packed.length];
        let one = |expected: &Expected| match expected.frames(&array)? {
            None | Some(1) => Ok(()),
            Some(frames) => Err(complain("received", format!("{frames} frames"), "one")),
        };
        let iterations = self.spec.max_iterations;
        let received = if array.cast::<PyArrayDyn<i8>>().is_ok() {
            one(&llrs)?;
            Some(llrs.slice(&llrs.readable::<i8>(llrs.typed(&array)?)?)?.to_vec())
        } else {
            if array.cast::<PyArrayDyn<u8>>().is_err() {
                return Err(complain("received", array.dtype(), format!("{llrs}; or {packed}")));
            }
            let (words, _) = packed.words(received)?;
            one(&packed)?;
            word.copy_from_slice(packed.slice(&words)?);
            None
        };
        let snapshots = crate::detached(py, move || decoder.trace(base, received.as_deref(), iterations, &mut word).1);
        let size = base.circulant_size();
        let dict = |snapshot: Snapshot| {
            let dict = PyDict::new(py);
            dict.set_item("pass", snapshot.pass)?;
            dict.set_item("iteration", snapshot.iteration)?;
            dict.set_item("posteriors", snapshot.posteriors.into_pyarray(py))?;
            dict.set_item("messages", snapshot.messages.into_pyarray(py).reshape([base.blocks().len(), size])?)?;
            dict.set_item("syndrome_weight", snapshot.syndrome_weight)?;
            Ok(dict)
        };
        snapshots.into_iter().map(dict).collect()
    }

    /// Decodes a frame or a batch of frames; results do not depend on the number of threads. Raises CodeError.
    ///
    /// `received` is either packed hard decisions, uint8 of shape (bytes,) or (frames, bytes), padding bits zero. Or it is log-likelihood
    /// ratios, positive where 0 is the more likely bit: int8, float32 or float64 of shape (codeword_bits,) or (frames, codeword_bits).
    ///
    /// Ratios in floating point are multiplied by `scale` (default: 1 / `llr_step`), rounded to the nearest integer (to +-1 where that
    /// would be 0) and clipped to +-127; NaN is an error. Decided words go into `out`, if given.
    #[pyo3(signature = (received, *, threads = 1, scale = None, out = None))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        received: &Bound<'py, PyAny>,
        threads: i128,
        scale: Option<f64>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<DecodeResult> {
        let threads = check_threads(threads)?;
        let scale = scale.unwrap_or(1.0 / self.llr_step);
        check_positive("scale", scale)?;
        let count = self.code.codeword_bits();
        let what = "a log-likelihood ratio for each bit".to_owned();
        let llrs = Expected { name: "received", dtype: "int8, float32 or float64", length: count, bits: count, what };
        let array = llrs.array(received)?;
        if array.cast::<PyArrayDyn<i8>>().is_ok() {
            return self.decode_soft::<i8>(py, &array, &llrs, threads, scale, out);
        }
        if array.cast::<PyArrayDyn<f32>>().is_ok() {
            return self.decode_soft::<f32>(py, &array, &llrs, threads, scale, out);
        }
        if array.cast::<PyArrayDyn<f64>>().is_ok() {
            return self.decode_soft::<f64>(py, &array, &llrs, threads, scale, out);
        }
        let expected = Expected::packed("received", count);
        if array.cast::<PyArrayDyn<u8>>().is_err() {
            return Err(complain("received", array.dtype(), format!("{llrs}; or {expected}")));
        }
        let (words, frames) = expected.words(received)?;
        let words = expected.slice(&words)?;
        self.batch(py, (words, expected.length), frames, threads, out, |worker, received, word| {
            word.copy_from_slice(received);
            let verdict = worker.decoder.decode_hard(word);
            self.report(verdict, word, || bits::distance(received, word))
        })
    }
}

/// Results of decoding a batch, an array each; for one frame they have no dimension for frames.
///
/// >>> import numpy as np
/// >>> from softsense import Code
/// >>> code = Code.open("bch:m=10,t=5,k=512")
/// >>> words = code.encode(np.zeros((2, 64), dtype=np.uint8))
/// >>> words[1, :4] ^= 1  # four errors in the second word, which the code corrects
/// >>> result = code.decoder().decode(words)
/// >>> result.corrected.tolist(), result.word.any()
/// ([0, 4], np.False_)
#[pyclass(module = "softsense", frozen, get_all)]
pub(crate) struct DecodeResult {
    /// The decided words, data and parity, packed (uint8); the received word where a BCH decoder gave up.
    word: Py<PyArrayDyn<u8>>,
    /// True for each decided word that is a codeword, though not necessarily the one sent (bool).
    converged: Py<PyArrayDyn<bool>>,
    /// Number of iterations done (uint32): 0 if the received word was a codeword, and for BCH codes.
    iterations: Py<PyArrayDyn<u32>>,
    /// Number of checks that each decided word violates (uint32), as `Code.syndrome_weight` counts them.
    syndrome_weight: Py<PyArrayDyn<u32>>,
    /// Number of bits in which each decided word differs from the hard decisions received (int32); -1 if it did not converge.
    corrected: Py<PyArrayDyn<i32>>,
}

// Measuring -----------------------------------------------------------------------------------------------------------

/// The capacity, in bits, of one boundary between two Gaussian states that is read with `levels` references (1 to 7) at the
/// best places; `raw_bit_error_rate`, of hard decision, is from 1e-9 to 0.499. Raises CodeError.
#[pyfunction]
pub(crate) fn capacity(raw_bit_error_rate: f64, levels: usize) -> PyResult<f64> {
    // The text of a channel is parsed, so that its numbers are checked as those of all others.
    match format!("gaussian:{raw_bit_error_rate}:{levels}").parse().map_err(raise)? {
        Channel::Gaussian { raw_error_rate, levels } => Ok(channel::capacity(raw_error_rate, levels)),
        _ => unreachable!("the text is that of a Gaussian channel"),
    }
}

/// The raw bit error rate at which the best codes of a length fail at the rate `fer`; see `softsense.codes.limit`.
#[pyfunction]
pub(crate) fn normal_approximation(codeword_bits: i128, data_bits: i128, level: i128, fer: f64) -> PyResult<f64> {
    let codeword_bits = whole("codeword_bits", codeword_bits, 2, 1 << 40)?;
    let data_bits = whole("data_bits", data_bits, 1, codeword_bits as i128 - 1)?;
    let level = whole("level", level, 1, MAX_LEVEL.into())?;
    softsense_base::expect_number("fer", fer, 1e-30, 0.5).map_err(raise)?;
    Ok(channel::normal_approximation(codeword_bits, data_bits, level, fer))
}

/// A decoder of the user's own, which gets whole batches: see `measure_code`.
struct Backend {
    decode: Py<PyAny>,
    frames: usize,
    stop: Arc<AtomicBool>,
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Backend {
    fn answer(&self, py: Python<'_>, Batch { words, llrs, verdicts }: Batch<'_>) -> PyResult<Duration> {
        let frames = verdicts.len();
        let received = match llrs {
            Some(llrs) => PyArray1::from_slice(py, llrs).reshape([frames, llrs.len() / frames])?.into_any(),
            None => PyArray1::from_slice(py, words).reshape([frames, words.len() / frames])?.into_any(),
        };
        let (seconds, decided, converged, iterations, syndrome_weight): (
            f64,
            PyReadonlyArray2<'_, u8>,
            PyReadonlyArray1<'_, bool>,
            PyReadonlyArray1<'_, u32>,
            PyReadonlyArray1<'_, u32>,
        ) = self.decode.bind(py).call1((received,))?.extract()?;
        words.copy_from_slice(decided.as_slice()?);
        let said = converged.as_slice()?.iter().zip(iterations.as_slice()?).zip(syndrome_weight.as_slice()?);
        for (verdict, ((&success, &iterations), &syndrome_weight)) in verdicts.iter_mut().zip(said) {
            *verdict = Verdict { success, iterations, syndrome_weight };
        }
        Ok(Duration::from_secs_f64(seconds))
    }
}

impl FrameDecoder for Backend {
    fn decode_hard(&mut self, word: &mut [u8]) -> Verdict {
        let mut verdict = Verdict { success: false, iterations: 0, syndrome_weight: 0 };
        let batch = Batch { words: word, llrs: None, verdicts: std::slice::from_mut(&mut verdict) };
        self.decode_batch(batch, &AtomicBool::new(false));
        verdict
    }

    fn decode_llrs(&mut self, llrs: &[i8], decided: &mut [u8]) -> Verdict {
        let mut verdict = Verdict { success: false, iterations: 0, syndrome_weight: 0 };
        let batch = Batch { words: decided, llrs: Some(llrs), verdicts: std::slice::from_mut(&mut verdict) };
        self.decode_batch(batch, &AtomicBool::new(false));
        verdict
    }

    fn batch_frames(&self) -> Option<usize> {
        Some(self.frames)
    }

    fn decode_batch(&mut self, batch: Batch<'_>, interrupted: &AtomicBool) -> (usize, Duration) {
        if interrupted.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed) {
            return (0, Duration::ZERO);
        }
        let frames = batch.verdicts.len();
        match Python::attach(|py| self.answer(py, batch)) {
            Ok(time) => (frames, time),
            Err(error) => {
                *self.raised.lock().expect("no panic") = Some(error);
                self.stop.store(true, Ordering::Relaxed);
                (0, Duration::ZERO)
            }
        }
    }
}

/// Measures error rate and speed of a code; see `softsense.bench`, which checks the arguments.
///
/// `progress` is called about ten times a second with the fraction done and the frames so far. `stop` ends the measurement early:
/// `interrupted` is then true in the result. Raises CodeError.
///
/// `backend` decodes in place of the decoder, on one thread: a callable, and the number of frames that it is given at once. The callable
/// gets the words (uint8) or LLRs (int8) of a batch. It returns the seconds that decoding took, and C-contiguous arrays of the decided
/// words (uint8), `converged` (bool), `iterations` and `syndrome_weight` (uint32). Exceptions of the callable pass through.
#[pyfunction]
#[pyo3(signature = (
    code, channel, *, decoder, iterations, threads, seconds, frames, seed, progress = None, stop = None, backend = None
))]
#[allow(clippy::too_many_arguments, reason = "a keyword each")]
pub(crate) fn measure_code<'py>(
    py: Python<'py>,
    code: &Code,
    channel: &str,
    decoder: &str,
    iterations: i128,
    threads: i128,
    seconds: f64,
    frames: Option<i128>,
    seed: i128,
    progress: Option<Py<PyAny>>,
    stop: Option<&StopFlag>,
    backend: Option<(Py<PyAny>, i128)>,
) -> PyResult<Bound<'py, PyDict>> {
    let stop = stop.map_or_else(Arc::default, StopFlag::shared);
    let (iterations, threads) = (check_iterations(iterations)?, check_threads(threads)?);
    let frames: Option<u64> = frames.map(|frames| whole("frames", frames, 1, i64::MAX.into())).transpose()?;
    let seed: u64 = whole("seed", seed, 0, u64::MAX.into())?;
    let channel: Channel = channel.parse().map_err(raise)?;
    let algorithm: Algorithm = decoder.parse().map_err(raise)?;
    let measurement = Measurement {
        code: code.code.clone(),
        decoder: DecoderSpec { algorithm, max_iterations: iterations },
        channel,
        threads,
        stop: frames.map_or(Stop::Seconds(seconds), Stop::Frames),
        seed,
    };
    let mut raised: Option<PyErr> = None;
    let watch = |so_far: &BenchResult| {
        let fraction = match measurement.stop {
            Stop::Frames(frames) => so_far.frames as f64 / frames as f64,
            Stop::Seconds(seconds) => (so_far.seconds / seconds).min(1.0),
        };
        if stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let told = progress
            .as_ref()
            .map_or(Ok(()), |callback| Python::attach(|py| callback.call1(py, (fraction, so_far.frames)).map(drop)));
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                raised.get_or_insert(error);
                ControlFlow::Break(())
            }
        }
    };
    let failed: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let backend = backend
        .map(|(decode, frames)| PyResult::Ok((decode, whole("batch_frames", frames, 1, 1 << 20)?)))
        .transpose()?;
    let result = crate::detached(py, || match &backend {
        None => measurement.run(watch),
        Some((decode, frames)) => measurement.run_with(
            |_| {
                let decode = Python::attach(|py| decode.clone_ref(py));
                let (stop, raised) = (Arc::clone(&stop), Arc::clone(&failed));
                Ok(Box::new(Backend { decode, frames: *frames, stop, raised }))
            },
            watch,
        ),
    });
    let result = result.map_err(raise)?;
    if let Some(error) = failed.lock().expect("no panic").take().or(raised) {
        return Err(error);
    }
    let interrupted = stop.load(Ordering::Relaxed);
    let iterates = matches!(code.code, catalogue::Code::Ldpc(_));
    // A rate of no frames is not a number (NaN), which JSON does not have.
    let known = |value: f64| value.is_finite().then_some(value);
    let (fer_lo, fer_hi) = result.fer_interval();
    let measured = PyDict::new(py);
    measured.set_item("code", &code.name)?;
    measured.set_item("codeword_bits", code.code.codeword_bits())?;
    measured.set_item("data_bits", result.data_bits)?;
    measured.set_item("channel", channel.to_string())?;
    let decoder = match &code.code {
        catalogue::Code::Ldpc(code) => measurement.decoder.algorithm_of(code).to_string(),
        catalogue::Code::Bch(_) => "berlekamp-massey".to_owned(),
    };
    measured.set_item("decoder", decoder)?;
    measured.set_item("iterations", iterates.then_some(iterations))?;
    measured.set_item("threads", result.threads)?;
    measured.set_item("seed", seed)?;
    measured.set_item("instruction_set", InstructionSet::detect().name())?;
    measured.set_item("interrupted", interrupted)?;
    measured.set_item("seconds", result.seconds)?;
    measured.set_item("frames", result.frames)?;
    measured.set_item("user_mbps", known(result.user_mbps()))?;
    measured.set_item("encode_mbps", known(result.encode_mbps()))?;
    measured.set_item("frame_errors", result.frame_errors)?;
    measured.set_item("fer", known(result.fer()))?;
    measured.set_item("fer_lo", fer_lo)?;
    measured.set_item("fer_hi", fer_hi)?;
    measured.set_item("undetected", result.undetected)?;
    measured.set_item("bit_error_rate", known(result.bit_error_rate()))?;
    measured.set_item("mean_iterations", known(result.mean_iterations()).filter(|_| iterates))?;
    measured.set_item("iteration_histogram", iterates.then_some(&result.iterations))?;
    Ok(measured)
}
