//! The left and right faces: molecules that leave through them, those that walls send back, and ghosts at the ends of rows.

use super::super::layout::{FACE_WIDTH, FlowShape, PASS_SUMS_BGK, axis, face, row, split};
use super::super::sweep::{read_ahead, sum_of_warps};
use super::near::{InOutTables, Tables, outflow, relaxed};
use super::{Faces, emission, leaving};
use crate::Pack;
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, InOut, Out, Shared};
use crate::simt::{Simt, WARP};

/// Threads of a block of [`faces_along_x()`].
pub const FACE_THREADS: u32 = 256;

/// Nodes of a block of [`faces_along_x()`]: enough blocks to hide the latency of memory, also at the two ends of a line.
const FACE_NODES: u32 = 2 * FACE_THREADS;

/// Threads of a block of [`finish_faces_along_x()`] and [`faces_along_x_by_sums()`], a warp for each cell of a face.
pub const FACE_CELL_THREADS: u32 = 128;

/// Chunks of nodes of [`faces_along_x()`]. Their number depends on the velocities alone, and so do the bits of the sums.
#[inline(always)]
pub const fn chunks_along_x(shape: &FlowShape) -> u32 {
    (shape.count_x * shape.count_y * shape.count_m).div_ceil(FACE_NODES)
}

kernel! {
    /// The outflow through the left and right faces: partial sums by chunks of nodes.
    ///
    /// **Block**: one cell of one face and one chunk; its threads share the nodes. Sums are f64, added in a fixed order. Loads are not coalesced, one word of each
    /// node: 32 bytes of traffic each, 8/nx of the pass's in `f32`.
    /// **No race**: each shared word and each partial sum has one writer, and a barrier lies between.
    pub fn faces_along_x<T: Real>(
        t, f: In<T>, axes: In<T>, tables: In<T>, partial: Out<f64>; shape: FlowShape, faces: Faces,
    ) for f32, f64
    shared { scratch: [f64; FACE_THREADS / WARP * 4] } {
        outflow_x::<_, _, false>(t, f, axes, tables, partial, scratch, &shape, &faces);
    }
}

kernel! {
    /// Adds the partial sums of [`faces_along_x()`] and sets the density of walls.
    ///
    /// **Warp**: one cell of one face; its lanes share chunks. **No race**: a warp alone writes the columns and the row of its cell.
    pub fn finish_faces_along_x<T: Real>(
        t, partial: In<f64>, emissions: In<f64>, tables: InOut<T>, face_sums: Out<f64>; shape: FlowShape, faces: Faces,
    ) for f32, f64 {
        let (side, iy) = split(t.block_idx() * t.warps() + t.warp(), shape.ny);
        // The same for all lanes of the warp.
        if side > 1 || (faces.mask >> side) & 1 == 0 {
            return;
        }
        let mut sums = [0.0; 4];
        let mut chunk = t.lane();
        while chunk < chunks_along_x(&shape) {
            for k in 0..4 {
                sums[k as usize] += partial.get(t, partial_along_x(&shape, [side, iy], chunk, k));
            }
            chunk += WARP;
        }
        let carried = sums.map(|sum| sum_of_lanes(t, sum));
        send_back(t, emissions, tables, face_sums, &shape, &faces, [side, iy], carried, [t.lane(), WARP]);
    }
}

