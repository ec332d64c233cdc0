//! The gas: relaxation models, their local equilibria on the nodes, and the moments that they need.
//!
//! The formulas at a node are those of the kernels, [`rarefy_kernels::flow::gas`].

use rarefy_kernels::flow::gas as kernels;

use crate::bgk::rotation::{self, Matrix, Relaxed};
use crate::flow::{GasOf, Model, Rotation};

pub(in crate::flow) use kernels::{DRIFT, FREQUENCY, MOMENTS, UNKNOWNS};

/// Numbers of a cell that its equilibrium is evaluated from.
pub(in crate::flow) type Coefficients = kernels::Coefficients<f64>;

/// Internal energy of a cell and its flux.
pub(in crate::flow) type InternalEnergy = [f64; 3];

/// A macroscopic state: density, mean velocity and temperature, or their perturbations.
pub(in crate::flow) type Primitive = [f64; 4];

/// The gas of a problem.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) struct Gas {
    /// Whether the equation is linearised.
    pub(in crate::flow) linear: bool,
    /// Rarefaction parameter of the length 1.
    pub(in crate::flow) delta: f64,
    /// Exponent of the viscosity.
    pub(in crate::flow) omega: f64,
    /// Prandtl number: 1 for BGK.
    pub(in crate::flow) prandtl: f64,
    /// The rotation of the molecules.
    pub(in crate::flow) rotation: Option<Rotation>,
}

impl Gas {
    /// The gas of a resolved case.
    pub(in crate::flow) fn new(gas: &GasOf) -> Self {
        Self {
            linear: gas.linear,
            delta: gas.delta,
            omega: gas.omega,
            prandtl: match gas.model {
                Model::Bgk => 1.0,
                Model::Shakhov | Model::Polyatomic => gas.prandtl,
            },
            rotation: gas.rotation,
        }
    }

    /// Relaxation frequency, `delta n T^(1 - omega)`.
    pub(in crate::flow) fn frequency(&self, density: f64, temperature: f64) -> f64 {
        match self.linear {
            true => self.delta,
            false => self.delta * density * temperature.powf(1.0 - self.omega),
        }
    }

    /// Internal degrees of freedom of the molecules.
    pub(in crate::flow) fn freedom(&self) -> f64 {
        self.rotation.map_or(0.0, |rotation| rotation.freedom)
    }

    /// The inverse of the matrix A at a temperature of translation; of single atoms 1/Pr alone acts.
    pub(in crate::flow) fn inverse_rates(&self, temperature: f64) -> Matrix {
        match &self.rotation {
            Some(rotation) => rotation.inverse_rates(temperature),
            None => [[1.0 / self.prandtl, 0.0], [0.0, 1.0]],
        }
    }

    /// Conductivities of translation and rotation, `(q_t, q_r) = -mu K (grad T_t, grad T_r)`: `K = A^-1 diag(5, d)/4`.
    pub(in crate::flow) fn conduction(&self, temperature: f64) -> Matrix {
        match &self.rotation {
            Some(rotation) => rotation.conduction(temperature),
            None => [[1.25 * (1.0 / self.prandtl), 0.0], [0.0; 2]],
        }
    }

    /// The share of a cell's heat flux that its equilibrium keeps; molecules that rotate relax it before.
    pub(in crate::flow) fn kept(&self) -> f64 {
        match self.rotation {
            Some(_) => 1.0,
            None => 1.0 - self.prandtl,
        }
    }

    /// The state of a cell.
    pub(in crate::flow) fn primitive(&self, w: &[f64; UNKNOWNS]) -> Primitive {
        if self.linear {
            return [w[0], w[1], w[2], w[3] / 1.5 - w[0]];
        }
        let n = w[0];
        let [ux, uy] = [w[1] / n, w[2] / n];
        [n, ux, uy, (w[3] / n - ux * ux - uy * uy) / 1.5]
    }

    /// The unknowns of a cell in a state without heat flux.
    pub(in crate::flow) fn unknowns(&self, [n, ux, uy, t]: Primitive) -> [f64; UNKNOWNS] {
        if self.linear {
            [n, ux, uy, 1.5 * (n + t), 0.0, 0.0]
        } else {
            let energy = n * (ux * ux + uy * uy + 1.5 * t);
            [n, n * ux, n * uy, energy, 0.0, 0.0]
        }
    }

    /// The coefficients of a Maxwellian, as faces emit it.
    pub(in crate::flow) fn maxwellian(&self, state: Primitive) -> Coefficients {
        self.coefficients_of(state, [0.0; 2])
    }

    /// The coefficients of a cell's equilibrium.
    pub(in crate::flow) fn coefficients(&self, w: &[f64; UNKNOWNS]) -> Coefficients {
        self.coefficients_of(self.primitive(w), [w[4], w[5]])
    }

    /// The state to which a cell of molecules that rotate relaxes, and the coefficients of both equilibria.
    pub(in crate::flow) fn relaxed(
        &self,
        w: &[f64; UNKNOWNS],
        e: &InternalEnergy,
    ) -> (Relaxed<UNKNOWNS, 3>, [Coefficients; 2]) {
        let rotation = self.rotation.unwrap_or_default();
        let to = rotation::relaxed(&rotation, self.linear, w, e);
        let mut molecules = self.coefficients(&to.molecules);
        molecules[FREQUENCY] = self.frequency(w[0], to.translational);
        let [energy, q @ ..] = to.internal;
        let nu = molecules[FREQUENCY];
        if self.linear {
            let [x, y] = q.map(|q| 4.0 * q);
            return (
                to,
                [molecules, [energy, x, y, 0.0, 0.0, 0.0, nu, 0.5, 0.0, 0.0]],
            );
        }
        let mut internal = molecules;
        internal[0] *= energy / w[0];
        for k in 0..2 {
            internal[DRIFT + k] = 4.0 * q[k] * molecules[3] / energy;
        }
        (to, [molecules, internal])
    }

