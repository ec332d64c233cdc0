//! Exact sums and dot products in redundant signed digits.
//!
//! A number is a row of digits,
//!
//! ```text
//! x = sum over i of d_i b^i,     |d_i| <= a,     2 a >= b + 1,
//! ```
//!
//! whose digits may be negative and of which there are more than the radix b needs (eqs. 8-12). A number then has many forms, and two
//! rows can be added so that a carry goes one place and no further. The wider the digits are allowed to grow, the more rows can be added with
//! no carry at all: that is how sums here are exact at the speed of memory.
//!
//! **Source.** Sh. A. Otsokov and Sh. G. Magomedov, "Using of Redundant Signed-Digit Numeral System for Accelerating and Improving the Accuracy
//! of Computer Floating-Point Calculations" (2020); equations are numbered as there.
//!
//! | module | content |
//! |---|---|
//! | [`float`] | sums and dot products of `f32` and `f64`, exact and rounded once: digits of radix 2^32 in 64-bit integers |
//! | [`decimal`] | decimal numbers of any length, from text to text: exact sums and dot products |
//! | [`dft`] | the discrete Fourier transform and its inverse with exact sums |
//! | [`integer`] | many big integers: digits of radix 10^9, column sums in 64-bit integers |
//! | [`statistics`] | means, variances, cumulative sums and sums of runs, each rounded once |
//! | [`paper`] | the paper's arithmetic, digit by digit, and its two examples of where floating point fails |

pub mod decimal;
pub mod dft;
pub mod float;
pub mod integer;
mod limb;
pub(crate) mod lines;
pub mod paper;
pub mod statistics;
