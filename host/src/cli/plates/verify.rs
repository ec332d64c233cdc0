//! Errors of the discretisation of plates: the same flow on other cells and velocities.

use super::flow::{Flow, Kind, Measured};
use super::parameters::{PlatesArgs, Velocities};
use super::solver::solver;
use crate::accuracy::{Axis, Quantity, Reached};
use crate::bgk::steady::Solution;
use crate::bgk::steady::plates::MAX_CELLS;
use crate::cli::failure::Failure;
use crate::cli::flow::INTEGRAL;
use crate::cli::report::Report;
use crate::cli::steady::settled;
use crate::cli::verify::{Repeatable, SECONDS, Verified, reached, scaled, verified};
use crate::collision::VelocityGrid;
use crate::error::Result;

/// Iterations of a flow, about.
const ITERATIONS: f64 = 15.0;
/// Velocities normal to the plates, of either sign.
const NORMAL: std::ops::RangeInclusive<usize> = 3..=64;
/// Velocity of the gas at the plates that its error compares with: half of the drive.
const WALL: f64 = 0.5;

/// A flow on other grids.
struct Repeats<'a> {
    full: &'a PlatesArgs,
    flow: &'a Flow,
}

impl Repeatable for Repeats<'_> {
    fn axes(&self) -> Vec<Axis> {
        let velocities = if self.full.collisions.is_boltzmann() {
            Axis::velocities(
                Axis::MIDPOINTS,
                VelocityGrid::MIN_N..=VelocityGrid::MAX_N,
                2,
            )
        } else {
            Axis::velocities(Axis::GAUSS, NORMAL, 1)
        };
        vec![Axis::cells(4..=MAX_CELLS), velocities]
    }

    fn grid(&self) -> Vec<usize> {
        vec![self.full.cells(), self.full.velocities().normal]
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let [cells, nodes] = [grid[0], grid[1]].map(|count| count as f64);
        let unknowns = match self.flow.kind {
            _ if self.full.collisions.is_boltzmann() => cells * nodes.powi(3) * INTEGRAL,
            Kind::Fourier => 4.0 * cells * nodes,
            Kind::Couette | Kind::Poiseuille => 4.0 * cells * nodes * nodes,
        };
        ITERATIONS * unknowns
    }

    fn tolerance(&self) -> f64 {
        self.full.tolerance()
    }

    fn repeat(&self, grid: &[usize]) -> Result<Option<Vec<Quantity>>> {
        let full = on(self.full, grid);
        let mut solver = solver(&full, self.flow)?;
        let Some(solution) = settled(&mut solver)? else {
            return Ok(None);
        };
        let found = self.flow.measure(&solution, solver.flow_rate());
        Ok(found.map(|found| quantities(self.flow, found)))
    }
}

/// The same flow, in full, on other cells and velocities.
fn on(full: &PlatesArgs, grid: &[usize]) -> PlatesArgs {
    let velocities = full.velocities();
    let counts = Vec::from_iter([Some(velocities.normal), velocities.tangential]);
    let counts: Vec<usize> = counts.into_iter().flatten().collect();
    let counts = scaled(&counts, grid[1], 1, *NORMAL.start());
    let mut fine = full.clone();
    fine.cells = Some(grid[0]);
    fine.velocities = Some(Velocities {
        normal: counts[0],
        tangential: counts.get(1).map(|count| *count.min(NORMAL.end())),
    });
    fine
}

/// The flux, and the gas at the plates.
fn quantities(flow: &Flow, found: Measured) -> Vec<Quantity> {
    let [flux, wall] = flow.names();
    let wall = Quantity::new(wall, found.wall);
    vec![
        Quantity::new(flux, found.flux),
        match flow.kind {
            Kind::Poiseuille => wall,
            Kind::Couette | Kind::Fourier => wall.of_scale(WALL),
        },
    ]
}

/// The arguments with the grid that has the accuracy that they ask for, and the search.
pub(super) fn refined(
    full: PlatesArgs,
    flow: &Flow,
) -> std::result::Result<(PlatesArgs, Option<Reached>), Failure> {
    let Some(accuracy) = full.verify.accuracy else {
        return Ok((full, None));
    };
    let repeats = Repeats { full: &full, flow };
    let search = reached(flow.command(), &repeats, accuracy, full.common.quiet)?;
    Ok((on(&full, &search.grid), Some(search)))
}

/// Estimates the errors of what was found, and reports them.
pub(super) fn errors(
    full: &PlatesArgs,
    flow: &Flow,
    (found, solution): (Measured, &Solution),
    search: Option<&Reached>,
    report: &mut Report,
) -> std::result::Result<Verified, Failure> {
    let repeats = Repeats { full, flow };
    let most = if solution.status.is_done() {
        SECONDS
    } else {
        0.0
    };
    let base = (quantities(flow, found), solution.error_estimate);
    let (command, quiet) = (flow.command(), full.common.quiet);
    let errors = verified(command, &repeats, &full.verify, search, base, most, quiet)?;
    errors.report(report, search);
    Ok(errors)
}
