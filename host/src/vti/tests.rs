//! Files of VTK 9.7 in `tests/data/flow`, files of all codings, and files that are wrong.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::*;

const MOST: usize = 1 << 20;

fn data(name: &str) -> PathBuf {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    Path::new(&root).join("tests/data/flow").join(name)
}

fn mask_of(bytes: &[u8], array: Option<&str>) -> Result<Mask> {
    read(Path::new("mask.vti"), bytes, array, MOST)
}

/// The line about a file that is refused.
fn refusal(bytes: &[u8], array: Option<&str>) -> String {
    match mask_of(bytes, array) {
        Ok(mask) => panic!("{:?} voxels", mask.count),
        Err(error) => error.to_string(),
    }
}

#[test]
fn files_of_vtk_have_the_mask_of_the_array_file() {
    // Its bytes follow a header.
    let array = std::fs::read(data("ball.npy")).expect("a file");
    let count = [8, 7, 6];
    let values = array.last_chunk::<{ 8 * 7 * 6 }>().expect("values");
    let solid = values.map(|value| value != 0);
    for (name, array) in [
        ("ascii.vti", None),
        ("binary-zlib.vti", None),
        ("appended-base64.vti", None),
        ("appended-raw-zlib.vti", Some("mask")),
    ] {
        let bytes = std::fs::read(data(name)).expect("a file");
        let mask = mask_of(&bytes, array).expect(name);
        assert_eq!(mask.count, count, "{name}");
        assert_eq!(mask.corner, [-0.5, -0.4375, -0.375], "{name}");
        assert_eq!(mask.spacing, [0.125; 3], "{name}");
        assert!(mask.solid == solid, "{name}");
    }
}

/// Numbers in a coding of the format.
#[derive(Clone, Copy, Debug)]
struct Written {
    kind: &'static str,
    format: &'static str,
    raw: bool,
    big: bool,
    wide: bool,
    /// Bytes of a block of zlib.
    block: Option<usize>,
    /// Header and data are one stream of base64.
    one_stream: bool,
}

impl Written {
    fn bytes(&self, value: f64) -> Vec<u8> {
        let mut bytes = match self.kind {
            "Int8" => (value as i8).to_le_bytes().to_vec(),
            "UInt8" => (value as u8).to_le_bytes().to_vec(),
            "Int16" => (value as i16).to_le_bytes().to_vec(),
            "UInt16" => (value as u16).to_le_bytes().to_vec(),
            "Int32" => (value as i32).to_le_bytes().to_vec(),
            "UInt32" => (value as u32).to_le_bytes().to_vec(),
            "Int64" => (value as i64).to_le_bytes().to_vec(),
            "UInt64" => (value as u64).to_le_bytes().to_vec(),
            "Float32" => (value as f32).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        };
        if self.big {
            bytes.reverse();
        }
        bytes
    }

    fn header(&self, numbers: &[usize]) -> Vec<u8> {
        let number = |number: &usize| {
            let mut bytes =
                (*number as u64).to_le_bytes()[..if self.wide { 8 } else { 4 }].to_vec();
            if self.big {
                bytes.reverse();
            }
            bytes
        };
        numbers.iter().flat_map(number).collect()
    }

