//! Launches of the kernels, on any [`Machine`](crate::machine::Machine): the paper's method, the oscillator table, and verdicts on many integrals.
//!
//! | module | content |
//! |---|---|
//! | [`fixed`] | the paper's kernel and its fast form |
//! | [`tabled`] | sums over an oscillator table, without a verdict |
//! | [`batch`] | value, error estimate, status, accelerator and condition of every integral that a machine can decide |
//! | [`many`] | the same for expressions, as [`Task`](super::Task) asks for it; what a machine leaves undecided goes to the CPU there |

pub mod batch;
pub mod fixed;
pub mod many;
mod rows;
pub mod tabled;
