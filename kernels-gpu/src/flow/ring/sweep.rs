//! The sweep round an axis, and the sums over its blocks.

use super::cell::full;
use super::layout::{QUADS, RingShape, code, ring, side, unit, wall};
use crate::bgk::exponential::fast_exponential;
use crate::flow::volume::cell::{cut, through};
use crate::flow::volume::gas::{Coefficients, FREQUENCY, about, dot, equilibrium};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, InOut, Quad, Shared};
use crate::simt::Simt;

/// Input of [`flow_ring()`].
#[derive(Clone, Copy)]
struct Input<'a, T: Real> {
    cells: In<'a, Quad<T>>,
    rings: In<'a, Quad<T>>,
    codes: In<'a, u32>,
    walls: In<'a, Quad<T>>,
    emission: In<'a, Quad<T>>,
    sides: In<'a, u64>,
    shares: In<'a, T>,
    given: In<'a, T>,
    turn: In<'a, Quad<T>>,
    units: In<'a, u32>,
    pairs: In<'a, Quad<T>>,
}

/// The output of [`flow_ring()`].
#[derive(Clone, Copy)]
struct Output<'a, T: Real> {
    sums: InOut<'a, Quad<T>>,
    passing: InOut<'a, T>,
    kept: InOut<'a, T>,
}

/// The shared memory of [`flow_ring()`].
#[derive(Clone, Copy)]
struct Exchange<'a, T: Real> {
    /// Fluxes along the axis, each thread's own.
    along: Shared<'a, T>,
    /// Fluxes to the next row, of even and of odd steps.
    across: Shared<'a, T>,
    /// Values to the next group of directions, of even and of odd steps.
    between: Shared<'a, T>,
}

/// A velocity along the axis and a speed across it, in the angles of one quarter turn.
#[derive(Clone, Copy)]
struct Pair<T> {
    /// Velocity along the axis, speed across it, and volume of both.
    v: [T; 3],
    /// Node of the first angle.
    node: u32,
    /// 0 for v_x > 0, 1 for v_x < 0.
    sign: u32,
    /// Whether the molecules come nearer to the axis.
    inwards: bool,
}

/// A direction of a pair: straight to the axis, or one of the angles.
#[derive(Clone, Copy)]
struct Direction<T> {
    v: [T; 3],
    weight: T,
    /// Flux from the last angle and to the next, over that of an area at the speed.
    turn: [T; 2],
    /// Its place among all, the straight one first.
    step: u32,
    node: u32,
}

impl<T> Direction<T> {
    #[inline(always)]
    fn is_straight(&self) -> bool {
        self.step == 0
    }
}

/// A ring that is visited.
#[derive(Clone, Copy)]
struct Visit {
    row: Row,
    x: u32,
    /// That of the step.
    parity: u32,
}

/// A thread's row in a band of rows, and its directions.
#[derive(Clone, Copy)]
struct Row {
    r: u32,
    /// Its place in the band, and the group of the directions.
    place: u32,
    group: u32,
    /// The first direction, and the end.
    directions: [u32; 2],
    /// Steps behind the first row and group.
    lag: u32,
    /// No row of the band is before it, or none behind it.
    is_first: bool,
    is_last: bool,
}

/// Sums of a ring: mass and momentum along x and r, energy; heat flux along x and r.
#[derive(Clone, Copy)]
struct Sums<T> {
    first: [T; 4],
    heat: [T; 2],
}

/// Mass, momentum along x and r and twice the energy of a flux; without swirl there is none along the third direction.
#[inline(always)]
fn moments<T: Real>(before: [T; 4], v: [T; 3], part: T) -> [T; 4] {
    [
        before[0] + part,
        v[0].mul_add(part, before[1]),
        v[1].mul_add(part, before[2]),
        dot::<T, true>(v, v, T::ZERO).mul_add(part, before[3]),
    ]
}

/// Adds to a block's sums.
#[inline(always)]
#[track_caller]
fn accumulate<S: Simt, T: Real>(t: &S, to: InOut<'_, Quad<T>>, at: usize, parts: [T; 4]) {
    let before = to.get(t, at).0;
    to.set(
        t,
        at,
        Quad([
            before[0] + parts[0],
            before[1] + parts[1],
            before[2] + parts[2],
            before[3] + parts[3],
        ]),
    );
}

