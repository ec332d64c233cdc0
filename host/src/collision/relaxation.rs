//! Homogeneous relaxation, df/dt = I(f, f), by explicit time stepping.

use serde::{Deserialize, Serialize};

use std::fmt;
use std::time::Duration;

use rarefy_kernels::collision::StepRule;
use rayon::prelude::*;

use super::engine::{BatchEngine, Engine, Part, Row, Stepping};
use super::operator::{normalising, powers, times};
use super::{
    Correction, CorrectionStatus, Evaluation, Integrator, Moments, OperatorConfig, engine,
    engine_of_one,
};
use crate::compute::{Pooled, check_shortest};
use crate::error::{Error, Result};
use crate::run::{Ending, Fall, Run};

/// When a relaxation is done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Until {
    /// After so many steps.
    Steps(u64),
    /// At this time.
    Time(f64),
    /// When the sum of |I| has fallen to this fraction of its first value.
    Equilibrium(f64),
}

/// The configuration of a [`Relaxation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelaxationConfig {
    /// The collision operator.
    pub operator: OperatorConfig,
    /// The time integrator.
    pub integrator: Integrator,
    /// Time step; `None` takes half of the largest stable step of the initial state.
    pub dt: Option<f64>,
    /// When to stop.
    pub until: Until,
    /// Whether what is below zero is taken away after each step, so that mass, momentum and energy stay.
    pub limited: bool,
}

impl RelaxationConfig {
    /// The second-order integrator with half of the largest stable step.
    pub fn new(operator: OperatorConfig, until: Until) -> Self {
        Self {
            operator,
            integrator: Integrator::default(),
            dt: None,
            until,
            limited: false,
        }
    }

    fn stepping(&self) -> Stepping {
        Stepping {
            integrator: self.integrator,
            limited: self.limited,
        }
    }
}

/// One row of a relaxation's history: the state after `step` steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// Steps taken.
    pub step: u64,
    /// Time.
    pub time: f64,
    /// Moments of the state.
    pub moments: Moments,
    /// Sum of |I| over the cells times h^3, at this state.
    pub activity: f64,
}

/// Everything that a run needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The run's configuration, with the time step that was chosen.
    pub config: RelaxationConfig,
    /// Steps taken.
    pub step: u64,
    /// Time.
    pub time: f64,
    /// Rows so far, the initial state's first.
    pub history: Vec<Record>,
    /// The distribution now.
    pub f: Vec<f64>,
}

/// A relaxation under way.
///
/// Steps are bounded so that the loss alone never makes f negative. In the paper's second order the gain is not negative either and f stays
/// nonnegative. The other schemes have small negative gains where f falls steeply, and f may come to have negative values too. They are
/// kept as they are, unless the run is [limited](RelaxationConfig::limited); [`Moments::minimum`] and [`Moments::below_zero`] show them and H leaves them out.
///
/// ```
/// use rarefy::Backend;
/// use rarefy::collision::{Integrator, OperatorConfig, Relaxation, RelaxationConfig, Until, VelocityGrid, initial};
///
/// let grid = VelocityGrid::new(12, -6.5, 6.5)?;
/// let mut operator = OperatorConfig::new(grid);
/// operator.compute.backend = Backend::Cpu;
/// let config = RelaxationConfig { integrator: Integrator::Ssprk3, ..RelaxationConfig::new(operator, Until::Time(0.5)) };
/// let mut run = Relaxation::new(config, initial::TwoMaxwellians::default().sample(&grid))?;
/// while !run.is_done() {
///     run.step()?;
/// }
/// let last = run.history().last().unwrap();
/// assert!((last.moments.density - 1.0).abs() < 1e-12);
/// # Ok::<(), rarefy::Error>(())
/// ```
pub struct Relaxation {
    engine: Pooled<dyn Engine>,
    config: RelaxationConfig,
    rule: StepRule,
    step: u64,
    time: f64,
    history: Vec<Record>,
    last: Row,
    /// The fall of the activity, and steps since it was least.
    fall: Fall,
    level: u64,
    warnings: Vec<String>,
}

