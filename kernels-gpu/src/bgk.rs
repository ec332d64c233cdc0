//! Kernels of the BGK and Shakhov models on phase-space grids.
//!
//! **In time**: relaxation, streaming and moments in one pass over the distribution. The algorithm is that of A. Frezzotti, G. P. Ghiroldi and L. Gibelli,
//! "Solving Kinetic Equations on GPUs I: Model Kinetic Equations" (2009), arXiv:0903.4044, whose two kernels are fused. Between two passes lie the streamed
//! populations f~ and the sums over their nodes. A pass reads f~ once, relaxes it towards the local equilibrium of those sums, streams it, writes it once,
//! and sums it again. Equilibria are products of factors along the velocity axes; the small kernel
//! [`equilibrium()`](equilibrium::equilibrium()) makes tables of them between the passes.
//!
//! **Steady**: sweeps of all velocities through space, which store no distribution.
//!
//! | module | content |
//! |---|---|
//! | [`layout`] | populations and tables in memory |
//! | [`equilibrium`] | from partial sums to tables |
//! | [`boundary`] | molecules that leave through faces, those that walls send back, ghosts |
//! | [`halo`] | messages between ranks that own parts of space |
//! | `sweep` | streaming, as the passes share it |
//! | [`sweep_1d`], [`sweep_2d`] | the pass in one and in two dimensions of space |
//! | [`rotating`], [`rotating_1d`], [`rotating_2d`] | the kernels of molecules that rotate, with a third function: tables and faces, the passes |
//! | [`paper`] | the paper's two kernels, which the fused pass is measured against |
//! | [`steady`] | sweeps for steady flows |
//!
//! Each file or folder here becomes PTX of its own, so that a run loads only the kernels that it needs.

pub mod boundary;
pub mod equilibrium;
pub(crate) mod exponential;
pub mod halo;
pub mod layout;
pub mod paper;
pub mod rotating;
pub mod rotating_1d;
pub mod rotating_2d;
pub mod steady;
pub(crate) mod sweep;
pub mod sweep_1d;
pub mod sweep_2d;
