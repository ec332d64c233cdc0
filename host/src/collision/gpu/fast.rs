//! The restructured sum: `pad_rows`, `pair_products`, `speed_spectrum`, `gather_z` and `gather_xy`.

use rarefy_kernels::collision::{
    self as kernels, FastShape, PAIRS, SPECTRUM_THREADS, product_threads,
};
use rarefy_kernels::{Quad, Real};

use super::values::{CELL_THREADS, convert};
use crate::collision::Order;
use crate::collision::coefficients::{OrbitTable, speeds};
use crate::collision::spectrum_plan::{BandTiles, EntryLists, SpectrumPlan};
use crate::error::Result;
use crate::machine::{Grid, Machine};
use crate::memory_plan::{Memory, check_memory};

/// Blocks that fill memory with zeros.
const CLEAR_BLOCKS: u32 = 1024;

/// Threads of `gather_xy` for each multiprocessor from which on they take several cells each.
const GATHER_PLENTY: u32 = 512;

/// The restructured sum on a machine.
pub(super) struct Fast<M: Machine, T: Real> {
    plan: SpectrumPlan,
    items: u32,
    /// Whether the sum is the bilinear one of two distributions, those of all items one after the other.
    mixed: bool,
    /// Cells of a thread of `gather_xy`.
    run: u32,
    /// The distributions in rows of whole quads, where their own rows are not.
    padded: Option<M::Buffer<T>>,
    pairs: M::Buffer<u32>,
    tiles: M::Buffer<u32>,
    products: M::Buffer<T>,
    blocks: M::Buffer<u32>,
    entries: M::Buffer<u32>,
    coefficients: M::Buffer<T>,
    speed: M::Buffer<T>,
    spectrum: M::Buffer<T>,
    tasks: M::Buffer<Quad<u32>>,
    gathers: M::Buffer<u32>,
    distinct: M::Buffer<u32>,
    z_sums: M::Buffer<T>,
    places: M::Buffer<u32>,
    map: M::Buffer<u32>,
}

/// Bytes of what a machine keeps besides intermediate results.
fn table_bytes<T: Real>(plan: &SpectrumPlan, lists: &EntryLists, bands: &BandTiles) -> u64 {
    let words = plan.pairs.len() + lists.blocks.len() + lists.entries.len() + plan.map.len();
    (bands.coefficients.len() * size_of::<T>() + words * 4) as u64
}

/// The plan with passes of half of the `free` bytes, or of less where tables and z-sums would not fit beside them with a sixteenth left for others.
fn fitting<T: Real>(
    n: usize,
    items: usize,
    bands: &BandTiles,
    free: u64,
) -> (SpectrumPlan, EntryLists) {
    let mut budget = free / 2;
    let mut plan = SpectrumPlan::new::<T>(n, items, budget);
    let lists = EntryLists::new(&plan, bands);
    // The same for any passes, but for their order.
    let tables = table_bytes::<T>(&plan, &lists, bands);
    let fits = |plan: &SpectrumPlan| plan.working_bytes::<T>(items) + tables <= free - free / 16;
    if fits(&plan) {
        return (plan, lists);
    }
    while !fits(&plan) && plan.passes.len() < plan.tasks.len() / 2 && budget > 0 {
        budget -= budget.div_ceil(8);
        plan = SpectrumPlan::new::<T>(n, items, budget);
    }
    let lists = EntryLists::new(&plan, bands);
    (plan, lists)
}

