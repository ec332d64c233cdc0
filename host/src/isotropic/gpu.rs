//! The operator and the time loop on a machine that runs kernels: the launches.

mod economies;
mod forms;
mod operator;

use std::sync::Arc;
use std::time::Duration;

use rarefy_kernels::isotropic::{self as kernels, STATE_THREADS, Stage, StateShape, moment};
use rarefy_kernels::{Element, Real, WARP};

use super::coefficients::rate_scale;
use super::engine::{Engine, Row, stages};
use super::{Integrator, Moments, OperatorConfig, Rates, cpu};
use crate::error::Result;
use crate::machine::{Grid, Machine};
pub(super) use forms::{ITEM_THREADS, Work, gather};
use operator::Operator;

/// Records that are kept on the machine before the host fetches them.
const ROWS: u64 = 64;

/// Time steps in one graph.
const GRAPH_STEPS: u64 = 32;

/// States beyond their last cell have so many zeros that the longest jump of the last tile of rows stays inside.
fn pitch(cells: usize) -> usize {
    (cells + 64).next_multiple_of(WARP as usize)
}

/// States, their sums and everything between them, in the memory of a machine.
pub(super) struct MachineEngine<M: Machine, T: Real> {
    machine: Arc<M>,
    name: String,
    config: OperatorConfig,
    cells: usize,
    states: usize,
    shape: StateShape,
    operator: Operator<M, T>,
    /// States in f64, where they start from within a step, and sums over stages.
    f: M::Buffer<f64>,
    start: M::Buffer<f64>,
    sum: M::Buffer<f64>,
    /// Working copies, and their sums from each cell to the top.
    work: M::Buffer<T>,
    above: M::Buffer<T>,
    measure: M::Buffer<f64>,
    /// Factor from sums of flows to `dt df/dt`.
    divisors: M::Buffer<f64>,
    /// Factor from sums of frequencies to physical ones.
    frequency_scale: M::Buffer<f64>,
    frequency: M::Buffer<f64>,
    rows: M::Buffer<f64>,
    count: M::Buffer<u32>,
    graphs: Option<Graphs<M>>,
}

/// One step and many, recorded for an integrator and a time step.
struct Graphs<M: Machine> {
    integrator: Integrator,
    dt: f64,
    one: M::Graph,
    many: M::Graph,
}

impl<M: Machine, T: Real> MachineEngine<M, T> {
    pub(super) fn new(
        machine: M,
        name: String,
        config: &OperatorConfig,
        states: usize,
    ) -> Result<Self> {
        let cells = config.grid.cells();
        let pitch = pitch(cells);
        let all = pitch * states;
        let limits = machine.limits()?;
        let what = format!("{states} states of {cells} cells");
        let bytes = Operator::<M, T>::bytes(config, states, pitch, &limits)
            + (all * (4 * 8 + 2 * size_of::<T>())) as u64;
        crate::memory_plan::check_device(
            &limits,
            &what,
            bytes,
            "use fewer cells or states, or pair storage",
        )?;
        let operator = Operator::new(&machine, config, states, pitch)?;
        let zeros = vec![0.0; all];
        Ok(Self {
            shape: StateShape {
                cells: cells as u32,
                pitch: pitch as u32,
                tiles: operator.tiles(),
                width: config.grid.width(),
                scale: 1.0,
            },
            operator,
            f: machine.upload(&zeros)?,
            start: machine.upload(&zeros)?,
            sum: machine.upload(&zeros)?,
            work: machine.allocate(all)?,
            above: machine.allocate(all)?,
            measure: machine.upload(&config.measure())?,
            divisors: machine.upload(&vec![0.0; cells])?,
            frequency_scale: machine.upload(&vec![0.0; cells])?,
            frequency: machine.upload(&zeros)?,
            rows: machine.upload(&vec![0.0; ROWS as usize * states * moment::LEN])?,
            count: machine.upload(&[0])?,
            graphs: None,
            config: config.clone(),
            cells,
            states,
            name,
            machine: Arc::new(machine),
        })
    }

    fn state_grid(&self) -> Grid {
        Grid {
            blocks: self.states as u32,
            threads: STATE_THREADS,
        }
    }

    /// Factors of df/dt and of frequencies, of each cell.
    fn scales(&self) -> Vec<f64> {
        let scale = rate_scale(&self.config.grid, self.config.law);
        (0..self.cells)
            .map(|i| scale / self.config.weight(i))
            .collect()
    }

    fn prepare(&mut self) -> Result<()> {
        Ok(self.machine.launch(
            self.state_grid(),
            kernels::prepare_states {
                f: &self.f,
                work: &mut self.work,
                above: &mut self.above,
                shape: self.shape,
            },
        )?)
    }

