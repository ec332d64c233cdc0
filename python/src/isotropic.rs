//! The isotropic equation in energy space, and economies.

use numpy::{PyArray1, PyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rarefy::accuracy::{Errors, Watch, search};
use rarefy::isotropic::errors::{self, Relaxations};
use rarefy::isotropic::market::errors::{self as economy, Markets};
use rarefy::isotropic::market::{self, Histogram, Market, MarketConfig, Start, gini, lorenz};
use rarefy::isotropic::{
    Checkpoint, CollisionKernel, EnergyGrid, OperatorConfig, Record, Relaxation, RelaxationConfig,
    initial,
};
use rarefy::{Error, Result};

use crate::accuracy::{self, Signals};
use crate::arrays::{array, columns, doubles, in_order, shaped};
use crate::config::{from_python, to_python, with_given};
use crate::driving::{Ends, drive};
use crate::errors::raise;
use crate::work::{Run, compute};

fn operator(
    cells: usize,
    emax: f64,
    law: &Bound<'_, PyAny>,
    given: &Bound<'_, PyDict>,
) -> PyResult<OperatorConfig> {
    let law: CollisionKernel = from_python(law)?;
    let grid = EnergyGrid::new(cells, emax).map_err(raise)?;
    with_given(&OperatorConfig::new(grid, law), given)
}

/// Rows of an array, and their length.
fn rows(f: &Bound<'_, PyAny>) -> PyResult<(Vec<Vec<f64>>, usize)> {
    let f = doubles("f", f)?;
    let &[states, cells] = f.shape() else {
        return Err(PyValueError::new_err("f has the shape (states, cells)"));
    };
    let f = in_order("f", &f)?;
    let row = |i: usize| f[i * cells..][..cells].to_vec();
    Ok(((0..states).map(row).collect(), cells))
}

#[pyclass(name = "Isotropic", module = "rarefy._rarefy", frozen)]
struct PyIsotropic(Run<Relaxation>);

#[pymethods]
impl PyIsotropic {
    #[new]
    fn new(
        py: Python<'_>,
        f: &Bound<'_, PyAny>,
        emax: f64,
        law: &Bound<'_, PyAny>,
        operator: &Bound<'_, PyDict>,
        run: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (rows, cells) = rows(f)?;
        let config = with_given(
            &RelaxationConfig::new(self::operator(cells, emax, law, operator)?),
            run,
        )?;
        Ok(Self(Run::new(compute(py, || {
            Relaxation::new(config, &rows)
        })?)))
    }

    #[staticmethod]
    fn resume(py: Python<'_>, checkpoint: &Bound<'_, PyAny>) -> PyResult<Self> {
        let checkpoint: Checkpoint = from_python(checkpoint)?;
        Ok(Self(Run::new(compute(py, || {
            Relaxation::resume(checkpoint)
        })?)))
    }

    fn advance(&self, py: Python<'_>, steps: u64) -> PyResult<u64> {
        self.0.with(py, |run| run.advance_part(steps))?;
        Ok(steps)
    }

    /// Takes the run to an end, with calls of `show` on the way.
    fn drive<'py>(
        &self,
        py: Python<'py>,
        ends: Ends,
        seen: Py<PyList>,
        show: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        drive(&self.0, py, ends, seen, show)
    }

    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.with(py, |run| Ok(run.steps_taken()))
    }

    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.0.with(py, |run| Ok(run.time()))
    }

    #[getter]
    fn dt(&self, py: Python<'_>) -> PyResult<f64> {
        self.0.with(py, |run| Ok(run.time_step()))
    }

    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.0.with(py, |run| Ok(run.device()))
    }

    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.0.with(py, |run| Ok(run.warnings().to_vec()))
    }

    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let config = self.0.with(py, |run| Ok(run.config().clone()))?;
        to_python(py, &config)
    }

    fn distributions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let all = self.0.with(py, Relaxation::states)?;
        let shape = [all.len(), all.first().map_or(0, Vec::len)];
        shaped(py, all.concat(), &shape)
    }

    fn history<'py>(&self, py: Python<'py>, state: usize) -> PyResult<Bound<'py, PyDict>> {
        let history = self.0.with(py, |run| Ok(run.history(state).to_vec()))?;
        let names = [
            "step",
            "time",
            "number",
            "energy",
            "second",
            "third",
            "H",
            "min_f",
            "largest_frequency",
        ];
        let row = |row: &Record| {
            let m = &row.moments;
            [
                row.step as f64,
                row.time,
                m.number,
                m.energy,
                m.second,
                m.third,
                m.entropy,
                m.minimum,
                row.largest_frequency,
            ]
        };
        columns(py, names, history.iter().map(row))
    }

    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let checkpoint = self.0.with(py, Relaxation::checkpoint)?;
        to_python(py, &checkpoint)
    }

    /// Errors of the moments of the one state now, by runs on other grids from `start`: an array, or a function of cells and largest energy.
    fn estimate<'py>(
        &self,
        py: Python<'py>,
        start: Py<PyAny>,
        verify: Option<bool>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let start = Origin::of(py, start)?;
        let signals = Signals::default();
        let errors = self.0.with(py, |run| {
            let f = run.states()?.remove(0);
            let operator = run.config().operator.clone();
            let first = run.history(0)[0].moments;
            let base = errors::quantities(&operator, &first, &f, &[]);
            let base = (base, errors::ROUNDOFF);
            start.with(run, &signals, |runs| {
                Errors::of_repeats(runs, base, accuracy::most(verify, 1.0), &signals)
            })
        });
        signals.check()?;
        accuracy::found(py, errors?, None)
    }

    /// A run to the time of this one on the grid whose moments have an accuracy there, and what was found.
    fn search<'py>(
        &self,
        py: Python<'py>,
        start: Py<PyAny>,
        wanted: f64,
    ) -> PyResult<(Self, Bound<'py, PyDict>)> {
        let wanted = accuracy::checked(wanted)?;
        let start = Origin::of(py, start)?;
        let signals = Signals::default();
        let made = self.0.with(py, |run| {
            let config = run.config().clone();
            start.with(run, &signals, |runs| {
                let search = search(runs, wanted, &signals)?;
                let errors = Errors::of_search(runs, &search, wanted);
                let (operator, f) = runs.on(&search.grid)?;
                let config = RelaxationConfig {
                    operator,
                    dt: runs.step(&search.grid),
                    ..config
                };
                Ok((Relaxation::new(config, &[f])?, errors, search))
            })
        });
        signals.check()?;
        let (run, errors, search) = made?;
        let found = accuracy::found(py, errors, Some(&search))?;
        Ok((Self(Run::new(run)), found))
    }
}

