//! Bodies from files: tables of circles, masks, voxels and distances as arrays and images, surfaces as STL.

use std::path::{Path, PathBuf};

use super::body::{Raster, Shape, Stl, Voxels};
use super::case::Case;
use super::samples::Samples;
use super::volume::Surface;
use crate::error::{Error, Result};

impl Case {
    /// The files that bodies are read from.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for body in &self.bodies {
            body.shape.each(&mut |shape| {
                let file = match shape {
                    Shape::Circles { file, .. } => file.clone(),
                    Shape::Mask(raster) | Shape::Distance(raster) => raster.file.clone(),
                    Shape::Outline(section) => Some(section.file.clone()),
                    Shape::Stl(stl) => Some(stl.file.clone()),
                    Shape::Voxels(voxels) => voxels.file.clone(),
                    _ => None,
                };
                files.extend(file);
            });
        }
        files
    }

    /// Takes the paths of files as relative to a folder, that of the case file.
    pub fn relative_to(&mut self, folder: &Path) {
        for body in &mut self.bodies {
            body.shape.each_mut(&mut |shape| {
                let file = match shape {
                    Shape::Circles { file, .. } => file.as_mut(),
                    Shape::Mask(raster) | Shape::Distance(raster) => raster.file.as_mut(),
                    Shape::Outline(section) => Some(&mut section.file),
                    Shape::Stl(stl) => Some(&mut stl.file),
                    Shape::Voxels(voxels) => voxels.file.as_mut(),
                    _ => None,
                };
                if let Some(file) = file {
                    *file = folder.join(&file);
                }
            });
        }
    }
}

impl Shape {
    fn each(&self, see: &mut dyn FnMut(&Self)) {
        see(self);
        if let Self::Union { of } | Self::Difference { of } = self {
            of.iter().for_each(|part| part.each(see));
        }
    }

    fn each_mut(&mut self, see: &mut dyn FnMut(&mut Self)) {
        see(self);
        if let Self::Union { of } | Self::Difference { of } = self {
            of.iter_mut().for_each(|part| part.each_mut(see));
        }
    }

    /// Reads the file of a shape that has one and was not read before.
    ///
    /// # Errors
    /// A file that cannot be read, or holds something else.
    pub(super) fn read(&mut self) -> Result<()> {
        match self {
            Self::Circles {
                file: Some(path),
                more,
                ..
            } if more.is_empty() => {
                *more = read::circles(path)?;
                Ok(())
            }
            Self::Mask(raster) => raster.read(read::mask),
            Self::Distance(raster) => raster.read(read::distances),
            Self::Outline(section) if section.curves.is_empty() => {
                let triangles = read::triangles(&section.file)?;
                let curves = super::section::curves(&triangles, section.z)
                    .map_err(|text| Error::file(&section.file, text))?;
                let [a, b] = section.origin;
                let place = |[x, y]: [f64; 2]| [a + section.scale * x, b + section.scale * y];
                section.curves = curves
                    .into_iter()
                    .map(|curve| curve.into_iter().map(place).collect())
                    .collect();
                Ok(())
            }
            Self::Stl(stl) if stl.surface.is_none() => stl.read(),
            Self::Voxels(voxels) => voxels.read(),
            _ => Ok(()),
        }
    }
}

impl Stl {
    fn read(&mut self) -> Result<()> {
        if !(self.scale.is_finite() && self.scale > 0.0) {
            return Err(Error::invalid("scale", self.scale, "a positive number"));
        }
        if let Some(x) = self.origin.iter().find(|x| !x.is_finite()) {
            return Err(Error::invalid("origin", x, "a finite number"));
        }
        let triangles = read::triangles(&self.file)?;
        let surface = Surface::new(&triangles, self.scale, self.origin)
            .map_err(|text| Error::file(&self.file, text))?;
        self.surface = Some(surface);
        Ok(())
    }
}

