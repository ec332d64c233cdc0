//! Sweeps of a line.

use super::{ROTATING_SUMS, SUMS, SteadyGas, add, cell_numbers, coefficients, halves, local};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out, Quad, Shared};
use crate::simt::{Simt, WARP};

/// Threads of a block of [`steady_line()`], and cells that it processes at a time.
pub const LINE_THREADS: u32 = 256;

kernel! {
    /// The cells' numbers for [`steady_line()`]: `fields[cell][2]` from the unknowns `[component][cell]`. One thread a cell.
    pub fn steady_fields<T: Real>(t, x: In<f64>, fields: Out<Quad<T>>; gas: SteadyGas) for f32, f64 {
        let cell = t.global_idx();
        if cell < gas.cells as usize {
            let [a, b] = halves(coefficients(t, x, cell as u32, &gas));
            fields.set(t, 2 * cell, a);
            fields.set(t, 2 * cell + 1, b);
        }
    }
}

/// An affine map from the inflow of a stretch of cells to its outflow: factor, and the gain of each function.
#[derive(Clone, Copy)]
struct Affine<T, const F: usize> {
    factor: T,
    gain: [T; F],
}

impl<T: Real, const F: usize> Affine<T, F> {
    /// This stretch after `before`.
    #[inline(always)]
    fn after(self, before: Self) -> Self {
        Self {
            factor: self.factor * before.factor,
            gain: self.of(before.gain),
        }
    }
    #[inline(always)]
    fn of(self, f: [T; F]) -> [T; F] {
        let mut out = [T::ZERO; F];
        for k in 0..F {
            out[k] = self.factor.mul_add(f[k], self.gain[k]);
        }
        out
    }
    /// That of another lane of the warp.
    #[inline(always)]
    fn shuffled<S: Simt>(self, t: &S, source: u32) -> Self {
        let factor = t.shuffle(self.factor, source);
        let mut gain = [T::ZERO; F];
        for k in 0..F {
            gain[k] = t.shuffle(self.gain[k], source);
        }
        Self { factor, gain }
    }
}

/// Warps of a block of [`steady_line()`].
const LINE_WARPS: u32 = LINE_THREADS / WARP;

#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
fn line<S: Simt, T: Real, const LINEAR: bool, const F: usize>(
    t: &S,
    fields: In<'_, Quad<T>>,
    inverse_dx: In<'_, T>,
    nodes: In<'_, Quad<T>>,
    entering: In<'_, T>,
    partials: Out<'_, T>,
    leaving: Out<'_, f64>,
    gas: &SteadyGas,
    per_block: u32,
    totals: Shared<'_, T>,
    carry: Shared<'_, T>,
) {
    let count = nodes.len() as u32;
    let first = t.block_idx() * per_block;
    let functions = F as u32;
    let heat = gas.components >= SUMS;
    let half_k = T::from_f64(gas.half_k);
    let closure = if gas.diamond == 1 {
        T::from_f64(2.0)
    } else {
        T::ONE
    };
    let kept = closure - T::ONE;
    let thread = t.thread_idx();
    // All nodes of a block go the same way; the sign of a velocity 0 is positive.
    let east = nodes.get(t, first as usize).0[0] >= T::ZERO;
    let mut k = thread;
    while k < per_block {
        for i in 0..functions {
            let came = entering.get(t, (i * count + first + k) as usize);
            carry.set(t, functions * k + i, came);
        }
        k += LINE_THREADS;
    }
    let mut parity = 0;
    let mut tile = 0;
    while tile * LINE_THREADS < gas.cells {
        let place = tile * LINE_THREADS + thread;
        let inside = place < gas.cells;
        let cell = if !inside {
            0
        } else if east {
            place
        } else {
            gas.cells - 1 - place
        };
        let numbers = cell_numbers::<S, T, F>(t, fields, cell as usize);
        let nu = numbers[1].0[2];
        let inverse = inverse_dx.get(t, cell as usize) * closure;
        let mut sums = [T::ZERO; ROTATING_SUMS as usize];
        for k in 0..per_block {
            let node = first + k;
            let velocity = nodes.get(t, node as usize);
            let speed = velocity.0[0].abs() * inverse;
            let share = T::ONE / (nu + speed);
            let local = local::<T, LINEAR, F>(numbers, velocity, half_k);
            let mut own = [T::ZERO; F];
            for i in 0..F {
                own[i] = nu * local.s[i] * share;
            }
            // f_P = own + speed share f_in; f_out = closure f_P - kept f_in.
            let mut map = Affine {
                factor: T::ONE,
                gain: [T::ZERO; F],
            };
            if inside {
                map.factor = (closure * speed).mul_add(share, -kept);
                for i in 0..F {
                    map.gain[i] = closure * own[i];
                }
            }
            // The stretch from the first cell of the warp up to this one.
            let mut stretch = map;
            let mut distance = 1;
            while distance < WARP {
                let source = t.lane().wrapping_sub(distance) & (WARP - 1);
                let before = stretch.shuffled(t, source);
                if t.lane() >= distance {
                    stretch = stretch.after(before);
                }
                distance *= 2;
            }
            let slots = parity * LINE_WARPS * (functions + 1);
            if t.lane() == WARP - 1 {
                let slot = slots + t.warp() * (functions + 1);
                totals.set(t, slot, stretch.factor);
                for i in 0..functions {
                    totals.set(t, slot + 1 + i, stretch.gain[i as usize]);
                }
            }
            t.sync_threads();
            let slot = ((tile & 1) * per_block + k) * functions;
            let mut f = [T::ZERO; F];
            for i in 0..functions {
                f[i as usize] = carry.get(t, slot + i);
            }
            for warp in 0..t.warp() {
                let slot = slots + warp * (functions + 1);
                let mut map = Affine {
                    factor: totals.get(t, slot),
                    gain: [T::ZERO; F],
                };
                for i in 0..functions {
                    map.gain[i as usize] = totals.get(t, slot + 1 + i);
                }
                f = map.of(f);
            }
            let source = t.lane().wrapping_sub(1) & (WARP - 1);
            let before = stretch.shuffled(t, source);
            if t.lane() > 0 {
                f = before.of(f);
            }
            if inside {
                let pass = speed * share;
                for i in 0..F {
                    own[i] = pass.mul_add(f[i], own[i]);
                }
                add(&mut sums, heat, velocity, &local, own);
            }
            if thread == LINE_THREADS - 1 {
                let out = map.of(f);
                let slot = (((tile + 1) & 1) * per_block + k) * functions;
                for i in 0..functions {
                    carry.set(t, slot + i, out[i as usize]);
                }
            }
            parity ^= 1;
        }
        if inside {
            for k in 0..3 * functions {
                if k < 4 || heat {
                    let at = (t.block_idx() * 3 * functions + k) as usize * gas.cells as usize;
                    partials.set(t, at + cell as usize, sums[k as usize]);
                }
            }
        }
        tile += 1;
    }
    t.sync_threads();
    let mut k = thread;
    while k < per_block {
        let slot = ((tile & 1) * per_block + k) * functions;
        for i in 0..functions {
            let left = carry.get(t, slot + i).to_f64();
            leaving.set(t, (i * count + first + k) as usize, left);
        }
        k += LINE_THREADS;
    }
}

