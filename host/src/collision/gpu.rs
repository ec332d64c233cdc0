//! The collision operator on a machine that runs kernels: the launches.

use std::sync::Arc;
use std::time::Duration;

use rarefy_kernels::collision::{
    self as kernels, DirectShape, FastShape, GATHER_THREADS, GridShape, REDUCE_THREADS,
    SPECTRUM_THREADS, StepRule, control, row, summary,
};
use rarefy_kernels::{Element, Quad, Real};

use super::coefficients::{DirectLists, DirectTasks, OrbitTable, frequency_coefficients, speeds};
use super::engine::{Engine, Part, Row, stages};
use super::spectrum_plan::{BandTiles, SpectrumPlan};
use super::{
    Correction, CorrectionStatus, Evaluation, Integrator, Method, Moments, OperatorConfig, Order,
};
use crate::error::Result;
use crate::machine::{Grid, Limits, Machine};
use crate::memory_plan::{Memory, check_memory};

/// Threads of a block in the kernels with one thread a cell.
const CELL_THREADS: u32 = 128;
/// Threads of a block of the collision frequency.
const FREQUENCY_THREADS: u32 = 256;
/// Warps that one multiprocessor can keep busy with the direct kernel, which needs up to 72 registers a thread.
const RESIDENT_WARPS: usize = 28;
/// Time steps between two visits of the host.
const ROWS: usize = 64;
/// Shared memory that the hardware keeps for itself in each block.
const BLOCK_OVERHEAD: usize = 1024;

/// The paper's sum on a machine: tables, buffers of the parts, and where the parts of each ix lie.
struct Direct<M: Machine, T: Real> {
    shape: DirectShape,
    blocks: u32,
    tasks: M::Buffer<[u32; 4]>,
    offsets: M::Buffer<u32>,
    entries: M::Buffer<u32>,
    weights: M::Buffer<T>,
    speed: M::Buffer<T>,
    parts: M::Buffer<T>,
    first: M::Buffer<u32>,
}

/// Warps of a block of the direct kernel: as many as keep a multiprocessor full, in blocks small enough to share it.
///
/// `None` where even one warp's planes exceed the shared memory of a block.
fn direct_warps<T: Real>(n: u32, limits: &Limits) -> Option<u32> {
    let planes = |warps: u32| {
        let shape = DirectShape {
            n,
            radii: 0,
            halves: 0,
            warps,
        };
        let layout = [shape.plane_words(), shape.plane_words(), warps * n * n];
        layout
            .iter()
            .map(|&words| (words as usize * size_of::<T>()).next_multiple_of(16))
            .sum::<usize>()
    };
    let resident = |warps: u32| {
        let blocks = limits.shared_bytes_per_multiprocessor / (planes(warps) + BLOCK_OVERHEAD);
        (blocks * warps as usize).min(RESIDENT_WARPS)
    };
    [4, 8, 12, 16, 2, 1]
        .into_iter()
        .filter(|&warps| planes(warps) <= limits.shared_bytes_per_block)
        .max_by(|&a, &b| resident(a).cmp(&resident(b)).then(b.cmp(&a)))
}

