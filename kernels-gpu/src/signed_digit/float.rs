//! Exact sums and dot products of `f32` and `f64`.
