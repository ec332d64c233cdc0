//! The command as its users meet it: what it prints, what it writes, how it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::command::{
    data, done, doubles, folder, interrupted, listing, npy, object, rarefy, refused, started, text,
};

const N: usize = 6;

/// A distribution without symmetry, small at the boundary of [-5, 5]^3.
fn values() -> Vec<f64> {
    let xi = |i: usize| -5.0 + (i as f64 + 0.5) * 10.0 / N as f64;
    (0..N * N * N)
        .map(|cell| {
            let [x, y, z] = [xi(cell / (N * N)), xi(cell / N % N), xi(cell % N)];
            (-(x - 0.4).powi(2) - (y + 0.3).powi(2) * 0.8 - z * z * 0.7).exp() * (1.0 + 0.02 * z)
        })
        .collect()
}

fn write_f(folder: &Path, name: &str, values: &[f64]) {
    let bytes = npy("<f8", false, "(6, 6, 6)", doubles(values));
    fs::write(folder.join(name), bytes).unwrap();
}

const COLLIDE: [&str; 7] = [
    "collide", "--input", "f.npy", "--vmax", "5", "--output", "q.npy",
];

/// A short relaxation on the CPU; `--json` keeps it from writing.
const SHORT: [&str; 9] = [
    "relax",
    "--no-verify",
    "--backend",
    "cpu",
    "--grid",
    "14",
    "--steps",
    "4",
    "--json",
];

fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [base, more].concat()
}

// Help and usage.

#[test]
fn without_a_subcommand_there_is_help() {
    let dir = folder();
    let output = done(dir.path(), &[]);
    for command in ["relax", "collide", "doctor"] {
        assert!(text(&output.stdout).contains(command));
    }
    assert!(output.stderr.is_empty());
    let version = done(dir.path(), &["--version"]);
    assert!(text(&version.stdout).starts_with("rarefy "));
}

