//! A night of fuzzing: each target of cargo-fuzz for a while, from the corpus of the tests.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::{root, run};

/// A command of cargo-fuzz, which takes a nightly Rust.
fn fuzz() -> Command {
    let mut command = Command::new("cargo");
    // The toolchain that runs this program would override the one that is asked for.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command.args(["+nightly", "fuzz"]).current_dir(root());
    command
}

/// Names of the targets, in order.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            names.extend(path.file_stem().map(|stem| stem.display().to_string()));
        }
    }
    names.sort();
    Ok(names)
}

/// Runs all targets, or one, for so many seconds each. A target that finds a fault does not keep the others from their turn.
pub(crate) fn all(seconds: u64, only: Option<&str>) -> Result<()> {
    let mut targets = targets()?;
    if let Some(only) = only {
        let all = targets.join(", ");
        targets.retain(|target| target == only);
        ensure!(
            !targets.is_empty(),
            "'{only}' is no target; there are {all}"
        );
    }
    let mut version = fuzz();
    version.arg("--version");
    version.stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(
        version.status().is_ok_and(|status| status.success()),
        "cargo-fuzz on a nightly Rust is needed: rustup toolchain install nightly; cargo install cargo-fuzz"
    );
    let mut faulty = Vec::new();
    for target in targets {
        let (new, known) = (
            format!("fuzz/corpus/{target}"),
            format!("tests/corpus/{target}"),
        );
        fs::create_dir_all(root().join(&new)).with_context(|| new.clone())?;
        let mut command = fuzz();
        command.args(["run", &target, &new, &known, "--"]);
        command.args([&format!("-max_total_time={seconds}"), "-rss_limit_mb=2048"]);
        eprintln!("fuzz: {target} for {seconds} s");
        if let Err(error) = run(&mut command) {
            eprintln!("fuzz: {error:#}");
            faulty.push(target);
        }
    }
    if !faulty.is_empty() {
        bail!(
            "faults of {}: their cases are in fuzz/artifacts and belong in tests/corpus",
            faulty.join(", ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each target is declared, and begins from a corpus of the tests.
    #[test]
    fn targets_have_a_corpus() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("a manifest");
        let targets = targets().expect("targets");
        assert!(targets.len() >= 6, "{targets:?}");
        for target in targets {
            let declared = format!("path = \"fuzz_targets/{target}.rs\"");
            assert!(manifest.contains(&declared), "{target}");
            assert!(
                root().join("tests/corpus").join(&target).is_dir(),
                "{target}"
            );
        }
        let error = all(1, Some("nothing")).expect_err("no such target");
        assert!(error.to_string().contains("checkpoint, "), "{error}");
    }
}
