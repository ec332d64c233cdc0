//! Errors of the discretisation of a market: the same trade on other cells, to another end of wealth, and in other steps.

use super::{Market, MarketConfig, Start, agents_below, gini};
use crate::accuracy::{Axis, EXTENT, Quantity, Repeatable, Setting, Watch, Watched, extent};
use crate::compute::Backend;
use crate::error::Result;
use crate::isotropic::errors::spread;
use crate::isotropic::{EnergyGrid, Integrator, OperatorConfig};
use crate::run::{self, Ending, Goal};

/// Order of the cells: that of the square root of E in the first of a gas.
const CELLS: f64 = 1.5;
/// Order of the steps: that of the value traded, which the trapezoidal rule integrates; of Euler's method the first.
const STEPS: f64 = 2.0;
/// Count of the steps: those of the run are so many.
pub const OWN_STEPS: usize = 1024;
/// Relative error by roundoff.
pub const ROUNDOFF: f64 = 1e-13;

/// The course of a market to its end, and the quantities there; none where the work is stopped.
pub type Course<'a> = dyn Fn(&mut Market, &dyn Watch) -> Result<Option<Vec<Quantity>>> + 'a;

/// A market on other grids.
pub struct Markets<'a> {
    /// The configuration of the run.
    pub config: &'a MarketConfig,
    /// Its largest wealth as it was asked for.
    pub emax: f64,
    /// Its time step.
    pub dt: f64,
    /// Time to its end, about.
    pub time: f64,
    /// The way to its end.
    pub course: &'a Course<'a>,
}

impl std::fmt::Debug for Markets<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = f.debug_struct("Markets");
        parts.field("config", self.config).field("time", &self.time);
        parts.finish_non_exhaustive()
    }
}

impl Repeatable for Markets<'_> {
    fn axes(&self) -> Vec<Axis> {
        let order = match self.config.integrator {
            Integrator::Euler => 1.0,
            Integrator::Ssprk3 | Integrator::Rk4 => STEPS,
        };
        // Finer cells than those of an array are not known.
        let (most, sure, fixed) = match self.config.economies.first() {
            Some(Start::Agents(agents)) => (agents.len(), 0, true),
            _ => (EnergyGrid::MAX_CELLS, 128, false),
        };
        vec![
            Axis {
                shares: vec![0.7, 0.5, 0.35, 0.25],
                coarser_too: true,
                sure,
                ..Axis::new("cells", CELLS, EnergyGrid::MIN_CELLS..=most)
            },
            extent("emax", fixed),
            Axis {
                sure: 0,
                on_coarser: true,
                ..Axis::new("dt", order, 1..=OWN_STEPS << 12)
            },
        ]
    }

    fn grid(&self) -> Vec<usize> {
        vec![self.config.operator.grid.cells(), EXTENT, OWN_STEPS]
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let (cells, _, dt) = self.settings(grid);
        let cells = cells as f64;
        // Four stages, and the value traded; a tenth of an update of a flow for each pair of cells.
        0.5 * cells * cells * self.time / dt
    }

    fn tolerance(&self) -> f64 {
        ROUNDOFF
    }

    fn repeat(&self, grid: &[usize], watch: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
        let mut config = self.on(grid)?;
        let backend = &mut config.operator.compute.backend;
        if let Backend::Reference | Backend::Emulator = backend {
            *backend = Backend::Cpu;
        }
        (self.course)(&mut Market::new(config)?, watch)
    }

    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Setting)> {
        let (cells, emax, dt) = self.settings(grid);
        vec![
            ("cells", Setting::Count(cells)),
            ("emax", Setting::Number(emax)),
            ("dt", Setting::Number(dt)),
        ]
    }
}

impl Markets<'_> {
    /// The run on a grid.
    ///
    /// # Errors
    /// As [`MarketConfig::on_grid`].
    pub fn on(&self, grid: &[usize]) -> Result<MarketConfig> {
        let (cells, emax, dt) = self.settings(grid);
        let own = &self.config.operator;
        let start = match self.config.economies.first() {
            Some(Start::Agents(agents)) => {
                let grid = EnergyGrid::new(cells, emax)?;
                Start::Agents(spread(agents, &own.grid, &grid))
            }
            Some(start) => start.clone(),
            None => Start::Equal,
        };
        let mut config = MarketConfig::on_grid(own.law, start, cells, emax)?;
        config.operator = OperatorConfig {
            grid: config.operator.grid,
            ..own.clone()
        };
        config.integrator = self.config.integrator;
        config.dt = Some(dt);
        Ok(config)
    }

    /// Cells, which keep their width, the largest wealth, and the step of a grid.
    pub fn settings(&self, grid: &[usize]) -> (usize, f64, f64) {
        let cells = (grid[0] * grid[1]).div_ceil(EXTENT);
        let emax = self.emax * cells as f64 / grid[0] as f64;
        (cells, emax, self.dt * OWN_STEPS as f64 / grid[2] as f64)
    }
}

/// Steps of a market to a time, and its inequality and trade there.
///
/// # Errors
/// As [`Market::advance_part`].
pub fn at_time(market: &mut Market, time: f64, watch: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
    let steps = (time / market.time_step() - 1e-9).ceil() as u64;
    let ending = run::drive(market, &Goal::steps(steps), &mut Watched(watch))?;
    (ending != Ending::Interrupted)
        .then(|| quantities(market))
        .transpose()
}

/// The Gini coefficient of the first economy, the value that it trades, and moments of its wealth.
///
/// # Errors
/// As [`Market::agents`].
pub fn quantities(market: &mut Market) -> Result<Vec<Quantity>> {
    let agents = market.agents()?.remove(0);
    let grid = market.config().operator.grid;
    let cells = || agents.iter().zip(grid.energies());
    let second = cells().map(|(p, e)| p * e * e).sum();
    let poor = agents_below(&grid, &agents, 0.5);
    let traded = market.trade_rates()?.first().copied().unwrap_or(f64::NAN);
    Ok(vec![
        Quantity::new("gini", gini(&grid, &agents)),
        Quantity::new("trade_volume", traded).aside(),
        Quantity::new("m2", second),
        Quantity::new("p_below_half", poor).of_scale(1.0),
    ])
}
