//! Errors of a discretisation: runs of Python on other grids, and their ends by Ctrl-C.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::accuracy::{
    Axis, EXTENT, Errors, Quantity, Reached, Repeatable, SECONDS, Setting, Watch, scaled, search,
};
use rarefy::bgk::errors;
use rarefy::{Error, Result};

use crate::config::to_python;
use crate::errors::{NumericalError, raise};

/// Names of quantities in results of Python that are others in the command's records.
const NAMES: [(&str, &str); 8] = [
    ("D", "drag_wall"),
    ("G", "flow"),
    ("vortex_centre", "centre"),
    ("D_cell", "drag_cell"),
    ("pressure_xx", "pxx"),
    ("pressure_yy", "pyy"),
    ("fourth", "m4"),
    ("entropy", "H"),
];

/// A quantity: its name, its value, the size that its error compares with, and whether an accuracy is asked of it.
pub(crate) type Named = (String, f64, f64, bool);

/// Quantities by their names in Python.
pub(crate) fn named(quantities: Vec<Quantity>) -> Vec<Named> {
    let quantities = quantities.into_iter().map(renamed);
    quantities
        .map(|q| (q.name, q.value, q.scale, q.sought))
        .collect()
}

fn renamed(quantity: Quantity) -> Quantity {
    let name = NAMES.iter().find(|(name, _)| *name == quantity.name);
    match name {
        Some((_, name)) => Quantity {
            name: (*name).into(),
            ..quantity
        },
        None => quantity,
    }
}

fn unnamed((name, value, scale, sought): Named) -> Quantity {
    let mut quantity = Quantity::new(name, value).of_scale(scale);
    quantity.sought = sought;
    quantity
}

/// Work up to which repeats are made: any where they are asked for, and that of some seconds, or a share of it, where they are not.
pub(crate) fn most(verify: Option<bool>, share: f64) -> f64 {
    match verify {
        Some(true) => f64::INFINITY,
        _ => share * SECONDS,
    }
}

/// Errors for a result of Python: by quantity, the accuracy that was asked for, and warnings.
pub(crate) fn found<'py>(
    py: Python<'py>,
    mut errors: Errors,
    search: Option<&Reached>,
) -> PyResult<Bound<'py, PyDict>> {
    for finding in &mut errors.findings {
        finding.quantity = renamed(finding.quantity.clone());
    }
    let dict = PyDict::new(py);
    let warnings: Vec<String> = (errors.warning().into_iter())
        .chain(errors.shortfall(search))
        .collect();
    dict.set_item("discretisation_error", to_python(py, &errors)?)?;
    dict.set_item("accuracy", to_python(py, &errors.accuracy())?)?;
    dict.set_item("warnings", warnings)?;
    Ok(dict)
}

/// Ctrl-C, which ends repeats without the interpreter's lock.
#[derive(Default)]
pub(crate) struct Signals(Mutex<Option<PyErr>>);

impl Signals {
    /// Notes an exception that ends the repeats.
    pub(crate) fn note(&self, error: PyErr) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.get_or_insert(error);
    }

    /// The exception that ended the repeats, if one did.
    pub(crate) fn check(self) -> PyResult<()> {
        let noted = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        noted.map_or(Ok(()), Err)
    }
}

impl Watch for Signals {
    fn is_stopped(&self) -> bool {
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.note(error);
        }
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.is_some()
    }
}

/// An accuracy that can be asked for.
pub(crate) fn checked(accuracy: f64) -> PyResult<f64> {
    if (1e-12..=0.5).contains(&accuracy) {
        return Ok(accuracy);
    }
    Err(PyValueError::new_err(format!(
        "accuracy is {accuracy}; a relative accuracy from 1e-12 to 0.5 is needed, such as 1e-3"
    )))
}

/// The axes of a case's grid.
#[pyclass(name = "Axes", module = "rarefy._rarefy", frozen)]
struct PyAxes(Vec<Axis>);

