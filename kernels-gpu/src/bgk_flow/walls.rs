//! What leaves through the faces, and what walls send back.
//!
//! A wall sends back as much as leaves the gas through each of its cells in the step to come, and what leaves is known only after relaxation (and, through
//! the faces along y, after streaming along x). So these kernels relax and stream the cells near the faces once ahead of the pass: k + 1 cells deep
//! for molecules that travel k whole cells, one more for a slope.

use super::layout::{
    FACE_WIDTH, FlowShape, Heat, Lanes, PASS_SUMS_BGK, Source, axis, ceiling, cells_both_ways,
    entry, face, limited, row, source, split,
};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, InOut, Out, Shared};
use crate::simt::{Simt, WARP};

/// Threads of a block of [`faces_along_x()`].
pub const FACE_THREADS: u32 = 256;
/// Threads of a block of [`faces_along_x_by_sums()`].
pub const FACE_CELL_THREADS: u32 = 128;
/// Threads of a block of [`finish_faces_along_y()`]: blocks are few, and each of their warps waits for memory.
pub const FACE_SUM_THREADS: u32 = 512;
/// Threads of a block of [`faces_along_y()`].
pub const FACE_ROW_THREADS: u32 = 128;
/// Nodes of the innermost axis that a thread of [`faces_along_y()`] takes at once.
const ROW_NODES: u32 = 4;
/// Words of shared memory of [`faces_along_y()`]: the sums of each thread.
pub(crate) const FACE_ROW_SCRATCH: u32 = 4 * FACE_ROW_THREADS;

/// What leaves through a face, for each of its cells, in cells of population.
pub mod leaving {
    /// The density with which a wall sends back its Maxwellian.
    pub const DENSITY: u32 = 0;
    /// Mass, momentum along x and y, and energy that leave, less what is mirrored.
    pub const CARRIED: u32 = 1;
    /// Entries.
    pub const LEN: u32 = 5;
}

/// Which faces are looked at: bit k for face k (left, right, bottom, top), and whether it is a wall, whose columns of the tables are rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Faces {
    /// Faces to look at.
    pub seen: u32,
    /// Those of them that are walls.
    pub walls: u32,
    /// 1 for slopes.
    pub sloped: u32,
    /// Pairs (v_x, v_y) of a block of [`faces_along_y()`].
    pub range: u32,
    /// Blocks of pairs of [`faces_along_y()`].
    pub chunks: u32,
}

/// The mass that comes in in a step from a wall at unit density stands before its factors along v_x.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn emission(shape: &FlowShape, face: u32) -> usize {
    (face * (1 + shape.count_x)) as usize
}

kernel! {
    /// What leaves through the left and right faces; walls among them get their density.
    ///
    /// **Block**: one cell of one face; its threads share the nodes. Sums are f64, added in a fixed order. The loads, one word from each plane of a node,
    /// are not coalesced: 32 bytes of traffic each, 1/nx of the pass's in `f32` times 8.
    /// **No race**: a block alone writes the columns and the row of its cell.
    pub fn faces_along_x<T: Real>(
        t, f: In<T>, axes: In<T>, emissions: In<f64>, tables: InOut<T>, found: Out<f64>; shape: FlowShape, faces: Faces,
    ) for f32, f64
    shared { scratch: [f64; FACE_THREADS / WARP * 4] } {
        near_columns(t, f, axes, emissions, tables, found, scratch, &shape, &faces);
    }
}

