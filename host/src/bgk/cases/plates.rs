//! Gas between two parallel plates: Couette flow and heat conduction.
//!
//! The plates are at x = -delta/2 and delta/2, so that delta is their distance in units of l0. In Couette flow they slide along y with -U/2 and
//! U/2; in the Fourier problem their temperatures are 1 + dT/2 on the left and 1 - dT/2 on the right.

use serde::{Deserialize, Serialize};

use crate::bgk::steady::{Nodes, SteadyProblem};
use crate::bgk::{Axis, Boundaries, Boundary, Gas, State, VelocitySpace, Wall};
use crate::error::{Error, Result};

/// Cells and velocities between plates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Resolution {
    /// Cells; they crowd towards the plates.
    pub cells: usize,
    /// Normal velocities of either sign: a Gauss rule of the half axis, graded towards 0, for the [temperatures] that the gas reaches.
    pub normal: usize,
    /// Velocities along the plates, a Gauss rule; at least, and equally spaced, where the plates slide fast.
    pub tangential: usize,
}

impl Default for Resolution {
    fn default() -> Self {
        Self {
            cells: 200,
            normal: 20,
            tangential: 8,
        }
    }
}

impl Resolution {
    /// The default, with as many normal velocities as the gas of a drive needs: 20, and more where it is much hotter or colder than the reference state.
    pub fn of(drive: Drive, linear: bool) -> Self {
        Self::between(temperatures(drive, linear))
    }

    /// The default, with as many normal velocities as gas between two temperatures needs.
    pub fn between(range: [f64; 2]) -> Self {
        let usual = Self::default();
        let [cold, hot] = range;
        let wide = (12.0 + 5.4 * (hot / cold).ln()).ceil() as usize;
        let normal = if is_mild(range) {
            usual.normal
        } else {
            usual.normal.max(wide.min(MOST_NORMAL))
        };
        Self { normal, ..usual }
    }
}

/// The drive of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Drive {
    /// Plates that slide with -U/2 and U/2 along y.
    Couette(f64),
    /// Plates with temperatures 1 + dT/2 on the left and 1 - dT/2 on the right.
    Fourier(f64),
}

/// Relative velocity of the plates up to which a Gauss rule about rest serves for the velocities along them.
const GENTLE: f64 = 0.1;

/// Most normal velocities of either sign that are chosen.
const MOST_NORMAL: usize = 64;

/// Temperatures between which a rule of the reference state is right to 5e-6.
const MILD: [f64; 2] = [0.1, 2.2];

fn is_mild([cold, hot]: [f64; 2]) -> bool {
    // A difference of 1.8 has the first of them but for roundoff.
    cold >= MILD[0] * (1.0 - 1e-9) && hot <= MILD[1]
}

/// Bounds of the temperatures that the gas between plates reaches.
///
/// Gas that conducts heat is between its plates in temperature. Gas that shears warms up by the work of the plates: by `Pr U^2/10` where it is dense, and by `U^2/8` where it flies from plate to plate, or the
/// plates mirror most molecules.
pub fn temperatures(drive: Drive, linear: bool) -> [f64; 2] {
    match drive {
        _ if linear => [1.0; 2],
        Drive::Couette(u) => [1.0, 1.0 + 0.125 * u * u],
        Drive::Fourier(dt) => [1.0 - 0.5 * dt.abs(), 1.0 + 0.5 * dt.abs()],
    }
}

/// The velocities normal to plates for gas between two temperatures: the rule of the reference state where it serves.
pub(in crate::bgk) fn normal_velocities(n: usize, range: [f64; 2]) -> Result<Axis> {
    if is_mild(range) {
        Axis::half_range(n, 2)
    } else {
        Axis::half_range_between(n, 2, range)
    }
}

/// About the highest temperature between plates that slide past each other: dissipation adds Pr u^2/10 in the middle, with Pr = 1 at most.
fn hottest(u: f64) -> f64 {
    1.0 + 0.1 * u * u
}

/// Drive of a nonlinear flow below which its effect is roundoff: velocities in v0 and temperatures in T0 have 16 digits.
pub const LEAST_DRIVE: f64 = 1e-8;

/// Most cells between plates.
pub const MAX_CELLS: usize = 100_000;

/// Gas between plates at a distance delta. In the linear case the strength of the drive only scales the result: give 1.
///
/// # Errors
/// A distance, drive or resolution out of range.
pub fn plates(
    delta: f64,
    drive: Drive,
    gas: Gas,
    accommodation: f64,
    resolution: Resolution,
    linear: bool,
) -> Result<SteadyProblem> {
    let walls = walls(delta, drive, resolution.cells, accommodation, linear)?;
    let nodes = nodes(drive, resolution, linear)?;
    if !linear {
        check_nodes(&nodes, &walls, drive, resolution)?;
    }
    if let (Drive::Couette(u), false) = (drive, linear) {
        nodes.check(
            "the gas between plates that slide so fast",
            [0.0; 2],
            hottest(u),
        )?;
    }
    Ok(SteadyProblem {
        linear,
        ..between(walls, delta, resolution.cells, gas, nodes)
    })
}

