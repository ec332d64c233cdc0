//! Flows: problems, solutions in time, steady ones, and shock waves with the collision integral.

use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::bgk::boltzmann::{Flow, ShockWave};
use rarefy::bgk::steady::plates::{Drive, Resolution, plates};
use rarefy::bgk::steady::{Exchange, Nodes, SteadyConfig, SteadyProblem, SteadySolver};
use rarefy::bgk::{
    Axis, Boundaries, Cavity, Checkpoint, FaceFlux, Gas, Mach, Moments, Problem, Shock,
    ShockProfile, Simulation, SimulationConfig, Space, Species, State, Units, VelocitySpace,
};

use crate::arrays::{array, columns, doubles, in_order, shaped};
use crate::config::{from_python, to_python, with_given};
use crate::errors::raise;
use crate::work::{Run, compute};

/// A case to solve.
#[pyclass(name = "Problem", module = "rarefy._rarefy", frozen)]
struct PyProblem {
    problem: Problem,
    mach: Option<Mach>,
    cavity: Option<Cavity>,
    warnings: Vec<String>,
}

/// Velocity nodes along an axis: `[kind, count, low, high]` or nodes with weights.
fn axis(given: &Bound<'_, PyAny>) -> PyResult<Axis> {
    if let Ok((kind, count, low, high)) = given.extract::<(String, usize, f64, f64)>() {
        return match kind.as_str() {
            "uniform" => Axis::uniform(count, low, high),
            // Both signs have as many.
            "half-range" => Axis::half_range(count / 2, 1),
            "hermite" => Axis::hermite(count),
            _ => Err(rarefy::Error::input(format!(
                "'{kind}' is no rule of a velocity axis; choose uniform, half-range or hermite"
            ))),
        }
        .map_err(raise);
    }
    from_python(given)
}

fn axes(given: &Bound<'_, PyAny>) -> PyResult<Vec<Axis>> {
    given.try_iter()?.map(|one| axis(&one?)).collect()
}

