//! The sweep of space with bodies, and the sums over its blocks.

use super::beam::{Beam, flux_of};
use super::cell;
use super::gas::{Coefficients, DRIFT, FREQUENCY, MOMENTS, UNKNOWNS, add_flux, equilibrium};
use super::layout::{QUADS, VolumeShape, border, code, ranges, wall, work};
use crate::bgk::exponential::fast_exponential;
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, InOut, Quad, Shared};
use crate::simt::{Simt, WARP};

kernel! {
    /// The cells' numbers for [`flow_volume()`], once for each octant in the order in which it visits them: `fields[octant][quadruple][place]` has the
    /// coefficients, with the frequency times the volume, and the areas of whole faces across x, y and z. `widths` are those of the cells along x, y and z. One thread a place.
    pub fn flow_volume_fields<T: Real>(t, coefficients: In<f64>, widths: In<f64>, fields: Out<Quad<T>>; shape: VolumeShape) for f32, f64 {
        let item = t.global_idx() as u32;
        let octant = quotient(item, shape.places());
        let place = item - octant * shape.places();
        if octant < 8
            && let Some([x, y, z]) = shape.cell_at(octant, place)
        {
            let at = 9 * shape.cell([x, y, z]) as usize;
            let number = |k: usize| T::from_f64(coefficients.get(t, at + k));
            let width = |k: u32| widths.get(t, k as usize);
            let [dx, dy, dz] = [width(x), width(shape.nx + y), width(shape.nx + shape.ny + z)];
            let area = |a: f64, b: f64| T::from_f64(a * b);
            let quads = [
                [number(0), number(1), number(2), number(3)],
                [number(4), number(5), number(6), number(7)],
                [number(8), area(dy, dz), area(dx, dz), area(dx, dy)],
            ];
            let mut k = 0;
            while k < QUADS {
                let at = (QUADS * octant + k) as usize * shape.places() as usize + place as usize;
                fields.set(t, at, Quad(quads[k as usize]));
                k += 1;
            }
        }
    }
}

kernel! {
    /// The drifts b of the cells' internal energy for [`flow_volume_internal()`], three numbers a cell, in the order of each octant: `to[octant][place]`. One thread a place.
    pub fn flow_volume_drifts<T: Real>(t, drifts: In<f64>, to: Out<Quad<T>>; shape: VolumeShape) for f32, f64 {
        let item = t.global_idx() as u32;
        let octant = quotient(item, shape.places());
        if octant < 8
            && let Some(cell) = shape.cell_at(octant, item - octant * shape.places())
        {
            let at = 3 * shape.cell(cell) as usize;
            let number = |k: usize| T::from_f64(drifts.get(t, at + k));
            to.set(t, item as usize, Quad([number(0), number(1), number(2), T::ZERO]));
        }
    }
}

/// Input of [`flow_volume()`].
#[derive(Clone, Copy)]
struct Input<'a, T: Real> {
    fields: In<'a, Quad<T>>,
    /// Of internal energy alone.
    drifts: In<'a, Quad<T>>,
    codes: In<'a, u32>,
    walls: In<'a, Quad<T>>,
    emission: In<'a, Quad<T>>,
}

/// The lists of which a block keeps its part in shared memory.
#[derive(Clone, Copy)]
struct Lists<'a, T: Real> {
    blocks: In<'a, u32>,
    pairs: In<'a, Quad<T>>,
    heights: In<'a, T>,
    borders: In<'a, u64>,
}

/// The output of [`flow_volume()`].
#[derive(Clone, Copy)]
struct Output<'a, T: Real> {
    sums: InOut<'a, T>,
    arrivals: InOut<'a, T>,
    passing: InOut<'a, T>,
}

/// The shared memory of [`flow_volume()`].
#[derive(Clone, Copy)]
struct Exchange<'a, T: Real> {
    slots: Shared<'a, T>,
    table: Shared<'a, T>,
    borders: Shared<'a, u64>,
    pairs: Shared<'a, Quad<T>>,
}

/// A block's share of the velocities.
#[derive(Clone, Copy)]
struct Work {
    /// The place in the launch, and with it that of all partial sums.
    block: u32,
    batches: u32,
    octant: u32,
    packs: u32,
    together: u32,
    /// Place of the first velocity among those of a face.
    place: u32,
}

/// The batches that a thread carries through a cell.
#[derive(Clone, Copy)]
struct Carried {
    /// Batches of the block that were there before.
    done: u32,
    count: u32,
    /// No batch of this block was in this cell before.
    fresh: bool,
}

/// One of these batches.
#[derive(Clone, Copy)]
struct Batch<T> {
    v: [T; 2],
    /// Volume across.
    weight: T,
    /// Place of its first velocity along z in the table.
    table: u32,
}

/// A cell in the direction of the octant, and the batches that were there before.
#[derive(Clone, Copy)]
struct Front {
    x: u32,
    /// `(x + lane) mod nx`.
    diagonal: u32,
    tile_y: u32,
    tile_z: u32,
    done: u32,
}

/// The numbers of a cell.
struct Cell<T> {
    code: u32,
    c: Coefficients<T>,
    /// Areas of whole faces.
    areas: [T; 3],
    /// Sums of the block's earlier batches.
    sums: [T; UNKNOWNS],
    /// Place of the first sum.
    partials: usize,
}

