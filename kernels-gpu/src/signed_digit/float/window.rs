//! Sums of numbers of similar size in registers.
//!
//! Level j is a number `L_j = 1.5 2^(k_j) + s_j`, of `f64`, whose last bit is worth `u_j = 2^(k_j - 52)`. An addition to it rounds to multiples of u_j:
//!
//! ```text
//! L' = L + x,     rest = (L - L') + x,
//! ```
//!
//! where both differences are exact, as |L| exceeds |x|. No bit is lost: `L' + rest = L + x`. The rest goes to the next level, `k_(j+1) = k_j - 44`.
//!
//! | quantity | bound |
//! |---|---|
//! | x at level 0 | 2^(k_0 - 9) |
//! | x at another level: half of the last bit above | 2^(k_j - 9) |
//! | s_j, a sum of 128 of them | 2^(k_j - 2), so that the last bit of L_j remains u_j |
//!
//! A rest behind the last level is for the digits to take.

use super::deposit::Term;
use super::row::Row;
use crate::simt::Simt;

/// Numbers that a level takes before it goes to the digits.
pub(super) const WINDOW_TERMS: u32 = 128;
/// Levels for the numbers of a sum.
pub(super) const SUM_LEVELS: usize = 3;
/// Binary places between two levels.
const SPACING: u32 = 44;
/// Binary places between the exponent of the largest number and that of level 0.
const ROOM: u32 = 10;
/// Binary places above the largest number so far, for larger ones to come.
const SLACK: u32 = 4;
/// Bits of the upper word below the exponent.
const FRACTION: u32 = 20;

/// Sums of numbers in `LEVELS` levels.
#[derive(Clone, Copy)]
pub(super) struct Window<const LEVELS: usize> {
    levels: [f64; LEVELS],
    /// Upper word of the empty level 0.
    anchor: u32,
}

impl<const LEVELS: usize> Window<LEVELS> {
    /// An empty window for the smallest numbers.
    #[inline(always)]
    pub(super) fn new(least: u32) -> Self {
        let mut window = Self {
            levels: [0.0; LEVELS],
            anchor: 0,
        };
        window.place(0, least);
        window
    }

    /// Whether numbers of this magnitude are too large; both are upper words.
    #[inline(always)]
    pub(super) fn exceeded_by(&self, top: u32) -> bool {
        (top >> FRACTION) + ROOM > self.anchor >> FRACTION
    }

    /// Empties the window and places it for magnitudes up to this upper word. The exponent of the last level's last bit is `least` - 1075 at least.
    #[inline(always)]
    pub(super) fn place(&mut self, top: u32, least: u32) {
        let exponent = (top >> FRACTION) + (ROOM + SLACK);
        let least = least + SPACING * (LEVELS as u32 - 1);
        let exponent = exponent.max(least).min(2044);
        self.anchor = exponent << FRACTION | 1 << (FRACTION - 1);
        self.clear();
    }

    /// Empties the window.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        let mut j = 0;
        while j < LEVELS {
            self.levels[j] = self.empty(j);
            j += 1;
        }
    }

    /// Level j when it is empty.
    #[inline(always)]
    fn empty(&self, j: usize) -> f64 {
        let word = self.anchor.wrapping_sub((SPACING * j as u32) << FRACTION);
        f64::from_bits(u64::from(word) << 32)
    }

    /// Adds to level j; the rest.
    #[inline(always)]
    pub(super) fn add(&mut self, j: usize, x: f64) -> f64 {
        let before = self.levels[j];
        let after = before + x;
        self.levels[j] = after;
        (before - after) + x
    }

    /// Adds to the levels that all numbers of a sum go through; the rest, and a word that is 0 where that is +0.
    #[inline(always)]
    pub(super) fn add_eagerly<T: Term>(&mut self, x: f64) -> (f64, u32) {
        let mut rest = x;
        let mut j = 0;
        while j < T::EAGER_LEVELS {
            rest = self.add(j, rest);
            j += 1;
        }
        (rest, bits_of(rest))
    }

    /// Adds a rest of those levels to the others; their rest.
    #[inline(always)]
    pub(super) fn add_on<T: Term>(&mut self, mut rest: f64) -> f64 {
        let mut j = T::EAGER_LEVELS;
        while j < LEVELS {
            rest = self.add(j, rest);
            j += 1;
        }
        rest
    }

    /// Sum of level j.
    #[inline(always)]
    pub(super) fn sum(&self, j: usize) -> f64 {
        self.levels[j] - self.empty(j)
    }

    /// Adds the levels to the digits and empties them. Digit 0 of the row has the exponent `unit` of its lowest bit; `note` takes the places of sums other than 0,
    /// as exponents of `f64`. Whether there was one.
    #[inline(always)]
    #[track_caller]
    pub(super) fn flush<const THREADS: u32, const BITS: u32, S: Simt>(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
        unit: i32,
        mut note: impl FnMut(u32),
    ) -> bool {
        let mut any = false;
        let mut j = 0;
        while j < LEVELS {
            let empty = self.empty(j);
            let integer = self.levels[j].to_bits().wrapping_sub(empty.to_bits()) as i64;
            if integer != 0 {
                let exponent = (empty.to_bits() >> 52) as u32;
                let place = exponent as i32 - 1075 - unit;
                row.add_integer::<BITS, S>(t, place as u32, integer);
                note(exponent << FRACTION);
                any = true;
            }
            self.levels[j] = empty;
            j += 1;
        }
        any
    }
}

/// A word that is 0 where the number is +0.
#[inline(always)]
pub(super) fn bits_of(x: f64) -> u32 {
    (x.to_bits() >> 32) as u32 | x.to_bits() as u32
}

/// The sum and its rounding error.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The sum, rounded to odd: where it is inexact, the one of its neighbours with an odd last bit.
#[inline(always)]
fn odd_sum(a: f64, b: f64) -> f64 {
    let (sum, error) = two_sum(a, b);
    let bits = sum.to_bits();
    if error != 0.0 && bits & 1 == 0 {
        let up = (error > 0.0) == (sum > 0.0);
        f64::from_bits(if up { bits + 1 } else { bits.wrapping_sub(1) })
    } else {
        sum
    }
}

/// `a + b + c`, rounded once, to `f32` where `single`, else to `f64`: S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
/// using rounding to odd" (2008).
#[inline(always)]
pub(super) fn rounded_sum_of_three([a, b, c]: [f64; 3], single: bool, negative_zero: bool) -> f64 {
    let (upper, lower) = two_sum(b, c);
    let (high, low) = two_sum(a, upper);
    let tail = odd_sum(low, lower);
    let sum = high + tail;
    if sum == 0.0 {
        if negative_zero { -0.0 } else { 0.0 }
    } else if single {
        f64::from(odd_sum(high, tail) as f32)
    } else {
        sum
    }
}
