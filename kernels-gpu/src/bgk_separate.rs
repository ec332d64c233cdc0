//! Kernels of the BGK model on a line as A. Frezzotti, G. P. Ghiroldi and L. Gibelli arranged them (2009, arXiv:0903.4044): streaming and collision apart.
//!
//! They are what the fused pass of [`bgk_line`](crate::bgk_line) is measured against. The step is the same, of first order and with Maxwellians sampled as
//! in the continuum; each of the two kernels reads and writes the populations once.

use crate::bgk::exponential::exponential;
use crate::bgk_flow::layout::{FlowShape, axis, ceiling, power_of_two, split};
use crate::bgk_line::line_width;
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, InOut, Out, Shared};
use crate::simt::{Simt, WARP};

/// Threads of a block of [`stream_line()`].
pub const STREAM_THREADS: u32 = 256;
/// Populations of a tile that one of them moves.
const STREAM_CELLS: u32 = 4;
/// Most nodes that a block of it takes along.
const STREAM_NODES: u32 = 4;
/// Words before the cells of each node in shared memory: room for the one before the first, and so many that nodes lie in banks of their own.
const STREAM_BEFORE: u32 = 8;
/// Words of a tile in shared memory.
const STREAM_TILE: u32 = STREAM_CELLS * STREAM_THREADS + STREAM_NODES * STREAM_BEFORE;

/// Nodes of the innermost axis that a thread takes at once.
const COLLIDE_NODES: usize = 4;

/// Entries of a pair (v_x, v_y): the velocities, the weight and nothing.
pub const PAIR_LEN: u32 = 4;

/// The order of populations in memory, `[jx][jy][ix / cells][m][ix % cells]`: what a block of the collision reads of a pair (v_x, v_y) lies together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Order {
    /// Cells of such a block: a power of two, which divides the distance of rows.
    pub cells: u32,
}

impl Order {
    /// Where the population of a node lies in a cell; of a cell beyond the ends of the row where it would.
    #[inline(always)]
    pub const fn place(&self, shape: &FlowShape, [pair, m]: [u32; 2], ix: u32) -> u32 {
        let within = ix & (self.cells - 1);
        let first = (pair * shape.pitch).wrapping_add(ix).wrapping_sub(within);
        first
            .wrapping_mul(shape.count_m)
            .wrapping_add(m * self.cells + within)
    }
    /// The next number of whole blocks' cells.
    #[inline(always)]
    pub const fn whole(&self, nx: u32) -> u32 {
        (nx + self.cells - 1) & !(self.cells - 1)
    }
    /// Nodes of a block of [`stream_line()`], a power of two: where it can, it takes so many along that it reads and writes lines of 128 bytes.
    #[inline(always)]
    pub const fn together(&self, bytes: usize) -> u32 {
        let nodes = quotient(128, self.cells * bytes as u32);
        if nodes > 1 { nodes } else { 1 }
    }
}

/// Groups of nodes of the innermost axis that the threads of a collision take up: `[group, group + groups, group + 2 groups, ...]`, so that
/// neighbouring threads have neighbouring nodes.
#[inline(always)]
pub const fn inner_groups(shape: &FlowShape) -> u32 {
    shape.count_m.div_ceil(COLLIDE_NODES as u32)
}

/// What relaxation needs of a cell: e^(-nu dt), the Maxwellian's amplitude, its steepness, mean velocity and temperature.
const CELL_LEN: u32 = 5;

/// A cell of a row, perhaps beyond its ends, and where its population lies.
#[derive(Clone, Copy)]
struct Spot {
    ix: i32,
    at: u32,
}