/// The slots of a thread in the first pack.
#[derive(Clone, Copy)]
struct Slots {
    /// Of the flux along x from the cell before; `x_side` from a side.
    x: u32,
    x_side: u32,
    y_in: u32,
    y_out: u32,
    z_in: u32,
    z_out: u32,
}

/// Adds sums to those of a block's earlier batches.
#[inline(always)]
#[track_caller]
fn accumulate<S: Simt, T: Real, const N: usize>(
    t: &S,
    to: InOut<'_, T>,
    at: usize,
    fresh: bool,
    sums: [T; N],
) {
    let mut k = 0;
    while k < N {
        let before = if fresh { T::ZERO } else { to.get(t, at + k) };
        to.set(t, at + k, before + sums[k]);
        k += 1;
    }
}

/// The coefficients in three quadruples, and the three numbers behind them.
#[inline(always)]
fn joined<T: Real>([a, b, c]: [Quad<T>; 3]) -> (Coefficients<T>, [T; 3]) {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3], [c0, c1, c2, c3]) = (a.0, b.0, c.0);
    let o = T::ZERO;
    ([a0, a1, a2, a3, b0, b1, b2, b3, c0, o, o, o], [c1, c2, c3])
}

/// A thread of [`flow_volume()`] with velocities of `L` to a pack.
struct Thread<'a, S: Simt, T: Real, const LINEAR: bool, const INTERNAL: bool, const L: usize> {
    t: &'a S,
    input: &'a Input<'a, T>,
    output: &'a Output<'a, T>,
    exchange: Exchange<'a, T>,
    shape: VolumeShape,
    work: Work,
}

