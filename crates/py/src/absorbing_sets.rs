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

/// A set as (bits, violated checks, sets in its orbit, whether it is absorbing).
type BitSet = (Vec<u32>, u32, u32, bool);

/// Sets as lists of bits.
type Lists = Vec<Vec<u32>>;

fn plain(set: &ldpc::AbsorbingSet) -> Set {
    (set.bits.clone(), set.violated, set.multiplicity)
}

/// The matrix of a code. A matrix that is not quasi-cyclic is taken as one of circulants of size one.
fn matrix(code: &Code) -> PyResult<QuasiCyclic> {
    let code = code.ldpc()?;
    Ok(code.quasi_cyclic().cloned().unwrap_or_else(|| QuasiCyclic::of_ones(code.parity_check())))
}

/// Tells whether all of `bits` are sent. Only bits that are sent can be wrong.
fn sent(code: &Code, bits: &[u32]) -> PyResult<bool> {
    let length = code.ldpc()?.codeword_bits();
    Ok(bits.iter().all(|&bit| (bit as usize) < length))
}

fn flag(stop: Option<&StopFlag>) -> Arc<AtomicBool> {
    stop.map_or_else(Arc::default, StopFlag::shared)
}

/// Absorbing sets of one code, one for each orbit under the rotations of its circulants.
///
/// Objects never change, and pickle together with their code.
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct AbsorbingSets {
    code: Py<Code>,
    pub(crate) sets: Arc<ldpc::AbsorbingSets>,
}

#[pymethods]
impl AbsorbingSets {
    /// Takes lists of bit numbers. Raises CodeError for a set that is not absorbing in this code, comes twice or has bits that are not
    /// sent.
    #[new]
    fn new(py: Python<'_>, code: Py<Code>, sets: Vec<Vec<u32>>) -> PyResult<Self> {
        let matrix = matrix(code.get())?;
        for bits in &sets {
            // For bits beyond the matrix the error of the sets themselves is better.
            let beyond = bits.iter().any(|&bit| bit as usize >= matrix.columns() * matrix.circulant_size());
            if !beyond && !sent(code.get(), bits)? {
                return Err(raise(Error::code(
                    "sets",
                    format!("found {bits:?}, expected only bits that are sent: a set cannot have punctured bits"),
                )));
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

    /// All sets of the orbit of a listed set, each ascending. Raises CodeError for bits that are not listed.
    fn rotations(&self, bits: Vec<u32>) -> PyResult<Lists> {
        let listed = self.sets.sets().iter().find(|set| set.bits == bits);
        let unknown = || raise(Error::code("bits", format!("found {bits:?}, expected the bits of a set in the list")));
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
    /// Number of bits that are sent; further bits are punctured.
    codeword_bits: usize,
}

#[pymethods]
impl AbsorbingSetSearch {
    /// Prepares the search for sets of up to `most_bits` bits (3 to 14), all of them sent, that violate up to `most_violated` checks.
    /// Raises CodeError, also for a matrix of more than 4,096 bits that is not quasi-cyclic; KeyboardInterrupt if `stop` was set meanwhile.
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

    /// Number of units of work.
    #[getter]
    fn units(&self) -> usize {
        self.search.units()
    }

    /// Number of cycles from which sets are grown, one for each orbit.
    #[getter]
    fn start_count(&self) -> usize {
        self.search.start_count()
    }

    /// Number of bits of the longest cycle from which sets are grown.
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

/// Sets of bits as the first of their orbits: (bits, violated checks, sets in the orbit, whether it is absorbing). Raises CodeError.
/// CodeError.
#[pyfunction]
pub(crate) fn bit_sets(code: &Code, sets: Lists) -> PyResult<Vec<BitSet>> {
    let matrix = matrix(code)?;
    let length = code.ldpc()?.codeword_bits();
    if sets.iter().any(|bits| bits.is_empty() || bits.iter().any(|&bit| bit as usize >= length)) {
        return Err(raise(Error::code(
            "sets",
            format!(
                "found a set without bits, or with a bit out of range, expected sets of bits from 0 to {}",
                length - 1
            ),
        )));
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

/// Impulses `first` to `first + count - 1` of a seed, each as its wrong bits. An impulse is a short cycle through a random bit, and a short
/// path between two checks that the cycle violates. With `corrected`, each is given as the bits that stay wrong after Gallager's
/// bit-flipping decoder. Raises CodeError.
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
