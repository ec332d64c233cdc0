//! The local equilibrium on the nodes of a velocity space.

mod maxwellian;

use serde::{Deserialize, Serialize};

pub use maxwellian::Factors;
pub(super) use maxwellian::{HeatTerm, Maxwellians, heat_vector, unresolved};

use super::State;

/// `M = A exp(b.w - c |w|^2)`, w = v - u, on the nodes of a velocity space.
///
/// Sampled from the continuum b = 0 and c = 1/T. Then the sums over the nodes miss density, momentum and energy by the error of the quadrature.
/// [`DiscreteMaxwellian::conservative`] finds the A, b and c for which they do not. That is the least change
/// of exponent: it stays a combination of the invariants. Either way M is a product of factors along the axes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiscreteMaxwellian {
    /// The state of this equilibrium.
    pub state: State,
    /// A.
    pub amplitude: f64,
    /// b, along the axes of the flow; 0 along the others.
    pub slope: [f64; 2],
    /// c.
    pub inverse_temperature: f64,
}
