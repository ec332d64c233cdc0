//! Flags that flows share, by whose names records and checkpoints keep them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::cells::Cells;
use crate::bgk::rotation::{self, RotationGiven};
use crate::bgk::steady::Closure;
use crate::bgk::{Gas, Model, Moments, Rotation, RotationalCollisions, Scheme, Species, Units};
use crate::cli::options::Common;
use crate::cli::ranks;
use crate::cli::rotation::{Eucken, collisions};
use crate::cli::text::kept_as_text;
use crate::cli::values::{at_least_one, count, exponent, named, positive};
use crate::cli::verify::VerifyArgs;
use crate::collision::Scattering;
use crate::compute::Devices;
use crate::error::{Error, Result};

/// Molecules of a relaxation model that are not given: argon's exponent of the viscosity as the paper takes it.
pub(in crate::cli) const MODEL_MOLECULES: Scattering = Scattering::Vhs { omega: 0.74 };

/// Flags of shocks and cavities.
#[derive(Clone, Debug, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct FlowArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(in crate::cli) si: SiArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(in crate::cli) gas: GasArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(in crate::cli) time_options: TimeOptions,
    #[command(flatten)]
    #[serde(flatten)]
    pub(in crate::cli) verify: VerifyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(in crate::cli) common: Common,
}

/// The gas.
#[derive(Clone, Debug, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct GasArgs {
    /// Relaxation model [default: bgk; polyatomic with a --gas whose molecules rotate]
    #[arg(long, value_parser = named::<Model>(&["bgk", "shakhov", "polyatomic"]))]
    pub(in crate::cli) model: Option<Model>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(in crate::cli) conduction: ConductionArgs,
    /// Molecules: hard-sphere, maxwell, vhs:OMEGA or vss:OMEGA,ALPHA; the viscosity grows as T^0.5, T^1 or T^OMEGA [default: vhs:0.74, or those of --gas]
    #[arg(long, value_name = "MOLECULES")]
    molecules: Option<Scattering>,
    /// The rotation that follows.
    #[arg(skip)]
    #[serde(skip)]
    rotation: Option<Rotation>,
}

/// Prandtl number of the gas, and rotation of its molecules.
#[derive(Clone, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct ConductionArgs {
    /// Prandtl number of the Shakhov and the polyatomic model [default: 2/3; 0.72 with --model polyatomic, or that of --gas]
    #[arg(long, value_name = "PR", value_parser = positive)]
    pub(in crate::cli) prandtl: Option<f64>,
    /// With --model polyatomic: internal degrees of freedom of a molecule [default: 2]
    #[arg(long, value_name = "D", value_parser = positive)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    internal_dof: Option<f64>,
    /// With --model polyatomic: collisions in which rotation relaxes, or parker:Z_INF,T_STAR with a --gas [default: 5.5, or those of --gas]
    #[arg(long, value_name = "Z", value_parser = collisions)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    z_rot: Option<RotationalCollisions>,
    /// With --model polyatomic: Eucken factors of translation and rotation, instead of --prandtl
    #[arg(long, value_name = "F_TR,F_ROT")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    eucken: Option<Eucken>,
}

impl ConductionArgs {
    /// Flags of molecules that rotate, and whether they were given.
    pub(in crate::cli) fn of_rotation(&self) -> [(&'static str, bool); 3] {
        [
            ("internal-dof", self.internal_dof.is_some()),
            ("z-rot", self.z_rot.is_some()),
            ("eucken", self.eucken.is_some()),
        ]
    }

    /// The rotation of a gas at a temperature in K, as far as these flags give it.
    pub(in crate::cli) fn rotation(
        &self,
        species: Option<Species>,
        kelvin: Option<f64>,
    ) -> RotationGiven {
        RotationGiven {
            species,
            kelvin,
            freedom: self.internal_dof,
            collisions: self.z_rot,
            prandtl: self.prandtl,
            eucken: self.eucken.map(|Eucken(factors)| factors),
        }
    }
}

impl GasArgs {
    /// The gas of these flags.
    pub(in crate::cli) fn new(
        model: Option<Model>,
        conduction: ConductionArgs,
        molecules: Option<Scattering>,
    ) -> Self {
        Self {
            model,
            conduction,
            molecules,
            rotation: None,
        }
    }

