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

use crate::bgk::Rotation;
use crate::bgk::rotation::Matrix;
use crate::bgk::steady::plan::{INTERNAL, Plan};

/// The laws of a cell with two temperatures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotating {
    /// A quarter of the internal degrees of freedom.
    pub(super) quarter: f64,
    /// Conductivities of both temperatures.
    pub(super) conductivity: Matrix,
    /// Rate of internal energy that a cell gains, over `T_t - T_r`.
    pub(super) exchange: f64,
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
