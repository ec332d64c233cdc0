//! Shared by the subcommands that solve the BGK equation in time: flags, the loop over the steps, checkpoints.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::checkpoint::{self, Content};
use super::failure::Failure;
use super::options::Common;
use super::output::{self, Transaction};
use super::progress::Progress;
use super::report::Report;
use super::resume::{self, Pace};
use super::values::{count, exponent, finite, molecules, named, positive};
use crate::bgk::steady::Closure;
use crate::bgk::{
    Boundary, Checkpoint, Gas, Looked, Model, Problem, Scheme, Simulation, SimulationConfig,
    Species, State, Units,
};
use crate::collision::Scattering;
use crate::error::{Error, Result};

/// Steps between two evaluations of the residual.
const LOOK: u64 = 50;
/// Default residual at which a run ends.
const RESIDUAL: f64 = 1e-6;
/// Steps after which a run ends whose residual does not reach the goal.
const MOST_STEPS: u64 = 1_000_000;

/// The gas, by flags and in records.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(super) struct GasArgs {
    /// Relaxation model
    #[arg(long, default_value = "bgk", value_parser = named::<Model>(&["bgk", "shakhov"]))]
    pub(super) model: Model,
    /// Prandtl number of the Shakhov model [default: 2/3]
    #[arg(long, value_name = "PR", value_parser = positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prandtl: Option<f64>,
    /// Molecules: hard-sphere, maxwell, or vhs:OMEGA; the viscosity grows as T^0.5, T^1 or T^OMEGA [default: vhs:0.74, or those of --gas]
    #[arg(long, value_name = "MOLECULES", value_parser = molecules, conflicts_with = "omega")]
    #[serde(skip)]
    molecules: Option<Scattering>,
    /// Exponent of the viscosity, mu ~ T^OMEGA
    #[arg(long, hide = true, value_parser = finite)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) omega: Option<f64>,
}

impl GasArgs {
    /// The exponent of the viscosity, if the flags say one.
    pub(super) fn exponent(&self) -> Option<f64> {
        self.omega.or(self.molecules.map(exponent))
    }
}

/// A case in SI units, by flags and in records; all of it is there, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct DimensionalArgs {
    /// Gas, for a case in SI units; it also sets the exponent of the viscosity
    #[arg(long, value_parser = named::<Species>(&["helium", "neon", "argon", "krypton", "xenon"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gas: Option<Species>,
    /// With --gas: pressure in Pa
    #[arg(long, value_name = "PA", value_parser = positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pressure: Option<f64>,
    /// With --gas: temperature in K
    #[arg(long, value_name = "K", value_parser = positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    /// With --gas: size of the domain in m
    #[arg(long, value_name = "M", value_parser = positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<f64>,
}

/// The same in a record.
pub(super) type SiParameters = DimensionalArgs;

impl DimensionalArgs {
    /// The case of the flags: all four, or none of them.
    pub(super) fn of(args: &Self) -> Result<Self> {
        let given = [
            ("--gas", args.gas.is_some()),
            ("--pressure", args.pressure.is_some()),
            ("--temperature", args.temperature.is_some()),
            ("--size", args.size.is_some()),
        ];
        let missing: Vec<&str> = given
            .iter()
            .filter(|(_, there)| !there)
            .map(|(flag, _)| *flag)
            .collect();
        if (1..given.len()).contains(&missing.len()) {
            return Err(Error::input(format!(
                "a case in SI units needs --gas, --pressure, --temperature and --size; {} missing",
                match &missing[..] {
                    [one] => format!("{one} is"),
                    more => format!("{} are", more.join(" and ")),
                }
            )));
        }
        Ok(*args)
    }

