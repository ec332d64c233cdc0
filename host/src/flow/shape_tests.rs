//! Bodies from files and arrays beside the same bodies as shapes.

use super::*;

/// Stream of S = 1 without collisions past one body.
fn free(body: &str) -> Case {
    let text = format!(
        r#"
        gas = {{ delta = 1e-9 }}
        domain = {{ x = [-0.8, 0.8], y = [-0.8, 0.8], h = 0.05 }}
        velocities = {{ kind = "polar", angles = 48, speeds = 8 }}
        [sides]
        left = {{ kind = "stream", speed_ratio = 1 }}
        right = {{ kind = "stream", speed_ratio = 1 }}
        bottom = {{ kind = "stream", speed_ratio = 1 }}
        top = {{ kind = "stream", speed_ratio = 1 }}
        [[body]]
        {body}
        "#
    );
    toml::from_str(&text).expect("a case")
}

fn drag(case: &Case) -> f64 {
    let found = solve(case, &Machine::Cpu, &mut |_, _| true).expect("a flow");
    assert!(found.balance.mass.abs() < 1e-9, "{:?}", found.balance);
    found.bodies[0].drag_coefficient.expect("a stream")
}

fn with(shape: Shape) -> Case {
    let mut case = free("shape = \"circle\"\nradius = 0.5");
    case.bodies[0].shape = shape;
    case
}

/// Pixels of a disc of radius 1/2, `count` of them along each side of a square of length 1.2.
fn disc(count: usize) -> Vec<bool> {
    let spacing = 1.2 / count as f64;
    let place = |k: usize| spacing * (k as f64 + 0.5) - 0.6;
    let pixels = 0..count * count;
    pixels
        .map(|k| place(k % count).hypot(place(k / count)) < 0.5)
        .collect()
}

#[test]
fn a_disc_as_a_mask_has_the_drag_of_its_circle() {
    let exact = drag(&free("shape = \"circle\"\nradius = 0.5"));
    assert!((exact / 4.666193 - 1.0).abs() < 4e-3, "{exact}");
    // A tenth of a pixel of the radius, with 12, 25 and 50 pixels a diameter.
    for count in [15, 30, 60] {
        let bound = 0.1 * 1.2 / count as f64 / 0.5;
        let values = disc(count)
            .into_iter()
            .map(|solid| f64::from(u8::from(solid)));
        let samples = Samples::new(count, count, values.collect()).expect("samples");
        let raster = Raster::new(samples, [-0.6; 2], 1.2 / count as f64);
        let found = drag(&with(Shape::Mask(raster)));
        assert!(
            (found / exact - 1.0).abs() < bound,
            "{count}: {found} {exact}"
        );
    }
    // Bilinear distances are second order in their spacing.
    let count = 25;
    let place = |k: usize| 0.05 * k as f64 - 0.6;
    let values = (0..count * count).map(|k| place(k % count).hypot(place(k / count)) - 0.5);
    let samples = Samples::new(count, count, values.collect()).expect("samples");
    let found = drag(&with(Shape::Distance(Raster::new(
        samples, [-0.6; 2], 0.05,
    ))));
    assert!((found / exact - 1.0).abs() < 3e-3, "{found} {exact}");
}

