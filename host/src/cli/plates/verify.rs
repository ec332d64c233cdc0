//! Errors of the discretisation of plates: the same flow on other cells and velocities.

use super::flow::{Flow, Kind, Measured};
use super::parameters::{PlatesArgs, Velocities};
use super::solver::solver;
use crate::accuracy::{
    Axis, EXTENT, Quantity, Reached, Repeatable, SECONDS, Setting, Watch, scaled,
};
use crate::bgk::errors::{NORMAL, axes_of_plates, in_box, quantities_of_plates, work_of_plates};
use crate::bgk::steady::Solution;
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::cli::steady::settled;
use crate::cli::verify::{Verified, reached, verified};
use crate::error::Result;

/// A flow on other grids.
struct Repeats<'a> {
    full: &'a PlatesArgs,
    flow: &'a Flow,
}

impl Repeatable for Repeats<'_> {
    fn axes(&self) -> Vec<Axis> {
        axes_of_plates(self.full.collisions.is_boltzmann())
    }

    fn grid(&self) -> Vec<usize> {
        let mut grid = vec![self.full.cells(), self.full.velocities().normal];
        grid.extend(self.full.collisions.is_boltzmann().then_some(EXTENT));
        grid
    }

    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Setting)> {
        let Ok(on) = on(self.full, grid) else {
            return Vec::new();
        };
        let counts = [on.cells(), on.velocities().normal].map(Setting::Count);
        let mut named = vec![("cells", counts[0]), ("velocities", counts[1])];
        named.extend(on.vmax.map(|half| ("vmax", Setting::Number(half))));
        named
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let is_fourier = self.flow.kind == Kind::Fourier;
        work_of_plates(grid, self.full.collisions.is_boltzmann(), is_fourier)
    }

    fn tolerance(&self) -> f64 {
        self.full.tolerance()
    }

    fn repeat(&self, grid: &[usize], watch: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
        let full = on(self.full, grid)?;
        let mut solver = solver(&full, self.flow)?;
        let Some(solution) = settled(&mut solver, watch)? else {
            return Ok(None);
        };
        let found = self.flow.measure(&solution, solver.flow_rate());
        Ok(found.map(|found| quantities(self.flow, found)))
    }
}

/// The same flow, in full, on other cells and velocities, and in another box.
fn on(full: &PlatesArgs, grid: &[usize]) -> Result<PlatesArgs> {
    let velocities = full.velocities();
    let counts = Vec::from_iter([Some(velocities.normal), velocities.tangential]);
    let counts: Vec<usize> = counts.into_iter().flatten().collect();
    let counts = scaled(&counts, grid[1], 1, *NORMAL.start());
    let mut fine = full.clone();
    let extent = grid.get(2).copied().unwrap_or(EXTENT);
    let (counts, wider) = in_box(&counts, extent)?;
    fine.vmax = full.vmax.map(|half| wider * half);
    fine.cells = Some(grid[0]);
    fine.velocities = Some(Velocities {
        normal: counts[0],
        tangential: counts.get(1).map(|count| *count.min(NORMAL.end())),
    });
    Ok(fine)
}

/// The flux, and the gas at the plates.
fn quantities(flow: &Flow, found: Measured) -> Vec<Quantity> {
    let [flux, wall] = flow.names();
    let named = [(flux, found.flux), (wall, found.wall)];
    quantities_of_plates(named, flow.kind != Kind::Poiseuille)
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
    let mut search = reached(flow.command(), &repeats, accuracy, full.common.quiet)?;
    let fine = on(&full, &search.grid)?;
    // By the counts of the run on it.
    search.grid = Repeats { full: &fine, flow }.grid();
    Ok((fine, Some(search)))
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
