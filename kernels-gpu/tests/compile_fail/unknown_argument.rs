//! An argument that the kernel does not have.

use rarefy_kernels::collision::collect;
use rarefy_kernels::{DeviceMemory as Machine, Kernel};

fn launch<M: Machine>(_: &M, _: impl Kernel<M>) {}

fn refused<M: Machine>(machine: &M, parts: &M::Buffer<f32>, first: &M::Buffer<u32>, sums: &mut M::Buffer<f32>) {
    launch(machine, collect::<M, f32> { buffer: parts, first, out: sums, plane: 100, width: 10 });
}

fn main() {}
