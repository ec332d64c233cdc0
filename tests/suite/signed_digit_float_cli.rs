//! `rarefy sum` and `rarefy dot` as their users meet them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{self, doubles, npy, text};

fn rarefy(folder: &Path, arguments: &str) -> Command {
    command::rarefy(folder, &words(arguments))
}

fn words(arguments: &str) -> Vec<&str> {
    arguments.split_whitespace().collect()
}

#[track_caller]
fn done(folder: &Path, arguments: &str) -> String {
    text(&command::done(folder, &words(arguments)).stdout).to_owned()
}

#[track_caller]
fn object(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&done(folder, &format!("{arguments} --json"))).unwrap()
}

#[track_caller]
fn refused(folder: &Path, arguments: &str, why: &str) {
    command::refused(folder, &words(arguments), why);
}

/// A folder with the vectors of the tests.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
    let array = |name: &str, descr: &str, shape: &str, data: &[u8]| {
        write(name, npy(descr, false, shape, data));
    };
    let x = doubles(&[1e16, 1.0, 0.1, -1e16]);
    let swapped: Vec<u8> = x.chunks(8).flat_map(|b| b.iter().rev().copied()).collect();
    array("x.npy", "<f8", "(4,)", &x);
    array("big_endian.npy", ">f8", "(4,)", &swapped);
    array("y.npy", "<f8", "(4,)", &doubles(&[3.0, -1e-300, 10.0, 3.0]));
    array("square.npy", "<f8", "(2, 2)", &x);
    write("fortran.npy", npy("<f8", true, "(2, 2)", &x));
    array(
        "f32.npy",
        "<f4",
        "(3,)",
        &[0.1_f32.to_le_bytes(); 3].concat(),
    );
    array(
        "f32_of_4.npy",
        "<f4",
        "(4,)",
        &[0.5_f32.to_le_bytes(); 4].concat(),
    );
    array(
        "i8.npy",
        "|i1",
        "(4,)",
        &[-128_i8, -1, 127, 5].map(|x| x as u8),
    );
    array(
        "u64.npy",
        "<u8",
        "(4,)",
        &[u64::MAX.to_le_bytes(); 4].concat(),
    );
    array(
        "i64.npy",
        ">i8",
        "(4,)",
        &[i64::MIN.to_be_bytes(); 4].concat(),
    );
    array("empty.npy", "<f8", "(0,)", &[]);
    array(
        "infinite.npy",
        "<f8",
        "(1,)",
        &f64::NEG_INFINITY.to_le_bytes(),
    );
    array("nan.npy", "<f4", "(1,)", &f32::NAN.to_le_bytes());
    array("long_double.npy", "<f16", "(1,)", &[0; 16]);
    array("short.npy", "<f8", "(9,)", &[0; 16]);
    array("long.npy", "<f8", "(1,)", &[0; 16]);
    array("no_type.npy", "|V2", "(1,)", &[0, 0x3c]);
    array("scalar.npy", "<f8", "()", &2.5_f64.to_le_bytes());
    let cube = [1.0, 1e30, 0.0, -1e30, -0.5, 1.5, 1e30, 0.5];
    array("cube.npy", "<f8", "(2, 2, 2)", &doubles(&cube));
    array("negative_zeros.npy", "<f8", "(2, 1)", &doubles(&[-0.0; 2]));
    write("none.npy", Vec::new());
    write("empty.txt", Vec::new());
    write("lines.txt", b"1e40\n  0.25\n\n-1e40\r\n+7".to_vec());
    write("other.txt", b"1\n2\n1\n4\n".to_vec());
    write("wrong.txt", b"1\n2.5e3\n0x10\n4\n".to_vec());
    // CRLF, signs, blank lines, leading zeros, an upper-case exponent.
    write(
        "wide.txt",
        b"\r\n+1E400\r\n-2e+0\r\n\r\n 0007.50\r\n-.25e1".to_vec(),
    );
    write("tiny.txt", b"-1e-5000\n".to_vec());
    write("blank_lines.txt", b"\n\n1\r\n\r\nnan\r\n".to_vec());
    write("far.txt", b"1e1000000000000001\n".to_vec());
    write("binary.bin", vec![0xff, 0xfe, 0, 1, 10, 7]);
    folder
}

