//! The correction of nonlinear flows: the equations of Navier and Stokes, linearised about the iterate.
//!
//! Unknowns are the changes x of n, u_x, u_y and T of each cell, and of T_r where molecules rotate. Their net flux out of a cell answers the misfit of
//! mass, momentum and energy,
//!
//! ```text
//! sum_faces A J x = nu V (<f - S>, <v (f - S)>, <v^2 (f - S)>/2),
//! ```
//!
//! with the flux through a face from cell a to cell b
//!
//! ```text
//! J x = w (F+'(a) x_a + F-'(b) x_b) + (1 - w)/2 (F'(a) x_a + F'(b) x_b) + D (x_a - x_b)/|r_b - r_a|.
//! ```
//!
//! F+ and F- are the parts of a Maxwellian's flux F by molecules of either direction ([`super::fluxes`]): kinetic flux vector splitting. It is too viscous
//! in thick cells, so that w = 1/(1 + nu h) there, but at least M^2 - 1/2 up to 1 in fast gas. D has the viscosities 4/3 mu and mu and the
//! conductivity, with mu = T^omega/(2 delta) and kappa = 5 mu/(4 Pr).
//!
//! Of molecules that rotate, T is the temperature of translation, and D has both conductivities. The energy has the internal part. The fifth equation is
//! that of the internal energy alone, which gains X = nu V d n (T_t - T_r)/4 3/((3 + d) Z) from translation:
//!
//! ```text
//! sum_faces A J_r x - dX/dx x = nu V <E - S_E>/2 + X.
//! ```
//!
//! A wall emits the mass that arrives. Misfit and answer are averaged over vertices in thick cells, which removes what the scheme lets alternate.

use std::f64::consts::PI;

use super::change::{Correction, LEAST_PART, lagged_change};
use super::dissection::Dissection;
use super::fluxes::{
    Block, Face, OUTWARD, PARTS, State, conserved, half_flux, into_mirror, into_wall, through_face,
    turn, turned,
};
use super::sparse::{Entry, Factors};
use super::vertices::Vertices;
use crate::error::Result;
use crate::flow::face::{Border, Wall};
use crate::flow::gas::{Gas, InternalEnergy, UNKNOWNS};
use crate::flow::internal;
use crate::flow::problem::Problem;
use crate::flow::steady::sweep::Swept;
use crate::flow::steady::unknowns::Unknowns;

/// Most of a change, over the local density, root of temperature, and temperature.
const MOST: f64 = 0.3;

/// Share of the relaxation that keeps a closed space from being singular.
const CLOSED: f64 = 0.01;

/// A state is far from another that differs by this, over its local values.
const FAR: f64 = 0.3;

/// Share of the cells with states far from those of the factors, beyond which these are renewed.
const MANY: f64 = 0.05;

/// The correction.
pub(super) struct Compressible {
    share: f64,
    /// The cells with gas.
    cells: Vec<usize>,
    /// The number of each cell among those with gas.
    number: Vec<usize>,
    /// Root of the area of each cell, its solid part included.
    width: Vec<f64>,
    faces: Vec<Face>,
    vertices: Vertices,
    order: Option<Dissection>,
    factors: Option<Factors>,
    /// The states that the factors belong to.
    base: Vec<State>,
}

impl Compressible {
    /// The correction for a problem, of which a share is added.
    pub(super) fn new(problem: &Problem, share: f64) -> Self {
        let space = &problem.space;
        let cells: Vec<usize> = (0..space.len()).filter(|&k| space.is_gas(k)).collect();
        let mut number = vec![usize::MAX; space.len()];
        for (k, &cell) in cells.iter().enumerate() {
            number[cell] = k;
        }
        let nx = space.nx();
        let widths = |cell: usize| space.widths(cell % nx, cell / nx);
        let width = cells.iter().map(|&cell| {
            let [dx, dy] = widths(cell);
            (dx * dy).sqrt()
        });
        let periodic =
            [0, 2].map(|side: usize| matches!(problem.borders[side], Border::Periodic(_)));
        let mut faces = Vec::new();
        for &cell in &cells {
            for (axis, is_periodic) in periodic.into_iter().enumerate() {
                let (at, count, step) = match axis {
                    0 => (cell % nx, nx, 1),
                    _ => (cell / nx, space.ny(), nx),
                };
                let other = match at + 1 == count {
                    false => cell + step,
                    true if is_periodic => cell - (count - 1) * step,
                    true => continue,
                };
                let length = space.open[cell][2 * axis + 1];
                if number[other] == usize::MAX || length <= 0.0 {
                    continue;
                }
                let [near, far] = [widths(cell)[axis], widths(other)[axis]];
                let apart = (space.centroid[other][axis] - space.centroid[cell][axis]).abs();
                let apart = if other > cell {
                    apart
                } else {
                    0.5 * (near + far)
                };
                faces.push(Face {
                    cells: [number[cell], number[other]],
                    axis,
                    length,
                    distance: apart.max(0.5 * near),
                });
            }
        }
        Self {
            share,
            vertices: Vertices::new(space, &cells, periodic),
            width: width.collect(),
            number,
            faces,
            order: None,
            factors: None,
            base: Vec::new(),
            cells,
        }
    }

