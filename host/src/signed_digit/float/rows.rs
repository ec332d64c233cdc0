//! Sums of the rows of a matrix, each rounded once.

use rayon::prelude::*;

use super::accumulator::ExactAccumulator;
use super::engine::{ExactEngine, Operation, Place};
use super::format::Float;
use super::launch::{RowParts, RowRounding, RowsLeft, Shape};
use super::reference;
use crate::compute::{Precision, on_each, shares};
use crate::error::{Error, Result};
use crate::machine::{Grid, Machine};
use crate::memory_plan::{bytes_of, check_host};

/// Elements of a part of a row at least, unless the row is shorter.
const LEAST_PART: usize = 1024;
/// Elements of a part at most: a kernel counts its runs in 32 bits.
const MOST_PART: usize = 1 << 30;
/// Elements of a row at most for windows: level 0 holds the sum of so many.
const MOST_WINDOWED: usize = 1 << 14;
/// Elements that a task of the CPU takes at least.
const TASK: usize = 1 << 14;
/// Threads of a warp.
const WARP: usize = rarefy_kernels::WARP as usize;
/// Rows that it sums at a time.
const WARP_ROWS: usize = WARP / rarefy_kernels::signed_digit::float::ROW_LANES as usize;
/// Warps of a block.
const WARPS: usize = rarefy_kernels::signed_digit::float::ROW_THREADS as usize / WARP;

/// Sums each row of a matrix in a machine's memory, rounded once: `sums[r]` is the sum of row r of `x`, which has as many rows as `sums` elements.
///
/// Rounding to `f32` is one rounding of the exact sum too; `sums` holds that number in `f64`.
///
/// ```
/// use rarefy::Precision;
/// use rarefy::emulator::Emulator;
/// use rarefy::machine::Machine;
/// use rarefy::signed_digit::float::machine_row_sums;
///
/// let machine = Emulator::default(); // or gpu::Device::open()?
/// let x = machine.upload(&[1e100, 1.5, -1e100, 0.1, 0.2, 0.3])?;
/// let mut sums = machine.allocate::<f64>(2)?;
/// machine_row_sums(&machine, &x, Precision::F64, &mut sums)?;
/// let mut found = [0.0; 2];
/// machine.read(&sums, &mut found)?;
/// assert_eq!(found, [1.5, 0.6]);
/// # Ok::<(), rarefy::Error>(())
/// ```
///
/// # Errors
/// Elements that fill no rows of one length; a fault of the device.
pub fn machine_row_sums<M: Machine, T: Float>(
    machine: &M,
    x: &M::Buffer<T>,
    round: Precision,
    sums: &mut M::Buffer<f64>,
) -> Result<()> {
    let (elements, rows) = (M::len(x), M::len(sums));
    if rows == 0 && elements == 0 {
        return Ok(());
    }
    let length = elements.checked_div(rows).unwrap_or(0);
    check_shape(elements, [rows, length])?;
    if length == 0 {
        return Ok(machine.write(sums, &vec![0.0; rows])?);
    }
    let multiprocessors = machine.multiprocessors();
    let grid = |shape: Shape, warps: usize| Grid {
        blocks: u32::try_from(warps.div_ceil(WARPS))
            .unwrap_or(u32::MAX)
            .clamp(1, shape.resident(multiprocessors)),
        threads: shape.threads,
    };
    let single = u32::from(round == Precision::F32);
    let rounding = RowRounding {
        length: length as u64,
        single,
    };
    let shape = T::ROW;
    let by_digits = |rows: usize| grid(shape, rows.div_ceil(WARP_ROWS));
    let resident = shape.resident(multiprocessors) as usize;
    let parts = (resident * WARPS * WARP_ROWS / rows)
        .min(length / LEAST_PART)
        .max(length.div_ceil(MOST_PART));
    if parts <= 1 {
        let windows =
            multiprocessors.fast_doubles && length <= MOST_WINDOWED && u32::try_from(rows).is_ok();
        let mut left = RowsLeft::new(machine, rows, !windows)?;
        if windows {
            let warps = elements.div_ceil(T::WINDOW_ROW.tile).min(rows);
            let grid = grid(T::WINDOW_ROW, warps);
            T::window_row_sums(machine, grid, x, sums, &mut left, rounding)?;
        }
        return T::row_sums(machine, by_digits(rows), x, sums, &left, rounding);
    }
    // Parts of whole lines of memory.
    let part = length.div_ceil(parts).next_multiple_of(128);
    let parts = length.div_ceil(part);
    let too_many = |_| Error::invalid("x", format!("{rows} rows of {length} elements"), "fewer");
    let cut = RowParts {
        length: length as u64,
        rows: u32::try_from(rows).map_err(too_many)?,
        parts: u32::try_from(parts).map_err(too_many)?,
        part: part as u64,
    };
    let mut digits = machine.zeros::<u64>(rows * shape.words())?;
    T::row_parts(machine, by_digits(rows * parts), x, &mut digits, cut)?;
    T::round_rows(machine, by_digits(rows), &digits, sums, single)
}

