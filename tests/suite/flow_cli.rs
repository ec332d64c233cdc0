//! The commands for flows as their users meet them: options without effect, folders, histories, SI units, statuses.

use std::fs;
use std::path::Path;

use serde_json::Value;

#[cfg(target_os = "linux")]
use crate::command::with_memory;
use crate::command::{done, ended, folder, listing, object, rarefy, refused, started, text};

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Runs a command, which must succeed.
#[track_caller]
fn run(folder: &Path, line: &str) -> Value {
    object(&done(folder, &words(&format!("{line} --json --quiet"))))
}

fn record(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap()
}

const SHOCK: &str = "shock --mach 2 --cells 60 --length 20 --reduced --backend cpu";
const CAVITY: &str = "cavity --delta 1 --cells 8 --reduced --velocities 8 --backend cpu";
const SI: &str = "--gas argon --pressure 100 --temperature 300 --size 2e-3";

#[test]
fn options_without_effect_are_refused() {
    let folder = folder();
    for (line, why) in [
        ("couette --delta 1 --prandtl 0.7", "--model shakhov"),
        ("fourier --delta 1 --prandtl 0.7", "--model shakhov"),
        ("couette --delta 1 --linear --u 1", "no effect"),
        (
            "couette --delta 1 --linear --molecules vhs:0.5",
            "no effect",
        ),
        (
            "fourier --delta 1 --linear --temperature-difference 1",
            "no effect",
        ),
        ("cavity --steady --linear --molecules vhs:0.5", "no effect"),
        (
            "cavity --vmax 5 --quadrature half-range",
            "--quadrature midpoint",
        ),
        (
            "cavity --steady --vmax 5 --quadrature polar",
            "--quadrature midpoint",
        ),
        ("cavity --steady --velocities 12x8x6", "integrates out v_z"),
        ("cavity --reduced --velocities 12x8x6", "integrates out v_z"),
        ("cavity --in-time --reduced --velocities 11", "even"),
        ("shock --reduced --velocities 32x28x28", "integrates out"),
        ("shock --steady --velocities 32x28", "one number, or three"),
        ("cavity --kn 1 --delta 1", "cannot be used with"),
        ("couette --delta 1 --u 1e-12", "roundoff"),
        (
            "fourier --delta 1 --temperature-difference 1e-15",
            "roundoff",
        ),
        (
            "cavity --steady --delta 1 --cells 8 --lid 1e-14",
            "roundoff",
        ),
        (
            "couette --delta 1e20 --linear",
            "--delta: 1e20; expected a rarefaction of 1e-100 to 1e12",
        ),
        ("poiseuille --delta 5e-324", "--delta: 5e-324; expected"),
        (
            "couette --kn 1e300",
            "--kn: 1e300; expected a rarefaction delta",
        ),
        (
            "cavity --steady --linear --delta 1e20 --cells 8 --velocities 4x4",
            "the range of the arithmetic",
        ),
        ("couette --kn 1 --delta 1", "cannot be used with"),
        ("couette --linear", "--delta"),
        ("shock --pressure 3", "--gas and --temperature are missing"),
        (
            "cavity --gas argon --pressure 3 --temperature 300",
            "--size is missing",
        ),
    ] {
        refused(folder.path(), &words(line), why);
    }
}

#[test]
fn a_knudsen_number_is_a_rarefaction() {
    let folder = folder();
    let kn = std::f64::consts::PI.sqrt() / 2.0;
    for line in [
        "couette --cells 8 --linear",
        "fourier --cells 8 --linear",
        "cavity --cells 4 --steps 1 --reduced --velocities 8",
    ] {
        let found = run(folder.path(), &format!("{line} --kn {kn} --backend cpu"));
        let delta = found["parameters"]["delta"].as_f64().unwrap();
        assert!((delta - 1.0).abs() < 1e-15, "{line}: {delta}");
    }
    run(
        folder.path(),
        &format!("{CAVITY} --steps 2 --checkpoint-every 1 --out saved"),
    );
    refused(
        folder.path(),
        &words("cavity --resume saved/checkpoint.rarefy --kn 3 --steps 4"),
        "as the checkpoint's run has",
    );
}

/// The files of a run besides its record, which has times in it.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = listing(folder);
    let files = files.iter().map(Path::new);
    files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        // Both have times.
        .filter(|(name, _)| name != "run.json" && name != "report.html")
        .map(|(name, path)| (name, fs::read(path).unwrap()))
        .collect()
}

