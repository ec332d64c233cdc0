//! The definition of a flow by the collision integral.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::initial::{Initial, check_finite};
use crate::bgk::steady::{ASYMMETRY, SteadyProblem};
use crate::bgk::transient::check_step;
use crate::bgk::{
    Axis, Boundaries, Boundary, DiscreteMaxwellian, Gas, Model, Moments, Problem, Scheme, Space,
    State, VelocitySpace,
};
use crate::collision::transport::{Flux, exact_decay_rate};
use crate::collision::{OperatorConfig, Scattering, VelocityGrid};
use crate::error::{Error, Result};

/// Faces of space: left, right, bottom, top.
pub(super) const FACES: usize = 4;

/// The total cross-section at unit relative speed, in the units of [`bgk`](crate::bgk). The shear stress of the gas at n0 and T0 then decays with the rate
/// nu0 = 1 in the first approximation of Chapman and Enskog, so its viscosity is `p0/nu0`.
///
/// ```
/// use rarefy::bgk::boltzmann::cross_section;
/// use rarefy::collision::Scattering;
///
/// // The mean free path of hard spheres is 8/(5 sqrt(pi)).
/// let path = 1.0 / (2f64.sqrt() * cross_section(Scattering::HardSphere));
/// assert!((path - 0.902703333676410).abs() < 1e-14);
/// ```
pub fn cross_section(scattering: Scattering) -> f64 {
    // The variance of a velocity component at T0 is 1/2.
    let rate =
        exact_decay_rate(scattering, 1.0, Flux::Shear) * 0.5f64.powf(0.5 * scattering.gamma());
    1.0 / rate
}

/// How streaming and collisions make a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Stepping {
    /// Streaming by a shift, and then collisions by Heun's method: molecules may pass many cells in a step, and collisions bound it by `dt nu <= 1`.
    #[default]
    Split,
    /// Both together, relaxation to the local Maxwellian being implicit: collisions do not bound the step, streaming does, by `|v_x| dt/dx + |v_y| dt/dy <= 1`. The steady state does not depend
    /// on the step.
    Penalised,
}

/// A flow by the Boltzmann equation, and how it is computed.
///
/// ```
/// use rarefy::Backend;
/// use rarefy::bgk::boltzmann::{Flow, FlowConfig};
/// use rarefy::bgk::{Boundaries, Boundary, Space, State, Wall};
/// use rarefy::collision::VelocityGrid;
///
/// // Gas between two plates, the right one hotter.
/// let walls = [1.0, 1.1].map(|t| Boundary::Wall(Wall::diffuse(t)));
/// let mut config = FlowConfig::new(
///     Space::line(6, [0.0, 1.0])?,
///     VelocityGrid::new(10, -4.0, 4.0)?,
///     Boundaries::line(walls[0], walls[1]),
///     0.04,
///     |_, _| State::REST,
/// )?;
/// config.operator.compute.backend = Backend::Cpu;
/// let mut flow = Flow::new(config)?;
/// flow.advance(2)?;
/// assert_eq!(flow.look()?.moments.len(), 6);
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowConfig {
    /// Cells in space, on a line or a rectangle.
    pub space: Space,
    /// The collision integral, on a velocity grid whose box is symmetric about 0; [`cross_section`] says how often molecules collide. Distributions and streaming are f64 whatever the
    /// precision of its sums.
    pub operator: OperatorConfig,
    /// The velocity along x of the centre of the box.
    pub drift: f64,
    /// Conditions at the faces of space.
    pub boundaries: Boundaries,
    /// Incoming distribution of the left, right, bottom and top face where it is no Maxwellian, `[ix][iy][iz]`, in units of n0/v0^3; empty where the boundary says it.
    pub incoming: [Vec<f64>; FACES],
    /// Interpolation of the shift.
    pub scheme: Scheme,
    /// How streaming and collisions make a step.
    pub stepping: Stepping,
    /// Time step dt.
    pub dt: f64,
    /// The distributions at the start.
    pub initial: Initial,
}

