//! The collision operator on the CPU: the multi-core path and the scalar reference, in the same time loop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rarefy_kernels::collision::StepRule;
use rayon::prelude::*;

use super::balanced::Balance;
use super::engine::{BatchEngine, Engine, Part, Row, Stepping};
use super::evaluate::{correct, evaluate};
use super::integrator::stages;
use super::limiter::limit;
use super::sums::Sums;
use super::{CpuOperator, CpuReal, Evaluation, FrequencyWay, Moments, OperatorConfig};
use crate::error::Result;
use crate::stop;

impl<T: CpuReal> Sums for CpuOperator<T> {
    fn gain(&self, f: &[f64], gain: &mut [f64]) {
        CpuOperator::gain(self, f, gain);
    }
    fn mixed_gain(&self, g: &[f64], m: &[f64], gain: &mut [f64]) {
        CpuOperator::mixed_gain(self, g, m, gain);
    }
    fn frequency(&self, f: &[f64], frequency: &mut [f64]) {
        CpuOperator::frequency(self, f, frequency);
    }
    fn frequency_by(&self, way: FrequencyWay, f: &[f64], frequency: &mut [f64]) {
        CpuOperator::frequency_by(self, way, f, frequency);
    }
}

/// The state and its rate in the memory of the host.
pub(super) struct HostEngine {
    name: String,
    config: OperatorConfig,
    sums: Arc<dyn Sums>,
    time: f64,
    f: Vec<f64>,
    balance: Balance,
    evaluation: Evaluation,
}

impl HostEngine {
    pub(super) fn new(name: String, config: &OperatorConfig, sums: Arc<dyn Sums>) -> Self {
        Self {
            name,
            config: config.clone(),
            sums,
            time: 0.0,
            f: Vec::new(),
            balance: Balance::default(),
            evaluation: Evaluation::empty(config.grid.cells()),
        }
    }

    fn evaluate(&mut self) {
        evaluate(
            &self.config,
            &*self.sums,
            &self.f,
            &mut self.balance,
            &mut self.evaluation,
        );
    }

    fn step(&mut self, stepping: Stepping, rule: &StepRule) {
        let step = rule.next(self.time, self.evaluation.correction.largest_step);
        let start = self.f.clone();
        for (stage, &keep) in stages(stepping.integrator).iter().enumerate() {
            if stage > 0 {
                self.evaluate();
            }
            for ((f, &rate), &old) in self.f.iter_mut().zip(&self.evaluation.rate).zip(&start) {
                let euler = step.mul_add(rate, *f);
                *f = keep.mul_add(old - euler, euler);
            }
        }
        if stepping.limited {
            limit(&self.config.grid, &mut self.f);
        }
        self.time += step;
        self.evaluate();
    }

    fn row(&self) -> Row {
        let activity = self
            .evaluation
            .rate
            .iter()
            .map(|rate| rate.abs())
            .sum::<f64>();
        Row {
            time: self.time,
            correction: self.evaluation.correction,
            activity: activity * self.config.grid.volume(),
            moments: Moments::of(&self.config.grid, &self.f),
        }
    }
}

impl Engine for HostEngine {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn set_state(&mut self, f: &[f64], time: f64) -> Result<Row> {
        self.time = time;
        self.f = f.to_vec();
        self.evaluate();
        Ok(self.row())
    }

    fn advance(&mut self, stepping: Stepping, rule: &StepRule, steps: usize) -> Result<Vec<Row>> {
        Ok((0..steps)
            .map(|_| {
                self.step(stepping, rule);
                self.row()
            })
            .collect())
    }

    fn state(&mut self) -> Result<Vec<f64>> {
        Ok(self.f.clone())
    }

    fn evaluation(&mut self) -> Result<Evaluation> {
        Ok(self.evaluation.clone())
    }

    fn batch(&self, _items: usize) -> Result<Box<dyn BatchEngine>> {
        Ok(Box::new(HostBatch {
            config: self.config.clone(),
            sums: self.sums.clone(),
            last: Vec::new(),
        }))
    }

    fn time_evaluations(&mut self, part: Part, repetitions: u32) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..repetitions {
            match part {
                Part::All => self.evaluate(),
                Part::Gain => self.sums.gain(&self.f, &mut self.evaluation.gain),
                Part::Frequency => self.sums.frequency(&self.f, &mut self.evaluation.frequency),
                Part::FrequencyBy(way) => {
                    self.sums
                        .frequency_by(way, &self.f, &mut self.evaluation.frequency);
                }
                Part::Correction => {
                    correct(&self.config, &self.f, &self.balance, &mut self.evaluation);
                }
            }
        }
        let elapsed = start.elapsed();
        self.evaluate();
        Ok(elapsed)
    }
}

/// Many distributions on the host, shared out among its cores.
struct HostBatch {
    config: OperatorConfig,
    sums: Arc<dyn Sums>,
    last: Vec<f64>,
}

impl HostBatch {
    fn evaluate_last(&self) -> Result<Vec<Evaluation>> {
        let cells = self.config.grid.cells();
        self.last
            .par_chunks_exact(cells)
            .map(|f| {
                stop::check()?;
                let mut evaluation = Evaluation::empty(cells);
                let mut balance = Balance::default();
                evaluate(&self.config, &*self.sums, f, &mut balance, &mut evaluation);
                Ok(evaluation)
            })
            .collect()
    }
}

impl BatchEngine for HostBatch {
    fn evaluate_all(&mut self, f: &[f64]) -> Result<Vec<Evaluation>> {
        self.last = f.to_vec();
        self.evaluate_last()
    }

    fn time_evaluations(&mut self, _part: Part, repetitions: u32) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..repetitions {
            std::hint::black_box(self.evaluate_last()?);
        }
        Ok(start.elapsed())
    }
}
