//! Moments and exact relaxation (algorithm 2).

use super::super::exponential::{exponential, power_of_two};
use super::super::layout::{FlowShape, axis, ceiling, split};
use super::super::sweep_1d::line_width;
use super::{Order, PAIR_LEN};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, InOut, Out, Shared};
use crate::simt::{Simt, WARP};

/// Nodes of the innermost axis that a thread takes at once.
const COLLIDE_NODES: usize = 4;

/// Groups of nodes of the innermost axis that the threads of a collision take up: `[group, group + groups, group + 2 groups, ...]`, so that
/// neighbouring threads have neighbouring nodes.
#[inline(always)]
pub const fn inner_groups(shape: &FlowShape) -> u32 {
    shape.count_m.div_ceil(COLLIDE_NODES as u32)
}

/// What relaxation needs of a cell: e^(-nu dt), the Maxwellian's amplitude, its steepness, mean velocity and temperature.
const CELL_LEN: u32 = 5;

/// Writes n, u_x and T of a cell, if there is one, and returns what relaxation needs of it: e^(-nu dt), the Maxwellian's amplitude, its steepness, mean
/// velocity and temperature.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
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
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
    fn equilibrium(&self, cell: u32) -> Equilibrium<T> {
        Equilibrium::new(|k| self.scratch.get(self.t, self.constant(cell, k)))
    }

    /// Relaxes a group of nodes and writes it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
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
