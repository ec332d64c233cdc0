//! Exact sums and dot products of floats.

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat};
use rarefy::Backend;
use rarefy::signed_digit::float::{ExactAccumulator, ExactEngine, Float};
use rarefy::signed_digit::statistics::{self, Ratio};
use rayon::prelude::*;

use crate::arrays::{Reals, Terms, in_order, last_axis, reals};
use crate::decimals::numbers;
use crate::device::{DeviceArray, device_array};
use crate::errors::raise;
use crate::work::{compute, enter, machine};

/// An array of NumPy, made of a sequence of numbers where it is none.
fn floats<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    widened(array_of_floats(x)?)
}

/// The array in single precision if its elements have half the width of those, which single precision holds exactly.
fn widened(array: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    match name.as_str() {
        "float16" | "bfloat16" => array.call_method1("astype", ("float32",)),
        _ => Ok(array),
    }
}

fn array_of_floats<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
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
    let dtype = x.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    if ["i", "u", "b"].contains(&kind.as_str()) {
        return Err(PyTypeError::new_err(format!(
            "{name} has dtype {dtype}; float32 or float64 is needed: rarefy.decimal_sum({name}.ravel().tolist()) adds integers and truths exactly"
        )));
    }
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

/// Real and imaginary parts of an array of complex numbers on the host, or of a sequence of them; none of other input.
fn complex_parts<'py>(
    name: &str,
    x: &Bound<'py, PyAny>,
) -> PyResult<Option<[Bound<'py, PyAny>; 2]>> {
    if device_array(name, x)?.is_some() {
        return Ok(None);
    }
    let array = x.py().import("numpy")?.call_method1("asarray", (x,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if kind != "c" {
        return Ok(None);
    }
    Ok(Some([array.getattr("real")?, array.getattr("imag")?]))
}

/// The dot product of arrays of which one is complex at least; a real factor multiplies both parts of the other.
fn complex_dot<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    backend: Option<&str>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = x.py();
    let parts = [complex_parts("x", x)?, complex_parts("y", y)?];
    let times = |a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>| multiplied(a, b, backend);
    let ((re, single), im) = match &parts {
        [None, None] => return Ok(None),
        [Some([a, b]), None] => (times(a, y)?, times(b, y)?.0),
        [None, Some([c, d])] => (times(x, c)?, times(x, d)?.0),
        [Some([a, b]), Some([c, d])] => {
            let (mut re, mut im) = (times(a, c)?, times(a, d)?.0);
            re.0.merge(&times(&b.neg()?, d)?.0);
            im.merge(&times(b, c)?.0);
            (re, im)
        }
    };
    let [re, im] = [re, im].map(|part| rounded((part, single)));
    Ok(Some(PyComplex::from_doubles(py, re, im).into_any()))
}

/// A sum rounded once to the type of its addends.
pub(crate) fn rounded((sum, single): Added) -> f64 {
    if single {
        sum.round::<f32>().into()
    } else {
        sum.round()
    }
}

/// Axes of an array, one or several.
#[derive(FromPyObject)]
enum Axes {
    One(isize),
    Several(Vec<isize>),
}

/// The numbers that are computed of each row.
#[derive(Clone, Copy)]
enum Of {
    Sum,
    Mean,
    Variance(u64),
    Deviation(u64),
}

impl Of {
    fn row<T: Float>(self, x: &[T]) -> T {
        match self {
            Self::Sum => ExactAccumulator::sum(x).round(),
            Self::Mean => statistics::mean(x).round(),
            Self::Variance(lost) => statistics::variance(x, lost).round(),
            Self::Deviation(lost) => statistics::variance(x, lost).sqrt(),
        }
    }
}

/// Refuses an array in GPU memory for what is computed on the CPU alone.
fn on_host(name: &str, x: &Bound<'_, PyAny>) -> PyResult<()> {
    match device_array(name, x)? {
        None => Ok(()),
        Some(_) => Err(PyValueError::new_err(format!(
            "{name} is in GPU memory, where this is not computed; copy it to the host"
        ))),
    }
}

/// The array with some axes made one, the last.
fn with_last<'py>(x: &Bound<'py, PyAny>, axes: &Axes) -> PyResult<Bound<'py, PyAny>> {
    let axes = match axes {
        Axes::One(axis) => vec![*axis],
        Axes::Several(axes) => axes.clone(),
    };
    let numpy = x.py().import("numpy")?;
    let count = axes.len() as isize;
    let last: Vec<isize> = (-count..0).collect();
    let moved = numpy.call_method1("moveaxis", (floats(x)?, axes, last))?;
    let shape: Vec<usize> = moved.getattr("shape")?.extract()?;
    let (others, these) = shape.split_at(shape.len() - count as usize);
    let mut shape = others.to_vec();
    shape.push(these.iter().product());
    let moved = moved.call_method1("reshape", (shape,))?;
    numpy.call_method1("ascontiguousarray", (moved,))
}

