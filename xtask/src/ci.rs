//! `cargo xtask ci`: the checks of every change.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::python;
use crate::ranks;
use crate::workspace::{self, QUICK_BUILD, cargo, root, target_dir};

/// One call of cargo.
struct Stage {
    title: &'static str,
    arguments: &'static [&'static str],
    /// Variables of the environment.
    variables: &'static [(&'static str, &'static str)],
}

const fn stage(title: &'static str, arguments: &'static [&'static str]) -> Stage {
    Stage {
        title,
        arguments,
        variables: &[],
    }
}

const FORMAT: Stage = stage("format", &["fmt", "--all", "--check"]);
/// Builds the Python module too, with the features of the tests: so is the library compiled once for both.
const BUILD: Stage = stage(
    "build of the tests",
    &[
        "build",
        "--workspace",
        "--lib",
        "--bins",
        "--tests",
        "--examples",
    ],
);
const TESTS: Stage = stage("tests", &["test", "--workspace"]);

/// Stages that only check. They run beside the others, in a target folder of their own.
const CHECKS: [Stage; 3] = [
    stage(
        "lints without features",
        &[
            "clippy",
            "--package",
            "rarefy",
            "--no-default-features",
            "--",
            "-D",
            "warnings",
        ],
    ),
    stage(
        "lints of the device half",
        &[
            "clippy",
            "--package",
            "rarefy-simt",
            "--no-default-features",
            "--",
            "-D",
            "warnings",
        ],
    ),
    Stage {
        title: "documentation",
        arguments: &["doc", "--workspace", "--no-deps"],
        variables: &[("RUSTDOCFLAGS", "-D warnings")],
    },
];

/// Stages that run beside the tests and have target folders of their own, so that both cores are busy to the end. Python's tests run the command,
/// whose copy is at the path that arrives, and the module that was built with it.
fn run_beside(copy_of_command: &Receiver<PathBuf>) -> Result<()> {
    // The tests' stage may put a new file at this path, and the running one then has none.
    let xtask = env::current_exe().context("the path of xtask")?;
    let target = target_dir().join("checks");
    let mut command = lints();
    command.env("CARGO_TARGET_DIR", &target);
    run_quietly("lints", &mut command)?;
    for stage in CHECKS {
        let mut command = cargo();
        command
            .args(stage.arguments)
            .envs(stage.variables.iter().copied())
            .env("CARGO_TARGET_DIR", &target);
        run_quietly(stage.title, &mut command)?;
    }
    let program = copy_of_command
        .recv()
        .context("the command was not built")?;
    let mut command = Command::new(&xtask);
    command.arg("python").current_dir(root());
    command.env("RAREFY_COMMAND", program);
    command.env(
        "RAREFY_MODULE",
        target_dir().join("debug").join(python::MODULE),
    );
    run_quietly("Python", &mut command)?;
    let mut command = Command::new(xtask);
    command.args(["ptx", "check"]).current_dir(root());
    run_quietly("PTX matches its sources", &mut command)
}

/// Lints of all targets, with the views of other libraries, and with the peers of the benches where the tools that build GMP are here.
fn lints() -> Command {
    let mut command = cargo();
    command.args(["clippy", "--workspace", "--all-targets"]);
    command.args(["--features", "rarefy/nalgebra,rarefy/ndarray"]);
    if installed("m4") && installed("make") {
        command.args(["--features", "rarefy/peers"]);
    } else {
        println!("\n== peers of the benches: not checked, as GMP is built with m4 and make");
    }
    command.args(["--", "-D", "warnings"]);
    command
}

/// Runs a stage beside others, and prints its lines only where it fails.
fn run_quietly(title: &str, command: &mut Command) -> Result<()> {
    let start = Instant::now();
    let output = command
        .output()
        .with_context(|| format!("stage `{title}`"))?;
    let seconds = start.elapsed().as_secs_f64();
    if !output.status.success() {
        let lines = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!(
            "stage `{title}` failed ({})\n{lines}{errors}",
            output.status
        );
    }
    println!("\n== {title}: passed in {seconds:.0} s, beside the others");
    Ok(())
}

fn run_stage(title: &str, command: &mut Command) -> Result<()> {
    println!("\n== {title}");
    let start = Instant::now();
    workspace::run(command).with_context(|| format!("stage `{title}`"))?;
    println!(
        "== {title}: passed in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn run_plain(stage: &Stage, features: &[&str]) -> Result<()> {
    let mut command = cargo();
    command
        .args(stage.arguments)
        .args(features)
        .envs(stage.variables.iter().copied());
    run_stage(stage.title, &mut command)
}

fn run_chore(title: &str, chore: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("\n== {title}");
    let start = Instant::now();
    chore().with_context(|| format!("stage `{title}`"))?;
    let seconds = start.elapsed().as_secs_f64();
    println!("== {title}: passed in {seconds:.0} s");
    Ok(())
}

pub(crate) fn run() -> Result<()> {
    run_plain(&FORMAT, &[])?;
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let beside = scope.spawn(move || run_beside(&receiver));
        run_in_turn(sender)?;
        beside
            .join()
            .unwrap_or_else(|_| bail!("the stages beside have panicked"))
    })?;
    println!("\n== all stages passed");
    Ok(())
}

