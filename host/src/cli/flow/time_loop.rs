//! The steps of a run in time, and its end.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::case::Flow;
use super::course::{Course, History};
use super::kept;
use super::series::Series;
use crate::bgk::{March, SimulationConfig};
use crate::cli::drive::{self, CommandObserver};
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::error::Result;
use crate::run::{Ending, Goal, Now, Residual, Run};

/// Steps between two evaluations of the residual.
const LOOK: u64 = 50;

/// A run on its way.
struct TimeObserver<'a, F> {
    parameters: &'a F,
    history: History,
    /// Fields that are saved on the way.
    series: Option<Series>,
}

impl<F: Flow> CommandObserver<March> for TimeObserver<'_, F> {
    fn next(&self, run: &March) -> u64 {
        let now = run.steps_taken();
        let series = self.series.as_ref();
        series.map_or(u64::MAX, |series| series.next(now) - now)
    }

    fn record(&mut self, _: &mut March, now: &Now) -> Result<ControlFlow<Ending>> {
        let residual = now.residual.into_iter();
        self.history
            .extend(residual.map(|value| (now.step, now.time, value)));
        Ok(ControlFlow::Continue(()))
    }

    fn write(&mut self, run: &mut March, now: &Now, report: &mut Report) -> Result<()> {
        match &mut self.series {
            Some(series) => series.save(run, now.ending.is_some(), report),
            None => Ok(()),
        }
    }

    fn save(&mut self, run: &mut March, report: &mut Report) -> Result<Option<PathBuf>> {
        let (machine, step) = (run.device(), run.steps_taken());
        kept::save(report, self.parameters, machine, step, || {
            let mut saved = kept::snapshot(run)?;
            let rows = self.history.iter();
            let rows = rows.flat_map(|&(step, time, residual)| [step as f64, time, residual]);
            let rows: Vec<f64> = rows.collect();
            saved.arrays.insert("history".into(), rows.into());
            Ok(saved)
        })
    }

    fn progress(&self, _: &March, now: &Now) -> (f64, String) {
        let (step, time) = (now.step, now.time);
        let text = match self.history.last() {
            Some((.., residual)) => format!("step {step}, t = {time:.3}, residual {residual:.2e}"),
            None => format!("step {step}, t = {time:.3}"),
        };
        (now.share, text)
    }
}

/// Takes the steps of a run, with progress, checkpoints, and a stop at Ctrl-C. `history` is what it went through before.
pub(in crate::cli) fn drive<F: Flow>(
    parameters: &F,
    run: &mut March,
    history: History,
    quiet: bool,
    report: &mut Report,
) -> std::result::Result<Course, Failure> {
    let end = parameters.time_options();
    let rows = history.iter();
    let before = rows.map(|&(step, time, value)| Residual { step, time, value });
    let goal = Goal {
        steps: Some(end.steps.unwrap_or(SimulationConfig::MOST_STEPS)),
        residual: end.until_residual,
        every: Some(LOOK),
        before: before.collect(),
        ..Goal::default()
    };
    let mut observer = TimeObserver {
        parameters,
        series: Series::of(parameters, run, report)?,
        history,
    };
    let driving = (F::COMMAND, end.checkpoint_every, quiet);
    let completed = drive::drive(run, &goal, &mut observer, driving, report)?;
    completed.note_times(report);
    let history = observer.history;
    let residual = history.last().map_or(f64::INFINITY, |row| row.2);
    let steps = run.steps_taken();
    report.set("status", completed.ending);
    let until = end.until_residual.unwrap_or_default();
    match completed.ending {
        Ending::Stalled => report.not_converged(format!(
            "after {steps} steps the residual no longer falls: it is {residual:.2e}, and {until:e} was asked for"
        )),
        Ending::Unfinished => report.not_converged(format!(
            "after {steps} steps the residual is {residual:.2e}, and {until:e} was asked for; more --steps may do"
        )),
        _ => {}
    }
    Ok(Course {
        steps,
        time: run.time(),
        residual,
        converged: end
            .until_residual
            .map(|_| completed.ending == Ending::Steady),
        history,
        spent: (completed.spent, completed.steps),
    })
}
