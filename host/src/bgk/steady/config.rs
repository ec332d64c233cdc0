//! How a steady problem is solved.

use serde::{Deserialize, Serialize};

use super::problem::Closure;
use crate::compute::{Compute, Precision};
use crate::error::{Error, Result};

/// How to solve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyConfig {
    /// The closure of the sweeps.
    pub closure: Closure,
    /// Done when no unknown changes by more than this in an iteration, relative to the range of the fields, and the fluxes that must be
    /// constant vary by no more, relative to their size. `None`: 1e-9 in f64, 1e-5 in f32.
    pub rtol: Option<f64>,
    /// Most iterations.
    pub iterations: usize,
    /// How many earlier iterations are mixed with the newest; 0 for plain source iteration.
    pub anderson_depth: usize,
    /// Where to compute, and in which arithmetic the sweeps; the unknowns are f64 in either.
    #[serde(flatten)]
    pub compute: Compute,
}

impl Default for SteadyConfig {
    fn default() -> Self {
        Self {
            closure: Closure::Diamond,
            rtol: None,
            iterations: Self::MOST_ITERATIONS,
            anderson_depth: Self::DEPTH,
            compute: Compute::default(),
        }
    }
}

impl SteadyConfig {
    /// Iterations at most, where no number is given.
    pub const MOST_ITERATIONS: usize = 5000;
    /// Iterations that are mixed, where no number is given.
    pub const DEPTH: usize = 10;

    /// The tolerance that holds.
    pub fn tolerance(&self) -> f64 {
        self.rtol
            .unwrap_or(Self::usual_tolerance(self.compute.precision, false))
    }

    /// The tolerance where none is given, of a model or by the collision integral, which leaves more than roundoff.
    pub fn usual_tolerance(precision: Precision, by_integral: bool) -> f64 {
        match (precision, by_integral) {
            (Precision::F64, false) => 1e-9,
            (Precision::F64, true) => 1e-6,
            (Precision::F32, _) => 1e-5,
        }
    }

    /// Checks what the types alone do not.
    ///
    /// # Errors
    /// A tolerance outside of 0 to 1, or more than 32 earlier iterations.
    pub fn validate(&self) -> Result<()> {
        let tolerance = self.tolerance();
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(Error::invalid(
                "rtol",
                tolerance,
                "a residual to reach above 0 and below 1",
            ));
        }
        if self.anderson_depth > 32 {
            return Err(Error::invalid(
                "anderson_depth",
                self.anderson_depth,
                "at most 32 earlier iterations that are mixed",
            ));
        }
        Ok(())
    }
}