    /// The units, if the case is in SI units.
    pub(super) fn units(&self) -> Result<Option<Units>> {
        match (self.gas, self.pressure, self.temperature) {
            (Some(species), Some(pressure), Some(temperature)) => {
                Units::new(species, pressure, temperature).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The size of the domain in units of l0, and the exponent of the viscosity, if the case is in SI units.
    pub(super) fn resolve(&self) -> Result<Option<(f64, f64)>> {
        Ok(match (self.units()?, self.size, self.gas) {
            (Some(units), Some(size), Some(species)) => {
                Some((size / units.length_m, species.omega()))
            }
            _ => None,
        })
    }
}

/// The gas by the names of the flags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct GasParameters {
    pub(super) model: Model,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prandtl: Option<f64>,
    pub(super) omega: f64,
}

impl GasParameters {
    /// The gas of the flags; `omega` is the default exponent.
    pub(super) fn of(args: &GasArgs, omega: f64) -> Result<Self> {
        if args.prandtl.is_some() && args.model == Model::Bgk {
            return Err(Error::input(
                "--prandtl belongs to --model shakhov; the Prandtl number of BGK is 1",
            ));
        }
        let parameters = Self {
            model: args.model,
            prandtl: args.prandtl,
            omega: args.exponent().unwrap_or(omega),
        };
        parameters.gas().validate()?;
        Ok(parameters)
    }

    /// Name of the model in titles.
    pub(super) fn name(&self) -> &'static str {
        model_name(self.model)
    }

    /// The library's gas.
    pub(super) fn gas(&self) -> Gas {
        Gas {
            model: self.model,
            prandtl: self.prandtl.unwrap_or(2.0 / 3.0),
            omega: self.omega,
            frequency: 1.0,
        }
    }
}

/// The rarefaction parameter of a Knudsen number: the mean free path of Maxwell's definition is (sqrt(pi)/2) l0.
pub(super) fn rarefaction(knudsen: f64) -> f64 {
    0.5 * std::f64::consts::PI.sqrt() / knudsen
}

/// Name of a model in titles.
pub(super) fn model_name(model: Model) -> &'static str {
    match model {
        Model::Bgk => "BGK",
        Model::Shakhov => "Shakhov",
    }
}

/// Default exponent of the viscosity: argon's, as in the paper.
pub(super) const OMEGA: f64 = 0.74;

/// How a flow goes from cell to cell: an interpolation of the shift in time, or the closure of the cells of a steady flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Interpolation {
    Upwind,
    VanLeer,
    Diamond,
}

impl Interpolation {
    /// The scheme of a run in time.
    pub(super) fn scheme(self) -> Scheme {
        match self {
            Self::Upwind => Scheme::Upwind,
            Self::VanLeer | Self::Diamond => Scheme::VanLeer,
        }
    }

    /// The closure of a steady run. Checkpoints of earlier versions call diamond differences vanleer.
    pub(super) fn closure(self) -> Closure {
        match self {
            Self::Upwind => Closure::Upwind,
            Self::VanLeer | Self::Diamond => Closure::Diamond,
        }
    }
}

/// Flags of a run in time.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct MarchArgs {
    /// Interpolation of the shift: first-order upwind as in the paper, or second order with van Leer's slopes; a steady flow has upwind or diamond differences
    /// [default: vanleer, or diamond with --steady]
    #[arg(long, value_parser = named::<Interpolation>(&["upwind", "vanleer", "diamond"]))]
    pub(super) scheme: Option<Interpolation>,
    /// Sample Maxwellians as in the continuum, without exact moments on the velocity nodes
    #[arg(long)]
    pub(super) no_correction: bool,
    /// Populations lie in memory as --precision has them; records of earlier versions say so
    #[arg(long, value_name = "BITS", hide = true, value_parser = ["full"])]
    pub(super) storage: Option<String>,
    /// Time step in units of 1/nu0 [default: what is accurate]
    #[arg(long, value_name = "D", value_parser = positive)]
    pub(super) dt: Option<f64>,
    /// Stop after so many steps
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) steps: Option<u64>,
    /// Stop when the fields change by less than this share of themselves in a unit of time [default: 1e-6, if there are no --steps]
    #[arg(long, value_name = "R", value_parser = positive)]
    pub(super) until_residual: Option<f64>,
    /// Write checkpoint.rarefy every N steps and at the end
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) checkpoint_every: Option<u64>,
    /// Go on from a checkpoint, to the same bits; only the end and the outputs may be given anew
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,
}

