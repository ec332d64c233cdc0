//! The balanced correction: `B = Q(f, f) - Q(M, M) - M (c . phi)`, with the discrete Maxwellian M that has the moments of f.
//!
//! The difference is one bilinear sum: `f_k f_l - M_k M_l = g_k m_l + m_k g_l` with the deviation `g = f - M` and the mean `m = (f + M) / 2`. Near
//! equilibrium g is small and keeps its relative accuracy. [`sum_state()`] sums the moments of f and [`deviate()`] finds M, g and m. After the sums of
//! g with m, [`sum_imbalance()`], [`balance()`] and [`summarise_balance()`] restore conservation. Several blocks share a distribution in all but the last one, as in
//! [`sum_weights()`](super::sum_weights()).

use super::correction::{
    Basis, END_WORDS, MOMENTS, SYSTEM_WORDS, Share, System, dot, square, sum_ends, sum_parts,
    summarise, theta,
};
use super::correction_steps::{leave, leave_at};
use super::reduce::{block_combine, scratch_words};
use super::{GridShape, summary};
use crate::bgk::exponential::exponential;
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Shared};
use crate::simt::{Simt, WARP};

/// Words that a block leaves for [`deviate()`] and for [`balance()`].
pub const BALANCE_WORDS: u32 = 5;
/// Words that [`deviate()`] leaves of each Maxwellian: whether it exists, density, u, A, b, c, and its moments about u.
pub const MAXWELLIAN_WORDS: u32 = 10 + MOMENTS_OF_M;
/// Moments of a Maxwellian, in the order of the first sums of the correction.
const MOMENTS_OF_M: u32 = 13;

/// Sums of `w^k exp(b w - c w^2)`, k < 5, along three axes, twice: a warp may be a step ahead of another one.
pub(super) const AXES_WORDS: u32 = 30;
/// Newton steps after which a Maxwellian counts as not there, and the residual from which on one more step ends in roundoff.
const MOST_STEPS: u32 = 60;
const NEAR: f64 = 1e-8;

/// `M = A exp(b . w - c |w|^2)`, w = xi - u.
#[derive(Clone, Copy)]
pub(super) struct Maxwellian {
    u: [f64; 3],
    amplitude: f64,
    slope: [f64; 3],
    inverse_temperature: f64,
}

impl Maxwellian {
    /// None at all.
    const NONE: Self = Self {
        u: [0.0; 3],
        amplitude: 0.0,
        slope: [0.0; 3],
        inverse_temperature: 0.0,
    };

    #[inline(always)]
    pub(super) fn at(&self, xi: [f64; 3]) -> f64 {
        let w = [xi[0] - self.u[0], xi[1] - self.u[1], xi[2] - self.u[2]];
        let flow = self.slope[0] * w[0] + self.slope[1] * w[1] + self.slope[2] * w[2];
        self.amplitude * exponential(flow - self.inverse_temperature * square(w))
    }
}

/// Means of `w^k`, 0 < k < 5, along the axes, and the product of the axes' sums.
struct Means {
    of: [[f64; 4]; 3],
    product: f64,
}

impl Means {
    /// Those of these parameters; the words of `axes` from `first` on are this call's own until the next barrier but one.
    #[inline(always)]
    #[track_caller]
    fn of<S: Simt>(
        t: &S,
        shape: &GridShape,
        m: &Maxwellian,
        axes: Shared<'_, f64>,
        first: u32,
    ) -> Self {
        let axis = t.warp();
        if axis < 3 {
            let (u, slope) = if axis == 0 {
                (m.u[0], m.slope[0])
            } else if axis == 1 {
                (m.u[1], m.slope[1])
            } else {
                (m.u[2], m.slope[2])
            };
            let mut sums = [0.0; 5];
            let mut j = t.lane();
            while j < shape.n {
                let w = shape.centre(j) - u;
                let mut term = exponential(w * (slope - m.inverse_temperature * w));
                for k in 0..5 {
                    sums[k] += term;
                    term *= w;
                }
                j += WARP;
            }
            for k in 0..5 {
                let mut sum = sums[k];
                sum += t.shuffle_xor(sum, 16);
                sum += t.shuffle_xor(sum, 8);
                sum += t.shuffle_xor(sum, 4);
                sum += t.shuffle_xor(sum, 2);
                sum += t.shuffle_xor(sum, 1);
                if t.lane() == 0 {
                    axes.set(t, first + 5 * axis + k as u32, sum);
                }
            }
        }
        t.sync_threads();
        let mut means = Self {
            of: [[0.0; 4]; 3],
            product: 1.0,
        };
        for a in 0..3 {
            let at = |k: u32| axes.get(t, first + 5 * a as u32 + k);
            let sum = at(0);
            let inverse = 1.0 / sum;
            means.product *= sum;
            means.of[a] = [
                at(1) * inverse,
                at(2) * inverse,
                at(3) * inverse,
                at(4) * inverse,
            ];
        }
        means
    }

