//! Local equilibria at a node of the full velocity space, and the moments that cells, faces and walls keep.
//!
//! Units: v0 = sqrt(2 R T0), density n0, so that Shakhov's equilibrium (E. M. Shakhov 1968) is
//!
//! ```text
//! S = n/(pi T)^(3/2) exp(-c^2/T) (1 + k.c (c^2/T - 5/2)),   c = v - u,   k = (8/5) (1 - Pr) q/(n T^2)
//! ```
//!
//! with k = 0 for BGK. The internal energy of molecules that rotate has
//! `1 + k.c (c^2/T - 5/2) + b.c` in the parenthesis, and as n its density. The linearised equation has `f = M (1 + ...)` with the perturbation over the Maxwellian M at rest:
//!
//! ```text
//! S = n + 2 u.v + T (v^2 - 3/2) + k.v (v^2 - 5/2),   k = (8/5) (1 - Pr) q
//! ```

use crate::flow::gas::fused;
use crate::math::Real;

/// Sums of a cell: mass, momentum, energy `n (u^2 + 3T/2)`, heat flux.
pub const UNKNOWNS: usize = 8;

/// Moments of what crosses a face or a wall: mass, momentum along x, y and z, and twice the energy.
pub const MOMENTS: usize = 5;

/// Numbers of a cell that its equilibrium is evaluated from.
///
/// Nonlinear: n/(pi T)^(3/2), u, 1/T, k, nu, b. Linear: n, 2u, T, k, nu, and no more.
pub type Coefficients<T> = [T; 12];

/// The place of the relaxation frequency among the [`Coefficients`].
pub const FREQUENCY: usize = 8;

/// `a.b + c`.
#[inline(always)]
pub fn dot<T: Real, const FUSED: bool>(a: [T; 3], b: [T; 3], c: T) -> T {
    let c = fused::<T, FUSED>(a[2], b[2], c);
    fused::<T, FUSED>(a[0], b[0], fused::<T, FUSED>(a[1], b[1], c))
}

/// The velocity that the sums of a cell are about: the mean velocity of its equilibrium, or zero in the linearised equation.
#[inline(always)]
pub fn about<T: Real, const LINEAR: bool>(c: &Coefficients<T>) -> [T; 3] {
    if LINEAR {
        [T::ZERO; 3]
    } else {
        [c[1], c[2], c[3]]
    }
}

/// The place of b among the [`Coefficients`].
pub const DRIFT: usize = 9;

/// The equilibrium of a cell or a face at a node; b counts if `INTERNAL`.
#[inline(always)]
pub fn equilibrium<T: Real, const LINEAR: bool, const INTERNAL: bool, const FUSED: bool>(
    c: &Coefficients<T>,
    v: [T; 3],
    exponential: impl Fn(T) -> T,
) -> T {
    let number = T::from_f64;
    let (drift, k) = ([c[1], c[2], c[3]], [c[5], c[6], c[7]]);
    if LINEAR {
        let square = dot::<T, FUSED>(v, v, T::ZERO);
        let rest = dot::<T, FUSED>(drift, v, c[0]);
        let rest = fused::<T, FUSED>(c[4], square - number(1.5), rest);
        fused::<T, FUSED>(dot::<T, FUSED>(k, v, T::ZERO), square - number(2.5), rest)
    } else {
        let [ux, uy, uz] = drift;
        let [x, y, z] = [v[0] - ux, v[1] - uy, v[2] - uz];
        let square = dot::<T, FUSED>([x, y, z], [x, y, z], T::ZERO) * c[4];
        let maxwellian = c[0] * exponential(-square);
        let mut weighed = dot::<T, FUSED>(k, [x, y, z], T::ZERO) * (square - number(2.5));
        if INTERNAL {
            let b = [c[DRIFT], c[DRIFT + 1], c[DRIFT + 2]];
            weighed = dot::<T, FUSED>(b, [x, y, z], weighed);
        }
        fused::<T, FUSED>(maxwellian, weighed, maxwellian)
    }
}

/// Adds a node's part to a cell's sums: `d = f - S` times its volume, with `c` the velocity less that of [`about`]:
/// `d`, `c d`, `c^2 d` and `c^2 c d/2`.
#[inline(always)]
pub fn add_sums<T: Real, const FUSED: bool>(sums: &mut [T; UNKNOWNS], c: [T; 3], d: T) {
    let square = dot::<T, FUSED>(c, c, T::ZERO) * d;
    let half = T::from_f64(0.5) * square;
    sums[0] += d;
    let mut k = 0;
    while k < 3 {
        sums[1 + k] = fused::<T, FUSED>(c[k], d, sums[1 + k]);
        sums[5 + k] = fused::<T, FUSED>(c[k], half, sums[5 + k]);
        k += 1;
    }
    sums[4] += square;
}

/// Adds a node's part to the moments of a flux; `part` is its volume times its velocity through the face times the function.
#[inline(always)]
pub fn add_flux<T: Real, const FUSED: bool>(moments: &mut [T; MOMENTS], v: [T; 3], part: T) {
    moments[0] += part;
    let mut k = 0;
    while k < 3 {
        moments[1 + k] = fused::<T, FUSED>(v[k], part, moments[1 + k]);
        k += 1;
    }
    moments[4] = fused::<T, FUSED>(dot::<T, FUSED>(v, v, T::ZERO), part, moments[4]);
}