impl FlowConfig {
    /// Hard spheres that start from discrete Maxwellians of `state(x, y)` in the cells' centres, with split steps: by the spectral integral where the grid suits it.
    ///
    /// # Errors
    /// States that are none. [`Flow::new`](super::Flow::new) refuses those that the grid cannot hold.
    pub fn new(
        space: Space,
        grid: VelocityGrid,
        boundaries: Boundaries,
        dt: f64,
        state: impl Fn(f64, f64) -> State,
    ) -> Result<Self> {
        let mut config = Self {
            space,
            operator: OperatorConfig {
                sigma_t: cross_section(Scattering::HardSphere),
                ..OperatorConfig::spectral(grid)
            },
            drift: 0.0,
            boundaries,
            incoming: Default::default(),
            scheme: Scheme::default(),
            stepping: Stepping::default(),
            dt,
            initial: Initial::States(Vec::new()),
        };
        config.start(state)?;
        Ok(config)
    }

    /// Starts from discrete Maxwellians of `state(x, y)` in the cells' centres.
    ///
    /// # Errors
    /// States that are none.
    pub fn start(&mut self, state: impl Fn(f64, f64) -> State) -> Result<()> {
        let space = self.space;
        let cells = (0..space.ny()).flat_map(|iy| (0..space.nx()).map(move |ix| (ix, iy)));
        let states = cells.map(|(ix, iy)| {
            let state = state(space.centre(0, ix), space.centre(1, iy));
            state.validate().map(|()| state)
        });
        self.initial = Initial::States(states.collect::<Result<_>>()?);
        Ok(())
    }

    /// The distributions of some cells at the start, `[cell][jx][jy][jz]`.
    ///
    /// # Errors
    /// Cells that are not there; a start of other cells; states that the grid cannot hold.
    pub fn distributions(&self, cells: Range<usize>) -> Result<Vec<f64>> {
        self.validate_initial()?;
        if cells.start > cells.end || cells.end > self.space.cells() {
            return Err(Error::invalid(
                "cells",
                format!("{cells:?}"),
                format!("some of {}", self.space.cells()),
            ));
        }
        self.made(cells)
    }

    /// The same of a valid start.
    pub(super) fn made(&self, cells: Range<usize>) -> Result<Vec<f64>> {
        let mut all = Vec::with_capacity(cells.len() * self.operator.grid.cells());
        self.each_initial(cells, |f| all.extend_from_slice(f))?;
        Ok(all)
    }

    /// Passes over the distributions of some cells of a valid start.
    pub(super) fn each_initial(
        &self,
        cells: Range<usize>,
        mut each: impl FnMut(&[f64]),
    ) -> Result<()> {
        let grid = &self.operator.grid;
        match &self.initial {
            Initial::States(states) => {
                let velocity = self.velocity_space()?;
                for alike in states[cells].chunk_by(PartialEq::eq) {
                    let f = maxwellian(grid, &velocity, alike[0])?;
                    alike.iter().for_each(|_| each(&f));
                }
            }
            Initial::Shares(shares) => {
                let [left, right, ..] = &self.incoming;
                for share in &shares[cells] {
                    let ends = left.iter().zip(right);
                    let f: Vec<f64> = ends.map(|(a, b)| a + share * (b - a)).collect();
                    each(&f);
                }
            }
            Initial::Distributions(f) => {
                let nodes = grid.cells();
                f[cells.start * nodes..cells.end * nodes]
                    .chunks_exact(nodes)
                    .for_each(each);
            }
        }
        Ok(())
    }

    /// Refuses a start of other cells, or with values that are none.
    pub(super) fn validate_initial(&self) -> Result<()> {
        let (cells, nodes) = (self.space.cells(), self.operator.grid.cells());
        let (found, expected) = match &self.initial {
            Initial::States(states) => {
                states.iter().try_for_each(State::validate)?;
                (states.len(), cells)
            }
            Initial::Shares(shares) => {
                if self.incoming[..2].iter().any(Vec::is_empty) {
                    return Err(Error::invalid(
                        "initial",
                        "shares of distributions that are not given",
                        "incoming distributions at the left and at the right",
                    ));
                }
                check_finite(shares)?;
                (shares.len(), cells)
            }
            Initial::Distributions(f) => {
                check_finite(f)?;
                (f.len(), cells * nodes)
            }
        };
        if found != expected {
            return Err(Error::invalid(
                "initial",
                found,
                format!("{expected} values"),
            ));
        }
        Ok(())
    }

