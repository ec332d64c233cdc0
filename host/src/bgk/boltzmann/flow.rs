//! A line of gas between two streams: configuration, time loop, what is read off.

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::gpu::MachineFlow;
use super::host::{HostFlow, left_exchange, stream};
use super::{SIDES, cross_section};
use crate::backend::{Backend, Precision, engine_of};
use crate::bgk::transient::{Change, Node, nodes};
use crate::bgk::{
    Axis, Boundaries, Boundary, Courant, FaceFlux, Gas, Looked, Moments, Problem, Scheme, Space,
    State, VelocitySpace,
};
use crate::collision::{OperatorConfig, Order, Scattering, VelocityGrid};
use crate::error::{Error, Result};

/// A line of gas between two streams, and how it is computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineConfig {
    /// Cells in space; one dimension.
    pub space: Space,
    /// The velocity grid, its box symmetric about 0.
    pub grid: VelocityGrid,
    /// The velocity along x of the centre of the box.
    pub drift: f64,
    /// The scattering law; [`cross_section`] says how often molecules collide.
    pub scattering: Scattering,
    /// Order of the coefficients of the collision integral.
    pub order: Order,
    /// Interpolation of the shift.
    pub scheme: Scheme,
    /// Time step dt.
    pub step: f64,
    /// Arithmetic of the gain and the collision frequency; distributions and all else are f64.
    pub precision: Precision,
    /// Where to compute.
    pub backend: Backend,
    /// The distributions that come in at the left and at the right end, `[ix][iy][iz]`, in units of n0/v0^3.
    pub ends: [Vec<f64>; SIDES],
    /// The distribution of each cell at the start, `[cell][ix][iy][iz]`.
    pub initial: Vec<f64>,
}

impl LineConfig {
    /// The velocity space of the BGK wing with the same nodes.
    ///
    /// # Errors
    /// A velocity that is not finite.
    pub fn velocity_space(&self) -> Result<VelocitySpace> {
        velocity_space(&self.grid, self.drift)
    }

    /// The collision integral's configuration.
    pub fn operator(&self) -> OperatorConfig {
        operator(
            &self.grid,
            self.scattering,
            self.order,
            self.precision,
            self.backend,
        )
    }

    /// Checks the parts and that they belong together.
    ///
    /// # Errors
    /// Space of two dimensions; a box that is not symmetric; a step that is none or in which molecules cross all of space; distributions of wrong length or
    /// with values that are none.
    pub fn validate(&self) -> Result<()> {
        if self.space.dimensions() != 1 {
            return Err(Error::input(
                "the collision integral is computed on a line; space has two dimensions",
            ));
        }
        if self.grid.min() != -self.grid.max() {
            return Err(Error::input(format!(
                "the velocity box of a line is given about its centre; [{}, {}] is not symmetric",
                self.grid.min(),
                self.grid.max()
            )));
        }
        if !(self.step.is_finite() && self.step > 0.0) {
            return Err(Error::input(format!(
                "the time step must be positive and finite; {} was given",
                self.step
            )));
        }
        let (cells, nodes) = (self.space.nx(), self.grid.cells());
        let fastest = self.velocity_space()?.x().fastest();
        let most = Courant::new(fastest, self.step, self.space.step(0)).distance();
        if most + 2.0 > cells as f64 {
            return Err(Error::input(format!(
                "in the time step {} the fastest molecules cross {most:.1} cells, of {cells} there are; two less than all is the limit: use a smaller time step",
                self.step
            )));
        }
        if u32::try_from(cells as u64 * nodes as u64).is_err() {
            return Err(Error::input(format!(
                "{cells} cells with {nodes} velocities each are more than 2^32 values; use fewer"
            )));
        }
        let wrong = |what: &str, found: usize, expected: usize| {
            Error::input(format!(
                "{what} has {found} values where {expected} are needed"
            ))
        };
        for end in &self.ends {
            if end.len() != nodes {
                return Err(wrong("the distribution of a stream", end.len(), nodes));
            }
        }
        if self.initial.len() != cells * nodes {
            return Err(wrong(
                "the initial state",
                self.initial.len(),
                cells * nodes,
            ));
        }
        let mut values = self.ends.iter().chain([&self.initial]).flatten();
        if let Some(bad) = values.find(|f| !f.is_finite()) {
            return Err(Error::input(format!(
                "the distributions must be finite; one has the value {bad}"
            )));
        }
        Ok(())
    }
}

