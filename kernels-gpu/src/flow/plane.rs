//! The sweep of a plane with bodies, and the sums over its blocks.

use super::cell::{self, Fluxes};
use super::gas::{
    Coefficients, DRIFT, FREQUENCY, MOMENTS, UNKNOWNS, add_flux, add_sums, equilibrium,
};
use super::layout::{PlaneShape, code, side, wall, work};
use crate::bgk::exponential::fast_exponential;
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, InOut, Quad, Shared};
use crate::simt::Simt;

kernel! {
    /// The cells' coefficients for [`flow_plane()`], once for each quadrant in the order in which it visits them: `fields[quadrant][place][2]`. Their frequency
    /// is multiplied by the volume. One thread a place.
    pub fn flow_fields<T: Real>(t, coefficients: In<f64>, fields: Out<Quad<T>>; shape: PlaneShape) for f32, f64 {
        let item = t.global_idx() as u32;
        let quadrant = quotient(item, shape.places());
        if quadrant < 4
            && let Some(cell) = shape.cell_at(quadrant, item - quadrant * shape.places())
        {
            let at = 8 * cell as usize;
            let number = |k: usize| T::from_f64(coefficients.get(t, at + k));
            fields.set(t, 2 * item as usize, Quad([number(0), number(1), number(2), number(3)]));
            fields.set(t, 2 * item as usize + 1, Quad([number(4), number(5), number(6), number(7)]));
        }
    }
}

kernel! {
    /// The drifts b of the cells' internal energy for [`flow_plane_internal()`], two numbers a cell, in the order of each quadrant: `to[quadrant][place]`. One thread a place.
    pub fn flow_drifts<T: Real>(t, drifts: In<f64>, to: Out<Quad<T>>; shape: PlaneShape) for f32, f64 {
        let item = t.global_idx() as u32;
        let quadrant = quotient(item, shape.places());
        if quadrant < 4
            && let Some(cell) = shape.cell_at(quadrant, item - quadrant * shape.places())
        {
            let number = |k: usize| T::from_f64(drifts.get(t, 2 * cell as usize + k));
            to.set(t, item as usize, Quad([number(0), number(1), T::ZERO, T::ZERO]));
        }
    }
}

/// Input of [`flow_plane()`].
#[derive(Clone, Copy)]
struct Input<'a, T: Real> {
    fields: In<'a, Quad<T>>,
    /// Of internal energy alone.
    drifts: In<'a, Quad<T>>,
    codes: In<'a, u32>,
    widths: In<'a, T>,
    nodes: In<'a, Quad<T>>,
    walls: In<'a, T>,
    emission: In<'a, Quad<T>>,
    sides: In<'a, f64>,
    images: In<'a, u32>,
    blocks: In<'a, u32>,
    shape: PlaneShape,
}

/// The output of [`flow_plane()`].
#[derive(Clone, Copy)]
struct Output<'a, T: Real> {
    sums: InOut<'a, T>,
    arrivals: InOut<'a, T>,
    faces: InOut<'a, T>,
    passing: InOut<'a, Quad<T>>,
    carried: InOut<'a, T>,
}

/// The direction of a block's velocities.
#[derive(Clone, Copy)]
struct Direction {
    quadrant: u32,
    /// Sides of inflow along x and y.
    enter: [u32; 2],
    /// Sides of outflow along x and y.
    leave: [u32; 2],
}

impl Direction {
    #[inline(always)]
    fn new(quadrant: u32) -> Self {
        let (west, south) = (quadrant & 1, (quadrant >> 1) & 1);
        Self {
            quadrant,
            enter: [west, 2 + south],
            leave: [1 - west, 3 - south],
        }
    }
}

#[inline(always)]
fn joined<T: Real>(a: Quad<T>, b: Quad<T>) -> Coefficients<T> {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a.0, b.0);
    [a0, a1, a2, a3, b0, b1, b2, b3, T::ZERO, T::ZERO]
}

