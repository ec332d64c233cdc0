//! The options of every computing subcommand.

use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::ranks;
use super::values::{named, whole};
use crate::compute::{Backend, Compute, Devices, Precision};

/// Most threads of the work on the CPU.
pub(super) const MOST_THREADS: usize = 1024;

/// Flags of every computing subcommand. A record has those that results depend on.
#[derive(Clone, Debug, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Common options")]
pub(super) struct Common {
    /// Where to compute; auto takes the GPU if there is one, else the CPU
    #[arg(long, default_value = "auto", value_parser = named::<Backend>(&["auto", "cuda", "cpu", "emulator", "reference"]))]
    pub(super) backend: Backend,
    /// Arithmetic of the bulk of the work, and type of the arrays written
    #[arg(long, default_value = "f64", value_parser = named::<Precision>(&["f32", "f64"]))]
    pub(super) precision: Precision,
    /// Threads of the work on the CPU, 1 to 1024 [default: as many as cores]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, 1..=MOST_THREADS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) threads: Option<usize>,
    /// GPUs that share the work, 1 to 64, or all of the host: for flows in time, flows past bodies and batches of independent items [default: 1]
    #[arg(long, value_name = "N|all", value_parser = Devices::from_str)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) devices: Option<Devices>,
    /// A process for each of --devices; GPUs exchange by NCCL [default: a thread for each]
    #[arg(long, requires = "devices")]
    #[serde(skip)]
    pub(super) processes: bool,
    /// Folder for arrays (.npy), tables (.csv), plots (.png) and run.json [default: rarefy-out/COMMAND; where that exists rarefy-out/COMMAND-2, and so on]
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub(super) out: Option<PathBuf>,
    /// Replace the run in the folder of --out, or in rarefy-out/COMMAND, and files with the names of results; a folder of --out that holds these is refused without
    #[arg(long)]
    #[serde(skip)]
    pub(super) overwrite: bool,
    /// Print run.json's object on standard output, and nothing else there
    #[arg(long)]
    #[serde(skip)]
    pub(super) json: bool,
    /// No progress and no summary; warnings, errors and the object of --json remain
    #[arg(long)]
    #[serde(skip)]
    pub(super) quiet: bool,
    /// Take options from a TOML file ([common] and a section for each command), or from an earlier run's run.json;
    /// options on the command line override it
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(super) config: Option<PathBuf>,
    /// Set an option by its name in such a file, as -s relax.grid=24; it goes before the file, and after the options of the command
    /// line
    #[arg(short = 's', value_name = "SECTION.KEY=VALUE")]
    #[serde(skip)]
    pub(super) set: Vec<String>,
}

impl Common {
    /// Where the library computes; `--threads` has set the pool that it takes.
    pub(super) fn compute(&self) -> Compute {
        Compute {
            // Each of several processes has one device.
            devices: self.devices.filter(|_| !ranks::have_devices()),
            ..Compute::new(self.backend).with_precision(self.precision)
        }
    }

    /// Begins to open the GPU of a run, unless this is one of several ranks, each of which has another.
    pub(super) fn open_ahead(&self) {
        if !ranks::are_several() {
            self.compute().open_ahead();
        }
    }
}

/// Refuses options that change nothing in a mode: names, and whether each was given another value than its default.
pub(super) fn without_effect(
    mode: &str,
    options: &[(&str, bool)],
) -> std::result::Result<(), Failure> {
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::Usage(format!(
            "--{name} has no effect with {mode}; leave it out"
        ))),
    }
}
