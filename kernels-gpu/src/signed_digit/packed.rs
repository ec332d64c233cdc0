//! Big integers of radix 10^9: packing, column sums, dot products, and the one carry pass at the end.
//!
//! **Rows.** A number is a row of `width` limbs, the least first, and rows lie one after another without a gap. Every limb but the highest is
//! balanced, |d| <= 5e8, and the highest is at most 10^9 in magnitude: the paper's conversion to redundant digits with 10^9 for a radix. The sign of
//! a number is the sign of its limbs.
//!
//! **Bounds.** A 64-bit column takes 9.2e9 limbs. A product of two balanced limbs is at most 2.5e17 =: 1 unit, and 2^63 holds 36 of them; one that
//! involves a highest limb counts 2, of both highest limbs 4. Columns of products are therefore cut, before 36 units are exceeded, into
//! `low` (the lower 32 bits, unsigned) and `high` (the rest): each takes 2^31 cuts.

use crate::kernel;
use crate::math::quotient;
use crate::memory::{In, Quad};
use crate::simt::{Simt, WARP};

/// Radix of a limb.
pub const RADIX: i64 = 1_000_000_000;
/// Decimal digits of a limb.
pub const DIGITS: u32 = 9;
/// A limb from here on is replaced by itself less the radix, with a transfer to the next one.
pub const HALF: i64 = RADIX / 2;
/// Products of two balanced limbs that a 64-bit column holds.
pub const UNITS: u32 = 36;
/// Rows that one launch sums: their columns stay below 2^63 and, of products, below 2^31 cuts.
pub const MAX_ROWS: u64 = 1 << 31;

/// Most threads of a block of [`column_sums()`].
pub const SUM_THREADS: u32 = 256;
/// Threads of a block of [`short_dot()`].
pub const SHORT_THREADS: u32 = 128;
/// Limbs of the rows that [`short_dot()`] multiplies: 46 to 54 digits.
pub const SHORT_WIDTH: u32 = 6;
/// Threads of a block of [`long_dot()`].
pub const LONG_THREADS: u32 = 128;
/// Column sums that a thread of [`long_dot()`] keeps: four at its place and four a row's width above, low and high parts.
const LONG_SUMS: u32 = 16;

/// How the quads (four limbs, 16 bytes) of a matrix are dealt to threads.
///
/// The columns of a quad repeat after `period` quads, the least common multiple of 4 and the width. A thread steps by multiples of the period, so its
/// four columns never change.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Deal {
    /// Quads of the matrix; limbs that fill the last one are zero.
    pub quads: u64,
    /// Limbs of a row.
    pub width: u32,
    /// Quads after which the columns repeat.
    pub period: u32,
    /// Periods side by side in a block, where a period fits into one; else 1.
    pub stacked: u32,
    /// Blocks side by side that one period takes, where it does not fit into one; else 1.
    pub tiles: u32,
}

impl Deal {
    /// For `rows` rows of `width` limbs each.
    pub fn new(rows: u64, width: u32) -> Self {
        let period = match width % 4 {
            0 => width / 4,
            2 => width / 2,
            _ => width,
        };
        Self {
            quads: (rows * u64::from(width)).div_ceil(4),
            width,
            period,
            stacked: quotient(SUM_THREADS, period).max(1),
            tiles: period.div_ceil(SUM_THREADS),
        }
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        (self.stacked * self.period)
            .min(SUM_THREADS)
            .next_multiple_of(WARP)
    }
}

