//! Conservation laws with Newton's and Fourier's law, discretised like the diamond sweep.
//!
//! In a diamond cell the mean is that of the western and eastern edge and also that of the southern and northern edge. Edge values of both
//! properties follow from values at the vertices: so the operators are those of bilinear elements with one-point quadrature, and the pressure
//! has one value a cell. With vertex values `w`, a cell has the gradient `G w`, the mean `A w`, and a wall's edge the mean `E w`.

use super::dissection::Element;
use super::rotating::Rotating;

/// Share of the viscosity, or conductivity, that acts on the checkerboard of the vertices, which has neither mean nor gradient.
const CHECKERBOARD: f64 = 1e-3;

/// The state of a cell, about which the equations are linearised, and its edges at walls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local {
    /// Width and height.
    pub(super) widths: [f64; 2],
    pub(super) density: f64,
    pub(super) temperature: f64,
    /// Densities at the vertices.
    pub(super) densities: [f64; 4],
    /// Velocity that convects; zero where convection is neglected.
    pub(super) velocity: [f64; 2],
    pub(super) viscosity: f64,
    pub(super) conductivity: f64,
    /// `a / (2 - a)` of the wall west, east, south, north with accommodation `a`; zero where there is none.
    pub(super) walls: [f64; 4],
    /// Laws of molecules that rotate.
    pub(super) rotating: Option<Rotating>,
}

/// Vertices of a cell: south-west, south-east, north-west, north-east.
pub(super) const VERTICES: [[usize; 2]; 4] = [[0, 0], [1, 0], [0, 1], [1, 1]];

impl Local {
    pub(super) fn volume(&self) -> f64 {
        self.widths[0] * self.widths[1]
    }

    /// Gradient of the vertices' shape functions in the middle of the cell.
    pub(super) fn gradient(&self) -> [[f64; 4]; 2] {
        [0, 1].map(|d| {
            let half = 0.5 / self.widths[d];
            VERTICES.map(|vertex| if vertex[d] == 1 { half } else { -half })
        })
    }

    /// Momentum, or heat, that goes to a wall's face per unit of the velocity, or temperature, of the gas there.
    pub(super) fn wall_rate(&self, side: usize) -> f64 {
        self.walls[side] * self.density * (self.temperature / std::f64::consts::PI).sqrt()
    }

    /// Conductivities of the heat fluxes of translation and rotation by both temperatures; of single atoms the first alone.
    pub(super) fn conductivities(&self) -> [[f64; 2]; 2] {
        match &self.rotating {
            Some(rotating) => rotating.conductivity,
            None => [[self.conductivity, 0.0], [0.0; 2]],
        }
    }

    /// Adds `scale E'E` of each wall's edge, times its accommodation, for the unknowns that `place` says by direction of the wall.
    fn add_walls(&self, matrix: &mut Element, place: impl Fn(usize, usize) -> Option<usize>) {
        for side in 0..4 {
            let scale = 0.25 * self.wall_rate(side) * self.widths[1 - side / 2];
            if scale == 0.0 {
                continue;
            }
            for row in edge(side) {
                for column in edge(side) {
                    if let (Some(row), Some(column)) =
                        (place(side / 2, row), place(side / 2, column))
                    {
                        matrix[row][column] += scale;
                    }
                }
            }
        }
    }

    /// The operator of the temperature, or of both where the molecules rotate.
    pub(super) fn temperature(&self) -> Element {
        let mut matrix = Element::default();
        let volume = self.volume();
        let g = self.gradient();
        let [mut diffusion, mut convection] = [[[0.0; 4]; 4]; 2];
        for row in 0..4 {
            for column in 0..4 {
                let slopes = g[0][row] * g[0][column] + g[1][row] * g[1][column];
                diffusion[row][column] = volume * slopes + CHECKERBOARD * checkerboard(row, column);
                let along = g[0][row] * self.velocity[0] + g[1][row] * self.velocity[1];
                convection[row][column] = 0.25 * self.density * volume * along;
                matrix[row][column] =
                    self.conductivity * diffusion[row][column] - 1.25 * convection[row][column];
            }
        }
        if let Some(rotating) = &self.rotating {
            return self.temperatures(rotating, &diffusion, &convection);
        }
        self.add_walls(&mut matrix, |_, vertex| Some(vertex));
        matrix
    }

    /// The operator of both temperatures, `2 vertex + k` with the whole energy first, from that of diffusion and of convection by the flow.
    fn temperatures(
        &self,
        rotating: &Rotating,
        diffusion: &[[f64; 4]; 4],
        convection: &[[f64; 4]; 4],
    ) -> Element {
        let mut matrix = Element::default();
        let [[tt, tr], [rt, rr]] = rotating.conductivity;
        let quarter = rotating.quarter;
        // The mean of a cell, weighted alike.
        let exchanged = rotating.exchange * self.volume() / 16.0;
        for row in 0..4 {
            for column in 0..4 {
                let (d, c) = (diffusion[row][column], convection[row][column]);
                let carried = quarter * c;
                matrix[2 * row][2 * column] = (tt + rt) * d - 1.25 * c;
                matrix[2 * row][2 * column + 1] = (tr + rr) * d - carried;
                matrix[2 * row + 1][2 * column] = rt * d - exchanged;
                matrix[2 * row + 1][2 * column + 1] = rr * d - carried + exchanged;
            }
        }
        for side in 0..4 {
            let scale = 0.25 * self.wall_rate(side) * self.widths[1 - side / 2];
            for row in edge(side) {
                for column in edge(side) {
                    matrix[2 * row][2 * column] += scale;
                    matrix[2 * row][2 * column + 1] += quarter * scale;
                    matrix[2 * row + 1][2 * column + 1] += quarter * scale;
                }
            }
        }
        matrix
    }

