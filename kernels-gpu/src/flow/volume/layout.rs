//! Cells, walls, sides and batches of velocities in memory.

use crate::math::quotient;

/// Codes of cells, as the sweep sees them. A cell with facet s has `CUT + s`.
pub mod code {
    /// No gas, or no cell.
    pub const NOTHING: u32 = 0;
    /// All faces are open.
    pub const FULL: u32 = 1;
    /// The code of the first facet.
    pub const CUT: u32 = 2;
}

/// Quadruples of numbers of a facet in its record.
pub mod wall {
    /// Open areas of the cell's faces: west, east, south, north.
    pub const OPEN: usize = 0;
    /// Open areas of back and front, and the inverse area of the facet.
    pub const REST: usize = 1;
    /// Area times the normal into the gas.
    pub const NORMAL: usize = 2;
    /// Rows of the linear closure, `[octant][whether the wall lets out][outflow]`.
    pub const CLOSURE: usize = 3;
    /// Quadruples of a record.
    pub const LEN: usize = CLOSURE + 64;
}

/// Integers of a pair of sides in the direction of an octant along an axis.
pub mod border {
    /// First value of the inflow; [`STRIDE`] from face to face comes behind.
    pub const INFLOW: u32 = 0;
    /// First value of the outflow, and behind it the stride.
    pub const OUTFLOW: u32 = 2;
    /// From the first value to the stride.
    pub const STRIDE: u32 = 1;
    /// Integers of a record.
    pub const LEN: u32 = 4;
}

/// Integers of a block in its record.
pub mod work {
    /// First batch.
    pub const FIRST: usize = 0;
    /// Batches.
    pub const BATCHES: usize = 1;
    /// Octant of their velocities.
    pub const OCTANT: usize = 2;
    /// Packs of a batch.
    pub const PACKS: usize = 3;
    /// Batches that a thread carries at once.
    pub const TOGETHER: usize = 4;
    /// Place of its first velocity among those of a face.
    pub const PLACE: usize = 5;
    /// Integers of a record.
    pub const LEN: usize = 6;
}

/// Integers of a launch in its record: the first block of each octant and the end, then the number of blocks.
pub mod ranges {
    /// The number of blocks.
    pub const COUNT: usize = 16;
    /// Integers of a record.
    pub const LEN: u32 = 17;
}

/// Quadruples of a cell in the fields, and of a Maxwellian in the list of emissions.
pub const QUADS: u32 = 3;

/// Space, velocities and their division, as the kernels see them.
///
/// Cells count in the direction of an octant. A block's threads are a tile of `lanes` columns along y and `rows` along z. In the layout
/// `[z][tile along y][(x + lane) mod nx][lane]` the threads of a row read and write side by side as they march along x, each a cell behind the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct VolumeShape {
    /// Cells along x.
    pub nx: u32,
    /// Cells along y.
    pub ny: u32,
    /// Cells along z.
    pub nz: u32,
    /// Columns of a tile along y.
    pub lanes: u32,
    /// Columns of a tile along z.
    pub rows: u32,
    /// Velocities of a pack: those that fill 16 bytes.
    pub width: u32,
    /// Packs that a thread carries at once, at most.
    pub packs: u32,
    /// Packs of the longer half of the axis along z.
    pub heights: u32,
    /// Batches of a block, at most.
    pub batches: u32,
    /// Facets of walls.
    pub facets: u32,
    /// First block of the launch in the list of blocks.
    pub first_block: u32,
}

