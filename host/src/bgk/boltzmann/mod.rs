//! The Boltzmann equation on a line in time, and between plates in the steady state, with the collision integral of the [`collision`](crate::collision) wing instead of a relaxation model.
//!
//! ```text
//! df/dt + v_x df/dx = I(f, f)
//! ```
//!
//! **Units** are those of [`bgk`](super), so profiles can be compared. The viscosity defines l0 and 1/nu0; for molecules it is
//! that of the first approximation of Chapman and Enskog (see [`cross_section`]). For hard spheres the mean free path `1 / (sqrt(2) n0 sigma_T)` is
//! 8/(5 sqrt(pi)) l0 = 0.9027 l0 exactly. Their true viscosity is 1.6% higher.
//!
//! **The step** is streaming, as in [`bgk`](super), and then collisions for the time dt by the second-order Runge-Kutta method of
//! [`Integrator::Ssprk2`](crate::collision::Integrator::Ssprk2). Both conserve mass, momentum and energy to roundoff. Collisions keep density, velocity and temperature, so
//! these are of second order in dt, as with the models. Stresses and heat fluxes are means of their values before and after the collisions.
//! Streaming is positive at any step, collisions where `dt nu <= 1` at every velocity; [`ShockWave::line`] ensures that.
//!
//! **Velocities** lie on the cubic grid of the collision integral, whose box may be shifted along x: the integral depends on differences of velocities
//! only. Its default order is 4; on the coarse grids of two streams the second order relaxes a tenth too fast.
//!
//! **Ends.** The discrete integral does not vanish at a Maxwellian but at a state near it. [`ShockWave`] finds these states. The downstream one has
//! the fluxes of mass, momentum and energy of the upstream one to roundoff. So the wave does not drift, and its fluxes are flat.

mod config;
mod engine;
mod flow;
mod gap;
mod gap_correction;
mod gpu;
mod host;
mod shock;

use serde::{Deserialize, Serialize};

pub use config::{LineConfig, cross_section};
use engine::Flow;
pub use flow::{Checkpoint, Line, Look};
pub use gap::{GapCollisions, Plates, PlatesConfig};
use gpu::MachineFlow;
use host::HostFlow;
pub use shock::{ShockStart, ShockWave};

use crate::compute::engine_of;
use crate::error::Result;

/// The right-hand side of the kinetic equation.
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
