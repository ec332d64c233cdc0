//! Arrays of sums: along axes of an array, of its beginnings and of its runs.

use std::path::Path;

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::quantity::Quantity;
use crate::cli::numbers::{Fixed, Layout, Numbers};
use crate::cli::report::Output;
use crate::compute::Precision;
use crate::error::Result;
use crate::signed_digit::float::{ExactEngine, Float};
use crate::signed_digit::statistics;

/// Sums of an array along axes, each rounded once, in C order.
pub(super) struct Sums {
    shape: Vec<usize>,
    /// Numbers of the precision that they were rounded to.
    values: Vec<f64>,
}

/// The sums that are computed of each row.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) quantity: Quantity,
    /// Axes, of which negative ones count from the last.
    pub(super) axes: &'a [i64],
    /// Lost degrees of freedom of variances.
    pub(super) lost: u64,
    pub(super) round: Precision,
}

impl Sums {
    /// Sums an array of floating-point numbers along axes.
    pub(super) fn new(
        engine: &ExactEngine,
        input: (&Numbers, &Layout),
        task: Task<'_>,
    ) -> Result<Self> {
        match (input.1.element.is_single(), task.round) {
            (true, Precision::F32) => Self::of::<f32, f32>(engine, input, task),
            (true, Precision::F64) => Self::of::<f32, f64>(engine, input, task),
            (false, Precision::F32) => Self::of::<f64, f32>(engine, input, task),
            (false, Precision::F64) => Self::of::<f64, f64>(engine, input, task),
        }
    }

    fn of<T: Float + Fixed, U: Float>(
        engine: &ExactEngine,
        (numbers, layout): (&Numbers, &Layout),
        task: Task<'_>,
    ) -> Result<Self> {
        let mut values = Vec::new();
        let shape = numbers.rows::<T>(layout, task.axes, |rows, x| {
            let sums: Vec<U> = match task.quantity {
                Quantity::Sum => engine.row_sums(x, rows)?,
                quantity => {
                    let row = |row: usize| {
                        let x = &x[row * rows[1]..(row + 1) * rows[1]];
                        match quantity {
                            Quantity::Mean => statistics::mean(x).round(),
                            Quantity::Var => statistics::variance(x, task.lost).round(),
                            _ => statistics::variance(x, task.lost).sqrt(),
                        }
                    };
                    (0..rows[0]).into_par_iter().map(row).collect()
                }
            };
            values.extend(sums.into_iter().map(U::to_f64));
            Ok(())
        })?;
        Ok(Self { shape, values })
    }

    /// The sums of all beginnings of an array in C order, or those of its runs, rounded to the type of its elements.
    pub(super) fn of_runs(
        (numbers, layout): (&Numbers, &Layout),
        offsets: Option<&[usize]>,
    ) -> Result<Self> {
        fn of<T: Float + Fixed>(
            numbers: &Numbers,
            layout: &Layout,
            offsets: Option<&[usize]>,
        ) -> Result<Vec<f64>> {
            let x: Vec<T> = numbers.whole(layout)?;
            let sums = match offsets {
                Some(offsets) => statistics::segment_sums(&x, offsets)?,
                None => statistics::cumulative_sum(&x),
            };
            Ok(sums.into_iter().map(Real::to_f64).collect())
        }
        let values = if layout.element.is_single() {
            of::<f32>(numbers, layout, offsets)?
        } else {
            of::<f64>(numbers, layout, offsets)?
        };
        Ok(Self {
            shape: vec![values.len()],
            values,
        })
    }

    /// Lengths of the axes that are left.
    pub(super) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Writes the array to the folder of the run.
    pub(super) fn write(&self, output: &mut Output<'_>, round: Precision) -> Result<()> {
        output.array("sums.npy", &self.shape, &self.values, round)
    }
}

/// Whether the name of a file has the ending of an array.
pub(super) fn is_array(path: &Path) -> bool {
    let ending = path.extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("npy"))
}