impl MarchArgs {
    /// The scheme of a run in time, or of a steady one.
    pub(super) fn interpolation(&self, steady: bool) -> Result<Interpolation> {
        match (self.scheme, steady) {
            (Some(Interpolation::VanLeer), true) => Err(Error::input(
                "--scheme vanleer interpolates the shift of steps in time; with --steady there are diamond, the default, and upwind",
            )),
            (Some(Interpolation::Diamond), false) => Err(Error::input(
                "--scheme diamond needs --steady; in time there are vanleer, the default, and upwind",
            )),
            (Some(scheme), _) => Ok(scheme),
            (None, true) => Ok(Interpolation::Diamond),
            (None, false) => Ok(Interpolation::VanLeer),
        }
    }
}

/// Where a run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct End {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until_residual: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) checkpoint_every: Option<u64>,
}

impl End {
    pub(super) fn of(args: &MarchArgs) -> Self {
        Self {
            steps: args.steps,
            until_residual: args
                .until_residual
                .or(args.steps.is_none().then_some(RESIDUAL)),
            checkpoint_every: args.checkpoint_every,
        }
    }

    /// Takes over what the flags of a resumed run say anew.
    fn renew(&mut self, args: &MarchArgs) {
        if args.steps.is_some() || args.until_residual.is_some() {
            (self.steps, self.until_residual) = (args.steps, args.until_residual);
        }
        if args.checkpoint_every.is_some() {
            self.checkpoint_every = args.checkpoint_every;
        }
    }
}

/// Numbers of velocity nodes along the axes, as `32` or `32x28x28`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Counts(pub(super) Vec<usize>);

impl FromStr for Counts {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let counts: Option<Vec<usize>> = text
            .split('x')
            .map(|part| part.parse().ok().filter(|n| (2..=1024).contains(n)))
            .collect();
        counts
            .filter(|counts| counts.len() <= 3)
            .map(Self)
            .ok_or_else(|| {
                Error::input(
                    "one to three numbers from 2 to 1024 are needed, such as 32 or 32x28x28",
                )
            })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&parts.join("x"))
    }
}

impl TryFrom<String> for Counts {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Counts> for String {
    fn from(counts: Counts) -> Self {
        counts.to_string()
    }
}

/// Contents of a subcommand's checkpoint besides the populations.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept<P> {
    parameters: P,
    machine: String,
    step: u64,
}

/// A solver in time, as the loop over its steps sees it.
pub(super) trait Run: Sized {
    /// Steps taken.
    fn step(&self) -> u64;
    /// Time reached.
    fn time(&self) -> f64;
    /// The machine in words.
    fn machine(&self) -> String;
    /// Takes so many steps.
    fn advance(&mut self, steps: u64) -> Result<()>;
    /// How fast the fields change.
    fn residual(&mut self) -> Result<f64>;
    /// Steps within which the residual must halve; a run in which it does not has come as far as it can.
    fn patience(&self) -> Option<u64> {
        None
    }
    /// State for a continuation to the same bits.
    fn save(&mut self) -> Result<Saved>;
}

impl Run for Simulation {
    fn step(&self) -> u64 {
        self.steps_taken()
    }
    fn time(&self) -> f64 {
        self.time()
    }
    fn machine(&self) -> String {
        self.device()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        self.advance(steps)
    }
    fn residual(&mut self) -> Result<f64> {
        self.residual()
    }
    fn patience(&self) -> Option<u64> {
        patience(&self.config().problem, self.config().dt)
    }
    fn save(&mut self) -> Result<Saved> {
        let checkpoint = self.checkpoint()?;
        Ok(Saved {
            step: checkpoint.step,
            populations: checkpoint.populations,
            extra: checkpoint.extra,
            looked: checkpoint.looked,
        })
    }
}

