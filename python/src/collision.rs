//! The collision integral, relaxation in velocity space, and transport rates.

use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rarefy::accuracy::{Errors, search};
use rarefy::collision::errors::{self, Relaxations, Studies};
use rarefy::collision::initial::{Bkw, TwoMaxwellians, maxwellian};
use rarefy::collision::transport::{self, Flux, Study};
use rarefy::collision::{
    Checkpoint, CollisionOperator, Evaluation, Moments, OperatorConfig, Record, Relaxation,
    RelaxationConfig, Until, VelocityGrid,
};
use rarefy::{Error, Result};

use crate::accuracy::{self, Signals};
use crate::arrays::{columns, doubles, in_order, shaped};
use crate::config::{from_python, texts, to_python, with_given};
use crate::driving::{Ends, drive};
use crate::errors::raise;
use crate::work::{Run, compute};

pub(crate) fn grid((n, min, max): (usize, f64, f64)) -> PyResult<VelocityGrid> {
    VelocityGrid::new(n, min, max).map_err(raise)
}

/// The operator on a grid, with what was given.
pub(crate) fn operator(grid: VelocityGrid, given: &Bound<'_, PyDict>) -> PyResult<OperatorConfig> {
    let method = given.get_item("method")?;
    let spectral = method.is_some_and(|m| m.extract::<String>().is_ok_and(|m| m == "spectral"));
    // Each method has its own usual correction.
    let base = if spectral {
        OperatorConfig::spectral(grid)
    } else {
        OperatorConfig::new(grid)
    };
    with_given(&base, given)
}

/// Collision integrals of distributions `f[item, ix, iy, iz]`.
#[pyfunction]
fn collide<'py>(
    py: Python<'py>,
    f: &Bound<'py, PyAny>,
    n: usize,
    bounds: (f64, f64),
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyList>, String)> {
    let config = operator(grid((n, bounds.0, bounds.1))?, given)?;
    let f = doubles("f", f)?;
    let f = in_order("f", &f)?;
    let (all, machine) = compute(py, || {
        let mut operator = CollisionOperator::new(config.suited(f))?;
        Ok((operator.evaluate_batch(f)?, operator.device()))
    })?;
    let all = all.into_iter().map(|one| evaluation(py, n, one));
    Ok((
        PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)?,
        machine,
    ))
}

fn evaluation(py: Python<'_>, n: usize, found: Evaluation) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let shape = [n; 3];
    dict.set_item("correction", to_python(py, &found.correction)?)?;
    dict.set_item("warnings", texts(py, &found.warnings)?)?;
    dict.set_item("gain", shaped(py, found.gain, &shape)?)?;
    dict.set_item("frequency", shaped(py, found.frequency, &shape)?)?;
    dict.set_item("rate", shaped(py, found.rate, &shape)?)?;
    Ok(dict)
}

#[pyfunction]
fn velocity_moments<'py>(
    py: Python<'py>,
    f: &Bound<'py, PyAny>,
    n: usize,
    bounds: (f64, f64),
) -> PyResult<Bound<'py, PyAny>> {
    let grid = grid((n, bounds.0, bounds.1))?;
    let f = doubles("f", f)?;
    let f = in_order("f", &f)?;
    if f.len() != grid.cells() {
        return Err(PyValueError::new_err(format!(
            "f has {} values where a grid of {n}^3 has {}",
            f.len(),
            grid.cells()
        )));
    }
    to_python(py, &Moments::of(&grid, f))
}

/// Distributions to start from.
#[pyfunction]
#[pyo3(signature = (name, n, bounds, **given))]
fn initial<'py>(
    py: Python<'py>,
    name: &str,
    n: usize,
    bounds: (f64, f64),
    given: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let grid = grid((n, bounds.0, bounds.1))?;
    let number = |key: &str, usual: f64| -> PyResult<f64> {
        match given.map(|g| g.get_item(key)).transpose()?.flatten() {
            Some(value) => value.extract(),
            None => Ok(usual),
        }
    };
    let f = match name {
        "maxwellian" => {
            let velocity = match given.map(|g| g.get_item("velocity")).transpose()?.flatten() {
                Some(value) => value.extract()?,
                None => [0.0; 3],
            };
            maxwellian(
                &grid,
                number("density", 1.0)?,
                velocity,
                number("temperature", 1.0)?,
            )
        }
        "two-maxwellians" => TwoMaxwellians {
            density: number("density", 1.0)?,
            speed: number("speed", 1.5)?,
            temperature: number("temperature", 1.0)?,
        }
        .sample(&grid),
        _ => Bkw::new(number("k", 0.65)?).map_err(raise)?.sample(&grid),
    };
    shaped(py, f, &[n; 3])
}

