//! Moments and exact relaxation (algorithm 2).

use super::{Order, PAIR_LEN};
use crate::Pack;
use crate::bgk::exponential::{exponential, power_of_two};
use crate::bgk::layout::{FlowShape, axis, ceiling, split};
use crate::bgk::sweep::sum_of_warps;
use crate::bgk::sweep_1d::line_width;
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, InOut, Out, Shared};
use crate::simt::{Simt, WARP};

/// Nodes of the innermost axis of a group, which a thread processes at once.
const COLLIDE_NODES: usize = 4;

/// Groups of nodes of the innermost axis of a collision: `[group, group + groups, group + 2 groups, ...]`, so that
#[inline(always)]
pub const fn inner_groups(shape: &FlowShape) -> u32 {
    shape.count_m.div_ceil(COLLIDE_NODES as u32)
}

/// Constants of a cell for relaxation: decay factor e^(-nu dt), amplitude of the Maxwellian, -log2(e)/T, mean velocity and temperature.
const CELL_LEN: u32 = 5;

/// Writes n, u_x and T of a cell, if the row has it. Returns its constants for relaxation, [`CELL_LEN`] of them.
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
    let decay = exponential(-dt * density * growth);
    let norm = (core::f64::consts::PI * temperature).sqrt();
    let mut amplitude = (1.0 - decay) * density / norm;
    if shape.integrated < 2 {
        amplitude /= norm * norm;
    }
    [
        decay,
        amplitude,
        -core::f64::consts::LOG2_E / temperature,
        u,
        temperature,
    ]
}

/// Constants of a cell from [`relaxation`].
#[derive(Clone, Copy)]
struct Equilibrium<T> {
    decay: T,
    amplitude: T,
    inverse_temperature: T,
    u: T,
    temperature: T,
}

impl<T: Real> Equilibrium<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn new(constant: impl Fn(u32) -> f64) -> Self {
        let constant = |k| T::from_f64(constant(k));
        Self {
            decay: constant(0),
            amplitude: constant(1),
            inverse_temperature: constant(2),
            u: constant(3),
            temperature: constant(4),
        }
    }

    /// The Maxwellian's factor of a pair (v_x, v_y), with the amplitude.
    #[inline(always)]
    fn outer(&self, [vx, vy]: [T; 2], [weight, _]: [T; 2]) -> T {
        let c = vx - self.u;
        self.amplitude * weight * power_of_two(self.inverse_temperature * (c * c + vy * vy))
    }

    /// The factor of an innermost node with a square and the logarithm of a weight.
    #[inline(always)]
    fn inner(&self, shape: &FlowShape, m: u32, [vz2, log]: [T; 2]) -> T {
        if shape.integrated == 0 {
            power_of_two(self.inverse_temperature.mul_add(vz2, log))
        } else if m == 1 {
            self.temperature
        } else {
            T::ONE
        }
    }
}

/// Threads of a block of [`collide_resident()`]; a multiprocessor holds one block.
pub const RESIDENT_THREADS: u32 = 512;

/// Groups of nodes that a thread keeps in registers.
pub const RESIDENT_IN_REGISTERS: u32 = 4;

const IN_REGISTERS: usize = RESIDENT_IN_REGISTERS as usize;

/// Groups of nodes of a cell: up to four of the innermost axis, of one pair (v_x, v_y).
#[inline(always)]
pub const fn collide_groups(shape: &FlowShape) -> u32 {
    shape.count_x * shape.count_y * inner_groups(shape)
}

/// Words of shared memory of [`collide_resident()`]: the sums of each warp and the constants of the cells of so many threads.
const fn resident_scratch(lanes: u32, bytes: usize) -> u32 {
    lanes * line_width(bytes) * (3 * RESIDENT_THREADS / WARP + CELL_LEN)
}

/// Words of shared memory for the factors of the innermost nodes in these cells.
const fn resident_factors(shape: &FlowShape, lanes: u32, bytes: usize) -> u32 {
    lanes * line_width(bytes) * shape.count_m
}

