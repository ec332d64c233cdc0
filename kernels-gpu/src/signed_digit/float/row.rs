//! A thread's row of digits in shared memory.

use super::flag;
use crate::math::funnel_left;
use crate::memory::{InOut, Shared};
use crate::simt::{Simt, WARP};

/// Threads of a block that sums rows of a matrix.
pub const ROW_THREADS: u32 = 64;
/// Lanes that sum a row of a matrix.
pub const ROW_LANES: u32 = 8;

/// 0 for a clear sign bit, all ones for a set one.
#[inline(always)]
pub(super) fn sign_word(word: u32) -> u32 {
    ((word as i32) >> 31) as u32
}

#[inline(always)]
pub(super) fn pair(high: u32, low: u32) -> i64 {
    (u64::from(high) << 32 | u64::from(low)) as i64
}

/// The value of a row of digits: `sum of d_k 2^(digit_bits k + unit)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Digits of a row.
    pub digits: u32,
    /// Bits by which the weight of a digit exceeds that of the digit below.
    pub digit_bits: u32,
    /// Exponent of the lowest digit's lowest bit.
    pub unit: i32,
    /// Terms that a row takes before it must carry.
    pub most_deposits: u32,
}

impl Layout {
    /// The same with as many digits as fill all of `lanes`, which take the carries of 2^64 terms.
    pub(super) const fn in_lanes(self, lanes: u32) -> Self {
        Self {
            digits: self.digits.next_multiple_of(lanes),
            ..self
        }
    }
}

/// The digits of all threads of a block, digit k of thread c at k `THREADS` + c; this thread's are a column.
///
/// Threads touch their own column only, until [`Row::add_up`], which has a barrier in front. 64-bit words of 16 consecutive columns fill all
/// banks, so lanes that are at different digits do not conflict.
#[derive(Clone, Copy)]
pub(super) struct Row<'a, const THREADS: u32> {
    pub(super) digits: Shared<'a, i64>,
    pub(super) column: u32,
}

impl<const THREADS: u32> Row<'_, THREADS> {
    /// Sets the digits to 0.
    #[inline(always)]
    #[track_caller]
    pub(super) fn clear<S: Simt>(self, t: &S, layout: &Layout) {
        for k in 0..layout.digits {
            self.digits.set(t, k * THREADS + self.column, 0);
        }
    }

    /// Adds to digit `k` and to those above it.
    #[inline(always)]
    #[track_caller]
    pub(super) fn add<const N: usize, S: Simt>(self, t: &S, k: u32, terms: [i64; N]) {
        let at = k * THREADS + self.column;
        // All loads before the first store, as the compiler cannot know that the digits differ.
        let mut sums = terms;
        let mut n = 0;
        while n < N {
            sums[n] = sums[n].wrapping_add(self.digits.get(t, at + n as u32 * THREADS));
            n += 1;
        }
        n = 0;
        while n < N {
            self.digits.set(t, at + n as u32 * THREADS, sums[n]);
            n += 1;
        }
    }

    /// Adds an integer below 2^53 in magnitude times 2^`place`, in units of digit 0, whose digits have `BITS` bits: 16 or 32.
    ///
    /// Two digits take 2^32 and 2^52 of 32 bits, 2^47 and 2^36 of 16 bits.
    #[inline(always)]
    #[track_caller]
    pub(super) fn add_integer<const BITS: u32, S: Simt>(self, t: &S, place: u32, integer: i64) {
        let (low, high) = (integer as u32, (integer >> 32) as u32);
        if BITS == 32 {
            let sign = sign_word(high);
            let lowest = i64::from(funnel_left(low, 0, place));
            let rest = pair(
                funnel_left(sign, high, place),
                funnel_left(high, low, place),
            );
            self.add(t, place / BITS, [lowest, rest]);
        } else {
            let shift = place % BITS;
            let lowest = i64::from(low) << shift;
            let rest = i64::from(high as i32) << shift;
            self.add(t, place / BITS, [lowest]);
            self.add(t, place / BITS + 32 / BITS, [rest]);
        }
    }

    /// Adds a number, of bits that are worth 2^`unit`, that of digit 0, or more, to digits of 32 bits, of which one takes 2^53.
    #[inline(always)]
    #[track_caller]
    pub(super) fn add_double<S: Simt>(self, t: &S, unit: i32, x: f64) {
        let bits = x.to_bits();
        let exponent = (bits >> 52 & 2047) as i32;
        let fraction = (bits & ((1 << 52) - 1)) as i64;
        let (exponent, integer) = if exponent == 0 {
            (1, fraction)
        } else {
            (exponent, fraction | 1 << 52)
        };
        let place = exponent - 1075 - unit;
        // Bits below the unit are 0.
        let (place, integer) = if place < 0 {
            (0, integer >> -place)
        } else {
            (place, integer)
        };
        let integer = if x < 0.0 { -integer } else { integer };
        self.add_integer::<32, S>(t, place as u32, integer);
    }

    /// Carries, so that |d| <= 2^(B-1) for all digits but the last, which takes what is left.
    #[inline(always)]
    #[track_caller]
    pub(super) fn carry<S: Simt>(self, t: &S, layout: &Layout) {
        let unused = 64 - layout.digit_bits;
        let mut carry = 0_i64;
        let mut k = 0;
        while k + 1 < layout.digits {
            let at = k * THREADS + self.column;
            let value = self.digits.get(t, at).wrapping_add(carry);
            let digit = (value << unused) >> unused;
            self.digits.set(t, at, digit);
            carry = value.wrapping_sub(digit) >> layout.digit_bits;
            k += 1;
        }
        let at = k * THREADS + self.column;
        let last = self.digits.get(t, at).wrapping_add(carry);
        self.digits.set(t, at, last);
    }

    /// Adds up the digits from `used.0` to `used.1` over the block's threads and adds the sums to the result's digits.
    ///
    /// Eight lanes add up a digit, each a part of its columns, in other banks than the lanes of the next digit. The low bits of a digit and the rest are
    /// added apart, to this digit and to the next: no digit has to carry before. Sums of 0 are not added. All threads of the block must call this.
    #[inline(always)]
    #[track_caller]
    pub(super) fn add_up<S: Simt>(
        self,
        t: &S,
        layout: &Layout,
        used: (u32, u32),
        result: InOut<'_, u64>,
    ) {
        // Narrow digits take so many terms that the rest would fill the next one.
        if layout.digit_bits < 32 {
            self.carry(t, layout);
        }
        t.sync_threads();
        let (slot, lane) = (self.column / ROW_LANES, self.column % ROW_LANES);
        let mut first = used.0;
        while first < used.1 {
            let k = first + slot;
            let there = k < used.1;
            let (mut low, mut high) = (0_i64, 0_i64);
            if there {
                let mut j = 0;
                while j < THREADS / ROW_LANES {
                    let column = (j + slot) % (THREADS / ROW_LANES) * ROW_LANES + lane;
                    let digit = self.digits.get(t, k * THREADS + column);
                    low += digit & ((1 << layout.digit_bits) - 1);
                    high += digit >> layout.digit_bits;
                    j += 1;
                }
            }
            let mut mask = ROW_LANES / 2;
            while mask > 0 {
                low += t.shuffle_xor(low, mask);
                high += t.shuffle_xor(high, mask);
                mask /= 2;
            }
            if there && lane == 0 {
                // Nothing is beyond the last digit.
                let (rest, high) = if k + 1 < layout.digits {
                    (0, high)
                } else {
                    (high << layout.digit_bits, 0)
                };
                if low + rest != 0 {
                    result.atomic_add(t, k as usize, (low + rest) as u64);
                }
                if high != 0 {
                    result.atomic_add(t, k as usize + 1, high as u64);
                }
            }
            first += THREADS / ROW_LANES;
        }
    }
}

