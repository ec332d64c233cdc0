//! Exact sums along an axis of an array.

use std::path::Path;

use crate::cli::numbers::{Element, Fixed, Layout, Numbers};
use crate::cli::report::Output;
use crate::compute::Precision;
use crate::error::Result;
use crate::signed_digit::float::{ExactEngine, Float};

/// Sums of an array along an axis, each rounded once, in C order.
pub(super) struct Sums {
    shape: Vec<usize>,
    /// Numbers of the precision that they were rounded to.
    values: Vec<f64>,
}

impl Sums {
    /// Sums an array of floating-point numbers along this axis; negative ones count from the last.
    pub(super) fn new(
        engine: &ExactEngine,
        input: (&Numbers, &Layout),
        axis: i64,
        round: Precision,
    ) -> Result<Self> {
        match input.1.element {
            Element::F32 => Self::of::<f32>(engine, input, axis, round),
            _ => Self::of::<f64>(engine, input, axis, round),
        }
    }

    fn of<T: Float + Fixed>(
        engine: &ExactEngine,
        (numbers, layout): (&Numbers, &Layout),
        axis: i64,
        round: Precision,
    ) -> Result<Self> {
        let mut values = Vec::new();
        let shape = numbers.rows::<T>(layout, axis, |rows, x| {
            match round {
                Precision::F64 => values.extend(engine.row_sums::<_, f64>(x, rows)?),
                Precision::F32 => {
                    let sums: Vec<f32> = engine.row_sums(x, rows)?;
                    values.extend(sums.into_iter().map(f64::from));
                }
            }
            Ok(())
        })?;
        Ok(Self { shape, values })
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
