//! Kernels of the BGK and Shakhov models in two dimensions of space: the pass that relaxes, streams and sums all populations.
//!
//! Its tables come from [`bgk_flow`](crate::bgk_flow), where the whole is explained. The common case has kernels of its own, [`bgk_march`](crate::bgk_march).

use crate::bgk_flow::layout::{
    FlowShape, Heat, Source, axis, ceiling, limited, power_of_two, row, source, split,
};
use crate::bgk_flow::pass::{Pass, tile_and_chunk};
use crate::bgk_flow::span::{Span, folded_tiles};
use crate::bgk_flow::store::{Plain, Populations, Store, number};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::Shared;
use crate::simt::{Simt, WARP};

/// Threads of a block of the passes over a plane.
pub const PLANE_THREADS: u32 = 128;

/// Cells of a thread in a row: what 16 bytes hold.
#[inline(always)]
pub const fn plane_width(bytes: usize) -> u32 {
    if bytes == 4 { 4 } else { 2 }
}

/// Rows of cells that a block gives out: as many as have room for their sums.
#[inline(always)]
pub const fn plane_rows(shakhov: bool) -> u32 {
    if shakhov { 4 } else { 8 }
}

/// Nodes of the innermost axis that a thread walks over at once: g and h, or two.
pub const PLANE_NODES: u32 = 2;
const M: usize = PLANE_NODES as usize;

/// Tiles of a plane of cells, one a block.
#[inline(always)]
pub const fn plane_tiles(nx: u32, ny: u32, bytes: usize, sloped: bool, shakhov: bool) -> u32 {
    let rows = plane_rows(shakhov);
    let strips = quotient(ny + rows - 1, rows);
    folded_tiles(nx, strips, plane_width(bytes), sloped)
}

/// Groups of so many nodes for one v_x.
#[inline(always)]
pub const fn plane_groups(shape: &FlowShape, nodes: u32) -> u32 {
    shape.count_y * quotient(shape.count_m + nodes - 1, nodes)
}

/// Words of shared memory of a block: the sums of its warps.
#[inline(always)]
pub const fn plane_scratch(shape: &FlowShape, bytes: usize) -> u32 {
    shape.pass_sums() * plane_rows(shape.shakhov != 0) * plane_width(bytes) * PLANE_THREADS
}

/// Tiles that share the L2 cache with their tables.
const BAND: u32 = 32;

/// Rows of populations of a warp in shared memory: the one that is worked on and those on their way.
const STAGES: u32 = 2;

/// Whether populations come by way of shared memory: where memory binds.
#[inline(always)]
const fn stages_rows(sloped: bool, shakhov: bool, bytes: usize) -> bool {
    !sloped && !shakhov && bytes == 4
}

/// Words of shared memory for the populations on their way.
#[inline(always)]
pub(crate) const fn staged(bytes: usize) -> u32 {
    if stages_rows(false, false, bytes) {
        STAGES * PLANE_NODES * PLANE_THREADS * plane_width(bytes)
    } else {
        0
    }
}

kernel! {
    /// One time step of first order: relaxation, streaming along x and y, and partial sums of all populations on a rectangle.
    ///
    /// **Block**: one tile of 124 x 8 cells (`f32`) for one v_x and `groups` groups of nodes, each of one v_y and two nodes of the innermost axis. Its 4
    /// warps take up the same cells and share the groups, so that factors of the Maxwellian stay in the L1 cache.
    /// **Thread**: four cells of each row. It walks down the rows with the molecules of a group, of which it keeps the row before, and has the populations
    /// of the next row under way. The lane at the upstream end only lends its cells.
    /// **Cost**: a population is read once from memory (9/8 with the row upstream, from the caches) and written once, 8 bytes in `f32`. Partial sums, added
    /// over the warps in shared memory, are 3 words a cell for the populations of `groups` groups.
    /// **Shared memory**: the sums of each warp, 48 KiB, and in `f32` two rows of populations, 8 KiB: one is worked on, one is copied there meanwhile.
    /// **No race**: each population, each shared word and each partial sum has one writer, a barrier stands before the block's sums are read, and `f` and
    /// `next` are different memory.
    pub fn plane_pass_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, turned: u32,
    ) for f32, f64
    shared {
        scratch: [T; plane_scratch(&shape, size_of::<T>())],
        stages: [T; staged(size_of::<T>())],
    } {
        let store = Plain { f, next };
        let pass = Pass { t, store, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.plane::<false, false>(stages);
    }
}