impl<M: Machine, T: Real> Direct<M, T> {
    fn new(machine: &M, n: usize, gamma: f64, order: Order) -> Result<Self> {
        let limits = machine.limits()?;
        let lists = DirectLists::new(n, order);
        let tasks = DirectTasks::new(&lists);
        let n32 = n as u32;
        let Some(warps) = direct_warps::<T>(n32, &limits) else {
            let shape = DirectShape {
                n: n32,
                radii: 0,
                halves: 0,
                warps: 1,
            };
            let words = (2 * shape.plane_words() + n32 * n32) as usize;
            return Err(crate::Error::Memory {
                what: format!("the direct method on a grid of {n}^3 in {}", T::NAME),
                memory: "shared memory of a block",
                needed: (words * size_of::<T>()) as u64,
                available: limits.shared_bytes_per_block as u64,
                remedy: "use the fast method, a coarser grid or f32".into(),
            });
        };
        let parts = tasks.tasks.len() * n * n;
        let tables = size_of_val(&lists.offsets[..]) + lists.entries.len() * (4 + size_of::<T>());
        check_memory(
            &format!("the direct method on a grid of {n}^3 in {}", T::NAME),
            Memory::Device,
            (parts * size_of::<T>() + tables + tasks.tasks.len() * 16) as u64,
            limits.free_bytes,
            "use the fast method or a coarser grid",
        )?;
        Ok(Self {
            shape: DirectShape {
                warps,
                ..lists.shape
            },
            blocks: tasks.tasks.len() as u32,
            tasks: machine.upload(&tasks.tasks)?,
            offsets: machine.upload(&lists.offsets)?,
            entries: machine.upload(&lists.entries)?,
            weights: machine.upload(&convert::<T>(&lists.weights))?,
            speed: machine.upload(&convert::<T>(&speeds(n, gamma)))?,
            parts: machine.allocate(parts)?,
            first: machine.upload(&tasks.first)?,
        })
    }

    fn gain(&mut self, machine: &M, f: &M::Buffer<T>, gain: &mut M::Buffer<T>) -> Result<()> {
        machine.launch(
            Grid {
                blocks: self.blocks,
                threads: self.shape.warps * 32,
            },
            kernels::inverse_collision_integral {
                f,
                tasks: &self.tasks,
                offsets: &self.offsets,
                entries: &self.entries,
                weights: &self.weights,
                speed: &self.speed,
                buffer: &mut self.parts,
                shape: self.shape,
            },
        )?;
        let n = self.shape.n;
        machine.launch(
            Grid::per_item((n * n * n) as usize, CELL_THREADS),
            kernels::collect {
                buffer: &self.parts,
                first: &self.first,
                out: gain,
                plane: n * n,
            },
        )
    }
}

/// The restructured sum on a machine.
struct Fast<M: Machine, T: Real> {
    plan: SpectrumPlan,
    padded: M::Buffer<T>,
    tasks: M::Buffer<Quad<u32>>,
    orbits: M::Buffer<Quad<u32>>,
    classes: M::Buffer<u32>,
    reach: M::Buffer<u32>,
    coefficients: M::Buffer<Quad<T>>,
    spectrum: M::Buffer<T>,
    order: M::Buffer<u32>,
    places: M::Buffer<Quad<u32>>,
    distinct: M::Buffer<u32>,
    map: M::Buffer<u32>,
    speed: M::Buffer<T>,
    z_sums: M::Buffer<T>,
}

impl<M: Machine, T: Real> Fast<M, T> {
    fn new(machine: &M, n: usize, gamma: f64, order: Order) -> Result<Self> {
        let free = machine.limits()?.free_bytes;
        let plan = SpectrumPlan::new::<T>(n, 1, free / 2);
        let bands = BandTiles::new(&OrbitTable::of(n, order));
        let tables =
            bands.coefficients.len() * size_of::<T>() + (plan.map.len() + plan.distinct.len()) * 4;
        check_memory(
            &format!("the fast method on a grid of {n}^3 in {}", T::NAME),
            Memory::Device,
            plan.working_bytes::<T>(1) + tables as u64,
            free,
            "use a coarser grid or f32",
        )?;
        let FastShape { n: n32, .. } = plan.shape;
        let quads: Vec<Quad<T>> = bands
            .coefficients
            .chunks_exact(4)
            .map(|four| Quad(std::array::from_fn(|k| T::from_f64(four[k]))))
            .collect();
        let spectrum = plan.shape.tiles as usize * (kernels::TILE * plan.shape.columns()) as usize;
        Ok(Self {
            padded: machine.upload(&vec![T::ZERO; plan.shape.padded() as usize])?,
            tasks: machine.upload(&plan.tasks)?,
            orbits: machine.upload(&bands.orbits)?,
            classes: machine.upload(&bands.classes)?,
            reach: machine.upload(&bands.reach)?,
            coefficients: machine.upload(&quads)?,
            spectrum: machine.allocate(spectrum)?,
            order: machine.upload(&plan.order)?,
            places: machine.upload(&plan.places)?,
            distinct: machine.upload(&plan.distinct)?,
            map: machine.upload(&plan.map)?,
            speed: machine.upload(&convert::<T>(&speeds(n32 as usize, gamma)))?,
            z_sums: machine.allocate(plan.shape.z_sums as usize)?,
            plan,
        })
    }

