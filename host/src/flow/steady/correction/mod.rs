//! Corrections of the iteration by the equations of the continuum.
//!
//! A sweep alone carries news over a mean free path or so: dense gas takes many. The moments that it leaves in a cell, nu V <f - S>, are the misfit of the
//! conservation laws. The correction that the equations of Navier, Stokes and Fourier answer it with is added to the fields. Its share is
//! 1/(1 + 9/delta^2): thin gas needs none. The steady flow is the same with and without.

mod change;
mod compressible;
mod elements;
mod stokes_fourier;

use crate::flow::correction::share;
use crate::flow::problem::Problem;

pub(super) use change::Correction;
use compressible::Compressible;
use stokes_fourier::StokesFourier;

/// The correction of a problem; none in thin gas.
pub(super) fn of(problem: &Problem) -> Option<Box<dyn Correction>> {
    let share = share(problem.gas.delta)?;
    if problem.gas.linear {
        let correction = StokesFourier::new(problem, share).ok()?;
        return Some(Box::new(correction));
    }
    Some(Box::new(Compressible::new(problem, share)))
}

#[cfg(test)]
mod tests;
