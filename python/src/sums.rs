//! Exact sums and dot products of floats.

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use rarefy::Backend;
use rarefy::signed_digit::float::{ExactAccumulator, ExactEngine, Float};

use crate::arrays::{Reals, Terms, in_order, last_axis, reals};
use crate::device::{DeviceArray, device_array};
use crate::errors::raise;
use crate::work::{compute, enter};

/// An array of NumPy, made of a sequence of numbers where it is none.
fn floats<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if x.cast::<numpy::PyUntypedArray>().is_ok() {
        return Ok(x.clone());
    }
    let numpy = x.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (x,))?;
    if x.getattr_opt("dtype")?.is_some() {
        // An array of another library, which keeps its dtype.
        return Ok(array);
    }
    // Input that is no sequence of floats would be converted in silence.
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let size: usize = array.getattr("size")?.extract()?;
    if kind == "f" {
        Ok(array)
    } else if size == 0 {
        array.call_method1("astype", ("float64",))
    } else {
        Err(PyTypeError::new_err(format!(
            "a sequence of floats is needed; numpy.asarray makes an array of dtype {} of it: rarefy.decimal_sum adds integers, Decimals and texts",
            array.getattr("dtype")?
        )))
    }
}

/// The memory of an array whose order does not matter.
enum Memory<'a, T> {
    Whole(&'a [T]),
    Scattered(numpy::ndarray::ArrayViewD<'a, T>),
}

fn memory<'a, T: numpy::Element>(x: &'a PyReadonlyArrayDyn<'_, T>) -> Memory<'a, T> {
    match x.as_slice() {
        Ok(all) => Memory::Whole(all),
        Err(_) => Memory::Scattered(x.as_array()),
    }
}

/// The terms of an array, added on the CPU or where the backend says.
fn add_array<T: Float + numpy::Element>(
    py: Python<'_>,
    x: &PyReadonlyArrayDyn<'_, T>,
    terms: Terms,
    backend: Backend,
) -> PyResult<ExactAccumulator> {
    let x = memory(x);
    compute(py, || {
        let copy;
        let all = match &x {
            Memory::Whole(all) => *all,
            Memory::Scattered(view)
                if backend == Backend::Cpu && matches!(terms, Terms::Values) =>
            {
                let mut sum = ExactAccumulator::new();
                sum.add_array(view);
                return Ok(sum);
            }
            Memory::Scattered(view) => {
                copy = view.iter().copied().collect::<Vec<T>>();
                copy.as_slice()
            }
        };
        if backend == Backend::Cpu {
            let mut sum = ExactAccumulator::new();
            match terms {
                Terms::Values => sum.add_slice(all),
                Terms::Magnitudes => sum.add_magnitudes(all),
                Terms::Squares => sum.add_squares(all),
            }
            return Ok(sum);
        }
        let engine = ExactEngine::new(backend)?;
        match terms {
            Terms::Values => engine.sum(all),
            Terms::Magnitudes => engine.magnitude_sum(all),
            Terms::Squares => engine.sum_of_squares(all),
        }
    })
}

/// The backend of this name, by default the one in whose memory the array is.
fn backend_of(py: Python<'_>, name: Option<&str>, on_device: bool) -> PyResult<Backend> {
    let name = name.unwrap_or(if on_device { "cuda" } else { "cpu" });
    enter(py, name)?;
    let backend = name.parse().map_err(raise)?;
    if on_device && !matches!(backend, Backend::Auto | Backend::Cuda) {
        return Err(PyValueError::new_err(format!(
            "the array is in GPU memory, which backend='{name}' does not reach; omit backend, or copy the array to the host"
        )));
    }
    Ok(backend)
}

/// An exact sum, and whether its terms are in single precision.
type Added = (ExactAccumulator, bool);

pub(crate) fn added(
    name: &str,
    x: &Bound<'_, PyAny>,
    terms: Terms,
    backend: Option<&str>,
) -> PyResult<Added> {
    let py = x.py();
    let on_device = device_array(name, x)?;
    let backend = backend_of(py, backend, on_device.is_some())?;
    if let Some(x) = on_device {
        return Ok((x.sum(py, terms)?, x.is_single()));
    }
    let x = floats(x)?;
    Ok(match reals(name, &x)? {
        Reals::F32(x) => (add_array(py, &x, terms, backend)?, true),
        Reals::F64(x) => (add_array(py, &x, terms, backend)?, false),
    })
}

pub(crate) fn multiplied(
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    backend: Option<&str>,
) -> PyResult<Added> {
    fn of<T: Float + numpy::Element>(
        py: Python<'_>,
        x: &PyReadonlyArrayDyn<'_, T>,
        y: &PyReadonlyArrayDyn<'_, T>,
        backend: Backend,
    ) -> PyResult<ExactAccumulator> {
        if let (Ok(x), Ok(y), true) = (
            x.as_slice(),
            y.as_slice(),
            x.is_c_contiguous() == y.is_c_contiguous(),
        ) {
            return compute(py, || match backend {
                Backend::Cpu => ExactAccumulator::dot(x, y),
                _ => ExactEngine::new(backend)?.dot(x, y),
            });
        }
        let (x, y) = (x.as_array(), y.as_array());
        compute(py, || match backend {
            Backend::Cpu => {
                let mut sum = ExactAccumulator::new();
                sum.add_array_products(&x, &y)?;
                Ok(sum)
            }
            _ => {
                let [x, y] = [x, y].map(|view| view.iter().copied().collect::<Vec<T>>());
                ExactEngine::new(backend)?.dot(&x, &y)
            }
        })
    }
    let py = x.py();
    let arrays: [Option<DeviceArray>; 2] = [device_array("x", x)?, device_array("y", y)?];
    let backend = backend_of(py, backend, arrays.iter().any(Option::is_some))?;
    match arrays {
        [Some(x), Some(y)] => {
            same_shape(x.shape(), y.shape())?;
            return Ok((x.dot(py, &y)?, x.is_single()));
        }
        [None, None] => {}
        _ => {
            return Err(PyValueError::new_err(
                "one of x and y is in GPU memory and the other is not; copy one to the other's memory",
            ));
        }
    }
    let (x, y) = (floats(x)?, floats(y)?);
    let (x, y) = (reals("x", &x)?, reals("y", &y)?);
    same_shape(x.shape(), y.shape())?;
    match (&x, &y) {
        (Reals::F32(x), Reals::F32(y)) => Ok((of(py, x, y, backend)?, true)),
        (Reals::F64(x), Reals::F64(y)) => Ok((of(py, x, y, backend)?, false)),
        _ => Err(PyTypeError::new_err(format!(
            "x has dtype {} and y has {}; both need one dtype: x.astype(y.dtype) converts it",
            x.dtype(),
            y.dtype()
        ))),
    }
}

fn same_shape(x: &[usize], y: &[usize]) -> PyResult<()> {
    if x == y {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "x has shape {x:?} and y has {y:?}; both need one shape"
    )))
}

