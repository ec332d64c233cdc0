//! The pass in two dimensions of space.

use super::flow::{
    FlowShape, Heat, Lanes, axis, ceiling, cells_both_ways, entry, limited, power_of_two, row,
    source, split,
};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out, Shared};
use crate::simt::Simt;

/// Threads of a block of the passes over a plane.
pub const PLANE_THREADS: u32 = 128;

/// Rows of cells that a warp gives out.
pub const PLANE_ROWS: u32 = 8;

const ROWS: usize = PLANE_ROWS as usize;

/// Rows that it takes up: one upstream besides, with slopes two and one downstream.
const UPWIND: usize = ROWS + 1;
const SLOPED: usize = ROWS + 3;

/// Tiles of a plane of cells, one a warp.
#[inline(always)]
pub const fn plane_tiles(nx: u32, ny: u32, sloped: bool) -> u32 {
    nx.div_ceil(cells_both_ways(sloped)) * ny.div_ceil(PLANE_ROWS)
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
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, range: u32,
    ) for f32, f64
    shared { totals: [T; plane_scratch(&shape)] } {
        let pass = Pass { t, f, tables, axes, next, partial, totals, shape: &shape, range };
        match (shape.shakhov != 0, shape.integrated > 0) {
            (false, false) => pass.run::<false, false, false, UPWIND>(),
            (false, true) => pass.run::<false, false, true, UPWIND>(),
            (true, false) => pass.run::<false, true, false, UPWIND>(),
            (true, true) => pass.run::<false, true, true, UPWIND>(),
        }
    }
}

kernel! {
    /// The same step of second order with van Leer's slopes.
    ///
    /// As [`plane_pass_upwind()`] with 28 x 8 cells from 32 x 11 places: 11/8 reads from the caches, and about 45 arithmetic operations, two
    /// reciprocals and three shuffles a population.
    pub fn plane_pass_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, range: u32,
    ) for f32, f64
    shared { totals: [T; plane_scratch(&shape)] } {
        let pass = Pass { t, f, tables, axes, next, partial, totals, shape: &shape, range };
        match (shape.shakhov != 0, shape.integrated > 0) {
            (false, false) => pass.run::<true, false, false, SLOPED>(),
            (false, true) => pass.run::<true, false, true, SLOPED>(),
            (true, false) => pass.run::<true, true, false, SLOPED>(),
            (true, true) => pass.run::<true, true, true, SLOPED>(),
        }
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
    range: u32,
}

/// A node (j_x, j_y) as the thread sees it: N rows in the order in which its molecules meet them.
struct Pair<T, const N: usize> {
    lanes: Lanes,
    along_x: [T; 2],
    along_y: [T; 2],
    /// Place of the first node of the innermost axis.
    from: [u32; N],
    keep: [T; N],
    /// The Maxwellian's share at the first factors; for Shakhov split into a constant and what goes with the unresolved |c|^2.
    share: [T; N],
    slope: [T; N],
    /// Steepness, or the table of h.
    inner: [T; N],
    /// Bit k: row k comes from beyond a face along y, and is not shifted along x.
    outside: u32,
    to: usize,
    forward: bool,
}