/// A distribution to start from.
enum Origin {
    Array(Vec<f64>),
    Function(Py<PyAny>),
}

impl Origin {
    fn of(py: Python<'_>, start: Py<PyAny>) -> PyResult<Self> {
        if start.bind(py).is_callable() {
            return Ok(Self::Function(start));
        }
        let f = doubles("f", start.bind(py))?;
        Ok(Self::Array(in_order("f", &f)?.to_vec()))
    }

    /// Does work with a run from here on other grids.
    fn with<R>(
        &self,
        run: &Relaxation,
        signals: &Signals,
        work: impl FnOnce(&Relaxations<'_>) -> Result<R>,
    ) -> Result<R> {
        let RelaxationConfig {
            operator,
            integrator,
            ..
        } = run.config();
        let sample = |config: &OperatorConfig| {
            let Self::Function(start) = self else {
                return Ok(Vec::new());
            };
            let grid = config.grid;
            let made = Python::attach(|py| -> PyResult<Vec<f64>> {
                let f = start.call1(py, (grid.cells(), grid.emax()))?;
                let f = doubles("f", f.bind(py))?;
                Ok(in_order("f", &f)?.to_vec())
            });
            made.map_err(|error| {
                signals.note(error);
                Error::Numerical("a grid without a start".into())
            })
        };
        work(&Relaxations {
            operator,
            integrator: *integrator,
            start: match self {
                Self::Array(f) => errors::Start::Cells(f),
                Self::Function(_) => errors::Start::Formula(&sample),
            },
            course: Some((run.time(), run.steps_taken())),
            spectrum: None,
        })
    }
}

/// Economies under way.
#[pyclass(name = "Market", module = "rarefy._rarefy", frozen)]
struct PyMarket(Run<Market>);

#[pymethods]
impl PyMarket {
    #[new]
    fn new(
        py: Python<'_>,
        agents: &Bound<'_, PyAny>,
        emax: f64,
        law: &Bound<'_, PyAny>,
        operator: &Bound<'_, PyDict>,
        run: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (rows, cells) = rows(agents)?;
        let law: CollisionKernel = from_python(law)?;
        // The weights that suit the law.
        let start = Start::Agents(Vec::new());
        let suited = MarketConfig::on_grid(law, start, cells, emax).map_err(raise)?;
        let base = MarketConfig {
            operator: with_given(&suited.operator, operator)?,
            economies: Vec::new(),
            ..suited
        };
        let config = MarketConfig {
            economies: rows.into_iter().map(Start::Agents).collect(),
            ..with_given(&base, run)?
        };
        Ok(Self(Run::new(compute(py, || Market::new(config))?)))
    }

    #[staticmethod]
    fn resume(py: Python<'_>, checkpoint: &Bound<'_, PyAny>) -> PyResult<Self> {
        let checkpoint: market::Checkpoint = from_python(checkpoint)?;
        Ok(Self(Run::new(compute(py, || Market::resume(checkpoint))?)))
    }

