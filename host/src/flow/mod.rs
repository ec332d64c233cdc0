//! Steady flows past and through bodies in a plane, by sweeps over a Cartesian grid with cut cells.

mod case;
mod chosen;
mod errors;
mod face;
mod far;
mod findings;
mod gas;
mod machine;
mod nested;
mod nodes;
mod outline;
mod problem;
mod quantities;
mod resolve;
mod results;
mod space;
mod steady;
mod walls;

pub use case::{
    Acceleration, Body, Case, Domain, GasInSi, GasOf, ModelName, Output, Reservoir, Shape, Side,
    Sides, Solver, State, Stream, Velocities,
};
pub use errors::Grids;
pub use findings::{Fields, Findings, Flux, Loads, SurfacePoint};
pub use machine::Machine;
pub use quantities::{ErrorsByKey, ResultErrors};
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
