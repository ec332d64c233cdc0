//! Errors of the discretisation of a relaxation: the same run on other cells, to another end of the grid, and in other steps.

use super::{
    EnergyGrid, Integrator, Moments, OperatorConfig, Relaxation, RelaxationConfig, Storage,
    initial, spectrum,
};
use crate::accuracy::{
    Axis, EXTENT, Quantity, Repeatable, Setting, Watch, Watched, extent, steps as axis_of_steps,
};
use crate::compute::Backend;
use crate::error::Result;
use crate::run::{self, Ending, Goal};

/// Order of the quadrature in the width of the cells: the square root of E has a branch point in the first.
const CELLS: f64 = 1.5;
/// Relative error of moments by roundoff.
pub const ROUNDOFF: f64 = 1e-13;

/// The time of a run and its steps to there; none without steps.
pub type Course = Option<(f64, u64)>;

/// A distribution to start from.
#[derive(Clone, Copy)]
pub enum Start<'a> {
    /// Its values on the cells of one grid. Wider cells take the particles of those, spread evenly; finer ones are not known.
    Cells(&'a [f64]),
    /// A formula for any grid.
    Formula(&'a dyn Fn(&OperatorConfig) -> Result<Vec<f64>>),
}

impl std::fmt::Debug for Start<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cells(_) => "Cells",
            Self::Formula(_) => "Formula",
        })
    }
}

/// A relaxation on other grids.
#[derive(Debug)]
pub struct Relaxations<'a> {
    /// The operator of the run.
    pub operator: &'a OperatorConfig,
    /// Its integrator.
    pub integrator: Integrator,
    /// Its start.
    pub start: Start<'a>,
    /// Its end.
    pub course: Course,
    /// Number of decay rates that are quantities too.
    pub spectrum: Option<u64>,
}

impl Repeatable for Relaxations<'_> {
    fn axes(&self) -> Vec<Axis> {
        let (most, sure) = match self.start {
            Start::Cells(_) => (self.operator.grid.cells(), 0),
            // Of fewer the coarser ones may agree by chance.
            Start::Formula(_) => (EnergyGrid::MAX_CELLS, 128),
        };
        let cells = Axis {
            shares: vec![0.7, 0.5, 0.35, 0.25],
            coarser_too: true,
            sure,
            ..Axis::new("cells", CELLS, EnergyGrid::MIN_CELLS..=most)
        };
        let fixed = matches!(self.start, Start::Cells(_));
        let mut axes = vec![cells, extent("emax", fixed)];
        if self.course.is_some() {
            axes.push(axis_of_steps(match self.integrator {
                Integrator::Euler => 1.0,
                Integrator::Ssprk3 => 3.0,
                Integrator::Rk4 => 4.0,
            }));
        }
        axes
    }

    fn grid(&self) -> Vec<usize> {
        let steps = self.course.map(|(_, steps)| steps as usize);
        let mut grid = vec![self.operator.grid.cells(), EXTENT];
        grid.extend(steps);
        grid
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let stages = match self.integrator {
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

    fn repeat(&self, grid: &[usize], watch: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
        let (mut config, f) = self.on(grid)?;
        config.storage = Storage::Pairs;
        if let Backend::Reference | Backend::Emulator = config.compute.backend {
            config.compute.backend = Backend::Cpu;
        }
        let Some((time, _)) = self.course else {
            return Ok(Some(of_moments(&Moments::of(&config, &f))));
        };
        let steps = grid[2] as u64;
        let mut run = Relaxation::new(
            RelaxationConfig {
                operator: config.clone(),
                integrator: self.integrator,
                dt: Some(time / steps as f64),
                every: steps,
            },
            &[f],
        )?;
        let ending = run::drive(&mut run, &Goal::steps(steps), &mut Watched(watch))?;
        if ending == Ending::Interrupted {
            return Ok(None);
        }
        let f = run.states()?.remove(0);
        let rates = match self.spectrum {
            Some(count) => decay_rates(&config, &run.history(0)[0].moments, count)?,
            None => Vec::new(),
        };
        let first = &run.history(0)[0].moments;
        Ok(Some(quantities(&config, first, &f, &rates)))
    }

    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Setting)> {
        let (cells, emax) = self.ends(grid);
        let mut named = vec![
            ("cells", Setting::Count(cells)),
            ("emax", Setting::Number(emax)),
        ];
        named.extend(grid.get(2).map(|steps| ("steps", Setting::Count(*steps))));
        named
    }
}

