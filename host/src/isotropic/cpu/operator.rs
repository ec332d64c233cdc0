//! The parts that operators on the CPU share: sums in parts, and rates from sums.

use std::ops::Range;

use rayon::prelude::*;

use crate::isotropic::coefficients::{self, Coefficients, rate_scale};
use crate::isotropic::{CollisionKernel, OperatorConfig, Rates, reference};

/// An operator on the CPU.
pub(in crate::isotropic) trait Operator: Send + Sync {
    /// df/dt at `f`.
    fn rate(&self, f: &[f64], rate: &mut [f64]);
    /// Gain, frequency and rate at `f`.
    fn rates(&self, f: &[f64]) -> Rates;
    /// Largest frequency of collisions that move a particle.
    fn largest_frequency(&self, f: &[f64]) -> f64 {
        self.rates(f).largest_frequency
    }
    /// Bytes of coefficients.
    fn table_bytes(&self) -> u64;
}

/// The scalar reference as an operator.
pub(in crate::isotropic) struct Reference(pub(in crate::isotropic) OperatorConfig);

impl Operator for Reference {
    fn rate(&self, f: &[f64], rate: &mut [f64]) {
        rate.copy_from_slice(&reference::rates(&self.0, f).rate);
    }
    fn rates(&self, f: &[f64]) -> Rates {
        reference::rates(&self.0, f)
    }
    fn table_bytes(&self) -> u64 {
        0
    }
}

/// Sums of one part of the work, per cell: gain less loss, gain, frequency.
#[derive(Clone)]
pub(in crate::isotropic) struct Sums {
    pub(in crate::isotropic) flux: Vec<f64>,
    pub(in crate::isotropic) gain: Vec<f64>,
    pub(in crate::isotropic) frequency: Vec<f64>,
}

impl Sums {
    pub(in crate::isotropic) fn zero(cells: usize, detailed: bool) -> Self {
        let detail = if detailed { cells } else { 0 };
        Self {
            flux: vec![0.0; cells],
            gain: vec![0.0; detail],
            frequency: vec![0.0; detail],
        }
    }

    fn add(&mut self, other: &Self) {
        let add = |to: &mut [f64], from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(&mut self.flux, &other.flux);
        add(&mut self.gain, &other.gain);
        add(&mut self.frequency, &other.frequency);
    }
}

/// Does the parts of a work at once and adds their sums in the order of the parts, whatever the number of threads.
pub(in crate::isotropic) fn sum_of_parts(
    cells: usize,
    detailed: bool,
    parts: &[Range<usize>],
    work: impl Fn(Range<usize>, &mut Sums) + Sync,
) -> Sums {
    let one = |part: &Range<usize>| {
        let mut sums = Sums::zero(cells, detailed);
        work(part.clone(), &mut sums);
        sums
    };
    if let [part] = parts {
        return one(part);
    }
    let sums: Vec<Sums> = parts.par_iter().map(one).collect();
    let mut sums = sums.into_iter();
    let mut total = sums.next().unwrap_or_else(|| Sums::zero(cells, detailed));
    sums.for_each(|more| total.add(&more));
    total
}

/// Splits `range` into at most `parts` ranges of about equal cost.
pub(in crate::isotropic) fn split(
    range: Range<usize>,
    parts: usize,
    cost: impl Fn(usize) -> u64,
) -> Vec<Range<usize>> {
    let total: u64 = range.clone().map(&cost).sum();
    let mut out = Vec::with_capacity(parts);
    let (mut start, mut done) = (range.start, 0);
    for at in range.clone() {
        done += cost(at);
        if done * parts as u64 >= total * (out.len() as u64 + 1) {
            out.push(start..at + 1);
            start = at + 1;
        }
    }
    if start < range.end {
        out.push(start..range.end);
    }
    out
}

/// How many parts an evaluation of so many terms is worth.
pub(in crate::isotropic) fn parts_for(terms: usize) -> usize {
    (terms >> 15).clamp(1, 64)
}

/// Gain and frequency of collisions that stay in the cell or exchange, which jumps leave out: D_i = f_i X(i, i) + sum over j of
/// f_j [S(m, m) + X(i, j)], m = min(i, j). The loss is f_i D_i and so is the gain.
pub(in crate::isotropic) struct Unmoved {
    cells: usize,
    /// X(i, j) + S(m, m) off the diagonal, X(i, i) on it, by rows.
    table: Vec<f64>,
}

impl Unmoved {
    pub(in crate::isotropic) fn new(cells: usize, theta: f64, corrected: bool) -> Self {
        let of = Coefficients::new(theta);
        let diagonal: Vec<f64> = (0..cells)
            .map(|m| {
                if corrected {
                    of.symmetric(m, m)
                } else {
                    of.jump(m, m)
                }
            })
            .collect();
        let mut table = vec![0.0; cells * cells];
        table
            .par_chunks_exact_mut(cells)
            .enumerate()
            .for_each(|(i, row)| {
                for (j, value) in row.iter_mut().enumerate() {
                    *value = of.exchange(i, j) + if i == j { 0.0 } else { diagonal[i.min(j)] };
                }
            });
        Self { cells, table }
    }

    pub(in crate::isotropic) fn frequency(&self, f: &[f64]) -> impl Iterator<Item = f64> {
        self.table
            .chunks_exact(self.cells)
            .map(move |row| row.iter().zip(f).map(|(t, f)| t * f).sum())
    }
}

/// Rates from sums in cell units.
pub(in crate::isotropic) fn finish(
    sums: &Sums,
    f: &[f64],
    divisors: &[f64],
    unmoved: Option<&Unmoved>,
) -> Rates {
    let mut rates = reference::empty(f.len());
    for (i, divisor) in divisors.iter().enumerate() {
        let moving = divisor * sums.frequency[i];
        rates.largest_frequency = rates.largest_frequency.max(moving);
        rates.rate[i] = divisor * sums.flux[i];
        rates.gain[i] = divisor * sums.gain[i];
        rates.frequency[i] = moving;
    }
    if let Some(unmoved) = unmoved {
        for (i, more) in unmoved.frequency(f).enumerate() {
            rates.frequency[i] += divisors[i] * more;
            rates.gain[i] += divisors[i] * more * f[i];
        }
    }
    rates
}

/// Frequencies of collisions that stay in the cell or exchange, which the kernels leave out, of each cell.
pub(in crate::isotropic) fn unmoved(config: &OperatorConfig, f: &[f64]) -> Vec<f64> {
    let scale = rate_scale(&config.grid, config.law);
    let scaled = |i: usize, sum: f64| scale / config.weight(i) * sum;
    match config.law {
        CollisionKernel::Power { theta } => Unmoved::new(f.len(), theta, config.corrected)
            .frequency(f)
            .enumerate()
            .map(|(i, sum)| scaled(i, sum))
            .collect(),
        CollisionKernel::Isotropic { gamma } => (0..f.len())
            .map(|i| {
                let partner = |j: usize| {
                    let many = if i == j { 1.0 } else { 2.0 };
                    many * coefficients::isotropic(i + j, i.min(j), gamma) * f[j]
                };
                scaled(i, (0..f.len()).map(partner).sum())
            })
            .collect(),
        // All encounters are counted.
        _ => vec![0.0; f.len()],
    }
}
