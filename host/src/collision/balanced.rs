//! The balanced correction: conservative, at rest at every discrete Maxwellian, and with the relaxation rates of the uncorrected sum.
//!
//! ```text
//! B(f) = Q(f, f) - Q(M, M) - M (c . phi),
//! ```
//!
//! with the uncorrected sum Q, the discrete Maxwellian M that has the five moments of f, and the c for which those of B vanish. The paper's correction has a part
//! `delta` of the order of the grid's error at a Maxwellian too, and its term `M nu (delta . phi)` damps every perturbation that is no invariant. Here M does not
//! change with such a perturbation, so the linearised B has the rates of Q.
//!
//! The difference is one bilinear sum, without cancellation: with the deviation `g = f - M` and the mean `m = (f + M) / 2`
//!
//! ```text
//! f_k f_l - M_k M_l = g_k m_l + m_k g_l,     f nu[f] - M nu[M] = g nu[m] + m nu[g].
//! ```
//!
//! A deviation of 1e-6 has therefore as many digits in f32 as the sums themselves.

use nalgebra::{Cholesky, Const, Vector5};

use super::correction::{Basis, dot, factor, residuals};
use super::sums::Sums;
use super::{Correction, CorrectionStatus, Evaluation, OperatorConfig, VelocityGrid};
use crate::maxwellian::{Axes, Maxwellians};

/// The grid's three axes, with unit weights.
struct Cube {
    centres: Vec<f64>,
    weights: Vec<f64>,
}

impl Axes for Cube {
    fn count(&self) -> usize {
        3
    }
    fn axis(&self, _: usize) -> (&[f64], &[f64]) {
        (&self.centres, &self.weights)
    }
    fn moving(&self) -> usize {
        3
    }
    fn unresolved(&self) -> usize {
        0
    }
}

/// The discrete Maxwellian `exp(a . phi)`, phi = (1, xi, |xi|^2), whose density, momentum and energy on the grid are those of `f`; `None` where there is none, as
/// where f lives in a few cells.
///
/// # Panics
/// If there are fewer values than cells.
pub fn discrete_maxwellian(grid: &VelocityGrid, f: &[f64]) -> Option<Vec<f64>> {
    let middle = 0.5 * (grid.min() + grid.max());
    let [density, x, y, z, energy] = grid.sum(|cell, xi| {
        let [x, y, z] = xi.map(|xi| xi - middle);
        let f = f[cell];
        [f, f * x, f * y, f * z, f * (x * x + y * y + z * z)]
    });
    let mean = [x, y, z].map(|sum| sum / density);
    let square: f64 = mean.iter().map(|u| u * u).sum();
    let variance = (energy / density - square) / 3.0;
    if !(density > 0.0 && variance > 0.0 && density.is_finite() && variance.is_finite()) {
        return None;
    }
    let n = grid.n();
    let cube = Cube {
        centres: (0..n).map(|i| grid.centre(i) - middle).collect(),
        weights: vec![1.0; n],
    };
    let mut one = Maxwellians::<3>::empty(1);
    one.density[0] = density;
    one.temperature[0] = 2.0 * variance;
    one.inverse_temperature[0] = 0.5 / variance;
    for (velocity, mean) in one.velocity.iter_mut().zip(mean) {
        velocity[0] = mean;
    }
    let [found, ..] = one.conserve(&cube);
    let amplitude = one.amplitude[0];
    if !(found && amplitude > 0.0 && amplitude.is_finite()) {
        return None;
    }
    let [ex, ey, ez] = [0, 1, 2].map(|axis| {
        let (u, slope) = (one.velocity[axis][0], one.slope[axis][0]);
        let exponent = |v: f64| (v - u) * (slope - one.inverse_temperature[0] * (v - u));
        let centres = cube.centres.iter();
        centres.map(|&v| exponent(v)).collect::<Vec<f64>>()
    });
    let cells = 0..grid.cells();
    let values = cells.map(|k| (ex[k / (n * n)] + ey[k / n % n] + ez[k % n]).exp());
    Some(values.map(|value| amplitude * value).collect())
}

/// A distribution as its Maxwellian and the deviation from it, and their sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Balance {
    maxwellian: Vec<f64>,
    exists: bool,
    deviation: Vec<f64>,
    mean: Vec<f64>,
    gain: Vec<f64>,
    frequencies: [Vec<f64>; 2],
}

impl Balance {
    /// Takes `f` apart. Without a Maxwellian the deviation is f and the mean f/2, whose sum is the uncorrected one.
    pub(super) fn split(&mut self, grid: &VelocityGrid, f: &[f64]) {
        let maxwellian = discrete_maxwellian(grid, f);
        self.exists = maxwellian.is_some();
        self.maxwellian = maxwellian.unwrap_or_else(|| vec![0.0; f.len()]);
        let pairs = || f.iter().zip(&self.maxwellian);
        self.deviation = pairs().map(|(f, m)| f - m).collect();
        self.mean = pairs().map(|(f, m)| 0.5 * (f + m)).collect();
    }

