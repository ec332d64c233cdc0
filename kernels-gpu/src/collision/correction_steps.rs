//! The conservative correction by several blocks a distribution, for grids over which one block would take long.
//!
//! Four steps, or two where the defects are small, each a launch, as a sum over the grid must be complete before the next one begins. Each leaves a few words a block,
//! which the next one adds up in a fixed order, so the bits do not depend on when a block runs.

use super::GridShape;
use super::correction::{
    Basis, Cells, INVERSE_ROOT_6, Losses, MOMENTS, PIVOT_RATIO, STATE_SYSTEM, SYSTEM_WORDS, Share,
    System, centre, first_moments, spreads, sum_parts, theta,
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
    leave_at(t, sums, parts, t.block_idx() * words, scratch);
}

/// Leaves the block's sums from the word `place` on.
#[inline(always)]
#[track_caller]
pub(super) fn leave_at<const K: usize, S: Simt>(
    t: &S,
    sums: [f64; K],
    parts: Out<'_, f64>,
    place: u32,
    scratch: Shared<'_, f64>,
) {
    block_sum(t, sums, scratch);
    // The sums are still in the scratch words.
    let k = t.thread_idx();
    if k < K as u32 {
        parts.set(t, (place + k) as usize, scratch.get(t, k));
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
    /// Every block solves it for itself, in one thread; the first block of a distribution leaves the solution in `state`. With `corrected` 0 the solution
    /// is zero, and so is what is left for its refinement.
    pub fn sum_residuals<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, weights: In<f64>, moments: In<f64>,
        state: Out<f64>, parts: Out<f64>; shape: GridShape, corrected: u32, blocks: u32,
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
        let delta = if corrected == 0 { [0.0; 5] } else { system.solution(t) };
        if block == 0 {
            let line = (item * STATE_WORDS) as usize;
            if t.thread_idx() == 0 {
                let regular = spreads(weights[0], theta, &shape) && system.is_regular(t);
                state.set(t, line, if regular { 1.0 } else { 0.0 });
                for k in 0..3 {
                    state.set(t, line + 1 + k, basis.u[k]);
                }
                state.set(t, line + 4, basis.inverse_root_theta);
                for k in 0..5 {
                    state.set(t, line + 5 + k, delta[k]);
                }
            }
            // Words above the diagonal are never written.
            let k = t.thread_idx();
            let row = quotient(k, 5);
            if k < 25 && k - 5 * row <= row {
                state.set(t, line + (STATE_SYSTEM + k) as usize, words.get(t, k));
            }
        }
        let left = if corrected == 0 { [0.0; 5] } else { cells.residuals(t, &shape, 0.0, (basis, delta), share) };
        leave(t, left, parts, RESIDUAL_WORDS, scratch);
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
            for k in 0..5 {
                delta[k] += at(5 + k);
                if block == 0 && t.thread_idx() == 0 {
                    deltas.set(t, 5 * item as usize + k, delta[k]);
                }
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

/// Words that a block leaves for [`solve_and_apply()`]: the weight, and the moments about the middle of the box.
pub const INVARIANT_WORDS: u32 = 1 + MOMENT_WORDS;

/// The solution of the system of [`System::set_up`], and whether it is regular: L D L^T in registers, for each thread that calls it.
#[inline(always)]
fn solve_system(total: f64, m: &[f64; MOMENTS]) -> ([f64; 5], bool) {
    let r = INVERSE_ROOT_6;
    let s = 1.0 / Real::sqrt(theta(total, m));
    let (s2, c2) = (s * s, m[3] + m[4] + m[5]);
    let fifth = [
        c2 * s2 - 3.0 * total,
        m[9] * s2 * s,
        m[10] * s2 * s,
        m[11] * s2 * s,
    ];
    let last = m[12] * s2 * s2 - 6.0 * c2 * s2 + 9.0 * total;
    // First moments about the centre vanish.
    let [a11, a22, a33] = [m[3] * s2, m[4] * s2, m[5] * s2];
    let [a21, a31, a32] = [m[6] * s2, m[7] * s2, m[8] * s2];
    let [a40, a41, a42, a43] = [fifth[0] * r, fifth[1] * r, fifth[2] * r, fifth[3] * r];
    let a44 = last * r * r;
    // Pivots d and rows l of the unit triangle; the first column has one entry, l40.
    let l40 = a40 / total;
    let (l21, l31, l41) = (a21 / a11, a31 / a11, a41 / a11);
    let d2 = a22 - l21 * a21;
    let b32 = a32 - l31 * a21;
    let b42 = a42 - l41 * a21;
    let (l32, l42) = (b32 / d2, b42 / d2);
    let d3 = a33 - l31 * a31 - l32 * b32;
    let b43 = a43 - l41 * a31 - l42 * b32;
    let l43 = b43 / d3;
    let d4 = a44 - l40 * a40 - l41 * a41 - l42 * b42 - l43 * b43;
    let pivots = [total, a11, d2, d3, d4];
    let least = pivots[0]
        .min(pivots[1])
        .min(pivots[2])
        .min(pivots[3])
        .min(pivots[4]);
    let most = pivots[0]
        .max(pivots[1])
        .max(pivots[2])
        .max(pivots[3])
        .max(pivots[4]);
    let y0 = m[13];
    let y1 = m[14] * s;
    let y2 = m[15] * s - l21 * y1;
    let y3 = m[16] * s - l31 * y1 - l32 * y2;
    let y4 = (m[17] * s2 - 3.0 * m[13]) * r - l40 * y0 - l41 * y1 - l42 * y2 - l43 * y3;
    let x4 = y4 / d4;
    let x3 = y3 / d3 - l43 * x4;
    let x2 = y2 / d2 - l32 * x3 - l42 * x4;
    let x1 = y1 / a11 - l21 * x2 - l31 * x3 - l41 * x4;
    let x0 = y0 / total - l40 * x4;
    (
        [x0, x1, x2, x3, x4],
        least > 0.0 && least >= PIVOT_RATIO * most,
    )
}

/// Moments about the middle of the box, brought to the centre d of the weights, of which `total` is the sum.
#[inline(always)]
fn centred(total: f64, s: &[f64; MOMENTS]) -> ([f64; 3], [f64; MOMENTS]) {
    let d = [s[0] / total, s[1] / total, s[2] / total];
    let d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    let trace = s[3] + s[4] + s[5];
    // The second moments times d.
    let along = [
        s[3] * d[0] + s[6] * d[1] + s[7] * d[2],
        s[6] * d[0] + s[4] * d[1] + s[8] * d[2],
        s[7] * d[0] + s[8] * d[1] + s[5] * d[2],
    ];
    let dot = |a: [f64; 3]| a[0] * d[0] + a[1] * d[1] + a[2] * d[2];
    let third = |k: usize| s[9 + k] - d[k] * trace - 2.0 * along[k] + 2.0 * d[k] * d2 * total;
    let fourth = s[12] - 4.0 * dot([s[9], s[10], s[11]]) + 4.0 * dot(along) + 2.0 * d2 * trace
        - 3.0 * d2 * d2 * total;
    let moments = [
        0.0,
        0.0,
        0.0,
        s[3] - d[0] * d[0] * total,
        s[4] - d[1] * d[1] * total,
        s[5] - d[2] * d[2] * total,
        s[6] - d[0] * d[1] * total,
        s[7] - d[0] * d[2] * total,
        s[8] - d[1] * d[2] * total,
        third(0),
        third(1),
        third(2),
        fourth,
        s[13],
        s[14] - d[0] * s[13],
        s[15] - d[1] * s[13],
        s[16] - d[2] * s[13],
        s[17] - 2.0 * dot([s[14], s[15], s[16]]) + d2 * s[13],
    ];
    (d, moments)
}

kernel! {
    /// First of two steps where the defects of conservation are so small that one solution without refinement is right to roundoff, as those of the spectral method are:
    /// all sums about the middle of the box. Blocks as in [`sum_weights()`].
    pub fn sum_invariants<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, parts: Out<f64>; shape: GridShape, blocks: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(INVARIANT_WORDS)] } {
        let item = quotient(t.block_idx(), blocks);
        let share = Share::of_blocks(t, t.block_idx() - item * blocks, blocks);
        let cells = Cells::of(t, item, &shape, f, gain, frequency, scales);
        let middle = shape.middle();
        let (total, s) = cells.moments_and_weight(t, &shape, 0.0, [middle; 3], share);
        let sums = [
            total, s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15], s[16], s[17],
        ];
        leave(t, sums, parts, INVARIANT_WORDS, scratch);
    }
}

