//! Vectors of numbers from files: .npy of floating-point numbers or integers, or text with a decimal number a line.
//!
//! Files are read piece by piece. Another program may shorten a file meanwhile, which would be undefined behaviour in a mapped one; here it is an error.

mod element;

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memchr::memrchr;
use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};
use num_bigint::BigInt;
use rayon::prelude::*;

use super::npy;
use super::text::reason;
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};
use crate::signed_digit::decimal::Ledger;
pub(super) use element::{Element, Fixed};
use element::{with_integer_type, with_type};

/// Integers that one task takes.
const TASK: usize = 1 << 17;
/// Bytes of a file that are in memory at a time.
const PIECE_BYTES: usize = 16 << 20;
/// Bytes of a text among which a line of names is looked for.
const HEAD_BYTES: usize = 1 << 16;
/// Bytes that one task reads.
const READ_BYTES: usize = 1 << 18;

/// The numbers of a file.
pub(super) struct Numbers {
    path: PathBuf,
    bytes: Bytes,
    kind: Kind,
}

enum Bytes {
    /// So many bytes of a file that another program may change.
    File(File, usize),
    Read(Vec<u8>),
}

impl Bytes {
    fn len(&self) -> usize {
        match self {
            Self::File(_, len) => *len,
            Self::Read(bytes) => bytes.len(),
        }
    }

    /// Fills a buffer with the bytes from `first` on.
    fn fill(&self, first: usize, buffer: &mut [u8]) -> std::io::Result<()> {
        match self {
            Self::Read(bytes) => {
                buffer.copy_from_slice(&bytes[first..][..buffer.len()]);
                Ok(())
            }
            Self::File(file, _) if buffer.len() <= READ_BYTES => read_at(file, buffer, first),
            Self::File(file, _) => buffer
                .par_chunks_mut(READ_BYTES)
                .enumerate()
                .try_for_each(|(k, part)| read_at(file, part, first + k * READ_BYTES)),
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], first: usize) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, first as u64)
}

