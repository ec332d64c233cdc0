//! Economies as gases of agents: trade volume, clocks, inequality, histograms.
//!
//! Wealth replaces energy. A [`CollisionKernel::Power`] or [`CollisionKernel::Isotropic`] gas has two distributions that must not be mixed: f(E), which relaxes to
//! exp(-E/T), and the density of agents P(E) = 2^(5/2) pi sqrt(E) f(E), which relaxes to a gamma distribution of shape 3/2 with P(0) = 0. The
//! area under f is not conserved; that under P is. For the other laws the state is the number of agents itself.
//!
//! A [`Market`] lets agents trade over time. [`TradeVolume`] is the clock of a market whose turnover is known.

mod economy;
pub mod errors;
mod histogram;

use std::fmt;

use rayon::prelude::*;

use super::coefficients::{PairTables, rate_scale};
pub use super::inequality::{agents_below, gini, gini_of_gamma, lorenz};
use super::reference::saving_range;
use super::{CollisionKernel, OperatorConfig, Weights};
use crate::error::{Error, Result};
pub use economy::{
    Checkpoint, Market, MarketConfig, Record, Start, grid_around_one, suitable_grid,
};
pub use histogram::Histogram;

/// The value that changes hands.
///
/// `V(t)`, the value that an agent has traded on average, is the integral of [`rate`](TradeVolume::rate) over time. A clock that counts it tells
/// how long a relaxation takes where the turnover of a market is known.
pub struct TradeVolume {
    cells: usize,
    /// Rate coefficient of an encounter of i with j times the cells that i gains by it, where it gains.
    table: Vec<f64>,
    scale: f64,
    measure: Vec<f64>,
}

impl fmt::Debug for TradeVolume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TradeVolume")
            .field("cells", &self.cells)
            .finish_non_exhaustive()
    }
}

impl TradeVolume {
    /// For the law of a configuration.
    ///
    /// # Errors
    /// A law of isotropic scattering, of which no market is made.
    pub fn new(config: &OperatorConfig) -> Result<Self> {
        let cells = config.grid.cells();
        let width = config.grid.width();
        let (table, scale) = match config.law {
            CollisionKernel::Power { theta } => {
                let rates = rate_scale(&config.grid, config.law) * config.grid.number_scale();
                (gas(cells, theta, config.corrected), rates * width)
            }
            CollisionKernel::Isotropic { .. } => {
                return Err(Error::invalid(
                    "law",
                    config.law,
                    "gas, money, gamma or saving, for which a trade volume is defined",
                ));
            }
            CollisionKernel::Money => (money(cells), width),
            CollisionKernel::Gamma { alpha } => (shares(cells, alpha, config.weights), width),
            CollisionKernel::Saving { lambda } => (saving(cells, lambda), width),
        };
        Ok(Self {
            cells,
            table,
            scale,
            measure: config.measure(),
        })
    }

    /// Value that an agent trades in a unit of time, on average, in the state `f`.
    pub fn rate(&self, f: &[f64]) -> f64 {
        let rows: Vec<f64> = self
            .table
            .par_chunks_exact(self.cells)
            .with_min_len(32)
            .zip(f)
            .map(|(row, f_i)| f_i * super::cpu::dot(row, f))
            .collect();
        let agents: f64 = self.measure.iter().zip(f).map(|(m, f)| m * f).sum();
        self.scale * rows.iter().sum::<f64>() / agents
    }

    /// The coefficient of an encounter of cells `i` and `j`: rate times cells that i gains.
    pub fn coefficient(&self, i: usize, j: usize) -> f64 {
        self.table[i * self.cells + j]
    }
}

/// Of the gas: jumps of i above its cell by the coefficient of the lowest of the four cells, exchanges included.
fn gas(cells: usize, theta: f64, corrected: bool) -> Vec<f64> {
    let tables = PairTables::new(cells, theta, corrected);
    // falls[j][i]: sum over l < i of (j - l) times the jump j -> l, for i <= j.
    let falls: Vec<Vec<f64>> = (0..cells)
        .into_par_iter()
        .map(|j| {
            let mut sums = Vec::with_capacity(j + 1);
            let mut sum = 0.0;
            for l in 0..=j {
                sums.push(sum);
                sum += (j - l) as f64 * tables.jump(j, l);
            }
            sums
        })
        .collect();
    let mut table = vec![0.0; cells * cells];
    table
        .par_chunks_exact_mut(cells)
        .enumerate()
        .for_each(|(i, row)| {
            // Sum over i < k < j of (k - i) times the jump i -> k.
            let mut rises = 0.0;
            for (j, value) in row.iter_mut().enumerate() {
                // The partner falls from j to l; i may not rise above the grid.
                let lowest = (i + j).saturating_sub(cells - 1);
                let falling = |below: usize| {
                    if below > lowest {
                        falls[j][below] - falls[j][lowest]
                    } else {
                        0.0
                    }
                };
                if j > i {
                    *value = rises + (j - i) as f64 * tables.exchange(i, j) + falling(i);
                    rises += (j - i) as f64 * tables.jump(i, j);
                } else {
                    *value = falling(j);
                }
            }
        });
    table
}

/// All shares alike: 1 + 2 + ... cells over the number of shares.
fn money(cells: usize) -> Vec<f64> {
    let of = |i: usize, j: usize| {
        let (first, last) = super::coefficients::reachable(i, j, cells);
        let rises = (last - i) as f64;
        rises * (rises + 1.0) / 2.0 / (last - first + 1) as f64
    };
    (0..cells * cells)
        .map(|at| of(at / cells, at % cells))
        .collect()
}

/// Shares with weights w_k w_l, by sums over each shell from the top.
fn shares(cells: usize, alpha: f64, weights: Weights) -> Vec<f64> {
    let (weights, norms) = super::cpu::splitting_weights(cells, alpha, weights);
    let mut table = vec![0.0; cells * cells];
    for (s, norm) in norms.iter().enumerate() {
        let (first, last) = super::coefficients::reachable(s / 2, s - s / 2, cells);
        // Over k > i: of the weights, and of (k - i) times them.
        let (mut sum, mut moment) = (0.0, 0.0);
        for i in (first..=last).rev() {
            table[i * cells + (s - i)] = moment / norm;
            sum += weights[i] * weights[s - i];
            moment += sum;
        }
    }
    table
}

/// Uniform between two ends: the integral over them of the cells by which a place lies above cell i, over their distance.
fn saving(cells: usize, lambda: f64) -> Vec<f64> {
    let mut table = vec![0.0; cells * cells];
    table
        .par_chunks_exact_mut(cells)
        .enumerate()
        .for_each(|(i, row)| {
            for (j, value) in row.iter_mut().enumerate() {
                let (low, high) = saving_range(lambda, cells, i, j);
                // Whole cells above cell i, and the rest; the lower end is in cell i or below.
                let above = (high - (i + 1) as f64).max(0.0);
                let (whole, rest) = (above.floor(), above.fract());
                *value = (whole * (whole + 1.0) / 2.0 + (whole + 1.0) * rest) / (high - low);
            }
        });
    table
}

/// Half of the sum of |a - b|: the share of agents by which two distributions of agents differ.
pub fn total_variation(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}
