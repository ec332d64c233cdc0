//! `cargo xtask ci`: what every change must pass.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::cargo;

/// Title, arguments of cargo, and variables of the environment of each stage.
const STAGES: [(&str, &[&str], &[(&str, &str)]); 5] = [
    ("format", &["fmt", "--all", "--check"], &[]),
    (
        "lints",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    ),
    (
        "documentation",
        &["doc", "--workspace", "--no-deps"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    ),
    ("tests", &["test", "--workspace"], &[]),
    ("PTX matches its sources", &["xtask", "ptx", "check"], &[]),
];

fn run_stage(title: &str, command: &mut Command) -> Result<()> {
    println!("\n== {title}");
    let start = Instant::now();
    crate::run(command).with_context(|| format!("stage `{title}`"))?;
    println!(
        "== {title}: passed in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

pub(crate) fn run() -> Result<()> {
    for (title, arguments, variables) in STAGES {
        run_stage(
            title,
            cargo().args(arguments).envs(variables.iter().copied()),
        )?;
    }
    println!("\n== all stages passed");
    Ok(())
}
