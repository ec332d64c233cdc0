//! `rarefy fourier`: heat conduction between plates.

use super::failure::Failure;
use super::plates::{Flow, Kind, PlatesArgs, SolverArgs};
use super::values::finite;

const EXAMPLES: &str = "\
Examples:
  rarefy fourier --delta 1 --linear                                       the linearised equation, as in tables
  rarefy fourier --delta 1 --temperature-difference 1 --model shakhov     plates at 1.5 and 0.5 T0
  rarefy fourier --delta 1 --collision boltzmann                          hard spheres, by the collision integral itself
  rarefy fourier --delta 10 --out run                                     with profile, plots and run.json";

/// Steady heat conduction: plates at temperatures 1 + dT/2 and 1 - dT/2
///
/// Prints the heat flux Q = q / (p0 v0 dT/T0) from the hot plate on the left to the cold one and the temperature of the gas at the plates, with the converged
/// values of the linearised equation beside them where they are known. Lengths are in units of l0 = mu0 v0 / p0.
/// The iteration has no steps in time, so there is no --save-every; --out has the profile.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FourierArgs {
    /// Difference of the plates' temperatures in units of T0, above -2 and below 2 [default: 0.02]
    #[arg(long, value_name = "DT", value_parser = difference)]
    temperature_difference: Option<f64>,
    #[command(flatten)]
    plates: PlatesArgs,
    #[command(flatten)]
    solver: SolverArgs,
}

/// A difference that leaves both temperatures positive.
fn difference(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(number) if number != 0.0 && number.abs() < 2.0 => Ok(number),
        _ => Err("a number between -2 and 2 other than 0 is needed".into()),
    }
}

impl FourierArgs {
    /// The flow, and the flag of its drive if it was given.
    fn flow(&self) -> (Flow, Option<&'static str>) {
        let flow = Flow {
            kind: Kind::Fourier,
            strength: self.temperature_difference.unwrap_or(0.02),
        };
        (
            flow,
            self.temperature_difference
                .map(|_| "--temperature-difference"),
        )
    }
}

/// Checks the arguments, and returns the parameters in full.
pub(super) fn check(args: &FourierArgs) -> crate::error::Result<serde_json::Value> {
    let (flow, drive) = args.flow();
    super::plates::check(&args.plates.with(&args.solver), flow, drive)
}

/// Runs the command.
pub(super) fn run(args: &FourierArgs) -> Result<(), Failure> {
    let (flow, drive) = args.flow();
    super::plates::run(&args.plates.with(&args.solver), flow, drive)
}
