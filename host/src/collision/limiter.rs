//! The limiter: takes away what is below zero of a distribution, and keeps its mass, momentum and energy.

use nalgebra::Vector5;
use rarefy_kernels::collision::LIMIT_ROUNDS;

use super::VelocityGrid;
use super::correction::{Basis, dot, factor};

/// Replaces f by `f+ (1 + d . phi)`, f+ = max(f, 0), with the five coefficients d for which the sums of the invariants stay; again where that is negative. It leaves `f` as it is
/// where it is nowhere negative, or too few cells are above zero.
pub(super) fn limit(grid: &VelocityGrid, f: &mut [f64]) {
    for _ in 0..LIMIT_ROUNDS {
        if !f.iter().any(|&f| f < 0.0) {
            return;
        }
        let weight = |cell: usize| f[cell].max(0.0);
        let Some(basis) = Basis::of(grid, weight) else {
            return;
        };
        let Some(matrix) = factor(grid, weight, basis) else {
            return;
        };
        let below = grid.sum(|cell, xi| basis.phi(xi).map(|phi| f[cell].min(0.0) * phi));
        let delta = matrix.solve(&(Vector5::from(below) / basis.weight));
        for (cell, f) in f.iter_mut().enumerate() {
            let above = f.max(0.0);
            *f = above + above * dot(&delta, &basis.phi(grid.velocity(cell)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Moments;
    use super::*;

    #[test]
    fn what_is_below_zero_goes_and_the_moments_stay() {
        let grid = VelocityGrid::new(9, -5.0, 6.0).expect("a grid");
        let before = grid.sample(|[x, y, z]| {
            let square = x * x + y * y + z * z;
            (-0.5 * square).exp() * (1.0 + 0.02 * x * (square - 5.0))
        });
        assert!(before.iter().any(|&f| f < 0.0));
        let mut f = before.clone();
        limit(&grid, &mut f);
        assert!(f.iter().all(|&f| f >= 0.0));
        let [old, new] = [&before, &f].map(|f| Moments::of(&grid, f));
        assert!((new.density / old.density - 1.0).abs() < 1e-14);
        assert!((new.temperature / old.temperature - 1.0).abs() < 1e-14);
        for (new, old) in new.velocity.iter().zip(old.velocity) {
            assert!((new - old).abs() < 1e-14);
        }
        let mut again = f.clone();
        limit(&grid, &mut again);
        assert!(again == f);
    }
}
