//! `rarefy flow`: a steady flow past and through bodies in a plane, round an axis or in space, from a case file.

mod examples;
mod facets;
mod file;
mod keys;
mod plots;
mod results;
mod schema;
mod slices;
mod surface;
mod view;

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use super::failure::Failure;
use super::interrupt;
use super::options::Common;
use super::progress::Progress;
use super::report::Report;
use super::streams;
use super::text::shown_if;
use super::values::{named, positive, whole};
use super::verify::{Verified, VerifyArgs, reached, verified};
use crate::accuracy::{Reached, SECONDS};
use crate::compute::describe_all;
use crate::flow::{Case, Findings, Grids, Machine};
use examples::Example;
use results::Outcome;

const EXAMPLES: &str = "\
Examples:
  rarefy flow --example cylinder > cylinder.toml    a case file with comments
  rarefy flow --schema > flow.schema.json           keys and values of case files, for editors
  rarefy flow cylinder.toml                         forces, heat, fields, plots
  rarefy flow cylinder.toml --accuracy 1e-2         on cells, velocities and sides that have it
  rarefy flow cylinder.toml --devices all           on all GPUs of the host
  rarefy flow cylinder.toml --json --quiet          the record alone
  rarefy flow cylinder.toml --tolerance 1e-4 --out coarse --overwrite";

/// Compute a steady flow past and through bodies in a plane, round an axis or in space, from a case file
///
/// CASE.toml has the gas, the domain with its cells, its sides, and bodies: circles, ellipses, rectangles, polygons, NACA aerofoils, many
/// circles, masks, images, sections of STL surfaces, unions and differences. A domain with a z is in space, with two more sides, and spheres,
/// boxes, cylinders, cones, STL surfaces and voxels. With symmetry = "axis" the plane turns round its x axis: tubes, orifices, bodies of revolution. Cells are cut by the bodies. Prints forces, moments and heat on
/// each body, and the flows of mass, momentum and energy through the sides, each with the error of its discretisation: by repeats on coarser
/// cells, with fewer velocities, and with the far field nearer. Lengths are those of the case; velocities are in v0 = sqrt(2 R T0). A gas in
/// SI units adds results in these.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = EXAMPLES)]
#[serde(rename_all = "kebab-case")]
pub(super) struct FlowCaseArgs {
    /// Case file; --example prints one
    #[arg(value_name = "CASE.toml", required_unless_present_any = ["example", "schema"])]
    #[serde(serialize_with = "shown_if")]
    case: Option<PathBuf>,
    /// Print a case file with comments on standard output, and end
    #[arg(long, value_name = "NAME", conflicts_with = "case", value_parser = named::<Example>(&Example::NAMES))]
    #[serde(skip)]
    example: Option<Example>,
    /// Print the JSON Schema of case files, by which editors complete and check them, and end
    #[arg(long, conflicts_with_all = ["case", "example"])]
    #[serde(skip)]
    schema: bool,
    /// Change of an iteration at which the flow is steady [default: that of the case, 1e-6]
    #[arg(long, value_name = "X", value_parser = positive)]
    tolerance: Option<f64>,
    /// Most iterations [default: those of the case, 1000]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, 1..=1_000_000))]
    iterations: Option<usize>,
    #[command(flatten)]
    #[serde(flatten)]
    verify: VerifyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

impl FlowCaseArgs {
    /// The machine that sweeps. A linear flow between periodic sides stays on the CPU, unless the user asks for another machine.
    ///
    /// # Errors
    /// A machine that cannot be had; several devices for a flow of one; f32 on a CPU.
    fn machine(&self, case: &Case) -> std::result::Result<(Machine, String), Failure> {
        let (machine, resolved) = Machine::of(case, &self.common.compute())?;
        Ok((machine, describe_all(&resolved)))
    }

