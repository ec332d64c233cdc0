//! Relaxation in time, one state or many at once.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::engine::{Engine, Row};
use super::{Integrator, Moments, OperatorConfig, Rates, engine};
use crate::compute::{Pooled, steps_between};
use crate::error::{Error, Result};
use crate::run::Run;

/// The configuration of a [`Relaxation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelaxationConfig {
    /// The operator.
    pub operator: OperatorConfig,
    /// The time integrator.
    pub integrator: Integrator,
    /// Time step; `None` takes half of the largest step that keeps the initial state nonnegative.
    pub dt: Option<f64>,
    /// Steps between two records, which are at its multiples.
    pub every: u64,
}

impl RelaxationConfig {
    /// The third-order integrator with half of the largest step that keeps f >= 0; every step is recorded.
    pub fn new(operator: OperatorConfig) -> Self {
        Self {
            operator,
            integrator: Integrator::default(),
            dt: None,
            every: 1,
        }
    }
}

/// One row of a relaxation's history.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Steps taken.
    pub step: u64,
    /// Time.
    pub time: f64,
    /// Moments of the state.
    pub moments: Moments,
    /// Largest frequency of collisions that move a particle.
    pub largest_frequency: f64,
}

/// A relaxation of one state, or of many independent ones that share the coefficients.
///
/// Steps are bounded by the inverse of the largest collision frequency, up to which an explicit Euler step, and with it
/// [`Integrator::Ssprk3`], keeps f >= 0.
///
/// ```
/// use rarefy::Backend;
/// use rarefy::isotropic::{EnergyGrid, CollisionKernel, OperatorConfig, Relaxation, RelaxationConfig, initial};
///
/// let grid = EnergyGrid::new(64, 16.0)?;
/// let mut operator = OperatorConfig::new(grid, CollisionKernel::Power { theta: 0.0 });
/// operator.compute.backend = Backend::Cpu;
/// let config = RelaxationConfig { dt: Some(0.1), every: 10, ..RelaxationConfig::new(operator) };
/// let mut run = Relaxation::new(config, &[initial::bkw(&grid, 0.7)])?;
/// run.advance(50)?;
/// let (first, last) = (run.history(0)[0], run.history(0)[5]);
/// assert!((last.moments.number / first.moments.number - 1.0).abs() < 1e-14);
/// assert!(last.moments.entropy < first.moments.entropy);
/// # Ok::<(), rarefy::Error>(())
/// ```
pub struct Relaxation {
    engine: Pooled<dyn Engine>,
    config: RelaxationConfig,
    step: u64,
    dt: f64,
    histories: Vec<Vec<Record>>,
    /// The step and the states at the last residual.
    looked: Option<(u64, Vec<f64>)>,
    warnings: Vec<String>,
}

impl fmt::Debug for Relaxation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relaxation")
            .field("config", &self.config)
            .field("step", &self.step)
            .field("time", &self.time())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

/// All that a [`Relaxation`] needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The configuration of the run.
    pub config: RelaxationConfig,
    /// The time step that it takes.
    pub time_step: f64,
    /// Steps taken.
    pub step: u64,
    /// The states.
    pub states: Vec<Vec<f64>>,
    /// The records of each state, the initial one first; the last one may be up to [`RelaxationConfig::every`] steps before the states.
    pub histories: Vec<Vec<Record>>,
}

/// Fraction of the largest step that keeps f >= 0 which a run takes when no step is given.
const SAFETY: f64 = 0.5;

/// Records of a machine between two reads by the host.
const BATCH: u64 = 64;

