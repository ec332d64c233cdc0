//! The end that a run is to have.

use super::fall::Fall;
use super::interface::{Ending, HALVINGS, LEAST_PATIENCE, Run};
use crate::error::Result;

/// Steps between two residuals, and most steps of a run to a steady state, unless a goal has others.
const EVERY: u64 = 50;
const MOST: u64 = 1_000_000;

/// A fall of a residual is one to half.
const HALF: f64 = 0.5;

/// The end that a run is to have besides its own: [`Goal::default`] adds none.
///
/// ```
/// use rarefy::run::Goal;
///
/// let mut goal = Goal::steady(1e-8);
/// (goal.steps, goal.every) = (Some(20_000), Some(100));
/// assert_eq!(Goal::steps(300).residual, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goal {
    /// The last step, counted from the start of the run.
    pub steps: Option<u64>,
    /// The time.
    pub time: Option<f64>,
    /// The residual at which the state counts as steady.
    pub residual: Option<f64>,
    /// The residual is evaluated at multiples of so many steps, and after the last one.
    pub every: Option<u64>,
    /// Residuals of a run that goes on, from before.
    pub before: Vec<Residual>,
}

/// A residual on the way of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// Steps taken.
    pub step: u64,
    /// Time reached.
    pub time: f64,
    /// The residual.
    pub value: f64,
}

impl Goal {
    /// So many steps, counted from the start of the run.
    pub fn steps(steps: u64) -> Self {
        Self {
            steps: Some(steps),
            ..Self::default()
        }
    }

    /// A time.
    pub fn time(time: f64) -> Self {
        Self {
            time: Some(time),
            ..Self::default()
        }
    }

    /// A steady state, at this residual. It is evaluated every 50 steps, of which there are at most a million.
    pub fn steady(residual: f64) -> Self {
        Self {
            steps: Some(MOST),
            residual: Some(residual),
            every: Some(EVERY),
            ..Self::default()
        }
    }
}

/// A run on its way to a goal.
pub(super) struct Course<'a> {
    goal: &'a Goal,
    first: Option<f64>,
    last: Option<Residual>,
    fall: Fall,
    /// Whether the residual no longer falls.
    level: bool,
}

impl<'a> Course<'a> {
    pub(super) fn to(goal: &'a Goal) -> Self {
        let mut fall = Fall::to(HALF);
        for earlier in &goal.before {
            fall.note(earlier.step, earlier.value);
        }
        Self {
            goal,
            first: goal.before.first().map(|first| first.value),
            last: goal.before.last().copied(),
            fall,
            level: false,
        }
    }

    /// Evaluates the residual.
    pub(super) fn look(&mut self, run: &mut (impl Run + ?Sized)) -> Result<f64> {
        let (step, time) = (run.steps_taken(), run.time());
        let value = run.residual()?;
        let still = self.fall.note(step, value);
        let patience = run.patience().filter(|_| self.goal.residual.is_some());
        self.level = patience.is_some_and(|patience| still >= patience);
        self.first.get_or_insert(value);
        self.last = Some(Residual { step, time, value });
        Ok(value)
    }

    /// Whether steps or time are at their end.
    pub(super) fn is_last(&self, run: &(impl Run + ?Sized)) -> bool {
        self.left(run) == 0
    }

    /// Steps to the end.
    fn left(&self, run: &(impl Run + ?Sized)) -> u64 {
        let last = self.goal.steps.unwrap_or(u64::MAX);
        let left = last.saturating_sub(run.steps_taken());
        let of_time = self.goal.time.and_then(|time| run.steps_to(time));
        left.min(of_time.unwrap_or(u64::MAX))
    }

    /// Steps to the end, or to the next residual.
    pub(super) fn next(&self, run: &(impl Run + ?Sized)) -> u64 {
        let to_look = |every: u64| every.max(1) - run.steps_taken() % every.max(1);
        let look = self.goal.every.map_or(u64::MAX, to_look);
        self.left(run).min(look)
    }

    /// Whether the last step is one at which the residual is evaluated, and whether that is in turn.
    pub(super) fn is_due(&self, run: &(impl Run + ?Sized)) -> [bool; 2] {
        let in_turn = |every: u64| run.steps_taken().is_multiple_of(every.max(1));
        match self.goal.every.map(in_turn) {
            None => [false; 2],
            Some(in_turn) => [in_turn || self.is_last(run), in_turn],
        }
    }

    /// Whether a run that goes on is at its end between two residuals.
    pub(super) fn lacks_last(&self, run: &(impl Run + ?Sized)) -> bool {
        let step = run.steps_taken();
        let known = self.last.is_some_and(|last| last.step == step);
        step > 0 && self.is_due(run)[0] && self.is_last(run) && !known
    }

    /// How the run has ended, if it has.
    pub(super) fn ending(&self, run: &(impl Run + ?Sized)) -> Option<Ending> {
        let steady = self.goal.residual.zip(self.last);
        let steady = steady.is_some_and(|(goal, last)| last.value <= goal);
        match (run.end(), self.goal.residual) {
            (Some(own), _) => Some(own),
            (None, _) if steady => Some(Ending::Steady),
            (None, _) if self.level => Some(Ending::Stalled),
            (None, _) if !self.is_last(run) => None,
            (None, Some(_)) => Some(Ending::Unfinished),
            (None, None) => Some(Ending::Reached),
        }
    }

    /// The share of the way that is done, 0 to 1.
    pub(super) fn share(&self, run: &(impl Run + ?Sized)) -> f64 {
        let Goal {
            steps,
            time,
            residual,
            ..
        } = self.goal;
        let of_steps = steps.map(|steps| run.steps_taken() as f64 / steps as f64);
        let of_time = time.map(|time| run.time() / time);
        let of_residual = || {
            // Residuals fall about exponentially.
            let (goal, first, last) = ((*residual)?, self.first?, self.last?);
            Some((last.value / first).ln() / (goal / first).ln())
        };
        let share = match residual {
            Some(_) => of_residual().unwrap_or(0.0).max(of_steps.unwrap_or(0.0)),
            None => of_steps.or(of_time).unwrap_or_else(|| run.progress()),
        };
        if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// Relative error that the end of a run in time at a residual leaves: its rate of change, over the rate at which a healthy run settles.
pub fn error_left(run: &(impl Run + ?Sized), residual: f64) -> f64 {
    let dt = run.time() / run.steps_taken().max(1) as f64;
    let steps = run.patience().unwrap_or(LEAST_PATIENCE) as f64;
    residual * steps * dt / HALVINGS
}