#[pymethods]
impl PyProblem {
    /// Cells, velocities, gas, boundaries, and the arrays density, u_x, u_y and temperature of the start, `[iy][ix]`.
    #[staticmethod]
    #[pyo3(signature = (cells, x, y, velocities, flow, gas, boundaries, start, conservative))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a problem, which Python names"
    )]
    fn new(
        cells: Vec<usize>,
        x: [f64; 2],
        y: [f64; 2],
        velocities: &Bound<'_, PyAny>,
        flow: usize,
        gas: &Bound<'_, PyDict>,
        boundaries: &Bound<'_, PyAny>,
        start: [Bound<'_, PyAny>; 4],
        conservative: bool,
    ) -> PyResult<Self> {
        let space = match *cells {
            [nx] => Space::line(nx, x),
            [nx, ny] => Space::rectangle([nx, ny], x, y),
            _ => {
                return Err(PyValueError::new_err("space has one or two dimensions"));
            }
        }
        .map_err(raise)?;
        let names = ["density", "u_x", "u_y", "temperature"];
        let mut fields = Vec::new();
        for (name, field) in names.iter().zip(&start) {
            let field = doubles(name, field)?;
            if field.len() != space.cells() {
                return Err(PyValueError::new_err(format!(
                    "{name} has {} values where space has {} cells",
                    field.len(),
                    space.cells()
                )));
            }
            fields.push(in_order(name, &field)?.to_vec());
        }
        let initial = (0..space.cells()).map(|i| State {
            density: fields[0][i],
            velocity: [fields[1][i], fields[2][i]],
            temperature: fields[3][i],
        });
        let boundaries: Boundaries = from_python(boundaries)?;
        let problem = Problem {
            space,
            velocity: VelocitySpace::new(axes(velocities)?, flow).map_err(raise)?,
            gas: with_given(&Gas::default(), gas)?,
            boundaries,
            conservative,
            initial: initial.collect(),
        };
        problem.validate().map_err(raise)?;
        Ok(Self {
            problem,
            mach: None,
            cavity: None,
            warnings: Vec::new(),
        })
    }

    #[staticmethod]
    fn shock(mach: f64, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let shock: Shock = with_given(&Shock::new(mach).map_err(raise)?, given)?;
        Ok(Self {
            problem: shock.problem().map_err(raise)?,
            mach: Some(shock.mach),
            cavity: None,
            warnings: shock.warnings(),
        })
    }

    #[staticmethod]
    fn cavity(
        delta: f64,
        cells: usize,
        velocities: &Bound<'_, PyAny>,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let cavity = Cavity::with_axes(delta, cells, axes(velocities)?).map_err(raise)?;
        let cavity: Cavity = with_given(&cavity, given)?;
        Ok(Self {
            problem: cavity.problem().map_err(raise)?,
            mach: None,
            warnings: cavity.ray_warning().into_iter().collect(),
            cavity: Some(cavity),
        })
    }

    /// A step in time that suits walls, of a cavity; else that in which nothing passes half a cell.
    #[getter]
    fn time_step(&self) -> f64 {
        if let Some(cavity) = &self.cavity {
            return cavity.time_step();
        }
        let Problem {
            space, velocity, ..
        } = &self.problem;
        let crossing = (0..space.dimensions())
            .map(|d| 0.5 * space.step(d) / velocity.axes()[d].fastest())
            .fold(f64::INFINITY, f64::min);
        crossing.min(0.05)
    }

    #[getter]
    fn shape(&self) -> Vec<usize> {
        shape(&self.problem.space)
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Centres of the cells along x (0) or y (1).
    fn centres<'py>(
        &self,
        py: Python<'py>,
        direction: usize,
    ) -> PyResult<Bound<'py, numpy::PyArray1<f64>>> {
        let space = &self.problem.space;
        let count = match direction {
            0 => space.nx(),
            1 => space.ny(),
            _ => return Err(PyValueError::new_err("the direction is 0 or 1")),
        };
        Ok(array(
            py,
            (0..count).map(|i| space.centre(direction, i)).collect(),
        ))
    }
}

fn shape(space: &Space) -> Vec<usize> {
    match space.dimensions() {
        1 => vec![space.nx()],
        _ => vec![space.ny(), space.nx()],
    }
}

/// Fields under their names, with the shape of space.
fn fields<'py>(
    py: Python<'py>,
    shape: &[usize],
    moments: &[Moments],
) -> PyResult<Bound<'py, PyDict>> {
    let names = [
        "density",
        "ux",
        "uy",
        "temperature",
        "pxx",
        "pyy",
        "pxy",
        "qx",
        "qy",
    ];
    let dict = columns(
        py,
        names,
        moments.iter().map(|m| {
            let ([ux, uy], [xx, yy, xy], [qx, qy]) = (m.velocity, m.pressure, m.heat_flux);
            [m.density, ux, uy, m.temperature, xx, yy, xy, qx, qy]
        }),
    )?;
    if shape.len() > 1 {
        for name in names {
            if let Some(flat) = dict.get_item(name)? {
                dict.set_item(name, flat.call_method1("reshape", (shape.to_vec(),))?)?;
            }
        }
    }
    Ok(dict)
}

/// The profile of a shock wave, and what is read off it.
fn profile<'py>(
    py: Python<'py>,
    mach: Mach,
    space: &Space,
    moments: &[Moments],
) -> PyResult<Bound<'py, PyDict>> {
    let profile = ShockProfile::new(mach, space, moments).map_err(raise)?;
    let dict = columns(
        py,
        [
            "x",
            "density",
            "velocity",
            "temperature",
            "pxx",
            "heat_flux",
        ],
        profile.points.iter().map(|p| {
            [
                p.x,
                p.density,
                p.velocity,
                p.temperature,
                p.pxx,
                p.heat_flux,
            ]
        }),
    )?;
    let extremes = profile.extremes();
    let (fluxes, spread) = profile.fluxes();
    dict.set_item("mach", mach.value())?;
    dict.set_item("midpoint", profile.midpoint)?;
    dict.set_item("thickness", profile.thickness())?;
    dict.set_item("least_heat_flux", extremes.least_heat_flux)?;
    dict.set_item("largest_temperature", extremes.largest_temperature)?;
    dict.set_item("fluxes", fluxes)?;
    dict.set_item("flux_spread", spread)?;
    dict.set_item("upstream", to_python(py, &mach.upstream())?)?;
    dict.set_item("downstream", to_python(py, &mach.downstream())?)?;
    Ok(dict)
}