    /// Moments of the Maxwellian of this density about u, in the order of the correction's sums.
    #[inline(always)]
    fn moments(&self, density: f64) -> [f64; MOMENTS] {
        let [x, y, z] = self.of;
        let [xx, yy, zz] = [x[1], y[1], z[1]];
        let mut sums = [0.0; MOMENTS];
        sums[0] = density * x[0];
        sums[1] = density * y[0];
        sums[2] = density * z[0];
        sums[3] = density * xx;
        sums[4] = density * yy;
        sums[5] = density * zz;
        sums[6] = density * x[0] * y[0];
        sums[7] = density * x[0] * z[0];
        sums[8] = density * y[0] * z[0];
        sums[9] = density * (x[2] + x[0] * (yy + zz));
        sums[10] = density * (y[2] + y[0] * (xx + zz));
        sums[11] = density * (z[2] + z[0] * (xx + yy));
        sums[12] = density * (x[3] + y[3] + z[3] + 2.0 * (xx * yy + (xx + yy) * zz));
        sums
    }
}

/// The Maxwellian with density, momentum and energy of `sums`, and its moments; by Newton's method from the continuum's values. All threads of a block do
/// the same; a warp sums along each axis.
#[inline(always)]
#[track_caller]
pub(super) fn solve<S: Simt>(
    t: &S,
    shape: &GridShape,
    sums: [f64; 5],
    axes: Shared<'_, f64>,
) -> (bool, Maxwellian, [f64; MOMENTS]) {
    let density = sums[0];
    let inverse = 1.0 / density;
    let middle = shape.middle();
    // Sums are about the middle of the box.
    let v = [sums[1] * inverse, sums[2] * inverse, sums[3] * inverse];
    let energy = sums[4] * inverse - square(v);
    let mut m = Maxwellian {
        u: [middle + v[0], middle + v[1], middle + v[2]],
        amplitude: 0.0,
        slope: [0.0; 3],
        inverse_temperature: 1.5 / energy,
    };
    let mut moments = [0.0; MOMENTS];
    let mut found = false;
    let mut near = false;
    let mut open = density > 0.0 && energy > 0.0;
    let mut step = 0;
    while open {
        let means = Means::of(t, shape, &m, axes, step % 2 * (AXES_WORDS / 2));
        if near {
            moments = means.moments(density);
            m.amplitude = density / means.product;
            found = true;
            open = false;
        } else {
            let c = m.inverse_temperature;
            let mut excess = -energy;
            let mut spread = 0.0;
            let mut drift = 0.0;
            let mut along = [0.0; 3];
            let mut back = [0.0; 3];
            for a in 0..3 {
                let [m1, m2, m3, m4] = means.of[a];
                let (covariance, per_variance) = (m3 - m1 * m2, 1.0 / (m2 - m1 * m1));
                along[a] = covariance * per_variance;
                back[a] = m1 * per_variance;
                drift += m1.abs();
                excess += m2;
                spread += m4 - m2 * m2 - along[a] * covariance;
            }
            let size = drift * Real::sqrt(3.0 / energy) + excess.abs() * (3.0 / energy);
            let mut right = excess;
            for a in 0..3 {
                right -= along[a] * means.of[a][0];
            }
            let change = (right / spread).max(-0.5 * c).min(c);
            m.inverse_temperature = c + change;
            for a in 0..3 {
                m.slope[a] += along[a] * change - back[a];
            }
            near = size < NEAR;
            step += 1;
            // False for a residual that is not a number.
            open = near || (size < f64::INFINITY && step < MOST_STEPS);
        }
    }
    if !(found && m.amplitude > 0.0 && m.amplitude < f64::INFINITY) {
        m = Maxwellian::NONE;
        found = false;
    }
    (found, m, moments)
}

