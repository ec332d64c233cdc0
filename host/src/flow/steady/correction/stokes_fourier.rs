//! The correction of linearised flows: the equations of Stokes and Fourier on the cut cells.
//!
//! Velocity and temperature are bilinear between the vertices, with their gradient taken at the cell's centre and their value at its centroid;
//! the pressure is one number a cell. With c = nu <f - S>, and lag = (1 - Pr)/Pr (q_new - q_old) the part of the heat flux that the model hands on late,
//!
//! ```text
//! div(-kappa grad T) = c_E/2 - 5/4 c_n - div lag,        kappa = 5/(8 delta Pr),
//! div(-mu (grad u + grad u^T - 2/3 div u)) + grad p = c_u,   div u = c_n,   mu = 1/(2 delta).
//! ```
//!
//! Molecules that rotate have two temperatures, the conductivities K and the rates A of both heat fluxes, and `lag = (A^-1 - 1) (q_new - q_old)`. T is that of
//! translation. With b the excess of internal energy, and X the rate at which translation loses energy to rotation,
//!
//! ```text
//! div(-(K_tt + K_rt) grad T_t - (K_tr + K_rr) grad T_r) = c_E/2 - 5/4 c_n + c_b/2 - div(lag_t + lag_r),
//! div(-K_rt grad T_t - K_rr grad T_r) - dX = c_b/2 + X - div lag_r,     X = nu d (T_t - T_r)/4 3/((3 + d) Z).
//! ```
//!
//! Walls let gas slip and its temperature jump, by L/sqrt(pi) a segment; ports resist the normal velocity by 2L/sqrt(pi). A small part of the
//! pressure in the last equation keeps the factors regular, and a small part of each cell's hourglass modes takes them out. With p in
//! rho0 v0^2 the density is 2p - T.

use std::f64::consts::PI;

use super::change::{Correction, Moved};
use super::elements::{Edge, Element, Heat, edges, element, flow_equations, heat_equations};
use crate::bgk::rotation::{self, Matrix};
use crate::error::Result;
use crate::flow::correction::{Around, Dissection, Entry, Factors, PARTS, Place, State, Vertices};
use crate::flow::face::Border;
use crate::flow::problem::Problem;
use crate::flow::steady::sweep::Swept;
use crate::flow::steady::unknowns::Unknowns;

/// Cells of more mean free paths than this keep their misfit of mass as it is.
const THICK: f64 = 20.0;

/// Share of a wall's misfit of mass that warms the gas beside it.
const WALL_SHARE: f64 = 0.25;

/// The correction.
pub(super) struct StokesFourier {
    share: f64,
    /// Conductivities of translation and rotation.
    conduction: Matrix,
    /// `A^-1 - 1`, the part of a change of the heat fluxes that comes late.
    late: Matrix,
    /// Temperatures of a vertex.
    temperatures: usize,
    cells: Vec<usize>,
    elements: Vec<Element>,
    edges: Vec<Edge>,
    /// Whether gas can leave.
    closed: bool,
    vertices: usize,
    averages: Vertices,
    /// Share of each cell's misfit of mass that is averaged.
    averaged: Vec<f64>,
    /// Velocities along x and y that mirrors and walls on sides fix.
    fixed: [Vec<bool>; 2],
    heat: (Dissection, Factors),
    flow: (Dissection, Factors),
}

