//! What the subcommands share that solve for a steady flow without steps in time.

use std::time::Instant;

use serde_json::json;

use super::common::{Common, Failure};
use super::flow::{Course, MarchArgs};
use super::progress::Progress;
use super::report::Report;
use crate::backend::Precision;
use crate::bgk::steady::{Case, Closure, Config, Solution, Solver, Status};
use crate::bgk::{FaceFlux, Scheme};
use crate::error::Result;

/// Flags that make no sense without steps in time.
pub(super) const OF_TIME: [&str; 4] = ["dt", "checkpoint_every", "resume", "no_correction"];

/// Iterations after which a run to a residual that does not come gives up.
const MOST_ITERATIONS: u64 = 5000;

/// The configuration that the flags of a run in time amount to: `--scheme vanleer`, of second order, stands for diamond differences,
/// `--steps` for iterations.
pub(super) fn config(march: &MarchArgs, common: &Common, depth: usize) -> Config {
    let least = match common.precision {
        Precision::F64 => 1e-8,
        Precision::F32 => 1e-5,
    };
    Config {
        closure: match march.scheme {
            Scheme::Upwind => Closure::Upwind,
            Scheme::VanLeer => Closure::Diamond,
        },
        tolerance: Some(march.until_residual.unwrap_or(least)),
        iterations: usize::try_from(march.steps.unwrap_or(MOST_ITERATIONS)).unwrap_or(usize::MAX),
        depth,
        precision: common.precision,
        backend: common.backend,
    }
}

/// Iterates a prepared solver to its end, with progress.
pub(super) fn iterate(
    name: &'static str,
    solver: &mut Solver,
    goal: f64,
    quiet: bool,
) -> Result<Status> {
    let mut progress = Progress::new(name, quiet);
    loop {
        if let Some(status) = solver.status() {
            progress.finish();
            return Ok(status);
        }
        let residual = solver.step()?;
        let done = solver.residuals().len();
        // Residuals fall about exponentially.
        let first = solver.residuals().first().copied().unwrap_or(1.0).ln();
        let share = ((residual.ln() - first) / (goal.ln() - first)).clamp(0.0, 1.0);
        progress.update(share, || {
            format!("iteration {done}, residual {residual:.1e}")
        });
    }
}

/// Warns of an iteration that did not reach its goal.
pub(super) fn warn(report: &mut Report, solution: &Solution, goal: f64, remedy: &str) {
    let last = solution.residuals.last().copied().unwrap_or(f64::NAN);
    let least = solution
        .residuals
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    match solution.status {
        Status::Converged => {}
        Status::Unfinished => report.warn(format!(
            "the residual is {last:.1e} after {} iterations and not {goal:.1e}; allow more with {remedy}",
            solution.residuals.len()
        )),
        Status::Stalled => report.warn(format!(
            "the residual no longer falls below {least:.1e}; the result is that accurate only"
        )),
    }
}

/// Solves a case, and tells how it went in the words of a run in time, an iteration for a step.
pub(super) fn solve(
    name: &'static str,
    case: Case,
    config: &Config,
    common: &Common,
    report: &mut Report,
) -> std::result::Result<(Solution, Course), Failure> {
    let mut solver = Solver::new(case, config)?;
    report.set("machine", solver.machine());
    let started = Instant::now();
    let status = iterate(name, &mut solver, config.tolerance(), common.quiet)?;
    let spent = started.elapsed();
    report.time("iterations", spent);
    let solution = solver.solution()?;
    warn(report, &solution, config.tolerance(), "--steps");
    let count = solution.residuals.len() as u64;
    report.set(
        "steady",
        json!({
            "status": status,
            "iterations": count,
            "closure": config.closure,
            "mixed": config.depth,
        }),
    );
    let history = (1..).zip(&solution.residuals);
    let course = Course {
        steps: count,
        time: 0.0,
        residual: solution.residuals.last().copied().unwrap_or(f64::NAN),
        converged: Some(status == Status::Converged),
        history: history.map(|(k, residual)| (k, 0.0, *residual)).collect(),
        spent: (spent, count),
    };
    Ok((solution, course))
}

/// What the gas receives through the left, right, bottom and top side, the mean over the faces of equal size.
pub(super) fn received(solution: &Solution) -> [FaceFlux; 4] {
    [0, 1, 2, 3].map(|side: usize| {
        let faces = &solution.exchange[side];
        let mut mean = FaceFlux::default();
        let share = 1.0 / faces.len().max(1) as f64;
        for e in faces {
            // The pressure pushes the gas inwards.
            let inwards = if side.is_multiple_of(2) {
                e.pressure
            } else {
                -e.pressure
            };
            let normal = side / 2;
            mean.mass -= share * e.mass;
            mean.momentum[normal] += share * inwards;
            mean.momentum[1 - normal] -= share * e.shear;
            mean.energy -= share * e.heat;
        }
        mean
    })
}
