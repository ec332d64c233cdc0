//! Homogeneous relaxation, df/dt = I(f, f), by explicit time stepping.

use serde::{Deserialize, Serialize};

use super::{Correction, Evaluation, Moments, OperatorConfig};
use crate::error::Result;

/// Explicit time integrator. Each is a convex combination of Euler steps, so each keeps f >= 0 for the same step as Euler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Integrator {
    /// Euler, first order, one evaluation a step.
    Euler,
    /// Strong-stability-preserving Runge-Kutta of order 2 (Heun), two evaluations a step.
    #[default]
    Ssprk2,
    /// Strong-stability-preserving Runge-Kutta of order 3, three evaluations a step.
    Ssprk3,
}

/// When a relaxation is done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// After so many steps.
    Steps(u64),
    /// At this time.
    Time(f64),
    /// When the sum of |I| has fallen to this fraction of its first value.
    Equilibrium(f64),
}

/// What a [`Relaxation`] does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelaxationConfig {
    /// The collision operator.
    pub operator: OperatorConfig,
    /// The time integrator.
    pub integrator: Integrator,
    /// Time step; `None` takes half of the largest stable step of the initial state.
    pub step: Option<f64>,
    /// When to stop.
    pub until: Until,
}

/// One row of a relaxation's history: the state after `step` steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Steps taken.
    pub step: u64,
    /// Time.
    pub time: f64,
    /// Moments of the state.
    pub moments: Moments,
    /// Sum of |I| over the cells times h^3, at this state.
    pub activity: f64,
}

/// Everything that a run needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The run's configuration, with the time step that was chosen.
    pub config: RelaxationConfig,
    /// Steps taken.
    pub step: u64,
    /// Time.
    pub time: f64,
    /// Rows so far, the initial state's first.
    pub history: Vec<Record>,
    /// The distribution now.
    pub f: Vec<f64>,
}

/// A relaxation under way.
pub struct Relaxation {
    state: Checkpoint,
}

impl Relaxation {
    /// Prepares a run from the initial distribution `f`, N^3 values, finite and nonnegative.
    ///
    /// # Errors
    /// A distribution of the wrong length, with negative or non-finite values or without mass; a time step
    /// beyond stability; a backend that is not there; too little memory.
    pub fn new(config: RelaxationConfig, f: Vec<f64>) -> Result<Self> {
        Ok(Self {
            state: Checkpoint {
                config,
                step: 0,
                time: 0.0,
                history: Vec::new(),
                f,
            },
        })
    }
    /// Continues a run from a checkpoint.
    ///
    /// # Errors
    /// As [`Relaxation::new`].
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        Ok(Self { state: checkpoint })
    }
    /// Whether the run's end is reached.
    pub fn is_done(&self) -> bool {
        true
    }
    /// Estimated fraction of the run that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        1.0
    }
    /// Takes one time step and records it.
    ///
    /// # Errors
    /// A fault of the device, or a state that is no longer finite or has left stability.
    pub fn step(&mut self) -> Result<Record> {
        todo!()
    }
    /// The machine in words, for example `CPU, 2 threads` or `NVIDIA H200 (CUDA, compute capability 9.0)`.
    pub fn machine(&self) -> String {
        String::new()
    }
    /// The history so far; its first row is the initial state.
    pub fn history(&self) -> &[Record] {
        &self.state.history
    }
    /// The time step in use.
    pub fn time_step(&self) -> f64 {
        0.0
    }
    /// The correction of the last evaluation.
    pub fn correction(&self) -> Correction {
        todo!()
    }
    /// The distribution now, fetched from the machine.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn distribution(&mut self) -> Result<Vec<f64>> {
        Ok(self.state.f.clone())
    }
    /// Everything that is needed to go on later to the same bits.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        Ok(self.state.clone())
    }
}

/// Evaluates the collision integral of `f` once.
///
/// # Errors
/// As [`Relaxation::new`], but for time steps. Returns also the machine in words.
pub fn collide(config: &OperatorConfig, f: &[f64]) -> Result<(Evaluation, String)> {
    let _ = (config, f);
    todo!()
}
