//! The restructured sum: `pad_rows`, `pair_products`, `speed_spectrum`, `gather_z` and `gather_xy`.

use rarefy_kernels::collision::{
    self as kernels, FastShape, GATHER_THREADS, PAIRS, PRODUCT_THREADS, SPECTRUM_THREADS,
};
use rarefy_kernels::{Quad, Real};

use super::{CELL_THREADS, convert};
use crate::collision::Order;
use crate::collision::coefficients::{OrbitTable, speeds};
use crate::collision::spectrum_plan::{BandTiles, SpectrumPlan};
use crate::error::Result;
use crate::machine::{Grid, Machine};
use crate::memory_plan::{Memory, check_memory};

/// Blocks that fill memory with zeros.
const CLEAR_BLOCKS: u32 = 1024;

/// The restructured sum on a machine.
pub(super) struct Fast<M: Machine, T: Real> {
    plan: SpectrumPlan,
    items: u32,
    padded: M::Buffer<T>,
    pairs: M::Buffer<u32>,
    tiles: M::Buffer<u32>,
    products: M::Buffer<T>,
    spectra: M::Buffer<Quad<u32>>,
    starts: M::Buffer<u32>,
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

impl<M: Machine, T: Real> Fast<M, T> {
    pub(super) fn new(
        machine: &M,
        n: usize,
        gamma: f64,
        order: Order,
        items: usize,
    ) -> Result<Self> {
        let free = machine.limits()?.free_bytes;
        let mut plan = SpectrumPlan::new::<T>(n, items, free / 2);
        let bands = BandTiles::new(&OrbitTable::of(n, order));
        plan.shape.pattern_tiles = bands.pattern_tiles;
        let words = plan.pairs.len() + 4 * plan.spectra.len() + plan.map.len();
        let tables = bands.coefficients.len() * size_of::<T>() + (bands.entries.len() + words) * 4;
        check_memory(
            &format!("the fast method on a grid of {n}^3 in {}", T::NAME),
            Memory::Device,
            plan.working_bytes::<T>(items) + tables as u64,
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
        Ok(Self {
            padded: zeros(items * plan.shape.padded() as usize)?,
            pairs: machine.upload(&plan.pairs)?,
            tiles: machine.upload(&plan.tiles)?,
            products: zeros(items * plan.shape.products())?,
            spectra: machine.upload(&plan.spectra)?,
            starts: machine.upload(&bands.starts)?,
            entries: machine.upload(&bands.entries)?,
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
        let padded = kernels::pad_rows {
            f,
            padded: &mut self.padded,
            shape: self.plan.shape,
        };
        machine.launch(
            Grid::per_item((items * n * n * n) as usize, CELL_THREADS),
            padded,
        )?;
        for pass in &self.plan.passes {
            let groups = pass.pairs.len().div_ceil(PAIRS as usize);
            let threads = groups * self.plan.tiles.len() * 8;
            let blocks = Grid::per_item(threads, PRODUCT_THREADS).blocks;
            machine.launch(
                Grid {
                    blocks: items * blocks,
                    threads: PRODUCT_THREADS,
                },
                kernels::pair_products {
                    padded: &self.padded,
                    pairs: &self.pairs,
                    tiles: &self.tiles,
                    products: &mut self.products,
                    shape: FastShape {
                        first: pass.pairs.start,
                        blocks,
                        ..self.plan.shape
                    },
                    count: pass.pairs.len() as u32,
                },
            )?;
            let blocks = pass.spectra.len() as u32;
            machine.launch(
                Grid {
                    blocks: items * blocks,
                    threads: SPECTRUM_THREADS,
                },
                kernels::speed_spectrum {
                    products: &self.products,
                    list: &self.spectra,
                    starts: &self.starts,
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
        machine.launch(
            Grid {
                blocks: items * n * n,
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
