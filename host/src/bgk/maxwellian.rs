//! Maxwellians on the nodes of a velocity space.

use serde::{Deserialize, Serialize};

use super::{Inner, State, VelocitySpace};
use crate::error::{Error, Result};

/// `M = A exp(b.w - c |w|^2)`, w = v - u, on the nodes of a velocity space.
///
/// Sampled from the continuum b = 0 and c = 1/T. Then the sums over the nodes miss density, momentum and energy by the error of the quadrature;
/// [`DiscreteMaxwellian::conservative`] finds the A, b and c for which they do not (the least change of exponent that does it: the exponent stays a
/// combination of the invariants). Either way M is a product of factors along the axes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiscreteMaxwellian {
    /// The state that it stands for.
    pub state: State,
    /// A.
    pub amplitude: f64,
    /// b, along the axes of the flow; 0 along the others.
    pub slope: [f64; 2],
    /// c.
    pub steepness: f64,
}

/// A Maxwellian as factors: the population of the node (j_x, j_y, m) is `x[j_x] y[j_y] inner[m]`, weights of the quadrature and A included.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// Along v_x, with the amplitude.
    pub x: Vec<f64>,
    /// Along v_y.
    pub y: Vec<f64>,
    /// Along v_z; 1 and K/(2c) where the velocity space is reduced.
    pub inner: Vec<f64>,
}

impl Factors {
    /// The population of the node (j_x, j_y, m).
    pub fn population(&self, jx: usize, jy: usize, m: usize) -> f64 {
        self.x[jx] * self.y[jy] * self.inner[m]
    }
}

/// Moments of one factor: `<w>`, the variance of w, its covariance with w^2, `<w^2>` and the variance of w^2.
struct AxisMoments {
    sum: f64,
    mean: f64,
    variance: f64,
    covariance: f64,
    square: f64,
    variance_of_square: f64,
}

fn axis_moments(nodes: &[f64], weights: &[f64], mean: f64, slope: f64, c: f64) -> AxisMoments {
    let mut sums = [0.0; 5];
    for (v, weight) in nodes.iter().zip(weights) {
        let w = v - mean;
        let mut term = weight * (w * (slope - c * w)).exp();
        for sum in &mut sums {
            *sum += term;
            term *= w;
        }
    }
    let [s0, m1, m2, m3, m4] = [
        sums[0],
        sums[1] / sums[0],
        sums[2] / sums[0],
        sums[3] / sums[0],
        sums[4] / sums[0],
    ];
    AxisMoments {
        sum: s0,
        mean: m1,
        variance: m2 - m1 * m1,
        covariance: m3 - m1 * m2,
        square: m2,
        variance_of_square: m4 - m2 * m2,
    }
}