impl<T: Real> Input<'_, T> {
    /// A Maxwellian of the list of emissions: those of segments, then those of the faces of each side.
    #[inline(always)]
    #[track_caller]
    fn emitted<S: Simt, const LINEAR: bool>(&self, t: &S, at: u32, v: [T; 2]) -> [T; 2] {
        let a = self.emission.get(t, 2 * at as usize);
        let b = self.emission.get(t, 2 * at as usize + 1);
        equilibrium::<T, LINEAR, false, true>(&joined(a, b), v, fast_exponential)
    }

    /// The incoming molecules at a face of a side, at a node: both functions.
    #[inline(always)]
    #[track_caller]
    fn incoming<S: Simt, const LINEAR: bool>(
        &self,
        t: &S,
        carried: InOut<'_, T>,
        which: u32,
        face: u32,
        node: u32,
        v: [T; 2],
    ) -> [T; 2] {
        let row = which as usize * side::LEN;
        let share = self.sides.get(t, row + side::SHARE);
        let values = self.sides.get(t, row + side::VALUES);
        let mut f = [T::ZERO; 2];
        if share > 0.0 {
            let shape = &self.shape;
            let before = if which < 2 {
                which * shape.ny
            } else {
                2 * shape.ny + (which - 2) * shape.nx
            };
            let own = T::from_f64(share);
            let [g, h] = self.emitted::<S, LINEAR>(t, shape.segments + before + face, v);
            f = [own * g, own * h];
        }
        if values >= 0.0 {
            let mut from = node;
            if self.sides.get(t, row + side::MIRRORS) > 0.0 {
                let axis = which >> 1;
                from = self
                    .images
                    .get(t, (axis * self.shape.nodes + node) as usize);
            }
            let rest = T::from_f64(1.0 - share);
            let at = values as usize + (2 * face * self.shape.nodes + from) as usize;
            f[0] = rest.mul_add(carried.get(t, at), f[0]);
            f[1] = rest.mul_add(carried.get(t, at + self.shape.nodes as usize), f[1]);
        }
        f
    }

    /// The molecules that a wall lets in at a node.
    #[inline(always)]
    #[track_caller]
    fn wall_emission<S: Simt, const LINEAR: bool>(
        &self,
        t: &S,
        carried: InOut<'_, T>,
        segment: u32,
        node: u32,
        v: [T; 2],
    ) -> [T; 2] {
        let mut f = self.emitted::<S, LINEAR>(t, segment, v);
        let record = segment as usize * wall::LEN;
        let alpha = self.walls.get(t, record + wall::ACCOMMODATION);
        if alpha < T::ONE {
            let place = self.walls.get(t, record + wall::PLACE).to_f64() as u32;
            let at = (self.shape.mirrored + 2 * place * self.shape.nodes + node) as usize;
            let rest = T::ONE - alpha;
            f[0] = rest.mul_add(carried.get(t, at), alpha * f[0]);
            f[1] = rest.mul_add(carried.get(t, at + self.shape.nodes as usize), alpha * f[1]);
        }
        f
    }

    /// Records what arrives at a wall that mirrors a part of it.
    #[inline(always)]
    #[track_caller]
    fn record_arrival<S: Simt>(
        &self,
        t: &S,
        carried: InOut<'_, T>,
        segment: u32,
        node: u32,
        f: [T; 2],
    ) {
        let record = segment as usize * wall::LEN;
        if self.walls.get(t, record + wall::ACCOMMODATION) < T::ONE {
            let place = self.walls.get(t, record + wall::PLACE).to_f64() as u32;
            let at = (self.shape.arrived + 2 * place * self.shape.nodes + node) as usize;
            carried.set(t, at, f[0]);
            carried.set(t, at + self.shape.nodes as usize, f[1]);
        }
    }
}

/// Adds sums to those of a block's earlier batches.
#[inline(always)]
#[track_caller]
fn accumulate<S: Simt, T: Real, const N: usize>(
    t: &S,
    to: InOut<'_, T>,
    at: usize,
    stride: usize,
    first: bool,
    sums: [T; N],
) {
    let mut k = 0;
    while k < N {
        let place = at + k * stride;
        let before = if first { T::ZERO } else { to.get(t, place) };
        to.set(t, place, before + sums[k]);
        k += 1;
    }
}

