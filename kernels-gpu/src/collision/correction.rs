//! The conservative correction (eqs. 11-13), on the device from the sums to the corrected integral.
//!
//! A grid is summed by one block ([`conserve()`]), or, where that would take long, by several in four steps with their partial
//! sums in global memory ([`sum_weights()`](super::sum_weights()) to [`apply_correction()`](super::apply_correction())), after
//! which [`conserve()`] only adds up, unless the system is singular.

use super::GridShape;
use super::reduce::{block_combine, block_sum, scratch_words};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};

/// Index of the entries of the summary that [`conserve()`] writes.
pub mod summary {
    /// 0: the loss was corrected; 1: loss and gain were; [`SINGULAR`]; 3: no correction was asked for; [`BALANCED`].
    pub const STATUS: usize = 0;
    /// Status: no correction exists.
    pub const SINGULAR: f64 = 2.0;
    /// Status: the correction is the balanced one.
    pub const BALANCED: f64 = 4.0;
    /// The five coefficients delta.
    pub const DELTA: usize = 1;
    /// The five residuals |sum I phi| / sum(weight |phi|).
    pub const RESIDUALS: usize = 6;
    /// Largest ratio of a cell's outflow to its content: the inverse of the largest step that keeps f >= 0.
    pub const OUTFLOW: usize = 11;
    /// Sum of |I| over the cells.
    pub const ACTIVITY: usize = 12;
    /// Entries.
    pub const LEN: usize = 13;
}

/// Smallest ratio of two pivots of the 5 x 5 system at which it still counts as regular.
pub const PIVOT_RATIO: f64 = 1e-10;

/// The term that the correction subtracts per unit of its weight: `delta . phi(xi)`,
/// phi = (1, c_x, c_y, c_z, (c^2 - 3) / sqrt 6), c = (xi - u) / sqrt theta.
#[derive(Clone, Copy)]
pub(super) struct Basis {
    pub(super) u: [f64; 3],
    pub(super) inverse_root_theta: f64,
}

pub(super) const INVERSE_ROOT_6: f64 = 0.408_248_290_463_863;

impl Basis {
    #[inline(always)]
    pub(super) fn phi(&self, xi: [f64; 3]) -> [f64; 5] {
        let s = self.inverse_root_theta;
        let c = [
            (xi[0] - self.u[0]) * s,
            (xi[1] - self.u[1]) * s,
            (xi[2] - self.u[2]) * s,
        ];
        [1.0, c[0], c[1], c[2], (square(c) - 3.0) * INVERSE_ROOT_6]
    }
}

#[inline(always)]
pub(super) fn square(c: [f64; 3]) -> f64 {
    c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
}

#[inline(always)]
pub(super) fn dot(a: &[f64; 5], b: &[f64; 5]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4]
}

/// Sums of [`weighted_moments`].
pub(super) const MOMENTS: usize = 18;

/// Centre of the weights.
#[inline(always)]
pub(super) fn centre(sums: [f64; 4]) -> [f64; 3] {
    let total = sums[0];
    [sums[1] / total, sums[2] / total, sums[3] / total]
}

/// Variance of the weights along an axis.
#[inline(always)]
pub(super) fn theta(total: f64, sums: &[f64; MOMENTS]) -> f64 {
    (sums[3] + sums[4] + sums[5]) / (3.0 * total)
}

/// False for no weight, and for all of it in one cell, where theta is 0 but for roundoff.
#[inline(always)]
pub(super) fn spreads(total: f64, theta: f64, shape: &GridShape) -> bool {
    total > 0.0 && theta > 1e-20 * shape.spacing * shape.spacing
}

/// The symmetric 5 x 5 system of the correction, in shared memory, where one thread solves it: a thread's own arrays
/// would go to local memory.
///
/// Words 0..25 hold the matrix row by row (lower triangle), after [`System::factor`] L below the diagonal and D on it; words 25..30
/// the right-hand side, after [`System::solve`] the solution.
#[derive(Clone, Copy)]
pub(super) struct System<'a>(pub(super) Shared<'a, f64>);

/// Words of a [`System`], and one that tells whether it is regular.
pub(super) const SYSTEM_WORDS: u32 = 31;

