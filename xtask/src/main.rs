//! The chores of rarefy: `cargo xtask help` lists them.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bundle;
mod ci;
#[cfg(test)]
mod documents;
mod evidence;
mod fuzz;
mod gallery;
mod gallery_page;
#[cfg(test)]
mod layers;
mod packages;
mod picture;
mod ptx;
mod python;
mod ranks;
mod snapshots;
mod workspace;

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
        /// Leave one archive, which run-all.sh unpacks, instead of the programs
        #[arg(long)]
        pack: bool,
    },
    /// Make the figures and tables of README and book anew
    Evidence {
        /// Only those whose name contains this
        #[arg(default_value = "")]
        only: String,
        /// The command; a release build without it
        #[arg(long)]
        program: Option<PathBuf>,
    },
    /// Run each target of cargo-fuzz from the corpus of the tests, as a nightly job does
    Fuzz {
        /// Seconds for each target
        #[arg(default_value_t = 600)]
        seconds: u64,
        /// One target alone
        #[arg(long)]
        target: Option<String>,
    },
    /// Pack all crates and test the packages outside of the workspace
    Packages,
    /// Build the wheel of the Python package and test it in a virtual environment
    Python,
    /// Build the command with the feature `mpi`, and compare its runs on one, two and four ranks by Open MPI
    Ranks,
    /// Record the outputs of some forty commands, or compare them with recorded ones to the bit
    Snapshots(snapshots::Arguments),
    /// All checks of .ci/run in its order, except those of the documents
    Ci,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().chore {
        Chore::Ptx(chore) => ptx::run(&chore),
        Chore::Bundle { out, pack } => bundle::run(&out, pack),
        Chore::Evidence { only, program } => evidence::regenerate(&only, program.as_deref()),
        Chore::Fuzz { seconds, target } => fuzz::all(seconds, target.as_deref()),
        Chore::Packages => packages::test(),
        Chore::Python => python::check(),
        Chore::Ranks => ranks::build_and_compare(),
        Chore::Snapshots(arguments) => snapshots::run(&arguments),
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
