//! Sweeps of a rectangle.

use super::{
    ROTATING_FUNCTIONS, ROTATING_SUMS, SUMS, SteadyGas, add, cell_numbers, coefficients, halves,
    local,
};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, InOut, Out, Quad, Shared};
use crate::simt::Simt;

/// Velocities that a thread of [`steady_plane()`] carries at most; all of one direction.
pub const PLANE_LANES: u32 = 8;

/// Numbers that describe a side of space in the table of [`steady_plane()`].
pub mod side {
    /// Share of the incoming molecules that does not depend on those that left.
    pub const SHARE: usize = 0;
    /// Offset among the unknowns of the density of the first face's wall.
    pub const DENSITY: usize = 1;
    /// Offset among the unknowns of the returning molecules, or -1.
    pub const RETURNED: usize = 2;
    /// Offset of the record of the outflow, or -1.
    pub const RECORD: usize = 3;
    /// For velocities of each of the four directions: distance in the list of nodes to the velocities that return as them.
    pub const SHIFT: usize = 4;
    /// Numbers a side.
    pub const LEN: usize = 8;
}

/// Space and its division, as [`steady_plane()`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PlaneShape {
    /// Columns.
    pub nx: u32,
    /// Rows.
    pub ny: u32,
    /// Threads of a block: a row each, rounded up to whole warps.
    pub rows: u32,
    /// Nodes.
    pub nodes: u32,
    /// Velocities that a thread carries, at most [`PLANE_LANES`]. An argument of the launch, so that the compiler does not unroll the loop and needs few registers.
    pub lanes: u32,
}

impl PlaneShape {
    /// Diagonals of space.
    #[inline(always)]
    pub const fn diagonals(&self) -> u32 {
        self.nx + self.ny - 1
    }
    /// Places of the skewed layout `[diagonal][row]`, in which a block reads and writes side by side.
    #[inline(always)]
    pub const fn places(&self) -> u32 {
        self.diagonals() * self.rows
    }
}

kernel! {
    /// The cells' numbers for [`steady_plane()`], once for each direction in the order in which that direction visits them:
    /// `fields[direction][diagonal][row][2]`. One thread a place.
    pub fn steady_plane_fields<T: Real>(t, x: In<f64>, fields: Out<Quad<T>>; gas: SteadyGas, shape: PlaneShape) for f32, f64 {
        let place = t.global_idx() as u32;
        if place < 4 * shape.places()
            && let Some((cell, _)) = visited(place, &shape)
        {
            let [a, b] = halves(coefficients(t, x, cell, &gas));
            fields.set(t, 2 * place as usize, a);
            fields.set(t, 2 * place as usize + 1, b);
        }
    }
}

kernel! {
    /// The same numbers of molecules that rotate, from those of each cell, `cells[cell][3]`: `fields[direction][diagonal][row][3]`. One thread a place.
    pub fn steady_plane_rotating_fields<T: Real>(t, cells: In<Quad<T>>, fields: Out<Quad<T>>; shape: PlaneShape) for f32, f64 {
        let place = t.global_idx() as u32;
        if place < 4 * shape.places()
            && let Some((cell, _)) = visited(place, &shape)
        {
            for k in 0..ROTATING_FUNCTIONS {
                let numbers = cells.get(t, ROTATING_FUNCTIONS * cell as usize + k);
                fields.set(t, ROTATING_FUNCTIONS * place as usize + k, numbers);
            }
        }
    }
}

/// The cell at a place of `[direction][diagonal][row]`, and the direction; none where the diagonal has no cell in that row.
#[inline(always)]
fn visited(place: u32, shape: &PlaneShape) -> Option<(u32, u32)> {
    let group = quotient(place, shape.places());
    let within = place - group * shape.places();
    let diagonal = quotient(within, shape.rows);
    let row = within - diagonal * shape.rows;
    let column = diagonal.wrapping_sub(row);
    if row < shape.ny && column < shape.nx {
        let x = if group & 1 == 0 {
            column
        } else {
            shape.nx - 1 - column
        };
        let y = if group & 2 == 0 {
            row
        } else {
            shape.ny - 1 - row
        };
        Some((y * shape.nx + x, group))
    } else {
        None
    }
}

