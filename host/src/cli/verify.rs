//! Errors of a discretisation: their flags, the choice whether a run is repeated, and their texts and records.
//!
//! A command implements [`Repeatable`]. It then calls [`reached`] before its run where `--accuracy` asks for it, and [`verified`] after.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::interrupt;
use super::progress::Progress;
use super::report::Report;
use super::summary::Summary;
use super::values::finite;
use crate::accuracy::{Axis, Finding, Quantity, Reached, reach, repeats, verify, warning};
use crate::collision::{Method, OperatorConfig, Order};
use crate::error::Error;

/// Work of all repeats, in updates of an unknown, up to which they are made without being asked for: some seconds of two cores.
pub(super) const SECONDS: f64 = 1e9;

/// Work of one grid beyond which `--accuracy` does not go: some minutes of two cores.
const MOST_WORK: f64 = 5e10;

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

/// A relative accuracy.
fn accuracy(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(number) if (1e-12..=0.5).contains(&number) => Ok(number),
        _ => Err("a relative accuracy from 1e-12 to 0.5 is needed, such as 1e-3".into()),
    }
}

/// A run that can be made on other grids.
pub(super) trait Repeatable {
    /// The axes of its grid.
    fn axes(&self) -> Vec<Axis>;
    /// Its grid: a count for each axis.
    fn grid(&self) -> Vec<usize>;
    /// The work on a grid, in updates of an unknown.
    fn work(&self, grid: &[usize]) -> f64;
    /// The relative error at which an iteration ends.
    fn tolerance(&self) -> f64;
    /// The quantities on a grid; none where the grid has no result, or a signal came.
    fn repeat(&self, grid: &[usize]) -> crate::error::Result<Option<Vec<Quantity>>>;
    /// A grid by the names of the command's options: the counts of the axes, where those are options.
    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Value)> {
        let axes = self.axes();
        let counts = axes.iter().zip(grid);
        counts
            .map(|(axis, count)| (axis.name, json!(count)))
            .collect()
    }
}

/// Count of the extent of a grid: the run's is so many parts.
pub(super) const EXTENT: usize = 64;

/// The axis of the extent of a grid of energies or velocities whose cells keep their width. Tails fall faster than any power; a shorter grid misses more than by the order that is believed.
pub(super) fn extent(name: &'static str, fixed: bool) -> Axis {
    let most = if fixed { EXTENT } else { 16 * EXTENT };
    Axis {
        shares: vec![0.85],
        sure: 0,
        on_coarser: true,
        ..Axis::new(name, 8.0, EXTENT / 4..=most)
    }
}

/// Most steps that an axis counts.
pub(super) const MOST_STEPS: usize = 1 << 32;

/// The axis of steps to a time, of an integrator of this order; a finer repeat takes twice as many.
pub(super) fn steps(order: f64) -> Axis {
    Axis {
        shares: Vec::new(),
        on_coarser: true,
        ..Axis::new("steps", order, 1..=MOST_STEPS)
    }
}

/// The order that is believed of the collision integral in the cells. Errors of the spectral method fall faster.
pub(super) fn order_of(config: &OperatorConfig) -> f64 {
    match (config.method, config.order) {
        (Method::Spectral, _) => 4.0,
        (_, Order::Second) => 2.0,
        (_, _) => 4.0,
    }
}

/// Counts along several axes of velocity, scaled so that the first becomes `count`; multiples of `step`, and at least `least`.
pub(super) fn scaled(counts: &[usize], count: usize, step: usize, least: usize) -> Vec<usize> {
    let factor = count as f64 / counts.first().copied().unwrap_or(1).max(1) as f64;
    let rest = counts.iter().skip(1).map(|other| {
        let scaled = (*other as f64 * factor / step as f64).round() as usize * step;
        scaled.max(least)
    });
    std::iter::once(count).chain(rest).collect()
}

