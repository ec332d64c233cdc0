//! The accumulator: what a sum is kept in.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// Bits of a word.
pub(super) const WORD: usize = 32;
/// Words of an exact value.
pub(super) const WORDS: usize = 138;
/// Exponent of the lowest bit of an exact value. The smallest product of two `f64` is 2^-2148.
pub(super) const UNIT: i32 = -2176;

/// Target of `collect` for an iterator of numbers: an [`ExactAccumulator`].
///
/// ```
/// use rarefy::signed_digit::float::ExactSum;
///
/// let sum = (1..=10).map(|k| 1.0 / f64::from(k)).collect::<ExactSum>();
/// assert_eq!(sum.round::<f64>(), 2.9289682539682538);
/// ```
pub type ExactSum = ExactAccumulator;

/// Single deposits between two carries: each adds less than 2^44 to a digit.
const MOST_DEPOSITS: u32 = 1 << 18;

/// A sum of floating-point numbers and of products of them, kept without any error.
///
/// Numbers, products, slices of either and other accumulators can be added in any order and grouping; the accumulator holds the same
/// bits afterwards. It can be saved ([`to_bytes`](Self::to_bytes), or serde) and continued elsewhere. Any number of addends up to 2^64
/// fits.
///
/// ```
/// use rarefy::signed_digit::float::ExactAccumulator;
///
/// let mut first = ExactAccumulator::new();
/// first.add_slice(&[1e300, 1.5]);
/// let mut second = ExactAccumulator::from_bytes(&first.to_bytes())?;
/// second.add_slice(&[-1e300_f64]);
/// second.add_product(0.5, 3.0);
/// first = second.clone();
/// first.merge(&second);
/// assert_eq!((second.round::<f64>(), first.round::<f32>(), first.count()), (3.0, 6.0, 8));
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone)]
pub struct ExactAccumulator {
    /// `sum of digits[i] 2^(32 i + UNIT)`.
    digits: Box<[i64; WORDS]>,
    /// Deposits since the last carry.
    deposits: u32,
    count: u64,
    special: Special,
}

/// Special values that digits cannot hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Special {
    pub(super) nan: bool,
    pub(super) plus_infinity: bool,
    pub(super) minus_infinity: bool,
    /// An addend had a clear sign bit: an empty sum is no longer -0.
    pub(super) not_negative: bool,
}

impl Special {
    fn merge(&mut self, other: Self) {
        self.nan |= other.nan;
        self.plus_infinity |= other.plus_infinity;
        self.minus_infinity |= other.minus_infinity;
        self.not_negative |= other.not_negative;
    }

    fn any(self) -> bool {
        self.nan || self.plus_infinity || self.minus_infinity
    }

    /// Notes an addend that is not finite.
    pub(super) fn note(&mut self, value: f64) {
        self.nan |= value.is_nan();
        self.plus_infinity |= value == f64::INFINITY;
        self.minus_infinity |= value == f64::NEG_INFINITY;
    }
}

impl Default for ExactAccumulator {
    fn default() -> Self {
        Self::new()
    }
}

impl ExactAccumulator {
    /// Bytes that [`to_bytes`](Self::to_bytes) makes.
    pub const BYTES: usize = MAGIC.len() + 8 + 1 + 8 * WORDS;

    /// An empty sum, which is +0.
    pub fn new() -> Self {
        Self {
            digits: Box::new([0; WORDS]),
            deposits: 0,
            count: 0,
            special: Special::default(),
        }
    }

    /// Adds a number.
    pub(super) fn add_number(&mut self, x: f64) {
        self.count += 1;
        self.special.not_negative |= x.is_sign_positive();
        if x.is_finite() {
            let (integer, exponent) = decompose(x);
            self.deposit(i128::from(integer), exponent - 1075);
        } else {
            self.special.note(x);
        }
    }

    /// Adds the product of two numbers.
    pub(super) fn add_one_product(&mut self, x: f64, y: f64) {
        self.count += 1;
        self.special.not_negative |= x.is_sign_positive() == y.is_sign_positive();
        if x.is_finite() && y.is_finite() {
            let ((a, a_exponent), (b, b_exponent)) = (decompose(x), decompose(y));
            self.deposit(
                i128::from(a) * i128::from(b),
                a_exponent + b_exponent - 2150,
            );
        } else {
            self.special.note(x * y);
        }
    }

