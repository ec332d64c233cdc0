//! Errors of the discretisation of relaxations and rates: the same run on other velocity grids, in other boxes, with other directions and steps.

use super::spectral::directions;
use super::transport::Study;
use super::{
    Integrator, Method, Moments, OperatorConfig, Order, Record, Relaxation, RelaxationConfig,
    Until, VelocityGrid,
};
use crate::accuracy::{
    Axis, EXTENT, MOST_STEPS, Quantity, Repeatable, Setting, Watch, Watched, extent,
    steps as axis_of_steps,
};
use crate::compute::{Backend, Precision};
use crate::error::Result;
use crate::run::{self, Ending, Goal};

/// Order in the degree of the rule on the sphere that is believed.
const SPHERE: f64 = 4.0;
/// Degrees of that rule.
const DEGREES: [usize; 7] = [5, 7, 9, 11, 15, 17, 21];
/// Evaluations of the integral in a study, about: most are those of the viscosity.
const EVALUATIONS: f64 = 60.0;
/// Residual at which the viscosity of a study ends, about.
const RESIDUAL: f64 = 1e-5;
/// The usual degree of a rule that follows from the distribution.
const DEGREE: usize = 11;

/// The order that is believed of the collision integral in the cells. Errors of the spectral method fall faster.
fn order_of(config: &OperatorConfig) -> f64 {
    match (config.method, config.order) {
        (Method::Spectral, _) => 4.0,
        (_, Order::Second) => 2.0,
        (_, _) => 4.0,
    }
}

/// The axes of cells and of the box.
fn axes_of(config: &OperatorConfig) -> Vec<Axis> {
    let order = order_of(config);
    vec![
        Axis {
            shares: vec![0.7, 0.5],
            sure: 10,
            ..Axis::new("cells", order, VelocityGrid::MIN_N..=VelocityGrid::MAX_N)
        },
        extent("box", false),
    ]
}

/// The work of an integral on cells along an axis.
fn work_of(method: Method, n: f64, degree: usize) -> f64 {
    match method {
        // Pairs of cells, 7 operations each, of which a flow has 20 in an update.
        Method::Fast => 0.35 * n.powi(6),
        Method::Direct => 0.1 * n.powi(8),
        // Transforms of an array that is padded by half, two a direction.
        Method::Spectral => directions(degree as u8) as f64 * 20.0 * n.powi(3),
    }
}

/// The degree of a rule next to a count.
pub fn nearest(count: usize) -> usize {
    let nearest = DEGREES.into_iter();
    nearest
        .min_by_key(|degree| degree.abs_diff(count))
        .unwrap_or(count)
}

/// A distribution to start from, on any grid.
pub type Start<'a> = dyn Fn(&VelocityGrid) -> Result<Vec<f64>> + 'a;

/// A relaxation on other grids.
pub struct Relaxations<'a> {
    /// The configuration of the run.
    pub config: &'a RelaxationConfig,
    /// Its start.
    pub start: &'a Start<'a>,
    /// The time at its end, and the steps to there.
    pub time: f64,
    /// The same in steps.
    pub steps: usize,
}

impl std::fmt::Debug for Relaxations<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = f.debug_struct("Relaxations");
        parts.field("config", self.config).field("time", &self.time);
        parts.field("steps", &self.steps).finish_non_exhaustive()
    }
}

/// The number of steps of a run as a count.
pub fn count(steps: u64) -> usize {
    usize::try_from(steps).unwrap_or(MOST_STEPS)
}

impl Relaxations<'_> {
    /// Whether the collisions are spectral, with a rule on the sphere.
    pub fn is_spectral(&self) -> bool {
        self.config.operator.method == Method::Spectral
    }

    /// The steps of a grid.
    pub fn steps_of(&self, grid: &[usize]) -> usize {
        grid.last().copied().unwrap_or(self.steps)
    }

    /// The run on a grid, to the same time.
    ///
    /// # Errors
    /// As [`VelocityGrid::new`].
    pub fn on(&self, grid: &[usize]) -> Result<RelaxationConfig> {
        let (n, [low, high]) = self.bounds(grid);
        let mut operator = self.config.operator.clone();
        operator.grid = VelocityGrid::new(n, low, high)?;
        operator.spectral.degree = self.is_spectral().then(|| nearest(grid[2]) as u8);
        // The usual one of the box.
        operator.spectral.period = None;
        let steps = self.steps_of(grid);
        Ok(RelaxationConfig {
            operator,
            dt: if steps == self.steps {
                self.config.dt
            } else {
                Some(self.time / steps as f64)
            },
            until: Until::Time(self.time),
            ..self.config.clone()
        })
    }

    /// Cells and ends of the box of a grid, whose cells keep their width.
    pub fn bounds(&self, grid: &[usize]) -> (usize, [f64; 2]) {
        let n = (grid[0] * grid[1]).div_ceil(EXTENT);
        let own = &self.config.operator.grid;
        let scale = n as f64 / grid[0] as f64;
        let middle = 0.5 * (own.min() + own.max());
        let ends = [own.min(), own.max()].map(|end| middle + scale * (end - middle));
        (n, ends)
    }

    fn stages(&self) -> f64 {
        match self.config.integrator {
            Integrator::Euler => 1.0,
            Integrator::Ssprk2 => 2.0,
            _ => 3.0,
        }
    }
}

