//! Image files of VTK (`.vti`), as CT software and ParaView write them: one array as a mask, and the place of its voxels.
//!
//! The format is that of the VTK documentation, "VTK XML File Formats". `quick-xml` reads the XML, `base64` and `flate2` the arrays. The crate `vtkio` reads these
//! files too, but its releases index beyond short files and allocate the sizes that a file announces.

mod data;
mod words;

use std::borrow::Cow;
use std::path::Path;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::error::{Error, Result};
use data::{Coding, Marks, Scalar};
use words::{Read, line, shown};

/// Names of arrays in a message.
const NAMES: usize = 12;
/// Times that a voxel may be in pieces of the image.
const OVERLAP: usize = 8;

/// Voxels of an image, x fastest.
pub(crate) struct Mask {
    /// Voxels along x, y and z.
    pub(crate) count: [usize; 3],
    /// Corner of least x, y and z of the first voxel.
    pub(crate) corner: [f64; 3],
    /// Widths of a voxel.
    pub(crate) spacing: [f64; 3],
    /// Whether each voxel is solid: its value is not zero.
    pub(crate) solid: Vec<bool>,
}

/// The mask in the bytes of a file: its only array, or the one of this name. Cells are voxels, and points are centres of voxels.
///
/// # Errors
/// Bytes that are no image, another array, and more than `most` voxels.
pub(crate) fn read(path: &Path, bytes: &[u8], array: Option<&str>, most: usize) -> Result<Mask> {
    Document::parse(bytes)
        .and_then(|document| document.mask(array, most))
        .map_err(|text| Error::file(path, text))
}

/// Whether bytes begin as those of an XML file.
pub(crate) fn is_xml(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.trim_ascii_start().starts_with(b"<")
}

/// Least and greatest points along the axes.
#[derive(Clone, Copy, PartialEq)]
struct Extent([[i64; 2]; 3]);

/// The elements that the reader enters.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Top,
    File,
    Image,
    Piece,
    Points,
    Cells,
    Array,
    Appended,
    Other,
}

impl Place {
    /// The place of an element of this name within another.
    fn child(self, name: &str) -> Self {
        match (self, name) {
            (Self::Top, "VTKFile") => Self::File,
            (Self::File, "ImageData") => Self::Image,
            (Self::File, "AppendedData") => Self::Appended,
            (Self::Image, "Piece") => Self::Piece,
            (Self::Piece, "PointData") => Self::Points,
            (Self::Piece, "CellData") => Self::Cells,
            (Self::Points | Self::Cells, "DataArray") => Self::Array,
            _ => Self::Other,
        }
    }
}

/// The content of a file before its numbers are read.
struct Document<'a> {
    coding: Coding,
    whole: Extent,
    origin: [f64; 3],
    spacing: [f64; 3],
    pieces: Vec<Piece<'a>>,
    /// The data behind the XML, and whether it is in base64.
    appended: Option<(&'a [u8], bool)>,
    /// Where arrays begin in it, in ascending order.
    offsets: Vec<usize>,
}

/// A part of the image.
struct Piece<'a> {
    extent: Extent,
    arrays: Vec<Array<'a>>,
}

/// An array of a part.
struct Array<'a> {
    name: String,
    of_points: bool,
    scalar: Read<Scalar>,
    components: String,
    format: String,
    offset: Option<usize>,
    text: Vec<Cow<'a, str>>,
}

