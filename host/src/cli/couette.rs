//! `rarefy couette`: shear flow between sliding plates.

use super::failure::Failure;
use super::plates::{Flow, Kind, PlatesArgs, SolverArgs};
use super::values::finite;

const EXAMPLES: &str = "\
Examples:
  rarefy couette --delta 1 --linear                the linearised equation, as in tables
  rarefy couette --delta 1 --u 2 --model shakhov   plates that slide fast; the gas warms up
  rarefy couette --kn 0.1 --cells 400 --out run    with profile, plots and run.json
  rarefy couette --delta 1 --collision boltzmann   hard spheres, by the collision integral itself
  rarefy couette --gas argon --pressure 10 --temperature 300 --size 1e-3    in SI units";

/// Steady Couette flow: plates that slide with -U/2 and U/2 along y
///
/// Prints the stress Pi = -P_xy / (p0 U/v0) and the velocity of the gas at the plates, with the converged values of the linearised
/// equation beside them where they are known. Lengths are in units of l0 = mu0 v0 / p0, velocities in v0 = sqrt(2 R T0).
/// The iteration has no steps in time, so there is no --save-every; --out has the profile.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CouetteArgs {
    /// Relative velocity of the plates in units of v0 [default: 0.02]
    #[arg(long, value_name = "U", value_parser = moving)]
    u: Option<f64>,
    #[command(flatten)]
    plates: PlatesArgs,
    #[command(flatten)]
    solver: SolverArgs,
}

/// A finite number other than zero.
fn moving(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(number) if number != 0.0 => Ok(number),
        _ => Err("a finite number other than 0 is needed".into()),
    }
}

impl CouetteArgs {
    /// The flow, and the flag of its drive if it was given.
    fn flow(&self) -> (Flow, Option<&'static str>) {
        let flow = Flow {
            kind: Kind::Couette,
            strength: self.u.unwrap_or(0.02),
        };
        (flow, self.u.map(|_| "--u"))
    }
}

/// Checks the arguments, and returns the parameters in full.
pub(super) fn check(args: &CouetteArgs) -> crate::error::Result<serde_json::Value> {
    let (flow, drive) = args.flow();
    super::plates::check(&args.plates.with(&args.solver), flow, drive)
}

/// Runs the command.
pub(super) fn run(args: &CouetteArgs) -> Result<(), Failure> {
    let (flow, drive) = args.flow();
    super::plates::run(&args.plates.with(&args.solver), flow, drive)
}
