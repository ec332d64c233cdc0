//! An operator on several devices: they share the distributions of a batch.

use std::ops::Range;
use std::time::Duration;

use rarefy_kernels::collision::StepRule;

use super::Evaluation;
use super::engine::{BatchEngine, Engine, Part, Row, Stepping};
use crate::compute::{on_each, shares};
use crate::error::Result;

/// The same operator on each device. The first one does all that is no batch.
pub(super) struct Spread {
    first: Box<dyn Engine>,
    others: Vec<Box<dyn Engine>>,
}

impl Spread {
    pub(super) fn new(first: Box<dyn Engine>, others: Vec<Box<dyn Engine>>) -> Self {
        Self { first, others }
    }
}

impl Engine for Spread {
    fn describe(&self) -> String {
        let devices = 1 + self.others.len();
        format!("{devices} devices, each {}", self.first.describe())
    }

    fn set_state(&mut self, f: &[f64], time: f64) -> Result<Row> {
        self.first.set_state(f, time)
    }

    fn advance(&mut self, stepping: Stepping, rule: &StepRule, steps: usize) -> Result<Vec<Row>> {
        self.first.advance(stepping, rule, steps)
    }

    fn state(&mut self) -> Result<Vec<f64>> {
        self.first.state()
    }

    fn evaluation(&mut self) -> Result<Evaluation> {
        self.first.evaluation()
    }

    fn batch(&self, items: usize) -> Result<Box<dyn BatchEngine>> {
        let engines = std::iter::once(&self.first).chain(&self.others);
        let parts = shares(items, 1 + self.others.len());
        let batches = parts.iter().zip(engines);
        Ok(Box::new(SpreadBatch {
            items,
            batches: batches
                .map(|(part, engine)| Ok((part.clone(), engine.batch(part.len())?)))
                .collect::<Result<_>>()?,
        }))
    }

    fn time_evaluations(&mut self, part: Part, repetitions: u32) -> Result<Duration> {
        self.first.time_evaluations(part, repetitions)
    }
}

/// The distributions of each device.
struct SpreadBatch {
    items: usize,
    batches: Vec<(Range<usize>, Box<dyn BatchEngine>)>,
}

impl BatchEngine for SpreadBatch {
    fn evaluate_all(&mut self, f: &[f64]) -> Result<Vec<Evaluation>> {
        let cells = f.len() / self.items.max(1);
        let found = on_each(&mut self.batches, |(part, batch)| {
            batch.evaluate_all(&f[part.start * cells..part.end * cells])
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    fn time_evaluations(&mut self, part: Part, repetitions: u32) -> Result<Duration> {
        let times = on_each(&mut self.batches, |(_, batch)| {
            batch.time_evaluations(part, repetitions)
        })?;
        Ok(times.into_iter().max().unwrap_or_default())
    }
}
