//! The exact value of a sum: a binary fixed-point number of 4416 bits, and what can be read off it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::accumulator::{ExactAccumulator, Special, UNIT, WORD, WORDS};
use super::format::Float;
use crate::error::{Error, Result};
use crate::signed_digit::decimal::Decimal;

/// Words behind the binary point.
const FRACTION_WORDS: usize = 68;
const _: () = assert!(UNIT == -((FRACTION_WORDS * WORD) as i32));

/// The value of an exact sum or dot product, before it is rounded.
///
/// [`Display`](fmt::Display) writes it in full, as a decimal number without an exponent: every binary fraction is a finite decimal one.
/// With a precision, as in `{:.20}`, it is cut there towards zero.
///
/// ```
/// use rarefy::signed_digit::float::ExactSum;
///
/// let sum: ExactSum = [0.1, 0.2, 0.3].into_iter().collect();
/// assert_eq!(sum.value().to_string(), "0.6000000000000000055511151231257827021181583404541015625");
/// assert_eq!(sum.round::<f64>(), 0.6);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct ExactValue {
    kind: Kind,
    negative: bool,
    /// Of a finite value: magnitude / 2^UNIT, lowest word first, without zeros on top.
    magnitude: Vec<u32>,
    /// The magnitude is larger than that, by less than its unit.
    more: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Finite,
    Infinite,
    Nan,
}

/// A value as a file may describe it.
#[derive(Deserialize)]
struct Unchecked {
    kind: Kind,
    negative: bool,
    magnitude: Vec<u32>,
    more: bool,
}

impl TryFrom<Unchecked> for ExactValue {
    type Error = Error;

    fn try_from(value: Unchecked) -> Result<Self> {
        let Unchecked {
            kind,
            negative,
            magnitude,
            more,
        } = value;
        let finite = kind == Kind::Finite;
        let bare = magnitude.is_empty() && !more;
        if magnitude.len() > WORDS || magnitude.last() == Some(&0) || !(finite || bare) {
            return Err(Error::invalid(
                "magnitude",
                format!("{} words", magnitude.len()),
                format!(
                    "at most {WORDS} words, the last of which is not 0, and none of a value that is not finite"
                ),
            ));
        }
        Ok(Self {
            kind,
            negative,
            magnitude,
            more,
        })
    }
}

impl ExactAccumulator {
    /// The sum, rounded once to the nearest number of the type, ties to even.
    pub fn round<T: Float>(&self) -> T {
        self.value().round()
    }

    /// The sum divided by the [`count`](Self::count), rounded once. The mean of nothing is NaN.
    pub fn mean<T: Float>(&self) -> T {
        self.value().divided_by(self.count()).round()
    }

    /// The sum before rounding.
    pub fn value(&self) -> ExactValue {
        let Special {
            nan,
            plus_infinity,
            minus_infinity,
            ..
        } = self.special();
        if nan || plus_infinity && minus_infinity {
            return ExactValue::nan();
        }
        if plus_infinity || minus_infinity {
            return ExactValue::infinite(minus_infinity);
        }
        let (negative, magnitude) = self.magnitude();
        ExactValue::finite(negative, magnitude)
    }
}

impl fmt::Debug for ExactAccumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExactAccumulator")
            .field("rounded", &self.round::<f64>())
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

impl ExactValue {
    fn nan() -> Self {
        Self {
            kind: Kind::Nan,
            negative: false,
            magnitude: Vec::new(),
            more: false,
        }
    }

    fn infinite(negative: bool) -> Self {
        Self {
            kind: Kind::Infinite,
            negative,
            ..Self::nan()
        }
    }

    /// `magnitude 2^UNIT`, lowest word first.
    fn finite(negative: bool, mut magnitude: Vec<u32>) -> Self {
        trim(&mut magnitude);
        Self {
            kind: Kind::Finite,
            negative,
            magnitude,
            more: false,
        }
    }

    /// `magnitude 2^UNIT` and more, if any, below that unit; beyond all formats infinite.
    pub(crate) fn from_words(negative: bool, magnitude: Vec<u32>, more: bool) -> Self {
        let value = Self {
            more,
            ..Self::finite(negative, magnitude)
        };
        if value.magnitude.len() > WORDS {
            return Self::infinite(negative);
        }
        value
    }

    /// Sign and magnitude in units of 2^-[`FRACTION_BITS`](Self::FRACTION_BITS); `None` of a value that is not finite.
    pub(crate) fn words(&self) -> Option<(bool, &[u32])> {
        self.is_finite().then_some((self.negative, &self.magnitude))
    }

