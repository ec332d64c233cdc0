//! The shared interface of all commands: folders, flags, records and pictures.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{done, doubles, folder, listing, npy, rarefy, refused, text};

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
    "couette --delta 1 --linear --cells 20",
    "fourier --delta 1 --linear --cells 20",
    "rates --grid 6",
    "longman --amplitude exp(-x) --oscillator cos --frequency 1",
    "dft x.txt",
];

/// The folders of a command below that of all, in the order of their numbers.
fn runs(at: &Path, command: &str) -> Vec<String> {
    let entries = fs::read_dir(at.join("rarefy-out")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter(|name| {
            let rest = name.strip_prefix(command);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
        .collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names
}

/// Every kind of command takes a new folder where its own is there already: runs with checkpoints and without, and sweeps.
#[test]
fn results_go_to_the_folder_of_the_command_and_each_run_is_kept() {
    let dir = folder();
    let at = dir.path();
    fs::write(at.join("x.txt"), "1\n2\n").unwrap();
    let cavity = format!("{CAVITY} --cells 4 --no-verify");
    let shock = format!("{SHOCK} --cells 40");
    let relax = "relax --grid 6 --steps 1 --checkpoint-every 1";
    let resumable = [cavity.as_str(), &shock, relax];
    let sweeps = [
        "couette --delta 0.5,1 --linear --cells 8 --velocities 4x4",
        "shock --mach 1.4,1.5 --reduced --velocities 12 --steps 2 --cells 40",
        "cavity --delta 1,2 --steady --linear --velocities 4x4 --cells 4 --no-verify",
    ];
    for line in LINES.into_iter().chain(resumable).chain(sweeps) {
        let name = line.split(' ').next().unwrap();
        let line = format!("{line} --backend cpu");
        let home = at.join("rarefy-out");
        for _ in 0..2 {
            let before = runs(at, name).len() + 1;
            let next = match before {
                1 => name.to_owned(),
                number => format!("{name}-{number}"),
            };
            let output = done(at, &words(&line));
            let told = format!("written to    rarefy-out/{next}: ");
            assert!(
                text(&output.stdout).contains(&told),
                "{line}: {}",
                text(&output.stdout)
            );
            assert_eq!(runs(at, name).len(), before, "{line}");
            let record = record(&home.join(next));
            assert_eq!(record["command"], name);
            for file in record["files"].as_array().unwrap() {
                assert!(at.join(file.as_str().unwrap()).is_file(), "{line}: {file}");
            }
        }
    }
    // A run goes on where its checkpoint is.
    let before = runs(at, "relax");
    let resume = "relax --resume rarefy-out/relax-2/checkpoint.rarefy --steps 2 --quiet";
    done(at, &words(resume));
    assert_eq!(runs(at, "relax"), before);
    assert_eq!(record(&at.join("rarefy-out/relax-2"))["result"]["steps"], 2);
    // A folder of another one is none to write into, empty or not.
    fs::create_dir(at.join("rarefy-out/market-3")).unwrap();
    done(at, &words(&format!("{} --backend cpu --quiet", LINES[0])));
    assert_eq!(runs(at, "market").last().unwrap(), "market-4");
    assert_eq!(listing(&at.join("rarefy-out/market-3")).len(), 0);
    let line = format!("{} --backend cpu", LINES[3]);
    let count = listing(at).len();
    done(at, &words(&format!("{line} --overwrite")));
    done(at, &words(&format!("{line} --json")));
    assert_eq!(listing(at).len(), count);
    // A table that has a name of its own is all that is wanted.
    let before = listing(at).len();
    let longman = "longman --amplitude exp(-x) --oscillator cos --frequency 1 --backend cpu";
    done(at, &words(&format!("{longman} --output t.csv")));
    done(at, &words(&format!("{longman} --output -")));
    assert_eq!(listing(at).len(), before + 1);
}

/// Commands that start at once take different folders.
#[test]
fn runs_at_once_have_folders_of_their_own() {
    let dir = folder();
    let at = dir.path();
    let couette = "couette --delta 1 --linear --cells 8 --velocities 4x4 --quiet --threads 1";
    let relax = "relax --grid 6 --steps 1 --backend reference --quiet --threads 1";
    for line in [couette, relax] {
        let start = |_| rarefy(at, &words(line)).spawn().unwrap();
        let children: Vec<_> = (0..6).map(start).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        let command = line.split(' ').next().unwrap();
        let runs = runs(at, command);
        assert_eq!(runs.len(), 6, "{runs:?}");
        for run in runs {
            let place = at.join("rarefy-out").join(run);
            assert_eq!(record(&place)["command"], command);
            assert!(!place.join(".rarefy.lock").exists());
        }
    }
}

#[test]
fn a_run_that_cannot_keep_its_files_prints_its_result() {
    let dir = folder();
    fs::write(dir.path().join("rarefy-out"), "in the way").unwrap();
    let output = done(
        dir.path(),
        &words("couette --delta 1 --linear --cells 20 --backend cpu"),
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

/// The parameters of a run that only prints its record.
fn parameters(folder: &Path, line: &str) -> Value {
    let output = done(folder, &words(&format!("{line} --backend cpu --json")));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    record["parameters"].clone()
}

const CAVITY: &str = "cavity --steady --linear --velocities 4x4";
const SHOCK: &str = "shock --mach 1.5 --reduced --velocities 12 --steps 2";

#[test]
fn parameters_of_records_are_keys_of_configurations() {
    let dir = folder();
    let at = dir.path();
    for (line, key, value) in [
        (
            "couette --delta 1 --linear --cells 20",
            "cells",
            Value::from(20),
        ),
        (
            "fourier --delta 1 --molecules vhs:1 --cells 20",
            "molecules",
            "maxwell".into(),
        ),
        (&format!("{CAVITY} --cells 4"), "cells", 4.into()),
        (
            &format!("{SHOCK} --cells 40 --vmax 5 --molecules vhs:0.8"),
            "vmax",
            5.0.into(),
        ),
        (
            "relax --grid 8 --steps 1 --molecules maxwell",
            "molecules",
            "maxwell".into(),
        ),
        (
            "rates --grid 6 --molecules vhs:0.7",
            "molecules",
            "vhs:0.7".into(),
        ),
        (
            "isotropic --cells 128 --steps 1 --molecules hard-sphere",
            "molecules",
            "hard-sphere".into(),
        ),
        (
            "isotropic --cells 128 --steps 1 --no-correction",
            "no-correction",
            true.into(),
        ),
    ] {
        let of = parameters(at, line);
        assert_eq!(of[key], value, "{line}");
        let command = line.split(' ').next().unwrap();
        let record = serde_json::json!({ "command": command, "format": 2, "parameters": of });
        fs::write(at.join("run.json"), record.to_string()).unwrap();
        let again = format!("{command} --config run.json");
        assert_eq!(parameters(at, &again), of, "{line}");
    }
    fs::write(at.join("run.toml"), "[couette]\ncells = 20\n").unwrap();
    let of = parameters(at, "couette --delta 1 --linear --config run.toml");
    assert_eq!(of["cells"], 20);
    let set = "couette --delta 1 --linear -s couette.cells=24";
    assert_eq!(parameters(at, set)["cells"], 24);
    for (line, why) in [
        (
            "couette --delta 1 --cells 20 --cells 24",
            "cannot be used multiple times",
        ),
        (
            "couette --delta 1 -s couette.cells=20 -s couette.cells=24",
            "cannot be used multiple times",
        ),
        ("couette --delta 1 -s couette.nx=20", "unknown key 'nx'"),
        ("shock --nx 20", "unexpected argument '--nx'"),
        ("shock --omega 0.5", "unexpected argument '--omega'"),
        (
            "isotropic --uncorrected",
            "unexpected argument '--uncorrected'",
        ),
    ] {
        refused(at, &words(line), why);
    }
}

#[test]
fn threads_are_as_many_as_asked_for() {
    let dir = folder();
    let at = dir.path();
    let line = "couette --delta 1 --linear --cells 20 --backend cpu --json";
    let machine = |more: &str, threads: Value| {
        let output = done(at, &words(&format!("{line} {more}")));
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(record["parameters"]["threads"], threads);
        (record["machine"].clone(), record["Pi"].clone())
    };
    let (three, of_three) = machine("--threads 3", 3.into());
    assert_eq!(three, "CPU, 3 threads");
    let (one, of_one) = machine("--threads 1", 1.into());
    machine("", Value::Null);
    assert!(one.as_str().unwrap().starts_with("CPU") && one != three);
    assert_eq!(of_one, of_three);
    for (threads, why) in [
        ("0", "a whole number from 1 to 1024"),
        ("4096", "a whole number from 1 to 1024"),
        ("many", "a whole number from 1 to 1024"),
    ] {
        refused(at, &words(&format!("{line} --threads {threads}")), why);
    }
    // The pool would start them all.
    let output = rarefy(at, &words(line))
        .env("RAYON_NUM_THREADS", "1025")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "rarefy: error: RAYON_NUM_THREADS=1025: expected at most 1024 threads\n"
    );
}

#[test]
fn plates_in_si_units_are_those_of_their_rarefaction() {
    let dir = folder();
    let at = dir.path();
    let si = "--gas argon --pressure 10 --temperature 300 --size 1e-3";
    let line = "fourier --temperature-difference 0.5 --cells 20";
    done(
        at,
        &words(&format!("{line} {si} --backend cpu --quiet --out si")),
    );
    let run = record(&at.join("si"));
    let (units, p) = (&run["units"], &run["parameters"]);
    let delta = 1e-3 / units["length_m"].as_f64().unwrap();
    assert!((p["delta"].as_f64().unwrap() / delta - 1.0).abs() < 1e-12);
    assert_eq!(p["molecules"], "vhs:0.81");
    let plain = format!("{line} --delta {delta} --molecules vhs:0.81 --backend cpu --json");
    let output = done(at, &words(&plain));
    let plain: Value = serde_json::from_slice(&output.stdout).unwrap();
    let q = run["Q"].as_f64().unwrap();
    assert!((plain["Q"].as_f64().unwrap() / q - 1.0).abs() < 1e-9);
    // Q is in units of p0 v0 dT/T0.
    let v0 = units["velocity_m_s"].as_f64().unwrap();
    let flux = run["heat_flux_w_m2"].as_f64().unwrap();
    assert!((flux / (q * 10.0 * v0 * 0.5) - 1.0).abs() < 1e-12);
    let table = fs::read_to_string(at.join("si/profile.csv")).unwrap();
    assert!(
        table
            .lines()
            .next()
            .unwrap()
            .ends_with("pxy_pa,heat_flux_w_m2")
    );
    let again = parameters(at, "fourier --config si/run.json");
    assert_eq!(&again, p);
    for (more, why) in [
        ("--gas argon --pressure 10", "are missing"),
        (&format!("{si} --delta 1"), "cannot be used with"),
        (&format!("{si} --linear --molecules maxwell"), "no effect"),
    ] {
        refused(at, &words(&format!("couette {more}")), why);
    }
}

#[test]
fn records_have_one_shape() {
    let dir = folder();
    let at = dir.path();
    fs::write(at.join("x.txt"), "1\n2\n").unwrap();
    let more = ["sum x.txt", "dot x.txt x.txt", "paper digits"];
    let flows = [
        &format!("{CAVITY} --cells 4"),
        &format!("{SHOCK} --cells 40"),
    ];
    let relax = ["relax --grid 8 --steps 1"];
    let lines = LINES.iter().chain(&more).chain(&relax).copied();
    for line in lines.chain(flows.map(String::as_str)) {
        let output = done(at, &words(&format!("{line} --backend cpu --json")));
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        for key in ["parameters", "result", "timings"] {
            let entry = record[key].as_object();
            assert!(
                entry.is_some_and(|entry| !entry.is_empty()),
                "{line}: {key}"
            );
        }
        for key in ["command", "status", "machine"] {
            assert!(record[key].is_string(), "{line}: {key}");
        }
        assert!(record.get("units").is_some_and(Value::is_null), "{line}");
    }
}

#[test]
fn a_run_has_a_page_and_its_plots_as_vectors() {
    let dir = folder();
    let at = dir.path();
    let cavity = format!("{CAVITY} --cells 8");
    let relax = "relax --grid 8 --steps 2";
    for line in LINES.iter().copied().chain([cavity.as_str(), relax]) {
        if line.starts_with("dft") {
            fs::write(at.join("x.txt"), "1\n2\n").unwrap();
        }
        let quiet = format!("{line} --backend cpu --quiet --out o --overwrite");
        done(at, &words(&quiet));
        let page = fs::read_to_string(at.join("o/report.html")).unwrap();
        let command = line.split(' ').next().unwrap();
        assert!(
            page.contains(&format!("<h1>rarefy {command}</h1>")),
            "{line}"
        );
        // Nothing is loaded from elsewhere.
        for outside in ["src=", "href=", "url(", "NaN"] {
            assert!(!page.contains(outside), "{line}: {outside}");
        }
        let files = record(&at.join("o"));
        let files = files["files"].as_array().unwrap();
        let names = files.iter().map(|name| name.as_str().unwrap());
        let (mut plots, mut tables) = (0, 0);
        for name in names {
            if let Some(stem) = name.strip_suffix(".png") {
                let svg = fs::read_to_string(at.join(format!("{stem}.svg"))).unwrap();
                assert!(page.contains(&svg), "{name}");
                plots += 1;
            }
            if name.ends_with(".csv") {
                let name = name.strip_prefix("o/").unwrap();
                assert!(page.contains(&format!("<h2>{name}</h2>")), "{line}: {name}");
                tables += 1;
            }
        }
        assert_eq!(page.matches("<svg ").count(), plots, "{line}");
        assert!(tables > 0, "{line}");
    }
    // A number without a plot or a table has no page.
    done(at, &words("sum x.txt --out o --overwrite"));
    assert!(!at.join("o/report.html").exists() && at.join("o/run.json").is_file());
}

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../../examples/data/", $name)))),*]
    };
}

/// Files that commands of the README read.
const README_FILES: [(&str, &[u8]); 6] =
    files!("f.npy" "params.csv" "measurements.npy" "x.npy" "y.npy" "ledger.txt");

/// The commands of the README that read a file run as written, from a clone.
#[test]
fn commands_of_the_readme_find_their_files() {
    let dir = folder();
    let data = dir.path().join("examples/data");
    fs::create_dir_all(&data).unwrap();
    for (name, bytes) in README_FILES {
        fs::write(data.join(name), bytes).unwrap();
    }
    let readme = include_str!("../../README.md");
    let lines = readme.lines().filter(|line| line.starts_with("rarefy "));
    let mut count = 0;
    for line in lines {
        let line = line.split(" #").next().unwrap();
        // The economies take longer, and read a file that other tests read too.
        let named = ["--input", ".npy", ".txt", ".csv"];
        if !named.iter().any(|name| line.contains(name)) || line.contains("market") {
            continue;
        }
        let line = line.replace('\'', "");
        done(dir.path(), &words(line.strip_prefix("rarefy ").unwrap()));
        count += 1;
    }
    assert!(count >= 5, "{count} commands were run");
}

/// The numbers of a one-dimensional array.
fn vector(path: &Path) -> Vec<f64> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let numbers = bytes[start..].chunks_exact(8);
    numbers
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

#[test]
fn arrays_have_their_grid_beside_them() {
    let dir = folder();
    let at = dir.path();
    // Ten cells of width 1: the centres are halves of odd numbers, without rounding.
    let f: Vec<f64> = (0..1000)
        .map(|k| {
            let square = |i: i32| (f64::from(i) - 4.5).powi(2);
            (-0.25 * (square(k / 100) + square(k / 10 % 10) + square(k % 10))).exp()
        })
        .collect();
    fs::write(
        at.join("f.npy"),
        npy("<f8", false, "(10, 10, 10)", doubles(&f)),
    )
    .unwrap();
    let centres: Vec<f64> = (0..10).map(|i| f64::from(i) - 4.5).collect();
    let run = |line: &str| done(at, &[&words(line)[..], &["--backend", "cpu"]].concat());
    run("collide --input f.npy --vmax 5 --output q.npy");
    assert_eq!(vector(&at.join("q_grid_v.npy")), centres);
    run("collide --input f.npy --vmax 5 --out parts");
    assert_eq!(vector(&at.join("parts/grid_v.npy")), centres);
    run("relax --init f.npy --vmax 5 --steps 1 --out relaxed");
    assert_eq!(vector(&at.join("relaxed/grid_v.npy")), centres);
    run("cavity --delta 4 --cells 8 --velocities 6x6x6 --steps 1 --out cavity");
    let places: Vec<f64> = (0..8).map(|i| 0.5 * f64::from(i) + 0.25).collect();
    for axis in ["x", "y"] {
        assert_eq!(vector(&at.join(format!("cavity/grid_{axis}.npy"))), places);
    }
    let energies: Vec<f64> = (0..128).map(|i| 0.125 * f64::from(i) + 0.0625).collect();
    for line in [
        "isotropic --cells 128 --emax 16 --steps 1",
        "isotropic --cells 128 --emax 16 --rates-only",
    ] {
        let home = format!("energies{}", line.len());
        run(&format!("{line} --out {home}"));
        assert_eq!(vector(&at.join(home).join("grid_energy.npy")), energies);
    }
    fs::write(at.join("h.csv"), "x_lo,x_hi,share\n0,1,1\n1,3,1\n").unwrap();
    run("market --input h.csv --cells 128 --emax 16 --times 0.1 --out market");
    assert_eq!(vector(&at.join("market/grid_wealth.npy")), energies);
}

/// A file that is cut short is named in one line, without the words of a parser.
#[test]
fn damaged_records_and_checkpoints_are_refused_plainly() {
    let folder = folder();
    let at = folder.path();
    let line = "relax --grid 8 --steps 2 --checkpoint-every 1 --backend cpu --quiet --out run";
    done(at, &words(line));
    let record = fs::read(at.join("run/run.json")).unwrap();
    fs::write(at.join("cut.json"), &record[..record.len() / 2]).unwrap();
    refused(
        at,
        &words("relax --config cut.json"),
        "cut.json: the record is damaged or cut short at line ",
    );
    // A header that another version wrote, with its checksum.
    let checkpoint = fs::read(at.join("run/checkpoint.rarefy")).unwrap();
    let lines: Vec<&[u8]> = checkpoint.splitn(3, |byte| *byte == b'\n').collect();
    let header = text(lines[1]).replace("\"samples\":", "\"pictures\":");
    assert_ne!(header.as_bytes(), lines[1]);
    let data = &lines[2][..lines[2].len() - 4];
    let mut other = [lines[0], header.as_bytes(), data].join(&b'\n');
    let sum = crc32(&other);
    other.extend(sum.to_le_bytes());
    fs::write(at.join("other.rarefy"), other).unwrap();
    refused(
        at,
        &words("relax --resume other.rarefy --steps 4"),
        "does not fit rarefy",
    );
}

/// The checksum of a checkpoint.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
    let byte = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), step);
    !bytes.iter().fold(u32::MAX, byte)
}

