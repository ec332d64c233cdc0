//! The flags of `rarefy isotropic`, and the parameters of a run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ArgMatches;
use serde::{Deserialize, Serialize};

use crate::cli::failure::Failure;
use crate::cli::options::{Common, without_effect};
use crate::cli::summary::Summary;
use crate::cli::text::{name_of, short, text_or_file};
use crate::cli::values::{
    at_least_one, count, exponent, finite, molecules, named, positive, whole,
};
use crate::cli::verify::VerifyArgs;
use crate::cli::{npy, resume};
use crate::collision::Scattering;
use crate::error::{Error, Result};
use crate::isotropic::{
    CollisionKernel, EnergyGrid, Integrator, OperatorConfig, Sampled, Storage, Weights, initial,
};

const EXAMPLES: &str = "\
Examples:
  rarefy isotropic --init bkw:0.6 --until 6                against an exact solution
  rarefy isotropic --cells 1024 --theta 1 --init delta:1   hard spheres from one energy
  rarefy isotropic --init f.npy --emax 16 --steps 200 --out run
  rarefy isotropic --init f.npy --emax 16 --rates-only --out rates
  rarefy isotropic --resume run/checkpoint.rarefy --steps 500   go on where --checkpoint-every or Ctrl-C left it";

/// Relax an isotropic distribution over energies: df/dt = N - nu f
///
/// Each step takes O(M^2) operations for M cells of energy. The distribution is over velocities in three dimensions; n = integral of
/// 2^(5/2) pi sqrt(E) f dE. a^2 c_s = 1/(2 pi) and c_s = 1: at theta = 0 and n = 1 each particle collides once in a unit of time.
#[derive(Clone, Debug, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct IsotropicArgs {
    /// Cells M of energy [default: 256, or as the file of --init]
    #[arg(long, value_name = "M", value_parser = cells)]
    pub(super) cells: Option<usize>,
    /// Largest energy [default: 20; needed where --init is a file]
    #[arg(long, value_name = "E", value_parser = positive)]
    pub(super) emax: Option<f64>,
    /// Exponent of the collision rate |g n|^theta: 0 for a constant collision frequency, 1 for hard spheres, at g/2 in the mean of all directions [default: 0]
    #[arg(long, value_name = "T", value_parser = finite)]
    pub(super) theta: Option<f64>,
    /// Isotropic scattering instead: hard-sphere, maxwell, or vhs:OMEGA, whose collision rate is g^(2 - 2 OMEGA) for the relative speed g; for hard spheres twice that of --theta 1
    #[arg(long, value_name = "MOLECULES", value_parser = molecules, conflicts_with = "theta")]
    pub(super) molecules: Option<Scattering>,
    /// Initial state: bkw:K0 with 0.6 <= K0 < 1, delta:E, two-temperature:T1,T2[,SHARE], or a .npy file of M values of f
    #[arg(long, default_value = "bkw:0.6", value_parser = str::parse::<Init>)]
    pub(super) init: Init,
    /// Time integrator
    #[arg(long, default_value = "ssprk3", value_parser = named::<Integrator>(&["euler", "ssprk3", "rk4"]))]
    pub(super) integrator: Integrator,
    /// Time step [default: half of the largest one that keeps f >= 0]
    #[arg(long, value_name = "D", value_parser = positive)]
    pub(super) dt: Option<f64>,
    /// Time steps [default: 100]
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "until")]
    pub(super) steps: Option<u64>,
    /// Stop at this time; the step is shortened so that it is met (a resumed run keeps its step and stops right after)
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub(super) until: Option<f64>,
    /// Steps between two rows of moments.csv [default: 1 up to 1000 steps, else a power of two, with 500 to 1000 rows]
    #[arg(long, value_name = "N", value_parser = count)]
    #[serde(default, deserialize_with = "at_least_one")]
    pub(super) every: Option<u64>,
    /// How coefficients are kept and summed; all agree to roundoff
    #[arg(long, default_value = "pairs", value_parser = named::<Storage>(&["full", "compact", "pairs"]))]
    pub(super) storage: Storage,
    /// Weights of the quadrature: center as in the paper, or cell, which is more accurate
    #[arg(long, default_value = "center", value_parser = named::<Weights>(&["center", "cell"]))]
    pub(super) weights: Weights,
    /// Take the coefficients as they are, without the correction that conserves number and energy
    #[arg(long)]
    pub(super) no_correction: bool,
    /// Evaluate once and write gain.npy, frequency.npy and rate.npy
    #[arg(long)]
    pub(super) rates_only: bool,
    /// Also compute so many of the slowest decay rates of small departures from equilibrium
    #[arg(long, value_name = "COUNT", value_parser = count)]
    pub(super) spectrum: Option<u64>,
    /// Write checkpoint.rarefy every N steps and at the end
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "rates_only")]
    #[serde(default, deserialize_with = "at_least_one")]
    pub(super) checkpoint_every: Option<u64>,
    /// Go on from a checkpoint, to the same bits; only the end and the outputs may be given anew
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rates_only", "accuracy"])]
    #[serde(skip)]
    pub(super) resume: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) verify: VerifyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) common: Common,
}

