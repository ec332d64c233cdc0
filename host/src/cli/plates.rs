//! Gas between plates: what `rarefy couette` and `rarefy fourier` share.

mod flow;
mod parameters;
mod results;

use std::time::Instant;

use serde::Serialize;

use super::failure::Failure;
use super::report::Report;
use super::steady;
use crate::bgk::steady::SteadySolver;
use crate::bgk::steady::plates::{Drive, Resolution, plates};
use crate::error::Error;
pub(super) use flow::Flow;
pub(super) use parameters::PlatesArgs;
use results::Outcome;

/// The run in full, by the names of the flags.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Parameters {
    u: Option<f64>,
    temperature_difference: Option<f64>,
    #[serde(flatten)]
    plates: PlatesArgs,
}

/// Runs one of the two commands.
pub(super) fn run(
    args: &PlatesArgs,
    flow: &Flow,
    drive: Option<&str>,
) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let started = Instant::now();
    let (full, delta, gas) = args.resolved(drive)?;
    let config = args.config();
    let units = full.si.units()?;
    // The linear equation's solution is that per unit of the drive.
    let strength = if args.linear { 1.0 } else { flow.strength() };
    let drive = match flow.drive {
        Drive::Couette(_) => Drive::Couette(strength),
        Drive::Fourier(_) => Drive::Fourier(strength),
    };
    let resolution = Resolution {
        cells: args.nx,
        normal: args.velocities.normal,
        tangential: args.velocities.tangential,
    };
    let case = plates(
        delta,
        drive,
        gas,
        args.accommodation,
        resolution,
        args.linear,
    )?;
    let x = case.centres(0);
    let parameters = Parameters {
        u: flow.is_couette().then_some(flow.strength()),
        temperature_difference: (!flow.is_couette()).then_some(flow.strength()),
        plates: full,
    };
    let mut report = Report::new(flow.command, &parameters, common, started);
    report.open()?;
    if let Some(units) = &units {
        report.set("units", units);
    }
    let mut solver = SteadySolver::new(case, &config)?;
    for warning in solver.problem().warnings(config.closure) {
        report.warn(warning);
    }
    report.time("setup", started.elapsed());
    let iterating = Instant::now();
    steady::iterate(flow.command, &mut solver, config.tolerance(), common.quiet)?;
    report.time("iterations", iterating.elapsed());
    let solution = solver.solution()?;
    let Some(found) = flow.measure(&solution, strength) else {
        return Err(Error::Numerical("the plates exchanged nothing".into()).into());
    };
    let outcome = Outcome {
        flow,
        args: parameters.plates,
        delta,
        units,
        machine: solution.device.clone(),
        found,
        reference: flow.reference(delta, &gas, args.accommodation),
        solution,
        x,
    };
    outcome.report(&mut report);
    report.write(|out| outcome.write(out))?;
    report.finish(|total| outcome.summary(total))
}
