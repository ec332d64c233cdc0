//! Relaxation in time of [molecules that rotate](crate::bgk::rotation).
//!
//! In a step of the time dt both functions relax to one equilibrium, `f' = e f + (1 - e) S` with `e = exp(-tau)`, `tau = nu dt`. Its temperatures and heat fluxes are such
//! that those of the cell follow their equations `dT_t/dt = nu (T - T_t)/Z`, `dT_r/dt = nu (T - T_r)/Z` and `d(q_t, q_r)/dt = -nu A (q_t, q_r)` exactly, for any dt:
//!
//! ```text
//! r = (exp(-tau/Z) - e)/(1 - e)   T* = T + (T_t - T) r   T_r* = T + (T_r - T) r   (Q_t, Q_r) = (exp(-A tau) - e)/(1 - e) (q_t, q_r)
//! ```
//!
//! The frequency is that of the temperature of translation half-way through the step, which makes it one of second order.

use crate::bgk::rotation::{Matrix, RotatingMoments};
use crate::bgk::{Gas, Moments, Rotation, State, VelocitySpace};
use crate::error::{Error, Result};

/// Internal energy of a cell's molecules and its flux: `<E>` and `q_r = <c E>/2`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Internal {
    pub(super) energy: f64,
    pub(super) heat_flux: [f64; 2],
}

impl Internal {
    /// That of populations `f(node)` about a mean velocity.
    pub(super) fn of(space: &VelocitySpace, mean: [f64; 2], f: impl Fn(usize) -> f64) -> Self {
        let (vx, vy, [_, _, functions]) = (space.x().nodes(), space.y_nodes(), space.shape());
        let mut found = Self::default();
        let pairs = vx.iter().flat_map(|vx| vy.iter().map(move |vy| [*vx, *vy]));
        for (pair, v) in pairs.enumerate() {
            // The last function of a velocity.
            let energy = f(pair * functions + functions - 1);
            found.energy += energy;
            for (d, q) in found.heat_flux.iter_mut().enumerate() {
                *q += 0.5 * (v[d] - mean[d]) * energy;
            }
        }
        found
    }

    /// The temperature of rotation.
    pub(super) fn temperature(&self, rotation: &Rotation, density: f64) -> f64 {
        self.energy / (0.5 * rotation.freedom * density)
    }

    /// Its values as numbers.
    pub(super) fn numbers(&self) -> [f64; 3] {
        let [x, y] = self.heat_flux;
        [self.energy, x, y]
    }

    /// The values of such numbers.
    pub(super) fn from_numbers([energy, x, y]: [f64; 3]) -> Self {
        Self {
            energy,
            heat_flux: [x, y],
        }
    }
}

/// Moments of translation made those of all energy, and what the cell has of rotation.
pub(super) fn with_rotation(
    rotation: &Rotation,
    moments: &mut Moments,
    internal: &Internal,
) -> RotatingMoments {
    let of_translation = moments.temperature;
    let of_rotation = internal.temperature(rotation, moments.density);
    moments.temperature = rotation.temperature(of_translation, of_rotation);
    for (q, internal) in moments.heat_flux.iter_mut().zip(internal.heat_flux) {
        *q += internal;
    }
    RotatingMoments {
        temperature_translational: of_translation,
        temperature_rotational: of_rotation,
        heat_flux_rotational: internal.heat_flux,
    }
}

/// The relaxation of a cell in a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relaxing {
    /// `e^(-tau)` and `1 - e^(-tau)`.
    pub(super) keep: f64,
    pub(super) give: f64,
    /// Temperatures T* and T_r* of the equilibrium.
    pub(super) temperatures: [f64; 2],
    /// `(exp(-A tau) - e)(q_t, q_r)`, along x and y.
    pub(super) heat_fluxes: [[f64; 2]; 2],
    /// `exp(-tau/Z)`, the share of the difference of the temperatures that is left.
    left: f64,
    /// `exp(-A tau)`.
    decay: Matrix,
}

