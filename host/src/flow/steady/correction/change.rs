//! The interface of a correction, and what it does to lagged inflow.

use crate::flow::gas::{Primitive, equilibrium};
use crate::flow::problem::Problem;
use crate::flow::steady::sweep::Swept;
use crate::flow::steady::unknowns::Unknowns;

/// Least part of an inflow or an emission that a correction leaves.
pub(super) const LEAST_PART: f64 = 0.2;

/// A correction of the fields that a sweep found.
pub(in crate::flow::steady) trait Correction {
    /// Corrects `next`, which `swept` made of `before`. Yields whether the mixing is to forget: an answer was dropped.
    fn apply(
        &mut self,
        problem: &Problem,
        before: &Unknowns,
        swept: &Swept,
        next: &mut Unknowns,
    ) -> bool;
}

/// Adds the change of a Maxwellian, by `change` of its `state`, to the lagged inflow through a face.
pub(super) fn lagged_change(
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
