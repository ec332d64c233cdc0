//! Sums over a whole grid by one block, in a fixed order.

use crate::memory::Shared;
use crate::simt::{Simt, WARP};

/// Threads of the one block in the kernels that reduce a whole grid to a few numbers.
pub const REDUCE_THREADS: u32 = 512;

/// Warps of that block.
pub(crate) const REDUCE_WARPS: u32 = REDUCE_THREADS / WARP;

/// Words of shared memory that [`block_combine`] needs for `values` values of every thread.
pub(crate) const fn scratch_words(values: u32) -> u32 {
    (REDUCE_WARPS + 1) * values
}

/// Combines `K` values of every thread of the block; every thread gets the results, which also stay in the first
/// `K` words of `scratch` until the next call.
///
/// The order is fixed (a butterfly within each warp, then the warps in turn), so the bits are too. All threads of
/// the block must call this, and a block has at least `K` threads.
#[inline(always)]
#[track_caller]
pub(crate) fn block_combine<const K: usize, S: Simt>(
    t: &S,
    values: [f64; K],
    scratch: Shared<'_, f64>,
    combine: impl Fn(f64, f64) -> f64,
) -> [f64; K] {
    let count = K as u32;
    // The results of an earlier call may still be being read.
    t.sync_threads();
    for k in 0..K {
        let mut value = values[k];
        value = combine(value, t.shuffle_xor(value, 16));
        value = combine(value, t.shuffle_xor(value, 8));
        value = combine(value, t.shuffle_xor(value, 4));
        value = combine(value, t.shuffle_xor(value, 2));
        value = combine(value, t.shuffle_xor(value, 1));
        if t.lane() == 0 {
            scratch.set(t, (1 + t.warp()) * count + k as u32, value);
        }
    }
    t.sync_threads();
    let k = t.thread_idx();
    if k < count {
        let mut value = scratch.get(t, count + k);
        for warp in 1..t.warps() {
            value = combine(value, scratch.get(t, (1 + warp) * count + k));
        }
        scratch.set(t, k, value);
    }
    t.sync_threads();
    let mut values = values;
    for k in 0..K {
        values[k] = scratch.get(t, k as u32);
    }
    values
}

/// Sums over the block; see [`block_combine`].
#[inline(always)]
#[track_caller]
pub(crate) fn block_sum<const K: usize, S: Simt>(
    t: &S,
    values: [f64; K],
    scratch: Shared<'_, f64>,
) -> [f64; K] {
    block_combine(t, values, scratch, |a, b| a + b)
}
