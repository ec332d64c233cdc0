//! Exact sums of the rows of a matrix by windows, each rounded once.
//!
//! A warp reads rows that follow one another in accesses of 16 bytes, and hands them to its lanes through shared memory. One [`Window`] is placed for the largest number
//! of them all. 1, 2, 4, ... or 32 lanes sum a row, as few as there is room for; longer rows go through shared memory piece by piece. Lanes add their levels by
//! sums whose errors are checked.
//!
//! Rows that leave rests or errors, or have numbers too large for a window or not finite, are listed: `row_sums` sums them by digits. A warp that had to leave most rows
//! of a tile leaves many without reading them, by its [`Habit`].
//!
//! | quantity | `f64` | `f32` |
//! |---|---|---|
//! | elements that a lane takes at a time | 32 | 64 |
//! | shared memory of a block of 64 threads | 16 KiB | 16 KiB |
//!
//! The elements of a row are taken in turn by its lanes. Where rows would begin in the same banks, each begins at another element.
//!
//! Races: a warp has its own rows, and a barrier of the warp lies between what some lanes write and others read.

use super::deposit::Term;
use super::partial::Habit;
use super::row::ROW_THREADS;
use super::window::{SUM_LEVELS, Window, rounded_sum_of_three, two_sum};
use crate::kernel;
use crate::math::quotient;
use crate::memory::{In, InOut, Out, Shared};
use crate::simt::{Simt, WARP};

/// Runs of 16 bytes that a lane reads at a time.
const LOADS_F64: u32 = 16;
/// Runs of 16 bytes that a lane reads at a time.
const LOADS_F32: u32 = 16;
/// Elements in shared memory of a block.
pub const WINDOW_ROWS_F64: u32 = 2 * LOADS_F64 * ROW_THREADS;
/// Elements in shared memory of a block.
pub const WINDOW_ROWS_F32: u32 = 4 * LOADS_F32 * ROW_THREADS;
/// Elements that a lane takes from shared memory at a time.
const GROUP: u32 = 4;
kernel! {
    /// sums[r] = sum of x[r length + i] over i < length, rounded to `f32` where `single` is not 0, else to `f64`. The first `count` elements of `left` become
    /// the rows without a sum.
    pub fn window_row_sums_f64(t, x: In<f64>, sums: Out<f64>, count: InOut<u32>, left: Out<u32>; length: u64, single: u32)
    shared { rows: [f64; WINDOW_ROWS_F64] } {
        window_row_sums::<f64, 2, { LOADS_F64 as usize }, _>(t, x, sums, (count, left), length as usize, single != 0, rows);
    }
}

kernel! {
    /// The same for `f32`.
    pub fn window_row_sums_f32(t, x: In<f32>, sums: Out<f64>, count: InOut<u32>, left: Out<u32>; length: u64, single: u32)
    shared { rows: [f32; WINDOW_ROWS_F32] } {
        window_row_sums::<f32, 4, { LOADS_F32 as usize }, _>(t, x, sums, (count, left), length as usize, single != 0, rows);
    }
}

/// The rows that a warp sums at a time, or the pieces of its row.
#[derive(Clone, Copy)]
struct Plan {
    /// Lanes of a row, as a power of two.
    places: u32,
    /// Rows of a group of lanes.
    times: u32,
    /// Pieces of a row, and their elements at most.
    pieces: usize,
    piece: usize,
}

impl Plan {
    /// For rows of this length and `capacity` elements of a warp in shared memory, read in runs.
    #[inline(always)]
    fn new(length: u32, capacity: u32, run: u32) -> Self {
        // A tile that does not begin at a run begins with elements of the tile before.
        let fits = |elements: u32| {
            let spare = if elements.is_multiple_of(run) {
                0
            } else {
                run - 1
            };
            elements + spare <= capacity
        };
        let mut pieces = 1;
        let mut piece = length;
        if !fits(length) {
            let most = capacity - (run - 1);
            piece = quotient(length + most - 1, most);
            piece = quotient(length + piece - 1, piece);
            pieces = quotient(length + piece - 1, piece);
        }
        // A row in pieces has the warp for itself.
        let mut places = if pieces == 1 { 0 } else { WARP.ilog2() };
        while places < WARP.ilog2() && !fits((WARP >> places) * piece) {
            places += 1;
        }
        let times = if places == 0 {
            quotient(capacity, WARP * piece)
        } else {
            1
        };
        Self {
            places,
            times,
            pieces: pieces as usize,
            piece: piece as usize,
        }
    }

