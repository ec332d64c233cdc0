//! The BGK and Shakhov kinetic models on phase-space grids: shock waves, driven cavities, and flows of your own.
//!
//! Relaxation to a local equilibrium replaces the collision integral,
//!
//! ```text
//! df/dt + v.grad f = nu (M[f] - f),     M = n (pi T)^(-3/2) exp(-|v-u|^2/T),     nu = n T^(1-omega),
//! n = sum f,     n u = sum v f,     (3/2) n T = sum |c|^2 f,     c = v - u
//! ```
//!
//! (eqs. 6-9), or with the Shakhov model `M [1 + (1-Pr) (8/5) q.c/(n T^2) (|c|^2/T - 5/2)]` instead of M.
//!
//! **Source.** A. Frezzotti, G. P. Ghiroldi and L. Gibelli, "Solving Kinetic Equations on GPUs I: Model Kinetic Equations" (2009),
//! arXiv:0903.4044; equations are numbered as there. The Shakhov model: E. M. Shakhov, Fluid Dyn. 3 (1968) 95. Reduced velocity spaces:
//! C. K. Chu, Phys. Fluids 8 (1965) 12.
//!
//! **Units.** Velocity `v0 = sqrt(2 R T0)`, time `1/nu0`, length `l0 = v0/nu0`, density n0 and temperature T0 of a reference state. So pressure is
//! `p = n T/2`, in units of rho0 v0^2; the pressure tensor `P_ij = sum c_i c_j f` is in the same, and the heat flux `q = (1/2) sum c |c|^2 f` in rho0 v0^3.
//! The mean free path of hard spheres is 8/(5 sqrt(pi)) l0 = 0.9027 l0.
//!
//! | symbol | meaning | where |
//! |---|---|---|
//! | x, y, dx | cells in space | [`Space`] |
//! | v_j, w_j | velocity nodes and weights along an axis | [`Axis`] |
//! | g, h | reduced distributions | [`VelocitySpace`] |
//! | nu, omega, Pr | relaxation frequency, exponent of the viscosity, Prandtl number | [`Gas`] |
//! | n, u, T | density, mean velocity, temperature | [`State`] |
//! | P_ij, q | pressure tensor, heat flux | [`Moments`] |
//! | M | Maxwellian with exact moments on the nodes | [`DiscreteMaxwellian`] |
//!
//! **Where to begin.** A [`Problem`] holds a case: space, velocities, gas, boundaries, initial state. A [`Simulation`] solves it in time, [`steady`] without
//! steps in time, and [`boltzmann`] on a line or a rectangle with the full collision integral. [`Shock`] and [`Cavity`] make the problems of the paper, and read its results off the fields. [`Units`] are for pascals and metres.
//!
//! **The step.** Relaxation is exact, streaming a shift by whole cells and an interpolated fraction (eqs. 11-15), stable for every time step. Density,
//! velocity and temperature are of second order in the time step.

pub mod boltzmann;
mod cases;
mod equilibrium;
pub mod errors;
mod march;
pub(crate) mod negative;
#[doc(hidden)]
pub mod paper;
mod problem;
pub(crate) mod rotation;
pub mod steady;
mod transient;

pub use cases::{
    Cavity, CavityResults, ExactRelaxation, Homogeneous, HomogeneousMoments, HomogeneousStart,
    Mach, Shock, ShockExtremes, ShockPoint, ShockProfile,
};
pub use equilibrium::{DiscreteMaxwellian, Factors};
pub use march::March;
pub use negative::NegativeEquilibrium;
pub use problem::{
    Axis, Boundaries, Boundary, Gas, Inner, Model, Moments, Problem, Space, Species, State, Units,
    VelocitySpace, Wall, mean_free_path, quadrature,
};
pub use rotation::{RotatingMoments, Rotation, RotationalCollisions};
pub use transient::{
    Checkpoint, CheckpointPart, Courant, FaceFlux, Looked, Scheme, Simulation, SimulationConfig,
};
