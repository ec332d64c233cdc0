//! The lid-driven cavity: the problem, and its drag and flow rate.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::bgk::{
    Axis, Boundaries, Boundary, FaceFlux, Gas, Moments, Problem, Scheme, Space, State,
    VelocitySpace, Wall,
};
use crate::error::{Error, Result};

/// Error of the flow rate by the ray effect that is tolerated.
const TOLERATED_RAYS: f64 = 0.01;
/// Error of the drag by wide cells in time that is tolerated.
const TOLERATED_WIDTH: f64 = 0.015;
/// Error of the flow rate on midpoints of the collision integral that is tolerated.
const TOLERATED_MIDPOINTS: f64 = 0.025;
/// Cells along a side that show a vortex.
const FEWEST_CELLS: usize = 4;
/// Directions of a quadrant for that error where rays fade by 1 from wall to wall.
const ANGLES: f64 = 12.0;

/// A square cavity whose upper wall moves along x (eqs. 22-24).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cavity {
    /// Rarefaction parameter: the side of the square in units of l0; `delta = (sqrt(pi)/2) / Kn`.
    pub delta: f64,
    /// Cells along a side.
    pub cells: usize,
    /// Axes of the velocity space: two, or three to resolve v_z.
    pub axes: Vec<Axis>,
    /// Speed of the lid; below 0.02 the flow is linear in it to a thousandth.
    pub lid: f64,
    /// Accommodation coefficient of the walls.
    pub accommodation: f64,
    /// The gas.
    pub gas: Gas,
    /// Whether Maxwellians have exact moments on the nodes.
    pub conservative: bool,
}

impl Cavity {
    /// Cells along a side that are not given.
    pub const CELLS: usize = 80;
    /// Speed of a lid that is not given.
    pub const LID: f64 = 0.02;
    /// Half-width of a velocity box that is not given, of the models and of the collision integral.
    pub const REACH: [f64; 2] = [4.5, 4.0];
    /// Velocity nodes along an axis that are not given: in time and by the collision integral, of half-range rules of a steady flow, and of its midpoints.
    pub const NODES: [usize; 3] = [20, 24, 40];

    /// Directions of a quadrant and speeds of a steady flow that are not given. Their error is small against that of the cells: in thin gas the corners are seen from afar, and many
    /// directions are needed.
    pub fn directions(delta: f64) -> [usize; 2] {
        match delta {
            thin if thin < 0.5 => [60, 14],
            thin if thin < 5.0 => [48, 14],
            _ => [24, 12],
        }
    }

    /// A cavity with fully accommodating walls, velocities on the midpoints of `velocities` cells along each axis of a box of half-width 4.5.
    ///
    /// # Errors
    /// A rarefaction parameter that is not positive; too few or too many nodes.
    pub fn new(delta: f64, cells: usize, velocities: &[usize]) -> Result<Self> {
        let axes = velocities
            .iter()
            .map(|&n| Axis::uniform(n, -Self::REACH[0], Self::REACH[0]))
            .collect::<Result<_>>()?;
        Self::with_axes(delta, cells, axes)
    }

    /// A cavity with velocity nodes of one's own.
    ///
    /// # Errors
    /// A rarefaction parameter that is not positive.
    pub fn with_axes(delta: f64, cells: usize, axes: Vec<Axis>) -> Result<Self> {
        if !(delta.is_finite() && delta > 0.0) {
            return Err(Error::invalid(
                "delta",
                delta,
                "a rarefaction parameter: delta must be positive and finite",
            ));
        }
        Ok(Self {
            delta,
            cells,
            axes,
            lid: Self::LID,
            accommodation: 1.0,
            gas: Gas::default(),
            conservative: true,
        })
    }

    /// The problem: gas at rest, walls at its temperature.
    ///
    /// # Errors
    /// Those of [`Problem::validate`]; a lid at rest or too fast for the box.
    pub fn problem(&self) -> Result<Problem> {
        if !(self.lid.is_finite() && self.lid != 0.0 && self.lid.abs() <= 1.0) {
            return Err(Error::invalid(
                "lid",
                self.lid,
                "a speed of the lid from -1 to 1, and not 0 (in units of sqrt(2 R T0))",
            ));
        }
        let still = Wall {
            accommodation: self.accommodation,
            ..Wall::diffuse(1.0)
        };
        let mut problem = Problem::uniform(
            Space::rectangle([self.cells; 2], [0.0, self.delta], [0.0, self.delta])?,
            VelocitySpace::new(self.axes.clone(), 2)?,
            self.gas,
            Boundaries {
                left: Boundary::Wall(still),
                right: Boundary::Wall(still),
                bottom: Boundary::Wall(still),
                top: Boundary::Wall(still.moving([self.lid, 0.0])),
            },
            State::REST,
        )?;
        problem.conservative = self.conservative;
        Ok(problem)
    }

