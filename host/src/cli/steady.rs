//! Shared by the subcommands that solve for a steady flow without steps in time.

use super::failure::Failure;
use super::interrupt;
use super::progress::Progress;
use super::report::Report;
use crate::bgk::Moments;
use crate::bgk::steady::{Solution, Status, SteadySolver};
use crate::error::Result;

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

/// Iterates a prepared solver to its end, with progress and a stop at Ctrl-C.
pub(super) fn iterate(
    name: &'static str,
    solver: &mut SteadySolver,
    goal: f64,
    quiet: bool,
    report: &mut Report,
) -> std::result::Result<Status, Failure> {
    report.watch_for_signals();
    let mut progress = Progress::new(name, quiet);
    loop {
        if let Some(status) = solver.status() {
            progress.finish();
            return Ok(status);
        }
        if interrupt::asked() {
            progress.finish();
            let done = solver.residuals().len();
            return Err(Failure::Interrupted {
                after: format!("after {done} iterations"),
                rest: "nothing is saved, for this flow has no checkpoints".into(),
            });
        }
        advance(solver, goal, &mut progress)?;
    }
}

/// Iterates a prepared solver to its end without a word; none if the flow does not settle, or a signal comes.
pub(super) fn settled(solver: &mut SteadySolver) -> Result<Option<Solution>> {
    loop {
        match solver.status() {
            Some(status) if status.is_done() => return solver.solution().map(Some),
            None if !interrupt::asked() => {}
            _ => return Ok(None),
        }
        solver.iterate()?;
    }
}

/// One iteration, and its progress.
pub(super) fn advance(solver: &mut SteadySolver, goal: f64, progress: &mut Progress) -> Result<()> {
    let residual = solver.iterate()?;
    let done = solver.residuals().len();
    // Residuals fall about exponentially.
    let first = solver.residuals().first().copied().unwrap_or(1.0).ln();
    let share = ((residual.ln() - first) / (goal.ln() - first)).clamp(0.0, 1.0);
    progress.update(share, || {
        format!("iteration {done}, residual {residual:.1e}")
    });
    Ok(())
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
        Status::Converged if solution.flux_roundoff <= 10.0 * goal => {}
        Status::Converged => report.warn(format!(
            "the iteration has converged to {goal:.1e}, and roundoff leaves more, an error of about {:.1e}",
            solution.error_estimate
        )),
        Status::AtRoundoff => report.warn(format!(
            "roundoff ends the iteration: {state}; it leaves an error of about {:.1e}",
            solution.error_estimate
        )),
        Status::Unfinished => report.not_converged(format!(
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