impl Relaxing {
    /// The relaxation of a cell with this density, temperature and heat flux of translation.
    ///
    /// # Errors
    /// A temperature of rotation that is not positive.
    pub(super) fn new(
        gas: &Gas,
        rotation: &Rotation,
        state: &State,
        heat_flux: [f64; 2],
        internal: &Internal,
        dt: f64,
    ) -> Result<Self> {
        let t_t = state.temperature;
        let t_r = internal.temperature(rotation, state.density);
        if !(t_r > 0.0 && t_r.is_finite()) {
            return Err(Error::Numerical(format!(
                "a temperature of rotation of {t_r:e} is no state of a gas; use finer cells or shorter steps"
            )));
        }
        let common = rotation.temperature(t_t, t_r);
        let z = rotation.relaxation_of(t_t);
        let first = gas.relaxation_frequency(state.density, t_t);
        let half = common + (t_t - common) * (-0.5 * first * dt / z).exp();
        let tau = gas.relaxation_frequency(state.density, half) * dt;
        let (keep, give, left) = ((-tau).exp(), -(-tau).exp_m1(), (-tau / z).exp());
        let share = match give > 0.0 {
            true => ((-tau / z).exp_m1() + give) / give,
            false => 1.0 - 1.0 / z,
        };
        let decay = exponential(rotation.matrix(z), tau);
        let remains = |d: usize| {
            let q = [heat_flux[d], internal.heat_flux[d]];
            [0, 1].map(|k| decay[k][0] * q[0] + decay[k][1] * q[1] - keep * q[k])
        };
        let (along_x, along_y) = (remains(0), remains(1));
        Ok(Self {
            keep,
            give,
            temperatures: [t_t, t_r].map(|t| common + (t - common) * share),
            heat_fluxes: [0, 1].map(|k| [along_x[k], along_y[k]]),
            left,
            decay,
        })
    }

    /// Moments of translation and internal energy after that time.
    pub(super) fn apply(
        &self,
        rotation: &Rotation,
        moments: &mut Moments,
        internal: &mut Internal,
    ) {
        let density = moments.density;
        let t_t = moments.temperature;
        let t_r = internal.temperature(rotation, density);
        let common = rotation.temperature(t_t, t_r);
        let [after, rotating] = [t_t, t_r].map(|t| common + (t - common) * self.left);
        let [before, pressure] = [t_t, after].map(|t| 0.5 * density * t);
        let [xx, yy, xy] = moments.pressure;
        moments.pressure = [
            pressure + self.keep * (xx - before),
            pressure + self.keep * (yy - before),
            self.keep * xy,
        ];
        moments.temperature = after;
        internal.energy = 0.5 * rotation.freedom * density * rotating;
        let [[tt, tr], [rt, rr]] = self.decay;
        for (q_t, q_r) in moments.heat_flux.iter_mut().zip(&mut internal.heat_flux) {
            (*q_t, *q_r) = (tt * *q_t + tr * *q_r, rt * *q_t + rr * *q_r);
        }
    }
}

/// The vector g of the second term of S_E, `4 Q_r/(n T*)`, with the share of a step in Q_r.
pub(super) fn internal_vector(state: &State, heat_flux: [f64; 2]) -> [f64; 2] {
    heat_flux.map(|q| 4.0 * q / (state.density * state.temperature))
}

