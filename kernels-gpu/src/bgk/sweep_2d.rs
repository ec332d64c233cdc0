//! The pass of the BGK and Shakhov models in two dimensions of space: it relaxes, streams and sums all populations.
//!
//! Its tables come from [`equilibrium()`](super::equilibrium::equilibrium()); [`bgk`](super) explains the whole. Populations beyond a face that mirrors lie in ghosts, which
//! [`ghosts_along_x()`](super::boundary::ghosts_along_x()) and [`ghosts_along_y()`](super::boundary::ghosts_along_y()) fill before the pass. Molecules that come in
//! from a wall or an inflow are a column of the tables. So the pass knows no kinds of walls: a lane or a row beyond a face reads other places.
//!
//! A lane takes four cells (two in `f64`) by one access. Where rows are no whole accesses or molecules fly further than a cell in a step, it takes one,
//! in kernels of their own ([`plane_march_narrow_upwind()`], [`plane_march_narrow_van_leer()`]) that serve both models.
//! The warps of a block march down the same rows side by side, each with molecules of its own, and add up their sums of a row before they go on to the next.
//! So a block keeps one sum of a cell, and not each warp one; that makes room for strips twice as high, of which fewer rows are read twice.
//!
//! Rows are counted from the face where the molecules of a group come in, so that going up and down is one code.

mod arrival;
mod column;
mod departure;
mod group;
mod pass;

use super::layout::{FlowShape, axis, split};
use super::sweep::block;
use crate::kernel;
use crate::math::{Real, quotient};
use crate::simt::Simt;
use arrival::Ahead;
use column::Column;
use pass::{Batch, Given, INNER, Memory, PAIR, Pass};
pub use pass::{MARCH_THREADS, March, march_threads, plane_width};

kernel! {
    /// One time step of first order: relaxation, streaming along x and y, and partial sums of all populations on a rectangle.
    ///
    /// **Block**: one tile of 31 spans of four cells (two in `f64`) by `rows` rows for one v_x and `batches` times as many groups of nodes as it has warps,
    /// each of two v_y and two nodes of the innermost axis.
    /// **Thread**: four cells of each row. It marches down the rows with the molecules of a group, of which it keeps the row before, and has the populations
    /// of the next two rows under way to shared memory. The lane at the upstream end only lends its cells.
    /// **Cost**: a population is read once from memory, the row before a strip once more, and written once, 8 bytes in `f32`. Partial sums are 3 words a
    /// cell for the populations of a block.
    /// **Shared memory**: see [`March::shared_bytes`].
    /// **No race**: each population and each partial sum has one writer. What warps give to each other lies in two halves that take turns with the rows: a
    /// barrier stands between the writing of a half and its reading, and the next row's before it is written again. Sums of the batches before are
    /// read and written between barriers by one warp.
    pub fn plane_march_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run::<false, false, PAIR>(turned != 0);
    }
}

kernel! {
    /// The same step of second order with van Leer's slopes.
    ///
    /// As [`plane_march_upwind()`] with 30 spans, one v_y at a time, and the last value, difference and flux of each node kept; the populations of the next row
    /// are under way to registers, those of the one after that to the L2 cache.
    pub fn plane_march_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run::<true, false, 1>(turned != 0);
    }
}

kernel! {
    /// [`plane_march_upwind()`] for the Shakhov model: its polynomial at each cell, and the sums that its heat flux needs.
    pub fn plane_march_upwind_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run::<false, true, PAIR>(turned != 0);
    }
}

kernel! {
    /// [`plane_march_van_leer()`] for the Shakhov model.
    pub fn plane_march_van_leer_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run::<true, true, 1>(turned != 0);
    }
}

kernel! {
    /// [`plane_march_upwind()`] by single cells, for planes and steps that [`March::narrow`] names, and for both models.
    pub fn plane_march_narrow_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run_narrow::<false>(turned != 0);
    }
}

kernel! {
    /// [`plane_march_van_leer()`] by single cells, for planes and steps that [`March::narrow`] names, and for both models.
    pub fn plane_march_narrow_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run_narrow::<true>(turned != 0);
    }
}

/// The tile and the chunk of nodes of this block.
///
/// As many tiles as find their tables in the L2 cache, a band, follow each other with the same nodes, so that what blocks read at the same time lies together: memory
/// gives short runs here and there at three quarters of its rate. Then come the next nodes, and after all nodes the next tiles.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn tile_and_chunk<S: Simt>(t: &S, turned: bool, chunks: u32, band: u32) -> [u32; 2] {
    let tiles = quotient(t.grid_dim(), chunks);
    let (number, rest) = split(block(t, turned), band * chunks);
    let (first, left) = (number * band, tiles - number * band);
    let (chunk, tile) = split(rest, if left < band { left } else { band });
    [first + tile, chunk]
}

