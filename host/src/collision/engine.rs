//! The interface of a backend for the collision operator.

use std::time::Duration;

use rarefy_kernels::collision::StepRule;

use super::integrator::Integrator;
use super::waves::FrequencyWay;
use super::{Correction, Evaluation, Moments};
use crate::error::Result;

/// A state as it is recorded: clock, correction, moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Time.
    pub(super) time: f64,
    /// The correction of the rate at this state.
    pub(super) correction: Correction,
    /// Sum of |I| over the cells times h^3.
    pub(super) activity: f64,
    /// Moments of the state.
    pub(super) moments: Moments,
}

/// How a state moves on in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stepping {
    /// The stages of a step.
    pub(super) integrator: Integrator,
    /// Whether the limiter follows each step.
    pub(super) limited: bool,
}

/// A state on some machine, its collision integral, and the means to move it on in time.
///
/// Between calls the rate always belongs to the state: `set_state` and `advance` end with an evaluation.
pub(super) trait Engine: Send {
    /// The machine in words.
    fn describe(&self) -> String;
    /// Replaces the state, evaluates its rate, and returns its row.
    fn set_state(&mut self, f: &[f64], time: f64) -> Result<Row>;
    /// Takes so many time steps; returns a row for each.
    fn advance(&mut self, stepping: Stepping, rule: &StepRule, steps: usize) -> Result<Vec<Row>>;
    /// The state.
    fn state(&mut self) -> Result<Vec<f64>>;
    /// Gain, frequency and rate at the state.
    fn evaluation(&mut self) -> Result<Evaluation>;
    /// The same operator on the same machine for many distributions at once, `items` of them at a time or as many as fit.
    fn batch(&self, items: usize) -> Result<Box<dyn BatchEngine>>;
    /// How long the machine takes to evaluate the rate so many times, without copies between host and machine.
    fn time_evaluations(&mut self, part: Part, repetitions: u32) -> Result<Duration>;
}

/// The collision integrals of many distributions.
pub(super) trait BatchEngine: Send {
    /// Gain, frequency and rate of each of the distributions in `f`, one after the other.
    fn evaluate_all(&mut self, f: &[f64]) -> Result<Vec<Evaluation>>;
    /// How long the machine takes to evaluate the last distributions that it took up together, so many times over.
    fn time_evaluations(&mut self, part: Part, repetitions: u32) -> Result<Duration>;
}

/// A part of the collision integral, to be timed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    All,
    /// The inverse collision integral.
    Gain,
    /// The collision frequency.
    Frequency,
    /// The collision frequency by one of two ways, whichever the operator takes.
    FrequencyBy(FrequencyWay),
    /// The conservative correction.
    Correction,
}
