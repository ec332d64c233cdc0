//! What storage in 16 bits costs in accuracy: a shock wave and a cavity in time, against the same steps in f64.

use serde::Serialize;

use crate::backend::{Backend, Precision};
use crate::bgk::{
    Axis, Cavity, CavityResults, Moments, Scheme, Shock, ShockProfile, Simulation,
    SimulationConfig, Storage,
};
use crate::error::Result;

/// Differences of a run from the one in f64 after the same number of steps.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StorageRow {
    flow: &'static str,
    storage: &'static str,
    dt: f64,
    steps: u64,
    /// Largest difference of the density: a shock's as a share of the jump, from the midpoint on; a cavity's in units of the lid's speed.
    density: f64,
    /// The same of the temperature.
    temperature: f64,
    /// Of the heat flux, as a share of its largest value.
    heat_flux: f64,
    /// Of the drag D and the flow rate G of a cavity, as shares of themselves.
    drag: Option<f64>,
    flow_rate: Option<f64>,
    /// Change of the mass since the start, as a share of itself; a shock's ends are open.
    mass_drift: Option<f64>,
}

/// What is stored: name, precision, storage.
const KINDS: [(&str, Precision, Storage); 3] = [
    ("f64", Precision::F64, Storage::Full),
    ("f32", Precision::F32, Storage::Full),
    ("16 bits", Precision::F32, Storage::Bits16),
];

/// What is looked at in a run.
struct Look {
    moments: Vec<Moments>,
    results: Option<CavityResults>,
    mass: f64,
}

/// The table; nothing where the backend has no such storage.
pub(super) fn rows(backend: Backend, quick: bool) -> Result<Vec<StorageRow>> {
    let mut rows = Vec::new();
    if backend == Backend::Reference {
        return Ok(rows);
    }
    let run = |config: &SimulationConfig, cavity: Option<&Cavity>, looks: [u64; 2]| {
        let mut simulation = Simulation::new(config.clone())?;
        let mut seen = Vec::new();
        for steps in looks {
            simulation.advance(steps - simulation.steps_taken())?;
            let moments = simulation.moments()?;
            let lid = simulation.face_fluxes()?[3];
            let results = cavity.map(|cavity| cavity.results(&moments, &lid));
            let mass = moments.iter().map(|m| m.density).sum();
            seen.push(Look {
                moments,
                results,
                mass,
            });
        }
        Ok::<_, crate::error::Error>(seen)
    };

    let shock = Shock {
        cells: 300,
        sides: [20.0, 10.0],
        velocities: vec![52],
        ..Shock::new(3.0)?
    };
    let (space, mach) = (shock.problem()?.space, shock.mach);
    let all = [(0.05, [100, 2000]), (0.01, [500, 10_000])];
    let few = [(0.05, [50, 300])];
    for &(dt, looks) in if quick { &few[..] } else { &all } {
        let mut exact: Vec<ShockProfile> = Vec::new();
        for (storage, precision, kept) in KINDS {
            let config = SimulationConfig {
                precision,
                storage: kept,
                backend,
                ..SimulationConfig::new(shock.problem()?, dt)
            };
            for (k, look) in run(&config, None, looks)?.iter().enumerate() {
                let profile = ShockProfile::new(mach, &space, &look.moments)?;
                if precision == Precision::F64 {
                    exact.push(profile);
                    continue;
                }
                let mut most = [0.0_f64; 3];
                for i in -80..=40 {
                    let x = 0.1 * f64::from(i);
                    let (found, known) = (profile.at(x), exact[k].at(x));
                    for ((most, found), known) in most.iter_mut().zip(found).zip(known) {
                        *most = most.max((found - known).abs());
                    }
                }
                rows.push(StorageRow {
                    flow: "shock wave, Ma = 3",
                    storage,
                    dt,
                    steps: looks[k],
                    density: most[0],
                    temperature: most[1],
                    heat_flux: most[2] / exact[k].extremes().least_heat_flux.abs(),
                    drag: None,
                    flow_rate: None,
                    mass_drift: None,
                });
            }
        }
    }

    let (cells, looks) = if quick {
        (12, [20, 200])
    } else {
        (32, [200, 1500])
    };
    let axes = vec![Axis::half_range(8, 1)?; 2];
    let cavity = Cavity::with_axes(1.0, cells, axes)?;
    let dt = cavity.time_step();
    let mut exact: Vec<Look> = Vec::new();
    let start = f64::from(cells as u32).powi(2);
    for (storage, precision, kept) in KINDS {
        let config = SimulationConfig {
            scheme: Scheme::VanLeer,
            relaxed: false,
            precision,
            storage: kept,
            backend,
            ..SimulationConfig::new(cavity.problem()?, dt)
        };
        let seen = run(&config, Some(&cavity), looks)?;
        if precision == Precision::F64 {
            exact = seen;
            continue;
        }
        for ((look, exact), steps) in seen.iter().zip(&exact).zip(looks) {
            let most = |of: &dyn Fn(&Moments) -> f64| {
                let pairs = look.moments.iter().zip(&exact.moments);
                pairs.fold(0.0, |most: f64, (a, b)| most.max((of(a) - of(b)).abs()))
            };
            let heat = exact.moments.iter().flat_map(|m| m.heat_flux);
            let heat = heat.fold(0.0, |most: f64, q| most.max(q.abs()));
            let share = |of: fn(&CavityResults) -> f64| {
                let (found, known) = (look.results.as_ref()?, exact.results.as_ref()?);
                Some((of(found) / of(known) - 1.0).abs())
            };
            rows.push(StorageRow {
                flow: "cavity, delta = 1",
                storage,
                dt,
                steps,
                density: most(&|m| m.density) / cavity.lid,
                temperature: most(&|m| m.temperature) / cavity.lid,
                heat_flux: most(&|m| m.heat_flux[0]).max(most(&|m| m.heat_flux[1])) / heat,
                drag: share(|r| r.drag_wall),
                flow_rate: share(|r| r.flow),
                mass_drift: Some((look.mass / start - 1.0).abs()),
            });
        }
    }
    Ok(rows)
}

/// The table for people.
pub(super) fn summary(rows: &[StorageRow]) -> Vec<String> {
    let mut lines = vec![String::new(), "Storage: flow, bits, steps, differences of density, temperature, heat flux, D and G from f64, drift of the mass".to_owned()];
    for row in rows {
        let share = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.1e}"));
        lines.push(format!(
            "{:<18}  {:<7}  {:>5} of {:.4}   {:.1e} {:.1e} {:.1e}   {} {}   {}",
            row.flow,
            row.storage,
            row.steps,
            row.dt,
            row.density,
            row.temperature,
            row.heat_flux,
            share(row.drag),
            share(row.flow_rate),
            share(row.mass_drift)
        ));
    }
    lines
}
