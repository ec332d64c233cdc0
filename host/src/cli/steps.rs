//! A bound on the number of time steps.

use super::text::short;
use crate::error::{Error, Result};

/// Steps that a run takes at most. They last for days on the smallest grids.
pub(super) const MOST: f64 = 1e12;

/// Steps of this length to an end; refused where they are more than `most`. An `option` has the `value` to blame.
pub(super) fn bounded(
    (option, value): (&'static str, f64),
    [end, step]: [f64; 2],
    most: f64,
) -> Result<f64> {
    let steps = end / step;
    if steps <= most {
        return Ok(steps);
    }
    Err(Error::invalid(
        option,
        short(value),
        format!(
            "an end at most {most:e} steps away: t = {} is {steps:.1e} steps of {} away",
            short(end),
            short(step)
        ),
    ))
}