    /// The velocity space of the models with the same nodes.
    ///
    /// # Errors
    /// A velocity that is not finite.
    pub fn velocity_space(&self) -> Result<VelocitySpace> {
        velocity_space(&self.operator.grid, self.drift)
    }

    /// The velocities of the nodes of a direction at which their molecules cross space: on a rectangle between walls those that [resolve the jump](Axis::wall_speeds) of f there.
    ///
    /// On a line midpoints serve better: the errors of the flux to a wall and of the layer beside it have opposite signs.
    ///
    /// # Errors
    /// A velocity that is not finite.
    pub fn speeds(&self, direction: usize) -> Result<Vec<f64>> {
        let velocity = self.velocity_space()?;
        let axis = &velocity.axes()[direction];
        let faces = self.boundaries.along(direction);
        let is_wall = |face: &Boundary| matches!(face, Boundary::Wall(_));
        Ok(
            if self.space.dimensions() == 2 && faces.iter().any(is_wall) {
                axis.wall_speeds()
            } else {
                axis.nodes().to_vec()
            },
        )
    }

    /// The steady flow of the same molecules between the same walls or, on a line, the same two streams; its start has the moments of this one's.
    ///
    /// # Errors
    /// A face that is neither: between mirrors the iteration does not converge. An incoming distribution that is not even in v_z. A start of other cells. The solver refuses a
    /// distribution that no stream has.
    pub fn steady(&self) -> Result<SteadyProblem> {
        let Boundaries {
            left,
            right,
            bottom,
            top,
        } = self.boundaries;
        let faces = [
            ("left", left),
            ("right", right),
            ("bottom", bottom),
            ("top", top),
        ];
        let faces = &faces[..2 * self.space.dimensions()];
        let is_stream = |face: &Boundary| matches!(face, Boundary::Inflow(_));
        let streams = self.space.dimensions() == 1 && faces.iter().all(|(_, face)| is_stream(face));
        for (name, face) in faces {
            if !streams && !matches!(face, Boundary::Wall(_)) {
                return Err(Error::invalid(
                    *name,
                    format!("{face:?}"),
                    "a wall on every side of a steady flow by the collision integral, or on a line two streams",
                ));
            }
        }
        let velocity = self.velocity_space()?;
        let (space, grid) = (&self.space, &self.operator.grid);
        let volume = grid.volume();
        self.validate_initial()?;
        let mut initial = Vec::with_capacity(space.cells());
        self.each_initial(0..space.cells(), |f| {
            let moments = Moments::of(&velocity, |node| volume * f[node]);
            initial.push(moments.state());
        })?;
        let first = initial.first().copied().unwrap_or(State::REST);
        let gas = transport(&self.operator);
        let mut problem = Problem::uniform(*space, velocity.clone(), gas, self.boundaries, first)?;
        problem.initial = initial;
        let mut steady = SteadyProblem::from(&problem);
        for (given, f) in steady.incoming.iter_mut().zip(&self.incoming) {
            *given = half(f, grid.n())?;
        }
        steady.integral = Some(self.operator.clone());
        Ok(steady)
    }

    /// The longest step for which streaming with penalised collisions is stable, `|v_x| dt/dx + |v_y| dt/dy = 1` for the fastest molecules.
    ///
    /// # Errors
    /// A velocity that is not finite.
    pub fn crossing_step(&self) -> Result<f64> {
        let mut rates = 0.0;
        for direction in 0..self.space.dimensions() {
            let speeds = self.speeds(direction)?;
            let fastest = speeds
                .into_iter()
                .fold(0.0, |most: f64, c| most.max(c.abs()));
            rates += fastest / self.space.step(direction);
        }
        Ok(1.0 / rates)
    }