#[inline(always)]
#[track_caller]
fn plane<S: Simt, T: Real, const LINEAR: bool, const INTERNAL: bool>(
    t: &S,
    input: &Input<'_, T>,
    output: &Output<'_, T>,
    exchange: Shared<'_, Quad<T>>,
) {
    let shape = input.shape;
    // The place in the list of blocks, and with it that of all partial sums.
    let block = shape.first_block + t.block_idx();
    let integer = |k: usize| input.blocks.get(t, work::LEN * block as usize + k);
    let [first, nodes, batches] =
        [work::FIRST, work::NODES, work::BATCHES].map(|k: usize| integer(k));
    let direction = Direction::new(integer(work::QUADRANT));
    let thread = t.thread_idx();
    let (rows, lanes) = (shape.rows, shape.lanes);
    let (east, north) = (direction.quadrant & 1 == 0, direction.quadrant & 2 == 0);
    let record = |which: u32| {
        let row = which as usize * side::LEN;
        input.sides.get(t, row + side::RECORD)
    };
    let [record_x, record_y] = [record(direction.leave[0]), record(direction.leave[1])];
    // The values of two velocities that pass from row to row, doubled, `[turn][pair][row + 1]`: the first place is of those that enter a strip. Then those along the rows.
    let pairs = lanes >> 1;
    // The last batch may have fewer.
    let pairs_of = |batch: u32| {
        let left = (nodes - batch * lanes) >> 1;
        if left < pairs { left } else { pairs }
    };
    let above = rows + 1;
    let along = 2 * pairs * above + thread;
    let faces = 2 * MOMENTS * (block * shape.faces()) as usize;
    let passing = (block * pairs * shape.nx) as usize;

    let (mut batch, mut strip, mut column) = (0, 0, 0);
    // The code and the coefficients of a cell, which are loaded a step ahead, before the barrier.
    let place_of = |strip: u32, column: u32| {
        let places = direction.quadrant * shape.places() + strip * shape.strip_places();
        (places + (column + thread) * rows + thread) as usize
    };
    let load = |strip: u32, column: u32| {
        let place = place_of(strip, column);
        let mut found = (code::NOTHING, [Quad([T::ZERO; 4]); 2]);
        if strip * rows + thread < shape.ny && column < shape.nx {
            found.0 = input.codes.get(t, place);
            found.1[0] = input.fields.get(t, 2 * place);
            found.1[1] = input.fields.get(t, 2 * place + 1);
        }
        found
    };
    let mut ahead = load(0, 0);
    // The inflow of the step in which the first row is at a column, into that row and into the row that begins then. The first threads of both warps take a pair of velocities each.
    let feed = |turn: u32, batch: u32, strip: u32, column: u32| {
        let pair = thread & 31;
        if batch < batches && pair < pairs_of(batch) {
            let node = first + batch * lanes + 2 * pair;
            let entering = |axis: usize, face: u32| {
                let mut both = [T::ZERO; 4];
                for l in 0..2 {
                    let node = node + l as u32;
                    let [vx, vy, ..] = input.nodes.get(t, node as usize).0;
                    let (which, v) = (direction.enter[axis], [vx, vy]);
                    let f = input.incoming::<S, LINEAR>(t, output.carried, which, face, node, v);
                    [both[2 * l], both[2 * l + 1]] = f;
                }
                Quad(both)
            };
            if thread < 32 && column < shape.nx {
                let x = if east { column } else { shape.nx - 1 - column };
                let f = match strip {
                    0 => entering(1, x),
                    _ => output
                        .passing
                        .get(t, passing + (pair * shape.nx + column) as usize),
                };
                exchange.set(t, (turn * pairs + pair) * above, f);
            }
            let line = strip * rows + column;
            if thread - pair == column & !31 && column < rows && line < shape.ny {
                let y = if north { line } else { shape.ny - 1 - line };
                let at = 2 * pairs * above + pair * rows + column;
                exchange.set(t, at, entering(0, y));
            }
        }
    };
    let (mut fed_batch, mut fed_strip, mut fed_column) = (0, 0, 0);
    feed(0, 0, 0, 0);
    t.sync_threads();
    let steps = batches * shape.strips * shape.columns() + rows - 1;
    for step in 0..steps {
        let line = strip * rows + thread;
        let turn = step & 1;
        let read = turn * pairs * above + thread;
        let write = (turn ^ 1) * pairs * above + thread + 1;
        let busy = step >= thread && batch < batches;
        if busy && line < shape.ny && column < shape.nx {
            let x = if east { column } else { shape.nx - 1 - column };
            let y = if north { line } else { shape.ny - 1 - line };
            let node = first + batch * lanes;
            let filled = pairs_of(batch);
            let velocities = |pair: u32| {
                let at = (node + 2 * pair) as usize;
                [input.nodes.get(t, at).0, input.nodes.get(t, at + 1).0]
            };
            // The moments of what crosses a side, which is recorded where it leaves.
            let cross = |axis: usize, at: u32, record: f64, face: u32| {
                let mut moments = [T::ZERO; MOMENTS];
                let stride = if axis == 0 { rows } else { above };
                for pair in 0..filled {
                    let both = exchange.get(t, at + pair * stride).0;
                    let two = velocities(pair);
                    for l in 0..2 {
                        let [vx, vy, weight, _] = two[l];
                        let f = [both[2 * l], both[2 * l + 1]];
                        let speed = if axis == 0 { vx } else { vy };
                        add_flux::<T, true>(&mut moments, [vx, vy], weight * speed.abs(), f);
                        let place = 2 * face * shape.nodes + node + 2 * pair + l as u32;
                        keep(t, output.carried, record, place, shape.nodes, f);
                    }
                }
                moments
            };
            if column == 0 {
                let moments = cross(0, along, -1.0, y);
                let at = faces + 2 * MOMENTS * y as usize;
                accumulate(t, output.faces, at, 1, batch == 0, moments);
            }
            if line == 0 {
                let moments = cross(1, read, -1.0, x);
                let at = faces + 2 * MOMENTS * (shape.ny + x) as usize;
                accumulate(t, output.faces, at, 1, batch == 0, moments);
            }
            let (kind, [a, b]) = ahead;
            if kind == code::NOTHING {
                for pair in 0..filled {
                    exchange.set(t, along + pair * rows, Quad([T::ZERO; 4]));
                    exchange.set(t, write + pair * above, Quad([T::ZERO; 4]));
                }
            } else {
                let place = place_of(strip, column);
                let within = place - (direction.quadrant * shape.places()) as usize;
                let at = UNKNOWNS * (block as usize) * shape.places() as usize + within;
                // The sums go on from those of earlier batches, whose loads are under way while the cell's are.
                let mut sums = [T::ZERO; UNKNOWNS];
                if batch > 0 {
                    for k in 0..UNKNOWNS {
                        sums[k] = output.sums.get(t, at + k * shape.places() as usize);
                    }
                }
                let mut cell = Cell {
                    c: joined(a, b),
                    widths: [
                        input.widths.get(t, x as usize),
                        input.widths.get(t, (shape.nx + y) as usize),
                    ],
                    kind,
                };
                if INTERNAL {
                    let Quad([x, y, _, _]) = input.drifts.get(t, place);
                    (cell.c[DRIFT], cell.c[DRIFT + 1]) = (x, y);
                }
                if kind == code::FULL {
                    // Two velocities at once: the chain of one fills the waits of the other.
                    for pair in 0..filled {
                        let slot = along + pair * rows;
                        let beside = exchange.get(t, slot).0;
                        let below = exchange.get(t, read + pair * above).0;
                        let two = velocities(pair);
                        let (mut locals, mut found) = ([[T::ZERO; 2]; 2], [[[T::ZERO; 3]; 2]; 2]);
                        for l in 0..2 {
                            let v = [two[l][0], two[l][1]];
                            locals[l] = equilibrium::<T, LINEAR, INTERNAL, true>(
                                &cell.c,
                                v,
                                fast_exponential,
                            );
                            let inflow = [
                                [beside[2 * l], below[2 * l]],
                                [beside[2 * l + 1], below[2 * l + 1]],
                            ];
                            found[l] = cell.full::<LINEAR>(v, locals[l], inflow);
                        }
                        let out = |face: usize| {
                            let [a, b] = &found;
                            Quad([a[0][face], a[1][face], b[0][face], b[1][face]])
                        };
                        exchange.set(t, slot, out(1));
                        exchange.set(t, write + pair * above, out(2));
                        for l in 0..2 {
                            let [vx, vy, weight, _] = two[l];
                            let f = [found[l][0][0], found[l][1][0]];
                            let v = [vx, vy];
                            add_sums::<T, LINEAR, true>(
                                &mut sums, &cell.c, v, weight, f, locals[l],
                            );
                        }
                    }
                } else {
                    let mut arrivals = [T::ZERO; MOMENTS];
                    // The values that leave, of both velocities of a pair.
                    let (mut along_x, mut along_y) = ([T::ZERO; 4], [T::ZERO; 4]);
                    for l in 0..2 * filled {
                        let (pair, second) = (l >> 1, l & 1 == 1);
                        let half =
                            |Quad([a, b, c, d]): Quad<T>| if second { [c, d] } else { [a, b] };
                        let beside = half(exchange.get(t, along + pair * rows));
                        let below = half(exchange.get(t, read + pair * above));
                        let inflow = [[beside[0], below[0]], [beside[1], below[1]]];
                        let [vx, vy, weight, _] = input.nodes.get(t, (node + l) as usize).0;
                        let v = [vx, vy];
                        let local =
                            equilibrium::<T, LINEAR, INTERNAL, true>(&cell.c, v, fast_exponential);
                        let found = cell.behind_walls::<S, LINEAR>(
                            t,
                            input,
                            output,
                            &direction,
                            (node + l, batch == 0 && l == 0),
                            (v, weight),
                            local,
                            inflow,
                            &mut arrivals,
                        );
                        if second {
                            (along_x[2], along_x[3]) = (found[0][1], found[1][1]);
                            (along_y[2], along_y[3]) = (found[0][2], found[1][2]);
                            exchange.set(t, along + pair * rows, Quad(along_x));
                            exchange.set(t, write + pair * above, Quad(along_y));
                        } else {
                            (along_x[0], along_x[1]) = (found[0][1], found[1][1]);
                            (along_y[0], along_y[1]) = (found[0][2], found[1][2]);
                        }
                        let f = [found[0][0], found[1][0]];
                        add_sums::<T, LINEAR, true>(&mut sums, &cell.c, v, weight, f, local);
                    }
                    if kind & 1 == 0 {
                        let segment = (kind - code::CUT) >> 1;
                        let at = MOMENTS * (block * shape.segments + segment) as usize;
                        accumulate(t, output.arrivals, at, 1, batch == 0, arrivals);
                    }
                }
                for k in 0..UNKNOWNS {
                    output
                        .sums
                        .set(t, at + k * shape.places() as usize, sums[k]);
                }
            }
            if line == shape.ny - 1 {
                let moments = cross(1, write, record_y, x);
                let at = faces + MOMENTS * (2 * (shape.ny + x) + 1) as usize;
                accumulate(t, output.faces, at, 1, batch == 0, moments);
            } else if thread == rows - 1 {
                for pair in 0..filled {
                    let f = exchange.get(t, write + pair * above);
                    output
                        .passing
                        .set(t, passing + (pair * shape.nx + column) as usize, f);
                }
            }
            if column == shape.nx - 1 {
                let moments = cross(0, along, record_x, y);
                let at = faces + MOMENTS * (2 * y + 1) as usize;
                accumulate(t, output.faces, at, 1, batch == 0, moments);
            }
        }
        if busy {
            (batch, strip, column) = onward(&shape, batch, strip, column);
        }
        if batch < batches {
            ahead = load(strip, column);
        }
        (fed_batch, fed_strip, fed_column) = onward(&shape, fed_batch, fed_strip, fed_column);
        feed(turn ^ 1, fed_batch, fed_strip, fed_column);
        t.sync_threads();
    }
}