kernel! {
    /// columns\[c\] += sum of limb c of all rows, as 64-bit two's complement.
    ///
    /// The threads of a block lie side by side over whole periods of columns; each keeps the sums of its four columns over every
    /// so-manyth period, eight independent 16-byte loads at a time. 4 bytes and 2 integer additions a limb, as limbs are added in
    /// pairs (|a + b| <= 2e9 < 2^31) before they are widened. Threads of the same columns are added up in shared memory (8 KiB), then atomically
    /// with those of other blocks: integers, so the bits do not depend on the order.
    pub fn column_sums(t, limbs: In<Quad<i32>>, columns: InOut<u64>; deal: Deal)
    shared { sums: [i64; 4 * SUM_THREADS] } {
        let k = t.thread_idx();
        // The period that this thread begins with, and its place therein.
        let group = quotient(t.block_idx(), deal.tiles);
        let tile = t.block_idx() - group * deal.tiles;
        let layer = quotient(k, deal.period);
        let (first, place) = if deal.tiles == 1 {
            (group * deal.stacked + layer, k - layer * deal.period)
        } else {
            (group, tile * SUM_THREADS + k)
        };
        let works = layer < deal.stacked && place < deal.period;
        let step = quotient(t.grid_dim(), deal.tiles) as usize * deal.stacked as usize * deal.period as usize;
        let mut sum = [0i64; 4];
        if works {
            let quads = deal.quads as usize;
            let mut quad = first as usize * deal.period as usize + place as usize;
            while quad + 7 * step < quads {
                let mut loaded = [Quad([0i32; 4]); 8];
                let mut i = 0;
                while i < 8 {
                    loaded[i] = limbs.get(t, quad + i * step);
                    i += 1;
                }
                i = 0;
                while i < 8 {
                    add_pair(&mut sum, loaded[i], loaded[i + 1]);
                    i += 2;
                }
                quad += 8 * step;
            }
            // The rest, at once as well.
            if quad < quads {
                let mut loaded = [Quad([0i32; 4]); 8];
                let mut i = 0;
                while i < 7 {
                    if quad + i * step < quads {
                        loaded[i] = limbs.get(t, quad + i * step);
                    }
                    i += 1;
                }
                i = 0;
                while i < 8 {
                    add_pair(&mut sum, loaded[i], loaded[i + 1]);
                    i += 2;
                }
            }
        }
        for j in 0..4 {
            sums.set(t, 4 * k + j, sum[j as usize]);
        }
        t.sync_threads();
        // One thread a column, over the layers of the block and the rows of a period: neighbours add to neighbouring columns, which
        // travel together. Of a period that several blocks share, each has a part.
        let (items, limbs_here) = if deal.tiles == 1 { (deal.width, 4 * deal.period) } else { (4 * SUM_THREADS, 4 * SUM_THREADS) };
        let mut item = k;
        while item < items {
            let mut total = 0i64;
            let mut limb = item;
            while limb < limbs_here {
                for layer in 0..deal.stacked {
                    total += sums.get(t, 4 * layer * deal.period + limb);
                }
                limb += items;
            }
            let limb = 4 * tile * SUM_THREADS + item;
            if limb < 4 * deal.period {
                let column = limb - quotient(limb, deal.width) * deal.width;
                columns.atomic_add(t, column as usize, total as u64);
            }
            item += t.block_dim();
        }
    }
}

#[inline(always)]
fn add_pair(sum: &mut [i64; 4], a: Quad<i32>, b: Quad<i32>) {
    for j in 0..4 {
        sum[j] += i64::from(a.0[j].wrapping_add(b.0[j]));
    }
}

kernel! {
    /// Sets column sums to zero: one thread a column.
    pub fn clear_columns(t, columns: Out<u64>) {
        let column = t.global_idx();
        if column < columns.len() {
            columns.set(t, column, 0);
        }
    }
}

