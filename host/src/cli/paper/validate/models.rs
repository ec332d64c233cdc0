//! The models and the collision integral between plates: where the choice of a model shows.

use serde::Serialize;

use crate::bgk::boltzmann::{GapCollisions, PlatesConfig};
use crate::bgk::steady::plates::{Resolution, plates};
use crate::bgk::steady::{SteadyConfig, solve};
use crate::bgk::{Axis, Gas, Model, VelocitySpace};
use crate::cli::known::hard_spheres;
use crate::cli::plates::{Flow, Kind};
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use crate::error::{Error, Result};

/// Rarefaction parameters.
const DELTAS: [f64; 9] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0];

/// Viscosity of hard spheres in that of the first approximation, their thermal conductivity in units of k0 = 5/2 R mu0 rho0 v0, and lengths of slip and jump in l0. T. Ohwada, Y. Sone and
/// K. Aoki, Phys. Fluids A 1 (1989) 1588; Y. Sone, T. Ohwada and K. Aoki, ibid. 363: `0.8 gamma1`, `gamma2`, `-0.8 k0`, `0.8 d1`.
const VISCOSITY: f64 = 0.8 * 1.270_042;
const CONDUCTIVITY: f64 = 1.922_284;
const SLIP: f64 = 0.8 * 1.254_0;
const JUMP: f64 = 0.8 * 2.400_1;

/// A flow between plates: Pi of Couette flow, Q of heat conduction, G of Poiseuille flow.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ModelsRow {
    flow: &'static str,
    delta: f64,
    bgk: f64,
    shakhov: f64,
    /// By the collision integral, where it is known.
    hard_spheres: Option<f64>,
    /// By the published slip or jump of hard spheres, in thick gas.
    hard_spheres_slip: Option<f64>,
}

/// All flows; on coarser grids if `quick`.
pub(super) fn rows(quick: bool, config: &SteadyConfig) -> Result<Vec<ModelsRow>> {
    let mut rows = Vec::new();
    for kind in [Kind::Couette, Kind::Fourier, Kind::Poiseuille] {
        let deltas = DELTAS.iter().copied();
        let thick = if kind == Kind::Poiseuille { 20.0 } else { 5.0 };
        for delta in deltas.filter(|delta| !quick || [0.1, 1.0, 10.0].contains(delta)) {
            let [bgk, shakhov] = [Model::Bgk, Model::Shakhov].map(|model| {
                let gas = Gas {
                    model,
                    ..Gas::default()
                };
                match kind {
                    Kind::Poiseuille => flow_rate(delta, gas, quick),
                    _ => flux(kind, delta, gas, config),
                }
            });
            let flow = Flow {
                kind,
                strength: 1.0,
            };
            rows.push(ModelsRow {
                flow: flow.command(),
                delta,
                bgk: bgk?,
                shakhov: shakhov?,
                hard_spheres: hard_spheres(flow.command(), delta),
                // The next term of the flow rate falls as 1/delta only.
                hard_spheres_slip: (delta >= thick).then(|| match kind {
                    Kind::Couette => VISCOSITY / (delta + 2.0 * SLIP),
                    Kind::Fourier => CONDUCTIVITY / (delta + 2.0 * JUMP),
                    Kind::Poiseuille => (delta / 6.0 + SLIP) / VISCOSITY,
                }),
            });
        }
    }
    Ok(rows)
}

/// Stress or heat flux of the linearised equation.
fn flux(kind: Kind, delta: f64, gas: Gas, config: &SteadyConfig) -> Result<f64> {
    let flow = Flow {
        kind,
        strength: 1.0,
    };
    let case = plates(delta, flow.drive(), gas, 1.0, Resolution::default(), true)?;
    let solution = solve(&case, config)?;
    let found = flow.measure(&solution, None);
    found.map(|found| found.flux).ok_or_else(exchanged_nothing)
}

/// Flow rate along a channel by a weak force.
fn flow_rate(delta: f64, gas: Gas, quick: bool) -> Result<f64> {
    let flow = Flow {
        kind: Kind::Poiseuille,
        strength: 1e-3,
    };
    let axes = vec![Axis::half_range(20, 2)?, Axis::hermite(8)?];
    let collisions = GapCollisions::Model(gas, VelocitySpace::new(axes, 2)?);
    let mut config = PlatesConfig::new(delta, flow.drive(), collisions);
    config.force = flow.force(delta);
    config.cells = if quick { 40 } else { 100 };
    config.tolerance = 1e-8;
    config.iterations = 1000;
    let mut solver = config.solver()?;
    solver.advance(config.iterations)?;
    solver.flow_rate().ok_or_else(exchanged_nothing)
}

fn exchanged_nothing() -> Error {
    Error::Numerical("the plates exchanged nothing".into())
}

/// All results in those of BGK.
pub(super) fn figure(rows: &[ModelsRow]) -> Figure {
    let panel = |flow: &str, label: &str| {
        let points = |of: &dyn Fn(&ModelsRow) -> Option<f64>| -> Vec<(f64, f64)> {
            let rows = rows.iter().filter(|row| row.flow == flow);
            rows.filter_map(|row| Some((row.delta, of(row)? / row.bgk)))
                .collect()
        };
        let curves = vec![
            Curve::new("BGK", points(&|row| Some(row.bgk)), COLOURS[0]),
            Curve::new("Shakhov", points(&|row| Some(row.shakhov)), COLOURS[1]),
            Curve::new(
                "hard spheres, published slip",
                points(&|row| row.hard_spheres_slip),
                COLOURS[2],
            )
            .stroke(Stroke::Dashed),
            Curve::new(
                "hard spheres, Boltzmann",
                points(&|row| row.hard_spheres),
                COLOURS[2],
            )
            .stroke(Stroke::Points),
        ];
        Panel::new("rarefaction parameter \u{3b4}", label, curves).logarithmic_across()
    };
    Figure {
        title: "Flows between plates, each result over that of BGK".into(),
        panels: vec![
            panel("couette", "Couette flow: stress Pi / BGK"),
            panel("fourier", "heat conduction: heat flux Q / BGK"),
            panel("poiseuille", "Poiseuille flow: flow rate G / BGK"),
        ],
    }
}
