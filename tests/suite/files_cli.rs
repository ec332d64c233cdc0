//! Files of the user stay; a run replaces and removes its own alone, and keeps what it has whatever fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::command::{done, folder, interrupted, listing, rarefy, refused, text};

const SHOCK: &str = "shock --mach 2 --cells 30 --length 15 --velocities 12 --reduced --backend cpu";

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn run(at: &Path, line: &str) {
    done(at, &[&words(line)[..], &["--quiet"]].concat());
}

fn record(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap()
}

#[track_caller]
fn holds(path: &Path, content: &str) {
    assert_eq!(
        fs::read_to_string(path).unwrap(),
        content,
        "{}",
        path.display()
    );
}

/// Names that begin as those of unfinished files do are the user's all the same.
#[test]
fn files_that_look_unfinished_stay() {
    let folder = folder();
    let at = folder.path();
    fs::create_dir_all(at.join("run/series")).unwrap();
    let mine = ["run/.rarefy-notes", "run/series/.rarefy-ab12cd"].map(|name| at.join(name));
    for path in &mine {
        fs::write(path, "mine").unwrap();
    }
    run(at, &format!("{SHOCK} --steps 2 --save-every 1 --out run"));
    run(
        at,
        &format!("{SHOCK} --steps 2 --save-every 1 --out run --overwrite"),
    );
    let long = "shock --mach 2 --cells 4000 --reduced --steps 1000000 --backend cpu --quiet --out run --overwrite";
    #[cfg(unix)]
    interrupted(at, &words(long), "run/.rarefy.lock");
    let _ = long;
    for path in &mine {
        holds(path, "mine");
    }
}

#[test]
fn series_of_others_are_refused() {
    let folder = folder();
    let at = folder.path();
    fs::create_dir_all(at.join("run/series")).unwrap();
    let mine = at.join("run/series/fields-00000002.vti");
    fs::write(&mine, "mine").unwrap();
    let line = "cavity --cells 6 --velocities 8x8 --reduced --backend cpu --quiet --steps 2 --save-every 1 --out run";
    refused(
        at,
        &words(line),
        "no run recorded in its folder wrote this file",
    );
    refused(
        at,
        &words(&format!("{line} --overwrite")),
        "no run recorded in its folder wrote this file",
    );
    // A run without a series leaves it alone, and so does the one that replaces it.
    run(at, &format!("{SHOCK} --steps 2 --out run"));
    refused(
        at,
        &words(&format!("{line} --overwrite")),
        "no run recorded in its folder wrote this file",
    );
    run(at, &format!("{SHOCK} --steps 1 --out run --overwrite"));
    holds(&mine, "mine");
    // The series of a run is its own.
    run(at, &format!("{SHOCK} --steps 4 --save-every 2 --out own"));
    run(
        at,
        &format!("{SHOCK} --steps 3 --save-every 3 --out own --overwrite"),
    );
    let mut names: Vec<String> = listing(&at.join("own/series"));
    names
        .iter_mut()
        .for_each(|name| *name = name.rsplit('/').next().unwrap().to_owned());
    assert_eq!(names, ["fields-00000000.vti", "fields-00000003.vti"]);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_links() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let at = folder.path();
    for name in ["elsewhere", "run", "linked"] {
        fs::create_dir(at.join(name)).unwrap();
    }
    let thesis = at.join("thesis.tex");
    fs::write(&thesis, "mine").unwrap();
    symlink("../elsewhere", at.join("run/series")).unwrap();
    symlink("../thesis.tex", at.join("linked/profile.csv")).unwrap();
    for overwrite in ["", " --overwrite"] {
        let line = format!("{SHOCK} --steps 2 --save-every 1 --out run{overwrite}");
        refused(at, &words(&line), "series: a link");
        let line = format!("{SHOCK} --steps 2 --out linked{overwrite}");
        refused(at, &words(&line), "profile.csv: a link");
    }
    holds(&thesis, "mine");
    assert!(listing(&at.join("elsewhere")).is_empty());
    // A folder that the user names may be a link.
    symlink("elsewhere", at.join("out")).unwrap();
    run(at, &format!("{SHOCK} --steps 2 --out out"));
    assert!(at.join("elsewhere/run.json").exists());
}

