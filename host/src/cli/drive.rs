//! The run of a command on its way: progress, records, checkpoints, and a stop at a signal.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::progress::Progress;
use super::report::Report;
use super::{interrupt, ranks, resume};
use crate::error::Result;
use crate::run::{self, Ending, Goal, Now, Observer, Run};

/// The records of a command on the way of its run, and its words.
pub(super) trait CommandObserver<R: Run> {
    /// The name of its steps.
    const STEPS: &'static str = "steps";

    /// Steps to the next state that it needs.
    fn next(&self, run: &R) -> u64 {
        let _ = run;
        u64::MAX
    }

    /// Keeps records that belong to a checkpoint, after steps and new residuals; it may end the run.
    fn record(&mut self, run: &mut R, now: &Now) -> Result<ControlFlow<Ending>> {
        let _ = (run, now);
        Ok(ControlFlow::Continue(()))
    }

    /// Writes results of now, before the first step too.
    fn write(&mut self, run: &mut R, now: &Now, report: &mut Report) -> Result<()> {
        let _ = (run, now, report);
        Ok(())
    }

    /// Writes a checkpoint into the folder, and returns its path; none where there is no folder.
    fn save(&mut self, run: &mut R, report: &mut Report) -> Result<Option<PathBuf>> {
        let _ = (run, report);
        Ok(None)
    }

    /// The failure of an interrupted run.
    fn stopped(&mut self, run: &mut R, report: &mut Report) -> Failure {
        let after = format!("{} {}", run.steps_taken(), Self::STEPS);
        let saved = self.save(run, report);
        resume::stopped(&report.command(), &after, saved)
    }

    /// Share of the way, and a few words on the state.
    fn progress(&self, run: &R, now: &Now) -> (f64, String);
}

/// A run that ended, the time that it took, and its steps in that time.
pub(super) struct Completed {
    pub(super) ending: Ending,
    pub(super) spent: Duration,
    pub(super) steps: u64,
}

impl Completed {
    /// Notes the time of all steps, and of one.
    pub(super) fn note_times(&self, report: &mut Report) {
        report.time("steps", self.spent);
        if self.steps > 0 {
            report.time("step", self.spent.div_f64(self.steps as f64));
        }
    }
}

/// The observer of a run.
struct Watcher<'a, T> {
    observer: &'a mut T,
    report: &'a mut Report,
    progress: Progress,
    /// Steps between two checkpoints.
    every: Option<u64>,
    /// The first step of this call.
    first: u64,
    /// Whether the checkpoint at the end is there.
    saved: bool,
}

impl<R: Run, T: CommandObserver<R>> Observer<R> for Watcher<'_, T> {
    fn before(&mut self, run: &mut R, steps: u64) -> Result<ControlFlow<Ending, u64>> {
        let checkpoint = self.every.map(|every| every - run.steps_taken() % every);
        let steps = steps.min(checkpoint.unwrap_or(u64::MAX));
        let steps = steps.min(self.observer.next(run));
        let (stop, steps) = ranks::next(interrupt::asked(), steps)?;
        Ok(match stop {
            true => ControlFlow::Break(Ending::Interrupted),
            false => ControlFlow::Continue(steps),
        })
    }

    fn before_last(&mut self, run: &mut R) -> Result<()> {
        if self.every.is_some() {
            let saved = self.observer.save(run, self.report);
            self.report.saved_at_the_end(saved)?;
            self.saved = true;
        }
        Ok(())
    }

    fn see(&mut self, run: &mut R, now: &Now) -> Result<ControlFlow<Ending>> {
        let Self {
            observer, report, ..
        } = self;
        let begins = now.step == self.first;
        let mut stop = ControlFlow::Continue(());
        if !begins || now.residual.is_some() {
            stop = observer.record(run, now)?;
        }
        // The checkpoint at the end of a run is from before its last residual.
        self.saved |= begins && now.residual.is_some();
        let due = self
            .every
            .is_some_and(|every| now.step.is_multiple_of(every));
        if due && !begins && now.ending.is_none() {
            let saved = observer.save(run, report);
            report.saved(saved)?;
        }
        observer.write(run, now, report)?;
        if !begins {
            let (share, text) = observer.progress(run, now);
            self.progress.update(share, || text);
        }
        Ok(stop)
    }
}

/// Takes the run of a command to its end, with a checkpoint every so many steps and at the end.
pub(super) fn drive<R: Run, T: CommandObserver<R>>(
    run: &mut R,
    goal: &Goal,
    observer: &mut T,
    (name, every, quiet): (&'static str, Option<u64>, bool),
    report: &mut Report,
) -> std::result::Result<Completed, Failure> {
    report.watch_for_signals();
    // A checkpoint that somebody changed may have none.
    let every = every.filter(|every| *every > 0);
    let first = run.steps_taken();
    let started = Instant::now();
    let mut watcher = Watcher {
        observer,
        progress: Progress::new(name, quiet || !ranks::is_first()),
        report,
        every,
        first,
        saved: false,
    };
    let ending = run::drive(run, goal, &mut watcher);
    let Watcher {
        observer,
        report,
        progress,
        saved,
        ..
    } = watcher;
    progress.finish();
    let ending = ending.map_err(|error| report.broken_off(error))?;
    if ending == Ending::Interrupted {
        return ranks::agreed(Err(observer.stopped(run, report)));
    }
    run.finish().map_err(|error| report.broken_off(error))?;
    let spent = started.elapsed();
    if every.is_some() && !saved {
        let saved = observer.save(run, report);
        report.saved_at_the_end(saved)?;
    }
    Ok(Completed {
        ending,
        spent,
        steps: run.steps_taken() - first,
    })
}
