//! Runs that can be made on other grids: the search for a grid, and the errors of a run's results.

use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::text::{wanting, warned};
use super::{Axis, Finding, Quantity, Reached, reach, repeats, verify};
use crate::error::{Error, Result};
use crate::run::{Ending, Now, Observer};

/// Work of all repeats, in updates of an unknown, up to which they are made without being asked for: some seconds of two cores.
pub const SECONDS: f64 = 1e9;
/// Work of one grid beyond which a search does not go: some minutes of two cores.
const MOST_WORK: f64 = 5e10;

/// Count of the extent of a grid: the run's is so many parts.
pub const EXTENT: usize = 64;
/// Most steps that an axis counts.
pub const MOST_STEPS: usize = 1 << 32;

/// The axis of the extent of a grid of energies or velocities whose cells keep their width. Tails fall faster than any power; a shorter grid misses more than by the order that is believed.
/// A grid that is `fixed` cannot be longer.
pub fn extent(name: &'static str, fixed: bool) -> Axis {
    let most = if fixed { EXTENT } else { 16 * EXTENT };
    Axis {
        shares: vec![0.85],
        sure: 0,
        on_coarser: true,
        ..Axis::new(name, 8.0, EXTENT / 4..=most)
    }
}

/// The axis of steps to a time, of an integrator of this order; a finer repeat takes twice as many.
pub fn steps(order: f64) -> Axis {
    Axis {
        shares: Vec::new(),
        on_coarser: true,
        ..Axis::new("steps", order, 1..=MOST_STEPS)
    }
}

/// Counts along several axes of velocity, scaled so that the first becomes `count`; multiples of `step`, and at least `least`.
pub fn scaled(counts: &[usize], count: usize, step: usize, least: usize) -> Vec<usize> {
    let factor = count as f64 / counts.first().copied().unwrap_or(1).max(1) as f64;
    let rest = counts.iter().skip(1).map(|other| {
        let scaled = (*other as f64 * factor / step as f64).round() as usize * step;
        scaled.max(least)
    });
    std::iter::once(count).chain(rest).collect()
}

/// A number that sets a grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Setting {
    /// A count.
    Count(usize),
    /// A length, or a step.
    Number(f64),
    /// Both ends of a range.
    Ends([f64; 2]),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Number(number) => fmt::Debug::fmt(number, f),
            Self::Ends([low, high]) => write!(f, "[{low}, {high}]"),
        }
    }
}

/// The end of long work by its caller, and its progress.
pub trait Watch {
    /// Whether the work ends here.
    fn is_stopped(&self) -> bool;
    /// Notes the share that is done, and the present work.
    fn shows(&self, _share: f64, _text: &dyn Fn() -> String) {}
}

/// Nobody, for work that goes on to its end.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Time between two queries of a watch, about.
const LOOK: Duration = Duration::from_millis(100);

/// The observer of a run that its watch stops.
#[derive(Clone, Copy)]
pub struct Watched<'a>(pub &'a dyn Watch);

impl fmt::Debug for Watched<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

impl<R: ?Sized> Observer<R> for Watched<'_> {
    fn patience(&self) -> Duration {
        LOOK
    }

    fn see(&mut self, _: &mut R, _: &Now) -> Result<ControlFlow<Ending>> {
        Ok(match self.0.is_stopped() {
            true => ControlFlow::Break(Ending::Interrupted),
            false => ControlFlow::Continue(()),
        })
    }
}

/// A run that can be made on other grids.
pub trait Repeatable {
    /// The axes of its grid.
    fn axes(&self) -> Vec<Axis>;
    /// Its grid: a count for each axis.
    fn grid(&self) -> Vec<usize>;
    /// The work on a grid, in updates of an unknown.
    fn work(&self, grid: &[usize]) -> f64;
    /// The relative error at which an iteration ends.
    fn tolerance(&self) -> f64;
    /// The quantities on a grid; none where the grid has no result, or the work is stopped.
    ///
    /// # Errors
    /// [`Error::Input`] and [`Error::Numerical`] of a grid without a result; others end the repeats.
    fn repeat(&self, grid: &[usize], watch: &dyn Watch) -> Result<Option<Vec<Quantity>>>;
    /// The settings of a grid by name: the counts of the axes, where those are settings.
    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Setting)> {
        let axes = self.axes();
        let counts = axes.iter().zip(grid);
        counts
            .map(|(axis, count)| (axis.name, Setting::Count(*count)))
            .collect()
    }
    /// The settings of a grid that is so many times as fine along an axis, for warnings; a general hint without them.
    fn remedy(&self, _axis: &str, _factor: f64) -> Option<String> {
        None
    }
}

