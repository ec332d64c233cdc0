//! How populations are read and written.
//!
//! The passes also know stores that keep deviations from the Maxwellian of the step before ([`Populations::DEVIATIONS`]). There is none:
//! [`Plain`] keeps populations as they are.

use super::layout::FlowShape;
use super::span::Span;
use crate::math::Real;
use crate::memory::{Element, In, Out, Shared};
use crate::simt::Simt;

/// Populations that can be read.
pub(crate) trait Populations<T: Real>: Copy {
    /// Whether they are deviations: then the tables' factors along v_x are those of the Maxwellian alone, and what relaxation gives stands beside them.
    const DEVIATIONS: bool;
    /// What memory holds.
    type Word: Element;
    /// What a lane has of its neighbouring cells before it is decoded.
    type Run<const W: usize>: Copy;
    /// Reads K times what the cells of a span take from: the k-th time from `straight(k)` on, or the w-th cell from `at(k, w)`.
    fn take<S: Simt, const W: usize, const K: usize>(
        self,
        t: &S,
        span: &Span<W>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [Self::Run<W>; K];
    /// Announces what a lane will read from `at` on.
    fn prefetch<S: Simt>(self, t: &S, at: u32);
    /// Announces what [`take`](Self::take) will read K times, where it is from `straight(k)` on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn announce<S: Simt, const W: usize, const K: usize>(
        self,
        t: &S,
        span: &Span<W>,
        straight: impl Fn(usize) -> u32,
    ) {
        let mut k = 0;
        while k < K && span.straight {
            self.prefetch(t, straight(k));
            k += 1;
        }
    }
    /// Copies what the cells of a span take from into the lane's place number `slot` of shared memory, while the thread goes on: from `straight` on, or
    /// the w-th cell from `at(w)`.
    fn stage<S: Simt, const W: usize>(
        self,
        t: &S,
        span: &Span<W>,
        stages: Shared<'_, Self::Word>,
        slot: u32,
        straight: u32,
        at: impl Fn(usize) -> u32,
    );
    /// What lies there, when it has come.
    fn staged<S: Simt, const W: usize>(
        t: &S,
        stages: Shared<'_, Self::Word>,
        slot: u32,
    ) -> Self::Run<W>;
    /// Lets `change` see the populations that were read where they need no decoding.
    fn before_decoding<const W: usize, const K: usize>(
        runs: &mut [Self::Run<W>; K],
        change: impl FnOnce(&mut [[T; W]; K]),
    );
    /// The populations of a run, with what they deviate from and [`Store::scale`].
    fn values<const W: usize>(run: Self::Run<W>, scale: T, maxwellian: [T; W]) -> [T; W];
    /// The population of a node at a place of its plane.
    fn population<S: Simt>(self, t: &S, shape: &FlowShape, node: [u32; 3], place: u32) -> T;
}

/// Number of a node.
#[inline(always)]
pub(crate) fn number(shape: &FlowShape, [jx, jy, m]: [u32; 3]) -> u32 {
    (jx * shape.count_y + jy) * shape.count_m + m
}

impl<T: Real> Populations<T> for In<'_, T> {
    const DEVIATIONS: bool = false;
    type Word = T;
    type Run<const W: usize> = [T; W];

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn take<S: Simt, const W: usize, const K: usize>(
        self,
        t: &S,
        span: &Span<W>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [[T; W]; K] {
        span.take_once(t, self, straight, at)
    }
    #[inline(always)]
    fn prefetch<S: Simt>(self, t: &S, at: u32) {
        Self::prefetch(self, t, at as usize);
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn stage<S: Simt, const W: usize>(
        self,
        t: &S,
        span: &Span<W>,
        stages: Shared<'_, T>,
        slot: u32,
        straight: u32,
        at: impl Fn(usize) -> u32,
    ) {
        let to = slot * W as u32;
        if span.straight {
            self.copy_to::<W, _>(t, straight as usize, stages, to);
        } else {
            let mut w = 0;
            while w < W {
                self.copy_to::<1, _>(t, at(w) as usize, stages, to + w as u32);
                w += 1;
            }
        }
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn staged<S: Simt, const W: usize>(t: &S, stages: Shared<'_, T>, slot: u32) -> [T; W] {
        stages.get_run(t, slot * W as u32)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn before_decoding<const W: usize, const K: usize>(
        runs: &mut [[T; W]; K],
        change: impl FnOnce(&mut [[T; W]; K]),
    ) {
        change(runs);
    }
    #[inline(always)]
    fn values<const W: usize>(run: [T; W], _: T, _: [T; W]) -> [T; W] {
        run
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn population<S: Simt>(self, t: &S, shape: &FlowShape, node: [u32; 3], place: u32) -> T {
        self.get(t, shape.population(node, place) as usize)
    }
}

/// Populations that a pass reads, and where it writes them.
pub(crate) trait Store<'a, T: Real>: Copy {
    /// What is read.
    type Read: Populations<T>;
    /// See [`Populations::DEVIATIONS`].
    const DEVIATIONS: bool = <Self::Read as Populations<T>>::DEVIATIONS;
    /// What is read.
    fn read(self) -> Self::Read;
    /// The tables of the step before.
    fn before(self) -> In<'a, T>;
    /// The random bits of the step.
    fn seed<S: Simt>(self, t: &S) -> u32;
    /// What multiplies the deviations of a node, to decode and to encode them.
    fn scale<S: Simt>(self, t: &S, node: u32) -> [T; 2];
    /// Writes the populations of neighbouring cells, from the place `at` on; `maxwellian` is what they deviate from.
    fn write<S: Simt, const W: usize>(
        self,
        t: &S,
        at: u32,
        values: [T; W],
        scale: T,
        maxwellian: [T; W],
        seed: u32,
    );
}

/// Populations as they are.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a, T: Real> {
    pub(crate) f: In<'a, T>,
    pub(crate) next: Out<'a, T>,
}

impl<'a, T: Real> Store<'a, T> for Plain<'a, T> {
    type Read = In<'a, T>;

    #[inline(always)]
    fn read(self) -> In<'a, T> {
        self.f
    }
    /// Never looked at.
    #[inline(always)]
    fn before(self) -> In<'a, T> {
        self.f
    }
    #[inline(always)]
    fn seed<S: Simt>(self, _: &S) -> u32 {
        0
    }
    #[inline(always)]
    fn scale<S: Simt>(self, _: &S, _: u32) -> [T; 2] {
        [T::ONE; 2]
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn write<S: Simt, const W: usize>(
        self,
        t: &S,
        at: u32,
        values: [T; W],
        _: T,
        _: [T; W],
        _: u32,
    ) {
        self.next.set_run(t, at as usize, values);
    }
}
