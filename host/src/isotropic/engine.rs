//! The interface of a backend for the operator.

use std::time::Duration;

use rarefy_kernels::isotropic::Stage;

use super::{Integrator, Moments, Rates};
use crate::error::Result;

/// A state as it is recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Moments of the state.
    pub(super) moments: Moments,
    /// Largest frequency of collisions that move a particle; the time step must be below its inverse.
    pub(super) largest_frequency: f64,
}

/// States on some machine, and the means to move them on in time.
pub(super) trait Engine: Send {
    /// The machine in words.
    fn describe(&self) -> String;
    /// Replaces the states, one after the other.
    fn set_states(&mut self, f: &[f64]) -> Result<()>;
    /// The rows of the states as they are.
    fn rows(&mut self) -> Result<Vec<Row>>;
    /// Takes so many steps, and waits until they are taken.
    fn take(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<()>;
    /// Takes `every` steps before each of so many records; returns the rows of all states of each record.
    fn advance(
        &mut self,
        integrator: Integrator,
        dt: f64,
        records: u64,
        every: u64,
    ) -> Result<Vec<Vec<Row>>>;
    /// The states.
    fn states(&mut self) -> Result<Vec<f64>>;
    /// Gain, frequency and rate of the first state.
    fn rates(&mut self) -> Result<Rates>;
    /// How long so many steps take, without copies or records.
    fn time_steps(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<Duration>;
    /// Bytes of coefficients.
    fn table_bytes(&self) -> u64;
}

/// The stages of an integrator.
pub(super) fn stages(integrator: Integrator) -> Vec<Stage> {
    let stage = |state, sum, rate, sum_rate| Stage {
        state,
        sum,
        rate,
        sum_rate,
    };
    match integrator {
        Integrator::Euler => vec![stage(1.0, 0.0, 1.0, 0.0)],
        Integrator::Ssprk3 => vec![
            stage(1.0, 0.0, 1.0, 0.0),
            stage(0.25, 0.0, 0.25, 0.0),
            stage(2.0 / 3.0, 0.0, 2.0 / 3.0, 0.0),
        ],
        Integrator::Rk4 => vec![
            stage(0.0, 0.0, 0.5, 1.0 / 6.0),
            stage(0.0, 0.0, 0.5, 1.0 / 3.0),
            stage(0.0, 0.0, 1.0, 1.0 / 3.0),
            stage(0.0, 1.0, 1.0 / 6.0, 0.0),
        ],
    }
}