/// Editors write the mark of the encoding in front of a text.
#[test]
fn a_byte_order_mark_is_no_part_of_the_first_number() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("marked.txt"), "\u{feff}0.1\n0.2\n").unwrap();
    let sum = object(folder.path(), "sum marked.txt --backend cpu");
    assert_eq!(sum["value"], "0.3", "{sum}");
}

#[test]
fn results_are_printed_in_their_shortest_form() {
    let folder = folder();
    for (arguments, printed) in [
        ("sum x.npy", "1.1\n"),
        ("sum big_endian.npy", "1.1\n"),
        ("sum square.npy", "1.1\n"),
        ("sum fortran.npy --backend reference", "1.1\n"),
        ("sum x.npy --backend emulator", "1.1\n"),
        (
            "sum x.npy --exact",
            "1.1\n1.1000000000000000055511151231257827021181583404541015625\n",
        ),
        ("sum x.npy --abs", "2e16\n"),
        ("sum x.npy --abs --round f32 --quiet", "2e16\n"),
        ("sum x.npy --norm", "1.414213562373095e16\n"),
        ("sum x.npy --mean", "0.275\n"),
        ("sum f32.npy", "0.30000000447034836\n"),
        ("sum f32.npy --round f32", "0.3\n"),
        ("sum f32.npy --precision f32", "0.3\n"),
        ("sum scalar.npy", "2.5\n"),
        ("sum negative_zeros.npy", "-0.0\n"),
        ("sum i8.npy", "3\n"),
        ("sum i8.npy --abs", "261\n"),
        ("sum i8.npy --squares", "32539\n"),
        ("sum u64.npy", "73786976294838206460\n"),
        (
            "dot u64.npy i64.npy",
            "-680564733841876926889855726716117319680\n",
        ),
        ("dot i8.npy u64.npy", "55340232221128654845\n"),
        ("dot x.npy y.npy", "1.0\n"),
        ("dot x.npy big_endian.npy", "2e32\n"),
        ("dot x.npy f32_of_4.npy", "0.55\n"),
        ("dot i8.npy f32_of_4.npy --exact", "1.5\n1.5\n"),
        ("dot square.npy square.npy", "2e32\n"),
        ("sum empty.npy", "0.0\n"),
        ("dot empty.npy empty.npy", "0.0\n"),
        ("sum infinite.npy", "-inf\n"),
        ("sum nan.npy --exact", "nan\n"),
        ("sum empty.txt", "0\n"),
        ("sum lines.txt", "7.25\n"),
        ("sum lines.txt --backend reference", "7.25\n"),
        ("dot other.txt other.txt", "22\n"),
        ("sum other.txt --squares", "22\n"),
        ("sum square.npy --axis 1", "1e16\n-1e16\n"),
        (
            "sum square.npy --axis -1 --backend emulator",
            "1e16\n-1e16\n",
        ),
        (
            "sum square.npy --axis 0 --backend reference",
            "1e16\n-1e16\n",
        ),
        ("sum fortran.npy --axis 0", "1e16\n-1e16\n"),
        ("sum cube.npy --axis 1", "1.0\n0.0\n1e30\n2.0\n"),
        (
            "sum cube.npy --axis -3 --round f32",
            "0.5\n1e30\n1e30\n-1e30\n",
        ),
        ("sum x.npy --axis 0", "1.1\n"),
        ("sum f32_of_4.npy --axis 0", "2.0\n"),
        ("sum negative_zeros.npy --axis 1", "-0.0\n-0.0\n"),
    ] {
        assert_eq!(done(folder.path(), arguments), printed, "{arguments}");
    }
}

