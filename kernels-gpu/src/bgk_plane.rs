//! Kernels of the BGK and Shakhov models in two dimensions of space: the pass that relaxes, streams and sums all populations.
//!
//! Its tables come from [`bgk_flow`](crate::bgk_flow), where the whole is explained.

use crate::bgk_flow::layout::{
    FlowShape, Heat, Lanes, axis, ceiling, cells_both_ways, entry, limited, power_of_two, row,
    source, split,
};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::Simt;

/// Threads of a block of the passes over a plane.
pub const PLANE_THREADS: u32 = 128;

/// Rows of cells that a warp gives out in `f32`.
pub const PLANE_ROWS: u32 = 8;

/// Rows of cells that a warp gives out, by the bytes of a population and for Shakhov's model: as many as its registers hold.
#[inline(always)]
pub const fn plane_rows(bytes: usize, shakhov: bool) -> u32 {
    match (bytes == 4, shakhov) {
        (true, false) => PLANE_ROWS,
        (true, true) | (false, false) => PLANE_ROWS / 2,
        (false, true) => PLANE_ROWS / 4,
    }
}

/// Tiles of a plane of cells, one a warp, of so many rows.
#[inline(always)]
pub const fn plane_tiles(nx: u32, ny: u32, sloped: bool, rows: u32) -> u32 {
    nx.div_ceil(cells_both_ways(sloped)) * quotient(ny + rows - 1, rows)
}

/// The nodes of a block: a rectangle of v_x and v_y. Of the chunks those along v_y follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PlaneChunk {
    /// Nodes along v_x.
    pub range_x: u32,
    /// Nodes along v_y.
    pub range_y: u32,
}

/// Words of shared memory of a block: the sums of its cells.
#[inline(always)]
pub const fn plane_scratch(shape: &FlowShape) -> u32 {
    shape.sums() * PLANE_ROWS * PLANE_THREADS
}

kernel! {
    /// One time step of first order: relaxation, streaming along x and y, and partial sums of all populations on a rectangle.
    ///
    /// **Block**: 4 tiles of 30 x 8 cells, one a warp, neighbours in y where possible, for one chunk of `range` pairs (v_x, v_y). Blocks of
    /// one chunk follow each other, so that what they share of a plane is in the L2 cache.
    /// **Thread**: one place along x and 8 rows, which it walks downstream. Its lane neighbour upstream is the stencil's along x, its last row the one along
    /// y; nine independent loads are under way. The Maxwellian's factors along v_x and v_y are multiplied for each row once a pair; the one along v_z is an
    /// exponential of two (one instruction in `f32`), for a table of it would be as much traffic as the populations.
    /// **Cost**: a population is read once from memory (9/8 from the caches) and written once, 8 bytes in `f32`, and costs about 14 arithmetic operations,
    /// one shuffle and one exponential: 30 instructions. Partial sums add 4 words for `range * count_m` populations.
    /// **Shared memory**: the sums of the thread's own cells over its pairs.
    /// **No race**: each population, each partial sum and each shared word has one owner, and `f` and `next` are different memory.
    pub fn plane_pass_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, chunk: PlaneChunk,
    ) for f32, f64
    shared { totals: [T; plane_scratch(&shape)] } {
        let pass = Pass { t, f, tables, axes, next, partial, totals, shape: &shape, chunk };
        pass.upwind::<false>();
    }
}

kernel! {
    /// The same step of second order with van Leer's slopes.
    ///
    /// As [`plane_pass_upwind()`] with 28 x 8 cells from 32 x 11 places: 11/8 reads from the caches, and about 45 arithmetic operations, two
    /// reciprocals and three shuffles a population.
    pub fn plane_pass_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, chunk: PlaneChunk,
    ) for f32, f64
    shared { totals: [T; plane_scratch(&shape)] } {
        let pass = Pass { t, f, tables, axes, next, partial, totals, shape: &shape, chunk };
        pass.van_leer::<false>();
    }
}

kernel! {
    /// [`plane_pass_upwind()`] for the Shakhov model: tiles of half as many rows.
    pub fn plane_pass_upwind_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, chunk: PlaneChunk,
    ) for f32, f64
    shared { totals: [T; plane_scratch(&shape)] } {
        let pass = Pass { t, f, tables, axes, next, partial, totals, shape: &shape, chunk };
        pass.upwind::<true>();
    }
}

