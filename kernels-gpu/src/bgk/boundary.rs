//! Molecules that leave through the faces, and those that walls send back.
//!
//! A wall emits as much as leaves the gas through each of its cells in the coming step. The outflow is known only after relaxation; through the faces
//! along y, only after streaming along x. So these kernels relax and stream the cells near the faces once ahead of the pass: k + 1 cells deep
//! for molecules that travel k whole cells, one more for a slope.

mod left_right;
mod near;
mod top_bottom;

pub use left_right::*;
pub(crate) use near::relaxed;
pub use top_bottom::*;

use super::layout::FlowShape;

/// The outflow through a face, for each of its cells, in cells of population.
pub mod leaving {
    /// The density with which a wall sends back its Maxwellian.
    pub const DENSITY: u32 = 0;
    /// Mass, momentum along x and y, and energy of the outflow, less the mirrored part.
    pub const CARRIED: u32 = 1;
    /// Entries.
    pub const LEN: u32 = 5;
}

/// The faces that a launch sums: bit k for face k (left, right, bottom, top).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Faces {
    /// Faces to sum.
    pub mask: u32,
    /// Walls among them: the kernel rewrites their columns of the tables.
    pub walls: u32,
    /// 1 for slopes.
    pub sloped: u32,
    /// Pairs (v_x, v_y) of a block of [`faces_along_y()`].
    pub range: u32,
    /// Blocks of pairs of [`faces_along_y()`].
    pub chunks: u32,
}

/// Offset of a face's record in `emissions`: first the mass emitted per step at unit density, then the factors along v_x.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn emission(shape: &FlowShape, face: u32) -> usize {
    (face * (1 + shape.count_x)) as usize
}