/// A thread of [`flow_ring()`].
struct Thread<'a, S: Simt, T: Real, const LINEAR: bool, const INTERNAL: bool> {
    t: &'a S,
    input: &'a Input<'a, T>,
    output: &'a Output<'a, T>,
    exchange: Exchange<'a, T>,
    shape: RingShape,
}

impl<S: Simt, T: Real, const LINEAR: bool, const INTERNAL: bool>
    Thread<'_, S, T, LINEAR, INTERNAL>
{
    /// A place among the sums of the block.
    #[inline(always)]
    fn sum_at(&self, place: u32) -> usize {
        self.t.block_idx() as usize * self.shape.sums() as usize + place as usize
    }

    /// A place among the values that the block keeps.
    #[inline(always)]
    fn kept_at(&self, place: u32) -> usize {
        self.t.block_idx() as usize * self.shape.kept() as usize + place as usize
    }

    #[inline(always)]
    #[track_caller]
    fn coefficients(&self, of: In<'_, Quad<T>>, at: usize) -> Coefficients<T> {
        let quad = |k: usize| of.get(self.t, QUADS * at + k).0;
        let ([a0, a1, a2, a3], [b0, b1, b2, b3], [c0, c1, c2, c3]) = (quad(0), quad(1), quad(2));
        [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3]
    }

    /// The Maxwellian of an emission at a velocity.
    #[inline(always)]
    #[track_caller]
    fn emitted(&self, at: usize, v: [T; 3]) -> T {
        let c = self.coefficients(self.input.emission, at);
        equilibrium::<T, LINEAR, false, true>(&c, v, fast_exponential)
    }

    /// Directions of a quarter turn; the straight one belongs to the way inwards.
    #[inline(always)]
    fn directions(&self, pair: &Pair<T>) -> u32 {
        self.shape.steps() - if pair.inwards { 0 } else { 1 }
    }

    #[inline(always)]
    #[track_caller]
    fn direction(&self, pair: &Pair<T>, m: u32) -> Direction<T> {
        let [vx, speed, volume] = pair.v;
        let step = if pair.inwards {
            m
        } else {
            self.shape.steps() + m
        };
        if step == 0 {
            return Direction {
                v: [vx, -speed, T::ZERO],
                weight: T::ZERO,
                turn: [T::ZERO; 2],
                step,
                node: pair.node,
            };
        }
        let angle = step - 1;
        let [cosine, sine, weight, _] = self.input.turn.get(self.t, 2 * angle as usize).0;
        let [from, to, ..] = self.input.turn.get(self.t, 2 * angle as usize + 1).0;
        Direction {
            v: [vx, speed * cosine, speed * sine],
            weight: volume * weight,
            turn: [speed * from, speed * to],
            step,
            node: pair.node + angle * self.shape.stride,
        }
    }

    #[inline(always)]
    #[track_caller]
    fn side(&self, side: u32, k: usize) -> u64 {
        self.input.sides.get(self.t, side as usize * side::LEN + k)
    }

    /// The inflow through a face of a side.
    #[inline(always)]
    #[track_caller]
    fn inflow(&self, side: u32, face: u32, of: &Direction<T>) -> T {
        let t = self.t;
        if self.side(side, side::MIRRORS) > 0 {
            let at = of.step * self.shape.nr + face;
            return self.output.passing.get(t, self.kept_at(at));
        }
        let share = self.input.shares.get(t, side as usize);
        let mut f = T::ZERO;
        if share > T::ZERO {
            let row = u64::from(face) * self.side(side, side::STRIDE);
            let at = self.side(side, side::FIRST) + row;
            f = share * self.emitted(at as usize, of.v);
        }
        let given = self.side(side, side::GIVEN);
        if given != side::NONE {
            let at = given + u64::from(face) * u64::from(self.shape.nodes) + u64::from(of.node);
            f = (T::ONE - share).mul_add(self.input.given.get(t, at as usize), f);
        }
        f
    }

    /// Keeps the outflow through a face of a side, if the side wants it.
    #[inline(always)]
    #[track_caller]
    fn keep(&self, side: u32, face: u32, of: &Direction<T>, value: T) {
        let kept = self.side(side, side::KEPT);
        if kept != side::NONE && !of.is_straight() {
            let at = kept + u64::from(face) * u64::from(self.shape.nodes) + u64::from(of.node);
            self.output.kept.set(self.t, at as usize, value);
        }
    }

    /// The slot of a row at a direction.
    #[inline(always)]
    fn own(&self, row: &Row, m: u32) -> u32 {
        m * self.shape.rows + row.place
    }

    /// Takes in the inflow of a row along the axis.
    #[inline(always)]
    #[track_caller]
    fn enter(&self, pair: &Pair<T>, row: &Row) {
        let mut sums = [T::ZERO; 4];
        for m in 0..self.directions(pair) {
            let of = self.direction(pair, m);
            let value = self.inflow(pair.sign, row.r, &of);
            self.exchange.along.set(self.t, self.own(row, m), value);
            sums = moments(sums, of.v, of.weight * of.v[0].abs() * value);
        }
        let at = self.sum_at(self.shape.face(pair.sign, row.r, true));
        accumulate(self.t, self.output.sums, at, sums);
    }

    /// Adds up and keeps the outflow of a row along the axis.
    #[inline(always)]
    #[track_caller]
    fn leave(&self, pair: &Pair<T>, row: &Row) {
        let to = 1 - pair.sign;
        let mut sums = [T::ZERO; 4];
        for m in 0..self.directions(pair) {
            let of = self.direction(pair, m);
            let value = self.exchange.along.get(self.t, self.own(row, m));
            sums = moments(sums, of.v, of.weight * of.v[0].abs() * value);
            self.keep(to, row.r, &of, value);
            if self.side(to, side::MIRRORS) > 0 {
                let at = of.step * self.shape.nr + row.r;
                self.output.passing.set(self.t, self.kept_at(at), value);
            }
        }
        let at = self.sum_at(self.shape.face(to, row.r, false));
        accumulate(self.t, self.output.sums, at, sums);
    }

    /// Lays out the inflow of the first row of a quarter turn, from a side or from the axis. Each thread takes its share of the rings.
    #[inline(always)]
    #[track_caller]
    fn enter_across(&self, pair: &Pair<T>) {
        let (t, shape) = (self.t, self.shape);
        let from = if pair.inwards { 3 } else { 2 };
        let mut x = t.thread_idx();
        while x < shape.nx {
            let mut sums = [T::ZERO; 4];
            for m in 0..self.directions(pair) {
                let of = self.direction(pair, m);
                // At the axis all angles are one direction.
                let value = if !pair.inwards && shape.has_axis > 0 {
                    self.output.passing.get(t, self.kept_at(shape.centre(x)))
                } else {
                    self.inflow(from, x, &of)
                };
                self.output
                    .passing
                    .set(t, self.kept_at(shape.line(m, x)), value);
                sums = moments(sums, of.v, of.weight * of.v[1].abs() * value);
            }
            let at = self.sum_at(shape.face(from, x, true));
            accumulate(t, self.output.sums, at, sums);
            x += t.block_dim();
        }
    }

    /// Adds up and keeps the outflow of the last row of a quarter turn, to a side or straight to the axis.
    #[inline(always)]
    #[track_caller]
    fn leave_across(&self, pair: &Pair<T>) {
        let (t, shape) = (self.t, self.shape);
        let to = if pair.inwards { 2 } else { 3 };
        let mut x = t.thread_idx();
        while x < shape.nx {
            let mut sums = [T::ZERO; 4];
            for m in 0..self.directions(pair) {
                let of = self.direction(pair, m);
                let value = self.output.passing.get(t, self.kept_at(shape.line(m, x)));
                if of.is_straight() {
                    self.output
                        .passing
                        .set(t, self.kept_at(shape.centre(x)), value);
                }
                self.keep(to, x, &of, value);
                sums = moments(sums, of.v, of.weight * of.v[1].abs() * value);
            }
            let at = self.sum_at(shape.face(to, x, false));
            accumulate(t, self.output.sums, at, sums);
            x += t.block_dim();
        }
    }

    /// The inflow of a ring across the radius.
    #[inline(always)]
    #[track_caller]
    fn inflow_across(&self, pair: &Pair<T>, visit: &Visit, m: u32) -> T {
        let (t, Visit { row, x, parity }) = (self.t, *visit);
        if row.is_first {
            let at = self.kept_at(self.shape.line(m, x));
            let value = self.output.passing.get(t, at);
            // Keeps both memories apart: one load from either would not know which it is.
            t.pin_accesses();
            return value;
        }
        let before = if pair.inwards {
            row.place + 1
        } else {
            row.place - 1
        };
        let slot = (parity ^ 1) * self.shape.slots() + m * self.shape.rows + before;
        self.exchange.across.get(t, slot)
    }

    /// Passes the outflow of a ring across the radius on.
    #[inline(always)]
    #[track_caller]
    fn pass(&self, visit: &Visit, m: u32, value: T) {
        let (t, Visit { row, x, parity }) = (self.t, *visit);
        if row.is_last {
            let at = self.kept_at(self.shape.line(m, x));
            self.output.passing.set(t, at, value);
            // As above.
            t.pin_accesses();
        } else {
            let slot = parity * self.shape.slots() + self.own(&row, m);
            self.exchange.across.set(t, slot, value);
        }
    }

    /// The value of a ring between the last direction of the group before and the first one of the thread; `kept` is that between both quarter turns.
    #[inline(always)]
    #[track_caller]
    fn handed(&self, pair: &Pair<T>, visit: &Visit, kept: T) -> T {
        let (row, rows) = (visit.row, self.shape.rows);
        if row.group > 0 {
            let slot =
                (visit.parity ^ 1) * self.shape.handed() + (row.group - 1) * rows + row.place;
            return self.exchange.between.get(self.t, slot);
        }
        if pair.inwards { T::ZERO } else { kept }
    }

    /// Hands a ring's value on to the next directions. Returns the one that stays between both quarter turns.
    #[inline(always)]
    #[track_caller]
    fn hand_on(&self, visit: &Visit, value: T, kept: T) -> T {
        let (row, shape) = (visit.row, self.shape);
        if row.group + 1 == shape.groups {
            return value;
        }
        let slot = visit.parity * shape.handed() + row.group * shape.rows + row.place;
        self.exchange.between.set(self.t, slot, value);
        kept
    }

    /// One ring at the directions of the thread.
    #[inline(always)]
    #[track_caller]
    fn visit(&self, pair: &Pair<T>, visit: &Visit) {
        let (t, shape, Visit { row, x, .. }) = (self.t, self.shape, *visit);
        let cell = (row.r * shape.nx + x) as usize;
        let code = self.input.codes.get(t, cell);
        let has_gas = code != code::NOTHING;
        let c = self.coefficients(self.input.cells, cell);
        let record = |k: usize| self.input.rings.get(t, ring::LEN * cell + k).0;
        let (opens, plane, [volume, area, ..]) = (
            record(ring::OPEN),
            record(ring::STRAIGHT),
            record(ring::SIZE),
        );
        let at = self.sum_at(2 * cell as u32);
        let rest = self.output.sums.get(t, at + 1).0;
        let mut between = self.handed(pair, visit, rest[2]);
        let mut sums = Sums {
            first: [T::ZERO; 4],
            heat: [T::ZERO; 2],
        };
        let mut struck = [T::ZERO; 4];
        let mean = about::<T, LINEAR>(&c);
        for m in row.directions[0]..row.directions[1] {
            let of = self.direction(pair, m);
            let across = self.inflow_across(pair, visit, m);
            let along = self.exchange.along.get(t, self.own(&row, m));
            let mut found = [T::ZERO; 4];
            if has_gas {
                let local = equilibrium::<T, LINEAR, INTERNAL, true>(&c, of.v, fast_exponential);
                let (open, size) = if of.is_straight() {
                    (plane, area)
                } else {
                    (opens, volume)
                };
                let nu = c[FREQUENCY] * size;
                let faces = Faces::new(pair, &of, open, area);
                let values = [along, across, between];
                found = if code == code::FULL {
                    let turn = [faces.into[2], faces.out[2]];
                    let radial = [faces.into[1], faces.out[1]];
                    if LINEAR {
                        full::<T, false, true>(nu * local, nu, faces.into[0], radial, turn, values)
                    } else {
                        full::<T, true, true>(nu * local, nu, faces.into[0], radial, turn, values)
                    }
                } else {
                    self.behind_wall(
                        pair,
                        code - code::CUT,
                        &of,
                        &faces,
                        nu,
                        local,
                        values,
                        &mut struck,
                    )
                };
                between = if of.is_straight() { found[0] } else { found[3] };
                let own = [of.v[0] - mean[0], of.v[1] - mean[1], of.v[2] - mean[2]];
                let d = of.weight * (found[0] - local);
                let square = dot::<T, true>(own, own, T::ZERO) * d;
                let half = T::from_f64(0.5) * square;
                sums.first = [
                    sums.first[0] + d,
                    own[0].mul_add(d, sums.first[1]),
                    own[1].mul_add(d, sums.first[2]),
                    sums.first[3] + square,
                ];
                sums.heat = [
                    own[0].mul_add(half, sums.heat[0]),
                    own[1].mul_add(half, sums.heat[1]),
                ];
            }
            self.exchange.along.set(t, self.own(&row, m), found[1]);
            self.pass(visit, m, found[2]);
        }
        let kept = self.hand_on(visit, between, rest[2]);
        if has_gas {
            accumulate(t, self.output.sums, at, sums.first);
            let heat = [
                rest[0] + sums.heat[0],
                rest[1] + sums.heat[1],
                kept,
                T::ZERO,
            ];
            self.output.sums.set(t, at + 1, Quad(heat));
        }
        if code >= code::CUT {
            let facet = self.sum_at(shape.facet(code - code::CUT));
            accumulate(t, self.output.sums, facet, struck);
        }
    }

    /// The update of a ring with a facet: value, and outflow along the axis, along the radius and to the next angle. Adds what arrives at the wall.
    #[allow(clippy::too_many_arguments, reason = "the numbers of one update")]
    #[inline(always)]
    #[track_caller]
    fn behind_wall(
        &self,
        pair: &Pair<T>,
        facet: u32,
        of: &Direction<T>,
        faces: &Faces<T>,
        nu: T,
        local: T,
        values: [T; 3],
        struck: &mut [T; 4],
    ) -> [T; 4] {
        let record = facet as usize * wall::LEN;
        let quad = |k: usize| self.input.walls.get(self.t, record + k).0;
        let [x, r, plane_x, plane_r] = quad(wall::NORMAL);
        let [inverse, ..] = quad(wall::INVERSE);
        let [x, r] = if of.is_straight() {
            [plane_x, plane_r]
        } else {
            [x, r]
        };
        let normal = through([of.v[0], of.v[1], T::ZERO], [x, r, T::ZERO]);
        let octant = pair.sign + if pair.inwards { 2 } else { 0 };
        let rows = wall::CLOSURE + 8 * octant as usize + if normal < T::ZERO { 4 } else { 0 };
        let c = [quad(rows), quad(rows + 1), quad(rows + 2), quad(rows + 3)];
        let emitted = self.emitted(facet as usize, of.v);
        let [x, r, turn] = faces.into;
        let into = [x, r, turn, normal.max(T::ZERO)];
        let [x, r, turn] = faces.out;
        let out = [x, r, turn, (-normal).max(T::ZERO)];
        let values = [values[0], values[1], values[2], emitted];
        let [f, x, r, next, arriving] = if LINEAR {
            cut::<T, false, true>(nu * local, nu, into, out, &c, values)
        } else {
            cut::<T, true, true>(nu * local, nu, into, out, &c, values)
        };
        *struck = moments(*struck, of.v, of.weight * out[3] * inverse * arriving);
        [f, x, r, next]
    }

    /// Sweeps a quarter turn through all rings, band by band.
    #[inline(always)]
    #[track_caller]
    fn quarter(&self, pair: &Pair<T>) {
        let (t, shape) = (self.t, self.shape);
        let group = quotient(t.thread_idx(), shape.rows);
        let place = t.thread_idx() - group * shape.rows;
        let all = self.directions(pair);
        let first = |group: u32| quotient(group * all, shape.groups);
        let bands = shape.bands();
        self.enter_across(pair);
        for b in 0..bands {
            let band = if pair.inwards { bands - 1 - b } else { b };
            let low = band * shape.rows;
            let rows = if shape.nr - low < shape.rows {
                shape.nr - low
            } else {
                shape.rows
            };
            let is_there = place < rows && group < shape.groups;
            let order = match (is_there, pair.inwards) {
                (true, true) => rows - 1 - place,
                _ => place,
            };
            let row = Row {
                r: low + place,
                place,
                group,
                directions: [first(group), first(group + 1)],
                lag: order + group,
                is_first: order == 0,
                is_last: order + 1 == rows,
            };
            let carries = is_there && group == 0;
            if carries {
                self.enter(pair, &row);
            }
            t.sync_threads();
            for step in 0..shape.nx + rows + shape.groups - 2 {
                if is_there && step >= row.lag && step - row.lag < shape.nx {
                    let x = step - row.lag;
                    let visit = Visit {
                        row,
                        x: if pair.sign == 0 { x } else { shape.nx - 1 - x },
                        parity: step & 1,
                    };
                    self.visit(pair, &visit);
                }
                t.sync_threads();
            }
            if carries {
                self.leave(pair, &row);
            }
        }
        self.leave_across(pair);
    }

    /// The units of work of the block.
    #[inline(always)]
    #[track_caller]
    fn run(&self) {
        let (t, shape) = (self.t, self.shape);
        let mut place = t.thread_idx();
        while place < shape.sums() {
            self.output
                .sums
                .set(t, self.sum_at(place), Quad([T::ZERO; 4]));
            place += t.block_dim();
        }
        t.sync_threads();
        let mut at = t.block_idx();
        while at < shape.units {
            let integer = |k: usize| self.input.units.get(t, at as usize * unit::LEN + k);
            let (signs, first) = (integer(unit::SIGNS), integer(unit::SIGN));
            for k in 0..signs {
                let [vx, speed, volume, _] =
                    self.input.pairs.get(t, 2 * at as usize + k as usize).0;
                for quarter in 0..2 {
                    self.quarter(&Pair {
                        v: [vx, speed, volume],
                        node: integer(unit::NODE + k as usize),
                        sign: if k == 0 { first } else { 1 - first },
                        inwards: quarter == 0,
                    });
                }
            }
            at += t.grid_dim();
        }
    }
}

