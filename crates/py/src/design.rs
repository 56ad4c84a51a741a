//! The design of error correction by age, and laws of wear.

use std::path::Path;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use softsense_config::design::{self, BchStage, Design, DesignWear, TableStage};
use softsense_nand::{RberModel, WearLaw, fit_wear as fit};

use crate::{option, raise};

/// The straight line of least squares through logarithms of raw bit error rates over P/E cycles.
///
/// - `points`: pairs of P/E cycles and raw bit error rate: at least two, both growing.
/// - `law`: `power_law` (`scale (PE / 1000)^pe_exponent`) or `exponential` (`scale exp(PE / e_folding_pe_cycles)`).
///
/// Returns `model` (a dict, as `rber` of a config takes it) and `rms_ln` (root of the mean squared difference of natural logarithms). The
/// largest factor, above 1, by which a point is off is `worst_factor`. Raises ConfigError.
///
/// >>> from softsense._core import fit_wear
/// >>> found = fit_wear([(10_000, 1e-4), (20_000, 4e-4)], "power_law")
/// >>> round(found["model"]["power_law"]["pe_exponent"], 6)
/// 2.0
#[pyfunction]
pub(crate) fn fit_wear<'py>(py: Python<'py>, points: Vec<(u32, f64)>, law: &str) -> PyResult<Bound<'py, PyDict>> {
    let fitted = fit(&points, option::<WearLaw>("law", law)?).map_err(raise)?;
    let (model, fields) = (PyDict::new(py), PyDict::new(py));
    match fitted.model {
        RberModel::PowerLaw { scale, pe_exponent, .. } => {
            fields.set_item("scale", scale)?;
            fields.set_item("pe_exponent", pe_exponent)?;
        }
        RberModel::Exponential { scale, e_folding_pe_cycles } => {
            fields.set_item("scale", scale)?;
            fields.set_item("e_folding_pe_cycles", e_folding_pe_cycles)?;
        }
        _ => unreachable!("there are two laws"),
    }
    model.set_item(law, fields)?;
    let dict = PyDict::new(py);
    dict.set_item("model", model)?;
    dict.set_item("rms_ln", fitted.rms_ln)?;
    dict.set_item("worst_factor", fitted.worst_factor)?;
    Ok(dict)
}

/// The least t with which a BCH code of `data_bits` meets `uber` at a raw bit error rate; None if none up to m = 16 does.
///
/// - `per_bit`: whether `uber` limits P(more than t errors) / k, or that probability itself.
///
/// >>> from softsense._core import minimum_correctable
/// >>> [minimum_correctable(8 * k, p, 1e-15, True) for k, p in [(512, 3e-4), (4096, 1.5e-3)]]
/// [15, 105]
#[pyfunction]
pub(crate) fn minimum_correctable(data_bits: u32, rber: f64, uber: f64, per_bit: bool) -> Option<u32> {
    design::minimum_correctable(data_bits, rber, uber, per_bit)
}

/// Raw bit error rates by a law, and for each of `rbers` the most P/E cycles that keep it.
///
/// - `model`: JSON, as `rber` of a config takes it, of a law without cells: `{"power_law": {...}}`.
/// - `pe_cycles`: the P/E cycles whose rates are returned; `rbers`: the rates whose most P/E cycles are returned.
///
/// A pair of lists. Raises ConfigError.
#[pyfunction]
pub(crate) fn wear_law(
    model: &str,
    pe_cycles: Vec<u32>,
    rbers: Vec<f64>,
    retention_hours: f64,
) -> PyResult<(Vec<f64>, Vec<u32>)> {
    let model = open_model(model)?;
    let wear = |pe_cycles| softsense_nand::Wear::unread(pe_cycles, retention_hours);
    let rates = pe_cycles.into_iter().map(|pe_cycles| model.rber(wear(pe_cycles))).collect();
    let ages = rbers.into_iter().map(|rber| model.most_pe_cycles(rber, retention_hours)).collect();
    Ok((rates, ages))
}