    /// The gas in full. `usual` are the molecules where the flags say none; `relaxes` says whether it is one of a model.
    pub(in crate::cli) fn resolved(
        &self,
        si: &SiArgs,
        usual: Scattering,
        relaxes: bool,
    ) -> Result<Self> {
        let rotates = si.reference.gas.filter(|gas| gas.rotation().is_some());
        if let (Some(gas), false) = (rotates, relaxes) {
            return Err(Error::invalid(
                "--gas",
                format!("{gas:?}").to_lowercase(),
                "a gas of single atoms: the collision integral has no molecules that rotate",
            ));
        }
        let model = self.model.unwrap_or(match rotates {
            Some(_) => Model::Polyatomic,
            None => Model::Bgk,
        });
        if let (Some(prandtl), Model::Bgk) = (self.conduction.prandtl, model) {
            return Err(Error::invalid(
                "--prandtl",
                prandtl,
                "--model shakhov: the Prandtl number of BGK is 1",
            ));
        }
        let species = if relaxes { si.reference.gas } else { None };
        let given = self.conduction.rotation(species, si.reference.temperature);
        let rotation = given.rotation(model)?;
        let mut full = Self {
            model: Some(model),
            molecules: Some(named_shortest(
                self.molecules.or(si.molecules()).unwrap_or(usual),
            )),
            rotation,
            ..self.clone()
        };
        if let Some(rotation) = &rotation {
            rotation.check()?;
            full.conduction.internal_dof = Some(rotation.freedom);
            full.conduction.z_rot = Some(rotation.collisions);
            full.conduction.prandtl = (rotation.eucken.is_none()).then_some(rotation.prandtl);
        }
        full.gas().validate()?;
        Ok(full)
    }

    /// Takes the model of another gas where none is given.
    pub(in crate::cli) fn take_model(&mut self, other: &Self) {
        self.model = self.model.or(other.model);
    }

    /// The relaxation model.
    pub(in crate::cli) fn model(&self) -> Model {
        self.model.unwrap_or_default()
    }

    /// The Prandtl number of a gas in full, as its record has it.
    pub(in crate::cli) fn recorded_prandtl(&self) -> Option<f64> {
        match self.rotation {
            Some(_) => self.conduction.prandtl,
            None => Some(self.gas().prandtl),
        }
    }

    /// Refuses molecules where the gas is at its reference temperature everywhere.
    pub(in crate::cli) fn refuse_molecules_of_linear(&self) -> Result<()> {
        match self.molecules {
            None => Ok(()),
            Some(_) => Err(Error::invalid(
                "--molecules",
                "given with --linear",
                "none: it has no effect on a gas at its reference temperature everywhere",
            )),
        }
    }

    /// The model as titles call it.
    pub(in crate::cli) fn name(&self) -> &'static str {
        self.model().written()
    }

    /// The molecules of a gas in full.
    pub(in crate::cli) fn scattering(&self) -> Scattering {
        self.molecules.unwrap_or(MODEL_MOLECULES)
    }

    /// Functions of a velocity in a space that is reduced or not.
    pub(in crate::cli) fn functions(&self, reduced: bool) -> usize {
        match (reduced, self.rotation) {
            (true, Some(_)) => 3,
            (true, None) => 2,
            (false, _) => 1,
        }
    }

    /// The library's gas.
    pub(in crate::cli) fn gas(&self) -> Gas {
        Gas {
            model: self.model(),
            prandtl: match self.rotation {
                Some(_) => Gas::default().prandtl,
                None => self.conduction.prandtl.unwrap_or(Gas::default().prandtl),
            },
            omega: exponent(self.scattering()),
            frequency: 1.0,
            rotation: self.rotation,
        }
    }
}

