//! Fluxes of a gas near equilibrium and their derivatives to density, velocity and temperatures.
//!
//! F+ is the flux of mass, normal and tangential momentum and energy by the molecules of a Maxwellian that move along a normal (D. I. Pullin 1980;
//! J. C. Mandal and S. M. Deshpande 1994). With s = u_n/sqrt(T),
//!
//! ```text
//! M_0 = n (1 + erf s)/2,   M_1 = u_n M_0 + n sqrt(T/pi) exp(-s^2)/2,   M_(k+2) = u_n M_(k+1) + (k+1) T/2 M_k,
//! F+ = (M_1, M_2, u_t M_1, (M_3 + (u_t^2 + T) M_1)/2),
//!
//! n dM_k/dn = M_k,   T dM_k/du_n = 2 (M_(k+1) - u_n M_k),   T^2 dM_k/dT = M_(k+2) - 2 u_n M_(k+1) + u_n^2 M_k - T M_k/2.
//! ```
//!
//! Molecules with d internal degrees of freedom carry the internal energy d T_r M_1/4 too, which is a part of the energy and the fifth flux.

use std::f64::consts::PI;

use crate::flow::face::Wall;
use crate::flow::gas::{Gas, add};

/// Density, velocity, and temperatures of translation and rotation of a cell; or amounts of mass, momentum, energy and internal energy.
///
/// The last is no unknown of single atoms.
pub(in crate::flow) type State = [f64; PARTS];

/// Derivatives of the fluxes of mass, momentum, energy and internal energy to a state.
pub(super) type Block = [[f64; PARTS]; PARTS];

/// Numbers of a state.
pub(in crate::flow) const PARTS: usize = 5;

/// Normals of the sides left, right, bottom and top, out of the domain.
pub(in crate::flow) const OUTWARD: [[f64; 2]; 4] =
    [[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]];

/// A state with its velocity along a normal and across, anticlockwise.
pub(super) fn turn(state: &State, [nx, ny]: [f64; 2]) -> State {
    let [n, ux, uy, t, t_r] = *state;
    [n, nx * ux + ny * uy, nx * uy - ny * ux, t, t_r]
}

/// A block in the axes of the grid from one in those of a normal.
pub(super) fn turned(block: &Block, [nx, ny]: [f64; 2]) -> Block {
    let columns = block.map(|[a, b, c, d, e]| [a, nx * b - ny * c, ny * b + nx * c, d, e]);
    let [mass, normal, across, energy, internal] = columns;
    [
        mass,
        std::array::from_fn(|c| nx * normal[c] - ny * across[c]),
        std::array::from_fn(|c| ny * normal[c] + nx * across[c]),
        energy,
        internal,
    ]
}

/// Derivatives of F+ in the axes of the normal, of molecules with so many internal degrees of freedom.
pub(super) fn half_flux(&[n, un, ut, t, t_r]: &State, freedom: f64) -> Block {
    let s = un / t.sqrt();
    let mut m = [0.0; 6];
    m[0] = 0.5 * n * (1.0 + libm::erf(s));
    m[1] = un * m[0] + 0.5 * n * (t / PI).sqrt() * (-s * s).exp();
    for k in 0..4 {
        m[k + 2] = un * m[k + 1] + 0.5 * (k as f64 + 1.0) * t * m[k];
    }
    let to_density = |k: usize| m[k] / n;
    let to_velocity = |k: usize| 2.0 / t * (m[k + 1] - un * m[k]);
    let to_temperature =
        |k: usize| (m[k + 2] - 2.0 * un * m[k + 1] + un * un * m[k]) / (t * t) - 0.5 * m[k] / t;
    let mut block = [[0.0; PARTS]; PARTS];
    let columns: [(usize, &dyn Fn(usize) -> f64); 3] =
        [(0, &to_density), (1, &to_velocity), (3, &to_temperature)];
    for (c, derivative) in columns {
        block[0][c] = derivative(1);
        block[1][c] = derivative(2);
        block[2][c] = ut * derivative(1);
        block[3][c] = 0.5 * (derivative(3) + (ut * ut + t) * derivative(1));
        block[4][c] = 0.25 * freedom * t_r * derivative(1);
    }
    block[4][4] = 0.25 * freedom * m[1];
    block[2][2] = m[1];
    block[3][2] = ut * m[1];
    block[3][3] += 0.5 * m[1];
    let internal = block[4];
    add(&mut block[3], internal);
    block
}

