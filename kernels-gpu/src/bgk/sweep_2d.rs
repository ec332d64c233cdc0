//! The pass of the BGK and Shakhov models in two dimensions of space: it relaxes, streams and sums all populations.
//!
//! Its tables come from [`equilibrium()`](super::equilibrium::equilibrium()); [`bgk`](super) explains the whole. Ghosts hold the populations beyond mirroring faces;
//! [`ghosts_along_x()`](super::boundary::ghosts_along_x()) and [`ghosts_along_y()`](super::boundary::ghosts_along_y()) fill them before the pass. Walls and inflows
//! are columns of the tables. So the pass has no branch for the kind of a wall: a lane or a row beyond a face reads other places.
//!
//! A lane has four cells (two in `f64`), which one access reads. It has one cell where rows are no whole accesses or molecules fly further than a cell in a step.
//! Kernels of their own ([`plane_sweep_narrow_upwind()`], [`plane_sweep_narrow_van_leer()`]) then serve both models.
//! The warps of a block sweep down the same rows side by side, each with molecules of its own, and add their sums of a row before the next row.
//! So a block keeps one sum of a cell instead of one for each warp. That leaves room for strips twice as high, of which fewer rows are read twice.
//!
//! Rows are counted from the face where the molecules of a group come in, so that one code serves both directions along y.

mod arrival;
mod column;
mod departure;
mod group;
mod pass;

use super::layout::{FlowShape, axis, split};
use super::sweep::block;
use crate::Pack;
use crate::kernel;
use crate::math::{Real, quotient};
use crate::simt::Simt;
use arrival::InFlight;
use column::Column;
use pass::{Batch, INNER, OutRow, PAIR};
pub(crate) use pass::{Memory, Pass};
pub use pass::{PlaneSweep, SWEEP_THREADS, plane_width, sweep_threads};

kernel! {
    /// One time step of first order: relaxation, streaming along x and y, and partial sums of all populations on a rectangle.
    ///
    /// **Block**: one tile of 31 cell vectors of four cells (two in `f64`) by `rows` rows for one v_x. It processes `batches` times as many groups of nodes as it has
    /// warps, each of two v_y and two nodes of the innermost axis.
    /// **Thread**: one cell vector of each row. It sweeps down the rows with the molecules of a group and keeps their previous row. The populations
    /// of the next two rows are in flight to shared memory. The upstream end of a warp is a halo lane.
    /// **Cost**: a population is read once from memory, the row before a strip once more, and written once, 8 bytes in `f32`. Partial sums are 3 words a
    /// cell for the populations of a block.
    /// **Shared memory**: see [`PlaneSweep::shared_bytes`].
    /// **No race**: each population and each partial sum has one writer. The sums that warps exchange lie in two halves, one for even and one for odd rows. A
    /// barrier separates the writing of a half from its reading, and the next row's barrier precedes its rewriting. One warp reads and writes the sums of
    /// earlier batches, between barriers.
    pub fn plane_sweep_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<INNER>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<INNER>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<INNER>(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run::<false, false, PAIR, INNER>(reversed != 0);
    }
}

kernel! {
    /// The same step of second order with van Leer's slopes.
    ///
    /// As [`plane_sweep_upwind()`] with 30 cell vectors, one v_y at a time, and the last value, difference and flux of each node kept. The populations of the next row
    /// are in flight to registers, those of the one after that to the L2 cache.
    pub fn plane_sweep_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<INNER>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<INNER>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<INNER>(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run::<true, false, 1, INNER>(reversed != 0);
    }
}

kernel! {
    /// [`plane_sweep_upwind()`] for the Shakhov model: its polynomial at each cell, and the sums that its heat flux needs.
    pub fn plane_sweep_upwind_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<INNER>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<INNER>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<INNER>(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run::<false, true, PAIR, INNER>(reversed != 0);
    }
}

kernel! {
    /// [`plane_sweep_van_leer()`] for the Shakhov model.
    pub fn plane_sweep_van_leer_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<INNER>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<INNER>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<INNER>(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run::<true, true, 1, INNER>(reversed != 0);
    }
}

