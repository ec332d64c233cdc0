//! Operations of a backend on a flow, and the passes of its streaming.

use std::ops::Range;

use rarefy_kernels::boltzmann::{Lines, end, write};

use super::config::{FlowConfig, Stepping, maxwellian};
use crate::bgk::{Boundary, Courant, Scheme};
use crate::collision::CellStage;
use crate::error::{Error, Result};
use crate::memory_plan::bytes_of;

/// Distributions of the cells of a flow on some machine, and the means to move them on in time. Between calls they are those after collisions.
pub(super) trait Engine: Send {
    /// The machine in words.
    fn describe(&self) -> String;
    /// Takes so many time steps.
    fn advance(&mut self, steps: u64) -> Result<()>;
    /// Most steps of one call: one where work may end within a step.
    fn at_once(&self) -> u64 {
        u64::MAX
    }
    /// The values of its cells among those of all.
    fn own(&self) -> Range<usize>;
    /// The distributions of its cells, `[cell][ix][iy][iz]`.
    fn distributions(&mut self) -> Result<Vec<f64>>;
    /// The [`CELL_WORDS`](rarefy_kernels::boltzmann::CELL_WORDS) of each of its cells: sums of f, f v and f |v|^2, v being the velocity from the centre of the box, the least and the largest value.
    fn sums(&mut self) -> Result<Vec<f64>>;
    /// Replaces the distributions.
    fn restore(&mut self, f: &[f64]) -> Result<()>;
}

/// The remedy where memory is short.
pub(super) const FEWER: &str = "use fewer cells in space or velocity, or more ranks";

/// So many copies of a flow's distributions in words, and their bytes.
///
/// # Errors
/// More values than a rank counts.
pub(super) fn copies(config: &FlowConfig, copies: u64) -> Result<(String, u64)> {
    let (cells, nodes) = (config.space.cells(), config.operator.grid.cells());
    let values = (cells as u64).saturating_mul(nodes as u64);
    if u32::try_from(values).is_err() {
        return Err(Error::invalid(
            "space",
            format!("{cells} cells with {nodes} velocities each"),
            "at most 2^32 values of a rank; use fewer, or more ranks",
        ));
    }
    Ok((
        format!("{copies} times the distributions of {cells} cells with {nodes} velocities"),
        bytes_of::<f64>(values.saturating_mul(copies)),
    ))
}

/// The shift of the molecules of one velocity along the lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub(super) forward: bool,
    /// Whole cells passed, and the fraction left over; for rates the cells passed in a unit of time.
    pub(super) whole: usize,
    pub(super) fraction: f64,
    /// The share of half a slope that passes.
    pub(super) rest: f64,
}

/// The pass along one direction of space.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    pub(super) lines: Lines,
    pub(super) shifts: Vec<Shift>,
    /// Distributions that come in at the low and at the high end; of walls at unit density.
    pub(super) comes: [Vec<f64>; 2],
    /// Mass that they bring, in the units of the sums over leaving molecules.
    pub(super) units: [f64; 2],
    /// Width of a cell.
    pub(super) width: f64,
}

/// The passes of a step, along each direction.
pub(super) fn passes(config: &FlowConfig) -> Result<Vec<Pass>> {
    (0..config.space.dimensions())
        .map(|direction| pass(config, direction))
        .collect()
}

fn pass(config: &FlowConfig, direction: usize) -> Result<Pass> {
    let (space, grid) = (&config.space, &config.operator.grid);
    let velocity = config.velocity_space()?;
    let width = space.step(direction);
    let rates = config.stepping == Stepping::Penalised;
    let speeds = config.speeds(direction)?;
    let shifts = speeds.into_iter().map(|v| {
        let courant = Courant::new(v, config.dt, width);
        let (whole, fraction, rest) = if rates {
            (0, v.abs() / width, 1.0)
        } else {
            (courant.whole, courant.fraction, 1.0 - courant.fraction)
        };
        Shift {
            forward: v > 0.0,
            whole,
            fraction,
            rest,
        }
    });
    let shifts: Vec<Shift> = shifts.collect();
    let (n, nodes) = (grid.n(), grid.cells());
    let run = if direction == 0 { n * n } else { n };
    let mut comes = [vec![0.0; nodes], vec![0.0; nodes]];
    let mut kinds = [end::STREAM; 2];
    let mut mirrors = [0.0; 2];
    let faces = config.boundaries.along(direction);
    for (side, boundary) in faces.into_iter().enumerate() {
        let given = &config.incoming[2 * direction + side];
        kinds[side] = match boundary {
            Boundary::Inflow(_) if !given.is_empty() => {
                comes[side].clone_from(given);
                end::STREAM
            }
            Boundary::Inflow(state) => {
                comes[side] = maxwellian(grid, &velocity, state)?;
                end::STREAM
            }
            Boundary::Wall(wall) if wall.accommodation > 0.0 => {
                comes[side] = maxwellian(grid, &velocity, wall.state())?;
                mirrors[side] = 1.0 - wall.accommodation;
                end::WALL
            }
            Boundary::Wall(_) | Boundary::Specular => end::MIRROR,
            Boundary::Periodic => end::PERIODIC,
        };
    }
    let shift_of = |node: usize| &shifts[node / run % n];
    let units = [0, 1].map(|side| {
        let entering = (0..nodes).filter(|node| shift_of(*node).forward == (side == 0));
        let each = entering.map(|node| {
            let shift = shift_of(node);
            (shift.whole as f64 + shift.fraction) * comes[side][node]
        });
        each.sum()
    });
    let write = match (rates, direction) {
        (false, _) => write::SHIFTED,
        (true, 0) => write::RATES,
        (true, _) => write::MORE_RATES,
    };
    let (length, distance) = match direction {
        0 => (space.nx(), 1),
        _ => (space.ny(), space.nx()),
    };
    Ok(Pass {
        lines: Lines {
            low_mirrors: mirrors[0],
            high_mirrors: mirrors[1],
            length: length as u32,
            distance: distance as u32,
            cells: space.cells() as u32,
            nodes: nodes as u32,
            count: n as u32,
            run: run as u32,
            low: kinds[0],
            high: kinds[1],
            sloped: u32::from(config.scheme == Scheme::VanLeer),
            write,
            ghosts: 0,
        },
        shifts,
        comes,
        units,
        width,
    })
}

/// `1 - 1/sqrt 2`, for which the implicit part is L-stable.
const GAMMA: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;

/// The two stages of a penalised step: the scheme (2,2,2) of U. M. Ascher, S. J. Ruuth and R. J. Spiteri, Appl. Numer. Math. 25 (1997) 151, section 2.6.
pub(super) fn stages(dt: f64) -> [CellStage; 2] {
    let delta = 1.0 - 0.5 / GAMMA;
    let implicit = dt * GAMMA;
    [
        CellStage {
            before: 0.0,
            now: dt * GAMMA,
            relaxing: 0.0,
            implicit,
        },
        CellStage {
            before: dt * delta,
            now: dt * (1.0 - delta),
            relaxing: dt * (1.0 - GAMMA),
            implicit,
        },
    ]
}