kernel! {
    /// Column sums of many groups of rows: columns\[s\]\[c\] = sum of limb c of the rows first\[s\] to below first\[s+1\]. One warp a group.
    ///
    /// Lanes lie side by side over the limbs, over several rows where those are short, and step by whole rows, so that each keeps one column;
    /// four independent loads at a time, 4 bytes a limb. Lanes of the same column exchange by shuffles. Every column has one writer.
    pub fn segmented_sums(t, limbs: In<i32>, first: In<u32>, columns: Out<i64>; groups: u32, width: u32) {
        let group = t.block_idx() * t.warps() + t.warp();
        // The same for all lanes of a warp.
        if group < groups {
            let begin = first.get(t, group as usize) as usize * width as usize;
            let end = first.get(t, group as usize + 1) as usize * width as usize;
            let rows = quotient(WARP, width);
            let mut base = 0;
            while base < width {
                // Short rows are dealt together; of long ones, 32 columns after another.
                let (works, step) = if rows > 0 {
                    (t.lane() < rows * width, rows * width)
                } else {
                    (base + t.lane() < width, width)
                };
                let step = step as usize;
                let mut sum = 0i64;
                if works {
                    let mut limb = begin + (base + t.lane()) as usize;
                    while limb + 3 * step < end {
                        let a = limbs.get(t, limb);
                        let b = limbs.get(t, limb + step);
                        let c = limbs.get(t, limb + 2 * step);
                        let d = limbs.get(t, limb + 3 * step);
                        sum += i64::from(a.wrapping_add(b)) + i64::from(c.wrapping_add(d));
                        limb += 4 * step;
                    }
                    while limb < end {
                        sum += i64::from(limbs.get(t, limb));
                        limb += step;
                    }
                }
                let mut total = sum;
                for row in 1..rows {
                    let source = t.lane() + row * width;
                    total += t.shuffle(sum, if source < WARP { source } else { 0 });
                }
                if base + t.lane() < width && (rows == 0 || t.lane() < width) {
                    columns.set(t, group as usize * width as usize + (base + t.lane()) as usize, total);
                }
                base += if rows > 0 { width } else { WARP };
            }
        }
    }
}

/// Limbs by which a sum of 64-bit columns can be longer than the columns.
pub const EXTRA_LIMBS: u32 = 3;

/// `value` as a balanced limb, |limb| <= 5e8, and what goes to the next one.
#[inline(always)]
const fn balanced(value: i64) -> (i64, i64) {
    let mut carry = value / RADIX;
    let mut limb = value - carry * RADIX;
    if limb > HALF {
        limb -= RADIX;
        carry += 1;
    }
    if limb < -HALF {
        limb += RADIX;
        carry -= 1;
    }
    (limb, carry)
}

kernel! {
    /// From column sums to ordinary limbs: sum s of `width` columns becomes limbs\[s\], `width` + 3 of them from 0 to 10^9 - 1, and sign\[s\] = -1, 0 or 1.
    ///
    /// One warp a sum, 32 limbs at a time from the lowest. Three carry-free passes, each in all lanes at once, bring |C| < 2^63 to 9.8e9, to 5e8 + 10 and to
    /// 5e8 + 1: what a limb keeps and what it takes from its neighbour. The sign is that of the leading limb that is not zero, because
    /// the tail is less than one unit of it. Times the sign, limbs below zero borrow from above: limb by limb they generate (d < 0), propagate
    /// (d = 0) or stop a borrow, so two ballots and one 32-bit addition settle the borrows of 32 limbs.
    pub fn release_carries(t, columns: In<i64>, limbs: InOut<i32>, sign: Out<i32>; sums: u32, width: u32) {
        let number = t.block_idx() * t.warps() + t.warp();
        if number < sums {
            let lane = t.lane();
            let below = if lane > 0 { lane - 1 } else { WARP - 1 };
            let len = width + EXTRA_LIMBS;
            let out = number as usize * len as usize;
            // The carries of each pass from one 32 limbs to the next.
            let mut handed = [0i64; 3];
            let mut leading = 0i32;
            let mut base = 0;
            while base < len {
                let limb = base + lane;
                let mut value = 0;
                if limb < width {
                    value = columns.get(t, number as usize * width as usize + limb as usize);
                }
                for pass in 0..3 {
                    let (kept, carry) = balanced(value);
                    let incoming = t.shuffle(carry, below);
                    value = kept + if lane == 0 { handed[pass] } else { incoming };
                    handed[pass] = t.shuffle(carry, WARP - 1);
                }
                if limb < len {
                    limbs.set(t, out + limb as usize, value as i32);
                }
                let nonzero = t.ballot(value != 0);
                let negative = t.ballot(value < 0);
                if nonzero != 0 {
                    let highest = WARP - 1 - nonzero.leading_zeros();
                    leading = if negative >> highest & 1 == 1 { -1 } else { 1 };
                }
                base += WARP;
            }
            if lane == 0 {
                sign.set(t, number as usize, leading);
            }
            let mut borrow = 0u32;
            base = 0;
            while base < len {
                let limb = base + lane;
                // Each lane reads what it wrote.
                let mut value = 0;
                if limb < len {
                    value = leading * limbs.get(t, out + limb as usize);
                }
                let generate = t.ballot(value < 0);
                let transmit = generate | t.ballot(value == 0);
                // Adding the two masks carries where a limb borrows: both bits set generate, one propagates.
                let sum = u64::from(generate) + u64::from(transmit) + u64::from(borrow);
                let borrows = sum as u32 ^ generate ^ transmit;
                value -= (borrows >> lane & 1) as i32;
                if limb < len {
                    let value = if value < 0 { value + RADIX as i32 } else { value };
                    limbs.set(t, out + limb as usize, value);
                }
                borrow = (sum >> 32) as u32;
                base += WARP;
            }
        }
    }
}