impl StokesFourier {
    /// The factored equations of a problem, of whose answers a share is added.
    ///
    /// # Errors
    /// A singular matrix.
    pub(super) fn new(problem: &Problem, share: f64) -> Result<Self> {
        let space = &problem.space;
        let delta = problem.gas.delta;
        let viscosity = 0.5 / delta;
        let gas = &problem.gas;
        let conduction = gas.conduction(1.0).map(|row| row.map(|k| viscosity * k));
        let [[tt, tr], [rt, rr]] = gas.inverse_rates(1.0);
        let late = [[tt - 1.0, tr], [rt, rr - 1.0]];
        let (temperatures, gain) = match &gas.rotation {
            Some(rotation) => (2, delta * rotation.exchange(1.0)),
            None => (1, 0.0),
        };
        let [translation, rotation] = conduction;
        let quarter = 0.25 * gas.freedom();
        let heat = Heat {
            temperatures,
            conduction: [[0, 1].map(|k| translation[k] + rotation[k]), rotation],
            exchange: [[0.0; 2], [gain, -gain]],
            wall: [[1.0, quarter], [0.0, quarter]],
        };
        let cells: Vec<usize> = (0..space.len()).filter(|&k| space.is_gas(k)).collect();
        let periodic =
            [0, 2].map(|side: usize| matches!(problem.borders[side], Border::Periodic(_)));
        let volume: Vec<f64> = cells.iter().map(|&cell| space.volume[cell]).collect();
        let is_open = |k: usize, axis: usize| space.open[cells[k]][2 * axis + 1] > 0.0;
        let counts = [space.nx(), space.ny()];
        let averages = Vertices::new(counts, &cells, &volume, periodic, is_open);
        let (of_cell, positions) = averages.numbered();
        let mut number = vec![usize::MAX; space.len()];
        for (k, &cell) in cells.iter().enumerate() {
            number[cell] = k;
        }
        let elements: Vec<Element> = cells
            .iter()
            .zip(&of_cell)
            .map(|(&cell, &vertices)| element(space, cell, vertices))
            .collect();
        let (edges, fixed) = edges(problem, &number, &of_cell, positions.len());
        let heat = heat_equations(&elements, &edges, &heat);
        let flow = flow_equations(space, &cells, &elements, &edges, &fixed, viscosity);
        let averaged = cells
            .iter()
            .map(|&cell| {
                let [dx, dy] = space.widths(cell % space.nx(), cell / space.nx());
                1.0 / (1.0 + dx * dy * (delta / THICK).powi(2))
            })
            .collect();
        let count = positions.len();
        let per_vertex = temperatures as u32;
        let group: Vec<u32> = (0..per_vertex * count as u32)
            .map(|k| k / per_vertex)
            .collect();
        let heat = factored(&group, &positions, &heat)?;
        // Velocities of vertices, then pressures of cells.
        let mut group: Vec<u32> = (0..2 * count as u32).map(|k| k / 2).collect();
        group.extend((0..cells.len()).map(|k| (count + k) as u32));
        let mut all = positions;
        all.extend(cells.iter().map(|&cell| {
            let (i, j) = (cell % space.nx(), cell / space.nx());
            [2 * i as u32 + 1, 2 * j as u32 + 1]
        }));
        let flow = factored(&group, &all, &flow)?;
        Ok(Self {
            share,
            conduction,
            late,
            temperatures,
            closed: !edges.iter().any(|edge| edge.open),
            cells,
            elements,
            edges,
            vertices: count,
            averages,
            averaged,
            fixed,
            heat,
            flow,
        })
    }

    /// Takes the mean out of a field of the cells.
    fn without_mean(&self, values: &mut [f64]) {
        let volumes = self.elements.iter().map(|element| element.volume);
        let total: f64 = volumes.clone().zip(&*values).map(|(v, x)| v * x).sum();
        let mean = total / volumes.sum::<f64>();
        values.iter_mut().for_each(|value| *value -= mean);
    }

    /// The misfit of mass of each cell, averaged over vertices in thin gas.
    fn mass_misfit(&self, problem: &Problem, swept: &Swept) -> Vec<f64> {
        let mut amounts: Vec<State> = self
            .cells
            .iter()
            .zip(&self.elements)
            .map(|(&cell, element)| {
                let mass = problem.gas.delta * swept.cells[cell][0] * element.volume;
                [mass, 0.0, 0.0, 0.0, 0.0]
            })
            .collect();
        self.averages.spread(&mut amounts, &self.averaged);
        let per_volume = amounts
            .iter()
            .zip(&self.elements)
            .map(|(a, e)| a[0] / e.volume);
        let mut misfit: Vec<f64> = per_volume.collect();
        if self.closed {
            self.without_mean(&mut misfit);
        }
        misfit
    }

