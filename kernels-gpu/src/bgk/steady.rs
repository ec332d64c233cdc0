//! Sweeps of all velocities through space in upwind order, for steady flows: no distribution is stored.
//!
//! The unknowns are fields; from them [`steady_fields()`] or [`steady_plane_fields()`] make the numbers that a cell's local equilibrium S is
//! evaluated from, [`steady_line()`] or [`steady_plane()`] solve `v.grad f = nu (S - f)` cell by cell with
//!
//! ```text
//! f_P = (nu S + sum b_i f_in,i) / (nu + sum b_i),    b_i = c |v_i|/dx_i,    f_out,i = c f_P - (c-1) f_in,i,    c = 1 upwind, 2 diamond
//! ```
//!
//! and keep sums over velocities of `f - S`, and the gather kernels add these up in a fixed order. A node carries two functions: the distribution with the missing
//! velocity components integrated out, and its second moment over these; where no component is missing the second is zero. Molecules that rotate have a third one,
//! their internal energy, and the host evaluates the numbers of their cells, which need the relaxation matrix of both heat fluxes.

mod line;
mod plane;

pub use line::*;
pub use plane::*;

use super::exponential::exponential;
use crate::math::Real;
use crate::memory::{In, Quad};
use crate::simt::Simt;

/// Sums that [`steady_line()`] keeps for each cell: density, momentum along x and y, energy of f - S, heat flux along x and y of f.
pub const SUMS: u32 = 6;

/// The same of molecules that rotate, which have the sum of E - S_E and the heat flux of E along x and y beside these.
pub const ROTATING_SUMS: u32 = 9;

/// Functions of a node of molecules that rotate.
pub const ROTATING_FUNCTIONS: usize = 3;

/// The gas and the velocities, as the kernels see them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct SteadyGas {
    /// Half the number of velocity dimensions.
    pub half_d: f64,
    /// Half the number of velocity components that are integrated out.
    pub half_k: f64,
    /// (1 - Pr) 8/5.
    pub shakhov: f64,
    /// Exponent of the viscosity.
    pub omega: f64,
    /// Relaxation frequency at unit density and temperature.
    pub frequency: f64,
    /// Cells.
    pub cells: u32,
    /// Components of the unknowns: 4, 6 with heat fluxes, 9 of molecules that rotate.
    pub components: u32,
    /// 1 for the linearised equation.
    pub linear: u32,
    /// 1 for the diamond closure, 0 for the upwind one.
    pub diamond: u32,
}

/// The numbers that a cell's local equilibrium is evaluated from, out of the unknowns.
///
/// Nonlinear: n (pi T)^(-D/2), u_x, u_y, 1/T, (1-Pr) (8/5) q / (n T^2), nu, K T/2. Linear: the perturbations n, 2 u_x, 2 u_y, T, (1-Pr) (8/5) q, then nu, K/2.
#[inline(always)]
#[track_caller]
fn coefficients<S: Simt>(t: &S, x: In<'_, f64>, cell: u32, gas: &SteadyGas) -> [f64; 8] {
    let at = |k: u32| x.get(t, (k * gas.cells + cell) as usize);
    let (n, energy) = (at(0), at(3));
    let mut q = [0.0; 2];
    if gas.components == SUMS {
        q = [at(4) * gas.shakhov, at(5) * gas.shakhov];
    }
    if gas.linear == 1 {
        let tau = energy / 1.5 - n;
        [
            n,
            2.0 * at(1),
            2.0 * at(2),
            tau,
            q[0],
            q[1],
            gas.frequency,
            gas.half_k,
        ]
    } else {
        let (ux, uy) = (at(1) / n, at(2) / n);
        let temperature = (energy / n - ux * ux - uy * uy) / 1.5;
        let log = Real::ln(temperature);
        let amplitude = n * exponential(-gas.half_d * (log + 1.144_729_885_849_400_2));
        let nu = gas.frequency * n * exponential((1.0 - gas.omega) * log);
        let scale = 1.0 / (n * temperature * temperature);
        let inverse = 1.0 / temperature;
        [
            amplitude,
            ux,
            uy,
            inverse,
            q[0] * scale,
            q[1] * scale,
            nu,
            gas.half_k * temperature,
        ]
    }
}

