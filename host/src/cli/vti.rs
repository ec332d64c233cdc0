//! VTK's file of fields on an image of cells (.vti), as ParaView and VisIt read it.

use std::fmt::Write;

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
        let mut text = format!(
            "<?xml version=\"1.0\"?>\n\
             <VTKFile type=\"ImageData\" version=\"0.1\" byte_order=\"LittleEndian\">\n\
             <ImageData WholeExtent=\"{extent}\" Origin=\"{x} {y} 0\" Spacing=\"{dx} {dy} {dx}\">\n\
             <Piece Extent=\"{extent}\">\n<CellData>\n"
        );
        let mut array = |name: &str, components: usize, values: &mut dyn Iterator<Item = f64>| {
            let _ = writeln!(
                text,
                "<DataArray type=\"Float64\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"ascii\">"
            );
            for (i, value) in values.enumerate() {
                let end = if (i + 1) % 6 == 0 { '\n' } else { ' ' };
                let _ = write!(text, "{value}{end}");
            }
            text.push_str("\n</DataArray>\n");
        };
        for (name, values) in &self.scalars {
            array(name, 1, &mut values.iter().copied());
        }
        for (name, values) in &self.vectors {
            array(name, 3, &mut values.iter().flatten().copied());
        }
        text.push_str("</CellData>\n</Piece>\n</ImageData>\n</VTKFile>\n");
        text.into_bytes()
    }
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
    }
}