    /// The states of the cells, about which the equations are linearised.
    fn states(&self, problem: &Problem, before: &Unknowns) -> Vec<State> {
        let of = |&cell| state_of(&problem.gas, before, cell);
        self.cells.iter().map(of).collect()
    }

    /// Whether many states are far from those that the factors belong to.
    fn is_stale(&self, states: &[State]) -> bool {
        let pairs = states.iter().zip(&self.base);
        let far = pairs.filter(|(new, old)| largest_part(&difference(new, old), old) > FAR);
        self.factors.is_none() || far.count() as f64 > MANY * states.len() as f64
    }

    /// Renews the factors for these states.
    fn renew(&mut self, problem: &Problem, states: &[State]) -> Result<()> {
        let entries = self.equations(problem, states);
        let positions: Vec<[u32; 2]> = self
            .cells
            .iter()
            .map(|&cell| [cell % problem.space.nx(), cell / problem.space.nx()].map(|k| k as u32))
            .collect();
        let order = self.order.get_or_insert_with(|| {
            let unknowns = unknowns(&problem.gas) as u32;
            let count = unknowns * positions.len() as u32;
            let group: Vec<u32> = (0..count).map(|k| k / unknowns).collect();
            let pairs = entries.iter().map(|&(row, column, _)| (row, column));
            Dissection::new(&group, &positions, pairs)
        });
        self.factors = None;
        self.factors = Some(Factors::new(order, &entries)?);
        self.base = states.to_vec();
        Ok(())
    }

    /// Coefficients of the equations about these states.
    fn equations(&self, problem: &Problem, states: &[State]) -> Vec<Entry> {
        let gas = &problem.gas;
        let space = &problem.space;
        let (count, freedom) = (unknowns(gas), gas.freedom());
        let mut entries = Vec::with_capacity(80 * self.cells.len());
        let mut add = |row: usize, column: usize, factor: f64, block: &Block| {
            for (a, line) in block[..count].iter().enumerate() {
                for (b, value) in line[..count].iter().enumerate() {
                    let value = factor * value;
                    if value != 0.0 {
                        let place = [count * row + a, count * column + b].map(|k| k as u32);
                        entries.push((place[0], place[1], value));
                    }
                }
            }
        };
        for face in &self.faces {
            let [a, b] = face.cells;
            let normal = [[1.0, 0.0], [0.0, 1.0]][face.axis];
            let [from_a, from_b] = through_face(gas, face, normal, [&states[a], &states[b]]);
            add(a, a, face.length, &from_a);
            add(a, b, face.length, &from_b);
            add(b, a, -face.length, &from_a);
            add(b, b, -face.length, &from_b);
        }
        for (s, segment) in space.segments.iter().enumerate() {
            let k = self.number[segment.cell];
            let outward = segment.normal.map(|part| -part);
            let wall = &problem.walls[s];
            let block = into_wall(
                &states[k],
                wall,
                problem.reflection[s].grip(),
                outward,
                freedom,
            );
            add(k, k, segment.length, &block);
        }
        for (side, outward) in OUTWARD.into_iter().enumerate() {
            for (face, cell) in space.border(side).into_iter().enumerate() {
                if !space.is_gas(cell) {
                    continue;
                }
                let k = self.number[cell];
                let block = match &problem.borders[side] {
                    Border::Periodic(_) => continue,
                    Border::Wall(wall) => {
                        let grip = wall.accommodation.grip();
                        into_wall(&states[k], &wall.walls[face], grip, outward, freedom)
                    }
                    Border::Mirror => into_mirror(&states[k], outward),
                    Border::Given(_) | Border::Outlet(_) | Border::Inflow(..) => {
                        turned(&half_flux(&turn(&states[k], outward), freedom), outward)
                    }
                };
                add(k, k, space.open[cell][side], &block);
            }
        }
        let closed = problem.is_closed();
        for (k, state) in states.iter().enumerate() {
            let nu = gas.frequency(state[0], state[3]);
            let volume = nu * space.volume[self.cells[k]];
            if closed {
                add(k, k, CLOSED * volume, &conserved(state, freedom));
            }
            if gas.rotation.is_some() {
                let mut block = [[0.0; PARTS]; PARTS];
                block[4] = exchange(gas, state).1;
                add(k, k, -volume, &block);
            }
        }
        entries
    }