/// Stages that share the usual target folder, which one build at a time locks.
fn run_in_turn(copy_of_command: Sender<PathBuf>) -> Result<()> {
    // So the command is built once, for the tests and for ranks that MPI connects.
    let with_mpi = ranks::are_possible();
    let features: &[&str] = if with_mpi {
        &["--features", "rarefy/mpi"]
    } else {
        &[]
    };
    run_plain(&BUILD, features)?;
    // The tests may write another one at its path.
    let command = target_dir().join("debug/rarefy");
    let copy = target_dir().join("rarefy-of-tests");
    fs::copy(&command, &copy).with_context(|| format!("copying {}", command.display()))?;
    // Nobody receives it where a stage beside has failed, which ends the checks.
    let _ = copy_of_command.send(copy.clone());
    drop(copy_of_command);
    run_plain(&TESTS, features)?;
    let mut command = Command::new(root().join("packaging/test-slurm.sh"));
    command.arg(&copy);
    run_stage("job of Slurm", &mut command)?;
    if with_mpi {
        run_chore("ranks", || ranks::compare(copy))?;
    } else {
        println!("\n== ranks: skipped, as Open MPI is not here (scripts/install-mpi.sh)");
    }
    // `cargo xtask packages` builds and tests each crate from its package alone, and `cargo publish` builds it.
    let mut command = cargo();
    command.args(["package", "--workspace", "--exclude", "xtask"]);
    command.args(["--exclude", "rarefy-c", "--exclude", "rarefy-python"]);
    command.args(["--allow-dirty", "--quiet", "--no-verify"]);
    run_stage("packages", &mut command)?;
    for example in examples()? {
        // The tests' stage has built them; `cargo run` would compile the library for another set of features.
        let program = target_dir().join("debug/examples").join(&example);
        let mut command = Command::new(program);
        command.current_dir(root());
        run_stage(&format!("example {example}"), &mut command)?;
    }
    // Applications outside of the workspace, with kernels of their own.
    for (example, chore) in [
        ("own_integrand", "run"),
        ("saxpy", "test"),
        ("saxpy", "run"),
    ] {
        let mut command = cargo();
        command.args([chore, "--quiet", "--target-dir"]);
        command.arg(target_dir());
        command.arg("--manifest-path");
        command.arg(format!("examples/{example}/Cargo.toml"));
        if chore == "test" {
            command.arg("--workspace");
        }
        // They compile rarefy anew, and compute little.
        command.envs(QUICK_BUILD);
        run_stage(&format!("example {example}: {chore}"), &mut command)?;
    }
    // cargo-fuzz links them with libFuzzer, which is C++ and not needed to check them.
    let mut command = cargo();
    command.args(["check", "--locked", "--manifest-path", "fuzz/Cargo.toml"]);
    command.arg("--target-dir").arg(target_dir());
    command.env("CUSTOM_LIBFUZZER_PATH", target_dir().join("libfuzzer.a"));
    run_stage("fuzz targets", &mut command)
}

/// Names of the examples, which are numbered from 01 without a gap.
fn examples() -> Result<Vec<String>> {
    let folder = root().join("examples");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    numbered(&names)?;
    Ok(names)
}

fn numbered(names: &[String]) -> Result<()> {
    for (i, name) in names.iter().enumerate() {
        if !name.starts_with(&format!("{:02}_", i + 1)) {
            bail!("example {name} should be number {:02}", i + 1);
        }
    }
    Ok(())
}

/// Whether a program is there to be run.
fn installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target without a corpus is not run by the tests, and a corpus without a target not by cargo-fuzz.
    #[test]
    fn each_corpus_has_a_fuzz_target_that_is_declared() {
        let names = |folder: &str| {
            let entries = fs::read_dir(root().join(folder)).unwrap();
            let stem = |entry: fs::DirEntry| entry.path().file_stem().unwrap().to_os_string();
            let mut names: Vec<_> = entries.map(|entry| stem(entry.unwrap())).collect();
            names.sort();
            names
        };
        let targets = names("fuzz/fuzz_targets");
        assert_eq!(targets, names("tests/corpus"));
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        for name in targets {
            let name = name.to_string_lossy();
            let path = format!("fuzz/fuzz_targets/{name}.rs");
            let target = fs::read_to_string(root().join(&path)).unwrap();
            assert!(
                target.contains(&format!("parsers::{name}(bytes)")),
                "{path}"
            );
            let declared = format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"");
            assert!(manifest.contains(&declared), "{name}");
        }
    }

    #[test]
    fn examples_have_numbers_of_their_own() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.into())
                .collect::<Vec<String>>()
        };
        numbered(&names(&["01_a", "02_b"])).unwrap();
        numbered(&names(&["01_a", "01_b"])).unwrap_err();
        numbered(&names(&["01_a", "03_b"])).unwrap_err();
        assert!(examples().unwrap().len() > 3);
    }
}