impl<'a> Document<'a> {
    fn parse(bytes: &'a [u8]) -> Read<Self> {
        if !is_xml(bytes) {
            return Err(match bytes.starts_with(b"# vtk DataFile") {
                true => "a legacy file of VTK; a .vti file is needed (ParaView: Save Data)".into(),
                false => "not an image file of VTK: it does not begin as XML".into(),
            });
        }
        let mut document = Self {
            coding: Coding::default(),
            whole: Extent([[0; 2]; 3]),
            origin: [0.0; 3],
            spacing: [1.0; 3],
            pieces: Vec::new(),
            appended: None,
            offsets: Vec::new(),
        };
        let mut reader = Reader::from_reader(bytes);
        let mut places = vec![Place::Top];
        let (mut has_file, mut has_image) = (false, false);
        loop {
            let event = reader.read_event().map_err(|error| {
                let (at, error) = (reader.error_position(), line(&error.to_string(), 120));
                format!("the XML cannot be read at byte {at}: {error}")
            })?;
            let place = places.last().copied().unwrap_or(Place::Top);
            match event {
                Event::Start(ref start) | Event::Empty(ref start) => {
                    let child = place.child(start.name().as_ref());
                    if place == Place::Top && child != Place::File {
                        let name = shown(start.name().as_ref());
                        return Err(format!(
                            "the XML of another format, <{name}>; <VTKFile> is needed"
                        ));
                    }
                    has_file |= child == Place::File;
                    has_image |= child == Place::Image;
                    let is_empty = matches!(event, Event::Empty(_));
                    if child == Place::Appended && !is_empty {
                        let rest = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
                        document.append(start, bytes.get(rest..).unwrap_or_default())?;
                        break;
                    }
                    document.enter(child, place == Place::Points, start)?;
                    if !is_empty {
                        places.push(child);
                    }
                }
                Event::End(_) => drop(places.pop()),
                Event::Text(text) if place == Place::Array => document.add(text.into_inner()),
                Event::CData(text) if place == Place::Array => document.add(text.into_inner()),
                Event::GeneralRef(_) if place == Place::Array => {
                    return Err(
                        "an array has an entity of XML; numbers or base64 are needed".into(),
                    );
                }
                Event::DocType(_) => {
                    return Err("the XML has a DOCTYPE; a file of VTK has none".into());
                }
                Event::Eof => {
                    if places.len() > 1 || !has_file {
                        return Err("the file is cut short within its XML".into());
                    }
                    break;
                }
                _ => {}
            }
        }
        document.offsets.sort_unstable();
        match has_image {
            true => Ok(document),
            false => Err("the file has no <ImageData>".into()),
        }
    }

