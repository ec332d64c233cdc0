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

use super::case::GasOf;
use super::findings::{Fields, Findings, NegativeEquilibrium};
use crate::bgk::Model;

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

/// Adds the negative shares of the equilibrium to findings, and the warnings of a gas beyond its model.
pub(in crate::flow) fn judge(findings: &mut Findings, gas: &GasOf) {
    let beyond = gas.beyond_rotation(findings.fields.temperatures());
    findings.warnings.extend(beyond);
    findings.negative_equilibrium = largest(gas, &findings.fields);
    let warning = findings.negative_equilibrium.and_then(warning);
    findings.warnings.extend(warning);
}

/// The largest shares of a nonlinear flow; none of the linearised equation and of BGK, whose equilibrium is positive.
fn largest(gas: &GasOf, fields: &Fields) -> Option<NegativeEquilibrium> {
    if gas.linear || gas.model == Model::Bgk {
        return None;
    }
    let mut largest = NegativeEquilibrium {
        internal_energy: gas.rotation.map(|_| 0.0),
        ..NegativeEquilibrium::default()
    };
    for cell in (0..fields.gas.len()).filter(|&cell| fields.gas[cell] > 0.0) {
        let [k, l] = terms(gas, fields, cell);
        largest.molecules = largest.molecules.max(share(k, [0.0; 3]));
        if let Some(energy) = &mut largest.internal_energy {
            *energy = energy.max(share(k, l));
        }
    }
    Some(largest)
}

/// The warning of a large share.
fn warning(of: NegativeEquilibrium) -> Option<String> {
    let parts = [
        (of.molecules, "molecules"),
        (of.internal_energy.unwrap_or(0.0), "internal energy"),
    ];
    let (share, name) = parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (share > MUCH).then(|| {
        format!(
            "the equilibrium of the {name} is negative for {:.0}% in a cell, at the end of the model's range; model = \"bgk\" shows how much depends on it",
            100.0 * share
        )
    })
}

/// The vectors k and l of a cell.
fn terms(gas: &GasOf, fields: &Fields, cell: usize) -> [[f64; 3]; 2] {
    let at = |of: &Vec<f64>| of.get(cell).copied().unwrap_or(0.0);
    let n = at(&fields.density);
    let heat = [&fields.heat_x, &fields.heat_y, &fields.heat_z].map(at);
    let Some(rotation) = &gas.rotation else {
        let factor = 1.6 * (1.0 - gas.prandtl) / (n * at(&fields.temperature).powf(1.5));
        return [heat.map(|q| factor * q), [0.0; 3]];
    };
    let [common, t, t_r] = [
        &fields.temperature,
        &fields.temperature_translational,
        &fields.temperature_rotational,
    ]
    .map(at);
    let z = rotation.relaxation_of(t);
    let [[tt, tr], [rt, rr]] = rotation.matrix(z);
    let [t, t_r] = [t, t_r].map(|t| t + (common - t) / z);
    let rotational = [0, 1, 2].map(|axis: usize| at(&fields.heat_rotational[axis]));
    let mut both = [[0.0; 3]; 2];
    for axis in 0..3 {
        let q_r = rotational[axis];
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
