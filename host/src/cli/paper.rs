//! `rarefy paper`: the figures of the papers, and what the methods have to show for themselves beside them.

mod bench;
mod digits;
mod frontier;
pub(super) mod timings;
mod validate;

use clap::Subcommand;

use super::failure::Failure;
use super::help_of;

const EXAMPLES: &str = "\
Examples:
  rarefy paper bench --quick       what one core, all cores and the GPU need, beside the papers' speedups
  rarefy paper validate --quick    flows of the models beside their known results";

/// Compute and draw the figures of the papers
///
/// The methods beside what their papers report: times and speedups on this machine, known results, errors against times, and the figures of the benches.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, after_help = EXAMPLES)]
pub(super) struct PaperArgs {
    #[command(subcommand)]
    figures: Option<Figures>,
}

/// What `rarefy paper` computes.
#[derive(Debug, Subcommand)]
enum Figures {
    Validate(validate::ValidateArgs),
    Bench(bench::BenchArgs),
    Digits(digits::DigitsArgs),
    Frontier(frontier::FrontierArgs),
    Timings(timings::TimingsArgs),
}

/// Runs the command.
pub(super) fn run(args: &PaperArgs) -> Result<(), Failure> {
    match &args.figures {
        Some(Figures::Validate(args)) => validate::run(args),
        Some(Figures::Bench(args)) => bench::run(args),
        Some(Figures::Digits(args)) => digits::run(args),
        Some(Figures::Frontier(args)) => frontier::run(args),
        Some(Figures::Timings(args)) => timings::run(args),
        None => help_of(&["rarefy", "paper"]),
    }
}
