//! From the sums over the nodes to what relaxation needs in each cell.

use rayon::prelude::*;

use super::engine::StepPlan;
use super::rotating::{Internal, Relaxing, internal_vector};
use crate::bgk::equilibrium::{HeatTerm, Maxwellians, heat_vector};
use crate::bgk::{DiscreteMaxwellian, Model, Problem, State};
use crate::error::{Error, Result};
use crate::maxwellian::{Row, TOGETHER};

/// The sums over the nodes that a step leaves for each cell, in the order of their rows.
pub(super) mod sum {
    /// Sum of f.
    pub(crate) const DENSITY: usize = 0;
    /// Sums of v_x f and v_y f.
    pub(crate) const MOMENTUM: usize = 1;
    /// Sum of |v|^2 f.
    pub(crate) const ENERGY: usize = 3;
    /// Number of sums that BGK needs.
    pub(crate) const BGK: usize = 4;
    /// Sums of v_x |v|^2 f and v_y |v|^2 f.
    pub(crate) const FLUX: usize = 4;
    /// Sums of v_x^2 f, v_y^2 f and v_x v_y f.
    pub(crate) const STRESS: usize = 6;
    /// Number of sums that Shakhov needs.
    pub(crate) const SHAKHOV: usize = 9;
    /// Sum of the internal energy E.
    pub(crate) const INTERNAL: usize = 9;
    /// Sums of v_x E and v_y E.
    pub(crate) const INTERNAL_FLUX: usize = 10;
    /// Number of sums of molecules that rotate.
    pub(crate) const POLYATOMIC: usize = 12;
}

/// Number of sums for each cell.
pub(super) fn sums_of(problem: &Problem) -> usize {
    match problem.gas.model {
        Model::Bgk => sum::BGK,
        Model::Shakhov => sum::SHAKHOV,
        Model::Polyatomic => sum::POLYATOMIC,
    }
}

/// The state of a cell, of its sums; its temperature is that of translation.
pub(super) fn state(problem: &Problem, sums: &[f64], cell: usize) -> State {
    let cells = problem.space.cells();
    let at = |row: usize| sums[row * cells + cell];
    let density = at(sum::DENSITY);
    let ux = at(sum::MOMENTUM) / density;
    let uy = if problem.velocity.flow() == 2 {
        at(sum::MOMENTUM + 1) / density
    } else {
        0.0
    };
    State {
        density,
        velocity: [ux, uy],
        temperature: (at(sum::ENERGY) / density - ux * ux - uy * uy) / 1.5,
    }
}

/// The heat flux of a cell, of its sums: `q = (1/2) sum c |c|^2 f` multiplied out.
pub(super) fn heat_flux(state: &State, sums: &[f64], cells: usize, cell: usize) -> [f64; 2] {
    let at = |row: usize| sums[row * cells + cell];
    let [ux, uy] = state.velocity;
    let square = ux * ux + uy * uy;
    let [xx, yy, xy] = stress(sums, cells, cell);
    let energy = at(sum::ENERGY);
    let along = |flux: f64, u: f64, stress: f64| {
        0.5 * (flux - 2.0 * stress - u * energy + 2.0 * u * state.density * square)
    };
    [
        along(at(sum::FLUX), ux, ux * xx + uy * xy),
        along(at(sum::FLUX + 1), uy, ux * xy + uy * yy),
    ]
}

/// The internal energy of a cell, of its sums.
pub(super) fn internal(state: &State, sums: &[f64], cells: usize, cell: usize) -> Internal {
    let at = |row: usize| sums[row * cells + cell];
    let energy = at(sum::INTERNAL);
    let along = |d: usize| 0.5 * (at(sum::INTERNAL_FLUX + d) - state.velocity[d] * energy);
    Internal {
        energy,
        heat_flux: [along(0), along(1)],
    }
}

/// The sums of v_x^2, v_y^2 and v_x v_y times f of a cell.
pub(super) fn stress(sums: &[f64], cells: usize, cell: usize) -> [f64; 3] {
    [0, 1, 2].map(|k| sums[(sum::STRESS + k) * cells + cell])
}

/// n, u_x, u_y and T of all cells, of their sums.
pub(super) fn fields(problem: &Problem, sums: &[f64]) -> [Vec<f64>; 4] {
    let mut fields: [Vec<f64>; 4] = Default::default();
    let cells = problem.space.cells();
    let rotation = problem.gas.rotating();
    for cell in 0..cells {
        let mut state = state(problem, sums, cell);
        if let Some(rotation) = &rotation {
            let internal = internal(&state, sums, cells, cell);
            let of_rotation = internal.temperature(rotation, state.density);
            // Kernels accept a rotational temperature below zero. The residual reports it.
            state.temperature = match of_rotation > 0.0 {
                true => rotation.temperature(state.temperature, of_rotation),
                false => f64::NAN,
            };
        }
        let values = [
            state.density,
            state.velocity[0],
            state.velocity[1],
            state.temperature,
        ];
        for (field, value) in fields.iter_mut().zip(values) {
            field.push(value);
        }
    }
    fields
}

/// Factors of relaxation of [`TOGETHER`] cells, or of as many as are left.
#[derive(Clone, Debug)]
pub(super) struct Relaxations {
    /// The Maxwellians.
    pub(super) maxwellians: Maxwellians,
    /// `e^(-nu dt)`.
    pub(super) keep: Row,
    /// `1 - e^(-nu dt)`.
    pub(super) give: Row,
    /// Shakhov's terms with the share `e^(-Pr nu dt) - e^(-nu dt)`: none for BGK.
    pub(super) heat: Vec<HeatTerm>,
    /// Internal energy a molecule at the temperature T_r*, and the vector g of its flux: none of single atoms.
    pub(super) internal: Vec<(f64, [f64; 2])>,
}

