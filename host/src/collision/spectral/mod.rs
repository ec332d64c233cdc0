//! The spectral operator: the same integral by transforms, spectrally accurate where f is smooth.
//!
//! In Carleman's variables the velocities before a collision are v + x and v + y, with x normal to y:
//!
//! ```text
//! gain(v) = 4 C sum over a half sphere of e: int_{-R}^{R} |x| dx int_{|y| <= R} dy G(|x|, |y|) f(v + x e) f(v + y),     y normal to e,
//! G = alpha g^(gamma-1) (|y| / g)^(2 (alpha-1)),     g^2 = x^2 + y^2
//! ```
//!
//! (C. Mouhot and L. Pareschi, Math. Comp. 75 (2006) 1833). For hard spheres G = 1, and the integrand is a product of a line integral and of a disc integral of f. Other laws are
//! sums of K such products ([`mod@kernel`]). As real and imaginary part the two factors cost one complex transform for each direction and product.
//!
//! ```text
//! fhat = DFT[f],     A + i B = IDFT[(a_k(s) + i b_k(p)) fhat],     s = rho |l.e|,   p = rho |l - (l.e) e|,   rho = 2 pi (sqrt 2 - 1),
//! gain = 4 (R/h)^(3+gamma) sum over m, k of w_m A_mk B_mk,     nu = IDFT[beta fhat],   beta = 4 (R/h)^(3+gamma) sum over m, k of w_m a_k b_k
//! ```
//!
//! in lattice units, with R = P (sqrt 2 - 1) h. The array has P nodes along an axis, about 1.5 N: f in a corner, zeros elsewhere. Waves with |l| = P/2 are left out, for they have no partner.
//!
//! | symbol | meaning | where |
//! |---|---|---|
//! | e_m, w_m | directions on a half sphere and their solid angles | [`mod@sphere`] |
//! | u_k v_k, a_k, b_k | factors of the kernel, and their transforms | [`mod@kernel`] |
//! | P, K | period in nodes, products of the kernel | [`Spectral::period`], [`Spectral::rank`] |

mod cpu;
mod kernel;
mod reference;
mod sphere;

use std::f64::consts::{PI, SQRT_2};

use rarefy_kernels::Real;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub(super) use cpu::SpectralSums;
use kernel::Multipliers;
pub(super) use reference::SpectralReference;
pub use sphere::{DEGREES, Direction, half_sphere};

use super::{OperatorConfig, Scattering, VelocityGrid, discrete_maxwellian};
use crate::error::{Error, Result};

/// Lengths of transforms, as products of two short ones: the periods that there are.
const PERIODS: [[u32; 2]; 18] = [
    [2, 3],
    [2, 4],
    [2, 5],
    [3, 4],
    [4, 4],
    [3, 6],
    [4, 5],
    [4, 6],
    [5, 6],
    [4, 8],
    [6, 6],
    [5, 8],
    [6, 8],
    [6, 10],
    [8, 8],
    [8, 9],
    [8, 10],
    [8, 12],
];

/// Degree of the rule on the sphere where none is given and f is not known.
const USUAL_DEGREE: u8 = 11;
/// The most products of the kernel: further ones are below roundoff of f32.
const MOST_PRODUCTS: u8 = 8;

/// What the spectral method can be given; anything else is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Spectral {
    /// Degree of Lebedev's rule on the sphere: 5, 7, 9, 11, 15, 17 or 21, with 7, 13, 19, 25, 43, 55 or 85 directions. Otherwise 11.
    pub degree: Option<u8>,
    /// Products of the kernel, 1 to 8. Otherwise 1 for hard spheres, which is exact; 2 for variable hard spheres with gamma >= 0.3; 3.
    pub rank: Option<u8>,
    /// Nodes of the padded array along an axis. Otherwise the least P >= 1.5 N of those that there are: 6, 8, 10, 12, 16, 18, 20, 24, 30, 32, 36, 40, 48, 60, 64, 72, 80, 96.
    pub period: Option<u32>,
}

impl Spectral {
    /// The same with everything chosen for a grid of n^3 cells and a law of molecules.
    pub fn resolved(self, n: usize, scattering: Scattering) -> Self {
        let gamma = scattering.gamma();
        let rank = match scattering {
            Scattering::Vss { .. } => 3,
            _ if gamma == 1.0 => 1,
            _ if gamma >= 0.3 => 2,
            _ => 3,
        };
        let fits = |period: &u32| 2 * *period as usize >= 3 * n;
        let period = PERIODS.map(|[first, second]| first * second);
        let period = period.into_iter().find(fits);
        Self {
            degree: Some(self.degree.unwrap_or(USUAL_DEGREE)),
            rank: Some(self.rank.unwrap_or(rank)),
            period: self.period.or(period),
        }
    }

    /// The same with the degree that distributions on a grid, one after the other, need, unless one is given: 11 near equilibrium, up to 21 for strong shocks.
    ///
    /// The share of molecules by which a distribution differs from its Maxwellian says how far it is from equilibrium; mixtures of the two ends of shocks at Mach 1.7, 2.5 and
    /// 3.5, for which degrees 11, 15 and 17 leave 0.2% of the integral, have the shares of the thresholds. More than P/2 resolves nothing that the grid has.
    pub fn suited(self, grid: &VelocityGrid, f: &[f64]) -> Self {
        const THRESHOLDS: [(f64, u8); 3] = [(0.127, 11), (0.263, 15), (0.358, 17)];
        if self.degree.is_some() {
            return self;
        }
        let share = |f: &[f64]| match discrete_maxwellian(grid, f) {
            Some(maxwellian) => {
                let differences = f.iter().zip(&maxwellian).map(|(f, m)| (f - m).abs());
                differences.sum::<f64>() / f.iter().sum::<f64>()
            }
            None => 2.0,
        };
        let most = f.chunks_exact(grid.cells()).map(share).fold(0.0, f64::max);
        let needed = THRESHOLDS.into_iter().find(|(limit, _)| most <= *limit);
        let needed = needed.map_or(21, |(_, degree)| u32::from(degree));
        let period = self.resolved(grid.n(), Scattering::HardSphere).period;
        let enough = needed.min(period.unwrap_or(96) / 2);
        let degree = DEGREES
            .into_iter()
            .find(|&degree| u32::from(degree) >= enough.max(11));
        Self { degree, ..self }
    }

