//! Moments of the cells and exchange at the faces, from the sums of the closing sweep.

use super::plan::{INTERNAL, Plan, Side};
use super::solution::Exchange;
use super::sums::{Sums, leaving};
use crate::bgk::negative::{Heated, NegativeEquilibrium};
use crate::bgk::{Moments, RotatingMoments};

impl Plan {
    /// In a wave between two streams, the strength of the downstream one less 1.
    pub(super) fn downstream_excess(&self, x: &[f64]) -> Option<f64> {
        let free = self
            .sides
            .iter()
            .position(|s| s.as_ref().is_some_and(|s| s.free))?;
        Some(x[self.layout.faces_at() + self.layout.faces[free]] - 1.0)
    }

    pub(super) fn moments(&self, x: &[f64], sums: &Sums) -> Vec<Moments> {
        let cells = self.layout.cells;
        (0..cells)
            .map(|cell| {
                let [density, ux, uy, temperature] = self.primitive(x, cell);
                let at = |k: usize| sums.cells[k * cells + cell];
                let trace = if self.linear {
                    1.5 * (density + temperature)
                } else {
                    1.5 * density * temperature
                };
                let [pxx, pxy, mut pyy] = [at(0), at(1), at(2)];
                if self.velocity_dimensions == 1 {
                    pyy = 0.5 * (trace - pxx);
                }
                let (mut temperature, mut heat_flux) = (temperature, [at(3), at(4)]);
                if let Some(rotation) = &self.rotation {
                    let [t, t_r] = self.temperatures(rotation, x, cell);
                    temperature = rotation.temperature(t, t_r);
                    for (k, q) in heat_flux.iter_mut().enumerate() {
                        *q += x[(INTERNAL + 1 + k) * cells + cell];
                    }
                }
                Moments {
                    density,
                    velocity: [ux, uy],
                    temperature,
                    pressure: [pxx, pyy, pxy],
                    heat_flux,
                }
            })
            .collect()
    }

    /// Rotation of the cells.
    pub(super) fn rotating_moments(&self, x: &[f64]) -> Vec<RotatingMoments> {
        let Some(rotation) = &self.rotation else {
            return Vec::new();
        };
        let cells = self.layout.cells;
        let at = |k: usize, cell: usize| x[(INTERNAL + k) * cells + cell];
        (0..cells)
            .map(|cell| {
                let [translational, rotational] = self.temperatures(rotation, x, cell);
                RotatingMoments {
                    temperature_translational: translational,
                    temperature_rotational: rotational,
                    heat_flux_rotational: [at(1, cell), at(2, cell)],
                }
            })
            .collect()
    }

    /// The negative shares of the equilibria of a nonlinear flow.
    pub(super) fn negative_equilibrium(
        &self,
        cells: &[Moments],
        rotation: &[RotatingMoments],
    ) -> Option<NegativeEquilibrium> {
        if self.linear || !self.shakhov {
            return None;
        }
        let heated = cells.iter().enumerate().map(|(cell, m)| {
            let own = rotation.get(cell).copied().unwrap_or_default();
            let in_space = |[x, y]: [f64; 2]| [x, y, 0.0];
            Heated {
                density: m.density,
                temperatures: [
                    m.temperature,
                    own.temperature_translational,
                    own.temperature_rotational,
                ],
                heat: in_space(m.heat_flux),
                rotational: in_space(own.heat_flux_rotational),
            }
        });
        let rotation = self.rotation.as_ref();
        Some(NegativeEquilibrium::largest(self.prandtl, rotation, heated))
    }

    /// Adds to the exchange of a boundary face what internal energy has in it: its flux out of the gas, and its temperature.
    fn add_internal(&self, e: &mut Exchange, [outwards, density]: [f64; 2]) {
        let Some(rotation) = &self.rotation else {
            return;
        };
        let half = 0.5 * rotation.freedom;
        let (carried, rotational) = match self.linear {
            true => (0.5 * half * e.mass, density / half),
            false => (0.0, density / (half * e.density)),
        };
        e.heat += outwards + carried;
        e.temperature = rotation.temperature(e.temperature, rotational);
    }

    /// The exchange at a side of a steady flow. A mirror takes up pressure alone: all else that its sums have is roundoff.
    pub(super) fn received(&self, x: &[f64], sums: &Sums, side: usize) -> Vec<Exchange> {
        let mut exchange = self.exchange(x, sums, side);
        let sides = &self.sides[side];
        let is_mirror = |s: &Side| s.share == 0.0 && s.returned.is_some_and(|r| r.1);
        if sides.as_ref().is_some_and(is_mirror) {
            for e in &mut exchange {
                (e.mass, e.shear, e.heat, e.work) = (0.0, 0.0, 0.0, 0.0);
            }
        }
        exchange
    }

    pub(super) fn exchange(&self, x: &[f64], sums: &Sums, side: usize) -> Vec<Exchange> {
        if self.sides[side].is_none() {
            return Vec::new();
        }
        let faces = self.layout.faces;
        let wall = self.sides[side].as_ref().and_then(|s| s.wall);
        // In the linearised equation the work is of second order.
        let speed = wall.map_or(0.0, |[_, speed]| if self.linear { 0.0 } else { speed });
        (faces[side]..faces[side + 1])
            .map(|face| {
                let left = &sums.faces[face * leaving::LEN..][..leaving::LEN];
                let mut came = [0.0; leaving::LEN];
                for node in (0..self.nodes.len()).filter(|&node| !self.leaves(side, node)) {
                    let f = self.incoming(x, side, face - faces[side], node);
                    self.add_leaving(&mut came, side, node, f);
                }
                let net = |k: usize| left[k] - came[k];
                let both = |k: usize| left[k] + came[k];
                let density = both(leaving::DENSITY);
                let (velocity, temperature) = if self.linear {
                    let drift = both(leaving::DRIFT);
                    (drift, both(leaving::SQUARE) / 1.5 - density)
                } else {
                    let u = both(leaving::DRIFT) / density;
                    (u, (both(leaving::SQUARE) / density - u * u) / 1.5)
                };
                let mut e = Exchange {
                    mass: net(leaving::MASS),
                    pressure: both(leaving::NORMAL),
                    shear: net(leaving::TANGENTIAL),
                    heat: net(leaving::ENERGY),
                    work: speed * net(leaving::TANGENTIAL),
                    density,
                    velocity,
                    temperature,
                };
                let density = both(leaving::INTERNAL_DENSITY);
                self.add_internal(&mut e, [net(leaving::INTERNAL), density]);
                e
            })
            .collect()
    }
}