/// A record says which files there are; only those that are as the run wrote them go with it.
#[test]
fn a_replaced_run_takes_its_own_files_with_it_alone() {
    let folder = folder();
    let at = folder.path();
    fs::write(at.join("x.txt"), "1\n2\n").unwrap();
    let couette = "couette --delta 1 --linear --cells 20 --backend cpu --out run";
    run(at, couette);
    fs::write(at.join("run/thesis.tex"), "mine").unwrap();
    fs::write(at.join("run/residuals.csv"), "changed").unwrap();
    // A record that lists more than its run wrote.
    let mut forged = record(&at.join("run"));
    let files = forged["files"].as_array_mut().unwrap();
    files.push("run/thesis.tex".into());
    forged["manifest"]["thesis.tex"] = serde_json::json!({ "bytes": 4, "crc32": "69a8d393" });
    fs::write(at.join("run/run.json"), forged.to_string()).unwrap();
    run(at, "sum x.txt --out run --overwrite");
    holds(&at.join("run/thesis.tex"), "mine");
    holds(&at.join("run/residuals.csv"), "changed");
    assert!(!at.join("run/profile.csv").exists() && !at.join("run/profile.png").exists());
    // A record of another program.
    fs::write(
        at.join("run/run.json"),
        r#"{"files": ["thesis.tex", "run.json"]}"#,
    )
    .unwrap();
    run(at, "sum x.txt --out run --overwrite");
    holds(&at.join("run/thesis.tex"), "mine");
}

#[cfg(unix)]
#[test]
fn a_stopped_run_has_replaced_nothing() {
    let folder = folder();
    let at = folder.path();
    run(
        at,
        &format!("{SHOCK} --steps 4 --checkpoint-every 2 --save-every 2 --out run"),
    );
    let before: Vec<(String, Vec<u8>)> = listing(&at.join("run"))
        .into_iter()
        .filter(|name| Path::new(name).is_file())
        .map(|name| (name.clone(), fs::read(&name).unwrap()))
        .collect();
    let long = "shock --mach 3 --cells 4000 --reduced --backend cpu --checkpoint-every 5 --save-every 1000 --quiet --overwrite";
    let line = format!("{long} --steps 1000000 --out run");
    let output = interrupted(at, &words(&line), "run/rarefy-new/checkpoint.rarefy");
    let stderr = text(&output.stderr);
    let hint = "go on with: rarefy shock --resume run/rarefy-new/checkpoint.rarefy";
    assert!(stderr.trim_end().ends_with(hint), "{stderr}");
    for (name, bytes) in &before {
        assert!(fs::read(name).unwrap() == *bytes, "{name}");
    }
    // At its end a run replaces the other, and takes up the place of the stopped one.
    run(
        at,
        &format!("{SHOCK} --steps 6 --checkpoint-every 3 --save-every 6 --out run --overwrite"),
    );
    assert!(!at.join("run/rarefy-new").exists());
    assert_eq!(record(&at.join("run"))["course"]["steps"], 6);
    let names: Vec<String> = listing(&at.join("run/series"));
    assert_eq!(names.len(), 2, "{names:?}");
    run(at, "shock --resume run/checkpoint.rarefy --steps 8");
    assert_eq!(record(&at.join("run"))["course"]["steps"], 8);
}

#[test]
fn a_sweep_that_replaces_another_names_its_files_where_they_are() {
    let folder = folder();
    let at = folder.path();
    for machs in ["2,1.5", "2,1.8"] {
        let line = SHOCK.replace("--mach 2", &format!("--mach {machs}"));
        run(
            at,
            &format!("{line} --steps 2 --checkpoint-every 1 --out run --overwrite"),
        );
    }
    assert!(!at.join("run/rarefy-new").exists() && !at.join("run/mach-1.5").exists());
    for case in ["mach-2", "mach-1.8"] {
        let record = record(&at.join("run").join(case));
        for file in record["files"].as_array().unwrap() {
            let file = file.as_str().unwrap();
            assert!(
                file.starts_with(&format!("run/{case}/")) && at.join(file).exists(),
                "{file}"
            );
        }
    }
}

