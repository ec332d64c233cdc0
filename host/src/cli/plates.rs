//! Gas between plates: the common part of `rarefy couette`, `rarefy fourier` and `rarefy poiseuille`.

mod flow;
mod parameters;
mod results;
mod solver;
mod verify;

use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::report::{self, Report};
use super::steady;
use crate::bgk::steady::check as check_steady;
use crate::error::{Error, Result};
pub(super) use flow::{Flow, Kind};
pub(super) use parameters::{PlatesArgs, SolverArgs};
use results::Outcome;
use solver::{case, solver};

/// The run in full, by the names of the flags.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Parameters {
    u: Option<f64>,
    temperature_difference: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient: Option<f64>,
    #[serde(flatten)]
    plates: PlatesArgs,
}

impl Parameters {
    /// The run in full, and its flow.
    fn resolved(args: &PlatesArgs, flow: Flow, drive: Option<&str>) -> Result<(Self, Flow)> {
        let (full, delta) = args.resolved(&flow, drive)?;
        let flow = flow.driven(delta, drive);
        let of = |kind| (flow.kind == kind).then_some(flow.strength);
        let parameters = Self {
            u: of(Kind::Couette),
            temperature_difference: of(Kind::Fourier),
            gradient: of(Kind::Poiseuille),
            plates: full,
        };
        Ok((parameters, flow))
    }
}

/// The flow that is solved for: of the linear equation that per unit of the drive.
fn solved(full: &PlatesArgs, flow: Flow) -> Flow {
    Flow {
        strength: if full.is_linear() { 1.0 } else { flow.strength },
        ..flow
    }
}

/// Checks arguments before any run of a sweep, and returns the parameters in full.
pub(super) fn check(args: &PlatesArgs, flow: Flow, drive: Option<&str>) -> Result<Value> {
    let (parameters, flow) = Parameters::resolved(args, flow, drive)?;
    let full = &parameters.plates;
    full.si.units()?;
    let flow = &solved(full, flow);
    if full.sweeps_integral(flow) {
        full.around_collisions(flow)?.solver()?;
    } else {
        check_steady(&case(full, flow)?, &full.config())?;
    }
    Ok(report::given(&parameters))
}

/// Runs one of the commands.
pub(super) fn run(
    args: &PlatesArgs,
    flow: Flow,
    drive: Option<&str>,
) -> std::result::Result<(), Failure> {
    let started = Instant::now();
    let (parameters, flow) = Parameters::resolved(args, flow, drive)?;
    let gas = parameters.plates.gas.gas();
    let units = parameters.plates.si.units()?;
    let delta = parameters.plates.delta();
    let mut report = Report::new(flow.command(), &parameters, &args.common, started);
    report.open()?;
    args.common.open_ahead();
    if let Some(units) = &units {
        report.set("units", units);
    }
    let flow = &solved(&parameters.plates, flow);
    report.watch_for_signals();
    let (full, search) = verify::refined(parameters.plates, flow)?;
    report.leave_to_signals();
    let started = Instant::now();
    let mut warnings = if full.sweeps_integral(flow) {
        full.velocity_warnings(flow, &full.around_collisions(flow)?)?
    } else {
        Vec::new()
    };
    let mut solver = solver(&full, flow)?;
    warnings.extend(solver.problem().warnings(solver.config().closure));
    for warning in warnings {
        report.warn(warning);
    }
    report.time("setup", started.elapsed());
    let quiet = full.common.quiet;
    steady::iterate(flow.command(), &mut solver, quiet, &mut report)?;
    let solution = solver.solution()?;
    let Some(found) = flow.measure(&solution, solver.flow_rate()) else {
        return Err(Error::Numerical("the plates exchanged nothing".into()).into());
    };
    let model = (!full.collisions.is_boltzmann()).then_some(&gas);
    let errors = verify::errors(
        &full,
        flow,
        (found, &solution),
        search.as_ref(),
        &mut report,
    )?;
    let outcome = Outcome {
        errors,
        reference: flow.reference(delta, model, full.solver().accommodation),
        flow,
        args: full,
        delta,
        units,
        machine: solution.device.clone(),
        found,
        solution,
        x: solver.problem().centres(0),
    };
    drop(solver);
    // Linearised results are perturbations of gas at its temperature.
    if !outcome.args.is_linear()
        && let Some(warning) = outcome.args.si.beyond_rotation(&outcome.solution.cells)
    {
        report.warn(warning);
    }
    outcome.report(&mut report);
    report.write(|out| outcome.write(out))?;
    report.finish(|total| outcome.summary(total))
}
