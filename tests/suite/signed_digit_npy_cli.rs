//! Types and headers of .npy files that `rarefy sum` and `rarefy dot` read.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::command::{self, data, doubles, npy, printed, text};

#[track_caller]
fn printed_text(folder: &Path, line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    text(&command::done(folder, &words).stdout)
        .trim_end()
        .to_owned()
}

#[track_caller]
fn refused(folder: &Path, line: &str, why: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    command::refused(folder, &words, why);
}

fn folder_of(files: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn halves(bits: &[u16]) -> Vec<u8> {
    bits.iter().flat_map(|bits| bits.to_le_bytes()).collect()
}

/// Values of IEEE 754's half precision and of bfloat16 from their definitions: sign, exponent and fraction.
#[test]
fn short_floats_are_summed_exactly() {
    // 1, the largest and the smallest number, -2, and of bfloat16 1, 2^127, 2^-133, -2.
    let half = halves(&[0x3c00, 0x7bff, 0x0001, 0xc000]);
    let brain = halves(&[0x3f80, 0x7f00, 0x0001, 0xc000]);
    let swapped: Vec<u8> = half.chunks(2).flat_map(|b| [b[1], b[0]]).collect();
    let folder = folder_of(&[
        ("half.npy", npy("<f2", false, "(4,)", &half)),
        ("swapped.npy", npy(">f2", false, "(2, 2)", &swapped)),
        // The descriptor that numpy.save writes for a type of ml_dtypes.
        ("brain.npy", npy("<V2", false, "(4,)", &brain)),
        (
            "infinite.npy",
            npy("<f2", false, "(2,)", halves(&[0x7c00, 0x3c00])),
        ),
        ("nan.npy", npy("<V2", false, "(1,)", halves(&[0x7fc1]))),
    ]);
    let folder = folder.path();
    let exact = "65503.000000059604644775390625";
    for name in ["half.npy", "swapped.npy"] {
        let line = format!("sum {name} --exact");
        assert_eq!(
            printed_text(folder, &line),
            format!("65503.000000059605\n{exact}")
        );
    }
    // 1 - 2 + 2^127 + 2^-133
    let sum = printed(folder, "sum brain.npy");
    assert_eq!(sum["value"], 2f64.powi(127));
    assert_eq!(sum["elements"][0], "bfloat16");
    let digits = sum["exact"].as_str().unwrap();
    assert!(
        digits.starts_with("170141183460469231731687303715884105727.0000"),
        "{digits}"
    );
    // 1 + 65504 2^127 + 2^-157 + 4
    assert_eq!(
        printed(folder, "dot half.npy brain.npy")["value"],
        65504.0 * 2f64.powi(127)
    );
    assert_eq!(printed_text(folder, "sum infinite.npy"), "inf");
    assert_eq!(printed_text(folder, "sum nan.npy"), "nan");
    assert_eq!(
        printed_text(folder, "sum half.npy --cumulative --round f32"),
        "1.0\n65505.0\n65505.0\n65503.0"
    );
}

#[test]
fn truths_are_counted() {
    let folder = folder_of(&[
        ("truths.npy", npy("|b1", false, "(5,)", [1, 0, 1, 1, 0])),
        (
            "i4.npy",
            npy("<i4", false, "(5,)", [[7, 0, 0, 0]; 5].concat()),
        ),
        ("wrong.npy", npy("|b1", false, "(3,)", [1, 0, 2])),
    ]);
    let folder = folder.path();
    assert_eq!(printed_text(folder, "sum truths.npy"), "3");
    assert_eq!(printed_text(folder, "sum truths.npy --mean"), "0.6");
    assert_eq!(printed_text(folder, "dot truths.npy i4.npy"), "21");
    refused(
        folder,
        "sum wrong.npy",
        "wrong.npy: holds bool, whose bytes are 0 or 1; byte 2 is 2",
    );
}

#[test]
fn complex_numbers_have_two_parts() {
    let folder = folder_of(&[
        (
            "x.npy",
            npy(
                "<c16",
                false,
                "(3,)",
                doubles(&[1e16, 1.0, 1.0, -3.0, -1e16, 2.5]),
            ),
        ),
        (
            "y.npy",
            npy(
                "<c16",
                false,
                "(3,)",
                doubles(&[2.0, 0.0, 0.0, 1.0, 2.0, 0.5]),
            ),
        ),
        (
            "single.npy",
            npy(
                ">c8",
                false,
                "(2,)",
                [1.5_f32, -2.0, 0.25, 4.0].map(f32::to_be_bytes).concat(),
            ),
        ),
        (
            "real.npy",
            npy("<f8", false, "(3,)", doubles(&[1.0, 2.0, 1.0])),
        ),
        ("none.npy", npy("<c16", false, "(0,)", [])),
    ]);
    let folder = folder.path();
    assert_eq!(printed_text(folder, "sum x.npy"), "1.0 0.5");
    assert_eq!(printed_text(folder, "sum none.npy"), "0.0 0.0");
    assert_eq!(
        printed_text(folder, "sum single.npy --exact --backend emulator"),
        "1.75 2.0\n1.75 2"
    );
    assert_eq!(printed_text(folder, "sum single.npy --mean"), "0.875 1.0");
    assert_eq!(
        printed_text(folder, "sum x.npy --round 3"),
        "1.000 0.500\n1 0.5"
    );
    // |1.5 - 2i|^2 + |0.25 + 4i|^2 = 22.3125
    assert_eq!(
        printed_text(folder, "sum single.npy --norm"),
        "4.723610906922796"
    );
    // x_1 y_1 = 2e16 + 2i, x_2 y_2 = 3 + i, x_3 y_3 = -2e16 - 1.25 + (5 - 5e15)i
    assert_eq!(
        printed_text(folder, "dot x.npy y.npy"),
        "1.75 -4999999999999992.0"
    );
    // With conjugates of x: 2e16 - 2i, -3 + i, -2e16 + 1.25 - (5 + 5e15)i
    assert_eq!(
        printed_text(folder, "dot x.npy y.npy --conjugate"),
        "-1.75 -5000000000000006.0"
    );
    // 1e16 + i + 2 - 6i - 1e16 + 2.5i, whichever factor is real
    for line in ["dot x.npy real.npy", "dot real.npy x.npy"] {
        assert_eq!(printed_text(folder, line), "2.0 -2.5");
    }
    let record = printed(folder, "dot x.npy y.npy");
    assert_eq!(
        record["value"],
        serde_json::json!([1.75, -4999999999999992.0])
    );
    assert_eq!(record["count"], 3);
    printed_text(folder, "sum x.npy --output sum.npy");
    assert_eq!(data(&folder.join("sum.npy")), [1.0, 0.5]);
    refused(
        folder,
        "sum x.npy --abs",
        "f.real and f.imag are two arrays",
    );
    refused(
        folder,
        "sum x.npy --axis 0",
        "f.real and f.imag are two arrays",
    );
    refused(
        folder,
        "sum x.npy --mean --weights real.npy",
        "--weights: complex numbers",
    );
    refused(
        folder,
        "dot real.npy real.npy --conjugate",
        "--conjugate has no effect",
    );
}

/// Headers that NumPy 2.4 reads, and one with bytes 0 as its padding.
#[test]
fn headers_are_read_as_numpy_reads_them() {
    let long = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }}{}",
        " ".repeat(8000)
    );
    let good = [
        (
            1,
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2L,), }\n",
        ),
        (
            2,
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2 L,), }\n",
        ),
        (
            1,
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
        ),
        (
            3,
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\0\0\0",
        ),
        (
            1,
            " \n{'descr':\n'<f8',\r\n\t'fortran_order':False,'shape':(2,)}\n",
        ),
        (
            3,
            "{\"shape\":(2,),\"descr\":\"<f8\",\"fortran_order\":False}\n",
        ),
        (
            1,
            "{u'descr': u'<f8', 'fortran_order': False, 'shape': (2,), } # of Python 2\n",
        ),
        (
            1,
            "{'descr': 'float64', 'fortran_order': False, 'shape': (2,), }\n",
        ),
        (
            2,
            "{'descr': '=f8', 'fortran_order': False, 'shape': (2,), }\n",
        ),
        (
            2,
            "{'descr': 'd', 'fortran_order': False, 'shape': (2,), }\n",
        ),
        (1, long.as_str()),
    ];
    let bad = [
        (
            3,
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2L,), }\n",
        ),
        (
            1,
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2), }\n",
        ),
        (1, "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,), }\n"),
        (
            1,
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}\n",
        ),
        (
            1,
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,), }\n",
        ),
        (
            1,
            "{'descr: '<f8', 'fortran_order': False, 'shape': (2,), }\n",
        ),
    ];
    let file = |(version, header): (u8, &str)| {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        let size = (header.len() as u32).to_le_bytes();
        bytes.extend(if version == 1 { &size[..2] } else { &size[..] });
        bytes.extend(header.as_bytes());
        bytes.extend(doubles(&[1.5, 0.25]));
        bytes
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    for header in good {
        fs::write(&path, file(header)).unwrap();
        assert_eq!(
            printed_text(folder.path(), "sum x.npy"),
            "1.75",
            "{header:?}"
        );
    }
    for header in bad {
        fs::write(&path, file(header)).unwrap();
        refused(
            folder.path(),
            "sum x.npy",
            "x.npy: the header of this .npy file cannot be read",
        );
    }
}

/// A transform of two numbers: half their sum and half their difference.
#[test]
fn transforms_read_short_floats() {
    let folder = folder_of(&[
        (
            "half.npy",
            npy("<f2", false, "(2,)", halves(&[0x3c00, 0x4200])),
        ),
        (
            "brain.npy",
            npy("<V2", false, "(2L,)", halves(&[0x3f80, 0x4040])),
        ),
    ]);
    for name in ["half.npy", "brain.npy"] {
        let record = printed(folder.path(), &format!("dft {name}"));
        assert_eq!(record["re"], serde_json::json!([2.0, -1.0]), "{name}");
    }
}
