//! The accumulator: what a sum is kept in.

use std::fmt;
use std::iter::Sum;
use std::ops::{AddAssign, SubAssign};

#[cfg(feature = "nalgebra")]
use nalgebra::{Dim, Matrix, RawStorage, Scalar};
#[cfg(feature = "ndarray")]
use ndarray::{ArrayRef, Dimension};
use rayon::prelude::*;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Float;
use super::value::{ExactValue, UNIT, WORD, WORDS};
use crate::error::{Error, Result};
use crate::signed_digit::limb::same_length;

/// What an iterator of numbers collects into: an [`ExactAccumulator`].
///
/// ```
/// use rarefy::signed_digit::float::ExactSum;
///
/// let sum = (1..=10).map(|k| 1.0 / f64::from(k)).collect::<ExactSum>();
/// assert_eq!(sum.round::<f64>(), 2.9289682539682538);
/// ```
pub type ExactSum = ExactAccumulator;

/// Elements that one task of the CPU takes.
const TASK: usize = 1 << 16;

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

/// What digits cannot hold.
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

    /// The sum of a slice, on all cores.
    pub fn sum<T: Float>(x: &[T]) -> Self {
        let mut sum = Self::new();
        sum.add_slice(x);
        sum
    }

    /// The dot product of two slices of one length, on all cores.
    ///
    /// # Errors
    /// Slices of different lengths.
    pub fn dot<T: Float>(x: &[T], y: &[T]) -> Result<Self> {
        let mut sum = Self::new();
        sum.add_products(x, y)?;
        Ok(sum)
    }

    /// Adds a number.
    pub fn add<T: Float>(&mut self, x: T) {
        self.count += 1;
        let x = x.to_f64();
        self.special.not_negative |= x.is_sign_positive();
        if x.is_finite() {
            let (integer, exponent) = decompose(x);
            self.deposit(i128::from(integer), exponent - 1075);
        } else {
            self.special.note(x);
        }
    }

    /// Adds the product of two numbers.
    pub fn add_product<T: Float>(&mut self, x: T, y: T) {
        self.count += 1;
        let (x, y) = (x.to_f64(), y.to_f64());
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

    /// Adds the numbers of a slice, on all cores if it is long.
    pub fn add_slice<T: Float>(&mut self, x: &[T]) {
        self.in_tasks(x.len(), |range, sum| T::add_sum::<false>(&x[range], sum));
    }

    /// Adds the magnitudes of the numbers of a slice.
    pub fn add_magnitudes<T: Float>(&mut self, x: &[T]) {
        self.in_tasks(x.len(), |range, sum| T::add_sum::<true>(&x[range], sum));
    }

    /// Adds the products of the numbers of two slices of one length.
    ///
    /// # Errors
    /// Slices of different lengths.
    pub fn add_products<T: Float>(&mut self, x: &[T], y: &[T]) -> Result<()> {
        same_length(x.len(), y.len())?;
        self.in_tasks(x.len(), |range, sum| {
            T::add_dot(&x[range.clone()], &y[range], sum)
        });
        Ok(())
    }

    /// Adds the squares of the numbers of a slice.
    pub fn add_squares<T: Float>(&mut self, x: &[T]) {
        self.in_tasks(x.len(), |range, sum| {
            T::add_dot(&x[range.clone()], &x[range], sum)
        });
    }

    /// Adds the numbers of an array of `ndarray`, or of a view of one, in whatever layout. Takes the feature `ndarray`.
    ///
    /// ```
    /// use ndarray::array;
    /// use rarefy::signed_digit::float::ExactAccumulator;
    ///
    /// let x = array![[1.0, 1e100], [-1e100, 3.0]];
    /// let mut sum = ExactAccumulator::new();
    /// sum.add_array(&x);
    /// sum.add_array(&x.column(0));
    /// assert_eq!(sum.round::<f64>(), -1e100);
    /// ```
    #[cfg(feature = "ndarray")]
    pub fn add_array<T: Float, D: Dimension>(&mut self, x: &ArrayRef<T, D>) {
        match x.as_slice_memory_order() {
            Some(slice) => self.add_slice(slice),
            None => self.add_all(x.iter().copied()),
        }
    }

    /// Adds the products of the numbers at equal places of two arrays of one shape: their dot product. Takes the feature `ndarray`.
    ///
    /// ```
    /// use ndarray::array;
    /// use rarefy::signed_digit::float::ExactAccumulator;
    ///
    /// let (x, y) = (array![1e200, 1.0, 1e200], array![1e-50, 0.25, -1e-50]);
    /// let mut sum = ExactAccumulator::new();
    /// sum.add_array_products(&x, &y)?;
    /// assert_eq!(sum.round::<f64>(), 0.25);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Arrays of different shapes.
    #[cfg(feature = "ndarray")]
    pub fn add_array_products<T: Float, D: Dimension>(
        &mut self,
        x: &ArrayRef<T, D>,
        y: &ArrayRef<T, D>,
    ) -> Result<()> {
        if x.shape() != y.shape() {
            return Err(Error::input(format!(
                "a dot product needs two arrays of one shape; these have {:?} and {:?}",
                x.shape(),
                y.shape()
            )));
        }
        if let (Some(x), Some(y)) = (x.as_slice(), y.as_slice()) {
            return self.add_products(x, y);
        }
        for (x, y) in x.iter().zip(y.iter()) {
            self.add_product(*x, *y);
        }
        Ok(())
    }

    /// Adds the numbers of a matrix or vector of `nalgebra`, or of a view of one, in whatever layout. Takes the feature `nalgebra`.
    ///
    /// ```
    /// use nalgebra::{Matrix2, Vector2};
    /// use rarefy::signed_digit::float::ExactAccumulator;
    ///
    /// let x = Matrix2::new(1.0, 1e100, -1e100, 3.0);
    /// let mut sum = ExactAccumulator::new();
    /// sum.add_matrix(&x);
    /// sum.add_matrix(&x.row(0));
    /// sum.add_matrix(&Vector2::new(-1e100, 0.0));
    /// assert_eq!(sum.round::<f64>(), 5.0);
    /// ```
    #[cfg(feature = "nalgebra")]
    pub fn add_matrix<T, R, C, S>(&mut self, x: &Matrix<T, R, C, S>)
    where
        T: Float + Scalar,
        R: Dim,
        C: Dim,
        S: RawStorage<T, R, C>,
    {
        self.add_all(x.iter().copied());
    }

    /// Adds the products of the numbers at equal places of two matrices or vectors of one shape: their dot product. Takes the feature `nalgebra`.
    ///
    /// ```
    /// use nalgebra::Vector3;
    /// use rarefy::signed_digit::float::ExactAccumulator;
    ///
    /// let (x, y) = (Vector3::new(1e200, 1.0, 1e200), Vector3::new(1e-50, 0.25, -1e-50));
    /// let mut sum = ExactAccumulator::new();
    /// sum.add_matrix_products(&x, &y)?;
    /// assert_eq!(sum.round::<f64>(), 0.25);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Matrices of different shapes.
    #[cfg(feature = "nalgebra")]
    pub fn add_matrix_products<T, R1, C1, S1, R2, C2, S2>(
        &mut self,
        x: &Matrix<T, R1, C1, S1>,
        y: &Matrix<T, R2, C2, S2>,
    ) -> Result<()>
    where
        T: Float + Scalar,
        R1: Dim,
        C1: Dim,
        S1: RawStorage<T, R1, C1>,
        R2: Dim,
        C2: Dim,
        S2: RawStorage<T, R2, C2>,
    {
        if x.shape() != y.shape() {
            return Err(Error::input(format!(
                "a dot product needs two matrices of one shape; these have {:?} and {:?}",
                x.shape(),
                y.shape()
            )));
        }
        for (x, y) in x.iter().zip(y.iter()) {
            self.add_product(*x, *y);
        }
        Ok(())
    }

    /// Adds the numbers of an iterator, in pieces, as slices are added much faster than single numbers.
    fn add_all<T: Float>(&mut self, numbers: impl Iterator<Item = T>) {
        const PIECE: usize = 1024;
        let mut piece = Vec::with_capacity(PIECE);
        for number in numbers {
            piece.push(number);
            if piece.len() == PIECE {
                T::add_sum::<false>(&piece, self);
                piece.clear();
            }
        }
        T::add_sum::<false>(&piece, self);
    }

    /// Runs `work` on all ranges of a slice's tasks, and adds what they make.
    fn in_tasks(&mut self, len: usize, work: impl Fn(std::ops::Range<usize>, &mut Self) + Sync) {
        if len <= 2 * TASK {
            work(0..len, self);
            return;
        }
        // Fewer and longer tasks than the ranges that rayon would make: each ends with a merge.
        let task = (len / (4 * rayon::current_num_threads())).clamp(TASK, 1 << 24);
        let sum = (0..len.div_ceil(task))
            .into_par_iter()
            .fold(Self::new, |mut sum, k| {
                work(k * task..((k + 1) * task).min(len), &mut sum);
                sum
            })
            .reduce(Self::new, |mut sum, other| {
                sum.merge(&other);
                sum
            });
        self.merge(&sum);
    }

    /// Adds everything that another accumulator holds.
    pub fn merge(&mut self, other: &Self) {
        self.carry();
        let mut other = other.clone();
        other.carry();
        for (digit, more) in self.digits.iter_mut().zip(other.digits.iter()) {
            *digit += more;
        }
        self.count += other.count;
        self.special.merge(other.special);
        self.carry();
    }

    /// How many numbers or products were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum, rounded once to the nearest number of the type, ties to even.
    pub fn round<T: Float>(&self) -> T {
        self.value().round()
    }

    /// The sum divided by the [`count`](Self::count), rounded once. The mean of nothing is NaN.
    pub fn mean<T: Float>(&self) -> T {
        self.value().divided_by(self.count).round()
    }

    /// The sum before rounding.
    pub fn value(&self) -> ExactValue {
        let Special {
            nan,
            plus_infinity,
            minus_infinity,
            not_negative,
        } = self.special;
        if nan || plus_infinity && minus_infinity {
            return ExactValue::nan();
        }
        if plus_infinity || minus_infinity {
            return ExactValue::infinite(minus_infinity);
        }
        let mut sum = self.clone();
        sum.carry();
        // The tail below the leading digit is less than one unit of that digit.
        let leading = sum.digits.iter().rev().find(|digit| **digit != 0);
        let negative = match leading {
            Some(digit) => *digit < 0,
            None => self.count > 0 && !not_negative,
        };
        let sign = if negative { -1 } else { 1 };
        let mut borrow = 0_i64;
        let magnitude = sum.digits.iter().map(|digit| {
            let value = sign * digit + borrow;
            borrow = value >> WORD;
            value as u32
        });
        ExactValue::finite(negative, magnitude.collect())
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
            // What is finite no longer matters, nor do signs: that of a NaN differs between processors.
            self.digits.fill(0);
            self.special.not_negative = true;
        }
        let mut carry = 0_i64;
        let (last, others) = match self.digits.split_last_mut() {
            Some(parts) => parts,
            None => return,
        };
        for digit in others {
            let value = *digit + carry;
            *digit = i64::from(value as i32);
            carry = (value - *digit) >> WORD;
        }
        *last += carry;
        self.deposits = 0;
    }

    /// The accumulator as bytes, from which [`from_bytes`](Self::from_bytes) makes it again: the same bytes on every computer, for every
    /// order of the same addends.
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
    /// Bytes that are no saved sum.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong =
            |what: &str| Error::input(format!("these bytes are no saved exact sum: {what}"));
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| wrong("they do not begin like one"))?;
        if bytes.len() != Self::BYTES {
            return Err(wrong(&format!(
                "{} bytes, where {} are needed",
                bytes.len(),
                Self::BYTES
            )));
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
            return Err(wrong("unknown flags"));
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
                return Err(wrong("a digit is out of range"));
            }
        }
        Ok(sum)
    }
}