    fn advance(&self, py: Python<'_>, steps: u64) -> PyResult<u64> {
        self.0.with(py, |market| market.advance_part(steps))?;
        Ok(steps)
    }

    /// Takes the run to an end, with calls of `show` on the way.
    fn drive<'py>(
        &self,
        py: Python<'py>,
        ends: Ends,
        seen: Py<PyList>,
        show: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        drive(&self.0, py, ends, seen, show)
    }

    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.0.with(py, |market| Ok(market.steps_taken()))
    }

    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.0.with(py, |market| Ok(market.time()))
    }

    #[getter]
    fn dt(&self, py: Python<'_>) -> PyResult<f64> {
        self.0.with(py, |market| Ok(market.time_step()))
    }

    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.0.with(py, |market| Ok(market.device()))
    }

    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.0.with(py, |market| Ok(market.warnings().to_vec()))
    }

    /// Agents of each cell, a row for each economy.
    fn distributions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let all = self.0.with(py, Market::agents)?;
        let shape = [all.len(), all.first().map_or(0, Vec::len)];
        shaped(py, all.concat(), &shape)
    }

    fn trade_rates(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.0.with(py, Market::trade_rates)
    }

    fn history<'py>(&self, py: Python<'py>, economy: usize) -> PyResult<Bound<'py, PyDict>> {
        let history = self
            .0
            .with(py, |market| Ok(market.history(economy).to_vec()))?;
        let names = ["step", "time", "wealth", "traded", "trade_rate", "gini"];
        let row = |row: &market::Record| {
            let wealth = row.moments.energy;
            let step = row.step as f64;
            [step, row.time, wealth, row.traded, row.trade_rate, row.gini]
        };
        columns(py, names, history.iter().map(row))
    }

    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let checkpoint = self.0.with(py, Market::checkpoint)?;
        to_python(py, &checkpoint)
    }

    /// Errors of the economy now, by runs on other grids up to about `emax`. It started with `rows` of a histogram, as all with the mean where there are none, or else as an array.
    fn estimate<'py>(
        &self,
        py: Python<'py>,
        start: &str,
        rows: Vec<[f64; 3]>,
        emax: f64,
        verify: Option<bool>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let start = origin(start, &rows)?;
        let signals = Signals::default();
        let errors = self.0.with(py, |market| {
            let base = (economy::quantities(market)?, economy::ROUNDOFF);
            let most = accuracy::most(verify, 1.0);
            on_other_grids(market, start, emax, |markets| {
                Errors::of_repeats(markets, base, most, &signals)
            })
        });
        signals.check()?;
        accuracy::found(py, errors?, None)
    }

    /// A market to the time of this one on the grid whose results have an accuracy there, and what was found.
    fn search<'py>(
        &self,
        py: Python<'py>,
        start: &str,
        rows: Vec<[f64; 3]>,
        emax: f64,
        wanted: f64,
    ) -> PyResult<(Self, Bound<'py, PyDict>)> {
        let wanted = accuracy::checked(wanted)?;
        let start = origin(start, &rows)?;
        let signals = Signals::default();
        let made = self.0.with(py, |market| {
            on_other_grids(market, start, emax, |markets| {
                let search = search(markets, wanted, &signals)?;
                let errors = Errors::of_search(markets, &search, wanted);
                let market = Market::new(markets.on(&search.grid)?)?;
                Ok((market, errors, search))
            })
        });
        signals.check()?;
        let (market, errors, search) = made?;
        let found = accuracy::found(py, errors, Some(&search))?;
        Ok((Self(Run::new(market)), found))
    }

    fn emax(&self, py: Python<'_>) -> PyResult<f64> {
        self.0
            .with(py, |market| Ok(market.config().operator.grid.emax()))
    }
}

/// The start of a market, unless it is an array.
fn origin(start: &str, rows: &[[f64; 3]]) -> PyResult<Option<Start>> {
    Ok(match start {
        "equal" => Some(Start::Equal),
        "histogram" => Some(Start::Histogram(Histogram::new(rows).map_err(raise)?)),
        _ => None,
    })
}

