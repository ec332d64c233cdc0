//! Shared by the parts of a pass: the division of work among blocks, the memory of a launch, the state of a sweep.

use super::super::layout::{
    FUNCTIONS, FlowShape, PASS_SUMS_BGK, PASS_SUMS_ROTATING, PASS_SUMS_SHAKHOV,
};
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};

/// Most threads of a block.
pub const SWEEP_THREADS: u32 = 160;

/// Most threads of a block of these kernels, as [`SWEEP_THREADS`] or fewer.
///
/// Three blocks of four warps have 168 registers a thread, three of five have 128. Where the second spill much, the first are faster: by 8%
/// for both kernels that take them.
#[inline(always)]
pub const fn sweep_threads(shape: &FlowShape, bytes: usize, sloped: bool) -> u32 {
    let shakhov = shape.shakhov != 0;
    // With slopes three functions take 255 registers, which two blocks of four warps have.
    let four_warps = if shape.rotates() {
        sloped
    } else {
        bytes == 8 && sloped == shakhov
    };
    if four_warps { 128 } else { SWEEP_THREADS }
}

/// Nodes of the innermost axis of a thread: g and h, or two. Molecules that rotate have [`FUNCTIONS`].
pub(super) const INNER: usize = 2;

/// Neighbouring nodes of v_y of a thread in first order, which leaves enough registers.
pub(super) const PAIR: usize = 2;

/// Rows of populations of a warp in shared memory in first order: the current one and those in flight.
pub(super) const STAGES: u32 = 3;

/// Most cells of a thread in a row: as many as fill 16 bytes.
#[inline(always)]
pub const fn plane_width(bytes: usize) -> u32 {
    if bytes == 4 { 4 } else { 2 }
}

/// Warps for strips of rows laid end to end. Each warp has [`halo_lanes`], and each row has as many halo vectors at the ends where molecules come in.
#[inline(always)]
const fn strip_tiles(nx: u32, strips: u32, width: u32, sloped: bool) -> u32 {
    let halo_lanes = halo_lanes(sloped, width);
    (strips * (nx.div_ceil(width) + halo_lanes) - halo_lanes).div_ceil(WARP - halo_lanes)
}

/// Number of halo vectors per warp and per row.
#[inline(always)]
pub(super) const fn halo_lanes(sloped: bool, width: u32) -> u32 {
    match (sloped, width) {
        (false, _) => 1,
        (true, 1) => 3,
        (true, _) => 2,
    }
}

/// Sums that the nodes of a chunk leave in a cell, where a thread has N innermost ones.
#[inline(always)]
const fn pass_sums<const N: usize>(shape: &FlowShape) -> u32 {
    if N == FUNCTIONS {
        PASS_SUMS_ROTATING
    } else {
        shape.pass_sums_of_atoms()
    }
}

/// How blocks share the work of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PlaneSweep {
    /// Rows of cells of a strip: an even number, and no more than are stepped.
    pub rows: u32,
    /// Warps of a block; each processes one group of nodes at a time.
    pub warps: u32,
    /// Batches of a block; a batch has as many groups as the block has warps.
    pub batches: u32,
    /// Nodes of v_y whose molecules do not fly up; they come first.
    pub down: u32,
    /// Tiles that follow each other with the same nodes, so that these share the L2 cache with their tables.
    pub band: u32,
    /// 1 where a thread has one cell and one v_y: rows are no whole accesses, or molecules fly further than a cell.
    pub narrow: u32,
    /// The first row of cells that is stepped.
    pub low: u32,
    /// Rows of cells that are stepped, from there on: all but a rank's ghosts, or some of these.
    pub stepped: u32,
}

