//! The sequence that is transformed: columns of numbers from .npy or text.

use std::io::Read;
use std::path::Path;

use ndarray_npy::npy::header::Header;

use crate::cli::ledger::{LedgerArgs, check_lines};
use crate::cli::npy::{HEADER, bfloat16, half, parse_header, refused_exact_type, refused_shape};
use crate::cli::text::reason;
use crate::error::{Error, Result};
use crate::signed_digit::decimal::{Decimal, Ledger, parse_line};
use crate::signed_digit::dft::Signal;
use crate::signed_digit::lines::lines;

/// How the first bytes of eight, the least first, are a number; `None` if it is not finite.
type Decode = fn([u8; 8]) -> Option<Decimal>;

/// Reads a sequence of real or complex numbers; `-` is standard input.
pub(in crate::cli) fn read(path: &Path, flags: &LedgerArgs) -> Result<Signal> {
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|e| Error::file(path, reason(&e)))?;
    let signal = if bytes.starts_with(b"\x93NUMPY") {
        array(path, &bytes)?
    } else {
        text(&bytes, flags).map_err(|error| Error::file(path, error))?
    };
    if signal.is_empty() {
        return Err(Error::file(
            path,
            "no numbers; a transform needs one at least",
        ));
    }
    Ok(signal)
}

/// One number a line or two, or columns of a table: those that are given, or `re` and `im`.
fn text(bytes: &[u8], flags: &LedgerArgs) -> Result<Signal> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = flags.reader(None);
    if reader == Ledger::default() {
        // A spreadsheet may name its delimiter in a line before the names.
        let names_delimiter = |line: &&[u8]| line.to_ascii_lowercase().starts_with(b"sep=");
        let mut all = lines(bytes).skip_while(names_delimiter);
        let first = all.next().unwrap_or_default();
        let has = |name: &str| {
            let mut fields = first.split(|c| b",;\t|".contains(c));
            fields.any(|field| unquoted(field) == name.as_bytes())
        };
        if has("re") && has("im") {
            reader.columns = ["re", "im"].map(str::to_owned).to_vec();
        } else if fields(first).count() > 1 {
            return pairs(bytes);
        }
    }
    let mut entries = reader.read(bytes)?.into_iter();
    let (re, im) = (entries.next().unwrap_or_default(), entries.next());
    if entries.next().is_some() {
        let expected = "one column, or two with real and imaginary part";
        return Err(Error::invalid("column", reader.columns.join(","), expected));
    }
    if let Some(im) = &im {
        check_lines(&re, im)?;
    }
    let im = im.map(|im| im.numbers).unwrap_or_default();
    Ok(Signal { re: re.numbers, im })
}

/// A field of a table without quotes around it.
fn unquoted(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    let inner = field.strip_prefix(b"\"");
    inner
        .and_then(|inner| inner.strip_suffix(b"\""))
        .unwrap_or(field)
}

/// The fields of a line between white space, with or without a comma or semicolon before it.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let fields = line.split(u8::is_ascii_whitespace);
    let bare = fields.map(|field| field.strip_suffix(b",").unwrap_or(field));
    let bare = bare.map(|field| field.strip_suffix(b";").unwrap_or(field));
    bare.filter(|field| !field.is_empty())
}

/// Real and imaginary part on each line.
fn pairs(bytes: &[u8]) -> Result<Signal> {
    let mut signal = Signal::default();
    for (line, number) in bytes.split(|&c| c == b'\n').zip(1..) {
        let fields: Vec<&[u8]> = fields(line).collect();
        match fields[..] {
            [] => {}
            [re, im] => {
                signal.re.push(parse_line(re, number)?);
                signal.im.push(parse_line(im, number)?);
            }
            _ => {
                return Err(Error::invalid(
                    format!("line {number}"),
                    format!("{} numbers", fields.len()),
                    "two as on the first line: real and imaginary part, with white space between them",
                ));
            }
        }
    }
    Ok(signal)
}

/// An array of n numbers, real or complex, or of shape (n, 2).
fn array(path: &Path, bytes: &[u8]) -> Result<Signal> {
    let (header, behind) = parse_header(path, bytes)?;
    let head = bytes.len().min(HEADER);
    let data = &bytes[head - behind.len()..];
    numbers(&header, data).map_err(|text| Error::file(path, text))
}

/// The numbers of an array with this header.
fn numbers(header: &Header, data: &[u8]) -> std::result::Result<Signal, String> {
    let (n, columns) = match *header.shape {
        [n] | [n, 1] => (n, 1),
        [n, 2] => (n, 2),
        ref shape => {
            let needed = "(n,), or (n, 2) with real and imaginary parts, is needed";
            return Err(refused_shape(shape, needed));
        }
    };
    let descr = header.type_descriptor.as_string().map_or("", |s| s);
    let (order, kind) = descr.split_at(descr.len().min(1));
    let (decode, width, complex): (Decode, usize, bool) = match kind {
        "f8" => (|b| Decimal::from_f64(f64::from_le_bytes(b)), 8, false),
        "f4" => (
            |b| Decimal::from_f64(f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()),
            4,
            false,
        ),
        "c16" => (|b| Decimal::from_f64(f64::from_le_bytes(b)), 8, true),
        "c8" => (
            |b| Decimal::from_f64(f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()),
            4,
            true,
        ),
        "i8" => (|b| Some(i64::from_le_bytes(b).into()), 8, false),
        "i4" => (
            |b| Some(i32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()),
            4,
            false,
        ),
        "i2" => (
            |b| Some(i32::from(i16::from_le_bytes([b[0], b[1]])).into()),
            2,
            false,
        ),
        "i1" => (|b| Some(i32::from(b[0].cast_signed()).into()), 1, false),
        "u8" => (|b| Some(u64::from_le_bytes(b).into()), 8, false),
        "u4" => (
            |b| Some(u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])).into()),
            4,
            false,
        ),
        "u2" => (
            |b| Some(u64::from(u16::from_le_bytes([b[0], b[1]])).into()),
            2,
            false,
        ),
        "u1" => (|b| Some(u64::from(b[0]).into()), 1, false),
        "f2" => (
            |b| Decimal::from_f64(half(u16::from_le_bytes([b[0], b[1]])).into()),
            2,
            false,
        ),
        _ if descr == "<V2" => (
            |b| Decimal::from_f64(bfloat16(u16::from_le_bytes([b[0], b[1]])).into()),
            2,
            false,
        ),
        _ => {
            let needed = "real or complex floats or integers are needed";
            return Err(refused_exact_type(descr, needed));
        }
    };
    if complex && columns == 2 {
        return Err("complex numbers in two columns; an array of n of them is needed".into());
    }
    let columns = if complex { 2 } else { columns };
    if n.checked_mul(columns * width) != Some(data.len()) {
        return Err(format!(
            "the file has {} bytes of data, and its header announces {n} x {columns} of {width} each",
            data.len()
        ));
    }
    let mut signal = Signal::default();
    let by_columns = header.layout.is_fortran() && !complex;
    for i in 0..n {
        for column in 0..columns {
            let at = if by_columns {
                column * n + i
            } else {
                i * columns + column
            };
            let mut element = [0; 8];
            element[..width].copy_from_slice(&data[at * width..][..width]);
            if order == ">" {
                element[..width].reverse();
            }
            let value = decode(element).ok_or_else(|| format!("number {} is not finite", i + 1))?;
            let part = if column == 0 {
                &mut signal.re
            } else {
                &mut signal.im
            };
            part.push(value);
        }
    }
    Ok(signal)
}
