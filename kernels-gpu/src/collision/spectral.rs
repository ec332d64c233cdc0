//! The spectral collision operator: the gain in Carleman's variables, one complex transform a direction.
//!
//! With directions e_m and weights w_m on a half sphere, and a kernel that is a sum of products u_k(|x|) v_k(|y|),
//!
//! ```text
//! gain(v) = sum over m, k of w_m A_mk(v) B_mk(v),     A_mk + i B_mk = IDFT[(a_mk + i b_mk) fhat],     nu = IDFT[beta fhat].
//! ```
//!
//! A is the integral of u_k f along the line through v with direction e_m, B that of v_k f over the plane through v normal to it. Both multipliers are real and
//! even in the wave vector l, so A and B are real, and one complex transform has both. Source of the form: C. Mouhot and L. Pareschi, Math. Comp. 75 (2006) 1833.
//!
//! f occupies a corner of an array of P^3 nodes, P about 1.5 N, that is zero elsewhere. Three kernels leave out what is zero or not wanted:
//!
//! | kernel | transforms |
//! |---|---|
//! | [`spectral_transform()`] | f to fhat, for half of the waves along x: f is real |
//! | [`spectral_planes()`] | (a + i b) fhat along z and y, of which N values each are kept |
//! | [`spectral_columns()`], [`mixed_columns()`] | along x, products A B, their sum over the directions |
//!
//! **Waves along x in pairs.** As fhat(-l) is the conjugate of fhat(l) and the weights are even, the plane at -l_x is the conjugate of the transform of
//! (a - i b) fhat at l_x: one load of fhat and of the weights serves both.
//!
//! **A line** of P = R1 R2 points takes two steps, of R1 and of R2 points, in the registers of different threads, with shared memory between them.
//!
//! **Entries.** [`spectral_planes()`] has an entry for each P, in which all distances in shared memory are constants. With P as an argument two thirds of its instructions compute
//! addresses, and a batch takes 1.8 to 2.1 times as long. Constants gain [`spectral_columns()`] 0 to 7%, and save [`mixed_columns()`] registers: both have entries for
//! the periods of common grids.

mod columns;
mod dft;
mod planes;
mod shape;
mod transform;

pub use shape::{SPECTRAL_COLUMNS, SPECTRAL_PERIODS, SpectralShape};

use crate::kernel;
use columns::columns;
use planes::planes as body_of_planes;
use transform::transform;

kernel! {
    /// The spectrum of each distribution for one l_x, `fhat = P^-3 sum_j f_j e^(-2 pi i l.j / P)`.
    ///
    /// **Block** `(item, l_x)`, l_x from 0 to P/2 - 1 fastest. Lines along y come first, [`SpectralShape::lines`] columns z at a time: a thread sums N values over x for each point.
    /// Lines along z follow in place; they leave `spectrum[item][l_x][l_z][l_y]`. All transforms are the inverse ones: the result is the conjugate of theirs, for
    /// f is real.
    ///
    /// **Cost** of a block: N^3 words read, mostly from the L2 cache, 2 N^3 multiply-adds, and N + P lines.
    ///
    /// **No race**: a step along a line writes the places that the same thread has read; a barrier separates the two steps of a line, and the axes.
    /// Shared memory: 30 KiB at P = 48 in f32, 200 KiB at P = 96 in f64.
    pub fn spectral_transform<T: Real>(
        t, f: In<T>, roots: In<T>, spectrum: Out<T>; shape: SpectralShape,
    ) for f32, f64
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 2 * shape.lines * shape.line_stride()],
        plane: [T; 2 * shape.period * shape.line_stride()],
    } {
        transform(t, (f, roots, spectrum), shape, (root, lines, plane));
    }
}

kernel! {
    /// The transforms along z and y of `(a + i b) fhat` for one pair +-l_x, of which N values along each axis are kept.
    ///
    /// **Block** `(copy, item, transform, l_x)`, l_x from 0 to P/2 - 1 fastest, for the `count` items from `first` on; the second copies of all items lie `partner` items behind. With one
    /// plane a block ([`SpectralShape::twins`]), +l_x and -l_x are neighbours. The `weights[transform][l_x][l_z][l_y]` are pairs (a, b), zero where some |l| is P/2. Lines along z,
    /// [`SpectralShape::lines`] values of l_y at a time; lines along y in place. It leaves `planes[item][transform][l_x][y][z]`, the conjugates of the twin at P - l_x.
    ///
    /// **Cost** of a block of a pair: 2 P^2 words of the spectrum and as many weights read, 2 (P + N) lines, 4 N^2 words written.
    ///
    /// **No race**: as in [`spectral_transform()`]. Shared memory of a pair: 44 KiB at P = 48 in f32; of one plane: 75 KiB at P = 96 in f32, 150 in f64.
    pub fn spectral_planes<T: Real>(
        t, spectrum: In<T>, weights: In<T>, roots: In<T>, planes: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    each shape.period in 6, 8, 10, 12, 16, 18, 20, 24, 30, 32, 36, 40, 48, 60, 64, 72, 80, 96
    shared { root: [T; 2 * shape.period], lines: [T; shape.line_words()], kept: [T; shape.plane_words()] } {
        body_of_planes(t, (spectrum, weights, roots, planes), shape, (first, count, partner), (root, lines, kept));
    }
}

kernel! {
    /// The gain and the collision frequency from the planes: transforms along x, `factors[m] A_m B_m`, and the sum over m in its order.
    ///
    /// **Block** `(item, columns)`, items from `first` on: [`SPECTRAL_COLUMNS`] neighbouring columns (y, z), all transforms, [`SpectralShape::together`] of them at a time. The last transform is
    /// the frequency.
    ///
    /// **Cost** of a block: 8 P words read a transform, 4 lines a transform, 8 N words written.
    ///
    /// **No race**: between the steps of a line, the products and their sum lie barriers; a thread owns its cells of the sum.
    pub fn spectral_columns<T: Real>(
        t, planes: In<T>, factors: In<T>, roots: In<T>, gain: Out<T>, frequency: Out<T>; shape: SpectralShape, first: u32,
    ) for f32, f64
    each shape.period in 24, 30, 36, 48 or any
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 2 * shape.together * shape.column_stride()],
        products: [T; shape.together * shape.n * SPECTRAL_COLUMNS],
        sums: [T; shape.n * SPECTRAL_COLUMNS],
    } {
        columns::<T, false, _>(t, (planes, factors, roots), (gain, frequency), shape, (first, 0, 0), (root, lines, products, sums));
    }
}

kernel! {
    /// The bilinear gain of two distributions, `A_g B_m + A_m B_g` instead of `A B`, and both frequencies; otherwise as [`spectral_columns()`].
    ///
    /// The second distribution of an item lies `partner` items behind the first one, its planes `count` items behind.
    pub fn mixed_columns<T: Real>(
        t, planes: In<T>, factors: In<T>, roots: In<T>, gain: Out<T>, frequency: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    each shape.period in 24, 30, 36, 48 or any
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 4 * shape.together * shape.column_stride()],
        products: [T; (shape.together + 1) * shape.n * SPECTRAL_COLUMNS],
        sums: [T; shape.n * SPECTRAL_COLUMNS],
    } {
        columns::<T, true, _>(t, (planes, factors, roots), (gain, frequency), shape, (first, count, partner), (root, lines, products, sums));
    }
}
