//! The compressible equations of a net of cells: those of Navier and Stokes, linearised about the iterate.
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
//! Rings have areas and volumes with 2 pi r. Across the axis they are pushed out by the stress along the ring, `2 pi area (n T/2 - 4/3 mu u_r/r)`.
//!
//! A wall emits the mass that arrives. Misfit and answer are averaged over vertices in thick cells, which removes what the scheme lets alternate.

use std::f64::consts::PI;

use super::LEAST_PART;
use super::dissection::Dissection;
use super::fluxes::{
    Block, PARTS, State, conserved, half_flux, into_mirror, into_wall, through_face, turn, turned,
};
use super::sparse::{Entry, Factors};
use super::vertices::Vertices;
use crate::error::Result;
use crate::flow::face::Wall;
use crate::flow::gas::Gas;

/// Most of a change, over the local density, root of temperature, and temperature.
const MOST: f64 = 0.3;

/// Share of the relaxation that keeps a closed space from being singular.
const CLOSED: f64 = 0.01;

/// A state is far from another that differs by this, over its local values.
const FAR: f64 = 0.3;

/// Share of the cells with states far from those of the factors, beyond which these are renewed.
const MANY: f64 = 0.05;

/// A face between two cells with gas.
pub(in crate::flow) struct Face {
    /// The cells before and behind it, numbered among those with gas.
    pub(in crate::flow) cells: [usize; 2],
    pub(in crate::flow) axis: usize,
    pub(in crate::flow) area: f64,
    /// Between the centroids of the cells.
    pub(in crate::flow) distance: f64,
}

/// A piece of a wall or of a side.
pub(in crate::flow) struct Outer {
    pub(in crate::flow) place: Place,
    /// Its cell among those with gas.
    pub(in crate::flow) cell: usize,
    pub(in crate::flow) area: f64,
    /// Unit normal out of the gas.
    pub(in crate::flow) outward: [f64; 2],
    pub(in crate::flow) meets: Meets,
}

/// Where the unknowns have such a piece.
#[derive(Clone, Copy)]
pub(in crate::flow) enum Place {
    /// A piece of a body.
    Body(usize),
    /// A side and its face.
    Side(usize, usize),
}

/// The other side of such a piece.
pub(in crate::flow) enum Meets {
    /// A wall with its grip on the gas.
    Wall(Wall, f64),
    Mirror,
    /// The cell at the opposite side, among those with gas.
    Period(usize),
    /// Gas that the equations leave as it is.
    Gas,
}

/// The cells with gas and what is between and around them.
pub(in crate::flow) struct Net {
    /// Columns and rows of the grid.
    pub(in crate::flow) counts: [usize; 2],
    /// The cells with gas, by their place in the grid.
    pub(in crate::flow) cells: Vec<usize>,
    /// Their volumes.
    pub(in crate::flow) volume: Vec<f64>,
    /// Roots of their areas, the solid parts included.
    pub(in crate::flow) width: Vec<f64>,
    pub(in crate::flow) faces: Vec<Face>,
    pub(in crate::flow) outer: Vec<Outer>,
    /// Of rings, 2 pi times the area and the distance from the axis.
    pub(in crate::flow) rings: Vec<[f64; 2]>,
    /// Sides along x and y that are one.
    pub(in crate::flow) periodic: [bool; 2],
    /// Whether nothing fixes the mass.
    pub(in crate::flow) closed: bool,
}

impl Net {
    /// The numbers among those with gas of all cells of the grid, `usize::MAX` of solid ones.
    pub(in crate::flow) fn numbers(cells: &[usize], len: usize) -> Vec<usize> {
        let mut number = vec![usize::MAX; len];
        for (k, &cell) in cells.iter().enumerate() {
            number[cell] = k;
        }
        number
    }

