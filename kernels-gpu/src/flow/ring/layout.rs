//! Rings, walls, sides and units of work in memory.

use crate::math::quotient;

pub use crate::flow::volume::layout::code;

/// Quadruples of a Maxwellian or of a ring's coefficients, [`Coefficients`](crate::flow::volume::gas::Coefficients).
pub const QUADS: usize = 3;

/// Quadruples of numbers of a ring in its record.
pub mod ring {
    /// Open faces: west, east, south, north.
    pub const OPEN: usize = 0;
    /// The same of the plane through the axis, in which molecules fly straight to the axis.
    pub const STRAIGHT: usize = 1;
    /// Volume of the gas, and its area in the plane.
    pub const SIZE: usize = 2;
    /// Quadruples of a record.
    pub const LEN: usize = 3;
}

/// Quadruples of numbers of a facet in its record.
pub mod wall {
    /// Area times the normal into the gas along x and r, and the same in the plane.
    pub const NORMAL: usize = 0;
    /// The inverse area.
    pub const INVERSE: usize = 1;
    /// Rows of the linear closure, `[octant][whether the wall lets out][outflow]`, of the four octants of v_x and v_r.
    pub const CLOSURE: usize = 2;
    /// Quadruples of a record.
    pub const LEN: usize = CLOSURE + 32;
}

/// Integers of a side in its record. Sides are left, right, bottom and top.
pub mod side {
    /// First Maxwellian in the list of emissions.
    pub const FIRST: usize = 0;
    /// Maxwellians from face to face: 0 where all have the same.
    pub const STRIDE: usize = 1;
    /// First given value, `[face][node]`, or [`NONE`].
    pub const GIVEN: usize = 2;
    /// First value of the outflow that is kept, `[face][node]`, or [`NONE`].
    pub const KEPT: usize = 3;
    /// 1 where the inflow is the image of the outflow.
    pub const MIRRORS: usize = 4;
    /// Integers of a record.
    pub const LEN: usize = 5;
    /// No value.
    pub const NONE: u64 = u64::MAX;
}

/// Integers of a unit of work in its record: a pair of a velocity along the axis and a speed across it, of one sign or of both.
pub mod unit {
    /// Signs: 2 where the second takes in what the first lets out through a mirror.
    pub const SIGNS: usize = 0;
    /// 0 where the first sign is v_x > 0, else 1.
    pub const SIGN: usize = 1;
    /// Node of the first angle, of the first and of the second sign.
    pub const NODE: usize = 2;
    /// Integers of a record.
    pub const LEN: usize = 4;
}

/// Space, velocities and their division, as the kernels see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct RingShape {
    /// Rings along the axis.
    pub nx: u32,
    /// Rings along the radius.
    pub nr: u32,
    /// Angles of a half turn, an even number.
    pub angles: u32,
    /// Nodes from one angle of a pair to the next.
    pub stride: u32,
    /// Nodes with their padding.
    pub nodes: u32,
    /// Facets of walls.
    pub facets: u32,
    /// Units of work.
    pub units: u32,
    /// Rows that a block sweeps at once.
    pub rows: u32,
    /// Groups of directions of a quarter turn: each has a thread for each row.
    pub groups: u32,
    /// 1 where the rings begin at the axis.
    pub has_axis: u32,
}

impl RingShape {
    /// Rings.
    #[inline(always)]
    pub const fn rings(&self) -> u32 {
        self.nx * self.nr
    }
    /// Angles of a quarter turn, and the direction straight to the axis.
    #[inline(always)]
    pub const fn steps(&self) -> u32 {
        quotient(self.angles, 2) + 1
    }
    /// Bands of rows that a block sweeps one after the other.
    #[inline(always)]
    pub const fn bands(&self) -> u32 {
        quotient(self.nr + self.rows - 1, self.rows)
    }
    /// Faces of all sides.
    #[inline(always)]
    pub const fn faces(&self) -> u32 {
        2 * (self.nx + self.nr)
    }
    /// First face of a side.
    #[inline(always)]
    pub const fn first_face(&self, side: u32) -> u32 {
        if side < 2 {
            side * self.nr
        } else {
            2 * self.nr + (side - 2) * self.nx
        }
    }
    /// Quadruples of a block's sums: two a ring, one a facet, and one for each direction of each face.
    #[inline(always)]
    pub const fn sums(&self) -> u32 {
        2 * self.rings() + self.facets + 2 * self.faces()
    }
    /// The place of a facet among these.
    #[inline(always)]
    pub const fn facet(&self, facet: u32) -> u32 {
        2 * self.rings() + facet
    }
    /// The place of what crosses a face of a side.
    #[inline(always)]
    pub const fn face(&self, side: u32, face: u32, enters: bool) -> u32 {
        let face = 2 * (self.first_face(side) + face) + if enters { 1 } else { 0 };
        2 * self.rings() + self.facets + face
    }
    /// Values that a block keeps: the image of a mirror, what passes from band to band, and what arrives at the axis.
    #[inline(always)]
    pub const fn kept(&self) -> u32 {
        (self.angles + 1) * self.nr + (self.steps() + 1) * self.nx
    }
    /// The place of a value that passes from band to band.
    #[inline(always)]
    pub const fn line(&self, step: u32, x: u32) -> u32 {
        (self.angles + 1) * self.nr + step * self.nx + x
    }
    /// The place of a value that arrives at the axis.
    #[inline(always)]
    pub const fn centre(&self, x: u32) -> u32 {
        self.line(self.steps(), x)
    }
    /// Values of a row, of all rows and directions that a block sweeps at once: `[direction][row]`.
    #[inline(always)]
    pub const fn slots(&self) -> u32 {
        self.steps() * self.rows
    }
    /// Values that groups of directions pass on in a step: `[group][row]`.
    #[inline(always)]
    pub const fn handed(&self) -> u32 {
        self.groups * self.rows
    }
}