/// The outcome of a repeat: an error that another grid would not have ends the run.
fn repeated(run: &dyn Repeatable, grid: &[usize]) -> Result<Option<Vec<Quantity>>, Failure> {
    if interrupt::asked() {
        return Ok(None);
    }
    match run.repeat(grid) {
        Ok(Some(found)) => Ok(Some(found)),
        Ok(None) | Err(Error::Input { .. } | Error::Numerical(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refines the grid of a run until its results have an accuracy. A search that a signal ends has no end.
pub(super) fn reached(
    command: &'static str,
    run: &dyn Repeatable,
    accuracy: f64,
    quiet: bool,
) -> Result<Reached, Failure> {
    let (axes, start) = (run.axes(), run.grid());
    let refusal = |grid: &[usize]| {
        let work = run.work(grid);
        (work > MOST_WORK).then(|| {
            let counts = in_words(run, grid);
            format!("{counts} take {work:.0e} updates, and a search goes to {MOST_WORK:.0e}")
        })
    };
    let mut progress = Progress::new(command, quiet);
    let mut solve = |grid: &[usize]| {
        progress.update(0.5, || format!("refining: {}", in_words(run, grid)));
        repeated(run, grid)
    };
    let reached = reach(
        &axes,
        &start,
        accuracy,
        run.tolerance(),
        &refusal,
        &mut solve,
    )?;
    progress.finish();
    if interrupt::asked() {
        return Err(Failure::Interrupted {
            after: format!("after {} grids of the search", reached.computed),
            rest: "nothing is saved, for a search has no checkpoints".into(),
        });
    }
    Ok(reached)
}

/// The counts of a grid in words.
fn in_words(run: &dyn Repeatable, grid: &[usize]) -> String {
    let counts = run.named(grid).into_iter();
    let counts: Vec<String> = counts
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    counts.join(", ")
}

/// Errors of the results of a run, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Verified {
    findings: Vec<Finding>,
    /// Why there are none.
    why_not: Option<&'static str>,
    /// The accuracy that was asked for.
    wanted: Option<f64>,
    /// The grid that has it in words and in the record, and the number of grids that were computed.
    taken: Option<(String, Map<String, Value>, usize)>,
}

/// Estimates the errors of a run's results `base`, on which the iteration left the relative error `floor`; a `search` for an accuracy has them. `most` is the work up to which repeats are made
/// unasked; none are where it is 0.
pub(super) fn verified(
    command: &'static str,
    run: &dyn Repeatable,
    args: &VerifyArgs,
    search: Option<&Reached>,
    (base, floor): (Vec<Quantity>, f64),
    most: f64,
    quiet: bool,
) -> Result<Verified, Failure> {
    let (axes, grid) = (run.axes(), run.grid());
    if args.no_verify || base.is_empty() {
        return Ok(Verified::default());
    }
    if let Some(search) = search.filter(|search| search.grid == grid) {
        let counts = run.named(&grid).into_iter();
        let counts = counts.map(|(name, count)| (name.to_owned(), count));
        return Ok(Verified {
            findings: search.findings.clone(),
            wanted: args.accuracy,
            taken: Some((in_words(run, &grid), counts.collect(), search.computed)),
            why_not: None,
        });
    }
    let grids = repeats(&axes, &grid);
    let work: f64 = grids.iter().map(|grid| run.work(grid)).sum();
    if !args.verify && args.accuracy.is_none() && work > most {
        let why = "not estimated, for that takes long; --verify repeats the run on coarser grids";
        return Ok(Verified::not_here(why));
    }
    let mut progress = Progress::new(command, quiet);
    let mut done = 0;
    let findings = verify(&axes, &grid, base, floor, &mut |grid: &[usize]| {
        let share = f64::from(done) / grids.len().max(1) as f64;
        progress.update(share.min(0.99), || {
            format!("errors: {}", in_words(run, grid))
        });
        done += 1;
        repeated(run, grid)
    })?;
    progress.finish();
    if interrupt::asked() {
        return Ok(Verified::not_here("not estimated, for a signal came"));
    }
    Ok(Verified {
        findings,
        wanted: args.accuracy,
        ..Verified::default()
    })
}

impl Verified {
    /// No errors, and why.
    pub(super) fn not_here(why: &'static str) -> Self {
        Self {
            why_not: Some(why),
            ..Self::default()
        }
    }

    /// Adds the error of a result that is another one times a factor.
    pub(super) fn derive(&mut self, name: &str, from: &str, factor: f64) {
        let found = self.findings.iter().find(|f| f.quantity.name == from);
        let Some(mut finding) = found.cloned() else {
            return;
        };
        let scale = factor.abs();
        finding.quantity.value *= factor;
        finding.quantity.scale *= scale;
        finding.quantity.name = name.to_owned();
        finding.quantity.sought = false;
        finding.error.total *= scale;
        for part in &mut finding.error.parts {
            part.1 *= scale;
        }
        self.findings.push(finding);
    }

    /// The entry `discretisation_error` of the results: an object by their keys, or null.
    pub(super) fn errors(&self) -> Value {
        if self.findings.is_empty() {
            return Value::Null;
        }
        let findings = self.findings.iter();
        let pairs = findings.map(|f| (f.quantity.name.clone(), json!(f.error)));
        Value::Object(pairs.collect())
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
        let wanted = self.wanted?;
        let mut entry = json!({ "wanted": wanted, "reached": self.missed(wanted).is_none() });
        if let Some((_, grid, computed)) = &self.taken {
            entry["grid"] = json!(grid);
            entry["grids_computed"] = json!(computed);
        }
        Some(entry)
    }

    /// The result of the largest relative error, if that is above an accuracy.
    fn missed(&self, accuracy: f64) -> Option<&Finding> {
        let missing = self.findings.iter().filter(|f| f.misses(accuracy));
        missing.max_by(|a, b| a.relative().total_cmp(&b.relative()))
    }

    /// Warns of errors beyond one per cent, and notes an accuracy that is not reached, with the obstacle that the search found.
    pub(super) fn report(&self, report: &mut Report, search: Option<&Reached>) {
        if let Some(text) = warning(&self.findings) {
            report.warn(text);
        }
        let Some((accuracy, missed)) = self.wanted.and_then(|a| Some((a, self.missed(a)?))) else {
            return;
        };
        let obstacle = search.and_then(|search| search.obstacle.as_ref());
        report.not_converged(format!(
            "the accuracy {accuracy:e} is not reached: {} has {:.1e}{}",
            missed.quantity.name,
            missed.relative(),
            obstacle.map_or(String::new(), |why| format!("; {why}"))
        ));
    }

    /// A summary with a row for each result, and the grid that was taken.
    pub(super) fn rows(&self, summary: Summary) -> Summary {
        let mut label = "accuracy";
        let mut summary = summary;
        if let Some((words, _, computed)) = &self.taken {
            summary = summary.row("grid", format!("{words}, of {computed} that were computed"));
        }
        for finding in self.findings.iter().filter(|f| f.quantity.sought) {
            summary = summary.row(label, finding);
            label = "";
        }
        summary.row_if("accuracy", self.why_not)
    }
}