impl Relaxations<'_> {
    /// The cells and the largest energy of a grid, whose cells keep their width.
    pub fn ends(&self, grid: &[usize]) -> (usize, f64) {
        let cells = (grid[0] * grid[1]).div_ceil(EXTENT);
        let emax = self.operator.grid.emax() * cells as f64 / grid[0] as f64;
        (cells, emax)
    }

    /// The operator on a grid, and the start there.
    ///
    /// # Errors
    /// As [`EnergyGrid::new`]; those of the start's formula.
    pub fn on(&self, grid: &[usize]) -> Result<(OperatorConfig, Vec<f64>)> {
        let (cells, emax) = self.ends(grid);
        let config = OperatorConfig {
            grid: EnergyGrid::new(cells, emax)?,
            ..self.operator.clone()
        };
        let f = match self.start {
            Start::Cells(f) => {
                let numbers = f.iter().zip(self.operator.measure()).map(|(f, m)| f * m);
                let numbers: Vec<f64> = numbers.collect();
                let numbers = spread(&numbers, &self.operator.grid, &config.grid);
                let cells = numbers.iter().zip(config.measure());
                cells.map(|(number, measure)| number / measure).collect()
            }
            Start::Formula(sample) => sample(&config)?,
        };
        Ok((config, f))
    }

    /// The length of the steps of a grid.
    pub fn step(&self, grid: &[usize]) -> Option<f64> {
        let (time, _) = self.course?;
        Some(time / *grid.get(2)? as f64)
    }
}

/// Particles of the cells of a grid, spread over each evenly, in those of another one.
pub(super) fn spread(numbers: &[f64], own: &EnergyGrid, other: &EnergyGrid) -> Vec<f64> {
    // Particles up to the edges of the cells.
    let edges = std::iter::once(0.0).chain(numbers.iter().scan(0.0, |sum, number| {
        *sum += number;
        Some(*sum)
    }));
    let edges: Vec<f64> = edges.collect();
    let below = |energy: f64| {
        let at = (energy / own.width()).clamp(0.0, numbers.len() as f64);
        let cell = (at as usize).min(numbers.len() - 1);
        edges[cell] + (at - cell as f64) * (edges[cell + 1] - edges[cell])
    };
    let width = other.width();
    let cells = 0..other.cells();
    cells
        .map(|i| below((i + 1) as f64 * width) - below(i as f64 * width))
        .collect()
}

/// The slowest decay rates but those of number and energy, which are 0.
///
/// # Errors
/// As [`spectrum::decay_rates`].
pub fn decay_rates(config: &OperatorConfig, first: &Moments, count: u64) -> Result<Vec<f64>> {
    let mut rates = spectrum::decay_rates(config, first.number, first.energy)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    rates.truncate(count.saturating_add(2));
    Ok(rates)
}

/// The moments alone, of an evaluation without steps.
pub fn of_moments(moments: &Moments) -> Vec<Quantity> {
    let entropy = moments.entropy.abs().max(moments.number);
    vec![
        Quantity::new("number", moments.number),
        Quantity::new("energy", moments.energy),
        Quantity::new("second", moments.second),
        Quantity::new("third", moments.third),
        Quantity::new("entropy", moments.entropy).of_scale(entropy),
    ]
}

/// The moments of the last state `f`, its distance from the equilibrium of the `first` moments, and decay rates.
pub fn quantities(
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