/// Fluxes of a ring at a direction: along the axis, across it and between the angles.
struct Faces<T> {
    into: [T; 3],
    out: [T; 3],
}

impl<T: Real> Faces<T> {
    #[inline(always)]
    fn new(pair: &Pair<T>, of: &Direction<T>, open: [T; 4], area: T) -> Self {
        let [west, east, south, north] = open;
        let x = if pair.sign == 0 {
            [west, east]
        } else {
            [east, west]
        };
        let r = if pair.inwards {
            [north, south]
        } else {
            [south, north]
        };
        let [vx, vr] = [of.v[0].abs(), of.v[1].abs()];
        Self {
            into: [vx * x[0], vr * r[0], area * of.turn[0]],
            out: [vx * x[1], vr * r[1], area * of.turn[1]],
        }
    }
}

kernel! {
    /// Sweeps round an axis past bodies, by the diamond with the soft blend; no distribution is stored.
    ///
    /// A block owns units of work: pairs of a velocity along the axis and a speed across it, of one sign, or of both where a mirror makes one the image of the other. It sweeps
    /// the straight direction and the angles towards the axis, then those away from it. Each thread owns a row of rings and a group of neighbouring directions. It marches along the axis, one step behind the
    /// row before and the group before. Registers hold what passes from angle to angle, and the ring's numbers and sums move once a group.
    ///
    /// The flux along the axis stays in places of shared memory that only its thread touches. That across goes to the next row through shared memory, doubled, with one
    /// barrier a step, as does what passes to the next group. Sides and the next band of rows exchange it through `passing`, a band later; so do what arrives at the axis, and the image of a mirror.
    /// In a step no two threads are at the same ring, facet or face, where they add their sums: no race.
    ///
    /// `sums[block]` has, as quadruples, of each ring mass, momentum along x and r and energy, then heat flux and the value between both quarter turns; of each facet and of each face and
    /// direction mass, momentum and twice the energy. A ring and node in f32: about 90 instructions with an exponential and three reciprocals, and 4 words of shared memory. A ring and quarter turn: 27 numbers
    /// of the ring and 16 of its sums.
    pub fn flow_ring<T: Real>(
        t, cells: In<Quad<T>>, rings: In<Quad<T>>, codes: In<u32>, walls: In<Quad<T>>, emission: In<Quad<T>>, sides: In<u64>, shares: In<T>, given: In<T>, turn: In<Quad<T>>,
        units: In<u32>, pairs: In<Quad<T>>, sums: InOut<Quad<T>>, passing: InOut<T>, kept: InOut<T>;
        shape: RingShape,
    ) for f32, f64
    shared { along: [T; shape.slots()], across: [T; 2 * shape.slots()], between: [T; 2 * shape.handed()] } {
        let input = Input { cells, rings, codes, walls, emission, sides, shares, given, turn, units, pairs };
        let output = Output { sums, passing, kept };
        let exchange = Exchange { along, across, between };
        Thread::<Machine, T, false, false> { t, input: &input, output: &output, exchange, shape }.run();
    }
}

