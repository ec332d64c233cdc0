//! Histograms of wealth or income.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::isotropic::EnergyGrid;

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
        let fail = |row: usize, value: String, expected: &str| {
            let field = format!("bin {} of the histogram", row + 1);
            Err(Error::invalid(field, value, expected))
        };
        let mut edges: Vec<f64> = Vec::with_capacity(rows.len() + 1);
        let mut shares = Vec::with_capacity(rows.len());
        for (at, &[low, high, share]) in rows.iter().enumerate() {
            if !(low.is_finite() && high.is_finite() && share.is_finite()) {
                return fail(
                    at,
                    format!("{low}, {high}, {share}"),
                    "three numbers, which must be finite",
                );
            }
            if low < 0.0 {
                let value = format!("x_lo = {low} is negative");
                return fail(at, value, "wealth of at least 0");
            }
            if high <= low {
                return fail(
                    at,
                    format!("x_hi = {high}"),
                    &format!("an end, which must be above x_lo = {low}"),
                );
            }
            if share < 0.0 {
                let value = format!("the share {share} is negative");
                return fail(at, value, "a share of at least 0");
            }
            if let Some(&end) = edges.last() {
                // Printed edges agree to their last digit.
                let slack = 1e-6 * (high - low).min(end - edges[edges.len() - 2]);
                let expected = "bins side by side";
                if low > end + slack {
                    return fail(
                        at,
                        format!("there is a gap between {end} and {low}"),
                        expected,
                    );
                }
                if low < end - slack {
                    let value = format!(
                        "it begins at {low} and overlaps the bin before, which ends at {end}"
                    );
                    return fail(at, value, expected);
                }
            } else {
                edges.push(low);
            }
            edges.push(high);
            shares.push(share);
        }
        let mass: f64 = shares.iter().sum();
        if shares.is_empty() {
            return Err(Error::invalid("histogram", "no bins", "one bin or more"));
        }
        if !(mass > 0.0 && mass.is_finite()) {
            return Err(Error::invalid(
                "histogram",
                "no mass",
                "shares with a positive finite sum",
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
            return Err(Error::invalid(
                "grid",
                format!("an end at {:.6}", grid.emax()),
                format!(
                    "a larger highest energy: the histogram reaches {:.6} times its mean",
                    self.end()
                ),
            ));
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
