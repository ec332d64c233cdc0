//! The bottom and top faces of a plane: molecules that leave through them, those that walls send back, and ghost rows.

use super::super::layout::{FACE_WIDTH, FlowShape, axis, ceiling, face, row, split};
use super::super::sweep::{Source, limited, read_ahead, source, sum_of_warps};
use super::near::{Inner, Tables, outflow};
use super::{Faces, emission, leaving};
use crate::Pack;
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, InOut, Out, Shared};
use crate::simt::{Simt, WARP};

/// Threads of a block of [`finish_faces_along_y()`]: blocks are few, and each of their warps waits for memory.
pub const FACE_SUM_THREADS: u32 = 512;

/// Threads of a block of [`faces_along_y()`].
pub const FACE_ROW_THREADS: u32 = 128;

/// Nodes of the innermost axis that a thread of [`faces_along_y()`] takes at once.
const ROW_NODES: u32 = 4;

/// Words of shared memory of [`faces_along_y()`]: the sums of each thread.
pub(crate) const FACE_ROW_SCRATCH: u32 = 4 * FACE_ROW_THREADS;

kernel! {
    /// The outflow through the bottom and top faces: partial sums by chunks of nodes.
    ///
    /// **Block**: one tile of cells along x, one a lane, for one face and one chunk of pairs (v_x, v_y), of which only the outgoing count. Its warps
    /// share the nodes, four of the innermost axis at a time, since a few blocks must hide the latency of memory. Rows near
    /// the face are relaxed and streamed along x as in the pass, which reads (k + 1)/ny of all populations.
    /// **No race**: each shared word and each partial sum has one writer. A barrier lies between the warps' sums and their sum, in the order of the warps.
    pub fn faces_along_y<T: Real>(
        t, f: In<T>, axes: In<T>, tables: In<T>, partial: Out<f64>; shape: FlowShape, faces: Faces,
    ) for f32, f64
    shared { scratch: [f64; FACE_ROW_SCRATCH] } {
        if faces.sloped != 0 {
            outflow_y::<_, _, true, false>(t, f, axes, tables, partial, scratch, &shape, &faces);
        } else {
            outflow_y::<_, _, false, false>(t, f, axes, tables, partial, scratch, &shape, &faces);
        }
    }
}