/// Derivatives of F-, by molecules against the normal.
pub(super) fn counter_flux(&[n, un, ut, t, t_r]: &State, freedom: f64) -> Block {
    let mut block = half_flux(&[n, -un, ut, t, t_r], freedom);
    for (a, line) in block.iter_mut().enumerate() {
        for (b, value) in line.iter_mut().enumerate() {
            // Normal velocity and normal momentum change their sign, and the flux does.
            if (a == 1) == (b == 1) {
                *value = -*value;
            }
        }
    }
    block
}

/// Derivatives of the flux through a face to the states before and behind it, which are a distance apart.
pub(super) fn through_face(
    gas: &Gas,
    distance: f64,
    normal: [f64; 2],
    states: [&State; 2],
) -> [Block; 2] {
    let [a, b] = states.map(|state| turn(state, normal));
    let freedom = gas.freedom();
    let [forth_a, back_a, forth_b, back_b] = [
        half_flux(&a, freedom),
        counter_flux(&a, freedom),
        half_flux(&b, freedom),
        counter_flux(&b, freedom),
    ];
    let nu = gas.frequency(a[0], a[3]);
    let square = |s: &State| (s[1] * s[1]).max(s[2] * s[2]) / (5.0 / 6.0 * s[3]);
    let fast = square(&a).max(square(&b)) - 0.5;
    let w = (1.0 / (1.0 + nu * distance)).max(fast.min(1.0));
    let viscosity = |t: f64| t.powf(gas.omega) / (2.0 * gas.delta);
    let mu = 0.5 * (viscosity(a[3]) + viscosity(b[3])) / distance;
    let mean = [0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])];
    let [[tt, tr], [rt, rr]] = gas
        .conduction(0.5 * (a[3] + b[3]))
        .map(|row| row.map(|part| mu * part));
    let mut viscous = [[0.0; PARTS]; PARTS];
    viscous[1][1] = 4.0 / 3.0 * mu;
    viscous[2][2] = mu;
    viscous[3] = [
        0.0,
        4.0 / 3.0 * mu * mean[0],
        mu * mean[1],
        tt + rt,
        tr + rr,
    ];
    viscous[4] = [0.0, 0.0, 0.0, rt, rr];
    let blend = |own: &Block, other: &Block, sign: f64| -> Block {
        std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let full = own[i][j] + other[i][j];
                w * own[i][j] + 0.5 * (1.0 - w) * full + sign * viscous[i][j]
            })
        })
    };
    [
        turned(&blend(&forth_a, &back_a, 1.0), normal),
        turned(&blend(&back_b, &forth_b, -1.0), normal),
    ]
}

/// Derivatives of the flux into a wall, which emits the mass that arrives.
pub(super) fn into_wall(
    state: &State,
    wall: &Wall,
    accommodation: f64,
    outward: [f64; 2],
    freedom: f64,
) -> Block {
    let [n, un, ut, t, t_r] = turn(state, outward);
    let along = outward[0] * wall.velocity[1] - outward[1] * wall.velocity[0];
    let arriving = half_flux(&[n, un, ut - along, t, t_r], freedom);
    let mass = arriving[0];
    let recoil = 0.5 * (PI * wall.temperature).sqrt();
    // The gas that arrives comes from beside the wall, where slip and jump are half of the cell's.
    let share = 2.0 * accommodation / (2.0 - accommodation);
    let internal = 0.25 * freedom * wall.temperature;
    let mut block = [[0.0; PARTS]; PARTS];
    for c in 0..PARTS {
        block[1][c] = arriving[1][c] + recoil * mass[c];
        block[2][c] = share * arriving[2][c];
        block[3][c] = share * (arriving[3][c] - (wall.temperature + internal) * mass[c]);
        block[4][c] = share * (arriving[4][c] - internal * mass[c]);
        // In the frame of the grid.
        block[3][c] += along * block[2][c];
    }
    turned(&block, outward)
}

