//! The interface of a correction, and what it does to lagged inflow.

use crate::flow::correction::{Around, Place, State, grow};
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

/// The unknowns that a correction moves.
pub(super) struct Moved<'a> {
    pub(super) problem: &'a Problem,
    pub(super) next: &'a mut Unknowns,
}

impl Around for Moved<'_> {
    fn emit(&mut self, place: Place, more: f64) {
        let density = match place {
            Place::Body(s) => self.next.segments.get_mut(s),
            Place::Side(side, face) => self.next.sides[side].get_mut(face),
        };
        if let Some(density) = density {
            grow(density, more, self.problem.gas.linear);
        }
    }

    fn shift(&mut self, side: usize, face: usize, states: [State; 2]) {
        let (problem, gas) = (self.problem, &self.problem.gas);
        let both = states.map(|[n, ux, uy, t, t_r]| ([n, ux, uy, t], t_r));
        let molecules = both.map(|(state, _)| gas.maxwellian(state));
        shift(problem, side, face, molecules, &mut self.next.lagged[side]);
        if let Some(internal) = &mut self.next.internal {
            let energies = both.map(|(state, t_r)| gas.internal_of(state, t_r));
            shift(problem, side, face, energies, &mut internal.lagged[side]);
        }
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
    let (nodes, linear) = (&problem.nodes, problem.gas.linear);
    let count = nodes.len();
    if lagged.is_empty() {
        return;
    }
    let values = &mut lagged[2 * face * count..][..2 * count];
    let speeds = if side < 2 { &nodes.vx } else { &nodes.vy };
    for m in (0..count).filter(|&m| (speeds[m] > 0.0) == side.is_multiple_of(2)) {
        let v = [nodes.vx[m], nodes.vy[m]];
        let [old, new] = [old, new].map(|c| match linear {
            true => equilibrium::<true>(&c, v, f64::exp),
            false => equilibrium::<false>(&c, v, f64::exp),
        });
        for q in 0..2 {
            grow(&mut values[q * count + m], new[q] - old[q], linear);
        }
    }
}
