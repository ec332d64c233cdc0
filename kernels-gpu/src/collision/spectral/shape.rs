//! What the kernels need to know of the grid, its padded array and the directions; complex numbers in shared memory.

use super::dft::Complex;
use crate::math::Real;
use crate::memory::{In, Shared};
use crate::simt::Simt;

/// Columns of a block of [`spectral_columns()`](super::spectral_columns()): whole sectors of 32 bytes.
pub const SPECTRAL_COLUMNS: u32 = 4;

/// The grid, its padded array and the directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SpectralShape {
    /// Cells along an axis.
    pub n: u32,
    /// `2^32 / n`, rounded up: see `SpectralShape::rows`.
    pub over_n: u32,
    /// Nodes of the padded array along an axis, P = R1 R2; even.
    pub period: u32,
    /// Points of the first transform of a line.
    pub first: u32,
    /// Points of the second transform of a line.
    pub second: u32,
    /// Products of the gain: directions times rank. One transform more gives the collision frequency.
    pub products: u32,
    /// Lines along the first axis that a block of [`spectral_transform()`](super::spectral_transform()) and of
    /// [`spectral_planes()`](super::spectral_planes()) takes up together.
    pub lines: u32,
    /// Planes of a block of [`spectral_planes()`](super::spectral_planes()): both of a pair +-l_x, or one.
    pub twins: u32,
    /// Transforms that a block of [`spectral_columns()`](super::spectral_columns()) takes up together.
    pub together: u32,
}

impl SpectralShape {
    /// `2^32 / n`, rounded up.
    pub const fn reciprocal(n: u32) -> u32 {
        (u32::MAX / n).wrapping_add(1)
    }
    /// Distance of lines in shared memory: odd, so that neighbours lie in different banks.
    #[inline(always)]
    pub const fn line_stride(&self) -> u32 {
        self.period | 1
    }
    /// Numbers of the intermediate lines of [`spectral_planes()`](super::spectral_planes()).
    #[inline(always)]
    pub const fn line_words(&self) -> u32 {
        2 * self.twins * self.lines * self.line_stride()
    }
    /// Numbers of its planes.
    #[inline(always)]
    pub const fn plane_words(&self) -> u32 {
        2 * self.twins * self.n * self.line_stride()
    }
    /// Complex numbers of a column transform in shared memory.
    #[inline(always)]
    pub const fn column_stride(&self) -> u32 {
        self.first * (self.second | 1) * SPECTRAL_COLUMNS
    }
    /// Complex numbers of the spectrum of a distribution, `[l_x < P/2][l_z][l_y]`.
    #[inline(always)]
    pub const fn spectrum(&self) -> u32 {
        self.period / 2 * self.period * self.period
    }
    /// Complex numbers of the planes of a distribution, `[transform][l_x][y][z]`.
    #[inline(always)]
    pub const fn planes(&self) -> u32 {
        (self.products + 1) * self.period * self.n * self.n
    }
    /// `task / n` without a division, for tasks below 2^32 / n.
    #[inline(always)]
    pub(super) const fn rows(&self, task: u32) -> u32 {
        ((task as u64 * self.over_n as u64) >> 32) as u32
    }
    /// The same shape with constants for period, radices, lines and twins, so that the compiler knows the distances in memory; 0 keeps those of the launch.
    #[inline(always)]
    pub(super) const fn of_size<
        const FIRST: u32,
        const SECOND: u32,
        const LINES: u32,
        const TWINS: u32,
    >(
        self,
    ) -> Self {
        if FIRST == 0 {
            self
        } else {
            Self {
                period: FIRST * SECOND,
                first: FIRST,
                second: SECOND,
                lines: LINES,
                twins: TWINS,
                ..self
            }
        }
    }
}

/// Complex numbers of shared memory.
#[derive(Clone, Copy)]
pub(super) struct Field<'a, T: Real>(pub(super) Shared<'a, T>);

impl<T: Real> Field<'_, T> {
    #[inline(always)]
    #[track_caller]
    pub(super) fn get<S: Simt>(self, t: &S, index: u32) -> Complex<T> {
        Complex::of(self.0.get_run(t, 2 * index))
    }
    #[inline(always)]
    #[track_caller]
    pub(super) fn set<S: Simt>(self, t: &S, index: u32, value: Complex<T>) {
        self.0.set_run(t, 2 * index, value.pair());
    }
    /// The number `offset` behind `index`: for many constant offsets from one index.
    #[inline(always)]
    #[track_caller]
    pub(super) fn get_near<S: Simt>(self, t: &S, index: u32, offset: u32) -> Complex<T> {
        Complex::of(self.0.get_run_near(t, 2 * index, 2 * offset as usize))
    }
    #[inline(always)]
    #[track_caller]
    pub(super) fn set_near<S: Simt>(self, t: &S, index: u32, offset: u32, value: Complex<T>) {
        self.0
            .set_run_near(t, 2 * index, 2 * offset as usize, value.pair());
    }
    /// `value` times the root of unity of the product of an output of the first transform and an input of the second; the first output has none.
    #[inline(always)]
    #[track_caller]
    pub(super) fn twiddled<S: Simt>(
        self,
        t: &S,
        (k, inner): (u32, u32),
        value: Complex<T>,
    ) -> Complex<T> {
        if k == 0 {
            value
        } else {
            value.times(self.get(t, k * inner))
        }
    }
}

/// Copies the roots of unity `e^(2 pi i k / P)` into shared memory.
#[inline(always)]
#[track_caller]
pub(super) fn load_roots<T: Real, S: Simt>(
    t: &S,
    roots: In<'_, T>,
    to: Shared<'_, T>,
    period: u32,
) {
    let mut k = t.thread_idx();
    while k < period {
        to.set_run(t, 2 * k, roots.get_run::<2, S>(t, 2 * k as usize));
        k += t.block_dim();
    }
}
