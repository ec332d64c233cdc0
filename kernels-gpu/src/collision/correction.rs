//! The conservative correction (eqs. 11-13), on the device from the sums to the corrected integral.

use super::GridShape;
use super::reduce::{block_combine, block_sum, scratch_words};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Shared};
use crate::simt::Simt;

/// Index of the entries of the summary that [`conserve()`] writes.
pub mod summary {
    /// 0: the loss was corrected; 1: loss and gain were; 2: no correction exists; 3: none was asked for.
    pub const STATUS: usize = 0;
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

/// What the correction subtracts per unit of its weight: `delta . phi(xi)`,
/// phi = (1, c_x, c_y, c_z, (c^2 - 3) / sqrt 6), c = (xi - u) / sqrt theta.
#[derive(Clone, Copy)]
struct Basis {
    u: [f64; 3],
    inverse_root_theta: f64,
}

const INVERSE_ROOT_6: f64 = 0.408_248_290_463_863;

impl Basis {
    #[inline(always)]
    fn phi(&self, xi: [f64; 3]) -> [f64; 5] {
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
fn square(c: [f64; 3]) -> f64 {
    c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
}

#[inline(always)]
fn dot(a: &[f64; 5], b: &[f64; 5]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4]
}

/// The symmetric 5 x 5 system of the correction, in shared memory, where one thread solves it: a thread's own arrays
/// would go to local memory.
///
/// Words 0..25 hold the matrix row by row (lower triangle), after [`System::factor`] L below the diagonal and D on it; words 25..30
/// the right-hand side, after [`System::solve`] the solution.
#[derive(Clone, Copy)]
struct System<'a>(Shared<'a, f64>);

/// Words of a [`System`], and one that tells whether it is regular.
const SYSTEM_WORDS: u32 = 31;

impl System<'_> {
    const RIGHT: u32 = 25;
    const REGULAR: u32 = 30;

    /// Factors L D L^T; notes whether all pivots are positive and none is negligible against another.
    #[inline(always)]
    fn factor<S: Simt>(self, t: &S) {
        let a = self.0;
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        let mut j = 0;
        while j < 5 {
            let mut d = a.get(t, 6 * j);
            let mut k = 0;
            while k < j {
                let l = a.get(t, 5 * j + k);
                d -= l * l * a.get(t, 6 * k);
                k += 1;
            }
            a.set(t, 6 * j, d);
            least = if d < least { d } else { least };
            most = if d > most { d } else { most };
            let mut i = j + 1;
            while i < 5 {
                let mut v = a.get(t, 5 * i + j);
                let mut k = 0;
                while k < j {
                    v -= a.get(t, 5 * i + k) * a.get(t, 5 * j + k) * a.get(t, 6 * k);
                    k += 1;
                }
                a.set(t, 5 * i + j, v / d);
                i += 1;
            }
            j += 1;
        }
        let regular = least > 0.0 && least >= PIVOT_RATIO * most;
        a.set(t, Self::REGULAR, if regular { 1.0 } else { 0.0 });
    }

    /// Replaces the right-hand side by the solution.
    #[inline(always)]
    fn solve<S: Simt>(self, t: &S) {
        let a = self.0;
        let mut i = 0;
        while i < 5 {
            let mut v = a.get(t, Self::RIGHT + i);
            let mut k = 0;
            while k < i {
                v -= a.get(t, 5 * i + k) * a.get(t, Self::RIGHT + k);
                k += 1;
            }
            a.set(t, Self::RIGHT + i, v);
            i += 1;
        }
        let mut i = 5;
        while i > 0 {
            i -= 1;
            let mut v = a.get(t, Self::RIGHT + i) / a.get(t, 6 * i);
            let mut k = i + 1;
            while k < 5 {
                v -= a.get(t, 5 * k + i) * a.get(t, Self::RIGHT + k);
                k += 1;
            }
            a.set(t, Self::RIGHT + i, v);
        }
    }

    #[inline(always)]
    fn set_right<S: Simt>(self, t: &S, b: [f64; 5]) {
        let mut k = 0;
        while k < 5 {
            self.0.set(t, Self::RIGHT + k as u32, b[k]);
            k += 1;
        }
    }