    /// Checks the parts and that they belong together.
    ///
    /// # Errors
    /// A box that is not symmetric, or that moves where molecules are mirrored; a step that is none or in which molecules cross all of space; distributions of wrong length or
    /// with values that are none.
    pub fn validate(&self) -> Result<()> {
        let (space, grid) = (&self.space, &self.operator.grid);
        self.boundaries.validate(space.dimensions())?;
        if grid.min() != -grid.max() {
            return Err(Error::invalid(
                "grid",
                format!("[{}, {}]", grid.min(), grid.max()),
                "a velocity box that is symmetric about its centre",
            ));
        }
        if self.drift != 0.0 && self.boundaries.mirrors(0) {
            return Err(Error::invalid(
                "drift",
                self.drift,
                "0 where a face mirrors molecules, so that their velocities are symmetric",
            ));
        }
        self.validate_step()?;
        let nodes = grid.cells();
        for (face, incoming) in self.incoming.iter().enumerate() {
            if incoming.is_empty() {
                continue;
            }
            check_finite(incoming)?;
            if incoming.len() != nodes {
                return Err(Error::invalid(
                    "incoming",
                    incoming.len(),
                    format!("{nodes} values"),
                ));
            }
            let boundary = self.boundaries.along(face / 2)[face % 2];
            if !matches!(boundary, Boundary::Inflow(_)) {
                return Err(Error::invalid(
                    "incoming",
                    ["left", "right", "bottom", "top"][face],
                    "a distribution only where the boundary is an inflow; leave the others empty",
                ));
            }
        }
        self.validate_initial()
    }

    fn validate_step(&self) -> Result<()> {
        let precision = self.operator.compute.precision;
        check_step(&self.space, &self.velocity_space()?, self.dt, precision)?;
        let longest = self.crossing_step()?;
        if self.stepping == Stepping::Penalised && self.dt > longest * (1.0 + 1e-12) {
            return Err(Error::invalid(
                "dt",
                self.dt,
                format!(
                    "at most {longest:.4e}, for which streaming in penalised steps is stable; half of it is accurate"
                ),
            ));
        }
        Ok(())
    }
}

/// The values with v_z of 0 or above of a distribution `[ix][iy][iz]` on n^3 nodes.
///
/// # Errors
/// A distribution that is not even in v_z.
fn half(f: &[f64], n: usize) -> Result<Vec<f64>> {
    let largest = f.iter().fold(0.0_f64, |most, f| most.max(f.abs()));
    let mut upper = Vec::with_capacity(f.len().div_ceil(2));
    for line in f.chunks(n) {
        for (up, down) in line.iter().zip(line.iter().rev()).skip(n / 2) {
            if (up - down).abs() > ASYMMETRY * largest {
                return Err(Error::invalid(
                    "incoming",
                    format!("{up:e} and {down:e} at opposite v_z"),
                    "a distribution that is even in v_z: nothing moves along z",
                ));
            }
            upper.push(0.5 * (up + down));
        }
    }
    Ok(upper)
}

/// The gas of the models with the viscosity and the heat conductivity of the molecules of an operator.
pub(super) fn transport(operator: &OperatorConfig) -> Gas {
    Gas {
        model: Model::Shakhov,
        prandtl: 2.0 / 3.0,
        omega: 1.0 - 0.5 * operator.scattering.gamma(),
        frequency: operator.sigma_t / cross_section(operator.scattering),
        rotation: None,
    }
}

/// The velocity space of the models with the nodes of a grid whose box moves along x.
pub(super) fn velocity_space(grid: &VelocityGrid, drift: f64) -> Result<VelocitySpace> {
    let (n, half) = (grid.n(), grid.max());
    let across = Axis::uniform(n, -half, half)?;
    let along = Axis::uniform(n, drift - half, drift + half)?;
    VelocitySpace::new(vec![along, across.clone(), across], 2)
}

/// The discrete Maxwellian of a state, as a density over velocities.
pub(super) fn maxwellian(
    grid: &VelocityGrid,
    velocity: &VelocitySpace,
    state: State,
) -> Result<Vec<f64>> {
    let maxwellian = DiscreteMaxwellian::conservative(velocity, state)?;
    let mut f = maxwellian.populations(velocity);
    f.iter_mut().for_each(|f| *f /= grid.volume());
    Ok(f)
}
