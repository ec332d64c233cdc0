//! A case to solve: space, velocities, gas, boundaries, and what there is at the start.

mod boundary;
mod gas;
mod model;
mod moments;
pub mod quadrature;
mod resolution;
mod state;
mod units;
mod velocity;

use serde::{Deserialize, Serialize};

pub use self::boundary::{Boundaries, Boundary, Wall};
pub use self::gas::{Gas, mean_free_path};
pub use self::model::Model;
pub use self::moments::Moments;
pub use self::state::State;
pub use self::units::{Species, Units};
pub use self::velocity::{Axis, Inner, VelocitySpace};
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};

/// Cells of equal size on a line or a rectangle; fields are stored `[iy][ix]`, `ix` fastest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedSpace")]
pub struct Space {
    dimensions: usize,
    cells: [usize; 2],
    min: [f64; 2],
    max: [f64; 2],
    /// Widths of cells. A part of a space has those of the whole, to the bit.
    #[serde(skip)]
    widths: [f64; 2],
}

/// A space as a file may describe it.
#[derive(Deserialize)]
struct UncheckedSpace {
    dimensions: usize,
    cells: [usize; 2],
    min: [f64; 2],
    max: [f64; 2],
}

impl TryFrom<UncheckedSpace> for Space {
    type Error = Error;

    fn try_from(space: UncheckedSpace) -> Result<Self> {
        let x = [space.min[0], space.max[0]];
        match space.dimensions {
            1 => Self::line(space.cells[0], x),
            2 => Self::rectangle(space.cells, x, [space.min[1], space.max[1]]),
            dimensions => Err(Error::invalid(
                "space",
                format!("{dimensions} dimensions"),
                "one or two dimensions",
            )),
        }
    }
}

impl Space {
    /// Most cells along a direction.
    pub const MAX_CELLS: usize = 1 << 24;

    /// `n` cells between `x[0]` and `x[1]`.
    ///
    /// # Errors
    /// No or too many cells; bounds that are not finite or not in order.
    pub fn line(n: usize, x: [f64; 2]) -> Result<Self> {
        Self::new(1, [n, 1], [x, [0.0, 1.0]])
    }

    /// `n[0]` by `n[1]` cells on a rectangle.
    ///
    /// # Errors
    /// As [`Space::line`].
    pub fn rectangle(n: [usize; 2], x: [f64; 2], y: [f64; 2]) -> Result<Self> {
        Self::new(2, n, [x, y])
    }

    fn new(dimensions: usize, cells: [usize; 2], bounds: [[f64; 2]; 2]) -> Result<Self> {
        for (n, [low, high]) in cells.into_iter().zip(bounds).take(dimensions) {
            if !(1..=Self::MAX_CELLS).contains(&n) {
                return Err(Error::invalid(
                    "cells",
                    n,
                    format!("1 to {} cells along a direction", Self::MAX_CELLS),
                ));
            }
            if !(low.is_finite() && high.is_finite() && low < high) {
                return Err(Error::invalid(
                    "space",
                    format!("[{low}, {high}]"),
                    "ends that are finite and in order",
                ));
            }
        }
        Ok(Self {
            dimensions,
            cells,
            min: [bounds[0][0], bounds[1][0]],
            max: [bounds[0][1], bounds[1][1]],
            widths: [0, 1].map(|d: usize| (bounds[d][1] - bounds[d][0]) / cells[d] as f64),
        })
    }

    /// A part of this space, of so many cells along a direction from the cell `first` on, which may lie beyond the ends.
    pub(in crate::bgk) fn part(&self, direction: usize, first: f64, cells: usize) -> Self {
        let mut part = *self;
        let width = self.widths[direction];
        part.cells[direction] = cells;
        part.min[direction] += first * width;
        part.max[direction] = part.min[direction] + cells as f64 * width;
        part
    }

    /// 1 or 2.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }
    /// Cells along x.
    pub fn nx(&self) -> usize {
        self.cells[0]
    }
    /// Cells along y; 1 on a line.
    pub fn ny(&self) -> usize {
        self.cells[1]
    }
    /// All cells.
    pub fn cells(&self) -> usize {
        self.cells[0] * self.cells[1]
    }
    /// Width of a cell along x (0) or y (1).
    ///
    /// # Panics
    /// If the direction is neither.
    pub fn step(&self, direction: usize) -> f64 {
        self.widths[direction]
    }
    /// Lower and upper end along x (0) or y (1).
    ///
    /// # Panics
    /// If the direction is neither.
    pub fn bounds(&self, direction: usize) -> [f64; 2] {
        [self.min[direction], self.max[direction]]
    }
    /// Centre of the cells with index `i` along x (0) or y (1).
    ///
    /// # Panics
    /// If the direction is neither.
    pub fn centre(&self, direction: usize, i: usize) -> f64 {
        self.min[direction] + (i as f64 + 0.5) * self.step(direction)
    }
}

