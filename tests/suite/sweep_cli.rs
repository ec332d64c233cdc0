//! Sweeps over a list of values, and series of fields on the way of a run.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{done, folder, interrupted, listing, object, rarefy, refused, started, text};

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn run(folder: &Path, line: &str) -> Value {
    object(&done(
        folder,
        &[&words(line)[..], &["--json", "--quiet"]].concat(),
    ))
}

/// Standard error of a command that succeeds.
fn done_with(mut command: std::process::Command) -> String {
    let output = command.output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    stderr.to_owned()
}

const COUETTE: &str = "couette --linear --cells 20 --velocities 6x4 --backend cpu";

/// Each case is the run of its value alone, and the table has its numbers.
#[test]
fn a_sweep_is_its_runs_in_one_table() {
    let folder = folder();
    let at = folder.path();
    let output = done(
        at,
        &words(&format!("{COUETTE} --delta 0.1,1,10 --out sweep")),
    );
    let printed = text(&output.stdout);
    assert!(printed.contains("Couette flow, BGK: 3 cases"), "{printed}");
    let table = fs::read_to_string(at.join("sweep/sweep.csv")).unwrap();
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(columns[..3], ["delta", "Pi", "u_wall"]);
    assert_eq!(columns[columns.len() - 2..], ["status", "folder"]);
    for delta in ["0.1", "1", "10"] {
        let row: Vec<&str> = lines.next().unwrap().split(',').collect();
        let name = format!("delta-{delta}");
        let alone = run(at, &format!("{COUETTE} --delta {delta} --out {name}"));
        assert_eq!(row[0], delta);
        assert_eq!(row[1].parse(), Ok(alone["Pi"].as_f64().unwrap()));
        assert_eq!(row[row.len() - 2..], ["converged", &name]);
        let of = |folder: &Path| fs::read(folder.join("profile.csv")).unwrap();
        assert_eq!(of(&at.join("sweep").join(&name)), of(&at.join(&name)));
    }
    assert_eq!(lines.next(), None);
    for file in ["sweep.png", "sweep.svg", "report.html", "run.json"] {
        assert!(at.join("sweep").join(file).exists(), "{file}");
    }
    // A record repeats the sweep, and a folder holds one.
    let again = run(at, "couette --config sweep/run.json --out again");
    assert_eq!(again["parameters"]["delta"], "0.1,1,10");
    assert_eq!(
        fs::read_to_string(at.join("again/sweep.csv")).unwrap(),
        table
    );
    let line = format!("{COUETTE} --delta 1,2 --out sweep");
    refused(at, &words(&line), "holds a run of 'rarefy couette'");
    done(at, &words(&format!("{line} --overwrite --quiet")));
}

#[test]
fn a_sweep_leaves_no_folder_where_it_prints_json_alone() {
    let folder = folder();
    let at = folder.path();
    let shocks = "shock --steady --cells 60 --length 30 --velocities 16 --backend cpu";
    let found = run(at, &format!("{shocks} --mach=1.5,2"));
    assert!(listing(at).is_empty());
    let cases = found["result"]["cases"].as_array().unwrap();
    let thickness = |k: usize| cases[k]["thickness"].as_f64().unwrap();
    assert_eq!(cases.len(), 2);
    assert!(thickness(0) > thickness(1) && thickness(1) > 1.0);
    assert_eq!(cases[1]["status"], "converged");
    assert_eq!(found["status"], "done");
    // The list may come from a file.
    fs::write(at.join("shocks.toml"), "[shock]\nmach = \"1.5, 2\"\n").unwrap();
    let again = run(at, &format!("{shocks} --config shocks.toml"));
    assert_eq!(again["result"]["cases"][1], cases[1]);
}

#[test]
fn the_worst_case_of_a_sweep_is_its_exit_code() {
    let folder = folder();
    let at = folder.path();
    let line = format!("{COUETTE} --delta 0.1,100 --iterations 9 --quiet --out few");
    let output = rarefy(at, &words(&line)).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let last = stderr.lines().last().unwrap();
    assert!(
        last.starts_with("rarefy: error: NOT CONVERGED: 1 of 2 cases failed: delta = 100"),
        "{stderr}"
    );
    assert!(stderr.contains("delta = 100: NOT CONVERGED"), "{stderr}");
    let table = fs::read_to_string(at.join("few/sweep.csv")).unwrap();
    assert!(table.contains(",converged,delta-0.1"), "{table}");
    assert!(table.contains(",unfinished,delta-100"), "{table}");
}

