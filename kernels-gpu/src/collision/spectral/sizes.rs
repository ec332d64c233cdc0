//! The kernels with constants for the periods of grids in common use: the same bodies, in which the compiler knows all distances in shared memory and needs no division.

use super::super::GridShape;
use super::super::correction_steps::INVARIANT_WORDS;
use super::super::reduce::scratch_words;
use super::columns::summed_columns;
use super::planes::planes as body_of_planes;
use super::shape::{SPECTRAL_COLUMNS, SpectralShape};
use crate::kernel;

/// Period, lines and twins that the launches of [`SPECTRAL_SIZES`] have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpectralSize {
    /// [`SpectralShape::period`].
    pub period: u32,
    /// [`SpectralShape::lines`].
    pub lines: u32,
    /// [`SpectralShape::twins`].
    pub twins: u32,
}

/// The periods with entries of their own.
pub const SPECTRAL_SIZES: [SpectralSize; 6] = [
    SpectralSize {
        period: 24,
        lines: 24,
        twins: 2,
    },
    SpectralSize {
        period: 30,
        lines: 30,
        twins: 2,
    },
    SpectralSize {
        period: 36,
        lines: 36,
        twins: 2,
    },
    SpectralSize {
        period: 48,
        lines: 24,
        twins: 2,
    },
    SpectralSize {
        period: 72,
        lines: 24,
        twins: 1,
    },
    SpectralSize {
        period: 96,
        lines: 32,
        twins: 1,
    },
];

kernel! {
    /// [`spectral_planes()`](super::spectral_planes()) for P = 24.
    pub fn spectral_planes_24<T: Real>(
        t, spectrum: In<T>, weights: In<T>, roots: In<T>, planes: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    shared { root: [T; 2 * shape.period], lines: [T; shape.line_words()], kept: [T; shape.plane_words()] } {
        body_of_planes(t, (spectrum, weights, roots, planes), shape.of_size::<4, 6, 24, 2>(), (first, count, partner), (root, lines, kept));
    }
}

kernel! {
    /// [`spectral_columns()`](super::spectral_columns()) for P = 24.
    pub fn spectral_columns_24<T: Real>(
        t, planes: In<T>, factors: In<T>, roots: In<T>, f: In<f64>, scales: In<f64>, gain: Out<T>, frequency: Out<T>, parts: Out<f64>;
        shape: SpectralShape, first: u32, grid: GridShape, wanted: u32,
    ) for f32, f64
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 2 * shape.together * shape.column_stride()],
        products: [T; shape.together * shape.n * SPECTRAL_COLUMNS],
        sums: [T; shape.n * SPECTRAL_COLUMNS],
        scratch: [f64; scratch_words(INVARIANT_WORDS)],
    } {
        let memory = (root, lines, products, sums);
        summed_columns(
            t, (planes, factors, roots), (gain, frequency), (shape.of_size::<4, 6, 24, 2>(), first), memory, (f, scales, parts, scratch), (grid, wanted),
        );
    }
}

kernel! {
    /// [`spectral_planes()`](super::spectral_planes()) for P = 30.
    pub fn spectral_planes_30<T: Real>(
        t, spectrum: In<T>, weights: In<T>, roots: In<T>, planes: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    shared { root: [T; 2 * shape.period], lines: [T; shape.line_words()], kept: [T; shape.plane_words()] } {
        body_of_planes(t, (spectrum, weights, roots, planes), shape.of_size::<5, 6, 30, 2>(), (first, count, partner), (root, lines, kept));
    }
}

kernel! {
    /// [`spectral_columns()`](super::spectral_columns()) for P = 30.
    pub fn spectral_columns_30<T: Real>(
        t, planes: In<T>, factors: In<T>, roots: In<T>, f: In<f64>, scales: In<f64>, gain: Out<T>, frequency: Out<T>, parts: Out<f64>;
        shape: SpectralShape, first: u32, grid: GridShape, wanted: u32,
    ) for f32, f64
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 2 * shape.together * shape.column_stride()],
        products: [T; shape.together * shape.n * SPECTRAL_COLUMNS],
        sums: [T; shape.n * SPECTRAL_COLUMNS],
        scratch: [f64; scratch_words(INVARIANT_WORDS)],
    } {
        let memory = (root, lines, products, sums);
        summed_columns(
            t, (planes, factors, roots), (gain, frequency), (shape.of_size::<5, 6, 30, 2>(), first), memory, (f, scales, parts, scratch), (grid, wanted),
        );
    }
}

