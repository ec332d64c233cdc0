//! The gas of a flow in space: states, unknowns and equilibria. The formulas at a node are those of the kernels, [`rarefy_kernels::flow::volume::gas`].

use std::f64::consts::PI;

use rarefy_kernels::flow::volume::gas as kernels;

use crate::bgk::rotation::{self, Relaxed};
use crate::flow::gas::Gas;

pub(in crate::flow) use kernels::{DRIFT, FREQUENCY, MOMENTS, UNKNOWNS};

/// The function of the velocity that a sweep carries.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::flow) enum Carried {
    /// The molecules.
    Molecules,
    /// Their internal energy.
    InternalEnergy,
}

/// Numbers of a cell that its equilibrium is evaluated from.
pub(in crate::flow) type Coefficients = kernels::Coefficients<f64>;

/// The coefficients of nothing.
pub(in crate::flow) const VACUUM: Coefficients =
    [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

/// A macroscopic state: density, mean velocity and temperature, or their perturbations.
pub(in crate::flow) type State = [f64; 5];

/// The state of a cell.
pub(in crate::flow) fn state(gas: &Gas, w: &[f64; UNKNOWNS]) -> State {
    if gas.linear {
        return [w[0], w[1], w[2], w[3], w[4] / 1.5 - w[0]];
    }
    let n = w[0];
    let [x, y, z] = [w[1] / n, w[2] / n, w[3] / n];
    [n, x, y, z, (w[4] / n - x * x - y * y - z * z) / 1.5]
}

/// The unknowns of a cell in a state without heat flux.
pub(in crate::flow) fn unknowns(gas: &Gas, [n, x, y, z, t]: State) -> [f64; UNKNOWNS] {
    if gas.linear {
        [n, x, y, z, 1.5 * (n + t), 0.0, 0.0, 0.0]
    } else {
        let energy = n * (x * x + y * y + z * z + 1.5 * t);
        [n, n * x, n * y, n * z, energy, 0.0, 0.0, 0.0]
    }
}

/// The coefficients of a Maxwellian, as faces emit it.
pub(in crate::flow) fn maxwellian(gas: &Gas, state: State) -> Coefficients {
    coefficients_of(gas, state, [0.0; 3])
}

/// The coefficients of a cell's equilibrium.
pub(in crate::flow) fn coefficients(gas: &Gas, w: &[f64; UNKNOWNS]) -> Coefficients {
    coefficients_of(gas, state(gas, w), [w[5], w[6], w[7]])
}

fn coefficients_of(gas: &Gas, [n, x, y, z, t]: State, q: [f64; 3]) -> Coefficients {
    let factor = 1.6 * gas.kept();
    let nu = gas.frequency(n, t);
    if gas.linear {
        let k = q.map(|q| factor * q);
        return [
            n,
            2.0 * x,
            2.0 * y,
            2.0 * z,
            t,
            k[0],
            k[1],
            k[2],
            nu,
            0.0,
            0.0,
            0.0,
        ];
    }
    // No gas has no temperature: a vacuum emits nothing.
    if n == 0.0 {
        return VACUUM;
    }
    let k = q.map(|q| factor * q / (n * t * t));
    let amplitude = n / (PI * t).powf(1.5);
    [
        amplitude,
        x,
        y,
        z,
        1.0 / t,
        k[0],
        k[1],
        k[2],
        nu,
        0.0,
        0.0,
        0.0,
    ]
}

/// Internal energy of a cell and its flux.
pub(in crate::flow) type InternalEnergy = [f64; 4];

/// The state to which a cell of molecules that rotate relaxes, at a temperature that the velocities resolve, and the coefficients of both equilibria.
pub(in crate::flow) fn relaxed(
    gas: &Gas,
    w: &[f64; UNKNOWNS],
    e: &InternalEnergy,
    coldest: f64,
) -> (Relaxed<UNKNOWNS, 4>, [Coefficients; 2]) {
    let rotation = gas.rotation.unwrap_or_default();
    let mut to = rotation::relaxed(&rotation, gas.linear, w, e);
    to.molecules = warmed(gas, &to.molecules, coldest);
    let mut molecules = coefficients(gas, &to.molecules);
    molecules[FREQUENCY] = gas.frequency(w[0], to.translational.max(coldest));
    let [energy, q @ ..] = to.internal;
    let nu = molecules[FREQUENCY];
    if gas.linear {
        let [x, y, z] = q.map(|q| 4.0 * q);
        let internal = [energy, x, y, z, 0.0, 0.0, 0.0, 0.0, nu, 0.0, 0.0, 0.0];
        return (to, [molecules, internal]);
    }
    let mut internal = molecules;
    internal[0] *= energy / w[0];
    for k in 0..3 {
        internal[DRIFT + k] = 4.0 * q[k] * molecules[4] / energy;
    }
    (to, [molecules, internal])
}

/// The coefficients of the internal energy at a rotational temperature, of molecules with those of a Maxwellian.
pub(in crate::flow) fn internal_of(gas: &Gas, state: State, rotational: f64) -> Coefficients {
    let half = 0.5 * gas.freedom();
    let mut c = maxwellian(gas, state);
    match gas.linear {
        true => {
            c = [0.0; 12];
            c[0] = half * rotational;
        }
        false => c[0] *= half * rotational,
    }
    c
}

/// The unknowns that a sweep makes of a cell: `sums` are those of [`rarefy_kernels::flow::volume::gas::add_sums`].
///
/// The sums have `f - S`, so that the heat flux gains what S keeps of the old one, the share 1 - Pr.
pub(in crate::flow) fn swept(
    gas: &Gas,
    w: &[f64; UNKNOWNS],
    sums: &[f64; UNKNOWNS],
) -> [f64; UNKNOWNS] {
    let kept = gas.kept();
    let mut next = *w;
    next[0] += sums[0];
    if gas.linear {
        for k in 0..3 {
            next[1 + k] += sums[1 + k];
            next[5 + k] = kept * w[5 + k] + sums[5 + k] - 1.25 * sums[1 + k];
        }
        next[4] += sums[4];
        return next;
    }
    let [_, x, y, z, _] = state(gas, w);
    let mut work = 0.0;
    let mut square = 0.0;
    for (k, u) in [x, y, z].into_iter().enumerate() {
        next[1 + k] += sums[1 + k] + u * sums[0];
        next[5 + k] = kept * w[5 + k] + sums[5 + k];
        work += u * sums[1 + k];
        square += u * u;
    }
    next[4] += sums[4] + 2.0 * work + square * sums[0];
    next
}

/// The unknowns of a cell at a temperature that the velocities resolve.
///
/// The sums over the nodes of a colder equilibrium have another density than its own, and the iteration would not end.
pub(in crate::flow) fn warmed(gas: &Gas, w: &[f64; UNKNOWNS], coldest: f64) -> [f64; UNKNOWNS] {
    let mut warmed = *w;
    let [n, x, y, z, t] = state(gas, w);
    if !gas.linear && t < coldest {
        warmed[4] = n * (x * x + y * y + z * z + 1.5 * coldest);
    }
    warmed
}

/// Whether a state can be that of a gas.
pub(in crate::flow) fn is_admissible(gas: &Gas, w: &[f64; UNKNOWNS]) -> bool {
    let [n, _, _, _, t] = state(gas, w);
    let finite = w.iter().all(|x| x.is_finite());
    finite && (gas.linear || (n > 0.0 && t > 0.0))
}

/// The equilibrium of a cell or a face at a node.
pub(in crate::flow) fn equilibrium(linear: bool, c: &Coefficients, v: [f64; 3]) -> f64 {
    match linear {
        true => kernels::equilibrium::<f64, true, true, false>(c, v, f64::exp),
        false => kernels::equilibrium::<f64, false, true, false>(c, v, f64::exp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sweep that finds f = S leaves the conserved quantities, and the heat flux (1 - Pr) q.
    #[test]
    fn equilibria_have_the_moments_of_their_cell() {
        for linear in [false, true] {
            for prandtl in [1.0, 2.0 / 3.0] {
                let gas = Gas {
                    linear,
                    delta: 2.0,
                    omega: 0.74,
                    prandtl,
                    rotation: None,
                };
                let mut w = unknowns(&gas, [1.3, 0.4, -0.2, 0.3, 0.8]);
                w[5..].copy_from_slice(&[0.03, -0.02, 0.01]);
                let c = coefficients(&gas, &w);
                let step = 0.2;
                let mut found = [0.0; UNKNOWNS];
                let axis = |i: i32| (f64::from(i) + 0.5) * step;
                for i in -32..32 {
                    for j in -32..32 {
                        for k in -32..32 {
                            let v = [axis(i), axis(j), axis(k)];
                            let square = v.iter().map(|v| v * v).sum::<f64>();
                            let rest = match linear {
                                true => (-square).exp() / PI.powf(1.5),
                                false => 1.0,
                            };
                            let d = rest * step.powi(3) * equilibrium(linear, &c, v);
                            let raw = [v[0] * d, v[1] * d, v[2] * d];
                            found[0] += d;
                            found[4] += square * d;
                            let u = [w[1] / w[0], w[2] / w[0], w[3] / w[0]];
                            for k in 0..3 {
                                found[1 + k] += raw[k];
                                found[5 + k] += match linear {
                                    true => 0.5 * (square - 2.5) * raw[k],
                                    false => {
                                        let c = [v[0] - u[0], v[1] - u[1], v[2] - u[2]];
                                        let own = c.iter().map(|c| c * c).sum::<f64>();
                                        0.5 * own * c[k] * d
                                    }
                                };
                            }
                        }
                    }
                }
                for k in 0..5 {
                    assert!((found[k] - w[k]).abs() < 1e-9, "{k}: {found:?}");
                }
                for k in 5..8 {
                    let expected = (1.0 - prandtl) * w[k];
                    assert!((found[k] - expected).abs() < 1e-9, "{k}: {found:?}");
                }
            }
        }
    }
}
