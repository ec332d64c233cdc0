//! The result of a steady problem.

use serde::{Deserialize, Serialize};

use crate::bgk::{FaceFlux, Moments, NegativeEquilibrium, RotatingMoments};
use crate::run::Ending;

/// Exchange of a boundary with the gas at a face, and the gas there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Exchange {
    /// Mass that leaves the gas, net.
    pub mass: f64,
    /// Momentum normal to the face that the boundary receives: the pressure on it.
    pub pressure: f64,
    /// Tangential momentum that the boundary receives.
    pub shear: f64,
    /// Energy that the boundary receives, the work of the stress on a moving wall included.
    pub heat: f64,
    /// Work of the stress on a moving wall: its velocity times the shear. `heat - work` is what the gas conducts into the wall.
    pub work: f64,
    /// Density of the gas at the face.
    pub density: f64,
    /// Its tangential velocity.
    pub velocity: f64,
    /// Its temperature.
    pub temperature: f64,
}

/// A steady flow; in the linear case all values are perturbations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Solution {
    /// Moments of each cell, `[iy][ix]`.
    pub cells: Vec<Moments>,
    /// Rotation of each cell; empty where the molecules do not rotate. The temperatures and heat fluxes of the cells and faces have both parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rotation: Vec<RotatingMoments>,
    /// Exchange at the left, right, bottom and top face of space, face by face; empty where there is none.
    pub exchange: [Vec<Exchange>; 4],
    /// How the iteration ended.
    pub status: Ending,
    /// Change of each iteration: the largest change of an unknown, over the range of the fields.
    pub residuals: Vec<f64>,
    /// Spread of the fluxes that must be constant, relative to their size, in the last iteration.
    pub flux_spread: f64,
    /// Estimate of the relative error that the iteration leaves, the largest of three: the change over 1 less the rate at which it falls, on a line eight times the spread of the fluxes, and their
    /// roundoff. Cells and velocities have errors of their own.
    pub error_estimate: f64,
    /// Relative roundoff of the fluxes: it grows with the mean free paths from wall to wall, and with the smallness of a nonlinear drive.
    pub flux_roundoff: f64,
    /// Of nonlinear flows by the models of Shakhov and of molecules that rotate, whose equilibrium may be negative far from the mean velocity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_equilibrium: Option<NegativeEquilibrium>,
    /// In a shock wave, the strength of the downstream stream less 1: what the domain cuts off.
    pub downstream_excess: Option<f64>,
    /// Seconds that the iterations took.
    pub seconds: f64,
    /// Where it was computed.
    pub device: String,
}

impl Solution {
    /// Flux received by the gas through the left, right, bottom and top side, the mean over the faces of equal size.
    pub fn received(&self) -> [FaceFlux; 4] {
        [0, 1, 2, 3].map(|side: usize| {
            let faces = &self.exchange[side];
            let mut mean = FaceFlux::default();
            let share = 1.0 / faces.len().max(1) as f64;
            for e in faces {
                // The pressure pushes the gas inwards.
                let inwards = if side.is_multiple_of(2) {
                    e.pressure
                } else {
                    -e.pressure
                };
                let normal = side / 2;
                mean.mass -= share * e.mass;
                mean.momentum[normal] += share * inwards;
                mean.momentum[1 - normal] -= share * e.shear;
                mean.energy -= share * e.heat;
            }
            mean
        })
    }
}
