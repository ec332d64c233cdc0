//! Stages of a time step and moments; the state is f64 in either precision.

use super::{Stage, tile_sums, warp_sum_above};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{Out, Shared};
use crate::simt::{Simt, WARP};

/// Threads of a block in the kernels that have one block for each state.
pub const STATE_THREADS: u32 = 512;

/// Warps of that block.
const STATE_WARPS: u32 = STATE_THREADS / WARP;

/// The states, as kernels with one block for each see them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct StateShape {
    /// Cells M.
    pub cells: u32,
    /// Distance of two states: M + 64 at least.
    pub pitch: u32,
    /// Tiles of `rise` and `fall` to be added up; 0 if `rise` holds the sums already, as state by state.
    pub tiles: u32,
    /// Width of a cell.
    pub width: f64,
    /// Power of two by which the working copy differs from the state.
    pub scale: f64,
}

/// Sums of a value from each cell to the top, for one chunk of a block's cells: thread k holds cell k of the chunk, and `beyond` is the sum above
/// the chunk. Returns this cell's sum and that of the whole chunk.
#[inline(always)]
#[track_caller]
fn sum_above<S: Simt>(t: &S, value: f64, beyond: f64, totals: Shared<'_, f64>) -> (f64, f64) {
    let within = warp_sum_above(t, value);
    if t.lane() == 0 {
        totals.set(t, t.warp(), within);
    }
    t.sync_threads();
    let mut warp = STATE_WARPS;
    let (mut higher, mut all) = (beyond, beyond);
    while warp > 0 {
        warp -= 1;
        all += totals.get(t, warp);
        higher = if warp > t.warp() { all } else { higher };
    }
    t.sync_threads();
    (higher + within, all)
}

/// Writes the working copy of a state and its sums from each cell to the top, with zeros beyond the last cell.
#[inline(always)]
#[track_caller]
fn publish<S: Simt, T: Real>(
    t: &S,
    base: usize,
    shape: &StateShape,
    value: impl Fn(u32) -> f64,
    work: Out<'_, T>,
    above: Out<'_, T>,
    totals: Shared<'_, f64>,
) {
    let mut chunk = shape.pitch.div_ceil(STATE_THREADS);
    let mut beyond = 0.0;
    while chunk > 0 {
        chunk -= 1;
        let cell = chunk * STATE_THREADS + t.thread_idx();
        let f = if cell < shape.cells {
            shape.scale * value(cell)
        } else {
            0.0
        };
        let (sum, all) = sum_above(t, f, beyond, totals);
        beyond = all;
        if cell < shape.pitch {
            work.set(t, base + cell as usize, T::from_f64(f));
            above.set(t, base + cell as usize, T::from_f64(sum));
        }
    }
}

kernel! {
    /// Prepares states for the operator: working copies and sums from each cell to the top. One block of [`STATE_THREADS`] a state.
    pub fn prepare_states<T: Real>(t, f: In<f64>, work: Out<T>, above: Out<T>; shape: StateShape) for f32, f64
    shared { totals: [f64; STATE_WARPS] } {
        let base = t.block_idx() as usize * shape.pitch as usize;
        publish(t, base, &shape, |cell| f.get(t, base + cell as usize), work, above, totals);
    }
}

kernel! {
    /// One stage of a time step, from the operator's sums to the next state, prepared as by [`prepare_states()`].
    ///
    /// One block of [`STATE_THREADS`] a state; thread k owns the cells k, k + 512, ... The rate of cell i is `divisors[i]` times the sum of its flows;
    /// `divisors` hold the time step, the scale of the rates, the weight of the cell, and the square of the working scale. With `first` the stage begins a
    /// step: the state is where it starts from. Sums over tiles are coalesced and eight loads are under way together; 2 tiles / 32 words a cell are read from L2.
    pub fn advance_states<T: Real>(
        t, rise: In<f64>, fall: In<f64>, divisors: In<f64>, f: InOut<f64>, start: InOut<f64>, sum: InOut<f64>,
        work: Out<T>, above: Out<T>; shape: StateShape, stage: Stage, first: u32,
    ) for f32, f64
    shared { totals: [f64; STATE_WARPS] } {
        let state = t.block_idx();
        let base = state as usize * shape.pitch as usize;
        publish(t, base, &shape, |cell| {
            let at = base + cell as usize;
            let flux = if shape.tiles == 0 {
                rise.get(t, at)
            } else {
                let (rise, fall) = tile_sums(t, rise, fall, state, cell, shape.cells, shape.pitch, shape.tiles);
                rise - fall
            };
            let h = divisors.get(t, cell as usize) * flux;
            let now = f.get(t, at);
            let (from, so_far) = if first != 0 { (now, now) } else { (start.get(t, at), sum.get(t, at)) };
            let (next, so_far) = stage.next(from, now, so_far, h);
            f.set(t, at, next);
            if first != 0 {
                start.set(t, at, from);
            }
            sum.set(t, at, so_far);
            next
        }, work, above, totals);
    }
}