#[test]
fn json_has_value_bits_and_exact_value() {
    let folder = folder();
    let run = object(folder.path(), "sum x.npy");
    assert_eq!(run["value"], 1.1);
    assert_eq!(run["bits"], "3ff199999999999a");
    assert_eq!(
        run["exact"],
        "1.1000000000000000055511151231257827021181583404541015625"
    );
    assert_eq!(run["count"], 4);
    assert!(run["elapsed_s"].as_f64().unwrap() > 0.0);
    let run = object(folder.path(), "sum f32.npy --round f32");
    assert_eq!(
        (run["value"].as_f64(), run["bits"].as_str()),
        (Some(0.3), Some("3e99999a"))
    );
    let run = object(folder.path(), "sum lines.txt --round f32");
    assert_eq!(
        (run["value"].as_f64(), run["bits"].as_str()),
        (Some(7.25), Some("40e80000"))
    );
    assert_eq!(
        (run["exact"].as_str(), run["count"].as_u64()),
        (Some("7.25"), Some(4))
    );
    let run = object(folder.path(), "sum infinite.npy");
    assert_eq!(
        (run["value"].as_str(), run["bits"].as_str()),
        (Some("-inf"), Some("fff0000000000000"))
    );
    assert_eq!(run["exact"], Value::Null);
    // Integers of arrays are summed on the CPU, and the report says so.
    for backend in ["cpu", "emulator", "reference"] {
        let machine = |arguments: &str| {
            let run = object(folder.path(), &format!("{arguments} --backend {backend}"));
            run["machine"].as_str().unwrap().to_owned()
        };
        assert!(machine("sum i8.npy").starts_with("CPU, "));
        assert!(machine("dot i8.npy u64.npy").starts_with("CPU, "));
        let own = ["CPU, ", "emulator", "scalar reference"];
        let own = own
            .into_iter()
            .find(|own| own.to_lowercase().contains(backend));
        assert!(machine("sum x.npy").starts_with(own.unwrap()));
        assert!(machine("sum lines.txt").starts_with(own.unwrap()));
    }
    let run = object(folder.path(), "sum wide.txt");
    assert_eq!(
        (run["bits"].as_str(), run["count"].as_u64()),
        (Some("7ff0000000000000"), Some(4))
    );
    let exact = run["exact"].as_str().unwrap();
    assert_eq!(exact.len(), 401);
    assert!(
        exact.starts_with("1000") && exact.ends_with("0003"),
        "{exact}"
    );
    let run = object(folder.path(), "sum tiny.txt");
    assert_eq!(
        (run["value"].as_str(), run["bits"].as_str()),
        (Some("-1e-5000"), Some("8000000000000000"))
    );
    let run = object(folder.path(), "sum empty.txt");
    assert_eq!(
        (
            run["value"].as_str(),
            run["bits"].as_str(),
            run["count"].as_u64()
        ),
        (Some("0"), Some("0000000000000000"), Some(0))
    );
    let run = object(folder.path(), "sum negative_zeros.npy");
    assert_eq!(
        (run["bits"].as_str(), run["exact"].as_str()),
        (Some("8000000000000000"), Some("0"))
    );
    let run = object(folder.path(), "dot u64.npy i64.npy");
    assert_eq!(run["value"], "-680564733841876926889855726716117319680");
    assert_eq!(run["bits"], "c800000000000000");
}

#[test]
fn a_run_can_be_repeated_from_its_json() {
    let folder = folder();
    done(folder.path(), "sum x.npy --abs --round f32 --out first");
    let again = done(folder.path(), "sum x.npy --config first/run.json");
    assert_eq!(again, "2e16\n");
    let run: Value =
        serde_json::from_slice(&fs::read(folder.path().join("first/run.json")).unwrap()).unwrap();
    assert_eq!(run["parameters"]["round"], "f32");
    assert_eq!(run["parameters"]["abs"], true);
}

#[test]
fn sums_along_an_axis_are_an_array() {
    let folder = folder();
    let run = object(folder.path(), "sum cube.npy --axis -1");
    assert_eq!(run["value"], serde_json::json!([1e30, -1e30, 1.0, 1e30]));
    assert_eq!(run["shape"], serde_json::json!([2, 2]));
    assert_eq!(
        (run["count"].as_u64(), &run["bits"]),
        (Some(8), &Value::Null)
    );
    assert_eq!(run["parameters"]["axis"], -1);
    // The array as --output and --out write it, in the precision of the result.
    done(
        folder.path(),
        "sum cube.npy --axis -1 --round f32 --output sums.npy --out run",
    );
    let bytes = fs::read(folder.path().join("sums.npy")).unwrap();
    let sums = [1e30_f32, -1e30, 1.0, 1e30].map(f32::to_le_bytes).concat();
    let (header, data) = bytes.split_at(128);
    assert_eq!(data, sums);
    assert!(text(&header[10..]).contains("'<f4', 'fortran_order': False, 'shape': (2, 2)"));
    assert_eq!(fs::read(folder.path().join("run/sums.npy")).unwrap(), bytes);
    let again = object(folder.path(), "sum cube.npy --config run/run.json");
    assert_eq!(again["value"], run["value"]);
    done(folder.path(), "sum cube.npy --axis -1 --output sums.txt");
    let lines = fs::read_to_string(folder.path().join("sums.txt")).unwrap();
    assert_eq!(lines, "1e30\n-1e30\n1.0\n1e30\n");
}