/// The velocities of a flow.
fn nodes(drive: Drive, resolution: Resolution, linear: bool) -> Result<Nodes> {
    let normal = normal_velocities(resolution.normal, temperatures(drive, linear))?;
    let axes = match drive {
        Drive::Fourier(_) => vec![normal],
        Drive::Couette(u) if !linear && u.abs() > GENTLE => {
            // Molecules of both plates no longer overlap, and the gas between them warms up.
            let reach = 0.5 * u.abs() + 4.8 * hottest(u).sqrt();
            let least = (2.0 * reach / 0.55).ceil() as usize;
            vec![
                normal,
                Axis::uniform(resolution.tangential.max(least), -reach, reach)?,
            ]
        }
        Drive::Couette(_) => vec![normal, Axis::hermite(resolution.tangential)?],
    };
    let flow = axes.len();
    Ok(Nodes::of(&VelocitySpace::new(axes, flow)?))
}

/// Refuses velocities that do not hold the gas of the plates and of the start, and says how many do.
fn check_nodes(
    given: &Nodes,
    walls: &[Wall; 2],
    drive: Drive,
    resolution: Resolution,
) -> Result<()> {
    let states = walls.map(|wall| (wall.velocity, wall.temperature));
    let refused = |nodes: &Nodes| {
        let mut states = states.iter().chain([&([0.0; 2], 1.0)]);
        states.find_map(|&(velocity, temperature)| {
            let found = nodes.matched("the gas at a plate", 1.0, velocity, temperature);
            Some((temperature, found.err()?))
        })
    };
    let Some((temperature, error)) = refused(given) else {
        return Ok(());
    };
    let holds = |normal: &usize| {
        let more = Resolution {
            normal: *normal,
            ..resolution
        };
        nodes(drive, more, false).is_ok_and(|nodes| refused(&nodes).is_none())
    };
    let own = resolution.normal;
    Err(match (own + 1..=MOST_NORMAL).find(holds) {
        Some(enough) => Error::invalid(
            "nodes",
            format!("{own} velocities, too coarse for the gas at temperature {temperature:.4}"),
            format!("{enough} or more normal to the plates"),
        ),
        None => error,
    })
}

/// Gas at rest between walls.
pub(in crate::bgk) fn between(
    [left, right]: [Wall; 2],
    delta: f64,
    cells: usize,
    gas: Gas,
    nodes: Nodes,
) -> SteadyProblem {
    SteadyProblem {
        dimensions: 1,
        widths: [graded(cells, delta), vec![1.0]],
        origin: [-0.5 * delta, 0.0],
        nodes,
        gas,
        boundaries: Boundaries::line(Boundary::Wall(left), Boundary::Wall(right)),
        incoming: Default::default(),
        initial: vec![State::REST; cells],
        linear: false,
        integral: None,
        force: 0.0,
    }
}

/// The plates of a drive.
///
/// # Errors
/// A distance, drive or number of cells out of range.
pub(in crate::bgk) fn walls(
    delta: f64,
    drive: Drive,
    cells: usize,
    accommodation: f64,
    linear: bool,
) -> Result<[Wall; 2]> {
    if !(delta > 0.0 && delta.is_finite()) {
        return Err(Error::invalid(
            "delta",
            delta,
            "a rarefaction parameter: delta must be positive and finite",
        ));
    }
    if !(4..=MAX_CELLS).contains(&cells) {
        return Err(Error::invalid(
            "cells",
            cells,
            format!("4 to {MAX_CELLS} cells between plates"),
        ));
    }
    let (Drive::Couette(strength) | Drive::Fourier(strength)) = drive;
    if !linear && strength != 0.0 && strength.abs() < LEAST_DRIVE {
        return Err(Error::invalid(
            "drive",
            format!("{strength:e}"),
            format!(
                "a drive of at least {LEAST_DRIVE:e}, or the linearised equation: less is lost in the roundoff of a nonlinear flow"
            ),
        ));
    }
    let [left, right] = match drive {
        Drive::Couette(u) => [-0.5, 0.5].map(|share| (1.0, share * u)),
        Drive::Fourier(dt) => [0.5, -0.5].map(|share| (1.0 + share * dt, 0.0)),
    };
    if !(left.0 > 0.0 && right.0 > 0.0 && left.1.is_finite()) {
        return Err(Error::invalid(
            "drive",
            match drive {
                Drive::Couette(u) => u,
                Drive::Fourier(dt) => dt,
            },
            "a finite velocity, or a difference dT of temperatures with |dT| < 2: 1 + dT/2 and 1 - dT/2 are positive",
        ));
    }
    Ok([left, right].map(|(temperature, velocity)| Wall {
        temperature,
        velocity: [0.0, velocity],
        accommodation,
    }))
}

/// Widths of cells that crowd towards both ends: the profiles have an infinite slope there, like x ln x.
pub fn graded(cells: usize, length: f64) -> Vec<f64> {
    let edge = |k: usize| {
        let s = k as f64 / cells as f64;
        // The widths are integrals of 30 s^2 (1-s)^2; near s = 1 by symmetry, to lose no digits.
        s * s * s * (10.0 - s * (15.0 - 6.0 * s))
    };
    (0..cells)
        .map(|k| {
            let k = k.min(cells - 1 - k);
            length * (edge(k + 1) - edge(k))
        })
        .collect()
}

/// Without collisions: the stress Pi of Couette flow and the flux Q of heat conduction, both linearised, 1/sqrt(pi).
pub fn free_molecular() -> f64 {
    std::f64::consts::PI.sqrt().recip()
}
