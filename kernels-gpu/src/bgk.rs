//! Kernels of the BGK and Shakhov models on phase-space grids.
//!
//! The algorithm is that of A. Frezzotti, G. P. Ghiroldi and L. Gibelli, "Solving Kinetic Equations on GPUs I: Model Kinetic Equations" (2009),
//! arXiv:0903.4044, with relaxation, streaming and moments fused into one pass over the distribution.

mod exponential;
pub mod steady;
