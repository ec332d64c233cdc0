//! The flags of `rarefy market`, and the parameters of a run.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cli::isotropic::cells;
use crate::cli::options::Common;
use crate::cli::text::{kept_as_text, shown_if};
use crate::cli::values::{finite, named, positive};
use crate::cli::verify::VerifyArgs;
use crate::error::Result;
use crate::isotropic::{CollisionKernel, Integrator};

const EXAMPLES: &str = "\
Examples:
  rarefy market --scenario voucher --out voucher            150 million vouchers, one for each agent, 250 000 traded a day
  rarefy market --scenario voucher --mode money             where all shares are equally likely
  rarefy market --input income.csv --mode saving:0.5 --out income";

/// Vouchers, one for each agent, and how many of them change hands in a day.
const VOUCHERS: f64 = 1.5e8;
const VOUCHERS_A_DAY: f64 = 250_000.0;

/// Let agents trade: the distribution of wealth over time, in units of the mean
///
/// Two scenarios: --scenario voucher starts with one voucher for each agent and runs on the clock of the known turnover, in days; --input
/// starts from a histogram. f is the distribution over velocities of the gas, P the density of agents; they are never the same curve.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct MarketArgs {
    /// A known market: voucher
    #[arg(long, value_name = "NAME", value_parser = named::<Scenario>(&["voucher"]), conflicts_with = "input")]
    pub(super) scenario: Option<Scenario>,
    /// A histogram as a CSV file with the columns x_lo, x_hi, share; it is normalised and divided by its mean
    #[arg(long, value_name = "FILE")]
    #[serde(serialize_with = "shown_if")]
    pub(super) input: Option<PathBuf>,
    /// How two agents share: gas, money, gamma:ALPHA, or saving:LAMBDA
    #[arg(long, default_value = "gas")]
    pub(super) mode: Mode,
    /// Cells of wealth [default: 512, or up to 2048 where the mode needs them]
    #[arg(long, value_name = "M", value_parser = cells)]
    pub(super) cells: Option<usize>,
    /// Largest wealth in units of the mean, about [default: 16, or as the mode needs]
    #[arg(long, value_name = "E", value_parser = positive)]
    pub(super) emax: Option<f64>,
    /// Days to show, in rising order, separated by commas; the run ends with the last [default: 100,250,500,1000,2000]
    #[arg(long, value_name = "LIST", conflicts_with = "times")]
    pub(super) days: Option<List>,
    /// Times to show, in encounters of an agent, instead of days [default with --input: 0.5,1,2,5,20]
    #[arg(long, value_name = "LIST")]
    pub(super) times: Option<List>,
    /// Time step, in encounters of an agent
    #[arg(long, value_name = "D", default_value_t = 0.02, value_parser = positive)]
    pub(super) dt: f64,
    /// Time integrator
    #[arg(long, default_value = "rk4", value_parser = named::<Integrator>(&["euler", "ssprk3", "rk4"]))]
    pub(super) integrator: Integrator,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) verify: VerifyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) common: Common,
}

/// A known market.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scenario {
    /// The Russian privatisation of the 1990s.
    Voucher,
}

/// The value of `--mode`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mode(pub(super) CollisionKernel);

kept_as_text!(Mode);

impl FromStr for Mode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = match text.split_once([':', '(']) {
            Some((name, value)) => (name, Some(value.trim_end_matches(')'))),
            None => (text, None),
        };
        let number = value.map(finite);
        match (name, number) {
            ("gas", None) => Ok(Self(CollisionKernel::Power { theta: 0.0 })),
            ("gas", Some(Ok(theta))) if theta >= 0.0 => Ok(Self(CollisionKernel::Power { theta })),
            ("money", None) => Ok(Self(CollisionKernel::Money)),
            ("gamma", Some(Ok(alpha))) if alpha > 0.0 => Ok(Self(CollisionKernel::Gamma { alpha })),
            ("gamma", _) => Err("gamma:ALPHA needs a shape ALPHA above 0"),
            ("saving", Some(Ok(lambda))) if (0.0..1.0).contains(&lambda) => {
                Ok(Self(CollisionKernel::Saving { lambda }))
            }
            ("saving", _) => Err("saving:LAMBDA needs a saved share 0 <= LAMBDA < 1"),
            _ => Err("use gas, money, gamma:ALPHA, or saving:LAMBDA"),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CollisionKernel::Power { theta: 0.0 } => f.write_str("gas"),
            CollisionKernel::Power { theta } => write!(f, "gas:{theta}"),
            CollisionKernel::Gamma { alpha } => write!(f, "gamma:{alpha}"),
            CollisionKernel::Saving { lambda } => write!(f, "saving:{lambda}"),
            CollisionKernel::Money | CollisionKernel::Isotropic { .. } => f.write_str("money"),
        }
    }
}

/// Rising positive numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List(pub(super) Vec<f64>);

kept_as_text!(List);

impl FromStr for List {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers: std::result::Result<Vec<f64>, String> =
            text.split(',').map(|part| positive(part.trim())).collect();
        match numbers {
            Ok(numbers) if numbers.windows(2).all(|w| w[0] < w[1]) => Ok(Self(numbers)),
            _ => Err("rising positive numbers separated by commas are needed"),
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<_> = self.0.iter().map(f64::to_string).collect();
        f.write_str(&texts.join(","))
    }
}

/// The count of the run up to the shown points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Days of the known turnover.
    Days,
    /// Encounters of an agent.
    Encounters,
}

impl Clock {
    /// The reading after so much time and so much value traded by an agent.
    pub(super) fn reading(self, time: f64, volume: f64) -> f64 {
        match self {
            Self::Days => volume * VOUCHERS / VOUCHERS_A_DAY,
            Self::Encounters => time,
        }
    }

    /// The time at which the clock has a reading, about, where an agent trades at this `rate`.
    pub(super) fn time_to(self, reading: f64, rate: f64) -> f64 {
        match self {
            Self::Days => reading * VOUCHERS_A_DAY / VOUCHERS / rate,
            Self::Encounters => reading,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Days => "day",
            Self::Encounters => "t",
        }
    }
}