    /// The largest time step that is accurate with walls: `min(0.05/nu, dx/v)` for the largest relaxation frequency and velocity.
    pub fn time_step(&self) -> f64 {
        let fastest = self.axes.iter().take(2).map(Axis::fastest);
        let fastest = fastest.fold(0.0, f64::max);
        let crossing = self.delta / self.cells as f64 / fastest;
        // The gas is hardly denser or hotter anywhere than at the start.
        let collision = if self.gas.frequency > 0.0 {
            0.05 / self.gas.frequency
        } else {
            f64::INFINITY
        };
        crossing.min(collision)
    }

    /// Whether cells are too few for a vortex. In the steady BGK flow at delta = 10 the flow rate is off by 46% on 2 cells along a side, 6% on 4 and 1.5% on 8.
    pub fn cell_warning(&self) -> Option<String> {
        let cells = self.cells;
        (cells < FEWEST_CELLS && !self.is_at_rest()).then(|| {
            format!(
                "cells: {cells} along a side do not resolve the vortex; its flow rate is off by tens of per cent, and by some 2% with 8"
            )
        })
    }

    /// Whether the cells of a flow in time are so many free paths wide that they add their own viscosity, and what would do.
    ///
    /// The shift carries molecules from cell to cell between collisions. With van Leer's slopes the drag at delta = 10 is too large by 14%, 5.9%, 3.2% and 2.0% on 8, 16, 24 and 32 cells along
    /// a side, `0.104 h^1.41` for cells of h l0; upwind differences add a viscosity of `0.56 h`. A steady solution on 8 cells is right within a per cent.
    pub fn width_warning(&self, scheme: Scheme) -> Option<String> {
        if self.is_at_rest() {
            return None;
        }
        let width = self.delta / self.cells as f64 * self.gas.frequency;
        let (error, enough) = match scheme {
            Scheme::Upwind => (width / PI.sqrt(), 0.02),
            Scheme::VanLeer => (0.104 * width.powf(1.41), 0.2),
        };
        (error > TOLERATED_WIDTH).then(|| {
            let off = match error {
                _ if error < 0.3 => format!("by about {:.0}%", 100.0 * error),
                _ if error < 1.0 => "by tens of per cent".into(),
                _ => "by a factor".into(),
            };
            format!(
                "cells of {width:.2} free paths add their own viscosity to a flow in time: its drag is off {off}; use cells of {enough} free paths, or the steady solver, which resolves it on wider ones"
            )
        })
    }

    /// Whether the flow rate suffers from the ray effect on the nodes of the axes, and how many would do.
    ///
    /// Mirrored molecules that rarely collide keep their direction over many crossings. If directions are few the flow shows each of
    /// them. Diffuse reflection at the walls and collisions on the way end a ray: `k = 2 a + delta` with the accommodation a. On
    /// n nodes along each axis the flow rate of the linear flow is too large by about `5 exp(-0.77 n^0.7 k)`, half-range rules and midpoints alike
    /// (measured for a from 0.1 to 1, delta from 0.03 to 10, n from 20 to 64; table in docs/bgk.md). One per cent is tolerated.
    pub fn ray_warning(&self) -> Option<String> {
        if self.is_at_rest() {
            return None;
        }
        let nodes = self.axes.iter().take(2).map(Axis::len).min()?;
        let reach = self.fading();
        let error = 5.0 * (-0.77 * (nodes as f64).powf(0.7) * reach).exp();
        (error > TOLERATED_RAYS).then(|| {
            let needed = ((5.0 / TOLERATED_RAYS).ln() / (0.77 * reach)).powf(1.0 / 0.7);
            let even = 2.0 * (0.5 * needed).ceil();
            format!(
                "ray effect: with accommodation {} at delta = {} the flow rate G on {nodes} velocity nodes along an axis is about {:.0}% too large; it takes \
                 {even} nodes along x and y, or in a steady solution {} directions a quadrant",
                self.accommodation,
                self.delta,
                100.0 * error,
                (ANGLES / reach).ceil()
            )
        })
    }

    /// The same of directions at equal angles, so many in a quadrant: one per cent takes `12 / (2 a + delta)` of them.
    pub fn ray_warning_of_directions(&self, angles_of_quadrant: usize) -> Option<String> {
        if self.is_at_rest() {
            return None;
        }
        let needed = (ANGLES / self.fading()).ceil();
        ((angles_of_quadrant as f64) < needed).then(|| {
            format!(
                "ray effect: with accommodation {} at delta = {} the flow rate G is off by more than a per cent on {angles_of_quadrant} directions a quadrant; it \
                 takes {needed}",
                self.accommodation, self.delta
            )
        })
    }

    /// Errors of the drag and of the flow rate, at most, where molecules collide by the collision integral on the axes' midpoints.
    ///
    /// With an even number of nodes, dv apart, the drag is off by up to `0.06 dv^4` and the flow rate by `0.8 dv^4`: rays from the corners pass between the nodes. With a node at rest both are too
    /// low by up to `0.28 dv^2` (measured for delta 0.1, 1 and 10 with 8 to 24 nodes on 12 cells; table in docs/flows-boltzmann.md).
    pub fn midpoint_errors(&self) -> Option<[f64; 2]> {
        let axis = self.axes.first().filter(|_| !self.is_at_rest())?;
        let dv = axis.spacing()?;
        Some(if axis.len().is_multiple_of(2) {
            [0.06, 0.8].map(|share| share * dv.powi(4))
        } else {
            [0.28 * dv * dv; 2]
        })
    }

