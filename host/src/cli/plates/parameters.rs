//! The flags of flows between plates.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::bgk::Gas;
use crate::bgk::steady::{Closure, SteadyConfig};
use crate::cli::flow::{self, GasArgs, SiArgs};
use crate::cli::options::Common;
use crate::cli::steady;
use crate::cli::text::kept_as_text;
use crate::cli::values::{count, finite, named, positive, whole};
use crate::error::{Error, Result};

/// Flags of both commands, and in full what a record says of the run.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct PlatesArgs {
    /// Distance of the plates in units of l0 = mu0 v0 / p0: the rarefaction parameter
    #[arg(long, value_name = "D", value_parser = positive, conflicts_with = "size")]
    pub(super) delta: Option<f64>,
    /// Knudsen number; it sets --delta to (sqrt(pi)/2)/KN
    #[arg(long, value_name = "KN", value_parser = positive, conflicts_with_all = ["delta", "size"])]
    #[serde(skip)]
    pub(super) kn: Option<f64>,
    /// Cells between the plates; they crowd towards them
    #[arg(long, value_name = "N", default_value = "200", value_parser = cells)]
    pub(super) nx: usize,
    /// Velocities normal to the plates of either sign, and along them: a graded half-range Gauss rule and a Gauss rule
    #[arg(long, value_name = "N[xM]", default_value = "20x8")]
    pub(super) velocities: Velocities,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) si: SiArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) gas: GasArgs,
    /// Accommodation coefficient of both plates, 0 to 1
    #[arg(long, value_name = "A", default_value_t = 1.0, value_parser = finite)]
    pub(super) accommodation: f64,
    /// Solve the equation linearised about rest
    #[arg(long)]
    pub(super) linear: bool,
    /// How what leaves a cell follows from what is in it: diamond (second order) or upwind (first order)
    #[arg(long, default_value = "diamond", value_parser = named::<Closure>(&["diamond", "upwind"]))]
    pub(super) scheme: Closure,
    /// Stop when an iteration changes the fields by less than this share of their range [default: 1e-9 in f64, 1e-5 in f32]
    #[arg(long, value_name = "R", value_parser = positive)]
    pub(super) until_residual: Option<f64>,
    /// Stop after so many iterations
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count)]
    pub(super) iterations: u64,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) common: Common,
}

/// A number of cells between plates.
fn cells(text: &str) -> std::result::Result<usize, String> {
    whole(text, 4..=crate::bgk::steady::plates::MAX_CELLS)
}

/// The value of `--velocities`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Velocities {
    pub(super) normal: usize,
    pub(super) tangential: usize,
}

kept_as_text!(Velocities);

impl FromStr for Velocities {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (normal, tangential) = text.split_once('x').unwrap_or((text, "8"));
        match (normal.parse(), tangential.parse()) {
            (Ok(normal), Ok(tangential))
                if (3..=64).contains(&normal) && (3..=64).contains(&tangential) =>
            {
                Ok(Self { normal, tangential })
            }
            _ => Err(Error::input(
                "use N or NxM with whole numbers from 3 to 64, such as 20x8",
            )),
        }
    }
}

impl fmt::Display for Velocities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.normal, self.tangential)
    }
}

impl PlatesArgs {
    /// Refuses flags without effect, and returns them with the values of what they leave out, the rarefaction parameter and the gas. `drive` is the
    /// flag of what drives the flow, if it was given.
    pub(super) fn resolved(&self, drive: Option<&str>) -> Result<(Self, f64, Gas)> {
        self.si.check(true)?;
        let delta = self.delta.or(self.kn.map(flow::rarefaction));
        let delta = delta.or(self.si.length()?);
        let delta = delta.ok_or_else(|| {
            Error::input("--delta, --kn, or a case in SI units with --gas and --size is needed")
        })?;
        if self.linear {
            self.gas.refuse_molecules_of_linear()?;
        }
        if let (true, Some(drive)) = (self.linear, drive) {
            return Err(Error::input(format!(
                "{drive} has no effect with --linear, whose results are per unit of it; leave it out"
            )));
        }
        let mut full = self.clone();
        full.delta = Some(delta);
        full.gas = self.gas.resolved(self.si.omega().unwrap_or(flow::OMEGA))?;
        let gas = full.gas.gas();
        full.gas.prandtl = Some(gas.prandtl);
        full.until_residual = Some(self.config().tolerance());
        Ok((full, delta, gas))
    }

    /// The library's configuration.
    pub(super) fn config(&self) -> SteadyConfig {
        SteadyConfig {
            closure: self.scheme,
            rtol: self.until_residual,
            iterations: usize::try_from(self.iterations).unwrap_or(usize::MAX),
            anderson_depth: steady::DEPTH,
            compute: self.common.compute(),
        }
    }
}
