//! Launches of the kernels of each format.

use rarefy_kernels::Element;
use rarefy_kernels::signed_digit::float::{self as kernels, Layout, flag};

use crate::error::Result;
use crate::machine::{Grid, Machine, Multiprocessors};

/// A kernel's row of digits and how it is launched.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Shape {
    pub layout: Layout,
    pub threads: u32,
    pub tile: usize,
    /// Shared memory of a block.
    pub shared_bytes: usize,
    /// Blocks that the registers of a multiprocessor hold.
    pub most_blocks: u32,
}

/// The kernels of a type.
#[doc(hidden)]
pub trait Launch: Element {
    const SUM: Shape;
    const DOT: Shape;
    const ROW: Shape;
    const WINDOW_ROW: Shape;

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

    /// Sums each row and rounds it, or those that are left.
    fn row_sums<M: Machine>(
        machine: &M,
        grid: Grid,
        x: &M::Buffer<Self>,
        sums: &mut M::Buffer<f64>,
        left: &RowsLeft<M>,
        rounding: RowRounding,
    ) -> Result<()>;

    /// The same, without the rows that windows do not take.
    fn window_row_sums<M: Machine>(
        machine: &M,
        grid: Grid,
        x: &M::Buffer<Self>,
        sums: &mut M::Buffer<f64>,
        left: &mut RowsLeft<M>,
        rounding: RowRounding,
    ) -> Result<()>;

    /// Adds the parts of each row to its digits.
    fn row_parts<M: Machine>(
        machine: &M,
        grid: Grid,
        x: &M::Buffer<Self>,
        result: &mut M::Buffer<u64>,
        parts: RowParts,
    ) -> Result<()>;

    /// Rounds the digits of each row.
    fn round_rows<M: Machine>(
        machine: &M,
        grid: Grid,
        result: &M::Buffer<u64>,
        sums: &mut M::Buffer<f64>,
        single: u32,
    ) -> Result<()>;
}

/// Rows of a length, and whether their sums are rounded to `f32`.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct RowRounding {
    pub length: u64,
    pub single: u32,
}

/// The rows that windows left to the digits, or all.
#[derive(Debug)]
#[doc(hidden)]
pub struct RowsLeft<M: Machine> {
    count: M::Buffer<u32>,
    rows: M::Buffer<u32>,
    all: bool,
}

impl<M: Machine> RowsLeft<M> {
    /// None of so many, or all.
    pub(super) fn new(machine: &M, rows: usize, all: bool) -> Result<Self> {
        Ok(Self {
            count: machine.zeros(1)?,
            rows: machine.allocate(if all { 1 } else { rows })?,
            all,
        })
    }
}

/// Rows of a length in parts of `part` elements.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct RowParts {
    pub length: u64,
    pub rows: u32,
    pub parts: u32,
    pub part: u64,
}

/// Whether sums of similar numbers go through registers: where additions of `f64` are not the machine's slowest.
fn windows<M: Machine>(machine: &M) -> u32 {
    u32::from(machine.multiprocessors().fast_doubles)
}

