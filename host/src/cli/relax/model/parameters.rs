//! A relaxation by a model in full, as records and checkpoints have it.
//!
//! Velocities are in units of $\sqrt{k T_0/m}$, as those of the collision integral; the library's are $\sqrt 2$ times as large.

use std::f64::consts::SQRT_2;

use clap::ArgMatches;
use clap::parser::ValueSource;
use serde::{Deserialize, Serialize};

use crate::bgk::{Axis, Homogeneous, HomogeneousMoments, HomogeneousStart, Model, Units, rotation};
use crate::cli::distribution::Init;
use crate::cli::failure::Failure;
use crate::cli::flow::{GasArgs, MODEL_MOLECULES, ReferenceArgs, SiArgs};
use crate::cli::options::Common;
use crate::cli::relax::parameters::{EQUILIBRIUM, RelaxArgs, Stop};
use crate::cli::resume;
use crate::cli::steps;
use crate::cli::text::short;
use crate::cli::values::at_least_one;
use crate::cli::verify::VerifyArgs;
use crate::error::{Error, Result};

/// Steps of a relaxation at the most, each of which has its row of the history.
const MOST_STEPS: u64 = 1_000_000;

/// Flags of the collision integral, by their names in the command's arguments.
const OTHERS: [&str; 11] = [
    "sigma_t",
    "method",
    "order",
    "sphere",
    "rank",
    "period",
    "correction",
    "no_correction",
    "limiter",
    "integrator",
    "accuracy",
];

/// Refuses flags that a model does not have.
pub(super) fn refuse_others(
    args: &RelaxArgs,
    given: &ArgMatches,
) -> std::result::Result<(), Failure> {
    let on_line = |id: &&&str| given.value_source(id) == Some(ValueSource::CommandLine);
    if let Some(flag) = OTHERS.iter().find(on_line) {
        let expected = match *flag {
            "accuracy" => "--dt: the errors of a model follow from its exact moments",
            _ => "the collision integral, to which it belongs: leave it out, or --model",
        };
        let flag = format!("--{}", flag.replace('_', "-"));
        return Err(Error::invalid(flag, "given for a relaxation model", expected).into());
    }
    if let Init::Bkw(_) | Init::File(_) = args.init {
        return Err(Error::invalid(
            "--init",
            &args.init,
            "two-maxwellians[:U[,SHARE]] or temperatures:T_T,T_R, from which a model relaxes",
        )
        .into());
    }
    if args.common.devices.is_some() {
        return Err(Failure::Usage(
            "--devices: a homogeneous gas takes one machine; leave it out".into(),
        ));
    }
    Ok(())
}

/// The flags of a relaxation by a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct ModelRelaxation {
    #[serde(flatten)]
    gas: GasArgs,
    #[serde(flatten)]
    reference: ReferenceArgs,
    pub(super) init: Init,
    grid: Option<usize>,
    vmax: Option<f64>,
    vmin: Option<f64>,
    dt: Option<f64>,
    steps: Option<u64>,
    until: Option<Stop>,
    #[serde(default, deserialize_with = "at_least_one")]
    pub(super) checkpoint_every: Option<u64>,
    #[serde(flatten)]
    pub(super) verify: VerifyArgs,
    #[serde(flatten)]
    pub(super) common: Common,
}

impl ModelRelaxation {
    /// The flags of the command line.
    pub(super) fn of(args: &RelaxArgs) -> Self {
        let molecules = args.operator.molecules;
        Self {
            gas: GasArgs::new(args.model, args.conduction.clone(), molecules),
            reference: args.reference,
            init: args.init.clone(),
            grid: args.grid,
            vmax: args.operator.vmax,
            vmin: args.operator.vmin,
            dt: args.dt,
            steps: args.steps,
            until: args.until,
            checkpoint_every: args.checkpoint_every,
            verify: args.verify.clone(),
            common: args.common.clone(),
        }
    }

    /// The same in full.
    pub(super) fn resolved(&self) -> Result<Self> {
        let mut full = self.clone();
        full.resolve_gas()?;
        let (gas, start) = (full.gas.gas(), full.start());
        let (reach, nodes) = Homogeneous::velocities(&gas, &start);
        let vmax = *full.vmax.get_or_insert(SQRT_2 * reach);
        full.vmin.get_or_insert(-vmax);
        full.grid.get_or_insert(nodes);
        if full.steps.is_none() {
            full.until.get_or_insert(Stop::Equilibrium(EQUILIBRIUM));
        }
        if full.dt.is_none() {
            let usual = full.case()?.time_step();
            full.dt = Some(match full.until {
                Some(Stop::Time(end)) => end / (end / usual).ceil(),
                _ => usual,
            });
        }
        Ok(full)
    }

    /// The gas in full, with the rotation of its molecules.
    pub(super) fn resolve_gas(&mut self) -> Result<()> {
        let si = self.si();
        si.check(false)?;
        self.gas = self.gas.resolved(&si, MODEL_MOLECULES, true)?;
        // That of BGK cannot be given.
        if self.gas.model() != Model::Bgk {
            self.gas.conduction.prandtl = self.gas.recorded_prandtl();
        }
        Ok(())
    }

