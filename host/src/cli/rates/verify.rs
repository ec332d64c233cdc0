//! Errors of the discretisation of rates and viscosity: the same operator on other grids and in other boxes.

use crate::accuracy::{Axis, Quantity};
use crate::cli::failure::Failure;
use crate::cli::verify::{
    EXTENT, Repeatable, SECONDS, Verified, VerifyArgs, extent, order_of, verified,
};
use crate::collision::spectral::directions;
use crate::collision::transport::Study;
use crate::collision::{Method, OperatorConfig, VelocityGrid};
use crate::compute::Backend;
use crate::error::Result;

/// Evaluations of the integral in a study, about: most are those of the viscosity.
const EVALUATIONS: f64 = 60.0;
/// Residual at which the viscosity ends, about.
const RESIDUAL: f64 = 1e-5;
/// Directions of a rule that follows from the distribution: those of its usual degree.
const DEGREE: u8 = 11;

/// A study on other grids.
struct Repeats<'a> {
    config: &'a OperatorConfig,
    n: usize,
}

impl Repeatable for Repeats<'_> {
    fn axes(&self) -> Vec<Axis> {
        let order = order_of(self.config);
        vec![
            Axis {
                shares: vec![0.7, 0.5],
                sure: 10,
                ..Axis::new("cells", order, VelocityGrid::MIN_N..=VelocityGrid::MAX_N)
            },
            extent("box", false),
        ]
    }

    fn grid(&self) -> Vec<usize> {
        vec![self.n, EXTENT]
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let n = (grid[0] * grid[1]) as f64 / EXTENT as f64;
        let integral = match self.config.method {
            // Pairs of cells, 7 operations each, of which a flow has 20 in an update.
            Method::Fast => 0.35 * n.powi(6),
            Method::Direct => 0.1 * n.powi(8),
            Method::Spectral => directions(DEGREE) as f64 * 20.0 * n.powi(3),
        };
        EVALUATIONS * integral
    }

    fn tolerance(&self) -> f64 {
        RESIDUAL
    }

    fn repeat(&self, grid: &[usize]) -> Result<Option<Vec<Quantity>>> {
        let n = (grid[0] * grid[1]).div_ceil(EXTENT);
        let mut config = self.config.clone();
        if let Backend::Reference | Backend::Emulator = config.compute.backend {
            config.compute.backend = Backend::Cpu;
        }
        let study = Study::in_boxes(&config, n, n as f64 / grid[0] as f64)?;
        Ok(Some(quantities(&study)))
    }
}

fn quantities(study: &Study) -> Vec<Quantity> {
    vec![
        Quantity::new("shear", study.shear),
        Quantity::new("heat", study.heat),
        Quantity::new("viscosity", study.viscosity.value),
        Quantity::new("fourth_rate", study.bkw.fourth_rate),
    ]
}

/// The errors of a study of this operator.
pub(super) fn errors(
    config: &OperatorConfig,
    study: &Study,
    args: &VerifyArgs,
    quiet: bool,
) -> std::result::Result<Verified, Failure> {
    let repeats = Repeats { config, n: study.n };
    let base = (quantities(study), study.viscosity.residual);
    verified("rates", &repeats, args, None, base, SECONDS, quiet)
}
