//! Errors of the discretisation of a relaxation in energy space: the same run on other cells, to another end of the grid, and in other steps.

use serde_json::{Value, json};

use super::parameters::IsotropicArgs;
use crate::accuracy::{Axis, Quantity, Reached};
use crate::cli::failure::Failure;
use crate::cli::interrupt::Signals;
use crate::cli::report::Report;
use crate::cli::verify::{EXTENT, Repeatable, SECONDS, Verified, extent, reached, steps, verified};
use crate::compute::Backend;
use crate::error::Result;
use crate::isotropic::{
    EnergyGrid, Integrator, Moments, OperatorConfig, Relaxation, RelaxationConfig, Storage,
    initial, spectrum,
};
use crate::run::{self, Ending, Goal};

/// Order of the quadrature in the width of the cells: the square root of E has a branch point in the first.
const CELLS: f64 = 1.5;
/// Relative error of moments by roundoff.
const ROUNDOFF: f64 = 1e-13;

/// The time of a run and its steps to there; none without steps.
pub(super) type Course = Option<(f64, u64)>;

/// A run on other grids. A file has its distribution on cells of one width; wider ones take their particles.
pub(super) struct Repeats<'a> {
    pub(super) parameters: &'a IsotropicArgs,
    /// The initial distribution.
    pub(super) f: &'a [f64],
    pub(super) course: Course,
}

impl Repeatable for Repeats<'_> {
    fn axes(&self) -> Vec<Axis> {
        let of_file = self.parameters.input().is_some();
        let most = if of_file {
            self.f.len()
        } else {
            EnergyGrid::MAX_CELLS
        };
        let cells = Axis {
            shares: vec![0.5, 0.25],
            // Of fewer the coarser ones may agree by chance.
            sure: if of_file { 0 } else { 128 },
            ..Axis::new("cells", CELLS, EnergyGrid::MIN_CELLS..=most)
        };
        let mut axes = vec![cells, extent("emax", of_file)];
        if self.course.is_some() {
            let order = match self.parameters.integrator {
                Integrator::Euler => 1.0,
                Integrator::Ssprk3 => 3.0,
                Integrator::Rk4 => 4.0,
            };
            axes.push(steps(order));
        }
        axes
    }

    fn grid(&self) -> Vec<usize> {
        let steps = self.course.map(|(_, steps)| steps as usize);
        let mut grid = vec![self.f.len(), EXTENT];
        grid.extend(steps);
        grid
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let stages = match self.parameters.integrator {
            Integrator::Euler => 1.0,
            Integrator::Ssprk3 => 3.0,
            Integrator::Rk4 => 4.0,
        };
        let cells = (grid[0] * grid[1]) as f64 / EXTENT as f64;
        // A tenth of an update of a flow for each pair.
        let steps = grid.get(2).map_or(0.0, |steps| *steps as f64 * stages);
        0.05 * cells * cells * steps
    }

    fn tolerance(&self) -> f64 {
        ROUNDOFF
    }

    fn repeat(&self, grid: &[usize]) -> Result<Option<Vec<Quantity>>> {
        let parameters = on(self.parameters, grid, self.course);
        let mut config = parameters.operator()?;
        config.storage = Storage::Pairs;
        if let Backend::Reference | Backend::Emulator = config.compute.backend {
            config.compute.backend = Backend::Cpu;
        }
        let Some(f) = self.sample(&parameters, &config)? else {
            return Ok(None);
        };
        let Some((time, _)) = self.course else {
            let moments = Moments::of(&config, &f);
            return Ok(Some(of_moments(&moments)));
        };
        let steps = grid[2] as u64;
        let mut run = Relaxation::new(
            RelaxationConfig {
                operator: config.clone(),
                integrator: parameters.integrator,
                dt: Some(time / steps as f64),
                every: steps,
            },
            &[f],
        )?;
        if run::drive(&mut run, &Goal::steps(steps), &mut Signals)? == Ending::Interrupted {
            return Ok(None);
        }
        let f = run.states()?.remove(0);
        let rates = match self.parameters.spectrum {
            Some(count) => decay_rates(&config, &run.history(0)[0].moments, count)?,
            None => Vec::new(),
        };
        let first = &run.history(0)[0].moments;
        Ok(Some(quantities(&config, first, &f, &rates)))
    }

    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Value)> {
        let on = on(self.parameters, grid, self.course);
        let mut named = vec![("cells", json!(on.cells)), ("emax", json!(on.emax))];
        named.extend(grid.get(2).map(|steps| ("steps", json!(steps))));
        named
    }
}

