//! Errors of the discretisation of a relaxation: the same run on other velocity grids, in other boxes, with other directions and steps, to the same time.

use serde_json::{Value, json};

use super::parameters::{RelaxArgs, Stop};
use crate::accuracy::{Axis, Quantity, Reached};
use crate::cli::distribution::{Init, equilibrium_entropy};
use crate::cli::failure::Failure;
use crate::cli::interrupt::Signals;
use crate::cli::report::Report;
use crate::cli::verify::{
    EXTENT, MOST_STEPS, Repeatable, SECONDS, Verified, extent, order_of, reached, steps, verified,
};
use crate::collision::spectral::directions;
use crate::collision::{
    Integrator, Method, Moments, OperatorConfig, Record, Relaxation, RelaxationConfig, Until,
    VelocityGrid,
};
use crate::compute::{Backend, Precision};
use crate::error::{Error, Result};
use crate::run::{self, Ending, Goal};

/// Order in the degree of the rule on the sphere that is believed.
const SPHERE: f64 = 4.0;
/// Degrees of that rule.
const DEGREES: [usize; 7] = [5, 7, 9, 11, 15, 17, 21];
/// A run on other grids.
pub(super) struct Repeats<'a> {
    /// The run in full, and its operator.
    pub(super) parameters: &'a RelaxArgs,
    pub(super) config: &'a OperatorConfig,
    /// The time at its end, and the steps to there.
    pub(super) time: f64,
    pub(super) steps: usize,
}

impl Repeats<'_> {
    fn is_spectral(&self) -> bool {
        self.config.method == Method::Spectral
    }

    /// The steps of a grid.
    fn steps_of(&self, grid: &[usize]) -> usize {
        grid.last().copied().unwrap_or(self.steps)
    }

    /// The relaxation on a grid.
    fn relaxation(&self, grid: &[usize]) -> Result<Relaxation> {
        let on = self.on(grid);
        let mut operator = on.operator.config(on.grid.unwrap_or(0), &on.common)?;
        if let Backend::Reference | Backend::Emulator = operator.compute.backend {
            operator.compute.backend = Backend::Cpu;
        }
        let tolerated = operator.tolerated_negative();
        let f = on.init.sample(&operator.grid, tolerated)?;
        let config = RelaxationConfig {
            operator,
            integrator: on.integrator,
            dt: on.dt,
            until: Until::Time(self.time),
            limited: on.limiter,
        };
        Relaxation::new(config, f)
    }

    /// The run, in full, on another grid.
    fn on(&self, grid: &[usize]) -> RelaxArgs {
        // Cells keep their width.
        let n = (grid[0] * grid[1]).div_ceil(EXTENT);
        let own = &self.config.grid;
        let scale = n as f64 / grid[0] as f64;
        let middle = 0.5 * (own.min() + own.max());
        let ends = [own.min(), own.max()].map(|end| middle + scale * (end - middle));
        let degree = self.is_spectral().then(|| nearest(grid[2]) as u8);
        let mut on = self.parameters.clone();
        on.grid = Some(n);
        on.operator = self.parameters.operator.on(ends, degree);
        if self.steps_of(grid) != self.steps {
            on.dt = Some(self.time / self.steps_of(grid) as f64);
        }
        on
    }
}

/// The degree of a rule next to a count.
fn nearest(count: usize) -> usize {
    let nearest = DEGREES.into_iter();
    nearest
        .min_by_key(|degree| degree.abs_diff(count))
        .unwrap_or(count)
}

impl Repeatable for Repeats<'_> {
    fn axes(&self) -> Vec<Axis> {
        let order = order_of(self.config);
        let mut axes = vec![
            Axis {
                shares: vec![0.7, 0.5],
                sure: 10,
                ..Axis::new("cells", order, VelocityGrid::MIN_N..=VelocityGrid::MAX_N)
            },
            extent("box", false),
        ];
        if self.is_spectral() {
            axes.push(Axis {
                shares: vec![0.75],
                sure: 0,
                on_coarser: true,
                ..Axis::new("sphere", SPHERE, 5..=21)
            });
        }
        let order = match self.parameters.integrator {
            Integrator::Euler => 1.0,
            Integrator::Ssprk2 => 2.0,
            _ => 3.0,
        };
        axes.push(steps(order));
        axes
    }

    fn grid(&self) -> Vec<usize> {
        let degree = self.config.spectral.degree.map(usize::from);
        let mut grid = vec![self.config.grid.n(), EXTENT];
        grid.extend(degree.filter(|_| self.is_spectral()));
        grid.push(self.steps);
        grid
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let n = (grid[0] * grid[1]) as f64 / EXTENT as f64;
        let integral = match self.config.method {
            // Pairs of cells, 7 operations each, of which a flow has 20 in an update.
            Method::Fast => 0.35 * n.powi(6),
            Method::Direct => 0.1 * n.powi(8),
            // Transforms of an array that is padded by half, two a direction.
            _ => directions(nearest(grid[2]) as u8) as f64 * 20.0 * n.powi(3),
        };
        let stages = match self.parameters.integrator {
            Integrator::Euler => 1.0,
            Integrator::Ssprk2 => 2.0,
            _ => 3.0,
        };
        stages * self.steps_of(grid) as f64 * integral
    }

    fn tolerance(&self) -> f64 {
        floor(self.config)
    }

    fn repeat(&self, grid: &[usize]) -> Result<Option<Vec<Quantity>>> {
        let mut run = self.relaxation(grid)?;
        if run::drive(&mut run, &Goal::default(), &mut Signals)? == Ending::Interrupted {
            return Ok(None);
        }
        let [first, last] = ends(run.history())?;
        Ok(Some(quantities(first, last)))
    }

    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Value)> {
        let on = self.on(grid);
        let mut named = vec![
            ("grid", json!(on.grid)),
            ("vmin", json!(on.operator.vmin)),
            ("vmax", json!(on.operator.vmax)),
        ];
        if self.is_spectral() {
            named.push(("sphere", json!(nearest(grid[2]))));
        }
        named.push(("steps", json!(self.steps_of(grid))));
        named
    }
}

