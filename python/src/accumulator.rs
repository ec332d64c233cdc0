//! Sums of floats that are kept without any error.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyType};
use rarefy::signed_digit::float::ExactAccumulator;

use crate::arrays::Terms;
use crate::errors::raise;
use crate::sums::{added, multiplied, root, rounded};
use crate::work::Run;

/// A sum of floats and of products of them, kept without any error.
///
/// Arrays, numbers, products and other accumulators can be added in any order and grouping; the accumulator holds the same bits afterwards. It can be pickled,
/// and continued elsewhere.
///
/// Parameters
/// ----------
/// x : array, optional
///     Addends to begin with, as for `sum`.
/// backend : str, optional
///     As for `sum`.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> total = rarefy.ExactAccumulator([1e300, 1.5])
/// >>> total += -1e300
/// >>> total.add_products(0.5, 3.0)
/// >>> total.round(), total.count
/// (3.0, 4)
#[pyclass(name = "ExactAccumulator", module = "rarefy", frozen)]
struct PyAccumulator(Run<ExactAccumulator>);

impl PyAccumulator {
    fn get<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&ExactAccumulator) -> R + Send,
    ) -> PyResult<R> {
        self.0.with(py, |sum| Ok(read(sum)))
    }

    fn merge_with(&self, py: Python<'_>, other: ExactAccumulator) -> PyResult<()> {
        self.0.with(py, |sum| {
            sum.merge(&other);
            Ok(())
        })
    }
}

#[pymethods]
impl PyAccumulator {
    #[new]
    #[pyo3(signature = (x = None, *, backend = None))]
    fn new(x: Option<&Bound<'_, PyAny>>, backend: Option<&str>) -> PyResult<Self> {
        let sum = match x {
            Some(x) => added("x", x, Terms::Values, backend)?.0,
            None => ExactAccumulator::new(),
        };
        Ok(Self(Run::new(sum)))
    }

    /// Adds a number, an array, or another accumulator.
    #[pyo3(signature = (x, *, backend = None))]
    fn add(&self, x: &Bound<'_, PyAny>, backend: Option<&str>) -> PyResult<()> {
        let py = x.py();
        if let Ok(number) = x.cast::<PyFloat>() {
            let number = number.extract::<f64>()?;
            return self.0.with(py, |sum| {
                sum.add(number);
                Ok(())
            });
        }
        if let Ok(other) = x.cast::<Self>() {
            let other = other.get().get(py, Clone::clone)?;
            return self.merge_with(py, other);
        }
        if let Ok(number) = x.cast::<PyInt>() {
            // Larger ones are no float.
            let number = number
                .extract::<i64>()
                .ok()
                .filter(|n| n.unsigned_abs() <= 1 << 53);
            let number = number.ok_or_else(|| PyValueError::new_err("an integer beyond 2^53 is no float; rarefy.decimal_sum adds integers of any size"))?;
            return self.0.with(py, |sum| {
                sum.add(number as f64);
                Ok(())
            });
        }
        let (more, _) = added("x", x, Terms::Values, backend)?;
        self.merge_with(py, more)
    }

    /// Adds the magnitudes of the numbers of an array.
    #[pyo3(signature = (x, *, backend = None))]
    fn add_magnitudes(&self, x: &Bound<'_, PyAny>, backend: Option<&str>) -> PyResult<()> {
        let (more, _) = added("x", x, Terms::Magnitudes, backend)?;
        self.merge_with(x.py(), more)
    }

    /// Adds the squares of the numbers of an array.
    #[pyo3(signature = (x, *, backend = None))]
    fn add_squares(&self, x: &Bound<'_, PyAny>, backend: Option<&str>) -> PyResult<()> {
        let (more, _) = added("x", x, Terms::Squares, backend)?;
        self.merge_with(x.py(), more)
    }

    /// Adds the product of two numbers, or the products at equal places of two arrays.
    #[pyo3(signature = (x, y, *, backend = None))]
    fn add_products(
        &self,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        backend: Option<&str>,
    ) -> PyResult<()> {
        if let (Ok(a), Ok(b)) = (x.cast::<PyFloat>(), y.cast::<PyFloat>()) {
            let (a, b) = (a.extract::<f64>()?, b.extract::<f64>()?);
            return self.0.with(x.py(), |sum| {
                sum.add_product(a, b);
                Ok(())
            });
        }
        let (more, _) = multiplied(x, y, backend)?;
        self.merge_with(x.py(), more)
    }

    /// How many numbers or products were added.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.get(py, ExactAccumulator::count)
    }

    /// The sum, rounded once to "float64" or "float32".
    #[pyo3(signature = (dtype = "float64"))]
    fn round(&self, py: Python<'_>, dtype: &str) -> PyResult<f64> {
        let single = is_single(dtype)?;
        self.get(py, |sum| rounded((sum.clone(), single)))
    }

    /// The sum divided by the count, rounded once.
    #[pyo3(signature = (dtype = "float64"))]
    fn mean(&self, py: Python<'_>, dtype: &str) -> PyResult<f64> {
        let single = is_single(dtype)?;
        self.get(py, |sum| {
            if single {
                sum.mean::<f32>().into()
            } else {
                sum.mean()
            }
        })
    }

    /// The square root of the sum, rounded once.
    #[pyo3(signature = (dtype = "float64"))]
    fn sqrt(&self, py: Python<'_>, dtype: &str) -> PyResult<f64> {
        let single = is_single(dtype)?;
        self.get(py, |sum| root(sum, single))
    }

    /// Every digit.
    fn digits(&self, py: Python<'_>) -> PyResult<String> {
        self.get(py, |sum| sum.value().to_string())
    }

    /// The accumulator as bytes: the same on every computer, for every order of the same addends.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.get(py, ExactAccumulator::to_bytes)?))
    }

    /// The accumulator that `to_bytes` saved.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, data: &[u8]) -> PyResult<Self> {
        let sum = ExactAccumulator::from_bytes(data).map_err(raise)?;
        Ok(Self(Run::new(sum)))
    }

    /// An accumulator of its own that holds the same.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        Ok(Self(Run::new(self.get(py, Clone::clone)?)))
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.round(py, "float64")
    }

    fn __iadd__(&self, x: &Bound<'_, PyAny>) -> PyResult<()> {
        self.add(x, None)
    }

    fn __add__(&self, x: &Bound<'_, PyAny>) -> PyResult<Self> {
        let sum = self.copy(x.py())?;
        sum.add(x, None)?;
        Ok(sum)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else {
            return Ok(false);
        };
        let other = other.get().get(py, Clone::clone)?;
        self.get(py, |sum| *sum == other)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        let make = slf.get_type().getattr("from_bytes")?;
        Ok((make, (slf.get().to_bytes(py)?,)))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.get(py, |sum| {
            format!(
                "ExactAccumulator(sum={:?}, count={})",
                sum.round::<f64>(),
                sum.count()
            )
        })
    }
}

fn is_single(dtype: &str) -> PyResult<bool> {
    match dtype {
        "float64" | "f64" => Ok(false),
        "float32" | "f32" => Ok(true),
        _ => Err(PyValueError::new_err(format!(
            "dtype '{dtype}' is none that sums are rounded to; use 'float32' or 'float64'"
        ))),
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyAccumulator>()
}