impl<S: Simt, T: Real> Pass<'_, S, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn run<const SLOPED: bool, const SHAKHOV: bool, const P: usize>(&self, turned: bool) {
        let (place, forward) = self.place::<SLOPED>(turned);
        // Decided at compile time, so that no other width is compiled.
        if const { plane_width(size_of::<T>()) == 4 } {
            if forward {
                self.tile::<SLOPED, SHAKHOV, 1, 4, P>(place, true);
            } else {
                self.tile::<SLOPED, SHAKHOV, -1, 4, P>(place, false);
            }
        } else if forward {
            self.tile::<SLOPED, SHAKHOV, 1, 2, P>(place, true);
        } else {
            self.tile::<SLOPED, SHAKHOV, -1, 2, P>(place, false);
        }
    }

    /// The same by single cells.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn run_narrow<const SLOPED: bool>(&self, turned: bool) {
        let (place, forward) = self.place::<SLOPED>(turned);
        self.tile::<SLOPED, true, 0, 1, 1>(place, forward);
    }

    /// The block's tile, number of v_x, part of its nodes, and chunk of partial sums; whether its molecules fly towards larger x.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn place<const SLOPED: bool>(&self, turned: bool) -> ([u32; 4], bool) {
        let Self {
            t, shape, march, ..
        } = *self;
        let parts = march.parts(shape, SLOPED);
        let [tile, chunk] = tile_and_chunk(t, turned, shape.count_x * parts, march.band);
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
    >(
        &self,
        [tile, jx, part, chunk]: [u32; 4],
        forward: bool,
    ) {
        let Self {
            t, shape, march, ..
        } = *self;
        let along_x = [
            self.of_x(jx, axis::VELOCITY),
            self.of_x(jx, axis::WHOLE),
            self.of_x(jx, axis::FRACTION),
        ];
        let place = [tile, march.rows, chunk];
        let column = Column::<T, W>::new(t, place, shape, jx, along_x, forward, SLOPED);
        let [down, up] = march.batches_of(shape, SLOPED);
        let groups = march.groups(shape, SLOPED);
        let first = part * march.batches;
        let end = if first + march.batches < down + up {
            first + march.batches
        } else {
            down + up
        };
        let mut batch = first;
        while batch < end {
            let flies_up = batch >= down;
            let (number, all) = if flies_up {
                (batch - down, groups[1])
            } else {
                (batch, groups[0])
            };
            let from = number * march.warps;
            let left = all - from;
            self.march::<SLOPED, SHAKHOV, DIRECTION, W, P>(
                &column,
                from + self.warp,
                Batch {
                    groups: if left < march.warps {
                        left
                    } else {
                        march.warps
                    },
                    up: flies_up,
                    later: batch > first,
                    more: batch + 1 < end,
                },
            );
            batch += 1;
        }
    }

    /// Marches down the rows with the groups of a batch.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn march<
        const SLOPED: bool,
        const SHAKHOV: bool,
        const DIRECTION: i32,
        const W: usize,
        const P: usize,
    >(
        &self,
        column: &Column<T, W>,
        number: u32,
        batch: Batch,
    ) {
        let Self {
            t, shape, march, ..
        } = *self;
        // Row 0 of the march lies so many rows upstream of the first that is given out; with slopes one more follows the last.
        let (lead, behind) = if SLOPED { (2, 1) } else { (1, 0) };
        let last = march.rows + lead + behind;
        // A warp too many goes along with the first group, and writes nothing.
        let works = self.warp < batch.groups;
        let number = if works { number } else { number - self.warp };
        let mut group = self.group::<SLOPED, W, P>(column, number, batch.up, lead);
        // Of the sums of a row, counted on over the rows, the next that falls to this warp.
        let mut turn = self.warp;
        let first = group.row(shape, 0);
        let mut ahead = Ahead {
            row: first,
            next: group.row(shape, 1),
            f: [[[T::ZERO; W]; INNER]; P],
            taken: 0,
        };
        if SLOPED {
            ahead.f = self.load(&group, first);
        } else {
            self.copy(&group, first, 0, true);
            self.copy(&group, ahead.next, 1, true);
        }
        let mut row = self.look::<SHAKHOV, W, P>(column, &group, first);
        let mut s = 0;
        while s < lead + behind {
            let post =
                self.arrive::<SLOPED, SHAKHOV, W, P>(column, &group, &row, &mut ahead, s, last);
            self.stream::<SLOPED, DIRECTION, W, P>(column, &mut group, s, row.outside, post);
            s += 1;
            row = self.look::<SHAKHOV, W, P>(column, &group, ahead.row);
        }
        let sums = self.sums::<SHAKHOV, W>();
        while s < last {
            // Two, so that what is kept of a row need not change its registers.
            let mut half = 0;
            while half < 2 {
                let post =
                    self.arrive::<SLOPED, SHAKHOV, W, P>(column, &group, &row, &mut ahead, s, last);
                let out = self.stream::<SLOPED, DIRECTION, W, P>(
                    column,
                    &mut group,
                    s,
                    row.outside,
                    post,
                );
                let given = Given {
                    r: s - lead - behind,
                    half,
                    row: group.start + if W == 1 { group.whole } else { 0 } + (s - behind) as i32,
                };
                self.give::<SHAKHOV, W, P>(column, &group, given, out, works);
                // While the warps wait for each other and add up, the tables of the next row are under way.
                row = self.look::<SHAKHOV, W, P>(column, &group, ahead.row);
                t.sync_threads();
                while turn < sums {
                    self.add_up::<SHAKHOV, W>(column, batch, given, turn);
                    turn += march.warps;
                }
                turn -= sums;
                s += 1;
                half += 1;
            }
        }
    }
}
