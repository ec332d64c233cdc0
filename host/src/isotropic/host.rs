//! The time loop on the CPU: the multi-core path and the scalar reference.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::cpu::Operator;
use super::engine::{Engine, Row, stages};
use super::{Integrator, Moments, OperatorConfig, Rates};
use crate::error::Result;

/// States and their operator in the memory of the host.
pub(super) struct HostEngine {
    name: String,
    config: OperatorConfig,
    measure: Vec<f64>,
    operator: Box<dyn Operator>,
    cells: usize,
    f: Vec<f64>,
}

impl HostEngine {
    pub(super) fn new(
        name: String,
        config: &OperatorConfig,
        operator: Box<dyn Operator>,
        states: usize,
    ) -> Self {
        let cells = config.grid.cells();
        Self {
            name,
            config: config.clone(),
            measure: config.measure(),
            operator,
            cells,
            f: vec![0.0; cells * states],
        }
    }

    fn steps(&mut self, integrator: Integrator, dt: f64, steps: u64) {
        let stages = stages(integrator);
        let operator = &*self.operator;
        self.f.par_chunks_exact_mut(self.cells).for_each(|f| {
            let (mut start, mut sum) = (f.to_vec(), f.to_vec());
            let mut rate = vec![0.0; f.len()];
            for _ in 0..steps {
                start.copy_from_slice(f);
                sum.copy_from_slice(f);
                for stage in &stages {
                    operator.rate(f, &mut rate);
                    for (i, rate) in rate.iter().enumerate() {
                        (f[i], sum[i]) = stage.next(start[i], f[i], sum[i], dt * rate);
                    }
                }
            }
        });
    }
}

impl Engine for HostEngine {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn set_states(&mut self, f: &[f64]) -> Result<()> {
        self.f.copy_from_slice(f);
        Ok(())
    }

    fn rows(&mut self) -> Result<Vec<Row>> {
        let states = self.f.par_chunks_exact(self.cells);
        Ok(states
            .map(|f| Row {
                moments: Moments::with(&self.measure, &self.config, f),
                largest_frequency: self.operator.largest_frequency(f),
            })
            .collect())
    }

    fn take(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<()> {
        self.steps(integrator, dt, steps);
        Ok(())
    }

    fn advance(
        &mut self,
        integrator: Integrator,
        dt: f64,
        records: u64,
        every: u64,
    ) -> Result<Vec<Vec<Row>>> {
        (0..records)
            .map(|_| {
                self.steps(integrator, dt, every);
                self.rows()
            })
            .collect()
    }

    fn states(&mut self) -> Result<Vec<f64>> {
        Ok(self.f.clone())
    }

    fn rates(&mut self) -> Result<Rates> {
        Ok(self.operator.rates(&self.f[..self.cells]))
    }

    fn time_steps(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<Duration> {
        let start = Instant::now();
        self.steps(integrator, dt, steps);
        Ok(start.elapsed())
    }

    fn table_bytes(&self) -> u64 {
        self.operator.table_bytes()
    }
}