/// A sum rounded once to the type of its addends.
pub(crate) fn rounded((sum, single): Added) -> f64 {
    if single {
        sum.round::<f32>().into()
    } else {
        sum.round()
    }
}

/// The sums along an axis, each rounded once to the type of the elements.
fn along<'py>(
    x: &Bound<'py, PyAny>,
    axis: isize,
    backend: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    fn of<'py, T: Float + numpy::Element>(
        py: Python<'py>,
        x: &PyReadonlyArrayDyn<'_, T>,
        backend: Backend,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (all, (length, others)) = (in_order("x", x)?, last_axis(x.shape()));
        let shape = [others.iter().product(), length];
        let sums: Vec<T> = compute(py, || ExactEngine::new(backend)?.row_sums(all, shape))?;
        Ok(sums.into_pyarray(py).reshape(others)?.into_any())
    }
    let py = x.py();
    let on_device = device_array("x", x)?;
    let backend = backend_of(py, backend, on_device.is_some())?;
    if let Some(x) = on_device {
        return x.row_sums(py, axis);
    }
    let numpy = py.import("numpy")?;
    let moved = numpy.call_method1("moveaxis", (floats(x)?, axis, -1))?;
    let moved = numpy.call_method1("ascontiguousarray", (moved,))?;
    match reals("x", &moved)? {
        Reals::F32(x) => of(py, &x, backend),
        Reals::F64(x) => of(py, &x, backend),
    }
}

