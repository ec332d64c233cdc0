//! Launches of the kernels, on any [`Machine`](crate::machine::Machine): outcomes of many integrals.
//!
//! | module | content |
//! |---|---|
//! | [`batch`] | value, error estimate, status, accelerator and condition of every integral that a machine can decide; [`Task`](super::Task) has the CPU do the rest |

pub mod batch;
mod config;
mod rows;

pub(super) use rows::{head_steps, panels};
