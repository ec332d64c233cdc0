//! The pass of the BGK and Shakhov models in one dimension of space: it relaxes, streams and sums all populations.
//!
//! Its tables come from [`equilibrium()`](super::equilibrium::equilibrium()); [`bgk`](super) explains the whole.

mod span;

use super::boundary::relaxed;
use super::equilibrium::Heat;
use super::layout::{FlowShape, PASS_SUMS_SHAKHOV, axis, ceiling, row, split};
use super::sweep::block;
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};
use span::Span;
pub use span::{SPAN_LIMIT, span_cells, span_tiles};

/// Threads of a block of the passes over a line.
pub const LINE_THREADS: u32 = 256;

/// Nodes of the innermost axis that a thread has under way at once, and the same again while it waits for them.
pub const LINE_NODES: u32 = 4;

/// Cells of a thread: what 16 bytes hold.
#[inline(always)]
pub const fn line_width(bytes: usize) -> u32 {
    if bytes == 4 { 4 } else { 2 }
}

/// Tiles of a row of cells, one a block.
#[inline(always)]
pub const fn line_tiles(nx: u32, bytes: usize, sloped: bool) -> u32 {
    span_tiles(nx, line_width(bytes), sloped)
}

/// Groups of nodes for one v_x.
#[inline(always)]
pub const fn line_groups(shape: &FlowShape) -> u32 {
    shape.count_y * shape.count_m.div_ceil(LINE_NODES)
}

/// Words of shared memory of a block: the sums of its warps.
#[inline(always)]
pub const fn line_scratch(shape: &FlowShape, bytes: usize) -> u32 {
    shape.pass_sums() * LINE_THREADS * line_width(bytes)
}

kernel! {
    /// One time step of first order: relaxation, streaming and partial sums of all populations on a line.
    ///
    /// **Block**: one tile of 31 spans of cells (124 cells in `f32`) for one v_x and `groups` groups of nodes, each of one v_y and four nodes of the
    /// innermost axis. Its 8 warps take up the same cells and share the groups, so that factors of the Maxwellian stay in the L1 cache.
    /// **Thread**: one span of cells, 16 bytes, which it keeps for all its nodes. It has the next group's populations under way, 64 bytes, while it works on
    /// one. The lane at the upstream end only lends its cells.
    /// **Cost**: a population is read once and written once (8 bytes in `f32`; the lender's from the caches), and costs about 23 instructions. Partial
    /// sums, added over the warps in shared memory, are 3 words a cell for the populations of `groups` groups.
    /// **No race**: each population, each shared word and each partial sum has one writer, a barrier stands before the block's sums are read, and `f` and
    /// `next` are different memory.
    pub fn line_pass_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, turned: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch(&shape, size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.line::<false, false>();
    }
}

kernel! {
    /// The same step of second order with van Leer's slopes.
    ///
    /// As [`line_pass_upwind()`], but a lane at either end of a warp only lends its cells: 30 spans. About 35 instructions a population.
    pub fn line_pass_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, turned: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch(&shape, size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.line::<true, false>();
    }
}

kernel! {
    /// [`line_pass_upwind()`] for the Shakhov model: two operations more, and the sums that its heat flux needs.
    pub fn line_pass_upwind_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, turned: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch(&shape, size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.line::<false, true>();
    }
}

kernel! {
    /// [`line_pass_van_leer()`] for the Shakhov model.
    pub fn line_pass_van_leer_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, turned: u32,
    ) for f32, f64
    shared { scratch: [T; line_scratch(&shape, size_of::<T>())] } {
        let pass = Pass { t, f, next, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.line::<true, true>();
    }
}

/// The arguments of a launch.
struct Pass<'a, S, T: Real> {
    t: &'a S,
    /// The populations that are read, and those that are written.
    f: In<'a, T>,
    next: Out<'a, T>,
    tables: In<'a, T>,
    axes: In<'a, T>,
    partial: Out<'a, T>,
    /// The sums of the warps of the block.
    scratch: Shared<'a, T>,
    shape: &'a FlowShape,
    groups: u32,
    /// Whether the last tiles of the last nodes come first.
    turned: bool,
}