#[test]
fn standard_input_is_a_file_too() {
    let folder = folder();
    let mut child = rarefy(folder.path(), "sum -")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"0.5\n1e-3\n")
        .unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "0.501\n");
    refused(folder.path(), "dot - -", "one of the vectors only");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let folder = folder();
    for (arguments, why) in [
        (
            "sum wrong.txt",
            "wrong.txt: line 3: `0x10`; expected a decimal number",
        ),
        ("dot other.txt wrong.txt", "wrong.txt: line 3:"),
        ("sum binary.bin", "binary.bin: line 1: "),
        ("sum none.npy", "not a .npy file"),
        ("sum missing.npy", "no such file"),
        ("sum .", "a folder"),
        (
            "sum long_double.npy",
            "holds float128; float16 to float64, bfloat16, complex64, complex128, bool or integers are needed (numpy: h = f.astype('float64') and",
        ),
        (
            "sum blank_lines.txt",
            "blank_lines.txt: line 5: `nan`; expected a decimal number",
        ),
        (
            "sum far.txt",
            "far.txt: line 1: `1e1000000000000001`; expected an exponent within",
        ),
        (
            "sum no_type.npy",
            "(numpy: f.view(TYPE).astype('float32'), TYPE being 'float16' or ml_dtypes.bfloat16)",
        ),
        ("sum short.npy", "cut short: 16 of 72 bytes"),
        ("sum long.npy", "more than the 8 bytes"),
        (
            "dot x.npy empty.npy",
            "empty.npy: (0,); expected the shape of x.npy, (4,)",
        ),
        (
            "dot x.npy square.npy",
            "square.npy: (2, 2); expected the shape of x.npy, (4,)",
        ),
        ("dot square.npy fortran.npy", "another order"),
        ("dot lines.txt x.npy", "two arrays or two texts"),
        ("dot wrong.txt other.txt", "wrong.txt: line 3:"),
        ("dot other.txt empty.txt", "blank in the second text only"),
        ("dot x.npy u64.npy", "no float64 holds exactly"),
        (
            "sum lines.txt --cumulative",
            "--cumulative: integers or decimal numbers; expected .npy arrays",
        ),
        (
            "sum i8.npy --offsets u64.npy",
            "--offsets: integers or decimal numbers; expected .npy arrays",
        ),
        (
            "sum x.npy --offsets y.npy",
            "y.npy: holds float64; integers are needed",
        ),
        (
            "sum x.npy --offsets i8.npy",
            "i8.npy: offset -128 is below 0",
        ),
        (
            "sum square.npy --cumulative",
            "an array of one axis is needed",
        ),
        ("sum x.npy --ddof 1", "--ddof has no effect with a sum"),
        ("sum x.npy --half up", "--round"),
        ("sum x.npy --round f64 --half up", "--half has no effect"),
        ("sum square.npy --axis 0,0", "axis 0 is given twice"),
        (
            "sum square.npy --axis 0 --round 2",
            "--round takes f32 or f64",
        ),
        (
            "sum x.npy --column a",
            "--column has no effect with x.npy, which is an array",
        ),
        ("sum x.npy --weights y.npy", "--mean"),
        (
            "sum other.txt --decimal dot",
            "one of comma, point is needed",
        ),
        (
            "sum other.txt --delimiter ab",
            "comma, semicolon, tab, pipe, or one ASCII",
        ),
        (
            "sum x.npy --norm --exact",
            "--exact has no effect with --norm",
        ),
        (
            "sum x.npy --exact --mean",
            "--exact has no effect with --mean",
        ),
        (
            "paper digits --precision f32",
            "--precision has no effect with paper digits",
        ),
        ("sum x.npy --round f16", "f16"),
        (
            "sum square.npy --axis 2",
            "square.npy: has the shape (2, 2); axis 2 is none of its axes, 0 to 1 or -2 to -1",
        ),
        (
            "sum x.npy --axis -2",
            "axis -2 is none of its axes, 0 to 0 or -1 to -1",
        ),
        ("sum scalar.npy --axis 0", "an array with an axis is needed"),
        (
            "sum square.npy --axis 1 --exact",
            "--exact has no effect with --axis",
        ),
        ("sum square.npy --axis 1 --abs", "cannot be used with"),
        (
            "sum i8.npy --axis 0",
            "--axis: integers or decimal numbers; expected .npy arrays",
        ),
        (
            "sum lines.txt --axis 0",
            "--axis: integers or decimal numbers",
        ),
        ("sum x.npy --abs --squares", "cannot be used with"),
        ("sum", "FILE"),
        ("dot x.npy", "Y"),
    ] {
        refused(folder.path(), arguments, why);
    }
}