/// Everything that a run on a line needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The run's configuration.
    pub config: LineConfig,
    /// Steps taken.
    pub step: u64,
    /// The distributions, `[cell][ix][iy][iz]`.
    pub distributions: Vec<f64>,
    /// The last look at the residual; without one the residual of the next look is infinite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
}

/// The velocity space of the BGK wing with the nodes of a grid whose box moves along x.
pub(super) fn velocity_space(grid: &VelocityGrid, drift: f64) -> Result<VelocitySpace> {
    let (n, half) = (grid.n(), grid.max());
    let across = Axis::uniform(n, -half, half)?;
    let along = Axis::uniform(n, drift - half, drift + half)?;
    VelocitySpace::new(vec![along, across.clone(), across], 1)
}

/// The collision integral in the units of this wing.
pub(super) fn operator(
    grid: &VelocityGrid,
    scattering: Scattering,
    order: Order,
    precision: Precision,
    backend: Backend,
) -> OperatorConfig {
    OperatorConfig {
        scattering,
        sigma_t: cross_section(scattering),
        order,
        precision,
        backend,
        ..OperatorConfig::new(*grid)
    }
}

/// Distributions of a line of cells on some machine, and the means to move them on in time. Between calls they are those after collisions.
pub(super) trait Flow: Send {
    /// The machine in words.
    fn describe(&self) -> String;
    /// Takes so many time steps: streaming, then collisions.
    fn advance(&mut self, steps: u64) -> Result<()>;
    /// The distributions, `[cell][ix][iy][iz]`.
    fn distributions(&mut self) -> Result<Vec<f64>>;
    /// Replaces them.
    fn restore(&mut self, f: &[f64]) -> Result<()>;
}

/// What streaming needs to know of the molecules of one v_x.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub(super) forward: bool,
    pub(super) courant: Courant,
}

/// The shifts of all v_x.
pub(super) fn shifts(config: &LineConfig) -> Result<Vec<Shift>> {
    let space = config.velocity_space()?;
    let courant = Courant::of_axis(space.x(), &config.space, 0, config.step);
    let nodes = space.x().nodes().iter();
    Ok(nodes
        .zip(courant)
        .map(|(v, courant)| Shift {
            forward: *v > 0.0,
            courant,
        })
        .collect())
}

/// The state of the line at one moment, in the middle of a step's collisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Look {
    /// Moments of the cells after streaming; stresses and heat fluxes are means of those before and after the collisions that follow.
    pub moments: Vec<Moments>,
    /// Density, velocity and temperature before that streaming.
    pub before: Vec<State>,
    /// What the gas received through the left end in that streaming.
    pub left: FaceFlux,
}

/// A solution of the Boltzmann equation on a line under way.
pub struct Line {
    engine: Box<dyn Flow>,
    config: LineConfig,
    velocity: VelocitySpace,
    nodes: Vec<Node>,
    step: u64,
    change: Change,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("step", &self.step)
            .field("time", &self.time())
            .field("machine", &self.machine())
            .finish_non_exhaustive()
    }
}

impl Line {
    /// Prepares a run from the initial state.
    ///
    /// # Errors
    /// Those of [`LineConfig::validate`]; a backend that is not there; too little memory.
    pub fn new(config: LineConfig) -> Result<Self> {
        config.validate()?;
        let velocity = config.velocity_space()?;
        let same_nodes = Problem {
            space: config.space,
            velocity: velocity.clone(),
            gas: Gas::default(),
            boundaries: Boundaries::line(Boundary::Periodic, Boundary::Periodic),
            conservative: true,
            initial: Vec::new(),
        };
        Ok(Self {
            engine: engine(&config)?,
            nodes: nodes(&same_nodes),
            config,
            velocity,
            step: 0,
            change: Change::default(),
        })
    }

