//! Flows of the literature: what each of them is as a problem, and its results.

mod cavity;
pub mod plates;
mod shock;

pub use cavity::{Cavity, CavityResults};
pub use shock::{Mach, Shock, ShockExtremes, ShockPoint, ShockProfile};
