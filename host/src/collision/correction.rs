//! The conservative correction (Aristov and Tcheremissine 1980; eqs. 11-13 of Aristov et al. 2011).
//!
//! The sums of the gain and of the loss conserve mass, momentum and energy only to the order of the grid. The loss is
//! therefore multiplied by a polynomial in the five invariants, whose coefficients make the five moments of
//! the integral vanish:
//!
//! ```text
//! I = gain - loss (1 + delta.phi),     loss = f nu,     M delta = b,
//! M = sum(loss phi phi^T) / W,   b = sum((gain - loss) phi) / W,   W = sum(loss).
//! ```
//!
//! Solved in the raw basis (1, xi, |xi|^2) the system can be badly conditioned. So phi is centred and scaled by the weights themselves:
//! u = sum(W_i xi) / W, theta = sum(W_i |xi - u|^2) / (3 W), c = (xi - u) / sqrt(theta), phi = (1, c, (c^2 - 3) / sqrt 6).
//! The paper's coefficients a are e_0 + delta, written in this basis. One step of iterative
//! refinement brings the residuals to roundoff.
//!
//! **Where it is singular.** If f lives on one plane or one sphere, some polynomial a_0 + a.xi + a_2 |xi|^2 vanishes wherever
//! the loss does not, and no choice of delta restores conservation. The gain has left that set. M = L D L^T then has a
//! vanishing pivot. The step is repeated with loss + gain as weights (and `I -= W_i delta.phi`). If that is
//! singular too, fewer than five cells matter, and the integral is left uncorrected.

use nalgebra::{Cholesky, Const, Matrix5, Vector5};

use super::{
    Correction, CorrectionMethod, CorrectionStatus, Evaluation, OperatorConfig, VelocityGrid,
};

/// Below this ratio of the least to the largest pivot the system counts as singular. Ordinary distributions have 0.03 to 0.35.
const PIVOT_RATIO: f64 = 1e-10;

impl Evaluation {
    /// Completes an evaluation from `gain` and `frequency` in lattice units, N^3 values each, as `f`: scales them to physical
    /// units and takes the difference, with the paper's correction if the configuration asks for it. The balanced one is made from other sums and
    /// counts as none.
    ///
    /// # Panics
    /// If there are fewer values than cells in one of the three.
    pub fn from_lattice(
        config: &OperatorConfig,
        f: &[f64],
        mut gain: Vec<f64>,
        mut frequency: Vec<f64>,
    ) -> Self {
        let factor = config.lattice_factor();
        for value in gain.iter_mut().chain(&mut frequency) {
            *value *= factor;
        }
        let mut rate = vec![0.0; f.len()];
        let correction = complete(config, f, &gain, &frequency, &mut rate);
        Self {
            gain,
            frequency,
            rate,
            correction,
            warnings: Vec::new(),
        }
    }
}

/// Sets `rate` to the collision integral, with the correction if it is wanted, from `gain` and `frequency` in one unit.
pub(super) fn complete(
    config: &OperatorConfig,
    f: &[f64],
    gain: &[f64],
    frequency: &[f64],
    rate: &mut [f64],
) -> Correction {
    if config.correction == CorrectionMethod::Paper {
        correct(&config.grid, f, gain, frequency, rate)
    } else {
        uncorrected(
            &config.grid,
            f,
            gain,
            frequency,
            rate,
            CorrectionStatus::Off,
        )
    }
}