impl<S: Simt, T: Real, const LINEAR: bool, const INTERNAL: bool, const L: usize>
    Thread<'_, S, T, LINEAR, INTERNAL, L>
{
    /// Numbers from one pack to the next in the slots.
    #[inline(always)]
    fn stride(&self) -> u32 {
        L as u32 * self.shape.slots()
    }

    #[inline(always)]
    #[track_caller]
    fn batch(&self, at: u32) -> Batch<T> {
        let [vx, vy, weight, pack] = self.exchange.pairs.get(self.t, at).0;
        Batch {
            v: [vx, vy],
            weight,
            table: 2 * L as u32 * pack.to_f64() as u32,
        }
    }

    /// Velocities along z and their widths, of a pack of a batch.
    #[inline(always)]
    #[track_caller]
    fn heights(&self, batch: &Batch<T>, pack: u32) -> [[T; L]; 2] {
        let at = batch.table + 2 * L as u32 * pack;
        let part = |at: u32| self.exchange.table.get_run::<L, S>(self.t, at);
        [part(at), part(at + L as u32)]
    }

    /// A Maxwellian of the list of emissions.
    #[inline(always)]
    #[track_caller]
    fn maxwellian(&self, at: u32) -> Coefficients<T> {
        let quad = |k: usize| self.input.emission.get(self.t, 3 * at as usize + k);
        joined([quad(0), quad(1), quad(2)]).0
    }

    /// Nothing leaves a cell without gas.
    #[inline(always)]
    #[track_caller]
    fn block_out(&self, slots: Slots, carried: Carried) {
        for pack in 0..carried.count * self.work.packs {
            let pack = pack * self.stride();
            for slot in [slots.x, slots.y_out, slots.z_out] {
                let to = self.exchange.slots;
                to.set_run::<L, S>(self.t, slot + pack, [T::ZERO; L]);
            }
        }
    }

    /// Loads the numbers of the cell at a place.
    #[inline(always)]
    #[track_caller]
    fn load(&self, place: u32, fresh: bool) -> Cell<T> {
        let (t, work) = (self.t, self.work);
        let places = self.shape.places() as usize;
        let code_at = work.octant as usize * places + place as usize;
        let code = self.input.codes.get(t, code_at);
        let partials = UNKNOWNS * work.block as usize * places + place as usize;
        let mut cell = Cell {
            code,
            c: [T::ZERO; 12],
            areas: [T::ZERO; 3],
            sums: [T::ZERO; UNKNOWNS],
            partials,
        };
        if code != code::NOTHING {
            let field = (QUADS * work.octant) as usize * places + place as usize;
            let quad = |k: usize| self.input.fields.get(t, field + k * places);
            (cell.c, cell.areas) = joined([quad(0), quad(1), quad(2)]);
            if INTERNAL {
                let Quad([x, y, z, _]) = self.input.drifts.get(t, code_at);
                (cell.c[DRIFT], cell.c[DRIFT + 1], cell.c[DRIFT + 2]) = (x, y, z);
            }
            if !fresh {
                for k in 0..UNKNOWNS {
                    cell.sums[k] = self.output.sums.get(t, partials + k * places);
                }
            }
        }
        cell
    }

    /// Updates a cell with gas at all velocities that the thread carries, and adds its sums. Full cells have a loop of their own, which needs fewer registers.
    #[inline(always)]
    #[track_caller]
    fn update<const WALL: bool>(
        &self,
        cell: &Cell<T>,
        from_x: u32,
        slots: Slots,
        carried: Carried,
    ) {
        let t = self.t;
        let exchange = self.exchange.slots;
        let mut sums = cell.sums;
        let mut at = 0;
        for b in 0..carried.count {
            let batch = self.batch(carried.done + b);
            let beam = Beam::new::<LINEAR, INTERNAL>(&cell.c, batch.v);
            let mut moments = [T::ZERO; 4];
            let mut struck = [T::ZERO; 3];
            for pack in 0..self.work.packs {
                let heights = self.heights(&batch, pack);
                let inflow = [from_x, slots.y_in, slots.z_in]
                    .map(|slot| exchange.get_run::<L, S>(t, slot + at));
                let mut own = [T::ZERO; L];
                let mut local = [T::ZERO; L];
                for l in 0..L {
                    own[l] = beam.own(heights[0][l]);
                    local[l] = beam.equilibrium::<LINEAR, INTERNAL>(&cell.c, own[l]);
                }
                let found = if WALL {
                    self.behind_wall(cell, &batch, heights, local, inflow, &mut struck)
                } else {
                    Self::in_the_open(cell, &batch, heights[0], local, inflow)
                };
                exchange.set_run::<L, S>(t, slots.x + at, found[1]);
                exchange.set_run::<L, S>(t, slots.y_out + at, found[2]);
                exchange.set_run::<L, S>(t, slots.z_out + at, found[3]);
                at += self.stride();
                add_moments(&mut moments, heights[1], own, found[0], local);
            }
            beam.add_sums(&mut sums, batch.weight, moments);
            if WALL {
                let facet = (cell.code - code::CUT) as usize;
                let facets = self.work.block as usize * self.shape.facets as usize;
                let to = MOMENTS * (facets + facet);
                let flux = flux_of(batch.v, batch.weight, struck);
                accumulate(t, self.output.arrivals, to, carried.fresh && b == 0, flux);
            }
        }
        for k in 0..UNKNOWNS {
            let at = cell.partials + k * self.shape.places() as usize;
            self.output.sums.set(t, at, sums[k]);
        }
    }

    /// The update of a full cell at a pack: values, and outflow through the x, y and z faces.
    #[inline(always)]
    fn in_the_open(
        cell: &Cell<T>,
        batch: &Batch<T>,
        vz: [T; L],
        local: [T; L],
        inflow: [[T; L]; 3],
    ) -> [[T; L]; 4] {
        let [x, y] = batch.v.map(T::abs);
        let mut found = [[T::ZERO; L]; 4];
        for l in 0..L {
            let [area_x, area_y, area_z] = cell.areas;
            let flux = [x * area_x, y * area_y, vz[l].abs() * area_z];
            let into = [inflow[0][l], inflow[1][l], inflow[2][l]];
            let all = full::<T, LINEAR>(cell.c[FREQUENCY], local[l], flux, into);
            for k in 0..4 {
                found[k][l] = all[k];
            }
        }
        found
    }

    /// The update of a cell with a facet at a pack, whose arrivals it adds.
    #[inline(always)]
    #[track_caller]
    fn behind_wall(
        &self,
        cell: &Cell<T>,
        batch: &Batch<T>,
        [vz, wz]: [[T; L]; 2],
        local: [T; L],
        inflow: [[T; L]; 3],
        struck: &mut [T; 3],
    ) -> [[T; L]; 4] {
        let (t, octant) = (self.t, self.work.octant);
        let (facet, nu) = (cell.code - code::CUT, cell.c[FREQUENCY]);
        let record = facet as usize * wall::LEN;
        let quad = |k: usize| self.input.walls.get(t, record + k).0;
        let [west, east, south, north] = quad(wall::OPEN);
        let [back, front, inverse, _] = quad(wall::REST);
        let [nx, ny, nz, _] = quad(wall::NORMAL);
        let ordered = |axis: u32, low: T, high: T| {
            if (octant >> axis) & 1 == 0 {
                [low, high]
            } else {
                [high, low]
            }
        };
        let [x_in, x_out] = ordered(0, west, east).map(|open| open * batch.v[0].abs());
        let [y_in, y_out] = ordered(1, south, north).map(|open| open * batch.v[1].abs());
        let [z_in, z_out] = ordered(2, back, front);
        let emitted = self.maxwellian(facet);
        let beam = Beam::new::<LINEAR, false>(&emitted, batch.v);
        let mut found = [[T::ZERO; L]; 4];
        for l in 0..L {
            let normal = cell::through([batch.v[0], batch.v[1], vz[l]], [nx, ny, nz]);
            let lets_out = if normal < T::ZERO { 4 } else { 0 };
            let row = |k: usize| quad(wall::CLOSURE + 8 * octant as usize + lets_out + k);
            let closure = [row(0), row(1), row(2), row(3)];
            let speed = vz[l].abs();
            let into = [x_in, y_in, z_in * speed, normal.max(T::ZERO)];
            let out = [x_out, y_out, z_out * speed, (-normal).max(T::ZERO)];
            let from_wall = beam.equilibrium::<LINEAR, false>(&emitted, beam.own(vz[l]));
            let values = [inflow[0][l], inflow[1][l], inflow[2][l], from_wall];
            let source = nu * local[l];
            let all = if LINEAR {
                cell::cut::<T, false, true>(source, nu, into, out, &closure, values)
            } else {
                cell::cut::<T, true, true>(source, nu, into, out, &closure, values)
            };
            for k in 0..4 {
                found[k][l] = all[k];
            }
            let part = wz[l] * out[3] * inverse * all[4];
            struck[0] += part;
            struck[1] = vz[l].mul_add(part, struck[1]);
            struck[2] = (vz[l] * vz[l]).mul_add(part, struck[2]);
        }
        found
    }

    /// The batches that are carried after some are done.
    #[inline(always)]
    fn carried(&self, done: u32) -> Carried {
        let (left, most) = (self.work.batches - done, self.work.together);
        Carried {
            done,
            count: if left < most { left } else { most },
            fresh: done == 0,
        }
    }

    /// The coordinates of a front's cell for the thread at a lane and a row.
    #[inline(always)]
    fn cell(&self, front: &Front, lane: u32, row: u32) -> [u32; 3] {
        let y = front.tile_y * self.shape.lanes + lane;
        [front.x, y, front.tile_z * self.shape.rows + row]
    }

    /// Whether space has this cell, and the thread batches for it.
    #[inline(always)]
    fn has(&self, [x, y, z]: [u32; 3], done: u32) -> bool {
        let shape = &self.shape;
        x < shape.nx && y < shape.ny && z < shape.nz && done < self.work.batches
    }

    /// The front one step on.
    #[inline(always)]
    fn advanced(&self, front: Front, first_diagonal: u32) -> Front {
        let shape = &self.shape;
        let mut next = front;
        next.x += 1;
        next.diagonal += 1;
        if next.diagonal == shape.nx {
            next.diagonal = 0;
        }
        if next.x == shape.steps() {
            (next.x, next.diagonal) = (0, first_diagonal);
            next.tile_y += 1;
            if next.tile_y == shape.tiles_y() {
                next.tile_y = 0;
                next.tile_z += 1;
                if next.tile_z == shape.tiles_z() {
                    next.tile_z = 0;
                    next.done += self.work.together;
                }
            }
        }
        next
    }

    /// Sweeps the block's velocities through all cells.
    #[inline(always)]
    #[track_caller]
    fn march(&self) {
        let (t, shape, work) = (self.t, self.shape, self.work);
        let thread = t.thread_idx();
        let row = quotient(thread, shape.lanes);
        let lane = thread - row * shape.lanes;
        let lag = row + lane;
        let first_diagonal = lane - quotient(lane, shape.nx) * shape.nx;
        let passes = quotient(work.batches + work.together - 1, work.together);
        let tiles = shape.tiles_y() * shape.tiles_z();
        let steps = passes * tiles * shape.steps() + shape.lanes + shape.rows - 2;
        let mut front = Front {
            x: 0,
            diagonal: first_diagonal,
            tile_y: 0,
            tile_z: 0,
            done: 0,
        };
        if lag == 0 {
            self.fetch(&front, 0, lane, row);
        }
        t.end_copies();
        t.wait_copies(0);
        t.sync_threads();
        for step in 0..steps {
            let parity = step & 1;
            let cell = self.cell(&front, lane, row);
            let here = step >= lag && self.has(cell, front.done);
            let next = match step >= lag {
                true => self.advanced(front, first_diagonal),
                false => front,
            };
            if step + 1 >= lag {
                self.fetch(&next, parity ^ 1, lane, row);
            }
            t.end_copies();
            if here {
                let carried = self.carried(front.done);
                let slots = self.slots(parity, lane, row);
                let place = cell[2] * shape.layer() + self.in_layer(&front, lane);
                let numbers = self.load(place, carried.fresh);
                if numbers.code == code::NOTHING {
                    self.block_out(slots, carried);
                } else {
                    let from_x = if front.x == 0 { slots.x_side } else { slots.x };
                    match numbers.code == code::FULL {
                        true => self.update::<false>(&numbers, from_x, slots, carried),
                        false => self.update::<true>(&numbers, from_x, slots, carried),
                    }
                }
                self.pass(&front, slots, lane, row);
            }
            front = next;
            t.wait_copies(0);
            t.sync_threads();
        }
    }

    /// Starts to copy what enters a cell from sides and from earlier tiles to its slots.
    #[inline(always)]
    #[track_caller]
    fn fetch(&self, front: &Front, parity: u32, lane: u32, row: u32) {
        let cell = self.cell(front, lane, row);
        if !self.has(cell, front.done) {
            return;
        }
        let slots = self.slots(parity, lane, row);
        let carried = self.carried(front.done);
        if cell[0] == 0 {
            self.copy(
                self.border(0, border::INFLOW, cell, front.done),
                slots.x_side,
                carried,
            );
        }
        if cell[1] == 0 {
            self.copy(
                self.border(1, border::INFLOW, cell, front.done),
                slots.y_in,
                carried,
            );
        } else if lane == 0 {
            self.copy(self.line(row, front.x), slots.y_in, carried);
        }
        if cell[2] == 0 {
            self.copy(
                self.border(2, border::INFLOW, cell, front.done),
                slots.z_in,
                carried,
            );
        } else if row == 0 {
            self.copy(self.layer(self.in_layer(front, lane)), slots.z_in, carried);
        }
    }

    /// Passes what leaves a cell on to sides and to later tiles.
    #[inline(always)]
    #[track_caller]
    fn pass(&self, front: &Front, slots: Slots, lane: u32, row: u32) {
        let shape = &self.shape;
        let cell = self.cell(front, lane, row);
        let carried = self.carried(front.done);
        if cell[0] == shape.nx - 1 {
            self.write(
                self.border(0, border::OUTFLOW, cell, front.done),
                slots.x,
                carried,
            );
        }
        if cell[1] == shape.ny - 1 {
            self.write(
                self.border(1, border::OUTFLOW, cell, front.done),
                slots.y_out,
                carried,
            );
        } else if lane == shape.lanes - 1 {
            self.write(self.line(row, front.x), slots.y_out, carried);
        }
        if cell[2] == shape.nz - 1 {
            self.write(
                self.border(2, border::OUTFLOW, cell, front.done),
                slots.z_out,
                carried,
            );
        } else if row == shape.rows - 1 {
            self.write(self.layer(self.in_layer(front, lane)), slots.z_out, carried);
        }
    }

    /// Starts to copy the values that the thread carries to a slot.
    #[inline(always)]
    #[track_caller]
    fn copy(&self, from: usize, slot: u32, carried: Carried) {
        for pack in 0..carried.count * self.work.packs {
            let from = from + (L as u32 * pack) as usize;
            let slot = slot + pack * self.stride();
            self.output
                .passing
                .copy_to::<L, S>(self.t, from, self.exchange.slots, slot);
        }
    }

    /// Writes the values of a slot that the thread carries.
    #[inline(always)]
    #[track_caller]
    fn write(&self, to: usize, slot: u32, carried: Carried) {
        for pack in 0..carried.count * self.work.packs {
            let slot = slot + pack * self.stride();
            let f = self.exchange.slots.get_run::<L, S>(self.t, slot);
            let to = to + (L as u32 * pack) as usize;
            self.output.passing.set_run::<L, S>(self.t, to, f);
        }
    }

    /// The first value that crosses a face of a side.
    #[inline(always)]
    #[track_caller]
    fn border(&self, axis: u32, what: u32, cell: [u32; 3], done: u32) -> usize {
        let number = |k: u32| self.exchange.borders.get(self.t, axis * border::LEN + k);
        let cell = self.shape.turned(self.work.octant, cell);
        let face = u64::from(self.shape.face_of(axis, cell));
        let place = self.work.place + done * self.work.packs * L as u32;
        (number(what) + face * number(what + 1) + u64::from(place)) as usize
    }

    /// The place of a cell in its layer.
    #[inline(always)]
    fn in_layer(&self, front: &Front, lane: u32) -> u32 {
        (front.tile_y * self.shape.nx + front.diagonal) * self.shape.lanes + lane
    }

    /// The first value that passes from tile to tile along y at a column of a row.
    #[inline(always)]
    fn line(&self, row: u32, x: u32) -> usize {
        let shape = &self.shape;
        let block = self.work.block as usize * shape.passed() as usize;
        block + L * (shape.packs * (row * shape.nx + x)) as usize
    }

    /// The first value that passes from tile to tile along z at a place of a layer.
    #[inline(always)]
    fn layer(&self, in_layer: u32) -> usize {
        let shape = &self.shape;
        let block = self.work.block as usize * shape.passed() as usize;
        block + L * (shape.packs * (shape.rows * shape.nx + in_layer)) as usize
    }

    /// The slots of a thread in a step of this parity: it reads those of one parity and writes those of the other.
    #[inline(always)]
    fn slots(&self, parity: u32, lane: u32, row: u32) -> Slots {
        let shape = &self.shape;
        let width = L as u32;
        let along_y = shape.rows * (shape.lanes + 1);
        let along_z = (shape.rows + 1) * shape.lanes;
        let y = row * (shape.lanes + 1) + lane;
        let z = 2 * along_y + row * shape.lanes + lane;
        let x = 2 * (along_y + along_z);
        let other = parity ^ 1;
        Slots {
            x: width * (x + row * shape.lanes + lane),
            x_side: width * (x + shape.threads() + parity * shape.rows + row),
            y_in: width * (parity * along_y + y),
            y_out: width * (other * along_y + y + 1),
            z_in: width * (parity * along_z + z),
            z_out: width * (other * along_z + z + shape.lanes),
        }
    }
}

