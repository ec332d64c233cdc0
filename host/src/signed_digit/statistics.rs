//! Statistics that are quotients of exact sums, rounded once.
//!
//! ```text
//! mean = S / n,      weighted mean = sum of w_i x_i / sum of w_i,      variance = (n Q - S^2) / (n (n - d)),
//! ```
//!
//! where S is the exact sum of n numbers, Q that of their squares and d the lost degrees of freedom. The numerators cancel without a loss, since nothing
//! is rounded before the quotient; the standard deviation is the root of the unrounded variance.
//!
//! ```
//! use rarefy::signed_digit::statistics::{cumulative_sum, mean, segment_sums, variance};
//!
//! let x = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0];
//! assert_eq!(mean(&x).round::<f64>(), 1e9 + 10.0);
//! assert_eq!(variance(&x, 1).round::<f64>(), 30.0);
//! assert_eq!(cumulative_sum(&[1e16, 1.0, -1e16]), [1e16, 1e16, 1.0]);
//! assert_eq!(segment_sums(&[0.5, 1.0, 2.0], &[0, 2, 2, 3])?, [1.5, 0.0, 2.0]);
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! All of it is computed on the CPU.

use num_bigint::{BigInt, BigUint, Sign};
use rayon::prelude::*;

use super::decimal::{self, Decimal, Half};
use super::float::{ExactAccumulator, ExactValue, Float};
use super::limb::{DIGITS, check_span};
use crate::compute::Resolved;
use crate::error::{Error, Result};

/// Decimal places that decide how a quotient is rounded to a float: more than the smallest unit of an exact value has.
const PLACES: i64 = 2200;
/// Digits before the point of numbers that are beyond all formats.
const BEYOND: i64 = 720;
/// Numbers that one task takes.
const TASK: usize = 1 << 12;

/// A quotient of two exact numbers, which is rounded where it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// NaN or an infinity instead of a quotient.
    special: Option<Special>,
    numerator: Decimal,
    denominator: Decimal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    Nan,
    Infinite { negative: bool },
}

impl Ratio {
    /// The quotient of two numbers; NaN for a denominator of zero.
    pub fn new(numerator: Decimal, denominator: Decimal) -> Self {
        let negative = denominator.is_negative();
        Self {
            special: denominator.is_zero().then_some(Special::Nan),
            numerator: if negative { -numerator } else { numerator },
            denominator: denominator.abs(),
        }
    }

    fn special(special: Special) -> Self {
        Self {
            special: Some(special),
            numerator: Decimal::ZERO,
            denominator: Decimal::ZERO,
        }
    }

    /// The quotient of two values of floats, by IEEE 754 where one is not finite.
    fn of_values(numerator: &ExactValue, denominator: Decimal) -> Self {
        match numerator.to_decimal() {
            Some(exact) => Self::new(exact, denominator),
            None if numerator.round::<f64>().is_nan() => Self::special(Special::Nan),
            None => Self::special(Special::Infinite {
                negative: numerator.is_negative(),
            }),
        }
    }

    /// The nearest number of the type, ties to even.
    pub fn round<T: Float>(&self) -> T {
        match self.special {
            Some(special) => T::from_f64(special.value()),
            None => self.value().round(),
        }
    }

    /// The nearest number of the type to the square root; NaN below zero.
    pub fn sqrt<T: Float>(&self) -> T {
        match self.special {
            Some(special) => T::from_f64(special.value().sqrt()),
            None if self.numerator.is_negative() => T::from_f64(f64::NAN),
            None => {
                let value = self.value();
                // A remainder below the unit alone has a root that rounds to 0.
                let below = value.words().is_some_and(|(_, words)| words.is_empty());
                if below { T::ZERO } else { value.sqrt() }
            }
        }
    }