impl IsotropicArgs {
    /// The exponent of the collision rate of isotropic scattering.
    fn gamma(&self) -> Option<f64> {
        self.molecules
            .map(|molecules| 2.0 - 2.0 * exponent(molecules))
    }

    /// The file of the initial state, which must not be written over.
    pub(super) fn input(&self) -> Option<&Path> {
        match &self.init {
            Init::File(path) => Some(path),
            _ => None,
        }
    }

    pub(super) fn refuse_options_without_effect(&self) -> std::result::Result<(), Failure> {
        if self.rates_only {
            without_effect(
                "--rates-only, which takes no steps",
                &[
                    ("integrator", self.integrator != Integrator::Ssprk3),
                    ("dt", self.dt.is_some()),
                    ("steps", self.steps.is_some()),
                    ("until", self.until.is_some()),
                    ("every", self.every.is_some()),
                    ("spectrum", self.spectrum.is_some()),
                    ("accuracy", self.verify.accuracy.is_some()),
                ],
            )?;
        }
        if self.molecules.is_some() {
            without_effect(
                "--molecules, whose coefficients are kept in one way",
                &[("storage", self.storage != Storage::default())],
            )?;
        }
        Ok(())
    }
}

/// A number of cells of energy.
pub(in crate::cli) fn cells(text: &str) -> std::result::Result<usize, String> {
    whole(text, EnergyGrid::MIN_CELLS..=EnergyGrid::MAX_CELLS)
}

/// The initial state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(super) enum Init {
    /// The exact solution.
    Bkw(f64),
    /// One energy.
    Delta(f64),
    /// Two Maxwellians, and the share of the first.
    TwoTemperature(f64, f64, f64),
    /// A file.
    File(PathBuf),
}

impl FromStr for Init {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let numbers: Option<Vec<f64>> = value.and_then(|value| {
            let parts = value.split([',', ':']);
            parts.map(|part| finite(part.trim()).ok()).collect()
        });
        match (name, numbers.as_deref()) {
            ("bkw", Some(&[k])) if (0.6..1.0).contains(&k) => Ok(Self::Bkw(k)),
            ("bkw", _) => Err(
                "bkw:K0 needs 0.6 <= K0 < 1, where the distribution is nonnegative and not yet at rest",
            ),
            ("delta", Some(&[e])) if e > 0.0 => Ok(Self::Delta(e)),
            ("delta", _) => Err("delta:E needs a positive finite energy E"),
            ("two-temperature", Some(&[a, b, ref share @ ..]))
                if a > 0.0 && b > 0.0 && share.len() < 2 =>
            {
                match share.first().copied().unwrap_or(0.5) {
                    share if (0.0..=1.0).contains(&share) => Ok(Self::TwoTemperature(a, b, share)),
                    _ => Err("two-temperature:T1,T2,SHARE needs 0 <= SHARE <= 1"),
                }
            }
            ("two-temperature", _) => {
                Err("two-temperature:T1,T2[,SHARE] needs two positive finite temperatures")
            }
            _ if text.ends_with(".npy") || Path::new(text).is_file() => {
                Ok(Self::File(PathBuf::from(text)))
            }
            _ => Err(
                "use bkw:K0, delta:E, two-temperature:T1,T2[,SHARE], or the name of a .npy file",
            ),
        }
    }
}

