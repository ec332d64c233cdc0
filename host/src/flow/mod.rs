//! Steady flows past and through bodies in a plane, by sweeps over a Cartesian grid with cut cells.

mod accommodation;
mod along;
mod body;
mod case;
mod face;
mod files;
mod findings;
mod gas;
mod level;
mod machine;
mod mask;
mod nodes;
mod outline;
mod passage;
mod ports;
mod problem;
mod rasters;
mod resolve;
mod results;
mod samples;
mod section;
mod space;
mod steady;
mod walls;

pub use accommodation::{Accommodation, Scattering};
pub use along::Along;
pub use body::{Body, Raster, Section, Shape};
pub use case::{
    Acceleration, Case, Domain, GasInSi, GasOf, ModelName, Output, Reservoir, Side, Sides, Solver,
    State, Stream, Velocities,
};
pub use findings::{Fields, Findings, Flux, Loads, SurfacePoint};
pub use machine::Machine;
pub use passage::Passage;
pub use samples::Samples;
pub use walls::{Segment, along_outlines};

use crate::error::{Error, Result};
use problem::Problem;
use steady::{Ending, Steady, Unknowns};

/// Change at which a coarser grid has done its work.
const ROUGH: f64 = 1e-2;

/// Solves a case. `observe` sees the number and the relative change of each iteration, and ends the run by `false`.
///
/// # Errors
/// A case that cannot be computed: [`Error::Input`] with the field and what would do.
pub fn solve(
    case: &Case,
    machine: Machine,
    observe: &mut dyn FnMut(usize, f64) -> bool,
) -> Result<Findings> {
    let case = &case.resolve()?;
    // Two coarser grids give a nonlinear flow its start.
    let coarser: &[f64] = if case.gas.linear {
        &[1.0]
    } else {
        &[4.0, 2.0, 1.0]
    };
    let mut earlier: Option<(Problem, Unknowns)> = None;
    for &factor in coarser {
        let problem = match Problem::new(case, factor) {
            // A body may vanish between wide cells.
            Err(_) if factor > 1.0 => continue,
            other => other?,
        };
        let mut steady = Steady::new(&problem, &case.solver, machine)?;
        if let Some((problem, state)) = &earlier {
            steady.start_from(problem, state);
        }
        if factor == 1.0 {
            let ending = steady.solve(&case.solver, observe)?;
            return results::findings(case, &steady, ending);
        }
        let rough = Solver {
            tolerance: case.solver.tolerance.max(ROUGH),
            ..case.solver
        };
        let ending = steady.solve(&rough, &mut |_, change| observe(0, change))?;
        if ending == Ending::Interrupted {
            return results::findings(case, &steady, ending);
        }
        let state = steady.state;
        earlier = Some((problem, state));
    }
    Err(Error::Numerical("no grid was solved".to_owned()))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod face_tests;
#[cfg(test)]
mod shape_tests;