/// Axes of length 0, and shapes that no memory holds.
#[test]
fn sums_along_an_axis_of_nothing() {
    let folder = folder();
    let at = folder.path();
    let write = |shape: &str| {
        let array = npy("<f8", false, shape, []);
        fs::write(at.join("nothing.npy"), array).unwrap();
    };
    for (shape, sums) in [("(0, 2)", "0.0\n0.0\n"), ("(2, 0)", "\n")] {
        write(shape);
        assert_eq!(done(at, "sum nothing.npy --axis 0"), sums);
    }
    for (shape, why) in [
        ("(0, 4611686018427387904, 4)", "below 2^63"),
        ("(4611686018427387904, 4, 0)", "below 2^63"),
        ("(1099511627776, 0)", "an array of 1099511627776 sums"),
    ] {
        write(shape);
        refused(at, "sum nothing.npy --axis -1", why);
    }
    fs::write(at.join("x.npz"), b"PK\x03\x04 and more").unwrap();
    refused(at, "sum x.npz", "one array as .npy is needed");
}

/// The result of text is exact, and rounded on request; an array takes rounded numbers only.
#[test]
fn results_of_text_are_rounded_on_request() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("far.txt"), "1e20\n0.1\n").unwrap();
    assert_eq!(done(at, "sum far.txt"), "100000000000000000000.1\n");
    assert_eq!(done(at, "sum far.txt --round f64"), "1e20\n");
    let both = "1e20\n100000000000000000000.1\n";
    assert_eq!(done(at, "sum far.txt --round f32 --exact"), both);
    let json = done(at, "sum far.txt --round f64 --json");
    let record: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(record["value"], 1e20);
    assert_eq!(record["exact"], "100000000000000000000.1");

    let scalar = |name: &str, descr: &str, bytes: &[u8]| {
        let array = fs::read(at.join(name)).unwrap();
        let header = format!("'descr': '{descr}', 'fortran_order': False, 'shape': ()");
        assert!(
            String::from_utf8_lossy(&array[..128]).contains(&header),
            "{name}"
        );
        assert_eq!(&array[128..], bytes, "{name}");
    };
    fs::write(
        at.join("x.npy"),
        npy("<f8", false, "(2,)", doubles(&[0.5, 0.25])),
    )
    .unwrap();
    done(at, "sum x.npy --output sum.npy");
    scalar("sum.npy", "<f8", &0.75_f64.to_le_bytes());
    done(at, "sum far.txt --round f32 --output sum.npy");
    scalar("sum.npy", "<f4", &1e20_f32.to_le_bytes());
    refused(at, "sum far.txt --output sum.npy", "--round f64 rounds it");
    let why = "--exact has no effect with --output sum.npy";
    refused(at, "sum x.npy --exact --output sum.npy", why);

    fs::write(at.join("gap.txt"), "1\n\n2\n").unwrap();
    fs::write(at.join("whole.txt"), "3\n4\n").unwrap();
    fs::write(at.join("gaps.txt"), "3\n\n4\n\n").unwrap();
    assert_eq!(done(at, "dot gap.txt gaps.txt"), "11\n");
    refused(
        at,
        "dot gap.txt whole.txt",
        "whole.txt: line 2: blank in the first text only",
    );
    fs::write(at.join("wide.txt"), "1e999999999\n1\n").unwrap();
    refused(
        at,
        "sum wide.txt",
        "exact result: 1000000008 digits; expected at most 10000224",
    );
}

