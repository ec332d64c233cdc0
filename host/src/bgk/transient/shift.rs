//! The shift of a row of cells by a distance that is not a whole number of them.

use rarefy_kernels::Real;
use serde::{Deserialize, Serialize};

use crate::bgk::{Axis, Space, VelocitySpace};
use crate::compute::{Precision, check_shortest};
use crate::error::{Error, Result};

/// How the fraction of a cell that molecules travel in a step is interpolated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scheme {
    /// First-order upwind, as in the paper (eq. 12).
    Upwind,
    /// Second order with van Leer's limited slopes.
    #[default]
    VanLeer,
}

/// The distance |v| dt in cells: whole cells and the fraction left over (eq. 15).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Courant {
    /// Whole cells, k.
    pub whole: usize,
    /// The rest, a, below 1.
    pub fraction: f64,
}

impl Courant {
    /// The distance that a molecule of velocity `v` travels in a time step across cells of this width.
    pub fn new(v: f64, dt: f64, width: f64) -> Self {
        let distance = v.abs() * dt / width;
        let whole = distance.floor();
        Self {
            whole: whole as usize,
            fraction: distance - whole,
        }
    }

    /// The whole distance, k + a.
    pub fn distance(self) -> f64 {
        self.whole as f64 + self.fraction
    }

    /// The distances of all nodes of an axis along a direction of space.
    pub fn of_axis(axis: &Axis, space: &Space, direction: usize, dt: f64) -> Vec<Self> {
        let width = space.step(direction);
        axis.nodes()
            .iter()
            .map(|&v| Self::new(v, dt, width))
            .collect()
    }
}

/// Fewest cells along a direction: molecules must not cross all of them but two in a step.
const LEAST_CELLS: usize = 3;

/// Refuses a time step that is none, in which the fastest molecules cross all of space, or that is lost in roundoff.
pub(in crate::bgk) fn check_step(
    space: &Space,
    velocity: &VelocitySpace,
    dt: f64,
    precision: Precision,
) -> Result<()> {
    let mut longest = 0.0_f64;
    if !(dt.is_finite() && dt > 0.0) {
        return Err(Error::invalid(
            "dt",
            dt,
            "a time step that must be positive and finite",
        ));
    }
    for direction in 0..space.dimensions() {
        let axis = &velocity.axes()[direction];
        let cells = [space.nx(), space.ny()][direction];
        let most = Courant::new(axis.fastest(), dt, space.step(direction)).distance();
        longest = longest.max(most);
        if most + 2.0 > cells as f64 {
            let along = ["x", "y"][direction];
            if cells < LEAST_CELLS {
                return Err(Error::invalid(
                    "cells",
                    format!("{cells} along {along}"),
                    format!("at least {LEAST_CELLS} in a run in time"),
                ));
            }
            return Err(Error::invalid(
                "dt",
                format!("{dt:e}"),
                format!(
                    "a smaller time step: the fastest molecules cross {most:.3} cells along {along}, of {cells} there are, and two less than all is the limit"
                ),
            ));
        }
    }
    check_shortest(dt, longest, precision)
}

/// `c A B / (A + B)` of the differences to the neighbours, and 0 at an extremum: van Leer's slope with c = 2, half of it with c = 1.
#[inline(always)]
pub(in crate::bgk) fn van_leer<T: Real>(c: T, before: T, after: T) -> T {
    let slope = c * before * after / (before + after);
    if before * after > T::ZERO {
        slope
    } else {
        T::ZERO
    }
}