/// When a run ends, by the name of a variant and its number.
fn until(name: &str, end: f64) -> PyResult<Until> {
    Ok(match name {
        "time" => Until::Time(end),
        "equilibrium" => Until::Equilibrium(end),
        _ if end >= 0.0 && end.fract() == 0.0 => Until::Steps(end as u64),
        _ => {
            return Err(PyValueError::new_err(format!(
                "steps is a whole number, at least 0; {end} was given"
            )));
        }
    })
}

#[pyclass(name = "Relaxation", module = "rarefy._rarefy", frozen)]
struct PyRelaxation {
    run: Run<Relaxation>,
    n: usize,
}

#[pymethods]
impl PyRelaxation {
    #[new]
    fn new(
        py: Python<'_>,
        f: &Bound<'_, PyAny>,
        n: usize,
        bounds: (f64, f64),
        end: (String, f64),
        operator: &Bound<'_, PyDict>,
        run: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let f = doubles("f", f)?;
        let f = in_order("f", &f)?.to_vec();
        let mut chosen = self::operator(grid((n, bounds.0, bounds.1))?, operator)?;
        let mut is_given = false;
        for key in ["method", "order", "correction", "spectral"] {
            is_given |= operator.contains(key)?;
        }
        if !is_given && f.len() == chosen.grid.cells() {
            chosen = chosen.by_state(&f);
        }
        let operator = chosen.suited(&f);
        let config = with_given(&RelaxationConfig::new(operator, until(&end.0, end.1)?), run)?;
        let run = Run::new(compute(py, || Relaxation::new(config, f))?);
        Ok(Self { run, n })
    }

    /// Goes on from a checkpoint, to another end where one is given.
    #[staticmethod]
    fn resume(
        py: Python<'_>,
        checkpoint: &Bound<'_, PyAny>,
        end: Option<(String, f64)>,
    ) -> PyResult<Self> {
        let mut checkpoint: Checkpoint = from_python(checkpoint)?;
        if let Some((name, number)) = end {
            checkpoint.config.until = until(&name, number)?;
        }
        let n = checkpoint.config.operator.grid.n();
        let run = Run::new(compute(py, || Relaxation::resume(checkpoint))?);
        Ok(Self { run, n })
    }

    fn advance(&self, py: Python<'_>, steps: u64) -> PyResult<u64> {
        self.run.with(py, |run| run.advance(steps))
    }

    /// Takes the run to an end, with calls of `show` on the way.
    fn drive<'py>(
        &self,
        py: Python<'py>,
        ends: Ends,
        seen: Py<PyList>,
        show: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        drive(&self.run, py, ends, seen, show)
    }

    #[getter]
    fn dt(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, |run| Ok(run.time_step()))
    }

    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.run.with(py, |run| Ok(run.steps_taken()))
    }

    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, |run| Ok(run.time()))
    }

    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.run.with(py, |run| Ok(run.device()))
    }

    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.run.with(py, |run| Ok(run.warnings().to_vec()))
    }

    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let config = self.run.with(py, |run| Ok(run.config().clone()))?;
        to_python(py, &config)
    }

    fn correction<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let correction = self.run.with(py, |run| Ok(run.correction()))?;
        to_python(py, &correction)
    }

    fn distribution<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let f = self.run.with(py, Relaxation::state)?;
        shaped(py, f, &[self.n; 3])
    }

    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let history = self.run.with(py, |run| Ok(run.history().to_vec()))?;
        records(py, &history)
    }

    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let checkpoint = self.run.with(py, Relaxation::checkpoint)?;
        to_python(py, &checkpoint)
    }

    /// Errors of the moments now, by runs on other grids from what `start(n, bounds)` returns.
    fn estimate<'py>(
        &self,
        py: Python<'py>,
        start: Py<PyAny>,
        verify: Option<bool>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let signals = Signals::default();
        let errors = self.run.with(py, |run| {
            with_start(run, &start, &signals, |runs| {
                let floor = errors::floor(&run.config().operator);
                let base = errors::quantities(run.history()).unwrap_or_default();
                Errors::of_repeats(runs, (base, floor), accuracy::most(verify, 1.0), &signals)
            })
        });
        signals.check()?;
        accuracy::found(py, errors?, None)
    }

    /// A run to the time of this one on the grid whose moments have an accuracy there, the ends of its box, and what was found.
    fn search<'py>(
        &self,
        py: Python<'py>,
        start: Py<PyAny>,
        wanted: f64,
    ) -> PyResult<(Self, (f64, f64), Bound<'py, PyDict>)> {
        let wanted = accuracy::checked(wanted)?;
        let signals = Signals::default();
        let made = self.run.with(py, |run| {
            with_start(run, &start, &signals, |runs| {
                let search = search(runs, wanted, &signals)?;
                let errors = Errors::of_search(runs, &search, wanted);
                let config = runs.on(&search.grid)?;
                let f = (runs.start)(&config.operator.grid)?;
                Ok((Relaxation::new(config, f)?, errors, search))
            })
        });
        signals.check()?;
        let (run, errors, search) = made?;
        let grid = run.config().operator.grid;
        let fine = Self {
            run: Run::new(run),
            n: grid.n(),
        };
        let found = accuracy::found(py, errors, Some(&search))?;
        Ok((fine, (grid.min(), grid.max()), found))
    }
}

