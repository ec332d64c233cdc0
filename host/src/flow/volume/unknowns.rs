//! The unknowns of the iteration.

use super::gas::{InternalEnergy, UNKNOWNS};
use super::sweep::SIDES;

/// The unknowns of a flow.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Unknowns {
    /// Fields of each cell.
    pub(in crate::flow) cells: Vec<[f64; UNKNOWNS]>,
    /// Density that each facet emits.
    pub(in crate::flow) facets: Vec<f64>,
    /// Images of the molecules at walls that mirror a part, `[place][node]`.
    pub(in crate::flow) images: Vec<f64>,
    /// Density that the faces of side walls emit; one of an inflow.
    pub(in crate::flow) sides: [Vec<f64>; SIDES],
    /// Inflow of the last sweep that periodic sides, mirrors that face each other and walls hand on, `[face][node]`.
    pub(in crate::flow) lagged: [Vec<f64>; SIDES],
    /// Internal energy of each cell; empty for single atoms.
    pub(in crate::flow) internal: Vec<InternalEnergy>,
    /// Its inflow, as `lagged`.
    pub(in crate::flow) internal_lagged: [Vec<f64>; SIDES],
    /// Its part that walls mirror, as `images`.
    pub(in crate::flow) internal_images: Vec<f64>,
}