impl System<'_> {
    const RIGHT: u32 = 25;
    const REGULAR: u32 = 30;

    /// The system from the sum of the weights and the moments about their centre, factored and solved; the scale of phi,
    /// 1 / sqrt theta, is put in here.
    #[inline(always)]
    pub(super) fn set_up<S: Simt>(self, t: &S, total: f64, sums: &[f64; MOMENTS]) {
        let words = self.0;
        let c2 = sums[3] + sums[4] + sums[5];
        let s = 1.0 / theta(total, sums).sqrt();
        let s2 = s * s;
        let r = INVERSE_ROOT_6;
        // Lower triangle of M = sum weight phi phi^T.
        let (m10, m20, m30) = (sums[0] * s, sums[1] * s, sums[2] * s);
        words.set(t, 0, total);
        words.set(t, 5, m10);
        words.set(t, 6, sums[3] * s2);
        words.set(t, 10, m20);
        words.set(t, 11, sums[6] * s2);
        words.set(t, 12, sums[4] * s2);
        words.set(t, 15, m30);
        words.set(t, 16, sums[7] * s2);
        words.set(t, 17, sums[8] * s2);
        words.set(t, 18, sums[5] * s2);
        words.set(t, 20, (c2 * s2 - 3.0 * total) * r);
        words.set(t, 21, (sums[9] * s2 * s - 3.0 * m10) * r);
        words.set(t, 22, (sums[10] * s2 * s - 3.0 * m20) * r);
        words.set(t, 23, (sums[11] * s2 * s - 3.0 * m30) * r);
        words.set(
            t,
            24,
            (sums[12] * s2 * s2 - 6.0 * c2 * s2 + 9.0 * total) * r * r,
        );
        let b = [
            sums[13],
            sums[14] * s,
            sums[15] * s,
            sums[16] * s,
            (sums[17] * s2 - 3.0 * sums[13]) * r,
        ];
        self.set_right(t, b);
        self.factor(t);
        self.solve(t);
    }

    /// Factors L D L^T; notes whether all pivots are positive and none is negligible against another.
    #[inline(always)]
    fn factor<S: Simt>(self, t: &S) {
        let a = self.0;
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for j in 0..5 {
            let mut d = a.get(t, 6 * j);
            for k in 0..j {
                let l = a.get(t, 5 * j + k);
                d -= l * l * a.get(t, 6 * k);
            }
            a.set(t, 6 * j, d);
            least = if d < least { d } else { least };
            most = if d > most { d } else { most };
            for i in j + 1..5 {
                let mut v = a.get(t, 5 * i + j);
                for k in 0..j {
                    v -= a.get(t, 5 * i + k) * a.get(t, 5 * j + k) * a.get(t, 6 * k);
                }
                a.set(t, 5 * i + j, v / d);
            }
        }
        let regular = least > 0.0 && least >= PIVOT_RATIO * most;
        a.set(t, Self::REGULAR, if regular { 1.0 } else { 0.0 });
    }

    /// Replaces the right-hand side by the solution.
    #[inline(always)]
    pub(super) fn solve<S: Simt>(self, t: &S) {
        let a = self.0;
        for i in 0..5 {
            let mut v = a.get(t, Self::RIGHT + i);
            for k in 0..i {
                v -= a.get(t, 5 * i + k) * a.get(t, Self::RIGHT + k);
            }
            a.set(t, Self::RIGHT + i, v);
        }
        let mut i = 5;
        while i > 0 {
            i -= 1;
            let mut v = a.get(t, Self::RIGHT + i) / a.get(t, 6 * i);
            for k in i + 1..5 {
                v -= a.get(t, 5 * k + i) * a.get(t, Self::RIGHT + k);
            }
            a.set(t, Self::RIGHT + i, v);
        }
    }

    #[inline(always)]
    pub(super) fn set_right<S: Simt>(self, t: &S, b: [f64; 5]) {
        for k in 0..5 {
            self.0.set(t, Self::RIGHT + k as u32, b[k]);
        }
    }

    #[inline(always)]
    pub(super) fn solution<S: Simt>(self, t: &S) -> [f64; 5] {
        let at = |k| self.0.get(t, Self::RIGHT + k);
        [at(0), at(1), at(2), at(3), at(4)]
    }

    #[inline(always)]
    pub(super) fn is_regular<S: Simt>(self, t: &S) -> bool {
        self.0.get(t, Self::REGULAR) == 1.0
    }
}

/// The loss, cell by cell.
pub(super) struct Losses<'a, T: Real> {
    f: In<'a, f64>,
    frequency: In<'a, T>,
    unscale: f64,
    /// Where the distribution begins.
    first: usize,
}