/// The two halves of a cell's numbers in the working precision.
#[inline(always)]
fn halves<T: Real>(c: [f64; 8]) -> [Quad<T>; 2] {
    let to = T::from_f64;
    [
        Quad([to(c[0]), to(c[1]), to(c[2]), to(c[3])]),
        Quad([to(c[4]), to(c[5]), to(c[6]), to(c[7])]),
    ]
}

/// A local equilibrium at a node.
struct Local<T, const F: usize> {
    /// The functions.
    s: [T; F],
    /// The velocity relative to the mean one (the velocity itself in the linear case), and the square that weighs the heat flux.
    c: [T; 3],
}

/// The local equilibrium of a cell at the node (v_x, v_y, v_z^2), from the cell's numbers.
#[inline(always)]
fn local<T: Real, const LINEAR: bool, const F: usize>(
    cell: [Quad<T>; F],
    node: Quad<T>,
    half_k: T,
) -> Local<T, F> {
    let [c0, c1, c2, c3] = cell[0].0;
    let [k0, k1, _, c7] = cell[1].0;
    let [vx, vy, vz2, _] = node.0;
    let shift = |s: f64| half_k + T::from_f64(-s);
    let mut s = [T::ZERO; F];
    if LINEAR {
        let square = vx.mul_add(vx, vy.mul_add(vy, vz2));
        let k = k0.mul_add(vx, k1 * vy);
        let drift = c1.mul_add(vx, c2 * vy);
        let first = c3.mul_add(square + shift(1.5), c0 + drift);
        s[0] = k.mul_add(square + shift(2.5), first);
        s[1] = half_k * (s[0] + c3 + k);
        if F == ROTATING_FUNCTIONS {
            let [half, along, across, _] = cell[F - 1].0;
            s[F - 1] = along.mul_add(vx, across.mul_add(vy, half));
        }
        Local {
            s,
            c: [vx, vy, square + T::from_f64(-2.5)],
        }
    } else {
        let (cx, cy) = (vx - c1, vy - c2);
        let square = cx.mul_add(cx, cy.mul_add(cy, vz2));
        let xi = square * c3;
        let k = k0.mul_add(cx, k1 * cy);
        let g = c0 * exponential(-xi);
        let second = g.mul_add(k * (xi + shift(1.5)), g);
        s[0] = g.mul_add(k * (xi + shift(2.5)), g);
        s[1] = c7 * second;
        if F == ROTATING_FUNCTIONS {
            let [half, along, across, _] = cell[F - 1].0;
            s[F - 1] = half.mul_add(s[0], along.mul_add(cx, across * cy) * g);
        }
        Local {
            s,
            c: [cx, cy, square],
        }
    }
}

/// Adds a node's part of the sums over velocities; those beyond the ones of its functions stay.
#[inline(always)]
fn add<T: Real, const F: usize>(
    sums: &mut [T; ROTATING_SUMS as usize],
    heat: bool,
    node: Quad<T>,
    local: &Local<T, F>,
    f: [T; F],
) {
    let [vx, vy, vz2, weight] = node.0;
    let d1 = weight * (f[0] - local.s[0]);
    let d2 = weight * (f[1] - local.s[1]);
    let square = vx.mul_add(vx, vy.mul_add(vy, vz2));
    sums[0] += d1;
    sums[1] = d1.mul_add(vx, sums[1]);
    sums[2] = d1.mul_add(vy, sums[2]);
    sums[3] += d1.mul_add(square, d2);
    if heat {
        let energy = weight * T::from_f64(0.5) * local.c[2].mul_add(f[0], f[1]);
        sums[4] = energy.mul_add(local.c[0], sums[4]);
        sums[5] = energy.mul_add(local.c[1], sums[5]);
    }
    if F == ROTATING_FUNCTIONS {
        let energy = weight * T::from_f64(0.5) * f[F - 1];
        sums[6] += weight * (f[F - 1] - local.s[F - 1]);
        sums[7] = energy.mul_add(local.c[0], sums[7]);
        sums[8] = energy.mul_add(local.c[1], sums[8]);
    }
}

/// The numbers of a cell with `F` functions: as many quads, one after the other.
#[inline(always)]
#[track_caller]
fn cell_numbers<S: Simt, T: Real, const F: usize>(
    t: &S,
    fields: In<'_, Quad<T>>,
    place: usize,
) -> [Quad<T>; F] {
    let mut numbers = [Quad([T::ZERO; 4]); F];
    for k in 0..F {
        numbers[k] = fields.get(t, F * place + k);
    }
    numbers
}