#[test]
fn two_checkpoints_are_kept() {
    let folder = folder();
    let at = folder.path();
    run(at, &format!("{SHOCK} --steps 6 --out whole"));
    run(
        at,
        &format!("{SHOCK} --steps 4 --checkpoint-every 2 --out run"),
    );
    let last = at.join("run/checkpoint.rarefy");
    let mut bytes = fs::read(&last).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&last, &bytes).unwrap();
    let line = "shock --resume run/checkpoint.rarefy --steps 6";
    refused(
        at,
        &words(line),
        "the checkpoint before it is whole: --resume run/checkpoint.previous.rarefy",
    );
    fs::remove_file(at.join("run/run.json")).unwrap();
    run(
        at,
        "shock --resume run/checkpoint.previous.rarefy --steps 6 --checkpoint-every 3",
    );
    let profile = |folder: &str| fs::read(at.join(folder).join("profile.csv")).unwrap();
    assert!(profile("run") == profile("whole"));
    // The damaged one has not taken the place of the whole one.
    run(
        at,
        "shock --resume run/checkpoint.previous.rarefy --steps 7 --out again",
    );
}

#[test]
fn hints_are_quoted_for_the_shell() {
    let folder = folder();
    let at = folder.path();
    let line = format!("{SHOCK} --steps 2 --checkpoint-every 1 --quiet");
    let arguments = [&words(&line)[..], &["--out", "my run"]].concat();
    done(at, &arguments);
    fs::remove_file(at.join("my run/run.json")).unwrap();
    refused(
        at,
        &arguments,
        "goes on with --resume 'my run/checkpoint.rarefy'",
    );
}

/// Runs the command under a limit of the shell.
#[cfg(unix)]
fn limited(at: &Path, limit: &str, line: &str) -> Output {
    let command = rarefy(at, &words(line));
    Command::new("sh")
        .current_dir(at)
        .args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .output()
        .unwrap()
}

/// Results are closed once they are written, however many there are.
#[cfg(unix)]
#[test]
fn few_files_are_open_at_a_time() {
    let folder = folder();
    let at = folder.path();
    let output = limited(
        at,
        "-n 16",
        "cavity --cells 4 --velocities 6 --steps 4 --checkpoint-every 2 --backend cpu --out run --quiet",
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(listing(&at.join("run")).len() > 20);
}

/// The writes, waits and renames that fail in turn: each of them at night, some of them else.
const CALLS: usize = 90;

/// Whichever write fails, the others' files are whole, the command says so, and it leaves neither lock nor unfinished file.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_write_that_fails_costs_one_file() {
    let folder = folder();
    let at = folder.path();
    if !crate::gpu::compile(at, "libfailing.so", include_str!("failing_writes.c")) {
        return;
    }
    let library = at.join("libfailing.so");
    let line = format!("{SHOCK} --steps 3 --checkpoint-every 1 --save-every 2 --quiet --out");
    let command = |out: &str, call: usize| {
        let mut command = rarefy(at, &[&words(&line)[..], &[out]].concat());
        command
            .env("LD_PRELOAD", &library)
            .env("FAILING_CALL", call.to_string());
        command.output().unwrap()
    };
    let unfailing = command("whole", 0);
    assert!(unfailing.status.success());
    let warnings = text(&unfailing.stderr);
    let files = |folder: &str| -> Vec<(PathBuf, Vec<u8>)> {
        let folder = at.join(folder);
        let names = listing(&folder).into_iter().map(PathBuf::from);
        let names = names.filter(|path| path.is_file());
        names
            .map(|path| {
                (
                    path.strip_prefix(&folder).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                )
            })
            .collect()
    };
    let whole = files("whole");
    let stride = if std::env::var_os("RAREFY_FUZZ").is_some() {
        1
    } else {
        7
    };
    let mut failed = 0;
    for call in (1..=CALLS).step_by(stride) {
        let output = command("run", call);
        let mut lines = text(&output.stderr).lines();
        let said = lines.any(|line| line.starts_with("rarefy: ") && !warnings.contains(line));
        let code = output.status.code();
        // Notes in the journal may fail unseen.
        assert!(
            code == Some(0) || code.is_some_and(|code| code <= 2) && said,
            "{call}: {code:?}"
        );
        failed += usize::from(said);
        for (name, bytes) in files("run") {
            let shown = name.display().to_string();
            assert!(
                !shown.contains(".rarefy-") && !shown.ends_with(".lock"),
                "{call}: {shown}"
            );
            // These tell times.
            if ["run.json", "report.html"].contains(&shown.as_str()) || shown.ends_with(".rarefy") {
                continue;
            }
            let other = whole.iter().find(|(other, _)| *other == name);
            // The list of a series lacks what could not be written.
            assert!(
                other.is_some_and(|(_, other)| *other == bytes),
                "{call}: {shown}"
            );
        }
        if at.join("run/checkpoint.rarefy").exists() {
            run(
                at,
                "shock --resume run/checkpoint.rarefy --steps 5 --out more",
            );
            fs::remove_dir_all(at.join("more")).unwrap();
        }
        let _ = fs::remove_dir_all(at.join("run"));
    }
    assert!(failed >= 20 / stride, "{failed}");
}

