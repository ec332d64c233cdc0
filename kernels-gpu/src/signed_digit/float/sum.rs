//! Exact sums.

use super::deposit::Term;
use super::partial::{Habit, Partial, note_special};
use super::row::{Layout, Notes, Row};
use crate::kernel;
use crate::memory::{In, InOut, Shared};
use crate::simt::{Simt, WARP};

/// Threads of a block that sums `f64`: 33 KiB of digits, six blocks on an H200's multiprocessor.
pub const SUM_THREADS_F64: u32 = 64;
/// Threads of a block that sums `f32`: 17 KiB of digits.
pub const SUM_THREADS_F32: u32 = 128;
/// Row of a sum of `f64`.
pub const SUM_F64: Layout = f64::SUM;
/// Row of a sum of `f32`.
pub const SUM_F32: Layout = f32::SUM;

/// Elements that a block takes at a time: 8 accesses of 16 bytes a thread.
pub const SUM_TILE_F64: usize = SUM_THREADS_F64 as usize * 2 * 8;
/// Elements that a block takes at a time: 4 accesses of 16 bytes a thread.
pub const SUM_TILE_F32: usize = SUM_THREADS_F32 as usize * 4 * 4;

kernel! {
    /// Adds the sum of x to the digits of `result`.
    pub fn exact_sum_f64(t, x: In<f64>, result: InOut<u64>; windows: u32)
    shared { digits: [i64; SUM_F64.digits * SUM_THREADS_F64], ends: [u32; SUM_THREADS_F64 / WARP * 2] } {
        sum::<f64, 2, 8, SUM_THREADS_F64, false, _>(t, x, result, windows != 0, digits, ends);
    }
}

kernel! {
    /// Adds the sum of |x| to the digits of `result`; as `exact_sum_f64`.
    pub fn exact_magnitude_sum_f64(t, x: In<f64>, result: InOut<u64>; windows: u32)
    shared { digits: [i64; SUM_F64.digits * SUM_THREADS_F64], ends: [u32; SUM_THREADS_F64 / WARP * 2] } {
        sum::<f64, 2, 8, SUM_THREADS_F64, true, _>(t, x, result, windows != 0, digits, ends);
    }
}

kernel! {
    /// Adds the sum of x to the digits of `result`.
    pub fn exact_sum_f32(t, x: In<f32>, result: InOut<u64>; windows: u32)
    shared { digits: [i64; SUM_F32.digits * SUM_THREADS_F32], ends: [u32; 0] } {
        sum::<f32, 4, 4, SUM_THREADS_F32, false, _>(t, x, result, windows != 0, digits, ends);
    }
}

kernel! {
    /// Adds the sum of |x| to the digits of `result`; as `exact_sum_f32`.
    pub fn exact_magnitude_sum_f32(t, x: In<f32>, result: InOut<u64>; windows: u32)
    shared { digits: [i64; SUM_F32.digits * SUM_THREADS_F32], ends: [u32; 0] } {
        sum::<f32, 4, 4, SUM_THREADS_F32, true, _>(t, x, result, windows != 0, digits, ends);
    }
}

/// Index of a thread's run `k` of a tile.
#[inline(always)]
pub(super) fn run_index<const RUN: usize, const LOADS: usize, const THREADS: u32, S: Simt>(
    t: &S,
    tile: usize,
    k: usize,
) -> usize {
    (tile * LOADS + k) * THREADS as usize * RUN + t.thread_idx() as usize * RUN
}

#[inline(always)]
fn sum<
    T: Term,
    const RUN: usize,
    const LOADS: usize,
    const THREADS: u32,
    const MAGNITUDE: bool,
    S: Simt,
