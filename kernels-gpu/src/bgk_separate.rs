//! Kernels of the BGK model on a line as A. Frezzotti, G. P. Ghiroldi and L. Gibelli arranged them (2009, arXiv:0903.4044): streaming and collision apart.
//!
//! They are what the fused pass of [`bgk_line`](crate::bgk_line) is measured against. The step is the same, of first order and with Maxwellians sampled as
//! in the continuum; the populations are read three times and written twice, once of that from the L2 cache.

use crate::bgk::exponential::exponential;
use crate::bgk_flow::layout::{FlowShape, axis, ceiling, power_of_two, split};
use crate::kernel;
use crate::math::Real;
use crate::memory::InOut;
use crate::simt::{Simt, WARP};

/// Threads of a block of [`stream_line()`].
pub const STREAM_THREADS: u32 = 256;
/// Cells of a tile that one of them moves.
const STREAM_CELLS: u32 = 4;

/// Threads of a block of [`collide_line()`], of which a multiprocessor holds one: so many cells are between their two readings as the L2 cache holds.
pub const COLLIDE_THREADS: u32 = 1024;
/// Nodes of the innermost axis that a thread takes at once, and the same again while it waits for them.
const COLLIDE_NODES: usize = 4;

/// Cells of a block of [`collide_line()`]: one sector of 32 bytes of each node's row.
#[inline(always)]
pub const fn collide_cells(bytes: usize) -> u32 {
    32 / bytes as u32
}

/// Entries of a pair (v_x, v_y): the velocities, the weight and nothing.
pub const PAIR_LEN: u32 = 4;

/// Words of shared memory of [`collide_line()`]: the sums of each warp, then those of the block, then what relaxation needs.
const fn collide_scratch(bytes: usize) -> u32 {
    collide_cells(bytes) * (3 * (COLLIDE_THREADS / WARP + 1) + CELL_LEN)
}

/// What relaxation needs of a cell: e^(-nu dt), the Maxwellian's amplitude, its steepness, mean velocity and temperature.
const CELL_LEN: u32 = 5;

kernel! {
    /// Streams the populations of one node in place (algorithm 1).
    ///
    /// **Block**: one node of the velocity space. It walks over the row tile by tile from the downstream end: each thread loads the cells `k` upstream of its
    /// own four, the tile lies in shared memory with one cell more, and after a barrier is written back. `incoming[side][node]` comes in at the ends. In the paper a
    /// thread has one cell; four keep four times the bytes under way.
    /// **Cost**: 8 bytes a population in `f32`, two barriers a tile.
    /// **No race**: a tile is written after a barrier that follows its loads, and no later tile, farther upstream, reads it.
    pub fn stream_line<T: Real>(t, incoming: In<T>, axes: In<T>, f: InOut<T>; shape: FlowShape) for f32, f64
    shared { tile: [T; STREAM_CELLS * STREAM_THREADS + 1] } {
        let node = t.block_idx();
        let (pair, _) = split(node, shape.count_m);
        let (jx, _) = split(pair, shape.count_y);
        let of = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let forward = of(axis::VELOCITY) > T::ZERO;
        let whole = of(axis::WHOLE).to_f64() as i32;
        let fraction = of(axis::FRACTION);
        let nodes = shape.count_x * shape.count_y * shape.count_m;
        let side = if forward { 0 } else { nodes };
        let enters = incoming.get(t, (side + node) as usize);
        let row = node as usize * shape.plane() as usize;
        let (n, threads, k) = (shape.nx as i32, t.block_dim() as i32, t.thread_idx() as i32);
        // Places counted from the end where molecules come in.
        let load = |place: i32| {
            if place < 0 {
                enters
            } else {
                let ix = if forward { place } else { n - 1 - place };
                f.get(t, row + ix as usize)
            }
        };
        let size = threads * STREAM_CELLS as i32;
        let mut first = (n - 1) / size * size;
        while first >= 0 {
            let mut values = [T::ZERO; STREAM_CELLS as usize];
            let mut c = 0;
            while c < STREAM_CELLS as usize {
                let place = first + k + c as i32 * threads;
                if place < n {
                    values[c] = load(place - whole);
                }
                c += 1;
            }
            let before = if k == 0 { load(first - whole - 1) } else { T::ZERO };
            let mut c = 0;
            while c < STREAM_CELLS as usize {
                tile.set(t, (k + c as i32 * threads) as u32 + 1, values[c]);
                c += 1;
            }
            if k == 0 {
                tile.set(t, 0, before);
            }
            t.sync_threads();
            let mut c = 0;
            while c < STREAM_CELLS as i32 {
                let own = k + c * threads;
                let place = first + own;
                if place < n {
                    let (here, before) = (tile.get(t, own as u32 + 1), tile.get(t, own as u32));
                    let ix = if forward { place } else { n - 1 - place };
                    f.set(t, row + ix as usize, fraction.mul_add(before - here, here));
                }
                c += 1;
            }
            t.sync_threads();
            first -= size;
        }
    }
}

