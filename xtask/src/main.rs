//! The chores of rarefy: `cargo xtask help` lists them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

mod book;
mod bundle;
mod ci;
#[cfg(test)]
mod documents;
mod evidence;
mod packages;
mod ptx;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "The chores of rarefy",
    disable_version_flag = true
)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Build, check and look at the PTX of the kernels
    #[command(subcommand)]
    Ptx(ptx::Chore),
    /// Pack test and bench binaries into a folder that runs on a GPU machine without Rust
    Bundle {
        /// The folder, which is replaced
        #[arg(long, default_value = "bundle")]
        out: PathBuf,
        /// Leave one archive, which run-all.sh unpacks, in place of the programs
        #[arg(long)]
        pack: bool,
    },
    /// Make the figures and tables of README and book anew
    Evidence {
        /// Only those whose name contains this
        #[arg(default_value = "")]
        only: String,
    },
    /// Formulas of the book for MathJax; mdBook calls this
    Math {
        /// `supports` and a renderer: a question, to which the answer is yes
        question: Vec<String>,
    },
    /// Pack all crates and test the packages outside of the workspace
    Packages,
    /// Everything that .ci/run checks, in its order
    Ci,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().chore {
        Chore::Ptx(chore) => ptx::run(&chore),
        Chore::Bundle { out, pack } => bundle::run(&out, pack),
        Chore::Evidence { only } => evidence::regenerate(&only),
        Chore::Math { question } if question.is_empty() => book::math(),
        Chore::Math { .. } => Ok(()),
        Chore::Packages => packages::test(),
        Chore::Ci => ci::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Cargo's folder for what it builds.
fn target_dir() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The cargo that runs this program, in the root of the repository.
fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // What cargo tells the program it runs is not meant for the cargo that this program runs.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command and insists that it succeeds.
fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", name.display()))?;
    if !status.success() {
        let arguments: Vec<_> = command
            .get_args()
            .map(|argument| argument.to_string_lossy())
            .collect();
        let program = Path::new(&name)
            .file_name()
            .unwrap_or(&name)
            .display()
            .to_string();
        bail!("`{program} {}` failed ({status})", arguments.join(" "));
    }
    Ok(())
}