/// The exact sum of an array, rounded once to the type of its elements.
///
/// Parameters
/// ----------
/// x : array of float32 or float64, or sequence of floats
///     Any shape and layout; it is not copied. C-contiguous arrays of CuPy, PyTorch, JAX and Numba in GPU memory are summed there.
/// axis : int, optional
///     Sum along this axis, each sum rounded once; by default over all elements. Axes that are not the last in memory are copied there; of arrays in GPU
///     memory the axis is the last.
/// backend : str, optional
///     ``"cpu"``, ``"cuda"``, ``"auto"``, ``"emulator"`` or ``"reference"``; by default where the array lies.
///
/// Returns
/// -------
/// float, or array of NumPy with the type of the elements
///     Independent of order, threads and machine.
///
/// Raises
/// ------
/// TypeError
///     A dtype that is neither; the text names the conversion.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.sum([1e100, 1.0, -1e100])
/// 1.0
/// >>> rarefy.sum([[1e100, 1.0, -1e100], [0.1, 0.2, 0.3]], axis=-1).tolist()
/// [1.0, 0.6]
#[pyfunction]
#[pyo3(signature = (x, axis = None, *, backend = None))]
fn sum<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<isize>,
    backend: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    match axis {
        Some(axis) => along(x, axis, backend),
        None => {
            let sum = added("x", x, Terms::Values, backend).map(rounded)?;
            Ok(PyFloat::new(x.py(), sum).into_any())
        }
    }
}

/// The exact sum divided by the count, rounded once; NaN of nothing. Parameters are those of `sum`.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.mean([1e308, 1e308])
/// 1e+308
#[pyfunction]
#[pyo3(signature = (x, *, backend = None))]
fn mean(x: &Bound<'_, PyAny>, backend: Option<&str>) -> PyResult<f64> {
    let (sum, single) = added("x", x, Terms::Values, backend)?;
    Ok(if single {
        sum.mean::<f32>().into()
    } else {
        sum.mean()
    })
}

/// The Euclidean norm: the root of the exact sum of squares, rounded once. Parameters are those of `sum`.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.norm([3e-200, 4e-200])
/// 5e-200
#[pyfunction]
#[pyo3(signature = (x, *, backend = None))]
fn norm(x: &Bound<'_, PyAny>, backend: Option<&str>) -> PyResult<f64> {
    let (sum, single) = added("x", x, Terms::Squares, backend)?;
    Ok(root(&sum, single))
}

pub(crate) fn root(sum: &ExactAccumulator, single: bool) -> f64 {
    if single {
        sum.value().sqrt::<f32>().into()
    } else {
        sum.value().sqrt()
    }
}

/// The exact dot product of two arrays of one shape and dtype, rounded once. Parameters are those of `sum`.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.dot([1e200, 1.0, 1e200], [1e-50, 0.25, -1e-50])
/// 0.25
#[pyfunction]
#[pyo3(signature = (x, y, *, backend = None))]
fn dot(x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>, backend: Option<&str>) -> PyResult<f64> {
    multiplied(x, y, backend).map(rounded)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(sum, m)?)?;
    m.add_function(wrap_pyfunction!(mean, m)?)?;
    m.add_function(wrap_pyfunction!(norm, m)?)?;
    m.add_function(wrap_pyfunction!(dot, m)?)
}