/// Does work with a run on other grids, each from what `start(n, bounds)` returns.
fn with_start<R>(
    run: &Relaxation,
    start: &Py<PyAny>,
    signals: &Signals,
    work: impl FnOnce(&Relaxations<'_>) -> Result<R>,
) -> Result<R> {
    let sample = |grid: &VelocityGrid| {
        let made = Python::attach(|py| -> PyResult<Vec<f64>> {
            let f = start.call1(py, (grid.n(), (grid.min(), grid.max())))?;
            let f = doubles("f", f.bind(py))?;
            Ok(in_order("f", &f)?.to_vec())
        });
        made.map_err(|error| {
            signals.note(error);
            Error::Numerical("a grid without a start".into())
        })
    };
    work(&Relaxations {
        config: run.config(),
        start: &sample,
        time: run.time(),
        steps: errors::count(run.steps_taken()),
    })
}

/// A history as columns, named as in the command's `history.csv`.
fn records<'py>(py: Python<'py>, history: &[Record]) -> PyResult<Bound<'py, PyDict>> {
    let names = [
        "step",
        "time",
        "density",
        "ux",
        "uy",
        "uz",
        "temperature",
        "pxx",
        "pyy",
        "pzz",
        "pxy",
        "pxz",
        "pyz",
        "qx",
        "qy",
        "qz",
        "m4",
        "H",
        "min_f",
        "activity",
        "below_zero",
    ];
    columns(
        py,
        names,
        history.iter().map(|row| {
            let m = &row.moments;
            let ([ux, uy, uz], [qx, qy, qz]) = (m.velocity, m.heat_flux);
            let [xx, yy, zz, xy, xz, yz] = m.pressure;
            [
                row.step as f64,
                row.time,
                m.density,
                ux,
                uy,
                uz,
                m.temperature,
                xx,
                yy,
                zz,
                xy,
                xz,
                yz,
                qx,
                qy,
                qz,
                m.fourth,
                m.entropy,
                m.minimum,
                row.activity,
                m.below_zero,
            ]
        }),
    )
}

/// Table, exact values, warning and errors of a study of relaxation rates.
type Rates<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyDict>,
    Option<String>,
    Bound<'py, PyDict>,
);

/// Effect of the discrete operator on exactly known physics, on n^3 cells, with errors if `verify` is not false.
#[pyfunction]
fn rates<'py>(
    py: Python<'py>,
    n: usize,
    given: &Bound<'py, PyDict>,
    verify: Option<bool>,
) -> PyResult<Rates<'py>> {
    let config = operator(
        grid((n, -transport::RATES_HALF_WIDTH, transport::RATES_HALF_WIDTH))?,
        given,
    )?;
    let study = compute(py, || Study::of(&config, n))?;
    let exact = PyDict::new(py);
    let (law, sigma) = (config.scattering, config.sigma_t);
    exact.set_item(
        "shear",
        transport::exact_decay_rate(law, sigma, Flux::Shear),
    )?;
    exact.set_item("heat", transport::exact_decay_rate(law, sigma, Flux::Heat))?;
    exact.set_item("viscosity", transport::exact_viscosity(law, sigma))?;
    let signals = Signals::default();
    let errors = match verify {
        Some(false) => Ok(Errors::default()),
        _ => compute(py, || {
            let studies = Studies { config: &config, n };
            let base = (errors::of_study(&study), study.viscosity.residual);
            Errors::of_repeats(&studies, base, accuracy::most(verify, 1.0), &signals)
        }),
    };
    signals.check()?;
    let found = accuracy::found(py, errors?, None)?;
    Ok((to_python(py, &study)?, exact, study.warning(), found))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyRelaxation>()?;
    m.add_function(wrap_pyfunction!(collide, m)?)?;
    m.add_function(wrap_pyfunction!(velocity_moments, m)?)?;
    m.add_function(wrap_pyfunction!(initial, m)?)?;
    m.add_function(wrap_pyfunction!(rates, m)?)
}
