//! One iteration of source iteration, on whichever machine.

use super::sums::{Sums, Swept};
use crate::error::Result;

/// A machine that sweeps.
pub(super) trait Sweeps: Send {
    /// Sweeps all velocities through space at fixed local equilibria and boundary values `x`. Outgoing molecules that return go into `y`.
    fn iterate(&mut self, x: &[f64], y: &mut [f64]) -> Result<Swept>;
    /// Roundoff of the fluxes on a line, relative to the largest: the arithmetic's unit times the optical thickness of the gas.
    fn flux_roundoff(&self, thickness: f64) -> f64 {
        self.unit() * thickness
    }
    /// Roundoff of the fields' change, over their range.
    fn change_roundoff(&self) -> f64 {
        32.0 * self.unit()
    }
    /// The arithmetic's unit of roundoff.
    fn unit(&self) -> f64 {
        f64::EPSILON
    }
    /// Sweeps once more for stresses, heat fluxes and what walls receive.
    fn output(&mut self, x: &[f64]) -> Result<Sums>;
    /// Puts the populations of the relaxation model's flow with these fields into `x`; returns whether they are those of a gas.
    fn populate(&self, _x: &mut [f64]) -> bool {
        true
    }
}
