//! Directions, products of the kernel and period: what can be given, and what is taken otherwise.

use rarefy_kernels::collision::SPECTRAL_PERIODS;
use serde::{Deserialize, Serialize};

use super::Mirrors;
use super::sphere;
use crate::collision::{Scattering, VelocityGrid};
use crate::error::{Error, Result};

/// Degree of the rule on the sphere where none is given and f is not known.
pub(super) const USUAL_DEGREE: u8 = 11;
/// The most products of the kernel: further ones are below roundoff of f32.
const MOST_PRODUCTS: u8 = 8;

/// Choices of the spectral method; the rest follows from the grid and f.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Spectral {
    /// Degree of Lebedev's rule on the sphere: 5, 7, 9, 11, 15, 17 or 21, with 7, 13, 19, 25, 43, 55 or 85 directions. Otherwise 11.
    pub degree: Option<u8>,
    /// Products of the kernel, 1 to 8. Otherwise 1 for hard spheres, which is exact; 2 for variable hard spheres with gamma >= 0.3; 3.
    pub rank: Option<u8>,
    /// Nodes of the padded array along an axis. Otherwise the least P >= 1.5 N of those that there are: 6, 8, 10, 12, 16, 18, 20, 24, 30, 32, 36, 40, 48, 60, 64, 72, 80, 96.
    pub period: Option<u32>,
    /// Symmetries that every distribution has: fewer directions do.
    #[serde(skip_serializing_if = "Mirrors::is_none")]
    pub mirrors: Mirrors,
}

impl Spectral {
    /// The same with everything chosen for a grid of n^3 cells and a law of molecules.
    pub fn resolved(self, n: usize, scattering: Scattering) -> Self {
        let gamma = scattering.gamma();
        let rank = match scattering {
            Scattering::Vss { .. } if scattering.alpha() != 1.0 => 3,
            _ if gamma == 1.0 => 1,
            _ if gamma >= 0.3 => 2,
            _ => 3,
        };
        let fits = |period: &u32| 2 * *period as usize >= 3 * n;
        let period = SPECTRAL_PERIODS.into_iter().find(fits);
        Self {
            degree: Some(self.degree.unwrap_or(USUAL_DEGREE)),
            rank: Some(self.rank.unwrap_or(rank)),
            period: self.period.or(period),
            ..self
        }
    }

    /// Whether the spectral method suits distributions on a grid, one after the other: no [`obstacle`](Self::obstacle) is in its way.
    pub fn suits(grid: &VelocityGrid, scattering: Scattering, f: &[f64]) -> bool {
        Self::obstacle(grid, scattering, f).is_none()
    }

    /// The reason for which the spectral method does not suit distributions on a grid, one after the other. It suits them where the box holds them, and where less than 0.3% of their
    /// molecules alternate from cell to cell. Jumps and cells wider than about 0.9 thermal speeds have more. Variable soft spheres have no other method.
    pub fn obstacle(grid: &VelocityGrid, scattering: Scattering, f: &[f64]) -> Option<String> {
        const ALTERNATING: f64 = 3e-3;
        if matches!(scattering, Scattering::Vss { .. }) {
            return None;
        }
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
        f.chunks_exact(grid.cells()).find_map(|f| {
            let share = alternating(f) / f.iter().sum::<f64>();
            if share <= ALTERNATING {
                return grid.warnings(f).into_iter().next();
            }
            Some(format!(
                "f is not smooth on the grid: {:.1}% of the molecules alternate from cell to cell, {:.1}% may",
                100.0 * share,
                100.0 * ALTERNATING
            ))
        })
    }

    /// Checks what was given.
    pub(in crate::collision) fn validate(self, n: usize, scattering: Scattering) -> Result<()> {
        let Self {
            degree,
            rank,
            period,
            ..
        } = self.resolved(n, scattering);
        sphere::check(degree.unwrap_or(USUAL_DEGREE))?;
        let rank = rank.unwrap_or(1);
        if !(1..=MOST_PRODUCTS).contains(&rank) {
            return Err(Error::invalid(
                "rank",
                rank,
                format!("a kernel of 1 to {MOST_PRODUCTS} products"),
            ));
        }
        if rank > 1 && scattering.gamma() == 1.0 && scattering.alpha() == 1.0 {
            return Err(Error::invalid(
                "rank",
                rank,
                "a single product, which the kernel of hard spheres is",
            ));
        }
        if rank == 1 && scattering.alpha() != 1.0 {
            return Err(Error::invalid(
                "rank",
                1,
                "2 products or more for the kernel of variable soft spheres",
            ));
        }
        let suits = |period: u32| 5 * period as usize >= 6 * n;
        let names = || {
            let fits = SPECTRAL_PERIODS.into_iter().filter(|&period| suits(period));
            fits.map(|period| period.to_string())
                .collect::<Vec<_>>()
                .join(", ")
        };
        match period {
            Some(period) if SPECTRAL_PERIODS.contains(&period) && suits(period) => Ok(()),
            Some(period) => Err(Error::invalid(
                "period",
                period,
                format!("one of {} for {n} cells", names()),
            )),
            None => Err(Error::invalid(
                "grid.n",
                n,
                "up to 64 cells along an axis with the spectral method",
            )),
        }
    }
}