impl<'a, T: Real> Losses<'a, T> {
    /// Those of distribution `item`.
    #[inline(always)]
    #[track_caller]
    pub(super) fn of<S: Simt>(
        t: &S,
        item: u32,
        shape: &GridShape,
        f: In<'a, f64>,
        frequency: In<'a, T>,
        scales: In<'a, f64>,
    ) -> Self {
        Self {
            f,
            frequency,
            unscale: 1.0 / scales.get(t, item as usize),
            first: item as usize * shape.cells as usize,
        }
    }

    /// Loss of a cell.
    #[inline(always)]
    #[track_caller]
    pub(super) fn at<S: Simt>(&self, t: &S, cell: u32) -> f64 {
        self.f.get(t, self.first + cell as usize) * self.nu(t, cell)
    }

    /// Collision frequency of a cell.
    #[inline(always)]
    #[track_caller]
    fn nu<S: Simt>(&self, t: &S, cell: u32) -> f64 {
        self.frequency.get(t, self.first + cell as usize).to_f64() * self.unscale
    }
}

/// Gain and loss, cell by cell.
pub(super) struct Cells<'a, T: Real> {
    gain: In<'a, T>,
    losses: Losses<'a, T>,
}

impl<'a, T: Real> Cells<'a, T> {
    /// Those of distribution `item`.
    #[inline(always)]
    #[track_caller]
    pub(super) fn of<S: Simt>(
        t: &S,
        item: u32,
        shape: &GridShape,
        f: In<'a, f64>,
        gain: In<'a, T>,
        frequency: In<'a, T>,
        scales: In<'a, f64>,
    ) -> Self {
        Self {
            gain,
            losses: Losses::of(t, item, shape, f, frequency, scales),
        }
    }
}

/// The cells that a thread sums: every `step`-th one from `from` on.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) from: u32,
    pub(super) step: u32,
}

impl Share {
    /// Of the cells of one block's own distribution.
    #[inline(always)]
    pub(super) fn of_block<S: Simt>(t: &S) -> Self {
        Self {
            from: t.thread_idx(),
            step: t.block_dim(),
        }
    }

    /// Of the cells of a distribution that `blocks` blocks share, of which this is number `block`.
    #[inline(always)]
    pub(super) fn of_blocks<S: Simt>(t: &S, block: u32, blocks: u32) -> Self {
        Self {
            from: block * t.block_dim() + t.thread_idx(),
            step: blocks * t.block_dim(),
        }
    }
}

/// The sum of the weights and that of their products with xi.
#[inline(always)]
#[track_caller]
pub(super) fn first_moments(
    shape: &GridShape,
    weight: impl Fn(u32) -> f64,
    share: Share,
) -> [f64; 4] {
    let mut sums = [0.0; 4];
    let mut cell = share.from;
    while cell < shape.cells {
        let weight = weight(cell);
        let xi = shape.velocity(cell);
        sums[0] += weight;
        sums[1] += weight * xi[0];
        sums[2] += weight * xi[1];
        sums[3] += weight * xi[2];
        cell += share.step;
    }
    sums
}

/// The sum of a weight, and its sums times products of the components of c = xi - u up to order 4, and of a difference times those up to order 2: `pair` has both of a cell.
#[inline(always)]
#[track_caller]
pub(super) fn weighted_moments(
    shape: &GridShape,
    pair: impl Fn(u32) -> (f64, f64),
    u: [f64; 3],
    share: Share,
) -> (f64, [f64; MOMENTS]) {
    let mut total = 0.0;
    let mut sums = [0.0; MOMENTS];
    let mut cell = share.from;
    while cell < shape.cells {
        let (weight, difference) = pair(cell);
        let xi = shape.velocity(cell);
        let c = [xi[0] - u[0], xi[1] - u[1], xi[2] - u[2]];
        let c2 = square(c);
        total += weight;
        sums[0] += weight * c[0];
        sums[1] += weight * c[1];
        sums[2] += weight * c[2];
        sums[3] += weight * c[0] * c[0];
        sums[4] += weight * c[1] * c[1];
        sums[5] += weight * c[2] * c[2];
        sums[6] += weight * c[0] * c[1];
        sums[7] += weight * c[0] * c[2];
        sums[8] += weight * c[1] * c[2];
        sums[9] += weight * c2 * c[0];
        sums[10] += weight * c2 * c[1];
        sums[11] += weight * c2 * c[2];
        sums[12] += weight * c2 * c2;
        sums[13] += difference;
        sums[14] += difference * c[0];
        sums[15] += difference * c[1];
        sums[16] += difference * c[2];
        sums[17] += difference * c2;
        cell += share.step;
    }
    (total, sums)
}

