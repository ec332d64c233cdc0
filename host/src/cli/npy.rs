//! NumPy's array files: cubes of `f32` or `f64` in, arrays out.
//!
//! The format (numpy/lib/format.py): `\x93NUMPY`, two bytes of version, the length of the header (2 bytes in version 1, 4 later),
//! the header, a Python dictionary with the keys `descr`, `fortran_order` and `shape`, and the data.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::output::reason;
use crate::backend::Precision;
use crate::error::{Error, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// A cube of N x N x N numbers in C order, `[x][y][z]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cube {
    pub(super) n: usize,
    pub(super) values: Vec<f64>,
}

/// Reads a cube; `sides` are the sizes that it may have.
pub(super) fn read_cube(path: &Path, sides: std::ops::RangeInclusive<usize>) -> Result<Cube> {
    let refuse = |text: String| Error::file(path, text);
    let failed = |e: std::io::Error| Error::file(path, reason(&e));
    let file = File::open(path).map_err(failed)?;
    let length = match file.metadata().map_err(failed)? {
        m if m.is_dir() => return Err(refuse("a folder, where a .npy file is needed".into())),
        m => m.len(),
    };
    let mut file = BufReader::new(file);
    let mut take = |count: usize| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut file)
            .take(count as u64)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        Ok(bytes)
    };

    let start = take(8)?;
    if start.len() < 6 || start[..6] != *MAGIC {
        return Err(refuse("not a .npy file; numpy.save writes one".into()));
    }
    let cut = || refuse("the file is cut short within its header".into());
    let wide = match start.get(6) {
        Some(1) => false,
        Some(2 | 3) => true,
        Some(v) => {
            return Err(refuse(format!(
                "version {v} of the .npy format is not known; 1 to 3 are"
            )));
        }
        None => return Err(cut()),
    };
    let size = take(if wide { 4 } else { 2 })?;
    let size = match *size {
        [a, b] if !wide => usize::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as usize,
        _ => return Err(cut()),
    };
    let text = take(size)?;
    if text.len() < size {
        return Err(cut());
    }
    let header = Header::parse(&String::from_utf8_lossy(&text))
        .ok_or_else(|| refuse("the header of this .npy file cannot be read".into()))?;

    let (big, width) = match header.descr.as_str() {
        "<f4" => (false, 4),
        "<f8" => (false, 8),
        ">f4" => (true, 4),
        ">f8" => (true, 8),
        other => {
            return Err(refuse(format!(
                "holds {}; float32 or float64 is needed (numpy: f.astype('float64'))",
                type_in_words(other)
            )));
        }
    };
    let n = match *header.shape {
        [x, y, z] if x == y && y == z && sides.contains(&x) => x,
        _ => {
            let shape: Vec<_> = header.shape.iter().map(usize::to_string).collect();
            let (low, high) = (sides.start(), sides.end());
            let right = if low == high {
                format!("({low}, {low}, {low})")
            } else {
                format!("(N, N, N) with N from {low} to {high}")
            };
            return Err(refuse(format!(
                "has the shape ({}); {right} is needed, indexed [ix][iy][iz]",
                shape.join(", ")
            )));
        }
    };
    let count = n * n * n;
    let bytes = take(count * width)?;
    if bytes.len() < count * width {
        return Err(refuse(format!(
            "the file is cut short: {} of {} bytes of data are there",
            bytes.len(),
            count * width
        )));
    }
    if !take(1)?.is_empty() {
        return Err(refuse(format!(
            "the file has {length} bytes, more than its header announces"
        )));
    }
    let stored = bytes.chunks_exact(width).map(|chunk| {
        let mut b = [0; 8];
        b[..width].copy_from_slice(chunk);
        if big {
            b[..width].reverse();
        }
        if width == 4 {
            f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        } else {
            f64::from_le_bytes(b)
        }
    });
    let mut values: Vec<f64> = stored.collect();
    if header.fortran_order {
        let stored = values.clone();
        for (cell, value) in values.iter_mut().enumerate() {
            let (x, y, z) = (cell / (n * n), cell / n % n, cell % n);
            *value = stored[(z * n + y) * n + x];
        }
    }
    Ok(Cube { n, values })
}

/// An array in C order as a .npy file.
pub(super) fn encode(shape: &[usize], values: &[f64], precision: Precision) -> Vec<u8> {
    debug_assert_eq!(shape.iter().product::<usize>(), values.len());
    let descr = match precision {
        Precision::F32 => "<f4",
        Precision::F64 => "<f8",
    };
    let sides: String = shape.iter().map(|side| format!("{side}, ")).collect();
    let sides = match shape {
        [_] => sides.trim_end(),
        _ => sides.trim_end_matches(", "),
    };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sides}), }}");
    // Magic, version, length, header and newline together fill a multiple of 64 bytes.
    let filled = (10 + header.len() + 1).next_multiple_of(64);
    header.push_str(&" ".repeat(filled - 11 - header.len()));
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    match precision {
        Precision::F32 => values
            .iter()
            .for_each(|&v| bytes.extend((v as f32).to_le_bytes())),
        Precision::F64 => values.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
    }
    bytes
}

#[derive(Debug, PartialEq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Reads the three entries of the dictionary; `None` if one is missing or not what the format says.
    fn parse(text: &str) -> Option<Self> {
        let entry = |key: &str| {
            let (_, rest) = text
                .split_once(&format!("'{key}'"))
                .or_else(|| text.split_once(&format!("\"{key}\"")))?;
            Some(rest.trim_start().strip_prefix(':')?.trim_start())
        };
        let descr = entry("descr")?;
        let descr = match descr.chars().next()? {
            quote @ ('\'' | '"') => descr[1..].split(quote).next()?.to_string(),
            _ => "records".to_string(),
        };
        let order = entry("fortran_order")?;
        let fortran_order = order.starts_with("True");
        if !fortran_order && !order.starts_with("False") {
            return None;
        }
        let (sides, _) = entry("shape")?.strip_prefix('(')?.split_once(')')?;
        let shape = sides
            .split(',')
            .map(|side| side.trim().trim_end_matches('L'))
            .filter(|side| !side.is_empty())
            .map(|side| side.parse().ok())
            .collect::<Option<_>>()?;
        Some(Self {
            descr,
            fortran_order,
            shape,
        })
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
        _ => format!("'{descr}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Option<Header> {
        Header::parse(text)
    }

    #[test]
    fn headers_of_numpy_are_read() {
        let read =
            header("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3L), }  \n").unwrap();
        assert_eq!(read.descr, "<f8");
        assert!(read.fortran_order);
        assert_eq!(read.shape, [2, 3]);
        assert_eq!(
            header("{\"shape\": (), \"fortran_order\":False,\"descr\":\"|b1\"}")
                .unwrap()
                .shape,
            Vec::<usize>::new()
        );
        assert_eq!(header("{'descr': '<f8', 'fortran_order': False}"), None);
        assert_eq!(
            header("{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}"),
            None
        );
        assert_eq!(
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"),
            None
        );
    }

    #[test]
    fn what_is_written_is_what_numpy_writes() {
        let bytes = encode(&[2], &[1.0, -2.5], Precision::F64);
        assert_eq!(bytes.len(), 128 + 16);
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(
            bytes[10..].starts_with(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }  ")
        );
        assert_eq!(bytes[127], b'\n');
        assert_eq!(bytes[128..136], 1.0f64.to_le_bytes());
    }
}
