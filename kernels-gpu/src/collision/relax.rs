//! Time stepping and moments of a homogeneous relaxation; the state is f64 in either precision.

use super::GridShape;
use super::reduce::{block_combine, block_sum, scratch_words};
use super::summary;
use crate::kernel;
use crate::math::{Real, quotient};

/// Index of the entries of the control block that [`choose_step()`] keeps.
pub mod control {
    /// Time reached.
    pub const TIME: usize = 0;
    /// The step about to be taken.
    pub const STEP: usize = 1;
    /// The largest step that the state allowed when the step was chosen.
    pub const BOUND: usize = 2;
    /// Entries.
    pub const LEN: usize = 3;
}

/// How the time step is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct StepRule {
    /// The step itself, or 0 to take `safety` times the largest step that keeps f >= 0.
    pub fixed: f64,
    /// Fraction of the largest step.
    pub safety: f64,
    /// Time at which to end; infinite to go on.
    pub end: f64,
}

impl StepRule {
    /// The next step from time `time` when `bound` is the largest stable step: the last one ends exactly at `end`.
    #[inline(always)]
    pub fn next(&self, time: f64, bound: f64) -> f64 {
        let step = if self.fixed > 0.0 {
            self.fixed
        } else {
            self.safety * bound
        };
        // A remainder of a rounding error's size belongs to this step: it would be no step of its own.
        let left = self.end - time;
        if step * (1.0 + 1e-9) >= left {
            left
        } else {
            step
        }
    }
}

kernel! {
    /// Chooses the next time step from the summary of [`conserve()`](super::conserve()) and moves the clock on: one warp, one thread of it.
    pub fn choose_step(t, summary: In<f64>, control: InOut<f64>; rule: StepRule) {
        if t.global_idx() == 0 {
            let time = control.get(t, control::TIME);
            let outflow = summary.get(t, summary::OUTFLOW);
            let bound = if outflow > 0.0 { 1.0 / outflow } else { f64::INFINITY };
            let step = rule.next(time, bound);
            control.set(t, control::STEP, step);
            control.set(t, control::BOUND, bound);
            control.set(t, control::TIME, time + step);
        }
    }
}

kernel! {
    /// One stage of an explicit Runge-Kutta method in convex form: f = keep f0 + (1 - keep) (f + dt I), one thread a cell.
    ///
    /// `work` receives the new state times its scale, a power of two, in the precision of the collision kernels. 24 bytes read and 8 + sizeof(T) written a cell.
    pub fn runge_kutta_stage<T: Real>(
        t, start: In<f64>, rate: In<f64>, control: In<f64>, scales: In<f64>, f: InOut<f64>, work: Out<T>; keep: f64,
    ) for f32, f64 {
        let cell = t.global_idx();
        if cell < f.len() {
            let step = control.get(t, control::STEP);
            let euler = step.mul_add(rate.get(t, cell), f.get(t, cell));
            let old = start.get(t, cell);
            let value = keep.mul_add(old - euler, euler);
            f.set(t, cell, value);
            work.set(t, cell, T::from_f64(scales.get(t, 0) * value));
        }
    }
}

kernel! {
    /// Copies `items` distributions, those of `f` from value `first` on, to where a step starts from, and, times their scales, to the precision of the collision
    /// kernels: one thread a cell. A scale is a power of two that keeps the products of small values from underflowing in f32.
    pub fn begin_step<T: Real>(
        t, f: In<f64>, scales: In<f64>, start: Out<f64>, work: Out<T>; first: u32, cells: u32, items: u32,
    ) for f32, f64 {
        let cell = t.global_idx() as u32;
        if cell < cells * items {
            let value = f.get(t, (first + cell) as usize);
            start.set(t, cell as usize, value);
            let scale = scales.get(t, quotient(cell, cells) as usize);
            work.set(t, cell as usize, T::from_f64(scale * value));
        }
    }
}

/// Index of the entries of a row that [`record()`] writes: control block, summary of the correction, and moments as sums over the cells, without the
/// factor h^3.
pub mod row {
    use super::{control, summary};

