//! `rarefy isotropic` in time: its start, its steps, and its results.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ArgMatches;

use super::parameters::IsotropicArgs;
use super::results::Outcome;
use super::state::{self, Saved, Snapshot};
use super::verify::Run;
use crate::accuracy::Reached;
use crate::cli::drive::{self, CommandObserver};
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::cli::{resume, steps};
use crate::error::Result;
use crate::isotropic::{Checkpoint, OperatorConfig, Relaxation, RelaxationConfig, errors, rates};
use crate::run::{Ending, Goal, Now};

/// Default number of steps.
const STEPS: u64 = 100;

/// Steps between two records, if none are asked for: 500 to 1000 records. A power of two, so that a run with a later end has some of the same records.
fn default_every(steps: u64) -> u64 {
    let every = steps.div_ceil(1000);
    every.checked_next_power_of_two().unwrap_or(every)
}

/// The records that an uninterrupted run to `steps` has of those in a checkpoint.
fn thin(checkpoint: &mut Checkpoint, parameters: &IsotropicArgs, steps: u64) {
    let every = &mut checkpoint.config.every;
    let wanted = parameters.every.unwrap_or(default_every(steps));
    if wanted.is_multiple_of(*every) {
        *every = wanted;
    }
    for history in &mut checkpoint.histories {
        history.retain(|row| row.step.is_multiple_of(*every));
    }
}

/// Steps of this length to a time.
fn steps_to(until: f64, step: f64) -> Result<u64> {
    let steps = steps::bounded(("--until", until), [until, step], steps::MOST)?;
    Ok((steps * (1.0 - 1e-12)).ceil().max(1.0) as u64)
}

/// Runs from an initial state.
pub(super) fn start(
    parameters: &IsotropicArgs,
    config: OperatorConfig,
    f: Vec<f64>,
    (warnings, mut report): (Vec<String>, Report),
) -> std::result::Result<(), Failure> {
    let begun = Instant::now();
    report.open_resumable(None, parameters.checkpoint_every, false)?;
    let Some(accuracy) = parameters.verify.accuracy else {
        return go(parameters, config, f, None, (warnings, report));
    };
    report.watch_for_signals();
    let (step, steps) = course(parameters, &config, &f)?;
    let step = match step {
        Some(step) => step,
        None => 0.5 * rates(&config, &f)?.largest_step(),
    };
    let whole = Run {
        parameters,
        config: &config,
        f: &f,
        course: Some((step * steps as f64, steps)),
    };
    let (parameters, search) = whole.refined(accuracy)?;
    report.time("search", begun.elapsed());
    report.set_parameters(&parameters);
    let (parameters, config, f) = parameters.resolved()?;
    go(&parameters, config, f, Some(search), (warnings, report))
}

/// The step of a run, unless the relaxation chooses it, and the number of steps.
fn course(
    parameters: &IsotropicArgs,
    config: &OperatorConfig,
    f: &[f64],
) -> Result<(Option<f64>, u64)> {
    Ok(match (parameters.until, parameters.dt) {
        (Some(until), dt) => {
            let dt = match dt {
                Some(dt) => dt,
                None => 0.5 * rates(config, f)?.largest_step(),
            };
            let steps = steps_to(until, dt)?;
            (Some(until / steps as f64), steps)
        }
        (None, dt) => (dt, parameters.steps.unwrap_or(STEPS)),
    })
}

/// Takes the steps from an initial state.
fn go(
    parameters: &IsotropicArgs,
    config: OperatorConfig,
    f: Vec<f64>,
    search: Option<Reached>,
    (warnings, mut report): (Vec<String>, Report),
) -> std::result::Result<(), Failure> {
    let begun = Instant::now();
    let (step, steps) = course(parameters, &config, &f)?;
    let every = parameters.every.unwrap_or(default_every(steps));
    let run = Relaxation::new(
        RelaxationConfig {
            operator: config,
            integrator: parameters.integrator,
            dt: step,
            every,
        },
        std::slice::from_ref(&f),
    )?;
    report.time("setup", begun.elapsed());
    let run = InTime {
        parameters,
        run,
        kept: vec![Snapshot { time: 0.0, f }],
        warnings,
        steps,
        search,
    };
    run.run_to_the_end(parameters.common.quiet, report)
}

