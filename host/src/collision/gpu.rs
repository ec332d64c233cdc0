//! The collision operator on a machine that runs kernels: the launches.

mod balance;
mod cells;
mod correction;
mod fast;
mod frequency;
mod spectral;
pub(super) mod values;

use std::sync::Arc;
use std::time::Duration;

use rarefy_kernels::collision::{
    self as kernels, GridShape, REDUCE_THREADS, StepRule, control, row, summary,
};
use rarefy_kernels::{Element, Real};
use rayon::prelude::*;

use super::engine::{BatchEngine, Engine, Part, Row, Stepping};
use super::integrator::stages;
use super::paper::MachineDirect as Direct;
use super::{
    Correction, CorrectionMethod, CorrectionStatus, Evaluation, Method, Moments, OperatorConfig,
};
use crate::error::Result;
use crate::machine::{Grid, Machine};
use balance::Balance;
pub use cells::{CellCollisions, CellStage};
use correction::SumsBy;
use fast::Fast;
use frequency::{Frequency, way};
use spectral::Spectral;
use values::{CELL_THREADS, copies};

/// Most distributions that are evaluated together: enough to fill any GPU with the smallest grid.
const MOST_TOGETHER: u64 = 1024;
/// Evaluations that are recorded together to be timed.
const TIMES_OF_A_GRAPH: u32 = 8;
/// Time steps between two visits of the host.
const ROWS: usize = 64;

/// The sums over the nodes, or the transforms.
enum Sums<M: Machine, T: Real> {
    Nodal {
        gain: Gain<M, T>,
        frequency: Frequency<M, T>,
    },
    Spectral(Box<Spectral<M, T>>),
}

impl<M: Machine, T: Real> Sums<M, T> {
    fn new(machine: &M, config: &OperatorConfig, items: usize) -> Result<Self> {
        if config.method == Method::Spectral {
            let mixed = config.correction == CorrectionMethod::Balanced;
            let spectral = Spectral::new(machine, config, items, mixed)?;
            return Ok(Self::Spectral(Box::new(spectral)));
        }
        let copies = copies(config) * items;
        let way = way(config, &machine.limits()?);
        Ok(Self::Nodal {
            gain: Gain::new(machine, config, items)?,
            frequency: Frequency::new(machine, config, copies, way)?,
        })
    }
}

/// The gain by either sum.
enum Gain<M: Machine, T: Real> {
    Direct(Direct<M, T>),
    Fast(Box<Fast<M, T>>),
}

impl<M: Machine, T: Real> Gain<M, T> {
    fn new(machine: &M, config: &OperatorConfig, items: usize) -> Result<Self> {
        let (n, gamma, order) = (config.grid.n(), config.scattering.gamma(), config.order);
        let mixed = config.correction == CorrectionMethod::Balanced;
        Ok(match config.method {
            Method::Direct => Self::Direct(Direct::new(machine, n, gamma, order, mixed)?),
            Method::Fast | Method::Spectral => {
                Self::Fast(Box::new(Fast::new(machine, n, gamma, order, items, mixed)?))
            }
        })
    }

    fn gain(&mut self, machine: &M, f: &M::Buffer<T>, gain: &mut M::Buffer<T>) -> Result<()> {
        match self {
            Self::Direct(direct) => direct.gain(machine, f, gain),
            Self::Fast(fast) => fast.gain(machine, f, gain),
        }
    }
}

/// How the integral is made conservative.
enum Conservation<M: Machine> {
    Paper(correction::Correction<M>),
    Balanced(Box<Balance<M>>),
}

/// The state, its rate and everything between them, in the memory of a machine; or some distributions, evaluated together.
pub(super) struct MachineEngine<M: Machine, T: Real> {
    machine: Arc<M>,
    name: String,
    config: OperatorConfig,
    shape: GridShape,
    factor: f64,
    /// Distributions: 1 for a state that moves on in time.
    items: usize,
    /// Powers of two by which the working copies differ from the distributions.
    scales: Vec<f64>,
    scales_there: M::Buffer<f64>,
    sums: Sums<M, T>,
    conservation: Conservation<M>,
    f: M::Buffer<f64>,
    start: M::Buffer<f64>,
    work: M::Buffer<T>,
    gain: M::Buffer<T>,
    frequency: M::Buffer<T>,
    rate: M::Buffer<f64>,
    summary: M::Buffer<f64>,
    control: M::Buffer<f64>,
    rows: M::Buffer<f64>,
    count: M::Buffer<u32>,
    /// One time step as a graph, once it has been taken twice in the same way.
    step: Option<(Stepping, StepRule, Option<M::Graph>)>,
}

