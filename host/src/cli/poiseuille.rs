//! `rarefy poiseuille`: flow along a channel.

use super::failure::Failure;
use super::plates::{Flow, Kind, PlatesArgs};
use super::values::finite;

const EXAMPLES: &str = "\
Examples:
  rarefy poiseuille --delta 1                         BGK; the flow rate has its minimum near delta = 1
  rarefy poiseuille --delta 1 --model shakhov         with the Prandtl number of a monatomic gas
  rarefy poiseuille --delta 1 --collision boltzmann   hard spheres, by the collision integral itself
  rarefy poiseuille --delta 10 --gradient 1.5          a strong force, which heats the gas
  rarefy poiseuille --gas nitrogen --pressure 100 --temperature 300 --size 1e-4    molecules that rotate";

/// Steady Poiseuille flow: gas between plates at rest that a fall of the pressure, or a force, drives along them
///
/// A uniform force per mass acts instead of the fall of the pressure; both drive the same flow as long as it is weak. The models follow it exactly at any strength. With --collision boltzmann it acts on the local
/// Maxwellian, exact to first order, and a gradient beyond the range that is right to 0.1% is refused.
/// Prints the reduced flow rate G, 2/X times the mean velocity, and the velocity of the gas at the plates. X is the fall of the pressure along a width of the channel over p0.
/// Lengths are in units of l0 = mu0 v0 / p0, velocities in v0 = sqrt(2 R T0).
/// The iteration has no steps in time, so there is no --save-every; --out has the profile.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PoiseuilleArgs {
    /// Fall X of the pressure along a width of the channel in units of p0 [default: 0.01, or 0.1/delta or 0.07 sqrt(delta) where that is less]
    #[arg(long, value_name = "X", value_parser = driving)]
    gradient: Option<f64>,
    #[command(flatten)]
    plates: PlatesArgs,
}

/// A number whose effect is no roundoff.
fn driving(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(number) if number.abs() >= 1e-6 => Ok(number),
        _ => Err("a finite number of at least 1e-6, or at most -1e-6, is needed".into()),
    }
}

impl PoiseuilleArgs {
    /// The flow, and the flag of its drive if it was given.
    fn flow(&self) -> (Flow, Option<&'static str>) {
        let flow = Flow {
            kind: Kind::Poiseuille,
            strength: self.gradient.unwrap_or(0.01),
        };
        (flow, self.gradient.map(|_| "--gradient"))
    }
}

/// Checks the arguments, and returns the parameters in full.
pub(super) fn check(args: &PoiseuilleArgs) -> crate::error::Result<serde_json::Value> {
    let (flow, drive) = args.flow();
    super::plates::check(&args.plates, flow, drive)
}

/// Runs the command.
pub(super) fn run(args: &PoiseuilleArgs) -> Result<(), Failure> {
    let (flow, drive) = args.flow();
    super::plates::run(&args.plates, flow, drive)
}
