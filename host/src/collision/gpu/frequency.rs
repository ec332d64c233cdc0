//! The collision frequency: `collision_frequency` and `collect`.

use rarefy_kernels::collision as kernels;
use rarefy_kernels::{Real, WARP};

use super::{CELL_THREADS, convert};
use crate::collision::coefficients::frequency_coefficients;
use crate::error::Result;
use crate::machine::{Grid, Machine};

/// Least and most threads of a block of the collision frequency.
const FEWEST_THREADS: u32 = 128;
const MOST_THREADS: u32 = 512;

/// The collision frequency of some distributions on a machine, in parts like the gain.
pub(super) struct Frequency<M: Machine, T: Real> {
    n: u32,
    items: u32,
    b: M::Buffer<T>,
    parts: M::Buffer<T>,
    first: M::Buffer<u32>,
}

impl<M: Machine, T: Real> Frequency<M, T> {
    pub(super) fn new(machine: &M, n: usize, gamma: f64, items: usize) -> Result<Self> {
        let first: Vec<u32> = (0..=items * n).map(|row| (row * n) as u32).collect();
        Ok(Self {
            n: n as u32,
            items: items as u32,
            b: machine.upload(&convert::<T>(&frequency_coefficients(n, gamma)))?,
            parts: machine.allocate(items * n.pow(4))?,
            first: machine.upload(&first)?,
        })
    }

    pub(super) fn frequency(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        frequency: &mut M::Buffer<T>,
    ) -> Result<()> {
        let (n, items) = (self.n, self.items);
        // One for each column of cells: the planes of a large grid fill the shared memory of a multiprocessor, and no other block hides the waiting.
        let columns = n.div_ceil(kernels::FREQUENCY_ROWS as u32) * n;
        let threads = columns
            .next_multiple_of(WARP)
            .clamp(FEWEST_THREADS, MOST_THREADS);
        machine.launch(
            Grid {
                blocks: items * n * n,
                threads,
            },
            kernels::collision_frequency {
                f,
                b: &self.b,
                buffer: &mut self.parts,
                n,
            },
        )?;
        machine.launch(
            Grid::per_item((items * n * n * n) as usize, CELL_THREADS),
            kernels::collect {
                buffer: &self.parts,
                first: &self.first,
                out: frequency,
                plane: n * n,
            },
        )
    }
}
