//! The flags of `rarefy relax`, and the run in full.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ArgMatches;
use serde::{Deserialize, Serialize};

use crate::bgk::{Model, Species};
use crate::cli::distribution::{self, Init};
use crate::cli::flow::{ConductionArgs, ReferenceArgs};
use crate::cli::operator::{Choice, OperatorArgs, Taken};
use crate::cli::options::Common;
use crate::cli::resume;
use crate::cli::text::{kept_as_text, name_of};
use crate::cli::values::{at_least_one, cells, count, named, positive};
use crate::cli::verify::VerifyArgs;
use crate::collision::{Integrator, RelaxationConfig, Scattering, Until, VelocityGrid};
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  rarefy relax                                  the paper's beams, on the GPU if there is one
  rarefy relax --order 2 --correction paper     the same by the paper's scheme
  rarefy relax --init bkw:0.7 --until 5         against an exact solution
  rarefy relax --init f.npy --vmax 6 --out run  from an array of f[ix][iy][iz]
  rarefy relax --resume run/checkpoint.rarefy   go on where --checkpoint-every or Ctrl-C left it
  rarefy relax --model shakhov                  the beams by a relaxation model instead of the integral
  rarefy relax --gas nitrogen --pressure 100 --temperature 300 --init temperatures:2,0.5
                                                rotation of nitrogen at 150 K, translation at 600 K";

/// Relax a distribution on a 3D velocity grid to equilibrium: df/dt = I(f, f)
///
/// Without options: the paper's two Maxwellians of hard spheres on 20^3 velocities, to equilibrium. Results go to --out, or to
/// rarefy-out/relax if neither --out nor --json is given. Ctrl-C saves a checkpoint. With --model, or a --gas whose molecules rotate,
/// the gas relaxes by that model: df/dt = nu (S - f).
#[derive(Clone, Debug, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct RelaxArgs {
    /// Cells along an axis, 3 to 64 [default: 20, or as the file of --init]
    #[arg(long, value_name = "N1", value_parser = cells)]
    pub(super) grid: Option<usize>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) operator: OperatorArgs,
    /// Initial state: two-maxwellians[:U], bkw:K0 with 0.6 <= K0 < 1, or a .npy file of f[ix][iy][iz]; of a model two-maxwellians[:U[,SHARE]], SHARE of the molecules
    /// at the velocity U, or temperatures:T_T,T_R of translation and rotation
    #[arg(long, default_value = "two-maxwellians", value_parser = str::parse::<Init>)]
    pub(super) init: Init,
    /// After each step take away what is below zero, so that mass, momentum and energy stay
    #[arg(long)]
    pub(super) limiter: bool,
    /// Time integrator
    #[arg(long, default_value = "ssprk2", value_parser = named::<Integrator>(&["euler", "ssprk2", "ssprk3"]))]
    pub(super) integrator: Integrator,
    /// Time step [default: half of the largest stable one, chosen anew at each step]
    #[arg(long, value_name = "D", value_parser = positive)]
    pub(super) dt: Option<f64>,
    /// Stop after so many steps
    #[arg(long, value_name = "N", conflicts_with = "until", value_parser = count)]
    pub(super) steps: Option<u64>,
    /// Stop at this time, or at equilibrium[:FRACTION], when the sum of |I| has fallen to this fraction [default: equilibrium:0.001]
    #[arg(long, value_name = "T")]
    pub(super) until: Option<Stop>,
    /// Write checkpoint.rarefy every N steps and at the end
    #[arg(long, value_name = "N", value_parser = count)]
    #[serde(default, deserialize_with = "at_least_one")]
    pub(super) checkpoint_every: Option<u64>,
    /// Go on from a checkpoint, to the same bits; only the end and the outputs may be given anew
    #[arg(long, value_name = "FILE", conflicts_with = "accuracy")]
    #[serde(skip)]
    pub(super) resume: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) verify: VerifyArgs,
    /// Relax by this model instead of the collision integral [default: none; polyatomic with a --gas whose molecules rotate]
    #[arg(long, value_parser = named::<Model>(&["bgk", "shakhov", "polyatomic"]), help_heading = MODELS)]
    #[serde(skip)]
    pub(super) model: Option<Model>,
    #[command(flatten, next_help_heading = MODELS)]
    #[serde(skip)]
    pub(super) conduction: ConductionArgs,
    #[command(flatten, next_help_heading = MODELS)]
    #[serde(skip)]
    pub(super) reference: ReferenceArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) common: Common,
}

/// Heading of the flags of models.
const MODELS: &str = "Relaxation models";

/// The value of `--until`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stop {
    Time(f64),
    Equilibrium(f64),
}

kept_as_text!(Stop);

impl FromStr for Stop {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("equilibrium") {
            Some("") => Ok(Self::Equilibrium(EQUILIBRIUM)),
            Some(rest) => match rest.strip_prefix(':').map(str::parse) {
                Some(Ok(x)) if x > 0.0 && x < 1.0 => Ok(Self::Equilibrium(x)),
                _ => Err("equilibrium:FRACTION needs 0 < FRACTION < 1"),
            },
            None => match positive(text) {
                Ok(time) => Ok(Self::Time(time)),
                Err(_) => Err("use a positive finite time, or equilibrium[:FRACTION]"),
            },
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => write!(f, "{time}"),
            Self::Equilibrium(fraction) => write!(f, "equilibrium:{fraction}"),
        }
    }
}

/// Where a relaxation counts as done: the sum of |I| has fallen to this fraction of its first value.
pub(super) const EQUILIBRIUM: f64 = 1e-3;

