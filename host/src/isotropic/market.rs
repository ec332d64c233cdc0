//! Economies as gases of agents: trade volume, clocks, inequality, histograms.
//!
//! Wealth replaces energy. A [`CollisionKernel::Power`] or [`CollisionKernel::Isotropic`] gas has two distributions that must not be mixed: f(E), which relaxes to
//! exp(-E/T), and the density of agents P(E) = 2^(5/2) pi sqrt(E) f(E), which relaxes to a gamma distribution of shape 3/2 with P(0) = 0. The
//! area under f is not conserved; that under P is. For the other laws the state is the number of agents itself.

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::coefficients::{PairTables, rate_scale};
pub use super::inequality::{gini, gini_of_gamma, lorenz};
use super::reference::probability;
use super::{CollisionKernel, EnergyGrid, OperatorConfig, Weights, fit};
use crate::error::{Error, Result};

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
                return Err(Error::input(
                    "the trade volume is defined for the laws gas, money, gamma and saving",
                ));
            }
            CollisionKernel::Money => (money(cells), width),
            CollisionKernel::Gamma { alpha } => (shares(cells, alpha, config.weights), width),
            CollisionKernel::Saving { .. } => (by_definition(cells, config.law), width),
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
            .map(|(row, f_i)| f_i * row.iter().zip(f).map(|(t, f)| t * f).sum::<f64>())
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

fn by_definition(cells: usize, law: CollisionKernel) -> Vec<f64> {
    let mut table = vec![0.0; cells * cells];
    table
        .par_chunks_exact_mut(cells)
        .enumerate()
        .for_each(|(i, row)| {
            for (j, value) in row.iter_mut().enumerate() {
                let (_, last) = super::coefficients::reachable(i, j, cells);
                *value = (i + 1..=last)
                    .map(|k| (k - i) as f64 * probability(law, cells, i, j, k))
                    .sum();
            }
        });
    table
}

/// Half of the sum of |a - b|: the share of agents by which two distributions of agents differ.
pub fn total_variation(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
}

/// A grid up to about `emax` on which wealth 1 is the centre of a cell: dE = 1/(i0 - 1/2), i0 = floor(M / emax + 1/2).
///
/// # Errors
/// Fewer cells than one up to wealth 1; as [`EnergyGrid::new`].
pub fn grid_around_one(cells: usize, emax: f64) -> Result<EnergyGrid> {
    EnergyGrid::new(cells, emax)?;
    let cell = (cells as f64 / emax + 0.5).floor();
    if cell < 1.0 || emax <= 1.0 {
        return Err(Error::input(format!(
            "wealth 1 must lie within the grid and above its first half cell; {cells} cells up to {emax} were asked for"
        )));
    }
    EnergyGrid::new(cells, cells as f64 / (cell - 0.5))
}

/// A grid for agents of mean wealth 1 under a law, as its number of cells and its upper end. It has 512 cells up to 16 where the equilibrium is right on
/// them, else a wider or finer one, of up to 2048 cells, that ends at `least` or above. A missing value is chosen.
///
/// # Errors
/// As [`EnergyGrid::new`].
pub fn suitable_grid(
    law: CollisionKernel,
    weights: Weights,
    cells: Option<usize>,
    emax: Option<f64>,
    least: f64,
) -> Result<(usize, f64)> {
    let (enough, end) = match emax {
        Some(emax) => fit::suitable(law, weights, cells.unwrap_or(512), emax, 0.0)?,
        None => fit::suitable(law, weights, cells.unwrap_or(512), 16.0, least)?,
    };
    Ok((cells.unwrap_or(enough), emax.unwrap_or(end)))
}

/// A histogram of wealth or income: bins side by side, and the share of agents in each. Through serde it is the rows that [`new`](Self::new) reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<[f64; 3]>", into = "Vec<[f64; 3]>")]
pub struct Histogram {
    /// Ends of the bins, one more than there are bins.
    edges: Vec<f64>,
    /// Shares, which add up to 1.
    shares: Vec<f64>,
}

impl TryFrom<Vec<[f64; 3]>> for Histogram {
    type Error = Error;

    fn try_from(rows: Vec<[f64; 3]>) -> Result<Self> {
        Self::new(&rows)
    }
}

