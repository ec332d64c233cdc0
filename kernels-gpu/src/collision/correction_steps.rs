//! The conservative correction by several blocks a distribution, for grids over which one block would take long.
//!
//! Four steps, each a launch, as a sum over the grid must be complete before the next one begins. Each leaves a few words a block,
//! which the next one adds up in a fixed order, so the bits do not depend on when a block runs.

use super::GridShape;
use super::correction::{
    Basis, Cells, Losses, MOMENTS, STATE_SYSTEM, SYSTEM_WORDS, Share, System, centre,
    first_moments, spreads, sum_parts, theta,
};
use super::correction::{END_WORDS, MOMENT_WORDS, RESIDUAL_WORDS, STATE_WORDS, WEIGHT_WORDS};
use super::reduce::{block_combine, block_sum, scratch_words};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{Out, Shared};
use crate::simt::Simt;

/// Threads of a block that shares a distribution with others.
pub const SHARE_THREADS: u32 = 256;

/// Leaves the block's sums, of which every thread has a share.
#[inline(always)]
#[track_caller]
pub(super) fn leave<const K: usize, S: Simt>(
    t: &S,
    sums: [f64; K],
    parts: Out<'_, f64>,
    words: u32,
    scratch: Shared<'_, f64>,
) {
    block_sum(t, sums, scratch);
    // The sums are still in the scratch words.
    let k = t.thread_idx();
    if k < K as u32 {
        parts.set(t, (t.block_idx() * words + k) as usize, scratch.get(t, k));
    }
}

kernel! {
    /// First of the steps of the correction by several blocks: sums of the weights, loss, and of their products with xi.
    ///
    /// Block `item blocks + b` of [`SHARE_THREADS`]; its threads own the cells `b block_dim + thread`, and on in steps of all threads
    /// of the distribution. 8 + sizeof(T) bytes read a cell, and the gain besides in the other steps. The words of a block are its own.
    pub fn sum_weights<T: Real>(
        t, f: In<f64>, frequency: In<T>, scales: In<f64>, parts: Out<f64>; shape: GridShape, blocks: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(WEIGHT_WORDS)] } {
        let item = quotient(t.block_idx(), blocks);
        let share = Share::of_blocks(t, t.block_idx() - item * blocks, blocks);
        let losses = Losses::of(t, item, &shape, f, frequency, scales);
        leave(t, first_moments(&shape, |cell| losses.at(t, cell), share), parts, WEIGHT_WORDS, scratch);
    }
}

kernel! {
    /// Second step: moments of the weights about their centre, and of gain - loss; blocks as in [`sum_weights()`].
    pub fn sum_moments<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, weights: In<f64>, parts: Out<f64>;
        shape: GridShape, blocks: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(MOMENT_WORDS)] } {
        let item = quotient(t.block_idx(), blocks);
        let share = Share::of_blocks(t, t.block_idx() - item * blocks, blocks);
        let cells = Cells::of(t, item, &shape, f, gain, frequency, scales);
        let u = centre(sum_parts(t, weights, (item, blocks, WEIGHT_WORDS), scratch));
        leave(t, cells.moments(t, &shape, 0.0, u, share), parts, MOMENT_WORDS, scratch);
    }
}

