//! Steady flows, of a relaxation model or between plates by the collision integral.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rarefy::bgk::boltzmann::{GapCollisions, PlatesConfig};
use rarefy::bgk::steady::plates::{Drive, Resolution, plates};
use rarefy::bgk::steady::{Exchange, Nodes, SteadyConfig, SteadyProblem, SteadySolver, channel};
use rarefy::bgk::{Cavity, Gas, Mach, Space};

use super::problem::PyProblem;
use super::results::{cavity_results, fields, molecules, profile, quantities, rotation};
use super::transient::{by_integral, shock_wave};
use crate::accuracy::Named;
use crate::arrays::{array, columns};
use crate::config::{to_python, with_given};
use crate::driving::{self, Ends};
use crate::errors::raise;
use crate::work::{Run, compute};

/// The drive of a flow between plates.
fn drive(kind: &str, strength: f64) -> Drive {
    match kind {
        "fourier" => Drive::Fourier(strength),
        _ => Drive::Couette(strength),
    }
}

/// The configuration of a flow by the collision integral.
fn config_of_integral(given: &Bound<'_, PyDict>) -> PyResult<SteadyConfig> {
    let mut config: SteadyConfig = with_given(&SteadyConfig::default(), given)?;
    let usual = SteadyConfig::usual_tolerance(config.compute.precision, true);
    config.rtol.get_or_insert(usual);
    Ok(config)
}

/// A warning of nodes so far apart that the least velocity takes molecules along a thin channel across it before they collide.
fn thin_channel(delta: f64, spacing: f64) -> Option<String> {
    let least = 0.5 * spacing;
    (least > 0.2 * delta).then(|| {
        format!(
            "the least velocity across the channel is {least:.3}: G is low by 5% or more; use more velocities, a thicker gas, or a model"
        )
    })
}

/// Fall of the pressure along a channel that is not given.
#[pyfunction]
pub(super) fn gradient(delta: f64) -> f64 {
    channel::gradient(delta)
}

/// Directions of a quadrant and speeds of a steady cavity that are not given.
#[pyfunction]
pub(super) fn directions(delta: f64) -> (usize, usize) {
    let [angles, speeds] = Cavity::directions(delta);
    (angles, speeds)
}

/// The default velocities normal to plates and along them: for the temperatures that the gas reaches, and for molecules that fly along a thin channel.
#[pyfunction]
pub(super) fn velocities_of_plates(
    delta: f64,
    kind: &str,
    strength: f64,
    force: f64,
    gas: &Bound<'_, PyDict>,
    linear: bool,
) -> PyResult<(usize, usize)> {
    let gas: Gas = with_given(&Gas::default(), gas)?;
    let resolution = match kind {
        "poiseuille" => channel::resolution(delta, force, gas).map_err(raise)?,
        _ => Resolution::of(drive(kind, strength), linear),
    };
    Ok((resolution.normal, resolution.tangential))
}

#[pyclass(name = "Steady", module = "rarefy._rarefy", frozen)]
pub(super) struct PySteady {
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

    /// The steady flow of a problem by the collision integral, on the cube of `velocities[0]` nodes along each axis up to `velocities[1]`.
    #[staticmethod]
    fn by_integral(
        py: Python<'_>,
        problem: &PyProblem,
        velocities: (usize, f64),
        operator: &Bound<'_, PyDict>,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        // No step in time is taken.
        let flow = by_integral(&problem.problem, velocities, Some(1.0), operator)?;
        let config = config_of_integral(given)?;
        Self::of(py, flow.steady().map_err(raise)?, &config, Some(problem))
    }

    /// The steady shock wave by the collision integral.
    #[staticmethod]
    #[pyo3(signature = (mach, wave, given, grid = None))]
    fn wave(
        py: Python<'_>,
        mach: f64,
        wave: &Bound<'_, PyDict>,
        given: &Bound<'_, PyDict>,
        grid: Option<[usize; 4]>,
    ) -> PyResult<Self> {
        let wave = shock_wave(mach, wave, grid)?;
        let config = config_of_integral(given)?;
        let (flow, start) = compute(py, || wave.line())?;
        let mut steady = Self::of(py, flow.steady().map_err(raise)?, &config, None)?;
        (steady.mach, steady.space) = (Some(wave.mach), Some(flow.space));
        let mut warnings = wave.warnings(&start);
        warnings.append(&mut steady.warnings);
        steady.warnings = warnings;
        Ok(steady)
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
        let drive = self::drive(drive, strength);
        let gas: Gas = with_given(&Gas::default(), gas)?;
        let resolution: Resolution = with_given(&Resolution::of(drive, linear), resolution)?;
        let config: SteadyConfig = with_given(&SteadyConfig::default(), given)?;
        let case = plates(delta, drive, gas, accommodation, resolution, linear).map_err(raise)?;
        Self::of(py, case, &config, None)
    }

