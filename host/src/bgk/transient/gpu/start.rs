//! The contents of the buffers before the first step.

use rarefy_kernels::Real;
use rarefy_kernels::bgk::equilibrium::KEPT;
use rarefy_kernels::bgk::layout::{FACE_WIDTH, FlowShape, axis, row};

use super::super::engine::{FaceFlux, Node, StepPlan};
use super::super::relaxation::sum;
use super::super::shift::Courant;
use crate::bgk::{Boundary, DiscreteMaxwellian, Problem, State, VelocitySpace};
use crate::error::Result;

/// Newton steps for Maxwellians from the correction of the step before; each squares the error. On a fine grid of velocities the correction is small, and its
/// change in a step far smaller. A coarse grid needs one step more.
pub(super) fn later_steps(bytes: usize, problem: &Problem) -> Result<u32> {
    let faces = problem.boundaries;
    let coldest = [faces.left, faces.right, faces.bottom, faces.top]
        .iter()
        .filter_map(|face| match face {
            Boundary::Inflow(state) => Some(state.temperature),
            Boundary::Wall(wall) => Some(wall.temperature),
            _ => None,
        })
        .chain(problem.initial.iter().map(|state| state.temperature))
        .fold(f64::INFINITY, f64::min);
    let state = State::along_x(1.0, 0.0, coldest);
    let maxwellian = DiscreteMaxwellian::new(&problem.velocity, state, problem.conservative)?;
    let coarse = (maxwellian.inverse_temperature * coldest - 1.0).abs() > 1e-4;
    Ok(if bytes == 4 { 1 } else { 2 } + u32::from(coarse))
}

/// The logarithm to base 2, in which the kernels take all weights along v_z.
fn log2(weight: f64) -> f64 {
    weight.ln() * std::f64::consts::LOG2_E
}

/// The nodes of all axes with the distances that their molecules fly in a step, and the innermost ones with their weights.
///
/// If not `moving`, all distances are 0. Wide lanes have no whole cells: one cell is a fraction of 1.
pub(super) fn axes<T: Real>(problem: &Problem, dt: f64, moving: bool, wide_lanes: bool) -> Vec<T> {
    let (space, velocity) = (&problem.space, &problem.velocity);
    let mut axes = Vec::new();
    let mut axis_of = |nodes: &[f64], courant: &[Courant]| {
        for (j, v) in nodes.iter().enumerate() {
            let courant = courant.get(j).filter(|_| moving);
            let (whole, fraction) = match courant {
                None => (0.0, 0.0),
                Some(c) if wide_lanes => (0.0, c.distance().min(1.0)),
                Some(c) => (c.whole as f64, c.fraction),
            };
            axes.extend([*v, whole, fraction, 0.0]);
        }
    };
    axis_of(
        velocity.x().nodes(),
        &Courant::of_axis(velocity.x(), space, 0, dt),
    );
    let along_y = if space.dimensions() == 2 {
        Courant::of_axis(&velocity.axes()[1], space, 1, dt)
    } else {
        Vec::new()
    };
    axis_of(velocity.y_nodes(), &along_y);
    let half = 0.5 * velocity.integrated() as f64;
    for (m, inner) in velocity.inner().iter().enumerate() {
        // That of E is g's.
        let (argument, log_weight) = match velocity.z() {
            Some(z) => (inner.energy, log2(z.weights()[m])),
            None if m != 1 => (1.0, 0.0),
            None => (1.0 + 1.0 / half, 0.0),
        };
        let energy = inner.energy + inner.internal;
        axes.extend([inner.mass, energy, argument, log_weight]);
    }
    debug_assert_eq!(
        axes.len(),
        axis::LEN as usize * velocity.shape().iter().sum::<usize>()
    );
    axes.into_iter().map(Real::from_f64).collect()
}

/// The nodes and weights of all axes; of v_z the squares and the logarithms.
pub(super) fn nodes_and_weights(velocity: &VelocitySpace) -> Vec<f64> {
    let mut all = Vec::new();
    let mut list = |nodes: &[f64], weights: &[f64]| {
        for (v, w) in nodes.iter().zip(weights) {
            all.extend([*v, *w]);
        }
    };
    list(velocity.x().nodes(), velocity.x().weights());
    list(velocity.y_nodes(), velocity.y_weights());
    if let Some(z) = velocity.z() {
        let squares: Vec<f64> = z.nodes().iter().map(|v| v * v).collect();
        let logarithms: Vec<f64> = z.weights().iter().map(|w| log2(*w)).collect();
        list(&squares, &logarithms);
    }
    all
}

