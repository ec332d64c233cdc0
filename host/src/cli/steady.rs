//! Shared by the subcommands that solve for a steady flow without steps in time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::ArgMatches;
use serde_json::json;

use super::failure::Failure;
use super::flow::{self, Course, End, Interpolation, MarchArgs, Parameters, Reopened};
use super::output::Transaction;
use super::progress::Progress;
use super::report::Report;
use super::resume;
use crate::bgk::Moments;
use crate::bgk::steady::{Checkpoint, Solution, Status, SteadyConfig, SteadyProblem, SteadySolver};
use crate::compute::{Backend, Compute, Precision};
use crate::error::Result;

/// Earlier iterations that a steady run mixes.
pub(super) const DEPTH: usize = 10;

/// Error of the stream behind a shock wave that passes without a warning.
const MOST_CUT: f64 = 1e-3;

/// Iterations after which a run ends whose residual does not reach the goal.
const MOST_ITERATIONS: u64 = 5000;

/// The end of a steady run: the residual to reach, and the most iterations.
pub(super) fn end(march: &MarchArgs, precision: Precision) -> End {
    let least = match precision {
        Precision::F64 => 1e-9,
        Precision::F32 => 1e-5,
    };
    End {
        steps: march.steps,
        until_residual: Some(march.until_residual.unwrap_or(least)),
        checkpoint_every: march.checkpoint_every,
    }
}

/// The configuration that the parameters of a run in time amount to, steps counting iterations.
pub(super) fn config(
    scheme: Interpolation,
    end: &End,
    precision: Precision,
    backend: Backend,
) -> SteadyConfig {
    SteadyConfig {
        closure: scheme.closure(),
        rtol: end.until_residual,
        iterations: usize::try_from(end.steps.unwrap_or(MOST_ITERATIONS)).unwrap_or(usize::MAX),
        anderson_depth: DEPTH,
        compute: Compute::new(backend).with_precision(precision),
    }
}

/// A checkpoint that a run goes on from, and its file.
type Origin<'a, P> = (&'a Path, Reopened<P>);

/// The parameters of a run, and the checkpoint that it goes on from if the flags name one.
pub(super) fn reopened<'a, P: Parameters>(
    wanted: P,
    march: &'a MarchArgs,
    given: &ArgMatches,
) -> Result<(P, Option<Origin<'a, P>>)> {
    let Some(path) = &march.resume else {
        return Ok((wanted, None));
    };
    let (mut parameters, content) = flow::reopened(path, &wanted, march, given)?;
    // More iterations do not mean another residual.
    let goal = &mut parameters.end().until_residual;
    *goal = goal.or(content.until_residual);
    Ok((parameters, Some((path.as_path(), content))))
}

/// Adds the state at rest to the perturbations that the linear mode returns.
pub(super) fn total(moments: &mut [Moments]) {
    for m in moments {
        m.density += 1.0;
        m.temperature += 1.0;
        m.pressure[0] += 0.5;
        m.pressure[1] += 0.5;
    }
}

/// Iterates a prepared solver to its end, with progress.
pub(super) fn iterate(
    name: &'static str,
    solver: &mut SteadySolver,
    goal: f64,
    quiet: bool,
) -> Result<Status> {
    let mut progress = Progress::new(name, quiet);
    loop {
        if let Some(status) = solver.status() {
            progress.finish();
            return Ok(status);
        }
        advance(solver, goal, &mut progress)?;
    }
}

/// One iteration, and its progress.
fn advance(solver: &mut SteadySolver, goal: f64, progress: &mut Progress) -> Result<()> {
    let residual = solver.iterate()?;
    let done = solver.residuals().len();
    // Residuals fall about exponentially.
    let first = solver.residuals().first().copied().unwrap_or(1.0).ln();
    let share = ((residual.ln() - first) / (goal.ln() - first)).clamp(0.0, 1.0);
    progress.update(share, || {
        format!("iteration {done}, residual {residual:.1e}")
    });
    Ok(())
}

/// Reports how an iteration ended: its status, and how far its result is from the steady flow. A run that has not converged is none.
pub(super) fn judge(report: &mut Report, solution: &Solution, goal: f64, remedy: &str) {
    let change = solution.residuals.last().copied().unwrap_or(f64::NAN);
    let (spread, count) = (solution.flux_spread, solution.residuals.len());
    let finite = |value: f64| value.is_finite().then_some(value);
    report.set("status", solution.status);
    report.set("change", finite(change));
    report.set("flux_spread", finite(spread));
    report.set("error_estimate", finite(solution.error_estimate));
    if let Some(excess) = solution.downstream_excess {
        report.set("downstream_excess", excess);
        if excess.abs() > MOST_CUT {
            report.warn(format!(
                "the domain cuts the downstream tail of the wave: the stream that closes it is off by {:.1e}; use a longer domain",
                excess.abs()
            ));
        }
    }
    let state = format!(
        "the fields change by {change:.1e} in an iteration and {}; {goal:.1e} was asked for",
        if spread.is_finite() {
            format!("the fluxes vary by {spread:.1e}")
        } else {
            "have not settled".into()
        }
    );
    match solution.status {
        Status::Converged if solution.flux_roundoff <= 10.0 * goal => {}
        Status::Converged => report.warn(format!(
            "the iteration has converged to {goal:.1e}, and roundoff leaves more: the result is right to about {:.1e}",
            solution.error_estimate
        )),
        Status::AtRoundoff => report.warn(format!(
            "roundoff ends the iteration: {state}; the result is right to about {:.1e}",
            solution.error_estimate
        )),
        Status::Unfinished => report.not_converged(format!(
            "after {count} iterations {state}; allow more with {remedy}"
        )),
        _ => report.not_converged(format!(
            "after {count} iterations nothing falls any more: {state}; use other cells or velocities"
        )),
    }
}