#[test]
fn lists_that_are_none_are_refused() {
    let folder = folder();
    for (line, why) in [
        ("couette --delta 1,1.0", "1 is there twice"),
        ("couette --delta 1,", "a list such as"),
        ("couette --delta 1,x", "a list such as"),
        ("couette --delta 1,-2", "a positive finite number is needed"),
        ("couette --delta 1,2 --linear --u 1", "has no effect"),
        ("couette --delta 1,2 --frobnicate", "unexpected argument"),
        ("couette --delta 1,2 --kn 1", "cannot be used with"),
        ("shock --mach 2,1", "above 1"),
        ("shock --mach 2,3 --resume x", "--mach takes one value"),
        ("cavity --delta 1,2 --kn 1,2", "--kn"),
        ("relax --grid 8,12", "grid"),
    ] {
        refused(folder.path(), &words(line), why);
    }
}

const SHOCK: &str = "shock --mach 2 --cells 20 --length 10 --velocities 12 --reduced --backend cpu";

/// A series has the fields at its steps, does not change the run, and goes on with it.
#[test]
fn fields_are_saved_on_the_way() {
    let folder = folder();
    let at = folder.path();
    let plain = run(at, &format!("{SHOCK} --steps 10 --out plain"));
    let line = format!("{SHOCK} --save-every 4 --save-f 3,10 --checkpoint-every 5");
    let saved = run(at, &format!("{line} --steps 10 --out saved"));
    assert_eq!(plain["result"], saved["result"]);
    let collection = |folder: &str| fs::read_to_string(at.join(folder).join("fields.pvd")).unwrap();
    let times: Vec<String> = collection("saved")
        .lines()
        .filter(|line| line.contains("series/fields-"))
        .map(|line| line.split('"').nth(1).unwrap().to_owned())
        .collect();
    let dt = saved["parameters"]["dt"].as_f64().unwrap();
    let expected = [0.0, 4.0, 8.0, 10.0].map(|step| (step * dt).to_string());
    assert_eq!(times, expected);
    let last = fs::read_to_string(at.join("saved/series/fields-00000010.vti")).unwrap();
    assert!(last.contains("WholeExtent=\"0 20 0 1 0 1\""), "{last}");
    // Two functions of twelve velocities in each of two cells, all positive, and at their nodes.
    let bytes = fs::read(at.join("saved/series/f-00000008.npy")).unwrap();
    let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
    assert!(header.contains("(2, 12, 2)"), "{header}");
    let values = bytes[128..].chunks_exact(8);
    let values: Vec<f64> = values
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert!(values.len() == 48 && values.iter().all(|f| *f > 0.0));
    assert!(at.join("saved/series/grid_vx.npy").exists());
    // The same run in two parts.
    run(at, &format!("{line} --steps 5 --out parts"));
    run(
        at,
        "shock --resume parts/checkpoint.rarefy --steps 10 --out parts",
    );
    for file in ["fields-00000008.vti", "f-00000008.npy"] {
        let of = |folder: &str| fs::read(at.join(folder).join("series").join(file)).unwrap();
        assert_eq!(of("parts"), of("saved"), "{file}");
    }
    assert_eq!(collection("parts").matches("timestep").count(), 5);
    // A replacing run removes the series.
    done(
        at,
        &words(&format!(
            "{SHOCK} --steps 1 --quiet --out saved --overwrite"
        )),
    );
    assert!(!at.join("saved/fields.pvd").exists());
    assert!(!at.join("saved/series").exists());
}

