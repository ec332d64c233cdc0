//! Kernels of the BGK and Shakhov models in one dimension of space: the pass that relaxes, streams and sums all populations.
//!
//! Its tables come from [`bgk_flow`](crate::bgk_flow), where the whole is explained.

use crate::bgk_flow::layout::{
    FlowShape, Heat, Lanes, axis, ceiling, cells_one_way, entry, row, source, split,
};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out};
use crate::simt::Simt;

/// Threads of a block of the passes over a line.
pub const LINE_THREADS: u32 = 256;

/// Sums that a chunk of nodes leaves: of f, v_y f and the energy that is not v_x's; for Shakhov also of v_y times that energy, and of v_y^2 f.
pub const LINE_SUMS_BGK: u32 = 3;
/// See [`LINE_SUMS_BGK`].
pub const LINE_SUMS_SHAKHOV: u32 = 5;

/// Tiles of a row of cells, one a warp.
#[inline(always)]
pub const fn line_tiles(nx: u32, sloped: bool) -> u32 {
    nx.div_ceil(cells_one_way(sloped))
}

kernel! {
    /// One time step of first order: relaxation, streaming and partial sums of all populations on a line.
    ///
    /// **Block**: 8 tiles of 31 cells, one a warp, for one chunk of nodes: one v_x and `range` values of v_y. Blocks of one chunk follow each other.
    /// **Thread**: one place in space, whose lane neighbour upstream is the stencil's; it keeps the factors of the Maxwellian along v_x, and of four
    /// nodes of the innermost axis at a time, and walks along v_y, two steps at once so that eight loads are under way. Lane 0 (31 for
    /// backward velocities) only lends its value.
    /// **Cost**: a population is read once and written once (8 bytes in `f32`; warps overlap in one cell of 32), and costs 8 arithmetic
    /// operations and a shuffle, 15 instructions with addresses. Partial sums add 3 words for `range * count_m` populations.
    /// **No race**: each population and each partial sum has one writer, and `f` and `next` are different memory.
    pub fn line_pass_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, range: u32,
    ) for f32, f64 {
        line_pass::<_, T, false, false>(t, f, tables, axes, next, partial, &shape, range);
    }
}

kernel! {
    /// The same step of second order with van Leer's slopes.
    ///
    /// As [`line_pass_upwind()`], but three lanes of a warp only lend their values, two upstream and one downstream: tiles of 29 cells. 20
    /// arithmetic operations, a reciprocal and three shuffles a population, about 28 instructions.
    pub fn line_pass_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, range: u32,
    ) for f32, f64 {
        line_pass::<_, T, true, false>(t, f, tables, axes, next, partial, &shape, range);
    }
}

kernel! {
    /// [`line_pass_upwind()`] for the Shakhov model: two operations more, and the sums that its heat flux needs.
    pub fn line_pass_upwind_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, range: u32,
    ) for f32, f64 {
        line_pass::<_, T, false, true>(t, f, tables, axes, next, partial, &shape, range);
    }
}

kernel! {
    /// [`line_pass_van_leer()`] for the Shakhov model.
    pub fn line_pass_van_leer_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, range: u32,
    ) for f32, f64 {
        line_pass::<_, T, true, true>(t, f, tables, axes, next, partial, &shape, range);
    }
}

/// What a thread keeps while it walks over its nodes.
struct Walk<'a, S, T: Real> {
    t: &'a S,
    f: In<'a, T>,
    tables: In<'a, T>,
    axes: In<'a, T>,
    next: Out<'a, T>,
    shape: &'a FlowShape,
    lanes: Lanes,
    fraction: T,
    curvature: T,
    keep: T,
    x: T,
    heat: Option<Heat<T>>,
    /// What turns the innermost axis' argument into the unresolved part of |c|^2.
    unresolved: T,
    /// Column of the tables.
    column: u32,
    /// Places of the first node of this v_x in `f` and `next`.
    from: u32,
    to: u32,
    sums: [T; 5],
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn line_pass<S: Simt, T: Real, const SLOPED: bool, const SHAKHOV: bool>(
    t: &S,
    f: In<'_, T>,
    tables: In<'_, T>,
    axes: In<'_, T>,
    next: Out<'_, T>,
    partial: Out<'_, T>,
    shape: &FlowShape,
    range: u32,
) {
    let tiles = line_tiles(shape.nx, SLOPED);
    let (chunk, block) = split(t.block_idx(), ceiling(tiles, t.warps()));
    let tile = block * t.warps() + t.warp();
    let (jx, part) = split(chunk, ceiling(shape.count_y, range));
    if tile >= tiles || jx >= shape.count_x {
        return;
    }
    let first = part * range;
    let last = if first + range < shape.count_y {
        first + range
    } else {
        shape.count_y
    };

    let of_x = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
    let forward = of_x(axis::VELOCITY) > T::ZERO;
    let whole = of_x(axis::WHOLE).to_f64() as i32;
    let fraction = of_x(axis::FRACTION);
    let lanes = Lanes::one_way(t, tile, shape.nx, forward, SLOPED);
    let place = if forward {
        lanes.cell - whole
    } else {
        lanes.cell + whole
    };
    let from = source(place, shape.nx, shape.left, shape.right, forward);
    let jx_from = if from.mirrored {
        shape.count_x - 1 - jx
    } else {
        jx
    };
    let column = match from.face {
        0 => from.cell,
        1 => shape.face_columns(0),
        _ => shape.face_columns(1),
    };
    let per_x = shape.count_y * shape.count_m * shape.plane();
    let mut walk = Walk {
        t,
        f,
        tables,
        axes,
        next,
        shape,
        lanes,
        fraction,
        curvature: fraction * (T::ONE - fraction),
        keep: entry(t, tables, shape, row::KEEP, column),
        x: entry(t, tables, shape, row::X + jx_from, column),
        heat: if SHAKHOV {
            let vx = axes.get(t, (shape.axis_x(jx_from) + axis::VELOCITY) as usize);
            Some(Heat::new(t, tables, shape, column, vx))
        } else {
            None
        },
        unresolved: if SHAKHOV && shape.integrated > 0 {
            entry(t, tables, shape, shape.row_m() + 1, column)
        } else {
            T::ONE
        },
        column,
        from: jx_from * per_x + from.cell,
        to: jx * per_x + if lanes.gives { lanes.cell as u32 } else { 0 },
        sums: [T::ZERO; 5],
    };
    let mut m = 0;
    while m + 4 <= shape.count_m {
        walk.along_y::<SLOPED, SHAKHOV, 4>(m, first, last);
        m += 4;
    }
    if m + 2 <= shape.count_m {
        walk.along_y::<SLOPED, SHAKHOV, 2>(m, first, last);
        m += 2;
    }
    if m < shape.count_m {
        walk.along_y::<SLOPED, SHAKHOV, 1>(m, first, last);
    }
    if lanes.gives {
        let count = if SHAKHOV {
            LINE_SUMS_SHAKHOV
        } else {
            LINE_SUMS_BGK
        };
        let mut k = 0;
        while k < 5 {
            if k < count {
                let at = (chunk * count + k) * shape.pitch + lanes.cell as u32;
                partial.set(t, at as usize, walk.sums[k as usize]);
            }
            k += 1;
        }
    }
}