    /// Continues a run from a checkpoint.
    ///
    /// # Errors
    /// As [`Line::new`]; distributions of another problem, negative or not finite.
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        let Checkpoint {
            config,
            step,
            distributions,
            looked,
        } = checkpoint;
        if distributions.len() != config.initial.len() {
            return Err(Error::input(format!(
                "the checkpoint is of another problem: it holds {} values where this one has {}",
                distributions.len(),
                config.initial.len()
            )));
        }
        let change = Change::resume(looked, step, config.space.cells())?;
        let mut line = Self::new(config)?;
        (line.step, line.change) = (step, change);
        line.check(&distributions)?;
        line.engine.restore(&distributions)?;
        Ok(line)
    }

    /// Everything that is needed to go on later to the same bits.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        Ok(Checkpoint {
            config: self.config.clone(),
            step: self.step,
            distributions: self.engine.distributions()?,
            looked: self.change.looked().cloned(),
        })
    }

    /// Takes time steps.
    ///
    /// # Errors
    /// A fault of the device; distributions that are none any more.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        self.engine.advance(steps)?;
        self.step += steps;
        Ok(())
    }

    /// The distributions after the collisions of the last step, `[cell][ix][iy][iz]`.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn distributions(&mut self) -> Result<Vec<f64>> {
        self.engine.distributions()
    }

    /// How fast the fields change, as [`Simulation::residual`](crate::bgk::Simulation::residual).
    ///
    /// # Errors
    /// A fault of the device; distributions that have become negative.
    pub fn residual(&mut self) -> Result<f64> {
        let f = self.engine.distributions()?;
        self.check(&f)?;
        let states: Vec<State> = self.moments_of(&f).iter().map(Moments::state).collect();
        let field = |of: fn(&State) -> f64| states.iter().map(of).collect();
        let fields = [
            field(|s| s.density),
            field(|s| s.velocity[0]),
            field(|s| s.velocity[1]),
            field(|s| s.temperature),
        ];
        self.change.residual(fields, self.step, self.config.step)
    }

    /// Moments, and what passed the left end.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn look(&mut self) -> Result<Look> {
        let before = self.engine.distributions()?;
        let shifts = shifts(&self.config)?;
        let mut streamed = vec![0.0; before.len()];
        stream(&self.config, &shifts, &before, &mut streamed);
        let left = left_exchange(&self.config, &shifts, &self.nodes, &before);
        self.engine.advance(1)?;
        let after = self.engine.distributions()?;
        self.engine.restore(&before)?;
        let mut moments = self.moments_of(&streamed);
        for (moments, after) in moments.iter_mut().zip(self.moments_of(&after)) {
            let mean = |a: &mut f64, b: f64| *a = 0.5 * (*a + b);
            for (a, b) in moments.pressure.iter_mut().zip(after.pressure) {
                mean(a, b);
            }
            for (a, b) in moments.heat_flux.iter_mut().zip(after.heat_flux) {
                mean(a, b);
            }
        }
        Ok(Look {
            moments,
            before: self
                .moments_of(&before)
                .iter()
                .map(Moments::state)
                .collect(),
            left,
        })
    }

    /// Refuses distributions that are none: the fourth order leaves traces below zero in the tails, more is a step that is too long.
    fn check(&self, f: &[f64]) -> Result<()> {
        let largest = f.iter().copied().fold(0.0, f64::max);
        let least = f.iter().copied().fold(f64::INFINITY, f64::min);
        let tolerated = self.config.order.tolerated_negative() * largest;
        if f.iter().all(|f| f.is_finite()) && least >= -tolerated.max(1e-12 * largest) {
            return Ok(());
        }
        Err(Error::Numerical(format!(
            "the distribution is negative or not finite after step {} (least value {least:.2e}, largest {largest:.2e}); use a smaller time step than {}, or more velocities",
            self.step, self.config.step
        )))
    }

    fn moments_of(&self, f: &[f64]) -> Vec<Moments> {
        let (volume, velocity) = (self.config.grid.volume(), &self.velocity);
        f.par_chunks_exact(self.config.grid.cells())
            .map(|f| Moments::of(velocity, |node| volume * f[node]))
            .collect()
    }

    /// Steps taken.
    pub fn steps_taken(&self) -> u64 {
        self.step
    }
    /// Time reached.
    pub fn time(&self) -> f64 {
        self.step as f64 * self.config.step
    }
    /// What the run does.
    pub fn config(&self) -> &LineConfig {
        &self.config
    }
    /// The machine in words.
    pub fn machine(&self) -> String {
        self.engine.describe()
    }
}

/// The engine that a configuration asks for.
fn engine(config: &LineConfig) -> Result<Box<dyn Flow>> {
    let resolved = config.backend.resolve()?;
    let name = resolved.describe();
    engine_of! {
        resolved, config.precision;
        reference => Ok(Box::new(HostFlow::new(config)?)),
        cpu<T> => Ok(Box::new(HostFlow::new(config)?)),
        kernels<T>(machine) => Ok(Box::new(MachineFlow::<_, T>::new(machine, name, config)?)),
    }
}
