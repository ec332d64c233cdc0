//! The paper's arithmetic, a thread a digit: radix 10, digits -6..6, one byte each, the least first.
//!
//! A matrix holds numbers of `width` digits one after another.

use crate::kernel;
use crate::math::quotient;

use crate::simt::WARP;

/// Radix of a digit.
pub const BASE: i32 = 10;
/// Digits are at most this in magnitude.
pub const LARGEST: i32 = 6;
/// A sum of two digits from here on hands a unit up: `LARGEST - 1` and `LARGEST` keep all digits within the set.
pub const THRESHOLD: i32 = 6;
/// Threads of a block, other than in [`sum_one_by_one()`].
pub const DIGIT_THREADS: u32 = 128;
/// Threads of the one block of [`sum_one_by_one()`].
pub const CHAIN_THREADS: u32 = 1024;

/// The carry of a sum of two digits to the next position.
#[inline(always)]
pub const fn transfer(sum: i32) -> i32 {
    (sum >= THRESHOLD) as i32 - (sum <= -THRESHOLD) as i32
}

/// Digit `place` of the redundant form of `value`, taken from its ordinary digits by the carry-free conversion.
#[inline(always)]
fn digit_of(value: i64, power: u64) -> i32 {
    let magnitude = value.unsigned_abs();
    let digit_at = |power: u64| (magnitude.checked_div(power).unwrap_or(0) % 10) as i32;
    let here = digit_at(power);
    let below = if power >= 10 { digit_at(power / 10) } else { 0 };
    let digit = here - BASE * (here >= THRESHOLD) as i32 + (below >= THRESHOLD) as i32;
    if value < 0 { -digit } else { digit }
}

kernel! {
    /// From ordinary digits 0..9 to digits -6..6, with one more digit a number: a digit from 6 on becomes itself less 10, with a unit to the next
    /// place; of a negative number all digits are negated. One thread a digit, 2 bytes read and 1 written; every digit has one writer.
    pub fn to_signed_digits(t, ordinary: In<u8>, negative: In<u8>, digits: Out<i8>; width: u32) {
        let item = t.global_idx();
        if item < digits.len() {
            let number = item / (width as usize + 1).max(1);
            let place = item - number * (width as usize + 1);
            let row = number * width as usize;
            let mut digit = 0;
            if place < width as usize {
                digit = i32::from(ordinary.get(t, row + place));
                digit -= BASE * (digit >= THRESHOLD) as i32;
            }
            if place > 0 {
                digit += (i32::from(ordinary.get(t, row + place - 1)) >= THRESHOLD) as i32;
            }
            let sign = 1 - 2 * i32::from(negative.get(t, number));
            digits.set(t, item, (sign * digit) as i8);
        }
    }
}

kernel! {
    /// z = x + y for matrices of as many digits: z_i = u_i + t_(i-1) with t_i from s_i = x_i + y_i alone and u_i = s_i - 10 t_i.
    ///
    /// One thread a digit, which also reads the place below: no thread waits for another. 4 bytes read and 1 written a digit.
    pub fn add_digits(t, x: In<i8>, y: In<i8>, z: Out<i8>; width: u32) {
        let item = t.global_idx();
        if item < z.len() {
            let sum = i32::from(x.get(t, item)) + i32::from(y.get(t, item));
            let mut digit = sum - BASE * transfer(sum);
            if !item.is_multiple_of(width as usize) {
                digit += transfer(i32::from(x.get(t, item - 1)) + i32::from(y.get(t, item - 1)));
            }
            z.set(t, item, digit as i8);
        }
    }
}

kernel! {
    /// The first method: one number after another is added, all digits at once, with a barrier after each addition.
    ///
    /// One block, whose threads own the digits in turn. The running sum has two copies in shared memory, 2 `sum_width` bytes: an addition reads the one and
    /// writes the other, so one barrier separates it from the next. 2 bytes read a digit of each number.
    pub fn sum_one_by_one(t, numbers: In<i8>, sum: Out<i8>; count: u32, width: u32, sum_width: u32)
    shared { running: [i8; 2 * sum_width] } {
        let mut place = t.thread_idx();
        while place < sum_width {
            running.set(t, place, 0);
            place += t.block_dim();
        }
        t.sync_threads();
        let mut from = 0;
        for number in 0..count {
            let row = number as usize * width as usize;
            let to = sum_width - from;
            let mut place = t.thread_idx();
            while place < sum_width {
                let at = |place: u32| {
                    let digit = if place < width { i32::from(numbers.get(t, row + place as usize)) } else { 0 };
                    digit + i32::from(running.get(t, from + place))
                };
                let total = at(place);
                let mut digit = total - BASE * transfer(total);
                if place > 0 {
                    digit += transfer(at(place - 1));
                }
                running.set(t, to + place, digit as i8);
                place += t.block_dim();
            }
            t.sync_threads();
            from = to;
        }
        let mut place = t.thread_idx();
        while place < sum_width {
            sum.set(t, place as usize, running.get(t, from + place));
            place += t.block_dim();
        }
    }
}

