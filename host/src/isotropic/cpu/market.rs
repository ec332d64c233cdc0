//! Economies on the CPU, in O(M^2): splitting what two agents have, with or without saving.

use rayon::prelude::*;

use super::operator::{Operator, Sums, parts_for, split, sum_of_parts};
use crate::isotropic::moments::Sum;
use crate::isotropic::reference::{empty, saving_range};
use crate::isotropic::{Rates, Weights};

/// Shares drawn with weights w_k w_l: y_s = sum over k of p_k p_(s-k), dp_i/dt = w_i sum over j of w_j y_(i+j) / Z_(i+j) - n p_i.
pub(super) struct Splitting {
    weights: Vec<f64>,
    /// Z_s = sum over k of w_k w_(s-k).
    norms: Vec<f64>,
}

/// The weights w_i and the norms Z_s of shares with shape `alpha`.
pub(in crate::isotropic) fn splitting_weights(
    cells: usize,
    alpha: f64,
    weights: Weights,
) -> (Vec<f64>, Vec<f64>) {
    let weights: Vec<f64> = (0..cells).map(|i| weights.share(alpha, i)).collect();
    let norms = convolution(&weights);
    (weights, norms)
}

/// sum over k of a_k a_(s-k) for each s.
fn convolution(a: &[f64]) -> Vec<f64> {
    let cells = a.len();
    let reversed: Vec<f64> = a.iter().rev().copied().collect();
    (0..2 * cells - 1)
        .into_par_iter()
        .with_min_len(64)
        .map(|s| {
            let first = s.saturating_sub(cells - 1);
            let count = s.min(cells - 1) - first + 1;
            dot(
                &a[first..][..count],
                &reversed[first + cells - 1 - s..][..count],
            )
        })
        .collect()
}

/// The sum of a b, in eight sums, which fill vector registers.
pub(in crate::isotropic) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (x, y) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = x
        .remainder()
        .iter()
        .zip(y.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (x, y) in x.zip(y) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

impl Splitting {
    pub(super) fn new(cells: usize, alpha: f64, weights: Weights) -> Self {
        let (weights, norms) = splitting_weights(cells, alpha, weights);
        Self { weights, norms }
    }
}

impl Operator for Splitting {
    fn rate(&self, f: &[f64], rate: &mut [f64]) {
        rate.copy_from_slice(&self.rates(f).rate);
    }

    fn rates(&self, f: &[f64]) -> Rates {
        let shared: Vec<f64> = convolution(f)
            .into_iter()
            .zip(&self.norms)
            .map(|(y, z)| y / z)
            .collect();
        let agents: f64 = f.iter().sum();
        let mut rates = empty(f.len());
        rates
            .gain
            .par_iter_mut()
            .with_min_len(64)
            .enumerate()
            .for_each(|(i, gain)| {
                *gain = self.weights[i] * dot(&self.weights, &shared[i..][..f.len()]);
            });
        complete(rates, f, agents)
    }

    fn largest_frequency(&self, f: &[f64]) -> f64 {
        f.iter().sum()
    }

    fn table_bytes(&self) -> u64 {
        (size_of_val(&self.weights[..]) + size_of_val(&self.norms[..])) as u64
    }
}

/// Every agent meets others at the rate `agents`.
fn complete(mut rates: Rates, f: &[f64], agents: f64) -> Rates {
    for (i, f) in f.iter().enumerate() {
        rates.frequency[i] = agents;
        rates.rate[i] = rates.gain[i] - agents * f;
    }
    rates.largest_frequency = agents;
    rates
}

/// A fixed share is saved; the rest is split uniformly and put into cells by its exact overlap with them.
///
/// Within the grid an agent of cell i ends between lambda e_i and lambda e_i + (1 - lambda)(e_i + e_j), e in widths of a cell. The lower end does not depend on j,
/// and the width, (1 - lambda)(i + j + 1), on i + j alone. So the j whose upper end lies in one cell, about 1 / (1 - lambda) of them, add up without a division.
pub(super) struct Saving {
    lambda: f64,
    /// 1 / ((1 - lambda)(s + 1)) for s = i + j.
    densities: Vec<f64>,
}

/// The range of wealth of some agents after their encounters: how many they are, and their density.
struct Spread {
    low: f64,
    /// Cell of the lower end, and of the upper one.
    first: usize,
    last: usize,
    agents: f64,
    density: f64,
}

/// Sums over the ranges: what falls into the cells at their ends, and where the density within begins and ends.
struct Ranges<'a> {
    gain: &'a mut [f64],
    /// Compensated: what rounding leaves here stays in all cells between the ends.
    begins: Vec<Sum>,
    ends: Vec<Sum>,
}

