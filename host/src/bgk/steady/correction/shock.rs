//! The correction of a wave between two streams.
//!
//! Unknown at each face are the changes `d` of density, velocity and temperature, and beside them the constants `C` of the mass, momentum and
//! energy flux and the change of the downstream stream's strength. With the fluxes M, P, E of f,
//!
//! ```text
//! face:   u n' + n u' - C_1 = -M
//! cell:   mean[(u^2 + T/2) n' + 2 n u u' + n T'/2] - (4/3) mu du'/dx - C_2 = -mean P
//! cell:   mean[(u^3/2 + 5 u T/4) n' + (3 n u^2/2 + 5 n T/4 + s) u' + (5/4) n u T'] - u (4/3) mu du'/dx - kappa dT'/dx - C_3 = -mean E - lag
//! left:   C_k - A_k d_0 = F_k (k = 1, 2, 3),       right:  C_k - A_k d_N - F'_k rho' = F_k (k = 1, 2),      mass:  sum h mean n' = what is missing
//! ```
//!
//! A is the derivative of the half-range fluxes of a Maxwellian that leave, F' are those of the stream that enters. Two streams and the
//! position of the wave would be one condition too many, so the strength of the downstream stream is free. It differs from 1 by the part of the wave that the
//! domain cuts off.
//!
//! The mass up to a face is an unknown of the face as well, `m_+ = m_- + h mean n'`. The other equations hardly determine the position of
//! the wave, so its equation must take part in the elimination. The elimination runs from left to right by orthogonal reflections, which growing modes
//! upstream of the wave do not disturb. It removes four unknowns of a face from the eight rows that hold them; four rows remain for the next
//! face. The constants are columns that all rows carry.

use super::super::plan::{EAST, Plan, WEST};
use super::super::sums::{Swept, flux};
use super::laws::{lag, transport};

/// The correction of a wave between two streams.
pub(in crate::bgk::steady) struct ShockCorrection {
    /// Mass of the domain, which fixes where the wave is.
    mass: f64,
    /// Derivatives of the outgoing fluxes, `[side][flux][density, velocity, temperature]`.
    outgoing: [[[f64; 3]; 3]; 2],
    /// Fluxes that the downstream stream sends in at strength 1.
    incoming: [f64; 3],
}

/// Fluxes of mass, momentum and energy.
const FLUXES: [usize; 3] = [flux::MASS, flux::MOMENTUM, flux::ENERGY];
/// Unknowns of a face: density, velocity, temperature, and the mass up to it.
const LOCAL: usize = 4;
/// Unknowns that all rows share: three constants and the strength of the downstream stream.
const SHARED: usize = 4;
/// A row: the unknowns of two neighbouring faces, the shared ones, the right side.
const ROW: usize = 2 * LOCAL + SHARED + 1;
/// The column of the right side.
const RIGHT: usize = ROW - 1;

type Row = [f64; ROW];

impl ShockCorrection {
    pub(super) fn new(plan: &Plan, mass: f64) -> Self {
        let mut outgoing = [[[0.0; 3]; 3]; 2];
        let mut incoming = [0.0; 3];
        for side in [WEST, EAST] {
            let state = stream(plan, side);
            for node in 0..plan.nodes.len() {
                if plan.leaves(side, node) {
                    for k in 0..3 {
                        let f = derivative(plan, state, k, node);
                        let passing = passing(plan, node, f);
                        for (row, flux) in outgoing[side].iter_mut().zip(FLUXES) {
                            row[k] += passing[flux];
                        }
                    }
                } else if side == EAST {
                    let s = plan.sides[side].as_ref();
                    let f = s.map_or([0.0; 2], |s| [s.a[0][node], s.a[1][node]]);
                    let passing = passing(plan, node, f);
                    for (sum, flux) in incoming.iter_mut().zip(FLUXES) {
                        *sum += passing[flux];
                    }
                }
            }
        }
        Self {
            mass,
            outgoing,
            incoming,
        }
    }

    pub(super) fn apply(&self, plan: &Plan, x: &[f64], swept: &Swept, y: &mut [f64]) {
        let cells = plan.nx;
        let Some((faces, [.., strength])) = self.solve(plan, x, swept, y) else {
            return;
        };
        let mean = |k: usize, cell: usize| 0.5 * (faces[cell][k] + faces[cell + 1][k]);
        for cell in 0..cells {
            if plan.shakhov {
                let [.., t] = plan.primitive(y, cell);
                let slope = (faces[cell + 1][2] - faces[cell][2]) / plan.widths[0][cell];
                let heat = lag(plan, x, y, 4, cell) - transport(plan, t)[1] * slope;
                y[4 * plan.layout.cells + cell] += heat;
            }
            let change = [mean(0, cell), mean(1, cell), 0.0, mean(2, cell)];
            plan.add_primitive(y, cell, change);
        }
        y[plan.layout.faces_at() + plan.layout.faces[EAST]] += strength;
    }

