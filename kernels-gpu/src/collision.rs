//! Kernels of the deterministic Boltzmann collision integral on a velocity grid of N x N x N cubic cells.
//!
//! The algorithm is that of V. V. Aristov, A. A. Frolova, S. A. Zabelok, V. I. Kolobov and R. R. Arslanbekov,
//! "Acceleration of Deterministic Boltzmann Solver with Graphics Processing Units" (2011).
//!
//! The gain and the collision frequency are in lattice units: velocities in cell widths, solid angles in steradians; the
//! physical operator is `C h^(3+gamma)` times the lattice operator. A distribution is stored `f[ix][iy][iz]`, `iz` fastest.
//!
//! | file | kernels |
//! |---|---|
//! | `convolution` | the collision frequency by a padded transform |
//! | `fast` | the sum over the nodes, restructured |
//! | `paper` | the paper's sum, term by term |
//! | `correction` | the conservative correction |
//! | `correction_steps` | its sums by several blocks |
//! | `balanced` | the balanced correction, which keeps rates and equilibria |
//! | `spectral` | the spectral operator: gain in Carleman's variables, by transforms |
//! | `mirrors` | means over images, where distributions are symmetric |
//! | `limit` | the limiter that keeps f >= 0 |
//! | `relax` | time stepping and moments |

mod balanced;
mod convolution;
mod correction;
mod correction_steps;
mod fast;
mod limit;
mod mirrors;
mod paper;
mod penalty;
pub(crate) mod reduce;
mod relax;
mod spectral;

pub use balanced::*;
pub use convolution::*;
pub use correction::*;
pub use correction_steps::*;
pub use fast::*;
pub use limit::*;
pub use mirrors::*;
pub use paper::*;
pub use penalty::*;
pub use reduce::REDUCE_THREADS;
pub use relax::*;
pub use spectral::*;

/// The velocity grid, as kernels see it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct GridShape {
    /// Lower bound of the velocity box on each axis.
    pub min: f64,
    /// Width of a cell.
    pub spacing: f64,
    /// Cells along one axis.
    pub n: u32,
    /// Cells of the grid.
    pub cells: u32,
}

impl GridShape {
    /// Velocity at the centre of the cells with index `i` along an axis.
    #[inline(always)]
    pub(crate) fn centre(&self, i: u32) -> f64 {
        self.min + (f64::from(i) + 0.5) * self.spacing
    }

    /// Velocity in the middle of the box along an axis.
    #[inline(always)]
    pub(crate) fn middle(&self) -> f64 {
        self.min + 0.5 * f64::from(self.n) * self.spacing
    }

    /// Velocity at the centre of a cell.
    #[inline(always)]
    pub(crate) fn velocity(&self, cell: u32) -> [f64; 3] {
        let row = crate::math::quotient(cell, self.n);
        let ix = crate::math::quotient(row, self.n);
        [
            self.centre(ix),
            self.centre(row - ix * self.n),
            self.centre(cell - row * self.n),
        ]
    }
}
