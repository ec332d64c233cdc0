//! A slice of the host instead of a buffer of the machine.

use rarefy_kernels::collision::collect;
use rarefy_kernels::{DeviceMemory as Machine, Kernel};

fn launch<M: Machine>(_: &M, _: impl Kernel<M>) {}

fn refused<M: Machine>(machine: &M, parts: &[f32], first: &M::Buffer<u32>, sums: &mut M::Buffer<f32>) {
    launch(machine, collect::<M, f32> { buffer: parts, first, out: sums, plane: 100 });
}

fn main() {}
