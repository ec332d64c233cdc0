//! Internal energy of molecules that rotate: the third function E of [`rotation`].
//!
//! E streams as the molecules do and meets them in the cells alone. The cell's balance is that of the molecules,
//!
//! ```text
//! E_P = (nu S_E + sum b E_in)/(nu + sum b),     S_E = (d/2) T_r* S_F + k_r.c M,   k_r = 4 Q_r/(n T*)
//! ```
//!
//! and its sums are those of `E - S_E` and the heat flux `<c E>/2`. In the linearised equation the excess b takes the place of E.

use super::plan::{COEFFICIENTS, INTERNAL, Plan};
use super::sums::{Swept, flux};
use crate::bgk::Rotation;
use crate::bgk::rotation::{self, Relaxed};

impl Plan {
    /// The state to which a cell relaxes.
    pub(super) fn relaxed(&self, rotation: &Rotation, x: &[f64], cell: usize) -> Relaxed<6, 3> {
        let at = |k: usize| x[k * self.layout.cells + cell];
        let w = std::array::from_fn(at);
        let e = std::array::from_fn(|k| at(INTERNAL + k));
        rotation::relaxed(rotation, self.linear, &w, &e)
    }

    /// Temperatures of translation and of rotation; in the linear case their perturbations.
    pub(super) fn temperatures(&self, rotation: &Rotation, x: &[f64], cell: usize) -> [f64; 2] {
        let at = |k: usize| x[k * self.layout.cells + cell];
        let w: [f64; 6] = std::array::from_fn(at);
        rotation::temperatures(rotation, self.linear, &w, &[at(INTERNAL)])
    }

    /// The internal energy of a cell at a density and a temperature of rotation.
    pub(super) fn internal_energy(&self, rotation: &Rotation, n: f64, t_r: f64) -> f64 {
        let half = 0.5 * rotation.freedom;
        match self.linear {
            true => half * t_r,
            false => half * n * t_r,
        }
    }

    /// The numbers that a cell's equilibrium is evaluated from.
    pub(super) fn rotating_coefficients(
        &self,
        rotation: &Rotation,
        x: &[f64],
        cell: usize,
    ) -> [f64; COEFFICIENTS] {
        let to = self.relaxed(rotation, x, cell);
        let w = to.molecules;
        let state = match self.linear {
            true => [w[0], w[1], w[2], w[3] / 1.5 - w[0]],
            false => self.state([w[0], w[1], w[2], w[3]]),
        };
        let mut c = self.local(state, [w[4], w[5]].map(|q| 1.6 * q));
        let [e, q_x, q_y] = to.internal;
        let mut own = [e, 4.0 * q_x, 4.0 * q_y];
        if !self.linear {
            let [n, .., t] = state;
            c[6] = self.frequency * n * to.translational.powf(1.0 - self.omega);
            own = [own[0] / n, own[1] / (n * t), own[2] / (n * t)];
        }
        c[8..].copy_from_slice(&own);
        c
    }

    /// The internal energy at the start: that of the temperature.
    pub(super) fn start_internal(&self, x: &mut [f64]) {
        let Some(rotation) = &self.rotation else {
            return;
        };
        let cells = self.layout.cells;
        for cell in 0..cells {
            let [n, _, _, t] = self.primitive(x, cell);
            x[INTERNAL * cells + cell] = self.internal_energy(rotation, n, t);
        }
    }

    /// Adds the flux of internal energy to that of energy, whose balance has both.
    pub(super) fn join_energy(&self, swept: &mut Swept) {
        let Some(rotation) = &self.rotation else {
            return;
        };
        let carried = match self.linear {
            true => 0.25 * rotation.freedom,
            false => 0.0,
        };
        for sums in &mut swept.fluxes {
            sums[flux::ENERGY] += sums[flux::INTERNAL] + carried * sums[flux::MASS];
        }
    }
}