/// Whichever larger allocation fails, the files that are there are whole, the command says so, and its last checkpoint goes on to the same result.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn memory_that_ends_leaves_whole_files_and_a_checkpoint() {
    let folder = folder();
    let at = folder.path();
    let code = include_str!("failing_allocations.c");
    if !crate::gpu::compile(at, "libfailing.so", code) {
        return;
    }
    let library = at.join("libfailing.so");
    let line = format!("{SHOCK} --threads 1 --steps 3 --checkpoint-every 1 --quiet --out");
    let command = |out: &str, allocation: usize| {
        let mut command = rarefy(at, &[&words(&line)[..], &[out]].concat());
        command
            .env("LD_PRELOAD", &library)
            .env("FAILING_ALLOCATION", allocation.to_string());
        command.output().unwrap()
    };
    assert!(command("whole", 0).status.success());
    let more = |from: &str| {
        let line = format!("shock --resume {from}/checkpoint.rarefy --steps 5 --out more");
        run(at, &line);
        let profile = fs::read(at.join("more/profile.csv")).unwrap();
        fs::remove_dir_all(at.join("more")).unwrap();
        profile
    };
    let expected = more("whole");
    let at_night = std::env::var_os("RAREFY_FUZZ").is_some();
    let (mut failed, mut resumed) = (0, 0);
    for allocation in 1..=120 {
        if !at_night && ![1, 4, 12, 40, 60, 90].contains(&allocation) {
            continue;
        }
        let output = command("run", allocation);
        let stderr = text(&output.stderr);
        let said = stderr.contains("memory");
        assert!(
            output.status.success() || output.status.code() == Some(2) && said,
            "{allocation}: {stderr}"
        );
        failed += usize::from(said);
        for name in listing(&at.join("run")) {
            let path = PathBuf::from(name);
            let is_result = path
                .extension()
                .is_some_and(|end| end == "csv" || end == "npy");
            if path.is_file() && is_result {
                let other = at
                    .join("whole")
                    .join(path.strip_prefix(at.join("run")).unwrap());
                let name = path.display();
                assert_eq!(
                    fs::read(&path).unwrap(),
                    fs::read(other).unwrap(),
                    "{allocation}: {name}"
                );
            }
        }
        if at.join("run/checkpoint.rarefy").exists() {
            assert!(more("run") == expected, "{allocation}");
            resumed += usize::from(said);
        }
        let _ = fs::remove_dir_all(at.join("run"));
    }
    assert!(failed >= 3 && resumed >= 1, "{failed} {resumed}");
}

/// One form of checkpoints and one of records is read; files of another one name both.
#[test]
fn files_of_another_format_are_refused() {
    let folder = folder();
    let at = folder.path();
    let case = "cavity --cells 4 --velocities 8 --reduced --steps 2 --backend cpu";
    run(at, &format!("{case} --checkpoint-every 1 --out run"));
    let checkpoint = fs::read(at.join("run/checkpoint.rarefy")).unwrap();
    let start = b"rarefy-checkpoint 2\n";
    assert!(checkpoint.starts_with(start));
    let other = [b"rarefy-checkpoint 1\n", &checkpoint[start.len()..]].concat();
    fs::write(at.join("other.rarefy"), other).unwrap();
    refused(
        at,
        &words("cavity --resume other.rarefy --steps 4"),
        "other.rarefy: a checkpoint of another format than 2, which this rarefy reads",
    );
    run(
        at,
        "couette --delta 0.5,1 --cells 8 --velocities 4x4 --backend cpu --out sweep",
    );
    for (folder, line) in [
        ("run", "cavity --config run/run.json"),
        ("sweep", "couette --resume sweep/run.json"),
    ] {
        let mut of = record(&at.join(folder));
        assert_eq!(of["format"], 2);
        of["format"] = 1.into();
        fs::write(at.join(folder).join("run.json"), of.to_string()).unwrap();
        let why = "run.json: a record of format 1; this rarefy reads format 2";
        refused(at, &words(line), why);
        // It is a run all the same.
        let line = format!("couette --delta 1 --backend cpu --out {folder}");
        refused(at, &words(&line), "of 'rarefy c");
    }
}
