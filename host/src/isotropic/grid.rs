//! The energy grid and the quadrature on it.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// M equal cells of energy from 0 to E_max; cell i (from 0) has its centre at (i + 1/2) dE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct EnergyGrid {
    cells: usize,
    emax: f64,
}

/// A grid as a file may describe it.
#[derive(Deserialize)]
struct Unchecked {
    cells: usize,
    emax: f64,
}

impl TryFrom<Unchecked> for EnergyGrid {
    type Error = Error;

    fn try_from(grid: Unchecked) -> Result<Self> {
        Self::new(grid.cells, grid.emax)
    }
}

impl EnergyGrid {
    /// Fewest cells of a grid.
    pub const MIN_CELLS: usize = 2;
    /// Most cells of a grid.
    pub const MAX_CELLS: usize = 16384;

    /// A grid of `cells` cells up to the energy `emax`.
    ///
    /// # Errors
    /// Fewer than [`MIN_CELLS`](Self::MIN_CELLS) or more than [`MAX_CELLS`](Self::MAX_CELLS) cells; an energy that is not positive
    /// and finite.
    pub fn new(cells: usize, emax: f64) -> Result<Self> {
        if !(Self::MIN_CELLS..=Self::MAX_CELLS).contains(&cells) {
            return Err(Error::invalid(
                "grid.cells",
                cells,
                format!(
                    "{} to {} cells of an energy grid",
                    Self::MIN_CELLS,
                    Self::MAX_CELLS
                ),
            ));
        }
        let grid = Self { cells, emax };
        if !(emax > 0.0 && grid.scale().is_normal() && (emax * emax * emax).is_finite()) {
            return Err(Error::invalid(
                "emax",
                emax,
                "a largest energy that must be positive and finite",
            ));
        }
        Ok(grid)
    }

    /// Cells M.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Upper end E_max.
    pub fn emax(&self) -> f64 {
        self.emax
    }

    /// Width dE of a cell.
    pub fn width(&self) -> f64 {
        self.emax / self.cells as f64
    }

    /// Energy at the centre of cell `i`.
    pub fn energy(&self, i: usize) -> f64 {
        (i as f64 + 0.5) * self.width()
    }

    /// Energies at the centres of all cells.
    pub fn energies(&self) -> Vec<f64> {
        (0..self.cells).map(|i| self.energy(i)).collect()
    }

    /// dE^(3/2).
    pub(super) fn scale(&self) -> f64 {
        self.width() * self.width().sqrt()
    }

    /// Factor from w_i f_i to the number of particles of cell i: 2^(5/2) pi dE^(3/2).
    pub fn number_scale(&self) -> f64 {
        32f64.sqrt() * PI * self.scale()
    }
}

/// Weights w_i of the integral of sqrt(E) f over a cell, in cell units; also what the rates are divided by. Of [`CollisionKernel::Gamma`](super::CollisionKernel::Gamma) the
/// weights E^(alpha - 1) of the shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Weights {
    /// w_i = sqrt(i - 1/2), the value at the centre, as in the paper: errors of order dE^(3/2).
    #[default]
    Center,
    /// w_i = 2/3 (i^(3/2) - (i-1)^(3/2)), the exact integral of sqrt(E) over the cell: errors several times smaller. Of shares
    /// (i^alpha - (i-1)^alpha) / alpha: below alpha = 1 the centre of the first cell misses much of the integral.
    Cell,
}

impl Weights {
    /// The weight of cell `i`, counted from 0.
    pub fn weight(self, i: usize) -> f64 {
        match self {
            Self::Center => (i as f64 + 0.5).sqrt(),
            Self::Cell => {
                // (i+1)^(3/2) - i^(3/2) without cancellation.
                let (low, high) = (i as f64, i as f64 + 1.0);
                2.0 / 3.0 * (high * high * high - low * low * low)
                    / (high * high.sqrt() + low * low.sqrt())
            }
        }
    }

    /// The weight E^(alpha - 1) of cell `i`, counted from 0, in cell units: at its centre, or the exact integral over it.
    pub fn share(self, alpha: f64, i: usize) -> f64 {
        let low = i as f64;
        match self {
            Self::Center => (low + 0.5).powf(alpha - 1.0),
            Self::Cell if i == 0 => 1.0 / alpha,
            // (i+1)^alpha - i^alpha without cancellation.
            Self::Cell => low.powf(alpha) * (alpha * low.recip().ln_1p()).exp_m1() / alpha,
        }
    }
}
