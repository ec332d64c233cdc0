//! The fields of a cell, and the local equilibrium that they parametrise.

use super::plan::{COEFFICIENTS, FUNCTIONS, INTERNAL, Plan};
use crate::bgk::State;

impl Plan {
    /// The first four unknowns of a cell in a state.
    pub(super) fn unknowns(&self, state: &State) -> [f64; 4] {
        let State {
            density: n,
            velocity: [ux, uy],
            temperature: t,
        } = *state;
        if self.linear {
            [n - 1.0, ux, uy, 1.5 * (n - 1.0 + t - 1.0)]
        } else {
            [n, n * ux, n * uy, n * (ux * ux + uy * uy + 1.5 * t)]
        }
    }

    /// Density, velocity and temperature of a cell; in the linear case their perturbations.
    pub(super) fn primitive(&self, x: &[f64], cell: usize) -> [f64; 4] {
        let at = |k: usize| x[k * self.layout.cells + cell];
        if self.linear {
            [at(0), at(1), at(2), at(3) / 1.5 - at(0)]
        } else {
            self.state([0, 1, 2, 3].map(at))
        }
    }

    /// Density, velocity and temperature of sums of f (1, v_x, v_y, |v|^2).
    pub(super) fn state(&self, [n, mx, my, square]: [f64; 4]) -> [f64; 4] {
        let [ux, uy] = [mx / n, my / n];
        [n, ux, uy, (square / n - ux * ux - uy * uy) / 1.5]
    }

    /// Whether every cell has a positive density and temperature.
    pub(super) fn is_admissible(&self, x: &[f64]) -> bool {
        let finite = x.iter().all(|value| value.is_finite());
        finite
            && (self.linear
                || (0..self.layout.cells).all(|cell| {
                    let [n, _, _, t] = self.primitive(x, cell);
                    let turns =
                        self.rotation.is_none() || x[INTERNAL * self.layout.cells + cell] > 0.0;
                    n > 0.0 && t > 0.0 && turns
                }))
    }

    /// The numbers that the cells' local equilibria are evaluated from.
    pub(super) fn coefficients(&self, x: &[f64]) -> Vec<[f64; COEFFICIENTS]> {
        let cells = self.layout.cells;
        if let Some(rotation) = &self.rotation {
            let of = |cell| self.rotating_coefficients(rotation, x, cell);
            return (0..cells).map(of).collect();
        }
        (0..cells)
            .map(|cell| {
                let q = if self.shakhov {
                    [x[4 * cells + cell], x[5 * cells + cell]]
                } else {
                    [0.0; 2]
                };
                self.local(self.primitive(x, cell), q.map(|q| self.shakhov_factor * q))
            })
            .collect()
    }

    /// The numbers that a local equilibrium is evaluated from: density, velocity and temperature, and (1-Pr) (8/5) q.
    pub(super) fn local(&self, state: [f64; 4], q: [f64; 2]) -> [f64; COEFFICIENTS] {
        let [n, ux, uy, t] = state;
        if self.linear {
            let half_k = 0.5 * self.internal;
            let nu = self.frequency;
            return [
                n,
                2.0 * ux,
                2.0 * uy,
                t,
                q[0],
                q[1],
                nu,
                half_k,
                0.0,
                0.0,
                0.0,
            ];
        }
        let d = 0.5 * self.velocity_dimensions as f64;
        let k = q.map(|q| q / (n * t * t));
        let nu = self.frequency * n * t.powf(1.0 - self.omega);
        let amplitude = n * (std::f64::consts::PI * t).powf(-d);
        [
            amplitude,
            ux,
            uy,
            1.0 / t,
            k[0],
            k[1],
            nu,
            0.5 * self.internal * t,
            0.0,
            0.0,
            0.0,
        ]
    }

    /// The local equilibrium at a node.
    pub(super) fn equilibrium(&self, c: &[f64; COEFFICIENTS], node: usize) -> [f64; FUNCTIONS] {
        let [vx, vy, vz2, _] = self.nodes[node];
        let half_k = 0.5 * self.internal;
        if self.linear {
            let square = vx * vx + vy * vy + vz2;
            let k = c[4] * vx + c[5] * vy;
            let first = c[0]
                + c[1] * vx
                + c[2] * vy
                + c[3] * (square + half_k - 1.5)
                + k * (square + half_k - 2.5);
            let internal = c[8] + c[9] * vx + c[10] * vy;
            [first, half_k * (first + c[3] + k), internal]
        } else {
            let (cx, cy) = (vx - c[1], vy - c[2]);
            let xi = (cx * cx + cy * cy + vz2) * c[3];
            let k = c[4] * cx + c[5] * cy;
            let g = c[0] * (-xi).exp();
            let first = g * (1.0 + k * (xi + half_k - 2.5));
            [
                first,
                c[7] * g * (1.0 + k * (xi + half_k - 1.5)),
                c[8] * first + (c[9] * cx + c[10] * cy) * g,
            ]
        }
    }
}
