//! Flows of the literature: their problems, and their results from the fields.

mod cavity;
pub mod channel;
mod homogeneous;
pub mod plates;
mod shock;

pub use cavity::{Cavity, CavityResults};
pub use homogeneous::{ExactRelaxation, Homogeneous, HomogeneousMoments, HomogeneousStart};
pub use shock::{Mach, Shock, ShockExtremes, ShockPoint, ShockProfile};