/// Derivatives of the flux into a mirror: normal momentum alone.
pub(super) fn into_mirror(state: &State, outward: [f64; 2]) -> Block {
    let arriving = half_flux(&turn(state, outward), 0.0);
    let mut block = [[0.0; PARTS]; PARTS];
    block[1] = arriving[1].map(|value| 2.0 * value);
    turned(&block, outward)
}

/// Derivatives of mass, momentum, energy and internal energy to a state.
pub(super) fn conserved(&[n, ux, uy, t, t_r]: &State, freedom: f64) -> Block {
    let internal = 0.25 * freedom;
    let energy = 0.5 * (ux * ux + uy * uy + 1.5 * t) + internal * t_r;
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [ux, n, 0.0, 0.0, 0.0],
        [uy, 0.0, n, 0.0, 0.0],
        [energy, n * ux, n * uy, 0.75 * n, internal * n],
        [internal * t_r, 0.0, 0.0, 0.0, internal * n],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F+ by sums over a fine grid of velocities, of molecules with two internal degrees of freedom.
    fn summed(&[n, un, ut, t, t_r]: &State) -> State {
        let step = 0.02;
        let mut total = [0.0; PARTS];
        for i in 0..400 {
            for j in -400..400 {
                let [vn, vt] = [i, j].map(|k| (f64::from(k) + 0.5) * step);
                let square = (vn - un).powi(2) + (vt - ut).powi(2);
                let part = vn * step * step * n / (PI * t) * (-square / t).exp();
                total[0] += part;
                total[1] += part * vn;
                total[2] += part * vt;
                total[3] += part * 0.5 * (vn * vn + vt * vt + 0.5 * t + t_r);
                total[4] += part * 0.5 * t_r;
            }
        }
        total
    }

    #[test]
    fn derivatives_are_those_of_the_half_flux() {
        let state = [1.3, 0.4, -0.7, 0.8, 0.6];
        let block = half_flux(&state, 2.0);
        for column in 0..PARTS {
            let moved = |by: f64| {
                let mut state = state;
                state[column] += by;
                summed(&state)
            };
            let [low, high] = [-1e-3, 1e-3].map(moved);
            for row in 0..PARTS {
                let slope = (high[row] - low[row]) / 2e-3;
                let found = block[row][column];
                assert!(
                    (found - slope).abs() < 1e-4,
                    "{row} {column}: {found} for {slope}"
                );
            }
        }
    }

    #[test]
    fn both_directions_make_the_whole_flux() {
        let state = [1.3, 0.4, -0.7, 0.8, 0.6];
        let [n, u, v, t, t_r] = state;
        let [forth, back] = [half_flux(&state, 2.0), counter_flux(&state, 2.0)];
        let energy = u * u + v * v + 2.5 * t + t_r;
        // Of mass n u, momentum n (u^2 + T/2) and n u v, energy n u (u^2 + v^2 + 5T/2 + T_r)/2, and internal energy n u T_r/2.
        let whole = [
            [u, n, 0.0, 0.0, 0.0],
            [u * u + 0.5 * t, 2.0 * n * u, 0.0, 0.5 * n, 0.0],
            [u * v, n * v, n * u, 0.0, 0.0],
            [
                0.5 * u * energy,
                0.5 * n * energy + n * u * u,
                n * u * v,
                1.25 * n * u,
                0.5 * n * u,
            ],
            [0.5 * u * t_r, 0.5 * n * t_r, 0.0, 0.0, 0.5 * n * u],
        ];
        for row in 0..PARTS {
            for column in 0..PARTS {
                let found = forth[row][column] + back[row][column];
                let expected: f64 = whole[row][column];
                assert!((found - expected).abs() < 1e-14, "{row} {column}: {found}");
            }
        }
    }
}
