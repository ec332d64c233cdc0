//! Steady flows without a stored distribution: source iteration, accelerated.
//!
//! At given fields the stationary equation `v.grad f = nu (S - f)` is solved for each discrete velocity by one sweep through the cells in
//! upwind order,
//!
//! ```text
//! f_P = (nu S + sum_i b_i f_in,i) / (nu + sum_i b_i),      upwind:  b_i = |v_i|/dx_i,   f_out,i = f_P
//!                                                          diamond: b_i = 2 |v_i|/dx_i, f_out,i = 2 f_P - f_in,i
//! ```
//!
//! and only its moments are kept, the next fields. Fields, wall densities and the flux that mirrors return form one vector of unknowns. One
//! iteration is a map of it; Anderson mixing finds the fixed point.
//!
//! **Conservation.** The unknowns `W` parametrise the local equilibrium, and an iteration adds to them the moments of `f - S`, summed over
//! the nodes. At the fixed point these vanish, so S has exactly the discrete moments of f. Mass, momentum and energy fluxes
//! through all faces balance to roundoff for any quadrature. This is the conservative discrete Maxwellian, without a Newton iteration of its
//! own.
//!
//! **Around the collision integral.** With [`SteadyProblem::integral`] molecules collide, as in [`boltzmann`](super::boltzmann). The distribution is stored, and sweeps with the
//! frequency of the loss, `v.grad f + nu f = I(f0, f0) + nu f0`, take the place of those above. All else is the same. They start from the flow of the relaxation model on
//! the same nodes.
//!
//! **Force.** On a line a [force](SteadyProblem::force) along y may act on the gas between two walls, as in a channel. With a model the sweeps are exact at any strength: they follow moments over v_y and
//! v_z. Around the collision integral the force acts on the local Maxwellian, which is exact to first order.
//!
//! **Conditions beside the boundaries.** Where no mass passes any boundary the total mass is that of the start. A wave between two parallel streams has
//! no position of its own; the mass of the start determines it.
//!
//! **Linearised.** With `f = M0 (1 + h)`, M0 the Maxwellian at rest with density and temperature 1, and all second-order terms dropped:
//!
//! ```text
//! S = rho + 2 u.v + tau (|v|^2 - 3/2) + (1-Pr) (8/5) q.v (|v|^2 - 5/2)
//! ```
//!
//! Boundaries and results are then perturbations per unit of the drive: a wall at temperature `1 + tau` has the value `tau`.
//!
//! **Source.** In neutron transport this is source iteration with diamond differences: E. E. Lewis and W. F. Miller, *Computational Methods
//! of Neutron Transport* (1984), chapters 2 and 3. For kinetic models on GPUs without a stored distribution: L. Zhu and others, Comput. Phys.
//! Commun. 245 (2019) 106861. The mixing: D. G. Anderson, J. ACM 12 (1965) 547.

pub(crate) mod anderson;
mod checkpoint;
mod config;
mod correction;
mod cpu;
mod engine;
mod equilibrium;
mod fit;
mod force;
mod forced;
mod gpu;
mod hold;
mod integral;
mod internal;
mod memory;
mod nodes;
mod plan;
mod problem;
mod reconstruction;
mod reference;
mod residuals;
mod results;
mod sides;
mod solution;
mod solver;
mod start;
mod sums;

pub(super) use self::anderson::Anderson;
pub use self::checkpoint::Checkpoint;
pub use self::config::SteadyConfig;
use self::cpu::CpuSweeps;
use self::engine::Sweeps;
pub(in crate::bgk) use self::fit::{COARSEST, collision_error};
use self::forced::ForcedSweeps;
use self::gpu::MachineSweeps;
pub use self::nodes::Nodes;
use self::plan::Plan;
pub(in crate::bgk) use self::problem::ASYMMETRY;
pub use self::problem::{Closure, SteadyProblem};
use self::reference::ReferenceSweeps;
pub use self::solution::{Exchange, Solution};
#[cfg(feature = "cli")]
pub(crate) use self::solver::check;
pub use self::solver::{SteadySolver, solve};
pub use super::cases::{channel, plates};
use crate::compute::{Precision, Resolved, engine_of};
use crate::error::Result;

/// The machine that sweeps.
fn engine(plan: &Plan, precision: Precision, resolved: Resolved) -> Result<Box<dyn Sweeps>> {
    if plan.force != 0.0 && matches!(resolved, Resolved::Cpu | Resolved::Reference) {
        return Ok(Box::new(ForcedSweeps::new(plan)?));
    }
    Ok(engine_of! {
        resolved, precision;
        reference => Box::new(ReferenceSweeps { plan: plan.clone() }),
        cpu<T> => Box::new(CpuSweeps::<T>::new(plan)),
        kernels<T>(machine) => Box::new(MachineSweeps::<_, T>::new(machine, plan)?),
    })
}
