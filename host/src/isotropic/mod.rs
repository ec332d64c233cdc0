//! The isotropic Boltzmann equation in energy space, in O(M^2) operations a step.
//!
//! For a gas that is uniform in space and isotropic, the distribution f depends on the energy E = v^2/2 only. On M cells of width dE,
//!
//! ```text
//! df_i/dt = N_i - nu_i f_i,     N_i = F dE^(3/2) sum over j, k of r_j B_ij^kl f_k f_l,     nu_i = F dE^(3/2) sum over j, k of r_j B_ij^kl f_j,
//! F = 2^(3/2) pi^2 a^2 c_s,     r_i = sqrt(i - 1/2),     l = i + j - k,     i, j, k = 1..M
//! ```
//!
//! (eqs. 1, 2). B_ij^kl is the area of the directions (x, y) that take particles of the cells i, j to the cells k, l, weighted with
//! |g n|^theta; it has a closed form, see [`coefficients`]. Since it depends, times r_i r_j, on two energies only, collisions can be
//! grouped by the length of the jump that a particle makes, and the sum takes O(M^2) operations instead of O(M^3): [`Storage::Pairs`].
//!
//! **Source.** V. V. Aristov, A. D. Yastrebov and A. V. Stroganov, "Development of a Parallel Deterministic Method of Solving the
//! Boltzmann Equation and its Application Using OpenCL" (in Russian), Informatsionnye Tekhnologii 26 (2020) 266; after P. Asinari,
//! Comput. Phys. Commun. 181 (2010) 1776.
//!
//! **Units.** Mass 1 and Boltzmann's constant 1: a Maxwellian is exp(-E/T). a^2 c_s = 1/(2 pi) and c_s = 1, so that for theta = 0 and
//! number 1 each particle collides once in a unit of time.
//!
//! | symbol | meaning | where |
//! |---|---|---|
//! | f_i | distribution | `&[f64]`, one value a cell |
//! | M, dE, E_i | cells, their width, their centres | [`EnergyGrid::cells`], [`width`](EnergyGrid::width), [`energy`](EnergyGrid::energy) |
//! | w_i | weight of a cell, r_i or its average | [`Weights`] |
//! | theta | exponent of the collision rate | [`CollisionKernel::Power`] |
//! | B_ij^kl | collision coefficient | [`coefficients::Coefficients::value`] |
//! | N, nu | gain and collision frequency | [`Rates::gain`], [`Rates::frequency`] |
//! | n, e, H | moments | [`Moments`] |
//! | P_i = 2^(5/2) pi dE^(3/2) w_i f_i | number of particles, or share of agents, of a cell | [`OperatorConfig::measure`] |
//!
//! **Economies.** The same machinery describes agents who trade: [`market`], [`CollisionKernel::Money`], [`CollisionKernel::Gamma`], [`CollisionKernel::Saving`]. There f and P must not
//! be mixed: an exponential f of the gas is a gamma distribution P of wealth.
//!
//! **Where to begin.** [`rates()`] evaluates once, a [`Relaxation`] steps in time, [`initial`] has distributions to start from,
//! [`mod@reference`] the formulas in loops.
//!
//! **Agreement.** All backends and storages agree within 1e-13 of the largest gross rate in `f64` and 1e-5 in `f32`. In `f32` the CPU rounds
//! the coefficients only, the kernels also their products; states and the update in time are f64.

pub mod coefficients;
mod cpu;
mod engine;
pub mod errors;
mod fit;
mod gpu;
mod grid;
mod host;
mod inequality;
pub mod initial;
pub mod market;
mod moments;
mod operator;
mod paper;
pub mod reference;
mod relaxation;
pub mod spectrum;
mod spread;
mod tables;

pub use fit::Sampled;
pub use grid::{EnergyGrid, Weights};
pub use moments::Moments;
pub use operator::{CollisionKernel, Integrator, OperatorConfig, Rates, Storage};
pub use relaxation::{Checkpoint, Record, Relaxation, RelaxationConfig, rates};

use crate::compute::{Precision, Resolved, engine_of, on_each, shares};
use crate::error::Result;
use engine::Engine;
use gpu::MachineEngine;
use host::HostEngine;
use spread::Spread;

/// The engine that a configuration asks for, for `states` states at once. Several devices share them.
fn engine(config: &OperatorConfig, states: usize) -> Result<Box<dyn Engine>> {
    config.validate()?;
    check_memory(config)?;
    if states == 1 {
        return engine_on(config, states, config.compute.resolve()?);
    }
    let machines = config.compute.resolve_all()?;
    let parts = shares(states, machines.len());
    let mut parts = on_each(machines.into_iter().zip(parts), |(machine, part)| {
        Ok((part.len(), engine_on(config, part.len(), machine)?))
    })?;
    Ok(match parts.len() {
        1 => parts.remove(0).1,
        _ => Box::new(Spread::new(parts)),
    })
}

/// The engine on one machine.
fn engine_on(
    config: &OperatorConfig,
    states: usize,
    resolved: Resolved,
) -> Result<Box<dyn Engine>> {
    let name = resolved.describe();
    let host = |operator| Box::new(HostEngine::new(name.clone(), config, operator, states));
    engine_of! {
        resolved, config.compute.precision;
        reference => Ok(host(Box::new(cpu::Reference(config.clone())))),
        cpu<T> => Ok(host(cpu::operator::<T>(config))),
        kernels<T>(machine) => {
            Ok(Box::new(MachineEngine::<_, T>::new(machine, name, config, states)?))
        },
    }
}

/// Refuses coefficients that do not fit into main memory, where all of them are made.
fn check_memory(config: &OperatorConfig) -> Result<()> {
    let cells = config.grid.cells();
    let stored = match (config.law, config.storage) {
        (CollisionKernel::Power { .. }, storage) => paper::coefficients(storage, cells),
        _ => None,
    };
    let (elements, remedy) = match stored {
        Some(stored) => (stored, "use pair storage"),
        None => (2 * coefficients::Counts::of(cells).pair, "use fewer cells"),
    };
    let bytes = match config.compute.precision {
        Precision::F32 => 4,
        Precision::F64 => 8,
    };
    Ok(crate::memory_plan::check_host(
        &format!("the table of {elements} coefficients"),
        elements.saturating_mul(bytes),
        remedy,
    )?)
}