    /// Bits behind the binary point.
    pub(crate) const FRACTION_BITS: usize = FRACTION_WORDS * WORD;

    /// Whether the value is a number other than NaN and the infinities.
    pub fn is_finite(&self) -> bool {
        self.kind == Kind::Finite
    }

    /// Whether the value is 0 or -0.
    pub fn is_zero(&self) -> bool {
        self.is_finite() && self.magnitude.is_empty() && !self.more
    }

    /// Whether the value is below 0, or is -0.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The value as a decimal number; `None` for NaN and the infinities. Zero loses its sign.
    pub fn to_decimal(&self) -> Option<Decimal> {
        self.is_finite()
            .then(|| Decimal::from_binary(self.negative, &self.magnitude, UNIT as i16))
    }

    /// The nearest number of the type; of two that are equally near, the even one.
    ///
    /// A value at least half a unit above the largest number becomes infinity; below the smallest normal number the result is subnormal.
    pub fn round<T: Float>(&self) -> T {
        match self.kind {
            Kind::Nan => T::from_bits_u64(T::INFINITY_BITS | 1 << (T::MANTISSA_BITS - 2)),
            Kind::Infinite => self.signed(T::INFINITY_BITS),
            Kind::Finite => self.signed(self.rounded_bits(
                T::MANTISSA_BITS as i64,
                i64::from(T::LEAST_EXPONENT),
                T::INFINITY_BITS,
            )),
        }
    }

    fn signed<T: Float>(&self, bits: u64) -> T {
        T::from_bits_u64(if self.negative {
            bits | T::SIGN_BIT
        } else {
            bits
        })
    }

    /// Bits of the rounded magnitude in a format with this many bits of the mantissa, the hidden one included.
    fn rounded_bits(&self, mantissa: i64, least_exponent: i64, infinity: u64) -> u64 {
        let bits = bit_length(&self.magnitude) as i64;
        let unit = i64::from(UNIT);
        // Exponent of the last bit of the result, and the bits of the value below it.
        let last = (bits - mantissa + unit).max(least_exponent);
        let below = usize::try_from(last - unit).unwrap_or(0);
        let mut integer = bits_from(&self.magnitude, below);
        let half = below > 0 && bit(&self.magnitude, below - 1);
        let rest = self.more || below > 1 && any_below(&self.magnitude, below - 1);
        if half && (rest || integer & 1 == 1) {
            integer += 1;
        }
        // The hidden bit, or a carry out of the mantissa, adds 1 to the exponent's bits.
        let exponent = u64::try_from(last - least_exponent).unwrap_or(0);
        ((exponent << (mantissa - 1)) + integer).min(infinity)
    }

    /// The value divided by a count; its rounding is that of the exact quotient. Division of 0 by 0 is NaN.
    #[must_use]
    pub fn divided_by(&self, divisor: u64) -> Self {
        if self.kind != Kind::Finite {
            return self.clone();
        }
        if divisor == 0 {
            return if self.is_zero() {
                Self::nan()
            } else {
                Self::infinite(self.negative)
            };
        }
        let mut quotient = self.magnitude.clone();
        let remainder = divide(&mut quotient, divisor);
        Self {
            more: self.more || remainder != 0,
            ..Self::finite(self.negative, quotient)
        }
    }

    /// The square root of the magnitude, correctly rounded. A negative value has the root NaN, and -0 has -0.
    pub fn sqrt<T: Float>(&self) -> T {
        match self.kind {
            Kind::Finite if self.is_zero() => self.round(),
            Kind::Finite if !self.negative => self.root().round(),
            Kind::Infinite if !self.negative => self.round(),
            _ => Self::nan().round(),
        }
    }

    /// The square root of a positive value, to 60 bits or more, with a note whether more follow.
    fn root(&self) -> Self {
        let bits = bit_length(&self.magnitude);
        // An even number of bits dropped, or added, leaves 127 or 128.
        let dropped = (bits as i64 - 127).div_euclid(2) * 2;
        let (square, mut more) = if dropped >= 0 {
            let dropped = dropped as usize;
            let low = u128::from(bits_from(&self.magnitude, dropped));
            let high = u128::from(bits_from(&self.magnitude, dropped + 64));
            (high << 64 | low, any_below(&self.magnitude, dropped))
        } else {
            let low = u128::from(bits_from(&self.magnitude, 0));
            let high = u128::from(bits_from(&self.magnitude, 64));
            ((high << 64 | low) << -dropped, false)
        };
        let root = square.isqrt();
        more |= self.more || root * root != square;
        // value = square 2^(UNIT + dropped), so the root's unit is 2^((UNIT + dropped) / 2).
        let shift = (i64::from(UNIT) + dropped) / 2 - i64::from(UNIT);
        let mut magnitude = vec![0_u32; WORDS];
        // The root of the smallest value is far above the unit: nothing is lost below, as UNIT / 2 - 64 > UNIT.
        let at = usize::try_from(shift).unwrap_or(0);
        let shifted = root << (at % WORD);
        for (k, word) in magnitude.iter_mut().skip(at / WORD).take(4).enumerate() {
            *word = (shifted >> (WORD * k)) as u32;
        }
        Self {
            more,
            ..Self::finite(false, magnitude)
        }
    }
}

