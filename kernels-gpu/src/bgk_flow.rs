//! Kernels of the BGK and Shakhov models in time: relaxation, streaming and moments in one pass over the distribution.
//!
//! The algorithm is that of A. Frezzotti, G. P. Ghiroldi and L. Gibelli, "Solving Kinetic Equations on GPUs I: Model Kinetic Equations" (2009),
//! arXiv:0903.4044, whose two kernels are fused. Between two passes lie the streamed populations f~ and the sums over their nodes. A pass reads f~ once,
//! relaxes it towards the local equilibrium of those sums, streams it, writes it once, and sums it again. Equilibria are products of factors along the
//! velocity axes; the small kernel [`equilibrium()`] makes tables of them between the passes.
//!
//! | where | kernels |
//! |---|---|
//! | [`bgk_line`](crate::bgk_line), [`bgk_march`](crate::bgk_march) | the pass in one and in two dimensions of space |
//! | `layout`, `span` | layouts, and what the passes share |
//! | `tables` | from partial sums to tables |
//! | `walls` | what leaves through walls, and what they send back |
//!
//! The passes are files of their own, so that a run loads only what it needs.

pub(crate) mod layout;
pub(crate) mod span;
mod tables;
pub(crate) mod walls;

pub use layout::*;
pub use span::{SPAN_LIMIT, span_cells, span_tiles};
pub use tables::*;
pub use walls::*;

use crate::simt::Simt;

/// The number of this block in the order in which tiles are taken up.
///
/// Where every other pass takes them up from the last on, the populations that the pass before wrote last come first, while they are in the L2 cache.
#[inline(always)]
pub(crate) fn block<S: Simt>(t: &S, turned: bool) -> u32 {
    if turned {
        t.grid_dim().wrapping_sub(1) - t.block_idx()
    } else {
        t.block_idx()
    }
}
