//! From the bits of a number, or of two factors, to additions to digits.
//!
//! A negative term is added as the complement of its bits plus 1 at the lowest bit of the lowest digit: one exclusive or a word, where a
//! negation would carry through all of them.

use super::row::{Layout, Notes, ROW_LANES, Row, pair, sign_word};
use crate::math::{Real, funnel_left, wide_product};
use crate::memory::Element;
use crate::simt::Simt;

/// A number that a thread can add to its row, alone or as a product of two.
pub(super) trait Term: Element {
    /// Row for addends.
    const SUM: Layout;
    /// Row for products.
    const DOT: Layout;
    /// Row for addends whose digits lie in eight lanes.
    const ROW: Layout = Self::SUM.in_lanes(ROW_LANES);
    /// Bits of a digit of [`ROW`](Self::ROW).
    const DIGIT_MASK: i64 = (1 << Self::ROW.digit_bits) - 1;
    /// Passes of carries after which the digits below a digit sum to less than its unit. Of digits below 2^63 in eight lanes the carries are 2^34 and 2^4,
    /// and those of `f32` 2^46, 2^30 and 2^14.
    const PASSES: usize = if Self::ROW.digit_bits == 32 { 2 } else { 3 };
    /// Whether the digits are so many that the unused ones are left out.
    const TRIMMED: bool = Self::ROW.digits > 32;
    /// Bits of the upper word below the number of the digit.
    const DIGIT_SHIFT: u32;
    /// Exponent of infinities and NaN, in its place in the upper word.
    const SPECIAL: u32;
    /// -0, which adds nothing and leaves the sign of an empty sum alone.
    const NEUTRAL: Self;
    /// Digits of a row of `digits` from the first to behind the last that terms with exponents between these, in their places, can change.
    ///
    /// A term reaches one digit higher, 2^40 terms two more, and the carries at the end of a row of a matrix another.
    #[inline(always)]
    fn digits_between((least, largest): (u32, u32), digits: u32) -> (u32, u32) {
        let end = (largest >> Self::DIGIT_SHIFT) + 5;
        (
            least >> Self::DIGIT_SHIFT,
            if end < digits { end } else { digits },
        )
    }
    /// Adds the number, or its magnitude, and notes sign and exponent.
    fn deposit<const MAGNITUDE: bool, const THREADS: u32, S: Simt>(
        self,
        t: &S,
        row: Row<'_, THREADS>,
        notes: &mut Notes,
    );
    /// Adds the product of two numbers, and notes its sign and the larger exponent.
    fn deposit_product<const THREADS: u32, S: Simt>(
        self,
        other: Self,
        t: &S,
        row: Row<'_, THREADS>,
        notes: &mut Notes,
    );
    /// Numbers of a thread in a tile of sums.
    const TILE: u32 = 16;
    /// Levels of a window that all numbers go through; only rests go to the others.
    const EAGER_LEVELS: usize;
    /// Least exponent of a window's last level, so that its last bit lies in the lowest digit or above it.
    const LEAST_LEVEL: u32;
    /// Terms of [`SUM`](Self::SUM) that are as large as an integer of 53 bits at any place.
    const INTEGER_DEPOSITS: u32;
    /// Whether `f64` holds the products of all numbers.
    const EXACT_PRODUCTS: bool;
    /// As [`LEAST_LEVEL`](Self::LEAST_LEVEL), for products.
    const LEAST_PRODUCT_LEVEL: u32;
    /// Upper word of the least magnitude of a product whose error `f64` holds too.
    const LEAST_PRODUCT: u32;
    /// Terms of [`DOT`](Self::DOT) that are as large as a number of 53 bits at any place.
    const REST_DEPOSITS: u32;
    /// The product, rounded.
    fn product(self, other: Self) -> f64;
    /// The error of that product.
    fn product_error(self, other: Self, product: f64) -> f64;
    /// The upper word without its sign.
    fn magnitude_word(self) -> u32;
    /// The larger of that word and another.
    #[inline(always)]
    fn larger_magnitude(self, word: u32) -> u32 {
        self.magnitude_word().max(word)
    }
    /// That word of the same magnitude, or of one less than twice as large, in `f64`; that of an infinity for what is not finite.
    fn upper_word(magnitude: u32) -> u32;
    /// A word with the sign in its first bit.
    fn sign_bits(self) -> u32;
    /// The number that `f64` holds, if it is one of this type.
    fn narrow(value: f64) -> Self;
    /// Whether the number is infinite or NaN.
    fn is_special(self) -> bool;
    /// The number in `f64`.
    fn widen(self) -> f64;
}

