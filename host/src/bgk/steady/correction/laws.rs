//! Transport in the corrections on a line, and the change of a cell by them.

use crate::bgk::steady::plan::Plan;

/// Viscosity and heat conductivity of the model at a temperature.
pub(super) fn transport(plan: &Plan, temperature: f64) -> [f64; 2] {
    let factor = if plan.linear {
        1.0
    } else {
        temperature.powf(plan.omega)
    };
    [
        factor / (2.0 * plan.frequency),
        5.0 * factor / (8.0 * plan.prandtl * plan.frequency),
    ]
}

/// Change of the heat flux by a relaxation that the closure does not contain: with the Shakhov model the heat flux of S follows that of f.
pub(super) fn lag(plan: &Plan, x: &[f64], y: &[f64], component: usize, cell: usize) -> f64 {
    if !plan.shakhov || plan.rotation.is_some() {
        return 0.0;
    }
    let at = component * plan.layout.cells + cell;
    plan.heat_lag * (y[at] - x[at])
}

impl Plan {
    /// Adds to density, velocity and temperature of a cell (to their perturbations in the linear case).
    pub(super) fn add_primitive(&self, y: &mut [f64], cell: usize, change: [f64; 4]) {
        let cells = self.layout.cells;
        let old = self.primitive(y, cell);
        let [n, ux, uy, t] = std::array::from_fn(|k| old[k] + change[k]);
        let values = if self.linear {
            [n, ux, uy, 1.5 * (n + t)]
        } else {
            [n, n * ux, n * uy, n * (ux * ux + uy * uy + 1.5 * t)]
        };
        for (k, value) in values.into_iter().enumerate() {
            y[k * cells + cell] = value;
        }
    }
}
