//! Densities behind sides with a given flow, and the fall along a period of a nonlinear flow.

use super::sweep::Swept;
use crate::flow::face::Emission;
use crate::flow::gas::MOMENTS;
use crate::flow::ports;
use crate::flow::problem::Problem;

/// Sum over the faces of a side of what leaves through their open parts, and their open length.
fn leaving(problem: &Problem, swept: &Swept, side: usize) -> ([f64; MOMENTS], f64) {
    let (mut sums, mut length) = ([0.0; MOMENTS], 0.0);
    let border = problem.space.border(side);
    for (cell, [out, _]) in border.into_iter().zip(&swept.sides[side]) {
        let open = problem.space.open[cell][side];
        length += open;
        for (sum, part) in sums.iter_mut().zip(out) {
            *sum += open * part;
        }
    }
    (sums, length)
}

/// The density at which the kinetic net flux through a side is the given one.
pub(super) fn density(
    problem: &Problem,
    swept: &Swept,
    emission: &Emission,
    side: usize,
    flow: f64,
) -> f64 {
    let (out, length) = leaving(problem, swept, side);
    let density = emission.density((flow + out[0]) / length);
    match problem.gas.linear {
        true => density,
        // A pump that takes more than arrives lets nothing in.
        false => density.max(0.0),
    }
}

/// The factor on what enters through a side of a period along which the density falls by `fall`.
pub(super) fn factor(problem: &Problem, swept: &Swept, side: usize, fall: f64) -> f64 {
    let lower = side & !1;
    let masses = [lower, lower + 1].map(|side| leaving(problem, swept, side).0[0]);
    ports::factor(masses, side, fall)
}
