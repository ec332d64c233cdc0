//! The floating-point signed-digit format: digits and an exponent (eq. 11).

use serde::{Deserialize, Serialize};

use super::digits::{decimal_of, ordinary_digits};
use super::{DigitSet, Method, Rows, SignedDigits, sum};
use crate::compute::Resolved;
use crate::error::{Error, Result};
use crate::signed_digit::decimal::{Decimal, MAX_EXPONENT};
use crate::signed_digit::limb::check_budget;

/// \[digits, exponent\]: the value is digits 10^exponent, exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Float {
    digits: SignedDigits,
    exponent: i64,
}

/// A number as a file may describe it.
#[derive(Deserialize)]
struct Unchecked {
    digits: SignedDigits,
    exponent: i64,
}

impl TryFrom<Unchecked> for Float {
    type Error = Error;

    fn try_from(number: Unchecked) -> Result<Self> {
        Self::new(number.digits, number.exponent)
    }
}

impl Float {
    /// From digits of radix 10 and an exponent.
    ///
    /// # Errors
    /// Digits of another radix, or an exponent beyond +-2 [`MAX_EXPONENT`].
    pub fn new(digits: SignedDigits, exponent: i64) -> Result<Self> {
        if digits.set().radix() != 10 {
            return Err(Error::invalid(
                "radix",
                digits.set().radix(),
                "10, for a number with an exponent",
            ));
        }
        if exponent.unsigned_abs() > 2 * MAX_EXPONENT.unsigned_abs() {
            return Err(Error::invalid(
                "exponent",
                exponent,
                format!("at most +-{}", 2 * MAX_EXPONENT),
            ));
        }
        Ok(Self::of(digits, exponent))
    }

    /// The same of digits and exponents that are known to be right.
    pub(super) fn of(digits: SignedDigits, exponent: i64) -> Self {
        Self { digits, exponent }
    }

    /// Zero.
    pub fn zero() -> Self {
        Self::of(SignedDigits::zero(DigitSet::PAPER), 0)
    }

    /// From a decimal number.
    pub fn from_decimal(number: &Decimal) -> Self {
        let ordinary = ordinary_digits(number);
        // Ordinary digits of radix 10 are digits of that radix.
        match SignedDigits::from_ordinary(DigitSet::PAPER, number.is_negative(), &ordinary) {
            Ok(digits) => Self::of(digits, 9 * number.scale()),
            Err(_) => Self::zero(),
        }
    }

    /// The digits.
    pub fn digits(&self) -> &SignedDigits {
        &self.digits
    }

    /// The exponent.
    pub fn exponent(&self) -> i64 {
        self.exponent
    }

    /// The value.
    pub fn to_decimal(&self) -> Decimal {
        let (sign, ordinary) = self.digits.to_ordinary();
        // Limbs are aligned to the decimal point: fill the exponent up to a multiple of nine.
        let fill = self.exponent.rem_euclid(9) as usize;
        let mut aligned = vec![0; fill];
        aligned.extend(ordinary);
        let scale = self.exponent.div_euclid(9);
        let number = decimal_of(10, sign < 0, &aligned);
        match number.is_zero() {
            true => number,
            false => Decimal::from_limbs(sign < 0, number.limbs().to_vec(), number.scale() + scale),
        }
    }

    /// The same value with an exponent at most as high: as many zeros more.
    fn lowered(&self, exponent: i64) -> SignedDigits {
        self.digits
            .shifted((self.exponent - exponent).max(0) as usize)
    }

    /// The sum (eq. 12).
    ///
    /// # Errors
    /// Exponents so far apart that the digits do not fit into memory.
    pub fn plus(&self, other: &Self) -> Result<Self> {
        if self.digits.digits().is_empty() {
            return Ok(other.clone());
        }
        if other.digits.digits().is_empty() {
            return Ok(self.clone());
        }
        let exponent = self.exponent.min(other.exponent);
        check_distance(self.exponent.max(other.exponent) - exponent)?;
        let digits = self.lowered(exponent).plus(&other.lowered(exponent))?;
        Ok(Self::of(digits, exponent))
    }

    /// The product (eq. 13).
    ///
    /// # Errors
    /// An exponent that no number may have.
    pub fn times(&self, other: &Self) -> Result<Self> {
        Self::new(
            self.digits.times(&other.digits)?,
            self.exponent + other.exponent,
        )
    }

    /// The number times -1.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self::of(self.digits.negated(), self.exponent)
    }

    /// The sum of a group of numbers (eqs. 8 and 9), aligned to the least exponent and summed by a method.
    ///
    /// # Errors
    /// As [`plus`](Self::plus) and [`sum`].
    pub fn sum(numbers: &[Self], method: Method, backend: &Resolved) -> Result<Self> {
        let (exponent, aligned) = aligned(numbers)?;
        Ok(Self::of(sum(&aligned, method, backend)?, exponent))
    }

    /// The dot product of two vectors: products, then the sum of those, by column sums and rows.
    ///
    /// # Errors
    /// Vectors of different lengths; as [`plus`](Self::plus) and [`dot`](super::dot).
    pub fn dot(x: &[Self], y: &[Self], rows: Rows, backend: &Resolved) -> Result<Self> {
        let (x_exponent, x) = aligned(x)?;
        let (y_exponent, y) = aligned(y)?;
        Ok(Self::of(
            super::dot(&x, &y, rows, backend)?,
            x_exponent + y_exponent,
        ))
    }
}

/// All numbers at their least exponent.
fn aligned(numbers: &[Float]) -> Result<(i64, Vec<SignedDigits>)> {
    let nonzero = || {
        numbers
            .iter()
            .filter(|number| !number.digits.digits().is_empty())
    };
    let low = nonzero().map(|number| number.exponent).min().unwrap_or(0);
    let high = nonzero().map(|number| number.exponent).max().unwrap_or(0);
    check_distance((high - low).saturating_mul(numbers.len() as i64))?;
    Ok((
        low,
        numbers.iter().map(|number| number.lowered(low)).collect(),
    ))
}

/// Refuses alignments by more digits than memory holds.
fn check_distance(places: i64) -> Result<()> {
    check_budget(0, places / 9, u64::MAX)
}

/// Digits that an exact sum of n numbers K 10^t may need, |K| <= 10^`mantissa` - 1 and |t| <= `exponent`: eq. 10, corrected.
///
/// Exponents differ by up to 2 `exponent`, where the paper counts half of that, so the sum is at most n (10^mantissa - 1) 10^(2 exponent) in magnitude:
/// mantissa + 2 exponent + ceil(lg n) digits. Digits -6..6 may take one more.
pub fn digit_count(mantissa: u64, exponent: u64, n: u64) -> u64 {
    // n (10^mantissa - 1) has mantissa + ceil(lg n) digits.
    let log = match n {
        0 | 1 => 0,
        n => u64::from((n - 1).ilog10()) + 1,
    };
    mantissa + 2 * exponent + log
}