    fn gain(&mut self, machine: &M, f: &M::Buffer<T>, gain: &mut M::Buffer<T>) -> Result<()> {
        let n = self.plan.shape.n;
        let padded = kernels::pad_rows {
            f,
            padded: &mut self.padded,
            shape: self.plan.shape,
        };
        machine.launch(Grid::per_item((n * n * n) as usize, CELL_THREADS), padded)?;
        for pass in &self.plan.passes {
            let shape = FastShape {
                first_task: pass.tasks.start,
                launch_tasks: pass.tasks.len() as u32,
                ..self.plan.shape
            };
            machine.launch(
                Grid {
                    blocks: shape.launch_tasks,
                    threads: SPECTRUM_THREADS,
                },
                kernels::speed_spectrum {
                    padded: &self.padded,
                    tasks: &self.tasks,
                    orbits: &self.orbits,
                    classes: &self.classes,
                    reach: &self.reach,
                    coefficients: &self.coefficients,
                    spectrum: &mut self.spectrum,
                    shape,
                },
            )?;
            let launch_places = pass.places.len() as u32;
            machine.launch(
                Grid {
                    blocks: launch_places,
                    threads: GATHER_THREADS,
                },
                kernels::gather_z {
                    spectrum: &self.spectrum,
                    order: &self.order,
                    places: &self.places,
                    distinct: &self.distinct,
                    speed: &self.speed,
                    z_sums: &mut self.z_sums,
                    shape,
                    first_place: pass.places.start,
                    launch_places,
                },
            )?;
        }
        machine.launch(
            Grid {
                blocks: n * n,
                threads: GATHER_THREADS,
            },
            kernels::gather_xy {
                z_sums: &self.z_sums,
                places: &self.places,
                map: &self.map,
                gain,
                shape: self.plan.shape,
            },
        )
    }
}

/// The gain by either method.
enum Gain<M: Machine, T: Real> {
    Direct(Direct<M, T>),
    Fast(Box<Fast<M, T>>),
}

impl<M: Machine, T: Real> Gain<M, T> {
    fn new(machine: &M, n: usize, gamma: f64, method: Method, order: Order) -> Result<Self> {
        Ok(match method {
            Method::Direct => Self::Direct(Direct::new(machine, n, gamma, order)?),
            Method::Fast => Self::Fast(Box::new(Fast::new(machine, n, gamma, order)?)),
        })
    }

    fn gain(&mut self, machine: &M, f: &M::Buffer<T>, gain: &mut M::Buffer<T>) -> Result<()> {
        match self {
            Self::Direct(direct) => direct.gain(machine, f, gain),
            Self::Fast(fast) => fast.gain(machine, f, gain),
        }
    }
}

/// The collision frequency on a machine, in parts like the gain.
struct Frequency<M: Machine, T: Real> {
    n: u32,
    b: M::Buffer<T>,
    parts: M::Buffer<T>,
    first: M::Buffer<u32>,
}

impl<M: Machine, T: Real> Frequency<M, T> {
    fn new(machine: &M, n: usize, gamma: f64) -> Result<Self> {
        let first: Vec<u32> = (0..=n).map(|ix| (ix * n) as u32).collect();
        Ok(Self {
            n: n as u32,
            b: machine.upload(&convert::<T>(&frequency_coefficients(n, gamma)))?,
            parts: machine.allocate(n.pow(4))?,
            first: machine.upload(&first)?,
        })
    }

