//! `rarefy market`: economies as gases of agents.

mod results;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::isotropic::cells;
use super::options::Common;
use super::output::Transaction;
use super::progress::Progress;
use super::report::Report;
use super::text;
use super::values::{finite, named, positive};
use crate::backend::{Backend, Precision};
use crate::error::{Error, Result};
use crate::isotropic::market::{Histogram, TradeVolume, grid_around_one, suitable_grid};
use crate::isotropic::{
    EnergyGrid, Integrator, Law, OperatorConfig, Relaxation, RelaxationConfig, Weights, initial,
};
use results::{Outcome, Sample};

const EXAMPLES: &str = "\
Examples:
  rarefy market --scenario voucher --out voucher            150 million vouchers, one for each agent, 250 000 traded a day
  rarefy market --scenario voucher --mode money             where all shares are equally likely
  rarefy market --input income.csv --mode saving:0.5 --out income";

/// Vouchers, one for each agent, and how many of them change hands in a day.
const VOUCHERS: f64 = 1.5e8;
const VOUCHERS_A_DAY: f64 = 250_000.0;

/// Days that are shown if none are asked for.
const DAYS: [f64; 5] = [100.0, 250.0, 500.0, 1000.0, 2000.0];

/// Times that are shown of a run without days.
const TIMES: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 20.0];

/// Let agents trade: the distribution of wealth over time, in units of the mean
///
/// Two scenarios: --scenario voucher starts with one voucher for each agent and runs on the clock of the known turnover, in days; --input
/// starts from a histogram. f is the distribution over velocities of the gas, P the density of agents; they are never the same curve.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MarketArgs {
    /// A known market: voucher
    #[arg(long, value_name = "NAME", value_parser = named::<Scenario>(&["voucher"]), conflicts_with = "input")]
    scenario: Option<Scenario>,
    /// A histogram as a CSV file with the columns x_lo, x_hi, share; it is normalised and divided by its mean
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// How two agents share: gas, money, gamma:ALPHA, or saving:LAMBDA
    #[arg(long, default_value = "gas")]
    mode: Mode,
    /// Cells of wealth [default: 512, or up to 2048 where the mode needs them]
    #[arg(long, value_name = "M", value_parser = cells)]
    cells: Option<usize>,
    /// Largest wealth in units of the mean, about [default: 16, or as the mode needs]
    #[arg(long, value_name = "E", value_parser = positive)]
    emax: Option<f64>,
    /// Days to show, in rising order, separated by commas; the run ends with the last [default: 100,250,500,1000,2000]
    #[arg(long, value_name = "LIST", conflicts_with = "times")]
    days: Option<List>,
    /// Times to show, in encounters of an agent, instead of days [default with --input: 0.5,1,2,5,20]
    #[arg(long, value_name = "LIST")]
    times: Option<List>,
    /// Time step, in encounters of an agent
    #[arg(long, value_name = "D", default_value_t = 0.02, value_parser = positive)]
    dt: f64,
    /// Time integrator
    #[arg(long, default_value = "rk4", value_parser = named::<Integrator>(&["euler", "ssprk3", "rk4"]))]
    integrator: Integrator,
    #[command(flatten)]
    common: Common,
}

/// A known market.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scenario {
    /// The Russian privatisation of the 1990s.
    Voucher,
}

/// The value of `--mode`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mode(Law);

impl FromStr for Mode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = match text.split_once([':', '(']) {
            Some((name, value)) => (name, Some(value.trim_end_matches(')'))),
            None => (text, None),
        };
        let number = value.map(finite);
        match (name, number) {
            ("gas", None) => Ok(Self(Law::Power { theta: 0.0 })),
            ("gas", Some(Ok(theta))) if theta >= 0.0 => Ok(Self(Law::Power { theta })),
            ("money", None) => Ok(Self(Law::Money)),
            ("gamma", Some(Ok(alpha))) if alpha > 0.0 => Ok(Self(Law::Gamma { alpha })),
            ("gamma", _) => Err(Error::input("gamma:ALPHA needs a shape ALPHA above 0")),
            ("saving", Some(Ok(lambda))) if (0.0..1.0).contains(&lambda) => {
                Ok(Self(Law::Saving { lambda }))
            }
            ("saving", _) => Err(Error::input(
                "saving:LAMBDA needs a saved share 0 <= LAMBDA < 1",
            )),
            _ => Err(Error::input(
                "use gas, money, gamma:ALPHA, or saving:LAMBDA",
            )),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Law::Power { theta: 0.0 } => f.write_str("gas"),
            Law::Power { theta } => write!(f, "gas:{theta}"),
            Law::Gamma { alpha } => write!(f, "gamma:{alpha}"),
            Law::Saving { lambda } => write!(f, "saving:{lambda}"),
            Law::Money | Law::Isotropic { .. } => f.write_str("money"),
        }
    }
}

