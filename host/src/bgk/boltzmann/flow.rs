//! A run: time loop, moments, checkpoints.

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::config::{FACES, FlowConfig, Stepping};
use super::engine::{Engine, Pass, passes};
use crate::bgk::transient::{Change, Node, nodes};
use crate::bgk::{FaceFlux, Looked, Moments, State, VelocitySpace};
use crate::compute::{Pooled, steps_between};
use crate::error::{Error, Result};

/// Everything that a run needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The run's configuration.
    pub config: FlowConfig,
    /// Steps taken.
    pub step: u64,
    /// The distributions, `[cell][ix][iy][iz]`.
    pub distributions: Vec<f64>,
    /// The last look at the residual; without one the residual of the next look is infinite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
}

/// The state of the gas at one moment, and the exchange with its surroundings in the step that follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Look {
    /// Moments of the cells, `[iy][ix]`. With split steps stresses and heat fluxes are those in the middle of the next step's collisions.
    pub moments: Vec<Moments>,
    /// Density, velocity and temperature after the next step; with penalised steps those of now.
    pub after: Vec<State>,
    /// Mass, momentum and energy that the gas receives through the left, right, bottom and top face, the mean over the face.
    pub faces: [FaceFlux; 4],
}

/// A solution of the Boltzmann equation under way.
pub struct Flow {
    engine: Pooled<dyn Engine>,
    config: FlowConfig,
    velocity: VelocitySpace,
    nodes: Vec<Node>,
    passes: Vec<Pass>,
    step: u64,
    change: Change,
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("step", &self.step)
            .field("time", &self.time())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

impl Flow {
    /// Prepares a run from the initial state.
    ///
    /// # Errors
    /// Those of [`FlowConfig::validate`]; a backend that is not there; too little memory.
    pub fn new(config: FlowConfig) -> Result<Self> {
        config.validate()?;
        let velocity = config.velocity_space()?;
        Ok(Self {
            engine: Pooled::new(&config.operator.compute, || super::engine(&config))?,
            nodes: nodes(&velocity),
            passes: passes(&config)?,
            config,
            velocity,
            step: 0,
            change: Change::default(),
        })
    }

    /// Continues a run from a checkpoint.
    ///
    /// # Errors
    /// As [`Flow::new`]; distributions of another problem, negative or not finite.
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        let Checkpoint {
            config,
            step,
            distributions,
            looked,
        } = checkpoint;
        if distributions.len() != config.initial.len() {
            return Err(Error::invalid(
                "checkpoint",
                format!("{} values of another problem", distributions.len()),
                format!("{} values", config.initial.len()),
            ));
        }
        let change = Change::resume(looked, step, config.space.cells())?;
        let mut flow = Self::new(config)?;
        (flow.step, flow.change) = (step, change);
        flow.check(&distributions)?;
        flow.engine.run(|engine| engine.restore(&distributions))?;
        Ok(flow)
    }

