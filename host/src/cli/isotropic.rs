//! `rarefy isotropic`: relaxation in energy space.

mod parameters;
mod results;
pub(super) mod state;
mod time_loop;
mod verify;

use std::time::Instant;

use clap::ArgMatches;
use serde_json::json;

use super::failure::Failure;
use super::npy;
use super::report::Report;
use crate::isotropic::{OperatorConfig, errors, rates};
pub(super) use parameters::{IsotropicArgs, cells};

/// Runs the command.
pub(super) fn run(args: &IsotropicArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    let started = Instant::now();
    if let Some(path) = &args.resume {
        return time_loop::go_on(args, path, given, started);
    }
    args.refuse_options_without_effect()?;
    let (parameters, config, f) = args.resolved()?;
    let mut report = Report::new("isotropic", &parameters, &args.common, started);
    if let Some(path) = args.input() {
        report.reads(path);
    }
    let warnings = match args.init.exact() {
        Some(exact) => config.warnings_of(&f, &exact)?,
        None => config.warnings(&f),
    };
    for warning in &warnings {
        report.warn(warning.clone());
    }
    if args.rates_only {
        evaluate(&parameters, &config, &f, report)
    } else {
        time_loop::start(&parameters, config, f, (warnings, report))
    }
}

/// One evaluation.
fn evaluate(
    parameters: &IsotropicArgs,
    config: &OperatorConfig,
    f: &[f64],
    mut report: Report,
) -> std::result::Result<(), Failure> {
    report.open()?;
    let begun = Instant::now();
    let found = rates(config, f)?;
    let spent = begun.elapsed();
    report.time("evaluation", spent);
    let moments = crate::isotropic::Moments::of(config, f);
    let drift = results::drift_of(config, &found);
    let whole = verify::Run {
        parameters,
        config,
        f,
        course: None,
    };
    let known = whole.errors(errors::of_moments(&moments), None, &mut report)?;
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
    report.set("discretisation_error", known.errors());
    report.set("conservation", drift);
    report.write(|out| {
        let (cells, precision) = (config.grid.cells(), parameters.common.precision);
        for (name, values) in [
            ("gain.npy", &found.gain),
            ("frequency.npy", &found.frequency),
            ("rate.npy", &found.rate),
        ] {
            npy::check_range(name, values, precision)?;
            out.array(name, &[cells], values, precision)?;
        }
        out.grid("grid_energy.npy", &config.grid.energies())?;
        out.put("rates.csv", &results::rates_table(config, f, &found)?)?;
        out.plot("rates.png", results::rates_plot(config, f, &found));
        Ok(())
    })?;
    report.finish(|total| {
        let summary = parameters
            .heading(
                &format!("Rates of {}", parameters.init),
                config,
                &found.device,
            )
            .row("number", format!("{:.10}", moments.number))
            .row("energy", format!("{:.10}", moments.energy));
        (known.rows(summary))
            .row(
                "residuals",
                format!(
                    "number {:.1e}, energy {:.1e} of the gross rates",
                    drift.number, drift.energy
                ),
            )
            .row("largest step", format!("{:.6}", found.largest_step()))
            .wall_time(total, "the evaluation", spent)
    })
}
