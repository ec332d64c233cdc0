//! The collision operator on the CPU: the multi-core path and the scalar reference, in the same time loop.

use rarefy_kernels::collision::StepRule;

use super::correction;
use super::engine::{Engine, Summary, stages};
use super::{Evaluation, Integrator, Moments, OperatorConfig};
use crate::error::Result;

/// Gain and collision frequency of a distribution, in lattice units.
pub(super) type Sums = Box<dyn Fn(&[f64], &mut [f64], &mut [f64]) + Send>;

/// The state and its rate in the memory of the host.
pub(super) struct HostEngine {
    name: String,
    config: OperatorConfig,
    sums: Sums,
    time: f64,
    f: Vec<f64>,
    evaluation: Evaluation,
}

impl HostEngine {
    pub(super) fn new(name: String, config: &OperatorConfig, sums: Sums) -> Self {
        Self {
            name,
            config: config.clone(),
            sums,
            time: 0.0,
            f: Vec::new(),
            evaluation: Evaluation::empty(config.grid.cells()),
        }
    }

    fn evaluate(&mut self) {
        let cells = self.f.len();
        let (mut gain, mut frequency) = (vec![0.0; cells], vec![0.0; cells]);
        (self.sums)(&self.f, &mut gain, &mut frequency);
        let factor = self.config.lattice_factor();
        gain.iter_mut().chain(&mut frequency).for_each(|value| *value *= factor);
        self.evaluation =
            correction::evaluation(&self.config.grid, self.config.corrected, &self.f, gain, frequency);
    }
}

impl Engine for HostEngine {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn set_state(&mut self, f: &[f64], time: f64) -> Result<()> {
        self.time = time;
        self.f = f.to_vec();
        self.evaluate();
        Ok(())
    }

    fn advance(&mut self, integrator: Integrator, rule: &StepRule) -> Result<(f64, f64)> {
        let step = rule.next(self.time, self.evaluation.correction.largest_step);
        let start = self.f.clone();
        for (stage, &keep) in stages(integrator).iter().enumerate() {
            if stage > 0 {
                self.evaluate();
            }
            for ((f, &rate), &old) in self.f.iter_mut().zip(&self.evaluation.rate).zip(&start) {
                let euler = step.mul_add(rate, *f);
                *f = keep.mul_add(old - euler, euler);
            }
        }
        self.time += step;
        self.evaluate();
        Ok((self.time, step))
    }

    fn summary(&mut self) -> Result<Summary> {
        let activity = self.evaluation.rate.iter().map(|rate| rate.abs()).sum::<f64>();
        Ok(Summary { correction: self.evaluation.correction, activity: activity * self.config.grid.volume() })
    }

    fn moments(&mut self) -> Result<Moments> {
        Ok(Moments::of(&self.config.grid, &self.f))
    }

    fn state(&mut self) -> Result<Vec<f64>> {
        Ok(self.f.clone())
    }

    fn evaluation(&mut self) -> Result<Evaluation> {
        Ok(self.evaluation.clone())
    }
}