impl<T: Real> Cells<'_, T> {
    /// Moments of the weights about u up to order 4, and of gain - loss up to order 2.
    #[inline(always)]
    #[track_caller]
    pub(super) fn moments<S: Simt>(
        &self,
        t: &S,
        shape: &GridShape,
        gain_share: f64,
        u: [f64; 3],
        share: Share,
    ) -> [f64; MOMENTS] {
        self.moments_and_weight(t, shape, gain_share, u, share).1
    }

    /// The sum of the weights, and the moments about u.
    #[inline(always)]
    #[track_caller]
    pub(super) fn moments_and_weight<S: Simt>(
        &self,
        t: &S,
        shape: &GridShape,
        gain_share: f64,
        u: [f64; 3],
        share: Share,
    ) -> (f64, [f64; MOMENTS]) {
        let pair = |cell: u32| {
            let (gain, loss) = self.at(t, cell);
            (loss + gain_share * gain, gain - loss)
        };
        weighted_moments(shape, pair, u, share)
    }

    /// The moments that the integral corrected with `delta` still fails to conserve.
    #[inline(always)]
    #[track_caller]
    pub(super) fn residuals<S: Simt>(
        &self,
        t: &S,
        shape: &GridShape,
        gain_share: f64,
        (basis, delta): (Basis, [f64; 5]),
        share: Share,
    ) -> [f64; 5] {
        let mut left = [0.0; 5];
        let mut cell = share.from;
        while cell < shape.cells {
            let (gain, loss) = self.at(t, cell);
            let phi = basis.phi(shape.velocity(cell));
            let value = gain - loss - (loss + gain_share * gain) * dot(&delta, &phi);
            for k in 0..5 {
                left[k] += value * phi[k];
            }
            cell += share.step;
        }
        left
    }

    /// Writes `factor` times the corrected integral; returns the sums of its products with phi, of weight |phi| and of its
    /// magnitude, and the largest outflow.
    #[inline(always)]
    #[track_caller]
    pub(super) fn apply<S: Simt>(
        &self,
        t: &S,
        shape: &GridShape,
        gain_share: f64,
        (basis, delta): (Basis, [f64; 5]),
        (rate, factor): (Out<'_, f64>, f64),
        share: Share,
    ) -> ([f64; 11], f64) {
        let mut sums = [0.0; 11];
        let mut outflow = 0.0_f64;
        let mut cell = share.from;
        while cell < shape.cells {
            let (gain, loss) = self.at(t, cell);
            let phi = basis.phi(shape.velocity(cell));
            let d = dot(&delta, &phi);
            let weight = loss + gain_share * gain;
            let value = gain - loss - weight * d;
            rate.set(t, self.losses.first + cell as usize, factor * value);
            for k in 0..5 {
                sums[k] += value * phi[k];
                sums[5 + k] += weight * phi[k].abs();
            }
            sums[10] += value.abs();
            // Loss of the cell per unit of time and of its content.
            let lost_gain = if gain_share > 0.0 && d > 1.0 {
                gain * (d - 1.0)
            } else {
                0.0
            };
            let content = self.losses.f.get(t, self.losses.first + cell as usize);
            let own = self.losses.nu(t, cell) * (1.0 + d);
            let ratio = own
                + if lost_gain > 0.0 {
                    lost_gain / content
                } else {
                    0.0
                };
            outflow = if ratio > outflow { ratio } else { outflow };
            cell += share.step;
        }
        (sums, outflow)
    }

    /// Gain and loss of a cell.
    #[inline(always)]
    #[track_caller]
    fn at<S: Simt>(&self, t: &S, cell: u32) -> (f64, f64) {
        let Losses { unscale, first, .. } = self.losses;
        let gain = self.gain.get(t, first + cell as usize).to_f64() * unscale * unscale;
        (gain, self.losses.at(t, cell))
    }

    /// The weight of a cell: loss + `gain_share` gain.
    #[inline(always)]
    #[track_caller]
    pub(super) fn weight<S: Simt>(&self, t: &S, gain_share: f64, cell: u32) -> f64 {
        let (gain, loss) = self.at(t, cell);
        loss + gain_share * gain
    }
}