fn no_shock() -> PyErr {
    PyValueError::new_err("the problem is no shock wave")
}

fn no_cavity() -> PyErr {
    PyValueError::new_err("the problem is no cavity")
}

/// Drag and flow rate of a cavity, and its centre lines.
fn cavity_results<'py>(
    py: Python<'py>,
    cavity: &Cavity,
    moments: &[Moments],
    lid: &FaceFlux,
) -> PyResult<Bound<'py, PyAny>> {
    let results = to_python(py, &cavity.results(moments, lid))?;
    let dict = results.cast_into::<PyDict>()?;
    for (name, (position, speed)) in [
        ("vertical", cavity.vertical(moments)),
        ("horizontal", cavity.horizontal(moments)),
    ] {
        dict.set_item(name, (array(py, position), array(py, speed)))?;
    }
    Ok(dict.into_any())
}

#[pyclass(name = "Simulation", module = "rarefy._rarefy", frozen)]
struct PySimulation {
    run: Run<Simulation>,
    shape: Vec<usize>,
    mach: Option<Mach>,
    cavity: Option<Cavity>,
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
    let periodic = rarefy::bgk::Boundary::Periodic;
    let boundaries = Boundaries::line(periodic, periodic);
    Problem::uniform(space, velocity, Gas::default(), boundaries, State::REST).map_err(raise)
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
            run: Run::new(compute(py, || Simulation::new(config))?),
            mach: problem.mach,
            cavity: problem.cavity.clone(),
        })
    }

    #[staticmethod]
    fn resume(py: Python<'_>, checkpoint: &Bound<'_, PyAny>) -> PyResult<Self> {
        let checkpoint: Checkpoint = from_python(checkpoint)?;
        let shape = shape(&checkpoint.config.problem.space);
        Ok(Self {
            run: Run::new(compute(py, || Simulation::resume(checkpoint))?),
            shape,
            mach: None,
            cavity: None,
        })
    }

    fn advance(&self, py: Python<'_>, steps: u64) -> PyResult<u64> {
        self.run.with(py, |run| run.advance(steps))?;
        Ok(steps)
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
    fn dt(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, |run| Ok(run.config().dt))
    }

    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.run.with(py, |run| Ok(run.device()))
    }

    fn residual(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, Simulation::residual)
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let moments = self.run.with(py, Simulation::moments)?;
        fields(py, &self.shape, &moments)
    }

    /// Flux received through the faces in the last step.
    fn face_fluxes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fluxes = self.run.with(py, Simulation::face_fluxes)?;
        to_python(py, &fluxes)
    }

    /// Populations `[jx, jy, m, iy, ix]`, weights included.
    fn populations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let (populations, shape) = self.run.with(py, |run| {
            let all = run.state()?;
            let problem = &run.config().problem;
            let [jx, jy, m] = problem.velocity.shape();
            Ok((all, [jx, jy, m, problem.space.ny(), problem.space.nx()]))
        })?;
        shaped(py, populations, &shape)
    }

    fn shock<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mach = self.mach.ok_or_else(no_shock)?;
        let (space, moments) = self
            .run
            .with(py, |run| Ok((run.config().problem.space, run.moments()?)))?;
        profile(py, mach, &space, &moments)
    }

    fn cavity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let cavity = self.cavity.as_ref().ok_or_else(no_cavity)?;
        let (moments, fluxes) = self
            .run
            .with(py, |run| Ok((run.moments()?, run.face_fluxes()?)))?;
        cavity_results(py, cavity, &moments, &fluxes[3])
    }

    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let checkpoint = self.run.with(py, Simulation::checkpoint)?;
        to_python(py, &checkpoint)
    }
}

