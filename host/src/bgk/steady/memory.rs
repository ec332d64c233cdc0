//! Main memory of a steady flow, before any of it is allocated.

use super::config::SteadyConfig;
use super::correction::Correction;
use super::plan::{COMPONENTS, FUNCTIONS};
use super::problem::SteadyProblem;
use crate::bgk::{Boundary, State};
use crate::error::Result;
use crate::memory_plan::{bytes_of, check_host};

/// Numbers that a cell's equilibrium is evaluated from, and the moments of the result.
const PER_CELL: u64 = 27;
/// Sums of a cell, and of a face, that one task of the CPU keeps.
const SUMS: u64 = 6;
const FACE_SUMS: u64 = 9;
/// Copies of the populations that a sweep around the collision integral takes.
const SWEPT: u64 = 4;
/// Tasks of the CPU in each direction.
const TASKS: u64 = 16;

/// Refuses a problem that does not fit into main memory.
///
/// # Errors
/// [`Memory`](rarefy_simt::Error::Memory) with what is needed and what there is.
pub(super) fn check(problem: &SteadyProblem, config: &SteadyConfig, on_cpu: bool) -> Result<()> {
    let nodes = problem.nodes.velocities.len() as u64;
    let [nx, ny] = [0, 1].map(|d| problem.widths[d].len() as u64);
    let needed = needed(
        problem,
        config.anderson_depth as u64,
        nodes,
        [nx, ny],
        on_cpu,
    );
    let check = |needed: u64| {
        check_host(
            &format!("a steady flow of {nx} x {ny} cells and {nodes} velocities"),
            needed,
            "use fewer cells or velocities",
        )
    };
    // The factors are counted part by part, which takes long where not even the fields fit.
    check(needed)?;
    Ok(check(needed.saturating_add(Correction::bytes(
        problem,
        config.closure,
    )))?)
}

fn needed(
    problem: &SteadyProblem,
    depth: u64,
    nodes: u64,
    [nx, ny]: [u64; 2],
    on_cpu: bool,
) -> u64 {
    let cells = nx.saturating_mul(ny);
    let rotates = problem.gas.rotating().is_some();
    let components = match rotates {
        true => COMPONENTS as u64,
        false if problem.gas.effective_prandtl() == 1.0 => 4,
        false => 6,
    };
    let functions = (FUNCTIONS - usize::from(!rotates)) as u64;
    let (mut faces, mut returned) = (0_u64, 0_u64);
    for direction in 0..problem.dimensions {
        let along = [ny, nx][direction];
        for face in problem.boundaries.along(direction) {
            faces = faces.saturating_add(along);
            let returns = match face {
                Boundary::Inflow(_) => false,
                Boundary::Wall(wall) => wall.accommodation < 1.0,
                Boundary::Specular | Boundary::Periodic => true,
            };
            if returns {
                returned = returned.saturating_add(along.saturating_mul(functions * nodes));
            }
        }
    }
    let unknowns = cells
        .saturating_mul(components)
        .saturating_add(faces)
        .saturating_add(returned);
    let populations = match problem.integral {
        Some(_) => cells.saturating_mul(nodes),
        None => 0,
    };
    let unknowns = unknowns.saturating_add(populations);
    // The point and its value, a copy of each, and both of every iteration that is mixed.
    let vectors = 4 + 2 * (depth + 1);
    let tasks = if on_cpu {
        (TASKS << problem.dimensions).min(nodes)
    } else {
        1
    };
    let sums = cells
        .saturating_mul(SUMS.max(components))
        .saturating_add(faces.saturating_mul(FACE_SUMS))
        .saturating_mul(tasks + 1);
    let numbers = unknowns
        .saturating_mul(vectors)
        .saturating_add(cells.saturating_mul(PER_CELL))
        .saturating_add(sums)
        .saturating_add(populations.saturating_mul(SWEPT));
    bytes_of::<f64>(numbers).saturating_add(bytes_of::<State>(cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgk::Cavity;

    #[test]
    fn a_plan_grows_with_what_is_asked_for() {
        let cavity = Cavity::new(1.0, 10, &[16, 16]).expect("a cavity");
        let problem = SteadyProblem::from(&cavity.problem().expect("a problem"));
        let of = |depth, nodes, n, on_cpu| needed(&problem, depth, nodes, [n, n], on_cpu);
        // A hundred times the cells has ten times the faces.
        let growth = of(8, 256, 1000, true) as f64 / of(8, 256, 100, true) as f64;
        assert!((90.0..100.0).contains(&growth), "{growth}");
        assert!(of(20, 256, 100, false) > of(8, 256, 100, false));
        // Sums of 64 tasks come to what a machine keeps of the unknowns and the mixing.
        assert!(of(8, 256, 100, true) > 3 * of(8, 256, 100, false));
        // Saturate: an unbounded size must not wrap around.
        assert_eq!(of(8, 256, u64::MAX / 2, true), u64::MAX);
    }
}