/// Adds a pack's part to the moments along z of a cell's sums.
#[inline(always)]
fn add_moments<T: Real, const L: usize>(
    moments: &mut [T; 4],
    wz: [T; L],
    own: [T; L],
    f: [T; L],
    local: [T; L],
) {
    for l in 0..L {
        let d = wz[l] * (f[l] - local[l]);
        let squared = own[l] * own[l] * d;
        moments[0] += d;
        moments[1] = own[l].mul_add(d, moments[1]);
        moments[2] += squared;
        moments[3] = own[l].mul_add(squared, moments[3]);
    }
}

/// The update of a full cell: value, and outflow through the x, y and z faces.
#[inline(always)]
fn full<T: Real, const LINEAR: bool>(nu: T, local: T, flux: [T; 3], inflow: [T; 3]) -> [T; 4] {
    if LINEAR {
        cell::full::<T, false, true>(nu * local, nu, flux, inflow)
    } else {
        cell::full::<T, true, true>(nu * local, nu, flux, inflow)
    }
}

/// The work of one block, with `L` velocities to a pack.
#[inline(always)]
#[track_caller]
fn volume<S: Simt, T: Real, const LINEAR: bool, const INTERNAL: bool, const L: usize>(
    t: &S,
    input: &Input<'_, T>,
    output: &Output<'_, T>,
    exchange: Exchange<'_, T>,
    lists: Lists<'_, T>,
    shape: VolumeShape,
) {
    let record = (shape.first_block + t.block_idx()) as usize * work::LEN;
    let integer = |k: usize| lists.blocks.get(t, record + k);
    let [octant, first, batches] =
        [work::OCTANT, work::FIRST, work::BATCHES].map(|k: usize| integer(k));
    let half = (octant >> 2) * shape.table();
    let threads = t.block_dim();
    let mut k = t.thread_idx();
    while k < shape.table() {
        let number = lists.heights.get(t, (half + k) as usize);
        exchange.table.set(t, k, number);
        k += threads;
    }
    let mut k = t.thread_idx();
    while k < batches {
        let pair = lists.pairs.get(t, (first + k) as usize);
        exchange.pairs.set(t, k, pair);
        k += threads;
    }
    let mut k = t.thread_idx();
    while k < 3 * border::LEN {
        let at = octant * 3 * border::LEN + k;
        exchange
            .borders
            .set(t, k, lists.borders.get(t, at as usize));
        k += threads;
    }
    t.sync_threads();
    let thread = Thread::<S, T, LINEAR, INTERNAL, L> {
        t,
        input,
        output,
        exchange,
        shape,
        work: Work {
            block: t.block_idx(),
            batches,
            octant,
            packs: integer(work::PACKS),
            together: integer(work::TOGETHER),
            place: integer(work::PLACE),
        },
    };
    thread.march();
}

