//! Integrals of oscillating functions.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::longman::family::Family;
use rarefy::longman::sampled::{Chebyshev, Samples};
use rarefy::longman::{Boundaries, Integral, Settings, Task};
use rarefy::{Backend, Compute, Precision};

use crate::arrays::{array, doubles, in_order};
use crate::config::{from_python, with_given};
use crate::errors::raise;
use crate::work::{compute, enter, machine};

/// The form of many integrals.
#[pyclass(name = "Task", module = "rarefy._rarefy", frozen)]
struct PyTask(Task);

/// Names that are parameters even where they are numbers as well, such as `e`.
fn known(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[pymethods]
impl PyTask {
    #[staticmethod]
    fn oscillating(
        amplitude: &str,
        oscillator: &str,
        frequency: &str,
        names: Vec<String>,
    ) -> PyResult<Self> {
        Task::complex(amplitude, oscillator, frequency, &known(&names))
            .map(Self)
            .map_err(raise)
    }

    #[staticmethod]
    fn whole(integrand: &str, boundaries: &Bound<'_, PyAny>, names: Vec<String>) -> PyResult<Self> {
        let boundaries: Boundaries = from_python(boundaries)?;
        Task::whole(integrand, boundaries, &known(&names))
            .map(Self)
            .map_err(raise)
    }

    #[staticmethod]
    fn family(name: &str, function: Option<&str>, names: Vec<String>) -> PyResult<Self> {
        let family = Family::named(name).ok_or_else(|| {
            let all: Vec<&str> = rarefy::longman::family::FAMILIES
                .iter()
                .map(|f| f.name)
                .collect();
            PyValueError::new_err(format!(
                "'{name}' is no family of integrands; choose {}",
                all.join(", ")
            ))
        })?;
        Task::family(family, function, &known(&names))
            .map(Self)
            .map_err(raise)
    }

    /// An amplitude known at points: a spline, or a Chebyshev series through its nodes.
    #[staticmethod]
    fn sampled(
        x: &Bound<'_, PyAny>,
        g: &Bound<'_, PyAny>,
        chebyshev: bool,
        oscillator: &str,
        frequency: &str,
        names: Vec<String>,
    ) -> PyResult<Self> {
        let (x, g) = (doubles("x", x)?, doubles("g", g)?);
        let (x, g) = (in_order("x", &x)?, in_order("g", &g)?);
        let samples = if chebyshev {
            Samples::chebyshev(x, g)
        } else {
            Samples::cubic(x, g)
        };
        Task::sampled(
            samples.map_err(raise)?,
            oscillator,
            frequency,
            &known(&names),
        )
        .map(Self)
        .map_err(raise)
    }

    #[getter]
    fn parameters(&self) -> Vec<String> {
        self.0.parameters().to_vec()
    }

    /// Integrals from `lower` to `upper`, with a column for each parameter.
    #[expect(clippy::too_many_arguments, reason = "the arguments of Python")]
    fn integrate<'py>(
        &self,
        py: Python<'py>,
        lower: &Bound<'py, PyAny>,
        upper: &Bound<'py, PyAny>,
        columns: Vec<(String, Bound<'py, PyAny>)>,
        settings: &Bound<'py, PyDict>,
        precision: &str,
        backend: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        enter(py, backend)?;
        let backend: Backend = backend.parse().map_err(raise)?;
        let precision: Precision = precision.parse().map_err(raise)?;
        let settings = with_given(&Settings::for_precision(precision), settings)?;
        let (lower, upper) = (doubles("lower", lower)?, doubles("upper", upper)?);
        let integrals = self
            .0
            .integrals()
            .lower(in_order("lower", &lower)?)
            .upper(in_order("upper", &upper)?)
            .settings(settings)
            .compute(Compute::new(backend).with_precision(precision));
        let arrays = columns
            .iter()
            .map(|(name, values)| Ok((name.as_str(), doubles(name, values)?)))
            .collect::<PyResult<Vec<_>>>()?;
        let integrals = arrays
            .iter()
            .try_fold(integrals, |integrals, (name, values)| {
                PyResult::Ok(integrals.column(*name, in_order(name, values)?))
            })?;
        let found = compute(py, || integrals.on(&machine(backend)?).integrate())?;
        table(py, &found)
    }
}

fn table<'py>(py: Python<'py>, found: &[Integral]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let numbers = |of: fn(&Integral) -> f64| array(py, found.iter().map(of).collect());
    dict.set_item("value", numbers(|i| i.value))?;
    dict.set_item("error", numbers(|i| i.error))?;
    dict.set_item("condition", numbers(|i| i.condition))?;
    dict.set_item("examined", numbers(|i| i.examined))?;
    if found.iter().any(|i| i.imaginary.is_some()) {
        let imaginary = |i: &Integral| i.imaginary.map_or(f64::NAN, |part| part.value);
        dict.set_item("imaginary", numbers(imaginary))?;
        let error = |i: &Integral| i.imaginary.map_or(f64::INFINITY, |part| part.error);
        dict.set_item("imaginary_error", numbers(error))?;
    }
    let words = |of: fn(&Integral) -> &'static str| found.iter().map(of).collect::<Vec<_>>();
    dict.set_item("status", words(|i| i.status.name()))?;
    dict.set_item("accelerator", words(|i| i.accelerator.name()))?;
    dict.set_item("proof", words(|i| i.proof.name()))?;
    let reason = |i: &Integral| i.reason().unwrap_or_default().into_owned();
    dict.set_item("reason", found.iter().map(reason).collect::<Vec<_>>())?;
    Ok(dict)
}

/// Where a function is sampled that becomes a Chebyshev series.
#[pyfunction]
fn chebyshev_nodes<'py>(
    py: Python<'py>,
    count: usize,
    scale: f64,
) -> PyResult<Bound<'py, numpy::PyArray1<f64>>> {
    if !((2..=4096).contains(&count) && scale.is_finite() && scale > 0.0) {
        return Err(PyValueError::new_err(format!(
            "a Chebyshev series has 2 to 4096 nodes and a positive scale; {count} and {scale} were given"
        )));
    }
    Ok(array(py, Chebyshev::nodes(count, scale)))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyTask>()?;
    m.add_function(wrap_pyfunction!(chebyshev_nodes, m)?)
}
