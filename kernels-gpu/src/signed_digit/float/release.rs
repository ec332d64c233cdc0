//! Carries of a row whose digits lie in eight lanes, and its rounding.

use core::marker::PhantomData;

use super::deposit::Term;
use super::flag;
use super::row::{ROW_LANES, ROW_THREADS};
use crate::memory::Shared;
use crate::simt::Simt;

/// Passes of carries at most, with the one that came with the digits.
const PASSES: usize = 3;

/// Carries through the digits of a row, eight at a time from the lowest on: lane l has digits l, l + 8, ...
///
/// A pass adds to each digit the carry of the digit below, in all digits at once. With the passes of [`Term::PASSES`] the digits are so small that
/// those below a digit sum to less than its unit: the sign of the sum is that of the leading digit.
pub(super) struct Release<T> {
    /// For each pass, the carry of the last lane in the eight digits below; only the first lane uses it.
    below: [i64; PASSES],
    /// The lane's highest digit that is not 0, and the one before; -1 for none.
    top: i32,
    second: i32,
    term: PhantomData<T>,
}

impl<T: Term> Release<T> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            below: [0; PASSES],
            top: -1,
            second: -1,
            term: PhantomData,
        }
    }

    /// Digit `k` of the value `low + high 2^B` at its place and those of the other lanes; all lanes of a warp must call this.
    #[inline(always)]
    #[track_caller]
    pub(super) fn digit<S: Simt>(&mut self, t: &S, k: u32, low: i64, high: i64) -> i64 {
        let bits = T::ROW.digit_bits;
        let mut digit = low + self.carried(t, 0, high);
        let mut pass = 1;
        while pass < T::PASSES {
            let carry = (digit + (1 << (bits - 1))) >> bits;
            digit -= carry << bits;
            digit += self.carried(t, pass, carry);
            pass += 1;
        }
        if digit != 0 {
            self.second = self.top;
            self.top = k as i32;
        }
        digit
    }

    /// The carry of the digit below.
    #[inline(always)]
    #[track_caller]
    fn carried<S: Simt>(&mut self, t: &S, pass: usize, carry: i64) -> i64 {
        let lane = t.lane() % ROW_LANES;
        let source = t.lane() - lane + (lane + ROW_LANES - 1) % ROW_LANES;
        let received = t.shuffle(carry, source);
        let carried = if lane == 0 {
            self.below[pass]
        } else {
            received
        };
        self.below[pass] = received;
        carried
    }
}

/// The largest number of the lanes of a row.
#[inline(always)]
#[track_caller]
fn largest<S: Simt>(t: &S, mut number: i32) -> i32 {
    let mut mask = ROW_LANES / 2;
    while mask > 0 {
        let other = t.shuffle_xor(number, mask);
        number = if other > number { other } else { number };
        mask /= 2;
    }
    number
}

/// The sum of a row with these released digits, kinds of special values by the bits of [`flag`], and whether an addend has its sign bit clear.
///
/// Digit k lies in column k % 8 of the row's lanes. The leading digits, 65 bits or more with their signs, are the integer that is rounded; of the digits below
/// counts only the sign. All lanes of a warp must call this.
#[inline(always)]
#[track_caller]
pub(super) fn rounded_sum<T: Term, S: Simt>(
    t: &S,
    digits: Shared<'_, i64>,
    release: Release<T>,
    (special, not_negative): (u32, bool),
    single: bool,
) -> f64 {
    let bits = T::ROW.digit_bits as i32;
    let window = 64 / bits + 1;
    let first_column = t.thread_idx() / ROW_LANES * ROW_LANES;
    let digit = |k: i32| {
        if k < 0 {
            0
        } else {
            let k = k as u32;
            digits.get(t, k * ROW_THREADS + first_column + k % ROW_LANES)
        }
    };
    let leading = largest(t, release.top);
    let lowest = leading - window + 1;
    // The digits of a lane are eight apart, so that at most one lies in the window.
    let below = if release.top < lowest {
        release.top
    } else {
        release.second
    };
    let below = largest(t, below);

    let mut integer = 0_i128;
    let mut k = leading;
    while k >= lowest {
        integer = (integer << bits) + i128::from(digit(k));
        k -= 1;
    }
    let tail = digit(below);
    let negative = integer < 0;
    let tail_below_zero = (tail < 0) != negative;
    let magnitude = if negative { -integer } else { integer } as u128;
    let more = tail != 0;
    let magnitude = magnitude - u128::from(more && tail_below_zero);
    let rounded = if leading < 0 {
        0.0
    } else {
        round(magnitude, more, bits * lowest + T::ROW.unit, single)
    };
    let kinds = special & ((1 << flag::NOT_NEGATIVE) - 1);
    if kinds == 0 {
        let negative = if leading < 0 { !not_negative } else { negative };
        if negative { -rounded } else { rounded }
    } else if kinds == 1 << flag::PLUS_INFINITY {
        f64::INFINITY
    } else if kinds == 1 << flag::MINUS_INFINITY {
        f64::NEG_INFINITY
    } else {
        f64::from_bits(0x7ff8 << 48)
    }
}

/// `(magnitude + fraction) 2^exponent`, where the fraction is 0, or between 0 and 1 if there is `more`; rounded to nearest even.
///
/// The magnitude has 62 bits or more and less than 100.
#[inline(always)]
fn round(magnitude: u128, more: bool, exponent: i32, single: bool) -> f64 {
    let (mantissa, least, infinity) = if single {
        (24, -149, 0xff << 23)
    } else {
        (53, -1074, 0x7ff << 52)
    };
    let length = 128 - magnitude.leading_zeros() as i32;
    // Exponent of the last bit of the result, and the bits of the magnitude below it but one.
    let last = length - mantissa + exponent;
    let last = if last > least { last } else { least };
    let dropped = last - exponent - 1;
    let dropped = if dropped < 127 { dropped } else { 127 };
    let kept = magnitude >> dropped;
    let more = more || kept << dropped != magnitude;
    let integer = (kept >> 1) as u64;
    let up = kept & 1 == 1 && (more || integer & 1 == 1);
    // The hidden bit, or a carry out of the mantissa, adds 1 to the exponent's bits.
    let bits = (((last - least) as u64) << (mantissa - 1)) + integer + u64::from(up);
    let bits = if bits < infinity { bits } else { infinity };
    if single {
        f64::from(f32::from_bits(bits as u32))
    } else {
        f64::from_bits(bits)
    }
}