impl Relaxation {
    /// Prepares a run from initial states, each with a value for each cell.
    ///
    /// # Errors
    /// No states; states of a wrong length, with negative or non-finite values or without mass; a step that is not positive or
    /// beyond positivity; a backend that is not there; too little memory.
    pub fn new(config: RelaxationConfig, states: &[Vec<f64>]) -> Result<Self> {
        if states.is_empty() {
            return Err(Error::invalid("states", 0, "at least one initial state"));
        }
        for f in states {
            config.operator.validate_distribution(f)?;
            config.operator.check_exchange(f)?;
        }
        if config.every == 0 {
            return Err(Error::invalid(
                "every",
                0,
                "records that are at least one step apart",
            ));
        }
        if let Some(dt) = config.dt.filter(|dt| !(dt.is_finite() && *dt > 0.0)) {
            return Err(Error::invalid(
                "dt",
                dt,
                "a time step that must be positive and finite",
            ));
        }
        let mut engine = pooled(&config.operator, states.len())?;
        let rows = engine.run(|engine| {
            engine.set_states(&states.concat())?;
            engine.rows()
        })?;
        let largest = rows
            .iter()
            .map(|row| row.largest_frequency)
            .fold(0.0, f64::max);
        for (f, row) in states.iter().zip(&rows) {
            check_range(f, row)?;
        }
        let bound = 1.0 / largest;
        if let Some(dt) = config.dt.filter(|&dt| dt > bound * (1.0 + 1e-9)) {
            return Err(Error::invalid(
                "dt",
                dt,
                format!(
                    "a smaller one; this is beyond positivity: this distribution allows at most {bound:.6}"
                ),
            ));
        }
        let dt = config.dt.unwrap_or(SAFETY * bound);
        if !(dt.is_finite() && dt > 0.0) {
            return Err(Error::invalid(
                "dt",
                "none",
                "a time step, for no collision of this distribution moves a particle",
            ));
        }
        let mut run = Self {
            engine,
            config,
            step: 0,
            dt,
            histories: vec![Vec::new(); states.len()],
            looked: None,
            warnings: Vec::new(),
        };
        for (k, f) in states.iter().enumerate() {
            let of = match states.len() {
                1 => String::new(),
                _ => format!("state {k}: "),
            };
            let warnings = run.config.operator.warnings(f).into_iter();
            run.warnings.extend(warnings.map(|text| of.clone() + &text));
        }
        run.record(rows)?;
        Ok(run)
    }

