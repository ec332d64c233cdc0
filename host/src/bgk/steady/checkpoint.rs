//! The state of an iteration.

use serde::{Deserialize, Serialize};

use super::config::SteadyConfig;
use super::problem::SteadyProblem;

/// Everything that an iteration needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The problem.
    pub problem: SteadyProblem,
    /// How it is iterated.
    pub config: SteadyConfig,
    /// All unknowns.
    pub unknowns: Vec<f64>,
    /// Residual of each iteration.
    pub residuals: Vec<f64>,
    /// Results of the mixed iterations, newest first, one after the other.
    pub values: Vec<f64>,
    /// By how much each of them had changed.
    pub mixed: Vec<f64>,
    /// Spread of the fluxes in each iteration.
    pub spreads: Vec<f64>,
    /// On a rectangle, whether the last correction was cut off, then the unknowns about which its operator was factored, if not at rest.
    pub correction: Vec<f64>,
}