/// The notes of a thread on its terms beside their digits.
#[derive(Clone, Copy)]
pub(super) struct Notes {
    /// All ones as long as every term has its sign bit set.
    pub(super) signs: u32,
    /// Largest exponent, in its place in the word.
    pub(super) exponent: u32,
    /// Smallest exponent, in its place.
    pub(super) least: u32,
    /// Bits of [`flag`] for infinities and NaN.
    pub(super) special: u32,
}

impl Notes {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self {
            signs: u32::MAX,
            exponent: 0,
            least: u32::MAX,
            special: 0,
        }
    }

    /// Notes the sign word of a term, 0 or all ones, and an exponent in its place.
    #[inline(always)]
    pub(super) fn note(&mut self, sign: u32, exponent: u32) {
        self.signs &= sign;
        self.note_exponent(exponent);
    }

    /// Notes the sign that is in the first bit: that of terms that all have it set, or not.
    #[inline(always)]
    pub(super) fn note_signs(&mut self, signs: u32) {
        self.signs &= sign_word(signs);
    }

    /// Notes an exponent in its place.
    #[inline(always)]
    pub(super) fn note_exponent(&mut self, exponent: u32) {
        self.exponent = if exponent > self.exponent {
            exponent
        } else {
            self.exponent
        };
        self.least = if exponent < self.least {
            exponent
        } else {
            self.least
        };
    }

    /// The smallest and the largest exponent of the warp, in their places. All lanes of a warp must call this.
    #[inline(always)]
    #[track_caller]
    pub(super) fn extremes<S: Simt>(&self, t: &S) -> (u32, u32) {
        let (mut least, mut largest) = (self.least, self.exponent);
        let mut mask = WARP / 2;
        while mask > 0 {
            least = least.min(t.shuffle_xor(least, mask));
            largest = largest.max(t.shuffle_xor(largest, mask));
            mask /= 2;
        }
        (least, largest)
    }

    /// Whether a term was not finite: its exponent was `special`.
    #[inline(always)]
    pub(super) fn has_special(&self, special: u32) -> bool {
        self.exponent == special
    }

    /// Notes a term that is not finite.
    #[inline(always)]
    pub(super) fn note_special(&mut self, value: f64) {
        let kind = if value.is_nan() {
            flag::NAN
        } else if value > 0.0 {
            flag::PLUS_INFINITY
        } else {
            flag::MINUS_INFINITY
        };
        self.special |= 1 << kind;
    }

    /// Counts in the words behind the digits of the result. All lanes of a warp must call this.
    #[inline(always)]
    #[track_caller]
    pub(super) fn count<S: Simt>(self, t: &S, layout: &Layout, result: InOut<'_, u64>) {
        let at = |kind: u32| (layout.digits + kind) as usize;
        // One count a warp: this one happens nearly everywhere.
        if t.ballot(self.signs == 0) != 0 && t.lane() == 0 {
            result.atomic_add(t, at(flag::NOT_NEGATIVE), 1);
        }
        let mut kind = flag::NAN;
        while kind <= flag::MINUS_INFINITY {
            if self.special >> kind & 1 != 0 {
                result.atomic_add(t, at(kind), 1);
            }
            kind += 1;
        }
    }
}
