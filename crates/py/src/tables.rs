//! Decode tables.

use std::path::Path;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use softsense_base::Error;

use crate::raise;

/// Failure probabilities of a code at each read level, on a grid of raw bit error rates.
///
/// >>> import numpy as np
/// >>> from softsense._core import DecodeTable
/// >>> table = DecodeTable("bch-4KB-t105")
/// >>> table.data_bits, table.p_fail(np.array([1e-3, 1e-2]))[0] > 0.5
/// (32768, array([False,  True]))
#[pyclass(module = "softsense._core", frozen)]
pub(crate) struct DecodeTable {
    table: softsense_link::DecodeTable,
}

impl DecodeTable {
    pub(crate) fn of(table: &softsense_link::DecodeTable) -> Self {
        Self { table: table.clone() }
    }
}

#[pymethods]
impl DecodeTable {
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        let table = softsense_link::DecodeTable::open(name, Path::new("")).map_err(raise)?;
        Ok(Self { table })
    }

    /// The table in TOML.
    #[getter]
    fn text(&self) -> &str {
        self.table.text()
    }

    /// Number of data bits of a codeword; None if the table does not say.
    #[getter]
    fn data_bits(&self) -> Option<u64> {
        self.table.data_bits()
    }

    /// The probability that decoding fails at each raw bit error rate (float64, shape (n,)). Returns one row for each level, or the first
    /// `levels` of them (float64, shape (levels, n)). Raises ConfigError if the table has fewer.
    #[pyo3(signature = (rber, levels = None))]
    pub(crate) fn p_fail<'py>(
        &self,
        py: Python<'py>,
        rber: PyReadonlyArray1<'py, f64>,
        levels: Option<u8>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let levels = levels.unwrap_or(self.table.levels());
        if !(1..=self.table.levels()).contains(&levels) {
            let message = format!("found {levels}, expected 1 to {}", self.table.levels());
            return Err(raise(Error::config("level", message)));
        }
        let rber = rber.as_array();
        let shape = (usize::from(levels), rber.len());
        let p_fail = Array2::from_shape_fn(shape, |(level, at)| self.table.p_fail(level as u8 + 1, rber[at]));
        Ok(p_fail.into_pyarray(py))
    }

    /// True for each raw bit error rate (float64, shape (n,)) that the table covers (bool, shape (n,)). Elsewhere `p_fail` is a guess, the
    /// value at its nearest point.
    fn reaches<'py>(&self, py: Python<'py>, rber: PyReadonlyArray1<'py, f64>) -> Bound<'py, PyArray1<bool>> {
        rber.as_array().mapv(|rber| self.table.beyond(rber).is_none()).into_pyarray(py)
    }
}
