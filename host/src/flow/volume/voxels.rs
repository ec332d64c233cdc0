//! A wall in space as the zero of a signed distance that is known at the points of a cubic grid, trilinear between them.

use std::sync::Arc;

use crate::flow::level::Grid;

/// The wall.
#[derive(Clone)]
pub(in crate::flow) struct VoxelWall(Arc<Inner>);

struct Inner {
    grid: Grid<3>,
    phi: Vec<f64>,
    bounds: [[f64; 3]; 2],
    centre: [f64; 3],
}

impl VoxelWall {
    /// The wall of these distances; none without solid, or without gas.
    pub(in crate::flow) fn new(grid: Grid<3>, phi: Vec<f64>) -> Option<Self> {
        let [nx, ny, _] = grid.count;
        let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        let (mut sum, mut count) = ([0.0; 3], 0);
        for (k, _) in phi.iter().enumerate().filter(|(_, phi)| **phi < 0.0) {
            let at = [k % nx, k / nx % ny, k / (nx * ny)];
            for axis in 0..3 {
                let x = grid.origin[axis] + grid.spacing * at[axis] as f64;
                bounds[0][axis] = bounds[0][axis].min(x - 0.5 * grid.spacing);
                bounds[1][axis] = bounds[1][axis].max(x + 0.5 * grid.spacing);
                sum[axis] += x;
            }
            count += 1;
        }
        if count == 0 || count == phi.len() {
            return None;
        }
        Some(Self(Arc::new(Inner {
            grid,
            phi,
            bounds,
            centre: sum.map(|sum| sum / count as f64),
        })))
    }

    /// Whether it was made of this grid.
    pub(in crate::flow) fn suits(&self, grid: &Grid<3>) -> bool {
        self.0.grid == *grid
    }

    /// Least and greatest coordinates of the solid.
    pub(in crate::flow) fn bounds(&self) -> [[f64; 3]; 2] {
        self.0.bounds
    }

    /// Centroid of the solid.
    pub(in crate::flow) fn centre(&self) -> [f64; 3] {
        self.0.centre
    }

    /// The distance at a point.
    pub(in crate::flow) fn distance(&self, point: [f64; 3]) -> f64 {
        let Inner { grid, phi, .. } = &*self.0;
        let own = grid.own(point);
        let [x, y, z] = [0, 1, 2].map(|axis| grid.around(axis, own[axis]));
        let [nx, ny, _] = grid.count;
        let along_x = |j: usize, k: usize| {
            let row = (k * ny + j) * nx;
            let (low, high) = (phi[row + x.0], phi[row + x.1]);
            low + x.2 * (high - low)
        };
        let along_y = |k: usize| {
            let (low, high) = (along_x(y.0, k), along_x(y.1, k));
            low + y.2 * (high - low)
        };
        let (low, high) = (along_y(z.0), along_y(z.1));
        low + z.2 * (high - low) + grid.spacing * x.3.hypot(y.3).hypot(z.3)
    }
}

impl PartialEq for VoxelWall {
    fn eq(&self, other: &Self) -> bool {
        self.0.grid == other.0.grid && self.0.phi == other.0.phi
    }
}

impl std::fmt::Debug for VoxelWall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [nx, ny, nz] = self.0.grid.count;
        write!(f, "VoxelWall[{nz}][{ny}][{nx}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::level::Beyond;

    #[test]
    fn linear_distances_are_exact_between_and_beyond_the_samples() {
        let grid = Grid {
            origin: [-1.0; 3],
            spacing: 0.5,
            count: [5, 4, 6],
            beyond: [Beyond::Same, Beyond::Gas, Beyond::Same],
        };
        let plane = |[x, y, z]: [f64; 3]| 0.6 * x - 0.48 * y + 0.64 * z + 0.1;
        let place = |k: usize| [k % 5, k / 5 % 4, k / 20].map(|i| 0.5 * i as f64 - 1.0);
        let wall = VoxelWall::new(grid, (0..120).map(|k| plane(place(k))).collect());
        let wall = wall.expect("a wall");
        let inside = [0.13, -0.41, 0.77];
        assert!((wall.distance(inside) - plane(inside)).abs() < 1e-14);
        let expected = plane([0.13, 0.5, 0.77]) + 0.25;
        assert!((wall.distance([0.13, 0.75, 0.77]) - expected).abs() < 1e-14);
    }
}
