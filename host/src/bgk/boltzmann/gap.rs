//! The steady gas between two plates, of a model or around the collision integral, by the [steady](crate::bgk::steady) solver.

use serde::{Deserialize, Serialize};

use super::config::{transport, velocity_space};
use crate::bgk::steady::plates::{Drive, between, walls};
use crate::bgk::steady::{COARSEST, Nodes, SteadyConfig, SteadySolver, collision_error};
use crate::bgk::{Axis, Gas, VelocitySpace, Wall};
use crate::collision::{OperatorConfig, VelocityGrid};
use crate::compute::{Backend, Precision};
use crate::error::{Error, Result};

/// Earlier iterations that are mixed.
const DEPTH: usize = 6;

/// Largest fall of the pressure along a width of the channel, over p0, up to which a force on the local Maxwellian is right to 0.1%.
///
/// Measured with the BGK model, whose sweeps are exact at any force: in thin gas the error grows as the square of the force over the width, elsewhere hardly with the width.
fn most_fall(delta: f64) -> f64 {
    (0.25 * delta.sqrt()).min(0.1)
}
/// Distance of the nodes of the integral in thermal speeds of the colder plate's gas beyond which fluxes mean nothing: they are off by a third and more.
const SENSELESS: f64 = 1.1;

/// Least distance of plates with a force: the flow rate is over its square.
const THINNEST_CHANNEL: f64 = 1e-9;

/// Collisions of the molecules between plates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GapCollisions {
    /// They relax, on velocities of one's own: on the CPU in f64.
    Model(Gas, VelocitySpace),
    /// They collide, on the velocities of the operator's grid.
    Integral(OperatorConfig),
}

/// Gas between two diffusely reflecting plates at a distance delta, driven by them or by a force along them.
///
/// ```text
/// v_x df/dx + a df/dv_y = I(f, f),     around the integral a df/dv_y = -2 a (v_y - u_y)/T M
/// ```
///
/// With a model the force is exact. Around the integral it acts on the local Maxwellian, as above, which is exact to first order in a; a stronger one than is right to 0.1% is refused.
/// A pressure gradient along the plates does the same as `a = -(dp/dy)/rho`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlatesConfig {
    /// Distance of the plates in l0: the rarefaction parameter.
    pub delta: f64,
    /// How the plates slide, or how warm they are; a drive of 0 for plates at rest.
    pub drive: Drive,
    /// Acceleration along y by a force, in units of v0^2/l0.
    pub force: f64,
    /// Collisions of the molecules.
    pub collisions: GapCollisions,
    /// Cells; they crowd towards the plates.
    pub cells: usize,
    /// Change of an iteration, and spread of the fluxes, at which the flow counts as steady.
    pub tolerance: f64,
    /// Most iterations, each with one integral in every cell.
    pub iterations: usize,
}

/// Half-width of a velocity box that is not given, in thermal speeds of the hottest gas beyond the plates' velocities, and the distance of its nodes in v0.
const REACH: f64 = 4.0;
const SPACING: f64 = 0.4;
/// The same in thermal speeds of the coldest gas, at most.
const RESOLVED: f64 = 0.5;

impl PlatesConfig {
    /// Cells that are not given.
    pub const CELLS: usize = 60;

    /// Half-width of the velocity box of the collision integral that is not given.
    pub fn reach(drive: Drive) -> f64 {
        // Dissipation adds about u^2/10 between plates that slide.
        let (hottest, fastest) = match drive {
            Drive::Couette(u) => (1.0 + 0.1 * u.powi(2), 0.5 * u.abs()),
            Drive::Fourier(dt) => (1.0 + 0.5 * dt.abs(), 0.0),
        };
        REACH * hottest.sqrt() + fastest
    }