const MAGIC: &[u8] = b"rarefy exact sum 1\n";

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

impl fmt::Debug for ExactAccumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExactAccumulator")
            .field("rounded", &self.round::<f64>())
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

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

macro_rules! from_iterators {
    ($([$($life:lifetime)?] $number:ty, |$x:ident| $value:expr;)*) => {$(
        impl$(<$life>)? Extend<$number> for ExactAccumulator {
            fn extend<I: IntoIterator<Item = $number>>(&mut self, numbers: I) {
                self.add_all(numbers.into_iter().map(|$x| $value));
            }
        }

        impl$(<$life>)? FromIterator<$number> for ExactAccumulator {
            fn from_iter<I: IntoIterator<Item = $number>>(numbers: I) -> Self {
                let mut sum = Self::new();
                sum.extend(numbers);
                sum
            }
        }
    )*};
}
from_iterators! {
    [] f32, |x| x;
    [] f64, |x| x;
    ['a] &'a f32, |x| *x;
    ['a] &'a f64, |x| *x;
}

impl Sum for ExactAccumulator {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::new(), |mut sum, part| {
            sum.merge(&part);
            sum
        })
    }
}

impl<T: Float> AddAssign<T> for ExactAccumulator {
    fn add_assign(&mut self, x: T) {
        self.add(x);
    }
}

impl<T: Float> SubAssign<T> for ExactAccumulator {
    fn sub_assign(&mut self, x: T) {
        self.add(-x);
    }
}
