//! `rarefy flow`: a steady flow past and through bodies in a plane, from a case file.

mod examples;
mod file;
mod keys;
mod plots;
mod results;
mod surface;

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
use crate::compute::{Backend, Precision, Resolved};
use crate::flow::{self, Case, Findings, Machine};
use examples::Example;
use results::Outcome;

const EXAMPLES: &str = "\
Examples:
  rarefy flow --example cylinder > cylinder.toml    a case file with comments
  rarefy flow cylinder.toml                         forces, heat, fields, plots
  rarefy flow cylinder.toml --json --quiet          the record alone
  rarefy flow cylinder.toml --tolerance 1e-4 --out coarse --overwrite";

/// Compute a steady flow past and through bodies in a plane, from a case file
///
/// CASE.toml has the gas, the domain with its cells, its four sides, and bodies: circles, ellipses, rectangles, polygons, NACA aerofoils, many
/// circles, masks, images, sections of STL surfaces, unions and differences. Cells are cut by the bodies. Prints forces, moments and heat on each body, and the flows of mass, momentum and energy through
/// the sides. Lengths are those of the case; velocities are in v0 = sqrt(2 R T0). A gas in SI units adds results in these.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = EXAMPLES)]
#[serde(rename_all = "kebab-case")]
pub(super) struct FlowCaseArgs {
    /// Case file; --example prints one
    #[arg(value_name = "CASE.toml", required_unless_present = "example")]
    #[serde(serialize_with = "shown_if")]
    case: Option<PathBuf>,
    /// Print a case file with comments on standard output, and end
    #[arg(long, value_name = "NAME", conflicts_with = "case", value_parser = named::<Example>(&Example::NAMES))]
    #[serde(skip)]
    example: Option<Example>,
    /// Change of an iteration at which the flow is steady [default: that of the case, 1e-6]
    #[arg(long, value_name = "X", value_parser = positive)]
    tolerance: Option<f64>,
    /// Most iterations [default: those of the case, 1000]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, 1..=1_000_000))]
    iterations: Option<usize>,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

impl FlowCaseArgs {
    /// Refuses options that flows past bodies do not have.
    fn refuse_options(&self) -> std::result::Result<(), Failure> {
        let common = &self.common;
        let backend = match common.backend {
            Backend::Cuda => Some("cuda"),
            Backend::Emulator => Some("emulator"),
            _ => None,
        };
        if let Some(backend) = backend {
            return Err(Failure::Usage(format!(
                "--backend {backend}: flows past bodies run on the CPU; leave it out"
            )));
        }
        if common.precision == Precision::F32 {
            return Err(Failure::Usage(
                "--precision f32: flows past bodies are computed in f64; leave it out".into(),
            ));
        }
        if common.devices.is_some() {
            return Err(Failure::Usage(
                "--devices: flows past bodies run on the CPU; leave it out".into(),
            ));
        }
        Ok(())
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
    if let Some(example) = args.example {
        return streams::print(example.text());
    }
    args.refuse_options()?;
    let path = args.case.as_deref().unwrap_or_else(|| "".as_ref());
    let case = file::read(path, |case| args.apply(case))?;
    let mut report = Report::new("flow", args, &args.common, started);
    report.reads(path);
    case.files().iter().for_each(|file| report.reads(file));
    report.open()?;
    report.set("case", &case);
    report.set("machine", Resolved::Cpu.describe());
    let begun = Instant::now();
    let found = solve(args, &case, &mut report)?;
    let spent = begun.elapsed();
    report.time("iterations", spent);
    report_end(&case, &found, &mut report)?;
    let outcome = Outcome::new(case, found)?;
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

/// Iterates, with progress and a stop at a signal.
fn solve(
    args: &FlowCaseArgs,
    case: &Case,
    report: &mut Report,
) -> std::result::Result<Findings, Failure> {
    report.watch_for_signals();
    let common = &args.common;
    let mut progress = Progress::new("flow", common.quiet || common.json);
    let goal = case.solver.tolerance.ln();
    let mut first = None;
    let machine = match common.backend {
        Backend::Reference => Machine::Reference,
        _ => Machine::Cpu,
    };
    let found = flow::solve(case, machine, &mut |done, change| {
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
fn report_end(
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
