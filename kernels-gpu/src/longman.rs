//! Kernels of Longman's method for infinite integrals of oscillating functions.
//!
//! The method is that of E. Mesquita, J. Labaki and L. O. S. Ferreira, "An Implementation of the Longman's Integration Method
//! on Graphics Hardware" (2009).
//!
//! | file | content |
//! |---|---|
//! | `status` | what is said of an integral besides its value |
//! | `functions` | the functions that integrands may use |
//! | `program` | integrands as bytecode, and the interpreter that the CPU and the kernels share |

pub mod functions;
pub mod program;
pub mod status;

pub use status::{Accelerator, Status};