    /// The answer of the equations to the misfit of the last sweep.
    fn answer(
        &self,
        problem: &Problem,
        states: &[State],
        (swept, internal): (&Swept, Option<&Swept>),
        next: &Unknowns,
    ) -> Option<Vec<State>> {
        let gas = &problem.gas;
        let count = unknowns(gas);
        let (Some(order), Some(factors)) = (&self.order, &self.factors) else {
            return None;
        };
        let frequencies: Vec<f64> = states
            .iter()
            .map(|state| gas.frequency(state[0], state[3]))
            .collect();
        let thick: Vec<f64> = frequencies
            .iter()
            .zip(&self.width)
            .map(|(nu, width)| {
                let square = (2.0 * nu * width).powi(2);
                square / (1.0 + square)
            })
            .collect();
        let mut misfit: Vec<State> = self
            .cells
            .iter()
            .zip(&frequencies)
            .map(|(&cell, nu)| {
                let factor = nu * problem.space.volume[cell];
                let sums = &swept.cells[cell];
                let mut misfit = [sums[0], sums[1], sums[2], 0.5 * sums[3], 0.0];
                if let Some(internal) = internal {
                    let energy = 0.5 * internal.cells[cell][0];
                    misfit[3] += energy;
                    misfit[4] = energy + exchange(gas, &state_of(gas, next, cell)).0;
                }
                misfit.map(|sum| factor * sum)
            })
            .collect();
        self.vertices.spread(&mut misfit, &thick);
        let right: Vec<f64> = misfit.iter().flat_map(|m| &m[..count]).copied().collect();
        let x = factors.solve(order, &right);
        let mut answer: Vec<State> = x
            .chunks_exact(count)
            .map(|x| std::array::from_fn(|c| x.get(c).copied().unwrap_or(0.0)))
            .collect();
        self.vertices.smooth(&mut answer, &thick);
        Some(answer)
    }

    /// Moves cells and walls by an answer; false if a state is then none of a gas.
    fn correct(
        &self,
        problem: &Problem,
        states: &[State],
        mut answer: Vec<State>,
        next: &mut Unknowns,
    ) -> bool {
        let gas = &problem.gas;
        for (&cell, change) in self.cells.iter().zip(&mut answer) {
            let state = state_of(gas, next, cell);
            let most = MOST / largest_part(change, &state).max(1e-300);
            let share = self.share * most.min(1.0);
            *change = change.map(|part| share * part);
            let [n, ux, uy, t, t_r] = std::array::from_fn(|c| state[c] + change[c]);
            let w = &mut next.cells[cell];
            w[..4].copy_from_slice(&gas.unknowns([n, ux, uy, t])[..4]);
            if let Some(internal) = &mut next.internal {
                internal.cells[cell][0] = 0.5 * gas.freedom() * n * t_r;
            }
            if !gas.is_admissible(w) || t_r.is_nan() || t_r <= 0.0 {
                return false;
            }
        }
        for (s, segment) in problem.space.segments.iter().enumerate() {
            let k = self.number[segment.cell];
            let outward = segment.normal.map(|part| -part);
            let more = emission(&states[k], &answer[k], &problem.walls[s], outward);
            emit(&mut next.segments[s], more);
        }
        for (side, outward) in OUTWARD.into_iter().enumerate() {
            let border = problem.space.border(side);
            let beyond = problem.space.border(side ^ 1);
            for (face, (cell, beyond)) in border.into_iter().zip(beyond).enumerate() {
                if !problem.space.is_gas(cell) {
                    continue;
                }
                let k = self.number[cell];
                let (state, change) = (&states[k], &answer[k]);
                if let Border::Wall(wall) = &problem.borders[side] {
                    let more = emission(state, change, &wall.walls[face], outward);
                    emit(&mut next.sides[side][face], more);
                }
                match &problem.borders[side] {
                    Border::Mirror | Border::Wall(..) => {
                        let image = |s: &State| match side / 2 {
                            0 => [s[0], -s[1], s[2], s[3], s[4]],
                            _ => [s[0], s[1], -s[2], s[3], s[4]],
                        };
                        lagged_change(problem, side, face, [image(state), image(change)], next);
                    }
                    Border::Periodic(_) if problem.space.is_gas(beyond) => {
                        let k = self.number[beyond];
                        lagged_change(problem, side, face, [states[k], answer[k]], next);
                    }
                    _ => {}
                }
            }
        }
        true
    }
}

