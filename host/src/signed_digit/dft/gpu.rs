//! The transform on a machine that runs kernels: one launch.

use rarefy_kernels::signed_digit::packed::{
    TRANSFORM_THREADS, TransformShape, transform as kernel,
};

use crate::error::{Error, Result};
use crate::machine::{Grid, Machine};
use crate::memory_plan::{bytes_of, check_device};
use crate::signed_digit::integer::{Integers, joined};

/// Columns of all outputs, the real parts first.
pub(super) fn transform<M: Machine>(
    machine: &M,
    x: &Integers,
    table: &Integers,
    parts: usize,
    inverse: bool,
) -> Result<Vec<Vec<i128>>> {
    let points = table.len() / 2;
    let columns = x.width() + table.width();
    let outputs = 2 * points;
    let small = |value: usize| {
        u32::try_from(value).map_err(|_| {
            Error::invalid(
                "transform",
                format!("rows of {value} limbs"),
                "shorter rows on a device",
            )
        })
    };
    let shape = TransformShape {
        points: small(points)?,
        width: small(x.width())?,
        table_width: small(table.width())?,
        parts: parts as u32,
        inverse: u32::from(inverse),
    };
    let out = outputs * 2 * columns;
    check_device(
        &machine.limits()?,
        &format!("a transform of {points} points"),
        bytes_of::<u64>(out as u64)
            + bytes_of::<i32>((x.limbs().len() + table.limbs().len()) as u64),
        "use fewer points or digits, or compute on the CPU",
    )?;
    let mut sums = machine.allocate::<u64>(out)?;
    machine.launch(
        Grid {
            blocks: outputs as u32,
            threads: TRANSFORM_THREADS,
        },
        kernel {
            x: &machine.upload(x.limbs())?,
            table: &machine.upload(table.limbs())?,
            out: &mut sums,
            shape,
        },
    )?;
    let mut found = vec![0; out];
    machine.read(&sums, &mut found)?;
    Ok(found.chunks(2 * columns).map(joined).collect())
}