impl Relaxations {
    /// Those of all cells with Maxwellians `of` them alone, from which Newton's method starts: nothing relaxes yet.
    pub(super) fn starting(
        problem: &Problem,
        of: impl Fn(usize) -> DiscreteMaxwellian,
    ) -> Vec<Self> {
        let cells = problem.space.cells();
        let first = (0..cells).step_by(TOGETHER);
        first
            .map(|first| {
                let here = TOGETHER.min(cells - first);
                let heat = match problem.gas.model {
                    Model::Bgk => 0,
                    Model::Shakhov | Model::Polyatomic => here,
                };
                Self {
                    maxwellians: Maxwellians::new(here, |i| of(first + i)),
                    keep: [1.0; TOGETHER],
                    give: [0.0; TOGETHER],
                    heat: vec![HeatTerm::default(); heat],
                    internal: match problem.gas.model {
                        Model::Polyatomic => vec![(0.0, [0.0; 2]); here],
                        _ => Vec::new(),
                    },
                }
            })
            .collect()
    }
}

/// The relaxation of all cells, from their sums. Newton's method starts from the Maxwellians that are there, of the step before; where there are none,
/// from those of the continuum.
///
/// # Errors
/// A cell whose state is none, or has no discrete Maxwellian.
pub(super) fn relax_all(
    problem: &Problem,
    plan: &StepPlan,
    sums: &[f64],
    step: u64,
    all: &mut Vec<Relaxations>,
) -> Result<()> {
    if all.is_empty() {
        *all = Relaxations::starting(problem, |cell| {
            DiscreteMaxwellian::sampled(&problem.velocity, state(problem, sums, cell))
        });
    }
    all.par_iter_mut()
        .enumerate()
        .try_for_each(|(k, block)| relax(problem, plan, sums, step, k * TOGETHER, block))
}

/// The relaxation of the cells from `first` on.
fn relax(
    problem: &Problem,
    plan: &StepPlan,
    sums: &[f64],
    step: u64,
    first: usize,
    block: &mut Relaxations,
) -> Result<()> {
    let space = &problem.velocity;
    let maxwellians = &mut block.maxwellians;
    // The first step of relaxed populations only streams.
    let streams_only = step == 0 && plan.relaxed;
    let dt = if streams_only { 0.0 } else { plan.dt };
    let rotation = problem.gas.rotating();
    let mut rotating: Vec<Relaxing> = Vec::new();
    for i in 0..maxwellians.cells {
        let mut state = state(problem, sums, first + i);
        if !(state.density > 0.0
            && state.temperature > 0.0
            && state.density.is_finite()
            && state.temperature.is_finite())
        {
            let nx = problem.space.nx();
            let (ix, iy) = ((first + i) % nx, (first + i) / nx);
            return Err(Error::Numerical(format!(
                "the gas is no longer in a state after step {step}: density {:e}, temperature {:e} in cell ({ix}, {iy})",
                state.density, state.temperature
            )));
        }
        if let Some(rotation) = &rotation {
            let cells = problem.space.cells();
            let mut q = heat_flux(&state, sums, cells, first + i);
            let mut internal = internal(&state, sums, cells, first + i);
            if space.flow() < 2 {
                (q[1], internal.heat_flux[1]) = (0.0, 0.0);
            }
            let relaxing = Relaxing::new(&problem.gas, rotation, &state, q, &internal, dt)?;
            state.temperature = relaxing.temperatures[0];
            rotating.push(relaxing);
        }
        if problem.conservative {
            maxwellians.set_state(i, state);
        } else {
            maxwellians.set(i, &DiscreteMaxwellian::sampled(space, state));
        }
    }
    if problem.conservative {
        let found = maxwellians.conserve(space);
        for (i, found) in found.into_iter().enumerate().take(maxwellians.cells) {
            if !found {
                let afresh = DiscreteMaxwellian::conservative(space, maxwellians.state(i))?;
                maxwellians.set(i, &afresh);
            }
        }
    }
    let time = |i: usize| match streams_only {
        true => 0.0,
        false => {
            let (density, temperature) = (maxwellians.density[i], maxwellians.temperature[i]);
            plan.dt * problem.gas.relaxation_frequency(density, temperature)
        }
    };
    for i in 0..maxwellians.cells {
        let time = time(i);
        block.keep[i] = (-time).exp();
        block.give[i] = -(-time).exp_m1();
    }
    for (i, relaxing) in rotating.iter().enumerate() {
        (block.keep[i], block.give[i]) = (relaxing.keep, relaxing.give);
        let half = rotation.map_or(0.0, |rotation| 0.5 * rotation.freedom);
        let g = internal_vector(&maxwellians.state(i), relaxing.heat_fluxes[1]);
        block.internal[i] = (half * relaxing.temperatures[1], g);
    }
    if problem.gas.model != Model::Bgk {
        let cells = problem.space.cells();
        let vector = |i: usize| {
            let state = maxwellians.state(i);
            if let Some(relaxing) = rotating.get(i) {
                return heat_vector(&state, relaxing.heat_fluxes[0], 1.0);
            }
            let mut q = heat_flux(&state, sums, cells, first + i);
            if space.flow() < 2 {
                // Half of an axis has other sums.
                q[1] = 0.0;
            }
            let share = (-problem.gas.prandtl * time(i)).exp() - block.keep[i];
            heat_vector(&state, q, share)
        };
        if problem.conservative {
            let heat = &mut block.heat;
            HeatTerm::conservative_all(space, maxwellians, vector, |i, term| heat[i] = term);
        } else {
            for (i, heat) in block.heat.iter_mut().enumerate() {
                *heat = HeatTerm::sampled(vector(i), maxwellians.temperature[i]);
            }
        }
    }
    Ok(())
}
