//! Cell vectors: the neighbouring cells of a lane, and their shift along x.

use super::super::layout::{FACE_WIDTH, FlowShape, face};
use super::super::sweep::{shift, source};
use crate::Pack;
use crate::math::Real;
use crate::memory::In;
use crate::simt::{Simt, WARP};

/// Cells that the owner lanes of a warp write. The halo lane at the upstream end only passes its cells on; with slopes there is one at the other end too.
#[inline(always)]
pub const fn owned_cells(width: u32, sloped: bool) -> u32 {
    width * if sloped { WARP - 2 } else { WARP - 1 }
}

/// Warps that a row of cells takes.
#[inline(always)]
pub const fn row_tiles(nx: u32, width: u32, sloped: bool) -> u32 {
    nx.div_ceil(owned_cells(width, sloped))
}

/// Bits of a code of [`CellVector::from`]: the cell, then the face that a place lies beyond (1 low, 2 high), then whether it is mirrored.
const CELL_BITS: u32 = 29;

/// Most cells along x that a cell vector can address.
pub const CELL_LIMIT: u32 = 1 << CELL_BITS;

/// `W` neighbouring cells of a row, and the cells that their molecules come from.
#[derive(Clone, Copy)]
pub(super) struct CellVector<const W: usize> {
    upstream: u32,
    downstream: u32,
    /// The first of the cells, perhaps beyond the ends of the row.
    pub(super) cell: i32,
    /// Whether the lane owns its cells: it writes them. The last may lie in the padding of the row.
    pub(super) owns: bool,
    /// Whether one aligned access reads the populations, or the entries of a table, at the sources of all cells.
    pub(super) straight: bool,
    /// Offset of that access in its row.
    first: u32,
    /// The first column of the tables that it reads in row 0, and the distance of rows.
    columns: [u32; 2],
    /// Whether the cells lie beyond the end where molecules leave, where there is no slope.
    flat: bool,
    from: [u32; W],
}