#[cfg(windows)]
fn read_at(file: &File, mut buffer: &mut [u8], mut first: usize) -> std::io::Result<()> {
    use std::os::windows::fs::FileExt;

    while !buffer.is_empty() {
        match file.seek_read(buffer, first as u64) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buffer = &mut buffer[count..];
                first += count;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
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
            // A pipe has no length, and cannot be read at a place.
            let len = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
            if metadata.is_file() && len > 0 {
                Bytes::File(file, len)
            } else {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(failed)?;
                Bytes::Read(bytes)
            }
        };
        let named_npy = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        let mut head = vec![0; bytes.len().min(npy::HEADER)];
        bytes.fill(0, &mut head).map_err(failed)?;
        if head.starts_with(b"PK\x03\x04") {
            return Err(Error::file(
                path,
                "an archive of arrays; one array as .npy is needed (numpy: numpy.save(FILE, archive[NAME]))",
            ));
        }
        let kind = if head.starts_with(b"\x93NUMPY") || named_npy {
            Kind::Array(layout(path, &head, bytes.len())?)
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

    /// Whether sums of them are exact: those of integers and of text.
    pub(super) fn is_exact(&self) -> bool {
        match &self.kind {
            Kind::Text => true,
            Kind::Array(layout) => layout.element.is_integer(),
        }
    }

    pub(super) fn is_complex(&self) -> bool {
        matches!(&self.kind, Kind::Array(layout) if layout.element.is_complex())
    }

    /// Name of the file's contents in reports.
    pub(super) fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::Text => "decimal text",
            Kind::Array(layout) => layout.element.name(),
        }
    }

    /// Fills a buffer with the bytes from `first` on.
    fn fill(&self, first: usize, buffer: &mut [u8]) -> Result<()> {
        self.bytes.fill(first, buffer).map_err(|error| {
            let shorter = error.kind() == std::io::ErrorKind::UnexpectedEof;
            Error::file(
                &self.path,
                if shorter {
                    "the file became shorter while it was read".to_owned()
                } else {
                    reason(&error)
                },
            )
        })
    }

    /// Whether a text begins with a line of names of which one is of a column of amounts.
    pub(super) fn is_table(&self) -> Result<bool> {
        let mut head = vec![0; self.bytes.len().min(HEAD_BYTES)];
        self.fill(0, &mut head)?;
        Ok(Ledger::is_recognised(
            head.strip_prefix(MARK).unwrap_or(&head),
        ))
    }

    /// Bytes of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The text, if it is one, in full.
    pub(super) fn text(&self) -> Result<Vec<u8>> {
        let len = self.bytes.len();
        check_host(
            &format!("{}: its text", self.path.display()),
            len as u64,
            "a sum of a text without --abs and --squares is read in pieces",
        )?;
        let mut text = vec![0; len];
        self.fill(0, &mut text)?;
        if text.starts_with(MARK) {
            text.drain(..MARK.len());
        }
        Ok(text)
    }

    /// Hands the text over in parts that end with the end of a line.
    pub(super) fn text_parts(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let len = self.bytes.len();
        let mut buffer: Vec<u8> = Vec::new();
        let mut first = 0;
        while first < len {
            // Behind the beginning of a line that has not ended yet.
            let kept = buffer.len();
            let more = PIECE_BYTES.max(kept).min(len - first);
            buffer.resize(kept + more, 0);
            self.fill(first, &mut buffer[kept..])?;
            if first == 0 && buffer.starts_with(MARK) {
                buffer.drain(..MARK.len());
            }
            first += more;
            let end = if first == len {
                buffer.len()
            } else {
                memrchr(b'\n', &buffer).map_or(0, |end| end + 1)
            };
            if end > 0 {
                take(&buffer[..end]).map_err(|error| self.in_file(error))?;
                buffer.drain(..end);
            }
        }
        Ok(())
    }

    /// Adds the file's name to an error about its contents.
    pub(super) fn in_file(&self, error: Error) -> Error {
        match error {
            refused @ Error::Input { .. } => Error::file(&self.path, refused),
            other => other,
        }
    }

    /// Reads elements of an array into a buffer of the type in which they are computed. Those of complex numbers are their parts.
    fn load<T: Fixed>(
        &self,
        layout: &Layout,
        range: Range<usize>,
        buffer: &mut Vec<T>,
    ) -> Result<()> {
        if let Some(widen) = layout.element.widening() {
            let mut narrow = Vec::new();
            self.load_stored(layout, range, &mut narrow)?;
            buffer.clear();
            buffer.extend(narrow.into_iter().map(|bits| T::from_f32(widen(bits))));
            return Ok(());
        }
        let first = range.start;
        self.load_stored(layout, range, buffer)?;
        let is_truth = |x: &T| (0..2).contains(&x.to_i128());
        if layout.element == Element::Bool
            && let Some(at) = buffer.iter().position(|x| !is_truth(x))
        {
            let byte = buffer[at].to_i128();
            let text = format!(
                "holds bool, whose bytes are 0 or 1; byte {} is {byte}",
                first + at
            );
            return Err(Error::file(&self.path, text));
        }
        Ok(())
    }

    /// Reads elements of an array of `T` into a buffer, in this computer's order of bytes.
    fn load_stored<T: Fixed>(
        &self,
        layout: &Layout,
        range: Range<usize>,
        buffer: &mut Vec<T>,
    ) -> Result<()> {
        let width = size_of::<T>();
        buffer.resize(range.len(), T::default());
        // SAFETY: elements have no padding, and every pattern of bits is one.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<u8>(), width * range.len())
        };
        self.fill(layout.offset + width * range.start, bytes)?;
        if layout.big_endian != cfg!(target_endian = "big") {
            let swap = |part: &mut [T]| part.iter_mut().for_each(|x| *x = x.swap_bytes());
            buffer.par_chunks_mut(TASK).for_each(swap);
        }
        Ok(())
    }

    /// The real and the imaginary parts of elements of any type, each exactly.
    pub(super) fn parts(&self, layout: &Layout, range: Range<usize>) -> Result<[Vec<f64>; 2]> {
        if !layout.element.is_complex() {
            let real = self.as_f64(layout, range)?;
            let imaginary = vec![0.0; real.len()];
            return Ok([real, imaginary]);
        }
        let both = self.as_f64(layout, 2 * range.start..2 * range.end)?;
        let (pairs, _) = both.as_chunks::<2>();
        Ok([0, 1].map(|part| pairs.iter().map(|pair| pair[part]).collect()))
    }

    /// All elements of an array of `T` of one axis.
    pub(super) fn whole<T: Fixed>(&self, layout: &Layout) -> Result<Vec<T>> {
        if layout.shape.len() != 1 {
            let text = npy::refused_shape(&layout.shape, "an array of one axis is needed");
            return Err(Error::file(&self.path, text));
        }
        let needed = bytes_of::<T>(layout.len.saturating_mul(3) as u64);
        let what = format!("{}: the array and its sums", self.path.display());
        check_host(&what, needed, "shorter arrays need less")?;
        let mut elements = Vec::new();
        self.load(layout, 0..layout.len, &mut elements)?;
        Ok(elements)
    }

    /// The whole numbers of an array of one axis, from 0 on.
    pub(super) fn offsets(&self) -> Result<Vec<usize>> {
        let Kind::Array(layout) = &self.kind else {
            return Err(Error::file(
                &self.path,
                "a .npy array of integers is needed",
            ));
        };
        if !layout.element.is_integer() {
            let name = layout.element.name();
            let text = format!("holds {name}; integers are needed (numpy: f.astype('int64'))");
            return Err(Error::file(&self.path, text));
        }
        let elements: Vec<i128> = with_integer_type!(layout.element, T => {
            self.whole::<T>(layout)?.into_iter().map(T::to_i128).collect()
        });
        let offset = |&offset: &i128| {
            let place = usize::try_from(offset);
            place.map_err(|_| Error::file(&self.path, format!("offset {offset} is below 0")))
        };
        elements.iter().map(offset).collect()
    }

    /// Hands the elements of an array of `T` over, piece by piece.
    pub(super) fn pieces<T: Fixed>(
        &self,
        layout: &Layout,
        mut take: impl FnMut(&[T]) -> Result<()>,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        for range in pieces(layout.len, PIECE_BYTES / size_of::<T>()) {
            self.load(layout, range, &mut buffer)?;
            take(&buffer)?;
        }
        Ok(())
    }

    /// The same for two arrays of one type and one length.
    pub(super) fn pairs<T: Fixed>(
        (x, of_x): (&Self, &Layout),
        (y, of_y): (&Self, &Layout),
        mut take: impl FnMut(&[T], &[T]) -> Result<()>,
    ) -> Result<()> {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for range in pieces(of_x.len, PIECE_BYTES / size_of::<T>()) {
            x.load(of_x, range.clone(), &mut a)?;
            y.load(of_y, range, &mut b)?;
            take(&a, &b)?;
        }
        Ok(())
    }

    /// Hands over the rows along some axes together, some at a time, with their number and their length. Negative axes count from the end. Returns the
    /// lengths of the axes that are left.
    pub(super) fn rows<T: Fixed>(
        &self,
        layout: &Layout,
        along: &[i64],
        mut take: impl FnMut([usize; 2], &[T]) -> Result<()>,
    ) -> Result<Vec<usize>> {
        let axes = layout.shape.len();
        let mut last = Vec::new();
        for &axis in along {
            let from_the_end = if axis < 0 { axes as i64 } else { 0 };
            let place = usize::try_from(axis.saturating_add(from_the_end)).ok();
            let needed = match place {
                Some(place) if last.contains(&place) => format!("axis {axis} is given twice"),
                Some(place) if place < axes => {
                    last.push(place);
                    continue;
                }
                _ if axes == 0 => "an array with an axis is needed".to_owned(),
                _ => format!(
                    "axis {axis} is none of its axes, 0 to {} or -{axes} to -1",
                    axes - 1
                ),
            };
            let text = npy::refused_shape(&layout.shape, &needed);
            return Err(Error::file(&self.path, text));
        }
        last.sort_unstable();
        let left: Vec<usize> = (0..axes).filter(|k| !last.contains(k)).collect();
        let others: Vec<usize> = left.iter().map(|&k| layout.shape[k]).collect();
        let length = last.iter().map(|&k| layout.shape[k]).product();
        let order = [left, last].concat();
        let rows = others.iter().product();
        let fits = |elements: usize, what: &str, remedy: &str| {
            let needed = bytes_of::<T>(elements as u64);
            check_host(&format!("{}: {what}", self.path.display()), needed, remedy)
        };
        if layout.len == 0 {
            take([rows, length], &[])?;
        } else if is_in_order(layout, &order) {
            let mut buffer = Vec::new();
            if length > PIECE_BYTES {
                fits(length, "a row", "shorter rows need less")?;
            }
            for range in pieces(rows, PIECE_BYTES / size_of::<T>() / length) {
                let elements = range.start * length..range.end * length;
                self.load(layout, elements, &mut buffer)?;
                take([range.len(), length], &buffer)?;
            }
        } else {
            let what = "the array and a copy with the axes of the sums last";
            let both = layout.len.saturating_mul(2);
            fits(both, what, "write the file with these axes last")?;
            let mut elements = Vec::new();
            self.load(layout, 0..layout.len, &mut elements)?;
            let shape = IxDyn(&layout.shape).set_f(layout.fortran);
            let view = ArrayViewD::<T>::from_shape(shape, &elements)
                .map_err(|error| Error::file(&self.path, error))?;
            let copy: Vec<T> = view.permuted_axes(order).iter().copied().collect();
            take([rows, length], &copy)?;
        }
        Ok(others)
    }

    /// Elements of an array as `f64`, exactly.
    pub(super) fn as_f64(&self, layout: &Layout, range: Range<usize>) -> Result<Vec<f64>> {
        let converted: Option<Vec<f64>> = with_type!(layout.element, T => {
            let mut elements = Vec::<T>::new();
            self.load(layout, range, &mut elements)?;
            elements.into_iter().map(T::to_f64).collect()
        });
        converted.ok_or_else(|| {
            Error::file(
                &self.path,
                "has integers that no float64 holds exactly, to be multiplied with floating-point numbers; give both as integers, or as text",
            )
        })
    }

    /// The exact sum of an array of integers, or of their magnitudes.
    pub(super) fn sum_of_integers(&self, layout: &Layout, magnitudes: bool) -> Result<BigInt> {
        with_integer_type!(layout.element, T => {
            sum_of_pieces(layout.len, &|range| {
                let mut terms = Vec::<T>::new();
                self.load(layout, range, &mut terms)?;
                // At most 2^17 elements of 64 bits.
                let sum: i128 = if magnitudes {
                    terms.iter().map(|term| term.to_i128().abs()).sum()
                } else {
                    terms.iter().map(|term| term.to_i128()).sum()
                };
                Ok(BigInt::from(sum))
            })
        })
    }

    /// The exact dot product of two arrays of integers, of one length.
    pub(super) fn dot_of_integers(&self, x: &Layout, other: &Self, y: &Layout) -> Result<BigInt> {
        with_integer_type!(x.element, X => with_integer_type!(y.element, Y => {
            sum_of_pieces(x.len, &|range| {
                let (mut a, mut b) = (Vec::<X>::new(), Vec::<Y>::new());
                self.load(x, range.clone(), &mut a)?;
                other.load(y, range, &mut b)?;
                // Products of 65 by 33 bits, at most 2^17 of them.
                let (mut low, mut high) = (0_i128, 0_i128);
                for (x, y) in a.iter().zip(&b) {
                    let (x, y) = (x.to_i128(), y.to_i128());
                    low += x * (y & 0xffff_ffff);
                    high += x * (y >> 32);
                }
                Ok(BigInt::from(low) + (BigInt::from(high) << 32))
            })
        }))
    }
}

