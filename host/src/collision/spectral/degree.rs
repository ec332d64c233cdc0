//! The degree of the rule on the sphere that a distribution needs.

use super::choice::Spectral;
use super::sphere::DEGREES;
use crate::collision::{Scattering, VelocityGrid, discrete_maxwellian};

impl Spectral {
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
}
