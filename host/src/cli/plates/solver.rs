//! The solver of a flow between plates, from the arguments in full.

use super::flow::Flow;
use super::parameters::PlatesArgs;
use crate::bgk::steady::plates::{Resolution, plates};
use crate::bgk::steady::{SteadyProblem, SteadySolver};
use crate::error::Result;

/// The solver of a flow.
pub(super) fn solver(full: &PlatesArgs, flow: &Flow) -> Result<SteadySolver> {
    if full.sweeps_integral(flow) {
        full.around_collisions(flow)?.solver()
    } else {
        SteadySolver::new(case(full, flow)?, &full.config())
    }
}

/// The problem of the models.
pub(super) fn case(full: &PlatesArgs, flow: &Flow) -> Result<SteadyProblem> {
    let velocities = full.velocities();
    let resolution = Resolution {
        cells: full.cells(),
        normal: velocities.normal,
        tangential: velocities.tangential.unwrap_or_default(),
    };
    plates(
        full.delta(),
        flow.drive(),
        full.gas.gas(),
        full.solver().accommodation,
        resolution,
        full.is_linear(),
    )
}