kernel! {
    /// Moments and exact relaxation of a few neighbouring cells (algorithm 2).
    ///
    /// In the paper a thread has a cell and walks over all nodes alone, which leaves a large GPU idle. Here a block has the cells of one sector of memory, 8 in
    /// `f32`, and its threads share the nodes, four of the innermost axis at a time: they sum them, add the sums in a fixed order, and take the same
    /// nodes up again to relax them. At that time these are still in the L2 cache, so that memory reads and writes each population once.
    ///
    /// `fields` receives n, u_x and T of the streamed populations. Sums run in the precision of the populations over four nodes, in f64 over the rest.
    /// **No race**: threads own populations; shared memory has one writer, and barriers stand between.
    pub fn collide_line<T: Real>(
        t, axes: In<T>, pairs: In<T>, f: InOut<T>, fields: Out<f64>; shape: FlowShape, dt: f64, omega: f64,
    ) for f32, f64
    shared { scratch: [f64; collide_scratch(size_of::<T>())] } {
        let cells = const { collide_cells(size_of::<T>()) };
        let (worker, cell) = (t.thread_idx() / cells, t.thread_idx() % cells);
        let workers = t.block_dim() / cells;
        let ix = t.block_idx() * cells + cell;
        let inside = ix < shape.nx;
        let place = if inside { ix } else { shape.nx - 1 };
        let share = Share { f, shape: &shape, place, worker, workers };
        let pair_entry = |pair: u32, k: u32| {
            pairs.get_run::<2, _>(t, (pair * PAIR_LEN + k) as usize)
        };
        let of_m = |m: u32, k: u32| axes.get_run::<2, _>(t, (shape.axis_m(m) + k) as usize);

        let mut sums = [0.0; 3];
        share.walk(t, |pair, first, values| {
            let (mut zeroth, mut second) = (T::ZERO, T::ZERO);
            let mut k = 0;
            while k < COLLIDE_NODES {
                let m = first + k as u32;
                if m < shape.count_m {
                    let [mass, energy] = of_m(m, axis::VELOCITY);
                    zeroth = mass.mul_add(values[k], zeroth);
                    second = energy.mul_add(values[k], second);
                }
                k += 1;
            }
            let [vx, vy] = pair_entry(pair, 0);
            let (vx, vy, zeroth) = (vx.to_f64(), vy.to_f64(), zeroth.to_f64());
            sums[0] += zeroth;
            sums[1] += vx * zeroth;
            sums[2] += (vx * vx + vy * vy) * zeroth + second.to_f64();
        });
        let warp_sum = |warp: u32, k: u32| warp * 3 * cells + k;
        let block_sum = |k: u32| (t.warps() * 3) * cells + k;
        let of_cell = |k: u32| (t.warps() * 3 + 3 + k) * cells + cell;
        let mut k = 0;
        while k < 3 {
            let mut sum = sums[k];
            let mut distance = cells;
            while distance < WARP {
                sum += t.shuffle_xor(sum, distance);
                distance *= 2;
            }
            if t.lane() < cells {
                scratch.set(t, warp_sum(t.warp(), k as u32 * cells + cell), sum);
            }
            k += 1;
        }
        t.sync_threads();
        // Each warp adds up what all have left of one quantity of one cell.
        let mut k = t.warp();
        while k < 3 * cells {
            let mut sum = 0.0;
            if t.lane() < t.warps() {
                sum = scratch.get(t, warp_sum(t.lane(), k));
            }
            let mut distance = WARP / 2;
            while distance > 0 {
                sum += t.shuffle_xor(sum, distance);
                distance /= 2;
            }
            if t.lane() == 0 {
                scratch.set(t, block_sum(k), sum);
            }
            k += t.warps();
        }
        t.sync_threads();
        if worker == 0 {
            let sum = |k: u32| scratch.get(t, block_sum(k * cells + cell));
            let density = sum(0);
            let u = sum(1) / density;
            let temperature = (sum(2) / density - u * u) / 1.5;
            if inside {
                fields.set(t, ix as usize, density);
                fields.set(t, (shape.nx + ix) as usize, u);
                fields.set(t, (2 * shape.nx + ix) as usize, temperature);
            }
            let growth = exponential((1.0 - omega) * Real::ln(temperature));
            let keep = exponential(-dt * density * growth);
            let norm = (core::f64::consts::PI * temperature).sqrt();
            let mut amplitude = (1.0 - keep) * density / norm;
            if shape.integrated < 2 {
                amplitude /= norm * norm;
            }
            scratch.set(t, of_cell(0), keep);
            scratch.set(t, of_cell(1), amplitude);
            scratch.set(t, of_cell(2), -core::f64::consts::LOG2_E / temperature);
            scratch.set(t, of_cell(3), u);
            scratch.set(t, of_cell(4), temperature);
        }
        t.sync_threads();
        let constant = |k: u32| T::from_f64(scratch.get(t, of_cell(k)));
        let (keep, amplitude, steep) = (constant(0), constant(1), constant(2));
        let (u, half) = (constant(3), constant(4));
        share.walk(t, |pair, first, values| {
            let [vx, vy] = pair_entry(pair, 0);
            let [weight, _] = pair_entry(pair, 2);
            let c = vx - u;
            let square = c * c + vy * vy;
            let weight = amplitude * weight;
            let mut k = 0;
            while k < COLLIDE_NODES {
                let m = first + k as u32;
                if m < shape.count_m && inside {
                    let mut maxwellian = weight;
                    if shape.integrated == 0 {
                        let [vz2, log] = of_m(m, axis::FRACTION);
                        maxwellian *= power_of_two(steep.mul_add(square + vz2, log));
                    } else {
                        maxwellian *= power_of_two(steep * square);
                        if m == 1 {
                            maxwellian *= half;
                        }
                    }
                    let at = share.at(pair, m) as usize;
                    f.set(t, at, keep.mul_add(values[k], maxwellian));
                }
                k += 1;
            }
        });
    }
}