kernel! {
    /// [`plane_pass_van_leer()`] for the Shakhov model: tiles of half as many rows.
    pub fn plane_pass_van_leer_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, chunk: PlaneChunk,
    ) for f32, f64
    shared { totals: [T; plane_scratch(&shape)] } {
        let pass = Pass { t, f, tables, axes, next, partial, totals, shape: &shape, chunk };
        pass.van_leer::<true>();
    }
}

/// The arguments of a launch.
struct Pass<'a, S, T: Real> {
    t: &'a S,
    f: In<'a, T>,
    tables: In<'a, T>,
    axes: In<'a, T>,
    next: Out<'a, T>,
    partial: Out<'a, T>,
    totals: Shared<'a, T>,
    shape: &'a FlowShape,
    chunk: PlaneChunk,
}

/// The rows of cells that a thread takes up, in the order in which molecules meet them; the same for all v_y of one direction and one number of
/// whole cells.
struct Rows<T, const N: usize> {
    lanes: Lanes,
    /// Node of v_x whose populations these are: the mirrored one beyond a plane of symmetry.
    jx: u32,
    /// Column of the tables, which for a cell is its place in a plane. Beyond a face it is no place, but what is read there counts for nothing.
    column: [u32; N],
    keep: [T; N],
    /// Factor along v_x.
    x: [T; N],
    /// Steepness, or the table of h.
    inner: [T; N],
    /// Bit k: row k comes from beyond a face along y, and is not shifted along x.
    outside: u32,
    /// Bit k: row k is mirrored along y.
    mirrored: u32,
    /// Place of the first row given out, and the distance to the next.
    to: u32,
    step: u32,
    forward: bool,
}

/// What the rows have for one v_y.
struct Shares<T, const N: usize> {
    /// The Maxwellian's share at the first two factors; for Shakhov split into a constant and what goes with the unresolved |c|^2.
    constant: [T; N],
    slope: [T; N],
    along_x: [T; 2],
    along_y: [T; 2],
    /// Places of the first node of the innermost axis, of rows as they are and of mirrored ones, and of what is given out.
    from: u32,
    from_mirrored: u32,
    to: u32,
}