kernel! {
    /// The same by the partial sums of a [march](crate::bgk_march): where no molecule flies further than a cell in a step, what leaves is a part of the last
    /// cell's populations, and what those with one v_x carry is known.
    ///
    /// With sums `n`, `n_y` and `e` of a chunk of the cell, of f, v_y f and the energy that is not v_x's, and the factors X, Y and M of what relaxation gives,
    /// the mass that leaves is the sum over v_x of `a (keep n + X Y0 M0)`, where a is the fraction of a cell that is flown, and Y0 and M0 are sums over their
    /// axes; momentum and energy likewise.
    ///
    /// **Warp**: one cell of one face; its lanes share chunks and nodes. **No race**: a warp alone writes the columns and the row of its cell.
    pub fn faces_along_x_by_sums<T: Real>(
        t, partial: In<T>, axes: In<T>, emissions: In<f64>, tables: InOut<T>, found: Out<f64>; shape: FlowShape, faces: Faces, parts: u32,
    ) for f32, f64 {
        let (side, iy) = split(t.block_idx() * t.warps() + t.warp(), shape.ny);
        // The same for all lanes of the warp.
        if side > 1 || (faces.seen >> side) & 1 == 0 {
            return;
        }
        let ix = if side == 0 { 0 } else { shape.nx - 1 };
        let place = iy * shape.pitch + ix;
        let at = |row: u32| InOutTables(tables).at(t, &shape, row, place).to_f64();
        let of = |entry: u32| axes.get(t, entry as usize).to_f64();
        // The fraction of a cell that leaves, of those that do.
        let leaves = |jx: u32, vx: f64| {
            if (vx > 0.0) == (side == 1) { of(shape.axis_x(jx) + axis::FRACTION) } else { 0.0 }
        };
        let keep = at(row::KEEP);
        let mut kept = [0.0; 4];
        let mut chunk = t.lane();
        while chunk < shape.count_x * parts {
            let (jx, _) = split(chunk, parts);
            let vx = of(shape.axis_x(jx) + axis::VELOCITY);
            let part = keep * leaves(jx, vx);
            let sum = |k: u32| {
                let at = (chunk * PASS_SUMS_BGK + k) * shape.plane() + place;
                part * partial.get(t, at as usize).to_f64()
            };
            if part > 0.0 {
                let mass = sum(0);
                kept[0] += mass;
                kept[1] += vx * mass;
                kept[2] += sum(1);
                kept[3] += vx * vx * mass + sum(2);
            }
            chunk += WARP;
        }
        let (mut x, mut y, mut m) = ([0.0; 3], [0.0; 3], [0.0; 2]);
        let mut j = t.lane();
        while j < shape.count_x {
            let v = of(shape.axis_x(j) + axis::VELOCITY);
            let factor = leaves(j, v) * at(row::X + j);
            x = [x[0] + factor, x[1] + v * factor, x[2] + v * v * factor];
            j += WARP;
        }
        let mut j = t.lane();
        while j < shape.count_y {
            let v = of(shape.axis_y(j) + axis::VELOCITY);
            let factor = at(shape.row_y() + j);
            y = [y[0] + factor, y[1] + v * factor, y[2] + v * v * factor];
            j += WARP;
        }
        let mut j = t.lane();
        while j < shape.count_m {
            let factor = at(shape.row_m() + j);
            let (mass, energy) = (of(shape.axis_m(j) + axis::VELOCITY), of(shape.axis_m(j) + axis::WHOLE));
            m = [m[0] + mass * factor, m[1] + energy * factor];
            j += WARP;
        }
        let [x0, x1, x2] = x.map(|value| sum_of_lanes(t, value));
        let [y0, y1, y2] = y.map(|value| sum_of_lanes(t, value));
        let [m0, m1] = m.map(|value| sum_of_lanes(t, value));
        let kept = kept.map(|value| sum_of_lanes(t, value));
        let column = shape.face_columns(side) + FACE_WIDTH * iy;
        let mirrored = InOutTables(tables).at(t, &shape, row::KEEP, column).to_f64();
        let (net, gross) = (1.0 - mirrored, 1.0 + mirrored);
        let carried = [
            net * (kept[0] + x0 * y0 * m0),
            gross * (kept[1] + x1 * y0 * m0),
            net * (kept[2] + x0 * y1 * m0),
            net * 0.5 * (kept[3] + (x2 * y0 + x0 * y2) * m0 + x0 * y0 * m1),
        ];
        send_back(t, emissions, tables, found, &shape, &faces, [side, iy], carried, [t.lane(), WARP]);
    }
}

kernel! {
    /// What leaves through the bottom and top faces: partial sums by chunks of nodes.
    ///
    /// **Block**: one tile of cells along x, one a lane, for one face and one chunk of pairs (v_x, v_y), of which only those that leave count; its warps
    /// share the nodes, four of the innermost axis at a time: blocks are few, and what they wait for is memory. Rows near
    /// the face are relaxed and streamed along x as in the pass, which reads (k + 1)/ny of all populations.
    /// **No race**: each shared word and each partial sum has one writer; a barrier lies between the warps' sums and their sum, in the order of the warps.
    pub fn faces_along_y<T: Real>(
        t, f: In<T>, axes: In<T>, tables: In<T>, partial: Out<f64>; shape: FlowShape, faces: Faces,
    ) for f32, f64
    shared { scratch: [f64; FACE_ROW_SCRATCH] } {
        if faces.sloped != 0 {
            near_rows::<_, _, true>(t, f, axes, tables, partial, scratch, &shape, &faces);
        } else {
            near_rows::<_, _, false>(t, f, axes, tables, partial, scratch, &shape, &faces);
        }
    }
}

