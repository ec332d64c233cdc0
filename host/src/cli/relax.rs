//! `rarefy relax`: homogeneous relaxation on a 3D velocity grid.

pub(super) mod model;
mod parameters;
mod results;
pub(super) mod state;
mod verify;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use clap::ArgMatches;

use super::distribution::Init;
use super::drive::{self, CommandObserver};
use super::failure::Failure;
use super::interrupt;
use super::operator::Taken;
use super::report::Report;
use super::resume;
use super::steps;
use crate::collision::{CorrectionStatus, Relaxation, RelaxationConfig, Until};
use crate::error::Result;
use crate::run::{Ending, Goal, Now};
pub(super) use parameters::RelaxArgs;
use state::State;

/// A relaxation on its way.
struct RelaxObserver<'a> {
    parameters: &'a RelaxArgs,
    state: State,
}

impl CommandObserver<Relaxation> for RelaxObserver<'_> {
    /// Each state has its correction.
    fn next(&self, _: &Relaxation) -> u64 {
        1
    }

    fn record(&mut self, run: &mut Relaxation, _: &Now) -> Result<ControlFlow<Ending>> {
        self.state.observe(run)?;
        Ok(ControlFlow::Continue(()))
    }

    fn save(&mut self, run: &mut Relaxation, report: &mut Report) -> Result<Option<PathBuf>> {
        report.checkpoint(|_| state::checkpoint(self.parameters, &self.state, run))
    }

    fn progress(&self, run: &Relaxation, now: &Now) -> (f64, String) {
        let (step, time, entropy) = (now.step, now.time, run.moments().entropy);
        let text = format!("step {step}, t = {time:.3}, H = {entropy:.6}");
        (now.share, text)
    }
}

/// Runs the relaxation.
pub(super) fn run(args: &RelaxArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    let of_a_model = match &args.resume {
        Some(path) => model::is_checkpoint(path)?,
        None => args.is_of_a_model(),
    };
    if of_a_model {
        return model::run(args, given);
    }
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
            args.refuse_models()?;
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

    let mut run = relaxation;
    let mut observer = RelaxObserver {
        parameters: &parameters,
        state,
    };
    let every = parameters.checkpoint_every;
    let driving = ("relax", every, common.quiet);
    let completed = drive::drive(
        &mut run,
        &Goal::default(),
        &mut observer,
        driving,
        &mut report,
    )?;
    completed.note_times(&mut report);
    if completed.ending == Ending::Stalled {
        report.warn(format!(
            "stopped: the sum of |I| has not fallen for {} steps; what is left is the roundoff of the arithmetic or the limit of the grid",
            Relaxation::PATIENCE
        ));
    }
    let correction = run.correction();
    if correction.status == CorrectionStatus::Singular {
        report.not_converged(
            "f lives in too few cells for a conservative correction, and its moments drift; it takes cells narrower than f".into(),
        );
    }

    let final_f = run.state()?;
    let (machine, history) = (run.device(), run.history().to_vec());
    // Its device closes while the plots are drawn.
    drop(run);
    let full = (&parameters, &config);
    let errors = verify::errors(full, &history, search.as_ref(), &mut report)?;
    let outcome = results::Outcome {
        errors,
        parameters: &parameters,
        config: &config.operator,
        machine,
        history: &history,
        correction,
        state: &observer.state,
        final_f: &final_f,
    };
    outcome.report(&mut report);
    report.write(|out| outcome.write(out))?;
    report.finish(|total| outcome.summary(completed.spent, total))
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