impl PlaneSweep {
    /// Cells of a thread in a row.
    #[inline(always)]
    pub const fn width(&self, bytes: usize) -> u32 {
        if self.narrow != 0 {
            1
        } else {
            plane_width(bytes)
        }
    }
    /// Nodes of v_y of a thread with N innermost ones.
    #[inline(always)]
    const fn pair<const N: usize>(&self, sloped: bool) -> u32 {
        if sloped || self.narrow != 0 || N == FUNCTIONS {
            1
        } else {
            PAIR as u32
        }
    }
    /// Tiles of a plane of cells.
    #[inline(always)]
    pub const fn tiles(&self, shape: &FlowShape, bytes: usize, sloped: bool) -> u32 {
        let strips = quotient(self.stepped + self.rows - 1, self.rows);
        strip_tiles(shape.nx, strips, self.width(bytes), sloped)
    }
    /// Groups of nodes of one v_x whose molecules fly down, and up.
    #[inline(always)]
    pub const fn groups(&self, shape: &FlowShape, sloped: bool) -> [u32; 2] {
        if shape.rotates() {
            self.groups_of::<FUNCTIONS>(shape, sloped)
        } else {
            self.groups_of::<INNER>(shape, sloped)
        }
    }
    /// The same where a thread has N innermost nodes.
    #[inline(always)]
    pub(crate) const fn groups_of<const N: usize>(
        &self,
        shape: &FlowShape,
        sloped: bool,
    ) -> [u32; 2] {
        let pair = self.pair::<N>(sloped);
        let inner = quotient(shape.count_m + N as u32 - 1, N as u32);
        [
            quotient(self.down + pair - 1, pair) * inner,
            quotient(shape.count_y - self.down + pair - 1, pair) * inner,
        ]
    }
    /// Batches of those: molecules of a batch fly the same way.
    #[inline(always)]
    pub const fn batches_of(&self, shape: &FlowShape, sloped: bool) -> [u32; 2] {
        if shape.rotates() {
            self.batches_by::<FUNCTIONS>(shape, sloped)
        } else {
            self.batches_by::<INNER>(shape, sloped)
        }
    }
    /// The same where a thread has N innermost nodes.
    #[inline(always)]
    pub(crate) const fn batches_by<const N: usize>(
        &self,
        shape: &FlowShape,
        sloped: bool,
    ) -> [u32; 2] {
        let [down, up] = self.groups_of::<N>(shape, sloped);
        [
            quotient(down + self.warps - 1, self.warps),
            quotient(up + self.warps - 1, self.warps),
        ]
    }
    /// Blocks that share the nodes of one v_x.
    #[inline(always)]
    pub const fn parts(&self, shape: &FlowShape, sloped: bool) -> u32 {
        if shape.rotates() {
            self.parts_of::<FUNCTIONS>(shape, sloped)
        } else {
            self.parts_of::<INNER>(shape, sloped)
        }
    }
    /// The same where a thread has N innermost nodes.
    #[inline(always)]
    pub(crate) const fn parts_of<const N: usize>(&self, shape: &FlowShape, sloped: bool) -> u32 {
        let [down, up] = self.batches_by::<N>(shape, sloped);
        quotient(down + up + self.batches - 1, self.batches)
    }
    /// Words of shared memory for the sums that the warps exchange: of the current row and of the next.
    #[inline(always)]
    pub(crate) const fn exchange<const N: usize>(&self, shape: &FlowShape, bytes: usize) -> u32 {
        2 * pass_sums::<N>(shape) * self.warps * WARP * self.width(bytes)
    }
    /// Words for the sums of earlier batches.
    #[inline(always)]
    pub(crate) const fn kept<const N: usize>(&self, shape: &FlowShape, bytes: usize) -> u32 {
        if self.batches > 1 {
            pass_sums::<N>(shape) * self.rows * WARP * self.width(bytes)
        } else {
            0
        }
    }
    /// Words for the populations in flight, of N innermost nodes a thread.
    #[inline(always)]
    pub(crate) const fn staged_of<const N: usize>(&self, bytes: usize, sloped: bool) -> u32 {
        if sloped {
            0
        } else {
            let nodes = N as u32 * self.pair::<N>(sloped);
            STAGES * nodes * self.warps * WARP * self.width(bytes)
        }
    }
    /// Bytes of shared memory of a block.
    #[inline(always)]
    pub const fn shared_bytes(&self, shape: &FlowShape, bytes: usize, sloped: bool) -> usize {
        if shape.rotates() {
            self.shared_words::<FUNCTIONS>(shape, bytes, sloped) as usize * bytes
        } else {
            self.shared_words::<INNER>(shape, bytes, sloped) as usize * bytes
        }
    }
    const fn shared_words<const N: usize>(
        &self,
        shape: &FlowShape,
        bytes: usize,
        sloped: bool,
    ) -> u32 {
        let sums = self.exchange::<N>(shape, bytes) + self.kept::<N>(shape, bytes);
        sums + self.staged_of::<N>(bytes, sloped)
    }
}

/// Memory of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a, T: Real> {
    pub(crate) f: In<'a, T>,
    pub(crate) tables: In<'a, T>,
    pub(crate) axes: In<'a, T>,
    pub(crate) next: Out<'a, T>,
    pub(crate) partial: Out<'a, T>,
    pub(crate) exchange: Shared<'a, T>,
    pub(crate) kept: Shared<'a, T>,
    pub(crate) stages: Shared<'a, T>,
}

pub(crate) struct Pass<'a, S, T: Real> {
    pub(crate) t: &'a S,
    pub(crate) memory: Memory<'a, T>,
    pub(crate) shape: &'a FlowShape,
    pub(crate) sweep: &'a PlaneSweep,
    /// The number of the warp, from its first lane: the compiler then knows that all lanes share it.
    pub(crate) warp: u32,
}

/// A batch of groups, one a warp.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    /// Groups, perhaps fewer than warps.
    pub(super) groups: u32,
    pub(super) up: bool,
    /// Whether an earlier batch exists, and whether one follows.
    pub(super) later: bool,
    pub(super) more: bool,
}

/// A row of output of a strip.
#[derive(Clone, Copy)]
pub(super) struct OutRow {
    /// Its number in the order of the sweep.
    pub(super) r: u32,
    /// The half of the exchange that its sums lie in.
    pub(super) half: u32,
    /// Counted from the face where the molecules come in.
    pub(super) row: i32,
}

impl<S: Simt, T: Real> Pass<'_, S, T> {
    /// Whether the Shakhov model's terms apply: a constant, except for single cells, whose code serves both models.
    #[inline(always)]
    pub(super) fn shakhov<const SHAKHOV: bool, const W: usize>(&self) -> bool {
        SHAKHOV && (W > 1 || self.shape.shakhov != 0)
    }

    /// Sums that a pass leaves in a cell.
    #[inline(always)]
    pub(super) fn sums<const SHAKHOV: bool, const W: usize, const N: usize>(&self) -> u32 {
        if N == FUNCTIONS {
            PASS_SUMS_ROTATING
        } else if self.shakhov::<SHAKHOV, W>() {
            PASS_SUMS_SHAKHOV
        } else {
            PASS_SUMS_BGK
        }
    }
}
