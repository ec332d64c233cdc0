//! Findings of a flow: loads on bodies, flows through sides, balances, fields and surfaces.

use serde::{Deserialize, Serialize};

use crate::bgk::NegativeEquilibrium;
use crate::bgk::rotation::Rotation;

/// Loads on a body: forces in rho0 v0^2, heat in rho0 v0^3, each in a plane for a unit of span and the unit length of the case, in space for the square of that length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loads {
    /// Name of the body.
    pub name: String,
    /// Force along x.
    pub force_x: f64,
    /// Force along y.
    pub force_y: f64,
    /// Part of the force along x by pressure, the rest is friction.
    pub pressure_x: f64,
    /// Part of the force along y by pressure.
    pub pressure_y: f64,
    /// Force along z, in space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_z: Option<f64>,
    /// Part of the force along z by pressure, in space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure_z: Option<f64>,
    /// Moment about the axis along z through the body's centre, anticlockwise.
    pub moment: f64,
    /// Moment about the axis along x through the body's centre, in space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moment_x: Option<f64>,
    /// Moment about the axis along y, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moment_y: Option<f64>,
    /// Area of the walls, in space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area: Option<f64>,
    /// Area of the walls that face the stream, seen along it: what coefficients refer to in space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontal_area: Option<f64>,
    /// Heat that the body takes up in a unit of time, in the frame of its wall.
    pub heat: f64,
    /// Power of the friction on a wall that moves.
    pub work: f64,
    /// Force along the stream over rho u^2/2 of the stream and the unit length, in space the frontal area; flows with a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drag_coefficient: Option<f64>,
    /// Force across the stream in the x-y plane, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lift_coefficient: Option<f64>,
    /// Force across the stream and the lift, likewise, in space: along z for a stream along x.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_coefficient: Option<f64>,
    /// Heat over rho u^3/2, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat_coefficient: Option<f64>,
    /// The drag coefficient without collisions, in space: each wall as if no other were in its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drag_free_molecular: Option<f64>,
    /// The heat coefficient without collisions, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat_free_molecular: Option<f64>,
    /// The drag coefficient by Newton's law, pressure rho u_n^2 on the walls that face the stream, in space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drag_newtonian: Option<f64>,
}

/// Mass, momentum and energy that leave the domain in a unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flux {
    /// Mass, in n0 v0.
    pub mass: f64,
    /// Momentum along x, in rho0 v0^2.
    pub momentum_x: f64,
    /// Momentum along y.
    pub momentum_y: f64,
    /// Momentum along z, in space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub momentum_z: Option<f64>,
    /// Energy, in rho0 v0^3.
    pub energy: f64,
}

/// Values on a segment of a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SurfacePoint {
    /// The body, by its place in the case.
    pub body: usize,
    /// Middle of the segment.
    pub point: [f64; 2],
    /// Unit normal into the gas.
    pub normal: [f64; 2],
    /// Length of the segment.
    pub length: f64,
    /// Normal stress on the wall, in rho0 v0^2.
    pub pressure: f64,
    /// Stress along (-n_y, n_x).
    pub shear: f64,
    /// Heat into the wall, in rho0 v0^3.
    pub heat: f64,
    /// Velocity of the gas at the wall less that of the wall, along (-n_y, n_x); not a number where memory did not suffice.
    pub slip: f64,
    /// Temperature of the gas at the wall less that of the wall.
    pub jump: f64,
}

/// Values on a facet of a wall in space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FacetPoint {
    /// The body, by its place in the case.
    pub body: usize,
    /// Mean of the facet's corners.
    pub point: [f64; 3],
    /// Unit normal into the gas.
    pub normal: [f64; 3],
    /// Area.
    pub area: f64,
    /// Corners, in order round the normal.
    pub corners: Vec<[f64; 3]>,
    /// Normal stress on the wall, in rho0 v0^2.
    pub pressure: f64,
    /// Stress along the wall.
    pub shear: [f64; 3],
    /// Heat into the wall, in rho0 v0^3.
    pub heat: f64,
}