/// The same for packs of 16 bytes.
#[inline(always)]
#[track_caller]
fn sweep<S: Simt, T: Real, const LINEAR: bool, const INTERNAL: bool>(
    t: &S,
    input: &Input<'_, T>,
    output: &Output<'_, T>,
    exchange: Exchange<'_, T>,
    lists: Lists<'_, T>,
    shape: VolumeShape,
) {
    if size_of::<T>() == 4 {
        volume::<S, T, LINEAR, INTERNAL, 4>(t, input, output, exchange, lists, shape);
    } else {
        volume::<S, T, LINEAR, INTERNAL, 2>(t, input, output, exchange, lists, shape);
    }
}

kernel! {
    /// Sweeps of space with bodies, by the diamond with the soft blend; no distribution is stored.
    ///
    /// A block owns batches of velocities of one octant: a batch has one (v_x, v_y) and the v_z of a half axis, or a part of them. Its threads are a tile of columns of cells,
    /// `lanes` along y and `rows` along z. A thread marches along x, as many steps behind the first one as its lane and its row count, so that each has the outflow of
    /// its neighbours one step after they found it. Tiles, and then batches, follow each other through the pipeline, so that only its ends are idle.
    ///
    /// The flux along x stays in places of shared memory that only its thread touches. Fluxes along y and z go through shared memory too, doubled, with one barrier a step.
    /// Those to the next tile go through `passing`, which a tile's last lane or row writes and the first reads a tile later, as copies that start a step ahead: a tile has more
    /// steps than lanes and rows, so that a barrier separates writer and reader. A thread writes the sums and facets of its own cells only: no race.
    ///
    /// Inflow and outflow of sides are in `passing` too, `[face][velocity]` at the places that `borders[octant][axis]` has. Partial sums: `sums[block][sum][place]`,
    /// `arrivals[block][facet][moment]`.
    ///
    /// A full cell and velocity in f32: about 58 instructions, with an exponential and three reciprocals, and 6 words to and from shared memory. A cell and step: 13 numbers of the
    /// cell, and 8 sums read and written, for all velocities that a thread carries. Shared memory: about 5 words a thread and velocity (10 in f64).
    pub fn flow_volume<T: Real>(
        t, fields: In<Quad<T>>, codes: In<u32>, pairs: In<Quad<T>>, heights: In<T>, walls: In<Quad<T>>, emission: In<Quad<T>>, blocks: In<u32>, borders: In<u64>,
        sums: InOut<T>, arrivals: InOut<T>, passing: InOut<T>;
        shape: VolumeShape,
    ) for f32, f64
    shared { slots: [T; shape.exchanged()], table: [T; shape.table()], own: [Quad<T>; shape.batches], directions: [u64; 3 * border::LEN] } {
        let input = Input { fields, drifts: fields, codes, walls, emission };
        let lists = Lists { blocks, pairs, heights, borders };
        let output = Output { sums, arrivals, passing };
        let exchange = Exchange { slots, table, pairs: own, borders: directions };
        sweep::<Machine, T, false, false>(t, &input, &output, exchange, lists, shape);
    }
}