/// The batch, the strip and the column of a row a step later.
#[inline(always)]
fn onward(shape: &PlaneShape, mut batch: u32, mut strip: u32, mut column: u32) -> (u32, u32, u32) {
    column += 1;
    if column == shape.columns() {
        column = 0;
        strip += 1;
        if strip == shape.strips {
            strip = 0;
            batch += 1;
        }
    }
    (batch, strip, column)
}

/// Records what leaves through a side, if it has a record.
#[inline(always)]
#[track_caller]
fn keep<S: Simt, T: Real>(
    t: &S,
    carried: InOut<'_, T>,
    offset: f64,
    at: u32,
    nodes: u32,
    f: [T; 2],
) {
    if offset >= 0.0 {
        let at = offset as usize + at as usize;
        carried.set(t, at, f[0]);
        carried.set(t, at + nodes as usize, f[1]);
    }
}

/// A cell with gas.
struct Cell<T> {
    c: Coefficients<T>,
    widths: [T; 2],
    kind: u32,
}

impl<T: Real> Cell<T> {
    /// The update of a full cell: value, outflow through the x and the y face, of both functions.
    #[inline(always)]
    fn full<const LINEAR: bool>(
        &self,
        v: [T; 2],
        local: [T; 2],
        inflow: [[T; 2]; 2],
    ) -> [[T; 3]; 2] {
        let nu = self.c[FREQUENCY];
        let flux = [v[0].abs() * self.widths[1], v[1].abs() * self.widths[0]];
        let source = [nu * local[0], nu * local[1]];
        let diamond = [T::ONE; 2];
        if LINEAR {
            cell::full::<T, false, true>(source, nu, flux, diamond, inflow)
        } else {
            cell::full::<T, true, true>(source, nu, flux, diamond, inflow)
        }
    }

