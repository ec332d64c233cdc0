//! The paper's arithmetic: redundant signed digits, added without a carry that runs.
//!
//! A number is a row of digits -6..6 of radix 10, d_0 first. Two rows are added in all positions at once,
//!
//! ```text
//! s_i = x_i + y_i,     t_i = 1 if s_i >= T,  -1 if s_i <= -T,  else 0,     z_i = s_i - 10 t_i + t_(i-1),
//! ```
//!
//! so a transfer t goes one place and no further. The paper prints T = 7; with digits up to 6 that leaves the set of digits (6 + 0 keeps 6, and a transfer
//! from below makes it 7), while T = 5 and T = 6 do not. [`DigitSet::new`] accepts what is closed under this rule, for any radix, and
//! nothing else.
//!
//! ```
//! use rarefy::Backend;
//! use rarefy::signed_digit::radix10::{self, Method, Rows, SignedDigits};
//!
//! let numbers = ["556", "179", "979"].map(|text| SignedDigits::from_decimal(&text.parse().unwrap()).unwrap());
//! let backend = Backend::Cpu.resolve()?;
//! for method in [Method::First, Method::Second(Rows::PerColumn), Method::Second(Rows::PerPlace)] {
//!     assert_eq!(radix10::sum(&numbers, method, &backend)?.to_decimal().to_string(), "1714");
//! }
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! This module follows the paper step by step, a digit at a time; [`integer`](super::integer) does the same with digits of radix 10^9, much
//! faster. Here `Backend::Cpu` and `Backend::Reference` are one scalar thread; `Backend::Cuda` and `Backend::Emulator` are kernels with a thread a
//! digit.

mod digits;
mod float;
mod gpu;

pub use digits::{DigitSet, SignedDigits};
pub use float::{Float, digit_count};
pub use gpu::{ResidentDigits, ResidentVectors};

use super::decimal::{Decimal, same_length};
use crate::backend::Resolved;
use crate::emulator::Emulator;
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};

/// How a group of numbers is summed (section IV).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// One number after another is added, without a carry: k - 1 additions.
    First,
    /// The digits of each column are added up as machine integers; their digits form rows, which are added as in the first method.
    Second(Rows),
}

/// Which rows the column sums of the second method form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rows {
    /// A row for each column, with all digits of its sum: d rows, as in the paper.
    PerColumn,
    /// A row for each place of the column sums: row j holds digit j of every sum. A few rows, however many columns there are.
    PerPlace,
}

/// Sum of redundant numbers, all of one digit set, as the method has it.
///
/// # Errors
/// Numbers of different digit sets; on a machine, another set than the paper's.
pub fn sum(numbers: &[SignedDigits], method: Method, backend: &Resolved) -> Result<SignedDigits> {
    let set = one_set(numbers)?;
    match backend {
        Resolved::Cpu | Resolved::Reference => Ok(match method {
            Method::First => one_by_one(set, numbers),
            Method::Second(rows) => rows_of(set, &column_sums(numbers), rows),
        }),
        Resolved::Emulator => gpu::sum(&Emulator::default(), set, numbers, method),
        Resolved::Cuda(device) => gpu::sum(device, set, numbers, method),
    }
}

/// Dot product: partial products (eq. 16) of all pairs by columns, then as in the second method.
///
/// # Errors
/// Vectors of different lengths; otherwise as [`sum`].
pub fn dot(
    x: &[SignedDigits],
    y: &[SignedDigits],
    rows: Rows,
    backend: &Resolved,
) -> Result<SignedDigits> {
    same_length(x.len(), y.len())?;
    let set = one_set(x)?;
    if !y.is_empty() && one_set(y)? != set {
        return Err(Error::input(
            "the numbers of both vectors must have one set of digits",
        ));
    }
    match backend {
        Resolved::Cpu | Resolved::Reference => {
            let mut columns = vec![0i64; width(x) + width(y)];
            for (x, y) in x.iter().zip(y) {
                partial_products(x.digits(), y.digits(), &mut columns);
            }
            Ok(rows_of(set, &columns, rows))
        }
        Resolved::Emulator => gpu::dot(&Emulator::default(), set, x, y, rows),
        Resolved::Cuda(device) => gpu::dot(device, set, x, y, rows),
    }
}

/// The digit set of all numbers.
fn one_set(numbers: &[SignedDigits]) -> Result<DigitSet> {
    let set = numbers.first().map_or(DigitSet::PAPER, SignedDigits::set);
    if numbers.iter().any(|number| number.set() != set) {
        return Err(Error::input(
            "the numbers of a sum must have one set of digits",
        ));
    }
    Ok(set)
}

