//! Steady flows over the whole range of rarefaction: iterations, values, and the limits of thin and of dense gas.

use serde::Serialize;

use crate::bgk::steady::plates::{Drive, Resolution, free_molecular, plates};
use crate::bgk::steady::{Nodes, Solution, SteadyConfig, SteadyProblem, solve};
use crate::bgk::{Cavity, Gas, Model, Shock, ShockProfile};
use crate::cli::known::{JUMP, SLIP};
use crate::cli::plates::{Flow, Kind};
use crate::cli::steady;
use crate::cli::text::name_of;
use crate::error::Result;
use crate::run::Ending;

/// A steady flow from the start to its end.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RarefactionRow {
    flow: &'static str,
    model: Model,
    /// Rarefaction parameter; of a shock wave, its Mach number.
    delta: f64,
    iterations: usize,
    status: Ending,
    change: f64,
    flux_spread: f64,
    /// Pi, Q, D of the cavity, thickness of the shock wave.
    value: f64,
    /// G of the cavity, least heat flux of the shock wave.
    second: Option<f64>,
    /// The value for dense gas, by slip and jump coefficients.
    slip_limit: Option<f64>,
    /// The value without collisions.
    free_molecular: Option<f64>,
}

impl RarefactionRow {
    fn of(flow: &'static str, model: Model, delta: f64, solution: &Solution, value: f64) -> Self {
        Self {
            flow,
            model,
            delta,
            iterations: solution.residuals.len(),
            status: solution.status,
            change: solution.residuals.last().copied().unwrap_or(f64::NAN),
            flux_spread: solution.flux_spread,
            value,
            second: None,
            slip_limit: None,
            free_molecular: None,
        }
    }

    /// Whether the flow is found.
    pub(super) fn is_done(&self) -> bool {
        self.status.is_done()
    }

    /// The row in a summary.
    pub(super) fn line(&self) -> String {
        format!(
            "{:<8} {:<8} {:>7}  {:>3} {:<12} {:.1e} {:.1e}  {:.8e}",
            self.flow,
            name_of(&self.model),
            self.delta,
            self.iterations,
            name_of(&self.status),
            self.change,
            self.flux_spread,
            self.value
        )
    }
}

/// Rarefaction parameters of the plates and cavities.
const DELTAS: [f64; 8] = [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4];

/// Mach number, l0 upstream and downstream, and velocity nodes.
const WAVES: [(f64, [f64; 2], usize); 6] = [
    (1.2, [60.0, 60.0], 18),
    (1.5, [60.0, 40.0], 21),
    (2.0, [40.0, 20.0], 24),
    (3.0, [40.0, 20.0], 32),
    (5.0, [40.0, 20.0], 49),
    (8.0, [60.0, 20.0], 75),
];

/// All flows by both models; coarser cavities if `quick`.
pub(super) fn rows(quick: bool, config: &SteadyConfig) -> Result<Vec<RarefactionRow>> {
    let mut rows = Vec::new();
    for model in [Model::Bgk, Model::Shakhov] {
        let gas = Gas {
            model,
            ..Gas::default()
        };
        for kind in [Kind::Couette, Kind::Fourier] {
            let flow = Flow {
                kind,
                strength: 1.0,
            };
            let drive = flow.drive();
            for delta in DELTAS {
                let case = plates(delta, drive, gas, 1.0, Resolution::default(), true)?;
                let solution = solve(&case, config)?;
                let found = flow.measure(&solution, None);
                let value = found.map_or(f64::NAN, |found| found.flux);
                let mut row = RarefactionRow::of(flow.command(), model, delta, &solution, value);
                row.slip_limit = (model == Model::Bgk).then(|| match drive {
                    Drive::Couette(_) => 1.0 / (delta + 2.0 * SLIP),
                    Drive::Fourier(_) => 1.25 / (delta + 2.0 * JUMP),
                });
                row.free_molecular = Some(free_molecular());
                rows.push(row);
            }
        }
        let cells = if quick { 16 } else { 40 };
        for delta in &DELTAS[2..] {
            let cavity = Cavity {
                gas,
                ..Cavity::new(*delta, cells, &[8, 8])?
            };
            let mut case = SteadyProblem::from(&cavity.problem()?);
            case.nodes = Nodes::polar(12, 8)?;
            case.linear = true;
            let mut solution = solve(&case, config)?;
            steady::total(&mut solution.cells);
            let found = cavity.results(&solution.cells, &solution.received()[3]);
            let mut row = RarefactionRow::of("cavity", model, *delta, &solution, found.drag_wall);
            row.second = Some(found.flow);
            rows.push(row);
        }
        for (mach, sides, nodes) in WAVES {
            let shock = Shock {
                cells: (10.0 * (sides[0] + sides[1])) as usize,
                sides,
                velocities: vec![nodes],
                gas,
                ..Shock::new(mach)?
            };
            let problem = shock.problem()?;
            let solution = solve(&problem, config)?;
            let profile = ShockProfile::new(shock.mach, &problem.space, &solution.cells)?;
            let mut row = RarefactionRow::of("shock", model, mach, &solution, profile.thickness());
            row.second = Some(profile.extremes().least_heat_flux);
            rows.push(row);
        }
    }
    Ok(rows)
}
