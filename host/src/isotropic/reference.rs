//! The scalar reference: the definitions in loops, O(M^3).

use super::coefficients::{PairTables, isotropic, reachable};
use super::{CollisionKernel, OperatorConfig, Rates, Weights};

/// The operator at `f`, term by term.
///
/// # Panics
/// If there are fewer values than cells.
pub fn rates(config: &OperatorConfig, f: &[f64]) -> Rates {
    match config.law {
        CollisionKernel::Power { theta } => {
            let tables = PairTables::new(config.grid.cells(), theta, config.corrected);
            gas(config, f, &|i, j, k| tables.product(i, j, k))
        }
        CollisionKernel::Isotropic { gamma } => gas(config, f, &|i, j, k| {
            isotropic(i + j, i.min(j).min(k).min(i + j - k), gamma)
        }),
        _ => market(config, f),
    }
}

/// N_i = F / w_i sum over j, k of G f_k f_l, nu_i = F / w_i sum over j, k of G f_j, with G = r_i r_j B_ij^kl.
pub(super) fn gas(
    config: &OperatorConfig,
    f: &[f64],
    product: &dyn Fn(usize, usize, usize) -> f64,
) -> Rates {
    let cells = config.grid.cells();
    let scale = super::coefficients::rate_scale(&config.grid, config.law);
    let mut rates = empty(cells);
    for i in 0..cells {
        let factor = scale / config.weight(i);
        let (mut gain, mut frequency, mut moving) = (0.0, 0.0, 0.0);
        for j in 0..cells {
            let (first, last) = reachable(i, j, cells);
            for k in first..=last {
                let l = i + j - k;
                let g = product(i, j, k);
                gain += g * f[k] * f[l];
                frequency += g * f[j];
                if k != i && k != j {
                    moving += g * f[j];
                }
            }
        }
        rates.gain[i] = factor * gain;
        rates.frequency[i] = factor * frequency;
        rates.rate[i] = rates.gain[i] - rates.frequency[i] * f[i];
        rates.largest_frequency = rates.largest_frequency.max(factor * moving);
    }
    rates
}

/// Each agent i meets each agent j at unit rate and ends in cell k with the law's probability.
fn market(config: &OperatorConfig, f: &[f64]) -> Rates {
    let cells = config.grid.cells();
    let mut rates = empty(cells);
    let agents: f64 = f.iter().sum();
    for i in 0..cells {
        for j in 0..cells {
            let (first, last) = reachable(i, j, cells);
            for k in first..=last {
                rates.gain[k] +=
                    f[i] * f[j] * weighted_probability(config.law, config.weights, cells, i, j, k);
            }
        }
        rates.frequency[i] = agents;
    }
    for ((rate, gain), f) in rates.rate.iter_mut().zip(&rates.gain).zip(f) {
        *rate = gain - agents * f;
    }
    rates.largest_frequency = agents;
    rates
}

/// The probability with which an agent of cell `i` who meets one of cell `j` ends in cell `k`, with weights at the centres of cells.
pub fn probability(law: CollisionKernel, cells: usize, i: usize, j: usize, k: usize) -> f64 {
    weighted_probability(law, Weights::Center, cells, i, j, k)
}

/// The same with weights of either kind.
pub fn weighted_probability(
    law: CollisionKernel,
    weights: Weights,
    cells: usize,
    i: usize,
    j: usize,
    k: usize,
) -> f64 {
    let (first, last) = reachable(i, j, cells);
    let l = i + j - k;
    match law {
        CollisionKernel::Gamma { alpha } => {
            let weight = |i: usize| weights.share(alpha, i);
            let all: f64 = (first..=last).map(|k| weight(k) * weight(i + j - k)).sum();
            weight(k) * weight(l) / all
        }
        CollisionKernel::Saving { lambda } => {
            let (low, high) = saving_range(lambda, cells, i, j);
            let overlap = (high.min(k as f64 + 1.0) - low.max(k as f64)).max(0.0);
            overlap / (high - low)
        }
        _ => 1.0 / (last - first + 1) as f64,
    }
}

/// The range in which an agent of cell `i` ends after meeting one of cell `j` when both save the share lambda, in cell widths: uniform
/// between these, cut so that both stay on the grid.
pub(super) fn saving_range(lambda: f64, cells: usize, i: usize, j: usize) -> (f64, f64) {
    let (own, both) = (i as f64 + 0.5, (i + j) as f64 + 1.0);
    let top = cells as f64;
    let low = (lambda * own).max(both - top);
    let high = (lambda * own + (1.0 - lambda) * both).min(top);
    (low, high)
}

pub(super) fn empty(cells: usize) -> Rates {
    Rates {
        gain: vec![0.0; cells],
        frequency: vec![0.0; cells],
        rate: vec![0.0; cells],
        largest_frequency: 0.0,
        warnings: Vec::new(),
        device: String::new(),
    }
}