/// Halvings of the slowest healthy residual without one of which a run has come as far as it can.
const HALVINGS: f64 = 5.0;
/// Fewest steps of patience: the first residuals vary.
const LEAST_PATIENCE: u64 = 2000;

/// Steps within which the residual of a healthy run halves, many times over; none where nothing bounds them.
///
/// Sound, or the slowest signal of the streams that come in, crosses the domain; shear diffuses across it between walls, which take up a
/// share of it only; and collisions take a time 1/nu.
fn patience(problem: &Problem, step: f64) -> Option<u64> {
    let space = &problem.space;
    let length = (0..space.dimensions())
        .map(|d| space.bounds(d)[1] - space.bounds(d)[0])
        .fold(0.0, f64::max);
    let slowest_of = |state: &State| {
        let sound = (5.0 / 6.0 * state.temperature).sqrt();
        let flow = state.velocity[0].hypot(state.velocity[1]);
        [flow - sound, flow, flow + sound]
            .map(f64::abs)
            .into_iter()
            .filter(|speed| *speed > 1e-3 * sound)
            .fold(f64::INFINITY, f64::min)
    };
    let (mut slowest, mut share, mut closed) = (f64::INFINITY, 1.0_f64, false);
    for d in 0..space.dimensions() {
        for face in problem.boundaries.along(d) {
            match face {
                Boundary::Inflow(state) => slowest = slowest.min(slowest_of(&state)),
                Boundary::Wall(wall) => {
                    closed = true;
                    share = share.min(wall.accommodation);
                }
                Boundary::Specular | Boundary::Periodic => closed = true,
            }
        }
    }
    let frequency = problem.gas.frequency;
    if closed {
        slowest = slowest.min(slowest_of(&State::REST));
    }
    let crossing = length / slowest / share;
    // The slowest mode of a viscosity T / (2 nu) falls as exp(-pi^2 T t / (2 nu L^2)).
    let diffusion = if closed {
        2.0 * std::f64::consts::LN_2 * frequency * (length / std::f64::consts::PI).powi(2)
    } else {
        0.0
    };
    let time = crossing + diffusion + 1.0 / frequency;
    let steps = HALVINGS * time / step;
    (steps < 1e15).then(|| (steps as u64).max(LEAST_PATIENCE))
}

/// The part of a run in a checkpoint.
pub(super) struct Saved {
    pub(super) step: u64,
    pub(super) populations: Vec<f64>,
    pub(super) extra: Vec<f64>,
    pub(super) looked: Option<Looked>,
}

/// Step, time and residual, each time that a run was looked at.
pub(super) type History = Vec<(u64, f64, f64)>;

/// A run that is about to begin or go on.
pub(super) struct Start<R> {
    pub(super) simulation: R,
    /// Its history.
    pub(super) history: History,
    pub(super) warning: Option<String>,
}

/// Parameters of a subcommand: all that its flags say, by their names.
pub(super) trait Parameters: Clone + Serialize + DeserializeOwned {
    /// Name of the subcommand.
    const COMMAND: &'static str;
    /// The solver of the case.
    type Run: Run;
    /// The end of the run.
    fn end(&mut self) -> &mut End;
    /// The run from its start.
    fn begin(&self) -> Result<Self::Run>;
    /// The run from where it was saved.
    fn resume(&self, saved: Saved) -> Result<Self::Run>;
}

/// Takes a simulation of the model equations up again.
pub(super) fn resume_simulation(config: SimulationConfig, saved: Saved) -> Result<Simulation> {
    Simulation::resume(Checkpoint {
        config,
        step: saved.step,
        populations: saved.populations,
        extra: saved.extra,
        looked: saved.looked,
    })
}

/// Starts a run afresh.
pub(super) fn fresh<P: Parameters>(parameters: &P) -> Result<Start<P::Run>> {
    let mut simulation = parameters.begin()?;
    // The first residual is reckoned from the start.
    simulation.residual()?;
    Ok(Start {
        simulation,
        history: Vec::new(),
        warning: None,
    })
}

