//! An ordinary sum in floating point: what it costs to read the data and do next to nothing with them.

use super::sum::run_index;
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out};
use crate::simt::Simt;

/// Threads of a block of `plain_sum`.
pub const PLAIN_THREADS: u32 = 256;
/// Accesses of 16 bytes that a thread has under way.
const LOADS: usize = 4;

kernel! {
    /// Element w of out is the sum of what warp w of the launch reads of x: a rounded sum, whose bits depend on the grid.
    ///
    /// The yardstick of the exact sums: the same reads, one floating-point addition an element. Elements that fill no tile are left out.
    pub fn plain_sum_f64(t, x: In<f64>, out: Out<f64>) {
        plain_sum::<f64, 2, _>(t, x, out);
    }
}

kernel! {
    /// Element w of out is the sum of what warp w of the launch reads of x; as `plain_sum_f64`.
    pub fn plain_sum_f32(t, x: In<f32>, out: Out<f32>) {
        plain_sum::<f32, 4, _>(t, x, out);
    }
}

#[inline(always)]
fn plain_sum<T: Real, const RUN: usize, S: Simt>(t: &S, x: In<'_, T>, out: Out<'_, T>) {
    let tiles = x.len() / (PLAIN_THREADS as usize * RUN * LOADS);
    let mut tile = t.block_idx() as usize;
    let mut sums = [[T::ZERO; RUN]; LOADS];
    while tile < tiles {
        let mut values = [[T::ZERO; RUN]; LOADS];
        let mut k = 0;
        while k < LOADS {
            values[k] = x.get_run(t, run_index::<RUN, LOADS, PLAIN_THREADS, S>(t, tile, k));
            k += 1;
        }
        k = 0;
        while k < LOADS {
            for j in 0..RUN {
                sums[k][j] += values[k][j];
            }
            k += 1;
        }
        tile += t.grid_dim() as usize;
    }
    let mut sum = T::ZERO;
    for k in 0..LOADS {
        for j in 0..RUN {
            sum += sums[k][j];
        }
    }
    sum += t.shuffle_xor(sum, 16);
    sum += t.shuffle_xor(sum, 8);
    sum += t.shuffle_xor(sum, 4);
    sum += t.shuffle_xor(sum, 2);
    sum += t.shuffle_xor(sum, 1);
    if t.lane() == 0 {
        out.set(t, (t.block_idx() * t.warps() + t.warp()) as usize, sum);
    }
}
