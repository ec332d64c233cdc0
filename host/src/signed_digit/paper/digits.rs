//! Sets of digits, and numbers written with them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::signed_digit::decimal::Decimal;

/// A radix b, the digits -a..a, and the sum of two digits from which on a unit goes to the next place.
///
/// The set is closed under addition if every sum s of two digits keeps |s - b t| <= a - 1, which leaves room for a transfer from below. That asks for
/// T <= a (the largest s that keeps t = 0), T >= b - a + 1 (the least s with t = 1) and a <= b - 1 (s = 2 a). So 2 a >= b + 1, and radix 10 needs the
/// digits up to 6 at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "UncheckedSet")]
pub struct DigitSet {
    radix: i32,
    largest: i32,
    threshold: i32,
}

/// A set of digits as a file may describe it.
#[derive(Deserialize)]
struct UncheckedSet {
    radix: i32,
    largest: i32,
    threshold: i32,
}

impl TryFrom<UncheckedSet> for DigitSet {
    type Error = Error;

    fn try_from(set: UncheckedSet) -> Result<Self> {
        Self::new(set.radix, set.largest, set.threshold)
    }
}

impl fmt::Display for DigitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "digits -{0}..{0} of radix {1} with the threshold {2}",
            self.largest, self.radix, self.threshold
        )
    }
}

/// Refuses numbers of different sets of digits.
pub(super) fn same_set(one: DigitSet, other: DigitSet) -> Result<()> {
    if one == other {
        return Ok(());
    }
    Err(Error::invalid(
        "set of digits",
        format!("{other} beside {one}"),
        "one set of digits for all numbers",
    ))
}

impl DigitSet {
    /// The paper's: radix 10 and digits -6..6, with the threshold 6 that keeps them.
    pub const PAPER: Self = Self {
        radix: 10,
        largest: 6,
        threshold: 6,
    };

    /// Digits -`largest`..`largest` of this radix.
    ///
    /// # Errors
    /// Where a sum could leave the set: the text says which thresholds are right, or which digits.
    pub fn new(radix: i32, largest: i32, threshold: i32) -> Result<Self> {
        if !(3..=64).contains(&radix) {
            return Err(Error::invalid("radix", radix, "3 to 64"));
        }
        let (low, high) = (radix - largest + 1, largest);
        if largest >= radix || low > high {
            return Err(Error::invalid(
                "largest",
                largest,
                format!(
                    "a largest digit from {} to {} for radix {radix}, whose digits are added without a running carry",
                    (radix + 2) / 2,
                    radix - 1
                ),
            ));
        }
        if !(low..=high).contains(&threshold) {
            return Err(Error::invalid(
                "threshold",
                threshold,
                format!(
                    "{low} to {high}: with others sums of digits -{largest}..{largest} leave the set"
                ),
            ));
        }
        Ok(Self {
            radix,
            largest,
            threshold,
        })
    }

    /// The radix.
    pub fn radix(&self) -> i32 {
        self.radix
    }

    /// The largest digit.
    pub fn largest(&self) -> i32 {
        self.largest
    }

    /// The threshold.
    pub fn threshold(&self) -> i32 {
        self.threshold
    }

    /// The transfer of a sum of two digits to the next place.
    pub fn transfer(&self, sum: i32) -> i32 {
        i32::from(sum >= self.threshold) - i32::from(sum <= -self.threshold)
    }

    /// An integer in these digits: each ordinary digit from the threshold on becomes itself less the radix, with a unit to the next place.
    pub(super) fn digits_of(&self, value: i64) -> Vec<i8> {
        let mut left = value.unsigned_abs();
        let mut digits = Vec::new();
        let radix = self.radix as u64;
        while left > 0 {
            digits.push((left % radix) as u8);
            left /= radix;
        }
        self.convert(value < 0, digits.len(), |place| digits[place])
    }

    /// The conversion of ordinary digits, in all places independently of one another.
    fn convert(&self, negative: bool, len: usize, ordinary: impl Fn(usize) -> u8) -> Vec<i8> {
        let at = |place: usize| i32::from(ordinary(place));
        // Below the threshold there is room for a unit from below, and from it on d - b >= 1 - a.
        let up = |digit: i32| i32::from(digit >= self.threshold);
        let digit = |place: usize| {
            let here = if place < len { at(place) } else { 0 };
            let below = if place > 0 { up(at(place - 1)) } else { 0 };
            let digit = here - self.radix * up(here) + below;
            if negative { -digit as i8 } else { digit as i8 }
        };
        let mut digits: Vec<i8> = (0..=len).map(digit).collect();
        trim(&mut digits);
        digits
    }
}

/// An integer in redundant signed digits.
///
/// It has many forms; numbers of one value may differ here and are compared as [`Decimal`]s. Zero has one form only.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "UncheckedDigits")]
pub struct SignedDigits {
    set: DigitSet,
    /// The least first; no zero at the upper end.
    digits: Vec<i8>,
}

/// A number as a file may describe it.
#[derive(Deserialize)]
struct UncheckedDigits {
    set: DigitSet,
    digits: Vec<i8>,
}

impl TryFrom<UncheckedDigits> for SignedDigits {
    type Error = Error;

    fn try_from(number: UncheckedDigits) -> Result<Self> {
        Self::new(number.set, number.digits)
    }
}

fn trim(digits: &mut Vec<i8>) {
    while digits.last() == Some(&0) {
        digits.pop();
    }
}

impl SignedDigits {
    /// Zero.
    pub fn zero(set: DigitSet) -> Self {
        Self {
            set,
            digits: Vec::new(),
        }
    }