kernel! {
    /// Adds the partial sums of [`faces_along_y()`]; walls get their density.
    ///
    /// **Block**: 32 cells of a face, one a lane. Each of its warps adds every 16th chunk, and then all add the warps' sums in turn: the same bits each
    /// time. **No race**: a barrier lies between the two; lanes own cells, and warps share the columns of the tables out.
    pub fn finish_faces_along_y<T: Real>(
        t, partial: In<f64>, emissions: In<f64>, tables: Out<T>, found: Out<f64>; shape: FlowShape, faces: Faces,
    ) for f32, f64
    shared { scratch: [f64; 4 * FACE_SUM_THREADS] } {
        let (side, block) = split(t.block_idx(), shape.nx.div_ceil(WARP));
        // The same for all threads of the block.
        if (faces.seen >> (2 + side)) & 1 == 0 {
            return;
        }
        let ix = block * WARP + t.lane();
        let inside = ix < shape.nx;
        let at = |warp: u32, k: u32| (warp * 4 + k) * WARP + t.lane();
        let mut sums = [0.0; 4];
        let mut chunk = t.warp();
        while chunk < faces.chunks && inside {
            let mut k = 0;
            while k < 4 {
                let at = ((chunk * 2 + side) * 4 + k) * shape.nx + ix;
                sums[k as usize] += partial.get(t, at as usize);
                k += 1;
            }
            chunk += t.warps();
        }
        let mut k = 0;
        while k < 4 {
            scratch.set(t, at(t.warp(), k as u32), sums[k]);
            k += 1;
        }
        t.sync_threads();
        if !inside {
            return;
        }
        let total = |k: u32| {
            let mut sum = scratch.get(t, at(0, k));
            let mut warp = 1;
            while warp < t.warps() {
                sum += scratch.get(t, at(warp, k));
                warp += 1;
            }
            sum
        };
        let mut density = 1.0;
        if (faces.walls >> (2 + side)) & 1 != 0 {
            let emitted = emission(&shape, 2 + side);
            density = total(0) / emissions.get(t, emitted);
            let column = (shape.face_columns(2 + side) + ix) as usize;
            let mut jx = t.warp();
            while jx < shape.count_x {
                let value = density * emissions.get(t, emitted + 1 + jx as usize);
                let at = (row::X + jx) as usize * shape.columns() as usize + column;
                tables.set(t, at, T::from_f64(value));
                jx += t.warps();
            }
        }
        let at = (2 * shape.ny + side * shape.nx + ix) * leaving::LEN;
        let k = t.warp();
        if k < leaving::LEN {
            let value = if k == leaving::DENSITY { density } else { total(k - leaving::CARRIED) };
            found.set(t, (at + k) as usize, value);
        }
    }
}

/// Tables that can be read.
pub(crate) trait Tables<T: Real>: Copy {
    fn at<S: Simt>(self, t: &S, shape: &FlowShape, row: u32, column: u32) -> T;
    fn heat<S: Simt>(self, t: &S, shape: &FlowShape, column: u32, vx: T) -> Heat<T>;
}

impl<T: Real> Tables<T> for In<'_, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn at<S: Simt>(self, t: &S, shape: &FlowShape, row: u32, column: u32) -> T {
        entry(t, self, shape, row, column)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn heat<S: Simt>(self, t: &S, shape: &FlowShape, column: u32, vx: T) -> Heat<T> {
        Heat::of(|k| self.at(t, shape, k, column), vx)
    }
}

/// The tables of a kernel that writes the columns of faces and reads those of cells.
#[derive(Clone, Copy)]
struct InOutTables<'a, T: Real>(InOut<'a, T>);

impl<T: Real> Tables<T> for InOutTables<'_, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn at<S: Simt>(self, t: &S, shape: &FlowShape, row: u32, column: u32) -> T {
        self.0
            .get(t, row as usize * shape.columns() as usize + column as usize)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn heat<S: Simt>(self, t: &S, shape: &FlowShape, column: u32, vx: T) -> Heat<T> {
        Heat::of(|k| self.at(t, shape, k, column), vx)
    }
}

/// The relaxed population of a node at a column of the tables and a place of its plane.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[allow(clippy::too_many_arguments, reason = "what a population depends on")]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(crate) fn relaxed<S: Simt, T: Real>(
    t: &S,
    f: impl Fn([u32; 3], u32) -> T,
    tables: impl Tables<T>,
    axes: In<'_, T>,
    shape: &FlowShape,
    [jx, jy, m]: [u32; 3],
    column: u32,
    place: u32,
) -> T {
    let nodes = Inner([m]);
    let [value] = nodes.relaxed(t, f, tables, axes, shape, [jx, jy], column, place);
    value
}

