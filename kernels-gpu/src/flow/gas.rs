//! Local equilibria at a node, and the moments that cells, faces and walls keep.
//!
//! A node carries two functions of the velocity in the plane (C. K. Chu 1965): g, the distribution with v_z integrated out, and h, its second moment over v_z.
//! Units: v0 = sqrt(2 R T0), density n0, so that a Maxwellian is
//!
//! ```text
//! g = n/(pi T) exp(-c^2/T),   h = (T/2) g,   c = v - u
//! S_g = g (1 + k.c (c^2/T - 2)),   S_h = h (1 + k.c (c^2/T - 1)),   k = (8/5) (1 - Pr) q/(n T^2)
//! ```
//!
//! with k = 0 for BGK and the second line Shakhov's model. The internal energy of molecules that rotate
//! is a function of the form of g, with its density as n and `1 + k.c (c^2/T - 2) + b.c` in the parenthesis; no h belongs to it.
//! The linearised equation has `f = M (1 + ...)` with the perturbations g and h over the Maxwellian at rest:
//!
//! ```text
//! S_g = n + 2 u.v + T (v^2 - 1) + k.v (v^2 - 2),   S_h = (n + 2 u.v + T v^2 + k.v (v^2 - 1))/2,   k = (8/5) (1 - Pr) q
//! ```

use crate::math::Real;

/// Sums of a cell: density, momentum, energy `n (u^2 + 3T/2)`, heat flux.
pub const UNKNOWNS: usize = 6;

/// Moments of what crosses a face or a segment: mass, momentum along x and y, and twice the energy.
pub const MOMENTS: usize = 4;

/// Numbers of a cell that its equilibrium is evaluated from.
///
/// Nonlinear: n/(pi T), u, 1/T, k, nu, T/2, b. Linear: n, 2u, T, k, nu, 1/2, and no more.
pub type Coefficients<T> = [T; 10];

/// The place of the relaxation frequency among the [`Coefficients`].
pub const FREQUENCY: usize = 6;

/// The place of b among the [`Coefficients`].
pub const DRIFT: usize = 8;

/// `a b + c`, rounded once if `FUSED`.
#[inline(always)]
pub fn fused<T: Real, const FUSED: bool>(a: T, b: T, c: T) -> T {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The equilibrium of a cell or a face at a node: both functions; b counts if `INTERNAL`.
#[inline(always)]
pub fn equilibrium<T: Real, const LINEAR: bool, const INTERNAL: bool, const FUSED: bool>(
    c: &Coefficients<T>,
    [vx, vy]: [T; 2],
    exponential: impl Fn(T) -> T,
) -> [T; 2] {
    let number = T::from_f64;
    if LINEAR {
        let square = fused::<T, FUSED>(vx, vx, vy * vy);
        let k = fused::<T, FUSED>(c[4], vx, c[5] * vy);
        let drift = fused::<T, FUSED>(c[1], vx, fused::<T, FUSED>(c[2], vy, c[0]));
        let g = fused::<T, FUSED>(c[3], square - T::ONE, drift);
        let h = fused::<T, FUSED>(c[3], square, drift);
        [
            fused::<T, FUSED>(k, square - number(2.0), g),
            number(0.5) * fused::<T, FUSED>(k, square - T::ONE, h),
        ]
    } else {
        let (cx, cy) = (vx - c[1], vy - c[2]);
        let square = fused::<T, FUSED>(cx, cx, cy * cy) * c[3];
        let g = c[0] * exponential(-square);
        let k = fused::<T, FUSED>(c[4], cx, c[5] * cy);
        let h = g * c[7];
        let mut weighed = k * (square - T::ONE);
        if INTERNAL {
            let b = fused::<T, FUSED>(c[DRIFT], cx, c[DRIFT + 1] * cy);
            weighed += b;
        }
        [
            fused::<T, FUSED>(g, weighed - k, g),
            fused::<T, FUSED>(h, weighed, h),
        ]
    }
}

/// Adds a node's part to a cell's sums: what `f - S` has of the conserved quantities, and the heat flux of f about the mean velocity of S.
#[inline(always)]
pub fn add_sums<T: Real, const LINEAR: bool, const FUSED: bool>(
    sums: &mut [T; UNKNOWNS],
    c: &Coefficients<T>,
    [vx, vy]: [T; 2],
    weight: T,
    f: [T; 2],
    s: [T; 2],
) {
    let number = T::from_f64;
    let square = fused::<T, FUSED>(vx, vx, vy * vy);
    let [dg, dh] = [weight * (f[0] - s[0]), weight * (f[1] - s[1])];
    let (cx, cy, weighed) = if LINEAR {
        (vx, vy, square - number(2.5))
    } else {
        let (cx, cy) = (vx - c[1], vy - c[2]);
        (cx, cy, fused::<T, FUSED>(cx, cx, cy * cy))
    };
    let energy = number(0.5) * weight * fused::<T, FUSED>(weighed, f[0], f[1]);
    sums[0] += dg;
    sums[1] = fused::<T, FUSED>(vx, dg, sums[1]);
    sums[2] = fused::<T, FUSED>(vy, dg, sums[2]);
    sums[3] += fused::<T, FUSED>(square, dg, dh);
    sums[4] = fused::<T, FUSED>(cx, energy, sums[4]);
    sums[5] = fused::<T, FUSED>(cy, energy, sums[5]);
}

/// Adds a node's part to the moments of a flux; `part` is its volume times its velocity through the face.
#[inline(always)]
pub fn add_flux<T: Real, const FUSED: bool>(
    moments: &mut [T; MOMENTS],
    [vx, vy]: [T; 2],
    part: T,
    [g, h]: [T; 2],
) {
    let mass = part * g;
    let square = fused::<T, FUSED>(vx, vx, vy * vy);
    moments[0] += mass;
    moments[1] = fused::<T, FUSED>(vx, mass, moments[1]);
    moments[2] = fused::<T, FUSED>(vy, mass, moments[2]);
    moments[3] += fused::<T, FUSED>(square, mass, part * h);
}
