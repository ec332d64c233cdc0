//! Benchmarks of the collision integral.

fn main() {}
