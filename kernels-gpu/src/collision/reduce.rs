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

/// Combines `K` values of every thread of the warp, at most 32; the lane that has the result of a value returns it with its number.
///
/// At each level of the butterfly a lane keeps one half of its values and sends the other half to its partner, so all `K` results take about `K + 5` shuffles instead of `5 K`.
/// Each result is a tree of the same pairs as in a butterfly for that value alone, so its bits are the same.
#[inline(always)]
#[track_caller]
fn warp_combine<const K: usize, S: Simt>(
    t: &S,
    mut values: [f64; K],
    combine: impl Fn(f64, f64) -> f64,
) -> Option<(u32, f64)> {
    let lane = t.lane();
    let mut counts = [0; 6];
    counts[0] = K;
    for level in 0..5 {
        let (count, mask) = (counts[level], 16 >> level);
        let half = count.div_ceil(2);
        let upper = lane & mask != 0;
        for k in 0..half {
            let (low, high) = (
                values[k],
                values[if k + half < count { k + half } else { k }],
            );
            let (kept, sent) = if upper { (high, low) } else { (low, high) };
            values[k] = combine(kept, t.shuffle_xor(sent, mask));
        }
        counts[level + 1] = half;
    }
    // Back up the levels: the number of the value in this lane, and whether no lower lane has it too.
    let (mut number, mut first) = (0, true);
    for level in (0..5).rev() {
        let (count, half) = (counts[level], counts[level + 1]);
        if lane & (16 >> level) != 0 {
            if number + half < count {
                number += half;
            } else {
                first = false;
            }
        }
    }
    if first {
        Some((number as u32, values[0]))
    } else {
        None
    }
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
    if let Some((k, value)) = warp_combine(t, values, &combine) {
        scratch.set(t, (1 + t.warp()) * count + k, value);
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