    /// The nearest number with so many digits after the point; `None` if it is not finite.
    ///
    /// # Errors
    /// Too little memory.
    pub fn rounded(&self, places: usize, half: Half) -> Result<Option<Decimal>> {
        if self.special.is_some() {
            return Ok(None);
        }
        let (quotient, more) = self.scaled(places as i64 + 1)?;
        let magnitude = finished(&quotient, more, places)?;
        let signed = if self.numerator.is_negative() {
            -magnitude
        } else {
            magnitude
        };
        signed.rounded(places, half).map(Some)
    }

    /// The same of the square root.
    ///
    /// # Errors
    /// Too little memory.
    pub fn sqrt_rounded(&self, places: usize, half: Half) -> Result<Option<Decimal>> {
        if self.special.is_some() || self.numerator.is_negative() {
            return Ok(None);
        }
        let (square, more) = self.scaled(2 * (places as i64 + 1))?;
        let root = square.sqrt();
        let more = more || &root * &root != square;
        finished(&root, more, places)?
            .rounded(places, half)
            .map(Some)
    }

    /// The integer below the magnitude times a power of ten, and whether there is more.
    fn scaled(&self, power: i64) -> Result<(BigUint, bool)> {
        let (numerator, denominator) = (&self.numerator, &self.denominator);
        let digits = DIGITS as i64 * (numerator.top() - denominator.top()) + power;
        if numerator.is_zero() || digits < -(DIGITS as i64) {
            return Ok((BigUint::default(), !numerator.is_zero()));
        }
        check_span(digits.unsigned_abs(), numerator.room() + denominator.room())?;
        let shift = power + DIGITS as i64 * (numerator.scale() - denominator.scale());
        let ten = |power: i64| BigUint::from(10u32).pow(u32::try_from(power).unwrap_or(u32::MAX));
        let (mut above, mut below) = (integer(numerator), integer(denominator));
        if shift >= 0 {
            above *= ten(shift);
        } else {
            below *= ten(-shift);
        }
        Ok(divided(&above, &below))
    }

    /// The quotient in binary.
    fn value(&self) -> ExactValue {
        let negative = self.numerator.is_negative();
        if self.numerator.is_zero() {
            return ExactValue::from_words(false, Vec::new(), false);
        }
        let digits = DIGITS as i64 * (self.numerator.top() - self.denominator.top());
        if digits > BEYOND {
            let above = vec![u32::MAX; 2 * ExactValue::FRACTION_BITS / 32 + 8];
            return ExactValue::from_words(negative, above, false);
        }
        if digits < -BEYOND {
            return ExactValue::from_words(negative, Vec::new(), true);
        }
        // Below these places the numerator changes the remainder alone.
        let low = self.denominator.scale() - PLACES / DIGITS as i64;
        let below = (low - self.numerator.scale()).clamp(0, self.numerator.limbs().len() as i64);
        let kept = &self.numerator.limbs()[below as usize..];
        let kept = Decimal::from_limbs(false, kept.to_vec(), self.numerator.scale() + below);
        let shift = DIGITS as i64 * (kept.scale() - self.denominator.scale());
        let ten = BigUint::from(10u32).pow(shift.unsigned_abs() as u32);
        let (mut above, mut below_line) = (integer(&kept), integer(&self.denominator));
        if shift >= 0 {
            above *= ten;
        } else {
            below_line *= ten;
        }
        above <<= ExactValue::FRACTION_BITS;
        let (quotient, more) = divided(&above, &below_line);
        ExactValue::from_words(negative, quotient.to_u32_digits(), more || below > 0)
    }
}

impl Special {
    fn value(self) -> f64 {
        match self {
            Self::Nan => f64::NAN,
            Self::Infinite { negative: true } => f64::NEG_INFINITY,
            Self::Infinite { negative: false } => f64::INFINITY,
        }
    }
}

/// The limbs of a number as one integer.
fn integer(number: &Decimal) -> BigUint {
    let limbs = number.limbs().iter().rev();
    limbs.fold(BigUint::default(), |value, &limb| {
        value * 1_000_000_000u32 + limb
    })
}

