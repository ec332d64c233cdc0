//! Steady flows past and through bodies in space, over the full velocity space.

mod check;
mod correction;
pub(in crate::flow) mod device;
pub(in crate::flow) mod engine;
mod face;
mod gas;
mod nodes;
mod parts;
mod problem;
mod reference;
pub(in crate::flow) mod reflection;
mod results;
mod shape;
mod smooth;
mod space;
mod states;
mod steady;
mod surface;
pub(in crate::flow) mod sweep;
mod unknowns;
mod vector;
mod voxels;

pub(in crate::flow) use gas::{FREQUENCY, equilibrium};
pub(in crate::flow) use nodes::{Axis, Nodes, coldest};
#[cfg(test)]
pub(in crate::flow) use nodes::{gauss, uniform};
pub(in crate::flow) use problem::{Problem, edges_of, nodes_of};
pub(in crate::flow) use results::findings;
pub use smooth::smoothed;
pub(in crate::flow) use space::{Closure, Facet, Space};
pub(in crate::flow) use states::one_temperature;
pub(in crate::flow) use steady::Steady;
pub(in crate::flow) use surface::Surface;
pub(in crate::flow) use unknowns::Unknowns;
pub(in crate::flow) use voxels::VoxelWall;

#[cfg(test)]
mod tests;

/// The coefficients of the Maxwellian at rest of density and temperature 1.
#[cfg(test)]
pub(in crate::flow) const MAXWELLIAN_AT_REST: gas::Coefficients = [
    0.179_587_122_125_166_56,
    0.0,
    0.0,
    0.0,
    1.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
];
