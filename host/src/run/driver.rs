//! The loop over the steps of a run, and its observers.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::goal::{Course, Goal};
use super::interface::{Ending, Run};
use super::pace::Pace;
use crate::error::{Error, Result};
use crate::stop;

/// A run between two steps, as its observer sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Now {
    /// Steps taken.
    pub step: u64,
    /// Time reached.
    pub time: f64,
    /// The residual, where it has just been evaluated.
    pub residual: Option<f64>,
    /// Estimated share of the way that is done, 0 to 1.
    pub share: f64,
    /// How the run has ended, if it has.
    pub ending: Option<Ending>,
}

/// The companion of a run: records, progress, checkpoints, interrupts. `()` does nothing, a closure [sees](Observer::see), and of a pair one follows the other.
pub trait Observer<R: ?Sized> {
    /// Called before steps are taken: how many of `steps` there are to be, at least one, or how the run ends here.
    ///
    /// # Errors
    /// Any, which ends the run.
    fn before(&mut self, run: &mut R, steps: u64) -> Result<ControlFlow<Ending, u64>> {
        let _ = run;
        Ok(ControlFlow::Continue(steps))
    }

    /// Called at the last step of all where its residual is evaluated out of turn. A run that goes on from here does not evaluate it, and equals one that was not divided.
    ///
    /// # Errors
    /// Any, which ends the run.
    fn before_last(&mut self, run: &mut R) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// Time that steps may take between two calls, about.
    fn patience(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Called before the first step and after the steps of each [`before`](Observer::before).
    ///
    /// # Errors
    /// Any, which ends the run.
    fn see(&mut self, run: &mut R, now: &Now) -> Result<ControlFlow<Ending>>;
}

impl<R: ?Sized> Observer<R> for () {
    fn see(&mut self, _: &mut R, _: &Now) -> Result<ControlFlow<Ending>> {
        Ok(ControlFlow::Continue(()))
    }
}

impl<R: ?Sized, F: FnMut(&mut R, &Now) -> Result<ControlFlow<Ending>>> Observer<R> for F {
    fn see(&mut self, run: &mut R, now: &Now) -> Result<ControlFlow<Ending>> {
        self(run, now)
    }
}

impl<R: ?Sized, A: Observer<R>, B: Observer<R>> Observer<R> for (A, B) {
    fn before(&mut self, run: &mut R, steps: u64) -> Result<ControlFlow<Ending, u64>> {
        match self.0.before(run, steps)? {
            ControlFlow::Continue(steps) => self.1.before(run, steps),
            stop @ ControlFlow::Break(_) => Ok(stop),
        }
    }

    fn before_last(&mut self, run: &mut R) -> Result<()> {
        self.0.before_last(run)?;
        self.1.before_last(run)
    }

    fn patience(&self) -> Duration {
        self.0.patience().min(self.1.patience())
    }

    fn see(&mut self, run: &mut R, now: &Now) -> Result<ControlFlow<Ending>> {
        match self.0.see(run, now)? {
            ControlFlow::Continue(()) => self.1.see(run, now),
            stop @ ControlFlow::Break(_) => Ok(stop),
        }
    }
}

/// Sees a run at multiples of so many steps, and at its end.
///
/// ```
/// use std::ops::ControlFlow;
/// use rarefy::Backend;
/// use rarefy::isotropic::{CollisionKernel, EnergyGrid, OperatorConfig, Relaxation, RelaxationConfig, initial};
/// use rarefy::run::{Goal, Now, drive, every};
///
/// let grid = EnergyGrid::new(32, 12.0)?;
/// let mut operator = OperatorConfig::new(grid, CollisionKernel::Power { theta: 0.0 });
/// operator.compute.backend = Backend::Cpu;
/// let mut run = Relaxation::new(RelaxationConfig::new(operator), &[initial::bkw(&grid, 0.7)])?;
/// let mut seen = Vec::new();
/// let mut observer = every(40, |run: &mut Relaxation, now: &Now| {
///     seen.push((now.step, run.states()?));
///     Ok(ControlFlow::Continue(()))
/// });
/// drive(&mut run, &Goal::steps(100), &mut observer)?;
/// assert_eq!(seen.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [0, 40, 80, 100]);
/// # Ok::<(), rarefy::Error>(())
/// ```
pub fn every<O>(steps: u64, then: O) -> Every<O> {
    Every {
        steps: steps.max(1),
        then,
    }
}

/// The observer that [`every`] makes.
#[derive(Debug)]
pub struct Every<O> {
    steps: u64,
    then: O,
}

impl<R: Run + ?Sized, O: Observer<R>> Observer<R> for Every<O> {
    fn before(&mut self, run: &mut R, steps: u64) -> Result<ControlFlow<Ending, u64>> {
        let steps = steps.min(self.steps - run.steps_taken() % self.steps);
        self.then.before(run, steps)
    }

