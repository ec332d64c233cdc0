//! Shared by the subcommands that solve for a steady flow without steps in time.

use super::drive::{self, CommandObserver};
use super::failure::Failure;
use super::report::Report;
use crate::accuracy::{Watch, Watched};
use crate::bgk::Moments;
use crate::bgk::steady::{Solution, SteadySolver};
use crate::error::Result;
use crate::run::{self, Ending, Goal, Now, Run};

/// Error of the stream behind a shock wave that passes without a warning.
const MOST_CUT: f64 = 1e-3;

/// Roundoff of the fluxes beyond which there is no result.
const HIDDEN: f64 = 1e-2;

/// Adds the state at rest to the perturbations that the linear mode returns.
pub(super) fn total(moments: &mut [Moments]) {
    for m in moments {
        m.density += 1.0;
        m.temperature += 1.0;
        m.pressure[0] += 0.5;
        m.pressure[1] += 0.5;
    }
}

/// A run without checkpoints on its way.
struct PlainObserver;

impl CommandObserver<SteadySolver> for PlainObserver {
    const STEPS: &'static str = "iterations";

    fn next(&self, _: &SteadySolver) -> u64 {
        1
    }

    fn stopped(&mut self, solver: &mut SteadySolver, _: &mut Report) -> Failure {
        Failure::Interrupted {
            after: format!("after {} iterations", solver.steps_taken()),
            rest: "nothing is saved, for this flow has no checkpoints".into(),
        }
    }

    fn progress(&self, solver: &SteadySolver, now: &Now) -> (f64, String) {
        (now.share, iteration(solver))
    }
}

/// Iterates a prepared solver to its end, with progress and a stop at Ctrl-C.
pub(super) fn iterate(
    name: &'static str,
    solver: &mut SteadySolver,
    quiet: bool,
    report: &mut Report,
) -> std::result::Result<(), Failure> {
    let driving = (name, None, quiet);
    let completed = drive::drive(
        solver,
        &Goal::default(),
        &mut PlainObserver,
        driving,
        report,
    )?;
    report.time("iterations", completed.spent);
    Ok(())
}

/// Iterates a prepared solver to its end without a word; none if the flow does not settle, or the work is stopped.
pub(super) fn settled(solver: &mut SteadySolver, watch: &dyn Watch) -> Result<Option<Solution>> {
    let ending = run::drive(solver, &Goal::default(), &mut Watched(watch))?;
    ending.is_done().then(|| solver.solution()).transpose()
}

/// An iteration in a few words.
pub(super) fn iteration(solver: &SteadySolver) -> String {
    let (done, last) = (solver.residuals().len(), solver.residuals().last());
    let residual = last.copied().unwrap_or(f64::NAN);
    format!("iteration {done}, residual {residual:.1e}")
}

/// Advice on an iteration that stalls.
pub(super) const ADVICE: &str = "use other cells or velocities, or a weaker drive";

/// Reports how an iteration ended: its status, and how far its result is from the steady flow. A run that has not converged is none; `remedy` allows more
/// iterations, and `advice` is on one that stalls.
pub(super) fn report_convergence(
    report: &mut Report,
    solution: &Solution,
    goal: f64,
    [remedy, advice]: [&str; 2],
) {
    let change = solution.residuals.last().copied().unwrap_or(f64::NAN);
    let (spread, count) = (solution.flux_spread, solution.residuals.len());
    let finite = |value: f64| value.is_finite().then_some(value);
    report.set("status", solution.status);
    report.set("change", finite(change));
    report.set("flux_spread", finite(spread));
    report.set("error_estimate", finite(solution.error_estimate));
    if let Some(negative) = &solution.negative_equilibrium {
        report.set("negative_equilibrium", negative);
        if let Some(warning) = negative.warning("--model bgk") {
            report.warn(warning);
        }
    }
    if let Some(excess) = solution.downstream_excess {
        report.set("downstream_excess", excess);
        if excess.abs() > MOST_CUT {
            report.warn(format!(
                "the domain cuts the downstream tail of the wave: the stream that closes it is off by {:.1e}; use a longer domain",
                excess.abs()
            ));
        }
    }
    let state = format!(
        "the fields change by {change:.1e} in an iteration and {}; {goal:.1e} was asked for",
        if spread.is_finite() {
            format!("the fluxes vary by {spread:.1e}")
        } else {
            "have not settled".into()
        }
    );
    match solution.status {
        Ending::Steady if solution.flux_roundoff <= 10.0 * goal => {}
        Ending::Steady => report.warn(format!(
            "the iteration has converged to {goal:.1e}, and roundoff leaves more, an error of about {:.1e}",
            solution.error_estimate
        )),
        Ending::AtRoundoff => report.warn(format!(
            "roundoff ends the iteration: {state}; it leaves an error of about {:.1e}",
            solution.error_estimate
        )),
        Ending::Unfinished => report.not_converged(format!(
            "after {count} iterations {state}; allow more with {remedy}"
        )),
        _ if solution.flux_roundoff > HIDDEN => report.not_converged(format!(
            "after {count} iterations {state}; roundoff of {:.0e} of the fluxes hides them: use a stronger drive, the linearised equation, f64, or thinner gas",
            solution.flux_roundoff
        )),
        _ => report.not_converged(format!(
            "after {count} iterations nothing falls any more: {state}; {advice}"
        )),
    }
}
