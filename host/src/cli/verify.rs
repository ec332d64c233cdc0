//! Errors of a discretisation: their flags, the choice whether a run is repeated, and their texts and records.
//!
//! A command has its run as [`Repeatable`]. It calls [`reached`] before its run where `--accuracy` asks for it, and [`verified`] after.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::failure::Failure;
use super::interrupt;
use super::progress::Progress;
use super::report::Report;
use super::summary::Summary;
use super::values::finite;
use crate::accuracy::{Errors, Finding, Quantity, Reached, Repeatable, Watch, search};

/// Results with errors that a summary shows.
const MOST_SHOWN: usize = 12;

/// Flags of the errors of a discretisation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(super) struct VerifyArgs {
    /// Repeat the run on coarser grids to estimate the errors of its results, however long that takes [default: where the repeats take seconds]
    #[arg(long, conflicts_with = "no_verify")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    verify: bool,
    /// Estimate no errors of the results
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    no_verify: bool,
    /// Refine the grid until all results have this relative accuracy, such as 1e-3
    #[arg(long, value_name = "A", value_parser = accuracy, conflicts_with_all = ["no_verify", "verify"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) accuracy: Option<f64>,
}

impl VerifyArgs {
    /// Whether the flags leave it to the run if errors are estimated.
    pub(super) fn is_default(&self) -> bool {
        !self.verify && !self.no_verify && self.accuracy.is_none()
    }
}

/// A relative accuracy.
fn accuracy(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(number) if (1e-12..=0.5).contains(&number) => Ok(number),
        _ => Err("a relative accuracy from 1e-12 to 0.5 is needed, such as 1e-3".into()),
    }
}

/// Signals, and the progress of repeats.
struct Shown(RefCell<Progress>);

impl Shown {
    fn new(command: &'static str, quiet: bool) -> Self {
        Self(RefCell::new(Progress::new(command, quiet)))
    }

    fn finish(self) {
        self.0.into_inner().finish();
    }
}

impl Watch for Shown {
    fn is_stopped(&self) -> bool {
        interrupt::asked()
    }

    fn shows(&self, share: f64, text: &dyn Fn() -> String) {
        self.0.borrow_mut().update(share, text);
    }
}

/// Refines the grid of a run until its results have an accuracy. A search that a signal ends has no end.
pub(super) fn reached(
    command: &'static str,
    run: &dyn Repeatable,
    accuracy: f64,
    quiet: bool,
) -> Result<Reached, Failure> {
    let progress = Shown::new(command, quiet);
    let reached = search(run, accuracy, &progress)?;
    progress.finish();
    if interrupt::asked() {
        return Err(Failure::Interrupted {
            after: format!("after {} grids of the search", reached.computed),
            rest: "nothing is saved, for a search has no checkpoints".into(),
        });
    }
    Ok(reached)
}

/// Errors of the results of a run, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Verified(Errors);

/// Estimates the errors of a run's results `base`, on which the iteration left the relative error `floor`; a `search` for an accuracy has them. `most` is the work up to which repeats are made
/// unasked; none are where it is 0.
pub(super) fn verified(
    command: &'static str,
    run: &dyn Repeatable,
    args: &VerifyArgs,
    search: Option<&Reached>,
    base: (Vec<Quantity>, f64),
    most: f64,
    quiet: bool,
) -> Result<Verified, Failure> {
    if args.no_verify || base.0.is_empty() {
        return Ok(Verified::default());
    }
    // A search that ended without a result leaves the run on its first grid.
    let search = search.filter(|search| search.grid == run.grid());
    if let (Some(search), Some(accuracy)) = (search, args.accuracy) {
        return Ok(Verified(Errors::of_search(run, search, accuracy)));
    }
    let asked = args.verify || args.accuracy.is_some();
    let progress = Shown::new(command, quiet);
    let found = Errors::of_repeats(
        run,
        base,
        if asked { f64::INFINITY } else { most },
        &progress,
    )?;
    progress.finish();
    Ok(Verified(Errors {
        wanted: args.accuracy.filter(|_| found.why_not.is_none()),
        ..found
    }))
}

impl Verified {
    /// The errors on the grid of a search, whose run has the first grid.
    pub(super) fn of_search(run: &dyn Repeatable, search: &Reached, accuracy: f64) -> Self {
        Self(Errors::of_search(run, search, accuracy))
    }

    /// Results with their errors, in the order of the run's quantities.
    pub(super) fn findings(&self) -> &[Finding] {
        &self.0.findings
    }

    /// Errors that are known, unless none are wanted.
    pub(super) fn known(args: &VerifyArgs, findings: Vec<Finding>) -> Self {
        let findings = if args.no_verify { Vec::new() } else { findings };
        Self(Errors {
            findings,
            ..Errors::default()
        })
    }

    /// No errors, and why.
    pub(super) fn not_here(why: &'static str) -> Self {
        Self(Errors::not_here(why))
    }

    /// Adds the error of a result that is another one times a factor.
    pub(super) fn derive(&mut self, name: &str, from: &str, factor: f64) {
        self.0.derive(name, from, factor);
    }

    /// The entry `discretisation_error` of the results: an object by their keys, or null.
    pub(super) fn errors(&self) -> Value {
        json!(self.0)
    }

    /// Adds errors, and an accuracy that was asked for, to the object of the results.
    pub(super) fn record(&self, result: &mut Value) {
        result["discretisation_error"] = self.errors();
        if let Some(accuracy) = self.accuracy() {
            result["accuracy"] = accuracy;
        }
    }

    /// The entry `accuracy` of the results: the one that was asked for, whether the results have it, and the grid that a search took.
    pub(super) fn accuracy(&self) -> Option<Value> {
        self.0.accuracy().map(|accuracy| json!(accuracy))
    }

    /// Warns of errors beyond one per cent, and notes an accuracy that is not reached, with the obstacle that the search found.
    pub(super) fn report(&self, report: &mut Report, search: Option<&Reached>) {
        if let Some(text) = self.0.warning() {
            report.warn(text);
        }
        if let Some(text) = self.0.shortfall(search) {
            report.not_converged(text);
        }
    }

    /// A summary with a row for each result, and the grid that was taken.
    pub(super) fn rows(&self, summary: Summary) -> Summary {
        let mut label = "accuracy";
        let mut summary = summary;
        if let Some(taken) = &self.0.taken {
            let text = format!("{}, of {} that were computed", taken.words, taken.computed);
            summary = summary.row("grid", text);
        }
        let mut sought: Vec<&Finding> = (self.0.findings.iter())
            .filter(|finding| finding.quantity.sought)
            .collect();
        let more = sought.len().saturating_sub(MOST_SHOWN);
        sought.truncate(MOST_SHOWN);
        for finding in sought {
            summary = summary.row(label, finding);
            label = "";
        }
        if more > 0 {
            summary = summary.row("", format!("and {more} more in run.json"));
        }
        summary.row_if("accuracy", self.0.why_not)
    }
}
