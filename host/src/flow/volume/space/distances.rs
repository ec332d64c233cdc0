//! Signed distances at the corners of all cells.
//!
//! A distance changes by no more than the distance of two points. So one value decides on the side of all corners of a block that is far from the walls;
//! blocks near walls are halved, down to single corners.

use std::ops::Range;

use rayon::prelude::*;

use super::solid::Solids;
use crate::flow::volume::vector::norm;

/// Corners of the first blocks along each axis.
const BLOCK: usize = 8;

/// Corners of a block of which each gets its own value.
const FEW: usize = 8;

/// The distances, with the least of all bodies at each corner; in blocks far from a body its sign with some distance longer than a cell there.
pub(super) fn at_corners(edges: &[Vec<f64>; 3], bodies: &Solids) -> Vec<f64> {
    let [nx, ny, nz] = [0, 1, 2].map(|axis| edges[axis].len());
    let mut phi = vec![f64::INFINITY; nx * ny * nz];
    let widest = [0, 1, 2].map(|axis| widest(&edges[axis]));
    let slabs = phi.par_chunks_mut(BLOCK * nx * ny).enumerate();
    slabs.for_each(|(slab, phi)| {
        let first = slab * BLOCK;
        let planes = first..first + phi.len() / (nx * ny);
        for body in 0..bodies.solids.len() {
            let mut slab = Slab {
                edges,
                widest: &widest,
                bodies,
                body,
                is_exact: bodies.solids[body].is_exact(),
                first,
                phi,
            };
            for y in (0..ny).step_by(BLOCK) {
                for x in (0..nx).step_by(BLOCK) {
                    let ranges = [
                        x..(x + BLOCK).min(nx),
                        y..(y + BLOCK).min(ny),
                        planes.clone(),
                    ];
                    slab.fill(ranges);
                }
            }
        }
    });
    phi
}

/// The width of the wider cell beside each edge.
fn widest(edges: &[f64]) -> Vec<f64> {
    let widths: Vec<f64> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let at = |k: usize| widths.get(k).copied().unwrap_or(0.0);
    (0..edges.len())
        .map(|k| at(k).max(at(k.wrapping_sub(1))))
        .collect()
}

/// Some planes of corners.
struct Slab<'a> {
    edges: &'a [Vec<f64>; 3],
    widest: &'a [Vec<f64>; 3],
    bodies: &'a Solids,
    body: usize,
    is_exact: bool,
    /// The first plane.
    first: usize,
    phi: &'a mut [f64],
}

impl Slab<'_> {
    /// Lowers the values of a block to the distances of the body.
    fn fill(&mut self, ranges: [Range<usize>; 3]) {
        let corners: usize = ranges.iter().map(Range::len).product();
        if corners <= FEW || !self.is_exact {
            let [x, y, z] = &self.edges;
            self.each(&ranges, |this, [i, j, k]| {
                this.bodies.distance_of(this.body, [x[i], y[j], z[k]])
            });
            return;
        }
        let ends = [0, 1, 2].map(|axis| {
            let (edges, range) = (&self.edges[axis], &ranges[axis]);
            [edges[range.start], edges[range.end - 1]]
        });
        let middle = ends.map(|[low, high]| 0.5 * (low + high));
        let radius = norm(ends.map(|[low, high]| 0.5 * (high - low)));
        let cell = norm([0, 1, 2].map(|axis| {
            let widths = self.widest[axis][ranges[axis].clone()].iter();
            widths.copied().fold(0.0, f64::max)
        }));
        let distance = self.bodies.distance_of(self.body, middle);
        // All corners of cells that touch the block are on one side then.
        let left = distance.abs() - radius * (1.0 + 1e-9);
        if left > cell {
            self.each(&ranges, |_, _| left.copysign(distance));
            return;
        }
        let longer = |a: usize, b: usize| match ranges[b].len() > ranges[a].len() {
            true => b,
            false => a,
        };
        let axis = longer(longer(0, 1), 2);
        let half = ranges[axis].start + ranges[axis].len() / 2;
        let (mut low, mut high) = (ranges.clone(), ranges);
        low[axis].end = half;
        high[axis].start = half;
        self.fill(low);
        self.fill(high);
    }

    fn each(&mut self, ranges: &[Range<usize>; 3], value: impl Fn(&Self, [usize; 3]) -> f64) {
        let [nx, ny] = [self.edges[0].len(), self.edges[1].len()];
        for k in ranges[2].clone() {
            for j in ranges[1].clone() {
                let row = ((k - self.first) * ny + j) * nx;
                for i in ranges[0].clone() {
                    let value = value(self, [i, j, k]);
                    self.phi[row + i] = self.phi[row + i].min(value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::volume::space::Solid;

    #[test]
    fn blocks_have_the_sides_of_their_corners() {
        let shapes = [
            "shape = \"sphere\"\ncentre = [0.3, 0.1, -0.2]\nradius = 0.31",
            "shape = \"rectangle\"\ncentre = [-0.5, 0.2]\nsize = [0.3, 0.4]\nangle = 20.0",
            "shape = \"cone\"\nends = [[0.0, -0.5, 0.9], [0.3, -0.5, 0.2]]\nradii = [0.05, 0.2]",
        ];
        let solid = |text: &&str| Solid::new(&toml::from_str(text).expect("a body"));
        let bodies = Solids {
            solids: shapes.iter().map(solid).collect(),
            shifts: vec![[0.0; 3], [2.0, 0.0, 0.0]],
        };
        let line = |count: usize| -> Vec<f64> {
            let edges = (0..=count).map(|k| k as f64 / count as f64);
            // Cells that grow towards both ends.
            edges
                .map(|t| 2.4 * (t - 0.5).powi(3) + 1.4 * (t - 0.5))
                .collect()
        };
        let edges = [line(37), line(50), line(21)];
        let phi = at_corners(&edges, &bodies);
        let [nx, ny] = [edges[0].len(), edges[1].len()];
        let exact = |k: usize| {
            let at = [k % nx, k / nx % ny, k / (nx * ny)];
            bodies.distance([0, 1, 2].map(|axis| edges[axis][at[axis]]))
        };
        for (k, here) in phi.iter().enumerate() {
            assert_eq!(*here > 0.0, exact(k) > 0.0, "{k}: {here}");
            // Ends of an edge that a wall crosses have their own values.
            let along_x = (k % nx + 1 < nx).then_some(k + 1);
            let along_z = (k + nx * ny < phi.len()).then_some(k + nx * ny);
            for next in along_x.into_iter().chain(along_z) {
                if (phi[next] > 0.0) != (*here > 0.0) {
                    assert_eq!([*here, phi[next]], [exact(k), exact(next)]);
                }
            }
        }
    }
}
