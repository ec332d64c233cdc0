//! A printed number is right, or the command says that it is not; a file that it did not write stays.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::command::{done, folder, rarefy, refused, text};

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn files_that_no_run_wrote_are_kept() {
    let dir = folder();
    let lines = [
        ("couette --delta 1 --linear --cells 20", "profile.csv"),
        ("fourier --delta 1 --linear --cells 20", "residuals.png"),
        (
            "shock --mach 1.5 --steady --reduced --cells 40 --velocities 12",
            "history.csv",
        ),
        (
            "cavity --cells 4 --steady --linear --velocities 4x4",
            "temperature.png",
        ),
        ("relax --grid 8 --steps 1", "f_final.npy"),
        ("isotropic --cells 128 --steps 1", "moments.csv"),
        (
            "market --scenario voucher --cells 32 --times 1",
            "lorenz.csv",
        ),
        ("rates --grid 8", "errors.csv"),
        ("paper digits", "figure_2.csv"),
        ("dft x.txt", "spectrum.csv"),
        ("collide --input f.npy --vmax 5", "q.npy"),
        (
            "longman --amplitude exp(-x) --oscillator cos --frequency 1",
            "results.csv",
        ),
        ("sum x.txt", "run.json"),
    ];
    fs::write(dir.path().join("x.txt"), "1\n2\n").unwrap();
    let f = ndarray::Array3::<f64>::from_elem((8, 8, 8), 1.0);
    ndarray_npy::write_npy(dir.path().join("f.npy"), &f).unwrap();
    fs::create_dir(dir.path().join("o")).unwrap();
    for (line, name) in lines {
        let path = dir.path().join("o").join(name);
        fs::write(&path, "mine").unwrap();
        let line = format!("{line} --backend cpu --out o");
        // A record says so itself.
        let why = match name {
            "run.json" => "holds a run that rarefy did not write",
            name => name,
        };
        refused(dir.path(), &words(&line), why);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine", "{line}");
        fs::remove_file(path).unwrap();
    }
    // Other names are no matter, and whoever asks for it has the file replaced.
    fs::write(dir.path().join("o/notes.csv"), "mine").unwrap();
    fs::write(dir.path().join("o/profile.csv"), "mine").unwrap();
    let line = "couette --delta 1 --linear --cells 20 --backend cpu --out o --overwrite";
    done(dir.path(), &words(line));
    let profile = fs::read_to_string(dir.path().join("o/profile.csv")).unwrap();
    assert!(profile.starts_with("x,"), "{profile}");
    assert_eq!(
        fs::read_to_string(dir.path().join("o/notes.csv")).unwrap(),
        "mine"
    );
}

#[test]
fn numbers_below_the_range_of_floats_are_printed_with_their_digits() {
    let dir = folder();
    fs::write(dir.path().join("x.txt"), "3e-330\n0\n0\n").unwrap();
    let output = done(dir.path(), &words("dft x.txt --backend cpu"));
    let printed = text(&output.stdout);
    assert_eq!(printed.matches("1e-330").count(), 3, "{printed}");
    let warning = text(&output.stderr);
    assert!(warning.contains("below 2.2e-308"), "{warning}");
    fs::write(dir.path().join("x.txt"), "-6e400\n0\n0\n").unwrap();
    let output = done(dir.path(), &words("dft x.txt --backend cpu"));
    let printed = text(&output.stdout);
    assert_eq!(printed.matches("-2e400").count(), 3, "{printed}");
    fs::write(dir.path().join("x.txt"), "3\n0\n0\n").unwrap();
    let output = done(dir.path(), &words("dft x.txt --backend cpu"));
    assert_eq!(text(&output.stderr), "");
}

/// As ripgrep has it: a reader who has seen enough is no error, a result that could not be written is.
#[test]
#[cfg(target_os = "linux")]
fn results_that_cannot_be_printed_are_an_error() {
    use std::process::Command;

    let dir = folder();
    fs::write(dir.path().join("x.txt"), "1\n2\n").unwrap();
    for line in [
        "sum x.txt",
        "sum x.txt --json",
        "dft x.txt --backend cpu",
        "longman --amplitude exp(-x) --oscillator cos --frequency 1 --backend cpu --output -",
        "--help",
        "completions bash",
        "doctor",
    ] {
        let command = rarefy(dir.path(), &words(line));
        let run = |redirected: &str| {
            Command::new("sh")
                .current_dir(dir.path())
                .args(["-c", &format!("exec \"$@\" {redirected}"), "sh"])
                .arg(command.get_program())
                .args(command.get_args())
                .stdin(Stdio::null())
                .output()
                .unwrap()
        };
        for (redirected, why) in [
            (">/dev/full", "no space left on device"),
            (">&-", "bad file descriptor"),
        ] {
            let output = run(redirected);
            let stderr = text(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(1),
                "{line} {redirected}: {stderr}"
            );
            let last = stderr.lines().last().unwrap_or_default();
            let right = format!("rarefy: error: standard output: {why}");
            assert_eq!(last, right, "{line} {redirected}");
        }
        for redirected in [">/dev/null", "1<>/dev/null"] {
            let output = run(redirected);
            let stderr = text(&output.stderr);
            assert!(output.status.success(), "{line} {redirected}: {stderr}");
            assert!(!stderr.contains("error"), "{line} {redirected}: {stderr}");
        }
        // The status of the first of two commands.
        let script = "(\"$@\"; echo \"status $?\" >&2) | head -c0";
        let output = Command::new("sh")
            .current_dir(dir.path())
            .args(["-c", script, "sh"])
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stderr = text(&output.stderr);
        assert!(stderr.ends_with("status 0\n"), "{line}: {stderr}");
        assert!(!stderr.contains("error"), "{line}: {stderr}");
    }
}

