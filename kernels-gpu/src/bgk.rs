//! Kernels of the BGK and Shakhov models on phase-space grids: sweeps without a stored distribution, in [`steady`].
//!
//! Those of the solution in time are in [`bgk_flow`](crate::bgk_flow).

pub(crate) mod exponential;
pub mod steady;