/// Write amplification of greedy collection under endless uniform overwriting of large blocks. `utilisation` is the share of the flash that
/// holds data, above 0 and below 1. The result is 1 / (1 - delta), where delta is the share of valid data in victims.
///
/// >>> from softsense._core import uniform_write_amplification
/// >>> round(uniform_write_amplification(0.7), 2)
/// 1.88
#[pyfunction]
pub(crate) fn uniform_write_amplification(utilisation: f64) -> f64 {
    1.0 / (1.0 - softsense_ftl::steady_state_victim_fraction(utilisation))
}

fn open_model(json: &str) -> PyResult<RberModel> {
    let at = |message: String| raise(softsense_base::Error::config("rber", message));
    let model: RberModel = serde_json::from_str(json).map_err(|error| at(error.to_string()))?;
    model.open("rber", Path::new("")).map_err(raise)
}

/// Codes by age for a device: see `softsense.design`.
///
/// - `points`: pairs of P/E cycles and raw bit error rate at which stages end; or `model`, a law as JSON, with `retention_hours` and
///   `squeezes`.
/// - `tables`: decode tables to choose from, read at `level`; without them the codes are BCH codes.
///
/// A list of dicts, one for each stage. Raises ConfigError, TableError or CodeError.
#[pyfunction]
#[pyo3(signature = (*, unit_bytes, units_per_page, oob_bytes, uber, points=None, model=None, retention_hours=0.0, squeezes=Vec::new(), tables=Vec::new(), level=1))]
#[allow(clippy::too_many_arguments, reason = "they are named")]
pub(crate) fn design_by_age<'py>(
    py: Python<'py>,
    unit_bytes: u32,
    units_per_page: u32,
    oob_bytes: u32,
    uber: f64,
    points: Option<Vec<(u32, f64)>>,
    model: Option<&str>,
    retention_hours: f64,
    squeezes: Vec<u32>,
    tables: Vec<String>,
    level: u8,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let wear = match (points, model) {
        (Some(points), None) => DesignWear::Points(points),
        (None, Some(model)) => DesignWear::Law { model: open_model(model)?, retention_hours, squeezes },
        _ => {
            let message = "found both points and a model, or neither, expected one of the two";
            return Err(raise(softsense_base::Error::config("rber", message)));
        }
    };
    let design = Design { unit_bytes, units_per_page, oob_bytes, uber, wear };
    if tables.is_empty() {
        let stages = design.bch().map_err(raise)?;
        return stages.iter().map(|stage| bch_stage(py, stage)).collect();
    }
    let stages = crate::detached(py, || design.tables(&tables, level)).map_err(raise)?;
    stages.iter().map(|stage| table_stage(py, stage)).collect()
}

fn bch_stage<'py>(py: Python<'py>, stage: &BchStage) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("to_pe_cycles", stage.to_pe_cycles)?;
    dict.set_item("rber", stage.rber)?;
    dict.set_item("rber_limit", stage.rber_limit)?;
    dict.set_item("codeword_bytes", stage.codeword_bytes)?;
    dict.set_item("field_bits", stage.field_bits)?;
    dict.set_item("correctable", stage.correctable)?;
    dict.set_item("parity_bytes", stage.parity_bytes)?;
    dict.set_item("metadata_bytes", stage.metadata_bytes)?;
    dict.set_item("squeezed_bytes", stage.squeezed_bytes)?;
    Ok(dict)
}

fn table_stage<'py>(py: Python<'py>, stage: &TableStage) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("to_pe_cycles", stage.to_pe_cycles)?;
    dict.set_item("rber", stage.rber)?;
    dict.set_item("rber_limit", stage.rber_limit)?;
    dict.set_item("table", &stage.table)?;
    dict.set_item("codeword_bits", stage.codeword_bits)?;
    dict.set_item("data_bits", stage.data_bits)?;
    dict.set_item("units", stage.units)?;
    Ok(dict)
}