impl Repeatable for Relaxations<'_> {
    fn axes(&self) -> Vec<Axis> {
        let mut axes = axes_of(&self.config.operator);
        if self.is_spectral() {
            axes.push(Axis {
                shares: vec![0.75],
                sure: 0,
                on_coarser: true,
                ..Axis::new("sphere", SPHERE, 5..=21)
            });
        }
        axes.push(axis_of_steps(self.stages()));
        axes
    }

    fn grid(&self) -> Vec<usize> {
        let operator = &self.config.operator;
        let degree = operator.spectral.degree.map_or(DEGREE, usize::from);
        let mut grid = vec![operator.grid.n(), EXTENT];
        grid.extend(self.is_spectral().then_some(degree));
        grid.push(self.steps);
        grid
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let n = (grid[0] * grid[1]) as f64 / EXTENT as f64;
        let integral = work_of(self.config.operator.method, n, nearest(grid[2]));
        self.stages() * self.steps_of(grid) as f64 * integral
    }

    fn tolerance(&self) -> f64 {
        floor(&self.config.operator)
    }

    fn repeat(&self, grid: &[usize], watch: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
        let mut config = self.on(grid)?;
        let backend = &mut config.operator.compute.backend;
        if let Backend::Reference | Backend::Emulator = backend {
            *backend = Backend::Cpu;
        }
        let f = (self.start)(&config.operator.grid)?;
        let mut run = Relaxation::new(config, f)?;
        let ending = run::drive(&mut run, &Goal::default(), &mut Watched(watch))?;
        if ending == Ending::Interrupted {
            return Ok(None);
        }
        Ok(quantities(run.history()))
    }

    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Setting)> {
        let (n, [low, high]) = self.bounds(grid);
        let mut named = vec![
            ("grid", Setting::Count(n)),
            ("vmin", Setting::Number(low)),
            ("vmax", Setting::Number(high)),
        ];
        if self.is_spectral() {
            named.push(("sphere", Setting::Count(nearest(grid[2]))));
        }
        named.push(("steps", Setting::Count(self.steps_of(grid))));
        named
    }
}

/// Relative error of the moments by roundoff.
pub fn floor(config: &OperatorConfig) -> f64 {
    match config.compute.precision {
        Precision::F32 => 1e-6,
        Precision::F64 => 1e-13,
    }
}

/// The moments at the end of a history, and H of the Maxwellian of the initial ones; none of a history without records.
pub fn quantities(history: &[Record]) -> Option<Vec<Quantity>> {
    let (first, last) = (history.first()?, history.last()?);
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
    let rest = Moments::entropy_at_rest(first.moments.density, first.moments.temperature);
    Some(vec![
        Quantity::new("density", density),
        Quantity::new("temperature", temperature),
        Quantity::new("pressure_xx", pressure[0]).of_scale(whole),
        Quantity::new("pressure_yy", pressure[1]).of_scale(whole),
        Quantity::new("fourth", fourth),
        Quantity::new("entropy", entropy).of_scale(size),
        Quantity::new("equilibrium_entropy", rest).of_scale(size),
    ])
}

/// A study of rates and viscosity on other grids.
#[derive(Debug)]
pub struct Studies<'a> {
    /// The operator.
    pub config: &'a OperatorConfig,
    /// Cells along an axis.
    pub n: usize,
}

impl Repeatable for Studies<'_> {
    fn axes(&self) -> Vec<Axis> {
        axes_of(self.config)
    }

    fn grid(&self) -> Vec<usize> {
        vec![self.n, EXTENT]
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let n = (grid[0] * grid[1]) as f64 / EXTENT as f64;
        EVALUATIONS * work_of(self.config.method, n, DEGREE)
    }

    fn tolerance(&self) -> f64 {
        RESIDUAL
    }

    fn repeat(&self, grid: &[usize], _: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
        let n = (grid[0] * grid[1]).div_ceil(EXTENT);
        let mut config = self.config.clone();
        if let Backend::Reference | Backend::Emulator = config.compute.backend {
            config.compute.backend = Backend::Cpu;
        }
        let study = Study::in_boxes(&config, n, n as f64 / grid[0] as f64)?;
        Ok(Some(of_study(&study)))
    }
}

/// The rates of a study, and its viscosity.
pub fn of_study(study: &Study) -> Vec<Quantity> {
    vec![
        Quantity::new("shear", study.shear),
        Quantity::new("heat", study.heat),
        Quantity::new("viscosity", study.viscosity.value),
        Quantity::new("fourth_rate", study.bkw.fourth_rate),
    ]
}
