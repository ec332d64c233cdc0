//! Flows of the literature: their problems, and their results from the fields.

mod cavity;
pub mod channel;
pub mod plates;
mod shock;

pub use cavity::{Cavity, CavityResults};
pub use shock::{Mach, Shock, ShockExtremes, ShockPoint, ShockProfile};