impl<M: Machine, T: Real> MachineEngine<M, T> {
    pub(super) fn new(
        machine: Arc<M>,
        name: String,
        config: &OperatorConfig,
        items: usize,
    ) -> Result<Self> {
        Self::with_sums(machine, name, config, items, SumsBy::ManyBlocks)
    }

    /// With the blocks of one's choice. The bits depend on them, so they do not depend on the number of distributions.
    fn with_sums(
        machine: Arc<M>,
        name: String,
        config: &OperatorConfig,
        items: usize,
        sums: SumsBy,
    ) -> Result<Self> {
        let grid = config.grid;
        let (n, cells) = (grid.n(), grid.cells());
        let shape = GridShape {
            min: grid.min(),
            spacing: grid.spacing(),
            n: n as u32,
            cells: cells as u32,
        };
        let factor = config.lattice_factor();
        let conservation = if config.correction == CorrectionMethod::Balanced {
            Conservation::Balanced(Box::new(Balance::new(
                &*machine, shape, items, factor, sums,
            )?))
        } else {
            let corrected = config.correction == CorrectionMethod::Paper;
            Conservation::Paper(correction::Correction::new(
                &*machine,
                shape,
                items,
                factor,
                (corrected, config.method == Method::Spectral),
                sums,
            )?)
        };
        let copies = copies(config) * items;
        Ok(Self {
            items,
            shape,
            factor,
            conservation,
            scales: vec![1.0; items],
            scales_there: machine.allocate(items)?,
            sums: Sums::new(&*machine, config, items)?,
            f: machine.allocate(items * cells)?,
            start: machine.allocate(items * cells)?,
            work: machine.allocate(copies * cells)?,
            gain: machine.allocate(items * cells)?,
            frequency: machine.allocate(copies * cells)?,
            rate: machine.allocate(items * cells)?,
            summary: machine.allocate(items * summary::LEN)?,
            control: machine.allocate(control::LEN)?,
            rows: machine.upload(&vec![0.0; ROWS * row::LEN])?,
            count: machine.allocate(1)?,
            step: None,
            config: config.clone(),
            name,
            machine,
        })
    }

    fn cell_grid(&self) -> Grid {
        Grid::per_item(self.items * self.shape.cells as usize, CELL_THREADS)
    }

    /// The rate at the state whose working copy is in `work`.
    fn evaluate(&mut self) -> Result<()> {
        self.split()?;
        let machine = self.machine.clone();
        let mut prepare = |frequency: &M::Buffer<T>| {
            let (f, scales) = (&self.f, &self.scales_there);
            prepare(&*machine, &mut self.conservation, f, frequency, scales)
        };
        match &mut self.sums {
            // Kernels that do not need the gain run beside it: they are small, and latency is their cost.
            Sums::Nodal { gain, frequency } => self.machine.fork_join(
                &mut || {
                    frequency.frequency(&self.machine, &self.work, &mut self.frequency)?;
                    prepare(&self.frequency)
                },
                &mut || gain.gain(&self.machine, &self.work, &mut self.gain),
            )?,
            Sums::Spectral(spectral) => {
                let (gain, frequency) = (&mut self.gain, &mut self.frequency);
                spectral.gain_and_frequency(&self.machine, &self.work, gain, frequency)?;
                prepare(&self.frequency)?;
            }
        }
        self.correct()
    }

    /// The gain alone, or the spectral method's transforms, which have both.
    fn gain(&mut self) -> Result<()> {
        let (work, gain) = (&self.work, &mut self.gain);
        match &mut self.sums {
            Sums::Nodal { gain: sum, .. } => sum.gain(&self.machine, work, gain),
            Sums::Spectral(spectral) => {
                spectral.gain_and_frequency(&self.machine, work, gain, &mut self.frequency)
            }
        }
    }

    /// Input of the balanced correction: deviations and means instead of the working copy.
    fn split(&mut self) -> Result<()> {
        match &mut self.conservation {
            Conservation::Paper(_) => Ok(()),
            Conservation::Balanced(balance) => {
                balance.split(&*self.machine, &self.f, &self.scales_there, &mut self.work)
            }
        }
    }