/// The sums along axes, or numbers made of sums, each rounded once to the type of the elements.
fn along<'py>(
    x: &Bound<'py, PyAny>,
    axes: &Axes,
    of_rows: Of,
    backend: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    fn of<'py, T: Float + numpy::Element>(
        py: Python<'py>,
        x: &PyReadonlyArrayDyn<'_, T>,
        of_rows: Of,
        backend: Backend,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (all, (length, others)) = (in_order("x", x)?, last_axis(x.shape()));
        let rows = others.iter().product();
        let sums: Vec<T> = compute(py, || match of_rows {
            Of::Sum => ExactEngine::new(backend)?.row_sums(all, [rows, length]),
            _ => {
                let row = |row: usize| of_rows.row(&all[row * length..(row + 1) * length]);
                Ok((0..rows).into_par_iter().map(row).collect())
            }
        })?;
        Ok(sums.into_pyarray(py).reshape(others)?.into_any())
    }
    let py = x.py();
    let on_device = device_array("x", x)?;
    let backend = backend_of(py, backend, on_device.is_some())?;
    if let Some(x) = on_device {
        return match (axes, of_rows) {
            (Axes::One(axis), Of::Sum) => x.row_sums(py, *axis),
            _ => Err(PyValueError::new_err(
                "x is in GPU memory, where only sums along the last axis are computed; copy it to the host",
            )),
        };
    }
    let moved = with_last(x, axes)?;
    match reals("x", &moved)? {
        Reals::F32(x) => of(py, &x, of_rows, backend),
        Reals::F64(x) => of(py, &x, of_rows, backend),
    }
}

/// Integers and decimal numbers, which are no floats: exactly; none of an array of floats.
fn exact_numbers<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if device_array("x", x)?.is_some() {
        return Ok(None);
    }
    let array = x.py().import("numpy")?.call_method1("asarray", (x,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if !["i", "u", "O", "U"].contains(&kind.as_str()) {
        return Ok(None);
    }
    // Of a list the numbers themselves: NumPy makes floats of large integers.
    let is_list = x.cast::<numpy::PyUntypedArray>().is_err()
        && array.getattr("ndim")?.extract::<usize>()? == 1;
    let all = if is_list {
        x.clone()
    } else {
        array.call_method0("ravel")?.call_method0("tolist")?
    };
    Ok(Some(all))
}

fn read(ratio: &Ratio, single: bool, root: bool) -> f64 {
    match (single, root) {
        (true, true) => ratio.sqrt::<f32>().into(),
        (true, false) => ratio.round::<f32>().into(),
        (false, true) => ratio.sqrt(),
        (false, false) => ratio.round(),
    }
}

/// The variance of all elements, or its root, rounded once.
fn spread<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<&Axes>,
    (lost, root): (u64, bool),
    backend: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    if let Some(axes) = axis {
        let of_rows = if root {
            Of::Deviation(lost)
        } else {
            Of::Variance(lost)
        };
        return along(x, axes, of_rows, backend);
    }
    let value = if let Some(exact) = exact_numbers(x)? {
        let all = numbers(&exact)?;
        let backend = backend_of(py, backend, false)?;
        let ratio = compute(py, || {
            statistics::decimal_variance(&all, lost, &machine(backend)?)
        })?;
        read(&ratio, false, root)
    } else {
        let (sum, single) = added("x", x, Terms::Values, backend)?;
        let (squares, _) = added("x", x, Terms::Squares, backend)?;
        read(
            &statistics::variance_of_sums(&sum, &squares, lost),
            single,
            root,
        )
    };
    Ok(PyFloat::new(py, value).into_any())
}