/// Contents of the buffers before the first step.
pub(super) struct Start<T> {
    pub(super) tables: Vec<T>,
    pub(super) state: Vec<f64>,
    pub(super) emissions: Vec<f64>,
    pub(super) units: [Option<FaceFlux>; 4],
    pub(super) walls: u32,
}

impl<T: Real> Start<T> {
    pub(super) fn new(
        problem: &Problem,
        plan: &StepPlan,
        shape: &FlowShape,
        nodes: &[Node],
    ) -> Result<Self> {
        let velocity = &problem.velocity;
        let columns = shape.columns() as usize;
        let plane = shape.plane() as usize;
        let sums = shape.sums() as usize;
        let mut start = Self {
            tables: vec![T::ZERO; shape.rows() as usize * columns],
            state: vec![0.0; (sums + KEPT as usize) * plane],
            emissions: vec![0.0; 4 * (1 + shape.count_x as usize)],
            units: [None; 4],
            walls: 0,
        };
        for (cell, state) in problem.initial.iter().enumerate() {
            let (iy, ix) = (cell / problem.space.nx(), cell % problem.space.nx());
            let place = iy * shape.pitch as usize + ix;
            let [ux, uy] = state.velocity;
            let values = [
                state.density,
                state.density * ux,
                state.density * uy,
                state.density * (1.5 * state.temperature + ux * ux + uy * uy),
            ];
            for (k, value) in values.into_iter().enumerate() {
                start.state[k * plane + place] = value;
            }
            if shape.rotates() {
                let internal = 0.5 * velocity.internal_freedom() * state.temperature;
                start.state[sum::INTERNAL * plane + place] = state.density * internal;
            }
            start.state[(sums + 2) * plane + place] = 1.0 / state.temperature;
            start.state[(sums + 3) * plane + place] = state.temperature;
        }
        for k in 0..2 * problem.space.dimensions() {
            let (direction, side) = (k / 2, k % 2);
            let first = shape.face_columns(k as u32) as usize;
            let length = [FACE_WIDTH * shape.ny, shape.pitch][direction] as usize;
            let (state, wall, mirrored) = match problem.boundaries.along(direction)[side] {
                Boundary::Inflow(state) => (state, false, 0.0),
                Boundary::Wall(wall) if wall.accommodation > 0.0 => {
                    (wall.state(), true, 1.0 - wall.accommodation)
                }
                Boundary::Wall(_) | Boundary::Specular => {
                    let decay = row::DECAY as usize * columns + first;
                    start.tables[decay..][..length].fill(T::ONE);
                    continue;
                }
                _ => continue,
            };
            let maxwellian = DiscreteMaxwellian::new(velocity, state, problem.conservative)?;
            let factors = maxwellian.factors(velocity);
            let mut unit = FaceFlux::default();
            for node in nodes {
                if (node.v[direction] > 0.0) == (side == 0) {
                    let width = problem.space.step(direction);
                    let distance = Courant::new(node.v[direction], plan.dt, width).distance();
                    let population = factors.population(node.jx, node.jy, node.m);
                    unit += node.carries(distance * population);
                }
            }
            start.units[k] = Some(unit);
            if wall {
                start.walls |= 1 << k;
            }
            let at = k * (1 + shape.count_x as usize);
            start.emissions[at] = unit.mass;
            start.emissions[at + 1..][..factors.x.len()].copy_from_slice(&factors.x);
            let mut fill = |row: u32, value: f64| {
                start.tables[row as usize * columns + first..][..length].fill(T::from_f64(value));
            };
            fill(row::DECAY, mirrored);
            fill(
                row::INVERSE_TEMPERATURE,
                -maxwellian.inverse_temperature * std::f64::consts::LOG2_E,
            );
            fill(row::HEAT, 1.0);
            for (j, x) in factors.x.iter().enumerate() {
                fill(row::X + j as u32, *x);
            }
            for (j, y) in factors.y.iter().enumerate() {
                fill(shape.row_y() + j as u32, *y);
            }
            for (m, inner) in factors.inner.iter().enumerate() {
                fill(shape.row_m() + m as u32, *inner);
            }
        }
        Ok(start)
    }
}