    /// Everything that is needed to go on later to the same bits.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        Ok(Checkpoint {
            config: self.config.clone(),
            step: self.step,
            distributions: self.engine.run(|engine| engine.distributions())?,
            looked: self.change.looked().cloned(),
        })
    }

    /// Takes time steps.
    ///
    /// # Errors
    /// A fault of the device; distributions that are none any more.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        self.engine.run(|engine| engine.advance(steps))?;
        self.step += steps;
        Ok(())
    }

    /// Takes the time steps that are left to a time, rounded to the nearest whole number of them.
    ///
    /// # Errors
    /// As [`Flow::advance`].
    pub fn run_until(&mut self, time: f64) -> Result<()> {
        self.advance(steps_between(self.time(), time, self.config.dt))
    }

    /// Moments of each cell, as [`Flow::look`] has them.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn moments(&mut self) -> Result<Vec<Moments>> {
        Ok(self.look()?.moments)
    }

    /// The distributions after the collisions of the last step, `[cell][ix][iy][iz]`.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn state(&mut self) -> Result<Vec<f64>> {
        self.engine.run(|engine| engine.distributions())
    }

    /// How fast the fields change, as [`Simulation::residual`](crate::bgk::Simulation::residual).
    ///
    /// # Errors
    /// A fault of the device; distributions that have become negative.
    pub fn residual(&mut self) -> Result<f64> {
        let f = self.engine.run(|engine| engine.distributions())?;
        self.check(&f)?;
        let states: Vec<State> = self.moments_of(&f).iter().map(Moments::state).collect();
        let field = |of: fn(&State) -> f64| states.iter().map(of).collect();
        let fields = [
            field(|s| s.density),
            field(|s| s.velocity[0]),
            field(|s| s.velocity[1]),
            field(|s| s.temperature),
        ];
        self.change.residual(fields, self.step, self.config.dt)
    }

    /// The exchange through the faces as `f` streams, and `f` after that.
    fn streamed(&self, mut f: Vec<f64>) -> ([FaceFlux; FACES], Vec<f64>) {
        let mut faces = [FaceFlux::default(); FACES];
        let volume = self.config.operator.grid.volume();
        for (direction, pass) in self.passes.iter().enumerate() {
            let densities = pass.densities(&f);
            let ends = pass.exchange(&self.nodes, volume, self.config.dt, &f, &densities);
            faces[2 * direction..][..2].copy_from_slice(&ends);
            if self.config.stepping == Stepping::Split {
                let mut shifted = vec![0.0; f.len()];
                pass.stream(&f, &densities, &mut shifted);
                f = shifted;
            }
        }
        (faces, f)
    }

    /// Moments, and what passes the faces.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn look(&mut self) -> Result<Look> {
        let before = self.engine.run(|engine| engine.distributions())?;
        let mut moments = self.moments_of(&before);
        let states = |moments: &[Moments]| moments.iter().map(Moments::state).collect();
        if self.config.stepping == Stepping::Penalised {
            let (faces, _) = self.streamed(before);
            return Ok(Look {
                after: states(&moments),
                moments,
                faces,
            });
        }
        let (faces, streamed) = self.streamed(before.clone());
        self.engine.run(|engine| engine.advance(1))?;
        let after = self.engine.run(|engine| engine.distributions())?;
        self.engine.run(|engine| engine.restore(&before))?;
        let [streamed, after] = [streamed, after].map(|f| self.moments_of(&f));
        let sides = streamed.iter().zip(&after);
        for (now, (streamed, after)) in moments.iter_mut().zip(sides) {
            let mean = |a: f64, b: f64| 0.5 * (a + b);
            // The trace of the pressure tensor goes with density and temperature.
            let pressure = |m: &Moments| 0.5 * m.density * m.temperature;
            let change = pressure(now) - mean(pressure(streamed), pressure(after));
            for (k, now) in now.pressure.iter_mut().enumerate() {
                *now = mean(streamed.pressure[k], after.pressure[k]);
            }
            now.pressure[0] += change;
            now.pressure[1] += change;
            for (k, now) in now.heat_flux.iter_mut().enumerate() {
                *now = mean(streamed.heat_flux[k], after.heat_flux[k]);
            }
        }
        Ok(Look {
            moments,
            after: states(&after),
            faces,
        })
    }

    /// Refuses distributions that are none: the fourth order leaves traces below zero in the tails, more is a step that is too long.
    fn check(&self, f: &[f64]) -> Result<()> {
        let largest = f.iter().copied().fold(0.0, f64::max);
        let least = f.iter().copied().fold(f64::INFINITY, f64::min);
        let tolerated = self.config.operator.tolerated_negative() * largest;
        if f.iter().all(|f| f.is_finite()) && least >= -tolerated.max(1e-12 * largest) {
            return Ok(());
        }
        if self.step == 0 {
            return Err(Error::Numerical(format!(
                "the distribution is negative or not finite before the first step (least value {least:.2e}, largest {largest:.2e}); use more velocities or a wider velocity box"
            )));
        }
        Err(Error::Numerical(format!(
            "the distribution is negative or not finite after step {} (least value {least:.2e}, largest {largest:.2e}); use a smaller time step than {}, or more velocities",
            self.step, self.config.dt
        )))
    }

    fn moments_of(&self, f: &[f64]) -> Vec<Moments> {
        let (volume, velocity) = (self.config.operator.grid.volume(), &self.velocity);
        f.par_chunks_exact(self.config.operator.grid.cells())
            .map(|f| Moments::of(velocity, |node| volume * f[node]))
            .collect()
    }

    /// Steps taken.
    pub fn steps_taken(&self) -> u64 {
        self.step
    }
    /// Time reached.
    pub fn time(&self) -> f64 {
        self.step as f64 * self.config.dt
    }
    /// The configuration of the run.
    pub fn config(&self) -> &FlowConfig {
        &self.config
    }
    /// The device in words.
    pub fn device(&self) -> String {
        self.engine.describe()
    }
}
