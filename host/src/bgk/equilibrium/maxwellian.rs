//! Maxwellians on the nodes of a velocity space.

use serde::{Deserialize, Serialize};

use super::DiscreteMaxwellian;
use crate::bgk::{Inner, State, VelocitySpace};
use crate::error::{Error, Result};
use crate::maxwellian::{self, Axes};

/// [`DiscreteMaxwellian`]s of so many cells.
pub(in crate::bgk) type Maxwellians = maxwellian::Maxwellians<2>;

impl Axes for VelocitySpace {
    fn count(&self) -> usize {
        self.axes().len()
    }
    fn axis(&self, d: usize) -> (&[f64], &[f64]) {
        (self.axes()[d].nodes(), self.axes()[d].weights())
    }
    fn moving(&self) -> usize {
        self.flow()
    }
    fn unresolved(&self) -> usize {
        self.integrated()
    }
}

impl Maxwellians {
    /// The Maxwellian `of` each of so many cells.
    pub(in crate::bgk) fn new(cells: usize, of: impl Fn(usize) -> DiscreteMaxwellian) -> Self {
        let mut all = Self::empty(cells);
        for i in 0..cells {
            all.set(i, &of(i));
        }
        all
    }

    pub(in crate::bgk) fn state(&self, i: usize) -> State {
        State {
            density: self.density[i],
            velocity: self.velocity.map(|u| u[i]),
            temperature: self.temperature[i],
        }
    }

    /// Another state, for whose Maxwellian this one is where to start from.
    pub(in crate::bgk) fn set_state(&mut self, i: usize, state: State) {
        self.density[i] = state.density;
        self.temperature[i] = state.temperature;
        for (u, velocity) in self.velocity.iter_mut().zip(state.velocity) {
            u[i] = velocity;
        }
    }

    pub(in crate::bgk) fn get(&self, i: usize) -> DiscreteMaxwellian {
        DiscreteMaxwellian {
            state: self.state(i),
            amplitude: self.amplitude[i],
            slope: self.slope.map(|b| b[i]),
            inverse_temperature: self.inverse_temperature[i],
        }
    }

    pub(in crate::bgk) fn set(&mut self, i: usize, maxwellian: &DiscreteMaxwellian) {
        self.set_state(i, maxwellian.state);
        self.amplitude[i] = maxwellian.amplitude;
        self.inverse_temperature[i] = maxwellian.inverse_temperature;
        for (b, slope) in self.slope.iter_mut().zip(maxwellian.slope) {
            b[i] = slope;
        }
    }
}

/// A Maxwellian as factors: the population of the node (j_x, j_y, m) is `x[j_x] y[j_y] inner[m]`, weights of the quadrature and A included.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Factors {
    /// Along v_x, with the amplitude.
    pub x: Vec<f64>,
    /// Along v_y.
    pub y: Vec<f64>,
    /// Along v_z; 1 and K/(2c) where the velocity space is reduced, and d T/2 for an internal energy at the temperature of the Maxwellian.
    pub inner: Vec<f64>,
}

impl Factors {
    /// The population of the node (j_x, j_y, m).
    ///
    /// # Panics
    /// If there is no such node.
    pub fn population(&self, jx: usize, jy: usize, m: usize) -> f64 {
        self.x[jx] * self.y[jy] * self.inner[m]
    }
}

impl DiscreteMaxwellian {
    /// The Maxwellian of a state, with its moments on the nodes if `conservative`, else as in the continuum.
    ///
    /// # Errors
    /// As [`DiscreteMaxwellian::conservative`].
    pub fn new(space: &VelocitySpace, state: State, conservative: bool) -> Result<Self> {
        let sampled = Self::sampled(space, state);
        if conservative {
            sampled.corrected(space)
        } else {
            Ok(sampled)
        }
    }

    /// The Maxwellian of a state as in the continuum.
    pub fn sampled(space: &VelocitySpace, state: State) -> Self {
        let axes = space.axes().len() as f64;
        let State {
            density,
            temperature,
            ..
        } = state;
        Self {
            state,
            amplitude: density * (std::f64::consts::PI * temperature).powf(-0.5 * axes),
            slope: [0.0; 2],
            inverse_temperature: 1.0 / temperature,
        }
    }

    /// The Maxwellian whose density, mean velocity and temperature on the nodes are those of the state.
    ///
    /// # Errors
    /// [`Error::Numerical`] if there is none: the nodes are too far apart, too few, or do not surround the mean velocity.
    pub fn conservative(space: &VelocitySpace, state: State) -> Result<Self> {
        Self::sampled(space, state).corrected(space)
    }