kernel! {
    /// Streams the populations of a few nodes in place (algorithm 1).
    ///
    /// **Block**: as many neighbouring nodes of the innermost axis as fill lines of memory, which all travel as far. It walks over their rows tile by tile from
    /// the downstream end: each thread loads the populations `k` cells upstream of its own four, the tile lies in shared memory with one cell more, and after a barrier is
    /// written back. `incoming[side][node]` comes in at the ends. In the paper a block has one node and a thread one cell; four keep four times the bytes under way, and
    /// the next tile is under way meanwhile.
    /// **Cost**: 8 bytes a population in `f32`, a barrier a tile.
    /// **No race**: a tile is written after a barrier that follows its loads, and no later tile, farther upstream, reads it. Tiles take turns in two places of
    /// shared memory, so that a barrier stands between the readers of one and the writers of the next there.
    pub fn stream_line<T: Real>(t, incoming: In<T>, axes: In<T>, f: InOut<T>; shape: FlowShape, order: Order) for f32, f64
    shared { tiles: [T; 2 * STREAM_TILE] } {
        let together = order.together(size_of::<T>());
        let (pair, group) = split(t.block_idx(), ceiling(shape.count_m, together));
        let (jx, _) = split(pair, shape.count_y);
        let of = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let forward = of(axis::VELOCITY) > T::ZERO;
        let whole = of(axis::WHOLE).to_f64() as i32;
        let fraction = of(axis::FRACTION);
        // Threads in the order of memory: neighbouring cells, then the nodes, then the next cells.
        let (rest, within) = split(t.thread_idx(), order.cells);
        let (run, own_node) = split(rest, together);
        let own_cell = (run * order.cells + within) as i32;
        let m = group * together + own_node;
        // A node too many has no cells.
        let (m, cells) = if m < shape.count_m { (m, shape.nx) } else { (0, 0) };
        let side = if forward { 0 } else { shape.count_x * shape.count_y * shape.count_m };
        let enters = incoming.get(t, (side + pair * shape.count_m + m) as usize);
        let each = quotient(STREAM_THREADS, together);
        // Places are counted from the end where molecules come in, at which lines of memory begin.
        let far = (order.whole(shape.nx) - 1) as i32;
        let spot = |place: i32| {
            let ix = if forward { place } else { far - place };
            Spot { ix, at: order.place(&shape, [pair, m], ix as u32) }
        };
        // Places that are whole blocks' cells apart lie evenly in memory.
        let (on, apart) = if forward { (1, shape.count_m as i32) } else { (-1, -(shape.count_m as i32)) };
        let later = |spot: Spot, places: i32| Spot {
            ix: spot.ix + on * places,
            at: spot.at.wrapping_add((apart * places) as u32),
        };
        let load = |spot: Spot| {
            let mut value = enters;
            if (spot.ix as u32) < cells {
                value = f.get(t, spot.at as usize);
            }
            value
        };
        let (here, source) = (spot(own_cell), spot(own_cell - whole));
        let load_tile = |first: i32| {
            let mut values = [T::ZERO; STREAM_CELLS as usize];
            let mut c = 0;
            while c < STREAM_CELLS {
                values[c as usize] = load(later(source, first + (c * each) as i32));
                c += 1;
            }
            let before = if own_cell == 0 { load(spot(first - whole - 1)) } else { T::ZERO };
            (values, before)
        };
        let size = (STREAM_CELLS * each) as i32;
        let own = own_node * (STREAM_CELLS * each + STREAM_BEFORE) + STREAM_BEFORE + own_cell as u32;
        let mut first = quotient(far as u32, size as u32) as i32 * size;
        let mut tile = 0;
        let mut ahead = load_tile(first);
        while first >= 0 {
            // A thread asks another where the tile is: what follows from it is found anew each time and fills no registers meanwhile.
            let begin = t.shuffle(first, 0);
            let (values, before) = ahead;
            let mut c = 0;
            while c < STREAM_CELLS {
                tiles.set(t, tile + own + c * each, values[c as usize]);
                c += 1;
            }
            if own_cell == 0 {
                tiles.set(t, tile + own - 1, before);
            }
            if first > 0 {
                ahead = load_tile(begin - size);
            }
            t.sync_threads();
            let mut c = 0;
            while c < STREAM_CELLS {
                let target = later(here, begin + (c * each) as i32);
                if (target.ix as u32) < cells {
                    let own = tile + own + c * each;
                    let (value, before) = (tiles.get(t, own), tiles.get(t, own - 1));
                    f.set(t, target.at as usize, fraction.mul_add(before - value, value));
                }
                c += 1;
            }
            tile = STREAM_TILE - tile;
            first -= size;
        }
    }
}

