//! The pass of the BGK and Shakhov models in one dimension of space: it relaxes, streams and sums all populations.
//!
//! Its tables come from [`equilibrium()`](super::equilibrium::equilibrium()); [`bgk`](super) explains the whole.

mod cells;
mod rotating;

use super::boundary::relaxed;
use super::equilibrium::Heat;
use super::layout::{FlowShape, PASS_SUMS_ROTATING, axis, ceiling, entry, row, split};
use super::sweep::{block, sum_of_warps};
use crate::Pack;
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};
use cells::CellVector;
pub use cells::{CELL_LIMIT, owned_cells, row_tiles};

/// Threads of a block of the passes over a line.
pub const LINE_THREADS: u32 = 256;

/// Nodes of the innermost axis that a thread processes at once; as many more are in flight.
pub const LINE_NODES: u32 = 4;

/// Cells of a thread: as many as fill 16 bytes.
#[inline(always)]
pub const fn line_width(bytes: usize) -> u32 {
    if bytes == 4 { 4 } else { 2 }
}

/// Tiles of a row of cells, one a block.
#[inline(always)]
pub const fn line_tiles(nx: u32, bytes: usize, sloped: bool) -> u32 {
    row_tiles(nx, line_width(bytes), sloped)
}

/// Groups of nodes for one v_x.
#[inline(always)]
pub const fn line_groups(shape: &FlowShape) -> u32 {
    shape.count_y * shape.count_m.div_ceil(LINE_NODES)
}

/// Words of shared memory of a block: the sums of its warps.
#[inline(always)]
pub const fn line_scratch(shape: &FlowShape, bytes: usize) -> u32 {
    shape.pass_sums_of_atoms() * LINE_THREADS * line_width(bytes)
}

/// The same of molecules that rotate.
#[inline(always)]
pub(crate) const fn line_scratch_rotating(bytes: usize) -> u32 {
    PASS_SUMS_ROTATING * LINE_THREADS * line_width(bytes)
}

kernel! {
    /// One time step of first order: relaxation, streaming and partial sums of all populations on a line.
    ///
    /// **Block**: one tile of 31 cell vectors (124 cells in `f32`) for one v_x and `groups` groups of nodes, each of one v_y and four nodes of the
    /// innermost axis. Its 8 warps have the same cells and share the groups, so that factors of the Maxwellian stay in the L1 cache.
    /// **Thread**: one cell vector of 16 bytes, for all its nodes. While it works on one group, the next group's populations, 64 bytes, are in flight.
    /// The upstream end of a warp is a halo lane.
    /// **Cost**: a population is read once and written once (8 bytes in `f32`; a halo's comes from the caches), and costs about 23 instructions. Partial
    /// sums, added over the warps in shared memory, are 3 words a cell for the populations of `groups` groups.
    /// **No race**: each population, each shared word and each partial sum has one writer. A barrier precedes the reading of the block's sums. `f` and
    /// `next` are different memory.
    pub fn line_pass_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, reversed: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch(&shape, size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, reversed: reversed != 0 };
        pass.line::<false, false>();
    }
}

kernel! {
    /// The same step of second order with van Leer's slopes.
    ///
    /// As [`line_pass_upwind()`], with a halo lane at either end of a warp: 30 cell vectors. About 35 instructions a population.
    pub fn line_pass_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, reversed: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch(&shape, size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, reversed: reversed != 0 };
        pass.line::<true, false>();
    }
}

kernel! {
    /// [`line_pass_upwind()`] for the Shakhov model: two operations more, and the sums that its heat flux needs.
    pub fn line_pass_upwind_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, reversed: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch(&shape, size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, reversed: reversed != 0 };
        pass.line::<false, true>();
    }
}

kernel! {
    /// [`line_pass_van_leer()`] for the Shakhov model.
    pub fn line_pass_van_leer_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, reversed: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch(&shape, size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, reversed: reversed != 0 };
        pass.line::<true, true>();
    }
}

/// The arguments of a launch.
pub(crate) struct Pass<'a, S, T: Real> {
    pub(crate) t: &'a S,
    /// The populations that are read, and those that are written.
    pub(crate) f: In<'a, T>,
    pub(crate) next: Out<'a, T>,
    pub(crate) tables: In<'a, T>,
    pub(crate) axes: In<'a, T>,
    pub(crate) partial: Out<'a, T>,
    /// Sums of the block's warps.
    pub(crate) scratch: Shared<'a, T>,
    pub(crate) shape: &'a FlowShape,
    pub(crate) groups: u32,
    /// Whether the last tiles of the last nodes come first.
    pub(crate) reversed: bool,
}