>(
    t: &S,
    x: In<'_, T>,
    result: InOut<'_, u64>,
    windows: bool,
    digits: Shared<'_, i64>,
    ends: Shared<'_, u32>,
) {
    let row = Row::<THREADS> {
        digits,
        column: t.thread_idx(),
    };
    let mut sum = Partial::new::<T>();
    row.clear(t, &T::SUM);

    let tiles = x.len() / (THREADS as usize * RUN * LOADS);
    let mut tile = t.block_idx() as usize;
    if tile < tiles {
        let mut values = [[T::NEUTRAL; RUN]; LOADS];
        let mut k = 0;
        while k < LOADS {
            values[k] = x.get_run(t, run_index::<RUN, LOADS, THREADS, S>(t, tile, k));
            k += 1;
        }
        let mut habit = Habit::new(false);
        while tile < tiles {
            let mut fits = false;
            if windows && !habit.take_direct() {
                let mut top = 0;
                k = 0;
                while k < LOADS {
                    for j in 0..RUN {
                        top = values[k][j].magnitude_word().max(top);
                    }
                    k += 1;
                }
                fits = sum.place::<T, THREADS, S>(t, row, top, &mut habit);
            }
            let next = tile + t.grid_dim() as usize;
            // Each run is read a whole tile before it is needed, into the registers of the one just used. After the last tile it is read once more.
            let ahead = if next < tiles { next } else { tile };
            // A tile has a loop for each way: branches within would keep the runs apart.
            k = 0;
            while fits && k < LOADS {
                let runs = [values[k], values[k + 1]];
                sum.add_windowed::<T, RUN, MAGNITUDE, THREADS, S>(t, row, runs);
                for m in 0..2 {
                    let at = run_index::<RUN, LOADS, THREADS, S>(t, ahead, k + m);
                    values[k + m] = x.get_run(t, at);
                }
                k += 2;
                if k == LOADS / 2 {
                    // Or the assembler would gather all reads at the end of the tile, with nothing left to do while they are under way.
                    t.sync_warp();
                }
            }
            k = 0;
            while !fits && k < LOADS {
                for j in 0..RUN {
                    values[k][j].deposit::<MAGNITUDE, THREADS, S>(t, row, &mut sum.notes);
                }
                values[k] = x.get_run(t, run_index::<RUN, LOADS, THREADS, S>(t, ahead, k));
                k += 1;
                if k == LOADS / 2 {
                    t.sync_warp();
                }
            }
            sum.end_tile::<T, THREADS, S>(t, row, &T::SUM);
            tile = next;
        }
    }
    sum.flush::<T, THREADS, S>(t, row);
    let mut notes = sum.notes;
    if notes.has_special(T::SPECIAL) {
        // Rare enough to read everything again.
        let mut again = t.block_idx() as usize;
        while again < tiles {
            for k in 0..LOADS * RUN {
                let at = run_index::<RUN, LOADS, THREADS, S>(t, again, k / RUN) + k % RUN;
                note_special::<MAGNITUDE, T>(x.get(t, at), &mut notes);
            }
            again += t.grid_dim() as usize;
        }
    }
    // The elements that fill no tile, by the block that would have been the next one's.
    if tile == tiles {
        let first = tiles * THREADS as usize * RUN * LOADS + t.thread_idx() as usize;
        let index = |k: usize, j: usize| first + (k * RUN + j) * THREADS as usize;
        // All reads before the first is needed.
        let mut values = [[T::NEUTRAL; RUN]; LOADS];
        let mut k = 0;
        while k < LOADS {
            for j in 0..RUN {
                values[k][j] = x.get_or(t, index(k, j), T::NEUTRAL);
            }
            k += 1;
        }
        // The digits have room for another tile.
        k = 0;
        while k < LOADS {
            for j in 0..RUN {
                if index(k, j) < x.len() {
                    values[k][j].deposit::<MAGNITUDE, THREADS, S>(t, row, &mut notes);
                    note_special::<MAGNITUDE, T>(values[k][j], &mut notes);
                }
            }
            k += 1;
        }
    }
    let used = used_digits::<T, S>(t, &notes, ends);
    row.add_up(t, &T::SUM, used, result);
    notes.count(t, &T::SUM, result);
}

/// Digits from the first to behind the last that can differ from 0, of all threads of the block.
#[inline(always)]
fn used_digits<T: Term, S: Simt>(t: &S, notes: &Notes, ends: Shared<'_, u32>) -> (u32, u32) {
    if !T::TRIMMED {
        return (0, T::SUM.digits);
    }
    let of_warp = notes.extremes(t);
    if t.lane() == 0 {
        ends.set(t, 2 * t.warp(), of_warp.0);
        ends.set(t, 2 * t.warp() + 1, of_warp.1);
    }
    t.sync_threads();
    let mut of_block = of_warp;
    let mut warp = 0;
    while warp < t.warps() {
        let (least, largest) = (ends.get(t, 2 * warp), ends.get(t, 2 * warp + 1));
        of_block = (of_block.0.min(least), of_block.1.max(largest));
        warp += 1;
    }
    T::digits_between(of_block, T::SUM.digits)
}
