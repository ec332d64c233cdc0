//! Kernels of the BGK and Shakhov models on phase-space grids.
//!
//! The algorithm is that of A. Frezzotti, G. P. Ghiroldi and L. Gibelli, "Solving Kinetic Equations on GPUs I: Model Kinetic Equations" (2009),
//! arXiv:0903.4044, with relaxation, streaming and moments fused into one pass over the distribution.
//!
//! Between two passes lie the streamed populations f~ and the sums over their nodes. A pass reads f~ once, relaxes it towards the local equilibrium of
//! those sums, streams it, writes it once, and sums it again. Equilibria are products of factors along the velocity axes; the small kernel
//! [`equilibrium()`] makes tables of them between the passes.
//!
//! | file | kernels |
//! |---|---|
//! | `flow` | layouts, and what the passes share |
//! | `line` | the pass in one dimension of space |
//! | `plane` | the pass in two dimensions |
//! | `tables` | from partial sums to tables |
//! | `walls` | what leaves through walls, and what they send back |
//! | `steady` | sweeps without a stored distribution |

mod exponential;
mod flow;
mod line;
mod plane;
pub mod steady;
mod tables;
mod walls;

pub use flow::*;
pub use line::*;
pub use plane::*;
pub use tables::*;
pub use walls::*;