fn divided(above: &BigUint, below: &BigUint) -> (BigUint, bool) {
    let quotient = above / below;
    let more = &quotient * below != *above;
    (quotient, more)
}

/// A number of units of 10^-(places + 1), and a digit 1 below that if there is more.
fn finished(units: &BigUint, more: bool, places: usize) -> Result<Decimal> {
    let last = if more { "1" } else { "0" };
    format!("{units}{last}e-{}", places + 2).parse()
}

/// The mean of numbers, exactly; NaN of none.
pub fn mean<T: Float>(x: &[T]) -> Ratio {
    let sum = ExactAccumulator::sum(x);
    Ratio::of_values(&sum.value(), Decimal::from(sum.count()))
}

/// The variance with `lost` degrees of freedom fewer than numbers: 0 of a population, 1 of a sample. NaN of no more numbers than that.
pub fn variance<T: Float>(x: &[T], lost: u64) -> Ratio {
    let mut squares = ExactAccumulator::new();
    squares.add_squares(x);
    variance_of_sums(&ExactAccumulator::sum(x), &squares, lost)
}

/// The variance of numbers with these sums, of themselves and of their squares.
pub fn variance_of_sums(sum: &ExactAccumulator, squares: &ExactAccumulator, lost: u64) -> Ratio {
    let values = [sum, squares].map(|sum| sum.value());
    let exact = [&values[0], &values[1]].map(|value| value.words());
    let count = sum.count();
    let ([Some((negative, sum)), Some((_, squares))], true) = (exact, count > lost) else {
        return Ratio::special(Special::Nan);
    };
    let sign = if negative { Sign::Minus } else { Sign::Plus };
    let sum = BigInt::from_slice(sign, sum);
    let squares = BigInt::from_slice(Sign::Plus, squares);
    let above = ((squares * count) << ExactValue::FRACTION_BITS) - &sum * &sum;
    // In units of 2^-FRACTION_BITS, twice; the value is a whole number of such units over the counts.
    let (_, words) = above.to_u32_digits();
    let unit = ExactValue::FRACTION_BITS as i16;
    let above = Decimal::from_binary(false, &words, -2 * unit);
    Ratio::new(above, degrees(count, lost))
}

/// n (n - d).
fn degrees(count: u64, lost: u64) -> Decimal {
    &Decimal::from(count) * &Decimal::from(count - lost)
}

/// The mean of numbers with weights, exactly; NaN where the weights add up to zero.
///
/// # Errors
/// Slices of different lengths.
pub fn weighted_mean<T: Float>(x: &[T], weights: &[T]) -> Result<Ratio> {
    let products = ExactAccumulator::dot(x, weights)?;
    Ok(weighted_mean_of_sums(
        &products,
        &ExactAccumulator::sum(weights),
    ))
}

/// The mean of numbers with weights, from the sum of products and that of the weights.
pub fn weighted_mean_of_sums(products: &ExactAccumulator, weights: &ExactAccumulator) -> Ratio {
    match weights.value().to_decimal() {
        Some(total) => Ratio::of_values(&products.value(), total),
        None => Ratio::special(Special::Nan),
    }
}

/// The mean of decimal numbers, exactly.
///
/// # Errors
/// As [`decimal::sum`].
pub fn decimal_mean(x: &[Decimal], backend: &Resolved) -> Result<Ratio> {
    let sum = decimal::sum(x, backend)?;
    Ok(Ratio::new(sum, Decimal::from(x.len() as u64)))
}

/// The variance of decimal numbers, exactly; see [`variance`].
///
/// # Errors
/// As [`decimal::dot`].
pub fn decimal_variance(x: &[Decimal], lost: u64, backend: &Resolved) -> Result<Ratio> {
    let sums = [decimal::sum(x, backend)?, decimal::dot(x, x, backend)?];
    variance_of_decimals(sums, x.len() as u64, lost)
}