/// By the collision integral too, on a rectangle, and in SI units with their names.
#[test]
fn a_cavity_is_saved_on_the_way() {
    let folder = folder();
    let at = folder.path();
    let line = "cavity --cells 4 --collision boltzmann --velocities 10 --sphere 7 --vmax 4 --backend cpu --steps 2 --save-every 1 --save-f 3x0";
    run(at, &format!("{line} --delta 2 --out plain"));
    let f = fs::read(at.join("plain/series/f-00000002.npy")).unwrap();
    assert!(String::from_utf8_lossy(&f[..128]).contains("(1, 10, 10, 10)"));
    let si = "--gas argon --pressure 100 --temperature 300 --size 1e-3";
    run(at, &format!("{line} {si} --out si"));
    let fields = fs::read_to_string(at.join("si/series/fields-00000002.vti")).unwrap();
    assert!(fields.contains("velocity_m_s"));
    // The last fields are those of the result.
    let end = fs::read_to_string(at.join("si/fields_si.vti")).unwrap();
    assert_eq!(fields, end);
}

#[test]
fn series_that_cannot_be_are_refused() {
    let folder = folder();
    for (line, why) in [
        ("--save-every 0", "above zero"),
        ("--save-every 1 --json", "give --out"),
        ("--steady --save-every 5", "cannot be used with"),
        ("--save-f 600 --out x", "a number from 0 to 599"),
        ("--save-f 1x1 --out x", "a number from 0 to 599"),
        ("--save-f 1,a --out x", "numbers of cells"),
    ] {
        let line = format!("shock --mach 2 --reduced --backend cpu {line}");
        refused(folder.path(), &words(&line), why);
    }
}

/// Without what differs from call to call.
fn lasting(mut record: Value) -> Value {
    for key in ["timings", "files", "manifest"] {
        record.as_object_mut().unwrap().remove(key).unwrap();
    }
    record
}

fn record(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap()
}

/// Ctrl-C ends a sweep, which goes on with the case that it met: to the files of a whole one.
#[cfg(unix)]
#[test]
fn an_interrupted_sweep_goes_on() {
    let folder = folder();
    let at = folder.path();
    let flags = "--cells 40 --length 10 --velocities 16 --reduced --backend cpu --checkpoint-every 1000 --quiet";
    // The second case takes a second or two.
    let line = format!("shock --mach 1.5,2,3 {flags} --steps 20000 --out part");
    let output = interrupted(at, &words(&line), "part/mach-2/checkpoint.rarefy");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let again = "of 3 cases are left, mach = 2, 3; go on with: rarefy shock --resume part/run.json";
    assert!(
        stderr.contains("interrupted in mach = 2 after "),
        "{stderr}"
    );
    assert!(
        stderr.trim_end().ends_with(&format!("2 {again}")),
        "{stderr}"
    );
    assert!(!at.join("part/mach-3").exists());
    let unfinished = record(&at.join("part"));
    assert_eq!(unfinished["status"], "unfinished");
    assert_eq!(unfinished["result"]["cases"].as_array().unwrap().len(), 1);
    refused(at, &words(&line), "--resume part/run.json");
    refused(
        at,
        &words("shock --resume part/run.json --steps 5"),
        "with the options of its record",
    );
    let kept = fs::metadata(at.join("part/mach-1.5/run.json")).unwrap();
    done(at, &words("shock --resume part/run.json --quiet"));
    let still = fs::metadata(at.join("part/mach-1.5/run.json")).unwrap();
    assert_eq!(kept.modified().unwrap(), still.modified().unwrap());
    done(at, &words(&line.replace("part", "whole")));
    for file in ["sweep.csv", "mach-2/profile.csv", "mach-3/profile.csv"] {
        let of = |folder: &str| fs::read(at.join(folder).join(file)).unwrap();
        assert!(of("part") == of("whole"), "{file} differs");
    }
    let of = |folder: &str| lasting(record(&at.join(folder)));
    assert_eq!(of("part"), of("whole"));
}

