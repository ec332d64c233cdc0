//! VTK's files of fields and walls in space: the arrays follow the XML, compressed, as ParaView and VisIt read them.
//!
//! An array is blocks of zlib behind a header of 64-bit numbers: blocks, bytes of a block and of the last one, compressed bytes of each.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::error::{Error, Result};

/// Bytes of a block before compression.
const BLOCK: usize = 1 << 20;

/// Fields on the cells of a box. Values are `[iz][iy][ix]`.
pub(super) struct Volume<'a> {
    /// Edges of the cells along the axes.
    pub(super) edges: [&'a [f64]; 3],
    pub(super) scalars: Vec<(&'a str, Vec<f64>)>,
    pub(super) vectors: Vec<(&'a str, Vec<[f64; 3]>)>,
}

impl Volume<'_> {
    /// An image, of cells of these widths.
    pub(super) fn image(&self, spacing: [f64; 3]) -> Result<Vec<u8>> {
        let extent = self.extent();
        let [x, y, z] = self
            .edges
            .map(|edges| edges.first().copied().unwrap_or(0.0));
        let [dx, dy, dz] = spacing;
        let mut file = File::new("ImageData");
        let _ = write!(
            file.text,
            "<ImageData WholeExtent=\"{extent}\" Origin=\"{x} {y} {z}\" Spacing=\"{dx} {dy} {dz}\">\n<Piece Extent=\"{extent}\">\n"
        );
        file.cell_data(&self.scalars, &self.vectors)?;
        file.text.push_str("</Piece>\n</ImageData>\n");
        Ok(file.end())
    }

    /// A rectilinear grid, of cells of any widths.
    pub(super) fn rectilinear(&self) -> Result<Vec<u8>> {
        let extent = self.extent();
        let mut file = File::new("RectilinearGrid");
        let _ = write!(
            file.text,
            "<RectilinearGrid WholeExtent=\"{extent}\">\n<Piece Extent=\"{extent}\">\n"
        );
        file.cell_data(&self.scalars, &self.vectors)?;
        file.text.push_str("<Coordinates>\n");
        for (name, edges) in ["x", "y", "z"].into_iter().zip(self.edges) {
            file.numbers(name, 1, edges.iter().copied())?;
        }
        file.text
            .push_str("</Coordinates>\n</Piece>\n</RectilinearGrid>\n");
        Ok(file.end())
    }

    fn extent(&self) -> String {
        let [nx, ny, nz] = self.edges.map(|edges| edges.len().saturating_sub(1));
        format!("0 {nx} 0 {ny} 0 {nz}")
    }
}

/// Polygons in space, each with its values.
pub(super) struct Polygons<'a> {
    pub(super) corners: Vec<&'a [[f64; 3]]>,
    pub(super) scalars: Vec<(&'a str, Vec<f64>)>,
    pub(super) vectors: Vec<(&'a str, Vec<[f64; 3]>)>,
}

impl Polygons<'_> {
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let points: usize = self.corners.iter().map(|corners| corners.len()).sum();
        let mut file = File::new("PolyData");
        let _ = write!(
            file.text,
            "<PolyData>\n<Piece NumberOfPoints=\"{points}\" NumberOfVerts=\"0\" NumberOfLines=\"0\" NumberOfStrips=\"0\" NumberOfPolys=\"{}\">\n",
            self.corners.len()
        );
        file.cell_data(&self.scalars, &self.vectors)?;
        file.text.push_str("<Points>\n");
        let coordinates = self
            .corners
            .iter()
            .flat_map(|corners| corners.iter().flatten());
        file.numbers("points", 3, coordinates.copied())?;
        file.text.push_str("</Points>\n<Polys>\n");
        file.counts("connectivity", 0..points as i64)?;
        let ends = self.corners.iter().scan(0, |end, corners| {
            *end += corners.len() as i64;
            Some(*end)
        });
        file.counts("offsets", ends)?;
        file.text.push_str("</Polys>\n</Piece>\n</PolyData>\n");
        Ok(file.end())
    }
}