    /// The conservative Maxwellian of `state` by Newton's method from the slope and inverse temperature of this one.
    ///
    /// # Errors
    /// As [`DiscreteMaxwellian::conservative`].
    pub fn follow(&self, space: &VelocitySpace, state: State) -> Result<Self> {
        Self { state, ..*self }
            .corrected(space)
            .or_else(|_| Self::conservative(space, state))
    }

    fn corrected(self, space: &VelocitySpace) -> Result<Self> {
        let mut one = Maxwellians::new(1, |_| self);
        let [found, ..] = one.conserve(space);
        if found {
            return Ok(one.get(0));
        }
        let State {
            density,
            velocity: [ux, uy],
            temperature,
        } = self.state;
        Err(Error::Numerical(format!(
            "no discrete Maxwellian of density {density:.6}, velocity ({ux:.6}, {uy:.6}) and temperature {temperature:.6} exists on the velocity nodes; use more nodes or a box around them"
        )))
    }

    /// The factors along the axes.
    pub fn factors(&self, space: &VelocitySpace) -> Factors {
        let along = |nodes: &[f64], weights: &[f64], mean: f64, slope: f64| -> Vec<f64> {
            nodes
                .iter()
                .zip(weights)
                .map(|(v, weight)| {
                    let w = v - mean;
                    weight * (w * (slope - self.inverse_temperature * w)).exp()
                })
                .collect()
        };
        let [ux, uy] = self.state.velocity;
        let mut x = along(space.x().nodes(), space.x().weights(), ux, self.slope[0]);
        for factor in &mut x {
            *factor *= self.amplitude;
        }
        let y = match space.axes().get(1) {
            Some(axis) => along(axis.nodes(), axis.weights(), uy, self.slope[1]),
            None => vec![1.0],
        };
        let inner = match space.z() {
            Some(z) => along(z.nodes(), z.weights(), 0.0, 0.0),
            None => {
                let h = space.integrated() as f64 / (2.0 * self.inverse_temperature);
                let internal = 0.5 * space.internal_freedom() * self.state.temperature;
                [1.0, h, internal][..space.shape()[2]].to_vec()
            }
        };
        Factors { x, y, inner }
    }

    /// The populations of all nodes, weights included, in the order of [`VelocitySpace::index`].
    pub fn populations(&self, space: &VelocitySpace) -> Vec<f64> {
        let factors = self.factors(space);
        let mut populations = Vec::with_capacity(space.nodes());
        for x in &factors.x {
            for y in &factors.y {
                for inner in &factors.inner {
                    populations.push(x * y * inner);
                }
            }
        }
        populations
    }
}

/// The Shakhov model's third moment, `M (g.c) (|c|^2/T - 5/2)` for a vector g, as a polynomial that multiplies M:
/// `p_0 + p.c + (q_0 + q.c) |c|^2`.
///
/// With `g = (1-Pr) (8/5) q / (n T^2)` it is what the model adds to the Maxwellian. In the continuum it has no density, momentum and energy. On the
/// nodes it has, by the error of the quadrature, unless [`HeatTerm::conservative`] takes them out with a multiple of M, c M and |c|^2 M.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::bgk) struct HeatTerm {
    /// `p_0`.
    pub(in crate::bgk) constant: f64,
    /// `p`.
    pub(in crate::bgk) linear: [f64; 2],
    /// `q_0`.
    pub(in crate::bgk) square: f64,
    /// `q`.
    pub(in crate::bgk) cubic: [f64; 2],
}

impl HeatTerm {
    /// The term as in the continuum.
    pub(in crate::bgk) fn sampled(g: [f64; 2], temperature: f64) -> Self {
        Self {
            constant: 0.0,
            linear: g.map(|g| -2.5 * g),
            square: 0.0,
            cubic: g.map(|g| g / temperature),
        }
    }

    /// The term without density, momentum and energy on the nodes, for a conservative Maxwellian.
    pub(in crate::bgk) fn conservative(
        space: &VelocitySpace,
        maxwellian: &DiscreteMaxwellian,
        g: [f64; 2],
    ) -> Self {
        let one = Maxwellians::new(1, |_| *maxwellian);
        let mut term = Self::default();
        Self::conservative_all(space, &one, |_| g, |_, found| term = found);
        term
    }

    /// The same of many cells, given the g of each: `put` takes it.
    pub(in crate::bgk) fn conservative_all(
        space: &VelocitySpace,
        maxwellians: &Maxwellians,
        g: impl Fn(usize) -> [f64; 2],
        mut put: impl FnMut(usize, Self),
    ) {
        let axes: Vec<_> = (0..space.axes().len())
            .map(|d| maxwellians.mean_powers(space, d))
            .collect();
        for i in 0..maxwellians.cells {
            let means = axes.iter().map(|powers| powers.map(|power| power[i]));
            put(
                i,
                Self::without_invariants(space, &maxwellians.get(i), means, g(i)),
            );
        }
    }