    /// The faces between cells: `open` has the area of the upper face along an axis, `centroid` and `width` are a place and a width along it.
    pub(in crate::flow) fn faces(
        counts: [usize; 2],
        cells: &[usize],
        number: &[usize],
        periodic: [bool; 2],
        open: impl Fn(usize, usize) -> f64,
        centroid: impl Fn(usize, usize) -> f64,
        width: impl Fn(usize, usize) -> f64,
    ) -> Vec<Face> {
        let mut faces = Vec::new();
        for &cell in cells {
            for (axis, is_periodic) in periodic.into_iter().enumerate() {
                let (at, count, step) = match axis {
                    0 => (cell % counts[0], counts[0], 1),
                    _ => (cell / counts[0], counts[1], counts[0]),
                };
                let other = match at + 1 == count {
                    false => cell + step,
                    true if is_periodic => cell - (count - 1) * step,
                    true => continue,
                };
                let area = open(cell, axis);
                if number[other] == usize::MAX || area <= 0.0 {
                    continue;
                }
                let near = width(cell, axis);
                let apart = match other > cell {
                    true => (centroid(other, axis) - centroid(cell, axis)).abs(),
                    false => 0.5 * (near + width(other, axis)),
                };
                faces.push(Face {
                    cells: [number[cell], number[other]],
                    axis,
                    area,
                    distance: apart.max(0.5 * near),
                });
            }
        }
        faces
    }
}

/// The equations of a net, and their factors for states that are not far from the present ones.
pub(in crate::flow) struct Equations {
    pub(in crate::flow) net: Net,
    share: f64,
    vertices: Vertices,
    order: Option<Dissection>,
    factors: Option<Factors>,
    /// The states that the factors belong to.
    base: Vec<State>,
}

impl Equations {
    /// The equations of a net, of whose answers a share is added.
    pub(in crate::flow) fn new(net: Net, share: f64) -> Self {
        let mut open = vec![[false; 2]; net.cells.len()];
        for face in &net.faces {
            open[face.cells[0]][face.axis] = true;
        }
        let is_open = |k: usize, axis: usize| open[k][axis];
        let vertices = Vertices::new(net.counts, &net.cells, &net.volume, net.periodic, is_open);
        Self {
            net,
            share,
            vertices,
            order: None,
            factors: None,
            base: Vec::new(),
        }
    }

    /// Whether many states are far from those that the factors belong to.
    fn is_stale(&self, states: &[State]) -> bool {
        let pairs = states.iter().zip(&self.base);
        let far = pairs.filter(|(new, old)| largest_part(&difference(new, old), old) > FAR);
        self.factors.is_none() || far.count() as f64 > MANY * states.len() as f64
    }

