//! Steady flows past and through bodies in a plane, round an axis or in space, by sweeps over a Cartesian grid with cut cells.

mod accommodation;
mod along;
mod body;
mod case;
mod chosen;
mod correction;
mod course;
mod duct;
mod errors;
mod face;
mod far;
mod files;
mod findings;
mod gas;
mod level;
mod machine;
mod mask;
mod mesh;
mod motion;
mod negative;
mod nested;
mod nodes;
mod outline;
mod passage;
mod plane;
mod ports;
mod problem;
mod quantities;
mod rasters;
mod resolve;
mod results;
mod ring;
mod rings;
mod samples;
mod section;
mod share;
mod space;
mod steady;
mod tube;
mod turn;
mod vector;
mod velocities;
mod volume;
mod walls;

pub use crate::bgk::rotation::Matrix;
pub use crate::bgk::{Model, NegativeEquilibrium, Rotation, RotationalCollisions};
pub use accommodation::{Accommodation, Scattering};
pub use along::Along;
pub use body::{Body, Raster, Section, Shape, Stl, Voxels};
pub use case::{
    Acceleration, Case, Domain, GasInSi, GasOf, Output, Reservoir, Side, Sides, Solver, State,
    Stream, Symmetry, Velocities,
};
pub use duct::{Duct, DuctFlow, DuctGrid, DuctSection};
pub use errors::Grids;
pub use findings::{FacetPoint, Fields, Findings, Flux, Loads, Passage, SurfacePoint};
pub use machine::Machine;
pub use quantities::{ErrorsByKey, ResultErrors};
pub use samples::{Samples, VoxelSamples};
pub use tube::{Drive, Tube};
pub use vector::Vector;
pub use volume::smoothed;
pub use walls::{Segment, along_outlines};

use crate::error::Result;

/// Solves a case. `observe` sees the number and the relative change of each iteration, and ends the run by `false`.
///
/// # Errors
/// A case that cannot be computed: [`Error::Input`](crate::Error::Input) with the field and what would do.
pub fn solve(
    case: &Case,
    machine: &Machine,
    observe: &mut dyn FnMut(usize, f64) -> bool,
) -> Result<Findings> {
    // Two coarser grids give a nonlinear flow its start.
    let (findings, _) = nested::solve(&case.resolve()?, machine, None, observe)?;
    Ok(findings)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod face_tests;
#[cfg(test)]
mod rotation_tests;
#[cfg(test)]
mod shape_tests;