/// The outcome of a repeat: an error that another grid would not have ends the run.
fn repeated(
    run: &dyn Repeatable,
    grid: &[usize],
    watch: &dyn Watch,
) -> Result<Option<Vec<Quantity>>> {
    if watch.is_stopped() {
        return Ok(None);
    }
    match run.repeat(grid, watch) {
        Ok(Some(found)) => Ok(Some(found)),
        Ok(None) | Err(Error::Input { .. } | Error::Numerical(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The counts of a grid in words.
fn in_words(run: &dyn Repeatable, grid: &[usize]) -> String {
    let counts = run.named(grid).into_iter();
    let counts: Vec<String> = counts
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    counts.join(", ")
}

/// Refines the grid of a run until its results have an accuracy. A search that is stopped has no end.
///
/// # Errors
/// Those of the run that another grid would not have.
pub fn search(run: &dyn Repeatable, accuracy: f64, watch: &dyn Watch) -> Result<Reached> {
    let refusal = |grid: &[usize]| {
        let work = run.work(grid);
        (work > MOST_WORK).then(|| {
            let counts = in_words(run, grid);
            format!("{counts} take {work:.0e} updates, and a search goes to {MOST_WORK:.0e}")
        })
    };
    reach(
        &run.axes(),
        &run.grid(),
        accuracy,
        run.tolerance(),
        &refusal,
        &mut |grid: &[usize]| {
            watch.shows(0.5, &|| format!("refining: {}", in_words(run, grid)));
            repeated(run, grid, watch)
        },
    )
}

/// Errors of the results of a run, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    /// Results with their errors.
    pub findings: Vec<Finding>,
    /// Why there are none.
    pub why_not: Option<&'static str>,
    /// The accuracy that was asked for.
    pub wanted: Option<f64>,
    /// The grid of a search.
    pub taken: Option<Taken>,
    /// Settings that would bring the largest error below one per cent.
    pub remedy: Option<String>,
}

/// The grid that a search took.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Its counts in words.
    pub words: String,
    /// Its settings by name.
    pub settings: Settings,
    /// Number of grids that the search computed.
    pub computed: usize,
}

impl Errors {
    /// No errors, and why.
    pub fn not_here(why: &'static str) -> Self {
        Self {
            why_not: Some(why),
            ..Self::default()
        }
    }

    /// Those on the grid of a search for an accuracy.
    pub fn of_search(run: &dyn Repeatable, search: &Reached, accuracy: f64) -> Self {
        let grid = &search.grid;
        Self {
            findings: search.findings.clone(),
            wanted: Some(accuracy),
            taken: Some(Taken {
                words: in_words(run, grid),
                settings: Settings(run.named(grid)),
                computed: search.computed,
            }),
            why_not: None,
            remedy: None,
        }
    }

    /// Estimates the errors of a run's results `base`, on which the iteration left the relative error `floor`. `most` is the work up to which repeats are made.
    ///
    /// # Errors
    /// As [`search`].
    pub fn of_repeats(
        run: &dyn Repeatable,
        (base, floor): (Vec<Quantity>, f64),
        most: f64,
        watch: &dyn Watch,
    ) -> Result<Self> {
        let (axes, grid) = (run.axes(), run.grid());
        let grids = repeats(&axes, &grid);
        let work: f64 = grids.iter().map(|grid| run.work(grid)).sum();
        if work > most {
            let why =
                "not estimated, for that takes long; --verify repeats the run on coarser grids";
            return Ok(Self::not_here(why));
        }
        let mut done = 0;
        let findings = verify(&axes, &grid, base, floor, &mut |grid: &[usize]| {
            let share = f64::from(done) / grids.len().max(1) as f64;
            watch.shows(share.min(0.99), &|| {
                format!("errors: {}", in_words(run, grid))
            });
            done += 1;
            repeated(run, grid, watch)
        })?;
        if watch.is_stopped() {
            return Ok(Self::not_here("not estimated, for a signal came"));
        }
        let remedy = wanting(&findings).and_then(|(axis, factor)| {
            let order = axes.iter().find(|a| a.name == axis)?.order;
            // Errors that are taken for those of first order mostly fall faster, but not those of far sides.
            let least = if axis == "domain" { 1.0 } else { 1.5 };
            run.remedy(axis, factor.powf(order.max(least).recip()))
        });
        Ok(Self {
            findings,
            remedy,
            ..Self::default()
        })
    }

    /// Adds the error of a result that is another one times a factor.
    pub fn derive(&mut self, name: &str, from: &str, factor: f64) {
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

    /// The result of the largest relative error, if that is above an accuracy.
    pub fn missed(&self, accuracy: f64) -> Option<&Finding> {
        let missing = self.findings.iter().filter(|f| f.misses(accuracy));
        missing.max_by(|a, b| a.relative().total_cmp(&b.relative()))
    }

    /// The accuracy that was asked for, whether the results have it, and the grid of the search.
    pub fn accuracy(&self) -> Option<Accuracy> {
        let wanted = self.wanted?;
        Some(Accuracy {
            wanted,
            reached: self.missed(wanted).is_none(),
            grid: self.taken.as_ref().map(|taken| taken.settings.clone()),
            grids_computed: self.taken.as_ref().map(|taken| taken.computed),
        })
    }

    /// The warning of errors beyond one per cent.
    pub fn warning(&self) -> Option<String> {
        warned(&self.findings, self.remedy.as_deref())
    }

    /// The line on an accuracy that is not reached, with the obstacle that the search found.
    pub fn shortfall(&self, search: Option<&Reached>) -> Option<String> {
        let accuracy = self.wanted?;
        let missed = self.missed(accuracy)?;
        let obstacle = search.and_then(|search| search.obstacle.as_ref());
        Some(format!(
            "the accuracy {accuracy:e} is not reached: {} has {:.1e}{}",
            missed.quantity.name,
            missed.relative(),
            obstacle.map_or(String::new(), |why| format!("; {why}"))
        ))
    }
}

impl Serialize for Errors {
    /// The errors by the names of the results; null where there are none.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if self.findings.is_empty() {
            return serializer.serialize_none();
        }
        let mut map = serializer.serialize_map(Some(self.findings.len()))?;
        for finding in &self.findings {
            map.serialize_entry(&finding.quantity.name, &finding.error)?;
        }
        map.end()
    }
}

/// An accuracy that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// The relative accuracy.
    pub wanted: f64,
    /// Whether all results have it.
    pub reached: bool,
    /// The grid of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<Settings>,
    /// Number of grids that the search computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grids_computed: Option<usize>,
}

/// The settings of a grid by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings(pub Vec<(&'static str, Setting)>);

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, setting)| (*name, *setting)))
    }
}