/// Words of shared memory for the populations of so many groups of each thread.
const fn resident_stages(staged: u32, bytes: usize) -> u32 {
    staged * COLLIDE_NODES as u32 * RESIDENT_THREADS * line_width(bytes)
}

/// Bytes of shared memory of a block of [`collide_resident()`].
pub const fn resident_bytes(shape: &FlowShape, lanes: u32, staged: u32, bytes: usize) -> usize {
    let words = resident_factors(shape, lanes, bytes) + resident_stages(staged, bytes);
    // The factors end at a multiple of 16 bytes, the size of a run of cells.
    resident_scratch(lanes, bytes) as usize * size_of::<f64>() + words as usize * bytes
}

kernel! {
    /// Moments and exact relaxation of a few neighbouring cells whose populations all stay on the chip (algorithm 2).
    ///
    /// In the paper a thread has a cell and walks over all nodes alone, which leaves a large GPU idle.
    ///
    /// **Block**: every `grid`-th tile; a tile has the cells of `lanes` threads, a power of two. The threads share the groups of four innermost nodes.
    /// **Thread**: 16 bytes of neighbouring cells, for every `workers`-th group: the first four groups in registers, `staged` more in shared memory. All loads are
    /// in flight together. The thread sums its groups and, once the block's sums are complete, relaxes and writes them. The next tile's group then
    /// replaces each of them.
    /// **Cost**: a population is read once and written once; those of a pair (v_x, v_y) lie together. The Maxwellian is a product of two factors: the innermost
    /// one, from shared memory, and that of the pair (v_x, v_y), an exponential for four populations.
    /// **Order**: sums run in the precision of the populations over four nodes, then in f64 over a thread, the lanes and the warps, so the bits repeat.
    /// `fields` receives n, u_x and T of the streamed populations.
    /// **No race**: a block owns its tiles and a thread its populations, in shared memory too. Sums, constants and factors have one writer. A barrier precedes
    /// their reading, and another their rewriting.
    pub fn collide_resident<T: Real>(
        t, axes: In<T>, pairs: In<T>, f: InOut<T>, fields: Out<f64>; shape: FlowShape, dt: f64, omega: f64, lanes: u32, staged: u32,
    ) for f32, f64
    shared {
        scratch: [f64; resident_scratch(lanes, size_of::<T>())],
        factors: [T; resident_factors(&shape, lanes, size_of::<T>())],
        stages: [T; resident_stages(staged, size_of::<T>())],
    } {
        let rule = Rule { dt, omega, lanes, staged };
        let collision = Resident { t, axes, pairs, f, fields, scratch, factors, stages, shape: &shape, rule };
        // Decided at compile time, so that no other width is compiled.
        if const { line_width(size_of::<T>()) == 4 } {
            collision.collide::<4>();
        } else {
            collision.collide::<2>();
        }
    }
}

/// Numbers of a launch of [`collide_resident()`].
#[derive(Clone, Copy)]
struct Rule {
    dt: f64,
    omega: f64,
    lanes: u32,
    staged: u32,
}

/// Arguments of [`collide_resident()`].
struct Resident<'a, S, T: Real> {
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
type GroupOf<T, const W: usize> = [Pack<T, W>; COLLIDE_NODES];

/// A group of a thread; the next one is a [`Stride`] away.
#[derive(Clone, Copy)]
struct Group {
    pair: u32,
    /// Number of the group among those of the pair.
    inner: u32,
    /// Number among all.
    item: u32,
}

/// Distance from one group of a thread to the next.
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

