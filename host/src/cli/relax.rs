//! `rarefy relax`: homogeneous relaxation on a 3D velocity grid.

mod results;
pub(super) mod state;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::ArgMatches;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::checkpoint;
use super::distribution::{self, Init};
use super::failure::Failure;
use super::operator::{Operator, OperatorArgs};
use super::options::Common;
use super::output::Transaction;
use super::progress::Progress;
use super::report::Report;
use super::resume;
use super::values::{cells, count, finite, named, positive};
use crate::collision::{
    CorrectionStatus, Integrator, Relaxation, RelaxationConfig, Scattering, Until, VelocityGrid,
};
use crate::error::{Error, Result};
use state::State;

const EXAMPLES: &str = "\
Examples:
  rarefy relax                                  the paper's run, on the GPU if there is one
  rarefy relax --init bkw:0.7 --until 5         against an exact solution
  rarefy relax --init f.npy --vmax 6 --out run  from an array of f[ix][iy][iz]
  rarefy relax --resume run/checkpoint.rarefy   go on where --checkpoint-every or Ctrl-C left it";

/// Relax a distribution on a 3D velocity grid to equilibrium: df/dt = I(f, f)
///
/// Without options: the paper's two Maxwellians of hard spheres on 20^3 velocities, to equilibrium. Results go to --out, or to
/// rarefy-out/relax if neither --out nor --json is given. Ctrl-C saves a checkpoint.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RelaxArgs {
    /// Cells along an axis, 3 to 64 [default: 20, or as the file of --init]
    #[arg(long, value_name = "N1", value_parser = cells)]
    grid: Option<usize>,
    /// Upper bound of the velocity box [default: 5 thermal speeds above the beams]
    #[arg(long, value_name = "V", value_parser = finite)]
    vmax: Option<f64>,
    /// Lower bound of the velocity box [default: minus the upper]
    #[arg(long, value_name = "V", value_parser = finite)]
    vmin: Option<f64>,
    /// Molecules: hard-sphere, maxwell, or vhs:OMEGA with viscosity exponent OMEGA from 0.5 to 1 [default: hard-sphere; maxwell for bkw]
    #[arg(long)]
    model: Option<Scattering>,
    #[command(flatten)]
    operator: OperatorArgs,
    /// Initial state: two-maxwellians[:U], bkw:K0 with 0.6 <= K0 < 1, or a .npy file of f[ix][iy][iz]
    #[arg(long, default_value = "two-maxwellians")]
    init: Init,
    /// Time integrator
    #[arg(long, default_value = "ssprk2", value_parser = named::<Integrator>(&["euler", "ssprk2", "ssprk3"]))]
    integrator: Integrator,
    /// Time step [default: half of the largest stable one, chosen anew at each step]
    #[arg(long, value_name = "D", value_parser = positive)]
    dt: Option<f64>,
    /// Stop after so many steps
    #[arg(long, value_name = "N", conflicts_with = "until", value_parser = count)]
    steps: Option<u64>,
    /// Stop at this time, or at equilibrium[:FRACTION], when the sum of |I| has fallen to this fraction [default: equilibrium:0.001]
    #[arg(long, value_name = "T")]
    until: Option<Stop>,
    /// Write checkpoint.rarefy every N steps and at the end
    #[arg(long, value_name = "N", value_parser = count)]
    checkpoint_every: Option<u64>,
    /// Go on from a checkpoint, to the same bits; only the end and the outputs may be given anew
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// The value of `--until`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
enum Stop {
    Time(f64),
    Equilibrium(f64),
}

