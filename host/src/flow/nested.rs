//! Flows on nested grids: coarser ones give a flow its start, and a solved flow is the start of the same one on other grids.

use super::course::Ending;
use super::problem::Problem;
use super::steady::{Steady, Unknowns};
use super::{Case, Findings, Machine, Solver, results, volume};
use crate::error::{Error, Result};

/// Change at which a coarser grid has done its work.
const ROUGH: f64 = 1e-2;

/// A flow on its grid.
pub(in crate::flow) enum Grid {
    /// In a plane.
    Plane(Box<Problem>, Unknowns),
    /// In space or round an axis.
    Space(Box<volume::Problem>, volume::Unknowns),
}

impl Grid {
    /// Edges of the cells along each axis.
    pub(in crate::flow) fn edges(&self) -> Vec<&[f64]> {
        match self {
            Self::Plane(problem, _) => vec![&problem.space.x, &problem.space.y],
            Self::Space(problem, _) => {
                let axes = if problem.space.rings.is_some() { 2 } else { 3 };
                let edges = problem.space.edges.iter().take(axes);
                edges.map(Vec::as_slice).collect()
            }
        }
    }
}

/// The end of a flow on one grid: findings where it is the last one or was interrupted.
struct Solved {
    findings: Option<Findings>,
    grid: Grid,
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
        let is_last = factor == 1.0;
        let solver = match is_last {
            true => case.solver,
            false => Solver {
                tolerance: case.solver.tolerance.max(ROUGH),
                ..case.solver
            },
        };
        let level = Level {
            case,
            factor,
            solver,
            machine,
            start: earlier.as_ref().or(start),
        };
        let solved = match case.is_whole() {
            true => level.in_space(observe),
            false => level.in_plane(observe),
        };
        let solved = match solved {
            // Wide cells may have no solution where finer ones have one.
            Err(Error::Numerical(_)) if !is_last => None,
            other => other?,
        };
        match solved {
            // A body may vanish between wide cells.
            None => {}
            Some(Solved {
                findings: Some(findings),
                grid,
            }) => return Ok((findings, grid)),
            Some(Solved { grid, .. }) => earlier = Some(grid),
        }
    }
    Err(Error::Numerical("no grid was solved".to_owned()))
}

/// A flow to be solved on cells `factor` times as wide as the case says.
struct Level<'a> {
    case: &'a Case,
    factor: f64,
    solver: Solver,
    machine: &'a Machine,
    start: Option<&'a Grid>,
}

impl Level<'_> {
    fn is_last(&self) -> bool {
        self.factor == 1.0
    }

    /// The problem of this grid; none where only the grid of the case has one.
    fn problem<P>(&self, built: Result<P>) -> Result<Option<P>> {
        match built {
            Err(_) if !self.is_last() => Ok(None),
            other => other.map(Some),
        }
    }

    fn in_plane(&self, observe: &mut dyn FnMut(usize, f64) -> bool) -> Result<Option<Solved>> {
        let Some(problem) = self.problem(Problem::new(self.case, self.factor))? else {
            return Ok(None);
        };
        let mut steady = Steady::new(&problem, &self.solver, self.machine)?;
        if let Some(Grid::Plane(coarse, state)) = self.start {
            steady.start_from(coarse, state);
        }
        let ending = steady.solve(&self.solver, &mut |iteration, change| {
            observe(if self.is_last() { iteration } else { 0 }, change)
        })?;
        let findings = match self.is_last() || ending == Ending::Interrupted {
            true => Some(results::findings(self.case, &steady, ending)?),
            false => None,
        };
        let state = steady.state;
        let grid = Grid::Plane(Box::new(problem), state);
        Ok(Some(Solved { findings, grid }))
    }

    fn in_space(&self, observe: &mut dyn FnMut(usize, f64) -> bool) -> Result<Option<Solved>> {
        let Some(problem) = self.problem(volume::Problem::new(self.case, self.factor))? else {
            return Ok(None);
        };
        let mut steady = volume::Steady::new(&problem, &self.solver, self.machine);
        if let Some(Grid::Space(coarse, state)) = self.start {
            steady.start_from(coarse, state);
        }
        let ending = steady.solve(&self.solver, &mut |iteration, change| {
            observe(if self.is_last() { iteration } else { 0 }, change)
        })?;
        let findings = match self.is_last() || ending == Ending::Interrupted {
            true => Some(volume::findings(self.case, &steady, ending)?),
            false => None,
        };
        let state = steady.state;
        let grid = Grid::Space(Box::new(problem), state);
        Ok(Some(Solved { findings, grid }))
    }
}