/// Writes n, u_x and T of a cell, if there is one, and returns what relaxation needs of it: e^(-nu dt), the Maxwellian's amplitude, its steepness, mean
/// velocity and temperature.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn relaxation<S: Simt>(
    t: &S,
    [density, momentum, energy]: [f64; 3],
    ix: u32,
    fields: Out<'_, f64>,
    shape: &FlowShape,
    dt: f64,
    omega: f64,
) -> [f64; CELL_LEN as usize] {
    let u = momentum / density;
    let temperature = (energy / density - u * u) / 1.5;
    if ix < shape.nx {
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
    [
        keep,
        amplitude,
        -core::f64::consts::LOG2_E / temperature,
        u,
        temperature,
    ]
}

/// What relaxation needs of a cell, as [`relaxation`] found it.
#[derive(Clone, Copy)]
struct Equilibrium<T> {
    keep: T,
    amplitude: T,
    steep: T,
    u: T,
    temperature: T,
}

impl<T: Real> Equilibrium<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn new(constant: impl Fn(u32) -> f64) -> Self {
        let constant = |k| T::from_f64(constant(k));
        Self {
            keep: constant(0),
            amplitude: constant(1),
            steep: constant(2),
            u: constant(3),
            temperature: constant(4),
        }
    }

    /// The Maxwellian's factor of a pair (v_x, v_y), with the amplitude.
    #[inline(always)]
    fn outer(&self, [vx, vy]: [T; 2], [weight, _]: [T; 2]) -> T {
        let c = vx - self.u;
        self.amplitude * weight * power_of_two(self.steep * (c * c + vy * vy))
    }

    /// Its factor of an innermost node, which has a square and the logarithm of a weight.
    #[inline(always)]
    fn inner(&self, shape: &FlowShape, m: u32, [vz2, log]: [T; 2]) -> T {
        if shape.integrated == 0 {
            power_of_two(self.steep.mul_add(vz2, log))
        } else if m == 1 {
            self.temperature
        } else {
            T::ONE
        }
    }
}

/// Threads of a block of [`collide_line_at_once()`], of which a multiprocessor holds one.
pub const AT_ONCE_THREADS: u32 = 512;
/// Groups of nodes that one of them keeps in registers.
pub const AT_ONCE_IN_REGISTERS: u32 = 4;
const IN_REGISTERS: usize = AT_ONCE_IN_REGISTERS as usize;

/// Groups of nodes of a cell: up to four of the innermost axis, of one pair (v_x, v_y).
#[inline(always)]
pub const fn collide_groups(shape: &FlowShape) -> u32 {
    shape.count_x * shape.count_y * inner_groups(shape)
}

/// Words of shared memory of [`collide_line_at_once()`]: the sums of each warp and what relaxation needs, of the cells of so many threads.
const fn at_once_scratch(lanes: u32, bytes: usize) -> u32 {
    lanes * line_width(bytes) * (3 * AT_ONCE_THREADS / WARP + CELL_LEN)
}

/// Words of shared memory for the factors of the innermost nodes in these cells.
const fn at_once_factors(shape: &FlowShape, lanes: u32, bytes: usize) -> u32 {
    lanes * line_width(bytes) * shape.count_m
}

/// Words of shared memory for the populations of so many groups of each thread.
const fn at_once_stages(staged: u32, bytes: usize) -> u32 {
    staged * COLLIDE_NODES as u32 * AT_ONCE_THREADS * line_width(bytes)
}

/// Bytes of shared memory of a block of [`collide_line_at_once()`].
pub const fn at_once_bytes(shape: &FlowShape, lanes: u32, staged: u32, bytes: usize) -> usize {
    let words = at_once_factors(shape, lanes, bytes) + at_once_stages(staged, bytes);
    // The factors end at a multiple of 16 bytes, as a run of cells fills them.
    at_once_scratch(lanes, bytes) as usize * size_of::<f64>() + words as usize * bytes
}

kernel! {
    /// Moments and exact relaxation of a few neighbouring cells whose populations all lie on the chip (algorithm 2).
    ///
    /// In the paper a thread has a cell and walks over all nodes alone, which leaves a large GPU idle.
    ///
    /// **Block**: tiles of the cells of `lanes` threads, a power of two, every so many-th; its threads share the groups of four innermost nodes.
    /// **Thread**: 16 bytes of neighbouring cells, for every so many-th group: the first four groups in registers, `staged` more in shared memory. All are under
    /// way at once; it sums them, and once the block's sums are there it relaxes and writes the same, and as each group goes that of the next tile takes
    /// its place.
    /// **Cost**: a population is read once and written once; those of a pair (v_x, v_y) lie together. The Maxwellian is a product of the innermost factor, of which
    /// there is one for each cell and node in shared memory, and of one for the pair (v_x, v_y), an exponential for four populations.
    /// **Order**: sums run in the precision of the populations over four nodes, then in f64 over a thread, the lanes and the warps: the same bits each time.
    /// `fields` receives n, u_x and T of the streamed populations.
    /// **No race**: tiles are the block's own, and populations the thread's, in shared memory too; sums, constants and factors have one writer, and a barrier stands
    /// between it and the readers, and another before it writes again.
    pub fn collide_line_at_once<T: Real>(
        t, axes: In<T>, pairs: In<T>, f: InOut<T>, fields: Out<f64>; shape: FlowShape, dt: f64, omega: f64, lanes: u32, staged: u32,
    ) for f32, f64
    shared {
        scratch: [f64; at_once_scratch(lanes, size_of::<T>())],
        factors: [T; at_once_factors(&shape, lanes, size_of::<T>())],
        stages: [T; at_once_stages(staged, size_of::<T>())],
    } {
        let rule = Rule { dt, omega, lanes, staged };
        let collision = AtOnce { t, axes, pairs, f, fields, scratch, factors, stages, shape: &shape, rule };
        // Decided at compile time, so that no other width is compiled.
        if const { line_width(size_of::<T>()) == 4 } {
            collision.collide::<4>();
        } else {
            collision.collide::<2>();
        }
    }
}