    /// Whether the spectral method suits distributions on a grid, one after the other: their boxes hold them, and they are so smooth that less than 0.3% of their molecules
    /// alternate from cell to cell. Jumps and cells wider than about 0.9 thermal speeds have more. Variable soft spheres have no other method.
    pub fn suits(grid: &VelocityGrid, scattering: Scattering, f: &[f64]) -> bool {
        const ALTERNATING: f64 = 3e-3;
        let n = grid.n();
        let alternating = |f: &[f64]| {
            let mut sums = [0.0; 3];
            for (k, f) in f.iter().enumerate() {
                for (sum, i) in sums.iter_mut().zip([k / (n * n), k / n % n, k % n]) {
                    *sum += if i % 2 == 0 { *f } else { -f };
                }
            }
            sums.iter().fold(0.0, |most: f64, sum| most.max(sum.abs()))
        };
        let smooth = |f: &[f64]| {
            alternating(f) <= ALTERNATING * f.iter().sum::<f64>() && grid.warnings(f).is_empty()
        };
        matches!(scattering, Scattering::Vss { .. }) || f.chunks_exact(grid.cells()).all(smooth)
    }

    /// Checks what was given.
    pub(super) fn validate(self, n: usize, scattering: Scattering) -> Result<()> {
        let Self {
            degree,
            rank,
            period,
        } = self.resolved(n, scattering);
        sphere::check(degree.unwrap_or(USUAL_DEGREE))?;
        let rank = rank.unwrap_or(1);
        if !(1..=MOST_PRODUCTS).contains(&rank) {
            return Err(Error::input(format!(
                "the kernel is a sum of 1 to {MOST_PRODUCTS} products; {rank} was given"
            )));
        }
        if rank > 1 && scattering.gamma() == 1.0 && scattering.alpha() == 1.0 {
            return Err(Error::input(format!(
                "the kernel of hard spheres is a single product; {rank} was given"
            )));
        }
        if rank == 1 && scattering.alpha() != 1.0 {
            return Err(Error::input(
                "the kernel of variable soft spheres needs 2 products or more; 1 was given",
            ));
        }
        let names = || {
            let known = PERIODS.map(|[first, second]| (first * second) as usize);
            let fits = known.into_iter().filter(|&period| 5 * period >= 6 * n);
            fits.map(|period| period.to_string())
                .collect::<Vec<_>>()
                .join(", ")
        };
        match period {
            Some(period) if radices(period).is_some() && 5 * period as usize >= 6 * n => Ok(()),
            Some(period) => Err(Error::input(format!(
                "the period of {n} cells is one of {}; {period} was given",
                names()
            ))),
            None => Err(Error::input(format!(
                "the spectral method takes grids of up to 64 cells along an axis; {n} was given"
            ))),
        }
    }
}

/// Directions of the half rule of a degree.
pub fn directions(degree: u8) -> usize {
    half_sphere(degree).len()
}

/// The two short transforms of a length.
pub(super) fn radices(period: u32) -> Option<[u32; 2]> {
    PERIODS
        .into_iter()
        .find(|[first, second]| first * second == period)
}

/// Everything that the sums need besides f.
#[derive(Debug)]
pub(super) struct Plan {
    /// Cells along an axis.
    pub(super) n: usize,
    /// Nodes of the padded array along an axis.
    pub(super) period: usize,
    directions: Vec<Direction>,
    multipliers: Multipliers,
    /// 4 (R/h)^(3+gamma).
    factor: f64,
}

impl Plan {
    /// Of a validated configuration.
    pub(super) fn new(config: &OperatorConfig) -> Self {
        let (n, law) = (config.grid.n(), config.scattering);
        let chosen = config.spectral.resolved(n, law);
        let period = chosen.period.unwrap_or(96) as usize;
        let largest = 3f64.sqrt() * RHO * (period / 2) as f64;
        let rank = usize::from(chosen.rank.unwrap_or(1));
        let radius = period as f64 * (SQRT_2 - 1.0);
        Self {
            n,
            period,
            directions: sphere::half_sphere(chosen.degree.unwrap_or(USUAL_DEGREE)),
            multipliers: Multipliers::new(law.gamma(), law.alpha(), rank, largest),
            factor: 4.0 * radius.powf(3.0 + law.gamma()),
        }
    }

    /// Products of the gain: directions times rank.
    pub(super) fn products(&self) -> usize {
        self.directions.len() * self.multipliers.rank()
    }

    /// The direction and the product of the kernel that belong to a product of the gain.
    fn product(&self, index: usize) -> (&Direction, usize) {
        let rank = self.multipliers.rank();
        (&self.directions[index / rank], index % rank)
    }

    /// What each product of the gain is multiplied by.
    pub(super) fn factors(&self) -> Vec<f64> {
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
        for direction in &self.directions {
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
    pub(super) fn weights<T: Real>(&self) -> Vec<T> {
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

/// R times the least wave number.
const RHO: f64 = 2.0 * PI * (SQRT_2 - 1.0);