    fn frequency(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        frequency: &mut M::Buffer<T>,
    ) -> Result<()> {
        let n = self.n;
        machine.launch(
            Grid {
                blocks: n * n,
                threads: FREQUENCY_THREADS,
            },
            kernels::collision_frequency {
                f,
                b: &self.b,
                buffer: &mut self.parts,
                n,
            },
        )?;
        machine.launch(
            Grid::per_item((n * n * n) as usize, CELL_THREADS),
            kernels::collect {
                buffer: &self.parts,
                first: &self.first,
                out: frequency,
                plane: n * n,
            },
        )
    }
}

/// The state, its rate and everything between them, in the memory of a machine.
pub(super) struct MachineEngine<M: Machine, T: Real> {
    machine: Arc<M>,
    name: String,
    config: OperatorConfig,
    shape: GridShape,
    factor: f64,
    /// Power of two by which the working copy differs from the state.
    scale: f64,
    gain_of: Gain<M, T>,
    frequency_of: Frequency<M, T>,
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
    step: Option<(Integrator, StepRule, Option<M::Graph>)>,
}

impl<M: Machine, T: Real> MachineEngine<M, T> {
    pub(super) fn new(machine: M, name: String, config: &OperatorConfig) -> Result<Self> {
        let grid = config.grid;
        let (n, cells) = (grid.n(), grid.cells());
        let gamma = config.scattering.gamma();
        Ok(Self {
            shape: GridShape {
                min: grid.min(),
                spacing: grid.spacing(),
                n: n as u32,
                cells: cells as u32,
            },
            factor: config.lattice_factor(),
            scale: 1.0,
            gain_of: Gain::new(&machine, n, gamma, config.method, config.order)?,
            frequency_of: Frequency::new(&machine, n, gamma)?,
            f: machine.allocate(cells)?,
            start: machine.allocate(cells)?,
            work: machine.allocate(cells)?,
            gain: machine.allocate(cells)?,
            frequency: machine.allocate(cells)?,
            rate: machine.allocate(cells)?,
            summary: machine.allocate(summary::LEN)?,
            control: machine.allocate(control::LEN)?,
            rows: machine.upload(&vec![0.0; ROWS * row::LEN])?,
            count: machine.allocate(1)?,
            step: None,
            config: config.clone(),
            name,
            machine: Arc::new(machine),
        })
    }

    fn cell_grid(&self) -> Grid {
        Grid::per_item(self.shape.cells as usize, CELL_THREADS)
    }

    /// The rate at the state whose working copy is in `work`.
    fn evaluate(&mut self) -> Result<()> {
        self.gain_of
            .gain(&self.machine, &self.work, &mut self.gain)?;
        self.frequency_of
            .frequency(&self.machine, &self.work, &mut self.frequency)?;
        self.correct()
    }

    fn correct(&mut self) -> Result<()> {
        self.machine.launch(
            Grid {
                blocks: 1,
                threads: REDUCE_THREADS,
            },
            kernels::conserve {
                f: &self.f,
                gain: &self.gain,
                frequency: &self.frequency,
                rate: &mut self.rate,
                summary: &mut self.summary,
                shape: self.shape,
                factor: self.factor,
                unscale: self.scale.recip(),
                corrected: u32::from(self.config.corrected),
            },
        )
    }

    /// One time step, as a graph from the third time on: the first one loads the kernels, the second one is recorded.
    fn step(&mut self, integrator: Integrator, rule: &StepRule) -> Result<()> {
        let machine = self.machine.clone();
        match &self.step {
            Some((i, r, Some(graph))) if (*i, *r) == (integrator, *rule) => machine.replay(graph),
            Some((i, r, None)) if (*i, *r) == (integrator, *rule) => {
                let graph = machine.capture(&mut || self.issue_step(integrator, rule))?;
                match &graph {
                    Some(graph) => machine.replay(graph)?,
                    None => self.issue_step(integrator, rule)?,
                }
                self.step = Some((integrator, *rule, graph));
                Ok(())
            }
            _ => {
                self.step = Some((integrator, *rule, None));
                self.issue_step(integrator, rule)
            }
        }
    }

