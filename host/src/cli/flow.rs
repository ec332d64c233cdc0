//! What the subcommands that solve the BGK equation in time share: flags, the loop over the steps, checkpoints.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::checkpoint::Content;
use super::common::{Common, Failure, count, finite, named, positive};
use super::output::Transaction;
use super::progress::Progress;
use super::report::Report;
use super::resume::{self, Pace};
use crate::bgk::{
    Checkpoint, Gas, Model, Scheme, Simulation, SimulationConfig, Species, Storage, Units,
};
use crate::error::{Error, Result};

/// Steps between two looks at the residual.
const LOOK: u64 = 50;
/// Residual to which a run goes that is told no end.
const RESIDUAL: f64 = 1e-6;
/// Steps after which a run to a residual that does not come gives up.
const MOST_STEPS: u64 = 1_000_000;

/// Flags of the gas.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct GasArgs {
    /// Relaxation model
    #[arg(long, default_value = "bgk", value_parser = named::<Model>(&["bgk", "shakhov"]))]
    pub(super) model: Model,
    /// Prandtl number of the Shakhov model [default: 2/3]
    #[arg(long, value_name = "PR", value_parser = positive)]
    pub(super) prandtl: Option<f64>,
    /// Exponent of the viscosity, mu ~ T^OMEGA [default: 0.74, or that of --gas]
    #[arg(long, value_parser = finite)]
    pub(super) omega: Option<f64>,
}

/// Flags of a case in SI units.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct DimensionalArgs {
    /// Gas, for a case in SI units; its viscosity also sets --omega
    #[arg(long, value_parser = named::<Species>(&["helium", "neon", "argon", "krypton", "xenon"]), requires_all = ["pressure", "temperature", "size"])]
    pub(super) gas: Option<Species>,
    /// With --gas: pressure in Pa
    #[arg(long, value_name = "PA", value_parser = positive, requires = "gas")]
    pub(super) pressure: Option<f64>,
    /// With --gas: temperature in K
    #[arg(long, value_name = "K", value_parser = positive, requires = "gas")]
    pub(super) temperature: Option<f64>,
    /// With --gas: size of the domain in m
    #[arg(long, value_name = "M", value_parser = positive, requires = "gas")]
    pub(super) size: Option<f64>,
}

impl DimensionalArgs {
    /// The units, the size of the domain in them, and the exponent of the viscosity, if the case is in SI units.
    pub(super) fn resolve(&self) -> Result<Option<(Units, f64, f64)>> {
        match (self.gas, self.pressure, self.temperature, self.size) {
            (Some(species), Some(pressure), Some(temperature), Some(size)) => {
                let units = Units::new(species, pressure, temperature)?;
                Ok(Some((units, size / units.length_m, species.omega())))
            }
            _ => Ok(None),
        }
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
    /// What the flags say; `omega` is the exponent where they do not.
    pub(super) fn of(args: &GasArgs, omega: f64) -> Result<Self> {
        if args.prandtl.is_some() && args.model == Model::Bgk {
            return Err(Error::input(
                "--prandtl belongs to --model shakhov; the Prandtl number of BGK is 1",
            ));
        }
        let parameters = Self {
            model: args.model,
            prandtl: args.prandtl,
            omega: args.omega.unwrap_or(omega),
        };
        parameters.gas().validate()?;
        Ok(parameters)
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

/// Exponent of the viscosity, unless told otherwise: argon's as the paper takes it.
pub(super) const OMEGA: f64 = 0.74;

/// Flags of a run in time.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct MarchArgs {
    /// Interpolation of the shift: first-order upwind as in the paper, or second order with van Leer's slopes
    #[arg(long, default_value = "vanleer", value_parser = named::<Scheme>(&["upwind", "vanleer"]))]
    pub(super) scheme: Scheme,
    /// Sample Maxwellians as in the continuum, without exact moments on the velocity nodes
    #[arg(long)]
    pub(super) no_correction: bool,
    /// Bits that a population takes in memory between two steps: those of --precision, or 16, as deviations from Maxwellians rounded at random (with
    /// --precision f32, not by the reference)
    #[arg(long, value_name = "BITS", default_value = "full", value_parser = named::<Storage>(&["full", "16"]))]
    pub(super) storage: Storage,
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

/// What a subcommand's checkpoint keeps besides the populations.
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
    /// What a later start to the same bits needs: populations, and what the backend keeps besides.
    fn save(&mut self) -> Result<(Vec<f64>, Vec<f64>)>;
}

impl Run for Simulation {
    fn step(&self) -> u64 {
        self.steps_taken()
    }
    fn time(&self) -> f64 {
        self.time()
    }
    fn machine(&self) -> String {
        self.machine()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        self.advance(steps)
    }
    fn residual(&mut self) -> Result<f64> {
        self.residual()
    }
    fn save(&mut self) -> Result<(Vec<f64>, Vec<f64>)> {
        let checkpoint = self.checkpoint()?;
        Ok((checkpoint.populations, checkpoint.extra))
    }
}

/// What a checkpoint keeps of a run.
pub(super) struct Saved {
    pub(super) step: u64,
    pub(super) populations: Vec<f64>,
    pub(super) extra: Vec<f64>,
}

/// A run that is about to begin or go on.
pub(super) struct Start<R> {
    pub(super) simulation: R,
    pub(super) warning: Option<String>,
}

/// Parameters of a subcommand: all that its flags say, by their names.
pub(super) trait Parameters: Clone + Serialize + DeserializeOwned {
    /// Name of the subcommand.
    const COMMAND: &'static str;
    /// What solves the case.
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
    })
}

