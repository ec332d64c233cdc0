//! The way between two sides, by the flow through it: conductance, transmission, permeability.

use super::case::{Case, Reservoir, Side};
use super::findings::{Findings, Passage};
use super::problem::Problem;

/// Share of a difference of states by which two sides may differ and count as one vessel.
const SAME: f64 = 1e-2;

/// The passages of a flow. `narrowest` is the least open length, or area in space, of the lines or layers of cells across an axis.
pub(in crate::flow) fn all(
    case: &Case,
    narrowest: &dyn Fn(usize) -> f64,
    found: &Findings,
) -> Vec<Passage> {
    (0..case.ends().len())
        .filter_map(|axis| of(case, narrowest, found, axis))
        .collect()
}

fn of(
    case: &Case,
    narrowest: &dyn Fn(usize) -> f64,
    found: &Findings,
    axis: usize,
) -> Option<Passage> {
    let sides = case.named_sides();
    let [(_, lower), (upper_name, upper)] = [*sides.get(2 * axis)?, *sides.get(2 * axis + 1)?];
    let mass = |name: &str| {
        let side = found.sides.iter().find(|(side, _)| side == name);
        side.map_or(0.0, |(_, flux)| flux.mass)
    };
    let mut passage = Passage {
        along: ["x", "y", "z"][axis].to_owned(),
        ..Passage::default()
    };
    if let Side::Periodic { jump, .. } = lower {
        if !case.gas.linear || *jump == 0.0 {
            return None;
        }
        let lengths: Vec<f64> = case.ends().iter().map(|[low, high]| high - low).collect();
        let others = (0..lengths.len()).filter(|other| *other != axis);
        let section: f64 = match case.is_round() {
            true => {
                let [inner, outer] = case.domain.y;
                std::f64::consts::PI * (outer * outer - inner * inner)
            }
            false => others.map(|other| lengths[other]).product(),
        };
        passage.flow = mass(upper_name);
        let mobility = passage.flow / section * lengths[axis] / jump;
        passage.mobility = Some(mobility);
        passage.permeability = Some(mobility / case.gas.delta);
        return Some(passage);
    }
    let linear = case.gas.linear;
    let (a, b) = (vessel(lower, linear)?, vessel(upper, linear)?);
    let same = |x: [f64; 2], y: [f64; 2]| {
        let scale = (a[0] - b[0]).abs().max((a[1] - b[1]).abs());
        (x[0] - y[0]).abs() <= SAME * scale && (x[1] - y[1]).abs() <= SAME * scale
    };
    passage.flow = mass(upper_name);
    // Other sides must be shut, or belong to the same two vessels.
    let beside = sides.iter().enumerate();
    for (_, (name, side)) in beside.filter(|(at, _)| at / 2 != axis) {
        match side {
            Side::Mirror | Side::Axis | Side::Wall { .. } | Side::Periodic { .. } => {}
            Side::Split { left, right, .. } => {
                let halves = [left, right].map(|half| state(half, linear));
                if !(same(halves[0], a) && same(halves[1], b)) {
                    return None;
                }
                passage.flow += mass(&format!("{name}.right"));
            }
            _ => return None,
        }
    }
    let (pressure, free) = (pressure(a, linear) - pressure(b, linear), {
        let each = |[n, t]: [f64; 2]| if linear { n + 0.5 * t } else { n * t.sqrt() };
        (each(a) - each(b)) / (2.0 * std::f64::consts::PI.sqrt())
    });
    let over = |of: f64| (of != 0.0).then(|| passage.flow / of);
    passage.conductance = over(pressure);
    let opening = narrowest(axis);
    if opening > 0.0 {
        passage.transmission = over(free * opening);
        passage.opening = Some(opening);
    }
    Some(passage)
}

/// Density and temperature of a vessel behind a side.
fn vessel(side: &Side, linear: bool) -> Option<[f64; 2]> {
    match side {
        Side::Reservoir(reservoir) => Some(state(reservoir, linear)),
        Side::Vacuum if linear => Some([0.0; 2]),
        Side::Vacuum => Some([0.0, 1.0]),
        _ => None,
    }
}

fn state(reservoir: &Reservoir, linear: bool) -> [f64; 2] {
    let usual = if linear { 0.0 } else { 1.0 };
    let temperature = reservoir.temperature.unwrap_or(usual);
    [reservoir.density.unwrap_or(usual), temperature]
}

fn pressure([n, t]: [f64; 2], linear: bool) -> f64 {
    if linear { n + t } else { n * t }
}

/// The least open length of the lines of cells across an axis of a plane.
pub(in crate::flow) fn narrowest(problem: &Problem, axis: usize) -> f64 {
    let space = &problem.space;
    let (nx, ny) = (space.nx(), space.ny());
    let (lines, across) = if axis == 0 { (nx, ny) } else { (ny, nx) };
    let open = |line: usize| -> f64 {
        let cells = (0..across).map(|k| match axis {
            0 => k * nx + line,
            _ => line * nx + k,
        });
        cells.map(|cell| space.open[cell][2 * axis + 1]).sum()
    };
    (0..lines).map(open).fold(f64::INFINITY, f64::min)
}