/// Numbers of a launch of [`collide_line_at_once()`].
#[derive(Clone, Copy)]
struct Rule {
    dt: f64,
    omega: f64,
    lanes: u32,
    staged: u32,
}

/// Arguments of [`collide_line_at_once()`].
struct AtOnce<'a, S, T: Real> {
    t: &'a S,
    axes: In<'a, T>,
    pairs: In<'a, T>,
    f: InOut<'a, T>,
    fields: Out<'a, f64>,
    scratch: Shared<'a, f64>,
    factors: Shared<'a, T>,
    stages: Shared<'a, T>,
    shape: &'a FlowShape,
    rule: Rule,
}

/// Populations of a group of nodes in neighbouring cells.
type GroupOf<T, const W: usize> = [[T; W]; COLLIDE_NODES];

/// The groups of a thread in turn: every so many-th.
#[derive(Clone, Copy)]
struct Group {
    pair: u32,
    /// Number of the group among those of the pair.
    inner: u32,
    /// Number among all.
    item: u32,
}

/// How far it is from one group of a thread to the next.
#[derive(Clone, Copy)]
struct Stride {
    pairs: u32,
    inner: u32,
    groups: u32,
    workers: u32,
    items: u32,
}

impl Group {
    #[inline(always)]
    fn next(self, by: &Stride) -> Self {
        let inner = self.inner + by.inner;
        let carry = inner >= by.groups;
        Self {
            pair: self.pair + by.pairs + if carry { 1 } else { 0 },
            inner: if carry { inner - by.groups } else { inner },
            item: self.item + by.workers,
        }
    }
}

