//! Flows on nested grids: coarser ones give a flow its start, and a solved flow is the start of the same one on other grids.

use super::problem::Problem;
use super::steady::{Ending, Steady, Unknowns};
use super::{Case, Findings, Machine, Solver, results};
use crate::error::{Error, Result};

/// Change at which a coarser grid has done its work.
const ROUGH: f64 = 1e-2;

/// A flow on its grid.
pub(in crate::flow) struct Grid {
    problem: Problem,
    state: Unknowns,
}

impl Grid {
    /// Edges of the cells along x and y.
    pub(in crate::flow) fn edges(&self) -> [&[f64]; 2] {
        [&self.problem.space.x, &self.problem.space.y]
    }
}

/// Solves a resolved case from the flow on another grid, or from two coarser ones where the gas is not linearised. `observe` sees the number and the relative change of each iteration, and ends
/// the run by `false`.
pub(in crate::flow) fn solve(
    case: &Case,
    machine: &Machine,
    start: Option<&Grid>,
    observe: &mut dyn FnMut(usize, f64) -> bool,
) -> Result<(Findings, Grid)> {
    let coarser: &[f64] = if case.gas.linear || start.is_some() {
        &[1.0]
    } else {
        &[4.0, 2.0, 1.0]
    };
    let mut earlier: Option<Grid> = None;
    for &factor in coarser {
        let problem = match Problem::new(case, factor) {
            // A body may vanish between wide cells.
            Err(_) if factor > 1.0 => continue,
            other => other?,
        };
        let mut steady = Steady::new(&problem, &case.solver, machine)?;
        if let Some(grid) = earlier.as_ref().or(start) {
            steady.start_from(&grid.problem, &grid.state);
        }
        let is_last = factor == 1.0;
        let solver = match is_last {
            true => case.solver,
            false => Solver {
                tolerance: case.solver.tolerance.max(ROUGH),
                ..case.solver
            },
        };
        let ending = steady.solve(&solver, &mut |iteration, change| {
            observe(if is_last { iteration } else { 0 }, change)
        })?;
        if is_last || ending == Ending::Interrupted {
            let findings = results::findings(case, &steady, ending)?;
            let state = steady.state;
            return Ok((findings, Grid { problem, state }));
        }
        let state = steady.state;
        earlier = Some(Grid { problem, state });
    }
    Err(Error::Numerical("no grid was solved".to_owned()))
}
