//! Kernels of exact sums and dot products in redundant signed digits.
//!
//! The idea is that of Sh. A. Otsokov and Sh. G. Magomedov, "Using of Redundant Signed-Digit Numeral System for Accelerating and
//! Improving the Accuracy of Computer Floating-Point Calculations" (2020): digits that may be negative and larger than the radix
//! needs leave room for sums, so that nothing carries while summing.
//!
//! | file | kernels |
//! |---|---|
//! | `packed` | big integers: digits of radix 10^9 |
//! | `float` | binary floating point: digits of radix 2^32 in 64-bit integers |
//! | `paper` | the paper's arithmetic: radix 10, a thread a digit |

pub mod float;
pub mod packed;
pub mod paper;
