//! The Boltzmann equation on a line, with the collision integral of the [`collision`](crate::collision) wing in place of a relaxation model.
//!
//! ```text
//! df/dt + v_x df/dx = I(f, f)
//! ```
//!
//! **Units** are those of [`bgk`](super), so that profiles can be laid over each other: l0 and 1/nu0 are defined by the viscosity, which for molecules is
//! taken in the first approximation of Chapman and Enskog (see [`cross_section`]). So for hard spheres the mean free path `1 / (sqrt(2) n0 sigma_T)` is
//! 8/(5 sqrt(pi)) l0 = 0.9027 l0 exactly; their true viscosity is 1.6% above that of the first approximation.
//!
//! **The step** is streaming, as in [`bgk`](super), and then collisions for the time dt by the second-order Runge-Kutta method of
//! [`Integrator::Ssprk2`](crate::collision::Integrator::Ssprk2). Both conserve mass, momentum and energy to roundoff. Density, velocity and temperature do not change in collisions, so as with the
//! models they are of second order in dt without further splitting; stresses and heat fluxes are means of their values before and after the collisions.
//! Streaming is positive at any step; collisions are where `dt nu <= 1` at every velocity, which [`ShockWave::line`] sees to.
//!
//! **Velocities** lie on the cubic grid of the collision integral, whose box moves with its centre along x: the integral depends on differences of velocities
//! only. Its order is 4 unless told otherwise; the second order relaxes a tenth too fast on grids as coarse as the space between two streams makes them.
//!
//! **Ends.** The discrete integral does not vanish at a Maxwellian but at a state near it. [`ShockWave`] finds these states, and the downstream one
//! whose fluxes of mass, momentum and energy are those of the upstream one to roundoff. So the wave stands, and its fluxes are flat.

mod flow;
mod gpu;
mod host;
mod shock;

use serde::{Deserialize, Serialize};

pub use flow::{Checkpoint, Line, LineConfig, Look};
pub use shock::{ShockStart, ShockWave};

use crate::collision::Scattering;
use crate::collision::transport::{Flux, exact_decay_rate};

/// Index of a distribution's side: what comes in from the left, and from the right.
pub(super) const SIDES: usize = 2;

/// The total cross-section, at unit relative speed, in the units of [`bgk`](super): the one for which the shear stress of the gas at n0 and T0 decays with the rate
/// nu0 = 1 in the first approximation of Chapman and Enskog, so that its viscosity is `p0/nu0`.
///
/// ```
/// use rarefy::bgk::boltzmann::cross_section;
/// use rarefy::collision::Scattering;
///
/// // The mean free path of hard spheres is 8/(5 sqrt(pi)).
/// let path = 1.0 / (2f64.sqrt() * cross_section(Scattering::HardSphere));
/// assert!((path - 0.902703333676410).abs() < 1e-14);
/// ```
pub fn cross_section(scattering: Scattering) -> f64 {
    // The variance of a velocity component at T0 is 1/2.
    let rate =
        exact_decay_rate(scattering, 1.0, Flux::Shear) * 0.5f64.powf(0.5 * scattering.gamma());
    1.0 / rate
}

/// What stands on the right of the kinetic equation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Collisions {
    /// The relaxation model of a [`Gas`](super::Gas).
    #[default]
    Model,
    /// The collision integral of Boltzmann.
    Boltzmann,
}
