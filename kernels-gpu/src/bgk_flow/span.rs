//! Spans: the neighbouring cells that a lane of a pass owns, and the shift along x by them.

use super::layout::{FlowShape, limited, source};
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
pub(crate) struct Span<const W: usize> {
    upstream: u32,
    downstream: u32,
    /// The first of the cells, perhaps beyond the ends of the row.
    pub(crate) cell: i32,
    /// Whether the lane gives its cells out; the last may lie in the padding of the row.
    pub(crate) gives: bool,
    /// Whether the cells that these take from are those of one aligned access.
    pub(crate) straight: bool,
    from: [u32; W],
}

impl<const W: usize> Span<W> {
    /// The span of this lane in a tile.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn new<S: Simt>(
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
        let first = (tile * cells) as i32;
        let cell = first + (lane * width) as i32 - (lead * width) as i32;
        let (below, above) = (lane.wrapping_sub(1) % WARP, (lane + 1) % WARP);
        let place = if forward { cell - whole } else { cell + whole };
        let mut from = [0; W];
        let mut k = 0;
        while k < W {
            let s = source(place + k as i32, shape.nx, shape.left, shape.right, forward);
            from[k] = s.cell | s.face << CELL_BITS | u32::from(s.mirrored) << 31;
            k += 1;
        }
        Self {
            upstream: if forward { below } else { above },
            downstream: if forward { above } else { below },
            cell,
            gives: lane >= lead && lane < lead + cells / width && cell < shape.nx as i32,
            straight: place >= 0
                && place + W as i32 <= shape.nx as i32
                && place as u32 & (width - 1) == 0,
            from,
        }
    }

    /// The first of the cells, for a lane that gives them out; some cell for another.
    #[inline(always)]
    pub(crate) fn gives_to(&self) -> u32 {
        if self.gives { self.cell as u32 } else { 0 }
    }
    /// The cell that the k-th one takes from; some cell, where it takes from beyond a face.
    #[inline(always)]
    pub(crate) fn source(&self, k: usize) -> u32 {
        self.from[k] % SPAN_LIMIT
    }
    /// The face that it takes from beyond: 1 low, 2 high, 0 none.
    #[inline(always)]
    pub(crate) fn face(&self, k: usize) -> u32 {
        (self.from[k] >> CELL_BITS) & 3
    }
    /// The node of v_x whose populations it takes.
    #[inline(always)]
    pub(crate) fn node(&self, k: usize, jx: u32, shape: &FlowShape) -> u32 {
        if self.from[k] >> 31 != 0 {
            shape.count_x - 1 - jx
        } else {
            jx
        }
    }
    /// Column of the tables of what the k-th cell of row iy takes from.
    #[inline(always)]
    pub(crate) fn column(&self, k: usize, iy: u32, shape: &FlowShape) -> u32 {
        let face = self.face(k);
        if face == 0 {
            iy * shape.pitch + self.source(k)
        } else {
            // The columns of the high face follow those of the low one.
            shape.face_columns(0) + (face - 1) * shape.ny + iy
        }
    }

    /// Reads K times what the cells take from: the k-th time in one access from `straight(k)` on, or the w-th cell from `at(k, w)`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(crate) fn take<S: Simt, T: Real, const K: usize>(
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
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(crate) fn take_once<S: Simt, T: Real, const K: usize>(
        &self,
        t: &S,
        memory: In<'_, T>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [[T; W]; K] {
        self.take_by(t, memory, |k| memory.get_once(t, straight(k) as usize), at)
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
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

    /// [`shift`](Self::shift) for molecules of either direction.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(crate) fn shift_either_way<S: Simt, T: Real, const SLOPED: bool>(
        &self,
        t: &S,
        post: [T; W],
        fraction: T,
        curvature: T,
        forward: bool,
    ) -> [T; W] {
        let turned = |values: [T; W]| {
            let mut turned = values;
            let mut k = 0;
            while k < W {
                turned[k] = if forward {
                    values[k]
                } else {
                    values[W - 1 - k]
                };
                k += 1;
            }
            turned
        };
        turned(self.shift::<S, T, SLOPED, true>(t, turned(post), fraction, curvature))
    }

    /// The streamed values of the cells: `post` are the relaxed populations, `fraction` is what is left of the shift, `curvature` that times its
    /// complement.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(crate) fn shift<S: Simt, T: Real, const SLOPED: bool, const FORWARD: bool>(
        &self,
        t: &S,
        post: [T; W],
        fraction: T,
        curvature: T,
    ) -> [T; W] {
        // In the order in which molecules meet the cells.
        let at = |k: usize| if FORWARD { k } else { W - 1 - k };
        let mut out = [T::ZERO; W];
        let mut before = t.shuffle(post[at(W - 1)], self.upstream);
        if SLOPED {
            let mut difference = [T::ZERO; W];
            let mut k = 0;
            while k < W {
                difference[k] = post[at(k)] - before;
                before = post[at(k)];
                k += 1;
            }
            let beyond = t.shuffle(difference[0], self.downstream);
            let mut passes = [T::ZERO; W];
            let mut k = 0;
            while k < W {
                let after = if k + 1 < W { difference[k + 1] } else { beyond };
                let extra = limited(curvature, difference[k], after);
                passes[k] = fraction.mul_add(post[at(k)], extra);
                k += 1;
            }
            let mut enters = t.shuffle(passes[W - 1], self.upstream);
            let mut k = 0;
            while k < W {
                out[at(k)] = post[at(k)] - passes[k] + enters;
                enters = passes[k];
                k += 1;
            }
        } else {
            let mut k = 0;
            while k < W {
                let here = post[at(k)];
                out[at(k)] = fraction.mul_add(before - here, here);
                before = here;
                k += 1;
            }
        }
        out
    }
}
