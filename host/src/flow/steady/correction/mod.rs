//! Corrections of the iteration by the equations of the continuum.
//!
//! A sweep alone carries news over a mean free path or so: dense gas takes many. The moments that it leaves in a cell, nu V <f - S>, are the misfit of the
//! conservation laws. The correction that the equations of Navier, Stokes and Fourier answer it with is added to the fields. Its share is
//! 1/(1 + 9/delta^2): thin gas needs none. The steady flow is the same with and without.

mod compressible;
mod dissection;
mod elements;
mod fluxes;
mod sparse;
mod stokes_fourier;
mod vertices;

use super::{Swept, Unknowns};
use crate::flow::gas::{Primitive, equilibrium};
use crate::flow::problem::Problem;

use compressible::Compressible;
use stokes_fourier::StokesFourier;

/// Share below which a correction is not worth its time.
const LEAST_SHARE: f64 = 0.05;

/// Least part of an inflow or an emission that a correction leaves.
const LEAST_PART: f64 = 0.2;

/// A correction of the fields that a sweep found.
pub(super) trait Correction {
    /// Corrects `next`, which `swept` made of `before`. Yields whether the mixing is to forget: an answer was dropped.
    fn apply(
        &mut self,
        problem: &Problem,
        before: &Unknowns,
        swept: &Swept,
        next: &mut Unknowns,
    ) -> bool;
}

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

/// Adds the change of a Maxwellian, by `change` of its `state`, to the lagged inflow through a face.
fn lagged_change(
    problem: &Problem,
    side: usize,
    face: usize,
    [state, change]: [Primitive; 2],
    next: &mut Unknowns,
) {
    let nodes = &problem.nodes;
    let count = nodes.len();
    if next.lagged[side].is_empty() {
        return;
    }
    let values = &mut next.lagged[side][2 * face * count..][..2 * count];
    let moved = std::array::from_fn(|c| state[c] + change[c]);
    let [old, new] = [state, moved].map(|state| problem.gas.maxwellian(state));
    let speeds = if side < 2 { &nodes.vx } else { &nodes.vy };
    for m in (0..count).filter(|&m| (speeds[m] > 0.0) == side.is_multiple_of(2)) {
        let v = [nodes.vx[m], nodes.vy[m]];
        for q in 0..2 {
            let value = &mut values[q * count + m];
            *value = if problem.gas.linear {
                let pair = |c| equilibrium::<true>(c, v, f64::exp)[q];
                *value + pair(&new) - pair(&old)
            } else {
                let pair = |c| equilibrium::<false>(c, v, f64::exp)[q];
                (*value + pair(&new) - pair(&old)).max(LEAST_PART * *value)
            };
        }
    }
}

#[cfg(test)]
mod tests;