kernel! {
    /// [`plane_sweep_upwind()`] by single cells, for planes and steps that [`PlaneSweep::narrow`] names, and for both models.
    pub fn plane_sweep_narrow_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<INNER>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<INNER>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<INNER>(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run_narrow::<false, INNER>(reversed != 0);
    }
}

kernel! {
    /// [`plane_sweep_van_leer()`] by single cells, for planes and steps that [`PlaneSweep::narrow`] names, and for both models.
    pub fn plane_sweep_narrow_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, sweep: PlaneSweep, reversed: u32,
    ) for f32, f64
    shared {
        exchange: [T; sweep.exchange::<INNER>(&shape, size_of::<T>())],
        kept: [T; sweep.kept::<INNER>(&shape, size_of::<T>())],
        stages: [T; sweep.staged_of::<INNER>(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, sweep: &sweep, warp: t.shuffle(t.warp(), 0) }.run_narrow::<true, INNER>(reversed != 0);
    }
}

/// The tile and the chunk of nodes of this block.
///
/// A band is as many tiles as keep their tables in the L2 cache. Blocks take the tiles of a band with the same nodes one after the other, so that blocks
/// that run together read neighbouring memory; scattered short runs reach three quarters of the bandwidth. The next nodes follow, and after all nodes the next band.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn tile_and_chunk<S: Simt>(t: &S, reversed: bool, chunks: u32, band: u32) -> [u32; 2] {
    let tiles = quotient(t.grid_dim(), chunks);
    let (number, rest) = split(block(t, reversed), band * chunks);
    let (first, left) = (number * band, tiles - number * band);
    let (chunk, tile) = split(rest, if left < band { left } else { band });
    [first + tile, chunk]
}

