//! Exact sums and dot products of decimal numbers, and transforms made of them.

use num_bigint::BigInt;
use num_complex::Complex64;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString};
use rarefy::Backend;
use rarefy::signed_digit::decimal::{self, Decimal, Total};
use rarefy::signed_digit::dft::{Signal, Spectrum, Transform};

use crate::errors::raise;
use crate::work::{compute, enter, machine};

/// A number of Python, exactly.
fn number(x: &Bound<'_, PyAny>) -> PyResult<Decimal> {
    if let Ok(text) = x.cast::<PyString>() {
        return text.to_cow()?.parse().map_err(raise);
    }
    if x.cast::<PyInt>().is_ok() {
        return x.extract::<BigInt>()?.to_string().parse().map_err(raise);
    }
    if let Ok(float) = x.cast::<PyFloat>() {
        let value = float.extract::<f64>()?;
        return Decimal::from_f64(value).ok_or_else(|| {
            PyValueError::new_err(format!("{value} is no decimal number; all must be finite"))
        });
    }
    // A decimal.Decimal, or a scalar of NumPy.
    x.str()?.to_cow()?.parse().map_err(|_| {
        let kind = x.get_type();
        PyTypeError::new_err(format!(
            "{kind} is no number that is added exactly; use int, float, str or decimal.Decimal"
        ))
    })
}

pub(crate) fn numbers(x: &Bound<'_, PyAny>) -> PyResult<Vec<Decimal>> {
    x.try_iter()?.map(|item| number(&item?)).collect()
}

/// Exact numbers go back as text, or as int where they are whole and every number given was an int.
fn exact<'py>(py: Python<'py>, value: &Decimal, whole: bool) -> PyResult<Bound<'py, PyAny>> {
    if whole && value.is_integer() {
        let (digits, exponent) = (value.to_string(), 10);
        if let Some(integer) = BigInt::parse_bytes(digits.as_bytes(), exponent) {
            return Ok(integer.into_pyobject(py)?.into_any());
        }
    }
    let decimal = py.import("decimal")?.getattr("Decimal")?;
    decimal.call1((value.to_string(),))
}

fn whole(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    for item in x.try_iter()? {
        if item?.cast::<PyInt>().is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The exact sum of decimal numbers.
///
/// Parameters
/// ----------
/// numbers : iterable of int, float, str or decimal.Decimal; or str or bytes with one number a line
///     Of any length and exponent.
/// backend : str
///     Where to compute.
///
/// Returns
/// -------
/// int or decimal.Decimal
///     With every digit; an int if all numbers are.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.decimal_sum(["0.1", "0.2"])
/// Decimal('0.3')
/// >>> rarefy.decimal_sum([10**40, 1, -(10**40)])
/// 1
#[pyfunction]
#[pyo3(signature = (numbers, *, backend = "cpu"))]
fn decimal_sum<'py>(numbers: &Bound<'py, PyAny>, backend: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = numbers.py();
    enter(py, backend)?;
    let backend: Backend = backend.parse().map_err(raise)?;
    if let Some(text) = text_of(numbers)? {
        let Total { value, .. } = compute(py, || decimal::sum_text(&text, &machine(backend)?))?;
        return exact(py, &value, false);
    }
    let list = numbers.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let list = pyo3::types::PyList::new(py, list)?;
    let all = self::numbers(list.as_any())?;
    let sum = compute(py, || decimal::sum(&all, &machine(backend)?))?;
    exact(py, &sum, whole(list.as_any())?)
}

/// The exact dot product of decimal numbers, of which there are as many on both sides; as for `decimal_sum`.
///
/// Examples
/// --------
/// >>> import rarefy
/// >>> rarefy.decimal_dot(["0.1", "3"], ["0.1", "2"])
/// Decimal('6.01')
#[pyfunction]
#[pyo3(signature = (x, y, *, backend = "cpu"))]
fn decimal_dot<'py>(
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    backend: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    enter(py, backend)?;
    let backend: Backend = backend.parse().map_err(raise)?;
    if let (Some(x), Some(y)) = (text_of(x)?, text_of(y)?) {
        let total = compute(py, || decimal::dot_text(&x, &y, &machine(backend)?))?;
        return exact(py, &total.value, false);
    }
    let (a, b) = (numbers(x)?, numbers(y)?);
    let dot = compute(py, || decimal::dot(&a, &b, &machine(backend)?))?;
    exact(py, &dot, whole(x)? && whole(y)?)
}