/// The nodes of one cell that fall to one thread of a block of [`collide_line()`]: every `workers`-th group of the innermost axis, from `worker` on.
struct Share<'a, T: Real> {
    f: InOut<'a, T>,
    shape: &'a FlowShape,
    place: u32,
    worker: u32,
    workers: u32,
}

impl<T: Real> Share<'_, T> {
    /// Place of a population of the cell.
    #[inline(always)]
    fn at(&self, pair: u32, m: u32) -> u32 {
        (pair * self.shape.count_m + m) * self.shape.plane() + self.place
    }

    /// Visits all groups: number of the pair (v_x, v_y), the first innermost node, and the populations. The next group is under way meanwhile.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn walk<S: Simt>(&self, t: &S, mut visit: impl FnMut(u32, u32, [T; COLLIDE_NODES])) {
        let count = self.shape.count_m;
        let groups = ceiling(count, COLLIDE_NODES as u32);
        let items = self.shape.count_x * self.shape.count_y * groups;
        let load = |item: u32| {
            let (pair, group) = split(item, groups);
            let first = group * COLLIDE_NODES as u32;
            let mut values = [T::ZERO; COLLIDE_NODES];
            let mut k = 0;
            while k < COLLIDE_NODES {
                let m = first + k as u32;
                if m < count {
                    values[k] = self.f.get(t, self.at(pair, m) as usize);
                }
                k += 1;
            }
            (pair, first, values)
        };
        let mut item = self.worker;
        if item >= items {
            return;
        }
        let mut ahead = load(item);
        while item < items {
            let (pair, first, values) = ahead;
            item += self.workers;
            if item < items {
                ahead = load(item);
            }
            visit(pair, first, values);
        }
    }
}

kernel! {
    /// Copies, 64 bytes a thread: the limit of a pass that reads and writes each population once. The number of words is a multiple of four.
    pub fn copy_populations(t, from: In<u32>, to: Out<u32>) {
        let all = to.len() / 4;
        let mut first = t.block_idx() as usize * 4 * t.block_dim() as usize + t.thread_idx() as usize;
        let threads = t.block_dim() as usize;
        if first + 3 * threads < all {
            let at = |k: usize| 4 * (first + k * threads);
            let a = from.get_whole::<4, _>(t, at(0));
            let b = from.get_whole::<4, _>(t, at(1));
            let c = from.get_whole::<4, _>(t, at(2));
            let d = from.get_whole::<4, _>(t, at(3));
            to.set_run(t, at(0), a);
            to.set_run(t, at(1), b);
            to.set_run(t, at(2), c);
            to.set_run(t, at(3), d);
        } else {
            let mut k = 0;
            while k < 4 {
                if first < all {
                    to.set_run(t, 4 * first, from.get_whole::<4, _>(t, 4 * first));
                }
                first += threads;
                k += 1;
            }
        }
    }
}