#[test]
fn every_record_runs_its_run_again() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("x.txt"), "1.5\n2e-3\n7\n").unwrap();
    fs::write(at.join("y.txt"), "3\n4\n5\n").unwrap();
    for (k, line) in [
        format!("{SHOCK} --steps 3"),
        format!("shock --mach 2 --cells 40 --reduced --steps 3 --backend cpu {SI}"),
        "shock --mach 1.5 --cells 40 --steady --backend cpu".into(),
        format!("shock --mach 1.5 --cells 40 --steady --backend cpu {SI}"),
        format!("{CAVITY} --steps 3"),
        "cavity --cells 4 --reduced --velocities 12 --vmax 4 --steps 3 --backend cpu".into(),
        format!("cavity --cells 6 --steady --velocities 8x6 --backend cpu {SI}"),
        "cavity --cells 6 --steady --linear --quadrature half-range --velocities 8 --backend cpu"
            .into(),
        "couette --kn 0.5 --cells 8 --backend cpu".into(),
        "couette --delta 1 --cells 8 --linear --backend cpu".into(),
        "fourier --delta 1 --cells 8 --model shakhov --prandtl 0.7 --backend cpu".into(),
        "sum x.txt --abs --exact --backend cpu".into(),
        "dot x.txt y.txt --backend cpu".into(),
        "dft x.txt --inverse --backend cpu".into(),
        "paper digits --digits 20 --backend cpu".into(),
        "rates --grid 4 --backend cpu".into(),
        "relax --grid 6 --steps 2 --backend cpu".into(),
        "isotropic --cells 16 --steps 2 --backend cpu".into(),
        "isotropic --cells 16 --rates-only --backend cpu".into(),
        "market --scenario voucher --cells 32 --times 1 --backend cpu".into(),
        "longman --amplitude 1/(1+x) --oscillator cos --frequency 1 --backend cpu".into(),
    ]
    .into_iter()
    .enumerate()
    {
        let place = match line.starts_with("paper") {
            true => 2,
            false => 1,
        };
        let command = line.splitn(place + 1, ' ').take(place);
        let command = command.collect::<Vec<_>>().join(" ");
        let (first, second) = (format!("a{k}"), format!("b{k}"));
        let printed = done(at, &words(&format!("{line} --quiet --out {first}"))).stdout;
        let again = format!("{command} --config {first}/run.json --quiet --out {second}");
        assert_eq!(printed, done(at, &words(&again)).stdout, "{line}");
        let [a, b] = [&first, &second].map(|name| files(&at.join(name)));
        assert!(a == b, "{line}: files differ");
        let [a, b] = [&first, &second].map(|name| record(&at.join(name)));
        for key in [
            "parameters",
            "result",
            "value",
            "bits",
            "re",
            "im",
            "Pi",
            "Q",
        ] {
            assert_eq!(a[key], b[key], "{line}: {key}");
        }
    }
    // A record is of its own command.
    refused(
        at,
        &["relax", "--config", "a0/run.json"],
        "a run of 'rarefy shock'",
    );
    // The command line has precedence.
    let other = run(at, "dot --config a12/run.json y.txt y.txt");
    assert_eq!(other["value"], "50");
    let colder = run(at, "shock --config a1/run.json --temperature 200");
    assert_eq!(colder["units"]["temperature_k"], 200.0);
    assert_ne!(
        colder["parameters"]["length"],
        record(&at.join("a1"))["parameters"]["length"]
    );
}