/// The mark of its encoding with which some editors begin a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether the elements are in the file in this order of the axes, the slowest first.
fn is_in_order(layout: &Layout, axes: &[usize]) -> bool {
    let long = |k: &usize| layout.shape[*k] > 1;
    let mut order: Vec<usize> = (0..layout.shape.len()).filter(long).collect();
    if layout.fortran {
        order.reverse();
    }
    order.iter().eq(axes.iter().filter(|k| long(k)))
}

/// The ranges of at most `length` of `len` elements, at least one in each.
fn pieces(len: usize, length: usize) -> impl Iterator<Item = Range<usize>> {
    let length = length.max(1);
    (0..len)
        .step_by(length)
        .map(move |first| first..(first + length).min(len))
}

/// The sum over all ranges of at most [`TASK`] elements, in parallel. It is compiled once for all pairs of types.
fn sum_of_pieces(
    len: usize,
    piece: &(dyn Fn(Range<usize>) -> Result<BigInt> + Sync),
) -> Result<BigInt> {
    (0..len.div_ceil(TASK))
        .into_par_iter()
        .map(|k| piece(k * TASK..((k + 1) * TASK).min(len)))
        .try_reduce(BigInt::default, |a, b| Ok(a + b))
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

fn layout(path: &Path, head: &[u8], bytes: usize) -> Result<Layout> {
    let refuse = |text: String| Error::file(path, text);
    let (header, rest) = npy::parse_header(path, head)?;
    let descr = header.type_descriptor.as_string().map_or("", |s| s);
    let element = Element::of(descr).ok_or_else(|| {
        refuse(npy::refused_exact_type(
            descr,
            "float16 to float64, bfloat16, complex64, complex128, bool or integers are needed",
        ))
    })?;
    let offset = head.len() - rest.len();
    let there = bytes - offset;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compute::Precision;

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let array = folder.path().join("x.npy");
        std::fs::write(&array, npy::encode(&[3], &[1.0, 2.0, 3.0], Precision::F64))
            .expect("a file");
        let text = folder.path().join("x.txt");
        std::fs::write(&text, "1\n2\n3\n").expect("a file");
        let (of_array, of_text) = (Numbers::open(&array), Numbers::open(&text));
        let (of_array, of_text) = (of_array.expect("an array"), of_text.expect("a text"));
        for (path, len) in [(&array, 140), (&text, 3)] {
            let file = File::options().write(true).open(path).expect("the file");
            file.set_len(len).expect("a shorter file");
        }
        let Kind::Array(layout) = of_array.kind() else {
            panic!("no array");
        };
        let shrunk = [
            of_array.pieces::<f64>(layout, |_| Ok(())),
            of_array.as_f64(layout, 0..3).map(drop),
            of_text.text_parts(|_| Ok(())),
        ];
        for result in shrunk {
            let error = result.expect_err("a shorter file").to_string();
            assert!(
                error.ends_with("became shorter while it was read"),
                "{error}"
            );
        }
    }
}