kernel! {
    /// [`flow_volume()`] for the linearised equation: no exponential, and no blend.
    pub fn flow_volume_linear<T: Real>(
        t, fields: In<Quad<T>>, codes: In<u32>, pairs: In<Quad<T>>, heights: In<T>, walls: In<Quad<T>>, emission: In<Quad<T>>, blocks: In<u32>, borders: In<u64>,
        sums: InOut<T>, arrivals: InOut<T>, passing: InOut<T>;
        shape: VolumeShape,
    ) for f32, f64
    shared { slots: [T; shape.exchanged()], table: [T; shape.table()], own: [Quad<T>; shape.batches], directions: [u64; 3 * border::LEN] } {
        let input = Input { fields, drifts: fields, codes, walls, emission };
        let lists = Lists { blocks, pairs, heights, borders };
        let output = Output { sums, arrivals, passing };
        let exchange = Exchange { slots, table, pairs: own, borders: directions };
        sweep::<Machine, T, true, false>(t, &input, &output, exchange, lists, shape);
    }
}

kernel! {
    /// [`flow_volume()`] for the internal energy of molecules that rotate, whose equilibrium has a drift.
    pub fn flow_volume_internal<T: Real>(
        t, fields: In<Quad<T>>, drifts: In<Quad<T>>, codes: In<u32>, pairs: In<Quad<T>>, heights: In<T>, walls: In<Quad<T>>, emission: In<Quad<T>>, blocks: In<u32>, borders: In<u64>,
        sums: InOut<T>, arrivals: InOut<T>, passing: InOut<T>;
        shape: VolumeShape,
    ) for f32, f64
    shared { slots: [T; shape.exchanged()], table: [T; shape.table()], own: [Quad<T>; shape.batches], directions: [u64; 3 * border::LEN] } {
        let input = Input { fields, drifts, codes, walls, emission };
        let lists = Lists { blocks, pairs, heights, borders };
        let output = Output { sums, arrivals, passing };
        let exchange = Exchange { slots, table, pairs: own, borders: directions };
        sweep::<Machine, T, false, true>(t, &input, &output, exchange, lists, shape);
    }
}

