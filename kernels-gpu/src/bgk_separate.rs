//! Kernels of the BGK model on a line as A. Frezzotti, G. P. Ghiroldi and L. Gibelli arranged them (2009, arXiv:0903.4044): streaming and collision apart.
//!
//! They are what the fused pass of [`bgk_line`](crate::bgk_line) is measured against. The step is the same, of first order and with Maxwellians sampled as
//! in the continuum; the populations are read three times and written twice.

use crate::bgk::exponential::exponential;
use crate::bgk_flow::layout::{FlowShape, axis, power_of_two, split};
use crate::kernel;
use crate::math::Real;

/// Threads of a block of [`stream_line()`].
pub const STREAM_THREADS: u32 = 256;

kernel! {
    /// Streams the populations of one node in place (algorithm 1).
    ///
    /// **Block**: one node of the velocity space. It walks over the row tile by tile from the downstream end: each thread loads the cell `k` upstream of its
    /// own, the tile lies in shared memory with one cell more, and after a barrier is written back. `incoming[side][node]` comes in at the ends.
    /// **Cost**: 8 bytes a population in `f32`, two barriers a tile.
    /// **No race**: a tile is written after a barrier that follows its loads, and no later tile, farther upstream, reads it.
    pub fn stream_line<T: Real>(t, incoming: In<T>, axes: In<T>, f: InOut<T>; shape: FlowShape) for f32, f64
    shared { tile: [T; STREAM_THREADS + 1] } {
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
        let mut first = (n - 1) / threads * threads;
        while first >= 0 {
            let place = first + k;
            if place < n {
                tile.set(t, k as u32 + 1, load(place - whole));
            }
            if k == 0 {
                tile.set(t, 0, load(first - whole - 1));
            }
            t.sync_threads();
            if place < n {
                let (here, before) = (tile.get(t, k as u32 + 1), tile.get(t, k as u32));
                let ix = if forward { place } else { n - 1 - place };
                f.set(t, row + ix as usize, fraction.mul_add(before - here, here));
            }
            t.sync_threads();
            first -= threads;
        }
    }
}

kernel! {
    /// Moments and exact relaxation of one cell (algorithm 2), one thread a cell: reads the populations twice and writes them once, an exponential each.
    ///
    /// `fields` receives n, u_x and T of the streamed populations. Sums run in the precision of the populations over one pair (v_x, v_y), in f64 over
    /// the pairs.
    pub fn collide_line<T: Real>(
        t, axes: In<T>, weights: In<T>, f: InOut<T>, fields: Out<f64>; shape: FlowShape, dt: f64, omega: f64,
    ) for f32, f64 {
        let ix = t.global_idx() as u32;
        if ix >= shape.nx {
            return;
        }
        let pairs = shape.count_x * shape.count_y;
        let at = |pair: u32, m: u32| {
            (pair * shape.count_m + m) as usize * shape.plane() as usize + ix as usize
        };
        let of_m = |m: u32, k: u32| axes.get(t, (shape.axis_m(m) + k) as usize);
        let velocity = |pair: u32| {
            let (jx, jy) = split(pair, shape.count_y);
            (
                axes.get(t, (shape.axis_x(jx) + axis::VELOCITY) as usize),
                axes.get(t, (shape.axis_y(jy) + axis::VELOCITY) as usize),
            )
        };
        let (mut density, mut momentum, mut energy) = (0.0, 0.0, 0.0);
        let mut pair = 0;
        while pair < pairs {
            let (vx, vy) = velocity(pair);
            let (mut zeroth, mut second) = (T::ZERO, T::ZERO);
            let mut m = 0;
            while m < shape.count_m {
                let value = f.get(t, at(pair, m));
                zeroth = of_m(m, axis::VELOCITY).mul_add(value, zeroth);
                second = of_m(m, axis::WHOLE).mul_add(value, second);
                m += 1;
            }
            let (vx, vy, zeroth) = (vx.to_f64(), vy.to_f64(), zeroth.to_f64());
            density += zeroth;
            momentum += vx * zeroth;
            energy += (vx * vx + vy * vy) * zeroth + second.to_f64();
            pair += 1;
        }
        let u = momentum / density;
        let temperature = (energy / density - u * u) / 1.5;
        fields.set(t, ix as usize, density);
        fields.set(t, (shape.nx + ix) as usize, u);
        fields.set(t, (2 * shape.nx + ix) as usize, temperature);
        let growth = exponential((1.0 - omega) * Real::ln(temperature));
        let keep = exponential(-dt * density * growth);
        let norm = (core::f64::consts::PI * temperature).sqrt();
        let mut amplitude = (1.0 - keep) * density / norm;
        if shape.integrated < 2 {
            amplitude /= norm * norm;
        }
        let (keep, amplitude) = (T::from_f64(keep), T::from_f64(amplitude));
        let steep = T::from_f64(-core::f64::consts::LOG2_E / temperature);
        let half = T::from_f64(temperature);
        let u = T::from_f64(u);
        let mut pair = 0;
        while pair < pairs {
            let (vx, vy) = velocity(pair);
            let c = vx - u;
            let square = c * c + vy * vy;
            let weight = amplitude * weights.get(t, pair as usize);
            let mut m = 0;
            while m < shape.count_m {
                let old = f.get(t, at(pair, m));
                let mut maxwellian = weight;
                if shape.integrated == 0 {
                    let (vz2, log) = (of_m(m, axis::FRACTION), of_m(m, axis::LOG_WEIGHT));
                    maxwellian *= power_of_two(steep.mul_add(square + vz2, log));
                } else {
                    maxwellian *= power_of_two(steep * square);
                    if m == 1 {
                        maxwellian *= half;
                    }
                }
                f.set(t, at(pair, m), keep.mul_add(old, maxwellian));
                m += 1;
            }
            pair += 1;
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
