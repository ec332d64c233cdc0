//! Two buffers in each other's place.

use rarefy_kernels::collision::collect;
use rarefy_kernels::{DeviceMemory as Machine, Kernel};

fn launch<M: Machine>(_: &M, _: impl Kernel<M>) {}

fn refused<M: Machine>(machine: &M, parts: &M::Buffer<f32>, first: &M::Buffer<u32>, sums: &mut M::Buffer<f32>) {
    launch(machine, collect::<M, f32> { buffer: first, first: parts, out: sums, plane: 100 });
}

fn main() {}
