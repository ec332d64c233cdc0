//! Corrections of the iteration by the equations of the continuum.
//!
//! A sweep alone carries news over a mean free path or so: dense gas takes many. The moments that it leaves in a cell, nu V <f - S>, are the misfit of the
//! conservation laws. The correction that the equations of Navier, Stokes and Fourier answer it with is added to the fields. Its share is
//! 1/(1 + 9/delta^2): thin gas needs none. The steady flow is the same with and without.

mod change;
mod compressible;
mod dissection;
mod elements;
mod fluxes;
mod sparse;
mod stokes_fourier;
mod vertices;

use crate::flow::problem::Problem;

pub(super) use change::Correction;
use compressible::Compressible;
use stokes_fourier::StokesFourier;

/// Share below which a correction is not worth its time.
const LEAST_SHARE: f64 = 0.05;

/// The correction of a problem; none in thin gas.
pub(super) fn of(problem: &Problem) -> Option<Box<dyn Correction>> {
    let share = share(problem.gas.delta);
    if share < LEAST_SHARE {
        return None;
    }
    if problem.gas.linear {
        let correction = StokesFourier::new(problem, share).ok()?;
        return Some(Box::new(correction));
    }
    Some(Box::new(Compressible::new(problem, share)))
}

/// The share of the correction that is added.
fn share(delta: f64) -> f64 {
    1.0 / (1.0 + 9.0 / (delta * delta))
}

#[cfg(test)]
mod tests;