/// A record cannot hold a name that is not UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn inputs_without_a_name_in_utf8_draw_a_warning() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use crate::command::rarefy;

    let folder = folder();
    let at = folder.path();
    let name = OsStr::from_bytes(b"numbers-\xff.txt");
    fs::write(at.join(name), "1\n2\n").unwrap();
    let output = rarefy(at, &["sum", "--out", "run"])
        .arg(name)
        .output()
        .unwrap();
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("is not UTF-8: --config run.json will not find the file"));
    let record = fs::read(at.join("run/run.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["warnings"].as_array().unwrap().len(), 1);
}

/// Threads that the system refuses are done without; a wish for them is refused, as is one that is no number.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_the_system_refuses_end_no_run() {
    let dir = folder();
    let at = dir.path();
    let line = "couette --delta 1 --velocities 8x4 --cells 10 --backend cpu --json --quiet";
    let output = rarefy(at, &words(line))
        .env("RAYON_NUM_THREADS", "x")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "rarefy: error: RAYON_NUM_THREADS=x: expected a number of threads, 1 to 1024\n"
    );
    // A user of its own has as many threads as it starts; only root becomes one.
    let few = |line: &str| {
        let binary = rarefy(at, &[]).get_program().to_owned();
        std::process::Command::new("setpriv")
            .args([
                "--reuid=54321",
                "--regid=54321",
                "--clear-groups",
                "prlimit",
                "--nproc=2",
            ])
            .arg(binary)
            .args(words(line))
            .current_dir(at)
            .output()
    };
    std::fs::set_permissions(at, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let Ok(version) = few("--version") else {
        return;
    };
    if !version.status.success() {
        return;
    }
    let output = few(line).unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let result: Value = serde_json::from_str(text(&output.stdout)).unwrap();
    assert!(result["status"].is_string());
    let output = few(&format!("{line} --threads 8")).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--threads 8: the system refuses more than"));
}