impl<S: Simt, T: Real> Pass<'_, S, T> {
    /// Takes up one row upstream besides those given out.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn upwind<const SHAKHOV: bool>(&self) {
        // Decided at compile time, so that no other number of rows is compiled.
        if const { plane_rows(size_of::<T>(), SHAKHOV) == 8 } {
            if self.shape.integrated > 0 {
                self.run::<false, SHAKHOV, true, 8, 9>();
            } else {
                self.run::<false, SHAKHOV, false, 8, 9>();
            }
        } else if const { plane_rows(size_of::<T>(), SHAKHOV) == 4 } {
            if self.shape.integrated > 0 {
                self.run::<false, SHAKHOV, true, 4, 5>();
            } else {
                self.run::<false, SHAKHOV, false, 4, 5>();
            }
        } else {
            if self.shape.integrated > 0 {
                self.run::<false, SHAKHOV, true, 2, 3>();
            } else {
                self.run::<false, SHAKHOV, false, 2, 3>();
            }
        }
    }

    /// Takes up two rows upstream and one downstream besides those given out.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn van_leer<const SHAKHOV: bool>(&self) {
        // Decided at compile time, so that no other number of rows is compiled.
        if const { plane_rows(size_of::<T>(), SHAKHOV) == 8 } {
            if self.shape.integrated > 0 {
                self.run::<true, SHAKHOV, true, 8, 11>();
            } else {
                self.run::<true, SHAKHOV, false, 8, 11>();
            }
        } else if const { plane_rows(size_of::<T>(), SHAKHOV) == 4 } {
            if self.shape.integrated > 0 {
                self.run::<true, SHAKHOV, true, 4, 7>();
            } else {
                self.run::<true, SHAKHOV, false, 4, 7>();
            }
        } else {
            if self.shape.integrated > 0 {
                self.run::<true, SHAKHOV, true, 2, 5>();
            } else {
                self.run::<true, SHAKHOV, false, 2, 5>();
            }
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn run<
        const SLOPES: bool,
        const SHAKHOV: bool,
        const REDUCED: bool,
        const R: usize,
        const N: usize,
    >(
        &self,
    ) {
        let Self { t, shape, .. } = *self;
        let tiles = plane_tiles(shape.nx, shape.ny, SLOPES, R as u32);
        let (chunk, block) = split(t.block_idx(), ceiling(tiles, t.warps()));
        let tile = block * t.warps() + t.warp();
        let PlaneChunk { range_x, range_y } = self.chunk;
        let (part_x, part_y) = split(chunk, ceiling(shape.count_y, range_y));
        let least = |a: u32, b: u32| if a < b { a } else { b };
        let (first_x, first_y) = (part_x * range_x, part_y * range_y);
        if tile >= tiles || first_x >= shape.count_x {
            return;
        }
        let last_x = least(first_x + range_x, shape.count_x);
        let last_y = least(first_y + range_y, shape.count_y);
        let (tile_x, strip) = split(tile, shape.ny.div_ceil(R as u32));
        let low = strip * R as u32;
        let sums = shape.sums();
        let own = |k: u32, r: u32| (k * PLANE_ROWS + r) * PLANE_THREADS + t.thread_idx();
        let mut k = 0;
        while k < sums * PLANE_ROWS {
            self.totals
                .set(t, k * PLANE_THREADS + t.thread_idx(), T::ZERO);
            k += 1;
        }
        let of_y = |jy: u32, k: u32| self.axes.get(t, (shape.axis_y(jy) + k) as usize);
        let mut jx = first_x;
        while jx < last_x {
            let vx = self
                .axes
                .get(t, (shape.axis_x(jx) + axis::VELOCITY) as usize);
            let mut jy = first_y;
            while jy < last_y {
                let whole = of_y(jy, axis::WHOLE);
                let rows = self.rows::<SLOPES, REDUCED, R, N>(jx, jy, tile_x, low);
                loop {
                    let vy = of_y(jy, axis::VELOCITY);
                    let shares = self.shares::<SHAKHOV, REDUCED, N>(&rows, jx, jy);
                    let (zeroth, second) =
                        self.nodes::<SLOPES, SHAKHOV, REDUCED, R, N>(&rows, &shares, low);
                    let square = vx * vx + vy * vy;
                    let mut r = 0;
                    while r < R {
                        let row = if rows.forward { r } else { R - 1 - r } as u32;
                        let add = |k: u32, value: T| {
                            let at = own(k, row);
                            self.totals.set(t, at, self.totals.get(t, at) + value);
                        };
                        let energy = square.mul_add(zeroth[r], second[r]);
                        add(0, zeroth[r]);
                        add(1, vx * zeroth[r]);
                        add(2, vy * zeroth[r]);
                        add(3, energy);
                        if SHAKHOV {
                            add(4, vx * energy);
                            add(5, vy * energy);
                            add(6, vx * vx * zeroth[r]);
                            add(7, vy * vy * zeroth[r]);
                            add(8, vx * vy * zeroth[r]);
                        }
                        r += 1;
                    }
                    jy += 1;
                    if jy >= last_y
                        || of_y(jy, axis::WHOLE) != whole
                        || (of_y(jy, axis::VELOCITY) > T::ZERO) != rows.forward
                    {
                        break;
                    }
                }
            }
            jx += 1;
        }
        let lanes = Lanes::both_ways(t, tile_x, shape.nx, true, SLOPES);
        let plane = shape.plane();
        let mut k = 0;
        while k < sums {
            let mut r = 0;
            while r < R as u32 {
                let iy = low + r;
                if lanes.gives && iy < shape.ny {
                    let at = (chunk * sums + k) * plane + iy * shape.pitch + lanes.cell as u32;
                    self.partial
                        .set(t, at as usize, self.totals.get(t, own(k, r)));
                }
                r += 1;
            }
            k += 1;
        }
    }

    /// Looks up the rows that molecules with v_x and the direction and whole cells of v_y come from.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn rows<const SLOPES: bool, const REDUCED: bool, const R: usize, const N: usize>(
        &self,
        jx: u32,
        jy: u32,
        tile_x: u32,
        low: u32,
    ) -> Rows<T, N> {
        let Self {
            t,
            shape,
            tables,
            axes,
            ..
        } = *self;
        let of_x = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let of_y = |k: u32| axes.get(t, (shape.axis_y(jy) + k) as usize);
        let right = of_x(axis::VELOCITY) > T::ZERO;
        let up = of_y(axis::VELOCITY) > T::ZERO;
        let whole_x = of_x(axis::WHOLE).to_f64() as i32;
        let whole_y = of_y(axis::WHOLE).to_f64() as i32;
        let lanes = Lanes::both_ways(t, tile_x, shape.nx, right, SLOPES);
        let place = if right {
            lanes.cell - whole_x
        } else {
            lanes.cell + whole_x
        };
        let along_x = source(place, shape.nx, shape.left, shape.right, right);
        let jx_from = if along_x.mirrored {
            shape.count_x - 1 - jx
        } else {
            jx
        };
        let last = shape.nx as i32 - 1;
        let own = if lanes.cell < 0 { 0 } else { lanes.cell };
        let own = (if own > last { last } else { own }) as u32;
        // Row 0 of the walk lies so many rows upstream of the first that is given out.
        let lead = if SLOPES { 2 } else { 1 };
        let start = if up {
            low as i32 - whole_y - lead
        } else {
            low as i32 + R as i32 - 1 + whole_y + lead
        };
        let mut rows = Rows {
            lanes,
            jx: jx_from,
            column: [0; N],
            keep: [T::ZERO; N],
            x: [T::ZERO; N],
            inner: [T::ZERO; N],
            outside: 0,
            mirrored: 0,
            to: if up { low } else { low + R as u32 - 1 } * shape.pitch
                + if lanes.gives { lanes.cell as u32 } else { 0 },
            step: if up {
                shape.pitch
            } else {
                shape.pitch.wrapping_neg()
            },
            forward: up,
        };
        let mut s = 0;
        while s < N {
            let q = if up {
                start + s as i32
            } else {
                start - s as i32
            };
            let along_y = source(q, shape.ny, shape.bottom, shape.top, up);
            let iy = along_y.cell;
            let (jx_row, column) = if along_y.face != 0 {
                rows.outside |= 1 << s;
                (jx, shape.face_columns(1 + along_y.face) + own)
            } else {
                let column = match along_x.face {
                    0 => iy * shape.pitch + along_x.cell,
                    1 => shape.face_columns(0) + iy,
                    _ => shape.face_columns(1) + iy,
                };
                (jx_from, column)
            };
            if along_y.mirrored {
                rows.mirrored |= 1 << s;
            }
            let at = |row: u32| entry(t, tables, shape, row, column);
            rows.column[s] = column;
            rows.keep[s] = at(row::KEEP);
            rows.x[s] = at(row::X + jx_row);
            rows.inner[s] = if REDUCED {
                at(shape.row_m() + 1)
            } else {
                at(row::STEEP)
            };
            s += 1;
        }
        rows
    }

    /// What the rows have for one v_y.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn shares<const SHAKHOV: bool, const REDUCED: bool, const N: usize>(
        &self,
        rows: &Rows<T, N>,
        jx: u32,
        jy: u32,
    ) -> Shares<T, N> {
        let Self {
            t,
            shape,
            tables,
            axes,
            ..
        } = *self;
        let of_x = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let of_y = |k: u32| axes.get(t, (shape.axis_y(jy) + k) as usize);
        let (a, b) = (of_x(axis::FRACTION), of_y(axis::FRACTION));
        let jy_mirrored = shape.count_y - 1 - jy;
        let base = |jx: u32, jy: u32| (jx * shape.count_y + jy) * shape.count_m * shape.plane();
        let mut shares = Shares {
            constant: [T::ZERO; N],
            slope: [T::ZERO; N],
            along_x: [a, a * (T::ONE - a)],
            along_y: [b, b * (T::ONE - b)],
            from: base(rows.jx, jy),
            from_mirrored: base(rows.jx, jy_mirrored),
            to: base(jx, jy) + rows.to,
        };
        let mut s = 0;
        while s < N {
            let jy_row = if (rows.mirrored >> s) & 1 != 0 {
                jy_mirrored
            } else {
                jy
            };
            let column = rows.column[s];
            let product = rows.x[s] * entry(t, tables, shape, shape.row_y() + jy_row, column);
            shares.constant[s] = product;
            if SHAKHOV {
                let velocity = |e: u32| axes.get(t, (e + axis::VELOCITY) as usize);
                let heat = Heat::new(t, tables, shape, column, velocity(shape.axis_x(rows.jx)));
                let (alpha, beta) = heat.at(velocity(shape.axis_y(jy_row)));
                shares.constant[s] = product * alpha;
                shares.slope[s] = product * beta;
                if REDUCED {
                    shares.slope[s] *= rows.inner[s];
                }
            }
            s += 1;
        }
        shares
    }

    /// Relaxes, shifts, writes and sums the nodes of the innermost axis: the sums of mass and of the unresolved energy for each row
    /// in the order of the walk.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn nodes<
        const SLOPES: bool,
        const SHAKHOV: bool,
        const REDUCED: bool,
        const R: usize,
        const N: usize,
    >(
        &self,
        rows: &Rows<T, N>,
        shares: &Shares<T, N>,
        low: u32,
    ) -> ([T; R], [T; R]) {
        let Self { t, shape, .. } = *self;
        let plane = shape.plane();
        let mut zeroth = [T::ZERO; R];
        let mut second = [T::ZERO; R];
        let mut m = 0;
        while m < shape.count_m {
            let of_m = |e: u32| self.axes.get(t, (shape.axis_m(m) + e) as usize);
            let (mass, energy) = (of_m(axis::VELOCITY), of_m(axis::WHOLE));
            let (argument, log_weight) = (of_m(axis::FRACTION), of_m(axis::LOG_WEIGHT));
            let offset = m * plane;
            let to = shares.to + offset;
            let mut f = [T::ZERO; N];
            let (from, from_mirrored) = (shares.from + offset, shares.from_mirrored + offset);
            let mut s = 0;
            while s < N {
                let from = if (rows.mirrored >> s) & 1 != 0 {
                    from_mirrored
                } else {
                    from
                };
                f[s] = self.f.get(t, (from + rows.column[s]) as usize);
                s += 1;
            }
            // The rows before the present one: their values, the last difference, and what passed on from the one before the last.
            let (mut before, mut difference, mut passed) = (T::ZERO, T::ZERO, T::ZERO);
            let mut s = 0;
            while s < N {
                let inner = if !REDUCED {
                    power_of_two(argument.mul_add(rows.inner[s], log_weight))
                } else if m == 0 {
                    T::ONE
                } else {
                    rows.inner[s]
                };
                let share = if SHAKHOV {
                    shares.slope[s].mul_add(argument, shares.constant[s])
                } else {
                    shares.constant[s]
                };
                let post = rows.keep[s].mul_add(f[s], share * inner);
                let [a, c] = shares.along_x;
                let shifted = rows.lanes.shift::<S, T, SLOPES>(t, post, a, c);
                let z = if (rows.outside >> s) & 1 != 0 {
                    post
                } else {
                    shifted
                };
                let [b, d] = shares.along_y;
                if SLOPES {
                    let ahead = z - before;
                    if s >= 2 {
                        let passes = b.mul_add(before, limited(d, difference, ahead));
                        if s >= 3 {
                            let value = before - passes + passed;
                            self.put::<R, N>(rows, low, s - 3, to, value);
                            zeroth[s - 3] = mass.mul_add(value, zeroth[s - 3]);
                            second[s - 3] = energy.mul_add(value, second[s - 3]);
                        }
                        passed = passes;
                    }
                    difference = ahead;
                } else if s >= 1 {
                    let value = b.mul_add(before - z, z);
                    self.put::<R, N>(rows, low, s - 1, to, value);
                    zeroth[s - 1] = mass.mul_add(value, zeroth[s - 1]);
                    second[s - 1] = energy.mul_add(value, second[s - 1]);
                }
                before = z;
                s += 1;
            }
            m += 1;
        }
        (zeroth, second)
    }

    /// Writes the k-th row of the walk; `to` is where the first one goes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn put<const R: usize, const N: usize>(
        &self,
        rows: &Rows<T, N>,
        low: u32,
        k: usize,
        to: u32,
        value: T,
    ) {
        let k = k as u32;
        let iy = low + if rows.forward { k } else { R as u32 - 1 - k };
        if rows.lanes.gives && iy < self.shape.ny {
            let at = to.wrapping_add(k.wrapping_mul(rows.step));
            self.next.set(self.t, at as usize, value);
        }
    }
}
