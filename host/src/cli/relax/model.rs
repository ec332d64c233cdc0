//! `rarefy relax --model`: homogeneous relaxation by a model, by its exact step in time.

mod parameters;
mod results;
mod state;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use clap::ArgMatches;

use super::parameters::RelaxArgs;
use crate::bgk::Simulation;
use crate::cli::drive::{self, CommandObserver};
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::cli::resume;
use crate::error::Result;
use crate::run::{Ending, Goal, Now};
use parameters::ModelRelaxation;
use state::Record;
pub(in crate::cli) use state::{Saved, is_checkpoint};

/// A relaxation by a model on its way.
struct ModelObserver<'a> {
    parameters: &'a ModelRelaxation,
    history: Vec<Record>,
}

impl CommandObserver<Simulation> for ModelObserver<'_> {
    /// Each state has its record.
    fn next(&self, _: &Simulation) -> u64 {
        1
    }

    fn record(&mut self, run: &mut Simulation, _: &Now) -> Result<ControlFlow<Ending>> {
        self.history.push(Record::now(run)?);
        Ok(ControlFlow::Continue(()))
    }

    fn save(&mut self, run: &mut Simulation, report: &mut Report) -> Result<Option<PathBuf>> {
        report.checkpoint(|_| state::checkpoint(self.parameters, &self.history, run))
    }

    fn progress(&self, _: &Simulation, now: &Now) -> (f64, String) {
        let text = format!("step {}, t = {:.3}", now.step, now.time);
        (now.share, text)
    }
}

/// Runs the relaxation.
pub(super) fn run(args: &RelaxArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    let started = Instant::now();
    parameters::refuse_others(args, given)?;
    let wanted = ModelRelaxation::of(args);
    let (parameters, saved) = match &args.resume {
        None => (wanted.resolved()?, None),
        Some(path) => {
            let mut saved = Saved::read(path)?;
            saved.parameters.go_on(&wanted, given)?;
            (saved.parameters.clone(), Some((path, saved)))
        }
    };
    let case = parameters.case()?;
    parameters.check_velocities(&case)?;
    let end = parameters.end(&case)?;
    if let Some((path, saved)) = &saved {
        resume::check_end(path, saved.step(), end, "--steps or --until")?;
    }

    let common = &args.common;
    let mut report = Report::new("relax", &parameters, common, started);
    report.open_resumable(args.resume.as_deref(), args.checkpoint_every, true)?;
    common.open_ahead();

    let compute = parameters.common.compute();
    let (mut run, history) = match saved {
        None => {
            let mut run = case.begin(parameters.dt(), compute)?;
            let first = Record::now(&mut run)?;
            (run, vec![first])
        }
        Some((_, saved)) => {
            let (run, history, warning) = saved.begin()?;
            if let Some(warning) = warning {
                report.warn(warning);
            }
            (run, history)
        }
    };
    let units = parameters.units()?;
    if let Some(units) = units {
        report.set("units", units);
    }
    let first = history.first();
    if let Some(warning) = first.and_then(|first| parameters.beyond_rotation(&first.of)) {
        report.warn(warning);
    }
    report.time("setup", started.elapsed());

    let mut observer = ModelObserver {
        parameters: &parameters,
        history,
    };
    let driving = ("relax", parameters.checkpoint_every, common.quiet);
    let goal = Goal::steps(end);
    let completed = drive::drive(&mut run, &goal, &mut observer, driving, &mut report)?;
    completed.note_times(&mut report);
    let machine = run.device();
    // Its device closes while the plots are drawn.
    drop(run);
    let outcome = results::Outcome::new(&parameters, &case, units, machine, &observer.history);
    outcome.report(&mut report);
    report.write(|out| outcome.write(out))?;
    report.finish(|total| outcome.summary(completed.spent, total))
}
