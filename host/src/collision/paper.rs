//! The sum of Aristov et al. (2011) as they take it, term by term: about N^8 operations for N cells along an axis ([`Method::Direct`](super::Method::Direct)).
//!
//! The default is the same sum restructured. This one is its yardstick in tests and benches. The paper's correction and coefficients of second order
//! have uses beside it and are in the parent module: [`OperatorConfig::paper`](super::OperatorConfig::paper) takes both.

mod cpu;
mod gpu;
mod lists;

pub(super) use cpu::Direct;
pub(super) use gpu::Direct as MachineDirect;
pub use lists::{DirectLists, DirectTasks};