impl FromStr for Stop {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.strip_prefix("equilibrium") {
            Some("") => Ok(Self::Equilibrium(EQUILIBRIUM)),
            Some(rest) => match rest.strip_prefix(':').map(str::parse) {
                Some(Ok(x)) if x > 0.0 && x < 1.0 => Ok(Self::Equilibrium(x)),
                _ => Err(Error::input("equilibrium:FRACTION needs 0 < FRACTION < 1")),
            },
            None => match positive(text) {
                Ok(time) => Ok(Self::Time(time)),
                Err(_) => Err(Error::input(
                    "use a positive finite time, or equilibrium[:FRACTION]",
                )),
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

impl TryFrom<String> for Stop {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Stop> for String {
    fn from(stop: Stop) -> Self {
        stop.to_string()
    }
}

/// Where a relaxation counts as done: the sum of |I| has fallen to this fraction of its first value.
const EQUILIBRIUM: f64 = 1e-3;

/// A relaxation to equilibrium whose sum of |I| has not fallen for so many steps will not fall any further.
const PATIENCE: u64 = 500;

/// The run in full, by the names of the flags: as `--config`, `run.json` runs it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Parameters {
    grid: usize,
    #[serde(flatten)]
    operator: Operator,
    init: String,
    integrator: Integrator,
    #[serde(skip_serializing_if = "Option::is_none")]
    dt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Stop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_every: Option<u64>,
}

impl Parameters {
    /// What the flags say, with defaults where they say nothing, and the initial distribution.
    fn of(args: &RelaxArgs) -> Result<(Self, Vec<f64>)> {
        let init = &args.init;
        let read = |path: &Path| {
            let sizes = VelocityGrid::MIN_N..=VelocityGrid::MAX_N;
            distribution::read(path, sizes, args.operator.order, false)
        };
        let Some(vmax) = args.vmax.or(init.vmax()) else {
            // What is wrong with the file itself is told first.
            if let Init::File(path) = init {
                read(path)?;
            }
            return Err(Error::input(format!(
                "{init}: the file does not say what velocities it is for; give the velocity box with --vmax"
            )));
        };
        let vmin = args.vmin.unwrap_or(-vmax);
        // The grid is checked before the file is opened, as far as it is known.
        let mut grid = VelocityGrid::new(args.grid.unwrap_or(20), vmin, vmax)?;
        if let (Init::File(path), None) = (init, args.grid) {
            grid = VelocityGrid::new(read(path)?.n, vmin, vmax)?;
        }
        let f = init.sample(&grid, args.operator.order)?;
        if f.iter().all(|&f| f == 0.0) {
            return Err(Error::input(format!(
                "{init}: the density in the velocity box [{vmin}, {vmax}]^3 is zero"
            )));
        }
        let model = args.model.unwrap_or(match init {
            Init::Bkw(_) => Scattering::Maxwell,
            _ => Scattering::HardSphere,
        });
        let parameters = Self {
            grid: grid.n(),
            operator: Operator::new(&grid, model, &args.operator, &args.common),
            init: init.to_string(),
            integrator: args.integrator,
            dt: args.dt,
            steps: args.steps,
            until: match args.steps {
                Some(_) => None,
                None => args.until.or(Some(Stop::Equilibrium(EQUILIBRIUM))),
            },
            checkpoint_every: args.checkpoint_every,
        };
        Ok((parameters, f))
    }

    fn until(&self) -> Until {
        match (self.steps, self.until) {
            (Some(steps), _) => Until::Steps(steps),
            (None, Some(Stop::Time(time))) => Until::Time(time),
            (None, Some(Stop::Equilibrium(fraction))) => Until::Equilibrium(fraction),
            (None, None) => Until::Equilibrium(EQUILIBRIUM),
        }
    }

    fn config(&self) -> Result<RelaxationConfig> {
        Ok(RelaxationConfig {
            operator: self.operator.config(self.grid)?,
            integrator: self.integrator,
            step: self.dt,
            until: self.until(),
        })
    }

    /// Takes over a new end, and refuses flags that say otherwise than the checkpoint.
    fn go_on(&mut self, args: &RelaxArgs, given: &ArgMatches) -> Result<()> {
        let operator = &args.operator;
        let wanted = json!({
            "grid": args.grid,
            "vmin": args.vmin,
            "vmax": args.vmax,
            "model": args.model,
            "sigma-t": operator.sigma_t,
            "method": operator.method,
            "order": operator.order,
            "no-correction": operator.no_correction,
            "init": args.init.to_string(),
            "integrator": args.integrator,
            "dt": args.dt,
            "backend": args.common.backend,
            "precision": args.common.precision,
        });
        resume::refuse_contradictions(self, &wanted, &[], given)?;
        if args.steps.is_some() || args.until.is_some() {
            (self.steps, self.until) = (args.steps, args.until);
        }
        if args.checkpoint_every.is_some() {
            self.checkpoint_every = args.checkpoint_every;
        }
        Ok(())
    }
}

/// Runs the relaxation.
pub(super) fn run(args: &RelaxArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let started = Instant::now();
    let (parameters, start) = match &args.resume {
        None => {
            let (parameters, f) = Parameters::of(args)?;
            (parameters, Start::Fresh(f))
        }
        Some(path) => {
            let mut saved = state::Saved::read(path)?;
            saved.parameters.go_on(args, given)?;
            saved.check_end(path)?;
            (saved.parameters.clone(), Start::Saved(Box::new(saved)))
        }
    };
    let config = parameters.config()?;
    let grid = config.operator.grid;

    let mut files = Transaction::default();
    if let (Init::File(path), None) = (&args.init, &args.resume) {
        files.reads(path);
    }
    let folder = resume::folder(
        &mut files,
        common,
        args.resume.as_deref(),
        args.checkpoint_every,
        Some(PathBuf::from("rarefy-out/relax")),
    )?;

    let (mut relaxation, mut state, warnings) = match start {
        Start::Fresh(f) => {
            let relaxation = Relaxation::new(config, f.clone())?;
            let warnings = match args.init.beams() {
                Some(beams) => grid.warnings_of(&f, &beams),
                None => relaxation.warnings().to_vec(),
            };
            let state = State::new(grid, f, &relaxation.correction());
            (relaxation, state, warnings)
        }
        Start::Saved(saved) => {
            let (machine, version) = (saved.machine.clone(), saved.version.clone());
            let (checkpoint, state) = saved.split();
            let relaxation = Relaxation::resume(checkpoint)?;
            let here = relaxation.machine();
            let warning = resume::elsewhere(&version, &machine, &here);
            (relaxation, state, Vec::from_iter(warning))
        }
    };
    let mut report = Report::new("relax", &parameters, started);
    for warning in warnings {
        report.warn(warning);
    }
    report.time("setup", started.elapsed());

    let interrupted = resume::interruption();
    let save = |files: &mut Transaction,
                relaxation: &mut Relaxation,
                state: &State|
     -> Result<Option<PathBuf>> {
        let Some(folder) = &folder else {
            return Ok(None);
        };
        let path = folder.join(checkpoint::FILE);
        let bytes = state::encode(&parameters, state, relaxation)?;
        files.write_now(&path, &bytes).map(|()| Some(path))
    };
    let stepping = Instant::now();
    let first_step = relaxation.history().last().map_or(0, |row| row.step);
    let mut progress = Progress::new("relax", common.quiet);
    let mut stalled = false;
    while !relaxation.is_done() {
        if interrupted.load(Ordering::SeqCst) {
            progress.finish();
            let at = relaxation.history().last().map_or(0, |row| row.step);
            let after = format!("{at} steps");
            let saved = save(&mut files, &mut relaxation, &state);
            return Err(resume::stopped("relax", &after, saved));
        }
        if matches!(parameters.until(), Until::Equilibrium(_))
            && state::steps_without_fall(relaxation.history()) >= PATIENCE
        {
            stalled = true;
            break;
        }
        let row = relaxation.step();
        let row = row.map_err(|error| report.broken_off(error))?;
        let observed = state.observe(&mut relaxation, &row);
        observed.map_err(|error| report.broken_off(error))?;
        let every = parameters.checkpoint_every;
        if !relaxation.is_done() && every.is_some_and(|every| row.step.is_multiple_of(every)) {
            report.saved(save(&mut files, &mut relaxation, &state))?;
        }
        progress.update(relaxation.progress(), || {
            format!(
                "step {}, t = {:.3}, H = {:.6}",
                row.step, row.time, row.moments.entropy
            )
        });
    }
    progress.finish();
    let spent = stepping.elapsed();
    let steps = relaxation.history().last().map_or(0, |row| row.step) - first_step;
    report.time("steps", spent);
    if steps > 0 {
        report.time("step", spent.div_f64(steps as f64));
    }
    if stalled {
        report.warn(format!(
            "stopped: the sum of |I| has not fallen for {PATIENCE} steps; what is left is the roundoff of the arithmetic or the limit of the grid"
        ));
    }
    let correction = relaxation.correction();
    if correction.status == CorrectionStatus::Singular {
        report.warn(
            "no conservative correction exists, too few cells carry f: the moments may drift"
                .into(),
        );
    }
    if parameters.checkpoint_every.is_some() {
        report.saved_at_the_end(save(&mut files, &mut relaxation, &state))?;
    }

    let final_f = relaxation.distribution()?;
    let outcome = results::Outcome {
        parameters: &parameters,
        grid,
        machine: relaxation.machine(),
        history: relaxation.history(),
        correction,
        state: &state,
        final_f: &final_f,
    };
    outcome.report(&mut report);
    if let Some(folder) = &folder {
        outcome.stage(&mut report, &mut files, folder)?;
    }
    report.finish(files, folder.as_deref(), common, |total, folder| {
        outcome.summary(folder, spent, total)
    })
}

/// What a run starts from.
enum Start {
    Fresh(Vec<f64>),
    Saved(Box<state::Saved>),
}