impl<'a, S: Simt, T: Real> Pass<'a, S, T> {
    /// Whether this v_x flies towards larger x.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn forward(&self, jx: u32) -> bool {
        let velocity = self.shape.axis_x(jx) + axis::VELOCITY;
        self.axes.get(self.t, velocity as usize) > T::ZERO
    }

    /// The first of this warp's groups and the end of its block's, of the block's `part` of `all`; the warps process groups in turn.
    ///
    /// Warps that work at the same time then mostly share the factors along y, and read neighbouring memory.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn share(&self, part: u32, all: u32) -> (u32, u32) {
        let end = (part + 1) * self.groups;
        let first = part * self.groups + self.t.warp();
        (first, if end < all { end } else { all })
    }

    /// Replaces values of cells next to a wall that mirrors a part of the molecules by the relaxed populations of the mirrored nodes. Each cell has K values;
    /// `of(k)` is the row of cells, the number of v_y and the innermost node of the k-th.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn load_images<const W: usize, const K: usize, const ROTATES: bool>(
        &self,
        cells: &CellVector<W>,
        jx: u32,
        of: impl Fn(u32) -> [u32; 3],
        values: &mut [Pack<T, W>; K],
    ) {
        let Self {
            t,
            f,
            tables,
            axes,
            shape,
            ..
        } = *self;
        // One after another, so that the code of a rare case stays small: bit K w + k for the k-th value of the w-th cell.
        let mut left = cells.images(K as u32);
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let (w, k) = (bit / K as u32, bit % K as u32);
            let [iy, jy, m] = of(k);
            let place = iy * shape.pitch + cells.image(w);
            let node = [shape.count_x - 1 - jx, jy, m];
            let read = |node, place| f.get(t, shape.population(node, place) as usize);
            let value = relaxed::<_, _, ROTATES>(t, read, tables, axes, shape, node, place, place);
            for i in 0..W * K {
                // A choice each time, of which no jump table can be made.
                let here = &mut values[i % K][i / K];
                *here = if i as u32 == bit { value } else { *here };
            }
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(crate) fn line<const SLOPED: bool, const SHAKHOV: bool>(&self) {
        let Self { shape, .. } = *self;
        let tiles = line_tiles(shape.nx, size_of::<T>(), SLOPED);
        let (chunk, tile) = split(block(self.t, self.reversed), tiles);
        let (jx, part) = split(chunk, ceiling(line_groups(shape), self.groups));
        if jx >= shape.count_x {
            return;
        }
        let forward = self.forward(jx);
        // Decided at compile time, so that no other width is compiled.
        if const { line_width(size_of::<T>()) == 4 } {
            if forward {
                self.directed::<SLOPED, SHAKHOV, true, 4>(chunk, tile, jx, part);
            } else {
                self.directed::<SLOPED, SHAKHOV, false, 4>(chunk, tile, jx, part);
            }
        } else {
            if forward {
                self.directed::<SLOPED, SHAKHOV, true, 2>(chunk, tile, jx, part);
            } else {
                self.directed::<SLOPED, SHAKHOV, false, 2>(chunk, tile, jx, part);
            }
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn directed<const SLOPED: bool, const SHAKHOV: bool, const FORWARD: bool, const W: usize>(
        &self,
        chunk: u32,
        tile: u32,
        jx: u32,
        part: u32,
    ) {
        let shape = self.shape;
        let mut walk = Walk::<S, T, W>::new::<SLOPED, SHAKHOV, FORWARD>(self, tile, jx);
        let (mut item, end) = self.share(part, line_groups(shape));
        let of = |item: u32| {
            let (jy, group) = split(item, shape.count_m.div_ceil(LINE_NODES));
            (jy, group * LINE_NODES)
        };
        let step = self.t.warps();
        if item < end {
            let (mut jy, mut m) = of(item);
            let mut ahead = walk.load::<{ LINE_NODES as usize }, false>(jy, m);
            while item < end {
                let f = ahead;
                let (this_jy, this_m) = (jy, m);
                item += step;
                if item < end {
                    (jy, m) = of(item);
                    ahead = walk.load::<{ LINE_NODES as usize }, false>(jy, m);
                }
                if item + step < end {
                    let (jy, m) = of(item + step);
                    walk.prefetch_ahead(LINE_NODES, jy, m);
                }
                if this_m + LINE_NODES <= shape.count_m {
                    walk.group::<SLOPED, SHAKHOV, FORWARD, { LINE_NODES as usize }>(
                        this_jy, this_m, f,
                    );
                } else {
                    let [a, b, c, _] = f;
                    walk.group::<SLOPED, SHAKHOV, FORWARD, 1>(this_jy, this_m, [a]);
                    if this_m + 1 < shape.count_m {
                        walk.group::<SLOPED, SHAKHOV, FORWARD, 1>(this_jy, this_m + 1, [b]);
                    }
                    if this_m + 2 < shape.count_m {
                        walk.group::<SLOPED, SHAKHOV, FORWARD, 1>(this_jy, this_m + 2, [c]);
                    }
                }
            }
        }
        self.sum_line(&walk, chunk, shape.pass_sums_of_atoms());
    }

    /// Adds the sums of the warps, which have the same cells, in the order of the warps.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn sum_line<const W: usize>(&self, walk: &Walk<'_, 'a, S, T, W>, chunk: u32, count: u32) {
        let Self {
            t, shape, scratch, ..
        } = *self;
        let width = W as u32;
        let own = |warp: u32, k: u32| ((warp * count + k) * WARP + t.lane()) * width;
        for k in 0..PASS_SUMS_ROTATING {
            if k < count {
                scratch.set_run(t, own(t.warp(), k), walk.sums[k as usize].0);
            }
        }
        t.sync_threads();
        // A warp takes every eighth of the sums.
        let mut k = t.warp();
        while k < count {
            let of_warp = |warp| Pack(scratch.get_run::<W, _>(t, own(warp, k)));
            let sum = sum_of_warps(t, of_warp);
            if walk.cells.owns {
                let at = (chunk * count + k) * shape.pitch + walk.cells.own_cell();
                self.partial.set_run(t, at as usize, sum.0);
            }
            k += t.warps();
        }
    }
}

/// State of a thread while it walks over its nodes.
struct Walk<'p, 'a, S, T: Real, const W: usize> {
    pass: &'p Pass<'a, S, T>,
    cells: CellVector<W>,
    jx: u32,
    fraction: T,
    rest: T,
    decay: Pack<T, W>,
    x: Pack<T, W>,
    heat: Option<Heat<T, W>>,
    /// Factor from the innermost axis' argument to the unresolved part of |c|^2.
    unresolved: Pack<T, W>,
    /// Those of [`sum_line`](Pass::sum_line): of single atoms the first 3 or 5.
    sums: [Pack<T, W>; PASS_SUMS_ROTATING as usize],
}

impl<'p, 'a, S: Simt, T: Real, const W: usize> Walk<'p, 'a, S, T, W> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn new<const SLOPED: bool, const SHAKHOV: bool, const FORWARD: bool>(
        pass: &'p Pass<'a, S, T>,
        tile: u32,
        jx: u32,
    ) -> Self {
        let Pass {
            t,
            tables,
            axes,
            shape,
            ..
        } = *pass;
        let of_x = |jx: u32, k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let whole = of_x(jx, axis::WHOLE).to_f64() as i32;
        let fraction = of_x(jx, axis::FRACTION);
        let cells = CellVector::new(t, tile, shape, whole, FORWARD, SLOPED);
        let column = |k: usize| cells.column(k, 0, shape);
        let table = |row: u32| {
            let row = row * shape.columns();
            let [values] = cells.load(
                t,
                tables,
                |_| row + cells.first_column(0),
                |_, w| row + column(w),
            );
            values
        };
        let of_node = |k: usize| cells.table_node(k, jx, shape);
        let x = Pack::from_fn(|k| entry(t, tables, shape, row::X + of_node(k), column(k)));
        let heat = if SHAKHOV {
            let rows = |row| Pack::from_fn(|k| entry(t, tables, shape, row, column(k)));
            let vx = Pack::from_fn(|k| of_x(of_node(k), axis::VELOCITY));
            Some(Heat::of(rows, vx))
        } else {
            None
        };
        Self {
            pass,
            cells,
            jx,
            fraction,
            rest: T::ONE - fraction,
            decay: table(row::DECAY),
            x,
            heat,
            unresolved: if SHAKHOV && shape.integrated > 0 {
                table(shape.row_m() + 1)
            } else {
                Pack::ONE
            },
            sums: [Pack::ZERO; PASS_SUMS_ROTATING as usize],
        }
    }

    /// Where a node's populations begin.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn base(&self, jx: u32, jy: u32, m: u32) -> u32 {
        let shape = self.pass.shape;
        shape.row_start(jx * shape.count_y + jy, m, 0)
    }

    /// Rows of tables at the sources of the cells.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn table<const K: usize>(
        &self,
        tables: In<'_, T>,
        row: impl Fn(usize) -> u32,
    ) -> [Pack<T, W>; K] {
        let Pass { t, shape, .. } = *self.pass;
        let cells = &self.cells;
        cells.load(
            t,
            tables,
            |k| row(k) * shape.columns() + cells.first_column(0),
            |k, w| row(k) * shape.columns() + cells.column(w, 0, shape),
        )
    }

    /// The populations of the N nodes from m on; beyond the last, some others.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn load<const N: usize, const ROTATES: bool>(&self, jy: u32, m: u32) -> [Pack<T, W>; N] {
        let Pass { t, f, shape, .. } = *self.pass;
        let cells = &self.cells;
        let node = |k: usize| {
            let node = m + k as u32;
            if node < shape.count_m { node } else { m }
        };
        let mut values = cells.load_once(
            t,
            f,
            |k| self.base(self.jx, jy, node(k)) + cells.first(),
            |k, w| {
                self.base(cells.node(w, self.jx, shape), jy, node(k))
                    + shape.in_row(cells.source(w))
            },
        );
        if cells.any_mixed() {
            let of = |k: u32| [0, jy, node(k as usize)];
            self.pass
                .load_images::<W, N, ROTATES>(cells, self.jx, of, &mut values);
        }
        values
    }

    /// Prefetches the populations of so many nodes from m on to the L2 cache.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn prefetch_ahead(&self, nodes: u32, jy: u32, m: u32) {
        let Pass { t, f, shape, .. } = *self.pass;
        let mut k = 0;
        while k < nodes && self.cells.straight {
            let node = if m + k < shape.count_m { m + k } else { m };
            let at = self.base(self.jx, jy, node) + self.cells.first();
            f.prefetch(t, at as usize);
            k += 1;
        }
    }

    /// Relaxes, shifts, writes and sums the populations of `M` nodes of one v_y.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn group<const SLOPED: bool, const SHAKHOV: bool, const FORWARD: bool, const M: usize>(
        &mut self,
        jy: u32,
        m: u32,
        f: [Pack<T, W>; M],
    ) {
        let Pass {
            t,
            next,
            tables,
            axes,
            shape,
            ..
        } = *self.pass;
        let vy = axes.get(t, (shape.axis_y(jy) + axis::VELOCITY) as usize);
        let [y] = self.table(tables, |_| shape.row_y() + jy);
        let inner: [Pack<T, W>; M] = self.table(tables, |k| shape.row_m() + m + k as u32);
        // The equilibrium's first two factors: a constant, and for Shakhov the coefficient of the unresolved |c|^2.
        let (mut constant, mut slope) = (self.x * y, Pack::ZERO);
        if SHAKHOV && let Some(heat) = &self.heat {
            let (alpha, beta) = heat.at(vy);
            slope = beta * constant * self.unresolved;
            constant = alpha * constant;
        }
        let to = self.base(self.jx, jy, m) + shape.in_row(self.cells.own_cell());
        let (mut zeroth, mut second) = (Pack::ZERO, Pack::ZERO);
        for k in 0..M {
            let node = m + k as u32;
            let [mass, energy] = axes.get_run::<2, _>(t, shape.axis_m(node) as usize);
            let argument = if SHAKHOV {
                axes.get(t, (shape.axis_m(node) + axis::FRACTION) as usize)
            } else {
                T::ZERO
            };
            let share = if SHAKHOV {
                slope.mul_add(argument, constant)
            } else {
                constant
            };
            let post = self.decay.mul_add(f[k], share * inner[k]);
            let (a, c) = (self.fraction, self.rest);
            let z = if FORWARD {
                self.cells.shift::<S, T, SLOPED, 1>(t, post, a, c, true)
            } else {
                self.cells.shift::<S, T, SLOPED, -1>(t, post, a, c, false)
            };
            if self.cells.owns {
                next.set_run(t, (to + k as u32 * WARP) as usize, z.0);
            }
            zeroth = z.mul_add(mass, zeroth);
            second = z.mul_add(energy, second);
        }
        let rest = zeroth.mul_add(vy * vy, second);
        self.sums[0] += zeroth;
        self.sums[1] = zeroth.mul_add(vy, self.sums[1]);
        self.sums[2] += rest;
        if SHAKHOV {
            self.sums[3] = rest.mul_add(vy, self.sums[3]);
            self.sums[4] = zeroth.mul_add(vy * vy, self.sums[4]);
        }
    }
}