impl<'a, S: Simt, T: Real> Pass<'a, S, T> {
    /// Whether this v_x flies towards larger x.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn forward(&self, jx: u32) -> bool {
        let velocity = self.shape.axis_x(jx) + axis::VELOCITY;
        self.axes.get(self.t, velocity as usize) > T::ZERO
    }

    /// The first of this warp's groups and the end of its block's, of the block's `part` of `all`; the warps take groups in turn.
    ///
    /// So warps that are at work at the same time mostly share the factors along y, and what they read lies near.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn share(&self, part: u32, all: u32) -> (u32, u32) {
        let end = (part + 1) * self.groups;
        let first = part * self.groups + self.t.warp();
        (first, if end < all { end } else { all })
    }

    /// Puts the relaxed populations of mirrored nodes where cells take from a wall that mirrors a part, into K values of each cell: `of(k)` is the
    /// row of cells, the number of v_y and the innermost node of the k-th.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn take_images<const W: usize, const K: usize>(
        &self,
        span: &Span<W>,
        jx: u32,
        of: impl Fn(u32) -> [u32; 3],
        values: &mut [[T; W]; K],
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
        let mut left = span.images(K as u32);
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let (w, k) = (bit / K as u32, bit % K as u32);
            let [iy, jy, m] = of(k);
            let place = iy * shape.pitch + span.image(w);
            let node = [shape.count_x - 1 - jx, jy, m];
            let read = |node, place| f.get(t, shape.population(node, place) as usize);
            let value = relaxed(t, read, tables, axes, shape, node, place, place);
            let mut i = 0;
            while i < W * K {
                // A choice each time, of which no jump table can be made.
                let here = &mut values[i % K][i / K];
                *here = if i as u32 == bit { value } else { *here };
                i += 1;
            }
        }
    }

    /// Adds what the warps keep at `own(warp)`, in the order of the warps.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn sum_of_warps<const W: usize>(&self, own: impl Fn(u32) -> u32) -> [T; W] {
        let mut sum = self.scratch.get_run::<W, _>(self.t, own(0));
        let mut warp = 1;
        while warp < self.t.warps() {
            let other = self.scratch.get_run::<W, _>(self.t, own(warp));
            let mut w = 0;
            while w < W {
                sum[w] += other[w];
                w += 1;
            }
            warp += 1;
        }
        sum
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(crate) fn line<const SLOPED: bool, const SHAKHOV: bool>(&self) {
        let Self { shape, .. } = *self;
        let tiles = line_tiles(shape.nx, size_of::<T>(), SLOPED);
        let (chunk, tile) = split(block(self.t, self.turned), tiles);
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
            let mut ahead = walk.load(jy, m);
            while item < end {
                let f = ahead;
                let (this_jy, this_m) = (jy, m);
                item += step;
                if item < end {
                    (jy, m) = of(item);
                    ahead = walk.load(jy, m);
                }
                if item + step < end {
                    let (jy, m) = of(item + step);
                    walk.announce(jy, m);
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
        self.sum_line(&walk, chunk);
    }

    /// Adds the sums of the warps, which have the same cells, in the order of the warps.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn sum_line<const W: usize>(&self, walk: &Walk<'_, 'a, S, T, W>, chunk: u32) {
        let Self {
            t, shape, scratch, ..
        } = *self;
        let (count, width) = (shape.pass_sums(), W as u32);
        let own = |warp: u32, k: u32| ((warp * count + k) * WARP + t.lane()) * width;
        let mut k = 0;
        while k < PASS_SUMS_SHAKHOV {
            if k < count {
                scratch.set_run(t, own(t.warp(), k), walk.sums[k as usize]);
            }
            k += 1;
        }
        t.sync_threads();
        // A warp takes every eighth of the sums.
        let mut k = t.warp();
        while k < count {
            let sum = self.sum_of_warps::<W>(|warp| own(warp, k));
            if walk.span.gives {
                let at = (chunk * count + k) * shape.pitch + walk.span.gives_to();
                self.partial.set_run(t, at as usize, sum);
            }
            k += t.warps();
        }
    }
}