    /// In words, that the flow rate of the collision integral on the axes' midpoints is far off, and how many nodes would do.
    pub fn midpoint_warning(&self) -> Option<String> {
        let [drag, flow] = self.midpoint_errors()?;
        let axis = self.axes.first().filter(|_| flow > TOLERATED_MIDPOINTS)?;
        let needed = (TOLERATED_MIDPOINTS / 0.8).powf(0.25);
        let width = axis.spacing()? * axis.len() as f64;
        let even = 2.0 * (0.5 * width / needed).ceil();
        let percent = |error: f64| (100.0 * error).min(100.0);
        Some(format!(
            "{} velocities along an axis do not resolve the corners and walls: D is off by up to {:.1}%, and G by up to {:.0}%; it takes {even}",
            axis.len(),
            percent(drag),
            percent(flow),
        ))
    }

    /// Whether the lid moves no molecule, as it mirrors them all.
    pub fn is_at_rest(&self) -> bool {
        self.accommodation == 0.0
    }

    /// The share by which a ray fades from wall to wall.
    fn fading(&self) -> f64 {
        2.0 * self.accommodation + self.delta * self.gas.frequency
    }

    /// Drag and flow rate of a flow in the cavity: zeros where it is [at rest](Self::is_at_rest), and moments have roundoff alone.
    ///
    /// # Panics
    /// If the cavity has no cells, or there are fewer moments than cells.
    pub fn results(&self, moments: &[Moments], lid: &FaceFlux) -> CavityResults {
        if self.is_at_rest() {
            return CavityResults::default();
        }
        let n = self.cells;
        let h = self.delta / n as f64;
        let top = &moments[(n - 1) * n..];
        let shear = top.iter().map(|m| m.pressure[2]).sum::<f64>() / n as f64;
        let (y, profile) = self.vertical(moments);
        let u: Vec<f64> = profile.iter().map(|u| u * self.lid).collect();
        // The uppermost crossing from below; all of the line if the flow goes one way.
        let crossing = (1..n)
            .rev()
            .find(|&i| u[i - 1] * self.lid < 0.0 && u[i] * self.lid >= 0.0);
        let (centre, flow) = match crossing {
            Some(i) => {
                let zero = y[i] - u[i] * h / (u[i] - u[i - 1]);
                let mut flow = 0.5 * (y[i] - zero) * u[i];
                for k in i + 1..n {
                    flow += 0.5 * h * (u[k - 1] + u[k]);
                }
                (zero, flow + 0.5 * h * u[n - 1])
            }
            None => (0.0, h * u.iter().sum::<f64>()),
        };
        CavityResults {
            drag_wall: 2.0 * lid.momentum[0] / self.lid,
            drag_cell: -2.0 * shear / self.lid,
            flow: 2.0 * flow / (self.delta * self.lid),
            centre,
        }
    }

    /// Positions along the vertical centre line, and u_x/U there.
    ///
    /// # Panics
    /// If the cavity has no cells, or there are fewer moments than cells.
    pub fn vertical(&self, moments: &[Moments]) -> (Vec<f64>, Vec<f64>) {
        self.centre_line(|i, j| moments[i * self.cells + j].velocity[0])
    }

    /// Positions along the horizontal centre line, and u_y/U there.
    ///
    /// # Panics
    /// If the cavity has no cells, or there are fewer moments than cells.
    pub fn horizontal(&self, moments: &[Moments]) -> (Vec<f64>, Vec<f64>) {
        self.centre_line(|i, j| moments[j * self.cells + i].velocity[1])
    }

    /// `value(along, across)` in the middle of the other direction, between two cells where their number is even.
    fn centre_line(&self, value: impl Fn(usize, usize) -> f64) -> (Vec<f64>, Vec<f64>) {
        let n = self.cells;
        let h = self.delta / n as f64;
        let (low, high) = ((n - 1) / 2, n / 2);
        (0..n)
            .map(|i| {
                let middle = 0.5 * (value(i, low) + value(i, high));
                ((i as f64 + 0.5) * h, middle / self.lid)
            })
            .unzip()
    }
}

/// Drag and flow rate of a cavity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CavityResults {
    /// Drag coefficient D, from the momentum that the lid and the gas exchange: `D = -2 <P_xy> / U` at the wall.
    pub drag_wall: f64,
    /// The same from the shear stress in the first row of cells below the lid, half a cell away.
    pub drag_cell: f64,
    /// Reduced flow rate G of the main vortex: `2/(delta U) int u_x dy` from its centre to the lid, on the vertical centre line.
    pub flow: f64,
    /// Height of the vortex centre on that line.
    pub centre: f64,
}