/// Molecules of isotropic scattering under their shortest name.
fn named_shortest(molecules: Scattering) -> Scattering {
    match exponent(molecules) {
        _ if molecules.alpha() != 1.0 => molecules,
        0.5 => Scattering::HardSphere,
        1.0 => Scattering::Maxwell,
        omega => Scattering::Vhs { omega },
    }
}

/// The reference state of a case in SI units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct ReferenceArgs {
    /// Gas, for a case in SI units; it also sets the exponent of the viscosity
    #[arg(long, value_parser = named::<Species>(&Species::NAMES))]
    pub(in crate::cli) gas: Option<Species>,
    /// With --gas: pressure in Pa
    #[arg(long, value_name = "PA", value_parser = positive)]
    pub(in crate::cli) pressure: Option<f64>,
    /// With --gas: temperature in K
    #[arg(long, value_name = "K", value_parser = positive)]
    pub(in crate::cli) temperature: Option<f64>,
}

/// A case in SI units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct SiArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(in crate::cli) reference: ReferenceArgs,
    /// With --gas: size of the domain in m
    #[arg(long, value_name = "M", value_parser = positive)]
    size: Option<f64>,
}

impl SiArgs {
    /// A case without a size.
    pub(in crate::cli) fn of(reference: ReferenceArgs) -> Self {
        Self {
            reference,
            size: None,
        }
    }