    fn correct(&mut self) -> Result<()> {
        let sums = correction::Sums {
            f: &self.f,
            gain: &self.gain,
            frequency: &self.frequency,
            scales: &self.scales_there,
            rate: &mut self.rate,
            summary: &mut self.summary,
        };
        match &mut self.conservation {
            Conservation::Paper(correction) => correction.apply(&*self.machine, sums),
            Conservation::Balanced(balance) => balance.apply(&*self.machine, sums),
        }
    }

    /// One time step, as a graph from the third time on: the first one loads the kernels, the second one is recorded.
    fn step(&mut self, stepping: Stepping, rule: &StepRule) -> Result<()> {
        let machine = self.machine.clone();
        match &self.step {
            Some((s, r, Some(graph))) if (*s, *r) == (stepping, *rule) => {
                Ok(machine.replay(graph)?)
            }
            Some((s, r, None)) if (*s, *r) == (stepping, *rule) => {
                let graph = machine.capture(&mut || self.issue_step(stepping, rule))?;
                match &graph {
                    Some(graph) => machine.replay(graph)?,
                    None => self.issue_step(stepping, rule)?,
                }
                self.step = Some((stepping, *rule, graph));
                Ok(())
            }
            _ => {
                self.step = Some((stepping, *rule, None));
                self.issue_step(stepping, rule)
            }
        }
    }

    /// Launches one time step: step size, stages, evaluation at the new state, and its row.
    fn issue_step(&mut self, stepping: Stepping, rule: &StepRule) -> Result<()> {
        self.machine.launch(
            Grid::one_block(32),
            kernels::choose_step {
                summary: &self.summary,
                control: &mut self.control,
                rule: *rule,
            },
        )?;
        self.begin()?;
        for (stage, &keep) in stages(stepping.integrator).iter().enumerate() {
            if stage > 0 {
                self.evaluate()?;
            }
            self.stage(keep)?;
        }
        if stepping.limited {
            self.limit()?;
        }
        self.evaluate()?;
        self.record()
    }

    /// Takes away what is below zero.
    fn limit(&mut self) -> Result<()> {
        let grid = Grid {
            blocks: self.items as u32,
            threads: REDUCE_THREADS,
        };
        let limit = kernels::limit_negative {
            scales: &self.scales_there,
            f: &mut self.f,
            work: &mut self.work,
            shape: self.shape,
        };
        Ok(self.machine.launch(grid, limit)?)
    }

    /// One stage of a time step, with the rate at the present state.
    fn stage(&mut self, keep: f64) -> Result<()> {
        Ok(self.machine.launch(
            self.cell_grid(),
            kernels::runge_kutta_stage {
                start: &self.start,
                rate: &self.rate,
                control: &self.control,
                scales: &self.scales_there,
                f: &mut self.f,
                work: &mut self.work,
                keep,
            },
        )?)
    }

    fn record(&mut self) -> Result<()> {
        Ok(self.machine.launch(
            Grid::one_block(REDUCE_THREADS),
            kernels::record {
                f: &self.f,
                control: &self.control,
                summary: &self.summary,
                count: &mut self.count,
                rows: &mut self.rows,
                shape: self.shape,
            },
        )?)
    }

    /// The first `count` rows.
    fn fetch_rows(&self, count: usize) -> Result<Vec<Row>> {
        let rows = self.fetch(&self.rows, ROWS * row::LEN)?;
        let volume = self.config.grid.volume();
        Ok(rows
            .chunks_exact(row::LEN)
            .take(count)
            .map(|row| self::row(row, volume))
            .collect())
    }

    fn begin(&mut self) -> Result<()> {
        Ok(self.machine.launch(
            self.cell_grid(),
            kernels::begin_step {
                f: &self.f,
                scales: &self.scales_there,
                start: &mut self.start,
                work: &mut self.work,
                first: 0,
                cells: self.shape.cells,
                items: self.items as u32,
            },
        )?)
    }

    fn fetch<E: Element + Default>(&self, buffer: &M::Buffer<E>, len: usize) -> Result<Vec<E>> {
        let mut data = vec![E::default(); len];
        self.machine.read(buffer, &mut data)?;
        Ok(data)
    }

