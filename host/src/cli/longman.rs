//! `rarefy longman`: many infinite integrals of oscillating functions.

mod parameters;
mod problem;
mod results;

use std::path::Path;
use std::time::Instant;

use super::failure::Failure;
use super::options::{Common, without_effect};
use super::progress::Progress;
use super::report::Report;
use crate::compute::{Resolved, describe_all};
use crate::error::Result;
use crate::longman::{Integral, Settings, Task};
pub(super) use parameters::LongmanArgs;
use parameters::{Interpolation, given_parameters, settings, title};
pub(super) use problem::problem;
use problem::{Rows, STREAM};
#[cfg(test)]
pub(super) use problem::{read_samples, read_zeros};
use results::Outcome;

/// Integrals that are computed between two messages about progress.
const CHUNK: usize = 1 << 14;

/// The same on a GPU, which is busy with many at a time only.
const GPU_CHUNK: usize = 1 << 22;

/// Runs the integrals.
pub(super) fn run(args: &LongmanArgs) -> std::result::Result<(), Failure> {
    let begun = Instant::now();
    let common = &args.common;
    if args.samples.is_none() {
        without_effect(
            "an integrand without --samples",
            &[("interpolation", args.interpolation != Interpolation::Cubic)],
        )?;
    }
    let settings = settings(args)?;
    let given = given_parameters(args)?;
    let (task, rows) = problem(args, &given)?;
    if !task.is_sampled() {
        without_effect(
            "an integrand that is not sampled beyond its areas",
            &[("beyond", args.beyond.is_some())],
        )?;
    }
    let printed = args.output.as_deref() == Some(Path::new(STREAM));
    if printed && common.json {
        return Err(Failure::Usage(
            "--output - and --json both write to standard output; give one of them".into(),
        ));
    }

    let full = LongmanArgs {
        lower: (!rows.limited).then(|| args.lower.unwrap_or(0.0)),
        rtol: Some(settings.rtol),
        ..args.clone()
    };
    let mut report = Report::new("longman", &full, common, begun);
    for path in [&args.input, &args.samples, &args.zeros_file]
        .into_iter()
        .flatten()
    {
        report.reads(path);
    }
    // Whoever names the table's file wants that one.
    match &args.output {
        None => report.open()?,
        Some(_) => report.open_given()?,
    }
    let folder = report.folder();
    let output = args
        .output
        .clone()
        .filter(|_| !printed)
        .or_else(|| folder.map(|folder| folder.join("results.csv")));
    if let Some(path) = &output {
        report.claim(path)?;
    }
    rows.warn(&mut report);
    let machines = common.compute().resolve_all()?;
    let started = Instant::now();
    let results = integrate(&task, &rows, &settings, common, &machines)?;
    let spent = started.elapsed();
    report.time("integrals", spent);

    let outcome = Outcome {
        results: &results,
        names: task.parameters(),
        rows: &rows,
        machine: describe_all(&machines),
        precision: common.precision,
    };
    outcome.report(&mut report, spent);
    if outcome.valid().is_err() {
        report.set("status", "failed");
    }
    if output.is_none() && common.json {
        report.set("results", outcome.objects());
    }
    if let Some(path) = &output {
        report.stage(path, &outcome.table()?)?;
    }
    report.write(|out| {
        out.plot("errors.png", outcome.plot());
        let table = args.frequency_range;
        let table = table.and_then(|range| outcome.table_plot(&title(args), range.is_log()));
        if let Some(table) = table {
            out.plot("table.png", table);
        }
        Ok(())
    })?;
    if printed {
        let table = String::from_utf8_lossy(&outcome.table()?).into_owned();
        report.print_bare(true);
        report.finish(|_| table)?;
    } else {
        report.finish(|total| outcome.summary(&title(args), spent, total))?;
    }
    outcome.valid()
}

fn integrate(
    task: &Task,
    rows: &Rows,
    settings: &Settings,
    common: &Common,
    machines: &[Resolved],
) -> Result<Vec<Integral>> {
    let total = rows.lower.len();
    let chunk = match machines {
        [Resolved::Cuda(_), ..] => GPU_CHUNK * machines.len(),
        _ => CHUNK,
    };
    let mut results = Vec::with_capacity(total);
    let mut progress = Progress::new("integrals", common.quiet || common.json || total <= chunk);
    while results.len() < total {
        let done = results.len();
        let end = (done + chunk).min(total);
        let integrals = task
            .integrals()
            .lower(&rows.lower[done..end])
            .upper(&rows.upper[done..end])
            .settings(*settings)
            .compute(common.compute())
            .on_all(machines);
        let columns = task.parameters().iter().zip(&rows.columns);
        let integrals = columns.fold(integrals, |integrals, (name, column)| {
            integrals.column(name, &column[done..end])
        });
        results.extend(integrals.integrate()?);
        progress.update(end as f64 / total as f64, || format!("{end} of {total}"));
    }
    progress.finish();
    Ok(results)
}