/// The exact sum of an array, rounded once to the type of its elements.
///
/// Parameters
/// ----------
/// x : array of float32, float64, float16, bfloat16 or complex numbers, or sequence of floats
///     Any shape and layout; float32 and float64 are not copied. float16 and bfloat16 are summed in float32; complex numbers have no axis. C-contiguous arrays of CuPy, PyTorch, JAX and Numba in GPU memory are summed there.
/// axis : int or sequence of int, optional
///     Sum along this axis or these together, each sum rounded once; by default over all elements. Axes that are not the last in memory are copied there; of
///     arrays in GPU memory the axis is the last.
/// backend : str, optional
///     ``"cpu"``, ``"cuda"``, ``"auto"``, ``"emulator"`` or ``"reference"``; by default where the array lies.
///
/// Returns
/// -------
/// float, complex, or array of NumPy with the type of the elements
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
    axis: Option<Axes>,
    backend: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    match axis {
        Some(axes) => along(x, &axes, Of::Sum, backend),
        None => {
            if let Some(parts) = complex_parts("x", x)? {
                let part = |part| added("x", part, Terms::Values, backend).map(rounded);
                let (re, im) = (part(&parts[0])?, part(&parts[1])?);
                return Ok(PyComplex::from_doubles(x.py(), re, im).into_any());
            }
            let sum = added("x", x, Terms::Values, backend).map(rounded)?;
            Ok(PyFloat::new(x.py(), sum).into_any())
        }
    }
}

/// The exact sum divided by the count, rounded once; NaN of nothing. Parameters are those of `sum`; means along axes are computed on the CPU.
///
/// Parameters
/// ----------
/// x : array of float32 or float64, or sequence of floats, int, str or decimal.Decimal
///     Integers and decimal numbers are taken exactly, without an axis.
/// weights : array of the shape and dtype of x, optional
///     The exact sum of products divided by that of the weights; without an axis.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.mean([1e308, 1e308])
/// 1e+308
/// >>> rarefy.mean([10**20 + 1, 3])
/// 5e+19
/// >>> rarefy.mean([1.0, 4.0], weights=[2.0, 1.0])
/// 2.0
#[pyfunction]
#[pyo3(signature = (x, axis = None, *, weights = None, backend = None))]
fn mean<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<Axes>,
    weights: Option<&Bound<'py, PyAny>>,
    backend: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    let value = match (axis, weights) {
        (Some(_), Some(_)) => {
            return Err(PyValueError::new_err(
                "weights are for the mean of all elements; leave axis out, or weights",
            ));
        }
        (Some(axes), None) => return along(x, &axes, Of::Mean, backend),
        (None, Some(weights)) => weighted(x, weights, backend)?,
        (None, None) => match exact_numbers(x)? {
            Some(exact) => {
                let all = numbers(&exact)?;
                let backend = backend_of(py, backend, false)?;
                let ratio = compute(py, || statistics::decimal_mean(&all, &machine(backend)?))?;
                ratio.round()
            }
            None => {
                let (sum, single) = added("x", x, Terms::Values, backend)?;
                if single {
                    sum.mean::<f32>().into()
                } else {
                    sum.mean()
                }
            }
        },
    };
    Ok(PyFloat::new(py, value).into_any())
}

fn weighted(
    x: &Bound<'_, PyAny>,
    weights: &Bound<'_, PyAny>,
    backend: Option<&str>,
) -> PyResult<f64> {
    let py = x.py();
    if let (Some(x), Some(weights)) = (exact_numbers(x)?, exact_numbers(weights)?) {
        let (x, weights) = (numbers(&x)?, numbers(&weights)?);
        let backend = backend_of(py, backend, false)?;
        let ratio = compute(py, || {
            statistics::decimal_weighted_mean(&x, &weights, &machine(backend)?)
        })?;
        return Ok(ratio.round());
    }
    let (products, single) = multiplied(x, weights, backend)?;
    let (total, _) = added("weights", weights, Terms::Values, backend)?;
    Ok(read(
        &statistics::weighted_mean_of_sums(&products, &total),
        single,
        false,
    ))
}

/// The variance: from the exact sums of x and of its squares, rounded once. Parameters are those of `mean`.
///
/// Parameters
/// ----------
/// ddof : int
///     Degrees of freedom that are taken off the count: 1 for a sample. NaN of no more numbers than that.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.var([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16], ddof=1)
/// 30.0
#[pyfunction]
#[pyo3(signature = (x, axis = None, *, ddof = 0, backend = None))]
fn var<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<Axes>,
    ddof: u64,
    backend: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    spread(x, axis.as_ref(), (ddof, false), backend)
}

/// The standard deviation: the root of the unrounded variance, rounded once. Parameters are those of `var`.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.std([1e200, -1e200])
/// 1e+200
#[pyfunction]
#[pyo3(name = "std", signature = (x, axis = None, *, ddof = 0, backend = None))]
fn deviation<'py>(
    x: &Bound<'py, PyAny>,
    axis: Option<Axes>,
    ddof: u64,
    backend: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    spread(x, axis.as_ref(), (ddof, true), backend)
}