/// Refuses elements that do not fill the shape.
fn check_shape(elements: usize, [rows, length]: [usize; 2]) -> Result<()> {
    if rows.checked_mul(length) == Some(elements) {
        return Ok(());
    }
    Err(Error::invalid(
        "x",
        format!("{elements} elements"),
        format!("{rows} rows of {length}"),
    ))
}

impl ExactEngine {
    /// The exact sum of each row of a matrix of this shape, whose rows follow one another, rounded once to `U`: what [`sum`](Self::sum) of the row is
    /// rounded to. A row of no elements has the sum +0.
    ///
    /// ```
    /// use rarefy::Backend;
    /// use rarefy::signed_digit::float::ExactEngine;
    ///
    /// let engine = ExactEngine::new(Backend::Cpu)?;
    /// let sums: Vec<f64> = engine.row_sums(&[1e100, 1.5, -1e100, 0.1, 0.2, 0.3], [2, 3])?;
    /// assert_eq!(sums, [1.5, 0.6]);
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// Elements that do not fill the shape; a fault of the device, or too little memory.
    pub fn row_sums<T: Float, U: Float>(&self, x: &[T], shape: [usize; 2]) -> Result<Vec<U>> {
        check_shape(x.len(), shape)?;
        let [rows, length] = shape;
        check_host(
            &format!("an array of {rows} sums"),
            bytes_of::<f64>(2 * rows as u64),
            "sum fewer rows at a time",
        )?;
        if length == 0 {
            return Ok(vec![U::ZERO; rows]);
        }
        if rows < self.places.len() {
            return x
                .chunks(length)
                .map(|row| Ok(self.sum(row)?.round()))
                .collect();
        }
        let parts = shares(rows, self.places.len());
        let sums = on_each(self.places.iter().zip(parts), |(place, part)| {
            self.row_sums_on(place, &x[part.start * length..part.end * length], length)
        })?;
        Ok(sums.concat())
    }

    fn row_sums_on<T: Float, U: Float>(
        &self,
        place: &Place,
        x: &[T],
        length: usize,
    ) -> Result<Vec<U>> {
        match place {
            Place::Cuda(device) => self.row_sums_by(device, x, length),
            Place::Emulator(emulator) => self.row_sums_by(emulator, x, length),
            Place::Cpu => Ok(self.pool.run(|| {
                x.par_chunks(length)
                    .with_min_len(TASK.div_ceil(length))
                    .map(|row| ExactAccumulator::sum(row).round())
                    .collect()
            })),
            Place::Reference => {
                let rows = x.chunks(length);
                Ok(rows.map(|row| reference::sum(row).round()).collect())
            }
        }
    }

    /// Some rows at a time through the machine's memory; a row that does not fit at once, in pieces.
    fn row_sums_by<M: Machine, T: Float, U: Float>(
        &self,
        machine: &M,
        x: &[T],
        length: usize,
    ) -> Result<Vec<U>> {
        // A sum and a number in a list of rows take the room of two or three elements.
        let piece = self.piece::<M, T>(machine, 1, x.len() + 3 * (x.len() / length))?;
        let at_once = piece / (length + 3);
        if at_once == 0 {
            let by_pieces = |row| Ok(self.on_machine(machine, row, Operation::Sum)?.round());
            return x.chunks(length).map(by_pieces).collect();
        }
        let round = if size_of::<U>() == 4 {
            Precision::F32
        } else {
            Precision::F64
        };
        let mut sums = Vec::with_capacity(x.len() / length);
        let mut found = Vec::new();
        for x in x.chunks(at_once * length) {
            let x = machine.upload(x)?;
            found.resize(M::len(&x) / length, 0.0);
            let mut rounded = machine.allocate::<f64>(found.len())?;
            machine_row_sums::<M, T>(machine, &x, round, &mut rounded)?;
            machine.read(&rounded, &mut found)?;
            sums.extend(found.iter().map(|&sum| U::from_f64(sum)));
        }
        Ok(sums)
    }
}