/// What a thread keeps while it walks over its nodes.
struct Walk<'p, 'a, S, T: Real, const W: usize> {
    pass: &'p Pass<'a, S, T>,
    span: Span<W>,
    jx: u32,
    fraction: T,
    rest: T,
    keep: [T; W],
    x: [T; W],
    heat: Option<[Heat<T>; W]>,
    /// What turns the innermost axis' argument into the unresolved part of |c|^2.
    unresolved: [T; W],
    sums: [[T; W]; PASS_SUMS_SHAKHOV as usize],
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
        let span = Span::new(t, tile, shape, whole, FORWARD, SLOPED);
        let column = |k: usize| span.column(k, 0, shape);
        let table = |row: u32| {
            let row = row * shape.columns();
            let [values] = span.take(
                t,
                tables,
                |_| row + span.first_column(0),
                |_, w| row + column(w),
            );
            values
        };
        let mut x = [T::ZERO; W];
        let mut k = 0;
        while k < W {
            let row = row::X + span.table_node(k, jx, shape);
            x[k] = tables.get(t, (row * shape.columns() + column(k)) as usize);
            k += 1;
        }
        let heat = if SHAKHOV {
            let heat = |k: usize| {
                let vx = of_x(span.table_node(k, jx, shape), axis::VELOCITY);
                Heat::new(t, tables, shape, column(k), vx)
            };
            let mut all = [heat(0); W];
            let mut k = 1;
            while k < W {
                all[k] = heat(k);
                k += 1;
            }
            Some(all)
        } else {
            None
        };
        Self {
            pass,
            span,
            jx,
            fraction,
            rest: T::ONE - fraction,
            keep: table(row::KEEP),
            x,
            heat,
            unresolved: if SHAKHOV && shape.integrated > 0 {
                table(shape.row_m() + 1)
            } else {
                [T::ONE; W]
            },
            sums: [[T::ZERO; W]; PASS_SUMS_SHAKHOV as usize],
        }
    }

    /// Where a node's populations begin.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn base(&self, jx: u32, jy: u32, m: u32) -> u32 {
        let shape = self.pass.shape;
        shape.row_start(jx * shape.count_y + jy, m, 0)
    }

    /// Rows of tables at the cells that these take from.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn table<const K: usize>(&self, tables: In<'_, T>, row: impl Fn(usize) -> u32) -> [[T; W]; K] {
        let Pass { t, shape, .. } = *self.pass;
        let span = &self.span;
        span.take(
            t,
            tables,
            |k| row(k) * shape.columns() + span.first_column(0),
            |k, w| row(k) * shape.columns() + span.column(w, 0, shape),
        )
    }

    /// The populations of the four nodes from m on; beyond the last, some others.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn load(&self, jy: u32, m: u32) -> [[T; W]; LINE_NODES as usize] {
        let Pass { t, f, shape, .. } = *self.pass;
        let span = &self.span;
        let node = |k: usize| {
            let node = m + k as u32;
            if node < shape.count_m { node } else { m }
        };
        let mut values = span.take_once(
            t,
            f,
            |k| self.base(self.jx, jy, node(k)) + span.first(),
            |k, w| {
                self.base(span.node(w, self.jx, shape), jy, node(k)) + shape.in_row(span.source(w))
            },
        );
        if span.any_mixed() {
            let of = |k: u32| [0, jy, node(k as usize)];
            self.pass.take_images(span, self.jx, of, &mut values);
        }
        values
    }

    /// Announces the populations of the four nodes from m on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn announce(&self, jy: u32, m: u32) {
        let Pass { t, f, shape, .. } = *self.pass;
        let mut k = 0;
        while k < LINE_NODES && self.span.straight {
            let node = if m + k < shape.count_m { m + k } else { m };
            let at = self.base(self.jx, jy, node) + self.span.first();
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
        f: [[T; W]; M],
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
        let inner: [[T; W]; M] = self.table(tables, |k| shape.row_m() + m + k as u32);
        // The Maxwellian's share at the first two factors: a constant, and for Shakhov what goes with the unresolved |c|^2.
        let (mut constant, mut slope) = ([T::ZERO; W], [T::ZERO; W]);
        let mut w = 0;
        while w < W {
            constant[w] = self.x[w] * y[w];
            if SHAKHOV && let Some(heat) = &self.heat {
                let (alpha, beta) = heat[w].at(vy);
                slope[w] = beta * constant[w] * self.unresolved[w];
                constant[w] = alpha * constant[w];
            }
            w += 1;
        }
        let to = self.base(self.jx, jy, m) + shape.in_row(self.span.gives_to());
        let (mut zeroth, mut second) = ([T::ZERO; W], [T::ZERO; W]);
        let mut k = 0;
        while k < M {
            let node = m + k as u32;
            let [mass, energy] = axes.get_run::<2, _>(t, shape.axis_m(node) as usize);
            let argument = if SHAKHOV {
                axes.get(t, (shape.axis_m(node) + axis::FRACTION) as usize)
            } else {
                T::ZERO
            };
            let mut post = [T::ZERO; W];
            let mut w = 0;
            while w < W {
                let share = if SHAKHOV {
                    slope[w].mul_add(argument, constant[w])
                } else {
                    constant[w]
                };
                post[w] = self.keep[w].mul_add(f[k][w], share * inner[k][w]);
                w += 1;
            }
            let (a, c) = (self.fraction, self.rest);
            let z = if FORWARD {
                self.span.shift::<S, T, SLOPED, 1>(t, post, a, c, true)
            } else {
                self.span.shift::<S, T, SLOPED, -1>(t, post, a, c, false)
            };
            if self.span.gives {
                next.set_run(t, (to + k as u32 * WARP) as usize, z);
            }
            let mut w = 0;
            while w < W {
                zeroth[w] = mass.mul_add(z[w], zeroth[w]);
                second[w] = energy.mul_add(z[w], second[w]);
                w += 1;
            }
            k += 1;
        }
        let mut w = 0;
        while w < W {
            let rest = (vy * vy).mul_add(zeroth[w], second[w]);
            self.sums[0][w] += zeroth[w];
            self.sums[1][w] = vy.mul_add(zeroth[w], self.sums[1][w]);
            self.sums[2][w] += rest;
            if SHAKHOV {
                self.sums[3][w] = vy.mul_add(rest, self.sums[3][w]);
                self.sums[4][w] = (vy * vy).mul_add(zeroth[w], self.sums[4][w]);
            }
            w += 1;
        }
    }
}