kernel! {
    /// Adds the partial sums of a launch of [`flow_volume()`] over the blocks of an octant (`ranges[launch][octant][first, end]`), in their order and in f64, to
    /// `cells[cell][sum]`, or sets these where `fresh`. Cells without gas have 0. One thread a place of the octant, so that a warp reads neighbours.
    pub fn flow_volume_cells<T: Real>(
        t, partials: In<T>, codes: In<u32>, ranges: In<u32>, cells: InOut<f64>; shape: VolumeShape, launch: u32, octant: u32, fresh: u32,
    ) for f32, f64 {
        let place = t.global_idx() as u32;
        let places = shape.places() as usize;
        if place < shape.places()
            && let Some(cell) = shape.cell_at(octant, place)
        {
            let mut total = [0.0; UNKNOWNS];
            if codes.get(t, octant as usize * places + place as usize) != code::NOTHING {
                let range = (ranges::LEN * launch + 2 * octant) as usize;
                let end = ranges.get(t, range + 1);
                let mut block = ranges.get(t, range);
                while block < end {
                    let at = UNKNOWNS * block as usize * places + place as usize;
                    let mut k = 0;
                    while k < UNKNOWNS {
                        total[k] += partials.get(t, at + k * places).to_f64();
                        k += 1;
                    }
                    block += 1;
                }
            }
            accumulate(t, cells, UNKNOWNS * shape.cell(cell) as usize, fresh > 0, total);
        }
    }
}

kernel! {
    /// Adds the moments that arrive at each facet over the blocks of a launch of [`flow_volume()`], in their order and in f64, to `totals[facet][moment]`; launch 0 sets.
    /// One thread a moment.
    pub fn flow_volume_facets<T: Real>(t, arrivals: In<T>, ranges: In<u32>, totals: InOut<f64>; shape: VolumeShape, launch: u32) for f32, f64 {
        let item = t.global_idx() as u32;
        let count = MOMENTS as u32 * shape.facets;
        if item < count {
            let end = ranges.get(t, (ranges::LEN * launch) as usize + ranges::COUNT);
            let mut sum = 0.0;
            let mut block = 0;
            while block < end {
                sum += arrivals.get(t, block as usize * count as usize + item as usize).to_f64();
                block += 1;
            }
            accumulate(t, totals, item as usize, launch == 0, [sum]);
        }
    }
}

/// A side, as the kernels of sides see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SideShape {
    /// First value of the inflow in what passes.
    pub inflow: u64,
    /// First value of the outflow.
    pub outflow: u64,
    /// First given value of the inflow.
    pub given: u64,
    /// First value of the outflow that is kept.
    pub kept: u64,
    /// Left, right, bottom, top, back, front.
    pub side: u32,
    /// Faces of the inflow: all, or one where all have the same.
    pub rows: u32,
    /// Faces.
    pub faces: u32,
    /// Velocities of a face, in the order of batches.
    pub velocities: u32,
    /// Nodes with their padding.
    pub nodes: u32,
    /// First Maxwellian in the list of emissions.
    pub first: u32,
    /// First face in the totals.
    pub total: u32,
    /// 1 where the inflow is the image of the outflow.
    pub mirrors: u32,
}