/// Sets `rate` to the corrected collision integral and returns the correction.
///
/// All in f64, sums in a fixed order: the same input yields the same bits.
///
/// **Largest step.** With the loss corrected, f + dt I >= f (1 - dt nu (1 + delta.phi)) where the gain is not negative (always in second order), so
/// dt <= 1 / max(nu (1 + delta.phi)) keeps f >= 0. With loss and gain corrected,
/// I = gain (1 - delta.phi) - loss (1 + delta.phi). Where delta.phi > 1 the gain counts as a sink too, at the rate gain (delta.phi - 1) / f. In a
/// cell without f no step is small enough (the largest step is 0). Where nothing can become negative it is infinite.
pub(crate) fn correct(
    grid: &VelocityGrid,
    f: &[f64],
    gain: &[f64],
    frequency: &[f64],
    rate: &mut [f64],
) -> Correction {
    for status in [CorrectionStatus::Loss, CorrectionStatus::LossAndGain] {
        let weights = Weights {
            f,
            gain,
            frequency,
            with_gain: status == CorrectionStatus::LossAndGain,
        };
        let weight = |cell| weights.at(cell);
        let Some(basis) = Basis::of(grid, weight) else {
            continue;
        };
        let Some(matrix) = factor(grid, weight, basis) else {
            continue;
        };
        for (cell, rate) in rate.iter_mut().enumerate() {
            *rate = gain[cell] - f[cell] * frequency[cell];
        }
        // The second pass is the step of iterative refinement.
        let mut delta = Vector5::zeros();
        for _ in 0..2 {
            let moments = grid.sum(|cell, xi| basis.phi(xi).map(|phi| rate[cell] * phi));
            delta += matrix.solve(&(Vector5::from(moments) / basis.weight));
            for (cell, rate) in rate.iter_mut().enumerate() {
                let change = dot(&delta, &basis.phi(grid.velocity(cell)));
                let loss = f[cell] * frequency[cell];
                *rate = if weights.with_gain {
                    (gain[cell] - loss) - (gain[cell] + loss) * change
                } else {
                    gain[cell] - loss * (1.0 + change)
                };
            }
        }
        if !delta.iter().all(|delta| delta.is_finite()) {
            continue;
        }
        let fastest = (0..f.len())
            .map(|cell| {
                let change = dot(&delta, &basis.phi(grid.velocity(cell)));
                let mut sink = frequency[cell] * (1.0 + change);
                let reversed = gain[cell] * (change - 1.0);
                if weights.with_gain && reversed > 0.0 {
                    sink += reversed / f[cell];
                }
                sink
            })
            .fold(0.0, f64::max);
        return Correction {
            status,
            delta: delta.into(),
            residuals: residuals(grid, weight, basis, rate),
            largest_step: 1.0 / fastest,
        };
    }
    uncorrected(grid, f, gain, frequency, rate, CorrectionStatus::Singular)
}

/// The derivative of the corrected integral at some distribution.
///
/// I = gain - loss p, where p = 1 + delta.phi is the polynomial for which the moments of I vanish. The space of polynomials does not
/// depend on f, so p' lies in it too, and is such that the moments of I' = gain' - loss' p - loss p' vanish.
pub(super) struct Tangent {
    grid: VelocityGrid,
    basis: Basis,
    matrix: Cholesky<f64, Const<5>>,
    loss: Vec<f64>,
    polynomial: Vec<f64>,
}

impl Tangent {
    /// The derivative at `f`; `None` where the loss cannot be corrected.
    pub(super) fn at(
        grid: &VelocityGrid,
        f: &[f64],
        gain: &[f64],
        frequency: &[f64],
    ) -> Option<Self> {
        let weight = |cell: usize| f[cell] * frequency[cell];
        let basis = Basis::of(grid, weight)?;
        let matrix = factor(grid, weight, basis)?;
        let mut tangent = Self {
            grid: *grid,
            basis,
            matrix,
            loss: f.iter().zip(frequency).map(|(f, nu)| f * nu).collect(),
            polynomial: vec![1.0; f.len()],
        };
        // gain - loss - loss (p - 1) has the form of the derivative with p = 1.
        let (delta, _) = tangent.solve(gain, &tangent.loss);
        tangent.polynomial = (0..f.len())
            .map(|cell| 1.0 + dot(&delta, &basis.phi(grid.velocity(cell))))
            .collect();
        Some(tangent)
    }

    /// The derivative of the integral from those of gain and loss.
    pub(super) fn slope(&self, gain: &[f64], loss: &[f64]) -> Vec<f64> {
        self.solve(gain, loss).1
    }

    /// The coefficients of p' and gain' - loss' p - loss p', with one step of iterative refinement.
    fn solve(&self, gain: &[f64], loss: &[f64]) -> (Vector5<f64>, Vec<f64>) {
        let fixed: Vec<f64> = (0..gain.len())
            .map(|cell| gain[cell] - loss[cell] * self.polynomial[cell])
            .collect();
        let mut slope = fixed.clone();
        let mut delta = Vector5::zeros();
        for _ in 0..2 {
            let moments = self
                .grid
                .sum(|cell, xi| self.basis.phi(xi).map(|phi| slope[cell] * phi));
            delta += self
                .matrix
                .solve(&(Vector5::from(moments) / self.basis.weight));
            for (cell, slope) in slope.iter_mut().enumerate() {
                let change = dot(&delta, &self.basis.phi(self.grid.velocity(cell)));
                *slope = fixed[cell] - self.loss[cell] * change;
            }
        }
        (delta, slope)
    }
}

/// Sets `rate` to gain - f nu.
fn uncorrected(
    grid: &VelocityGrid,
    f: &[f64],
    gain: &[f64],
    frequency: &[f64],
    rate: &mut [f64],
    status: CorrectionStatus,
) -> Correction {
    for (cell, rate) in rate.iter_mut().enumerate() {
        *rate = gain[cell] - f[cell] * frequency[cell];
    }
    let weights = |with_gain| Weights {
        f,
        gain,
        frequency,
        with_gain,
    };
    let residuals = [false, true]
        .into_iter()
        .find_map(|with_gain| {
            let weight = |cell| weights(with_gain).at(cell);
            let basis = Basis::of(grid, weight)?;
            Some(residuals(grid, weight, basis, rate))
        })
        .unwrap_or([0.0; 5]);
    Correction {
        status,
        delta: [0.0; 5],
        residuals,
        largest_step: 1.0 / frequency.iter().copied().fold(0.0, f64::max),
    }
}

