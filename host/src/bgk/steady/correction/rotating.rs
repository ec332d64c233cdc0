//! Conduction by molecules that rotate, between two walls.
//!
//! Translation and rotation conduct and exchange energy. Unknowns at the faces are the changes of T_t and T_r and the flux F of internal energy, beside the constant
//! C of the whole energy flux. A cell of width h has the equations
//!
//! ```text
//! C - q - lag = -[(K_tt + K_rt) dT_t + (K_tr + K_rr) dT_r]/h
//! mean F - q_r - lag_r = -(K_rt dT_t + K_rr dT_r)/h
//! dF/h = nu n (d/4) (3/((3+d) Z)) (T_t - T_r),     with the changes of both
//! walls:  C - J = -+ g (T_t + (d/4) T_r),     F - J_r = -+ g (d/4) T_r      (left -, right +)
//! ```
//!
//! One temperature for both would leave iterations that grow like Z.

use super::super::plan::{INTERNAL, Plan};
use super::super::sums::flux;
use super::line::{Elimination, Row};
use crate::bgk::Rotation;
use crate::bgk::rotation::Matrix;

/// Numbers of a cell's laws.
#[derive(Clone, Copy, Debug)]
pub(super) struct RotatingCell {
    /// Temperature of rotation.
    pub(super) rotational: f64,
    /// Conductivities of both temperatures.
    pub(super) conductivity: Matrix,
    /// Rate of internal energy that a cell gains, over `T_t - T_r`.
    pub(super) exchange: f64,
    /// `T_t - T_r`.
    pub(super) apart: f64,
    /// Change of the heat fluxes of translation and rotation by relaxation, across and along the gap.
    pub(super) lags: [[f64; 2]; 2],
    /// Measured heat flux of internal energy across the gap.
    pub(super) conduction: f64,
}

impl RotatingCell {
    /// A cell of density `n`, whose mass flux is `mass`.
    pub(super) fn new(
        plan: &Plan,
        rotation: &Rotation,
        [x, y]: [&[f64]; 2],
        fluxes: &[[f64; flux::LEN]],
        cell: usize,
        [n, mass]: [f64; 2],
    ) -> Self {
        let [t, t_r] = plan.temperatures(rotation, y, cell);
        let about = if plan.linear { 1.0 } else { t };
        let viscosity = about.powf(plan.omega) / (2.0 * plan.frequency);
        let inverse = rotation.inverse_rates(about);
        let d = rotation.freedom;
        let change = |k: usize| {
            let at = k * plan.layout.cells + cell;
            y[at] - x[at]
        };
        let lags = [0, 1].map(|axis: usize| {
            let by = [change(4 + axis), change(INTERNAL + 1 + axis)];
            [0, 1].map(|k: usize| inverse[k][0] * by[0] + inverse[k][1] * by[1] - by[k])
        });
        let carried = match plan.linear {
            true => 0.0,
            false => 0.25 * d * t_r * mass,
        };
        let frequency = plan.frequency * n * about.powf(1.0 - plan.omega);
        Self {
            rotational: t_r,
            conductivity: (rotation.conduction(about)).map(|row| row.map(|part| viscosity * part)),
            exchange: frequency * n * rotation.exchange(about),
            apart: t - t_r,
            lags,
            conduction: 0.5 * (fluxes[cell][flux::INTERNAL] + fluxes[cell + 1][flux::INTERNAL])
                - carried,
        }
    }

    /// The heat fluxes of Fourier's law beside the measured ones, at these slopes.
    pub(super) fn conducted(&self, slopes: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|k: usize| {
            let law = &self.conductivity[k];
            self.lags[0][k] - law[0] * slopes[0] - law[1] * slopes[1]
        })
    }
}

/// Energy flux of the gap, and the changes at the faces.
pub(super) struct Conduction {
    pub(super) constant: f64,
    /// Changes of both temperatures, and the flux of internal energy.
    pub(super) faces: Vec<[f64; 3]>,
}

impl Conduction {
    /// The mean over a cell of a value at the faces.
    pub(super) fn mean(&self, k: usize, cell: usize) -> f64 {
        0.5 * (self.faces[cell][k] + self.faces[cell + 1][k])
    }
}

