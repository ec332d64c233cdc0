//! The definition of a steady problem.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::nodes::Nodes;
use crate::bgk::{Boundaries, Boundary, Gas, Problem, State};
use crate::collision::{Mirrors, OperatorConfig};
use crate::error::{Error, Result};

/// How what leaves a cell follows from what is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Closure {
    /// The outflow is the mean of the cell: first order, positive.
    Upwind,
    /// The mean of the cell is that of what enters and what leaves: second order. It may ring where a cell is many mean free paths of a slow
    /// molecule thick and the equilibrium is rough.
    #[default]
    Diamond,
}

/// A steady problem: cells of any widths, velocities of any quadrature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyProblem {
    /// 1 or 2.
    pub dimensions: usize,
    /// Widths of the columns, and of the rows (one row on a line).
    pub widths: [Vec<f64>; 2],
    /// The lowest x and y.
    pub origin: [f64; 2],
    /// Discrete velocities.
    pub nodes: Nodes,
    /// The gas.
    pub gas: Gas,
    /// Conditions at the faces of space.
    pub boundaries: Boundaries,
    /// Incoming distribution of the left, right, bottom and top face where it is no Maxwellian, at each of the nodes, in units of n0/v0^3; empty where the boundary
    /// says it.
    #[serde(default, skip_serializing_if = "no_distributions")]
    pub incoming: [Vec<f64>; 4],
    /// Start of the iteration, `[iy][ix]`; its mass counts where the boundaries leave the mass open.
    pub initial: Vec<State>,
    /// Whether the equation is linearised about rest at density and temperature 1.
    pub linear: bool,
    /// The collision integral of molecules that do not relax, on the nodes of its grid; the gas then has their viscosity, as
    /// [`FlowConfig::steady`](crate::bgk::boltzmann::FlowConfig::steady) sees to. The solver's configuration says where it is computed, and in which arithmetic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integral: Option<OperatorConfig>,
    /// Acceleration along y by a force on the gas of a line between diffusely reflecting walls, in units of v0^2/l0: exact at any strength with a model, and on the local Maxwellian, exact to first order,
    /// around the collision integral. A pressure gradient does the same as the force `-(dp/dy)/rho`.
    pub force: f64,
}

/// Whether all streams are Maxwellians.
fn no_distributions(incoming: &[Vec<f64>; 4]) -> bool {
    incoming.iter().all(Vec::is_empty)
}

impl From<&Problem> for SteadyProblem {
    /// The steady flow of a problem.
    fn from(problem: &Problem) -> Self {
        let space = &problem.space;
        let cells = [space.nx(), space.ny()];
        Self {
            dimensions: space.dimensions(),
            widths: [0, 1].map(|d| vec![space.step(d); cells[d]]),
            origin: [0, 1].map(|d| space.bounds(d)[0]),
            nodes: Nodes::of(&problem.velocity),
            gas: problem.gas,
            boundaries: problem.boundaries,
            incoming: Default::default(),
            initial: problem.initial.clone(),
            linear: false,
            integral: None,
            force: 0.0,
        }
    }
}

impl From<&SteadyProblem> for SteadyProblem {
    fn from(problem: &SteadyProblem) -> Self {
        problem.clone()
    }
}

/// Difference of values at mirror images, relative to the largest, up to which they count as equal.
pub(in crate::bgk) const ASYMMETRY: f64 = 1e-9;

/// Most cells, so that the kernels' indices fit 32 bits.
const MOST_CELLS: usize = 1 << 26;

impl SteadyProblem {
    /// Centres of the columns (0) or rows (1).
    ///
    /// # Panics
    /// If the direction is neither.
    pub fn centres(&self, direction: usize) -> Vec<f64> {
        let mut low = self.origin[direction];
        let widths = self.widths[direction].iter();
        widths
            .map(|width| {
                let centre = low + 0.5 * width;
                low += width;
                centre
            })
            .collect()
    }

    /// The least accommodation of a wall; 1 without walls.
    #[cfg(feature = "cli")]
    pub(crate) fn least_accommodation(&self) -> f64 {
        let faces = (0..self.dimensions).flat_map(|direction| self.boundaries.along(direction));
        faces.fold(1.0, |least, face| match face {
            Boundary::Wall(wall) => wall.accommodation.min(least),
            _ => least,
        })
    }

    /// The symmetries of f: it is even in v_z, and where nothing moves along y on a line also in v_y, and the same after their exchange.
    pub(super) fn mirrors(&self) -> Mirrors {
        let rests = |face: &Boundary| match face {
            Boundary::Wall(wall) => wall.velocity[1] == 0.0,
            Boundary::Inflow(state) => state.velocity[1] == 0.0,
            Boundary::Specular | Boundary::Periodic => true,
        };
        // Moments of a symmetric distribution have roundoff.
        let rests_at_start =
            |s: &State| s.velocity[1].abs() <= ASYMMETRY * s.temperature.abs().sqrt();
        let starts = self.initial.iter().all(rests_at_start);
        if self.dimensions == 1
            && self.force == 0.0
            && starts
            && self.boundaries.along(0).iter().all(rests)
            && self.incoming.iter().all(|f| self.is_symmetric(f))
        {
            Mirrors::ALL
        } else {
            Mirrors {
                z: true,
                ..Mirrors::NONE
            }
        }
    }

