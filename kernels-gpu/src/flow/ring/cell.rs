//! The update of a whole ring at one velocity and angle.

use crate::flow::cell::share;
use crate::flow::gas::fused;
use crate::math::Real;

/// A whole ring: value, and outflow along the axis, along the radius and to the next angle, by the diamond `f_out = 2 f - f_in` in all three.
///
/// `source` is `nu V S`, `nu` has the volume, `along` is the flux through both faces across the axis; `across` and `turn` are the fluxes in and out along the
/// radius and between the angles, which together are as large in as out. Outflow without flux has no part in keeping the rest positive.
#[inline(always)]
pub fn full<T: Real, const SOFT: bool, const FUSED: bool>(
    source: T,
    nu: T,
    along: T,
    across: [T; 2],
    turn: [T; 2],
    inflow: [T; 3],
) -> [T; 4] {
    let two = T::from_f64(2.0);
    let sum = |a: [T; 3]| {
        let sum = fused::<T, FUSED>(a[1], inflow[1], a[2] * inflow[2]);
        fused::<T, FUSED>(a[0], inflow[0], sum)
    };
    let into = sum([two * along, across[0] + across[1], turn[0] + turn[1]]);
    let inverse = (nu + two * (along + across[1] + turn[1])).hardware_reciprocal();
    let f = (source + into) * inverse;
    let out = [
        fused::<T, FUSED>(two, f, -inflow[0]),
        fused::<T, FUSED>(two, f, -inflow[1]),
        fused::<T, FUSED>(two, f, -inflow[2]),
    ];
    if !SOFT {
        return [f, out[0], out[1], out[2]];
    }
    let into = sum([along, across[0], turn[0]]);
    let step = (source + into) * (nu + along + across[1] + turn[1]).hardware_reciprocal();
    let mut least = out[0];
    if across[1] > T::ZERO {
        least = least.min(out[1]);
    }
    if turn[1] > T::ZERO {
        least = least.min(out[2]);
    }
    let l = share::<T, FUSED>(step, least);
    let blend = |value: T| fused::<T, FUSED>(l, value - step, step);
    [blend(f), blend(out[0]), blend(out[1]), blend(out[2])]
}
