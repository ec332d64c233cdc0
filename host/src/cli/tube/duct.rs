//! A slit or a rectangular duct: its integral equations are solved at once.

use super::{ADMITTED, Coefficient, Row, TubeArgs};
use crate::accuracy::{Reached, SECONDS};
use crate::bgk::Rotation;
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::cli::text::short;
use crate::cli::verify::{reached, verified};
use crate::compute::{Backend, Precision, Resolved};
use crate::error::Error;
use crate::flow::{Duct, DuctSection};

/// The coefficients of a duct with their errors.
pub(super) fn row(
    args: &TubeArgs,
    (section, rotation, delta): (DuctSection, Option<Rotation>, f64),
    report: &mut Report,
) -> Result<Row, Failure> {
    let common = &args.common;
    if !matches!(common.backend, Backend::Auto | Backend::Cpu) {
        let named = format!("{:?}", common.backend).to_lowercase();
        let expected = "cpu or auto for a slit or a rectangle";
        return Err(Error::invalid("backend", named, expected).into());
    }
    if common.precision != Precision::F64 {
        let expected = "f64 for a slit or a rectangle";
        return Err(Error::invalid("precision", "f32", expected).into());
    }
    let duct = Duct {
        section,
        model: args.model,
        rotation,
        delta,
        accommodation: args.accommodation,
        grid: None,
    };
    duct.check()?;
    report.set("machine", Resolved::Cpu.describe());
    let quiet = common.quiet || common.json;
    let search = match args.verify.accuracy {
        Some(accuracy) => Some(reached("tube", &duct, accuracy, quiet)?),
        None => None,
    };
    let duct = search.as_ref().map_or(duct, |search| duct.on(&search.grid));
    let found = duct.solve()?;
    let base = (found.quantities(), found.floor());
    let search: Option<&Reached> = search.as_ref();
    let errors = verified(
        "tube",
        &duct,
        &args.verify,
        search,
        base,
        4.0 * SECONDS,
        quiet,
    )?;
    report.set("status", "converged");
    let named = |name: &str, value: f64| {
        let finding = errors.findings().iter().find(|f| f.quantity.name == name);
        let error = finding.map(|finding| finding.error.total);
        Coefficient { value, error }
    };
    let by = [named("g_p", found.g_p), named("g_t", found.g_t)];
    let shares = by.iter().filter_map(|c| Some(c.error? / c.value.abs()));
    let worst = shares.fold(0.0, f64::max);
    if worst > ADMITTED {
        report.warn(format!(
            "delta {}: the discretisation leaves an error of {:.1}%; --accuracy {ADMITTED} takes more points",
            short(delta),
            100.0 * worst
        ));
    }
    Ok(Row {
        delta,
        by,
        // One solution of linear equations.
        iterations: [1, 1],
    })
}
