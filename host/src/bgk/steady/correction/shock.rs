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
//! the wave, so its equation must take part in the [elimination](line), which growing modes upstream of the wave do not disturb.

use super::super::plan::{EAST, FUNCTIONS, Plan, WEST};
use super::super::sums::{Swept, flux};
use super::laws::{lag, transport};
use super::line::{self, Elimination};

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
pub(super) const FLUXES: [usize; 3] = [flux::MASS, flux::MOMENTUM, flux::ENERGY];
/// Unknowns of a face: density, velocity, temperature, and the mass up to it.
const LOCAL: usize = 4;
/// Unknowns that all rows share: three constants and the strength of the downstream stream.
pub(super) const SHARED: usize = 4;

pub(super) type Row = line::Row<LOCAL, SHARED>;

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
                    let f = s.map_or([0.0; FUNCTIONS], |s| [s.a[0][node], s.a[1][node], 0.0]);
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

    /// Derivative of a flux that leaves through a side by density, velocity and temperature.
    pub(super) fn outgoing(&self, side: usize, k: usize) -> &[f64; 3] {
        &self.outgoing[side][k]
    }

    /// A flux that the downstream stream sends in at strength 1.
    pub(super) fn incoming(&self, k: usize) -> f64 {
        self.incoming[k]
    }

    /// The mass that the domain lacks.
    pub(super) fn missing(&self, plan: &Plan, y: &[f64]) -> f64 {
        self.mass - plan.mass(y)
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
        let mut line = Elimination::new(cells + 1);
        // The molecules that leave at the left, and no mass yet.
        line.add((0..3).map(|k| self.leaving_row(WEST, k, fluxes[0])));
        let mut mass = Row::default();
        mass.own[3] = 1.0;
        line.add([mass]);
        for face in 0..=cells {
            let [n, u, _] = at_face(plan, y, face);
            let mut row = Row::default();
            (row.own[0], row.own[1], row.shared[0]) = (u, n, -1.0);
            row.right = -fluxes[face][flux::MASS];
            line.add([row]);
            if face < cells {
                line.add(cell_rows(plan, x, swept, y, face));
            } else {
                line.add((0..2).map(|k| {
                    let mut row = self.leaving_row(EAST, k, fluxes[cells]);
                    row.shared[3] = -self.incoming[k];
                    row
                }));
                mass.right = self.missing(plan, y);
                line.add([mass]);
            }
            line.advance()?;
        }
        line.solve()
    }

    /// The equation of an end: the constant flux `k` is that of its face.
    pub(super) fn leaving_row(&self, side: usize, k: usize, fluxes: [f64; flux::LEN]) -> Row {
        let mut row = Row::default();
        for (entry, a) in row.own.iter_mut().zip(&self.outgoing[side][k]) {
            *entry = -a;
        }
        row.shared[k] = 1.0;
        row.right = fluxes[FLUXES[k]];
        row
    }
}

/// Density, velocity and temperature of a cell.
fn state(plan: &Plan, y: &[f64], cell: usize) -> [f64; 3] {
    let [n, u, _, t] = plan.primitive(y, cell);
    [n, u, t]
}

/// The same at a face: the mean of both cells.
pub(super) fn at_face(plan: &Plan, y: &[f64], face: usize) -> [f64; 3] {
    let cells = [face.saturating_sub(1), face.min(plan.nx - 1)];
    let [a, b] = cells.map(|cell| state(plan, y, cell));
    [0, 1, 2].map(|k| 0.5 * (a[k] + b[k]))
}

/// The rows of a cell: momentum, energy, and the mass up to its right face.
pub(super) fn cell_rows(plan: &Plan, x: &[f64], swept: &Swept, y: &[f64], cell: usize) -> [Row; 3] {
    let fluxes = &swept.fluxes;
    let measured = |k: usize| 0.5 * (fluxes[cell][k] + fluxes[cell + 1][k]);
    let (width, own) = (plan.widths[0][cell], state(plan, y, cell));
    let [mu, mut kappa] = transport(plan, own[2]);
    if plan.rotation.is_some() {
        // Two temperatures have conductivities of their own.
        kappa = 0.0;
    }
    let (friction, conduction) = (4.0 / 3.0 * mu / width, kappa / width);
    let stress = measured(flux::MOMENTUM) - own[0] * (own[1] * own[1] + 0.5 * own[2]);
    let [mut momentum, mut energy, mut mass] = [Row::default(); 3];
    for (side, sign) in [(0, -1.0), (1, 1.0)] {
        let [n, u, t] = at_face(plan, y, cell + side);
        let of = |row: &mut Row, values: [f64; LOCAL]| match side {
            0 => row.own = values,
            _ => row.next = values,
        };
        let [by_n, by_u, by_t] = [0.5 * (u * u + 0.5 * t), n * u - sign * friction, 0.25 * n];
        of(&mut momentum, [by_n, by_u, by_t, 0.0]);
        let [by_n, by_u, by_t] = [
            0.5 * u * (0.5 * u * u + 1.25 * t),
            0.5 * (1.5 * n * u * u + 1.25 * n * t + stress) - sign * own[1] * friction,
            0.625 * n * u - sign * conduction,
        ];
        of(&mut energy, [by_n, by_u, by_t, 0.0]);
        of(&mut mass, [-0.5 * width, 0.0, 0.0, sign]);
    }
    momentum.shared[1] = -1.0;
    energy.shared[2] = -1.0;
    momentum.right = -measured(flux::MOMENTUM);
    energy.right = -measured(flux::ENERGY) - lag(plan, x, y, 4, cell);
    [momentum, energy, mass]
}

/// Density, velocity and temperature of the stream at a side, by its discrete moments.
pub(super) fn stream(plan: &Plan, side: usize) -> [f64; 3] {
    let [n, momentum, _, energy, _] = plan.ends()[side];
    let u = momentum / n;
    [n, u, (energy / n - u * u) / 1.5]
}

/// Derivative of a Maxwellian by density, velocity along x or temperature, at a node.
fn derivative(plan: &Plan, state: [f64; 3], by: usize, node: usize) -> [f64; FUNCTIONS] {
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
            [slope * f[0], (slope + 1.0 / t) * f[1], 0.0]
        }
    }
}

/// Fluxes that the molecules of a node carry.
fn passing(plan: &Plan, node: usize, f: [f64; FUNCTIONS]) -> [f64; flux::LEN] {
    let mut fluxes = [0.0; flux::LEN];
    plan.add_fluxes(&mut fluxes, node, f);
    fluxes
}