    /// The term less its multiples of the invariants, given the Maxwellian's means of `c_i^k`, k < 6, along each axis.
    fn without_invariants(
        space: &VelocitySpace,
        maxwellian: &DiscreteMaxwellian,
        means: impl Iterator<Item = [f64; 6]>,
        g: [f64; 2],
    ) -> Self {
        let t = maxwellian.state.temperature;
        let c = maxwellian.inverse_temperature;
        // Means of c_i^k for the flow's axes, and of S and S^2 for the sum of squares along the others.
        let mut powers = [[0.0; 6]; 2];
        let (mut rest, mut rest_square) = (0.0, 0.0);
        let mut add = |mean: f64, mean_square: f64| {
            rest_square += mean_square + 2.0 * rest * mean;
            rest += mean;
        };
        for (d, means) in means.enumerate() {
            if d < space.flow() {
                powers[d] = means;
            } else {
                add(means[2], means[4]);
            }
        }
        if space.is_reduced() {
            let half = 0.5 * space.integrated() as f64;
            add(half / c, half * (half + 1.0) / (c * c));
        }
        let [x, y] = powers;
        // <S>, <S^2>, <c_i S> = <c_i^3>, <c_i^2 S>, <c_i S^2>; odd moments of one axis times another's mean vanish with that mean.
        let energy = x[2] + y[2] + rest;
        let energy_square = x[4] + y[4] + rest_square + 2.0 * (x[2] * y[2] + (x[2] + y[2]) * rest);
        let with_square = |a: &[f64; 6], b: &[f64; 6]| a[4] + a[2] * (b[2] + rest);
        let with_fourth = |a: &[f64; 6], b: &[f64; 6]| a[5] + 2.0 * a[3] * (b[2] + rest);
        let axes = [
            (g[0], x, with_square(&x, &y), with_fourth(&x, &y)),
            (g[1], y, with_square(&y, &x), with_fourth(&y, &x)),
        ];
        let (mut mass, mut heat) = (0.0, 0.0);
        for (g, m, _, fourth) in &axes {
            mass += g * m[3] / t;
            heat += g * (fourth / t - 2.5 * m[3]);
        }
        let (mut right, mut left) = (heat - energy * mass, energy_square - energy * energy);
        let momentum = axes.map(|(g, m, square, _)| g * (square / t - 2.5 * m[2]));
        for ((_, m, ..), momentum) in axes.iter().zip(momentum) {
            if m[2] > 0.0 {
                right -= m[3] * momentum / m[2];
                left -= m[3] * m[3] / m[2];
            }
        }
        let square = right / left;
        let mut term = Self::sampled(g, t);
        term.constant -= mass - energy * square;
        term.square -= square;
        for (d, (_, m, ..)) in axes.iter().enumerate() {
            if m[2] > 0.0 {
                term.linear[d] -= (momentum[d] - m[3] * square) / m[2];
            }
        }
        term
    }

    /// The factor of M at the peculiar velocity c, with [`unresolved`] for the rest of |c|^2.
    pub(in crate::bgk) fn factor(&self, c: [f64; 2], unresolved: f64) -> f64 {
        let square = c[0] * c[0] + c[1] * c[1] + unresolved;
        self.constant
            + self.linear[0] * c[0]
            + self.linear[1] * c[1]
            + (self.square + self.cubic[0] * c[0] + self.cubic[1] * c[1]) * square
    }
}

/// Stand-in for the sum of the squares of the velocities other than v_x and v_y. It is v_z^2, or its mean over the axes that are integrated out: for g and an internal energy
/// `<S> = K/(2c)` and for h `<S^2>/<S> = (K/2 + 1)/c`, with the inverse temperature c of the Maxwellian.
pub(in crate::bgk) fn unresolved(
    space: &VelocitySpace,
    inner: Inner,
    inverse_temperature: f64,
) -> f64 {
    let half = 0.5 * space.integrated() as f64;
    match (space.is_reduced(), inner.energy > 0.0) {
        (false, _) => inner.energy,
        (true, false) => half / inverse_temperature,
        (true, true) => (half + 1.0) / inverse_temperature,
    }
}