impl RelaxArgs {
    /// Whether a model takes the place of the integral.
    pub(super) fn is_of_a_model(&self) -> bool {
        let rotates = |gas: Species| gas.rotation().is_some();
        self.model.is_some() || self.reference.gas.is_some_and(rotates)
    }

    /// Refuses flags of the relaxation models.
    pub(super) fn refuse_models(&self) -> Result<()> {
        if let (Some(model), Some(_)) = (self.model, &self.resume) {
            let expected = "none: the checkpoint is of the collision integral";
            return Err(Error::invalid("--model", name_of(&model), expected));
        }
        let conduction = &self.conduction;
        let flags = [
            ("gas", self.reference.gas.is_some()),
            ("pressure", self.reference.pressure.is_some()),
            ("temperature", self.reference.temperature.is_some()),
            ("prandtl", conduction.prandtl.is_some()),
        ];
        let all = flags.into_iter().chain(conduction.of_rotation());
        if let Some((flag, _)) = { all }.find(|flag| flag.1) {
            return Err(Error::invalid(
                format!("--{flag}"),
                "given for the collision integral",
                "--model bgk, shakhov or polyatomic, to which it belongs",
            ));
        }
        if self.init.is_of_models() {
            return Err(Error::invalid(
                "--init",
                &self.init,
                "--model bgk, shakhov or polyatomic, to which this start belongs",
            ));
        }
        Ok(())
    }

    /// The arguments in full, the initial distribution, and the reason for the method.
    pub(super) fn resolved(&self) -> Result<(Self, Vec<f64>, Taken)> {
        self.refuse_models()?;
        let init = &self.init;
        let tolerated = self.operator.tolerated_negative(Choice::Auto);
        let read = |path: &Path| {
            let sizes = VelocityGrid::MIN_N..=VelocityGrid::MAX_N;
            distribution::read(path, sizes, tolerated, false)
        };
        let Some(vmax) = self.operator.vmax.or(init.vmax()) else {
            // An error of the file itself comes first.
            if let Init::File(path) = init {
                read(path)?;
            }
            return Err(Error::invalid(
                "--vmax",
                "none",
                format!("the velocity box of {init}, which does not say it"),
            ));
        };
        // The grid is checked before the file is opened, as far as it is known.
        let mut grid = self.operator.grid(self.grid.unwrap_or(20), vmax)?;
        if let (Init::File(path), None) = (init, self.grid) {
            grid = self.operator.grid(read(path)?.n, vmax)?;
        }
        let f = init.sample(&grid, tolerated)?;
        if f.iter().all(|&f| f == 0.0) {
            return Err(Error::invalid(
                "--init",
                init,
                format!(
                    "a density in the velocity box [{}, {}]^3",
                    grid.min(),
                    grid.max()
                ),
            ));
        }
        let usual = match init {
            Init::Bkw(_) => Scattering::Maxwell,
            _ => Scattering::HardSphere,
        };
        let (operator, taken) = self.operator.resolved(&grid, (usual, Choice::Auto), &f)?;
        let full = Self {
            grid: Some(grid.n()),
            operator,
            until: match self.steps {
                Some(_) => None,
                None => self.until.or(Some(Stop::Equilibrium(EQUILIBRIUM))),
            },
            ..self.clone()
        };
        Ok((full, f, taken))
    }

    pub(super) fn until(&self) -> Until {
        match (self.steps, self.until) {
            (Some(steps), _) => Until::Steps(steps),
            (None, Some(Stop::Time(time))) => Until::Time(time),
            (None, Some(Stop::Equilibrium(fraction))) => Until::Equilibrium(fraction),
            (None, None) => Until::Equilibrium(EQUILIBRIUM),
        }
    }

    /// The library's configuration of a run in full.
    pub(super) fn config(&self) -> Result<RelaxationConfig> {
        Ok(RelaxationConfig {
            operator: self.operator.config(self.grid.unwrap_or(0), &self.common)?,
            integrator: self.integrator,
            dt: self.dt,
            until: self.until(),
            limited: self.limiter,
        })
    }

    /// Takes over a new end, and refuses flags that say otherwise than the checkpoint.
    pub(super) fn go_on(&mut self, args: &Self, given: &ArgMatches) -> Result<()> {
        let free = ["steps", "until", "checkpoint-every", "verify", "no-verify"];
        resume::refuse_contradictions(self, args, &free, given)?;
        if args.steps.is_some() || args.until.is_some() {
            (self.steps, self.until) = (args.steps, args.until);
        }
        self.checkpoint_every = args.checkpoint_every.or(self.checkpoint_every);
        self.verify = args.verify.clone();
        self.common.threads = args.common.threads;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::collision::OperatorConfig;

    #[test]
    fn defaults_are_those_of_the_library() {
        for (flags, wide) in [("", true), ("--grid 12 --vmax 9", false)] {
            let line = format!("rarefy relax {flags}");
            let cli = Cli::try_parse_from(line.split_whitespace()).expect("arguments");
            let Some(Command::Relax(args)) = cli.command else {
                unreachable!("the command is relax");
            };
            let (full, f, _) = args.resolved().expect("a relaxation");
            let mut found = full.config().expect("a relaxation");
            let spectral = found.operator.spectral;
            let usual = OperatorConfig {
                compute: found.operator.compute,
                ..OperatorConfig::new(found.operator.grid)
            };
            let usual = usual.by_state(&f).suited(&f);
            assert_eq!(spectral.degree, usual.spectral.degree);
            // The record names rank and period too.
            found.operator.spectral = usual.spectral;
            let until = Until::Equilibrium(EQUILIBRIUM);
            assert_eq!(found, RelaxationConfig::new(usual, until), "{flags}");
            assert_eq!(spectral.degree.is_some(), wide, "{flags}");
        }
    }
}