impl<const W: usize> CellVector<W> {
    /// The cells of this lane in a tile of one row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn new<S: Simt>(
        t: &S,
        tile: u32,
        shape: &FlowShape,
        whole: i32,
        forward: bool,
        sloped: bool,
    ) -> Self {
        let (lane, width) = (t.lane(), W as u32);
        let cells = owned_cells(width, sloped);
        let lead = if forward || sloped { 1 } else { 0 };
        let cell = (tile * cells + lane * width) as i32 - (lead * width) as i32;
        let owns = lane >= lead && lane < lead + cells / width && cell < shape.nx as i32;
        Self::of(t, cell, owns, shape, whole, forward)
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of<S: Simt>(
        t: &S,
        cell: i32,
        owns: bool,
        shape: &FlowShape,
        whole: i32,
        forward: bool,
    ) -> Self {
        let (lane, width) = (t.lane(), W as u32);
        let (below, above) = (lane.wrapping_sub(1) % WARP, (lane + 1) % WARP);
        let place = if forward { cell - whole } else { cell + whole };
        let mut from = [0; W];
        for k in 0..W {
            let s = source(place + k as i32, shape.nx, shape.left, shape.right, forward);
            from[k] = s.cell | s.face << CELL_BITS | u32::from(s.mirrored) << 31;
        }
        let ends = |kind: u32| kind == face::TABLE || kind == face::MIXED;
        let flat = if forward {
            place >= shape.nx as i32 && ends(shape.right)
        } else {
            place <= -(W as i32) && ends(shape.left)
        };
        let side = from[0] >> CELL_BITS;
        let beyond = (side == 1 || side == 2) && from[W - 1] >> CELL_BITS == side;
        let counts = !flat && !beyond;
        let mut straight = from[0] & (width - 1) == 0 || !counts;
        for k in 1..W {
            straight &= from[k] == from[0] + k as u32 || !counts;
        }
        let first = (from[0] % CELL_LIMIT) & !(width - 1);
        Self {
            upstream: if forward { below } else { above },
            downstream: if forward { above } else { below },
            cell,
            owns,
            straight: straight && side < 4,
            first: shape.in_row(first),
            columns: if beyond {
                [shape.face_columns(side - 1), FACE_WIDTH]
            } else {
                [first, shape.pitch]
            },
            flat,
            from,
        }
    }

    /// The first cell of an owner lane; any cell for a halo lane.
    #[inline(always)]
    pub(super) fn own_cell(&self) -> u32 {
        if self.owns { self.cell as u32 } else { 0 }
    }
    /// Where the populations of a [straight](Self::straight) access begin in their row.
    #[inline(always)]
    pub(super) fn first(&self) -> u32 {
        self.first
    }
    /// The first column of the tables of a straight access for row iy.
    #[inline(always)]
    pub(super) fn first_column(&self, iy: u32) -> u32 {
        let [first, distance] = self.columns;
        first + iy * distance
    }
    /// Whether the molecules of the k-th cell come from a wall that mirrors a part of them.
    #[inline(always)]
    pub(super) fn mixed(&self, k: usize) -> bool {
        self.from[k] >> CELL_BITS > 4
    }
    /// Whether those of any cell do.
    #[inline(always)]
    pub(super) fn any_mixed(&self) -> bool {
        // Those beyond a face are the first or the last.
        self.mixed(0) || self.mixed(W - 1)
    }
    /// Cells next to such a wall: `copies` bits for each.
    #[inline(always)]
    pub(super) fn images(&self, copies: u32) -> u32 {
        let (mut all, mut w) = (0, 0);
        while w < W {
            if self.mixed(w) {
                all |= ((1 << copies) - 1) << (copies * w as u32);
            }
            w += 1;
        }
        all
    }
    /// The cell whose mirror image is the source of the w-th cell.
    #[inline(always)]
    pub(super) fn image(&self, w: u32) -> u32 {
        let (mut cell, mut k) = (0, 0);
        while k < W {
            if k as u32 == w {
                cell = self.source(k);
            }
            k += 1;
        }
        cell
    }
    /// The source of the k-th cell; any cell where the source lies beyond a face.
    #[inline(always)]
    pub(super) fn source(&self, k: usize) -> u32 {
        self.from[k] % CELL_LIMIT
    }
    /// The face beyond which that source lies: 1 low, 2 high, 0 none.
    #[inline(always)]
    pub(super) fn face(&self, k: usize) -> u32 {
        (self.from[k] >> CELL_BITS) & 3
    }
    /// The node of v_x of that source.
    #[inline(always)]
    pub(super) fn node(&self, k: usize, jx: u32, shape: &FlowShape) -> u32 {
        if self.from[k] >> 31 != 0 {
            shape.count_x - 1 - jx
        } else {
            jx
        }
    }
    /// The node of v_x whose factors in the tables belong to its [`column`](Self::column).
    #[inline(always)]
    pub(super) fn table_node(&self, k: usize, jx: u32, shape: &FlowShape) -> u32 {
        if self.face(k) != 0 {
            jx
        } else {
            self.node(k, jx, shape)
        }
    }
    /// Column of the tables for the source of the k-th cell of row iy.
    #[inline(always)]
    pub(super) fn column(&self, k: usize, iy: u32, shape: &FlowShape) -> u32 {
        let face = self.face(k);
        if face == 0 {
            iy * shape.pitch + self.source(k)
        } else {
            // The columns of the high face follow those of the low one.
            shape.face_columns(0) + FACE_WIDTH * ((face - 1) * shape.ny + iy)
        }
    }

    /// Reads the sources of the cells K times: the k-th time in one access from `straight(k)` on, or the w-th cell from `at(k, w)`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn load<S: Simt, T: Real, const K: usize>(
        &self,
        t: &S,
        memory: In<'_, T>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [Pack<T, W>; K] {
        self.load_by(
            t,
            memory,
            |k| Pack(memory.get_whole(t, straight(k) as usize)),
            at,
        )
    }

    /// The same of memory that no other warp of the block reads.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn load_once<S: Simt, T: Real, const K: usize>(
        &self,
        t: &S,
        memory: In<'_, T>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [Pack<T, W>; K] {
        self.load_by(
            t,
            memory,
            |k| Pack(memory.get_once(t, straight(k) as usize)),
            at,
        )
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn load_by<S: Simt, T: Real, const K: usize>(
        &self,
        t: &S,
        memory: In<'_, T>,
        whole: impl Fn(usize) -> Pack<T, W>,
        at: impl Fn(usize, usize) -> u32,
    ) -> [Pack<T, W>; K] {
        let mut values = [Pack::ZERO; K];
        // One branch for all, so that all loads are in flight together.
        if self.straight {
            for k in 0..K {
                values[k] = whole(k);
            }
        } else {
            for k in 0..K {
                values[k] = Pack::from_fn(|w| memory.get(t, at(k, w) as usize));
            }
        }
        values
    }

    /// The streamed values of the cells. `post` are the relaxed populations, `fraction` is the part of a cell that molecules fly, and `rest` is 1 less that.
    /// `DIRECTION` is 1 or -1, or 0 where the compiler does not know the direction.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn shift<S: Simt, T: Real, const SLOPED: bool, const DIRECTION: i32>(
        &self,
        t: &S,
        post: Pack<T, W>,
        fraction: T,
        rest: T,
        forward: bool,
    ) -> Pack<T, W> {
        let forward = if DIRECTION == 0 {
            forward
        } else {
            DIRECTION > 0
        };
        let lanes = [self.upstream, self.downstream];
        let mixed = |k: usize| self.mixed(k);
        shift::<S, T, W, SLOPED, DIRECTION>(
            t,
            post,
            [fraction, rest],
            forward,
            lanes,
            self.flat,
            mixed,
        )
    }
}
