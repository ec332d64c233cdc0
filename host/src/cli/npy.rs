//! NumPy's array files: cubes and lists of `f32` or `f64` in, arrays out.

use std::fs::Metadata;
use std::path::Path;

use ndarray::{ArrayD, ArrayViewD, IxDyn};
use ndarray_npy::WriteNpyExt;

use crate::compute::Precision;
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};
use crate::npy::{Elements, read};
pub(super) use crate::npy::{
    HEADER, bfloat16, half, parse_header, refused_exact_type, refused_shape,
};

/// A cube of N x N x N numbers in C order, `[x][y][z]`, or many of them, `[item][x][y][z]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cube {
    pub(super) n: usize,
    /// How many cubes there are, if the array has four dimensions.
    pub(super) items: Option<usize>,
    pub(super) values: Vec<f64>,
}

/// Reads a cube, or with `many` possibly many of them; `sides` are the sizes that they may have.
pub(super) fn read_cube(
    path: &Path,
    sides: std::ops::RangeInclusive<usize>,
    many: bool,
) -> Result<Cube> {
    let (low, high) = (*sides.start(), *sides.end());
    let right = if low == high {
        format!("({low}, {low}, {low})")
    } else {
        format!("(N, N, N) with N from {low} to {high}")
    };
    let also = if many {
        ", or (B, N, N, N) for B of them"
    } else {
        ""
    };
    let needed = format!("{right} is needed, indexed [ix][iy][iz]{also}");
    let is_cube = |x: usize, y: usize, z: usize| x == y && y == z && sides.contains(&x);
    let fits = |shape: &[usize]| match *shape {
        [x, y, z] => is_cube(x, y, z),
        [items, x, y, z] => many && items > 0 && is_cube(x, y, z),
        _ => false,
    };
    let (shape, values) = read(path, Elements::Numbers, fits, &needed, room_for_many)?;
    Ok(Cube {
        n: shape.last().copied().unwrap_or(0),
        items: (shape.len() == 4).then(|| shape[0]),
        values,
    })
}

/// Whether there is room for the collision integrals of many distributions, whose header alone makes room for the data.
fn room_for_many(path: &Path, shape: &[usize], bytes: usize, metadata: &Metadata) -> Result<()> {
    let [items, x, y, z] = *shape else {
        return Ok(());
    };
    let refuse = |text: String| Err(Error::file(path, text));
    if !metadata.is_file() {
        return refuse("many distributions are read from a regular file only".into());
    }
    if metadata.len() < bytes as u64 {
        return refuse(format!(
            "the file is cut short: {bytes} bytes of data are announced, and it has {} bytes in all",
            metadata.len()
        ));
    }
    let count = items.saturating_mul(x * y * z) as u64;
    Ok(check_host(
        &format!("the collision integrals of {items} distributions"),
        bytes_of::<f64>(count.saturating_mul(5)),
        "use fewer at a time",
    )?)
}

/// Reads a list of numbers; `lengths` are those that it may have.
pub(super) fn read_vector(
    path: &Path,
    lengths: std::ops::RangeInclusive<usize>,
) -> Result<Vec<f64>> {
    let (low, high) = (*lengths.start(), *lengths.end());
    let needed = if low == high {
        format!("({low},) is needed")
    } else {
        format!("(M,) with M from {low} to {high} is needed")
    };
    let fits = |shape: &[usize]| matches!(*shape, [n] if lengths.contains(&n));
    Ok(read(path, Elements::Numbers, fits, &needed, |_, _, _, _| Ok(()))?.1)
}

/// An array in C order as a .npy file.
pub(super) fn encode(shape: &[usize], values: &[f64], precision: Precision) -> Vec<u8> {
    const FITS: &str = "the values fill the shape";
    let mut bytes = Vec::new();
    let written = match precision {
        Precision::F32 => {
            ArrayD::from_shape_vec(IxDyn(shape), values.iter().map(|&v| v as f32).collect())
                .expect(FITS)
                .write_npy(&mut bytes)
        }
        Precision::F64 => ArrayViewD::from_shape(IxDyn(shape), values)
            .expect(FITS)
            .write_npy(&mut bytes),
    };
    written.expect("memory takes all bytes");
    bytes
}

/// Refuses values that an array of this precision does not hold: finite ones that would become infinite, or all of them zero.
pub(super) fn check_range(name: &str, values: &[f64], precision: Precision) -> Result<()> {
    let largest = values
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    let kept = match precision {
        Precision::F32 => largest as f32 > 0.0 && (largest as f32).is_finite(),
        Precision::F64 => largest.is_finite(),
    };
    if kept || largest == 0.0 {
        return Ok(());
    }
    Err(Error::invalid(
        name,
        format!("values of up to {largest:.2e}, beyond the range of {precision}"),
        format!(
            "{:.0e} to {:.0e}: scale the input or take f64",
            f32::MIN_POSITIVE,
            f32::MAX
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_version_1_in_c_order() {
        let bytes = encode(&[2], &[1.0, -2.5], Precision::F64);
        assert_eq!(bytes.len(), 128 + 16);
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(
            bytes[10..].starts_with(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}  ")
        );
        assert_eq!(bytes[127], b'\n');
        assert_eq!(bytes[128..136], 1.0f64.to_le_bytes());
        assert_eq!(
            encode(&[2], &[1.0, -2.5], Precision::F32)[128..132],
            1.0f32.to_le_bytes()
        );
    }
}