impl Ranges<'_> {
    fn add(&mut self, spread: &Spread) {
        let Spread {
            low,
            first,
            last,
            agents,
            density,
        } = *spread;
        if first >= last {
            self.gain[first] += agents;
            return;
        }
        self.gain[first] += density * (first as f64 + 1.0 - low);
        // The rest of the agents: their number is kept whatever the ends round to.
        self.gain[last] += (agents - density * (last as f64 - low)).max(0.0);
        self.begins[first + 1].add(density);
        self.ends[last].add(density);
    }
}

impl Saving {
    pub(super) fn new(cells: usize, lambda: f64) -> Self {
        let width = |s: usize| (1.0 - lambda) * (s + 1) as f64;
        let densities = (0..2 * cells - 1).map(|s| 1.0 / width(s)).collect();
        Self { lambda, densities }
    }

    /// Adds the ends of all encounters of the agents of cell `i`.
    fn encounters(&self, f: &[f64], i: usize, ranges: &mut Ranges) {
        let cells = f.len();
        let saved = self.lambda * (i as f64 + 0.5);
        let last_of = |high: f64| (high.ceil() as usize).saturating_sub(1).min(cells - 1);
        let high = |j: usize| saved + (1.0 - self.lambda) * (i + j + 1) as f64;
        // From here on the end of the grid cuts the range.
        let cut = partition(cells, |j| {
            (i + j + 1) as f64 - cells as f64 <= saved && high(j) <= cells as f64
        });
        let mut j = 0;
        while j < cut {
            // An end at a cell's upper edge belongs to that cell.
            let last = last_of(high(j));
            let beyond = ((last as f64 + 1.0 - saved) / (1.0 - self.lambda)) - i as f64;
            // Rounding may put an end at an edge into the next cell, where it counts as little.
            let next = (beyond.floor() as usize).clamp(j + 1, cut);
            let [agents, density] = sums_of(&f[j..next], &self.densities[i + j..i + next]);
            ranges.add(&Spread {
                low: saved,
                first: saved as usize,
                last,
                agents: f[i] * agents,
                density: f[i] * density,
            });
            j = next;
        }
        for j in cut..cells {
            let (low, high) = saving_range(self.lambda, cells, i, j);
            let agents = f[i] * f[j];
            ranges.add(&Spread {
                low,
                first: low as usize,
                last: last_of(high),
                agents,
                density: agents / (high - low),
            });
        }
    }
}

/// The first of `0..count` for which a condition fails that fails for all that follow.
fn partition(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The sum of a, and that of a b.
fn sums_of(a: &[f64], b: &[f64]) -> [f64; 2] {
    let (x, x_rest) = a.as_chunks::<8>();
    let (y, y_rest) = b.as_chunks::<8>();
    let mut sums = [[0.0; 8]; 2];
    for (x, y) in x.iter().zip(y) {
        for lane in 0..8 {
            sums[0][lane] += x[lane];
            sums[1][lane] += x[lane] * y[lane];
        }
    }
    let mut sums = sums.map(|lanes| lanes.iter().sum::<f64>());
    for (x, y) in x_rest.iter().zip(y_rest) {
        sums[0] += x;
        sums[1] += x * y;
    }
    sums
}

impl Operator for Saving {
    fn rate(&self, f: &[f64], rate: &mut [f64]) {
        rate.copy_from_slice(&self.rates(f).rate);
    }

    fn rates(&self, f: &[f64]) -> Rates {
        let cells = f.len();
        let parts = split(0..cells, parts_for(cells * cells / 4), |_| 1);
        // Density within cells as a difference array in `flux`, what falls into the cells at the ends in `gain`.
        let sums: Sums = sum_of_parts(cells, true, &parts, |agents, sums| {
            let mut ranges = Ranges {
                gain: &mut sums.gain,
                begins: vec![Sum::default(); cells],
                ends: vec![Sum::default(); cells],
            };
            for i in agents.filter(|&i| f[i] != 0.0) {
                self.encounters(f, i, &mut ranges);
            }
            for k in 0..cells {
                sums.flux[k] = ranges.begins[k].sum;
                sums.frequency[k] = ranges.ends[k].sum;
            }
        });
        let mut rates = empty(cells);
        // Compensated: an error would stay in all cells that follow.
        let mut within = Sum::default();
        for i in 0..cells {
            within.add(sums.flux[i]);
            within.add(-sums.frequency[i]);
            rates.gain[i] = sums.gain[i] + within.sum.max(0.0);
        }
        let agents: f64 = f.iter().sum();
        complete(rates, f, agents)
    }

    fn largest_frequency(&self, f: &[f64]) -> f64 {
        f.iter().sum()
    }

    fn table_bytes(&self) -> u64 {
        size_of_val(&self.densities[..]) as u64
    }
}