kernel! {
    /// Packs decimal digits: number i is text\[start\[i\]\] to below text\[end\[i\]\], with an optional sign, and becomes a row of `width` limbs. One thread a quad.
    ///
    /// A limb reads its nine characters and, of the limb below, the leading one: from 5 on that one hands a unit up, which is the whole
    /// carry of a conversion to redundant digits. About 10 bytes read, which neighbours share, and 4 written a limb. Characters other than digits, and numbers without
    /// digits or with too many, are counted in `faults`. Every quad has one writer.
    pub fn pack_digits(t, text: In<u8>, start: In<u32>, end: In<u32>, limbs: Out<Quad<i32>>, faults: InOut<u32>; width: u32) {
        let item = t.global_idx();
        if item < limbs.len() {
            let mut number = quotient(4 * item as u32, width);
            let mut limb = 4 * item as u32 - number * width;
            let mut packed = [0i32; 4];
            let mut wrong = false;
            for j in 0..4 {
                if (number as usize) < start.len() {
                    let span = [start.get(t, number as usize), end.get(t, number as usize)];
                    match limb_of_text(t, text, span, limb, width) {
                        Some(value) => packed[j] = value,
                        None => wrong = true,
                    }
                }
                limb += 1;
                if limb == width {
                    limb = 0;
                    number += 1;
                }
            }
            if wrong {
                faults.atomic_add(t, 0, 1);
            }
            limbs.set(t, item, Quad(packed));
        }
    }
}

/// Limb number `limb` of the integer that the characters from `from` to below `to` spell; `None` where they spell none, as far as this limb sees.
#[inline(always)]
#[track_caller]
fn limb_of_text<S: Simt>(
    t: &S,
    text: In<'_, u8>,
    [from, to]: [u32; 2],
    limb: u32,
    width: u32,
) -> Option<i32> {
    if from >= to {
        return None;
    }
    let sign = text.get(t, from as usize);
    let negative = sign == b'-';
    let from = if negative || sign == b'+' {
        from + 1
    } else {
        from
    };
    if from >= to || to - from > width * DIGITS {
        return None;
    }
    let len = to - from;
    let skipped = limb * DIGITS;
    let mut value = 0i32;
    let mut wrong = false;
    if skipped < len {
        let low = to - skipped;
        let count = if len - skipped < DIGITS {
            len - skipped
        } else {
            DIGITS
        };
        for i in 0..DIGITS {
            if i < count {
                let digit = u32::from(text.get(t, (low - count + i) as usize)).wrapping_sub(48);
                wrong |= digit > 9;
                value = value.wrapping_mul(10).wrapping_add(digit as i32);
            }
        }
    }
    if limb + 1 < width && value >= HALF as i32 {
        value = value.wrapping_sub(RADIX as i32);
    }
    // The leading character of a whole limb below.
    if limb > 0 && skipped <= len && text.get(t, (to - skipped) as usize) >= b'5' {
        value = value.wrapping_add(1);
    }
    if wrong {
        return None;
    }
    Some(if negative { -value } else { value })
}

/// A column sum in two parts, c = low + 2^32 high, with what has not been cut yet.
#[derive(Clone, Copy)]
struct Cut {
    low: u64,
    high: i64,
}

impl Cut {
    const ZERO: Self = Self { low: 0, high: 0 };

    /// Takes a column over.
    #[inline(always)]
    fn add(&mut self, column: &mut i64) {
        self.low += *column as u64 & 0xFFFF_FFFF;
        self.high += *column >> 32;
        *column = 0;
    }
}