impl Correction for Compressible {
    fn apply(
        &mut self,
        problem: &Problem,
        before: &Unknowns,
        swept: (&Swept, Option<&Swept>),
        next: &mut Unknowns,
    ) -> bool {
        let states = self.states(problem, before);
        if self.is_stale(&states) && self.renew(problem, &states).is_err() {
            return false;
        }
        let Some(answer) = self.answer(problem, &states, swept, next) else {
            return false;
        };
        let mut corrected = next.clone();
        let good = self.correct(problem, &states, answer, &mut corrected);
        if good {
            *next = corrected;
        }
        !good
    }
}

/// Number of the unknowns of a cell.
fn unknowns(gas: &Gas) -> usize {
    match gas.rotation {
        Some(_) => PARTS,
        None => PARTS - 1,
    }
}

/// The state of a cell; the temperatures of single atoms are one.
fn state_of(gas: &Gas, of: &Unknowns, cell: usize) -> State {
    let w: &[f64; UNKNOWNS] = &of.cells[cell];
    let [n, ux, uy, t] = gas.primitive(w);
    let t_r = match (&gas.rotation, &of.internal) {
        (Some(rotation), Some(internal)) => {
            let e: &InternalEnergy = &internal.cells[cell];
            internal::temperatures(rotation, false, w, e)[1]
        }
        _ => t,
    };
    [n, ux, uy, t, t_r]
}

/// The internal energy that a cell gains, over nu V, and its derivatives to the state.
fn exchange(gas: &Gas, &[n, _, _, t, t_r]: &State) -> (f64, State) {
    let Some(rotation) = &gas.rotation else {
        return (0.0, [0.0; PARTS]);
    };
    let rate = rotation.exchange(t);
    let gain = rate * n * (t - t_r);
    // The frequency grows as n T^(1 - omega).
    let to_temperature = rate * n + (1.0 - gas.omega) * gain / t;
    (gain, [2.0 * gain / n, 0.0, 0.0, to_temperature, -rate * n])
}

fn difference(a: &State, b: &State) -> State {
    std::array::from_fn(|c| a[c] - b[c])
}

/// The largest part of a change of a state.
fn largest_part(change: &State, state: &State) -> f64 {
    let speed = change[1].hypot(change[2]) / state[3].sqrt();
    (change[0] / state[0])
        .abs()
        .max((change[3] / state[3]).abs())
        .max((change[4] / state[4]).abs())
        .max(speed)
}

/// Change of the density that a wall emits: that of the mass that arrives.
fn emission(state: &State, change: &State, wall: &Wall, outward: [f64; 2]) -> f64 {
    let arriving = half_flux(&turn(state, outward), 0.0)[0];
    let change = turn(change, outward);
    let more: f64 = arriving.iter().zip(change).map(|(a, b)| a * b).sum();
    more / (0.5 * (wall.temperature / PI).sqrt())
}

/// Adds to the density that a wall emits.
fn emit(density: &mut f64, more: f64) {
    *density = (*density + more).max(LEAST_PART * *density);
}
