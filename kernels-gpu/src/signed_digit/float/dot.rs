//! Exact dot products.

use super::deposit::Term;
use super::row::{Layout, Notes, Row};
use super::sum::run_index;
use crate::kernel;
use crate::memory::{In, InOut, Shared};
use crate::simt::Simt;

/// Threads of a block that multiplies `f64`: 33 KiB of digits, six blocks on an H200's multiprocessor.
pub const DOT_THREADS_F64: u32 = 32;
/// Threads of a block that multiplies `f32`: 18 KiB of digits.
pub const DOT_THREADS_F32: u32 = 128;
/// Row of a dot product of `f64`.
pub const DOT_F64: Layout = f64::DOT;
/// Row of a dot product of `f32`.
pub const DOT_F32: Layout = f32::DOT;

/// Pairs that a block takes at a time: 6 accesses of 16 bytes a thread and factor.
pub const DOT_TILE_F64: usize = DOT_THREADS_F64 as usize * 2 * 6;
/// Pairs that a block takes at a time: 3 accesses of 16 bytes a thread and factor.
pub const DOT_TILE_F32: usize = DOT_THREADS_F32 as usize * 4 * 2;

kernel! {
    /// Adds the sum of x y to the digits of `result`.
    pub fn exact_dot_f64(t, x: In<f64>, y: In<f64>, result: InOut<u64>)
    shared { digits: [i64; DOT_F64.digits * DOT_THREADS_F64] } {
        dot::<f64, 2, 6, DOT_THREADS_F64, _>(t, x, y, result, digits);
    }
}

kernel! {
    /// Adds the sum of x y to the digits of `result`.
    pub fn exact_dot_f32(t, x: In<f32>, y: In<f32>, result: InOut<u64>)
    shared { digits: [i64; DOT_F32.digits * DOT_THREADS_F32] } {
        dot::<f32, 4, 2, DOT_THREADS_F32, _>(t, x, y, result, digits);
    }
}

#[inline(always)]
fn dot<T: Term, const RUN: usize, const LOADS: usize, const THREADS: u32, S: Simt>(
    t: &S,
    x: In<'_, T>,
    y: In<'_, T>,
    result: InOut<'_, u64>,
    digits: Shared<'_, i64>,
) {
    let row = Row::<THREADS> {
        digits,
        column: t.thread_idx(),
    };
    let mut notes = Notes::new();
    row.clear(t, &T::DOT);

    let tiles = x.len() / (THREADS as usize * RUN * LOADS);
    let mut tile = t.block_idx() as usize;
    let mut deposits = 0;
    if tile < tiles {
        let mut xs = [[T::NEUTRAL; RUN]; LOADS];
        let mut ys = [[T::NEUTRAL; RUN]; LOADS];
        let mut k = 0;
        while k < LOADS {
            let at = run_index::<RUN, LOADS, THREADS, S>(t, tile, k);
            xs[k] = x.get_run(t, at);
            ys[k] = y.get_run(t, at);
            k += 1;
        }
        while tile < tiles {
            let next = tile + t.grid_dim() as usize;
            let ahead = if next < tiles { next } else { tile };
            k = 0;
            while k < LOADS {
                for j in 0..RUN {
                    xs[k][j].deposit_product(ys[k][j], t, row, &mut notes);
                }
                let at = run_index::<RUN, LOADS, THREADS, S>(t, ahead, k);
                xs[k] = x.get_run(t, at);
                ys[k] = y.get_run(t, at);
                k += 1;
                if k == LOADS / 2 {
                    // Or the assembler would gather all reads at the end of the tile, with nothing left to do while they are under way.
                    t.sync_warp();
                }
            }
            deposits += (LOADS * RUN) as u32;
            if deposits > T::DOT.most_deposits - (LOADS * RUN) as u32 {
                deposits = 0;
                row.carry(t, &T::DOT);
            }
            tile = next;
        }
    }
    if notes.has_special(T::SPECIAL) {
        // Rare enough to read everything again.
        let mut again = t.block_idx() as usize;
        while again < tiles {
            for k in 0..LOADS * RUN {
                let at = run_index::<RUN, LOADS, THREADS, S>(t, again, k / RUN) + k % RUN;
                note_special(x.get(t, at), y.get(t, at), &mut notes);
            }
            again += t.grid_dim() as usize;
        }
    }
    // The pairs that fill no tile, by the block that would have been the next one's.
    if tile == tiles {
        let first = tiles * THREADS as usize * RUN * LOADS + t.thread_idx() as usize;
        let index = |k: usize, j: usize| first + (k * RUN + j) * THREADS as usize;
        // All reads before the first is needed.
        let mut xs = [[T::NEUTRAL; RUN]; LOADS];
        let mut ys = [[T::NEUTRAL; RUN]; LOADS];
        let mut k = 0;
        while k < LOADS {
            for j in 0..RUN {
                xs[k][j] = x.get_or(t, index(k, j), T::NEUTRAL);
                ys[k][j] = y.get_or(t, index(k, j), T::NEUTRAL);
            }
            k += 1;
        }
        // The digits have room for another tile.
        k = 0;
        while k < LOADS {
            for j in 0..RUN {
                if index(k, j) < x.len() {
                    let (a, b) = (xs[k][j], ys[k][j]);
                    a.deposit_product(b, t, row, &mut notes);
                    note_special(a, b, &mut notes);
                }
            }
            k += 1;
        }
    }
    row.add_up(t, &T::DOT, (0, T::DOT.digits), result);
    notes.count(t, &T::DOT, result);
}

/// Notes a product that is not finite; a product of finite numbers is, even where floating point overflows.
#[inline(always)]
fn note_special<T: Term>(a: T, b: T, notes: &mut Notes) {
    if a.is_special() || b.is_special() {
        notes.note_special(a.widen() * b.widen());
    }
}
