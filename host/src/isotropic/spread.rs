//! States on several devices, each with a part of them.

use std::time::Duration;

use super::engine::{Engine, Row};
use super::{Integrator, Rates};
use crate::compute::on_each;
use crate::error::Result;

/// The engines of all devices, and the number of states of each.
pub(super) struct Spread {
    parts: Vec<(usize, Box<dyn Engine>)>,
}

impl Spread {
    pub(super) fn new(parts: Vec<(usize, Box<dyn Engine>)>) -> Self {
        Self { parts }
    }

    /// Results of all devices, in the order of the states.
    fn all<R: Send>(
        &mut self,
        work: impl Fn(&mut dyn Engine) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        on_each(&mut self.parts, |(_, engine)| work(&mut **engine))
    }
}

impl Engine for Spread {
    fn describe(&self) -> String {
        let each = self.parts.first().map(|(_, engine)| engine.describe());
        format!(
            "{} devices, each {}",
            self.parts.len(),
            each.unwrap_or_default()
        )
    }

    fn set_states(&mut self, f: &[f64]) -> Result<()> {
        let states: usize = self.parts.iter().map(|(states, _)| states).sum();
        let cells = f.len() / states.max(1);
        let mut rest = f;
        let parts: Vec<_> = (self.parts.iter_mut())
            .map(|(states, engine)| {
                let (own, later) = rest.split_at(*states * cells);
                rest = later;
                (own, engine)
            })
            .collect();
        on_each(parts, |(own, engine)| engine.set_states(own)).map(drop)
    }

    fn rows(&mut self) -> Result<Vec<Row>> {
        Ok(self.all(|engine| engine.rows())?.concat())
    }

    fn take(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<()> {
        self.all(|engine| engine.take(integrator, dt, steps))
            .map(drop)
    }

    fn advance(
        &mut self,
        integrator: Integrator,
        dt: f64,
        records: u64,
        every: u64,
    ) -> Result<Vec<Vec<Row>>> {
        let found = self.all(|engine| engine.advance(integrator, dt, records, every))?;
        let mut devices = found.into_iter();
        let mut all = devices.next().unwrap_or_default();
        for device in devices {
            for (rows, more) in all.iter_mut().zip(device) {
                rows.extend(more);
            }
        }
        Ok(all)
    }

    fn states(&mut self) -> Result<Vec<f64>> {
        Ok(self.all(|engine| engine.states())?.concat())
    }

    fn rates(&mut self) -> Result<Rates> {
        match self.parts.first_mut() {
            Some((_, engine)) => engine.rates(),
            None => Err(crate::compute::ended()),
        }
    }

    fn time_steps(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<Duration> {
        let times = self.all(|engine| engine.time_steps(integrator, dt, steps))?;
        Ok(times.into_iter().max().unwrap_or_default())
    }

    fn table_bytes(&self) -> u64 {
        self.parts
            .iter()
            .map(|(_, engine)| engine.table_bytes())
            .sum()
    }
}
