//! Rounding to decimals, and division by a whole number, whose result may need it.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::Decimal;
use crate::error::Result;
use crate::signed_digit::limb::{DIGITS, RADIX};

/// Limbs below the leading one that decide how a quotient is rounded to a float; one that is not zero follows if anything is left.
const DECIDING: i64 = 100;

/// Where a number half way between two neighbours is rounded to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    /// To the neighbour whose last digit is even.
    #[default]
    Even,
    /// Away from zero.
    Up,
}

impl Decimal {
    /// The nearest number with so many digits after the point.
    ///
    /// # Errors
    /// Too little memory.
    pub fn rounded(&self, places: usize, half: Half) -> Result<Self> {
        let cut = self.clone().cut(places);
        let rest = self.plus(&-cut.clone())?.abs();
        let (limbs, shift) = (places / DIGITS + 1, DIGITS - 1 - places % DIGITS);
        let tie = Self::from_limbs(false, vec![5 * 10u32.pow(shift as u32)], -(limbs as i64));
        let up = match rest.cmp(&tie) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => half == Half::Up || cut.is_odd(places),
        };
        if !up {
            return Ok(cut);
        }
        let step = if self.negative { -tie } else { tie };
        cut.plus(&step)?.plus(&step)
    }

    /// Whether the digit at this place after the point is odd.
    fn is_odd(&self, place: usize) -> bool {
        let limb = place.div_ceil(DIGITS);
        let at = usize::try_from(-(limb as i64) - self.scale).ok();
        let limb_there = at.and_then(|at| self.limbs.get(at)).copied().unwrap_or(0);
        limb_there / 10u32.pow((DIGITS * limb - place) as u32) % 2 == 1
    }

    /// Its text with so many digits after the point at least.
    pub fn to_fixed(&self, places: usize) -> String {
        let mut text = self.to_string();
        if text.contains('e') || places == 0 {
            return text;
        }
        let point = text.find('.').unwrap_or_else(|| {
            text.push('.');
            text.len() - 1
        });
        let missing = places.saturating_sub(text.len() - point - 1);
        text.push_str(&"0".repeat(missing));
        text
    }

    /// The quotient with `places` digits after the point, rounded to nearest, ties away from zero; `None` for a divisor of zero.
    pub fn quotient(&self, divisor: u64, places: usize) -> Option<Self> {
        if divisor == 0 {
            return None;
        }
        // At least one digit more than asked for; half a unit of the last place is added, and the rest cut off.
        let low = self.scale.min(-((places / DIGITS) as i64 + 1));
        let mut limbs = vec![0; (self.scale - low) as usize];
        limbs.extend_from_slice(&self.limbs);
        divide_small(&mut limbs, divisor.into());
        let quotient = Self::from_limbs(self.negative, limbs, low);
        let rest = DIGITS - 1 - places % DIGITS;
        let half = Self::from_limbs(
            self.negative,
            vec![5 * 10u32.pow(rest as u32)],
            -((places / DIGITS) as i64 + 1),
        );
        quotient.plus(&half).ok().map(|sum| sum.cut(places))
    }

    /// The number without its digits beyond so many places after the point.
    fn cut(mut self, places: usize) -> Self {
        let whole = -((places / DIGITS) as i64);
        let below = (whole - 1 - self.scale).clamp(0, self.limbs.len() as i64) as usize;
        self.limbs.drain(..below);
        self.scale += below as i64;
        if let Some(limb) = self.limbs.first_mut().filter(|_| self.scale == whole - 1) {
            *limb -= *limb % 10u32.pow((DIGITS - places % DIGITS) as u32);
        }
        Self::from_limbs(self.negative, self.limbs, self.scale)
    }

    /// The nearest `f64` to the quotient, ties to even, rounded once; NaN for a divisor of zero.
    pub fn quotient_f64(&self, divisor: u64) -> f64 {
        if divisor == 0 {
            return f64::NAN;
        }
        // More limbs than any tie between two floats has; then one that says whether there is a remainder.
        let low = self.scale.min(self.top() - DECIDING);
        let mut limbs = vec![0; (self.scale - low) as usize];
        limbs.extend_from_slice(&self.limbs);
        let remainder = divide_small(&mut limbs, divisor.into());
        limbs.insert(0, u32::from(remainder > 0));
        Self::from_limbs(self.negative, limbs, low - 1).round_f64()
    }

    /// The quotient with the digits of an `f64`, whatever its exponent, as text.
    #[cfg(feature = "cli")]
    pub(crate) fn quotient_text(&self, divisor: u64) -> String {
        let limbs = self.top();
        let text = format!("{:e}", self.clone().shifted(-limbs).quotient_f64(divisor));
        match text.split_once('e') {
            Some((digits, exponent)) => {
                let exponent = exponent.parse::<i64>().unwrap_or(0);
                format!("{digits}e{}", exponent + DIGITS as i64 * limbs)
            }
            None => text,
        }
    }

    /// About `self / other`, of any magnitudes, as far as an `f64` reaches; infinite or NaN where `other` is zero.
    pub fn ratio(&self, other: &Self) -> f64 {
        let fraction = |number: &Self| number.clone().shifted(-number.top()).round_f64();
        let distance = (self.top() - other.top()).clamp(-1000, 1000) as i32;
        let quotient = fraction(self) / fraction(other);
        // In two steps: the power alone may be out of range.
        let half = 9 * distance / 2;
        quotient * 10f64.powi(half) * 10f64.powi(9 * distance - half)
    }
}

