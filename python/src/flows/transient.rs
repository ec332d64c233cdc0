//! Flows in time, of a relaxation model or of the collision integral.

use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rarefy::Result;
use rarefy::bgk::boltzmann::{self, Flow, FlowConfig, ShockWave, Stepping};
use rarefy::bgk::steady::SteadyConfig;
use rarefy::bgk::{
    Axis, Boundaries, Boundary, Cavity, Checkpoint, Gas, Mach, March, Problem, Simulation,
    SimulationConfig, Space, State, VelocitySpace,
};
use rarefy::collision::{CorrectionMethod, Method};
use rarefy::run::{Run as _, error_left};

use super::problem::{PyProblem, nodes};
use super::results::{
    cavity_results, centres, fields, molecules, no_cavity, no_shock, profile, quantities, rotation,
    shape,
};
use crate::accuracy::Named;
use crate::arrays::{array, doubles, in_order, shaped};
use crate::config::{from_python, named, to_python, with_given};
use crate::driving::{Ends, drive};
use crate::errors::raise;
use crate::work::{Run, compute};

/// All unknowns, and the shape of their array.
fn state(march: &mut March) -> Result<(Vec<f64>, Vec<usize>)> {
    let space = march.space();
    match march {
        March::Model(run) => {
            let [jx, jy, m] = run.config().problem.velocity.shape();
            Ok((run.state()?, vec![jx, jy, m, space.ny(), space.nx()]))
        }
        March::Integral(run) => {
            let n = run.config().operator.grid.n();
            Ok((run.state()?, vec![space.ny(), space.nx(), n, n, n]))
        }
    }
}

#[pyclass(name = "Simulation", module = "rarefy._rarefy", frozen)]
pub(super) struct PySimulation {
    run: Run<March>,
    shape: Vec<usize>,
    mach: Option<Mach>,
    cavity: Option<Cavity>,
    warnings: Vec<String>,
}

/// Choices of a run in time besides its problem.
fn options(config: &mut SimulationConfig, given: &Bound<'_, PyDict>) -> PyResult<()> {
    // The problem may be large: it stays out of Python's way.
    let problem = std::mem::replace(&mut config.problem, small_problem()?);
    let mut chosen = with_given(config, given)?;
    chosen.problem = problem;
    *config = chosen;
    Ok(())
}

/// The smallest problem, as a place-holder.
fn small_problem() -> PyResult<Problem> {
    let space = Space::line(1, [0.0, 1.0]).map_err(raise)?;
    let axis = Axis::uniform(8, -4.0, 4.0).map_err(raise)?;
    let velocity = VelocitySpace::new(vec![axis], 1).map_err(raise)?;
    let boundaries = Boundaries::line(Boundary::Periodic, Boundary::Periodic);
    Problem::uniform(space, velocity, Gas::default(), boundaries, State::REST).map_err(raise)
}

/// The flow of a problem by the collision integral. Its step is half of the longest one for penalised steps, unless it is given.
pub(super) fn by_integral(
    problem: &Problem,
    box_: (usize, f64),
    dt: Option<f64>,
    operator: &Bound<'_, PyDict>,
) -> PyResult<FlowConfig> {
    let operator = molecules(box_, operator)?;
    let space = problem.space;
    let cell = |direction: usize, count: usize, at: f64| {
        let from_start = (at - space.centre(direction, 0)) / space.step(direction);
        (from_start.round() as usize).min(count - 1)
    };
    let start = |x: f64, y: f64| {
        let row = match space.dimensions() {
            1 => 0,
            _ => cell(1, space.ny(), y),
        };
        problem.initial[row * space.nx() + cell(0, space.nx(), x)]
    };
    let config = FlowConfig::new(
        space,
        operator.grid,
        problem.boundaries,
        dt.unwrap_or(1.0),
        start,
    );
    let mut config = config.map_err(raise)?;
    config.operator = operator;
    config.stepping = Stepping::Penalised;
    if dt.is_none() {
        config.dt = 0.5 * config.crossing_step().map_err(raise)?;
    }
    Ok(config)
}

