//! Errors of the discretisation of flows: the axes of their grids, the work on a grid, and the quantities.

use super::steady::plates::MAX_CELLS;
use super::{Cavity, CavityResults, ShockProfile};
use crate::accuracy::{Axis, Quantity};
use crate::collision::VelocityGrid;

/// Work of a step in time besides that on its unknowns, in updates of one.
const STEP: f64 = 1e5;
/// Work of the collision integral at a node, in updates of a model.
const INTEGRAL: f64 = 600.0;
/// Iterations of a steady flow: of a model, and around the integral.
const ITERATIONS: [f64; 2] = [20.0, 12.0];
/// Iterations of a flow between plates, about.
const BETWEEN_PLATES: f64 = 15.0;
/// Steps of a run in time that is yet to be made.
pub const STEPS: u64 = 5000;
/// The share of [`crate::accuracy::SECONDS`] that repeats in time may take unasked.
pub const OF_TIME: f64 = 0.1;
/// A repeat in time takes at most so many times the steps of the run.
pub const PATIENCE: u64 = 4;

/// Fewest and most cells along a side of a cavity.
const SIDE: [usize; 2] = [4, 4096];
/// Velocities normal to plates, of either sign.
pub const NORMAL: std::ops::RangeInclusive<usize> = 3..=64;
/// Velocity of the gas at the plates that its error compares with: half of the drive.
const WALL: f64 = 0.5;

/// The axes of a shock wave: cells and velocities.
pub fn axes_of_shock(is_boltzmann: bool) -> Vec<Axis> {
    let most = if is_boltzmann {
        VelocityGrid::MAX_N
    } else {
        1024
    };
    vec![
        Axis::cells(ShockProfile::FEWEST_CELLS..=1_000_000),
        Axis::velocities(Axis::GAUSS, 4..=most, 2),
    ]
}

/// The axes of a cavity: cells along a side, and velocities or, of polar nodes, directions.
pub fn axes_of_cavity(is_boltzmann: bool, is_polar: bool) -> Vec<Axis> {
    let (velocities, order, step) = match (is_boltzmann, is_polar) {
        (true, _) => (4..=VelocityGrid::MAX_N, Axis::MIDPOINTS, 2),
        (false, true) => (2..=1024, Axis::GAUSS, 1),
        (false, false) => (4..=1024, Axis::MIDPOINTS, 2),
    };
    let [fewest, most] = SIDE;
    vec![
        Axis::cells(fewest..=most),
        Axis::velocities(order, velocities, step),
    ]
}

/// The axes of a flow between plates: cells, and velocities normal to them.
pub fn axes_of_plates(is_boltzmann: bool) -> Vec<Axis> {
    let velocities = if is_boltzmann {
        let counts = VelocityGrid::MIN_N..=VelocityGrid::MAX_N;
        Axis::velocities(Axis::MIDPOINTS, counts, 2)
    } else {
        Axis::velocities(Axis::GAUSS, NORMAL, 1)
    };
    vec![Axis::cells(4..=MAX_CELLS), velocities]
}

/// The work of a steady flow of so many unknowns.
pub fn work_of_steady(unknowns: f64, is_boltzmann: bool) -> f64 {
    with_integral(unknowns, is_boltzmann) * ITERATIONS[usize::from(is_boltzmann)]
}

/// The work of so many steps in time.
pub fn work_in_time(unknowns: f64, is_boltzmann: bool, steps: f64) -> f64 {
    steps * (with_integral(unknowns, is_boltzmann) + STEP)
}

fn with_integral(unknowns: f64, is_boltzmann: bool) -> f64 {
    unknowns * if is_boltzmann { INTEGRAL } else { 1.0 }
}

/// The work of a flow between plates. Heat conduction by a model has no velocities along the plates.
pub fn work_of_plates(grid: &[usize], is_boltzmann: bool, is_fourier: bool) -> f64 {
    let [cells, nodes] = [grid[0], grid[1]].map(|count| count as f64);
    let unknowns = match (is_boltzmann, is_fourier) {
        (true, _) => cells * nodes.powi(3) * INTEGRAL,
        (false, true) => 4.0 * cells * nodes,
        (false, false) => 4.0 * cells * nodes * nodes,
    };
    BETWEEN_PLATES * unknowns
}

impl ShockProfile {
    /// The quantities whose errors are estimated.
    pub fn quantities(&self) -> Vec<Quantity> {
        let extremes = self.extremes();
        vec![
            Quantity::new("thickness", self.thickness()),
            Quantity::new("least_heat_flux", extremes.least_heat_flux),
            Quantity::new("largest_temperature", extremes.largest_temperature),
            // A wave may lie anywhere.
            Quantity::new("midpoint", self.midpoint).aside(),
        ]
    }
}

impl Cavity {
    /// The quantities whose errors are estimated.
    pub fn quantities(&self, results: &CavityResults) -> Vec<Quantity> {
        vec![
            Quantity::new("D", results.drag_wall),
            Quantity::new("G", results.flow),
            Quantity::new("vortex_centre", results.centre / self.delta),
            // By its definition it depends on the cells.
            Quantity::new("D_cell", results.drag_cell).aside(),
        ]
    }
}

/// The flux between plates and the gas at them, by their names. Velocity or temperature at driven plates may be near zero; a flow along them is not.
pub fn quantities_of_plates([flux, wall]: [(&str, f64); 2], are_driven: bool) -> Vec<Quantity> {
    let flux = Quantity::new(flux.0, flux.1);
    let wall = Quantity::new(wall.0, wall.1);
    vec![
        flux,
        if are_driven {
            wall.of_scale(WALL)
        } else {
            wall
        },
    ]
}