/// Replaces a number by its quotient; returns the remainder. The divisor is at most 2^65.
fn divide_small(limbs: &mut [u32], divisor: u128) -> u128 {
    let mut remainder = 0u128;
    for limb in limbs.iter_mut().rev() {
        let value = remainder * RADIX as u128 + u128::from(*limb);
        *limb = (value / divisor) as u32;
        remainder = value % divisor;
    }
    remainder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_rounded_to_decimals() {
        for (text, places, even, up) in [
            ("2.345", 2, "2.34", "2.35"),
            ("-2.345", 2, "-2.34", "-2.35"),
            ("2.355", 2, "2.36", "2.36"),
            ("2.3450000000000000000001", 2, "2.35", "2.35"),
            ("0.5", 0, "0", "1"),
            ("-0.5", 0, "0", "-1"),
            ("1.5", 0, "2", "2"),
            ("999999999.5", 0, "1000000000", "1000000000"),
            ("0.9999999995", 9, "1.000000000", "1.000000000"),
            ("0.1234567885", 9, "0.123456788", "0.123456789"),
            (
                "1e30",
                2,
                "1000000000000000000000000000000.00",
                "1000000000000000000000000000000.00",
            ),
            ("1e-300", 3, "0.000", "0.000"),
            ("7", 2, "7.00", "7.00"),
        ] {
            let rounded = |half| {
                decimal(text)
                    .rounded(places, half)
                    .unwrap()
                    .to_fixed(places)
            };
            assert_eq!(
                [rounded(Half::Even), rounded(Half::Up)],
                [even, up],
                "{text}"
            );
        }
    }

    #[test]
    fn quotients_are_rounded_to_nearest() {
        for (x, divisor, places, expected) in [
            ("1", 3, 9, "0.333333333"),
            ("-2", 3, 5, "-0.66667"),
            ("2", 3, 10, "0.6666666667"),
            ("2", 3, 0, "1"),
            ("-1", 3, 0, "0"),
            ("1e-9", 2, 9, "0.000000001"),
            ("-1e-9", 2, 10, "-0.0000000005"),
            ("1e-20", 2, 0, "0"),
            ("1e-20", 2, 21, "0.000000000000000000005"),
            ("1e30", 16, 0, "62500000000000000000000000000"),
            ("999999999.9999999995", 1, 9, "1000000000"),
            ("123.456789", 1, 2, "123.46"),
            ("0", 7, 30, "0"),
            ("7", u64::MAX, 9, "0"),
        ] {
            assert_eq!(
                decimal(x).quotient(divisor, places).unwrap().to_string(),
                expected,
                "{x} / {divisor}"
            );
        }
        assert_eq!(decimal("1").quotient(0, 9), None);
    }

    #[test]
    fn quotients_as_floats() {
        for (x, divisor) in [
            ("1", 3),
            ("-1", 10),
            ("1e300", 7),
            ("1e-300", 7),
            ("2", 1 << 60),
            ("12345678901234567890123", 997),
        ] {
            let expected = decimal(x).round_f64() / divisor as f64;
            let found = decimal(x).quotient_f64(divisor);
            assert!(
                (found - expected).abs() <= 2.0 * f64::EPSILON * expected.abs(),
                "{found} {expected}"
            );
        }
        // A tie that only the remainder breaks: (2^53 + 1 + 1/(3 10^900)) and its double.
        assert_eq!(
            decimal("9007199254740993").quotient_f64(1),
            9007199254740992.0
        );
        let above = decimal("27021597764222979")
            .plus(&decimal("1e-900"))
            .unwrap();
        assert_eq!(above.quotient_f64(3), 9007199254740994.0);
        assert!(decimal("1").quotient_f64(0).is_nan());
        assert_eq!(Decimal::ZERO.quotient_f64(5), 0.0);
    }

    #[test]
    fn ratios_of_any_magnitudes() {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-14 * b.abs();
        assert!(close(decimal("1e5000").ratio(&decimal("4e4999")), 2.5));
        assert!(close(decimal("-1e-29").ratio(&decimal("3")), -1e-29 / 3.0));
        assert!(close(decimal("1e305").ratio(&decimal("1e-3")), 1e308));
        assert_eq!(decimal("1e9999").ratio(&decimal("1")), f64::INFINITY);
        assert_eq!(decimal("1").ratio(&decimal("1e9999")), 0.0);
        assert_eq!(decimal("0").ratio(&decimal("1")), 0.0);
    }
}