/// Starts a run afresh.
pub(super) fn fresh<P: Parameters>(parameters: &P) -> Result<Start<P::Run>> {
    Ok(Start {
        simulation: parameters.begin()?,
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
    let simulation = parameters.resume(Saved {
        step: content.state.step,
        populations,
        extra,
    })?;
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
            warning,
        },
    ))
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
    pub(super) history: Vec<(u64, f64, f64)>,
    /// Time spent on the steps of this call, and their number.
    #[serde(skip)]
    pub(super) spent: (Duration, u64),
}

/// The folder of a run, which is checked for being writable.
pub(super) fn folder(
    files: &mut Transaction,
    common: &Common,
    march: &MarchArgs,
    name: &str,
) -> std::result::Result<Option<PathBuf>, Failure> {
    let otherwise = Some(PathBuf::from("rarefy-out").join(name));
    let resume = march.resume.as_deref();
    resume::folder(files, common, resume, march.checkpoint_every, otherwise)
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
    let path = folder.join(resume::FILE);
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

/// Takes the steps of a run, with progress, checkpoints, and a stop at Ctrl-C.
pub(super) fn drive<P: Parameters>(
    parameters: &P,
    simulation: &mut P::Run,
    files: &mut Transaction,
    folder: Option<&Path>,
    common: &Common,
    report: &mut Report,
) -> std::result::Result<Course, Failure> {
    let end = *parameters.clone().end();
    let interrupted = resume::interruption();
    let save = |files: &mut Transaction, simulation: &mut P::Run| -> Result<Option<PathBuf>> {
        let Some(folder) = folder else {
            return Ok(None);
        };
        let (populations, extra) = simulation.save()?;
        let arrays = BTreeMap::from([
            ("populations".to_owned(), populations),
            ("extra".to_owned(), extra),
        ]);
        let (machine, step) = (simulation.machine(), simulation.step());
        save(parameters, machine, step, arrays, files, folder).map(Some)
    };
    let first_step = simulation.step();
    let last_step = end.steps.unwrap_or(MOST_STEPS).max(first_step);
    let mut progress = Progress::new(P::COMMAND, common.quiet);
    let mut history: Vec<(u64, f64, f64)> = Vec::new();
    let mut residual = simulation.residual()?;
    let started = Instant::now();
    let reached = |residual: f64| end.until_residual.is_some_and(|until| residual <= until);
    let mut fall = Fall::from(first_step);
    let mut level = false;
    let mut pace = Pace::new();
    while simulation.step() < last_step && !reached(residual) && !level {
        if interrupted.load(Ordering::SeqCst) {
            progress.finish();
            let after = format!("{} steps", simulation.step());
            let saved = save(files, simulation);
            return Err(resume::stopped(P::COMMAND, &after, saved));
        }
        // Residuals are looked at in multiples of their distance, whatever the run was interrupted at.
        let now = simulation.step();
        let mut next = last_step.min((now / LOOK + 1) * LOOK);
        next = next.min(now.saturating_add(pace.steps()));
        if let Some(every) = end.checkpoint_every {
            next = next.min((now / every + 1) * every);
        }
        let advancing = Instant::now();
        let advanced = simulation.advance(next - now);
        advanced.map_err(|error| report.broken_off(error))?;
        pace.learn(next - now, advancing.elapsed());
        if simulation.step().is_multiple_of(LOOK) || simulation.step() == last_step {
            let found = simulation.residual();
            residual = found.map_err(|error| report.broken_off(error))?;
            history.push((simulation.step(), simulation.time(), residual));
            let still = fall.steps_without_half(simulation.step(), residual);
            level = end.until_residual.is_some()
                && simulation
                    .patience()
                    .is_some_and(|patience| still >= patience);
        }
        let now = simulation.step();
        let goes_on = now < last_step && !reached(residual) && !level;
        if goes_on
            && end
                .checkpoint_every
                .is_some_and(|every| now.is_multiple_of(every))
        {
            report.saved(save(files, simulation))?;
        }
        let done = match (end.steps, end.until_residual, history.first()) {
            (Some(steps), _, _) => simulation.step() as f64 / steps as f64,
            // Residuals fall about exponentially.
            (None, Some(until), Some(&(_, _, first))) => {
                (residual / first).ln() / (until / first).ln()
            }
            _ => 0.0,
        };
        progress.update(done, || {
            format!(
                "step {}, t = {:.3}, residual {residual:.2e}",
                simulation.step(),
                simulation.time()
            )
        });
    }
    progress.finish();
    let spent = (started.elapsed(), simulation.step() - first_step);
    report.time("steps", spent.0);
    if spent.1 > 0 {
        report.time("step", spent.0.div_f64(spent.1 as f64));
    }
    if end.checkpoint_every.is_some() {
        report.saved_at_the_end(save(files, simulation))?;
    }
    let converged = end.until_residual.map(|until| residual <= until);
    if level {
        report.warn(format!(
            "stopped after {} steps: the residual has levelled off at {residual:.2e}",
            simulation.step()
        ));
    } else if converged == Some(false) {
        report.warn(format!(
            "stopped after {} steps at the residual {residual:.2e}; {:e} was asked for",
            simulation.step(),
            end.until_residual.unwrap_or_default()
        ));
    }
    Ok(Course {
        steps: simulation.step(),
        time: simulation.time(),
        residual,
        converged,
        history,
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
        // What is no number is no fall.
        assert_eq!(fall.steps_without_half(550, f64::NAN), 50);
    }
}
