//! Shakhov's term: from heat fluxes to the coefficients of its polynomial, and the polynomial at a node.

use super::super::layout::{FlowShape, SUMS_BGK, row};
use super::sums::{AXIS_SUMS, CellSums};
use crate::Pack;
use crate::math::Real;

/// Means over the Maxwellian: of powers of the peculiar velocity along x and y, and of the squares along the other axes. Odd powers are 0 along an axis
/// without flow, and all powers along an absent one.
#[derive(Default)]
pub(super) struct Means {
    pub(super) x: [f64; 6],
    pub(super) y: [f64; 6],
    pub(super) rest: f64,
    pub(super) rest_square: f64,
}

impl Means {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn of(sums: &[f64; AXIS_SUMS], shape: &FlowShape, c: f64) -> Self {
        let mut x = [1.0; 6];
        let mut y = [0.0; 6];
        let per_mass = 1.0 / sums[0];
        for k in 1..6 {
            x[k] = sums[k] * per_mass;
        }
        if shape.integrated < 2 {
            let per_mass = 1.0 / sums[6];
            for k in 1..6 {
                y[k] = sums[6 + k] * per_mass;
            }
            if shape.flow < 2 {
                y[1] = 0.0;
                y[3] = 0.0;
                y[5] = 0.0;
            }
        }
        let (rest, rest_square) = if shape.integrated == 0 {
            let per_mass = 1.0 / sums[12];
            (sums[13] * per_mass, sums[14] * per_mass)
        } else {
            let (half, per_c) = (0.5 * f64::from(shape.integrated), 1.0 / c);
            (half * per_c, half * (half + 1.0) * per_c * per_c)
        };
        Self {
            x,
            y,
            rest,
            rest_square,
        }
    }
}

/// `q = (1/2) sum c |c|^2 f` multiplied out.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn heat_flux(sums: &CellSums, u: [f64; 2]) -> [f64; 2] {
    let square = u[0] * u[0] + u[1] * u[1];
    let stress = [
        u[0] * sums[6] + u[1] * sums[8],
        u[0] * sums[8] + u[1] * sums[7],
    ];
    let along = |flux: f64, u: f64, stress: f64| {
        0.5 * (flux - 2.0 * stress - u * sums[3] + 2.0 * u * sums[0] * square)
    };
    [
        along(sums[SUMS_BGK as usize], u[0], stress[0]),
        along(sums[SUMS_BGK as usize + 1], u[1], stress[1]),
    ]
}

/// Shakhov's polynomial `p_0, p_x, p_y, q_0, q_x, q_y`, without density, momentum and energy on the nodes if `conservative`.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn heat_term(m: &Means, g: [f64; 2], temperature: f64, conservative: bool) -> [f64; 6] {
    let mut term = [
        0.0,
        -2.5 * g[0],
        -2.5 * g[1],
        0.0,
        g[0] / temperature,
        g[1] / temperature,
    ];
    if conservative {
        let (x, y) = (&m.x, &m.y);
        let energy = x[2] + y[2] + m.rest;
        let energy_square =
            x[4] + y[4] + m.rest_square + 2.0 * (x[2] * y[2] + (x[2] + y[2]) * m.rest);
        let with_square = |a: &[f64; 6], b: &[f64; 6]| a[4] + a[2] * (b[2] + m.rest);
        let with_fourth = |a: &[f64; 6], b: &[f64; 6]| a[5] + 2.0 * a[3] * (b[2] + m.rest);
        let momentum =
            |g: f64, a: &[f64; 6], b: &[f64; 6]| g * (with_square(a, b) / temperature - 2.5 * a[2]);
        let (rx, ry) = (momentum(g[0], x, y), momentum(g[1], y, x));
        let mass = (g[0] * x[3] + g[1] * y[3]) / temperature;
        let heat = g[0] * (with_fourth(x, y) / temperature - 2.5 * x[3])
            + g[1] * (with_fourth(y, x) / temperature - 2.5 * y[3]);
        let mut right = heat - energy * mass - x[3] * rx / x[2];
        let mut left = energy_square - energy * energy - x[3] * x[3] / x[2];
        let moves = y[2] > 0.0;
        if moves {
            right -= y[3] * ry / y[2];
            left -= y[3] * y[3] / y[2];
        }
        let square = right / left;
        term[0] -= mass - energy * square;
        term[1] -= (rx - x[3] * square) / x[2];
        if moves {
            term[2] -= (ry - y[3] * square) / y[2];
        }
        term[3] -= square;
    }
    term
}

/// Shakhov's polynomial at some columns for one v_x each, as a function of v_y: `alpha + beta s` with s for the unresolved part of |c|^2.
#[derive(Clone, Copy)]
pub(crate) struct Heat<T, const W: usize> {
    constant: Pack<T, W>,
    linear: Pack<T, W>,
    square: Pack<T, W>,
    cubic: Pack<T, W>,
    x2: Pack<T, W>,
    uy: Pack<T, W>,
}

impl<T: Real, const W: usize> Heat<T, W> {
    /// From the rows of the tables at these columns.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(crate) fn of(rows: impl Fn(u32) -> Pack<T, W>, vx: Pack<T, W>) -> Self {
        let at = |k: u32| rows(row::HEAT + k);
        let cx = vx - at(6);
        Self {
            constant: at(1).mul_add(cx, at(0)),
            linear: at(2),
            square: at(4).mul_add(cx, at(3)),
            cubic: at(5),
            x2: cx * cx,
            uy: at(7),
        }
    }

    #[inline(always)]
    pub(crate) fn at(&self, vy: T) -> (Pack<T, W>, Pack<T, W>) {
        let cy = Pack::splat(vy) - self.uy;
        let beta = self.cubic.mul_add(cy, self.square);
        let resolved = cy.mul_add(cy, self.x2);
        (
            beta.mul_add(resolved, self.linear.mul_add(cy, self.constant)),
            beta,
        )
    }
}

/// The second term of the equilibrium of E, `4 Q_r.c/(n T*)` times the Maxwellian, at some columns for one v_x each.
#[derive(Clone, Copy)]
pub(crate) struct Drift<T, const W: usize> {
    along_x: Pack<T, W>,
    per_vy: Pack<T, W>,
    uy: Pack<T, W>,
}

impl<T: Real, const W: usize> Drift<T, W> {
    /// From the rows of the tables at these columns; `first` is the first of the vector.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(crate) fn of(first: u32, rows: impl Fn(u32) -> Pack<T, W>, vx: Pack<T, W>) -> Self {
        Self {
            along_x: rows(first) * (vx - rows(row::HEAT + 6)),
            per_vy: rows(first + 1),
            uy: rows(row::HEAT + 7),
        }
    }

    /// Its factor of the Maxwellian.
    #[inline(always)]
    pub(crate) fn at(&self, vy: T) -> Pack<T, W> {
        self.per_vy.mul_add(Pack::splat(vy) - self.uy, self.along_x)
    }
}
