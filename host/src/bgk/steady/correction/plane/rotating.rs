//! Molecules that rotate, in the correction on a rectangle: two temperatures at each vertex.
//!
//! The first equation is that of the whole energy, the second that of internal energy,
//!
//! ```text
//! -div[(K_tt + K_rt) grad T_t + (K_tr + K_rr) grad T_r] = nu [(c_E + c_I)/2 - (5/4 T_t + d/4 T_r) c_n]
//! -div[K_rt grad T_t + K_rr grad T_r] - X (T_t - T_r)   = nu [c_S/2 - (d/4) T_r c_n] + X (T_t - T_r)_h
//! walls: heat outwards (T_t + (d/4) T_r)/sqrt(pi), and (d/4) T_r/sqrt(pi) of internal energy
//! ```
//!
//! with the changes of both temperatures on the left, `c_I` the change of internal energy by an iteration, `c_S` its sum of `E - S_E`, and `X = nu n (d/4) 3/((3 + d) Z)`.

use super::dissection::Element;
use super::operators::{Local, edge};
use crate::bgk::Rotation;
use crate::bgk::rotation::Matrix;
use crate::bgk::steady::plan::{INTERNAL, Plan};

/// The laws of a cell with two temperatures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotating {
    /// A quarter of the internal degrees of freedom.
    quarter: f64,
    /// Conductivities of both temperatures.
    pub(super) conductivity: Matrix,
    /// Rate of internal energy that a cell gains, over `T_t - T_r`.
    exchange: f64,
}

impl Rotating {
    /// The laws at a density and a temperature of translation.
    pub(super) fn new(plan: &Plan, rotation: &Rotation, density: f64, temperature: f64) -> Self {
        let viscosity = 0.5 * temperature.powf(plan.omega) / plan.frequency;
        let conduction = rotation.conduction(temperature);
        Self {
            quarter: 0.25 * rotation.freedom,
            conductivity: conduction.map(|row| row.map(|part| viscosity * part)),
            exchange: exchange(plan, rotation, density, temperature),
        }
    }

    /// The operator of both temperatures of a cell, `2 vertex + k`, from that of diffusion and of convection by the flow.
    pub(super) fn operator(
        &self,
        cell: &Local,
        diffusion: &[[f64; 4]; 4],
        convection: &[[f64; 4]; 4],
    ) -> Element {
        let mut matrix = Element::default();
        let [[tt, tr], [rt, rr]] = self.conductivity;
        // The mean of a cell, weighted alike.
        let exchanged = self.exchange * cell.volume() / 16.0;
        for row in 0..4 {
            for column in 0..4 {
                let (d, c) = (diffusion[row][column], convection[row][column]);
                let carried = self.quarter * c;
                matrix[2 * row][2 * column] = (tt + rt) * d - 1.25 * c;
                matrix[2 * row][2 * column + 1] = (tr + rr) * d - carried;
                matrix[2 * row + 1][2 * column] = rt * d - exchanged;
                matrix[2 * row + 1][2 * column + 1] = rr * d - carried + exchanged;
            }
        }
        for side in 0..4 {
            let scale = 0.25 * cell.wall_rate(side) * cell.widths[1 - side / 2];
            for row in edge(side) {
                for column in edge(side) {
                    matrix[2 * row][2 * column] += scale;
                    matrix[2 * row][2 * column + 1] += self.quarter * scale;
                    matrix[2 * row + 1][2 * column + 1] += self.quarter * scale;
                }
            }
        }
        matrix
    }

    /// Internal energy that goes to a wall, per unit of its rate and of the change of the temperature of rotation.
    pub(super) fn at_wall(&self) -> f64 {
        self.quarter
    }
}

/// Rate of the internal energy that a cell gains, over `T_t - T_r`.
fn exchange(plan: &Plan, rotation: &Rotation, density: f64, temperature: f64) -> f64 {
    let frequency = plan.frequency * density * temperature.powf(1.0 - plan.omega);
    frequency * density * rotation.exchange(temperature)
}

/// Changes of the heat fluxes of translation and rotation by a relaxation that the closure does not contain, along x and y: `[direction][kind]`.
pub(super) fn lags(
    plan: &Plan,
    rotation: &Rotation,
    [x, y]: [&[f64]; 2],
    cell: usize,
) -> [[f64; 2]; 2] {
    let temperature = match plan.linear {
        true => 1.0,
        false => plan.primitive(y, cell)[3],
    };
    let inverse = rotation.inverse_rates(temperature);
    [0, 1].map(|d: usize| {
        let change = [4 + d, INTERNAL + 1 + d].map(|k| {
            let at = k * plan.layout.cells + cell;
            y[at] - x[at]
        });
        [0, 1].map(|k: usize| inverse[k][0] * change[0] + inverse[k][1] * change[1] - change[k])
    })
}

/// Internal energy that a cell gains beyond what a steady one does, in a unit of time and volume, by the sum `gained` of `E - S_E` and the defect `mass`, which has the frequency in it.
pub(super) fn gain(
    plan: &Plan,
    rotation: &Rotation,
    [x, y]: [&[f64]; 2],
    cell: usize,
    [gained, mass]: [f64; 2],
) -> f64 {
    let frequency = |x: &[f64]| match plan.linear {
        true => [plan.frequency, 1.0, 1.0],
        false => {
            let [n, _, _, t] = plan.primitive(x, cell);
            [plan.frequency * n * t.powf(1.0 - plan.omega), n, t]
        }
    };
    let [nu, ..] = frequency(x);
    let [_, n, t] = frequency(y);
    let [translational, rotational] = plan.temperatures(rotation, y, cell);
    0.5 * nu * gained - carried(plan, rotation, x, cell) * mass
        + exchange(plan, rotation, n, t) * (translational - rotational)
}

/// Internal energy that a flux of mass carries, per unit of it, at the temperature of rotation; none beyond that of the gas at rest in the linearised equation.
pub(super) fn carried(plan: &Plan, rotation: &Rotation, x: &[f64], cell: usize) -> f64 {
    match plan.linear {
        true => 0.0,
        false => 0.25 * rotation.freedom * plan.temperatures(rotation, x, cell)[1],
    }
}