impl Voxels {
    fn read(&mut self) -> Result<()> {
        match (&self.samples, &self.file) {
            (Some(_), _) => Ok(()),
            (None, Some(file)) => {
                let (samples, place) = read::voxels(file, self.array.as_deref())?;
                self.samples = Some(samples);
                if let Some(place) = place {
                    place.complete(&mut self.origin, &mut self.spacing);
                }
                Ok(())
            }
            (None, None) => Err(Error::invalid("file", "none", "a file of the array")),
        }
    }
}

/// Samples of a file, and their place if the file has one.
type Placed<S, const N: usize> = (S, Option<Place<N>>);

impl Raster {
    fn read(&mut self, read: fn(&Path, Option<&str>) -> Result<Placed<Samples, 2>>) -> Result<()> {
        match (&self.samples, &self.file) {
            (Some(_), _) => Ok(()),
            (None, Some(file)) => {
                let (samples, place) = read(file, self.array.as_deref())?;
                self.samples = Some(samples);
                if let Some(place) = place {
                    place.complete(&mut self.origin, &mut self.spacing);
                }
                Ok(())
            }
            (None, None) => Err(Error::invalid("file", "none", "a file of the array")),
        }
    }
}

/// Corner and width of the first sample of a file.
struct Place<const N: usize> {
    corner: [f64; N],
    width: f64,
}

impl<const N: usize> Place<N> {
    /// Completes what the case leaves out. A spacing of the case changes the unit of length of the file.
    fn complete(self, origin: &mut Option<[f64; N]>, spacing: &mut Option<f64>) {
        let spacing = *spacing.get_or_insert(self.width);
        let unit = spacing / self.width;
        origin.get_or_insert(self.corner.map(|x| unit * x));
    }
}

/// Without the feature `files` no file is read.
#[cfg(not(feature = "files"))]
mod read {
    use std::path::Path;

    use super::Placed;
    use crate::error::{Error, Result};
    use crate::flow::samples::{Samples, VoxelSamples};
    use crate::flow::section::Vertex;

    fn refused<T>(path: &Path) -> Result<T> {
        Err(Error::file(
            path,
            "this build reads no files of bodies; the feature `files` does",
        ))
    }

    pub(super) fn circles(path: &Path) -> Result<Vec<[f64; 3]>> {
        refused(path)
    }

    pub(super) fn mask(path: &Path, _: Option<&str>) -> Result<Placed<Samples, 2>> {
        refused(path)
    }

    pub(super) fn distances(path: &Path, _: Option<&str>) -> Result<Placed<Samples, 2>> {
        refused(path)
    }

    pub(super) fn voxels(path: &Path, _: Option<&str>) -> Result<Placed<VoxelSamples, 3>> {
        refused(path)
    }

    pub(super) fn triangles(path: &Path) -> Result<Vec<[Vertex; 3]>> {
        refused(path)
    }
}

