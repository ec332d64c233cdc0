//! `rarefy relax`: homogeneous relaxation on a 3D velocity grid.

mod parameters;
mod results;
pub(super) mod state;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::ArgMatches;

use super::checkpoint;
use super::distribution::Init;
use super::failure::Failure;
use super::output::Transaction;
use super::progress::Progress;
use super::report::Report;
use super::resume;
use crate::collision::{CorrectionStatus, Relaxation, Until};
use crate::error::Result;
use parameters::Parameters;
pub(super) use parameters::RelaxArgs;
use state::State;

/// A relaxation to equilibrium whose sum of |I| has not fallen for so many steps will not fall any further.
const PATIENCE: u64 = 500;

/// Runs the relaxation.
pub(super) fn run(args: &RelaxArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let started = Instant::now();
    let (parameters, start) = match &args.resume {
        None => {
            let (parameters, f) = Parameters::of(args)?;
            (parameters, Start::Fresh(f))
        }
        Some(path) => {
            let mut saved = state::Saved::read(path)?;
            saved.parameters.go_on(args, given)?;
            saved.check_end(path)?;
            (saved.parameters.clone(), Start::Saved(Box::new(saved)))
        }
    };
    let config = parameters.config()?;
    let grid = config.operator.grid;

    let mut files = Transaction::default();
    if let (Init::File(path), None) = (&args.init, &args.resume) {
        files.reads(path);
    }
    let folder = resume::folder(
        &mut files,
        common,
        args.resume.as_deref(),
        args.checkpoint_every,
        Some(PathBuf::from("rarefy-out/relax")),
    )?;

    let (mut relaxation, mut state, warnings) = match start {
        Start::Fresh(f) => {
            let relaxation = Relaxation::new(config, f.clone())?;
            let warnings = match args.init.beams() {
                Some(beams) => grid.warnings_of(&f, &beams),
                None => relaxation.warnings().to_vec(),
            };
            let state = State::new(grid, f, &relaxation.correction());
            (relaxation, state, warnings)
        }
        Start::Saved(saved) => {
            let (machine, version) = (saved.machine.clone(), saved.version.clone());
            let (checkpoint, state) = saved.split();
            let relaxation = Relaxation::resume(checkpoint)?;
            let here = relaxation.machine();
            let warning = resume::elsewhere(&version, &machine, &here);
            (relaxation, state, Vec::from_iter(warning))
        }
    };
    let mut report = Report::new("relax", &parameters, started);
    for warning in warnings {
        report.warn(warning);
    }
    report.time("setup", started.elapsed());

    let interrupted = resume::interruption();
    let save = |files: &mut Transaction,
                relaxation: &mut Relaxation,
                state: &State|
     -> Result<Option<PathBuf>> {
        let Some(folder) = &folder else {
            return Ok(None);
        };
        let path = folder.join(checkpoint::FILE);
        let bytes = state::encode(&parameters, state, relaxation)?;
        files.write_now(&path, &bytes).map(|()| Some(path))
    };
    let stepping = Instant::now();
    let first_step = relaxation.history().last().map_or(0, |row| row.step);
    let mut progress = Progress::new("relax", common.quiet);
    let mut stalled = false;
    while !relaxation.is_done() {
        if interrupted.load(Ordering::SeqCst) {
            progress.finish();
            let at = relaxation.history().last().map_or(0, |row| row.step);
            let after = format!("{at} steps");
            let saved = save(&mut files, &mut relaxation, &state);
            return Err(resume::stopped("relax", &after, saved));
        }
        if matches!(parameters.until(), Until::Equilibrium(_))
            && state::steps_without_fall(relaxation.history()) >= PATIENCE
        {
            stalled = true;
            break;
        }
        let row = relaxation.step();
        let row = row.map_err(|error| report.broken_off(error))?;
        let observed = state.observe(&mut relaxation, &row);
        observed.map_err(|error| report.broken_off(error))?;
        let every = parameters.checkpoint_every;
        if !relaxation.is_done() && every.is_some_and(|every| row.step.is_multiple_of(every)) {
            report.saved(save(&mut files, &mut relaxation, &state))?;
        }
        progress.update(relaxation.progress(), || {
            format!(
                "step {}, t = {:.3}, H = {:.6}",
                row.step, row.time, row.moments.entropy
            )
        });
    }
    progress.finish();
    let spent = stepping.elapsed();
    let steps = relaxation.history().last().map_or(0, |row| row.step) - first_step;
    report.time("steps", spent);
    if steps > 0 {
        report.time("step", spent.div_f64(steps as f64));
    }
    if stalled {
        report.warn(format!(
            "stopped: the sum of |I| has not fallen for {PATIENCE} steps; what is left is the roundoff of the arithmetic or the limit of the grid"
        ));
    }
    let correction = relaxation.correction();
    if correction.status == CorrectionStatus::Singular {
        report.warn(
            "no conservative correction exists, too few cells carry f: the moments may drift"
                .into(),
        );
    }
    if parameters.checkpoint_every.is_some() {
        report.saved_at_the_end(save(&mut files, &mut relaxation, &state))?;
    }

    let final_f = relaxation.distribution()?;
    let outcome = results::Outcome {
        parameters: &parameters,
        grid,
        machine: relaxation.machine(),
        history: relaxation.history(),
        correction,
        state: &state,
        final_f: &final_f,
    };
    outcome.report(&mut report);
    if let Some(folder) = &folder {
        outcome.stage(&mut report, &mut files, folder)?;
    }
    report.finish(files, folder.as_deref(), common, |total, folder| {
        outcome.summary(folder, spent, total)
    })
}

/// What a run starts from.
enum Start {
    Fresh(Vec<f64>),
    Saved(Box<state::Saved>),
}