/// Index of the entries of a row that [`record_states()`] writes.
pub mod moment {
    /// Sum of measure f.
    pub const NUMBER: usize = 0;
    /// With E.
    pub const ENERGY: usize = 1;
    /// With E^2.
    pub const SECOND: usize = 2;
    /// With E^3.
    pub const THIRD: usize = 3;
    /// Sum of measure f ln f over the cells with f > 0.
    pub const ENTROPY: usize = 4;
    /// Smallest f.
    pub const MINIMUM: usize = 5;
    /// Largest frequency.
    pub const FREQUENCY: usize = 6;
    /// Entries.
    pub const LEN: usize = 7;
}

/// The moments that are sums.
const SUMS: usize = moment::MINIMUM;

/// Adds two sums in double-double arithmetic: values and the errors of their roundings.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let z = s - a;
    (s, (a - (s - z)) + (b - z))
}

kernel! {
    /// Appends a row to the history of each state, as in [`moment`]; one block of [`STATE_THREADS`] a state.
    ///
    /// `frequency` holds the sum of the frequencies of each cell in the units of the operator, `frequency_scale[i]` what turns them into physical ones.
    /// The sums over cells carry their rounding errors along, so that number and energy show drifts of a few units in the last place. `count` is the
    /// number of rows so far and starts from the beginning when `rows` is full; only the first block counts.
    pub fn record_states(
        t, f: In<f64>, measure: In<f64>, frequency: In<f64>, frequency_scale: In<f64>, count: In<u32>, rows: Out<f64>;
        shape: StateShape,
    )
    shared { high: [f64; STATE_THREADS], low: [f64; STATE_THREADS] } {
        let base = t.block_idx() as usize * shape.pitch as usize;
        let capacity = quotient((rows.len() / moment::LEN) as u32, t.grid_dim());
        let number = count.get(t, 0);
        let row = (number - quotient(number, capacity) * capacity) * t.grid_dim() + t.block_idx();
        let to = row as usize * moment::LEN;

        let mut sums = [0.0; SUMS];
        let mut errors = [0.0; SUMS];
        let (mut least, mut most) = (f64::INFINITY, 0.0);
        let mut cell = t.thread_idx();
        while cell < shape.cells {
            let value = f.get(t, base + cell as usize);
            let energy = (f64::from(cell) + 0.5) * shape.width;
            let n = measure.get(t, cell as usize) * value;
            let log = if value > 0.0 { Real::ln(value) } else { 0.0 };
            let terms = [n, n * energy, n * energy * energy, n * energy * energy * energy, n * log];
            for k in 0..SUMS {
                let (sum, error) = two_sum(sums[k], terms[k]);
                sums[k] = sum;
                errors[k] += error;
            }
            // NaN must not be lost: it fails both comparisons the other way round.
            least = if value >= least { least } else { value };
            let nu = frequency.get(t, base + cell as usize) * frequency_scale.get(t, cell as usize);
            most = if nu <= most { most } else { nu };
            cell += STATE_THREADS;
        }

        let k = t.thread_idx();
        for which in 0..SUMS {
            high.set(t, k, sums[which]);
            low.set(t, k, errors[which]);
            t.sync_threads();
            let mut half = STATE_THREADS / 2;
            while half > 0 {
                if k < half {
                    let (sum, error) = two_sum(high.get(t, k), high.get(t, k + half));
                    high.set(t, k, sum);
                    low.set(t, k, low.get(t, k) + low.get(t, k + half) + error);
                }
                t.sync_threads();
                half /= 2;
            }
            if k == 0 {
                rows.set(t, to + which, high.get(t, 0) + low.get(t, 0));
            }
            t.sync_threads();
        }
        high.set(t, k, least);
        low.set(t, k, most);
        t.sync_threads();
        let mut half = STATE_THREADS / 2;
        while half > 0 {
            if k < half {
                let (a, b) = (high.get(t, k), high.get(t, k + half));
                high.set(t, k, if b >= a { a } else { b });
                let (a, b) = (low.get(t, k), low.get(t, k + half));
                low.set(t, k, if b <= a { a } else { b });
            }
            t.sync_threads();
            half /= 2;
        }
        if k == 0 {
            rows.set(t, to + moment::MINIMUM, high.get(t, 0));
            rows.set(t, to + moment::FREQUENCY, low.get(t, 0));
        }
    }
}

kernel! {
    /// Counts a row of [`record_states()`]: one warp, one thread of it.
    pub fn count_row(t, count: InOut<u32>) {
        if t.global_idx() == 0 {
            count.set(t, 0, count.get(t, 0) + 1);
        }
    }
}

kernel! {
    /// Copies `count` values to `out` from `base` on, one thread a value.
    pub fn place_values(t, values: In<f64>, out: Out<f64>; count: u32, base: u32) {
        let i = t.global_idx();
        if i < count as usize {
            out.set(t, base as usize + i, values.get(t, i));
        }
    }
}

kernel! {
    /// The rate at which an agent meets others: the number of all agents of its state, which is the sum from the first cell to the top. One thread a cell.
    pub fn count_agents<T: Real>(
        t, above: In<T>, frequency: Out<f64>; cells: u32, pitch: u32, states: u32,
    ) for f32, f64 {
        let at = t.global_idx() as u32;
        let state = quotient(at, pitch);
        if state < states && at - state * pitch < cells {
            frequency.set(t, at as usize, above.get(t, (state * pitch) as usize).to_f64());
        }
    }
}
