//! Vectors of numbers from files: .npy of floating-point numbers or integers, mapped into memory, or text with a decimal number a line.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};
use num_bigint::BigInt;
use rayon::prelude::*;

use super::npy;
use super::text::reason;
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};

/// Elements that are converted, or multiplied, at a time.
const PIECE: usize = 1 << 20;

/// The numbers of a file.
pub(super) struct Numbers {
    path: PathBuf,
    bytes: Bytes,
    kind: Kind,
}

enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

/// How bytes encode numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A decimal number a line.
    Text,
    /// An array.
    Array(Layout),
}

/// Where an array's elements are and what they are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) element: Element,
    big_endian: bool,
    offset: usize,
    len: usize,
    shape: Vec<usize>,
    fortran: bool,
}

/// The types of elements that can be summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Element {
    fn of(descr: &str) -> Option<Self> {
        Some(match descr.trim_start_matches(['<', '>', '|', '=']) {
            "f4" => Self::F32,
            "f8" => Self::F64,
            "i1" => Self::I8,
            "i2" => Self::I16,
            "i4" => Self::I32,
            "i8" => Self::I64,
            "u1" => Self::U8,
            "u2" => Self::U16,
            "u4" => Self::U32,
            "u8" => Self::U64,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Its name in reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
        }
    }
}