/// A case to solve, by whichever solver.
///
/// ```
/// use rarefy::bgk::{Axis, Boundaries, Boundary, Gas, Problem, Space, State, VelocitySpace, Wall};
///
/// // Gas between two plates, the right one hotter; velocity space reduced to v_x.
/// let space = Space::line(40, [0.0, 2.0])?;
/// let velocity = VelocitySpace::new(vec![Axis::uniform(24, -5.0, 5.0)?], 1)?;
/// let boundaries = Boundaries::line(Boundary::Wall(Wall::diffuse(1.0)), Boundary::Wall(Wall::diffuse(1.2)));
/// let problem = Problem::uniform(space, velocity, Gas::default(), boundaries, State::REST)?;
/// assert_eq!(problem.velocity.nodes(), 48);
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// Cells in space.
    pub space: Space,
    /// Nodes in velocity.
    pub velocity: VelocitySpace,
    /// The gas.
    pub gas: Gas,
    /// Conditions at the faces of space.
    pub boundaries: Boundaries,
    /// Whether Maxwellians have the moments that they should have on the nodes, not only in the continuum; for those at the boundaries too.
    pub conservative: bool,
    /// The local equilibrium that each cell starts from.
    pub initial: Vec<State>,
}

impl Problem {
    /// A problem that starts from one state everywhere, with conservative Maxwellians.
    ///
    /// # Errors
    /// As [`Problem::validate`].
    pub fn uniform(
        space: Space,
        velocity: VelocitySpace,
        gas: Gas,
        boundaries: Boundaries,
        state: State,
    ) -> Result<Self> {
        Self::new(space, velocity, gas, boundaries, |_, _| state)
    }

    /// A problem that starts from `state(x, y)` at the centres of the cells, with conservative Maxwellians.
    ///
    /// # Errors
    /// As [`Problem::validate`].
    pub fn new(
        space: Space,
        velocity: VelocitySpace,
        gas: Gas,
        boundaries: Boundaries,
        state: impl Fn(f64, f64) -> State,
    ) -> Result<Self> {
        // The states of the start, and as much for the moments of the end.
        check_host(
            &format!("a flow of {} x {} cells", space.nx(), space.ny()),
            bytes_of::<State>(space.cells() as u64)
                .saturating_add(bytes_of::<Moments>(space.cells() as u64)),
            "use fewer cells in space",
        )?;
        let initial = (0..space.ny())
            .flat_map(|iy| (0..space.nx()).map(move |ix| (ix, iy)))
            .map(|(ix, iy)| state(space.centre(0, ix), space.centre(1, iy)))
            .collect();
        let problem = Self {
            space,
            velocity,
            gas,
            boundaries,
            conservative: true,
            initial,
        };
        problem.validate()?;
        Ok(problem)
    }

    /// The states that are known beforehand: the distinct ones of the start, and those of the boundaries.
    fn known_states(&self) -> Vec<State> {
        let mut states: Vec<State> = Vec::new();
        for direction in 0..self.space.dimensions() {
            for face in self.boundaries.along(direction) {
                match face {
                    Boundary::Inflow(state) => states.push(state),
                    Boundary::Wall(wall) => states.push(wall.state()),
                    Boundary::Specular | Boundary::Periodic => {}
                }
            }
        }
        let mut last = None;
        for state in &self.initial {
            if last != Some(state) {
                states.push(*state);
                last = Some(state);
            }
        }
        states
    }

    /// Checks the parts and that they belong together.
    ///
    /// # Errors
    /// States that are none; velocity grids too coarse or too narrow for them; a flow in more directions than the velocity space resolves;
    /// mirroring faces on velocity axes that are not symmetric; an initial state of the wrong length.
    pub fn validate(&self) -> Result<()> {
        let Self {
            space, velocity, ..
        } = self;
        self.gas.validate()?;
        self.boundaries.validate(space.dimensions())?;
        if self.initial.len() != space.cells() {
            return Err(Error::invalid(
                "initial",
                format!("{} cells", self.initial.len()),
                format!("an initial state of {} cells", space.cells()),
            ));
        }
        if velocity.flow() < space.dimensions() {
            return Err(Error::invalid(
                "velocity",
                "one axis along which the gas moves",
                "two such axes in two dimensions",
            ));
        }
        for direction in 0..space.dimensions() {
            if self.boundaries.mirrors(direction) && !velocity.axes()[direction].is_symmetric() {
                return Err(not_symmetric(direction));
            }
        }
        let states = self.known_states();
        for state in &states {
            state.validate()?;
            if velocity.flow() < 2 && state.velocity[1] != 0.0 {
                return Err(Error::invalid(
                    "u_y",
                    state.velocity[1],
                    "0: the velocity space resolves no flow along y",
                ));
            }
        }
        velocity.check_range(&states)
    }
}

/// The refusal of velocities that are not symmetric about 0 along a direction in which a face mirrors molecules.
pub(in crate::bgk) fn not_symmetric(direction: usize) -> Error {
    let along = ["x", "y"][direction];
    Error::invalid(
        "velocity",
        format!("nodes of v_{along} that are not symmetric about 0"),
        format!("symmetric nodes: a boundary along {along} mirrors molecules"),
    )
}
