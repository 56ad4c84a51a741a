//! Tables of TOML as dicts.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use softsense_base::{Error, ErrorKind, line_of, toml_table, whole};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::raise;

/// The values in a text of TOML: dicts, lists, text, int, float and bool, at most 64 in one another. `origin` names the file in errors.
/// Raises ConfigError, with the line, for a text that is no TOML, a number that 64 bits do not hold, a date or a time.
///
/// >>> from softsense._core import read_toml
/// >>> read_toml("seeds = [1, 18446744073709551615]\n[set]\nx.y = 0.5", "mine.toml")
/// {'seeds': [1, 18446744073709551615], 'set': {'x': {'y': 0.5}}}
/// >>> read_toml("a = 1\na = 2", "mine.toml")
/// Traceback (most recent call last):
/// softsense.ConfigError: mine.toml:2: duplicate key, expected TOML
#[pyfunction]
pub(crate) fn read_toml<'py>(py: Python<'py>, text: &str, origin: &str) -> PyResult<Bound<'py, PyDict>> {
    let table = toml_table(text, ErrorKind::Config, origin).map_err(raise)?;
    dict(py, table.into_inner(), &|at, message| {
        raise(Error::config(format!("{origin}:{}", line_of(text, at)), message))
    })
}

fn dict<'py>(
    py: Python<'py>,
    table: DeTable<'_>,
    complain: &dyn Fn(usize, &str) -> PyErr,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    // In the order of the text.
    let mut fields: Vec<_> = table.into_iter().collect();
    fields.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in fields {
        dict.set_item(&**key.get_ref(), object(py, value, complain)?)?;
    }
    Ok(dict)
}

/// Converts a value. The recursion is as deep as the text, which has a bound.
fn object<'py>(
    py: Python<'py>,
    value: Spanned<DeValue<'_>>,
    complain: &dyn Fn(usize, &str) -> PyErr,
) -> PyResult<Bound<'py, PyAny>> {
    let at = value.span().start;
    match value.into_inner() {
        DeValue::String(text) => text.into_bound_py_any(py),
        DeValue::Integer(integer) => whole(&integer).expect("numbers have been checked").into_bound_py_any(py),
        DeValue::Float(number) => {
            let number: f64 = number.as_str().parse().map_err(|_| complain(at, "found no number, expected one"))?;
            number.into_bound_py_any(py)
        }
        DeValue::Boolean(truth) => truth.into_bound_py_any(py),
        DeValue::Datetime(moment) => {
            Err(complain(at, &format!("found {moment}, expected text, a number, true, false, a list or a table")))
        }
        DeValue::Array(list) => {
            let values = list.into_iter().map(|value| object(py, value, complain));
            Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        DeValue::Table(table) => dict(py, table, complain).map(Bound::into_any),
    }
}
