//! Exact sums and dot products of `f32` and `f64`.
//!
//! A finite number is an integer of 24 or 53 bits times a power of two; the integer's place is in the exponent's bits. Each thread has a
//! row of digits of its own in shared memory,
//!
//! ```text
//! sum = sum over k of d_k 2^(B k) * 2^UNIT,     d_k in an i64,
//! ```
//!
//! and adds the integer, shifted by the lowest bits of the exponent, to the digits that the exponent's upper bits name. Nothing carries:
//! B is small enough against 64 bits that a digit takes thousands of such terms ([`Layout::most_deposits`]), after which the thread brings
//! its digits back to |d_k| <= 2^(B-1) in one pass. No digit is chosen by the data of another thread, so the time depends neither on the
//! exponents nor on their spread.
//!
//! At the end the threads of a block add their rows, and the block adds its row to the result's in global memory by atomic additions of
//! 64-bit integers. Integers add up to the same in any order: the result has the same bits for each grid, each block size and
//! each order of the addends. The host reads the digits and rounds once.
//!
//! | item | digits | B | bits that a term adds to a digit | terms between two passes | bytes shared a thread |
//! |---|---|---|---|---|---|
//! | `f32` addend | 17 | 16 | 39 | 2^20 | 136 |
//! | `f64` addend | 66 | 32 | 53 | 2^10 | 528 |
//! | product of two `f32` | 18 | 32 | 47 | 2^14 | 144 |
//! | product of two `f64` | 132 | 32 | 42 | 2^20 | 1056 |
//!
//! Numbers of similar size do without digits: sums of them go through registers, which `window` describes, where the machine's additions of `f64` are fast. A thread's
//! partial sum is a window, with digits for what the window cannot take: numbers that are too large for it, and rests of numbers that are too small. The window goes to
//! the digits after 128 numbers. The sum of a row is rounded from the windows of its lanes.
//!
//! The lane that a thread reads and writes in the row of any digit is its own, so that accesses of a warp never conflict
//! in a bank, whatever the digits are. Infinities and NaN are counted aside.
//!
//! | file | content |
//! |---|---|
//! | `deposit` | from the bits of a number, or of two factors, to additions to digits |
//! | `row` | a thread's row of digits: clearing, carrying, adding up over the block |
//! | `window` | sums in registers |
//! | `partial` | the sum of a thread: a window and its digits |
//! | `sum`, `dot` | the kernels |
//! | `rows`, `release` | sums of many rows, each rounded on the device; its carries and rounding |
//! | `window_rows` | sums of many rows by windows alone |
//! | `plain` | an ordinary sum in floating point, for comparison |

mod deposit;
mod dot;
mod partial;
mod plain;
mod release;
mod row;
mod rows;
mod sum;
mod window;
mod window_rows;

pub use dot::*;
pub use plain::*;
pub use row::{Layout, ROW_LANES, ROW_THREADS};
pub use rows::*;
pub use sum::*;
pub use window_rows::*;

/// The counts in the words of a result behind its digits.
pub mod flag {
    /// Threads that met a NaN, or in a dot product infinity times zero.
    pub const NAN: u32 = 0;
    /// Threads that met plus infinity.
    pub const PLUS_INFINITY: u32 = 1;
    /// Threads that met minus infinity.
    pub const MINUS_INFINITY: u32 = 2;
    /// Warps that met an addend whose sign bit is clear. A sum that vanishes without one is -0.
    pub const NOT_NEGATIVE: u32 = 3;
    /// Words.
    pub const LEN: u32 = 4;
}
