//! Everything that the sums need besides f: directions, and multipliers of the waves.

use std::f64::consts::{PI, SQRT_2};

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::Mirrors;
use super::choice::USUAL_DEGREE;
use super::kernel::Multipliers;
use super::sphere::{self, Direction};
use crate::collision::OperatorConfig;

/// R times the least wave number.
const RHO: f64 = 2.0 * PI * (SQRT_2 - 1.0);

/// Everything that the sums need besides f.
#[derive(Debug)]
pub(in crate::collision) struct Plan {
    /// Cells along an axis.
    pub(in crate::collision) n: usize,
    /// Nodes of the padded array along an axis.
    pub(in crate::collision) period: usize,
    /// Symmetries of the distributions.
    pub(in crate::collision) mirrors: Mirrors,
    /// Directions of the gain, one of each orbit of the symmetries.
    directions: Vec<Direction>,
    /// All directions, of which the frequency is made: its multiplier is even then.
    all: Vec<Direction>,
    multipliers: Multipliers,
    /// 4 (R/h)^(3+gamma).
    factor: f64,
}

impl Plan {
    /// Of a validated configuration.
    pub(in crate::collision) fn new(config: &OperatorConfig) -> Self {
        let (n, law) = (config.grid.n(), config.scattering);
        let chosen = config.spectral.resolved(n, law);
        let period = chosen.period.unwrap_or(96) as usize;
        let largest = 3f64.sqrt() * RHO * (period / 2) as f64;
        let rank = usize::from(chosen.rank.unwrap_or(1));
        let radius = period as f64 * (SQRT_2 - 1.0);
        let all = sphere::half_sphere(chosen.degree.unwrap_or(USUAL_DEGREE));
        let mirrors = chosen.mirrors.closed();
        Self {
            n,
            period,
            mirrors,
            directions: mirrors.reduced(all.clone()),
            all,
            multipliers: Multipliers::new(law.gamma(), law.alpha(), rank, largest),
            factor: 4.0 * radius.powf(3.0 + law.gamma()),
        }
    }

    /// Products of the gain: directions times rank.
    pub(in crate::collision) fn products(&self) -> usize {
        self.directions.len() * self.multipliers.rank()
    }

    /// The direction and the product of the kernel that belong to a product of the gain.
    fn product(&self, index: usize) -> (&Direction, usize) {
        let rank = self.multipliers.rank();
        (&self.directions[index / rank], index % rank)
    }

    /// Factor of each product of the gain.
    pub(in crate::collision) fn factors(&self) -> Vec<f64> {
        let products = 0..self.products();
        products
            .map(|index| self.factor * self.product(index).0.weight)
            .collect()
    }

    /// The multipliers (a, b) of a product at a wave vector; of the frequency, which follows the last product, (beta, 0).
    pub(super) fn multiplier(&self, index: usize, l: [f64; 3]) -> (f64, f64) {
        let square: f64 = l.iter().map(|l| l * l).sum();
        let at = |direction: &Direction, k: usize| {
            let along: f64 = direction.e.iter().zip(l).map(|(e, l)| e * l).sum();
            let across = (square - along * along).max(0.0).sqrt();
            self.multipliers.at(k, RHO * along.abs(), RHO * across)
        };
        if index < self.products() {
            let (direction, k) = self.product(index);
            return at(direction, k);
        }
        let mut beta = 0.0;
        for direction in &self.all {
            for k in 0..self.multipliers.rank() {
                let (a, b) = at(direction, k);
                beta += direction.weight * a * b;
            }
        }
        (self.factor * beta, 0.0)
    }

    /// Wave number of an index of a transform; `None` for the one without a partner.
    pub(super) fn wave(&self, index: usize) -> Option<f64> {
        let half = self.period / 2;
        match index {
            index if index < half => Some(index as f64),
            index if index > half || self.period % 2 == 1 => {
                Some(index as f64 - self.period as f64)
            }
            _ => None,
        }
    }

    /// The multipliers of all transforms, the frequency's last, for half of the waves along x: pairs `[transform][l_x < P/2][l_z][l_y]`, zero for waves that are left out.
    pub(in crate::collision) fn weights<T: Real>(&self) -> Vec<T> {
        let (period, half) = (self.period, self.period / 2);
        let plane = 2 * period * period;
        let mut weights = vec![T::ZERO; (self.products() + 1) * half * plane];
        weights
            .par_chunks_exact_mut(plane)
            .enumerate()
            .for_each(|(index, plane)| {
                let (transform, l_x) = (index / half, index % half);
                for (place, pair) in plane.chunks_exact_mut(2).enumerate() {
                    let waves = [place % period, place / period].map(|l| self.wave(l));
                    if let [Some(y), Some(z)] = waves {
                        let (a, b) = self.multiplier(transform, [l_x as f64, y, z]);
                        pair.copy_from_slice(&[T::from_f64(a), T::from_f64(b)]);
                    }
                }
            });
        weights
    }
}
