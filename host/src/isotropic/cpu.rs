//! The operator on the CPU: all cores, vector registers.

mod market;
mod operator;
mod pairs;
mod shells;

use rarefy_kernels::Real;

use super::coefficients::rate_scale;
use super::paper::{Compact, Full};
use super::{CollisionKernel, OperatorConfig, Storage, Weights};
use market::{Saving, Splitting};
use pairs::Pairs;
use shells::Shells;

pub(super) use market::{dot, splitting_weights};
pub(super) use operator::{
    Operator, Reference, Sums, Unmoved, finish, parts_for, split, sum_of_parts, unmoved,
};
pub(super) use shells::shell_table;

/// The operator of a configuration, with coefficients in `T`; sums are f64.
pub(super) fn operator<T: Real>(config: &OperatorConfig) -> Box<dyn Operator> {
    let cells = config.grid.cells();
    let scale = rate_scale(&config.grid, config.law);
    let divisors: Vec<f64> = (0..cells).map(|i| scale / config.weight(i)).collect();
    match config.law {
        CollisionKernel::Power { theta } => match config.storage {
            Storage::Full => Box::new(Full::<T>::new(cells, theta, config.corrected, divisors)),
            Storage::Compact if config.corrected => {
                Box::new(Compact::<T>::new(cells, theta, divisors))
            }
            // Without reciprocity there is nothing more to reduce than jumps do.
            _ => Box::new(Pairs::<T>::new(cells, theta, config.corrected, divisors)),
        },
        CollisionKernel::Isotropic { gamma } => Box::new(Shells::<T>::new(cells, gamma, divisors)),
        CollisionKernel::Money => Box::new(Splitting::new(cells, 1.0, Weights::Center)),
        CollisionKernel::Gamma { alpha } => Box::new(Splitting::new(cells, alpha, config.weights)),
        CollisionKernel::Saving { lambda } => Box::new(Saving::new(cells, lambda)),
    }
}
