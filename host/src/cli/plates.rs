//! Gas between plates: the common part of `rarefy couette`, `rarefy fourier` and `rarefy poiseuille`.

mod flow;
mod parameters;
mod results;

use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::report::{self, Report};
use super::steady;
use crate::bgk::boltzmann::Plates;
use crate::bgk::steady::plates::{Resolution, plates};
use crate::bgk::steady::{Solution, SteadyProblem, SteadySolver, check as check_steady};
use crate::error::{Error, Result};
pub(super) use flow::{Flow, Kind};
pub(super) use parameters::PlatesArgs;
use results::Outcome;

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

/// A steady flow, the centres of its cells, and the reduced flow rate along the plates where a force drives it.
struct Steady {
    solution: Solution,
    x: Vec<f64>,
    rate: Option<f64>,
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
        strength: if full.linear { 1.0 } else { flow.strength },
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
        Plates::new(full.around_collisions(flow)?)?;
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
    if let Some(units) = &units {
        report.set("units", units);
    }
    let full = parameters.plates;
    let flow = &solved(&full, flow);
    let Steady { solution, x, rate } = if full.sweeps_integral(flow) {
        around_collisions(&full, flow, &mut report)?
    } else {
        by_model(&full, flow, &mut report)?
    };
    let Some(found) = flow.measure(&solution, rate) else {
        return Err(Error::Numerical("the plates exchanged nothing".into()).into());
    };
    let model = (!full.collisions.is_boltzmann()).then_some(&gas);
    let outcome = Outcome {
        reference: flow.reference(delta, model, full.accommodation),
        flow,
        args: full,
        delta,
        units,
        machine: solution.device.clone(),
        found,
        solution,
        x,
    };
    outcome.report(&mut report);
    report.write(|out| outcome.write(out))?;
    report.finish(|total| outcome.summary(total))
}

/// The problem of the models.
fn case(full: &PlatesArgs, flow: &Flow) -> Result<SteadyProblem> {
    let velocities = full.velocities();
    let resolution = Resolution {
        cells: full.cells(),
        normal: velocities.normal,
        tangential: velocities.tangential.unwrap_or_default(),
    };
    plates(
        full.delta(),
        flow.drive(),
        full.gas.gas(),
        full.accommodation,
        resolution,
        full.linear,
    )
}

/// The flow by the steady solver of the models.
fn by_model(
    full: &PlatesArgs,
    flow: &Flow,
    report: &mut Report,
) -> std::result::Result<Steady, Failure> {
    let started = Instant::now();
    let case = case(full, flow)?;
    let x = case.centres(0);
    let config = full.config();
    let mut solver = SteadySolver::new(case, &config)?;
    for warning in solver.problem().warnings(config.closure) {
        report.warn(warning);
    }
    report.time("setup", started.elapsed());
    let iterating = Instant::now();
    let quiet = full.common.quiet;
    steady::iterate(
        flow.command(),
        &mut solver,
        config.tolerance(),
        quiet,
        report,
    )?;
    report.time("iterations", iterating.elapsed());
    Ok(Steady {
        solution: solver.solution()?,
        x,
        rate: None,
    })
}

/// The flow by sweeps around the collision integral, or around a model's relaxation where a force drives it.
fn around_collisions(
    full: &PlatesArgs,
    flow: &Flow,
    report: &mut Report,
) -> std::result::Result<Steady, Failure> {
    let started = Instant::now();
    let config = full.around_collisions(flow)?;
    let warnings = full.velocity_warnings(flow, &config)?;
    let mut plates = Plates::new(config)?;
    for warning in warnings {
        report.warn(warning);
    }
    report.time("setup", started.elapsed());
    let iterating = Instant::now();
    let quiet = full.common.quiet;
    steady::iterate(flow.command(), &mut plates, full.tolerance(), quiet, report)?;
    report.time("iterations", iterating.elapsed());
    Ok(Steady {
        solution: plates.solution()?,
        x: plates.centres(),
        rate: plates.flow_rate(),
    })
}