    /// The same of a cell with one or two segments, whose arrivals it adds.
    #[inline(always)]
    #[track_caller]
    #[allow(clippy::too_many_arguments, reason = "the state of a thread")]
    fn behind_walls<S: Simt, const LINEAR: bool>(
        &self,
        t: &S,
        input: &Input<'_, T>,
        output: &Output<'_, T>,
        direction: &Direction,
        (node, first): (u32, bool),
        (v, weight): ([T; 2], T),
        local: [T; 2],
        inflow: [[T; 2]; 2],
        arrivals: &mut [T; MOMENTS],
    ) -> [[T; 3]; 2] {
        let segment = (self.kind - code::CUT) >> 1;
        let record = segment as usize * wall::LEN;
        let number = |k: usize| input.walls.get(t, record + k);
        let open = |which: u32| number(wall::OPEN + which as usize);
        let [ax, ay] = [v[0].abs(), v[1].abs()];
        let [x_in, y_in] = [ax * open(direction.enter[0]), ay * open(direction.enter[1])];
        let [x_out, y_out] = [ax * open(direction.leave[0]), ay * open(direction.leave[1])];
        let through = |record: usize| {
            let w = |k: usize| input.walls.get(t, record + wall::NORMAL + k);
            cell::through(v, [w(0), w(1)])
        };
        let nu = self.c[FREQUENCY];
        let source = [nu * local[0], nu * local[1]];
        let normal = through(record);
        let emitted = input.wall_emission::<S, LINEAR>(t, output.carried, segment, node, v);
        if self.kind & 1 == 0 {
            let out = normal < T::ZERO;
            let closure =
                record + wall::CLOSURE + 18 * direction.quadrant as usize + if out { 9 } else { 0 };
            let c = |k: usize| input.walls.get(t, closure + k);
            let rows = [[c(0), c(1), c(2)], [c(3), c(4), c(5)], [c(6), c(7), c(8)]];
            let flux = Fluxes {
                x_in,
                y_in,
                wall_in: normal.max(T::ZERO),
                x_out,
                y_out,
                wall_out: (-normal).max(T::ZERO),
            };
            let inflow = [
                [inflow[0][0], inflow[0][1], emitted[0]],
                [inflow[1][0], inflow[1][1], emitted[1]],
            ];
            let found = if LINEAR {
                cell::cut::<T, false, true>(source, nu, flux, &rows, inflow)
            } else {
                cell::cut::<T, true, true>(source, nu, flux, &rows, inflow)
            };
            let arriving = [found[0][3], found[1][3]];
            input.record_arrival(t, output.carried, segment, node, arriving);
            let part = weight * flux.wall_out * number(wall::INVERSE);
            add_flux::<T, true>(arrivals, v, part, arriving);
            let three = |f: [T; 4]| [f[0], f[1], f[2]];
            [three(found[0]), three(found[1])]
        } else {
            let other = through(record + wall::LEN);
            let second = input.wall_emission::<S, LINEAR>(t, output.carried, segment + 1, node, v);
            let into = [x_in, y_in, normal.max(T::ZERO), other.max(T::ZERO)];
            let out = x_out + y_out + (-normal).max(T::ZERO) + (-other).max(T::ZERO);
            let f = |q: usize| {
                let inflow = [inflow[q][0], inflow[q][1], emitted[q], second[q]];
                cell::corner::<T, true>(source[q], nu, into, out, inflow)
            };
            let f = [f(0), f(1)];
            let shape = &input.shape;
            let block = shape.first_block + t.block_idx();
            let mut k = 0;
            while k < 2 {
                let speed = if k == 0 { normal } else { other };
                let at = segment + k;
                input.record_arrival(t, output.carried, at, node, f);
                let inverse = input.walls.get(t, at as usize * wall::LEN + wall::INVERSE);
                let mut moments = [T::ZERO; MOMENTS];
                add_flux::<T, true>(&mut moments, v, weight * (-speed).max(T::ZERO) * inverse, f);
                let at = MOMENTS * (block * shape.segments + at) as usize;
                accumulate(t, output.arrivals, at, 1, first, moments);
                k += 1;
            }
            [[f[0]; 3], [f[1]; 3]]
        }
    }
}