impl<S: Simt, T: Real> Walk<'_, S, T> {
    /// The nodes m to m + M of the innermost axis at each v_y of the range.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn along_y<const SLOPED: bool, const SHAKHOV: bool, const M: usize>(
        &mut self,
        m: u32,
        first: u32,
        last: u32,
    ) {
        let (t, shape) = (self.t, self.shape);
        let mut inner = [T::ZERO; M];
        let mut mass = [T::ZERO; M];
        let mut energy = [T::ZERO; M];
        let mut argument = [T::ZERO; M];
        let mut k = 0;
        while k < M {
            let node = m + k as u32;
            let of_m = |e: u32| self.axes.get(t, (shape.axis_m(node) + e) as usize);
            inner[k] = entry(t, self.tables, shape, shape.row_m() + node, self.column);
            mass[k] = of_m(axis::VELOCITY);
            energy[k] = of_m(axis::WHOLE);
            if SHAKHOV {
                argument[k] = of_m(axis::FRACTION) * self.unresolved;
            }
            k += 1;
        }
        let plane = shape.plane();
        let step = shape.count_m * plane;
        let mut at = first * step + m * plane;
        let mut jy = first;
        while jy + 2 <= last {
            let a = self.load::<M>(at);
            let b = self.load::<M>(at + step);
            self.finish::<SLOPED, SHAKHOV, M>(jy, at, a, &inner, &mass, &energy, &argument);
            self.finish::<SLOPED, SHAKHOV, M>(
                jy + 1,
                at + step,
                b,
                &inner,
                &mass,
                &energy,
                &argument,
            );
            at += 2 * step;
            jy += 2;
        }
        if jy < last {
            let a = self.load::<M>(at);
            self.finish::<SLOPED, SHAKHOV, M>(jy, at, a, &inner, &mass, &energy, &argument);
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load<const M: usize>(&self, at: u32) -> [T; M] {
        let plane = self.shape.plane();
        let mut f = [T::ZERO; M];
        let mut k = 0;
        while k < M {
            f[k] = self
                .f
                .get(self.t, (self.from + at + k as u32 * plane) as usize);
            k += 1;
        }
        f
    }

    /// Relaxes, shifts, writes and sums M populations of one v_y.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[allow(clippy::too_many_arguments, reason = "one array for each quantity")]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn finish<const SLOPED: bool, const SHAKHOV: bool, const M: usize>(
        &mut self,
        jy: u32,
        at: u32,
        f: [T; M],
        inner: &[T; M],
        mass: &[T; M],
        energy: &[T; M],
        argument: &[T; M],
    ) {
        let (t, shape) = (self.t, self.shape);
        let plane = shape.plane();
        let vy = self
            .axes
            .get(t, (shape.axis_y(jy) + axis::VELOCITY) as usize);
        let product = self.x * entry(t, self.tables, shape, shape.row_y() + jy, self.column);
        let (mut alpha, mut beta) = (T::ONE, T::ZERO);
        if SHAKHOV && let Some(heat) = &self.heat {
            (alpha, beta) = heat.at(vy);
            alpha *= product;
            beta *= product;
        }
        let (mut zeroth, mut second) = (T::ZERO, T::ZERO);
        let mut k = 0;
        while k < M {
            let share = if SHAKHOV {
                beta.mul_add(argument[k], alpha)
            } else {
                product
            };
            let post = self.keep.mul_add(f[k], share * inner[k]);
            let z = self
                .lanes
                .shift::<S, T, SLOPED>(t, post, self.fraction, self.curvature);
            if self.lanes.gives {
                self.next
                    .set(t, (self.to + at + k as u32 * plane) as usize, z);
            }
            zeroth = mass[k].mul_add(z, zeroth);
            second = energy[k].mul_add(z, second);
            k += 1;
        }
        let rest = (vy * vy).mul_add(zeroth, second);
        self.sums[0] += zeroth;
        self.sums[1] = vy.mul_add(zeroth, self.sums[1]);
        self.sums[2] += rest;
        if SHAKHOV {
            self.sums[3] = vy.mul_add(rest, self.sums[3]);
            self.sums[4] = (vy * vy).mul_add(zeroth, self.sums[4]);
        }
    }
}