    /// Launches one time step: step size, stages, evaluation at the new state, and its row.
    fn issue_step(&mut self, integrator: Integrator, rule: &StepRule) -> Result<()> {
        self.machine.launch(
            Grid {
                blocks: 1,
                threads: 32,
            },
            kernels::choose_step {
                summary: &self.summary,
                control: &mut self.control,
                rule: *rule,
            },
        )?;
        self.begin()?;
        for (stage, &keep) in stages(integrator).iter().enumerate() {
            if stage > 0 {
                self.evaluate()?;
            }
            self.machine.launch(
                self.cell_grid(),
                kernels::runge_kutta_stage {
                    start: &self.start,
                    rate: &self.rate,
                    control: &self.control,
                    f: &mut self.f,
                    work: &mut self.work,
                    keep,
                    scale: self.scale,
                },
            )?;
        }
        self.evaluate()?;
        self.record()
    }

    fn record(&mut self) -> Result<()> {
        self.machine.launch(
            Grid {
                blocks: 1,
                threads: REDUCE_THREADS,
            },
            kernels::record {
                f: &self.f,
                control: &self.control,
                summary: &self.summary,
                count: &mut self.count,
                rows: &mut self.rows,
                shape: self.shape,
            },
        )
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
        self.machine.launch(
            self.cell_grid(),
            kernels::begin_step {
                f: &self.f,
                start: &mut self.start,
                work: &mut self.work,
                scale: self.scale,
            },
        )
    }

    fn fetch<E: Element + Default>(&self, buffer: &M::Buffer<E>, len: usize) -> Result<Vec<E>> {
        let mut data = vec![E::default(); len];
        self.machine.read(buffer, &mut data)?;
        Ok(data)
    }

    /// Values in lattice units and of degree `degree` in the working copy, fetched and scaled to physical ones.
    fn fetch_scaled(&self, buffer: &M::Buffer<T>, degree: i32) -> Result<Vec<f64>> {
        let values = self.fetch(buffer, self.shape.cells as usize)?;
        let scale = self.scale.recip().powi(degree);
        Ok(values
            .into_iter()
            .map(|value| value.to_f64() * scale * self.factor)
            .collect())
    }
}

impl<M: Machine, T: Real> Engine for MachineEngine<M, T> {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn set_state(&mut self, f: &[f64], time: f64) -> Result<Row> {
        self.scale = working_scale(f);
        self.step = None;
        self.machine.write(&mut self.f, f)?;
        self.machine.write(&mut self.control, &[time, 0.0, 0.0])?;
        self.begin()?;
        self.evaluate()?;
        self.machine.write(&mut self.count, &[0])?;
        self.record()?;
        Ok(self.fetch_rows(1)?[0])
    }

    fn advance(
        &mut self,
        integrator: Integrator,
        rule: &StepRule,
        steps: usize,
    ) -> Result<Vec<Row>> {
        let mut rows = Vec::with_capacity(steps);
        while rows.len() < steps {
            let batch = ROWS.min(steps - rows.len());
            self.machine.write(&mut self.count, &[0])?;
            for _ in 0..batch {
                self.step(integrator, rule)?;
            }
            rows.extend(self.fetch_rows(batch)?);
        }
        Ok(rows)
    }

    fn state(&mut self) -> Result<Vec<f64>> {
        self.fetch(&self.f, self.shape.cells as usize)
    }

    fn evaluation(&mut self) -> Result<Evaluation> {
        Ok(Evaluation {
            gain: self.fetch_scaled(&self.gain, 2)?,
            frequency: self.fetch_scaled(&self.frequency, 1)?,
            rate: self.fetch(&self.rate, self.shape.cells as usize)?,
            correction: correction(&self.fetch(&self.summary, summary::LEN)?),
        })
    }

