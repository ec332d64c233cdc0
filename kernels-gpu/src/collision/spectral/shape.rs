//! The kernels' description of the grid, its padded array and the directions; complex numbers in shared memory.

use super::dft::Complex;
use crate::math::Real;
use crate::memory::{In, Shared};
use crate::simt::Simt;

/// Columns of a block of [`spectral_columns()`](super::spectral_columns()): whole sectors of 32 bytes.
pub const SPECTRAL_COLUMNS: u32 = 4;

/// The lengths of transforms, products of two short ones.
pub const SPECTRAL_PERIODS: [u32; 18] = [
    6, 8, 10, 12, 16, 18, 20, 24, 30, 32, 36, 40, 48, 60, 64, 72, 80, 96,
];

/// The grid, its padded array and the directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SpectralShape {
    /// Cells along an axis.
    pub n: u32,
    /// `2^32 / n`, rounded up: see `SpectralShape::rows`.
    pub over_n: u32,
    /// Nodes of the padded array along an axis, P: one of [`SPECTRAL_PERIODS`].
    pub period: u32,
    /// Products of the gain: directions times rank. One transform more is for the collision frequency.
    pub products: u32,
    /// Lines along the first axis that a block of [`spectral_transform()`](super::spectral_transform()) and of
    /// [`spectral_planes()`](super::spectral_planes()) takes up together.
    pub lines: u32,
    /// `2^32 / lines`, rounded up.
    pub over_lines: u32,
    /// Transforms that a block of [`spectral_columns()`](super::spectral_columns()) takes up together.
    pub together: u32,
}

impl SpectralShape {
    /// `2^32 / n`, rounded up.
    pub const fn reciprocal(n: u32) -> u32 {
        (u32::MAX / n).wrapping_add(1)
    }
    /// Points of the first and of the second transform of a line, R1 and R2 of P = R1 R2. The table is code, so that a constant P leaves none of it.
    #[inline(always)]
    pub const fn radices(&self) -> [u32; 2] {
        match self.period {
            6 => [2, 3],
            8 => [2, 4],
            10 => [2, 5],
            12 => [3, 4],
            16 => [4, 4],
            18 => [3, 6],
            20 => [4, 5],
            24 => [4, 6],
            30 => [5, 6],
            32 => [4, 8],
            36 => [6, 6],
            40 => [5, 8],
            48 => [6, 8],
            60 => [6, 10],
            64 => [8, 8],
            72 => [8, 9],
            80 => [8, 10],
            96 => [8, 12],
            _ => [1, 1],
        }
    }
    /// Planes of a block of [`spectral_planes()`](super::spectral_planes()): both of a pair +-l_x, or one where shared memory would hold few blocks of two.
    #[inline(always)]
    pub const fn twins(&self) -> u32 {
        if self.period < 72 { 2 } else { 1 }
    }
    /// Distance of lines in shared memory: odd, so that neighbours lie in different banks.
    #[inline(always)]
    pub const fn line_stride(&self) -> u32 {
        self.period | 1
    }
    /// Numbers of the intermediate lines of [`spectral_planes()`](super::spectral_planes()).
    #[inline(always)]
    pub const fn line_words(&self) -> u32 {
        2 * self.twins() * self.lines * self.line_stride()
    }
    /// Numbers of its planes.
    #[inline(always)]
    pub const fn plane_words(&self) -> u32 {
        2 * self.twins() * self.n * self.line_stride()
    }
    /// Complex numbers of a column transform in shared memory.
    #[inline(always)]
    pub const fn column_stride(&self) -> u32 {
        let [first, second] = self.radices();
        first * (second | 1) * SPECTRAL_COLUMNS
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
    /// Sets the lines that a block takes up together.
    pub const fn set_lines(&mut self, lines: u32) {
        self.lines = lines;
        self.over_lines = Self::reciprocal(lines);
    }
    /// `task / n` without a division, for tasks below 2^32 / n.
    #[inline(always)]
    pub(super) const fn rows(&self, task: u32) -> u32 {
        ((task as u64 * self.over_n as u64) >> 32) as u32
    }
    /// `task / lines`, likewise.
    #[inline(always)]
    pub(super) const fn rounds(&self, task: u32) -> u32 {
        ((task as u64 * self.over_lines as u64) >> 32) as u32
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
