//! Arrays of NumPy, without a copy where their layout allows that.

use numpy::{
    Element, IntoPyArray, PyArray1, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods,
    PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The addends that a sum takes from an array.
#[derive(Clone, Copy)]
pub(crate) enum Terms {
    Values,
    Magnitudes,
    Squares,
}

/// Length of the last axis, and lengths of the others; a number has an axis of one element.
pub(crate) fn last_axis(shape: &[usize]) -> (usize, &[usize]) {
    let (length, others) = shape.split_last().unwrap_or((&1, &[]));
    (*length, others)
}

/// An array of one of both precisions.
pub(crate) enum Reals<'py> {
    F32(PyReadonlyArrayDyn<'py, f32>),
    F64(PyReadonlyArrayDyn<'py, f64>),
}

impl Reals<'_> {
    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Self::F32(x) => x.shape(),
            Self::F64(x) => x.shape(),
        }
    }

    pub(crate) fn dtype(&self) -> &'static str {
        match self {
            Self::F32(_) => "float32",
            Self::F64(_) => "float64",
        }
    }
}

/// An array of numbers in float32 or float64, of any layout.
pub(crate) fn reals<'py>(name: &str, x: &Bound<'py, PyAny>) -> PyResult<Reals<'py>> {
    if let Ok(x) = x.cast::<PyArrayDyn<f64>>() {
        return Ok(Reals::F64(x.try_readonly().map_err(|e| busy(name, &e))?));
    }
    if let Ok(x) = x.cast::<PyArrayDyn<f32>>() {
        return Ok(Reals::F32(x.try_readonly().map_err(|e| busy(name, &e))?));
    }
    Err(wrong_type(name, x))
}

fn busy(name: &str, error: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{name} cannot be read now: {error}"))
}

fn wrong_type(name: &str, x: &Bound<'_, PyAny>) -> PyErr {
    let Ok(array) = x.cast::<PyUntypedArray>() else {
        let kind = x.get_type();
        let kind = kind
            .name()
            .map_or_else(|_| "object".into(), |n| n.to_string());
        return PyTypeError::new_err(format!(
            "{name} is a {kind}; an array of NumPy is needed: numpy.asarray({name}, dtype=float)"
        ));
    };
    let dtype = array.dtype();
    let foreign = matches!(dtype.byteorder(), b'>' if cfg!(target_endian = "little"))
        || matches!(dtype.byteorder(), b'<' if cfg!(target_endian = "big"));
    if foreign && dtype.kind() == b'f' {
        return PyTypeError::new_err(format!(
            "{name} has the byte order of another machine (dtype {dtype}); {name}.astype({name}.dtype.newbyteorder('=')) converts it"
        ));
    }
    PyTypeError::new_err(format!(
        "{name} has dtype {dtype}; float32 or float64 is needed: {name}.astype(float) converts it"
    ))
}

/// The numbers of an array in the order of its indices, the last fastest; refuses other layouts.
pub(crate) fn in_order<'a, T: Element>(
    name: &str,
    x: &'a PyReadonlyArrayDyn<'_, T>,
) -> PyResult<&'a [T]> {
    if !x.is_c_contiguous() {
        return Err(PyValueError::new_err(format!(
            "{name} is not C-contiguous (shape {:?}, strides {:?}); numpy.ascontiguousarray({name}) copies it into that order",
            x.shape(),
            x.strides()
        )));
    }
    x.as_slice().map_err(|e| busy(name, &e))
}

/// A one-dimensional or larger array of float64 in order.
pub(crate) fn doubles<'py>(
    name: &str,
    x: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArrayDyn<'py, f64>> {
    match reals(name, x)? {
        Reals::F64(x) => {
            in_order(name, &x)?;
            Ok(x)
        }
        Reals::F32(_) => Err(PyTypeError::new_err(format!(
            "{name} has dtype float32; float64 is needed here: {name}.astype(float) converts it"
        ))),
    }
}

/// Numbers as an array, which takes them over without a copy.
pub(crate) fn array(py: Python<'_>, values: Vec<f64>) -> Bound<'_, PyArray1<f64>> {
    values.into_pyarray(py)
}

/// The same of a shape.
pub(crate) fn shaped<'py>(
    py: Python<'py>,
    values: Vec<f64>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    array(py, values).reshape(shape.to_vec())
}

/// Columns of numbers under their names.
pub(crate) fn columns<'py, const N: usize>(
    py: Python<'py>,
    names: [&str; N],
    rows: impl ExactSizeIterator<Item = [f64; N]>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut all: Vec<Vec<f64>> = (0..N).map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        for (column, value) in all.iter_mut().zip(row) {
            column.push(value);
        }
    }
    let dict = PyDict::new(py);
    for (name, column) in names.iter().zip(all) {
        dict.set_item(name, array(py, column))?;
    }
    Ok(dict)
}