kernel! {
    /// Sweeps of a plane with bodies, by the diamond with the soft blend; no distribution is stored.
    ///
    /// A block owns batches of velocities of one quadrant, a thread one row of cells of a strip. The rows follow each other as the diagonals of a wavefront, one cell a step;
    /// strips and batches follow each other through the pipeline, so that only its ends are idle. The flux along a row stays in places of shared memory that only its thread touches.
    /// The flux to the next row goes through shared memory too, doubled, with one barrier a step; that to the next strip goes through `passing`, which the last row writes and the first row
    /// reads a strip later. A thread writes the sums, faces and segments of its own cells only: no race.
    ///
    /// Partial sums: `sums[block][sum][place]`, `arrivals[block][segment][moment]`, `faces[block][row, then column][entering, leaving][moment]`. `carried` has the values of sides and walls
    /// that depend on what left before, and the records of what leaves.
    ///
    /// A full cell takes two velocities at once: the chain of operations of one fills the waits of the other, and an access to shared memory moves all four values. The code and
    /// the coefficients of the next cell are loaded ahead of the barrier, and what enters there through a side is prepared by several threads: one alone would keep all others waiting.
    ///
    /// A cell and velocity: two functions, about 100 instructions in f32 with an exponential and four reciprocals, 2 accesses of 16 bytes (32 in f64) to shared memory, one node (the same for
    /// all threads); a cell and batch: two loads of 16 bytes (32 in f64), 6 sums read and written. Shared memory: 6 words a row and velocity (12 in f64).
    pub fn flow_plane<T: Real>(
        t, fields: In<Quad<T>>, codes: In<u32>, widths: In<T>, nodes: In<Quad<T>>, walls: In<T>, emission: In<Quad<T>>, sides: In<f64>, images: In<u32>,
        blocks: In<u32>, sums: InOut<T>, arrivals: InOut<T>, faces: InOut<T>, passing: InOut<Quad<T>>, carried: InOut<T>;
        shape: PlaneShape,
    ) for f32, f64
    shared { exchange: [Quad<T>; (shape.lanes >> 1) * (3 * shape.rows + 2)] } {
        let input = Input { fields, drifts: fields, codes, widths, nodes, walls, emission, sides, images, blocks, shape };
        let output = Output { sums, arrivals, faces, passing, carried };
        plane::<Machine, T, false, false>(t, &input, &output, exchange);
    }
}

