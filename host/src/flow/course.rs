//! How an iteration goes, and how it ends.

use crate::flow::Solver;

/// Iterations without a smaller change after which the iteration stalls.
const PATIENCE: usize = 150;

/// How an iteration ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) enum Ending {
    /// The change is below the tolerance.
    Converged,
    /// The change is roundoff, above the tolerance.
    AtRoundoff,
    /// The change falls no more.
    Stalled,
    /// The iterations are used up.
    Unfinished,
    /// The observer ended it.
    Interrupted,
}

impl Ending {
    /// The name in records.
    pub(in crate::flow) fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::AtRoundoff => "at-roundoff",
            Self::Stalled => "stalled",
            Self::Unfinished => "unfinished",
            Self::Interrupted => "interrupted",
        }
    }
}

/// An iteration so far.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Course {
    /// Relative change of each iteration.
    pub(in crate::flow) history: Vec<f64>,
    /// The smallest change, and its iteration.
    best: (f64, usize),
}

/// The change of an iteration.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) struct Step {
    /// Relative change.
    pub(in crate::flow) change: f64,
    /// The part of it that may be roundoff.
    pub(in crate::flow) roundoff: f64,
    /// Whether all that a sweep hands to the next one has acted.
    pub(in crate::flow) acts: bool,
    /// Whether the observer lets it go on.
    pub(in crate::flow) goes_on: bool,
}

impl Default for Course {
    fn default() -> Self {
        Self {
            history: Vec::new(),
            best: (f64::INFINITY, 0),
        }
    }
}

impl Course {
    /// Takes up a step; the ending if it was the last.
    pub(in crate::flow) fn after(&mut self, step: Step, solver: &Solver) -> Option<Ending> {
        let Step {
            change,
            roundoff,
            acts,
            goes_on,
        } = step;
        self.history.push(change);
        let iteration = self.history.len();
        if change < self.best.0 {
            self.best = (change, iteration);
        }
        if acts && change < solver.tolerance {
            Some(Ending::Converged)
        } else if !goes_on {
            Some(Ending::Interrupted)
        } else if acts && change < roundoff {
            Some(Ending::AtRoundoff)
        } else if iteration - self.best.1 >= PATIENCE {
            Some(Ending::Stalled)
        } else if iteration >= solver.iterations {
            Some(Ending::Unfinished)
        } else {
            None
        }
    }
}
