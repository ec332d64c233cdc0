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

/// In eight sums, which fill vector registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
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
pub(super) struct Saving {
    lambda: f64,
}

impl Saving {
    pub(super) fn new(_cells: usize, lambda: f64) -> Self {
        Self { lambda }
    }
}

impl Operator for Saving {
    fn rate(&self, f: &[f64], rate: &mut [f64]) {
        rate.copy_from_slice(&self.rates(f).rate);
    }

    fn rates(&self, f: &[f64]) -> Rates {
        let cells = f.len();
        let parts = split(0..cells, parts_for(cells * cells), |_| 1);
        // Density within cells as a difference array in `flux`, what falls into the cells at the ends in `gain`.
        let sums: Sums = sum_of_parts(cells, true, &parts, |agents, sums| {
            // Compensated: what rounding leaves here stays in all cells between the ends.
            let mut begins = vec![Sum::default(); cells];
            let mut ends = vec![Sum::default(); cells];
            for i in agents.filter(|&i| f[i] != 0.0) {
                for j in 0..cells {
                    let (low, high) = saving_range(self.lambda, cells, i, j);
                    let density = f[i] * f[j] / (high - low);
                    let first = low as usize;
                    // An end at a cell's upper edge belongs to that cell.
                    let last = (high.ceil() as usize - 1).min(cells - 1);
                    if first >= last {
                        sums.gain[first] += f[i] * f[j];
                        continue;
                    }
                    sums.gain[first] += density * (first as f64 + 1.0 - low);
                    sums.gain[last] += density * (high - last as f64);
                    begins[first + 1].add(density);
                    ends[last].add(density);
                }
            }
            for k in 0..cells {
                sums.flux[k] = begins[k].sum;
                sums.frequency[k] = ends[k].sum;
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

    fn table_bytes(&self) -> u64 {
        0
    }
}