/// The variance of so many decimal numbers with these sums, of themselves and of their squares.
///
/// # Errors
/// As [`Decimal::plus`].
pub fn variance_of_decimals([sum, squares]: [Decimal; 2], count: u64, lost: u64) -> Result<Ratio> {
    if count <= lost {
        return Ok(Ratio::special(Special::Nan));
    }
    let above = (&squares * &Decimal::from(count)).plus(&-(&sum * &sum))?;
    Ok(Ratio::new(above, degrees(count, lost)))
}

/// The mean of decimal numbers with weights, exactly.
///
/// # Errors
/// As [`decimal::dot`].
pub fn decimal_weighted_mean(
    x: &[Decimal],
    weights: &[Decimal],
    backend: &Resolved,
) -> Result<Ratio> {
    let products = decimal::dot(x, weights, backend)?;
    Ok(Ratio::new(products, decimal::sum(weights, backend)?))
}

/// The sums of all beginnings of a slice, each the exact sum rounded once.
pub fn cumulative_sum<T: Float>(x: &[T]) -> Vec<T> {
    let sums: Vec<_> = x.par_chunks(TASK).map(ExactAccumulator::sum).collect();
    let mut before = ExactAccumulator::new();
    let starts: Vec<_> = sums
        .iter()
        .map(|sum| {
            let start = before.clone();
            before.merge(sum);
            start
        })
        .collect();
    let parts = x
        .par_chunks(TASK)
        .zip(starts)
        .flat_map_iter(|(part, mut sum)| {
            part.iter().map(move |&x| {
                sum.add(x);
                sum.round()
            })
        });
    parts.collect()
}

