//! The `rarefy` command: one file a subcommand, over a few shared parts.
//!
//! | part | what it does |
//! |---|---|
//! | `common` | flags every computing subcommand has, layering of `--config` under the flags, exit codes |
//! | `output` | files that appear whole or not at all; standard output that may close |
//! | `resident` | the run that a folder holds, and the one that writes into it |
//! | `report` | `run.json`, warnings, timings |
//! | `record` | which options a `run.json` asks for |
//! | `npy`, `checkpoint` | the two binary formats |
//! | `numbers` | vectors of numbers, from .npy files or text |
//! | `plot`, `contour` | figures as PNG, lines of equal value |
//! | `vti` | fields for VTK |
//! | `flow` | flags and the loop of the solvers in time |
//! | `bench_table` | the tables that benches print |
//! | `timings`, `bgk_times` | figures of such times |
//! | `progress` | a bar on a terminal, a line now and then elsewhere |

mod bench;
mod bench_table;
mod bgk_times;
mod cavity;
mod checkpoint;
mod collide;
mod common;
mod contour;
mod couette;
mod dft;
mod digits;
mod distribution;
mod doctor;
mod flags;
mod flow;
mod fourier;
#[cfg(test)]
mod fuzz;
mod isotropic;
mod longman;
mod market;
mod npy;
mod numbers;
mod output;
mod plates;
mod plot;
mod progress;
mod rates;
mod record;
mod relax;
mod report;
mod resident;
mod resume;
mod shell;
mod shock;
mod steady;
mod sum;
mod timings;
mod validate;
mod vti;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use common::Failure;

/// Deterministic numerical methods of kinetic theory, on the GPU or the CPU.
#[derive(Debug, Parser)]
#[command(name = "rarefy", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Relax(relax::RelaxArgs),
    Collide(collide::CollideArgs),
    Rates(rates::RatesArgs),
    Dft(dft::DftArgs),
    Digits(digits::DigitsArgs),
    Sum(sum::SumArgs),
    Dot(sum::DotArgs),
    Isotropic(isotropic::IsotropicArgs),
    Market(market::MarketArgs),
    Couette(couette::CouetteArgs),
    Fourier(fourier::FourierArgs),
    Shock(shock::ShockArgs),
    Cavity(cavity::CavityArgs),
    Longman(Box<longman::LongmanArgs>),
    Validate(validate::ValidateArgs),
    Bench(bench::BenchArgs),
    Doctor(doctor::DoctorArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    match run(std::env::args_os().collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.exit(),
    }
}

fn run(arguments: Vec<OsString>) -> Result<(), Failure> {
    let matches = common::parse(Cli::command(), arguments)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| Failure::usage(&error))?;
    let sub: Option<&ArgMatches> = matches.subcommand().map(|(_, sub)| sub);
    match (cli.command, sub) {
        (Some(Command::Relax(args)), Some(sub)) => relax::run(&args, sub),
        (Some(Command::Collide(args)), _) => collide::run(&args),
        (Some(Command::Rates(args)), _) => rates::run(&args),
        (Some(Command::Dft(args)), _) => dft::run(&args),
        (Some(Command::Digits(args)), _) => digits::run(&args),
        (Some(Command::Sum(args)), _) => sum::run_sum(&args),
        (Some(Command::Dot(args)), _) => sum::run_dot(&args),
        (Some(Command::Isotropic(args)), Some(sub)) => isotropic::run(&args, sub),
        (Some(Command::Market(args)), _) => market::run(&args),
        (Some(Command::Couette(args)), _) => couette::run(&args),
        (Some(Command::Fourier(args)), _) => fourier::run(&args),
        (Some(Command::Shock(args)), Some(sub)) => shock::run(&args, sub),
        (Some(Command::Cavity(args)), Some(sub)) => cavity::run(&args, sub),
        (Some(Command::Longman(args)), _) => longman::run(&args),
        (Some(Command::Validate(args)), _) => validate::run(&args),
        (Some(Command::Bench(args)), _) => bench::run(&args),
        (Some(Command::Doctor(args)), _) => doctor::run(&args),
        (Some(Command::Completions(args)), _) => shell::completions(&args, Cli::command()),
        (Some(Command::Man(args)), _) => shell::man(&args, Cli::command()),
        _ => output::print(&Cli::command().render_long_help().to_string()),
    }
}
