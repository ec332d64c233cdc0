//! A buffer of one machine in a launch on another.

use rarefy_kernels::collision::collect;
use rarefy_kernels::{DeviceMemory as Machine, Kernel};

fn launch<M: Machine>(_: &M, _: impl Kernel<M>) {}

fn refused<M: Machine, N: Machine>(
    machine: &M,
    parts: &N::Buffer<f32>,
    first: &M::Buffer<u32>,
    sums: &mut M::Buffer<f32>,
) {
    launch(machine, collect::<M, f32> { buffer: parts, first, out: sums, plane: 100 });
}

fn main() {}
