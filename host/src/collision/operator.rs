//! The collision operator: one configuration, any backend.

use serde::{Deserialize, Serialize};

use super::{Scattering, VelocityGrid};
use crate::backend::{Backend, Precision};
use crate::error::Result;

/// How the inverse collision integral is summed. Both give the same result to roundoff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The paper's sum, term by term: about N^8 operations for N cells along an axis.
    Direct,
    /// The same sum restructured by centre of mass and relative speed.
    #[default]
    Fast,
}

/// What a [`CollisionOperator`] computes, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorConfig {
    /// The velocity grid.
    pub grid: VelocityGrid,
    /// The scattering law.
    pub scattering: Scattering,
    /// Total cross-section sigma_T = 4 pi C at unit relative speed.
    pub sigma_t: f64,
    /// How the sum is done.
    pub method: Method,
    /// Arithmetic of the gain and of the collision frequency; everything after them is f64.
    pub precision: Precision,
    /// Whether the conservative correction is applied.
    pub corrected: bool,
    /// Where to compute.
    pub backend: Backend,
}

impl OperatorConfig {
    /// Hard spheres with unit cross-section, corrected, on the best machine there is.
    pub fn new(grid: VelocityGrid) -> Self {
        Self {
            grid,
            scattering: Scattering::default(),
            sigma_t: 1.0,
            method: Method::default(),
            precision: Precision::default(),
            corrected: true,
            backend: Backend::default(),
        }
    }
}

/// How the conservative correction went (eqs. 11-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorrectionStatus {
    /// The loss was corrected, as in the paper.
    Loss,
    /// The loss alone could not restore conservation (f lives on a plane or a sphere); loss and gain were corrected.
    LossAndGain,
    /// No correction exists (too few cells carry f); the integral is uncorrected.
    Singular,
    /// No correction was asked for.
    Off,
}

/// The correction that was applied, in the basis phi = (1, c_x, c_y, c_z, (c^2 - 3)/sqrt 6), c = (xi - u)/sqrt theta.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// How it went.
    pub status: CorrectionStatus,
    /// The five coefficients.
    pub delta: [f64; 5],
    /// Residuals after the correction, |sum I phi| / sum(loss |phi|), for the five invariants.
    pub residuals: [f64; 5],
    /// Largest time step for which an explicit Euler step keeps f >= 0: 1 / max of nu (1 + delta.phi).
    pub largest_step: f64,
}

/// One evaluation of the collision integral, in physical units.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Inverse collision integral (gain) in each cell.
    pub gain: Vec<f64>,
    /// Collision frequency nu in each cell; the uncorrected loss is `f nu`.
    pub frequency: Vec<f64>,
    /// The collision integral I = gain - loss, corrected if that was asked for.
    pub rate: Vec<f64>,
    /// The correction.
    pub correction: Correction,
}