    /// Adds everything that another accumulator holds.
    pub fn merge(&mut self, other: &Self) {
        self.carry();
        let mut other = other.clone();
        other.carry();
        for (digit, more) in self.digits.iter_mut().zip(other.digits.iter()) {
            *digit += more;
        }
        self.count = self.count.saturating_add(other.count);
        self.special.merge(other.special);
        self.carry();
    }

    /// How many numbers or products were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Special values among the addends.
    pub(super) fn special(&self) -> Special {
        self.special
    }

    /// The sign of a finite sum, and its magnitude in units of 2^UNIT, lowest word first.
    pub(super) fn magnitude(&self) -> (bool, Vec<u32>) {
        let mut sum = self.clone();
        sum.carry();
        // The tail below the leading digit is less than one unit of that digit.
        let leading = sum.digits.iter().rev().find(|digit| **digit != 0);
        let negative = match leading {
            Some(digit) => *digit < 0,
            None => self.count > 0 && !self.special.not_negative,
        };
        let sign = if negative { -1 } else { 1 };
        let mut borrow = 0_i64;
        let magnitude = sum.digits.iter().map(|digit| {
            let value = sign * digit + borrow;
            borrow = value >> WORD;
            value as u32
        });
        (negative, magnitude.collect())
    }

    /// Adds `value 2^exponent`.
    pub(super) fn deposit(&mut self, value: i128, exponent: i32) {
        if self.deposits == MOST_DEPOSITS {
            self.carry();
        }
        self.deposits += 1;
        // Exponents lie between -2148 and 2^11 by construction.
        let place = (exponent - UNIT) as usize;
        let (first, shift) = (place / WORD, place % WORD);
        let low = u128::from(value as u64) << shift;
        let high = ((value >> 64) << shift) + (low >> 64) as i128;
        let terms = [
            i64::from(low as u32),
            i64::from((low >> WORD) as u32),
            i64::from(high as u32),
            (high >> WORD) as i64,
        ];
        for (digit, term) in self.digits[first..].iter_mut().zip(terms) {
            *digit += term;
        }
    }

    /// Adds digits of another unit: `sum of digits[k] 2^(digit_bits k + unit)`.
    pub(super) fn deposit_digits(
        &mut self,
        digits: impl IntoIterator<Item = i64>,
        digit_bits: u32,
        unit: i32,
    ) {
        for (k, digit) in digits.into_iter().enumerate() {
            if digit != 0 {
                self.deposit(i128::from(digit), unit + (digit_bits as usize * k) as i32);
            }
        }
    }

    /// Notes addends whose digits are, or will be, deposited.
    pub(super) fn note(&mut self, count: usize, special: Special) {
        self.count += count as u64;
        self.special.merge(special);
    }

    /// Brings all digits but the last to `-2^31 <= d < 2^31`. That form is unique.
    fn carry(&mut self) {
        if self.special.any() {
            // Finite addends no longer matter, nor do signs: the sign of a NaN differs between processors.
            self.digits.fill(0);
            self.special.not_negative = true;
        }
        carry(&mut self.digits);
        self.deposits = 0;
    }

