//! One sweep of all velocities, on whichever machine.

use super::sweep::{Input, Sweep, Swept};
use crate::error::Result;

/// A machine that sweeps.
pub(super) trait Sweeps: Send {
    /// Sweeps once.
    ///
    /// # Errors
    /// Those of a GPU.
    fn run(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<Swept>;
    /// The arithmetic's unit of roundoff.
    fn unit(&self) -> f64 {
        f64::EPSILON
    }
}

/// Sweeps with velocities in vector registers, on all cores.
pub(super) struct Vectors;

impl Sweeps for Vectors {
    fn run(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<Swept> {
        Ok(sweep.run(input))
    }
}
