//! Exact sums of the short rows of a matrix, each rounded once: a thread a row.
//!
//! A warp reads rows that follow one another in accesses of 16 bytes, and hands them to its threads through shared memory: as many times 32 as there is room for. A
//! thread places a [`Window`] for the largest number of its row, adds the row to it, and rounds. Rows that leave rests, or have numbers too large for a window or not
//! finite, go to the digits, four at a time by eight lanes each, as longer rows do.
//!
//! | quantity | `f64` | `f32` |
//! |---|---|---|
//! | elements of a row at most | 20 | 32 |
//! | shared memory of a block of 64 threads | 46 KiB | 20 KiB |
//!
//! In rows of even length each thread begins at another element, so that few threads of a warp read the same bank.
//!
//! Races: a warp has its own rows and columns, and a barrier of the warp lies between what some threads write and others read.

use super::deposit::Term;
use super::partial::note_special;
use super::row::{Notes, ROW_LANES, ROW_THREADS, Row};
use super::rows::{Place, ROW_F32, ROW_F64, end_row};
use super::window::{SUM_LEVELS, Window, rounded_sum_of_three};
use crate::kernel;
use crate::math::quotient;
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};

/// Elements of a row at most.
pub const SHORT_F64: u32 = 20;
/// Elements of a row at most.
pub const SHORT_F32: u32 = 32;
/// Elements that a thread takes at a time.
const GROUP: u32 = 4;
/// Rows of a thread that go to the digits at once after most of a warp's did.
const DIRECT_ROWS: u32 = 32;

kernel! {
    /// sums[r] = sum of x[r length + i] over i < length, of at most [`SHORT_F64`] elements, rounded to `f32` where `single` is not 0, else to `f64`.
    pub fn short_row_sums_f64(t, x: In<f64>, sums: Out<f64>; length: u64, single: u32)
    shared { digits: [i64; ROW_F64.digits * ROW_THREADS], rows: [f64; SHORT_F64 * ROW_THREADS] } {
        short_row_sums::<f64, 2, 10, _>(t, x, sums, length as u32, single != 0, digits, rows);
    }
}

kernel! {
    /// The same for `f32`.
    pub fn short_row_sums_f32(t, x: In<f32>, sums: Out<f64>; length: u64, single: u32)
    shared { digits: [i64; ROW_F32.digits * ROW_THREADS], rows: [f32; SHORT_F32 * ROW_THREADS] } {
        short_row_sums::<f32, 4, 8, _>(t, x, sums, length as u32, single != 0, digits, rows);
    }
}

/// The rows of a warp in shared memory, one after the other.
#[derive(Clone, Copy)]
struct Rows<'a, T: Term> {
    rows: Shared<'a, T>,
    /// Where those of the warp begin.
    first: u32,
    length: u32,
}

impl<T: Term> Rows<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn get<S: Simt>(self, t: &S, row: u32, element: u32) -> T {
        self.rows.get(t, self.first + row * self.length + element)
    }

    /// The elements of a row from the `j`-th on, counted from `rotation`.
    #[inline(always)]
    #[track_caller]
    fn group<S: Simt>(self, t: &S, row: u32, j: u32, rotation: u32) -> [T; GROUP as usize] {
        let mut group = [T::NEUTRAL; GROUP as usize];
        for g in 0..GROUP {
            if j + g < self.length {
                let element = j + g + rotation;
                let wrapped = element.min(element.wrapping_sub(self.length));
                group[g as usize] = self.get(t, row, wrapped);
            }
        }
        group
    }
}

