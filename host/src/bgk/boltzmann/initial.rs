//! The start of a flow.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::bgk::State;
use crate::error::{Error, Result};

/// The distributions of all cells at the start. States and shares take a few numbers a cell: a rank makes the distributions of its own cells alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Initial {
    /// Discrete Maxwellians of a state for each cell, `[iy][ix]`.
    States(Vec<State>),
    /// Mixtures of the incoming distributions of the left and of the right face: the share of the right one in each cell, `[iy][ix]`.
    Shares(Vec<f64>),
    /// The distribution of each cell, `[iy][ix][jx][jy][jz]`.
    Distributions(Vec<f64>),
}

impl Initial {
    /// Those of some cells with so many velocities.
    pub(super) fn of_cells(&self, cells: Range<usize>, nodes: usize) -> Self {
        match self {
            Self::States(states) => Self::States(states[cells].to_vec()),
            Self::Shares(shares) => Self::Shares(shares[cells].to_vec()),
            Self::Distributions(f) => {
                Self::Distributions(f[cells.start * nodes..cells.end * nodes].to_vec())
            }
        }
    }
}

/// Refuses values that are none.
pub(super) fn check_finite(values: &[f64]) -> Result<()> {
    match values.iter().find(|value| !value.is_finite()) {
        Some(bad) => Err(Error::invalid("distributions", bad, "finite values")),
        None => Ok(()),
    }
}
