//! The balanced correction: `sum_state` and `deviate` before the sums, `sum_imbalance`, `balance` and `summarise_balance` after them.

use rarefy_kernels::Real;
use rarefy_kernels::collision::{
    self as kernels, BALANCE_WORDS, END_WORDS, GridShape, MAXWELLIAN_WORDS, SHARE_THREADS,
};

use super::correction::{Sums, SumsBy, sharing};
use crate::error::Result;
use crate::machine::{Grid, Machine};

/// Threads of the block that adds up a distribution's sums: some warps for the twelve of them.
const SUMMARY_THREADS: u32 = 128;

/// Intermediate results of the steps.
pub(super) struct Balance<M: Machine> {
    shape: GridShape,
    items: u32,
    /// Blocks that share a distribution where sums are formed.
    blocks: u32,
    /// And where they are not, or one after the other.
    sharing: u32,
    factor: f64,
    parts: M::Buffer<f64>,
    maxwellians: M::Buffer<f64>,
    imbalance: M::Buffer<f64>,
    deltas: M::Buffer<f64>,
    ends: M::Buffer<f64>,
}

impl<M: Machine> Balance<M> {
    /// For `items` distributions; the rate is `factor` times the lattice operator.
    pub(super) fn new(
        machine: &M,
        shape: GridShape,
        items: usize,
        factor: f64,
        sums: SumsBy,
    ) -> Result<Self> {
        let blocks = sums.blocks(shape.cells, 1);
        let parts = |words: u32| machine.allocate(items * (blocks * words) as usize);
        Ok(Self {
            shape,
            items: items as u32,
            blocks,
            sharing: sharing(machine, items, blocks),
            factor,
            parts: parts(BALANCE_WORDS)?,
            maxwellians: machine.allocate(items * MAXWELLIAN_WORDS as usize)?,
            imbalance: parts(BALANCE_WORDS)?,
            deltas: machine.allocate(items * 5)?,
            ends: parts(END_WORDS)?,
        })
    }

    fn grid(&self, blocks: u32) -> Grid {
        Grid {
            blocks: self.items * blocks,
            threads: SHARE_THREADS,
        }
    }

    /// The sums of [`split`](Self::split), by its blocks.
    pub(super) fn sums_of_state(&self) -> &M::Buffer<f64> {
        &self.parts
    }

    /// Takes each distribution apart: `work` receives the deviations of all, and behind them the means.
    pub(super) fn split<T: Real>(
        &mut self,
        machine: &M,
        f: &M::Buffer<f64>,
        scales: &M::Buffer<f64>,
        work: &mut M::Buffer<T>,
    ) -> Result<()> {
        let (shape, items, blocks) = (self.shape, self.items, self.blocks);
        let (grid, few) = (self.grid(blocks), self.grid(self.sharing));
        let sum = kernels::sum_state {
            f,
            parts: &mut self.parts,
            shape,
            blocks,
        };
        machine.launch(grid, sum)?;
        let deviate = kernels::deviate {
            f,
            scales,
            parts: &self.parts,
            maxwellians: &mut self.maxwellians,
            work,
            shape,
            items,
            blocks,
            sharing: self.sharing,
        };
        Ok(machine.launch(few, deviate)?)
    }

    /// Restores conservation. The gain is the bilinear one, and the frequencies those of the deviations and of the means.
    pub(super) fn apply<T: Real>(&mut self, machine: &M, sums: Sums<'_, M, T>) -> Result<()> {
        let Sums {
            f,
            gain,
            frequency,
            scales,
            rate,
            summary,
        } = sums;
        let (shape, items, blocks) = (self.shape, self.items, self.blocks);
        let (grid, few) = (self.grid(blocks), self.grid(self.sharing));
        let imbalance = kernels::sum_imbalance {
            f,
            gain,
            frequency,
            scales,
            maxwellians: &self.maxwellians,
            parts: &mut self.imbalance,
            shape,
            items,
            blocks,
        };
        machine.launch(grid, imbalance)?;
        let balance = kernels::balance {
            f,
            gain,
            frequency,
            scales,
            maxwellians: &self.maxwellians,
            imbalance: &self.imbalance,
            rate,
            deltas: &mut self.deltas,
            parts: &mut self.ends,
            shape,
            factor: self.factor,
            items,
            blocks,
            sharing: self.sharing,
        };
        machine.launch(few, balance)?;
        let summarise = kernels::summarise_balance {
            maxwellians: &self.maxwellians,
            deltas: &self.deltas,
            ends: &self.ends,
            out: summary,
            factor: self.factor,
            blocks,
        };
        let grid = Grid {
            blocks: items,
            threads: SUMMARY_THREADS,
        };
        Ok(machine.launch(grid, summarise)?)
    }
}
