//! `rarefy isotropic`: relaxation in energy space.

mod march;
mod parameters;
mod results;
pub(super) mod state;

use std::time::Instant;

use clap::ArgMatches;
use serde_json::json;

use super::failure::Failure;
use super::npy;
use super::output::Transaction;
use super::report::{Report, written_to};
use crate::isotropic::{OperatorConfig, rates};
pub(super) use parameters::{IsotropicArgs, cells};

/// Runs the command.
pub(super) fn run(args: &IsotropicArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    let started = Instant::now();
    if let Some(path) = &args.resume {
        return march::go_on(args, path, given, started);
    }
    args.refuse_options_without_effect()?;
    let (parameters, config, f) = args.resolved()?;
    let mut report = Report::new("isotropic", &parameters, started);
    let warnings = match args.init.exact() {
        Some(exact) => config.warnings_of(&f, &exact)?,
        None => config.warnings(&f),
    };
    for warning in warnings {
        report.warn(warning);
    }
    if args.rates_only {
        evaluate(args, &parameters, &config, &f, report)
    } else {
        march::start(args, &parameters, config, f, report)
    }
}

/// One evaluation.
fn evaluate(
    args: &IsotropicArgs,
    parameters: &IsotropicArgs,
    config: &OperatorConfig,
    f: &[f64],
    mut report: Report,
) -> std::result::Result<(), Failure> {
    let mut files = Transaction::default();
    args.read_by(&mut files);
    let folder = args.common.results_folder(&mut files, "isotropic")?;
    let begun = Instant::now();
    let found = rates(config, f)?;
    let spent = begun.elapsed();
    report.time("evaluation", spent);
    let moments = crate::isotropic::Moments::of(config, f);
    let drift = results::drift_of(config, &found);
    report.set("machine", &found.device);
    report.set("grid", config.grid);
    report.set("moments", moments);
    report.set(
        "rates",
        json!({
            "largest_frequency": found.largest_frequency,
            "largest_step": found.largest_step(),
        }),
    );
    report.set("conservation", drift);
    if let Some(folder) = &folder {
        let cells = config.grid.cells();
        for (name, values) in [
            ("gain.npy", &found.gain),
            ("frequency.npy", &found.frequency),
            ("rate.npy", &found.rate),
        ] {
            npy::check_range(name, values, parameters.common.precision)?;
            let bytes = npy::encode(&[cells], values, parameters.common.precision);
            report.stage(&mut files, &folder.join(name), &bytes)?;
        }
        let table = results::rates_table(config, f, &found)?;
        report.stage(&mut files, &folder.join("rates.csv"), &table)?;
        let plot = results::rates_plot(config, f, &found).png()?;
        report.stage(&mut files, &folder.join("rates.png"), &plot)?;
    }
    report.finish(files, folder.as_deref(), &args.common, |total, folder| {
        [
            parameters.heading(
                &format!("Rates of {}", parameters.init),
                config,
                &found.device,
            ),
            format!("  number        {:.10}", moments.number),
            format!("  energy        {:.10}", moments.energy),
            format!(
                "  residuals     number {:.1e}, energy {:.1e} of the gross rates",
                drift.number, drift.energy
            ),
            format!("  largest step  {:.6}", found.largest_step()),
            format!(
                "  wall time     {:.3} s, of which the evaluation {:.3} s",
                total.as_secs_f64(),
                spent.as_secs_f64()
            ),
        ]
        .join("\n")
            + &written_to(folder)
    })
}
