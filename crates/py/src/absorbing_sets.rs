//! Absorbing sets for Python.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use softsense_base::Error;
use softsense_ecc::ldpc::{self, QuasiCyclic};

use crate::codes::Code;
use crate::frames::StopFlag;
use crate::raise;

/// A set as (bits, violated checks, sets in its orbit).
type Set = (Vec<u32>, u32, u32);

/// The same, and whether it is absorbing.
type BitSet = (Vec<u32>, u32, u32, bool);

/// Sets as lists of bits.
type Lists = Vec<Vec<u32>>;

fn plain(set: &ldpc::AbsorbingSet) -> Set {
    (set.bits.clone(), set.violated, set.multiplicity)
}

/// The matrix of a code; any that is not quasi-cyclic as one of circulants of size one.
fn matrix(code: &Code) -> PyResult<QuasiCyclic> {
    let code = code.ldpc()?;
    Ok(code.quasi_cyclic().cloned().unwrap_or_else(|| QuasiCyclic::of_ones(code.parity_check())))
}

/// Wrong bits are those that were sent.
fn sent(code: &Code, bits: &[u32]) -> PyResult<bool> {
    let length = code.ldpc()?.codeword_bits();
    Ok(bits.iter().all(|&bit| (bit as usize) < length))
}

fn flag(stop: Option<&StopFlag>) -> Arc<AtomicBool> {
    stop.map_or_else(Arc::default, StopFlag::shared)
}

/// Absorbing sets of one code, one of each orbit under the rotations of its circulants.
///
/// It never changes, and it pickles with its code.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct AbsorbingSets {
    code: Py<Code>,
    pub(crate) sets: Arc<ldpc::AbsorbingSets>,
}

#[pymethods]
impl AbsorbingSets {
    /// `sets` are lists of bit numbers. Raises CodeError for a set that absorbs nothing in this code, comes twice or has bits that are not
    /// sent.
    #[new]
    fn new(py: Python<'_>, code: Py<Code>, sets: Vec<Vec<u32>>) -> PyResult<Self> {
        let matrix = matrix(code.get())?;
        for bits in &sets {
            // Beyond the matrix the sets themselves are wrong.
            let beyond = bits.iter().any(|&bit| bit as usize >= matrix.columns() * matrix.circulant_size());
            if !beyond && !sent(code.get(), bits)? {
                return Err(raise(Error::code("sets", format!("found {bits:?}, expected bits that are sent"))));
            }
        }
        let sets = crate::detached(py, || ldpc::AbsorbingSets::new(&matrix, &sets)).map_err(raise)?;
        Ok(Self { code, sets: Arc::new(sets) })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (Py<Code>, Lists)) {
        let sets = self.sets.sets().iter().map(|set| set.bits.clone()).collect();
        (py.get_type::<Self>().into_any(), (self.code.clone_ref(py), sets))
    }

    /// Each set as (bits, violated checks, sets in its orbit), by size, violated checks and bits.
    #[getter]
    fn sets(&self) -> Vec<Set> {
        self.sets.sets().iter().map(plain).collect()
    }

    /// All sets of the orbit of a listed one, each ascending. Raises CodeError for bits that are not listed.
    fn rotations(&self, bits: Vec<u32>) -> PyResult<Lists> {
        let listed = self.sets.sets().iter().find(|set| set.bits == bits);
        let unknown = || raise(Error::code("bits", format!("found {bits:?}, expected a listed set")));
        listed.map(|set| self.sets.orbit(set)).ok_or_else(unknown)
    }

    /// SHA-256 of the sets, in hexadecimal.
    #[getter]
    fn identity(&self) -> String {
        softsense_link::listing_identity(&self.sets)
    }
}

/// A search for all small absorbing sets of an LDPC code, in units of work that can be done anywhere and in any order.
///
/// Threads may share it.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct AbsorbingSetSearch {
    search: ldpc::AbsorbingSetSearch,
    /// Bits beyond these are not sent.
    codeword_bits: usize,
}