kernel! {
    /// Column sums of the second method (its step 1): columns\[i\] += sum of digit i of all numbers.
    ///
    /// One thread a column, as in the paper, and blocks over the numbers too: block b has the column tile b mod `tiles` and every
    /// so-manyth eight numbers. 1 byte and 1 addition a digit; added up by integer atomics, so the bits do not depend on the order.
    pub fn digit_columns(t, numbers: In<i8>, columns: InOut<u64>; count: u32, width: u32, tiles: u32) {
        let group = quotient(t.block_idx(), tiles);
        let column = (t.block_idx() - group * tiles) * t.block_dim() + t.thread_idx();
        if column < width {
            let groups = quotient(t.grid_dim(), tiles);
            let mut total = 0i64;
            let mut number = group * 8;
            while number < count {
                // A sum of eight digits is small; its loads are independent.
                let mut few = 0i32;
                for i in 0..8 {
                    let row = number + i;
                    if row < count {
                        few += i32::from(numbers.get(t, row as usize * width as usize + column as usize));
                    }
                }
                total += i64::from(few);
                number += groups * 8;
            }
            columns.atomic_add(t, column as usize, total as u64);
        }
    }
}

kernel! {
    /// The rows that column sums make (steps 3 and 4): with `by_place` row j holds digit j of every column sum C_i at place i + j; else, as in the paper,
    /// row i holds all digits of C_i from place i on. One thread a digit of a row; every digit has one writer.
    pub fn column_rows(t, columns: In<u64>, rows: Out<i8>; count: u32, width: u32, by_place: u32) {
        let item = t.global_idx();
        if item < rows.len() {
            let row = quotient(item as u32, width);
            let place = item as u32 - row * width;
            let mut digit = 0;
            if place >= row {
                let (column, which) = if by_place == 1 { (place - row, row) } else { (row, place - row) };
                // 10^19 is the largest power that 64 bits hold; a column sum has 19 digits at most, its redundant form one more.
                if column < count && which < 20 {
                    let mut power = 1u64;
                    for _ in 0..which {
                        power *= 10;
                    }
                    digit = digit_of(columns.get(t, column as usize) as i64, power);
                }
            }
            rows.set(t, item, digit as i8);
        }
    }
}

kernel! {
    /// Columns of the partial products of pairs of numbers (eq. 16): columns\[c\] += sum over all pairs and p of x_p y_(c-p).
    ///
    /// One thread a column of `x_width + y_width`, blocks over the pairs too, as in [`digit_columns()`]. The digit of x is the same for all threads, those
    /// of y lie side by side. Sums of a pair stay below 36 times the width: 32 bits hold them for any width that fits into memory.
    pub fn product_columns(
        t, x: In<i8>, y: In<i8>, columns: InOut<u64>; pairs: u32, x_width: u32, y_width: u32, tiles: u32,
    ) {
        let group = quotient(t.block_idx(), tiles);
        let column = (t.block_idx() - group * tiles) * t.block_dim() + t.thread_idx();
        if column < x_width + y_width {
            let low = if column < y_width { 0 } else { column + 1 - y_width };
            let high = if column < x_width { column + 1 } else { x_width };
            let groups = quotient(t.grid_dim(), tiles);
            let mut total = 0i64;
            let mut pair = group;
            while pair < pairs {
                let xs = pair as usize * x_width as usize;
                let ys = pair as usize * y_width as usize + column as usize;
                let mut few = 0i32;
                for p in low..high {
                    few += i32::from(x.get(t, xs + p as usize)) * i32::from(y.get(t, ys - p as usize));
                }
                total += i64::from(few);
                pair += groups;
            }
            columns.atomic_add(t, column as usize, total as u64);
        }
    }
}

kernel! {
    /// From digits -6..6 to ordinary ones: number n becomes `width` digits 0..9 and sign\[n\] = -1, 0 or 1. One warp a number.
    ///
    /// The sign is that of the leading digit that is not zero, since the tail is less than a unit of it. Times the sign, a digit below zero borrows from above
    /// and a zero passes a borrow on: of 32 digits two ballots and one addition settle all borrows. 2 bytes read and 1 written a digit.
    pub fn from_signed_digits(t, digits: In<i8>, ordinary: Out<u8>, sign: Out<i32>; count: u32, width: u32) {
        let number = t.block_idx() * t.warps() + t.warp();
        if number < count {
            let lane = t.lane();
            let row = number as usize * width as usize;
            let mut leading = 0;
            let mut base = 0;
            while base < width {
                let mut digit = 0;
                if base + lane < width {
                    digit = i32::from(digits.get(t, row + (base + lane) as usize));
                }
                let nonzero = t.ballot(digit != 0);
                let negative = t.ballot(digit < 0);
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
            while base < width {
                let mut digit = 0;
                if base + lane < width {
                    digit = leading * i32::from(digits.get(t, row + (base + lane) as usize));
                }
                let generate = t.ballot(digit < 0);
                let transmit = generate | t.ballot(digit == 0);
                let sum = u64::from(generate) + u64::from(transmit) + u64::from(borrow);
                let borrows = sum as u32 ^ generate ^ transmit;
                digit -= (borrows >> lane & 1) as i32;
                digit += if digit < 0 { BASE } else { 0 };
                if base + lane < width {
                    ordinary.set(t, row + (base + lane) as usize, digit as u8);
                }
                borrow = (sum >> 32) as u32;
                base += WARP;
            }
        }
    }
}
