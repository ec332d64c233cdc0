//! Decimal numbers of any length, summed and multiplied without a rounding.
//!
//! A [`Decimal`] is read from text and written as text exactly; between the two nothing is ever rounded unless
//! [`Decimal::round_f64`] or [`Decimal::round_f32`] is asked for, and that once, to nearest even.
//!
//! ```
//! use rarefy::Backend;
//! use rarefy::signed_digit::decimal::{self, Decimal};
//!
//! let backend = Backend::Cpu.resolve()?;
//! let numbers = ["1e40".parse::<Decimal>()?, "0.1".parse()?, "-1e40".parse()?];
//! let sum = decimal::sum(&numbers, &backend)?;
//! assert_eq!(sum.to_string(), "0.1");
//! assert_eq!(sum.round_f64(), 0.1);
//!
//! // A number a line, of any length; lines may be counted in millions.
//! let total = decimal::sum_text(b"123456789012345678901234567890\n-0.5e-3\n", &backend)?;
//! assert_eq!(total.value.to_string(), "123456789012345678901234567889.9995");
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! **Form.** Digits are held nine at a time, as limbs of radix 10^9, and the exponent counts limbs. The grouping starts from
//! the decimal point, so numbers of any exponents are aligned by moving whole limbs (eq. 9 of Otsokov and Magomedov with q =
//! 10^9). A sum is taken limb by limb, without a carry, until its end. An exact sum has as many digits as its terms span. One of more than ten
//! million digits, and sixteen for each digit of its terms, is refused; so is one that would not fit into memory, with how much it needs and how much there is.

mod columns;
mod divide;
#[cfg(feature = "files")]
mod ledger;
#[cfg(feature = "files")]
mod notation;
#[cfg(feature = "files")]
mod quotes;
mod sum;
mod text;

use std::cmp::Ordering;
use std::ops::Neg;

use serde::{Deserialize, Serialize};

pub(crate) use columns::Columns;
pub use divide::Half;
#[cfg(feature = "files")]
pub use ledger::{Entry, Ledger};
#[cfg(feature = "files")]
pub use notation::{Mark, Notation};
#[cfg(feature = "cli")]
pub(crate) use sum::TextSum;
pub use sum::{Total, dot, dot_text, sum, sum_text};
pub use text::MAX_EXPONENT;
pub(crate) use text::numbers;
#[cfg(feature = "cli")]
pub(crate) use text::parse_line;

use super::limb::{DIGITS, RADIX};
use crate::error::{Error, Result};

/// A decimal number, exactly: sign, digits and exponent, of any length.
///
/// Two numbers of the same value are equal, whatever they were written like. Zero has no sign. Serde writes it as text, with every digit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Decimal {
    negative: bool,
    /// Digits of radix 10^9, the least first; no zero at either end.
    limbs: Vec<u32>,
    /// The weight of the first limb is 10^(9 scale); 0 for zero.
    scale: i64,
}