/// Calls a generic function with the Rust type of an element.
macro_rules! with_type {
    ($element:expr, $T:ident => $call:expr) => {
        with_type!(@ $element, $T => $call; F32 f32, F64 f64, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
    };
    (@ $element:expr, $T:ident => $call:expr; $($name:ident $real:ty),*) => {
        match $element {
            $(Element::$name => {
                type $T = $real;
                $call
            })*
        }
    };
}

/// The same for integers; floating-point numbers are taken for `i8`, and must have been dealt with before.
macro_rules! with_integer_type {
    ($element:expr, $T:ident => $call:expr) => {
        with_type!(@ $element, $T => $call; F32 i8, F64 i8, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
    };
}

/// A number of fixed width in a file.
pub(super) trait Fixed: rarefy_kernels::Element {
    /// The number in `f64`, if that holds it exactly.
    fn to_f64(self) -> Option<f64>;
    /// The value of an integer; floating-point numbers do not come here.
    fn to_i128(self) -> i128;
    /// The number with its bytes in the other order.
    fn swap_bytes(self) -> Self;
}

macro_rules! fixed_integer {
    ($($t:ty)*) => {$(
        impl Fixed for $t {
            fn to_f64(self) -> Option<f64> {
                let value = self as f64;
                (value as i128 == i128::from(self)).then_some(value)
            }
            fn to_i128(self) -> i128 {
                i128::from(self)
            }
            fn swap_bytes(self) -> Self {
                <$t>::swap_bytes(self)
            }
        }
    )*};
}
fixed_integer! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! fixed_float {
    ($($t:ty)*) => {$(
        impl Fixed for $t {
            fn to_f64(self) -> Option<f64> {
                Some(f64::from(self))
            }
            fn to_i128(self) -> i128 {
                self as i128
            }
            fn swap_bytes(self) -> Self {
                Self::from_bits(self.to_bits().swap_bytes())
            }
        }
    )*};
}
fixed_float! { f32 f64 }

impl Numbers {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| Error::file(path, reason(&e));
        let bytes = if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .map_err(failed)?;
            Bytes::Read(bytes)
        } else {
            let mut file = File::open(path).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            if metadata.is_dir() {
                return Err(Error::file(
                    path,
                    "a folder, where a file of numbers is needed",
                ));
            }
            // Pipes cannot be mapped, nor can empty files.
            if metadata.is_file() && metadata.len() > 0 {
                // SAFETY: the map is only read. A file that another program changes meanwhile has a wrong sum, as if it were read.
                Bytes::Mapped(unsafe { Mmap::map(&file) }.map_err(failed)?)
            } else {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(failed)?;
                Bytes::Read(bytes)
            }
        };
        let named_npy = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        if bytes.get().starts_with(b"PK\x03\x04") {
            return Err(Error::file(
                path,
                "an archive of arrays; one array as .npy is needed (numpy: numpy.save(FILE, archive[NAME]))",
            ));
        }
        let kind = if bytes.get().starts_with(b"\x93NUMPY") || named_npy {
            Kind::Array(layout(path, bytes.get())?)
        } else {
            Kind::Text
        };
        Ok(Self {
            path: path.to_owned(),
            bytes,
            kind,
        })
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Name of the file's contents in reports.
    pub(super) fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::Text => "decimal text",
            Kind::Array(layout) => layout.element.name(),
        }
    }

    /// The text, if it is one, without the mark of its encoding that some editors write.
    pub(super) fn text(&self) -> &[u8] {
        let bytes = self.bytes.get();
        bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
    }

    /// Adds the file's name to an error about its contents.
    pub(super) fn in_file(&self, error: Error) -> Error {
        match error {
            refused @ Error::Input { .. } => Error::file(&self.path, refused),
            other => other,
        }
    }

    /// The elements of an array of `T`: as they lie in the file, where they are aligned and in this computer's order of bytes.
    pub(super) fn elements<T: Fixed>(&self, layout: &Layout) -> Result<Cow<'_, [T]>> {
        let data = self.data(layout);
        // SAFETY: every pattern of bits is an element, and elements have no padding.
        let (before, elements, _) = unsafe { data.align_to::<T>() };
        if before.is_empty() && !self.is_swapped(layout) {
            return Ok(Cow::Borrowed(&elements[..layout.len]));
        }
        check_host(
            &format!(
                "{}: a copy in this computer's order of bytes",
                self.path.display()
            ),
            bytes_of::<T>(layout.len as u64),
            "write the file with numpy.save in the computer's own order",
        )?;
        Ok(Cow::Owned(self.copied(layout, 0..layout.len)))
    }

    /// The elements with one axis last, of whose indices negative ones count from the end, and the lengths of the axes before it and of it: as they lie in the
    /// file, where that is their order.
    pub(super) fn along<T: Fixed>(
        &self,
        layout: &Layout,
        axis: i64,
    ) -> Result<(Vec<usize>, usize, Cow<'_, [T]>)> {
        let axes = layout.shape.len();
        let from_the_end = if axis < 0 { axes as i64 } else { 0 };
        let last = usize::try_from(axis.saturating_add(from_the_end)).ok();
        let Some(last) = last.filter(|&last| last < axes) else {
            let needed = match axes {
                0 => "an array with an axis is needed".to_owned(),
                _ => format!(
                    "axis {axis} is none of its axes, 0 to {} or -{axes} to -1",
                    axes - 1
                ),
            };
            let text = npy::refused_shape(&layout.shape, &needed);
            return Err(Error::file(&self.path, text));
        };
        let elements = self.elements::<T>(layout)?;
        let shape = IxDyn(&layout.shape).set_f(layout.fortran);
        let view = ArrayViewD::from_shape(shape, &elements)
            .map_err(|error| Error::file(&self.path, error))?;
        let order: Vec<usize> = (0..axes).filter(|&k| k != last).chain([last]).collect();
        let view = view.permuted_axes(order);
        let mut others = view.shape().to_vec();
        let length = others.pop().unwrap_or(1);
        if view.is_standard_layout() {
            return Ok((others, length, elements));
        }
        check_host(
            &format!("{}: a copy with axis {axis} last", self.path.display()),
            bytes_of::<T>(layout.len as u64),
            "write the file with that axis last",
        )?;
        let copy = view.iter().copied().collect();
        Ok((others, length, Cow::Owned(copy)))
    }

    fn data(&self, layout: &Layout) -> &[u8] {
        &self.bytes.get()[layout.offset..][..layout.len * layout.element.bytes()]
    }

    fn is_swapped(&self, layout: &Layout) -> bool {
        layout.big_endian != cfg!(target_endian = "big")
    }

    fn copied<T: Fixed>(&self, layout: &Layout, range: std::ops::Range<usize>) -> Vec<T> {
        let width = size_of::<T>();
        let swapped = self.is_swapped(layout);
        let data = &self.data(layout)[range.start * width..range.end * width];
        data.par_chunks_exact(width)
            .map(|bytes| {
                // SAFETY: as many bytes as an element has, of which every pattern is one.
                let element = unsafe { bytes.as_ptr().cast::<T>().read_unaligned() };
                if swapped {
                    element.swap_bytes()
                } else {
                    element
                }
            })
            .collect()
    }

    /// Elements of an array as `f64`, exactly.
    pub(super) fn as_f64(
        &self,
        layout: &Layout,
        range: std::ops::Range<usize>,
    ) -> Result<Vec<f64>> {
        let converted: Option<Vec<f64>> = with_type!(layout.element, T => {
            self.copied::<T>(layout, range).into_iter().map(T::to_f64).collect()
        });
        converted.ok_or_else(|| {
            Error::file(
                &self.path,
                "has integers that no float64 holds exactly, to be multiplied with floating-point numbers; give both as integers, or as text",
            )
        })
    }

    /// The exact sum of an array of integers, or of their magnitudes.
    pub(super) fn sum_of_integers(&self, layout: &Layout, magnitudes: bool) -> BigInt {
        with_integer_type!(layout.element, T => {
            sum_of_pieces(layout.len, &|range| {
                let terms = self.copied_in_place::<T>(layout, range);
                // At most 2^20 elements of 64 bits.
                let sum: i128 = if magnitudes {
                    terms.iter().map(|term| term.to_i128().abs()).sum()
                } else {
                    terms.iter().map(|term| term.to_i128()).sum()
                };
                BigInt::from(sum)
            })
        })
    }

    /// Elements, borrowed if they can be.
    fn copied_in_place<T: Fixed>(
        &self,
        layout: &Layout,
        range: std::ops::Range<usize>,
    ) -> Cow<'_, [T]> {
        let data = self.data(layout);
        // SAFETY: as in `elements`.
        let (before, elements, _) = unsafe { data.align_to::<T>() };
        if before.is_empty() && !self.is_swapped(layout) {
            Cow::Borrowed(&elements[range])
        } else {
            Cow::Owned(self.copied(layout, range))
        }
    }

    /// The exact dot product of two arrays of integers, of one length.
    pub(super) fn dot_of_integers(&self, x: &Layout, other: &Self, y: &Layout) -> BigInt {
        with_integer_type!(x.element, X => with_integer_type!(y.element, Y => {
            sum_of_pieces(x.len, &|range| {
                let x = self.copied_in_place::<X>(x, range.clone());
                let y = other.copied_in_place::<Y>(y, range);
                // Products of 65 by 33 bits, at most 2^20 of them.
                let (mut low, mut high) = (0_i128, 0_i128);
                for (x, y) in x.iter().zip(y.iter()) {
                    let (x, y) = (x.to_i128(), y.to_i128());
                    low += x * (y & 0xffff_ffff);
                    high += x * (y >> 32);
                }
                BigInt::from(low) + (BigInt::from(high) << 32)
            })
        }))
    }
}