kernel! {
    /// The same step of second order with van Leer's slopes.
    ///
    /// As [`plane_pass_upwind()`] with 120 x 8 cells from 128 x 11 places, and the last value, difference and flux of each node kept: about 83
    /// instructions a population, three of them of the special function unit.
    pub fn plane_pass_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, turned: u32,
    ) for f32, f64
    shared {
        scratch: [T; plane_scratch(&shape, size_of::<T>())],
        stages: [T; 0],
    } {
        let store = Plain { f, next };
        let pass = Pass { t, store, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.plane::<true, false>(stages);
    }
}

kernel! {
    /// [`plane_pass_upwind()`] for the Shakhov model: tiles of half as many rows.
    pub fn plane_pass_upwind_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, turned: u32,
    ) for f32, f64
    shared {
        scratch: [T; plane_scratch(&shape, size_of::<T>())],
        stages: [T; 0],
    } {
        let store = Plain { f, next };
        let pass = Pass { t, store, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.plane::<false, true>(stages);
    }
}

kernel! {
    /// [`plane_pass_van_leer()`] for the Shakhov model: tiles of half as many rows.
    pub fn plane_pass_van_leer_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, groups: u32, turned: u32,
    ) for f32, f64
    shared {
        scratch: [T; plane_scratch(&shape, size_of::<T>())],
        stages: [T; 0],
    } {
        let store = Plain { f, next };
        let pass = Pass { t, store, tables, axes, partial, scratch, shape: &shape, groups, turned: turned != 0 };
        pass.plane::<true, true>(stages);
    }
}