    #[inline(always)]
    fn solution<S: Simt>(self, t: &S) -> [f64; 5] {
        let at = |k| self.0.get(t, Self::RIGHT + k);
        [at(0), at(1), at(2), at(3), at(4)]
    }

    #[inline(always)]
    fn is_regular<S: Simt>(self, t: &S) -> bool {
        self.0.get(t, Self::REGULAR) == 1.0
    }
}

/// Gain and loss, cell by cell.
struct Cells<'a, T: Real> {
    f: In<'a, f64>,
    gain: In<'a, T>,
    frequency: In<'a, T>,
    unscale: f64,
    /// Where the distribution begins.
    first: usize,
}

impl<T: Real> Cells<'_, T> {
    /// Gain and loss of a cell.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn at<S: Simt>(&self, t: &S, cell: u32) -> (f64, f64) {
        let at = self.first + cell as usize;
        let gain = self.gain.get(t, at).to_f64() * self.unscale * self.unscale;
        (gain, self.f.get(t, at) * self.nu(t, cell))
    }

    /// Collision frequency of a cell.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn nu<S: Simt>(&self, t: &S, cell: u32) -> f64 {
        self.frequency.get(t, self.first + cell as usize).to_f64() * self.unscale
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
    /// `rate` is `factor` times the lattice operator; `summary` as in [`summary`]. `corrected` is 0 to skip the correction.
    pub fn conserve<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, rate: Out<f64>, summary: Out<f64>;
        shape: GridShape, factor: f64, corrected: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(18)], words: [f64; SYSTEM_WORDS] } {
        let system = System(words);
        let item = t.block_idx() as usize;
        let first = item * shape.cells as usize;
        let cells = Cells { f, gain, frequency, unscale: 1.0 / scales.get(t, item), first };
        let mut basis = Basis { u: [0.0; 3], inverse_root_theta: 1.0 };
        let mut delta = [0.0; 5];
        let mut status = if corrected == 0 { 3.0 } else { 2.0 };
        // Share of the gain in the weights: of the basis that is in use, and of the one that is being tried.
        let mut gain_share = 0.0;
        let mut tried = 0.0;
        let mut has_basis = false;

        while status >= 2.0 && tried < 2.0 {
            // Centre of the weights, about the middle of the box to lose no digits to the offset.
            let mut sums = [0.0; 4];
            let mut cell = t.thread_idx();
            while cell < shape.cells {
                let (gain, loss) = cells.at(t, cell);
                let weight = loss + tried * gain;
                let xi = shape.velocity(cell);
                sums[0] += weight;
                sums[1] += weight * xi[0];
                sums[2] += weight * xi[1];
                sums[3] += weight * xi[2];
                cell += t.block_dim();
            }
            let sums = block_sum(t, sums, scratch);
            let total = sums[0];
            let u = [sums[1] / total, sums[2] / total, sums[3] / total];

            // Centred moments of the weights up to order 4, and of gain - loss up to order 2.
            let mut sums = [0.0; 18];
            let mut cell = t.thread_idx();
            while cell < shape.cells {
                let (gain, loss) = cells.at(t, cell);
                let weight = loss + tried * gain;
                let xi = shape.velocity(cell);
                let c = [xi[0] - u[0], xi[1] - u[1], xi[2] - u[2]];
                let c2 = square(c);
                let difference = gain - loss;
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
                cell += t.block_dim();
            }
            let sums = block_sum(t, sums, scratch);
            let c2 = sums[3] + sums[4] + sums[5];
            let theta = c2 / (3.0 * total);
            // False for no weight, and for all of it in one cell, where theta is 0 but for roundoff.
            let spreads = total > 0.0 && theta > 1e-20 * shape.spacing * shape.spacing;
            if spreads && !has_basis {
                basis = Basis { u, inverse_root_theta: 1.0 / theta.sqrt() };
                gain_share = tried;
                has_basis = true;
            }

            if t.thread_idx() == 0 {
                let s = 1.0 / theta.sqrt();
                let s2 = s * s;
                let r = INVERSE_ROOT_6;
                // Lower triangle of M = sum weight phi phi^T; the scale of phi is put in here.
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
                words.set(t, 24, (sums[12] * s2 * s2 - 6.0 * c2 * s2 + 9.0 * total) * r * r);
                let b = [sums[13], sums[14] * s, sums[15] * s, sums[16] * s, (sums[17] * s2 - 3.0 * sums[13]) * r];
                system.set_right(t, b);
                system.factor(t);
                system.solve(t);
            }
            t.sync_threads();

            if status == 2.0 && spreads && system.is_regular(t) {
                status = tried;
                gain_share = tried;
                basis = Basis { u, inverse_root_theta: 1.0 / theta.sqrt() };
                delta = system.solution(t);
                // Refinement: what the corrected integral still fails to conserve.
                let mut left = [0.0; 5];
                let mut cell = t.thread_idx();
                while cell < shape.cells {
                    let (gain, loss) = cells.at(t, cell);
                    let phi = basis.phi(shape.velocity(cell));
                    let value = gain - loss - (loss + gain_share * gain) * dot(&delta, &phi);
                    let mut k = 0;
                    while k < 5 {
                        left[k] += value * phi[k];
                        k += 1;
                    }
                    cell += t.block_dim();
                }
                let left = block_sum(t, left, scratch);
                if t.thread_idx() == 0 {
                    system.set_right(t, left);
                    system.solve(t);
                }
                t.sync_threads();
                let more = system.solution(t);
                let mut k = 0;
                while k < 5 {
                    delta[k] += more[k];
                    k += 1;
                }
            }
            // Without a correction, only the basis of the residuals is wanted.
            tried = if status == 3.0 && has_basis { 2.0 } else { tried + 1.0 };
        }

        let mut sums = [0.0; 11];
        let mut outflow = 0.0_f64;
        let mut cell = t.thread_idx();
        while cell < shape.cells {
            let (gain, loss) = cells.at(t, cell);
            let phi = basis.phi(shape.velocity(cell));
            let d = dot(&delta, &phi);
            let weight = loss + gain_share * gain;
            let value = gain - loss - weight * d;
            rate.set(t, first + cell as usize, factor * value);
            let mut k = 0;
            while k < 5 {
                sums[k] += value * phi[k];
                sums[5 + k] += weight * phi[k].abs();
                k += 1;
            }
            sums[10] += value.abs();
            // What leaves the cell per unit of time and of its content.
            let lost_gain = if gain_share > 0.0 && d > 1.0 { gain * (d - 1.0) } else { 0.0 };
            let content = f.get(t, first + cell as usize);
            let own = cells.nu(t, cell) * (1.0 + d);
            let ratio = own + if lost_gain > 0.0 { lost_gain / content } else { 0.0 };
            outflow = if ratio > outflow { ratio } else { outflow };
            cell += t.block_dim();
        }
        let [outflow] = block_combine(t, [outflow], scratch, |a, b| if a > b { a } else { b });
        let sums = block_sum(t, sums, scratch);
        // The sums are still in the scratch words: thread k writes what belongs to invariant k.
        let line = item * summary::LEN;
        if t.thread_idx() == 0 {
            summary.set(t, line + summary::STATUS, status);
            summary.set(t, line + summary::DELTA, delta[0]);
            summary.set(t, line + summary::DELTA + 1, delta[1]);
            summary.set(t, line + summary::DELTA + 2, delta[2]);
            summary.set(t, line + summary::DELTA + 3, delta[3]);
            summary.set(t, line + summary::DELTA + 4, delta[4]);
            summary.set(t, line + summary::OUTFLOW, outflow * factor);
            summary.set(t, line + summary::ACTIVITY, sums[10] * factor);
        }
        if t.thread_idx() < 5 {
            let k = t.thread_idx();
            let size = scratch.get(t, 5 + k);
            let residual = scratch.get(t, k).abs() / if size > 0.0 { size } else { 1.0 };
            summary.set(t, line + summary::RESIDUALS + k as usize, residual);
        }
    }
}
