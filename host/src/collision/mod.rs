//! The deterministic Boltzmann collision integral on a 3D velocity grid.
//!
//! For a gas that is uniform in space the distribution f of molecular velocities xi obeys
//!
//! ```text
//! df/dt = I(f, f),     I(xi) = int [f(xi') f(xi_1') - f(xi) f(xi_1)] C g^gamma dOmega d xi_1,     g = |xi - xi_1|,
//! ```
//!
//! where the primed velocities are those after a collision that turns the relative velocity into a direction within dOmega. The scattering is
//! isotropic: gamma = 1 for hard spheres, 0 for pseudo-Maxwell molecules, between them for variable hard spheres.
//! On a grid of N x N x N cubic cells of width h, with f constant in each cell, this becomes
//!
//! ```text
//! I_i = sum over j, n of A(i-j, n) f_k f_l  -  f_i nu_i,     nu_i = sum over j of B(i-j) f_j,     k = (i+j+n)/2,  l = (i+j-n)/2,
//! A(m, n) = C h^(3+gamma) |m|^gamma omega(|m|^2, n),         B(m) = 4 pi C h^(3+gamma) |m|^gamma
//! ```
//!
//! (eqs. 8-10), and the loss f nu is multiplied by 1 + delta.phi so that mass, momentum and energy are conserved (eqs. 11-13).
//!
//! **Source.** V. V. Aristov, A. A. Frolova, S. A. Zabelok, V. I. Kolobov and R. R. Arslanbekov, "Acceleration of Deterministic
//! Boltzmann Solver with Graphics Processing Units" (2011); equations are numbered as there. The correction is due to V. V. Aristov and
//! F. G. Tcheremissine, USSR Comput. Math. Math. Phys. 20 (1980) 208.
//!
//! **Units.** The mass of a molecule and Boltzmann's constant are 1, so a Maxwellian of temperature T has the variance T along each axis. The
//! unit of density times sigma_T sets the unit of time: with sigma_T = 1, as by default, hard spheres of density 1 and temperature 1 collide
//! 4/sqrt(pi) = 2.26 times in a unit of time.
//!
//! | symbol | meaning | where |
//! |---|---|---|
//! | f_i | distribution, `f[ix][iy][iz]`, `iz` fastest | `&[f64]` |
//! | N, h, xi_i | cells along an axis, their width, their centres | [`VelocityGrid::n`], [`spacing`](VelocityGrid::spacing), [`velocity`](VelocityGrid::velocity) |
//! | gamma | exponent of the relative speed | [`Scattering::gamma`] |
//! | sigma_T = 4 pi C | total cross-section at unit relative speed | [`OperatorConfig::sigma_t`] |
//! | omega(rho, n) | solid angle of the directions that lead into the cells k, l; rho = \|m\|^2 | [`coefficients::omega`] |
//! | sum of A f f | gain, the inverse collision integral | [`Evaluation::gain`] |
//! | nu_i | collision frequency | [`Evaluation::frequency`] |
//! | I_i | collision integral | [`Evaluation::rate`] |
//! | delta | coefficients of the correction, the paper's a less its unit part | [`Correction::delta`] |
//! | n, u, T, H | moments of f | [`Moments`] |
//!
//! [`mod@spectral`] computes the same integral by transforms: [`OperatorConfig::spectral`] chooses it.
//!
//! **Where to begin.** [`collide`] evaluates the integral once, a [`CollisionOperator`] again and again, a [`Relaxation`] steps in time.
//! [`initial`] has distributions to start from, [`mod@reference`] the formulas in loops.
//!
//! **Agreement.** Gain and frequency of all backends, and of both sums, agree within 1e-12 relative in `f64` and 1e-5 in `f32`. The correction, the moments
//! and the time stepping are f64 in either precision, so the residuals of conservation are roundoff in both.

mod balanced;
pub mod coefficients;
mod correction;
mod cpu;
mod engine;
pub mod errors;
mod evaluate;
mod fit;
mod gmres;
mod gpu;
mod grid;
mod host;
pub mod initial;
mod integrator;
mod limiter;
mod moments;
mod operator;
pub mod paper;
pub mod reference;
mod relaxation;
mod scattering;
pub mod spectral;
mod spectrum_plan;
mod spread;
mod sums;
pub mod transport;
mod waves;

pub use balanced::discrete_maxwellian;
pub use cpu::{CpuOperator, CpuReal};
#[doc(hidden)]
pub use engine::Part;
pub use fit::Beams;
pub use gpu::{CellCollisions, CellStage};
pub use grid::VelocityGrid;
pub use integrator::Integrator;
pub use moments::Moments;
pub use operator::{
    Correction, CorrectionMethod, CorrectionStatus, Evaluation, Method, OperatorConfig, Order,
};
pub use relaxation::{
    Checkpoint, CollisionOperator, Record, Relaxation, RelaxationConfig, Until, collide,
    collide_batch,
};
pub use scattering::Scattering;
pub use spectral::{Mirrors, Spectral};
#[doc(hidden)]
pub use waves::FrequencyWay;

use std::sync::Arc;

use crate::compute::{Resolved, engine_of, on_each};
use crate::error::Result;
use engine::Engine;
use gpu::MachineEngine;
use host::HostEngine;
use reference::ReferenceSums;
use spectral::{SpectralReference, SpectralSums};
use spread::Spread;
use sums::Sums;

/// The engine that a configuration asks for. Several devices share the distributions of batches.
fn engine(config: &OperatorConfig) -> Result<Box<dyn Engine>> {
    config.validate()?;
    let mut engines = on_each(config.compute.resolve_all()?, |machine| {
        engine_on(config, machine)
    })?;
    let first = engines.remove(0);
    Ok(match engines.is_empty() {
        true => first,
        false => Box::new(Spread::new(first, engines)),
    })
}

/// The engine of a single distribution, which one device has.
fn engine_of_one(config: &OperatorConfig) -> Result<Box<dyn Engine>> {
    config.validate()?;
    engine_on(config, config.compute.resolve()?)
}

/// The engine on one machine.
fn engine_on(config: &OperatorConfig, resolved: Resolved) -> Result<Box<dyn Engine>> {
    let name = resolved.describe();
    let n = config.grid.n();
    let gamma = config.scattering.gamma();
    engine_of! {
        resolved, config.compute.precision;
        reference => {
            let sums: Arc<dyn Sums> = match config.method {
                Method::Spectral => Arc::new(SpectralReference::new(config)),
                _ => Arc::new(ReferenceSums::new(config)),
            };
            Ok(Box::new(HostEngine::new(name, config, sums)))
        },
        cpu<T> => {
            let sums: Arc<dyn Sums> = match config.method {
                Method::Spectral => Arc::new(SpectralSums::<T>::new(config)),
                method => Arc::new(CpuOperator::<T>::new(n, gamma, method, config.order)),
            };
            Ok(Box::new(HostEngine::new(name, config, sums)))
        },
        kernels<T>(machine) => {
            let machine = Arc::new(machine);
            Ok(Box::new(MachineEngine::<_, T>::new(machine, name, config, 1)?))
        },
    }
}