/// Some nodes of the innermost axis.
#[derive(Clone, Copy)]
struct Inner<const K: usize>([u32; K]);

impl<const K: usize> Inner<K> {
    /// Their relaxed populations.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[allow(clippy::too_many_arguments, reason = "what a population depends on")]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn relaxed<S: Simt, T: Real>(
        self,
        t: &S,
        f: impl Fn([u32; 3], u32) -> T,
        tables: impl Tables<T>,
        axes: In<'_, T>,
        shape: &FlowShape,
        [jx, jy]: [u32; 2],
        column: u32,
        place: u32,
    ) -> [T; K] {
        let mut values = [T::ZERO; K];
        let mut k = 0;
        while k < K {
            values[k] = f([jx, jy, self.0[k]], place);
            k += 1;
        }
        self.relaxation(t, values, tables, axes, shape, [jx, jy], column)
    }

    /// What a column of the tables makes of their values `f`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[allow(clippy::too_many_arguments, reason = "what a population depends on")]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn relaxation<S: Simt, T: Real>(
        self,
        t: &S,
        f: [T; K],
        tables: impl Tables<T>,
        axes: In<'_, T>,
        shape: &FlowShape,
        [jx, jy]: [u32; 2],
        column: u32,
    ) -> [T; K] {
        let at = |row: u32| tables.at(t, shape, row, column);
        let of = |e: u32| axes.get(t, e as usize);
        let keep = at(row::KEEP);
        let mut constant = at(row::X + jx) * at(shape.row_y() + jy);
        let mut slope = T::ZERO;
        if shape.shakhov != 0 {
            let heat = tables.heat(t, shape, column, of(shape.axis_x(jx) + axis::VELOCITY));
            let (alpha, beta) = heat.at(of(shape.axis_y(jy) + axis::VELOCITY));
            slope = beta * constant;
            if shape.integrated > 0 {
                slope *= at(shape.row_m() + 1);
            }
            constant *= alpha;
        }
        let mut values = f;
        let mut k = 0;
        while k < K {
            let m = self.0[k];
            let share = if shape.shakhov != 0 {
                slope.mul_add(of(shape.axis_m(m) + axis::FRACTION), constant)
            } else {
                constant
            };
            values[k] = keep.mul_add(f[k], share * at(shape.row_m() + m));
            k += 1;
        }
        values
    }
}