impl<S: Simt, T: Real> Pass<'_, S, T> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn run<const SLOPES: bool, const SHAKHOV: bool, const REDUCED: bool, const N: usize>(&self) {
        let Self { t, shape, .. } = *self;
        let tiles = plane_tiles(shape.nx, shape.ny, SLOPES);
        let (chunk, block) = split(t.block_idx(), ceiling(tiles, t.warps()));
        let tile = block * t.warps() + t.warp();
        let pairs = shape.count_x * shape.count_y;
        let first = chunk * self.range;
        if tile >= tiles || first >= pairs {
            return;
        }
        let last = if first + self.range < pairs {
            first + self.range
        } else {
            pairs
        };
        let (tile_x, strip) = split(tile, shape.ny.div_ceil(PLANE_ROWS));
        let low = strip * PLANE_ROWS;
        let sums = shape.sums();
        let own = |k: u32, r: u32| (k * PLANE_ROWS + r) * PLANE_THREADS + t.thread_idx();
        let mut k = 0;
        while k < sums * PLANE_ROWS {
            self.totals
                .set(t, k * PLANE_THREADS + t.thread_idx(), T::ZERO);
            k += 1;
        }
        let mut pair = first;
        while pair < last {
            let (jx, jy) = split(pair, shape.count_y);
            let known = self.pair::<SLOPES, SHAKHOV, REDUCED, N>(jx, jy, tile_x, low);
            let (zeroth, second) = self.nodes::<SLOPES, SHAKHOV, REDUCED, N>(&known, low);
            let vx = self
                .axes
                .get(t, (shape.axis_x(jx) + axis::VELOCITY) as usize);
            let vy = self
                .axes
                .get(t, (shape.axis_y(jy) + axis::VELOCITY) as usize);
            let square = vx * vx + vy * vy;
            let mut r = 0;
            while r < ROWS {
                let add = |k: u32, value: T| {
                    let at = own(k, r as u32);
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
            pair += 1;
        }
        let lanes = Lanes::both_ways(t, tile_x, shape.nx, true, SLOPES);
        let plane = shape.plane() as usize;
        let mut k = 0;
        while k < sums {
            let mut r = 0;
            while r < PLANE_ROWS {
                let iy = low + r;
                if lanes.gives && iy < shape.ny {
                    let at = (chunk * sums + k) as usize * plane;
                    let place = (iy * shape.pitch) as usize + lanes.cell as usize;
                    self.partial
                        .set(t, at + place, self.totals.get(t, own(k, r)));
                }
                r += 1;
            }
            k += 1;
        }
    }

    /// Looks up what the nodes (j_x, j_y) have in common.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn pair<const SLOPES: bool, const SHAKHOV: bool, const REDUCED: bool, const N: usize>(
        &self,
        jx: u32,
        jy: u32,
        tile_x: u32,
        low: u32,
    ) -> Pair<T, N> {
        let Self {
            t,
            shape,
            tables,
            axes,
            ..
        } = *self;
        let of_x = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let of_y = |k: u32| axes.get(t, (shape.axis_y(jy) + k) as usize);
        let (right, up) = (
            of_x(axis::VELOCITY) > T::ZERO,
            of_y(axis::VELOCITY) > T::ZERO,
        );
        let whole = [
            of_x(axis::WHOLE).to_f64() as i32,
            of_y(axis::WHOLE).to_f64() as i32,
        ];
        let fraction = [of_x(axis::FRACTION), of_y(axis::FRACTION)];
        let lanes = Lanes::both_ways(t, tile_x, shape.nx, right, SLOPES);
        let place = if right {
            lanes.cell - whole[0]
        } else {
            lanes.cell + whole[0]
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
            low as i32 - whole[1] - lead
        } else {
            low as i32 + ROWS as i32 - 1 + whole[1] + lead
        };
        let mut pair = Pair {
            lanes,
            along_x: [fraction[0], fraction[0] * (T::ONE - fraction[0])],
            along_y: [fraction[1], fraction[1] * (T::ONE - fraction[1])],
            from: [0; N],
            keep: [T::ZERO; N],
            share: [T::ZERO; N],
            slope: [T::ZERO; N],
            inner: [T::ZERO; N],
            outside: 0,
            to: ((jx * shape.count_y + jy) * shape.count_m) as usize * shape.plane() as usize
                + if lanes.gives { lanes.cell as usize } else { 0 },
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
            let jy_from = if along_y.mirrored {
                shape.count_y - 1 - jy
            } else {
                jy
            };
            let iy = along_y.cell;
            let (jx_row, column) = if along_y.face != 0 {
                pair.outside |= 1 << s;
                (jx, shape.face_columns(1 + along_y.face) + own)
            } else {
                let column = match along_x.face {
                    0 => iy * shape.pitch + along_x.cell,
                    1 => shape.face_columns(0) + iy,
                    _ => shape.face_columns(1) + iy,
                };
                (jx_from, column)
            };
            let at = |row: u32| entry(t, tables, shape, row, column);
            pair.from[s] = ((jx_row * shape.count_y + jy_from) * shape.count_m) * shape.plane()
                + iy * shape.pitch
                + along_x.cell;
            pair.keep[s] = at(row::KEEP);
            let product = at(row::X + jx_row) * at(shape.row_y() + jy_from);
            pair.share[s] = product;
            pair.inner[s] = if REDUCED {
                at(shape.row_m() + 1)
            } else {
                at(row::STEEP)
            };
            if SHAKHOV {
                let velocity = |e: u32| axes.get(t, (e + axis::VELOCITY) as usize);
                let heat = Heat::new(t, tables, shape, column, velocity(shape.axis_x(jx_row)));
                let (alpha, beta) = heat.at(velocity(shape.axis_y(jy_from)));
                pair.share[s] = product * alpha;
                pair.slope[s] = product * beta;
                if REDUCED {
                    pair.slope[s] = pair.slope[s] * pair.inner[s];
                }
            }
            s += 1;
        }
        pair
    }

    /// Relaxes, shifts, writes and sums the nodes of the innermost axis: the sums of mass and of the unresolved energy for each row.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn nodes<const SLOPES: bool, const SHAKHOV: bool, const REDUCED: bool, const N: usize>(
        &self,
        pair: &Pair<T, N>,
        low: u32,
    ) -> ([T; ROWS], [T; ROWS]) {
        let Self { t, shape, .. } = *self;
        let plane = shape.plane() as usize;
        let mut zeroth = [T::ZERO; ROWS];
        let mut second = [T::ZERO; ROWS];
        let mut m = 0;
        while m < shape.count_m {
            let of_m = |e: u32| self.axes.get(t, (shape.axis_m(m) + e) as usize);
            let (mass, energy) = (of_m(axis::VELOCITY), of_m(axis::WHOLE));
            let (argument, log_weight) = (of_m(axis::FRACTION), of_m(axis::LOG_WEIGHT));
            let offset = m as usize * plane;
            let mut f = [T::ZERO; N];
            let mut s = 0;
            while s < N {
                f[s] = self.f.get(t, pair.from[s] as usize + offset);
                s += 1;
            }
            // The rows before the present one: their values, the last difference, and what passed on from the one before the last.
            let (mut before, mut difference, mut passed) = (T::ZERO, T::ZERO, T::ZERO);
            let mut s = 0;
            while s < N {
                let inner = if !REDUCED {
                    power_of_two(argument.mul_add(pair.inner[s], log_weight))
                } else if m == 0 {
                    T::ONE
                } else {
                    pair.inner[s]
                };
                let share = if SHAKHOV {
                    pair.slope[s].mul_add(argument, pair.share[s])
                } else {
                    pair.share[s]
                };
                let post = pair.keep[s].mul_add(f[s], share * inner);
                let [a, c] = pair.along_x;
                let shifted = pair.lanes.shift::<S, T, SLOPES>(t, post, a, c);
                let z = if (pair.outside >> s) & 1 != 0 {
                    post
                } else {
                    shifted
                };
                let [b, d] = pair.along_y;
                if SLOPES {
                    let ahead = z - before;
                    if s >= 2 {
                        let passes = b.mul_add(before, limited(d, difference, ahead));
                        if s >= 3 {
                            let value = before - passes + passed;
                            self.put(pair, low, s - 3, offset, value);
                            zeroth[s - 3] = mass.mul_add(value, zeroth[s - 3]);
                            second[s - 3] = energy.mul_add(value, second[s - 3]);
                        }
                        passed = passes;
                    }
                    difference = ahead;
                } else if s >= 1 {
                    let value = b.mul_add(before - z, z);
                    self.put(pair, low, s - 1, offset, value);
                    zeroth[s - 1] = mass.mul_add(value, zeroth[s - 1]);
                    second[s - 1] = energy.mul_add(value, second[s - 1]);
                }
                before = z;
                s += 1;
            }
            m += 1;
        }
        if pair.forward {
            (zeroth, second)
        } else {
            (turned(zeroth), turned(second))
        }
    }

    /// Writes the k-th row of the walk.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn put<const N: usize>(&self, pair: &Pair<T, N>, low: u32, k: usize, offset: usize, value: T) {
        let k = k as u32;
        let iy = low + if pair.forward { k } else { PLANE_ROWS - 1 - k };
        if pair.lanes.gives && iy < self.shape.ny {
            let at = pair.to + offset + (iy * self.shape.pitch) as usize;
            self.next.set(self.t, at, value);
        }
    }
}

/// The rows in the other order.
#[inline(always)]
fn turned<T: Real>(rows: [T; ROWS]) -> [T; ROWS] {
    let mut out = rows;
    let mut r = 0;
    while r < ROWS {
        out[r] = rows[ROWS - 1 - r];
        r += 1;
    }
    out
}
