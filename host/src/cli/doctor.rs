//! `rarefy doctor`: what the machine offers, what is missing, and how to get it.

use super::failure::Failure;
use super::{flags, streams};
use crate::gpu::doctor;

const EXAMPLES: &str = "\
Examples:
  rarefy doctor          for people
  rarefy doctor --json   for programs, or for a bug report";

/// Say which devices, driver and kernels there are, what is missing, and how to get it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DoctorArgs {
    /// Print the findings as one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints the findings.
pub(super) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let report = doctor::report();
    let text = if args.json {
        serde_json::to_string_pretty(&report).expect("a report is plain data")
    } else {
        report.to_string()
    };
    streams::print(&flags::named(&text))
}
