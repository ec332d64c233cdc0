//! NumPy's array files: their headers, and the numbers that they hold.
//!
//! `ndarray-npy` reads the format. Of the crates that do, it is the one whose header can be read before the data and
//! whose errors are values to match, not texts; here they get the words that errors use.

use std::fs::{File, Metadata};
use std::io::{BufReader, Read};
use std::path::Path;

use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use ndarray_npy::npy::header::{Header, ParseHeaderError, ReadHeaderError};
use ndarray_npy::{ReadDataError, ReadableElement};

use crate::error::{Error, Result, reason};

/// Bytes that a header may have with what precedes it. Those of plain arrays have 128; the parser recurses, and a longer one could exhaust the stack.
pub(crate) const HEADER: usize = 1024;

/// The elements that an array may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// Floating-point numbers.
    Numbers,
    /// Truths or bytes, as 0 and others.
    Marks,
}

/// The message on an array of another shape than `needed`, the valid shape in words.
pub(crate) fn refused_shape(shape: &[usize], needed: &str) -> String {
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape: Vec<_> = shape.iter().map(usize::to_string).collect();
    format!("has the shape ({}{comma}); {needed}", shape.join(", "))
}

/// Reads an array whose shape fits; `needed` says in words which one does, and `room` whether there is memory for so many bytes of data.
/// Returns the shape and the values in C order.
pub(crate) fn read(
    path: &Path,
    elements: Elements,
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
    let width = match (descr, elements) {
        ("<f4" | ">f4", Elements::Numbers) => 4,
        ("<f8" | ">f8", Elements::Numbers) => 8,
        ("|b1" | "|u1", Elements::Marks) => 1,
        (other, Elements::Numbers) => {
            return Err(refuse(refused_type(other, "float32 or float64 is needed")));
        }
        (other, Elements::Marks) => {
            let held = type_in_words(other);
            return Err(refuse(format!(
                "holds {held}; bool or uint8 is needed (numpy: m.astype(bool), with True in the solid)"
            )));
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
    let values = match (width, descr) {
        (4, _) => exact::<f32>(&mut data, &header),
        (8, _) => exact::<f64>(&mut data, &header),
        (_, "|b1") => exact::<bool>(&mut data, &header),
        _ => exact::<u8>(&mut data, &header),
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
pub(crate) fn parse_header<'a>(path: &Path, head: &'a [u8]) -> Result<(Header, &'a [u8])> {
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

/// The message on elements of a type that is not read; `needed` says in words which ones are.
pub(crate) fn refused_type(descr: &str, needed: &str) -> String {
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
}