/// No fewer digits than the numbers have.
pub(crate) fn room_of(numbers: &[Decimal]) -> u64 {
    numbers.iter().map(Decimal::room).sum()
}

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self {
        negative: false,
        limbs: Vec::new(),
        scale: 0,
    };

    /// From limbs of radix 10^9, the least first, the first of weight 10^(9 scale).
    pub(crate) fn from_limbs(negative: bool, mut limbs: Vec<u32>, mut scale: i64) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        let low = limbs.iter().take_while(|&&limb| limb == 0).count();
        if limbs.is_empty() {
            return Self::ZERO;
        }
        if low > 0 {
            limbs.drain(..low);
            scale += low as i64;
        }
        Self {
            negative,
            limbs,
            scale,
        }
    }

    /// The value of a finite `f64`, exactly; `None` for infinities and NaN. An `f32` is an `f64` exactly.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let field = (bits >> 52) & 0x7FF;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match field {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, field as i16 - 1075),
        };
        let words = [mantissa as u32, (mantissa >> 32) as u32];
        Some(Self::from_binary(
            value.is_sign_negative(),
            &words,
            exponent,
        ))
    }

    /// +-M 2^`exponent` exactly, for the magnitude M with these 32-bit words, the least first.
    ///
    /// The work grows with the square of the length; it is meant for the few thousand bits of exact sums of floats.
    pub fn from_binary(negative: bool, words: &[u32], exponent: i16) -> Self {
        let exponent = i64::from(exponent);
        // M 2^-n = M 5^n 10^-n, and 10^-n = 10^(9 scale) 10^r with 0 <= r < 9.
        let mut limbs = Vec::new();
        for &word in words.iter().rev() {
            multiply_small(&mut limbs, 1 << 32, u64::from(word));
        }
        let mut left = exponent.unsigned_abs();
        if exponent >= 0 {
            while left > 0 {
                let step = left.min(29);
                multiply_small(&mut limbs, 1 << step, 0);
                left -= step;
            }
            return Self::from_limbs(negative, limbs, 0);
        }
        while left > 0 {
            let step = left.min(13);
            multiply_small(&mut limbs, 5u64.pow(step as u32), 0);
            left -= step;
        }
        let scale = exponent.div_euclid(DIGITS as i64);
        let rest = exponent.rem_euclid(DIGITS as i64);
        multiply_small(&mut limbs, 10u64.pow(rest as u32), 0);
        Self::from_limbs(negative, limbs, scale)
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether it is a whole number.
    pub fn is_integer(&self) -> bool {
        self.scale >= 0
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(&self) -> Self {
        Self {
            negative: false,
            ..self.clone()
        }
    }

    /// This number times 10^(9 limbs).
    pub(crate) fn shifted(mut self, limbs: i64) -> Self {
        if !self.is_zero() {
            self.scale += limbs;
        }
        self
    }

    pub(crate) fn limbs(&self) -> &[u32] {
        &self.limbs
    }

    pub(crate) fn scale(&self) -> i64 {
        self.scale
    }

    /// No fewer digits than it has from the first that is not zero to the last.
    pub(crate) fn room(&self) -> u64 {
        self.limbs.len() as u64 * DIGITS as u64
    }

    /// Position above the highest limb.
    pub(crate) fn top(&self) -> i64 {
        self.scale + self.limbs.len() as i64
    }

    /// The nearest `f64`, ties to even; infinite from 2^1024 - 2^970 on, exact in the subnormal range.
    pub fn round_f64(&self) -> f64 {
        self.leading_digits().parse().unwrap_or(f64::NAN)
    }

    /// The nearest `f32`, ties to even, rounded once.
    pub fn round_f32(&self) -> f32 {
        self.leading_digits().parse().unwrap_or(f32::NAN)
    }

    /// Text that rounds like the number itself, of bounded length.
    ///
    /// A tie between two neighbouring `f64` has at most 767 significant digits. So beyond 800 digits it matters only whether there is
    /// another one that is not zero, and one digit 1 says so. Beyond +-5000 the exponent means overflow or zero, whatever the digits.
    fn leading_digits(&self) -> String {
        const KEPT: usize = 800;
        // A limb more than needed: the highest may have one digit only.
        let kept = self.limbs.len().min(KEPT / DIGITS + 2);
        let dropped = self.limbs.len() - kept;
        let mut text = String::with_capacity(kept * DIGITS + 16);
        if self.negative {
            text.push('-');
        }
        if self.is_zero() {
            text.push('0');
        }
        for limb in self.limbs[dropped..].iter().rev() {
            text.push_str(&format!("{limb:09}"));
        }
        // The lowest limb is not zero, so the dropped part is not zero.
        let mut scale = self.scale.saturating_add(dropped as i64);
        if dropped > 0 {
            text.push_str("000000001");
            scale -= 1;
        }
        let exponent = scale.saturating_mul(DIGITS as i64).clamp(-9000, 9000);
        text.push_str(&format!("e{exponent}"));
        text
    }
}

/// `limbs * factor + term` for a factor of at most 2^32.
pub(crate) fn multiply_small(limbs: &mut Vec<u32>, factor: u64, term: u64) {
    let mut carry = term;
    for limb in limbs.iter_mut() {
        let value = u64::from(*limb) * factor + carry;
        *limb = (value % RADIX as u64) as u32;
        carry = value / RADIX as u64;
    }
    while carry > 0 {
        limbs.push((carry % RADIX as u64) as u32);
        carry /= RADIX as u64;
    }
}

impl TryFrom<String> for Decimal {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Decimal> for String {
    fn from(number: Decimal) -> Self {
        number.to_string()
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let magnitude = || {
            let tops = self.top().cmp(&other.top());
            // From the highest limb down; the shorter one has zeros where it ends, and no zero at its lower end.
            tops.then_with(|| self.limbs.iter().rev().cmp(other.limbs.iter().rev()))
        };
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            0 => Ordering::Equal,
            1 => magnitude(),
            _ => magnitude().reverse(),
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Neg for Decimal {
    type Output = Self;

    fn neg(mut self) -> Self {
        self.negative = !self.negative && !self.is_zero();
        self
    }
}

macro_rules! from_integer {
    ($($t:ty)*) => {$(
        impl From<$t> for Decimal {
            fn from(value: $t) -> Self {
                let magnitude = value.unsigned_abs() as u128;
                from_magnitude(value < 0, magnitude)
            }
        }
    )*};
}
from_integer! { i32 i64 i128 }

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        from_magnitude(false, value.into())
    }
}

fn from_magnitude(negative: bool, mut magnitude: u128) -> Decimal {
    let mut limbs = Vec::new();
    while magnitude > 0 {
        limbs.push((magnitude % RADIX as u128) as u32);
        magnitude /= RADIX as u128;
    }
    Decimal::from_limbs(negative, limbs, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn floats_are_taken_exactly() {
        assert_eq!(
            Decimal::from_f64(0.1).unwrap().to_string(),
            "0.1000000000000000055511151231257827021181583404541015625"
        );
        assert_eq!(Decimal::from_f64(-1.5e300).unwrap().round_f64(), -1.5e300);
        for value in [f64::MAX, f64::MIN_POSITIVE, 5e-324, -0.0, 1.0, 123456.789] {
            let exact = Decimal::from_f64(value).unwrap();
            assert_eq!(exact.round_f64(), value);
            assert_eq!(exact.to_string().parse::<Decimal>().unwrap(), exact);
        }
        assert_eq!(Decimal::from_f64(f64::NAN), None);
        assert_eq!(Decimal::from_f64(f64::INFINITY), None);
        let words = [0, 0, 1];
        assert_eq!(
            Decimal::from_binary(true, &words, 0).to_string(),
            "-18446744073709551616"
        );
        assert_eq!(Decimal::from_binary(true, &[0, 0], 5), Decimal::ZERO);
    }

    #[test]
    fn rounding_is_to_nearest_even_at_any_length() {
        // Half way between 1 and its upper neighbour, then just above it, a thousand digits further down.
        let tie = "1.00000000000000011102230246251565404236316680908203125";
        let zeros = "0".repeat(3000);
        assert_eq!(decimal(tie).round_f64(), 1.0);
        let above = format!("{tie}{zeros}1");
        assert_eq!(decimal(&above).round_f64(), 1.0 + f64::EPSILON);
        let below = decimal(tie).plus(&decimal("-1e-3000")).unwrap();
        assert_eq!(below.round_f64(), 1.0);
        let ulp = Decimal::from_f64(f64::EPSILON).unwrap();
        let odd = decimal(tie).plus(&ulp).unwrap();
        assert_eq!(odd.round_f64(), 1.0 + 2.0 * f64::EPSILON);
        // Overflow begins at 2^1024 - 2^970 itself.
        let power = |exponent| Decimal::from_binary(false, &[1], exponent);
        let limit = power(1024).plus(&-power(970)).unwrap();
        assert_eq!(limit.round_f64(), f64::INFINITY);
        let under = limit.plus(&decimal("-1e-400")).unwrap();
        assert_eq!(under.round_f64(), f64::MAX);
        assert_eq!((-limit).round_f64(), f64::NEG_INFINITY);
        // Half the smallest subnormal is a tie with zero.
        let half = power(-1075);
        assert_eq!(half.round_f64(), 0.0);
        assert_eq!(half.plus(&decimal("1e-4000")).unwrap().round_f64(), 5e-324);
        assert_eq!(power(-150).round_f32(), 0.0);
        assert_eq!(Decimal::from_binary(false, &[3], -151).round_f32(), 1e-45);
        // Rounded to f64 first this would be a tie and go to 1.
        let double = "1.0000000596046447753906250000000000000001";
        assert_eq!(decimal(double).round_f32(), 1.0 + f32::EPSILON);
        assert_eq!(decimal("1e999999999999").round_f64(), f64::INFINITY);
        assert_eq!(decimal("-1e-999999999999").round_f64(), 0.0);
        assert_eq!(Decimal::ZERO.round_f64().to_bits(), 0);
    }

    #[test]
    fn order_is_that_of_the_values() {
        let sorted = [
            "-1e20",
            "-12345678901",
            "-1.5",
            "-1.25",
            "-1e-30",
            "0",
            "1e-30",
            "0.999999999",
            "1",
            "1.000000001",
            "1e9",
            "1000000001",
            "1e10",
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(decimal(a).cmp(&decimal(b)), i.cmp(&j), "{a} and {b}");
            }
        }
    }

    #[test]
    fn integers_are_taken_exactly() {
        assert_eq!(Decimal::from(i64::MIN).to_string(), i64::MIN.to_string());
        assert_eq!(Decimal::from(u64::MAX).to_string(), u64::MAX.to_string());
        assert_eq!(Decimal::from(i128::MAX).to_string(), i128::MAX.to_string());
        assert_eq!(Decimal::from(0), Decimal::ZERO);
        let product = &decimal("-99999999999") * &decimal("0.5e-5");
        assert_eq!(product.to_string(), "-499999.999995");
        assert_eq!(&product * &Decimal::ZERO, Decimal::ZERO);
    }
}