/// Takes a run up again. `wanted` is what the flags of this call say; a flag on the command line that says otherwise than the checkpoint is refused.
pub(super) fn resumed<P: Parameters>(
    path: &Path,
    wanted: &P,
    march: &MarchArgs,
    given: &ArgMatches,
) -> Result<(P, Start<P::Run>)> {
    let (parameters, mut content) = reopened(path, wanted, march, given)?;
    let populations = content.take(path, "populations")?;
    let extra = content.arrays.remove("extra").unwrap_or_default();
    // Checkpoints of versions before this one hold neither.
    let history = content.arrays.remove("history").unwrap_or_default();
    let looked = content.arrays.remove("looked").unwrap_or_default();
    let mut simulation = parameters.resume(Saved {
        step: content.state.step,
        populations,
        extra,
        looked: looked_from(&looked),
    })?;
    if looked.is_empty() {
        simulation.residual()?;
    }
    let history = history
        .chunks_exact(3)
        .map(|row| (row[0] as u64, row[1], row[2]))
        .collect();
    let warning = content.elsewhere(&simulation.machine());
    let end = *parameters.clone().end();
    if let (Some(steps), None) = (end.steps, end.until_residual)
        && steps <= simulation.step()
    {
        let step = simulation.step();
        return Err(resume::past_the_end(path, step, steps, "--steps"));
    }
    Ok((
        parameters,
        Start {
            simulation,
            history,
            warning,
        },
    ))
}

/// A look at the fields as one array: the step, then field after field.
fn looked_as_array(looked: &Looked) -> Vec<f64> {
    let fields = looked.fields.iter().flatten();
    std::iter::once(looked.step as f64)
        .chain(fields.copied())
        .collect()
}

fn looked_from(array: &[f64]) -> Option<Looked> {
    let (step, fields) = array.split_first()?;
    let cells = fields.len() / 4;
    Some(Looked {
        step: *step as u64,
        fields: [0, 1, 2, 3].map(|k| fields[k * cells..(k + 1) * cells].to_vec()),
    })
}

/// A checkpoint, and the parameters of its run with the end that the flags of this call give it.
pub(super) fn reopened<P: Parameters>(
    path: &Path,
    wanted: &P,
    march: &MarchArgs,
    given: &ArgMatches,
) -> Result<(P, Reopened<P>)> {
    let content = Content::<Kept<P>>::read(path, P::COMMAND)?;
    let mut parameters = content.state.parameters.clone();
    let until_residual = parameters.end().until_residual;
    resume::refuse_contradictions(&parameters, wanted, &FREE, given)?;
    parameters.end().renew(march);
    let Content {
        version,
        state,
        arrays,
        ..
    } = content;
    let reopened = Reopened {
        until_residual,
        version,
        state,
        arrays,
    };
    Ok((parameters, reopened))
}

/// The content of a checkpoint.
pub(super) struct Reopened<P> {
    /// The residual to which the run was to go.
    pub(super) until_residual: Option<f64>,
    version: String,
    state: Kept<P>,
    arrays: BTreeMap<String, Vec<f64>>,
}

impl<P> Reopened<P> {
    /// Takes an array out; an error if the checkpoint has none of this name.
    pub(super) fn take(&mut self, path: &Path, name: &str) -> Result<Vec<f64>> {
        self.arrays
            .remove(name)
            .ok_or_else(|| Error::file(path, format!("the checkpoint holds no array '{name}'")))
    }

    /// A warning if the checkpoint was written by another program or on another machine.
    pub(super) fn elsewhere(&self, here: &str) -> Option<String> {
        resume::elsewhere(&self.version, &self.state.machine, here)
    }
}

/// The parameters of the run that a checkpoint is of.
pub(super) fn parameters_of<P: Parameters>(path: &Path) -> Result<P> {
    Ok(Content::<Kept<P>>::read(path, P::COMMAND)?.state.parameters)
}

/// Flags that a resumed run may give anew.
const FREE: [&str; 3] = ["steps", "until-residual", "checkpoint-every"];