/// What leaves through an end, with `at(d)` the cell at the distance d from it: the last cell itself has no slope.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn outflow<T: Real, const K: usize>(
    at: impl Fn(u32) -> [T; K],
    whole: u32,
    fraction: T,
    sloped: bool,
) -> [T; K] {
    let here = at(whole);
    let mut out = here;
    let mut k = 0;
    while k < K {
        out[k] *= fraction;
        k += 1;
    }
    if sloped && whole > 0 {
        let (beyond, next) = (at(whole + 1), at(whole - 1));
        let mut k = 0;
        while k < K {
            let (before, after) = (here[k] - beyond[k], next[k] - here[k]);
            out[k] += fraction * (T::ONE - fraction) * limited(before, after);
            k += 1;
        }
    }
    let mut d = 0;
    while d < whole {
        let all = at(d);
        let mut k = 0;
        while k < K {
            out[k] += all[k];
            k += 1;
        }
        d += 1;
    }
    out
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the kernels")]
pub(crate) fn near_columns<S: Simt, T: Real>(
    t: &S,
    f: In<'_, T>,
    axes: In<'_, T>,
    emissions: In<'_, f64>,
    tables: InOut<'_, T>,
    found: Out<'_, f64>,
    scratch: Shared<'_, f64>,
    shape: &FlowShape,
    faces: &Faces,
) {
    let (side, iy) = split(t.block_idx(), shape.ny);
    // The same for all threads of the block.
    if (faces.seen >> side) & 1 == 0 {
        return;
    }
    let mut sums = [0.0; 4];
    let nodes = shape.count_x * shape.count_y * shape.count_m;
    let mut index = t.thread_idx();
    while index < nodes {
        let (pair, m) = split(index, shape.count_m);
        let (jx, jy) = split(pair, shape.count_y);
        let of_x = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let vx = of_x(axis::VELOCITY);
        if (vx > T::ZERO) == (side == 1) {
            let of_m = |k: u32| axes.get(t, (shape.axis_m(m) + k) as usize);
            let vy = axes.get(t, (shape.axis_y(jy) + axis::VELOCITY) as usize);
            let read = InOutTables(tables);
            let post = |d: u32| {
                let d = if d < shape.nx { d } else { shape.nx - 1 };
                let ix = if side == 0 { d } else { shape.nx - 1 - d };
                let column = iy * shape.pitch + ix;
                [relaxed(
                    t,
                    |node, place| f.get(t, shape.population(node, place) as usize),
                    read,
                    axes,
                    shape,
                    [jx, jy, m],
                    column,
                    column,
                )]
            };
            let whole = of_x(axis::WHOLE).to_f64() as u32;
            let fraction = of_x(axis::FRACTION);
            let [out] = outflow(post, whole, fraction, faces.sloped != 0);
            let out = out.to_f64();
            let part = read.at(
                t,
                shape,
                row::KEEP,
                shape.face_columns(side) + FACE_WIDTH * iy,
            );
            // What is mirrored has no slopes beyond the face.
            let back = if part > T::ZERO {
                let [back] = outflow(post, whole, fraction, false);
                (part * back).to_f64()
            } else {
                0.0
            };
            let (mass, energy) = (of_m(axis::VELOCITY).to_f64(), of_m(axis::WHOLE).to_f64());
            let (vx, vy) = (vx.to_f64(), vy.to_f64());
            let net = out - back;
            sums[0] += mass * net;
            sums[1] += vx * mass * (out + back);
            sums[2] += vy * mass * net;
            sums[3] += 0.5 * ((vx * vx + vy * vy) * mass + energy) * net;
        }
        index += t.block_dim();
    }
    let mut k = 0;
    while k < 4 {
        let sum = sum_of_lanes(t, sums[k]);
        if t.lane() == 0 {
            scratch.set(t, t.warp() * 4 + k as u32, sum);
        }
        k += 1;
    }
    t.sync_threads();
    let total = |k: u32| {
        let mut sum = 0.0;
        let mut warp = 0;
        while warp < t.warps() {
            sum += scratch.get(t, warp * 4 + k);
            warp += 1;
        }
        sum
    };
    let carried = [total(0), total(1), total(2), total(3)];
    let workers = [t.thread_idx(), t.block_dim()];
    send_back(
        t,
        emissions,
        tables,
        found,
        shape,
        faces,
        [side, iy],
        carried,
        workers,
    );
}

/// The sum of what the lanes of a warp have.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn sum_of_lanes<S: Simt>(t: &S, value: f64) -> f64 {
    let mut sum = value;
    let mut distance = WARP / 2;
    while distance > 0 {
        sum += t.shuffle_xor(sum, distance);
        distance /= 2;
    }
    sum
}

/// Notes what leaves through a cell of the left or right face, and lets a wall there send back as much. `worker` of some threads does its share.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the kernels")]
fn send_back<S: Simt, T: Real>(
    t: &S,
    emissions: In<'_, f64>,
    tables: InOut<'_, T>,
    found: Out<'_, f64>,
    shape: &FlowShape,
    faces: &Faces,
    [side, iy]: [u32; 2],
    carried: [f64; 4],
    [worker, workers]: [u32; 2],
) {
    let mut density = 1.0;
    if (faces.walls >> side) & 1 != 0 {
        let emitted = emission(shape, side);
        density = carried[0] / emissions.get(t, emitted);
        let column = (shape.face_columns(side) + FACE_WIDTH * iy) as usize;
        let mut index = worker;
        while index < FACE_WIDTH * shape.count_x {
            let (jx, copy) = (index / FACE_WIDTH, index % FACE_WIDTH);
            let value = density * emissions.get(t, emitted + 1 + jx as usize);
            let at = (row::X + jx) as usize * shape.columns() as usize + column;
            tables.set(t, at + copy as usize, T::from_f64(value));
            index += workers;
        }
    }
    if worker < leaving::LEN {
        let mut value = density;
        let mut k = 0;
        while k < 4 {
            if worker == leaving::CARRIED + k as u32 {
                value = carried[k];
            }
            k += 1;
        }
        let at = (side * shape.ny + iy) * leaving::LEN + worker;
        found.set(t, at as usize, value);
    }
}

/// A block's part of the rows near the bottom (0) or top (1) face.
struct NearRows {
    side: u32,
    tile: u32,
    chunk: u32,
    /// Groups of [`ROW_NODES`] nodes of a pair, and the first and the last of all of them.
    groups: u32,
    items: [u32; 2],
}

