//! Discrete Maxwellians, whose sums over the nodes are a given density, momentum and energy.
//!
//! `M = A exp(b.w - c |w|^2)`, w = v - u, is a product of factors along the axes of the velocity space. Newton's method on the sums along the axes finds amplitude A, slope b and inverse temperature c,
//! for many cells at once. The models of `bgk` need one in each cell and step, the balanced
//! correction of `collision` one for each evaluation.

mod cells;
pub(crate) mod lanes;
mod newton;

pub(crate) use cells::{Axes, Maxwellians, Row, TOGETHER};