    /// The coefficients of the internal energy at a rotational temperature, of molecules with those of a Maxwellian.
    pub(in crate::flow) fn internal_of(&self, state: Primitive, rotational: f64) -> Coefficients {
        let half = 0.5 * self.freedom();
        let mut c = self.maxwellian(state);
        match self.linear {
            true => {
                let nu = c[FREQUENCY];
                c = [
                    half * rotational,
                    0.0,
                    0.0,
                    0.0,
                    0.0,
                    0.0,
                    nu,
                    0.5,
                    0.0,
                    0.0,
                ];
            }
            false => c[0] *= half * rotational,
        }
        c
    }

    fn coefficients_of(&self, [n, ux, uy, t]: Primitive, q: [f64; 2]) -> Coefficients {
        let factor = 1.6 * self.kept();
        let nu = self.frequency(n, t);
        if self.linear {
            let k = q.map(|q| factor * q);
            return [n, 2.0 * ux, 2.0 * uy, t, k[0], k[1], nu, 0.5, 0.0, 0.0];
        }
        // No gas has no temperature: a vacuum emits nothing.
        if n == 0.0 {
            return [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0];
        }
        let k = q.map(|q| factor * q / (n * t * t));
        let amplitude = n / (std::f64::consts::PI * t);
        [
            amplitude,
            ux,
            uy,
            1.0 / t,
            k[0],
            k[1],
            nu,
            0.5 * t,
            0.0,
            0.0,
        ]
    }

    /// Whether a state can be that of a gas.
    pub(in crate::flow) fn is_admissible(&self, w: &[f64; UNKNOWNS]) -> bool {
        let [n, _, _, t] = self.primitive(w);
        let finite = w.iter().all(|x| x.is_finite());
        finite && (self.linear || (n > 0.0 && t > 0.0))
    }
}

/// The equilibrium of a cell or a face at a node.
#[inline(always)]
pub(in crate::flow) fn equilibrium<const LINEAR: bool>(
    c: &Coefficients,
    v: [f64; 2],
    exponential: impl Fn(f64) -> f64,
) -> [f64; 2] {
    kernels::equilibrium::<f64, LINEAR, true, false>(c, v, exponential)
}

/// A node's part of a cell's sums: what `f - S` has of the conserved quantities, and the heat flux of f about the mean velocity of S.
#[inline(always)]
pub(in crate::flow) fn sums<const LINEAR: bool>(
    c: &Coefficients,
    v: [f64; 2],
    weight: f64,
    f: [f64; 2],
    s: [f64; 2],
) -> [f64; UNKNOWNS] {
    let mut sums = [0.0; UNKNOWNS];
    kernels::add_sums::<f64, LINEAR, false>(&mut sums, c, v, weight, f, s);
    sums
}

/// A node's part of a flux; `part` is its volume times its velocity through the face.
#[inline(always)]
pub(in crate::flow) fn flux(v: [f64; 2], part: f64, f: [f64; 2]) -> [f64; MOMENTS] {
    let mut moments = [0.0; MOMENTS];
    kernels::add_flux::<f64, false>(&mut moments, v, part, f);
    moments
}

/// Adds to each sum its part.
#[inline(always)]
pub(in crate::flow) fn add<const N: usize>(to: &mut [f64; N], part: [f64; N]) {
    for (to, part) in to.iter_mut().zip(part) {
        *to += part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums over a fine grid of velocities.
    fn moments(gas: &Gas, w: &[f64; UNKNOWNS]) -> [f64; UNKNOWNS] {
        let c = gas.coefficients(w);
        let step = 0.05;
        let mut total = [0.0; UNKNOWNS];
        for i in -140..140 {
            for j in -140..140 {
                let v = [(f64::from(i) + 0.5) * step, (f64::from(j) + 0.5) * step];
                let rest = (-v[0] * v[0] - v[1] * v[1]).exp() / std::f64::consts::PI;
                let (s, weight) = if gas.linear {
                    (equilibrium::<true>(&c, v, f64::exp), rest * step * step)
                } else {
                    (equilibrium::<false>(&c, v, f64::exp), step * step)
                };
                let part = match gas.linear {
                    true => sums::<true>(&c, v, weight, s, [0.0; 2]),
                    false => sums::<false>(&c, v, weight, s, [0.0; 2]),
                };
                for (total, part) in total.iter_mut().zip(part) {
                    *total += part;
                }
            }
        }
        total
    }

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
                let mut w = gas.unknowns([1.3, 0.4, -0.2, 0.8]);
                (w[4], w[5]) = (0.03, -0.02);
                let found = moments(&gas, &w);
                for k in 0..4 {
                    assert!((found[k] - w[k]).abs() < 1e-9, "{k}: {found:?}");
                }
                // The equilibrium keeps the share 1 - Pr of the heat flux.
                for k in 4..6 {
                    let expected = (1.0 - prandtl) * w[k];
                    assert!((found[k] - expected).abs() < 1e-9, "{k}: {found:?}");
                }
            }
        }
    }
}
