//! Errors of the discretisation of rates and viscosity.

use crate::accuracy::SECONDS;
use crate::cli::failure::Failure;
use crate::cli::verify::{Verified, VerifyArgs, verified};
use crate::collision::OperatorConfig;
use crate::collision::errors::{Studies, of_study};
use crate::collision::transport::Study;

/// The errors of a study of this operator.
pub(super) fn errors(
    config: &OperatorConfig,
    study: &Study,
    args: &VerifyArgs,
    quiet: bool,
) -> Result<Verified, Failure> {
    let studies = Studies { config, n: study.n };
    let base = (of_study(study), study.viscosity.residual);
    verified("rates", &studies, args, None, base, SECONDS, quiet)
}