impl NearRows {
    /// That of this block, if its face is looked at.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of<S: Simt>(t: &S, shape: &FlowShape, faces: &Faces) -> Option<Self> {
        let tiles = shape.nx.div_ceil(cells_both_ways(faces.sloped != 0));
        let (rest, tile) = split(t.block_idx(), tiles);
        let (chunk, side) = split(rest, 2);
        // The same for all threads of the block.
        if (faces.seen >> (2 + side)) & 1 == 0 {
            return None;
        }
        let pairs = shape.count_x * shape.count_y;
        let first = chunk * faces.range;
        let last = if first + faces.range < pairs {
            first + faces.range
        } else {
            pairs
        };
        let groups = ceiling(shape.count_m, ROW_NODES);
        Some(Self {
            side,
            tile,
            chunk,
            groups,
            items: [first * groups, last * groups],
        })
    }

    /// The pair (v_x, v_y) and the nodes of the innermost axis of an item. A node beyond the last is the last once more.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn nodes(&self, shape: &FlowShape, item: u32) -> ([u32; 2], Inner<{ ROW_NODES as usize }>) {
        let (pair, group) = split(item, self.groups);
        let (jx, jy) = split(pair, shape.count_y);
        let mut nodes = Inner([shape.count_m - 1; ROW_NODES as usize]);
        let mut k = 0;
        while k < ROW_NODES {
            let m = group * ROW_NODES + k;
            if m < shape.count_m {
                nodes.0[k as usize] = m;
            }
            k += 1;
        }
        ([jx, jy], nodes)
    }
}

/// Some nodes near the bottom (0) or top (1) face, on their way along x.
#[derive(Clone, Copy)]
struct Near<'a, T: Real, const K: usize> {
    axes: In<'a, T>,
    tables: In<'a, T>,
    shape: &'a FlowShape,
    side: u32,
    pair: [u32; 2],
    nodes: Inner<K>,
    lanes: Lanes,
    from: Source,
    fraction: T,
}