impl<'a, S: Simt, T: Real, P: Store<'a, T>> Pass<'a, S, T, P> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(crate) fn plane<const SLOPED: bool, const SHAKHOV: bool>(
        &self,
        stages: Shared<'_, Word<'a, T, P>>,
    ) {
        let shape = self.shape;
        let parts = ceiling(plane_groups(shape, M as u32), self.groups);
        let [tile, chunk] = tile_and_chunk(self.t, self.turned, shape.count_x * parts, BAND);
        let (jx, part) = split(chunk, parts);
        let forward = self.forward(jx);
        // Decided at compile time, so that no other width is compiled; and the direction only where registers and code allow to compile both.
        if const { plane_width(size_of::<T>()) == 4 } {
            if const { SHAKHOV } {
                self.strip::<SLOPED, SHAKHOV, 0, 4>(stages, chunk, tile, jx, part, forward);
            } else if forward {
                self.strip::<SLOPED, SHAKHOV, 1, 4>(stages, chunk, tile, jx, part, forward);
            } else {
                self.strip::<SLOPED, SHAKHOV, -1, 4>(stages, chunk, tile, jx, part, forward);
            }
        } else {
            self.strip::<SLOPED, SHAKHOV, 0, 2>(stages, chunk, tile, jx, part, forward);
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn strip<const SLOPED: bool, const SHAKHOV: bool, const DIRECTION: i32, const W: usize>(
        &self,
        stages: Shared<'_, Word<'a, T, P>>,
        chunk: u32,
        tile: u32,
        jx: u32,
        part: u32,
        forward: bool,
    ) {
        let Self { t, shape, axes, .. } = *self;
        let rows = plane_rows(SHAKHOV);
        let mut k = 0;
        while k < shape.pass_sums() * rows {
            let at = self.own::<W>(rows, t.warp(), 0, k);
            self.scratch.set_run(t, at, [T::ZERO; W]);
            k += 1;
        }
        let of_x = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let whole = of_x(axis::WHOLE).to_f64() as i32;
        let a = of_x(axis::FRACTION);
        let strips = ceiling(shape.ny, rows);
        let (span, strip) = Span::<W>::folded(t, tile, strips, shape, whole, forward, SLOPED);
        let most = (shape.pitch - W as u32) as i32;
        let own = if span.cell < 0 { 0 } else { span.cell };
        let column = Column {
            own: (if own < most { own } else { most }) as u32,
            span,
            jx,
            forward,
            low: strip * rows,
            along_x: [a, T::ONE - a],
            seed: self.store.seed(t),
        };
        self.groups::<SLOPED, SHAKHOV, DIRECTION, W>(stages, &column, part);
        t.sync_threads();
        self.sum_plane(&column, chunk, rows);
    }

    /// Where a warp keeps the k-th sum of this lane's cells in a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn own<const W: usize>(&self, rows: u32, warp: u32, k: u32, row: u32) -> u32 {
        (((warp * self.shape.pass_sums() + k) * rows + row) * WARP + self.t.lane()) * W as u32
    }

    /// Adds the sums of the warps, which have the same cells, in the order of the warps.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn sum_plane<const W: usize>(&self, column: &Column<T, W>, chunk: u32, rows: u32) {
        let Self { t, shape, .. } = *self;
        let mut row = t.warp();
        while row < rows {
            let iy = column.low + row;
            let mut k = 0;
            while k < shape.pass_sums() {
                let sum = self.sum_of_warps::<W>(|warp| self.own::<W>(rows, warp, k, row));
                if column.span.gives && iy < shape.ny {
                    let place = iy * shape.pitch + column.span.gives_to();
                    let at = (chunk * shape.pass_sums() + k) * shape.plane() + place;
                    self.partial.set_run(t, at as usize, sum);
                }
                k += 1;
            }
            row += t.warps();
        }
    }

    /// The groups of nodes of this warp.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn groups<const SLOPED: bool, const SHAKHOV: bool, const DIRECTION: i32, const W: usize>(
        &self,
        stages: Shared<'_, Word<'a, T, P>>,
        column: &Column<T, W>,
        part: u32,
    ) {
        let shape = self.shape;
        let (mut item, end) = self.share(part, plane_groups(shape, M as u32));
        while item < end {
            let (jy, group) = split(item, ceiling(shape.count_m, M as u32));
            self.march::<SLOPED, SHAKHOV, DIRECTION, W>(stages, column, jy, group * PLANE_NODES);
            item += self.t.warps();
        }
    }

    /// Walks down the rows with the `M` nodes of one v_y from m on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn march<const SLOPED: bool, const SHAKHOV: bool, const DIRECTION: i32, const W: usize>(
        &self,
        stages: Shared<'_, Word<'a, T, P>>,
        column: &Column<T, W>,
        jy: u32,
        m: u32,
    ) {
        let Self { t, shape, axes, .. } = *self;
        let of_y = |k: u32| axes.get(t, (shape.axis_y(jy) + k) as usize);
        let vy = of_y(axis::VELOCITY);
        let up = vy > T::ZERO;
        let whole = of_y(axis::WHOLE).to_f64() as i32;
        let b = of_y(axis::FRACTION);
        let rows = plane_rows(SHAKHOV);
        // Row 0 of the walk lies so many rows upstream of the first that is given out; with slopes one more follows the last.
        let (lead, behind) = if SLOPED { (2, 1) } else { (1, 0) };
        let start = if up {
            column.low as i32 - whole - lead
        } else {
            (column.low + rows) as i32 - 1 + whole + lead
        };
        let mut nodes = Nodes::<T, W> {
            jy,
            m,
            up,
            start,
            vy,
            along_y: [b, T::ONE - b],
            image: false,
            mass: [T::ZERO; M],
            energy: [T::ZERO; M],
            argument: [T::ZERO; M],
            log_weight: [T::ZERO; M],
            before: [[T::ZERO; W]; M],
            difference: [[T::ZERO; W]; M],
            passed: [[T::ZERO; W]; M],
        };
        let mut k = 0;
        while k < M {
            let at = shape.axis_m(nodes.node(shape, k));
            let [mass, energy] = axes.get_run::<2, _>(t, at as usize);
            let [argument, log_weight] = axes.get_run::<2, _>(t, (at + axis::FRACTION) as usize);
            if nodes.live(shape, k) {
                nodes.mass[k] = mass;
                nodes.energy[k] = energy;
            }
            nodes.argument[k] = argument;
            nodes.log_weight[k] = log_weight;
            k += 1;
        }
        let last = rows + (lead + behind) as u32;
        let mut ahead = self.look::<SHAKHOV, W>(column, &nodes.place(shape, 0));
        if const { stages_rows(SLOPED, SHAKHOV, size_of::<T>()) } {
            let after = |stage: u32| if stage + 1 < STAGES { stage + 1 } else { 0 };
            // Rows copied and rows done, and their places in shared memory.
            let (mut copied, mut s) = (0, 0);
            let (mut filled, mut taken) = (0, 0);
            while s < last {
                let row = ahead;
                // Before the copies that follow, behind which they would wait.
                if copied + 1 >= STAGES && s + 1 < last {
                    ahead = self.look::<SHAKHOV, W>(column, &nodes.place(shape, s + 1));
                }
                if copied < last {
                    let place = nodes.place(shape, copied);
                    self.copy(stages, filled, column, &nodes, &place);
                }
                t.end_copies();
                filled = after(filled);
                copied += 1;
                if copied < STAGES {
                    continue;
                }
                t.wait_copies(STAGES - 1);
                let run = |k: usize| {
                    let slot = self.stage(taken, k);
                    <P::Read as Populations<T>>::staged(t, stages, slot)
                };
                let mut runs = [run(0); M];
                let mut k = 1;
                while k < M {
                    runs[k] = run(k);
                    k += 1;
                }
                taken = after(taken);
                self.step::<SLOPED, SHAKHOV, DIRECTION, W>(column, &mut nodes, s, &row, runs);
                s += 1;
            }
        } else {
            // Those of the next row are on their way to registers, and those of the one after that are called to the L2 cache: shared memory takes longer
            // where arithmetic binds.
            let mut next = self.load::<W>(column, &nodes, &nodes.place(shape, 0));
            let mut place = nodes.place(shape, 1);
            let mut s = 0;
            while s < last {
                let (f, row) = (next, ahead);
                s += 1;
                if s < last {
                    next = self.load::<W>(column, &nodes, &place);
                    ahead = self.look::<SHAKHOV, W>(column, &place);
                }
                if s + 1 < last {
                    place = nodes.place(shape, s + 1);
                    self.announce(column, &nodes, &place);
                }
                self.step::<SLOPED, SHAKHOV, DIRECTION, W>(column, &mut nodes, s - 1, &row, f);
            }
        }
    }

    /// The lane's place in shared memory for the k-th node of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn stage(&self, stage: u32, k: usize) -> u32 {
        ((stage * M as u32 + k as u32) * (PLANE_THREADS / WARP) + self.t.warp()) * WARP
            + self.t.lane()
    }

    /// Copies the populations that a row of the walk takes to shared memory, while the thread goes on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn copy<const W: usize>(
        &self,
        stages: Shared<'_, Word<'a, T, P>>,
        stage: u32,
        column: &Column<T, W>,
        nodes: &Nodes<T, W>,
        place: &Place,
    ) {
        let Self {
            t, shape, store, ..
        } = *self;
        let base = |jx: u32| {
            let pair = jx * shape.count_y + place.jy;
            shape.row_start(pair, nodes.m, place.along_y.cell)
        };
        let span = &column.span;
        let straight = base(column.jx) + span.first();
        let mut k = 0;
        while k < M {
            // A node beyond the last has the population of the first, and counts for nothing.
            let offset = if nodes.live(shape, k) {
                k as u32 * WARP
            } else {
                0
            };
            store.read().stage(
                t,
                span,
                stages,
                self.stage(stage, k),
                straight + offset,
                |w| base(span.node(w, column.jx, shape)) + shape.in_row(span.source(w)) + offset,
            );
            k += 1;
        }
    }

    /// Announces the populations that a row of the walk takes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn announce<const W: usize>(&self, column: &Column<T, W>, nodes: &Nodes<T, W>, place: &Place) {
        let Self {
            t, shape, store, ..
        } = *self;
        let pair = column.jx * shape.count_y + place.jy;
        let first = shape.row_start(pair, nodes.m, place.along_y.cell) + column.span.first();
        store.read().announce::<S, W, M>(t, &column.span, |k| {
            let more = if nodes.live(shape, k) { k as u32 } else { 0 };
            first + more * WARP
        });
    }

    /// The populations that a row of the walk takes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load<const W: usize>(
        &self,
        column: &Column<T, W>,
        nodes: &Nodes<T, W>,
        place: &Place,
    ) -> [Run<'a, T, P, W>; M] {
        let Self {
            t, shape, store, ..
        } = *self;
        let base = |jx: u32| {
            let pair = jx * shape.count_y + place.jy;
            shape.row_start(pair, nodes.m, place.along_y.cell)
        };
        let span = &column.span;
        // A node beyond the last has the population of the first, and counts for nothing.
        let offset = |k: usize| {
            if nodes.live(shape, k) {
                k as u32 * WARP
            } else {
                0
            }
        };
        let mut runs = store.read().take(
            t,
            span,
            |k| base(column.jx) + span.first() + offset(k),
            |k, w| base(span.node(w, column.jx, shape)) + shape.in_row(span.source(w)) + offset(k),
        );
        if span.any_mixed() {
            <P::Read as Populations<T>>::before_decoding(&mut runs, |values| {
                let of = |k: u32| [place.along_y.cell, place.jy, nodes.node(shape, k as usize)];
                self.take_images(span, column.jx, of, values);
            });
        }
        runs
    }

    /// What the tables have for a row of the walk.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn look<const SHAKHOV: bool, const W: usize>(
        &self,
        column: &Column<T, W>,
        place: &Place,
    ) -> Row<T, W> {
        let Self { t, shape, axes, .. } = *self;
        let span = &column.span;
        let face = place.along_y.face;
        let outside = face != 0 && !place.along_y.mirrored;
        let iy = place.along_y.cell;
        // Beyond a face along y stands the column of the cell itself, which does not come from elsewhere along x.
        let own = || column.beyond(shape, face);
        let at = |k: usize, jx: u32| {
            let row = match k {
                0 => row::KEEP,
                1 => self.row_of_inner(),
                2 => row::X + jx,
                3 => shape.row_y() + place.jy,
                _ => row::HEAT,
            };
            row * shape.columns()
        };
        // For deviations the factors of the step before too, and what relaxation gives.
        let count = if P::DEVIATIONS && !SHAKHOV { 5 } else { 4 };
        let before = self.store.before();
        let mut values = [[T::ZERO; W]; 5];
        let mut known = [[T::ZERO; W]; 4];
        if outside || span.straight {
            let from = if outside {
                own()
            } else {
                span.first_column(iy)
            };
            let mut k = 0;
            while k < count {
                values[k] = self.tables.get_whole(t, (at(k, column.jx) + from) as usize);
                k += 1;
            }
            k = 1;
            while k < 4 && P::DEVIATIONS {
                known[k] = before.get_whole(t, (at(k, column.jx) + from) as usize);
                k += 1;
            }
        } else {
            let mut w = 0;
            while w < W {
                let jx = span.table_node(w, column.jx, shape);
                let from = span.column(w, iy, shape);
                let mut k = 0;
                while k < count {
                    values[k][w] = self.tables.get(t, (at(k, jx) + from) as usize);
                    k += 1;
                }
                k = 1;
                while k < 4 && P::DEVIATIONS {
                    known[k][w] = before.get(t, (at(k, jx) + from) as usize);
                    k += 1;
                }
                w += 1;
            }
        }
        let [keep, steep, mut x, y, give] = values;
        let mut slope = [T::ZERO; W];
        let mut w = 0;
        while w < W && SHAKHOV {
            let velocity = |e: u32| axes.get(t, (e + axis::VELOCITY) as usize);
            let (at, jx) = if outside {
                (own() + w as u32, column.jx)
            } else {
                let jx = span.table_node(w, column.jx, shape);
                (span.column(w, iy, shape), jx)
            };
            let heat = Heat::new(t, self.tables, shape, at, velocity(shape.axis_x(jx)));
            let (alpha, beta) = heat.at(velocity(shape.axis_y(place.jy)));
            slope[w] = beta * x[w] * y[w];
            if shape.integrated > 0 {
                slope[w] *= steep[w];
            }
            x[w] *= alpha;
            w += 1;
        }
        let [_, steep_before, x_before, y_before] = known;
        // The products wait until they are needed, for the factors are still under way.
        Row {
            iy,
            jy: place.jy,
            give,
            before: Factors {
                steep: steep_before,
                x: x_before,
                y: y_before,
            },
            outside,
            mixed: if outside { 0 } else { face },
            keep,
            steep,
            x,
            y,
            slope,
        }
    }

    /// Relaxes a row of the walk, shifts it along x and y, and writes and sums what comes of it and the rows before.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn step<const SLOPED: bool, const SHAKHOV: bool, const DIRECTION: i32, const W: usize>(
        &self,
        column: &Column<T, W>,
        nodes: &mut Nodes<T, W>,
        s: u32,
        row: &Row<T, W>,
        runs: [Run<'a, T, P, W>; M],
    ) {
        let Self {
            t, shape, store, ..
        } = *self;
        let span = &column.span;
        let rows = plane_rows(SHAKHOV);
        let r = s.wrapping_sub(if SLOPED { 3 } else { 1 });
        // What the populations that this step writes deviate from; it is asked for early.
        let here = if P::DEVIATIONS && r < rows {
            self.here(column, nodes, r, rows)
        } else {
            Factors::default()
        };
        let known = if P::DEVIATIONS {
            self.maxwellians(nodes, &row.before)
        } else {
            [[T::ZERO; W]; M]
        };
        let mut f = [[T::ZERO; W]; M];
        let mut k = 0;
        while k < M {
            let node = [column.jx, nodes.jy, nodes.node(shape, k)];
            let [scale, _] = store.scale(t, number(shape, node));
            f[k] = <P::Read as Populations<T>>::values(runs[k], scale, known[k]);
            k += 1;
        }
        let decoded_here = P::DEVIATIONS || const { stages_rows(SLOPED, SHAKHOV, size_of::<T>()) };
        if decoded_here && span.any_mixed() {
            let of = |k: u32| [row.iy, row.jy, nodes.node(shape, k as usize)];
            self.take_images(span, column.jx, of, &mut f);
        }
        let factors = self.inner_factors(nodes, &row.steep);
        let mut z = [[T::ZERO; W]; M];
        let mut k = 0;
        while k < M {
            let mut w = 0;
            while w < W {
                let mut constant = row.x[w] * row.y[w];
                if P::DEVIATIONS && !SHAKHOV {
                    constant *= row.give[w];
                }
                let share = if SHAKHOV {
                    row.slope[w].mul_add(nodes.argument[k], constant)
                } else {
                    constant
                };
                let given = share * factors[k][w];
                z[k][w] = row.keep[w].mul_add(f[k][w], given);
                w += 1;
            }
            k += 1;
        }
        // What comes from beyond a face along y stays where it is along x; some lanes of a warp may have it, others not.
        let [a, c] = if row.outside {
            [T::ZERO; 2]
        } else {
            column.along_x
        };
        let mut k = 0;
        while k < M {
            z[k] = span.shift::<S, T, SLOPED, DIRECTION>(t, z[k], a, c, column.forward);
            k += 1;
        }

        if row.mixed != 0 {
            self.mix::<W>(column, nodes, row.mixed, &mut z);
        }

        let [b, d] = nodes.along_y;
        // Rows beyond a wall have no slopes.
        let d = if nodes.image { T::ZERO } else { d };
        let mut out = [[T::ZERO; W]; M];
        let mut k = 0;
        while k < M {
            let mut w = 0;
            while w < W {
                let (z, before) = (z[k][w], nodes.before[k][w]);
                if SLOPED {
                    let ahead = z - before;
                    let passes = d.mul_add(limited(nodes.difference[k][w], ahead), before);
                    out[k][w] = b.mul_add(nodes.passed[k][w] - passes, before);
                    nodes.passed[k][w] = passes;
                    nodes.difference[k][w] = ahead;
                } else {
                    out[k][w] = b.mul_add(before - z, z);
                }
                nodes.before[k][w] = z;
                w += 1;
            }
            k += 1;
        }
        nodes.image = row.mixed != 0;
        if r < rows {
            self.give::<SHAKHOV, W>(column, nodes, r, out, &here);
        }
    }

    /// Row of cells of the r-th row that a walk gives out.
    #[inline(always)]
    fn row_of<const W: usize>(
        column: &Column<T, W>,
        nodes: &Nodes<T, W>,
        r: u32,
        rows: u32,
    ) -> u32 {
        column.low + if nodes.up { r } else { rows - 1 - r }
    }

    /// The Maxwellian's factors in the cells of the r-th row that a walk gives out.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn here<const W: usize>(
        &self,
        column: &Column<T, W>,
        nodes: &Nodes<T, W>,
        r: u32,
        rows: u32,
    ) -> Factors<T, W> {
        let Self {
            t, shape, tables, ..
        } = *self;
        let iy = Self::row_of(column, nodes, r, rows);
        let iy = if iy < shape.ny { iy } else { shape.ny - 1 };
        let own = iy * shape.pitch + column.span.gives_to();
        let of = |row: u32| tables.get_whole(t, (row * shape.columns() + own) as usize);
        Factors {
            steep: of(self.row_of_inner()),
            x: of(row::X + column.jx),
            y: of(shape.row_y() + nodes.jy),
        }
    }

    /// The Maxwellian at the nodes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn maxwellians<const W: usize>(
        &self,
        nodes: &Nodes<T, W>,
        factors: &Factors<T, W>,
    ) -> [[T; W]; M] {
        let mut all = self.inner_factors(nodes, &factors.steep);
        let mut k = 0;
        while k < M {
            let mut w = 0;
            while w < W {
                all[k][w] *= factors.x[w] * factors.y[w];
                w += 1;
            }
            k += 1;
        }
        all
    }

    /// The row of the tables that the factors along the innermost axis are made of: the steepness, or the table of h.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row_of_inner(&self) -> u32 {
        self.shape.row_of_inner()
    }

    /// The Maxwellian's factors along the innermost axis, from that row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn inner_factors<const W: usize>(&self, nodes: &Nodes<T, W>, row: &[T; W]) -> [[T; W]; M] {
        let mut factors = [[T::ONE; W]; M];
        if self.shape.integrated > 0 {
            factors[1] = *row;
            return factors;
        }
        let mut k = 0;
        while k < M {
            let mut w = 0;
            while w < W {
                let exponent = nodes.argument[k].mul_add(row[w], nodes.log_weight[k]);
                factors[k][w] = power_of_two(exponent);
                w += 1;
            }
            k += 1;
        }
        factors
    }

    /// Makes of what a wall along y would mirror altogether what comes from it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn mix<const W: usize>(
        &self,
        column: &Column<T, W>,
        nodes: &Nodes<T, W>,
        face: u32,
        z: &mut [[T; W]; M],
    ) {
        let Self {
            t, shape, tables, ..
        } = *self;
        let from = column.beyond(shape, face);
        let entries =
            |row: u32| -> [T; W] { tables.get_whole(t, (row * shape.columns() + from) as usize) };
        let keep = entries(row::KEEP);
        let factors = self.inner_factors(nodes, &entries(self.row_of_inner()));
        let x = entries(row::X + column.jx);
        let y = entries(shape.row_y() + nodes.jy);
        let mut k = 0;
        while k < M {
            let mut w = 0;
            while w < W {
                z[k][w] = keep[w].mul_add(z[k][w], x[w] * y[w] * factors[k][w]);
                w += 1;
            }
            k += 1;
        }
    }

    /// Writes the r-th row that a walk gives out and adds it to the sums.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn give<const SHAKHOV: bool, const W: usize>(
        &self,
        column: &Column<T, W>,
        nodes: &Nodes<T, W>,
        r: u32,
        out: [[T; W]; M],
        here: &Factors<T, W>,
    ) {
        let Self {
            t,
            shape,
            store,
            scratch,
            ..
        } = *self;
        let rows = plane_rows(SHAKHOV);
        let iy = Self::row_of(column, nodes, r, rows);
        let row = iy - column.low;
        if column.span.gives && iy < shape.ny {
            let node = number(shape, [column.jx, nodes.jy, nodes.m]);
            let pair = column.jx * shape.count_y + nodes.jy;
            let to = shape.row_start(pair, nodes.m, iy) + shape.in_row(column.span.gives_to());
            let maxwellians = if P::DEVIATIONS {
                self.maxwellians(nodes, here)
            } else {
                [[T::ZERO; W]; M]
            };
            let mut k = 0;
            while k < M {
                if nodes.live(shape, k) {
                    let at = to + k as u32 * WARP;
                    let [_, scale] = store.scale(t, node + k as u32);
                    store.write(t, at, out[k], scale, maxwellians[k], column.seed);
                }
                k += 1;
            }
        }
        let vy = nodes.vy;
        let (mut zeroth, mut second) = ([T::ZERO; W], [T::ZERO; W]);
        let mut w = 0;
        while w < W {
            let mut k = 0;
            while k < M {
                zeroth[w] = nodes.mass[k].mul_add(out[k][w], zeroth[w]);
                second[w] = nodes.energy[k].mul_add(out[k][w], second[w]);
                k += 1;
            }
            w += 1;
        }
        let add = |k: u32, values: [T; W], factor: T| {
            let at = self.own::<W>(rows, t.warp(), k, row);
            let mut sum = scratch.get_run::<W, _>(t, at);
            let mut w = 0;
            while w < W {
                sum[w] = factor.mul_add(values[w], sum[w]);
                w += 1;
            }
            scratch.set_run(t, at, sum);
        };
        let mut rest = second;
        let mut w = 0;
        while w < W {
            rest[w] = (vy * vy).mul_add(zeroth[w], second[w]);
            w += 1;
        }
        add(0, zeroth, T::ONE);
        add(1, zeroth, vy);
        add(2, rest, T::ONE);
        if SHAKHOV {
            add(3, rest, vy);
            add(4, zeroth, vy * vy);
        }
    }
}

