//! The GPU on a CPU, watching every access.

/// A fault of a kernel.
#[derive(Debug, thiserror::Error)]
#[error("fault")]
pub struct Fault {}