#[cfg(feature = "files")]
mod read {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Cursor, Read};
    use std::path::Path;

    use super::{Place, Placed};
    use crate::error::{Error, Result, reason};
    use crate::flow::samples::{Samples, VoxelSamples};
    use crate::flow::section::Vertex;
    use crate::npy::{self, Elements};
    use crate::vti;

    /// Samples along an axis beyond which an array is a slip of the pen.
    const MOST: usize = 100_000;
    /// Samples of an array.
    const MOST_SAMPLES: usize = 1 << 28;
    /// Bytes of a table of circles, and of a surface.
    const MOST_BYTES: u64 = 1 << 30;
    /// Bytes of a binary STL before its triangles, and of each.
    const STL_HEAD: u64 = 84;
    const STL_TRIANGLE: u64 = 50;

    fn failed(path: &Path) -> impl Fn(std::io::Error) -> Error + '_ {
        move |error| Error::file(path, reason(&error))
    }

    /// Opens a regular file of a size that fits.
    fn opened(path: &Path) -> Result<(BufReader<File>, u64)> {
        let file = File::open(path).map_err(failed(path))?;
        let metadata = file.metadata().map_err(failed(path))?;
        if !metadata.is_file() {
            return Err(Error::file(path, "not a regular file"));
        }
        if metadata.len() > MOST_BYTES {
            let gib = MOST_BYTES >> 30;
            return Err(Error::file(path, format!("more than {gib} GiB")));
        }
        Ok((BufReader::new(file), metadata.len()))
    }

    /// A table of `x, y, radius`, with or without a line of names.
    pub(super) fn circles(path: &Path) -> Result<Vec<[f64; 3]>> {
        let (file, _) = opened(path)?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(file);
        let mut circles = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| Error::file(path, error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let numbers: Vec<Option<f64>> = record.iter().map(|text| text.parse().ok()).collect();
            match numbers[..] {
                [Some(x), Some(y), Some(radius)] => {
                    let good = x.is_finite() && y.is_finite() && radius.is_finite();
                    if !(good && radius > 0.0) {
                        return Err(Error::file(
                            path,
                            format!(
                                "line {line}: {x}, {y}, {radius}; expected x, y and a positive radius"
                            ),
                        ));
                    }
                    circles.push([x, y, radius]);
                }
                // Names of the columns.
                [None, None, None] if circles.is_empty() => {}
                _ => {
                    let text: Vec<&str> = record.iter().collect();
                    return Err(Error::file(
                        path,
                        format!(
                            "line {line}: {}; expected three numbers: x, y, radius",
                            text.join(", ")
                        ),
                    ));
                }
            }
        }
        if circles.is_empty() {
            return Err(Error::file(
                path,
                "no circle; expected lines of x, y, radius",
            ));
        }
        Ok(circles)
    }

    /// An array of two dimensions.
    fn array(path: &Path, elements: Elements) -> Result<Samples> {
        let fits = |shape: &[usize]| {
            let small = |n: &usize| (2..=MOST).contains(n);
            matches!(shape, [ny, nx] if small(ny) && small(nx) && ny * nx <= MOST_SAMPLES)
        };
        let needed = "two dimensions are needed, indexed [iy][ix], each of 2 to 100000";
        let (shape, values) = npy::read(path, elements, fits, needed, |_, _, _, _| Ok(()))?;
        let [ny, nx] = shape[..] else {
            return Err(Error::file(path, npy::refused_shape(&shape, needed)));
        };
        Samples::new(nx, ny, values).map_err(|error| Error::file(path, error))
    }

    /// Distances from a wall.
    pub(super) fn distances(path: &Path, name: Option<&str>) -> Result<Placed<Samples, 2>> {
        only(path, name)?;
        Ok((array(path, Elements::Numbers)?, None))
    }

    /// Voxels: an array of three dimensions, or an image of VTK, by its first bytes.
    pub(super) fn voxels(path: &Path, name: Option<&str>) -> Result<Placed<VoxelSamples, 3>> {
        if let Some(mask) = of_vtk(path, name)? {
            let place = place(path, &mask, mask.corner)?;
            let samples = VoxelSamples::new(mask.count, mask.solid);
            return match samples {
                Ok(samples) => Ok((samples, Some(place))),
                Err(error) => Err(Error::file(path, error)),
            };
        }
        only(path, name)?;
        let fits = |shape: &[usize]| {
            let small = |n: &usize| (2..=MOST).contains(n);
            let total = shape.iter().try_fold(1_usize, |all, n| all.checked_mul(*n));
            shape.len() == 3
                && shape.iter().all(small)
                && total.is_some_and(|total| total <= MOST_SAMPLES)
        };
        let needed = "three dimensions are needed, indexed [iz][iy][ix], each of 2 to 100000";
        let (shape, values) = npy::read(path, Elements::Marks, fits, needed, |_, _, _, _| Ok(()))?;
        let [nz, ny, nx] = shape[..] else {
            return Err(Error::file(path, npy::refused_shape(&shape, needed)));
        };
        let solid = values.into_iter().map(|value| value != 0.0).collect();
        let samples = VoxelSamples::new([nx, ny, nz], solid);
        Ok((samples.map_err(|error| Error::file(path, error))?, None))
    }

    /// A mask: an array, or an image, by its first bytes.
    pub(super) fn mask(path: &Path, name: Option<&str>) -> Result<Placed<Samples, 2>> {
        if let Some(mask) = of_vtk(path, name)? {
            let [nx, ny, nz] = mask.count;
            if nz != 1 {
                return Err(Error::file(
                    path,
                    format!(
                        "an image of {nz} layers along z; one is needed in a plane (ParaView: Extract Subset)"
                    ),
                ));
            }
            let [x, y, _] = mask.corner;
            let place = place(path, &mask, [x, y])?;
            let values = mask
                .solid
                .into_iter()
                .map(|solid| f64::from(u8::from(solid)));
            let samples = Samples::new(nx, ny, values.collect());
            return Ok((
                samples.map_err(|error| Error::file(path, error))?,
                Some(place),
            ));
        }
        only(path, name)?;
        let (mut file, _) = opened(path)?;
        let is_image = file
            .fill_buf()
            .map_err(failed(path))?
            .starts_with(b"\x89PNG");
        let samples = match is_image {
            true => image(path, file),
            false => array(path, Elements::Marks),
        };
        Ok((samples?, None))
    }

    /// The mask of an image of VTK; none of another file.
    fn of_vtk(path: &Path, name: Option<&str>) -> Result<Option<vti::Mask>> {
        let (mut file, size) = opened(path)?;
        let is_named = path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("vti"));
        if !is_named && !vti::is_xml(file.fill_buf().map_err(failed(path))?) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(size)
            .read_to_end(&mut bytes)
            .map_err(failed(path))?;
        let mask = vti::read(path, &bytes, name, MOST_SAMPLES)?;
        match mask.count.iter().find(|count| **count > MOST) {
            Some(count) => Err(Error::file(
                path,
                format!("an image of {count} voxels along an axis; at most {MOST} are read"),
            )),
            None => Ok(Some(mask)),
        }
    }

    /// Corner and width of the voxels of an image, which are cubes or squares.
    fn place<const N: usize>(path: &Path, mask: &vti::Mask, corner: [f64; N]) -> Result<Place<N>> {
        let width = mask.spacing[0];
        let mut others = mask.spacing.iter().take(N);
        if others.any(|other| (other - width).abs() > 1e-6 * width) {
            let widths: Vec<String> = mask.spacing[..N].iter().map(f64::to_string).collect();
            return Err(Error::file(
                path,
                format!(
                    "its Spacing is {}; one width along all axes is needed (ParaView: Resample To Image)",
                    widths.join(" ")
                ),
            ));
        }
        Ok(Place { corner, width })
    }

    /// Refuses the name of an array in a file that has but one.
    fn only(path: &Path, name: Option<&str>) -> Result<()> {
        match name {
            None => Ok(()),
            Some(name) => Err(Error::invalid(
                "array",
                name,
                format!(
                    "no key array with {}, which is no .vti file",
                    path.display()
                ),
            )),
        }
    }

    /// An image, whose pixels darker than the middle grey are solid; transparent ones are gas.
    fn image(path: &Path, file: BufReader<File>) -> Result<Samples> {
        let refuse = |error: png::DecodingError| {
            Error::file(path, format!("the image cannot be read: {error}"))
        };
        let mut decoder = png::Decoder::new_with_limits(
            file,
            png::Limits {
                bytes: MOST_BYTES as usize,
            },
        );
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(refuse)?;
        let (width, height) = (reader.info().width as usize, reader.info().height as usize);
        if !(2..=MOST).contains(&width)
            || !(2..=MOST).contains(&height)
            || width * height > MOST_SAMPLES
        {
            return Err(Error::file(
                path,
                format!(
                    "an image of {width} x {height} pixels; expected 2 to {MOST} along each side"
                ),
            ));
        }
        let size = reader.output_buffer_size();
        let mut bytes = vec![0; size.unwrap_or(4 * width * height)];
        let info = reader.next_frame(&mut bytes).map_err(refuse)?;
        let channels = info.color_type.samples();
        let is_dark = |pixel: &[u8]| {
            let number = |k: usize| f64::from(pixel.get(k).copied().unwrap_or(255));
            let (grey, alpha) = match channels {
                1 => (number(0), 255.0),
                2 => (number(0), number(1)),
                _ => (
                    0.299 * number(0) + 0.587 * number(1) + 0.114 * number(2),
                    number(3),
                ),
            };
            alpha * (255.0 - grey) > 0.5 * 255.0 * 255.0
        };
        let mut values = Vec::with_capacity(width * height);
        // The first row of an image is the upper one.
        for row in bytes[..info.line_size * height]
            .chunks_exact(info.line_size)
            .rev()
        {
            let pixels = row.chunks_exact(channels).take(width);
            values.extend(pixels.map(|pixel| f64::from(u8::from(is_dark(pixel)))));
        }
        Samples::new(width, height, values).map_err(|error| Error::file(path, error))
    }

    /// The triangles of an STL file.
    pub(super) fn triangles(path: &Path) -> Result<Vec<[Vertex; 3]>> {
        let (mut file, size) = opened(path)?;
        let mut head = Vec::new();
        file.by_ref()
            .take(STL_HEAD)
            .read_to_end(&mut head)
            .map_err(failed(path))?;
        // Binary files may begin with the word of the others: their size is certain.
        let count = match head[..] {
            [.., a, b, c, d] if head.len() as u64 == STL_HEAD => {
                Some(u64::from(u32::from_le_bytes([a, b, c, d])))
            }
            _ => None,
        };
        let is_binary = count.is_some_and(|count| size == STL_HEAD + STL_TRIANGLE * count);
        let text = head.trim_ascii_start();
        if !is_binary && !text.starts_with(b"solid") {
            let announced = count.map_or(0, |count| STL_HEAD + STL_TRIANGLE * count);
            return Err(Error::file(
                path,
                format!(
                    "not an STL file: it begins with no `solid`, and has {size} bytes where a binary one would have {announced}"
                ),
            ));
        }
        // The crate takes a file for text if it begins with "solid "; names and headers do not matter.
        let mut bytes = match is_binary {
            true => vec![0; (STL_HEAD - 4) as usize],
            false => b"solid a\n".to_vec(),
        };
        let mut all = BufReader::new(Cursor::new(head).chain(file));
        match is_binary {
            true => drop(all.read_exact(&mut bytes.clone())),
            false => drop(all.skip_until(b'\n').map_err(failed(path))?),
        }
        all.read_to_end(&mut bytes).map_err(failed(path))?;
        let refuse = |error: std::io::Error| {
            Error::file(
                path,
                format!("the STL file cannot be read: {}", reason(&error)),
            )
        };
        let mut bytes = Cursor::new(bytes);
        let found = stl_io::create_stl_reader(&mut bytes);
        let triangles: std::io::Result<Vec<[Vertex; 3]>> = found
            .map_err(refuse)?
            .map(|triangle| triangle.map(|triangle| triangle.vertices.map(|vertex| vertex.0)))
            .collect();
        let triangles = triangles.map_err(refuse)?;
        let bad = triangles
            .iter()
            .position(|t| t.iter().flatten().any(|x| !x.is_finite()));
        match bad {
            Some(at) => Err(Error::file(
                path,
                format!("triangle {} has a corner that is not finite", at + 1),
            )),
            None => Ok(triangles),
        }
    }
}