    fn before_last(&mut self, run: &mut R) -> Result<()> {
        self.then.before_last(run)
    }

    fn patience(&self) -> Duration {
        self.then.patience()
    }

    fn see(&mut self, run: &mut R, now: &Now) -> Result<ControlFlow<Ending>> {
        if now.step.is_multiple_of(self.steps) || now.ending.is_some() {
            return self.then.see(run, now);
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Takes a run to its own end, to that of a goal, or to where its observer stops it.
///
/// Between two calls of the observer lies about a second, or fewer steps where it or the goal asks for them. The results do not depend on it. [`Run::finish`] makes
/// the record of a last step that is out of turn.
///
/// # Errors
/// Those of the run, and of the observer.
pub fn drive<R: Run + ?Sized>(
    run: &mut R,
    goal: &Goal,
    observer: &mut (impl Observer<R> + ?Sized),
) -> Result<Ending> {
    let mut course = Course::to(goal);
    let mut pace = Pace::new(observer.patience());
    let mut residual = None;
    if course.lacks_last(run) {
        residual = Some(course.look(run)?);
    }
    loop {
        let ending = course.ending(run);
        let now = Now {
            step: run.steps_taken(),
            time: run.time(),
            residual,
            share: course.share(run),
            ending,
        };
        let stop = observer.see(run, &now)?.break_value();
        if let Some(ending) = ending.or(stop) {
            return Ok(ending);
        }
        let steps = match observer.before(run, pace.steps().min(course.next(run)))? {
            ControlFlow::Continue(steps) => steps,
            ControlFlow::Break(ending) => return Ok(ending),
        };
        let started = Instant::now();
        match stop::within(|| run.advance(steps)) {
            // The run has the state from before the step that a signal ended.
            Err(Error::Stopped) => return Ok(Ending::Interrupted),
            advanced => advanced?,
        }
        pace.learn(steps, started.elapsed());
        let [due, in_turn] = course.is_due(run);
        if due && !in_turn {
            observer.before_last(run)?;
        }
        residual = due.then(|| course.look(run)).transpose()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its residual halves every ten steps, down to a level.
    struct Decay {
        step: u64,
        level: f64,
        own: Option<u64>,
    }

    impl Decay {
        fn to(level: f64) -> Self {
            Self {
                step: 0,
                level,
                own: None,
            }
        }
    }

    impl Run for Decay {
        fn steps_taken(&self) -> u64 {
            self.step
        }
        fn time(&self) -> f64 {
            0.25 * self.step as f64
        }
        fn advance(&mut self, steps: u64) -> Result<()> {
            assert!(steps > 0);
            self.step = self.own.map_or(u64::MAX, |own| own).min(self.step + steps);
            Ok(())
        }
        fn residual(&mut self) -> Result<f64> {
            Ok(0.5_f64.powf(self.step as f64 / 10.0).max(self.level))
        }
        fn state(&mut self) -> Result<Vec<f64>> {
            Ok(vec![self.step as f64])
        }
        fn steps_to(&self, time: f64) -> Option<u64> {
            Some((4.0 * (time - self.time())).round() as u64)
        }
        fn end(&self) -> Option<Ending> {
            self.own
                .and_then(|own| (self.step >= own).then_some(Ending::AtRoundoff))
        }
        fn patience(&self) -> Option<u64> {
            Some(100)
        }
    }

    fn ending(run: &mut Decay, goal: &Goal) -> Ending {
        drive(run, goal, &mut ()).expect("a run")
    }

    #[test]
    fn each_end_is_found() {
        let mut run = Decay::to(0.0);
        assert_eq!(ending(&mut run, &Goal::steps(70)), Ending::Reached);
        assert_eq!(run.step, 70);
        assert_eq!(ending(&mut run, &Goal::time(20.0)), Ending::Reached);
        assert_eq!(run.step, 80);
        // 2^-10 at step 100, 2^-15 at step 150.
        assert_eq!(ending(&mut run, &Goal::steady(1e-4)), Ending::Steady);
        assert_eq!(run.step, 150);
        let mut goal = Goal::steady(1e-9);
        goal.steps = Some(170);
        assert_eq!(ending(&mut run, &goal), Ending::Unfinished);
        let mut level = Decay::to(1e-2);
        assert_eq!(ending(&mut level, &Goal::steady(1e-3)), Ending::Stalled);
        // The last fall to a half is that of step 100, at which the level is reached.
        assert_eq!(level.step, 200);
        let mut own = Decay::to(0.0);
        own.own = Some(30);
        assert_eq!(ending(&mut own, &Goal::steps(90)), Ending::AtRoundoff);
        assert_eq!(own.step, 30);
    }

    #[test]
    fn a_run_that_goes_on_knows_its_residuals() {
        let goal = Goal::steady(1e-3);
        let mut whole = Decay::to(1e-2);
        let mut residuals = Vec::new();
        let mut observer = |run: &mut Decay, now: &Now| {
            let value = now.residual.into_iter();
            let (step, time) = (run.step, now.time);
            residuals.extend(value.map(|value| super::super::Residual { step, time, value }));
            Ok(match now.step {
                150 => ControlFlow::Break(Ending::Interrupted),
                _ => ControlFlow::Continue(()),
            })
        };
        let ending = drive(&mut whole, &goal, &mut observer).expect("a run");
        assert_eq!((ending, residuals.len()), (Ending::Interrupted, 3));
        let goal = Goal {
            before: residuals,
            ..goal
        };
        assert_eq!(drive(&mut whole, &goal, &mut ()).unwrap(), Ending::Stalled);
        assert_eq!(whole.step, 200);
    }

    /// Counts its calls, ends the run before a step, or fails there.
    #[derive(Default)]
    struct Fault {
        stop: Option<u64>,
        fail: Option<u64>,
        last: u64,
    }

    impl Observer<Decay> for Fault {
        fn before(&mut self, run: &mut Decay, steps: u64) -> Result<ControlFlow<Ending, u64>> {
            if self.fail.is_some_and(|fail| run.step >= fail) {
                return Err(Error::Numerical("lost".into()));
            }
            Ok(match self.stop {
                Some(stop) if run.step >= stop => ControlFlow::Break(Ending::Interrupted),
                Some(stop) => ControlFlow::Continue(steps.min(stop - run.step)),
                None => ControlFlow::Continue(steps.min(7)),
            })
        }
        fn before_last(&mut self, _: &mut Decay) -> Result<()> {
            self.last += 1;
            Ok(())
        }
        fn see(&mut self, _: &mut Decay, _: &Now) -> Result<ControlFlow<Ending>> {
            Ok(ControlFlow::Continue(()))
        }
    }

    #[test]
    fn observers_stop_a_run_and_their_errors_end_it() {
        let goal = Goal {
            every: Some(50),
            ..Goal::steps(60)
        };
        let mut run = Decay::to(0.0);
        let mut steps = Vec::new();
        let mut seen = |run: &mut Decay, _: &Now| {
            steps.push(run.step);
            Ok(ControlFlow::Continue(()))
        };
        let stop = Fault {
            stop: Some(13),
            ..Fault::default()
        };
        let ending = drive(&mut run, &goal, &mut (stop, every(10, &mut seen)));
        assert_eq!((ending.unwrap(), run.step), (Ending::Interrupted, 13));
        assert_eq!(steps, [0, 10]);
        let mut fault = Fault {
            fail: Some(27),
            ..Fault::default()
        };
        let error = drive(&mut run, &goal, &mut fault).unwrap_err();
        assert_eq!((error.to_string().as_str(), run.step), ("lost", 28));
        // Its last residual is out of turn.
        let mut fault = Fault::default();
        assert_eq!(drive(&mut run, &goal, &mut fault).unwrap(), Ending::Reached);
        assert_eq!((run.step, fault.last), (60, 1));
        // A run that goes on from there has it evaluated before all else, once.
        let mut residual = None;
        let mut see = |_: &mut Decay, now: &Now| {
            residual = now.residual;
            Ok(ControlFlow::Continue(()))
        };
        drive(&mut run, &goal, &mut see).unwrap();
        assert_eq!(residual, Some(2_f64.powi(-6)));
    }
}