/// Goes on from a checkpoint.
pub(super) fn go_on(
    args: &IsotropicArgs,
    path: &Path,
    given: &ArgMatches,
    started: Instant,
) -> std::result::Result<(), Failure> {
    let Saved {
        mut parameters,
        version,
        machine,
        mut checkpoint,
        snapshots,
        mut warnings,
    } = Saved::read(path)?;
    parameters.go_on(args, given)?;
    let done = checkpoint.step;
    let steps = match parameters.until {
        Some(until) => steps_to(until, checkpoint.time_step)?,
        None => parameters.steps.unwrap_or(STEPS),
    };
    resume::check_end(path, done, steps, "--steps or --until")?;
    let mut report = Report::new("isotropic", &parameters, &args.common, started);
    report.open_resumable(Some(path), parameters.checkpoint_every, false)?;
    thin(&mut checkpoint, &parameters, steps);
    let run = Relaxation::resume(checkpoint)?;
    warnings.extend(resume::elsewhere(&version, &machine, &run.device()));
    for warning in &warnings {
        report.warn(warning.clone());
    }
    report.time("setup", started.elapsed());
    let run = InTime {
        parameters: &parameters,
        run,
        kept: snapshots,
        warnings,
        steps,
        search: None,
    };
    run.run_to_the_end(args.common.quiet, report)
}

/// A run from its start to its files.
struct InTime<'a> {
    parameters: &'a IsotropicArgs,
    run: Relaxation,
    /// States at times that double, the initial one first.
    kept: Vec<Snapshot>,
    /// Warnings of the start.
    warnings: Vec<String>,
    /// Steps in all.
    steps: u64,
    /// The search for the grid.
    search: Option<Reached>,
}

/// A run on its way.
struct IsotropicObserver<'a> {
    parameters: &'a IsotropicArgs,
    kept: &'a mut Vec<Snapshot>,
    warnings: &'a [String],
    /// The next step whose state is kept.
    next: Option<u64>,
}

impl CommandObserver<Relaxation> for IsotropicObserver<'_> {
    fn next(&self, run: &Relaxation) -> u64 {
        let done = run.steps_taken();
        self.next.map_or(u64::MAX, |next| next - done)
    }

    fn record(&mut self, run: &mut Relaxation, now: &Now) -> Result<ControlFlow<Ending>> {
        if self.next == Some(now.step) {
            self.kept.push(snapshot(run)?);
            self.next = state::next_kept(now.step, run.config().every);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn save(&mut self, run: &mut Relaxation, report: &mut Report) -> Result<Option<PathBuf>> {
        report.checkpoint(|_| state::checkpoint(self.parameters, run, self.kept, self.warnings))
    }

    fn progress(&self, run: &Relaxation, now: &Now) -> (f64, String) {
        let row = run.history(0).last();
        let entropy = row.map_or(f64::NAN, |row| row.moments.entropy);
        let (step, time) = (now.step, now.time);
        let text = format!("step {step}, t = {time:.3}, H = {entropy:.6}");
        (now.share, text)
    }
}

fn snapshot(run: &mut Relaxation) -> Result<Snapshot> {
    let time = run.time();
    let f = run.states()?.remove(0);
    Ok(Snapshot { time, f })
}

impl InTime<'_> {
    fn run_to_the_end(
        mut self,
        quiet: bool,
        mut report: Report,
    ) -> std::result::Result<(), Failure> {
        let (parameters, steps, run) = (self.parameters, self.steps, &mut self.run);
        let mut observer = IsotropicObserver {
            parameters,
            kept: &mut self.kept,
            warnings: &self.warnings,
            next: state::next_kept(run.steps_taken(), run.config().every),
        };
        let driving = ("isotropic", parameters.checkpoint_every, quiet);
        let goal = Goal::steps(steps);
        let completed = drive::drive(run, &goal, &mut observer, driving, &mut report)?;
        completed.note_times(&mut report);
        let last = snapshot(run)?;

        let config = self.run.config().operator.clone();
        let first = self.run.history(0)[0].moments;
        let rates = match self.parameters.spectrum {
            None => None,
            Some(count) => Some(errors::decay_rates(&config, &first, count)?),
        };
        let found = errors::quantities(&config, &first, &last.f, rates.as_deref().unwrap_or(&[]));
        let whole = Run {
            parameters: self.parameters,
            config: &config,
            f: &self.kept[0].f,
            course: Some((self.run.time(), steps)),
        };
        let errors = whole.errors(found, self.search.as_ref(), &mut report)?;
        let outcome = Outcome {
            parameters: self.parameters,
            init: &self.parameters.init,
            config: &config,
            run: &self.run,
            snapshots: &state::shown(&self.kept, last),
            decay_rates: rates,
            errors,
            steps,
        };
        outcome.report(&mut report);
        report.write(|out| outcome.write(out))?;
        report.finish(|total| outcome.summary(completed.spent, total))
    }
}