impl<S: Simt, T: Real> Pass<'_, S, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(crate) fn run<const SLOPED: bool, const SHAKHOV: bool, const P: usize, const N: usize>(
        &self,
        reversed: bool,
    ) {
        let (place, forward) = self.place::<SLOPED, N>(reversed);
        // Decided at compile time, so that no other width is compiled.
        if const { plane_width(size_of::<T>()) == 4 } {
            if forward {
                self.tile::<SLOPED, SHAKHOV, 1, 4, P, N>(place, true);
            } else {
                self.tile::<SLOPED, SHAKHOV, -1, 4, P, N>(place, false);
            }
        } else if forward {
            self.tile::<SLOPED, SHAKHOV, 1, 2, P, N>(place, true);
        } else {
            self.tile::<SLOPED, SHAKHOV, -1, 2, P, N>(place, false);
        }
    }

    /// The same by single cells.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(crate) fn run_narrow<const SLOPED: bool, const N: usize>(&self, reversed: bool) {
        let (place, forward) = self.place::<SLOPED, N>(reversed);
        self.tile::<SLOPED, true, 0, 1, 1, N>(place, forward);
    }

    /// The block's tile, number of v_x, part of its nodes, and chunk of partial sums; and whether its molecules fly towards larger x.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn place<const SLOPED: bool, const N: usize>(&self, reversed: bool) -> ([u32; 4], bool) {
        let Self {
            t, shape, sweep, ..
        } = *self;
        let parts = sweep.parts_of::<N>(shape, SLOPED);
        let [tile, chunk] = tile_and_chunk(t, reversed, shape.count_x * parts, sweep.band);
        let (jx, part) = split(chunk, parts);
        let forward = self.of_x(jx, axis::VELOCITY) > T::ZERO;
        ([tile, jx, part, chunk], forward)
    }

    #[inline(always)]
    #[track_caller]
    fn of_x(&self, jx: u32, entry: u32) -> T {
        self.memory
            .axes
            .get(self.t, (self.shape.axis_x(jx) + entry) as usize)
    }

    /// The nodes of a block on one tile.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn tile<
        const SLOPED: bool,
        const SHAKHOV: bool,
        const DIRECTION: i32,
        const W: usize,
        const P: usize,
        const N: usize,
    >(
        &self,
        [tile, jx, part, chunk]: [u32; 4],
        forward: bool,
    ) {
        let Self {
            t, shape, sweep, ..
        } = *self;
        let along_x = [
            self.of_x(jx, axis::VELOCITY),
            self.of_x(jx, axis::WHOLE),
            self.of_x(jx, axis::FRACTION),
        ];
        let place = [tile, chunk, jx];
        let column = Column::<T, W>::new(t, place, shape, sweep, along_x, forward, SLOPED);
        let [down, up] = sweep.batches_by::<N>(shape, SLOPED);
        let groups = sweep.groups_of::<N>(shape, SLOPED);
        let first = part * sweep.batches;
        let end = if first + sweep.batches < down + up {
            first + sweep.batches
        } else {
            down + up
        };
        for batch in first..end {
            let flies_up = batch >= down;
            let (number, all) = if flies_up {
                (batch - down, groups[1])
            } else {
                (batch, groups[0])
            };
            let from = number * sweep.warps;
            let left = all - from;
            self.sweep::<SLOPED, SHAKHOV, DIRECTION, W, P, N>(
                &column,
                from + self.warp,
                Batch {
                    groups: if left < sweep.warps {
                        left
                    } else {
                        sweep.warps
                    },
                    up: flies_up,
                    later: batch > first,
                    more: batch + 1 < end,
                },
            );
        }
    }

    /// Sweeps down the rows with the groups of a batch.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn sweep<
        const SLOPED: bool,
        const SHAKHOV: bool,
        const DIRECTION: i32,
        const W: usize,
        const P: usize,
        const N: usize,
    >(
        &self,
        column: &Column<T, W>,
        number: u32,
        batch: Batch,
    ) {
        let Self {
            t, shape, sweep, ..
        } = *self;
        // Rows upstream of the first row of output, and with slopes one behind the last.
        let (lead, behind) = if SLOPED { (2, 1) } else { (1, 0) };
        let last = sweep.rows + lead + behind;
        // A surplus warp repeats the first group and writes nothing.
        let works = self.warp < batch.groups;
        let number = if works { number } else { number - self.warp };
        let mut group = self.group::<SLOPED, W, P, N>(column, number, batch.up, lead);
        // The next sum for this warp to add, counted on over the rows.
        let mut turn = self.warp;
        let first = group.row(shape, 0);
        let mut ahead = InFlight {
            row: first,
            next: group.row(shape, 1),
            f: [[Pack::ZERO; N]; P],
            stage: 0,
        };
        if SLOPED {
            ahead.f = self.load(&group, first);
        } else {
            self.copy(&group, first, 0, true);
            self.copy(&group, ahead.next, 1, true);
        }
        let mut row = self.load_tables::<SHAKHOV, W, P, N>(column, &group, first);
        let mut s = 0;
        while s < lead + behind {
            let post = self
                .relaxed_row::<SLOPED, SHAKHOV, W, P, N>(column, &group, &row, &mut ahead, s, last);
            self.stream::<SLOPED, DIRECTION, W, P, N>(column, &mut group, s, row.outside, post);
            s += 1;
            row = self.load_tables::<SHAKHOV, W, P, N>(column, &group, ahead.row);
        }
        let sums = self.sums::<SHAKHOV, W, N>();
        while s < last {
            // Two rows a turn, so that values kept from a row need not change their registers.
            for half in 0..2 {
                let post = self.relaxed_row::<SLOPED, SHAKHOV, W, P, N>(
                    column, &group, &row, &mut ahead, s, last,
                );
                let out = self.stream::<SLOPED, DIRECTION, W, P, N>(
                    column,
                    &mut group,
                    s,
                    row.outside,
                    post,
                );
                let row_out = OutRow {
                    r: s - lead - behind,
                    half,
                    row: group.start + if W == 1 { group.whole } else { 0 } + (s - behind) as i32,
                };
                self.store_row::<SHAKHOV, W, P, N>(column, &group, row_out, out, works);
                // The loads of the next row's tables overlap the barrier and the sums.
                row = self.load_tables::<SHAKHOV, W, P, N>(column, &group, ahead.row);
                t.sync_threads();
                while turn < sums {
                    self.add_up::<SHAKHOV, W, N>(column, batch, row_out, turn);
                    turn += sweep.warps;
                }
                turn -= sums;
                s += 1;
            }
        }
    }
}