/// Input of [`steady_plane()`].
struct PlaneInput<'a, T: Real> {
    fields: In<'a, Quad<T>>,
    nodes: In<'a, Quad<T>>,
    emitted: In<'a, T>,
    x: In<'a, f64>,
    sides: In<'a, f64>,
    inverse: In<'a, T>,
    shape: PlaneShape,
}

impl<T: Real> PlaneInput<'_, T> {
    /// The incoming molecules at a face of a side, at a node.
    #[inline(always)]
    #[track_caller]
    fn incoming<S: Simt, const F: usize>(
        &self,
        t: &S,
        which: u32,
        group: u32,
        face: u32,
        node: u32,
    ) -> [T; F] {
        let row = which as usize * side::LEN;
        let share = self.sides.get(t, row + side::SHARE);
        let at = self.sides.get(t, row + side::DENSITY) as u32 + face;
        let rho = T::from_f64(self.x.get(t, at as usize) * share);
        let fixed = T::from_f64(share);
        let m = self.shape.nodes;
        let functions = F as u32;
        let first = which * 2 * functions;
        let emitted = |k: u32| self.emitted.get(t, ((first + k) * m + node) as usize);
        let mut f = [T::ZERO; F];
        for k in 0..functions {
            f[k as usize] = emitted(k).mul_add(rho, fixed * emitted(functions + k));
        }
        let returned = self.sides.get(t, row + side::RETURNED);
        if returned >= 0.0 {
            let partner =
                (node as i32 + self.sides.get(t, row + side::SHIFT + group as usize) as i32) as u32;
            let faces = if which < 2 {
                self.shape.ny
            } else {
                self.shape.nx
            };
            let at = returned as usize + (face * m + partner) as usize;
            let rest = 1.0 - share;
            for k in 0..F {
                let at = at + k * faces as usize * m as usize;
                f[k] += T::from_f64(rest * self.x.get(t, at));
            }
        }
        f
    }
}

