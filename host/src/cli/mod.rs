//! The `rarefy` command: one file a subcommand, over a few shared parts.
//!
//! | part | what it does |
//! |---|---|
//! | `options`, `operator`, `values` | options of every computing subcommand, those of the collision operator, parsers of values |
//! | `config` | layering of `--config` and `-s` under the flags |
//! | `swept`, `sweep` | a list of values for one option; a run for each, one table, one plot |
//! | `failure` | the way from an error to an exit code |
//! | `pool` | the threads of parallel work |
//! | `ranks` | processes of one run, which a launcher such as mpirun started |
//! | `interrupt` | Ctrl-C and SIGTERM |
//! | `launch` | the command as such a launcher, for the GPUs of a host |
//! | `streams` | standard output that may close, and standard error |
//! | `summary` | the rows that a command prints |
//! | `text` | names, numbers and system errors as texts |
//! | `whole`, `output` | files that appear whole or not at all; the files of one run; tables |
//! | `manifest` | by which the files of a run are known as its own |
//! | `names` | the names of files in the folder of a command |
//! | `resident` | the run that a folder holds, and the one that writes into it |
//! | `report`, `report_page` | `run.json`, warnings, timings; the page of a run |
//! | `record` | which options a `run.json` asks for |
//! | `npy`, `checkpoint` | the two binary formats |
//! | `checkpoint_parts` | the files of several ranks beside a checkpoint |
//! | `numbers` | vectors of numbers, from .npy files or text |
//! | `known` | converged values that results are compared with |
//! | `parsers` | all parsers of bytes from outside, for `fuzz/` |
//! | `plot`, `contour` | figures as PNG and SVG, lines of equal value |
//! | `vti` | fields for VTK |
//! | `flow`, `steady` | flows in time and steady: flags, loops, checkpoints; the iteration to a steady state |
//! | `verify` | errors of a discretisation: flags, repeats, texts |
//! | `tree` | subcommands of the command and of `rarefy paper` |
//! | `progress` | a bar on a terminal, a line now and then elsewhere |

mod appended;
mod cavity;
mod checkpoint;
mod checkpoint_parts;
mod collide;
mod config;
mod contour;
mod couette;
mod dft;
mod distribution;
mod doctor;
mod drive;
mod failure;
mod flags;
mod flow;
mod flow_case;
mod fourier;
#[cfg(test)]
mod fuzz;
mod interrupt;
mod isotropic;
mod journal;
mod known;
mod launch;
mod ledger;
mod lock;
mod longman;
mod manifest;
mod market;
mod names;
mod npy;
mod numbers;
mod operator;
mod options;
mod output;
mod paper;
#[doc(hidden)]
pub mod parsers;
mod plates;
mod plot;
mod poiseuille;
mod pool;
mod progress;
mod ranks;
mod rates;
mod record;
mod relax;
mod report;
mod report_page;
mod resident;
mod resume;
mod rotation;
mod shell;
mod shock;
mod steady;
mod steps;
mod streams;
mod sum;
mod summary;
mod sweep;
mod swept;
mod text;
mod tree;
mod tube;
mod values;
mod verify;
mod vti;
mod whole;