    /// Launches the stages of one step.
    fn issue_step(&mut self, stages: &[Stage]) -> Result<()> {
        for (number, &stage) in stages.iter().enumerate() {
            self.operator
                .flows(&self.machine, &self.work, &self.above)?;
            let (rise, fall) = self.operator.sums();
            self.machine.launch(
                self.state_grid(),
                kernels::advance_states {
                    rise,
                    fall,
                    divisors: &self.divisors,
                    f: &mut self.f,
                    start: &mut self.start,
                    sum: &mut self.sum,
                    work: &mut self.work,
                    above: &mut self.above,
                    shape: self.shape,
                    stage,
                    first: u32::from(number == 0),
                },
            )?;
        }
        Ok(())
    }

    /// Takes steps; from the second one on by recorded graphs, where the machine has them.
    fn steps(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<()> {
        let stages = stages(integrator);
        let known = |g: &Graphs<M>| g.integrator == integrator && g.dt == dt;
        let mut left = steps;
        if left > 0 && !self.graphs.as_ref().is_some_and(known) {
            let scale = self.shape.scale;
            let divisors: Vec<f64> = self
                .scales()
                .iter()
                .map(|value| dt * value / (scale * scale))
                .collect();
            self.machine.write(&mut self.divisors, &divisors)?;
            self.graphs = None;
            // The first step loads the kernels, which recording does not.
            self.issue_step(&stages)?;
            left -= 1;
            if left > 0 {
                let machine = self.machine.clone();
                let one = machine.capture(&mut || self.issue_step(&stages))?;
                let many = machine
                    .capture(&mut || (0..GRAPH_STEPS).try_for_each(|_| self.issue_step(&stages)))?;
                if let (Some(one), Some(many)) = (one, many) {
                    self.graphs = Some(Graphs {
                        integrator,
                        dt,
                        one,
                        many,
                    });
                }
            }
        }
        while left > 0 {
            match &self.graphs {
                Some(graphs) if left >= GRAPH_STEPS => {
                    self.machine.replay(&graphs.many)?;
                    left -= GRAPH_STEPS;
                }
                Some(graphs) => {
                    self.machine.replay(&graphs.one)?;
                    left -= 1;
                }
                None => {
                    self.issue_step(&stages)?;
                    left -= 1;
                }
            }
        }
        Ok(())
    }

    /// Appends a row for each state.
    fn record(&mut self) -> Result<()> {
        self.operator
            .frequencies(&self.machine, &self.work, &self.above, &mut self.frequency)?;
        self.machine.launch(
            self.state_grid(),
            kernels::record_states {
                f: &self.f,
                measure: &self.measure,
                frequency: &self.frequency,
                frequency_scale: &self.frequency_scale,
                count: &self.count,
                rows: &mut self.rows,
                shape: self.shape,
            },
        )?;
        Ok(self.machine.launch(
            Grid::one_block(WARP),
            kernels::count_row {
                count: &mut self.count,
            },
        )?)
    }

    /// The rows of so many records.
    fn fetch_rows(&self, records: usize) -> Result<Vec<Vec<Row>>> {
        let rows = self.fetch(&self.rows, ROWS as usize * self.states * moment::LEN)?;
        Ok(rows
            .chunks_exact(self.states * moment::LEN)
            .take(records)
            .map(|record| record.chunks_exact(moment::LEN).map(row).collect())
            .collect())
    }

    fn fetch<E: Element + Default>(&self, buffer: &M::Buffer<E>, len: usize) -> Result<Vec<E>> {
        let mut data = vec![E::default(); len];
        self.machine.read(buffer, &mut data)?;
        Ok(data)
    }

    /// The values of the cells, without what lies between the states.
    fn unpadded(&self, values: &[f64]) -> Vec<f64> {
        let states = values.chunks_exact(self.shape.pitch as usize);
        states
            .flat_map(|state| &state[..self.cells])
            .copied()
            .collect()
    }
}

impl<M: Machine, T: Real> Engine for MachineEngine<M, T> {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn set_states(&mut self, f: &[f64]) -> Result<()> {
        let pitch = self.shape.pitch as usize;
        let mut padded = vec![0.0; pitch * self.states];
        for (to, from) in padded
            .chunks_exact_mut(pitch)
            .zip(f.chunks_exact(self.cells))
        {
            to[..self.cells].copy_from_slice(from);
        }
        self.shape.scale = working_scale(f);
        self.graphs = None;
        let scales = self.scales();
        let frequencies: Vec<f64> = scales.iter().map(|s| s / self.shape.scale).collect();
        self.machine
            .write(&mut self.frequency_scale, &frequencies)?;
        self.machine.write(&mut self.f, &padded)?;
        self.prepare()
    }

    fn rows(&mut self) -> Result<Vec<Row>> {
        self.machine.write(&mut self.count, &[0])?;
        self.record()?;
        Ok(self.fetch_rows(1)?.remove(0))
    }

