//! Launches of the kernels of each format.

use rarefy_kernels::Element;
use rarefy_kernels::signed_digit::float::{self as kernels, Layout, flag};

use crate::error::Result;
use crate::machine::{Grid, Machine};

/// A kernel's row of digits and how it is launched.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Shape {
    pub layout: Layout,
    pub threads: u32,
    pub tile: usize,
    /// Blocks that the registers of a multiprocessor hold.
    pub most_blocks: u32,
}

/// The kernels of a type.
#[doc(hidden)]
pub trait Launch: Element {
    const SUM: Shape;
    const DOT: Shape;

    fn sum<M: Machine>(
        machine: &M,
        grid: Grid,
        x: &M::Buffer<Self>,
        magnitudes: bool,
        result: &mut M::Buffer<u64>,
    ) -> Result<()>;

    fn dot<M: Machine>(
        machine: &M,
        grid: Grid,
        x: &M::Buffer<Self>,
        y: &M::Buffer<Self>,
        result: &mut M::Buffer<u64>,
    ) -> Result<()>;
}

macro_rules! launch {
    ($t:ty: $sum:ident, $magnitudes:ident, $dot:ident, $sum_shape:expr, $dot_shape:expr) => {
        impl Launch for $t {
            const SUM: Shape = $sum_shape;
            const DOT: Shape = $dot_shape;

            fn sum<M: Machine>(
                machine: &M,
                grid: Grid,
                x: &M::Buffer<Self>,
                magnitudes: bool,
                result: &mut M::Buffer<u64>,
            ) -> Result<()> {
                if magnitudes {
                    Ok(machine.launch(grid, kernels::$magnitudes { x, result })?)
                } else {
                    Ok(machine.launch(grid, kernels::$sum { x, result })?)
                }
            }

            fn dot<M: Machine>(
                machine: &M,
                grid: Grid,
                x: &M::Buffer<Self>,
                y: &M::Buffer<Self>,
                result: &mut M::Buffer<u64>,
            ) -> Result<()> {
                Ok(machine.launch(grid, kernels::$dot { x, y, result })?)
            }
        }
    };
}
launch! {
    f64: exact_sum_f64, exact_magnitude_sum_f64, exact_dot_f64,
    Shape { layout: kernels::SUM_F64, threads: kernels::SUM_THREADS_F64, tile: kernels::SUM_TILE_F64, most_blocks: 8 },
    Shape { layout: kernels::DOT_F64, threads: kernels::DOT_THREADS_F64, tile: kernels::DOT_TILE_F64, most_blocks: 8 }
}
launch! {
    f32: exact_sum_f32, exact_magnitude_sum_f32, exact_dot_f32,
    Shape { layout: kernels::SUM_F32, threads: kernels::SUM_THREADS_F32, tile: kernels::SUM_TILE_F32, most_blocks: 8 },
    Shape { layout: kernels::DOT_F32, threads: kernels::DOT_THREADS_F32, tile: kernels::DOT_TILE_F32, most_blocks: 8 }
}

impl Shape {
    /// Words of a result: digits and flags, all 0 where nothing has been summed.
    pub(super) const fn words(&self) -> usize {
        (self.layout.digits + flag::LEN) as usize
    }
}
