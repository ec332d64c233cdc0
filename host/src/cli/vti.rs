//! VTK's files of fields on cells: an image (.vti) and a rectilinear grid (.vtr), and of lines with values (.vtp), as ParaView and VisIt read them.

use std::fmt::{Display, Write};

/// Fields on a rectangle of cells. Values are `[iy][ix]`; a vector has its components in the third place.
pub(super) struct Image<'a> {
    pub(super) cells: [usize; 2],
    pub(super) origin: [f64; 2],
    pub(super) spacing: [f64; 2],
    pub(super) scalars: Vec<(&'a str, Vec<f64>)>,
    pub(super) vectors: Vec<(&'a str, Vec<[f64; 3]>)>,
}

impl Image<'_> {
    /// The file: XML with the numbers in it, which every reader takes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let [nx, ny] = self.cells;
        let [dx, dy] = self.spacing;
        let [x, y] = self.origin;
        let extent = format!("0 {nx} 0 {ny} 0 1");
        let mut text = head("ImageData");
        let _ = writeln!(
            text,
            "<ImageData WholeExtent=\"{extent}\" Origin=\"{x} {y} 0\" Spacing=\"{dx} {dy} {dx}\">\n\
             <Piece Extent=\"{extent}\">"
        );
        cell_data(&mut text, &self.scalars, &self.vectors);
        text.push_str("</Piece>\n</ImageData>\n</VTKFile>\n");
        text.into_bytes()
    }
}

/// Fields on cells whose widths differ. Values are as those of an image.
pub(super) struct Rectilinear<'a> {
    /// Edges of the cells along both axes.
    pub(super) edges: [&'a [f64]; 2],
    pub(super) scalars: Vec<(&'a str, Vec<f64>)>,
    pub(super) vectors: Vec<(&'a str, Vec<[f64; 3]>)>,
}

impl Rectilinear<'_> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let [x, y] = self.edges;
        let cells = [x, y].map(|edges| edges.len().saturating_sub(1));
        let extent = format!("0 {} 0 {} 0 1", cells[0], cells[1]);
        let thick = x.windows(2).map(|ends| ends[1] - ends[0]);
        let thick = thick.fold(f64::INFINITY, f64::min);
        let mut text = head("RectilinearGrid");
        let _ = writeln!(
            text,
            "<RectilinearGrid WholeExtent=\"{extent}\">\n<Piece Extent=\"{extent}\">"
        );
        cell_data(&mut text, &self.scalars, &self.vectors);
        text.push_str("<Coordinates>\n");
        for (name, edges) in [("x", x), ("y", y), ("z", &[0.0, thick])] {
            array(&mut text, ("Float64", name, 1), edges.iter().copied());
        }
        text.push_str("</Coordinates>\n</Piece>\n</RectilinearGrid>\n</VTKFile>\n");
        text.into_bytes()
    }
}

/// Straight pieces of lines, each with its values.
pub(super) struct Lines<'a> {
    pub(super) ends: Vec<[[f64; 2]; 2]>,
    pub(super) scalars: Vec<(&'a str, Vec<f64>)>,
    pub(super) vectors: Vec<(&'a str, Vec<[f64; 3]>)>,
}

impl Lines<'_> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let count = self.ends.len();
        let mut text = head("PolyData");
        let _ = writeln!(
            text,
            "<PolyData>\n<Piece NumberOfPoints=\"{}\" NumberOfVerts=\"0\" NumberOfLines=\"{count}\" NumberOfStrips=\"0\" NumberOfPolys=\"0\">",
            2 * count
        );
        cell_data(&mut text, &self.scalars, &self.vectors);
        text.push_str("<Points>\n");
        let points = self.ends.iter().flatten().flat_map(|[x, y]| [*x, *y, 0.0]);
        array(&mut text, ("Float64", "points", 3), points);
        text.push_str("</Points>\n<Lines>\n");
        array(&mut text, ("Int64", "connectivity", 1), 0..2 * count);
        array(
            &mut text,
            ("Int64", "offsets", 1),
            (1..=count).map(|k| 2 * k),
        );
        text.push_str("</Lines>\n</Piece>\n</PolyData>\n</VTKFile>\n");
        text.into_bytes()
    }
}

