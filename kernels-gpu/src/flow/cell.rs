//! The update of one cell at one velocity: what comes in, what stays, what goes out.
//!
//! Each form solves the balance `sum_out F f_out - sum_in F f_in = nu V (S - f)` exactly, with another closure of the outgoing values:
//! the diamond `f_out = 2 f - f_in` in full cells, a straight line through the inflow in cut cells, and `f_out = f`, the step, in cells with two segments.

use super::gas::fused;
use crate::math::Real;

/// Below this share of the step's value the second order is blended with the step.
const FLOOR: f64 = 0.25;

/// Least share of the step's denominator that the linear closure may have.
pub(super) const SAFE: f64 = 0.3;

/// Share of the second-order solution whose least outgoing value is `least`, where the step has `step`.
///
/// With `r = least/step` the blend's least outgoing value is P times the step's, P = r from r = 1/4 on, else `(1/4)^2/(1/2 - r)`: positive, and once differentiable.
/// The share `(1 - P)/(1 - r)` is written with one division, `((1/2 - 1/16) s - m) s/((s/2 - m) (s - m))`. It is 1 at r = 1/4, so a larger r counts as 1/4: no branch.
/// Shakhov's equilibrium can be negative far out; then the step's magnitude counts.
#[inline(always)]
pub(super) fn share<T: Real, const FUSED: bool>(step: T, least: T) -> T {
    let number = T::from_f64;
    // Keeps the share of nothing finite.
    let tiny = if T::EPSILON.to_f64() > 1e-10 {
        number(1e-36)
    } else {
        number(1e-300)
    };
    let step = step.abs();
    let least = least.min(number(FLOOR) * step);
    let above = fused::<T, FUSED>(number(2.0 * FLOOR - FLOOR * FLOOR), step, -least);
    let below = fused::<T, FUSED>(number(2.0 * FLOOR), step, -least);
    let below = fused::<T, FUSED>(below, step - least, tiny);
    step * above * below.hardware_reciprocal()
}

/// A full cell for both functions of a node: value, and outflow through the x and y faces.
///
/// `source` is `nu V S`, `nu` has the volume, `flux` are |v_x| dy and |v_y| dx, `damped` is 1 for the diamond along each axis, less for a damped one:
/// `f_out = (1 + theta) f - theta f_in`.
#[inline(always)]
pub fn full<T: Real, const SOFT: bool, const FUSED: bool>(
    source: [T; 2],
    nu: T,
    flux: [T; 2],
    damped: [T; 2],
    inflow: [[T; 2]; 2],
) -> [[T; 3]; 2] {
    let half = T::from_f64(0.5);
    let [cx, cy] = [T::ONE + damped[0], T::ONE + damped[1]];
    // Both sides of the balance are halved: the diamond then has the sums of the step.
    let [a, b] = [half * cx * flux[0], half * cy * flux[1]];
    let inverse = fused::<T, FUSED>(half, nu, a + b).hardware_reciprocal();
    let inverse_step = (nu + (flux[0] + flux[1])).hardware_reciprocal();
    let mut all = [[T::ZERO; 3]; 2];
    let mut q = 0;
    while q < 2 {
        let [x_in, y_in] = inflow[q];
        let into = fused::<T, FUSED>(a, x_in, b * y_in);
        let f = fused::<T, FUSED>(half, source[q], into) * inverse;
        if SOFT {
            let into = fused::<T, FUSED>(flux[0], x_in, flux[1] * y_in);
            let step = (source[q] + into) * inverse_step;
            let out = |c: T, theta: T, value: T| fused::<T, FUSED>(c, f, -(theta * value));
            let least = out(cx, damped[0], x_in).min(out(cy, damped[1], y_in));
            let l = share::<T, FUSED>(step, least);
            // The blend of an outflow `(1 + theta) f - theta f_in` is that of the blends of f and of the inflow.
            let rest = fused::<T, FUSED>(-l, step, step);
            let blend = |value: T| fused::<T, FUSED>(l, value, rest);
            let f = blend(f);
            let out = |c: T, theta: T, value: T| fused::<T, FUSED>(c, f, -(theta * blend(value)));
            all[q] = [f, out(cx, damped[0], x_in), out(cy, damped[1], y_in)];
        } else {
            let out = |c: T, theta: T, value: T| fused::<T, FUSED>(c, f, -(theta * value));
            all[q] = [f, out(cx, damped[0], x_in), out(cy, damped[1], y_in)];
        }
        q += 1;
    }
    all
}

/// Flux from a wall at a velocity: its length times the normal into the gas, times the velocity.
///
/// A velocity along the wall, to roundoff, has none: the closure differs between walls that let in and out, and roundoff must not choose.
#[inline(always)]
pub fn through<T: Real>(v: [T; 2], normal: [T; 2]) -> T {
    let (a, b) = (v[0] * normal[0], v[1] * normal[1]);
    let sum = a + b;
    let least = T::from_f64(64.0) * T::EPSILON * (a.abs() + b.abs());
    if sum.abs() > least { sum } else { T::ZERO }
}

/// Fluxes of a cut cell: areas times velocities, of the inflow and outflow faces along x and y, and of the wall into and out of the gas.
#[derive(Clone, Copy)]
pub struct Fluxes<T> {
    /// Through the inflow face along x.
    pub x_in: T,
    /// Through the inflow face along y.
    pub y_in: T,
    /// From the wall.
    pub wall_in: T,
    /// Through the outflow face along x.
    pub x_out: T,
    /// Through the outflow face along y.
    pub y_out: T,
    /// Into the wall.
    pub wall_out: T,
}