    /// The case with the options of the command line.
    fn apply(&self, case: &mut Case) {
        case.solver.tolerance = self.tolerance.unwrap_or(case.solver.tolerance);
        case.solver.iterations = self.iterations.unwrap_or(case.solver.iterations);
    }
}

/// The case of a text, or the line that refuses it.
pub(super) fn parsed(text: &str) -> std::result::Result<Case, String> {
    file::parsed(text, |_| {}).map_err(|refusal| file::line(text, refusal))
}

/// Runs the command.
pub(super) fn run(args: &FlowCaseArgs) -> std::result::Result<(), Failure> {
    let started = Instant::now();
    if args.schema {
        let schema = serde_json::to_string_pretty(&schema::schema()).unwrap_or_default();
        return streams::print(&format!("{schema}\n"));
    }
    if let Some(example) = args.example {
        return streams::print(example.text());
    }
    let path = args.case.as_deref().unwrap_or_else(|| "".as_ref());
    let case = file::read(path, |case| args.apply(case))?;
    let (machine, described) = args.machine(&case)?;
    let mut report = Report::new("flow", args, &args.common, started);
    report.reads(path);
    case.files().iter().for_each(|file| report.reads(file));
    report.open()?;
    report.watch_for_signals();
    let quiet = args.common.quiet || args.common.json;
    let (case, search) = refined(("flow", quiet), &args.verify, case, &machine)?;
    report.set("case", &case);
    report.set("machine", described);
    let grids = Grids::new(&case, &machine)?;
    let begun = Instant::now();
    let found = solve(("flow", quiet), &grids)?;
    let spent = begun.elapsed();
    report.time("iterations", spent);
    report_end(&case, &found, &mut report)?;
    let errors = errors(
        ("flow", quiet),
        &args.verify,
        (&grids, &found),
        search.as_ref(),
        &mut report,
    )?;
    errors.report(&mut report, search.as_ref().map(|search| &search.reached));
    let outcome = Outcome::new(case, found, errors)?;
    report.set("result", outcome.result());
    if let Some(units) = &outcome.units {
        report.set("units", units);
    }
    report.write(|out| {
        outcome.write(out)?;
        if outcome.case.output.plots {
            for (name, figure) in plots::figures(&outcome) {
                out.plot(name, figure);
            }
        }
        Ok(())
    })?;
    report.finish(|total| outcome.summary(total, spent))
}

/// The case on the grid that has the accuracy that is asked for, with the search. `command` is its name, and whether it is quiet.
pub(super) fn refined(
    command: (&'static str, bool),
    verify: &VerifyArgs,
    case: Case,
    machine: &Machine,
) -> std::result::Result<(Case, Option<Search>), Failure> {
    let Some(accuracy) = verify.accuracy else {
        return Ok((case, None));
    };
    let grids = Grids::new(&case, machine)?.to_search(accuracy)?;
    let reached = reached(command.0, &grids, accuracy, command.1)?;
    let case = grids.on(&reached.grid);
    Ok((case, Some(Search { grids, reached })))
}

/// A search for an accuracy, and its end.
pub(super) struct Search {
    grids: Grids,
    reached: Reached,
}

/// Errors of the results.
pub(super) fn errors(
    (command, quiet): (&'static str, bool),
    verify: &VerifyArgs,
    (grids, found): (&Grids, &Findings),
    search: Option<&Search>,
    report: &mut Report,
) -> std::result::Result<Verified, Failure> {
    let begun = Instant::now();
    let most = if found.is_steady() { SECONDS } else { 0.0 };
    let found = match (search, verify.accuracy) {
        (Some(search), Some(accuracy)) if !search.reached.findings.is_empty() => {
            Verified::of_search(&search.grids, &search.reached, accuracy)
        }
        _ => {
            let base = grids.quantities(found);
            verified(command, grids, verify, None, base, most, quiet)?
        }
    };
    report.time("repeats", begun.elapsed());
    Ok(found)
}

/// Iterates, with progress and a stop at a signal.
pub(super) fn solve(
    (command, quiet): (&'static str, bool),
    grids: &Grids,
) -> std::result::Result<Findings, Failure> {
    let mut progress = Progress::new(command, quiet);
    let goal = grids.case().solver.tolerance.ln();
    let mut first = None;
    let found = grids.solve(&mut |done, change| {
        let first = *first.get_or_insert(change.max(f64::MIN_POSITIVE).ln());
        // Changes fall about exponentially.
        let share = ((change.ln() - first) / (goal - first)).clamp(0.0, 1.0);
        progress.update(share, || match done {
            0 => format!("on coarser cells, change {change:.1e}"),
            _ => format!("iteration {done}, change {change:.1e}"),
        });
        !interrupt::asked()
    });
    progress.finish();
    Ok(found?)
}

/// Reports warnings, and how the iteration ended.
pub(super) fn report_end(
    case: &Case,
    found: &Findings,
    report: &mut Report,
) -> std::result::Result<(), Failure> {
    let count = found.iterations;
    if found.status == "interrupted" {
        return Err(Failure::Interrupted {
            after: format!("after {count} iterations"),
            rest: "nothing is saved, for this flow has no checkpoints".into(),
        });
    }
    for warning in &found.warnings {
        report.warn(warning.clone());
    }
    report.set("status", &found.status);
    let state = format!(
        "after {count} iterations the fields change by {:.1e} in an iteration; {:.1e} was asked for",
        found.change, case.solver.tolerance
    );
    match found.status.as_str() {
        "converged" => {}
        "at-roundoff" => report.warn(format!("roundoff ends the iteration: {state}")),
        "unfinished" => {
            report.not_converged(format!("{state}; allow more with --iterations"));
        }
        _ => report.not_converged(format!(
            "{state}, and nothing falls any more; use other cells or velocities"
        )),
    }
    Ok(())
}