    fn take(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<()> {
        self.steps(integrator, dt, steps)?;
        Ok(self.machine.synchronize()?)
    }

    fn advance(
        &mut self,
        integrator: Integrator,
        dt: f64,
        records: u64,
        every: u64,
    ) -> Result<Vec<Vec<Row>>> {
        let mut rows = Vec::with_capacity(records as usize);
        let mut left = records;
        while left > 0 {
            let batch = left.min(ROWS);
            self.machine.write(&mut self.count, &[0])?;
            for _ in 0..batch {
                self.steps(integrator, dt, every)?;
                self.record()?;
            }
            rows.extend(self.fetch_rows(batch as usize)?);
            left -= batch;
        }
        Ok(rows)
    }

    fn states(&mut self) -> Result<Vec<f64>> {
        let padded = self.fetch(&self.f, self.shape.pitch as usize * self.states)?;
        Ok(self.unpadded(&padded))
    }

    fn rates(&mut self) -> Result<Rates> {
        let f = self.states()?;
        let f = &f[..self.cells];
        let scales = self.scales();
        let scale = self.shape.scale;
        self.operator
            .flows(&self.machine, &self.work, &self.above)?;
        let flux = self.operator.flux(&self.machine)?;
        self.operator
            .frequencies(&self.machine, &self.work, &self.above, &mut self.frequency)?;
        let frequency = self.fetch(&self.frequency, self.shape.pitch as usize * self.states)?;
        let mut rates = super::reference::empty(self.cells);
        let unmoved = cpu::unmoved(&self.config, f);
        for i in 0..self.cells {
            let moving = frequency[i] * scales[i] / scale;
            rates.largest_frequency = rates.largest_frequency.max(moving);
            rates.frequency[i] = moving + unmoved[i];
            rates.rate[i] = flux[i] * scales[i] / (scale * scale);
            rates.gain[i] = rates.rate[i] + rates.frequency[i] * f[i];
        }
        Ok(rates)
    }

    fn time_steps(&mut self, integrator: Integrator, dt: f64, steps: u64) -> Result<Duration> {
        // Kernels are loaded and graphs recorded before.
        self.steps(integrator, dt, 2)?;
        let machine = self.machine.clone();
        machine.time(&mut || self.steps(integrator, dt, steps))
    }

    fn table_bytes(&self) -> u64 {
        self.operator.table_bytes()
    }
}

fn row(row: &[f64]) -> Row {
    Row {
        moments: Moments {
            number: row[moment::NUMBER],
            energy: row[moment::ENERGY],
            second: row[moment::SECOND],
            third: row[moment::THIRD],
            entropy: row[moment::ENTROPY],
            minimum: row[moment::MINIMUM],
        },
        largest_frequency: row[moment::FREQUENCY],
    }
}

/// A power of two that brings the largest value of `f` to about 2^20, so that products of the tails do not underflow in f32 where they count.
fn working_scale(f: &[f64]) -> f64 {
    let largest = f.iter().copied().fold(0.0, f64::max);
    if largest.is_normal() {
        // Within 2^+-500 the scale and its square stay normal numbers in f64.
        2f64.powf((20.0 - largest.log2().floor()).clamp(-500.0, 500.0))
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::{Emulator, ThreadOrder};
    use crate::isotropic::{CollisionKernel, EnergyGrid, Storage};

    /// States and frequencies after two steps, with the threads of every kernel in a given order.
    fn run<T: Real>(
        order: ThreadOrder,
        law: CollisionKernel,
        storage: Storage,
    ) -> (Vec<f64>, Vec<f64>) {
        let grid = EnergyGrid::new(45, 12.0).expect("a grid");
        let config = OperatorConfig {
            storage,
            ..OperatorConfig::new(grid, law)
        };
        let mut engine =
            MachineEngine::<_, T>::new(Emulator::new(order), String::new(), &config, 3)
                .expect("an engine");
        let f: Vec<f64> = [0.65, 0.75, 0.9]
            .iter()
            .flat_map(|&k| crate::isotropic::initial::bkw(&grid, k))
            .collect();
        engine.set_states(&f).expect("states");
        let rows = engine
            .advance(Integrator::Ssprk3, 0.1, 2, 1)
            .expect("two steps");
        let last = rows.last().expect("a row").iter();
        let frequencies = last.map(|row| row.largest_frequency).collect();
        (engine.states().expect("states"), frequencies)
    }

    #[test]
    fn no_kernel_depends_on_the_order_of_threads() {
        let gas = CollisionKernel::Power { theta: 0.0 };
        for (law, storage) in [
            (gas, Storage::Pairs),
            (CollisionKernel::Power { theta: 1.0 }, Storage::Pairs),
            (gas, Storage::Compact),
            (gas, Storage::Full),
            (CollisionKernel::Isotropic { gamma: 0.5 }, Storage::Pairs),
            (CollisionKernel::Money, Storage::Pairs),
            (CollisionKernel::Saving { lambda: 0.3 }, Storage::Pairs),
        ] {
            let single = run::<f32>(ThreadOrder::Ascending, law, storage);
            let double = run::<f64>(ThreadOrder::Ascending, law, storage);
            for order in [ThreadOrder::Descending, ThreadOrder::Random(7)] {
                assert!(
                    run::<f32>(order, law, storage) == single,
                    "{law}, {storage:?} f32, {order:?}"
                );
                assert!(
                    run::<f64>(order, law, storage) == double,
                    "{law}, {storage:?} f64, {order:?}"
                );
            }
        }
    }
}