#[test]
fn unions_and_differences_are_their_shapes() {
    let square = drag(&free("shape = \"rectangle\"\nsize = [1.0, 0.6]"));
    let halves = free(
        "shape = \"union\"
        of = [
            { shape = \"rectangle\", centre = [-0.3, 0.0], size = [0.4, 0.6] },
            { shape = \"rectangle\", centre = [0.1, 0.0], size = [0.8, 0.6] },
        ]",
    );
    let found = drag(&halves);
    assert!((found / square - 1.0).abs() < 1e-9, "{found} {square}");
    let cut = free(
        "shape = \"difference\"
        of = [
            { shape = \"rectangle\", size = [1.0, 1.0] },
            { shape = \"rectangle\", centre = [0.0, 0.8], size = [2.0, 1.0] },
            { shape = \"rectangle\", centre = [0.0, -0.8], size = [2.0, 1.0] },
        ]",
    );
    let found = drag(&cut);
    assert!((found / square - 1.0).abs() < 1e-9, "{found} {square}");
}

#[cfg(feature = "files")]
mod from_files {
    use std::fmt::Write;

    use std::path::Path;

    use super::*;
    use crate::flow::section::tests::cuboid;

    fn write(folder: &Path, name: &str, bytes: &[u8]) {
        std::fs::write(folder.join(name), bytes).expect("a file");
    }

    /// A .npy file of version 1.
    fn npy(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut head = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        while !(head.len() + 11).is_multiple_of(64) {
            head.push(' ');
        }
        head.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((head.len() as u16).to_le_bytes());
        bytes.extend(head.bytes());
        bytes.extend(data);
        bytes
    }

    fn stl(triangles: &[[[f32; 3]; 3]]) -> Vec<u8> {
        // A header that begins like that of the text form.
        let mut bytes = b"solid a box".to_vec();
        bytes.resize(80, b' ');
        bytes.extend((triangles.len() as u32).to_le_bytes());
        for triangle in triangles {
            bytes.extend([0; 12]);
            for x in triangle.iter().flatten() {
                bytes.extend(x.to_le_bytes());
            }
            bytes.extend([0; 2]);
        }
        bytes
    }

    fn ascii(triangles: &[[[f32; 3]; 3]]) -> String {
        let mut text = "solid\n".to_owned();
        for triangle in triangles {
            text.push_str("facet normal 0 0 0\n outer loop\n");
            for [x, y, z] in triangle {
                writeln!(text, "  vertex {x} {y} {z}").expect("a line");
            }
            text.push_str(" endloop\nendfacet\n");
        }
        text + "endsolid\n"
    }

    fn resolved(folder: &Path, body: &str) -> Result<Case> {
        let mut case = free(body);
        case.relative_to(folder);
        case.resolve()
    }

    #[test]
    fn files_hold_the_bodies_of_their_arrays() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let count = 30;
        let pixels = disc(count);
        let bytes: Vec<u8> = pixels.iter().map(|solid| u8::from(*solid)).collect();
        write(folder, "mask.npy", &npy("|b1", "(30, 30)", &bytes));
        let mut image = Vec::new();
        let mut encoder = png::Encoder::new(&mut image, 30, 30);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().expect("a header");
        // An image begins at its upper row, and the solid is dark.
        let rows = bytes.chunks_exact(30).rev().flatten();
        let grey: Vec<u8> = rows.map(|solid| 255 - 155 * solid).collect();
        writer.write_image_data(&grey).expect("an image");
        writer.finish().expect("an image");
        write(folder, "mask.png", &image);
        let level = |body: &str| {
            let case = resolved(folder, body).expect("a case");
            match &case.bodies[0].shape {
                Shape::Mask(raster) | Shape::Distance(raster) => raster.level.clone(),
                other => panic!("{other:?}"),
            }
        };
        let place = "origin = [-0.6, -0.6]\nspacing = 0.04";
        let array = level(&format!("shape = \"mask\"\nfile = \"mask.npy\"\n{place}"));
        let image = level(&format!("shape = \"mask\"\nfile = \"mask.png\"\n{place}"));
        assert!(array.is_some() && array == image);
        // One layer of cells of an image of VTK has its place.
        let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
        let layer = format!(
            "<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 30 0 30 0 0\" Origin=\"-0.6 -0.6 0\" Spacing=\"0.04 0.04 1\"><Piece Extent=\"0 30 0 30 0 0\">\
             <CellData><DataArray type=\"UInt8\" Name=\"mask\" format=\"ascii\">{}</DataArray></CellData></Piece></ImageData></VTKFile>",
            numbers.join(" ")
        );
        write(folder, "mask.vti", layer.as_bytes());
        assert!(array == level("shape = \"mask\"\nfile = \"mask.vti\""));
        let halves = layer.replace("0 30 0 30 0 0", "0 30 0 15 0 2");
        write(folder, "layers.vti", halves.as_bytes());
        let error = resolved(folder, "shape = \"mask\"\nfile = \"layers.vti\"");
        let error = error.expect_err("two layers").to_string();
        assert!(
            error.ends_with(
                "layers.vti: an image of 2 layers along z; one is needed in a plane (ParaView: Extract Subset)"
            ),
            "{error}"
        );
        let error = resolved(folder, "shape = \"mask\"\nfile = \"mask.npy\"");
        let error = error.expect_err("no width").to_string();
        assert!(
            error.ends_with(
                "spacing: none; expected the distance of samples, which only a .vti file has"
            ),
            "{error}"
        );
        let wall: Vec<u8> = [1.0f64, -1.0, 2.0, -2.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        write(folder, "distance.npy", &npy("<f8", "(2, 2)", &wall));
        let found =
            level("shape = \"distance\"\nfile = \"distance.npy\"\norigin = [-1, -1]\nspacing = 2");
        assert_eq!(found.expect("a wall").distance([0.0, 0.0]), 0.0);

        write(
            folder,
            "pores.csv",
            b"x, y, radius\n0.1, 0.2, 0.3\n\n# one more\n-0.1,0,0.2\n",
        );
        let case = resolved(folder, "shape = \"circles\"\nfile = \"pores.csv\"").expect("a case");
        assert_eq!(case.bodies[0].outlines().len(), 2);
        assert_eq!(case.files(), [folder.join("pores.csv")]);
    }

    #[test]
    fn sections_of_surfaces_are_their_rectangles() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let surface = cuboid([-50.0, -30.0, 0.0], [50.0, 30.0, 7.0]);
        write(folder, "box.stl", &stl(&surface));
        write(folder, "text.stl", ascii(&surface).as_bytes());
        let exact = drag(&free("shape = \"rectangle\"\nsize = [1.0, 0.6]"));
        for name in ["box.stl", "text.stl"] {
            let body = format!("shape = \"outline\"\nfile = \"{name}\"\nscale = 0.01");
            let case = resolved(folder, &body).expect("a case");
            let found = drag(&case);
            assert!(
                (found / exact - 1.0).abs() < 1e-9,
                "{name}: {found} {exact}"
            );
        }
    }

    #[test]
    fn files_that_hold_no_body_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let mut surface = cuboid([-50.0, -30.0, 0.0], [50.0, 30.0, 7.0]);
        surface.pop();
        write(folder, "open.stl", &stl(&surface));
        write(folder, "short.stl", &stl(&surface)[..200]);
        write(folder, "cube.npy", &npy("|u1", "(2, 2, 2)", &[0; 8]));
        write(folder, "numbers.npy", &npy("<f8", "(2, 2)", &[0; 32]));
        write(folder, "gas.npy", &npy("|u1", "(2, 3)", &[0; 6]));
        write(folder, "pores.csv", b"x,y,radius\n1,2\n");
        write(folder, "broken.png", b"\x89PNG\r\n\x1a\nabc");
        for (body, line) in [
            (
                "outline\"\nfile = \"open.stl",
                "open.stl: the surface is not closed: the edge from (50, -30, 7) to (50, 30, 7) belongs to one triangle",
            ),
            (
                "outline\"\nfile = \"short.stl",
                "short.stl: the STL file cannot be read",
            ),
            ("outline\"\nfile = \"none.stl", "none.stl: "),
            (
                "mask\"\nspacing = 1\nfile = \"cube.npy",
                "cube.npy: has the shape (2, 2, 2); two dimensions are needed",
            ),
            (
                "mask\"\nspacing = 1\nfile = \"numbers.npy",
                "numbers.npy: holds float64; bool or uint8 is needed",
            ),
            (
                "mask\"\nspacing = 1\nfile = \"gas.npy",
                "body 1: mask: [2][3] samples, all gas; expected some that are true",
            ),
            (
                "mask\"\nspacing = 1\nfile = \"broken.png",
                "broken.png: the image cannot be read",
            ),
            (
                "mask\"\nspacing = 0\nfile = \"gas.npy",
                "body 1: spacing: 0; expected a positive number",
            ),
            (
                "distance\"\nspacing = 1\nfile = \"gas.npy",
                "gas.npy: holds uint8; float32 or float64 is needed",
            ),
            (
                "circles\"\nfile = \"pores.csv",
                "pores.csv: line 2: 1, 2; expected three numbers",
            ),
            (
                "mask\"\nspacing = 1\n#\"",
                "body 1: file: none; expected a file",
            ),
        ] {
            let error = resolved(folder, &format!("shape = \"{body}\"")).expect_err(body);
            assert!(error.to_string().contains(line), "{body}: {error}");
        }
    }
}
