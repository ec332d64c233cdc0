//! Kernels of the BGK model on a line as A. Frezzotti, G. P. Ghiroldi and L. Gibelli arranged them (2009, arXiv:0903.4044): streaming and collision apart.
//!
//! They are the yardstick for the fused pass of [`sweep_1d`](crate::bgk::sweep_1d). The step is the same, of first order and with sampled Maxwellians.
//! Each of the two kernels reads and writes the populations once.

mod collision;
mod streaming;

pub use collision::*;
pub use streaming::*;

use crate::bgk::layout::FlowShape;
use crate::kernel;
use crate::math::quotient;

/// Entries of a pair (v_x, v_y): the velocities, the weight and nothing.
pub const PAIR_LEN: u32 = 4;

/// The order of populations in memory, `[jx][jy][ix / cells][m][ix % cells]`: a block of the collision reads one run for a pair (v_x, v_y).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Order {
    /// Cells of such a block: a power of two, which divides the distance of rows.
    pub cells: u32,
}

impl Order {
    /// Offset of a node's population in a cell; also for cells beyond the ends of the row.
    #[inline(always)]
    pub const fn place(&self, shape: &FlowShape, [pair, m]: [u32; 2], ix: u32) -> u32 {
        let within = ix & (self.cells - 1);
        let first = (pair * shape.pitch).wrapping_add(ix).wrapping_sub(within);
        first
            .wrapping_mul(shape.count_m)
            .wrapping_add(m * self.cells + within)
    }
    /// The next number of whole blocks' cells.
    #[inline(always)]
    pub const fn whole(&self, nx: u32) -> u32 {
        (nx + self.cells - 1) & !(self.cells - 1)
    }
    /// Nodes of a block of [`stream_line()`], a power of two: as many as fill lines of 128 bytes.
    #[inline(always)]
    pub const fn together(&self, bytes: usize) -> u32 {
        let nodes = quotient(128, self.cells * bytes as u32);
        if nodes > 1 { nodes } else { 1 }
    }
}

kernel! {
    /// Copies, 64 bytes a thread: the lower bound for a pass that reads and writes each population once. The number of words is a multiple of four.
    pub fn copy_populations(t, from: In<u32>, to: Out<u32>) {
        let all = to.len() / 4;
        let mut first = t.block_idx() as usize * 4 * t.block_dim() as usize + t.thread_idx() as usize;
        let threads = t.block_dim() as usize;
        if first + 3 * threads < all {
            let at = |k: usize| 4 * (first + k * threads);
            let a = from.get_whole::<4, _>(t, at(0));
            let b = from.get_whole::<4, _>(t, at(1));
            let c = from.get_whole::<4, _>(t, at(2));
            let d = from.get_whole::<4, _>(t, at(3));
            to.set_run(t, at(0), a);
            to.set_run(t, at(1), b);
            to.set_run(t, at(2), c);
            to.set_run(t, at(3), d);
        } else {
            for _ in 0..4 {
                if first < all {
                    to.set_run(t, 4 * first, from.get_whole::<4, _>(t, 4 * first));
                }
                first += threads;
            }
        }
    }
}