#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
fn plane<S: Simt, T: Real, const LINEAR: bool, const F: usize>(
    t: &S,
    input: &PlaneInput<'_, T>,
    blocks: In<'_, u32>,
    partials: InOut<'_, T>,
    leaving: InOut<'_, f64>,
    returned: Out<'_, f64>,
    gas: &SteadyGas,
    exchange: Shared<'_, T>,
) {
    let shape = input.shape;
    let block = t.block_idx();
    let at = 3 * block as usize;
    let (first, batches, group) = (
        blocks.get(t, at),
        blocks.get(t, at + 1),
        blocks.get(t, at + 2),
    );
    let thread = t.thread_idx();
    let threads = shape.rows;
    let functions = F as u32;
    let heat = gas.components >= SUMS;
    let half_k = T::from_f64(gas.half_k);
    let closure = if gas.diamond == 1 {
        T::from_f64(2.0)
    } else {
        T::ONE
    };
    let kept = closure - T::ONE;
    let (east, north) = (group & 1 == 0, group & 2 == 0);
    let (enter_x, leave_x) = if east { (0, 1) } else { (1, 0) };
    let (enter_y, leave_y) = if north { (2, 3) } else { (3, 2) };
    let record_x = input
        .sides
        .get(t, leave_x as usize * side::LEN + side::RECORD);
    let record_y = input
        .sides
        .get(t, leave_y as usize * side::LEN + side::RECORD);
    let row = if north {
        thread
    } else {
        shape.ny.wrapping_sub(1).wrapping_sub(thread)
    };
    let active = thread < shape.ny;
    let inverse_dy = if active {
        input.inverse.get(t, (shape.nx + row) as usize)
    } else {
        T::ZERO
    };

    // The flux along the row, in a column of shared memory that only this thread touches: no barrier orders it.
    let own = 2 * functions * shape.lanes * threads + thread;
    // Batch and column of the cell that this thread sweeps next.
    let (mut batch, mut column) = (0, 0);
    let steps = batches * shape.nx + shape.ny - 1;
    for step in 0..steps {
        let busy = active && step >= thread && batch < batches;
        let read = (step & 1) * functions * shape.lanes * threads;
        let write = ((step & 1) ^ 1) * functions * shape.lanes * threads;
        if busy {
            let node = first + batch * shape.lanes;
            if column == 0 {
                for l in 0..shape.lanes {
                    let f = input.incoming::<S, F>(t, enter_x, group, row, node + l);
                    let slot = own + functions * l * threads;
                    for k in 0..functions {
                        exchange.set(t, slot + k * threads, f[k as usize]);
                    }
                }
            }
            let place = (column + thread) * threads + thread;
            let field = (group * shape.places() + place) as usize;
            let numbers = cell_numbers::<S, T, F>(t, input.fields, field);
            let nu = numbers[1].0[2];
            let x = if east { column } else { shape.nx - 1 - column };
            let inverse_dx = input.inverse.get(t, x as usize) * closure;
            let mut sums = [T::ZERO; ROTATING_SUMS as usize];
            let mut left_y = 0.0;
            for l in 0..shape.lanes {
                let velocity = input.nodes.get(t, (node + l) as usize);
                let bx = velocity.0[0].abs() * inverse_dx;
                let by = velocity.0[1].abs() * inverse_dy * closure;
                let share = T::ONE / (nu + bx + by);
                let local = local::<T, LINEAR, F>(numbers, velocity, half_k);
                let lane = functions * l * threads;
                // The boundary is beyond the first row; each branch has its own load, so that the memory space of each address is known.
                let mut below = [T::ZERO; F];
                if thread == 0 {
                    below = input.incoming::<S, F>(t, enter_y, group, x, node + l);
                } else {
                    let slot = read + lane + thread - 1;
                    for k in 0..functions {
                        below[k as usize] = exchange.get(t, slot + k * threads);
                    }
                }
                // All reads come before the writes, which the compiler could not prove to be elsewhere.
                let mut beside = [T::ZERO; F];
                for k in 0..F {
                    beside[k] = exchange.get(t, own + lane + k as u32 * threads);
                }
                let (mut f, mut above) = ([T::ZERO; F], [T::ZERO; F]);
                for k in 0..F {
                    let slot = lane + k as u32 * threads;
                    let inflow = bx.mul_add(beside[k], by * below[k]);
                    f[k] = nu.mul_add(local.s[k], inflow) * share;
                    above[k] = closure.mul_add(f[k], -(kept * below[k]));
                    exchange.set(t, own + slot, closure.mul_add(f[k], -(kept * beside[k])));
                    exchange.set(t, write + slot + thread, above[k]);
                }
                add(&mut sums, heat, velocity, &local, f);
                if thread == shape.ny - 1 {
                    left_y += (velocity.0[3] * velocity.0[1].abs() * above[0]).to_f64();
                    if record_y >= 0.0 {
                        let at = record_y as usize + (x * shape.nodes + node + l) as usize;
                        for k in 0..F {
                            let at = at + k * (shape.nx * shape.nodes) as usize;
                            returned.set(t, at, above[k].to_f64());
                        }
                    }
                }
            }
            for k in 0..3 * F {
                if k < 4 || heat {
                    let at = (block * gas.components + k as u32) as usize * shape.places() as usize
                        + place as usize;
                    let before = if batch == 0 {
                        T::ZERO
                    } else {
                        partials.get(t, at)
                    };
                    partials.set(t, at, before + sums[k]);
                }
            }
            let faces = block as usize * (shape.nx + shape.ny) as usize;
            if thread == shape.ny - 1 {
                let at = faces + (shape.ny + x) as usize;
                let before = if batch == 0 { 0.0 } else { leaving.get(t, at) };
                leaving.set(t, at, before + left_y);
            }
            column += 1;
            if column == shape.nx {
                let mut left_x = 0.0;
                for l in 0..shape.lanes {
                    let velocity = input.nodes.get(t, (node + l) as usize);
                    let slot = own + functions * l * threads;
                    let mut f = [T::ZERO; F];
                    for k in 0..functions {
                        f[k as usize] = exchange.get(t, slot + k * threads);
                    }
                    left_x += (velocity.0[3] * velocity.0[0].abs() * f[0]).to_f64();
                    if record_x >= 0.0 {
                        let at = record_x as usize + (row * shape.nodes + node + l) as usize;
                        for k in 0..F {
                            let at = at + k * (shape.ny * shape.nodes) as usize;
                            returned.set(t, at, f[k].to_f64());
                        }
                    }
                }
                let at = faces + row as usize;
                let before = if batch == 0 { 0.0 } else { leaving.get(t, at) };
                leaving.set(t, at, before + left_x);
                column = 0;
                batch += 1;
            }
        }
        t.sync_threads();
    }
}

