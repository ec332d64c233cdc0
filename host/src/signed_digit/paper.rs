//! The paper's arithmetic: redundant signed digits, added without a carry that runs.
//!
//! A number is a row of digits -6..6 of radix 10, d_0 first. Two rows are added in all positions at once,
//!
//! ```text
//! s_i = x_i + y_i,     t_i = 1 if s_i >= T,  -1 if s_i <= -T,  else 0,     z_i = s_i - 10 t_i + t_(i-1),
//! ```
//!
//! so a transfer t goes one place and no further. The paper prints T = 7. With digits up to 6 that leaves the set of digits (6 + 0 keeps 6, and a transfer
//! from below makes it 7), while T = 5 and T = 6 do not. [`DigitSet::new`] accepts what is closed under this rule, for any radix, and
//! nothing else.
//!
//! ```
//! use rarefy::Backend;
//! use rarefy::signed_digit::paper::{self, Method, Rows, SignedDigits};
//!
//! let numbers = ["556", "179", "979"].map(|text| SignedDigits::from_decimal(&text.parse().unwrap()).unwrap());
//! let backend = Backend::Cpu.resolve()?;
//! for method in [Method::First, Method::Second(Rows::PerColumn), Method::Second(Rows::PerPlace)] {
//!     assert_eq!(paper::sum(&numbers, method, &backend)?.to_decimal().to_string(), "1714");
//! }
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! This module follows the paper step by step, a digit at a time; [`integer`](super::integer) does the same with digits of radix 10^9, much
//! faster. Here `Backend::Cpu` and `Backend::Reference` are one scalar thread; `Backend::Cuda` and `Backend::Emulator` are kernels with a thread a
//! digit.

mod decimals;
mod digits;
mod float;
mod gpu;
pub mod introduction;
mod rows;

pub(crate) use decimals::{dot_of_decimals, sum_of_decimals};
use digits::same_set;
pub use digits::{DigitSet, SignedDigits};
pub use float::{Float, digit_count};
pub use gpu::{ResidentDigits, ResidentVectors};
pub use rows::{Method, Rows};
use rows::{partial_products, rows_of, width};

use super::limb::same_length;
use crate::compute::Resolved;
use crate::emulator::Emulator;
use crate::error::Result;

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
    if !y.is_empty() {
        same_set(set, one_set(y)?)?;
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
    for number in numbers {
        same_set(set, number.set())?;
    }
    Ok(set)
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
