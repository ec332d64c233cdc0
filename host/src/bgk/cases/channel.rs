//! The velocities of gas that a force drives along a channel.
//!
//! A strong force heats the gas by its friction at the plates, by how much is known after the flow alone. A coarse solution finds it.

use super::plates::{Drive, Resolution, between, normal_velocities, walls};
use crate::bgk::steady::{Nodes, SteadyConfig, SteadySolver};
use crate::bgk::{Axis, Gas, VelocitySpace};
use crate::compute::Backend;
use crate::error::{Error, Result};

/// Estimated rise of the temperature up to which it is not computed.
const GENTLE: f64 = 0.3;
/// Cells and normal velocities of the coarse solution, its change at the end and its most iterations.
const CELLS: usize = 40;
const NORMAL: usize = 24;
const TOLERANCE: f64 = 1e-3;
const ITERATIONS: usize = 200;
/// Largest share of the temperature that its nodes hold, and by how much they exceed it.
const ROOM: f64 = 1.25;
/// Most attempts; each holds gas that is several times hotter.
const ATTEMPTS: usize = 12;

/// Error of the flow along a channel by velocities that are too few: those that are not given have at most half of it.
pub const TOLERATED: f64 = 2e-3;

/// Fall of the pressure along a width of the channel over p0 that is not given: the flow is linear in it to 1e-4. In dense gas the stress is then at most a tenth of p0; in thin gas few
/// molecules fly far along the channel.
pub fn gradient(delta: f64) -> f64 {
    0.01_f64.min(0.1 / delta).min(0.07 * delta.sqrt())
}

/// The resolution that is not given: molecules that fly along a thin channel decide its flow rate.
///
/// # Errors
/// As [`temperatures`].
pub fn resolution(delta: f64, force: f64, gas: Gas) -> Result<Resolution> {
    let hot = Resolution::between(temperatures(delta, force, gas)?);
    let resolves = |normal: &usize| {
        Axis::half_range(*normal, 2)
            .is_ok_and(|axis| axis.channel_flow_error(delta).abs() < 0.5 * TOLERATED)
    };
    let thin = [20, 32, 48].into_iter().find(resolves).unwrap_or(64);
    Ok(Resolution {
        normal: thin.max(hot.normal),
        ..hot
    })
}

/// Bounds of the temperatures that gas reaches between plates at rest under a [force](crate::bgk::steady::SteadyProblem::force).
///
/// # Errors
/// A distance or gas out of range; a force so strong that the coarse solution finds no steady flow.
pub fn temperatures(delta: f64, force: f64, gas: Gas) -> Result<[f64; 2]> {
    // The mean velocity of the slipping and of the thin gas, per unit of 2 a delta.
    let flow_rate = delta / 6.0 + 1.0 + (1.0 / delta).ln_1p();
    if (force * delta * flow_rate).powi(2) <= GENTLE {
        return Ok([1.0; 2]);
    }
    let mut held = 2.0;
    for _ in 0..ATTEMPTS {
        let reached = ROOM * hottest(delta, force, gas, held)?;
        if reached <= held {
            return Ok([1.0, reached.max(1.0)]);
        }
        held = ROOM * reached;
    }
    Err(Error::Numerical(format!(
        "no velocities hold the gas of a channel under the force {force}: use a weaker force"
    )))
}

/// The highest temperature of a coarse solution on nodes that hold gas up to `held`.
fn hottest(delta: f64, force: f64, gas: Gas, held: f64) -> Result<f64> {
    let walls = walls(delta, Drive::Couette(0.0), CELLS, 1.0, false)?;
    let axes = vec![
        Axis::half_range_between(NORMAL, 2, [1.0, held])?,
        Axis::hermite(4)?,
    ];
    let nodes = Nodes::of(&VelocitySpace::new(axes, 2)?);
    let mut problem = between(walls, delta, CELLS, gas, nodes);
    problem.force = force;
    let config = SteadyConfig {
        rtol: Some(TOLERANCE),
        iterations: ITERATIONS,
        compute: Backend::Cpu.into(),
        ..SteadyConfig::default()
    };
    let solution = SteadySolver::new(problem, &config)?.solve()?;
    let temperatures = solution.cells.iter().map(|cell| cell.temperature);
    // Friction heats the translation of molecules first.
    let rotating = solution.rotation.iter();
    let translational = rotating.map(|cell| cell.temperature_translational);
    Ok(temperatures.chain(translational).fold(1.0, f64::max))
}

/// The velocities normal to the plates and along them that hold the gas under a force.
///
/// # Errors
/// As [`temperatures`]; a resolution out of range.
pub fn velocities(
    delta: f64,
    force: f64,
    gas: Gas,
    resolution: Resolution,
) -> Result<VelocitySpace> {
    let range = temperatures(delta, force, gas)?;
    let axes = vec![
        normal_velocities(resolution.normal, range)?,
        Axis::hermite(resolution.tangential)?,
    ];
    VelocitySpace::new(axes, 2)
}
