//! NumPy's array files: their headers, and the numbers that they hold.
//!
//! `ndarray-npy` reads the format. Of the crates that do, it is the one whose header can be read before the data and
//! whose errors are values to match, not texts; here they get the words that errors use.

use std::fs::{File, Metadata};
use std::io::{BufReader, Read};
use std::path::Path;

use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use ndarray_npy::npy::header::Header;
use ndarray_npy::{ReadDataError, ReadableElement};

use crate::error::{Error, Result, reason};

/// Bytes of the text of a header that NumPy reads.
const TEXT: usize = 10_000;
/// Bytes of a header with what precedes it.
pub(crate) const HEADER: usize = 12 + TEXT;
/// Bytes of the text without the blanks that follow it. The parser recurses, and a longer text could exhaust the stack.
const PLAIN: usize = 1024;

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
///
/// It is read as NumPy reads it: versions 1.0 to 3.0, blanks and line ends anywhere, integers such as `40L` of Python 2, and types by their names. The type
/// is described as `numpy.save` does.
pub(crate) fn parse_header<'a>(path: &Path, head: &'a [u8]) -> Result<(Header, &'a [u8])> {
    let refuse = |text: String| Error::file(path, text);
    let cut = || refuse("the file is cut short within its header".into());
    let head = &head[..head.len().min(HEADER)];
    let Some(versioned) = head.strip_prefix(MAGIC) else {
        return Err(refuse(NOT_NPY.into()));
    };
    let [major, minor, rest @ ..] = versioned else {
        return Err(cut());
    };
    let sized = match (major, minor) {
        (1, 0) => rest
            .split_first_chunk()
            .map(|(size, rest)| (usize::from(u16::from_le_bytes(*size)), rest)),
        (2 | 3, 0) => rest
            .split_first_chunk()
            .map(|(size, rest)| (u32::from_le_bytes(*size) as usize, rest)),
        _ => {
            return Err(refuse(format!(
                "version {major}.{minor} of the .npy format is not known; 1.0 to 3.0 are"
            )));
        }
    };
    let (size, rest) = sized.ok_or_else(cut)?;
    let long = |most: usize| {
        refuse(format!(
            "the header of this .npy file has more than {most} bytes"
        ))
    };
    if size > TEXT {
        return Err(long(TEXT));
    }
    let (text, rest) = rest.split_at_checked(size).ok_or_else(cut)?;
    let plain = plain(text, *major < 3);
    if plain.len() > PLAIN {
        return Err(long(PLAIN));
    }
    // The parser takes the text of one version only.
    let bytes = [
        MAGIC,
        &[3, 0],
        &(plain.len() as u32).to_le_bytes(),
        plain.as_slice(),
    ]
    .concat();
    let header = Header::from_reader(bytes.as_slice().by_ref()).map_err(|_| {
        refuse(
            "the header of this .npy file cannot be read; numpy.save writes one with descr, fortran_order and shape"
                .into(),
        )
    })?;

    Ok((header, rest))
}

/// The text of a header as the parser takes it: in one line with its end, and with types as `numpy.save` describes them. In `old` versions integers may end
/// with L.
fn plain(text: &[u8], old: bool) -> Vec<u8> {
    let mut plain: Vec<u8> = Vec::with_capacity(text.len() + 1);
    let mut rest = text;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        match byte {
            b'\'' | b'"' => {
                let Some(end) = rest.iter().position(|other| other == byte) else {
                    plain.push(*byte);
                    continue;
                };
                // A prefix of Python 2.
                if plain.last() == Some(&b'u') {
                    plain.pop();
                }
                plain.push(*byte);
                plain.extend(described(&rest[..end]));
                plain.push(*byte);
                rest = &rest[end + 1..];
            }
            b'#' => {
                let end = rest.iter().position(|byte| *byte == b'\n');
                rest = &rest[end.unwrap_or(rest.len())..];
            }
            b'L' if old
                && plain
                    .trim_ascii_end()
                    .last()
                    .is_some_and(u8::is_ascii_digit) => {}
            b'\n' | b'\r' | 0 => plain.push(b' '),
            _ => plain.push(*byte),
        }
    }
    let mut plain = plain.trim_ascii().to_vec();
    plain.push(b'\n');
    plain
}

/// Types under their names in NumPy and in the module `struct`, as `numpy.save` describes them.
const NAMES: [(&str, &str); 33] = [
    ("?", "b1"),
    ("bool", "b1"),
    ("bool_", "b1"),
    ("b", "i1"),
    ("int8", "i1"),
    ("h", "i2"),
    ("int16", "i2"),
    ("i", "i4"),
    ("int32", "i4"),
    ("q", "i8"),
    ("int64", "i8"),
    ("int", "i8"),
    ("B", "u1"),
    ("uint8", "u1"),
    ("H", "u2"),
    ("uint16", "u2"),
    ("I", "u4"),
    ("uint32", "u4"),
    ("Q", "u8"),
    ("uint64", "u8"),
    ("e", "f2"),
    ("float16", "f2"),
    ("f", "f4"),
    ("float32", "f4"),
    ("single", "f4"),
    ("d", "f8"),
    ("float64", "f8"),
    ("float", "f8"),
    ("double", "f8"),
    ("F", "c8"),
    ("complex64", "c8"),
    ("D", "c16"),
    ("complex128", "c16"),
];

