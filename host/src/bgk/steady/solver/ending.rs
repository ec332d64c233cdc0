//! When an iteration has ended, and how far its result is from the steady flow.

use super::SteadySolver;
use crate::run::Ending;

/// A new least residual, as a share of the least before: creeping is no progress.
const PROGRESS: f64 = 0.999;

/// Iterations without a new least residual after which an iteration with a correction counts as stalled.
const PATIENCE: usize = 30;
/// The same without a correction, where residuals rise for long before they fall.
const PLAIN_PATIENCE: usize = 150;
/// The same where roundoff is reached, but for a nonlinear flow between walls.
const ROUNDOFF_PATIENCE: usize = 5;

/// Spread of the fluxes that roundoff explains, in units of the roundoff of one.
const LEVEL: f64 = 8.0;
/// Error of the fluxes between walls in units of their spread: up to six have been seen in thick gas.
const THROUGH_SPREAD: f64 = 8.0;
/// Spread of the fluxes beyond which a result is none, however large roundoff is.
const MOST_ROUNDOFF: f64 = 1e-2;

impl SteadySolver {
    /// How the iteration ended, if it has.
    pub fn status(&self) -> Option<Ending> {
        let done = self.residuals.len();
        let last = |values: &[f64]| values.last().copied().unwrap_or(f64::INFINITY);
        let (change, spread) = (last(&self.residuals), last(&self.spreads));
        let tolerance = self.config.tolerance();
        // Fluxes that are roundoff are no result, however still they are.
        let known = self.roundoff.fluxes <= MOST_ROUNDOFF;
        if known && change <= tolerance && spread <= tolerance {
            return Some(Ending::Steady);
        }
        let since = done - self.least.0;
        // The flux between walls follows its roundoff slowly.
        let enough = if self.plan.is_gap() && !self.plan.linear {
            PATIENCE
        } else {
            ROUNDOFF_PATIENCE
        };
        let settled = change <= self.roundoff.change.max(tolerance);
        let level = (LEVEL * self.roundoff.spread)
            .min(MOST_ROUNDOFF)
            .max(tolerance);
        if settled && known && spread <= level && since >= enough {
            return Some(Ending::AtRoundoff);
        }
        // The correction does not see patterns that mirroring walls pass on across a rectangle.
        let seen = self.plan.dimensions == 1 || self.plan.mirrored_by_walls() == 0.0;
        let patience = if self.correction.is_some() && seen {
            PATIENCE
        } else {
            PLAIN_PATIENCE
        };
        if done >= self.config.iterations {
            Some(Ending::Unfinished)
        } else if since > patience {
            Some(Ending::Stalled)
        } else {
            None
        }
    }

    /// Notes the iteration at which the larger of change and spread was least.
    pub(super) fn note_least(&mut self) {
        let done = self.residuals.len();
        let spread = self.spreads[done - 1];
        let size = if spread.is_finite() {
            self.residuals[done - 1].max(spread)
        } else {
            self.residuals[done - 1]
        };
        if size < PROGRESS * self.least.1 {
            self.least = (done, size);
        }
    }

    /// The expected relative error that the iteration leaves, the largest of three: the change over 1 less its rate of decrease, what the spread of the fluxes lets through, and
    /// their roundoff.
    pub(super) fn error_estimate(&self) -> f64 {
        let Some(&last) = self.residuals.last() else {
            return f64::INFINITY;
        };
        let earlier = self.residuals.len() - 1;
        let rate = |span: usize| {
            let before = self.residuals[earlier - span];
            (last / before).powf(1.0 / span as f64)
        };
        // The last iterations say it best, until residuals are roundoff and fall no further.
        let settled = last <= self.roundoff.change;
        let spans = if settled {
            [earlier; 2]
        } else {
            [earlier.min(5), earlier]
        };
        let rate = spans
            .into_iter()
            .filter(|&span| span > 0)
            .map(rate)
            .find(|rate| *rate < 1.0);
        // Fields of thin gas vary less than the walls that drive them, and their roundoff is that of the walls.
        let last = if settled && self.plan.is_gap() {
            last * self.plan.share_of_walls(&self.x)
        } else {
            last
        };
        let change = match rate {
            Some(rate) => last / (1.0 - rate),
            // The start was the flow already.
            None if settled || earlier == 0 => last,
            None => f64::INFINITY,
        };
        // Fluxes are no better known than they vary, and than the arithmetic adds them up through the gas.
        let spread = self.spreads.last().copied().filter(|s| s.is_finite());
        let share = if self.plan.dimensions == 1 {
            THROUGH_SPREAD
        } else {
            1.0
        };
        change
            .max(share * spread.unwrap_or(0.0))
            .max(self.roundoff.fluxes)
    }
}
