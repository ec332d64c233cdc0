//! Errors of the discretisation of shocks and cavities: the same flow on other cells and velocities.

use super::case::{Flow, Outcome};
use super::steady;
use crate::accuracy::{Axis, Quantity, Reached, Repeatable, SECONDS, Setting, Watch, Watched};
use crate::bgk::errors::{PATIENCE, STEPS, work_in_time, work_of_steady};
use crate::bgk::steady::SteadySolver;
use crate::cli::failure::Failure;
use crate::cli::ranks;
use crate::cli::report::Report;
use crate::cli::steady::settled;
use crate::cli::verify::{Verified, VerifyArgs, reached, verified};
use crate::error::Result;
use crate::run::{self, Goal, Run};

/// Steps between two residuals of a repeat in time.
const LOOK: u64 = 50;

/// A flow on other grids.
struct Repeats<'a, F: Flow> {
    flow: &'a F,
    /// Steps of the run.
    steps: u64,
}

impl<F: Flow> Repeatable for Repeats<'_, F> {
    fn axes(&self) -> Vec<Axis> {
        self.flow.axes()
    }

    fn grid(&self) -> Vec<usize> {
        self.flow.grid()
    }

    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Setting)> {
        let flow = self.flow.on(grid);
        flow.map_or(Vec::new(), |flow| flow.settings())
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let Ok(flow) = self.flow.on(grid) else {
            return f64::INFINITY;
        };
        let integral = flow.collisions().is_boltzmann();
        let unknowns = flow.unknowns() as f64;
        if flow.is_steady() {
            return work_of_steady(unknowns, integral);
        }
        let dt = |flow: &F| flow.time_options().dt.unwrap_or(1.0);
        let steps = self.steps as f64 * dt(self.flow) / dt(&flow);
        work_in_time(unknowns, integral, steps)
    }

    fn tolerance(&self) -> f64 {
        if self.flow.is_steady() {
            steady::config(self.flow).tolerance()
        } else {
            0.0
        }
    }

    fn repeat(&self, grid: &[usize], watch: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
        let flow = self.flow.on(grid)?;
        if !flow.is_steady() {
            let found = in_time(&flow, PATIENCE * self.steps, watch)?;
            return Ok(found.map(|found| flow.quantities(&found)));
        }
        let case = flow.case()?;
        let mut solver = SteadySolver::new(case.problem.clone(), &steady::config(&flow))?;
        let Some(solution) = settled(&mut solver, watch)? else {
            return Ok(None);
        };
        let found = flow.found_steady(&case.problem, &solution)?;
        Ok(Some(flow.quantities(&found)))
    }
}

/// The results of a run in time to the end that it has; none if its residual does not get there in so many steps, or a signal comes.
fn in_time<F: Flow>(flow: &F, most: u64, watch: &dyn Watch) -> Result<Option<F::Found>> {
    let mut run = flow.begin()?.run;
    run.residual()?;
    let end = flow.time_options();
    let goal = Goal {
        steps: Some(end.steps.unwrap_or(most)),
        residual: end.until_residual,
        every: end.until_residual.map(|_| LOOK),
        ..Goal::default()
    };
    let ending = run::drive(&mut run, &goal, &mut Watched(watch))?;
    let done = ending.is_done();
    done.then(|| flow.found(&mut run)).transpose()
}

/// The flow on the grid that has the accuracy that the flags ask for, with the search.
pub(super) fn refined<F: Flow>(
    flow: F,
    args: &VerifyArgs,
    quiet: bool,
) -> std::result::Result<(F, Option<Reached>), Failure> {
    let Some(accuracy) = args.accuracy else {
        return Ok((flow, None));
    };
    ranks::refuse_several("--accuracy")?;
    let repeats = Repeats {
        flow: &flow,
        steps: flow.time_options().steps.unwrap_or(STEPS),
    };
    let mut end = reached(F::COMMAND, &repeats, accuracy, quiet)?;
    let fine = flow.on(&end.grid)?;
    // By the counts of the run on it.
    end.grid = fine.grid();
    Ok((fine, Some(end)))
}

/// Estimates the errors of a run's results, and reports them. `left` is the relative error that the iteration or the end of the run leaves.
pub(super) fn errors<F: Flow>(
    outcome: &Outcome<F>,
    args: &VerifyArgs,
    search: Option<&Reached>,
    report: &mut Report,
) -> std::result::Result<Verified, Failure> {
    let (flow, course) = (&outcome.flow, &outcome.course);
    let quiet = flow.common().quiet;
    let repeats = Repeats {
        flow,
        steps: course.steps.max(1),
    };
    if ranks::are_several() {
        return Ok(Verified::not_here("not estimated on several ranks"));
    }
    if course.converged != Some(true) && args.is_default() {
        return Ok(Verified::not_here(
            "not estimated, for the run has not settled; --verify repeats it on coarser grids",
        ));
    }
    let base = flow.quantities(&outcome.found);
    let found = verified(
        F::COMMAND,
        &repeats,
        args,
        search,
        (base, outcome.left),
        SECONDS,
        quiet,
    )?;
    found.report(report, search);
    Ok(found)
}