#[test]
fn results_of_a_case_in_si_units_are_in_si_units() {
    let folder = folder();
    let at = folder.path();
    for (name, line) in [
        ("time", "shock --mach 2 --cells 40 --reduced --steps 3"),
        ("steady", "shock --mach 1.5 --cells 40 --steady"),
    ] {
        let found = run(at, &format!("{line} --backend cpu {SI} --out {name}"));
        let units = &found["units"];
        let unit = |key: &str| units[key].as_f64().unwrap();
        for key in ["gas", "pressure", "temperature", "size"] {
            assert!(!found["parameters"][key].is_null(), "{name}: {key}");
        }
        let table = fs::read_to_string(at.join(name).join("profile.csv")).unwrap();
        let mut lines = table.lines();
        assert_eq!(
            lines.next().unwrap(),
            "x,density,velocity,temperature,pxx,heat_flux,\
             x_m,density_kg_m3,velocity_m_s,temperature_k,pxx_pa,heat_flux_w_m2"
        );
        let first: Vec<f64> = lines
            .next()
            .unwrap()
            .split(',')
            .map(|v| v.parse().unwrap())
            .collect();
        // The stream that comes in has the pressure and the temperature that were given.
        assert!((first[9] / 300.0 - 1.0).abs() < 0.01, "{first:?}");
        assert!((first[10] / 100.0 - 1.0).abs() < 0.01, "{first:?}");
        assert!((first[6] / (first[0] * unit("length_m")) - 1.0).abs() < 1e-14);
        let result = &found["result"];
        let thickness = result["thickness"].as_f64().unwrap() * unit("length_m");
        assert_eq!(result["thickness_m"].as_f64().unwrap(), thickness);
        let history = fs::read_to_string(at.join(name).join("history.csv")).unwrap();
        assert!(history.starts_with("step,time,residual,time_s\n"));
    }
    let cavity =
        format!("cavity --cells 6 --steady --velocities 8x6 --backend cpu {SI} --out cavity");
    let found = run(at, &cavity);
    assert!(found["units"]["velocity_m_s"].as_f64().unwrap() > 350.0);
    let table = fs::read_to_string(at.join("cavity/vertical.csv")).unwrap();
    assert!(table.starts_with("y,ux,y_m,ux_m_s\n"));
    let read = |name: &str| crate::command::data(&at.join("cavity").join(name));
    for (plain, si, unit) in [
        ("density", "density_kg_m3", "density_kg_m3"),
        ("temperature", "temperature_k", "temperature_k"),
        ("pxy", "pxy_pa", "pressure_pa"),
        ("velocity", "velocity_m_s", "velocity_m_s"),
        ("heat_flux", "heat_flux_w_m2", "heat_flux_w_m2"),
    ] {
        let unit = found["units"][unit].as_f64().unwrap();
        let plain: Vec<f64> = read(&format!("{plain}.npy"))
            .iter()
            .map(|v| unit * v)
            .collect();
        assert_eq!(read(&format!("{si}.npy")), plain, "{si}");
    }
    let vti = fs::read_to_string(at.join("cavity/fields_si.vti")).unwrap();
    assert!(vti.contains("velocity_m_s"));
    // A run that goes on has the units of its beginning.
    run(
        at,
        &format!("{SHOCK} --steps 2 --checkpoint-every 1 --out plain"),
    );
    let part = format!("shock --mach 2 --cells 40 --reduced --backend cpu {SI}");
    run(
        at,
        &format!("{part} --steps 2 --checkpoint-every 1 --out part"),
    );
    let rest = run(at, "shock --resume part/checkpoint.rarefy --steps 3");
    assert_eq!(rest["units"]["temperature_k"], 300.0);
}

#[test]
fn a_shock_in_si_units_needs_no_size() {
    let folder = folder();
    let at = folder.path();
    let line = format!("{SHOCK} --steps 2 --gas argon --pressure 100 --temperature 300 --out a");
    let found = run(at, &line);
    assert_eq!(found["parameters"]["length"], 20.0);
    assert_eq!(found["parameters"]["molecules"], "vhs:0.81");
    assert_eq!(found["units"]["temperature_k"], 300.0);
    let again = run(at, "shock --config a/run.json");
    assert_eq!(found["parameters"], again["parameters"]);
    assert_eq!(found["result"], again["result"]);
}

#[test]
fn molecules_of_flows_may_be_soft_spheres() {
    let folder = folder();
    let at = folder.path();
    let couette = "couette --delta 1 --u 1 --cells 8 --backend cpu --molecules";
    let soft = run(at, &format!("{couette} vss:0.81,1.4 --out soft"));
    let hard = run(at, &format!("{couette} vhs:0.81"));
    // A model knows the viscosity alone.
    assert_eq!(soft["Pi"], hard["Pi"]);
    assert_eq!(soft["parameters"]["molecules"], "vss:0.81,1.4");
    assert_eq!(hard["parameters"]["molecules"], "vhs:0.81");
    let again = run(at, "couette --config soft/run.json");
    assert_eq!(soft["parameters"], again["parameters"]);
    let line = "shock --collision boltzmann --method fast --molecules vss:0.7,1.5 --cells 20";
    refused(at, &words(line), "or the spectral method");
    // A run that goes on keeps its molecules.
    let saved =
        "cavity --cells 4 --reduced --velocities 8 --backend cpu --steps 1 --checkpoint-every 1";
    run(at, &format!("{saved} --molecules vss:0.81,1.4 --out saved"));
    let resumed = "cavity --resume saved/checkpoint.rarefy --steps 2 --molecules";
    refused(
        at,
        &words(&format!("{resumed} vhs:0.81")),
        "as the checkpoint's run has",
    );
    run(at, &format!("{resumed} vss:0.81,1.4"));
}

