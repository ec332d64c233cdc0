//! Agents who trade over time, in one economy or in many.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::histogram::{is_lost, shift_warning};
use super::{Histogram, TradeVolume, gini};
use crate::compute::steps_between;
use crate::error::{Error, Result};
use crate::isotropic::initial::{self, Equilibrium};
use crate::isotropic::{
    CollisionKernel, EnergyGrid, Integrator, Moments, OperatorConfig, Relaxation, RelaxationConfig,
    Weights, fit, relaxation,
};
use crate::run::Run;

/// A grid up to about `emax` on which wealth 1 is the centre of a cell: dE = 1/(i0 - 1/2), i0 = floor(M / emax + 1/2).
///
/// # Errors
/// Fewer cells than one up to wealth 1; as [`EnergyGrid::new`].
pub fn grid_around_one(cells: usize, emax: f64) -> Result<EnergyGrid> {
    EnergyGrid::new(cells, emax)?;
    let cell = (cells as f64 / emax + 0.5).floor();
    if cell < 1.0 || emax <= 1.0 {
        let least = if emax <= 1.0 {
            "wealth 1 within the grid".to_owned()
        } else {
            let least = (0.5 * emax).ceil();
            format!("{least} cells or more, for wealth 1 above the first half cell")
        };
        let given = format!("{cells} cells up to {emax}");
        return Err(Error::invalid("grid", given, least));
    }
    EnergyGrid::new(cells, cells as f64 / (cell - 0.5))
}

/// A grid for an economy under a law, as its number of cells and its upper end. It has 512 cells up to 16 where the equilibrium is right on
/// them, else a wider or finer one, of up to 2048 cells, that ends where the wealth of a histogram does or above. A missing value is chosen.
///
/// # Errors
/// As [`EnergyGrid::new`].
pub fn suitable_grid(
    law: CollisionKernel,
    start: &Start,
    cells: Option<usize>,
    emax: Option<f64>,
) -> Result<(usize, f64)> {
    let (cells, least) = match start {
        // A histogram that reaches further than usual is refused unless a grid for it is asked for.
        Start::Histogram(histogram) => (cells, histogram.in_units_of_the_mean().end().min(16.0)),
        Start::Agents(agents) => (Some(agents.len()), 0.0),
        Start::Equal => (cells, 0.0),
    };
    let weights = weights(law);
    let (enough, end) = match emax {
        Some(emax) => fit::suitable(law, weights, cells.unwrap_or(512), emax, 0.0)?,
        None => fit::suitable(law, weights, cells.unwrap_or(512), 16.0, least)?,
    };
    let cells = cells.unwrap_or(enough);
    match (start, emax) {
        (Start::Histogram(histogram), None) => Ok((cells, resolving_end(histogram, cells, end)?)),
        _ => Ok((cells, emax.unwrap_or(end))),
    }
}

/// The end of a grid for a histogram: `end`, or one a little above it where that puts narrow bins about the mean into one cell instead of two.
fn resolving_end(histogram: &Histogram, cells: usize, end: f64) -> Result<f64> {
    let lost = |grid: &EnergyGrid| is_lost(histogram, grid);
    if !lost(&EnergyGrid::new(cells, end)?) {
        return Ok(end);
    }
    let around = grid_around_one(cells, end).ok();
    let better = around.filter(|grid| grid.emax() >= end && !lost(grid));
    Ok(better.map_or(end, |grid| grid.emax()))
}

/// The weights of a law on the grids of markets.
fn weights(law: CollisionKernel) -> Weights {
    match law {
        // The weight has an integrable pole at 0 below the shape 1.
        CollisionKernel::Gamma { .. } => Weights::Cell,
        _ => Weights::Center,
    }
}

/// The wealth with which an economy begins, in units of its mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Start {
    /// All agents have the mean.
    Equal,
    /// A histogram, in any unit.
    Histogram(Histogram),
    /// Agents of each cell.
    Agents(Vec<f64>),
}

