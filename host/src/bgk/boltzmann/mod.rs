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

mod config;
mod engine;
mod flow;
mod gpu;
mod host;
mod shock;

use serde::{Deserialize, Serialize};

pub use config::{LineConfig, cross_section};
use engine::Flow;
pub use flow::{Checkpoint, Line, Look};
use gpu::MachineFlow;
use host::HostFlow;
pub use shock::{ShockStart, ShockWave};

use crate::compute::engine_of;
use crate::error::Result;

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

/// The engine that a configuration asks for.
fn engine(config: &LineConfig) -> Result<Box<dyn Flow>> {
    let resolved = config.compute.backend.resolve()?;
    let name = resolved.describe();
    engine_of! {
        resolved, config.compute.precision;
        reference => Ok(Box::new(HostFlow::new(config)?)),
        cpu<T> => Ok(Box::new(HostFlow::new(config)?)),
        kernels<T>(machine) => Ok(Box::new(MachineFlow::<_, T>::new(machine, name, config)?)),
    }
}
