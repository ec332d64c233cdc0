//! How a run went.

use std::time::Duration;

use serde::Serialize;

use crate::bgk::Units;
use crate::cli::output;
use crate::error::Result;

/// Step, time and residual, each time that a run was looked at.
pub(in crate::cli) type History = Vec<(u64, f64, f64)>;

/// How a run went.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cli) struct Course {
    /// Steps taken altogether.
    pub(in crate::cli) steps: u64,
    /// Time reached.
    pub(in crate::cli) time: f64,
    /// The last residual.
    pub(in crate::cli) residual: f64,
    /// Whether the residual that was asked for is reached, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) converged: Option<bool>,
    /// Step, time and residual, each time that the run was looked at.
    #[serde(skip)]
    pub(in crate::cli) history: History,
    /// Time spent on the steps of this call, and their number.
    #[serde(skip)]
    pub(in crate::cli) spent: (Duration, u64),
}

impl Course {
    /// The history as a table, with seconds where the case is in SI units.
    pub(super) fn table(&self, units: Option<&Units>) -> Result<Vec<u8>> {
        match units {
            None => output::table(&["step", "time", "residual"], &self.history),
            Some(units) => {
                let rows = self.history.iter();
                let rows =
                    rows.map(|&(step, time, residual)| (step, time, residual, time * units.time_s));
                output::table(&["step", "time", "residual", "time_s"], rows)
            }
        }
    }
}