    /// Nodes along each axis of a box of this half-width that are not given.
    pub fn nodes(drive: Drive, reach: f64) -> usize {
        let coldest = match drive {
            Drive::Couette(_) => 1.0,
            Drive::Fourier(dt) => 1.0 - 0.5 * dt.abs(),
        };
        let pairs = |spacing: f64| 2 * (reach / spacing - 1e-9).ceil() as usize;
        let cold = pairs(RESOLVED * coldest.sqrt()).min(VelocityGrid::MAX_N);
        pairs(SPACING).max(cold)
    }

    /// 60 cells, to a change of 1e-6. With velocities of [`reach`](Self::reach) and [`nodes`](Self::nodes) these are the defaults of the command and of Python too.
    pub fn new(delta: f64, drive: Drive, collisions: GapCollisions) -> Self {
        Self {
            delta,
            drive,
            force: 0.0,
            collisions,
            cells: Self::CELLS,
            tolerance: SteadyConfig::usual_tolerance(Precision::F64, true),
            iterations: SteadyConfig::MOST_ITERATIONS,
        }
    }

    /// The solver of the flow. It starts from the gas at rest, or around the integral from the flow of the model.
    ///
    /// # Errors
    /// A configuration out of range; velocities that cannot hold the gas at the plates; a backend that is not there.
    pub fn solver(&self) -> Result<SteadySolver> {
        if self.force != 0.0 && self.delta < THINNEST_CHANNEL {
            let expected = format!("at least {THINNEST_CHANNEL:e} for a flow along a channel");
            let found = format!("{:e}", self.delta);
            return Err(Error::invalid("delta", found, expected));
        }
        let fall = 2.0 * self.delta * self.force.abs();
        let most = most_fall(self.delta);
        if matches!(self.collisions, GapCollisions::Integral(_)) && fall > most * (1.0 + 1e-9) {
            return Err(Error::invalid(
                "force",
                format!("{} (a fall of the pressure of {fall} p0)", self.force),
                format!(
                    "a fall of at most {most:.3} p0 along a width of {} l0 around the collision integral, where the force is right to 0.1%; a model takes any",
                    self.delta
                ),
            ));
        }
        let walls = walls(self.delta, self.drive, self.cells, 1.0, false)?;
        let (gas, velocity, integral) = match &self.collisions {
            GapCollisions::Model(gas, velocity) => (*gas, velocity.clone(), None),
            GapCollisions::Integral(operator) => {
                let velocity = velocity_space(&operator.grid, 0.0)?;
                (transport(operator), velocity, Some(operator.clone()))
            }
        };
        let (compute, most) = match &integral {
            None => (Backend::Cpu.into(), Axis::MAX_NODES),
            Some(operator) => (operator.compute, VelocityGrid::MAX_N),
        };
        velocity.check_range_within(&walls.map(|wall| wall.state()), most)?;
        if integral.is_some() {
            check_distance(&velocity, &walls)?;
        }
        let mut problem = between(walls, self.delta, self.cells, gas, Nodes::of(&velocity));
        problem.force = self.force;
        problem.integral = integral;
        let config = SteadyConfig {
            rtol: Some(self.tolerance),
            iterations: self.iterations,
            anderson_depth: DEPTH,
            compute,
            ..SteadyConfig::default()
        };
        SteadySolver::new(problem, &config)
    }
}

/// Refuses nodes so far apart that the collision integral has no sense at the colder plate.
fn check_distance(velocity: &VelocitySpace, walls: &[Wall; 2]) -> Result<()> {
    let coldest = walls[0].temperature.min(walls[1].temperature);
    let Some(spacing) = velocity.x().spacing() else {
        return Ok(());
    };
    let apart = spacing / coldest.sqrt();
    if apart <= SENSELESS {
        return Ok(());
    }
    let enough = 2.0 * (0.5 * velocity.x().len() as f64 * apart / COARSEST).ceil();
    Err(Error::invalid(
        "--velocities",
        format!(
            "{} nodes, {apart:.2} thermal speeds of the colder plate's gas apart: fluxes would be off by {:.0}% or so",
            velocity.x().len(),
            100.0 * collision_error(apart)
        ),
        format!("{enough} or more for 2%, and at most {SENSELESS} thermal speeds between nodes"),
    ))
}