kernel! {
    /// [`flow_ring()`] for the linearised equation: no exponential, and no blend.
    pub fn flow_ring_linear<T: Real>(
        t, cells: In<Quad<T>>, rings: In<Quad<T>>, codes: In<u32>, walls: In<Quad<T>>, emission: In<Quad<T>>, sides: In<u64>, shares: In<T>, given: In<T>, turn: In<Quad<T>>,
        units: In<u32>, pairs: In<Quad<T>>, sums: InOut<Quad<T>>, passing: InOut<T>, kept: InOut<T>;
        shape: RingShape,
    ) for f32, f64
    shared { along: [T; shape.slots()], across: [T; 2 * shape.slots()], between: [T; 2 * shape.handed()] } {
        let input = Input { cells, rings, codes, walls, emission, sides, shares, given, turn, units, pairs };
        let output = Output { sums, passing, kept };
        let exchange = Exchange { along, across, between };
        Thread::<Machine, T, true, false> { t, input: &input, output: &output, exchange, shape }.run();
    }
}

kernel! {
    /// [`flow_ring()`] for the internal energy of molecules that rotate, whose equilibrium has a drift.
    pub fn flow_ring_internal<T: Real>(
        t, cells: In<Quad<T>>, rings: In<Quad<T>>, codes: In<u32>, walls: In<Quad<T>>, emission: In<Quad<T>>, sides: In<u64>, shares: In<T>, given: In<T>, turn: In<Quad<T>>,
        units: In<u32>, pairs: In<Quad<T>>, sums: InOut<Quad<T>>, passing: InOut<T>, kept: InOut<T>;
        shape: RingShape,
    ) for f32, f64
    shared { along: [T; shape.slots()], across: [T; 2 * shape.slots()], between: [T; 2 * shape.handed()] } {
        let input = Input { cells, rings, codes, walls, emission, sides, shares, given, turn, units, pairs };
        let output = Output { sums, passing, kept };
        let exchange = Exchange { along, across, between };
        Thread::<Machine, T, false, true> { t, input: &input, output: &output, exchange, shape }.run();
    }
}

kernel! {
    /// Adds the sums of the blocks of [`flow_ring()`] in their order and in f64. One thread a quadruple.
    pub fn flow_ring_total<T: Real>(t, sums: In<Quad<T>>, totals: Out<f64>; items: u32, blocks: u32) for f32, f64 {
        let item = t.global_idx();
        if item < items as usize {
            let mut total = [0.0; 4];
            for block in 0..blocks {
                let part = sums.get(t, block as usize * items as usize + item).0;
                for k in 0..4 {
                    total[k] += part[k].to_f64();
                }
            }
            for k in 0..4 {
                totals.set(t, 4 * item + k, total[k]);
            }
        }
    }
}