kernel! {
    /// [`flow_plane()`] for the linearised equation: no exponential, and no blend.
    pub fn flow_plane_linear<T: Real>(
        t, fields: In<Quad<T>>, codes: In<u32>, widths: In<T>, nodes: In<Quad<T>>, walls: In<T>, emission: In<Quad<T>>, sides: In<f64>, images: In<u32>,
        blocks: In<u32>, sums: InOut<T>, arrivals: InOut<T>, faces: InOut<T>, passing: InOut<Quad<T>>, carried: InOut<T>;
        shape: PlaneShape,
    ) for f32, f64
    shared { exchange: [Quad<T>; (shape.lanes >> 1) * (3 * shape.rows + 2)] } {
        let input = Input { fields, drifts: fields, codes, widths, nodes, walls, emission, sides, images, blocks, shape };
        let output = Output { sums, arrivals, faces, passing, carried };
        plane::<Machine, T, true, false>(t, &input, &output, exchange);
    }
}

kernel! {
    /// [`flow_plane()`] for the internal energy of molecules that rotate, whose equilibrium has a drift; its second function counts nowhere.
    pub fn flow_plane_internal<T: Real>(
        t, fields: In<Quad<T>>, drifts: In<Quad<T>>, codes: In<u32>, widths: In<T>, nodes: In<Quad<T>>, walls: In<T>, emission: In<Quad<T>>, sides: In<f64>, images: In<u32>,
        blocks: In<u32>, sums: InOut<T>, arrivals: InOut<T>, faces: InOut<T>, passing: InOut<Quad<T>>, carried: InOut<T>;
        shape: PlaneShape,
    ) for f32, f64
    shared { exchange: [Quad<T>; (shape.lanes >> 1) * (3 * shape.rows + 2)] } {
        let input = Input { fields, drifts, codes, widths, nodes, walls, emission, sides, images, blocks, shape };
        let output = Output { sums, arrivals, faces, passing, carried };
        plane::<Machine, T, false, true>(t, &input, &output, exchange);
    }
}