impl Start {
    /// The state of the operator: agents of each cell over [`OperatorConfig::measure`].
    ///
    /// # Errors
    /// A histogram that reaches beyond the grid; a grid whose cells are all above the mean.
    pub fn state(&self, operator: &OperatorConfig) -> Result<Vec<f64>> {
        let measure = operator.measure();
        let agents = match self {
            Self::Equal => {
                let f = initial::delta(operator, 1.0)?;
                f.iter().zip(&measure).map(|(f, m)| f * m).collect()
            }
            Self::Histogram(histogram) => histogram.in_units_of_the_mean().rebin(&operator.grid)?,
            Self::Agents(agents) => agents.clone(),
        };
        Ok(agents.iter().zip(&measure).map(|(p, m)| p / m).collect())
    }
}

/// The configuration of a [`Market`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarketConfig {
    /// Grid of wealth, law of trade, and where to compute.
    pub operator: OperatorConfig,
    /// The economies, which share the law; each is independent of the others.
    pub economies: Vec<Start>,
    /// The time integrator.
    pub integrator: Integrator,
    /// Time step in encounters of an agent; `None` takes half of the largest step that keeps the initial states nonnegative.
    pub dt: Option<f64>,
    /// Steps between two records, which are at its multiples. The value traded is integrated from record to record by the trapezoidal rule.
    pub every: u64,
}

impl MarketConfig {
    /// One economy on a grid that suits its law, with the integrator of fourth order and a record of each step.
    ///
    /// # Errors
    /// As [`suitable_grid`] and [`grid_around_one`].
    pub fn new(law: CollisionKernel, start: Start) -> Result<Self> {
        let (cells, emax) = suitable_grid(law, &start, None, None)?;
        Self::on_grid(law, start, cells, emax)
    }

    /// The same on so many cells up to `emax`, or about that where all agents begin with the mean, which is then the centre of a cell.
    ///
    /// # Errors
    /// As [`EnergyGrid::new`] and [`grid_around_one`].
    pub fn on_grid(law: CollisionKernel, start: Start, cells: usize, emax: f64) -> Result<Self> {
        let grid = match start {
            Start::Equal => grid_around_one(cells, emax)?,
            _ => EnergyGrid::new(cells, emax)?,
        };
        Ok(Self {
            operator: OperatorConfig {
                weights: weights(law),
                ..OperatorConfig::new(grid, law)
            },
            economies: vec![start],
            integrator: Integrator::Rk4,
            dt: None,
            every: 1,
        })
    }
}

/// One row of an economy's history.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Steps taken.
    pub step: u64,
    /// Time, in encounters of an agent.
    pub time: f64,
    /// Moments of the state: number of agents and wealth are its number and its energy.
    pub moments: Moments,
    /// Value that an agent has traded, on average.
    pub traded: f64,
    /// Value that an agent trades in a unit of time.
    pub trade_rate: f64,
    /// The Gini coefficient.
    pub gini: f64,
}

/// All that a [`Market`] needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The configuration of the run.
    pub config: MarketConfig,
    /// The distributions.
    pub relaxation: relaxation::Checkpoint,
    /// The records of each economy.
    pub histories: Vec<Vec<Record>>,
}

/// Economies under way: agents meet, trade, and the distribution of wealth relaxes.
///
/// ```
/// use rarefy::Backend;
/// use rarefy::isotropic::CollisionKernel;
/// use rarefy::isotropic::market::{Market, MarketConfig, Start};
///
/// let mut config = MarketConfig::on_grid(CollisionKernel::Money, Start::Equal, 128, 12.0)?;
/// config.operator.compute.backend = Backend::Cpu;
/// config.dt = Some(0.1); // encounters of an agent
/// let mut market = Market::new(config)?;
/// market.run_until(10.0)?;
/// let (first, last) = (market.history(0)[0], market.history(0)[100]);
/// assert!(first.gini < 1e-12 && (last.gini - 0.5).abs() < 0.01);
/// assert!((last.moments.energy / first.moments.energy - 1.0).abs() < 1e-12);
/// # Ok::<(), rarefy::Error>(())
/// ```
pub struct Market {
    run: Relaxation,
    volume: TradeVolume,
    config: MarketConfig,
    /// The states of the last record.
    states: Vec<Vec<f64>>,
    histories: Vec<Vec<Record>>,
    warnings: Vec<String>,
}