/// The cells of a thread along x and the molecules that meet them.
struct Column<T, const W: usize> {
    span: Span<W>,
    /// The first cell itself, or the nearest there is.
    own: u32,
    jx: u32,
    forward: bool,
    /// Lowest row of the tile.
    low: u32,
    along_x: [T; 2],
    /// The random bits of the step.
    seed: u32,
}

impl<T, const W: usize> Column<T, W> {
    /// The first of the columns of the tables that stand for these cells beyond the bottom (1) or the top (2).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn beyond(&self, shape: &FlowShape, face: u32) -> u32 {
        shape.face_columns(2) + (face - 1) * shape.pitch + self.own
    }
}

/// A group of nodes on its way down the rows.
struct Nodes<T, const W: usize> {
    jy: u32,
    m: u32,
    up: bool,
    /// The row that row 0 of the walk takes from, perhaps beyond a face.
    start: i32,
    vy: T,
    along_y: [T; 2],
    /// Whether the row before lies beyond a wall that mirrors a part.
    image: bool,
    mass: [T; M],
    energy: [T; M],
    argument: [T; M],
    log_weight: [T; M],
    /// The row before: its values, the difference from the one before it, and what passed on from that.
    before: [[T; W]; M],
    difference: [[T; W]; M],
    passed: [[T; W]; M],
}

