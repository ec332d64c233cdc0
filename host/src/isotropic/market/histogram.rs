//! Histograms of wealth or income.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::isotropic::EnergyGrid;
use crate::isotropic::inequality::gini;

/// Share of the mean that a histogram may lose or gain on a grid without a warning, and change of its Gini coefficient.
const MOST_SHIFT: f64 = 1e-3;
const MOST_SPREAD: f64 = 1e-3;

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

    /// The Gini coefficient, with the agents of a bin spread over it evenly: the integral of F (1 - F) over the mean.
    pub fn gini(&self) -> f64 {
        let mut below = 0.0;
        let mut sum = 0.0;
        for (edge, share) in self.edges.windows(2).zip(&self.shares) {
            let spread = below * (1.0 - below) + share * (0.5 - below) - share * share / 3.0;
            sum += (edge[1] - edge[0]) * spread;
            below += share;
        }
        sum / self.mean()
    }

    /// The share of the mean by which a grid moves it: agents of a cell have the wealth of its centre.
    #[cfg(feature = "cli")]
    pub(crate) fn shift_of_mean(&self, grid: &EnergyGrid) -> Result<f64> {
        Ok(self.on(grid)?.shift)
    }

    /// The changes that a grid makes.
    fn on(&self, grid: &EnergyGrid) -> Result<Change> {
        let of_one = self.in_units_of_the_mean();
        let shares = of_one.rebin(grid)?;
        let wealth = shares.iter().zip(grid.energies());
        Ok(Change {
            shift: wealth.map(|(share, e)| share * e).sum::<f64>() - 1.0,
            gini: [of_one.gini(), gini(grid, &shares)],
        })
    }
}

/// The changes of a histogram by the cells of a grid.
#[derive(Clone, Copy)]
struct Change {
    /// Of the mean, as a share of it.
    shift: f64,
    /// The Gini coefficient before and after.
    gini: [f64; 2],
}

impl Change {
    /// The size of the worst change, 1 where it is tolerated just so.
    fn size(&self) -> f64 {
        let spread = (self.gini[1] - self.gini[0]).abs() / MOST_SPREAD;
        spread.max(self.shift.abs() / MOST_SHIFT)
    }

    fn in_words(&self) -> String {
        let [before, after] = self.gini;
        if (after - before).abs() / MOST_SPREAD > self.shift.abs() / MOST_SHIFT {
            format!("make the Gini coefficient of the histogram {after:.4} where it is {before:.4}")
        } else {
            format!("move the mean of the histogram by {:+.1e}", self.shift)
        }
    }
}

/// Whether a grid changes a histogram by more than is tolerated.
pub(super) fn is_lost(histogram: &Histogram, grid: &EnergyGrid) -> bool {
    histogram.on(grid).is_ok_and(|change| change.size() > 1.0)
}

/// The histogram that a grid changes most, where that is too much, and the cells that suffice.
pub(super) fn shift_warning<'a>(
    histograms: impl Iterator<Item = &'a Histogram>,
    grid: &EnergyGrid,
) -> Result<Option<String>> {
    let mut worst: Option<(&Histogram, Change)> = None;
    for histogram in histograms {
        let change = histogram.on(grid)?;
        if change.size() > worst.map_or(1.0, |(_, most)| most.size()) {
            worst = Some((histogram, change));
        }
    }
    let Some((histogram, change)) = worst else {
        return Ok(None);
    };
    let finer = std::iter::successors(Some(2 * grid.cells()), |cells| Some(2 * cells));
    let mut finer = finer.take_while(|cells| *cells <= EnergyGrid::MAX_CELLS);
    let enough = finer.find(|&cells| {
        EnergyGrid::new(cells, grid.emax()).is_ok_and(|finer| !is_lost(histogram, &finer))
    });
    let end = grid.emax();
    let remedy = match enough {
        Some(cells) => format!(
            "it takes {cells} cells up to {end:.4}, {:.1e} wide",
            end / cells as f64
        ),
        None => "it takes wider bins".to_owned(),
    };
    Ok(Some(format!(
        "cells {:.1e} wide {}, for some of its bins are narrow; {remedy}",
        grid.width(),
        change.in_words()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_move_the_mean_are_too_wide() {
        let of = |rows: &[[f64; 3]], cells| {
            let histogram = Histogram::new(rows).expect("a histogram");
            let grid = EnergyGrid::new(cells, 16.0).expect("a grid");
            shift_warning([&histogram].into_iter(), &grid).expect("a grid that holds it")
        };
        // Four tenths of all agents are in the lower half of a cell.
        let narrow = [[0.0, 1.0, 0.2], [1.0, 1.01, 0.4], [1.01, 3.0, 0.4]];
        let warning = of(&narrow, 256).expect("a warning");
        assert!(warning.contains("move the mean of the histogram by "));
        let words: Vec<&str> = warning.split_whitespace().collect();
        let at = words
            .iter()
            .position(|word| *word == "takes")
            .expect("a grid");
        let enough: usize = words[at + 1].parse().expect("a number of cells");
        assert!(enough > 256 && of(&narrow, enough).is_none(), "{warning}");
        let wide = [[0.0, 1.0, 0.5], [1.0, 2.0, 0.3], [2.0, 4.0, 0.2]];
        assert_eq!(of(&wide, 512), None);
        // A bin about the edge of two cells: half of its agents are half a cell too rich, the others too poor.
        let edge = [[0.999, 1.001, 1.0]];
        let histogram = Histogram::new(&edge).expect("a histogram");
        assert!((histogram.gini() - 0.002 / 6.0).abs() < 1e-15);
        let warning = of(&edge, 512).expect("a warning");
        assert!(warning.contains("0.0078 where it is 0.0003"), "{warning}");
        assert!(warning.contains("it takes 4096 cells"), "{warning}");
        // Agents without wealth are half a cell too rich.
        let needle = [[0.0, 1e-9, 0.8], [1e-9, 20.0, 0.2]];
        let warning = of(&needle, 256);
        assert!(warning.is_some_and(|text| text.contains("it takes")));
    }
}
