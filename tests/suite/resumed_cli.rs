//! A resumed run ends in the files of an uninterrupted one, from whatever step it goes on.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{done, folder, rarefy, refused, text};

fn run(at: &Path, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    done(at, &[&words[..], &["--quiet"]].concat());
}

/// The record of a run without that which differs from call to call.
fn record(at: &Path, folder: &str) -> Value {
    let text = fs::read(at.join(folder).join("run.json")).unwrap();
    let mut record: Value = serde_json::from_slice(&text).unwrap();
    for key in ["timings", "files", "manifest"] {
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

/// The method of the collision integral, and why it was taken, are in the record of a resumed flow too.
#[test]
fn a_resumed_flow_by_the_integral_keeps_its_method() {
    let folder = folder();
    let at = folder.path();
    for (name, case, files) in [
        (
            "shock",
            "shock --mach 1.3 --cells 8 --length 8 --velocities 8",
            ["profile.csv", "history.csv"],
        ),
        (
            "cavity",
            "cavity --cells 3 --velocities 6",
            ["density.npy", "history.csv"],
        ),
    ] {
        let case = format!("{case} --collision boltzmann --backend cpu");
        let (whole, part) = (format!("{name}-whole"), format!("{name}-part"));
        run(at, &format!("{case} --steps 4 --out {whole}"));
        run(
            at,
            &format!("{case} --steps 2 --checkpoint-every 2 --out {part}"),
        );
        let again = format!("{name} --resume {part}/checkpoint.rarefy --steps");
        run(at, &format!("{again} 3"));
        run(at, &format!("{again} 4"));
        assert!(record(at, &whole)["method"]["because"].is_string());
        same(at, [&whole, &part], &files);
    }
}

/// A process that is killed after its last checkpoint has lost no step.
#[test]
fn results_follow_from_the_checkpoint_at_the_end() {
    let folder = folder();
    let at = folder.path();
    for (name, case, files) in [
        (
            "shock",
            "shock --mach 2 --cells 20 --length 10 --velocities 12 --reduced --steps 70",
            ["profile.csv", "history.csv"],
        ),
        (
            "isotropic",
            "isotropic --cells 32 --steps 20",
            ["moments.csv", "f_final.npy"],
        ),
        // The drag is that of the last step, whose fluxes no population has.
        (
            "cavity",
            "cavity --delta 1 --cells 8 --velocities 8 --steps 70",
            ["density.npy", "history.csv"],
        ),
    ] {
        for folder in ["whole", "part"] {
            let line = format!("{case} --backend cpu --checkpoint-every 10 --out {name}-{folder}");
            run(at, &line);
        }
        let part = format!("{name}-part");
        let again = format!("{name} --resume {part}/checkpoint.rarefy");
        let words: Vec<&str> = again.split(' ').collect();
        refused(at, &words, "give a later --steps");
        for entry in fs::read_dir(at.join(&part)).unwrap() {
            let path = entry.unwrap().path();
            if !path.ends_with("checkpoint.rarefy") {
                fs::remove_file(path).unwrap();
            }
        }
        run(at, &again);
        same(at, [&format!("{name}-whole"), &part], &files);
    }
}

/// Runs a command that may end before it has converged.
#[track_caller]
fn ran(at: &Path, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = rarefy(at, &[&words[..], &["--quiet"]].concat())
        .output()
        .unwrap();
    let stderr = text(&output.stderr);
    let unconverged = stderr.contains("NOT CONVERGED");
    assert!(output.status.success() || unconverged, "{line}: {stderr}");
}

/// A run that goes on after its first, second and last step, of every command that has checkpoints, equals an unbroken one.
#[test]
fn runs_go_on_from_every_step() {
    const STEPS: u32 = 3;
    let folder = folder();
    let at = folder.path();
    let shock = "shock --mach 2 --cells 16 --length 8 --velocities 12 --reduced";
    for (name, case, files) in [
        ("relax", "relax --grid 6", ["history.csv", "f_final.npy"]),
        (
            "isotropic",
            "isotropic --cells 16",
            ["moments.csv", "f_final.npy"],
        ),
        ("shock", shock, ["history.csv", "profile.csv"]),
        (
            "shakhov",
            &format!("{shock} --model shakhov"),
            ["history.csv", "profile.csv"],
        ),
        (
            "upwind",
            &format!("{shock} --scheme upwind --precision f32"),
            ["history.csv", "profile.csv"],
        ),
        (
            "steady",
            &format!("{shock} --steady"),
            ["history.csv", "profile.csv"],
        ),
        (
            "integral",
            "shock --mach 1.3 --cells 8 --length 8 --velocities 8 --collision boltzmann",
            ["history.csv", "profile.csv"],
        ),
        (
            "cavity",
            "cavity --cells 5 --velocities 6",
            ["history.csv", "density.npy"],
        ),
        (
            "steady-cavity",
            "cavity --cells 5 --velocities 6 --steady",
            ["history.csv", "density.npy"],
        ),
        (
            "integral-cavity",
            "cavity --cells 3 --velocities 6 --collision boltzmann",
            ["history.csv", "density.npy"],
        ),
    ] {
        let case = format!("{case} --backend cpu");
        let command = case.split(' ').next().unwrap();
        ran(at, &format!("{case} --steps {STEPS} --out {name}"));
        for step in 1..=STEPS {
            let part = format!("{name}-{step}");
            ran(
                at,
                &format!("{case} --steps {step} --checkpoint-every 1 --out {part}"),
            );
            if step == STEPS {
                // Else the end is reached already.
                fs::remove_file(at.join(&part).join("run.json")).unwrap();
            }
            ran(
                at,
                &format!("{command} --resume {part}/checkpoint.rarefy --steps {STEPS}"),
            );
            same(at, [name, &part], &files);
        }
    }
}

/// Shakhov's equilibrium may be negative, and so may populations.
#[test]
fn strong_shocks_of_shakhov_go_on() {
    let folder = folder();
    let at = folder.path();
    for mach in [2, 3, 5] {
        let case = format!(
            "shock --mach {mach} --model shakhov --cells 60 --length 30 --reduced --backend cpu"
        );
        run(at, &format!("{case} --steps 60 --out whole-{mach}"));
        let part = format!("part-{mach}");
        run(
            at,
            &format!("{case} --steps 40 --checkpoint-every 40 --out {part}"),
        );
        run(
            at,
            &format!("shock --resume {part}/checkpoint.rarefy --steps 60"),
        );
        same(
            at,
            [&format!("whole-{mach}"), &part],
            &["profile.csv", "history.csv"],
        );
    }
}
