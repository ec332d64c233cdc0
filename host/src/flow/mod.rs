//! Steady flows past and through bodies in a plane, by sweeps over a Cartesian grid with cut cells.

mod case;
mod findings;

pub use case::{
    Body, Case, Domain, GasOf, ModelName, Reservoir, Shape, Side, Sides, Solver, State, Stream,
    Velocities,
};
pub use findings::{Fields, Findings, Flux, Loads, SurfacePoint};

use crate::error::{Error, Result};

/// Solves a case. `observe` sees the number and the relative change of each iteration, and ends the run by `false`.
///
/// # Errors
/// A case that cannot be computed: [`Error::Input`] with the field and what would do.
pub fn solve(case: &Case, observe: &mut dyn FnMut(usize, f64) -> bool) -> Result<Findings> {
    let _ = (case, observe);
    Err(Error::Numerical("not yet".to_owned()))
}