kernel! {
    /// Adds the partial sums of [`flow_plane()`] over the blocks of a quadrant (`ranges[quadrant][first, end]`), in their order and in f64, to `cells[cell][sum]`;
    /// quadrant 0 sets them. Cells without gas have 0. One thread a place of the quadrant, so that a warp reads neighbours: neighbouring cells are whole diagonals apart.
    pub fn flow_cells<T: Real>(t, partials: In<T>, codes: In<u32>, ranges: In<u32>, cells: InOut<f64>; shape: PlaneShape, quadrant: u32) for f32, f64 {
        let place = t.global_idx() as u32;
        if place < shape.places()
            && let Some(cell) = shape.cell_at(quadrant, place)
        {
            let mut total = [0.0; UNKNOWNS];
            if codes.get(t, (quadrant * shape.places() + place) as usize) != code::NOTHING {
                let mut block = ranges.get(t, 2 * quadrant as usize);
                let end = ranges.get(t, 2 * quadrant as usize + 1);
                while block < end {
                    let at = UNKNOWNS * block as usize * shape.places() as usize + place as usize;
                    let mut k = 0;
                    while k < UNKNOWNS {
                        total[k] += partials.get(t, at + k * shape.places() as usize).to_f64();
                        k += 1;
                    }
                    block += 1;
                }
            }
            accumulate(t, cells, UNKNOWNS * cell as usize, 1, quadrant == 0, total);
        }
    }
}

kernel! {
    /// `totals`: the moments that arrive at each segment, then those that leave and enter through each face of each side, `[side][face][leaving, entering][moment]`, from the
    /// partial sums of [`flow_plane()`] in the order of the blocks, in f64; `ranges[8]` is the number of blocks. One thread a moment.
    pub fn flow_borders<T: Real>(
        t, arrivals: In<T>, faces: In<T>, ranges: In<u32>, totals: Out<f64>; shape: PlaneShape,
    ) for f32, f64 {
        let item = t.global_idx() as u32;
        let segments = MOMENTS as u32 * shape.segments;
        let count = 2 * MOMENTS as u32;
        if item < segments {
            let mut sum = 0.0;
            let mut block = 0;
            let end = ranges.get(t, 8);
            while block < end {
                sum += arrivals.get(t, (block * segments + item) as usize).to_f64();
                block += 1;
            }
            totals.set(t, item as usize, sum);
        } else if item < segments + 2 * count * shape.faces() {
            let rest = item - segments;
            let face = quotient(rest, count);
            let within = rest - count * face;
            let (entering, moment) = (within >= MOMENTS as u32, within & (MOMENTS as u32 - 1));
            let (nx, ny) = (shape.nx, shape.ny);
            // Side, and the entry in a block's list.
            let (which, entry) = if face < 2 * ny {
                let which = quotient(face, ny);
                (which, face - which * ny)
            } else {
                let which = quotient(face - 2 * ny, nx);
                (2 + which, ny + face - 2 * ny - which * nx)
            };
            let mut sum = 0.0;
            for quadrant in 0..4 {
                let direction = Direction::new(quadrant);
                let axis = (which >> 1) as usize;
                let sides = if entering { direction.enter } else { direction.leave };
                let side = if axis == 0 { sides[0] } else { sides[1] };
                if side == which {
                    let mut block = ranges.get(t, 2 * quadrant as usize);
                    let end = ranges.get(t, 2 * quadrant as usize + 1);
                    while block < end {
                        let part = 2 * (block * shape.faces() + entry) + if entering { 0 } else { 1 };
                        sum += faces.get(t, (part * MOMENTS as u32 + moment) as usize).to_f64();
                        block += 1;
                    }
                }
            }
            totals.set(t, item as usize, sum);
        }
    }
}
