//! NumPy's array files: cubes and lists of `f32` or `f64` in, arrays out.
//!
//! `ndarray-npy` reads and writes the format. Of the crates that do, it is the one whose header can be read before the data and
//! whose errors are values to match, not texts; here they get the words that this command uses.

use std::fs::{File, Metadata};
use std::io::{BufReader, Read};
use std::path::Path;

use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder};
use ndarray_npy::npy::header::{Header, ParseHeaderError, ReadHeaderError};
use ndarray_npy::{ReadDataError, ReadableElement, WriteNpyExt};

use super::text::reason;
use crate::compute::Precision;
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};

/// Bytes that a header may have with what precedes it. Those of plain arrays have 128; the parser recurses, and a longer one could exhaust the stack.
pub(super) const HEADER: usize = 1024;

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
    let (shape, values) = read(path, fits, &needed, room_for_many)?;
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
    Ok(read(path, fits, &needed, |_, _, _, _| Ok(()))?.1)
}

/// The message on an array of another shape than `needed`, the valid shape in words.
pub(super) fn refused_shape(shape: &[usize], needed: &str) -> String {
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape: Vec<_> = shape.iter().map(usize::to_string).collect();
    format!("has the shape ({}{comma}); {needed}", shape.join(", "))
}

/// Reads an array whose shape fits; `needed` says in words which one does, and `room` whether there is memory for so many bytes of data.
/// Returns the shape and the values in C order.
fn read(
    path: &Path,
    fits: impl FnOnce(&[usize]) -> bool,
    needed: &str,
    room: impl FnOnce(&Path, &[usize], usize, &Metadata) -> Result<()>,
) -> Result<(Vec<usize>, Vec<f64>)> {
    let refuse = |text: String| Error::file(path, text);
    let failed = |e: std::io::Error| Error::file(path, reason(&e));
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(refuse("a folder, where a .npy file is needed".into()));
    }
    let mut file = BufReader::new(file);

    let mut head = Vec::new();
    file.by_ref()
        .take(HEADER as u64)
        .read_to_end(&mut head)
        .map_err(failed)?;
    let (header, rest) = parse_header(path, &head)?;

    let descr = header.type_descriptor.as_string().map_or("", |s| s);
    let width = match descr {
        "<f4" | ">f4" => 4,
        "<f8" | ">f8" => 8,
        other => {
            return Err(refuse(refused_type(other, "float32 or float64 is needed")));
        }
    };
    if !fits(&header.shape) {
        return Err(refuse(refused_shape(&header.shape, needed)));
    }

    let shape = header.shape.clone();
    let bytes = shape
        .iter()
        .fold(width, |bytes: usize, &n| bytes.saturating_mul(n));
    room(path, &shape, bytes, &metadata)?;
    // One byte more tells that there are more.
    let mut data = rest.chain(file).take(bytes as u64 + 1);
    let values = match width {
        4 => exact::<f32>(&mut data, &header),
        _ => exact::<f64>(&mut data, &header),
    };
    let values = values.map_err(|e| match e {
        ReadDataError::Io(e) => failed(e),
        ReadDataError::MissingData => refuse(format!(
            "the file is cut short: {} of {bytes} bytes of data are there",
            bytes as u64 + 1 - data.limit()
        )),
        ReadDataError::ExtraBytes(_) => refuse(format!(
            "the file has more than the {bytes} bytes of data that its header announces"
        )),
        other => refuse(other.to_string()),
    })?;
    let values = ArrayD::from_shape_vec(IxDyn(&shape).set_f(header.layout.is_fortran()), values)
        .map_err(|e| refuse(e.to_string()))?;
    Ok((shape, values.iter().copied().collect()))
}

