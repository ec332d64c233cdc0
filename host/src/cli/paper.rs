//! `rarefy paper`: the figures of the papers.

mod bench;
mod digits;
mod frontier;
pub(super) mod timings;
mod validate;

use clap::Subcommand;

use super::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  rarefy paper bench --quick       what one core, all cores and the GPU need, beside the papers' speedups
  rarefy paper validate --quick    flows of the models beside their known results";

/// Compute and draw the figures of the papers
///
/// Subcommands compare the methods with their papers: times and speedups on this machine, known results, errors against times, and figures of the benches.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true, after_help = EXAMPLES)]
pub(super) struct PaperArgs {
    #[command(subcommand)]
    figures: Option<Figures>,
}

/// The subcommands of `rarefy paper`.
#[derive(Debug, Subcommand)]
enum Figures {
    Validate(validate::ValidateArgs),
    Bench(bench::BenchArgs),
    Digits(digits::DigitsArgs),
    Frontier(frontier::FrontierArgs),
    Timings(timings::TimingsArgs),
}

/// Runs the command; none without a subcommand.
pub(super) fn run(args: &PaperArgs) -> Option<Result<(), Failure>> {
    let figures = args.figures.as_ref()?;
    Some(match figures {
        Figures::Validate(args) => validate::run(args),
        Figures::Bench(args) => bench::run(args),
        Figures::Digits(args) => digits::run(args),
        Figures::Frontier(args) => frontier::run(args),
        Figures::Timings(args) => timings::run(args),
    })
}
