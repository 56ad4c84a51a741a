//! The design of LDPC codes.

use pyo3::prelude::*;
use softsense_ecc::ldpc::{CodeShape, Family, Profile, Waterfall};
use softsense_link::MAX_LEVEL;

use crate::codes::{check_iterations, whole};
use crate::raise;

/// Column weights as pairs of weight and number of block columns, in the order of the columns.
type Runs = Vec<(u32, usize)>;

/// Shapes of base matrices of codes of `data_bits` and `parity_bits`: circulant size, block rows, block columns. The largest circulants
/// come first. `circulant_sizes` are powers of two to choose from, by default 16 to 1,024. Raises CodeError if none fits; the message says
/// which sizes would.
///
/// >>> from softsense._core import code_shapes
/// >>> code_shapes(32768, 4096, [256, 512])
/// [(512, 8, 72), (256, 16, 144)]
#[pyfunction]
#[pyo3(signature = (data_bits, parity_bits, circulant_sizes = None))]
pub(crate) fn code_shapes(
    data_bits: i128,
    parity_bits: i128,
    circulant_sizes: Option<Vec<i128>>,
) -> PyResult<Vec<(usize, usize, usize)>> {
    let bits = |name, count| whole::<usize>(name, count, 0, 1 << 40);
    let sizes: Option<Vec<usize>> = circulant_sizes
        .map(|sizes| sizes.into_iter().map(|size| whole("circulant_sizes", size, 1, 1 << 16)).collect())
        .transpose()?;
    let sizes = sizes.as_deref().unwrap_or(&CodeShape::CIRCULANT_SIZES);
    let shapes = CodeShape::fitting(bits("data_bits", data_bits)?, bits("parity_bits", parity_bits)?, sizes);
    let plain = |shape: CodeShape| (shape.circulant_size, shape.rows, shape.columns);
    Ok(shapes.map_err(raise)?.into_iter().map(plain).collect())
}

/// Candidate column weights for a base matrix of such a shape (circulant size, block rows, block columns), with columns up to weight
/// `heaviest`. A family is `regular`, `two_weights`, `three_weights`, `coupled` or `punctured`.
///
/// Each candidate has column weights, as pairs of weight and number of block columns; the memory of a chain in block rows, or None; and the
/// number of punctured columns. Punctured columns are the last ones, beside those of the shape. Raises CodeError.
///
/// >>> from softsense._core import code_profiles
/// >>> code_profiles((512, 8, 72), "regular", 5)
/// [([(3, 72)], None, 0), ([(4, 72)], None, 0), ([(5, 72)], None, 0)]
/// >>> code_profiles((64, 8, 72), "coupled", 4)[0]
/// ([(3, 72)], 2, 0)
#[pyfunction]
pub(crate) fn code_profiles(
    shape: (usize, usize, usize),
    family: &str,
    heaviest: u32,
) -> PyResult<Vec<(Runs, Option<usize>, usize)>> {
    let (circulant_size, rows, columns) = shape;
    let family: Family = family.parse().map_err(raise)?;
    let found = family.profiles(CodeShape { circulant_size, rows, columns }, heaviest);
    Ok(found.into_iter().map(|profile| (profile.runs, profile.memory, profile.punctured)).collect())
}

/// A prediction of frame error rates, for codes of one shape and one list of column weights: docs/model/ldpc-codes.md.
///
/// The prediction is for the default decoder. Its arguments are the shape (circulant size, block rows, block columns), the column weights
/// as pairs of weight and number of block columns, and the memory of a chain. Then come the number of punctured block columns (the last
/// ones, beside those of the shape), the read level (1 to 7) and the layered iterations. Raises CodeError.
///
/// >>> from softsense._core import Waterfall
/// >>> found = Waterfall((512, 8, 72), [(4, 72)], level=1, iterations=20)
/// >>> f"{found.threshold:.4f} {found.rber(1e-2):.4f} {found.fer(0.0075):.0e}"
/// '0.0094 0.0081 2e-04'
#[pyclass(module = "softsense._core", frozen, name = "Waterfall")]
pub(crate) struct PredictedWaterfall(Waterfall);

#[pymethods]
impl PredictedWaterfall {
    #[new]
    #[pyo3(signature = (shape, column_weights, memory = None, punctured = 0, *, level, iterations))]
    fn new(
        py: Python<'_>,
        shape: (usize, usize, usize),
        column_weights: Runs,
        memory: Option<i128>,
        punctured: i128,
        level: i128,
        iterations: i128,
    ) -> PyResult<Self> {
        let (circulant_size, rows, columns) = shape;
        let weights: usize = column_weights.iter().map(|&(_, count)| count).sum();
        let punctured: usize = whole("punctured", punctured, 0, 1 << 16)?;
        let expected = (columns + punctured) as i128;
        whole::<usize>("column_weights", weights as i128, expected, expected)?;
        let rows = whole("shape", rows as i128, 1, columns as i128 - 1)?;
        let circulant_size = whole("shape", circulant_size as i128, 1, 1 << 16)?;
        let shape = CodeShape { circulant_size, rows, columns };
        let (level, iterations) = (whole("level", level, 1, MAX_LEVEL.into())?, check_iterations(iterations)?);
        let memory = memory.map(|memory| whole("memory", memory, 0, rows as i128 - 1)).transpose()?;
        let profile = Profile { runs: column_weights, memory, punctured };
        crate::detached(py, || Waterfall::of_profile(shape, &profile, level, iterations)).map(Self).map_err(raise)
    }

    /// The raw bit error rate up to which infinitely long codes decode, by density evolution.
    #[getter]
    fn threshold(&self) -> f64 {
        self.0.threshold
    }

    /// The frame error rate at a raw bit error rate, 1e-8 to 0.49.
    fn fer(&self, rber: f64) -> PyResult<f64> {
        softsense_base::expect_number("rber", rber, 1e-8, 0.49).map_err(raise)?;
        Ok(self.0.frame_error_rate(rber))
    }

    /// The raw bit error rate at which frames fail at the rate `fer`, 1e-30 to 0.5.
    fn rber(&self, fer: f64) -> PyResult<f64> {
        softsense_base::expect_number("fer", fer, 1e-30, 0.5).map_err(raise)?;
        Ok(self.0.raw_bit_error_rate(fer))
    }
}