/// Files of several pieces, and a line that is no number in the last of them.
#[test]
fn files_are_summed_piece_by_piece() {
    let folder = folder();
    let at = folder.path();
    const ROWS: u32 = 1_200_000;
    let elements: Vec<f64> = (0..2 * ROWS).map(f64::from).collect();
    let elements = doubles(&elements);
    fs::write(
        at.join("x.npy"),
        npy("<f8", false, "(1200000, 2)", elements),
    )
    .unwrap();
    assert_eq!(done(at, "sum x.npy"), "2879998800000.0\n");
    assert_eq!(
        done(at, "sum x.npy --axis 0"),
        "1439998800000.0\n1440000000000.0\n"
    );
    done(at, "sum x.npy --axis 1 --output rows.npy");
    let rows = fs::read(at.join("rows.npy")).unwrap();
    let row = |k: usize| f64::from_le_bytes(rows[128 + 8 * k..][..8].try_into().unwrap());
    assert_eq!(rows.len(), 128 + 8 * ROWS as usize);
    assert!((0..ROWS).all(|k| row(k as usize) == f64::from(4 * k + 1)));
    assert_eq!(done(at, "dot x.npy x.npy"), squares(2 * ROWS));

    let mut lines = "123456789\n".repeat(1_800_000);
    lines.insert_str(0, "\u{feff}1\n");
    fs::write(at.join("x.txt"), &lines).unwrap();
    assert_eq!(done(at, "sum x.txt"), "222222220200001\n");
    fs::write(at.join("x.txt"), lines + "none\n").unwrap();
    refused(at, "sum x.txt", "x.txt: line 1800002: `none`");
}

/// Amounts as people write them, in a line each and in tables.
#[test]
fn ledgers_are_summed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let write = |name: &str, text: &str| fs::write(at.join(name), text).unwrap();
    write("marks.txt", "$1,234.50\n(34.50)\n12-\n\u{20ac}0\n");
    write("german.txt", "1.234,50\n0,5\n");
    write("open.txt", "1,234\n2\n");
    write(
        "book.csv",
        "date,account,amount,quantity\n2024-01-02,cash,\"1,234.505\",2\n2024-01-03,\"a, b\",(4.25),3\n2024-01-04,cash,0.01,\n",
    );
    write(
        "euro.csv",
        "konto;soll;haben\nA;1.234,50;\nB;;0,10\nA;0,5;7\n",
    );
    for (arguments, printed) in [
        ("sum german.txt", "1235\n"),
        ("sum open.txt --thousands comma", "1236\n"),
        ("sum open.txt --decimal comma", "3.234\n"),
        ("sum open.txt --decimal ,", "3.234\n"),
        ("sum book.csv", "1230.265\n"),
        ("sum book.csv --round 2", "1230.26\n1230.265\n"),
        ("sum book.csv --round 2 --half up", "1230.27\n1230.265\n"),
        ("sum book.csv --column 3 --abs", "1238.765\n"),
        ("sum book.csv --mean --round 3", "410.088\n"),
        (
            "sum book.csv --by account",
            "account,amount\ncash,1234.515\n\"a, b\",-4.25\n",
        ),
        (
            "sum book.csv --by account --round 2",
            "account,amount,amount exact\ncash,1234.52,1234.515\n\"a, b\",-4.25,-4.25\n",
        ),
        ("sum euro.csv --column soll,haben", "soll,haben\n1235,7.1\n"),
        (
            "sum euro.csv --column soll,haben --by konto",
            "konto,soll,haben\nA,1235,7\nB,0,0.1\n",
        ),
        ("dot book.csv --column quantity,quantity", "13\n"),
        ("dot german.txt german.txt --decimal comma", "1523990.5\n"),
    ] {
        assert_eq!(done(at, arguments), printed, "{arguments}");
    }
    for (arguments, why) in [
        (
            "sum marks.txt",
            "line 4: `\u{20ac}0`; expected $ as above, or --by",
        ),
        (
            "sum open.txt",
            "open.txt: line 1: `1,234`; expected --thousands comma for 1234, or --decimal comma for 1.234",
        ),
        (
            "sum euro.csv",
            "euro.csv: line 1: `konto;soll;haben`; expected a decimal number",
        ),
        (
            "sum euro.csv --by konto",
            "none given; expected one of konto, soll, haben",
        ),
        (
            "sum book.csv --column cost",
            "`cost`; expected a column of the first line: date, account",
        ),
        (
            "dot book.csv --column amount,quantity",
            "line 4: blank in the second text only",
        ),
        (
            "dot book.csv --column amount",
            "two columns of one, not 1 with 1 columns",
        ),
        (
            "sum book.csv --by account --round f64 --output s.npy",
            "the results of a table are text",
        ),
    ] {
        refused(at, arguments, why);
    }
    let run = object(at, "sum euro.csv --column soll,haben --by konto");
    assert_eq!(run["value"], serde_json::json!(["1235", "7", "0", "0.1"]));
    assert_eq!(
        (run["sums"][3]["group"].as_str(), run["count"].as_u64()),
        (Some("B"), Some(4))
    );
    done(
        at,
        "sum euro.csv --column soll,haben --by konto --round 1 --out run",
    );
    let again = object(at, "sum euro.csv --config run/run.json");
    assert_eq!(
        again["value"],
        serde_json::json!(["1235.0", "7.0", "0.0", "0.1"])
    );
}

