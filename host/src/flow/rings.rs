//! Cells that are rings round an axis: the plane of which they are made.

use super::space::FACES;

/// The plane of rings, its lengths and areas times 2 pi: on the way straight to the axis the equation is that of a plane.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Rings {
    /// Area of the gas of each cell.
    pub(in crate::flow) area: Vec<f64>,
    /// Open length of each face.
    pub(in crate::flow) open: Vec<[f64; FACES]>,
    /// Length times normal of the wall of each facet.
    pub(in crate::flow) walls: Vec<[f64; 2]>,
    /// Length of the wall of each facet, not times 2 pi.
    pub(in crate::flow) lengths: Vec<f64>,
    /// Whether the plane begins at the axis.
    pub(in crate::flow) has_axis: bool,
}
