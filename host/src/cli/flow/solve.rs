//! A flow from its arguments to its files, in time or steady.

use std::mem::take;
use std::time::Instant;

use clap::ArgMatches;
use serde_json::Value;

use super::case::{Flow, Outcome, PreparedRun};
use super::kept;
use super::steady::{self, SteadyRun};
use super::time_loop;
use super::verify;
use crate::bgk::Units;
use crate::bgk::steady::check as check_steady;
use crate::cli::failure::Failure;
use crate::cli::ranks;
use crate::cli::report::{self, Report};
use crate::cli::verify::Verified;
use crate::error::Result;
use crate::run::error_left;

/// Checks arguments before any run of a sweep, and returns the parameters in full.
pub(in crate::cli) fn check<F: Flow>(args: &F) -> Result<Value> {
    let flow = args.resolved()?;
    flow.si().units()?;
    if flow.is_steady() {
        check_steady(&flow.case()?.problem, &steady::config(&flow))?;
    } else {
        flow.check_in_time()?;
    }
    Ok(report::given(&flow))
}

/// The arguments in full. A run that goes on is steady or in time as its checkpoint, unless the flags say one of both.
fn wanted<F: Flow>(args: &F) -> Result<F> {
    let options = args.time_options();
    let Some(path) = &options.resume else {
        return args.resolved();
    };
    let mut args = args.clone();
    let kept = kept::parameters_of::<F>(path)?;
    if !(args.is_steady() || options.in_time) {
        args.set_steady(kept.is_steady());
    }
    // Numbers of a gas are those of the run's model, unless the flags say another.
    if !kept.collisions().is_boltzmann() && !args.collisions().is_boltzmann() {
        args.shared_mut().gas.take_model(&kept.shared().gas);
    }
    args.resolved()
}

/// Runs the command of a flow.
pub(in crate::cli) fn run<F: Flow>(
    args: &F,
    given: &ArgMatches,
) -> std::result::Result<(), Failure> {
    let started = Instant::now();
    let options = args.time_options();
    let wanted = ranks::agreed(wanted(args).map_err(Failure::from))?;
    let is_steady = wanted.is_steady();
    ranks::check_same(&wanted)?;
    if is_steady {
        ranks::refuse_several("a steady flow")?;
    }
    let mut report = Report::new(F::COMMAND, &wanted, args.common(), started);
    report.open_resumable(options.resume.as_deref(), options.checkpoint_every, true)?;
    if report.folder().is_none() && (options.save_every.is_some() || options.save_f.is_some()) {
        return Err(Failure::Usage(
            "--save-every and --save-f need a folder for their files; give --out DIR".into(),
        ));
    }
    args.common().open_ahead();
    let verify = &args.shared().verify;
    // A checkpoint has its grid.
    let asked = wanted.clone();
    let (wanted, search) = match &options.resume {
        Some(_) => (wanted, None),
        None => {
            report.watch_for_signals();
            let refined = verify::refined(wanted, verify, args.common().quiet)?;
            report.leave_to_signals();
            refined
        }
    };
    let mut outcome = if is_steady {
        find_steady(args, wanted, given, &mut report)?
    } else {
        find_in_time(args, wanted, given, &mut report, started)?
    };
    // Its record repeats the search.
    if search.is_some() {
        report.set_parameters(&asked);
    }
    report.set("course", &outcome.course);
    outcome.errors = verify::errors(&outcome, verify, search.as_ref(), &mut report)?;
    let mut errors = take(&mut outcome.errors);
    F::derive_errors(&outcome, &mut errors);
    let (mut result, conservation) = F::record(&outcome);
    errors.record(&mut result);
    outcome.errors = errors;
    report.set("result", result);
    report.set("conservation", conservation);
    report.write(|out| {
        F::write(&outcome, out)?;
        out.put(
            "history.csv",
            &outcome.course.table(outcome.units.as_ref())?,
        )
    })?;
    ranks::agreed(report.finish(|total| outcome.summary(total)))
}

/// Adds to the record what a flow in full says.
fn record<F: Flow>(flow: &F, report: &mut Report) -> Result<Option<Units>> {
    let units = flow.si().units()?;
    report.set_parameters(flow);
    if let Some(units) = &units {
        report.set("units", units);
    }
    if let Some(taken) = &flow.collisions().taken {
        report.set("method", taken);
    }
    Ok(units)
}

fn find_steady<F: Flow>(
    args: &F,
    wanted: F,
    given: &ArgMatches,
    report: &mut Report,
) -> std::result::Result<Outcome<F>, Failure> {
    let (flow, from) = steady::reopened(wanted, args.time_options(), given)?;
    let units = record(&flow, report)?;
    let case = flow.case()?;
    if let Some(wave) = case.wave {
        report.set("boltzmann", wave);
    }
    for warning in case.warnings {
        report.warn(warning);
    }
    let config = steady::config(&flow);
    let run = SteadyRun {
        parameters: &flow,
        from,
        quiet: args.common().quiet,
    };
    let (solution, course) = steady::solve(run, &case.problem, &config, report)?;
    Ok(Outcome {
        units,
        found: flow.found_steady(&case.problem, &solution)?,
        flow,
        course,
        left: solution.error_estimate,
        machine: solution.device,
        errors: Verified::default(),
    })
}

fn find_in_time<F: Flow>(
    args: &F,
    wanted: F,
    given: &ArgMatches,
    report: &mut Report,
    started: Instant,
) -> std::result::Result<Outcome<F>, Failure> {
    let options = args.time_options();
    let (mut flow, start) = match &options.resume {
        None => {
            let start = kept::fresh(&wanted)?;
            (wanted, start)
        }
        Some(path) => kept::resumed(path, &wanted, options, given)?,
    };
    report.set("machine", start.begun.run.device());
    if let Some(ranks) = ranks::record() {
        report.set("ranks", ranks);
    }
    if let Some(warning) = start.warning {
        report.warn(warning);
    }
    flow.prepared(&start.begun, report)?;
    let PreparedRun { mut run, .. } = start.begun;
    let units = record(&flow, report)?;
    report.time("setup", started.elapsed());
    let quiet = args.common().quiet;
    let course = time_loop::drive(&flow, &mut run, start.history, quiet, report)?;
    if flow.shared().gas.gas().rotating().is_some()
        && let Some(warning) = flow.si().beyond_rotation(&run.moments()?)
    {
        report.warn(warning);
    }
    Ok(Outcome {
        units,
        left: match course.converged {
            Some(true) => error_left(&run, course.residual),
            // Its results are those of its time.
            _ => 0.0,
        },
        found: flow.found(&mut run)?,
        flow,
        course,
        machine: run.device(),
        errors: Verified::default(),
    })
}