#[test]
fn a_sweep_of_plates_goes_on_with_the_cases_that_are_left() {
    let folder = folder();
    let at = folder.path();
    done(
        at,
        &words(&format!("{COUETTE} --delta 0.1,1,10 --quiet --out whole")),
    );
    done(
        at,
        &words(&format!("{COUETTE} --delta 0.1,1,10 --quiet --out part")),
    );
    let table = |folder: &str| fs::read(at.join(folder).join("sweep.csv")).unwrap();
    // As if the process had been killed in the second case.
    for file in ["sweep.csv", "delta-1/run.json", "delta-10/run.json"] {
        fs::remove_file(at.join("part").join(file)).unwrap();
    }
    fs::write(at.join("part/delta-0.1/profile.csv"), "mine").unwrap();
    done(at, &words("couette --resume part/run.json --quiet"));
    assert_eq!(table("part"), table("whole"));
    assert_eq!(
        fs::read(at.join("part/delta-0.1/profile.csv")).unwrap(),
        b"mine"
    );
    // A case without all of its files runs anew.
    let lost = at.join("whole/delta-1/profile.png");
    fs::remove_file(&lost).unwrap();
    let output = rarefy(at, &words("couette --resume whole/run.json --quiet"));
    let output = done_with(output);
    let warning = "warning: delta = 1: whole/delta-1/profile.png is missing; the case runs anew";
    assert!(output.contains(warning), "{output}");
    assert!(lost.exists());
    assert_eq!(table("part"), table("whole"));
    done(
        at,
        &words(&format!("{COUETTE} --delta 1 --quiet --out single")),
    );
    for (line, why) in [
        (
            "couette --resume single/run.json",
            "not the run.json of a sweep",
        ),
        (
            "fourier --resume part/run.json",
            "not the run.json of a sweep",
        ),
        (
            "couette --delta 1 --resume part/sweep.csv",
            "no checkpoints",
        ),
    ] {
        refused(at, &words(line), why);
    }
}

/// A replaced sweep leaves nothing behind but what is not its own.
#[test]
fn a_replaced_sweep_leaves_no_cases() {
    let folder = folder();
    let at = folder.path();
    let sweep =
        |deltas: &str| format!("{COUETTE} --delta {deltas} --out sweep --overwrite --quiet");
    done(at, &words(&sweep("0.1,1,10")));
    fs::write(at.join("sweep/delta-10/mine.txt"), "mine").unwrap();
    done(at, &words(&sweep("1,2")));
    let cases = |folder: &str| {
        let folders = fs::read_dir(at.join(folder)).unwrap();
        let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("delta")).collect();
        names.sort();
        names
    };
    assert_eq!(cases("sweep"), ["delta-1", "delta-10", "delta-2"]);
    assert_eq!(cases("sweep/delta-10").len(), 0);
    assert_eq!(listing(&at.join("sweep/delta-10")).len(), 1);
    assert!(at.join("sweep/delta-1/profile.csv").exists());
    done(
        at,
        &words(&format!(
            "{COUETTE} --delta 3 --out sweep --overwrite --quiet"
        )),
    );
    assert_eq!(cases("sweep"), ["delta-10"]);
}

/// Each case is checked before the first one runs.
#[test]
fn a_case_that_cannot_be_is_refused_before_any_runs() {
    let folder = folder();
    let at = folder.path();
    for (line, why) in [
        (
            "couette --delta 1,1e13 --backend cpu",
            "delta = 10000000000000",
        ),
        ("poiseuille --delta 1,1e-10", "delta = 0.0000000001"),
        (
            "shock --mach 2,60 --velocities 12 --reduced --backend cpu",
            "mach = 60",
        ),
        (
            "cavity --delta 1,1e13 --steady --backend cpu",
            "delta = 10000000000000",
        ),
        (
            "shock --mach 1.5,90 --cells 2000 --backend cpu --steps 1",
            "of main memory",
        ),
        (
            "shock --mach 1.5,90 --cells 2000 --backend emulator --steps 1",
            "mach = 90: ",
        ),
        (
            "cavity --delta 1,2 --cells 400 --steady --backend emulator",
            "delta = 1: ",
        ),
    ] {
        refused(at, &words(line), why);
    }
}

/// Devices share each case of a sweep.
#[test]
fn devices_share_the_cases_of_a_sweep() {
    let folder = folder();
    let at = folder.path();
    let cavities =
        "cavity --cells 16 --velocities 12 --reduced --steps 1 --backend emulator --delta";
    let of_two = run(at, &format!("{cavities} 1,2 --devices 2 --out two"));
    let alone = run(at, &format!("{cavities} 2 --out one"));
    assert_eq!(of_two["result"]["cases"][1]["D"], alone["result"]["D"]);
    assert!(alone["result"]["D"].is_number());
}