kernel! {
    /// Dot product of rows of six limbs: parts\[c\] += low part and parts\[11 + c\] += high part of the sum over all pairs of the products of limbs p, q with
    /// p + q = c.
    ///
    /// One thread multiplies two pairs at a time, three quads of each matrix, 36 products a pair, and keeps all eleven columns in registers;
    /// they are cut after every `run` times two pairs. 48 bytes, 36 wide multiply-adds and about 66 / (2 run) additions a pair. Warps add up by shuffles,
    /// a block in shared memory, blocks atomically: integers, so the bits do not depend on the order. `run` times two pairs have at most 36 units.
    pub fn short_dot(t, x: In<Quad<i32>>, y: In<Quad<i32>>, parts: InOut<u64>; pairs: u64, run: u32)
    shared { sums: [u64; SHORT_THREADS / WARP * SHORT_PARTS] } {
        let mut columns = [0i64; SHORT_COLUMNS];
        let mut cut = [Cut::ZERO; SHORT_COLUMNS];
        // A last pair without a second one is followed by a row of zeros.
        let twos = (pairs as usize).div_ceil(2);
        let mut two = t.global_idx();
        let mut since = 0;
        while two < twos {
            let a = [x.get(t, 3 * two), x.get(t, 3 * two + 1), x.get(t, 3 * two + 2)];
            let b = [y.get(t, 3 * two), y.get(t, 3 * two + 1), y.get(t, 3 * two + 2)];
            let row = |q: &[Quad<i32>; 3], second: usize| {
                let [q0, q1, q2] = q;
                if second == 0 {
                    [q0.0[0], q0.0[1], q0.0[2], q0.0[3], q1.0[0], q1.0[1]]
                } else {
                    [q1.0[2], q1.0[3], q2.0[0], q2.0[1], q2.0[2], q2.0[3]]
                }
            };
            multiply(&mut columns, row(&a, 0), row(&b, 0));
            multiply(&mut columns, row(&a, 1), row(&b, 1));
            since += 1;
            if since >= run {
                since = 0;
                for c in 0..SHORT_COLUMNS {
                    cut[c].add(&mut columns[c]);
                }
            }
            two += t.global_dim();
        }
        for c in 0..SHORT_COLUMNS {
            cut[c].add(&mut columns[c]);
            let low = warp_sum(t, cut[c].low);
            let high = warp_sum(t, cut[c].high as u64);
            if t.lane() == 0 {
                sums.set(t, t.warp() * SHORT_PARTS + c as u32, low);
                sums.set(t, t.warp() * SHORT_PARTS + (SHORT_COLUMNS + c) as u32, high);
            }
        }
        t.sync_threads();
        let part = t.thread_idx();
        if part < SHORT_PARTS {
            let mut total = 0u64;
            for warp in 0..t.warps() {
                total = total.wrapping_add(sums.get(t, warp * SHORT_PARTS + part));
            }
            parts.atomic_add(t, part as usize, total);
        }
    }
}

/// Columns of a product of rows of six limbs.
const SHORT_COLUMNS: usize = 2 * SHORT_WIDTH as usize - 1;
/// Their low and high parts.
pub const SHORT_PARTS: u32 = 2 * SHORT_COLUMNS as u32;

#[inline(always)]
fn multiply(columns: &mut [i64; SHORT_COLUMNS], a: [i32; 6], b: [i32; 6]) {
    for p in 0..6 {
        for q in 0..6 {
            columns[p + q] += i64::from(a[p]) * i64::from(b[q]);
        }
    }
}

/// Sum over the lanes of a warp, modulo 2^64.
#[inline(always)]
#[track_caller]
fn warp_sum<S: Simt>(t: &S, value: u64) -> u64 {
    let mut value = value;
    let mut mask = WARP / 2;
    while mask > 0 {
        value = value.wrapping_add(t.shuffle_xor(value, mask));
        mask /= 2;
    }
    value
}

/// The shape of a long dot product.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct LongShape {
    /// Pairs of rows.
    pub pairs: u64,
    /// Quads of a row: its limbs are padded to a multiple of four.
    pub quads: u32,
    /// Blocks side by side that the quads of a row take, 32 each.
    pub tiles: u32,
}