#[test]
fn steady_flows_record_the_closure_that_ran() {
    let dir = folder();
    let cavity = "cavity --cells 4 --steady --linear --velocities 4x4 --backend cpu";
    let shock =
        "shock --mach 1.5 --steady --reduced --cells 40 --velocities 12 --backend cpu --steps 2";
    for line in [cavity, shock] {
        let scheme = |more: &str| {
            let line = format!("{line} --json {more}");
            let output = rarefy(dir.path(), &words(&line)).output().unwrap();
            let object: Value = serde_json::from_slice(&output.stdout).unwrap();
            object["parameters"]["scheme"].clone()
        };
        assert_eq!(scheme(""), "diamond");
        assert_eq!(scheme("--scheme diamond"), "diamond");
        assert_eq!(scheme("--scheme upwind"), "upwind");
        let line = format!("{line} --scheme vanleer");
        refused(
            dir.path(),
            &words(&line),
            "--scheme: vanleer of a steady flow",
        );
    }
    let line =
        "cavity --cells 4 --reduced --velocities 4x4 --steps 1 --scheme diamond --backend cpu";
    refused(dir.path(), &words(line), "--scheme: diamond in time");
}

#[test]
fn zeros_have_the_sign_that_their_kind_has() {
    let dir = folder();
    fs::write(dir.path().join("x.txt"), "-0\n-0\n").unwrap();
    let output = done(dir.path(), &["sum", "x.txt"]);
    assert_eq!(text(&output.stdout), "0\n");
    let zeros = ndarray::arr1(&[-0.0, -0.0]);
    ndarray_npy::write_npy(dir.path().join("x.npy"), &zeros).unwrap();
    let output = done(dir.path(), &["sum", "x.npy", "--backend", "cpu"]);
    assert_eq!(text(&output.stdout), "-0.0\n");
}

#[test]
fn boxes_that_an_array_was_hardly_made_for_have_a_warning() {
    let dir = folder();
    let n = 12;
    let v = |i: usize| -5.0 + 10.0 * (i as f64 + 0.5) / n as f64;
    let f = ndarray::Array3::from_shape_fn((n, n, n), |(i, j, k)| {
        let square = v(i).powi(2) + v(j).powi(2) + v(k).powi(2);
        (-0.5 * square).exp() / (2.0 * std::f64::consts::PI).powf(1.5)
    });
    ndarray_npy::write_npy(dir.path().join("f.npy"), &f).unwrap();
    let stderr = |vmax: &str| {
        let line = format!("collide --input f.npy --vmax {vmax} --output q.npy --backend cpu");
        text(&done(dir.path(), &words(&line)).stderr).to_owned()
    };
    assert_eq!(stderr("5"), "");
    for vmax in ["5e4", "1e-3"] {
        let stderr = stderr(vmax);
        assert!(stderr.contains("are --vmax and --vmin those"), "{stderr}");
    }
}

#[test]
fn integrands_that_are_sampled_say_how_far() {
    let dir = folder();
    let run = |line: &str| {
        let line = format!("longman {line} --backend cpu");
        text(&done(dir.path(), &words(&line)).stdout).to_owned()
    };
    let whole = "--integrand exp(-x)*sin(x) --half-period 3.141592653589793";
    // 32 areas and the 512 half periods beyond them.
    let printed = run(whole);
    assert!(printed.contains("sampled up to x = 1712."), "{printed}");
    let printed = run(&format!("{whole} --beyond 100"));
    assert!(printed.contains("sampled up to x = 417.8"), "{printed}");
    let table = run(&format!("{whole} --output - --quiet"));
    assert!(
        table.lines().nth(1).unwrap().contains(",sampled,1712."),
        "{table}"
    );
    let proven = run("--amplitude exp(-x) --oscillator sin --frequency 1 --output - --quiet");
    assert!(
        proven.lines().nth(1).unwrap().contains(",monotone,inf,"),
        "{proven}"
    );
}
