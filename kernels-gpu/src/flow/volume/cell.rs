//! The update of one cell of space at one velocity: the balance `sum_out F f_out - sum_in F f_in = nu V (S - f)` with the closures of [the plane](crate::flow::cell).

use crate::flow::cell::{SAFE, share};
use crate::flow::gas::fused;
use crate::math::Real;

/// A full cell: value, and outflow through the x, y and z faces, by the diamond `f_out = 2 f - f_in`.
///
/// `source` is `nu V S`, `nu` has the volume, `flux` are |v_x|, |v_y|, |v_z| times the areas of the faces across.
#[inline(always)]
pub fn full<T: Real, const SOFT: bool, const FUSED: bool>(
    source: T,
    nu: T,
    flux: [T; 3],
    inflow: [T; 3],
) -> [T; 4] {
    let half = T::from_f64(0.5);
    let two = T::from_f64(2.0);
    let sum = flux[0] + flux[1] + flux[2];
    let into = fused::<T, FUSED>(
        flux[0],
        inflow[0],
        fused::<T, FUSED>(flux[1], inflow[1], flux[2] * inflow[2]),
    );
    // Both sides of the balance are halved.
    let inverse = fused::<T, FUSED>(half, nu, sum).hardware_reciprocal();
    let f = fused::<T, FUSED>(half, source, into) * inverse;
    let out = |f: T, value: T| fused::<T, FUSED>(two, f, -value);
    if SOFT {
        let step = (source + into) * (nu + sum).hardware_reciprocal();
        let least = out(f, inflow[0].max(inflow[1]).max(inflow[2]));
        let l = share::<T, FUSED>(step, least);
        // The blend of an outflow `2 f - f_in` is that of the blends of f and of the inflow.
        let rest = fused::<T, FUSED>(-l, step, step);
        let blend = |value: T| fused::<T, FUSED>(l, value, rest);
        let f = blend(f);
        let out = |value: T| out(f, blend(value));
        [f, out(inflow[0]), out(inflow[1]), out(inflow[2])]
    } else {
        [f, out(f, inflow[0]), out(f, inflow[1]), out(f, inflow[2])]
    }
}

/// Flux from a wall at a velocity: its area times the normal into the gas, times the velocity.
///
/// A velocity along the wall, to roundoff, has none: the closure differs between walls that let in and out, and roundoff must not choose.
#[inline(always)]
pub fn through<T: Real>(v: [T; 3], normal: [T; 3]) -> T {
    let parts = [v[0] * normal[0], v[1] * normal[1], v[2] * normal[2]];
    let sum = parts[0] + parts[1] + parts[2];
    let size = parts[0].abs() + parts[1].abs() + parts[2].abs();
    let least = T::from_f64(64.0) * T::EPSILON * size;
    if sum.abs() > least { sum } else { T::ZERO }
}

/// A cell with one facet of a wall: value, and outflow through the x, y and z faces and into the wall.
///
/// `into` and `out` are fluxes through the faces across x, y and z and the wall; `c` are the coefficients of `f_o = f + sum_i c_oi (f_i - f)`, rows and
/// columns in the same order.
#[inline(always)]
pub fn cut<T: Real, const SOFT: bool, const FUSED: bool>(
    source: T,
    nu: T,
    into: [T; 4],
    out: [T; 4],
    c: &[[T; 4]; 4],
    inflow: [T; 4],
) -> [T; 5] {
    let number = T::from_f64;
    let sum = |a: [T; 4], b: [T; 4], c: T| {
        let c = fused::<T, FUSED>(a[0], b[0], c);
        let c = fused::<T, FUSED>(a[1], b[1], c);
        fused::<T, FUSED>(a[2], b[2], fused::<T, FUSED>(a[3], b[3], c))
    };
    let least = nu + out[0] + out[1] + out[2] + out[3];
    let row = |k: usize| T::ONE - c[k][0] - c[k][1] - c[k][2] - c[k][3];
    let denominator = sum(out, [row(0), row(1), row(2), row(3)], nu);
    let column = |k: usize| into[k] - sum(out, [c[0][k], c[1][k], c[2][k], c[3][k]], T::ZERO);
    let through = [column(0), column(1), column(2), column(3)];
    let linear = denominator > number(SAFE) * least;
    let inverse = if linear { denominator } else { least }.hardware_reciprocal();
    let step = sum(into, inflow, source) * least.hardware_reciprocal();
    let f = sum(through, inflow, source) * inverse;
    let apart = [inflow[0] - f, inflow[1] - f, inflow[2] - f, inflow[3] - f];
    let value = |k: usize| sum(c[k], apart, f);
    let values = [value(0), value(1), value(2), value(3)];
    let mut l = T::ONE;
    if SOFT {
        let far = number(1e30);
        let open = |k: usize| if out[k] > T::ZERO { values[k] } else { far };
        l = share::<T, FUSED>(step, open(0).min(open(1)).min(open(2).min(open(3))));
    }
    if !linear {
        l = T::ZERO;
    }
    let blend = |value: T| fused::<T, FUSED>(l, value - step, step);
    [
        blend(f),
        blend(values[0]),
        blend(values[1]),
        blend(values[2]),
        blend(values[3]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blends_balance_and_stay_positive() {
        // A jump into a thick cell: the diamond alone would overshoot.
        let (nu, flux) = (0.01, [0.1, 1.0, 0.3]);
        let (source, inflow) = (nu * 0.1, [3.0, 1e-6, 0.2]);
        let plain = full::<f64, false, false>(source, nu, flux, inflow);
        assert!(plain[1..].iter().any(|f| *f < 0.0), "{plain:?}");
        for inflow in [inflow, [1e-9, 3.0, 0.0], [0.0, 1.0, 2.0], [2.0; 3]] {
            let found = full::<f64, true, true>(source, nu, flux, inflow);
            assert!(found.iter().all(|f| *f > 0.0), "{inflow:?}: {found:?}");
            let balance: f64 = (0..3).map(|k| flux[k] * (found[k + 1] - inflow[k])).sum();
            assert!((balance - (source - nu * found[0])).abs() < 1e-14);
        }
    }

    #[test]
    fn a_uniform_stream_passes_a_cut_cell() {
        let (into, out) = ([0.3, 0.2, 0.4, 0.0], [0.1, 0.15, 0.4, 0.25]);
        let c = [
            [-0.8, 0.1, 0.0, 0.0],
            [0.2, -0.9, 0.0, 0.0],
            [0.0, 0.1, -0.7, 0.0],
            [-0.3, -0.3, 0.2, 0.0],
        ];
        let inflow = [1.7, 1.7, 1.7, 0.0];
        let found = cut::<f64, false, true>(0.4 * 1.7, 0.4, into, out, &c, inflow);
        assert!(found.iter().all(|f| (f - 1.7).abs() < 1e-14), "{found:?}");
    }

    #[test]
    fn a_velocity_along_a_wall_has_no_flux() {
        let (v, normal) = ([0.1 + 0.2, 0.1, 0.0], [0.1, -0.3, 7.0]);
        assert_ne!(v[0] * normal[0] + v[1] * normal[1], 0.0);
        assert_eq!(through(v, normal), 0.0);
    }
}