kernel! {
    /// Adds the partial sums of [`faces_along_y()`] and sets the density of walls.
    ///
    /// **Block**: 32 cells of a face, one a lane. Each of its warps adds every 16th chunk; then all add the warps' sums in a fixed order, so the bits repeat.
    /// **No race**: a barrier lies between the two steps; a lane owns its cell, and the warps share the columns of the tables.
    pub fn finish_faces_along_y<T: Real>(
        t, partial: In<f64>, emissions: In<f64>, tables: Out<T>, face_sums: Out<f64>; shape: FlowShape, faces: Faces,
    ) for f32, f64
    shared { scratch: [f64; 4 * FACE_SUM_THREADS] } {
        let (side, block) = split(t.block_idx(), shape.nx.div_ceil(WARP));
        // The same for all threads of the block.
        if (faces.mask >> (2 + side)) & 1 == 0 {
            return;
        }
        let ix = block * WARP + t.lane();
        let inside = ix < shape.nx;
        let at = |warp: u32, k: u32| (warp * 4 + k) * WARP + t.lane();
        let mut sums = Pack([0.0; 4]);
        let parts = |chunk: u32| {
            Pack::<f64, 4>::from_fn(|k| {
                let at = ((chunk * 2 + side) * 4 + k as u32) * shape.nx + ix;
                partial.get(t, at as usize)
            })
        };
        if inside {
            read_ahead::<_, 8, _>(t, [t.warp(), t.warps(), faces.chunks], parts, |_, part| sums += part);
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
        let total = |k: u32| sum_of_warps(t, |warp| scratch.get(t, at(warp, k)));
        let mut density = 1.0;
        if (faces.walls >> (2 + side)) & 1 != 0 {
            let emitted = emission(&shape, 2 + side);
            density = total(0) / emissions.get(t, emitted);
            let column = (shape.face_columns(2 + side) + ix) as usize;
            read_ahead::<_, 4, _>(
                t,
                [t.warp(), t.warps(), shape.count_x],
                |jx| emissions.get(t, emitted + 1 + jx as usize),
                |jx, unit| {
                    let at = (row::X + jx) as usize * shape.columns() as usize + column;
                    tables.set(t, at, T::from_f64(density * unit));
                },
            );
        }
        let at = (2 * shape.ny + side * shape.nx + ix) * leaving::LEN;
        let k = t.warp();
        if k < leaving::LEN {
            let value = if k == leaving::DENSITY { density } else { total(k - leaving::CARRIED) };
            face_sums.set(t, (at + k) as usize, value);
        }
    }
}

kernel! {
    /// Ghost rows below and above the cells of a plane: populations of the mirrored nodes, relaxed and streamed along x, for faces that mirror.
    ///
    /// **Block**: as in [`faces_along_y()`]. **No race**: a lane alone writes the ghosts of the nodes that mirror its own.
    pub fn ghosts_along_y<T: Real>(t, f: InOut<T>, axes: In<T>, tables: In<T>; shape: FlowShape, faces: Faces) for f32, f64 {
        if faces.sloped != 0 {
            fill_ghost_rows::<_, _, true, false>(t, f, axes, tables, &shape, &faces);
        } else {
            fill_ghost_rows::<_, _, false, false>(t, f, axes, tables, &shape, &faces);
        }
    }
}

/// Halo lanes at either end of a warp, for nodes that fly both ways.
#[inline(always)]
const fn halo_lanes(sloped: bool) -> u32 {
    if sloped { 2 } else { 1 }
}

/// Cells that the owner lanes of a warp write, one cell a lane.
#[inline(always)]
pub const fn cells_both_ways(sloped: bool) -> u32 {
    WARP - 2 * halo_lanes(sloped)
}

/// Lanes of a warp along x: the neighbours, and whether this one is an owner or a halo lane.
#[derive(Clone, Copy)]
struct Lanes {
    upstream: u32,
    downstream: u32,
    /// The cell of this lane, perhaps beyond the ends.
    cell: i32,
    /// Whether the lane owns its cell: it writes it.
    owns: bool,
}

impl Lanes {
    /// Lanes of a tile whose nodes go both ways.
    #[inline(always)]
    fn both_ways<S: Simt>(t: &S, tile: u32, nx: u32, forward: bool, sloped: bool) -> Self {
        let lane = t.lane();
        let (first, out) = (halo_lanes(sloped), cells_both_ways(sloped));
        let cell = (tile * out + lane) as i32 - first as i32;
        let (below, above) = (lane.wrapping_sub(1) % WARP, (lane + 1) % WARP);
        Self {
            upstream: if forward { below } else { above },
            downstream: if forward { above } else { below },
            cell,
            owns: lane >= first && lane < first + out && cell < nx as i32,
        }
    }

    /// The streamed value of this lane's place. `post` are the relaxed populations of the lanes; `rest` is 1 less the fraction of a cell, or 0 without slopes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn shift<S: Simt, T: Real, const SLOPED: bool>(
        self,
        t: &S,
        post: T,
        fraction: T,
        rest: T,
    ) -> T {
        let before = t.shuffle(post, self.upstream);
        if SLOPED {
            let difference = post - before;
            let after = t.shuffle(difference, self.downstream);
            let passes = rest.mul_add(limited(difference, after), post);
            fraction.mul_add(t.shuffle(passes, self.upstream) - passes, post)
        } else {
            fraction.mul_add(before - post, post)
        }
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
    /// The part of this block, if its face is summed.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of<S: Simt>(t: &S, shape: &FlowShape, faces: &Faces) -> Option<Self> {
        let tiles = shape.nx.div_ceil(cells_both_ways(faces.sloped != 0));
        let (rest, tile) = split(t.block_idx(), tiles);
        let (chunk, side) = split(rest, 2);
        // The same for all threads of the block.
        if (faces.mask >> (2 + side)) & 1 == 0 {
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
        for k in 0..ROW_NODES {
            let m = group * ROW_NODES + k;
            if m < shape.count_m {
                nodes.0[k as usize] = m;
            }
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
    #[track_caller]
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
    #[track_caller]
    fn row<S: Simt, const SLOPED: bool, const ROTATES: bool>(
        &self,
        t: &S,
        f: impl Fn([u32; 3], u32) -> T,
        d: u32,
    ) -> Pack<T, K> {
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
        let mut post = nodes.relaxed::<_, _, ROTATES>(
            t,
            f,
            tables,
            axes,
            shape,
            [jx_from, jy],
            at_place,
            place,
        );
        if image {
            post =
                nodes.relaxation::<_, _, ROTATES>(t, post, tables, axes, shape, [jx, jy], column);
        }
        // Cells beyond a wall have no slopes.
        let rest = if image { T::ZERO } else { T::ONE - fraction };
        post.map(|post| lanes.shift::<S, T, SLOPED>(t, post, fraction, rest))
    }
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "the arguments of the kernels")]
pub(crate) fn outflow_y<S: Simt, T: Real, const SLOPED: bool, const ROTATES: bool>(
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
            let part = tables.at(t, shape, row::DECAY, shape.face_columns(2 + side) + own);
            let near = Near::new(t, [axes, tables], shape, &rows, ([jx, jy], nodes), SLOPED);
            let read = |node, place| f.get(t, shape.population(node, place) as usize);
            let at = |d: u32| near.row::<S, SLOPED, ROTATES>(t, read, d);
            let whole = of_y(axis::WHOLE).to_f64() as u32;
            let out = outflow(at, whole, of_y(axis::FRACTION), SLOPED);
            // Mirrored molecules have no slope beyond the face.
            let mut back = Pack::ZERO;
            if part > T::ZERO {
                back = outflow(at, whole, of_y(axis::FRACTION), false);
            }
            let (mut mass, mut gross, mut energy) = (T::ZERO, T::ZERO, T::ZERO);
            for k in 0..K {
                // A node beyond the last counts for nothing.
                if k == 0 || nodes.0[k] != nodes.0[k - 1] {
                    let of_m = |e: u32| axes.get(t, (shape.axis_m(nodes.0[k]) + e) as usize);
                    let (of_mass, of_energy) = (of_m(axis::VELOCITY), of_m(axis::WHOLE));
                    let back = part * back[k];
                    mass = of_mass.mul_add(out[k] - back, mass);
                    gross = of_mass.mul_add(out[k] + back, gross);
                    energy = of_energy.mul_add(out[k] - back, energy);
                }
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
    for k in 0..4 {
        scratch.set(t, own(t.warp(), k), sums[k as usize]);
    }
    t.sync_threads();
    let lanes = Lanes::both_ways(t, tile, shape.nx, true, SLOPED);
    let mut k = t.warp();
    while k < 4 && lanes.owns {
        let sum = sum_of_warps(t, |warp| scratch.get(t, own(warp, k)));
        let at = ((rows.chunk * 2 + side) * 4 + k) * shape.nx;
        partial.set(t, at as usize + lanes.cell as usize, sum);
        k += t.warps();
    }
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
pub(crate) fn fill_ghost_rows<S: Simt, T: Real, const SLOPED: bool, const ROTATES: bool>(
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
        // The slope of outgoing molecules needs one row beyond a plane of symmetry.
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
        for d in 0..rows {
            let post = near.row::<S, SLOPED, ROTATES>(t, read, d);
            let iy = if side == 0 {
                u32::MAX - d
            } else {
                shape.ny + d
            };
            let mut k = 0;
            while k < K && near.lanes.owns {
                if k == 0 || nodes.0[k] != nodes.0[k - 1] {
                    let row = shape
                        .row_start(mirrored, nodes.0[k], 0)
                        .wrapping_add(iy.wrapping_mul(shape.pitch * shape.count_m));
                    let to = row + shape.in_row(near.lanes.cell as u32);
                    f.set(t, to as usize, post[k]);
                }
                k += 1;
            }
        }
        item += t.warps();
    }
}
