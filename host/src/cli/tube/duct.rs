//! A duct: its integral equations are solved at once.

use super::row::{Coefficient, Row};
use crate::cli::failure::Failure;
use crate::cli::options::Common;
use crate::cli::report::Report;
use crate::cli::verify::{VerifyArgs, reached, verified};
use crate::compute::{Backend, Precision, Resolved};
use crate::error::Error;
use crate::flow::Duct;

/// The coefficients of a duct with their errors.
pub(super) fn row(
    duct: Duct,
    verify: &VerifyArgs,
    common: &Common,
    report: &mut Report,
) -> Result<Row, Failure> {
    if !matches!(common.backend, Backend::Auto | Backend::Cpu) {
        let named = format!("{:?}", common.backend).to_lowercase();
        let expected = "cpu or auto for a tube";
        return Err(Error::invalid("backend", named, expected).into());
    }
    if common.precision != Precision::F64 {
        let expected = "f64 for a tube";
        return Err(Error::invalid("precision", "f32", expected).into());
    }
    duct.check()?;
    report.set("machine", Resolved::Cpu.describe());
    let quiet = common.quiet || common.json;
    let search = match verify.accuracy {
        Some(accuracy) => Some(reached("tube", &duct, accuracy, quiet)?),
        None => None,
    };
    let duct = search.as_ref().map_or(duct, |search| duct.on(&search.grid));
    let found = duct.solve()?;
    let base = (found.quantities(), found.floor());
    let errors = verified(
        "tube",
        &duct,
        verify,
        search.as_ref(),
        base,
        Duct::PATIENCE,
        quiet,
    )?;
    report.set("status", "converged");
    errors.report(report, search.as_ref());
    let named = |name: &str, value: f64| {
        let finding = errors.findings().iter().find(|f| f.quantity.name == name);
        let error = finding.map(|finding| finding.error.total);
        Coefficient { value, error }
    };
    let by = [named("g_p", found.g_p), named("g_t", found.g_t)];
    Ok(Row {
        delta: duct.delta,
        by,
        // One solution of linear equations.
        iterations: [1, 1],
    })
}
