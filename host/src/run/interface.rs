//! The interface of a run, and its ends.

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Halvings of a healthy residual without one of which a run has come as far as it can: a [patience](Run::patience) has the time of so many.
pub(crate) const HALVINGS: f64 = 5.0;

/// Fewest steps of a patience: the first residuals vary.
pub(crate) const LEAST_PATIENCE: u64 = 2000;

/// A computation that advances by steps, of time or of an iteration.
pub trait Run {
    /// Steps taken.
    fn steps_taken(&self) -> u64;

    /// Time reached; 0 in an iteration without time.
    fn time(&self) -> f64;

    /// Takes so many steps, or fewer where the run comes to an end of its own.
    ///
    /// The state does not depend on how a run is divided into calls.
    ///
    /// # Errors
    /// A fault of the device; a state that is no longer one.
    fn advance(&mut self, steps: u64) -> Result<()>;

    /// How fast the state changes, in the measure of the method.
    ///
    /// # Errors
    /// A fault of the device; a state that is no longer one.
    fn residual(&mut self) -> Result<f64>;

    /// All unknowns, as the method orders them.
    ///
    /// # Errors
    /// A fault of the device.
    fn state(&mut self) -> Result<Vec<f64>>;

    /// Steps that are left to a time; of steps that vary a number that does not go beyond it. None where steps are not of time.
    fn steps_to(&self, time: f64) -> Option<u64>;

    /// How the run has ended, where it has an end of its own.
    fn end(&self) -> Option<Ending> {
        None
    }

    /// Estimated share of the way to its own end, 0 to 1.
    fn progress(&self) -> f64 {
        0.0
    }

    /// Steps in which the residual of a healthy run halves five times. A run that does not halve it once in them is stalled. None where nothing
    /// bounds them.
    fn patience(&self) -> Option<u64> {
        None
    }

    /// Makes the record of the last step of all where it is out of turn. A run that goes on from there has one more than an undivided one.
    ///
    /// # Errors
    /// A fault of the device; a state that is no longer one.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// How a run ended. Written as a text it has the names of the command's `run.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ending {
    /// The steps or the time that were asked for are reached.
    #[serde(rename = "done")]
    Reached,
    /// The residual that was asked for is reached; in a steady flow by the spread of the fluxes too.
    #[serde(rename = "converged")]
    Steady,
    /// The residual no longer falls, and is as small as roundoff allows.
    AtRoundoff,
    /// The steps ended before the residual was reached.
    Unfinished,
    /// The residual no longer falls: the state is not the steady one.
    Stalled,
    /// The observer stopped the run.
    Interrupted,
}

impl Ending {
    /// Whether the run came to what was asked for, or as near as roundoff allows.
    pub fn is_done(self) -> bool {
        matches!(self, Self::Reached | Self::Steady | Self::AtRoundoff)
    }
}