/// `exp(-A t)` of a matrix with eigenvalues `m - s` and `m + s`: `e^(-m t) (cosh(s t) - sinh(s t)/s (A - m))`.
fn exponential([[a, b], [c, d]]: Matrix, t: f64) -> Matrix {
    let (mean, half) = (0.5 * (a + d), 0.5 * (a - d));
    let square = half * half + b * c;
    let decay = (-mean * t).exp();
    let (cosine, sine) = if square > 0.0 {
        let s = square.sqrt();
        let (slow, fast) = ((-(mean - s) * t).exp(), (-(mean + s) * t).exp());
        (
            0.5 * (slow + fast),
            fast * (2.0 * s * t).exp_m1() / (2.0 * s),
        )
    } else if square < 0.0 {
        let s = (-square).sqrt();
        (decay * (s * t).cos(), decay * (s * t).sin() / s)
    } else {
        (decay, decay * t)
    };
    // Of a long time the product of nothing and infinity.
    let sine = if sine.is_finite() { sine } else { 0.0 };
    [
        [cosine - sine * half, -sine * b],
        [-sine * c, cosine + sine * half],
    ]
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::bgk::{Model, RotationalCollisions};

    /// Gas P of the tables: Z = 2.667.
    fn gas() -> (Gas, Rotation) {
        let rotation = Rotation {
            collisions: RotationalCollisions::Constant(2.667 / (0.6 * std::f64::consts::FRAC_PI_4)),
            ..Rotation::default()
        };
        let gas = Gas {
            model: Model::Polyatomic,
            rotation: Some(rotation),
            ..Gas::default()
        };
        (gas, rotation)
    }

    #[test]
    fn exponentials_of_matrices_are_those_of_their_series() {
        for (a, t) in [
            ([[0.79, -0.19], [-0.075, 0.91]], 1.0),
            ([[0.79, -0.19], [-0.075, 0.91]], 2.5),
            ([[0.7, 0.3], [-0.3, 0.7]], 1.5),
            ([[0.7, 0.4], [0.0, 0.7]], 1.5),
        ] {
            let mut term = [[1.0, 0.0], [0.0, 1.0]];
            let mut series = term;
            for k in 1..60 {
                let of = |i: usize, j: usize| term[i][0] * a[0][j] + term[i][1] * a[1][j];
                let next = [[of(0, 0), of(0, 1)], [of(1, 0), of(1, 1)]];
                term = next.map(|row| row.map(|value| -t / f64::from(k) * value));
                for (sum, term) in series
                    .as_flattened_mut()
                    .iter_mut()
                    .zip(term.as_flattened())
                {
                    *sum += term;
                }
            }
            let found = exponential(a, t);
            for (found, series) in found.as_flattened().iter().zip(series.as_flattened()) {
                assert!((found - series).abs() < 1e-14, "{a:?}: {found} {series}");
            }
        }
        assert_eq!(
            exponential([[0.79, -0.19], [-0.075, 0.91]], 1e5),
            [[0.0; 2]; 2]
        );
    }

    #[test]
    fn a_step_of_any_length_has_the_exact_temperatures() {
        let (gas, rotation) = gas();
        // Temperatures 2 and 0.5 relax to 1.4 with the rate 1/Z: the closed form of Landau and Teller.
        let state = State::along_x(1.0, 0.0, 2.0);
        let internal = Internal {
            energy: 0.5,
            heat_flux: [0.1, 0.0],
        };
        let mut whole = Moments {
            density: 1.0,
            temperature: 2.0,
            pressure: [1.2, 0.9, 0.1],
            heat_flux: [0.3, -0.2],
            ..Moments::default()
        };
        let gas = Gas { omega: 1.0, ..gas };
        let step = |dt: f64, moments: &mut Moments, internal: &mut Internal| {
            let state = moments.state();
            let q = moments.heat_flux;
            let of = Relaxing::new(&gas, &rotation, &state, q, internal, dt).expect("a state");
            of.apply(&rotation, moments, internal);
        };
        let (mut by_steps, mut of_steps, mut of_whole) = (whole, internal, internal);
        step(3.0, &mut whole, &mut of_whole);
        for _ in 0..30 {
            step(0.1, &mut by_steps, &mut of_steps);
        }
        for (moments, internal) in [(whole, of_whole), (by_steps, of_steps)] {
            assert_relative_eq!(moments.temperature, 1.594819, max_relative = 1e-6);
            let left = (-3.0_f64 / 2.667).exp();
            assert_relative_eq!(moments.temperature, 1.4 + 0.6 * left, max_relative = 1e-13);
            assert_relative_eq!(internal.energy, 1.4 - 0.9 * left, max_relative = 1e-13);
        }
        for (a, b) in whole.heat_flux.iter().zip(by_steps.heat_flux) {
            assert_relative_eq!(*a, b, max_relative = 1e-12);
        }
        let equilibrium = Relaxing::new(&gas, &rotation, &state, [0.0; 2], &internal, 0.0);
        let [t_t, t_r] = equilibrium.expect("a state").temperatures;
        assert_relative_eq!(3.0 * t_t + 2.0 * t_r, 7.0, max_relative = 1e-14);
    }
}