/// The parts of the balanced integral, cell by cell.
struct Parts<'a, T: Real> {
    f: In<'a, f64>,
    gain: In<'a, T>,
    frequency: In<'a, T>,
    unscale: f64,
    /// Where the distribution begins, and how far from each other the frequencies of g and m are.
    first: usize,
    distance: usize,
    maxwellian: Maxwellian,
}

/// Those of one cell.
struct Part {
    /// `Q(f, f) - Q(M, M)`.
    difference: f64,
    /// f, nu and M.
    content: f64,
    frequency: f64,
    weight: f64,
}

impl<T: Real> Parts<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn at<S: Simt>(&self, t: &S, shape: &GridShape, cell: u32) -> Part {
        let at = self.first + cell as usize;
        let content = self.f.get(t, at);
        let weight = self.maxwellian.at(shape.velocity(cell));
        let gain = self.gain.get(t, at).to_f64() * self.unscale * self.unscale;
        let of_g = self.frequency.get(t, at).to_f64() * self.unscale;
        let of_m = self.frequency.get(t, self.distance + at).to_f64() * self.unscale;
        let loss = (content - weight) * of_m + 0.5 * (content + weight) * of_g;
        Part {
            difference: gain - loss,
            content,
            frequency: of_m + 0.5 * of_g,
            weight,
        }
    }
}

kernel! {
    /// First step of the balanced correction: sums of f, of f v and of f |v|^2, v being the velocity from the middle of the box.
    ///
    /// Block `item blocks + b`, as in [`sum_weights()`](super::sum_weights()). 8 bytes read a cell. The words of a block are its own.
    pub fn sum_state(t, f: In<f64>, parts: Out<f64>; shape: GridShape, blocks: u32)
    shared { scratch: [f64; scratch_words(BALANCE_WORDS)] } {
        let item = quotient(t.block_idx(), blocks);
        let share = Share::of_blocks(t, t.block_idx() - item * blocks, blocks);
        let first = item as usize * shape.cells as usize;
        let middle = shape.middle();
        let mut sums = [0.0; 5];
        let mut cell = share.from;
        while cell < shape.cells {
            let value = f.get(t, first + cell as usize);
            let xi = shape.velocity(cell);
            let v = [xi[0] - middle, xi[1] - middle, xi[2] - middle];
            sums[0] += value;
            sums[1] += value * v[0];
            sums[2] += value * v[1];
            sums[3] += value * v[2];
            sums[4] += value * square(v);
            cell += share.step;
        }
        leave(t, sums, parts, BALANCE_WORDS, scratch);
    }
}

