//! Exact sums of the rows of a matrix, each rounded once.
//!
//! Eight lanes sum a row, each into its own row of digits. A warp sums four rows at a time, and no warp waits for another. At the end of a
//! row lane l adds the digits l, l + 8, ... of its eight lanes. Their low B bits and the rest are added apart, so that the first carry is part of the addition.
//! Every further carry moves one place in all digits at once: [`Release`]. Only the digits between the smallest and the largest exponent are read.
//! The leading digits and the sign of the rest determine the rounded sum.
//!
//! | quantity | `f64` | `f32` |
//! |---|---|---|
//! | bytes read an element | 8 | 4 |
//! | shared memory of a block of 64 threads | 36 KiB | 12 KiB |
//! | digit after the last carry, less than | 2^31 + 2^5 | 2^15 + 2^14 + 2 |
//! | digits that are rounded | 3 | 5 |
//!
//! Races: a thread adds to its own column. The lanes of a row read the columns of one another between barriers of the warp, each digit by one lane.
//!
//! Rows that are too few to fill the machine are cut into parts, whose digits are added in global memory; `round_rows` releases and rounds them.

use super::deposit::Term;
use super::flag;
use super::partial::note_special;
use super::release::{Release, rounded_sum};
use super::row::{Layout, Notes, ROW_LANES, ROW_THREADS, Row};
use crate::kernel;
use crate::math::quotient;
use crate::memory::{In, InOut, Out, Shared};
use crate::simt::{Simt, WARP};

/// Rows that a warp sums at a time.
const WARP_ROWS: usize = (WARP / ROW_LANES) as usize;
/// Digits of a row of `f64`.
pub const ROW_F64: Layout = f64::ROW;
/// Digits of a row of `f32`.
pub const ROW_F32: Layout = f32::ROW;

kernel! {
    /// sums[r] = sum of x[r length + i] over i < length, rounded to `f32` where `single` is not 0, else to `f64`: of `all` rows, or of the first
    /// `count` that `left` names.
    pub fn row_sums_f64(t, x: In<f64>, sums: Out<f64>, count: In<u32>, left: In<u32>; length: u64, single: u32, all: u32)
    shared { digits: [i64; ROW_F64.digits * ROW_THREADS] } {
        row_sums::<f64, 2, 8, _>(t, x, sums, (count, left), length as usize, single, all != 0, digits);
    }
}

kernel! {
    /// The same for `f32`.
    pub fn row_sums_f32(t, x: In<f32>, sums: Out<f64>, count: In<u32>, left: In<u32>; length: u64, single: u32, all: u32)
    shared { digits: [i64; ROW_F32.digits * ROW_THREADS] } {
        row_sums::<f32, 4, 4, _>(t, x, sums, (count, left), length as usize, single, all != 0, digits);
    }
}

kernel! {
    /// Adds each of `rows` rows, in `parts` parts of `part` elements, to its digits and flags in `result`.
    pub fn row_parts_f64(t, x: In<f64>, result: InOut<u64>; length: u64, rows: u32, parts: u32, part: u64)
    shared { digits: [i64; ROW_F64.digits * ROW_THREADS] } {
        row_parts::<f64, 2, 8, _>(t, x, result, length as usize, rows, parts, part as usize, digits);
    }
}

kernel! {
    /// The same for `f32`.
    pub fn row_parts_f32(t, x: In<f32>, result: InOut<u64>; length: u64, rows: u32, parts: u32, part: u64)
    shared { digits: [i64; ROW_F32.digits * ROW_THREADS] } {
        row_parts::<f32, 4, 4, _>(t, x, result, length as usize, rows, parts, part as usize, digits);
    }
}

kernel! {
    /// sums[r] = the sum that the digits and flags of row r hold, rounded as in `row_sums_f64`.
    pub fn round_rows_f64(t, result: In<u64>, sums: Out<f64>; single: u32)
    shared { digits: [i64; ROW_F64.digits * ROW_THREADS] } {
        round_rows::<f64, _>(t, result, sums, single, digits);
    }
}

kernel! {
    /// The same for `f32`.
    pub fn round_rows_f32(t, result: In<u64>, sums: Out<f64>; single: u32)
    shared { digits: [i64; ROW_F32.digits * ROW_THREADS] } {
        round_rows::<f32, _>(t, result, sums, single, digits);
    }
}

/// The position of a thread among the lanes of its row.
#[derive(Clone, Copy)]
struct Place {
    /// Lane of the row.
    lane: u32,
    /// First column of the row's lanes.
    first: u32,
    /// Row of the warp.
    row: usize,
}