impl fmt::Display for Init {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bkw(k) => write!(f, "bkw:{k}"),
            Self::Delta(e) => write!(f, "delta:{e}"),
            Self::TwoTemperature(a, b, share) => write!(f, "two-temperature:{a},{b},{share}"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

text_or_file!(Init);

impl Init {
    /// The integrals of the distribution that is sampled, and its temperatures, if they are known.
    pub(super) fn exact(&self) -> Option<Sampled> {
        let of = |energy: f64, coldest: f64, hottest: f64| {
            Some(Sampled {
                number: 1.0,
                energy,
                coldest,
                hottest,
            })
        };
        match *self {
            Self::Bkw(_) => of(1.5, 1.0, 1.0),
            Self::TwoTemperature(a, b, share) => {
                let parts = [(a, share), (b, 1.0 - share)];
                let there = || parts.into_iter().filter(|part| part.1 > 0.0).map(|p| p.0);
                let energy = parts.iter().map(|(t, share)| 1.5 * t * share).sum();
                of(
                    energy,
                    there().fold(f64::INFINITY, f64::min),
                    there().fold(0.0, f64::max),
                )
            }
            // The energy of one speed is exact on any grid that has it.
            Self::Delta(_) | Self::File(_) => None,
        }
    }

    pub(super) fn sample(
        &self,
        config: &OperatorConfig,
        file: Option<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        let grid = &config.grid;
        match *self {
            Self::Bkw(k) => Ok(initial::bkw(grid, k)),
            Self::Delta(energy) => initial::delta(config, energy),
            Self::TwoTemperature(a, b, share) => Ok(initial::two_temperature(grid, a, b, share)),
            Self::File(_) => Ok(file.unwrap_or_default()),
        }
    }
}

impl IsotropicArgs {
    /// The run in full on a grid, whatever the initial state.
    fn on(&self, cells: Option<usize>, emax: Option<f64>) -> Self {
        Self {
            cells,
            emax,
            theta: match self.molecules {
                Some(_) => None,
                None => Some(self.theta.unwrap_or(0.0)),
            },
            ..self.clone()
        }
    }

    /// Takes over what the flags of a resumed run say anew, and refuses what contradicts the checkpoint.
    pub(super) fn go_on(&mut self, args: &Self, given: &ArgMatches) -> Result<()> {
        let wanted = args.on(args.cells, args.emax);
        let free = [
            "steps",
            "until",
            "spectrum",
            "checkpoint-every",
            "verify",
            "no-verify",
        ];
        resume::refuse_contradictions(self, &wanted, &free, given)?;
        if args.steps.is_some() || args.until.is_some() {
            (self.steps, self.until) = (args.steps, args.until);
        }
        self.spectrum = args.spectrum.or(self.spectrum);
        self.checkpoint_every = args.checkpoint_every.or(self.checkpoint_every);
        self.verify = args.verify.clone();
        self.common.threads = args.common.threads;
        Ok(())
    }

    fn law(&self) -> CollisionKernel {
        match self.gamma() {
            Some(gamma) => CollisionKernel::Isotropic { gamma },
            None => CollisionKernel::Power {
                theta: self.theta.unwrap_or(0.0),
            },
        }
    }

    /// The library's operator.
    pub(super) fn operator(&self) -> Result<OperatorConfig> {
        let grid = EnergyGrid::new(self.cells.unwrap_or(0), self.emax.unwrap_or(0.0))?;
        Ok(OperatorConfig {
            storage: self.storage,
            weights: self.weights,
            corrected: !self.no_correction,
            compute: self.common.compute(),
            ..OperatorConfig::new(grid, self.law())
        })
    }

    /// The run in full, its operator, and the initial distribution.
    pub(super) fn resolved(&self) -> Result<(Self, OperatorConfig, Vec<f64>)> {
        let file = match &self.init {
            Init::File(path) => {
                let lengths = match self.cells {
                    Some(cells) => cells..=cells,
                    None => EnergyGrid::MIN_CELLS..=EnergyGrid::MAX_CELLS,
                };
                Some(npy::read_vector(path, lengths)?)
            }
            _ => None,
        };
        let emax = match (&self.init, self.emax) {
            (_, Some(emax)) => emax,
            (Init::File(path), None) => {
                return Err(Error::file(
                    path,
                    "the file does not say what energies it is for; give the largest with --emax",
                ));
            }
            (_, None) => 20.0,
        };
        let cells = file
            .as_ref()
            .map_or(self.cells.unwrap_or(256), |values| values.len());
        let parameters = self.on(Some(cells), Some(emax));
        let config = parameters.operator()?;
        let f = self.init.sample(&config, file)?;
        config
            .validate_distribution(&f)
            .map_err(|error| match (error, self.init.exact()) {
                // Sampled far outside of the grid, or between its cells.
                (Error::Input { .. }, Some(exact)) if f.iter().all(|&f| f == 0.0) => {
                    match config.warnings_of(&f, &exact) {
                        Err(error) => error,
                        Ok(_) => {
                            Error::invalid("--init", &self.init, "a distribution within the grid")
                        }
                    }
                }
                (other, _) => other.within(&self.init.to_string()),
            })?;
        Ok((parameters, config, f))
    }

    /// The first rows of a summary.
    pub(super) fn heading(&self, work: &str, config: &OperatorConfig, machine: &str) -> Summary {
        let kept = match config.law {
            CollisionKernel::Power { .. } => format!(", {} coefficients", name_of(&self.storage)),
            _ => String::new(),
        };
        let correction = if self.no_correction {
            ", uncorrected"
        } else {
            ""
        };
        Summary::new(format!(
            "{work} on {} cells of energy up to {}",
            config.grid.cells(),
            short(config.grid.emax())
        ))
        .row(
            "law",
            format!(
                "{}{kept}{correction}, {} weights",
                config.law,
                name_of(&self.weights)
            ),
        )
        .row_if("pair rate", pair_rate(config.law))
        .row(
            "backend",
            format!("{machine}, {}", name_of(&self.common.precision)),
        )
    }
}

/// The rate at which two particles of relative speed g collide, at unit density.
fn pair_rate(law: CollisionKernel) -> Option<String> {
    let power = |exponent: f64| match exponent {
        1.0 => "g".to_owned(),
        _ => format!("g^{exponent}"),
    };
    match law {
        CollisionKernel::Power { theta } if theta > 0.0 => {
            let mean = power(theta);
            Some(format!(
                "{mean}/{}, the mean of |g n|^{theta} over directions; isotropic scattering of --molecules has {mean}",
                theta + 1.0
            ))
        }
        CollisionKernel::Isotropic { gamma } if gamma > 0.0 => Some(power(gamma)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn defaults_are_those_of_the_library() {
        let cli = Cli::try_parse_from(["rarefy", "isotropic"]).expect("arguments");
        let Some(Command::Isotropic(args)) = cli.command else {
            unreachable!("the command is isotropic");
        };
        let (_, found, _) = args.resolved().expect("a relaxation");
        let law = CollisionKernel::Power { theta: 0.0 };
        let usual = OperatorConfig::new(found.grid, law);
        assert_eq!(
            found,
            OperatorConfig {
                compute: found.compute,
                ..usual
            }
        );
        assert_eq!(args.integrator, Integrator::default());
    }
}