    /// Lanes of a row.
    #[inline(always)]
    fn lanes(self) -> u32 {
        1 << self.places
    }
}

/// The sum of a lane's elements of a row.
#[derive(Clone, Copy)]
struct Part {
    window: Window<SUM_LEVELS>,
    /// All ones in the first bit as long as every element has its sign bit set.
    signs: u32,
    /// Whether there were rests behind the first levels.
    rested: bool,
    /// Whether a part of the sum is lost.
    missed: bool,
}

impl Part {
    #[inline(always)]
    fn add<T: Term, const N: usize>(&mut self, values: [T; N]) {
        let mut rests = [0.0; N];
        let mut any = 0;
        for j in 0..N {
            self.signs &= values[j].sign_bits();
            let (rest, bits) = self.window.add_eagerly::<T>(values[j].widen());
            rests[j] = rest;
            any |= bits;
        }
        if any != 0 {
            self.rested = true;
            for rest in rests {
                self.missed |= self.window.add_on::<T>(rest) != 0.0;
            }
        }
    }
}

#[inline(always)]
fn window_row_sums<T: Term, const RUN: usize, const LOADS: usize, S: Simt>(
    t: &S,
    x: In<'_, T>,
    sums: Out<'_, f64>,
    (count, left): (InOut<'_, u32>, Out<'_, u32>),
    length: usize,
    single: bool,
    rows: Shared<'_, T>,
) {
    let plan = Plan::new(length as u32, WARP * (LOADS * RUN) as u32, RUN as u32);
    if plan.pieces == 1 {
        sum_tiles::<T, RUN, LOADS, true, S>(t, x, sums, (count, left), length, single, rows, plan);
    } else {
        sum_tiles::<T, RUN, LOADS, false, S>(t, x, sums, (count, left), length, single, rows, plan);
    }
}