impl fmt::Debug for Relaxation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relaxation")
            .field("config", &self.config)
            .field("step", &self.step)
            .field("time", &self.time)
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

/// Fraction of the largest stable step that a run takes when no step is given.
const SAFETY: f64 = 0.5;

/// A relaxation to equilibrium whose sum of |I| has not fallen for so many steps will not fall any further.
const PATIENCE: u64 = 500;

/// Steps of a machine between two reads by the host.
const BATCH: u64 = 64;

/// Share of the pressure n T that roundoff may put below zero along an axis.
const NEGLIGIBLE: f64 = 1e-6;

impl Relaxation {
    /// Prepares a run from the initial distribution `f`, N^3 values, finite and nonnegative (in fourth order up to
    /// [`OperatorConfig::tolerated_negative`]).
    ///
    /// # Errors
    /// A distribution of the wrong length, with negative or non-finite values or without mass; a time step
    /// beyond stability; a backend that is not there; too little memory.
    pub fn new(mut config: RelaxationConfig, f: Vec<f64>) -> Result<Self> {
        config.operator.validate()?;
        let share = config.operator.tolerated_negative();
        config.operator.validate_distribution(&f, share)?;
        config.operator = config.operator.suited(&f);
        let operator = &config.operator;
        let warnings = operator.grid.warnings(&f);
        // Below the normal numbers nothing would be left of the integral, and the run would seem to be at rest.
        let largest = normalising(&f).0;
        if !(largest * largest * operator.lattice_factor()).is_normal() {
            return Err(out_of_range(largest));
        }
        let mut run = Self::start(Checkpoint {
            config,
            step: 0,
            time: 0.0,
            history: Vec::new(),
            f,
        })?;
        run.warnings = warnings;
        let defect = run.config.operator.defect(&run.last.correction);
        run.warnings.extend(defect);
        Ok(run)
    }