    fn si(&self) -> SiArgs {
        SiArgs::of(self.reference)
    }

    /// The units of a case in SI units.
    pub(super) fn units(&self) -> Result<Option<Units>> {
        self.si().units()
    }

    /// The model as titles call it.
    pub(super) fn model(&self) -> &'static str {
        self.gas.name()
    }

    /// The warning of a gas that is outside of the temperatures at which its molecules rotate as the model has it.
    pub(super) fn beyond_rotation(&self, first: &HomogeneousMoments) -> Option<String> {
        let (gas, kelvin) = self.reference.gas.zip(self.reference.temperature)?;
        let [own, other] = [
            first.translational(),
            first.rotation?.temperature_rotational,
        ];
        rotation::beyond(gas, [own.min(other), own.max(other)].map(|t| kelvin * t))
    }

    fn start(&self) -> HomogeneousStart {
        match self.init {
            Init::Temperatures([translational, rotational]) => HomogeneousStart::Temperatures {
                translational,
                rotational,
            },
            Init::Unequal { speed, share } => HomogeneousStart::Beams {
                speed: speed / SQRT_2,
                share,
            },
            Init::TwoMaxwellians(speed) => HomogeneousStart::Beams {
                speed: speed / SQRT_2,
                share: 0.5,
            },
            // Refused before.
            Init::Bkw(_) | Init::File(_) => HomogeneousStart::Temperatures {
                translational: 1.0,
                rotational: 1.0,
            },
        }
    }

    /// The library's case of a relaxation in full.
    pub(super) fn case(&self) -> Result<Homogeneous> {
        let ends = [self.vmin, self.vmax].map(|end| end.unwrap_or(f64::NAN) / SQRT_2);
        let axis = Axis::uniform(self.grid.unwrap_or(0), ends[0], ends[1])?;
        Homogeneous::with_axis(self.gas.gas(), self.start(), axis)
    }

    /// Refuses velocities that do not hold the start.
    pub(super) fn check_velocities(&self, case: &Homogeneous) -> Result<()> {
        let checked = case.config(self.dt(), self.common.compute());
        checked.map(|_| ()).map_err(|error| match error {
            Error::Input { field, .. } if field == "velocity" => {
                let (count, [low, high]) = self.velocities();
                let (reach, nodes) = Homogeneous::velocities(&case.gas, &case.start);
                let reach = short(SQRT_2 * reach);
                Error::invalid(
                    "--grid, --vmax",
                    format!("{count} velocities in [{}, {}]", short(low), short(high)),
                    format!("about {nodes} in [-{reach}, {reach}], which hold the start"),
                )
            }
            other => other,
        })
    }

    /// The time step of a relaxation in full.
    pub(super) fn dt(&self) -> f64 {
        self.dt.unwrap_or(f64::NAN)
    }

    /// The last step. A relaxation to equilibrium ends where the exact moments have come so near.
    pub(super) fn end(&self, case: &Homogeneous) -> Result<u64> {
        let dt = self.dt();
        match (self.steps, self.until) {
            (Some(steps), _) => Ok(steps),
            (None, Some(Stop::Time(end))) => {
                let steps = steps::bounded(("--until", end), [end, dt], MOST_STEPS as f64)?;
                Ok((steps.round() as u64).max(1))
            }
            (None, until) => {
                let Some(Stop::Equilibrium(fraction)) =
                    until.or(Some(Stop::Equilibrium(EQUILIBRIUM)))
                else {
                    return Ok(0);
                };
                let found = case.steps_to_equilibrium(dt, fraction, MOST_STEPS);
                found.ok_or_else(|| {
                    Error::invalid(
                        "--until",
                        Stop::Equilibrium(fraction),
                        format!("an end at most {MOST_STEPS} steps of {dt} away, or a longer --dt"),
                    )
                })
            }
        }
    }

    /// Velocities along x, and the ends of their box.
    pub(super) fn velocities(&self) -> (usize, [f64; 2]) {
        let ends = [self.vmin, self.vmax].map(|end| end.unwrap_or(f64::NAN));
        (self.grid.unwrap_or(0), ends)
    }

    /// Takes over a new end, and refuses flags that say otherwise than the checkpoint.
    pub(super) fn go_on(&mut self, wanted: &Self, given: &ArgMatches) -> Result<()> {
        let free = ["steps", "until", "checkpoint-every", "verify", "no-verify"];
        resume::refuse_contradictions(self, wanted, &free, given)?;
        if wanted.steps.is_some() || wanted.until.is_some() {
            (self.steps, self.until) = (wanted.steps, wanted.until);
        }
        self.checkpoint_every = wanted.checkpoint_every.or(self.checkpoint_every);
        self.verify = wanted.verify.clone();
        self.common.threads = wanted.common.threads;
        Ok(())
    }
}