kernel! {
    /// Second step: finds the Maxwellian of each distribution, and writes g = f - M and behind those of all distributions m = (f + M) / 2, times the scale and in the
    /// precision of the sums. Where no Maxwellian has the moments of f, M is zero; g and m then yield the uncorrected integral.
    ///
    /// Block `item sharing + b`; `blocks` have left the sums. Each finds the Maxwellian for itself, with a warp for each axis, some five passes over the axes; the first one leaves it in
    /// `maxwellians`. 8 bytes read and 2 sizeof(T) written a cell, and an exponential.
    pub fn deviate<T: Real>(
        t, f: In<f64>, scales: In<f64>, parts: In<f64>, maxwellians: Out<f64>, work: Out<T>;
        shape: GridShape, items: u32, blocks: u32, sharing: u32,
    ) for f32, f64
    shared { scratch: [f64; BALANCE_WORDS], axes: [f64; AXES_WORDS] } {
        let item = quotient(t.block_idx(), sharing);
        let block = t.block_idx() - item * sharing;
        let sums: [f64; BALANCE_WORDS as usize] = sum_parts(t, parts, (item, blocks, BALANCE_WORDS), scratch);
        let (found, maxwellian, moments) = solve(t, &shape, sums, axes);
        if block == 0 && t.thread_idx() == 0 {
            let line = (item * MAXWELLIAN_WORDS) as usize;
            maxwellians.set(t, line, if found { 1.0 } else { 0.0 });
            maxwellians.set(t, line + 1, sums[0]);
            for k in 0..3 {
                maxwellians.set(t, line + 2 + k, maxwellian.u[k]);
                maxwellians.set(t, line + 6 + k, maxwellian.slope[k]);
            }
            maxwellians.set(t, line + 5, maxwellian.amplitude);
            maxwellians.set(t, line + 9, maxwellian.inverse_temperature);
            for k in 0..MOMENTS_OF_M as usize {
                maxwellians.set(t, line + 10 + k, moments[k]);
            }
        }
        let scale = scales.get(t, item as usize);
        let share = Share::of_blocks(t, block, sharing);
        let first = item as usize * shape.cells as usize;
        let distance = items as usize * shape.cells as usize;
        let mut cell = share.from;
        while cell < shape.cells {
            let value = f.get(t, first + cell as usize);
            let at_rest = maxwellian.at(shape.velocity(cell));
            let at = first + cell as usize;
            work.set(t, at, T::from_f64(scale * (value - at_rest)));
            work.set(t, distance + at, T::from_f64(scale * (0.5 * (value + at_rest))));
            cell += share.step;
        }
    }
}

/// The Maxwellian that [`deviate()`] left of a distribution, and whether there is one.
#[inline(always)]
#[track_caller]
fn left<S: Simt>(t: &S, maxwellians: In<'_, f64>, item: u32) -> (bool, Maxwellian) {
    let line = (item * MAXWELLIAN_WORDS) as usize;
    let at = |k: usize| maxwellians.get(t, line + k);
    let maxwellian = Maxwellian {
        u: [at(2), at(3), at(4)],
        amplitude: at(5),
        slope: [at(6), at(7), at(8)],
        inverse_temperature: at(9),
    };
    (at(0) == 1.0, maxwellian)
}

kernel! {
    /// Third step: sums of `D = Q(f, f) - Q(M, M)` and of its products with w and |w|^2, w = xi - u.
    ///
    /// `gain` is the bilinear sum of g with m, and `frequency` holds the frequencies of g of all distributions and then those of m. Blocks as in [`sum_state()`]; 8 + 3 sizeof(T) bytes read a cell.
    pub fn sum_imbalance<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, maxwellians: In<f64>, parts: Out<f64>;
        shape: GridShape, items: u32, blocks: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(BALANCE_WORDS)] } {
        let item = quotient(t.block_idx(), blocks);
        let share = Share::of_blocks(t, t.block_idx() - item * blocks, blocks);
        let (_, maxwellian) = left(t, maxwellians, item);
        let cells = Parts {
            f, gain, frequency, maxwellian,
            unscale: 1.0 / scales.get(t, item as usize),
            first: item as usize * shape.cells as usize,
            distance: items as usize * shape.cells as usize,
        };
        let mut sums = [0.0; 5];
        let mut cell = share.from;
        while cell < shape.cells {
            let value = cells.at(t, &shape, cell).difference;
            let xi = shape.velocity(cell);
            let u = maxwellian.u;
            let w = [xi[0] - u[0], xi[1] - u[1], xi[2] - u[2]];
            sums[0] += value;
            sums[1] += value * w[0];
            sums[2] += value * w[1];
            sums[3] += value * w[2];
            sums[4] += value * square(w);
            cell += share.step;
        }
        leave(t, sums, parts, BALANCE_WORDS, scratch);
    }
}