    /// Takes the attributes of an element.
    fn enter(&mut self, place: Place, of_points: bool, start: &BytesStart) -> Read<()> {
        match place {
            Place::File => {
                check_kind(&attribute(start, "type")?.unwrap_or_default())?;
                self.coding = Coding::new(
                    attribute(start, "byte_order")?.as_deref(),
                    attribute(start, "header_type")?.as_deref(),
                    attribute(start, "compressor")?.as_deref(),
                )?;
            }
            Place::Image => {
                self.whole = extent(start, "WholeExtent")?;
                self.origin = numbers(start, "Origin")?.unwrap_or(self.origin);
                self.spacing = numbers(start, "Spacing")?.unwrap_or(self.spacing);
                let straight = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
                let turn: [f64; 9] = numbers(start, "Direction")?.unwrap_or(straight);
                if turn.iter().zip(straight).any(|(a, b)| (a - b).abs() > 1e-9) {
                    return Err(format!(
                        "the image is turned, its Direction is {turn:?}; axes along x, y and z are needed (ParaView: Resample To Image)"
                    ));
                }
            }
            Place::Piece => self.pieces.push(Piece {
                extent: extent(start, "Extent")?,
                arrays: Vec::new(),
            }),
            _ if start.name().as_ref() == "DataArray" => {
                let offset = attribute(start, "offset")?;
                let offset = match offset.as_deref().map(|text| text.trim().parse()) {
                    Some(Err(_)) => return Err("an offset of an array is no number".into()),
                    other => other.and_then(std::result::Result::ok),
                };
                self.offsets.extend(offset);
                let (Place::Array, Some(piece)) = (place, self.pieces.last_mut()) else {
                    return Ok(());
                };
                let or = |name: &str, usual: &str| {
                    attribute(start, name).map(|text| text.unwrap_or_else(|| usual.into()))
                };
                piece.arrays.push(Array {
                    name: or("Name", "")?,
                    of_points,
                    scalar: Scalar::named(&or("type", "")?),
                    components: or("NumberOfComponents", "1")?,
                    format: or("format", "ascii")?,
                    offset,
                    text: Vec::new(),
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds text to the last array.
    fn add(&mut self, text: Cow<'a, str>) {
        let piece = self.pieces.last_mut();
        if let Some(array) = piece.and_then(|piece| piece.arrays.last_mut()) {
            array.text.push(text);
        }
    }

    /// Takes the data behind the XML, from the underscore on.
    fn append(&mut self, start: &BytesStart, rest: &'a [u8]) -> Read<()> {
        const END: &[u8] = b"</AppendedData";
        let encoding = attribute(start, "encoding")?.unwrap_or_default();
        let is_base64 = match encoding.as_str() {
            "base64" => true,
            "raw" => false,
            other => {
                return Err(format!(
                    "the appended data have the encoding '{}'; raw or base64 is needed",
                    shown(other)
                ));
            }
        };
        let Some(data) = rest.trim_ascii_start().strip_prefix(b"_") else {
            return Err("the appended data do not begin with an underscore".into());
        };
        // Bytes of raw data may be any, those of the end included.
        let end = match is_base64 {
            true => data.iter().position(|byte| *byte == b'<'),
            false => memchr::memmem::rfind(data, END),
        };
        let Some(data) = end.and_then(|end| data.get(..end)) else {
            return Err("the file is cut short: the end of its appended data is missing".into());
        };
        self.appended = Some((data, is_base64));
        Ok(())
    }

    fn mask(&self, wanted: Option<&str>, most: usize) -> Read<Mask> {
        let Some(first) = self.pieces.first() else {
            return Err("the file has no <Piece>".into());
        };
        let (name, of_points) = first.chosen(wanted)?;
        let place = self.place(of_points)?;
        let count = self.whole.count(of_points)?;
        let total = total(count, most)?;
        let mut parts = Vec::new();
        let mut held: usize = 0;
        for (k, piece) in self.pieces.iter().enumerate() {
            let found = (piece.arrays.iter())
                .find(|array| array.name == name && array.of_points == of_points);
            let Some(array) = found else {
                let name = shown(&name);
                return Err(format!(
                    "piece {} has no array '{name}' as the first has",
                    k + 1
                ));
            };
            let count = piece.extent.count(of_points)?;
            // Points on the faces of pieces are in several of them.
            held = held.saturating_add(total_of(count, total)?);
            if held > total.saturating_mul(OVERLAP) {
                return Err("the pieces overlap each other; pieces that join are needed".into());
            }
            let marks = array.marks(self, total_of(count, total)?);
            let solid =
                marks.map_err(|text| format!("the array '{}' {text}", shown(&array.name)))?;
            parts.push((piece.extent, count, solid));
        }
        let solid = match &mut parts[..] {
            [(extent, _, solid)] if *extent == self.whole => std::mem::take(solid),
            parts => self.joined(count, total, parts)?,
        };
        let (corner, spacing) = place;
        Ok(Mask {
            count,
            corner,
            spacing,
            solid,
        })
    }

    /// Corner and widths of the first voxel.
    fn place(&self, of_points: bool) -> Read<([f64; 3], [f64; 3])> {
        let flat = |axis: usize| self.whole.0[axis][0] == self.whole.0[axis][1];
        let mut spacing = self.spacing;
        for (axis, width) in spacing.iter_mut().enumerate() {
            // The thickness of a flat image is of no use.
            if flat(axis) && *width == 0.0 {
                *width = 1.0;
            } else if !(width.is_finite() && *width > 0.0) {
                return Err(format!("Spacing has {width}; positive numbers are needed"));
            }
        }
        let half = if of_points { 0.5 } else { 0.0 };
        let corner: [f64; 3] = std::array::from_fn(|axis| {
            self.origin[axis] + spacing[axis] * (self.whole.0[axis][0] as f64 - half)
        });
        match corner.iter().find(|x| !x.is_finite()) {
            Some(x) => Err(format!(
                "Origin puts the image at {x}; finite numbers are needed"
            )),
            None => Ok((corner, spacing)),
        }
    }

    /// The image of several pieces.
    fn joined(
        &self,
        count: [usize; 3],
        total: usize,
        parts: &[(Extent, [usize; 3], Vec<bool>)],
    ) -> Read<Vec<bool>> {
        let held: usize = parts.iter().map(|(_, _, solid)| solid.len()).sum();
        let missing = |known: usize| {
            format!(
                "the pieces have {known} of the {total} voxels of the image; pieces that fill it are needed"
            )
        };
        if held < total {
            return Err(missing(held));
        }
        let mut whole: Vec<Option<bool>> = vec![None; total];
        for (extent, part, solid) in parts {
            let mut first = [0; 3];
            for axis in 0..3 {
                let shift = extent.0[axis][0].checked_sub(self.whole.0[axis][0]);
                let shift = shift.and_then(|shift| usize::try_from(shift).ok());
                let fits = |shift: &usize| {
                    shift
                        .checked_add(part[axis])
                        .is_some_and(|end| end <= count[axis])
                };
                first[axis] = shift
                    .filter(fits)
                    .ok_or("the Extent of a piece lies outside of the WholeExtent")?;
            }
            for (row, values) in solid.chunks_exact(part[0]).enumerate() {
                let [y, z] = [first[1] + row % part[1], first[2] + row / part[1]];
                let at = (z * count[1] + y) * count[0] + first[0];
                let places = whole.iter_mut().skip(at).zip(values);
                places.for_each(|(place, value)| *place = Some(*value));
            }
        }
        let known = whole.iter().flatten().count();
        match known == total {
            true => Ok(whole.into_iter().flatten().collect()),
            false => Err(missing(known)),
        }
    }
}

impl Piece<'_> {
    /// Name of the array that is wanted, and whether it is one of points.
    fn chosen(&self, wanted: Option<&str>) -> Read<(String, bool)> {
        let names = || {
            let mut names: Vec<String> = Vec::new();
            for array in &self.arrays {
                let name = format!("'{}'", shown(&array.name));
                if !names.contains(&name) && names.len() < NAMES {
                    names.push(name);
                }
            }
            names.join(", ")
        };
        let named = |name: &str, of_points: bool| {
            (self.arrays.iter()).find(|array| array.name == name && array.of_points == of_points)
        };
        let found = match (wanted, &self.arrays[..]) {
            (_, []) => return Err("the image has no array of cells or points".into()),
            (None, [array]) => Some(array),
            (None, _) => {
                let names = names();
                return Err(format!(
                    "the image has the arrays {names}; the key array names the one of the mask"
                ));
            }
            // Filters of ParaView keep cells beside points of one name. Cells are the voxels.
            (Some(name), _) => named(name, false).or_else(|| named(name, true)),
        };
        match found {
            Some(array) => Ok((array.name.clone(), array.of_points)),
            None => Err(format!(
                "the image has no array '{}'; it has {}",
                shown(wanted.unwrap_or_default()),
                names()
            )),
        }
    }
}

impl Array<'_> {
    /// Which of its values are not zero.
    fn marks(&self, document: &Document, count: usize) -> Read<Vec<bool>> {
        if self.components.trim() != "1" {
            let components = shown(&self.components);
            return Err(format!(
                "has {components} components; one number a voxel is needed"
            ));
        }
        let scalar = self.scalar.clone()?;
        match self.format.as_str() {
            "ascii" => Marks::of_text(&self.text, count),
            "binary" => {
                let text = self.text.iter().flat_map(|text| text.bytes());
                let bytes = data::decoded(text)?;
                document.coding.marks(&bytes, scalar, count)
            }
            "appended" => {
                let Some((data, is_base64)) = document.appended else {
                    return Err("is appended, but the file has no <AppendedData>".into());
                };
                let offset = self.offset.ok_or("is appended and has no offset")?;
                let Some(rest) = data.get(offset..) else {
                    let size = data.len();
                    return Err(format!(
                        "begins at byte {offset} of the appended data, which have {size}"
                    ));
                };
                if !is_base64 {
                    return document.coding.marks(rest, scalar, count);
                }
                let behind = document.offsets.partition_point(|next| *next <= offset);
                let size = document
                    .offsets
                    .get(behind)
                    .map_or(rest.len(), |next| next - offset);
                let text = rest.iter().take(size).copied();
                document.coding.marks(&data::decoded(text)?, scalar, count)
            }
            other => Err(format!(
                "has the format '{}'; ascii, binary or appended is needed",
                shown(other)
            )),
        }
    }
}

impl Extent {
    /// Points or cells along the axes. A flat image has one layer of cells.
    fn count(&self, of_points: bool) -> Read<[usize; 3]> {
        let mut count = [0; 3];
        for (count, [low, high]) in count.iter_mut().zip(self.0) {
            let cells = high
                .checked_sub(low)
                .and_then(|cells| usize::try_from(cells).ok());
            *count = match cells {
                Some(cells) if of_points => cells.saturating_add(1),
                Some(cells) => cells.max(1),
                None => {
                    return Err(format!(
                        "an extent goes from {low} to {high}; a greater end is needed"
                    ));
                }
            };
        }
        Ok(count)
    }
}

/// The number of voxels, at most so many.
fn total(count: [usize; 3], most: usize) -> Read<usize> {
    let [nx, ny, nz] = count;
    let total = nx.checked_mul(ny).and_then(|layer| layer.checked_mul(nz));
    total
        .filter(|total| *total <= most)
        .ok_or_else(|| format!("the image has {nx} x {ny} x {nz} voxels; at most {most} are read"))
}

/// That of a piece of an image of so many.
fn total_of(count: [usize; 3], whole: usize) -> Read<usize> {
    total(count, whole).map_err(|_| "the Extent of a piece exceeds the WholeExtent".into())
}

fn check_kind(kind: &str) -> Read<()> {
    match kind {
        "ImageData" => Ok(()),
        "PImageData" => Err(
            "a list of other files (PImageData); an ImageData is needed, the whole image in one file".into(),
        ),
        other => Err(format!(
            "the file has the type '{}'; ImageData is needed (ParaView: Resample To Image)",
            shown(other)
        )),
    }
}

/// An attribute of an element, with its entities replaced.
fn attribute(start: &BytesStart, name: &str) -> Read<Option<String>> {
    let refuse = |error: &dyn std::fmt::Display| {
        format!(
            "an attribute of <{}> cannot be read: {}",
            shown(start.name().as_ref()),
            line(&error.to_string(), 120)
        )
    };
    // The check for doubles takes the square of their number.
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| refuse(&error))?;
        if attribute.key.as_ref() == name {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            return value
                .map(|value| Some(value.into_owned()))
                .map_err(|error| refuse(&error));
        }
    }
    Ok(None)
}

/// Numbers of an attribute, which has all or is missing.
fn numbers<T: std::str::FromStr, const N: usize>(
    start: &BytesStart,
    name: &str,
) -> Read<Option<[T; N]>> {
    let Some(text) = attribute(start, name)? else {
        return Ok(None);
    };
    let found: Option<Vec<T>> = (text.split_ascii_whitespace())
        .map(|number| number.parse().ok())
        .take(N + 1)
        .collect();
    let found = found.and_then(|found| <[T; N]>::try_from(found).ok());
    found.map(Some).ok_or_else(|| {
        let text = shown(&text);
        format!("{name} is '{text}'; {N} numbers are needed")
    })
}

fn extent(start: &BytesStart, name: &str) -> Read<Extent> {
    let found: Option<[i64; 6]> = numbers(start, name)?;
    let [a, b, c, d, e, f] = found.ok_or_else(|| format!("the image has no {name}"))?;
    Ok(Extent([[a, b], [c, d], [e, f]]))
}

#[cfg(test)]
mod tests;