    /// The parts of the heat fluxes of translation and rotation that come late in a cell, `[axis][flux]`.
    fn lag(&self, before: &Unknowns, next: &Unknowns, cell: usize) -> [[f64; 2]; 2] {
        [0, 1].map(|axis| {
            let q_t = next.cells[cell][4 + axis] - before.cells[cell][4 + axis];
            let q_r = match (&before.internal, &next.internal) {
                (Some(old), Some(new)) => new.cells[cell][1 + axis] - old.cells[cell][1 + axis],
                _ => 0.0,
            };
            self.late
                .map(|[from_t, from_r]| from_t * q_t + from_r * q_r)
        })
    }

    /// Temperatures of the vertices: of translation, and of rotation after it.
    fn temperatures(
        &self,
        problem: &Problem,
        before: &Unknowns,
        (swept, internal): (&Swept, Option<&Swept>),
        next: &Unknowns,
    ) -> Vec<f64> {
        let gas = &problem.gas;
        let delta = gas.delta;
        let count = self.temperatures;
        let mut right = vec![0.0; count * self.vertices];
        for (element, &cell) in self.elements.iter().zip(&self.cells) {
            let sums = &swept.cells[cell];
            let mut sources = [delta * (0.5 * sums[3] - 1.25 * sums[0]), 0.0];
            if let (Some(swept), Some(of), Some(rotation)) =
                (internal, &next.internal, &gas.rotation)
            {
                let [t, t_r] =
                    rotation::temperatures(rotation, true, &next.cells[cell], &of.cells[cell]);
                let energy = 0.5 * delta * swept.cells[cell][0];
                sources[0] += energy;
                sources[1] = energy + delta * rotation.exchange(1.0) * (t - t_r);
            }
            let lag = self.lag(before, next, cell).map(|[t, r]| [t + r, r]);
            for (c, &vertex) in element.vertices.iter().enumerate() {
                for (k, source) in sources[..count].iter().enumerate() {
                    let handed_on =
                        element.gradient[0][c] * lag[0][k] + element.gradient[1][c] * lag[1][k];
                    right[count * vertex + k] +=
                        element.volume * (source * element.value[c] + handed_on);
                }
            }
        }
        for edge in self.edges.iter().filter(|edge| !edge.open) {
            let of = |state: &Unknowns| match edge.place {
                Place::Body(s) => state.segments[s],
                Place::Side(side, face) => state.sides[side].get(face).copied().unwrap_or(0.0),
            };
            let misfit = (of(next) - of(before)) / (2.0 * PI.sqrt());
            for (&vertex, value) in edge.vertices.iter().zip(edge.value) {
                right[count * vertex] -= WALL_SHARE * edge.length * misfit * value;
            }
        }
        self.heat.1.solve(&self.heat.0, &right)
    }

    /// Velocities of the vertices, two each, and pressures of the cells.
    fn velocities(&self, problem: &Problem, swept: &Swept) -> Vec<f64> {
        let delta = problem.gas.delta;
        let mut right = vec![0.0; 2 * self.vertices];
        for (element, &cell) in self.elements.iter().zip(&self.cells) {
            for (&vertex, value) in element.vertices.iter().zip(element.value) {
                for axis in 0..2 {
                    if !self.fixed[axis][vertex] {
                        let force = delta * swept.cells[cell][1 + axis];
                        right[2 * vertex + axis] += element.volume * force * value;
                    }
                }
            }
        }
        let misfit = self.mass_misfit(problem, swept);
        right.extend(misfit.iter().zip(&self.elements).map(|(m, e)| m * e.volume));
        self.flow.1.solve(&self.flow.0, &right)
    }
}

