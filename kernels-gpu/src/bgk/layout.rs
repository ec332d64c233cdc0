//! Layouts of populations and tables in memory, shared by all kernels of the solution in time.

use crate::math::{Real, quotient};
use crate::memory::In;
use crate::simt::{Simt, WARP};

/// Kinds of the faces of space.
pub mod face {
    /// An inflow or a wall: the columns of the tables beyond the cells hold the incoming equilibrium.
    pub const TABLE: u32 = 0;
    /// Molecules are mirrored.
    pub const MIRROR: u32 = 1;
    /// Outgoing molecules come in at the opposite face.
    pub const PERIODIC: u32 = 2;
    /// A wall that mirrors a part of the molecules: the columns of the tables hold that part (the decay) and the emission (the gain).
    pub const MIXED: u32 = 3;
}

/// A phase space as the kernels see it.
///
/// Populations are stored `[jx][jy][iy][ix / 32][m][ix % 32]`, rows along x padded to `pitch`. All nodes of the innermost axis lie together,
/// since memory reads long runs faster than many short ones. In a reduced velocity space its nodes are the functions g and h, of molecules that rotate
/// also their internal energy E. Tables have one row of `columns` for each quantity. It has a column for each
/// place of a padded plane of cells, then the columns of the faces. Left and right have [`FACE_WIDTH`] equal ones for each row of cells,
/// so that a lane beyond a face reads them as it reads cells; bottom and top have one for each place of a padded row.
///
/// In a plane, populations also have ghosts. `ghost_rows` rows below and above the cells of each pair of nodes lie in memory as those do.
/// `ghost_columns` cells at either end of each row lie behind all rows, `[left, right][jx][jy][iy][m][ghost]`. A ghost holds the relaxed population
/// that comes in from a mirroring face. Ghost rows are streamed along x already. The decay in the column of the face is the mirrored part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FlowShape {
    /// Cells along x and y.
    pub nx: u32,
    /// Cells along y; 1 in one dimension.
    pub ny: u32,
    /// Distance of two rows: `nx` rounded up to whole warps.
    pub pitch: u32,
    /// Nodes along v_x.
    pub count_x: u32,
    /// Nodes along v_y.
    pub count_y: u32,
    /// Nodes along v_z; 2 for g and h, 3 with E.
    pub count_m: u32,
    /// Velocity axes that are integrated out.
    pub integrated: u32,
    /// Mean velocities that may differ from 0: 1 or 2.
    pub flow: u32,
    /// 1 for Shakhov, 0 for BGK, 2 for molecules that rotate, whose equilibrium has Shakhov's term too.
    pub shakhov: u32,
    /// Kinds of the faces, left, right, bottom, top, as in [`face`].
    pub left: u32,
    /// See [`left`](Self::left).
    pub right: u32,
    /// See [`left`](Self::left).
    pub bottom: u32,
    /// See [`left`](Self::left).
    pub top: u32,
    /// Ghosts at either end of a row; 0 where neither face mirrors.
    pub ghost_columns: u32,
    /// Rows of ghosts below and above the cells of a plane.
    pub ghost_rows: u32,
}

/// Rows of the tables before the factors along the axes.
pub mod row {
    /// The decay factor e^(-nu dt); in the columns of the faces the mirrored part of the molecules, 0 but at `face::MIXED`.
    pub const DECAY: u32 = 0;
    /// -c log2(e), with c the inverse temperature of the Maxwellian.
    pub const INVERSE_TEMPERATURE: u32 = 1;
    /// Shakhov's polynomial with the Maxwellian's share in its constant, `p_0, p_x, p_y, q_0, q_x, q_y`, and the mean velocity. None of it for BGK.
    pub const HEAT: u32 = 2;
    /// Factors along v_x, with the amplitude; for BGK also with the gain factor 1 - e^(-nu dt).
    pub const X: u32 = 10;
}

/// Entries for each node of the axis tables.
pub mod axis {
    /// Velocity; for the innermost axis the node's weight in the mass.
    pub const VELOCITY: u32 = 0;
    /// Whole cells that the molecules fly in a step; for the innermost axis the node's weight in the energy.
    pub const WHOLE: u32 = 1;
    /// The fraction of a cell beyond the whole ones; for the innermost axis v_z^2, or the factor of the table of h that replaces it.
    pub const FRACTION: u32 = 2;
    /// For the innermost axis the logarithm to base 2 of the weight.
    pub const LOG_WEIGHT: u32 = 3;
    /// Entries.
    pub const LEN: u32 = 4;
}