#[pyclass(name = "Steady", module = "rarefy._rarefy", frozen)]
struct PySteady {
    run: Run<SteadySolver>,
    shape: Vec<usize>,
    centres: [Vec<f64>; 2],
    space: Option<Space>,
    mach: Option<Mach>,
    cavity: Option<Cavity>,
    warnings: Vec<String>,
}

impl PySteady {
    fn of(
        py: Python<'_>,
        case: SteadyProblem,
        config: &SteadyConfig,
        problem: Option<&PyProblem>,
    ) -> PyResult<Self> {
        let centres = [case.centres(0), case.centres(1)];
        let (nx, ny) = (centres[0].len(), centres[1].len());
        let mut warnings = problem.map(|p| p.warnings.clone()).unwrap_or_default();
        let solver = compute(py, || SteadySolver::new(case, config))?;
        warnings.extend(solver.problem().warnings(config.closure));
        Ok(Self {
            shape: if solver.problem().dimensions == 1 {
                vec![nx]
            } else {
                vec![ny, nx]
            },
            run: Run::new(solver),
            centres,
            space: problem.map(|p| p.problem.space),
            mach: problem.and_then(|p| p.mach),
            cavity: problem.and_then(|p| p.cavity.clone()),
            warnings,
        })
    }
}

#[pymethods]
impl PySteady {
    /// The steady flow of a problem; `polar` replaces its velocities by directions of a quadrant and speeds.
    #[staticmethod]
    fn of_problem(
        py: Python<'_>,
        problem: &PyProblem,
        polar: Option<(usize, usize)>,
        linear: bool,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let config: SteadyConfig = with_given(&SteadyConfig::default(), given)?;
        let mut case = SteadyProblem::from(&problem.problem);
        case.linear = linear;
        if let Some((angles, speeds)) = polar {
            case.nodes = Nodes::polar(angles, speeds).map_err(raise)?;
        }
        Self::of(py, case, &config, Some(problem))
    }

    /// Gas between plates.
    #[staticmethod]
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a problem, which Python names"
    )]
    fn plates(
        py: Python<'_>,
        delta: f64,
        drive: &str,
        strength: f64,
        gas: &Bound<'_, PyDict>,
        accommodation: f64,
        resolution: &Bound<'_, PyDict>,
        linear: bool,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let drive = match drive {
            "couette" => Drive::Couette(strength),
            _ => Drive::Fourier(strength),
        };
        let gas: Gas = with_given(&Gas::default(), gas)?;
        let resolution: Resolution = with_given(&Resolution::default(), resolution)?;
        let config: SteadyConfig = with_given(&SteadyConfig::default(), given)?;
        let case = plates(delta, drive, gas, accommodation, resolution, linear).map_err(raise)?;
        Self::of(py, case, &config, None)
    }

    /// Iterations, as long as the solver has not ended.
    fn advance(&self, py: Python<'_>, steps: u64) -> PyResult<u64> {
        self.run.with(py, |solver| {
            let mut taken = 0;
            while taken < steps && solver.status().is_none() {
                solver.iterate()?;
                taken += 1;
            }
            Ok(taken)
        })
    }

    /// How the iteration ended, if it has; its changes; and the tolerance.
    fn course<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, numpy::PyArray1<f64>>, f64)> {
        let (status, residuals, tolerance) = self.run.with(py, |solver| {
            Ok((
                solver.status(),
                solver.residuals().to_vec(),
                solver.config().tolerance(),
            ))
        })?;
        Ok((to_python(py, &status)?, array(py, residuals), tolerance))
    }

    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.run.with(py, |solver| Ok(solver.device()))
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn centres<'py>(
        &self,
        py: Python<'py>,
        direction: usize,
    ) -> PyResult<Bound<'py, numpy::PyArray1<f64>>> {
        let centres = self.centres.get(direction);
        let centres = centres.ok_or_else(|| PyValueError::new_err("the direction is 0 or 1"))?;
        Ok(array(py, centres.clone()))
    }

    /// Fields, what passes each face of space, and how well it is known; with the results of the case.
    fn solution<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.run.with(py, SteadySolver::solution)?;
        let dict = PyDict::new(py);
        dict.set_item("fields", fields(py, &self.shape, &found.cells)?)?;
        let faces = PyDict::new(py);
        for (name, side) in ["left", "right", "bottom", "top"]
            .iter()
            .zip(&found.exchange)
        {
            if !side.is_empty() {
                faces.set_item(name, exchange(py, side)?)?;
            }
        }
        dict.set_item("faces", faces)?;
        dict.set_item("flux_spread", found.flux_spread)?;
        dict.set_item("error_estimate", found.error_estimate)?;
        dict.set_item("downstream_excess", found.downstream_excess)?;
        if let (Some(mach), Some(space)) = (self.mach, self.space) {
            dict.set_item("shock", profile(py, mach, &space, &found.cells)?)?;
        }
        if let Some(cavity) = &self.cavity {
            let [.., lid] = found.received();
            dict.set_item("cavity", cavity_results(py, cavity, &found.cells, &lid)?)?;
        }
        Ok(dict)
    }
}

