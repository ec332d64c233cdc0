//! Errors of the discretisation of flows: the axes of their grids, the work on a grid, and the quantities.

use super::boltzmann::ShockWave;
use super::steady::plates::MAX_CELLS;
use super::{Cavity, CavityResults, Shock, ShockProfile};
use crate::accuracy::{Axis, EXTENT, Quantity, extent, scaled};
use crate::collision::VelocityGrid;
use crate::error::{Error, Result};

/// Work of a step in time besides that on its unknowns, in updates of one: some 80 us of a CPU.
const STEP: f64 = 2e4;
/// Work of the collision integral at a node, in updates of a model.
const INTEGRAL: f64 = 600.0;
/// Iterations of a steady flow: of a model, and around the integral.
const ITERATIONS: [f64; 2] = [20.0, 12.0];
/// Iterations of a flow between plates, about.
const BETWEEN_PLATES: f64 = 15.0;
/// Steps of a run in time that is yet to be made.
pub const STEPS: u64 = 5000;
/// A repeat in time takes at most so many times the steps of the run.
pub const PATIENCE: u64 = 4;

/// Order of the length of a domain that is believed: the tails of a wave fall more slowly than those of a Maxwellian.
const LENGTH: f64 = 4.0;
/// Fewest velocities along an axis of a box.
const IN_BOX: usize = 4;
/// Fewest and most cells along a side of a cavity.
const SIDE: [usize; 2] = [4, 4096];
/// Velocities normal to plates, of either sign.
pub const NORMAL: std::ops::RangeInclusive<usize> = 3..=64;
/// Velocity of the gas at the plates that its error compares with: half of the drive.
const WALL: f64 = 0.5;

/// The velocities of a box that has so many parts of its usual extent, and its width as a share of the usual one. Their spacing stays, and whether one of them is at rest.
///
/// # Errors
/// A box of fewer than 4 velocities.
pub fn in_box(counts: &[usize], extent: usize) -> Result<(Vec<usize>, f64)> {
    let Some(&first) = counts.first().filter(|_| extent != EXTENT) else {
        return Ok((counts.to_vec(), 1.0));
    };
    let change = 2 * (first * extent.abs_diff(EXTENT)).div_ceil(2 * EXTENT);
    let nodes = match extent < EXTENT {
        true => first.saturating_sub(change),
        false => first + change,
    };
    if nodes < IN_BOX {
        return Err(Error::invalid(
            "velocities",
            nodes,
            format!("{IN_BOX} velocities or more along an axis"),
        ));
    }
    let share = nodes as f64 / first as f64;
    Ok((scaled(counts, nodes, 2, IN_BOX), share))
}

/// Cells of a domain that has so many parts of its usual length, and its length as a share of the usual one. Their width stays.
pub fn in_length(cells: usize, extent: usize) -> (usize, f64) {
    let count = (cells * extent).div_ceil(EXTENT);
    (count, count as f64 / cells.max(1) as f64)
}

/// The axis of the box of velocities.
fn box_of_velocities() -> Axis {
    extent("box", false)
}

/// The axes of a shock wave: cells, velocities, the box of those, and the length of the domain.
pub fn axes_of_shock(is_boltzmann: bool) -> Vec<Axis> {
    let most = if is_boltzmann {
        VelocityGrid::MAX_N
    } else {
        1024
    };
    vec![
        Axis::cells(ShockProfile::FEWEST_CELLS..=1_000_000),
        Axis::velocities(Axis::GAUSS, 4..=most, 2),
        box_of_velocities(),
        Axis {
            order: LENGTH,
            ..extent("length", false)
        },
    ]
}

/// The axes of a cavity: cells along a side, velocities or, of polar nodes, directions, and the box of velocities that have one.
pub fn axes_of_cavity(is_boltzmann: bool, is_polar: bool, is_in_box: bool) -> Vec<Axis> {
    let (velocities, order, step) = match (is_boltzmann, is_polar) {
        (true, _) => (4..=VelocityGrid::MAX_N, Axis::MIDPOINTS, 2),
        (false, true) => (2..=1024, Axis::GAUSS, 1),
        (false, false) => (4..=1024, Axis::MIDPOINTS, 2),
    };
    let [fewest, most] = SIDE;
    let mut axes = vec![
        Axis::cells(fewest..=most),
        Axis::velocities(order, velocities, step),
    ];
    axes.extend(is_in_box.then(box_of_velocities));
    axes
}

/// The axes of a flow between plates: cells, velocities normal to them, and the box of those of the collision integral.
pub fn axes_of_plates(is_boltzmann: bool) -> Vec<Axis> {
    let velocities = if is_boltzmann {
        let counts = VelocityGrid::MIN_N..=VelocityGrid::MAX_N;
        Axis::velocities(Axis::MIDPOINTS, counts, 2)
    } else {
        Axis::velocities(Axis::GAUSS, NORMAL, 1)
    };
    let mut axes = vec![Axis::cells(4..=MAX_CELLS), velocities];
    axes.extend(is_boltzmann.then(box_of_velocities));
    axes
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
    let [cells, mut nodes] = [grid[0], grid[1]].map(|count| count as f64);
    if let Some(extent) = grid.get(2) {
        nodes *= *extent as f64 / EXTENT as f64;
    }
    let unknowns = match (is_boltzmann, is_fourier) {
        (true, _) => cells * nodes.powi(3) * INTEGRAL,
        (false, true) => 4.0 * cells * nodes,
        (false, false) => 4.0 * cells * nodes * nodes,
    };
    BETWEEN_PLATES * unknowns
}

impl Shock {
    /// The same wave on a grid of so many cells and velocities, whose box and length have so many parts of the usual ones; with these the spacing stays.
    ///
    /// # Errors
    /// As [`in_box`].
    pub fn on_grid(&self, [cells, nodes, extent, length]: [usize; 4]) -> Result<Self> {
        let counts = scaled(&self.velocities, nodes, 2, 4);
        let (velocities, wider) = in_box(&counts, extent)?;
        let (cells, longer) = in_length(cells, length);
        let width = |cut: f64| {
            let [low, high] = self.range(cut);
            high - low
        };
        Ok(Self {
            cells,
            sides: self.sides.map(|side| longer * side),
            velocities,
            cut: scaled_cut(width, self.cut, wider),
            ..self.clone()
        })
    }
}

impl ShockWave {
    /// The same wave on a grid of so many cells and velocities, whose box and length have so many parts of the usual ones; with these the spacing stays.
    ///
    /// # Errors
    /// As [`in_box`].
    pub fn on_grid(&self, [cells, nodes, extent, length]: [usize; 4]) -> Result<Self> {
        let (velocities, wider) = in_box(&[nodes], extent)?;
        let (cells, longer) = in_length(cells, length);
        let width = |cut: f64| Self::half_width(self.mach, cut);
        Ok(Self {
            cells,
            sides: self.sides.map(|side| longer * side),
            velocities: velocities[0],
            cut: scaled_cut(width, self.cut, wider),
            ..self.clone()
        })
    }
}

/// The half-width whose box is so much wider than that of `cut`, by bisection.
fn scaled_cut(width: impl Fn(f64) -> f64, cut: f64, wider: f64) -> f64 {
    if wider == 1.0 {
        return cut;
    }
    let wanted = wider * width(cut);
    // The mean velocities of both sides have their distance in any box.
    let [mut low, mut high] = [0.0, 2.0 * wider.max(1.0) * cut];
    while width(high) < wanted {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if width(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
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
