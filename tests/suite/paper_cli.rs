//! `rarefy paper`: the figures of the papers.

use std::fs;

use serde_json::Value;

use crate::command::{done, folder, refused, text};
use crate::support;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The printed output of a bench.
fn printed(name: &str) -> String {
    let benches = support::in_repository("docs/benchmarks");
    fs::read_to_string(benches.join(name)).unwrap()
}

/// The tables of each bench have their own figures.
#[test]
fn times_of_all_benches_are_drawn() {
    let dir = folder();
    let at = dir.path();
    for (bench, figures) in [
        ("collision-h200.txt", &["timings.png"][..]),
        (
            "bgk-h200.txt",
            &[
                "figures_line.csv",
                "figures_plane.csv",
                "figure_2.png",
                "figure_3.png",
                "figure_4.png",
                "figure_5.png",
                "figure_7.png",
            ],
        ),
        (
            "longman-h200.txt",
            &[
                "times.csv",
                "figure_7_8.png",
                "figure_9.png",
                "figure_10_12_13.png",
                "figure_11.csv",
                "figure_11.png",
            ],
        ),
        (
            "signed_digit-integers-h200.txt",
            &[
                "times.csv",
                "figure_5.png",
                "figure_6.png",
                "figure_7.png",
                "packed.png",
            ],
        ),
    ] {
        fs::write(at.join(bench), printed(bench)).unwrap();
        let line = format!("paper timings {bench} --out {bench}.drawn --quiet");
        done(at, &words(&line));
        let mut found: Vec<String> = fs::read_dir(at.join(format!("{bench}.drawn")))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".png") || name.ends_with(".csv"))
            .collect();
        found.sort();
        let mut expected = figures.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{bench}");
    }
    let errors = at.join("longman-h200.txt.drawn/figure_11.csv");
    let errors = fs::read_to_string(errors).unwrap();
    assert!(
        errors.starts_with("areas,bound,f32_hardware,f32_software,f64\n1,"),
        "{errors}"
    );
    fs::write(at.join("none.txt"), "no table\n").unwrap();
    let several = printed("bgk-h200.txt") + &printed("longman-h200.txt");
    fs::write(at.join("several.txt"), several).unwrap();
    for (line, why) in [
        ("bgk-h200.txt", "--out DIR is needed"),
        (
            "bgk-h200.txt --out o --precision f32",
            "--precision has no effect with times that a bench printed",
        ),
        (
            "bgk-h200.txt --out o --backend cpu",
            "--backend has no effect with times that a bench printed",
        ),
        ("none.txt --out o", "none.txt: holds no table of times"),
        ("several.txt --out o", "the tables of several benches"),
        ("missing.txt --out o", "missing.txt: no such file"),
    ] {
        refused(at, &words(&format!("paper timings {line}")), why);
    }
}

/// Times of collision integrals and their errors, on grids of two sizes.
#[test]
fn errors_are_measured_against_times() {
    let dir = folder();
    let at = dir.path();
    let line = "paper frontier --convergence 6,10 --backend cpu --json --quiet --out o";
    let record: Value = serde_json::from_slice(&done(at, &words(line)).stdout).unwrap();
    assert_eq!(record["command"], "paper frontier");
    assert_eq!(record["parameters"]["convergence"], "6,10");
    let rows = record["result"]["rows"].as_array().unwrap();
    let table = fs::read_to_string(at.join("o/frontier.csv")).unwrap();
    assert_eq!(rows.len(), table.lines().count() - 1);
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
    assert!(rows.iter().all(|row| number(row, "milliseconds") > 0.0));
    let errors = |n: u64| {
        let of = rows.iter().filter(|row| row["n"] == n);
        of.map(|row| number(row, "beams_error")).sum::<f64>()
    };
    assert!(errors(10) < 0.8 * errors(6), "{} {}", errors(6), errors(10));
}

/// Other spellings are refused with the right one, and settings have the name of the subcommand alone.
#[test]
fn figures_are_below_one_command() {
    let dir = folder();
    let at = dir.path();
    for name in ["validate", "bench", "digits", "frontier", "timings"] {
        let why = format!("'rarefy paper {name}'");
        refused(at, &[name, "--quick"], &why);
    }
    for (line, why) in [
        ("paper relax", "unrecognized subcommand 'relax'"),
        (
            "paper digits --digit 20",
            "a similar argument exists: '--digits'",
        ),
        ("paper bench --x", "'rarefy paper bench --help' lists"),
        (
            "paper digits -s digits.digit=20",
            "unknown key 'digit' in [digits]",
        ),
        ("paper digits -s digit.digits=20", "unknown section"),
        (
            "paper digits --devices 2 --processes",
            "only flows in time by 'rarefy shock' and 'rarefy cavity'",
        ),
    ] {
        refused(at, &words(line), why);
    }
    let help = |line: &str| text(&done(at, &words(line)).stdout).to_owned();
    let first = help("--help");
    assert!(first.contains("\n  paper "), "{first}");
    assert!(!first.contains("bench"), "{first}");
    for line in ["paper", "paper --help", "help paper"] {
        assert!(help(line).contains("Usage: rarefy paper"), "{line}");
    }
    assert!(help("help paper digits").contains("Usage: rarefy paper digits"));
    fs::write(
        at.join("all.toml"),
        "[relax]\ngrid = 8\n[digits]\ndigits = 20\n",
    )
    .unwrap();
    let line = "paper digits --config all.toml --backend cpu";
    let shown = help(line);
    assert!(shown.contains("20 digits"), "{shown}");
    let record = fs::read(at.join("rarefy-out/paper-digits/run.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["command"], "paper digits");
    let other = "relax --config rarefy-out/paper-digits/run.json";
    refused(at, &words(other), "a run of 'rarefy paper digits'");
}
