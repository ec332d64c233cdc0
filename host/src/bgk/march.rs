//! Flows in time as runs, of a relaxation model or of the collision integral.

use super::boltzmann::{Flow, Stepping};
use super::{
    Boundaries, Boundary, FaceFlux, Moments, RotatingMoments, Simulation, Space, State,
    VelocitySpace,
};
use crate::compute::steps_between;
use crate::error::Result;
use crate::run::{HALVINGS, LEAST_PATIENCE, Run};

/// Steps in which the residual of a shock by the collision integral must halve.
const SHOCK_PATIENCE: u64 = 600;

/// A flow in time, of a relaxation model or of the collision integral.
#[derive(Debug)]
pub enum March {
    /// Of a model.
    Model(Box<Simulation>),
    /// Of the collision integral.
    Integral(Box<Flow>),
}

impl From<Simulation> for March {
    fn from(simulation: Simulation) -> Self {
        Self::Model(Box::new(simulation))
    }
}

impl From<Flow> for March {
    fn from(flow: Flow) -> Self {
        Self::Integral(Box::new(flow))
    }
}

/// The same of both.
macro_rules! of_either {
    ($march:expr, $run:ident => $value:expr) => {
        match $march {
            March::Model($run) => $value,
            March::Integral($run) => $value,
        }
    };
}

impl March {
    /// The cells.
    pub fn space(&self) -> Space {
        match self {
            Self::Model(run) => run.config().problem.space,
            Self::Integral(run) => run.config().space,
        }
    }

    /// The velocity nodes.
    ///
    /// # Errors
    /// As [`FlowConfig::velocity_space`](super::boltzmann::FlowConfig::velocity_space).
    pub fn velocities(&self) -> Result<VelocitySpace> {
        match self {
            Self::Model(run) => Ok(run.config().problem.velocity.clone()),
            Self::Integral(run) => run.config().velocity_space(),
        }
    }

    /// The device in words.
    pub fn device(&self) -> String {
        of_either!(self, run => run.device())
    }

    /// The time step.
    pub fn time_step(&self) -> f64 {
        of_either!(self, run => run.config().dt)
    }

    /// Moments of each cell, `[iy][ix]`.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn moments(&mut self) -> Result<Vec<Moments>> {
        of_either!(self, run => run.moments())
    }

    /// Rotation of each cell, `[iy][ix]`; none of single atoms.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn rotation(&mut self) -> Result<Vec<RotatingMoments>> {
        match self {
            Self::Model(run) => run.rotation(),
            Self::Integral(_) => Ok(Vec::new()),
        }
    }

    /// Moments of each cell, and the flux received through the left, right, bottom and top face.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn moments_and_fluxes(&mut self) -> Result<(Vec<Moments>, [FaceFlux; 4])> {
        match self {
            Self::Model(run) => Ok((run.moments()?, run.face_fluxes()?)),
            Self::Integral(run) => {
                let look = run.look()?;
                Ok((look.moments, look.faces))
            }
        }
    }

    /// The distributions of some cells, one after the other, `[jx][jy][jz]`.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn distributions(&mut self, cells: &[usize]) -> Result<Vec<f64>> {
        match self {
            Self::Model(run) => {
                let populations = run.state()?;
                let problem = &run.config().problem;
                let (count, velocity) = (problem.space.cells(), &problem.velocity);
                let [nx, ny, inner] = velocity.shape();
                let along = |m: usize| velocity.z().map_or(1.0, |z| z.weights()[m]);
                let mut found = Vec::with_capacity(cells.len() * velocity.nodes());
                for cell in cells {
                    for node in 0..nx * ny * inner {
                        let weight = velocity.x().weights()[node / (ny * inner)]
                            * velocity.y_weights()[node / inner % ny]
                            * along(node % inner);
                        found.push(populations[node * count + cell] / weight);
                    }
                }
                Ok(found)
            }
            Self::Integral(run) => {
                let nodes = run.config().operator.grid.cells();
                let f = run.state()?;
                let of_cells = cells.iter().map(|cell| &f[cell * nodes..][..nodes]);
                Ok(of_cells.flatten().copied().collect())
            }
        }
    }
}

impl Run for March {
    fn steps_taken(&self) -> u64 {
        of_either!(self, run => run.steps_taken())
    }
    fn time(&self) -> f64 {
        of_either!(self, run => run.time())
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        of_either!(self, run => run.advance(steps))
    }
    fn residual(&mut self) -> Result<f64> {
        of_either!(self, run => run.residual())
    }
    fn state(&mut self) -> Result<Vec<f64>> {
        of_either!(self, run => run.state())
    }
    fn steps_to(&self, time: f64) -> Option<u64> {
        of_either!(self, run => run.steps_to(time))
    }
    fn patience(&self) -> Option<u64> {
        of_either!(self, run => run.patience())
    }
}

