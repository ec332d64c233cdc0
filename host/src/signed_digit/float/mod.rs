//! Sums and dot products of `f32` and `f64` that are exact and rounded once.
//!
//! ```text
//! S = x_1 + x_2 + ... + x_n,        P = x_1 y_1 + x_2 y_2 + ... + x_n y_n,
//! ```
//!
//! computed without any error and then rounded to the nearest `f64` or `f32`, ties to even. The result has the same bits for every order of
//! the addends, every number of threads and blocks, and every backend; nothing overflows or is lost on the way.
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
//! five bits of its exponent, is added to the two digits that the exponent's upper bits name, a product to four; nothing carries. After
//! at most 1024 addends every digit gives its upper part to its neighbour, once, which brings it back to |d_i| <= 2^31. This is the second method
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
//! | sum what comes piece by piece, merge, save and continue | [`ExactAccumulator`] |
//! | sum an iterator | `iter.collect::<`[`ExactSum`]`>()` |
//! | choose the machine, stream arrays larger than a GPU's memory | [`ExactEngine`] |
//! | sum what is in a GPU's memory already | [`MachineAccumulator`] |
//! | read the value before rounding, in full | [`ExactValue`] |

mod accumulator;
mod cpu;
mod engine;
mod machine;
pub mod reference;
mod value;

pub use accumulator::{ExactAccumulator, ExactSum};
pub use engine::ExactEngine;
pub use machine::{Launch, MachineAccumulator};
pub use value::ExactValue;

use rarefy_kernels::Real;

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

/// `f32` or `f64`: what can be summed exactly, and what a sum can be rounded to.
pub trait Float: Real + Launch + private::Sealed {
    /// Bits of the mantissa, the hidden one included.
    #[doc(hidden)]
    const MANTISSA_BITS: usize;
    /// Exponent of the smallest positive number.
    #[doc(hidden)]
    const LEAST_EXPONENT: i32;
    #[doc(hidden)]
    const INFINITY_BITS: u64;
    #[doc(hidden)]
    const SIGN_BIT: u64;
    #[doc(hidden)]
    fn from_bits_u64(bits: u64) -> Self;
    #[doc(hidden)]
    fn to_bits_u64(self) -> u64;
    /// Adds the sum of a slice, or of its magnitudes, on the calling thread.
    #[doc(hidden)]
    fn add_sum<const MAGNITUDE: bool>(x: &[Self], to: &mut ExactAccumulator);
    /// Adds the dot product of two slices of one length, on the calling thread.
    #[doc(hidden)]
    fn add_dot(x: &[Self], y: &[Self], to: &mut ExactAccumulator);
}

impl Float for f64 {
    const MANTISSA_BITS: usize = 53;
    const LEAST_EXPONENT: i32 = -1074;
    const INFINITY_BITS: u64 = 0x7ff << 52;
    const SIGN_BIT: u64 = 1 << 63;

    fn from_bits_u64(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    fn to_bits_u64(self) -> u64 {
        self.to_bits()
    }
    fn add_sum<const MAGNITUDE: bool>(x: &[Self], to: &mut ExactAccumulator) {
        cpu::sum_f64::<MAGNITUDE>(x, to);
    }
    fn add_dot(x: &[Self], y: &[Self], to: &mut ExactAccumulator) {
        cpu::dot_f64(x, y, to);
    }
}

impl Float for f32 {
    const MANTISSA_BITS: usize = 24;
    const LEAST_EXPONENT: i32 = -149;
    const INFINITY_BITS: u64 = 0xff << 23;
    const SIGN_BIT: u64 = 1 << 31;

    fn from_bits_u64(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
    fn to_bits_u64(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn add_sum<const MAGNITUDE: bool>(x: &[Self], to: &mut ExactAccumulator) {
        cpu::sum_f32::<MAGNITUDE>(x, to);
    }
    fn add_dot(x: &[Self], y: &[Self], to: &mut ExactAccumulator) {
        cpu::dot_f32(x, y, to);
    }
}

mod private {
    /// Keeps other types out.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