/// The description by `numpy.save` of a type that is described otherwise; all else as it is.
fn described(text: &[u8]) -> Vec<u8> {
    let (order, bare) = match text {
        [order @ (b'<' | b'>' | b'|' | b'='), bare @ ..] => (Some(*order), bare),
        _ => (None, text),
    };
    let named = |(name, descr): &&(&str, &str)| bare == name.as_bytes() || bare == descr.as_bytes();
    let Some((_, descr)) = NAMES.iter().find(named) else {
        return text.to_vec();
    };
    let native = if cfg!(target_endian = "big") {
        b'>'
    } else {
        b'<'
    };
    let order = match order {
        _ if descr.ends_with('1') => b'|',
        Some(order @ (b'<' | b'>')) => order,
        _ => native,
    };
    [&[order], descr.as_bytes()].concat()
}

const MAGIC: &[u8] = b"\x93NUMPY";
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
    refused_words(&words, needed, remedy(&words))
}

/// The same for types that are read without a loss, so that remedies lose nothing either.
pub(crate) fn refused_exact_type(descr: &str, needed: &str) -> String {
    let words = type_in_words(descr);
    let exact = match words.as_str() {
        "Python objects" => {
            "numpy: numpy.savetxt('x.txt', f.ravel(), '%s') writes text, which is read exactly"
        }
        "text" => "numpy: numpy.savetxt('x.txt', f.ravel(), '%s') writes text, which is read",
        _ if words.starts_with("times") => "numpy: f.view('int64')",
        _ if words.starts_with("float") => {
            "numpy: h = f.astype('float64') and (f - h).astype('float64') are two arrays with the same sum"
        }
        _ => remedy(&words),
    };
    refused_words(&words, needed, exact)
}

/// The number with these bits in IEEE 754's half precision.
pub(crate) fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let value = if magnitude >> 23 == 31 {
        // Infinities, and NaN with their payload.
        f32::from_bits(magnitude | 0xff << 23)
    } else {
        // The exponents of single precision begin 112 lower. The product is exact, also of subnormal numbers.
        f32::from_bits(magnitude) * f32::from_bits((112 + 127) << 23)
    };
    f32::from_bits(value.to_bits() | sign)
}

/// The bfloat16 with these bits: the upper half of a number in single precision.
pub(crate) fn bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

fn refused_words(words: &str, needed: &str, remedy: &str) -> String {
    if words.starts_with('\'') {
        return format!(
            "describes its elements as {words}; numpy.save writes such as '<f8', of which {needed}"
        );
    }
    format!("holds {words}; {needed} ({remedy})")
}

fn remedy(words: &str) -> &'static str {
    match words {
        _ if words.starts_with("complex") => {
            "numpy: f.real and f.imag are two arrays of real numbers"
        }
        "records" => "numpy: f['NAME'] is an array of one field",
        "2 bytes of no type" => {
            "numpy: f.view(TYPE).astype('float32'), TYPE being 'float16' or ml_dtypes.bfloat16"
        }
        _ if words.ends_with("of no type") => {
            "numpy: f.view(TYPE).astype('float32'), TYPE being that of the numbers, such as ml_dtypes.float8_e4m3fn"
        }
        _ => "numpy: f.astype('float64')",
    }
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
        ("S" | "U" | "a", _) => "text".into(),
        ("V", Some(8)) => "1 byte of no type".into(),
        ("V", Some(bits)) => format!("{} bytes of no type", bits / 8),
        ("m" | "M", _) => format!("times ({bare})"),
        ("", _) => "records".into(),
        _ => format!("'{descr}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definitions of IEEE 754 and of bfloat16, by powers of two.
    #[test]
    fn short_floats_have_the_value_of_their_bits() {
        let value = |bits: u16, fraction: i32, bias: i32, most: i32| {
            let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
            let rest = f64::from(bits & ((1 << fraction) - 1));
            let exponent = i32::from((bits & 0x7fff) >> fraction);
            if exponent == most {
                return if rest == 0.0 {
                    sign * f64::INFINITY
                } else {
                    f64::NAN
                };
            }
            let hidden = if exponent == 0 {
                0.0
            } else {
                f64::from(1 << fraction)
            };
            sign * (hidden + rest) * 2f64.powi(exponent.max(1) - bias - fraction)
        };
        for bits in 0..=u16::MAX {
            for (found, exact) in [
                (half(bits), value(bits, 10, 15, 31)),
                (bfloat16(bits), value(bits, 7, 127, 255)),
            ] {
                let found = f64::from(found);
                let same = found.to_bits() == exact.to_bits() || found.is_nan() && exact.is_nan();
                assert!(same, "{bits:#x}: {found} {exact}");
            }
        }
    }

    #[test]
    fn texts_of_headers_are_made_plain() {
        for (text, old, expected) in [
            (
                "{'descr': 'float16',\n'x': (40L, 3L)} # a\n\0",
                true,
                "{'descr': '<f2', 'x': (40, 3)}",
            ),
            ("(40L,)", false, "(40L,)"),
            (
                "{\"x\": u'>d', 'L1L': '#'}",
                true,
                "{\"x\": '>f8', 'L1L': '#'}",
            ),
            (
                "'>b1' '?' '=q' '<V2' 'f9' 'open",
                true,
                "'|b1' '|b1' '<i8' '<V2' 'f9' 'open",
            ),
            ("", true, ""),
        ] {
            let found = plain(text.as_bytes(), old);
            let found = String::from_utf8(found).expect("a text");
            assert_eq!(found, format!("{expected}\n"));
        }
    }

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
                "float65",
                "describes its elements as 'float65'; numpy.save writes such as '<f8', of which float64 is needed",
            ),
        ] {
            assert_eq!(refused_type(descr, "float64 is needed"), text);
        }
    }
}
