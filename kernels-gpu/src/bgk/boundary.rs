//! What leaves through the faces, and what walls send back.
//!
//! A wall sends back as much as leaves the gas through each of its cells in the step to come, and what leaves is known only after relaxation (and, through
//! the faces along y, after streaming along x). So these kernels relax and stream the cells near the faces once ahead of the pass: k + 1 cells deep
//! for molecules that travel k whole cells, one more for a slope.

mod left_right;
mod near;
mod top_bottom;

pub use left_right::*;
pub(crate) use near::relaxed;
pub use top_bottom::*;

use super::layout::FlowShape;

/// What leaves through a face, for each of its cells, in cells of population.
pub mod leaving {
    /// The density with which a wall sends back its Maxwellian.
    pub const DENSITY: u32 = 0;
    /// Mass, momentum along x and y, and energy that leave, less what is mirrored.
    pub const CARRIED: u32 = 1;
    /// Entries.
    pub const LEN: u32 = 5;
}

/// Which faces are looked at: bit k for face k (left, right, bottom, top), and whether it is a wall, whose columns of the tables are rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Faces {
    /// Faces to look at.
    pub seen: u32,
    /// Those of them that are walls.
    pub walls: u32,
    /// 1 for slopes.
    pub sloped: u32,
    /// Pairs (v_x, v_y) of a block of [`faces_along_y()`].
    pub range: u32,
    /// Blocks of pairs of [`faces_along_y()`].
    pub chunks: u32,
}

/// The mass that comes in in a step from a wall at unit density stands before its factors along v_x.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn emission(shape: &FlowShape, face: u32) -> usize {
    (face * (1 + shape.count_x)) as usize
}