impl Correction for StokesFourier {
    fn apply(
        &mut self,
        problem: &Problem,
        before: &Unknowns,
        (swept, internal): (&Swept, Option<&Swept>),
        next: &mut Unknowns,
    ) -> bool {
        let share = self.share;
        let count = self.temperatures;
        let warmth = self.temperatures(problem, before, (swept, internal), next);
        let velocities = self.velocities(problem, swept);
        let (velocities, pressures) = velocities.split_at(2 * self.vertices);
        let mut pressures = pressures.to_vec();
        if self.closed {
            self.without_mean(&mut pressures);
        }
        // Temperatures of translation and rotation.
        let at = |vertices: &[usize; 4], factors: &[f64; 4]| {
            let mut t = [0.0; 2];
            for (&vertex, f) in vertices.iter().zip(factors) {
                (0..count).for_each(|k| t[k] += f * warmth[count * vertex + k]);
            }
            t
        };
        let velocity = |vertices: &[usize; 4], factors: &[f64; 4]| {
            [0, 1].map(|axis| -> f64 {
                let pairs = vertices.iter().zip(factors);
                pairs
                    .map(|(&vertex, f)| f * velocities[2 * vertex + axis])
                    .sum()
            })
        };
        let mut density = Vec::with_capacity(self.cells.len());
        for (element, pressure) in self.elements.iter().zip(&pressures) {
            density.push(2.0 * pressure - at(&element.vertices, &element.value)[0]);
        }
        let shifted = density[0];
        if self.closed {
            self.without_mean(&mut density);
        }
        let shifted = density[0] - shifted;
        for (k, element) in self.elements.iter().enumerate() {
            let cell = self.cells[k];
            let lag = self.lag(before, next, cell);
            let w = &mut next.cells[cell];
            let [t, t_r] = at(&element.vertices, &element.value);
            let [ux, uy] = velocity(&element.vertices, &element.value);
            w[0] += share * density[k];
            w[1] += share * ux;
            w[2] += share * uy;
            w[3] += share * 1.5 * (density[k] + t);
            if problem.gas.prandtl == 1.0 {
                continue;
            }
            let slopes = element
                .gradient
                .map(|gradient| at(&element.vertices, &gradient));
            let fluxes = |axis: usize| {
                let [t, r] = slopes[axis];
                let [from, to] = self.conduction.map(|[a, b]| a * t + b * r);
                [lag[axis][0] - from, lag[axis][1] - to].map(|q| share * q)
            };
            for axis in 0..2 {
                w[4 + axis] += fluxes(axis)[0];
            }
            if let Some(internal) = &mut next.internal {
                let e = &mut internal.cells[cell];
                e[0] += share * 0.5 * problem.gas.freedom() * t_r;
                (0..2).for_each(|axis| e[1 + axis] += fluxes(axis)[1]);
            }
        }
        let mut moved = Moved { problem, next };
        for edge in &self.edges {
            let [t, t_r] = at(&edge.vertices, &edge.value);
            let [ux, uy] = velocity(&edge.vertices, &edge.value);
            let pressure = 2.0 * pressures[edge.cell] + shifted;
            let more = share * (pressure - 0.5 * t);
            moved.emit(edge.place, more);
            if let Place::Side(side, face) = edge.place {
                let state = [pressure - t, ux, uy, t, t_r].map(|part| share * part);
                moved.shift(side, face, [[0.0; PARTS], state]);
            }
        }
        false
    }
}

fn factored(
    group: &[u32],
    positions: &[[u32; 2]],
    entries: &[Entry],
) -> Result<(Dissection, Factors)> {
    let pairs = entries.iter().map(|&(row, column, _)| (row, column));
    let order = Dissection::new(group, positions, pairs);
    let factors = Factors::new(&order, entries)?;
    Ok((order, factors))
}