#[pymethods]
impl AbsorbingSetSearch {
    /// For sets of up to `most_bits` bits (3 to 14), all of them sent, that violate up to `most_violated` checks. Raises CodeError, also for a
    /// matrix of more than 4,096 bits that is not quasi-cyclic; KeyboardInterrupt if `stop` was set meanwhile.
    #[new]
    #[pyo3(signature = (code, most_bits, most_violated, stop = None))]
    fn new(
        py: Python<'_>,
        code: &Code,
        most_bits: usize,
        most_violated: u32,
        stop: Option<&StopFlag>,
    ) -> PyResult<Self> {
        let (matrix, stop) = (matrix(code)?, flag(stop));
        let search = crate::detached(py, || ldpc::AbsorbingSetSearch::new(&matrix, most_bits, most_violated, &stop))
            .map_err(raise)?
            .ok_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err(()))?;
        Ok(Self { search, codeword_bits: code.ldpc()?.codeword_bits() })
    }

    /// Units of work.
    #[getter]
    fn units(&self) -> usize {
        self.search.units()
    }

    /// Cycles that sets are grown from, one of each orbit.
    #[getter]
    fn start_count(&self) -> usize {
        self.search.start_count()
    }

    /// Bits of the longest cycle that sets are grown from.
    #[getter]
    fn longest_cycle(&self) -> usize {
        self.search.longest_cycle()
    }

    /// The sets that unit `unit` finds, as (bits, violated checks, sets in the orbit); None if `stop` was set meanwhile. Two
    /// units may find the same set. Raises CodeError.
    #[pyo3(signature = (unit, stop = None))]
    fn search(&self, py: Python<'_>, unit: usize, stop: Option<&StopFlag>) -> PyResult<Option<Vec<Set>>> {
        let units = self.search.units();
        if unit >= units {
            return Err(raise(Error::code("unit", format!("found {unit}, expected one below {units}"))));
        }
        let stop = flag(stop);
        let is_sent = |set: &&ldpc::AbsorbingSet| set.bits.iter().all(|&bit| (bit as usize) < self.codeword_bits);
        let found = crate::detached(py, || self.search.search(unit, &stop));
        Ok(found.map(|sets| sets.iter().filter(is_sent).map(plain).collect()))
    }
}

/// A set of bits as the first of its orbit: (bits, violated checks, sets in its orbit, whether it is absorbing). Raises
/// CodeError.
#[pyfunction]
pub(crate) fn bit_sets(code: &Code, sets: Lists) -> PyResult<Vec<BitSet>> {
    let matrix = matrix(code)?;
    let length = code.ldpc()?.codeword_bits();
    if sets.iter().any(|bits| bits.is_empty() || bits.iter().any(|&bit| bit as usize >= length)) {
        return Err(raise(Error::code("sets", format!("found no bits, or one beyond the last, {}", length - 1))));
    }
    let columns = code.ldpc()?.parity_check().transpose();
    let size = matrix.circulant_size() as u32;
    let of = |bits: &Vec<u32>| {
        let (set, absorbing) = ldpc::AbsorbingSet::of(size, &columns, bits);
        (set.bits, set.violated, set.multiplicity, absorbing)
    };
    Ok(sets.iter().map(of).collect())
}

/// The checks of each of these bits of an LDPC code, ascending. Raises CodeError.
#[pyfunction]
pub(crate) fn checks_of(code: &Code, bits: Vec<u32>) -> PyResult<Vec<Vec<u32>>> {
    let code = code.ldpc()?;
    let last = code.codeword_bits() - 1;
    if let Some(bit) = bits.iter().find(|&&bit| bit as usize > last) {
        return Err(raise(Error::code("bits", format!("found {bit}, expected 0 to {last}"))));
    }
    let columns = code.parity_check().transpose();
    Ok(bits.iter().map(|&bit| columns.of(bit as usize).to_vec()).collect())
}

/// Impulses `first` to `first + count - 1` of a seed, each as its wrong bits: a short cycle through a random bit, and a short
/// path between two checks that it violates. With `corrected`, what Gallager's bit-flipping decoder leaves of them. Raises
/// CodeError.
#[pyfunction]
pub(crate) fn impulses(
    py: Python<'_>,
    code: &Code,
    seed: u64,
    first: u64,
    count: u64,
    corrected: bool,
) -> PyResult<Vec<Vec<u32>>> {
    let matrix = Arc::clone(code.ldpc_all_sent("impulses")?.parity_check());
    Ok(crate::detached(py, || {
        let mut impulses = ldpc::Impulses::new(matrix, seed);
        let mut drawn = |number| {
            let errors = impulses.draw(number);
            if corrected { impulses.correct(&errors) } else { errors }
        };
        (first..first + count).map(&mut drawn).collect()
    }))
}