impl<M: Machine, T: Real> Fast<M, T> {
    pub(super) fn new(
        machine: &M,
        n: usize,
        gamma: f64,
        order: Order,
        items: usize,
        mixed: bool,
    ) -> Result<Self> {
        let limits = machine.limits()?;
        let free = limits.free_bytes;
        let bands = BandTiles::new(&OrbitTable::of(n, order));
        let (plan, lists) = fitting::<T>(n, items, &bands, free);
        // Up to 16 bytes where enough threads are left.
        let enough = GATHER_PLENTY * limits.multiprocessors.max(1);
        let run = [4, 2].into_iter().find(|&run| {
            let threads = (items * n * n) as u32 * plan.shape.gather_xy_threads(run);
            run * size_of::<T>() as u32 <= 16
                && plan.shape.n.is_multiple_of(run)
                && threads >= enough
        });
        let run = run.unwrap_or(1);
        check_memory(
            &format!("the fast method on a grid of {n}^3 in {}", T::NAME),
            Memory::Device,
            plan.working_bytes::<T>(items) + table_bytes::<T>(&plan, &lists, &bands),
            free,
            "use a coarser grid or f32",
        )?;
        let zeros = |len: usize| -> Result<M::Buffer<T>> {
            let mut buffer = machine.allocate(len)?;
            let blocks = Grid::per_item(len, CELL_THREADS).blocks.min(CLEAR_BLOCKS);
            let grid = Grid {
                blocks,
                threads: CELL_THREADS,
            };
            machine.launch(grid, kernels::clear { out: &mut buffer })?;
            Ok(buffer)
        };
        let padded = if plan.shape.stride() == plan.shape.n {
            None
        } else {
            let copies = if mixed { 2 } else { 1 };
            Some(zeros(copies * items * plan.shape.padded() as usize)?)
        };
        let products = zeros(items * plan.shape.products())?;
        Ok(Self {
            padded,
            pairs: machine.upload(&plan.pairs)?,
            tiles: machine.upload(&plan.tiles)?,
            products,
            blocks: machine.upload(&lists.blocks)?,
            entries: machine.upload(&lists.entries)?,
            coefficients: machine.upload(&convert::<T>(&bands.coefficients))?,
            speed: machine.upload(&convert::<T>(&speeds(n, gamma)))?,
            spectrum: machine.allocate(items * plan.shape.spectrum())?,
            tasks: machine.upload(&plan.tasks)?,
            gathers: machine.upload(&plan.gathers)?,
            distinct: machine.upload(&plan.distinct)?,
            z_sums: machine.allocate(items * plan.shape.z_sums as usize)?,
            places: machine.upload(&plan.places)?,
            map: machine.upload(&plan.map)?,
            items: items as u32,
            mixed,
            run,
            plan,
        })
    }

    /// Bytes that one distribution more takes.
    pub(super) fn bytes_per_item(n: usize) -> u64 {
        SpectrumPlan::new::<T>(n, 1, u64::MAX).working_bytes::<T>(1)
    }