impl LongShape {
    /// For `pairs` pairs of rows of `quads` quads.
    pub fn new(pairs: u64, quads: u32) -> Self {
        Self {
            pairs,
            quads,
            tiles: quads.div_ceil(WARP),
        }
    }

    /// Lanes that one pair takes in a block's tile.
    #[inline(always)]
    pub fn lanes(&self) -> u32 {
        if self.quads < WARP { self.quads } else { WARP }
    }
}

kernel! {
    /// Dot product of rows of any length, a multiple of four limbs: parts\[c\] += low part and parts\[8 quads + c\] += high part of column c of the products.
    ///
    /// Lane g of the lanes of a pair keeps the columns 4g to 4g+3 and the same a row's width above: for a quad P of x it meets the quads g-P and g-P-1
    /// of y, counted cyclically, and those that wrap around belong to the upper columns. So all lanes do the same 16 wide
    /// multiply-adds a step, for two 16-byte loads, one of them the same for the pair's lanes; rows come from the first-level cache after their
    /// first use. Short rows share a warp, long ones take a block for every 32 quads. Columns are cut before they exceed 36 units: a
    /// step adds at most 4, and the highest limbs 3 more a pair. Added up in shared memory (16 KiB) and then atomically.
    pub fn long_dot(t, x: In<Quad<i32>>, y: In<Quad<i32>>, parts: InOut<u64>; shape: LongShape)
    shared { sums: [u64; LONG_SUMS * LONG_THREADS] } {
        let quads = shape.quads;
        let lanes = shape.lanes();
        // Pairs side by side in a warp, and this thread's place among them.
        let side = quotient(WARP, lanes);
        let slot = quotient(t.lane(), lanes);
        let group = quotient(t.block_idx(), shape.tiles);
        let tile = t.block_idx() - group * shape.tiles;
        let place = tile * WARP + t.lane() - slot * lanes;
        let works = slot < side && place < quads;

        let mut lower = [Cut::ZERO; 4];
        let mut upper = [Cut::ZERO; 4];
        if works {
            let step = quotient(t.grid_dim(), shape.tiles) as usize * (t.warps() * side) as usize;
            let mut pair = (group as usize * t.warps() as usize + t.warp() as usize) * side as usize + slot as usize;
            let mut below = [0i64; 4];
            let mut above = [0i64; 4];
            let mut units = 0;
            while pair < shape.pairs as usize {
                let row = pair * quads as usize;
                units += 3;
                let mut at = place;
                let mut current = y.get(t, row + at as usize);
                for step_of in 0..quads {
                    if units + 4 > UNITS {
                        cut_all(&mut lower, &mut below);
                        cut_all(&mut upper, &mut above);
                        units = 3;
                    }
                    units += 4;
                    at = if at == 0 { quads - 1 } else { at - 1 };
                    let previous = y.get(t, row + at as usize);
                    let a = x.get(t, row + step_of as usize);
                    // Quads g - P that do not wrap come first, so one set of columns is filled after the other.
                    if step_of <= place {
                        triangle(&mut below, a, current);
                    } else {
                        triangle(&mut above, a, current);
                    }
                    if step_of < place {
                        rest(&mut below, a, previous);
                    } else {
                        rest(&mut above, a, previous);
                    }
                    current = previous;
                }
                pair += step;
            }
            cut_all(&mut lower, &mut below);
            cut_all(&mut upper, &mut above);
        }
        let k = t.thread_idx();
        for j in 0..4 {
            let value = [lower[j].low, upper[j].low, lower[j].high as u64, upper[j].high as u64];
            for v in 0..4 {
                sums.set(t, (v * 4 + j as u32) * LONG_THREADS + k, value[v as usize]);
            }
        }
        t.sync_threads();
        let mut item = k;
        while item < LONG_SUMS * lanes {
            let sum = quotient(item, lanes);
            let here = item - sum * lanes;
            let place = tile * WARP + here;
            if place < quads {
                let mut total = 0u64;
                for warp in 0..t.warps() {
                    for slot in 0..side {
                        let thread = warp * WARP + slot * lanes + here;
                        total = total.wrapping_add(sums.get(t, sum * LONG_THREADS + thread));
                    }
                }
                // sum = 8 high + 4 upper + j
                let column = 4 * place + sum % 4 + if sum / 4 % 2 == 1 { 4 * quads } else { 0 };
                let part = column + if sum >= 8 { 8 * quads } else { 0 };
                parts.atomic_add(t, part as usize, total);
            }
            item += t.block_dim();
        }
    }
}

