//! The quantity that is asked of the numbers of a file.

use serde::Serialize;

/// The quantity computed from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Quantity {
    Sum,
    Abs,
    Squares,
    Norm,
    Mean,
    Var,
    Std,
    Cumulative,
    Offsets,
    Dot,
}