    /// An image of these values, 3 x 2 x 2 cells.
    fn file(&self, values: &[f64]) -> Vec<u8> {
        let all: Vec<u8> = values.iter().flat_map(|value| self.bytes(*value)).collect();
        let (header, body) = match self.block {
            None => (self.header(&[all.len()]), all),
            Some(size) => {
                let blocks = all.chunks(size).map(|block| {
                    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                    encoder.write_all(block).expect("bytes");
                    encoder.finish().expect("bytes")
                });
                let blocks: Vec<Vec<u8>> = blocks.collect();
                let mut numbers = vec![blocks.len(), size, all.len() % size];
                numbers.extend(blocks.iter().map(Vec::len));
                (self.header(&numbers), blocks.concat())
            }
        };
        let base64 = match self.one_stream {
            true => STANDARD.encode([&header[..], &body].concat()),
            false => STANDARD.encode(&header) + "\n " + &STANDARD.encode(&body),
        };
        let text = match self.format {
            "ascii" => values.iter().map(|value| format!("{value} ")).collect(),
            "binary" => base64.clone(),
            _ => String::new(),
        };
        let order = if self.big {
            "BigEndian"
        } else {
            "LittleEndian"
        };
        let header_type = if self.wide { "UInt64" } else { "UInt32" };
        let compressor = match self.block {
            Some(_) => " compressor=\"vtkZLibDataCompressor\"",
            None => "",
        };
        let (kind, format) = (self.kind, self.format);
        let mut file = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" byte_order=\"{order}\" header_type=\"{header_type}\"{compressor}>\n\
             <ImageData WholeExtent=\"0 3 0 2 0 2\" Origin=\"0 1 2\" Spacing=\"1 1 1\">\n<Piece Extent=\"0 3 0 2 0 2\">\n\
             <CellData><DataArray type=\"{kind}\" Name=\"m\" format=\"{format}\" offset=\"0\"> <InformationKey name=\"a\">7</InformationKey>\n{text}\n</DataArray></CellData>\n\
             </Piece>\n</ImageData>\n"
        )
        .into_bytes();
        if self.format == "appended" {
            let encoding = if self.raw { "raw" } else { "base64" };
            file.extend(format!("<AppendedData encoding=\"{encoding}\">\n_").bytes());
            match self.raw {
                true => file.extend([header, body].concat()),
                false => file.extend(base64.bytes()),
            }
            file.extend(b"\n</AppendedData>\n");
        }
        file.extend(b"</VTKFile>\n");
        file
    }
}

const KINDS: [&str; 10] = [
    "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float32", "Float64",
];
const VALUES: [f64; 12] = [0., 1., 0., 0., 100., 0., -0., 3., 0., 1., 1., 0.];

/// All codings of the format.
fn codings() -> Vec<Written> {
    let mut all = Vec::new();
    for kind in KINDS {
        for (format, raw) in [
            ("ascii", false),
            ("binary", false),
            ("appended", false),
            ("appended", true),
        ] {
            for k in 0..24 {
                let [big, wide, one_stream] = [k & 1, k & 2, k & 4].map(|bit| bit != 0);
                all.push(Written {
                    kind,
                    format,
                    raw,
                    big,
                    wide,
                    block: [None, Some(10), Some(16)][k / 8],
                    one_stream,
                });
            }
        }
    }
    all
}

#[test]
fn every_coding_of_every_type_has_the_same_mask() {
    let solid = VALUES.map(|value| value != 0.0);
    for written in codings() {
        let mask = mask_of(&written.file(&VALUES), None);
        let mask = mask.unwrap_or_else(|error| panic!("{written:?}: {error}"));
        assert_eq!(mask.solid, solid, "{written:?}");
        assert_eq!((mask.count, mask.corner), ([3, 2, 2], [0.0, 1.0, 2.0]));
    }
    // No bit of 256 is in its last byte.
    let mut values = VALUES;
    values[3] = 256.0;
    for kind in ["Int16", "Float64"] {
        let written = Written { kind, ..PLAIN };
        assert!(mask_of(&written.file(&values), None).expect("a mask").solid[3]);
    }
}

const PLAIN: Written = Written {
    kind: "Float32",
    format: "binary",
    raw: false,
    big: false,
    wide: false,
    block: None,
    one_stream: true,
};

