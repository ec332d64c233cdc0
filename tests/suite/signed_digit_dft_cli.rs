//! `rarefy dft` as its users meet it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use ndarray::{Array1, Array2, arr1};
use ndarray_npy::{read_npy, write_npy};
use serde_json::Value;

fn run(folder: &Path, arguments: &str) -> Output {
    let binary = std::env::var_os("RAREFY_BIN").unwrap_or(env!("CARGO_BIN_EXE_rarefy").into());
    Command::new(binary)
        .current_dir(folder)
        .arg("dft")
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

#[track_caller]
fn object(folder: &Path, arguments: &str) -> Value {
    let output = run(folder, &format!("{arguments} --json"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {stderr}");
    serde_json::from_slice(&output.stdout).expect("an object and nothing else")
}

fn list(object: &Value, key: &str) -> Vec<f64> {
    let list = object[key].as_array().expect("a list");
    list.iter()
        .map(|value| value.as_f64().expect("a number"))
        .collect()
}

/// x of the paper with alpha = 10^12, as text.
fn paper() -> String {
    let line = |i: usize| match i % 2 {
        0 => format!("{}.{}\n", 1_000_000_000_000 + i as u64 / 10, i % 10),
        _ => format!("{}.{}\n", i / 10, i % 10),
    };
    (1..=16).map(line).collect()
}

#[test]
fn the_example_of_the_paper_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("x.txt"), paper()).expect("a file");
    for backend in ["cpu", "emulator", "reference"] {
        let y = object(
            folder.path(),
            &format!("x.txt --digits 30 --backend {backend} --out {backend}"),
        );
        assert_eq!(y["count"], 16);
        let error = y["round_trip_error_percent"].as_f64().expect("a number");
        assert!((error / 5.7e-29 - 1.0).abs() < 0.02, "{error:e}");
        assert!(y["elapsed_s"].as_f64().is_some_and(|time| time > 0.0));
        assert_eq!(list(&y, "re")[0], 500000000000.85);
        assert_eq!(list(&y, "re")[8], -500000000000.05);
        assert_eq!(list(&y, "im")[4], 0.05);
        let array: Array2<f64> =
            read_npy(folder.path().join(backend).join("spectrum.npy")).expect("an array");
        assert_eq!(array.column(1).to_vec(), list(&y, "im"));
        let table =
            fs::read_to_string(folder.path().join(backend).join("spectrum.csv")).expect("a table");
        let row = table.lines().nth(2).expect("a row");
        assert_eq!(row, "1,-0.05,0.251366974606292405225748753553");
        for file in ["spectrum.png", "run.json"] {
            assert!(folder.path().join(backend).join(file).is_file());
        }
    }
}

#[test]
fn arrays_of_all_kinds_are_transformed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let x = [1.0, -2.0, 4.5, 0.25];
    write_npy(at("f8.npy"), &arr1(&x)).expect("a file");
    write_npy(at("f4.npy"), &arr1(&x.map(|x| x as f32))).expect("a file");
    write_npy(at("i4.npy"), &arr1(&[1i32, -2, 4, 0])).expect("a file");
    write_npy(at("u1.npy"), &arr1(&[1u8, 2, 4, 255])).expect("a file");
    write_npy(
        at("two.npy"),
        &Array2::from_shape_fn((4, 2), |(i, part)| if part == 0 { x[i] } else { i as f64 }),
    )
    .expect("a file");
    let y = object(folder.path(), "f8.npy");
    assert_eq!(list(&y, "re"), [0.9375, -0.875, 1.8125, -0.875]);
    assert_eq!(list(&y, "im"), [0.0, 0.5625, 0.0, -0.5625]);
    assert_eq!(object(folder.path(), "f4.npy")["re"], y["re"]);
    assert_eq!(list(&object(folder.path(), "i4.npy"), "re")[0], 0.75);
    assert_eq!(list(&object(folder.path(), "u1.npy"), "re")[0], 65.5);

    // Forward, then back from what was written: powers of two are exact.
    let y = object(folder.path(), "two.npy --out there --precision f64");
    let back = object(folder.path(), "there/spectrum.npy --inverse");
    assert_eq!(list(&back, "re"), x);
    assert_eq!(list(&back, "im"), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(y["round_trip_error_percent"], 0.0);
    fs::write(at("two.txt"), "1 0\n-2, 1\n4.5\t2\n\n0.25; 3\n").expect("a file");
    assert_eq!(object(folder.path(), "two.txt")["re"], y["re"]);
    let back = object(folder.path(), "there/spectrum.csv --inverse");
    assert_eq!(list(&back, "re"), x);
    assert_eq!(list(&back, "im"), [0.0, 1.0, 2.0, 3.0]);
    fs::write(at("comma.txt"), "1,0\n-2,1\n4.5,2\n0.25,3\n").expect("a file");
    let columns = object(folder.path(), "comma.txt --column 1,2");
    assert_eq!(columns["im"], y["im"]);
    for table in [
        "\"re\",\"im\"\n\"1\",\"0\"\n-2,1\n4.5,2\n0.25,3\n",
        "sep=;\r\nre;im\r\n1;0\r\n-2;1\r\n4,5;2\r\n0,25;3\r\n",
    ] {
        fs::write(at("table.txt"), table).expect("a file");
        assert_eq!(object(folder.path(), "table.txt")["im"], y["im"], "{table}");
    }
    fs::write(at("amounts.txt"), "1,5\n(2,25)\n").expect("a file");
    let amounts = object(folder.path(), "amounts.txt --decimal comma");
    assert_eq!(list(&amounts, "re"), [-0.375, 1.875]);
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    write_npy(at("nan.npy"), &arr1(&[1.0, f64::NAN])).expect("a file");
    write_npy(at("cube.npy"), &ndarray::Array3::<f64>::zeros((2, 2, 2))).expect("a file");
    write_npy(at("bool.npy"), &arr1(&[true])).expect("a file");
    write_npy(at("none.npy"), &Array1::<f64>::zeros(0)).expect("a file");
    let whole = fs::read(at("nan.npy")).expect("a file");
    fs::write(at("cut.npy"), &whole[..whole.len() - 3]).expect("a file");
    fs::write(at("word.txt"), "1\n\n2,5 x\n").expect("a file");
    fs::write(at("half.txt"), "1 2\n3\n").expect("a file");
    fs::write(at("comma.txt"), "1,5\n").expect("a file");
    fs::write(at("three.txt"), "1 2 3\n").expect("a file");
    fs::write(at("empty.txt"), "\n").expect("a file");
    fs::write(at("good.txt"), "1\n").expect("a file");
    for (arguments, why) in [
        ("nan.npy", "number 2 is not finite"),
        ("cube.npy", "has the shape (2, 2, 2); (n,), or (n, 2)"),
        ("bool.npy", "real or complex floats or integers are needed"),
        ("cut.npy", "the file has 13 bytes of data"),
        ("none.npy", "no numbers"),
        (
            "word.txt",
            "word.txt: line 3: `2,5 x`; expected a decimal number",
        ),
        (
            "three.txt",
            "line 1: 3 numbers; expected two as on the first line",
        ),
        (
            "half.txt",
            "line 2: 1 numbers; expected two as on the first line",
        ),
        (
            "comma.txt",
            "line 1: `1,5`; expected --decimal comma for 1.5, or --column 1",
        ),
        ("empty.txt", "no numbers"),
        ("missing.txt", "no such file"),
        ("good.txt --digits 0", "a whole number above zero"),
        ("good.txt --digits 1000000", "1 to 100000"),
        ("good.txt --digits many", "a whole number above zero"),
        ("", "FILE"),
    ] {
        let output = run(folder.path(), arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{arguments}: {stderr}");
        assert!(stderr.contains(why), "{arguments}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

/// Digits are counted from the largest number on where all are small.
#[test]
fn small_numbers_keep_their_digits_in_the_table() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("x.txt"), "1e-40\n3e-41\n2e-40\n").expect("a file");
    let y = object(folder.path(), "x.txt --digits 30 --backend cpu --out y");
    let table = fs::read_to_string(folder.path().join("y/spectrum.csv")).expect("a table");
    for (k, row) in table.lines().skip(1).enumerate() {
        let values: Vec<f64> = row
            .split(',')
            .map(|v| v.parse().expect("a number"))
            .collect();
        for (value, key) in values[1..].iter().zip(["re", "im"]) {
            let expected = list(&y, key)[k];
            assert!(
                (value - expected).abs() <= 1e-28 * 1.1e-40 + 1e-15 * expected.abs(),
                "{row}"
            );
        }
    }
    assert!(
        table.contains("0,0.00000000000000000000000000000000000000011,0"),
        "{table}"
    );
}