impl From<Histogram> for Vec<[f64; 3]> {
    fn from(histogram: Histogram) -> Self {
        let bins = histogram.edges.windows(2).zip(&histogram.shares);
        bins.map(|(edge, share)| [edge[0], edge[1], *share])
            .collect()
    }
}

impl Histogram {
    /// Reads rows x_lo, x_hi, share; shares are normalised, but for those that add up to 1 to roundoff.
    ///
    /// # Errors
    /// No rows; bins that are empty, not in order, apart or overlapping, or below 0; shares that are negative or not finite; no mass.
    pub fn new(rows: &[[f64; 3]]) -> Result<Self> {
        let fail = |row: usize, text: String| {
            Err(Error::input(format!(
                "bin {} of the histogram: {text}",
                row + 1
            )))
        };
        let mut edges: Vec<f64> = Vec::with_capacity(rows.len() + 1);
        let mut shares = Vec::with_capacity(rows.len());
        for (at, &[low, high, share]) in rows.iter().enumerate() {
            if !(low.is_finite() && high.is_finite() && share.is_finite()) {
                return fail(at, "all three numbers must be finite".into());
            }
            if low < 0.0 {
                return fail(
                    at,
                    format!("x_lo = {low} is negative; wealth is at least 0"),
                );
            }
            if high <= low {
                return fail(at, format!("x_hi = {high} must be above x_lo = {low}"));
            }
            if share < 0.0 {
                return fail(at, format!("the share {share} is negative"));
            }
            if let Some(&end) = edges.last() {
                // Printed edges agree to their last digit.
                let slack = 1e-6 * (high - low).min(end - edges[edges.len() - 2]);
                if low > end + slack {
                    return fail(at, format!("there is a gap between {end} and {low}"));
                }
                if low < end - slack {
                    return fail(
                        at,
                        format!(
                            "it begins at {low} and overlaps the bin before, which ends at {end}"
                        ),
                    );
                }
            } else {
                edges.push(low);
            }
            edges.push(high);
            shares.push(share);
        }
        let mass: f64 = shares.iter().sum();
        if shares.is_empty() {
            return Err(Error::input("the histogram has no bins"));
        }
        if !(mass > 0.0 && mass.is_finite()) {
            return Err(Error::input(
                "the histogram has no mass: the shares add up to nothing",
            ));
        }
        // A normalised distribution is returned unchanged.
        if (mass - 1.0).abs() > shares.len() as f64 * f64::EPSILON {
            shares.iter_mut().for_each(|share| *share /= mass);
        }
        Ok(Self { edges, shares })
    }

    /// The mean, with the agents of a bin spread over it evenly.
    pub fn mean(&self) -> f64 {
        let bins = self.edges.windows(2).zip(&self.shares);
        bins.map(|(edge, share)| share * (edge[0] + edge[1]) / 2.0)
            .sum()
    }

    /// The same in units of the mean.
    #[must_use]
    pub fn in_units_of_the_mean(&self) -> Self {
        let mean = self.mean();
        Self {
            edges: self.edges.iter().map(|x| x / mean).collect(),
            shares: self.shares.clone(),
        }
    }

    /// Upper end of the last bin that holds agents.
    pub fn end(&self) -> f64 {
        let last = self.shares.iter().rposition(|&share| share > 0.0);
        self.edges[last.map_or(0, |at| at + 1)]
    }

    /// Share of agents below `x`, linear within bins.
    fn below(&self, x: f64) -> f64 {
        let mut sum = 0.0;
        for (edge, share) in self.edges.windows(2).zip(&self.shares) {
            sum += share * ((x - edge[0]) / (edge[1] - edge[0])).clamp(0.0, 1.0);
        }
        sum
    }

    /// The share of agents in each cell of a grid; adds up to 1.
    ///
    /// # Errors
    /// A grid that ends below some of the agents.
    pub fn rebin(&self, grid: &EnergyGrid) -> Result<Vec<f64>> {
        if self.end() > grid.emax() * (1.0 + 1e-12) {
            return Err(Error::input(format!(
                "the histogram reaches {:.6} times its mean and the grid ends at {:.6}; use a larger highest energy",
                self.end(),
                grid.emax()
            )));
        }
        let mut before = self.below(0.0);
        Ok((1..=grid.cells())
            .map(|i| {
                let here = self.below(i as f64 * grid.width());
                let share = (here - before).max(0.0);
                before = here;
                share
            })
            .collect())
    }
}