/// The weights of the correction: the loss, or loss and gain.
#[derive(Clone, Copy)]
struct Weights<'a> {
    f: &'a [f64],
    gain: &'a [f64],
    frequency: &'a [f64],
    with_gain: bool,
}

impl Weights<'_> {
    fn at(&self, cell: usize) -> f64 {
        let loss = self.f[cell] * self.frequency[cell];
        if self.with_gain {
            loss + self.gain[cell]
        } else {
            loss
        }
    }
}

/// The basis phi, centred and scaled by the weights.
#[derive(Clone, Copy)]
pub(super) struct Basis {
    pub(super) weight: f64,
    centre: [f64; 3],
    scale: f64,
}

impl Basis {
    /// `None` where the weights do not spread: no weight at all, or all of it in one cell.
    pub(super) fn of(grid: &VelocityGrid, of: impl Fn(usize) -> f64) -> Option<Self> {
        let [weight, x, y, z] =
            grid.sum(|cell, [x, y, z]| [1.0, x, y, z].map(|phi| of(cell) * phi));
        let centre = [x, y, z].map(|moment| moment / weight);
        let [spread] = grid.sum(|cell, xi| {
            let c = [0, 1, 2].map(|a| xi[a] - centre[a]);
            [of(cell) * dot3(c, c)]
        });
        let theta = spread / (3.0 * weight);
        // One cell's centre may differ from the weights' by roundoff; then theta is some 1e-32 and means nothing.
        let spreads = weight > 0.0 && theta.is_finite() && theta > 1e-20 * grid.spacing().powi(2);
        spreads.then(|| Self {
            weight,
            centre,
            scale: 1.0 / theta.sqrt(),
        })
    }

    /// phi at the velocity `xi`.
    pub(super) fn phi(&self, xi: [f64; 3]) -> [f64; 5] {
        let c = [0, 1, 2].map(|a| (xi[a] - self.centre[a]) * self.scale);
        [1.0, c[0], c[1], c[2], (dot3(c, c) - 3.0) / 6f64.sqrt()]
    }
}

/// The factored matrix, or `None` where it is singular.
pub(super) fn factor(
    grid: &VelocityGrid,
    weight: impl Fn(usize) -> f64,
    basis: Basis,
) -> Option<Cholesky<f64, Const<5>>> {
    let sums: [f64; 15] = grid.sum(|cell, xi| {
        let phi = basis.phi(xi);
        let weight = weight(cell);
        LOWER.map(|(row, column)| weight * phi[row] * phi[column])
    });
    let mut matrix = Matrix5::zeros();
    for ((row, column), sum) in LOWER.into_iter().zip(sums) {
        matrix[(row, column)] = sum / basis.weight;
        matrix[(column, row)] = sum / basis.weight;
    }
    let factored = Cholesky::new(matrix)?;
    // L L^T = L' D L'^T with the pivots D_i = L_ii^2.
    let pivots = factored.l_dirty().diagonal().map(|l| l * l);
    (pivots.min() >= PIVOT_RATIO * pivots.max()).then_some(factored)
}

/// Rows and columns of the lower triangle of a 5 x 5 matrix.
const LOWER: [(usize, usize); 15] = [
    (0, 0),
    (1, 0),
    (1, 1),
    (2, 0),
    (2, 1),
    (2, 2),
    (3, 0),
    (3, 1),
    (3, 2),
    (3, 3),
    (4, 0),
    (4, 1),
    (4, 2),
    (4, 3),
    (4, 4),
];

/// |sum I phi| / sum(weight |phi|); 0 where both vanish.
pub(super) fn residuals(
    grid: &VelocityGrid,
    weight: impl Fn(usize) -> f64,
    basis: Basis,
    rate: &[f64],
) -> [f64; 5] {
    let moments = grid.sum(|cell, xi| basis.phi(xi).map(|phi| rate[cell] * phi));
    let scales = grid.sum(|cell, xi| basis.phi(xi).map(|phi| weight(cell) * phi.abs()));
    [0, 1, 2, 3, 4].map(|k| {
        if moments[k] == 0.0 {
            0.0
        } else {
            moments[k].abs() / scales[k]
        }
    })
}

pub(super) fn dot(delta: &Vector5<f64>, phi: &[f64; 5]) -> f64 {
    delta.iter().zip(phi).map(|(delta, phi)| delta * phi).sum()
}

fn dot3(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