kernel! {
    /// The same from the partial sums of a [plane sweep](crate::bgk::sweep_2d), for molecules that fly at most one cell in a step. The outflow is then a
    /// part of the last cell's populations, whose sums for each v_x are known.
    ///
    /// Let `n`, `n_y` and `e` be sums of a chunk: of f, of v_y f, and of the energy without v_x's. X, Y and M are the equilibrium's factors with the gain.
    /// The mass of the outflow is the sum over v_x of `a (decay n + X Y0 M0)`: a is the fraction of a cell that the molecules fly, Y0 and M0 are sums over
    /// their axes. Momentum and energy follow likewise.
    ///
    /// **Warp**: one cell of one face; its lanes share chunks and nodes. **No race**: a warp alone writes the columns and the row of its cell.
    pub fn faces_along_x_by_sums<T: Real>(
        t, partial: In<T>, axes: In<T>, emissions: In<f64>, tables: InOut<T>, face_sums: Out<f64>; shape: FlowShape, faces: Faces, parts: u32,
    ) for f32, f64 {
        let (side, iy) = split(t.block_idx() * t.warps() + t.warp(), shape.ny);
        // The same for all lanes of the warp.
        if side > 1 || (faces.mask >> side) & 1 == 0 {
            return;
        }
        let ix = if side == 0 { 0 } else { shape.nx - 1 };
        let place = iy * shape.pitch + ix;
        let at = |row: u32| InOutTables(tables).at(t, &shape, row, place).to_f64();
        let of = |entry: u32| axes.get(t, entry as usize).to_f64();
        // The fraction of a cell that flows out, for nodes of the outflow; else 0.
        let leaves = |jx: u32, vx: f64| {
            if (vx > 0.0) == (side == 1) { of(shape.axis_x(jx) + axis::FRACTION) } else { 0.0 }
        };
        let decay = at(row::DECAY);
        let mut kept = [0.0; 4];
        read_ahead::<_, 4, _>(
            t,
            [t.lane(), WARP, shape.count_x * parts],
            |chunk| {
                let (jx, _) = split(chunk, parts);
                let vx = of(shape.axis_x(jx) + axis::VELOCITY);
                let sum = |k: u32| partial.get(t, ((chunk * PASS_SUMS_BGK + k) * shape.plane() + place) as usize);
                (vx, leaves(jx, vx), [sum(0), sum(1), sum(2)])
            },
            |_, (vx, part, sums)| {
                let [mass, along_y, rest] = sums.map(|sum| decay * part * sum.to_f64());
                kept[0] += mass;
                kept[1] += vx * mass;
                kept[2] += along_y;
                kept[3] += vx * vx * mass + rest;
            },
        );
        let (mut x, mut y, mut m) = ([0.0; 3], [0.0; 3], [0.0; 2]);
        let (of_x, of_y, of_m) = (shape.count_x, shape.count_y, shape.count_m);
        let most = [of_y, of_m].into_iter().fold(of_x, |most, count| if count > most { count } else { most });
        let weighted = |j: u32, count: u32, value: f64| if j < count { value } else { 0.0 };
        read_ahead::<_, 1, _>(
            t,
            [t.lane(), WARP, most],
            |j| {
                let [jx, jy, jm] = [of_x, of_y, of_m].map(|count| if j < count { j } else { count - 1 });
                let vx = of(shape.axis_x(jx) + axis::VELOCITY);
                let inner = [axis::VELOCITY, axis::WHOLE].map(|entry| of(shape.axis_m(jm) + entry));
                let factors = [row::X + jx, shape.row_y() + jy, shape.row_m() + jm].map(at);
                (vx, leaves(jx, vx), of(shape.axis_y(jy) + axis::VELOCITY), inner, factors)
            },
            |j, (vx, part, vy, [mass, energy], factors)| {
                let factor = weighted(j, of_x, part * factors[0]);
                x = [x[0] + factor, x[1] + vx * factor, x[2] + vx * vx * factor];
                let factor = weighted(j, of_y, factors[1]);
                y = [y[0] + factor, y[1] + vy * factor, y[2] + vy * vy * factor];
                let factor = weighted(j, of_m, factors[2]);
                m = [m[0] + mass * factor, m[1] + energy * factor];
            },
        );
        let [x0, x1, x2] = x.map(|value| sum_of_lanes(t, value));
        let [y0, y1, y2] = y.map(|value| sum_of_lanes(t, value));
        let [m0, m1] = m.map(|value| sum_of_lanes(t, value));
        let kept = kept.map(|value| sum_of_lanes(t, value));
        let column = shape.face_columns(side) + FACE_WIDTH * iy;
        let mirrored = InOutTables(tables).at(t, &shape, row::DECAY, column).to_f64();
        let (net, gross) = (1.0 - mirrored, 1.0 + mirrored);
        let carried = [
            net * (kept[0] + x0 * y0 * m0),
            gross * (kept[1] + x1 * y0 * m0),
            net * (kept[2] + x0 * y1 * m0),
            net * 0.5 * (kept[3] + (x2 * y0 + x0 * y2) * m0 + x0 * y0 * m1),
        ];
        send_back(t, emissions, tables, face_sums, &shape, &faces, [side, iy], carried, [t.lane(), WARP]);
    }
}

kernel! {
    /// Ghosts at the left and right ends of rows of cells in a plane: relaxed populations of the mirrored nodes, for faces that mirror.
    ///
    /// **Thread**: one end of a row and one node. It reads one cell more than its molecules fly over, two with slopes. A plane of symmetry
    /// (`face::MIRROR`) has ghosts of outgoing molecules too, for their slopes. **No race**: a thread alone writes the ghosts of its mirrored node.
    pub fn ghosts_along_x<T: Real>(t, f: InOut<T>, axes: In<T>, tables: In<T>; shape: FlowShape, faces: Faces) for f32, f64 {
        fill_ghost_columns::<_, _, false>(t, f, axes, tables, &shape, &faces);
    }
}