/// Rising positive numbers.
#[derive(Clone, Debug, PartialEq)]
struct List(Vec<f64>);

impl FromStr for List {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers: std::result::Result<Vec<f64>, String> =
            text.split(',').map(|part| positive(part.trim())).collect();
        match numbers {
            Ok(numbers) if numbers.windows(2).all(|w| w[0] < w[1]) => Ok(Self(numbers)),
            _ => Err(Error::input(
                "rising positive numbers separated by commas are needed",
            )),
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(f64::to_string).collect();
        f.write_str(&texts.join(","))
    }
}

/// The run in full, by the names of the flags: as `--config`, `run.json` runs it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Parameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<Scenario>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    mode: String,
    cells: usize,
    emax: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<String>,
    dt: f64,
    integrator: Integrator,
    backend: Backend,
    precision: Precision,
}

/// What the run counts to the points that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// Days of the known turnover.
    Days,
    /// Encounters of an agent.
    Encounters,
}

impl Clock {
    /// The reading after so much time and so much value traded by an agent.
    fn reading(self, time: f64, volume: f64) -> f64 {
        match self {
            Self::Days => volume * VOUCHERS / VOUCHERS_A_DAY,
            Self::Encounters => time,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Days => "day",
            Self::Encounters => "t",
        }
    }
}

