//! What all commands share: folders, flags, records and pictures.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{done, folder, listing, refused, text};

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The record in a folder.
fn record(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap()
}

/// Cheap runs of the commands that print a result and write files.
const LINES: [&str; 8] = [
    "market --scenario voucher --cells 32 --times 0.5",
    "isotropic --cells 128 --steps 1",
    "isotropic --cells 128 --rates-only",
    "couette --delta 1 --linear --nx 20",
    "fourier --delta 1 --linear --nx 20",
    "rates --grid 6",
    "longman --amplitude exp(-x) --oscillator cos --frequency 1",
    "dft x.txt",
];

#[test]
fn results_go_to_the_folder_of_the_command_and_each_run_is_kept() {
    let dir = folder();
    let at = dir.path();
    fs::write(at.join("x.txt"), "1\n2\n").unwrap();
    for line in LINES {
        let name = line.split(' ').next().unwrap();
        let line = format!("{line} --backend cpu");
        let home = at.join("rarefy-out");
        let next = |number: u32| match number {
            1 => name.to_owned(),
            _ => format!("{name}-{number}"),
        };
        let first = (1..).find(|&n| !home.join(next(n)).exists()).unwrap();
        for number in [first, first + 1] {
            let output = done(at, &words(&line));
            let told = format!("written to    rarefy-out/{}: ", next(number));
            assert!(
                text(&output.stdout).contains(&told),
                "{line}: {}",
                text(&output.stdout)
            );
            let record = record(&home.join(next(number)));
            assert_eq!(record["command"], name);
            for file in record["files"].as_array().unwrap() {
                assert!(at.join(file.as_str().unwrap()).is_file(), "{line}: {file}");
            }
        }
        let count = listing(at).len();
        done(at, &words(&format!("{line} --overwrite")));
        let more = format!("{line} --json");
        assert_eq!(record(&home.join(name))["command"], name);
        done(at, &words(&more));
        // The two modes of `isotropic` write different files.
        if !line.contains("--rates-only") {
            assert_eq!(listing(at).len(), count, "{line}");
        }
    }
    // A table that has a name of its own is all that is wanted.
    let before = listing(at).len();
    let longman = "longman --amplitude exp(-x) --oscillator cos --frequency 1 --backend cpu";
    done(at, &words(&format!("{longman} --output t.csv")));
    done(at, &words(&format!("{longman} --output -")));
    assert_eq!(listing(at).len(), before + 1);
}

#[test]
fn a_run_that_cannot_keep_its_files_prints_its_result() {
    let dir = folder();
    fs::write(dir.path().join("rarefy-out"), "in the way").unwrap();
    let output = done(
        dir.path(),
        &words("couette --delta 1 --linear --nx 20 --backend cpu"),
    );
    assert!(text(&output.stdout).contains("Pi "));
    let warning = text(&output.stderr);
    assert!(
        warning.starts_with("rarefy: warning: no files are written: ") && warning.contains("--out"),
        "{warning}"
    );
    // A run that may take hours does not begin.
    refused(
        dir.path(),
        &words("relax --grid 8 --steps 1 --backend cpu"),
        "a file is in the place of this folder",
    );
}
