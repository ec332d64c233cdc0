//! Explicit time integrators.

use serde::{Deserialize, Serialize};

/// Explicit time integrator. Each is a convex combination of Euler steps, so each keeps f >= 0 for the same step as Euler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Integrator {
    /// Euler, first order, one evaluation a step.
    Euler,
    /// Strong-stability-preserving Runge-Kutta of order 2 (Heun), two evaluations a step.
    #[default]
    Ssprk2,
    /// Strong-stability-preserving Runge-Kutta of order 3, three evaluations a step.
    Ssprk3,
}

/// The stages of an integrator in convex form: each is `f = keep f0 + (1 - keep) (f + dt I(f))`.
pub(super) fn stages(integrator: Integrator) -> &'static [f64] {
    match integrator {
        Integrator::Euler => &[0.0],
        Integrator::Ssprk2 => &[0.0, 0.5],
        Integrator::Ssprk3 => &[0.0, 0.75, 1.0 / 3.0],
    }
}
