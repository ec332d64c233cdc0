//! The restructured sum: `pad_rows`, `speed_spectrum`, `gather_z` and `gather_xy`.

use rarefy_kernels::collision::{self as kernels, FastShape, GATHER_THREADS, SPECTRUM_THREADS};
use rarefy_kernels::{Quad, Real};

use super::{CELL_THREADS, convert};
use crate::collision::Order;
use crate::collision::coefficients::{OrbitTable, speeds};
use crate::collision::spectrum_plan::{BandTiles, SpectrumPlan};
use crate::error::Result;
use crate::machine::{Grid, Machine};
use crate::memory_plan::{Memory, check_memory};

/// The restructured sum on a machine.
pub(super) struct Fast<M: Machine, T: Real> {
    plan: SpectrumPlan,
    items: u32,
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
    pub(super) fn new(
        machine: &M,
        n: usize,
        gamma: f64,
        order: Order,
        items: usize,
    ) -> Result<Self> {
        let free = machine.limits()?.free_bytes;
        let plan = SpectrumPlan::new::<T>(n, items, free / 2);
        let bands = BandTiles::new(&OrbitTable::of(n, order));
        let tables =
            bands.coefficients.len() * size_of::<T>() + (plan.map.len() + plan.distinct.len()) * 4;
        check_memory(
            &format!("the fast method on a grid of {n}^3 in {}", T::NAME),
            Memory::Device,
            plan.working_bytes::<T>(items) + tables as u64,
            free,
            "use a coarser grid or f32",
        )?;
        let FastShape { n: n32, .. } = plan.shape;
        let quads: Vec<Quad<T>> = bands
            .coefficients
            .chunks_exact(4)
            .map(|four| Quad(std::array::from_fn(|k| T::from_f64(four[k]))))
            .collect();
        let spectrum =
            items * plan.shape.tiles as usize * (kernels::TILE * plan.shape.columns()) as usize;
        Ok(Self {
            padded: machine.upload(&vec![T::ZERO; items * plan.shape.padded() as usize])?,
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
            z_sums: machine.allocate(items * plan.shape.z_sums as usize)?,
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
            let shape = FastShape {
                first_task: pass.tasks.start,
                launch_tasks: pass.tasks.len() as u32,
                ..self.plan.shape
            };
            machine.launch(
                Grid {
                    blocks: items * shape.launch_tasks,
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
                    blocks: items * launch_places,
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