impl fmt::Debug for Market {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Market")
            .field("config", &self.config)
            .field("time", &self.time())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

impl Market {
    /// Prepares the economies of a configuration.
    ///
    /// # Errors
    /// As [`Start::state`], [`TradeVolume::new`] and [`Relaxation::new`].
    pub fn new(config: MarketConfig) -> Result<Self> {
        let economies = config.economies.iter();
        let states: Vec<Vec<f64>> = economies
            .map(|start| start.state(&config.operator))
            .collect::<Result<_>>()?;
        let volume = TradeVolume::new(&config.operator)?;
        let relaxation = RelaxationConfig {
            operator: config.operator.clone(),
            integrator: config.integrator,
            dt: config.dt,
            every: config.every,
        };
        let run = Relaxation::new(relaxation, &states)?;
        let mut warnings = run.warnings().to_vec();
        let histograms = config.economies.iter().filter_map(|start| match start {
            Start::Histogram(histogram) => Some(histogram),
            _ => None,
        });
        warnings.extend(shift_warning(histograms, &config.operator.grid)?);
        let mut market = Self {
            run,
            warnings,
            volume,
            config,
            histories: vec![Vec::new(); states.len()],
            states,
        };
        market.record();
        Ok(market)
    }

    /// Goes on where [`Market::checkpoint`] was taken, to the same bits on the same machine.
    ///
    /// # Errors
    /// A checkpoint that does not fit together; as [`Relaxation::resume`].
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        let Checkpoint {
            config,
            relaxation,
            histories,
        } = checkpoint;
        let due = relaxation.step - relaxation.step.checked_rem(config.every).unwrap_or(0);
        let complete = |history: &Vec<Record>| history.last().is_some_and(|row| row.step >= due);
        if config.operator != relaxation.config.operator
            || config.every != relaxation.config.every
            || histories.len() != relaxation.states.len()
            || !histories.iter().all(complete)
        {
            return Err(Error::invalid(
                "checkpoint",
                "a configuration, records and states of different runs",
                "those of one run",
            ));
        }
        let states = relaxation.states.clone();
        let run = Relaxation::resume(relaxation)?;
        Ok(Self {
            volume: TradeVolume::new(&config.operator)?,
            states,
            warnings: run.warnings().to_vec(),
            run,
            config,
            histories,
        })
    }

