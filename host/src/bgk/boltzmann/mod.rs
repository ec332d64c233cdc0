//! The Boltzmann equation on a line or a rectangle, with the collision integral of the [`collision`](crate::collision) wing instead of a relaxation model.
//!
//! ```text
//! df/dt + v.grad f = I(f, f)
//! ```
//!
//! **Units** are those of [`bgk`](super), so profiles can be compared. The viscosity defines l0 and 1/nu0; for molecules it is
//! that of the first approximation of Chapman and Enskog (see [`cross_section`]). For hard spheres the mean free path `1 / (sqrt(2) n0 sigma_T)` is
//! 8/(5 sqrt(pi)) l0 = 0.9027 l0 exactly. Their true viscosity is 1.6% higher.
//!
//! **Split steps** ([`Stepping::Split`]) are streaming, as in [`bgk`](super) with its walls, mirrors, streams and periodic faces, and then collisions for the time dt by the second-order Runge-Kutta method of
//! [`Integrator::Ssprk2`](crate::collision::Integrator::Ssprk2). Density, velocity and temperature do not change in collisions, so as with the
//! models they are of second order in dt without further splitting; stresses and heat fluxes are means of their values before and after the collisions.
//! Streaming is positive at any step; collisions are where `dt nu <= 1` at every velocity, which [`ShockWave::line`] sees to.
//!
//! **Penalised steps** ([`Stepping::Penalised`]) take streaming and collisions together, relaxation to the discrete Maxwellian M of f being implicit:
//!
//! ```text
//! df/dt = [-v.grad f + I(f, f) - beta (M - f)] + beta (M - f),     beta = 2 max over velocities of the frequency of the loss, of each cell and step
//! ```
//!
//! (F. Filbet and S. Jin, J. Comput. Phys. 229 (2010) 7625). Two stages of order 2, globally stiffly accurate (U. M. Ascher, S. J. Ruuth and R. J. Spiteri, Appl. Numer. Math. 25 (1997) 151; G. Dimarco and L. Pareschi,
//! SIAM J. Numer. Anal. 51 (2013) 1064), with two integrals a step as in split ones. Collisions do not bound the step, and in the limit of many the scheme is one of the Euler equations. A steady state is that of the differences in space alone, whatever
//! the step. The slopes of what leaves through a wall are one-sided, so the scheme is of second order there too.
//!
//! Both conserve mass, momentum and energy to roundoff in the cells, and mass at walls.
//!
//! **Velocities** lie on the cubic grid of the collision integral, whose box moves with its centre along x: the integral depends on differences of velocities
//! only. Sums over half of the axis, as walls have them, are midpoint sums: the fluxes of a wall are off by up to `dv^2/12` of themselves, 2% at dv = 0.5, where collisions do not smooth f.
//!
//! **Ranks** share space ([`Flow::over`]). Collisions of a cell need no other cell, so neighbours exchange the distributions of a few cells before each pass of streaming. The bits are those of one rank.
//!
//! **Ends of shock waves.** The discrete integral does not vanish at a Maxwellian but at a state near it, except where it is balanced. [`ShockWave`] finds these states, and the downstream one
//! whose fluxes of mass, momentum and energy are those of the upstream one to roundoff. So the wave is at rest, and its fluxes are flat.

mod config;
mod engine;
mod flow;
mod gap;
mod gpu;
mod host;
mod initial;
mod ranks;
mod shock;
mod transport;

use serde::{Deserialize, Serialize};

pub use config::{FlowConfig, Stepping, cross_section};
use engine::Engine;
pub use flow::{Checkpoint, Flow, Look};
pub use gap::{GapCollisions, PlatesConfig};
use gpu::MachineFlow;
use host::HostFlow;
pub use initial::Initial;
use ranks::Cut;
pub use shock::{ShockStart, ShockWave};

use crate::compute::{Resolved, engine_of};
use crate::distributed::{Team, Transport, machines, no_reference};
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

/// The engine that a configuration asks for: one machine or a rank for each of several devices, or the engine of this rank.
fn engine(
    config: &FlowConfig,
    cut: Option<Cut>,
    transport: &dyn Transport,
) -> Result<Box<dyn Engine>> {
    let mut machines = machines(&config.operator.compute, transport)?;
    if machines.len() > 1 {
        let team = Team::new(machines, |machine, transport| {
            on(machine, config, Cut::new(config, transport)?)
        });
        return Ok(Box::new(team?));
    }
    on(machines.remove(0), config, cut)
}

/// Refuses a flow that does not fit into the memory of the machine that it asks for, before any of it is allocated.
#[cfg(feature = "cli")]
pub(crate) fn check_room(config: &FlowConfig) -> Result<()> {
    let compute = config.operator.compute;
    let mut machines = compute.resolve_all()?;
    let (Some(machine), true) = (machines.pop(), machines.is_empty()) else {
        return Ok(());
    };
    engine_of! {
        machine, compute.precision;
        reference => host::check_room(config),
        cpu<T> => host::check_room(config),
        kernels<T>(machine) => gpu::check_room(&machine, config),
    }
}

/// The engine on a machine: of the whole flow, or of a rank's part.
fn on(machine: Resolved, whole: &FlowConfig, cut: Option<Cut>) -> Result<Box<dyn Engine>> {
    let name = machine.describe();
    let part = cut.as_ref().map(|cut| cut.local(whole));
    let config = part.as_ref().unwrap_or(whole);
    engine_of! {
        machine, config.operator.compute.precision;
        reference => match cut {
            None => Ok(Box::new(HostFlow::new(config, None)?)),
            Some(_) => Err(no_reference()),
        },
        cpu<T> => Ok(Box::new(HostFlow::new(config, cut)?)),
        kernels<T>(machine) => Ok(Box::new(MachineFlow::<_, T>::new(machine, name, config, cut)?)),
    }
}