kernel! {
    /// Sweeps of a rectangle: `partials[block][sum][diagonal][row]`, the outflow of mass `leaving[block][row, then column]`, and the returning molecules.
    ///
    /// A block owns batches of `shape.lanes` nodes, all of one direction (`blocks[block]`: first node, batches, direction), a thread one row of cells.
    /// The rows follow each other as the diagonals of a wavefront, one cell a step. The flux along the row stays in the thread's own column of
    /// shared memory; the flux to the next row goes through shared memory too, doubled, with one barrier a step. Batches follow each other through the pipeline, so that only its
    /// ends are idle. In the skewed layout `[diagonal][row]` the threads of a warp read and write side by side. A thread writes the sums of
    /// its own row only, and the last row's thread the outflow along y: no race.
    ///
    /// A cell and batch: 2 loads of 16 bytes (32 in f64) of the cell's numbers, 8 of nodes (the same for all threads), 64 words to and from shared memory; 48 words of it a row,
    /// 4 to 6 sums read and written; about 45 operations and, unless linear, one exponential a velocity.
    pub fn steady_plane<T: Real>(
        t, fields: In<Quad<T>>, inverse: In<T>, nodes: In<Quad<T>>, emitted: In<T>, x: In<f64>, sides: In<f64>, blocks: In<u32>,
        partials: InOut<T>, leaving: InOut<f64>, returned: Out<f64>;
        gas: SteadyGas, shape: PlaneShape,
    ) for f32, f64
    shared { exchange: [T; 6 * shape.lanes * shape.rows] } {
        let input = PlaneInput { fields, nodes, emitted, x, sides, inverse, shape };
        plane::<Machine, T, false, 2>(t, &input, blocks, partials, leaving, returned, &gas, exchange);
    }
}

kernel! {
    /// [`steady_plane()`] for the linearised equation: no exponential.
    pub fn steady_plane_linear<T: Real>(
        t, fields: In<Quad<T>>, inverse: In<T>, nodes: In<Quad<T>>, emitted: In<T>, x: In<f64>, sides: In<f64>, blocks: In<u32>,
        partials: InOut<T>, leaving: InOut<f64>, returned: Out<f64>;
        gas: SteadyGas, shape: PlaneShape,
    ) for f32, f64
    shared { exchange: [T; 6 * shape.lanes * shape.rows] } {
        let input = PlaneInput { fields, nodes, emitted, x, sides, inverse, shape };
        plane::<Machine, T, true, 2>(t, &input, blocks, partials, leaving, returned, &gas, exchange);
    }
}

kernel! {
    /// [`steady_plane()`] of molecules that rotate, with three functions of a node and nine sums of a cell: 72 words of shared memory a row, and half as many words
    /// more to and from it.
    pub fn steady_plane_rotating<T: Real>(
        t, fields: In<Quad<T>>, inverse: In<T>, nodes: In<Quad<T>>, emitted: In<T>, x: In<f64>, sides: In<f64>, blocks: In<u32>,
        partials: InOut<T>, leaving: InOut<f64>, returned: Out<f64>;
        gas: SteadyGas, shape: PlaneShape,
    ) for f32, f64
    shared { exchange: [T; 9 * shape.lanes * shape.rows] } {
        let input = PlaneInput { fields, nodes, emitted, x, sides, inverse, shape };
        plane::<Machine, T, false, 3>(t, &input, blocks, partials, leaving, returned, &gas, exchange);
    }
}