/// A file in the making.
struct File {
    text: String,
    data: Vec<u8>,
}

impl File {
    /// The beginning of a file of this kind.
    fn new(kind: &str) -> Self {
        let text = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"{kind}\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\">\n"
        );
        let data = Vec::new();
        Self { text, data }
    }

    /// Values of the cells.
    fn cell_data(
        &mut self,
        scalars: &[(&str, Vec<f64>)],
        vectors: &[(&str, Vec<[f64; 3]>)],
    ) -> Result<()> {
        self.text.push_str("<CellData>\n");
        for (name, values) in scalars {
            self.numbers(name, 1, values.iter().copied())?;
        }
        for (name, values) in vectors {
            self.numbers(name, 3, values.iter().flatten().copied())?;
        }
        self.text.push_str("</CellData>\n");
        Ok(())
    }

    fn numbers(
        &mut self,
        name: &str,
        components: usize,
        values: impl Iterator<Item = f64>,
    ) -> Result<()> {
        let bytes: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
        self.array(("Float64", name, components), &bytes)
    }

    fn counts(&mut self, name: &str, values: impl Iterator<Item = i64>) -> Result<()> {
        let bytes: Vec<u8> = values.flat_map(i64::to_le_bytes).collect();
        self.array(("Int64", name, 1), &bytes)
    }

    /// An array: its type, name and number of components, and its bytes.
    fn array(&mut self, (of, name, components): (&str, &str, usize), bytes: &[u8]) -> Result<()> {
        let _ = writeln!(
            self.text,
            "<DataArray type=\"{of}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" offset=\"{}\"/>",
            self.data.len()
        );
        let mut blocks = Vec::new();
        for block in bytes.chunks(BLOCK) {
            blocks.push(compressed(block)?);
        }
        let last = bytes.len() % BLOCK;
        let mut header = vec![blocks.len(), BLOCK, last];
        header.extend(blocks.iter().map(Vec::len));
        let header = header.into_iter().flat_map(|n| (n as u64).to_le_bytes());
        self.data.extend(header);
        blocks.iter().for_each(|block| self.data.extend(block));
        Ok(())
    }

    /// The file, once its XML is complete but for the arrays.
    fn end(self) -> Vec<u8> {
        let mut bytes = self.text.into_bytes();
        bytes.extend(b"<AppendedData encoding=\"raw\">\n_");
        bytes.extend(self.data);
        bytes.extend(b"\n</AppendedData>\n</VTKFile>\n");
        bytes
    }
}

fn compressed(block: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let failed = |e: std::io::Error| Error::Numerical(format!("an array was not compressed: {e}"));
    encoder.write_all(block).map_err(failed)?;
    encoder.finish().map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::vti;

    /// The reader of masks takes the fields that a run has written.
    #[test]
    fn an_image_is_read_again() {
        let edges = |first: f64, cells: usize| -> Vec<f64> {
            (0..=cells).map(|k| first + 0.5 * k as f64).collect()
        };
        let [x, y, z] = [edges(-1.0, 80), edges(0.5, 70), edges(2.0, 60)];
        let gas: Vec<f64> = (0..80 * 70 * 60).map(|k| f64::from(k % 3 == 0)).collect();
        let volume = Volume {
            edges: [&x, &y, &z],
            scalars: vec![("density", vec![1.0; gas.len()]), ("gas", gas.clone())],
            vectors: vec![("velocity", vec![[0.5; 3]; gas.len()])],
        };
        let file = volume.image([0.5; 3]).expect("a file");
        let mask = vti::read(Path::new("flow.vti"), &file, Some("gas"), gas.len());
        let mask = mask.expect("a mask");
        assert_eq!((mask.count, mask.spacing), ([80, 70, 60], [0.5; 3]));
        assert_eq!(mask.corner, [-1.0, 0.5, 2.0]);
        assert!(
            mask.solid
                .iter()
                .zip(&gas)
                .all(|(solid, gas)| *solid == (*gas != 0.0))
        );
    }
}