/// The first and the last record.
fn ends(history: &[Record]) -> Result<[&Record; 2]> {
    match (history.first(), history.last()) {
        (Some(first), Some(last)) => Ok([first, last]),
        _ => Err(Error::Numerical("a relaxation without records".into())),
    }
}

/// Relative error of the moments by roundoff.
fn floor(config: &OperatorConfig) -> f64 {
    match config.compute.precision {
        Precision::F32 => 1e-6,
        Precision::F64 => 1e-13,
    }
}

/// The moments at the end, and H of the Maxwellian of the initial ones.
pub(super) fn quantities(first: &Record, last: &Record) -> Vec<Quantity> {
    let Moments {
        density,
        temperature,
        pressure,
        fourth,
        entropy,
        ..
    } = last.moments;
    let whole = density * temperature;
    let size = entropy.abs().max(density);
    let rest = equilibrium_entropy(first.moments.density, first.moments.temperature);
    vec![
        Quantity::new("density", density),
        Quantity::new("temperature", temperature),
        Quantity::new("pressure_xx", pressure[0]).of_scale(whole),
        Quantity::new("pressure_yy", pressure[1]).of_scale(whole),
        Quantity::new("fourth", fourth),
        Quantity::new("entropy", entropy).of_scale(size),
        Quantity::new("equilibrium_entropy", rest).of_scale(size),
    ]
}

/// The arguments with the grid that has the accuracy that they ask for, and the search. The run ends at the time at which it ends on the first grid.
pub(super) fn refined(
    parameters: &RelaxArgs,
    accuracy: f64,
) -> std::result::Result<(RelaxArgs, Reached), Failure> {
    if let Init::File(path) = &parameters.init {
        let why = "an array on one grid, which another grid does not have: leave --accuracy out";
        return Err(Error::file(path, why).into());
    }
    let config = parameters.config()?;
    let f =
        (parameters.init).sample(&config.operator.grid, config.operator.tolerated_negative())?;
    let mut run = Relaxation::new(config.clone(), f)?;
    if run::drive(&mut run, &Goal::default(), &mut Signals)? == Ending::Interrupted {
        return Err(Failure::Interrupted {
            after: "on the first grid of the search".into(),
            rest: "nothing is saved, for a search has no checkpoints".into(),
        });
    }
    let [_, last] = ends(run.history())?;
    let repeats = Repeats {
        parameters,
        config: &config.operator,
        time: last.time,
        steps: usize::try_from(last.step).unwrap_or(MOST_STEPS),
    };
    let quiet = parameters.common.quiet;
    let mut search = reached("relax", &repeats, accuracy, quiet)?;
    let mut on = repeats.on(&search.grid);
    (on.until, on.steps) = (Some(Stop::Time(repeats.time)), None);
    // By the counts of the run on it.
    search.grid[0] = on.grid.unwrap_or(0);
    search.grid[1] = EXTENT;
    if repeats.is_spectral() {
        search.grid[2] = nearest(search.grid[2]);
    }
    Ok((on, search))
}

/// Estimates the errors of what was found, and reports them.
pub(super) fn errors(
    (parameters, config): (&RelaxArgs, &OperatorConfig),
    history: &[Record],
    search: Option<&Reached>,
    report: &mut Report,
) -> std::result::Result<Verified, Failure> {
    if let Init::File(_) = parameters.init {
        return Ok(Verified::not_here(
            "not estimated, for an array is known on one grid alone",
        ));
    }
    let [first, last] = ends(history)?;
    if last.step == 0 {
        return Ok(Verified::default());
    }
    let own = usize::try_from(last.step).unwrap_or(MOST_STEPS);
    let steps = search.and_then(|search| search.grid.last().copied());
    let repeats = Repeats {
        parameters,
        config,
        time: last.time,
        // A search counts the steps of its first grid.
        steps: steps.unwrap_or(own),
    };
    let base = (quantities(first, last), floor(config));
    let (args, quiet) = (&parameters.verify, parameters.common.quiet);
    let errors = verified("relax", &repeats, args, search, base, SECONDS, quiet)?;
    errors.report(report, search);
    Ok(errors)
}
