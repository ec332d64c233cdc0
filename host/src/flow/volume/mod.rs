//! Steady flows past and through bodies in space, over the full velocity space.

mod check;
mod device;
mod engine;
mod face;
mod gas;
mod nodes;
mod problem;
mod reference;
mod results;
mod shape;
mod smooth;
mod space;
mod steady;
mod surface;
mod sweep;
mod vector;
mod voxels;

pub(in crate::flow) use problem::{Problem, edges_of, nodes_of};
pub(in crate::flow) use results::findings;
pub use smooth::smoothed;
pub(in crate::flow) use steady::{Steady, Unknowns};
pub(in crate::flow) use surface::Surface;
pub(in crate::flow) use voxels::VoxelWall;

#[cfg(test)]
mod tests;