/// A steady run: its parameters, where its files go, and the checkpoint that it goes on from.
pub(super) struct SteadyRun<'a, P: Parameters> {
    pub(super) parameters: &'a P,
    pub(super) files: &'a mut Transaction,
    pub(super) folder: Option<&'a Path>,
    pub(super) from: Option<Origin<'a, P>>,
    pub(super) quiet: bool,
}

impl<P: Parameters> SteadyRun<'_, P> {
    /// The iteration from its start, or from the checkpoint if there is one.
    fn begin(
        &mut self,
        case: SteadyProblem,
        config: &SteadyConfig,
        report: &mut Report,
    ) -> Result<SteadySolver> {
        let Some((path, mut content)) = self.from.take() else {
            return SteadySolver::new(case, config);
        };
        let solver = SteadySolver::resume(Checkpoint {
            case,
            config: *config,
            unknowns: content.take(path, "unknowns")?,
            residuals: content.take(path, "residuals")?,
            values: content.take(path, "values")?,
            mixed: content.take(path, "mixed")?,
            spreads: content.take(path, "spreads")?,
            correction: content.take(path, "correction")?,
        })?;
        if let Some(warning) = content.elsewhere(&solver.device()) {
            report.warn(warning);
        }
        Ok(solver)
    }

    fn save(&mut self, solver: &SteadySolver) -> Result<Option<PathBuf>> {
        let Some(folder) = self.folder else {
            return Ok(None);
        };
        let saved = solver.checkpoint();
        let arrays = BTreeMap::from([
            ("unknowns".to_owned(), saved.unknowns),
            ("residuals".to_owned(), saved.residuals),
            ("values".to_owned(), saved.values),
            ("mixed".to_owned(), saved.mixed),
            ("spreads".to_owned(), saved.spreads),
            ("correction".to_owned(), saved.correction),
        ]);
        let (machine, step) = (solver.device(), solver.residuals().len() as u64);
        flow::save(self.parameters, machine, step, arrays, self.files, folder).map(Some)
    }

    /// Iterates to the end, with progress, checkpoints, and a stop at Ctrl-C.
    fn iterate(
        &mut self,
        solver: &mut SteadySolver,
        goal: f64,
        report: &mut Report,
    ) -> std::result::Result<Status, Failure> {
        let interrupted = resume::interruption();
        let every = self.parameters.clone().end().checkpoint_every;
        let mut progress = Progress::new(P::COMMAND, self.quiet);
        loop {
            if let Some(status) = solver.status() {
                progress.finish();
                return Ok(status);
            }
            if interrupted.load(Ordering::SeqCst) {
                progress.finish();
                let after = format!("{} iterations", solver.residuals().len());
                return Err(resume::stopped(P::COMMAND, &after, self.save(solver)));
            }
            let advanced = advance(solver, goal, &mut progress);
            advanced.map_err(|error| report.broken_off(error))?;
            if every.is_some_and(|every| (solver.residuals().len() as u64).is_multiple_of(every)) {
                report.saved(self.save(solver))?;
            }
        }
    }
}

/// Solves a case, and tells how it went in the words of a run in time, an iteration for a step.
pub(super) fn solve<P: Parameters>(
    mut run: SteadyRun<'_, P>,
    case: &SteadyProblem,
    config: &SteadyConfig,
    report: &mut Report,
) -> std::result::Result<(Solution, Course), Failure> {
    // The first factors of a large plane take many seconds.
    let preparing = Progress::new(P::COMMAND, run.quiet);
    let mut solver = run.begin(case.clone(), config, report)?;
    preparing.finish();
    for warning in case.warnings(config.closure) {
        report.warn(warning);
    }
    report.set("machine", solver.device());
    let started = Instant::now();
    let status = run.iterate(&mut solver, config.tolerance(), report)?;
    let spent = started.elapsed();
    report.time("iterations", spent);
    let solution = solver.solution()?;
    judge(report, &solution, config.tolerance(), "--steps");
    let count = solution.residuals.len() as u64;
    report.set(
        "steady",
        json!({
            "status": status,
            "iterations": count,
            "closure": config.closure,
            "mixed": config.anderson_depth,
        }),
    );
    let history = (1..).zip(&solution.residuals);
    let course = Course {
        steps: count,
        time: 0.0,
        residual: solution.residuals.last().copied().unwrap_or(f64::NAN),
        converged: Some(status.is_done()),
        history: history.map(|(k, residual)| (k, 0.0, *residual)).collect(),
        spent: (spent, count),
    };
    Ok((solution, course))
}