/// Columns of the tables for each row of cells at the left and right faces: as many as one access reads.
pub const FACE_WIDTH: u32 = 4;

/// Sums that a cell needs: BGK's n, n u_x, n u_y and the sum of |v|^2 f, then Shakhov's sums of v |v|^2 f and of v_x^2, v_y^2 and v_x v_y times f.
pub const SUMS_BGK: u32 = 4;

/// See [`SUMS_BGK`].
pub const SUMS_SHAKHOV: u32 = 9;

/// The same of molecules that rotate, with the sums of E and v E behind.
pub const SUMS_ROTATING: u32 = 12;

/// Sums that the nodes of a chunk, which share v_x, leave in a cell: of f, v_y f and the energy that is not v_x's; for Shakhov also of v_y times that
/// energy, and of v_y^2 f.
pub const PASS_SUMS_BGK: u32 = 3;

/// See [`PASS_SUMS_BGK`].
pub const PASS_SUMS_SHAKHOV: u32 = 5;

/// The same of molecules that rotate, with the sums of E and v_y E behind.
pub const PASS_SUMS_ROTATING: u32 = 7;

/// Functions of a velocity in the reduced space of molecules that rotate: g, h and E.
pub const FUNCTIONS: usize = 3;

/// Value of [`FlowShape::shakhov`] of molecules that rotate.
pub const ROTATING: u32 = 2;