/// What the tables have for a row of the walk: what is kept of the populations, the steepness or the table of h, and the Maxwellian's factors along x
/// and y; for Shakhov what goes with the unresolved |c|^2 besides, and the rest of its polynomial in the factor along x.
#[derive(Clone, Copy)]
struct Row<T, const W: usize> {
    outside: bool,
    /// The face (1 bottom, 2 top) beyond which the row lies, if it is a wall that mirrors a part: then this is the row that it mirrors.
    mixed: u32,
    keep: [T; W],
    steep: [T; W],
    x: [T; W],
    y: [T; W],
    slope: [T; W],
    /// Where the row's populations lie, and for deviations what relaxation gives and what they deviate from.
    iy: u32,
    jy: u32,
    give: [T; W],
    before: Factors<T, W>,
}

/// The steepness or the table of h, and the factors along x and y, of a Maxwellian.
#[derive(Clone, Copy)]
struct Factors<T, const W: usize> {
    steep: [T; W],
    x: [T; W],
    y: [T; W],
}

impl<T: Real, const W: usize> Default for Factors<T, W> {
    fn default() -> Self {
        Self {
            steep: [T::ZERO; W],
            x: [T::ZERO; W],
            y: [T::ZERO; W],
        }
    }
}

/// What memory holds of the populations of a store.
type Word<'a, T, P> = <<P as Store<'a, T>>::Read as Populations<T>>::Word;

