//! Faces: what comes in through the sides of the domain and from walls.
//!
//! Everything that comes in is a Maxwellian, a mirror image, or what left at the opposite side. A wall emits `base + rho unit`: a Maxwellian of its
//! temperature and velocity, whose density rho makes the emitted mass that which arrives, in the discrete sums over the nodes.

use super::accommodation::Accommodation;
use super::gas::{Gas, MOMENTS, Primitive, add, equilibrium, flux};
use super::nodes::Nodes;
use crate::bgk::rotation;

/// The gas behind one side, resolved.
#[derive(Clone, Debug)]
pub(in crate::flow) enum Border {
    /// A Maxwellian for each face that nothing changes.
    Given(Vec<Primitive>),
    /// This pressure behind an outflow.
    Outlet(f64),
    /// A mirror.
    Mirror,
    /// The opposite side, with a jump from the lower to the upper one.
    Periodic(Primitive),
    /// A flow of mass into the domain, by gas at rest of this temperature.
    Inflow(f64, Wall),
    /// A wall.
    Wall(SideWall),
}

/// A wall along a side.
#[derive(Clone, Debug)]
pub(in crate::flow) struct SideWall {
    /// The wall of each face.
    pub(in crate::flow) walls: Vec<Wall>,
    pub(in crate::flow) accommodation: Accommodation,
}

/// A wall with its temperature and velocity, or their perturbations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::flow) struct Wall {
    pub(in crate::flow) temperature: f64,
    pub(in crate::flow) velocity: [f64; 2],
}

impl Wall {
    /// The state of the molecules that it emits at a density.
    pub(in crate::flow) fn state(&self, density: f64) -> Primitive {
        [
            density,
            self.velocity[0],
            self.velocity[1],
            self.temperature,
        ]
    }
}

/// Moments of what a wall emits into the half space of a normal, a unit length.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) struct Emission {
    /// Without density: zero but for the linearised equation.
    base: [f64; MOMENTS],
    /// For density 1.
    unit: [f64; MOMENTS],
}

impl Emission {
    /// Sums over the nodes that leave the wall.
    pub(in crate::flow) fn new(gas: &Gas, nodes: &Nodes, wall: Wall, normal: [f64; 2]) -> Self {
        let sum = |state: Primitive| {
            let c = gas.maxwellian(state);
            let mut total = [0.0; MOMENTS];
            for m in 0..nodes.len() {
                let v = [nodes.vx[m], nodes.vy[m]];
                let part = nodes.weight[m] * (v[0] * normal[0] + v[1] * normal[1]);
                if part <= 0.0 {
                    continue;
                }
                let f = match gas.linear {
                    true => equilibrium::<true>(&c, v, f64::exp),
                    false => equilibrium::<false>(&c, v, f64::exp),
                };
                add(&mut total, flux(v, part, f));
            }
            total
        };
        let mut emission = match gas.linear {
            true => Self {
                base: sum(wall.state(0.0)),
                unit: sum([1.0, 0.0, 0.0, 0.0]),
            },
            false => Self {
                base: [0.0; MOMENTS],
                unit: sum(wall.state(1.0)),
            },
        };
        if let Some(rotation) = &gas.rotation {
            let Self { base, unit } = &mut emission;
            let [of_unit, of_base] =
                rotation::emitted(rotation, gas.linear, wall.temperature, unit[0], base[0]);
            unit[MOMENTS - 1] += of_unit;
            base[MOMENTS - 1] += of_base;
        }
        emission
    }

    /// The density at which the wall emits the mass that arrives.
    pub(in crate::flow) fn density(&self, arriving: f64) -> f64 {
        (arriving - self.base[0]) / self.unit[0]
    }

    /// Moments of what the wall emits at a density.
    pub(in crate::flow) fn moments(&self, density: f64) -> [f64; MOMENTS] {
        std::array::from_fn(|k| self.base[k] + density * self.unit[k])
    }
}