/// The sums of all beginnings, each the exact sum rounded once; on the CPU.
///
/// Parameters
/// ----------
/// x : array of float32 or float64, or sequence of floats
///     With several axes its elements in C order, or the rows along `axis`.
/// axis : int, optional
///     The axis along which sums begin anew.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.cumsum([1e16, 1.0, -1e16]).tolist()
/// [1e+16, 1e+16, 1.0]
#[pyfunction]
#[pyo3(signature = (x, axis = None))]
fn cumsum<'py>(x: &Bound<'py, PyAny>, axis: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
    fn of<'py, T: Float + numpy::Element>(
        py: Python<'py>,
        x: &PyReadonlyArrayDyn<'_, T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (all, (length, _)) = (in_order("x", x)?, last_axis(x.shape()));
        let sums: Vec<T> = compute(py, || {
            let rows = all.chunks(length.max(1));
            Ok(rows.flat_map(statistics::cumulative_sum).collect())
        })?;
        Ok(sums.into_pyarray(py).reshape(x.shape())?.into_any())
    }
    on_host("x", x)?;
    let py = x.py();
    let numpy = py.import("numpy")?;
    let moved = match axis {
        None => numpy.call_method1("ravel", (floats(x)?,))?,
        Some(axis) => with_last(x, &Axes::One(axis))?,
    };
    let moved = numpy.call_method1("ascontiguousarray", (moved,))?;
    let sums = match reals("x", &moved)? {
        Reals::F32(x) => of(py, &x)?,
        Reals::F64(x) => of(py, &x)?,
    };
    match axis {
        None => Ok(sums),
        Some(axis) => numpy.call_method1("moveaxis", (sums, -1, axis)),
    }
}

/// The exact sums of runs of an array of one axis, each rounded once; on the CPU.
///
/// Parameters
/// ----------
/// x : array of float32 or float64, or sequence of floats
/// offsets : sequence of int
///     Run i has the elements from ``offsets[i]`` to below ``offsets[i + 1]``; a run of none has the sum 0.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.segment_sum([1e100, 1.0, -1e100, 0.5], [0, 3, 3, 4]).tolist()
/// [1.0, 0.0, 0.5]
#[pyfunction]
fn segment_sum<'py>(x: &Bound<'py, PyAny>, offsets: Vec<usize>) -> PyResult<Bound<'py, PyAny>> {
    fn of<'py, T: Float + numpy::Element>(
        py: Python<'py>,
        x: &PyReadonlyArrayDyn<'_, T>,
        offsets: &[usize],
    ) -> PyResult<Bound<'py, PyAny>> {
        let all = in_order("x", x)?;
        let sums: Vec<T> = compute(py, || statistics::segment_sums(all, offsets))?;
        Ok(sums.into_pyarray(py).into_any())
    }
    on_host("x", x)?;
    let py = x.py();
    let x = floats(x)?;
    let axes: usize = x.getattr("ndim")?.extract()?;
    if axes != 1 {
        return Err(PyValueError::new_err(format!(
            "x has {axes} axes; runs are of an array with one, such as numpy.ravel(x)"
        )));
    }
    let x = py
        .import("numpy")?
        .call_method1("ascontiguousarray", (x,))?;
    match reals("x", &x)? {
        Reals::F32(x) => of(py, &x, &offsets),
        Reals::F64(x) => of(py, &x, &offsets),
    }
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

/// The exact dot product of two arrays of one shape and dtype, rounded once. Parameters are those of `sum`. Complex numbers are not conjugated:
/// ``dot(x.conj(), y)`` does that. One array may be real.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.dot([1e200, 1.0, 1e200], [1e-50, 0.25, -1e-50])
/// 0.25
#[pyfunction]
#[pyo3(signature = (x, y, *, backend = None))]
fn dot<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    backend: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(product) = complex_dot(x, y, backend)? {
        return Ok(product);
    }
    let product = multiplied(x, y, backend).map(rounded)?;
    Ok(PyFloat::new(x.py(), product).into_any())
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(sum, m)?)?;
    m.add_function(wrap_pyfunction!(mean, m)?)?;
    m.add_function(wrap_pyfunction!(var, m)?)?;
    m.add_function(wrap_pyfunction!(deviation, m)?)?;
    m.add_function(wrap_pyfunction!(cumsum, m)?)?;
    m.add_function(wrap_pyfunction!(segment_sum, m)?)?;
    m.add_function(wrap_pyfunction!(norm, m)?)?;
    m.add_function(wrap_pyfunction!(dot, m)?)
}