/// Fields of the cells, row by row along x and layer by layer along z; zero in solid cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fields {
    /// Edges of the cells along x.
    pub x: Vec<f64>,
    /// Edges of the cells along y.
    pub y: Vec<f64>,
    /// Edges of the cells along z; empty in a plane.
    pub z: Vec<f64>,
    /// Share of the cell that holds gas.
    pub gas: Vec<f64>,
    /// Density.
    pub density: Vec<f64>,
    /// Mean velocity along x.
    pub velocity_x: Vec<f64>,
    /// Mean velocity along y.
    pub velocity_y: Vec<f64>,
    /// Mean velocity along z; empty in a plane.
    pub velocity_z: Vec<f64>,
    /// Temperature, of translation and rotation together.
    pub temperature: Vec<f64>,
    /// Temperature of translation; empty for single atoms, as is all that belongs to rotation.
    pub temperature_translational: Vec<f64>,
    /// Temperature of rotation.
    pub temperature_rotational: Vec<f64>,
    /// Heat flux of rotation along x, y and, in space, z, in rho0 v0^3.
    pub heat_rotational: [Vec<f64>; 3],
    /// Whole heat flux along x, in rho0 v0^3.
    pub heat_x: Vec<f64>,
    /// Heat flux along y.
    pub heat_y: Vec<f64>,
    /// Heat flux along z; empty in a plane.
    pub heat_z: Vec<f64>,
}

impl Fields {
    /// The least and the greatest temperature of the gas.
    pub(in crate::flow) fn temperatures(&self) -> [f64; 2] {
        let all = self.gas.iter().zip(&self.temperature);
        let of_gas = all.filter(|(share, _)| **share > 0.0);
        of_gas.fold([f64::INFINITY, 0.0], |[least, most], (_, t)| {
            [least.min(*t), most.max(*t)]
        })
    }

    /// Adds what a cell has of rotation: both temperatures, and the heat flux of rotation.
    pub(in crate::flow) fn add_rotation(
        &mut self,
        rotation: &Rotation,
        [translational, rotational]: [f64; 2],
        heat: impl Iterator<Item = f64>,
    ) {
        let whole = rotation.temperature(translational, rotational);
        self.temperature.push(whole);
        self.temperature_translational.push(translational);
        self.temperature_rotational.push(rotational);
        for (to, q) in self.heat_rotational.iter_mut().zip(heat) {
            to.push(q);
        }
    }
}

/// All that a solved flow has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Loads on the bodies, in the order of the case.
    pub bodies: Vec<Loads>,
    /// Fluxes out of the sides left, right, bottom, top, back and front; none through mirrors. A split side has two.
    pub sides: Vec<(String, Flux)>,
    /// Passages between opposite sides.
    #[serde(default)]
    pub passages: Vec<Passage>,
    /// Sum of all that leaves the gas; zero but for the change of the last iteration.
    pub balance: Flux,
    /// Cells with gas.
    pub cells: usize,
    /// Discrete velocities.
    pub nodes: usize,
    /// Iterations.
    pub iterations: usize,
    /// Relative change of the last iteration.
    pub change: f64,
    /// How the iteration ended: `converged`, `at-roundoff`, `stalled`, `unfinished` or `interrupted`.
    pub status: String,
    /// Negative shares of the equilibrium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative_equilibrium: Option<NegativeEquilibrium>,
    /// Warnings: each names its remedy.
    pub warnings: Vec<String>,
    /// Fields of the cells.
    #[serde(skip)]
    pub fields: Fields,
    /// Walls in a plane, segment by segment.
    #[serde(skip)]
    pub surface: Vec<SurfacePoint>,
    /// Walls in space, facet by facet.
    #[serde(skip)]
    pub facets: Vec<FacetPoint>,
    /// Residual history: relative change of each iteration.
    pub history: Vec<f64>,
}

impl Findings {
    /// Whether the iteration went to its end.
    pub fn is_steady(&self) -> bool {
        matches!(self.status.as_str(), "converged" | "at-roundoff")
    }

    /// Mass that passes through the domain: the sum over the sides where more leaves than enters.
    pub fn mass_flow(&self) -> f64 {
        self.sides.iter().map(|side| side.1.mass.max(0.0)).sum()
    }

    /// Energy, likewise.
    pub fn energy_flow(&self) -> f64 {
        self.sides.iter().map(|side| side.1.energy.max(0.0)).sum()
    }
}

/// The passage of gas between two opposite sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Passage {
    /// The axis along which it leads: `x`, `y` or `z`.
    pub along: String,
    /// Mass in a unit of time towards greater coordinates, in n0 v0 and the unit length.
    pub flow: f64,
    /// Flow over the difference of pressure between two vessels, in n0 v0/p0 and the unit length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conductance: Option<f64>,
    /// The narrowest open length across, in space the narrowest open area.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<f64>,
    /// Flow over that of an opening of this length in a thin wall without collisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmission: Option<f64>,
    /// Mean velocity over the whole section for a unit gradient of the pressure, in v0 and the unit length, of linearised periods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mobility: Option<f64>,
    /// Permeability by Darcy's law, in the square of the unit length: mobility over delta.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permeability: Option<f64>,
}
