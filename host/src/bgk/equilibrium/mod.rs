//! The local equilibrium on the nodes of a velocity space.

mod maxwellian;
mod newton;

pub use maxwellian::{DiscreteMaxwellian, Factors};
pub(super) use maxwellian::{HeatTerm, heat_vector, unresolved};
pub(super) use newton::{Maxwellians, Row, TOGETHER};