    fn time_evaluations(&mut self, part: Part, repetitions: u32) -> Result<Duration> {
        let machine = self.machine.clone();
        machine.time(&mut || {
            for _ in 0..repetitions {
                match part {
                    Part::All => self.evaluate()?,
                    Part::Gain => self
                        .gain_of
                        .gain(&self.machine, &self.work, &mut self.gain)?,
                    Part::Frequency => self.frequency_of.frequency(
                        &self.machine,
                        &self.work,
                        &mut self.frequency,
                    )?,
                    Part::Correction => self.correct()?,
                }
            }
            Ok(())
        })
    }
}

/// What a recorded row says; sums over cells become integrals with the cells' volume.
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

fn convert<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&value| T::from_f64(value)).collect()
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
    use crate::collision::{VelocityGrid, initial};
    use crate::emulator::{Emulator, ThreadOrder};

    /// State, rate and moments after two steps, with the threads of every kernel in a given order.
    fn run<T: Real>(order: ThreadOrder, method: Method) -> (Vec<f64>, Evaluation, Moments) {
        let grid = VelocityGrid::new(5, -6.5, 6.5).expect("a grid");
        let config = OperatorConfig {
            method,
            ..OperatorConfig::new(grid)
        };
        let mut engine = MachineEngine::<_, T>::new(Emulator::new(order), String::new(), &config)
            .expect("an engine");
        let f = initial::TwoMaxwellians::default().sample(&grid);
        let rule = StepRule {
            fixed: 0.01,
            safety: 0.5,
            end: f64::INFINITY,
        };
        engine.set_state(&f, 0.0).expect("a state");
        let rows = engine
            .advance(Integrator::Ssprk2, &rule, 2)
            .expect("two steps");
        let moments = rows.last().expect("a row").moments;
        (
            engine.state().expect("the state"),
            engine.evaluation().expect("the rate"),
            moments,
        )
    }

    #[test]
    fn no_kernel_depends_on_the_order_of_threads() {
        for method in [Method::Direct, Method::Fast] {
            let single = run::<f32>(ThreadOrder::Ascending, method);
            let double = run::<f64>(ThreadOrder::Ascending, method);
            for order in [
                ThreadOrder::Descending,
                ThreadOrder::Random(7),
                ThreadOrder::Random(8),
            ] {
                assert!(
                    run::<f32>(order, method) == single,
                    "{method:?} f32, {order:?}"
                );
                assert!(
                    run::<f64>(order, method) == double,
                    "{method:?} f64, {order:?}"
                );
            }
        }
    }

    #[test]
    fn blocks_of_the_direct_kernel_fit_into_shared_memory() {
        let h200 = Emulator::default().limits().expect("limits");
        let turing = Limits {
            shared_bytes_per_block: 64 * 1024,
            shared_bytes_per_multiprocessor: 64 * 1024,
            multiprocessors: 40,
            free_bytes: 8 << 30,
        };
        for n in 3..=VelocityGrid::MAX_N as u32 {
            let planes = |warps: u32, size: usize| {
                let shape = DirectShape {
                    n,
                    radii: 0,
                    halves: 0,
                    warps,
                };
                (2 * shape.plane_words() + warps * n * n) as usize * size
            };
            if let Some(warps) = direct_warps::<f32>(n, &h200) {
                assert!(planes(warps, 4) <= h200.shared_bytes_per_block, "{n}");
            }
            if let Some(warps) = direct_warps::<f64>(n, &turing) {
                assert!(planes(warps, 8) <= turing.shared_bytes_per_block, "{n}");
            }
        }
        // The paper's grid fits everywhere, the largest only in f32 on a large GPU.
        assert!(direct_warps::<f64>(20, &turing).is_some());
        assert!(direct_warps::<f32>(64, &h200).is_some());
        assert!(direct_warps::<f64>(64, &h200).is_none());
    }
}
