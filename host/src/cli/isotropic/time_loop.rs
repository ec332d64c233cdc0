//! `rarefy isotropic` in time: the loop over the steps, with progress, checkpoints, and a stop at Ctrl-C.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ArgMatches;

use super::parameters::IsotropicArgs;
use super::results::Outcome;
use super::state::{self, Saved, Snapshot};
use super::verify::{self, Repeats};
use crate::accuracy::Reached;
use crate::cli::failure::Failure;
use crate::cli::interrupt;
use crate::cli::progress::Progress;
use crate::cli::report::Report;
use crate::cli::resume::{self, Pace};
use crate::cli::steps;
use crate::error::Result;
use crate::isotropic::{Checkpoint, OperatorConfig, Relaxation, RelaxationConfig, rates};

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
    let repeats = Repeats {
        parameters,
        f: &f,
        course: Some((step * steps as f64, steps)),
    };
    let (parameters, search) = verify::refined(&repeats, accuracy)?;
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
    let time_loop = TimeLoop {
        parameters,
        run,
        kept: vec![Snapshot { time: 0.0, f }],
        warnings,
        steps,
        search,
    };
    time_loop.run_to_the_end(parameters.common.quiet, report)
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
    let time_loop = TimeLoop {
        parameters: &parameters,
        run,
        kept: snapshots,
        warnings,
        steps,
        search: None,
    };
    time_loop.run_to_the_end(args.common.quiet, report)
}

/// A run on its way.
struct TimeLoop<'a> {
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

impl TimeLoop<'_> {
    fn save(&mut self, report: &mut Report) -> Result<Option<PathBuf>> {
        report.checkpoint(|_| {
            state::checkpoint(self.parameters, &mut self.run, &self.kept, &self.warnings)
        })
    }

    fn snapshot(&mut self) -> Result<Snapshot> {
        let time = self.run.time();
        let f = self.run.states()?.remove(0);
        Ok(Snapshot { time, f })
    }

    /// Steps to take at once: to the next state that is kept or saved, to the end, or until the next read by the host.
    fn part(&self, kept: Option<u64>, pace: &Pace) -> u64 {
        let done = self.run.steps_taken();
        let every = self.parameters.checkpoint_every;
        let saved = every.map(|every| (done / every + 1).saturating_mul(every));
        let next = [kept, saved]
            .into_iter()
            .flatten()
            .fold(self.steps, u64::min);
        pace.steps().min(next - done)
    }

    /// Takes steps; a record that is due after the last of all is made in any case.
    fn advance(&mut self, steps: u64) -> Result<()> {
        if self.run.steps_taken() + steps == self.steps {
            self.run.advance(steps)
        } else {
            self.run.advance_part(steps)
        }
    }

    fn run_to_the_end(
        mut self,
        quiet: bool,
        mut report: Report,
    ) -> std::result::Result<(), Failure> {
        let stepping = Instant::now();
        report.watch_for_signals();
        let mut progress = Progress::new("isotropic", quiet);
        let (first, steps) = (self.run.steps_taken(), self.steps);
        let every = self.run.config().every;
        let mut done = first;
        let mut pace = Pace::new();
        while done < steps {
            if interrupt::asked() {
                progress.finish();
                let after = format!("{done} steps");
                return Err(resume::stopped("isotropic", &after, self.save(&mut report)));
            }
            let kept = state::next_kept(done, every);
            let part = self.part(kept, &pace);
            let advancing = Instant::now();
            let advanced = self.advance(part);
            advanced.map_err(|error| report.broken_off(error))?;
            pace.learn(part, advancing.elapsed());
            done = self.run.steps_taken();
            if kept == Some(done) {
                let looked = self.snapshot();
                self.kept
                    .push(looked.map_err(|error| report.broken_off(error))?);
            }
            let due = self.parameters.checkpoint_every;
            if done < steps && due.is_some_and(|due| done.is_multiple_of(due)) {
                let saved = self.save(&mut report);
                report.saved(saved)?;
            }
            let row = self.run.history(0).last().copied();
            progress.update(done as f64 / steps as f64, || {
                let entropy = row.map_or(f64::NAN, |row| row.moments.entropy);
                format!("step {done}, t = {:.3}, H = {entropy:.6}", self.run.time())
            });
        }
        progress.finish();
        let spent = stepping.elapsed();
        report.time("steps", spent);
        if steps > first {
            report.time("step", spent.div_f64((steps - first) as f64));
        }
        if self.parameters.checkpoint_every.is_some() {
            let saved = self.save(&mut report);
            report.saved_at_the_end(saved)?;
        }
        let last = self.snapshot()?;

        let config = self.run.config().operator.clone();
        let first = self.run.history(0)[0].moments;
        let rates = match self.parameters.spectrum {
            None => None,
            Some(count) => Some(verify::decay_rates(&config, &first, count)?),
        };
        let found = verify::quantities(&config, &first, &last.f, rates.as_deref().unwrap_or(&[]));
        let repeats = Repeats {
            parameters: self.parameters,
            f: &self.kept[0].f,
            course: Some((self.run.time(), steps)),
        };
        let errors = verify::errors(&repeats, found, self.search.as_ref(), &mut report)?;
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
        report.finish(|total| outcome.summary(spent, total))
    }
}