    /// Refuses a part of the flags; a domain that is not `sized` by them may go without `--size`.
    pub(in crate::cli) fn check(&self, sized: bool) -> Result<()> {
        let flags = [
            ("--gas", self.reference.gas.is_some()),
            ("--pressure", self.reference.pressure.is_some()),
            ("--temperature", self.reference.temperature.is_some()),
            ("--size", self.size.is_some()),
        ];
        let needed = &flags[..if sized { 4 } else { 3 }];
        let missing: Vec<&str> = needed.iter().filter(|f| !f.1).map(|f| f.0).collect();
        if missing.is_empty() || flags.iter().all(|flag| !flag.1) {
            return Ok(());
        }
        let list = |names: &[&str]| match names {
            [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
            names => names.concat(),
        };
        let all: Vec<&str> = needed.iter().map(|flag| flag.0).collect();
        Err(Error::invalid(
            "case in SI units",
            match &missing[..] {
                [one] => format!("{one} is missing"),
                more => format!("{} are missing", more.join(" and ")),
            },
            list(&all),
        ))
    }

    /// The warning of a gas that is outside of the temperatures at which its molecules rotate as the model has it.
    pub(in crate::cli) fn beyond_rotation(&self, cells: &[Moments]) -> Option<String> {
        let (gas, kelvin) = self.reference.gas.zip(self.reference.temperature)?;
        let range = cells
            .iter()
            .fold([f64::INFINITY, 0.0_f64], |[low, high], m| {
                [low.min(m.temperature), high.max(m.temperature)]
            });
        rotation::beyond(gas, range.map(|t| kelvin * t))
    }

    /// The units, if the case is in SI units.
    pub(in crate::cli) fn units(&self) -> Result<Option<Units>> {
        match (
            self.reference.gas,
            self.reference.pressure,
            self.reference.temperature,
        ) {
            (Some(species), Some(pressure), Some(temperature)) => {
                Units::new(species, pressure, temperature).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The size of the domain in units of l0, if it is given.
    pub(in crate::cli) fn length(&self) -> Result<Option<f64>> {
        let units = self.units()?;
        Ok(self
            .size
            .zip(units)
            .map(|(size, units)| size / units.length_m))
    }

    /// Variable hard spheres with the exponent of the viscosity of the gas, if it is given.
    fn molecules(&self) -> Option<Scattering> {
        self.reference
            .gas
            .map(|gas| Scattering::Vhs { omega: gas.omega() })
    }
}

/// The rarefaction parameter of a Knudsen number: the mean free path of Maxwell's definition is (sqrt(pi)/2) l0.
fn of_knudsen(knudsen: f64) -> f64 {
    0.5 * std::f64::consts::PI.sqrt() / knudsen
}

/// The rarefaction parameter by `--delta`, `--kn` or the size in units of l0, if one is given. Positive ones are in the range of the arithmetic.
pub(in crate::cli) fn rarefaction(
    delta: Option<f64>,
    knudsen: Option<f64>,
    size: Option<f64>,
) -> Result<Option<f64>> {
    let Some(found) = delta.or(knudsen.map(of_knudsen)).or(size) else {
        return Ok(None);
    };
    if found <= 0.0 || (1e-100..=1e12).contains(&found) {
        return Ok(Some(found));
    }
    let (field, value) = knudsen.map_or(("delta", found), |knudsen| ("--kn", knudsen));
    let expected = format!(
        "a rarefaction {}of 1e-100 to 1e12, the range of the arithmetic",
        if knudsen.is_some() {
            "delta = (sqrt(pi)/2)/KN "
        } else {
            ""
        }
    );
    Err(Error::invalid(field, format!("{value:e}"), expected))
}

/// How a flow goes from cell to cell: an interpolation of the shift in time, or the closure of the cells of a steady flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum Interpolation {
    Upwind,
    VanLeer,
    Diamond,
}

impl Interpolation {
    /// The scheme of a run in time.
    pub(in crate::cli) fn scheme(self) -> Scheme {
        match self {
            Self::Upwind => Scheme::Upwind,
            Self::VanLeer | Self::Diamond => Scheme::VanLeer,
        }
    }

    /// The closure of a steady run.
    pub(in crate::cli) fn closure(self) -> Closure {
        match self {
            Self::Upwind => Closure::Upwind,
            Self::VanLeer | Self::Diamond => Closure::Diamond,
        }
    }
}
/// Flags of a run in time, or of the iteration to a steady state.
#[derive(Clone, Debug, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) struct TimeOptions {
    /// Take steps in time from the start on, as do --steps, --dt, --scheme upwind or vanleer, --no-correction, --save-every, --save-f and several --devices [default: the steady flow]
    #[arg(long, conflicts_with = "steady")]
    pub(in crate::cli) in_time: bool,
    /// Interpolation of the shift: first-order upwind as in the paper, or second order with van Leer's slopes; a steady flow has upwind or diamond differences
    /// [default: diamond, or vanleer in time]
    #[arg(long, value_parser = named::<Interpolation>(&["upwind", "vanleer", "diamond"]))]
    scheme: Option<Interpolation>,
    /// Sample Maxwellians as in the continuum, without exact moments on the velocity nodes
    #[arg(long)]
    pub(in crate::cli) no_correction: bool,
    /// Time step in units of 1/nu0 [default: what is accurate]
    #[arg(long, value_name = "D", value_parser = positive)]
    pub(in crate::cli) dt: Option<f64>,
    /// Stop after so many steps, or iterations with --steady
    #[arg(long, value_name = "N", value_parser = count)]
    pub(in crate::cli) steps: Option<u64>,
    /// Stop when the fields change by less than this share of themselves in a unit of time [default: 1e-6, or 2e-5 for shocks by the collision integral, if there are no --steps; of --steady 1e-9 in f64, 1e-6 by the collision integral, 1e-5 in f32]
    #[arg(long, value_name = "R", value_parser = positive)]
    pub(in crate::cli) until_residual: Option<f64>,
    /// Write checkpoint.rarefy every N steps, or iterations with --steady, and at the end
    #[arg(long, value_name = "N", value_parser = count)]
    #[serde(default, deserialize_with = "at_least_one")]
    pub(in crate::cli) checkpoint_every: Option<u64>,
    /// Write the fields every N steps and at the end, as series/fields-STEP.vti with fields.pvd for ParaView
    #[arg(long, value_name = "N", value_parser = count)]
    #[serde(default, deserialize_with = "at_least_one")]
    pub(in crate::cli) save_every: Option<u64>,
    /// Write the distribution of these cells too, counted from 0, as 10,20 of a shock or 3x5,3x6 of a cavity: series/f-STEP.npy, at the end alone without --save-every
    #[arg(long, value_name = "CELLS")]
    pub(in crate::cli) save_f: Option<Cells>,
    /// Go on from a checkpoint, to the same bits; only the end, the devices and the outputs may be given anew. With the run.json of an interrupted sweep, and no further options, run the cases that are left
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(in crate::cli) resume: Option<PathBuf>,
}

impl FlowArgs {
    /// Whether the steady flow alone is solved for: where it is `asked` for, and where no flag is of steps in time.
    pub(in crate::cli) fn is_steady(&self, asked: bool) -> bool {
        let devices = self.common.devices;
        let several = devices.is_some_and(|devices| devices != Devices::Number(1));
        asked || !(self.time_options.asks_for_time() || several || ranks::are_several())
    }
}

impl TimeOptions {
    /// Whether a flag is of steps in time.
    fn asks_for_time(&self) -> bool {
        let scheme = self
            .scheme
            .filter(|scheme| *scheme != Interpolation::Diamond);
        self.in_time
            || self.no_correction
            || self.dt.is_some()
            || self.steps.is_some()
            || self.save_every.is_some()
            || self.save_f.is_some()
            || scheme.is_some()
    }

    /// In full: `residual` is where a run ends that the flags give no end, and an iteration to the steady state in any case.
    pub(in crate::cli) fn resolved(&self, steady: bool, residual: f64) -> Result<Self> {
        let scheme = match (self.scheme, steady) {
            (Some(Interpolation::VanLeer), true) => {
                return Err(Error::invalid(
                    "--scheme",
                    "vanleer of a steady flow",
                    "diamond, the default, or upwind; vanleer interpolates the shift of steps in time",
                ));
            }
            (Some(Interpolation::Diamond), false) => {
                return Err(Error::invalid(
                    "--scheme",
                    "diamond in time",
                    "vanleer, the default, or upwind in time",
                ));
            }
            (Some(scheme), _) => scheme,
            (None, true) => Interpolation::Diamond,
            (None, false) => Interpolation::VanLeer,
        };
        let usual = (steady || self.steps.is_none()).then_some(residual);
        Ok(Self {
            scheme: Some(scheme),
            until_residual: self.until_residual.or(usual),
            ..self.clone()
        })
    }

    /// The interpolation of a run in full.
    pub(in crate::cli) fn interpolation(&self) -> Interpolation {
        self.scheme.unwrap_or(Interpolation::VanLeer)
    }

    /// Sets the number of steps so that they take the time that those of `other` take.
    pub(in crate::cli) fn same_time(&mut self, other: &Self) {
        if let (Some(dt), Some(before), Some(steps)) = (self.dt, other.dt, other.steps) {
            self.steps = Some(((steps as f64 * before / dt).round() as u64).max(1));
        }
    }

    /// Takes over what the flags of a resumed run say anew.
    pub(super) fn renew(&mut self, args: &Self) {
        if args.steps.is_some() || args.until_residual.is_some() {
            (self.steps, self.until_residual) = (args.steps, args.until_residual);
        }
        self.checkpoint_every = args.checkpoint_every.or(self.checkpoint_every);
        self.save_every = args.save_every.or(self.save_every);
        self.save_f = args.save_f.clone().or(self.save_f.take());
    }
}

/// Numbers of velocity nodes along the axes, as `32` or `32x28x28`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Counts(pub(in crate::cli) Vec<usize>);

impl Counts {
    /// As titles have it.
    pub(in crate::cli) fn in_title(&self) -> String {
        self.to_string().replace('x', " × ")
    }
}

kept_as_text!(Counts);

impl FromStr for Counts {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let counts: Option<Vec<usize>> = text
            .split('x')
            .map(|part| part.parse().ok().filter(|n| (2..=1024).contains(n)))
            .collect();
        counts
            .filter(|counts| counts.len() <= 3)
            .map(Self)
            .ok_or("one to three numbers from 2 to 1024 are needed, such as 32 or 32x28x28")
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&parts.join("x"))
    }
}