impl<S: Simt, T: Real> Resident<'_, S, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn collide<const W: usize>(&self) {
        let Self { t, shape, .. } = *self;
        let Rule { lanes, staged, .. } = self.rule;
        let (worker, lane) = split(t.thread_idx(), lanes);
        let cells = lanes * W as u32;
        let groups = inner_groups(shape);
        let workers = quotient(RESIDENT_THREADS, lanes);
        let (pairs, inner) = split(workers, groups);
        let stride = Stride {
            pairs,
            inner,
            groups,
            workers,
            items: shape.count_x * shape.count_y * groups,
        };
        // This shuffle hides the number from the optimiser, so values that follow from it are recomputed and hold no registers.
        let start = || {
            let item = t.shuffle(worker, t.lane());
            let (pair, inner) = split(item, groups);
            Group { pair, inner, item }
        };
        let tiles = ceiling(shape.nx, cells);
        // Threads beyond the end of the row read the cells of the tile's first threads, and write nothing.
        let place = |tile: u32| {
            let own = tile * cells + lane * W as u32;
            if own < shape.nx { own } else { tile * cells }
        };

        let mut tile = t.block_idx();
        let mut kept: [GroupOf<T, W>; IN_REGISTERS] = [[Pack::ZERO; COLLIDE_NODES]; IN_REGISTERS];
        if tile < tiles {
            let mut group = start();
            for i in 0..IN_REGISTERS {
                if group.item < stride.items {
                    kept[i] = self.load(group, place(tile));
                }
                group = group.next(&stride);
            }
            for s in 0..staged {
                if group.item < stride.items {
                    self.copy::<W>(group, place(tile), s);
                }
                group = group.next(&stride);
            }
            t.end_copies();
        }
        while tile < tiles {
            let mut sums = [Pack::<f64, W>::ZERO; 3];
            let mut group = start();
            for i in 0..IN_REGISTERS {
                if group.item < stride.items {
                    self.add(group, &kept[i], &mut sums);
                }
                group = group.next(&stride);
            }
            t.wait_copies(0);
            for s in 0..staged {
                if group.item < stride.items {
                    self.add(group, &self.copied(s), &mut sums);
                }
                group = group.next(&stride);
            }
            self.combine(tile, sums);

            let equilibria = Pack::from_fn(|w| self.equilibrium(lane * W as u32 + w as u32));
            let own = place(tile);
            let inside = tile * cells + lane * (W as u32) < shape.nx;
            tile += t.grid_dim();
            let more = tile < tiles;
            let mut group = start();
            for i in 0..IN_REGISTERS {
                if group.item < stride.items {
                    if inside {
                        self.relax(group, own, lane, &kept[i], &equilibria);
                    }
                    if more {
                        kept[i] = self.load(group, place(tile));
                    }
                }
                group = group.next(&stride);
            }
            for s in 0..staged {
                if group.item < stride.items {
                    if inside {
                        self.relax(group, own, lane, &self.copied(s), &equilibria);
                    }
                    if more {
                        self.copy::<W>(group, place(tile), s);
                    }
                }
                group = group.next(&stride);
            }
            t.end_copies();
        }
    }

    /// A group's k-th node, which may lie beyond the last.
    #[inline(always)]
    fn node(&self, group: Group, k: usize) -> u32 {
        group.inner + k as u32 * inner_groups(self.shape)
    }

    /// Offset of the populations of a cell and a group's k-th node; beyond the last node, those of another.
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
        let mut values = [Pack::ZERO; COLLIDE_NODES];
        for k in 0..COLLIDE_NODES {
            values[k] = Pack(self.f.get_once(self.t, self.at(group, place, k)));
        }
        values
    }

    /// Offset in shared memory of the k-th node of this thread's s-th group.
    #[inline(always)]
    fn stage<const W: usize>(&self, s: u32, k: usize) -> u32 {
        let slot = s * COLLIDE_NODES as u32 + k as u32;
        (slot * RESIDENT_THREADS + self.t.thread_idx()) * W as u32
    }

    /// Starts the copy of a group to shared memory.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn copy<const W: usize>(&self, group: Group, place: u32, s: u32) {
        for k in 0..COLLIDE_NODES {
            let from = self.at(group, place, k);
            let to = self.stage::<W>(s, k);
            self.f.copy_to::<W, _>(self.t, from, self.stages, to);
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn copied<const W: usize>(&self, s: u32) -> GroupOf<T, W> {
        let mut values = [Pack::ZERO; COLLIDE_NODES];
        for k in 0..COLLIDE_NODES {
            values[k] = Pack(self.stages.get_run(self.t, self.stage::<W>(s, k)));
        }
        values
    }

    /// Adds the moments of a group of nodes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn add<const W: usize>(
        &self,
        group: Group,
        values: &GroupOf<T, W>,
        sums: &mut [Pack<f64, W>; 3],
    ) {
        let Self { t, shape, .. } = *self;
        let (mut zeroth, mut second) = (Pack::ZERO, Pack::ZERO);
        for k in 0..COLLIDE_NODES {
            let m = self.node(group, k);
            if m < shape.count_m {
                let at = shape.axis_m(m) + axis::VELOCITY;
                let [mass, energy] = self.axes.get_run(t, at as usize);
                zeroth = values[k].mul_add(mass, zeroth);
                second = values[k].mul_add(energy, second);
            }
        }
        let [vx, vy] = self.pairs.get_run(t, (group.pair * PAIR_LEN) as usize);
        let (vx, vy) = (vx.to_f64(), vy.to_f64());
        let square = vx * vx + vy * vy;
        let zeroth = zeroth.to_f64();
        sums[0] += zeroth;
        sums[1] = zeroth.mul_add(vx, sums[1]);
        sums[2] += zeroth.mul_add(square, second.to_f64());
    }

    /// Adds the sums of all threads and writes the constants of a tile's cells to shared memory.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn combine<const W: usize>(&self, tile: u32, sums: [Pack<f64, W>; 3]) {
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
            for k in 0..3 {
                sums[k] += sums[k].map(|sum| t.shuffle_xor(sum, distance));
            }
            distance *= 2;
        }
        if t.lane() < lanes {
            for k in 0..3 {
                let own = k as u32 * cells + t.lane() * W as u32;
                for w in 0..W {
                    scratch.set(t, warp_sum(t.warp(), own + w as u32), sums[k][w]);
                }
            }
        }
        t.sync_threads();
        let cell = t.thread_idx();
        if cell < cells {
            let sums = [0, 1, 2]
                .map(|k| sum_of_warps(t, |warp| scratch.get(t, warp_sum(warp, k * cells + cell))));
            let ix = tile * cells + cell;
            let constants = relaxation(t, sums, ix, self.fields, shape, dt, omega);
            for k in 0..CELL_LEN {
                scratch.set(t, self.constant(cell, k), constants[k as usize]);
            }
        }
        t.sync_threads();
        let mut at = t.thread_idx();
        while at < shape.count_m * cells {
            let (m, cell) = split(at, cells);
            let of_m = shape.axis_m(m) + axis::FRACTION;
            let node = self.axes.get_run(t, of_m as usize);
            factors.set(t, at, self.equilibrium(cell).inner(shape, m, node));
            at += RESIDENT_THREADS;
        }
        t.sync_threads();
    }

    /// Offset of the k-th constant of a cell.
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
        equilibria: &Pack<Equilibrium<T>, W>,
    ) {
        let Self { t, shape, .. } = *self;
        let of_pair = |k: u32| self.pairs.get_run(t, (group.pair * PAIR_LEN + k) as usize);
        let (velocities, weight) = (of_pair(0), of_pair(2));
        let outer = equilibria.map(|cell| cell.outer(velocities, weight));
        let decay = equilibria.map(|cell| cell.decay);
        for k in 0..COLLIDE_NODES {
            let m = self.node(group, k);
            if m < shape.count_m {
                let factor = (m * self.rule.lanes + lane) * W as u32;
                let inner = Pack(self.factors.get_run(t, factor));
                let relaxed = decay.mul_add(values[k], outer * inner);
                self.f.set_run(t, self.at(group, place, k), relaxed.0);
            }
        }
    }
}
