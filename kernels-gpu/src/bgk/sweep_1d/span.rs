//! Spans: the neighbouring cells that a lane of the pass owns, and the shift along x by them.

use super::super::layout::{FACE_WIDTH, FlowShape, face};
use super::super::sweep::{shift, source};
use crate::math::Real;
use crate::memory::In;
use crate::simt::{Simt, WARP};

/// Cells that a warp gives out, of those it takes up. The lane at the upstream end only lends its cells to its neighbour, with slopes the one at the
/// other end too.
#[inline(always)]
pub const fn span_cells(width: u32, sloped: bool) -> u32 {
    width * if sloped { WARP - 2 } else { WARP - 1 }
}

/// Warps that a row of cells takes.
#[inline(always)]
pub const fn span_tiles(nx: u32, width: u32, sloped: bool) -> u32 {
    nx.div_ceil(span_cells(width, sloped))
}

/// Bits of a code of [`Span::from`]: the cell, then the face that a place lies beyond (1 low, 2 high), then whether it is mirrored.
const CELL_BITS: u32 = 29;

/// Cells along x that a span can tell apart.
pub const SPAN_LIMIT: u32 = 1 << CELL_BITS;

/// `W` neighbouring cells of a row, and the cells that molecules come from which travel some whole cells.
#[derive(Clone, Copy)]
pub(super) struct Span<const W: usize> {
    upstream: u32,
    downstream: u32,
    /// The first of the cells, perhaps beyond the ends of the row.
    pub(super) cell: i32,
    /// Whether the lane gives its cells out; the last may lie in the padding of the row.
    pub(super) gives: bool,
    /// Whether one aligned access reads the populations or the entries of a table that these take.
    pub(super) straight: bool,
    /// Where the populations that this access reads begin in their row.
    first: u32,
    /// The first column of the tables that it reads in row 0, and the distance of rows.
    columns: [u32; 2],
    /// Whether the cells lie beyond the end where molecules leave: then there is no slope.
    flat: bool,
    from: [u32; W],
}

impl<const W: usize> Span<W> {
    /// The span of this lane in a tile of one row.
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
        let cells = span_cells(width, sloped);
        let lead = if forward || sloped { 1 } else { 0 };
        let cell = (tile * cells + lane * width) as i32 - (lead * width) as i32;
        let gives = lane >= lead && lane < lead + cells / width && cell < shape.nx as i32;
        Self::of(t, cell, gives, shape, whole, forward)
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of<S: Simt>(
        t: &S,
        cell: i32,
        gives: bool,
        shape: &FlowShape,
        whole: i32,
        forward: bool,
    ) -> Self {
        let (lane, width) = (t.lane(), W as u32);
        let (below, above) = (lane.wrapping_sub(1) % WARP, (lane + 1) % WARP);
        let place = if forward { cell - whole } else { cell + whole };
        let mut from = [0; W];
        let mut k = 0;
        while k < W {
            let s = source(place + k as i32, shape.nx, shape.left, shape.right, forward);
            from[k] = s.cell | s.face << CELL_BITS | u32::from(s.mirrored) << 31;
            k += 1;
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
        let mut k = 1;
        while k < W {
            straight &= from[k] == from[0] + k as u32 || !counts;
            k += 1;
        }
        let first = (from[0] % SPAN_LIMIT) & !(width - 1);
        Self {
            upstream: if forward { below } else { above },
            downstream: if forward { above } else { below },
            cell,
            gives,
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

    /// The first of the cells, for a lane that gives them out; some cell for another.
    #[inline(always)]
    pub(super) fn gives_to(&self) -> u32 {
        if self.gives { self.cell as u32 } else { 0 }
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
    /// Whether the k-th cell takes from a wall that mirrors a part.
    #[inline(always)]
    pub(super) fn mixed(&self, k: usize) -> bool {
        self.from[k] >> CELL_BITS > 4
    }
    /// Whether any does.
    #[inline(always)]
    pub(super) fn any_mixed(&self) -> bool {
        // Those beyond a face are the first or the last.
        self.mixed(0) || self.mixed(W - 1)
    }
    /// The cells that take from such a wall: `copies` bits for each.
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
    /// The cell whose image the w-th of them takes.
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
    /// The cell that the k-th one takes from; some cell, where it takes from beyond a face.
    #[inline(always)]
    pub(super) fn source(&self, k: usize) -> u32 {
        self.from[k] % SPAN_LIMIT
    }
    /// The face that it takes from beyond: 1 low, 2 high, 0 none.
    #[inline(always)]
    pub(super) fn face(&self, k: usize) -> u32 {
        (self.from[k] >> CELL_BITS) & 3
    }
    /// The node of v_x whose populations it takes.
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
    /// Column of the tables of what the k-th cell of row iy takes from.
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

    /// Reads K times what the cells take from: the k-th time in one access from `straight(k)` on, or the w-th cell from `at(k, w)`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn take<S: Simt, T: Real, const K: usize>(
        &self,
        t: &S,
        memory: In<'_, T>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [[T; W]; K] {
        self.take_by(t, memory, |k| memory.get_whole(t, straight(k) as usize), at)
    }

    /// The same of memory that no other warp of the block reads.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn take_once<S: Simt, T: Real, const K: usize>(
        &self,
        t: &S,
        memory: In<'_, T>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [[T; W]; K] {
        self.take_by(t, memory, |k| memory.get_once(t, straight(k) as usize), at)
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn take_by<S: Simt, T: Real, const K: usize>(
        &self,
        t: &S,
        memory: In<'_, T>,
        whole: impl Fn(usize) -> [T; W],
        at: impl Fn(usize, usize) -> u32,
    ) -> [[T; W]; K] {
        let mut values = [[T::ZERO; W]; K];
        // One branch for all of them, so that they are under way together.
        if self.straight {
            let mut k = 0;
            while k < K {
                values[k] = whole(k);
                k += 1;
            }
        } else {
            let mut k = 0;
            while k < K {
                let mut w = 0;
                while w < W {
                    values[k][w] = memory.get(t, at(k, w) as usize);
                    w += 1;
                }
                k += 1;
            }
        }
        values
    }

    /// The streamed values of the cells: `post` are the relaxed populations, `fraction` is what is left of the shift, `rest` its complement. Where the direction is known when compiled, `DIRECTION` is 1 or -1, else 0.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn shift<S: Simt, T: Real, const SLOPED: bool, const DIRECTION: i32>(
        &self,
        t: &S,
        post: [T; W],
        fraction: T,
        rest: T,
        forward: bool,
    ) -> [T; W] {
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