impl Place {
    #[inline(always)]
    fn new<S: Simt>(t: &S) -> Self {
        let lane = t.thread_idx() % ROW_LANES;
        Self {
            lane,
            first: t.thread_idx() - lane,
            row: (t.lane() / ROW_LANES) as usize,
        }
    }

    /// Whether the ballot has a lane of this row.
    #[inline(always)]
    fn any(self, ballot: u32) -> bool {
        ballot >> (self.first % WARP) & ((1 << ROW_LANES) - 1) != 0
    }
}

/// A lane's elements of a row: runs at a constant distance, and at most one element beside them.
///
/// Runs begin at multiples of their length. The elements in front of the first run are those of lanes 0 to 3, those behind the last run of lanes 4 to 7.
#[derive(Clone, Copy)]
struct Stretch {
    first_run: usize,
    runs: u32,
    edge: usize,
    has_edge: bool,
}

impl Stretch {
    /// Of the elements from `first` to `end`.
    #[inline(always)]
    fn new<const RUN: usize>(first: usize, end: usize, lane: u32) -> Self {
        let up = (first + RUN - 1) & !(RUN - 1);
        let down = end & !(RUN - 1);
        let head = if up < end { up } else { end };
        let tail = if down > head { down } else { head };
        let runs = ((tail - head) / RUN) as u32;
        let half = ROW_LANES / 2;
        let (edge, limit) = if lane < half {
            (first + lane as usize, head)
        } else {
            (tail + (lane - half) as usize, end)
        };
        Self {
            first_run: up + lane as usize * RUN,
            runs: (runs + ROW_LANES - 1 - lane) / ROW_LANES,
            edge,
            has_edge: edge < limit,
        }
    }

    /// Index of the lane's run `k`.
    #[inline(always)]
    fn run<const RUN: usize>(self, k: u32) -> usize {
        self.first_run + k as usize * (ROW_LANES as usize * RUN)
    }

    #[inline(always)]
    fn load<T: Term, const RUN: usize, S: Simt>(self, t: &S, x: In<'_, T>, k: u32) -> [T; RUN] {
        if k < self.runs {
            x.get_run(t, self.run::<RUN>(k))
        } else {
            [T::NEUTRAL; RUN]
        }
    }

    /// Notes the elements that are not finite: rare enough to read everything again.
    #[inline(always)]
    fn note_specials<T: Term, const RUN: usize, S: Simt>(
        self,
        t: &S,
        x: In<'_, T>,
        notes: &mut Notes,
    ) {
        let mut k = 0;
        while k < self.runs {
            let mut j = 0;
            while j < RUN {
                note_special::<false, T>(x.get(t, self.run::<RUN>(k) + j), notes);
                j += 1;
            }
            k += 1;
        }
        if self.has_edge {
            note_special::<false, T>(x.get(t, self.edge), notes);
        }
    }
}

/// Sums stretches of the lanes, one set after the other: `stretch` names those of a number, of which a warp takes four, and `end` takes the notes of each set.
///
/// Each run is read a tile ahead, those of the next set during the last tile of this one.
#[inline(always)]
fn each_stretch<T: Term, const RUN: usize, const LOADS: usize, S: Simt>(
    t: &S,
    x: In<'_, T>,
    row: Row<'_, ROW_THREADS>,
    (count, longest): (usize, usize),
    stretch: impl Fn(usize) -> Stretch,
    mut end: impl FnMut(usize, Notes),
) {
    let place = Place::new(t);
    let most_runs = ((longest / RUN) as u32).div_ceil(ROW_LANES);
    let step = (t.grid_dim() * t.warps()) as usize * WARP_ROWS;
    let mut at = (t.block_idx() * t.warps() + t.warp()) as usize * WARP_ROWS;
    let mut now = stretch(at + place.row);
    let mut values = [[T::NEUTRAL; RUN]; LOADS];
    let mut k = 0;
    while k < LOADS {
        values[k] = now.load::<T, RUN, S>(t, x, k as u32);
        k += 1;
    }
    while at < count {
        let next = stretch(at + step + place.row);
        let edge = if now.has_edge {
            x.get(t, now.edge)
        } else {
            T::NEUTRAL
        };
        let mut notes = Notes::new();
        let mut deposits = 0;
        let mut first = 0;
        while first < most_runs {
            let more = first + (LOADS as u32) < most_runs;
            let ahead = if more { now } else { next };
            let ahead_first = if more { first + LOADS as u32 } else { 0 };
            k = 0;
            while k < LOADS {
                if first + (k as u32) < now.runs {
                    let mut j = 0;
                    while j < RUN {
                        values[k][j].deposit::<false, ROW_THREADS, S>(t, row, &mut notes);
                        j += 1;
                    }
                }
                values[k] = ahead.load::<T, RUN, S>(t, x, ahead_first + k as u32);
                k += 1;
                if k == LOADS / 2 {
                    // Or the assembler would gather all reads at the end of the tile.
                    t.sync_warp();
                }
            }
            deposits += (LOADS * RUN) as u32;
            // One more element may lie beside the runs.
            if deposits + (LOADS * RUN) as u32 + 1 > T::ROW.most_deposits {
                deposits = 0;
                row.carry(t, &T::ROW);
            }
            first += LOADS as u32;
        }
        if now.has_edge {
            edge.deposit::<false, ROW_THREADS, S>(t, row, &mut notes);
        }
        if notes.has_special(T::SPECIAL) {
            now.note_specials::<T, RUN, S>(t, x, &mut notes);
        }
        t.sync_warp();
        end(at + place.row, notes);
        at += step;
        now = next;
    }
}