#[inline(always)]
fn short_row_sums<T: Term, const RUN: usize, const LOADS: usize, S: Simt>(
    t: &S,
    x: In<'_, T>,
    sums: Out<'_, f64>,
    length: u32,
    single: bool,
    digits: Shared<'_, i64>,
    rows: Shared<'_, T>,
) {
    let row = Row::<ROW_THREADS> {
        digits,
        column: t.thread_idx(),
    };
    row.clear(t, &T::ROW);
    let rows = Rows {
        rows,
        first: t.warp() * WARP * (LOADS * RUN) as u32,
        length,
    };
    let rotation = if length.is_multiple_of(2) {
        t.lane() - quotient(t.lane(), length) * length
    } else {
        0
    };
    // Rows of a thread.
    let times = quotient((LOADS * RUN) as u32, length);
    let elements = WARP * times * length;
    let loads = (times * length).div_ceil(RUN as u32);
    // Of run k of the thread, from the first element of the warp's rows on.
    let offset = |k: u32| (k * WARP + t.lane()) * RUN as u32;
    let load = |tile: usize, k: u32| {
        let at = tile * elements as usize + offset(k) as usize;
        if at + RUN <= x.len() {
            x.get_run(t, at)
        } else {
            core::array::from_fn(|j| x.get_or(t, at + j, T::NEUTRAL))
        }
    };

    let tile_rows = (WARP * times) as usize;
    let step = (t.grid_dim() * t.warps()) as usize;
    let mut tile = (t.block_idx() * t.warps() + t.warp()) as usize;
    let mut direct = 0;
    let mut values = [[T::NEUTRAL; RUN]; LOADS];
    let mut k = 0;
    while k < LOADS {
        if (k as u32) < loads {
            values[k] = load(tile, k as u32);
        }
        k += 1;
    }
    while tile * tile_rows < sums.len() {
        k = 0;
        while k < LOADS {
            if offset(k as u32) < elements {
                let place = rows.first + offset(k as u32);
                rows.rows.set_run(t, place, values[k]);
            }
            k += 1;
        }
        t.sync_warp();
        let next = tile + step;
        k = 0;
        while k < LOADS {
            if (k as u32) < loads {
                values[k] = load(next, k as u32);
            }
            k += 1;
        }
        let mut m = 0;
        while m < times {
            let own = m * WARP + t.lane();
            let r = tile * tile_rows + own as usize;
            let mut left = u32::MAX;
            if direct == 0 {
                let sum = sum_of_row(t, rows, own, rotation, single);
                if let Some(sum) = sum
                    && r < sums.len()
                {
                    sums.set(t, r, sum);
                }
                left = t.ballot(sum.is_none());
                if left.count_ones() > WARP / 2 {
                    direct = DIRECT_ROWS;
                }
            } else {
                direct -= 1;
            }
            while left != 0 {
                left = sum_by_digits(t, rows, row, (m, left), tile * tile_rows, sums, single);
            }
            m += 1;
        }
        t.sync_warp();
        tile = next;
    }
}

/// The sum of a row, if a window takes it.
#[inline(always)]
fn sum_of_row<T: Term, S: Simt>(
    t: &S,
    rows: Rows<'_, T>,
    row: u32,
    rotation: u32,
    single: bool,
) -> Option<f64> {
    let mut top = 0;
    let mut signs = u32::MAX;
    let mut j = 0;
    while j < rows.length {
        for value in rows.group(t, row, j, rotation) {
            top = value.magnitude_word().max(top);
            signs &= value.sign_bits();
        }
        j += GROUP;
    }
    let top = T::upper_word(top);
    let mut window = Window::<SUM_LEVELS>::new(T::LEAST_LEVEL);
    window.place(top, T::LEAST_LEVEL);
    let mut missed = window.exceeded_by(top);
    j = 0;
    while j < rows.length {
        let mut rests = [0.0; GROUP as usize];
        let mut any = 0;
        let group = rows.group(t, row, j, rotation);
        for g in 0..GROUP as usize {
            let (rest, bits) = window.add_eagerly::<T>(group[g].widen());
            rests[g] = rest;
            any |= bits;
        }
        if any != 0 {
            for rest in rests {
                missed |= window.add_on::<T>(rest) != 0.0;
            }
        }
        j += GROUP;
    }
    let levels = core::array::from_fn(|j| window.sum(j));
    let negative = signs >> 31 != 0;
    (!missed).then(|| rounded_sum_of_three(levels, single, negative))
}

/// Sums four of the rows, of those from `m` 32 on, that the bits of `left` name, by way of the digits; the others. All lanes of a warp must call this.
#[inline(always)]
fn sum_by_digits<T: Term, S: Simt>(
    t: &S,
    rows: Rows<'_, T>,
    row: Row<'_, ROW_THREADS>,
    (m, mut left): (u32, u32),
    first: usize,
    sums: Out<'_, f64>,
    single: bool,
) -> u32 {
    let place = Place::new(t);
    // A bit for each row of the warp.
    let mut own = 0;
    let mut of_lanes = 0;
    while of_lanes < WARP / ROW_LANES {
        let lowest = left & left.wrapping_neg();
        if of_lanes == place.row as u32 {
            own = lowest;
        }
        left ^= lowest;
        of_lanes += 1;
    }
    let r = m * WARP + own.trailing_zeros();
    let mut notes = Notes::new();
    let mut j = place.lane;
    while own != 0 && j < rows.length {
        let value = rows.get(t, r, j);
        value.deposit::<false, ROW_THREADS, S>(t, row, &mut notes);
        note_special::<false, T>(value, &mut notes);
        j += ROW_LANES;
    }
    t.sync_warp();
    let r = first + r as usize;
    end_row::<T, S>(t, row, place, &notes, single, |sum| {
        if own != 0 && r < sums.len() {
            sums.set(t, r, sum);
        }
    });
    t.sync_warp();
    left
}