kernel! {
    /// Sweeps of a line: `partials[block][sum][cell]` and the outflow `leaving[function][node]`.
    ///
    /// A block owns `per_block` nodes, all of one direction, and processes [`LINE_THREADS`] cells at a time, a thread each. A cell maps its inflow to its
    /// outflow by an affine map, so the recurrence along the line is a scan: within warps by shuffles, across warps through shared memory (3 words a
    /// warp, twice), across tiles through `carry` (2 words a node, twice), each doubled so that one barrier a node separates writes from reads.
    /// Two loads of 16 bytes (32 in f64) a cell and tile, one a node; about 60 operations and one exponential a cell and node; six words written a cell and block.
    pub fn steady_line<T: Real>(
        t, fields: In<Quad<T>>, inverse_dx: In<T>, nodes: In<Quad<T>>, entering: In<T>, partials: Out<T>, leaving: Out<f64>;
        gas: SteadyGas, per_block: u32,
    ) for f32, f64
    shared { totals: [T; 2 * 3 * LINE_WARPS], carry: [T; 4 * per_block] } {
        line::<Machine, T, false, 2>(t, fields, inverse_dx, nodes, entering, partials, leaving, &gas, per_block, totals, carry);
    }
}

kernel! {
    /// [`steady_line()`] for the linearised equation: no exponential.
    pub fn steady_line_linear<T: Real>(
        t, fields: In<Quad<T>>, inverse_dx: In<T>, nodes: In<Quad<T>>, entering: In<T>, partials: Out<T>, leaving: Out<f64>;
        gas: SteadyGas, per_block: u32,
    ) for f32, f64
    shared { totals: [T; 2 * 3 * LINE_WARPS], carry: [T; 4 * per_block] } {
        line::<Machine, T, true, 2>(t, fields, inverse_dx, nodes, entering, partials, leaving, &gas, per_block, totals, carry);
    }
}

kernel! {
    /// [`steady_line()`] of molecules that rotate, with three functions of a node and nine sums of a cell: three quads of numbers a cell. The scan has four words a warp, and three
    /// of `carry` a node.
    pub fn steady_line_rotating<T: Real>(
        t, fields: In<Quad<T>>, inverse_dx: In<T>, nodes: In<Quad<T>>, entering: In<T>, partials: Out<T>, leaving: Out<f64>;
        gas: SteadyGas, per_block: u32,
    ) for f32, f64
    shared { totals: [T; 2 * 4 * LINE_WARPS], carry: [T; 6 * per_block] } {
        line::<Machine, T, false, 3>(t, fields, inverse_dx, nodes, entering, partials, leaving, &gas, per_block, totals, carry);
    }
}

kernel! {
    /// [`steady_line_rotating()`] for the linearised equation: no exponential.
    pub fn steady_line_rotating_linear<T: Real>(
        t, fields: In<Quad<T>>, inverse_dx: In<T>, nodes: In<Quad<T>>, entering: In<T>, partials: Out<T>, leaving: Out<f64>;
        gas: SteadyGas, per_block: u32,
    ) for f32, f64
    shared { totals: [T; 2 * 4 * LINE_WARPS], carry: [T; 6 * per_block] } {
        line::<Machine, T, true, 3>(t, fields, inverse_dx, nodes, entering, partials, leaving, &gas, per_block, totals, carry);
    }
}

kernel! {
    /// `sums[component][cell]`: the partial sums of [`steady_line()`] in the order of its blocks, in f64. One thread a sum.
    pub fn steady_gather<T: Real>(t, partials: In<T>, sums: Out<f64>; gas: SteadyGas, blocks: u32) for f32, f64 {
        let item = t.global_idx();
        if item < (gas.components * gas.cells) as usize {
            let sums_kept = if gas.components > SUMS { ROTATING_SUMS } else { SUMS };
            let mut sum = 0.0;
            for block in 0..blocks {
                let at = block as usize * (sums_kept * gas.cells) as usize + item;
                sum += partials.get(t, at).to_f64();
            }
            sums.set(t, item, sum);
        }
    }
}