/// How a run went.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Course {
    /// Steps taken altogether.
    pub(super) steps: u64,
    /// Time reached.
    pub(super) time: f64,
    /// The last residual.
    pub(super) residual: f64,
    /// Whether the residual that was asked for is reached, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) converged: Option<bool>,
    /// Step, time and residual, each time that the run was looked at.
    #[serde(skip)]
    pub(super) history: History,
    /// Time spent on the steps of this call, and their number.
    #[serde(skip)]
    pub(super) spent: (Duration, u64),
}

/// The history of a run as a table, with seconds where the case was in SI units.
pub(super) fn history_table(history: &History, units: Option<&Units>) -> Result<Vec<u8>> {
    match units {
        None => output::table(&["step", "time", "residual"], history),
        Some(units) => {
            let rows = history.iter();
            let rows =
                rows.map(|&(step, time, residual)| (step, time, residual, time * units.time_s));
            output::table(&["step", "time", "residual", "time_s"], rows)
        }
    }
}

/// How a run in time ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Status {
    /// The steps that were asked for are taken.
    Done,
    /// The residual that was asked for is reached.
    Converged,
    /// The residual no longer falls.
    Stalled,
    /// The steps ended before.
    Unfinished,
}

/// The folder of a run, which is claimed for it.
pub(super) fn folder(
    files: &mut Transaction,
    common: &Common,
    march: &MarchArgs,
    name: &str,
) -> std::result::Result<Option<PathBuf>, Failure> {
    let resume = march.resume.as_deref();
    resume::folder((files, name), common, resume, march.checkpoint_every, true)
}

/// Writes a checkpoint into the folder of the run.
pub(super) fn save<P: Parameters>(
    parameters: &P,
    machine: String,
    step: u64,
    arrays: BTreeMap<String, Vec<f64>>,
    files: &mut Transaction,
    folder: &Path,
) -> Result<PathBuf> {
    let path = folder.join(checkpoint::FILE);
    let kept = Kept {
        parameters: parameters.clone(),
        machine,
        step,
    };
    let bytes = Content::new(P::COMMAND, kept, arrays).encode();
    files.write_now(&path, &bytes).map(|()| path)
}

/// The last residual that was at most half of the one before it in this row, and when.
struct Fall {
    step: u64,
    residual: f64,
}

impl Fall {
    fn from(step: u64) -> Self {
        Self {
            step,
            residual: f64::INFINITY,
        }
    }

    /// Notes a residual; steps since one was half of those before.
    fn steps_without_half(&mut self, step: u64, residual: f64) -> u64 {
        if residual <= 0.5 * self.residual {
            *self = Self { step, residual };
        }
        step - self.step
    }
}

/// A run on its way.
struct March<'a, P: Parameters> {
    parameters: &'a P,
    end: End,
    last_step: u64,
    simulation: &'a mut P::Run,
    history: History,
    files: &'a mut Transaction,
    folder: Option<&'a Path>,
    residual: f64,
    fall: Fall,
    /// Whether the residual no longer falls.
    level: bool,
}

