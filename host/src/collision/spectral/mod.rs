//! The spectral operator: the same integral by transforms, spectrally accurate where f is smooth.
//!
//! In Carleman's variables the velocities before a collision are v + x and v + y, with x normal to y:
//!
//! ```text
//! gain(v) = 4 C sum over a half sphere of e: int_{-R}^{R} |x| dx int_{|y| <= R} dy G(|x|, |y|) f(v + x e) f(v + y),     y normal to e,
//! G = alpha g^(gamma-1) (|y| / g)^(2 (alpha-1)),     g^2 = x^2 + y^2
//! ```
//!
//! (C. Mouhot and L. Pareschi, Math. Comp. 75 (2006) 1833). For hard spheres G = 1, and the integrand is a product of a line integral and of a disc integral of f. Other laws are
//! sums of K such products. As real and imaginary part the two factors cost one complex transform for each direction and product.
//!
//! ```text
//! fhat = DFT[f],     A + i B = IDFT[(a_k(s) + i b_k(p)) fhat],     s = rho |l.e|,   p = rho |l - (l.e) e|,   rho = 2 pi (sqrt 2 - 1),
//! gain = 4 (R/h)^(3+gamma) sum over m, k of w_m A_mk B_mk,     nu = IDFT[beta fhat],   beta = 4 (R/h)^(3+gamma) sum over m, k of w_m a_k b_k
//! ```
//!
//! in lattice units, with R = P (sqrt 2 - 1) h. The array has P nodes along an axis, about 1.5 N: f in a corner, zeros elsewhere. Waves with |l| = P/2 are left out, for they have no partner.
//!
//! | symbol | meaning | where |
//! |---|---|---|
//! | e_m, w_m | directions on a half sphere and their solid angles | [`half_sphere`] |
//! | u_k v_k, a_k, b_k | factors of the kernel, and their transforms | |
//! | P, K | period in nodes, products of the kernel | [`Spectral::period`], [`Spectral::rank`] |

mod choice;
mod cpu;
mod degree;
mod kernel;
mod mirrors;
mod plan;
mod reference;
mod sphere;

pub use choice::Spectral;
pub(super) use cpu::SpectralSums;
pub use mirrors::Mirrors;
pub(super) use plan::Plan;
pub(super) use reference::SpectralReference;
pub use sphere::{DEGREES, Direction, directions, half_sphere};