/// Does work with a market on other grids, to the same time.
fn on_other_grids<R>(
    market: &Market,
    start: Option<Start>,
    emax: f64,
    work: impl FnOnce(&Markets<'_>) -> Result<R>,
) -> Result<R> {
    let mut config = market.config().clone();
    if let Some(start) = start {
        config.economies = vec![start];
    }
    let (time, dt) = (market.time(), market.time_step());
    let course =
        move |market: &mut Market, watch: &dyn Watch| economy::at_time(market, time, watch);
    work(&Markets {
        config: &config,
        emax,
        dt,
        time,
        course: &course,
    })
}

/// Gain, frequency and rate of a distribution.
#[pyfunction]
fn isotropic_rates<'py>(
    py: Python<'py>,
    f: &Bound<'py, PyAny>,
    emax: f64,
    law: &Bound<'py, PyAny>,
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyDict>, String)> {
    let f = doubles("f", f)?;
    let f = in_order("f", &f)?;
    let config = operator(f.len(), emax, law, given)?;
    let found = compute(py, || rarefy::isotropic::rates(&config, f))?;
    let dict = PyDict::new(py);
    dict.set_item("largest_frequency", found.largest_frequency)?;
    dict.set_item("warnings", &found.warnings)?;
    dict.set_item("gain", array(py, found.gain))?;
    dict.set_item("frequency", array(py, found.frequency))?;
    dict.set_item("rate", array(py, found.rate))?;
    Ok((dict, found.device))
}

/// Energies of the cells, and the number of particles that f = 1 has in each.
#[pyfunction]
fn energy_grid<'py>(
    py: Python<'py>,
    cells: usize,
    emax: f64,
    law: &Bound<'py, PyAny>,
) -> PyResult<[Bound<'py, PyArray1<f64>>; 2]> {
    let config = operator(cells, emax, law, &PyDict::new(py))?;
    Ok([
        array(py, config.grid.energies()),
        array(py, config.measure()),
    ])
}

/// The grid of an economy: cells, the end that is asked for or suits the law, and the end of the grid. All begin with the mean where there are no rows of a histogram.
#[pyfunction]
#[pyo3(signature = (law, rows, cells, emax))]
fn economy_grid(
    law: &Bound<'_, PyAny>,
    rows: Vec<[f64; 3]>,
    cells: Option<usize>,
    emax: Option<f64>,
) -> PyResult<(usize, f64, f64)> {
    let law: CollisionKernel = from_python(law)?;
    let start = match rows.is_empty() {
        true => Start::Equal,
        false => Start::Histogram(Histogram::new(&rows).map_err(raise)?),
    };
    let (cells, emax) = market::suitable_grid(law, &start, cells, emax).map_err(raise)?;
    let config = MarketConfig::on_grid(law, start, cells, emax).map_err(raise)?;
    Ok((cells, emax, config.operator.grid.emax()))
}

/// Distributions to start from.
#[pyfunction]
fn isotropic_initial<'py>(
    py: Python<'py>,
    name: &str,
    cells: usize,
    emax: f64,
    law: &Bound<'py, PyAny>,
    numbers: (f64, f64, f64),
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let config = operator(cells, emax, law, &PyDict::new(py))?;
    let grid = config.grid;
    let (first, second, third) = numbers;
    Ok(array(
        py,
        match name {
            "maxwellian" => initial::maxwellian(&grid, first),
            "bkw" => initial::bkw(&grid, first),
            "two-temperature" => initial::two_temperature(&grid, first, second, third),
            _ => initial::delta(&config, first).map_err(raise)?,
        },
    ))
}

/// The share of agents in each cell, from rows of lower end, upper end and share of the bins of a histogram.
#[pyfunction]
fn rebin<'py>(
    py: Python<'py>,
    rows: Vec<[f64; 3]>,
    cells: usize,
    emax: f64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
    let histogram = Histogram::new(&rows).map_err(raise)?;
    let grid = EnergyGrid::new(cells, emax).map_err(raise)?;
    let shares = histogram
        .in_units_of_the_mean()
        .rebin(&grid)
        .map_err(raise)?;
    Ok((array(py, shares), histogram.mean()))
}

/// The Gini coefficient of agents, and their Lorenz curve.
#[pyfunction]
fn inequality<'py>(
    py: Python<'py>,
    p: &Bound<'py, PyAny>,
    emax: f64,
) -> PyResult<(f64, Bound<'py, PyDict>)> {
    let p = doubles("p", p)?;
    let p = in_order("p", &p)?;
    let grid = EnergyGrid::new(p.len(), emax).map_err(raise)?;
    let curve = lorenz(&grid, p);
    let curve = columns(py, ["agents", "wealth"], curve.iter().map(|&(n, e)| [n, e]))?;
    Ok((gini(&grid, p), curve))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyIsotropic>()?;
    m.add_class::<PyMarket>()?;
    m.add_function(wrap_pyfunction!(isotropic_rates, m)?)?;
    m.add_function(wrap_pyfunction!(energy_grid, m)?)?;
    m.add_function(wrap_pyfunction!(economy_grid, m)?)?;
    m.add_function(wrap_pyfunction!(isotropic_initial, m)?)?;
    m.add_function(wrap_pyfunction!(rebin, m)?)?;
    m.add_function(wrap_pyfunction!(inequality, m)?)
}