impl<S: Simt, T: Real> AtOnce<'_, S, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn collide<const W: usize>(&self) {
        let Self { t, shape, .. } = *self;
        let Rule { lanes, staged, .. } = self.rule;
        let (worker, lane) = split(t.thread_idx(), lanes);
        let cells = lanes * W as u32;
        let groups = inner_groups(shape);
        let workers = quotient(AT_ONCE_THREADS, lanes);
        let (pairs, inner) = split(workers, groups);
        let stride = Stride {
            pairs,
            inner,
            groups,
            workers,
            items: shape.count_x * shape.count_y * groups,
        };
        // Threads pass their numbers to themselves: what follows from it is found anew each time and fills no registers meanwhile.
        let start = || {
            let item = t.shuffle(worker, t.lane());
            let (pair, inner) = split(item, groups);
            Group { pair, inner, item }
        };
        let tiles = ceiling(shape.nx, cells);
        // Threads beyond the end of the row read what the first ones of the tile do, and write nothing.
        let place = |tile: u32| {
            let own = tile * cells + lane * W as u32;
            if own < shape.nx { own } else { tile * cells }
        };

        let mut tile = t.block_idx();
        let mut kept = [[[T::ZERO; W]; COLLIDE_NODES]; IN_REGISTERS];
        if tile < tiles {
            let mut group = start();
            let mut i = 0;
            while i < IN_REGISTERS {
                if group.item < stride.items {
                    kept[i] = self.load(group, place(tile));
                }
                group = group.next(&stride);
                i += 1;
            }
            let mut s = 0;
            while s < staged {
                if group.item < stride.items {
                    self.copy::<W>(group, place(tile), s);
                }
                group = group.next(&stride);
                s += 1;
            }
            t.end_copies();
        }
        while tile < tiles {
            let mut sums = [[0.0; W]; 3];
            let mut group = start();
            let mut i = 0;
            while i < IN_REGISTERS {
                if group.item < stride.items {
                    self.add(group, &kept[i], &mut sums);
                }
                group = group.next(&stride);
                i += 1;
            }
            t.wait_copies(0);
            let mut s = 0;
            while s < staged {
                if group.item < stride.items {
                    self.add(group, &self.copied(s), &mut sums);
                }
                group = group.next(&stride);
                s += 1;
            }
            self.combine(tile, sums);

            let mut equilibria = [self.equilibrium(lane * W as u32); W];
            let mut w = 1;
            while w < W {
                equilibria[w] = self.equilibrium(lane * W as u32 + w as u32);
                w += 1;
            }
            let own = place(tile);
            let inside = tile * cells + lane * (W as u32) < shape.nx;
            tile += t.grid_dim();
            let more = tile < tiles;
            let mut group = start();
            let mut i = 0;
            while i < IN_REGISTERS {
                if group.item < stride.items {
                    if inside {
                        self.relax(group, own, lane, &kept[i], &equilibria);
                    }
                    if more {
                        kept[i] = self.load(group, place(tile));
                    }
                }
                group = group.next(&stride);
                i += 1;
            }
            let mut s = 0;
            while s < staged {
                if group.item < stride.items {
                    if inside {
                        self.relax(group, own, lane, &self.copied(s), &equilibria);
                    }
                    if more {
                        self.copy::<W>(group, place(tile), s);
                    }
                }
                group = group.next(&stride);
                s += 1;
            }
            t.end_copies();
        }
    }

    /// A group's k-th node, perhaps beyond the last.
    #[inline(always)]
    fn node(&self, group: Group, k: usize) -> u32 {
        group.inner + k as u32 * inner_groups(self.shape)
    }

    /// Where the populations of a cell and a group's k-th node lie; beyond the last node, those of some other.
    #[inline(always)]
    fn at(&self, group: Group, place: u32, k: usize) -> usize {
        let m = self.node(group, k);
        let m = if m < self.shape.count_m {
            m
        } else {
            group.inner
        };
        let order = Order {
            cells: self.rule.lanes * line_width(size_of::<T>()),
        };
        order.place(self.shape, [group.pair, m], place) as usize
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load<const W: usize>(&self, group: Group, place: u32) -> GroupOf<T, W> {
        let mut values = [[T::ZERO; W]; COLLIDE_NODES];
        let mut k = 0;
        while k < COLLIDE_NODES {
            values[k] = self.f.get_once(self.t, self.at(group, place, k));
            k += 1;
        }
        values
    }

    /// Where this thread's s-th group in shared memory has its k-th node.
    #[inline(always)]
    fn stage<const W: usize>(&self, s: u32, k: usize) -> u32 {
        let slot = s * COLLIDE_NODES as u32 + k as u32;
        (slot * AT_ONCE_THREADS + self.t.thread_idx()) * W as u32
    }

    /// Copies a group there while the thread goes on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn copy<const W: usize>(&self, group: Group, place: u32, s: u32) {
        let mut k = 0;
        while k < COLLIDE_NODES {
            let from = self.at(group, place, k);
            let to = self.stage::<W>(s, k);
            self.f.copy_to::<W, _>(self.t, from, self.stages, to);
            k += 1;
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn copied<const W: usize>(&self, s: u32) -> GroupOf<T, W> {
        let mut values = [[T::ZERO; W]; COLLIDE_NODES];
        let mut k = 0;
        while k < COLLIDE_NODES {
            values[k] = self.stages.get_run(self.t, self.stage::<W>(s, k));
            k += 1;
        }
        values
    }

    /// Adds the moments of a group of nodes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add<const W: usize>(&self, group: Group, values: &GroupOf<T, W>, sums: &mut [[f64; W]; 3]) {
        let Self { t, shape, .. } = *self;
        let (mut zeroth, mut second) = ([T::ZERO; W], [T::ZERO; W]);
        let mut k = 0;
        while k < COLLIDE_NODES {
            let m = self.node(group, k);
            if m < shape.count_m {
                let at = shape.axis_m(m) + axis::VELOCITY;
                let [mass, energy] = self.axes.get_run(t, at as usize);
                let mut w = 0;
                while w < W {
                    zeroth[w] = mass.mul_add(values[k][w], zeroth[w]);
                    second[w] = energy.mul_add(values[k][w], second[w]);
                    w += 1;
                }
            }
            k += 1;
        }
        let [vx, vy] = self.pairs.get_run(t, (group.pair * PAIR_LEN) as usize);
        let (vx, vy) = (vx.to_f64(), vy.to_f64());
        let square = vx * vx + vy * vy;
        let mut w = 0;
        while w < W {
            let zeroth = zeroth[w].to_f64();
            sums[0][w] += zeroth;
            sums[1][w] = vx.mul_add(zeroth, sums[1][w]);
            sums[2][w] += square.mul_add(zeroth, second[w].to_f64());
            w += 1;
        }
    }

    /// Adds the sums of all threads and leaves in shared memory what relaxation needs of the cells of a tile.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn combine<const W: usize>(&self, tile: u32, sums: [[f64; W]; 3]) {
        let Self {
            t,
            shape,
            scratch,
            factors,
            ..
        } = *self;
        let Rule {
            dt, omega, lanes, ..
        } = self.rule;
        let cells = lanes * W as u32;
        let warp_sum = |warp: u32, k: u32| warp * 3 * cells + k;
        let mut sums = sums;
        let mut distance = lanes;
        while distance < WARP {
            let mut k = 0;
            while k < 3 {
                let mut w = 0;
                while w < W {
                    sums[k][w] += t.shuffle_xor(sums[k][w], distance);
                    w += 1;
                }
                k += 1;
            }
            distance *= 2;
        }
        if t.lane() < lanes {
            let mut k = 0;
            while k < 3 {
                let own = k as u32 * cells + t.lane() * W as u32;
                let mut w = 0;
                while w < W {
                    scratch.set(t, warp_sum(t.warp(), own + w as u32), sums[k][w]);
                    w += 1;
                }
                k += 1;
            }
        }
        t.sync_threads();
        let cell = t.thread_idx();
        if cell < cells {
            let sums = [0, 1, 2].map(|k| {
                let mut sum = scratch.get(t, warp_sum(0, k * cells + cell));
                let mut warp = 1;
                while warp < t.warps() {
                    sum += scratch.get(t, warp_sum(warp, k * cells + cell));
                    warp += 1;
                }
                sum
            });
            let ix = tile * cells + cell;
            let constants = relaxation(t, sums, ix, self.fields, shape, dt, omega);
            let mut k = 0;
            while k < CELL_LEN {
                scratch.set(t, self.constant(cell, k), constants[k as usize]);
                k += 1;
            }
        }
        t.sync_threads();
        let mut at = t.thread_idx();
        while at < shape.count_m * cells {
            let (m, cell) = split(at, cells);
            let of_m = shape.axis_m(m) + axis::FRACTION;
            let node = self.axes.get_run(t, of_m as usize);
            factors.set(t, at, self.equilibrium(cell).inner(shape, m, node));
            at += AT_ONCE_THREADS;
        }
        t.sync_threads();
    }

    /// Where the k-th of the constants of a cell lies.
    #[inline(always)]
    fn constant(&self, cell: u32, k: u32) -> u32 {
        let cells = self.rule.lanes * line_width(size_of::<T>());
        (self.t.warps() * 3 + k) * cells + cell
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn equilibrium(&self, cell: u32) -> Equilibrium<T> {
        Equilibrium::new(|k| self.scratch.get(self.t, self.constant(cell, k)))
    }

    /// Relaxes a group of nodes and writes it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn relax<const W: usize>(
        &self,
        group: Group,
        place: u32,
        lane: u32,
        values: &GroupOf<T, W>,
        equilibria: &[Equilibrium<T>; W],
    ) {
        let Self { t, shape, .. } = *self;
        let of_pair = |k: u32| self.pairs.get_run(t, (group.pair * PAIR_LEN + k) as usize);
        let (velocities, weight) = (of_pair(0), of_pair(2));
        let mut outer = [T::ZERO; W];
        let mut w = 0;
        while w < W {
            outer[w] = equilibria[w].outer(velocities, weight);
            w += 1;
        }
        let mut k = 0;
        while k < COLLIDE_NODES {
            let m = self.node(group, k);
            if m < shape.count_m {
                let factor = (m * self.rule.lanes + lane) * W as u32;
                let inner = self.factors.get_run::<W, _>(t, factor);
                let mut relaxed = [T::ZERO; W];
                let mut w = 0;
                while w < W {
                    let maxwellian = outer[w] * inner[w];
                    relaxed[w] = equilibria[w].keep.mul_add(values[k][w], maxwellian);
                    w += 1;
                }
                self.f.set_run(t, self.at(group, place, k), relaxed);
            }
            k += 1;
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