macro_rules! launch {
    (
        $t:ty: $sum:ident, $magnitudes:ident, $dot:ident, $row_sums:ident, $window_row_sums:ident, $row_parts:ident, $round_rows:ident,
        $sum_shape:expr, $dot_shape:expr, $row_shape:expr, $window_row_shape:expr
    ) => {
        impl Launch for $t {
            const SUM: Shape = $sum_shape;
            const DOT: Shape = $dot_shape;
            const ROW: Shape = $row_shape;
            const WINDOW_ROW: Shape = $window_row_shape;

            fn sum<M: Machine>(
                machine: &M,
                grid: Grid,
                x: &M::Buffer<Self>,
                magnitudes: bool,
                result: &mut M::Buffer<u64>,
            ) -> Result<()> {
                if magnitudes {
                    Ok(machine.launch(
                        grid,
                        kernels::$magnitudes {
                            x,
                            result,
                            windows: windows(machine),
                        },
                    )?)
                } else {
                    Ok(machine.launch(
                        grid,
                        kernels::$sum {
                            x,
                            result,
                            windows: windows(machine),
                        },
                    )?)
                }
            }

            fn dot<M: Machine>(
                machine: &M,
                grid: Grid,
                x: &M::Buffer<Self>,
                y: &M::Buffer<Self>,
                result: &mut M::Buffer<u64>,
            ) -> Result<()> {
                Ok(machine.launch(
                    grid,
                    kernels::$dot {
                        x,
                        y,
                        result,
                        windows: windows(machine),
                    },
                )?)
            }

            fn row_sums<M: Machine>(
                machine: &M,
                grid: Grid,
                x: &M::Buffer<Self>,
                sums: &mut M::Buffer<f64>,
                left: &RowsLeft<M>,
                RowRounding { length, single }: RowRounding,
            ) -> Result<()> {
                Ok(machine.launch(
                    grid,
                    kernels::$row_sums {
                        x,
                        sums,
                        count: &left.count,
                        left: &left.rows,
                        length,
                        single,
                        all: u32::from(left.all),
                    },
                )?)
            }

            fn window_row_sums<M: Machine>(
                machine: &M,
                grid: Grid,
                x: &M::Buffer<Self>,
                sums: &mut M::Buffer<f64>,
                left: &mut RowsLeft<M>,
                RowRounding { length, single }: RowRounding,
            ) -> Result<()> {
                Ok(machine.launch(
                    grid,
                    kernels::$window_row_sums {
                        x,
                        sums,
                        count: &mut left.count,
                        left: &mut left.rows,
                        length,
                        single,
                    },
                )?)
            }

            fn row_parts<M: Machine>(
                machine: &M,
                grid: Grid,
                x: &M::Buffer<Self>,
                result: &mut M::Buffer<u64>,
                RowParts {
                    length,
                    rows,
                    parts,
                    part,
                }: RowParts,
            ) -> Result<()> {
                Ok(machine.launch(
                    grid,
                    kernels::$row_parts {
                        x,
                        result,
                        length,
                        rows,
                        parts,
                        part,
                    },
                )?)
            }

            fn round_rows<M: Machine>(
                machine: &M,
                grid: Grid,
                result: &M::Buffer<u64>,
                sums: &mut M::Buffer<f64>,
                single: u32,
            ) -> Result<()> {
                Ok(machine.launch(
                    grid,
                    kernels::$round_rows {
                        result,
                        sums,
                        single,
                    },
                )?)
            }
        }
    };
}
launch! {
    f64: exact_sum_f64, exact_magnitude_sum_f64, exact_dot_f64, row_sums_f64, window_row_sums_f64, row_parts_f64, round_rows_f64,
    Shape {
        layout: kernels::SUM_F64,
        threads: kernels::SUM_THREADS_F64,
        tile: kernels::SUM_TILE_F64,
        shared_bytes: digit_bytes(kernels::SUM_F64, kernels::SUM_THREADS_F64),
        most_blocks: 8,
    },
    Shape {
        layout: kernels::DOT_F64,
        threads: kernels::DOT_THREADS_F64,
        tile: kernels::DOT_TILE_F64,
        shared_bytes: digit_bytes(kernels::DOT_F64, kernels::DOT_THREADS_F64),
        most_blocks: 8,
    },
    Shape {
        layout: kernels::ROW_F64,
        threads: kernels::ROW_THREADS,
        tile: 1,
        shared_bytes: digit_bytes(kernels::ROW_F64, kernels::ROW_THREADS),
        most_blocks: 6,
    },
    Shape {
        layout: kernels::ROW_F64,
        threads: kernels::ROW_THREADS,
        tile: kernels::WINDOW_ROWS_F64 as usize / 4,
        shared_bytes: size_of::<f64>() * kernels::WINDOW_ROWS_F64 as usize,
        most_blocks: 6,
    }
}
launch! {
    f32: exact_sum_f32, exact_magnitude_sum_f32, exact_dot_f32, row_sums_f32, window_row_sums_f32, row_parts_f32, round_rows_f32,
    Shape {
        layout: kernels::SUM_F32,
        threads: kernels::SUM_THREADS_F32,
        tile: kernels::SUM_TILE_F32,
        shared_bytes: digit_bytes(kernels::SUM_F32, kernels::SUM_THREADS_F32),
        most_blocks: 8,
    },
    Shape {
        layout: kernels::DOT_F32,
        threads: kernels::DOT_THREADS_F32,
        tile: kernels::DOT_TILE_F32,
        shared_bytes: digit_bytes(kernels::DOT_F32, kernels::DOT_THREADS_F32),
        most_blocks: 8,
    },
    Shape {
        layout: kernels::ROW_F32,
        threads: kernels::ROW_THREADS,
        tile: 1,
        shared_bytes: digit_bytes(kernels::ROW_F32, kernels::ROW_THREADS),
        most_blocks: 10,
    },
    Shape {
        layout: kernels::ROW_F32,
        threads: kernels::ROW_THREADS,
        tile: kernels::WINDOW_ROWS_F32 as usize / 4,
        shared_bytes: size_of::<f32>() * kernels::WINDOW_ROWS_F32 as usize,
        most_blocks: 6,
    }
}

/// Digits of a block, in this many columns.
const fn digit_bytes(layout: Layout, columns: u32) -> usize {
    8 * layout.digits as usize * columns as usize
}

impl Shape {
    /// Blocks that a machine holds at a time.
    pub(super) fn resident(&self, machine: Multiprocessors) -> u32 {
        // A kilobyte of a block's shared memory is the system's.
        let of_shared =
            u32::try_from(machine.shared_bytes / (self.shared_bytes + 1024)).unwrap_or(u32::MAX);
        machine.count.max(1) * of_shared.clamp(1, self.most_blocks)
    }

    /// Words of a result: digits and flags, all 0 where nothing has been summed.
    pub(super) const fn words(&self) -> usize {
        (self.layout.digits + flag::LEN) as usize
    }
}