/// Sets of eight digits, of which each lane of a row has one, from the first to behind the last that can differ from 0.
#[inline(always)]
fn used_digits<T: Term, S: Simt>(t: &S, notes: &Notes) -> (u32, u32) {
    let (mut first, mut end) = (0, T::ROW.digits);
    if T::TRIMMED {
        (first, end) = T::digits_between(notes.extremes(t), T::ROW.digits);
    }
    (first / ROW_LANES, end.div_ceil(ROW_LANES))
}

/// Adds up the digits of the lanes of each row, sets them to 0, carries, and hands each digit to `keep` with its number.
#[inline(always)]
fn merge<T: Term, S: Simt>(
    t: &S,
    row: Row<'_, ROW_THREADS>,
    (first, end): (u32, u32),
    mut keep: impl FnMut(u32, i64),
) -> Release<T> {
    let place = Place::new(t);
    let mut release = Release::<T>::new();
    let mut set = first;
    while set < end {
        let k = set * ROW_LANES + place.lane;
        // Each lane begins with its own column, so that no two are in one bank.
        let at = |j: u32| k * ROW_THREADS + place.first + (place.lane + j) % ROW_LANES;
        let mut lanes = [0_i64; ROW_LANES as usize];
        let mut j = 0;
        while j < ROW_LANES {
            lanes[j as usize] = row.digits.get(t, at(j));
            j += 1;
        }
        let (mut low, mut high) = (0_i64, 0_i64);
        j = 0;
        while j < ROW_LANES {
            row.digits.set(t, at(j), 0);
            low += lanes[j as usize] & T::DIGIT_MASK;
            high += lanes[j as usize] >> T::ROW.digit_bits;
            j += 1;
        }
        keep(k, release.digit(t, k, low, high));
        set += 1;
    }
    release
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
fn row_sums<T: Term, const RUN: usize, const LOADS: usize, S: Simt>(
    t: &S,
    x: In<'_, T>,
    sums: Out<'_, f64>,
    (count, left): (In<'_, u32>, In<'_, u32>),
    length: usize,
    single: u32,
    all: bool,
    digits: Shared<'_, i64>,
) {
    let mut rows = sums.len();
    let mut listed = false;
    if !all {
        let count = count.get(t, 0) as usize;
        // Most rows take as long as all of them.
        listed = 4 * count < 3 * rows;
        if listed {
            rows = count;
        }
    }
    if rows == 0 {
        return;
    }
    let row_of = |k: usize| if listed { left.get(t, k) as usize } else { k };
    let row = Row::<ROW_THREADS> {
        digits,
        column: t.thread_idx(),
    };
    row.clear(t, &T::ROW);
    let place = Place::new(t);
    let stretch = |k: usize| {
        let (first, end) = if k < rows {
            let r = row_of(k);
            (r * length, (r + 1) * length)
        } else {
            (0, 0)
        };
        Stretch::new::<RUN>(first, end, place.lane)
    };
    each_stretch::<T, RUN, LOADS, S>(t, x, row, (rows, length), stretch, |k, notes| {
        end_row::<T, S>(t, row, place, &notes, single != 0, |sum| {
            if k < rows {
                sums.set(t, row_of(k), sum);
            }
        });
    });
}

/// Rounds the sum of a row that the lanes' digits hold, has the first lane `store` it, and sets the digits to 0. All lanes of a warp must call this.
#[inline(always)]
#[track_caller]
fn end_row<T: Term, S: Simt>(
    t: &S,
    row: Row<'_, ROW_THREADS>,
    place: Place,
    notes: &Notes,
    single: bool,
    store: impl FnOnce(f64),
) {
    let digits = row.digits;
    let used = used_digits::<T, S>(t, notes);
    let own = |k: u32| k * ROW_THREADS + row.column;
    let release = merge::<T, S>(t, row, used, |k, digit| digits.set(t, own(k), digit));
    let not_negative = place.any(t.ballot(notes.signs == 0));
    let special = specials(t, place, notes);
    t.sync_warp();
    let sum = rounded_sum(t, digits, release, (special, not_negative), single);
    if place.lane == 0 {
        store(sum);
    }
    t.sync_warp();
    let mut set = used.0;
    while set < used.1 {
        digits.set(t, own(set * ROW_LANES + place.lane), 0);
        set += 1;
    }
}

/// Kinds of special values in the row, by the bits of [`flag`].
#[inline(always)]
fn specials<S: Simt>(t: &S, place: Place, notes: &Notes) -> u32 {
    let mut kinds = 0;
    if t.ballot(notes.special != 0) != 0 {
        let mut kind = flag::NAN;
        while kind <= flag::MINUS_INFINITY {
            let found = place.any(t.ballot(notes.special >> kind & 1 != 0));
            kinds |= u32::from(found) << kind;
            kind += 1;
        }
    }
    kinds
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
fn row_parts<T: Term, const RUN: usize, const LOADS: usize, S: Simt>(
    t: &S,
    x: In<'_, T>,
    result: InOut<'_, u64>,
    length: usize,
    rows: u32,
    parts: u32,
    part: usize,
    digits: Shared<'_, i64>,
) {
    let row = Row::<ROW_THREADS> {
        digits,
        column: t.thread_idx(),
    };
    row.clear(t, &T::ROW);
    let place = Place::new(t);
    let count = rows * parts;
    let row_of = |p: usize| quotient(p as u32, parts) as usize;
    let stretch = |p: usize| {
        let (mut first, mut end) = (0, 0);
        if p < count as usize {
            let r = row_of(p);
            let within = (p - r * parts as usize) * part;
            let limit = |i: usize| r * length + if i < length { i } else { length };
            (first, end) = (limit(within), limit(within + part));
        }
        Stretch::new::<RUN>(first, end, place.lane)
    };
    let work = (count as usize, part);
    each_stretch::<T, RUN, LOADS, S>(t, x, row, work, stretch, |p, notes| {
        let words = row_of(p) * (T::ROW.digits + flag::LEN) as usize;
        let used = used_digits::<T, S>(t, &notes);
        merge::<T, S>(t, row, used, |k, digit| {
            if digit != 0 {
                result.atomic_add(t, words + k as usize, digit as u64);
            }
        });
        let not_negative = place.any(t.ballot(notes.signs == 0));
        let special = specials(t, place, &notes);
        let flags = special | u32::from(not_negative) << flag::NOT_NEGATIVE;
        if place.lane < flag::LEN && flags >> place.lane & 1 != 0 {
            let at = words + (T::ROW.digits + place.lane) as usize;
            result.atomic_add(t, at, 1);
        }
        t.sync_warp();
    });
}

#[inline(always)]
fn round_rows<T: Term, S: Simt>(
    t: &S,
    result: In<'_, u64>,
    sums: Out<'_, f64>,
    single: u32,
    digits: Shared<'_, i64>,
) {
    let place = Place::new(t);
    let stride = (T::ROW.digits + flag::LEN) as usize;
    let step = (t.grid_dim() * t.warps()) as usize * WARP_ROWS;
    let mut at = (t.block_idx() * t.warps() + t.warp()) as usize * WARP_ROWS;
    while at < sums.len() {
        let r = at + place.row;
        let there = r < sums.len();
        let word = |k: u32| {
            if there {
                result.get(t, r * stride + k as usize)
            } else {
                0
            }
        };
        let mut release = Release::<T>::new();
        let mut set = 0;
        while set < T::ROW.digits / ROW_LANES {
            let k = set * ROW_LANES + place.lane;
            let digit = word(k) as i64;
            let (low, high) = (digit & T::DIGIT_MASK, digit >> T::ROW.digit_bits);
            let digit = release.digit(t, k, low, high);
            digits.set(t, k * ROW_THREADS + t.thread_idx(), digit);
            set += 1;
        }
        let mut flags = 0;
        let mut kind = 0;
        while kind < flag::LEN {
            flags |= u32::from(word(T::ROW.digits + kind) != 0) << kind;
            kind += 1;
        }
        let not_negative = flags >> flag::NOT_NEGATIVE != 0;
        let special = flags & ((1 << flag::NOT_NEGATIVE) - 1);
        t.sync_warp();
        let sum = rounded_sum(t, digits, release, (special, not_negative), single != 0);
        if place.lane == 0 && there {
            sums.set(t, r, sum);
        }
        t.sync_warp();
        at += step;
    }
}
