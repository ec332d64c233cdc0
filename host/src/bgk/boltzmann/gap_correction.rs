//! The conservation laws between two plates, for the error that a sweep leaves: as in the corrections of the [steady](crate::bgk::steady) solver, with the transport coefficients of molecules.

use std::f64::consts::PI;

use crate::bgk::steady::constant_flux;
use crate::bgk::{FaceFlux as Flux, State};

/// A fully accommodating plate.
pub(super) struct PlateLaw {
    pub(super) temperature: f64,
    pub(super) velocity: f64,
}

/// Quantities of the laws.
pub(super) struct Laws<'a> {
    pub(super) widths: &'a [f64],
    /// Fluxes through the faces that a steady flow has constant.
    pub(super) fluxes: &'a [Flux],
    /// Fluxes through the faces as they are, whose stress is that of the gas.
    pub(super) stress: &'a [Flux],
    /// The swept gas.
    pub(super) states: &'a [State],
    pub(super) omega: f64,
    pub(super) prandtl: f64,
    pub(super) frequency: f64,
    /// Mass between the plates.
    pub(super) mass: f64,
    pub(super) plates: [PlateLaw; 2],
}

impl Laws<'_> {
    fn mean(&self, fluxes: &[Flux], of: fn(&Flux) -> f64, cell: usize) -> f64 {
        0.5 * (of(&fluxes[cell]) + of(&fluxes[cell + 1]))
    }

    /// The constant flux by the laws of both plates, `ends` being theirs, and the values at the faces that drive it.
    fn constant(&self, ends: [f64; 2], factor: f64, source: &[f64]) -> (f64, Vec<f64>) {
        let t = self.widths.iter().zip(self.states).map(|(width, state)| {
            width * self.frequency / (factor * state.temperature.powf(self.omega))
        });
        let t: Vec<f64> = t.collect();
        let edges = [self.states.first(), self.states.last()];
        let conductance =
            edges.map(|state| state.map_or(0.0, |s| s.density * (s.temperature / PI).sqrt()));
        let line = constant_flux(ends[0], ends[1], conductance, &t, source);
        (line.constant, line.faces)
    }
}

/// The corrected states, and what more than in the sweep leaves the gas at either plate.
pub(super) fn correct(laws: &Laws<'_>) -> (Vec<State>, [f64; 2]) {
    let Laws {
        fluxes,
        stress,
        states,
        plates,
        ..
    } = laws;
    let cells = states.len();
    let faces = [0, cells];
    let mass = |flux: &Flux| flux.mass;
    let shear = |flux: &Flux| flux.momentum[1];
    let energy = |flux: &Flux| flux.energy;
    let average = |values: &[f64], cell: usize| 0.5 * (values[cell] + values[cell + 1]);

    let ends = [0, 1].map(|side: usize| {
        let flux = &fluxes[faces[side]];
        shear(flux) - plates[side].velocity * mass(flux)
    });
    let stresses = |fluxes: &[Flux]| -> Vec<f64> {
        let of = |i: usize| {
            laws.mean(fluxes, shear, i) - states[i].velocity[1] * laws.mean(fluxes, mass, i)
        };
        (0..cells).map(of).collect()
    };
    let (drag, slip) = laws.constant(ends, 0.5, &stresses(fluxes));

    let own = stresses(stress);
    let velocity: Vec<f64> = (0..cells)
        .map(|i| states[i].velocity[1] + average(&slip, i))
        .collect();
    let ends = [0, 1].map(|side: usize| {
        let (flux, plate) = (&fluxes[faces[side]], &plates[side]);
        let u = plate.velocity;
        energy(flux) - u * shear(flux) + (0.5 * u * u - plate.temperature) * mass(flux) + u * drag
    });
    let source: Vec<f64> = (0..cells)
        .map(|i| {
            let (u, t) = (states[i].velocity[1], states[i].temperature);
            let conduction = laws.mean(fluxes, energy, i)
                - (1.25 * t + 0.5 * u * u) * laws.mean(fluxes, mass, i)
                - u * own[i];
            // The stress of the corrected flow is the constant one, and what a force has built up besides.
            let built = own[i] - stresses_of(laws, fluxes, i);
            velocity[i] * (drag + built) + conduction
        })
        .collect();
    let (_, jump) = laws.constant(ends, 0.625 / laws.prandtl, &source);

    let momentum = || fluxes.iter().map(|flux| flux.momentum[0]);
    let middle = momentum().sum::<f64>() / fluxes.len() as f64;
    let pressure: Vec<f64> = momentum().map(|momentum| middle - momentum).collect();
    let density = |cell: usize, face: usize, constant: f64| {
        let State {
            density,
            temperature,
            ..
        } = states[cell];
        (2.0 * (pressure[face] + constant) - density * jump[face]) / temperature
    };
    let (mut missing, mut per) = (laws.mass, 0.0);
    for (cell, (width, state)) in laws.widths.iter().zip(*states).enumerate() {
        let change = 0.5 * (density(cell, cell, 0.0) + density(cell, cell + 1, 0.0));
        missing -= width * (state.density + change);
        per += 2.0 * width / state.temperature;
    }
    let constant = missing / per;

    let changed = |cell: usize| {
        let state = states[cell];
        let n = 0.5 * (density(cell, cell, constant) + density(cell, cell + 1, constant));
        [
            n,
            -laws.mean(fluxes, mass, cell) / state.density,
            average(&slip, cell),
            average(&jump, cell),
        ]
    };
    // Far from the solution the linear laws overshoot.
    let most = (0..cells).fold(0.0_f64, |most, cell| {
        let [n, _, _, t] = changed(cell);
        let state = states[cell];
        most.max((n / state.density).abs())
            .max((t / state.temperature).abs())
    });
    let share = 0.5 / most.max(0.5);
    let corrected = (0..cells)
        .map(|cell| {
            let [n, ux, uy, t] = changed(cell).map(|change| share * change);
            let State {
                density,
                velocity: [vx, vy],
                temperature,
            } = states[cell];
            State {
                density: density + n,
                velocity: [vx + ux, vy + uy],
                temperature: temperature + t,
            }
        })
        .collect();
    let more = [0, 1].map(|side: usize| {
        let cell = [0, cells - 1][side];
        let sign = [1.0, -1.0][side];
        let (face, state) = (faces[side], states[cell]);
        let t = state.temperature;
        let n = density(cell, face, constant) + 0.5 * state.density * jump[face] / t;
        share * (0.5 * (t / PI).sqrt() * n + 0.5 * sign * mass(&fluxes[face]))
    });
    (corrected, more)
}

/// The stress of a cell in the fluxes that are to be constant.
fn stresses_of(laws: &Laws<'_>, fluxes: &[Flux], cell: usize) -> f64 {
    let shear = |flux: &Flux| flux.momentum[1];
    let mass = |flux: &Flux| flux.mass;
    laws.mean(fluxes, shear, cell) - laws.states[cell].velocity[1] * laws.mean(fluxes, mass, cell)
}