/// The axes of the grid of a shock wave, a cavity or a flow between plates.
#[pyfunction]
fn axes_of(case: &str, is_boltzmann: bool, is_polar: bool, is_in_box: bool) -> PyAxes {
    PyAxes(match case {
        "shock" => errors::axes_of_shock(is_boltzmann),
        "cavity" => errors::axes_of_cavity(is_boltzmann, is_polar, is_in_box),
        _ => errors::axes_of_plates(is_boltzmann),
    })
}

/// The work of a flow on a grid: of so many unknowns in steps in time, or steady where there are none.
#[pyfunction]
fn work_of(unknowns: f64, is_boltzmann: bool, steps: Option<f64>) -> f64 {
    match steps {
        Some(steps) => errors::work_in_time(unknowns, is_boltzmann, steps),
        None => errors::work_of_steady(unknowns, is_boltzmann),
    }
}

/// The same between plates.
#[pyfunction]
fn work_of_plates(grid: Vec<usize>, is_boltzmann: bool, is_fourier: bool) -> PyResult<f64> {
    match grid[..] {
        [_, _] | [_, _, _] => Ok(errors::work_of_plates(&grid, is_boltzmann, is_fourier)),
        _ => Err(PyValueError::new_err(
            "a grid has cells, velocities, and perhaps a box",
        )),
    }
}

/// Flux and gas at plates as quantities.
#[pyfunction]
fn quantities_of_plates(flux: f64, at_wall: f64, are_driven: bool) -> Vec<Named> {
    let values = [("flux", flux), ("at_wall", at_wall)];
    named(errors::quantities_of_plates(values, are_driven))
}

/// Counts of velocities along the axes of which the first becomes `count`.
#[pyfunction]
#[pyo3(name = "scaled")]
fn scaled_counts(counts: Vec<usize>, count: usize, step: usize, least: usize) -> Vec<usize> {
    scaled(&counts, count, step, least)
}

/// Velocities of a box that has so many parts of its usual extent, and its width as a share of the usual one.
#[pyfunction]
fn in_box(counts: Vec<usize>, extent: usize) -> PyResult<(Vec<usize>, f64)> {
    errors::in_box(&counts, extent).map_err(raise)
}

/// Cells of a domain that has so many parts of its usual length.
#[pyfunction]
fn in_length(cells: usize, extent: usize) -> usize {
    errors::in_length(cells, extent).0
}

/// A run of Python on other grids: an object with `axes`, `grid`, `tolerance`, `work(grid)` and `repeat(grid)`, which returns quantities or None.
struct Runs<'py> {
    object: Bound<'py, PyAny>,
    axes: Vec<Axis>,
    grid: Vec<usize>,
    tolerance: f64,
    failure: RefCell<Option<PyErr>>,
}

impl<'py> Runs<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let axes = object.getattr("axes")?;
        let axes = axes.cast::<PyAxes>()?.get().0.clone();
        let grid: Vec<usize> = object.getattr("grid")?.extract()?;
        if grid.len() != axes.len() {
            return Err(PyValueError::new_err("a grid has a count for each axis"));
        }
        Ok(Self {
            object: object.clone(),
            axes,
            grid,
            tolerance: object.getattr("tolerance")?.extract()?,
            failure: RefCell::new(None),
        })
    }

    /// The value that was found, or the exception that ended the repeats.
    fn end<R>(self, found: Result<R>) -> PyResult<R> {
        match self.failure.into_inner() {
            Some(error) => Err(error),
            None => found.map_err(raise),
        }
    }
}

impl Watch for Runs<'_> {
    fn is_stopped(&self) -> bool {
        self.failure.borrow().is_some()
    }
}