#[test]
fn converged_values_are_drawn_where_they_are_known() {
    let folder = folder();
    let at = folder.path();
    for (line, picture, known) in [
        ("shock --mach 1.5 --cells 40 --steady", "profile", true),
        ("shock --mach 1.6 --cells 40 --steady", "profile", false),
        (
            "shock --mach 1.5 --cells 40 --steady --molecules maxwell",
            "profile",
            false,
        ),
        (
            "cavity --cells 4 --steady --linear --velocities 6x4",
            "profiles",
            true,
        ),
        (
            "cavity --cells 4 --steady --linear --velocities 6x4 --delta 2",
            "profiles",
            false,
        ),
        (
            "relax --init bkw:0.7 --grid 6 --steps 1",
            "cross_section_x",
            true,
        ),
        ("relax --grid 6 --steps 1", "cross_section_x", false),
    ] {
        let line = format!("{line} --backend cpu --out a --overwrite --quiet");
        rarefy(at, &words(&line)).output().unwrap();
        let svg = fs::read_to_string(at.join(format!("a/{picture}.svg"))).unwrap();
        let drawn = svg.contains("converged") || svg.contains("exact");
        assert_eq!(drawn, known, "{line}");
    }
}

#[test]
fn a_folder_keeps_its_run_unless_it_is_told_otherwise() {
    let folder = folder();
    let at = folder.path();
    let shock = format!("{SHOCK} --steps 2 --quiet --out run");
    done(at, &words(&shock));
    refused(at, &words(&shock), "holds a run of 'rarefy shock'");
    let sum = "sum - --quiet --out run";
    refused(at, &words(sum), "holds a run of 'rarefy shock'");
    // A replacing run removes the earlier one completely.
    done(at, &words(&format!("{sum} --overwrite")));
    assert_eq!(
        listing(&at.join("run")),
        [at.join("run/run.json").display().to_string()]
    );
    // A file that no run wrote stays.
    fs::write(at.join("run/notes.txt"), "mine").unwrap();
    done(at, &words(&format!("{shock} --overwrite")));
    assert!(at.join("run/notes.txt").is_file());
    assert!(at.join("run/profile.csv").is_file());

    // A checkpoint alone is a run, too; a stale one goes with its run.
    let saved = format!("{SHOCK} --steps 2 --checkpoint-every 1 --quiet --out saved");
    done(at, &words(&saved));
    refused(at, &words(&saved), "and its checkpoint");
    fs::remove_file(at.join("saved/run.json")).unwrap();
    refused(at, &words(&saved), "--resume saved/checkpoint.rarefy");
    done(
        at,
        &words("shock --resume saved/checkpoint.rarefy --steps 3 --quiet"),
    );
    done(
        at,
        &words(&format!(
            "{CAVITY} --steps 1 --quiet --out saved --overwrite"
        )),
    );
    assert!(!at.join("saved/checkpoint.rarefy").exists());
    // A run that continues elsewhere does not overwrite either.
    done(at, &words(&format!("{saved} --overwrite")));
    refused(
        at,
        &words("shock --resume saved/checkpoint.rarefy --steps 3 --out run"),
        "holds a run",
    );
    fs::write(at.join("run/run.json"), "{}").unwrap();
    refused(at, &words(&shock), "that rarefy did not write");
}