    /// Replaces the distributions and evaluates their rates.
    fn set(&mut self, f: &[f64]) -> Result<()> {
        let cells = self.shape.cells as usize;
        self.scales = f.chunks_exact(cells).map(working_scale).collect();
        self.machine.write(&mut self.scales_there, &self.scales)?;
        self.machine.write(&mut self.f, f)?;
        self.begin()?;
        self.evaluate()
    }

    /// Results of the last evaluation of each distribution, in physical units.
    fn evaluations(&self) -> Result<Vec<Evaluation>> {
        let cells = self.shape.cells as usize;
        let gain = self.fetch(&self.gain, self.items * cells)?;
        let copies = copies(&self.config);
        let frequency = self.fetch(&self.frequency, copies * self.items * cells)?;
        let f = self.fetch(&self.f, self.items * cells)?;
        let rate = self.fetch(&self.rate, self.items * cells)?;
        let summaries = self.fetch(&self.summary, self.items * summary::LEN)?;
        // From lattice units and from values of some degree in the working copy.
        let (factor, items) = (self.factor, self.items);
        let physical = |values: &[T], unscale: f64| {
            let values = values.iter().map(|value| value.to_f64());
            values.map(|value| value * unscale * factor).collect()
        };
        let scales = &self.scales;
        Ok((0..items)
            .into_par_iter()
            .map(|item| {
                let range = item * cells..(item + 1) * cells;
                let unscale = scales[item].recip();
                let mut nu: Vec<f64> = physical(&frequency[range.clone()], unscale);
                let mut sum: Vec<f64> = physical(&gain[range.clone()], unscale.powi(2));
                if copies > 1 {
                    // Of the deviation so far.
                    let means = &frequency[items * cells..][range.clone()];
                    let means: Vec<f64> = physical(means, unscale);
                    for (nu, mean) in nu.iter_mut().zip(means) {
                        *nu = mean + 0.5 * *nu;
                    }
                    let integral = rate[range.clone()].iter().zip(&f[range.clone()]).zip(&nu);
                    sum = integral.map(|((rate, f), nu)| rate + f * nu).collect();
                }
                Evaluation {
                    gain: sum,
                    frequency: nu,
                    rate: rate[range].to_vec(),
                    correction: correction(&summaries[item * summary::LEN..]),
                    warnings: Vec::new(),
                }
            })
            .collect())
    }
}

impl<M: Machine + 'static, T: Real> Engine for MachineEngine<M, T> {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn set_state(&mut self, f: &[f64], time: f64) -> Result<Row> {
        self.step = None;
        self.machine.write(&mut self.control, &[time, 0.0, 0.0])?;
        self.set(f)?;
        self.machine.write(&mut self.count, &[0])?;
        self.record()?;
        Ok(self.fetch_rows(1)?[0])
    }

    fn advance(&mut self, stepping: Stepping, rule: &StepRule, steps: usize) -> Result<Vec<Row>> {
        let mut rows = Vec::with_capacity(steps);
        while rows.len() < steps {
            let batch = ROWS.min(steps - rows.len());
            self.machine.write(&mut self.count, &[0])?;
            for _ in 0..batch {
                self.step(stepping, rule)?;
            }
            rows.extend(self.fetch_rows(batch)?);
        }
        Ok(rows)
    }

    fn state(&mut self) -> Result<Vec<f64>> {
        self.fetch(&self.f, self.shape.cells as usize)
    }

    fn evaluation(&mut self) -> Result<Evaluation> {
        let cells = self.shape.cells as usize;
        let mut all = self.evaluations()?;
        Ok(all.pop().unwrap_or_else(|| Evaluation::empty(cells)))
    }

    fn batch(&self, items: usize) -> Result<Box<dyn BatchEngine>> {
        let together = together::<M, T>(&self.machine, &self.config, items)?;
        Ok(Box::new(Self::new(
            self.machine.clone(),
            self.name.clone(),
            &self.config,
            together,
        )?))
    }

    fn time_evaluations(&mut self, part: Part, repetitions: u32) -> Result<Duration> {
        self.time(part, repetitions)
    }
}

impl<M: Machine + 'static, T: Real> BatchEngine for MachineEngine<M, T> {
    fn evaluate_all(&mut self, f: &[f64]) -> Result<Vec<Evaluation>> {
        let cells = self.shape.cells as usize;
        let total = f.len() / cells;
        let mut all = Vec::with_capacity(total);
        for group in f.chunks(self.items * cells) {
            let missing = self.items - group.len() / cells;
            if missing == 0 {
                self.set(group)?;
            } else {
                // Filled up with copies of its last member.
                let last = &group[group.len() - cells..];
                let filled = [group, &last.repeat(missing)].concat();
                self.set(&filled)?;
            }
            all.extend(self.evaluations()?);
        }
        all.truncate(total);
        Ok(all)
    }

    fn time_evaluations(&mut self, part: Part, repetitions: u32) -> Result<Duration> {
        self.time(part, repetitions)
    }
}

