//! The scalar reference of a sweep.

use super::engine::Sweeps;
use super::plan::{COEFFICIENTS, FUNCTIONS, INTERNAL, Plan, upward};
use super::sums::{Sums, Swept, leaving};
use crate::error::Result;

/// The scalar reference: one velocity after the other, the formulas as printed.
pub(super) struct ReferenceSweeps {
    pub(super) plan: Plan,
}

impl ReferenceSweeps {
    /// Visits every cell with its functions and the local equilibrium, every boundary face with its outflow, and every face along x
    /// with its flux.
    fn sweep(
        &self,
        x: &[f64],
        mut visit: impl FnMut(usize, usize, [f64; FUNCTIONS], [f64; FUNCTIONS], &[f64; COEFFICIENTS]),
        mut leave: impl FnMut(usize, usize, usize, [f64; FUNCTIONS]),
        mut pass: impl FnMut(usize, usize, [f64; FUNCTIONS]),
    ) {
        let plan = &self.plan;
        let coefficients = plan.coefficients(x);
        let factor = if plan.diamond { 2.0 } else { 1.0 };
        for node in 0..plan.nodes.len() {
            let group = plan.group(node);
            let [east, north] = [0, 1].map(|d| upward(group, d));
            let plane = plan.dimensions == 2;
            let [vx, vy, ..] = plan.nodes[node];
            let mut below = vec![[0.0; FUNCTIONS]; plan.nx];
            if plane {
                for (face, f) in below.iter_mut().enumerate() {
                    *f = plan.incoming(x, if north { 2 } else { 3 }, face, node);
                }
            }
            for step in 0..plan.ny {
                let row = if north { step } else { plan.ny - 1 - step };
                let mut beside = plan.incoming(x, if east { 0 } else { 1 }, row, node);
                pass(if east { 0 } else { plan.nx }, node, beside);
                for step in 0..plan.nx {
                    let column = if east { step } else { plan.nx - 1 - step };
                    let cell = row * plan.nx + column;
                    let c = &coefficients[cell];
                    let s = plan.equilibrium(c, node);
                    let nu = c[6];
                    let bx = factor * vx.abs() * plan.inverse[0][column];
                    let by = if plane {
                        factor * vy.abs() * plan.inverse[1][row]
                    } else {
                        0.0
                    };
                    let f: [f64; FUNCTIONS] = std::array::from_fn(|k| {
                        (nu * s[k] + bx * beside[k] + by * below[column][k]) / (nu + bx + by)
                    });
                    for k in 0..FUNCTIONS {
                        let out = |inflow: f64| {
                            if plan.diamond {
                                2.0 * f[k] - inflow
                            } else {
                                f[k]
                            }
                        };
                        below[column][k] = out(below[column][k]);
                        beside[k] = out(beside[k]);
                    }
                    visit(cell, node, f, s, c);
                    pass(column + usize::from(east), node, beside);
                }
                leave(if east { 1 } else { 0 }, row, node, beside);
            }
            if plane {
                for (face, &f) in below.iter().enumerate() {
                    leave(if north { 3 } else { 2 }, face, node, f);
                }
            }
        }
    }
}

impl Sweeps for ReferenceSweeps {
    fn iterate(&mut self, x: &[f64], y: &mut [f64]) -> Result<Swept> {
        let plan = &self.plan;
        let layout = plan.layout;
        let mut fluxes = plan.no_fluxes();
        let mut sums = vec![0.0; layout.components * layout.cells];
        let mut left = vec![0.0; layout.faces[4]];
        let visit = |cell: usize,
                     node: usize,
                     f: [f64; FUNCTIONS],
                     s: [f64; FUNCTIONS],
                     c: &[f64; COEFFICIENTS]| {
            let [vx, vy, vz2, w] = plan.nodes[node];
            let d = [w * (f[0] - s[0]), w * (f[1] - s[1])];
            let square = vx * vx + vy * vy + vz2;
            let mut add = |k: usize, value: f64| sums[k * layout.cells + cell] += value;
            add(0, d[0]);
            add(1, vx * d[0]);
            add(2, vy * d[0]);
            add(3, square * d[0] + d[1]);
            if plan.shakhov {
                let (u, q) = heat(plan, node, f, c);
                add(4, u[0] * q);
                add(5, u[1] * q);
                if plan.rotation.is_some() {
                    let energy = 0.5 * w * f[2];
                    add(INTERNAL, w * (f[2] - s[2]));
                    add(INTERNAL + 1, u[0] * energy);
                    add(INTERNAL + 2, u[1] * energy);
                }
            }
        };
        let leave = |side: usize, face: usize, node: usize, f: [f64; FUNCTIONS]| {
            let [vx, vy, _, w] = plan.nodes[node];
            let normal = if side < 2 { vx } else { vy };
            left[layout.faces[side] + face] += w * normal.abs() * f[0];
            if let Some(offset) = plan.record(side) {
                let count = layout.faces[side + 1] - layout.faces[side];
                for k in 0..plan.functions {
                    y[offset + (k * count + face) * plan.nodes.len() + node] = f[k];
                }
            }
        };
        let pass = |face: usize, node: usize, f: [f64; FUNCTIONS]| {
            if let Some(sums) = fluxes.get_mut(face) {
                plan.add_fluxes(sums, node, f);
            }
        };
        self.sweep(x, visit, leave, pass);
        Ok(Swept {
            sums,
            left,
            fluxes,
            ..Swept::default()
        })
    }

    fn output(&mut self, x: &[f64]) -> Result<Sums> {
        let plan = &self.plan;
        let layout = plan.layout;
        let mut cells = vec![0.0; 5 * layout.cells];
        let mut faces = vec![0.0; leaving::LEN * layout.faces[4]];
        let visit = |cell: usize,
                     node: usize,
                     f: [f64; FUNCTIONS],
                     _: [f64; FUNCTIONS],
                     c: &[f64; COEFFICIENTS]| {
            let w = plan.nodes[node][3];
            let ([cx, cy], q) = heat(plan, node, f, c);
            let mut add = |k: usize, value: f64| cells[k * layout.cells + cell] += value;
            add(0, w * cx * cx * f[0]);
            add(1, w * cx * cy * f[0]);
            add(2, w * cy * cy * f[0]);
            add(3, cx * q);
            add(4, cy * q);
        };
        let leave = |side: usize, face: usize, node: usize, f: [f64; FUNCTIONS]| {
            let at = (layout.faces[side] + face) * leaving::LEN;
            plan.add_leaving(&mut faces[at..at + leaving::LEN], side, node, f);
        };
        self.sweep(x, visit, leave, |_, _, _| {});
        Ok(Sums { cells, faces })
    }
}

/// The velocity relative to the mean one, and the weight of a node in the heat flux but for that velocity.
fn heat(plan: &Plan, node: usize, f: [f64; FUNCTIONS], c: &[f64; COEFFICIENTS]) -> ([f64; 2], f64) {
    let [vx, vy, vz2, w] = plan.nodes[node];
    if plan.linear {
        let square = vx * vx + vy * vy + vz2 - 2.5;
        ([vx, vy], 0.5 * w * (square * f[0] + f[1]))
    } else {
        let [cx, cy] = [vx - c[1], vy - c[2]];
        let square = cx * cx + cy * cy + vz2;
        ([cx, cy], 0.5 * w * (square * f[0] + f[1]))
    }
}