    /// Goes on where [`Relaxation::checkpoint`] was taken, to the same bits on the same machine.
    ///
    /// # Errors
    /// A checkpoint that does not fit together; a backend that is not there; too little memory.
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        let Checkpoint {
            config,
            time_step,
            step,
            states,
            histories,
        } = checkpoint;
        // The last record is that of the state, or the one that was due before it.
        let due = step - step.checked_rem(config.every).unwrap_or(0);
        let complete = |history: &Vec<Record>| {
            history
                .last()
                .is_some_and(|row| (due..=step).contains(&row.step))
        };
        if states.is_empty() || histories.len() != states.len() || !histories.iter().all(complete) {
            return Err(Error::invalid(
                "checkpoint",
                format!("{} states with records of others", states.len()),
                "a state, and records up to its step, of each run",
            ));
        }
        let cells = config.operator.grid.cells();
        let sound = |f: &Vec<f64>| f.len() == cells && f.iter().all(|value| value.is_finite());
        let steps = config.every > 0 && time_step.is_finite() && time_step > 0.0;
        if !steps || !states.iter().all(sound) {
            return Err(Error::invalid(
                "checkpoint",
                format!("the time step {time_step}, or states of other sizes"),
                format!("a positive time step, and states of {cells} finite values"),
            ));
        }
        let mut engine = pooled(&config.operator, states.len())?;
        engine.run(|engine| engine.set_states(&states.concat()))?;
        Ok(Self {
            engine,
            config,
            step,
            dt: time_step,
            histories,
            looked: None,
            warnings: Vec::new(),
        })
    }

    /// The state from which [`Relaxation::resume`] continues.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        Ok(Checkpoint {
            config: self.config.clone(),
            time_step: self.dt,
            step: self.step,
            states: self.states()?,
            histories: self.histories.clone(),
        })
    }

    fn record(&mut self, rows: Vec<Row>) -> Result<()> {
        let (step, time) = (self.step, self.step as f64 * self.dt);
        for (history, row) in self.histories.iter_mut().zip(rows) {
            let Row {
                moments,
                largest_frequency,
            } = row;
            let sound = moments.number.is_finite() && moments.energy.is_finite();
            if !(sound && largest_frequency.is_finite()) {
                return Err(Error::Numerical(format!(
                    "the distribution is no longer finite after step {step} at time {time}; use a smaller time step"
                )));
            }
            history.push(Record {
                step,
                time,
                moments,
                largest_frequency,
            });
            if self.dt * largest_frequency > 1.0 + 1e-6 {
                return Err(Error::Numerical(format!(
                    "the time step {} is beyond positivity at time {time}: at most {:.6} keeps f >= 0; use a smaller one",
                    self.dt,
                    1.0 / largest_frequency
                )));
            }
        }
        Ok(())
    }

    /// Takes `steps` time steps; states are recorded at multiples of [`RelaxationConfig::every`] steps and after the last one.
    ///
    /// On a GPU the steps follow each other without the host.
    ///
    /// # Errors
    /// A fault of the device; a state that is no longer finite, or whose collision frequency has outgrown the step.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        self.advance_part(steps)?;
        let now = self.step;
        let recorded = |history: &Vec<Record>| history.last().is_some_and(|row| row.step == now);
        if !self.histories.iter().all(recorded) {
            let rows = self.engine.run(|engine| engine.rows())?;
            self.record(rows)?;
        }
        Ok(())
    }

    /// Takes `steps` time steps that are a part of more: as [`Relaxation::advance`], but the state after the last one is recorded only if
    /// its step is a multiple of [`RelaxationConfig::every`].
    ///
    /// However a run is divided into parts, its states and records are the same. Between two records it can be saved, and resumed.
    ///
    /// # Errors
    /// As [`Relaxation::advance`]; what is wrong with a state shows at the next record.
    pub fn advance_part(&mut self, steps: u64) -> Result<()> {
        let RelaxationConfig {
            integrator, every, ..
        } = self.config;
        let end = self.step.saturating_add(steps);
        while self.step < end {
            let (past, left) = (self.step % every, end - self.step);
            if past == 0 && left >= every {
                let records = (left / every).min(BATCH);
                let dt = self.dt;
                for rows in self
                    .engine
                    .run(|engine| engine.advance(integrator, dt, records, every))?
                {
                    self.step += every;
                    self.record(rows)?;
                }
                continue;
            }
            let steps = left.min(every - past);
            self.engine
                .run(|engine| engine.take(integrator, self.dt, steps))?;
            self.step += steps;
            if self.step.is_multiple_of(every) {
                let rows = self.engine.run(|engine| engine.rows())?;
                self.record(rows)?;
            }
        }
        Ok(())
    }

    /// Takes the steps that are left to a time, rounded to the nearest whole number of them.
    ///
    /// # Errors
    /// As [`Relaxation::advance`].
    pub fn run_until(&mut self, time: f64) -> Result<()> {
        self.advance(steps_between(self.time(), time, self.dt))
    }

    /// The moments of each state now.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn moments(&mut self) -> Result<Vec<Moments>> {
        let rows = self.engine.run(|engine| engine.rows())?;
        Ok(rows.iter().map(|row| row.moments).collect())
    }

    /// The configuration of the run.
    pub fn config(&self) -> &RelaxationConfig {
        &self.config
    }

    /// The time step.
    pub fn time_step(&self) -> f64 {
        self.dt
    }

    /// Steps taken.
    pub fn steps_taken(&self) -> u64 {
        self.step
    }

    /// Time reached.
    pub fn time(&self) -> f64 {
        self.step as f64 * self.dt
    }

    /// The records of a state, the initial one first.
    pub fn history(&self, state: usize) -> &[Record] {
        self.histories.get(state).map_or(&[], Vec::as_slice)
    }

    /// The distributions now, fetched from the machine.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn states(&mut self) -> Result<Vec<Vec<f64>>> {
        let cells = self.config.operator.grid.cells();
        let states = self.engine.run(|engine| engine.states())?;
        Ok(states.chunks_exact(cells).map(<[f64]>::to_vec).collect())
    }

    /// Whether the grid is too narrow or too coarse for the initial states and their equilibria, and the one that would do.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The device in words.
    pub fn device(&self) -> String {
        self.engine.describe()
    }

    /// Bytes of the coefficients.
    pub fn table_bytes(&self) -> u64 {
        self.engine.table_bytes()
    }

    /// How long the machine takes for so many steps, without records and copies.
    #[doc(hidden)]
    pub fn time_steps(&mut self, steps: u64) -> Result<Duration> {
        let (integrator, dt) = (self.config.integrator, self.dt);
        self.engine
            .run(|engine| engine.time_steps(integrator, dt, steps))
    }
}

impl Run for Relaxation {
    fn steps_taken(&self) -> u64 {
        self.step
    }
    fn time(&self) -> f64 {
        self.time()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        self.advance_part(steps)
    }
    fn residual(&mut self) -> Result<f64> {
        let now = self.engine.run(|engine| engine.states())?;
        let residual = match &self.looked {
            Some((step, before)) if *step < self.step => {
                let time = (self.step - step) as f64 * self.dt;
                change(&self.config.operator.measure(), before, &now) / time
            }
            _ => f64::INFINITY,
        };
        self.looked = Some((self.step, now));
        Ok(residual)
    }
    fn state(&mut self) -> Result<Vec<f64>> {
        self.engine.run(|engine| engine.states())
    }
    fn steps_to(&self, time: f64) -> Option<u64> {
        Some(steps_between(self.time(), time, self.dt))
    }
    fn finish(&mut self) -> Result<()> {
        self.advance(0)
    }
}

