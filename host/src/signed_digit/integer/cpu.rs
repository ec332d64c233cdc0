//! Column sums and columns of products on all cores.
//!
//! Bounds as on the device: limbs are at most 10^9 in magnitude, so two of them add up in 32 bits. A product of balanced limbs is a unit of
//! 2.5e17, of which 64 bits take 36, and the highest limbs make at most 3 more of each pair of rows.

use std::ops::Range;

use rarefy_kernels::signed_digit::packed::UNITS;
use rayon::prelude::*;

use super::matrix::Integers;
use crate::simd::{Job, on_widest};

/// Limbs that one task sums: half a megabyte, so that the columns stay in the nearest cache and tasks are many.
const TASK: usize = 1 << 17;
/// Columns that are summed side by side at least: short rows are stacked.
const STACK: usize = 64;

/// Column sums of all numbers.
pub(crate) fn column_sums(numbers: &Integers) -> Vec<i128> {
    let width = numbers.width();
    let rows = (TASK / width).max(1);
    let parts = numbers.limbs().par_chunks(rows * width).map(|limbs| {
        let mut columns = vec![0i128; width];
        sum_rows(limbs, width, &mut columns);
        columns
    });
    parts.reduce(|| vec![0; width], add)
}

/// Column sums of some of the numbers.
pub(crate) fn column_sums_of(numbers: &Integers, range: Range<usize>) -> Vec<i128> {
    let width = numbers.width();
    let mut columns = vec![0; width];
    let limbs = &numbers.limbs()[range.start * width..range.end * width];
    // In parts, so that no column overflows whatever the range.
    for part in limbs.chunks((1 << 30) / width.next_power_of_two() * width + width) {
        sum_rows(part, width, &mut columns);
    }
    columns
}

/// Adds the column sums of rows, fewer than 2^32 of them.
fn sum_rows(limbs: &[i32], width: usize, columns: &mut [i128]) {
    let stacked = STACK.div_ceil(width) * width;
    let mut sums = vec![0i64; stacked];
    on_widest(AddRows {
        limbs,
        sums: &mut sums,
    });
    for (i, sum) in sums.iter().enumerate() {
        columns[i % width] += i128::from(*sum);
    }
}

/// Adds rows as long as `sums`, the last of which may be cut short.
struct AddRows<'a> {
    limbs: &'a [i32],
    sums: &'a mut [i64],
}

impl Job for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self { limbs, sums } = self;
        let len = sums.len();
        let mut fours = limbs.chunks_exact(4 * len);
        for four in &mut fours {
            let (a, b) = four.split_at(2 * len);
            let ((a, b), (c, d)) = (a.split_at(len), b.split_at(len));
            for ((((sum, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *sum += i64::from(a.wrapping_add(*b)) + i64::from(c.wrapping_add(*d));
            }
        }
        for row in fours.remainder().chunks(len) {
            for (sum, limb) in sums.iter_mut().zip(row) {
                *sum += i64::from(*limb);
            }
        }
    }
}

/// Columns of the sum of products of the numbers of two matrices of as many rows.
pub(crate) fn product_columns(x: &Integers, y: &Integers) -> Vec<i128> {
    let (wx, wy) = (x.width(), y.width());
    let rows = (TASK / (wx * wy)).max(1);
    let parts = (
        x.limbs().par_chunks(rows * wx),
        y.limbs().par_chunks(rows * wy),
    )
        .into_par_iter()
        .map(|(x, y)| {
            let mut columns = vec![0i128; wx + wy];
            on_widest(MultiplyRows {
                x,
                y,
                wx,
                wy,
                columns: &mut columns,
            });
            columns
        });
    parts.reduce(|| vec![0; wx + wy], add)
}

/// Adds the products of the rows of two matrices to columns.
struct MultiplyRows<'a> {
    x: &'a [i32],
    y: &'a [i32],
    wx: usize,
    wy: usize,
    columns: &'a mut [i128],
}

impl Job for MultiplyRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            x,
            y,
            wx,
            wy,
            columns,
        } = self;
        // Rows of equal, small width keep their columns in registers.
        match (wx, wy) {
            (1, 1) => return multiply_short::<1, 1>(x, y, columns),
            (2, 2) => return multiply_short::<2, 3>(x, y, columns),
            (3, 3) => return multiply_short::<3, 5>(x, y, columns),
            (4, 4) => return multiply_short::<4, 7>(x, y, columns),
            (5, 5) => return multiply_short::<5, 9>(x, y, columns),
            (6, 6) => return multiply_short::<6, 11>(x, y, columns),
            (7, 7) => return multiply_short::<7, 13>(x, y, columns),
            (8, 8) => return multiply_short::<8, 15>(x, y, columns),
            _ => {}
        }
        let mut sums = vec![0i64; wx + wy];
        let mut units = 0;
        for (x, y) in x.chunks_exact(wx).zip(y.chunks_exact(wy)) {
            units += 3;
            for (p, &a) in x.iter().enumerate() {
                if units >= UNITS {
                    cut(&mut sums, columns);
                    units = 3;
                }
                units += 1;
                for (sum, &b) in sums[p..].iter_mut().zip(y) {
                    *sum += i64::from(a) * i64::from(b);
                }
            }
        }
        cut(&mut sums, columns);
    }
}

#[inline(always)]
fn multiply_short<const W: usize, const C: usize>(x: &[i32], y: &[i32], columns: &mut [i128]) {
    let run = (UNITS as usize / (W + 3)).max(1);
    for (x, y) in x.chunks(run * W).zip(y.chunks(run * W)) {
        let mut sums = [0i64; C];
        for (x, y) in x.chunks_exact(W).zip(y.chunks_exact(W)) {
            for p in 0..W {
                for q in 0..W {
                    sums[p + q] += i64::from(x[p]) * i64::from(y[q]);
                }
            }
        }
        cut(&mut sums, columns);
    }
}

/// Moves sums over to wider ones.
#[inline(always)]
fn cut(sums: &mut [i64], columns: &mut [i128]) {
    for (sum, column) in sums.iter_mut().zip(columns) {
        *column += i128::from(std::mem::take(sum));
    }
}

fn add(mut a: Vec<i128>, b: Vec<i128>) -> Vec<i128> {
    for (a, b) in a.iter_mut().zip(b) {
        *a += b;
    }
    a
}
