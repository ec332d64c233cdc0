//! Gas between plates by two models and by the collision integral of hard spheres, on the same velocities: where do models go wrong?
//!
//! Prints the stress of Couette flow and the heat flux between plates, in units of the tables, and the integrals that each cell took.

use rarefy::bgk::boltzmann::{GapCollisions, PlatesConfig, cross_section};
use rarefy::bgk::steady::plates::Drive;
use rarefy::bgk::{Axis, Gas, Model, VelocitySpace};
use rarefy::collision::{CorrectionMethod, OperatorConfig, Scattering, VelocityGrid};

/// Half-width of the velocity box, and nodes along an axis.
const BOX: f64 = 4.0;
const NODES: usize = 14;

fn model(model: Model) -> rarefy::Result<GapCollisions> {
    let axis = Axis::uniform(NODES, -BOX, BOX)?;
    let velocity = VelocitySpace::new(vec![axis; 3], 2)?;
    // Hard spheres have a viscosity that grows as the root of the temperature.
    let gas = Gas {
        model,
        omega: 0.5,
        ..Gas::default()
    };
    Ok(GapCollisions::Model(gas, velocity))
}

fn hard_spheres() -> rarefy::Result<GapCollisions> {
    Ok(GapCollisions::Integral(OperatorConfig {
        sigma_t: cross_section(Scattering::HardSphere),
        correction: CorrectionMethod::Balanced,
        ..OperatorConfig::spectral(VelocityGrid::new(NODES, -BOX, BOX)?)
    }))
}

fn main() -> rarefy::Result<()> {
    println!("delta,flow,bgk,shakhov,hard_spheres,integrals");
    for delta in [0.1, 1.0, 10.0] {
        for drive in [Drive::Couette(0.1), Drive::Fourier(0.1)] {
            let mut found = Vec::new();
            let mut integrals = 0;
            for collisions in [model(Model::Bgk)?, model(Model::Shakhov)?, hard_spheres()?] {
                let mut config = PlatesConfig::new(delta, drive, collisions);
                config.cells = 24;
                config.tolerance = 1e-5;
                let solution = config.solver()?.solve()?;
                let [left, right, ..] = &solution.exchange;
                found.push(match drive {
                    Drive::Couette(u) => (left[0].shear - right[0].shear) / u,
                    Drive::Fourier(dt) => (right[0].heat - left[0].heat) / dt,
                    _ => f64::NAN,
                });
                integrals = solution.residuals.len();
            }
            let flow = match drive {
                Drive::Couette(_) => "couette",
                _ => "fourier",
            };
            let [bgk, shakhov, spheres] = found[..] else {
                continue;
            };
            println!("{delta},{flow},{bgk:.5},{shakhov:.5},{spheres:.5},{integrals}");
        }
    }
    Ok(())
}
