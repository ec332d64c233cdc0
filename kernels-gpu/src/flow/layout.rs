//! Cells, walls and sides in memory.

use crate::math::quotient;

/// Velocities that a thread carries at most, all of one quadrant. A lane of a warp prepares a pair of them.
pub const MOST_LANES: u32 = 32;

/// A block's work: its velocities, of one quadrant, in batches of as many as a thread carries.
pub mod work {
    /// Its first node.
    pub const FIRST: usize = 0;
    /// Its nodes, an even number.
    pub const NODES: usize = 1;
    /// Its batches, of which the last one may have fewer nodes.
    pub const BATCHES: usize = 2;
    /// 0 to 3: bit 0 for v_x < 0, bit 1 for v_y < 0.
    pub const QUADRANT: usize = 3;
    /// Integers of a record.
    pub const LEN: usize = 4;
}

/// Codes of cells, as the sweep sees them. A cell with one segment s has `CUT + 2 s`, one with the segments s and s + 1 has `CUT + 2 s + 1`.
pub mod code {
    /// No gas, or no cell.
    pub const NOTHING: u32 = 0;
    /// All faces are open.
    pub const FULL: u32 = 1;
    /// The code of the first segment.
    pub const CUT: u32 = 2;
}

/// Numbers of a wall segment in its record.
pub mod wall {
    /// Open lengths of the cell's faces: west, east, south, north.
    pub const OPEN: usize = 0;
    /// Length times the normal into the gas.
    pub const NORMAL: usize = 4;
    /// Share of the molecules that the wall does not mirror.
    pub const ACCOMMODATION: usize = 6;
    /// Place among the segments that mirror a part.
    pub const PLACE: usize = 7;
    /// Inverse length.
    pub const INVERSE: usize = 8;
    /// Coefficients of the linear closure, `[quadrant][whether the wall lets out][outflow][inflow]`.
    pub const CLOSURE: usize = 10;
    /// Numbers of a record.
    pub const LEN: usize = CLOSURE + 72;
}

/// Numbers of a side of space in its record. Sides are left, right, bottom and top.
pub mod side {
    /// Share of the incoming molecules that are Maxwellian.
    pub const SHARE: usize = 0;
    /// Offset in [`carried`](super::super::plane) of the values that make up the rest, or -1.
    pub const VALUES: usize = 1;
    /// 1 where these values are of the mirror image of a node, 0 where they are of the node.
    pub const MIRRORS: usize = 2;
    /// Offset of the record of the outflow, or -1.
    pub const RECORD: usize = 3;
    /// Numbers of a record.
    pub const LEN: usize = 4;
}

/// Space, velocities and their division, as the kernels see them.
///
/// The rows of cells, counted in the direction of a quadrant, are strips of as many rows as a block has threads. In the skewed layout
/// `[strip][column + row][row]` the threads of a warp read and write side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PlaneShape {
    /// Columns.
    pub nx: u32,
    /// Rows.
    pub ny: u32,
    /// Threads of a block: rows of a strip.
    pub rows: u32,
    /// Strips.
    pub strips: u32,
    /// Nodes.
    pub nodes: u32,
    /// Velocities that a thread carries. An argument of the launch, so that the compiler does not unroll the loop.
    pub lanes: u32,
    /// Segments of walls.
    pub segments: u32,
    /// Offset of the mirrored arrivals at walls, `[place][function][node]`.
    pub mirrored: u32,
    /// Offset of the record of the arrivals at walls that mirror.
    pub arrived: u32,
    /// First block of the launch in the list of blocks.
    pub first_block: u32,
}

impl PlaneShape {
    /// Cells.
    #[inline(always)]
    pub const fn cells(&self) -> u32 {
        self.nx * self.ny
    }
    /// Faces of two sides that meet: rows, then columns.
    #[inline(always)]
    pub const fn faces(&self) -> u32 {
        self.nx + self.ny
    }
    /// Columns that a row marches through: more than the rows of a strip, so that the first row of a strip follows the last of the strip before, and one without a cell at the
    /// end, in which the next row's first values are prepared.
    #[inline(always)]
    pub const fn columns(&self) -> u32 {
        1 + if self.nx > self.rows {
            self.nx
        } else {
            self.rows
        }
    }
    /// Places of the skewed layout in one strip.
    #[inline(always)]
    pub const fn strip_places(&self) -> u32 {
        (self.nx + self.rows - 1) * self.rows
    }
    /// Places of the skewed layout.
    #[inline(always)]
    pub const fn places(&self) -> u32 {
        self.strips * self.strip_places()
    }
    /// The cell at a place of a quadrant; none where the layout has no cell.
    #[inline(always)]
    pub const fn cell_at(&self, quadrant: u32, place: u32) -> Option<u32> {
        let strip = quotient(place, self.strip_places());
        let within = place - strip * self.strip_places();
        let diagonal = quotient(within, self.rows);
        let row = within - diagonal * self.rows;
        let column = diagonal.wrapping_sub(row);
        let line = strip * self.rows + row;
        if line < self.ny && column < self.nx {
            let x = if quadrant & 1 == 0 {
                column
            } else {
                self.nx - 1 - column
            };
            let y = if quadrant & 2 == 0 {
                line
            } else {
                self.ny - 1 - line
            };
            Some(y * self.nx + x)
        } else {
            None
        }
    }
    /// The place of a cell in the order of a quadrant.
    #[inline(always)]
    pub const fn place_of(&self, quadrant: u32, cell: u32) -> u32 {
        let y = quotient(cell, self.nx);
        let x = cell - y * self.nx;
        let column = if quadrant & 1 == 0 {
            x
        } else {
            self.nx - 1 - x
        };
        let line = if quadrant & 2 == 0 {
            y
        } else {
            self.ny - 1 - y
        };
        let strip = quotient(line, self.rows);
        let row = line - strip * self.rows;
        strip * self.strip_places() + (column + row) * self.rows + row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_has_one_place_of_each_quadrant() {
        for (nx, ny, rows) in [(7, 70, 32), (50, 33, 32), (40, 64, 64), (3, 2, 32)] {
            let shape = PlaneShape {
                nx,
                ny,
                rows,
                strips: ny.div_ceil(rows),
                nodes: 8,
                lanes: 8,
                segments: 0,
                mirrored: 0,
                arrived: 0,
                first_block: 0,
            };
            for quadrant in 0..4 {
                let mut seen = 0;
                for place in 0..shape.places() {
                    if let Some(cell) = shape.cell_at(quadrant, place) {
                        assert_eq!(shape.place_of(quadrant, cell), place);
                        seen += 1;
                    }
                }
                assert_eq!(seen, nx * ny);
            }
        }
    }
}