kernel! {
    /// Second step: solves the system, and writes the corrected integral, `factor` times the lattice operator. Where the system is singular it leaves all to
    /// [`conserve()`](super::conserve()). The first warp of every block solves it in registers. Block `item sharing + b` takes the shares of the blocks b, b + sharing, and so on of
    /// [`sum_invariants()`] one after the other, so that the sums do not depend on `sharing`.
    pub fn solve_and_apply<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, invariants: In<f64>, rate: Out<f64>, state: Out<f64>, deltas: Out<f64>,
        parts: Out<f64>; shape: GridShape, factor: f64, blocks: u32, sharing: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(INVARIANT_WORDS)], solution: [f64; 6] } {
        let item = quotient(t.block_idx(), sharing);
        let mut block = t.block_idx() - item * sharing;
        let cells = Cells::of(t, item, &shape, f, gain, frequency, scales);
        let all: [f64; INVARIANT_WORDS as usize] = sum_parts(t, invariants, (item, blocks, INVARIANT_WORDS), scratch);
        let total = all[0];
        let sums = [
            all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8], all[9], all[10], all[11], all[12], all[13], all[14], all[15], all[16], all[17],
            all[18],
        ];
        let (d, moments) = centred(total, &sums);
        let theta = theta(total, &moments);
        let middle = shape.middle();
        let basis = Basis { u: [middle + d[0], middle + d[1], middle + d[2]], inverse_root_theta: 1.0 / Real::sqrt(theta) };
        if t.warp() == 0 {
            let (delta, regular) = solve_system(total, &moments);
            if t.lane() == 0 {
                solution.set(t, 0, delta[0]);
                solution.set(t, 1, delta[1]);
                solution.set(t, 2, delta[2]);
                solution.set(t, 3, delta[3]);
                solution.set(t, 4, delta[4]);
                solution.set(t, 5, if regular { 1.0 } else { 0.0 });
            }
        }
        t.sync_threads();
        let of = |k: u32| solution.get(t, k);
        let delta = [of(0), of(1), of(2), of(3), of(4)];
        let regular = spreads(total, theta, &shape) && of(5) == 1.0;
        if block == 0 && t.thread_idx() == 0 {
            state.set(t, (item * STATE_WORDS) as usize, if regular { 1.0 } else { 0.0 });
            for k in 0..5 {
                deltas.set(t, 5 * item as usize + k, delta[k]);
            }
        }
        while block < blocks {
            let share = Share::of_blocks(t, block, blocks);
            let (sums, outflow) = cells.apply(t, &shape, 0.0, (basis, delta), (rate, factor), share);
            let [outflow] = block_combine(t, [outflow], scratch, |a, b| if a > b { a } else { b });
            let place = (item * blocks + block) * END_WORDS;
            if t.thread_idx() == 0 {
                parts.set(t, place as usize + 11, outflow);
            }
            leave_at(t, sums, parts, place, scratch);
            block += sharing;
        }
    }
}