use std::ffi::OsString;
use std::io::Write;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::compute::Devices;
use crate::gpu::{make_few_queues, quit};
use failure::Failure;

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
    Sum(sum::SumArgs),
    Dot(sum::DotArgs),
    Isotropic(isotropic::IsotropicArgs),
    Market(market::MarketArgs),
    Couette(couette::CouetteArgs),
    Fourier(fourier::FourierArgs),
    Poiseuille(poiseuille::PoiseuilleArgs),
    Shock(shock::ShockArgs),
    Cavity(cavity::CavityArgs),
    Flow(flow_case::FlowCaseArgs),
    Tube(tube::TubeArgs),
    Longman(Box<longman::LongmanArgs>),
    Paper(paper::PaperArgs),
    Doctor(doctor::DoctorArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

/// The command with all its options.
fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command with the arguments of the process, and ends it.
pub fn main() -> ! {
    main_with(std::env::args_os().collect())
}

/// Runs the command with these arguments, of which the first is its name, and ends the process.
pub fn main_with(arguments: Vec<OsString>) -> ! {
    let outcome = run(arguments);
    interrupt::work_is_over();
    let code = match outcome {
        Ok(()) => 0,
        Err(failure) => exit(failure),
    };
    ranks::leave();
    end(code)
}

/// Ends the process with this exit code.
pub fn end(code: u8) -> ! {
    // No exit handler flushes it. A reader that has gone needs no line.
    let _ = std::io::stdout().flush();
    quit(code)
}

/// Prints a failure as one line on standard error, and returns the exit code.
fn exit(failure: Failure) -> u8 {
    if let Failure::Shown(text) = &failure {
        return match streams::print(text) {
            Ok(()) => 0,
            Err(failure) => exit(failure),
        };
    }
    let agreed = matches!(failure, Failure::Agreed(..) | Failure::Elsewhere(_));
    if !agreed && ranks::are_several() {
        let (code, line) = failure.code_and_line_of(ranks::transport().rank());
        ranks::abort(code, &line);
    }
    let (code, line) = failure.code_and_line();
    if !line.is_empty() {
        streams::say(&line);
    }
    code
}

fn run(mut arguments: Vec<OsString>) -> Result<(), Failure> {
    let resumed = read_alike(swept::resumed(&arguments))?;
    let goes_on = resumed.is_some();
    arguments = resumed.unwrap_or(arguments);
    let layers = read_alike(config::Layered::new(command(), arguments))?;
    if let Some(list) = swept::List::of(&layers.arguments) {
        ranks::connect()?;
        ranks::refuse_several("a list of values")?;
        let works = sweep::Works {
            prepare: &prepare,
            check: &check,
            execute: &execute,
        };
        return sweep::run(&list, &layers, goes_on, &works);
    }
    let matches = read_alike(layers.matches())?;
    let wanted = launch::wanted(&matches).map_err(|failure| named(failure, &matches))?;
    if let Some(ranks) = wanted {
        return launch::run(ranks);
    }
    prepare(&matches)?;
    execute(&matches)
}

/// Arguments, which all ranks read alike: one of them reports what is wrong.
fn read_alike<T>(read: Result<T, Failure>) -> Result<T, Failure> {
    match read {
        Ok(_) | Err(Failure::Shown(_)) => read,
        Err(failure) => {
            ranks::connect()?;
            ranks::agreed(Err(failure))
        }
    }
}

/// Readies the process for the work of a command.
fn prepare(matches: &ArgMatches) -> Result<(), Failure> {
    let sub = tree::leaf(matches).map(|(_, sub)| sub);
    if sub.is_some_and(takes_one_device) {
        make_few_queues();
    }
    launch::refuse_within(matches)?;
    let threads = sub.and_then(|sub| sub.try_get_one("threads").ok().flatten());
    // Its thread comes first: the pool may take all that the system has left.
    interrupt::handle();
    launch::follow();
    let pool = pool::build(threads.copied());
    // The commands that compute have the option.
    if sub.is_some_and(|sub| sub.try_get_one::<usize>("threads").is_ok()) {
        ranks::connect()?;
    }
    ranks::agreed(pool)
}

/// Whether a command computes on one device at the most.
fn takes_one_device(sub: &ArgMatches) -> bool {
    let devices = sub.try_get_one::<Devices>("devices");
    devices.is_ok_and(|devices| devices.is_none_or(|devices| *devices == Devices::Number(1)))
        && matches!(ranks::place(), Ok(None))
}

/// Does the work of a command.
fn execute(matches: &ArgMatches) -> Result<(), Failure> {
    let cli = Cli::from_arg_matches(matches).map_err(|error| Failure::usage(&error))?;
    match cli.command {
        Some(Command::Shock(_) | Command::Cavity(_)) => {}
        _ => ranks::refuse_several("this command")?,
    }
    let sub: Option<&ArgMatches> = matches.subcommand().map(|(_, sub)| sub);
    dispatch(cli, sub).map_err(|failure| named(failure, matches))
}

/// Checks the arguments of a case of a sweep, and returns its parameters in full.
fn check(matches: &ArgMatches) -> Result<serde_json::Value, Failure> {
    let cli = Cli::from_arg_matches(matches).map_err(|error| Failure::usage(&error))?;
    let checked = match &cli.command {
        Some(Command::Couette(args)) => couette::check(args),
        Some(Command::Fourier(args)) => fourier::check(args),
        Some(Command::Poiseuille(args)) => poiseuille::check(args),
        Some(Command::Shock(args)) => flow::check(args),
        Some(Command::Cavity(args)) => flow::check(args),
        _ => Ok(serde_json::Value::Null),
    };
    checked.map_err(|error| named(error.into(), matches))
}

/// A failure with the options of the subcommand for the fields of the library.
fn named(failure: Failure, matches: &ArgMatches) -> Failure {
    let command = command();
    let sub = tree::leaf(matches);
    failure.with_options(sub.and_then(|(name, _)| tree::find(&command, name)))
}

fn dispatch(cli: Cli, sub: Option<&ArgMatches>) -> Result<(), Failure> {
    match (cli.command, sub) {
        (Some(Command::Relax(args)), Some(sub)) => relax::run(&args, sub),
        (Some(Command::Collide(args)), _) => collide::run(&args),
        (Some(Command::Rates(args)), _) => rates::run(&args),
        (Some(Command::Dft(args)), _) => dft::run(&args),
        (Some(Command::Sum(args)), _) => sum::run_sum(&args),
        (Some(Command::Dot(args)), _) => sum::run_dot(&args),
        (Some(Command::Isotropic(args)), Some(sub)) => isotropic::run(&args, sub),
        (Some(Command::Market(args)), _) => market::run(&args),
        (Some(Command::Couette(args)), _) => couette::run(&args),
        (Some(Command::Fourier(args)), _) => fourier::run(&args),
        (Some(Command::Poiseuille(args)), _) => poiseuille::run(&args),
        (Some(Command::Shock(args)), Some(sub)) => shock::run(&args, sub),
        (Some(Command::Cavity(args)), Some(sub)) => cavity::run(&args, sub),
        (Some(Command::Flow(args)), _) => flow_case::run(&args),
        (Some(Command::Tube(args)), _) => tube::run(&args),
        (Some(Command::Longman(args)), _) => longman::run(&args),
        (Some(Command::Paper(args)), _) => {
            paper::run(&args).unwrap_or_else(|| help_of(&["rarefy", "paper"]))
        }
        (Some(Command::Doctor(args)), _) => doctor::run(&args),
        (Some(Command::Completions(args)), _) => shell::completions(&args, command()),
        (Some(Command::Man(args)), _) => shell::man(&args, command()),
        _ => streams::print(&command().render_long_help().to_string()),
    }
}

/// Prints the help of a command.
fn help_of(line: &[&str]) -> Result<(), Failure> {
    match command().try_get_matches_from(line.iter().chain(&["--help"])) {
        Err(help) => Err(Failure::usage(&help)),
        Ok(_) => Ok(()),
    }
}