/// Sums rows tile by tile, which are `WHOLE` or go piece by piece.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
fn sum_tiles<T: Term, const RUN: usize, const LOADS: usize, const WHOLE: bool, S: Simt>(
    t: &S,
    x: In<'_, T>,
    sums: Out<'_, f64>,
    (left_count, left): (InOut<'_, u32>, Out<'_, u32>),
    length: usize,
    single: bool,
    rows: Shared<'_, T>,
    plan: Plan,
) {
    let lanes = plan.lanes();
    let (group, lane) = (t.lane() >> plan.places, t.lane() & (lanes - 1));
    let of_row = (u32::MAX >> (WARP - lanes)) << (t.lane() - lane);
    let tile_rows = (WARP >> plan.places) * plan.times;
    let own_place = t.warp() * WARP * (LOADS * RUN) as u32;
    // Elements of the lane, in a whole row or piece, and the one that it begins with.
    let rotation = if (plan.piece as u32 >> plan.places).is_multiple_of(2) && WHOLE {
        let count = ((plan.piece as u32 + lanes - 1 - lane) >> plan.places).max(1);
        group - quotient(group, count) * count
    } else {
        0
    };

    // The first element of a piece of a tile, and how many there are.
    let elements = |tile: usize, piece: usize| {
        let first = tile * tile_rows as usize * length + piece * plan.piece;
        let all = if WHOLE {
            tile_rows as usize * length
        } else {
            plan.piece.min(length - piece * plan.piece)
        };
        (first, all as u32)
    };
    let load = |values: &mut [[T; RUN]; LOADS], tile: usize, piece: usize| {
        let (first, all) = elements(tile, piece);
        let begin = first & !(RUN - 1);
        let end = (first - begin) as u32 + all;
        let offset = |k: usize| (k as u32 * WARP + t.lane()) * RUN as u32;
        let mut k = 0;
        if begin + WARP as usize * LOADS * RUN <= x.len() {
            // Lanes beyond the end keep what they have: it only enters the window's place.
            while k < LOADS {
                if offset(k) < end {
                    values[k] = x.get_run(t, begin + offset(k) as usize);
                }
                k += 1;
            }
        } else {
            while k < LOADS {
                let at = begin + offset(k) as usize;
                values[k] = core::array::from_fn(|j| x.get_or(t, at + j, T::NEUTRAL));
                k += 1;
            }
        }
    };

    // The place of so many rows in the list.
    let reserve = |rows: u32| {
        let mut begin = 0;
        if t.lane() == 0 {
            begin = left_count.atomic_add(t, 0, rows);
        }
        t.shuffle(begin, 0)
    };

    let step = (t.grid_dim() * t.warps()) as usize;
    let mut tile = (t.block_idx() * t.warps() + t.warp()) as usize;
    let mut piece = 0;
    let mut values = [[T::NEUTRAL; RUN]; LOADS];
    load(&mut values, tile, piece);
    // The digits of short rows cost more at their end than the last level costs.
    let mut habit = Habit::new(lanes < WARP);
    let mut totals = [0.0; SUM_LEVELS];
    let mut part = Part {
        window: Window::new(T::LEAST_LEVEL),
        signs: u32::MAX,
        rested: false,
        missed: false,
    };
    while tile * (tile_rows as usize) < sums.len() {
        let (first, all) = elements(tile, piece);
        let begins = WHOLE || piece == 0;
        let lost_before = !begins && t.ballot(part.missed) != 0;
        let ends = WHOLE || lost_before || piece + 1 == plan.pieces;
        let mut fits = !lost_before;
        if fits {
            let top = largest(t, &values);
            if begins {
                part.window.place(top, T::LEAST_LEVEL);
            }
            fits = !part.window.exceeded_by(top);
            let mut k = 0;
            while k < LOADS {
                let offset = (k as u32 * WARP + t.lane()) * RUN as u32;
                rows.set_run(t, own_place + offset, values[k]);
                k += 1;
            }
            t.sync_warp();
        }
        let (mut next_tile, next_piece) = if ends {
            (tile + step, 0)
        } else {
            (tile, piece + 1)
        };
        if ends {
            let end = next_tile + habit.take_all_direct() as usize * step;
            next_tile = leave_tiles(
                t,
                sums.len(),
                tile_rows,
                (next_tile, end, step),
                reserve,
                left,
            );
        }
        load(&mut values, next_tile, next_piece);
        let length = if WHOLE { length as u32 } else { all };
        let count = (length + lanes - 1 - lane) >> plan.places;
        let (mut lanes_rested, mut lanes_missed) = (0, 0);
        let mut m = 0;
        while m < plan.times {
            let own = m * (WARP >> plan.places) + group;
            if begins {
                totals = [0.0; SUM_LEVELS];
                part.signs = u32::MAX;
                part.rested = false;
                part.missed = false;
            }
            part.missed |= !fits;
            if fits {
                part.window.clear();
                let begin = own_place + first as u32 % RUN as u32 + own * length + lane;
                let end = begin + (count << plan.places);
                let mut at = begin + (rotation << plan.places);
                let mut next = || {
                    let value = rows.get(t, at);
                    at += lanes;
                    at = if at == end { begin } else { at };
                    value
                };
                let mut n = count;
                while n >= GROUP {
                    part.add::<T, { GROUP as usize }>(core::array::from_fn(|_| next()));
                    n -= GROUP;
                }
                while n > 0 {
                    part.add([next()]);
                    n -= 1;
                }
                let mut j = 0;
                while j < SUM_LEVELS {
                    let sum = part.window.sum(j);
                    if WHOLE {
                        totals[j] = sum;
                    } else {
                        let (sum, error) = two_sum(totals[j], sum);
                        totals[j] = sum;
                        part.missed |= error != 0.0;
                    }
                    j += 1;
                }
            }
            if ends {
                let sum = sum_of_lanes::<T, S>(t, totals, &mut part, plan, of_row, single);
                let missed = t.ballot(part.missed);
                let r = tile * tile_rows as usize + own as usize;
                let stores = lane == 0 && r < sums.len();
                let lost = missed & of_row != 0;
                if stores && !lost {
                    sums.set(t, r, sum);
                }
                let losers = t.ballot(stores && lost);
                if losers != 0 {
                    let below = losers & ((1 << t.lane()) - 1);
                    let place = reserve(losers.count_ones()) + below.count_ones();
                    if stores && lost {
                        left.set(t, place as usize, r as u32);
                    }
                }
                lanes_missed += missed.count_ones();
                lanes_rested += t.ballot(part.rested).count_ones();
            }
            m += 1;
        }
        if ends {
            let half = WARP / 2 * plan.times;
            habit.note(lanes_rested > half, lanes_missed > half);
        }
        t.sync_warp();
        (tile, piece) = (next_tile, next_piece);
    }
}