/// A shock wave by the collision integral, on a grid of its own or another, with the method that suits it unless one is given.
pub(super) fn shock_wave(
    mach: f64,
    given: &Bound<'_, PyDict>,
    grid: Option<[usize; 4]>,
) -> PyResult<ShockWave> {
    let usual = ShockWave::new(mach).map_err(raise)?;
    let mut wave: ShockWave = with_given(&usual, given)?;
    if let Some(grid) = grid {
        wave = wave.on_grid(grid).map_err(raise)?;
    }
    let is_given = |key: &str| given.contains(key);
    let (method, correction) = (is_given("method")?, is_given("correction")?);
    if !(method || correction || is_given("order")?) {
        return wave.suited().map_err(raise);
    }
    // Options of the sums take the sums, and each method has its own correction.
    if !method {
        wave.method = Method::Fast;
    }
    if !correction {
        wave.correction = match wave.method {
            Method::Spectral => CorrectionMethod::Paper,
            _ => CorrectionMethod::Balanced,
        };
    }
    Ok(wave)
}

#[pymethods]
impl PySimulation {
    #[new]
    fn new(
        py: Python<'_>,
        problem: &PyProblem,
        dt: f64,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let mut config = SimulationConfig::new(problem.problem.clone(), dt);
        options(&mut config, given)?;
        Ok(Self {
            shape: shape(&config.problem.space),
            run: Run::new(compute(py, || Simulation::new(config))?.into()),
            mach: problem.mach,
            cavity: problem.cavity.clone(),
            warnings: problem.warnings.clone(),
        })
    }

    /// The same problem by the collision integral, on the cube of `velocities[0]` nodes along each axis up to `velocities[1]`.
    #[staticmethod]
    #[pyo3(signature = (problem, velocities, dt, scheme, stepping, operator))]
    fn boltzmann(
        py: Python<'_>,
        problem: &PyProblem,
        velocities: (usize, f64),
        dt: Option<f64>,
        scheme: Option<&str>,
        stepping: Option<&str>,
        operator: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let mut config = by_integral(&problem.problem, velocities, dt, operator)?;
        if let Some(scheme) = scheme {
            config.scheme = named(py, scheme)?;
        }
        if let Some(stepping) = stepping {
            config.stepping = named(py, stepping)?;
        }
        let shape = shape(&config.space);
        let flow = compute(py, || Flow::new(config))?;
        Ok(Self {
            run: Run::new(flow.into()),
            shape,
            mach: None,
            cavity: problem.cavity.clone(),
            warnings: problem.warnings.clone(),
        })
    }

    /// A shock wave by the collision integral.
    #[staticmethod]
    #[pyo3(signature = (mach, given, grid = None))]
    fn wave(
        py: Python<'_>,
        mach: f64,
        given: &Bound<'_, PyDict>,
        grid: Option<[usize; 4]>,
    ) -> PyResult<Self> {
        let wave = shock_wave(mach, given, grid)?;
        let (flow, warnings) = compute(py, || {
            let (config, start) = wave.line()?;
            Ok((Flow::new(config)?, wave.warnings(&start)))
        })?;
        Ok(Self {
            shape: shape(&flow.config().space),
            run: Run::new(flow.into()),
            mach: Some(wave.mach),
            cavity: None,
            warnings,
        })
    }

    /// Goes on from a checkpoint whose unknowns are an array beside it.
    #[staticmethod]
    fn resume(
        py: Python<'_>,
        checkpoint: &Bound<'_, PyAny>,
        unknowns: &Bound<'_, PyAny>,
        by_integral: bool,
    ) -> PyResult<Self> {
        let unknowns = doubles("unknowns", unknowns)?;
        let unknowns = in_order("unknowns", &unknowns)?.to_vec();
        let march: March = if by_integral {
            let mut checkpoint: boltzmann::Checkpoint = from_python(checkpoint)?;
            checkpoint.distributions = unknowns;
            compute(py, || Flow::resume(checkpoint))?.into()
        } else {
            let mut checkpoint: Checkpoint = from_python(checkpoint)?;
            checkpoint.populations = unknowns;
            compute(py, || Simulation::resume(checkpoint))?.into()
        };
        Ok(Self {
            shape: shape(&march.space()),
            run: Run::new(march),
            mach: None,
            cavity: None,
            warnings: Vec::new(),
        })
    }

    /// The residual at which a run ends by default.
    #[getter]
    fn goal(&self, py: Python<'_>) -> PyResult<f64> {
        let is_wave = self.mach.is_some();
        self.run.with(py, |solver| {
            Ok(match solver {
                March::Model(_) => SimulationConfig::RESIDUAL,
                March::Integral(_) if is_wave => ShockWave::RESIDUAL,
                March::Integral(flow) => {
                    let precision = flow.config().operator.compute.precision;
                    SteadyConfig::usual_tolerance(precision, true)
                }
            })
        })
    }