/// Populations of the cells of a thread before they are decoded.
type Run<'a, T, P, const W: usize> = <<P as Store<'a, T>>::Read as Populations<T>>::Run<W>;

/// Where a row of the walk takes from.
struct Place {
    along_y: Source,
    jy: u32,
}

impl<T, const W: usize> Nodes<T, W> {
    /// Whether there is a k-th of the nodes. One beyond the last counts for nothing.
    #[inline(always)]
    fn live(&self, shape: &FlowShape, k: usize) -> bool {
        k == 0 || self.m + (k as u32) < shape.count_m
    }

    /// The k-th of the nodes; beyond the last, the first.
    #[inline(always)]
    fn node(&self, shape: &FlowShape, k: usize) -> u32 {
        if self.live(shape, k) {
            self.m + k as u32
        } else {
            self.m
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn place(&self, shape: &FlowShape, s: u32) -> Place {
        let q = if self.up {
            self.start + s as i32
        } else {
            self.start - s as i32
        };
        let along_y = if (q as u32) < shape.ny {
            Source {
                cell: q as u32,
                mirrored: false,
                face: 0,
            }
        } else {
            source(q, shape.ny, shape.bottom, shape.top, self.up)
        };
        Place {
            along_y,
            jy: if along_y.mirrored {
                shape.count_y - 1 - self.jy
            } else {
                self.jy
            },
        }
    }
}