/// Text with one number a line.
fn text_of(x: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u8>>> {
    if let Ok(bytes) = x.cast::<PyBytes>() {
        return Ok(Some(bytes.as_bytes().to_vec()));
    }
    match x.cast::<PyString>() {
        Ok(text) => Ok(Some(text.to_cow()?.as_bytes().to_vec())),
        Err(_) => Ok(None),
    }
}

/// The unrounded result of a transform; it is rounded where it is read.
#[pyclass(name = "Spectrum", module = "rarefy", frozen)]
struct PySpectrum {
    transform: std::sync::Arc<Transform>,
    spectrum: Spectrum,
    backend: Backend,
    inverse: bool,
}

#[pyfunction]
#[pyo3(signature = (re, im = None, *, digits = 40, inverse = false, backend = "cpu"))]
fn dft(
    re: &Bound<'_, PyAny>,
    im: Option<&Bound<'_, PyAny>>,
    digits: usize,
    inverse: bool,
    backend: &str,
) -> PyResult<PySpectrum> {
    let py = re.py();
    enter(py, backend)?;
    let backend: Backend = backend.parse().map_err(raise)?;
    let signal = Signal {
        re: numbers(re)?,
        im: im.map_or_else(|| Ok(Vec::new()), numbers)?,
    };
    if !signal.im.is_empty() && signal.im.len() != signal.re.len() {
        return Err(PyValueError::new_err(format!(
            "{} real and {} imaginary parts; as many of both are needed",
            signal.re.len(),
            signal.im.len()
        )));
    }
    let (transform, spectrum) = compute(py, || {
        let transform = Transform::new(signal.len(), digits)?;
        let machine = machine(backend)?;
        let spectrum = if inverse {
            let divisor = 1;
            let scaled = signal.clone();
            transform.inverse(&Spectrum { scaled, divisor }, &machine)?
        } else {
            transform.forward(&signal, &machine)?
        };
        Ok((transform, spectrum))
    })?;
    Ok(PySpectrum {
        transform: transform.into(),
        spectrum,
        backend,
        inverse,
    })
}

#[pymethods]
impl PySpectrum {
    /// Each value rounded once.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<Complex64>>> {
        let values = compute(py, || Ok(self.spectrum.round_f64()))?;
        let values: Vec<_> = values
            .into_iter()
            .map(|[re, im]| Complex64::new(re, im))
            .collect();
        Ok(values.into_pyarray(py))
    }

    /// Real and imaginary parts with so many digits after the point.
    #[pyo3(signature = (places = 40))]
    fn decimals<'py>(
        &self,
        py: Python<'py>,
        places: usize,
    ) -> PyResult<[Vec<Bound<'py, PyAny>>; 2]> {
        let signal = compute(py, || Ok(self.spectrum.rounded(places)))?;
        let all = |part: &[Decimal]| {
            part.iter()
                .map(|x| exact(py, x, false))
                .collect::<PyResult<Vec<_>>>()
        };
        Ok([all(&signal.re)?, all(&signal.im)?])
    }

    /// The way back, of the unrounded values.
    fn inverse(&self, py: Python<'_>) -> PyResult<Self> {
        if self.inverse {
            return Err(PyValueError::new_err(
                "this is an inverse transform; transform it forward with rarefy.dft",
            ));
        }
        let spectrum = compute(py, || {
            self.transform
                .inverse(&self.spectrum, &machine(self.backend)?)
        })?;
        Ok(Self {
            transform: std::sync::Arc::clone(&self.transform),
            spectrum,
            backend: self.backend,
            inverse: true,
        })
    }

    /// The largest relative deviation from a sequence.
    #[pyo3(signature = (re, im = None))]
    fn relative_error(
        &self,
        re: &Bound<'_, PyAny>,
        im: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<f64> {
        let signal = Signal {
            re: numbers(re)?,
            im: im.map_or_else(|| Ok(Vec::new()), numbers)?,
        };
        compute(re.py(), || Ok(self.spectrum.relative_error(&signal)))
    }

    fn __len__(&self) -> usize {
        self.spectrum.scaled.len()
    }

    fn __repr__(&self) -> String {
        let of = if self.inverse { "inverse " } else { "" };
        format!(
            "Spectrum({of}transform of {} points, unrounded)",
            self.transform.points()
        )
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PySpectrum>()?;
    m.add_function(wrap_pyfunction!(decimal_sum, m)?)?;
    m.add_function(wrap_pyfunction!(decimal_dot, m)?)?;
    m.add_function(wrap_pyfunction!(dft, m)?)
}
