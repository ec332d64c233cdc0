//! Moments of the cells and exchange at the faces, from the sums of the closing sweep.

use super::plan::{Plan, Side};
use super::solution::Exchange;
use super::sums::{Sums, leaving};
use crate::bgk::Moments;

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
                Moments {
                    density,
                    velocity: [ux, uy],
                    temperature,
                    pressure: [pxx, pyy, pxy],
                    heat_flux: [at(3), at(4)],
                }
            })
            .collect()
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
                Exchange {
                    mass: net(leaving::MASS),
                    pressure: both(leaving::NORMAL),
                    shear: net(leaving::TANGENTIAL),
                    heat: net(leaving::ENERGY),
                    work: speed * net(leaving::TANGENTIAL),
                    density,
                    velocity,
                    temperature,
                }
            })
            .collect()
    }
}