kernel! {
    /// Third step: solves the system, and sums what the integral so corrected fails to conserve; blocks as in [`sum_weights()`].
    ///
    /// Every block solves it for itself, in one thread; the first block of a distribution leaves the solution in `state`.
    pub fn sum_residuals<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, weights: In<f64>, moments: In<f64>,
        state: Out<f64>, parts: Out<f64>; shape: GridShape, blocks: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(MOMENT_WORDS)], words: [f64; SYSTEM_WORDS] } {
        let item = quotient(t.block_idx(), blocks);
        let block = t.block_idx() - item * blocks;
        let share = Share::of_blocks(t, block, blocks);
        let cells = Cells::of(t, item, &shape, f, gain, frequency, scales);
        let weights: [f64; 4] = sum_parts(t, weights, (item, blocks, WEIGHT_WORDS), scratch);
        // The sums have been taken from the scratch words.
        t.sync_threads();
        let moments: [f64; MOMENTS] = sum_parts(t, moments, (item, blocks, MOMENT_WORDS), scratch);
        let theta = theta(weights[0], &moments);
        let basis = Basis { u: centre(weights), inverse_root_theta: 1.0 / Real::sqrt(theta) };
        let system = System(words);
        if t.thread_idx() == 0 {
            system.set_up(t, weights[0], &moments);
        }
        t.sync_threads();
        let delta = system.solution(t);
        if block == 0 {
            let line = (item * STATE_WORDS) as usize;
            if t.thread_idx() == 0 {
                let regular = spreads(weights[0], theta, &shape) && system.is_regular(t);
                state.set(t, line, if regular { 1.0 } else { 0.0 });
                let mut k = 0;
                while k < 3 {
                    state.set(t, line + 1 + k, basis.u[k]);
                    k += 1;
                }
                state.set(t, line + 4, basis.inverse_root_theta);
                let mut k = 0;
                while k < 5 {
                    state.set(t, line + 5 + k, delta[k]);
                    k += 1;
                }
            }
            // Words above the diagonal are never written.
            let k = t.thread_idx();
            let row = quotient(k, 5);
            if k < 25 && k - 5 * row <= row {
                state.set(t, line + (STATE_SYSTEM + k) as usize, words.get(t, k));
            }
        }
        leave(t, cells.residuals(t, &shape, 0.0, (basis, delta), share), parts, RESIDUAL_WORDS, scratch);
    }
}

kernel! {
    /// Fourth step: refines the solution, and writes the corrected integral, `factor` times the lattice operator; blocks as in
    /// [`sum_weights()`]. Where the system is singular it leaves all to [`conserve()`](super::conserve()).
    pub fn apply_correction<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, state: In<f64>, residuals: In<f64>,
        rate: Out<f64>, deltas: Out<f64>, parts: Out<f64>; shape: GridShape, factor: f64, blocks: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(END_WORDS)], words: [f64; SYSTEM_WORDS] } {
        let item = quotient(t.block_idx(), blocks);
        let block = t.block_idx() - item * blocks;
        let line = (item * STATE_WORDS) as usize;
        if state.get(t, line) == 1.0 {
            let share = Share::of_blocks(t, block, blocks);
            let cells = Cells::of(t, item, &shape, f, gain, frequency, scales);
            let left: [f64; 5] = sum_parts(t, residuals, (item, blocks, RESIDUAL_WORDS), scratch);
            let system = System(words);
            let k = t.thread_idx();
            let row = quotient(k, 5);
            if k < 25 && k - 5 * row <= row {
                words.set(t, k, state.get(t, line + (STATE_SYSTEM + k) as usize));
            }
            t.sync_threads();
            if t.thread_idx() == 0 {
                system.set_right(t, left);
                system.solve(t);
            }
            t.sync_threads();
            let at = |k: usize| state.get(t, line + k);
            let basis = Basis { u: [at(1), at(2), at(3)], inverse_root_theta: at(4) };
            let mut delta = system.solution(t);
            let mut k = 0;
            while k < 5 {
                delta[k] += at(5 + k);
                if block == 0 && t.thread_idx() == 0 {
                    deltas.set(t, 5 * item as usize + k, delta[k]);
                }
                k += 1;
            }
            let (sums, outflow) = cells.apply(t, &shape, 0.0, (basis, delta), (rate, factor), share);
            let [outflow] = block_combine(t, [outflow], scratch, |a, b| if a > b { a } else { b });
            if t.thread_idx() == 0 {
                parts.set(t, (t.block_idx() * END_WORDS) as usize + 11, outflow);
            }
            leave(t, sums, parts, END_WORDS, scratch);
        }
    }
}