impl FlowShape {
    /// Places of a plane of cells.
    #[inline(always)]
    pub const fn plane(&self) -> u32 {
        self.pitch * self.ny
    }
    /// Where a row of cells begins among the populations of a pair (v_x, v_y) and a node of the innermost axis; its cells are at [`in_row`](Self::in_row).
    #[inline(always)]
    pub const fn row_start(&self, pair: u32, m: u32, iy: u32) -> u32 {
        let row = pair * self.rows_of_pair() + self.ghost_rows + iy;
        row * self.pitch * self.count_m + m * WARP
    }
    /// Rows of populations of a pair (v_x, v_y), with those of ghosts.
    #[inline(always)]
    pub const fn rows_of_pair(&self) -> u32 {
        self.ny + 2 * self.ghost_rows
    }
    /// Where the ghosts beyond the left (0) or right (1) end of the first row begin, of a pair and a node of the innermost axis; those of the next row
    /// follow after `count_m ghost_columns` words.
    #[inline(always)]
    pub const fn ghosts_of_row(&self, side: u32, pair: u32, m: u32) -> u32 {
        let pairs = self.count_x * self.count_y;
        let row = (side * pairs + pair) * self.ny;
        self.populations() as u32 + (row * self.count_m + m) * self.ghost_columns
    }
    /// Where a cell lies in a row of populations.
    #[inline(always)]
    pub const fn in_row(&self, ix: u32) -> u32 {
        (ix & !(WARP - 1)) * self.count_m + (ix & (WARP - 1))
    }
    /// Where a population lies.
    #[inline(always)]
    pub const fn population(&self, [jx, jy, m]: [u32; 3], place: u32) -> u32 {
        self.row_start(jx * self.count_y + jy, m, 0) + self.in_row(place)
    }
    /// Places of all populations, and of zeros for a warp behind them: a thread that reads a node and the next one may read beyond the last.
    #[inline(always)]
    pub const fn populations(&self) -> usize {
        let nodes = self.count_x as usize * self.count_y as usize * self.count_m as usize;
        nodes * (self.rows_of_pair() * self.pitch) as usize + WARP as usize
    }
    /// Places of all populations and ghosts. Reads of the ghosts of ghost rows, whose values have no effect, may reach beyond the last.
    #[inline(always)]
    pub const fn words(&self) -> usize {
        let of_row = (self.count_m * self.ghost_columns) as usize;
        let rows = 2 * self.count_x as usize * self.count_y as usize * self.ny as usize;
        self.populations() + (rows + 1 + self.ghost_rows as usize) * of_row
    }
    /// Columns of the tables, rounded up to whole warps.
    #[inline(always)]
    pub const fn columns(&self) -> u32 {
        (self.face_columns(3) + self.pitch).next_multiple_of(WARP)
    }
    /// First of the columns of a face: 0 left, 1 right, 2 bottom, 3 top.
    #[inline(always)]
    pub const fn face_columns(&self, face: u32) -> u32 {
        match face {
            0 => self.plane(),
            1 => self.plane() + FACE_WIDTH * self.ny,
            2 => self.plane() + 2 * FACE_WIDTH * self.ny,
            _ => self.plane() + 2 * FACE_WIDTH * self.ny + self.pitch,
        }
    }
    /// Row of the first factor along v_y.
    #[inline(always)]
    pub const fn row_y(&self) -> u32 {
        row::X + self.count_x
    }
    /// Row of the first factor along the innermost axis.
    #[inline(always)]
    pub const fn row_m(&self) -> u32 {
        row::X + self.count_x + self.count_y
    }
    /// Row that the factors along the innermost axis are made of: the inverse temperature, or the table of h.
    #[inline(always)]
    pub const fn row_of_inner(&self) -> u32 {
        if self.integrated > 0 {
            self.row_m() + 1
        } else {
            row::INVERSE_TEMPERATURE
        }
    }
    /// First of the two rows for the flux of E, the vector `4 Q_r/(n T*)`, of molecules that rotate.
    #[inline(always)]
    pub const fn row_internal(&self) -> u32 {
        self.row_m() + self.count_m
    }
    /// Rows of the tables.
    #[inline(always)]
    pub const fn rows(&self) -> u32 {
        let internal = if self.rotates() { 2 } else { 0 };
        self.row_internal() + internal
    }
    /// Whether the molecules rotate.
    #[inline(always)]
    pub const fn rotates(&self) -> bool {
        self.shakhov == ROTATING
    }
    /// First entry of a node of v_x in the axis tables.
    #[inline(always)]
    pub const fn axis_x(&self, j: u32) -> u32 {
        axis::LEN * j
    }
    /// First entry of a node of v_y.
    #[inline(always)]
    pub const fn axis_y(&self, j: u32) -> u32 {
        axis::LEN * (self.count_x + j)
    }
    /// First entry of a node of the innermost axis.
    #[inline(always)]
    pub const fn axis_m(&self, m: u32) -> u32 {
        axis::LEN * (self.count_x + self.count_y + m)
    }
    /// Entries of the axis tables.
    #[inline(always)]
    pub const fn axis_entries(&self) -> u32 {
        self.axis_m(self.count_m)
    }
    /// Sums of a chunk for each cell.
    #[inline(always)]
    pub const fn pass_sums(&self) -> u32 {
        if self.rotates() {
            PASS_SUMS_ROTATING
        } else {
            self.pass_sums_of_atoms()
        }
    }
    /// The same of single atoms, for their passes.
    #[inline(always)]
    pub const fn pass_sums_of_atoms(&self) -> u32 {
        if self.shakhov != 0 {
            PASS_SUMS_SHAKHOV
        } else {
            PASS_SUMS_BGK
        }
    }
    /// Sums for each cell.
    #[inline(always)]
    pub const fn sums(&self) -> u32 {
        if self.rotates() {
            SUMS_ROTATING
        } else if self.shakhov != 0 {
            SUMS_SHAKHOV
        } else {
            SUMS_BGK
        }
    }
}

/// An entry of a table.
#[inline(always)]
#[track_caller]
pub(crate) fn entry<S: Simt, T: Real>(
    t: &S,
    tables: In<'_, T>,
    shape: &FlowShape,
    row: u32,
    column: u32,
) -> T {
    tables.get(t, (row * shape.columns() + column) as usize)
}

/// `index / count` and the remainder.
#[inline(always)]
pub(crate) fn split(index: u32, count: u32) -> (u32, u32) {
    let whole = quotient(index, count);
    (whole, index - whole * count)
}

/// `index / count`, rounded up.
#[inline(always)]
pub(crate) fn ceiling(index: u32, count: u32) -> u32 {
    quotient(index + count.wrapping_sub(1), count)
}