impl VolumeShape {
    /// Cells.
    #[inline(always)]
    pub const fn cells(&self) -> u32 {
        self.nx * self.ny * self.nz
    }
    /// Threads of a block.
    #[inline(always)]
    pub const fn threads(&self) -> u32 {
        self.lanes * self.rows
    }
    /// Tiles along y.
    #[inline(always)]
    pub const fn tiles_y(&self) -> u32 {
        quotient(self.ny + self.lanes - 1, self.lanes)
    }
    /// Tiles along z.
    #[inline(always)]
    pub const fn tiles_z(&self) -> u32 {
        quotient(self.nz + self.rows - 1, self.rows)
    }
    /// Steps of a thread in a tile: more than the cells along x where a tile must wait for the values of the tile before.
    #[inline(always)]
    pub const fn steps(&self) -> u32 {
        let least = self.lanes + self.rows;
        if self.nx > least { self.nx } else { least }
    }
    /// Places of one layer of cells.
    #[inline(always)]
    pub const fn layer(&self) -> u32 {
        self.tiles_y() * self.nx * self.lanes
    }
    /// Places of the layout.
    #[inline(always)]
    pub const fn places(&self) -> u32 {
        self.nz * self.layer()
    }
    /// Faces of three sides that meet: those across x, then across y, then across z.
    #[inline(always)]
    pub const fn faces(&self) -> u32 {
        self.ny * self.nz + self.nx * self.nz + self.nx * self.ny
    }
    /// The face of a cell among those of a side across an axis.
    #[inline(always)]
    pub const fn face_of(&self, axis: u32, [x, y, z]: [u32; 3]) -> u32 {
        match axis {
            0 => z * self.ny + y,
            1 => z * self.nx + x,
            _ => y * self.nx + x,
        }
    }
    /// Slots of a pack in shared memory: those of fluxes along y and along z, doubled, with a slot before each row, and those of fluxes along x, with two more a row for sides.
    #[inline(always)]
    pub const fn slots(&self) -> u32 {
        let doubled = self.rows * (self.lanes + 1) + (self.rows + 1) * self.lanes + self.rows;
        2 * doubled + self.threads()
    }
    /// Values that pass from tile to tile in a block.
    #[inline(always)]
    pub const fn passed(&self) -> u32 {
        self.width * self.packs * (self.rows * self.nx + self.layer())
    }
    /// Numbers that a block exchanges in shared memory.
    #[inline(always)]
    pub const fn exchanged(&self) -> u32 {
        self.width * self.packs * self.slots()
    }
    /// Numbers of one half of the table of velocities along z.
    #[inline(always)]
    pub const fn table(&self) -> u32 {
        2 * self.width * self.heights
    }
    /// The coordinates of a cell in the direction of an octant, from its own or the other way.
    #[inline(always)]
    pub const fn turned(&self, octant: u32, [x, y, z]: [u32; 3]) -> [u32; 3] {
        [
            if octant & 1 == 0 { x } else { self.nx - 1 - x },
            if octant & 2 == 0 { y } else { self.ny - 1 - y },
            if octant & 4 == 0 { z } else { self.nz - 1 - z },
        ]
    }
    /// The cell at a place of an octant; none where the layout has no cell.
    #[inline(always)]
    pub const fn cell_at(&self, octant: u32, place: u32) -> Option<[u32; 3]> {
        let line = quotient(place, self.lanes);
        let lane = place - line * self.lanes;
        let strip = quotient(line, self.nx);
        let diagonal = line - strip * self.nx;
        let z = quotient(strip, self.tiles_y());
        let y = (strip - z * self.tiles_y()) * self.lanes + lane;
        let behind = lane - quotient(lane, self.nx) * self.nx;
        let x = if diagonal < behind {
            diagonal + self.nx - behind
        } else {
            diagonal - behind
        };
        if y < self.ny && z < self.nz {
            Some(self.turned(octant, [x, y, z]))
        } else {
            None
        }
    }
    /// The place of a cell in the order of an octant.
    #[inline(always)]
    pub const fn place_of(&self, octant: u32, cell: [u32; 3]) -> u32 {
        let [x, y, z] = self.turned(octant, cell);
        let tile = quotient(y, self.lanes);
        let lane = y - tile * self.lanes;
        let ahead = x + lane;
        let diagonal = ahead - quotient(ahead, self.nx) * self.nx;
        ((z * self.tiles_y() + tile) * self.nx + diagonal) * self.lanes + lane
    }
    /// The number of a cell.
    #[inline(always)]
    pub const fn cell(&self, [x, y, z]: [u32; 3]) -> u32 {
        (z * self.ny + y) * self.nx + x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_has_one_place_of_each_octant() {
        for ([nx, ny, nz], lanes, rows) in [
            ([7, 70, 3], 32, 8),
            ([50, 33, 2], 16, 2),
            ([2, 5, 9], 8, 4),
            ([1, 3, 1], 32, 1),
        ] {
            let shape = VolumeShape {
                nx,
                ny,
                nz,
                lanes,
                rows,
                width: 4,
                packs: 1,
                heights: 1,
                batches: 1,
                facets: 0,
                first_block: 0,
            };
            for octant in 0..8 {
                let mut seen = 0;
                for place in 0..shape.places() {
                    if let Some(cell) = shape.cell_at(octant, place) {
                        assert_eq!(shape.place_of(octant, cell), place);
                        seen += 1;
                    }
                }
                assert_eq!(seen, shape.cells());
            }
        }
    }

    /// As a row marches, its threads are at neighbouring places.
    #[test]
    fn a_wavefront_is_side_by_side() {
        let shape = VolumeShape {
            nx: 9,
            ny: 12,
            nz: 2,
            lanes: 4,
            rows: 2,
            width: 4,
            packs: 1,
            heights: 1,
            batches: 1,
            facets: 0,
            first_block: 0,
        };
        for step in 3..9 {
            let at = |lane: u32| shape.place_of(0, [step - lane, 4 + lane, 1]);
            for lane in 1..4 {
                assert_eq!(at(lane), at(0) + lane);
            }
        }
    }
}