impl<'a, T: Real, const K: usize> Near<'a, T, K> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn new<S: Simt>(
        t: &S,
        [axes, tables]: [In<'a, T>; 2],
        shape: &'a FlowShape,
        rows: &NearRows,
        (pair, nodes): ([u32; 2], Inner<K>),
        sloped: bool,
    ) -> Self {
        let of_x = |k: u32| axes.get(t, (shape.axis_x(pair[0]) + k) as usize);
        let right = of_x(axis::VELOCITY) > T::ZERO;
        let whole = of_x(axis::WHOLE).to_f64() as i32;
        let lanes = Lanes::both_ways(t, rows.tile, shape.nx, right, sloped);
        let place = if right {
            lanes.cell - whole
        } else {
            lanes.cell + whole
        };
        Self {
            axes,
            tables,
            shape,
            side: rows.side,
            pair,
            nodes,
            lanes,
            from: source(place, shape.nx, shape.left, shape.right, right),
            fraction: of_x(axis::FRACTION),
        }
    }

    /// Their populations, relaxed and streamed along x, in the row at the distance d from the face.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn row<S: Simt, const SLOPED: bool>(
        &self,
        t: &S,
        f: impl Fn([u32; 3], u32) -> T,
        d: u32,
    ) -> [T; K] {
        let Self {
            axes,
            tables,
            shape,
            side,
            pair: [jx, jy],
            nodes,
            lanes,
            from,
            fraction,
        } = *self;
        let d = if d < shape.ny { d } else { shape.ny - 1 };
        let iy = if side == 0 { d } else { shape.ny - 1 - d };
        let column = match from.face {
            0 => iy * shape.pitch + from.cell,
            1 => shape.face_columns(0) + FACE_WIDTH * iy,
            _ => shape.face_columns(1) + FACE_WIDTH * iy,
        };
        let place = iy * shape.pitch + from.cell;
        let image = from.mirrored && from.face != 0;
        let at_place = if image { place } else { column };
        let jx_from = if from.mirrored {
            shape.count_x - 1 - jx
        } else {
            jx
        };
        let mut post = nodes.relaxed(t, f, tables, axes, shape, [jx_from, jy], at_place, place);
        if image {
            post = nodes.relaxation(t, post, tables, axes, shape, [jx, jy], column);
        }
        // Cells beyond a wall have no slopes.
        let rest = if image { T::ZERO } else { T::ONE - fraction };
        let mut k = 0;
        while k < K {
            post[k] = lanes.shift::<S, T, SLOPED>(t, post[k], fraction, rest);
            k += 1;
        }
        post
    }
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
#[allow(clippy::too_many_arguments, reason = "the arguments of the kernels")]
fn near_rows<S: Simt, T: Real, const SLOPED: bool>(
    t: &S,
    f: In<'_, T>,
    axes: In<'_, T>,
    tables: In<'_, T>,
    partial: Out<'_, f64>,
    scratch: Shared<'_, f64>,
    shape: &FlowShape,
    faces: &Faces,
) {
    const K: usize = ROW_NODES as usize;
    let Some(rows) = NearRows::of(t, shape, faces) else {
        return;
    };
    let (side, tile) = (rows.side, rows.tile);
    let mut sums = [0.0; 4];
    let [first, last] = rows.items;
    let mut item = first + t.warp();
    while item < last {
        let ([jx, jy], nodes) = rows.nodes(shape, item);
        let of_y = |k: u32| axes.get(t, (shape.axis_y(jy) + k) as usize);
        let vx = axes.get(t, (shape.axis_x(jx) + axis::VELOCITY) as usize);
        let vy = of_y(axis::VELOCITY);
        if (vy > T::ZERO) == (side == 1) {
            let own = Lanes::both_ways(t, tile, shape.nx, true, SLOPED).cell;
            let own = if own < 0 { 0 } else { own as u32 };
            let own = if own < shape.nx { own } else { shape.nx - 1 };
            // The same for all cells of a face.
            let part = tables.at(t, shape, row::KEEP, shape.face_columns(2 + side) + own);
            let near = Near::new(t, [axes, tables], shape, &rows, ([jx, jy], nodes), SLOPED);
            let read = |node, place| f.get(t, shape.population(node, place) as usize);
            let at = |d: u32| near.row::<S, SLOPED>(t, read, d);
            let whole = of_y(axis::WHOLE).to_f64() as u32;
            let out = outflow(at, whole, of_y(axis::FRACTION), SLOPED);
            // What is mirrored has no slopes beyond the face.
            let mut back = [T::ZERO; K];
            if part > T::ZERO {
                back = outflow(at, whole, of_y(axis::FRACTION), false);
            }
            let (mut mass, mut gross, mut energy) = (T::ZERO, T::ZERO, T::ZERO);
            let mut k = 0;
            while k < K {
                // A node beyond the last counts for nothing.
                if k == 0 || nodes.0[k] != nodes.0[k - 1] {
                    let of_m = |e: u32| axes.get(t, (shape.axis_m(nodes.0[k]) + e) as usize);
                    let (of_mass, of_energy) = (of_m(axis::VELOCITY), of_m(axis::WHOLE));
                    let back = part * back[k];
                    mass = of_mass.mul_add(out[k] - back, mass);
                    gross = of_mass.mul_add(out[k] + back, gross);
                    energy = of_energy.mul_add(out[k] - back, energy);
                }
                k += 1;
            }
            let (vx, vy) = (vx.to_f64(), vy.to_f64());
            let (mass, energy) = (mass.to_f64(), energy.to_f64());
            sums[0] += mass;
            sums[1] += vx * mass;
            sums[2] += vy * gross.to_f64();
            sums[3] += 0.5 * ((vx * vx + vy * vy) * mass + energy);
        }
        item += t.warps();
    }
    let own = |warp: u32, k: u32| (warp * 4 + k) * WARP + t.lane();
    let mut k = 0;
    while k < 4 {
        scratch.set(t, own(t.warp(), k), sums[k as usize]);
        k += 1;
    }
    t.sync_threads();
    let lanes = Lanes::both_ways(t, tile, shape.nx, true, SLOPED);
    let mut k = t.warp();
    while k < 4 && lanes.gives {
        let mut sum = scratch.get(t, own(0, k));
        let mut warp = 1;
        while warp < t.warps() {
            sum += scratch.get(t, own(warp, k));
            warp += 1;
        }
        let at = ((rows.chunk * 2 + side) * 4 + k) * shape.nx;
        partial.set(t, at as usize + lanes.cell as usize, sum);
        k += t.warps();
    }
}