/// The largest share of the particles of a state by which its cells differ.
fn change(measure: &[f64], before: &[f64], now: &[f64]) -> f64 {
    let cells = measure.len();
    let states = before.chunks_exact(cells).zip(now.chunks_exact(cells));
    let shares = states.map(|(before, now)| {
        let (mut difference, mut whole) = (0.0, 0.0);
        for ((m, old), new) in measure.iter().zip(before).zip(now) {
            difference += m * (new - old).abs();
            whole += m * new;
        }
        difference / whole
    });
    shares.fold(0.0, f64::max)
}

/// The engine that a configuration asks for, on its threads.
fn pooled(config: &OperatorConfig, states: usize) -> Result<Pooled<dyn Engine>> {
    Pooled::new(&config.compute, || engine(config, states))
}

/// Gain, frequency and rate of one distribution.
///
/// # Errors
/// As [`Relaxation::new`]; rates beyond the range of f64.
pub fn rates(config: &OperatorConfig, f: &[f64]) -> Result<Rates> {
    config.validate_distribution(f)?;
    let mut engine = pooled(config, 1)?;
    // Rates are quadratic in f: a power of two that brings its largest value to about 1 changes no bit of what is in range.
    let largest = f.iter().copied().fold(0.0, f64::max);
    let exponent = -(largest.log2().floor() as i32);
    let scaled: Vec<f64> = f.iter().map(|&f| scale(f, exponent)).collect();
    let mut rates = engine.run(|engine| {
        engine.set_states(&scaled)?;
        engine.rates()
    })?;
    rates.warnings = config.warnings(f);
    let most = rates.gain.iter().copied().fold(0.0, f64::max);
    let back = |value: &mut f64| *value = scale(*value, -exponent);
    rates.frequency.iter_mut().for_each(back);
    back(&mut rates.largest_frequency);
    for value in rates.gain.iter_mut().chain(&mut rates.rate) {
        *value = scale(scale(*value, -exponent), -exponent);
    }
    let values = rates.gain.iter().chain(&rates.frequency);
    let finite = values.chain(&rates.rate).all(|value| value.is_finite());
    let kept = most == 0.0 || rates.gain.iter().any(|gain| gain.is_normal());
    if !(finite && kept) {
        return Err(Error::invalid(
            "distribution",
            format!("values up to {largest:.2e}"),
            format!(
                "rates in the range of f64: {}",
                advice(most / scale(largest, exponent).powi(2))
            ),
        ));
    }
    rates.device = engine.describe();
    Ok(rates)
}

/// `value * 2^exponent`, in steps so that the factors themselves stay in range.
fn scale(value: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    value * 2f64.powi(half) * 2f64.powi(exponent - half)
}

/// Scales of f for which rates, `unit` times its square, stay in range.
fn advice(unit: f64) -> String {
    if !(unit.is_normal() && unit > 0.0) {
        return "take an E_max nearer to 1 or a smaller exponent".into();
    }
    let [low, high] = [-290, 290].map(|power| (10f64.powi(power) / unit).sqrt());
    format!("scale it so that its largest value lies between {low:.0e} and {high:.0e}")
}

/// Refuses a state whose moments or rates leave the range of f64: one that is too small would stay as it is, one that is too large is none.
fn check_range(f: &[f64], row: &Row) -> Result<()> {
    let Moments {
        number,
        energy,
        second,
        third,
        ..
    } = row.moments;
    let largest = f.iter().copied().fold(0.0, f64::max);
    let fastest = row.largest_frequency;
    let moments = [number, energy, second, third];
    // A state without collisions that move anything has no rates to lose.
    let rates = fastest == 0.0 || (fastest * largest).is_normal();
    if moments.iter().all(|m| m.is_finite()) && rates && largest.is_normal() {
        return Ok(());
    }
    Err(Error::invalid(
        "distribution",
        format!("values up to {largest:.2e}"),
        format!(
            "moments and rates in the range of f64: {}",
            advice(fastest / largest)
        ),
    ))
}