#[test]
fn every_subcommand_has_help() {
    let dir = folder();
    for (command, option) in [
        ("relax", "--checkpoint-every"),
        ("collide", "--frequency"),
        ("rates", "--convergence"),
        ("isotropic", "--rates-only"),
        ("market", "--scenario"),
        ("couette", "--out"),
        ("fourier", "--out"),
        ("shock", "--mach"),
        ("cavity", "--out"),
        ("longman", "--out"),
        ("sum", "--exact"),
        ("dot", "--round"),
        ("dft", "--digits"),
        ("paper", "frontier"),
        ("paper bench", "--quick"),
        ("paper digits", "--digits"),
        ("paper frontier", "--convergence"),
        ("paper timings", "<FILE>"),
        ("paper validate", "--quick"),
        ("doctor", "--json"),
        ("completions", "<SHELL>"),
        ("man", "<DIR>"),
    ] {
        let line: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let output = done(dir.path(), &line);
        assert!(text(&output.stdout).contains(option), "{command}");
        let example = format!("\n  rarefy {command} ");
        assert!(text(&output.stdout).contains(&example), "{command}");
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn shells_and_manuals_know_the_options() {
    let dir = folder();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = done(dir.path(), &["completions", shell]);
        assert!(text(&output.stdout).contains("checkpoint-every"), "{shell}");
    }
    refused(dir.path(), &["completions", "csh"], "'csh'");
    done(dir.path(), &["man", "pages/man1"]);
    let page = |name: &str| fs::read_to_string(dir.path().join("pages/man1").join(name)).unwrap();
    assert!(page("rarefy.1").contains(".TH rarefy"));
    assert!(page("rarefy-relax.1").contains("rarefy relax"));
    assert!(page("rarefy-paper.1").contains("frontier"));
    assert!(page("rarefy-paper-digits.1").contains("rarefy paper digits"));
    refused(
        dir.path(),
        &["man", "pages/man1/rarefy.1"],
        "a file is in the place",
    );
}

#[test]
fn settings_lie_between_the_command_line_and_the_file() {
    let dir = folder();
    fs::write(
        dir.path().join("run.toml"),
        "[common]\nprecision = \"f32\"\n[relax]\ngrid = 8\ndt = 0.0625\nno-correction = true\n",
    )
    .unwrap();
    let parameters = |arguments: &[&str]| {
        let mut all = vec![
            "relax",
            "--config",
            "run.toml",
            "--steps",
            "1",
            "--backend",
            "cpu",
            "--json",
            "--quiet",
        ];
        all.extend(arguments);
        object(&done(dir.path(), &all))["parameters"].clone()
    };
    let run = parameters(&[]);
    assert_eq!(
        (&run["grid"], &run["no-correction"]),
        (&json!(8), &json!(true))
    );
    let run = parameters(&[
        "-s",
        "relax.grid=6",
        "-s",
        "relax.no-correction=false",
        "-s",
        "collide.frequency=true",
    ]);
    assert_eq!(
        (&run["grid"], &run["precision"], &run["dt"]),
        (&json!(6), &json!("f32"), &json!(0.0625))
    );
    let run = parameters(&[
        "-s",
        "relax.grid=6",
        "-s",
        "common.precision=f64",
        "--grid",
        "7",
    ]);
    assert_eq!(
        (&run["grid"], &run["precision"]),
        (&json!(7), &json!("f64"))
    );
    for (setting, why) in [
        (
            "relax.gird=6",
            "-s: unknown key 'gird' in [relax]; did you mean 'grid'?",
        ),
        (
            "relaks.grid=6",
            "-s: unknown section or key 'relaks'; did you mean 'relax'?",
        ),
        (
            "grid=6",
            "-s takes SECTION.KEY=VALUE, such as relax.grid=24, not 'grid=6'",
        ),
        ("relax.grid", "-s takes SECTION.KEY=VALUE"),
        ("relax.grid=x", "-s: invalid value 'x' for '--grid"),
        ("relax.no-correction=1", "must be true or false"),
        ("relax.=1", "unknown key ''"),
    ] {
        refused(dir.path(), &["relax", "-s", setting], why);
    }
    refused(
        dir.path(),
        &["relax", "-s", "relax.grid=6", "-s", "relax.grid=5"],
        "-s relax.grid: this setting cannot be used multiple times",
    );
}

#[test]
fn wrong_options_are_refused_in_one_line() {
    let dir = folder();
    let refuse = |arguments: &[&str], why: &str| refused(dir.path(), arguments, why);
    refuse(&["relaks"], "'relax'");
    refuse(&["relax", "--gird", "20"], "'--grid'");
    refuse(
        &["relax", "--backend", "gpu"],
        "auto, cuda, cpu, emulator, reference",
    );
    refuse(&["relax", "--precision", "f16"], "f32, f64");
    refuse(&["relax", "--integrator", "rk4"], "ssprk3");
    refuse(&["relax", "--molecules", "vhs:2"], "vhs:OMEGA");
    refuse(&["relax", "--molecules", "soft"], "hard-sphere");
    refuse(&["relax", "--init", "bkw:0.5"], "3/5 <= K0 < 1");
    refuse(&["relax", "--init", "bkw:1"], "3/5 <= K0 < 1");
    refuse(&["relax", "--init", "bkw:x"], "3/5 <= K0 < 1");
    refuse(&["relax", "--init", "something"], "two-maxwellians");
    refuse(&["relax", "--init", "two-maxwellians:inf"], "finite speed");
    refuse(&["relax", "--grid", "2"], "from 3 to 64");
    refuse(&["relax", "--grid", "65"], "from 3 to 64");
    refuse(&["relax", "--grid", "-1"], "from 3 to 64");
    refuse(&["relax", "--vmax", "nan"], "finite number");
    refuse(&["relax", "--vmax", "-5"], "lower bound below");
    refuse(
        &["relax", "--vmin", "7", "--vmax", "6"],
        "lower bound below",
    );
    refuse(&["relax", "--order", "3"], "2, 4");
    refuse(&["rates", "--order", "3"], "2, 4");
    refuse(&["rates", "--convergence", "12,x"], "from 3 to 64");
    refuse(&["rates", "--convergence", ""], "12,16,20,24");
    refuse(&["rates", "--grid", "2"], "from 3 to 64");
    refuse(&["relax", "--sigma-t", "0"], "positive");
    refuse(&["relax", "--dt", "-0.1"], "positive");
    refuse(&["relax", "--dt", "inf"], "positive");
    refuse(
        &["relax", "--dt", "1e-300"],
        "--dt: 1e-300; expected at least",
    );
    refuse(&["relax", "--until", "1e300"], "at most 1e12 steps away");
    refuse(&["relax", "--until", "soon"], "equilibrium[:FRACTION]");
    refuse(&["relax", "--until", "equilibrium:2"], "0 < FRACTION < 1");
    refuse(&["relax", "--steps", "0"], "above zero");
    refuse(
        &["relax", "--steps", "3", "--until", "1"],
        "cannot be used with",
    );
    refuse(&["relax", "--json", "--checkpoint-every", "3"], "--out");
    refuse(&["collide"], "--input");
    refuse(&["collide", "--input", "f.npy", "--vmax", "5"], "--output");
}

// Input files.

#[test]
fn what_is_not_a_distribution_is_refused() {
    let dir = folder();
    let path = dir.path();
    let refuse = |bytes: &[u8], why: &str| {
        fs::write(path.join("f.npy"), bytes).unwrap();
        refused(path, &COLLIDE, why);
        let relax = ["relax", "--init", "f.npy", "--vmax", "5", "--out", "out"];
        refused(path, &relax, why);
    };
    let good = doubles(&values());
    refuse(b"", "not a .npy file");
    refuse(b"1 2 3", "not a .npy file");
    refuse(b"\x93NUMPY", "cut short within its header");
    refuse(
        &npy("<f8", false, "(6, 6, 6)", &good)[..40],
        "cut short within its header",
    );
    refuse(b"\x93NUMPY\x07\x00\x00\x00", "version 7");
    refuse(&npy("<f8", false, "[6]", &good), "header");
    refuse(
        &npy("<f8", false, "(6M, 6, 6)", &good),
        "numpy.save writes one with descr",
    );
    refuse(
        &npy("<f8", false, "(6, 6, 6)", &good[8..]),
        "1720 of 1728 bytes",
    );
    refuse(&npy("<f8", false, "(6, 6, 5)", &good), "shape (6, 6, 5)");
    refuse(&npy("<f8", false, "(216,)", &good), "shape (216,)");
    refuse(&npy("<f8", false, "(2, 2, 2)", &good), "N from 3 to 64");
    refuse(
        &npy("<f8", false, "(100000, 100000, 100000)", &good),
        "N from 3 to 64",
    );
    refuse(
        &npy("<f8", false, "(5, 5, 5)", &good),
        "more than the 1000 bytes of data that its header announces",
    );
    refuse(&npy("<i8", false, "(6, 6, 6)", &good), "int64");
    refuse(&npy("<c16", false, "(6, 6, 6)", &good), "complex128");
    refuse(&npy("<f2", false, "(6, 6, 6)", &good), "float16");
    refuse(&npy("|O", false, "(6, 6, 6)", &good), "Python objects");
    refuse(
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
        "more than 10000 bytes",
    );
    refuse(
        &npy("<f8", false, &"(".repeat(60_000), &good),
        "more than 10000 bytes",
    );
    refuse(&npy("<f8", false, &"(".repeat(900), &good), "header");
    let mut records = npy("<f8", false, "(6, 6, 6)", &good);
    let place = records.iter().position(|&b| b == b'<').unwrap() - 1;
    records.splice(place..place + 5, *b"[('a', '<f8')]");
    records.drain(127..136);
    refuse(&records, "holds records; float32 or float64 is needed");

    let refuse = |change: &dyn Fn(&mut [f64]), why: &str| {
        let mut values = values();
        change(&mut values);
        refuse(&npy("<f8", false, "(6, 6, 6)", doubles(&values)), why);
    };
    refuse(
        &|f| f[43] = f64::NAN,
        "1 value is not finite; it is f[1][1][1] = NaN",
    );
    refuse(
        &|f| f[43..46].fill(f64::INFINITY),
        "3 values are not finite; the first is f[1][1][1] = inf",
    );
    refuse(
        &|f| f[8..10].fill(-0.5),
        "2 values are negative; the first is f[0][1][2] = -0.5",
    );
    refuse(&|f| f.fill(0.0), "zero density");
}

#[test]
fn missing_files_are_refused() {
    let dir = folder();
    let path = dir.path();
    refused(path, &COLLIDE, "f.npy: no such file");
    refused(
        path,
        &["relax", "--init", "f.npy", "--vmax", "5"],
        "f.npy: no such file",
    );
    refused(
        path,
        &["relax", "--config", "run.toml"],
        "run.toml: no such file",
    );
    refused(
        path,
        &["relax", "--resume", "c.rarefy"],
        "c.rarefy: no such file",
    );
    fs::create_dir(path.join("f.npy")).unwrap();
    refused(path, &COLLIDE, "f.npy: a folder");
}

#[test]
fn a_file_needs_its_box_and_its_own_size() {
    let dir = folder();
    write_f(dir.path(), "f.npy", &values());
    refused(dir.path(), &["relax", "--init", "f.npy"], "--vmax");
    let sized = ["relax", "--init", "f.npy", "--vmax", "5", "--grid", "7"];
    refused(dir.path(), &sized, "(7, 7, 7) is needed");
}

#[test]
fn a_box_that_holds_nothing_is_refused() {
    let dir = folder();
    let far = ["relax", "--grid", "8", "--vmin", "900", "--vmax", "950"];
    refused(dir.path(), &far, "expected a density in the velocity box");
}

// Output.

/// A file that a run reads is never written over, nor removed with the run that it belongs to.
#[test]
fn inputs_are_kept() {
    let dir = folder();
    let at = dir.path();
    fs::write(at.join("rows.csv"), "lambda,omega\n1,2\n").unwrap();
    fs::write(at.join("numbers.txt"), "1\n2\n").unwrap();
    let start = "relax --backend cpu --init bkw:0.7 --vmax 4.4 --grid 9 --steps 1 --out run";
    done(at, &start.split(' ').collect::<Vec<_>>());
    for line in [
        "longman --family damped-cos --input rows.csv --output rows.csv",
        "sum numbers.txt --output numbers.txt",
        "dot numbers.txt numbers.txt --output ./numbers.txt",
        "collide --backend cpu --input run/f_final.npy --vmax 4.4 --output run/f_final.npy",
        "relax --backend cpu --init run/f_final.npy --vmax 4.4 --steps 1 --out run --overwrite",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        refused(at, &arguments, "this is an input of the run");
    }
}

#[test]
fn places_that_cannot_be_written_are_refused_before_the_work() {
    let dir = folder();
    let path = dir.path();
    write_f(path, "f.npy", &values());
    fs::write(path.join("file"), "x").unwrap();
    let into = |out: &str, why: &str| {
        refused(path, &["relax", "--grid", "8", "--out", out], why);
        refused(
            path,
            &["collide", "--input", "f.npy", "--vmax", "5", "--out", out],
            why,
        );
    };
    into("file", "a file is in the place of this folder");
    into("file/below", "file/below");
    if cfg!(target_os = "linux") {
        into("/proc/rarefy", "/proc/rarefy: cannot make this folder");
        into("/proc", "/proc: cannot write to this folder");
        refused(
            path,
            &with(&COLLIDE[..6], &["/dev/null"]),
            "not a regular file",
        );
    }
    refused(
        path,
        &with(&COLLIDE[..6], &["none/q.npy"]),
        "there is no folder none",
    );
    refused(
        path,
        &with(&COLLIDE[..6], &["."]),
        "a folder is in the place of this file",
    );
    refused(
        path,
        &with(&COLLIDE, &["--gain", "q.npy"]),
        "two outputs have this name",
    );
}

/// Runs the command where no file may have more than so many bytes, as on a disk that is full.
#[cfg(target_os = "linux")]
fn with_small_files(folder: &Path, bytes: u64, arguments: &[&str]) -> Output {
    let command = rarefy(folder, arguments);
    // The shell counts in blocks of 512 bytes; a signal would end the command before it could say a word.
    let script = "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"";
    Command::new("sh")
        .current_dir(folder)
        .args(["-c", script, "sh", &bytes.div_ceil(512).to_string()])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_can_be_written_are_kept() {
    let dir = folder();
    let path = dir.path();
    let run = [
        "relax",
        "--backend",
        "cpu",
        "--init",
        "bkw:0.7",
        "--vmax",
        "4.4",
        "--grid",
        "9",
        "--steps",
        "4",
    ];
    done(path, &with(&run, &["--out", "whole", "--quiet"]));
    // Plots and the page that holds them are larger than this, arrays and tables are not.
    let output = with_small_files(path, 12 << 10, &with(&run, &["--out", "part"]));
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    // On a slow machine lines of progress come before it.
    let is_error = |line: &&str| line.starts_with("rarefy: error: ");
    let errors: Vec<&str> = stderr.lines().filter(is_error).collect();
    let begin = "rarefy: error: part/cross_section_x.png: file too large; nor could 4";
    assert!(
        matches!(errors[..], [line] if line.starts_with(begin)),
        "{stderr}"
    );
    assert!(stderr.contains("the other results are written"), "{stderr}");
    assert!(!stderr.contains("checkpoint"), "{stderr}");
    // The numbers are printed, without a word of a folder that has all files.
    let summary = text(&output.stdout);
    assert!(
        summary.contains("entropy") || summary.contains("H "),
        "{summary}"
    );
    assert!(!summary.contains("written to"), "{summary}");
    let report: Value =
        serde_json::from_slice(&fs::read(path.join("part/run.json")).unwrap()).unwrap();
    let named = report["files"].as_array().unwrap().iter();
    let mut named: Vec<_> = named
        .map(|name| path.join(name.as_str().unwrap()).display().to_string())
        .collect();
    named.sort();
    assert_eq!(named, listing(&path.join("part")));
    for name in ["f_final.npy", "history.csv", "cross_sections.csv"] {
        let [whole, part] =
            ["whole", "part"].map(|run| fs::read(path.join(run).join(name)).unwrap());
        assert!(whole == part, "{name} differs");
    }

    // Where there is a checkpoint, the line says how to go on.
    let save = ["--checkpoint-every", "2", "--out", "saved", "--quiet"];
    let output = with_small_files(path, 24 << 10, &with(&run, &save));
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let resume = "rarefy relax --resume saved/checkpoint.rarefy";
    assert!(stderr.trim_end().ends_with(resume), "{stderr}");
    let mut resume: Vec<&str> = resume.split(' ').skip(1).collect();
    resume.extend(["--steps", "5", "--quiet"]);
    done(path, &resume);
    assert!(path.join("saved/cross_section_x.png").is_file());

    // Where nothing can be written, the run goes on to its numbers all the same, and leaves nothing.
    let nowhere = ["--checkpoint-every", "1", "--out", "nowhere", "--json"];
    let output = with_small_files(path, 0, &with(&run, &nowhere));
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let lines: Vec<_> = stderr.lines().collect();
    let warning = "rarefy: warning: no checkpoint, and the run goes on: nowhere/checkpoint.rarefy: file too large";
    let error = "rarefy: error: nowhere/checkpoint.rarefy: file too large; nor could 16 other files be written";
    assert_eq!(lines, [warning, error]);
    let report = object(&output);
    assert_eq!(report["result"]["steps"], 4);
    assert_eq!(report["warnings"].as_array().unwrap().len(), 1);
    assert!(!path.join("nowhere").exists());
}

#[test]
fn a_time_step_beyond_stability_is_refused() {
    let dir = folder();
    let run = ["relax", "--grid", "8", "--dt", "100", "--out", "a/b"];
    refused(dir.path(), &run, "100");
}

#[test]
fn json_is_alone_on_standard_output() {
    let dir = folder();
    let output = done(dir.path(), &SHORT);
    let run = object(&output);
    assert_eq!(run["command"], "relax");
    assert_eq!(run["parameters"]["grid"], 14);
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    assert!(listing(dir.path()).is_empty());

    write_f(dir.path(), "f.npy", &values());
    let run = object(&done(dir.path(), &with(&COLLIDE, &["--json"])));
    assert_eq!(run["command"], "collide");
    assert!(run["conservation"]["residuals"].is_array());
}

#[test]
fn quiet_means_silence() {
    let dir = folder();
    let output = done(
        dir.path(),
        &[
            "relax",
            "--grid",
            "14",
            "--steps",
            "2",
            "--quiet",
            "--no-verify",
            "--out",
            "o",
        ],
    );
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    assert!(dir.path().join("o/run.json").is_file());
}

#[test]
fn a_relaxation_writes_tables_arrays_plots_and_run_json() {
    let dir = folder();
    let output = done(
        dir.path(),
        &["relax", "--backend", "cpu", "--grid", "8", "--steps", "5"],
    );
    let summary = text(&output.stdout);
    assert!(
        summary.contains("rarefy-out/relax") && summary.contains("backend"),
        "{summary}"
    );
    let out = dir.path().join("rarefy-out/relax");
    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    for key in [
        "command",
        "version",
        "parameters",
        "machine",
        "result",
        "conservation",
        "timings",
        "warnings",
        "files",
    ] {
        assert!(!run[key].is_null(), "{key}");
    }
    assert_eq!(run["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(run["result"]["steps"], 5);
    assert!(run["conservation"]["drift"]["mass"].as_f64().unwrap() < 1e-12);
    let files: Vec<_> = run["files"].as_array().unwrap().iter().collect();
    assert_eq!(files.len(), listing(&out).len());
    for file in files {
        assert!(dir.path().join(file.as_str().unwrap()).is_file(), "{file}");
    }

    let table = fs::read_to_string(out.join("history.csv")).unwrap();
    let mut lines = table.lines();
    assert_eq!(
        lines.next(),
        Some(
            "step,time,density,ux,uy,uz,temperature,pxx,pyy,pzz,pxy,pxz,pyz,qx,qy,qz,m4,H,min_f,activity,below_zero"
        )
    );
    assert_eq!(lines.count(), 6);
    assert_eq!(data(&out.join("f_initial.npy")).len(), 512);
    let end = data(&out.join("f_final.npy"));
    let sections = data(&out.join("cross_sections.npy"));
    let times = sections.len() / 16;
    assert!((2..=8).contains(&times));
    // The last row along x: the mean of the four rows of cells around the axis.
    let at = |x: usize, y: usize, z: usize| end[(x * 8 + y) * 8 + z];
    let mean = (at(2, 3, 3) + at(2, 3, 4) + at(2, 4, 3) + at(2, 4, 4)) / 4.0;
    assert!((sections[(times - 1) * 8 + 2] - mean).abs() < 1e-15);
    for plot in ["cross_section_x", "cross_section_y", "moments", "entropy"] {
        let bytes = fs::read(out.join(format!("{plot}.png"))).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
            .read_info()
            .unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (1200, 800), "{plot}");
        let ink = pixels.iter().filter(|p| **p < 128).count();
        assert!(ink > 1000, "{plot} is blank");
    }
}

#[test]
fn single_precision_writes_single_precision() {
    let dir = folder();
    write_f(dir.path(), "f.npy", &values());
    done(dir.path(), &with(&COLLIDE, &["--precision", "f32"]));
    let bytes = fs::read(dir.path().join("q.npy")).unwrap();
    assert_eq!(bytes.len(), 128 + 4 * N * N * N);
    assert!(
        text(&bytes[10..128])
            .contains("'descr': '<f4', 'fortran_order': False, 'shape': (6, 6, 6)")
    );
}

#[test]
fn arrays_are_read_in_every_order_and_width() {
    let dir = folder();
    let path = dir.path();
    // Values that single precision holds exactly.
    let f: Vec<f64> = values().iter().map(|&v| f64::from(v as f32)).collect();
    let transposed: Vec<f64> = (0..N * N * N)
        .map(|at| f[(at % N * N + at / N % N) * N + at / (N * N)])
        .collect();
    let singles = |f: &[f64]| {
        f.iter()
            .flat_map(|&v| (v as f32).to_le_bytes())
            .collect::<Vec<_>>()
    };
    let big: Vec<u8> = f.iter().flat_map(|v| v.to_be_bytes()).collect();
    let big_singles: Vec<u8> = f.iter().flat_map(|&v| (v as f32).to_be_bytes()).collect();
    let forms = [
        npy("<f8", false, "(6, 6, 6)", doubles(&f)),
        npy("<f8", true, "(6, 6, 6)", doubles(&transposed)),
        npy("<f4", false, "(6, 6, 6)", singles(&f)),
        npy("<f4", true, "(6, 6, 6,)", singles(&transposed)),
        npy(">f8", false, "(6,6,6)", &big),
        npy(">f4", false, "(6, 6, 6)", &big_singles),
    ];
    for form in forms {
        fs::write(path.join("f.npy"), form).unwrap();
        done(
            path,
            &[
                "relax",
                "--init",
                "f.npy",
                "--vmax",
                "5",
                "--steps",
                "1",
                "--out",
                "o",
                "--quiet",
                "--overwrite",
            ],
        );
        assert_eq!(data(&path.join("o/f_initial.npy")), f);
    }
}

#[test]
fn a_collision_integral_is_gain_minus_loss() {
    let dir = folder();
    let path = dir.path();
    write_f(path, "f.npy", &values());
    let more = [
        "--no-correction",
        "--gain",
        "g.npy",
        "--frequency",
        "nu.npy",
    ];
    let output = done(path, &with(&COLLIDE, &more));
    assert!(text(&output.stdout).contains("correction    off"));
    let [q, g, nu] = ["q.npy", "g.npy", "nu.npy"].map(|name| data(&path.join(name)));
    let scale = g.iter().copied().fold(0.0, f64::max);
    for (cell, f) in values().iter().enumerate() {
        assert!((q[cell] - (g[cell] - f * nu[cell])).abs() <= 1e-14 * scale);
    }
    done(
        path,
        &["collide", "--input", "f.npy", "--vmax", "5", "--out", "o"],
    );
    for name in [
        "q.npy",
        "gain.npy",
        "nu.npy",
        "cross_sections.csv",
        "cross_section_x.png",
        "run.json",
    ] {
        assert!(path.join("o").join(name).is_file(), "{name}");
    }
}

#[test]
fn mass_lost_at_the_boundary_is_a_warning() {
    let dir = folder();
    let path = dir.path();
    write_f(path, "f.npy", &[1.0; N * N * N]);
    let output = done(path, &with(&COLLIDE, &["--json"]));
    let warning = text(&output.stderr);
    assert!(
        warning.starts_with("rarefy: warning: f does not fall off"),
        "{warning}"
    );
    assert_eq!(warning.lines().count(), 1);
    assert_eq!(object(&output)["warnings"].as_array().unwrap().len(), 1);

    let output = done(path, &with(&SHORT, &["--vmax", "3"]));
    assert!(text(&output.stderr).contains("is lost outside"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let dir = folder();
    for arguments in [vec![], vec!["relax", "--help"], SHORT.to_vec()] {
        let mut child = started(&mut rarefy(dir.path(), &arguments));
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = rarefy(dir.path(), &SHORT).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("rarefy: error: standard output: "));
}

// Configuration.

#[test]
fn flags_lie_over_the_file() {
    let dir = folder();
    let path = dir.path();
    let toml = "[common]\nbackend = 'cpu'\nprecision = 'f32'\njson = true\n\
                [relax]\ngrid = 6\nsteps = 2\nmolecules = 'vhs:0.75'\nno-correction = true\nvmin = -6\n\
                [collide]\nvmax = 5.0\ninput = 'f.npy'\noutput = 'q.npy'\n";
    fs::write(path.join("run.toml"), toml).unwrap();
    let run = object(&done(
        path,
        &["relax", "--config", "run.toml", "--grid", "7"],
    ));
    let parameters = &run["parameters"];
    assert_eq!(parameters["grid"], 7);
    assert_eq!(parameters["steps"], 2);
    assert_eq!(parameters["vmin"], -6.0);
    assert_eq!(parameters["molecules"], "vhs:0.75");
    assert_eq!(parameters["precision"], "f32");
    assert_eq!(parameters["no-correction"], true);
    // --until excludes the file's steps.
    let run = object(&done(
        path,
        &["relax", "--config", "run.toml", "--until", "0.01"],
    ));
    assert!(run["parameters"]["steps"].is_null());
    assert_eq!(run["parameters"]["until"], "0.01");
    // Required options may be in the file.
    write_f(path, "f.npy", &values());
    let run = object(&done(path, &["collide", "--config", "run.toml"]));
    assert_eq!(run["parameters"]["vmax"], 5.0);
}

/// Of one layer the command's own section goes before that of all commands. A switch that is off stays off below.
#[test]
fn the_section_of_a_command_lies_over_the_common_one() {
    let dir = folder();
    let path = dir.path();
    let toml = "[common]\nprecision = 'f32'\nthreads = 2\nno-correction = true\n\
                [relax]\nprecision = 'f64'\ngrid = 6\nsteps = 1\nno-correction = false\n";
    fs::write(path.join("run.toml"), toml).unwrap();
    let relax = "relax --backend cpu --json --quiet --config run.toml";
    let parameters = |more: &str| {
        let line = format!("{relax} {more}");
        let words: Vec<&str> = line.split_whitespace().collect();
        object(&done(path, &words))["parameters"].clone()
    };
    let of_file = parameters("");
    assert_eq!(of_file["precision"], "f64");
    assert_eq!(of_file["threads"], 2);
    assert_eq!(of_file["no-correction"], false);
    assert_eq!(
        parameters("-s common.precision=f32")["precision"],
        "f32",
        "-s lies over all of the file"
    );
    let both = "-s common.grid=7 -s relax.grid=5";
    assert_eq!(parameters(both)["grid"], 5);
    assert_eq!(parameters(&format!("{both} --grid 4"))["grid"], 4);
    let off = "[relax]\nno-correction = true\ngrid = 6\nsteps = 1\n";
    fs::write(path.join("run.toml"), off).unwrap();
    assert_eq!(parameters("")["no-correction"], true);
    assert_eq!(
        parameters("-s relax.no-correction=false")["no-correction"],
        false
    );
    // Options that exclude each other do so from section to section.
    let toml = "[common]\nuntil = 1.0\n[relax]\ngrid = 6\nsteps = 1\n";
    fs::write(path.join("run.toml"), toml).unwrap();
    assert!(parameters("")["until"].is_null());
}

#[test]
fn wrong_files_of_options_are_refused() {
    let dir = folder();
    let path = dir.path();
    let refuse = |toml: &str, why: &str| {
        fs::write(path.join("run.toml"), toml).unwrap();
        refused(path, &["relax", "--config", "run.toml"], why);
    };
    refuse(
        "[relax]\ngird = 8",
        "unknown key 'gird' in [relax]; did you mean 'grid'?",
    );
    refuse("[common]\nbakend = 'cpu'", "did you mean 'backend'?");
    refuse("[collide]\nfrequancy = 'x'", "did you mean 'frequency'?");
    refuse("[relaxx]\ngrid = 8", "did you mean 'relax'?");
    refuse("grid = 8", "'grid'");
    refuse("[relax]\nconfig = 'x'", "unknown key 'config'");
    refuse("[relax]\ngrid = 'many'", "run.toml: ");
    refuse("[relax]\ngrid = [8]", "must be a number or a string");
    refuse("[relax]\nno-correction = 1", "must be true or false");
    refuse("[relax]\ngrid = 80", "from 3 to 64");
    refuse("[relax\ngrid = 8", "line 1");
    refuse("[relax]\nsteps = 3\nuntil = 1", "cannot be used with");
}

#[test]
fn run_json_runs_it_again() {
    let dir = folder();
    let path = dir.path();
    let first = [
        "relax",
        "--init",
        "bkw:0.7",
        "--grid",
        "7",
        "--until",
        "0.3",
        "--backend",
        "cpu",
        "--out",
        "a",
        "--quiet",
    ];
    done(path, &first);
    done(
        path,
        &["relax", "--config", "a/run.json", "--out", "b", "--quiet"],
    );
    let bytes = |name: &str| fs::read(path.join(name)).unwrap();
    assert_eq!(bytes("a/f_final.npy"), bytes("b/f_final.npy"));
    assert_eq!(bytes("a/history.csv"), bytes("b/history.csv"));
    // --steps excludes the file's end.
    let steps = ["relax", "--config", "a/run.json", "--steps", "1", "--json"];
    assert_eq!(object(&done(path, &steps))["result"]["steps"], 1);
    fs::write(path.join("x.json"), "{}").unwrap();
    refused(path, &["relax", "--config", "x.json"], "not the run.json");
}

// Checkpoints.

const RESULTS: [&str; 8] = [
    "history.csv",
    "f_initial.npy",
    "f_final.npy",
    "cross_sections.npy",
    "cross_sections.csv",
    "cross_section_x.png",
    "moments.png",
    "entropy.png",
];

fn same_results(folder: &Path, a: &str, b: &str) {
    for name in RESULTS {
        let [a, b] = [a, b].map(|run| fs::read(folder.join(run).join(name)).unwrap());
        assert!(a == b, "{name} differs");
    }
}

#[test]
fn a_resumed_run_ends_with_the_same_bits() {
    let dir = folder();
    let path = dir.path();
    for precision in ["f64", "f32"] {
        let base = [
            "relax",
            "--backend",
            "cpu",
            "--grid",
            "8",
            "--quiet",
            "--overwrite",
            "--precision",
            precision,
        ];
        done(path, &with(&base, &["--steps", "9", "--out", "whole"]));
        done(
            path,
            &with(
                &base,
                &["--steps", "4", "--out", "part", "--checkpoint-every", "3"],
            ),
        );
        done(
            path,
            &[
                "relax",
                "--resume",
                "part/checkpoint.rarefy",
                "--steps",
                "9",
                "--out",
                "rest",
                "--quiet",
                "--overwrite",
            ],
        );
        same_results(path, "whole", "rest");
    }
    // Without --out the results go where the checkpoint is.
    done(
        path,
        &[
            "relax",
            "--resume",
            "part/checkpoint.rarefy",
            "--steps",
            "9",
            "--quiet",
        ],
    );
    same_results(path, "whole", "part");
}

#[test]
fn the_fourth_order_goes_on_through_its_traces_of_negative_values() {
    let dir = folder();
    let path = dir.path();
    let base = [
        "relax",
        "--backend",
        "cpu",
        "--grid",
        "10",
        "--vmax",
        "5",
        "--correction",
        "paper",
        "--order",
        "4",
        "--quiet",
        "--out",
    ];
    done(path, &with(&base, &["whole", "--steps", "12"]));
    let half = ["part", "--steps", "8", "--checkpoint-every", "4"];
    done(path, &with(&base, &half));
    let f = data(&path.join("part/f_final.npy"));
    assert!(f.iter().any(|&f| f < 0.0));
    let resume = [
        "relax",
        "--resume",
        "part/checkpoint.rarefy",
        "--order",
        "4",
    ];
    done(
        path,
        &with(&resume, &["--steps", "12", "--out", "rest", "--quiet"]),
    );
    same_results(path, "whole", "rest");
    let run: Value =
        serde_json::from_slice(&fs::read(path.join("rest/run.json")).unwrap()).unwrap();
    assert_eq!(run["parameters"]["order"], 4);
    done(
        path,
        &[
            "relax",
            "--config",
            "rest/run.json",
            "--out",
            "again",
            "--quiet",
        ],
    );
    same_results(path, "whole", "again");

    // Its result is input to every scheme but the paper's.
    let collide = [
        "collide",
        "--backend",
        "cpu",
        "--input",
        "part/f_final.npy",
        "--vmax",
        "5",
        "--output",
        "q.npy",
    ];
    let paper = ["--order", "2", "--correction", "paper"];
    refused(path, &with(&collide, &paper), "negative");
    done(path, &with(&collide, &["--quiet"]));
}

/// A record by the paper's scheme runs again by it, and one without flags to the same bits too.
#[test]
fn records_keep_their_correction() {
    let dir = folder();
    let path = dir.path();
    let base = [
        "relax",
        "--backend",
        "cpu",
        "--grid",
        "8",
        "--steps",
        "2",
        "--quiet",
        "--out",
    ];
    let paper = ["paper", "--order", "2", "--correction", "paper"];
    done(path, &with(&base, &paper));
    done(path, &with(&base, &["new"]));
    for (record, again) in [("paper", "paper again"), ("new", "new again")] {
        let record_file = format!("{record}/run.json");
        let repeat = ["relax", "--config", &record_file, "--quiet", "--out", again];
        done(path, &repeat);
        same_results(path, record, again);
    }
    let read = |name: &str| fs::read(path.join(name).join("f_final.npy")).unwrap();
    assert!(read("paper") != read("new"));
    let run: Value =
        serde_json::from_slice(&fs::read(path.join("new again/run.json")).unwrap()).unwrap();
    let parameters = &run["parameters"];
    assert_eq!(
        (&parameters["correction"], &parameters["order"]),
        (&json!("balanced"), &json!(4))
    );
    assert!(run["result"]["smallest_value"].is_number());
    assert!(run["result"]["largest_below_zero"].is_number());
}

#[test]
fn rates_are_tabulated_and_drawn() {
    let dir = folder();
    let path = dir.path();
    let base = ["rates", "--backend", "cpu", "--out", "r"];
    let output = done(
        path,
        &with(&base, &["--convergence", "12,8", "--json", "--quiet"]),
    );
    let run = object(&output);
    assert_eq!(run["parameters"]["convergence"], "8,12");
    assert_eq!(run["studies"].as_array().unwrap().len(), 12);
    assert!((run["exact"]["shear"].as_f64().unwrap() - 1.805407).abs() < 1e-6);
    let files = [
        "errors.csv",
        "errors.png",
        "rates.csv",
        "rates.png",
        "run.json",
        "viscosity.png",
    ];
    for name in files {
        assert!(path.join("r").join(name).is_file(), "{name}");
    }
    let rates = fs::read_to_string(path.join("r/rates.csv")).unwrap();
    for (correction, printed) in [("paper", 1.682762), ("balanced", 1.805169)] {
        let variant = format!(",{correction}");
        let row = rates
            .lines()
            .find(|row| {
                row.starts_with("12,") && row.contains(",4,true,") && row.ends_with(&variant)
            })
            .unwrap();
        let shear: f64 = row.split(',').nth(4).unwrap().parse().unwrap();
        assert!((shear - printed).abs() < 1e-6, "{row}");
    }

    let again = [
        "rates",
        "--config",
        "r/run.json",
        "--out",
        "again",
        "--quiet",
    ];
    done(path, &again);
    assert_eq!(
        fs::read_to_string(path.join("again/rates.csv")).unwrap(),
        rates
    );

    let output = done(
        path,
        &[
            "rates",
            "--backend",
            "cpu",
            "--grid",
            "8",
            "--order",
            "4",
            "--molecules",
            "vhs:0.7",
        ],
    );
    let summary = text(&output.stdout);
    assert!(
        summary.contains("vhs:0.7") && summary.contains("unknown"),
        "{summary}"
    );
    assert_eq!(
        summary
            .lines()
            .filter(|line| line.starts_with("    8 "))
            .count(),
        6
    );
}

#[test]
fn checkpoints_that_do_not_fit_are_refused() {
    let dir = folder();
    let path = dir.path();
    done(
        path,
        &[
            "relax",
            "--backend",
            "cpu",
            "--grid",
            "8",
            "--steps",
            "3",
            "--checkpoint-every",
            "3",
            "--out",
            "o",
            "--quiet",
        ],
    );
    let file = path.join("o/checkpoint.rarefy");
    let good = fs::read(&file).unwrap();
    let resume = ["relax", "--resume", "o/checkpoint.rarefy"];
    let refuse = |more: &[&str], why: &str| refused(path, &with(&resume, more), why);
    refuse(
        &["--grid", "9"],
        "--grid: 9; expected 8, as the checkpoint's run has",
    );
    refuse(&["--precision", "f32"], "--precision: f32; expected");
    refuse(&["--init", "bkw:0.7"], "--init: bkw:0.7; expected");
    refuse(&["--no-correction"], "--no-correction: true; expected");
    refuse(&["--dt", "0.001"], "--dt: 0.001; expected");
    refuse(
        &["--order", "2"],
        "--order: 2; expected 4, as the checkpoint's run has",
    );
    refuse(
        &["--correction", "paper"],
        "--correction: paper; expected balanced, as the checkpoint's run has",
    );
    refuse(&["--limiter"], "--limiter: true; expected");
    refuse(
        &["--backend", "reference"],
        "--backend: reference; expected",
    );
    refuse(&["--steps", "2"], "at step 3, past --steps 2");
    refuse(&["--until", "1e-9"], "past --until");

    let refuse = |bytes: &[u8], why: &str| {
        fs::write(&file, bytes).unwrap();
        refused(path, &resume, why);
    };
    refuse(&[], "not a checkpoint");
    refuse(b"something else", "not a checkpoint");
    refuse(b"rarefy-checkpoint 9\n", "another format");
    refuse(b"rarefy-checkpoint 2\n", "damaged or cut short");
    refuse(&good[..good.len() - 1], "damaged or cut short");
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    refuse(&flipped, "damaged or cut short");
    fs::write(&file, &good).unwrap();
    // Saying the same again is no contradiction.
    done(
        path,
        &with(
            &resume,
            &["--grid", "8", "--backend", "cpu", "--steps", "4", "--quiet"],
        ),
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let dir = folder();
    let path = dir.path();
    let endless = [
        "relax",
        "--backend",
        "cpu",
        "--grid",
        "14",
        "--steps",
        "100000000",
        "--checkpoint-every",
        "1",
        "--out",
        "o",
    ];
    let output = interrupted(path, &endless, "o/checkpoint.rarefy");
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("rarefy: error: interrupted after "),
        "{stderr}"
    );
    assert!(
        stderr.contains("rarefy relax --resume o/checkpoint.rarefy"),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(output.stdout.is_empty());
    let left: Vec<_> = listing(&path.join("o"));
    assert_eq!(left.len(), 2, "{left:?}");
    let resume = [
        "relax",
        "--resume",
        "o/checkpoint.rarefy",
        "--until",
        "equilibrium:0.99",
        "--json",
    ];
    done(path, &resume);
}

#[test]
fn ranks_of_a_launcher_are_refused() {
    let folder = folder();
    let line = "shock --mach 1.5 --cells 20 --velocities 12x8x8 --steps 1 --quiet --backend cpu";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let under = |more: &[(&str, &str)]| {
        let mut command = rarefy(folder.path(), &arguments);
        command.env("OMPI_COMM_WORLD_RANK", "1");
        command.env("OMPI_COMM_WORLD_SIZE", "4");
        // Without the library on any machine.
        command.env("RAREFY_NCCL", "/nowhere/libnccl.so.2");
        command.env("RAREFY_TRANSPORT", "nccl");
        command.envs(more.iter().copied()).output().unwrap()
    };
    let refusal = under(&[]);
    assert_eq!(refusal.status.code(), Some(2));
    let line = text(&refusal.stderr);
    assert!(line.contains("mpirun of Open MPI started this as rank 1 of 4,"));
    assert_eq!(line.lines().count(), 1);
    let refusal = under(&[("RAREFY_TRANSPORT", "carrier pigeon")]);
    assert_eq!(refusal.status.code(), Some(2));
    assert_eq!(
        text(&refusal.stderr),
        "rarefy: error: RAREFY_TRANSPORT: carrier pigeon; expected mpi or nccl\n"
    );
    let alone = under(&[("RAREFY_SEPARATE", "1")]);
    assert!(alone.status.success(), "{}", text(&alone.stderr));
}
