//! Arrays of VTK's XML files: texts of numbers, base64, blocks of zlib.
//!
//! Binary data begin with the number of their bytes. Compressed data begin with the number of blocks, bytes of a block and of a shorter last one (0 without it),
//! and compressed bytes of each block.

use std::borrow::Cow;
use std::io::Read as _;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::bufread::ZlibDecoder;

use super::words::{Read, shown};

/// Paddings may be missing, and their bits may be any.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How the binary data of a file are written.
#[derive(Clone, Copy, Default)]
pub(super) struct Coding {
    /// The first byte of a number is the greatest.
    big: bool,
    /// Numbers of headers have 8 bytes, else 4.
    wide: bool,
    /// Data are blocks of zlib.
    zlib: bool,
}

/// The type of a number.
#[derive(Clone, Copy)]
pub(super) struct Scalar {
    width: usize,
    is_float: bool,
}

impl Scalar {
    pub(super) fn named(name: &str) -> Read<Self> {
        let (width, is_float) = match name {
            "Int8" | "UInt8" => (1, false),
            "Int16" | "UInt16" => (2, false),
            "Int32" | "UInt32" => (4, false),
            "Int64" | "UInt64" => (8, false),
            "Float32" => (4, true),
            "Float64" => (8, true),
            other => {
                return Err(format!(
                    "has the type '{}'; Int8 to Int64, UInt8 to UInt64, Float32 or Float64 is needed",
                    shown(other)
                ));
            }
        };
        Ok(Self { width, is_float })
    }
}

/// Which values of an array are not zero.
pub(super) struct Marks {
    solid: Vec<bool>,
}

impl Marks {
    /// Those of numbers in a text.
    pub(super) fn of_text(text: &[Cow<str>], count: usize) -> Read<Vec<bool>> {
        let mut marks = Self { solid: Vec::new() };
        let numbers = text.iter().flat_map(|text| text.split_ascii_whitespace());
        for number in numbers.take(count.saturating_add(1)) {
            let value: f64 = number.parse().map_err(|_| {
                let at = marks.solid.len();
                format!("has '{}' as value {at}; a number is needed", shown(number))
            })?;
            marks.push(value)?;
        }
        match marks.solid.len() {
            found if found == count => Ok(marks.solid),
            found if found < count => Err(format!("has {found} of {count} numbers")),
            _ => Err(format!("has more than {count} numbers")),
        }
    }

    fn push(&mut self, value: f64) -> Read<()> {
        if !value.is_finite() {
            let at = self.solid.len();
            return Err(format!(
                "has {value} as value {at}; finite numbers are needed"
            ));
        }
        self.solid.push(value != 0.0);
        Ok(())
    }

    /// Adds the numbers of these bytes.
    fn extend(&mut self, bytes: &[u8], scalar: Scalar, big: bool) -> Read<()> {
        for number in bytes.chunks_exact(scalar.width) {
            match (scalar.is_float, number) {
                (true, &[a, b, c, d]) => {
                    let bytes = if big { [d, c, b, a] } else { [a, b, c, d] };
                    self.push(f64::from(f32::from_le_bytes(bytes)))?;
                }
                (true, &[a, b, c, d, e, f, g, h]) => {
                    let mut bytes = [a, b, c, d, e, f, g, h];
                    if big {
                        bytes.reverse();
                    }
                    self.push(f64::from_le_bytes(bytes))?;
                }
                // Zero is zero in either order.
                _ => self.solid.push(number.iter().any(|byte| *byte != 0)),
            }
        }
        Ok(())
    }
}

impl Coding {
    /// That of the attributes of a file.
    pub(super) fn new(
        byte_order: Option<&str>,
        header_type: Option<&str>,
        compressor: Option<&str>,
    ) -> Read<Self> {
        let big = match byte_order {
            Some("BigEndian") => true,
            Some("LittleEndian") | None => false,
            Some(other) => {
                return Err(format!(
                    "byte_order is '{}'; LittleEndian or BigEndian is needed",
                    shown(other)
                ));
            }
        };
        let wide = match header_type {
            Some("UInt64") => true,
            Some("UInt32") | None => false,
            Some(other) => {
                return Err(format!(
                    "header_type is '{}'; UInt32 or UInt64 is needed",
                    shown(other)
                ));
            }
        };
        let zlib = match compressor {
            Some("vtkZLibDataCompressor") => true,
            Some("") | None => false,
            Some(other) => {
                return Err(format!(
                    "the arrays are compressed by {}; vtkZLibDataCompressor or none is needed (ParaView: Compressor Type in Save Data)",
                    shown(other)
                ));
            }
        };
        Ok(Self { big, wide, zlib })
    }