impl fmt::Display for ExactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nonnegative = !self.negative || self.is_zero();
        let text = match self.kind {
            Kind::Nan => return f.pad("NaN"),
            Kind::Infinite => "inf".to_owned(),
            Kind::Finite => {
                let mut text = integer_digits(self.magnitude.get(FRACTION_WORDS..).unwrap_or(&[]));
                let fraction = &self.magnitude[..self.magnitude.len().min(FRACTION_WORDS)];
                let digits = fraction_digits(fraction, f.precision());
                if !digits.is_empty() {
                    text.push('.');
                    text.push_str(&digits);
                }
                text
            }
        };
        if nonnegative || text == "0" {
            f.write_str(&text)
        } else {
            write!(f, "-{text}")
        }
    }
}

/// Decimal digits of an integer.
fn integer_digits(words: &[u32]) -> String {
    let mut words = words.to_vec();
    trim(&mut words);
    let mut groups = Vec::new();
    while !words.is_empty() {
        groups.push(divide(&mut words, 1_000_000_000));
        trim(&mut words);
    }
    let mut text = groups.pop().unwrap_or(0).to_string();
    for group in groups.iter().rev() {
        text.push_str(&format!("{group:09}"));
    }
    text
}

/// Decimal digits of a fraction of [`FRACTION_WORDS`] words, of which the topmost may be missing as they are 0; no zeros at the end,
/// unless a number of digits is asked for.
fn fraction_digits(words: &[u32], precision: Option<usize>) -> String {
    let mut words = words.to_vec();
    words.resize(FRACTION_WORDS, 0);
    let mut text = String::new();
    // Low words that have become 0 stay so.
    let mut lowest = words
        .iter()
        .position(|&word| word != 0)
        .unwrap_or(FRACTION_WORDS);
    while lowest < FRACTION_WORDS && precision.is_none_or(|digits| text.len() < digits) {
        let mut carry = 0_u64;
        for word in &mut words[lowest..] {
            let product = u64::from(*word) * 1_000_000_000 + carry;
            *word = product as u32;
            carry = product >> WORD;
        }
        text.push_str(&format!("{carry:09}"));
        while words.get(lowest) == Some(&0) {
            lowest += 1;
        }
    }
    match precision {
        Some(digits) => {
            text.truncate(digits);
            while text.len() < digits {
                text.push('0');
            }
        }
        None => text.truncate(text.trim_end_matches('0').len()),
    }
    text
}

fn trim(words: &mut Vec<u32>) {
    while words.last() == Some(&0) {
        words.pop();
    }
}

/// Divides in place and returns the remainder.
fn divide(words: &mut [u32], divisor: u64) -> u64 {
    let mut remainder = 0_u128;
    for word in words.iter_mut().rev() {
        let dividend = remainder << WORD | u128::from(*word);
        // The remainder is below the divisor, so the quotient is below 2^32.
        *word = (dividend / u128::from(divisor)) as u32;
        remainder = dividend % u128::from(divisor);
    }
    remainder as u64
}

/// Bits up to the topmost one that is set.
fn bit_length(words: &[u32]) -> usize {
    words.iter().rposition(|&word| word != 0).map_or(0, |top| {
        (top + 1) * WORD - words[top].leading_zeros() as usize
    })
}

fn bit(words: &[u32], at: usize) -> bool {
    words
        .get(at / WORD)
        .is_some_and(|word| word >> (at % WORD) & 1 == 1)
}

/// Whether any bit below `end` is set.
fn any_below(words: &[u32], end: usize) -> bool {
    let whole = end / WORD;
    words.iter().take(whole).any(|&word| word != 0)
        || words
            .get(whole)
            .is_some_and(|word| word & ((1_u32 << (end % WORD)) - 1) != 0)
}

/// The 64 bits from bit `at` on.
fn bits_from(words: &[u32], at: usize) -> u64 {
    let word = |k: usize| u128::from(words.get(at / WORD + k).copied().unwrap_or(0));
    ((word(2) << 64 | word(1) << 32 | word(0)) >> (at % WORD)) as u64
}
