//! Problems: space, velocities, gas, boundaries and the state at the start.

use numpy::PyUntypedArrayMethods;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::bgk::{
    Axis, Boundaries, Cavity, Gas, Mach, Problem, Shock, Space, State, VelocitySpace,
};

use super::results::{centres, shape};
use crate::arrays::{array, doubles, in_order};
use crate::config::{from_python, with_given};
use crate::errors::raise;

/// A case to solve.
#[pyclass(name = "Problem", module = "rarefy._rarefy", frozen)]
pub(super) struct PyProblem {
    pub(super) problem: Problem,
    pub(super) mach: Option<Mach>,
    pub(super) cavity: Option<Cavity>,
    pub(super) warnings: Vec<String>,
    /// The step in time of a shock by default.
    step: Option<f64>,
}

/// Velocity nodes along an axis: `[kind, count, low, high]` or nodes with weights.
fn axis(given: &Bound<'_, PyAny>) -> PyResult<Axis> {
    if let Ok((kind, count, low, high)) = given.extract::<(String, usize, f64, f64)>() {
        return match kind.as_str() {
            "uniform" => Axis::uniform(count, low, high),
            // Both signs have as many.
            "half-range" => Axis::half_range(count / 2, 1),
            "hermite" => Axis::hermite(count),
            _ => Err(rarefy::Error::invalid(
                "rule of a velocity axis",
                format!("'{kind}'"),
                "uniform, half-range or hermite",
            )),
        }
        .map_err(raise);
    }
    from_python(given)
}

/// Nodes along each axis, and functions of a node.
pub(super) fn nodes(velocity: &VelocitySpace) -> (Vec<usize>, usize) {
    let counts: Vec<usize> = velocity.axes().iter().map(Axis::len).collect();
    let all: usize = velocity.shape().iter().product();
    let functions = all / counts.iter().product::<usize>().max(1);
    (counts, functions)
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
            step: None,
        })
    }

    #[staticmethod]
    #[pyo3(signature = (mach, given, grid = None))]
    fn shock(mach: f64, given: &Bound<'_, PyDict>, grid: Option<[usize; 4]>) -> PyResult<Self> {
        let mach = Mach::new(mach).map_err(raise)?;
        // The gas decides the tails of the wave, and the velocities.
        let gas = match given.get_item("gas")? {
            Some(gas) => with_given(&Gas::default(), gas.cast::<PyDict>()?)?,
            None => Gas::default(),
        };
        let mut shock: Shock = with_given(&Shock::of(mach, gas), given)?;
        if let Some(grid) = grid {
            shock = shock.on_grid(grid).map_err(raise)?;
        }
        Ok(Self {
            problem: shock.problem().map_err(raise)?,
            mach: Some(shock.mach_of_gas()),
            cavity: None,
            warnings: shock.warnings(),
            step: Some(shock.time_step()),
        })
    }

    /// `integral` says that molecules collide by the collision integral.
    #[staticmethod]
    #[pyo3(signature = (delta, cells, velocities, given, integral = false))]
    fn cavity(
        delta: f64,
        cells: usize,
        velocities: &Bound<'_, PyAny>,
        given: &Bound<'_, PyDict>,
        integral: bool,
    ) -> PyResult<Self> {
        let cavity = Cavity::with_axes(delta, cells, axes(velocities)?).map_err(raise)?;
        let cavity: Cavity = with_given(&cavity, given)?;
        let flux = if integral {
            cavity.midpoint_warning()
        } else {
            cavity.axes.first().and_then(Axis::wall_flux_warning)
        };
        Ok(Self {
            problem: cavity.problem().map_err(raise)?,
            mach: None,
            warnings: cavity.ray_warning().into_iter().chain(flux).collect(),
            cavity: Some(cavity),
            step: None,
        })
    }

    /// A step in time that suits the case; of other problems that in which nothing passes half a cell.
    #[getter]
    fn time_step(&self) -> f64 {
        if let Some(step) = self.step {
            return step;
        }
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

    /// Nodes along each axis of the velocities, and functions of a node.
    #[getter]
    fn velocities(&self) -> (Vec<usize>, usize) {
        nodes(&self.problem.velocity)
    }

    /// Phase-space cells, a function of a node counting as one.
    #[getter]
    fn unknowns(&self) -> usize {
        let functions: usize = self.problem.velocity.shape().iter().product();
        self.problem.space.cells() * functions
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
        Ok(array(py, centres(&self.problem.space, direction)?))
    }
}