    /// The state from which [`Market::resume`] continues.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        Ok(Checkpoint {
            config: self.config.clone(),
            relaxation: self.run.checkpoint()?,
            histories: self.histories.clone(),
        })
    }

    /// Adds a row to each history, from the states and the last records of the relaxation.
    fn record(&mut self) {
        let grid = self.config.operator.grid;
        for (k, history) in self.histories.iter_mut().enumerate() {
            let Some(row) = self.run.history(k).last() else {
                continue;
            };
            let f = &self.states[k];
            let trade_rate = self.volume.rate(f);
            let traded = history.last().map_or(0.0, |before| {
                let steps = (row.step - before.step) as f64;
                before.traded
                    + steps * self.run.time_step() * (before.trade_rate + trade_rate) / 2.0
            });
            history.push(Record {
                step: row.step,
                time: row.time,
                moments: row.moments,
                traded,
                trade_rate,
                gini: gini(&grid, &agents(&self.config.operator, f)),
            });
        }
    }

    /// Takes `steps` time steps; economies are recorded at multiples of [`MarketConfig::every`] steps and after the last one.
    ///
    /// # Errors
    /// As [`Relaxation::advance`].
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        self.advance_part(steps)?;
        let now = self.steps_taken();
        let last = self.histories.first().and_then(|history| history.last());
        if last.is_some_and(|row| row.step < now) {
            self.run.advance(0)?;
            self.states = self.run.states()?;
            self.record();
        }
        Ok(())
    }

    /// Takes `steps` time steps that are a part of more: as [`Market::advance`], but economies are recorded only at multiples of
    /// [`MarketConfig::every`] steps.
    ///
    /// # Errors
    /// As [`Relaxation::advance`].
    pub fn advance_part(&mut self, steps: u64) -> Result<()> {
        let every = self.config.every;
        let end = self.steps_taken().saturating_add(steps);
        while self.steps_taken() < end {
            let now = self.steps_taken();
            self.run
                .advance_part((end - now).min(every - now % every))?;
            if self.steps_taken().is_multiple_of(every) {
                self.states = self.run.states()?;
                self.record();
            }
        }
        Ok(())
    }

    /// Takes the steps that are left to a time, rounded to the nearest whole number of them.
    ///
    /// # Errors
    /// As [`Market::advance`].
    pub fn run_until(&mut self, time: f64) -> Result<()> {
        self.advance(steps_between(self.time(), time, self.time_step()))
    }

    /// The states now: for a gas f, for other laws the agents of each cell.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn states(&mut self) -> Result<Vec<Vec<f64>>> {
        let last = self.histories.first().and_then(|history| history.last());
        if last.is_some_and(|row| row.step == self.run.steps_taken()) {
            return Ok(self.states.clone());
        }
        self.run.states()
    }

    /// The agents of each cell, one row for each economy.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn agents(&mut self) -> Result<Vec<Vec<f64>>> {
        let states = self.states()?;
        let operator = &self.config.operator;
        Ok(states.iter().map(|f| agents(operator, f)).collect())
    }

    /// The moments of each economy now.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn moments(&mut self) -> Result<Vec<Moments>> {
        self.run.moments()
    }

    /// The Gini coefficient of each economy now.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn inequality(&mut self) -> Result<Vec<f64>> {
        let grid = self.config.operator.grid;
        Ok(self.agents()?.iter().map(|p| gini(&grid, p)).collect())
    }

    /// Value that an agent of each economy trades in a unit of time, now.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn trade_rates(&mut self) -> Result<Vec<f64>> {
        let states = self.states()?;
        Ok(states.iter().map(|f| self.volume.rate(f)).collect())
    }

    /// The distribution in which an economy comes to rest.
    ///
    /// # Errors
    /// An economy that does not exist; as [`initial::equilibrium`].
    pub fn equilibrium(&self, economy: usize) -> Result<Equilibrium> {
        let Some(first) = self.history(economy).first() else {
            let expected = format!("a number below {}", self.histories.len());
            return Err(Error::invalid("economy", economy, expected));
        };
        let Moments { number, energy, .. } = first.moments;
        initial::equilibrium(&self.config.operator, number, energy)
    }

    /// The configuration of the run.
    pub fn config(&self) -> &MarketConfig {
        &self.config
    }

    /// The records of an economy, the initial one first.
    pub fn history(&self, economy: usize) -> &[Record] {
        self.histories.get(economy).map_or(&[], Vec::as_slice)
    }

    /// The time step.
    pub fn time_step(&self) -> f64 {
        self.run.time_step()
    }

    /// Steps taken.
    pub fn steps_taken(&self) -> u64 {
        self.run.steps_taken()
    }

    /// Time reached, in encounters of an agent.
    pub fn time(&self) -> f64 {
        self.run.time()
    }

    /// Whether the grid is too narrow or too coarse for the economies, and the one that would do.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The device in words.
    pub fn device(&self) -> String {
        self.run.device()
    }
}

impl Run for Market {
    fn steps_taken(&self) -> u64 {
        self.run.steps_taken()
    }
    fn time(&self) -> f64 {
        self.run.time()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        self.advance_part(steps)
    }
    fn residual(&mut self) -> Result<f64> {
        self.run.residual()
    }
    fn state(&mut self) -> Result<Vec<f64>> {
        Ok(self.states()?.concat())
    }
    fn steps_to(&self, time: f64) -> Option<u64> {
        self.run.steps_to(time)
    }
    fn finish(&mut self) -> Result<()> {
        self.advance(0)
    }
}

/// Agents of each cell of a state.
fn agents(operator: &OperatorConfig, f: &[f64]) -> Vec<f64> {
    let measure = operator.measure();
    measure.iter().zip(f).map(|(m, f)| m * f).collect()
}
