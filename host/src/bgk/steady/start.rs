//! The start around the collision integral: the flow of the relaxation model on the same nodes, which takes no integral.
//!
//! Between plates of very different temperatures gas at rest is far from the flow. The populations keep that distance for many iterations, and mixing does not remove it.

use super::config::SteadyConfig;
use super::problem::SteadyProblem;
use crate::compute::{Backend, Compute, Precision};

/// Change at which the model's flow serves as a start: the integral differs from it by more.
const TOLERANCE: f64 = 1e-3;
/// Most iterations of the model.
const ITERATIONS: usize = 60;

/// The model's problem; none where the collisions are the model's.
pub(super) fn of_model(
    problem: &SteadyProblem,
    config: &SteadyConfig,
) -> Option<(SteadyProblem, SteadyConfig)> {
    problem.integral.as_ref()?;
    let problem = SteadyProblem {
        integral: None,
        ..problem.clone()
    };
    let config = SteadyConfig {
        rtol: Some(TOLERANCE),
        iterations: ITERATIONS,
        compute: Compute {
            backend: Backend::Cpu,
            precision: Precision::F64,
            devices: None,
            ..config.compute
        },
        ..*config
    };
    Some((problem, config))
}