fn exchange<'py>(py: Python<'py>, side: &[Exchange]) -> PyResult<Bound<'py, PyDict>> {
    let names = [
        "mass",
        "pressure",
        "shear",
        "heat",
        "work",
        "density",
        "velocity",
        "temperature",
    ];
    let row = |e: &Exchange| {
        [
            e.mass,
            e.pressure,
            e.shear,
            e.heat,
            e.work,
            e.density,
            e.velocity,
            e.temperature,
        ]
    };
    columns(py, names, side.iter().map(row))
}

/// A shock wave with the collision integral.
#[pyclass(name = "Line", module = "rarefy._rarefy", frozen)]
struct PyLine {
    run: Run<Flow>,
    mach: Mach,
    start: f64,
    warnings: Vec<String>,
}

#[pymethods]
impl PyLine {
    #[new]
    fn new(py: Python<'_>, mach: f64, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let wave: ShockWave = with_given(&ShockWave::new(mach).map_err(raise)?, given)?;
        let (line, start, warnings) = compute(py, || {
            let (config, start) = wave.line()?;
            let warnings = wave.warnings(&start);
            Ok((Flow::new(config)?, start, warnings))
        })?;
        Ok(Self {
            run: Run::new(line),
            mach: wave.mach,
            start: start.mott_smith_thickness,
            warnings,
        })
    }

    fn advance(&self, py: Python<'_>, steps: u64) -> PyResult<u64> {
        self.run.with(py, |run| run.advance(steps))?;
        Ok(steps)
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
    fn dt(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, |run| Ok(run.config().dt))
    }

    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        self.run.with(py, |run| Ok(run.device()))
    }

    /// The thickness from which the run started, by the method of Mott-Smith.
    #[getter]
    fn mott_smith_thickness(&self) -> f64 {
        self.start
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn residual(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, Flow::residual)
    }

    fn shock<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (space, look) = self
            .run
            .with(py, |run| Ok((run.config().space, run.look()?)))?;
        profile(py, self.mach, &space, &look.moments)
    }
}

/// The units of flows in SI units, for a gas at a pressure in Pa and a temperature in K.
#[pyfunction]
fn units<'py>(
    py: Python<'py>,
    species: &str,
    pressure: f64,
    temperature: f64,
) -> PyResult<(Bound<'py, PyAny>, f64)> {
    let species: Species = crate::config::named(py, species)?;
    let units = Units::new(species, pressure, temperature).map_err(raise)?;
    Ok((to_python(py, &units)?, species.omega()))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyProblem>()?;
    m.add_class::<PySimulation>()?;
    m.add_class::<PySteady>()?;
    m.add_class::<PyLine>()?;
    m.add_function(wrap_pyfunction!(units, m)?)
}