    /// Which of so many numbers are not zero. Further bytes may follow.
    pub(super) fn marks(self, bytes: &[u8], scalar: Scalar, count: usize) -> Read<Vec<bool>> {
        let needed = count
            .checked_mul(scalar.width)
            .ok_or("has too many numbers")?;
        let mut marks = Marks { solid: Vec::new() };
        match self.zlib {
            true => self.inflate(bytes, needed, |bytes| {
                let whole = bytes.len() - bytes.len() % scalar.width;
                marks.extend(&bytes[..whole], scalar, self.big)?;
                bytes.drain(..whole);
                Ok(())
            })?,
            false => {
                let mut bytes = bytes;
                let size = self.number(&mut bytes)?;
                check_size(size, needed)?;
                let Some(data) = bytes.get(..needed) else {
                    return Err(format!(
                        "is cut short: {} of {needed} bytes are there",
                        bytes.len()
                    ));
                };
                marks.extend(data, scalar, self.big)?;
            }
        }
        Ok(marks.solid)
    }

    /// Decompresses blocks, of `needed` bytes together, into a buffer that `take` empties as far as it can.
    fn inflate(
        self,
        mut bytes: &[u8],
        needed: usize,
        mut take: impl FnMut(&mut Vec<u8>) -> Read<()>,
    ) -> Read<()> {
        let blocks = self.number(&mut bytes)?;
        if blocks == 0 {
            return check_size(0, needed);
        }
        let size = self.number(&mut bytes)?;
        let last = self.number(&mut bytes)?;
        let full = if last == 0 { blocks } else { blocks - 1 };
        let all = full.checked_mul(size).and_then(|all| all.checked_add(last));
        check_size(all.unwrap_or(u64::MAX), needed)?;
        let width: usize = if self.wide { 8 } else { 4 };
        let sizes = usize::try_from(blocks).ok();
        let sizes = sizes.and_then(|blocks| bytes.split_at_checked(blocks.checked_mul(width)?));
        let Some((mut sizes, mut data)) = sizes else {
            return Err(format!(
                "is cut short within the sizes of its {blocks} blocks"
            ));
        };
        let mut buffer = Vec::new();
        for k in 0..blocks {
            let packed = usize::try_from(self.number(&mut sizes)?).ok();
            let Some((block, rest)) = packed.and_then(|packed| data.split_at_checked(packed))
            else {
                return Err(format!(
                    "is cut short: block {} of {blocks} is missing",
                    k + 1
                ));
            };
            data = rest;
            let size = if k < full { size } else { last };
            let before = buffer.len();
            // The buffer grows with the bytes that come. One byte more shows that there are more.
            let read = ZlibDecoder::new(block)
                .take(size.saturating_add(1))
                .read_to_end(&mut buffer);
            let found = buffer.len() - before;
            if read.is_err() || found as u64 != size {
                return Err(format!(
                    "has a damaged block {}: {found} of {size} bytes come out of zlib",
                    k + 1
                ));
            }
            take(&mut buffer)?;
        }
        Ok(())
    }

    /// The next number of a header.
    fn number(self, bytes: &mut &[u8]) -> Read<u64> {
        let width = if self.wide { 8 } else { 4 };
        let Some((number, rest)) = bytes.split_at_checked(width) else {
            return Err("is cut short within its header".into());
        };
        *bytes = rest;
        let join = |all: u64, byte: &u8| all << 8 | u64::from(*byte);
        Ok(match self.big {
            true => number.iter().fold(0, join),
            false => number.iter().rev().fold(0, join),
        })
    }
}

fn check_size(found: u64, needed: usize) -> Read<()> {
    match found == needed as u64 {
        true => Ok(()),
        false => Err(format!(
            "announces {found} bytes, where its type and extent need {needed}"
        )),
    }
}

/// Bytes in base64, with blanks anywhere. A header and its data may be streams of their own, each with a padding.
pub(super) fn decoded(text: impl Iterator<Item = u8>) -> Read<Vec<u8>> {
    let text: Vec<u8> = text.filter(|byte| !byte.is_ascii_whitespace()).collect();
    let mut bytes = Vec::new();
    let mut rest = &text[..];
    while !rest.is_empty() {
        let letters = memchr::memchr(b'=', rest).unwrap_or(rest.len());
        let padding = rest[letters..].iter().take_while(|byte| **byte == b'=');
        let (stream, behind) = rest.split_at(letters + padding.count());
        BASE64
            .decode_vec(stream, &mut bytes)
            .map_err(|error| format!("is no base64: {error}"))?;
        rest = behind;
    }
    Ok(bytes)
}
