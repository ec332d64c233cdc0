//! Converged values of the linearised BGK equation and of shock waves, which results are compared with and drawn beside. `docs/bgk.md` and `docs/bgk-steady.md` have
//! them as tables.

use serde::Deserialize;

use crate::bgk::{Gas, Model};

/// Converged values of the linearised BGK equation with full accommodation: delta, Pi, u_wall/U, Q, tau_wall/dT.
pub(super) const TABLE: [[f64; 5]; 3] = [
    [0.1, 0.522325, 0.07292, 0.527607, 0.06954],
    [1.0, 0.338925, 0.25186, 0.361563, 0.23978],
    [10.0, 0.083112, 0.4412, 0.09918, 0.4323],
];

/// Slip and jump coefficients of the BGK equation with full accommodation.
pub(super) const SLIP: f64 = 1.016_19;
pub(super) const JUMP: f64 = 1.302_72;

/// Rarefaction parameter, D, G, and the centre of the vortex: linearised BGK equation.
pub(super) const CAVITIES: [[f64; 4]; 3] = [
    [0.1, 0.6795, 0.09736, 0.6866],
    [1.0, 0.6348, 0.1046, 0.702],
    [10.0, 0.41883, 0.14476, 0.7425],
];

/// y/delta, and u_x/U there on the vertical centre line for delta = 0.1, 1 and 10, to 5e-4.
pub(super) const CENTRE_LINES: [[f64; 4]; 8] = [
    [0.05, -0.0708, -0.0698, -0.0543],
    [0.20, -0.0897, -0.0903, -0.0963],
    [0.35, -0.0874, -0.0928, -0.1248],
    [0.50, -0.0696, -0.0796, -0.1340],
    [0.65, -0.0201, -0.0311, -0.0871],
    [0.75, 0.0450, 0.0385, 0.0098],
    [0.85, 0.1468, 0.1526, 0.1923],
    [0.95, 0.2891, 0.3233, 0.4925],
];

/// Mach number, model, thickness / l0 and least heat flux, omega = 0.74.
pub(super) const SHOCKS: [(f64, Model, f64, f64); 4] = [
    (1.5, Model::Bgk, 4.97108, -0.08009),
    (1.5, Model::Shakhov, 6.01058, -0.10066),
    (3.0, Model::Bgk, 2.3656, -1.9015),
    (3.0, Model::Shakhov, 2.94958, -2.3463),
];

/// Shares of the jumps and heat flux of the same shocks.
const PROFILES: &str = include_str!("known/shocks.csv");

/// A point of a converged profile: shares of the jumps of density and temperature, and the heat flux in rho1 v0^3.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(super) struct Point {
    mach: f64,
    model: Model,
    pub(super) x: f64,
    pub(super) density: f64,
    pub(super) temperature: f64,
    pub(super) heat_flux: f64,
}

/// The converged profile of a shock wave, where it is known: Mach 1.5 and 3, omega = 0.74, and Prandtl number 2/3 of the Shakhov model.
pub(super) fn shock(mach: f64, gas: &Gas) -> Vec<Point> {
    let usual = Gas {
        model: gas.model,
        ..Gas::default()
    };
    if gas.omega != usual.omega || gas.effective_prandtl() != usual.effective_prandtl() {
        return Vec::new();
    }
    let mut table = csv::Reader::from_reader(PROFILES.as_bytes());
    let points = table.deserialize().filter_map(Result::ok);
    points
        .filter(|point: &Point| point.mach == mach && point.model == gas.model)
        .collect()
}

/// The converged u_x/U over y/delta on the vertical centre line of a cavity, where it is known.
pub(super) fn centre_line(delta: f64) -> Option<Vec<(f64, f64)>> {
    let column = CAVITIES.iter().position(|row| row[0] == delta)?;
    let points = CENTRE_LINES.iter().map(|row| (row[0], row[column + 1]));
    Some(points.collect())
}

/// Flows between plates of hard spheres by the collision integral, on velocity grids of 16, 24 and 32 nodes; the error falls as the square of their distance.
const HARD_SPHERES: &str = include_str!("../../../docs/benchmarks/boltzmann-plates.csv");

/// Pi, Q or G of hard spheres, by the command of the flow: extrapolated from the two finest grids, where these resolve the flow.
pub(super) fn hard_spheres(flow: &str, delta: f64) -> Option<f64> {
    #[derive(Deserialize)]
    struct Row {
        flow: String,
        delta: f64,
        hard_spheres_16: Option<f64>,
        hard_spheres_24: Option<f64>,
        hard_spheres_32: Option<f64>,
    }
    let mut table = csv::Reader::from_reader(HARD_SPHERES.as_bytes());
    let mut rows = table.deserialize().filter_map(|row| row.ok());
    let row: Row = rows.find(|row: &Row| row.flow == flow && row.delta == delta)?;
    let found = [
        (16.0, row.hard_spheres_16),
        (24.0, row.hard_spheres_24),
        (32.0, row.hard_spheres_32),
    ];
    let found: Vec<(f64, f64)> = found.iter().filter_map(|&(n, v)| Some((n, v?))).collect();
    let [.., (coarse, before), (fine, last)] = found[..] else {
        return None;
    };
    let squares: [f64; 2] = [coarse * coarse, fine * fine];
    let limit = last + (last - before) * squares[0] / (squares[1] - squares[0]);
    ((limit / last - 1.0).abs() < 0.02).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_spheres_are_known_where_the_grids_resolve_them() {
        // As in the table of docs/flows-boltzmann.md.
        for (flow, delta, value) in [
            ("couette", 1.0, Some(0.34239)),
            ("fourier", 10.0, Some(0.139073)),
            ("poiseuille", 0.1, None),
            ("couette", 2.0, None),
        ] {
            let found = super::hard_spheres(flow, delta);
            let digits = |value: f64| (1e5 * value).round();
            assert_eq!(found.map(digits), value.map(digits), "{flow}, {delta}");
        }
    }

    #[test]
    fn profiles_are_known_of_four_waves() {
        for (mach, model, ..) in SHOCKS {
            let gas = Gas {
                model,
                ..Gas::default()
            };
            let points = shock(mach, &gas);
            assert_eq!(points.len(), 22);
            let middle = points.iter().find(|point| point.x == 0.0);
            assert_eq!(middle.map(|point| point.density), Some(0.5));
            assert!(shock(2.0, &gas).is_empty());
            assert!(shock(mach, &Gas { omega: 0.5, ..gas }).is_empty());
        }
        assert_eq!(centre_line(10.0).map(|line| line[3]), Some((0.5, -0.134)));
        assert!(centre_line(2.0).is_none());
    }
}