/// Newton steps after which a Maxwellian counts as not there; from the continuum's values two or three do, far from them some more.
const MOST_STEPS: usize = 60;

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
            steepness: 1.0 / temperature,
        }
    }

    /// The Maxwellian whose density, mean velocity and temperature on the nodes are those of the state.
    ///
    /// # Errors
    /// [`Error::Numerical`] if there is none: the nodes are too far apart, too few, or do not surround the mean velocity.
    pub fn conservative(space: &VelocitySpace, state: State) -> Result<Self> {
        Self::sampled(space, state).corrected(space)
    }

    /// The conservative Maxwellian of `state` by Newton's method from the slope and steepness of this one.
    ///
    /// # Errors
    /// As [`DiscreteMaxwellian::conservative`].
    pub fn follow(&self, space: &VelocitySpace, state: State) -> Result<Self> {
        Self { state, ..*self }
            .corrected(space)
            .or_else(|_| Self::conservative(space, state))
    }

    fn corrected(mut self, space: &VelocitySpace) -> Result<Self> {
        let State {
            density,
            velocity,
            temperature,
        } = self.state;
        let integrated = space.integrated() as f64;
        let (mut last, mut improving) = (f64::INFINITY, true);
        for _ in 0..MOST_STEPS {
            let c = self.steepness;
            let mut product = 1.0;
            let mut energy = integrated / (2.0 * c) - 1.5 * temperature;
            let mut spread = integrated / (2.0 * c * c);
            let mut flow = [(0.0, 0.0, 1.0); 2];
            for (d, axis) in space.axes().iter().enumerate() {
                let moves = d < space.flow();
                let (mean, slope) = if moves {
                    (velocity[d], self.slope[d])
                } else {
                    (0.0, 0.0)
                };
                let m = axis_moments(axis.nodes(), axis.weights(), mean, slope, c);
                product *= m.sum;
                energy += m.square;
                spread += m.variance_of_square;
                if moves {
                    flow[d] = (m.mean, m.covariance, m.variance);
                }
            }
            let size = flow
                .iter()
                .map(|(mean, ..)| mean.abs() / temperature.sqrt())
                .fold(energy.abs() / temperature, f64::max);
            self.amplitude = density / product;
            // Quadratic convergence ends in roundoff, which this notices by the residual no longer falling.
            if size < 1e-15 || (size < 1e-12 && size >= last && !improving) {
                return Ok(self);
            }
            if !size.is_finite() {
                break;
            }
            improving = size < last;
            last = size.min(last);
            let (mut right, mut left) = (energy, spread);
            for (mean, covariance, variance) in flow {
                right -= covariance * mean / variance;
                left -= covariance * covariance / variance;
            }
            let change = (right / left).clamp(-0.5 * c, c);
            for (slope, (mean, covariance, variance)) in self.slope.iter_mut().zip(flow) {
                *slope += (covariance * change - mean) / variance;
            }
            self.steepness += change;
        }
        if last < 1e-12 {
            return Ok(self);
        }
        Err(Error::Numerical(format!(
            "no discrete Maxwellian of density {density:.6}, velocity ({:.6}, {:.6}) and temperature {temperature:.6} exists on the velocity nodes; use more nodes or a box around them",
            velocity[0], velocity[1]
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
                    weight * (w * (slope - self.steepness * w)).exp()
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
            None => vec![1.0, space.integrated() as f64 / (2.0 * self.steepness)],
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

/// What the Shakhov model multiplies the Maxwellian's population by, less 1, for unit `(1 - Pr)`:
/// `(8/5) q.c / (n T^2) (|c|^2/T - 5/2)`, averaged over the axes that are integrated out.
///
/// `c` is the peculiar velocity along x and y, `state` and `heat_flux` are the local ones; for `h` the factor is relative to `H = (K/2) T G`.
pub fn shakhov_factor(
    space: &VelocitySpace,
    inner: Inner,
    state: &State,
    heat_flux: [f64; 2],
    c: [f64; 2],
) -> f64 {
    let t = state.temperature;
    // |c|^2/T with the unresolved part averaged: <|w|^2>/T is K/2 for g, and <|w|^4>/(T <|w|^2>) = K/2 + 1 for h.
    let unresolved = match (space.is_reduced(), inner.mass > 0.0) {
        (false, _) => inner.energy / t,
        (true, true) => 0.5 * space.integrated() as f64,
        (true, false) => 0.5 * space.integrated() as f64 + 1.0,
    };
    let xi = (c[0] * c[0] + c[1] * c[1]) / t + unresolved;
    1.6 * (heat_flux[0] * c[0] + heat_flux[1] * c[1]) / (state.density * t * t) * (xi - 2.5)
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Moments};
    use super::*;

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
            assert!((again.steepness - m.steepness).abs() < 1e-13);
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
            let state = State::along_x(1.3, 0.4, 1.0);
            let m = DiscreteMaxwellian::conservative(&space, state).unwrap();
            let populations = m.populations(&space);
            let inner = space.inner();
            let [_, ny, nm] = space.shape();
            let q = [0.1, along_y];
            let moments = Moments::of(&space, |node| {
                let (jx, jy, k) = (node / (ny * nm), node / nm % ny, node % nm);
                let c = [space.x().nodes()[jx] - 0.4, space.y_nodes()[jy]];
                populations[node] * (1.0 + shakhov_factor(&space, inner[k], &state, q, c))
            });
            assert!((moments.density - 1.3).abs() < 1e-4);
            assert!((moments.temperature - 1.0).abs() < 1e-3);
            for (found, expected) in moments.heat_flux.iter().zip(q) {
                assert!((found - expected).abs() < 2e-3, "{found} {expected}");
            }
        }
    }
}