    /// Whether values at the nodes are even in v_y, and the same after an exchange of v_y and v_z.
    fn is_symmetric(&self, values: &[f64]) -> bool {
        let largest = values.iter().fold(0.0_f64, |most, f| most.max(f.abs()));
        let mut first = HashMap::new();
        values.iter().zip(&self.nodes.velocities).all(|(f, v)| {
            let [y, z] = [v[1].abs(), v[2].abs()];
            let key = [v[0], y.min(z), y.max(z)].map(f64::to_bits);
            (f - *first.entry(key).or_insert(*f)).abs() <= ASYMMETRY * largest
        })
    }

    fn validate_incoming(&self) -> Result<()> {
        for (side, given) in self.incoming.iter().enumerate() {
            if given.is_empty() {
                continue;
            }
            let known = side / 2 < self.dimensions
                && matches!(
                    self.boundaries.along(side / 2)[side % 2],
                    Boundary::Inflow(_)
                );
            if !known || self.linear || self.nodes.dimensions != 3 {
                return Err(Error::invalid(
                    "incoming",
                    ["left", "right", "bottom", "top"][side],
                    "a distribution only where the boundary is an inflow of a nonlinear flow on nodes of three components",
                ));
            }
            let nodes = self.nodes.len();
            if given.len() != nodes || !given.iter().all(|f| f.is_finite()) {
                return Err(Error::invalid(
                    "incoming",
                    format!("{} values", given.len()),
                    format!("{nodes} finite values, one at each node"),
                ));
            }
        }
        Ok(())
    }

    /// Checks the parts and that they belong together.
    ///
    /// # Errors
    /// Widths or states that are none, velocities that do not fit them, boundaries out of range.
    pub fn validate(&self) -> Result<()> {
        let fine = |w: &f64| w.is_finite() && *w > 0.0;
        if !(1..=2).contains(&self.dimensions)
            || self
                .widths
                .iter()
                .any(|w| w.is_empty() || !w.iter().all(fine))
            || (self.dimensions == 1 && self.widths[1].len() != 1)
        {
            return Err(Error::invalid(
                "widths",
                format!(
                    "{:?} cells in {} dimensions",
                    self.widths.each_ref().map(Vec::len),
                    self.dimensions
                ),
                "one or two dimensions, and a positive width of every cell",
            ));
        }
        let cells = self.widths[0].len() * self.widths[1].len();
        if cells > MOST_CELLS || self.initial.len() != cells {
            return Err(Error::invalid(
                "initial",
                format!("{} cells", self.initial.len()),
                format!("an initial state of {cells} cells (at most {MOST_CELLS})"),
            ));
        }
        self.gas.validate()?;
        if self.gas.frequency == 0.0 {
            return Err(Error::invalid(
                "frequency",
                0,
                "a small positive frequency: this iteration finds no flow without collisions",
            ));
        }
        self.boundaries.validate(self.dimensions)?;
        self.validate_incoming()?;
        if self.nodes.dimensions < self.dimensions {
            return Err(Error::invalid(
                "nodes",
                "velocities of one component",
                "two components in two dimensions",
            ));
        }
        for state in &self.initial {
            state.validate()?;
        }
        let pushed = self.dimensions == 1 && self.nodes.dimensions > 1 && !self.linear;
        if !self.force.is_finite() || (self.force != 0.0 && !pushed) {
            return Err(Error::invalid(
                "force",
                self.force,
                "a finite number, and 0 but for nonlinear flows on a line with velocities along y",
            ));
        }
        if self.integral.is_some() {
            (self.gas).refuse_rotation("a flow by the collision integral")?;
        }
        if self.linear && self.integral.is_some() {
            return Err(Error::invalid(
                "linear",
                "true",
                "false: the collision integral is not linearised",
            ));
        }
        if self.linear {
            return self.nodes.check("the gas at rest", [0.0; 2], 1.0);
        }
        let mut known: Vec<(&str, State)> = vec![("the gas at the start", self.initial[0])];
        for direction in 0..self.dimensions {
            for face in self.boundaries.along(direction) {
                match face {
                    Boundary::Inflow(state) => known.push(("an inflow", state)),
                    Boundary::Wall(wall) => known.push(("a wall", wall.state())),
                    Boundary::Specular | Boundary::Periodic => {}
                }
            }
        }
        for (what, state) in known {
            self.nodes
                .matched(what, 1.0, state.velocity, state.temperature)?;
        }
        Ok(())
    }
}
