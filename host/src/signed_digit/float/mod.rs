//! Sums and dot products of `f32` and `f64` that are exact and rounded once.
//!
//! ```text
//! S = x_1 + x_2 + ... + x_n,        P = x_1 y_1 + x_2 y_2 + ... + x_n y_n,
//! ```
//!
//! computed without any error, then rounded to the nearest `f64` or `f32`, ties to even. The result has the same bits for every order of
//! the addends, every number of threads and blocks, and every backend. Nothing overflows or is lost on the way.
//!
//! ```
//! use rarefy::signed_digit::float::{exact_dot, exact_sum};
//!
//! assert_eq!(exact_sum(&[1e16, 1.0, -1e16]), 1.0);
//! // Products of which none fits into an f64.
//! assert_eq!(exact_dot(&[1e200, 3.0, -1e200], &[1e200, 4.0, 1e200])?, 12.0);
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! # Method
//!
//! A sum is kept as redundant signed digits of radix b = 2^32 in 64-bit integers,
//!
//! ```text
//! S = sum over i of d_i 2^(32 i + u),       |d_i| < 2^63,
//! ```
//!
//! of which each has 31 bits to spare; the unit 2^u lies below the smallest product of two `f64`. The integer mantissa of an addend, shifted by the lowest
//! five bits of its exponent, is added to the two digits that the exponent's upper bits name, a product to four. Nothing carries. After
//! at most 1024 addends every digit passes its upper part to its neighbour, once, which brings it back to |d_i| <= 2^31. This is the second method
//! of the [paper](super) (column sums, one carry at the end) with a wider digit.
//!
//! # Special values
//!
//! | addends (or products) | result |
//! |---|---|
//! | a NaN, or both infinities, or in a dot product infinity times zero | NaN |
//! | else an infinity | that infinity |
//! | none at all | +0 |
//! | all of them -0 | -0 |
//! | others that cancel | +0 |
//! | a sum of at least 2^1024 - 2^970 (in `f32` 2^128 - 2^103) | infinity |
//!
//! # Where to begin
//!
//! | to | use |
//! |---|---|
//! | sum a slice | [`exact_sum`], [`exact_dot`], [`exact_mean`], [`exact_norm`] |
//! | sum pieces, merge, save and continue | [`ExactAccumulator`] |
//! | sum over the ranks of a distributed computation | [`ExactAccumulator::all_reduce`] |
//! | sum an iterator | `iter.collect::<`[`ExactSum`]`>()` |
//! | choose the machine, stream arrays larger than a GPU's memory | [`ExactEngine`] |
//! | sum each row of a matrix | [`ExactEngine::row_sums`] |
//! | sum data in a GPU's memory | [`MachineAccumulator`], [`machine_row_sums`] |
//! | read the value before rounding, in full | [`ExactValue`] |

mod accumulator;
mod addends;
mod cpu;
mod engine;
mod format;
mod launch;
mod machine;
mod ranks;
pub mod reference;
mod rows;
mod value;

pub use accumulator::{ExactAccumulator, ExactSum};
pub use engine::ExactEngine;
pub use format::Float;
pub use launch::Launch;
pub use machine::MachineAccumulator;
pub use rows::machine_row_sums;
pub use value::ExactValue;

use crate::error::Result;

/// The sum of a slice, rounded once to its own type. Uses all cores for long slices.
pub fn exact_sum<T: Float>(x: &[T]) -> T {
    ExactAccumulator::sum(x).round()
}

/// The dot product of two slices of one length, rounded once to their own type. Uses all cores for long slices.
///
/// # Errors
/// Slices of different lengths.
pub fn exact_dot<T: Float>(x: &[T], y: &[T]) -> Result<T> {
    Ok(ExactAccumulator::dot(x, y)?.round())
}

/// The mean of a slice: the exact sum divided by the count, rounded once. The mean of nothing is NaN.
pub fn exact_mean<T: Float>(x: &[T]) -> T {
    ExactAccumulator::sum(x).mean()
}

/// The Euclidean norm of a slice: the root of the exact sum of squares, rounded once.
///
/// No square overflows or underflows on the way, so that this is right over the whole range of the type.
pub fn exact_norm<T: Float>(x: &[T]) -> T {
    let mut squares = ExactAccumulator::new();
    squares.add_squares(x);
    squares.value().sqrt()
}
