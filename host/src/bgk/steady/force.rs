//! A force along the plates of a line: its momentum and energy, the flow rate, and around the collision integral its effect on f.
//!
//! Around the integral it acts on the local Maxwellian: `a df/dv_y = -2 a (v_y - u_y)/T M`, which is exact to first order. On the nodes it brings no mass and the momentum `a n`, both exactly.
//! The sweeps of the [models](super::forced) are exact at any strength.

use rayon::prelude::*;

use super::plan::{COEFFICIENTS, FUNCTIONS, Plan};
use super::sums::{Swept, flux};

/// Effect of the force on the gas of a cell: `factor (v_y - drift) M` at each node.
pub(super) struct Push {
    pub(super) factor: f64,
    pub(super) drift: f64,
    /// The numbers that M is evaluated from.
    maxwellian: [f64; COEFFICIENTS],
    /// Momentum and energy that the force brings into a unit of space and time.
    pub(super) brought: [f64; 2],
}

impl Plan {
    /// The effect on each cell; nothing without a force.
    pub(super) fn pushes(&self, x: &[f64]) -> Vec<Push> {
        let cells = if self.force == 0.0 {
            0
        } else {
            self.layout.cells
        };
        let cells = (0..cells).into_par_iter();
        cells.map(|cell| self.push(x, cell)).collect()
    }

    fn push(&self, x: &[f64], cell: usize) -> Push {
        let state = self.primitive(x, cell);
        let maxwellian = self.local(state, [0.0; 2]);
        // Sums over 1, v_y, v_y^2, and over the energy and its product with v_y.
        let mut sums = [0.0; 5];
        for (node, &[vx, vy, vz2, w]) in self.nodes.iter().enumerate() {
            let [first, second, _] = self.equilibrium(&maxwellian, node).map(|f| w * f);
            let energy = 0.5 * ((vx * vx + vy * vy + vz2) * first + second);
            let terms = [first, vy * first, vy * vy * first, energy, vy * energy];
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += term;
            }
        }
        let [mass, momentum, stress, energy, flux] = sums;
        let drift = momentum / mass;
        let brought = self.force * state[0];
        let factor = brought / (stress - drift * momentum);
        Push {
            factor,
            drift,
            maxwellian,
            brought: [brought, factor * (flux - drift * energy)],
        }
    }

    /// The effect at a node.
    pub(super) fn pushed(&self, push: &Push, node: usize) -> [f64; FUNCTIONS] {
        let speed = push.factor * (self.nodes[node][1] - push.drift);
        self.equilibrium(&push.maxwellian, node).map(|f| speed * f)
    }

    /// Takes what a force brings in on the way off the fluxes: those of a steady flow are then constant.
    pub(super) fn without_force(&self, swept: &mut Swept) {
        let mut all = [0.0; 2];
        for (cell, brought) in swept.brought.iter().enumerate() {
            let [momentum, energy] = brought.map(|part| self.widths[0][cell] * part);
            swept.built.push(all[0] + 0.5 * momentum);
            all = [all[0] + momentum, all[1] + energy];
            let fluxes = &mut swept.fluxes[cell + 1];
            fluxes[flux::SHEAR] -= all[0];
            fluxes[flux::ENERGY] -= all[1];
        }
    }

    /// The reduced flow rate along a channel, `G = u / (a delta)` with the mean velocity u.
    ///
    /// The values of a cell are the means of those of its faces, which exceed its own mean by `h^2 w''/12`. The curvature is that of the parabola through three cells.
    pub(super) fn flow_rate(&self, x: &[f64]) -> f64 {
        let (cells, widths) = (self.layout.cells, &self.widths[0]);
        let momentum = &x[2 * cells..3 * cells];
        let curvature = |cell: usize| {
            let i = cell.clamp(1, cells - 2);
            let slope =
                |i: usize| 2.0 * (momentum[i + 1] - momentum[i]) / (widths[i] + widths[i + 1]);
            2.0 * (slope(i) - slope(i - 1)) / (0.5 * (widths[i - 1] + widths[i + 1]) + widths[i])
        };
        let flow: f64 = (0..cells)
            .map(|i| widths[i] * (momentum[i] - widths[i].powi(2) / 12.0 * curvature(i)))
            .sum();
        let delta: f64 = widths.iter().sum();
        flow / (delta * delta * self.force)
    }
}