impl SideShape {
    #[inline(always)]
    fn axis(&self) -> u32 {
        self.side >> 1
    }
    /// Whether a velocity enters through the side.
    #[inline(always)]
    fn lets_in<T: Real>(&self, v: [T; 3]) -> bool {
        let normal = self.normal(v);
        if self.side & 1 == 0 {
            normal > T::ZERO
        } else {
            normal < T::ZERO
        }
    }
    #[inline(always)]
    fn normal<T: Real>(&self, [x, y, z]: [T; 3]) -> T {
        match self.axis() {
            0 => x,
            1 => y,
            _ => z,
        }
    }
}

kernel! {
    /// The inflow of a side in the order of batches: a share of Maxwellians, and for the rest given values; `nodes` are those of the velocities, or `u32::MAX`. One thread a value.
    pub fn flow_volume_inflow<T: Real>(
        t, emission: In<Quad<T>>, velocities: In<Quad<T>>, nodes: In<u32>, given: In<T>, passing: InOut<T>; side: SideShape, linear: u32, share: T,
    ) for f32, f64 {
        let item = t.global_idx() as u32;
        let row = quotient(item, side.velocities);
        if row < side.rows {
            let place = item - row * side.velocities;
            let [x, y, z, _] = velocities.get(t, place as usize).0;
            if side.lets_in([x, y, z]) {
                let mut f = T::ZERO;
                if share > T::ZERO {
                    let quad = |k: usize| emission.get(t, 3 * (side.first + row) as usize + k);
                    let (c, _) = joined([quad(0), quad(1), quad(2)]);
                    f = share * if linear > 0 {
                        equilibrium::<T, true, false, true>(&c, [x, y, z], fast_exponential)
                    } else {
                        equilibrium::<T, false, false, true>(&c, [x, y, z], fast_exponential)
                    };
                }
                let node = nodes.get(t, place as usize);
                if share < T::ONE && node < side.nodes {
                    let at = side.given as usize + (row * side.nodes + node) as usize;
                    f = (T::ONE - share).mul_add(given.get(t, at), f);
                }
                passing.set(t, side.inflow as usize + item as usize, f);
            }
        }
    }
}

kernel! {
    /// The outflow of a side in the order of nodes, whose velocities are at `places`; 0 at nodes that enter. One thread a value.
    pub fn flow_volume_outflow<T: Real>(
        t, velocities: In<Quad<T>>, places: In<u32>, passing: In<T>, kept: InOut<T>; side: SideShape,
    ) for f32, f64 {
        let item = t.global_idx() as u32;
        let face = quotient(item, side.nodes);
        if face < side.faces {
            let place = places.get(t, (item - face * side.nodes) as usize);
            let [x, y, z, _] = velocities.get(t, place as usize).0;
            let mut f = T::ZERO;
            if !side.lets_in([x, y, z]) {
                let at = side.outflow as usize + (face * side.velocities + place) as usize;
                f = passing.get(t, at);
            }
            kept.set(t, side.kept as usize + item as usize, f);
        }
    }
}

kernel! {
    /// `totals[face of any side][leaving, entering][moment]` of one side, in f64. A warp a face: its lanes take velocities in turn and add up in a fixed order.
    pub fn flow_volume_sides<T: Real>(t, velocities: In<Quad<T>>, images: In<u32>, passing: In<T>, totals: Out<f64>; side: SideShape) for f32, f64 {
        let face = quotient(t.global_idx() as u32, WARP);
        let mut sums = [[0.0; MOMENTS]; 2];
        if face < side.faces {
            let row = if side.rows > 1 { face } else { 0 };
            let outflow = side.outflow as usize + face as usize * side.velocities as usize;
            let inflow = side.inflow as usize + row as usize * side.velocities as usize;
            let mut place = t.lane();
            while place < side.velocities {
                let [x, y, z, weight] = velocities.get(t, place as usize).0;
                let v = [x.to_f64(), y.to_f64(), z.to_f64()];
                let weight = weight.to_f64();
                if weight > 0.0 {
                    let speed = weight * side.normal(v).abs();
                    if side.lets_in(v) {
                        let at = if side.mirrors > 0 {
                            let image = images.get(t, (side.axis() * side.velocities + place) as usize);
                            outflow + image as usize
                        } else {
                            inflow + place as usize
                        };
                        add_flux::<f64, true>(&mut sums[1], v, speed * passing.get(t, at).to_f64());
                    } else {
                        let value = passing.get(t, outflow + place as usize);
                        add_flux::<f64, true>(&mut sums[0], v, speed * value.to_f64());
                    }
                }
                place += WARP;
            }
        }
        let mut mask = WARP / 2;
        while mask > 0 {
            for k in 0..MOMENTS {
                sums[0][k] += t.shuffle_xor(sums[0][k], mask);
                sums[1][k] += t.shuffle_xor(sums[1][k], mask);
            }
            mask /= 2;
        }
        if face < side.faces && t.lane() == 0 {
            let at = 2 * MOMENTS * (side.total + face) as usize;
            for k in 0..MOMENTS {
                totals.set(t, at + k, sums[0][k]);
                totals.set(t, at + MOMENTS + k, sums[1][k]);
            }
        }
    }
}