/// The header of a .npy file, from the first [`HEADER`] bytes of the file or all that it has, and what follows it in them.
pub(super) fn parse_header<'a>(path: &Path, head: &'a [u8]) -> Result<(Header, &'a [u8])> {
    let refuse = |text: String| Error::file(path, text);
    let head = &head[..head.len().min(HEADER)];
    let long = || {
        refuse(format!(
            "the header of this .npy file has more than {HEADER} bytes"
        ))
    };
    // Versions 2 and 3 may announce 4 GiB, for which the parser would make room at once.
    if matches!(*head, [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _, _, _, a, b, ..] if a | b != 0)
    {
        return Err(long());
    }
    let mut rest = head;
    let header = Header::from_reader(&mut rest).map_err(|e| match e {
        ReadHeaderError::Io(_) if head.len() == HEADER => long(),
        ReadHeaderError::Io(_) if head.len() < 6 => refuse(NOT_NPY.into()),
        ReadHeaderError::Io(_) => refuse("the file is cut short within its header".into()),
        ReadHeaderError::Parse(ParseHeaderError::MagicString) => refuse(NOT_NPY.into()),
        ReadHeaderError::Parse(ParseHeaderError::Version { major, minor }) => refuse(format!(
            "version {major}.{minor} of the .npy format is not known; 1.0 to 3.0 are"
        )),
        ReadHeaderError::Parse(_) => refuse(
            "the header of this .npy file cannot be read; numpy.save writes a good one".into(),
        ),
    })?;

    Ok((header, rest))
}

const NOT_NPY: &str = "not a .npy file; numpy.save writes one";

/// The numbers as the file has them, and no byte less or more.
fn exact<T: ReadableElement + Into<f64>>(
    data: impl Read,
    header: &Header,
) -> std::result::Result<Vec<f64>, ReadDataError> {
    let count = header.shape.iter().product();
    let values = T::read_to_end_exact_vec(data, &header.type_descriptor, count)?;
    Ok(values.into_iter().map(T::into).collect())
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

/// The message on elements of a type that is not read; `needed` says in words which ones are.
pub(super) fn refused_type(descr: &str, needed: &str) -> String {
    let words = type_in_words(descr);
    let remedy = match words.as_str() {
        _ if words.starts_with('\'') => {
            return format!(
                "describes its elements as {words}; numpy.save writes such as '<f8', of which {needed}"
            );
        }
        _ if words.starts_with("complex") => {
            "numpy: f.real and f.imag are two arrays of real numbers"
        }
        "records" => "numpy: f['NAME'] is an array of one field",
        _ => "numpy: f.astype('float64')",
    };
    format!("holds {words}; {needed} ({remedy})")
}

/// `int64` for `<i8`.
fn type_in_words(descr: &str) -> String {
    let bare = descr.trim_start_matches(['<', '>', '|', '=']);
    let (kind, size) = bare.split_at(bare.len().min(1));
    let bits = size
        .parse::<u32>()
        .ok()
        .and_then(|size| size.checked_mul(8));
    match (kind, bits) {
        ("f", Some(bits)) => format!("float{bits}"),
        ("i", Some(bits)) => format!("int{bits}"),
        ("u", Some(bits)) => format!("uint{bits}"),
        ("c", Some(bits)) => format!("complex{bits}"),
        ("b", _) => "bool".into(),
        ("O", _) => "Python objects".into(),
        ("", _) => "records".into(),
        _ => format!("'{descr}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_types_are_named_with_a_remedy_that_loses_nothing() {
        for (descr, text) in [
            (
                "<i8",
                "holds int64; float64 is needed (numpy: f.astype('float64'))",
            ),
            (
                "<c16",
                "holds complex128; float64 is needed (numpy: f.real and f.imag are two arrays of real numbers)",
            ),
            (
                "",
                "holds records; float64 is needed (numpy: f['NAME'] is an array of one field)",
            ),
            (
                "float64",
                "describes its elements as 'float64'; numpy.save writes such as '<f8', of which float64 is needed",
            ),
        ] {
            assert_eq!(refused_type(descr, "float64 is needed"), text);
        }
    }

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
