//! The spectral operator: `spectral_transform`, `spectral_planes`, and `spectral_columns` or `mixed_columns`.

use std::f64::consts::TAU;

use rarefy_kernels::Real;
use rarefy_kernels::collision::{self as kernels, MirrorShape, SPECTRAL_COLUMNS, SpectralShape};

use super::values::{CELL_THREADS, convert, copies};
use crate::collision::spectral::Plan;
use crate::collision::{Mirrors, OperatorConfig};
use crate::error::{Error, Result};
use crate::machine::{Grid, Machine};
use crate::memory_plan::{Memory, check_memory};

/// Bytes of the planes of the distributions that are taken up together. Launches of fewer, whose planes stay in the cache that all blocks share, wait for each other longer than memory takes.
const PLANES_BYTES: u64 = 512 << 20;
/// Shared memory of a block of the columns: some blocks share a multiprocessor.
const COLUMN_BYTES: u32 = 48 << 10;
/// The most lines along the first axis that a block takes up together: one for each lane of a warp.
const LINES: u32 = 32;
/// The longest period whose lines are taken up all together.
const ALL_LINES: u32 = 36;

/// Threads of a block, for each of the three kernels.
struct Threads {
    transform: u32,
    planes: u32,
    columns: u32,
}

/// The spectral operator on a machine.
pub(super) struct Spectral<M: Machine, T: Real> {
    shape: SpectralShape,
    threads: Threads,
    /// Symmetries of the distributions.
    mirrors: Mirrors,
    /// Distributions whose integral is wanted.
    items: u32,
    /// Whether the gain is the bilinear one of two distributions, those of all items one after the other.
    mixed: bool,
    /// Items that are taken up together.
    together: u32,
    roots: M::Buffer<T>,
    weights: M::Buffer<T>,
    factors: M::Buffer<T>,
    spectrum: M::Buffer<T>,
    planes: M::Buffer<T>,
}

impl<M: Machine, T: Real> Spectral<M, T> {
    pub(super) fn new(
        machine: &M,
        config: &OperatorConfig,
        items: usize,
        mixed: bool,
    ) -> Result<Self> {
        let limits = machine.limits()?;
        let plan = Plan::new(config);
        let most = limits.shared_bytes_per_block;
        let shape = shape::<T>(&plan, mixed, most)?;
        let copies = if mixed { 2 } else { 1 };
        let bytes = |numbers: u32| u64::from(numbers) * 2 * size_of::<T>() as u64;
        let each = copies * bytes(shape.planes());
        let together =
            (PLANES_BYTES.min(limits.free_bytes / 8) / each).clamp(1, items as u64) as u32;
        let tables = bytes(shape.spectrum()) * u64::from(shape.products + 1);
        check_memory(
            &format!(
                "the spectral method on a grid of {}^3 in {}",
                plan.n,
                T::NAME
            ),
            Memory::Device,
            tables + u64::from(together) * each + bytes_per_item::<T>(config) * items as u64,
            limits.free_bytes,
            "use a coarser grid, a lower degree or f32",
        )?;
        let period = plan.period;
        let roots = (0..period).flat_map(|k| {
            let (sin, cos) = (TAU * k as f64 / period as f64).sin_cos();
            [cos, sin]
        });
        let roots: Vec<f64> = roots.collect();
        let mut factors = plan.factors();
        // The frequency has its own in its multiplier.
        factors.push(1.0);
        let pairs = |numbers: u32| 2 * numbers as usize;
        Ok(Self {
            threads: threads::<T>(&shape, items),
            mirrors: plan.mirrors,
            items: items as u32,
            mixed,
            together,
            roots: machine.upload(&convert::<T>(&roots))?,
            weights: machine.upload(&plan.weights::<T>())?,
            factors: machine.upload(&convert::<T>(&factors))?,
            spectrum: machine.allocate(copies as usize * items * pairs(shape.spectrum()))?,
            planes: machine
                .allocate(copies as usize * together as usize * pairs(shape.planes()))?,
            shape,
        })
    }

    /// The gain and the frequency of `f`, or of the pairs of distributions in it.
    pub(super) fn gain_and_frequency(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        gain: &mut M::Buffer<T>,
        frequency: &mut M::Buffer<T>,
    ) -> Result<()> {
        let (shape, items) = (self.shape, self.items);
        let copies = if self.mixed { 2 } else { 1 };
        let half = shape.period / 2;
        let grid = Grid {
            blocks: copies * items * half,
            threads: self.threads.transform,
        };
        machine.launch(
            grid,
            kernels::spectral_transform {
                f,
                roots: &self.roots,
                spectrum: &mut self.spectrum,
                shape,
            },
        )?;
        let mut first = 0;
        while first < items {
            let count = self.together.min(items - first);
            let grid = Grid {
                blocks: copies * count * (shape.products + 1) * (shape.period / shape.twins()),
                threads: self.threads.planes,
            };
            let planes = kernels::spectral_planes {
                spectrum: &self.spectrum,
                weights: &self.weights,
                roots: &self.roots,
                planes: &mut self.planes,
                shape,
                first,
                count,
                partner: items,
            };
            machine.launch(grid, planes)?;
            let grid = Grid {
                blocks: count * (shape.n * shape.n).div_ceil(SPECTRAL_COLUMNS),
                threads: self.threads.columns,
            };
            if self.mixed {
                let columns = kernels::mixed_columns {
                    planes: &self.planes,
                    factors: &self.factors,
                    roots: &self.roots,
                    gain: &mut *gain,
                    frequency: &mut *frequency,
                    shape,
                    first,
                    count,
                    partner: items,
                };
                machine.launch(grid, columns)?;
            } else {
                let columns = kernels::spectral_columns {
                    planes: &self.planes,
                    factors: &self.factors,
                    roots: &self.roots,
                    gain: &mut *gain,
                    frequency: &mut *frequency,
                    shape,
                    first,
                };
                machine.launch(grid, columns)?;
            }
            first += count;
        }
        self.symmetrise(machine, items, gain)?;
        self.symmetrise(machine, copies * items, frequency)
    }