    pub(super) fn gain(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        gain: &mut M::Buffer<T>,
    ) -> Result<()> {
        let (n, items) = (self.plan.shape.n, self.items);
        let padded = match &mut self.padded {
            None => f,
            Some(padded) => {
                let copies = if self.mixed { 2 } else { 1 };
                let cells = (copies * items * n * n * n) as usize;
                machine.launch(
                    Grid::per_item(cells, CELL_THREADS),
                    kernels::pad_rows {
                        f,
                        padded,
                        shape: self.plan.shape,
                    },
                )?;
                padded
            }
        };
        for pass in &self.plan.passes {
            let groups = pass.pairs.len().div_ceil(PAIRS as usize);
            let threads = groups * self.plan.tiles.len() * 8;
            let blocks = Grid::per_item(threads, product_threads::<T>()).blocks;
            let grid = Grid {
                blocks: items * blocks,
                threads: product_threads::<T>(),
            };
            let (pairs, tiles) = (&self.pairs, &self.tiles);
            let shape = FastShape {
                first: pass.pairs.start,
                blocks,
                ..self.plan.shape
            };
            let count = pass.pairs.len() as u32;
            if self.mixed {
                let products = kernels::mixed_products {
                    padded,
                    pairs,
                    tiles,
                    products: &mut self.products,
                    shape,
                    count,
                    partner: items * shape.padded(),
                };
                machine.launch(grid, products)?;
            } else {
                let products = kernels::pair_products {
                    padded,
                    pairs,
                    tiles,
                    products: &mut self.products,
                    shape,
                    count,
                };
                machine.launch(grid, products)?;
            }
            let blocks = pass.spectra.len() as u32;
            machine.launch(
                Grid {
                    blocks: items * blocks,
                    threads: SPECTRUM_THREADS,
                },
                kernels::speed_spectrum {
                    products: &self.products,
                    list: &self.blocks,
                    entries: &self.entries,
                    coefficients: &self.coefficients,
                    speed: &self.speed,
                    spectrum: &mut self.spectrum,
                    shape: FastShape {
                        first: pass.spectra.start,
                        blocks,
                        ..self.plan.shape
                    },
                },
            )?;
            let blocks = pass.gathers.len() as u32;
            machine.launch(
                Grid {
                    blocks: items * blocks,
                    threads: self.plan.shape.gather_threads(),
                },
                kernels::gather_z {
                    spectrum: &self.spectrum,
                    tasks: &self.tasks,
                    list: &self.gathers,
                    distinct: &self.distinct,
                    z_sums: &mut self.z_sums,
                    shape: FastShape {
                        first: pass.gathers.start,
                        blocks,
                        ..self.plan.shape
                    },
                },
            )?;
        }
        Ok(machine.launch(
            Grid {
                blocks: items * n * n,
                threads: self.plan.shape.gather_xy_threads(self.run),
            },
            kernels::gather_xy {
                z_sums: &self.z_sums,
                places: &self.places,
                map: &self.map,
                gain,
                shape: self.plan.shape,
                run: self.run,
            },
        )?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::{VelocityGrid, initial};
    use crate::emulator::{Emulator, ThreadOrder};

    /// Gains of some distributions, `run` neighbouring cells by each thread of the last gather.
    fn gains(n: usize, items: usize, run: u32, order: ThreadOrder) -> Vec<f32> {
        let machine = Emulator::new(order);
        let grid = VelocityGrid::new(n, -6.5, 6.5).expect("a grid");
        let f: Vec<f32> = (0..items)
            .flat_map(|k| {
                let beams = initial::TwoMaxwellians {
                    speed: 1.0 + k as f64,
                    ..initial::TwoMaxwellians::default()
                };
                beams.sample(&grid)
            })
            .map(|f| f as f32)
            .collect();
        let mut fast =
            Fast::<_, f32>::new(&machine, n, 1.0, Order::Second, items, false).expect("a plan");
        fast.run = run;
        let f = machine.upload(&f).expect("memory");
        let mut gain = machine.allocate(items * n.pow(3)).expect("memory");
        fast.gain(&machine, &f, &mut gain).expect("a gain");
        let mut values = vec![0.0; items * n.pow(3)];
        machine.read(&gain, &mut values).expect("memory");
        values
    }

    #[test]
    fn little_memory_takes_more_passes() {
        let n = 16;
        let bands = BandTiles::new(&OrbitTable::of(n, Order::Second));
        let bytes = |free: u64| {
            let (plan, lists) = fitting::<f32>(n, 1, &bands, free);
            let bytes = plan.working_bytes::<f32>(1) + table_bytes::<f32>(&plan, &lists, &bands);
            (plan.passes.len(), bytes)
        };
        let (passes, all) = bytes(1 << 30);
        assert_eq!(passes, 1);
        // Half of this would be enough for one pass, but not with the tables beside it.
        for free in [all, all * 9 / 10, all * 8 / 10] {
            let (passes, bytes) = bytes(free);
            assert!(passes > 1 && bytes <= free - free / 16, "{passes}, {bytes}");
        }
    }

    #[test]
    fn the_bits_do_not_depend_on_how_many_cells_a_thread_gathers() {
        for (n, items) in [(8, 2), (12, 1)] {
            let alone = gains(n, items, 1, ThreadOrder::Ascending);
            assert!(alone.iter().any(|gain| *gain > 0.0));
            assert_eq!(gains(n, items, 4, ThreadOrder::Descending), alone, "{n}^3");
        }
    }
}
