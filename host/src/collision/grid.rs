//! The velocity grid.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A grid of N x N x N cubic velocity cells on the cube `[min, max]^3`.
///
/// Cell (i_x, i_y, i_z) has its centre at `min + (i + 1/2) h`, h = (max - min) / N; distributions are stored
/// `f[ix][iy][iz]`, `iz` fastest, and vanish outside the grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct VelocityGrid {
    pub(super) n: usize,
    pub(super) min: f64,
    pub(super) max: f64,
}

/// Widths of cells and largest velocities whose fourth powers and volumes leave room for the distribution.
const SIZES: std::ops::RangeInclusive<f64> = 1e-20..=1e20;

/// A grid as a file may describe it.
#[derive(Deserialize)]
struct Unchecked {
    n: usize,
    min: f64,
    max: f64,
}

impl TryFrom<Unchecked> for VelocityGrid {
    type Error = Error;

    fn try_from(Unchecked { n, min, max }: Unchecked) -> Result<Self> {
        Self::new(n, min, max)
    }
}

impl VelocityGrid {
    /// Fewest cells along an axis: with two, all centres lie on one sphere and energy is proportional to mass.
    pub const MIN_N: usize = 3;
    /// Most cells along an axis.
    pub const MAX_N: usize = 64;

    /// A grid with `n` cells along each axis of `[min, max]^3`.
    ///
    /// # Errors
    /// `n` outside 3..=64, bounds that are not finite, `min >= max`, or sizes beyond 1e-20 to 1e20.
    pub fn new(n: usize, min: f64, max: f64) -> Result<Self> {
        if !(Self::MIN_N..=Self::MAX_N).contains(&n) {
            return Err(Error::invalid(
                "grid.n",
                n,
                format!("{} to {} cells along an axis", Self::MIN_N, Self::MAX_N),
            ));
        }
        if !(min.is_finite() && max.is_finite() && min < max) {
            return Err(Error::invalid(
                "velocity box",
                format!("[{min:?}, {max:?}]"),
                "finite bounds, the lower bound below the upper one",
            ));
        }
        let grid = Self { n, min, max };
        let sizes = [grid.spacing(), min.abs().max(max.abs())];
        if !sizes.iter().all(|size| SIZES.contains(size)) {
            return Err(Error::invalid(
                "velocity box",
                format!("[{min:?}, {max:?}] with {n} cells"),
                format!(
                    "velocities and a width of cells between {:e} and {:e} in magnitude",
                    SIZES.start(),
                    SIZES.end()
                ),
            ));
        }
        Ok(grid)
    }

    /// Sums over all cells of `term(cell, velocity)`: first along z, then along y, then along x.
    ///
    /// No partial sum has more than 64 terms, so the error stays below 3 * 64 roundings of the sum of magnitudes, and
    /// in practice near one.
    pub(super) fn sum<const K: usize>(
        &self,
        term: impl Fn(usize, [f64; 3]) -> [f64; K],
    ) -> [f64; K] {
        let n = self.n;
        let add = |total: &mut [f64; K], part: [f64; K]| {
            for k in 0..K {
                total[k] += part[k];
            }
        };
        let centres: Vec<f64> = (0..n).map(|i| self.centre(i)).collect();
        let mut total = [0.0; K];
        for x in 0..n {
            let mut plane = [0.0; K];
            for y in 0..n {
                let mut row = [0.0; K];
                for z in 0..n {
                    let xi = [centres[x], centres[y], centres[z]];
                    add(&mut row, term(self.index(x, y, z), xi));
                }
                add(&mut plane, row);
            }
            add(&mut total, plane);
        }
        total
    }

    /// Cells along one axis, N.
    pub fn n(&self) -> usize {
        self.n
    }
    /// Cells of the grid, N^3.
    pub fn cells(&self) -> usize {
        self.n.pow(3)
    }
    /// Lower bound of the velocity box on each axis.
    pub fn min(&self) -> f64 {
        self.min
    }
    /// Upper bound of the velocity box on each axis.
    pub fn max(&self) -> f64 {
        self.max
    }
    /// Width h of a cell.
    pub fn spacing(&self) -> f64 {
        (self.max - self.min) / self.n as f64
    }
    /// Volume h^3 of a cell.
    pub fn volume(&self) -> f64 {
        self.spacing().powi(3)
    }
    /// Centre of the cells with index `i` along an axis.
    pub fn centre(&self, i: usize) -> f64 {
        self.min + (i as f64 + 0.5) * self.spacing()
    }
    /// Centre of the cell with linear index `cell`.
    pub fn velocity(&self, cell: usize) -> [f64; 3] {
        let n = self.n;
        [
            self.centre(cell / (n * n)),
            self.centre(cell / n % n),
            self.centre(cell % n),
        ]
    }
    /// Linear index of the cell (i_x, i_y, i_z).
    pub fn index(&self, ix: usize, iy: usize, iz: usize) -> usize {
        (ix * self.n + iy) * self.n + iz
    }
    /// The values of `f` at all cell centres.
    pub fn sample(&self, f: impl Fn([f64; 3]) -> f64) -> Vec<f64> {
        (0..self.cells())
            .map(|cell| f(self.velocity(cell)))
            .collect()
    }
}