    /// Changes of density, velocity and temperature at the faces, and the shared unknowns.
    fn solve(
        &self,
        plan: &Plan,
        x: &[f64],
        swept: &Swept,
        y: &[f64],
    ) -> Option<(Vec<[f64; LOCAL]>, [f64; SHARED])> {
        let cells = plan.nx;
        let fluxes = &swept.fluxes;
        // The first four rows: what leaves at the left, and no mass yet.
        let mut rows: Vec<Row> = (0..3)
            .map(|k| self.leaving_row(WEST, k, fluxes[0]))
            .collect();
        rows.push({
            let mut row = [0.0; ROW];
            row[3] = 1.0;
            row
        });
        let mut triangles: Vec<[Row; LOCAL]> = Vec::with_capacity(cells + 1);
        for face in 0..=cells {
            let [n, u, _] = at_face(plan, y, face);
            let mut row = [0.0; ROW];
            (row[0], row[1], row[2 * LOCAL]) = (u, n, -1.0);
            row[RIGHT] = -fluxes[face][flux::MASS];
            rows.push(row);
            if face < cells {
                rows.extend(cell_rows(plan, x, swept, y, face));
            } else {
                for k in 0..2 {
                    let mut row = self.leaving_row(EAST, k, fluxes[cells]);
                    row[2 * LOCAL + 3] = -self.incoming[k];
                    rows.push(row);
                }
                let mut mass = [0.0; ROW];
                mass[3] = 1.0;
                mass[RIGHT] = self.mass - plan.mass(y);
                rows.push(mass);
            }
            triangles.push(eliminate(&mut rows)?);
        }
        let matrix = nalgebra::Matrix4::from_fn(|i, j| rows[i][2 * LOCAL + j]);
        let right = nalgebra::Vector4::from_fn(|i, _| rows[i][RIGHT]);
        let shared: [f64; SHARED] = matrix.full_piv_lu().solve(&right)?.into();
        let faces = substitute(&triangles, &shared);
        let finite = faces.iter().flatten().chain(&shared).all(|v| v.is_finite());
        finite.then_some((faces, shared))
    }

    /// The equation of an end: the constant flux `k` is that of its face.
    fn leaving_row(&self, side: usize, k: usize, fluxes: [f64; flux::LEN]) -> Row {
        let mut row = [0.0; ROW];
        for (entry, a) in row.iter_mut().zip(&self.outgoing[side][k]) {
            *entry = -a;
        }
        row[2 * LOCAL + k] = 1.0;
        row[RIGHT] = fluxes[FLUXES[k]];
        row
    }
}

/// Density, velocity and temperature of a cell.
fn state(plan: &Plan, y: &[f64], cell: usize) -> [f64; 3] {
    let [n, u, _, t] = plan.primitive(y, cell);
    [n, u, t]
}

/// The same at a face: the mean of both cells.
fn at_face(plan: &Plan, y: &[f64], face: usize) -> [f64; 3] {
    let cells = [face.saturating_sub(1), face.min(plan.nx - 1)];
    let [a, b] = cells.map(|cell| state(plan, y, cell));
    [0, 1, 2].map(|k| 0.5 * (a[k] + b[k]))
}

/// The rows of a cell: momentum, energy, and the mass up to its right face.
fn cell_rows(plan: &Plan, x: &[f64], swept: &Swept, y: &[f64], cell: usize) -> [Row; 3] {
    let fluxes = &swept.fluxes;
    let measured = |k: usize| 0.5 * (fluxes[cell][k] + fluxes[cell + 1][k]);
    let (width, own) = (plan.widths[0][cell], state(plan, y, cell));
    let [mu, kappa] = transport(plan, own[2]);
    let (friction, conduction) = (4.0 / 3.0 * mu / width, kappa / width);
    let stress = measured(flux::MOMENTUM) - own[0] * (own[1] * own[1] + 0.5 * own[2]);
    let (mut momentum, mut energy, mut mass) = ([0.0; ROW], [0.0; ROW], [0.0; ROW]);
    for (side, sign) in [(0, -1.0), (1, 1.0)] {
        let [n, u, t] = at_face(plan, y, cell + side);
        let at = LOCAL * side;
        momentum[at] = 0.5 * (u * u + 0.5 * t);
        momentum[at + 1] = n * u - sign * friction;
        momentum[at + 2] = 0.25 * n;
        energy[at] = 0.5 * u * (0.5 * u * u + 1.25 * t);
        energy[at + 1] = 0.5 * (1.5 * n * u * u + 1.25 * n * t + stress) - sign * own[1] * friction;
        energy[at + 2] = 0.625 * n * u - sign * conduction;
        mass[at] = -0.5 * width;
        mass[at + 3] = sign;
    }
    momentum[2 * LOCAL + 1] = -1.0;
    energy[2 * LOCAL + 2] = -1.0;
    momentum[RIGHT] = -measured(flux::MOMENTUM);
    energy[RIGHT] = -measured(flux::ENERGY) - lag(plan, x, y, 4, cell);
    [momentum, energy, mass]
}

