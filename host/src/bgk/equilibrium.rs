//! From the sums over the nodes to what relaxation needs in each cell.

use rayon::prelude::*;

use super::engine::StepPlan;
use super::{DiscreteMaxwellian, HeatTerm, Model, Problem, State, heat_vector};
use crate::error::{Error, Result};

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
}

/// Number of sums for each cell.
pub(super) fn sums_of(problem: &Problem) -> usize {
    match problem.gas.model {
        Model::Bgk => sum::BGK,
        Model::Shakhov => sum::SHAKHOV,
    }
}

/// The state of a cell, of its sums.
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

/// The sums of v_x^2, v_y^2 and v_x v_y times f of a cell.
pub(super) fn stress(sums: &[f64], cells: usize, cell: usize) -> [f64; 3] {
    [0, 1, 2].map(|k| sums[(sum::STRESS + k) * cells + cell])
}

/// n, u_x, u_y and T of all cells, of their sums.
pub(super) fn fields(problem: &Problem, sums: &[f64]) -> [Vec<f64>; 4] {
    let mut fields: [Vec<f64>; 4] = Default::default();
    for cell in 0..problem.space.cells() {
        let state = state(problem, sums, cell);
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

/// What the relaxation of a cell needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relaxation {
    /// The Maxwellian.
    pub(super) maxwellian: DiscreteMaxwellian,
    /// `e^(-nu dt)`.
    pub(super) keep: f64,
    /// `1 - e^(-nu dt)`.
    pub(super) give: f64,
    /// Shakhov's term with the share `e^(-Pr nu dt) - e^(-nu dt)`: 0 for BGK.
    pub(super) heat: HeatTerm,
}

/// The relaxation of all cells, from their sums. `previous` holds the Maxwellians of the step before, from which Newton's method starts.
///
/// # Errors
/// A cell whose state is none, or has no discrete Maxwellian.
pub(super) fn relaxations(
    problem: &Problem,
    plan: &StepPlan,
    sums: &[f64],
    previous: &[Relaxation],
    step: u64,
) -> Result<Vec<Relaxation>> {
    let cells = problem.space.cells();
    let streams_only = step == 0 && plan.relaxed;
    (0..cells)
        .into_par_iter()
        .with_min_len(64)
        .map(|cell| {
            let state = state(problem, sums, cell);
            if !(state.density > 0.0
                && state.temperature > 0.0
                && state.density.is_finite()
                && state.temperature.is_finite())
            {
                let (ix, iy) = (cell % problem.space.nx(), cell / problem.space.nx());
                return Err(Error::Numerical(format!(
                    "the gas is no longer in a state after step {step}: density {:e}, temperature {:e} in cell ({ix}, {iy})",
                    state.density, state.temperature
                )));
            }
            let maxwellian = if !problem.conservative {
                DiscreteMaxwellian::sampled(&problem.velocity, state)
            } else if let Some(before) = previous.get(cell) {
                before.maxwellian.follow(&problem.velocity, state)?
            } else {
                DiscreteMaxwellian::conservative(&problem.velocity, state)?
            };
            let time = if streams_only {
                0.0
            } else {
                plan.dt
                    * problem
                        .gas
                        .relaxation_frequency(state.density, state.temperature)
            };
            let keep = (-time).exp();
            let heat = match problem.gas.model {
                Model::Bgk => HeatTerm::default(),
                Model::Shakhov => {
                    let share = (-problem.gas.prandtl * time).exp() - keep;
                    let mut q = heat_flux(&state, sums, cells, cell);
                    if problem.velocity.flow() < 2 {
                        // Half of an axis has other sums.
                        q[1] = 0.0;
                    }
                    let g = heat_vector(&state, q, share);
                    if problem.conservative {
                        HeatTerm::conservative(&problem.velocity, &maxwellian, g)
                    } else {
                        HeatTerm::sampled(g, state.temperature)
                    }
                }
            };
            Ok(Relaxation {
                maxwellian,
                keep,
                give: -(-time).exp_m1(),
                heat,
            })
        })
        .collect()
}
