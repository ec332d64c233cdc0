//! What the passes over a line and over a plane have in common: the arguments of a launch, and how the warps of a block share nodes and sums.

use super::layout::{FlowShape, axis, ceiling};
use crate::math::Real;
use crate::memory::{In, Out, Shared};
use crate::simt::Simt;

/// The arguments of a launch.
pub(crate) struct Pass<'a, S, T: Real> {
    pub(crate) t: &'a S,
    pub(crate) f: In<'a, T>,
    pub(crate) tables: In<'a, T>,
    pub(crate) axes: In<'a, T>,
    pub(crate) next: Out<'a, T>,
    pub(crate) partial: Out<'a, T>,
    /// The sums of the warps of the block.
    pub(crate) scratch: Shared<'a, T>,
    pub(crate) shape: &'a FlowShape,
    pub(crate) groups: u32,
}

impl<S: Simt, T: Real> Pass<'_, S, T> {
    /// Whether this v_x flies towards larger x.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(crate) fn forward(&self, jx: u32) -> bool {
        let velocity = self.shape.axis_x(jx) + axis::VELOCITY;
        self.axes.get(self.t, velocity as usize) > T::ZERO
    }

    /// First and end of this warp's groups, of the block's `part` of `all`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn share(&self, part: u32, all: u32) -> (u32, u32) {
        let least = |a: u32, b: u32| if a < b { a } else { b };
        let end = least((part + 1) * self.groups, all);
        let share = ceiling(self.groups, self.t.warps());
        let first = part * self.groups + self.t.warp() * share;
        (first, least(first + share, end))
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
