//! Where a computation runs and in which precision: chosen once, passed down.

use serde::{Deserialize, Serialize};

/// Where a computation runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The GPU if a driver and a device answer, else the CPU.
    #[default]
    Auto,
    /// The first CUDA device; an error where there is none.
    Cuda,
    /// All cores of the CPU.
    Cpu,
    /// The GPU's kernels on the CPU, with every memory access checked.
    Emulator,
    /// The scalar reference: the formulas as plainly as they can be written.
    Reference,
}

/// The arithmetic in which the bulk of a computation is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    #[default]
    F64,
}