/// The beginning of a file of this kind.
fn head(kind: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"{kind}\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
    )
}

/// Values of the cells.
fn cell_data(text: &mut String, scalars: &[(&str, Vec<f64>)], vectors: &[(&str, Vec<[f64; 3]>)]) {
    text.push_str("<CellData>\n");
    for (name, values) in scalars {
        array(text, ("Float64", name, 1), values.iter().copied());
    }
    for (name, values) in vectors {
        array(text, ("Float64", name, 3), values.iter().flatten().copied());
    }
    text.push_str("</CellData>\n");
}

/// An array: its type, name, number of components and values.
fn array<T: Display>(
    text: &mut String,
    (of, name, components): (&str, &str, usize),
    values: impl Iterator<Item = T>,
) {
    let _ = writeln!(
        text,
        "<DataArray type=\"{of}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"ascii\">"
    );
    for (i, value) in values.enumerate() {
        let end = if (i + 1) % 6 == 0 { '\n' } else { ' ' };
        let _ = write!(text, "{value}{end}");
    }
    text.push_str("\n</DataArray>\n");
}

/// The collection of files with their times (.pvd), which ParaView opens as one series.
pub(super) fn collection(members: impl Iterator<Item = (f64, String)>) -> Vec<u8> {
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n<Collection>\n",
    );
    for (time, file) in members {
        let _ = writeln!(
            text,
            "<DataSet timestep=\"{time}\" part=\"0\" file=\"{file}\"/>"
        );
    }
    text.push_str("</Collection>\n</VTKFile>\n");
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_every_value_once() {
        let image = Image {
            cells: [2, 1],
            origin: [0.0, 0.5],
            spacing: [0.25, 1.0],
            scalars: vec![("density", vec![1.0, 1.5])],
            vectors: vec![("velocity", vec![[0.0, 1e-3, 0.0], [2.0, 0.0, 0.0]])],
        };
        let text = String::from_utf8(image.encode()).unwrap();
        assert!(text.contains("WholeExtent=\"0 2 0 1 0 1\" Origin=\"0 0.5 0\""));
        assert!(text.contains("\n1 1.5 \n</DataArray>"));
        assert!(text.contains("\n0 0.001 0 2 0 0\n"));
        let path = std::path::Path::new("flow.vti");
        let mask = crate::vti::read(path, text.as_bytes(), Some("density"), 2).expect("a mask");
        assert_eq!((mask.count, mask.corner), ([2, 1, 1], [0.0, 0.5, 0.0]));
        assert_eq!(mask.solid, [true; 2]);
    }

    #[test]
    fn cells_of_other_widths_have_their_edges() {
        let grid = Rectilinear {
            edges: [&[0.0, 1.0, 3.0], &[0.0, 0.5]],
            scalars: vec![("density", vec![1.0, 1.5])],
            vectors: vec![],
        };
        let text = String::from_utf8(grid.encode()).unwrap();
        assert!(text.contains("WholeExtent=\"0 2 0 1 0 1\""));
        assert!(text.contains("Name=\"x\" NumberOfComponents=\"1\" format=\"ascii\">\n0 1 3 \n"));
        assert!(text.contains("Name=\"z\" NumberOfComponents=\"1\" format=\"ascii\">\n0 1 \n"));
    }

    #[test]
    fn lines_have_two_points_each() {
        let lines = Lines {
            ends: vec![[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 2.0]]],
            scalars: vec![("heat", vec![3.0, 4.0])],
            vectors: vec![],
        };
        let text = String::from_utf8(lines.encode()).unwrap();
        assert!(text.contains("NumberOfPoints=\"4\"") && text.contains("NumberOfLines=\"2\""));
        assert!(text.contains("\n0 1 2 3 \n</DataArray>"));
        assert!(text.contains("\n2 4 \n</DataArray>"));
        assert!(text.contains("\n0 0 0 1 0 0\n1 0 0 1 2 0\n"));
    }
}
