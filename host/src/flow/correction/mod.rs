//! The common part of corrections by the equations of the continuum: fluxes of a gas near equilibrium, equations of a net of cells, and their factors.

mod dissection;
mod fluxes;
mod net;
mod sparse;
mod vertices;

pub(in crate::flow) use dissection::Dissection;
pub(in crate::flow) use fluxes::{OUTWARD, PARTS, State};
pub(in crate::flow) use net::{Around, Equations, Meets, Net, Outer, Place, exchange, grow};
pub(in crate::flow) use sparse::{Entry, Factors};
pub(in crate::flow) use vertices::Vertices;

/// Share below which a correction is not worth its time.
const LEAST_SHARE: f64 = 0.05;

/// Least part of an inflow or an emission that a correction leaves.
const LEAST_PART: f64 = 0.2;

/// The share of a correction that is added; none in thin gas, which needs no correction.
pub(in crate::flow) fn share(delta: f64) -> Option<f64> {
    let share = 1.0 / (1.0 + 9.0 / (delta * delta));
    (share >= LEAST_SHARE).then_some(share)
}
