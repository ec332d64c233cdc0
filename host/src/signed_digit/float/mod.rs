//! Sums and dot products of `f32` and `f64` that are exact and rounded once.