/// Statistics that are quotients of exact sums.
/// A quote that stays open would take rows into its field, and a name of several columns one of them.
#[test]
fn tables_in_doubt_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (text, why) in [
        (
            "amount,a\n1,x\n2,\"y\n3,z\n4,w\n",
            "x.csv: line 3: a quote that is not closed; expected quotes around a whole field, doubled within it",
        ),
        ("a,amount\nx,\"1\"2\n", "line 2: text behind a closed quote"),
        (
            "amount,a,amount\n1,2,3\n",
            "column: `amount`, the name of several; expected one of the positions 1, 3",
        ),
    ] {
        fs::write(at.join("x.csv"), text).unwrap();
        refused(at, "sum x.csv", why);
    }
    assert_eq!(done(at, "sum x.csv --column 1,3"), "amount,amount\n1,3\n");
    fs::write(at.join("x.csv"), "sep=;\r\nkonto;amount\r\nbank;1,5\r\n").unwrap();
    assert_eq!(done(at, "sum x.csv --by konto"), "konto,amount\nbank,1.5\n");
}

#[test]
fn statistics_are_rounded_once() {
    let folder = folder();
    let at = folder.path();
    let write = |name: &str, shape: &str, values: &[f64]| {
        fs::write(at.join(name), npy("<f8", false, shape, doubles(values))).unwrap();
    };
    write("far.npy", "(4,)", &[4.0, 7.0, 13.0, 16.0].map(|x| x + 1e9));
    write("weights.npy", "(4,)", &[2.0, 1.0, 1.0, 0.0]);
    let offsets = [0_i64, 2, 2, 4].map(i64::to_le_bytes).concat();
    fs::write(at.join("offsets.npy"), npy("<i8", false, "(4,)", offsets)).unwrap();
    for (arguments, printed) in [
        ("sum far.npy --var --ddof 1", "30.0\n"),
        ("sum far.npy --std", "4.743416490252569\n"),
        ("sum far.npy --std --round 20", "4.74341649025256899800\n"),
        ("sum far.npy --mean --weights weights.npy", "1000000007.0\n"),
        (
            "sum far.npy --cumulative",
            "1000000004.0\n2000000011.0\n3000000024.0\n4000000040.0\n",
        ),
        (
            "sum far.npy --offsets offsets.npy",
            "2000000011.0\n0.0\n2000000029.0\n",
        ),
        ("sum i8.npy --mean", "0.75\n"),
        ("sum i8.npy --norm", "180.38569788095728\n"),
        ("sum i8.npy --var", "8134.1875\n"),
        ("sum u64.npy --std", "0.0\n"),
        ("sum lines.txt --mean", "1.8125\n"),
        ("sum other.txt --mean --weights other.txt", "2.75\n"),
        ("sum other.txt --var", "1.5\n"),
        (
            "sum square.npy --mean --axis 1",
            "5000000000000000.0\n-5000000000000000.0\n",
        ),
        ("sum cube.npy --axis 0,2", "1e30\n0.5\n"),
        ("sum cube.npy --std --axis 0,1,2", "5.9947894041408994e29\n"),
        ("sum negative_zeros.npy --var --axis 0", "0.0\n"),
    ] {
        assert_eq!(done(at, arguments), printed, "{arguments}");
    }
}

/// The sum of the squares of the integers below n, as the command prints an f64.
fn squares(n: u32) -> String {
    let n = u128::from(n);
    format!("{:?}\n", ((n - 1) * n * (2 * n - 1) / 6) as f64)
}