impl Repeatable for Runs<'_> {
    fn axes(&self) -> Vec<Axis> {
        self.axes.clone()
    }

    fn grid(&self) -> Vec<usize> {
        self.grid.clone()
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let work = self.object.call_method1("work", (grid.to_vec(),));
        let work = work.and_then(|work| work.extract());
        work.unwrap_or(f64::INFINITY)
    }

    fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Cells and velocities as the grid has them; a box and a length as shares of the usual ones.
    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Setting)> {
        let extent = |name: &str| {
            let mut axes = self.axes.iter().zip(grid);
            let found = axes.find(|(axis, _)| axis.name == name);
            found.map_or(EXTENT, |(_, extent)| *extent)
        };
        let named = self.axes.iter().zip(grid).map(|(axis, &count)| {
            let setting = match axis.name {
                "cells" => Setting::Count(errors::in_length(count, extent("length")).0),
                "velocities" => {
                    let nodes = errors::in_box(&[count], extent("box"));
                    Setting::Count(nodes.map_or(count, |(nodes, _)| nodes[0]))
                }
                "box" | "length" => Setting::Number(count as f64 / EXTENT as f64),
                _ => Setting::Count(count),
            };
            (axis.name, setting)
        });
        named.collect()
    }

    fn repeat(&self, grid: &[usize], _: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
        let found = self.object.call_method1("repeat", (grid.to_vec(),));
        let found = found.and_then(|found| found.extract::<Option<Vec<Named>>>());
        match found {
            Ok(found) => Ok(found.map(|all| all.into_iter().map(unnamed).collect())),
            Err(error) => {
                let py = self.object.py();
                let none = error.is_instance_of::<PyValueError>(py)
                    || error.is_instance_of::<NumericalError>(py);
                if !none {
                    *self.failure.borrow_mut() = Some(error);
                }
                Err(Error::Numerical("a grid without a result".into()))
            }
        }
    }
}

/// The grid of a run that has an accuracy, and what was found on it.
#[pyfunction]
fn search_grid<'py>(
    runs: &Bound<'py, PyAny>,
    accuracy: f64,
) -> PyResult<(Vec<usize>, Bound<'py, PyDict>)> {
    let py = runs.py();
    let accuracy = checked(accuracy)?;
    let runs = Runs::new(runs)?;
    let reached = search(&runs, accuracy, &runs);
    let errors = reached.map(|reached| (Errors::of_search(&runs, &reached, accuracy), reached));
    let (errors, reached) = runs.end(errors)?;
    Ok((reached.grid.clone(), found(py, errors, Some(&reached))?))
}

/// The errors of quantities on which the iteration left the relative error `floor`, of a run that has settled or not.
#[pyfunction]
fn estimate_errors<'py>(
    runs: &Bound<'py, PyAny>,
    quantities: Vec<Named>,
    floor: f64,
    verify: Option<bool>,
    settled: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let py = runs.py();
    let share = if settled { 1.0 } else { 0.0 };
    let runs = Runs::new(runs)?;
    let base = quantities.into_iter().map(unnamed).collect();
    let errors = Errors::of_repeats(&runs, (base, floor), most(verify, share), &runs);
    let errors = runs.end(errors)?;
    found(py, errors, None)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyAxes>()?;
    m.add("TIMES_THE_STEPS", errors::PATIENCE)?;
    m.add("STEPS_AHEAD", errors::STEPS)?;
    m.add_function(wrap_pyfunction!(axes_of, m)?)?;
    m.add_function(wrap_pyfunction!(work_of, m)?)?;
    m.add_function(wrap_pyfunction!(work_of_plates, m)?)?;
    m.add_function(wrap_pyfunction!(quantities_of_plates, m)?)?;
    m.add_function(wrap_pyfunction!(scaled_counts, m)?)?;
    m.add("EXTENT", EXTENT)?;
    m.add_function(wrap_pyfunction!(in_box, m)?)?;
    m.add_function(wrap_pyfunction!(in_length, m)?)?;
    m.add_function(wrap_pyfunction!(search_grid, m)?)?;
    m.add_function(wrap_pyfunction!(estimate_errors, m)?)
}