/// The exact sums of runs of a slice, each rounded once: run i has the elements `offsets[i]` to below `offsets[i + 1]`.
///
/// # Errors
/// Offsets that fall, or that are beyond the slice.
pub fn segment_sums<T: Float>(x: &[T], offsets: &[usize]) -> Result<Vec<T>> {
    if let Some(k) = (1..offsets.len()).find(|&k| offsets[k] < offsets[k - 1]) {
        return Err(Error::invalid(
            "offsets",
            format!("{} after {}", offsets[k], offsets[k - 1]),
            "offsets that do not fall",
        ));
    }
    if let Some(&last) = offsets.last().filter(|&&last| last > x.len()) {
        return Err(Error::invalid(
            "offsets",
            last,
            format!("at most {}, the number of elements", x.len()),
        ));
    }
    let runs = offsets.par_windows(2);
    Ok(runs
        .map(|ends| ExactAccumulator::sum(&x[ends[0]..ends[1]]).round())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimals(texts: &[&str]) -> Vec<Decimal> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn quotients_are_rounded_once() {
        let ratio = |a: &str, b: &str| Ratio::new(a.parse().unwrap(), b.parse().unwrap());
        for (a, b, expected) in [
            ("1", "3", 1.0 / 3.0),
            ("-1", "3", -1.0 / 3.0),
            ("1", "-3", -1.0 / 3.0),
            ("1e300", "1e-300", f64::INFINITY),
            ("1e-5000", "7", 0.0),
            ("-1e5000", "7", f64::NEG_INFINITY),
            ("1e5000", "4e4999", 2.5),
            ("0", "7", 0.0),
            ("3e-324", "1", 5e-324),
            ("2e-324", "1", 0.0),
        ] {
            assert_eq!(ratio(a, b).round::<f64>(), expected, "{a} / {b}");
        }
        // A tie of two floats, and what lies just beyond it.
        assert_eq!(
            ratio("9007199254740993", "1").round::<f64>(),
            9007199254740992.0
        );
        let above = format!("9007199254740993{}1", "0".repeat(3000));
        let ten = format!("1{}", "0".repeat(3001));
        assert_eq!(ratio(&above, &ten).round::<f64>(), 9007199254740994.0);
        assert!(ratio("1", "0").round::<f64>().is_nan());
        assert_eq!(ratio("2", "1").sqrt::<f64>(), 2.0f64.sqrt());
        assert_eq!(ratio("2", "1").sqrt::<f32>(), 2.0f32.sqrt());
        assert_eq!(ratio("1e-640", "1").sqrt::<f64>(), 1e-320);
        assert!(ratio("-2", "1").sqrt::<f64>().is_nan());
        let places = |ratio: &Ratio, half| ratio.rounded(2, half).unwrap().unwrap().to_fixed(2);
        assert_eq!(places(&ratio("1", "8"), Half::Even), "0.12");
        assert_eq!(places(&ratio("1", "8"), Half::Up), "0.13");
        assert_eq!(places(&ratio("-2", "3"), Half::Even), "-0.67");
        let root = ratio("2", "1")
            .sqrt_rounded(30, Half::Even)
            .unwrap()
            .unwrap();
        assert_eq!(root.to_fixed(30), "1.414213562373095048801688724210");
    }

    #[test]
    fn floats_and_decimals_agree() {
        let texts = ["1.5", "-2.25", "1e9", "0.0625", "1000000000.5"];
        let numbers = decimals(&texts);
        let floats: Vec<f64> = texts.iter().map(|text| text.parse().unwrap()).collect();
        for lost in [0, 1, 4] {
            let exact = decimal_variance(&numbers, lost, &Resolved::Cpu).unwrap();
            let of_floats = variance(&floats, lost);
            assert_eq!(exact.round::<f64>(), of_floats.round::<f64>());
            assert_eq!(exact.sqrt::<f32>(), of_floats.sqrt::<f32>());
        }
        let weights = decimals(&["1", "2", "3", "0.5", "0.25"]);
        let of_floats = weighted_mean(&floats, &[1.0, 2.0, 3.0, 0.5, 0.25]).unwrap();
        let exact = decimal_weighted_mean(&numbers, &weights, &Resolved::Cpu).unwrap();
        assert_eq!(exact.round::<f64>(), of_floats.round::<f64>());
        assert_eq!(
            mean(&floats).round::<f64>(),
            ExactAccumulator::sum(&floats).mean::<f64>()
        );
    }

    #[test]
    fn variances_do_not_cancel() {
        for offset in [0.0, 1e9, 1e15] {
            let x = [4.0, 7.0, 13.0, 16.0].map(|x| x + offset);
            assert_eq!(variance(&x, 1).round::<f64>(), 30.0);
            assert_eq!(variance(&x, 0).sqrt::<f64>(), 22.5f64.sqrt());
        }
        assert_eq!(variance(&[1e300, -1e300], 0).sqrt::<f64>(), 1e300);
        assert_eq!(variance(&[0.0, 5e-324], 0).round::<f64>(), 0.0);
        assert_eq!(variance(&[0.1f32; 7], 0).round::<f64>(), 0.0);
        assert!(variance(&[1.0], 1).round::<f64>().is_nan());
        assert!(variance(&[1.0, f64::INFINITY], 0).round::<f64>().is_nan());
        assert_eq!(mean(&[1.0, f64::INFINITY]).round::<f64>(), f64::INFINITY);
        assert!(mean::<f64>(&[]).round::<f64>().is_nan());
    }

    #[test]
    fn sums_of_beginnings_and_runs() {
        let x: Vec<f64> = (0..10_000).map(|i| 0.1 * f64::from(i % 7) - 0.25).collect();
        let sums = cumulative_sum(&x);
        for k in [0, 1, 4095, 4096, 9_999] {
            assert_eq!(sums[k], ExactAccumulator::sum(&x[..=k]).round::<f64>());
        }
        assert_eq!(cumulative_sum::<f32>(&[]), [0.0f32; 0]);
        let sums = segment_sums(&x, &[0, 3, 3, 10_000]).unwrap();
        assert_eq!(sums[1], 0.0);
        assert_eq!(sums[2], ExactAccumulator::sum(&x[3..]).round::<f64>());
        assert!(segment_sums(&x, &[]).unwrap().is_empty());
        assert!(segment_sums(&x, &[3, 1]).is_err());
        assert!(segment_sums(&x, &[0, 10_001]).is_err());
    }
}
