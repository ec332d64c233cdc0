//! The iteration to the steady state of a flow, with checkpoints.

use std::path::PathBuf;

use clap::ArgMatches;
use serde_json::json;

use super::arguments::TimeOptions;
use super::case::{Flow, Snapshot};
use super::course::Course;
use super::kept::{self, Reopened};
use crate::bgk::boltzmann::Collisions;
use crate::bgk::steady::{Checkpoint, Solution, SteadyConfig, SteadyProblem, SteadySolver};
use crate::cli::checkpoint::Arrays;
use crate::cli::drive::{self, CommandObserver};
use crate::cli::failure::Failure;
use crate::cli::progress::Progress;
use crate::cli::report::Report;
use crate::cli::steady::{ADVICE, iteration, report_convergence};
use crate::compute::Precision;
use crate::error::Result;
use crate::run::{Goal, Now, Run};

/// Accommodation below which nonlinear cavities with the default lid come near their roundoff.
const LOOSE: f64 = 1e-2;

/// Residual at which an iteration ends by default.
pub(in crate::cli) fn residual(precision: Precision, collisions: Collisions) -> f64 {
    SteadyConfig::usual_tolerance(precision, collisions == Collisions::Boltzmann)
}

/// The library's configuration of a flow; `--steps` counts its iterations.
pub(super) fn config<F: Flow>(flow: &F) -> SteadyConfig {
    let (options, common) = (flow.time_options(), flow.common());
    SteadyConfig {
        closure: options.interpolation().closure(),
        rtol: options.until_residual,
        iterations: options
            .steps
            .map_or(SteadyConfig::MOST_ITERATIONS, |steps| {
                usize::try_from(steps).unwrap_or(usize::MAX)
            }),
        anderson_depth: SteadyConfig::DEPTH,
        compute: common.compute(),
    }
}

/// The arguments of a run in full, and the checkpoint that it goes on from if the flags name one.
pub(super) fn reopened<F: Flow>(
    wanted: F,
    options: &TimeOptions,
    given: &ArgMatches,
) -> Result<(F, Option<Reopened<F>>)> {
    let Some(path) = &options.resume else {
        return Ok((wanted, None));
    };
    let (mut flow, content) = kept::reopened(path, &wanted, options, given)?;
    // More iterations do not mean another residual.
    let goal = &mut flow.time_options_mut().until_residual;
    *goal = goal.or(content.until_residual);
    Ok((flow, Some(content)))
}

/// A steady run: its parameters, and the checkpoint that it goes on from.
pub(super) struct SteadyRun<'a, F: Flow> {
    pub(super) parameters: &'a F,
    pub(super) from: Option<Reopened<F>>,
    pub(super) quiet: bool,
}

impl<F: Flow> SteadyRun<'_, F> {
    /// The iteration from its start, or from the checkpoint if there is one.
    fn begin(
        &mut self,
        case: SteadyProblem,
        config: &SteadyConfig,
        report: &mut Report,
    ) -> Result<SteadySolver> {
        let Some(mut content) = self.from.take() else {
            return SteadySolver::new(case, config);
        };
        let solver = SteadySolver::resume(Checkpoint {
            problem: case,
            config: *config,
            unknowns: content.take("unknowns")?,
            residuals: content.take("residuals")?,
            values: content.take("values")?,
            mixed: content.take("mixed")?,
            spreads: content.take("spreads")?,
            correction: content.take("correction")?,
        })?;
        if let Some(warning) = content.elsewhere(&solver.device()) {
            report.warn(warning);
        }
        Ok(solver)
    }
}

/// A steady run on its way.
struct SteadyObserver<'a, F>(&'a F);

impl<F: Flow> CommandObserver<SteadySolver> for SteadyObserver<'_, F> {
    const STEPS: &'static str = "iterations";

    fn next(&self, _: &SteadySolver) -> u64 {
        1
    }

    fn save(&mut self, solver: &mut SteadySolver, report: &mut Report) -> Result<Option<PathBuf>> {
        let (machine, step) = (solver.device(), solver.steps_taken());
        kept::save(report, self.0, machine, step, || {
            let saved = solver.checkpoint();
            let arrays = Arrays::from([
                ("unknowns".to_owned(), saved.unknowns.into()),
                ("residuals".to_owned(), saved.residuals.into()),
                ("values".to_owned(), saved.values.into()),
                ("mixed".to_owned(), saved.mixed.into()),
                ("spreads".to_owned(), saved.spreads.into()),
                ("correction".to_owned(), saved.correction.into()),
            ]);
            Ok(Snapshot { arrays, part: None })
        })
    }

    fn progress(&self, solver: &SteadySolver, now: &Now) -> (f64, String) {
        (now.share, iteration(solver))
    }
}

/// Solves a case. The course of a run in time has an iteration where it has a step.
pub(super) fn solve<F: Flow>(
    mut run: SteadyRun<'_, F>,
    case: &SteadyProblem,
    config: &SteadyConfig,
    report: &mut Report,
) -> std::result::Result<(Solution, Course), Failure> {
    // The first factors of a large plane take many seconds.
    let preparing = Progress::new(F::COMMAND, run.quiet);
    let mut solver = run.begin(case.clone(), config, report)?;
    preparing.finish();
    for warning in case.warnings(config.closure) {
        report.warn(warning);
    }
    report.set("machine", solver.device());
    let every = run.parameters.time_options().checkpoint_every;
    let driving = (F::COMMAND, every, run.quiet);
    let mut observer = SteadyObserver(run.parameters);
    let completed = drive::drive(
        &mut solver,
        &Goal::default(),
        &mut observer,
        driving,
        report,
    )?;
    report.time("iterations", completed.spent);
    let solution = solver.solution()?;
    let advice = if !case.linear && case.least_accommodation() < LOOSE {
        "walls that mirror nearly all molecules leave a flow near the roundoff of its gas: use the linearised equation, or a stronger drive"
    } else {
        ADVICE
    };
    report_convergence(report, &solution, config.tolerance(), ["--steps", advice]);
    let si = &run.parameters.shared().si;
    if let Some(warning) = si.beyond_rotation(&solution.cells) {
        report.warn(warning);
    }
    let count = solution.residuals.len() as u64;
    report.set(
        "steady",
        json!({
            "status": completed.ending,
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
        converged: Some(completed.ending.is_done()),
        history: history.map(|(k, residual)| (k, 0.0, *residual)).collect(),
        spent: (completed.spent, count),
    };
    Ok((solution, course))
}