/// Lists the rows of the tiles from `next` to `end` in steps; the tile behind them. All lanes of a warp must call this.
#[inline(always)]
#[track_caller]
fn leave_tiles<S: Simt>(
    t: &S,
    rows: usize,
    tile_rows: u32,
    (next, end, step): (usize, usize, usize),
    reserve: impl Fn(u32) -> u32,
    left: Out<'_, u32>,
) -> usize {
    let first = |tile: usize| tile * tile_rows as usize;
    let of_tile = |tile: usize| (rows - first(tile)).min(tile_rows as usize) as u32;
    let mut all = 0;
    let mut tile = next;
    while tile < end && first(tile) < rows {
        all += of_tile(tile);
        tile += step;
    }
    if all > 0 {
        let mut place = reserve(all);
        tile = next;
        while tile < end && first(tile) < rows {
            let mut k = t.lane();
            while k < of_tile(tile) {
                left.set(t, (place + k) as usize, (first(tile) as u32) + k);
                k += WARP;
            }
            place += of_tile(tile);
            tile += step;
        }
    }
    end
}

/// The upper word of the largest finite magnitude of the warp. All lanes of a warp must call this.
#[inline(always)]
#[track_caller]
fn largest<T: Term, const RUN: usize, const LOADS: usize, S: Simt>(
    t: &S,
    values: &[[T; RUN]; LOADS],
) -> u32 {
    let mut top = 0;
    let mut k = 0;
    while k < LOADS {
        for j in 0..RUN {
            top = values[k][j].larger_magnitude(top);
        }
        k += 1;
    }
    if top >= T::SPECIAL {
        top = 0;
        k = 0;
        while k < LOADS {
            for j in 0..RUN {
                let word = values[k][j].magnitude_word();
                top = if word < T::SPECIAL {
                    word.max(top)
                } else {
                    top
                };
            }
            k += 1;
        }
    }
    let mut mask = WARP / 2;
    while mask > 0 {
        top = top.max(t.shuffle_xor(top, mask));
        mask /= 2;
    }
    T::upper_word(top)
}

/// The sum of a row from the levels of its lanes, rounded; notes in `part` whether an addition was inexact. All lanes of a warp must call this.
#[inline(always)]
#[track_caller]
fn sum_of_lanes<T: Term, S: Simt>(
    t: &S,
    mut levels: [f64; SUM_LEVELS],
    part: &mut Part,
    plan: Plan,
    of_row: u32,
    single: bool,
) -> f64 {
    let all = t.ballot(part.rested) != 0;
    let mut j = 0;
    while j < SUM_LEVELS {
        let mut mask = plan.lanes() / 2;
        while mask > 0 && (all || j < T::EAGER_LEVELS) {
            let (sum, error) = two_sum(levels[j], t.shuffle_xor(levels[j], mask));
            levels[j] = sum;
            part.missed |= error != 0.0;
            mask /= 2;
        }
        j += 1;
    }
    let negative = t.ballot(part.signs >> 31 == 0) & of_row == 0;
    if all || single && T::EAGER_LEVELS > 1 {
        return rounded_sum_of_three(levels, single, negative);
    }
    // Two levels: one rounding. One level is exact.
    let sum = levels[0] + levels[1];
    let sum = if single { f64::from(sum as f32) } else { sum };
    if sum == 0.0 && negative { -0.0 } else { sum }
}