/// The body of [`ghosts_along_x()`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
pub(crate) fn fill_ghost_columns<S: Simt, T: Real, const ROTATES: bool>(
    t: &S,
    f: InOut<'_, T>,
    axes: In<'_, T>,
    tables: In<'_, T>,
    shape: &FlowShape,
    faces: &Faces,
) {
    let (line, m) = split(t.global_idx() as u32, shape.count_m);
    let (node, iy) = split(line, shape.ny);
    let (side, pair) = split(node, shape.count_x * shape.count_y);
    let (jx, jy) = split(pair, shape.count_y);
    if side > 1 || (faces.mask >> side) & 1 == 0 {
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
    let whole = axes
        .get(t, (shape.axis_x(jx) + axis::WHOLE) as usize)
        .to_f64() as u32;
    let reach = whole + if faces.sloped != 0 { 2 } else { 1 };
    for d in 0..reach {
        let near = if d < shape.nx { d } else { shape.nx - 1 };
        let ix = if side == 0 { near } else { shape.nx - 1 - near };
        let place = iy * shape.pitch + ix;
        let read = |node, place| f.get(t, shape.population(node, place) as usize);
        let value =
            relaxed::<_, _, ROTATES>(t, read, tables, axes, shape, [jx, jy, m], place, place);
        let ghost = if side == 0 {
            shape.ghost_columns - 1 - d
        } else {
            d
        };
        f.set(t, (to + ghost) as usize, value);
    }
}

/// The body of [`faces_along_x()`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "the arguments of the kernels")]
pub(crate) fn outflow_x<S: Simt, T: Real, const ROTATES: bool>(
    t: &S,
    f: In<'_, T>,
    axes: In<'_, T>,
    tables: In<'_, T>,
    partial: Out<'_, f64>,
    scratch: Shared<'_, f64>,
    shape: &FlowShape,
    faces: &Faces,
) {
    let (cell, chunk) = split(t.block_idx(), chunks_along_x(shape));
    let (side, iy) = split(cell, shape.ny);
    // The same for all threads of the block.
    if (faces.mask >> side) & 1 == 0 {
        return;
    }
    let mut sums = [0.0; 4];
    let nodes = shape.count_x * shape.count_y * shape.count_m;
    let mut index = chunk * FACE_NODES + t.thread_idx();
    while index < (chunk + 1) * FACE_NODES && index < nodes {
        let (pair, m) = split(index, shape.count_m);
        let (jx, jy) = split(pair, shape.count_y);
        let of_x = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let vx = of_x(axis::VELOCITY);
        if (vx > T::ZERO) == (side == 1) {
            let of_m = |k: u32| axes.get(t, (shape.axis_m(m) + k) as usize);
            let vy = axes.get(t, (shape.axis_y(jy) + axis::VELOCITY) as usize);
            let post = |d: u32| {
                let d = if d < shape.nx { d } else { shape.nx - 1 };
                let ix = if side == 0 { d } else { shape.nx - 1 - d };
                let column = iy * shape.pitch + ix;
                Pack([relaxed::<_, _, ROTATES>(
                    t,
                    |node, place| f.get(t, shape.population(node, place) as usize),
                    tables,
                    axes,
                    shape,
                    [jx, jy, m],
                    column,
                    column,
                )])
            };
            let whole = of_x(axis::WHOLE).to_f64() as u32;
            let fraction = of_x(axis::FRACTION);
            let Pack([out]) = outflow(post, whole, fraction, faces.sloped != 0);
            let out = out.to_f64();
            let part = tables.at(
                t,
                shape,
                row::DECAY,
                shape.face_columns(side) + FACE_WIDTH * iy,
            );
            // Mirrored molecules have no slope beyond the face.
            let back = if part > T::ZERO {
                let Pack([back]) = outflow(post, whole, fraction, false);
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
    let k = t.thread_idx();
    if k < 4 {
        let total = sum_of_warps(t, |warp| scratch.get(t, warp * 4 + k));
        partial.set(t, partial_along_x(shape, [side, iy], chunk, k), total);
    }
}

/// Place of a partial sum of [`faces_along_x()`]: of a cell of the left or right face, a chunk of nodes, and mass, momentum along x and y, and energy.
#[inline(always)]
const fn partial_along_x(shape: &FlowShape, [side, iy]: [u32; 2], chunk: u32, k: u32) -> usize {
    (((side * shape.ny + iy) * chunks_along_x(shape) + chunk) * 4 + k) as usize
}

/// The sum of `value` over the lanes of a warp.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
fn sum_of_lanes<S: Simt>(t: &S, value: f64) -> f64 {
    let mut sum = value;
    let mut distance = WARP / 2;
    while distance > 0 {
        sum += t.shuffle_xor(sum, distance);
        distance /= 2;
    }
    sum
}

/// Stores the outflow through a cell of the left or right face, and emits as much from a wall there. `worker` is one of some threads that share the work.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "the arguments of the kernels")]
fn send_back<S: Simt, T: Real>(
    t: &S,
    emissions: In<'_, f64>,
    tables: InOut<'_, T>,
    face_sums: Out<'_, f64>,
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
        read_ahead::<_, 4, _>(
            t,
            [worker, workers, FACE_WIDTH * shape.count_x],
            |index| emissions.get(t, emitted + 1 + (index / FACE_WIDTH) as usize),
            |index, unit| {
                let (jx, copy) = (index / FACE_WIDTH, index % FACE_WIDTH);
                let at = (row::X + jx) as usize * shape.columns() as usize + column;
                tables.set(t, at + copy as usize, T::from_f64(density * unit));
            },
        );
    }
    if worker < leaving::LEN {
        let mut value = density;
        for k in 0..4 {
            if worker == leaving::CARRIED + k as u32 {
                value = carried[k];
            }
        }
        let at = (side * shape.ny + iy) * leaving::LEN + worker;
        face_sums.set(t, at as usize, value);
    }
}