/// A cell with one segment for both functions of a node: value, outflow through the x and y faces and into the wall.
///
/// `c` are the coefficients of `f_o = f + sum_i c_oi (f_i - f)`, rows and columns by x face, y face and wall.
#[inline(always)]
pub fn cut<T: Real, const SOFT: bool, const FUSED: bool>(
    source: [T; 2],
    nu: T,
    flux: Fluxes<T>,
    c: &[[T; 3]; 3],
    inflow: [[T; 3]; 2],
) -> [[T; 4]; 2] {
    let Fluxes {
        x_in,
        y_in,
        wall_in,
        x_out,
        y_out,
        wall_out,
    } = flux;
    let number = T::from_f64;
    let sum = |a: [T; 3], b: [T; 3], c: T| {
        let c = fused::<T, FUSED>(a[0], b[0], c);
        fused::<T, FUSED>(a[1], b[1], fused::<T, FUSED>(a[2], b[2], c))
    };
    let out = [x_out, y_out, wall_out];
    let least = nu + x_out + y_out + wall_out;
    let row = |k: usize| T::ONE - c[k][0] - c[k][1] - c[k][2];
    let denominator = sum(out, [row(0), row(1), row(2)], nu);
    let column = |k: usize| sum(out, [c[0][k], c[1][k], c[2][k]], T::ZERO);
    let into = [x_in - column(0), y_in - column(1), wall_in - column(2)];
    let linear = denominator > number(SAFE) * least;
    let inverse = if linear { denominator } else { least }.hardware_reciprocal();
    let inverse_step = least.hardware_reciprocal();
    let mut all = [[T::ZERO; 4]; 2];
    let mut q = 0;
    while q < 2 {
        let values = inflow[q];
        let step = sum([x_in, y_in, wall_in], values, source[q]) * inverse_step;
        let f = sum(into, values, source[q]) * inverse;
        let apart = [values[0] - f, values[1] - f, values[2] - f];
        let (fx, fy, fw) = (
            sum(c[0], apart, f),
            sum(c[1], apart, f),
            sum(c[2], apart, f),
        );
        let mut l = T::ONE;
        if SOFT {
            let far = number(1e30);
            let open = |flux: T, value: T| if flux > T::ZERO { value } else { far };
            let lowest = open(x_out, fx).min(open(y_out, fy)).min(open(wall_out, fw));
            l = share::<T, FUSED>(step, lowest);
        }
        if !linear {
            l = T::ZERO;
        }
        let blend = |value: T| fused::<T, FUSED>(l, value - step, step);
        all[q] = [blend(f), blend(fx), blend(fy), blend(fw)];
        q += 1;
    }
    all
}

/// A cell with two segments for one function of a node: the value that leaves through all faces.
///
/// `into` are the fluxes through the x face, the y face and from both walls, `out` the sum of those that leave.
#[inline(always)]
pub fn corner<T: Real, const FUSED: bool>(
    source: T,
    nu: T,
    into: [T; 4],
    out: T,
    inflow: [T; 4],
) -> T {
    let sum = fused::<T, FUSED>(into[0], inflow[0], source);
    let sum = fused::<T, FUSED>(into[1], inflow[1], sum);
    let sum = fused::<T, FUSED>(into[2], inflow[2], sum);
    fused::<T, FUSED>(into[3], inflow[3], sum) * (nu + out).hardware_reciprocal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blends_balance_and_stay_positive() {
        // A jump into a thick cell: the diamond alone would overshoot.
        let (nu, flux) = (0.01, [0.1, 1.0]);
        let (source, inflow) = (nu * 0.1, [3.0, 1e-6]);
        let [[_, x, y], _] =
            full::<f64, false, false>([source; 2], nu, flux, [1.0; 2], [inflow; 2]);
        assert!(x.min(y) < 0.0, "{x} {y}");
        for inflow in [inflow, [1e-9, 3.0], [0.0, 1.0], [2.0, 2.0]] {
            let [[f, x, y], _] =
                full::<f64, true, true>([source; 2], nu, flux, [1.0; 2], [inflow; 2]);
            assert!(x > 0.0 && y > 0.0, "{inflow:?}: {x} {y}");
            let balance = flux[0] * (x - inflow[0]) + flux[1] * (y - inflow[1]);
            assert!((balance - (source - nu * f)).abs() < 1e-14);
        }
    }

    #[test]
    fn a_velocity_along_a_wall_has_no_flux() {
        let (v, normal) = ([0.1 + 0.2, 0.1], [0.1, -0.3]);
        assert_ne!(v[0] * normal[0] + v[1] * normal[1], 0.0);
        assert_eq!(through(v, normal), 0.0);
        assert_eq!(through([2.0_f32, 0.5], [1.0, -1.0]), 1.5);
    }

    #[test]
    fn a_uniform_stream_passes_a_cut_cell() {
        let flux = Fluxes {
            x_in: 0.3,
            y_in: 0.2,
            wall_in: 0.0,
            x_out: 0.1,
            y_out: 0.15,
            wall_out: 0.25,
        };
        let c = [[-0.8, 0.1, 0.0], [0.2, -0.9, 0.0], [-0.3, -0.3, 0.0]];
        let inflow = [1.7, 1.7, 0.0];
        let [found, _] = cut::<f64, false, true>([0.4 * 1.7; 2], 0.4, flux, &c, [inflow; 2]);
        assert!(found.iter().all(|f| (f - 1.7).abs() < 1e-14), "{found:?}");
        let into = [0.3, 0.2, 0.1, 0.0];
        let f = corner::<f64, true>(0.4 * 1.7, 0.4, into, 0.6, [1.7; 4]);
        assert!((f - 1.7).abs() < 1e-14, "{f}");
    }
}