/// Digits of the longest number.
fn width(numbers: &[SignedDigits]) -> usize {
    numbers
        .iter()
        .map(|number| number.digits().len())
        .max()
        .unwrap_or(0)
}

/// The first method.
fn one_by_one(set: DigitSet, numbers: &[SignedDigits]) -> SignedDigits {
    let mut sum = SignedDigits::zero(set);
    for number in numbers {
        sum = sum.plus_digits(number.digits());
    }
    sum
}

/// Step 1 of the second method.
fn column_sums(numbers: &[SignedDigits]) -> Vec<i64> {
    let mut columns = vec![0; width(numbers)];
    for number in numbers {
        for (column, &digit) in columns.iter_mut().zip(number.digits()) {
            *column += i64::from(digit);
        }
    }
    columns
}

/// Adds a_p b_q to column p + q, for all p and q.
fn partial_products(x: &[i8], y: &[i8], columns: &mut [i64]) {
    for (p, &a) in x.iter().enumerate() {
        for (column, &b) in columns[p..].iter_mut().zip(y) {
            *column += i64::from(a) * i64::from(b);
        }
    }
}

/// Steps 3 to 5 of the second method: the digits of the column sums form rows, which are added one by one.
fn rows_of(set: DigitSet, columns: &[i64], rows: Rows) -> SignedDigits {
    let sums: Vec<Vec<i8>> = columns.iter().map(|&sum| set.digits_of(sum)).collect();
    let mut total = SignedDigits::zero(set);
    match rows {
        Rows::PerColumn => {
            for (place, sum) in sums.iter().enumerate() {
                let mut row = vec![0; place];
                row.extend_from_slice(sum);
                total = total.plus_digits(&row);
            }
        }
        Rows::PerPlace => {
            let places = sums.iter().map(Vec::len).max().unwrap_or(0);
            for place in 0..places {
                let mut row = vec![0; place];
                row.extend(sums.iter().map(|sum| sum.get(place).copied().unwrap_or(0)));
                total = total.plus_digits(&row);
            }
        }
    }
    total
}

/// The exact sum of decimal numbers, digit by digit with the first method, in the paper's floating-point format.
pub(crate) fn sum_of_decimals(numbers: &[Decimal]) -> Result<Decimal> {
    let mut low = i64::MAX;
    let mut high = i64::MIN;
    for number in numbers.iter().filter(|number| !number.is_zero()) {
        low = low.min(number.scale());
        high = high.max(number.top());
    }
    check_budget(low, high)?;
    let mut sum = Float::zero();
    for number in numbers {
        sum = sum.plus(&Float::from_decimal(number))?;
    }
    Ok(sum.to_decimal())
}

/// The exact dot product of decimal numbers, digit by digit.
pub(crate) fn dot_of_decimals(x: &[Decimal], y: &[Decimal]) -> Result<Decimal> {
    same_length(x.len(), y.len())?;
    let pairs = || {
        x.iter()
            .zip(y)
            .filter(|(x, y)| !x.is_zero() && !y.is_zero())
    };
    let low = pairs()
        .map(|(x, y)| x.scale() + y.scale())
        .min()
        .unwrap_or(0);
    let high = pairs().map(|(x, y)| x.top() + y.top()).max().unwrap_or(0);
    check_budget(low, high)?;
    // Digits of radix 10^9 hold nine of these; a redundant number may have one more.
    let mut columns = vec![0i64; 9 * (high - low) as usize + 2];
    for (x, y) in pairs() {
        let (x, y) = (Float::from_decimal(x), Float::from_decimal(y));
        let start = (x.exponent() + y.exponent() - 9 * low) as usize;
        partial_products(
            x.digits().digits(),
            y.digits().digits(),
            &mut columns[start..],
        );
    }
    let digits = rows_of(DigitSet::PAPER, &columns, Rows::PerPlace);
    Ok(Float::of(digits, 9 * low).to_decimal())
}

/// Refuses a range of limbs whose digits do not fit into memory.
fn check_budget(low: i64, high: i64) -> Result<()> {
    let digits = 9 * low.abs_diff(high.max(low));
    Ok(check_host(
        &format!("an exact sum of {digits} digits"),
        bytes_of::<[i64; 4]>(digits),
        "numbers whose exponents lie closer together need less",
    )?)
}
