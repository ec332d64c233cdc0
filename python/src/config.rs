//! Configurations from dictionaries, results to them.

use pyo3::exceptions::{PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Anything that serde writes, as dictionaries, lists and numbers.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    value: &impl Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(pythonize::pythonize(py, value)?)
}

/// The other way; what a constructor refuses is a `ValueError` with its line.
pub(crate) fn from_python<T: DeserializeOwned>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    pythonize::depythonize(value).map_err(|error| {
        let error = PyErr::from(error);
        let py = value.py();
        if error.get_type(py).is(py.get_type::<PyException>()) {
            PyValueError::new_err(error.value(py).to_string())
        } else {
            error
        }
    })
}

/// The default `base` with what was given in its place, to any depth. Keys are those that serde writes.
pub(crate) fn with_given<T: Serialize + DeserializeOwned>(
    base: &T,
    given: &Bound<'_, PyDict>,
) -> PyResult<T> {
    let all = to_python(given.py(), base)?.cast_into::<PyDict>()?;
    put(&all, given)?;
    from_python(all.as_any())
}

/// Keys that serde leaves out where they are not set.
const UNSET: [&str; 2] = ["threads", "rotation"];

fn put(into: &Bound<'_, PyDict>, given: &Bound<'_, PyDict>) -> PyResult<()> {
    for (key, value) in given {
        let name: String = key.extract()?;
        match into.get_item(&key)? {
            None if !UNSET.contains(&name.as_str()) => {
                let known: Vec<String> = into.keys().extract()?;
                return Err(PyTypeError::new_err(format!(
                    "there is no parameter '{name}'; there are {}",
                    known.join(", ")
                )));
            }
            Some(inner) if has_all_keys(&inner, &value)? => {
                put(inner.cast::<PyDict>()?, value.cast::<PyDict>()?)?;
            }
            _ => into.set_item(key, value)?,
        }
    }
    Ok(())
}

/// Whether both are dictionaries and the second has no key that the first may not have: otherwise it is another variant, and replaces the first.
fn has_all_keys(known: &Bound<'_, PyAny>, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (Ok(known), Ok(given)) = (known.cast::<PyDict>(), given.cast::<PyDict>()) else {
        return Ok(false);
    };
    for key in given.keys() {
        let name: String = key.extract()?;
        if !known.contains(&name)? && !UNSET.contains(&name.as_str()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A word that serde knows, such as the name of a scheme.
pub(crate) fn named<T: DeserializeOwned>(py: Python<'_>, word: &str) -> PyResult<T> {
    from_python(pyo3::types::PyString::new(py, word).as_any())
}

/// Texts as a list.
pub(crate) fn texts<'py>(py: Python<'py>, texts: &[String]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, texts)
}