/// Reads the rows of a histogram.
pub(super) fn read_histogram(path: &Path) -> Result<Histogram> {
    let refuse = |text: String| Error::file(path, text);
    let bytes = std::fs::read(path).map_err(|e| Error::file(path, text::reason(&e)))?;
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(&bytes[..]);
    let header = reader.headers().map_err(|e| refuse(e.to_string()))?;
    if header.iter().ne(["x_lo", "x_hi", "share"]) {
        return Err(refuse(format!(
            "the first line must name the columns x_lo,x_hi,share; it is '{}'",
            header.iter().collect::<Vec<_>>().join(",")
        )));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| refuse(e.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let mut row = [0.0; 3];
        for (slot, text) in row.iter_mut().zip(record.iter()) {
            *slot = text
                .parse()
                .map_err(|_| refuse(format!("line {line}: '{text}' is not a number")))?;
        }
        rows.push(row);
    }
    Histogram::new(&rows).map_err(|e| refuse(e.to_string()))
}

/// Runs the command.
pub(super) fn run(args: &MarketArgs) -> std::result::Result<(), Failure> {
    let started = Instant::now();
    let common = &args.common;
    if args.scenario.is_none() && args.input.is_none() {
        return Err(Failure::Usage(
            "--scenario voucher or --input FILE is needed".into(),
        ));
    }
    let law = args.mode.0;
    let weights = match law {
        // The weight has an integrable pole at 0 below the shape 1.
        Law::Gamma { .. } => Weights::Cell,
        _ => Weights::Center,
    };
    let histogram = match &args.input {
        None => None,
        Some(path) => Some(read_histogram(path)?),
    };
    // A histogram that reaches further than usual is refused unless a grid for it is asked for.
    let least = histogram
        .as_ref()
        .map_or(0.0, |h| h.in_units_of_the_mean().end().min(16.0));
    let (wanted, emax) = suitable_grid(law, weights, args.cells, args.emax, least)?;
    let grid = match &args.input {
        None => grid_around_one(wanted, emax)?,
        Some(_) => EnergyGrid::new(wanted, emax)?,
    };
    let config = OperatorConfig {
        precision: common.precision,
        backend: common.backend,
        weights,
        ..OperatorConfig::new(grid, law)
    };
    let measure = config.measure();
    // Agents of each cell, then the state that the law works on.
    let (agents, shift) = match histogram {
        None => {
            let f = initial::delta(&config, 1.0)?;
            (f.iter().zip(&measure).map(|(f, m)| f * m).collect(), None)
        }
        Some(histogram) => {
            let mean = histogram.mean();
            let agents = histogram.in_units_of_the_mean().rebin(&grid)?;
            let centred: f64 = agents
                .iter()
                .enumerate()
                .map(|(i, p)| p * grid.energy(i))
                .sum();
            (agents, Some((mean, centred - 1.0)))
        }
    };
    let f: Vec<f64> = agents.iter().zip(&measure).map(|(p, m)| p / m).collect();
    let (clock, points) = match (&args.days, &args.times, args.scenario) {
        (Some(days), _, _) => (Clock::Days, days.0.clone()),
        (None, Some(times), _) => (Clock::Encounters, times.0.clone()),
        (None, None, Some(_)) => (Clock::Days, DAYS.to_vec()),
        (None, None, None) => (Clock::Encounters, TIMES.to_vec()),
    };
    let parameters = Parameters {
        scenario: args.scenario,
        input: args.input.as_ref().map(|path| path.display().to_string()),
        mode: args.mode.to_string(),
        cells: wanted,
        emax,
        days: args.days.as_ref().map(List::to_string),
        times: args.times.as_ref().map(List::to_string),
        dt: args.dt,
        integrator: args.integrator,
        backend: common.backend,
        precision: common.precision,
    };
    let mut files = Transaction::default();
    args.input.iter().for_each(|path| files.reads(path));
    if let Some(folder) = &common.out {
        files.run_folder(folder, common.overwrite)?;
    }
    let mut report = Report::new("market", &parameters, started);
    let volume = TradeVolume::new(&config)?;
    let mut run = Relaxation::new(
        RelaxationConfig {
            operator: config.clone(),
            integrator: args.integrator,
            step: Some(args.dt),
            every: 1,
        },
        std::slice::from_ref(&f),
    )?;
    for warning in run.warnings() {
        report.warn(warning.clone());
    }
    report.time("setup", started.elapsed());

    let stepping = Instant::now();
    let mut progress = Progress::new("market", common.quiet);
    let last_point = points.last().copied().unwrap_or(0.0);
    let mut ahead = points.iter().copied().peekable();
    let mut before = Sample {
        reading: 0.0,
        time: 0.0,
        volume: 0.0,
        volume_rate: volume.rate(&f),
        f,
    };
    let mut shown = vec![before.clone()];
    let mut history = vec![before.summary(&config)];
    while let Some(&next) = ahead.peek() {
        run.advance(1)?;
        let f = run.distributions()?.remove(0);
        let volume_rate = volume.rate(&f);
        let traded = before.volume + args.dt * (before.volume_rate + volume_rate) / 2.0;
        let after = Sample {
            reading: clock.reading(run.time(), traded),
            time: run.time(),
            volume: traded,
            volume_rate,
            f,
        };
        if after.reading <= before.reading {
            return Err(Error::Numerical(format!(
                "no more value is traded at time {}; day {next} is never reached",
                run.time()
            ))
            .into());
        }
        while let Some(point) = ahead.next_if(|&point| point <= after.reading) {
            shown.push(before.between(&after, point));
        }
        history.push(after.summary(&config));
        progress.update(after.reading / last_point, || {
            format!(
                "{} {:.1}, t = {:.2}",
                clock.name(),
                after.reading,
                after.time
            )
        });
        before = after;
    }
    progress.finish();
    let spent = stepping.elapsed();
    report.time("steps", spent);

    let moments = run.history(0)[0].moments;
    let rest = initial::equilibrium(&config, moments.number, moments.energy)?;
    let outcome = Outcome {
        parameters: &parameters,
        config: &config,
        clock,
        run: &run,
        shown: &shown,
        history: &history,
        equilibrium: &rest,
        shift,
    };
    outcome.report(&mut report);
    if let Some(folder) = &common.out {
        outcome.stage(&mut report, &mut files, folder)?;
    }
    report.finish(files, common.out.as_deref(), common, |total, folder| {
        outcome.summary(folder, spent, total)
    })
}