impl<P: Parameters> March<'_, P> {
    fn save(&mut self) -> Result<Option<PathBuf>> {
        let Some(folder) = self.folder else {
            return Ok(None);
        };
        let saved = self.simulation.save()?;
        let rows = self.history.iter();
        let rows = rows.flat_map(|&(step, time, residual)| [step as f64, time, residual]);
        let mut arrays = BTreeMap::from([
            ("populations".to_owned(), saved.populations),
            ("extra".to_owned(), saved.extra),
            ("history".to_owned(), rows.collect()),
        ]);
        if let Some(looked) = &saved.looked {
            arrays.insert("looked".into(), looked_as_array(looked));
        }
        let machine = self.simulation.machine();
        let (parameters, step) = (self.parameters, saved.step);
        save(parameters, machine, step, arrays, self.files, folder).map(Some)
    }

    fn is_reached(&self) -> bool {
        let until = self.end.until_residual;
        until.is_some_and(|until| self.residual <= until)
    }

    fn is_over(&self) -> bool {
        self.simulation.step() >= self.last_step || self.is_reached() || self.level
    }

    /// Steps to take at once: to the next look, checkpoint or end, or for a second.
    fn part(&self, pace: &Pace) -> u64 {
        // Residuals are looked at in multiples of their distance, whatever the run was interrupted at.
        let now = self.simulation.step();
        let next = self.last_step.min((now / LOOK + 1) * LOOK);
        let next = next.min(now.saturating_add(pace.steps()));
        let every = self.end.checkpoint_every;
        every.map_or(next, |every| next.min((now / every + 1) * every)) - now
    }

    /// Notes the residual.
    fn look(&mut self) -> Result<()> {
        let Self { simulation, .. } = self;
        self.residual = simulation.residual()?;
        let (step, time) = (simulation.step(), simulation.time());
        self.history.push((step, time, self.residual));
        let still = self.fall.steps_without_half(step, self.residual);
        let patience = simulation.patience();
        self.level =
            self.end.until_residual.is_some() && patience.is_some_and(|patience| still >= patience);
        Ok(())
    }

    fn show(&self, progress: &mut Progress) {
        let (step, time) = (self.simulation.step(), self.simulation.time());
        let done = match (
            self.end.steps,
            self.end.until_residual,
            self.history.first(),
        ) {
            (Some(steps), _, _) => step as f64 / steps as f64,
            // Residuals fall about exponentially.
            (None, Some(until), Some(&(_, _, first))) => {
                (self.residual / first).ln() / (until / first).ln()
            }
            _ => 0.0,
        };
        progress.update(done, || match self.history.last() {
            Some((.., residual)) => format!("step {step}, t = {time:.3}, residual {residual:.2e}"),
            None => format!("step {step}, t = {time:.3}"),
        });
    }

    /// Reports how the run ended.
    fn judge(&self, report: &mut Report) {
        let status = match (self.end.until_residual, self.is_reached(), self.level) {
            (None, ..) => Status::Done,
            (Some(_), true, _) => Status::Converged,
            (Some(_), false, true) => Status::Stalled,
            (Some(_), false, false) => Status::Unfinished,
        };
        report.set("status", status);
        let (steps, residual) = (self.simulation.step(), self.residual);
        let until = self.end.until_residual.unwrap_or_default();
        match status {
            Status::Done | Status::Converged => {}
            Status::Stalled => report.not_converged(format!(
                "after {steps} steps the residual no longer falls: it is {residual:.2e}, and {until:e} was asked for"
            )),
            Status::Unfinished => report.not_converged(format!(
                "after {steps} steps the residual is {residual:.2e}, and {until:e} was asked for; more --steps may do"
            )),
        }
    }
}