#[inline(always)]
fn larger(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

/// Biased exponent, in its place in the word, and integer of the magnitude, of a number whose upper word has `BITS` bits of the fraction.
///
/// Subnormal numbers have the exponent 1 of the smallest normal ones, and no hidden bit.
#[inline(always)]
fn decompose<const BITS: u32>(word: u32) -> (u32, u32) {
    let fraction = (1 << BITS) - 1;
    let exponent = word & (u32::MAX >> 1) & !fraction;
    let hidden = if exponent == 0 { 0 } else { 1 << BITS };
    (larger(exponent, 1 << BITS), word & fraction | hidden)
}

impl Term for f64 {
    /// Largest digit that takes a term: 2046 / 32 + 1 = 64; digit 65 takes the carries. Terms reach 2^53: 2^10 of them stay below 2^63.
    const SUM: Layout = Layout {
        digits: 66,
        digit_bits: 32,
        unit: -1075,
        most_deposits: 1 << 10,
    };
    /// Largest digit that takes a term: 2 * 2046 / 32 + 3 = 130; digit 131 takes the carries. Terms reach 2^42.
    const DOT: Layout = Layout {
        digits: 132,
        digit_bits: 32,
        unit: -2150,
        most_deposits: 1 << 20,
    };
    const EAGER_LEVELS: usize = 2;
    const INTEGER_DEPOSITS: u32 = 1;
    const EXACT_PRODUCTS: bool = false;
    // 2^-960, so that windows take no part of a product below 2^-968.
    const LEAST_PRODUCT_LEVEL: u32 = 1075 - 960;
    const LEAST_PRODUCT: u32 = (1023 - 968) << 20;
    // 2^53 against 2^42.
    const REST_DEPOSITS: u32 = 1 << 11;
    const LEAST_LEVEL: u32 = 1;
    const DIGIT_SHIFT: u32 = 20 + 5;
    const SPECIAL: u32 = 2047 << 20;
    const NEUTRAL: Self = -0.0;

    #[inline(always)]
    fn deposit<const MAGNITUDE: bool, const THREADS: u32, S: Simt>(
        self,
        t: &S,
        row: Row<'_, THREADS>,
        notes: &mut Notes,
    ) {
        let bits = self.to_bits();
        let (high, low) = ((bits >> 32) as u32, bits as u32);
        let sign = if MAGNITUDE { 0 } else { sign_word(high) };
        let (placed, high) = decompose::<20>(high);
        let exponent = placed >> 20;
        let (high, low) = (high ^ sign, low ^ sign);
        let lowest = i64::from(funnel_left(low, sign, exponent)) + i64::from(sign & 1);
        let rest = pair(
            funnel_left(sign, high, exponent),
            funnel_left(high, low, exponent),
        );
        row.add(t, exponent >> 5, [lowest, rest]);
        notes.note(sign, placed);
    }

    #[inline(always)]
    fn deposit_product<const THREADS: u32, S: Simt>(
        self,
        other: Self,
        t: &S,
        row: Row<'_, THREADS>,
        notes: &mut Notes,
    ) {
        let (a, b) = (self.to_bits(), other.to_bits());
        let sign = sign_word(((a ^ b) >> 32) as u32);
        let (a_exponent, a_high) = decompose::<20>((a >> 32) as u32);
        let (b_exponent, b_high) = decompose::<20>((b >> 32) as u32);
        let exponent = (a_exponent + b_exponent) >> 20;
        let (a_high, a_low) = (u64::from(a_high), a & 0xffff_ffff);
        let (b_high, b_low) = (u64::from(b_high), b & 0xffff_ffff);
        // 106 bits: the sums below stay under 2^64, as the upper factors have 21 bits.
        let first = a_low * b_low;
        let middle = a_low * b_high + (first >> 32) + a_high * b_low;
        let last = a_high * b_high + (middle >> 32);
        let q0 = first as u32 ^ sign;
        let q1 = middle as u32 ^ sign;
        let q2 = last as u32 ^ sign;
        let q3 = (last >> 32) as u32 ^ sign;
        let terms = [
            i64::from(funnel_left(q0, sign, exponent)) + i64::from(sign & 1),
            i64::from(funnel_left(q1, q0, exponent)),
            i64::from(funnel_left(q2, q1, exponent)),
            pair(
                funnel_left(sign, q3, exponent),
                funnel_left(q3, q2, exponent),
            ),
        ];
        row.add(t, exponent >> 5, terms);
        notes.note(sign, larger(a_exponent, b_exponent));
    }

    #[inline(always)]
    fn product(self, other: Self) -> f64 {
        self * other
    }
    #[inline(always)]
    fn product_error(self, other: Self, product: f64) -> f64 {
        Real::mul_add(self, other, -product)
    }
    #[inline(always)]
    fn magnitude_word(self) -> u32 {
        (self.to_bits() >> 32) as u32 & (u32::MAX >> 1)
    }
    #[inline(always)]
    fn upper_word(magnitude: u32) -> u32 {
        magnitude
    }
    #[inline(always)]
    fn sign_bits(self) -> u32 {
        (self.to_bits() >> 32) as u32
    }
    #[inline(always)]
    fn narrow(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn is_special(self) -> bool {
        !self.is_finite()
    }
    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }
}

impl Term for f32 {
    /// Largest digit that takes a term: 254 / 16 = 15; digit 16 takes the carries. Terms reach 2^39.
    const SUM: Layout = Layout {
        digits: 17,
        digit_bits: 16,
        unit: -150,
        most_deposits: 1 << 20,
    };
    /// Largest digit that takes a term: 2 * 254 / 32 + 1 = 16; digit 17 takes the carries. Terms reach 2^47.
    const DOT: Layout = Layout {
        digits: 18,
        digit_bits: 32,
        unit: -300,
        most_deposits: 1 << 14,
    };
    const EAGER_LEVELS: usize = 1;
    // 2^47 against 2^39.
    const INTEGER_DEPOSITS: u32 = 1 << 8;
    const EXACT_PRODUCTS: bool = true;
    // 2^-298.
    const LEAST_PRODUCT_LEVEL: u32 = 1075 - 298;
    const LEAST_PRODUCT: u32 = 0;
    // 2^53 against 2^47.
    const REST_DEPOSITS: u32 = 1 << 6;
    // 2^-149.
    const LEAST_LEVEL: u32 = 1075 - 149;
    const DIGIT_SHIFT: u32 = 23 + 4;
    const SPECIAL: u32 = 255 << 23;
    const NEUTRAL: Self = -0.0;

    #[inline(always)]
    fn deposit<const MAGNITUDE: bool, const THREADS: u32, S: Simt>(
        self,
        t: &S,
        row: Row<'_, THREADS>,
        notes: &mut Notes,
    ) {
        let word = self.to_bits();
        let sign = if MAGNITUDE { 0 } else { sign_word(word) };
        let (placed, integer) = decompose::<23>(word);
        let exponent = placed >> 23;
        // The shift and the sign in one multiplication: the integer has 24 bits, the factor is at most 2^15.
        let factor = ((sign | 1) << (exponent & 15)) as i32;
        row.add(t, exponent >> 4, [wide_product(integer as i32, factor)]);
        notes.note(sign, placed);
    }

    #[inline(always)]
    fn deposit_product<const THREADS: u32, S: Simt>(
        self,
        other: Self,
        t: &S,
        row: Row<'_, THREADS>,
        notes: &mut Notes,
    ) {
        let (a, b) = (self.to_bits(), other.to_bits());
        let sign = sign_word(a ^ b);
        let (a_exponent, a) = decompose::<23>(a);
        let (b_exponent, b) = decompose::<23>(b);
        let exponent = (a_exponent + b_exponent) >> 23;
        let product = u64::from(a) * u64::from(b);
        let (low, high) = (product as u32 ^ sign, (product >> 32) as u32 ^ sign);
        let lowest = i64::from(funnel_left(low, sign, exponent)) + i64::from(sign & 1);
        let rest = pair(
            funnel_left(sign, high, exponent),
            funnel_left(high, low, exponent),
        );
        row.add(t, exponent >> 5, [lowest, rest]);
        notes.note(sign, larger(a_exponent, b_exponent));
    }

    #[inline(always)]
    fn product(self, other: Self) -> f64 {
        f64::from(self) * f64::from(other)
    }
    #[inline(always)]
    fn product_error(self, _other: Self, _product: f64) -> f64 {
        0.0
    }
    #[inline(always)]
    fn magnitude_word(self) -> u32 {
        self.to_bits() & (u32::MAX >> 1)
    }
    /// One instruction; a NaN counts as 0.
    #[inline(always)]
    fn larger_magnitude(self, word: u32) -> u32 {
        self.abs().max(f32::from_bits(word)).to_bits()
    }
    #[inline(always)]
    fn upper_word(magnitude: u32) -> u32 {
        if magnitude >= Self::SPECIAL {
            f64::SPECIAL
        } else {
            // The exponents differ by their biases and have three more bits in f64.
            (magnitude >> 3) + ((1023 - 127) << 20)
        }
    }
    #[inline(always)]
    fn sign_bits(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn narrow(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn is_special(self) -> bool {
        !self.is_finite()
    }
    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }
}