/// Words that a block leaves for [`sum_moments()`](super::sum_moments()).
pub const WEIGHT_WORDS: u32 = 4;
/// Words that a block leaves for [`sum_residuals()`](super::sum_residuals()).
pub const MOMENT_WORDS: u32 = MOMENTS as u32;
/// Words that a block leaves for [`apply_correction()`](super::apply_correction()).
pub const RESIDUAL_WORDS: u32 = 5;
/// Words that a block leaves for [`conserve()`].
pub const END_WORDS: u32 = 12;

/// Words that [`sum_residuals()`](super::sum_residuals()) leaves of each distribution: whether the system is regular, u, 1 / sqrt theta, delta before its
/// refinement, the factored system.
pub const STATE_WORDS: u32 = 10 + SYSTEM_WORDS;
pub(super) const STATE_SYSTEM: u32 = 10;

/// Combines the words that the blocks of a distribution left, each word with 0 to begin with; all threads get the results, which also stay in the first `K`
/// words of `scratch`.
///
/// A warp takes a word, and a lane every 32nd block, as the blocks' words are all that a launch waits for at its start; the order is fixed, so the bits are too.
#[inline(always)]
#[track_caller]
pub(super) fn combine_parts<const K: usize, S: Simt>(
    t: &S,
    parts: In<'_, f64>,
    (item, blocks, words): (u32, u32, u32),
    scratch: Shared<'_, f64>,
    combine: impl Fn(u32, f64, f64) -> f64,
) -> [f64; K] {
    let mut k = t.warp();
    while k < K as u32 {
        let mut value = 0.0;
        let mut block = t.lane();
        while block < blocks {
            let part = parts.get(t, ((item * blocks + block) * words + k) as usize);
            value = combine(k, value, part);
            block += WARP;
        }
        value = combine(k, value, t.shuffle_xor(value, 16));
        value = combine(k, value, t.shuffle_xor(value, 8));
        value = combine(k, value, t.shuffle_xor(value, 4));
        value = combine(k, value, t.shuffle_xor(value, 2));
        value = combine(k, value, t.shuffle_xor(value, 1));
        if t.lane() == 0 {
            scratch.set(t, k, value);
        }
        k += t.warps();
    }
    t.sync_threads();
    let mut values = [0.0; K];
    for k in 0..K {
        values[k] = scratch.get(t, k as u32);
    }
    values
}

/// Adds up the words that the blocks of a distribution left; see [`combine_parts`].
#[inline(always)]
#[track_caller]
pub(super) fn sum_parts<const K: usize, S: Simt>(
    t: &S,
    parts: In<'_, f64>,
    of: (u32, u32, u32),
    scratch: Shared<'_, f64>,
) -> [f64; K] {
    combine_parts(t, parts, of, scratch, |_, a, b| a + b)
}

/// Adds up what the blocks of a distribution left at the end; the sums stay in the first words of `scratch`. Returns the last word, the largest outflow.
#[inline(always)]
#[track_caller]
pub(super) fn sum_ends<S: Simt>(
    t: &S,
    ends: In<'_, f64>,
    (item, blocks): (u32, u32),
    scratch: Shared<'_, f64>,
) -> f64 {
    let of = (item, blocks, END_WORDS);
    let [.., outflow]: [f64; END_WORDS as usize] =
        combine_parts(t, ends, of, scratch, |k, a, b| {
            if k + 1 < END_WORDS { a + b } else { a.max(b) }
        });
    outflow
}

/// Writes the coefficients and the sums over the grid of one distribution; the sums are in the first words of `scratch`.
#[inline(always)]
#[track_caller]
pub(super) fn summarise<S: Simt>(
    t: &S,
    summary: Out<'_, f64>,
    (item, status, factor): (usize, f64, f64),
    delta: &[f64; 5],
    outflow: f64,
    scratch: Shared<'_, f64>,
) {
    let line = item * summary::LEN;
    if t.thread_idx() == 0 {
        summary.set(t, line + summary::STATUS, status);
        summary.set(t, line + summary::DELTA, delta[0]);
        summary.set(t, line + summary::DELTA + 1, delta[1]);
        summary.set(t, line + summary::DELTA + 2, delta[2]);
        summary.set(t, line + summary::DELTA + 3, delta[3]);
        summary.set(t, line + summary::DELTA + 4, delta[4]);
        summary.set(t, line + summary::OUTFLOW, outflow * factor);
        summary.set(t, line + summary::ACTIVITY, scratch.get(t, 10) * factor);
    }
    // Thread k writes what belongs to invariant k.
    let k = t.thread_idx();
    if k < 5 {
        let size = scratch.get(t, 5 + k);
        let residual = scratch.get(t, k).abs() / if size > 0.0 { size } else { 1.0 };
        summary.set(t, line + summary::RESIDUALS + k as usize, residual);
    }
}