    /// Continues a run from a checkpoint.
    ///
    /// # Errors
    /// As [`Relaxation::new`]; a time that is none.
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        if !(checkpoint.time.is_finite() && checkpoint.time >= 0.0) {
            return Err(Error::invalid(
                "checkpoint.time",
                checkpoint.time,
                "a time that is finite and at least 0",
            ));
        }
        let operator = &checkpoint.config.operator;
        // A run that may come to negative values goes on from whatever it has come to.
        let share = match operator.tolerated_negative() {
            0.0 => 0.0,
            _ => f64::INFINITY,
        };
        operator.validate_distribution(&checkpoint.f, share)?;
        Self::start(checkpoint)
    }

    fn start(from: Checkpoint) -> Result<Self> {
        let Checkpoint {
            config,
            step,
            time,
            history,
            f,
        } = from;
        let positive = |value: f64| value.is_finite() && value > 0.0;
        match config.until {
            Until::Time(end) if !positive(end) => {
                return Err(Error::invalid(
                    "until",
                    end,
                    "an end time that must be positive and finite",
                ));
            }
            Until::Equilibrium(fraction) if !(positive(fraction) && fraction < 1.0) => {
                return Err(Error::invalid(
                    "until",
                    fraction,
                    "an equilibrium fraction that must lie between 0 and 1",
                ));
            }
            _ => {}
        }
        if let Some(dt) = config.dt.filter(|&dt| !positive(dt)) {
            return Err(Error::invalid(
                "dt",
                dt,
                "a time step that must be positive and finite",
            ));
        }
        let mut engine = Pooled::new(&config.operator.compute, || engine_of_one(&config.operator))?;
        let last = engine.run(|engine| engine.set_state(&f, time))?;
        let bound = last.correction.largest_step;
        if let Some(dt) = config.dt.filter(|&dt| dt > bound) {
            return Err(Error::invalid(
                "dt",
                dt,
                format!(
                    "at most {bound:.6} for this distribution: longer steps are beyond stability"
                ),
            ));
        }
        if let Some(dt) = config.dt {
            check_shortest(dt, dt / bound, config.operator.compute.precision)?;
        }
        let end = if let Until::Time(end) = config.until {
            end
        } else {
            f64::INFINITY
        };
        let rule = StepRule {
            fixed: config.dt.unwrap_or(0.0),
            safety: SAFETY,
            end,
        };
        let mut run = Self {
            engine,
            config,
            rule,
            step,
            time,
            history,
            last,
            fall: Fall::to(1.0),
            level: 0,
            warnings: Vec::new(),
        };
        for row in &run.history {
            run.level = run.fall.note(row.step, row.activity);
        }
        if run.history.is_empty() {
            run.record(last)?;
        }
        Ok(run)
    }

    fn record(&mut self, row: Row) -> Result<Record> {
        let Row {
            activity, moments, ..
        } = row;
        if !(moments.density.is_finite() && moments.temperature.is_finite() && activity.is_finite())
        {
            if self.step == 0 {
                return Err(out_of_range(moments.density));
            }
            return Err(Error::Numerical(format!(
                "the distribution is no longer finite after step {} at time {}; use a smaller time step",
                self.step, self.time
            )));
        }
        if self.config.operator.tolerated_negative() > 0.0
            && row.correction.status == CorrectionStatus::Singular
            && self.last.correction.status != CorrectionStatus::Singular
        {
            return Err(Error::Numerical(format!(
                "the grid is too coarse for this scheme: after step {} at time {} f is as low as {:e} and can no longer be kept conservative; use more cells, a smaller box, or the paper's second order",
                self.step, self.time, moments.minimum
            )));
        }
        let negative = |p: &f64| *p < -NEGLIGIBLE * moments.density * moments.temperature;
        if let Some(axis) = moments.pressure[..3].iter().position(negative) {
            return Err(Error::Numerical(format!(
                "the grid is too coarse for this scheme: after step {} at time {} f is so far below zero that the pressure along {} is {:e}; use more cells, a smaller box, or the paper's second order",
                self.step,
                self.time,
                ["x", "y", "z"][axis],
                moments.pressure[axis]
            )));
        }
        let record = Record {
            step: self.step,
            time: self.time,
            moments,
            activity,
        };
        self.history.push(record);
        self.level = self.fall.note(record.step, record.activity);
        self.last = row;
        Ok(record)
    }

    /// Takes one time step and records it.
    ///
    /// # Errors
    /// A fault of the device; a state that is no longer finite, or for which the given time step is no longer stable; in fourth order, a
    /// grid so coarse (cells wider than the thermal speed) that f turns negative in earnest.
    pub fn step(&mut self) -> Result<Record> {
        self.check_step()?;
        let rows = self
            .engine
            .run(|engine| engine.advance(self.config.stepping(), &self.rule, 1))?;
        self.take_up(rows[0])
    }

    /// Takes `steps` time steps, or fewer where the run ends before, and records each; returns how many it took.
    ///
    /// On a GPU the steps follow each other without the host. Only a run to equilibrium, whose end is known from its state alone, comes
    /// back after each step.
    ///
    /// # Errors
    /// As [`Relaxation::step`].
    pub fn advance(&mut self, steps: u64) -> Result<u64> {
        let mut taken = 0;
        while taken < steps && !self.is_done() {
            self.check_step()?;
            let batch = match self.config.until {
                Until::Steps(end) => end - self.step,
                // An estimate: past the end clock and state do not change.
                Until::Time(end) => ((end - self.time) / self.time_step()).ceil().max(1.0) as u64,
                Until::Equilibrium(_) => 1,
            };
            let batch = batch.min(BATCH).min(steps - taken) as usize;
            let rows = self
                .engine
                .run(|engine| engine.advance(self.config.stepping(), &self.rule, batch))?;
            for row in rows {
                if self.is_done() {
                    break;
                }
                self.take_up(row)?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    fn take_up(&mut self, row: Row) -> Result<Record> {
        self.step += 1;
        self.time = row.time;
        self.record(row)
    }

    fn check_step(&self) -> Result<()> {
        let bound = self.last.correction.largest_step;
        match self.config.dt {
            Some(dt) if dt > bound => Err(Error::Numerical(format!(
                "the time step {dt} is no longer stable at time {}: at most {bound:.6} keeps f >= 0",
                self.time
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the run's end is reached, or cannot be.
    pub fn is_done(&self) -> bool {
        self.ending().is_some()
    }

    /// How the run has ended, if it has. One to equilibrium is stalled when the sum of |I| has not fallen for 500 steps.
    pub fn ending(&self) -> Option<Ending> {
        match self.config.until {
            Until::Steps(steps) => (self.step >= steps).then_some(Ending::Reached),
            Until::Time(end) => (self.time >= end).then_some(Ending::Reached),
            Until::Equilibrium(fraction) => {
                let rest = self.last.activity <= fraction * self.first_activity();
                let stalled = (self.level >= PATIENCE).then_some(Ending::Stalled);
                rest.then_some(Ending::Steady).or(stalled)
            }
        }
    }

    /// Steps without a fall of the sum of |I| after which a relaxation to equilibrium is stalled.
    #[cfg(feature = "cli")]
    pub(crate) const PATIENCE: u64 = PATIENCE;

    /// Estimated fraction of the run that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        let done = match self.config.until {
            Until::Steps(0) => 1.0,
            Until::Steps(steps) => self.step as f64 / steps as f64,
            Until::Time(end) => self.time / end,
            // Activity falls exponentially.
            Until::Equilibrium(fraction) => {
                (self.last.activity / self.first_activity()).ln() / fraction.ln()
            }
        };
        if done.is_finite() {
            done.clamp(0.0, 1.0)
        } else {
            1.0
        }
    }

    fn first_activity(&self) -> f64 {
        self.history.first().map_or(0.0, |record| record.activity)
    }

    /// The device in words, for example `CPU, 2 threads` or `NVIDIA H200 (CUDA 13.0, compute capability 9.0)`.
    pub fn device(&self) -> String {
        self.engine.describe()
    }

    /// The configuration of the run.
    pub fn config(&self) -> &RelaxationConfig {
        &self.config
    }

    /// The history so far; its first row is the initial state.
    pub fn history(&self) -> &[Record] {
        &self.history
    }

    /// Steps taken.
    pub fn steps_taken(&self) -> u64 {
        self.step
    }

    /// Time reached.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// The step that the next [`Relaxation::step`] takes, but for a shorter last one.
    pub fn time_step(&self) -> f64 {
        self.config
            .dt
            .unwrap_or(SAFETY * self.last.correction.largest_step)
    }

    /// The correction of the last evaluation.
    pub fn correction(&self) -> Correction {
        self.last.correction
    }

    /// The distribution now, fetched from the machine.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn state(&mut self) -> Result<Vec<f64>> {
        self.engine.run(|engine| engine.state())
    }

    /// The moments of the distribution now.
    pub fn moments(&self) -> Moments {
        self.last.moments
    }

    /// Takes steps until a time is reached, or the run's end before; the last step goes beyond the time where it does not divide it.
    ///
    /// # Errors
    /// As [`Relaxation::advance`].
    pub fn run_until(&mut self, time: f64) -> Result<()> {
        while self.time < time && !self.is_done() {
            self.advance(1)?;
        }
        Ok(())
    }

    /// Whether the grid is too narrow or too coarse for the initial distribution, and the one that would do; nothing after
    /// [`Relaxation::resume`].
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Everything that is needed to go on later to the same bits.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        Ok(Checkpoint {
            config: self.config.clone(),
            step: self.step,
            time: self.time,
            history: self.history.clone(),
            f: self.engine.run(|engine| engine.state())?,
        })
    }
}

impl Run for Relaxation {
    fn steps_taken(&self) -> u64 {
        self.step
    }
    fn time(&self) -> f64 {
        self.time
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        self.advance(steps).map(drop)
    }
    fn residual(&mut self) -> Result<f64> {
        Ok(self.last.activity)
    }
    fn state(&mut self) -> Result<Vec<f64>> {
        self.state()
    }
    fn steps_to(&self, time: f64) -> Option<u64> {
        // The next step may be a longer one.
        Some(u64::from(self.time < time))
    }
    fn end(&self) -> Option<Ending> {
        self.ending()
    }
    fn progress(&self) -> f64 {
        self.progress()
    }
}

/// Whether grid and method suit a distribution.
fn warnings(config: &OperatorConfig, f: &[f64], evaluation: &Evaluation) -> Vec<String> {
    let mut warnings = config.grid.warnings(f);
    warnings.extend(config.defect(&evaluation.correction));
    warnings.extend(config.unresolved(evaluation));
    warnings
}

fn out_of_range(size: f64) -> Error {
    Error::invalid(
        "distribution",
        format!("values up to {size:e}"),
        "a collision integral in the range of f64: scale it to the order of 1, and times run as its inverse",
    )
}

/// A collision operator with its tables, ready for one distribution after the other.
pub struct CollisionOperator {
    engine: Pooled<dyn Engine>,
    config: OperatorConfig,
    /// Evaluator of many distributions, and their number.
    batch: Option<(usize, Box<dyn BatchEngine>)>,
}

impl fmt::Debug for CollisionOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollisionOperator")
            .field("config", &self.config)
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

impl CollisionOperator {
    /// Prepares an operator.
    ///
    /// # Errors
    /// A backend that is not there, or too little memory.
    pub fn new(config: OperatorConfig) -> Result<Self> {
        Ok(Self {
            engine: Pooled::new(&config.compute, || engine(&config))?,
            config,
            batch: None,
        })
    }

    /// Evaluates the collision integral of `f`, N^3 values, finite and nonnegative (in fourth order up to [`OperatorConfig::tolerated_negative`]).
    ///
    /// # Errors
    /// A distribution of the wrong length, with negative or non-finite values or without mass; results that leave the range of f64; a fault of
    /// the device.
    pub fn evaluate(&mut self, f: &[f64]) -> Result<Evaluation> {
        self.config
            .validate_distribution(f, self.config.tolerated_negative())?;
        let mut evaluation = self.evaluate_any(f)?;
        evaluation.warnings = warnings(&self.config, f, &evaluation);
        Ok(evaluation)
    }

    /// Evaluates the collision integral of any finite values, whatever their signs: the sums are quadratic forms. A correction may not
    /// exist where the collision frequency is not positive.
    ///
    /// # Errors
    /// Values of the wrong number or not finite; results that leave the range of f64; a fault of the device.
    pub fn evaluate_any(&mut self, f: &[f64]) -> Result<Evaluation> {
        self.config.validate_values(f)?;
        let (largest, exponent) = normalising(f);
        let factors = powers(exponent);
        let scaled: Vec<f64> = f.iter().map(|&f| times(f, factors)).collect();
        let evaluation = self.engine.run(|engine| {
            engine.set_state(&scaled, 0.0)?;
            engine.evaluation()
        })?;
        evaluation.scaled(-exponent, largest)
    }

    /// Evaluates the collision integrals of many distributions, stored one after the other, `[item][ix][iy][iz]`; each is as for
    /// [`CollisionOperator::evaluate`].
    ///
    /// On a GPU they are evaluated together as far as memory allows: a small grid alone does not fill one. On the CPU its cores share them
    /// out. The results are, to the bit, those of one evaluation after the other.
    ///
    /// ```
    /// use rarefy::Backend;
    /// use rarefy::collision::{CollisionOperator, OperatorConfig, VelocityGrid, initial};
    ///
    /// let grid = VelocityGrid::new(8, -5.0, 5.0)?;
    /// let config = OperatorConfig { compute: Backend::Cpu.into(), ..OperatorConfig::new(grid) };
    /// let mut operator = CollisionOperator::new(config)?;
    /// let cells = [0.6, 0.7, 0.8].map(|k| initial::Bkw::new(k).map(|state| state.sample(&grid)));
    /// let f = cells.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    /// let integrals = operator.evaluate_batch(&f)?;
    /// assert_eq!(integrals.len(), 3);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`CollisionOperator::evaluate`], naming the first distribution that is wrong.
    pub fn evaluate_batch(&mut self, f: &[f64]) -> Result<Vec<Evaluation>> {
        let (n, cells) = (self.config.grid.n(), self.config.grid.cells());
        if f.is_empty() || !f.len().is_multiple_of(cells) {
            return Err(Error::invalid(
                "batch",
                format!("{} values", f.len()),
                format!("a multiple of {cells} values on grids of {n}^3"),
            ));
        }
        let share = self.config.tolerated_negative();
        let config = &self.config;
        let named = |item: usize, error: Error| error.within(&item_of_batch(item));
        let checks = f.par_chunks_exact(cells).enumerate().map(|(item, f)| {
            let check = config.validate_distribution(f, share);
            check.map_err(|error| named(item, error))
        });
        // The first that fails, not the one found first.
        let checks: Vec<Result<()>> = checks.collect();
        checks.into_iter().collect::<Result<()>>()?;
        let items = f.len() / cells;
        let mut batch = match self.batch.take() {
            Some((made_for, batch)) if made_for == items => batch,
            // Dropped before the next one is made, which may need its memory.
            _ => self.engine.run(|engine| engine.batch(items))?,
        };
        // Each is brought to the order of 1, so that none leaves the range on the way.
        let sizes: Vec<(f64, i32)> = f.par_chunks_exact(cells).map(normalising).collect();
        let mut scaled = f.to_vec();
        scaled
            .par_chunks_exact_mut(cells)
            .zip(&sizes)
            .for_each(|(f, (_, exponent))| {
                let factors = powers(*exponent);
                f.iter_mut().for_each(|f| *f = times(*f, factors));
            });
        let evaluations = self.engine.run(|_| batch.evaluate_all(&scaled));
        self.batch = Some((items, batch));
        let config = &self.config;
        let each = evaluations?
            .into_par_iter()
            .zip(&sizes)
            .zip(f.par_chunks_exact(cells));
        let each = each
            .enumerate()
            .map(|(item, ((evaluation, &(largest, exponent)), f))| {
                let scaled = evaluation.scaled(-exponent, largest);
                let mut evaluation = scaled.map_err(|error| named(item, error))?;
                evaluation.warnings = warnings(config, f, &evaluation);
                Ok(evaluation)
            });
        let each: Vec<Result<Evaluation>> = each.collect();
        each.into_iter().collect()
    }

    /// The configuration of the operator.
    pub fn config(&self) -> &OperatorConfig {
        &self.config
    }

    /// The device in words.
    pub fn device(&self) -> String {
        self.engine.describe()
    }

    /// How long the machine takes for the last batch, so many times over, without copies.
    ///
    /// # Errors
    /// No batch was evaluated; a fault of the device.
    #[doc(hidden)]
    pub fn time_batches(&mut self, part: Part, repetitions: u32) -> Result<Duration> {
        match &mut self.batch {
            Some((_, batch)) => batch.time_evaluations(part, repetitions),
            None => Err(Error::invalid(
                "batch",
                "none",
                "an evaluation of a batch before",
            )),
        }
    }

    /// How long the machine takes for a part of the evaluation at the last distribution, so many times over, without copies.
    #[doc(hidden)]
    pub fn time_evaluations(&mut self, part: Part, repetitions: u32) -> Result<Duration> {
        self.engine
            .run(|engine| engine.time_evaluations(part, repetitions))
    }
}

/// Name of a part of a batch in errors.
fn item_of_batch(item: usize) -> String {
    format!("distribution {item} of the batch")
}

/// The collision integral of `f`; [`CollisionOperator`] evaluates again and again.
///
/// # Errors
/// As [`CollisionOperator`].
pub fn collide(config: &OperatorConfig, f: &[f64]) -> Result<Evaluation> {
    config.validate_distribution(f, config.tolerated_negative())?;
    CollisionOperator::new(config.suited(f))?.evaluate(f)
}

/// The collision integrals of many distributions, one after the other in `f`, evaluated at once.
///
/// # Errors
/// As [`CollisionOperator::evaluate_batch`].
pub fn collide_batch(config: &OperatorConfig, f: &[f64]) -> Result<Vec<Evaluation>> {
    CollisionOperator::new(config.suited(f))?.evaluate_batch(f)
}
