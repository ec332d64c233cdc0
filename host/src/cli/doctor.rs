//! `rarefy doctor`: what the machine offers, what is missing, and how to get it.

use super::common::Failure;
use super::output;

/// Say which devices, driver and kernels there are, what is missing, and how to get it.
#[derive(Debug, clap::Args)]
pub(super) struct DoctorArgs {
    /// Print the findings as one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints the findings.
pub(super) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let report = report();
    if args.json {
        output::print(&serde_json::to_string_pretty(&report).expect("a report is plain data"))
    } else {
        output::print(&report.to_string())
    }
}

// Stands in for crate::gpu::doctor::report().
fn report() -> Placeholder {
    Placeholder {
        version: env!("CARGO_PKG_VERSION"),
    }
}

#[derive(serde::Serialize)]
struct Placeholder {
    version: &'static str,
}

impl std::fmt::Display for Placeholder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rarefy {}", self.version)
    }
}