kernel! {
    /// The collision integral from its parts, I = gain - f nu - weight (delta . phi), with the five coefficients delta that
    /// make the sums of I over the collision invariants vanish (eqs. 11-13; delta is the paper's a less its unit part, in a
    /// centred basis that keeps the system well conditioned).
    ///
    /// One block of [`REDUCE_THREADS`](super::REDUCE_THREADS) a distribution; thread k owns the cells k, k + block_dim, ... Everything here is f64, whatever the
    /// precision of gain and frequency, which belong to the distribution multiplied by `scales[b]`, a power of two. The weight is the loss, as in the paper; where that system is singular, loss plus gain; where that
    /// is singular too, nothing is corrected. One step of refinement follows the solution.
    ///
    /// Where `blocks` blocks have done the first of this already (0: none have), with the results in `state`, `deltas` and `ends`, only
    /// the summary is left to write.
    ///
    /// `rate` is `factor` times the lattice operator; `summary` as in [`summary`]. `corrected` is 0 to skip the correction.
    pub fn conserve<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, state: In<f64>, deltas: In<f64>, ends: In<f64>,
        rate: Out<f64>, summary: Out<f64>; shape: GridShape, factor: f64, corrected: u32, blocks: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(MOMENT_WORDS)], words: [f64; SYSTEM_WORDS] } {
        let item = t.block_idx() as usize;
        if blocks > 0 && state.get(t, item * STATE_WORDS as usize) == 1.0 {
            let outflow = sum_ends(t, ends, (t.block_idx(), blocks), scratch);
            let at = |k: usize| deltas.get(t, 5 * item + k);
            let delta = [at(0), at(1), at(2), at(3), at(4)];
            let status = if corrected == 0 { 3.0 } else { 0.0 };
            summarise(t, summary, (item, status, factor), &delta, outflow, scratch);
        } else {
            let cells = Cells::of(t, t.block_idx(), &shape, f, gain, frequency, scales);
            let share = Share::of_block(t);
            let system = System(words);
            let mut basis = Basis { u: [0.0; 3], inverse_root_theta: 1.0 };
            let mut delta = [0.0; 5];
            let mut status = if corrected == 0 { 3.0 } else { 2.0 };
            // Share of the gain in the weights: of the basis that is in use, and of the one that is being tried.
            let mut gain_share = 0.0;
            let mut tried = 0.0;
            let mut has_basis = false;

            while status >= 2.0 && tried < 2.0 {
                let weights = block_sum(t, first_moments(&shape, |cell| cells.weight(t, tried, cell), share), scratch);
                let u = centre(weights);
                let moments = block_sum(t, cells.moments(t, &shape, tried, u, share), scratch);
                let theta = theta(weights[0], &moments);
                let spreads = spreads(weights[0], theta, &shape);
                if spreads && !has_basis {
                    basis = Basis { u, inverse_root_theta: 1.0 / theta.sqrt() };
                    gain_share = tried;
                    has_basis = true;
                }
                if t.thread_idx() == 0 {
                    system.set_up(t, weights[0], &moments);
                }
                t.sync_threads();

                if status == 2.0 && spreads && system.is_regular(t) {
                    status = tried;
                    gain_share = tried;
                    basis = Basis { u, inverse_root_theta: 1.0 / theta.sqrt() };
                    delta = system.solution(t);
                    let left = cells.residuals(t, &shape, gain_share, (basis, delta), share);
                    let left = block_sum(t, left, scratch);
                    if t.thread_idx() == 0 {
                        system.set_right(t, left);
                        system.solve(t);
                    }
                    t.sync_threads();
                    let more = system.solution(t);
                    for k in 0..5 {
                        delta[k] += more[k];
                    }
                }
                // Without a correction, only the basis of the residuals is wanted.
                tried = if status == 3.0 && has_basis { 2.0 } else { tried + 1.0 };
            }

            let (sums, outflow) = cells.apply(t, &shape, gain_share, (basis, delta), (rate, factor), share);
            let [outflow] = block_combine(t, [outflow], scratch, |a, b| if a > b { a } else { b });
            block_sum(t, sums, scratch);
            summarise(t, summary, (item, status, factor), &delta, outflow, scratch);
        }
    }
}