/// The part of the interface that both solvers have as methods of their own.
macro_rules! by_own_methods {
    () => {
        fn steps_taken(&self) -> u64 {
            self.steps_taken()
        }
        fn time(&self) -> f64 {
            self.time()
        }
        fn advance(&mut self, steps: u64) -> Result<()> {
            self.advance(steps)
        }
        fn residual(&mut self) -> Result<f64> {
            self.residual()
        }
        fn state(&mut self) -> Result<Vec<f64>> {
            self.state()
        }
        fn steps_to(&self, time: f64) -> Option<u64> {
            Some(steps_between(self.time(), time, self.config().dt))
        }
    };
}

impl Run for Simulation {
    by_own_methods!();
    fn patience(&self) -> Option<u64> {
        let config = self.config();
        let problem = &config.problem;
        let frequency = problem.gas.frequency;
        patience(&problem.space, &problem.boundaries, frequency, config.dt)
    }
}

impl Run for Flow {
    by_own_methods!();
    fn patience(&self) -> Option<u64> {
        let config = self.config();
        match config.stepping {
            Stepping::Split => Some(SHOCK_PATIENCE),
            Stepping::Penalised => patience(&config.space, &config.boundaries, 1.0, config.dt),
        }
    }
}

/// Steps within which the residual of a healthy run halves, many times over; none where nothing bounds them.
///
/// Sound, or the slowest signal of the streams that come in, crosses the domain; shear diffuses across it between walls, which take up a
/// share of it only; and collisions take a time 1/nu.
fn patience(space: &Space, boundaries: &Boundaries, frequency: f64, step: f64) -> Option<u64> {
    let length = (0..space.dimensions())
        .map(|d| space.bounds(d)[1] - space.bounds(d)[0])
        .fold(0.0, f64::max);
    let slowest_of = |state: &State| {
        let sound = (5.0 / 6.0 * state.temperature).sqrt();
        let flow = state.velocity[0].hypot(state.velocity[1]);
        [flow - sound, flow, flow + sound]
            .map(f64::abs)
            .into_iter()
            .filter(|speed| *speed > 1e-3 * sound)
            .fold(f64::INFINITY, f64::min)
    };
    let (mut slowest, mut share, mut closed) = (f64::INFINITY, 1.0_f64, false);
    for d in 0..space.dimensions() {
        for face in boundaries.along(d) {
            match face {
                Boundary::Inflow(state) => slowest = slowest.min(slowest_of(&state)),
                Boundary::Wall(wall) => {
                    closed = true;
                    share = share.min(wall.accommodation);
                }
                Boundary::Specular | Boundary::Periodic => closed = true,
            }
        }
    }
    if closed {
        slowest = slowest.min(slowest_of(&State::REST));
    }
    let crossing = length / slowest / share;
    // The slowest mode of a viscosity T / (2 nu) falls as exp(-pi^2 T t / (2 nu L^2)).
    let diffusion = if closed {
        2.0 * std::f64::consts::LN_2 * frequency * (length / std::f64::consts::PI).powi(2)
    } else {
        0.0
    };
    let time = crossing + diffusion + 1.0 / frequency;
    let steps = HALVINGS * time / step;
    (steps < 1e15).then(|| (steps as u64).max(LEAST_PATIENCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_waited_for_as_long_as_signals_take() {
        let patience = |problem: &crate::bgk::Problem, step| {
            patience(&problem.space, &problem.boundaries, 1.0, step)
        };
        let of = |mach: f64| {
            let shock = crate::bgk::Shock::new(mach).expect("a shock");
            patience(&shock.problem().expect("a problem"), 0.05).expect("steps")
        };
        // The weaker the wave, the slower the sound that runs against the stream behind it.
        assert!(of(1.1) > 3 * of(1.5) && of(1.5) > of(3.0));
        let cavity = |delta: f64, accommodation: f64| {
            let cavity = crate::bgk::Cavity {
                accommodation,
                ..crate::bgk::Cavity::new(delta, 10, &[12, 12]).expect("a cavity")
            };
            patience(&cavity.problem().expect("a problem"), 0.01)
        };
        let steps = |delta, accommodation| cavity(delta, accommodation).expect("steps");
        // In a dense gas shear diffuses: four times as long for twice the side.
        assert!(steps(200.0, 1.0) > 3 * steps(100.0, 1.0));
        assert!(steps(1.0, 0.1) > steps(1.0, 1.0));
        // Without friction at the walls nothing settles.
        assert_eq!(cavity(1.0, 0.0), None);
    }
}
