//! A resumed run ends in the files of an uninterrupted one.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{done, folder};

fn run(at: &Path, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    done(at, &[&words[..], &["--quiet"]].concat());
}

/// The record of a run without that which differs from call to call.
fn record(at: &Path, folder: &str) -> Value {
    let text = fs::read(at.join(folder).join("run.json")).unwrap();
    let mut record: Value = serde_json::from_slice(&text).unwrap();
    for key in ["timings", "files"] {
        record.as_object_mut().unwrap().remove(key).unwrap();
    }
    record["parameters"]
        .as_object_mut()
        .unwrap()
        .remove("checkpoint-every");
    record
}

#[track_caller]
fn same(at: &Path, folders: [&str; 2], files: &[&str]) {
    let [a, b] = folders;
    assert_eq!(record(at, a), record(at, b));
    for file in files {
        let [a, b] = folders.map(|folder| fs::read(at.join(folder).join(file)).unwrap());
        assert!(a == b, "{file} differs");
    }
}

#[test]
fn a_resumed_relaxation_keeps_method_and_warnings() {
    let folder = folder();
    let at = folder.path();
    let case = "relax --grid 8 --vmax 2.5 --backend cpu";
    run(at, &format!("{case} --steps 6 --out whole"));
    run(
        at,
        &format!("{case} --steps 2 --checkpoint-every 2 --out part"),
    );
    let resumed = "relax --resume part/checkpoint.rarefy --steps";
    run(at, &format!("{resumed} 4"));
    run(at, &format!("{resumed} 6"));
    let whole = record(at, "whole");
    assert!(whole["method"]["because"].is_string());
    assert_ne!(whole["warnings"].as_array().unwrap().len(), 0);
    same(
        at,
        ["whole", "part"],
        &["history.csv", "f_final.npy", "cross_sections.npy"],
    );
}

#[test]
fn a_resumed_isotropic_run_shows_the_times_and_warnings_of_a_whole_one() {
    let folder = folder();
    let at = folder.path();
    let files = ["moments.csv", "distribution.csv", "f_final.npy"];
    // The box is too narrow, which draws a warning; the first part ends between two records of the whole.
    let case = "isotropic --cells 32 --emax 5 --theta 1 --dt 0.001 --backend cpu";
    run(at, &format!("{case} --steps 2100 --out whole"));
    run(
        at,
        &format!("{case} --steps 999 --checkpoint-every 700 --out part"),
    );
    run(at, "isotropic --resume part/checkpoint.rarefy --steps 2100");
    let whole = record(at, "whole");
    assert_ne!(whole["warnings"].as_array().unwrap().len(), 0);
    same(at, ["whole", "part"], &files);
    let table = fs::read_to_string(at.join("whole/distribution.csv")).unwrap();
    let times = table.lines().skip(1).step_by(32);
    let times: Vec<f64> = times
        .map(|row| row.split(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(times.len(), 7, "{times:?}");
    assert!(
        times[1..6]
            .windows(2)
            .all(|pair| (pair[1] / pair[0] - 2.0).abs() < 1e-12)
    );
    // Records further apart than the first part is long.
    let case = format!("{case} --every 16");
    run(at, &format!("{case} --steps 40 --out whole-16"));
    run(
        at,
        &format!("{case} --steps 9 --checkpoint-every 9 --out part-16"),
    );
    run(
        at,
        "isotropic --resume part-16/checkpoint.rarefy --steps 40",
    );
    same(at, ["whole-16", "part-16"], &files);
}