/// The unknowns of all faces from the triangles, from the last face to the first.
fn substitute(triangles: &[[Row; LOCAL]], shared: &[f64; SHARED]) -> Vec<[f64; LOCAL]> {
    let mut next = [0.0; LOCAL];
    let mut faces = vec![[0.0; LOCAL]; triangles.len()];
    for (face, rows) in faces.iter_mut().zip(triangles).rev() {
        let mut own = [0.0; LOCAL];
        for (column, row) in rows.iter().enumerate().rev() {
            let known = |entries: &[f64], values: &[f64]| -> f64 {
                entries.iter().zip(values).map(|(a, b)| a * b).sum()
            };
            let value = row[RIGHT]
                - known(&row[column + 1..LOCAL], &own[column + 1..])
                - known(&row[LOCAL..], &next)
                - known(&row[2 * LOCAL..], shared);
            own[column] = value / row[column];
        }
        (*face, next) = (own, own);
    }
    faces
}

/// Eliminates the unknowns of a face by Householder reflections, and moves those of the next face into their place.
///
/// Returns the triangular rows of the face; none where the unknowns are not determined.
fn eliminate(rows: &mut Vec<Row>) -> Option<[Row; LOCAL]> {
    for row in rows.iter_mut() {
        let largest = row[..RIGHT]
            .iter()
            .fold(0.0_f64, |most, v| most.max(v.abs()));
        if largest > 0.0 {
            row.iter_mut().for_each(|v| *v /= largest);
        }
    }
    for column in 0..LOCAL {
        let rows = &mut rows[column..];
        let norm = rows
            .iter()
            .map(|row| row[column].powi(2))
            .sum::<f64>()
            .sqrt();
        if !(norm > 0.0 && norm.is_finite()) {
            return None;
        }
        let diagonal = norm.copysign(-rows[0][column]);
        let mut reflection: Vec<f64> = rows.iter().map(|row| row[column]).collect();
        reflection[0] -= diagonal;
        let square: f64 = reflection.iter().map(|v| v * v).sum();
        for k in column..ROW {
            let along: f64 = rows
                .iter()
                .zip(&reflection)
                .map(|(row, v)| row[k] * v)
                .sum();
            for (row, v) in rows.iter_mut().zip(&reflection) {
                row[k] -= 2.0 * along / square * v;
            }
        }
    }
    let mut triangle = [[0.0; ROW]; LOCAL];
    for (kept, row) in triangle.iter_mut().zip(rows.drain(..LOCAL)) {
        *kept = row;
    }
    for row in rows.iter_mut() {
        row.copy_within(LOCAL..2 * LOCAL, 0);
        row[LOCAL..2 * LOCAL].fill(0.0);
    }
    Some(triangle)
}

/// Density, velocity and temperature of the stream at a side, by its discrete moments.
fn stream(plan: &Plan, side: usize) -> [f64; 3] {
    let [n, momentum, _, energy] = plan.ends()[side];
    let u = momentum / n;
    [n, u, (energy / n - u * u) / 1.5]
}

/// Derivative of a Maxwellian by density, velocity along x or temperature, at a node.
fn derivative(plan: &Plan, state: [f64; 3], by: usize, node: usize) -> [f64; 2] {
    let [n, u, t] = state;
    let f = plan.equilibrium(&plan.local([n, u, 0.0, t], [0.0; 2]), node);
    let [vx, vy, vz2, _] = plan.nodes[node];
    let c = vx - u;
    let square = c * c + vy * vy + vz2;
    let half_d = 0.5 * plan.velocity_dimensions as f64;
    match by {
        0 => f.map(|f| f / n),
        1 => f.map(|f| 2.0 * c / t * f),
        _ => {
            // The second function has a factor T more.
            let slope = (square / t - half_d) / t;
            [slope * f[0], (slope + 1.0 / t) * f[1]]
        }
    }
}

/// Fluxes that the molecules of a node carry.
fn passing(plan: &Plan, node: usize, f: [f64; 2]) -> [f64; flux::LEN] {
    let mut fluxes = [0.0; flux::LEN];
    plan.add_fluxes(&mut fluxes, node, f);
    fluxes
}