impl Repeats<'_> {
    /// The initial distribution on another grid; in that of a file the particles of a cell are spread over it evenly.
    fn sample(
        &self,
        parameters: &IsotropicArgs,
        config: &OperatorConfig,
    ) -> Result<Option<Vec<f64>>> {
        if self.parameters.input().is_none() {
            return parameters.init.sample(config, None).map(Some);
        }
        let operator = self.parameters.operator()?;
        // Particles up to the edges of the file's cells.
        let numbers = self.f.iter().zip(operator.measure()).map(|(f, m)| f * m);
        let edges = std::iter::once(0.0).chain(numbers.scan(0.0, |sum, number| {
            *sum += number;
            Some(*sum)
        }));
        let edges: Vec<f64> = edges.collect();
        let width = operator.grid.width();
        let below = |energy: f64| {
            let at = (energy / width).clamp(0.0, self.f.len() as f64);
            let cell = (at as usize).min(self.f.len() - 1);
            edges[cell] + (at - cell as f64) * (edges[cell + 1] - edges[cell])
        };
        let width = config.grid.width();
        let cells = config.measure().into_iter().enumerate();
        let f = cells.map(|(i, measure)| {
            (below((i + 1) as f64 * width) - below(i as f64 * width)) / measure
        });
        Ok(Some(f.collect()))
    }
}

/// The run on another grid: cells up to the end of `parameters`, the extent of the grid in parts of it, and steps to the end of the course.
pub(super) fn on(parameters: &IsotropicArgs, grid: &[usize], course: Course) -> IsotropicArgs {
    let emax = parameters.emax.unwrap_or(0.0);
    // Cells keep their width.
    let cells = (grid[0] * grid[1]).div_ceil(EXTENT);
    let mut on = parameters.clone();
    on.cells = Some(cells);
    on.emax = Some(emax * cells as f64 / grid[0] as f64);
    if let (Some((time, _)), Some(steps)) = (course, grid.get(2)) {
        (on.until, on.steps) = (Some(time), None);
        on.dt = Some(time / *steps as f64);
    }
    on
}

/// The slowest decay rates but those of number and energy, which are 0.
pub(super) fn decay_rates(
    config: &OperatorConfig,
    first: &Moments,
    count: u64,
) -> Result<Vec<f64>> {
    let mut rates = spectrum::decay_rates(config, first.number, first.energy)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    rates.truncate(count.saturating_add(2));
    Ok(rates)
}

fn of_moments(moments: &Moments) -> Vec<Quantity> {
    let entropy = moments.entropy.abs().max(moments.number);
    vec![
        Quantity::new("number", moments.number),
        Quantity::new("energy", moments.energy),
        Quantity::new("second", moments.second),
        Quantity::new("third", moments.third),
        Quantity::new("entropy", moments.entropy).of_scale(entropy),
    ]
}

/// The moments of the last state, its distance from equilibrium, and decay rates.
pub(super) fn quantities(
    config: &OperatorConfig,
    first: &Moments,
    f: &[f64],
    rates: &[f64],
) -> Vec<Quantity> {
    let moments = Moments::of(config, f);
    let mut found = of_moments(&moments);
    let rest = initial::equilibrium(config, first.number, first.energy);
    let (temperature, distance) = match &rest {
        Ok(rest) => {
            let pairs = f.iter().zip(&rest.f).zip(config.measure());
            let distance = pairs.map(|((f, rest), m)| m * (f - rest).abs()).sum();
            (rest.temperature, distance)
        }
        Err(_) => (f64::NAN, f64::NAN),
    };
    let distance = Quantity::new("distance_to_equilibrium", distance);
    found.extend([
        Quantity::new("equilibrium_temperature", temperature),
        distance.of_scale(first.number),
    ]);
    let rates = rates.iter().enumerate().skip(2);
    found.extend(rates.map(|(k, rate)| Quantity::new(format!("decay_rates[{k}]"), *rate)));
    found
}

/// The grid that has the accuracy that is asked for, and the search.
pub(super) fn refined(
    repeats: &Repeats,
    accuracy: f64,
) -> std::result::Result<(IsotropicArgs, Reached), Failure> {
    let quiet = repeats.parameters.common.quiet;
    let mut search = reached("isotropic", repeats, accuracy, quiet)?;
    let on = on(repeats.parameters, &search.grid, repeats.course);
    // By the counts of the run on it.
    search.grid[0] = on.cells.unwrap_or(0);
    search.grid[1] = EXTENT;
    Ok((on, search))
}

/// Estimates the errors of what was found, and reports them.
pub(super) fn errors(
    repeats: &Repeats,
    found: Vec<Quantity>,
    search: Option<&Reached>,
    report: &mut Report,
) -> std::result::Result<Verified, Failure> {
    let args = &repeats.parameters.verify;
    let quiet = repeats.parameters.common.quiet;
    let base = (found, ROUNDOFF);
    let errors = verified("isotropic", repeats, args, search, base, SECONDS, quiet)?;
    errors.report(report, search);
    Ok(errors)
}

/// The moments alone, of an evaluation without steps.
pub(super) fn moments(config: &OperatorConfig, f: &[f64]) -> Vec<Quantity> {
    of_moments(&Moments::of(config, f))
}