    /// Replaces the values of each of so many distributions by their means over the images of a velocity.
    fn symmetrise(&self, machine: &M, items: u32, values: &mut M::Buffer<T>) -> Result<()> {
        if self.mirrors.is_none() {
            return Ok(());
        }
        let Mirrors { y, z, exchange } = self.mirrors;
        let shape = MirrorShape {
            n: self.shape.n,
            values: items * self.shape.n.pow(3),
            y: u32::from(y),
            z: u32::from(z),
            exchange: u32::from(exchange),
        };
        let grid = Grid::per_item(shape.values as usize, CELL_THREADS);
        Ok(machine.launch(grid, kernels::mean_of_images { values, shape })?)
    }
}

/// Bytes of spectra that one distribution more takes.
pub(super) fn bytes_per_item<T: Real>(config: &OperatorConfig) -> u64 {
    let chosen = config.spectral.resolved(config.grid.n(), config.scattering);
    let period = u64::from(chosen.period.unwrap_or(0));
    copies(config) as u64 * period.pow(3) * size_of::<T>() as u64
}

/// The shape of a plan's kernels that fits into the shared memory of a block.
fn shape<T: Real>(plan: &Plan, mixed: bool, most: usize) -> Result<SpectralShape> {
    let size = size_of::<T>() as u32;
    let (n, period) = (plan.n as u32, plan.period as u32);
    let mut shape = SpectralShape {
        n,
        over_n: SpectralShape::reciprocal(n),
        period,
        products: plan.products() as u32,
        lines: 1,
        over_lines: 0,
        together: 1,
    };
    let roots = 2 * shape.period;
    let of_planes =
        |shape: &SpectralShape| (roots + shape.line_words() + shape.plane_words()) * size;
    let of_transform = |shape: &SpectralShape| {
        (roots + 2 * (shape.lines + shape.period) * shape.line_stride()) * size
    };
    let fits = |shape: &SpectralShape| of_planes(shape).max(of_transform(shape)) as usize <= most;
    // The same in each round.
    let most_lines = if period <= ALL_LINES { period } else { LINES };
    shape.set_lines(period.div_ceil(period.div_ceil(most_lines)));
    while !fits(&shape) && shape.lines > 4 {
        shape.set_lines(shape.lines / 2);
    }
    let copies = if mixed { 2 } else { 1 };
    let each = (copies * 2 * shape.column_stride() + shape.n * SPECTRAL_COLUMNS) * size;
    shape.together = (COLUMN_BYTES / each).clamp(1, shape.products + 1);
    if fits(&shape) {
        return Ok(shape);
    }
    Err(Error::invalid(
        "grid",
        format!("{}^3 in {}", shape.n, T::NAME),
        format!(
            "a coarser grid or f32: the spectral method needs {} KiB of shared memory a block and {} KiB are there",
            of_planes(&shape).max(of_transform(&shape)).div_ceil(1024),
            most / 1024
        ),
    ))
}

/// Threads of a block that takes up so many tasks in each of its passes: few idle ones, and few rounds.
fn even(passes: &[(u32, u32)], most: u32) -> u32 {
    /// Threads that a round is worth.
    const ROUND: u32 = 64;
    let rounds = |threads: u32| -> u32 {
        let rounds = passes.iter();
        rounds
            .map(|(tasks, times)| times * tasks.div_ceil(threads))
            .sum()
    };
    let choices = (2..=most / 32).map(|warps| 32 * warps);
    choices
        .min_by_key(|&threads| (rounds(threads) * (threads + ROUND), most - threads))
        .unwrap_or(most)
}

/// A thread for each short transform of a pass, within what a block may have.
fn threads<T: Real>(shape: &SpectralShape, items: usize) -> Threads {
    let SpectralShape {
        n, lines, together, ..
    } = *shape;
    let ([first, second], twins) = (shape.radices(), shape.twins());
    // A single grid has few blocks of columns; those of many grids hide each other's barriers.
    let most = match (size_of::<T>(), items) {
        (4, 1) => 640,
        _ => 320,
    };
    let rounds = shape.period.div_ceil(lines);
    Threads {
        transform: (lines.min(n) * n).next_multiple_of(32).clamp(64, 512),
        planes: even(
            &[
                (lines * second, rounds),
                (twins * lines * first, rounds),
                (twins * n * second, 1),
                (twins * n * first, 1),
            ],
            384,
        ),
        // At least one for each cell of the block.
        columns: even(
            &[
                (together * second * SPECTRAL_COLUMNS, 1),
                (together * first * SPECTRAL_COLUMNS, 1),
            ],
            most,
        )
        .max((n * SPECTRAL_COLUMNS).next_multiple_of(32)),
    }
}