    /// Gas between plates, by sweeps around its collisions: `gas` on `velocities` normal to the plates and along them, or the collision integral `operator` on the cube of so many
    /// nodes along each axis up to a velocity. A force along the plates may drive it.
    #[staticmethod]
    #[pyo3(signature = (delta, drive, strength, force, gas, operator, velocities, given))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a problem, which Python names"
    )]
    fn gap(
        py: Python<'_>,
        delta: f64,
        drive: &str,
        strength: f64,
        force: f64,
        gas: Option<&Bound<'_, PyDict>>,
        operator: Option<&Bound<'_, PyDict>>,
        velocities: &Bound<'_, PyAny>,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let drive = self::drive(drive, strength);
        let cells = match gas {
            Some(_) => Resolution::default().cells,
            None => PlatesConfig::CELLS,
        };
        let collisions = match (gas, operator) {
            (Some(gas), None) => {
                let gas = with_given(&Gas::default(), gas)?;
                let (normal, tangential) =
                    velocities.extract::<(Option<usize>, Option<usize>)>()?;
                let usual = match normal {
                    None => channel::resolution(delta, force, gas).map_err(raise)?,
                    Some(_) => Resolution::default(),
                };
                let resolution = Resolution {
                    normal: normal.unwrap_or(usual.normal),
                    tangential: tangential.unwrap_or(usual.tangential),
                    ..usual
                };
                let velocity = channel::velocities(delta, force, gas, resolution);
                GapCollisions::Model(gas, velocity.map_err(raise)?)
            }
            (None, Some(operator)) => {
                let (nodes, reach) = velocities.extract::<(Option<usize>, Option<f64>)>()?;
                let reach = reach.unwrap_or_else(|| PlatesConfig::reach(drive));
                let nodes = nodes.unwrap_or_else(|| PlatesConfig::nodes(drive, reach));
                GapCollisions::Integral(molecules((nodes, reach), operator)?)
            }
            _ => {
                return Err(PyValueError::new_err(
                    "either a gas or a collision integral is needed",
                ));
            }
        };
        let config = PlatesConfig {
            force,
            cells,
            ..PlatesConfig::new(delta, drive, collisions)
        };
        let config: PlatesConfig = with_given(&config, given)?;
        let warnings = match &config.collisions {
            GapCollisions::Integral(operator) if force != 0.0 => {
                thin_channel(delta, operator.grid.spacing())
            }
            _ => None,
        };
        let solver = compute(py, || config.solver())?;
        let centres = solver.problem().centres(0);
        Ok(Self {
            shape: vec![centres.len()],
            centres: [centres, Vec::new()],
            run: Run::new(solver),
            space: None,
            mach: None,
            cavity: None,
            warnings: warnings.into_iter().collect(),
        })
    }

    /// Takes the run to an end, with calls of `show` on the way.
    fn drive<'py>(
        &self,
        py: Python<'py>,
        ends: Ends,
        seen: Py<PyList>,
        show: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        driving::drive(&self.run, py, ends, seen, show)
    }

    /// How the iteration ended, if it has; its changes; and the tolerance.
    fn course<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, numpy::PyArray1<f64>>, f64)> {
        let (status, residuals, tolerance) = self.run.with(py, |solver| {
            let residuals = solver.residuals().to_vec();
            Ok((solver.status(), residuals, solver.config().tolerance()))
        })?;
        Ok((to_python(py, &status)?, array(py, residuals), tolerance))
    }

    /// The quantities of a shock wave or a cavity whose errors are estimated, and the error that the iteration leaves.
    fn quantities(&self, py: Python<'_>) -> PyResult<(Vec<Named>, f64)> {
        let found = self.run.with(py, SteadySolver::solution)?;
        let [.., lid] = found.received();
        let of = (self.mach, self.cavity.as_ref());
        let quantities = quantities(of, self.space.as_ref(), &found.cells, &lid)?;
        Ok((quantities, found.error_estimate))
    }

    /// Velocities along each axis of the collision integral; 0 of a model.
    #[getter]
    fn cubic(&self, py: Python<'_>) -> PyResult<usize> {
        self.run.with(py, |solver| {
            let integral = solver.problem().integral.as_ref();
            Ok(integral.map_or(0, |operator| operator.grid.n()))
        })
    }

    /// Half-width of their box; 0 of a model.
    #[getter]
    fn reach(&self, py: Python<'_>) -> PyResult<f64> {
        self.run.with(py, |solver| {
            let integral = solver.problem().integral.as_ref();
            Ok(integral.map_or(0.0, |operator| operator.grid.max()))
        })
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
        let (found, rate) = self
            .run
            .with(py, |solver| Ok((solver.solution()?, solver.flow_rate())))?;
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
        dict.set_item("flow_rate", rate)?;
        dict.set_item("rotation", rotation(py, &self.shape, &found.rotation)?)?;
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