/// The laws of both walls: the conductance, the flux of energy and that of internal energy, about the temperature of the wall.
pub(super) type WallLaw = [f64; 3];

/// Solves the laws of a gap. None where they determine nothing, as between two mirrors.
pub(super) fn conduct(
    freedom: f64,
    cells: &[RotatingCell],
    widths: &[f64],
    source: &[f64],
    [left, right]: [WallLaw; 2],
) -> Option<Conduction> {
    if left[0] <= 0.0 && right[0] <= 0.0 {
        return None;
    }
    let quarter = 0.25 * freedom;
    let at_wall = |[conductance, whole, internal]: WallLaw, sign: f64| {
        let g = sign * conductance;
        let (mut energy, mut flux) = (Row::<3, 1>::default(), Row::default());
        energy.own = [g, quarter * g, 0.0];
        energy.shared = [1.0];
        energy.right = whole;
        flux.own = [0.0, quarter * g, 1.0];
        flux.right = internal;
        [energy, flux]
    };
    let mut line = Elimination::new(cells.len() + 1);
    line.add(at_wall(left, 1.0));
    for ((cell, &h), &source) in cells.iter().zip(widths).zip(source) {
        let [[tt, tr], [rt, rr]] = cell.conductivity.map(|row| row.map(|part| part / h));
        let (mut energy, mut flux, mut gain) = (Row::default(), Row::default(), Row::default());
        energy.own = [-tt - rt, -tr - rr, 0.0];
        energy.next = [tt + rt, tr + rr, 0.0];
        energy.shared = [1.0];
        energy.right = source;
        flux.own = [-rt, -rr, 0.5];
        flux.next = [rt, rr, 0.5];
        flux.right = cell.conduction + cell.lags[0][1];
        let rate = 0.5 * h * cell.exchange;
        gain.own = [-rate, rate, -1.0];
        gain.next = [-rate, rate, 1.0];
        gain.right = h * cell.exchange * cell.apart;
        line.add([energy, flux, gain]);
        line.advance()?;
    }
    line.add(at_wall(right, -1.0));
    line.advance()?;
    let (faces, [constant]) = line.solve()?;
    Some(Conduction { constant, faces })
}

/// Internal energy that leaves through a side now, less that which was mirrored there, about the temperature of the wall.
pub(super) fn gained_internal(
    plan: &Plan,
    x: &[f64],
    y: &[f64],
    side: usize,
    temperature: f64,
) -> f64 {
    let sides = plan.record(side).zip(plan.record_internal(side));
    let (Some(rotation), Some((molecules, internal))) = (&plan.rotation, sides) else {
        return 0.0;
    };
    let carried = match plan.linear {
        true => 0.0,
        false => 0.25 * rotation.freedom * temperature,
    };
    let mut sum = 0.0;
    for (node, &[vx, _, _, w]) in plan.nodes.iter().enumerate() {
        if plan.leaves(side, node) {
            let gained = |at: usize| y[at + node] - x[at + node];
            sum += w * vx.abs() * (0.5 * gained(internal) - carried * gained(molecules));
        }
    }
    sum
}

/// Adds the change of the closure's polynomial to the internal energy that a side sends back. `t_r`, `theta` and `heat` are the temperature of rotation, its change, and that of its heat
/// flux; `molecules` are the outgoing ones before and after.
pub(super) fn add_internal(
    plan: &Plan,
    y: &mut [f64],
    side: usize,
    [n, _, t]: &[f64; 3],
    [t_r, theta, heat]: [f64; 3],
    molecules: &[[f64; 2]],
) {
    let (Some(offset), Some(rotation)) = (plan.record_internal(side), &plan.rotation) else {
        return;
    };
    let half = 0.5 * rotation.freedom;
    for (node, [old, new]) in molecules.iter().enumerate() {
        if plan.leaves(side, node) {
            let [vx, ..] = plan.nodes[node];
            y[offset + node] += match plan.linear {
                true => half * theta + 4.0 * heat * vx,
                false => {
                    let drift = 4.0 * heat * vx / (n * t);
                    half * ((t_r + theta) * new - t_r * old) + drift * old
                }
            };
        }
    }
}
