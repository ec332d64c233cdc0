//! Values for the kernels: their precision, and the threads that take them up.

use rarefy_kernels::Real;

use crate::collision::{CorrectionMethod, OperatorConfig};

/// Threads of a block in the kernels with one thread a cell.
pub(in crate::collision) const CELL_THREADS: u32 = 128;

/// The values in the precision of the kernels.
pub(in crate::collision) fn convert<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&value| T::from_f64(value)).collect()
}

/// Distributions that the sums of one evaluation take: f, or the deviation from its Maxwellian and the mean with it.
pub(super) fn copies(config: &OperatorConfig) -> usize {
    if config.correction == CorrectionMethod::Balanced {
        2
    } else {
        1
    }
}
