//! What the passes over a line and over a plane have in common: the arguments of a launch, and how the warps of a block share nodes and sums.

use super::layout::{FlowShape, axis, split};
use super::span::Span;
use super::store::Store;
use super::walls::relaxed;
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::Simt;

/// The arguments of a launch.
pub(crate) struct Pass<'a, S, T: Real, P> {
    pub(crate) t: &'a S,
    /// The populations that are read, and those that are written.
    pub(crate) store: P,
    pub(crate) tables: In<'a, T>,
    pub(crate) axes: In<'a, T>,
    pub(crate) partial: Out<'a, T>,
    /// The sums of the warps of the block.
    pub(crate) scratch: Shared<'a, T>,
    pub(crate) shape: &'a FlowShape,
    pub(crate) groups: u32,
    /// Whether the last tiles of the last nodes come first.
    pub(crate) turned: bool,
}

/// The number of this block in the order in which tiles are taken up.
///
/// Where every other pass takes them up from the last on, the populations that the pass before wrote last come first, while they are in the L2 cache.
#[inline(always)]
fn block<S: Simt>(t: &S, turned: bool) -> u32 {
    if turned {
        t.grid_dim().wrapping_sub(1) - t.block_idx()
    } else {
        t.block_idx()
    }
}

/// The tile and the chunk of nodes of this block.
///
/// As many tiles as find their tables in the L2 cache, a band, follow each other with the same nodes, so that what blocks read at the same time lies together: memory
/// gives short runs here and there at three quarters of its rate. Then come the next nodes, and after all nodes the next tiles.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn tile_and_chunk<S: Simt>(t: &S, turned: bool, chunks: u32, band: u32) -> [u32; 2] {
    let tiles = quotient(t.grid_dim(), chunks);
    let (number, rest) = split(block(t, turned), band * chunks);
    let (first, left) = (number * band, tiles - number * band);
    let (chunk, tile) = split(rest, if left < band { left } else { band });
    [first + tile, chunk]
}

impl<'a, S: Simt, T: Real, P: Store<'a, T>> Pass<'a, S, T, P> {
    /// [`block`] of this launch.
    #[inline(always)]
    pub(crate) fn block(&self) -> u32 {
        block(self.t, self.turned)
    }

    /// Whether this v_x flies towards larger x.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(crate) fn forward(&self, jx: u32) -> bool {
        let velocity = self.shape.axis_x(jx) + axis::VELOCITY;
        self.axes.get(self.t, velocity as usize) > T::ZERO
    }

    /// The first of this warp's groups and the end of its block's, of the block's `part` of `all`; the warps take groups in turn.
    ///
    /// So warps that are at work at the same time mostly share the factors along y, and what they read lies near.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn share(&self, part: u32, all: u32) -> (u32, u32) {
        let end = (part + 1) * self.groups;
        let first = part * self.groups + self.t.warp();
        (first, if end < all { end } else { all })
    }

    /// Puts the relaxed populations of mirrored nodes where cells take from a wall that mirrors a part, into K values of each cell: `of(k)` is the
    /// row of cells, the number of v_y and the innermost node of the k-th.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(crate) fn take_images<const W: usize, const K: usize>(
        &self,
        span: &Span<W>,
        jx: u32,
        of: impl Fn(u32) -> [u32; 3],
        values: &mut [[T; W]; K],
    ) {
        let Self {
            t,
            store,
            tables,
            axes,
            shape,
            ..
        } = *self;
        // One after another, so that the code of a rare case stays small: bit K w + k for the k-th value of the w-th cell.
        let mut left = span.images(K as u32);
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let (w, k) = (bit / K as u32, bit % K as u32);
            let [iy, jy, m] = of(k);
            let place = iy * shape.pitch + span.image(w);
            let node = [shape.count_x - 1 - jx, jy, m];
            let value = relaxed(t, store.read(), tables, axes, shape, node, place, place);
            let mut i = 0;
            while i < W * K {
                // A choice each time, of which no jump table can be made.
                let here = &mut values[i % K][i / K];
                *here = if i as u32 == bit { value } else { *here };
                i += 1;
            }
        }
    }

    /// Adds what the warps keep at `own(warp)`, in the order of the warps.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(crate) fn sum_of_warps<const W: usize>(&self, own: impl Fn(u32) -> u32) -> [T; W] {
        let mut sum = self.scratch.get_run::<W, _>(self.t, own(0));
        let mut warp = 1;
        while warp < self.t.warps() {
            let other = self.scratch.get_run::<W, _>(self.t, own(warp));
            let mut w = 0;
            while w < W {
                sum[w] += other[w];
                w += 1;
            }
            warp += 1;
        }
        sum
    }
}
