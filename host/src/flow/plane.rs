//! The grid of a case in a plane, with its bodies.

use super::Side;
use super::case::Case;
use super::space::{self, Bodies, Obstacle, Space};
use crate::error::Result;

/// The plane of a case with its bodies, repeated along periodic axes.
pub(in crate::flow) fn plane_of(
    case: &Case,
    obstacles: Vec<Obstacle>,
    coarser: f64,
) -> Result<Space> {
    let domain = &case.domain;
    let mut lines = [Vec::new(), Vec::new()];
    for obstacle in &obstacles {
        for (all, more) in lines.iter_mut().zip(obstacle.lines()) {
            all.extend(more);
        }
    }
    let periodic =
        [&case.sides.left, &case.sides.bottom].map(|side| matches!(side, Side::Periodic { .. }));
    let shifts_along = |on: bool, [low, high]: [f64; 2]| match on {
        true => vec![low - high, 0.0, high - low],
        false => vec![0.0],
    };
    let mut shifts = Vec::new();
    for a in shifts_along(periodic[0], domain.x) {
        for b in shifts_along(periodic[1], domain.y) {
            shifts.push([a, b]);
        }
    }
    let [x, y] = edges_of(case, coarser, &lines);
    space::build(x, y, &Bodies { obstacles, shifts })
}

/// Edges of the cells along x and y, `coarser` times as wide as the case says, with edges on lines of bodies.
pub(in crate::flow) fn edges_of(case: &Case, coarser: f64, lines: &[Vec<f64>; 2]) -> [Vec<f64>; 2] {
    let domain = &case.domain;
    let h = domain.h * coarser;
    // Refinement keeps the map from cells to places.
    let growth = domain.growth.powf(coarser);
    let largest = domain.largest * coarser;
    let ends = [domain.x, domain.y];
    let core = |k: usize| domain.core.as_ref().map_or(ends[k], |core| core[k]);
    [0, 1].map(|k| space::edges(ends[k], core(k), h, growth, largest, &lines[k]))
}