/// Products a_i b_(j-i) for j >= i.
#[inline(always)]
fn triangle(columns: &mut [i64; 4], a: Quad<i32>, b: Quad<i32>) {
    for i in 0..4 {
        for j in i..4 {
            columns[j] += i64::from(a.0[i]) * i64::from(b.0[j - i]);
        }
    }
}

/// Products a_i b_(4+j-i) for j < i.
#[inline(always)]
fn rest(columns: &mut [i64; 4], a: Quad<i32>, b: Quad<i32>) {
    for i in 1..4 {
        for j in 0..i {
            columns[j] += i64::from(a.0[i]) * i64::from(b.0[4 + j - i]);
        }
    }
}

#[inline(always)]
fn cut_all(cut: &mut [Cut; 4], columns: &mut [i64; 4]) {
    for j in 0..4 {
        cut[j].add(&mut columns[j]);
    }
}

/// The shape of a discrete Fourier transform.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct TransformShape {
    /// Points.
    pub points: u32,
    /// Limbs of a row of the input.
    pub width: u32,
    /// Limbs of a row of the table.
    pub table_width: u32,
    /// 1 for real input, whose rows are the n real parts, 2 for complex input, with n imaginary parts after them.
    pub parts: u32,
    /// 1 for exp(+i angle), 0 for exp(-i angle).
    pub inverse: u32,
}

/// Threads of a block of [`transform()`].
pub const TRANSFORM_THREADS: u32 = 64;

kernel! {
    /// Discrete Fourier transform of integers with a table of integers, exactly: column sums of every output, in low and high parts.
    ///
    /// `table` holds n rows of cosines and n rows of sines of 2 pi j / n. Output o < n is the real part o, output n + o the imaginary one; out\[o\]\[c\] and
    /// out\[o\]\[columns + c\] are the low and the high part of column c of `width + table_width`. One block an output, thread c sums column c over all
    /// points: products x_p w_(c-p), the limb of x the same for all threads, the limbs of w side by side. One multiply-add and two
    /// loads a product, from caches. Every element has one writer.
    pub fn transform(t, x: In<i32>, table: In<i32>, out: Out<u64>; shape: TransformShape) {
        let n = shape.points;
        let output = t.block_idx();
        let imaginary = output >= n;
        let k = if imaginary { output - n } else { output };
        let columns = shape.width + shape.table_width;
        let mut column = t.thread_idx();
        while column < columns {
            // Limbs p of x for which the table's limb column - p exists.
            let low = if column < shape.table_width { 0 } else { column + 1 - shape.table_width };
            let high = if column < shape.width { column + 1 } else { shape.width };
            let mut cut = Cut::ZERO;
            let mut sum = 0i64;
            let mut units = 0;
            for part in 0..shape.parts {
                // (a + ib) (c -+ is): the cosine goes with the same part, the sine with the other one.
                let sine = (part == 1) != imaginary;
                let minus = sine && (imaginary != (shape.inverse == 1));
                let mut j = 0;
                // j k modulo n.
                let mut angle = 0;
                while j < n {
                    let row = (part * n + j) as usize * shape.width as usize;
                    let entry = if sine { n + angle } else { angle } as usize * shape.table_width as usize;
                    units += 3;
                    for p in low..high {
                        if units >= UNITS {
                            cut.add(&mut sum);
                            units = 3;
                        }
                        units += 1;
                        let product = i64::from(x.get(t, row + p as usize)) * i64::from(table.get(t, entry + (column - p) as usize));
                        sum += if minus { -product } else { product };
                    }
                    j += 1;
                    angle += k;
                    angle -= if angle >= n { n } else { 0 };
                }
            }
            cut.add(&mut sum);
            let at = output as usize * 2 * columns as usize + column as usize;
            out.set(t, at, cut.low);
            out.set(t, at + columns as usize, cut.high as u64);
            column += t.block_dim();
        }
    }
}
