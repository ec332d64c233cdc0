//! One sweep of all velocities, on whichever machine.

use super::reference;
use super::sweep::{Input, Sweep, Swept};
use crate::error::Result;
use crate::flow::ring;

/// A machine that sweeps.
pub(in crate::flow) trait Sweeps: Send {
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
        match &sweep.space.rings {
            Some(_) => ring::sweep_in_lanes(sweep, input),
            None => Ok(sweep.run(input)),
        }
    }
}

/// Sweeps in plain loops.
pub(super) struct Loops;

impl Sweeps for Loops {
    fn run(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<Swept> {
        match &sweep.space.rings {
            Some(_) => ring::sweep_in_loops(sweep, input),
            None => Ok(reference::run(sweep, input)),
        }
    }
}