/// Takes the steps of a run, with progress, checkpoints, and a stop at Ctrl-C. `history` is what it went through before.
pub(super) fn drive<P: Parameters>(
    parameters: &P,
    simulation: &mut P::Run,
    history: History,
    files: &mut Transaction,
    folder: Option<&Path>,
    common: &Common,
    report: &mut Report,
) -> std::result::Result<Course, Failure> {
    let end = *parameters.clone().end();
    let interrupted = resume::interruption();
    let first_step = simulation.step();
    let mut fall = Fall::from(0);
    for &(step, _, residual) in &history {
        fall.steps_without_half(step, residual);
    }
    let mut march = March {
        parameters,
        end,
        last_step: end.steps.unwrap_or(MOST_STEPS).max(first_step),
        simulation,
        residual: history.last().map_or(f64::INFINITY, |row| row.2),
        history,
        files,
        folder,
        fall,
        level: false,
    };
    let mut progress = Progress::new(P::COMMAND, common.quiet);
    let started = Instant::now();
    let mut kept = false;
    let mut pace = Pace::new();
    while !march.is_over() {
        if interrupted.load(Ordering::SeqCst) {
            progress.finish();
            let after = format!("{} steps", march.simulation.step());
            return Err(resume::stopped(P::COMMAND, &after, march.save()));
        }
        let part = march.part(&pace);
        let advancing = Instant::now();
        let advanced = march.simulation.advance(part);
        advanced.map_err(|error| report.broken_off(error))?;
        pace.learn(part, advancing.elapsed());
        let now = march.simulation.step();
        // A run resumed between two evaluations does not evaluate there, so it equals an uninterrupted one.
        let (between, last) = (!now.is_multiple_of(LOOK), now == march.last_step);
        if between && last && end.checkpoint_every.is_some() {
            report.saved_at_the_end(march.save())?;
            kept = true;
        }
        if !between || last {
            march.look().map_err(|error| report.broken_off(error))?;
        }
        let every = end.checkpoint_every;
        if !march.is_over() && every.is_some_and(|every| now.is_multiple_of(every)) {
            report.saved(march.save())?;
        }
        march.show(&mut progress);
    }
    progress.finish();
    let steps = march.simulation.step();
    let spent = (started.elapsed(), steps - first_step);
    report.time("steps", spent.0);
    if spent.1 > 0 {
        report.time("step", spent.0.div_f64(spent.1 as f64));
    }
    if end.checkpoint_every.is_some() && !kept {
        report.saved_at_the_end(march.save())?;
    }
    march.judge(report);
    Ok(Course {
        steps,
        time: march.simulation.time(),
        residual: march.residual,
        converged: end.until_residual.map(|_| march.is_reached()),
        history: march.history,
        spent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residual_that_no_longer_halves_has_levelled_off() {
        let mut fall = Fall::from(50);
        assert_eq!(fall.steps_without_half(100, 1.0), 0);
        // It falls, but slowly, until it has halved.
        assert_eq!(fall.steps_without_half(150, 0.8), 50);
        assert_eq!(fall.steps_without_half(200, 0.6), 100);
        assert_eq!(fall.steps_without_half(250, 0.5), 0);
        // From here it is level, whatever its noise.
        for (step, residual) in [(300, 0.4), (350, 0.26), (400, 0.9), (450, 0.3)] {
            assert_eq!(fall.steps_without_half(step, residual), step - 250);
        }
        assert_eq!(fall.steps_without_half(500, 0.25), 0);
        // NaN is no fall.
        assert_eq!(fall.steps_without_half(550, f64::NAN), 50);
    }

    #[test]
    fn a_run_is_waited_for_as_long_as_signals_take() {
        let of = |mach: f64| {
            let shock = crate::bgk::Shock::new(mach).expect("a shock");
            patience(&shock.problem().expect("a problem"), 0.05).expect("steps")
        };
        // The weaker the wave, the slower the sound that runs against the stream behind it.
        assert!(of(1.1) > 3 * of(1.5) && of(1.5) > of(3.0));
        let cavity = |delta: f64, accommodation: f64| {
            let cavity = crate::bgk::Cavity {
                accommodation,
                ..crate::bgk::Cavity::new(delta, 10, &[12, 12]).expect("a cavity")
            };
            patience(&cavity.problem().expect("a problem"), 0.01)
        };
        let steps = |delta, accommodation| cavity(delta, accommodation).expect("steps");
        // In a dense gas shear diffuses: four times as long for twice the side.
        assert!(steps(200.0, 1.0) > 3 * steps(100.0, 1.0));
        assert!(steps(1.0, 0.1) > steps(1.0, 1.0));
        // Without friction at the walls nothing settles.
        assert_eq!(cavity(1.0, 0.0), None);
    }

    #[test]
    fn a_look_is_kept_as_an_array() {
        let looked = Looked {
            step: 37,
            fields: [
                vec![1.0, 2.0],
                vec![3.0, 4.0],
                vec![5.0, 6.0],
                vec![7.0, 8.0],
            ],
        };
        assert_eq!(looked_from(&looked_as_array(&looked)), Some(looked));
        assert_eq!(looked_from(&[]), None);
    }
}