kernel! {
    /// [`spectral_planes()`](super::spectral_planes()) for P = 36.
    pub fn spectral_planes_36<T: Real>(
        t, spectrum: In<T>, weights: In<T>, roots: In<T>, planes: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    shared { root: [T; 2 * shape.period], lines: [T; shape.line_words()], kept: [T; shape.plane_words()] } {
        body_of_planes(t, (spectrum, weights, roots, planes), shape.of_size::<6, 6, 36, 2>(), (first, count, partner), (root, lines, kept));
    }
}

kernel! {
    /// [`spectral_columns()`](super::spectral_columns()) for P = 36.
    pub fn spectral_columns_36<T: Real>(
        t, planes: In<T>, factors: In<T>, roots: In<T>, f: In<f64>, scales: In<f64>, gain: Out<T>, frequency: Out<T>, parts: Out<f64>;
        shape: SpectralShape, first: u32, grid: GridShape, wanted: u32,
    ) for f32, f64
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 2 * shape.together * shape.column_stride()],
        products: [T; shape.together * shape.n * SPECTRAL_COLUMNS],
        sums: [T; shape.n * SPECTRAL_COLUMNS],
        scratch: [f64; scratch_words(INVARIANT_WORDS)],
    } {
        let memory = (root, lines, products, sums);
        summed_columns(
            t, (planes, factors, roots), (gain, frequency), (shape.of_size::<6, 6, 36, 2>(), first), memory, (f, scales, parts, scratch), (grid, wanted),
        );
    }
}

kernel! {
    /// [`spectral_planes()`](super::spectral_planes()) for P = 48.
    pub fn spectral_planes_48<T: Real>(
        t, spectrum: In<T>, weights: In<T>, roots: In<T>, planes: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    shared { root: [T; 2 * shape.period], lines: [T; shape.line_words()], kept: [T; shape.plane_words()] } {
        body_of_planes(t, (spectrum, weights, roots, planes), shape.of_size::<6, 8, 24, 2>(), (first, count, partner), (root, lines, kept));
    }
}

kernel! {
    /// [`spectral_columns()`](super::spectral_columns()) for P = 48.
    pub fn spectral_columns_48<T: Real>(
        t, planes: In<T>, factors: In<T>, roots: In<T>, f: In<f64>, scales: In<f64>, gain: Out<T>, frequency: Out<T>, parts: Out<f64>;
        shape: SpectralShape, first: u32, grid: GridShape, wanted: u32,
    ) for f32, f64
    shared {
        root: [T; 2 * shape.period],
        lines: [T; 2 * shape.together * shape.column_stride()],
        products: [T; shape.together * shape.n * SPECTRAL_COLUMNS],
        sums: [T; shape.n * SPECTRAL_COLUMNS],
        scratch: [f64; scratch_words(INVARIANT_WORDS)],
    } {
        let memory = (root, lines, products, sums);
        summed_columns(
            t, (planes, factors, roots), (gain, frequency), (shape.of_size::<6, 8, 24, 2>(), first), memory, (f, scales, parts, scratch), (grid, wanted),
        );
    }
}

kernel! {
    /// [`spectral_planes()`](super::spectral_planes()) for P = 72.
    pub fn spectral_planes_72<T: Real>(
        t, spectrum: In<T>, weights: In<T>, roots: In<T>, planes: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    shared { root: [T; 2 * shape.period], lines: [T; shape.line_words()], kept: [T; shape.plane_words()] } {
        body_of_planes(t, (spectrum, weights, roots, planes), shape.of_size::<8, 9, 24, 1>(), (first, count, partner), (root, lines, kept));
    }
}

kernel! {
    /// [`spectral_planes()`](super::spectral_planes()) for P = 96.
    pub fn spectral_planes_96<T: Real>(
        t, spectrum: In<T>, weights: In<T>, roots: In<T>, planes: Out<T>; shape: SpectralShape, first: u32, count: u32, partner: u32,
    ) for f32, f64
    shared { root: [T; 2 * shape.period], lines: [T; shape.line_words()], kept: [T; shape.plane_words()] } {
        body_of_planes(t, (spectrum, weights, roots, planes), shape.of_size::<8, 12, 32, 1>(), (first, count, partner), (root, lines, kept));
    }
}