impl<M: Machine, T: Real> MachineEngine<M, T> {
    /// The time of so many repetitions, most of them out of graphs, as a relaxation issues them.
    fn time(&mut self, part: Part, repetitions: u32) -> Result<Duration> {
        let machine = self.machine.clone();
        let mut other = match part {
            Part::FrequencyBy(way) => Some(Frequency::<M, T>::new(
                &*machine,
                &self.config,
                copies(&self.config) * self.items,
                way,
            )?),
            _ => None,
        };
        let mut issue = |times: u32| {
            (0..times).try_for_each(|_| match part {
                Part::All => self.evaluate(),
                Part::Gain => self.gain(),
                Part::Frequency | Part::FrequencyBy(_) => {
                    let (work, out) = (&self.work, &mut self.frequency);
                    match (&mut other, &mut self.sums) {
                        (Some(sum), _) | (None, Sums::Nodal { frequency: sum, .. }) => {
                            sum.frequency(&self.machine, work, out)
                        }
                        // Part of the gain.
                        (None, Sums::Spectral(_)) => Ok(()),
                    }
                }
                Part::Correction => {
                    self.split()?;
                    prepare(
                        &*self.machine,
                        &mut self.conservation,
                        &self.f,
                        &self.frequency,
                        &self.scales_there,
                    )?;
                    self.correct()
                }
            })
        };
        // Loads the kernels.
        issue(1)?;
        let graph = machine.capture(&mut || issue(TIMES_OF_A_GRAPH))?;
        machine.time(&mut || {
            let Some(graph) = &graph else {
                return issue(repetitions);
            };
            for _ in 0..repetitions / TIMES_OF_A_GRAPH {
                machine.replay(graph)?;
            }
            issue(repetitions % TIMES_OF_A_GRAPH)
        })
    }
}

/// Sums of the paper's correction that do not need the gain.
fn prepare<M: Machine, T: Real>(
    machine: &M,
    conservation: &mut Conservation<M>,
    f: &M::Buffer<f64>,
    frequency: &M::Buffer<T>,
    scales: &M::Buffer<f64>,
) -> Result<()> {
    match conservation {
        Conservation::Paper(correction) => correction.prepare(machine, f, frequency, scales),
        Conservation::Balanced(_) => Ok(()),
    }
}

/// How many of so many distributions are evaluated together: as many as fit, in groups of equal size, so that the last one wastes little.
fn together<M: Machine, T: Real>(
    machine: &M,
    config: &OperatorConfig,
    items: usize,
) -> Result<usize> {
    let n = config.grid.n();
    let together = match config.method {
        // The blocks of one distribution fill a GPU.
        Method::Direct => 1,
        Method::Spectral => {
            let free = machine.limits()?.free_bytes;
            let each = spectral::bytes_per_item::<T>(config)
                + config.grid.cells() as u64 * (copies(config) as u64 * 3 + 4) * 8;
            (free / 2 / each).clamp(1, MOST_TOGETHER) as usize
        }
        Method::Fast => {
            let cells = config.grid.cells() as u64;
            let copies = copies(config) as u64;
            // Padded and working copies and frequencies, and the gain; f, its copy at the start and the rate.
            let values = (1 + 3 * copies) * size_of::<T>() as u64 + 3 * 8;
            let limits = machine.limits()?;
            let each = Fast::<M, T>::bytes_per_item(n)
                + copies * Frequency::<M, T>::bytes_per_item(n, way(config, &limits))
                + cells * values;
            (limits.free_bytes / 2 / each).clamp(1, MOST_TOGETHER) as usize
        }
    };
    let groups = items.div_ceil(together).max(1);
    Ok(items.div_ceil(groups).max(1))
}