#[cfg(unix)]
#[test]
fn two_runs_do_not_write_into_one_folder() {
    let folder = folder();
    let at = folder.path();
    let endless = format!("{SHOCK} --steps 100000000 --checkpoint-every 1 --quiet --out run");
    let mut first = started(&mut rarefy(at, &words(&endless)));
    while !at.join("run/checkpoint.rarefy").exists() {
        assert!(first.try_wait().unwrap().is_none(), "the run ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for more in ["", " --overwrite"] {
        let second = format!("{SHOCK} --steps 1 --out run{more}");
        let output = rarefy(at, &words(&second)).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let stderr = text(&output.stderr);
        assert!(stderr.contains("another run is writing"), "{stderr}");
    }
    // A run that was killed does not lock its folder for ever.
    first.kill().unwrap();
    ended(first);
    // Nor does the file that it was writing stay, which its lock names.
    fs::write(at.join("run/.rarefy-Ab12Cd"), "half a check").unwrap();
    let lock = at.join("run/.rarefy.lock");
    let journal = fs::read_to_string(&lock).unwrap() + "temporary .rarefy-Ab12Cd\n";
    fs::write(&lock, journal).unwrap();
    done(
        at,
        &words(&format!("{SHOCK} --steps 1 --quiet --out run --overwrite")),
    );
    assert!(!at.join("run/.rarefy.lock").exists());
    assert!(!at.join("run/.rarefy-Ab12Cd").exists());
}

#[test]
fn what_roundoff_or_the_domain_cuts_off_is_said() {
    let folder = folder();
    let at = folder.path();
    let warned = |found: &Value, text: &str| {
        let warnings = found["warnings"].as_array().unwrap();
        assert!(
            warnings.iter().any(|w| w.as_str().unwrap().contains(text)),
            "{warnings:?}"
        );
    };
    // In f32 the fluxes of dense gas vary by roundoff, and the estimate covers the error.
    let single = run(
        at,
        "couette --delta 1000 --linear --precision f32 --backend cpu",
    );
    warned(&single, "an error of about");
    let error = (single["Pi"].as_f64().unwrap() / 9.979_717_394e-4 - 1.0).abs();
    assert!(
        error <= single["error_estimate"].as_f64().unwrap(),
        "{error}"
    );
    // The linear equation's result is per unit of the drive, however small.
    let cavity =
        "cavity --steady --linear --delta 1 --cells 8 --velocities 6x4 --backend cpu --lid";
    let drag = |lid: &str| {
        run(at, &format!("{cavity} {lid}"))["result"]["D"]
            .as_f64()
            .unwrap()
    };
    assert!((drag("1e-15") / drag("0.02") - 1.0).abs() < 1e-8);
    let cut = run(
        at,
        "shock --steady --mach 3 --cells 200 --length 60 --upstream 58 --backend cpu",
    );
    warned(&cut, "downstream tail");
    // Slip decides the velocity at the wall of a channel.
    let channel = run(at, "poiseuille --delta 1e6 --cells 100");
    warned(&channel, "mean free paths wide");
}

#[test]
fn what_has_not_converged_says_so() {
    let folder = folder();
    let at = folder.path();
    // So many steps were asked for, and are taken.
    let found = run(at, &format!("{SHOCK} --steps 4 --out done"));
    assert_eq!(found["status"], "done");
    let found = run(
        at,
        &format!("{SHOCK} --in-time --until-residual 0.5 --out converged"),
    );
    assert_eq!(found["status"], "converged");
    let fails = |line: &str, status: &str| {
        let line = format!("{line} --out {status}");
        let output = rarefy(at, &words(&line)).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let last = stderr.lines().last().unwrap();
        assert!(
            last.starts_with("rarefy: error: NOT CONVERGED: after "),
            "{stderr}"
        );
        assert!(text(&output.stdout).contains("NOT CONVERGED"));
        // The results are there all the same.
        let found = record(&at.join(status));
        assert_eq!(found["status"], status);
        assert_eq!(found["course"]["converged"], false);
        let warnings = found["warnings"].as_array().unwrap();
        assert!(
            warnings
                .iter()
                .any(|w| w.as_str().unwrap().contains("NOT CONVERGED"))
        );
        assert!(at.join(status).join("profile.csv").is_file());
    };
    fails(
        &format!("{SHOCK} --steps 4 --until-residual 1e-9"),
        "unfinished",
    );
    // Below the roundoff of f32 no residual falls.
    let small = "shock --mach 2 --cells 24 --length 8 --upstream 5 --reduced --backend cpu";
    fails(
        &format!("{small} --in-time --precision f32 --until-residual 1e-30"),
        "stalled",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_not_there_is_refused_and_not_aborted_over() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("x.txt"), "1e999999999\n1\n").unwrap();
    for (line, why) in [
        ("cavity --cells 100000 --steady", "GiB of main memory"),
        ("cavity --cells 3000 --steady", "available"),
        ("cavity --cells 100000 --in-time", "GiB of main memory"),
        ("shock --cells 1000000 --in-time --reduced", "available"),
        ("shock --cells 1000000 --steady", "available"),
        ("isotropic --cells 8192 --storage full", "available"),
        (
            "sum x.txt",
            "exact result: 1000000008 digits; expected at most 10000224",
        ),
        ("sum x.txt --abs", "lie too far apart"),
    ] {
        let arguments = [&words(line)[..], &["--backend", "cpu"]].concat();
        let output = with_memory(at, 400_000, &arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
        let last = stderr.lines().last().unwrap();
        assert!(last.starts_with("rarefy: error: "), "{line}: {stderr}");
        assert!(last.contains(why), "{line}: {stderr}");
    }
}
