//! `cargo xtask ci`: what every change must pass.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::cargo;

/// One call of cargo.
struct Stage {
    title: &'static str,
    arguments: &'static [&'static str],
    /// Variables of the environment.
    variables: &'static [(&'static str, &'static str)],
}

const STAGES: [Stage; 9] = [
    Stage {
        title: "format",
        arguments: &["fmt", "--all", "--check"],
        variables: &[],
    },
    Stage {
        title: "lints",
        arguments: &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        variables: &[],
    },
    Stage {
        title: "lints without features",
        arguments: &[
            "clippy",
            "--package",
            "rarefy",
            "--no-default-features",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        variables: &[],
    },
    Stage {
        title: "documentation",
        arguments: &["doc", "--workspace", "--no-deps"],
        variables: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    Stage {
        title: "tests",
        arguments: &["test", "--workspace"],
        variables: &[],
    },
    Stage {
        title: "first example",
        arguments: &["run", "--quiet", "--example", "01_relaxation"],
        variables: &[],
    },
    Stage {
        title: "second example",
        arguments: &[
            "run",
            "--quiet",
            "--example",
            "02_collide_your_own_distribution",
        ],
        variables: &[],
    },
    Stage {
        title: "third example",
        arguments: &[
            "run",
            "--quiet",
            "--example",
            "03_custom_kernel_in_the_emulator",
        ],
        variables: &[],
    },
    Stage {
        title: "PTX matches its sources",
        arguments: &["xtask", "ptx", "check"],
        variables: &[],
    },
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
    for stage in STAGES {
        let mut command = cargo();
        command
            .args(stage.arguments)
            .envs(stage.variables.iter().copied());
        run_stage(stage.title, &mut command)?;
    }
    println!("\n== all stages passed");
    Ok(())
}
