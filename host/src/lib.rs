//! Five deterministic numerical methods on the GPU, with kernels written in Rust.

pub mod backend;
pub mod collision;
pub mod emulator;
mod error;
pub mod gpu;
pub mod machine;
pub mod memory_plan;

#[doc(hidden)]
pub mod cli;

pub use backend::{Backend, Precision};
pub use error::{Error, Result};
