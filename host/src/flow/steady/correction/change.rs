//! The interface of a correction, and what it does to lagged inflow.

use crate::flow::correction::{LEAST_PART, State};
use crate::flow::gas::{Coefficients, equilibrium};
use crate::flow::problem::Problem;
use crate::flow::steady::sweep::Swept;
use crate::flow::steady::unknowns::Unknowns;

/// A correction of the fields that a sweep found.
pub(in crate::flow::steady) trait Correction {
    /// Corrects `next`, which `swept` made of `before` by sweeps of the molecules and of the internal energy that they have. Yields whether the mixing is to forget: an answer was dropped.
    fn apply(
        &mut self,
        problem: &Problem,
        before: &Unknowns,
        swept: (&Swept, Option<&Swept>),
        next: &mut Unknowns,
    ) -> bool;
}

/// Adds the change of a Maxwellian, by `change` of its `state`, to the lagged inflow through a face.
pub(super) fn lagged_change(
    problem: &Problem,
    side: usize,
    face: usize,
    [state, change]: [State; 2],
    next: &mut Unknowns,
) {
    let gas = &problem.gas;
    let moved = std::array::from_fn(|k| state[k] + change[k]);
    let both = [state, moved].map(|[n, ux, uy, t, t_r]| ([n, ux, uy, t], t_r));
    let molecules = both.map(|(state, _)| gas.maxwellian(state));
    shift(problem, side, face, molecules, &mut next.lagged[side]);
    if let Some(internal) = &mut next.internal {
        let energies = both.map(|(state, t_r)| gas.internal_of(state, t_r));
        shift(problem, side, face, energies, &mut internal.lagged[side]);
    }
}

/// Adds the difference of two Maxwellians to the inflow through a face.
fn shift(
    problem: &Problem,
    side: usize,
    face: usize,
    [old, new]: [Coefficients; 2],
    lagged: &mut [f64],
) {
    let nodes = &problem.nodes;
    let count = nodes.len();
    if lagged.is_empty() {
        return;
    }
    let values = &mut lagged[2 * face * count..][..2 * count];
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