/// A file that is cut anywhere has no mask, whatever is left of it.
#[test]
fn cut_files_are_refused() {
    for written in codings().into_iter().step_by(7) {
        let file = written.file(&VALUES);
        let end = file.len() - "</AppendedData>\n</VTKFile>\n".len();
        for cut in 0..end {
            refusal(&file[..cut], None);
        }
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    for (value, shown) in [(f64::NAN, "NaN"), (f64::NEG_INFINITY, "-inf")] {
        let mut values = VALUES;
        values[7] = value;
        for written in codings() {
            if written.kind.starts_with('F') {
                let line = refusal(&written.file(&values), None);
                let expected = format!(
                    "mask.vti: the array 'm' has {shown} as value 7; finite numbers are needed"
                );
                assert_eq!(line, expected, "{written:?}");
            }
        }
    }
}

/// Changes of a good file, and the lines about them.
#[test]
fn wrong_files_are_refused_in_one_line() {
    let ascii = Written {
        format: "ascii",
        kind: "UInt8",
        ..PLAIN
    };
    let numbers = "0 1 0 0 100 0 0 3 0 1 1 0";
    let ascii = String::from_utf8(ascii.file(&VALUES)).expect("a text");
    let ascii = ascii.replace("-0 ", "0 ");
    let binary = String::from_utf8(PLAIN.file(&VALUES)).expect("a text");
    let zlib = Written {
        block: Some(16),
        ..PLAIN
    };
    let zlib = String::from_utf8(zlib.file(&VALUES)).expect("a text");
    let wide = Written {
        wide: true,
        block: Some(16),
        one_stream: false,
        ..PLAIN
    };
    let header = |numbers: &[usize]| STANDARD.encode(wide.header(numbers));
    let wide_file = String::from_utf8(wide.file(&VALUES)).expect("a text");
    let start = header(&[3, 16, 0]);
    let forged = header(&[1, 1 << 60, 1 << 62]);
    for (file, from, to, line) in [
        (
            &ascii,
            "<?xml version=\"1.0\"?>\n<VTKFile",
            "# vtk DataFile Version 3.0\n<VTKFile",
            "a legacy file of VTK; a .vti file is needed",
        ),
        (
            &ascii,
            "<?xml",
            "GIF89a",
            "not an image file of VTK: it does not begin as XML",
        ),
        (
            &ascii,
            "VTKFile",
            "svg",
            "the XML of another format, <svg>; <VTKFile> is needed",
        ),
        (
            &ascii,
            "type=\"ImageData\"",
            "type=\"PImageData\"",
            "a list of other files (PImageData); an ImageData is needed",
        ),
        (
            &ascii,
            "type=\"ImageData\"",
            "type=\"UnstructuredGrid\"",
            "the file has the type 'UnstructuredGrid'; ImageData is needed",
        ),
        (
            &ascii,
            "?>\n<VTKFile",
            "?>\n<!DOCTYPE a [<!ENTITY b SYSTEM \"/etc/passwd\">]>\n<VTKFile",
            "the XML has a DOCTYPE; a file of VTK has none",
        ),
        (
            &ascii,
            numbers,
            "&b;",
            "an array has an entity of XML; numbers or base64 are needed",
        ),
        (
            &ascii,
            "</Piece>",
            "</Part>",
            "the XML cannot be read at byte",
        ),
        (
            &ascii,
            "LittleEndian",
            "Middle",
            "byte_order is 'Middle'; LittleEndian or BigEndian is needed",
        ),
        (
            &ascii,
            "UInt32",
            "UInt16",
            "header_type is 'UInt16'; UInt32 or UInt64 is needed",
        ),
        (
            &zlib,
            "vtkZLibDataCompressor",
            "vtkLZ4DataCompressor",
            "the arrays are compressed by vtkLZ4DataCompressor; vtkZLibDataCompressor or none is needed",
        ),
        (
            &ascii,
            "WholeExtent",
            "Extents",
            "the image has no WholeExtent",
        ),
        (
            &ascii,
            "WholeExtent=\"0 3 0 2 0 2\"",
            "WholeExtent=\"0 3 0 2\"",
            "WholeExtent is '0 3 0 2'; 6 numbers are needed",
        ),
        (
            &ascii,
            "WholeExtent=\"0 3 0 2 0 2\"",
            "WholeExtent=\"3 0 0 2 0 2\"",
            "an extent goes from 3 to 0; a greater end is needed",
        ),
        (
            &ascii,
            "0 3 0 2 0 2",
            "0 9223372036854775807 -9223372036854775807 2 0 2",
            "an extent goes from -9223372036854775807 to 2; a greater end is needed",
        ),
        (
            &ascii,
            "0 3 0 2 0 2",
            "0 4000000000 0 4000000000 0 4000000000",
            "the image has 4000000000 x 4000000000 x 4000000000 voxels; at most 1048576 are read",
        ),
        (
            &binary,
            "0 3 0 2 0 2",
            "0 64 0 64 0 64",
            "the array 'm' announces 48 bytes, where its type and extent need 1048576",
        ),
        (
            &ascii,
            "0 3 0 2 0 2",
            "0 3 0 2 0 3",
            "the array 'm' has 12 of 18 numbers",
        ),
        (
            &ascii,
            "0 3 0 2 0 2",
            "0 2 0 2 0 2",
            "the array 'm' has more than 8 numbers",
        ),
        (
            &ascii,
            "100",
            "1OO",
            "the array 'm' has '1OO' as value 4; a number is needed",
        ),
        (
            &ascii,
            "Spacing=\"1 1 1\"",
            "Spacing=\"1 0 1\"",
            "Spacing has 0; positive numbers are needed",
        ),
        (
            &ascii,
            "Spacing=\"1 1 1\"",
            "Spacing=\"1 nan 1\"",
            "Spacing has NaN; positive numbers are needed",
        ),
        (
            &ascii,
            "Origin=\"0 1 2\"",
            "Origin=\"0 inf 2\"",
            "Origin puts the image at inf; finite numbers are needed",
        ),
        (
            &ascii,
            "Origin=",
            "Direction=\"0 1 0 -1 0 0 0 0 1\" Origin=",
            "the image is turned, its Direction is [0.0, 1.0, 0.0, -1.0",
        ),
        (
            &ascii,
            "\"UInt8\"",
            "\"String\"",
            "the array 'm' has the type 'String'; Int8 to Int64",
        ),
        (
            &ascii,
            "Name=\"m\"",
            "Name=\"m\" NumberOfComponents=\"3\"",
            "the array 'm' has 3 components; one number a voxel is needed",
        ),
        (
            &ascii,
            "\"ascii\"",
            "\"hex\"",
            "the array 'm' has the format 'hex'; ascii, binary or appended is needed",
        ),
        (
            &ascii,
            "\"ascii\"",
            "\"appended\"",
            "the array 'm' is appended, but the file has no <AppendedData>",
        ),
        (
            &ascii,
            "offset=\"0\"",
            "offset=\"-1\"",
            "an offset of an array is no number",
        ),
        (
            &ascii,
            "DataArray",
            "Array",
            "the image has no array of cells or points",
        ),
        (&ascii, "Piece", "Part", "the file has no <Piece>"),
        (
            &ascii,
            "<Piece Extent=\"0 3",
            "<Piece Extent=\"0 2",
            "the array 'm' has more than 8 numbers",
        ),
        (&binary, "AAIA/", "AA*A/", "the array 'm' is no base64"),
        (
            &wide_file,
            &start,
            &forged,
            "the array 'm' announces 4611686018427387904 bytes, where its type and extent need 48",
        ),
        (
            &wide_file,
            &start,
            &header(&[1 << 60, 0, 48]),
            "the array 'm' is cut short within the sizes of its 1152921504606846976 blocks",
        ),
    ] {
        assert!(file.contains(from), "{from}");
        let line_found = refusal(file.replace(from, to).as_bytes(), None);
        let start = format!("mask.vti: {line}");
        assert!(line_found.starts_with(&start), "{line_found}\n{start}");
        assert!(!line_found.contains('\n'), "{line_found}");
    }
}

#[test]
fn damaged_blocks_are_refused() {
    let written = Written {
        format: "appended",
        raw: true,
        block: Some(16),
        ..PLAIN
    };
    let file = written.file(&VALUES);
    let at = memchr::memmem::rfind(&file, b"\x78\x01").expect("the last block");
    let mut damaged = file.clone();
    damaged[at] ^= 0xff;
    assert_eq!(
        refusal(&damaged, None),
        "mask.vti: the array 'm' has a damaged block 3: 0 of 16 bytes come out of zlib"
    );
}

#[test]
fn arrays_are_chosen_by_their_names() {
    let bytes = std::fs::read(data("appended-raw-zlib.vti")).expect("a file");
    assert_eq!(
        refusal(&bytes, None),
        "mask.vti: the image has the arrays 'colour', 'pores', 'mask'; the key array names the one of the mask"
    );
    assert_eq!(
        refusal(&bytes, Some("solid")),
        "mask.vti: the image has no array 'solid'; it has 'colour', 'pores', 'mask'"
    );
    assert_eq!(
        refusal(&bytes, Some("colour")),
        "mask.vti: the array 'colour' has 3 components; one number a voxel is needed"
    );
    let [mask, pores] = ["mask", "pores"].map(|name| mask_of(&bytes, Some(name)).expect(name));
    assert!(mask.solid.iter().zip(&pores.solid).all(|(a, b)| a != b));
}

/// An image of two pieces with these extents and numbers.
fn pieces(of: [(&str, &str); 2], points: bool) -> Vec<u8> {
    let kind = if points { "PointData" } else { "CellData" };
    let parts = of.map(|(extent, numbers)| {
        format!(
            "<Piece Extent=\"{extent}\"><{kind}><DataArray type=\"UInt8\" Name=\"m\" format=\"ascii\">{numbers}</DataArray></{kind}></Piece>"
        )
    });
    format!(
        "<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"1 4 0 2 0 1\">{}</ImageData></VTKFile>",
        parts.concat()
    )
    .into_bytes()
}

#[test]
fn pieces_make_the_image_if_they_fill_it() {
    let solid = |bytes: &[u8]| {
        let mask = mask_of(bytes, None).expect("a mask");
        mask.solid
            .iter()
            .map(|solid| u8::from(*solid))
            .collect::<Vec<_>>()
    };
    let cells = pieces([("2 4 0 2 0 1", "1 0 0 1"), ("1 2 0 2 0 1", "0 1")], false);
    assert_eq!(solid(&cells), [0, 1, 0, 1, 0, 1]);
    // The points of their common face are in both.
    let of_points = [
        ("1 2 0 2 0 1", "0 1 0 0 0 0 1 1 0 0 0 0"),
        ("2 4 0 2 0 1", "1 0 1 0 0 0 0 0 0 1 0 0 0 0 0 0 0 1"),
    ];
    let found = mask_of(&pieces(of_points, true), None).expect("a mask");
    assert_eq!((found.count, found.corner), ([4, 3, 2], [0.5, -0.5, -0.5]));
    let ones: Vec<usize> = (0..24).filter(|k| found.solid[*k]).collect();
    assert_eq!(ones, [1, 3, 12, 13, 23]);
    for (parts, line) in [
        (
            [("1 2 0 2 0 1", "0 1"), ("2 3 0 2 0 1", "0 1")],
            "the pieces have 4 of the 6 voxels of the image; pieces that fill it are needed",
        ),
        (
            [("1 3 0 2 0 1", "0 1 1 1"), ("1 3 0 2 0 1", "0 1 1 1")],
            "the pieces have 4 of the 6 voxels of the image; pieces that fill it are needed",
        ),
        (
            [("1 3 0 2 0 1", "0 1 1 1"), ("3 5 0 2 0 1", "0 1 1 1")],
            "the Extent of a piece lies outside of the WholeExtent",
        ),
        (
            [("1 3 0 2 0 1", "0 1 1 1"), ("0 99 0 2 0 1", "0 1")],
            "the Extent of a piece exceeds the WholeExtent",
        ),
    ] {
        let found = refusal(&pieces(parts, false), None);
        assert_eq!(found, format!("mask.vti: {line}"));
    }
}
