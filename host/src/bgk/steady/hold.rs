//! The quantity that the boundaries leave open.

use super::plan::{Hold, INTERNAL, Layout, Plan, Side};
use super::problem::SteadyProblem;
use crate::bgk::Boundary;

impl Plan {
    /// Fixed quantity for the start and the boundaries of the problem.
    pub(super) fn held(&self, problem: &SteadyProblem) -> Hold {
        let faces =
            || (0..self.dimensions).flat_map(|direction| problem.boundaries.along(direction));
        let start = self.start(problem);
        let mass = self.mass(&start);
        let mut inflows = faces().filter(|face| matches!(face, Boundary::Inflow(_)));
        match (inflows.next(), inflows.next()) {
            (None, _) => Hold::Mass(mass),
            (Some(Boundary::Inflow(a)), Some(Boundary::Inflow(b)))
                if self.dimensions == 1
                    && !problem.linear
                    && a.velocity[0] * b.velocity[0] > 0.0
                    && (a.density * a.velocity[0] / (b.density * b.velocity[0]) - 1.0).abs()
                        < 1e-6
                    && (a.density - b.density).abs() > 1e-6 * a.density =>
            {
                Hold::Position(mass)
            }
            _ => Hold::Nothing,
        }
    }

    /// The mass in space.
    pub(super) fn mass(&self, x: &[f64]) -> f64 {
        let mut mass = 0.0;
        for (row, dy) in self.widths[1].iter().enumerate() {
            let row = &x[row * self.nx..(row + 1) * self.nx];
            let sum: f64 = row.iter().zip(&self.widths[0]).map(|(n, dx)| n * dx).sum();
            mass += dy * sum;
        }
        mass
    }

    /// Brings back what the boundaries leave open.
    pub(super) fn constrain(&self, y: &mut [f64]) {
        let Layout { cells, faces, .. } = self.layout;
        let at = self.layout.faces_at();
        match self.hold {
            Hold::Nothing => {}
            Hold::Mass(mass) if self.linear => {
                let volume: f64 = self.widths.iter().map(|w| w.iter().sum::<f64>()).product();
                let off = (mass - self.mass(y)) / volume;
                for cell in 0..cells {
                    y[cell] += off;
                    y[3 * cells + cell] += 1.5 * off;
                }
                y[at..at + faces[4]].iter_mut().for_each(|rho| *rho += off);
                for s in self.sides.iter().flatten().filter(|s| s.returned.is_some()) {
                    let count = self.nodes.len();
                    let len = self.returned_len(s);
                    let half_k = 0.5 * self.internal;
                    let from = s.returned.map_or(0, |(from, _)| from);
                    for (k, value) in y[s.offset..s.offset + len].iter_mut().enumerate() {
                        if !self.leaves(from, k % count) {
                            continue;
                        }
                        *value += off * [1.0, half_k, 0.0][k * self.functions / len];
                    }
                }
            }
            Hold::Mass(mass) => {
                let factor = mass / self.mass(y);
                y.iter_mut().for_each(|value| *value *= factor);
            }
            // The correction of the conservation laws keeps the mass.
            Hold::Position(_) if self.diamond => {}
            Hold::Position(mass) => {
                // A translation by a small distance, to first order: y - d dy/dx.
                let ends = self.ends();
                let end = |side: usize, k: usize| ends[side][k.min(4)];
                let slope = |y: &[f64], k: usize, i: usize| {
                    let value = |i: usize| y[k * cells + i];
                    let below = if i == 0 { end(0, k) } else { value(i - 1) };
                    let above = if i + 1 == cells {
                        end(1, k)
                    } else {
                        value(i + 1)
                    };
                    let width = |i: usize| self.widths[0][i.min(cells - 1)];
                    let before = width(i.saturating_sub(1));
                    (above - below) / (width(i) + 0.5 * (before + width(i + 1)))
                };
                let gained: f64 = (0..cells).map(|i| slope(y, 0, i) * self.widths[0][i]).sum();
                let distance = (self.mass(y) - mass) / gained;
                // Never further than a few cells at once, where the first order holds.
                let widest = self.widths[0].iter().copied().fold(0.0, f64::max);
                let distance = distance.clamp(-2.0 * widest, 2.0 * widest);
                if distance.is_finite() {
                    let internal = self.rotation.is_some().then_some(INTERNAL);
                    for k in (0..4).chain(internal) {
                        let slopes: Vec<f64> = (0..cells).map(|i| slope(y, k, i)).collect();
                        for (i, slope) in slopes.into_iter().enumerate() {
                            y[k * cells + i] -= distance * slope;
                        }
                    }
                }
            }
        }
    }

    /// Unknowns that a side keeps of what returns to it.
    pub(super) fn returned_len(&self, side: &Side) -> usize {
        let next = self.sides.iter().flatten().map(|s| s.offset);
        let end = next.filter(|&o| o > side.offset).min();
        end.unwrap_or(self.layout.populations) - side.offset
    }
}
