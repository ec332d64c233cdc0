//! The paper's sum, term by term: `inverse_collision_integral` and `collect`.

use rarefy_kernels::Real;
use rarefy_kernels::collision::{self as kernels, DirectShape};

use super::lists::{DirectLists, DirectTasks};
use crate::collision::Order;
use crate::collision::coefficients::speeds;
use crate::collision::gpu::values::{CELL_THREADS, convert};
use crate::error::Result;
use crate::machine::{Grid, Limits, Machine};
use crate::memory_plan::{Memory, check_memory};

/// Warps that one multiprocessor can keep busy with the direct kernel, which needs up to 72 registers a thread.
const RESIDENT_WARPS: usize = 28;
/// Shared memory that the hardware keeps for itself in each block.
const BLOCK_OVERHEAD: usize = 1024;

/// The paper's sum on a machine: tables, buffers of the parts, and where the parts of each ix lie.
pub(in crate::collision) struct Direct<M: Machine, T: Real> {
    /// Whether the sum is the bilinear one of two distributions.
    mixed: bool,
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
    pub(in crate::collision) fn new(
        machine: &M,
        n: usize,
        gamma: f64,
        order: Order,
        mixed: bool,
    ) -> Result<Self> {
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
            let error = rarefy_simt::Error::Memory {
                what: format!("the direct method on a grid of {n}^3 in {}", T::NAME),
                memory: "shared memory of a block",
                needed: (words * size_of::<T>()) as u64,
                available: limits.shared_bytes_per_block as u64,
                remedy: "use the fast method, a coarser grid or f32".into(),
            };
            return Err(error.into());
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
            mixed,
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

    /// The gain of `f`, or the bilinear sum of the two distributions that `f` holds one after the other.
    pub(in crate::collision) fn gain(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        gain: &mut M::Buffer<T>,
    ) -> Result<()> {
        let cells = self.shape.n.pow(3);
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
                partner: if self.mixed { cells } else { 0 },
            },
        )?;
        let n = self.shape.n;
        Ok(machine.launch(
            Grid::per_item(cells as usize, CELL_THREADS),
            kernels::collect {
                buffer: &self.parts,
                first: &self.first,
                out: gain,
                plane: n * n,
            },
        )?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::VelocityGrid;
    use crate::emulator::Emulator;

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
