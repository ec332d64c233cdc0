//! `rarefy relax`: homogeneous relaxation on a 3D velocity grid.

mod parameters;
mod results;
pub(super) mod state;
mod verify;

use std::path::PathBuf;
use std::time::Instant;

use clap::ArgMatches;

use super::distribution::Init;
use super::failure::Failure;
use super::interrupt;
use super::operator::Taken;
use super::progress::Progress;
use super::report::Report;
use super::resume;
use super::steps;
use crate::collision::{CorrectionStatus, Relaxation, RelaxationConfig, Until};
use crate::error::Result;
pub(super) use parameters::RelaxArgs;
use state::State;

/// A relaxation to equilibrium whose sum of |I| has not fallen for so many steps will not fall any further.
const PATIENCE: u64 = 500;

/// A relaxation on its way.
struct TimeLoop<'a> {
    parameters: &'a RelaxArgs,
    relaxation: Relaxation,
    state: State,
}

impl TimeLoop<'_> {
    fn steps(&self) -> u64 {
        self.relaxation.history().last().map_or(0, |row| row.step)
    }

    fn save(&mut self, report: &mut Report) -> Result<Option<PathBuf>> {
        let Self {
            parameters,
            state,
            relaxation,
        } = self;
        report.checkpoint(|_| state::checkpoint(parameters, state, relaxation))
    }

    /// Takes all steps, with progress, checkpoints, and a stop at Ctrl-C. Returns whether the sum of |I| no longer falls.
    fn run_to_the_end(
        &mut self,
        quiet: bool,
        report: &mut Report,
    ) -> std::result::Result<bool, Failure> {
        report.watch_for_signals();
        let mut progress = Progress::new("relax", quiet);
        while !self.relaxation.is_done() {
            if interrupt::asked() {
                progress.finish();
                let after = format!("{} steps", self.steps());
                return Err(resume::stopped("relax", &after, self.save(report)));
            }
            if matches!(self.parameters.until(), Until::Equilibrium(_))
                && state::steps_without_fall(self.relaxation.history()) >= PATIENCE
            {
                progress.finish();
                return Ok(true);
            }
            let row = self.relaxation.step();
            let row = row.map_err(|error| report.broken_off(error))?;
            let observed = self.state.observe(&mut self.relaxation, &row);
            observed.map_err(|error| report.broken_off(error))?;
            let due = self.parameters.checkpoint_every;
            if !self.relaxation.is_done() && due.is_some_and(|due| row.step.is_multiple_of(due)) {
                let saved = self.save(report);
                report.saved(saved)?;
            }
            progress.update(self.relaxation.progress(), || {
                let (step, time, entropy) = (row.step, row.time, row.moments.entropy);
                format!("step {step}, t = {time:.3}, H = {entropy:.6}")
            });
        }
        progress.finish();
        Ok(false)
    }
}

/// Runs the relaxation.
pub(super) fn run(args: &RelaxArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let started = Instant::now();
    let mut search = None;
    let (parameters, start) = match &args.resume {
        None => {
            let (mut parameters, mut f, taken) = args.resolved()?;
            if let Some(accuracy) = args.verify.accuracy {
                let _watch = interrupt::Watch::new();
                let (refined, found) = verify::refined(&parameters, accuracy)?;
                let operator = refined.config()?.operator;
                f = (refined.init).sample(&operator.grid, operator.tolerated_negative())?;
                (parameters, search) = (refined, Some(found));
            }
            (parameters, Start::Fresh(f, taken))
        }
        Some(path) => {
            let mut saved = state::Saved::read(path)?;
            saved.parameters.go_on(args, given)?;
            saved.check_end(path)?;
            (saved.parameters.clone(), Start::Saved(Box::new(saved)))
        }
    };
    let config = parameters.config()?;

    let mut report = Report::new("relax", &parameters, common, started);
    if let (Init::File(path), None) = (&args.init, &args.resume) {
        report.reads(path);
    }
    report.open_resumable(args.resume.as_deref(), args.checkpoint_every, true)?;
    common.open_ahead();

    let (relaxation, state) = start.begin(&args.init, config.clone())?;
    if let Until::Time(end) = config.until {
        let left = end - relaxation.time();
        steps::bounded(
            ("--until", end),
            [left, relaxation.time_step()],
            steps::MOST,
        )?;
    }
    report.set("method", &state.method);
    for warning in &state.warnings {
        report.warn(warning.clone());
    }
    report.time("setup", started.elapsed());

    let mut time_loop = TimeLoop {
        parameters: &parameters,
        relaxation,
        state,
    };
    let stepping = Instant::now();
    let first_step = time_loop.steps();
    let stalled = time_loop.run_to_the_end(common.quiet, &mut report)?;
    let spent = stepping.elapsed();
    let steps = time_loop.steps() - first_step;
    report.time("steps", spent);
    if steps > 0 {
        report.time("step", spent.div_f64(steps as f64));
    }
    if stalled {
        report.warn(format!(
            "stopped: the sum of |I| has not fallen for {PATIENCE} steps; what is left is the roundoff of the arithmetic or the limit of the grid"
        ));
    }
    let correction = time_loop.relaxation.correction();
    if correction.status == CorrectionStatus::Singular {
        report.warn(
            "no conservative correction exists, too few cells carry f: the moments may drift"
                .into(),
        );
    }
    if parameters.checkpoint_every.is_some() {
        let saved = time_loop.save(&mut report);
        report.saved_at_the_end(saved)?;
    }

    let final_f = time_loop.relaxation.state()?;
    let TimeLoop {
        relaxation, state, ..
    } = time_loop;
    let (machine, history) = (relaxation.device(), relaxation.history().to_vec());
    // Its device closes while the plots are drawn.
    drop(relaxation);
    let full = (&parameters, &config.operator);
    let errors = verify::errors(full, &history, search.as_ref(), &mut report)?;
    let outcome = results::Outcome {
        errors,
        parameters: &parameters,
        config: &config.operator,
        machine,
        history: &history,
        correction,
        state: &state,
        final_f: &final_f,
    };
    outcome.report(&mut report);
    report.write(|out| outcome.write(out))?;
    report.finish(|total| outcome.summary(spent, total))
}

/// The start of a run.
enum Start {
    Fresh(Vec<f64>, Taken),
    Saved(Box<state::Saved>),
}

impl Start {
    /// The relaxation, and the state beside it with the warnings of the start.
    fn begin(self, init: &Init, config: RelaxationConfig) -> Result<(Relaxation, State)> {
        match self {
            Self::Fresh(f, taken) => {
                let grid = config.operator.grid;
                let relaxation = Relaxation::new(config, f.clone())?;
                let warnings = match init.beams() {
                    Some(beams) => grid.warnings_of(&f, &beams),
                    None => relaxation.warnings().to_vec(),
                };
                let mut state = State::new(grid, f, taken, &relaxation.correction());
                state.warnings = warnings;
                Ok((relaxation, state))
            }
            Self::Saved(saved) => {
                let (machine, version) = (saved.machine.clone(), saved.version.clone());
                let (checkpoint, mut state) = saved.split();
                let relaxation = Relaxation::resume(checkpoint)?;
                let warning = resume::elsewhere(&version, &machine, &relaxation.device());
                state.warnings.extend(warning);
                Ok((relaxation, state))
            }
        }
    }
}