    /// The sums, in physical units.
    pub(super) fn sum(&mut self, config: &OperatorConfig, sums: &dyn Sums) {
        let cells = config.grid.cells();
        let [of_deviation, of_mean] = &mut self.frequencies;
        for values in [&mut self.gain, &mut *of_deviation, &mut *of_mean] {
            values.resize(cells, 0.0);
        }
        let pair = [&self.deviation[..], &self.mean];
        sums.mixed(pair, &mut self.gain, [&mut *of_deviation, &mut *of_mean]);
        let factor = config.lattice_factor();
        let all = self.gain.iter_mut().chain(of_deviation).chain(of_mean);
        all.for_each(|value| *value *= factor);
    }

    /// Restores conservation: the integral B of `f`, its frequency, and as gain what the two make it, `B + f nu`.
    pub(super) fn complete(&self, grid: &VelocityGrid, f: &[f64], into: &mut Evaluation) {
        let [of_deviation, of_mean] = &self.frequencies;
        let Evaluation {
            gain,
            frequency,
            rate,
            correction,
            ..
        } = into;
        let mut fastest = 0.0_f64;
        for cell in 0..f.len() {
            let nu = of_mean[cell] + 0.5 * of_deviation[cell];
            fastest = fastest.max(nu);
            frequency[cell] = nu;
            let loss = self.deviation[cell] * of_mean[cell] + self.mean[cell] * of_deviation[cell];
            rate[cell] = self.gain[cell] - loss;
        }
        let weight = |cell: usize| self.maxwellian[cell];
        let system = Basis::of(grid, weight)
            .and_then(|basis| Some((basis, factor(grid, weight, basis)?)))
            .filter(|_| self.exists);
        let mut delta = Vector5::zeros();
        if let Some((basis, matrix)) = &system {
            // The second pass is the step of iterative refinement.
            for _ in 0..2 {
                let moments = grid.sum(|cell, xi| basis.phi(xi).map(|phi| rate[cell] * phi));
                let more = matrix.solve(&(Vector5::from(moments) / basis.weight));
                for (cell, rate) in rate.iter_mut().enumerate() {
                    *rate -= weight(cell) * dot(&more, &basis.phi(grid.velocity(cell)));
                }
                delta += more;
            }
        }
        for cell in 0..f.len() {
            gain[cell] = rate[cell] + f[cell] * frequency[cell];
        }
        let loss = |cell: usize| (f[cell] * frequency[cell]).abs();
        let basis = system.as_ref().map(|(basis, _)| *basis);
        let basis = basis.or_else(|| Basis::of(grid, loss));
        *correction = Correction {
            status: match system {
                Some(_) => CorrectionStatus::Balanced,
                None => CorrectionStatus::Singular,
            },
            delta: delta.into(),
            residuals: basis.map_or([0.0; 5], |basis| residuals(grid, loss, basis, rate)),
            largest_step: 1.0 / fastest,
        };
    }
}

/// Data of the derivative of the balanced integral besides those of the sums.
pub(super) struct Tangent {
    grid: VelocityGrid,
    maxwellian: Vec<f64>,
    basis: Basis,
    matrix: Cholesky<f64, Const<5>>,
    /// c . phi.
    polynomial: Vec<f64>,
}

impl Tangent {
    /// At `f`, given the c of its integral; `None` where f has no Maxwellian.
    pub(super) fn at(grid: &VelocityGrid, f: &[f64], delta: [f64; 5]) -> Option<Self> {
        let maxwellian = discrete_maxwellian(grid, f)?;
        let weight = |cell: usize| maxwellian[cell];
        let basis = Basis::of(grid, weight)?;
        let matrix = factor(grid, weight, basis)?;
        let delta = Vector5::from(delta);
        let cells = 0..grid.cells();
        let polynomial = cells.map(|cell| dot(&delta, &basis.phi(grid.velocity(cell))));
        Some(Self {
            grid: *grid,
            polynomial: polynomial.collect(),
            maxwellian,
            basis,
            matrix,
        })
    }

    /// M.
    pub(super) fn maxwellian(&self) -> &[f64] {
        &self.maxwellian
    }

    /// The `M (a . phi)` that has the moments of `values`.
    fn projection(&self, values: &[f64]) -> Vec<f64> {
        let (grid, basis) = (&self.grid, &self.basis);
        let moments = grid.sum(|cell, xi| basis.phi(xi).map(|phi| values[cell] * phi));
        let a = self
            .matrix
            .solve(&(Vector5::from(moments) / self.basis.weight));
        let cells = self.maxwellian.iter().enumerate();
        cells
            .map(|(cell, m)| m * dot(&a, &basis.phi(grid.velocity(cell))))
            .collect()
    }

    /// M', the change of the Maxwellian under a change `g` of f.
    pub(super) fn change(&self, g: &[f64]) -> Vec<f64> {
        self.projection(g)
    }

    /// The derivative from that of the sums, given M'.
    pub(super) fn balance(&self, mut slope: Vec<f64>, change: &[f64]) -> Vec<f64> {
        for ((slope, change), c) in slope.iter_mut().zip(change).zip(&self.polynomial) {
            *slope -= change * c;
        }
        // The second pass is the step of iterative refinement.
        for _ in 0..2 {
            let excess = self.projection(&slope);
            for (slope, excess) in slope.iter_mut().zip(excess) {
                *slope -= excess;
            }
        }
        slope
    }
}