/// The sum over all ranges of at most [`PIECE`] elements, in parallel. It is compiled once for all pairs of types.
fn sum_of_pieces(len: usize, piece: &(dyn Fn(std::ops::Range<usize>) -> BigInt + Sync)) -> BigInt {
    (0..len.div_ceil(PIECE))
        .into_par_iter()
        .map(|k| piece(k * PIECE..((k + 1) * PIECE).min(len)))
        .sum()
}

/// Refuses arrays whose elements do not pair.
pub(super) fn check_pairing(x: (&Numbers, &Layout), y: (&Numbers, &Layout)) -> Result<()> {
    let shape = |layout: &Layout| {
        let sides: Vec<_> = layout.shape.iter().map(usize::to_string).collect();
        format!(
            "({}{})",
            sides.join(", "),
            if sides.len() == 1 { "," } else { "" }
        )
    };
    let several = |layout: &Layout| layout.shape.iter().filter(|&&side| side > 1).count() > 1;
    if x.1.len != y.1.len || (several(x.1) || several(y.1)) && x.1.shape != y.1.shape {
        return Err(Error::file(
            &y.0.path,
            format!(
                "{}; expected the shape of {}, {}",
                shape(y.1),
                x.0.path.display(),
                shape(x.1)
            ),
        ));
    }
    if several(x.1) && x.1.fortran != y.1.fortran {
        return Err(Error::file(
            &y.0.path,
            format!(
                "its elements have another order than those of {}, C and Fortran; numpy.ascontiguousarray makes it one",
                x.0.path.display()
            ),
        ));
    }
    Ok(())
}

impl Layout {
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

fn layout(path: &Path, bytes: &[u8]) -> Result<Layout> {
    let refuse = |text: String| Error::file(path, text);
    let head = &bytes[..bytes.len().min(npy::HEADER)];
    let (header, rest) = npy::parse_header(path, head)?;
    let descr = header.type_descriptor.as_string().map_or("", |s| s);
    let element = Element::of(descr).ok_or_else(|| {
        refuse(format!(
            "holds {}; float32, float64 or integers of 8 to 64 bits are needed (numpy: x.astype('float64'))",
            npy::type_in_words(descr)
        ))
    })?;
    let offset = head.len() - rest.len();
    let there = bytes.len() - offset;
    let sides = header.shape.iter().filter(|&&side| side > 0);
    let product = sides.fold(1_usize, |product, &side| product.saturating_mul(side));
    if header.shape.contains(&0) && isize::try_from(product).is_err() {
        let needed = "the product of its other lengths must be below 2^63";
        return Err(refuse(npy::refused_shape(&header.shape, needed)));
    }
    let len = header
        .shape
        .iter()
        .try_fold(1_usize, |len, &side| len.checked_mul(side));
    let needed = len.and_then(|len| len.checked_mul(element.bytes()));
    match (len, needed) {
        (Some(len), Some(needed)) if needed == there => Ok(Layout {
            element,
            big_endian: descr.starts_with('>'),
            offset,
            len,
            fortran: header.layout.is_fortran(),
            shape: header.shape,
        }),
        (_, Some(needed)) if needed < there => Err(refuse(format!(
            "the file has more than the {needed} bytes of data that its header announces"
        ))),
        (_, needed) => Err(refuse(format!(
            "the file is cut short: {there} of {} bytes of data are there",
            needed.map_or("more than 2^64".into(), |needed| needed.to_string())
        ))),
    }
}
