//! The negative part of the equilibrium, which the models of Shakhov and of molecules that rotate accept where heat fluxes are large.
//!
//! With c in units of the root of T*, k = (8/5) Q_t/(n T*^1.5) and l = 8 Q_r/(d n T*^0.5 T_r*),
//!
//! ```text
//! S_F/M = 1 + k.c (c^2 - 5/2),      S_E/(M d/2 T_r*) = 1 + (k (c^2 - 5/2) + l).c.
//! ```
//!
//! On a sphere of radius c both are `1 + a x` with x from -1 to 1, and below zero by `(a - 1)^2/(2 a)` where a > 1, in an integral over x.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::Rotation;

/// Share beyond which a flow warns.
const MUCH: f64 = 0.05;

/// Points along the speed, up to this many roots of the temperature.
const POINTS: usize = 120;
const FASTEST: f64 = 6.0;

/// The negative share of `1 + (k (c^2 - 5/2) + l).c` over a Maxwellian.
fn share(k: [f64; 3], l: [f64; 3]) -> f64 {
    let step = FASTEST / POINTS as f64;
    let parts = (0..POINTS).map(|at| {
        let c = (at as f64 + 0.5) * step;
        let square: f64 = k
            .iter()
            .zip(l)
            .map(|(k, l)| (k * (c * c - 2.5) + l).powi(2))
            .sum();
        let a = c * square.sqrt();
        if a <= 1.0 {
            return 0.0;
        }
        c * c * (-c * c).exp() * (a - 1.0).powi(2) / a
    });
    parts.sum::<f64>() * step / PI.sqrt()
}

/// Largest share of the equilibrium of a cell that is negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NegativeEquilibrium {
    /// Of its molecules.
    pub molecules: f64,
    /// Of its internal energy; absent for single atoms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal_energy: Option<f64>,
}

/// The gas of a cell. Its heat flux has both kinds of energy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heated {
    pub(crate) density: f64,
    /// The temperature, and those of translation and rotation where the molecules rotate.
    pub(crate) temperatures: [f64; 3],
    pub(crate) heat: [f64; 3],
    pub(crate) rotational: [f64; 3],
}

impl NegativeEquilibrium {
    /// The largest shares of cells of a gas with this Prandtl number, or with this rotation of its molecules.
    pub(crate) fn largest(
        prandtl: f64,
        rotation: Option<&Rotation>,
        cells: impl Iterator<Item = Heated>,
    ) -> Self {
        let mut largest = Self {
            internal_energy: rotation.map(|_| 0.0),
            ..Self::default()
        };
        for cell in cells {
            let [k, l] = terms(prandtl, rotation, &cell);
            largest.molecules = largest.molecules.max(share(k, [0.0; 3]));
            if let Some(energy) = &mut largest.internal_energy {
                *energy = energy.max(share(k, l));
            }
        }
        largest
    }

    /// The warning of a large share; `other` names the model without one.
    pub(crate) fn warning(&self, other: &str) -> Option<String> {
        let parts = [
            (self.molecules, "molecules"),
            (self.internal_energy.unwrap_or(0.0), "internal energy"),
        ];
        let (share, name) = parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        // A gas whose molecules rotate has no other model.
        let remedy = match self.internal_energy {
            Some(_) => String::new(),
            None => format!("; {other} shows how much depends on it"),
        };
        (share > MUCH).then(|| {
            format!(
                "the equilibrium of the {name} is negative for {:.0}% in a cell, at the end of the model's range{remedy}",
                100.0 * share
            )
        })
    }
}

/// The vectors k and l of a cell.
fn terms(prandtl: f64, rotation: Option<&Rotation>, cell: &Heated) -> [[f64; 3]; 2] {
    let [common, t, t_r] = cell.temperatures;
    let (n, heat) = (cell.density, cell.heat);
    let Some(rotation) = rotation else {
        let factor = 1.6 * (1.0 - prandtl) / (n * common.powf(1.5));
        return [heat.map(|q| factor * q), [0.0; 3]];
    };
    let z = rotation.relaxation_of(t);
    let [[tt, tr], [rt, rr]] = rotation.matrix(z);
    let [t, t_r] = [t, t_r].map(|t| t + (common - t) / z);
    let mut both = [[0.0; 3]; 2];
    for axis in 0..3 {
        let q_r = cell.rotational[axis];
        let q_t = heat[axis] - q_r;
        both[0][axis] = 1.6 * ((1.0 - tt) * q_t - tr * q_r) / (n * t.powf(1.5));
        both[1][axis] =
            8.0 * ((1.0 - rr) * q_r - rt * q_t) / (rotation.freedom * n * t.sqrt() * t_r);
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums over a grid of velocities.
    fn summed(k: [f64; 3], l: [f64; 3]) -> f64 {
        let step = 0.1;
        let mut total = 0.0;
        let place = |i: i32| (f64::from(i) + 0.5) * step;
        for x in (-50..50).map(place) {
            for y in (-50..50).map(place) {
                for z in (-50..50).map(place) {
                    let square = x * x + y * y + z * z;
                    let term = |at: usize, c: f64| (k[at] * (square - 2.5) + l[at]) * c;
                    let s = 1.0 + term(0, x) + term(1, y) + term(2, z);
                    total += (-s).max(0.0) * (-square).exp();
                }
            }
        }
        total * step.powi(3) / PI.powf(1.5)
    }

    #[test]
    fn shares_are_those_of_sums_over_velocities() {
        for (k, l) in [
            ([0.3, 0.0, 0.0], [0.0; 3]),
            ([0.5, 0.4, -0.1], [0.0; 3]),
            ([0.2, 0.1, 0.0], [0.3, -0.5, 0.4]),
        ] {
            let (found, expected) = (share(k, l), summed(k, l));
            assert!((found / expected - 1.0).abs() < 5e-3, "{found} {expected}");
        }
        assert!(share([0.02, 0.0, 0.0], [0.0; 3]) < 1e-6);
    }
}