    fn advance(&self, py: Python<'_>, steps: u64) -> PyResult<u64> {
        self.run.with(py, |march| march.advance(steps))?;
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
        drive(&self.run, py, ends, seen, show)
    }

    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        self.run.with(py, |march| Ok(march.steps_taken()))
    }

    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, |march| Ok(march.time()))
    }

    #[getter]
    fn dt(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, |march| Ok(march.time_step()))
    }

    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.run.with(py, |march| Ok(march.device()))
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn residual(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, |march| march.residual())
    }

    /// Nodes along each axis of the velocities, and functions of a node.
    #[getter]
    fn velocities(&self, py: Python<'_>) -> PyResult<(Vec<usize>, usize)> {
        self.run.with(py, |march| {
            Ok(match march {
                March::Model(run) => nodes(&run.config().problem.velocity),
                March::Integral(run) => (vec![run.config().operator.grid.n(); 3], 1),
            })
        })
    }

    /// The quantities of a shock wave or a cavity whose errors are estimated, and the error that an end at this residual leaves.
    fn quantities(&self, py: Python<'_>, residual: f64) -> PyResult<(Vec<Named>, f64)> {
        let (space, (moments, fluxes), left) = self.run.with(py, |march| {
            let left = error_left(march, residual);
            Ok((march.space(), march.moments_and_fluxes()?, left))
        })?;
        let of = (self.mach, self.cavity.as_ref());
        Ok((quantities(of, Some(&space), &moments, &fluxes[3])?, left))
    }

    /// Centres of the cells along x (0) or y (1).
    fn centres<'py>(
        &self,
        py: Python<'py>,
        direction: usize,
    ) -> PyResult<Bound<'py, numpy::PyArray1<f64>>> {
        let space = self.run.with(py, |solver| Ok(solver.space()))?;
        Ok(array(py, centres(&space, direction)?))
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let moments = self.run.with(py, March::moments)?;
        fields(py, &self.shape, &moments)
    }

    /// Rotation of the cells; nothing where the molecules do not rotate.
    fn rotation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.run.with(py, March::rotation)?;
        rotation(py, &self.shape, &found)
    }

    /// Flux received through the faces in the last step.
    fn face_fluxes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (_, fluxes) = self.run.with(py, March::moments_and_fluxes)?;
        to_python(py, &fluxes)
    }

    /// Populations `[jx, jy, m, iy, ix]`, weights included; or distributions `[iy, ix, jx, jy, jz]` of the collision integral.
    fn populations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let (unknowns, shape) = self.run.with(py, state)?;
        shaped(py, unknowns, &shape)
    }

    fn shock<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mach = self.mach.ok_or_else(no_shock)?;
        let (space, moments) = self
            .run
            .with(py, |solver| Ok((solver.space(), solver.moments()?)))?;
        profile(py, mach, &space, &moments)
    }

    fn cavity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let cavity = self.cavity.as_ref().ok_or_else(no_cavity)?;
        let (moments, fluxes) = self.run.with(py, March::moments_and_fluxes)?;
        cavity_results(py, cavity, &moments, &fluxes[3])
    }

    /// The checkpoint without its unknowns, these, and whether they are of the collision integral.
    fn checkpoint<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, bool)> {
        enum Kept {
            Model(Box<Checkpoint>),
            Boltzmann(Box<boltzmann::Checkpoint>),
        }
        let mut kept = self.run.with(py, |solver| {
            Ok(match solver {
                March::Model(run) => Kept::Model(Box::new(run.checkpoint()?)),
                March::Integral(run) => Kept::Boltzmann(Box::new(run.checkpoint()?)),
            })
        })?;
        let unknowns = match &mut kept {
            Kept::Model(kept) => std::mem::take(&mut kept.populations),
            Kept::Boltzmann(kept) => std::mem::take(&mut kept.distributions),
        };
        let (state, by_integral) = match &kept {
            Kept::Model(kept) => (to_python(py, kept)?, false),
            Kept::Boltzmann(kept) => (to_python(py, kept)?, true),
        };
        Ok((state, array(py, unknowns).into_any(), by_integral))
    }
}