/// The record of a sweep has the options that its cases have alike, given or not.
#[test]
fn the_record_of_a_sweep_has_all_options() {
    let folder = folder();
    let at = folder.path();
    let sweep = run(at, &format!("{COUETTE} --kn 0.5,2 --threads 2 --out sweep"));
    let parameters = &sweep["parameters"];
    for (key, value) in [
        ("kn", Value::from("0.5,2")),
        ("threads", 2.into()),
        ("cells", 20.into()),
        ("velocities", "6x4".into()),
        ("model", "bgk".into()),
        ("until-residual", 1e-9.into()),
        ("precision", "f64".into()),
    ] {
        assert_eq!(parameters[key], value, "{key}");
    }
    assert!(parameters.get("delta").is_none());
    let again = run(at, "couette --config sweep/run.json --out again");
    assert_eq!(lasting(again), lasting(sweep));
    // The model of runs by the collision integral is none.
    let line = "couette --collision boltzmann --velocities 8 --cells 4 --iterations 2 --backend cpu --json --quiet";
    let output = rarefy(at, &words(&format!("{line} --delta 1")))
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["parameters"]["collision"], "boltzmann");
    for key in ["model", "prandtl"] {
        assert!(found["parameters"].get(key).is_none(), "{key}");
    }
}

#[test]
fn a_list_of_a_file_may_be_an_array() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("a.toml"), "[couette]\ndelta = [0.5, \"2\"]\n").unwrap();
    let found = run(at, &format!("{COUETTE} --config a.toml"));
    assert_eq!(found["parameters"]["delta"], "0.5,2");
    fs::write(at.join("b.toml"), "[couette]\ndelta = [[1], 2]\n").unwrap();
    refused(
        at,
        &words(&format!("{COUETTE} --config b.toml")),
        "must be a list of numbers or strings",
    );
}

/// Ctrl-C ends a sweep with the case that it met, which can go on alone.
#[cfg(unix)]
#[test]
fn an_interrupted_sweep_says_how_it_goes_on() {
    let folder = folder();
    let endless = "shock --mach 2,3 --cells 20 --length 10 --velocities 16 --reduced --backend cpu --steps 100000000 --checkpoint-every 100 --out sweep";
    let output = interrupted(
        folder.path(),
        &words(endless),
        "sweep/mach-2/checkpoint.rarefy",
    );
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("rarefy shock --resume sweep/run.json"),
        "{stderr}"
    );
    assert!(!folder.path().join("sweep/mach-3").exists());
    let line = "shock --resume sweep/mach-2/checkpoint.rarefy --quiet --steps";
    let steps = stderr.split("after ").nth(1).unwrap();
    let steps: u64 = steps.split(' ').next().unwrap().parse().unwrap();
    done(folder.path(), &words(&format!("{line} {}", steps + 1)));
}

/// A resumed run lists the fields of its earlier part. Those of another run are in no collection.
#[test]
fn fields_of_one_run_make_a_collection() {
    let folder = folder();
    let at = folder.path();
    let case = "cavity --cells 6 --velocities 8x8 --reduced --backend cpu --quiet";
    done(
        at,
        &words(&format!(
            "{case} --steps 12 --save-every 4 --checkpoint-every 12 --out run"
        )),
    );
    done(
        at,
        &words("cavity --resume run/checkpoint.rarefy --steps 20 --quiet"),
    );
    let series = |record: &Value| {
        let files = record["files"].as_array().unwrap();
        let names = files.iter().map(|file| file.as_str().unwrap().to_owned());
        names.filter(|name| name.contains("series")).count()
    };
    assert_eq!(series(&record(&at.join("run"))), 6);
    // A file that no record names is neither removed nor taken for one of the run.
    let other = at.join("run/series/fields-00000001.vti");
    fs::copy(at.join("run/series/fields-00000004.vti"), &other).unwrap();
    let line = format!("{case} --steps 4 --save-every 2 --out run --overwrite");
    refused(
        at,
        &words(&line),
        "no run recorded in its folder wrote this file",
    );
    fs::remove_file(&other).unwrap();
    done(at, &words(&line));
    let collection = fs::read_to_string(at.join("run/fields.pvd")).unwrap();
    assert_eq!(collection.matches("<DataSet").count(), 3, "{collection}");
    let files = fs::read_dir(at.join("run/series")).unwrap().count();
    assert_eq!(files, 3);
}

