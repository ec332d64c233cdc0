//! The unknowns of the iteration.

use crate::flow::gas::{InternalEnergy, UNKNOWNS};

/// The unknowns of a flow.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Unknowns {
    /// Fields of each cell.
    pub(in crate::flow) cells: Vec<[f64; UNKNOWNS]>,
    /// Density that each segment emits.
    pub(in crate::flow) segments: Vec<f64>,
    /// Density that the faces of side walls emit.
    pub(in crate::flow) sides: [Vec<f64>; 4],
    /// Images of the outflow at segments with partial accommodation, `[segment][g, h][node]`.
    pub(in crate::flow) mirrored: Vec<f64>,
    /// Inflow of the last sweep that periodic sides and opposite mirrors hand on.
    pub(in crate::flow) lagged: [Vec<f64>; 4],
    /// Those of the internal energy, of molecules that rotate.
    pub(in crate::flow) internal: Option<Internal>,
}

/// The unknowns of the internal energy.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Internal {
    /// Of each cell.
    pub(in crate::flow) cells: Vec<InternalEnergy>,
    /// As those of the molecules.
    pub(in crate::flow) mirrored: Vec<f64>,
    /// As that of the molecules.
    pub(in crate::flow) lagged: [Vec<f64>; 4],
}

/// The function of the velocity that a sweep carries.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::flow) enum Carried {
    /// The molecules.
    Molecules,
    /// Their internal energy.
    InternalEnergy,
}
