//! Inequality of a distribution, and of the gamma distributions to which most laws lead.

use std::f64::consts::PI;

use super::{CollisionKernel, EnergyGrid};

/// The Lorenz curve of agents `p` with the wealth of their cells: for each cell the share of the agents up to it and the share of all
/// wealth that they have. It begins with (0, 0).
pub fn lorenz(grid: &EnergyGrid, p: &[f64]) -> Vec<(f64, f64)> {
    let agents: f64 = p.iter().sum();
    let wealth: f64 = p.iter().enumerate().map(|(i, p)| p * grid.energy(i)).sum();
    let (mut n, mut e) = (0.0, 0.0);
    let mut curve = vec![(0.0, 0.0)];
    for (i, p) in p.iter().enumerate() {
        n += p;
        e += p * grid.energy(i);
        curve.push(((n / agents).min(1.0), (e / wealth).min(1.0)));
    }
    curve
}

/// The Gini coefficient of agents `p`: 0 if all have the same, 1 if one has all.
pub fn gini(grid: &EnergyGrid, p: &[f64]) -> f64 {
    let area: f64 = lorenz(grid, p)
        .windows(2)
        .map(|w| (w[1].0 - w[0].0) * (w[1].1 + w[0].1))
        .sum();
    1.0 - area
}

/// Agents of `p` with less than `wealth`, those of each cell spread over it evenly. All or none of a cell would leave an error as large as its width.
pub fn agents_below(grid: &EnergyGrid, p: &[f64], wealth: f64) -> f64 {
    let at = wealth / grid.width();
    let cells = p.iter().enumerate();
    cells
        .map(|(i, p)| p * (at - i as f64).clamp(0.0, 1.0))
        .sum()
}

/// The Gini coefficient of a gamma distribution of shape `a`, the equilibrium of a gas (3/2), of [`CollisionKernel::Money`] (1) and of [`CollisionKernel::Gamma`]:
/// Gamma(a + 1/2) / (sqrt(pi) a Gamma(a)).
pub fn gini_of_gamma(a: f64) -> f64 {
    (libm::lgamma(a + 0.5) - libm::lgamma(a)).exp() / (PI.sqrt() * a)
}

/// Shape of the gamma distribution of equilibrium, of saving of the one near it.
pub(super) fn shape(law: CollisionKernel) -> f64 {
    match law {
        CollisionKernel::Power { .. } | CollisionKernel::Isotropic { .. } => 1.5,
        CollisionKernel::Money => 1.0,
        CollisionKernel::Gamma { alpha } => alpha,
        CollisionKernel::Saving { lambda } => (1.0 + 2.0 * lambda) / (1.0 - lambda),
    }
}
