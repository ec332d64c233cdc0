//! The output given as input at the same time.

use rarefy_kernels::collision::collect;
use rarefy_kernels::{DeviceMemory as Machine, Kernel};

fn launch<M: Machine>(_: &M, _: impl Kernel<M>) {}

fn refused<M: Machine>(machine: &M, first: &M::Buffer<u32>, sums: &mut M::Buffer<f32>) {
    launch(machine, collect::<M, f32> { buffer: &*sums, first, out: &mut *sums, plane: 100 });
}

fn main() {}
