//! Launches of the kernels, on any [`Machine`](crate::machine::Machine): the paper's method, and outcomes of many integrals.
//!
//! | module | content |
//! |---|---|
//! | [`fixed`] | the paper's kernel and its fast form |
//! | [`batch`] | value, error estimate, status, accelerator and condition of every integral that a machine can decide; [`Task`](super::Task) has the CPU do the rest |

pub mod batch;
mod config;
pub mod fixed;
mod rows;

pub(super) use rows::{head_steps, panels};
