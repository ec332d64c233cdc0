//! Infinite integrals of oscillating functions, one or millions at once, each with an error estimate and a status.
//!
//! Between zeros x_1 < x_2 < ... of the integrand lie areas that alternate in sign. With A_0 the integral up to x_1 and V_k the magnitudes of the
//! areas,
//!
//! ```text
//! int_a^inf f dx = A_0 + s sum_k (-1)^k V_k,                                                s = sign of the first area,
//! sum_k (-1)^k V_k = sum_r (-1)^r 2^-(r+1) Delta^r V_0 = sum_(k<N) (-1)^k c_k V_k + R_N,   Delta^(r+1) V_k = Delta^r V_(k+1) - Delta^r V_k,
//! ```
//!
//! which needs a few dozen areas where the plain sum needs millions (eqs. 8-13, with the signs for any first area). Euler's
//! c_k serve slowly decaying exponentials, those of Cohen, Rodriguez Villegas and Zagier powers. Both are computed, and the error estimates
//! decide. A status other than [`Status::Ok`] names the reason why no value is reliable. The method would assign divergent integrals the value of
//! their analytic continuation, so the driver tests that areas alternate and fall to zero.
//!
//! **Source.** E. Mesquita, J. Labaki and L. O. S. Ferreira, "An Implementation of the Longman's Integration Method on Graphics Hardware"
//! (2009); equations are numbered as there. The method is I. M. Longman's, Proc. Cambridge Phil. Soc. 52 (1956) 764.
//!
//! **Units.** Those of the integrand; phases are in radians.
//!
//! ```
//! use rarefy::longman::{Status, Task};
//!
//! // x/(x^2+p^2) J_0(xi x), from 0, for three pairs of p and xi: the last has no meaning.
//! let task = Task::oscillating("x/(x^2+p^2)", "bessel:0", "xi", &[])?;
//! assert_eq!(task.parameters(), ["p", "xi"]);
//! let integrals = task.integrals().column("p", &[1.0, 0.5, 1.0]).column("xi", &[2.0, 3.0, -1.0]);
//! let found = integrals.tolerance(1e-10).integrate()?;
//! assert!((found[0].value - 0.113_893_872_749_533_44).abs() <= found[0].error); // K_0(2)
//! assert_eq!(found[2].status, Status::InvalidArgument);
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! | symbol | meaning | where |
//! |---|---|---|
//! | f, a | integrand, lower limit | [`Task`], [`Integrals::lower`] |
//! | x_k | boundaries | [`Boundaries`], [`zeros`] |
//! | N | areas | [`Settings::areas`] |
//! | N_g | Gauss points of an area | [`Settings::gauss`] |
//! | Delta^r V_0 | differences | [`accelerate::differences`] |
//! | 2^-N \|Delta^N V_0\| | bound of the remainder, eq. (10), which holds for totally monotone areas | [`accelerate::remainder_bound`] |
//! | c_k | weights of an accelerator | [`accelerate::euler_weights`], [`accelerate::cvz_weights`] |
//!
//! | module | content |
//! |---|---|
//! | [`expression`] | integrands typed as text, compiled to bytecode for the CPU and the kernels |
//! | [`family`] | named families of integrands |
//! | [`sampled`] | amplitudes known at points |
//! | [`oscillator`] | cosine, sine and Bessel functions as tables in phase |
//! | [`quadrature`], [`accelerate`], [`zeros`], [`special`] | the parts |
//! | [`paper`], [`gpu`] | the method exactly as the paper has it; kernels on any machine |

pub mod accelerate;
mod beats;
mod definite;
mod driver;
pub mod expression;
pub mod family;
mod far;
mod general;
pub mod gpu;
mod half_cycles;
mod hankel;
mod head;
mod integrals;
mod integrand;
mod integrate;
mod launch;
pub mod oscillator;
mod panels;
pub mod paper;
mod pieces;
mod products;
mod proof;
pub mod quadrature;
mod roots;
pub mod sampled;
mod sides;
pub mod special;
mod split;
mod task;
pub mod zeros;

pub use driver::{Imaginary, Integral, Unproven};
pub use half_cycles::AREAS;
pub use integrals::Integrals;
pub use integrate::{BEYOND, Boundaries, Settings};
pub use oscillator::Oscillator;
pub use proof::Proof;
pub use rarefy_kernels::longman::{Accelerator, Status};
pub use task::Task;