    /// The control block, as in [`control`](super::control).
    pub const CONTROL: usize = 0;
    /// The summary of the correction, as in [`summary`](super::super::summary).
    pub const SUMMARY: usize = CONTROL + control::LEN;
    /// Sum of f.
    pub const DENSITY: usize = SUMMARY + summary::LEN;
    /// Sums of f xi.
    pub const MOMENTUM: usize = DENSITY + 1;
    /// Sums of f c_a c_b for xx, yy, zz, xy, xz, yz, with c = xi - u.
    pub const PRESSURE: usize = MOMENTUM + 3;
    /// Sums of f c |c|^2.
    pub const HEAT_FLUX: usize = PRESSURE + 6;
    /// Sum of f |xi|^4.
    pub const FOURTH: usize = HEAT_FLUX + 3;
    /// Sum of f ln f over the cells with f > 0.
    pub const ENTROPY: usize = FOURTH + 1;
    /// Sum of the f below zero.
    pub const BELOW_ZERO: usize = ENTROPY + 1;
    /// Smallest f.
    pub const MINIMUM: usize = BELOW_ZERO + 1;
    /// Entries.
    pub const LEN: usize = MINIMUM + 1;
}

/// Sums that [`record()`] takes about the mean velocity.
const CENTRED: usize = row::MINIMUM - row::PRESSURE;

kernel! {
    /// Appends a row to the history, as in [`row`]: moments of the state, with control block and summary beside them.
    ///
    /// One block of [`REDUCE_THREADS`](super::REDUCE_THREADS). `count` is the number of rows so far; when `rows` is full, it starts
    /// from the beginning again. So the same launch, recorded in a graph, writes one row after the other.
    pub fn record(
        t, f: In<f64>, control: In<f64>, summary: In<f64>, count: InOut<u32>, rows: Out<f64>; shape: GridShape,
    )
    shared { scratch: [f64; scratch_words(CENTRED as u32)] } {
        let number = count.get(t, 0);
        let capacity = (rows.len() / row::LEN) as u32;
        let start = (number - quotient(number, capacity) * capacity) as usize * row::LEN;

        let mut sums = [0.0; 4];
        let mut least = f64::INFINITY;
        let mut cell = t.thread_idx();
        while cell < shape.cells {
            let value = f.get(t, cell as usize);
            let xi = shape.velocity(cell);
            sums[0] += value;
            sums[1] += value * xi[0];
            sums[2] += value * xi[1];
            sums[3] += value * xi[2];
            least = if value < least { value } else { least };
            cell += t.block_dim();
        }
        let mass = block_sum(t, sums, scratch);
        let [least] = block_combine(t, [least], scratch, |a, b| if a < b { a } else { b });
        let u = [mass[1] / mass[0], mass[2] / mass[0], mass[3] / mass[0]];

        let mut sums = [0.0; CENTRED];
        let mut cell = t.thread_idx();
        while cell < shape.cells {
            let value = f.get(t, cell as usize);
            let xi = shape.velocity(cell);
            let c = [xi[0] - u[0], xi[1] - u[1], xi[2] - u[2]];
            let c2 = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
            let xi2 = xi[0] * xi[0] + xi[1] * xi[1] + xi[2] * xi[2];
            sums[0] += value * c[0] * c[0];
            sums[1] += value * c[1] * c[1];
            sums[2] += value * c[2] * c[2];
            sums[3] += value * c[0] * c[1];
            sums[4] += value * c[0] * c[2];
            sums[5] += value * c[1] * c[2];
            sums[6] += value * c[0] * c2;
            sums[7] += value * c[1] * c2;
            sums[8] += value * c[2] * c2;
            sums[9] += value * xi2 * xi2;
            if value > 0.0 {
                sums[10] += value * Real::ln(value);
            } else {
                sums[11] += value;
            }
            cell += t.block_dim();
        }
        block_sum(t, sums, scratch);

        let k = t.thread_idx() as usize;
        if k < control::LEN {
            rows.set(t, start + row::CONTROL + k, control.get(t, k));
        }
        if k < summary::LEN {
            rows.set(t, start + row::SUMMARY + k, summary.get(t, k));
        }
        // The sums are still in the scratch words.
        if k < CENTRED {
            rows.set(t, start + row::PRESSURE + k, scratch.get(t, k as u32));
        }
        if k == 0 {
            rows.set(t, start + row::DENSITY, mass[0]);
            rows.set(t, start + row::MOMENTUM, mass[1]);
            rows.set(t, start + row::MOMENTUM + 1, mass[2]);
            rows.set(t, start + row::MOMENTUM + 2, mass[3]);
            rows.set(t, start + row::MINIMUM, least);
            count.set(t, 0, number + 1);
        }
    }
}