kernel! {
    /// Fourth step: solves for the five coefficients c and writes `factor` times the balanced integral D - M (c . phi).
    ///
    /// Block `item sharing + b` takes the shares of the blocks b, b + sharing, and so on of [`sum_state()`] one after the other, so that the sums do not depend on `sharing`. Each solves the
    /// system for itself, in one thread. The first one leaves c in `deltas`.
    pub fn balance<T: Real>(
        t, f: In<f64>, gain: In<T>, frequency: In<T>, scales: In<f64>, maxwellians: In<f64>, imbalance: In<f64>,
        rate: Out<f64>, deltas: Out<f64>, parts: Out<f64>; shape: GridShape, factor: f64, items: u32, blocks: u32, sharing: u32,
    ) for f32, f64
    shared { scratch: [f64; scratch_words(END_WORDS)], words: [f64; SYSTEM_WORDS] } {
        let item = quotient(t.block_idx(), sharing);
        let mut block = t.block_idx() - item * sharing;
        let (found, maxwellian) = left(t, maxwellians, item);
        let line = (item * MAXWELLIAN_WORDS) as usize;
        let imbalance: [f64; BALANCE_WORDS as usize] = sum_parts(t, imbalance, (item, blocks, BALANCE_WORDS), scratch);
        let mut moments = [0.0; MOMENTS];
        for k in 0..MOMENTS_OF_M as usize {
            moments[k] = maxwellians.get(t, line + 10 + k);
        }
        for k in 0..5 {
            moments[MOMENTS_OF_M as usize + k] = imbalance[k];
        }
        let mut basis = Basis { u: maxwellian.u, inverse_root_theta: 1.0 };
        let mut delta = [0.0; 5];
        let system = System(words);
        if found {
            let density = maxwellians.get(t, line + 1);
            basis.inverse_root_theta = 1.0 / Real::sqrt(theta(density, &moments));
            if t.thread_idx() == 0 {
                system.set_up(t, density, &moments);
            }
            t.sync_threads();
            delta = system.solution(t);
        }
        if block == 0 && t.thread_idx() == 0 {
            for k in 0..5 {
                deltas.set(t, 5 * item as usize + k, delta[k]);
            }
        }
        let cells = Parts {
            f, gain, frequency, maxwellian,
            unscale: 1.0 / scales.get(t, item as usize),
            first: item as usize * shape.cells as usize,
            distance: items as usize * shape.cells as usize,
        };
        while block < blocks {
            let share = Share::of_blocks(t, block, blocks);
            let mut sums = [0.0; 11];
            let mut outflow = 0.0_f64;
            let mut cell = share.from;
            while cell < shape.cells {
                let part = cells.at(t, &shape, cell);
                let phi = basis.phi(shape.velocity(cell));
                let value = part.difference - part.weight * dot(&delta, &phi);
                rate.set(t, cells.first + cell as usize, factor * value);
                let loss = (part.content * part.frequency).abs();
                for k in 0..5 {
                    sums[k] += value * phi[k];
                    sums[5 + k] += loss * phi[k].abs();
                }
                sums[10] += value.abs();
                outflow = if part.frequency > outflow { part.frequency } else { outflow };
                cell += share.step;
            }
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

kernel! {
    /// Last step: the coefficients and the sums over the grid of each distribution, as [`conserve()`](super::conserve()) writes them.
    ///
    /// One block a distribution.
    pub fn summarise_balance(
        t, maxwellians: In<f64>, deltas: In<f64>, ends: In<f64>, out: Out<f64>; factor: f64, blocks: u32,
    )
    shared { scratch: [f64; END_WORDS] } {
        let item = t.block_idx();
        let outflow = sum_ends(t, ends, (item, blocks), scratch);
        let (found, _) = left(t, maxwellians, item);
        let at = |k: usize| deltas.get(t, 5 * item as usize + k);
        let delta = [at(0), at(1), at(2), at(3), at(4)];
        let status = if found { summary::BALANCED } else { summary::SINGULAR };
        summarise(t, out, (item as usize, status, factor), &delta, outflow, scratch);
    }
}