kernel! {
    /// Ghosts at the left and right ends of rows of cells in a plane: relaxed populations of the mirrored nodes, for faces that mirror.
    ///
    /// **Thread**: one end of a row and one node. It reads as many cells as the molecules fly over, one more, and with slopes two. A plane of symmetry (`face::MIRROR`) has ghosts of molecules
    /// that leave too, for their slopes. **No race**: a thread alone writes the ghosts of the node that mirrors its own.
    pub fn ghosts_along_x<T: Real>(t, f: InOut<T>, axes: In<T>, tables: In<T>; shape: FlowShape, faces: Faces) for f32, f64 {
        let (line, m) = split(t.global_idx() as u32, shape.count_m);
        let (node, iy) = split(line, shape.ny);
        let (side, pair) = split(node, shape.count_x * shape.count_y);
        let (jx, jy) = split(pair, shape.count_y);
        if side > 1 || (faces.seen >> side) & 1 == 0 {
            return;
        }
        let kind = if side == 0 { shape.left } else { shape.right };
        let vx = axes.get(t, (shape.axis_x(jx) + axis::VELOCITY) as usize);
        let leaves = (vx > T::ZERO) == (side == 1);
        if !leaves && (kind != face::MIRROR || faces.sloped == 0) {
            return;
        }
        let of_row = shape.count_m * shape.ghost_columns;
        let mirrored = (shape.count_x - 1 - jx) * shape.count_y + jy;
        let to = shape.ghosts_of_row(side, mirrored, m) + iy * of_row;
        let whole = axes.get(t, (shape.axis_x(jx) + axis::WHOLE) as usize).to_f64() as u32;
        let reach = whole + if faces.sloped != 0 { 2 } else { 1 };
        let mut d = 0;
        while d < reach {
            let near = if d < shape.nx { d } else { shape.nx - 1 };
            let ix = if side == 0 { near } else { shape.nx - 1 - near };
            let place = iy * shape.pitch + ix;
            let read = |node, place| f.get(t, shape.population(node, place) as usize);
            let value = relaxed(t, read, tables, axes, &shape, [jx, jy, m], place, place);
            let ghost = if side == 0 { shape.ghost_columns - 1 - d } else { d };
            f.set(t, (to + ghost) as usize, value);
            d += 1;
        }
    }
}

kernel! {
    /// Ghost rows below and above the cells of a plane: populations of the mirrored nodes, relaxed and streamed along x, for faces that mirror.
    ///
    /// **Block**: as in [`faces_along_y()`]. **No race**: a lane alone writes the ghosts of the nodes that mirror its own.
    pub fn ghosts_along_y<T: Real>(t, f: InOut<T>, axes: In<T>, tables: In<T>; shape: FlowShape, faces: Faces) for f32, f64 {
        if faces.sloped != 0 {
            mirrored_rows::<_, _, true>(t, f, axes, tables, &shape, &faces);
        } else {
            mirrored_rows::<_, _, false>(t, f, axes, tables, &shape, &faces);
        }
    }
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn mirrored_rows<S: Simt, T: Real, const SLOPED: bool>(
    t: &S,
    f: InOut<'_, T>,
    axes: In<'_, T>,
    tables: In<'_, T>,
    shape: &FlowShape,
    faces: &Faces,
) {
    const K: usize = ROW_NODES as usize;
    let Some(rows_near) = NearRows::of(t, shape, faces) else {
        return;
    };
    let side = rows_near.side;
    let kind = if side == 0 { shape.bottom } else { shape.top };
    let [first, last] = rows_near.items;
    let mut item = first + t.warp();
    while item < last {
        let ([jx, jy], nodes) = rows_near.nodes(shape, item);
        let vy = axes.get(t, (shape.axis_y(jy) + axis::VELOCITY) as usize);
        let leaves = (vy > T::ZERO) == (side == 1);
        let whole = axes
            .get(t, (shape.axis_y(jy) + axis::WHOLE) as usize)
            .to_f64() as u32;
        // The slope of what leaves takes one row beyond a plane of symmetry.
        let rows = if leaves {
            whole + if SLOPED { 2 } else { 1 }
        } else if SLOPED && kind == face::MIRROR {
            1
        } else {
            0
        };
        let near = Near::new(
            t,
            [axes, tables],
            shape,
            &rows_near,
            ([jx, jy], nodes),
            SLOPED,
        );
        let read = |node, place| f.get(t, shape.population(node, place) as usize);
        let mirrored = jx * shape.count_y + shape.count_y - 1 - jy;
        let mut d = 0;
        while d < rows {
            let post = near.row::<S, SLOPED>(t, read, d);
            let iy = if side == 0 {
                u32::MAX - d
            } else {
                shape.ny + d
            };
            let mut k = 0;
            while k < K && near.lanes.gives {
                if k == 0 || nodes.0[k] != nodes.0[k - 1] {
                    let row = shape
                        .row_start(mirrored, nodes.0[k], 0)
                        .wrapping_add(iy.wrapping_mul(shape.pitch * shape.count_m));
                    let to = row + shape.in_row(near.lanes.cell as u32);
                    f.set(t, to as usize, post[k]);
                }
                k += 1;
            }
            d += 1;
        }
        item += t.warps();
    }
}
