//! The operator of a gas from stored coefficients, as the paper takes it: [`Storage::Full`](super::Storage::Full) and [`Storage::Compact`](super::Storage::Compact).
//!
//! Each evaluation reads O(M^3) coefficients. The default, jumps in pairs, has the same sums from M^2/2 of them, or from M.

mod cpu;
mod gpu;
mod tables;

pub(super) use cpu::{Compact, Full};
pub(super) use gpu::Stored;

use super::Storage;
use super::coefficients::Counts;

/// Coefficients that the host makes; none by pairs of jumps.
pub(super) fn coefficients(storage: Storage, cells: usize) -> Option<u64> {
    let counts = Counts::of(cells);
    match storage {
        Storage::Full => Some(counts.full),
        Storage::Compact => Some(counts.reciprocal + counts.reciprocal / 8),
        Storage::Pairs => None,
    }
}