    /// From digits of the set, the least first.
    ///
    /// # Errors
    /// A digit that is not of the set.
    pub fn new(set: DigitSet, mut digits: Vec<i8>) -> Result<Self> {
        if let Some(digit) = digits
            .iter()
            .find(|&&digit| i32::from(digit).abs() > set.largest)
        {
            return Err(Error::invalid(
                "digit",
                digit,
                format!("a digit from -{0} to {0}", set.largest),
            ));
        }
        trim(&mut digits);
        Ok(Self { set, digits })
    }

    /// From ordinary digits 0..radix, the least first, in one parallel step.
    ///
    /// # Errors
    /// A digit that is not below the radix.
    pub fn from_ordinary(set: DigitSet, negative: bool, ordinary: &[u8]) -> Result<Self> {
        if let Some(digit) = ordinary
            .iter()
            .find(|&&digit| i32::from(digit) >= set.radix)
        {
            return Err(Error::invalid(
                "digit",
                digit,
                format!("a digit below the radix {}", set.radix),
            ));
        }
        let digits = set.convert(negative, ordinary.len(), |place| ordinary[place]);
        Ok(Self { set, digits })
    }

    /// A whole number in the paper's digits.
    ///
    /// # Errors
    /// A number with a fraction; [`Float`](super::Float) takes those.
    pub fn from_decimal(number: &Decimal) -> Result<Self> {
        if !number.is_integer() {
            return Err(Error::invalid("number", number, "a whole number"));
        }
        let mut ordinary = vec![0; 9 * number.scale() as usize];
        ordinary.extend(ordinary_digits(number));
        Self::from_ordinary(DigitSet::PAPER, number.is_negative(), &ordinary)
    }

    /// The set of digits.
    pub fn set(&self) -> DigitSet {
        self.set
    }

    /// The digits, the least first.
    pub fn digits(&self) -> &[i8] {
        &self.digits
    }

    /// The sum, in all positions independently of one another.
    ///
    /// # Errors
    /// Numbers of different digit sets.
    pub fn plus(&self, other: &Self) -> Result<Self> {
        same_set(self.set, other.set)?;
        Ok(self.plus_digits(&other.digits))
    }

    /// The sum with digits of the same set.
    pub(super) fn plus_digits(&self, other: &[i8]) -> Self {
        let (set, len) = (self.set, self.digits.len().max(other.len()));
        let sum = |place: usize| {
            let digit = |digits: &[i8]| digits.get(place).map_or(0, |&digit| i32::from(digit));
            digit(&self.digits) + digit(other)
        };
        let digit = |place: usize| {
            let here = sum(place);
            let below = if place > 0 {
                set.transfer(sum(place - 1))
            } else {
                0
            };
            (here - set.radix * set.transfer(here) + below) as i8
        };
        let mut digits: Vec<i8> = (0..=len).map(digit).collect();
        trim(&mut digits);
        Self { set, digits }
    }

    /// The number times -1: every digit times -1.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self {
            set: self.set,
            digits: self.digits.iter().map(|digit| -digit).collect(),
        }
    }

    /// The number times radix^`places`.
    #[must_use]
    pub fn shifted(&self, places: usize) -> Self {
        let mut digits = vec![0; places];
        digits.extend_from_slice(&self.digits);
        trim(&mut digits);
        Self {
            set: self.set,
            digits,
        }
    }

    /// -1, 0 or 1: the sign of the leading digit, because the tail is less than one unit of it.
    pub fn sign(&self) -> i32 {
        self.digits
            .last()
            .map_or(0, |&digit| i32::from(digit).signum())
    }

    /// Sign and ordinary digits, the least first: the one step with a carry chain.
    pub fn to_ordinary(&self) -> (i32, Vec<u8>) {
        let sign = self.sign();
        let mut borrow = 0;
        let mut ordinary: Vec<u8> = self
            .digits
            .iter()
            .map(|&digit| {
                let value = sign * i32::from(digit) + borrow;
                borrow = value.div_euclid(self.set.radix);
                value.rem_euclid(self.set.radix) as u8
            })
            .collect();
        while ordinary.last() == Some(&0) {
            ordinary.pop();
        }
        (sign, ordinary)
    }

    /// The value.
    pub fn to_decimal(&self) -> Decimal {
        let (sign, ordinary) = self.to_ordinary();
        decimal_of(self.set.radix, sign < 0, &ordinary)
    }
}

/// The digits of a number without its scale, the least first.
pub(super) fn ordinary_digits(number: &Decimal) -> Vec<u8> {
    let mut digits = Vec::with_capacity(9 * number.limbs().len());
    for &limb in number.limbs() {
        let mut left = limb;
        for _ in 0..9 {
            digits.push((left % 10) as u8);
            left /= 10;
        }
    }
    digits
}

/// The number with these ordinary digits.
pub(super) fn decimal_of(radix: i32, negative: bool, ordinary: &[u8]) -> Decimal {
    if radix == 10 {
        let limb = |digits: &[u8]| {
            digits
                .iter()
                .rev()
                .fold(0, |value, &digit| 10 * value + u32::from(digit))
        };
        return Decimal::from_limbs(negative, ordinary.chunks(9).map(limb).collect(), 0);
    }
    let mut limbs = Vec::new();
    for &digit in ordinary.iter().rev() {
        crate::signed_digit::decimal::multiply_small(&mut limbs, radix as u64, digit.into());
    }
    Decimal::from_limbs(negative, limbs, 0)
}
