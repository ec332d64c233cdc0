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
//! Walls let gas slip and its temperature jump, by L/sqrt(pi) a segment; ports resist the normal velocity by 2L/sqrt(pi). A small part of the
//! pressure in the last equation keeps the factors regular, and a small part of each cell's hourglass modes takes them out. With p in
//! rho0 v0^2 the density is 2p - T.

use std::f64::consts::PI;

use super::change::{Correction, lagged_change};
use super::dissection::Dissection;
use super::elements::{Edge, Element, Place, edges, element, flow_equations, heat_equations};
use super::sparse::{Entry, Factors};
use super::vertices::Vertices;
use crate::error::Result;
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
    conductivity: f64,
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
        let conductivity = 0.625 / (delta * problem.gas.prandtl);
        let cells: Vec<usize> = (0..space.len()).filter(|&k| space.is_gas(k)).collect();
        let periodic =
            [0, 2].map(|side: usize| matches!(problem.borders[side], Border::Periodic(_)));
        let averages = Vertices::new(space, &cells, periodic);
        let (of_cell, positions) = averages.numbered(space);
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
        let heat = heat_equations(&elements, &edges, conductivity);
        let flow = flow_equations(space, &cells, &elements, &edges, &fixed, viscosity);
        let averaged = cells
            .iter()
            .map(|&cell| {
                let [dx, dy] = space.widths(cell % space.nx(), cell / space.nx());
                1.0 / (1.0 + dx * dy * (delta / THICK).powi(2))
            })
            .collect();
        let count = positions.len();
        let group: Vec<u32> = (0..count as u32).collect();
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
            conductivity,
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
        let mut amounts: Vec<[f64; 4]> = self
            .cells
            .iter()
            .zip(&self.elements)
            .map(|(&cell, element)| {
                let mass = problem.gas.delta * swept.cells[cell][0] * element.volume;
                [mass, 0.0, 0.0, 0.0]
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

    /// Temperatures of the vertices.
    fn temperatures(
        &self,
        problem: &Problem,
        before: &Unknowns,
        swept: &Swept,
        next: &Unknowns,
        lag: &[[f64; 2]],
    ) -> Vec<f64> {
        let delta = problem.gas.delta;
        let mut right = vec![0.0; self.vertices];
        for ((element, &cell), lag) in self.elements.iter().zip(&self.cells).zip(lag) {
            let sums = &swept.cells[cell];
            let source = delta * (0.5 * sums[3] - 1.25 * sums[0]);
            for (c, &vertex) in element.vertices.iter().enumerate() {
                let handed_on = element.gradient[0][c] * lag[0] + element.gradient[1][c] * lag[1];
                right[vertex] += element.volume * (source * element.value[c] + handed_on);
            }
        }
        for edge in self.edges.iter().filter(|edge| !edge.open) {
            let of = |state: &Unknowns| match edge.place {
                Place::Segment(s) => state.segments[s],
                Place::Side(side, face) => state.sides[side].get(face).copied().unwrap_or(0.0),
            };
            let misfit = (of(next) - of(before)) / (2.0 * PI.sqrt());
            for (&vertex, value) in edge.vertices.iter().zip(edge.value) {
                right[vertex] -= WALL_SHARE * edge.length * misfit * value;
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
        swept: &Swept,
        next: &mut Unknowns,
    ) -> bool {
        let share = self.share;
        let prandtl = problem.gas.prandtl;
        let late = (1.0 - prandtl) / prandtl;
        let lag: Vec<[f64; 2]> = self
            .cells
            .iter()
            .map(|&cell| [4, 5].map(|c| late * (next.cells[cell][c] - before.cells[cell][c])))
            .collect();
        let warmth = self.temperatures(problem, before, swept, next, &lag);
        let velocities = self.velocities(problem, swept);
        let (velocities, pressures) = velocities.split_at(2 * self.vertices);
        let mut pressures = pressures.to_vec();
        if self.closed {
            self.without_mean(&mut pressures);
        }
        let at = |values: &[f64], vertices: &[usize; 4], factors: &[f64; 4]| -> f64 {
            vertices
                .iter()
                .zip(factors)
                .map(|(&vertex, f)| f * values[vertex])
                .sum()
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
            density.push(2.0 * pressure - at(&warmth, &element.vertices, &element.value));
        }
        let shifted = density[0];
        if self.closed {
            self.without_mean(&mut density);
        }
        let shifted = density[0] - shifted;
        for (k, element) in self.elements.iter().enumerate() {
            let w = &mut next.cells[self.cells[k]];
            let t = at(&warmth, &element.vertices, &element.value);
            let [ux, uy] = velocity(&element.vertices, &element.value);
            w[0] += share * density[k];
            w[1] += share * ux;
            w[2] += share * uy;
            w[3] += share * 1.5 * (density[k] + t);
            if prandtl != 1.0 {
                for axis in 0..2 {
                    let slope = at(&warmth, &element.vertices, &element.gradient[axis]);
                    w[4 + axis] += share * (lag[k][axis] - self.conductivity * slope);
                }
            }
        }
        for edge in &self.edges {
            let t = at(&warmth, &edge.vertices, &edge.value);
            let [ux, uy] = velocity(&edge.vertices, &edge.value);
            let pressure = 2.0 * pressures[edge.cell] + shifted;
            let more = share * (pressure - 0.5 * t);
            match edge.place {
                Place::Segment(s) => next.segments[s] += more,
                Place::Side(side, face) => {
                    if let Some(density) = next.sides[side].get_mut(face) {
                        *density += more;
                    }
                    let state = [pressure - t, ux, uy, t].map(|part| share * part);
                    lagged_change(problem, side, face, [[0.0; 4], state], next);
                }
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
