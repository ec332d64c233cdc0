//! Faces: what comes in through the sides of the domain and from walls.

use super::gas::{MOMENTS, State, equilibrium, maxwellian};
use super::nodes::Nodes;
use crate::bgk::rotation;
use crate::flow::gas::Gas;
use rarefy_kernels::flow::volume::gas::add_flux;

/// The gas behind one side, resolved.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) enum Border {
    /// A Maxwellian that nothing changes.
    Given(State),
    /// Two Maxwellians, before and from a point on the first axis across.
    Split(f64, [State; 2]),
    /// This pressure behind an outflow.
    Outlet(f64),
    /// A mirror.
    Mirror,
    /// The opposite side, with a jump from the lower to the upper one in linearised flows, or a ratio of the densities.
    Periodic(State, f64),
    /// A flow of mass into the domain, by gas at rest of this temperature.
    Inflow(f64, Wall),
    /// A wall, and the share of the molecules that it does not mirror.
    Wall(Wall, f64),
}

/// A wall with its temperature and velocity, or their perturbations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::flow) struct Wall {
    pub(in crate::flow) temperature: f64,
    pub(in crate::flow) velocity: [f64; 3],
}

impl Wall {
    /// The state of the molecules that it emits at a density.
    pub(in crate::flow) fn state(&self, density: f64) -> State {
        let [x, y, z] = self.velocity;
        [density, x, y, z, self.temperature]
    }
}

/// Moments of what a wall emits into the half space of a normal, a unit area.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) struct Emission {
    /// Without density: zero but for the linearised equation.
    base: [f64; MOMENTS],
    /// For density 1.
    unit: [f64; MOMENTS],
}

/// Emissions of walls in many directions: those of one temperature and velocity share the values at the nodes.
pub(in crate::flow) struct Emitter<'a> {
    gas: &'a Gas,
    nodes: &'a Nodes,
    wall: Option<Wall>,
    /// Volume times the Maxwellian of density 1, and of density 0, at each node.
    values: [Vec<f64>; 2],
}

impl<'a> Emitter<'a> {
    pub(in crate::flow) fn new(gas: &'a Gas, nodes: &'a Nodes) -> Self {
        Self {
            gas,
            nodes,
            wall: None,
            values: [Vec::new(), Vec::new()],
        }
    }

    /// Sums over the nodes that leave the wall.
    pub(in crate::flow) fn emission(&mut self, wall: Wall, normal: [f64; 3]) -> Emission {
        if self.wall != Some(wall) {
            let states = match self.gas.linear {
                true => [[1.0, 0.0, 0.0, 0.0, 0.0], wall.state(0.0)],
                false => [wall.state(1.0), wall.state(0.0)],
            };
            self.values = states.map(|state| {
                let c = maxwellian(self.gas, state);
                let value = |m: usize| {
                    let v = self.nodes.velocity(m);
                    self.nodes.weight[m] * equilibrium(self.gas.linear, &c, v)
                };
                (0..self.nodes.len()).map(value).collect()
            });
            self.wall = Some(wall);
        }
        let mut sums = [[0.0; MOMENTS]; 2];
        for m in 0..self.nodes.len() {
            let v = self.nodes.velocity(m);
            let speed = v[0] * normal[0] + v[1] * normal[1] + v[2] * normal[2];
            if speed > 0.0 {
                for (sums, values) in sums.iter_mut().zip(&self.values) {
                    add_flux::<f64, false>(sums, v, speed * values[m]);
                }
            }
        }
        if let Some(rotation) = &self.gas.rotation {
            let [unit, base] = &mut sums;
            let [of_unit, of_base] = rotation::emitted(
                rotation,
                self.gas.linear,
                wall.temperature,
                unit[0],
                base[0],
            );
            unit[MOMENTS - 1] += of_unit;
            base[MOMENTS - 1] += of_base;
        }
        if self.nodes.turn.is_some() {
            // The half turn has no swirl.
            sums.iter_mut().for_each(|sums| sums[3] = 0.0);
        }
        let [unit, base] = sums;
        Emission { base, unit }
    }
}

impl Emission {
    /// The density at which the wall emits the mass that arrives.
    pub(in crate::flow) fn density(&self, arriving: f64) -> f64 {
        (arriving - self.base[0]) / self.unit[0]
    }

    /// Moments of what the wall emits at a density.
    pub(in crate::flow) fn moments(&self, density: f64) -> [f64; MOMENTS] {
        std::array::from_fn(|k| self.base[k] + density * self.unit[k])
    }
}