/// A sweep goes on with the cases of its own parameters alone.
#[test]
fn cases_of_another_sweep_are_refused() {
    let folder = folder();
    let at = folder.path();
    let line = format!("{COUETTE} --delta 0.1,1 --quiet --out sweep");
    done(at, &words(&line));
    let resume = words("couette --resume sweep/run.json --quiet");
    done(at, &resume);
    let case = at.join("sweep/delta-1/run.json");
    let text = fs::read_to_string(&case).unwrap();
    fs::write(&case, text.replace("\"delta\": 1.0", "\"delta\": 2.0")).unwrap();
    refused(at, &resume, "delta = 2.0, and the sweep has 1.0");
    fs::write(&case, text.replace("\"couette\"", "\"fourier\"")).unwrap();
    refused(at, &resume, "not a run of 'rarefy couette'");
    fs::remove_dir_all(at.join("sweep/delta-1")).unwrap();
    done(at, &resume);
    let record = at.join("sweep/run.json");
    let text = fs::read(&record).unwrap();
    fs::write(&record, &text[..100]).unwrap();
    refused(at, &resume, "damaged or cut short at line");
    refused(
        at,
        &words("shock --resume sweep"),
        "give its checkpoint.rarefy, or the run.json of a sweep",
    );
}

/// Warnings name their case, on standard error and in the record.
#[test]
fn warnings_of_a_sweep_name_their_case() {
    let folder = folder();
    let at = folder.path();
    for (line, name) in [
        (
            "couette --linear --delta 1,100 --cells 4 --velocities 6x4",
            "delta = 100",
        ),
        (
            "cavity --steady --linear --delta 0.1,20 --cells 4 --velocities 6x4",
            "delta = 20",
        ),
        (
            "shock --steady --mach 1.5,2 --cells 60 --length 20 --velocities 20",
            "mach = 1.5",
        ),
    ] {
        let line = format!("{line} --backend cpu --quiet --overwrite --out sweep");
        let stderr = done_with(rarefy(at, &words(&line)));
        let begin = format!("rarefy: warning: {name}: ");
        assert!(stderr.lines().any(|l| l.starts_with(&begin)), "{stderr}");
        for line in stderr.lines() {
            assert!(line.starts_with("rarefy: warning: "), "{stderr}");
            assert!(line.contains(" = "), "{stderr}");
        }
        let of = |place: &str| record(&at.join(place))["warnings"].clone();
        let all = of("sweep");
        let first = all[0].as_str().unwrap();
        assert!(
            stderr.contains(&format!("rarefy: warning: {first}")),
            "{stderr}"
        );
        // The record of the case itself needs no name.
        let case = first.split(": ").next().unwrap().replace(" = ", "-");
        let own = of(&format!("sweep/{case}"));
        assert!(first.ends_with(own[0].as_str().unwrap()), "{own}");
    }
}

/// A sweep has a record from its start on, so one that is killed in its first case goes on.
#[cfg(unix)]
#[test]
fn a_sweep_that_is_killed_in_its_first_case_goes_on() {
    let folder = folder();
    let at = folder.path();
    let line = |steps: u32, out: &str| {
        format!(
            "shock --mach 2,3 --cells 400 --reduced --backend cpu --steps {steps} --checkpoint-every 20 --quiet --out {out}"
        )
    };
    let long = line(200_000, "killed");
    let mut child = started(&mut rarefy(at, &words(&long)));
    let checkpoint = at.join("killed/mach-2/checkpoint.rarefy");
    for _ in 0..6000 {
        if checkpoint.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(checkpoint.exists() && at.join("killed/run.json").exists());
    refused(
        at,
        &words(&long),
        "holds an unfinished sweep of 'rarefy shock', which goes on with --resume killed/run.json",
    );
    // The killed run has left its lock, which is the sign of the next one.
    fs::remove_file(at.join("killed/mach-2/.rarefy.lock")).unwrap();
    let line = "shock --resume killed/run.json --quiet";
    let output = interrupted(at, &words(line), "killed/mach-2/.rarefy.lock");
    let stderr = text(&output.stderr);
    assert!(
        stderr
            .trim_end()
            .ends_with("go on with: rarefy shock --resume killed/run.json"),
        "{stderr}"
    );
}