/// The vector g of [`HeatTerm`] for a heat flux q and `share` in the place of (1-Pr): `share (8/5) q / (n T^2)`.
pub(in crate::bgk) fn heat_vector(state: &State, heat_flux: [f64; 2], share: f64) -> [f64; 2] {
    let factor = share * 1.6 / (state.density * state.temperature * state.temperature);
    heat_flux.map(|q| q * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgk::{Axis, Moments};

    fn spaces() -> Vec<VelocitySpace> {
        let x = |n| Axis::uniform(n, -5.2, 6.0).unwrap();
        let t = |n| Axis::uniform(n, -4.7, 4.7).unwrap();
        vec![
            VelocitySpace::new(vec![x(14)], 1).unwrap(),
            VelocitySpace::new(vec![x(14), t(11)], 1).unwrap(),
            VelocitySpace::new(vec![x(14), x(13)], 2).unwrap(),
            VelocitySpace::new(vec![x(14), t(11), t(10)], 1).unwrap(),
            VelocitySpace::new(vec![x(14), x(13), t(10)], 2).unwrap(),
        ]
    }

    #[test]
    fn conservative_maxwellians_have_their_moments() {
        for space in spaces() {
            let uy = if space.flow() == 2 { -0.3 } else { 0.0 };
            let state = State {
                density: 1.7,
                velocity: [0.9, uy],
                temperature: 1.2,
            };
            let m = DiscreteMaxwellian::conservative(&space, state).unwrap();
            let populations = m.populations(&space);
            let moments = Moments::of(&space, |node| populations[node]);
            assert!((moments.density - 1.7).abs() < 1e-14);
            assert!((moments.velocity[0] - 0.9).abs() < 1e-14);
            assert!((moments.velocity[1] - uy).abs() < 1e-14);
            assert!((moments.temperature - 1.2).abs() < 1e-14, "{moments:?}");
            // The sampled one is off by the quadrature's error, and both are close.
            let sampled = DiscreteMaxwellian::sampled(&space, state);
            assert!((sampled.amplitude / m.amplitude - 1.0).abs() < 0.02);
            let again = m.follow(&space, state).unwrap();
            assert!((again.inverse_temperature - m.inverse_temperature).abs() < 1e-13);
        }
    }

    #[test]
    fn there_is_none_on_a_grid_too_coarse() {
        let t = 1.0;
        let state = State::along_x(1.0, 0.0, t);
        for (step, exists) in [(1.40, true), (1.43, false)] {
            let half = 5.0 * step;
            let space =
                VelocitySpace::new(vec![Axis::uniform(10, -half, half).unwrap()], 1).unwrap();
            // Three axes, else the energy of the missing ones helps.
            let axis = space.x().clone();
            let space = VelocitySpace::new(vec![axis.clone(), axis.clone(), axis], 1).unwrap();
            assert_eq!(
                DiscreteMaxwellian::conservative(&space, state).is_ok(),
                exists,
                "{step}"
            );
            assert_eq!(space.check_range(&[state]).is_ok(), exists);
        }
    }

    #[test]
    fn the_shakhov_term_carries_the_heat_flux_alone() {
        for space in spaces() {
            let along_y = if space.flow() == 2 { 0.04 } else { 0.0 };
            let state = State {
                density: 1.3,
                velocity: [0.37, along_y],
                temperature: 1.0,
            };
            let m = DiscreteMaxwellian::conservative(&space, state).unwrap();
            let populations = m.populations(&space);
            let inner = space.inner();
            let [_, ny, nm] = space.shape();
            let q = [0.1, along_y];
            let g = heat_vector(&state, q, 1.0);
            let moments = |term: HeatTerm| {
                Moments::of(&space, |node| {
                    let (jx, jy, k) = (node / (ny * nm), node / nm % ny, node % nm);
                    let c = [
                        space.x().nodes()[jx] - state.velocity[0],
                        space.y_nodes()[jy] - state.velocity[1],
                    ];
                    let rest = unresolved(&space, inner[k], m.inverse_temperature);
                    populations[node] * (1.0 + term.factor(c, rest))
                })
            };
            let sampled = moments(HeatTerm::sampled(g, 1.0));
            let exact = moments(HeatTerm::conservative(&space, &m, g));
            assert!((sampled.density - 1.3).abs() < 1e-4);
            assert!((exact.density - 1.3).abs() < 1e-14);
            assert!((exact.velocity[0] - state.velocity[0]).abs() < 1e-14);
            assert!((exact.velocity[1] - state.velocity[1]).abs() < 1e-14);
            assert!((exact.temperature - 1.0).abs() < 1e-14, "{exact:?}");
            for found in [sampled, exact] {
                for (found, expected) in found.heat_flux.iter().zip(q) {
                    assert!((found - expected).abs() < 2e-3, "{found} {expected}");
                }
            }
        }
    }
}
