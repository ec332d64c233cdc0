//! Kernels of Longman's method for infinite integrals of oscillating functions.
//!
//! The method is that of E. Mesquita, J. Labaki and L. O. S. Ferreira, "An Implementation of the Longman's Integration Method
//! on Graphics Hardware" (2009).
//!
//! An integral is that of `g(x) osc(omega x)` from a on: between zeros of the oscillation lie the *areas*, which alternate in sign; before the
//! first zero lies the *head*. The phase is always counted from a zero, so the oscillation never needs the sine of a large number.
//!
//! | file | content |
//! |---|---|
//! | `status` | what is said of an integral besides its value |
//! | `classify` | whether areas alternate and fall, and whether an error is within the tolerance: the tests that the CPU shares |
//! | `functions` | the functions that integrands may use |
//! | `program` | integrands as bytecode, and the interpreter that the CPU and the kernels share |
//! | `elementary` | functions in fast software, and exp by the hardware's special function unit |
//! | `integrand` | the trait of amplitudes g, and the named ones |
//! | `paper` | the paper's kernel: one block an integral, the table of differences in shared memory; and the same by shuffles |
//! | `driver` | the method with an error estimate and a status for each integral: `amplitude`, `batch`, `head`, `outcome` and `probe` are its parts |

mod amplitude;
mod batch;
pub mod classify;
pub mod driver;
pub mod elementary;
pub mod functions;
mod head;
mod integrand;
mod outcome;
mod paper;
mod probe;
pub mod program;
pub mod status;

pub use driver::{BatchRule, integrate};
pub use elementary::{Elementary, Hardware, Software};
pub use integrand::*;
pub use paper::*;
pub use status::{Accelerator, Status};