    /// Renews the factors for these states.
    fn renew(&mut self, gas: &Gas, states: &[State]) -> Result<()> {
        let entries = self.entries(gas, states);
        let nx = self.net.counts[0];
        let positions = self.net.cells.iter();
        let positions = positions.map(|&cell| [cell % nx, cell / nx].map(|k| k as u32));
        let positions: Vec<[u32; 2]> = positions.collect();
        let order = self.order.get_or_insert_with(|| {
            let unknowns = unknowns(gas) as u32;
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
    fn entries(&self, gas: &Gas, states: &[State]) -> Vec<Entry> {
        let (count, freedom) = (unknowns(gas), gas.freedom());
        let mut entries = Vec::with_capacity(80 * states.len());
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
        for face in &self.net.faces {
            let [a, b] = face.cells;
            let normal = [[1.0, 0.0], [0.0, 1.0]][face.axis];
            let pair = [&states[a], &states[b]];
            let [from_a, from_b] = through_face(gas, face.distance, normal, pair);
            add(a, a, face.area, &from_a);
            add(a, b, face.area, &from_b);
            add(b, a, -face.area, &from_a);
            add(b, b, -face.area, &from_b);
        }
        for outer in &self.net.outer {
            let (state, outward) = (&states[outer.cell], outer.outward);
            let block = match &outer.meets {
                Meets::Wall(wall, grip) => into_wall(state, wall, *grip, outward, freedom),
                Meets::Mirror => into_mirror(state, outward),
                // Its face is one between cells.
                Meets::Period(_) => continue,
                Meets::Gas => turned(&half_flux(&turn(state, outward), freedom), outward),
            };
            add(outer.cell, outer.cell, outer.area, &block);
        }
        for (k, state) in states.iter().enumerate() {
            let volume = gas.frequency(state[0], state[3]) * self.net.volume[k];
            if self.net.closed {
                add(k, k, CLOSED * volume, &conserved(state, freedom));
            }
            let mut block = [[0.0; PARTS]; PARTS];
            if gas.rotation.is_some() {
                block[4] = exchange(gas, state).1.map(|gain| -volume * gain);
            }
            if let Some([around, radius]) = self.net.rings.get(k) {
                let [n, _, _, t, _] = *state;
                let mu = t.powf(gas.omega) / (2.0 * gas.delta);
                block[2][0] = -0.5 * around * t;
                block[2][2] = around * 4.0 / 3.0 * mu / radius;
                block[2][3] = -0.5 * around * n;
            }
            add(k, k, 1.0, &block);
        }
        entries
    }

    /// Changes of the states that answer a misfit over nu V, shares of what the equations ask for; none where these are singular.
    ///
    /// `found` are the states after the sweep, which the changes are added to.
    pub(in crate::flow) fn answer(
        &mut self,
        gas: &Gas,
        states: &[State],
        found: &[State],
        mut misfit: Vec<State>,
    ) -> Option<Vec<State>> {
        if self.is_stale(states) && self.renew(gas, states).is_err() {
            return None;
        }
        let (order, factors) = (self.order.as_ref()?, self.factors.as_ref()?);
        let count = unknowns(gas);
        let mut thick = Vec::with_capacity(states.len());
        for (k, (state, misfit)) in states.iter().zip(&mut misfit).enumerate() {
            let nu = gas.frequency(state[0], state[3]);
            let square = (2.0 * nu * self.net.width[k]).powi(2);
            thick.push(square / (1.0 + square));
            misfit
                .iter_mut()
                .for_each(|part| *part *= nu * self.net.volume[k]);
        }
        self.vertices.spread(&mut misfit, &thick);
        let right: Vec<f64> = misfit.iter().flat_map(|m| &m[..count]).copied().collect();
        let x = factors.solve(order, &right);
        let mut answer: Vec<State> = x
            .chunks_exact(count)
            .map(|x| std::array::from_fn(|c| x.get(c).copied().unwrap_or(0.0)))
            .collect();
        self.vertices.smooth(&mut answer, &thick);
        for (change, state) in answer.iter_mut().zip(found) {
            let most = match gas.linear {
                true => 1.0,
                false => MOST / largest_part(change, state).max(1e-300),
            };
            *change = change.map(|part| self.share * most.min(1.0) * part);
        }
        Some(answer)
    }

    /// Hands on to walls and inflow what an answer changes about them.
    pub(in crate::flow) fn around(&self, states: &[State], answer: &[State], to: &mut impl Around) {
        for outer in &self.net.outer {
            let cell = outer.cell;
            if let Meets::Wall(wall, _) = &outer.meets {
                let more = emission(&states[cell], &answer[cell], wall, outer.outward);
                to.emit(outer.place, more);
            }
            let Place::Side(side, face) = outer.place else {
                continue;
            };
            let (from, sign) = match outer.meets {
                Meets::Wall(..) | Meets::Mirror => (cell, -1.0),
                Meets::Period(beyond) => (beyond, 1.0),
                Meets::Gas => continue,
            };
            let image = |mut state: State| {
                state[1 + side / 2] *= sign;
                state
            };
            let [state, change] = [states[from], answer[from]].map(image);
            let moved = std::array::from_fn(|k| state[k] + change[k]);
            to.shift(side, face, [state, moved]);
        }
    }
}

/// The unknowns of walls and inflow.
pub(in crate::flow) trait Around {
    /// Adds to the density that a wall emits.
    fn emit(&mut self, place: Place, more: f64);
    /// Adds the difference of the Maxwellians of two states to the lagged inflow through a face, where there is any.
    fn shift(&mut self, side: usize, face: usize, states: [State; 2]);
}

/// Number of the unknowns of a cell.
fn unknowns(gas: &Gas) -> usize {
    match gas.rotation {
        Some(_) => PARTS,
        None => PARTS - 1,
    }
}

/// The internal energy that a cell gains, over nu V, and its derivatives to the state.
pub(in crate::flow) fn exchange(gas: &Gas, &[n, _, _, t, t_r]: &State) -> (f64, State) {
    let Some(rotation) = &gas.rotation else {
        return (0.0, [0.0; PARTS]);
    };
    if gas.linear {
        let rate = rotation.exchange(1.0);
        return (rate * (t - t_r), [0.0, 0.0, 0.0, rate, -rate]);
    }
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

/// Adds to an emission or an inflow; of nonlinear flows a part is left.
pub(in crate::flow) fn grow(value: &mut f64, more: f64, linear: bool) {
    *value = match linear {
        true => *value + more,
        false => (*value + more).max(LEAST_PART * *value),
    };
}