    /// The accumulator as bytes, from which [`from_bytes`](Self::from_bytes) makes it again: the same bytes on every computer, for every
    /// order of the same addends.
    ///
    /// Numbers have their lowest byte first:
    ///
    /// | byte | content |
    /// |---|---|
    /// | 0 to 18 | `rarefy exact sum 1` and a line feed |
    /// | 19 to 26 | how many numbers or products were added, 64 bits |
    /// | 27 | 1 if a NaN was added, 2 an infinity, 4 a negative infinity, 8 an addend with a clear sign bit; added |
    /// | 28 to 1131 | 138 signed digits d_0, d_1, ... of 64 bits each, `-2^31 <= d < 2^31`; the sum is that of `d_i 2^(32 i - 2176)` |
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sum = self.clone();
        sum.carry();
        let flags = [
            sum.special.nan,
            sum.special.plus_infinity,
            sum.special.minus_infinity,
            sum.special.not_negative,
        ];
        let flags = flags
            .iter()
            .rev()
            .fold(0, |byte, flag| byte << 1 | u8::from(*flag));
        let mut bytes = MAGIC.to_vec();
        bytes.extend(sum.count.to_le_bytes());
        bytes.push(flags);
        bytes.extend(sum.digits.iter().flat_map(|digit| digit.to_le_bytes()));
        bytes
    }

    /// The accumulator that [`to_bytes`](Self::to_bytes) saved.
    ///
    /// # Errors
    /// Bytes that are no saved sum: another beginning or length, unknown flags, digits out of range, and a sum or flags that so many addends do not have.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |value: String| {
            let expected = format!("the {} bytes of a saved exact sum", Self::BYTES);
            Error::invalid("bytes", value, expected)
        };
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| wrong("another beginning".into()))?;
        if bytes.len() != Self::BYTES {
            return Err(wrong(format!("{} bytes", bytes.len())));
        }
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&rest[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let mut sum = Self::new();
        sum.count = word(0);
        let flags = rest[8];
        if flags >> 4 != 0 {
            return Err(wrong(format!("flags {flags:#x}")));
        }
        sum.special = Special {
            nan: flags & 1 != 0,
            plus_infinity: flags & 2 != 0,
            minus_infinity: flags & 4 != 0,
            not_negative: flags & 8 != 0,
        };
        for (k, digit) in sum.digits.iter_mut().enumerate() {
            *digit = word(9 + 8 * k) as i64;
            if i64::from(*digit as i32) != *digit {
                return Err(wrong(format!("the digit {digit}")));
            }
        }
        sum.check().map_err(|text| wrong(text.into()))?;
        Ok(sum)
    }

    /// Refuses what no addends make.
    fn check(&self) -> Result<(), &'static str> {
        let is_zero = self.digits.iter().all(|digit| *digit == 0);
        if self.special.any() && !(is_zero && self.special.not_negative) {
            return Err("a sum that is not finite, with digits or without its flag 8");
        }
        if self.count == 0 && !(is_zero && self.special == Special::default()) {
            return Err("a sum of no addends, with digits or flags");
        }
        if !self.special.not_negative && self.digits.iter().rev().find(|d| **d != 0) > Some(&0) {
            return Err("a positive sum of negative addends");
        }
        let (_, words) = self.magnitude();
        let top = words.iter().rposition(|word| *word != 0);
        let bits = top.map_or(0, |top| {
            WORD * (top + 1) - words[top].leading_zeros() as usize
        });
        // A product is below 2^2048 in magnitude.
        let most = (2048 - UNIT) as usize + (u64::BITS - self.count.leading_zeros()) as usize;
        if bits > most {
            return Err("a sum beyond that of so many addends");
        }
        Ok(())
    }
}

const MAGIC: &[u8] = b"rarefy exact sum 1\n";

/// Brings all digits but the last to `-2^31 <= d < 2^31`.
pub(super) fn carry<const DIGITS: usize>(digits: &mut [i64; DIGITS]) {
    let mut carry = 0_i64;
    for digit in &mut digits[..DIGITS - 1] {
        let value = *digit + carry;
        *digit = i64::from(value as i32);
        carry = (value - *digit) >> WORD;
    }
    digits[DIGITS - 1] += carry;
}

/// Signed integer and biased exponent of a finite number: `integer 2^(exponent - 1075)`.
fn decompose(x: f64) -> (i64, i32) {
    let bits = x.to_bits();
    let biased = (bits >> 52 & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let integer = if biased == 0 {
        fraction
    } else {
        fraction | 1 << 52
    };
    (
        if x.is_sign_negative() {
            -integer
        } else {
            integer
        },
        biased.max(1),
    )
}

impl PartialEq for ExactAccumulator {
    /// Whether both hold the same: the value, the count and what was seen of special values.
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Eq for ExactAccumulator {}

impl Serialize for ExactAccumulator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de> Deserialize<'de> for ExactAccumulator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> serde::de::Visitor<'de> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of a saved exact sum")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<Vec<u8>, A::Error> {
                let mut bytes = Vec::with_capacity(ExactAccumulator::BYTES);
                while let Some(byte) = seq.next_element()? {
                    if bytes.len() == ExactAccumulator::BYTES {
                        return Err(A::Error::custom("more bytes than a saved exact sum has"));
                    }
                    bytes.push(byte);
                }
                Ok(bytes)
            }
        }
        let bytes = deserializer.deserialize_bytes(Bytes)?;
        Self::from_bytes(&bytes).map_err(D::Error::custom)
    }
}