kernel! {
    /// [`steady_plane_rotating()`] for the linearised equation: no exponential.
    pub fn steady_plane_rotating_linear<T: Real>(
        t, fields: In<Quad<T>>, inverse: In<T>, nodes: In<Quad<T>>, emitted: In<T>, x: In<f64>, sides: In<f64>, blocks: In<u32>,
        partials: InOut<T>, leaving: InOut<f64>, returned: Out<f64>;
        gas: SteadyGas, shape: PlaneShape,
    ) for f32, f64
    shared { exchange: [T; 9 * shape.lanes * shape.rows] } {
        let input = PlaneInput { fields, nodes, emitted, x, sides, inverse, shape };
        plane::<Machine, T, true, 3>(t, &input, blocks, partials, leaving, returned, &gas, exchange);
    }
}

kernel! {
    /// `groups[direction][component][cell]`: the partial sums of [`steady_plane()`] over the blocks of a direction (`first_block[direction]` and the
    /// next), in their order, in f64. One thread a component and place; neighbouring threads read side by side.
    pub fn steady_plane_gather<T: Real>(
        t, partials: In<T>, first_block: In<u32>, groups: Out<f64>; gas: SteadyGas, shape: PlaneShape,
    ) for f32, f64 {
        let item = t.global_idx() as u32;
        let component = quotient(item, 4 * shape.places());
        let place = item - component * 4 * shape.places();
        if component < gas.components
            && let Some((cell, group)) = visited(place, &shape)
        {
            let within = place - group * shape.places();
            let mut sum = 0.0;
            let mut block = first_block.get(t, group as usize);
            let end = first_block.get(t, group as usize + 1);
            while block < end {
                let at = (block * gas.components + component) as usize * shape.places() as usize + within as usize;
                sum += partials.get(t, at).to_f64();
                block += 1;
            }
            groups.set(t, ((group * gas.components + component) * gas.cells + cell) as usize, sum);
        }
    }
}

kernel! {
    /// `sums[component][cell]`, and after them the mass that leaves each face (west, east, south, north): the sums of [`steady_plane_gather()`] over the
    /// directions, and of `leaving` over the blocks of the two directions that leave by a side. One thread a sum.
    pub fn steady_plane_total(
        t, groups: In<f64>, leaving: In<f64>, first_block: In<u32>, sums: Out<f64>; gas: SteadyGas, shape: PlaneShape,
    ) {
        let item = t.global_idx() as u32;
        let all = gas.components * gas.cells;
        if item < all {
            let at = |group: u32| groups.get(t, (group * all + item) as usize);
            sums.set(t, item as usize, (at(0) + at(1)) + (at(2) + at(3)));
        } else if item < all + 2 * (shape.nx + shape.ny) {
            let face = item - all;
            let (nx, ny) = (shape.nx, shape.ny);
            // Side, entry in a block's list, and the two directions that leave by the side.
            let (entry, low, high) = if face < ny {
                (face, 1, 3)
            } else if face < 2 * ny {
                (face - ny, 0, 2)
            } else if face < 2 * ny + nx {
                (face - ny, 2, 3)
            } else {
                (face - ny - nx, 0, 1)
            };
            let mut sum = 0.0;
            for turn in 0..2 {
                let group = if turn == 0 { low } else { high };
                let mut block = first_block.get(t, group);
                let end = first_block.get(t, group + 1);
                while block < end {
                    sum += leaving.get(t, (block * (nx + ny) + entry) as usize);
                    block += 1;
                }
            }
            sums.set(t, item as usize, sum);
        }
    }
}