/// Values of a recorded row; sums over cells become integrals with the cells' volume.
fn row(row: &[f64], volume: f64) -> Row {
    let mass = row[row::DENSITY];
    let at = |k: usize| row[k] * volume;
    let trace = row[row::PRESSURE] + row[row::PRESSURE + 1] + row[row::PRESSURE + 2];
    Row {
        time: row[row::CONTROL + control::TIME],
        correction: correction(&row[row::SUMMARY..]),
        activity: at(row::SUMMARY + summary::ACTIVITY),
        moments: Moments {
            density: mass * volume,
            velocity: std::array::from_fn(|k| row[row::MOMENTUM + k] / mass),
            temperature: trace / (3.0 * mass),
            pressure: std::array::from_fn(|k| at(row::PRESSURE + k)),
            heat_flux: std::array::from_fn(|k| at(row::HEAT_FLUX + k) / 2.0),
            fourth: at(row::FOURTH),
            entropy: at(row::ENTROPY),
            minimum: row[row::MINIMUM],
            below_zero: -at(row::BELOW_ZERO),
        },
    }
}

/// The correction in a summary.
fn correction(row: &[f64]) -> Correction {
    let five = |at: usize| std::array::from_fn(|k| row[at + k]);
    let status = match row[summary::STATUS] as u32 {
        0 => CorrectionStatus::Loss,
        1 => CorrectionStatus::LossAndGain,
        2 => CorrectionStatus::Singular,
        4 => CorrectionStatus::Balanced,
        _ => CorrectionStatus::Off,
    };
    let outflow = row[summary::OUTFLOW];
    Correction {
        status,
        delta: five(summary::DELTA),
        residuals: five(summary::RESIDUALS),
        largest_step: if outflow > 0.0 {
            1.0 / outflow
        } else {
            f64::INFINITY
        },
    }
}

/// A power of two that brings the largest value of `f` to about 2^40.
///
/// Products of the tails then do not underflow in f32, and the largest sum, below (2^41)^2 n^3 4 pi sqrt(3) n <= 2^111 for
/// n <= 64, does not overflow.
fn working_scale(f: &[f64]) -> f64 {
    let largest = f.iter().copied().fold(0.0, f64::max);
    // Within 2^+-500 the scale and its square stay normal numbers in f64.
    let exponent = (40.0 - largest.log2().floor()).clamp(-500.0, 500.0);
    if largest.is_normal() {
        2f64.powf(exponent)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::{Integrator, VelocityGrid, initial};
    use crate::emulator::{Emulator, ThreadOrder};

    /// State, rate and moments after two steps, with the threads of every kernel in a given order.
    fn run<T: Real>(
        order: ThreadOrder,
        method: Method,
        correction: CorrectionMethod,
    ) -> (Vec<f64>, Evaluation, Moments) {
        let grid = VelocityGrid::new(5, -6.5, 6.5).expect("a grid");
        let config = OperatorConfig {
            method,
            correction,
            ..OperatorConfig::new(grid)
        };
        let mut engine =
            MachineEngine::<_, T>::new(Arc::new(Emulator::new(order)), String::new(), &config, 1)
                .expect("an engine");
        let f = initial::TwoMaxwellians::default().sample(&grid);
        let rule = StepRule {
            fixed: 0.01,
            safety: 0.5,
            end: f64::INFINITY,
        };
        let stepping = Stepping {
            integrator: Integrator::Ssprk2,
            limited: true,
        };
        engine.set_state(&f, 0.0).expect("a state");
        let rows = engine.advance(stepping, &rule, 2).expect("two steps");
        let moments = rows.last().expect("a row").moments;
        (
            engine.state().expect("the state"),
            engine.evaluation().expect("the rate"),
            moments,
        )
    }

    #[test]
    fn no_kernel_depends_on_the_order_of_threads() {
        let corrections = [CorrectionMethod::Balanced, CorrectionMethod::Paper];
        for (method, correction) in [Method::Direct, Method::Fast]
            .into_iter()
            .flat_map(|method| corrections.map(|correction| (method, correction)))
        {
            let single = run::<f32>(ThreadOrder::Ascending, method, correction);
            let double = run::<f64>(ThreadOrder::Ascending, method, correction);
            // The precisions share their kernels, and each takes another order.
            for order in [ThreadOrder::Descending, ThreadOrder::Random(7)] {
                assert!(
                    run::<f64>(order, method, correction) == double,
                    "{method:?} {correction} f64, {order:?}"
                );
            }
            let order = ThreadOrder::Random(8);
            assert!(
                run::<f32>(order, method, correction) == single,
                "{method:?} {correction} f32, {order:?}"
            );
        }
    }
}