    /// The operator of the velocity, `2 vertex + direction`, and the pressure, the last.
    pub(super) fn velocity(&self) -> Element {
        let mut matrix = Element::default();
        let volume = self.volume();
        let g = self.gradient();
        let u = self.velocity.map(|u| self.density * u);
        for row in 0..4 {
            for column in 0..4 {
                for d in 0..2 {
                    let other = 1 - d;
                    let same =
                        4.0 / 3.0 * g[d][row] * g[d][column] + g[other][row] * g[other][column];
                    let cross =
                        g[other][row] * g[d][column] - 2.0 / 3.0 * g[d][row] * g[other][column];
                    let along = 0.25 * (2.0 * g[d][row] * u[d] + g[other][row] * u[other]);
                    let across = 0.25 * g[other][row] * u[d];
                    matrix[2 * row + d][2 * column + d] = self.viscosity
                        * (volume * same + CHECKERBOARD * checkerboard(row, column))
                        - volume * along;
                    matrix[2 * row + d][2 * column + other] =
                        volume * (self.viscosity * cross - across);
                }
            }
            for d in 0..2 {
                matrix[2 * row + d][8] = -volume * g[d][row];
                // The sign makes the operator of a uniform gas at rest symmetric.
                matrix[8][2 * row + d] = -volume * g[d][row] * self.densities[row];
            }
        }
        // A wall acts on the velocity along it.
        self.add_walls(&mut matrix, |direction, vertex| {
            Some(2 * vertex + 1 - direction)
        });
        matrix
    }
}

/// The two vertices of a side.
pub(super) fn edge(side: usize) -> [usize; 2] {
    [[0, 2], [1, 3], [0, 1], [2, 3]][side]
}

/// `V H'H` of the checkerboard `H = (+,-,-,+) / (2 h)`.
fn checkerboard(row: usize, column: usize) -> f64 {
    let even = |vertex: usize| vertex == 0 || vertex == 3;
    if even(row) == even(column) {
        0.25
    } else {
        -0.25
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(widths: [f64; 2]) -> Local {
        Local {
            widths,
            density: 1.0,
            densities: [1.0; 4],
            temperature: 1.0,
            velocity: [0.0; 2],
            viscosity: 0.5,
            conductivity: 0.6,
            walls: [0.0; 4],
            rotating: None,
        }
    }

    #[test]
    fn gas_at_rest_has_symmetric_operators() {
        let local = Local {
            walls: [0.0, 0.7, 1.0, 0.0],
            ..cell([0.3, 0.8])
        };
        for matrix in [local.temperature(), local.velocity()] {
            for (row, values) in matrix.iter().enumerate() {
                for (column, value) in values.iter().enumerate() {
                    assert!((value - matrix[column][row]).abs() < 1e-15);
                }
            }
        }
    }

    /// Residuals of the vertices of a lattice of cells, `[vertex][direction]`, for a velocity and a pressure.
    fn residuals(
        widths: [&[f64]; 2],
        flow: impl Fn(f64, f64) -> [f64; 2],
        pressure: impl Fn(f64, f64) -> f64,
    ) -> Vec<Vec<[f64; 2]>> {
        let [nx, ny] = widths.map(<[f64]>::len);
        let place = |d: usize, k: usize| widths[d][..k].iter().sum::<f64>();
        let mut residuals = vec![vec![[0.0; 2]; nx + 1]; ny + 1];
        for j in 0..ny {
            for i in 0..nx {
                let [w, h] = [widths[0][i], widths[1][j]];
                let matrix = cell([w, h]).velocity();
                let mut values = [0.0; 9];
                for (k, [a, b]) in VERTICES.into_iter().enumerate() {
                    let u = flow(place(0, i + a), place(1, j + b));
                    (values[2 * k], values[2 * k + 1]) = (u[0], u[1]);
                }
                values[8] = pressure(place(0, i) + 0.5 * w, place(1, j) + 0.5 * h);
                for (k, [a, b]) in VERTICES.into_iter().enumerate() {
                    for d in 0..2 {
                        let row = matrix[2 * k + d].iter().zip(&values);
                        residuals[j + b][i + a][d] += row.map(|(m, v)| m * v).sum::<f64>();
                    }
                }
            }
        }
        residuals
    }

    #[test]
    fn a_linear_flow_has_no_force_inside() {
        let widths: [&[f64]; 2] = [&[0.3, 0.5, 0.2], &[1.0, 0.4, 0.7, 0.1]];
        let found = residuals(widths, |x, y| [0.3 + x - 2.0 * y, 4.0 * x - y], |_, _| 2.0);
        for row in &found[2..4] {
            for force in &row[1..2] {
                assert!(force.iter().all(|f| f.abs() < 1e-14), "{force:?}");
            }
        }
    }

    #[test]
    fn a_quadratic_flow_has_the_force_of_its_viscosity() {
        // -mu (u_yy, 0) + grad p for u_x = y^2 and p = 3 x + y; on equal widths the differences are exact.
        let widths: [&[f64]; 2] = [&[0.5; 4], &[0.25; 4]];
        let found = residuals(widths, |_, y| [y * y, 0.0], |x, y| 3.0 * x + y);
        let volume = 0.125;
        for row in &found[1..4] {
            for force in &row[1..3] {
                assert!(
                    (force[0] / volume - (3.0 - 0.5 * 2.0)).abs() < 1e-13,
                    "{force:?}"
                );
                assert!((force[1] / volume - 1.0).abs() < 1e-13, "{force:?}");
            }
        }
    }
}
